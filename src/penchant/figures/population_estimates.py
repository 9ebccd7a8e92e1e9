"""Figures of populations: group means over subjects, shrinkage, densities, coefficients.

Points of a group are spread sideways by a van der Corput sequence, so that the same data always
give the same figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant._typing import Label, Matrix, Vector
from penchant.errors import DataError
from penchant.figures import array_checks
from penchant.figures.axis_limits import (
    AxisScale,
    TruncatedIntervalCounts,
    choose_scale,
    clipped_intervals_and_range,
    draw_intervals,
    mark_values_outside_axis,
    note_values_off_axis,
)
from penchant.figures.label_text import (
    FONT_SIZE,
    label_x_categories,
    label_y_rows,
    set_natural_parameter_ticks,
)
from penchant.figures.style import (
    ABOVE_AXES_GID,
    BLUE,
    GREY,
    HAIRLINE,
    INK,
    THIN_LINE,
    VERMILLION,
    add_legend,
    add_remark,
    draw_placeholder,
    note_missing_estimates,
    raise_titles_above_artists,
    series_style,
    style,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


N_HEIGHT_BINS = 25  # bins about as high as a marker: points of different bins do not overlap
FULL_WIDTH_COUNT = 8  # points in a bin for full width; a few people spread wide look like many
BRACKET_POINTS = 13  # a line of text and a gap, else a p-value touches the next bracket
SWARM_HALF_WIDTH = 0.34  # in distances between categories; at 0.5 neighbours would mix


@style()
def population(
    axes: Axes,
    categories: Sequence[Label],
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
    """Pooled estimate and interval of a parameter in several categories, over the subjects' own.

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
    values = array_checks.check_vector("estimates", estimates)
    names = array_checks.check_labels("categories", categories, len(values), "estimate")
    ends = array_checks.check_intervals("interval", interval, len(values), "category")
    people = [
        array_checks.check_vector("subjects", one)
        for one in array_checks.values_or_repeated_default(subjects, len(values), [])
    ]
    if len(people) != len(values):
        raise DataError(
            "subjects",
            f"must hold one array per category, {len(values)} in all",
            got=len(people),
            fix="Correct it.",
        )
    everyone = np.concatenate([values, *people])
    style_axes(axes, "", name)
    if not len(values):
        draw_placeholder(axes)
        return axes
    ends, bounds = clipped_intervals_and_range(everyone, ends, name, bounds)
    scale = choose_scale(
        everyone, _range_of_pooled_intervals(values, ends, logarithmic), logarithmic, limits, bounds
    )
    scale.apply(axes, "y")
    missing = sum(_draw_subject_swarm(axes, one, place, scale) for place, one in enumerate(people))
    truncated = TruncatedIntervalCounts()
    for place in range(len(values)):
        truncated += _draw_pooled_estimate(axes, place, float(values[place]), ends[place], scale)
    axes.set_xlim(-0.6, len(values) - 0.4)
    label_x_categories(axes, range(len(values)), names)
    note_missing_estimates(axes, missing, "subjects with ")
    note_values_off_axis(axes, np.concatenate([np.empty(0), *people]), scale)
    truncated.add_remarks(axes, "y", logarithmic)
    _draw_p_value_brackets(axes, p_values or {}, len(values))
    return axes


def _range_of_pooled_intervals(values: Vector, ends: Matrix, logarithmic: bool) -> Matrix:
    """Range of pooled estimates and intervals as one interval, which the axis shows whole."""
    both = np.append(values, ends.ravel())
    both = both[np.isfinite(both) & ((both > 0) | (not logarithmic))]
    return np.array([[both.min(), both.max()]]) if both.size else np.empty((0, 2))


def _draw_subject_swarm(axes: Axes, values: Vector, place: int, scale: AxisScale) -> int:
    """Draw subjects side by side; return how many have no finite estimate."""
    if not len(values):
        return 0
    drawn = series_style(place)
    across = place + SWARM_HALF_WIDTH * _swarm_x_offsets(values, scale)
    seen = scale.contains(values)
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
    return mark_values_outside_axis(axes, across, values, scale, drawn.color)


def _swarm_x_offsets(values: Vector, scale: AxisScale) -> Vector:
    """Sideways offsets in -1..1, wider where more values share a bin.

    They follow a low-discrepancy sequence: even, and the same in every call.
    """
    classes = np.round(scale.fraction(values) * N_HEIGHT_BINS).astype(np.int64)
    crowd = np.bincount(classes, minlength=1)
    order = np.argsort(values, kind="stable")
    even = np.empty(len(values))
    # successive numbers of the sequence lie far apart: given in order of height, points that are
    # close in height do not overlap
    even[order] = 2 * _van_der_corput_sequence(len(values)) - 1
    return np.asarray(even * crowd[classes] / max(int(crowd.max()), FULL_WIDTH_COUNT))


def _van_der_corput_sequence(length: int) -> Vector:
    """1/2, 1/4, 3/4, 1/8 ...: binary digits of the integers from 1, mirrored at the point."""
    digits = np.arange(1, length + 1)[:, None] >> np.arange(24) & 1  # 24 bits serve 1.6e7 people
    return np.asarray((digits * 0.5 ** np.arange(1, 25)).sum(axis=1))


def _draw_pooled_estimate(
    axes: Axes, place: int, value: float, ends: Matrix, scale: AxisScale
) -> TruncatedIntervalCounts:
    here, one = np.array([float(place)]), np.array([value])
    if not scale.contains(one).all():
        mark_values_outside_axis(axes, here, one, scale, INK)
        if np.isfinite(value):
            add_remark(axes, "the estimate of a category lies beyond the axis")
        else:
            add_remark(axes, "a category has no finite estimate")
            return TruncatedIntervalCounts()
    found = draw_intervals(
        axes, here, ends[None], scale, "y", color=INK, size=4.0, linewidth=1.6, zorder=5
    )
    if not scale.contains(one).all():
        return found
    axes.plot(
        [place],
        [value],
        series_style(place).marker,
        color=INK,
        markersize=5.5,
        zorder=6,
        markerfacecolor=series_style(place).color,
    )
    return found


def _draw_p_value_brackets(
    axes: Axes, p_values: Mapping[tuple[int, int], float], n_categories: int
) -> None:
    """Draw brackets with p-values above the data, pairs of neighbours lowest, below any remark."""
    from matplotlib.transforms import ScaledTranslation

    # wide brackets above narrow ones, so that lines do not cross
    pairs = sorted(p_values.items(), key=lambda item: (abs(item[0][1] - item[0][0]), item[0]))
    inches = axes.figure.dpi_scale_trans
    for level, ((first, second), p) in enumerate(pairs):
        if not (0 <= first < n_categories and 0 <= second < n_categories):
            raise DataError(
                "p_values",
                f"must name two of the {n_categories} categories by position",
                got=f"({first}, {second})",
                fix="Positions are counted from 0.",
            )
        lift = ScaledTranslation(0, (5 + BRACKET_POINTS * level) / 72, inches)
        place = axes.get_xaxis_transform() + lift
        line: dict[str, Any] = {"color": GREY, "linewidth": HAIRLINE, "clip_on": False}
        axes.plot([first + 0.04, second - 0.04], [1, 1], "|-", transform=place, **line)
        font: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": FONT_SIZE}
        axes.text(
            (first + second) / 2, 1, _format_p_value(p), transform=place, gid=ABOVE_AXES_GID, **font
        )
    if pairs:
        raise_titles_above_artists(axes)


def _format_p_value(value: float) -> str:
    if np.isnan(value):
        return "no test"
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


ELLIPSE_SHARES = (0.5, 0.95)  # where half of the people lie, and where almost all do
MAX_BAND_HEIGHT = 2.0  # in heights of the curves, which a higher band would flatten


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
    first = array_checks.check_matrix("alone", alone, "(n_subjects, 2)", 2)
    second = array_checks.check_matrix("together", together, "(n_subjects, 2)", 2)
    if len(first) != len(second):
        raise DataError(
            "alone",
            f"must have a row for each of {len(second)} subjects",
            got=len(first),
            fix="Match them.",
        )
    style_axes(axes, *names)
    if not len(second):
        draw_placeholder(axes)
        return axes
    outline = _population_ellipses(mean, covariance)
    scales = []
    for a in range(2):
        shown = np.concatenate([second[:, a], *(line[:, a] for line in outline)])
        middle, half = np.median(shown[np.isfinite(shown)]), np.ptp(shown[np.isfinite(shown)])
        # estimates alone may be far off or infinite: farther ones would flatten all shrunken ones
        near = first[np.abs(first[:, a] - middle) <= half, a]
        none = np.empty((0, 2))
        scales.append(choose_scale(np.concatenate([shown, near]), none, False, limits[a]))
    for own, which, value in zip(scales, "xy", values, strict=True):
        own.apply(axes, which)
        if value is not None:
            set_natural_parameter_ticks(axes.xaxis if which == "x" else axes.yaxis, value)
    for line, share in zip(outline, ELLIPSE_SHARES, strict=False):
        label = f"{100 * share:.0f} % of people"
        width = HAIRLINE if share > 0.9 else THIN_LINE
        axes.plot(*line.T, color=INK, linewidth=width, linestyle="--", label=label, zorder=1)
    if len(outline):
        axes.plot(*np.asarray(mean, dtype=np.float64), "D", color=INK, markersize=4, zorder=4)
    for start, end in zip(_shrinkage_line_starts(first, second, scales), second, strict=True):
        if np.isfinite(start).all():
            thin: dict[str, Any] = {
                "arrowstyle": "-",
                "color": GREY,
                "linewidth": HAIRLINE,
                "shrinkA": 0,
                "shrinkB": 0,
            }
            axes.annotate("", end, start, arrowprops=thin, zorder=2)
    seen = np.all([own.contains(first[:, a]) for a, own in enumerate(scales)], axis=0)
    hollow: dict[str, Any] = {
        "markerfacecolor": "white",
        "markeredgewidth": THIN_LINE,
        "linestyle": "none",
    }
    axes.plot(
        *first[seen].T, "o", color=VERMILLION, markersize=3, label="alone", zorder=3, **hollow
    )
    axes.plot(
        *second.T, "o", color=BLUE, markersize=3, linestyle="none", label="together", zorder=5
    )
    note_missing_estimates(axes, int((~np.isfinite(first).all(axis=1)).sum()))
    add_legend(axes)
    return axes


def _shrinkage_line_starts(alone: Matrix, together: Matrix, scales: Sequence[AxisScale]) -> Matrix:
    """Starting points of the lines, at the edge of the axes for estimates beyond them.

    Lines of estimates beyond both axes start level at the side, else all would share one corner.
    """
    beyond = ~np.stack([own.contains(alone[:, a]) for a, own in enumerate(scales)], axis=1)
    ends = [(own.low, own.high) for own in scales]
    found = np.stack([np.clip(alone[:, a], *ends[a]) for a in range(2)], axis=1)
    level = beyond.all(axis=1) & ~np.isnan(found).any(axis=1)
    found[level, 1] = together[level, 1]
    return found


def _population_ellipses(mean: Any, covariance: Any) -> list[Matrix]:
    if mean is None or covariance is None:
        return []
    middle = array_checks.check_vector("mean", mean, 2, "axis")
    matrix = array_checks.check_matrix("covariance", covariance, "(2, 2)", 2)
    values, vectors = np.linalg.eigh(matrix)
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    # clipped at 0: rounding can make a singular covariance slightly indefinite
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    # in two dimensions the squared radius that holds a share is chi-square: -2 log(1 - share)
    return [middle + np.sqrt(-2 * np.log(1 - share)) * circle @ root.T for share in ELLIPSE_SHARES]


@style()
def population_density(
    axes: Axes,
    values: Any,
    densities: Any,
    *,
    bands: Any = None,
    people: Sequence[Any] | None = None,
    categories: Sequence[Label] | None = None,
    name: str = "parameter",
    logarithmic: bool = False,
) -> Axes:
    """Density of a parameter in one or several populations, over the estimates of their people.

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
    x = array_checks.check_vector("values", values)
    heights = array_checks.check_matrix("densities", densities, "(n_populations, n)", len(x))
    groups = array_checks.values_or_repeated_default(categories, len(heights), "")
    names = array_checks.check_labels("categories", groups, len(heights), "density")
    style_axes(axes, name, "density")
    if not len(x) or not len(heights):
        draw_placeholder(axes)
        return axes
    own = [
        array_checks.check_vector("people", one)
        for one in array_checks.values_or_repeated_default(people, len(heights), [])
    ]
    top = highest = float(heights.max())
    room = 0.06 * top
    for series, (line, label) in enumerate(zip(heights, names, strict=True)):
        drawn = series_style(series)
        if bands is not None:
            low, high = np.asarray(bands, dtype=np.float64)[series].T
            # matplotlib draws no infinite band: a finite one far above the axes looks the same
            finite = np.minimum(high, 2 * MAX_BAND_HEIGHT * float(heights.max()))
            axes.fill_between(x, low, finite, color=drawn.color, alpha=0.15, linewidth=0)
            highest = max(highest, float(high.max()))
        entry = f"{label} (n = {len(own[series])})" if label else None
        axes.plot(x, line, linestyle=drawn.line, color=drawn.color, label=entry)
        at = own[series][np.isfinite(own[series])]
        place = -room * (series + 1)
        axes.plot(at, np.full(len(at), place), "|", color=drawn.color, markersize=5, alpha=0.8)
    scale = AxisScale(float(x[0]), float(x[-1]), logarithmic)
    scale.apply(axes, "x")
    # a high band would flatten the curves: it is cut, and the reader is told
    ceiling = min(1.05 * highest, MAX_BAND_HEIGHT * top)
    axes.set_ylim(-room * (len(heights) + 0.8), ceiling)
    if highest > ceiling:
        add_remark(axes, "band goes on above")
    axes.set_yticks([])
    add_legend(axes)
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
    values: Vector = array_checks.check_vector("estimates", estimates)
    row_names = array_checks.check_labels("names", names, len(values), "coefficient")
    ends = array_checks.check_intervals("interval", interval, len(values), "coefficient")
    style_axes(axes, name, "")
    if not len(values):
        draw_placeholder(axes)
        return axes
    scale = choose_scale(np.append(values, 0.0), ends, False, limits)
    scale.apply(axes, "x")
    rows = np.arange(len(values), dtype=np.float64)
    axes.axvline(0.0, color=INK, linewidth=HAIRLINE, linestyle="--", zorder=0)
    truncated: TruncatedIntervalCounts = draw_intervals(
        axes, rows, ends, scale, "x", color=BLUE, linewidth=1.2
    )
    seen = scale.contains(values)
    axes.plot(values[seen], rows[seen], "o", color=BLUE, markersize=4, zorder=3)
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    label_y_rows(axes, rows.tolist(), row_names)
    note_missing_estimates(axes, int((~np.isfinite(values)).sum()))
    truncated.add_remarks(axes, "x", False)
    return axes
