"""Log-likelihoods of subjects at nodes of their coordinates, with derivatives.

Episodes, offers and choices have one interface: `log_likelihoods` at nodes, and `derivatives` where
a search needs them; both are computed in chunks that fit into memory, and in threads. Coordinates
are the parameters on scales without limits (`models.coordinates`).

Nodes h have shape (n, K, L, p): K values of the shape parameters for each subject, and
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
from penchant.inference.profile.evaluations import DecisionIndex
from penchant.inference.profile.profiles import Profiles
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy import _kernels as compiled

MAX_CHUNK_NUMBERS = 1_000_000  # 8 MB of attributes: larger chunks fall out of the cache
MAX_CACHED_CHUNKS = 8  # bounds memory; searches in the weights alone reuse the same few chunks
EMPTY: Vector = np.empty(0)


class Derivatives(NamedTuple):
    """Log-likelihoods (n, K, L), their gradients (..., p), expected informations (..., p, p)."""

    value: Matrix
    gradient: Matrix
    information: Matrix


class TypicalRange(NamedTuple):
    """Centre and standard deviation of each coordinate: broad, and free of units."""

    centre: Vector
    sd: Vector


class SubjectLikelihoods(Protocol):
    """Log-likelihoods of many subjects, as the search uses them."""

    @property
    def coordinates(self) -> Coordinates:
        """Coordinates: the columns of nodes."""

    @property
    def subjects(self) -> tuple[Any, ...]:
        """Labels of the subjects."""

    @property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""

    @property
    def typical_range(self) -> TypicalRange:
        """Broad range of each coordinate, before any decision is seen."""

    def log_likelihoods(self, subject_indices: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L) of subjects at nodes (n, K, L, p)."""

    def derivatives(
        self, subject_indices: IntVector, h: Matrix, with_shape_slopes: bool = True
    ) -> Derivatives:
        """Log-likelihoods with derivatives; 0 in shape parameters unless `with_shape_slopes`."""


@dataclass(frozen=True, eq=False)
class EpisodeLikelihoods:
    """Episodes or offers of many subjects, explained by a model.

    Attributes
    ----------
    profiles
        The episodes of each subject.
    coordinates, subjects
        As `SubjectLikelihoods` has them.
    threads
        Processors to use.
    """

    profiles: Profiles
    coordinates: Coordinates
    subjects: tuple[Any, ...]
    threads: int = 1
    _cache: dict[bytes, Any] = field(default_factory=dict, repr=False)

    @property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        return self.profiles.n_decisions

    @cached_property
    def typical_range(self) -> TypicalRange:
        """Typical ranges by each attribute's root mean square, at the middle of the shapes."""
        profiles = self.profiles
        middle = profiles.from_unconstrained(profiles.bounds.mean(axis=1)[None])
        squares, count = np.zeros(profiles.n_weights), 0
        everyone = np.arange(len(profiles.groups))
        for begin, end in profiles.portions(everyone):
            own_rows = everyone[begin:end]
            x, _ = profiles.variables(own_rows, np.repeat(middle, len(own_rows), axis=0), False)
            profiles.outside_domain(x, None, own_rows)
            scored = x[profiles.rows(own_rows).order]
            squares += (scored - scored.mean(axis=1, keepdims=True)).var(axis=1).sum(axis=0)
            count += len(scored)
        return typical_ranges(self.coordinates, np.sqrt(squares / max(count, 1)))

    def log_likelihoods(self, subject_indices: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        q = self.coordinates.n_shape
        n, n_psi, n_weights, _ = h.shape
        found = np.empty((n * n_psi, n_weights))

        def fill(part: slice, pairs: IntVector, psi: Matrix) -> None:
            x, rows, undefined = self._attributes_and_undefined_pairs(pairs, psi)
            theta = self.coordinates.theta(flat[part, :, q:])
            compiled.log_likelihoods(
                _fixed_choice_table(x, rows), (rows.order, rows.bounds), theta, found[part]
            )
            found[part][undefined] = -np.inf

        flat = h.reshape(n * n_psi, n_weights, -1)
        self._fill_chunks(np.repeat(subject_indices, n_psi), flat[:, 0, :q], fill)
        return found.reshape(n, n_psi, n_weights)

    def derivatives(
        self, subject_indices: IntVector, h: Matrix, with_shape_slopes: bool = True
    ) -> Derivatives:
        """Log-likelihoods, gradients, expected informations."""
        q, p = self.coordinates.n_shape, len(self.coordinates)
        n, n_psi, n_weights, _ = h.shape
        value = np.empty((n * n_psi, n_weights))
        gradient, information = np.empty((*value.shape, p)), np.empty((*value.shape, p, p))
        flat = h.reshape(n * n_psi, n_weights, p)

        def fill(part: slice, pairs: IntVector, psi: Matrix) -> None:
            found = self._chunk_derivatives(pairs, psi, flat[part], with_shape_slopes)
            value[part], gradient[part], information[part] = found

        self._fill_chunks(np.repeat(subject_indices, n_psi), flat[:, 0, :q], fill)
        shape = n, n_psi, n_weights
        return Derivatives(
            value.reshape(shape),
            gradient.reshape(*shape, p),
            information.reshape(*shape, p, p),
        )

    def _chunk_derivatives(
        self, pairs: IntVector, psi: Matrix, h: Matrix, with_shape_slopes: bool
    ) -> tuple[Matrix, Matrix, Matrix]:
        q, p = self.coordinates.n_shape, len(self.coordinates)
        n, n_weights, _ = h.shape
        d = self.coordinates.n_weights
        theta, theta_slopes = self.coordinates.theta_and_slopes(h[..., q:])
        x, rows, slopes, undefined = self._cached_attributes_with_slopes(
            pairs, psi, with_shape_slopes
        )
        value = np.empty((n, n_weights))
        on_theta, theta_information = np.empty((*value.shape, d)), np.empty((*value.shape, d, d))
        compiled.weight_moments(
            _fixed_choice_table(x, rows),
            (rows.order, rows.bounds),
            theta,
            value,
            on_theta,
            theta_information,
        )
        gradient, information = np.zeros((*value.shape, p)), np.zeros((*value.shape, p, p))
        gradient[..., q:] = np.einsum("kta,ktab->ktb", on_theta, theta_slopes)
        information[..., q:, q:] = (
            np.swapaxes(theta_slopes, -1, -2) @ theta_information @ theta_slopes
        )
        if q and slopes is not None:
            many = rows if n_weights == 1 else rows.only(np.repeat(np.arange(n), n_weights))
            flat = np.ascontiguousarray(theta.reshape(n * n_weights, d))
            size = len(flat)
            on_psi = np.empty((size, q))
            of_psi = np.empty((size, d, q)), np.empty((size, d, q)), np.empty((size, q, q))
            curvature = *of_psi, np.empty((size, d, d))
            profile_kernels.psi_derivatives(x, slopes, many.counted, flat, on_psi, curvature)
            order = self.coordinates.shape_order()
            psi_slopes = self.coordinates.psi(h[:, 0, :q])[1]
            psi_slopes = np.repeat(psi_slopes, n_weights, axis=0)[:, order]
            shape = n, n_weights
            gradient[..., :q] = (on_psi[:, order] * psi_slopes).reshape(*shape, q)
            mixed = (curvature[1][:, :, order] * psi_slopes[:, None]).reshape(*shape, d, q)
            information[..., q:, :q] = np.swapaxes(theta_slopes, -1, -2) @ mixed
            information[..., :q, q:] = np.swapaxes(information[..., q:, :q], -1, -2)
            fisher = (
                curvature[2][:, order][:, :, order] * psi_slopes[:, None] * psi_slopes[:, :, None]
            )
            information[..., :q, :q] = fisher.reshape(*shape, q, q)
        value[undefined], gradient[undefined], information[undefined] = -np.inf, 0.0, 0.0
        return value, gradient, information

    def _attributes_and_undefined_pairs(
        self, pairs: IntVector, psi: Matrix
    ) -> tuple[Matrix, DecisionIndex, BoolVector]:
        """Attributes, their decision index, and pairs at whose psi the model is undefined.

        Undefined pairs have likelihood 0: the population is a normal distribution truncated there.
        """
        x, _ = self.profiles.variables(pairs, psi, False)
        rows = self.profiles.rows(pairs)
        undefined = self.profiles.outside_domain(x, None, pairs)
        self.profiles.check_finite(x, rows)
        return x, rows, undefined

    def _cached_attributes_with_slopes(
        self, pairs: IntVector, psi: Matrix, with_shape_slopes: bool
    ) -> tuple[Matrix, DecisionIndex, Matrix | None, BoolVector]:
        """Attributes with derivatives, from a small cache of the last chunks."""
        key = bytes([with_shape_slopes]) + pairs.tobytes() + psi.tobytes()
        cached = self._cache.get(key)
        if cached is None:
            wanted = with_shape_slopes and self.coordinates.n_shape > 0
            x, slopes = self.profiles.variables(pairs, psi, wanted)
            rows = self.profiles.rows(pairs)
            undefined = self.profiles.outside_domain(x, slopes, pairs)
            self.profiles.check_finite(x, rows)
            cached = (x, rows, slopes, undefined)
            if len(self._cache) >= MAX_CACHED_CHUNKS:
                # All of them: a search asks for its chunks in turn, so the oldest is needed next.
                self._cache.clear()
            self._cache[key] = cached
        return cached

    def _fill_chunks(
        self, pairs: IntVector, h_psi: Matrix, fill: Callable[[slice, IntVector, Matrix], None]
    ) -> None:
        psi, _ = self.coordinates.psi(h_psi)
        events = np.diff(self.profiles.first_event)[pairs]
        size = events * self.profiles.n_options * max(self.coordinates.n_weights, 1)
        parts = list(chunk_slices(size, self.threads))

        def fill_chunk(part: slice) -> None:
            fill(part, np.ascontiguousarray(pairs[part]), np.ascontiguousarray(psi[part]))

        run_chunks(fill_chunk, parts, self.threads)


@dataclass(frozen=True, eq=False)
class ChoiceLikelihoods:
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
        """Labels of the subjects."""
        return tuple(self.choices.subject_labels or ())

    @cached_property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        return np.diff(self._decisions_by_subject[1])

    @cached_property
    def typical_range(self) -> TypicalRange:
        """Typical ranges by each attribute's root mean square within choice sets."""
        x, first_row, *_ = self._choice_table
        sizes = np.diff(first_row)
        means = np.add.reduceat(x, first_row[:-1], axis=0) / sizes[:, None]
        away = x - np.repeat(means, sizes, axis=0)
        return typical_ranges(self.coordinates, np.sqrt((away**2).mean(axis=0)))

    @cached_property
    def _choice_table(self) -> tuple[Any, ...]:
        c = self.choices
        x, first_row, chosen = c.explanatory, c.first_row, c.chosen
        offset = EMPTY if c.offset is None else c.offset
        if c.available is not None:
            before = np.concatenate([[0], np.cumsum(c.available)])
            chosen = before[c.chosen_row] - before[first_row[:-1]]
            x, first_row = x[c.available], before[first_row]
            offset = offset[c.available] if len(offset) else EMPTY
        counts = EMPTY if c.weights is None else np.asarray(c.weights, dtype=np.float64)
        arrays = (np.array(x), np.array(first_row), np.array(chosen), np.array(offset))
        return (*arrays, np.array(counts))

    @cached_property
    def _decisions_by_subject(self) -> tuple[IntVector, IntVector]:
        assert self.choices.subject is not None
        # A stable sort keeps each subject's decisions in order: sums, and so results, are
        # the same to the last bit however subjects are interleaved in the data.
        order = np.argsort(self.choices.subject, kind="stable")
        counts = np.bincount(self.choices.subject, minlength=len(self.subjects))
        return order, np.concatenate([[0], np.cumsum(counts)])

    def log_likelihoods(self, subject_indices: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        n, n_psi, n_weights, p = h.shape
        theta = self.coordinates.theta(h.reshape(n, n_psi * n_weights, p))
        found = np.empty((n, n_psi * n_weights))
        self._fill_chunks(
            subject_indices,
            lambda part, pairs: compiled.log_likelihoods(
                self._choice_table, pairs, np.ascontiguousarray(theta[part]), found[part]
            ),
        )
        return found.reshape(n, n_psi, n_weights)

    def derivatives(
        self, subject_indices: IntVector, h: Matrix, with_shape_slopes: bool = True
    ) -> Derivatives:
        """Log-likelihoods, gradients, expected informations."""
        n, n_psi, n_weights, p = h.shape
        theta, theta_slopes = self.coordinates.theta_and_slopes(h.reshape(n, n_psi * n_weights, p))
        value = np.empty((n, n_psi * n_weights))
        on_theta, theta_information = np.empty((*value.shape, p)), np.empty((*value.shape, p, p))
        self._fill_chunks(
            subject_indices,
            lambda part, pairs: compiled.weight_moments(
                self._choice_table,
                pairs,
                np.ascontiguousarray(theta[part]),
                value[part],
                on_theta[part],
                theta_information[part],
            ),
        )
        gradient = np.einsum("kta,ktab->ktb", on_theta, theta_slopes)
        information = np.swapaxes(theta_slopes, -1, -2) @ theta_information @ theta_slopes
        shape = n, n_psi, n_weights
        return Derivatives(
            value.reshape(shape), gradient.reshape(*shape, p), information.reshape(*shape, p, p)
        )

    def _fill_chunks(
        self, subject_indices: IntVector, fill: Callable[[slice, tuple[IntVector, IntVector]], None]
    ) -> None:
        order, bounds = self._decisions_by_subject
        lengths = np.diff(bounds)[subject_indices]
        ends = np.concatenate([[0], np.cumsum(lengths)])

        def fill_chunk(part: slice) -> None:
            own_rows = [order[bounds[s] : bounds[s + 1]] for s in subject_indices[part]]
            own = ends[part.start : part.stop + 1] - ends[part.start]
            fill(part, (np.concatenate(own_rows) if own_rows else order[:0], own))

        run_chunks(
            fill_chunk,
            list(chunk_slices(lengths * self.choices.n_parameters, self.threads)),
            self.threads,
        )


@dataclass(frozen=True, eq=False)
class ConditionLikelihoods:
    """Log-likelihoods of subjects under several conditions: the sum over conditions.

    Attributes
    ----------
    base
        A unit for every subject and condition.
    unit
        Which unit (n_subjects, n_conditions); -1 where a subject was not seen in a condition.
    maps
        (n_conditions, p of the base, p): coordinates in a condition from those of the subject.
    coordinates, subjects
        As `SubjectLikelihoods` has them.
    """

    base: EpisodeLikelihoods
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
    def typical_range(self) -> TypicalRange:
        """Typical ranges of the base; differences between conditions are about 0."""
        own = self.base.typical_range
        middle = self.maps.mean(axis=0)
        centre = np.where(np.abs(middle).sum(axis=0) > 1e-9, own.centre @ middle, 0.0)
        return TypicalRange(centre, own.sd @ np.abs(self.maps).max(axis=0))

    def log_likelihoods(self, subject_indices: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        found = np.zeros(h.shape[:3])
        for c, to_condition in enumerate(self.maps):
            unit = self.unit[subject_indices, c]
            seen = unit >= 0
            found[seen] += self.base.log_likelihoods(unit[seen], h[seen] @ to_condition.T)
        return found

    def derivatives(
        self, subject_indices: IntVector, h: Matrix, with_shape_slopes: bool = True
    ) -> Derivatives:
        """Log-likelihoods, gradients, expected informations."""
        p = h.shape[-1]
        value, gradient = np.zeros(h.shape[:3]), np.zeros(h.shape)
        information = np.zeros((*h.shape, p))
        for c, to_condition in enumerate(self.maps):
            unit = self.unit[subject_indices, c]
            seen = unit >= 0
            found = self.base.derivatives(unit[seen], h[seen] @ to_condition.T, with_shape_slopes)
            value[seen] += found.value
            gradient[seen] += found.gradient @ to_condition
            information[seen] += to_condition.T @ found.information @ to_condition
        return Derivatives(value, gradient, information)


def chunk_slices(size: Vector, threads: int) -> Iterator[slice]:
    """Slices of pairs whose attributes fit into memory together, at least one per thread."""
    if not len(size):
        return
    total = np.cumsum(size)
    chunk_size = min(MAX_CHUNK_NUMBERS, max(total[-1] // max(threads, 1), 1))
    portion = (total - size) // chunk_size
    edges = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [len(size)]])
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(begin, end)


def run_chunks(fill_chunk: Callable[[slice], None], parts: Sequence[slice], threads: int) -> None:
    """Fill all chunks, in threads where there are several of both."""
    if threads == 1 or len(parts) == 1:
        for part in parts:
            fill_chunk(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill_chunk, parts))


def _fixed_choice_table(x: Matrix, rows: DecisionIndex) -> tuple[Any, ...]:
    """Attributes in the layout of the compiled loops: fixed choice sets, no offset or weights."""
    n_events, m, d = x.shape
    first_row = np.arange(n_events + 1) * m
    return x.reshape(n_events * m, d), first_row, rows.chosen, EMPTY, EMPTY


def typical_ranges(coordinates: Coordinates, size: Vector) -> TypicalRange:
    """Typical ranges: of weights by their attributes' root mean squares, of shapes by bounds."""
    # An attribute that never varies says nothing of its weight: 1 instead of a division by 0.
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
    return TypicalRange(centre, sd)
