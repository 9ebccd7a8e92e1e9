"""Do simulations give back what went in, and how much data a goal needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.edges import (
    OpenEnds,
    draw_intervals,
    mark_at_edge,
    say_beyond,
    scale,
    within_bounds,
)
from penchant.figures.letters import (
    FONT_SIZE,
    LINE_HEIGHT,
    name_columns,
    name_rows,
    room,
    width,
    wrapped,
)
from penchant.figures.style import (
    BLUE,
    COUNTS,
    GREY,
    HAIR,
    INK,
    THIN,
    VERMILLION,
    dress,
    empty,
    heading,
    legend,
    no_finite_estimate,
    percent,
    style,
)
from penchant.figures.words import in_words, on_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@style()
def data_needed(
    axes: Axes,
    numbers: Any,
    shares: Any,
    *,
    errors: Any = None,
    target: float = 0.8,
    unit: str = "trials",
) -> Axes:
    """Share of simulations that reach a goal, by how much data they have.

    Parameters
    ----------
    axes
        Where to draw.
    numbers
        Decisions or subjects that were tried.
    shares
        Share of simulations that reach the goal at each number.
    errors
        Monte Carlo standard errors of the shares: bars are two of them long, each way.
    target
        Share that must reach it; the smallest number that does is marked.
    unit
        What the numbers count.
    """
    tried = given.vector("numbers", numbers)
    reached = given.vector("shares", shares, len(tried), "number")
    given.shares("shares", reached)
    spread = np.zeros(len(tried)) if errors is None else given.vector("errors", errors, len(tried))
    dress(axes, unit, "simulations that reach the goal")
    known = np.isfinite(tried) & np.isfinite(reached) & (tried > 0)
    if not known.any():
        empty(axes)
        return axes
    order = np.flatnonzero(known)[np.argsort(tried[known])]
    axes.axhline(target, color=GREY, linewidth=HAIR, linestyle="--")
    half = 2 * np.nan_to_num(spread[order])
    bars = np.minimum(np.stack([half, half]), [reached[order], 1 - reached[order]])
    axes.errorbar(
        tried[order], reached[order], yerr=bars, color=BLUE, fmt="o-", elinewidth=HAIR, lw=THIN
    )
    enough = [k for k in order if reached[k] >= target]
    if enough:
        first = min(enough, key=lambda k: float(tried[k]))
        axes.plot(tried[first], reached[first], "s", color=VERMILLION, zorder=3)
        heading(axes, f"{tried[first]:g} {unit} needed")
    else:
        heading(axes, "no number tried is enough")
    axes.set_xscale("log")
    _ticks(axes, tried[order])
    axes.set_ylim(-0.03, 1.03)
    percent(axes.yaxis)
    return axes


def _ticks(axes: Axes, tried: Any) -> None:
    """Plain numbers at doublings, as the search goes."""
    low, high = float(tried.min()), float(tried.max())
    ticks = low * 2.0 ** np.arange(np.floor(np.log2(high / low)) + 1)
    axes.set_xticks(ticks[:: 1 + len(ticks) // 8], minor=False)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xticks([], minor=True)


DASHES = (0, (2, 1.5))  # of intervals whose estimate has no place on the axis


@style()
def recovery(
    axes: Axes,
    true: Any,
    estimated: Any,
    interval: Any = None,
    *,
    name: str = "parameter",
    logarithmic: bool = False,
    limits: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> Axes:
    """Estimated against true values, with the diagonal, the correlation and the coverage.

    Parameters
    ----------
    axes
        Where to draw.
    true, estimated
        One each per simulation; estimates that are not finite, or not above 0 on a logarithmic
        axis, are marked at the edge and counted.
    interval
        (n, 2): 95 % intervals; those that miss the truth are drawn in another colour.
    name, logarithmic, limits
        Of both axes.
    bounds
        What the parameter can be: intervals end there. Without, 0 to 1 for a learning rate and
        others whose name says so.

    Notes
    -----
    The correlation is of the finite estimates, on a logarithmic axis of their logarithms; the
    coverage is of all simulations that have an interval.
    """
    true = given.vector("true", true)
    estimated = given.vector("estimated", estimated, len(true), "true value")
    ends = given.intervals("interval", interval, len(true), "true value")
    if logarithmic:
        given.positive("true", true)
    # what is said above makes square axes small
    up = wrapped(f"estimated {in_words(name)}", max(0.6 * room(axes)[1], 50.0), 3)
    dress(axes, f"true {on_axis(name)}", up)
    if not len(true):
        empty(axes)
        return axes
    ends, bounds = within_bounds(np.append(true, estimated), ends, name, bounds)
    shown = scale(np.concatenate([true, estimated]), ends, logarithmic, limits, bounds)
    shown.apply(axes, "x")
    shown.apply(axes, "y")
    axes.set_aspect("equal")
    axes.plot(*[[shown.low, shown.high]] * 2, color=GREY, linewidth=HAIR, linestyle="--", zorder=0)
    with_interval = ~np.isnan(ends).any(axis=1)
    missed = with_interval & ((true < ends[:, 0]) | (true > ends[:, 1]))
    seen = shown.seen(estimated) & shown.seen(true)
    opened = OpenEnds()
    for which, color, marker in ((~missed, BLUE, "o"), (missed, VERMILLION, "s")):
        for line, look in ((seen, "-"), (shown.seen(true) & ~seen, DASHES)):
            mine = which & line
            opened += draw_intervals(
                axes,
                true[mine],
                ends[mine],
                shown,
                "y",
                color=color,
                linewidth=HAIR,
                linestyle=look,
                alpha=0.6,
                size=2.0,
            )
        drawn = which & seen
        said = "interval misses the true value" if color == VERMILLION and drawn.any() else None
        axes.plot(true[drawn], estimated[drawn], marker, color=color, markersize=2.8, label=said)
    lost = mark_at_edge(axes, true, estimated, shown, VERMILLION)
    no_finite_estimate(axes, lost)
    say_beyond(axes, estimated, shown)
    opened.say(axes, "y", logarithmic)
    legend(axes, square=True)
    _say_how_well(axes, true, estimated, ~missed[with_interval], logarithmic)
    return axes


def _say_how_well(
    axes: Axes, true: Vector, estimated: Vector, covered: Any, logarithmic: bool
) -> None:
    known = np.isfinite(true) & np.isfinite(estimated)
    if logarithmic:
        known &= estimated > 0
    x, y = true[known], estimated[known]
    if logarithmic:
        x, y = np.log(x), np.log(y)
    said = []
    if len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
        said.append(f"r = {np.corrcoef(x, y)[0, 1]:.2f}")
    if len(covered):
        said.append(f"covered {100 * covered.mean():.0f} % of {len(covered)}")
    if said:
        heading(axes, ", ".join(said))


@style()
def confusion(axes: Axes, shares: Any, names: Sequence[Any], *, counts: Any = None) -> Axes:
    """Which model is found (columns) when which one simulated (rows).

    Parameters
    ----------
    axes
        Where to draw.
    shares
        (n_models, n_models): share of the simulations of each row's model that each column's model
        fits best; a row of NaN was not simulated.
    names
        Of the models.
    counts
        Simulations of each model, written beside its name.
    """
    shares = given.table("shares", shares, "(n_models, n_models)")
    n = len(shares)
    if shares.shape != (n, n):
        raise DataError(
            f"shares must have shape (n_models, n_models); got {shares.shape}. Correct its shape."
        )
    given.shares("shares", shares.ravel())
    said = given.labels("names", names, n, "model")
    dress(axes, "model found", "model simulated")
    if not n:
        empty(axes)
        return axes
    axes.pcolormesh(
        np.ma.masked_invalid(shares), cmap=COUNTS, vmin=0, vmax=1, edgecolors="white", linewidth=1.0
    )
    _write_shares(axes, shares)
    rows = said
    if counts is not None:
        made = given.vector("counts", counts, n, "model")
        rows = [f"{name} ({count:.0f})" for name, count in zip(said, made, strict=True)]
    axes.tick_params(length=0)
    axes.set(xlim=(0, n), ylim=(n, 0))
    axes.set_aspect("equal")
    name_rows(axes, list(np.arange(n) + 0.5), rows)
    across, up = room(axes)
    taken = max(width(label.get_text()) for label in axes.get_yticklabels()) - 20.0
    side = min(up - 2 * LINE_HEIGHT, across - taken)
    name_columns(axes, list(np.arange(n) + 0.5), said, share=max(side / across, 0.2))
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _write_shares(axes: Axes, shares: Matrix) -> None:
    for (row, column), share in np.ndenumerate(shares):
        known = np.isfinite(share)
        color = "white" if known and share > 0.55 else INK
        axes.text(
            column + 0.5,
            row + 0.5,
            f"{share:.2f}" if known else "–",
            ha="center",
            va="center",
            color=color,
            fontsize=FONT_SIZE,
        )
