"""Examples 1 to 3 of the paper: unknown temperature, cooling, Q-learning with known values.

Example 1, softmax with unknown temperature: P(i) = exp(V_i / tau) / sum_j exp(V_j / tau) is linear
with theta = 1/tau and x_i = V_i.

Example 2, softmax with a known form of cooling: the temperature falls as tau(t) = nu / log t, which
is linear with theta = 1/nu and x_i = V_i log t.

Example 3, Q-learning with known values: the value of the option taken moves by alpha times the
prediction error. With the values before the last update known, the objective of option j at
decision t is

    theta_1 V_j^{t-1} + theta_2 delta_{t-1} 1(j = i_{t-1}),   theta = (1/tau, alpha/tau),

with the prediction error delta_{t-1} = r_{t-1} - V^{t-1} of the option i_{t-1} taken.

Notes
-----
Paper: the denominator prints 1(i = i_{t-1}) where it must be 1(j = i_{t-1}), and asks for V^{t-2}
and r_t, which are not needed: V^{t-1} and r_{t-1} are. Section V.A prints tau_k = theta / log k,
which is not linear in theta; it must be 1 / (theta log k).
"""

from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.argument_checks import check_entries, check_length
from penchant.choices import Choices, NaturalParameters
from penchant.errors import DataError
from penchant.tables.arrays import check_finite, chosen_positions
from penchant.tables.numbers import exact_floats


def reciprocal(theta: Vector) -> Vector:
    """1 / theta of the first weight."""
    return 1.0 / theta[:1]


def reciprocal_jacobian(theta: Vector) -> Matrix:
    """Derivative of 1 / theta."""
    return np.array([[-1.0 / theta[0] ** 2]])


TEMPERATURE = NaturalParameters(("temperature",), reciprocal, reciprocal_jacobian)


def value_matrix(values: Any) -> Matrix:
    """Values as a matrix (n_decisions, n_options)."""
    matrix = exact_floats(values, "values")
    if matrix.ndim != 2:
        raise DataError(
            "values",
            "must have shape (n_decisions, n_options)",
            got=f"shape {matrix.shape}",
            fix="Give the value of every option at every decision.",
        )
    return matrix


def temperature_choices(
    values: Any, chosen: Any, *, available: Any = None, subject: Any = None
) -> Choices:
    """Choices by known values with an unknown constant temperature, Eq. (3).

    Parameters
    ----------
    values
        Value V of each option at each decision: (n_decisions, n_options).
    chosen
        Index of the option taken, from 0; None to simulate or predict.
    available, subject
        As in `Choices.from_arrays`: options on offer, and who decided.

    Returns
    -------
    Choices with the one weight inverse_temperature = 1/tau; the estimate's `parameters` give tau.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(1)
    >>> sets = pn.paper.temperature_choices(rng.normal(size=(400, 5)), None)
    >>> estimate = pn.fit(pn.simulate(sets, [1 / 0.5], rng=rng))
    >>> [(p.name, round(p.estimate, 2)) for p in estimate.parameters]
    [('temperature', 0.5)]
    """
    return Choices.from_arrays(
        value_matrix(values)[:, :, None],
        chosen,
        available=available,
        subject=subject,
        names=["inverse_temperature"],
    ).with_natural(TEMPERATURE)


DECISION_NOISE = NaturalParameters(("decision_noise",), reciprocal, reciprocal_jacobian)


def cooling_choices(
    values: Any, chosen: Any, *, times: Any = None, available: Any = None, subject: Any = None
) -> Choices:
    """Choices by known values with temperature nu / log t.

    Parameters
    ----------
    values
        Value V of each option at each decision: (n_decisions, n_options).
    chosen
        Index of the option taken, from 0; None to simulate or predict.
    times
        Time t of each decision, from 1; 1, 2, 3 ... if not given. At t = 1 the choice is uniform
        and tells nothing of nu, for log 1 = 0.
    available, subject
        As in `Choices.from_arrays`: options on offer, and who decided.

    Returns
    -------
    Choices with the one weight inverse_decision_noise = 1/nu; `parameters` give nu.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(0)
    >>> sets = pn.paper.cooling_choices(rng.normal(size=(400, 5)), None)
    >>> estimate = pn.fit(pn.simulate(sets, [1 / 4.0], rng=rng))
    >>> [(p.name, round(p.estimate, 1)) for p in estimate.parameters]
    [('decision_noise', 4.0)]
    """
    matrix = value_matrix(values)
    log_times = np.log(_times(times, len(matrix)))
    return Choices.from_arrays(
        (matrix * log_times[:, None])[:, :, None],
        chosen,
        available=available,
        subject=subject,
        names=["inverse_decision_noise"],
    ).with_natural(DECISION_NOISE)


def _times(times: Any, n: int) -> Vector:
    if times is None:
        return np.arange(1.0, n + 1.0)
    t = exact_floats(times, "times")
    check_length(t, "times", n)
    fine = (t >= 1) & np.isfinite(t)
    check_entries(fine, t, "times", "must be at least 1", "The first decision is t = 1.")
    return t


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
    check_length(r, "rewards", n)
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
