"""Decisions as `solve` needs them: their likelihood, and the rows behind it.

`solve` is written once, over the protocol `Decisions`. `ChoiceDecisions` are choices in memory;
`chunked_decisions.ChunkedDecisions` are read chunk by chunk, with the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax.identification import integer_variables, r_factor_of_centred_rows, total_rows
from penchant.softmax.likelihood import (
    Likelihood,
    PackedLikelihood,
    likelihood_of,
)
from penchant.softmax.maximum_and_covariance import (
    choices_in_coordinates,
    rescale_case_weights,
    with_underflowing_variables_zeroed,
)
from penchant.softmax.newton_without_cancellation import StableChoiceLikelihood, StableLikelihood
from penchant.softmax.separation import (
    ChoiceRecessionCone,
    RecessionCone,
    build_recession_cone,
    large_difference_quantile,
    small_difference_bound,
    with_differences_zeroed,
)


class VanishingCounts(NamedTuple):
    """Options whose probability vanishes, those not chosen that might, decisions that lose some."""

    n_vanishing: int
    n_possible: int
    n_decisions: int


class Decisions(Protocol):
    """Decisions with their likelihood, and what identification and existence ask of their rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""

    @property
    def total_weight(self) -> float:
        """Summed weights of the decisions."""

    @property
    def has_offset(self) -> bool:
        """Whether some known number is added to the utility of options."""

    @property
    def likelihood(self) -> Likelihood:
        """Log-likelihood as a function of theta."""

    @property
    def stable_likelihood(self) -> StableLikelihood:
        """Likelihood without cancellation, for choices that are nearly certain."""

    def start(self) -> Vector | None:
        """A theta near the maximum that saves passes over much data; None for 0."""

    @property
    def with_unit_mean_weights_and_unit(self) -> tuple[Decisions, float]:
        """Decisions with weights of mean about 1, and the unit of these."""

    def in_coordinates(self, basis: Matrix, rank: int | None = None) -> Decisions:
        """Decisions for phi, where theta = basis phi; see `solution.choices_in_coordinates`."""

    def integer_variables(self) -> BoolVector:
        """Variables that hold nothing but whole numbers."""

    def r_factor(self, columns: IntVector, unit: Vector) -> Matrix:
        """R of the QR factorisation of all rows, centred in their sets and scaled."""

    def total_rows(self) -> float:
        """Number of rows on offer, each counted as often as its decision."""

    def recession_cone(
        self, scale: Vector, basis: Matrix | None = None, constraint_rows: Matrix | None = None
    ) -> RecessionCone | None:
        """Directions that lower no utility of an option chosen; see `build_recession_cone`."""

    def without_vanishing_options(self, vanishing_options: Any) -> Decisions:
        """Decisions without the options that a recession direction resolves."""

    def count_vanishing_options(self, vanishing_options: Any) -> VanishingCounts:
        """Count options that vanish, and the decisions that lose some."""

    def large_difference_quantile(self, scale: Vector) -> Vector:
        """Size of each variable's differences; see `separation.large_difference_quantile`."""

    def small_difference_bound(self, theta: Vector) -> Vector:
        """Argument `negligible` of `separation.may_depend_on_small_differences` at theta: (1,)."""

    def with_small_differences_zeroed(self, limit: Vector) -> Decisions | None:
        """Decisions with differences up to the limit set to 0; None if there are none."""


@dataclass(frozen=True)
class ChoiceDecisions:
    """Choices in memory; `threads` evaluate their likelihood, all if None."""

    choices: Choices
    threads: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.choices.names

    @property
    def total_weight(self) -> float:
        """Summed weights of the decisions."""
        return self.choices.total_weight

    @property
    def has_offset(self) -> bool:
        """Whether some known number is added to the utility of options."""
        return self.choices.offset is not None

    @cached_property
    def likelihood(self) -> PackedLikelihood:
        """Log-likelihood as a function of theta."""
        return likelihood_of(self.choices, self.threads)

    @cached_property
    def stable_likelihood(self) -> StableChoiceLikelihood:
        """Likelihood without cancellation, for choices that are nearly certain."""
        largest = self.likelihood.largest_values_and_differences[1]
        return StableChoiceLikelihood.from_choices_with_offsets(self.choices, largest)

    def start(self) -> None:
        """Do nothing: a pass over memory costs little."""

    @property
    def with_unit_mean_weights_and_unit(self) -> tuple[ChoiceDecisions, float]:
        """Decisions with weights of mean about 1, and the unit of these."""
        # not cached: a reference to itself would keep the packed choices until garbage is collected
        choices, unit = rescale_case_weights(self.choices)
        return (self if unit == 1.0 else replace(self, choices=choices)), unit

    def in_coordinates(self, basis: Matrix, rank: int | None = None) -> ChoiceDecisions:
        """Decisions for phi, where theta = basis phi."""
        return replace(self, choices=choices_in_coordinates(self.choices, basis, rank))

    def integer_variables(self) -> BoolVector:
        """Variables that hold nothing but whole numbers."""
        return integer_variables(self.choices)

    def r_factor(self, columns: IntVector, unit: Vector) -> Matrix:
        """R of the QR factorisation of all rows, centred in their sets and scaled."""
        return r_factor_of_centred_rows(self.choices, columns, unit)

    def total_rows(self) -> float:
        """Number of rows on offer, each counted as often as its decision."""
        return total_rows(self.choices)

    def recession_cone(
        self, scale: Vector, basis: Matrix | None = None, constraint_rows: Matrix | None = None
    ) -> ChoiceRecessionCone | None:
        """Directions that lower no utility of an option chosen."""
        return build_recession_cone(self.choices, scale, basis, constraint_rows)

    def without_vanishing_options(self, vanishing_options: BoolVector) -> ChoiceDecisions:
        """Decisions without these rows."""
        on_offer = ~vanishing_options
        if self.choices.available is not None:
            on_offer &= self.choices.available
        left = replace(self.choices, available=on_offer)
        return replace(self, choices=with_underflowing_variables_zeroed(left))

    def count_vanishing_options(self, vanishing_options: BoolVector) -> VanishingCounts:
        """Count options that vanish, and the decisions that lose some."""
        loses_some = np.logical_or.reduceat(vanishing_options, self.choices.first_row[:-1])
        n_others = int((self.choices.n_options - 1).sum())
        return VanishingCounts(int(vanishing_options.sum()), n_others, int(loses_some.sum()))

    def large_difference_quantile(self, scale: Vector) -> Vector:
        """Size of each variable's differences."""
        return large_difference_quantile(self.choices, scale)

    def small_difference_bound(self, theta: Vector) -> Vector:
        """Argument `negligible` of `separation.may_depend_on_small_differences` at theta: (1,)."""
        largest = self.likelihood.largest_values_and_differences[1]
        return small_difference_bound(self.choices, theta, largest)

    def with_small_differences_zeroed(self, limit: Vector) -> ChoiceDecisions | None:
        """Decisions with differences up to the limit set to 0; None if there are none."""
        plain = with_differences_zeroed(self.choices, limit)
        return None if plain is None else replace(self, choices=plain)
