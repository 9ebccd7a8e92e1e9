"""`compare_groups(estimates, by=...)`: groups and scores of subjects, wherever they are known."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats

import penchant as pn

PRIOR = pn.ScaledPrior()


def table():
    """Offers of 20 people, the first half of whom are called young."""
    delays = pn.datasets.load("delays")
    people = list(dict.fromkeys(delays["subject"].to_pylist()))
    place = {who: k for k, who in enumerate(people)}
    rows = [place[who] for who in delays["subject"].to_pylist()]
    delays = delays.append_column("group", [["young" if k < 10 else "old" for k in rows]])
    return delays.append_column("age", [[20.5 + k**1.5 for k in rows]])


@pytest.fixture(scope="module")
def reading():
    return pn.read(table())


@pytest.fixture(scope="module")
def estimates(reading):
    return pn.fit_each(reading, pn.HyperbolicDiscounting(), parameter_prior=PRIOR)


def halves(estimates):
    return {"old": estimates[10:], "young": estimates[:10]}


def test_a_column_of_the_table_that_was_read_tells_groups_apart(estimates):
    found = pn.compare_groups(estimates, by="group")
    own = pn.compare_groups(halves(estimates))
    assert found.summary() == own.summary()
    assert [d.first for d in found.differences] == ["old", "old"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_people_does_too_of_any_kind(estimates, make):
    labels = ["young"] * 10 + ["old"] * 10
    people = make({"participant": list(estimates.subjects), "arm": labels, "x": list(range(20))})
    found = pn.compare_groups(estimates, by="arm", people=people)
    assert found.summary() == pn.compare_groups(estimates, by="group").summary()
    two = make({"participant": list(estimates.subjects), "arm": labels})
    assert pn.compare_groups(estimates, by=two).summary() == found.summary()
    with pytest.raises(
        pn.errors.DataError, match="by must name a column where a table has several"
    ):
        pn.compare_groups(estimates, by=people)


def test_so_do_a_mapping_and_labels_in_order(estimates):
    labels = ["young"] * 10 + ["old"] * 10
    named = dict(zip(estimates.subjects, labels, strict=True))
    wanted = pn.compare_groups(estimates, by="group").summary()
    assert pn.compare_groups(estimates, by=named).summary() == wanted
    assert pn.compare_groups(estimates, by=labels).summary() == wanted


def test_a_summary_fits_80_columns_with_every_number_beside_its_parameter(estimates):
    names = ("a control group", "siblings of the patients", "patients")
    labels = [names[k % 3] for k in range(len(estimates))]
    found = pn.compare_groups(estimates, by=labels)
    text = found.summary()
    assert max(map(len, text.splitlines())) <= 80
    below = text.split("a control group - patients\n")[1:]  # of each part of the table
    first = found.differences[0]
    rows = " ".join(part.splitlines()[0] for part in below)
    wanted = [f"{first.difference:.4g}", f"{first.degrees_of_freedom:.3g}", f"{first.hedges_g:.3g}"]
    assert rows.startswith(f"  {first.name} ") and set(wanted) <= set(rows.split())
    assert "a control group: " in text and "    siblings" not in text  # a fact in each line
    by_score = pn.compare_groups(estimates, by="age").summary()
    assert max(map(len, by_score.splitlines())) <= 80


def test_a_score_gives_the_regression_and_correlations_that_scipy_gives(estimates):
    found = pn.compare_groups(estimates, by="age", adjust="none")
    usable = [e for e in estimates if e.status in ("converged", "weakly identified")]
    ages = {s: 20.5 + k**1.5 for k, s in enumerate(estimates.subjects)}
    x = np.array([ages[e.subject] for e in usable])
    for a, one in enumerate(found.relations):
        y = np.log([e.natural[a] for e in usable])  # both are positive
        line = scipy.stats.linregress(x, y)
        assert one.n_subjects == len(usable) and one.degrees_of_freedom == len(usable) - 2
        assert (one.slope, one.standard_error) == pytest.approx((line.slope, line.stderr))
        assert one.p_value == pytest.approx(line.pvalue)
        pearson, spearman = scipy.stats.pearsonr(x, y), scipy.stats.spearmanr(x, y)
        assert one.correlation == pytest.approx(pearson.statistic)
        between = pearson.confidence_interval()
        assert (one.correlation_low, one.correlation_high) == pytest.approx(tuple(between))
        assert one.rank_correlation == pytest.approx(spearman.statistic)
        assert one.rank_p_value == pytest.approx(spearman.pvalue)
        assert one.rank_correlation_low < one.rank_correlation < one.rank_correlation_high
    assert "Parameters against age" in found.summary() and "rank r" in found.summary()
    assert list(found.to_pandas()["name"]) == list(estimates[0].natural_names)


def test_whole_numbers_that_repeat_are_asked(estimates):
    codes = [1, 2, 3, 4] * 5
    with pytest.raises(
        pn.errors.DataError, match=r"two ways: codes of groups, or scores.\nPass kind='g"
    ):
        pn.compare_groups(estimates, by=codes)
    assert len(pn.compare_groups(estimates, by=codes, kind="groups").populations) == 4
    assert pn.compare_groups(estimates, by=codes, kind="scores").relations
    assert len(pn.compare_groups(estimates, by=[0, 1] * 10).populations) == 2


@pytest.mark.parametrize(
    ("by", "more", "words"),
    [
        ("grup", {}, "(?s)got 'grup', but they are .*Did you mean 'group'"),
        ({"s01": "a"}, {}, "by must say something of every subject; got nothing of s02"),
        (["a"], {}, "by must be a column, .* or 20 labels; got 1 labels"),
        (["a", "b"] * 10, {"kind": "scores"}, "by must hold numbers, as scores; got 'a'"),
        (["a", "b"] * 10, {"kind": "x"}, "kind must be 'groups' or 'scores'; got 'x'"),
        ("amount_sooner", {}, "column must say the same in all rows of a subject"),
    ],
)
def test_what_does_not_tell_subjects_apart_is_refused(estimates, by, more, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.compare_groups(estimates, by=by, **more)


def test_groups_without_labels_say_what_to_write(estimates):
    with pytest.raises(pn.errors.DataError, match="Say what tells subjects apart, such as by="):
        pn.compare_groups(estimates)
    slim = pn.results.Estimates.from_dict(estimates.to_dict())
    with pytest.raises(pn.errors.DataError, match="people must be given where `by` names a column"):
        pn.compare_groups(slim, by="group")


def test_groups_are_compared_in_what_summaries_show_positive_ones_by_their_logarithm(estimates):
    found = pn.compare_groups(estimates, by="group", adjust="none")
    shown = [p.name for p in estimates[0].parameters]
    assert [d.name for d in found.differences] == shown == ["temperature", "discount_rate"]
    usable = [e for e in estimates if e.status in ("converged", "weakly identified")]
    young = [e.subject in estimates.subjects[:10] for e in usable]
    for one in found.differences:
        logs = np.log([e[one.name].estimate for e in usable])
        wanted = scipy.stats.ttest_ind(
            logs[np.invert(young)], logs[np.array(young)], equal_var=False
        )
        assert (one.statistic, one.p_value) == pytest.approx((wanted.statistic, wanted.pvalue))
    assert set(found.to_pandas()["scale"]) == {"log"}
    assert "temperature, discount_rate on the logarithmic scale" in " ".join(
        found.summary().split()
    )
    plain = pn.compare_groups(estimates, by="group", scale="natural")
    assert [d.name for d in plain.differences] == shown and not plain.logs
    fitted = pn.compare_groups(estimates, by="group", scale="theta")
    assert fitted.differences[0].name == estimates.names[0] != "temperature"
    with pytest.raises(
        pn.errors.DataError, match="scale must be 'log', 'natural' or 'theta'; got 'x'"
    ):
        pn.compare_groups(estimates, by="group", scale="x")


def test_numbers_are_compared_as_they_are():
    rng = np.random.default_rng(4)
    values = {"a": rng.normal(size=(9, 2)), "b": rng.normal(size=(11, 2))}
    found = pn.compare_groups(values)
    assert found.logs == () and "logarithm" not in found.summary()


# ---- covariates ----------------------------------------------------------------------------------


def people_of(estimates):
    """Ages that go with the groups, a site; who has an estimate, and its logarithms."""
    rng = np.random.default_rng(8)
    n = len(estimates)
    frame = pd.DataFrame(
        {
            "subject": estimates.subjects,
            "group": ["young"] * 10 + ["old"] * (n - 10),
            "age": np.r_[rng.normal(30, 6, 10), rng.normal(50, 9, n - 10)].round(1),
            "site": [["Lyon", "Kiel", "Bonn"][k % 3] for k in range(n)],
        }
    )
    kept = [one.status in ("converged", "weakly identified") for one in estimates]
    logs = np.array(
        [np.log(one.natural) for one, is_kept in zip(estimates, kept, strict=True) if is_kept]
    )
    return frame, frame[kept], logs


def biased(log_odds):
    """Estimates of one parameter, a bias, near these."""
    counts = np.clip(np.round(200 / (1 + np.exp(-log_odds))), 1, 199).astype(int)
    play = [
        pn.Episode([0] * n + [1] * (200 - n), [0.0] * 200, subject=f"s{k}")
        for k, n in enumerate(counts)
    ]
    return pn.fit_each(play, pn.models.RandomChoice(2))


def hc3(x, y):
    """Coefficients and their covariances, subject by subject as MacKinnon and White print them."""
    inverse = np.linalg.inv(sum(np.outer(row, row) for row in x))
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    meat = np.zeros((x.shape[1],) * 2)
    for row, value in zip(x, y, strict=True):
        left = (value - row @ beta) / (1 - row @ inverse @ row)
        meat += left**2 * np.outer(row, row)
    return beta, inverse @ meat @ inverse


def test_groups_at_the_same_covariates_are_least_squares_with_hc3_errors(estimates):
    everybody, people, logs = people_of(estimates)
    found = pn.compare_groups(estimates, by="group", people=everybody, covariates=["age", "site"])
    old = (people.group == "old").to_numpy(float)
    sites = [(people.site == name).to_numpy(float) for name in ("Kiel", "Lyon")]
    x = np.column_stack([np.ones(len(old)), old, people.age, *sites])
    for difference, y in zip(found.differences, logs.T, strict=True):
        beta, covariance = hc3(x, y)
        error, df = np.sqrt(covariance[1, 1]), len(old) - x.shape[1]
        half = scipy.stats.t.ppf(0.975, df) * error
        p = 2 * scipy.stats.t.sf(abs(beta[1] / error), df)
        wanted = [beta[1], error, df, beta[1] - half, beta[1] + half, p]
        names = ("difference", "standard_error", "degrees_of_freedom", "low", "high", "p_value")
        got = [getattr(difference, name) for name in names]
        np.testing.assert_allclose(got, wanted, rtol=1e-9)
        sd = np.sqrt(((y - x @ beta) ** 2).sum() / df)
        assert difference.hedges_g / (beta[1] / sd) == pytest.approx(1 - 3 / (4 * df - 1), rel=1e-3)
        assert difference.hedges_g_low < difference.hedges_g < difference.hedges_g_high
    joint = found.joint[0].test
    assert joint.kind == "F"
    assert joint.degrees_of_freedom == pytest.approx((2, len(old) - x.shape[1] - 1), rel=1e-9)


def test_one_parameter_at_once_and_alone_is_the_same_test():
    rng = np.random.default_rng(2)
    fits = biased(rng.normal(size=15))
    age = {subject: float(k % 7) for k, subject in enumerate(fits.subjects)}
    found = pn.compare_groups(fits, by=["a", "b", "c"] * 5, covariates={"age": age})
    for single, joint in zip(found.differences, found.joint, strict=True):
        assert joint.test.p_value == pytest.approx(single.p_value, rel=1e-9)
    assert found.covariates == ("age",) and "at the same age" in found.summary()
    again = type(found).from_dict(found.to_dict())
    assert again.summary() == found.summary() and again.covariates == ("age",)


def test_a_covariate_that_tells_groups_apart_takes_their_difference_away():
    rng = np.random.default_rng(4)
    age = np.r_[rng.normal(30, 5, 40), rng.normal(45, 5, 40)]
    fits = biased(0.1 * (age - 37) + rng.normal(0, 0.3, 80))
    labels = ["a"] * 40 + ["b"] * 40
    raw = pn.compare_groups(fits, by=labels).differences[0]
    same = pn.compare_groups(fits, by=labels, covariates={"age": age.tolist()}).differences[0]
    assert raw.p_value < 1e-6 and abs(same.difference) < 0.3 < abs(raw.difference)
    assert same.low < 0 < same.high


def test_a_score_at_the_same_covariates_is_a_partial_slope_and_correlation(estimates):
    everybody, people, logs = people_of(estimates)
    known = everybody.assign(score=np.random.default_rng(5).normal(3, 1, 20) + 0.02 * everybody.age)
    score = known.score[people.index].to_numpy()
    found = pn.compare_groups(estimates, by="score", people=known, covariates="age", level=0.9)
    x = np.column_stack([np.ones(len(score)), score, people.age])
    n, df = len(score), len(score) - 3
    for one, y in zip(found.relations, logs.T, strict=True):
        beta = np.linalg.lstsq(x, y, rcond=None)[0]
        variance = ((y - x @ beta) ** 2).sum() / df * np.linalg.inv(x.T @ x)[1, 1]
        half = scipy.stats.t.ppf(0.95, df) * np.sqrt(variance)
        assert (one.slope, one.low, one.degrees_of_freedom, one.n_subjects) == pytest.approx(
            (beta[1], beta[1] - half, df, n), rel=1e-9
        )
        r = scipy.stats.pearsonr
        a, b, c = r(y, score)[0], r(y, people.age)[0], r(score, people.age)[0]
        partial = (a - b * c) / np.sqrt((1 - b**2) * (1 - c**2))
        z = scipy.stats.norm.ppf(0.95) / np.sqrt(n - 4)
        assert one.correlation == pytest.approx(partial, rel=1e-9)
        assert one.correlation_high == pytest.approx(np.tanh(np.arctanh(partial) + z), rel=1e-9)
        ranked = [scipy.stats.rankdata(v) for v in (y, score, people.age)]
        a, b, c = (r(ranked[i], ranked[j])[0] for i, j in ((0, 1), (0, 2), (1, 2)))
        wanted = (a - b * c) / np.sqrt((1 - b**2) * (1 - c**2))
        assert one.rank_correlation == pytest.approx(wanted, rel=1e-9)
    assert "Slopes and correlations at the same age" in found.summary()


def test_covariates_that_cannot_be_held_are_refused(estimates):
    people = people_of(estimates)[0]
    people = people.assign(arm=people.group, one=3, who=[f"x{k}" for k in range(len(people))])

    def refused(match, **how):
        with pytest.raises(pn.errors.DataError, match=match):
            pn.compare_groups(estimates, **{"by": "group", "people": people} | how)

    refused("covariates must be told apart from the groups by more subjects", covariates=["arm"])
    refused("covariates must be told apart .* got 18 subjects, and 21 columns", covariates=["who"])
    refused("covariates must differ between subjects; got 3 for all in 'one'", covariates=["one"])
    refused(r"covariates\['agee'\] must be a column of people; got 'agee'", covariates=["agee"])
    refused("covariates must name at least one", covariates=[])
    refused("covariates must be names of columns, or", covariates=3)
    refused("covariates must be left out without `by`", covariates=["age"], by=None)
