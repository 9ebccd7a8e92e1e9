"""How people weight probabilities: Prelec's function, and Tversky and Kahneman's.

Both give 0 at 0 and 1 at 1, are the identity at gamma = 1, and overweight small probabilities where
gamma < 1. Each returns the weight and its derivative in gamma.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from penchant._typing import Matrix

Weighting: TypeAlias = Callable[[Matrix, Any], tuple[Matrix, Matrix]]


def prelec(p: Matrix, gamma: Any) -> tuple[Matrix, Matrix]:
    """w = exp(-L^gamma) with L = -log p, and dw/dgamma = -w L^gamma log L (Prelec 1998).

    Examples
    --------
    >>> w, _ = prelec(np.array([0.0, 0.05, 0.9, 1.0]), 0.6)
    >>> w.round(3).tolist()
    [0.0, 0.145, 0.772, 1.0]
    """
    inside = (p > 0) & (p < 1)
    log_odds = np.log(-np.log(np.where(inside, p, 0.5)))
    power = np.exp(gamma * log_odds)
    weight = np.exp(-power)
    slope = -weight * power * log_odds
    return np.where(inside, weight, p), np.where(inside, slope, 0.0)


def tversky_kahneman(p: Matrix, gamma: Any) -> tuple[Matrix, Matrix]:
    """w = p^g / S^(1/g) with S = p^g + (1 - p)^g, and its derivative (Tversky & Kahneman 1992).

    The logarithm of w has the derivative log p + log S / g^2 - S' / (g S).

    Examples
    --------
    >>> w, _ = tversky_kahneman(np.array([0.0, 0.05, 0.9, 1.0]), 0.61)
    >>> w.round(3).tolist()
    [0.0, 0.132, 0.712, 1.0]
    """
    inside = (p > 0) & (p < 1)
    known = np.where(inside, p, 0.5)
    log_p, log_rest = np.log(known), np.log1p(-known)
    power, rest = np.exp(gamma * log_p), np.exp(gamma * log_rest)
    total = power + rest
    weight = np.exp(gamma * log_p - np.log(total) / gamma)
    change = power * log_p + rest * log_rest
    slope = weight * (log_p + np.log(total) / gamma**2 - change / (gamma * total))
    return np.where(inside, weight, p), np.where(inside, slope, 0.0)


WEIGHTINGS: dict[str, Weighting] = {"prelec": prelec, "tversky-kahneman": tversky_kahneman}
