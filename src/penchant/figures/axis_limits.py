"""Limits of numerical axes, and marks at the edge for values that lie beyond them.

Limits are robust: outlying estimates and interval ends do not flatten the rest. A value outside is
marked at the edge and counted in a remark; it is never drawn at a number that it does not have.
Relies on `label_text` for ticks and on `style` for remarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError
from penchant.figures.label_text import format_log_axis, range_implied_by_name
from penchant.figures.style import HAIRLINE, add_remark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """Numbers that decide which part of the data an axis shows."""

    padding: float = 0.05  # share of the range added at each end, so that marks keep off the frame
    trim: float = 0.1  # share of ends that may lie off the axis: of ten intervals one may be absurd
    # in ranges of the rest: interval ends farther off are cut, as they would flatten the estimates
    interval_reach: float = 1.0
    outlier_reach: float = 3.0  # in 10-90 % ranges: no value of a normal sample lies this far off
    # nearly equal values have a 10-90 % range near 0, by which all others would be outliers
    min_outlier_ratio: float = 100.0
    bound_padding: float = 0.03  # share of a parameter's range: a marker at its bound stays whole
    marker_inset: float = 0.015  # share of the axis, so that a marker at the edge is not cut


LIMITS = LimitOptions()


@dataclass(frozen=True)
class AxisScale:
    """Range and scale of a numerical axis.

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

    def contains(self, values: Vector) -> BoolVector:
        """Whether each value is finite and lies within the limits."""
        return np.isfinite(values) & (values >= self.low) & (values <= self.high)

    def fraction(self, values: Vector) -> Vector:
        """Position along the axis, 0 to 1; values beyond lie at the edge, NaN at the lower one."""
        low, high = self.transform(np.array([self.low, self.high]))
        inside = np.clip(np.where(np.isnan(values), self.low, values), self.low, self.high)
        inset = LIMITS.marker_inset
        return np.asarray(inset + (1 - 2 * inset) * (self.transform(inside) - low) / (high - low))

    def clip(self, values: Vector) -> Vector:
        """Clip values to the limits, for lines that continue beyond the axis."""
        return np.clip(values, self.low, self.high)

    def transform(self, values: Vector) -> Vector:
        """Transform values to the units in which the axis is linear."""
        return np.log(values) if self.logarithmic else values

    def apply(self, axes: Axes, axis_name: str) -> None:
        """Give an axis, "x" or "y", this scale."""
        axes.set(**{f"{axis_name}scale": "log" if self.logarithmic else "linear"})
        axes.set(**{f"{axis_name}lim": (self.low, self.high)})
        if self.logarithmic:
            format_log_axis(axes.xaxis if axis_name == "x" else axes.yaxis)


def choose_scale(
    estimates: Vector,
    ends: Matrix,
    logarithmic: bool = False,
    limits: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> AxisScale:
    """Choose limits that show all estimates and interval ends but outliers.

    Parameters
    ----------
    estimates
        Values to show, except outliers of their 10-90 % range: a temperature of 1e-12, or the
        worth of an attribute to somebody who ignores the price.
    ends
        Low and high of each interval. The estimates and all but the outer tenth of the ends set the
        range; finite ends beyond it are shown up to once that range, or two median interval
        lengths, away. Farther ends would flatten the rest.
    limits
        Limits given by the caller, used as they are.
    bounds
        Range of the parameter: the axis extends beyond it by half a marker only.
    """
    if limits is not None:
        check_limits(limits, logarithmic)
        return AxisScale(float(limits[0]), float(limits[1]), logarithmic)
    known = _drop_outliers(estimates[np.isfinite(estimates)], logarithmic)
    lows, highs = ends[:, 0], ends[:, 1]
    floor = 0.0 if logarithmic else -np.inf  # log(0) is no place: ends at 0 cannot set limits
    lows, highs = lows[np.isfinite(lows) & (lows > floor)], highs[np.isfinite(highs)]
    highs = highs[highs > floor]
    # "higher" and "lower" round inwards: with few intervals no single end sets the range
    reach = [known, *([np.quantile(lows, [LIMITS.trim], method="higher")] if lows.size else [])]
    reach += [np.quantile(highs, [1 - LIMITS.trim], method="lower")] if highs.size else []
    shown = np.concatenate(reach)
    shown = shown[shown > floor]
    if not shown.size:  # without any finite value the axis carries only marks at its edge
        return AxisScale(1.0, 10.0, True) if logarithmic else AxisScale(0.0, 1.0)
    shown = np.append(shown, _interval_ends_near_range(shown, ends, logarithmic))
    padded = _padded_scale(float(shown.min()), float(shown.max()), logarithmic)
    if bounds is None or logarithmic:  # a bound at 0 is infinitely far on a logarithmic axis
        return padded
    room = LIMITS.bound_padding * (bounds[1] - bounds[0])
    return AxisScale(max(padded.low, bounds[0] - room), min(padded.high, bounds[1] + room))


def _drop_outliers(estimates: Vector, logarithmic: bool) -> Vector:
    """Drop estimates that would flatten all others."""
    able = estimates[estimates > 0] if logarithmic else estimates
    if not able.size:
        return able
    places = AxisScale(0.0, 1.0, logarithmic).transform(able)
    low, high = np.quantile(places, [LIMITS.trim, 1 - LIMITS.trim])
    # a range of 0 would make every other value an outlier
    room = LIMITS.outlier_reach * (high - low) or np.inf
    if logarithmic:
        ratio = float(np.log(LIMITS.min_outlier_ratio))
        room = max(LIMITS.outlier_reach * (high - low), ratio)
    return np.asarray(able[(places >= low - room) & (places <= high + room)])


def clipped_intervals_and_range(
    values: Vector, ends: Matrix, name: str, bounds: tuple[float, float] | None
) -> tuple[Matrix, tuple[float, float] | None]:
    """Clip intervals to the range of the parameter, and return that range if it is known.

    The range comes from `bounds`, else from the name (0 to 1 for a learning rate). It is discarded
    where an estimate lies outside: the name was misleading. Unbounded intervals end at the range.
    """
    known = values[np.isfinite(values)]
    allowed = bounds or range_implied_by_name(name)
    if allowed is None or ((known < allowed[0]) | (known > allowed[1])).any():
        return ends, None
    return np.clip(ends, *allowed), allowed


def _interval_ends_near_range(shown: Vector, ends: Matrix, logarithmic: bool) -> Vector:
    """Interval ends near enough to the range shown to extend it."""
    axis = AxisScale(0.0, 1.0, logarithmic)
    able = ends > 0 if logarithmic else np.ones(ends.shape, dtype=bool)
    able &= np.isfinite(ends)
    places = axis.transform(np.where(able, ends, 1.0))
    low, high = float(axis.transform(shown).min()), float(axis.transform(shown).max())
    whole = able.all(axis=1)
    lengths = (places[:, 1] - places[:, 0])[whole]
    # of two lengths the shorter counts: the longer may be the absurd one
    usual = float(np.quantile(lengths, 0.5, method="lower")) if lengths.size else 0.0
    room = max(LIMITS.interval_reach * (high - low), 2 * usual)
    near = able & (places >= low - room) & (places <= high + room)
    return np.asarray(ends[near])


def check_limits(limits: tuple[float, float], logarithmic: bool = False) -> None:
    """Refuse limits that do not increase."""
    low, high = limits
    if not (np.isfinite([low, high]).all() and low < high and (low > 0 or not logarithmic)):
        rule = "go up from above 0" if logarithmic else "go up"
        raise DataError("limits", f"must {rule}", got=f"{low} and {high}", fix="Correct them.")


def _padded_scale(low: float, high: float, logarithmic: bool) -> AxisScale:
    if logarithmic:
        ratio = max(high / low, 1.5) ** LIMITS.padding
        if high == low:
            ratio = 1.5  # a single value has no range to pad, and an axis of no length fails
        return AxisScale(low / ratio, high * ratio, True)
    # a single value has no range to pad
    room = LIMITS.padding * (high - low) or 0.1 * abs(low) or 1.0
    return AxisScale(low - room, high + room)


def mark_values_outside_axis(
    axes: Axes, places: Vector, values: Vector, scale: AxisScale, color: str
) -> int:
    """Mark values outside the y axis at its edge, above their x; return how many are not finite.

    A triangle points towards a value beyond the axis or at infinity; a cross stands for NaN. Finite
    values outside are counted by `note_values_off_axis`.
    """
    away = ~scale.contains(values)
    upright = axes.get_xaxis_transform()
    height = scale.fraction(values)
    for marker, kind in (
        ("^", values > scale.high),
        ("v", values < scale.low),
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


def note_values_off_axis(axes: Axes, values: Vector, scale: AxisScale) -> None:
    """Remark how many finite estimates lie outside the axis."""
    away = np.isfinite(values) & ~scale.contains(values)
    nowhere = away & (values <= 0) if scale.logarithmic else np.zeros(len(values), dtype=bool)
    if nowhere.any():
        add_remark(axes, f"estimate 0 or below: {int(nowhere.sum())}")
    if (away & ~nowhere).any():
        add_remark(axes, f"beyond the axis: {int((away & ~nowhere).sum())}")


EDGE_MARKERS = {"x": ("<", ">"), "y": ("v", "^")}


@dataclass(frozen=True)
class TruncatedIntervalCounts:
    """Numbers of intervals without a bound, and of intervals that end beyond the axis."""

    unbounded: int = 0
    n_beyond_axis: int = 0

    def __add__(self, other: TruncatedIntervalCounts) -> TruncatedIntervalCounts:
        """Sum of both counts."""
        return TruncatedIntervalCounts(
            self.unbounded + other.unbounded, self.n_beyond_axis + other.n_beyond_axis
        )

    def add_remarks(self, axes: Axes, axis_name: str, logarithmic: bool = False) -> None:
        """Explain above the axes the marks at its edges, if there are any."""
        full, hollow = ("▸", "▹") if axis_name == "x" else ("▴", "▵")
        if self.unbounded:
            words = "to 0 or without a bound" if logarithmic else "without a bound"
            add_remark(axes, f"{full} interval {words}: {self.unbounded}")
        if self.n_beyond_axis:
            add_remark(axes, f"{hollow} interval ends beyond the axis: {self.n_beyond_axis}")


def draw_intervals(
    axes: Axes,
    places: Vector,
    ends: Matrix,
    scale: AxisScale,
    axis_name: str,
    *,
    color: str,
    size: float = 2.5,
    **line: Any,
) -> TruncatedIntervalCounts:
    """Draw intervals along an axis, with a mark at its edge where they continue beyond it.

    A filled triangle is an end without a bound, on a logarithmic axis also one at 0 or below, which
    is infinitely far away; an open triangle is a finite end beyond this axis.

    Parameters
    ----------
    axes
        Where to draw.
    places
        Of the intervals on the other axis.
    ends
        (n, 2): low and high. Where one is NaN there is no bound at that side; where both are, there
        is no interval, and none is drawn.
    scale
        The axis that the intervals lie along.
    axis_name
        "x" or "y".
    color, line
        Look of the lines and of the marks.
    size
        Of the marks, in points.
    """
    there = ~np.isnan(ends).all(axis=1)
    places, (low, high) = np.asarray(places, dtype=float)[there], ends[there].T
    floor = 0.0 if scale.logarithmic else -np.inf
    open_low, open_high = ~(low > floor), ~(high < np.inf)  # negated, so that NaN counts as open
    low, high = np.where(open_low, -np.inf, low), np.where(open_high, np.inf, high)
    # an interval wholly beyond the axis is marked at the nearer edge only: nothing of it is shown
    cut_low = (~open_low & (low < scale.low)) | (~open_high & (high < scale.low))
    cut_high = (~open_high & (high > scale.high)) | (~open_low & (low > scale.high))
    draw = axes.hlines if axis_name == "x" else axes.vlines
    if places.size:
        draw(places, scale.clip(low), scale.clip(high), color=color, **line)
    for side, (is_open, is_cut) in enumerate(((open_low, cut_low), (open_high, cut_high))):
        marker = EDGE_MARKERS[axis_name][side]
        _draw_axis_edge_markers(axes, places[is_open], marker, side, axis_name, color, size, color)
        _draw_axis_edge_markers(
            axes, places[is_cut & ~is_open], marker, side, axis_name, color, size, "white"
        )
    return TruncatedIntervalCounts(
        int((open_low | open_high).sum()), int((cut_low | cut_high).sum())
    )


def _draw_axis_edge_markers(
    axes: Axes,
    places: Vector,
    marker: str,
    side: float,
    axis_name: str,
    color: str,
    size: float,
    inside: str,
) -> None:
    if not len(places):
        return
    edge = np.full(len(places), float(side))
    along = axes.get_yaxis_transform() if axis_name == "x" else axes.get_xaxis_transform()
    axes.plot(
        *((edge, places) if axis_name == "x" else (places, edge)),
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
