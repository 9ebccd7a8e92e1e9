"""Softmax with a known form of cooling: Example 2 of the paper.

The temperature falls as tau(t) = nu / log t: linear with theta = 1/nu and x_i = V_i log t.

Notes
-----
Paper: Section V.A prints tau_k = theta / log k, which is not linear in theta; it must be
1 / (theta log k).
"""

from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.choices import Choices, NaturalParameters
from penchant.choices.exact import exact_floats
from penchant.errors import DataError, listing
from penchant.models.temperature import reciprocal, reciprocal_jacobian, value_matrix

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
    >>> sets = pn.cooling_choices(rng.normal(size=(400, 5)), None)
    >>> estimate = pn.fit(pn.simulate_choices(sets, [1 / 4.0], rng=rng))
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
    if t.shape != (n,):
        raise DataError(
            f"times must have shape ({n},), one per decision; got shape {t.shape}. Give one each."
        )
    wrong = np.flatnonzero(~(t >= 1) | np.isinf(t))
    if wrong.size:
        places = listing((f"{t[k]:g} at decision {k}" for k in wrong[:11]), wrong.size)
        raise DataError(f"times must be at least 1; got {places}. The first decision is t = 1.")
    return t
