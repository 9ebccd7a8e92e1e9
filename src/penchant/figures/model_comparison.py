"""Figures of model comparison and of predicted beside observed choices.

Exceedance probabilities are those of Bayesian model selection (Stephan et al. 2009; protected:
Rigoux et al. 2014); intervals of shares are Wilson's (1927).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.errors import DataError
from penchant.figures import array_checks
from penchant.figures.label_text import display_name, label_y_rows, set_integer_ticks
from penchant.figures.style import (
    BLUE,
    GREY,
    HAIRLINE,
    INK,
    PALE,
    THIN_LINE,
    VERMILLION,
    add_heading,
    add_legend,
    add_legend_bars_first,
    add_remark,
    draw_placeholder,
    series_style,
    style,
    style_axes,
)

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
    quantity: str = "share of trials",
) -> Axes:
    """Observed statistics on the intervals that a model predicts for them.

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
    observed = array_checks.check_vector("observed", observed)
    row_names = array_checks.check_labels("names", names, len(observed), "statistic")
    draws = array_checks.check_matrix(
        "replicated", replicated, "(n_draws, n_statistics)", len(observed)
    )
    if not 0 < level < 1:
        raise DataError("level", "must lie between 0 and 1", got=f"{level}. 0.95 is usual")
    style_axes(axes, quantity, "")
    known = np.asarray(np.isfinite(draws).any(axis=0))
    shown = np.flatnonzero(known | np.isfinite(observed))
    if not shown.size:
        draw_placeholder(axes)
        return axes
    outside = np.zeros(len(observed), dtype=bool)
    first = next((row for row, k in enumerate(shown) if known[k]), -1)
    for row, k in enumerate(shown):
        if known[k]:
            own = draws[np.isfinite(draws[:, k]), k]
            low, high = np.quantile(own, [(1 - level) / 2, (1 + level) / 2])
            said_once = f"predicted, {100 * level:g} %" if row == first else ""
            axes.hlines([row], *np.quantile(own, [0.25, 0.75]), color=PALE, linewidth=6)
            axes.hlines([row], low, high, color=INK, linewidth=HAIRLINE, label=said_once)
            outside[k] = observed[k] < low or observed[k] > high
    for which, color, marker, label in (
        (~outside, BLUE, "o", "observed"),
        (outside, VERMILLION, "s", "observed, outside"),
    ):
        rows = [row for row, k in enumerate(shown) if which[k] and np.isfinite(observed[k])]
        if rows:
            axes.plot(observed[shown[rows]], rows, marker, color=color, label=label)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    label_y_rows(axes, range(len(shown)), [display_name(row_names[k]) for k in shown])
    if len(shown) < len(observed):
        add_remark(axes, f"not known: {len(observed) - len(shown)}")
    alone = int((~known[shown]).sum())
    if alone:
        add_remark(axes, f"observed only, no interval: {alone}")
    add_legend(axes, side="right")
    return axes


@style()
def model_differences(
    axes: Axes,
    differences: Any,
    *,
    names: tuple[str, str] = ("first", "second"),
    criterion: str = "AIC",
) -> Axes:
    """Difference between two models for every subject, sorted, and in total.

    Parameters
    ----------
    axes
        Where to draw.
    differences
        Criterion of the second model minus that of the first, one per subject: positive where the
        first is better, if less is better. Subjects without a finite difference are counted.
    names
        Of the two models.
    criterion
        What is compared.
    """
    values = array_checks.check_vector("differences", differences)
    style_axes(axes, "subjects, sorted", f"{criterion}: {names[1]} $-$ {names[0]}")
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        draw_placeholder(axes, "no finite difference" if len(values) else "no data")
        return axes
    place = np.arange(1, len(known) + 1)
    for which, color, name in ((known >= 0, BLUE, names[0]), (known < 0, VERMILLION, names[1])):
        if which.any():
            label = f"{name} better: {int(which.sum())}"
            # hatching tells the models apart without colour; on narrow bars it would be noise
            hatch = None if color == BLUE or len(known) > 60 else "////"
            axes.bar(
                place[which],
                known[which],
                width=0.8 if len(known) <= 60 else 1.0,
                color=color,
                label=label,
                hatch=hatch,
                edgecolor="white" if hatch else color,
                linewidth=0,
            )
    axes.axhline(0, color=INK, linewidth=HAIRLINE)
    set_integer_ticks(axes.xaxis)
    if len(known) <= 10:
        axes.set_xticks(place)
    add_heading(axes, f"total {known.sum():+.1f}")
    if len(known) < len(values):
        add_remark(axes, f"no finite difference: {len(values) - len(known)}")
    add_legend(axes)
    return axes


@style()
def model_totals(
    axes: Axes, names: Sequence[Any], totals: Any, *, errors: Any = None, criterion: str = "AIC"
) -> Axes:
    """Models by their total criterion above that of the best, the best at the top.

    Parameters
    ----------
    axes
        Where to draw.
    names
        Of the models.
    totals
        Criterion of each, summed over subjects; less is better.
    errors
        Standard error of each difference to the best model.
    criterion
        What is compared.
    """
    totals = array_checks.check_vector("totals", totals)
    row_names = array_checks.check_labels("names", names, len(totals), "model")
    spread = np.full(len(totals), np.nan)
    if errors is not None:
        spread = array_checks.check_vector("errors", errors, len(totals), "model")
    style_axes(axes, f"{criterion} above the best model", "")
    known = np.isfinite(totals)
    if not known.any():
        draw_placeholder(axes, "no finite total" if len(totals) else "no data")
        return axes
    order = [i for i in np.argsort(totals, kind="stable") if known[i]]
    above = totals[order] - totals[order[0]]
    rows = np.arange(len(order))
    axes.hlines(rows, 0, above, color=BLUE, linewidth=THIN_LINE)
    for row, (value, error) in enumerate(zip(above, spread[order], strict=True)):
        if np.isfinite(error):
            axes.hlines(
                [row], [value - 1.96 * error], [value + 1.96 * error], color=INK, linewidth=1.5
            )
    axes.plot(above, rows, "o", color=BLUE, markersize=5)
    axes.axvline(0, color=GREY, linewidth=HAIRLINE)
    axes.set_ylim(len(order) - 0.5, -0.5)
    label_y_rows(axes, list(rows), [row_names[i] for i in order])
    if not known.all():
        add_remark(axes, f"no finite {criterion}: {int((~known).sum())}")
    return axes


@style()
def exceedance(
    axes: Axes, names: Sequence[Any], probabilities: Any, *, frequencies: Any = None
) -> Axes:
    """Probability that each model is the most frequent one among people.

    Parameters
    ----------
    axes
        Where to draw.
    names
        Of the models.
    probabilities
        Exceedance probability of each, protected or not.
    frequencies
        Expected share of people that each model describes.
    """
    chances = array_checks.check_proportions(
        "probabilities", array_checks.check_vector("probabilities", probabilities)
    )
    row_names = array_checks.check_labels("names", names, len(chances), "model")
    style_axes(axes, "probability", "")
    axes.set_xlim(0, 1.03)
    if not np.isfinite(chances).any():
        draw_placeholder(axes)
        return axes
    rows = np.arange(len(chances))
    shown = np.where(np.isfinite(chances), chances, 0.0)
    axes.barh(rows, shown, height=0.55, color=BLUE, alpha=0.55, label="most frequent model")
    if frequencies is not None:
        expected = array_checks.check_vector("frequencies", frequencies, len(chances), "model")
        array_checks.check_proportions("frequencies", expected)
        axes.plot(expected, rows, "D", color=VERMILLION, label="expected share of people")
    axes.set_ylim(len(chances) - 0.5, -0.5)
    label_y_rows(axes, list(rows), row_names)
    missing = int((~np.isfinite(chances)).sum())
    if missing:
        add_remark(axes, f"no probability known: {missing}")
    add_legend_bars_first(axes, side="right")
    return axes


def wilson_interval(shares: Vector, counts: Vector, level: float = 0.95) -> Matrix:
    """Wilson's interval of shares out of counts: (n, 2); NaN where nothing was counted.

    Examples
    --------
    >>> wilson_interval(np.array([0.5]), np.array([20.0])).round(3)
    array([[0.299, 0.701]])
    """
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    # a count of 0 becomes NaN: nothing divides by 0, and no interval is drawn
    counted = np.where(counts > 0, counts, np.nan)
    centre = (shares + z2 / (2 * counted)) / (1 + z2 / counted)
    spread = shares * (1 - shares) / counted + z2 / (4 * counted**2)
    half = np.sqrt(z2 * spread) / (1 + z2 / counted)
    return np.column_stack([np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)])


@style()
def predicted_observed(
    axes: Axes,
    predicted: Any,
    observed: Any,
    *,
    counts: Any = None,
    label: str | None = None,
    series: int = 0,
) -> Axes:
    """Predicted against observed choice shares; on the diagonal they agree.

    Parameters
    ----------
    axes
        Where to draw; call again with another `series` to compare models.
    predicted, observed
        Shares, 0 to 1, one per option or per class of decisions.
    counts
        Decisions behind each observed share, for Wilson's 95 % intervals.
    label
        Name in the legend.
    series
        Which colour and marker.
    """
    predicted = array_checks.check_proportions(
        "predicted", array_checks.check_vector("predicted", predicted)
    )
    n = len(predicted)
    observed = array_checks.check_proportions(
        "observed", array_checks.check_vector("observed", observed, n, "predicted share")
    )
    style_axes(axes, "predicted share", "observed share")
    known = np.isfinite(predicted) & np.isfinite(observed)
    if not known.any():
        draw_placeholder(axes)
        return axes
    drawn = series_style(series)
    # models drawn earlier must stay in view
    before = axes.get_xlim()[1] if axes.has_data() else 0.0
    upper = max(float(predicted[known].max()), float(observed[known].max()))
    if counts is not None:
        low, high = wilson_interval(
            observed, array_checks.check_vector("counts", counts, n, "predicted share")
        ).T
        upper = max(upper, float(np.nanmax(high[known], initial=0.0)))
        line: dict[str, Any] = {"color": drawn.color, "linewidth": THIN_LINE, "alpha": 0.6}
        axes.vlines(predicted[known], low[known], high[known], **line)
    axes.plot(
        predicted[known],
        observed[known],
        drawn.marker,
        color=drawn.color,
        linestyle="none",
        label=label,
        markeredgecolor="white",
        markeredgewidth=0.3,
    )
    _draw_diagonal(axes, max(before, min(1.04 * upper, 1.02)) or 1.0)
    if not known.all():
        add_remark(axes, f"no share known: {n - int(known.sum())}")
    add_legend(axes, square=True)
    return axes


def _draw_diagonal(axes: Axes, upper: float) -> None:
    """Draw the diagonal and set both axes from 0 to the largest share shown."""
    axes.axline((0, 0), slope=1, color=GREY, linewidth=HAIRLINE, linestyle="--", zorder=0)
    axes.set_xlim(-0.02 * upper, upper)
    axes.set_ylim(-0.02 * upper, upper)
    axes.set_aspect("equal")


@style()
def choice_probability(
    axes: Axes, theta: Any = (0.5, 1.0, 4.0), *, reach: float = 5.0, n_points: int = 401
) -> Axes:
    """Probability of the first of two options against the difference in value: Figure 1.

    Parameters
    ----------
    axes
        Where to draw.
    theta
        Sensitivities, one curve each: p = 1 / (1 + exp(-theta (x1 - x2))).
    reach
        Largest difference shown.
    n_points
        Points of each curve.
    """
    theta = array_checks.check_vector(
        "theta", np.atleast_1d(array_checks.as_float_array("theta", theta))
    )
    check_number(reach, "reach", above=0, fix="Give the largest difference.")
    style_axes(axes, "difference in value  $x_1 - x_2$", "probability of option 1")
    axes.set_ylim(-0.02, 1.02)
    known = theta[np.isfinite(theta)]
    if not known.size:
        draw_placeholder(axes)
        return axes
    axes.axhline(0.5, color=PALE, linewidth=THIN_LINE, zorder=0)
    axes.axvline(0.0, color=PALE, linewidth=THIN_LINE, zorder=0)
    difference = np.linspace(-reach, reach, n_points)
    for series, one in enumerate(known):
        drawn = series_style(series)
        # the logistic function; exp would overflow for large differences
        p = 0.5 * (1 + np.tanh(one * difference / 2))
        axes.plot(
            difference, p, color=drawn.color, linestyle=drawn.line, label=f"$\\theta$ = {one:g}"
        )
    add_legend(axes)
    return axes
