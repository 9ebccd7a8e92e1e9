"""Figures of play: learning curves, regret, step lengths, and maps of choices and beliefs.

People are drawn beside agents simulated from their estimates (posterior predictive checks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.errors import DataError
from penchant.figures import array_checks
from penchant.figures.label_text import FONT_SIZE, set_integer_ticks
from penchant.figures.model_comparison import wilson_interval
from penchant.figures.style import (
    BLUE,
    COUNT_COLORMAP,
    GREY,
    HAIRLINE,
    INK,
    LINE_WIDTH,
    PALE,
    THIN_LINE,
    VALUE_COLORMAP,
    VERMILLION,
    add_heading,
    add_legend,
    add_legend_bars_first,
    add_remark,
    draw_placeholder,
    format_percent,
    series_style,
    style,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NORMAL_95 = 1.959963984540054  # 97.5 % quantile: two equal tails leave 95 % between them
PLAYS_SHAPE = "(n_episodes, n_decisions)"


def _mean_and_its_interval(plays: Matrix) -> tuple[Vector, Matrix]:
    """Mean over episodes of what is known, and the 95 % interval of that mean."""
    known = np.isfinite(plays)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, plays, 0.0).sum(axis=0) / count
        # a single episode gives 0 / 0: the NaN leaves out a band that nothing supports
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
        shares = _all_0_or_1(people) and (simulated is None or _all_proportions(simulated))
    style_axes(axes, "trial", quantity)
    drawn, last = 0, 1
    for series, (values, label) in enumerate(zip((people, simulated), labels, strict=True)):
        if values is None:
            continue
        plays = array_checks.check_matrix("simulated" if series else "people", values, PLAYS_SHAPE)
        if shares:
            array_checks.check_proportions("simulated" if series else "people", plays.ravel())
        if np.isfinite(plays).any():
            mean, band = _mean_and_its_interval(plays)
            # Wilson's interval needs 0 or 1 per episode; simulated plays may be shares already
            if shares and not series:
                n = np.isfinite(plays).sum(axis=0).astype(np.float64)
                band = (
                    wilson_interval(mean, n) if len(plays) > 1 else np.full((len(mean), 2), np.nan)
                )
            elif shares:
                band = np.clip(band, 0.0, 1.0)
            band = band if least is None else np.maximum(band, least)
            _draw_mean_with_band(axes, mean, band, series, f"{label} (n = {len(plays)})")
            drawn, last = drawn + 1, max(last, len(mean))
    if not drawn:
        draw_placeholder(axes)
        return axes
    if shares:
        axes.set_ylim(-0.02, 1.02)
    set_integer_ticks(axes.xaxis, last)
    add_legend(axes)
    return axes


def _all_0_or_1(plays: Any) -> bool:
    known = array_checks.as_float_array("people", plays)
    known = known[np.isfinite(known)]
    return bool(known.size and np.isin(known, (0.0, 1.0)).all())


def _all_proportions(plays: Any) -> bool:
    known = array_checks.as_float_array("simulated", plays)
    return bool(not ((known < 0) | (known > 1)).any())


def _draw_mean_with_band(axes: Axes, mean: Vector, band: Matrix, series: int, label: str) -> None:
    decision = np.arange(1, len(mean) + 1)
    drawn = series_style(series)
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
    regret = array_checks.check_vector("regret", regret)
    style_axes(axes, "trial", label)
    if not np.isfinite(regret).any():
        draw_placeholder(axes)
        return axes
    decision = np.arange(1, len(regret) + 1)
    axes.plot(
        decision,
        regret,
        color=INK,
        linewidth=THIN_LINE,
        marker="o",
        markersize=2,
        linestyle="none",
        label="observed",
    )
    for series, (name, values) in enumerate((fitted or {}).items()):
        curve = array_checks.check_vector(f"fitted[{name!r}]", values, len(regret), "decision")
        drawn = series_style(series)
        entry = name if not weights or name not in weights else f"{name} ({weights[name]:.2f})"
        axes.plot(
            decision,
            curve,
            color=drawn.color,
            linestyle=drawn.line,
            label=entry,
            linewidth=LINE_WIDTH,
        )
    missing = int((~np.isfinite(regret)).sum())
    if missing:
        add_remark(axes, f"no regret known: {missing}")
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(regret[np.isfinite(regret)]))))
    set_integer_ticks(axes.xaxis, len(regret))
    add_legend(axes)
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
    """Histogram of the distances between successive choices.

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
    check_number(width, "width", above=0, fix="Give the width of a class of distances.")
    sets = [
        (label, found[np.isfinite(found)], series)
        for series, (values, label) in enumerate(zip((people, simulated), labels, strict=True))
        if values is not None
        and (
            found := array_checks.as_float_array(
                "simulated" if series else "people", values
            ).ravel()
        )
        is not None
    ]
    style_axes(axes, "distance to the previous choice", "share of steps")
    longest = max((float(found.max()) for _, found, _ in sets if found.size), default=None)
    if longest is None:
        draw_placeholder(axes)
        return axes
    edges = np.asarray(
        (np.arange(int(np.floor(longest / width + 0.5)) + 2) - 0.5) * width, dtype=np.float64
    )
    for label, found, series in sets:
        if found.size:
            _draw_histogram(axes, found, edges, series, f"{label} ({found.size} steps)")
    format_percent(axes.yaxis)
    axes.set_ylim(bottom=0)
    add_legend_bars_first(axes)
    return axes


def _draw_histogram(axes: Axes, distances: Vector, edges: Vector, series: int, label: str) -> None:
    share = np.histogram(distances, edges)[0] / distances.size
    centres = (edges[:-1] + edges[1:]) / 2
    drawn = series_style(series)
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


MAX_COUNTED_OPTIONS = 150  # in more tiles, which are smaller, the counts would overlap
# a grid of all x and all y with more cells would be mostly empty: locations are scattered
MAX_CELLS_PER_OPTION = 4


def _check_locations(locations: Any) -> Matrix:
    return array_checks.check_matrix("locations", locations, "(n_options, 2)", columns=2)


def _values_on_grid(values: Vector, places: Matrix) -> tuple[Vector, Vector, Matrix]:
    """Values as rows of y and columns of x; NaN where there is no option."""
    xs, column = np.unique(places[:, 0], return_inverse=True)
    ys, row = np.unique(places[:, 1], return_inverse=True)
    cells = np.full((len(ys), len(xs)), np.nan)
    cells[row.ravel(), column.ravel()] = values
    return xs, ys, cells


def _cell_edges_from_centres(centres: Vector) -> Vector:
    """Edges between tiles with these centres."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    first, last = centres[0] - np.diff(centres)[0] / 2, centres[-1] + np.diff(centres)[-1] / 2
    return np.concatenate([[first], middle, [last]])


def _set_tile_ticks(axis: Any, tile_centres: Vector) -> None:
    """Label about six tiles along an axis."""
    axis.set_ticks(tile_centres[:: max(1, -(-len(tile_centres) // 6))])


def _draw_tiles(
    axes: Axes, values: Vector, places: Matrix, colours: str, limits: tuple[float, float]
) -> Any:
    """Tiles where locations make a grid, else squares at the locations."""
    shades: dict[str, Any] = {"cmap": colours, "vmin": limits[0], "vmax": limits[1]}
    drawn: Any
    xs, ys, cells = _values_on_grid(values, places)
    # tiles of a mostly empty grid would be too small to see
    if cells.size > MAX_CELLS_PER_OPTION * len(values) and len(values) > 1:
        drawn = axes.scatter(
            places[:, 0], places[:, 1], c=values, marker="s", s=22, linewidth=0, **shades
        )
    else:
        masked = np.ma.masked_invalid(cells)
        drawn = axes.pcolormesh(
            _cell_edges_from_centres(xs),
            _cell_edges_from_centres(ys),
            masked,
            edgecolors="white",
            linewidth=HAIRLINE,
            **shades,
        )
        _set_tile_ticks(axes.xaxis, xs)
        _set_tile_ticks(axes.yaxis, ys)
    axes.set_aspect("equal")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return drawn


@style()
def heat_map(
    axes: Axes,
    values: Any,
    locations: Any,
    *,
    label: str = "mean reward",
    path: Any = None,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """A value of every option at its place: mean rewards, a belief, a probability.

    Parameters
    ----------
    axes
        Where to draw.
    values
        One per option; one that is not finite leaves its tile blank.
    locations
        Places (n_options, 2), such as `penchant.grid(10, 10)`.
    label
        Of the colour bar.
    path
        Options chosen in order: a line through them ends in a ring at the last.
    limits
        Values of the darkest and the lightest colour.
    """
    places = _check_locations(locations)
    values = array_checks.check_vector("values", values, len(places), "option")
    style_axes(axes, "x", "y")
    known = values[np.isfinite(values)]
    if not known.size:
        draw_placeholder(axes)
        return axes
    ends = limits or (float(known.min()), float(known.max()))
    drawn = _draw_tiles(axes, values, places, VALUE_COLORMAP, ends)
    _add_colorbar(axes, drawn, label)
    if len(known) < len(values):
        add_remark(axes, f"no finite value: {len(values) - len(known)}")
    if path is not None:
        _draw_path(axes, array_checks.check_option_indices("path", path, len(places)), places)
    return axes


def _add_colorbar(axes: Axes, drawn: Any, label: str, integer_labels: bool = False) -> None:
    # an inset, because the layout engine would make the bar higher than a map of square cells
    place = axes.inset_axes((1.03, 0.0, 0.04, 1.0), label="<colorbar>")
    bar = axes.figure.colorbar(drawn, cax=place)
    bar.outline.set_visible(False)
    if integer_labels:
        set_integer_ticks(bar.ax.yaxis)
    bar.ax.tick_params(length=2, width=HAIRLINE, labelsize=FONT_SIZE)
    bar.set_label(label, fontsize=FONT_SIZE)


def _draw_path(axes: Axes, path: Any, places: Matrix) -> None:
    route = places[path[path >= 0]]
    if not len(route):
        return
    axes.plot(route[:, 0], route[:, 1], color="white", linewidth=THIN_LINE, alpha=0.9)
    axes.plot(
        route[-1:, 0], route[-1:, 1], "o", color=VERMILLION, markeredgecolor="white", markersize=6
    )


@style()
def choice_map(
    axes: Axes,
    chosen: Any,
    locations: Any,
    *,
    label: str = "times chosen",
    most: float | None = None,
) -> Axes:
    """Map of the number of times each option was chosen.

    Parameters
    ----------
    axes
        Where to draw.
    chosen
        Options chosen, from 0; -1 where there was no choice.
    locations
        Places (n_options, 2).
    label
        Of the colour bar.
    most
        Count of the darkest colour, the same for maps that are compared; the largest if not given.
    """
    places = _check_locations(locations)
    chosen = array_checks.check_option_indices("chosen", chosen, len(places))
    made = chosen[chosen >= 0]
    style_axes(axes, "x", "y")
    if not len(places):
        draw_placeholder(axes)
        return axes
    counts = np.bincount(made, minlength=len(places)).astype(np.float64)
    most = max(float(counts.max()), 1.0) if most is None else float(most)
    drawn = _draw_tiles(axes, counts, places, COUNT_COLORMAP, (0.0, most))
    drawn.set_edgecolor(PALE)
    _add_colorbar(axes, drawn, label, integer_labels=True)
    if len(places) <= MAX_COUNTED_OPTIONS:
        for place, count in zip(places, counts, strict=True):
            if count:
                color = "white" if count > 0.55 * most else INK
                text = f"{count:.0f}"
                middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": FONT_SIZE}
                axes.text(place[0], place[1], text, color=color, **middle)
    if len(made) < len(chosen):
        add_remark(axes, f"no choice: {len(chosen) - len(made)}")
    return axes


def choices_and_belief(
    axes: Sequence[Axes],
    chosen: Any,
    belief: Any,
    locations: Any,
    *,
    label: str = "expected reward",
) -> Sequence[Axes]:
    """Map of choices, and beside it a map of beliefs; a dot is the last choice.

    Parameters
    ----------
    axes
        Two, such as `figure(columns=2).subplots(1, 2)`.
    chosen
        Options chosen in order.
    belief
        Expected reward of every option, or its uncertainty.
    locations
        Places (n_options, 2).
    label
        What the belief is.
    """
    if len(axes) != 2:
        raise DataError(
            "axes", "must be two", got=len(axes), fix="Use figure(columns=2).subplots(1, 2)."
        )
    choice_map(axes[0], chosen, locations)
    heat_map(axes[1], belief, locations, label=label, path=np.asarray(chosen)[-1:])
    return axes


@style()
def landscape_profile(
    axes: Axes, mean_rewards: Any, locations: Any, *, label: str | None = None
) -> Axes:
    """Mean reward along x; where it differs along y, a band from the least to the most.

    Parameters
    ----------
    axes
        Where to draw.
    mean_rewards
        One per option.
    locations
        Places (n_options, 2).
    label
        Name in the corner, such as "Landscape A".
    """
    places = _check_locations(locations)
    rewards = array_checks.check_vector("mean_rewards", mean_rewards, len(places), "option")
    style_axes(axes, "x", "mean reward")
    if not np.isfinite(rewards).any():
        draw_placeholder(axes)
        return axes
    xs, _, cells = _values_on_grid(rewards, places)
    cells = np.where(np.isfinite(cells), cells, np.nan)
    columns = [column[np.isfinite(column)] for column in cells.T]
    low, middle, high = (
        np.array([float(of(c)) if c.size else np.nan for c in columns])
        for of in (np.min, np.mean, np.max)
    )
    if np.nanmax(high - low) > 0:
        axes.fill_between(xs, low, high, color=BLUE, alpha=0.2, linewidth=0)
    axes.plot(xs, middle, color=BLUE, marker="o")
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(low))))
    _set_tile_ticks(axes.xaxis, xs)
    if label is not None:
        add_heading(axes, label)
    return axes


@style()
def interface(
    axes: Axes,
    locations: Any,
    *,
    selected: int | None = None,
    confirmed: int | None = None,
    reward: float | None = None,
) -> Axes:
    """The task as people see it, Section VII: tiles to select, and the last reward above.

    Parameters
    ----------
    axes
        Where to draw.
    locations
        Places (n_options, 2).
    selected
        Option under the selection, a red dot: it may still change.
    confirmed
        Option taken when time was up, a blue dot.
    reward
        What it paid, in the box above.
    """
    from matplotlib.patches import Rectangle

    places = _check_locations(locations)
    style_axes(axes, "", "")
    axes.set_axis_off()
    axes.set_aspect("equal")
    if not len(places):
        draw_placeholder(axes)
        return axes
    for x, y in places:
        tile = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor="#F2F2F2", edgecolor=GREY)
        tile.set_linewidth(HAIRLINE)
        axes.add_patch(tile)
    dots = ((confirmed, BLUE, 0.30, "confirmed"), (selected, VERMILLION, 0.18, "selected"))
    for option, color, radius, name in dots:
        if option is not None:
            _draw_dot(
                axes,
                places[array_checks.check_option_indices(name, [option], len(places))[0]],
                radius,
                color,
            )
    left, right, top = places[:, 0].min() - 0.5, places[:, 0].max() + 0.5, places[:, 1].max()
    text = "Reward: –" if reward is None or not np.isfinite(reward) else f"Reward: {reward:.0f}"
    frame = {
        "boxstyle": "round,pad=0.4",
        "facecolor": "white",
        "edgecolor": GREY,
        "linewidth": HAIRLINE,
    }
    axes.text((left + right) / 2, top + 1.25, text, ha="center", va="center", bbox=frame)
    axes.set_xlim(left - 0.2, right + 0.2)
    axes.set_ylim(places[:, 1].min() - 0.7, top + 2.0)
    return axes


def _draw_dot(axes: Axes, place: Vector, radius: float, color: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((place[0], place[1]), radius, facecolor=color, edgecolor="white"))


def belief_map(axes: Sequence[Axes], believed: Any, *, label: str = "from the level") -> Any:
    """The map that somebody had in mind, and beside it how uncertain it is.

    Parameters
    ----------
    axes
        Two, where to draw.
    believed
        A `BeliefMap`, or anything with mean, sd and locations.
    label
        Of the first colour bar.
    """
    first, second = axes
    heat_map(first, believed.mean, believed.locations, label=label)
    heat_map(second, believed.sd, believed.locations, label="standard deviation")
    return axes
