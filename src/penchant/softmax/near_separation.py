"""Choices that are separated but for negligible differences: the maximum exists, and is far out."""

from __future__ import annotations

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation as separating
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Maximum, maximise
from penchant.softmax.solution import scaled_inverse

NEGLIGIBLE = 1e-3  # differences below this, of those that are rarely exceeded


def hang_on(small: Vector, largest: Matrix, information: Matrix) -> BoolVector:
    """Whether maxima may hang on negligible differences: where not, this is a proof.

    Let v separate the choices once differences x_chosen - x_j = u_j + e_j are rounded to u_j, with
    sum_a |v_a| largest_a = 1, so that v'u_j >= 0 and |v'e_j| <= 1/1000. At the maximum the score
    along v, the sum of p_j v'(u_j + e_j), is 0: the sum of p_j v'u_j is at most 1/1000 for each
    decision with a difference that is rounded. The variance of v'x, summed over decisions, which is
    v'I v, is at most twice that: an eigenvalue of the information in units of `largest` is small.

    Parameters
    ----------
    small
        Weight of all decisions with negligible differences, or more: one for each information.
    largest
        Largest |x_i - x_chosen| of each variable.
    information
        At the maxima.
    """
    d = largest.shape[1]
    unit = np.where(largest > 0, largest, 1.0)
    lowest = np.linalg.eigvalsh(information / unit[:, :, None] / unit[:, None, :])[:, 0]
    return np.asarray(lowest <= 2 * d * NEGLIGIBLE * small)


def near_separation(
    choices: Choices, known: Identification, likelihood: Likelihood, maximum: Maximum
) -> Vector | None:
    """Direction that separates all but negligible differences, looked for where there may be one.

    Where it is, the maximum exists by these differences only.
    """
    if not known.complete:
        return None
    if known.basis is None:  # else the variables of the likelihood are not those of the choices
        bounds = likelihood.largest[1][None], maximum.information[None]
        if not hang_on(np.array([choices.total_weight]), *bounds)[0]:
            return None
        if not hang_on(weight_of_small(choices, bounds[0][0]), *bounds)[0]:
            return None
    plain = separating.without_small_differences(choices, known.scale, NEGLIGIBLE)
    if plain is None or (known.basis is None and _has_maximum(plain, maximum.theta)):
        return None
    found = separating.recession(plain, known.scale)
    return None if found is None else found.direction


def weight_of_small(choices: Choices, unit: Vector) -> Vector:
    """Weight of decisions in which a variable hardly differs from the chosen option's: (1,)."""
    small = differ_hardly(choices, np.broadcast_to(unit, (choices.n_decisions, len(unit))))
    weights = np.ones(choices.n_decisions) if choices.weights is None else choices.weights
    return np.array([weights @ small])


def differ_hardly(choices: Choices, unit: Matrix) -> BoolVector:
    """Decisions in which a variable differs from the chosen option's, by less than 1/1000 unit."""
    sizes = np.diff(choices.first_row)
    chosen = np.repeat(choices.chosen_row, sizes)
    away = np.abs(choices.explanatory - choices.explanatory[chosen])
    limit = np.repeat(NEGLIGIBLE * unit, sizes, axis=0)
    small = ((away > 0) & (away <= limit)).any(axis=1)
    if choices.available is not None:
        small &= choices.available
    return np.asarray(np.logical_or.reduceat(small, choices.first_row[:-1]))


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
