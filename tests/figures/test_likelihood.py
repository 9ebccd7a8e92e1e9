"""The likelihood of one parameter, drawn."""

import numpy as np
import pytest
from scipy import stats

from penchant.errors import DataError
from penchant.figures import figure, profile, profile_likelihood
from penchant.inference.profile_curve import ProfileCurve

X = np.array([1.0, 4.0, 2.0, 3.0, 6.0])
Y = np.array([-23.0, -20.2, -21.0, -20.0, -24.0])


def test_the_curve_is_relative_to_its_maximum_and_sorted():
    axes = profile_likelihood(figure().subplots(), X, Y)
    expected = [[1, -3], [2, -1], [3, 0], [4, -0.2], [6, -4]]
    np.testing.assert_allclose(axes.lines[0].get_xydata(), expected, atol=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_dashed_line_is_half_a_chi_square_quantile_down(level):
    axes = profile_likelihood(figure().subplots(), X, Y, level=level)
    drop = stats.chi2.ppf(level, 1) / 2
    assert axes.lines[1].get_ydata()[0] == pytest.approx(-drop, rel=1e-9)


def test_the_interval_ends_where_it_ends():
    axes = profile_likelihood(figure().subplots(), X, Y, estimate=3.1, interval=(1.5, 5.0))
    corners = axes.patches[0].get_extents().transformed(axes.transData.inverted())
    assert (corners.x0, corners.x1) == pytest.approx((1.5, 5.0))
    assert [3.1, 0.0] in [line.get_xydata()[0].tolist() for line in axes.lines]


def test_an_open_interval_goes_on_to_the_edge_with_an_arrow():
    axes = profile_likelihood(figure().subplots(), X, Y, interval=(1.5, np.inf))
    corners = axes.patches[0].get_extents().transformed(axes.transData.inverted())
    assert corners.x1 == pytest.approx(axes.get_xlim()[1])
    assert "▸" in [text.get_text() for text in axes.texts]
    assert "◂" not in [text.get_text() for text in axes.texts]


def test_a_finite_end_beyond_the_curve_is_told_from_one_without_a_bound():
    x = np.linspace(0.5, 4, 30)
    options = {"interval": (0.0, 9.5), "logarithmic": True}
    axes = profile_likelihood(figure().subplots(), x, -((x - 2) ** 2), **options)
    arrows = {text.get_text() for text in axes.texts} - {"95 %"}
    assert arrows == {"◂", "▹"}
    assert axes.get_title(loc="right").split("\n") == [
        "◂ the interval has no bound",
        "▹ the interval ends beyond the axis, at 9.5",
    ]


def test_an_estimate_that_is_not_finite_is_said_not_drawn():
    axes = profile_likelihood(
        figure().subplots(), X, Y, estimate=np.inf, interval=(np.nan, np.nan), logarithmic=True
    )
    assert axes.get_title(loc="right") == "no interval\nno finite estimate"
    assert axes.get_xscale() == "log"
    assert len(axes.lines) == 2


def test_a_curve_is_drawn_with_its_name():
    curve = ProfileCurve("prior_mean", X, Y, 3.1, 1.5, 5.0)
    axes = profile(figure().subplots(), curve)
    assert axes.get_xlabel() == "prior mean (units of reward)"
    assert len(axes.patches) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must lie between 0 and 1; got 1.0"),
        ({"interval": (3, 2)}, "interval must go from low to high; got 3 to 2"),
        ({"log_likelihoods": Y[:2]}, r"log_likelihoods must have shape \(5,\)"),
        (
            {"values": -X, "logarithmic": True},
            "values must be > 0 on a logarithmic axis; got -1 at 0",
        ),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(DataError, match=message):
        profile_likelihood(figure().subplots(), **{"values": X, "log_likelihoods": Y, **options})
