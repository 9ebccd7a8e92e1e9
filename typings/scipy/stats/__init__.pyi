import numpy as np
from numpy.typing import ArrayLike, NDArray

from scipy.special import _Elementwise
from scipy.stats import qmc as qmc

class _Frozen:
    logpdf: _Elementwise
    ppf: _Elementwise
    cdf: _Elementwise
    def rvs(self, size: int, random_state: np.random.Generator) -> NDArray[np.float64]: ...

class _Distribution:
    sf: _Elementwise
    def __call__(self, *parameters: float) -> _Frozen: ...

class rv_continuous:
    def __call__(self, *args: float, **kwds: float) -> _Frozen: ...

class rv_discrete:
    def __call__(self, *args: float, **kwds: float) -> _Frozen: ...

chi2: _Distribution
norm: _Distribution
t: _Distribution

class _Test:
    statistic: float
    pvalue: float

def binomtest(k: int, n: int) -> _Test: ...
def chi2_contingency(observed: ArrayLike, *, correction: bool = ...) -> _Test: ...
def false_discovery_control(ps: ArrayLike) -> NDArray[np.float64]: ...
def fisher_exact(table: ArrayLike) -> _Test: ...
def rankdata(a: ArrayLike, *, axis: int | None = ...) -> NDArray[np.float64]: ...
def spearmanr(a: ArrayLike, b: ArrayLike) -> _Test: ...
def wilcoxon(x: ArrayLike) -> _Test: ...
