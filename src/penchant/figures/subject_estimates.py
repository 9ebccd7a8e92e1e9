"""Figures of one estimate per subject: forest plot and scatter of two parameters.

Relies on `axis_limits` for robust limits and marks of values beyond them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Label, Matrix, Vector
from penchant.figures import array_checks
from penchant.figures.axis_limits import (
    AxisScale,
    TruncatedIntervalCounts,
    choose_scale,
    clipped_intervals_and_range,
    draw_intervals,
    mark_values_outside_axis,
    note_values_off_axis,
)
from penchant.figures.label_text import FONT_SIZE, label_y_rows, row_labels_fit
from penchant.figures.style import (
    BLUE,
    GREY,
    HAIRLINE,
    INK,
    NO_ESTIMATE_DASHES,
    THIN_LINE,
    VERMILLION,
    add_legend,
    add_remark,
    draw_placeholder,
    note_missing_estimates,
    series_style,
    style,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_NAMED_SUBJECTS = 45  # names of more would not fit on a journal page
NAMED_ROW_INCHES, UNNAMED_ROW_INCHES = 0.14, 0.06  # lower rows of names, or of lines, would touch


@style()
def forest(
    axes: Axes,
    estimates: Any,
    interval: Any = None,
    *,
    labels: Sequence[Label] | None = None,
    alone: Any = None,
    pooled: float | None = None,
    pooled_interval: Any = None,
    pooled_name: str = "pooled",
    name: str = "estimate",
    logarithmic: bool = False,
    ordered: bool = True,
    limits: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> Axes:
    """Estimates of all subjects with their intervals, one row each, and the pooled one below.

    Parameters
    ----------
    axes
        Where to draw. Twelve rows need about an inch; above 45 subjects rows are thin and nameless.
    estimates
        One per subject; those that are not finite, or not above 0 on a logarithmic axis, are
        marked at the edge and counted.
    interval
        (n_subjects, 2): low and high; NaN or infinite where there is none. Of a subject without an
        estimate, all that the choices are consistent with: a dashed line.
    labels
        Names of the subjects.
    alone
        Other estimates, one per subject, such as those without a population: hollow marks.
    pooled, pooled_interval, pooled_name
        Of the population: a diamond and a shaded band, and what its row is called.
    name
        Label of the x axis.
    logarithmic
        Whether the x axis is.
    ordered
        Sort by estimate, the smallest at the top; those without one at the bottom.
    limits
        Ends of the x axis. What lies beyond is marked at the edge.
    bounds
        What the parameter can be: intervals end there. Without, 0 to 1 for a learning rate and
        others whose name says so.
    """
    values = array_checks.check_vector("estimates", estimates)
    ends = array_checks.check_intervals("interval", interval, len(values), "subject")
    names = (
        None
        if labels is None
        else array_checks.check_labels("labels", labels, len(values), "subject")
    )
    style_axes(axes, name, "")
    if not len(values):
        draw_placeholder(axes)
        return axes
    # subjects alone could set limits that leave the pooled estimate out of view
    everyone = values if pooled is None else np.append(values, pooled)
    ends, bounds = clipped_intervals_and_range(everyone, ends, name, bounds)
    scale = choose_scale(everyone, ends, logarithmic, limits, bounds)
    scale.apply(axes, "x")
    order = np.argsort(values, kind="stable") if ordered else np.arange(len(values))
    truncated = _draw_subject_rows(axes, values[order], ends[order], scale)
    if alone is not None:
        other = array_checks.check_vector("alone", alone, len(values), "subject")[order]
        seen = scale.contains(other)
        axes.plot(
            other[seen],
            np.flatnonzero(seen),
            "o",
            color=VERMILLION,
            markerfacecolor="none",
            markersize=2.0 if len(values) > MAX_NAMED_SUBJECTS else 3.5,
            linestyle="none",
            zorder=2,
        )
    if pooled is not None:
        truncated += _draw_pooled_row(axes, pooled, pooled_interval, len(values), scale, bounds)
    _label_subject_rows(axes, names, order, "" if pooled is None else pooled_name)
    note_missing_estimates(axes, int((~np.isfinite(values)).sum()))
    note_values_off_axis(axes, values, scale)
    truncated.add_remarks(axes, "x", logarithmic)
    return axes


def _draw_subject_rows(
    axes: Axes, values: Vector, ends: Matrix, scale: AxisScale
) -> TruncatedIntervalCounts:
    crowded = len(values) > MAX_NAMED_SUBJECTS
    rows = np.arange(len(values))
    width, mark = (HAIRLINE, 1.5) if crowded else (0.9, 2.5)
    lines: dict[str, Any] = {"linewidth": width, "size": mark}
    there, heights = np.isfinite(values), rows.astype(np.float64)
    found = draw_intervals(
        axes, heights[there], ends[there], scale, "x", color=BLUE, alpha=0.75, **lines
    )
    found += draw_intervals(
        axes,
        heights[~there],
        ends[~there],
        scale,
        "x",
        color=VERMILLION,
        linestyle=NO_ESTIMATE_DASHES,
        **lines,
    )
    seen = scale.contains(values)
    size = 1.4 if crowded else 3.5
    axes.plot(values[seen], rows[seen], "o", color=BLUE, markersize=size, zorder=3)
    small = 1.5 if crowded else 3.5
    _mark_rows_at_edge(axes, rows, ~seen & (values < scale.low), "<", 0.0, VERMILLION, small)
    _mark_rows_at_edge(axes, rows, ~seen & (values > scale.high), ">", 1.0, VERMILLION, small)
    # a dashed interval already says that there is no estimate; a cross would add nothing
    nothing = np.isnan(values) & np.isnan(ends).all(axis=1)
    _mark_rows_at_edge(axes, rows, nothing, "x", 0.0, VERMILLION, small)
    return found


def _mark_rows_at_edge(
    axes: Axes,
    rows: IntVector,
    marked: BoolVector,
    marker: str,
    side: float,
    color: str,
    size: float = 2.5,
) -> None:
    if marked.any():
        axes.plot(
            np.full(int(marked.sum()), side),
            rows[marked],
            marker,
            transform=axes.get_yaxis_transform(),
            color=color,
            markersize=size,
            linestyle="none",
            clip_on=False,
            zorder=4,
        )


def _draw_pooled_row(
    axes: Axes,
    pooled: float,
    interval: Any,
    row: int,
    scale: AxisScale,
    bounds: tuple[float, float] | None,
) -> TruncatedIntervalCounts:
    if not np.isfinite(pooled):
        add_remark(axes, "no finite pooled estimate")
        return TruncatedIntervalCounts()
    ends = array_checks.check_intervals(
        "pooled_interval", None if interval is None else [interval], 1, "population"
    )
    ends = ends if bounds is None else np.clip(ends, *bounds)
    place = np.array([row + _pooled_row_gap(row)])
    found = draw_intervals(axes, place, ends, scale, "x", color=INK, linewidth=1.6)
    if not np.isnan(ends).all():
        low, high = scale.clip(np.where(np.isnan(ends[0]), [-np.inf, np.inf], ends[0]))
        axes.axvspan(low, high, color=GREY, alpha=0.2, linewidth=0, zorder=0)
    axes.axvline(pooled, color=INK, linewidth=HAIRLINE, linestyle="--", zorder=0)
    axes.plot([pooled], place, "D", color=INK, markersize=5, zorder=5)
    return found


def _pooled_row_gap(n_rows: int) -> float:
    """Distance of the pooled row from the last one."""
    return 0.5 + 0.02 * n_rows


def _label_subject_rows(axes: Axes, names: list[str] | None, order: IntVector, pooled: str) -> None:
    n = len(order)
    last = n + _pooled_row_gap(n) if pooled else n - 1
    axes.set_ylim(last + 0.7 + 0.01 * n, -0.7 - 0.01 * n)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if names is None or n > MAX_NAMED_SUBJECTS or not row_labels_fit(axes, last + 1.4 + 0.02 * n):
        axes.set_yticks([last] if pooled else [], [pooled] if pooled else [])
        axes.set_ylabel(f"{n} subject{'s' if n > 1 else ''}", fontsize=FONT_SIZE)
        return
    ticks = [*range(n), *([last] if pooled else [])]
    row_names = [names[i] for i in order] + ([pooled] if pooled else [])
    label_y_rows(axes, ticks, row_names)


@style()
def parameter_scatter(
    axes: Axes,
    x: Any,
    y: Any,
    *,
    x_interval: Any = None,
    y_interval: Any = None,
    categories: Sequence[Label] | None = None,
    names: tuple[str, str] = ("first parameter", "second parameter"),
    logarithmic: tuple[bool, bool] = (False, False),
    limits: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
    bounds: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
) -> Axes:
    """Two parameters of every subject against each other, with their intervals.

    Parameters
    ----------
    axes
        Where to draw.
    x, y
        Estimates, one per subject; subjects with one of them are marked at the edge, those without
        both have no place, and all are counted, as are those not above 0 on a logarithmic axis.
    x_interval, y_interval
        (n_subjects, 2): low and high of each.
    categories
        One per subject: told apart by colour and marker.
    names, logarithmic, limits, bounds
        Of the x and the y axis. Bounds are what a parameter can be: intervals end there.
    """
    x = array_checks.check_vector("x", x)
    y = array_checks.check_vector("y", y, len(x), "subject")
    x_ends = array_checks.check_intervals("x_interval", x_interval, len(x), "subject")
    y_ends = array_checks.check_intervals("y_interval", y_interval, len(x), "subject")
    groups = array_checks.check_labels(
        "categories",
        array_checks.values_or_repeated_default(categories, len(x), ""),
        len(x),
        "subject",
    )
    style_axes(axes, *names)
    if not len(x):
        draw_placeholder(axes)
        return axes
    x_ends, x_bounds = clipped_intervals_and_range(x, x_ends, names[0], bounds[0])
    y_ends, y_bounds = clipped_intervals_and_range(y, y_ends, names[1], bounds[1])
    across = choose_scale(x, x_ends, logarithmic[0], limits[0], x_bounds)
    up = choose_scale(y, y_ends, logarithmic[1], limits[1], y_bounds)
    across.apply(axes, "x")
    up.apply(axes, "y")
    truncated = {"x": TruncatedIntervalCounts(), "y": TruncatedIntervalCounts()}
    for series, group in enumerate(dict.fromkeys(groups)):
        rows = np.array([g == group for g in groups])
        sideways, upwards = _draw_points_with_intervals(
            axes, (x[rows], y[rows]), (x_ends[rows], y_ends[rows]), (across, up), series, group
        )
        truncated["x"] += sideways
        truncated["y"] += upwards
    note_missing_estimates(axes, int((~(np.isfinite(x) & np.isfinite(y))).sum()))
    for values, shown in ((x, across), (y, up)):
        note_values_off_axis(axes, values, shown)
    for which, log in zip("xy", logarithmic, strict=True):
        truncated[which].add_remarks(axes, which, log)
    add_legend(axes)
    return axes


def _draw_points_with_intervals(
    axes: Axes,
    estimates: tuple[Vector, Vector],
    ends: tuple[Matrix, Matrix],
    scales: tuple[AxisScale, AxisScale],
    series: int,
    label: str,
) -> tuple[TruncatedIntervalCounts, TruncatedIntervalCounts]:
    drawn = series_style(series)
    x, y = estimates
    across, up = scales
    both = across.contains(x) & up.contains(y)
    faint: dict[str, Any] = {"color": drawn.color, "linewidth": HAIRLINE, "alpha": 0.5}
    opened = (
        draw_intervals(axes, y[both], ends[0][both], across, "x", **faint),
        draw_intervals(axes, x[both], ends[1][both], up, "y", **faint),
    )
    n, everyone = int((np.isfinite(x) & np.isfinite(y)).sum()), len(x)
    count = f"n = {n}" if n == everyone else f"n = {n} of {everyone}"
    name = f"{label} ({count})" if label else None
    size = 3.5 if len(x) <= 80 else 2.5
    axes.plot(
        x[both],
        y[both],
        drawn.marker,
        color=drawn.color,
        markersize=size,
        label=name,
        linestyle="none",
        markeredgecolor="white",
        markeredgewidth=0.3,
    )
    known = across.contains(x)
    mark_values_outside_axis(axes, x[known], y[known], up, drawn.color)
    sideways = up.contains(y) & ~across.contains(x)
    for marker, kind in (("x", np.isnan(x)), ("<", x < across.low), (">", x > across.high)):
        selected = sideways & kind
        if selected.any():
            axes.plot(
                across.fraction(x[selected]),
                y[selected],
                marker,
                transform=axes.get_yaxis_transform(),
                color=drawn.color,
                linestyle="none",
                clip_on=False,
                markersize=3.5,
                markeredgewidth=THIN_LINE,
            )
    return opened
