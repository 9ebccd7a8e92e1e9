"""The summary of an estimate as a table: plain text, HTML, LaTeX."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PLAIN = 1e6  # below which numbers are written without a power of ten
ABSENT = "-"
WIDTH = 88  # of words
NARROW = 80  # of a table, for the terminals of everybody


@dataclass(frozen=True)
class Table:
    """A caption, facts in pairs, a header, rows of cells, and notes below.

    A row with nothing but its first cell is a title of the rows below it. Columns beyond 80
    characters move closer together, or go below; notes are `words` wide.
    """

    caption: str
    facts: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    words: int = WIDTH

    def text(self, widest: int | None = None) -> str:
        """For the terminal, no line wider than this."""
        columns = zip(self.header, *(row for row in self.rows if not _is_title(row)), strict=True)
        widths = [max(len(cell) for cell in column) for column in columns]
        body: list[str] = []
        close = sum(widths) + len(widths) - 1
        blocks = _blocks(self.header, widths, NARROW)
        gap = "  "
        if len(blocks) > 1 and close <= NARROW:
            blocks, gap = [list(range(len(widths)))], " "
        for shown in blocks:
            lines = [
                row[0]
                if row is not self.header and _is_title(row)
                else _line([row[a] for a in shown], [widths[a] for a in shown], gap)
                for row in (self.header, *self.rows)
            ]
            rule = "-" * len(lines[0])
            body += [rule, lines[0], rule, *lines[1:], rule]
        notes = [
            line
            for note in self.notes
            for line in textwrap.wrap(
                note, min(self.words, widest or WIDTH), break_on_hyphens=False
            )
        ]
        facts = [f"{name}: {value}" for name, value in self.facts]
        above = [*self.caption.split("\n"), *_in_columns(facts, NARROW)]
        head = [line for words in above for line in _wrapped(words, widest or WIDTH)]
        return "\n".join([*head, *body, *notes])

    def html(self) -> str:
        """For a notebook; every label is escaped."""

        def cells(row: Sequence[str], tag: str) -> str:
            made = []
            for i, cell in enumerate(row):
                side = "left" if i == 0 else "right"
                made.append(f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>')
            return "<tr>" + "".join(made) + "</tr>"

        facts = " &middot; ".join(
            f"{html.escape(name)} {html.escape(value)}" for name, value in self.facts
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        rows = "".join(cells(row, "td") for row in self.rows)
        return (
            f"<table><caption><b>{html.escape(self.caption)}</b><br>{facts}</caption>"
            f"<thead>{cells(self.header, 'th')}</thead><tbody>{rows}</tbody></table>{notes}"
        )

    def latex(self) -> str:
        """For a paper: booktabs, one row per parameter."""
        lines = [
            r"\begin{tabular}{l" + "r" * (len(self.header) - 1) + "}",
            r"\toprule",
            " & ".join(_latex(cell) for cell in self.header) + r" \\",
            r"\midrule",
            *(" & ".join(_latex(cell) for cell in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)


def _wrapped(words: str, widest: int) -> list[str]:
    """Lines of words, as they are where they fit, and with the rest below set in."""
    if len(words) <= widest:
        return [words]
    return textwrap.wrap(words, widest, subsequent_indent="    ", break_on_hyphens=False)


def _is_title(row: Sequence[str]) -> bool:
    return len(row) > 1 and not any(row[1:])


def _blocks(header: Sequence[str], widths: Sequence[int], widest: int = NARROW) -> list[list[int]]:
    """Columns that stand side by side; those too many for a line go below, after the first again.

    What is in parentheses, such as a standard error, stays with the column before it.

    >>> _blocks(["who", "a", "(s.e.)", "b", "(s.e.)"], [9, 30, 20, 30, 20])
    [[0, 1, 2], [0, 3, 4]]
    """
    blocks = [[0]]
    a = 1
    while a < len(header):
        end = a + 1
        while end < len(header) and header[end].startswith("("):
            end += 1
        together = [*blocks[-1], *range(a, end)]
        if sum(widths[b] + 2 for b in together) - 2 > widest and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1] += range(a, end)
        a = end
    return blocks


def _line(row: Sequence[str], widths: Sequence[int], gap: str) -> str:
    first, *rest = [
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return gap.join([first, *rest])


def _in_columns(facts: Sequence[str], widest: int = NARROW) -> list[str]:
    """Facts in two columns; in one, where two are too wide."""
    half = (len(facts) + 1) // 2
    left, right = facts[:half], [*facts[half:], ""][:half]
    width = max((len(fact) for fact in left), default=0) + 4
    lines = [f"{a:<{width}}{b}".rstrip() for a, b in zip(left, right, strict=True)]
    return list(facts) if widest < max(map(len, lines), default=0) else lines


def _latex(cell: str) -> str:
    special = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"}
    special |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}"}
    return "".join(special.get(character, character) for character in cell)


def number(value: float, digits: int = 5) -> str:
    """A number for reading; infinite and absent ones in words.

    >>> number(0.0001234567), number(float("inf")), number(float("nan")), number(1699.2, 3)
    ('0.00012346', 'inf', '-', '1700')
    """
    if np.isnan(value):
        return ABSENT
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    said = f"{value:.{digits}g}"
    return f"{float(said):.0f}" if "e+" in said and abs(value) < PLAIN else said


def p_value(value: float) -> str:
    """A p-value for reading: three digits, never 0."""
    if np.isnan(value):
        return ABSENT
    return "<0.001" if value < 0.001 else f"{value:.3f}"
