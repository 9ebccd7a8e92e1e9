"""Softmax with unknown temperature: Example 1 of the paper.

P(i) = exp(V_i / tau) / sum_j exp(V_j / tau): linear with theta = 1/tau and x_i = V_i.
"""

from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices, NaturalParameters
from penchant.choices.exact import exact_floats
from penchant.errors import DataError


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
            f"values must have shape (n_decisions, n_options); got shape {matrix.shape}. "
            "Give the value of every option at every decision."
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
    >>> sets = pn.temperature_choices(rng.normal(size=(400, 5)), None)
    >>> estimate = pn.fit(pn.simulate_choices(sets, [1 / 0.5], rng=rng))
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
