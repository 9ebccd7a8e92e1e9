"""Choices drawn from the model."""

from dataclasses import replace
from typing import Any

import numpy as np

from penchant.choices import Choices
from penchant.errors import DataError
from penchant.softmax.probabilities import log_probabilities


def simulate_choices(choices: Choices, theta: Any, *, rng: np.random.Generator) -> Choices:
    """The same choice sets with options drawn with the probabilities of Eq. (3).

    Parameters
    ----------
    choices
        Choice sets; what was chosen in them is not used.
    theta
        Weights, one per variable.
    rng
        Source of randomness.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> sets = pn.Choices.from_arrays(np.ones((5, 3, 1)) * [[0.0], [1.0], [9.0]], None)
    >>> pn.simulate_choices(sets, [4.0], rng=np.random.default_rng(1)).chosen
    array([2, 2, 2, 2, 2])
    """
    weights = np.asarray(theta, dtype=np.float64)
    if weights.shape != (choices.n_parameters,) or not np.isfinite(weights).all():
        raise DataError(
            f"theta must hold {choices.n_parameters} finite numbers; got {theta!r}. "
            "Give one per variable."
        )
    # The largest of Q plus Gumbel noise falls on each option with its softmax probability.
    noisy = log_probabilities(weights, choices) + rng.gumbel(size=choices.n_rows)
    starts = choices.first_row[:-1]
    top = np.repeat(np.maximum.reduceat(noisy, starts), np.diff(choices.first_row))
    rows = np.flatnonzero(noisy == top)
    first = rows[np.searchsorted(rows, starts)]
    return replace(choices, chosen=first - starts, observed=True)
