"""Figures of profile likelihoods, with the interval that the likelihood-ratio test cuts off.

The drop of the profile at the ends of the interval is half a chi-square quantile (Wilks 1938).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.errors import DataError
from penchant.figures import array_checks
from penchant.figures.label_text import (
    FONT_SIZE,
    format_log_axis,
)
from penchant.figures.style import (
    BLUE,
    GREY,
    INK,
    SKY,
    THIN_LINE,
    add_remark,
    draw_placeholder,
    style,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from penchant.inference.profile_curve import ProfileCurve


CURVE_DEPTH = 2.3  # in drops at the interval's ends: the curve is seen to fall on beyond them


@style()
def profile_likelihood(
    axes: Axes,
    values: Any,
    log_likelihoods: Any,
    *,
    estimate: float | None = None,
    interval: Any = None,
    level: float = 0.95,
    name: str = "parameter",
    logarithmic: bool = False,
) -> Axes:
    """Profile log-likelihood of a parameter, its maximum, and the interval cut off by the test.

    Parameters
    ----------
    axes
        Where to draw.
    values
        Values of the parameter.
    log_likelihoods
        Log-likelihood at each, maximised over everything else.
    estimate, interval
        The maximum, and low and high of the interval. An end that is infinite, or at 0 or below on
        a logarithmic axis, goes on to the edge with an arrow; one beyond the values with an open
        arrow, and is reported.
    level
        Of the interval: the dashed line is half a chi-square quantile below the maximum.
    name
        Label of the x axis.
    logarithmic
        Whether the x axis is.
    """
    values = array_checks.check_vector("values", values)
    heights = array_checks.check_vector("log_likelihoods", log_likelihoods, len(values), "value")
    if not 0 < level < 1:
        raise DataError("level", "must lie between 0 and 1", got=f"{level}. 0.95 is usual")
    style_axes(axes, name, "log-likelihood, relative")
    known = np.isfinite(values) & np.isfinite(heights)
    if not known.any():
        draw_placeholder(axes, "no finite likelihood" if len(values) else "no data")
        return axes
    if logarithmic:
        array_checks.check_positive("values", values)
        axes.set_xscale("log")
        format_log_axis(axes.xaxis)
    order = np.argsort(values[known], kind="stable")
    x, y = values[known][order], (heights[known] - heights[known].max())[order]
    # a chi-square quantile of one degree of freedom is a squared normal one, which needs no SciPy
    drop = NormalDist().inv_cdf((1 + level) / 2) ** 2 / 2
    axes.plot(x, y, color=BLUE, marker="" if len(x) > 1 else "o")
    axes.axhline(-drop, color=GREY, linewidth=THIN_LINE, linestyle="--")
    axes.set_ylim(-CURVE_DEPTH * drop, 0.12 * CURVE_DEPTH * drop)
    place = axes.get_yaxis_transform()
    font: dict[str, Any] = {"color": GREY, "fontsize": FONT_SIZE, "va": "center", "ha": "left"}
    axes.text(1.01, -drop, f"{100 * level:g} %", transform=place, **font)
    _draw_profile_interval(axes, interval, drop)
    if estimate is not None and np.isfinite(estimate):
        axes.plot([estimate], [0.0], "o", color=INK, markersize=4, zorder=5)
    elif estimate is not None:
        add_remark(axes, "no finite estimate")
    return axes


def _draw_profile_interval(axes: Axes, interval: Any, drop: float) -> None:
    if interval is None:
        return
    low, high = array_checks.check_intervals("interval", [interval], 1, "parameter")[0]
    if np.isnan(low) and np.isnan(high):
        add_remark(axes, "no interval")
        return
    left, right = axes.get_xlim()
    floor = 0.0 if axes.get_xscale() == "log" else -np.inf
    low, high = low if low > floor else -np.inf, high if high < np.inf else np.inf
    shown = np.clip([low, high], left, right)
    axes.axvspan(*shown, color=SKY, alpha=0.25, linewidth=0, zorder=0)
    for end, edge, arrows in ((low, left, "◂◃"), (high, right, "▸▹")):
        if left < end < right:
            axes.plot([end, end], [-CURVE_DEPTH * drop, -drop], color=BLUE, linewidth=THIN_LINE)
            continue
        place, side = (0.0, "left") if edge == left else (1.0, "right")
        axes.annotate(
            arrows[int(np.isfinite(end))],
            (place, 0.04),
            xycoords="axes fraction",
            ha=side,
            color=BLUE,
            fontsize=FONT_SIZE,
        )
        if np.isfinite(end):
            add_remark(axes, f"{arrows[1]} the interval ends beyond the axis, at {end:.4g}")
        else:
            add_remark(axes, f"{arrows[0]} the interval has no bound")
    axes.set_xlim(left, right)


def profile(
    axes: Axes, curve: ProfileCurve, *, level: float = 0.95, logarithmic: bool = False
) -> Axes:
    """Profile log-likelihood of a natural parameter of an estimate, with its profile interval.

    Parameters
    ----------
    axes
        Where to draw.
    curve
        From `penchant.results.profile_curve(estimate, name)`, at the same level.
    level
        Of the interval.
    logarithmic
        Whether the x axis is.
    """
    return profile_likelihood(
        axes,
        curve.values,
        curve.log_likelihoods,
        estimate=curve.estimate,
        interval=(curve.low, curve.high),
        level=level,
        name=curve.name,
        logarithmic=logarithmic,
    )
