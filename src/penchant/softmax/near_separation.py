"""Choices that are separated but for negligible differences: the maximum exists, and is far out."""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation as separating
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, maximise
from penchant.softmax.solution import scaled_inverse

FAR = 50.0  # a range of theta'x above this asks whether the data are nearly separated
UNDECIDED = 100.0  # ... and the variance of theta'x, summed over decisions, is below this
NEGLIGIBLE = 1e-3


def suspicious(largest: Vector, theta: Vector, information: Matrix) -> bool:
    """Whether nearly all choices may be nearly certain: theta'x is large, its variance small.

    theta'I theta sums the variance of theta'x over decisions, which those that are certain lack.
    """
    undecided = float(theta @ information @ theta)
    return bool(largest @ np.abs(theta) >= FAR and undecided < UNDECIDED * len(theta))


def near_separation(
    choices: Choices, known: Identification, likelihood: Likelihood, maximum: Maximum
) -> Vector | None:
    """Direction that separates all but negligible differences, looked for if theta'x is large."""
    if not suspicious(likelihood.largest[1], maximum.theta, maximum.information):
        return None
    if not known.complete:
        return None
    plain = separating.without_small_differences(choices, known.scale, NEGLIGIBLE)
    if plain is None or (known.basis is None and _has_maximum(plain, maximum.theta)):
        return None
    found = separating.recession(choices, known.scale, ignored=NEGLIGIBLE)
    return None if found is None else found.direction


def _has_maximum(choices: Choices, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    likelihood = likelihood_of(choices, 1)
    maximum = maximise(likelihood, start=start)
    covariance, _ = scaled_inverse(maximum.information)
    return certified(maximum, likelihood, covariance, choices)


def certified(
    maximum: Maximum, likelihood: Likelihood, covariance: Matrix, choices: Choices
) -> bool:
    """Whether where Newton's method ended proves that the maximum exists."""
    if not np.isfinite(covariance).all() or maximum.ending == "slow":
        return False
    moved = separating.moved(likelihood.largest[1][None], covariance[None], maximum.decrement)
    if moved[0] > separating.EXACT:
        return False
    return separating.certificate(
        likelihood.largest[1], covariance, maximum.decrement, choices.total_weight
    )
