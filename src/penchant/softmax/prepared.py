"""Choices made ready for an estimator: packed, their units checked, their rank known."""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix
from penchant.choices import Choices
from penchant.errors import DataError, listing
from penchant.softmax.identification import Identification, identification
from penchant.softmax.likelihood import Likelihood, likelihood_of

LARGEST = 1e100


def prepared(choices: Choices, threads: int | None) -> tuple[Likelihood, Identification]:
    """The likelihood, packed, and what of theta it identifies."""
    likelihood = likelihood_of(choices, threads)
    check_units(likelihood.largest, choices.names)
    return likelihood, identification(choices, likelihood)


def check_units(largest: Matrix, names: tuple[str, ...]) -> None:
    """No variable is so large or so small that its squares leave the range of float64."""
    outside = (largest[0] > LARGEST) | ((largest[1] > 0) & (largest[1] < 1 / LARGEST))
    if outside.any():
        found = listing(f"{names[a]} of size {largest[0, a]:.3g}" for a in np.flatnonzero(outside))
        raise DataError(
            f"explanatory must lie between 1e-100 and 1e100 in size; got {found}. "
            "Choose other units for it."
        )
