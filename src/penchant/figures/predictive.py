"""What people did beside what the fitted model does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.dressing import ABOVE_LEGEND, dress, empty, legend, remark, short
from penchant.figures.style import BLUE, HAIR, INK, PALE, VERMILLION, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@style()
def predictive_intervals(
    axes: Axes,
    names: Sequence[Any],
    observed: Any,
    replicated: Any,
    *,
    level: float = 0.95,
    quantity: str = "share of decisions",
) -> Axes:
    """Statistics of people on the intervals where the model puts them.

    Parameters
    ----------
    axes
        Where to draw.
    names
        Of the statistics.
    observed
        What people did, one each.
    replicated
        (n_draws, n_statistics): what the model does; draws that are not finite do not count.
    level
        Of the thin intervals; the thick ones hold half of the draws.
    quantity
        Label of the x axis.
    """
    observed = given.vector("observed", observed)
    said = given.labels("names", names, len(observed), "statistic")
    draws = given.table("replicated", replicated, "(n_draws, n_statistics)", len(observed))
    if not 0 < level < 1:
        raise DataError(f"level must lie between 0 and 1; got {level}. 0.95 is usual.")
    dress(axes, quantity, "")
    known = np.asarray(np.isfinite(draws).any(axis=0))
    shown = np.flatnonzero(known | np.isfinite(observed))
    if not shown.size:
        empty(axes)
        return axes
    outside = np.zeros(len(observed), dtype=bool)
    for row, k in enumerate(shown):
        if known[k]:
            own = draws[np.isfinite(draws[:, k]), k]
            low, high = np.quantile(own, [(1 - level) / 2, (1 + level) / 2])
            axes.hlines([row], *np.quantile(own, [0.25, 0.75]), color=PALE, linewidth=6)
            axes.hlines([row], low, high, color=INK, linewidth=HAIR)
            outside[k] = observed[k] < low or observed[k] > high
    for which, color, marker, label in (
        (~outside, BLUE, "o", "observed"),
        (outside, VERMILLION, "s", "observed, outside"),
    ):
        rows = [row for row, k in enumerate(shown) if which[k] and np.isfinite(observed[k])]
        if rows:
            axes.plot(observed[shown[rows]], rows, marker, color=color, label=label)
    axes.set_yticks(range(len(shown)), [short(said[k]) for k in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    if len(shown) < len(observed):
        remark(axes, f"not known: {len(observed) - len(shown)}", ABOVE_LEGEND)
    alone = int((~known[shown]).sum())
    if alone:
        remark(axes, f"observed only, no interval: {alone}", ABOVE_LEGEND)
    legend(axes, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, ncols=2)
    return axes
