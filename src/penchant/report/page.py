"""A page of a report: sections of paragraphs, tables and figures, in one file without a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from penchant.errors import format_for_python

TEMPLATE = "page.html"
MAX_SENTENCE_COLUMNS, MIN_SENTENCE_LENGTH = (
    5,
    48,
)  # columns of a table of sentences, and letters of one
OPTION_PATTERN = re.compile(r"(?<![\w-])(--[a-z][\w-]*(?: weak(?::[\d.]+)?| profile| wald)?)")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text, or code to type where `code` says so."""

    text: str
    code: bool = False
    kind: str = "paragraph"


@dataclass(frozen=True)
class DataTable:
    """A table whose first column names the rows.

    Attributes
    ----------
    caption
        What it shows.
    header
        Names of the columns.
    rows
        Cells, as they are to be read.
    note
        A sentence below.
    collapsed
        Whether it is shown only when asked for.
    text_columns
        Columns that hold words rather than numbers, by place; the first always does.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    collapsed: bool = False
    text_columns: frozenset[int] = frozenset((0,))
    kind: str = "table"

    @property
    def has_sentences(self) -> bool:
        """Whether cells hold sentences: on a narrow page such rows are set as paragraphs."""
        cells = [str(row[i]) for row in self.rows for i in self.text_columns]
        return 2 <= len(self.header) <= MAX_SENTENCE_COLUMNS and any(
            len(cell) > MIN_SENTENCE_LENGTH for cell in cells
        )


@dataclass(frozen=True)
class Drawing:
    """A figure: its name, its title, what it shows in a sentence or two, and an <svg> element.

    Its panels, as viewBoxes of the element, are shown below each other where the page is narrow.
    """

    name: str
    title: str
    caption: str
    svg: str
    panels: Sequence[str] = ()
    kind: str = "drawing"

    @property
    def group_id(self) -> str:
        """Name of the SVG group that holds the drawing."""
        found = re.search(r'<g id="([\w-]+)"', self.svg)
        return found.group(1) if found else ""


@dataclass(frozen=True)
class Listing:
    """A list of sentences."""

    items: Sequence[str]
    kind: str = "listing"


Block = Paragraph | DataTable | Drawing | Listing


@dataclass(frozen=True)
class Section:
    """A part of the page under a heading of its own."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)

    @property
    def anchor(self) -> str:
        """Name of the section in links to it."""
        kept = (letter if letter.isalnum() else "-" for letter in self.title.lower())
        return "-".join(filter(None, "".join(kept).split("-")))


def render_page(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    words: Callable[[str], str] = format_for_python,
) -> str:
    """Render an HTML document that needs no script, style sheet or network.

    Every text is escaped; only the drawings are taken as they are.

    Parameters
    ----------
    title, subtitle
        At the top.
    sections
        In order.
    words
        How texts name the arguments that are marked in them.

    Examples
    --------
    >>> text = render_page("A <b>", "", [Section("Data & notes", [Paragraph("3 < 4")])])
    >>> "<h1>A &lt;b&gt;</h1>" in text, '<h2 id="data-notes">' in text, "3 &lt; 4" in text
    (True, True, True)
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape

    source = (files("penchant.report") / TEMPLATE).read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    def whole(text: str) -> Markup:
        shown = str(escape(words(text)))
        return Markup(OPTION_PATTERN.sub(r'<span class="whole-word">\1</span>', shown))

    environment.filters["whole"] = whole
    environment.filters["breaking"] = lambda text: Markup(str(whole(text)).replace("_", "_<wbr>"))
    environment.filters["typed"] = lambda text: Markup(
        re.sub(r"\S+", r'<span class="whole-word">\g<0></span>', str(escape(words(text))))
    )
    environment.finalize = lambda text: (
        words(text) if isinstance(text, str) and not isinstance(text, Markup) else text
    )
    content: dict[str, Any] = {"title": title, "subtitle": subtitle, "sections": sections}
    return environment.from_string(source).render(**content)
