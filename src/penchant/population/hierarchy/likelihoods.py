"""What every subject's decisions say of their coordinates: log-likelihoods at nodes.

Play, offers and choices look the same from here: `values` at nodes, `derivatives` where a search
needs them. Nodes h have shape (n, K, L, p): K values of the shape parameters for each subject, and
L of the weights for each of these, so that a model is asked for its variables K times, not K L.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile import _kernels as profile_kernels
from penchant.inference.profile.pairs import Rows
from penchant.inference.profile.profiles import Profiles
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy import _kernels as compiled

NUMBERS_AT_ONCE = 1_000_000  # of explanatory variables
KEPT = 8  # portions of variables
NOTHING: Vector = np.empty(0)


class Slopes(NamedTuple):
    """Log-likelihoods (n, K, L), their gradients (..., p), expected informations (..., p, p)."""

    value: Matrix
    gradient: Matrix
    information: Matrix


class Typical(NamedTuple):
    """Centre and standard deviation of each coordinate: broad, and free of units."""

    centre: Vector
    sd: Vector


class People(Protocol):
    """Subjects with decisions."""

    @property
    def coordinates(self) -> Coordinates:
        """What the columns of nodes are."""

    @property
    def subjects(self) -> tuple[Any, ...]:
        """Labels."""

    @property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""

    @property
    def typical(self) -> Typical:
        """Where coordinates may lie, before anything is known."""

    def values(self, which: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L) of subjects at nodes (n, K, L, p)."""

    def derivatives(self, which: IntVector, h: Matrix, on_shape: bool = True) -> Slopes:
        """The same with their slopes; those in shape parameters are 0 unless asked for."""


@dataclass(frozen=True, eq=False)
class Players:
    """Episodes or offers of many subjects, explained by a model.

    Attributes
    ----------
    profiles
        The episodes of each subject.
    coordinates, subjects
        As `People` has them.
    threads
        Processors to use.
    """

    profiles: Profiles
    coordinates: Coordinates
    subjects: tuple[Any, ...]
    threads: int = 1
    _last: dict[bytes, Any] = field(default_factory=dict, repr=False)

    @property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        return self.profiles.n_decisions

    @cached_property
    def typical(self) -> Typical:
        """By the root mean square of each weight's variable, in the middle of the shapes."""
        profiles = self.profiles
        middle = profiles.from_search(profiles.bounds.mean(axis=1)[None])
        squares, count = np.zeros(profiles.n_weights), 0
        everyone = np.arange(len(profiles.groups))
        for begin, end in profiles.portions(everyone):
            mine = everyone[begin:end]
            x, _ = profiles.variables(mine, np.repeat(middle, len(mine), axis=0), False)
            profiles.outside(x, None, mine)
            scored = x[profiles.rows(mine).order]
            squares += (scored - scored.mean(axis=1, keepdims=True)).var(axis=1).sum(axis=0)
            count += len(scored)
        return typical_of(self.coordinates, np.sqrt(squares / max(count, 1)))

    def values(self, which: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        q = self.coordinates.n_shape
        n, n_psi, n_weights, _ = h.shape
        found = np.empty((n * n_psi, n_weights))

        def fill(part: slice, pairs: IntVector, psi: Matrix) -> None:
            x, rows, lost = self._described(pairs, psi)
            theta = self.coordinates.theta(flat[part, :, q:])
            compiled.log_likelihoods(_table(x, rows), (rows.order, rows.bounds), theta, found[part])
            found[part][lost] = -np.inf

        flat = h.reshape(n * n_psi, n_weights, -1)
        self._each_portion(np.repeat(which, n_psi), flat[:, 0, :q], fill)
        return found.reshape(n, n_psi, n_weights)

    def derivatives(self, which: IntVector, h: Matrix, on_shape: bool = True) -> Slopes:
        """Log-likelihoods, gradients, expected informations."""
        q, p = self.coordinates.n_shape, len(self.coordinates)
        n, n_psi, n_weights, _ = h.shape
        value = np.empty((n * n_psi, n_weights))
        gradient, information = np.empty((*value.shape, p)), np.empty((*value.shape, p, p))
        flat = h.reshape(n * n_psi, n_weights, p)

        def fill(part: slice, pairs: IntVector, psi: Matrix) -> None:
            found = self._slopes(pairs, psi, flat[part], on_shape)
            value[part], gradient[part], information[part] = found

        self._each_portion(np.repeat(which, n_psi), flat[:, 0, :q], fill)
        shape = n, n_psi, n_weights
        return Slopes(
            value.reshape(shape),
            gradient.reshape(*shape, p),
            information.reshape(*shape, p, p),
        )

    def _slopes(
        self, pairs: IntVector, psi: Matrix, h: Matrix, on_shape: bool
    ) -> tuple[Matrix, Matrix, Matrix]:
        q, p = self.coordinates.n_shape, len(self.coordinates)
        n, n_weights, _ = h.shape
        d = self.coordinates.n_weights
        theta, bend = self.coordinates.theta_and_slopes(h[..., q:])
        x, rows, slopes, lost = self._described_with_slopes(pairs, psi, on_shape)
        value = np.empty((n, n_weights))
        first, second = np.empty((*value.shape, d)), np.empty((*value.shape, d, d))
        compiled.weight_moments(
            _table(x, rows), (rows.order, rows.bounds), theta, value, first, second
        )
        gradient, information = np.zeros((*value.shape, p)), np.zeros((*value.shape, p, p))
        gradient[..., q:] = np.einsum("kta,ktab->ktb", first, bend)
        information[..., q:, q:] = np.swapaxes(bend, -1, -2) @ second @ bend
        if q and slopes is not None:
            many = rows if n_weights == 1 else rows.only(np.repeat(np.arange(n), n_weights))
            flat = np.ascontiguousarray(theta.reshape(n * n_weights, d))
            size = len(flat)
            on_psi = np.empty((size, q))
            of_psi = np.empty((size, d, q)), np.empty((size, d, q)), np.empty((size, q, q))
            curvature = *of_psi, np.empty((size, d, d))
            profile_kernels.derivatives(x, slopes, many.counted, flat, on_psi, curvature)
            order = self.coordinates.shape_order()
            stretch = self.coordinates.psi(h[:, 0, :q])[1]
            stretch = np.repeat(stretch, n_weights, axis=0)[:, order]
            shape = n, n_weights
            gradient[..., :q] = (on_psi[:, order] * stretch).reshape(*shape, q)
            mixed = (curvature[1][:, :, order] * stretch[:, None]).reshape(*shape, d, q)
            information[..., q:, :q] = np.swapaxes(bend, -1, -2) @ mixed
            information[..., :q, q:] = np.swapaxes(information[..., q:, :q], -1, -2)
            fisher = curvature[2][:, order][:, :, order] * stretch[:, None] * stretch[:, :, None]
            information[..., :q, :q] = fisher.reshape(*shape, q, q)
        value[lost], gradient[lost], information[lost] = -np.inf, 0.0, 0.0
        return value, gradient, information

    def _described(self, pairs: IntVector, psi: Matrix) -> tuple[Matrix, Rows, BoolVector]:
        """Variables, their rows, and pairs at whose psi the model does not exist.

        Nobody decides by a model that does not exist: such places have likelihood 0, and the
        population is what is normal before they are taken out.
        """
        x, _ = self.profiles.variables(pairs, psi, False)
        rows = self.profiles.rows(pairs)
        lost = self.profiles.outside(x, None, pairs)
        self.profiles.check_finite(x, rows)
        return x, rows, lost

    def _described_with_slopes(
        self, pairs: IntVector, psi: Matrix, on_shape: bool
    ) -> tuple[Matrix, Rows, Matrix | None, BoolVector]:
        """Kept from the last call: a search in the weights alone asks for the same again."""
        key = bytes([on_shape]) + pairs.tobytes() + psi.tobytes()
        kept = self._last.get(key)
        if kept is None:
            wanted = on_shape and self.coordinates.n_shape > 0
            x, slopes = self.profiles.variables(pairs, psi, wanted)
            rows = self.profiles.rows(pairs)
            lost = self.profiles.outside(x, slopes, pairs)
            self.profiles.check_finite(x, rows)
            kept = (x, rows, slopes, lost)
            if len(self._last) >= KEPT:
                self._last.clear()
            self._last[key] = kept
        return kept

    def _each_portion(
        self, pairs: IntVector, h_psi: Matrix, fill: Callable[[slice, IntVector, Matrix], None]
    ) -> None:
        psi, _ = self.coordinates.psi(h_psi)
        events = np.diff(self.profiles.first_event)[pairs]
        size = events * self.profiles.n_options * max(self.coordinates.n_weights, 1)
        parts = list(portions(size, self.threads))

        def one(part: slice) -> None:
            fill(part, np.ascontiguousarray(pairs[part]), np.ascontiguousarray(psi[part]))

        run(one, parts, self.threads)


@dataclass(frozen=True, eq=False)
class Choosers:
    """Choices of many subjects among options described by variables.

    Attributes
    ----------
    choices
        With a subject of each decision.
    coordinates
        Of the weights.
    threads
        Processors to use.
    """

    choices: Choices
    coordinates: Coordinates
    threads: int = 1

    @property
    def subjects(self) -> tuple[Any, ...]:
        """Labels."""
        return tuple(self.choices.subject_labels or ())

    @cached_property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        return np.diff(self._pairs[1])

    @cached_property
    def typical(self) -> Typical:
        """By the root mean square of each variable within choice sets."""
        x, first_row, *_ = self._table
        sizes = np.diff(first_row)
        means = np.add.reduceat(x, first_row[:-1], axis=0) / sizes[:, None]
        away = x - np.repeat(means, sizes, axis=0)
        return typical_of(self.coordinates, np.sqrt((away**2).mean(axis=0)))

    @cached_property
    def _table(self) -> tuple[Any, ...]:
        c = self.choices
        x, first_row, chosen = c.explanatory, c.first_row, c.chosen
        offset = NOTHING if c.offset is None else c.offset
        if c.available is not None:
            before = np.concatenate([[0], np.cumsum(c.available)])
            chosen = before[c.chosen_row] - before[first_row[:-1]]
            x, first_row = x[c.available], before[first_row]
            offset = offset[c.available] if len(offset) else NOTHING
        counts = NOTHING if c.weights is None else np.asarray(c.weights, dtype=np.float64)
        arrays = (np.array(x), np.array(first_row), np.array(chosen), np.array(offset))
        return (*arrays, np.array(counts))

    @cached_property
    def _pairs(self) -> tuple[IntVector, IntVector]:
        assert self.choices.subject is not None
        order = np.argsort(self.choices.subject, kind="stable")
        counts = np.bincount(self.choices.subject, minlength=len(self.subjects))
        return order, np.concatenate([[0], np.cumsum(counts)])

    def values(self, which: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        n, n_psi, n_weights, p = h.shape
        theta = self.coordinates.theta(h.reshape(n, n_psi * n_weights, p))
        found = np.empty((n, n_psi * n_weights))
        self._each_portion(
            which,
            lambda part, pairs: compiled.log_likelihoods(
                self._table, pairs, np.ascontiguousarray(theta[part]), found[part]
            ),
        )
        return found.reshape(n, n_psi, n_weights)

    def derivatives(self, which: IntVector, h: Matrix, on_shape: bool = True) -> Slopes:
        """Log-likelihoods, gradients, expected informations."""
        n, n_psi, n_weights, p = h.shape
        theta, bend = self.coordinates.theta_and_slopes(h.reshape(n, n_psi * n_weights, p))
        value = np.empty((n, n_psi * n_weights))
        first, second = np.empty((*value.shape, p)), np.empty((*value.shape, p, p))
        self._each_portion(
            which,
            lambda part, pairs: compiled.weight_moments(
                self._table,
                pairs,
                np.ascontiguousarray(theta[part]),
                value[part],
                first[part],
                second[part],
            ),
        )
        gradient = np.einsum("kta,ktab->ktb", first, bend)
        information = np.swapaxes(bend, -1, -2) @ second @ bend
        shape = n, n_psi, n_weights
        return Slopes(
            value.reshape(shape), gradient.reshape(*shape, p), information.reshape(*shape, p, p)
        )

    def _each_portion(
        self, which: IntVector, fill: Callable[[slice, tuple[IntVector, IntVector]], None]
    ) -> None:
        order, bounds = self._pairs
        lengths = np.diff(bounds)[which]
        ends = np.concatenate([[0], np.cumsum(lengths)])

        def one(part: slice) -> None:
            mine = [order[bounds[s] : bounds[s + 1]] for s in which[part]]
            own = ends[part.start : part.stop + 1] - ends[part.start]
            fill(part, (np.concatenate(mine) if mine else order[:0], own))

        run(one, list(portions(lengths * self.choices.n_parameters, self.threads)), self.threads)


@dataclass(frozen=True, eq=False)
class Conditions:
    """Subjects under several conditions: the sum of what they did in each.

    Attributes
    ----------
    base
        A unit for every subject and condition.
    unit
        Which unit (n_subjects, n_conditions); -1 where a subject was not seen in a condition.
    maps
        (n_conditions, p of the base, p): coordinates in a condition from those of the subject.
    coordinates, subjects
        As `People` has them.
    """

    base: Players
    unit: IntVector
    maps: Matrix
    coordinates: Coordinates
    subjects: tuple[Any, ...]

    @property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        own = np.append(self.base.n_decisions, 0)
        return np.asarray(own[self.unit].sum(axis=1))

    @property
    def typical(self) -> Typical:
        """That of the base, without differences between conditions."""
        own = self.base.typical
        middle = self.maps.mean(axis=0)
        centre = np.where(np.abs(middle).sum(axis=0) > 1e-9, own.centre @ middle, 0.0)
        return Typical(centre, own.sd @ np.abs(self.maps).max(axis=0))

    def values(self, which: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        found = np.zeros(h.shape[:3])
        for c, into in enumerate(self.maps):
            unit = self.unit[which, c]
            seen = unit >= 0
            found[seen] += self.base.values(unit[seen], h[seen] @ into.T)
        return found

    def derivatives(self, which: IntVector, h: Matrix, on_shape: bool = True) -> Slopes:
        """Log-likelihoods, gradients, expected informations."""
        p = h.shape[-1]
        value, gradient = np.zeros(h.shape[:3]), np.zeros(h.shape)
        information = np.zeros((*h.shape, p))
        for c, into in enumerate(self.maps):
            unit = self.unit[which, c]
            seen = unit >= 0
            found = self.base.derivatives(unit[seen], h[seen] @ into.T, on_shape)
            value[seen] += found.value
            gradient[seen] += found.gradient @ into
            information[seen] += into.T @ found.information @ into
        return Slopes(value, gradient, information)


def portions(size: Vector, threads: int) -> Iterator[slice]:
    """Ranges of pairs whose variables fit into memory together, and some for every thread."""
    if not len(size):
        return
    total = np.cumsum(size)
    at_once = min(NUMBERS_AT_ONCE, max(total[-1] // max(threads, 1), 1))
    portion = (total - size) // at_once
    edges = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [len(size)]])
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(begin, end)


def run(one: Callable[[slice], None], parts: Sequence[slice], threads: int) -> None:
    """Do all portions, in threads where there are several of both."""
    if threads == 1 or len(parts) == 1:
        for part in parts:
            one(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, parts))


def _table(x: Matrix, rows: Rows) -> tuple[Any, ...]:
    """Variables as the compiled loops take them."""
    n_events, m, d = x.shape
    first_row = np.arange(n_events + 1) * m
    return x.reshape(n_events * m, d), first_row, rows.chosen, NOTHING, NOTHING


def typical_of(coordinates: Coordinates, size: Vector) -> Typical:
    """Of weights whose variables have these root mean squares, and of shapes by their ranges."""
    size = np.where(size > 0, size, 1.0)
    centre, sd = np.zeros(len(coordinates)), np.full(len(coordinates), 1.5)
    for a, c in enumerate(coordinates.each):
        natural = c.natural
        if natural.is_shape:
            shape = coordinates.shape[natural.index]
            if c.link.name == "log":
                ends = c.link.coordinate(
                    natural.scale * np.array([shape.low, shape.high]) ** natural.power
                )
                centre[a], sd[a] = ends.mean(), max(float(np.ptp(ends)) / 5, 1.0)
            continue
        unit = natural.unit(size)
        if c.link.name == "identity":
            sd[a] = 2.0 * unit
        elif c.link.name != "logit":
            centre[a] = np.log(unit)
    return Typical(centre, sd)
