"""Choice probabilities and what each decision contributes, Eqs. (1) to (3).

Plain array code over the rows of all choice sets; the estimator's sums over decisions are
compiled (`likelihood`), these are for what has one number per row or decision.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError


def option_utilities(theta: Vector, choices: Choices) -> Vector:
    """Objective Q = theta'x of every row, Eq. (1), relative to the chosen option of its set.

    Only differences within a set matter, and these keep their digits when the variables have a
    large common part. Minus infinity for options not on offer.
    """
    sizes = np.diff(choices.first_row)
    chosen = np.repeat(choices.chosen_row, sizes)
    relative = choices.explanatory - choices.explanatory[chosen]
    if choices.available is not None:
        relative[~choices.available] = 0.0
    q = relative @ theta
    if choices.offset is not None:
        offset = choices.offset - choices.offset[chosen]
        q = q + (offset if choices.available is None else np.where(choices.available, offset, 0.0))
    return q if choices.available is None else np.where(choices.available, q, -np.inf)


def log_probabilities(theta: Vector, choices: Choices) -> Vector:
    """Log-probability of every row, Eq. (3); minus infinity for options not on offer."""
    q = option_utilities(theta, choices)
    starts = choices.first_row[:-1]
    sizes = np.diff(choices.first_row)
    q -= np.repeat(np.maximum.reduceat(q, starts), sizes)  # no exponential overflows
    return np.asarray(q - np.repeat(np.log(np.add.reduceat(np.exp(q), starts)), sizes))


def decision_log_likelihoods(theta: Vector, choices: Choices) -> Vector:
    """Log-probability of what was chosen, one per decision; weights do not enter."""
    return log_probabilities(theta, choices)[choices.chosen_row]


def rows_less_expectation(probabilities: Vector, choices: Choices) -> Matrix:
    """Variables of every row less their expectation in its set; 0 for options not on offer."""
    sizes = np.diff(choices.first_row)
    relative = choices.explanatory - np.repeat(choices.explanatory[choices.chosen_row], sizes, 0)
    if choices.available is not None:
        relative[~choices.available] = 0.0
    mean = np.add.reduceat(probabilities[:, None] * relative, choices.first_row[:-1])
    centred = relative - np.repeat(mean, sizes, axis=0)
    if choices.available is not None:
        centred[~choices.available] = 0.0
    return np.asarray(centred)


def scores(theta: Vector, choices: Choices) -> Matrix:
    """Gradient of each decision's log-likelihood, without weights: (n_decisions, n_parameters)."""
    p = np.exp(log_probabilities(theta, choices))
    return rows_less_expectation(p, choices)[choices.chosen_row]


def choices_with_redrawn_options(choices: Choices, theta: Any, rng: np.random.Generator) -> Choices:
    """Choices with the same sets, and options drawn with the probabilities of Eq. (3)."""
    weights = np.asarray(theta, dtype=np.float64)
    if weights.shape != (choices.n_parameters,) or not np.isfinite(weights).all():
        raise DataError(
            "theta",
            f"must hold {choices.n_parameters} finite numbers",
            got=repr(theta),
            fix="Give one per variable.",
        )
    # The largest of Q plus Gumbel noise falls on each option with its softmax probability.
    noisy = log_probabilities(weights, choices) + rng.gumbel(size=choices.n_rows)
    starts = choices.first_row[:-1]
    top = np.repeat(np.maximum.reduceat(noisy, starts), np.diff(choices.first_row))
    rows = np.flatnonzero(noisy == top)
    first = rows[np.searchsorted(rows, starts)]
    return replace(choices, chosen=first - starts, observed=True)
