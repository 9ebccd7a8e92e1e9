"""Where the options are."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from penchant.bandit.landscape import check_locations, distances, distances_to_options, grid
from penchant.errors import DataError


def scattered(n: int = 7, d: int = 3) -> np.ndarray:
    return np.random.default_rng(3).normal(2.0, 5.0, size=(n, d))


def refused(message: str):
    return pytest.raises(DataError, match=re.escape(message))


def test_option_x_plus_width_times_y_is_at_x_y():
    locations = grid(7, 4)
    assert locations.shape == (28, 2)
    assert locations.dtype == np.float64
    for option, (x, y) in enumerate(locations):
        assert option == x + 7 * y
    np.testing.assert_array_equal(locations.max(axis=0), [6, 3])


@pytest.mark.parametrize("size", [0, -3, 2.5, np.nan, np.inf, "ten", None])
def test_a_grid_has_a_whole_number_of_columns_and_rows(size):
    with refused(f"width must be a whole number, 1 or more; got {size!r}."):
        grid(size, 4)
    with refused(f"height must be a whole number, 1 or more; got {size!r}."):
        grid(4, size)


def test_whole_floats_and_numpy_integers_are_sizes():
    np.testing.assert_array_equal(grid(3.0, np.int16(2)), grid(3, 2))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_distances_are_euclidean_in_any_dimension(d):
    locations = scattered(9, d)
    # rounding of up to d sums and one root
    np.testing.assert_allclose(distances(locations), cdist(locations, locations), rtol=1e-14)
    assert not np.diag(distances(locations)).any()


def test_distances_to_some_options_are_those_columns_of_all():
    locations = scattered(11, 2)
    options = np.array([8, 2, 8, 5])
    np.testing.assert_array_equal(
        distances_to_options(locations, options), distances(locations)[:, options]
    )
    assert distances_to_options(locations, np.array([], dtype=int)).shape == (11, 0)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_tiny_and_huge_distances_keep_their_digits(unit):
    locations = np.array([[0.0, 0.0], [3.0, 4.0]]) * unit
    assert distances(locations)[0, 1] == pytest.approx(5.0 * unit, rel=1e-15)


def test_distances_to_many_options_need_no_square_matrix():
    locations = grid(1000, 1000)  # all pairs would need 8 TB
    assert distances_to_options(locations, np.array([999_999]))[0, 0] == pytest.approx(
        999 * np.sqrt(2)
    )


def test_checked_locations_are_a_locked_copy():
    given = scattered()
    before = given.copy()
    checked = check_locations(given, n_options=7)
    np.testing.assert_array_equal(checked, before)
    assert not checked.flags.writeable
    given[0, 0] = 99.0
    np.testing.assert_array_equal(checked, before)


def test_the_number_of_locations_must_be_that_of_the_options():
    with refused(
        "locations must hold 100 options, as many as can be chosen; got 81.\nGive one row"
    ):
        check_locations(grid(9, 9), n_options=100)


def test_two_options_in_one_place_are_both_named():
    locations = scattered()
    locations[5] = locations[1] = [4.0, -0.5, 2.0]
    with refused(
        "locations must differ between options; got (4.0, -0.5, 2.0) at options 1 and 5.\n"
        "Correct them: two options in one place have the same reward."
    ):
        check_locations(locations)


def test_minus_zero_is_the_same_place_as_zero():
    with refused("(0.0, 1.0) at options 0 and 2"):
        check_locations([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]])


def test_coordinates_must_be_known():
    locations = scattered()
    locations[2, 1], locations[4, 0] = np.nan, np.inf
    with refused("locations must be finite; got nan at option 2, coordinate 1, inf at option 4,"):
        check_locations(locations)


def test_locations_are_a_matrix():
    with refused("got shape (3,).\nFor options on a line use locations[:, None]."):
        check_locations([1.0, 2.0, 3.0])
    with refused(
        "locations must have shape (n_options, n_coordinates); got shape (0, 2).\n"
        "Give the coordinates of every option."
    ):
        check_locations(np.empty((0, 2)))


def test_coordinates_must_be_numbers():
    with refused("locations must hold numbers; got 'left' at position 1"):
        check_locations([[0.0, "left"], [1.0, 2.0]])
