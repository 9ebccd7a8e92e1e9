"""Identification of theta: rank and null space of the within-set scatter, Lemma 1.

The scatter itself is well conditioned for most data; where it is not, the rank is taken from the
singular values of the rows, by a QR factorisation in portions, with a threshold for their rounding.

Notes
-----
Paper: Lemma 1 asks the second moment of the variables of all options but the last, Eq. (8), to be
positive definite. That is neither sufficient (a variable equal across options has a second moment
and tells nothing) nor necessary; the condition is on the scatter *within* choice sets. The number
of decisions is bounded by sum(m_k - 1) >= d, not by m n >= d.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices

EPSILON = float(np.finfo(np.float64).eps)
# Of the scatter scaled to unit diagonal. Above, every weight is surely identified, as rounding
# errors of the entries are some 1e-16; below, the slower singular values decide.
MIN_SAFE_EIGENVALUE = 1e-6
MAX_QR_ROWS = 200_000  # rows centred and factorised together: bounds the memory of temporaries
ROWS_SAMPLED = 1_000  # rows tried first: most fractional variables show it there, sparing a pass


@dataclass(frozen=True)
class Identification:
    """Rank of the within-set scatter, and coordinates in which the problem is well conditioned.

    Attributes
    ----------
    scale
        Within-set root mean square of each variable.
    null_directions
        Directions of theta along which no probability changes: (n_parameters - rank, n_parameters),
        in reduced echelon form.
    basis
        theta = basis @ phi, phi identified: (n_parameters, rank). None: theta itself will do.
    """

    scale: Vector
    rank: int
    null_directions: Matrix
    basis: Matrix | None

    @property
    def complete(self) -> bool:
        """Every direction of theta is identified."""
        return self.rank == len(self.scale)

    @property
    def identified(self) -> BoolVector:
        """Parameters identified by themselves: those in no null direction."""
        return np.asarray(~(self.null_directions != 0).any(axis=0))


class IdentificationData(Protocol):
    """Rows of the choices, asked where their mean square does not settle the rank."""

    def integer_variables(self) -> BoolVector:
        """Variables that hold nothing but whole numbers."""

    def r_factor(self, columns: IntVector, unit: Vector) -> Matrix:
        """R of the QR factorisation of all rows, centred in their sets and scaled."""

    def total_rows(self) -> float:
        """Number of rows on offer, each counted as often as its decision."""


def identify_from_scatter(
    identification_data: IdentificationData,
    within_set_mean_square: Matrix,
    largest_values_by_variable: Matrix,
) -> Identification:
    """Identification from the within-set mean square and the largest values of each variable."""
    d = len(within_set_mean_square)
    scale = np.sqrt(np.diag(within_set_mean_square))
    varies, exact = varies_within_sets(largest_values_by_variable), np.zeros(d, dtype=bool)
    certain = surely_identified(within_set_mean_square[None], varies[None])[0]
    if not certain:
        exact = (
            identification_data.integer_variables()
        )  # whose differences carry no rounding, however small
        more = exact & (largest_values_by_variable[1] > 0) & ~varies
        varies |= more
        certain = more.any() and surely_identified(within_set_mean_square[None], varies[None])[0]
    if certain:
        return Identification(scale, d, np.empty((0, d)), None)
    rounded = np.where(exact, largest_values_by_variable[1], largest_values_by_variable[0])
    return _identification_by_singular_values(
        identification_data, np.where(varies, scale, 0.0), rounded
    )


def varies_within_sets(largest: Matrix) -> BoolVector:
    """Whether each variable varies inside sets; `largest` is (2, d), of one subject or of many."""
    # else differences are rounding errors
    return np.asarray(largest[..., 1, :] > 64 * EPSILON * largest[..., 0, :])


def surely_identified(spread: Matrix, varies: BoolVector) -> BoolVector:
    """Whether all variables of each subject vary, and no combination of them is near constant.

    spread : (n, d, d), varies : (n, d)
    """
    fine = np.asarray(varies.all(axis=-1) & np.isfinite(spread).all(axis=(1, 2)))
    scale = np.sqrt(np.where(fine[:, None], spread.diagonal(0, 1, 2), 1.0))
    scaled = spread / scale[:, :, None] / scale[:, None, :]
    eye = np.eye(spread.shape[1])
    smallest = np.linalg.eigvalsh(np.where(fine[:, None, None], scaled, eye))[:, 0]
    return fine & (smallest > MIN_SAFE_EIGENVALUE)


def integer_variables(choices: Choices) -> BoolVector:
    """Variables that hold nothing but whole numbers, whose differences are exact."""
    x = choices.explanatory
    if choices.available is not None:
        x = x[choices.available]
    some = x[:ROWS_SAMPLED]
    whole = np.asarray((some == np.rint(some)).all(axis=0))
    if whole.any() and len(x) > ROWS_SAMPLED:
        rest = x[ROWS_SAMPLED:, whole]
        whole[whole] = (rest == np.rint(rest)).all(axis=0)
    return whole


def _identification_by_singular_values(
    rows: IdentificationData, scale: Vector, size: Vector
) -> Identification:
    """Rank from the singular values of the centred variables: squaring would lose half the digits.

    `size` of each variable is that of the numbers whose rounding its differences carry.
    """
    d = len(scale)
    varying = np.flatnonzero(scale > 0)
    null = np.eye(d)[scale == 0]
    if not varying.size:
        return Identification(scale, 0, null, np.empty((d, 0)))
    unit = scale[varying]
    _, singular, right = np.linalg.svd(rows.r_factor(varying, unit))
    singular = singular / np.sqrt(rows.total_rows())
    noise = EPSILON * float((size[varying] / unit).max())
    # 32: differences of rounded numbers, times a few for sums; 1e-12 for the QR itself
    kept = singular > max(1e-12, 32 * noise)
    rank = int(kept.sum())
    directions = np.zeros((len(varying) - rank, d))
    directions[:, varying] = reduced_echelon(right[~kept]) / unit
    null = np.vstack([null, directions])
    null /= np.abs(null).max(axis=1, keepdims=True, initial=1e-300)
    basis = np.zeros((d, rank))
    basis[varying] = (right[kept] / unit).T / singular[kept]
    return Identification(scale, rank, null, basis)


def total_rows(choices: Choices) -> float:
    """Number of rows on offer, each counted as often as its decision."""
    weights = np.ones(choices.n_decisions) if choices.weights is None else choices.weights
    return float(weights @ choices.n_options)


def r_factor_of_centred_rows(choices: Choices, columns: IntVector, unit: Vector) -> Matrix:
    """R of the QR factorisation of all rows, centred in their sets and scaled."""
    d = len(columns)
    triangle: Matrix = np.zeros((0, d))
    edges = _row_chunk_edges(choices)
    for begin, end in pairwise(edges):
        centred = centred_rows(choices, begin, end)[:, columns] / unit
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, centred]), mode="r"))
    return padded_triangle(triangle)


def padded_triangle(triangle: Matrix) -> Matrix:
    """A triangle with rows of 0 below, so that it is as high as wide."""
    d = triangle.shape[1]
    square = np.zeros((max(d, len(triangle)), d))
    square[: len(triangle)] = triangle
    return square


def _row_chunk_edges(choices: Choices) -> list[int]:
    """Decisions at which to cut, so that each part has a bounded number of rows."""
    if choices.n_rows <= MAX_QR_ROWS:
        return [0, choices.n_decisions]
    marks = np.arange(0, choices.n_rows, MAX_QR_ROWS)
    inner = np.searchsorted(choices.first_row, marks)
    return [int(k) for k in np.union1d(inner, [0, choices.n_decisions])]


def centred_rows(choices: Choices, begin: int, end: int) -> Matrix:
    """Variables of decisions begin..end less their mean in the set, weighted; 0 if not on offer."""
    starts = choices.first_row[begin : end + 1]
    rows = slice(int(starts[0]), int(starts[-1]))
    sizes = np.diff(starts)
    chosen = np.repeat(choices.chosen_row[begin:end], sizes)
    relative = choices.explanatory[rows] - choices.explanatory[chosen]
    n_options = choices.n_options[begin:end]
    if choices.available is not None:
        relative[~choices.available[rows]] = 0.0
    mean = np.add.reduceat(relative, starts[:-1] - starts[0]) / n_options[:, None]
    centred = relative - np.repeat(mean, sizes, axis=0)
    if choices.available is not None:
        centred[~choices.available[rows]] = 0.0
    if choices.weights is not None:
        centred *= np.sqrt(np.repeat(choices.weights[begin:end], sizes))[:, None]
    return np.asarray(centred)


def reduced_echelon(directions: Matrix) -> Matrix:
    """Basis of the same space with as many zeros as elimination gives, largest entry 1.

    >>> reduced_echelon(np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]))
    array([[ 1.,  0., -1.],
           [ 0.,  1., -1.]])
    """
    rows = np.array(directions, dtype=np.float64)
    rows /= np.abs(rows).max(axis=1, keepdims=True) if rows.size else 1.0
    pivot = 0
    for column in range(rows.shape[1]):
        if pivot == len(rows):
            break
        best = pivot + int(np.abs(rows[pivot:, column]).argmax())
        if abs(rows[best, column]) < 1e-9:
            continue
        rows[[pivot, best]] = rows[[best, pivot]]
        rows[pivot] /= rows[pivot, column]
        if len(rows) > 1:
            others = np.arange(len(rows)) != pivot
            rows[others] -= np.outer(rows[others, column], rows[pivot])
        pivot += 1
    rows[np.abs(rows) < 1e-9 * np.abs(rows).max(axis=1, keepdims=True, initial=1e-300)] = 0.0
    return rows + 0.0
