"""Intervals that hold the truth as often as they say, in small samples too.

An interval holds the values of a parameter that the choices do not contradict. A likelihood ratio
contradicts more often than it should where choices are few: its distribution is that of large
samples. Here the distribution is found by drawing choices anew, at every value that is tried
(`softmax.calibrated_intervals`). What was offered, or what happened before each decision, stays as
it was.

Positions along a parameter are those of `intervals.ParameterLine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.inference.intervals import ParameterLine
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.local_maxima import Optima
from penchant.models.parameters import Parameter
from penchant.result_tables import progress
from penchant.softmax.calibrated_intervals import (
    FURTHER_RATIO,
    BootstrapTest,
    DecisionsOnShapeGrid,
    EndSearch,
    generator_for,
    search_interval_end,
)
from penchant.tail_probabilities import chi_square_isf


@dataclass(frozen=True, slots=True)
class LatticeOptions:
    """Size of the lattice of psi on which likelihood ratios of redrawn choices are computed."""

    # Explanatory variables of one lattice, 64 MB: larger lattices are thinned to save memory.
    max_numbers: int = 8_000_000
    # Points across an interval: fewer per axis with more shape parameters, as their product costs.
    n_across: tuple[int, ...] = (48, 20, 10)
    # Widths of the interval covered finely beside it: redrawn choices have maxima there too.
    margin: float = 1.0
    # Points of indifference added at most: each adds two positions to evaluate all draws at.
    max_crossings: int = 100
    # Halvings of a lattice step: 2^-30 is nine digits, more than an interval is shown with.
    max_bisections: int = 30


LATTICE = LatticeOptions()


@dataclass(frozen=True)
class _SubjectLattice:
    """Decisions of one person, and a lattice of psi around their profile intervals.

    Attributes
    ----------
    profiles
        Profile problem of this person alone.
    axes
        Positions of each shape parameter, increasing.
    """

    profiles: ProfileProblems
    axes: tuple[Vector, ...]
    uniforms: Matrix

    @classmethod
    def around_profile_intervals(
        cls,
        profiles: ProfileProblems,
        optimum: Optima,
        naturals: Sequence[Parameter],
        ends: Matrix,
        seed: int,
        n_drawn: int,
    ) -> _SubjectLattice:
        """Lay the lattice: fine around profile intervals, as the model's grid elsewhere."""
        across = {n.index: ends[a] for a, n in enumerate(naturals) if n.is_shape}
        size = int(profiles.n_decisions[0]) * profiles.n_options * max(profiles.n_weights, 1)
        max_points = (LATTICE.max_numbers / max(size, 1)) ** (1 / max(profiles.n_shape, 1))
        axes = tuple(
            _lattice_axis(
                np.asarray(shape.to_unconstrained(shape.grid())),
                across.get(q, np.array([-np.inf, np.inf])),
                float(optimum.unconstrained_psi[0, q]),
                int(
                    min(
                        LATTICE.n_across[min(profiles.n_shape, len(LATTICE.n_across)) - 1],
                        max(max_points / 4, 2),
                    )
                ),
            )
            for q, shape in enumerate(profiles.shape)
        )
        person = cls(profiles, axes, np.empty((0, 0)))
        if len(axes) == 1 and profiles.n_weights == 1:
            axes = (person.with_indifference_points(axes[0]),)
        chosen = person.chosen
        uniforms = generator_for(chosen, seed).random((n_drawn, len(chosen)))
        return cls(profiles, axes, uniforms)

    @cached_property
    def bootstrap_test(self) -> BootstrapTest:
        return BootstrapTest(self.decisions_on_lattice(self.axes), self.chosen, self.uniforms)

    @property
    def chosen(self) -> IntVector:
        mine = self.profiles.decision_index(np.zeros(1, dtype=np.int64))
        return mine.chosen[mine.order]

    def with_indifference_points(self, axis: Vector) -> Vector:
        """Positions of the axis with the points of indifference and midpoints between them added.

        The likelihood of sure choices has an optimum between any two neighbouring points of
        indifference, however near to each other they are.
        """
        is_better = self.decisions_on_lattice([axis]).x[:, :, 1:, 0] > 0
        step, decision, option = np.nonzero(is_better[1:] != is_better[:-1])
        if not 0 < len(step) <= LATTICE.max_crossings:
            return axis
        low, high, before = axis[step], axis[step + 1], is_better[step, decision, option]
        for _ in range(LATTICE.max_bisections):
            middle = (low + high) / 2
            x = self.decisions_on_lattice([middle]).x[np.arange(len(step)), decision, option + 1, 0]
            is_before = (x > 0) == before
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        crossings = np.unique((low + high) / 2)
        between = (crossings[1:] + crossings[:-1]) / 2
        return np.unique(np.concatenate([axis, crossings, between]))

    def decisions_on_lattice(self, axes: Sequence[Vector]) -> DecisionsOnShapeGrid:
        """Lattice of the decisions at all combinations of positions."""
        mesh = np.meshgrid(*axes, indexing="ij")
        u = np.stack([m.ravel() for m in mesh], axis=1) if axes else np.empty((1, 0))
        subject = np.zeros(len(u), dtype=np.int64)
        x, _ = self.profiles.variables(subject, self.profiles.from_unconstrained(u), False)
        x = x.reshape(len(u), -1, *x.shape[1:])
        x = x[:, self.profiles.decision_index(subject[:1]).order]
        x = np.ascontiguousarray(x - x[:, :, :1])
        positive = np.zeros(x.shape[3], dtype=bool)
        positive[self.profiles.positive] = True
        return DecisionsOnShapeGrid(x, np.zeros(x.shape[:3]), positive, tuple(map(len, axes)))

    def lattice_with_fixed_parameter(
        self, line: ParameterLine, position: float
    ) -> DecisionsOnShapeGrid:
        """Lattice of the decisions where a natural parameter is fixed at this position."""
        if line.is_shape:
            axes = list(self.axes)
            axes[line.natural.index] = np.array([position])
            return self.decisions_on_lattice(axes)
        constraint, whole = (
            line.constraint_fixing_parameter(np.array([position])),
            self.bootstrap_test.unrestricted_decisions,
        )
        others = np.delete(whole.positive, line.natural.index)
        return whole.on_plane(constraint.origin[0], constraint.basis[0], others)


def _lattice_axis(grid: Vector, ends: Vector, centre: float, n_across: int) -> Vector:
    """Positions of a shape parameter: the grid's, and equal steps across its interval and around.

    Without an interval's end the grid's is taken.
    """
    low, high = max(float(ends[0]), grid[0]), min(float(ends[1]), grid[-1])
    step = max(high - low, 1e-6) / n_across
    beside = np.arange(-LATTICE.margin * n_across, (1 + LATTICE.margin) * n_across + 1)
    fine = low + step * beside
    fine = fine[(fine > grid[0]) & (fine < grid[-1])]
    coarse = grid[(grid < fine.min()) | (grid > fine.max())] if len(fine) else grid
    return np.unique(np.concatenate([fine, coarse, [centre]]))


def calibrated_intervals(
    profiles: ProfileProblems,
    optima: Optima,
    naturals: Sequence[Parameter],
    level: float,
    profile_ends_at_two_levels: tuple[Matrix, Matrix],
    seed: int,
    n_drawn: int,
) -> Matrix:
    """Intervals (n_subjects, n_natural, 2), from the ends of profile intervals.

    Parameters
    ----------
    profile_ends_at_two_levels
        Positions (n_subjects, n_natural, 2) of profile intervals at this level, and at the level
        where the likelihood ratio is `FURTHER_RATIO` times as large: `level_of_further_interval`.
    seed
        Seed of the draws.
    n_drawn
        Number of draws for every value that is tried.
    """
    found = np.empty(profile_ends_at_two_levels[0].shape)
    with progress("Calibrating intervals", len(optima)) as advance:
        for k, optimum in enumerate(optima):
            alone = ProfileProblems(profiles.model, profiles.groups[k : k + 1], profiles.prior)
            person = _SubjectLattice.around_profile_intervals(
                alone, optimum, naturals, profile_ends_at_two_levels[0][k], seed, n_drawn
            )
            for a, natural in enumerate(naturals):
                line = ParameterLine(alone, natural)
                near, far = profile_ends_at_two_levels[0][k, a], profile_ends_at_two_levels[1][k, a]
                both = [
                    _calibrated_end(person, line, optimum, near, far, side, level)
                    for side in (0, 1)
                ]
                found[k, a] = np.sort(line.natural_values(np.array([both]))[0])
            advance(1)
    return found


def _calibrated_end(
    person: _SubjectLattice,
    line: ParameterLine,
    optimum: Optima,
    profile_end: Vector,
    further_profile_end: Vector,
    side: int,
    level: float,
) -> float:
    """Position of an end; infinite where that of the profile interval is, or beyond its limit."""
    sign = 2.0 * side - 1.0
    centre = float(line.positions_of_optima(optimum)[0])
    unit = line.approximate_errors(optimum, np.zeros(1, dtype=np.int64))
    limit = float(line.search_limits(np.array([centre]), unit, np.array([sign]))[0])
    first = float(profile_end[side])
    if np.isinf(first) and line.is_bounded:
        first = limit  # A bounded range can be tested up to its end, such as a learning rate of 1
    if not np.isfinite(first) or first == centre:
        return float(profile_end[side])
    root = np.sqrt(chi_square_isf(1 - level, 1))
    further = further_profile_end[side] if np.isfinite(further_profile_end[side]) else limit
    slope = (further - first) / (root * (np.sqrt(FURTHER_RATIO) - 1))
    if slope == 0:
        slope = (first - centre) / root
    found = search_interval_end(
        lambda position: person.bootstrap_test.test(
            person.lattice_with_fixed_parameter(line, position), level
        ),
        EndSearch(centre, first, float(slope), limit),
    )
    return sign * np.inf if found == limit else found
