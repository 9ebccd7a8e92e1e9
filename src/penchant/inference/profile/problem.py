"""One profile: the episodes of one subject, or several that share their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile.pairs import Planes
from penchant.inference.profile.profiles import Profiles
from penchant.inference.profile.weights import best_weights
from penchant.models.model import Model
from penchant.models.natural_prior import Prior
from penchant.softmax.constraints import Constraints
from penchant.softmax.newton import Maximum


@dataclass(frozen=True)
class Point:
    """The inner solution at one psi."""

    psi: Vector
    theta: Vector
    value: float
    log_likelihood: float
    gradient: Vector
    information: Matrix


@dataclass(frozen=True)
class Problem:
    """Episodes that share their parameters, a model, and a prior on the weights.

    psi is searched on the scale that its `Shape` declares: "search units".
    """

    model: Model
    episodes: tuple[Any, ...]
    prior: Prior | None = None

    @cached_property
    def profiles(self) -> Profiles:
        """The same, as one of many."""
        return Profiles(self.model, (self.episodes,), self.prior)

    @cached_property
    def chosen(self) -> IntVector:
        """Options of all decisions scored."""
        return np.concatenate([episode.scored_options for episode in self.episodes])

    @property
    def n_shape(self) -> int:
        """Number of shape parameters."""
        return self.profiles.n_shape

    def to_search(self, psi: Sequence[float] | Vector) -> Vector:
        """Psi in search units."""
        return np.asarray(self.profiles.to_search(np.asarray(psi, dtype=np.float64)[None])[0])

    def from_search(self, u: Vector) -> Vector:
        """Psi in its own units."""
        return np.asarray(self.profiles.from_search(np.asarray(u)[None])[0])

    @property
    def bounds(self) -> Matrix:
        """Range of psi in search units: (n_shape, 2)."""
        return self.profiles.bounds

    def stretch(self, psi: Vector) -> Vector:
        """Derivative of psi in its search units."""
        return np.asarray(self.profiles.stretch(np.asarray(psi)[None])[0])

    def variables(self, psi: Vector) -> Matrix:
        """Explanatory variables of all decisions scored: (n_decisions, n_options, n_weights)."""
        return self._described(psi, False)[0]

    def variables_and_slopes(self, psi: Vector) -> tuple[Matrix, Matrix]:
        """The variables, and their derivatives in psi: the model's own, or by differences."""
        x, slopes = self._described(psi, True)
        assert slopes is not None
        return x, slopes

    def _described(self, psi: Vector, with_slopes: bool) -> tuple[Matrix, Matrix | None]:
        whose = np.zeros(1, dtype=np.int64)
        x, slopes = self.profiles.variables(
            whose, np.asarray(psi, dtype=np.float64)[None], with_slopes
        )
        scored = self.profiles.rows(whose).order
        if len(scored) < len(x):
            x = x[scored]
            slopes = None if slopes is None else slopes[:, scored]
        return x, slopes

    def choices(self, psi: Vector) -> Choices:
        """The decisions as the model describes them at this psi."""
        return Choices.from_arrays(self.variables(psi), self.chosen, names=self.model.weights)

    @property
    def positive(self) -> Constraints | None:
        """Weights that the model wants positive."""
        return self.profiles.limits

    def values(self, psis: Matrix) -> tuple[Vector, Matrix]:
        """Profile at many psi (n, n_shape), and the weights there."""
        whose = np.zeros(len(psis), dtype=np.int64)
        points = self.profiles.solve(whose, psis, with_slopes=False, patient=False)
        return points.value, points.theta

    def inner(self, choices: Choices) -> Maximum:
        """Weights that maximise the objective at fixed psi, positive where they must be."""
        return best_weights(choices, self.positive, self.profiles.weight_prior)

    def at(self, psi: Vector, planes: Planes | None = None, near: Vector | None = None) -> Point:
        """Inner solution and the profile's gradient in search units (envelope theorem).

        `near` are weights to start from, of a psi near by.
        """
        start = None if near is None else near[None]
        whose = np.zeros(1, dtype=np.int64)
        points = self.profiles.solve(whose, psi[None], start, planes=planes)
        return Point(
            psi,
            points.theta[0],
            float(points.value[0]),
            float(points.log_likelihood[0]),
            points.gradient[0],
            points.information[0],
        )
