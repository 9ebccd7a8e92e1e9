"""Names for the arrays that pass between the layers."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
IntVector: TypeAlias = NDArray[np.int64]
BoolVector: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
