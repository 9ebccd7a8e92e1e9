"""Where the options are: a grid or any other places, and the distances between them."""

from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.arguments import whole_number
from penchant.errors import DataError, listing
from penchant.tables.numbers import exact_floats
from penchant.wording import argument


def grid(width: int, height: int) -> Matrix:
    """Locations of the options on a grid: option x + width * y is at (x, y), both from 0.

    Parameters
    ----------
    width, height
        Number of options along x and along y.

    Returns
    -------
    Matrix of shape (width * height, 2)

    Examples
    --------
    >>> from penchant import grid
    >>> grid(3, 2)
    array([[0., 0.],
           [1., 0.],
           [2., 0.],
           [0., 1.],
           [1., 1.],
           [2., 1.]])
    """
    columns, rows = whole_number(width, "width", 1), whole_number(height, "height", 1)
    y, x = np.divmod(np.arange(columns * rows), columns)
    return np.column_stack([x, y]).astype(np.float64)


def check_locations(locations: Any, n_options: int | None = None) -> Matrix:
    """Locations as a locked matrix, if they are finite and no two options share a place.

    Parameters
    ----------
    locations
        One row per option, one column per coordinate.
    n_options
        How many options there must be; None for any number.

    Returns
    -------
    Matrix of shape (n_options, n_coordinates)

    Examples
    --------
    >>> from penchant.bandit.locations import check_locations
    >>> check_locations([[0, 1.5], [2, 3]], n_options=2)
    array([[0. , 1.5],
           [2. , 3. ]])
    """
    matrix = np.array(exact_floats(locations, argument("locations")))
    if matrix.ndim != 2 or not matrix.size:
        advice = "For options on a line use locations[:, None]." if matrix.ndim == 1 else ""
        raise DataError(
            f"{argument('locations')} must have shape (n_options, n_coordinates); got shape "
            f"{matrix.shape}. {advice or 'Give the coordinates of every option.'}"
        )
    if n_options is not None and len(matrix) != n_options:
        raise DataError(
            f"{argument('locations')} must hold {n_options} options, as many as can be chosen; got "
            f"{len(matrix)}. Give one row per option."
        )
    _check_finite(matrix)
    _check_distinct(matrix)
    matrix.flags.writeable = False
    return matrix


def _check_finite(matrix: Matrix) -> None:
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        described = (f"{matrix[i, a]} at option {i}, coordinate {a}" for i, a in wrong[:11])
        raise DataError(
            f"{argument('locations')} must be finite; got {listing(described, len(wrong))}. Fill "
            "these coordinates, or drop the options."
        )


def _check_distinct(matrix: Matrix) -> None:
    order = np.lexsort(matrix.T)
    same = np.flatnonzero((matrix[order[1:]] == matrix[order[:-1]]).all(axis=1))
    if same.size:
        described = (
            f"{tuple(matrix[order[k]].tolist())} at options {order[k]} and {order[k + 1]}"
            for k in same[:11]
        )
        raise DataError(
            f"{argument('locations')} must differ between options; got "
            f"{listing(described, same.size)}. Correct them: two options in one place have the "
            "same reward."
        )


def distances(locations: Matrix) -> Matrix:
    """Euclidean distance between any two options.

    Parameters
    ----------
    locations
        Coordinates (n_options, n_coordinates).

    Returns
    -------
    Matrix of shape (n_options, n_options), symmetric, with zeros on the diagonal

    Examples
    --------
    >>> from penchant import grid
    >>> from penchant.bandit.locations import distances
    >>> distances(grid(2, 1))
    array([[0., 1.],
           [1., 0.]])
    """
    return distances_to(locations, np.arange(len(locations)))


def distances_to(locations: Matrix, options: IntVector) -> Matrix:
    """Euclidean distance of all options from some of them.

    Parameters
    ----------
    locations
        Coordinates (n_options, n_coordinates).
    options
        Indices of the options to measure from.

    Returns
    -------
    Matrix of shape (n_options, len(options))

    Examples
    --------
    >>> from penchant import grid
    >>> from penchant.bandit.locations import distances_to
    >>> distances_to(grid(4, 1), [1])
    array([[1.],
           [0.],
           [1.],
           [2.]])
    """
    there = locations[options]
    apart: Matrix = np.zeros((len(locations), len(there)))
    for a in range(locations.shape[1]):
        # no squares, so tiny and huge distances keep their digits
        np.hypot(apart, locations[:, a, None] - there[:, a], out=apart)
    return apart
