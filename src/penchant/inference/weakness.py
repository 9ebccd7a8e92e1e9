"""Parameters whose order of magnitude the choices do not tell: "weakly identified".

A positive parameter (a temperature, a noise, a rate, a length, a variance) is weakly identified if
a value e^1.96, about seven, times as large or as small as the estimate is in its 95 % interval, by
the curvature or by the likelihood ratio; or if the end of the range that was searched is, so that
nobody knows how far it goes on. By the curvature that is a standard error as large as the parameter
itself. A ratio of weights (a prior mean, a bonus) may be 0 or negative: its unit is the largest
entry of the variable that it is relative to over the largest of its own, for a prior mean the
largest reward that was expected, and it is weakly identified if its standard error is larger.

A weight of 0 leaves the shape of its variable without meaning (Davies 1977): towards an infinite
temperature the likelihood ratio has one degree of freedom more for each shape parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.inference.grids import Grid
from penchant.inference.natural_intervals import still_above
from penchant.inference.peaks import Peaks
from penchant.inference.profiles import Profiles
from penchant.models.model import Natural

REACH = float(stats.norm.isf(0.025))  # on the logarithm: a standard error as large as the parameter
DROP = float(stats.chi2.isf(0.05, 1)) / 2
# Below this standard error of the logarithm, the ends are eight standard errors away: no profile is
# so skewed that it is worth a climb.
SURE = 0.25
ADVICE = (
    "Read the profile intervals; do not interpret its size, or average it. Hold it fixed, give a "
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
    found: dict[int, list[str]] = {int(k): [] for k in which}
    if profiles.prior is not None:
        return {}
    for natural in profiles.natural:
        if natural.kind == "ratio":
            for k in which[_vague(natural, peaks, covariances, which)]:
                found[int(k)].append(f"{natural.name} (its standard error is beyond its unit)")
        elif is_positive(profiles, natural):
            mine = _Positive(profiles, natural, grids, peaks, covariances, which)
            for k, words in mine.limits().items():
                found[k].append(f"{natural.name} ({' and '.join(words)})")
    return {k: _sentence(said) for k, said in found.items() if said}


def is_positive(profiles: Profiles, natural: Natural) -> bool:
    """Whether a parameter is known by its order of magnitude: it is above 0 everywhere."""
    if natural.kind == "shape":
        return profiles.shape[natural.index].low > 0
    return natural.kind == "reciprocal" or (
        natural.kind == "weight" and natural.index in profiles.positive
    )


def _sentence(said: Sequence[str]) -> str:
    return (
        f"The choices do not tell the order of magnitude of {' and '.join(said)}: a value seven "
        f"times away, or the end of the range, is inside the 95 % interval. {ADVICE}"
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
        value = self._values(self.peaks.points.theta, self.peaks.points.psi)[self.which]
        error = _errors(self.natural, self.peaks, self.covariances, self.which) / value
        reached = np.zeros((len(self.which), 2), dtype=bool)
        reached[error > 1.0] = True  # by the curvature, to both sides
        ended = np.zeros((len(self.which), 2), dtype=bool)
        for i, k in enumerate(self.which):
            self._look_at_cells(i, int(k), np.log(value[i]), reached, ended)
        self._follow(np.flatnonzero(error > SURE), reached)
        words = "towards 0", f"towards {self._end}"
        return {
            int(k): [
                *(w for w, far in zip(words, reached[i], strict=True) if far),
                *(["to the end of its range"] if ended[i].any() and not reached[i].any() else []),
            ]
            for i, k in enumerate(self.which)
            if reached[i].any() or ended[i].any()
        }

    @property
    def _end(self) -> str:
        shape = self.profiles.shape[self.natural.index] if self.natural.kind == "shape" else None
        return "infinity" if shape is None or shape.scale == "log" else f"{shape.high:g}"

    def _values(self, theta: Matrix, psi: Matrix) -> Vector:
        """The natural parameter at many points."""
        natural = self.natural
        with np.errstate(divide="ignore"):
            if natural.kind == "shape":
                return np.asarray(natural.scale * psi[:, natural.index] ** natural.power)
            weight = np.maximum(theta[:, natural.index], 0.0)
            return weight if natural.kind == "weight" else 1.0 / weight

    def _look_at_cells(
        self, i: int, k: int, centre: float, reached: BoolVector, ended: BoolVector
    ) -> None:
        """What the grid shows of the profile: cells that are inside the interval, and far away."""
        grid = self.grids[k]
        if not isinstance(grid, Grid):  # far below its peak, all of it
            return
        inside = grid.looked & (grid.values > self.peaks.points.value[k] - DROP)
        with np.errstate(divide="ignore"):
            away = np.log(self._values(grid.theta[inside], grid.psi[inside])) - centre
        reached[i] |= bool((away < -REACH).any()), bool((away > REACH).any())
        if self.natural.kind == "shape" and inside.any():
            shape = self.profiles.shape[self.natural.index]
            own = grid.psi[inside, self.natural.index]
            # A linear range ends, such as at 1, where the parameter does.
            high = shape.scale == "log" and bool((own >= shape.high).any())
            ended[i] |= bool((own <= shape.low).any()), high

    def _follow(self, rows: IntVector, reached: BoolVector) -> None:
        """Follow the profile outwards, where the grid does not show enough."""
        if self.natural.kind == "shape" and self.profiles.n_shape == 1:
            return  # its grid is the profile
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
                float(stats.chi2.isf(0.05, freedom)) / 2,
            )
