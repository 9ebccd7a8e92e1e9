import numpy as np
from numpy.typing import ArrayLike, NDArray

def eigh(a: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
