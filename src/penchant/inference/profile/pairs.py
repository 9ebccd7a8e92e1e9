"""Pairs of a subject and a psi: their decisions, and their weights, one concave problem each.

Every variable is first brought to size 1, so that one which all but vanishes is neither overlooked
nor in the way. A maximum of the whole that respects the limits is the answer; otherwise the answer
lies on a face of the limits (`softmax.constraints.maximise_within`).

A prior on natural parameters is not quadratic in the weights, and the objective under it not always
concave: Newton's method, for many pairs of data and psi together, starts from the weights that the
choices tell under a weak prior and from those that the prior tells, and the higher end counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile import _kernels as compiled
from penchant.inference.profile._kernels import Scored
from penchant.models.model import Model, positive_weights
from penchant.models.natural import Natural
from penchant.models.priors import Density
from penchant.softmax.constraints import Constraints, maximise_freely, maximise_within
from penchant.softmax.fit_each import Grouping, fit_table
from penchant.softmax.hypotheses import Hypothesis
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted
from penchant.softmax.prior import ParameterPrior, ScaledPrior


class Rows(NamedTuple):
    """The decisions of pairs, one pair after another.

    Attributes
    ----------
    chosen
        Option of every event of every pair.
    events
        Where the events of each pair begin.
    order, bounds
        Which of the events are scored; those of pair k from bounds[k] to bounds[k + 1].
    """

    chosen: IntVector
    events: IntVector
    order: IntVector
    bounds: IntVector

    @property
    def scored(self) -> tuple[IntVector, IntVector, IntVector]:
        """As the compiled loops take them."""
        return self.chosen, self.order, self.bounds

    @property
    def counted(self) -> Scored:
        """The same with where each pair begins; rows are counted from the first one."""
        nothing = np.zeros(len(self.bounds) - 1, dtype=np.int64)
        counts = np.diff(self.bounds)
        return Scored(self.chosen, self.order, self.bounds[:-1], counts, nothing, nothing)

    @property
    def grouping(self) -> Grouping:
        """The decisions scored, and where those of each pair begin."""
        return Grouping(self.order, self.bounds)

    def of(self, k: int) -> IntVector:
        """The decisions of one pair."""
        return self.order[self.bounds[k] : self.bounds[k + 1]]

    def only(self, which: IntVector) -> Rows:
        """Some of the pairs, of the same events."""
        lengths = np.diff(self.bounds)[which]
        return Rows(
            self.chosen,
            self.events,
            self.order[ranges(self.bounds, which)],
            np.concatenate([[0], np.cumsum(lengths)]),
        )


def decisions_of(k: int, rows: Rows, x: Matrix, names: tuple[str, ...]) -> Choices:
    """The decisions of one pair, whose variables are known to be finite."""
    mine = rows.of(k)
    n, (_, m, d) = len(mine), x.shape
    return Choices(
        explanatory=x[mine].reshape(n * m, d),
        first_row=np.arange(0, (n + 1) * m, m),
        chosen=rows.chosen[mine],
        names=names,
    )


def ranges(starts: IntVector, which: IntVector) -> IntVector:
    """The numbers from starts[w] to starts[w + 1], for one w after another."""
    lengths = starts[which + 1] - starts[which]
    ends = np.cumsum(lengths)
    return np.repeat(starts[which] - ends + lengths, lengths) + np.arange(int(lengths.sum()))


@dataclass(frozen=True)
class Points:
    """Inner solutions of pairs of a subject and a psi, one row each.

    Attributes
    ----------
    subject, psi
        The pairs: (n,), (n, n_shape).
    theta, value, information
        The best weights, the objective there, and minus its second derivative in the weights.
    log_likelihood
        The objective without the prior.
    gradient
        Derivative of the profile in search units (envelope theorem).
    cross
        Derivative of the gradient in the weights by psi, in search units: (n, n_weights, n_shape).
    mixed, fisher
        Expected information on weights and psi together, and on psi: (n, n_weights, n_shape),
        (n, n_shape, n_shape), in search units.
    settled
        Newton's method ended at a maximum.
    decrement, largest, spread
        What proves it: the last Newton step in standard errors; the largest |x| and the largest
        |x_i - x_chosen| of each variable; the variables' spread inside sets.
    """

    subject: IntVector
    psi: Matrix
    theta: Matrix
    value: Vector
    log_likelihood: Vector
    information: Matrix
    gradient: Matrix
    cross: Matrix
    mixed: Matrix
    fisher: Matrix
    settled: BoolVector
    decrement: Vector
    largest: Matrix
    spread: Matrix

    def __len__(self) -> int:
        return len(self.subject)

    @property
    def lines(self) -> tuple[Matrix, ...]:
        """All numbers of each row in lines, in the order of the attributes: (n, width) each."""
        n = len(self.value)
        d, q = self.theta.shape[1], self.psi.shape[1]
        return (
            self.psi,
            self.theta,
            self.value.reshape(n, 1),
            self.log_likelihood.reshape(n, 1),
            self.information.reshape(n, d * d),
            self.gradient,
            self.cross.reshape(n, d * q),
            self.mixed.reshape(n, d * q),
            self.fisher.reshape(n, q * q),
            self.decrement.reshape(n, 1),
            self.largest.reshape(n, 2 * d),
            self.spread.reshape(n, d * d),
        )

    def take(self, which: Any) -> Points:
        """Some of the rows."""
        return Points(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def put(self, which: Any, others: Points) -> None:
        """Replace some of the rows in place."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[which] = getattr(others, name)

    @classmethod
    def joined(cls, parts: Sequence[Points]) -> Points:
        """Rows of several, one after another."""
        if len(parts) == 1:
            return parts[0]
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


@dataclass(frozen=True)
class Planes:
    """Planes theta = origin + basis phi, one for each pair of a subject and a psi.

    Attributes
    ----------
    origin, basis
        (n, n_weights) and (n, n_weights, dimension).
    row, value
        The same as an equation: row' theta = value.
    """

    origin: Matrix
    basis: Matrix
    row: Matrix
    value: Vector

    @classmethod
    def of(cls, natural: Natural, values: Vector, d: int) -> Planes:
        """Where a natural parameter made of weights has these values."""
        return cls(*natural.plane(values, d))

    @classmethod
    def joined(cls, parts: Sequence[Planes]) -> Planes:
        """One after another."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @cached_property
    def kept(self) -> int:
        """The weight that alone is told by all of them, which have its value; -1 if there is none.

        What is left are the other weights, as they are.
        """
        told = np.flatnonzero(self.row.any(axis=0))
        alone = len(told) == 1 and bool((self.row[:, told[0]] == 1.0).all())
        return int(told[0]) if alone else -1

    def take(self, which: object) -> Planes:
        """Some of them."""
        found = Planes(*(getattr(self, name)[which] for name in self.__dataclass_fields__))
        found.__dict__["kept"] = self.kept
        return found

    def coordinates(self, theta: Matrix) -> Matrix:
        """phi of weights near the planes."""
        away = theta - self.origin
        inverse = np.linalg.pinv(self.basis)
        return np.asarray(np.einsum("kra,ka->kr", inverse, away))


def best_on_planes(
    x: Matrix, rows: Rows, planes: Planes, near: Matrix | None
) -> tuple[Matrix, Vector, Matrix, BoolVector]:
    """Weights, log-likelihoods, informations, and whether Newton's method ended at a maximum."""
    n, d, dimension = planes.basis.shape
    theta, settled = planes.origin.copy(), np.ones(n, dtype=bool)
    if dimension:
        lengths = np.diff(rows.events)
        on_plane, offset = np.empty((*x.shape[:2], dimension)), np.empty(x.shape[:2])
        for k in range(n):
            mine = slice(rows.events[k], rows.events[k + 1])
            np.matmul(x[mine], planes.basis[k], out=on_plane[mine])
            np.matmul(x[mine], planes.origin[k], out=offset[mine])
        assert int(lengths.sum()) == len(x)
        start = None if near is None else planes.coordinates(np.nan_to_num(near))
        known = offset if offset.any() else None
        batch = fit_table(on_plane, rows.chosen, rows.grouping, None, start, known)
        theta += np.einsum("kar,kr->ka", planes.basis, batch.theta)
        settled = batch.converged & np.isfinite(batch.value)
    sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
    compiled.moments(x, *rows.scored, theta, sums, gradient, information)
    return theta, sums, information, settled


def limits_of(model: Model) -> Constraints | None:
    """Weights that the model wants positive."""
    rows = positive_weights(model)
    if not rows:
        return None
    names = model.weights
    return Constraints.single(names, {names[a]: 0.0 for a in rows}, 1.0)


def prior_quadratic(prior: ParameterPrior | None, d: int, scale: Vector | None) -> Quadratic:
    """The prior's part of the objective, less its constant, which depends on units."""
    if prior is None:
        return Quadratic.none(d)
    whole = prior.quadratic(d, scale)
    return Quadratic(whole.precision, whole.linear)


def best_weights(
    choices: Choices,
    limits: Constraints | None,
    prior: ParameterPrior | None,
    hypothesis: Hypothesis | None = None,
) -> Maximum:
    """Weights that maximise the objective, inside their limits and on the plane of a hypothesis."""
    likelihood, quadratic, unit = _of_size_one(choices, prior)
    origin, basis = np.zeros(len(unit)), np.eye(len(unit))
    if hypothesis is not None:
        origin, basis = _plane(hypothesis.matrix[0] * unit, float(hypothesis.values[0]))
    plane = Restricted(likelihood, origin, basis)
    within = quadratic.within(origin, basis)
    inside = None
    if limits is not None:
        inside = replace(limits, matrix=limits.matrix * unit).within(origin, basis)
    found = _best(plane, within, inside)
    own = unit * (origin + basis @ found.theta)
    if limits is not None:
        held = limits.matrix.any(axis=0)
        own[held] = np.maximum(own[held], 0.0)
    moments = likelihood.moments(own / unit)
    information = (moments.information + quadratic.precision) / unit / unit[:, None]
    return replace(
        found,
        theta=own,
        value=moments.log_likelihood + quadratic(own / unit),
        information=information,
    )


def _of_size_one(
    choices: Choices, prior: ParameterPrior | None
) -> tuple[Likelihood, Quadratic, Vector]:
    """The problem with weights in units of which one matters, and these units.

    One matters that changes an objective by 1 somewhere, or by which the prior bends by 1.
    """
    likelihood = likelihood_of(choices, 1)
    scale = None if prior is None else np.sqrt(np.diag(likelihood.spread()))
    quadratic = prior_quadratic(prior, choices.n_parameters, scale)
    size = np.hypot(np.asarray(likelihood.largest)[1], np.sqrt(np.diag(quadratic.precision)))
    # powers of 2 change no digit
    unit = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))
    own = Quadratic(quadratic.precision * unit * unit[:, None], quadratic.linear * unit)
    return likelihood.in_units(unit), own, unit


def _plane(row: Vector, value: float) -> tuple[Vector, Matrix]:
    """Origin and basis of row' theta = value, made of single weights: the largest is told."""
    told = int(np.argmax(np.abs(row)))
    origin, basis = np.zeros(len(row)), np.eye(len(row))
    origin[told] = value / row[told]
    basis[told] = -row / row[told]
    return origin, np.delete(basis, told, axis=1)


def _best(plane: Restricted, quadratic: Quadratic, limits: Constraints | None) -> Maximum:
    """The maximum on a plane, inside the limits."""
    d = plane.n_parameters
    found = maximise_freely(plane, quadratic, np.zeros(d), np.eye(d))
    if limits is None or (limits.matrix @ found.theta >= limits.bound).all():
        return found
    return maximise_within(plane, limits, quadratic)[0]


MOST_STEPS = 100
MOST_VAIN = 3  # steps in a row that gain nothing
ENOUGH = 1e-9  # Newton decrement, in standard errors
LONGEST = 100.0  # by which a step may change an objective


class Ends(NamedTuple):
    """Where Newton's method ended: weights, objective, log-likelihood, minus the Hessian, how."""

    theta: Matrix
    value: Vector
    log_likelihood: Vector
    information: Matrix
    settled: BoolVector
    decrement: Vector


class Objective(NamedTuple):
    """Log-likelihood plus the prior's part that depends on the weights."""

    x: Matrix
    rows: Rows
    prior: Density
    psi: Matrix

    def at(self, theta: Matrix, which: IntVector) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Objective, log-likelihood, gradient and minus the Hessian of some pairs."""
        n, d = theta.shape
        sums, gradient, information = np.empty(n), np.empty((n, d)), np.empty((n, d, d))
        compiled.moments(self.x, *self.rows.only(which).scored, theta, sums, gradient, information)
        value, slope, hessian = self.prior.on_weights(theta, self.psi[which])
        return sums + value, sums, gradient + slope, information - hessian


def best_under(
    x: Matrix,
    rows: Rows,
    prior: Density,
    psi: Matrix,
    near: Matrix | None,
    planes: Planes | None,
) -> Ends:
    """The highest end from the usual starts, or from weights near by."""
    objective = Objective(x, rows, prior, psi)
    n, d = len(rows.bounds) - 1, x.shape[2]
    said = np.tile(prior.typical_weights(), (n, 1))
    near = np.full((n, d), np.nan) if near is None else near
    starts = [np.where(np.isnan(near), said, near)]
    if np.isnan(near).any():
        told = fit_table(x, rows.chosen, rows.grouping, ScaledPrior()).theta
        told = np.where(np.abs(told) > 1e-8, told, said)
        starts.append(np.where(np.isnan(near), told, near))
    best: Ends | None = None
    for start in starts:
        valid = np.isfinite(prior.on_weights(start, psi)[0])
        start = np.where(valid[:, None], start, said)
        if planes is not None:
            start = planes.origin + np.einsum("kar,kr->ka", planes.basis, planes.coordinates(start))
        ends = _newton(objective, start, planes)
        if best is None:
            best = ends
            continue
        higher = ends.value > best.value
        for mine, other in zip(best, ends, strict=True):
            mine[higher] = other[higher]
    assert best is not None
    return best


def _newton(objective: Objective, start: Matrix, planes: Planes | None) -> Ends:
    n = len(start)
    everyone = np.arange(n)
    theta = start.copy()
    value, likelihood, gradient, information = objective.at(theta, everyone)
    decrement, settled = np.full(n, np.inf), np.zeros(n, dtype=bool)
    active, vain = everyone, np.zeros(n, dtype=np.int64)
    size = _sizes(objective.x, objective.rows)
    for _ in range(MOST_STEPS):
        step, squared = _step(gradient[active], information[active], planes, active)
        decrement[active] = np.sqrt(np.maximum(squared, 0.0))
        settled[active] = decrement[active] < ENOUGH
        moving = ~settled[active]
        active, step = active[moving], step[moving]
        if not len(active):
            break
        step = _bounded(step, theta[active], size[active])
        before = value.copy()
        active = _advance(objective, theta, value, likelihood, gradient, information, active, step)
        gained = value[active] > before[active] + _rounding(before[active])
        vain[active] = np.where(gained, 0, vain[active] + 1)
        active = active[vain[active] < MOST_VAIN]
    return Ends(theta, value, likelihood, information, settled, decrement)


def _sizes(x: Matrix, rows: Rows) -> Matrix:
    """Largest of each variable of every pair, whatever the company: (n, n_weights)."""
    each = np.abs(x).max(axis=1)
    sizes = np.zeros((len(rows.events) - 1, x.shape[2]))
    some = np.diff(rows.events) > 0
    sizes[some] = np.maximum.reduceat(each, rows.events[:-1][some])
    return sizes


def _bounded(step: Matrix, theta: Matrix, size: Matrix) -> Matrix:
    """Steps that do not carry an objective far beyond what it is: to where nothing has a slope."""
    most = LONGEST + 2 * (np.abs(theta) * size).sum(axis=1)
    length = (np.abs(step) * size).sum(axis=1)
    return np.asarray(step * np.minimum(1.0, most / np.maximum(length, 1e-300))[:, None])


def _rounding(value: Vector) -> Vector:
    """What two equal objectives may differ by."""
    return np.asarray(1e-13 * (1 + np.abs(np.where(np.isfinite(value), value, 0.0))))


def _advance(
    objective: Objective,
    theta: Matrix,
    value: Vector,
    likelihood: Vector,
    gradient: Matrix,
    information: Matrix,
    active: IntVector,
    step: Matrix,
) -> IntVector:
    """Take the first of step, step/2, step/4 ... that raises the objective; who could move."""
    left, moved = np.arange(len(active)), []
    fraction = 1.0
    while len(left) and fraction > 1e-12:
        mine = active[left]
        trial = theta[mine] + fraction * step[left]
        found = objective.at(trial, mine)
        up = found[0] >= value[mine] - _rounding(value[mine])
        taken = mine[up]
        theta[taken] = trial[up]
        for into, what in zip((value, likelihood, gradient, information), found, strict=True):
            into[taken] = what[up]
        moved.append(taken)
        left = left[~up]
        fraction /= 2
    return np.sort(np.concatenate(moved)) if moved else active[:0]


def _step(
    gradient: Matrix, information: Matrix, planes: Planes | None, which: IntVector
) -> tuple[Matrix, Vector]:
    """Newton's steps, made uphill where the objective is not concave; their squared lengths."""
    basis = None if planes is None else planes.basis[which]
    if basis is not None:
        if not basis.shape[2]:
            return np.zeros_like(gradient), np.zeros(len(gradient))
        gradient = np.einsum("kar,ka->kr", basis, gradient)
        information = basis.transpose(0, 2, 1) @ information @ basis
    size_of = np.abs(information.diagonal(0, 1, 2))
    scale = np.sqrt(np.where(size_of > 1e-100, size_of, 1.0))  # 1: nothing is known
    values, vectors = np.linalg.eigh(information / scale[:, :, None] / scale[:, None, :])
    size = np.maximum(np.abs(values), 1e-10)
    along = np.einsum("kab,ka->kb", vectors, gradient / scale)
    step = np.einsum("kab,kb->ka", vectors, along / size) / scale
    squared = (step * gradient).sum(axis=1)
    if basis is not None:
        step = np.einsum("kar,kr->ka", basis, step)
    return step, squared
