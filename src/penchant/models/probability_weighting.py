"""How people weight probabilities: Prelec's function, and Tversky and Kahneman's.

Both give 0 at 0 and 1 at 1, are the identity at gamma = 1, and overweight small probabilities where
gamma < 1.
"""

from collections.abc import Callable

import numpy as np

from penchant._typing import Matrix


def prelec(p: Matrix, gamma: float) -> Matrix:
    """w = exp(-(-log p)^gamma) (Prelec 1998).

    Examples
    --------
    >>> prelec(np.array([0.0, 0.05, 0.9, 1.0]), 0.6).round(3).tolist()
    [0.0, 0.145, 0.772, 1.0]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(-((-np.log(p)) ** gamma)))


def tversky_kahneman(p: Matrix, gamma: float) -> Matrix:
    """w = p^gamma / (p^gamma + (1 - p)^gamma)^(1 / gamma) (Tversky & Kahneman 1992).

    Examples
    --------
    >>> tversky_kahneman(np.array([0.0, 0.05, 0.9, 1.0]), 0.61).round(3).tolist()
    [0.0, 0.132, 0.712, 1.0]
    """
    power, rest = p**gamma, (1 - p) ** gamma
    return np.asarray(power / (power + rest) ** (1 / gamma))


# In the order in which the compiled loops number them, from 1.
WEIGHTINGS: dict[str, Callable[[Matrix, float], Matrix]] = {
    "prelec": prelec,
    "tversky-kahneman": tversky_kahneman,
}
