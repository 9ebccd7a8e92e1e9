"""People under their population."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import coefficients, figure, forest, population_density, shrinkage
from penchant.figures.style import BLUE, VERMILLION

MEAN, SPREAD = np.array([-0.6, -1.2]), np.array([[1.0, -0.2], [-0.2, 0.25]])


def people(seed=3, n=17):
    rng = np.random.default_rng(seed)
    alone = rng.multivariate_normal(MEAN, 3 * SPREAD, size=n)
    return alone, MEAN + 0.5 * (alone - MEAN)


def test_everybody_is_drawn_alone_and_together():
    alone, together = people()
    axes = shrinkage(figure().subplots(), alone, together, mean=MEAN, covariance=SPREAD)
    own = {line.get_color(): line.get_xydata() for line in axes.lines if line.get_marker() == "o"}
    np.testing.assert_allclose(own[BLUE], together)
    assert len(own[VERMILLION]) == 17
    assert sum(text.arrow_patch is not None for text in axes.texts) == 17


def test_ellipses_hold_the_share_that_they_say():
    alone, together = people()
    axes = shrinkage(figure().subplots(), alone, together, mean=MEAN, covariance=SPREAD)
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    away = lines["95 % of people"] - MEAN
    squared = np.einsum("na,ab,nb->n", away, np.linalg.inv(SPREAD), away)
    np.testing.assert_allclose(squared, 5.991, rtol=1e-3)  # chi-square with two degrees


def test_people_without_an_estimate_of_their_own_come_from_the_edge_and_are_counted():
    alone, together = people()
    alone[0], alone[1, 1], alone[2] = np.nan, -np.inf, (80.0, 0.0)
    axes = shrinkage(figure().subplots(), alone, together, mean=MEAN, covariance=SPREAD)
    assert axes.get_title(loc="right") == "no finite estimate: 2"
    assert sum(text.arrow_patch is not None for text in axes.texts) == 16
    assert axes.get_xlim()[1] < 10


def test_people_beyond_both_axes_come_level_from_the_side():
    alone, together = people()
    alone[:3] = (80.0, -np.inf)
    axes = shrinkage(figure().subplots(), alone, together, mean=MEAN, covariance=SPREAD)
    ends = [(text.xyann, text.xy) for text in axes.texts if text.arrow_patch is not None]
    for start, end in ends[:3]:
        assert start[1] == end[1] and start[0] == pytest.approx(max(axes.get_xlim()), rel=0.2)


def test_densities_are_drawn_over_their_people():
    x = np.linspace(-3, 3, 50)
    heights = np.stack([np.exp(-(x**2)), np.exp(-((x - 1) ** 2))])
    bands = np.stack([0.9 * heights, 1.1 * heights], axis=-1)
    axes = population_density(
        figure().subplots(),
        x,
        heights,
        bands=bands,
        people=[[0.1, 0.3], [1.0, np.nan]],
        categories=["a", "b"],
        name="rate",
    )
    np.testing.assert_allclose(axes.lines[0].get_ydata(), heights[0])
    assert len(axes.collections) == 2
    marks = [line for line in axes.lines if line.get_marker() == "|"]
    assert [len(line.get_xdata()) for line in marks] == [2, 1]
    assert axes.get_ylim()[0] < marks[1].get_ydata()[0] < 0


def test_coefficients_have_a_line_where_there_is_no_effect():
    ends = [[-0.2, 0.4], [0.5, 1.1]]
    axes = coefficients(figure().subplots(), ["age", "group"], [0.1, 0.8], ends)
    assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["age", "group"]
    segments = [one.get_segments()[0] for one in axes.collections]
    assert len(segments) >= 1


def test_a_forest_has_estimates_of_people_alone_as_hollow_marks():
    axes = forest(figure().subplots(), [1.0, 3.0, 2.0], alone=[1.5, np.inf, 2.5])
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert sorted(hollow[0].get_xdata()) == [1.5, 2.5]


def test_rows_that_do_not_match_are_refused():
    with pytest.raises(DataError, match="alone must have a row for each of 2 subjects; got 1"):
        shrinkage(figure().subplots(), [[1.0, 2.0]], [[1.0, 2.0], [2.0, 3.0]])
    assert coefficients(figure().subplots(), [], [], None) is not None


def test_numbers_at_axes_of_coordinates_are_those_of_the_parameter():
    alone, together, *_ = people()
    axes = shrinkage(
        figure().subplots(), alone, together, values=(lambda h: 1 / (1 + np.exp(-h)), np.exp)
    )
    for axis, value in ((axes.xaxis, lambda h: 1 / (1 + np.exp(-h))), (axes.yaxis, np.exp)):
        said = [float(label.get_text()) for label in axis.get_ticklabels()]
        np.testing.assert_allclose(value(axis.get_ticklocs()), said, rtol=1e-6)
        assert 3 <= len(said) <= 8


def test_a_band_that_goes_far_up_does_not_flatten_the_density():
    x = np.linspace(-1, 1, 41)
    high = np.exp(-(x**2))
    bands = np.stack([0 * x, 40 * high], axis=1)[None]
    axes = population_density(figure().subplots(), x, [high], bands=bands)
    assert axes.get_ylim()[1] < 3


def test_every_population_of_many_has_a_line_of_its_own():
    x = np.linspace(-3, 3, 31)
    heights = [np.exp(-0.5 * (x - shift) ** 2) for shift in np.linspace(-1, 1, 7)]
    axes = population_density(figure().subplots(), x, heights, categories=list("abcdefg"))
    drawn = [line for line in axes.lines if len(line.get_xdata()) == len(x)]
    assert len(drawn) == 7
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn}) == 7
