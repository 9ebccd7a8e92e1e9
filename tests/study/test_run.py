"""A whole study: every number is that of the library's own functions."""

import re
import warnings

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.errors import DataError, PenchantWarning
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.studies.findings import TABLES
from penchant.studies.groups import to_natural_scale
from penchant.studies.plan import Plan
from small_study import MEANS, MODEL, NOMINALS, data, study, table

LARGE = table(n_a=9, n_b=8)  # all four groups have two subjects or more


@pytest.fixture(scope="module")
def found():
    return study(LARGE)


def linear(category):
    point = NOMINALS[category]
    model = pn.UCL(locations=MODEL.locations, noise_variance=2.5, length_scale=point.length_scale)
    return model, pn.RewardPrior(point.mean, point.variance)


def test_exact_estimates_are_those_of_fit(found):
    for episode in found.data.episodes:
        estimate = pn.fit(episode, MODEL)
        kept = found.fits[episode.subject].exact
        assert kept.status == estimate.status
        np.testing.assert_allclose(kept.theta, estimate.theta, rtol=1e-6)
        np.testing.assert_allclose(kept.log_likelihood, estimate.log_likelihood, rtol=1e-10)
        ends = [(p.low, p.high) for p in kept.parameters]
        np.testing.assert_allclose(ends, estimate.interval(), rtol=1e-4)


def test_linearised_estimates_are_those_about_the_point_of_the_performance(found):
    for episode in found.data.episodes:
        category = found.growth.of(episode.subject).category
        model, point = linear(category)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PenchantWarning)
            estimate = pn.fit_linearized(episode, model, nominal=point)
        kept = found.fits[episode.subject].linearized
        np.testing.assert_allclose(kept.theta, estimate.theta, rtol=1e-9)
        assert kept.validity.ratio == pytest.approx(estimate.validity.ratio, rel=1e-9)
        assert kept.validity.bounds == pytest.approx(estimate.validity.bounds, rel=1e-9)
        assert kept.validity.valid == estimate.validity.valid


def test_performance_is_the_growth_order_of_the_regret(found):
    for episode, (place,) in zip(found.data.episodes, found.data.landscapes, strict=True):
        landscape = pn.Landscape(MEANS[place], pn.GaussianNoise(2.5))
        (order,) = pn.results.growth_orders([pn.results.cumulative_regret(episode, landscape)])
        assert found.growth.of(episode.subject).order == order.order


def test_groups_are_performance_and_condition(found):
    sizes = {group.label: len(group.subjects) for group in found.groups}
    assert sizes == {"high, A": 3, "high, B": 2, "low, A": 6, "low, B": 6}
    for group in found.groups:
        for subject in group.subjects:
            assert found.growth.of(subject).category == group.performance
            assert found.data.condition(subject) == group.condition


def test_table_1_is_the_mean_with_the_pooled_covariance(found):
    table_1 = found.to_frame("table-1", "pandas")
    rows = table_1[(table_1.performance == "high") & (table_1.condition == "A")]
    fits = [found.fits[s].linearized for s in found.groups[0].subjects]
    usable = [
        f for f in fits if f.status in ("converged", "weakly identified", "outside the model")
    ]
    assert rows.n_subjects.tolist() == [len(usable)] * 3
    mean = np.mean([f.theta for f in usable], axis=0)
    error = np.sqrt(sum(np.diag(f.covariance) for f in usable)) / len(usable)
    np.testing.assert_allclose(rows.estimate, mean, rtol=1e-12)
    np.testing.assert_allclose(rows.standard_error, error, rtol=1e-12)
    likelihood = np.mean([f.log_likelihood for f in usable])
    np.testing.assert_allclose(rows.mean_log_likelihood, likelihood, rtol=1e-12)
    ratio = mean[2] / mean[0] * NOMINALS["high"].variance / 2.5
    np.testing.assert_allclose(rows.ratio, ratio, rtol=1e-12)


def test_table_2_is_the_map_of_the_average(found):
    theta = {column.group.label: column.theta for column in found.linearized}
    for column in found.linearized:
        model, point = linear(column.group.performance)
        again = pn.paper.population_in_natural_parameters(
            theta[column.group.label], model, nominal=point
        )
        np.testing.assert_array_equal(column.natural.estimate, again.estimate)
    table_2 = found.to_frame("table-2", "pandas")
    printed = table_2[table_2.estimator == "linearised"].estimate
    expected = np.concatenate([column.natural.estimate for column in found.linearized])
    np.testing.assert_array_equal(printed, expected)


def test_exact_groups_are_pooled_as_logarithms_where_positive(found):
    label = found.groups[0].label
    pooled = to_natural_scale(found.exact[label]["mean-sample"], 0.95)
    mine = [found.fits[s].exact for s in found.groups[0].subjects]
    fine = [f.natural for f in mine if f.status == "converged"]
    assert pooled[0].estimate == pytest.approx(np.exp(np.mean(np.log([v[0] for v in fine]))))
    assert pooled[1].estimate == pytest.approx(np.mean([v[1] for v in fine]))
    assert pooled[2].estimate == pytest.approx(np.exp(np.mean(np.log([v[2] for v in fine]))))


def test_tests_are_welchs_on_the_same_scale(found):
    tests = found.to_frame("tests", "pandas")
    exact = tests[tests.estimator == "exact"]
    pairs = list(dict.fromkeys(zip(exact["first"], exact.second, strict=True)))
    assert pairs == [
        ("high, A", "high, B"),
        ("high, A", "low, A"),
        ("high, B", "low, B"),
        ("low, A", "low, B"),
    ]
    groups = {g.label: g.subjects for g in found.groups}
    for row in exact.itertuples():
        place = ["log decision_noise", "prior_mean", "log prior_variance"].index(row.name)
        first, second = (
            np.array([found.fits[s].exact.natural[place] for s in groups[label]])
            for label in (row.first, row.second)
        )
        if place != 1:
            first, second = np.log(first), np.log(second)
        welch = stats.ttest_ind(first, second, equal_var=False)
        assert row.p_value == pytest.approx(welch.pvalue, rel=1e-9)
        assert row.difference == pytest.approx(first.mean() - second.mean(), rel=1e-9)
    expected = pn.results.adjusted_p_values(exact.p_value)
    np.testing.assert_allclose(exact.adjusted_p_value, expected, rtol=1e-12)
    assert exact.adjusted_p_value.max() <= 1.0


def test_failures_are_listed_with_their_reason():
    frame = table()
    frame.loc[frame.subject == "a00", ["choice", "reward"]] = [7, 15.0]
    found = study(frame)
    failures = found.to_frame("failures", "pandas")
    assert "a00" in set(failures.subject)
    for row in failures.itertuples():
        fit = found.fits[row.subject]
        kept = fit.exact if row.estimator == "exact" else fit.linearized
        assert (kept.status, kept.message) == (row.status, row.message)
    named = set(failures.subject[failures.estimator == "exact"])
    assert named == {s for s, f in found.fits.items() if f.exact.status != "converged"}


def test_threads_do_not_change_a_number(found):
    again = study(LARGE, threads=3)
    for name in TABLES:
        one, other = (s.to_frame(name, "pandas") for s in (found, again))
        assert one.equals(other), name


def test_the_seed_moves_what_is_random_and_nothing_else(found):
    other = study(LARGE, seed=8)
    assert not other.to_frame("forward", "pandas").equals(found.to_frame("forward", "pandas"))
    for name in ("table-1", "table-2", "populations", "tests", "linearized"):
        assert other.to_frame(name, "pandas").equals(found.to_frame(name, "pandas"))


def test_subjects_without_a_decision_stay_in_the_tables():
    frame = table().astype({"choice": float})
    frame.loc[frame.subject == "b03", ["choice", "reward"]] = np.nan
    found = study(frame)
    fit = found.fits["b03"]
    assert fit.exact.status == "not identified"
    assert fit.linearized is None
    assert fit.simulated is None
    assert found.to_frame("subjects", "pandas").set_index("subject").n_decisions["b03"] == 0


def test_too_few_decisions_are_not_classified():
    frame = table()
    frame = frame[(frame.subject != "a00") | (frame.trial <= 3)]
    found = study(frame)
    subjects = found.to_frame("subjects", "pandas").set_index("subject")
    assert subjects.performance["a00"] == "not classified"
    assert all("a00" not in group.subjects for group in found.groups)
    assert found.fits["a00"].linearized is None


def test_q_learning_needs_no_places_and_has_no_nominal_point():
    found = pn.study(
        data(), pn.QLearning(12), landscape=MEANS, n_replicates=2, n_bootstrap=0, threads=1
    )
    assert found.linearized == ()
    assert set(found.counts()) <= {"converged", "at a bound", "weakly identified"}
    assert np.isfinite(found.to_frame("forward", "pandas").simulated).any()
    point = {"low": {"learning_rate": 0.3}, "high": {"learning_rate": 0.3}}
    with_point = pn.study(
        data(), pn.QLearning(12), landscape=MEANS, nominals=point, n_replicates=0, n_bootstrap=0
    )
    assert with_point.linearized[0].theta.names == ("theta1", "theta2")
    assert all(fit.simulated is None for fit in with_point.fits.values())


def test_a_prior_makes_every_estimate_finite():
    frame = table()
    frame.loc[frame.subject == "a00", "choice"] = 7
    frame.loc[frame.subject == "a00", "reward"] = 15.0
    plain, weak = study(frame), study(frame, parameter_prior=pn.ScaledPrior())
    assert plain.fits["a00"].exact.status != "converged"
    assert np.isfinite(weak.fits["a00"].exact.theta[:2]).all()


def test_the_joint_likelihood_counts_everybody(found):
    together = study(joint=True, n_replicates=0)
    group = together.groups[0]
    episodes = [e for e in together.data.episodes if e.subject in group.subjects]
    estimate = pn.fit(episodes, MODEL)
    np.testing.assert_allclose(
        together.joint[group.label].estimate,
        [p.estimate for p in estimate.parameters],
        rtol=1e-9,
    )
    rules = set(together.to_frame("populations", "pandas").rule)
    assert rules == {"mean-pooled", "mean-sample", "fixed-effect", "random-effects", "joint"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, "level must lie"),
        (
            {"intervals": "bayes"},
            "intervals must be 'wald' or 'profile'; got 'bayes'.\nChoose one.",
        ),
        ({"n_replicates": -1}, "n_replicates must be a whole number, 0 or more; got -1."),
        ({"seed": 1.5}, "seed must be a whole number, 0 or more; got 1.5."),
        ({"threads": 0}, "threads must be at least 1; got 0.\nLeave it out to use all."),
        ({"nominals": {"middle": NOMINALS["low"]}}, "nominals must be for 'low' and 'high'; got"),
        ({"landscape": {"A": MEANS["A"]}}, "landscape must hold mean rewards for every landscape"),
    ],
)
def test_wrong_settings_are_refused_before_the_work(options, message):
    with pytest.raises(DataError, match=re.escape(message)):
        study(**options)


def test_a_table_has_a_name_that_is_known(found):
    message = "name must be one of subjects, linearized, growth, table-1, table-2, populations,"
    with pytest.raises(DataError, match=message):
        found.to_frame("tabel-1")


def test_the_plan_holds_a_nominal_length_scale_fixed():
    model, point = Plan(MODEL, NOMINALS).linear("high")
    assert (model.length_scale, point.length_scale) == (2.0, None)


def test_the_study_says_what_it_is(found):
    assert repr(found) == "<Study of 17 subjects in 4 groups: 15 converged, 2 weakly identified>"


def test_parts_are_kept_in_a_folder_and_gone_on_with(tmp_path):
    whole = study(joint=True)
    kept = study(joint=True, keep=tmp_path / "out")
    again = study(joint=True, keep=tmp_path / "out", resume=True)
    for name in ("subjects", "table-1", "tests"):
        found = {repr(one.columns(name)) for one in (whole, kept, again)}  # nan is nan
        assert len(found) == 1
    assert again.timings.get("exact fits", 0.0) == 0.0 < whole.timings["exact fits"]
    with pytest.raises(pn.errors.DataError, match="output must not exist, or be empty"):
        study(keep=tmp_path / "out")
    with pytest.raises(pn.errors.DataError, match="resume must go on with the data and settings"):
        study(seed=8, keep=tmp_path / "out", resume=True)
    with pytest.raises(pn.errors.DataError, match="keep must name the folder to resume; got none"):
        study(resume=True)


def test_mean_rewards_may_be_in_a_file_of_their_own(tmp_path):
    rows = ["landscape,option,mean_reward"]
    rows += [f"{name},{i},{mean}" for name, means in MEANS.items() for i, mean in enumerate(means)]
    (tmp_path / "means.csv").write_text("\n".join(rows) + "\n")
    found = study(landscape=tmp_path / "means.csv")
    assert repr(found.columns("growth")) == repr(study().columns("growth"))
    (tmp_path / "twice.csv").write_text("\n".join([*rows, rows[-1]]) + "\n")
    with pytest.raises(DataError, match="landscape must have every option of B once; got 11 again"):
        study(landscape=tmp_path / "twice.csv")


def test_an_interval_of_a_logarithm_without_bound_is_infinite_in_its_own_units():
    class Pooled:
        def parameters_at(self, level):
            return (ParameterEstimate("log temperature", 0.5, 600.0, -1175.0, 1177.0),)

    (found,) = to_natural_scale(Pooled(), 0.95)
    assert (found.name, found.low, found.high) == ("temperature", 0.0, np.inf)
    assert found.estimate == pytest.approx(np.exp(0.5))


def test_a_pooled_rate_and_its_interval_stay_between_0_and_1():
    class Pooled:
        def parameters_at(self, level):
            return (
                ParameterEstimate("log temperature", 0.5, 0.4, -0.3, 1.3),
                ParameterEstimate("learning_rate", 0.83, 0.0964, 0.641, 1.019),
            )

    model = pn.QLearning(n_options=3)
    assert to_natural_scale(Pooled(), 0.95)[1].high == 1.019
    warm, rate = to_natural_scale(Pooled(), 0.95, model)
    assert (rate.estimate, rate.standard_error, rate.low, rate.high) == (0.83, 0.0964, 0.641, 1.0)
    assert warm.high == pytest.approx(np.exp(1.3))  # what has no such limit stays
