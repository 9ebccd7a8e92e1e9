"""Calibrated intervals of the weights: likelihood ratios compared with those of choices redrawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.softmax.constraints import null_basis
from penchant.softmax.redrawn import End, Lattice, Redrawn, calibrated_end, generator_for
from penchant.tails import chi_square_point, chi_square_tail

FACTOR = 2.0  # of the likelihood ratio from the first value tried to where the pace is taken

FURTHEST = 100.0  # units of the root of the likelihood ratio beyond which nothing is looked for


@dataclass(frozen=True)
class LinearCase:
    """Decisions that are linear in theta.

    Attributes
    ----------
    choices
        The decisions; each counts once.
    theta
        The estimate, infinite where it is separated.
    unidentified
        Directions of theta that change nothing, as rows.
    scale
        Within-set root mean square of each variable.
    """

    choices: Choices
    theta: Vector
    unidentified: Matrix
    scale: Vector

    def intervals(
        self, wanted: Sequence[int], near: Matrix, far: Matrix, level: float, seed: int, n: int
    ) -> Matrix:
        """Intervals of some weights, from profile intervals at this level and at a further one.

        Parameters
        ----------
        near, far
            (n_wanted, 2), at `level` and at `further_level(level)`.
        seed, n
            Of the draws, and how many.
        """
        plain, d = self._lattice(), len(self.theta)
        basis = null_basis(self.unidentified, d, self.scale)
        whole = plain.on_plane(np.zeros(d), basis, np.zeros(basis.shape[1], dtype=bool))
        chosen = self.choices.chosen
        uniforms = generator_for(chosen, seed).random((n, len(chosen)))
        redrawn = Redrawn(whole, chosen, uniforms)

        def at(a: int, value: float) -> tuple[bool, float]:
            fixed = np.vstack([np.eye(d)[a], self.unidentified])
            left = null_basis(fixed, d, self.scale)
            free = np.zeros(left.shape[1], dtype=bool)
            return redrawn.compared(plain.on_plane(value * np.eye(d)[a], left, free), level)

        ends = [
            [
                found_end(partial(at, a), float(self.theta[a]), near[k, side], far[k, side], level)
                for side in (0, 1)
            ]
            for k, a in enumerate(wanted)
        ]
        return np.array(ends)

    def _lattice(self) -> Lattice:
        """The choice sets side by side, the smaller ones filled up with what is not on offer."""
        choices = self.choices
        if choices.weights is not None:
            raise DataError(
                "choices must count once each with kind='calibrated'; got weights. "
                "Repeat the decisions instead, or use kind='profile'."
            )
        sizes = np.diff(choices.first_row)
        n, m = len(sizes), int(sizes.max())
        place = (
            np.repeat(np.arange(n), sizes),
            np.arange(choices.n_rows) - np.repeat(choices.first_row[:-1], sizes),
        )
        x, offset = np.zeros((n, m, choices.n_parameters)), np.full((n, m), -np.inf)
        offered = np.ones(choices.n_rows, dtype=bool)
        if choices.available is not None:
            offered = np.asarray(choices.available)
        rows = choices.explanatory - choices.explanatory[np.repeat(choices.chosen_row, sizes)]
        x[place] = np.where(offered[:, None], rows, 0.0)
        known = 0.0 if choices.offset is None else choices.offset
        offset[place] = np.where(offered, known, -np.inf)
        nothing = np.zeros(choices.n_parameters, dtype=bool)
        return Lattice(x[None], offset[None], nothing, ())


def found_end(
    at: Callable[[float], tuple[bool, float]], centre: float, near: float, far: float, level: float
) -> float:
    """An end, from those of profile intervals; infinite where these are, or far beyond them."""
    if not np.isfinite(near) or near == centre:
        return near
    root = np.sqrt(chi_square_point(1 - level, 1))
    side = np.sign(near - centre)
    pace = abs(far - near) / (root * (np.sqrt(FACTOR) - 1)) if np.isfinite(far) else np.inf
    known = abs(near - centre) / root if np.isfinite(centre) else np.inf
    pace = side * (pace if np.isfinite(pace) else known if np.isfinite(known) else 1.0)
    inner = centre if np.isfinite(centre) else near - 2 * root * pace
    limit = near + side * FURTHEST * abs(pace)
    found = calibrated_end(at, End(inner, near, float(pace), float(limit)))
    return float(side * np.inf) if found == limit else found


def further_level(level: float) -> float:
    """The level at which the likelihood ratio of large samples is `FACTOR` times as large."""
    return float(1.0 - chi_square_tail(FACTOR * chi_square_point(1 - level, 1), 1))
