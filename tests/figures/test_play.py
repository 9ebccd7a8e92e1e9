"""Learning, regret and steps."""

import numpy as np
import pytest
from scipy import stats

from penchant.errors import DataError
from penchant.figures import figure, learning_curve, regret_growth, step_distances

RNG = np.random.default_rng(5)


def test_the_curve_is_the_mean_and_the_band_its_interval():
    plays = RNG.normal(30, 9, (7, 4))
    axes = learning_curve(figure().subplots(), plays)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [1, 2, 3, 4])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), plays.mean(axis=0))
    error = stats.sem(plays, axis=0)
    corners = axes.collections[0].get_paths()[0].vertices
    for t in range(4):
        ends = plays[:, t].mean() + stats.norm.ppf([0.025, 0.975]) * error[t]
        for end in ends:
            assert np.isclose(corners, [t + 1, end]).all(axis=1).any()


def test_shares_on_which_all_agree_are_not_drawn_as_known_exactly():
    people = [[1.0, 0.0, 1.0], [1.0, 1.0, np.nan], [1.0, 0.0, np.nan]]
    axes = learning_curve(figure().subplots(), people, shares=True)
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices
    at_first = heights[heights[:, 0] == 1, 1]
    assert at_first.min() == pytest.approx(3 / (3 + 1.96**2), abs=1e-3)  # Wilson, 3 of 3
    assert heights[:, 1].max() <= 1
    alone = heights[heights[:, 0] == 3, 1]
    assert alone.min() < 0.25 < alone.max()
    assert axes.get_ylim() == (-0.02, 1.02)


def test_what_is_missing_is_left_out_of_the_mean():
    plays = np.array([[3.0, np.nan, 5.0], [5.0, np.nan, np.nan]])
    axes = learning_curve(figure().subplots(), plays)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [4.0, np.nan, 5.0])


def test_simulated_play_may_be_longer_and_is_told_apart():
    axes = learning_curve(figure().subplots(), RNG.normal(size=(3, 4)), RNG.normal(size=(9, 6)))
    assert [len(line.get_xdata()) for line in axes.lines] == [4, 6]
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["people (n = 3)", "simulated from the estimate (n = 9)"]


def test_regret_and_its_fits_are_drawn_with_their_weights():
    regret = np.array([2.0, 5.0, 7.0, 8.0])
    fits = {"linear": regret + 1, "logarithmic": regret - 1}
    axes = regret_growth(figure().subplots(), regret, fits, weights={"linear": 0.071})
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.c_[[1, 2, 3, 4], regret])
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), regret - 1)
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["observed", "linear (0.07)", "logarithmic"]


def test_unknown_regret_is_counted():
    axes = regret_growth(figure().subplots(), [2.0, 5.0, np.nan])
    assert axes.get_title(loc="right") == "no regret known: 1"


def test_shares_of_steps_sum_to_one():
    people, simulated = [0.0, 0.4, 1.0, 1.41, 2.24, np.nan], [[1.0, 3.0], [1.0, 6.4]]
    axes = step_distances(figure().subplots(), people, simulated)
    heights = [bar.get_height() for bar in axes.patches]
    np.testing.assert_allclose(heights, [0.4, 0.4, 0.2, 0, 0, 0, 0])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0, 0.5, 0, 0.25, 0, 0, 0.25])
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.arange(7))
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["people (5 steps)", "simulated from the estimate (4 steps)"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda a: learning_curve(a, [1.0]), r"people must have shape \(n_episodes, n_decisions\)"),
        (lambda a: learning_curve(a, [[1.0]], [1.0]), "simulated must have shape"),
        (
            lambda a: regret_growth(a, [1.0], {"power": []}),
            r"fitted\['power'\] must have shape \(1,\)",
        ),
        (lambda a: step_distances(a, [1.0], width=0), "width must be > 0; got 0"),
    ],
)
def test_wrong_arguments_are_named(draw, message):
    with pytest.raises(DataError, match=message):
        draw(figure().subplots())
