"""The one look that all figures share: colours, lines, markers and sizes.

Colours are those of Okabe and Ito, which all forms of colour vision tell apart; every series has a
line style and a marker of its own as well, so that figures work in grey.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

from penchant.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
INK, GREY, PALE = BLACK, "#6E6E6E", "#D9D9D9"

FONT_SIZE, SMALL = 8.0, 7.0  # points, at print size
WIDTHS = {1: 3.5, 2: 7.16}  # inches: one and two columns of a journal page
GOLDEN = 0.618
LINE, THIN, HAIR = 1.3, 0.8, 0.5  # points
SEQUENTIAL, COUNTS = "cividis", "Blues"  # maps of values, and of how often

_LINES = ("-", "--", "-.", ":", (0, (6, 1.5)), (0, (3, 1, 1, 1, 1, 1)), "-", "--")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_RC: dict[str, Any] = {
    "font.size": FONT_SIZE,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "axes.titleweight": "normal",
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "axes.linewidth": HAIR,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": HAIR,
    "ytick.major.width": HAIR,
    "xtick.minor.width": HAIR,
    "ytick.minor.width": HAIR,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": LINE,
    "lines.markersize": 3.5,
    "lines.solid_capstyle": "butt",
    "hatch.linewidth": HAIR,
    "axes.formatter.limits": (-3, 5),
    "axes.formatter.use_mathtext": True,
    "savefig.dpi": 300,
    "figure.dpi": 150,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",  # letters as outlines: legible without any font at hand
    "svg.hashsalt": "penchant",
}
_ONE_AT_A_TIME = RLock()  # matplotlib's settings belong to the whole process


@dataclass(frozen=True)
class Look:
    """Colour, line style and marker of a series."""

    color: str
    line: Any
    marker: str


def look(series: int) -> Look:
    """How the series of this number is drawn, from 0; after the eighth they repeat.

    Parameters
    ----------
    series
        Its number.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.figures.look(1)
    Look(color='#D55E00', line='--', marker='s')
    """
    place = series % len(PALETTE)
    return Look(PALETTE[place], _LINES[place], _MARKERS[place])


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the library; afterwards the settings are the user's own again.

    All functions of `penchant.figures` do so by themselves. Use it around your own calls of
    matplotlib to make them match. Threads take turns.
    """
    with _ONE_AT_A_TIME:
        with _without_chatter():
            from matplotlib import style as matplotlib_style
        with matplotlib_style.context(["default", _RC]):
            yield


@contextmanager
def _without_chatter() -> Iterator[None]:
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
    if columns not in WIDTHS:
        raise DataError(f"columns must be 1 or 2; got {columns!r}. Choose one.")
    width = WIDTHS[columns]
    tall = width * GOLDEN / columns if height is None else height
    if not 0 < tall < float("inf"):
        raise DataError(f"height must be > 0; got {height!r}. Give it in inches.")
    with style():
        from matplotlib.figure import Figure

        return Figure(figsize=(width, tall), layout="constrained")


LONGEST = 28
ABOVE_LEGEND = 16.0  # points that a legend above the axes is high
_LETTERS: dict[str, Any] = {"fontfamily": "sans-serif", "fontweight": "normal", "color": INK}


def dress(axes: Axes, x: str, y: str) -> Axes:
    """Label the axes; thin spines at the left and the bottom only, whatever the axes were like."""
    axes.set_xlabel(x, **_LETTERS, fontsize=FONT_SIZE)
    axes.set_ylabel(y, **_LETTERS, fontsize=FONT_SIZE)
    axes.set_facecolor("white")
    axes.grid(False)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(HAIR)
        spine.set_color(INK)
    colours: dict[str, Any] = {"color": INK, "labelcolor": INK, "labelfontfamily": "sans-serif"}
    axes.tick_params(which="both", direction="out", width=HAIR, labelsize=SMALL, **colours)
    axes.tick_params(which="major", length=2.5)
    axes.tick_params(which="minor", length=1.5)
    for axis in (axes.xaxis, axes.yaxis):
        _short_numbers(axis)
    return axes


def _short_numbers(axis: Any) -> None:
    """Take out powers of ten from numbers of more than five digits."""
    formatter = axis.get_major_formatter()
    if hasattr(formatter, "set_powerlimits"):
        formatter.set_powerlimits((-3, 5))
        formatter.set_useMathText(True)
    axis.get_offset_text().set(fontsize=SMALL, fontfamily="sans-serif", color=INK)


def heading(axes: Axes, text: str) -> None:
    """Say what is shown, above the left corner."""
    axes.set_title(text, loc="left", **_LETTERS, fontsize=FONT_SIZE)


def remark(axes: Axes, text: str, lift: float | None = None) -> None:
    """Say something in small grey letters above the right corner, under what was said before.

    Lifted by so many points, above a legend that stands there.
    """
    said = axes.get_title(loc="right")
    if text in said.split("\n"):
        return
    words = "\n".join(filter(None, (said, text)))
    axes.set_title(words, loc="right", pad=lift, **{**_LETTERS, "color": GREY}, fontsize=SMALL)


def no_finite_estimate(axes: Axes, count: int, whose: str = "") -> None:
    """Say how many estimates are not drawn, if any."""
    if count:
        remark(axes, f"{whose}no finite estimate: {count}")


def empty(axes: Axes, text: str = "no data") -> None:
    """Say in the middle that there is nothing to show."""
    place = axes.transAxes
    axes.text(0.5, 0.5, text, transform=place, ha="center", va="center", color=GREY)


def legend(axes: Axes, **options: Any) -> None:
    """Add a legend on a pale ground, if anything has a label."""
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        ground = {"facecolor": "white", "edgecolor": "none", "framealpha": 0.8}
        axes.legend(frameon=True, fontsize=SMALL, **{**ground, **options})


def headroom(axes: Axes, share: float) -> None:
    """Leave a share of the height empty above the data, for a legend."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + share * (high - low))


def percent(axis: Any) -> None:
    """Shares as percentages."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def short(name: str, longest: int = LONGEST) -> str:
    """Shorten a long name in its middle.

    Examples
    --------
    >>> short("participant-0123-session-2-pilot", 20)
    'participan…n-2-pilot'
    """
    if len(name) <= longest:
        return name
    head = longest // 2
    return f"{name[:head]}…{name[head + 1 - longest :]}"
