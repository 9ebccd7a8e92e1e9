"""Estimates of subjects."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import figure, forest, parameter_scatter

VALUES = np.array([3.0, 1.0, np.nan, 2.0, np.inf, -np.inf])
ENDS = np.array([[2, 4], [0.5, np.inf], [np.nan] * 2, [np.nan] * 2, [np.nan] * 2, [np.nan] * 2])


def points(axes, marker):
    return [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == marker]


def test_rows_are_sorted_and_those_without_an_estimate_come_at_the_ends():
    axes = forest(figure().subplots(), VALUES, ENDS, labels=list("abcdef"))
    assert points(axes, "o") == [[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]]
    assert [text.get_text() for text in axes.get_yticklabels()] == list("fbdaec")
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_what_is_not_finite_is_marked_at_its_edge_and_counted():
    axes = forest(figure().subplots(), VALUES, ENDS, labels=list("abcdef"), ordered=False)
    assert points(axes, "<") == [[[0.0, 5.0]]]
    assert [[1.0, 4.0]] in points(axes, ">")
    assert points(axes, "x") == [[[0.0, 2.0]]]
    assert axes.get_title(loc="right").split("\n") == [
        "no finite estimate: 3",
        "▸ interval without a bound: 1",
    ]


def test_an_open_interval_goes_on_to_the_edge_with_an_arrow():
    axes = forest(figure().subplots(), VALUES, ENDS, ordered=False)
    segments = {int(s[0, 1]): s[:, 0].tolist() for s in axes.collections[0].get_segments()}
    assert set(segments) == {0, 1}
    assert segments[0] == [2.0, 4.0]
    assert segments[1] == [0.5, axes.get_xlim()[1]]
    assert [[1.0, 1.0]] in points(axes, ">")


def test_hundreds_of_subjects_have_no_names_but_a_number():
    values = np.random.default_rng(2).normal(4, 1, 326)
    axes = forest(figure().subplots(), values, labels=range(326), pooled=4.0)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["pooled"]
    assert axes.get_ylabel() == "326 subjects"
    assert len(points(axes, "o")[0]) == 326


def test_one_huge_interval_does_not_flatten_the_rest():
    values = np.linspace(2, 5, 20)
    ends = np.c_[values - 1, values + 1]
    ends[7] = -1e6, 1e9
    low, high = forest(figure().subplots(), values, ends).get_xlim()
    assert 0 < low < high < 8


def test_estimates_beyond_given_limits_are_marked_and_counted():
    axes = forest(figure().subplots(), [1.0, 2.0, 500.0], limits=(0.0, 4.0))
    assert axes.get_xlim() == (0.0, 4.0)
    assert points(axes, ">") == [[[1.0, 2.0]]]
    assert axes.get_title(loc="right") == "beyond the axis: 1"


def test_the_pooled_estimate_stands_below_with_its_band():
    axes = forest(figure().subplots(), [1.0, 2.0], pooled=1.6, pooled_interval=(1.2, 2.0))
    ((place, row),) = points(axes, "D")[0]
    assert place == 1.6
    assert row > 1
    (band,) = axes.patches
    corners = band.get_extents().transformed(axes.transData.inverted())
    assert (corners.x0, corners.x1) == pytest.approx((1.2, 2.0))


def test_a_logarithmic_axis_takes_a_bound_of_zero_for_none():
    axes = forest(figure().subplots(), [1.0, 100.0], [[0.0, 3.0], [50, 200]], logarithmic=True)
    assert axes.get_xscale() == "log"
    assert axes.get_xlim()[0] > 0
    assert [[0.0, 0.0]] in points(axes, "<")


def marks(axes, marker):
    """Whether each mark at an edge is full, by its row."""
    return {
        float(row): line.get_markerfacecolor() != "white"
        for line in axes.lines
        if line.get_marker() == marker
        for row in line.get_ydata()
    }


def segments(axes):
    """Ends of the line of every row."""
    return {
        float(s[0, 1]): s[:, 0].tolist() for one in axes.collections for s in one.get_segments()
    }


def test_an_interval_down_to_0_reaches_the_edge_of_a_logarithmic_axis_and_is_not_dropped():
    values, ends = [1.0, 2.0, 3.0], [[0.0, 9.0], [1.0, 4.0], [-2.0, 5.0]]
    axes = forest(figure().subplots(), values, ends, logarithmic=True, ordered=False)
    left = axes.get_xlim()[0]
    assert segments(axes) == {0.0: [left, 9.0], 1.0: [1.0, 4.0], 2.0: [left, 5.0]}
    assert marks(axes, "<") == {0.0: True, 2.0: True}
    assert axes.get_title(loc="right") == "▸ interval to 0 or without a bound: 2"


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("n", [6, 60])
def test_a_finite_interval_that_leaves_the_axis_is_told_from_one_without_a_bound(n, logarithmic):
    values = np.linspace(2, 5, n)
    ends = np.c_[values - 1, values + 1]
    ends[1], ends[3] = (1e-9 if logarithmic else -1e6, 1e12), (1.5, np.inf)
    axes = forest(figure().subplots(), values, ends, logarithmic=logarithmic, ordered=False)
    assert marks(axes, ">") == {1.0: False, 3.0: True}
    assert marks(axes, "<") == {1.0: False}
    said = axes.get_title(loc="right")
    assert "without a bound: 1" in said
    assert "▹ interval ends beyond the axis: 1" in said


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_axis_holds_every_finite_interval_that_is_not_absurd(logarithmic):
    rng = np.random.default_rng(1)
    values = rng.uniform(2, 5, 40)
    ends = np.c_[values - rng.uniform(0.5, 1, 40), values + rng.uniform(0.5, 1, 40)]
    ends[7], ends[9] = (0.6, 6.9), (1.5, 8.0)  # wider than all others
    axes = forest(figure().subplots(), values, ends, logarithmic=logarithmic)
    low, high = axes.get_xlim()
    assert low <= ends.min() and high >= ends.max()
    assert axes.get_title(loc="right") == ""


def test_people_without_an_estimate_show_what_their_choices_are_consistent_with():
    values = [2.0, np.nan, np.nan, np.nan, np.inf]
    ends = [[1, 3], [0.5, np.inf], [1.2, 2.5], [np.nan, np.nan], [2.5, np.nan]]
    axes = forest(figure().subplots(), values, ends, ordered=False)
    drawn = segments(axes)
    right = axes.get_xlim()[1]
    assert drawn == {0.0: [1, 3], 1.0: [0.5, right], 2.0: [1.2, 2.5], 4.0: [2.5, right]}
    assert points(axes, "x") == [[[0.0, 3.0]]]
    solid, dashed = (one.get_linestyle()[0][1] for one in axes.collections)
    assert solid is None and dashed is not None
    assert axes.get_title(loc="right").startswith("no finite estimate: 4")


def test_an_estimate_of_0_is_marked_at_the_edge_of_a_logarithmic_axis_and_counted():
    axes = forest(figure().subplots(), [0.0, 1.0, 3.0], logarithmic=True, ordered=False)
    assert points(axes, "<") == [[[0.0, 0.0]]]
    assert axes.get_title(loc="right") == "estimate 0 or below: 1"


def test_open_ends_of_both_parameters_are_marked():
    axes = parameter_scatter(
        figure().subplots(),
        [1.0, 2.0, 3.0],
        [5.0, 6.0, 0.0],
        x_interval=[[0.0, 2.0], [1.0, np.inf], [2.0, 4.0]],
        y_interval=[[4.0, 6.0], [5.0, 1e30], [0.0, 2.0]],
        logarithmic=(True, True),
    )
    said = axes.get_title(loc="right").split("\n")
    assert said == [
        "estimate 0 or below: 1",
        "▸ interval to 0 or without a bound: 2",
        "▵ interval ends beyond the axis: 1",
    ]


def test_both_parameters_of_a_subject_make_its_point():
    axes = parameter_scatter(
        figure().subplots(),
        [3.0, 5.0, 4.0, np.nan],
        [60.0, np.inf, 20.0, 30.0],
        x_interval=[[2, 4], [4, 6], [3, np.inf], [np.nan, np.nan]],
        categories=["high", "high", "low", "low"],
        names=("noise", "mean"),
    )
    assert points(axes, "o") == [[[3.0, 60.0]]]
    assert points(axes, "s") == [[[4.0, 20.0]]]
    assert points(axes, "^")[0][0][0] == 5.0
    assert axes.get_title(loc="right").split("\n") == [
        "no finite estimate: 2",
        "▸ interval without a bound: 1",
    ]
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["high (n = 1 of 2)", "low (n = 1 of 2)"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("noise", "mean")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda a: forest(a, [[1.0]]), r"estimates must be one-dimensional; got shape \(1, 1\)"),
        (
            lambda a: forest(a, [1.0], labels=["a", "b"]),
            "labels must have one label per subject, 1",
        ),
        (
            lambda a: forest(a, [1.0], [[2.0, 1.0]]),
            "interval must go from low to high; got 2 to 1 at subj",
        ),
        (
            lambda a: forest(a, [2.0], limits=(0, 1), logarithmic=True),
            "limits must go up from above 0",
        ),
        (lambda a: parameter_scatter(a, [1.0], [1.0, 2.0]), r"y must have shape \(1,\)"),
    ],
)
def test_wrong_arguments_are_named(draw, message):

    with pytest.raises(DataError, match=message):
        draw(figure().subplots())


def test_a_short_logarithmic_axis_writes_its_numbers_out():
    axes = forest(figure().subplots(), [0.17, 0.26, 0.34], logarithmic=True)
    axes.figure.canvas.draw()
    said = [tick.get_text() for tick in axes.get_xticklabels()]
    assert said and all(float(one) < 1 for one in said)  # 0.2, not a power of ten
    tiny = forest(figure().subplots(), [1.7e-7, 2.6e-7, 3.4e-7], logarithmic=True)
    tiny.figure.canvas.draw()
    assert all("10^" in tick.get_text() for tick in tiny.get_xticklabels() if tick.get_text())


@pytest.mark.parametrize("logarithmic", [True, False])
def test_one_absurd_estimate_does_not_flatten_the_rest_and_is_marked(logarithmic):
    values = np.geomspace(0.2, 0.6, 9)
    absurd = np.append(values, 1e-12 if logarithmic else 900.0)
    axes = forest(figure().subplots(), absurd, logarithmic=logarithmic)
    low, high = axes.get_xlim()
    assert low > 1e-3 if logarithmic else high < 2
    assert low < 0.2 and high > 0.6
    assert "beyond the axis: 1" in axes.get_title(loc="right")
    near = forest(figure().subplots(), np.append(values, 0.03), logarithmic=logarithmic)
    assert near.get_xlim()[0] < 0.03 and not near.get_title(loc="right")


def test_labels_of_groups_may_be_an_array_or_a_column():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.5, 0.9])
    drawn = [
        parameter_scatter(figure().subplots(), x, y, categories=own)
        for own in (["a", "b", "a"], np.array(["a", "b", "a"]))
    ]
    first, second = ([text.get_text() for text in d.get_legend().get_texts()] for d in drawn)
    assert first == second
