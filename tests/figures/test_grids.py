"""Maps of options."""

import numpy as np
import pytest
from matplotlib.patches import Circle, Rectangle

import penchant as pn
from penchant.errors import DataError
from penchant.figures import (
    choice_map,
    choices_and_belief,
    figure,
    heat_map,
    interface,
    landscape_profile,
)
from penchant.figures.style import BLUE, VERMILLION

PLACES = pn.grid(5, 3)


def tiles(axes):
    """Rows of y and columns of x."""
    return np.ma.filled(axes.collections[0].get_array().reshape(3, 5), np.nan)


def test_every_option_is_in_its_place():
    values = 3.0 * PLACES[:, 0] - 7.0 * PLACES[:, 1]
    axes = heat_map(figure().subplots(), values, PLACES, label="belief")
    for x in range(5):
        for y in range(3):
            assert tiles(axes)[y, x] == 3 * x - 7 * y
    assert axes.get_xlim() == (-0.5, 4.5)
    assert axes.get_ylim() == (-0.5, 2.5)
    assert axes.child_axes[0].get_ylabel() == "belief"


def test_the_order_of_options_does_not_matter():
    order = np.random.default_rng(3).permutation(15)
    values = PLACES @ [2.0, 11.0]
    one = tiles(heat_map(figure().subplots(), values, PLACES))
    other = tiles(heat_map(figure().subplots(), values[order], PLACES[order]))
    np.testing.assert_array_equal(one, other)


def test_a_value_that_is_not_finite_leaves_a_blank_and_is_counted():
    values = np.arange(15.0)
    values[[4, 7]] = np.nan, np.inf
    axes = heat_map(figure().subplots(), values, PLACES)
    assert np.isnan(tiles(axes)).sum() == 2
    assert axes.get_title(loc="right") == "no finite value: 2"


def test_places_that_make_no_grid_are_drawn_one_by_one():
    places = np.random.default_rng(1).normal(size=(20, 2))
    axes = heat_map(figure().subplots(), np.arange(20.0), places)
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), places)


def test_a_path_ends_at_the_last_choice():
    axes = heat_map(figure().subplots(), np.arange(15.0), PLACES, path=[0, -1, 7, 14])
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), PLACES[[0, 7, 14]])
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), PLACES[[14]])


def test_choices_are_counted():
    axes = choice_map(figure().subplots(), [7, 7, 2, -1, 7, 14], PLACES)
    counts = tiles(axes)
    assert counts[1, 2] == 3
    assert counts[0, 2] == 1
    assert counts.sum() == 5
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written == {(2.0, 1.0): "3", (2.0, 0.0): "1", (4.0, 2.0): "1"}
    assert axes.get_title(loc="right") == "no choice: 1"


def test_choices_stand_beside_the_belief():
    pair = figure(columns=2).subplots(1, 2)
    choices_and_belief(pair, [7, 7, 2], np.arange(15.0), PLACES)
    assert tiles(pair[0]).sum() == 3
    assert tiles(pair[1]).sum() == 105
    np.testing.assert_array_equal(pair[1].lines[-1].get_xydata(), PLACES[[2]])
    with pytest.raises(DataError, match="axes must be two; got 1"):
        choices_and_belief(pair[:1], [7], np.arange(15.0), PLACES)


def test_a_flat_landscape_is_a_line_and_another_has_a_band():
    means = pn.paper.landscape_b(5, 3).mean_rewards
    axes = landscape_profile(figure().subplots(), means, PLACES, label="Landscape B")
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.c_[np.arange(5.0), means[:5]])
    assert not axes.collections
    assert axes.get_title(loc="left") == "Landscape B"
    uneven = landscape_profile(figure().subplots(), means + 5 * PLACES[:, 1], PLACES)
    np.testing.assert_allclose(uneven.lines[0].get_ydata(), means[:5] + 5)
    assert uneven.collections[0].get_paths()[0].vertices[:, 1].max() == means.max() + 10


def test_the_interface_has_a_tile_for_every_option_and_dots_in_place():
    axes = interface(figure().subplots(), PLACES, selected=6, confirmed=13, reward=36.8)
    assert sum(isinstance(patch, Rectangle) for patch in axes.patches) == 15
    blue, red = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert blue.center == (3.0, 2.0)
    assert red.center == (1.0, 1.0)
    assert (blue.get_facecolor()[:3], red.get_facecolor()[:3]) == (rgb(BLUE), rgb(VERMILLION))
    assert [text.get_text() for text in axes.texts] == ["Reward: 37"]


def rgb(color):
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda a: heat_map(a, [1.0], PLACES),
            r"values must have shape \(15,\), one number per option",
        ),
        (
            lambda a: heat_map(a, [1.0], [[1.0]]),
            r"locations must have shape \(n_options, 2\); got \(1, 1\)",
        ),
        (
            lambda a: choice_map(a, [3, 15], PLACES),
            "chosen must lie in 0..14; got 15 at decision 1",
        ),
        (
            lambda a: choice_map(a, [3, 1.5], PLACES),
            "chosen must lie in 0..14; got 1.5 at decision 1",
        ),
        (
            lambda a: choice_map(a, [np.nan], PLACES),
            "chosen must lie in 0..14; got nan at decision 0",
        ),
        (lambda a: interface(a, PLACES, selected=15), "selected must lie in 0..14; got 15"),
        (lambda a: landscape_profile(a, [1.0], PLACES), r"mean_rewards must have shape \(15,\)"),
    ],
)
def test_wrong_arguments_are_named(draw, message):
    with pytest.raises(DataError, match=message):
        draw(figure().subplots())
