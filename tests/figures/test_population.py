"""Categories beside each other."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import figure, population
from penchant.figures.style import INK

NAMES, VALUES, ENDS = ["high A", "low"], [3.2, 5.1], [[2.5, 4.0], [4.0, 6.5]]


def pooled(axes):
    return [line.get_xydata()[0].tolist() for line in axes.lines if line.get_color() == INK]


def test_pooled_estimates_and_intervals_are_in_place():
    axes = population(figure().subplots(), NAMES, VALUES, ENDS, name="noise")
    assert pooled(axes) == [[0.0, 3.2], [1.0, 5.1]]
    segments = [one.get_segments()[0].tolist() for one in axes.collections]
    assert segments == [[[0, 2.5], [0, 4.0]], [[1, 4.0], [1, 6.5]]]
    assert [text.get_text() for text in axes.get_xticklabels()] == NAMES


def test_subjects_keep_their_values_and_their_category():
    rng = np.random.default_rng(4)
    people = [rng.normal(3, 1, 40), rng.normal(5, 1, 25)]
    people[1][:3] = np.inf, np.nan, -np.inf
    axes = population(figure().subplots(), NAMES, VALUES, ENDS, subjects=people)
    for place, (line, own) in enumerate(zip(axes.lines, people, strict=False)):
        if place == 0:
            np.testing.assert_array_equal(line.get_ydata(), own)
            assert np.abs(line.get_xdata()).max() < 0.5
    counted = sum(len(line.get_xdata()) for line in axes.lines) - len(VALUES)
    assert counted == 65
    assert axes.get_title(loc="right") == "subjects with no finite estimate: 3"


def test_crowded_subjects_do_not_hide_each_other():
    axes = population(figure().subplots(), ["all"], [3.0], subjects=[np.full(30, 3.0)])
    assert len(np.unique(axes.lines[0].get_xdata())) == 30


def test_tests_are_written_above_the_pair():
    tests = {(0, 1): 0.0312, (1, 2): 1e-7, (0, 2): np.nan}
    axes = population(figure().subplots(), list("abc"), [1.0, 2.0, 3.0], p_values=tests)
    said = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert said == {"p = 0.031": 0.5, "p < 0.001": 1.5, "no test": 1.0}


def test_a_category_without_an_estimate_is_marked_and_said():
    axes = population(figure().subplots(), NAMES, [3.0, np.inf])
    assert [line.get_marker() for line in axes.lines if line.get_color() == INK] == ["o", "^"]
    assert "a category has no finite estimate" in axes.get_title(loc="right")


def test_magnitudes_apart_fit_on_a_logarithmic_axis():
    ends = [[3e-3, 8e-3], [2e5, 9e6]]
    axes = population(figure().subplots(), NAMES, [5e-3, 1e6], ends, logarithmic=True)
    low, high = axes.get_ylim()
    assert low < 3e-3
    assert high > 9e6


def test_a_pooled_interval_down_to_0_reaches_the_edge_with_a_mark():
    ends = [[0.0, 8.0], [2.0, np.inf]]
    people = [[1.0, 3.0, 0.0], [2.0, 5.0, np.nan]]
    axes = population(
        figure().subplots(), NAMES, [3.0, 4.0], ends, subjects=people, logarithmic=True
    )
    low, high = axes.get_ylim()
    segments = [one.get_segments()[0][:, 1].tolist() for one in axes.collections]
    assert segments == [[low, 8.0], [2.0, high]]
    ink = [line.get_marker() for line in axes.lines if line.get_color() == INK]
    assert ink == ["v", "o", "^", "s"]
    assert axes.get_title(loc="right").split("\n") == [
        "subjects with no finite estimate: 1",
        "estimate 0 or below: 1",
        "▴ interval to 0 or without a bound: 2",
    ]


def test_a_long_name_goes_on_below_and_its_count_stands_alone():
    names = ["high, landscape A, first session\n(n = 12 of 14)", "low"]
    axes = population(figure().subplots(), names, VALUES)
    assert (
        axes.get_xticklabels()[0].get_text() == "high, landscape\nA, first session\n(n = 12 of 14)"
    )


def test_a_pooled_estimate_beyond_given_limits_is_marked_and_said():
    axes = population(figure().subplots(), NAMES, [3.0, 50.0], ENDS, limits=(0.0, 9.0))
    assert "the estimate of a category lies beyond the axis" in axes.get_title(loc="right")
    assert [line.get_marker() for line in axes.lines if line.get_color() == INK] == ["o", "^"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": ["a"]}, "categories must have one label per estimate, 2 in all; got 1"),
        ({"subjects": [[1.0]]}, "subjects must hold one array per category, 2 in all; got 1"),
        ({"p_values": {(0, 2): 0.1}}, r"p_values must name two of the 2 categories.*got \(0, 2\)"),
        ({"interval": [1, 2]}, r"interval must have shape \(2, 2\), low and high of each category"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    given = {"categories": NAMES, "estimates": VALUES, **options}
    with pytest.raises(DataError, match=message):
        population(figure().subplots(), **given)


def test_subjects_of_groups_may_be_rows_of_an_array():
    people = np.array([[0.2, 0.4, 0.7], [0.5, 0.6, 0.8]])
    given = [
        population(figure().subplots(), ["a", "b"], [0.4, 0.6], subjects=own)
        for own in (people, list(people))
    ]
    first, second = ([line.get_xydata().tolist() for line in axes.lines] for axes in given)
    assert first == second
