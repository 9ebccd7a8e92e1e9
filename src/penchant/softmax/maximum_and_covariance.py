"""Solution of an estimator, and the inverse of the information, Eqs. (7) and (9).

Also the changes of units that keep the problem inside the range of float64: of variables
(`check_variable_magnitudes`), of coordinates (`choices_in_coordinates`) and of weights
(`rescale_case_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, format_list
from penchant.softmax.estimate_diagnostics import Certificate
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood
from penchant.softmax.newton import Maximum, Quadratic


def choices_in_coordinates(choices: Choices, basis: Matrix, rank: int | None = None) -> Choices:
    """Choices for phi, where theta = basis phi: variables x @ basis, relative to the chosen option.

    Directions from `rank` on are known to change nothing; their variables are exactly 0.
    """
    sizes = np.diff(choices.first_row)
    relative = choices.explanatory - np.repeat(choices.explanatory[choices.chosen_row], sizes, 0)
    if choices.available is not None:
        relative[~choices.available] = 0.0
    names = tuple(f"phi{a}" for a in range(basis.shape[1]))
    turned = relative @ basis
    if rank is not None:
        turned[:, rank:] = 0.0
    return replace(choices, explanatory=turned, names=names)


MAX_VARIABLE_SIZE = 1e100  # larger squares, and those of less than its inverse, leave float64
SMALL_VARIABLE = 1e-80  # above it, two numbers differ by over 1e-100 or are equal: no underflow


def with_underflowing_variables_zeroed(choices: Choices) -> Choices:
    """Choices with variables set to 0 that are too small for float64 among available options.

    A decaying trace may be of a usual size where options were taken off, and negligible elsewhere.
    """
    size = np.abs(choices.explanatory)
    if not ((size > 0) & (size < SMALL_VARIABLE)).any():
        return choices
    relative = np.abs(choices_in_coordinates(choices, np.eye(choices.n_parameters)).explanatory)
    largest = relative.max(axis=0, initial=0.0)
    underflows = (largest > 0) & (largest < 1 / MAX_VARIABLE_SIZE)
    if not underflows.any():
        return choices
    return replace(choices, explanatory=np.where(underflows, 0.0, choices.explanatory))


def check_variable_magnitudes(largest: Matrix, names: tuple[str, ...]) -> None:
    """Raise `DataError` if squares of a variable leave the range of float64."""
    outside = (largest[0] > MAX_VARIABLE_SIZE) | (
        (largest[1] > 0) & (largest[1] < 1 / MAX_VARIABLE_SIZE)
    )
    if outside.any():
        found = format_list(
            f"{names[a]} of size {largest[0, a]:.3g}" for a in np.flatnonzero(outside)
        )
        raise DataError(
            "explanatory",
            "must lie between 1e-100 and 1e100 in size",
            got=found,
            fix="Choose other units for it.",
        )


@dataclass(frozen=True)
class Solution:
    """Everything the estimator found out.

    Attributes
    ----------
    theta
        The maximum; its limit in a separated direction; NaN where not identified.
    covariance
        Inverse information of what is identified, NaN elsewhere.
    log_likelihood
        Of the choices alone, at theta or its supremum.
    recession
        Direction of separation in the user's units, or None.
    vanishing_options
        Options that it resolves: rows of choices in memory, or what chunks take off.
    unblanked_covariance
        Covariance before parameters were blanked: usable for identified combinations.
    finite_theta
        theta with a number everywhere, for which `unblanked_covariance` holds.
    """

    theta: Vector
    covariance: Matrix
    log_likelihood: float
    identified_part: Identification
    ending: str
    decrement: float
    n_steps: int
    condition: float
    finite_theta: Vector
    unblanked_covariance: Matrix
    log_posterior: float | None = None
    certificate: Certificate | None = None
    recession: Vector | None = None
    vanishing_options: Any = None
    near_separation_direction: Vector | None = None
    active: BoolVector | None = None


def inverse_and_condition(information: Matrix) -> tuple[Matrix, float]:
    """Inverse of the information, and its condition number: see `inverses_and_conditions`."""
    if not len(information):
        return information.copy(), 1.0
    inverse, condition = inverses_and_conditions(information[None])
    return inverse[0], float(condition[0])


def inverses_and_conditions(information: Matrix) -> tuple[Matrix, Vector]:
    """Inverses of informations (n, d, d), and their condition numbers, by way of a unit diagonal.

    NaN and infinity where an information is singular.
    """
    diagonal = information.diagonal(0, 1, 2)
    fine = np.isfinite(information).all(axis=(1, 2)) & np.all(diagonal > 0, axis=-1)
    scale = np.sqrt(np.where(fine[:, None], diagonal, 1.0))
    scaled = information / scale[:, :, None] / scale[:, None, :]
    eye = np.eye(information.shape[1])
    values, vectors = np.linalg.eigh(np.where(fine[:, None, None], scaled, eye))
    fine &= values[:, 0] > 0
    values = np.where(fine[:, None], values, np.nan)
    inverse = (vectors / values[:, None, :]) @ vectors.transpose(0, 2, 1)
    with np.errstate(over="ignore"):  # far out choices are certain, and variances infinite
        inverse = inverse / scale[:, :, None] / scale[:, None, :]
    inverse = inverse / 2 + inverse.transpose(0, 2, 1) / 2  # halved first: no overflow
    fine &= np.isfinite(inverse).all(axis=(1, 2))
    inverse[~fine] = np.nan
    return inverse, np.where(fine, values[:, -1] / values[:, 0], np.inf)


def nan_unless_kept(theta: Vector, covariance: Matrix, keep: BoolVector) -> tuple[Vector, Matrix]:
    """NaN for the parameters not kept."""
    shown = np.where(keep, theta, np.nan)
    return shown, np.where(np.outer(keep, keep), covariance, np.nan)


def unidentified_solution(likelihood: Likelihood, known: Identification) -> Solution:
    """Solution where no variable varies inside any set, so that theta is not identified at all."""
    d = len(known.scale)
    moments = likelihood.moments(np.zeros(d))
    blank_matrix = np.full((d, d), np.nan)
    return Solution(
        theta=np.full(d, np.nan),
        covariance=blank_matrix,
        log_likelihood=moments.log_likelihood,
        identified_part=known,
        ending="converged",
        decrement=0.0,
        n_steps=0,
        condition=np.inf,
        finite_theta=np.zeros(d),
        unblanked_covariance=np.zeros((d, d)),
    )


def penalised_solution(
    log_likelihood: float, known: Identification, maximum: Maximum, proof: Certificate
) -> Solution:
    """Solution of a maximum that exists by a prior or penalty, in the coordinates of the search."""
    covariance, condition = inverse_and_condition(maximum.information)
    return Solution(
        theta=maximum.theta,
        covariance=covariance,
        log_likelihood=log_likelihood,
        log_posterior=maximum.value,
        identified_part=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        finite_theta=maximum.theta,
        unblanked_covariance=covariance,
    )


# Of 2: tolerances in standard errors hold for mean weights of 1/1024 to 1024
MAX_ORDINARY_POWER = 10


def power_of_two_near_mean_weight(weights: Vector | None) -> float:
    """A power of two near the mean weight; 1 where that is no unusual number.

    Estimators stop at lengths in standard errors, which for weights of 1e-20 are all short. A power
    of two changes no digit.
    """
    if weights is None or not weights.size:
        return 1.0
    largest = float(weights.max())
    if not largest > 0:
        return 1.0
    return weight_unit_from_largest_and_mean(largest, float((weights / largest).mean()))


def weight_unit_from_largest_and_mean(largest: float, mean_over_largest: float) -> float:
    """Unit of weights from the largest weight, and the mean in units of it."""
    if not largest > 0:
        return 1.0
    power = int(np.frexp(largest)[1]) + int(np.frexp(mean_over_largest)[1]) - 1
    if abs(power) <= MAX_ORDINARY_POWER:
        return 1.0
    # a subnormal unit would lose digits of every weight
    return float(np.ldexp(1.0, min(max(power, -1021), 1023)))


def rescale_case_weights(choices: Choices) -> tuple[Choices, float]:
    """Choices with weights of mean about 1, and the unit of these."""
    unit = power_of_two_near_mean_weight(choices.weights)
    if unit == 1.0 or choices.weights is None:
        return choices, 1.0
    return replace(choices, weights=choices.weights / unit), unit


def quadratic_in_unit(quadratic: Quadratic, unit: float) -> Quadratic:
    """A prior's part of the objective where the objective is divided by `unit`."""
    if unit == 1.0:
        return quadratic
    return Quadratic(quadratic.precision / unit, quadratic.linear / unit, quadratic.constant / unit)


def solution_in_given_weights(solution: Solution, unit: float) -> Solution:
    """A solution for weights divided by `unit`, as that for the weights themselves."""
    if unit == 1.0:
        return solution
    posterior = solution.log_posterior
    with np.errstate(over="ignore"):  # an infinite variance is the right answer there
        covariance, certainty = solution.covariance / unit, solution.unblanked_covariance / unit
    return replace(
        solution,
        covariance=covariance,
        unblanked_covariance=certainty,
        log_likelihood=solution.log_likelihood * unit,
        log_posterior=None if posterior is None else posterior * unit,
    )
