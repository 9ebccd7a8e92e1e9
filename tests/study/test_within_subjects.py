"""Conditions that subjects were in one after another: fitted by themselves, compared as pairs."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import penchant as pn
from penchant.studies.comparisons import paired_difference

EFFECT = 0.8  # of the drug, on the logarithm of the discount rate


def offers(n_subjects=9, n_decisions=50, seed=4, conditions=("drug", "placebo")):
    """A table of choices between sooner and later, whose conditions differ by the effect."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n_subjects):
        own = rng.normal(-4, 0.7)
        for condition in conditions:
            rate = np.exp(own + EFFECT * (condition == "drug"))
            for _ in range(n_decisions):
                later, days = rng.uniform(21, 80), rng.integers(3, 200)
                p = 1 / (1 + np.exp(-(later / (1 + rate * days) - 20) / 3))
                rows.append((f"s{k}", condition, 20, 0, later, days, int(rng.random() < p)))
    names = ("who", "arm", "amount_sooner", "delay_sooner", "amount_later", "delay_later", "choice")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture(scope="module")
def study():
    data = pn.read_study(offers(), columns={"subject": "who"}, conditions=["arm"])
    return pn.study(data, pn.HyperbolicDiscounting(), intervals="wald", population=False)


def test_every_subject_is_fitted_in_every_condition(study):
    assert (len(study.subjects), study.data.n_people) == (18, 9)
    assert study.data.person("s3, drug") == "s3"
    assert study.data.condition("s3, drug") == "drug"
    alone = pn.fit(study.data.episodes[study.data.of("s3, drug")[0]], pn.HyperbolicDiscounting())
    assert study.fits["s3, drug"].exact.natural == pytest.approx(
        [p.estimate for p in alone.parameters]
    )
    assert study.columns("subjects")["subject"][:2] == ["s0", "s0"]
    assert "arm varies within 9 of 9 subjects" in study.data.notes[-1]


def test_conditions_are_compared_as_pairs_and_not_as_groups(study):
    assert study.exact_tests is None and study.linearized_tests == ()
    found = {d.name: d for d in study.paired_tests}
    rate = found["log discount_rate"]
    assert (rate.first, rate.second, rate.n_pairs) == ("drug", "placebo", 9)
    assert rate.low < EFFECT < rate.high and rate.adjusted_p_value < 0.01
    assert rate.wilcoxon_p_value < 0.01
    assert found["log temperature"].adjusted_p_value >= found["log temperature"].p_value


def test_tests_are_those_of_scipy(study):
    table = study.columns("subjects")
    rates = np.log(np.array(table["discount_rate"]).reshape(9, 2))
    rate = next(d for d in study.paired_tests if d.name == "log discount_rate")
    t = stats.ttest_rel(rates[:, 0], rates[:, 1])
    assert (rate.statistic, rate.p_value) == pytest.approx((t.statistic, t.pvalue))
    assert (rate.low, rate.high) == pytest.approx(t.confidence_interval(0.95))
    ranks = stats.wilcoxon(rates[:, 0], rates[:, 1])
    assert rate.wilcoxon_p_value == pytest.approx(ranks.pvalue)


def test_only_subjects_with_both_conditions_are_paired():
    table = offers(n_subjects=6)
    keep = [
        not (who == "s2" and arm == "drug")
        for who, arm in zip(table["who"].to_pylist(), table["arm"].to_pylist(), strict=True)
    ]
    data = pn.read_study(
        table.filter(pa.array(keep)), columns={"subject": "who"}, conditions=["arm"]
    )
    assert "arm varies within 5 of 6 subjects" in data.notes[-1]
    found = pn.study(
        data, pn.HyperbolicDiscounting(), intervals="wald", population=False
    ).paired_tests
    assert {d.n_pairs for d in found} == {5}


def test_conditions_between_subjects_are_groups():
    table = offers(n_subjects=8, conditions=("placebo",))
    arms = ["new" if who < "s4" else "old" for who in table["who"].to_pylist()]
    table = table.set_column(1, "arm", [arms])
    data = pn.read_study(table, columns={"subject": "who"}, conditions=["arm"])
    assert data.people is None and data.n_people == 8
    found = pn.study(data, pn.HyperbolicDiscounting(), intervals="wald", population=False)
    assert [group.label for group in found.groups] == ["new", "old"]
    assert found.paired_tests == () and len(found.exact_tests.differences) == 2
    assert "performance" not in found.columns("table-2")
    assert found.columns("growth") == found.columns("forward") == {}


def test_play_is_split_by_its_blocks():
    rng = np.random.default_rng(5)
    place = pn.Landscape(np.array([0.2, 0.8, 0.5]), pn.GaussianNoise(0.05))
    rule = {"temperature": 0.25, "learning_rate": 0.4}
    rows = []
    for who in ("al", "bo", "cy", "di"):
        for arm in ("drug", "none"):
            play = pn.simulate(place, pn.QLearning(3), rule, n_decisions=30, rng=rng)
            events = zip(play.times, play.chosen, play.rewards, strict=True)
            rows += [(who, arm, t, c, r) for t, c, r in events]
    names = ("subject", "arm", "trial", "choice", "reward")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    with pytest.raises(
        pn.errors.DataError, match=r"another at row 30 \(subject al\)\.\nName the column"
    ):
        pn.read_study(table, conditions=["arm"])
    data = pn.read_study(table, columns={"block": "arm"}, conditions=["arm"])
    assert data.n_people == 4 and len(data.episodes) == 8
    found = pn.study(data, pn.QLearning(3), intervals="wald", n_bootstrap=0, n_replicates=1)
    assert {(d.first, d.second) for d in found.paired_tests} == {("drug", "none")}


def test_an_empty_condition_is_named():
    table = offers(n_subjects=2, n_decisions=3)
    arms = [None, *table["arm"].to_pylist()[1:]]
    with pytest.raises(
        pn.errors.DataError, match=r"condition 'arm' must not be missing; .* at row 0"
    ):
        pn.read_study(
            table.set_column(1, "arm", [arms]), columns={"subject": "who"}, conditions=["arm"]
        )


def test_a_table_without_subjects_is_refused():
    with pytest.raises(
        pn.errors.DataError, match="`subject` must be given, as no column is called"
    ):
        pn.read_study(offers(n_subjects=2, n_decisions=3).drop(["who"]))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=4, max_size=12, unique=True))
def test_swapping_conditions_turns_the_difference_round(values):
    apart = np.array(values)
    one = paired_difference("a", "b", "x", apart, 0.9)
    other = paired_difference("b", "a", "x", -apart, 0.9)
    assert other.difference == pytest.approx(-one.difference)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert other.p_value == pytest.approx(one.p_value)
    assert other.wilcoxon_p_value == pytest.approx(one.wilcoxon_p_value)


@pytest.mark.parametrize("values", [[], [0.3], [0.3, 0.5], [0.4, 0.4, 0.4, 0.4]])
def test_no_test_is_invented(values):
    found = paired_difference("a", "b", "x", np.array(values), 0.95)
    assert found.n_pairs == len(values)
    assert np.isnan([found.p_value, found.adjusted_p_value, found.wilcoxon_p_value]).all()
