"""p-values adjusted for the number of comparisons."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError

Adjustment = Literal["holm", "bonferroni", "benjamini-hochberg", "none"]
ADJUSTMENTS: tuple[Adjustment, ...] = ("holm", "bonferroni", "benjamini-hochberg", "none")


def adjusted_p_values(p_values: Any, method: Adjustment = "holm") -> Vector:
    """p-values of one family, so that a small one among many does not mislead.

    Parameters
    ----------
    p_values
        NaN where a test could not be done: it stays NaN and does not count.
    method
        "holm" and "bonferroni" bound the chance of any false difference (Holm's is never larger);
        "benjamini-hochberg" bounds the share of false ones among those found.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.adjusted_p_values([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = np.array(p_values, dtype=np.float64)
    if method not in ADJUSTMENTS:
        raise DataError(
            f"adjust must be one of {', '.join(ADJUSTMENTS)}; got {method!r}. Choose one."
        )
    if ((given < 0) | (given > 1)).any():
        wrong = given[(given < 0) | (given > 1)][0]
        raise DataError(f"p_values must lie between 0 and 1; got {wrong}. Correct it.")
    known = np.isfinite(given)
    given[known] = np.minimum(_adjusted(given[known], method), 1.0)
    return given


def _adjusted(p: Vector, method: Adjustment) -> Vector:
    n = len(p)
    if method == "none" or not n:
        return p
    if method == "bonferroni":
        return n * p
    order = np.argsort(p, kind="stable")
    if method == "holm":
        stepped = np.maximum.accumulate((n - np.arange(n)) * p[order])
    else:
        scaled = n / np.arange(1, n + 1) * p[order]
        stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    found = np.empty(n)
    found[order] = stepped
    return found
