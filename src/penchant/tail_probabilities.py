"""Survival functions (sf) of the normal, chi-square, t and F distributions, and inverses (isf).

They equal those of `scipy.stats`, whose import takes longer than most fits, and call the same
functions of `scipy.special`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from penchant._typing import Elementwise


def _elementwise(function: Callable[..., Any]) -> Elementwise:
    """Annotate a function of numbers that takes arrays, too."""
    return function


@_elementwise
def normal_sf(z: Any) -> Any:
    """P(Z > z) of a standard normal."""
    return special.ndtr(-np.asarray(z, dtype=np.float64))


@_elementwise
def normal_isf(p: Any) -> Any:
    """Value that a standard normal exceeds with probability p."""
    return -special.ndtri(p)


@_elementwise
def chi_square_sf(x: Any, df: Any) -> Any:
    """P(X > x) of chi-square with `df` degrees of freedom."""
    return special.chdtrc(df, np.maximum(x, 0.0))


@_elementwise
def chi_square_isf(p: Any, df: Any) -> Any:
    """Value that chi-square with `df` degrees of freedom exceeds with probability p."""
    return special.chdtri(df, p)


@_elementwise
def t_sf(t: Any, df: Any) -> Any:
    """P(T > t) of Student's t with `df` degrees of freedom, which may be infinite."""
    t, df = np.asarray(t, dtype=np.float64), np.asarray(df, dtype=np.float64)
    # stdtr is NaN at infinitely many degrees of freedom, where t is normal.
    return np.where(np.isposinf(df), special.ndtr(-t), special.stdtr(df, -t))[()]


@_elementwise
def t_isf(p: Any, df: Any) -> Any:
    """Value that Student's t with `df` degrees of freedom exceeds with probability p."""
    p, df = np.asarray(p, dtype=np.float64), np.asarray(df, dtype=np.float64)
    return np.where(np.isposinf(df), -special.ndtri(p), -special.stdtrit(df, p))[()]


@_elementwise
def f_sf(f: Any, df: Any, df_within: Any) -> Any:
    """P(F > f) of F with `df` and `df_within` degrees of freedom."""
    return special.fdtrc(df, df_within, np.maximum(f, 0.0))
