"""Weights of decisions in units near 1, and estimates back in the units given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Vector
from penchant.choices import Choices
from penchant.softmax.newton import Quadratic
from penchant.softmax.solution import Solution

ORDINARY = 10  # powers of two: typical weights between 1/1024 and 1024 are left as they are


def weight_unit(weights: Vector | None) -> float:
    """A power of two near the mean weight; 1 where that is no unusual number.

    Estimators stop at lengths in standard errors, which for weights of 1e-20 are all short. A power
    of two changes no digit.
    """
    if weights is None or not weights.size:
        return 1.0
    largest = float(weights.max())
    if not largest > 0:
        return 1.0
    relative = float((weights / largest).mean())
    power = int(np.frexp(largest)[1]) + int(np.frexp(relative)[1]) - 1
    if abs(power) <= ORDINARY:
        return 1.0
    return float(np.ldexp(1.0, min(max(power, -1021), 1023)))


def unit_weights(choices: Choices) -> tuple[Choices, float]:
    """The same choices with weights of mean about 1, and the unit of these."""
    unit = weight_unit(choices.weights)
    if unit == 1.0 or choices.weights is None:
        return choices, 1.0
    return replace(choices, weights=choices.weights / unit), unit


def in_unit(quadratic: Quadratic, unit: float) -> Quadratic:
    """A prior's part of the objective where the objective is divided by `unit`."""
    if unit == 1.0:
        return quadratic
    return Quadratic(quadratic.precision / unit, quadratic.linear / unit, quadratic.constant / unit)


def as_given(solution: Solution, unit: float) -> Solution:
    """A solution for weights divided by `unit`, as that for the weights themselves."""
    if unit == 1.0:
        return solution
    posterior = solution.log_posterior
    with np.errstate(over="ignore"):  # infinite, where no number is as large
        covariance, certainty = solution.covariance / unit, solution.certainty / unit
    return replace(
        solution,
        covariance=covariance,
        certainty=certainty,
        log_likelihood=solution.log_likelihood * unit,
        log_posterior=None if posterior is None else posterior * unit,
    )
