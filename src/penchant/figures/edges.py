"""What cannot be drawn at its place: it is marked at the edge, never moved to a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError
from penchant.figures.dressing import remark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.05
UNSEEN = 0.1  # share of interval ends that may lie beyond the axis at each side
INSET = 0.015  # of the axis, so that a mark at the edge is seen whole


@dataclass(frozen=True)
class Scale:
    """What a numerical axis shows.

    Attributes
    ----------
    low, high
        Its ends.
    logarithmic
        Whether equal ratios are equally long.
    """

    low: float
    high: float
    logarithmic: bool = False

    def seen(self, values: Vector) -> BoolVector:
        """Which values have a place on the axis."""
        return np.isfinite(values) & (values >= self.low) & (values <= self.high)

    def fraction(self, values: Vector) -> Vector:
        """Place along the axis, 0 to 1; a value beyond is at its edge, NaN at the low one."""
        low, high = self._units(np.array([self.low, self.high]))
        inside = np.clip(np.where(np.isnan(values), self.low, values), self.low, self.high)
        return np.asarray(INSET + (1 - 2 * INSET) * (self._units(inside) - low) / (high - low))

    def clipped(self, values: Vector) -> Vector:
        """Values, those beyond moved to the edge: for ends of lines that go on."""
        return np.clip(values, self.low, self.high)

    def _units(self, values: Vector) -> Vector:
        return np.log(values) if self.logarithmic else values

    def apply(self, axes: Axes, which: str) -> None:
        """Give an axis, "x" or "y", this scale."""
        axes.set(**{f"{which}scale": "log" if self.logarithmic else "linear"})
        axes.set(**{f"{which}lim": (self.low, self.high)})
        if self.logarithmic:
            self._name_decades(axes.xaxis if which == "x" else axes.yaxis)

    def _name_decades(self, axis: Any) -> None:
        """Label powers of ten; where fewer than two are in sight, twos and fives as well."""
        from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

        axis.set_minor_formatter(NullFormatter())
        if np.floor(np.log10(self.high)) <= np.ceil(np.log10(self.low)):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            plainly: dict[str, Any] = {"labelOnlyBase": False, "minor_thresholds": (np.inf, np.inf)}
            axis.set_major_formatter(LogFormatterSciNotation(**plainly))


def scale(
    estimates: Vector,
    ends: Matrix,
    logarithmic: bool = False,
    limits: tuple[float, float] | None = None,
) -> Scale:
    """Choose an axis that shows every finite estimate and most of the interval ends.

    Parameters
    ----------
    estimates
        Values to be shown.
    ends
        Low and high of each interval. The widest tenth at each side may end beyond the axis, so
        that a few estimates that tell nothing do not flatten the rest.
    limits
        The ends of the axis, if they are to be others.
    """
    if limits is not None:
        check_limits(limits, logarithmic)
        return Scale(float(limits[0]), float(limits[1]), logarithmic)
    known = estimates[np.isfinite(estimates)]
    lows, highs = ends[:, 0], ends[:, 1]
    floor = 0.0 if logarithmic else -np.inf
    lows, highs = lows[np.isfinite(lows) & (lows > floor)], highs[np.isfinite(highs)]
    reach = [known, *([np.quantile(lows, [UNSEEN])] if lows.size else [])]
    reach += [np.quantile(highs, [1 - UNSEEN])] if highs.size else []
    shown = np.concatenate(reach)
    shown = shown[shown > floor]
    if not shown.size:
        return Scale(1.0, 10.0, True) if logarithmic else Scale(0.0, 1.0)
    return _padded(float(shown.min()), float(shown.max()), logarithmic)


def check_limits(limits: tuple[float, float], logarithmic: bool = False) -> None:
    """Refuse ends of an axis that do not go up."""
    low, high = limits
    if not (np.isfinite([low, high]).all() and low < high and (low > 0 or not logarithmic)):
        rule = "go up from above 0" if logarithmic else "go up"
        raise DataError(f"limits must {rule}; got {low} and {high}. Correct them.")


def _padded(low: float, high: float, logarithmic: bool) -> Scale:
    if logarithmic:
        ratio = max(high / low, 1.5) ** MARGIN
        if high == low:
            ratio = 1.5
        return Scale(low / ratio, high * ratio, True)
    room = MARGIN * (high - low) or 0.1 * abs(low) or 1.0
    return Scale(low - room, high + room)


def mark_at_edge(axes: Axes, places: Vector, values: Vector, shown: Scale, color: str) -> int:
    """Mark values without a place on the y axis at its edge, above their x; count those not finite.

    A triangle points to where a value lies beyond the axis or at infinity; a cross is a value that
    is not there at all.
    """
    away = ~shown.seen(values)
    upright = axes.get_xaxis_transform()
    height = shown.fraction(values)
    for marker, kind in (
        ("^", values > shown.high),
        ("v", values < shown.low),
        ("x", np.isnan(values)),
    ):
        chosen = away & kind
        if chosen.any():
            axes.plot(
                places[chosen],
                height[chosen],
                marker,
                transform=upright,
                color=color,
                markersize=3.5,
                clip_on=False,
                linestyle="none",
                zorder=4,
            )
    beyond = int((away & np.isfinite(values)).sum())
    if beyond:
        remark(axes, f"beyond the axis: {beyond}")
    return int((~np.isfinite(values)).sum())
