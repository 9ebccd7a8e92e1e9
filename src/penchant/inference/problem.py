"""The profile of a model: for each psi the weights are solved exactly, so psi alone is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.models.model import Model, positive_weights
from penchant.softmax.batch import Batch, Grouping, fit_batch
from penchant.softmax.constraints import Constraints, maximise_within, null_basis
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.likelihood import likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted, maximise
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import log_probabilities

NUMBERS_AT_ONCE = 4_000_000  # of explanatory variables, when many psi are tried together
STEP = 1e-5  # of a numerical derivative, relative to the range searched


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
    episodes: tuple[Episode, ...]
    prior: ParameterPrior | None = None

    @cached_property
    def chosen(self) -> IntVector:
        """Options of all decisions scored."""
        return np.concatenate([episode.scored_options for episode in self.episodes])

    @property
    def n_shape(self) -> int:
        """Number of shape parameters."""
        return len(self.model.shape)

    def to_search(self, psi: Sequence[float] | Vector) -> Vector:
        """Psi in search units."""
        return np.array([s.to_search(v) for s, v in zip(self.model.shape, psi, strict=True)])

    def from_search(self, u: Vector) -> Vector:
        """Psi in its own units."""
        return np.array([s.from_search(v) for s, v in zip(self.model.shape, u, strict=True)])

    @cached_property
    def bounds(self) -> Matrix:
        """Range of psi in search units: (n_shape, 2)."""
        return np.array([s.search_range for s in self.model.shape]).reshape(self.n_shape, 2)

    def variables(self, psi: Vector) -> Matrix:
        """Explanatory variables of all decisions scored: (n_decisions, n_options, n_weights)."""
        parts = [self._checked(e, self.model.explanatory(e, *psi))[e.scored] for e in self.episodes]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _checked(self, episode: Episode, x: Any) -> Matrix:
        array = np.asarray(x, dtype=np.float64)
        d = len(self.model.weights)
        if array.ndim != 3 or len(array) != episode.n_events or array.shape[2] != d:
            raise DataError(
                "explanatory of a model must return shape (n_events, n_options, n_weights) = "
                f"({episode.n_events}, n_options, {d}); got {array.shape}. Correct the model."
            )
        return array

    def choices(self, psi: Vector) -> Choices:
        """The decisions as the model describes them at this psi."""
        return Choices.from_arrays(self.variables(psi), self.chosen, names=self.model.weights)

    @cached_property
    def positive(self) -> Constraints | None:
        """Weights that the model wants positive."""
        rows = positive_weights(self.model)
        if not rows:
            return None
        names = self.model.weights
        return Constraints.single(names, {names[a]: 0.0 for a in rows}, 1.0)

    # -- many psi at once --------------------------------------------------------------------------

    def values(self, psis: Matrix) -> tuple[Vector, Matrix]:
        """Profile at many psi (n, n_shape), and the weights there; in compiled code."""
        first = self.variables(psis[0])
        at_once = max(1, NUMBERS_AT_ONCE // max(first.size, 1))
        parts = [
            self._values(psis[begin : begin + at_once]) for begin in range(0, len(psis), at_once)
        ]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _values(self, psis: Matrix) -> tuple[Vector, Matrix]:
        x = np.concatenate([self.variables(psi) for psi in psis])
        n = len(self.chosen)
        choices = Choices.from_arrays(x, np.tile(self.chosen, len(psis)), names=self.model.weights)
        groups = Grouping(np.arange(len(x)), np.arange(len(psis) + 1) * n)
        batch = fit_batch(choices, groups, self.prior, 100, 1, lambda done: None)
        return self.within_limits(choices, batch)

    def within_limits(self, choices: Choices, batch: Batch) -> tuple[Vector, Matrix]:
        """Values and weights of a batch, solved again where a weight should be positive."""
        n = len(self.chosen)
        value, theta = batch.value.copy(), batch.theta.copy()
        wrong = ~np.isfinite(value)
        for a in positive_weights(self.model):
            wrong |= theta[:, a] <= 0
        for i in np.flatnonzero(wrong):
            point = self.inner(choices.subset(np.arange(i * n, (i + 1) * n)))
            value[i], theta[i] = point.value, point.theta
        return value, theta

    # -- one psi, with everything ------------------------------------------------------------------

    def quadratic(self, scale: Vector) -> Quadratic:
        """The prior's part of the objective, less its constant, which depends on units."""
        d = len(self.model.weights)
        if self.prior is None:
            return Quadratic.none(d)
        whole = self.prior.quadratic(d, scale)
        return Quadratic(whole.precision, whole.linear)

    def inner(
        self,
        choices: Choices,
        hypothesis: Hypothesis | None = None,
        near: Vector | None = None,
    ) -> Maximum:
        """Weights that maximise the objective at fixed psi, positive where they must be."""
        likelihood = likelihood_of(choices, 1)
        d = len(self.model.weights)
        scale = np.ones(d) if self.prior is None else np.sqrt(np.diag(likelihood.spread()))
        quadratic = self.quadratic(scale)
        if hypothesis is None:
            start = near if near is not None and np.abs(near).max() < 1e6 else None
            found = maximise(likelihood, quadratic, start, patient=True)
            low = None if self.positive is None else self.positive.matrix @ found.theta
            if low is None or (low > 0).all():
                return found
        origin, basis = np.zeros(d), np.eye(d)
        if hypothesis is not None:
            origin, basis = hypothesis.point(), null_basis(hypothesis.matrix, d)
        plane = Restricted(likelihood, origin, basis)
        within = quadratic.within(origin, basis)
        limits = None if self.positive is None else self.positive.within(origin, basis)
        if basis.shape[1] == 0:
            moments = likelihood.moments(origin)
            value = moments.log_likelihood + quadratic(origin)
            return Maximum(origin, value, moments.gradient, moments.information, 0.0, 0, "fixed")
        found = maximise(plane, within, patient=True)
        if limits is not None and (limits.matrix @ found.theta < limits.bound).any():
            found, _ = maximise_within(plane, limits, within)
        theta = origin + basis @ found.theta
        for a in positive_weights(self.model):
            theta[a] = max(theta[a], 0.0)
        information = likelihood.moments(theta).information + quadratic.precision
        return Maximum(
            theta,
            found.value,
            found.gradient,
            information,
            found.decrement,
            found.n_steps,
            found.ending,
        )

    def at(
        self,
        psi: Vector,
        hypothesis: Hypothesis | None = None,
        near: Vector | None = None,
    ) -> Point:
        """Inner solution and the profile's gradient in search units (envelope theorem).

        `near` are weights to start from, of a psi near by.
        """
        variables, slopes = self.variables_and_slopes(psi)
        choices = Choices.from_arrays(variables, self.chosen, names=self.model.weights)
        found = self.inner(choices, hypothesis, near)
        p = np.exp(log_probabilities(found.theta, choices)).reshape(len(self.chosen), -1)
        taken = np.zeros_like(p)
        taken[np.arange(len(p)), self.chosen] = 1.0
        gradient = ((slopes @ found.theta) * (taken - p)).sum(axis=(1, 2))
        added = 0.0
        if self.prior is not None:
            gradient = gradient + self._prior_slope(psi, found.theta)
            added = self.quadratic(_scale(choices))(found.theta)
        return Point(
            psi,
            found.theta,
            found.value,
            found.value - added,
            gradient * self.stretch(psi),
            found.information,
        )

    def stretch(self, psi: Vector) -> Vector:
        """Derivative of psi in its search units."""
        return np.array([s.stretch(v) for s, v in zip(self.model.shape, psi, strict=True)])

    def variables_and_slopes(self, psi: Vector) -> tuple[Matrix, Matrix]:
        """The variables, and their derivatives in psi: the model's own, or by differences."""
        own = getattr(self.model, "explanatory_and_slopes", None)
        if own is None:
            differences = [self._difference(psi, q) for q in range(self.n_shape)]
            x = self.variables(psi)
            return x, np.stack(differences) if differences else np.empty((0, *x.shape))
        parts = [own(e, *psi) for e in self.episodes]
        values = [part[0][e.scored] for part, e in zip(parts, self.episodes, strict=True)]
        slopes = [part[1][:, e.scored] for part, e in zip(parts, self.episodes, strict=True)]
        if len(parts) == 1:
            return values[0], slopes[0]
        return np.concatenate(values), np.concatenate(slopes, axis=1)

    def _steps(self, psi: Vector, q: int) -> tuple[Vector, Vector]:
        """psi a little below and above, in search units, inside the range."""
        u = self.to_search(psi)
        h = STEP * (self.bounds[q, 1] - self.bounds[q, 0])
        low, high = u.copy(), u.copy()
        low[q] = max(u[q] - h, self.bounds[q, 0])
        high[q] = min(u[q] + h, self.bounds[q, 1])
        return self.from_search(low), self.from_search(high)

    def _difference(self, psi: Vector, q: int) -> Matrix:
        low, high = self._steps(psi, q)
        return np.asarray((self.variables(high) - self.variables(low)) / (high[q] - low[q]))

    def _prior_slope(self, psi: Vector, theta: Vector) -> Vector:
        """Derivative in psi of a prior whose scale follows the variables."""
        slope = np.zeros(self.n_shape)
        for q in range(self.n_shape):
            low, high = self._steps(psi, q)
            above = self.quadratic(_scale(self.choices(high)))(theta)
            below = self.quadratic(_scale(self.choices(low)))(theta)
            slope[q] = (above - below) / (high[q] - low[q])
        return slope


def _scale(choices: Choices) -> Vector:
    return np.sqrt(np.diag(likelihood_of(choices, 1).spread()))
