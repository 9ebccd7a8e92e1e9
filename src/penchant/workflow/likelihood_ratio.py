"""Likelihood-ratio tests of models, one of which is a special case of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Vector
from penchant.errors import DataError, nearest
from penchant.tails import chi_square_tail

ROUNDING = 1e-4  # log-units by which a larger model may seem worse


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """Whether the data need the larger of two nested models.

    Twice the difference of the log-likelihoods is compared with a chi-squared distribution. That a
    model is nested in the other is taken on the user's word. Where the smaller model lies at the
    edge of the larger one, such as a learning rate of 0, p-values are too large.

    Attributes
    ----------
    smaller, larger
        Names of the models.
    statistics, p_values
        One per subject.
    df
        Parameters that the larger model has more.
    """

    smaller: str
    larger: str
    statistics: Vector
    df: int

    @property
    def p_values(self) -> Vector:
        """Probability of such a statistic, or a larger one, under the smaller model."""
        return np.asarray(chi_square_tail(self.statistics, self.df))

    @property
    def total(self) -> float:
        """Sum of the statistics."""
        return float(self.statistics.sum())

    @property
    def total_p_value(self) -> float:
        """Of the sum, whose degrees of freedom are those of all subjects together."""
        return float(chi_square_tail(self.total, self.df * len(self.statistics)))

    @property
    def impossible(self) -> IntVector:
        """Subjects, by their place, for whom the larger model seems worse: it is not larger."""
        return np.flatnonzero(self.statistics < -2 * ROUNDING)


def likelihood_ratios(
    nested: Sequence[tuple[str, str]],
    names: Sequence[str],
    log_likelihood: Any,
    n_parameters: Sequence[int],
) -> tuple[LikelihoodRatio, ...]:
    """Tests of the pairs (smaller, larger) that are said to be nested."""
    return tuple(
        LikelihoodRatio(
            names[a],
            names[b],
            2.0 * (log_likelihood[:, b] - log_likelihood[:, a]),
            n_parameters[b] - n_parameters[a],
        )
        for a, b in checked_pairs(nested, names, n_parameters)
    )


def checked_pairs(
    nested: Sequence[tuple[str, str]], names: Sequence[str], n_parameters: Sequence[int]
) -> list[tuple[int, int]]:
    """Places of the models of each pair."""
    found = []
    for pair in nested:
        if isinstance(pair, str) or len(pair) != 2:
            raise DataError(
                f"nested must hold pairs (smaller, larger) of names; got {pair!r}. Correct it."
            )
        for name in pair:
            if name not in names:
                raise DataError(
                    f"nested must name models among {', '.join(names)}; got {name!r}."
                    f"{nearest(name, names) or ' Correct it.'}"
                )
        a, b = (list(names).index(name) for name in pair)
        if n_parameters[a] >= n_parameters[b]:
            raise DataError(
                "nested must hold pairs (smaller, larger); got "
                f"{pair[0]} with {n_parameters[a]} parameters and {pair[1]} with "
                f"{n_parameters[b]}. Turn them round, or leave the pair out."
            )
        found.append((a, b))
    return found
