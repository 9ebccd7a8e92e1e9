"""Estimates of subjects."""

import numpy as np
import pytest

from penchant import DataError
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
    assert axes.get_title(loc="right") == "no finite estimate: 3"


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
    assert axes.get_title(loc="right") == "no finite estimate: 2"
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["high (n = 2)", "low (n = 2)"]
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
            lambda a: forest(a, [2.0, -1.0], logarithmic=True),
            "estimates must be > 0 on a logarithmic",
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
