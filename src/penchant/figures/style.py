"""Common style of all figures: colours, lines, markers, legends, titles, and files.

Colours are those of Okabe and Ito (2008), distinct under all forms of colour vision; every series
has its own line style and marker as well, so that figures work in grey. Rendering is matplotlib's;
files are reproducible byte by byte.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from penchant._typing import FilePath
from penchant.argument_checks import check_number, check_one_of
from penchant.errors import DataError
from penchant.figures.label_text import (
    FONT,
    FONT_SIZE,
    POWER_LIMITS,
    axes_size,
    axis_label,
    text_width,
    wrap_text,
)
from penchant.files.atomic_files import atomic_write, check_writable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
INK, GREY, PALE = BLACK, "#6E6E6E", "#D9D9D9"

COLUMN_INCHES = {1: 3.5, 2: 7.16}  # columns of an IEEE page: no rescaling, so font sizes hold
HEIGHT_TO_WIDTH = 0.618  # a golden rectangle, unless the caller gives a height
LINE_WIDTH, THIN_LINE, HAIRLINE = 1.3, 0.8, 0.5  # points: data stand out from references, axes
# an interval without a point on it must not look like one whose estimate was forgotten
NO_ESTIMATE_DASHES = (0, (2, 1.5))
# values: perceptually uniform, so that equal differences look equal; counts: 0 is white, like paper
VALUE_COLORMAP, COUNT_COLORMAP = "cividis", "Blues"

_LINE_STYLES = ("-", "--", "-.", ":", (0, (6, 1.5)), (0, (3, 1, 1, 1, 1, 1)), "-", "--")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_RC_PARAMS: dict[str, Any] = {
    "font.size": FONT_SIZE,
    "font.family": "sans-serif",
    "font.sans-serif": [FONT],
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "axes.titleweight": "normal",
    "xtick.labelsize": FONT_SIZE,
    "ytick.labelsize": FONT_SIZE,
    "legend.fontsize": FONT_SIZE,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "axes.linewidth": HAIRLINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": HAIRLINE,
    "ytick.major.width": HAIRLINE,
    "xtick.minor.width": HAIRLINE,
    "ytick.minor.width": HAIRLINE,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": LINE_WIDTH,
    "lines.markersize": 3.5,
    "lines.solid_capstyle": "butt",
    "hatch.linewidth": HAIRLINE,
    "axes.formatter.limits": POWER_LIMITS,
    "axes.formatter.use_mathtext": True,
    "savefig.dpi": 300,
    "figure.dpi": 150,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",  # letters as outlines, so that no font need be installed to read them
    "svg.hashsalt": "penchant",
}
_RC_LOCK = RLock()  # matplotlib's settings are global: threads would draw in each other's style


@dataclass(frozen=True)
class SeriesStyle:
    """Colour, line style and marker of a series."""

    color: str
    line: Any
    marker: str


def series_style(series: int) -> SeriesStyle:
    """Return colour, line style and marker of a series; after the eighth they repeat.

    Parameters
    ----------
    series
        Its number.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.figures.series_style(1)
    SeriesStyle(color='#D55E00', line='--', marker='s')
    """
    place = series % len(PALETTE)
    return SeriesStyle(PALETTE[place], _LINE_STYLES[place], _MARKERS[place])


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the library; afterwards the settings are the user's own again.

    All functions of `penchant.figures` do so by themselves. Use it around your own calls of
    matplotlib to make them match. Threads take turns.
    """
    with _RC_LOCK:  # reentrant: functions of this package call each other
        with _silence_matplotlib_logger():
            from matplotlib import style as matplotlib_style
        with matplotlib_style.context(["default", _RC_PARAMS]):
            yield


@contextmanager
def _silence_matplotlib_logger() -> Iterator[None]:
    """Keep matplotlib from reporting that it looks for fonts, as it does at its first use."""
    logger = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def figure(columns: int = 1, height: float | None = None) -> Figure:
    """Make an empty figure, one or two columns of a journal page wide.

    Parameters
    ----------
    columns
        1 (3.5 inches) or 2 (7.16 inches).
    height
        In inches; without, a golden rectangle for one column and half as flat for two.

    Examples
    --------
    >>> import penchant as pn
    >>> axes = pn.figures.figure().subplots()
    >>> two = pn.figures.figure(columns=2, height=2.4).subplots(1, 2)
    """
    check_one_of(columns, "columns", COLUMN_INCHES)
    width = COLUMN_INCHES[columns]
    tall = width * HEIGHT_TO_WIDTH / columns if height is None else height
    check_number(tall, "height", above=0, fix="Give it in inches.")
    with style():
        from matplotlib.figure import Figure

        return Figure(figsize=(width, tall), layout="constrained")


# share of a cell that must remain to the data; long labels make the figure higher instead
MIN_HEIGHT_SHARE = 0.55
LEGEND_LINE_POINTS = 16.0  # a legend of one line: figures have room for it, only more lines cost
ABOVE_AXES_GID = "above the axes"  # group id: titles find the artists they must not overlap by it
SIDE_LEGEND_POINTS = 360.0  # in narrower axes a legend at the right would squeeze the data
TITLE_PAD_POINTS = 4.0  # about half a line: closer, a title reads as part of what is below
_TEXT_STYLE: dict[str, Any] = {
    "fontfamily": "sans-serif",
    "fontweight": "normal",
    "fontsize": FONT_SIZE,
    "color": INK,
}


def style_axes(axes: Axes, x: str, y: str) -> Axes:
    """Label the axes in words and set their spines, ticks and background, whatever they were."""
    across, up = axes_size(axes)
    axes.set_xlabel(wrap_text(axis_label(x), max(across, 100.0), 3), **_TEXT_STYLE)
    axes.set_ylabel(wrap_text(axis_label(y), max(up, 80.0), 3), **_TEXT_STYLE)
    axes.set_facecolor("white")
    axes.grid(False)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(HAIRLINE)
        spine.set_color(INK)
    colours: dict[str, Any] = {"color": INK, "labelcolor": INK, "labelfontfamily": "sans-serif"}
    axes.tick_params(which="both", direction="out", width=HAIRLINE, labelsize=FONT_SIZE, **colours)
    axes.tick_params(which="major", length=2.5)
    axes.tick_params(which="minor", length=1.5)
    for axis in (axes.xaxis, axes.yaxis):
        _set_power_limits(axis)
    return axes


def _set_power_limits(axis: Any) -> None:
    """Factor powers of ten out of tick numbers of more than six digits."""
    formatter = axis.get_major_formatter()
    if hasattr(formatter, "set_powerlimits"):
        formatter.set_powerlimits(POWER_LIMITS)
        formatter.set_useMathText(True)
    axis.get_offset_text().set(fontsize=FONT_SIZE, fontfamily="sans-serif", color=INK)


def add_heading(axes: Axes, text: str) -> None:
    """Write a heading above the left corner, over all remarks."""
    _set_titles(
        axes, wrap_text(text, max(axes_size(axes)[0], 120.0), 3), axes.get_title(loc="right")
    )


def add_remark(axes: Axes, text: str, lift: float = 0.0) -> None:
    """Add a line in grey above the right corner, under earlier remarks and above a legend.

    It is lifted by at least `lift` points.
    """
    earlier = axes.get_title(loc="right")
    if text not in earlier.split("\n"):  # series with the same remark must not repeat it
        words = "\n".join(filter(None, (earlier, text)))
        _set_titles(axes, axes.get_title(loc="left").rstrip("\n"), words, lift)


def _set_titles(axes: Axes, left: str, right: str, lift: float = 0.0) -> None:
    """Set heading and remarks over all artists that are marked as above the axes."""
    top = axes.get_window_extent().y1
    above = [artist for artist in axes.get_children() if artist.get_gid() == ABOVE_AXES_GID]
    high = max((artist.get_window_extent().y1 - top for artist in above), default=0.0)
    dots = axes.figure.dpi / 72
    pad = max(TITLE_PAD_POINTS, lift, high / dots + TITLE_PAD_POINTS if above else 0.0)
    # both titles share a baseline: empty lines lift the heading over the remarks
    below = "\n" * (right.count("\n") + 1 if left and right else 0)
    axes.set_title(f"{left}{below}", loc="left", pad=pad, **_TEXT_STYLE)
    axes.set_title(right, loc="right", pad=pad, **{**_TEXT_STYLE, "color": GREY})


def raise_titles_above_artists(axes: Axes) -> None:
    """Lift heading and remarks over artists that were drawn above the axes since."""
    _set_titles(axes, axes.get_title(loc="left").rstrip("\n"), axes.get_title(loc="right"))


def note_missing_estimates(axes: Axes, count: int, prefix: str = "") -> None:
    """Remark how many estimates are not finite, if any."""
    if count:
        add_remark(axes, f"{prefix}no finite estimate: {count}")


def draw_placeholder(axes: Axes, text: str = "no data") -> None:
    """Write in the middle that there is nothing to show."""
    letters = {**_TEXT_STYLE, "color": GREY}
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", **letters)


# a shorter sample line would not show the dashes by which series differ in print without colour
LEGEND_HANDLE_POINTS, LEGEND_GAP_POINTS = 16.0, 5.0


def add_legend(
    axes: Axes, *, handles: list[Any] | None = None, side: str = "left", square: bool = False
) -> None:
    """Add a legend beside the data, if anything has a label: above, or at the right of wide axes.

    Parameters
    ----------
    axes
        Axes whose series are listed.
    handles
        Its entries in order, if not in the order of drawing.
    side
        With which end of the axes a legend above them ends: "right" where rows have long names.
    square
        Whether the axes are square, so that flat ones have room at the right.
    """
    found, names = axes.get_legend_handles_labels()
    entries: list[Any] = found if handles is None else handles
    names = names if handles is None else [str(one.get_label()) for one in handles]
    if not entries:
        return
    across, up = axes_size(axes)
    # square axes leave the rest of a flat cell free: 70 points hold a handle and a short name
    beside = across >= SIDE_LEGEND_POINTS or (square and across - up >= 70.0)
    free = across - up if square else 0.3 * across
    free = free if beside else max(across, 120.0)
    wrapped = [
        wrap_text(name, free - LEGEND_HANDLE_POINTS - LEGEND_GAP_POINTS, 4 if beside else 2)
        for name in names
    ]
    corner: Any = ("upper left", (1.02, 1.0)) if beside else ("lower left", (0.0, 1.0))
    if side == "right" and not beside:
        corner = ("lower right", (1.0, 1.0))
    made = axes.legend(
        entries,
        wrapped,
        loc=corner[0],
        bbox_to_anchor=corner[1],
        ncols=1 if beside else _n_legend_columns([text_width(one) for one in wrapped], free),
        frameon=False,
        fontsize=FONT_SIZE,
        borderaxespad=0.0,
        borderpad=0.3,
        handlelength=LEGEND_HANDLE_POINTS / FONT_SIZE,
        handletextpad=LEGEND_GAP_POINTS / FONT_SIZE,
        columnspacing=1.0,
        labelspacing=0.3,
    )
    made.set_gid("" if beside else ABOVE_AXES_GID)
    raise_titles_above_artists(axes)


def grow_figure_for_legends(figure: Figure) -> None:
    """Make a figure higher by the height that legends of many lines take from its axes."""
    dots, taken = figure.dpi / 72, dict[int, float]()
    for axes in figure.axes:  # panels of a row share their height, so only the highest counts
        spec, made = axes.get_subplotspec(), axes.get_legend()
        if made is not None and made.get_gid() == ABOVE_AXES_GID:
            row = 0 if spec is None else spec.rowspan.start
            beyond = made.get_window_extent().height / dots - LEGEND_LINE_POINTS
            taken[row] = max(taken.get(row, 0.0), beyond)
    figure.set_figheight(figure.get_figheight() + sum(taken.values()) / 72)


def add_legend_bars_first(axes: Axes, side: str = "left") -> None:
    """Add a legend in the order of drawing; matplotlib would list bars last."""
    handles = axes.get_legend_handles_labels()[0]
    add_legend(
        axes, handles=sorted(handles, key=lambda one: not hasattr(one, "patches")), side=side
    )


def _n_legend_columns(text_widths: list[float], free_points: float) -> int:
    """Largest number of columns of legend entries that fit beside each other."""
    for n in range(len(text_widths), 1, -1):
        tall = -(-len(text_widths) // n)
        # matplotlib fills column by column, so neighbours in the list share a column's width
        columns = [max(text_widths[k : k + tall]) for k in range(0, len(text_widths), tall)]
        if (
            sum(columns) + len(columns) * (LEGEND_HANDLE_POINTS + LEGEND_GAP_POINTS + FONT_SIZE)
            <= free_points
        ):
            return len(columns)
    return 1


def format_percent(axis: Any) -> None:
    """Format tick labels of proportions as percentages."""
    axis.set_major_formatter(lambda share, _: f"{100 * share:.4g} %")


# A date or a program's version would make the same figure differ from run to run.
_FILE_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}
_ID_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')


def save(figure: Figure, path: FilePath, *, title: str = "", overwrite: bool = False) -> None:
    """Write a figure as SVG, PDF or PNG by the name of the file, whole or not at all.

    Parameters
    ----------
    figure
        What was drawn.
    path
        The file; its ending says which.
    title
        What a screen reader says of an SVG; without, the labels of the axes.
    overwrite
        Whether it may replace an existing file.
    """
    suffix = Path(os.fsdecode(path)).suffix.lower()
    if suffix not in _FILE_METADATA:
        raise DataError(
            "output",
            "must end in .svg, .pdf or .png",
            got=os.fsdecode(path),
            fix="Choose one of them.",
        )
    check_writable(path, overwrite)
    if suffix == ".svg":
        content = f'<?xml version="1.0" encoding="UTF-8"?>\n{inline_svg(figure, title)}\n'.encode()
    else:
        content = _render_figure(figure, suffix)
    with atomic_write(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(content)


def inline_svg(figure: Figure, title: str = "", description: str = "") -> str:
    """Render a figure as a self-contained <svg> element for an HTML page.

    Its ids are its own, so that a page may hold many; letters are outlines; the title is there
    for screen readers. The same figure always gives the same text.

    Parameters
    ----------
    figure
        What was drawn.
    title
        What it is; without, the labels of the axes.
    description
        What it shows, in a sentence or two, for those who cannot see it.
    """
    text = _render_figure(figure, ".svg").decode()
    body = text[text.index("<svg") :].rstrip()
    title = title or _title_from_axis_labels(figure)
    name = "figure-" + sha256(f"{title}\n{description}\n{body}".encode()).hexdigest()[:10]
    body = _ID_REFERENCE.sub(rf"\g<1>{name}-\g<2>", body)
    # dead weight inside a page, which has its own metadata
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    # matplotlib styles all elements ("*"); on a page that must hold inside this figure only
    body = re.sub(r"(<style[^>]*>)\*", rf"\g<1>#{name} *", body)
    opening, rest = body.split(">", 1)
    tag = _accessible_svg_tag(opening, name, description)
    return f"{tag}>{_title_elements(name, title, description)}{rest}"


def panel_view_boxes(figure: Figure) -> list[str]:
    """SVG viewBoxes of the panels of a drawn figure, row by row, for narrow pages.

    Legends of the whole figure come last. A figure of one panel has none.
    """
    cells: dict[Any, list[Any]] = {}
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        box = axes.get_tightbbox()
        if box is not None and spec is not None:
            top = spec.get_topmost_subplotspec()
            cells.setdefault((top.rowspan.start, top.colspan.start), []).append(box)
    if len(cells) < 2:
        return []
    places = sorted(cells)
    found = [_bounding_box(cells[place]) for place in places]
    dots, high = figure.dpi / 72, figure.bbox.height / (figure.dpi / 72)
    ends = [
        [box.x0 / dots - PANEL_MARGIN_POINTS, box.x1 / dots + PANEL_MARGIN_POINTS] for box in found
    ]
    for i, (left, right) in enumerate(pairwise(places)):
        if left[0] == right[0] and ends[i][1] > ends[i + 1][0]:
            # overlapping boxes are parted where the right one begins: its text starts sharply,
            # while the end of the left one is mostly padding
            ends[i][1] = ends[i + 1][0] = ends[i + 1][0] + PANEL_MARGIN_POINTS - 0.5
    for legend in figure.legends:
        box = legend.get_window_extent()
        found.append(box)
        ends.append([box.x0 / dots - PANEL_MARGIN_POINTS, box.x1 / dots + PANEL_MARGIN_POINTS])
    return [
        f"{x0:.1f} {high - box.y1 / dots - PANEL_MARGIN_POINTS:.1f} "
        f"{x1 - x0:.1f} {box.height / dots + 2 * PANEL_MARGIN_POINTS:.1f}"
        for box, (x0, x1) in zip(found, ends, strict=True)
    ]


PANEL_MARGIN_POINTS = 3.0  # without a margin, letters at the edge of a panel shown alone are cut


def _bounding_box(boxes: list[Any]) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox.union(boxes)


def _accessible_svg_tag(opening_tag: str, figure_id: str, description: str) -> str:
    described = f' aria-describedby="{figure_id}-description"' if description else ""
    return (
        f'{opening_tag} id="{figure_id}" role="img" aria-labelledby="{figure_id}-title"{described} '
        'style="max-width: 100%; height: auto"'
    )


def _title_elements(figure_id: str, title: str, description: str) -> str:
    elements = f'\n <title id="{figure_id}-title">{escape(title)}</title>'
    if description:
        elements += f'\n <desc id="{figure_id}-description">{escape(description)}</desc>'
    return elements


def _title_from_axis_labels(figure: Figure) -> str:
    """Describe a figure by the labels of its axes."""
    found = []
    for axes in figure.axes:
        x, y = axes.get_xlabel(), axes.get_ylabel()
        found.append(f"{y} against {x}" if x and y else x or y)
    return "; ".join(dict.fromkeys(filter(None, found))) or "Figure"


def _repeat_layout_for_fixed_aspect(figure: Figure) -> None:
    """Solve the layout once more for axes of fixed aspect: their height depends on their width."""
    engine = figure.get_layout_engine()
    if engine is not None and any(axes.get_aspect() != "auto" for axes in figure.axes):
        engine.execute(figure)


MAX_LAYOUT_ROUNDS = 4  # growing moves labels, so it repeats; a guard against growing for ever


def _grow_until_axes_high_enough(figure: Figure) -> None:
    """Make a figure higher whose labels, legends and brackets would leave its axes too flat."""
    engine = figure.get_layout_engine()
    shown = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    if engine is None or not shown:
        return
    wanted = [MIN_HEIGHT_SHARE * axes_size(axes)[1] for axes in shown]
    for _ in range(MAX_LAYOUT_ROUNDS):
        engine.execute(figure)
        found = [axes.get_window_extent().height * 72 / figure.dpi for axes in shown]
        rows: dict[int, float] = {}
        for axes, high, least in zip(shown, found, wanted, strict=True):
            row = axes.get_subplotspec().rowspan.start  # type: ignore[union-attr]  # see above
            rows[row] = max(rows.get(row, 0.0), least - high)
        lacking = sum(rows.values())
        if lacking < 1.0:  # points: nobody sees less, and another layout costs time
            return
        figure.set_figheight(figure.get_figheight() + lacking / 72)


def _wrap_long_y_labels(figure: Figure) -> None:
    """Wrap labels of y axes that would leave the figure."""
    for axes in figure.axes:
        label = axes.yaxis.label
        box = label.get_window_extent()
        if label.get_text() and (box.y0 < 0 or box.y1 > figure.bbox.y1):
            high = axes.get_window_extent().height * 72 / figure.dpi
            label.set_text(wrap_text(" ".join(label.get_text().split("\n")), high, 3))


def _render_figure(figure: Figure, suffix: str) -> bytes:
    buffer = BytesIO()
    with style():
        _repeat_layout_for_fixed_aspect(figure)
        _grow_until_axes_high_enough(figure)
        _wrap_long_y_labels(figure)
        figure.savefig(buffer, format=suffix[1:], metadata=_FILE_METADATA[suffix])
    return buffer.getvalue()
