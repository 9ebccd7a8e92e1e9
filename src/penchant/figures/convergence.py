"""What the likelihood says of one parameter, and how estimates behave as decisions accumulate."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.comparison import wilson
from penchant.figures.edges import check_limits, scale
from penchant.figures.letters import FONT_SIZE, plain_logarithmic
from penchant.figures.style import (
    BLUE,
    GREY,
    INK,
    PALE,
    SKY,
    THIN,
    dress,
    empty,
    legend,
    look,
    percent,
    remark,
    style,
)
from penchant.figures.words import in_words
from penchant.wording import argument

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from penchant.inference.profile_curve import ProfileCurve


DEPTH = 2.3  # how far down to show the curve, in units of the drop at the interval's ends


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
    values = given.vector("values", values)
    heights = given.vector("log_likelihoods", log_likelihoods, len(values), "value")
    if not 0 < level < 1:
        raise DataError(
            f"{argument('level')} must lie between 0 and 1; got {level}. 0.95 is usual."
        )
    dress(axes, name, "log-likelihood, relative")
    known = np.isfinite(values) & np.isfinite(heights)
    if not known.any():
        empty(axes, "no finite likelihood" if len(values) else "no data")
        return axes
    if logarithmic:
        given.positive("values", values)
        axes.set_xscale("log")
        plain_logarithmic(axes.xaxis)
    order = np.argsort(values[known], kind="stable")
    x, y = values[known][order], (heights[known] - heights[known].max())[order]
    drop = NormalDist().inv_cdf((1 + level) / 2) ** 2 / 2
    axes.plot(x, y, color=BLUE, marker="" if len(x) > 1 else "o")
    axes.axhline(-drop, color=GREY, linewidth=THIN, linestyle="--")
    axes.set_ylim(-DEPTH * drop, 0.12 * DEPTH * drop)
    place = axes.get_yaxis_transform()
    said: dict[str, Any] = {"color": GREY, "fontsize": FONT_SIZE, "va": "center", "ha": "left"}
    axes.text(1.01, -drop, f"{100 * level:g} %", transform=place, **said)
    _interval(axes, interval, drop)
    if estimate is not None and np.isfinite(estimate):
        axes.plot([estimate], [0.0], "o", color=INK, markersize=4, zorder=5)
    elif estimate is not None:
        remark(axes, "no finite estimate")
    return axes


def _interval(axes: Axes, interval: Any, drop: float) -> None:
    if interval is None:
        return
    low, high = given.intervals("interval", [interval], 1, "parameter")[0]
    if np.isnan(low) and np.isnan(high):
        remark(axes, "no interval")
        return
    left, right = axes.get_xlim()
    floor = 0.0 if axes.get_xscale() == "log" else -np.inf
    low, high = low if low > floor else -np.inf, high if high < np.inf else np.inf
    shown = np.clip([low, high], left, right)
    axes.axvspan(*shown, color=SKY, alpha=0.25, linewidth=0, zorder=0)
    for end, edge, arrows in ((low, left, "◂◃"), (high, right, "▸▹")):
        if left < end < right:
            axes.plot([end, end], [-DEPTH * drop, -drop], color=BLUE, linewidth=THIN)
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
            remark(axes, f"{arrows[1]} the interval ends beyond the axis, at {end:.4g}")
        else:
            remark(axes, f"{arrows[0]} the interval has no bound")
    axes.set_xlim(left, right)


def profile(
    axes: Axes,
    curve: ProfileCurve,
    *,
    level: float = 0.95,
    logarithmic: bool = False,
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


STRIP = 0.025  # height of the strip under decisions where some estimates are missing


@style()
def convergence(
    axes: Axes,
    n: Any,
    mean: Any,
    empirical: Any = None,
    asymptotic: Any = None,
    truth: float | None = None,
    *,
    label: str | None = None,
    series: int = 0,
    finite_share: Any = None,
    name: str = "estimate",
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Mean estimate and its bands against the number of decisions.

    Parameters
    ----------
    axes
        Where to draw; call again with another `series` for further parameters.
    n
        Numbers of decisions.
    mean
        Mean of the finite estimates at each; NaN leaves a gap.
    empirical, asymptotic
        95 % bands (len(n), 2): of the estimates, shaded; of theory, dashed.
    truth
        The true value.
    label
        Name of the parameter in the legend, where there are several.
    series
        Which colour and line style.
    finite_share
        Share of replicates with a finite estimate; where below 1, a grey strip says so.
    name, limits
        Label and ends of the y axis. Without limits the most erratic tenth may leave the axes; how
        often the band does is reported.
    """
    n = given.vector("n", n)
    mean = given.vector("mean", mean, len(n), "n")
    empirical = given.intervals("empirical", empirical, len(n), "n")
    asymptotic = given.intervals("asymptotic", asymptotic, len(n), "n")
    dress(axes, "number of trials n", name)
    if not np.isfinite(mean).any():
        empty(axes, "no finite estimate" if len(n) else "no data")
        return axes
    if limits is not None:
        check_limits(limits)
    before = axes.get_ylim() if axes.has_data() else None
    drawn = look(series)
    several = label is not None
    values = np.append(mean, np.nan if truth is None else truth)
    ends = _limits(values, empirical, before) if limits is None else limits
    within = _within(empirical, ends)
    _band(axes, n, within, drawn.color, None if several else "95 % of the estimates")
    _theory(axes, n, asymptotic, drawn.color if several else INK, not several)
    if truth is not None:
        said = None if several else "true value"
        axes.axhline(truth, color=GREY, linewidth=THIN, linestyle=(0, (1, 1.5)), label=said)
    marker = "" if len(n) > 1 else drawn.marker
    said = in_words(label) if label else "mean estimate"
    axes.plot(n, mean, color=drawn.color, linestyle=drawn.line, marker=marker, label=said)
    axes.set_ylim(*ends)
    _say_leaving(axes, empirical, ends, f"{label}: " if label else "")
    if finite_share is not None:
        _strip(axes, n, given.vector("finite_share", finite_share, len(n), "n"), label)
    legend(axes)
    return axes


def _within(band: Matrix, ends: tuple[float, float]) -> Matrix:
    """A band whose infinite ends are brought to just beyond the axis, so that it is drawn there."""
    room = ends[1] - ends[0]
    return np.where(np.isinf(band), np.clip(band, ends[0] - room, ends[1] + room), band)


def _say_leaving(axes: Axes, band: Matrix, ends: tuple[float, float], whose: str) -> None:
    """Say where the band goes on beyond the axis, and where it has no bound."""
    infinite = int(np.isinf(band).any(axis=1).sum())
    cut = np.isfinite(band) & ((band < ends[0]) | (band > ends[1]))
    if infinite:
        remark(axes, f"{whose}band without a bound at {infinite} of {len(band)} n")
    if cut.any():
        leaving = int(cut.any(axis=1).sum())
        remark(axes, f"{whose}band goes beyond the axis at {leaving} of {len(band)} n")


def _band(axes: Axes, n: Vector, band: Matrix, color: str, label: str | None) -> None:
    known = np.isfinite(band).all(axis=1)
    if known.any() and len(n) > 1:
        axes.fill_between(
            n,
            band[:, 0],
            band[:, 1],
            where=known,
            color=color,
            alpha=0.22,
            linewidth=0,
            label=label,
        )
    elif known.any():
        axes.vlines(n, band[:, 0], band[:, 1], color=color, linewidth=THIN, label=label or "")


def _theory(axes: Axes, n: Vector, band: Matrix, color: str, labelled: bool) -> None:
    if not np.isfinite(band).any():
        return
    marker = "" if len(n) > 1 else "_"
    for column, label in ((0, "95 %, asymptotic" if labelled else None), (1, None)):
        axes.plot(n, band[:, column], "--", color=color, linewidth=THIN, marker=marker, label=label)


def _limits(
    values: Vector, band: Matrix, before: tuple[float, float] | None
) -> tuple[float, float]:
    """Ends of a y axis that shows all but the most erratic, and all that was shown before."""
    known = values[np.isfinite(values)]
    calm = np.quantile(known, [0.05, 0.95]) if len(known) > 20 else known
    shown = scale(np.append(calm, values[-1]), band)
    low, high = before or (shown.low, shown.high)
    return min(low, shown.low), max(high, shown.high)


def _strip(axes: Axes, n: Vector, share: Vector, label: str | None) -> None:
    missing = given.shares("finite_share", share) < 1
    if not missing.any():
        return
    across = axes.get_xaxis_transform()
    axes.fill_between(n, 0, STRIP, where=missing, transform=across, color=GREY, linewidth=0)
    if len(n) == 1 or missing.sum() == 1:
        axes.plot(n[missing], [STRIP / 2] * int(missing.sum()), "|", transform=across, color=GREY)
    whose = f"{label}: " if label else ""
    most = 100 * (1 - float(np.nanmin(share)))
    remark(axes, f"{whose}no finite estimate in up to {most:.3g} % of replicates (grey strip)")


@style()
def without_estimate(
    axes: Axes,
    n: Any,
    share: Any,
    *,
    n_replicates: int | None = None,
    label: str | None = None,
    series: int = 0,
) -> Axes:
    """Share of replicates that have no finite estimate, against the number of decisions.

    Parameters
    ----------
    axes
        Where to draw; call again with another `series` to compare.
    n
        Numbers of decisions.
    share
        Share of replicates without a finite estimate at each, 0 to 1.
    n_replicates
        How many there were, for Wilson's 95 % band.
    label
        Name in the legend.
    series
        Which colour, line style and marker.
    """
    n = given.vector("n", n)
    share = given.shares("share", given.vector("share", share, len(n), "n"))
    dress(axes, "number of trials n", "without a finite estimate")
    axes.set_ylim(-0.02, 1.02)
    percent(axes.yaxis)
    if not np.isfinite(share).any():
        empty(axes)
        return axes
    drawn = look(series)
    if n_replicates is not None:
        _band(axes, n, wilson(share, np.full(len(n), float(n_replicates))), drawn.color, None)
    marker = drawn.marker if len(n) <= 25 else ""
    axes.plot(n, share, color=drawn.color, linestyle=drawn.line, marker=marker, label=label)
    axes.axhline(0, color=PALE, linewidth=THIN, zorder=0)
    legend(axes)
    return axes
