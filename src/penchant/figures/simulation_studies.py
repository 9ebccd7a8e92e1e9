"""Figures of simulation studies: recovery, confusion matrix, convergence, sample size.

Coverage and shares carry Wilson's (1927) intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import array_checks
from penchant.figures.axis_limits import (
    TruncatedIntervalCounts,
    check_limits,
    choose_scale,
    clipped_intervals_and_range,
    draw_intervals,
    mark_values_outside_axis,
    note_values_off_axis,
)
from penchant.figures.label_text import (
    FONT_SIZE,
    LINE_HEIGHT,
    axes_size,
    axis_label,
    display_name,
    label_x_categories,
    label_y_rows,
    text_width,
    wrap_text,
)
from penchant.figures.model_comparison import wilson_interval
from penchant.figures.style import (
    BLUE,
    COUNT_COLORMAP,
    GREY,
    HAIRLINE,
    INK,
    MIN_HEIGHT_SHARE,
    NO_ESTIMATE_DASHES,
    PALE,
    THIN_LINE,
    VERMILLION,
    add_heading,
    add_legend,
    add_remark,
    draw_placeholder,
    format_percent,
    note_missing_estimates,
    series_style,
    style,
    style_axes,
)

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
    tried = array_checks.check_vector("numbers", numbers)
    reached = array_checks.check_vector("shares", shares, len(tried), "number")
    array_checks.check_proportions("shares", reached)
    spread = (
        np.zeros(len(tried))
        if errors is None
        else array_checks.check_vector("errors", errors, len(tried))
    )
    style_axes(axes, unit, "simulations that reach the goal")
    known = np.isfinite(tried) & np.isfinite(reached) & (tried > 0)
    if not known.any():
        draw_placeholder(axes)
        return axes
    order = np.flatnonzero(known)[np.argsort(tried[known])]
    axes.axhline(target, color=GREY, linewidth=HAIRLINE, linestyle="--")
    half = 2 * np.nan_to_num(spread[order])
    # a bar below 0 or above 1 would show shares that cannot be
    bars = np.minimum(np.stack([half, half]), [reached[order], 1 - reached[order]])
    axes.errorbar(
        tried[order],
        reached[order],
        yerr=bars,
        color=BLUE,
        fmt="o-",
        elinewidth=HAIRLINE,
        lw=THIN_LINE,
    )
    enough = [k for k in order if reached[k] >= target]
    if enough:
        first = min(enough, key=lambda k: float(tried[k]))
        axes.plot(tried[first], reached[first], "s", color=VERMILLION, zorder=3)
        add_heading(axes, f"{tried[first]:g} {unit} needed")
    else:
        add_heading(axes, "no number tried is enough")
    axes.set_xscale("log")
    _set_doubling_ticks(axes, tried[order])
    axes.set_ylim(-0.03, 1.03)
    format_percent(axes.yaxis)
    return axes


def _set_doubling_ticks(axes: Axes, tried: Any) -> None:
    """Put ticks at doublings, the numbers that `design` tries."""
    low, high = float(tried.min()), float(tried.max())
    ticks = low * 2.0 ** np.arange(np.floor(np.log2(high / low)) + 1)
    axes.set_xticks(ticks[:: 1 + len(ticks) // 8], minor=False)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xticks([], minor=True)


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
    true = array_checks.check_vector("true", true)
    estimated = array_checks.check_vector("estimated", estimated, len(true), "true value")
    ends = array_checks.check_intervals("interval", interval, len(true), "true value")
    if logarithmic:
        array_checks.check_positive("true", true)
    # headings and remarks shrink square axes later: a label of their present height would not fit
    up = wrap_text(f"estimated {display_name(name)}", max(0.6 * axes_size(axes)[1], 50.0), 3)
    style_axes(axes, f"true {axis_label(name)}", up)
    if not len(true):
        draw_placeholder(axes)
        return axes
    ends, bounds = clipped_intervals_and_range(np.append(true, estimated), ends, name, bounds)
    scale = choose_scale(np.concatenate([true, estimated]), ends, logarithmic, limits, bounds)
    scale.apply(axes, "x")
    scale.apply(axes, "y")
    axes.set_aspect("equal")
    axes.plot(
        *[[scale.low, scale.high]] * 2, color=GREY, linewidth=HAIRLINE, linestyle="--", zorder=0
    )
    with_interval = ~np.isnan(ends).any(axis=1)
    missed = with_interval & ((true < ends[:, 0]) | (true > ends[:, 1]))
    seen = scale.contains(estimated) & scale.contains(true)
    truncated = TruncatedIntervalCounts()
    for which, color, marker in ((~missed, BLUE, "o"), (missed, VERMILLION, "s")):
        for line, dashes in ((seen, "-"), (scale.contains(true) & ~seen, NO_ESTIMATE_DASHES)):
            selected = which & line
            truncated += draw_intervals(
                axes,
                true[selected],
                ends[selected],
                scale,
                "y",
                color=color,
                linewidth=HAIRLINE,
                linestyle=dashes,
                alpha=0.6,
                size=2.0,
            )
        drawn = which & seen
        label = "interval misses the true value" if color == VERMILLION and drawn.any() else None
        axes.plot(true[drawn], estimated[drawn], marker, color=color, markersize=2.8, label=label)
    lost = mark_values_outside_axis(axes, true, estimated, scale, VERMILLION)
    note_missing_estimates(axes, lost)
    note_values_off_axis(axes, estimated, scale)
    truncated.add_remarks(axes, "y", logarithmic)
    add_legend(axes, square=True)
    _add_recovery_summary(axes, true, estimated, ~missed[with_interval], logarithmic)
    return axes


def _add_recovery_summary(
    axes: Axes, true: Vector, estimated: Vector, covered: Any, logarithmic: bool
) -> None:
    known = np.isfinite(true) & np.isfinite(estimated)
    if logarithmic:
        known &= estimated > 0
    x, y = true[known], estimated[known]
    if logarithmic:
        x, y = np.log(x), np.log(y)
    parts = []
    if len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
        parts.append(f"r = {np.corrcoef(x, y)[0, 1]:.2f}")
    if len(covered):
        parts.append(f"covered {100 * covered.mean():.0f} % of {len(covered)}")
    if parts:
        add_heading(axes, ", ".join(parts))


@style()
def confusion(axes: Axes, shares: Any, names: Sequence[Any], *, counts: Any = None) -> Axes:
    """Confusion matrix of model recovery: simulated models in rows, best-fitting in columns.

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
    shares = array_checks.check_matrix("shares", shares, "(n_models, n_models)")
    n = len(shares)
    if shares.shape != (n, n):
        raise DataError(
            "shares",
            "must have shape (n_models, n_models)",
            got=shares.shape,
            fix="Correct its shape.",
        )
    array_checks.check_proportions("shares", shares.ravel())
    model_names = array_checks.check_labels("names", names, n, "model")
    style_axes(axes, "model found", "model simulated")
    if not n:
        draw_placeholder(axes)
        return axes
    axes.pcolormesh(
        np.ma.masked_invalid(shares),
        cmap=COUNT_COLORMAP,
        vmin=0,
        vmax=1,
        edgecolors="white",
        linewidth=1.0,
    )
    rows = model_names
    if counts is not None:
        made = array_checks.check_vector("counts", counts, n, "model")
        rows = [f"{name} ({count:.0f})" for name, count in zip(model_names, made, strict=True)]
    axes.tick_params(length=0)
    axes.set(xlim=(0, n), ylim=(n, 0))
    axes.set_aspect("equal")
    label_y_rows(axes, list(np.arange(n) + 0.5), rows)
    across, up = axes_size(axes)
    taken = max(text_width(label.get_text()) for label in axes.get_yticklabels()) - 20.0
    # square cells are limited by both the height and the width that row names leave
    side = min(up - 2 * LINE_HEIGHT, across - taken)
    label_x_categories(axes, list(np.arange(n) + 0.5), model_names, share=max(side / across, 0.2))
    _write_shares_into_cells(axes, shares, min(side, MIN_HEIGHT_SHARE * up) / n)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _write_shares_into_cells(axes: Axes, shares: Matrix, cell_points: float) -> None:
    """Write a share into every cell: 0.25, or .25 where cells are narrow."""
    narrow = cell_points < text_width("0.00") + 1.0
    for (row, column), share in np.ndenumerate(shares):
        # black letters could not be read on the dark half of the colour map
        color = "white" if np.isfinite(share) and share > 0.55 else INK
        axes.text(
            column + 0.5,
            row + 0.5,
            _format_share(share, narrow),
            ha="center",
            va="center",
            color=color,
            fontsize=FONT_SIZE,
        )


def _format_share(share: float, narrow: bool) -> str:
    """Format a share to two digits, without the leading zero in narrow cells.

    >>> _format_share(0.25, True), _format_share(0.0, True), _format_share(1.0, False)
    ('.25', '0', '1.00')
    """
    if not np.isfinite(share):
        return "–"
    digits = f"{share:.2f}"
    return digits.removesuffix(".00").removeprefix("0") or "0" if narrow else digits


STRIP_HEIGHT = 0.025  # share of the axes' height: visible, yet hardly covers data


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
    n = array_checks.check_vector("n", n)
    mean = array_checks.check_vector("mean", mean, len(n), "n")
    empirical = array_checks.check_intervals("empirical", empirical, len(n), "n")
    asymptotic = array_checks.check_intervals("asymptotic", asymptotic, len(n), "n")
    style_axes(axes, "number of trials n", name)
    if not np.isfinite(mean).any():
        draw_placeholder(axes, "no finite estimate" if len(n) else "no data")
        return axes
    if limits is not None:
        check_limits(limits)
    before = axes.get_ylim() if axes.has_data() else None  # earlier series must stay in view
    drawn = series_style(series)
    several = label is not None
    values = np.append(mean, np.nan if truth is None else truth)
    ends = _robust_y_limits(values, empirical, before) if limits is None else limits
    within = _clip_infinite_ends(empirical, ends)
    _draw_band(axes, n, within, drawn.color, None if several else "95 % of the estimates")
    _draw_asymptotic_band(axes, n, asymptotic, drawn.color if several else INK, not several)
    if truth is not None:
        entry = None if several else "true value"
        axes.axhline(truth, color=GREY, linewidth=THIN_LINE, linestyle=(0, (1, 1.5)), label=entry)
    marker = "" if len(n) > 1 else drawn.marker
    entry = display_name(label) if label else "mean estimate"
    axes.plot(n, mean, color=drawn.color, linestyle=drawn.line, marker=marker, label=entry)
    axes.set_ylim(*ends)
    _note_band_beyond_axis(axes, empirical, ends, f"{label}: " if label else "")
    if finite_share is not None:
        _draw_strip_where_estimates_missing(
            axes, n, array_checks.check_vector("finite_share", finite_share, len(n), "n"), label
        )
    add_legend(axes)
    return axes


def _clip_infinite_ends(band: Matrix, ends: tuple[float, float]) -> Matrix:
    """Move infinite ends of a band to just beyond the axis: matplotlib draws no infinite ones."""
    span = ends[1] - ends[0]
    return np.where(np.isinf(band), np.clip(band, ends[0] - span, ends[1] + span), band)


def _note_band_beyond_axis(
    axes: Axes, band: Matrix, ends: tuple[float, float], prefix: str
) -> None:
    """Remark where the band continues beyond the axis, and where it has no bound."""
    infinite = int(np.isinf(band).any(axis=1).sum())
    cut = np.isfinite(band) & ((band < ends[0]) | (band > ends[1]))
    if infinite:
        add_remark(axes, f"{prefix}band without a bound at {infinite} of {len(band)} n")
    if cut.any():
        leaving = int(cut.any(axis=1).sum())
        text = f"{prefix}band goes beyond the axis at {leaving} of {len(band)} n"
        # unwrapped, the remark would run into that of the neighbouring panel
        add_remark(axes, wrap_text(text, max(axes_size(axes)[0], 100.0)))


def _draw_band(axes: Axes, n: Vector, band: Matrix, color: str, label: str | None) -> None:
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
        axes.vlines(n, band[:, 0], band[:, 1], color=color, linewidth=THIN_LINE, label=label or "")


def _draw_asymptotic_band(axes: Axes, n: Vector, band: Matrix, color: str, labelled: bool) -> None:
    if not np.isfinite(band).any():
        return
    marker = "" if len(n) > 1 else "_"
    for column, label in ((0, "95 %, asymptotic" if labelled else None), (1, None)):
        axes.plot(
            n, band[:, column], "--", color=color, linewidth=THIN_LINE, marker=marker, label=label
        )


def _robust_y_limits(
    values: Vector, band: Matrix, earlier_limits: tuple[float, float] | None
) -> tuple[float, float]:
    """Limits that show all but the outer tenth of the values, and all series drawn before."""
    known = values[np.isfinite(values)]
    # means of the first few decisions are erratic; of 20 or fewer a tenth is hardly any
    calm = np.quantile(known, [0.05, 0.95]) if len(known) > 20 else known
    scale = choose_scale(np.append(calm, values[-1]), band)
    low, high = earlier_limits or (scale.low, scale.high)
    return min(low, scale.low), max(high, scale.high)


def _draw_strip_where_estimates_missing(
    axes: Axes, n: Vector, share: Vector, label: str | None
) -> None:
    missing = array_checks.check_proportions("finite_share", share) < 1
    if not missing.any():
        return
    across = axes.get_xaxis_transform()
    axes.fill_between(n, 0, STRIP_HEIGHT, where=missing, transform=across, color=GREY, linewidth=0)
    if len(n) == 1 or missing.sum() == 1:
        axes.plot(
            n[missing], [STRIP_HEIGHT / 2] * int(missing.sum()), "|", transform=across, color=GREY
        )
    prefix = f"{label}: " if label else ""
    worst = 100 * (1 - float(np.nanmin(share)))
    add_remark(
        axes, f"{prefix}no finite estimate in up to {worst:.3g} % of replicates (grey strip)"
    )


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
    n = array_checks.check_vector("n", n)
    share = array_checks.check_proportions(
        "share", array_checks.check_vector("share", share, len(n), "n")
    )
    style_axes(axes, "number of trials n", "without a finite estimate")
    axes.set_ylim(-0.02, 1.02)
    format_percent(axes.yaxis)
    if not np.isfinite(share).any():
        draw_placeholder(axes)
        return axes
    drawn = series_style(series)
    if n_replicates is not None:
        _draw_band(
            axes, n, wilson_interval(share, np.full(len(n), float(n_replicates))), drawn.color, None
        )
    marker = drawn.marker if len(n) <= 25 else ""
    axes.plot(n, share, color=drawn.color, linestyle=drawn.line, marker=marker, label=label)
    axes.axhline(0, color=PALE, linewidth=THIN_LINE, zorder=0)
    add_legend(axes)
    return axes
