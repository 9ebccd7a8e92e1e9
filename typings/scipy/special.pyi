from typing import Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

class _Elementwise(Protocol):
    @overload
    def __call__(self, *x: float) -> np.float64: ...
    @overload
    def __call__(self, *x: ArrayLike) -> NDArray[np.float64]: ...

betainc: _Elementwise
chdtrc: _Elementwise
chdtri: _Elementwise
digamma: _Elementwise
entr: _Elementwise
expit: _Elementwise
fdtrc: _Elementwise
gammainc: _Elementwise
gammaincinv: _Elementwise
gammaln: _Elementwise
logit: _Elementwise
ndtr: _Elementwise
ndtri: _Elementwise
rel_entr: _Elementwise
stdtr: _Elementwise
stdtrit: _Elementwise
xlogy: _Elementwise

@overload
def logsumexp(a: ArrayLike) -> np.float64: ...
@overload
def logsumexp(a: ArrayLike, axis: int, *, keepdims: bool = ...) -> NDArray[np.float64]: ...
def softmax(x: ArrayLike, axis: int | None = ...) -> NDArray[np.float64]: ...
