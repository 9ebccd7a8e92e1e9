"""Names for the arrays and labels that pass between the layers."""

import os
from collections.abc import Hashable, Sequence
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = NDArray[np.float64]  # of any number of dimensions, as the other matrices
IntVector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
BoolVector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
IntMatrix: TypeAlias = NDArray[np.int64]
BoolMatrix: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
Label: TypeAlias = Hashable  # of a subject, group or condition, as the user's table has it
FilePath: TypeAlias = str | os.PathLike[str]
Names: TypeAlias = str | Sequence[str]  # one name, or several


class Elementwise(Protocol):
    """A function of numbers, or of arrays element by element."""

    @overload
    def __call__(self, *x: float) -> np.float64: ...
    @overload
    def __call__(self, *x: ArrayLike) -> Matrix: ...
