"""Bands against the number of decisions."""

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.figures import convergence, figure, without_estimate
from penchant.figures.model_comparison import wilson_interval
from penchant.figures.style import INK, series_style

N = np.array([4.0, 9.0, 25.0, 60.0])
MEAN = np.array([6.1, 5.0, 4.4, 4.1])
EMPIRICAL = np.array([[2.0, 13.0], [2.6, 8.0], [3.2, 5.9], [3.6, 4.8]])
ASYMPTOTIC = np.array([[1.0, 7.0], [2.0, 6.0], [3.0, 5.1], [3.5, 4.6]])


def line(axes, label):
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found


def test_the_mean_the_truth_and_the_bands_are_where_they_belong():
    axes = convergence(figure().subplots(), N, MEAN, EMPIRICAL, ASYMPTOTIC, 4.0)
    np.testing.assert_array_equal(line(axes, "mean estimate").get_xydata(), np.c_[N, MEAN])
    np.testing.assert_array_equal(line(axes, "true value").get_ydata(), [4.0, 4.0])
    low, high = [one for one in axes.lines if one.get_color() == INK]
    np.testing.assert_array_equal(low.get_ydata(), ASYMPTOTIC[:, 0])
    np.testing.assert_array_equal(high.get_ydata(), ASYMPTOTIC[:, 1])
    corners = axes.collections[0].get_paths()[0].vertices
    for n, (bottom, top) in zip(N, EMPIRICAL, strict=True):
        assert [n, bottom] in corners.tolist()
        assert [n, top] in corners.tolist()


def test_several_parameters_are_told_apart_and_all_stay_in_sight():
    axes = figure().subplots()
    for series, factor in enumerate((1.0, 3.0, 0.5)):
        convergence(axes, N, factor * MEAN, truth=4 * factor, label=f"θ{series}", series=series)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["θ0", "θ1", "θ2"]
    low, high = axes.get_ylim()
    assert low < 0.5 * MEAN.min()
    assert high > 3 * MEAN.max()
    assert [line(axes, f"θ{i}").get_color() for i in range(3)] == [
        series_style(i).color for i in range(3)
    ]


def test_a_gap_is_left_where_no_estimate_is_finite():
    axes = convergence(figure().subplots(), N, [np.nan, 5.0, 4.4, 4.1])
    assert np.isnan(line(axes, "mean estimate").get_ydata()[0])


def test_wild_estimates_at_first_do_not_flatten_the_rest():
    n = np.arange(2.0, 102.0)
    mean = 4 + 1 / n
    mean[:3] = 1e9
    band = np.c_[mean - 2, mean + 2]
    axes = convergence(figure().subplots(), n, mean, band, None, 4.0)
    assert axes.get_ylim()[1] < 20


def test_a_band_without_a_bound_goes_on_to_the_edge_and_that_is_said():
    n = np.array([5.0, 10.0, 20.0])
    band = [[1.0, np.inf], [2.0, 6.0], [3.0, 5.0]]
    axes = convergence(figure().subplots(), n, [4.0, 4.0, 4.0], band, limits=(2.5, 7.0))
    (drawn,) = axes.collections
    assert drawn.get_paths()[0].vertices[:, 1].max() > 7.0
    assert axes.get_title(loc="right").split("\n") == [
        "band without a bound at 1 of 3 n",
        "band goes beyond the axis at 2 of 3 n",
    ]


def test_missing_estimates_are_said_and_marked_with_a_strip():
    share = [0.25, 0.9, 1.0, 1.0]
    axes = convergence(figure().subplots(), N, MEAN, truth=4.0, finite_share=share)
    assert "no finite estimate in up to 75 % of replicates" in axes.get_title(loc="right")
    strip = axes.collections[-1].get_paths()[0].vertices
    assert strip[:, 0].min() == 4
    assert strip[:, 0].max() == 9
    assert axes.get_ylim()[0] < 4


def test_nothing_is_said_where_every_replicate_has_an_estimate():
    axes = convergence(figure().subplots(), N, MEAN, finite_share=np.ones(4))
    assert axes.get_title(loc="right") == ""


def test_limits_are_those_given():
    axes = convergence(figure().subplots(), N, MEAN, limits=(3.0, 7.0))
    assert axes.get_ylim() == (3.0, 7.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": MEAN[:3]}, r"mean must have shape \(4,\), one number per n; got shape \(3,\)"),
        ({"n": [N]}, r"n must be one-dimensional; got shape \(1, 4\)"),
        ({"empirical": EMPIRICAL.T}, r"empirical must have shape \(4, 2\), low and high of each n"),
        (
            {"asymptotic": ASYMPTOTIC[:, ::-1]},
            "asymptotic must go from low to high; got 7 to 1 at n 0",
        ),
        ({"finite_share": [0.1, 0.2, 1.5, 1]}, "finite_share must lie in 0..1; got 1.5 at 2"),
        ({"mean": ["a", "b", "c", "d"]}, "mean must be an array of numbers; got list"),
        ({"limits": (3.0, 2.0)}, "limits must go up; got 3.0 and 2.0"),
    ],
)
def test_wrong_shapes_are_named(options, message):
    with pytest.raises(DataError, match=message):
        convergence(figure().subplots(), **{"n": N, "mean": MEAN, **options})


def test_the_share_without_an_estimate_has_wilsons_band():
    share = np.array([0.62, 0.3, 0.0])
    axes = without_estimate(figure().subplots(), N[:3], share, n_replicates=50, label="ten")
    np.testing.assert_array_equal(line(axes, "ten").get_xydata(), np.c_[N[:3], share])
    corners = axes.collections[0].get_paths()[0].vertices
    for n, ends in zip(N, wilson_interval(share, np.full(3, 50.0)), strict=False):
        for end in ends:
            assert np.isclose(corners, [n, end]).all(axis=1).any()


def test_wilsons_interval_solves_its_equation():
    share, count, z = 0.3, 40.0, 1.959963984540054
    low, high = wilson_interval(np.array([share]), np.array([count]))[0]
    for end in (low, high):
        assert abs(share - end) == pytest.approx(z * np.sqrt(end * (1 - end) / count), rel=1e-12)
    assert np.isnan(wilson_interval(np.array([0.3]), np.array([0.0]))).all()
