"""Q-learning with known values: Example 3 of the paper.

The value of the option taken moves by alpha times the prediction error. With the values before
the last update known, the objective of option j at decision t is

    theta_1 V_j^{t-1} + theta_2 delta_{t-1} 1(j = i_{t-1}),   theta = (1/tau, alpha/tau),

with the prediction error delta_{t-1} = r_{t-1} - V^{t-1} of the option i_{t-1} taken.

Notes
-----
Paper: the denominator prints 1(i = i_{t-1}) where it must be 1(j = i_{t-1}), and asks for V^{t-2}
and r_t, which are not needed: V^{t-1} and r_{t-1} are.
"""

from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.choices import Choices, NaturalParameters
from penchant.choices.arrays import check_finite, chosen_positions
from penchant.choices.exact import exact_floats
from penchant.errors import DataError
from penchant.models.temperature import value_matrix


def temperature_and_rate(theta: Vector) -> Vector:
    """(tau, alpha) = (1/theta_1, theta_2/theta_1)."""
    return np.array([1.0 / theta[0], theta[1] / theta[0]])


def temperature_and_rate_jacobian(theta: Vector) -> Matrix:
    """Derivatives of (tau, alpha)."""
    first, second = theta
    return np.array([[-1.0 / first**2, 0.0], [-second / first**2, 1.0 / first]])


LEARNING = NaturalParameters(
    ("temperature", "learning_rate"), temperature_and_rate, temperature_and_rate_jacobian
)


def q_learning_choices(values: Any, chosen: Any, rewards: Any, *, subject: Any = None) -> Choices:
    """Choices of a Q-learner whose values are known, with unknown temperature and learning rate.

    Parameters
    ----------
    values
        V_j^t: value of each option before the choice at t: (n_decisions, n_options).
    chosen
        Index of the option taken, from 0.
    rewards
        Reward received; the last one is not used and may be NaN.
    subject
        Who decided; values and choices of one subject never explain those of another.

    Returns
    -------
    Choices with weights inverse_temperature = 1/tau and rate_over_temperature = alpha/tau. The
    estimate's `parameters` give tau and alpha by the delta method, `ratio` gives Fieller's
    interval for alpha. The first decision of a subject has no prediction error before it.
    """
    v = value_matrix(values)
    n, m = v.shape
    taken = chosen_positions(chosen, np.full(n, m))
    r = exact_floats(rewards, "rewards")
    if r.shape != (n,):
        raise DataError(
            f"rewards must have shape ({n},), one per decision; got shape {r.shape}. Give one each."
        )
    follows = _follows(subject, n)
    explanatory = np.zeros((n, m, 2))
    explanatory[:, :, 0] = v
    later = np.flatnonzero(follows)
    before = later - 1
    _check_rewards(r, before)
    explanatory[later, :, 0] = v[before]
    explanatory[later, taken[before], 1] = r[before] - v[before, taken[before]]
    names = ["inverse_temperature", "rate_over_temperature"]
    return Choices.from_arrays(explanatory, taken, subject=subject, names=names).with_natural(
        LEARNING
    )


def _follows(subject: Any, n: int) -> BoolVector:
    """Decisions that follow another of the same subject."""
    follows = np.arange(n) > 0
    if subject is not None:
        labels = np.asarray(subject)
        follows[1:] &= labels[1:] == labels[:-1]
    return follows


def _check_rewards(rewards: Vector, used: Any) -> None:
    """Rewards that are used are finite."""
    rows = np.zeros_like(rewards)
    rows[used] = rewards[used]
    starts = np.arange(len(rewards) + 1, dtype=np.int64)
    check_finite(rows[:, None], None, starts, ("rewards",), "rewards")
