"""How play goes: learning, regret and steps, people beside agents simulated from the estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.shares import wilson
from penchant.figures.style import (
    INK,
    LINE,
    THIN,
    bars_first,
    dress,
    empty,
    legend,
    look,
    percent,
    remark,
    style,
)
from penchant.figures.ticks import whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NORMAL_95 = 1.959963984540054
PLAYS = "(n_episodes, n_decisions)"


def _mean_and_band(plays: Matrix) -> tuple[Vector, Matrix]:
    """Mean over episodes of what is known, and the 95 % interval of that mean."""
    known = np.isfinite(plays)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, plays, 0.0).sum(axis=0) / count
        spread = np.where(known, (plays - mean) ** 2, 0.0).sum(axis=0) / (count - 1)
        half = NORMAL_95 * np.sqrt(spread / count)
    return mean, np.column_stack([mean - half, mean + half])


@style()
def learning_curve(
    axes: Axes,
    people: Any,
    simulated: Any = None,
    *,
    quantity: str = "reward",
    labels: tuple[str, str] = ("people", "simulated from the estimate"),
    shares: bool | None = None,
    least: float | None = None,
) -> Axes:
    """Mean over people at every decision, beside that of agents simulated from the estimate.

    Parameters
    ----------
    axes
        Where to draw.
    people
        (n_episodes, n_decisions): rewards, regret, distances ...; NaN where there was none.
    simulated
        The same of simulated play; the horizon may differ.
    quantity
        Label of the y axis.
    labels
        Names in the legend. The bands are 95 % intervals of the means, where two or more episodes
        have the decision.
    shares
        Whether the numbers are shares, in 0..1; without, they are where people's are all 0 or 1.
        The band of people is then Wilson's, which has a width also where all did the same, no band
        leaves 0..1, and the axis goes from 0 to 1.
    least
        What the numbers cannot be below, such as 0 of distances: no band goes there.
    """
    if shares is None:
        shares = _all_0_or_1(people) and (simulated is None or _all_within(simulated))
    dress(axes, "trial", quantity)
    drawn, last = 0, 1
    for series, (values, label) in enumerate(zip((people, simulated), labels, strict=True)):
        if values is None:
            continue
        plays = given.table("simulated" if series else "people", values, PLAYS)
        if shares:
            given.shares("simulated" if series else "people", plays.ravel())
        if np.isfinite(plays).any():
            mean, band = _mean_and_band(plays)
            if shares and not series:
                n = np.isfinite(plays).sum(axis=0).astype(np.float64)
                band = wilson(mean, n) if len(plays) > 1 else np.full((len(mean), 2), np.nan)
            elif shares:
                band = np.clip(band, 0.0, 1.0)
            band = band if least is None else np.maximum(band, least)
            _draw_curve(axes, mean, band, series, f"{label} (n = {len(plays)})")
            drawn, last = drawn + 1, max(last, len(mean))
    if not drawn:
        empty(axes)
        return axes
    if shares:
        axes.set_ylim(-0.02, 1.02)
    whole_numbers(axes.xaxis, last)
    legend(axes)
    return axes


def _all_0_or_1(plays: Any) -> bool:
    known = given.numbers("people", plays)
    known = known[np.isfinite(known)]
    return bool(known.size and np.isin(known, (0.0, 1.0)).all())


def _all_within(plays: Any) -> bool:
    known = given.numbers("simulated", plays)
    return bool(not ((known < 0) | (known > 1)).any())


def _draw_curve(axes: Axes, mean: Vector, band: Matrix, series: int, label: str) -> None:
    decision = np.arange(1, len(mean) + 1)
    drawn = look(series)
    known = np.isfinite(band).all(axis=1)
    if known.any():
        shade: dict[str, Any] = {"color": drawn.color, "alpha": 0.2, "linewidth": 0}
        axes.fill_between(decision, band[:, 0], band[:, 1], where=known, **shade)
    marker = drawn.marker if len(decision) == 1 else ""
    axes.plot(decision, mean, color=drawn.color, linestyle=drawn.line, marker=marker, label=label)


@style()
def regret_growth(
    axes: Axes,
    regret: Any,
    fitted: Mapping[str, Any] | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    label: str = "cumulative regret",
) -> Axes:
    """Cumulative regret and the growth curves fitted to it.

    Parameters
    ----------
    axes
        Where to draw.
    regret
        After each decision.
    fitted
        Curves by name ("linear", "power", "logarithmic"), each as long as the regret.
    weights
        How well each is supported, 0 to 1, such as Akaike weights: in brackets in the legend.
    label
        Label of the y axis.
    """
    regret = given.vector("regret", regret)
    dress(axes, "trial", label)
    if not np.isfinite(regret).any():
        empty(axes)
        return axes
    decision = np.arange(1, len(regret) + 1)
    axes.plot(
        decision,
        regret,
        color=INK,
        linewidth=THIN,
        marker="o",
        markersize=2,
        linestyle="none",
        label="observed",
    )
    for series, (name, values) in enumerate((fitted or {}).items()):
        curve = given.vector(f"fitted[{name!r}]", values, len(regret), "decision")
        drawn = look(series)
        said = name if not weights or name not in weights else f"{name} ({weights[name]:.2f})"
        axes.plot(
            decision, curve, color=drawn.color, linestyle=drawn.line, label=said, linewidth=LINE
        )
    missing = int((~np.isfinite(regret)).sum())
    if missing:
        remark(axes, f"no regret known: {missing}")
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(regret[np.isfinite(regret)]))))
    whole_numbers(axes.xaxis, len(regret))
    legend(axes)
    return axes


@style()
def step_distances(
    axes: Axes,
    people: Any,
    simulated: Any = None,
    *,
    width: float = 1.0,
    labels: tuple[str, str] = ("people", "simulated from the estimate"),
) -> Axes:
    """How far successive choices lie apart: shares of steps by distance.

    Parameters
    ----------
    axes
        Where to draw.
    people
        Distances between successive choices, in any shape; NaN where there was no step.
    simulated
        The same of simulated play.
    width
        Of a class; the first holds distances below half of it: the same option again.
    labels
        Names in the legend.
    """
    if not width > 0:
        raise DataError(f"width must be > 0; got {width}. Give the width of a class of distances.")
    sets = [
        (label, found[np.isfinite(found)], series)
        for series, (values, label) in enumerate(zip((people, simulated), labels, strict=True))
        if values is not None
        and (found := given.numbers("simulated" if series else "people", values).ravel())
        is not None
    ]
    dress(axes, "distance to the previous choice", "share of steps")
    longest = max((float(found.max()) for _, found, _ in sets if found.size), default=None)
    if longest is None:
        empty(axes)
        return axes
    edges = np.asarray(
        (np.arange(int(np.floor(longest / width + 0.5)) + 2) - 0.5) * width, dtype=np.float64
    )
    for label, found, series in sets:
        if found.size:
            _draw_shares(axes, found, edges, series, f"{label} ({found.size} steps)")
    percent(axes.yaxis)
    axes.set_ylim(bottom=0)
    bars_first(axes)
    return axes


def _draw_shares(axes: Axes, found: Vector, edges: Vector, series: int, label: str) -> None:
    share = np.histogram(found, edges)[0] / found.size
    centres = (edges[:-1] + edges[1:]) / 2
    drawn = look(series)
    if series == 0:
        axes.bar(
            centres,
            share,
            width=0.85 * (edges[1] - edges[0]),
            color=drawn.color,
            alpha=0.35,
            label=label,
        )
    else:
        axes.plot(
            centres,
            share,
            color=drawn.color,
            linestyle=drawn.line,
            marker=drawn.marker,
            label=label,
        )
