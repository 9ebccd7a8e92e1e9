"""Populations beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.figures import given
from penchant.figures.edges import (
    OpenEnds,
    Scale,
    draw_intervals,
    mark_at_edge,
    say_beyond,
    scale,
    within_bounds,
)
from penchant.figures.letters import FONT_SIZE, name_columns
from penchant.figures.style import (
    ABOVE,
    GREY,
    HAIR,
    INK,
    dress,
    empty,
    look,
    no_finite_estimate,
    remark,
    stay_clear,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CLASSES, CROWD = 25, 8  # of heights; values in one that fill the width
BRACKET = 13  # points from one bracket to the next
SPREAD = 0.34  # of the points of one category, in units of the distance between categories


@style()
def population(
    axes: Axes,
    categories: Sequence[Any],
    estimates: Any,
    interval: Any = None,
    *,
    subjects: Sequence[Any] | None = None,
    p_values: Mapping[tuple[int, int], float] | None = None,
    name: str = "estimate",
    logarithmic: bool = False,
    limits: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
) -> Axes:
    """One parameter in several categories: pooled estimate and interval, over the subjects' own.

    Parameters
    ----------
    axes
        Where to draw; parameters of different units want an Axes each.
    categories
        Their names.
    estimates, interval
        Pooled estimate of each, and low and high (n_categories, 2).
    subjects
        Estimates of the subjects of each category, drawn behind; not finite, or not above 0 on a
        logarithmic axis: marked at the edge.
    p_values
        Of tests between categories, by their positions: {(0, 1): 0.003}; drawn as brackets.
    name, logarithmic, limits
        Of the y axis.
    bounds
        What the parameter can be: intervals end there. Without, 0 to 1 for a learning rate and
        others whose name says so.
    """
    values = given.vector("estimates", estimates)
    names = given.labels("categories", categories, len(values), "estimate")
    ends = given.intervals("interval", interval, len(values), "category")
    people = [given.vector("subjects", one) for one in (subjects or [[]] * len(values))]
    if len(people) != len(values):
        raise DataError(
            f"subjects must hold one array per category, {len(values)} in all; "
            f"got {len(people)}. Correct it."
        )
    everyone = np.concatenate([values, *people])
    dress(axes, "", name)
    if not len(values):
        empty(axes)
        return axes
    ends, bounds = within_bounds(everyone, ends, name, bounds)
    shown = scale(everyone, _whole(values, ends, logarithmic), logarithmic, limits, bounds)
    shown.apply(axes, "y")
    missing = sum(_draw_people(axes, one, place, shown) for place, one in enumerate(people))
    opened = OpenEnds()
    for place in range(len(values)):
        opened += _draw_pooled(axes, place, float(values[place]), ends[place], shown)
    axes.set_xlim(-0.6, len(values) - 0.4)
    name_columns(axes, range(len(values)), names)
    no_finite_estimate(axes, missing, "subjects with ")
    say_beyond(axes, np.concatenate([np.empty(0), *people]), shown)
    opened.say(axes, "y", logarithmic)
    _brackets(axes, p_values or {}, len(values))
    return axes


def _whole(values: Vector, ends: Matrix, logarithmic: bool) -> Matrix:
    """Pooled estimates and intervals, which the axis shows whole, as ends of one interval."""
    both = np.append(values, ends.ravel())
    both = both[np.isfinite(both) & ((both > 0) | (not logarithmic))]
    return np.array([[both.min(), both.max()]]) if both.size else np.empty((0, 2))


def _draw_people(axes: Axes, values: Vector, place: int, shown: Scale) -> int:
    """Subjects side by side where they would hide each other; how many have no estimate."""
    if not len(values):
        return 0
    drawn = look(place)
    across = place + SPREAD * _beside(values, shown)
    seen = shown.seen(values)
    size = 3.0 if len(values) <= 60 else 2.0
    axes.plot(
        across[seen],
        values[seen],
        drawn.marker,
        color=drawn.color,
        markersize=size,
        alpha=0.45,
        linestyle="none",
        markeredgewidth=0,
    )
    return mark_at_edge(axes, across, values, shown, drawn.color)


def _beside(values: Vector, shown: Scale) -> Vector:
    """Offsets in -1..1, wider where there are more values of about the same height.

    They follow a sequence that fills the width evenly, so that every call gives the same.
    """
    classes = np.round(shown.fraction(values) * CLASSES).astype(np.int64)
    crowd = np.bincount(classes, minlength=1)
    order = np.argsort(values, kind="stable")
    even = np.empty(len(values))
    even[order] = 2 * _van_der_corput(len(values)) - 1
    return np.asarray(even * crowd[classes] / max(int(crowd.max()), CROWD))


def _van_der_corput(n: int) -> Vector:
    """1/2, 1/4, 3/4, 1/8 ...: the binary digits of 1 to n, mirrored at the point."""
    digits = np.arange(1, n + 1)[:, None] >> np.arange(24) & 1
    return np.asarray((digits * 0.5 ** np.arange(1, 25)).sum(axis=1))


def _draw_pooled(axes: Axes, place: int, value: float, ends: Matrix, shown: Scale) -> OpenEnds:
    here, one = np.array([float(place)]), np.array([value])
    if not shown.seen(one).all():
        mark_at_edge(axes, here, one, shown, INK)
        if np.isfinite(value):
            remark(axes, "the estimate of a category lies beyond the axis")
        else:
            remark(axes, "a category has no finite estimate")
            return OpenEnds()
    found = draw_intervals(
        axes, here, ends[None], shown, "y", color=INK, size=4.0, linewidth=1.6, zorder=5
    )
    if not shown.seen(one).all():
        return found
    axes.plot(
        [place],
        [value],
        look(place).marker,
        color=INK,
        markersize=5.5,
        zorder=6,
        markerfacecolor=look(place).color,
    )
    return found


def _brackets(axes: Axes, p_values: Mapping[tuple[int, int], float], n: int) -> None:
    """p-values above the data, the closest pairs lowest, below any remark."""
    from matplotlib.transforms import ScaledTranslation

    pairs = sorted(p_values.items(), key=lambda item: (abs(item[0][1] - item[0][0]), item[0]))
    inches = axes.figure.dpi_scale_trans
    for level, ((first, second), p) in enumerate(pairs):
        if not (0 <= first < n and 0 <= second < n):
            raise DataError(
                f"p_values must name two of the {n} categories by position; got "
                f"({first}, {second}). Positions are counted from 0."
            )
        lift = ScaledTranslation(0, (5 + BRACKET * level) / 72, inches)
        place = axes.get_xaxis_transform() + lift
        line: dict[str, Any] = {"color": GREY, "linewidth": HAIR, "clip_on": False}
        axes.plot([first + 0.04, second - 0.04], [1, 1], "|-", transform=place, **line)
        said: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": FONT_SIZE}
        axes.text((first + second) / 2, 1, _p(p), transform=place, gid=ABOVE, **said)
    if pairs:
        stay_clear(axes)


def _p(value: float) -> str:
    if np.isnan(value):
        return "no test"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"
