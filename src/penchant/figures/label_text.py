"""Labels of figures and reports: names in words, text measured and wrapped, tick numbers.

Files for machines keep the identifiers of the code; only this module turns them into words. Text is
measured with matplotlib's own font metrics, before anything is drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from penchant.models.parameter_descriptions import PARAMETER_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLUMN_LABELS = {
    "p_value": "p",
    "adjusted_p_value": "adjusted p",
    "wilcoxon_p_value": "Wilcoxon p",
    "degrees_of_freedom": "df",
    "df_1": "df",
    "df_2": "df of F",
    "hedges_g": "Hedges' g",
    "cohens_dz": "Cohen's dz",
    "name": "parameter",
    "n_subjects": "subjects",
    "n_decisions": "trials",
    "n_left_out": "left out",
    "n_pairs": "pairs",
    "i2": "I²",
    "log_likelihood": "log-likelihood",
    "exact_log_likelihood": "exact log-likelihood",
    "standard_error": "std. error",
}
SUFFIX_LABELS = {"_standard_error": "std. error", "_low": "low", "_high": "high"}
LOG_PREFIX = "log "
CONSTANT_PREFIX = "constant:"
NUMBERED_LABELS = (
    (re.compile(r"bias_(\w+)$"), "bias for option {}"),
    (re.compile(r"reward_(\d+)$"), "reward, {} back"),
    (re.compile(r"choice_(\d+)$"), "choice, {} back"),
)
PROPORTION_NAME = re.compile(
    r"(learning|choice|fictitious|forgetting)_rate(_\w+)?$|forgetting$|epsilon$|(\w+_)?share$|trace_decay$"
)
# attributes have names of the user's choice, so only these endings can be recognised
WORTH_SUFFIX, SENSITIVITY_SUFFIX = "_worth", "_sensitivity"
# matches learning_rate:group[old] between people, learning_rate[drug] within them
CONDITION_NAME = re.compile(r"([^\W\d][\w:]*?)(?::(\w[^[:]*))?\[(.+)\]$")
LEVEL_NAME = re.compile(r"[^\W\d]\w*:\S")
IDENTIFIER = re.compile(r"[^\W\d]\w*(?:/\w+)*$")


def display_name(name: str) -> str:
    """Turn an identifier into words; text that is no identifier is returned unchanged.

    Examples
    --------
    >>> display_name("log prior_variance"), display_name("learning_rate_low")
    ('log prior variance', 'learning rate, low')
    >>> display_name("label:organic_worth"), display_name("price_sensitivity")
    ('worth of label organic', 'price sensitivity')
    >>> display_name("travel_time_worth"), display_name("constant:neither_worth")
    ('worth of travel time', 'worth of neither')
    >>> display_name("learning_rate:group[old]"), display_name("learning_rate:dose[2]")
    ('learning rate: old', 'learning rate: dose 2')
    >>> display_name("learning_rate[placebo]"), display_name("learning_rate:age")
    ('learning rate: placebo', 'learning rate: age')
    >>> display_name("comfort:low"), display_name("constant:none")
    ('comfort low', 'constant of none')
    >>> display_name("adjusted_p_value"), display_name("bias_0"), display_name("response time (s)")
    ('adjusted p', 'bias for option 0', 'response time (s)')
    """
    if name.startswith(LOG_PREFIX):
        return LOG_PREFIX + display_name(name.removeprefix(LOG_PREFIX))
    if name in PARAMETER_WORDS:
        return PARAMETER_WORDS[name].label
    condition = CONDITION_NAME.match(name)
    if condition:  # first, because the name of a level may itself end in _low or _worth
        parameter, column, label = condition.groups()
        # a bare number needs the name of its column to be understood
        level = f"{column} {label}" if column and label.replace(".", "").isdigit() else label
        return f"{display_name(parameter)}: {level}"
    parameter, _, covariate = name.rpartition(":")
    if covariate and not covariate.startswith(" ") and parameter in PARAMETER_WORDS:
        return f"{display_name(parameter)}: {covariate}"
    if name in COLUMN_LABELS:
        return COLUMN_LABELS[name]
    for ending, words in SUFFIX_LABELS.items():
        if name.endswith(ending) and IDENTIFIER.match(name):
            return f"{display_name(name.removesuffix(ending))}, {words}"
    if name.endswith(SENSITIVITY_SUFFIX) and len(name) > len(SENSITIVITY_SUFFIX):
        return display_name(name.removesuffix(SENSITIVITY_SUFFIX)) + SENSITIVITY_SUFFIX.replace(
            "_", " "
        )
    if name.endswith(WORTH_SUFFIX) and len(name) > len(WORTH_SUFFIX):
        return f"worth of {attribute_label(name.removesuffix(WORTH_SUFFIX))}"
    for pattern, words in NUMBERED_LABELS:
        found = pattern.match(name)
        if found:
            return words.format(found.group(1))
    if LEVEL_NAME.match(name):
        return (
            name.replace(":", " of ") if name.startswith(CONSTANT_PREFIX) else attribute_label(name)
        )
    return name.replace("_", " ").replace("/", " / ") if IDENTIFIER.match(name) else name


def name_in_sentence(name: str) -> str:
    """Turn an identifier into words without a colon, for use in a sentence.

    Examples
    --------
    >>> name_in_sentence("learning_rate:drug[placebo]"), name_in_sentence("learning_rate")
    ('learning rate (placebo)', 'learning rate')
    """
    parameter, colon, rest = display_name(name).partition(": ")
    return f"{parameter} ({rest})" if colon else parameter


def attribute_label(name: str) -> str:
    """Turn an attribute into words: brand:Zen gives both parts, a constant its option alone.

    Examples
    --------
    >>> attribute_label("brand:Zen"), attribute_label("constant:neither")
    ('brand Zen', 'neither')
    """
    kind, _, level = name.partition(":")
    if name.startswith(CONSTANT_PREFIX) and level:
        return level
    return f"{display_name(kind)} {level}" if level else display_name(kind)


def axis_label(name: str) -> str:
    """Turn an identifier into an axis label: words, with the unit where it is known.

    Examples
    --------
    >>> axis_label("prior_mean"), axis_label("learning_rate"), axis_label("estimate")
    ('prior mean (units of reward)', 'learning rate', 'estimate')
    """
    words = PARAMETER_WORDS.get(name)
    return f"{words.label} ({words.unit})" if words and words.unit else display_name(name)


def range_implied_by_name(name: str) -> tuple[float, float] | None:
    """Range implied by a parameter's name: 0 to 1 for shares and learning rates, else None.

    Examples
    --------
    >>> range_implied_by_name("learning_rate"), range_implied_by_name("temperature")
    ((0.0, 1.0), None)
    """
    return (0.0, 1.0) if PROPORTION_NAME.match(name) else None


FONT = "DejaVu Sans"  # shipped with matplotlib, so measured widths hold on every machine
FONT_SIZE = 7.5  # points; letters below 7 are hard to read at print size
LINE_HEIGHT = 1.2 * FONT_SIZE  # points; matplotlib's own line spacing
HINTING_FACTOR = 1.04  # hinting on screens widens text a little; without it labels would touch
# points at the left and at the bottom of a grid cell: a guess of what labels will take, because
# sizes are needed before the layout engine has solved for them
LABEL_SPACE_POINTS = (45.0, 32.0)
ELLIPSIS = "…"
# lines end after punctuation and hyphens, never within "n = 12", which would be misread
_LINE_BREAKS = re.compile(r"(?:(?<=[\s/,;:_])(?<!\(n )(?<!\(n = )|(?<=\w\w-))(?=\S)")


@lru_cache(maxsize=4096)  # the same few labels are measured again in every layout round
def text_width(text: str) -> float:
    """Width of the widest line of a text, in points.

    Examples
    --------
    >>> text_width("wide words") > text_width("thin")
    True
    """
    from matplotlib.cbook import is_math_text
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    letters = FontProperties(family=FONT, size=FONT_SIZE)
    paths = TextToPath()
    found = []
    for line in text.split("\n"):
        is_math = bool(is_math_text(line))
        length, _, _ = paths.get_text_width_height_descent(line, letters, ismath=is_math)
        found.append(HINTING_FACTOR * float(length))
    return max(found)


def axes_size(axes: Axes) -> tuple[float, float]:
    """Estimate the width and height of axes in points before the layout is solved."""
    figure = axes.figure
    dots, spec = figure.dpi / 72, axes.get_subplotspec()
    if spec is None or figure.get_layout_engine() is None:  # placed by hand: no layout will follow
        place = axes.get_position(original=True).transformed(figure.transSubfigure)
        return float(place.width / dots), float(place.height / dots)
    # the layout engine solves for sizes only when drawing, so the labels' share is guessed here
    cells = spec.get_gridspec()
    across, up = np.array(cells.get_width_ratios()), np.array(cells.get_height_ratios())
    wide = across[spec.colspan.start : spec.colspan.stop].sum() / across.sum()
    high = up[spec.rowspan.start : spec.rowspan.stop].sum() / up.sum()
    whole = figure.bbox
    return (
        max(float(wide * whole.width / dots) - LABEL_SPACE_POINTS[0], 20.0),
        max(float(high * whole.height / dots) - LABEL_SPACE_POINTS[1], 20.0),
    )


def break_lines(text: str, max_points: float) -> list[str] | None:
    """Break a text between words into lines of at most `max_points`; None if a word is longer.

    Examples
    --------
    >>> break_lines("healthy controls", 50.0)
    ['healthy', 'controls']
    >>> break_lines("healthy controls", 20.0) is None
    True
    """
    found: list[str] = []
    for part in _unbreakable_parts(text, max_points):
        if found and text_width((found[-1] + part).rstrip()) <= max_points:
            found[-1] += part
        elif text_width(part.rstrip()) <= max_points:
            found.append(part)
        else:
            return None
    return [line.rstrip() for line in found] or [""]


def wrap_text(text: str, max_points: float, max_lines: int = 2) -> str:
    r"""Wrap a text to at most `max_lines` balanced lines; cut its end where it does not fit.

    A count in brackets at the end is never cut.

    Examples
    --------
    >>> wrap_text("healthy control participants", 80.0)
    'healthy control\nparticipants'
    >>> wrap_text("healthy control participants (n = 12)", 74.0, 1)
    'healthy… (n = 12)'
    """
    if "\n" in text:
        return "\n".join(wrap_text(line, max_points, max_lines) for line in text.split("\n"))
    fits = break_lines(text, max_points)
    if fits is not None and len(fits) <= max_lines:
        return "\n".join(_balanced_lines(text, max_points, len(fits)))
    filled = _fill_lines(text, max_points)
    if len(filled) <= max_lines:
        return "\n".join(filled)
    body, count = _split_name_and_count(text)

    def shortened(end: int) -> list[str]:
        return _fill_lines(f"{body[:end].rstrip(' ,;:(-_/')}{ELLIPSIS}{count}", max_points)

    # the number of lines grows with the length kept, so the longest prefix is found by bisection
    fewer = bisect_right(range(len(body)), max_lines, key=lambda end: len(shortened(end)))
    return "\n".join(shortened(max(fewer - 1, 0)))


def _fill_lines(text: str, max_points: float) -> list[str]:
    """Break a text between words, and words longer than a line where the line is full."""
    found = [""]
    for part in _unbreakable_parts(text, max_points):
        if text_width((found[-1] + part).rstrip()) <= max_points:
            found[-1] += part
            continue
        found += [""] if found[-1] else []
        length = 0.0
        for letter in part:
            length += text_width(letter)
            if found[-1] and length > max_points:
                found.append("")
                length = text_width(letter)
            found[-1] += letter
    return [line.rstrip() for line in found]


def _unbreakable_parts(text: str, max_points: float) -> list[str]:
    """Split a text into parts that stay on one line: words, and a count in brackets that fits."""
    body, count = _split_name_and_count(text)
    if not count or text_width(count.strip()) > max_points:  # kept whole it would leave the figure
        return _LINE_BREAKS.split(text)
    space = count[: len(count) - len(count.lstrip())]
    return [*(_LINE_BREAKS.split(body + space) if body else []), count.lstrip()]


def _split_name_and_count(text: str) -> tuple[str, str]:
    """Split a label into its name and the count in brackets after it."""
    found = re.search(r"\s*\([^()]*\d[^()]*\)$", text)
    is_count = found is not None and re.search(r"n = |^\s*\(\d", found.group()) is not None
    return (text[: found.start()], found.group()) if found and is_count else (text, "")


def _balanced_lines(text: str, max_points: float, n_lines: int) -> list[str]:
    """Break a text into lines of about equal length."""
    best = break_lines(text, max_points) or [text]
    # a full line above a single word looks torn: narrow the lines while their number stays
    for share in (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6):
        tried = break_lines(text, share * max_points)
        if tried is None or len(tried) > n_lines:
            break
        best = tried
    return best


# shares of the axes' width for row labels, the first that fits: more would leave no room for data
ROW_LABEL_SHARES = (0.5, 0.62, 0.75)
MIN_ROW_INCHES = 0.28  # room for two lines of text and a gap, so that rows do not run together


def label_y_rows(
    axes: Axes, places: Sequence[float], names: Sequence[str], **text_style: Any
) -> None:
    """Label rows at the y axis, wrapped over as many lines as the height of a row allows.

    Long labels of low rows take more of the width. Labels are cut only where they would take most
    of it, and only if all of them still differ.
    """
    across, up = axes_size(axes)
    low, high = sorted(axes.get_ylim())
    pitch = up / (high - low)
    max_lines = max(1, min(4, floor(pitch / LINE_HEIGHT)))
    for share in ROW_LABEL_SHARES:
        wrapped = [wrap_text(name, share * across, max_lines) for name in names]
        if not any(ELLIPSIS in one for one in wrapped):
            break
    if len(set(wrapped)) < len(set(names)):  # cut labels that are equal would confuse two rows
        wrapped = list(names)
    axes.set_yticks(list(places), wrapped, fontsize=FONT_SIZE, **text_style)
    left = across + LABEL_SPACE_POINTS[0] - max((text_width(one) for one in wrapped), default=0.0)
    # a centred label would leave the figure at the right; aligned, it may begin below the names
    if text_width(axes.get_xlabel()) > left:
        axes.set_xlabel(axes.get_xlabel(), loc="right")


def labelled_row_height_inches(names: Sequence[str], panel_inches: float) -> float:
    """Height in inches of a row whose label stands uncut at the left of a panel this wide."""
    max_points = ROW_LABEL_SHARES[0] * (72 * panel_inches - LABEL_SPACE_POINTS[0])
    max_lines = max((len(_fill_lines(name, max_points)) for name in names), default=1)
    return float(max(MIN_ROW_INCHES, (max_lines + 0.5) * LINE_HEIGHT / 72))


def row_labels_fit(axes: Axes, n_rows: float) -> bool:
    """Whether the labels of rows fit below each other."""
    return axes_size(axes)[1] / max(n_rows, 1) >= 1.02 * FONT_SIZE


ROTATION_DEGREES, ROTATION_SINE = 40.0, 0.64  # flatter labels overlap, steeper are hard to read
ROTATED_GAP_LINES = 0.4  # free lines between rotated labels, else neighbours read as one
# (degrees, longest line in points): tried in order, the most legible and lowest first
ROTATED_LAYOUTS = (
    (ROTATION_DEGREES, 80.0),
    (ROTATION_DEGREES, 100.0),
    (90.0, 80.0),
    (90.0, 100.0),
    (90.0, 120.0),
)


def label_x_categories(
    axes: Axes, places: Sequence[float], names: Sequence[str], share: float = 1.0
) -> None:
    """Label categories at the x axis: side by side over several lines, else rotated.

    Line breaks of the caller, such as a count below a name, are kept where labels stand side by
    side. A label is cut only where it is rotated and exceeds some 30 letters a line; a count in
    brackets stays whole.

    Parameters
    ----------
    axes
        Their x axis is labelled.
    places, names
        Positions and labels of the categories.
    share
        Share of the axes' width that the categories take, if their cells are square.
    """
    across, _ = axes_size(axes)
    low, high = sorted(axes.get_xlim())
    pitch = share * across / (high - low)
    level = [_horizontal_label(name, pitch - 5) for name in names]
    if all(one is not None for one in level):
        axes.set_xticks(list(places), [str(one) for one in level], fontsize=FONT_SIZE)
        return
    whole = [" ".join(name.split("\n")) for name in names]
    # rotated labels take height, which makes square cells smaller and brings labels closer
    pitch *= 1.0 if share == 1.0 else 0.75
    for angle, max_points in ROTATED_LAYOUTS:
        per_line = LINE_HEIGHT / (ROTATION_SINE if angle == ROTATION_DEGREES else 1.0)
        max_lines = max(1, min(5, floor(pitch / per_line - ROTATED_GAP_LINES)))
        wrapped = [wrap_text(name, max_points, max_lines) for name in whole]
        if pitch >= per_line and not any(ELLIPSIS in one for one in wrapped):
            break
    turned: dict[str, Any] = {"rotation": angle, "va": "top"}
    turned |= {"ha": "right", "rotation_mode": "anchor"} if angle == ROTATION_DEGREES else {}
    axes.set_xticks(list(places), wrapped, fontsize=FONT_SIZE, **turned)


def x_category_labels_fit(names: Sequence[str], panel_inches: float) -> bool:
    """Whether category labels fit side by side in a panel of this width."""
    pitch = (72 * panel_inches - LABEL_SPACE_POINTS[0]) / (len(names) + 0.2)
    return all(_horizontal_label(name, pitch - 5) is not None for name in names)


def _horizontal_label(name: str, max_points: float, max_lines: int = 5) -> str | None:
    """Wrap a label for horizontal display; None if it does not fit."""
    found: list[str] = []
    for line in name.split("\n"):
        parts = break_lines(line, max_points)
        if parts is None:
            return None
        found += _balanced_lines(line, max_points, len(parts))
    return "\n".join(found) if len(found) <= max_lines else None


# six digits fit beside each other at an axis; ticks beyond are written as powers of ten
MIN_PLAIN_TICK, MAX_PLAIN_TICK = 1e-4, 1e5
POWER_LIMITS = (-5, 6)  # exponents; beyond, matplotlib factors them out, as digits do not fit
MIN_TICK_GAP = 0.13  # share of the axis; closer ticks (more than about seven) would overlap
TICK_GAP_POINTS = 8.0  # about a letter: closer tick labels read as one number
TICK_RTOL = 1e-9  # relative: rounding of a power of ten must not move a tick off the axis


def format_tick(value: float, _: Any = None) -> str:
    r"""Format a number for a tick label.

    Examples
    --------
    >>> format_tick(0.2), format_tick(1e-4), format_tick(100000.0), format_tick(2e-6)
    ('0.2', '0.0001', '100000', '$2\\times10^{-6}$')
    """
    size = abs(value)
    if size == 0 or MIN_PLAIN_TICK * (1 - TICK_RTOL) <= size <= MAX_PLAIN_TICK * (1 + TICK_RTOL):
        return f"{value:.6f}".rstrip("0").rstrip(".") if size < MAX_PLAIN_TICK else f"{value:.0f}"
    power = floor(log10(size) + TICK_RTOL)
    digits = f"{value / 10.0**power:.4g}"
    ten = f"10^{{{power}}}"
    return f"${ten}$" if digits == "1" else f"${digits}\\times{ten}$"


def set_integer_ticks(axis: Any, last: float | None = None) -> None:
    """Put ticks at integers only; set limits from 0 to `last` where that is given."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))
    if last is not None:
        axis.set_view_interval(0.0, 1.02 * last, ignore=True)


def format_log_axis(axis: Any) -> None:
    """Format a logarithmic axis with plain numbers, as many as fit beside each other."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(_sparse_log_locator())
    axis.set_major_formatter(FuncFormatter(format_tick))
    axis.set_minor_locator(LogLocator(subs="auto", numticks=20))
    axis.set_minor_formatter(NullFormatter())


def set_natural_parameter_ticks(axis: Any, to_parameter: Callable[[Any], Any]) -> None:
    """Label an axis of unconstrained coordinates by the natural parameter: 0.2, not its logit.

    Parameters
    ----------
    axis
        Axis whose limits are set.
    to_parameter
        Increasing function from the coordinate to the parameter.
    """
    from scipy.optimize import brentq

    low, high = axis.get_view_interval()
    first, last = (float(to_parameter(end)) for end in (low, high))
    taken: list[tuple[float, float]] = []
    for tick in _tick_candidates(first, last):
        at = float(brentq(lambda h, tick=tick: float(to_parameter(h)) - tick, low, high))
        if all(abs(at - other) >= MIN_TICK_GAP * (high - low) for other, _ in taken):
            taken.append((at, tick))
    taken.sort()
    axis.set_ticks([at for at, _ in taken], [format_tick(tick) for _, tick in taken])


def _tick_candidates(low: float, high: float) -> list[float]:
    """Round numbers between two limits, the roundest first."""
    size = max(abs(low), abs(high))
    # end two decades below the smaller limit: powers of ten towards zero never end
    smallest = min((abs(end) for end in (low, high) if end), default=size)
    powers = range(floor(log10(size)), floor(log10(smallest)) - 2, -1)
    found = [0.0, *(s * d * 10.0**p for p in powers for d in (1, 5, 2) for s in (1, -1))]
    found += [s * d * 10.0**p for p in powers for d in (3, 4, 7, 6, 8, 9) for s in (1, -1)]
    # a logit axis stretches the range near 1, where only ticks such as 0.99 and 0.995 lie
    found += [1 - d * 10.0**p for p in range(-2, -5, -1) for d in (1, 5, 2)]
    return [float(f"{tick:.12g}") for tick in found if low < tick < high]


def _sparse_log_locator() -> Any:
    from matplotlib.ticker import Locator, MaxNLocator

    class SparseLogLocator(Locator):
        """Powers of ten, with multiples of 2 and 5 or 3 between them where there are few."""

        def __call__(self) -> Any:
            """Return ticks of the axis at its present limits."""
            return self.tick_values(*sorted(self.axis.get_view_interval()))  # type: ignore[union-attr]

        def tick_values(self, vmin: float, vmax: float) -> Any:
            """Return ticks between two limits."""
            few = MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]).tick_values(vmin, vmax)
            even = [float(tick) for tick in few if tick > 0 and vmin <= tick <= vmax]
            sets = _log_tick_sets(vmin, vmax)
            for ticks in (*(one for one in sets if len(one) > 2), even, *sets):
                if len(ticks) > 1 and _tick_labels_fit(self.axis, ticks):
                    return ticks
            return even

    return SparseLogLocator()


def _log_tick_sets(low: float, high: float) -> list[list[float]]:
    """Candidate sets of ticks within the limits, the best first."""
    first, last = floor(log10(low)), ceil(log10(high))

    def ticks_at(*digits: float, every: int = 1) -> list[float]:
        powers = [p for p in range(first, last + 1) if p % every == 0]
        found = [float(f"{digit:g}e{power}") for power in powers for digit in digits]
        return [tick for tick in found if low * (1 - TICK_RTOL) <= tick <= high * (1 + TICK_RTOL)]

    decades = ticks_at(1.0)
    fine = [] if len(decades) > 2 else [ticks_at(1.0, 2.0, 5.0), ticks_at(1.0, 3.0)]
    # on axes of many decades not even all powers fit: then every second, every third ...
    return [*fine, decades, *(ticks_at(1.0, every=k) for k in range(2, max(3, last - first)))]


def _tick_labels_fit(axis: Any, ticks: list[float]) -> bool:
    """Whether tick labels fit beside each other, or below each other at a y axis."""
    box = axis.axes.get_window_extent()
    dots = axis.get_figure().dpi / 72
    if axis.axis_name == "x":
        places = [axis.axes.transData.transform((tick, 1))[0] / dots for tick in ticks]
        widths = [text_width(format_tick(tick)) for tick in ticks]
        return all(
            places[i + 1] - places[i] >= (widths[i] + widths[i + 1]) / 2 + TICK_GAP_POINTS
            for i in range(len(ticks) - 1)
        )
    # 1.4 font sizes for each: at less, numbers below each other touch
    return bool(box.height / dots >= len(ticks) * max(LINE_HEIGHT, 1.4 * FONT_SIZE))
