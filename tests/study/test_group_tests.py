"""The groups that the user names are compared directly, and nobody is left out without a word."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import penchant as pn
from penchant.cli.option_wording import word_as_options
from penchant.errors import DataError
from penchant.models.model import natural_parameters
from penchant.report.study_sentences import methods, question, summary_sentences
from penchant.studies.groups import factors_of, ranking_ranges

MODEL = pn.QLearning(2)
DECISIONS = 40
OFFERS = ("amount_sooner", "delay_sooner", "amount_later", "delay_later")


def play(groups, seed=1, means=(0.3, 0.7), noise=0.1, n=DECISIONS, column="group"):
    """A table of learners; {label: list of (temperature, learning rate)}."""
    rng = np.random.default_rng(seed)
    place = pn.Landscape(list(means), pn.GaussianNoise(noise))
    rows = []
    for label, people in groups.items():
        for i, (temperature, rate) in enumerate(people):
            nature = {"temperature": temperature, "learning_rate": rate}
            one = pn.simulate(place, MODEL, nature, n_decisions=n, rng=rng)
            events = zip(one.times, one.chosen, one.rewards, strict=True)
            rows += [(f"{label}{i}", label, t, c, r) for t, c, r in events]
    return pd.DataFrame(rows, columns=["subject", column, "trial", "choice", "reward"])


def delays(groups, seed=2, n=40, temperature=4.0):
    """A table of choices between sooner and later; {label: log discount rates}."""
    rng = np.random.default_rng(seed)
    rows = []
    for label, rates in groups.items():
        for i, rate in enumerate(rates):
            later, days = rng.uniform(21, 80, n), rng.integers(3, 200, n)
            gain = later / (1 + np.exp(rate) * days) - 20
            took = (rng.random(n) < 1 / (1 + np.exp(-gain / temperature))).astype(int)
            for money, wait, choice in zip(later, days, took, strict=True):
                rows.append((f"{label}{i}", label, 20, 0, money, wait, choice))
    return pd.DataFrame(rows, columns=["subject", "group", *OFFERS, "choice"])


def delay_study(table, conditions=("group",), **options):
    data = pn.read_study(table, conditions=list(conditions))
    options = {"intervals": "wald", "population": False} | options
    return pn.study(data, pn.HyperbolicDiscounting(), **options)


def quick(table, conditions=("group",), **options):
    usual = {
        "n_replicates": 0,
        "n_bootstrap": 0,
        "threads": 1,
        "intervals": "wald",
        "population": False,
    }
    data = pn.read_study(table, conditions=list(conditions))
    return pn.study(data, MODEL, **usual | options)


@pytest.fixture(scope="module")
def mixed():
    """Noisy patients and controls, of whom some are so consistent that they have no temperature."""
    sure, noisy = [(0.03, 0.4)] * 5 + [(0.15, 0.4)] * 4, [(0.25, 0.4)] * 8
    return quick(
        play({"control": sure, "patient": noisy}, means=(0.2, 0.8), noise=0.05), intervals="profile"
    )


# -- the direct comparison -------------------------------------------------------------------------


def test_the_groups_are_compared_whole_and_not_crossed_with_performance(mixed):
    assert [(g.label, len(g.subjects)) for g in mixed.groups] == [("control", 9), ("patient", 8)]
    assert mixed.plan.performance is False
    assert not mixed.growth
    names = set(mixed.columns("subjects"))
    assert "mean_reward" in names and not names & {"regret", "growth", "performance"}
    assert {(d.first, d.second) for d in mixed.group_tests.differences} == {("control", "patient")}


def test_tests_of_means_are_welchs_with_hedges_g_of_those_with_an_estimate():
    rng = np.random.default_rng(7)
    rates = {"control": rng.normal(-4.5, 0.5, 9), "patient": rng.normal(-3.6, 0.7, 11)}
    found = delay_study(delays(rates))
    table = pd.DataFrame(found.columns("subjects"))
    kept = table[table.status.isin(["converged", "weakly identified"])]
    d = next(d for d in found.group_tests.differences if d.name == "log discount_rate")
    first, second = (
        np.log(kept.discount_rate[kept.group == label]) for label in ("control", "patient")
    )
    known = stats.ttest_ind(first, second, equal_var=False)
    assert (d.first_n, d.second_n) == (len(first), len(second))
    assert d.p_value == pytest.approx(known.pvalue, rel=1e-9)
    assert (d.low, d.high) == pytest.approx(known.confidence_interval(0.95), rel=1e-9)
    assert d.first_mean == pytest.approx(stats.gmean(np.exp(first)), rel=1e-9)
    assert (d.ratio, d.ratio_low) == pytest.approx((np.exp(d.difference), np.exp(d.low)), rel=1e-12)
    pooled = np.sqrt(
        ((len(first) - 1) * first.var() + (len(second) - 1) * second.var())
        / (len(first) + len(second) - 2)
    )
    assert d.hedges_g == pytest.approx(d.difference / pooled, rel=0.06)  # the small-sample factor
    assert d.hedges_g_low < d.hedges_g < d.hedges_g_high
    by_name = {d.name: d for d in found.group_tests.differences}
    assert len(by_name) == len(found.group_tests.differences) == 2
    adjusted = pn.results.adjusted_p_values([d.p_value for d in by_name.values()])
    np.testing.assert_allclose([d.adjusted_p_value for d in by_name.values()], adjusted)


def test_more_than_two_groups_have_an_overall_test_and_every_pair():
    rng = np.random.default_rng(3)
    rates = {label: rng.normal(mean, 0.4, 7) for label, mean in (("2", -5), ("10", -4), ("1", -3))}
    found = delay_study(delays(rates))
    pairs = [(d.first, d.second) for d in found.group_tests.differences if "rate" in d.name]
    assert pairs == [("1", "2"), ("1", "10"), ("2", "10")]
    rate = next(test for test in found.group_tests.overall if "rate" in test.name)
    assert (rate.n_groups, rate.df_1) == (3, 2)
    assert rate.adjusted_p_value < 0.01 and rate.adjusted_rank_p_value < 0.01
    said = summary_sentences(found)
    asks = next(words for words in said if words.startswith("Do the 3 groups"))
    assert asks.startswith("Do the 3 groups differ (group)? ")
    assert "Yes, in" in asks and "discount rate" in asks
    assert any(words.startswith("Pairs of groups: ") for words in said)


def test_two_columns_are_compared_each_by_itself_with_everybody():
    rng = np.random.default_rng(4)
    table = delays({"control": rng.normal(-4.5, 0.4, 8), "patient": rng.normal(-3.5, 0.4, 8)})
    table["sex"] = np.where(table.subject.str[-1].astype(int) % 2, "f", "m")
    found = delay_study(table, ("group", "sex"))
    rates = {d.column: d for d in found.group_tests.differences if "rate" in d.name}
    assert set(rates) == {"group", "sex"}
    assert rates["group"].first_n + rates["group"].second_n >= 14
    alone = delay_study(table)
    direct = next(d for d in alone.group_tests.differences if "rate" in d.name)
    assert rates["group"].p_value == pytest.approx(direct.p_value)


def test_a_group_and_a_condition_within_subjects_are_both_compared():
    rng = np.random.default_rng(5)
    own = {"control": rng.normal(-4.6, 0.3, 7), "patient": rng.normal(-3.4, 0.3, 6)}
    tables = []
    for k, drug in enumerate(("placebo", "drug")):
        shifted = {label: rates + 0.5 * k for label, rates in own.items()}
        tables.append(delays(shifted, seed=20 + k, n=60).assign(arm=drug))
    found = delay_study(pd.concat(tables), ("group", "arm"))
    assert found.data.n_people == 13
    assert found.data.notes[-1].startswith("arm varies within 13 of 13 subjects")
    between = {d.stratum: d for d in found.group_tests.differences if "rate" in d.name}
    assert set(between) == {"drug", "placebo"}
    assert all((d.first, d.second) == ("control", "patient") for d in between.values())
    assert all(d.adjusted_p_value < 0.05 for d in between.values())
    within = [d for d in found.paired_tests if "rate" in d.name]
    assert [(d.first, d.second, d.column, d.n_both) for d in within] == [
        ("drug", "placebo", "arm", 13)
    ]


# -- performance, only where the best option is known ----------------------------------------------


def test_performance_is_made_where_the_best_option_is_known_or_it_is_asked_for():
    table = play({"a": [(0.4, 0.3)] * 3, "b": [(0.4, 0.5)] * 3}, n=25)
    table["mean"] = np.where(table.choice == 0, 0.3, 0.7)
    assert quick(table).plan.performance is False
    known = quick(table, landscape=[0.3, 0.7])
    asked_for = quick(table, performance=True)
    column = pn.read_study(table, conditions=["group"], expected="mean")
    named = pn.read_study(table.assign(task="t"), conditions=["group"], landscape_by=["task"])
    for found in (
        known,
        asked_for,
        pn.study(column, MODEL, n_replicates=0, n_bootstrap=0, intervals="wald"),
        pn.study(named, MODEL, n_replicates=0, n_bootstrap=0, intervals="wald"),
    ):
        assert found.plan.performance is True
        assert {g.performance for g in found.groups} <= {"low", "high"}
        assert "regret" in found.columns("subjects")
        assert {(d.first, d.second) for d in found.group_tests.differences} == {("a", "b")}
    assert quick(table, landscape=[0.3, 0.7], performance=False).plan.performance is False
    for first, second in zip(
        known.group_tests.differences, quick(table).group_tests.differences, strict=True
    ):
        assert first.p_value == second.p_value  # the direct comparison is the same with and without


def test_nominal_points_ask_for_performance_and_are_refused_without():
    table = play({"a": [(0.5, 0.5)] * 3}, n=60)
    points = {"low": {"learning_rate": 0.3}, "high": {"learning_rate": 0.3}}
    assert quick(table, nominals=points).plan.performance is True
    with pytest.raises(DataError, match="performance must not be False with nominals; got points"):
        quick(table, nominals=points, performance=False)
    with pytest.raises(DataError, match="performance must be True or False; got 'yes'"):
        quick(table, performance="yes")


def test_offers_have_no_performance_to_ask_for():
    table = delays({"a": [-4.0], "b": [-3.0]}, n=20)
    with pytest.raises(DataError, match="performance must be left out for choices among offers"):
        delay_study(table, performance=True)


def test_the_methods_say_nothing_of_what_was_not_done_and_speak_the_language_of_the_user(mixed):
    called = " ".join(methods(mixed))
    assert "egret" not in " ".join([*summary_sentences(mixed), called]) and "--" not in called
    assert "parameter_prior=ScaledPrior()" in summary_sentences(mixed)[1]
    assert "--" not in " ".join(summary_sentences(mixed))
    assert "--prior weak" in word_as_options(summary_sentences(mixed)[1])


def test_the_report_asks_whether_the_groups_differ(mixed):
    assert question(mixed).startswith(
        "Do control and patient (column group) differ in their parameters?"
    )


# -- who is left out -------------------------------------------------------------------------------


def test_who_is_left_out_is_counted_by_group_with_reasons_and_a_test(mixed):
    status = {s: mixed.fits[s].exact.status for s in mixed.subjects}
    for row in mixed.left_out:
        mine = [s for s in mixed.subjects if mixed.data.condition(s) == row.group]
        lost = [s for s in mine if status[s] not in ("converged", "weakly identified")]
        assert (row.n_subjects, row.n_left_out) == (len(mine), len(lost))
        for reason in {status[s] for s in lost}:
            count = sum(status[s] == reason for s in lost)
            assert f"{count} {reason}" in row.reasons
    control, patient = mixed.left_out
    assert control.n_left_out > patient.n_left_out  # the consistent ones
    table = [[r.n_left_out, r.n_subjects - r.n_left_out] for r in mixed.left_out]
    assert control.p_value == pytest.approx(stats.fisher_exact(table).pvalue)
    used = {d.name: (d.first_n, d.second_n) for d in mixed.group_tests.differences}
    expected = tuple(r.n_subjects - r.n_left_out for r in mixed.left_out)
    assert set(used.values()) == {expected}


def test_what_is_said_first_is_who_is_left_out_and_what_keeps_them(mixed):
    said = summary_sentences(mixed)
    assert said[0].startswith("Data: 17 subjects")
    lost = sum(row.n_left_out for row in mixed.left_out)
    assert said[1].startswith(f"Left out of the tests of means (group): {lost} of 17 subjects (co")
    for words in (
        "the most consistent are often among them",
        "Fisher's exact test",
        "ScaledPrior()",
        "Rank tests",
    ):
        assert words in said[1]
    assert said[2].startswith("Do control and patient differ (group)? ")


def test_the_separated_rank_at_the_end_that_their_choices_say(mixed):
    ranges = ranking_ranges(mixed.fits, mixed.subjects, MODEL)
    names = [p.name for p in mixed.fits[mixed.subjects[0]].exact.parameters]
    place = names.index("temperature")
    separated = [
        i for i, s in enumerate(mixed.subjects) if mixed.fits[s].exact.status == "separated"
    ]
    assert separated
    assert (ranges[separated, place] == -np.inf).all()
    d = next(d for d in mixed.group_tests.differences if "temperature" in d.name)
    assert (d.first_ranked, d.second_ranked) == (9, 8)
    assert d.superiority < 0.25 and d.adjusted_rank_p_value < 0.05  # controls are more consistent


def test_whose_rate_may_be_anything_takes_no_part_in_its_rank_test(mixed):
    ranges = ranking_ranges(mixed.fits, mixed.subjects, MODEL)
    anywhere = 0
    for i, subject in enumerate(mixed.subjects):
        fit = mixed.fits[subject].exact
        rate = fit.parameters[1]
        assert rate.name == "learning_rate"
        if fit.status in ("separated", "at a bound") and rate.high - rate.low > 0.998:
            anywhere += 1
            assert np.isnan(ranges[i, 1]).all()
    d = next(d for d in mixed.group_tests.differences if d.name == "learning_rate")
    assert 1 <= anywhere == 17 - d.first_ranked - d.second_ranked


def test_a_weak_prior_leaves_nobody_out():
    table = play({"a": [(0.03, 0.4)] * 4, "b": [(0.2, 0.4)] * 4}, means=(0.2, 0.8), noise=0.05)
    found = quick(table, parameter_prior=pn.ScaledPrior())
    lost = sum(row.n_left_out for row in found.left_out)
    plain = sum(row.n_left_out for row in quick(table).left_out)
    assert lost < plain
    assert "ScaledPrior()" not in " ".join(summary_sentences(found))


def test_without_conditions_all_subjects_are_one_group_of_which_some_are_left_out():
    found = quick(play({"a": [(0.02, 0.4)] * 3 + [(0.3, 0.4)] * 3}, means=(0.2, 0.8)), ())
    assert [row.group for row in found.left_out] == ["all subjects"]
    assert found.group_tests.differences == () == found.paired_tests
    words = "Left out of all averages: " if found.left_out[0].n_left_out else "All averages have"
    assert summary_sentences(found)[1].startswith(words)


# -- order -----------------------------------------------------------------------------------------


def test_conditions_are_listed_in_natural_order_everywhere():
    people = {str(label): [(0.2, 0.4)] for label in (3, 1, 10, 2)}
    table = play(people, n=15, column="dose")
    table["subject"] = table.dose.map({"3": "z", "1": "y", "10": "a", "2": "b"})
    found = quick(table, ("dose",), performance=True)
    ordered = ["1", "2", "3", "10"]
    assert list(found.data.condition_labels) == ordered
    assert list(factors_of(found.data)[0].groups) == ordered
    assert [row.group for row in found.left_out] == ordered
    within = [g.condition for g in found.groups if g.performance == "low"]
    assert within == [label for label in ordered if label in within]
    alone = quick(table, ("dose",))
    assert [g.label for g in alone.groups] == ordered


# -- known truth -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_of_a_difference_cover_and_tests_have_their_size():
    """Groups with a known difference in log discount rate: 0 in half of the studies, 0.8 else."""
    rng = np.random.default_rng(11)
    covered, welch, rank = [], [], []
    for k in range(120):
        truth = 0.8 * (k % 2)
        rates = {"a": rng.normal(-4, 0.6, 12) + truth, "b": rng.normal(-4, 0.4, 16)}
        found = delay_study(delays(rates, seed=100 + k, n=50))
        d = next(d for d in found.group_tests.differences if "rate" in d.name)
        covered.append(d.low < truth < d.high)
        if truth == 0:
            welch.append(d.p_value < 0.05)
            rank.append(d.rank_p_value < 0.05)
    # 95 % of 120 and 5 % of 60, within four standard errors of a binomial share
    assert np.mean(covered) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 120)
    assert max(np.mean(welch), np.mean(rank)) < 0.05 + 4 * np.sqrt(0.95 * 0.05 / 60)


def test_shares_are_known_by_the_ends_of_a_parameter_and_others_are_not_cut():
    from penchant.population.subject_estimates import proportion_parameter_mask

    def named(model):
        return [
            p
            for p, is_share in zip(
                model_names(model), proportion_parameter_mask(model), strict=True
            )
            if is_share
        ]

    def model_names(model):
        return [n.name for n in natural_parameters(model)]

    assert named(pn.models.TwoStep())[:2] == ["model_based_share", "trace_decay"]
    assert "perseverance_decay" not in named(pn.models.ORL())  # from 0 to more than 5
    assert named(pn.models.PVL()) and "temperature" not in named(pn.QLearning(2))
