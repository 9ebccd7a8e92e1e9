from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class OptimizeResult:
    x: NDArray[np.float64]
    fun: float
    success: bool
    message: str

class _LinearProgramResult:
    x: NDArray[np.float64] | None  # None where it was not solved
    message: str

def brentq(f: Callable[..., float], a: float, b: float) -> float: ...
def linprog(
    c: ArrayLike,
    A_ub: ArrayLike | None = ...,
    b_ub: ArrayLike | None = ...,
    *,
    bounds: tuple[float, float] = ...,
    method: str = ...,
    options: Mapping[str, float] = ...,
) -> _LinearProgramResult: ...
def minimize(
    fun: Callable[..., Any],  # of x and args: a number, or with jac=True that and its gradient
    x0: ArrayLike,
    args: tuple[object, ...] = ...,
    *,
    jac: bool = ...,
    method: str = ...,
    options: Mapping[str, float] = ...,
) -> OptimizeResult: ...
def nnls(A: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], float]: ...
