"""Parameters whose order of magnitude the choices do not tell: "weakly identified".

A temperature, or any other parameter that is 1 over a weight or a weight that must be positive, is
weakly identified if a value e^1.96, about seven, times as large or as small as the estimate is in
its 95 % interval, by the curvature or by the likelihood ratio. By the curvature that is a standard
error as large as the parameter itself. A ratio of weights (a prior mean, a bonus) may be 0 or
negative: its unit is the largest entry of the variable that it is relative to over the largest of
its own, for a prior mean the largest reward that was expected, and it is weakly identified if its
standard error is larger. Shape parameters are asked for all of their range only: where they are
unknown, so that choices mean little, the temperature moves with them. With five decisions or fewer
for each parameter the rule does not ask, and a note says so: there the maximum is what there is.

A weight of 0 leaves the shape of its variable without meaning (Davies 1977): towards an infinite
temperature the likelihood ratio has one degree of freedom more for each shape parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.grids import Grid
from penchant.inference.natural_intervals import still_above
from penchant.inference.peaks import Peaks
from penchant.inference.profiles import Profiles
from penchant.models.model import Natural
from penchant.tails import chi_square_point, normal_point

REACH = float(normal_point(0.025))  # on the logarithm: a standard error as large as the parameter
DROP = float(chi_square_point(0.05, 1)) / 2
# Below this standard error of the logarithm, the ends are eight standard errors away: no profile is
# so skewed that it is worth a climb.
SURE = 0.25
FEW = 5  # decisions for each parameter: of so few no order of magnitude is expected
ADVICE = (
    "Read the profile intervals, and do not interpret its size. Hold it fixed, give a "
    "parameter_prior, or collect more decisions."
)


def weakly_identified(
    profiles: Profiles,
    grids: Sequence[Grid | Callable[[], Grid]],
    peaks: Peaks,
    covariances: Matrix,
    which: IntVector,
) -> dict[int, str]:
    """Sentences about those of some subjects whose parameters are weakly identified."""
    if profiles.prior is not None:
        return {}
    which = which[~are_few(profiles)[peaks.points.subject[which]]]
    found: dict[int, list[str]] = {int(k): [] for k in which}
    for natural in profiles.natural:
        if natural.kind == "ratio":
            for k in which[_vague(natural, peaks, covariances, which)]:
                found[int(k)].append(f"{natural.name} (its standard error is beyond its unit)")
        elif is_positive(profiles, natural):
            mine = _Positive(profiles, natural, grids, peaks, covariances, which)
            for k, words in mine.limits().items():
                found[k].append(f"{natural.name} ({' and '.join(words)})")
    return {k: _sentence(said) for k, said in found.items() if said}


def are_few(profiles: Profiles) -> BoolVector:
    """Subjects with so few decisions that the rule does not ask; a note says so."""
    return np.asarray(profiles.n_decisions <= FEW * (profiles.n_weights + profiles.n_shape))


def few_words(n_decisions: int, n_parameters: int) -> tuple[str, ...]:
    """The note on an estimate from so few decisions."""
    if n_decisions > FEW * n_parameters:
        return ()
    return (
        f"{n_decisions} decisions for {n_parameters} parameters: too few to rest on standard "
        "errors; read the profile intervals.",
    )


def is_positive(profiles: Profiles, natural: Natural) -> bool:
    """Whether a parameter is known by its order of magnitude: made of one weight, and above 0."""
    return natural.kind == "reciprocal" or (
        natural.kind == "weight" and natural.index in profiles.positive
    )


def _sentence(said: Sequence[str]) -> str:
    return (
        f"The choices do not tell the order of magnitude of {' and '.join(said)}: a value seven "
        f"times away is inside the 95 % interval. {ADVICE}"
    )


def _errors(natural: Natural, peaks: Peaks, covariances: Matrix, which: IntVector) -> Vector:
    """Standard errors by the delta method; NaN where there is no covariance."""
    found = np.empty(len(which))
    for i, k in enumerate(which):
        slope = natural.gradient(peaks.points.theta[k], peaks.points.psi[k])
        used = slope != 0
        variance = slope[used] @ covariances[k][np.ix_(used, used)] @ slope[used]
        found[i] = np.sqrt(variance) if variance >= 0 else np.nan
    return found


def _vague(natural: Natural, peaks: Peaks, covariances: Matrix, which: IntVector) -> BoolVector:
    """Ratios of weights that are not known to within their unit."""
    largest = peaks.points.largest[which, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = largest[:, natural.other] / largest[:, natural.index]
        return np.asarray(_errors(natural, peaks, covariances, which) > unit)


@dataclass(frozen=True)
class _Positive:
    """A positive parameter of some subjects."""

    profiles: Profiles
    natural: Natural
    grids: Sequence[Grid | Callable[[], Grid]]
    peaks: Peaks
    covariances: Matrix
    which: IntVector

    def limits(self) -> dict[int, list[str]]:
        """Towards where the interval of each subject is open, in words; only where it is."""
        value = self._values(self.peaks.points.theta)[self.which]
        error = _errors(self.natural, self.peaks, self.covariances, self.which) / value
        reached = np.zeros((len(self.which), 2), dtype=bool)
        reached[error > 1.0] = True  # by the curvature, to both sides
        for i, k in enumerate(self.which):
            reached[i] |= self._shown_by_cells(int(k), float(np.log(value[i])))
        self._follow(np.flatnonzero(error > SURE), reached)
        words = "towards 0", "towards infinity"
        return {
            int(k): [w for w, far in zip(words, reached[i], strict=True) if far]
            for i, k in enumerate(self.which)
            if reached[i].any()
        }

    def _values(self, theta: Matrix) -> Vector:
        """The natural parameter at many weights."""
        weight = np.maximum(theta[:, self.natural.index], 0.0)
        with np.errstate(divide="ignore"):
            return weight if self.natural.kind == "weight" else 1.0 / weight

    def _shown_by_cells(self, k: int, centre: float) -> BoolVector:
        """What the grid shows of the profile: cells that are inside the interval, and far away."""
        grid = self.grids[k]
        if not isinstance(grid, Grid):  # far below its peak, all of it
            return np.zeros(2, dtype=bool)
        inside = grid.looked & (grid.values > self.peaks.points.value[k] - DROP)
        with np.errstate(divide="ignore"):
            away = np.log(self._values(grid.theta[inside])) - centre
        return np.array([(away < -REACH).any(), (away > REACH).any()])

    def _follow(self, rows: IntVector, reached: BoolVector) -> None:
        """Follow the profile outwards, where the grid does not show enough."""
        for side, sign in enumerate((-1.0, 1.0)):
            some = rows[~reached[rows].any(axis=1)]
            some = np.array(
                [i for i in some if isinstance(self.grids[self.which[i]], Grid)], dtype=np.int64
            )
            if not len(some):
                continue
            freedom = 1
            if self.natural.kind == "reciprocal" and sign > 0:
                freedom += self.profiles.n_shape
            reached[some, side] = still_above(
                self.profiles,
                self.grids,
                self.peaks,
                self.natural,
                self.which[some],
                sign * REACH,
                float(chi_square_point(0.05, freedom)) / 2,
            )
