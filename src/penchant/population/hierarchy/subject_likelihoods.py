"""Log-likelihoods of subjects at nodes of their coordinates, with derivatives.

Episodes, offers and choices have one interface: `log_likelihoods` at nodes, and `derivatives` where
a search needs them; both are computed in chunks that fit into memory, and in threads. Coordinates
are the parameters on scales without limits (`models.coordinates`).

Nodes h have shape (n, K, L, p): K values of the shape parameters for each subject, and
L of the weights for each of these, so that a model is asked for its variables K times, not K L.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from penchant._typing import BoolVector, IntVector, Label, Matrix, Vector
from penchant.choices import Choices
from penchant.inference.profile import _inner_problem_kernels as profile_kernels
from penchant.inference.profile.inner_problems import DecisionIndex, concatenate_ranges
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.models.coordinates import Coordinates
from penchant.softmax.fit_each import (
    Grouping,
    LogLikelihoodDerivatives,
    group_log_likelihood_derivatives,
    kernel_table_of_array,
)
from penchant.softmax.likelihood import map_threads, read_only_kernel_table

MAX_CHUNK_NUMBERS = 1_000_000  # 8 MB of attributes: larger chunks fall out of the cache
MAX_CACHED_CHUNKS = 8  # bounds memory; searches in the weights alone reuse the same few chunks


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
    def subjects(self) -> tuple[Label, ...]:
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
    ) -> LogLikelihoodDerivatives:
        """Log-likelihoods with derivatives; 0 in shape parameters unless `with_shape_slopes`."""


class AttributeSlopes(NamedTuple):
    """Attributes of pairs of a subject and a psi, and how they change with psi.

    Attributes
    ----------
    attributes, slopes
        (n_events, n_options, d), and their derivatives in psi.
    decisions
        Index of the decisions of the pairs.
    """

    attributes: Matrix
    slopes: Matrix
    decisions: DecisionIndex


class PsiDerivatives(NamedTuple):
    """Derivatives of log-likelihoods in the coordinates of psi, at weights (n, L).

    Attributes
    ----------
    gradient
        (n, L, q).
    mixed_information, information
        Expected information of theta and psi (n, L, d, q), and of psi (n, L, q, q).
    """

    gradient: Matrix
    mixed_information: Matrix
    information: Matrix


class SubjectPsiDecisions(NamedTuple):
    """Options and scored decisions of pairs of a subject and a psi.

    Attributes
    ----------
    compiled_arrays
        Arrays that the compiled loops take: attributes, and how they make up choice sets.
    scored
        Decisions that are scored, and where those of each pair begin.
    undefined
        Pairs at whose psi the model is undefined. They have likelihood 0: the population is a
        normal distribution truncated there.
    attribute_slopes
        Attributes and their derivatives in psi; None without shape parameters.
    """

    compiled_arrays: tuple[Any, ...]
    scored: Grouping
    undefined: BoolVector
    attribute_slopes: AttributeSlopes | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class LogitLikelihoods:
    """Log-likelihoods of subjects whose choices are softmax in options' attributes.

    What differs between data is where attributes come from: `decisions_of_pairs`.

    Attributes
    ----------
    coordinates
        Coordinates of subjects: of shape parameters first, then of weights.
    threads
        Processors to use.
    """

    coordinates: Coordinates
    threads: int = 1
    _cache: dict[bytes, SubjectPsiDecisions] = field(default_factory=dict, repr=False)

    def decisions_of_pairs(
        self, pairs: IntVector, psi: Matrix, with_shape_slopes: bool
    ) -> SubjectPsiDecisions:
        """Options and decisions of pairs of a subject and a psi."""
        raise NotImplementedError

    def n_attribute_values(self, pairs: IntVector) -> IntVector:
        """Numbers that the attributes of each pair take."""
        raise NotImplementedError

    def log_likelihoods(self, subject_indices: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        q = self.coordinates.n_shape
        flat = h.reshape(-1, *h.shape[2:])
        found = np.empty(flat.shape[:2])

        def fill(part: slice, pairs: IntVector, psi: Matrix) -> None:
            own = self.decisions_of_pairs(pairs, psi, False)
            theta = self.coordinates.theta(flat[part, :, q:])
            found[part] = group_log_likelihood_derivatives(
                own.compiled_arrays, own.scored, theta
            ).value
            found[part][own.undefined] = -np.inf

        self._evaluate_in_chunks(np.repeat(subject_indices, h.shape[1]), flat[:, 0, :q], fill)
        return found.reshape(h.shape[:3])

    def derivatives(
        self, subject_indices: IntVector, h: Matrix, with_shape_slopes: bool = True
    ) -> LogLikelihoodDerivatives:
        """Log-likelihoods, gradients, expected informations."""
        q, p = self.coordinates.n_shape, len(self.coordinates)
        flat = h.reshape(-1, *h.shape[2:])
        value = np.empty(flat.shape[:2])
        gradient, information = np.zeros((*value.shape, p)), np.zeros((*value.shape, p, p))

        def fill(part: slice, pairs: IntVector, psi: Matrix) -> None:
            own = self._cached_decisions(pairs, psi, with_shape_slopes and q > 0)
            found = LogLikelihoodDerivatives(value[part], gradient[part], information[part])
            self._fill_derivatives(own, flat[part], found)

        self._evaluate_in_chunks(np.repeat(subject_indices, h.shape[1]), flat[:, 0, :q], fill)
        shape = h.shape[:3]
        return LogLikelihoodDerivatives(
            value.reshape(shape), gradient.reshape(*shape, p), information.reshape(*shape, p, p)
        )

    def _fill_derivatives(
        self, pair_decisions: SubjectPsiDecisions, h: Matrix, found: LogLikelihoodDerivatives
    ) -> None:
        """Derivatives at coordinates h (n, n_weights, p), by the chain rule from theta and psi."""
        q = self.coordinates.n_shape
        value, gradient, information = found
        theta, theta_slopes = self.coordinates.theta_and_slopes(h[..., q:])
        value[:], on_theta, theta_information = group_log_likelihood_derivatives(
            pair_decisions.compiled_arrays, pair_decisions.scored, theta
        )
        turned_slopes = np.swapaxes(theta_slopes, -1, -2)
        gradient[..., q:] = np.einsum("kta,ktab->ktb", on_theta, theta_slopes)
        information[..., q:, q:] = turned_slopes @ theta_information @ theta_slopes
        if pair_decisions.attribute_slopes is not None:
            on_psi = self._psi_derivatives(pair_decisions.attribute_slopes, h, theta)
            gradient[..., :q] = on_psi.gradient
            information[..., q:, :q] = turned_slopes @ on_psi.mixed_information
            information[..., :q, q:] = np.swapaxes(information[..., q:, :q], -1, -2)
            information[..., :q, :q] = on_psi.information
        value[pair_decisions.undefined], gradient[pair_decisions.undefined] = -np.inf, 0.0
        information[pair_decisions.undefined] = 0.0

    def _psi_derivatives(
        self, attribute_slopes: AttributeSlopes, h: Matrix, theta: Matrix
    ) -> PsiDerivatives:
        x, slopes, rows = attribute_slopes
        n, n_weights, d = theta.shape
        q, size = self.coordinates.n_shape, n * n_weights
        many = rows if n_weights == 1 else rows.select_pairs(np.repeat(np.arange(n), n_weights))
        on_psi = np.empty((size, q))
        cross, mixed = np.empty((size, d, q)), np.empty((size, d, q))
        fisher, on_weights = np.empty((size, q, q)), np.empty((size, d, d))
        profile_kernels.psi_derivatives(
            x,
            slopes,
            many.to_scored_decisions,
            theta.reshape(size, d),
            on_psi,
            (cross, mixed, fisher, on_weights),
        )
        # Shape parameters are in the order of the model, coordinates in their own.
        order = self.coordinates.shape_order()
        psi_slopes = np.repeat(self.coordinates.psi(h[:, 0, :q])[1], n_weights, axis=0)[:, order]
        fisher = fisher[:, order][:, :, order] * psi_slopes[:, None] * psi_slopes[:, :, None]
        return PsiDerivatives(
            (on_psi[:, order] * psi_slopes).reshape(n, n_weights, q),
            (mixed[:, :, order] * psi_slopes[:, None]).reshape(n, n_weights, d, q),
            fisher.reshape(n, n_weights, q, q),
        )

    def _cached_decisions(
        self, pairs: IntVector, psi: Matrix, with_shape_slopes: bool
    ) -> SubjectPsiDecisions:
        """Decisions of pairs from a small cache: searches in the weights alone repeat them."""
        key = bytes([with_shape_slopes]) + pairs.tobytes() + psi.tobytes()
        cached = self._cache.get(key)
        if cached is None:
            cached = self.decisions_of_pairs(pairs, psi, with_shape_slopes)
            if len(self._cache) >= MAX_CACHED_CHUNKS:
                # All of them: a search asks for its chunks in turn, so the oldest is needed next.
                self._cache.clear()
            self._cache[key] = cached
        return cached

    def _evaluate_in_chunks(
        self, pairs: IntVector, h_psi: Matrix, fill: Callable[[slice, IntVector, Matrix], None]
    ) -> None:
        psi, _ = self.coordinates.psi(h_psi)
        parts = list(chunk_slices(self.n_attribute_values(pairs), self.threads))

        def fill_chunk(part: slice) -> None:
            fill(part, np.ascontiguousarray(pairs[part]), np.ascontiguousarray(psi[part]))

        map_threads(fill_chunk, parts, self.threads)


@dataclass(frozen=True, eq=False)
class EpisodeLikelihoods(LogitLikelihoods):
    """Episodes or offers of many subjects, explained by a model.

    Attributes
    ----------
    profiles
        The episodes of each subject.
    subjects
        Their labels.
    """

    profiles: ProfileProblems
    subjects: tuple[Label, ...]

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
            profiles.zero_outside_domain(x, None, own_rows)
            scored = x[profiles.decision_index(own_rows).order]
            squares += (scored - scored.mean(axis=1, keepdims=True)).var(axis=1).sum(axis=0)
            count += len(scored)
        return typical_ranges(self.coordinates, np.sqrt(squares / max(count, 1)))

    def decisions_of_pairs(
        self, pairs: IntVector, psi: Matrix, with_shape_slopes: bool
    ) -> SubjectPsiDecisions:
        """Options and decisions of pairs, whose attributes are computed at psi."""
        x, slopes = self.profiles.variables(pairs, psi, with_shape_slopes)
        rows = self.profiles.decision_index(pairs)
        undefined = self.profiles.zero_outside_domain(x, slopes, pairs)
        self.profiles.check_finite(x, rows)
        table = kernel_table_of_array(x, rows.chosen)
        if self.profiles.record.choice_sets is not None:
            table = self._without_duplicate_options(x, pairs, rows.chosen)
        attribute_slopes = None if slopes is None else AttributeSlopes(x, slopes, rows)
        return SubjectPsiDecisions(table, rows.grouping, undefined, attribute_slopes)

    def _without_duplicate_options(
        self, x: Matrix, pairs: IntVector, chosen: IntVector
    ) -> tuple[Any, ...]:
        """The table of decisions whose options stand once each; chosen are columns of x."""
        m, d = x.shape[1:]
        copies = self.profiles.record.n_copies[concatenate_ranges(self.profiles.first_event, pairs)]
        first: BoolVector = np.arange(m) % copies[:, None] == 0
        first_row = np.concatenate([[0], np.cumsum(m // copies)])
        own = np.where(chosen < 0, chosen, chosen // copies)
        return read_only_kernel_table(x[first].reshape(-1, d), None, None, first_row, own, None)

    def n_attribute_values(self, pairs: IntVector) -> IntVector:
        """Numbers that the attributes of each pair take."""
        events = np.diff(self.profiles.first_event)[pairs]
        return np.asarray(events * self.profiles.n_options * max(self.coordinates.n_weights, 1))


@dataclass(frozen=True, eq=False)
class ChoiceLikelihoods(LogitLikelihoods):
    """Choices of many subjects among options described by variables.

    Attributes
    ----------
    choices
        With a subject of each decision.
    """

    choices: Choices

    @property
    def subjects(self) -> tuple[Label, ...]:
        """Labels of the subjects."""
        return tuple(self.choices.subject_labels or ())

    @cached_property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        return np.asarray(np.diff(self._decisions_by_subject.bounds))

    @cached_property
    def typical_range(self) -> TypicalRange:
        """Typical ranges by each attribute's root mean square within choice sets."""
        x, _, _, first_row, *_ = self._choice_table
        sizes = np.diff(first_row)
        means = np.add.reduceat(x, first_row[:-1], axis=0) / sizes[:, None]
        away = x - np.repeat(means, sizes, axis=0)
        return typical_ranges(self.coordinates, np.sqrt((away**2).mean(axis=0)))

    @cached_property
    def _choice_table(self) -> tuple[Any, ...]:
        c = self.choices
        x, first_row, chosen = c.explanatory, c.first_row, c.chosen
        offset = c.offset
        if c.available is not None:
            before = np.concatenate([[0], np.cumsum(c.available)])
            chosen = before[c.chosen_row] - before[first_row[:-1]]
            x, first_row = x[c.available], before[first_row]
            offset = None if offset is None else offset[c.available]
        return read_only_kernel_table(x, offset, None, first_row, chosen, c.weights)

    @cached_property
    def _decisions_by_subject(self) -> Grouping:
        assert self.choices.subject is not None
        # A stable sort keeps each subject's decisions in order: sums, and so results, are
        # the same to the last bit however subjects are interleaved in the data.
        order = np.argsort(self.choices.subject, kind="stable")
        counts = np.bincount(self.choices.subject, minlength=len(self.subjects))
        return Grouping(order, np.concatenate([[0], np.cumsum(counts)]))

    def decisions_of_pairs(
        self, pairs: IntVector, psi: Matrix, with_shape_slopes: bool
    ) -> SubjectPsiDecisions:
        """Options and decisions of subjects: there is no psi on which they could depend."""
        own_bounds = np.concatenate([[0], np.cumsum(self.n_decisions[pairs])])
        order = self._decisions_by_subject.order[
            concatenate_ranges(self._decisions_by_subject.bounds, pairs)
        ]
        scored = Grouping(order, own_bounds)
        return SubjectPsiDecisions(self._choice_table, scored, np.zeros(len(pairs), dtype=bool))

    def n_attribute_values(self, pairs: IntVector) -> IntVector:
        """Numbers that the attributes of each pair take, counting one option per decision."""
        return np.asarray(self.n_decisions[pairs] * self.choices.n_parameters)


@dataclass(frozen=True, eq=False)
class ConditionLikelihoods:
    """Log-likelihoods of subjects under several conditions: the sum over conditions.

    Attributes
    ----------
    unit_likelihoods
        A unit for every subject and condition.
    unit_indices
        Which unit (n_subjects, n_conditions); -1 where a subject was not seen in a condition.
    coordinate_maps
        (n_conditions, p of the base, p): coordinates in a condition from those of the subject.
    coordinates, subjects
        As `SubjectLikelihoods` has them.
    """

    unit_likelihoods: EpisodeLikelihoods
    unit_indices: IntVector
    coordinate_maps: Matrix
    coordinates: Coordinates
    subjects: tuple[Label, ...]

    @property
    def n_decisions(self) -> IntVector:
        """Decisions of each subject."""
        own = np.append(self.unit_likelihoods.n_decisions, 0)
        return np.asarray(own[self.unit_indices].sum(axis=1))

    @property
    def typical_range(self) -> TypicalRange:
        """Typical ranges of the base; differences between conditions are about 0."""
        own = self.unit_likelihoods.typical_range
        middle = self.coordinate_maps.mean(axis=0)
        centre = np.where(np.abs(middle).sum(axis=0) > 1e-9, own.centre @ middle, 0.0)
        return TypicalRange(centre, own.sd @ np.abs(self.coordinate_maps).max(axis=0))

    def log_likelihoods(self, subject_indices: IntVector, h: Matrix) -> Matrix:
        """Log-likelihoods (n, K, L)."""
        found = np.zeros(h.shape[:3])
        for c, to_condition in enumerate(self.coordinate_maps):
            unit = self.unit_indices[subject_indices, c]
            seen = unit >= 0
            found[seen] += self.unit_likelihoods.log_likelihoods(
                unit[seen], h[seen] @ to_condition.T
            )
        return found

    def derivatives(
        self, subject_indices: IntVector, h: Matrix, with_shape_slopes: bool = True
    ) -> LogLikelihoodDerivatives:
        """Log-likelihoods, gradients, expected informations."""
        p = h.shape[-1]
        value, gradient = np.zeros(h.shape[:3]), np.zeros(h.shape)
        information = np.zeros((*h.shape, p))
        for c, to_condition in enumerate(self.coordinate_maps):
            unit = self.unit_indices[subject_indices, c]
            seen = unit >= 0
            found = self.unit_likelihoods.derivatives(
                unit[seen], h[seen] @ to_condition.T, with_shape_slopes
            )
            value[seen] += found.value
            gradient[seen] += found.gradient @ to_condition
            information[seen] += to_condition.T @ found.information @ to_condition
        return LogLikelihoodDerivatives(value, gradient, information)


def chunk_slices(size: IntVector, threads: int) -> Iterator[slice]:
    """Slices of pairs whose attributes fit into memory together, at least one per thread."""
    if not len(size):
        return
    total = np.cumsum(size)
    chunk_size = min(MAX_CHUNK_NUMBERS, max(total[-1] // max(threads, 1), 1))
    portion = (total - size) // chunk_size
    edges = np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [len(size)]])
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(begin, end)


def typical_ranges(coordinates: Coordinates, attribute_rms: Vector) -> TypicalRange:
    """Typical ranges: of weights by their attributes' root mean squares, of shapes by bounds."""
    # An attribute that never varies says nothing of its weight: 1 instead of a division by 0.
    attribute_rms = np.where(attribute_rms > 0, attribute_rms, 1.0)
    centre, sd = np.zeros(len(coordinates)), np.full(len(coordinates), 1.5)
    for a, c in enumerate(coordinates.each):
        natural = c.natural
        if natural.is_shape:
            shape = coordinates.shape[natural.index]
            if c.link.name == "log":
                ends = c.link.inverse(natural.of_psi(np.array([shape.low, shape.high])))
                centre[a], sd[a] = ends.mean(), max(float(np.ptp(ends)) / 5, 1.0)
            continue
        unit = natural.typical_size(attribute_rms)
        if c.link.name == "identity":
            sd[a] = 2.0 * unit
        elif c.link.name != "logit":
            centre[a] = np.log(unit)
    return TypicalRange(centre, sd)
