"""Grids of psi as arrays: points, local maxima, coarse grids."""

import numpy as np
import pytest

import played
from penchant.inference.search.grid_search import (
    CoarseGrid,
    are_flat,
    best_cells,
    grid_points,
    parabola_vertices,
    unconstrained_grid_steps,
)


def cells_of(values, most=3):
    """Best cells of one grid, and which of them are local maxima."""
    values = np.asarray(values, dtype=float)
    cells, maxima = best_cells(values.reshape(1, -1), values.shape, most)
    return cells[0].tolist(), maxima[0].tolist()


def test_local_maxima_come_highest_first_then_the_best_of_the_rest():
    assert cells_of([0.0, 3.0, 1.0, 5.0, 4.0, 4.5]) == ([3, 5, 1], [True, True, True])
    assert cells_of([0.0, 3.0, 1.0, 5.0, 4.0, 4.5], most=1) == ([3], [True])
    assert cells_of([1.0, 2.0, 3.0, 4.0]) == ([3, 2, 1], [True, False, False])


def test_local_maxima_of_two_dimensions_look_along_both():
    values = np.zeros((4, 5))
    values[1, 1], values[3, 4], values[1, 2] = 7.0, 9.0, 6.0
    assert cells_of(values, most=2) == ([3 * 5 + 4, 1 * 5 + 1], [True, True])


def test_ends_of_the_grid_do_not_touch_each_other():
    assert cells_of([9.0, 1.0, 1.5, 8.0], most=2) == ([0, 3], [True, True])


def test_every_subject_has_cells_of_its_own():
    values = np.array([[0.0, 3.0, 1.0], [5.0, 3.0, 4.0], [-np.inf, 1.0, -np.inf]])
    cells, maxima = best_cells(values, (3,), 2)
    assert cells.tolist() == [[1, 2], [0, 2], [1, 0]]
    assert maxima.tolist() == [[True, False], [True, True], [True, False]]


def test_points_of_the_grid_are_all_combinations():
    model = played.ucl(length_scale=None)
    psi, dimensions = grid_points(model)
    assert dimensions == (33, 19)
    assert psi.shape == (33 * 19, 2)
    assert len(np.unique(psi, axis=0)) == 33 * 19
    along = np.log(psi.reshape(33, 19, 2))
    np.testing.assert_allclose(
        along[1, 0, 0] - along[0, 0, 0], unconstrained_grid_steps(model.shape)[0]
    )


@pytest.mark.parametrize("dimensions", [(5,), (6,), (3, 8), (4, 5, 7)], ids=str)
def test_a_coarse_grid_holds_every_other_point_and_the_ends(dimensions):
    coarse = CoarseGrid.from_dimensions(dimensions)
    places = np.array(np.unravel_index(coarse.cells, dimensions)).T
    for axis, n in enumerate(dimensions):
        assert set(places[:, axis]) == {*range(0, n, 2), n - 1}
    assert len(places) == np.prod(coarse.shape)


@pytest.mark.parametrize("dimensions", [(5,), (6,), (3, 8), (4, 5, 7)], ids=str)
def test_values_between_points_of_a_coarse_grid_are_linear(dimensions):
    rng = np.random.default_rng(1)
    coarse = CoarseGrid.from_dimensions(dimensions)
    places = np.array(np.unravel_index(np.arange(np.prod(dimensions)), dimensions)).T
    plane = places @ rng.normal(size=len(dimensions)) + 1.0
    both = np.stack([plane, 2 * plane])
    np.testing.assert_allclose(coarse.interpolated(both[:, coarse.cells]), both, rtol=1e-12)


def test_what_lies_around_points_are_their_neighbours_along_all_axes():
    coarse = CoarseGrid.from_dimensions((5, 5))
    marked = np.zeros((2, 9), dtype=bool)
    marked[0, 4], marked[1, 0] = True, True  # the middle; a corner
    middle, corner = coarse.mark_neighbours(marked).reshape(2, 5, 5)
    assert middle.sum() == 9 and middle[1:4, 1:4].all()
    assert corner.sum() == 4 and corner[:2, :2].all()


def test_equal_neighbours_are_both_local_maxima():
    assert cells_of([1.0, 1.0, 0.0, -np.inf], most=4) == (
        [0, 1, 2, 3],
        [True, True, False, False],
    )


def test_cells_as_high_as_all_their_neighbours_are_level():
    values = np.full((2, 4, 3), -7.0)
    values[0, 0, 0], values[1, 2, 1] = -3.0, np.nan
    cells = np.array([[0, 1, 4, 11], [0, 6, 8, 9]])
    expected = [[False, False, True, True], [True, False, False, True]]
    assert are_flat(values.reshape(2, -1), (4, 3), cells).tolist() == expected


def test_a_parabola_peaks_where_it_peaks():
    top = np.array([3.3, 1.8])
    places = np.stack(np.meshgrid(np.arange(8.0), np.arange(5.0), indexing="ij"), axis=-1)
    values = -((places - top) ** 2 * [2.0, 0.5]).sum(axis=-1).ravel()
    cell = np.array([3 * 5 + 2])
    np.testing.assert_allclose(
        parabola_vertices(values[None], (8, 5), np.array([0]), cell), [top - [3, 2]], atol=1e-12
    )


def test_no_vertex_is_looked_for_at_ends_or_in_hollows():
    values = np.array([[5.0, 4.0, 4.5, -np.inf, 1.0]] * 4)
    found = parabola_vertices(values, (5,), np.arange(4), np.array([0, 1, 2, 3]))
    assert found[[0, 1, 3], 0].tolist() == [0.0, 0.0, 0.0]
    assert abs(found[2, 0]) <= 0.5
