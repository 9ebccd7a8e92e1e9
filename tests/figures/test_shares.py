"""Choice probabilities, drawn."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import choice_probability, figure, predicted_observed
from penchant.figures.model_comparison import wilson_interval

PREDICTED, OBSERVED = np.array([0.1, 0.25, 0.6]), np.array([0.15, 0.2, 0.68])


def test_shares_are_where_they_belong_with_wilsons_intervals():
    counts = np.array([40.0, 90.0, 12.0])
    axes = predicted_observed(figure().subplots(), PREDICTED, OBSERVED, counts=counts)
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.c_[PREDICTED, OBSERVED])
    ends = [segment[:, 1] for segment in axes.collections[0].get_segments()]
    np.testing.assert_allclose(ends, wilson_interval(OBSERVED, counts))
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_ylim()[1] > wilson_interval(OBSERVED, counts).max()


def test_a_second_model_keeps_the_first_in_sight():
    axes = figure().subplots()
    predicted_observed(axes, PREDICTED, OBSERVED, label="UCL")
    predicted_observed(axes, PREDICTED / 10, OBSERVED / 10, label="Q", series=1)
    assert axes.get_xlim()[1] > 0.68
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["UCL", "Q"]


def test_unknown_shares_are_counted():
    axes = predicted_observed(figure().subplots(), [0.1, np.nan, 0.3], [0.2, 0.3, np.nan])
    assert len(axes.lines[0].get_xdata()) == 1
    assert axes.get_title(loc="right") == "no share known: 2"


def test_two_options_are_a_logistic_curve():
    axes = choice_probability(figure().subplots(), [0.5, 4.0], reach=3.0, n_points=7)
    x, p = axes.lines[-1].get_data()
    np.testing.assert_allclose(x, [-3, -2, -1, 0, 1, 2, 3])
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-4.0 * x)), rtol=1e-9)
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == [r"$\theta$ = 0.5", r"$\theta$ = 4"]


def test_large_differences_do_not_overflow():
    axes = choice_probability(figure().subplots(), [1e4], reach=1e4)
    np.testing.assert_array_equal(axes.lines[-1].get_ydata()[[0, -1]], [0.0, 1.0])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda a: predicted_observed(a, [12.0], [0.1]), "predicted must lie in 0..1; got 12 at 0"),
        (lambda a: predicted_observed(a, [0.1], [0.1, 0.2]), r"observed must have shape \(1,\)"),
        (lambda a: choice_probability(a, reach=0), "reach must be > 0; got 0"),
    ],
)
def test_wrong_arguments_are_named(draw, message):
    with pytest.raises(DataError, match=message):
        draw(figure().subplots())
