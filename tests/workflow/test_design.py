"""How much data is needed, against closed forms."""

import numpy as np
import pytest
from scipy import stats

import penchant as pn
from penchant.workflow.design_simulation import (
    DesignPoint,
    find_smallest_sufficient_size,
    welch_p_values,
)

TASK = pn.Task(pn.Landscape([0.0, 0.0], pn.GaussianNoise(1.0)), n_decisions=40)


@pytest.mark.parametrize(("bias", "width"), [(0.0, 0.8), (0.9, 1.0)])
def test_decisions_for_the_log_odds_are_those_of_the_formula(bias, width):
    found = pn.design(
        pn.models.RandomChoice(2),
        TASK,
        {"bias_0": bias},
        goal=pn.NarrowIntervals("bias_0", width),
        n_subjects=60,
        rng=np.random.default_rng(1),
    )
    p = 1 / (1 + np.exp(-bias))
    formula = (2 * stats.norm.isf(0.025) / width) ** 2 / (p * (1 - p))
    assert found.needed == pytest.approx(formula, rel=0.1)
    few, many = found.bracket
    assert few < formula < (many or np.inf) * 1.02
    assert "is too small" in found.summary()


def test_a_width_may_be_relative_to_the_true_value():
    found = pn.design(
        pn.models.RandomChoice(2),
        TASK,
        {"bias_0": 0.5},
        goal=pn.NarrowIntervals("bias_0", 2.0, relative=True),
        n_subjects=40,
        rng=np.random.default_rng(1),
    )
    p = 1 / (1 + np.exp(-0.5))
    assert found.needed == pytest.approx((2 * 1.96) ** 2 / (p * (1 - p)), rel=0.12)


def test_a_goal_out_of_reach_is_said_to_be():
    found = pn.design(
        pn.models.RandomChoice(2),
        TASK,
        {"bias_0": 0.0},
        goal=pn.NarrowIntervals("bias_0", 0.01, most=50),
        n_subjects=10,
        rng=np.random.default_rng(1),
    )
    assert found.needed is None
    assert "none up to 50" in found.summary()
    assert [t.n for t in found.tried] == [25, 50]
    assert found.to_frame(backend="pyarrow").column("share").to_pylist() == [0.0, 0.0]


@pytest.mark.slow
def test_subjects_for_a_difference_are_those_of_the_noncentral_t():
    spread, apart, n_decisions = 0.5, 0.55, 80
    found = pn.design(
        pn.models.RandomChoice(2),
        TASK.with_decisions(n_decisions),
        {"bias_0": stats.norm(0.0, spread)},
        goal=pn.DetectDifference({"bias_0": stats.norm(apart, spread)}),
        n_subjects=250,
        rng=np.random.default_rng(3),
    )
    # estimates vary by what people differ and by 1 / (n p q), about 4.4 / n here
    d = apart / np.sqrt(spread**2 + 4.4 / n_decisions)
    for tried in found.tried:
        df, shift = 2 * tried.n - 2, d * np.sqrt(tried.n / 2)
        edge = stats.t.isf(0.025, df)
        power = stats.nct.sf(edge, df, shift) + stats.nct.cdf(-edge, df, shift)
        assert abs(tried.share - power) < 3.5 * tried.error, tried
    by_formula = next(
        n
        for n in range(2, 99)
        if stats.nct.sf(stats.t.isf(0.025, 2 * n - 2), 2 * n - 2, d * np.sqrt(n / 2)) >= 0.8
    )
    low, high = found.bracket
    assert low < by_formula < high


def test_without_a_difference_it_is_found_as_often_as_the_level_says():
    group = {"bias_0": stats.norm(0.2, 0.5)}
    found = pn.design(
        pn.models.RandomChoice(2),
        TASK,
        group,
        goal=pn.DetectDifference(group, most=16),
        n_subjects=150,
        rng=np.random.default_rng(4),
    )
    assert found.needed is None
    assert all(abs(t.share - 0.05) < 4 * t.error for t in found.tried[1:])


def test_welch_is_that_of_scipy_and_leaves_nan_out():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 9)), rng.normal(0.7, 2.0, size=(6, 12))
    x[2, 4] = y[3, :5] = np.nan
    expected = stats.ttest_ind(x, y, axis=1, equal_var=False, nan_policy="omit").pvalue
    np.testing.assert_allclose(welch_p_values(x, y), expected, rtol=1e-10)
    x[0, 1:] = np.nan
    assert welch_p_values(x, y)[0] == 1.0


def test_the_search_brackets_a_step():
    def step(n):
        return DesignPoint(n, float(n >= 137), 0.0, np.nan)

    def reached(n):
        return DesignPoint(n, 1.0, 0.0, np.nan)

    found = find_smallest_sufficient_size(step, 10, 5000, 0.5, "x", "y")
    assert 137 <= found.needed <= 137 * 1.05
    assert found.bracket[0] < 137 <= found.bracket[1]
    at_once = find_smallest_sufficient_size(reached, 10, 5000, 0.5, "x", "y")
    assert at_once.needed == 10 and len(at_once.tried) == 1
    assert repr(at_once) == "<Design: 10 x needed for y>"


def test_the_same_randomness_gives_the_same_design():
    def found(threads):
        return pn.design(
            pn.QLearning(2),
            pn.Task(pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1)), 1),
            {"temperature": (0.2, 0.4), "learning_rate": (0.3, 0.6)},
            goal=pn.NarrowIntervals("temperature", 0.3, first=40),
            n_subjects=5,
            rng=np.random.default_rng(9),
            threads=threads,
        )

    assert found(1).tried == found(2).tried


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parameter": "bias_1"}, "parameter must be 'bias_0'; got 'bias_1'"),
        ({"width": 0.0}, "width must be > 0; got 0.0"),
        ({"share": 1.0}, "share must lie between 0 and 1; got 1.0"),
        ({"most": 5}, "most must be at least first, 25; got 5"),
        ({"level": 95}, "level must"),
    ],
)
def test_wrong_goals_are_refused(options, words):
    goal = pn.NarrowIntervals(**{"parameter": "bias_0", "width": 1.0, **options})
    with pytest.raises(pn.errors.DataError, match=words):
        pn.design(
            pn.models.RandomChoice(2),
            TASK,
            {"bias_0": 0.0},
            goal=goal,
            n_subjects=3,
            rng=np.random.default_rng(0),
        )


def test_which_of_several_differences_is_tested_must_be_said():
    words = "parameter must be given where groups differ in bias_0 and bias_1; got none"
    with pytest.raises(pn.errors.DataError, match=words):
        pn.design(
            pn.models.RandomChoice(3),
            TASK,
            {"bias_0": 0.0, "bias_1": 0.0},
            goal=pn.DetectDifference({"bias_0": 1.0, "bias_1": 0.5}),
            rng=np.random.default_rng(0),
        )
