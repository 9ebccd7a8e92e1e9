"""What stands around the data: labels, ticks, legends, remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penchant.figures.style import FONT_SIZE, GREY, HAIR, INK, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
