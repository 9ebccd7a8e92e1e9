"""What cannot be drawn at its place: it is marked at the edge, never moved to a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError
from penchant.figures.labels import format_log_axis, parameter_range
from penchant.figures.style import HAIRLINE, add_remark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MARGIN = 0.05
CALM = 0.1  # share of interval ends at each side that do not say how long an axis should be
REACH = 1.0  # how far a finite end may lie beyond the calm ones and still be shown, in their range
FAR, FOLD = 3.0, 100.0  # the same for estimates; on a logarithmic axis at least so many times
EDGE = 0.03  # of the range of a bounded parameter, beyond each of its bounds
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
        low, high = self.units(np.array([self.low, self.high]))
        inside = np.clip(np.where(np.isnan(values), self.low, values), self.low, self.high)
        return np.asarray(INSET + (1 - 2 * INSET) * (self.units(inside) - low) / (high - low))

    def clipped(self, values: Vector) -> Vector:
        """Values, those beyond moved to the edge: for ends of lines that go on."""
        return np.clip(values, self.low, self.high)

    def units(self, values: Vector) -> Vector:
        """Values as equal lengths of the axis count them."""
        return np.log(values) if self.logarithmic else values

    def apply(self, axes: Axes, which: str) -> None:
        """Give an axis, "x" or "y", this scale."""
        axes.set(**{f"{which}scale": "log" if self.logarithmic else "linear"})
        axes.set(**{f"{which}lim": (self.low, self.high)})
        if self.logarithmic:
            format_log_axis(axes.xaxis if which == "x" else axes.yaxis)


def choose_scale(
    estimates: Vector,
    ends: Matrix,
    logarithmic: bool = False,
    limits: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> Scale:
    """Choose an axis that shows every estimate and every interval end that is not absurd.

    Parameters
    ----------
    estimates
        Values to be shown, but for those far from the middle four fifths of them: a temperature of
        1e-12, or what something is worth to somebody whom the price is all the same.
    ends
        Low and high of each interval. The estimates and all but the widest tenth at each side say
        how long the axis is; finite ends are shown that lie as far beyond again, or two intervals
        of the usual length. What is farther out would flatten the rest.
    limits
        The ends of the axis, if they are to be others.
    bounds
        What the parameter can be: the axis hardly leaves it.
    """
    if limits is not None:
        check_limits(limits, logarithmic)
        return Scale(float(limits[0]), float(limits[1]), logarithmic)
    known = _without_outliers(estimates[np.isfinite(estimates)], logarithmic)
    lows, highs = ends[:, 0], ends[:, 1]
    floor = 0.0 if logarithmic else -np.inf
    lows, highs = lows[np.isfinite(lows) & (lows > floor)], highs[np.isfinite(highs)]
    highs = highs[highs > floor]
    reach = [known, *([np.quantile(lows, [CALM], method="higher")] if lows.size else [])]
    reach += [np.quantile(highs, [1 - CALM], method="lower")] if highs.size else []
    shown = np.concatenate(reach)
    shown = shown[shown > floor]
    if not shown.size:
        return Scale(1.0, 10.0, True) if logarithmic else Scale(0.0, 1.0)
    shown = np.append(shown, _ends_within_reach(shown, ends, logarithmic))
    found = _padded_scale(float(shown.min()), float(shown.max()), logarithmic)
    if bounds is None or logarithmic:
        return found
    room = EDGE * (bounds[1] - bounds[0])  # so that a mark at a bound is seen whole
    return Scale(max(found.low, bounds[0] - room), min(found.high, bounds[1] + room))


def _without_outliers(estimates: Vector, logarithmic: bool) -> Vector:
    """Estimates without those that would flatten all others."""
    able = estimates[estimates > 0] if logarithmic else estimates
    if not able.size:
        return able
    places = Scale(0.0, 1.0, logarithmic).units(able)
    low, high = np.quantile(places, [CALM, 1 - CALM])
    room = FAR * (high - low) or np.inf
    if logarithmic:
        room = max(FAR * (high - low), float(np.log(FOLD)))
    return np.asarray(able[(places >= low - room) & (places <= high + room)])


def clip_to_bounds(
    values: Vector, ends: Matrix, name: str, bounds: tuple[float, float] | None
) -> tuple[Matrix, tuple[float, float] | None]:
    """Intervals that end where the parameter does, and what it can be, if that is known.

    A parameter can be what its bounds or its name (a learning rate) say, unless an estimate says
    otherwise. An interval without a bound ends at that of the parameter.
    """
    known = values[np.isfinite(values)]
    own = bounds or parameter_range(name)
    if own is None or ((known < own[0]) | (known > own[1])).any():
        return ends, None
    return np.clip(ends, *own), own


def _ends_within_reach(shown: Vector, ends: Matrix, logarithmic: bool) -> Vector:
    """Ends that are not much farther out than what is shown, or than intervals are long."""
    axis = Scale(0.0, 1.0, logarithmic)
    able = ends > 0 if logarithmic else np.ones(ends.shape, dtype=bool)
    able &= np.isfinite(ends)
    places = axis.units(np.where(able, ends, 1.0))
    low, high = float(axis.units(shown).min()), float(axis.units(shown).max())
    whole = able.all(axis=1)
    lengths = (places[:, 1] - places[:, 0])[whole]
    usual = float(np.quantile(lengths, 0.5, method="lower")) if lengths.size else 0.0
    room = max(REACH * (high - low), 2 * usual)
    near = able & (places >= low - room) & (places <= high + room)
    return np.asarray(ends[near])


def check_limits(limits: tuple[float, float], logarithmic: bool = False) -> None:
    """Refuse ends of an axis that do not go up."""
    low, high = limits
    if not (np.isfinite([low, high]).all() and low < high and (low > 0 or not logarithmic)):
        rule = "go up from above 0" if logarithmic else "go up"
        raise DataError(f"limits must {rule}; got {low} and {high}. Correct them.")


def _padded_scale(low: float, high: float, logarithmic: bool) -> Scale:
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
    is not there at all. Finite ones are counted by `note_values_off_axis`.
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
    return int((~np.isfinite(values)).sum())


def note_values_off_axis(axes: Axes, values: Vector, shown: Scale) -> None:
    """Count the estimates that are finite and not on the axis."""
    away = np.isfinite(values) & ~shown.seen(values)
    nowhere = away & (values <= 0) if shown.logarithmic else np.zeros(len(values), dtype=bool)
    if nowhere.any():
        add_remark(axes, f"estimate 0 or below: {int(nowhere.sum())}")
    if (away & ~nowhere).any():
        add_remark(axes, f"beyond the axis: {int((away & ~nowhere).sum())}")


EDGE_MARKERS = {"x": ("<", ">"), "y": ("v", "^")}


@dataclass(frozen=True)
class TruncatedEnds:
    """How many intervals have an end that no axis shows, and one that this axis does not."""

    unbounded: int = 0
    cut: int = 0

    def __add__(self, other: TruncatedEnds) -> TruncatedEnds:
        """Both together."""
        return TruncatedEnds(self.unbounded + other.unbounded, self.cut + other.cut)

    def say(self, axes: Axes, which: str, logarithmic: bool = False) -> None:
        """Say above the axes what the marks at its edges mean, where there are any."""
        full, hollow = ("▸", "▹") if which == "x" else ("▴", "▵")
        if self.unbounded:
            words = "to 0 or without a bound" if logarithmic else "without a bound"
            add_remark(axes, f"{full} interval {words}: {self.unbounded}")
        if self.cut:
            add_remark(axes, f"{hollow} interval ends beyond the axis: {self.cut}")


def draw_intervals(
    axes: Axes,
    places: Vector,
    ends: Matrix,
    shown: Scale,
    which: str,
    *,
    color: str,
    size: float = 2.5,
    **line: Any,
) -> TruncatedEnds:
    """Draw intervals along an axis, to its edge where they go on: with a mark that says why.

    A full triangle is an end without a bound, which on a logarithmic axis is also one at 0 or
    below, infinitely far away; an open one is a finite end that lies beyond this axis.

    Parameters
    ----------
    axes
        Where to draw.
    places
        Of the intervals on the other axis.
    ends
        (n, 2): low and high. Where one is NaN there is no bound at that side; where both are, there
        is no interval, and none is drawn.
    shown
        The axis that the intervals lie along.
    which
        "x" or "y".
    color, line
        Look of the lines and of the marks.
    size
        Of the marks, in points.
    """
    there = ~np.isnan(ends).all(axis=1)
    places, (low, high) = np.asarray(places, dtype=float)[there], ends[there].T
    floor = 0.0 if shown.logarithmic else -np.inf
    open_low, open_high = ~(low > floor), ~(high < np.inf)
    low, high = np.where(open_low, -np.inf, low), np.where(open_high, np.inf, high)
    # an interval that lies as a whole beyond the axis has a mark at one of its edges
    cut_low = (~open_low & (low < shown.low)) | (~open_high & (high < shown.low))
    cut_high = (~open_high & (high > shown.high)) | (~open_low & (low > shown.high))
    draw = axes.hlines if which == "x" else axes.vlines
    if places.size:
        draw(places, shown.clipped(low), shown.clipped(high), color=color, **line)
    for side, (is_open, is_cut) in enumerate(((open_low, cut_low), (open_high, cut_high))):
        marker = EDGE_MARKERS[which][side]
        _mark_edge(axes, places[is_open], marker, side, which, color, size, color)
        _mark_edge(axes, places[is_cut & ~is_open], marker, side, which, color, size, "white")
    return TruncatedEnds(int((open_low | open_high).sum()), int((cut_low | cut_high).sum()))


def _mark_edge(
    axes: Axes,
    places: Vector,
    marker: str,
    side: float,
    which: str,
    color: str,
    size: float,
    inside: str,
) -> None:
    if not len(places):
        return
    edge = np.full(len(places), float(side))
    along = axes.get_yaxis_transform() if which == "x" else axes.get_xaxis_transform()
    axes.plot(
        *((edge, places) if which == "x" else (places, edge)),
        marker,
        transform=along,
        color=color,
        markerfacecolor=inside,
        markeredgewidth=HAIRLINE,
        markersize=size,
        linestyle="none",
        clip_on=False,
        zorder=4,
    )
