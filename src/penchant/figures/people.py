"""People under their population: how far they are drawn to it, its density, its coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.edges import OpenEnds, Scale, draw_intervals, scale
from penchant.figures.letters import name_rows
from penchant.figures.style import (
    BLUE,
    GREY,
    HAIR,
    INK,
    THIN,
    VERMILLION,
    dress,
    empty,
    legend,
    look,
    no_finite_estimate,
    remark,
    style,
)
from penchant.figures.ticks import natural_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES = (0.5, 0.95)  # of people inside an ellipse
MOST = 2.0  # how many times as high as the highest density a band is drawn


@style()
def shrinkage(
    axes: Axes,
    alone: Any,
    together: Any,
    *,
    mean: Any = None,
    covariance: Any = None,
    names: tuple[str, str] = ("first parameter", "second parameter"),
    values: tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None] = (None, None),
    limits: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
) -> Axes:
    """Two parameters of every subject: from the estimate alone to that under the population.

    Parameters
    ----------
    axes
        Where to draw. Both parameters are on the scale on which the population is normal.
    alone
        (n_subjects, 2): estimates of each subject alone. Where one is not finite, or far off, the
        line comes from that edge, level where both are; where it is NaN, from nowhere.
    together
        (n_subjects, 2): under the population.
    mean, covariance
        Of the population: ellipses hold 50 and 95 % of its people.
    names, limits
        Of the x and the y axis.
    values
        Of each axis the parameter at a coordinate: the numbers at the axis are then its own.
    """
    first = given.table("alone", alone, "(n_subjects, 2)", 2)
    second = given.table("together", together, "(n_subjects, 2)", 2)
    if len(first) != len(second):
        raise DataError(
            f"alone must have a row for each of {len(second)} subjects; got {len(first)}. Match "
            "them."
        )
    dress(axes, *names)
    if not len(second):
        empty(axes)
        return axes
    outline = _ellipses(mean, covariance)
    scales = []
    for a in range(2):
        shown = np.concatenate([second[:, a], *(line[:, a] for line in outline)])
        middle, half = np.median(shown[np.isfinite(shown)]), np.ptp(shown[np.isfinite(shown)])
        near = first[np.abs(first[:, a] - middle) <= half, a]
        none = np.empty((0, 2))
        scales.append(scale(np.concatenate([shown, near]), none, False, limits[a]))
    for own, which, value in zip(scales, "xy", values, strict=True):
        own.apply(axes, which)
        if value is not None:
            natural_ticks(axes.xaxis if which == "x" else axes.yaxis, value)
    for line, share in zip(outline, SHARES, strict=False):
        label = f"{100 * share:.0f} % of people"
        width = HAIR if share > 0.9 else THIN
        axes.plot(*line.T, color=INK, linewidth=width, linestyle="--", label=label, zorder=1)
    if len(outline):
        axes.plot(*np.asarray(mean, dtype=np.float64), "D", color=INK, markersize=4, zorder=4)
    for start, end in zip(_starts(first, second, scales), second, strict=True):
        if np.isfinite(start).all():
            thin: dict[str, Any] = {
                "arrowstyle": "-",
                "color": GREY,
                "linewidth": HAIR,
                "shrinkA": 0,
                "shrinkB": 0,
            }
            axes.annotate("", end, start, arrowprops=thin, zorder=2)
    seen = np.all([own.seen(first[:, a]) for a, own in enumerate(scales)], axis=0)
    hollow: dict[str, Any] = {
        "markerfacecolor": "white",
        "markeredgewidth": THIN,
        "linestyle": "none",
    }
    axes.plot(
        *first[seen].T, "o", color=VERMILLION, markersize=3, label="alone", zorder=3, **hollow
    )
    axes.plot(
        *second.T, "o", color=BLUE, markersize=3, linestyle="none", label="together", zorder=5
    )
    no_finite_estimate(axes, int((~np.isfinite(first).all(axis=1)).sum()))
    legend(axes)
    return axes


def _starts(alone: Matrix, together: Matrix, scales: Sequence[Scale]) -> Matrix:
    """Where lines begin: at the edge of the axes where people alone lie beyond.

    Those who lie beyond both axes come level from the side, lest all of them come from one corner.
    """
    beyond = ~np.stack([own.seen(alone[:, a]) for a, own in enumerate(scales)], axis=1)
    ends = [(own.low, own.high) for own in scales]
    found = np.stack([np.clip(alone[:, a], *ends[a]) for a in range(2)], axis=1)
    level = beyond.all(axis=1) & ~np.isnan(found).any(axis=1)
    found[level, 1] = together[level, 1]
    return found


def _ellipses(mean: Any, covariance: Any) -> list[Matrix]:
    if mean is None or covariance is None:
        return []
    middle = given.vector("mean", mean, 2, "axis")
    matrix = given.table("covariance", covariance, "(2, 2)", 2)
    values, vectors = np.linalg.eigh(matrix)
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return [middle + np.sqrt(-2 * np.log(1 - share)) * circle @ root.T for share in SHARES]


@style()
def population_density(
    axes: Axes,
    values: Any,
    densities: Any,
    *,
    bands: Any = None,
    people: Sequence[Any] | None = None,
    categories: Sequence[Any] | None = None,
    name: str = "parameter",
    logarithmic: bool = False,
) -> Axes:
    """How a parameter is distributed in a population, or in several, over the people in it.

    Parameters
    ----------
    axes
        Where to draw.
    values, densities
        Places (n,) on the x axis, and the density of each population there (n_populations, n).
    bands
        (n_populations, n, 2): between which a density may lie.
    people
        Estimates of the people of each population, marked below.
    categories
        Names of the populations.
    name, logarithmic
        Of the x axis.
    """
    x = given.vector("values", values)
    heights = given.table("densities", densities, "(n_populations, n)", len(x))
    names = given.labels("categories", categories or [""] * len(heights), len(heights), "density")
    dress(axes, name, "density")
    if not len(x) or not len(heights):
        empty(axes)
        return axes
    own = [given.vector("people", one) for one in (people or [[]] * len(heights))]
    top = highest = float(heights.max())
    room = 0.06 * top
    for series, (line, label) in enumerate(zip(heights, names, strict=True)):
        drawn = look(series)
        if bands is not None:
            low, high = np.asarray(bands, dtype=np.float64)[series].T
            finite = np.minimum(high, 2 * MOST * float(heights.max()))
            axes.fill_between(x, low, finite, color=drawn.color, alpha=0.15, linewidth=0)
            highest = max(highest, float(high.max()))
        said = f"{label} (n = {len(own[series])})" if label else None
        axes.plot(x, line, linestyle=drawn.line, color=drawn.color, label=said)
        at = own[series][np.isfinite(own[series])]
        place = -room * (series + 1)
        axes.plot(at, np.full(len(at), place), "|", color=drawn.color, markersize=5, alpha=0.8)
    shown = Scale(float(x[0]), float(x[-1]), logarithmic)
    shown.apply(axes, "x")
    # what is higher would flatten the rest: it goes on above the axes
    ceiling = min(1.05 * highest, MOST * top)
    axes.set_ylim(-room * (len(heights) + 0.8), ceiling)
    if highest > ceiling:
        remark(axes, "band goes on above")
    axes.set_yticks([])
    legend(axes)
    return axes


@style()
def coefficients(
    axes: Axes,
    names: Sequence[Any],
    estimates: Any,
    interval: Any,
    *,
    name: str = "coefficient",
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Coefficients with their intervals, one row each, and where there would be no effect.

    Parameters
    ----------
    axes
        Where to draw.
    names
        One per coefficient.
    estimates, interval
        (n,) and low and high (n, 2).
    name, limits
        Of the x axis.
    """
    values: Vector = given.vector("estimates", estimates)
    said = given.labels("names", names, len(values), "coefficient")
    ends = given.intervals("interval", interval, len(values), "coefficient")
    dress(axes, name, "")
    if not len(values):
        empty(axes)
        return axes
    shown = scale(np.append(values, 0.0), ends, False, limits)
    shown.apply(axes, "x")
    rows = np.arange(len(values), dtype=np.float64)
    axes.axvline(0.0, color=INK, linewidth=HAIR, linestyle="--", zorder=0)
    opened: OpenEnds = draw_intervals(axes, rows, ends, shown, "x", color=BLUE, linewidth=1.2)
    seen = shown.seen(values)
    axes.plot(values[seen], rows[seen], "o", color=BLUE, markersize=4, zorder=3)
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    name_rows(axes, rows.tolist(), said)
    no_finite_estimate(axes, int((~np.isfinite(values)).sum()))
    opened.say(axes, "x", False)
    return axes
