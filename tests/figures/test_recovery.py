"""Parameters and models, recovered."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import confusion, figure, predictive_intervals, recovery
from penchant.figures.style import BLUE, VERMILLION

TRUE = np.array([2.0, 3.0, 5.0, 7.0, 4.0, 6.0])
FOUND = np.array([2.2, 2.7, 5.9, 6.8, np.inf, np.nan])
ENDS = np.array([[1, 3], [2, 2.9], [4, 8], [6, 8], [3, np.inf], [np.nan, np.nan]])


def said(axes):
    return axes.get_title(loc="left").rstrip()


def test_correlation_and_coverage_are_those_of_the_data():
    axes = recovery(figure().subplots(), TRUE, FOUND, ENDS, name="noise")
    r = np.corrcoef(TRUE[:4], FOUND[:4])[0, 1]
    assert said(axes) == f"r = {r:.2f}, covered 80 % of 5"
    logarithmic = recovery(figure().subplots(), TRUE, FOUND, ENDS, logarithmic=True)
    r = np.corrcoef(np.log(TRUE[:4]), np.log(FOUND[:4]))[0, 1]
    assert said(logarithmic).startswith(f"r = {r:.2f}")


def test_intervals_that_miss_are_told_apart():
    axes = recovery(figure().subplots(), TRUE, FOUND, ENDS)
    by_colour = {}
    for line in axes.lines:
        if line.get_marker() in ("o", "s"):
            by_colour[line.get_color()] = line.get_xydata().tolist()
    assert by_colour[VERMILLION] == [[3.0, 2.7]]
    assert by_colour[BLUE] == [[2.0, 2.2], [5.0, 5.9], [7.0, 6.8]]


def test_estimates_that_are_not_finite_stand_at_the_edge_above_their_truth():
    axes = recovery(figure().subplots(), TRUE, FOUND)
    marks = {
        line.get_marker(): line.get_xdata().tolist()
        for line in axes.lines
        if line.get_marker() in ("^", "x")
    }
    assert marks == {"^": [4.0], "x": [6.0]}
    assert axes.get_title(loc="right") == "no finite estimate: 2"


def test_intervals_that_leave_the_axis_are_marked_and_those_without_an_estimate_drawn():
    found = np.array([2.0, 3.0, 4.0, np.nan, 0.0])
    ends = [[0.0, 3.0], [2.0, np.inf], [3.0, 5.0], [2.0, 6.0], [0.0, 1.0]]
    axes = recovery(figure().subplots(), TRUE[:5], found, ends, logarithmic=True)
    lines = {s[0, 0]: s[:, 1].tolist() for c in axes.collections for s in c.get_segments()}
    low, high = axes.get_ylim()
    assert lines[2.0] == [low, 3.0]
    assert lines[3.0] == [2.0, high]
    assert lines[7.0] == [2.0, 6.0]
    assert lines[4.0] == [low, 1.0]
    assert axes.get_title(loc="right").split("\n") == [
        "no finite estimate: 1",
        "estimate 0 or below: 1",
        "▴ interval to 0 or without a bound: 3",
    ]


def test_both_axes_are_alike_and_the_diagonal_crosses_them():
    axes = recovery(figure().subplots(), TRUE, FOUND)
    assert axes.get_xlim() == axes.get_ylim()
    diagonal = axes.lines[0].get_xydata()
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])


def test_no_correlation_is_invented_where_nothing_varies():
    assert said(recovery(figure().subplots(), [2.0, 2.0, 2.0], [1.0, 2.0, 3.0])) == ""


def test_rows_are_what_was_simulated_and_columns_what_was_found():
    shares = np.array([[0.9, 0.1], [0.35, 0.65]])
    axes = confusion(figure().subplots(), shares, ["UCL", "Q-learning"], counts=[40, 60])
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written[(1.5, 0.5)] == "0.10"
    assert written[(0.5, 1.5)] == "0.35"
    assert axes.get_ylim() == (2, 0)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["UCL (40)", "Q-learning (60)"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("model found", "model simulated")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda a: recovery(a, [1.0], [1.0, 2.0]), r"estimated must have shape \(1,\)"),
        (
            lambda a: recovery(a, [-1.0], [1.0], logarithmic=True),
            "true must be > 0 on a logarithmic",
        ),
        (
            lambda a: confusion(a, [[1.0, 0.0]], ["a"]),
            r"shares must have shape \(n_models, n_models\)",
        ),
        (lambda a: confusion(a, [[12.0]], ["a"]), "shares must lie in 0..1; got 12 at 0"),
        (
            lambda a: confusion(a, [[1.0]], []),
            "names must have one label per model, 1 in all; got 0",
        ),
    ],
)
def test_wrong_arguments_are_named(draw, message):
    with pytest.raises(DataError, match=message):
        draw(figure().subplots())


def test_a_draw_that_is_not_finite_takes_no_interval_away():
    draws = np.random.default_rng(0).normal(0.5, 0.05, (200, 3))
    draws[3, 0] = np.nan
    draws[:, 2] = np.nan
    axes = predictive_intervals(figure().subplots(), ["a", "b", "c"], [0.5, 0.5, 0.4], draws)
    thin = [c.get_segments()[0][:, 0] for c in axes.collections if c.get_linewidth()[0] < 1]
    assert [round(float(np.ptp(ends)), 1) for ends in thin] == [0.2, 0.2]
    assert axes.get_title(loc="right") == "observed only, no interval: 1"


def test_statistics_outside_their_interval_are_marked():
    rng = np.random.default_rng(0)
    axes = predictive_intervals(
        figure().subplots(),
        ["switches", "best option"],
        [0.5, 0.9],
        rng.normal([0.5, 0.4], 0.05, (400, 2)),
    )
    inside, outside = axes.get_lines()
    assert inside.get_xdata().tolist() == [0.5] and outside.get_xdata().tolist() == [0.9]
    assert outside.get_label() == "observed, outside"
    low, high = axes.collections[3].get_segments()[0][:, 0]  # thin line of the second row
    assert low == pytest.approx(0.4 - 1.96 * 0.05, abs=0.02)
    assert high == pytest.approx(0.4 + 1.96 * 0.05, abs=0.02)
