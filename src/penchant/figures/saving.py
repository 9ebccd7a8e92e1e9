"""Figures as files, and as SVG inside an HTML page."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from penchant.errors import DataError
from penchant.figures.style import style
from penchant.files.atomic import check_writable, written
from penchant.wording import argument

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# No date and no program: the same figure gives the same bytes.
_NAMELESS: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}
_ID = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')


def save(
    figure: Figure, path: str | os.PathLike[str], *, title: str = "", overwrite: bool = False
) -> None:
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
    if suffix not in _NAMELESS:
        raise DataError(
            f"{argument('output')} must end in .svg, .pdf or .png; got {os.fsdecode(path)}. Choose "
            "one of them."
        )
    check_writable(path, overwrite)
    if suffix == ".svg":
        content = f'<?xml version="1.0" encoding="UTF-8"?>\n{inline_svg(figure, title)}\n'.encode()
    else:
        content = _drawn(figure, suffix)
    with written(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(content)


def inline_svg(figure: Figure, title: str = "", description: str = "") -> str:
    """A figure as an <svg> element that needs nothing else, to put into an HTML page.

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
    text = _drawn(figure, ".svg").decode()
    body = text[text.index("<svg") :].rstrip()
    title = title or _labels(figure)
    name = "figure-" + sha256(f"{title}\n{description}\n{body}".encode()).hexdigest()[:10]
    body = _ID.sub(rf"\g<1>{name}-\g<2>", body)
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    # What matplotlib says of all elements must hold for those of this figure only.
    body = re.sub(r"(<style[^>]*>)\*", rf"\g<1>#{name} *", body)
    opening, rest = body.split(">", 1)
    return f"{_accessible(opening, name, description)}>{_words(name, title, description)}{rest}"


def panels(figure: Figure) -> list[str]:
    """Where the panels of a figure that was drawn lie in its SVG, as viewBoxes, row by row.

    A narrow page shows them below each other. What belongs to no panel, such as a legend for all,
    comes last. A figure of one panel has none to take apart.
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
    found = [_joined(cells[place]) for place in places]
    dots, high = figure.dpi / 72, figure.bbox.height / (figure.dpi / 72)
    ends = [[box.x0 / dots - MARGIN, box.x1 / dots + MARGIN] for box in found]
    for i, (left, right) in enumerate(pairwise(places)):
        if left[0] == right[0] and ends[i][1] > ends[i + 1][0]:
            # words begin sharply on the left; what ends on the right is mostly room
            ends[i][1] = ends[i + 1][0] = ends[i + 1][0] + MARGIN - 0.5
    for legend in figure.legends:
        box = legend.get_window_extent()
        found.append(box)
        ends.append([box.x0 / dots - MARGIN, box.x1 / dots + MARGIN])
    return [
        f"{x0:.1f} {high - box.y1 / dots - MARGIN:.1f} "
        f"{x1 - x0:.1f} {box.height / dots + 2 * MARGIN:.1f}"
        for box, (x0, x1) in zip(found, ends, strict=True)
    ]


MARGIN = 3.0  # points around a panel that is shown by itself


def _joined(boxes: list[Any]) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox.union(boxes)


def _accessible(opening: str, name: str, description: str) -> str:
    described = f' aria-describedby="{name}-description"' if description else ""
    return (
        f'{opening} id="{name}" role="img" aria-labelledby="{name}-title"{described} '
        'style="max-width: 100%; height: auto"'
    )


def _words(name: str, title: str, description: str) -> str:
    said = f'\n <title id="{name}-title">{escape(title)}</title>'
    if description:
        said += f'\n <desc id="{name}-description">{escape(description)}</desc>'
    return said


def _labels(figure: Figure) -> str:
    """What the axes say they show."""
    found = []
    for axes in figure.axes:
        x, y = axes.get_xlabel(), axes.get_ylabel()
        found.append(f"{y} against {x}" if x and y else x or y)
    return "; ".join(dict.fromkeys(filter(None, found))) or "Figure"


def _find_places(figure: Figure) -> None:
    """Find places for square axes first: what is above and below them depends on their width."""
    engine = figure.get_layout_engine()
    if engine is not None and any(axes.get_aspect() != "auto" for axes in figure.axes):
        engine.execute(figure)


def _drawn(figure: Figure, suffix: str) -> bytes:
    buffer = BytesIO()
    with style():
        _find_places(figure)
        figure.savefig(buffer, format=suffix[1:], metadata=_NAMELESS[suffix])
    return buffer.getvalue()
