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
        pn.errors.DataError, match=r"two ways: codes of groups, or scores. Pass kind='g"
    ):
        pn.compare_groups(estimates, by=codes)
    assert len(pn.compare_groups(estimates, by=codes, kind="groups").populations) == 4
    assert pn.compare_groups(estimates, by=codes, kind="scores").relations
    assert len(pn.compare_groups(estimates, by=[0, 1] * 10).populations) == 2


@pytest.mark.parametrize(
    ("by", "more", "words"),
    [
        ("grup", {}, "got 'grup', but they are .* Did you mean 'group'"),
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
