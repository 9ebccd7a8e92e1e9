"""Likelihood of decisions that are read chunk by chunk, as they do not fit in memory.

Each theta costs one pass over the data: work is mapped over the chunks, by whatever engine runs
them, and its results are reduced. Every sum is added in the order of chunks, so that it has the
same bits for any engine and number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.choices import Choices
from penchant.choices.scan_protocols import Chunks
from penchant.result_tables import format_count
from penchant.softmax.identification import integer_variables, total_rows
from penchant.softmax.likelihood import (
    Moments,
    likelihood_of,
)
from penchant.softmax.maximum_and_covariance import inverse_and_condition
from penchant.softmax.newton import maximise
from penchant.softmax.newton_without_cancellation import StableChoiceLikelihood, StableMoments

T = TypeVar("T")
Transform = Callable[[Choices], Choices]
# Newton steps of a chunk's own fit, which only serves as a start. An ordinary fit takes fewer; more
# mean that the chunk is separated, and its theta would be a bad start.
MAX_CHUNK_STEPS = 12
# Of a chunk's information: beyond, half the digits of its theta are lost, and it is no start.
MAX_CHUNK_CONDITION = 1e8


@dataclass(frozen=True)
class TransformedWork:
    """Work on a chunk after some transforms of it."""

    work: Callable[[Choices], Any]
    transforms: tuple[Transform, ...]

    def __call__(self, choices: Choices) -> Any:
        """Transform the chunk, then work on it."""
        for transform in self.transforms:
            choices = transform(choices)
        return self.work(choices)


@dataclass(frozen=True)
class ChunkMapper:
    """Map work over chunks after lazy transforms, and count the passes."""

    chunks: Chunks
    transforms: tuple[Transform, ...] = ()
    pass_descriptions: list[str] = field(default_factory=list)

    @property
    def n_passes(self) -> int:
        """Number of passes over all chunks."""
        return len(self.pass_descriptions)

    def map_chunks(self, work: Callable[[Choices], T], description: str) -> Iterator[T]:
        """Results of the work on each chunk, in their order; `description` is shown as progress."""
        # the first pass has checked all chunks; checking them again would find nothing
        validated = bool(self.pass_descriptions)
        self.pass_descriptions.append(description)
        words = f"Pass {self.n_passes}: {description}"
        return self.chunks.map_chunks(
            TransformedWork(work, self.transforms) if self.transforms else work, words, validated
        )

    def with_transform(self, transform: Transform) -> ChunkMapper:
        """Reducer with one more transform."""
        return replace(self, transforms=(*self.transforms, transform))


@dataclass(frozen=True)
class ChunkSummary:
    """Summary of the choices of one or more chunks, from a first pass.

    Attributes
    ----------
    within_set_mean_square, total_rows
        Within-set mean square of the variables, and the number of rows it is the mean of.
    weight_by_set_size
        Weight of decisions with 0, 1, 2 ... options on offer.
    weight_over_largest
        Sum of weights, in units of the largest.
    information_times_maximum, information
        Information at the maximum of these choices, times the maximum; and alone. 0 without one.
    """

    n_decisions: int
    n_rows: int
    n_options: tuple[int, int]
    n_single_option_decisions: int
    n_without_weight: int
    total_weight: float
    largest_weight: float
    weight_over_largest: float
    weight_by_set_size: Vector
    largest_values_by_variable: Matrix
    is_integer_variable: BoolVector
    within_set_mean_square: Matrix
    total_rows: float
    moments_at_zero: Moments
    information_times_maximum: Vector
    information: Matrix
    largest_offset: float | None
    subjects: frozenset[Any]
    weighted: bool

    def __add__(self, other: ChunkSummary) -> ChunkSummary:
        """Summary of both."""
        # weights of either side are relative to its largest one: rescale to the common largest
        largest = max(self.largest_weight, other.largest_weight)
        rows = self.total_rows + other.total_rows
        share = other.total_rows / rows if rows > 0 else 0.0
        sizes = np.zeros(max(len(self.weight_by_set_size), len(other.weight_by_set_size)))
        sizes[: len(self.weight_by_set_size)] += self.weight_by_set_size
        sizes[: len(other.weight_by_set_size)] += other.weight_by_set_size
        offsets = [x for x in (self.largest_offset, other.largest_offset) if x is not None]
        return ChunkSummary(
            n_decisions=self.n_decisions + other.n_decisions,
            n_rows=self.n_rows + other.n_rows,
            n_options=(
                min(self.n_options[0], other.n_options[0]),
                max(self.n_options[1], other.n_options[1]),
            ),
            n_single_option_decisions=self.n_single_option_decisions
            + other.n_single_option_decisions,
            n_without_weight=self.n_without_weight + other.n_without_weight,
            total_weight=self.total_weight + other.total_weight,
            largest_weight=largest,
            weight_over_largest=0.0
            if largest == 0
            else self.weight_over_largest * (self.largest_weight / largest)
            + other.weight_over_largest * (other.largest_weight / largest),
            weight_by_set_size=sizes,
            largest_values_by_variable=np.maximum(
                self.largest_values_by_variable, other.largest_values_by_variable
            ),
            is_integer_variable=self.is_integer_variable & other.is_integer_variable,
            # running mean: a sum of squares over billions of rows would lose digits
            within_set_mean_square=self.within_set_mean_square
            + share * (other.within_set_mean_square - self.within_set_mean_square),
            total_rows=rows,
            moments_at_zero=merge_moments(self.moments_at_zero, other.moments_at_zero),
            information_times_maximum=self.information_times_maximum
            + other.information_times_maximum,
            information=self.information + other.information,
            largest_offset=max(offsets) if offsets else None,
            subjects=self.subjects | other.subjects,
            weighted=self.weighted or other.weighted,
        )

    @property
    def start(self) -> Vector | None:
        """Mean of the chunks' own maxima, each weighted by its information; a good start."""
        # the chunks' quadratic approximations add up, and their maximum needs no pass over the data
        inverse, condition = inverse_and_condition(self.information)
        if not condition < MAX_CHUNK_CONDITION:
            return None
        return np.asarray(inverse @ self.information_times_maximum)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about decisions that do not contribute."""
        said = []
        if self.n_single_option_decisions:
            said.append(
                f"{format_count(self.n_single_option_decisions, 'decision')} with a single option: "
                "uninformative."
            )
        if self.n_without_weight:
            words = format_count(self.n_without_weight, "decision")
            said.append(f"{words} with weight 0: not counted.")
        return tuple(said)


def merge_moments(one: Moments, other: Moments) -> Moments:
    """Add the moments of two sets of decisions."""
    return Moments(
        one.log_likelihood + other.log_likelihood,
        one.gradient + other.gradient,
        one.information + other.information,
    )


def summarize_choices(choices: Choices, with_start: bool = True) -> ChunkSummary:
    """Summarize choices; `with_start`: with a maximum of their own if they have a good one."""
    likelihood = likelihood_of(choices, 1)  # one thread: engines run chunks side by side
    d, sizes, weights = choices.n_parameters, choices.n_options, choices.weights
    pull, information = np.zeros(d), np.zeros((d, d))
    if with_start:
        found = maximise(likelihood, max_steps=MAX_CHUNK_STEPS)
        if (
            found.ending == "converged"
            and inverse_and_condition(found.information)[1] < MAX_CHUNK_CONDITION
        ):
            pull, information = found.information @ found.theta, found.information
    largest = 1.0 if weights is None else float(weights.max())
    relative = 0.0
    if weights is None:
        relative = float(choices.n_decisions)
    elif largest > 0:
        relative = float((weights / largest).sum())
    differences = likelihood.largest_values_and_differences[1]
    labels = choices.subject_labels
    return ChunkSummary(
        n_decisions=choices.n_decisions,
        n_rows=choices.n_rows,
        n_options=(int(sizes.min()), int(sizes.max())),
        n_single_option_decisions=int((sizes == 1).sum()),
        n_without_weight=0 if weights is None else int((weights == 0).sum()),
        total_weight=choices.total_weight,
        largest_weight=largest,
        weight_over_largest=relative,
        weight_by_set_size=np.bincount(sizes, weights).astype(np.float64),
        largest_values_by_variable=likelihood.largest_values_and_differences,
        is_integer_variable=integer_variables(choices),
        within_set_mean_square=likelihood.scatter_within_sets(),
        total_rows=total_rows(choices),
        moments_at_zero=likelihood.moments(np.zeros(d)),
        information_times_maximum=pull,
        information=information,
        largest_offset=StableChoiceLikelihood.from_choices_with_offsets(
            choices, differences
        ).largest_offset,
        subjects=frozenset() if labels is None else frozenset(labels),
        weighted=weights is not None,
    )


def summarize_chunks(reducer: ChunkMapper, with_start: bool = True) -> ChunkSummary:
    """Summarize all choices in one pass."""
    work = partial(summarize_choices, with_start=with_start)
    return reduce(ChunkSummary.__add__, reducer.map_chunks(work, "first look"))


def single_threaded_moments(choices: Choices, theta: Vector) -> Moments:
    """Moments of choices at theta, by one thread."""
    return likelihood_of(choices, 1).moments(theta)


@dataclass(frozen=True)
class ChunkedLikelihood:
    """The log-likelihood of all chunks; each theta is one pass."""

    reducer: ChunkMapper
    summary: ChunkSummary

    @property
    def n_parameters(self) -> int:
        """Number of weights theta."""
        return len(self.summary.is_integer_variable)

    @property
    def largest_values_and_differences(self) -> Matrix:
        """Largest |x| and largest |x_i - x_chosen| of each variable: (2, n_parameters)."""
        return self.summary.largest_values_by_variable

    def moments(self, theta: Vector) -> Moments:
        """Log-likelihood, gradient and information."""
        if not theta.any():  # Newton's method starts there: saves a pass
            return self.summary.moments_at_zero
        parts = self.reducer.map_chunks(
            partial(single_threaded_moments, theta=theta.copy()), "likelihood"
        )
        return reduce(merge_moments, parts)

    def scatter_within_sets(self) -> Matrix:
        """Mean over all rows of (x_i - mean)(x_i - mean)', the mean taken in the choice set."""
        return self.summary.within_set_mean_square


def _stable_moments(
    choices: Choices, theta: Vector, largest_differences: Vector, share: float
) -> StableMoments:
    likelihood = StableChoiceLikelihood.from_choices_with_offsets(choices, largest_differences)
    return likelihood.with_offset_share(share).moments(theta)


@dataclass(frozen=True)
class ChunkedStableLikelihood:
    """Stable log-likelihood of all chunks, with a share of their offsets."""

    reducer: ChunkMapper
    largest_differences: Vector
    largest_offset: float | None
    offset_share: float = 1.0

    def with_offset_share(self, share: float) -> ChunkedStableLikelihood:
        """Likelihood with another share of the offsets."""
        return replace(self, offset_share=share)

    def moments(self, theta: Vector) -> StableMoments:
        """Sums over chunks, rescaled from the unit of each to the largest unit."""
        work = partial(
            _stable_moments,
            theta=theta.copy(),
            largest_differences=self.largest_differences,
            share=self.offset_share,
        )
        parts = list(self.reducer.map_chunks(work, "careful steps"))
        unit = max(part.log_unit for part in parts)  # shares are at most 1: none overflows
        shares = [float(np.exp(part.log_unit - unit)) for part in parts]
        d = len(theta)
        value, gradient, noise, information = 0.0, np.zeros(d), np.zeros(d), np.zeros((d, d))
        for part, share in zip(parts, shares, strict=True):
            value += share * part.log_likelihood
            gradient += share * part.gradient
            noise += share * part.noise
            information += share * part.information
        return StableMoments(value, gradient, information, noise, unit)


def null_log_likelihood(summary: ChunkSummary) -> float:
    """Log-likelihood at theta = 0."""
    if summary.largest_offset is None:  # exact: sets of m options contribute -log m
        return -float(
            summary.weight_by_set_size[1:] @ np.log(np.arange(1, len(summary.weight_by_set_size)))
        )
    return summary.moments_at_zero.log_likelihood
