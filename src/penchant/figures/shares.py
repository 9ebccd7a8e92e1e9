"""Choice probabilities: predicted, observed, and in the simplest case."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.style import GREY, HAIR, PALE, THIN, dress, empty, legend, look, remark, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def wilson(shares: Vector, counts: Vector, level: float = 0.95) -> Matrix:
    """Wilson's interval of shares out of counts: (n, 2); NaN where nothing was counted.

    Examples
    --------
    >>> wilson(np.array([0.5]), np.array([20.0])).round(3)
    array([[0.299, 0.701]])
    """
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
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
    predicted = given.shares("predicted", given.vector("predicted", predicted))
    n = len(predicted)
    observed = given.shares("observed", given.vector("observed", observed, n, "predicted share"))
    dress(axes, "predicted share", "observed share")
    known = np.isfinite(predicted) & np.isfinite(observed)
    if not known.any():
        empty(axes)
        return axes
    drawn = look(series)
    before = axes.get_xlim()[1] if axes.has_data() else 0.0
    most = max(float(predicted[known].max()), float(observed[known].max()))
    if counts is not None:
        low, high = wilson(observed, given.vector("counts", counts, n, "predicted share")).T
        most = max(most, float(np.nanmax(high[known], initial=0.0)))
        line: dict[str, Any] = {"color": drawn.color, "linewidth": THIN, "alpha": 0.6}
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
    _diagonal(axes, max(before, min(1.04 * most, 1.02)) or 1.0)
    if not known.all():
        remark(axes, f"no share known: {n - int(known.sum())}")
    legend(axes, square=True)
    return axes


def _diagonal(axes: Axes, most: float) -> None:
    """From 0 to the largest share shown, on both axes alike."""
    axes.axline((0, 0), slope=1, color=GREY, linewidth=HAIR, linestyle="--", zorder=0)
    axes.set_xlim(-0.02 * most, most)
    axes.set_ylim(-0.02 * most, most)
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
    theta = given.vector("theta", np.atleast_1d(given.numbers("theta", theta)))
    if not 0 < reach < np.inf:
        raise DataError(f"reach must be > 0 and finite; got {reach}. Give the largest difference.")
    dress(axes, "difference in value  $x_1 - x_2$", "probability of option 1")
    axes.set_ylim(-0.02, 1.02)
    known = theta[np.isfinite(theta)]
    if not known.size:
        empty(axes)
        return axes
    axes.axhline(0.5, color=PALE, linewidth=THIN, zorder=0)
    axes.axvline(0.0, color=PALE, linewidth=THIN, zorder=0)
    difference = np.linspace(-reach, reach, n_points)
    for series, one in enumerate(known):
        drawn = look(series)
        p = 0.5 * (1 + np.tanh(one * difference / 2))  # the logistic function, never overflowing
        axes.plot(
            difference, p, color=drawn.color, linestyle=drawn.line, label=f"$\\theta$ = {one:g}"
        )
    legend(axes)
    return axes
