"""How much data a goal needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.figures import given
from penchant.figures.dressing import dress, empty, heading, percent
from penchant.figures.style import BLUE, GREY, HAIR, THIN, VERMILLION, style

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
    unit: str = "decisions",
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
    dress(axes, unit, "reach the goal")
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
