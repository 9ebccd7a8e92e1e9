"""Results as text, HTML, LaTeX, JSON and data frames, in one way; notes about data; progress.

`to_frame()` gives a pandas frame, whatever the data came from and whatever is installed, unless
`backend` names another library.
"""

from __future__ import annotations

import html
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant._typing import IntVector, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError, MarkedText
from penchant.json_records import JsonDocument

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
Columns: TypeAlias = Mapping[str, Sequence[Any]]  # cells are whatever labels the user's table has


def make_frame(columns: Columns, backend: Backend = "pandas") -> Any:
    """Make a data frame with these columns, of pandas unless another backend is given."""
    check_one_of(backend, "backend", BACKENDS)
    if not find_spec(backend):
        raise DataError(
            "backend",
            "must be a library that is installed",
            got=f"{backend}, which is not",
            fix="Use backend='pyarrow', to_polars() or to_pandas(), or install it.",
        )
    library = import_module(backend)
    data = {name: list(values) for name, values in columns.items()}
    return library.table(data) if backend == "pyarrow" else library.DataFrame(data)


MIN_SCIENTIFIC = 1e6  # people write smaller numbers without a power of ten
MISSING_CELL = "-"
MAX_LINE_WIDTH = 88  # characters; longer lines of prose are hard to read
# Characters; terminals are this wide by default, and wrapped rows cannot be read.
MAX_TABLE_WIDTH = 80


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
    words: int = MAX_LINE_WIDTH

    def __post_init__(self) -> None:
        """Word the notes for Python; other front ends find what they name marked in them."""
        object.__setattr__(self, "notes", tuple(map(MarkedText, self.notes)))

    def text(self, max_width: int | None = None) -> str:
        """Text for the terminal, with captions and notes no wider than `max_width`."""
        columns = zip(
            self.header, *(row for row in self.rows if not _is_group_title(row)), strict=True
        )
        widths = [max(len(cell) for cell in column) for column in columns]
        body: list[str] = []
        close = sum(widths) + len(widths) - 1
        blocks = _column_blocks(self.header, widths, MAX_TABLE_WIDTH)
        gap = "  "
        # One block with single spaces is easier to read than two blocks with double ones.
        if len(blocks) > 1 and close <= MAX_TABLE_WIDTH:
            blocks, gap = [list(range(len(widths)))], " "
        for shown in blocks:
            lines = [
                row[0]
                if row is not self.header and _is_group_title(row)
                else _padded_line([row[a] for a in shown], [widths[a] for a in shown], gap)
                for row in (self.header, *self.rows)
            ]
            rule = "-" * len(lines[0])
            body += [rule, lines[0], rule, *lines[1:], rule]
        notes = [
            line
            for note in self.notes
            for line in textwrap.wrap(
                note, min(self.words, max_width or MAX_LINE_WIDTH), break_on_hyphens=False
            )
        ]
        facts = [f"{name}: {value}" for name, value in self.facts]
        above = [*self.caption.split("\n"), *_facts_in_two_columns(facts, MAX_TABLE_WIDTH)]
        head = [line for words in above for line in _wrap_lines(words, max_width or MAX_LINE_WIDTH)]
        return "\n".join([*head, *body, *notes])

    def html(self) -> str:
        """HTML table for a notebook; every label is escaped."""

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
        """LaTeX table for a paper (booktabs)."""
        lines = [
            r"\begin{tabular}{l" + "r" * (len(self.header) - 1) + "}",
            r"\toprule",
            " & ".join(_escape_latex(cell) for cell in self.header) + r" \\",
            r"\midrule",
            *(" & ".join(_escape_latex(cell) for cell in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)


def _wrap_lines(words: str, widest: int) -> list[str]:
    """Wrap words to lines, with all but the first indented; unchanged if they fit."""
    if len(words) <= widest:
        return [words]
    return textwrap.wrap(words, widest, subsequent_indent="    ", break_on_hyphens=False)


def _is_group_title(row: Sequence[str]) -> bool:
    return len(row) > 1 and not any(row[1:])


def _column_blocks(
    header: Sequence[str], widths: Sequence[int], widest: int = MAX_TABLE_WIDTH
) -> list[list[int]]:
    """Indices of the columns of each block of a table too wide for one line.

    Every block begins with the first column. A column whose header is in parentheses, such as a
    standard error, stays with the column before it.

    >>> _column_blocks(["who", "a", "(s.e.)", "b", "(s.e.)"], [9, 30, 20, 30, 20])
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


def _padded_line(row: Sequence[str], widths: Sequence[int], gap: str) -> str:
    first, *rest = [
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return gap.join([first, *rest])


def _facts_in_two_columns(facts: Sequence[str], widest: int = MAX_TABLE_WIDTH) -> list[str]:
    """Lines with the facts in two columns, or in one if two are too wide."""
    half = (len(facts) + 1) // 2
    left, right = facts[:half], [*facts[half:], ""][:half]
    width = max((len(fact) for fact in left), default=0) + 4
    lines = [f"{a:<{width}}{b}".rstrip() for a, b in zip(left, right, strict=True)]
    return list(facts) if widest < max(map(len, lines), default=0) else lines


def _escape_latex(cell: str) -> str:
    special = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"}
    special |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}"}
    return "".join(special.get(character, character) for character in cell)


def format_number(value: float, digits: int = 5) -> str:
    """Format a number to `digits` significant digits; NaN as a missing cell.

    >>> format_number(0.0001234567), format_number(float("inf"))
    ('0.00012346', 'inf')
    >>> format_number(float("nan")), format_number(1699.2, 3)
    ('-', '1700')
    """
    if np.isnan(value):
        return MISSING_CELL
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    said = f"{value:.{digits}g}"
    return f"{float(said):.0f}" if "e+" in said and abs(value) < MIN_SCIENTIFIC else said


def format_p_value(value: float) -> str:
    """Format a p-value to three decimals, never as 0."""
    if np.isnan(value):
        return MISSING_CELL
    return "<0.001" if value < 0.001 else f"{value:.3f}"


MAX_FRAME_ROWS_SHOWN = 20  # rows; a summary should fit on a screen


class FrameExport:
    """Base of results with a data frame: of pandas, or of the backend that is asked for."""

    def to_pandas(self) -> Any:
        """Data frame of pandas."""
        return self.to_frame(backend="pandas")

    def to_polars(self) -> Any:
        """Data frame of polars."""
        return self.to_frame(backend="polars")

    def to_arrow(self) -> Any:
        """Table of pyarrow."""
        return self.to_frame(backend="pyarrow")

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Data frame of pandas, or of the backend given: "pandas", "polars" or "pyarrow"."""
        return make_frame(self.frame_columns(), backend)

    def frame_columns(self) -> Columns:
        """Columns of the data frame, by name."""
        raise NotImplementedError


class TableExport(FrameExport):
    """Base of results with a summary table and a data frame."""

    def table(self) -> Table:
        """Table of the summary; by default the first rows of the data frame."""
        return frame_table(repr(self).strip("<>"), self.frame_columns())

    def summary(self) -> str:
        """Text with what a reader wants to know first."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self) -> str:
        """LaTeX table for a paper (booktabs)."""
        return self.table().latex()


class IntervalTableExport(TableExport):
    """Base of results whose table and data frame have intervals at a level that readers choose."""

    def to_frame(self, level: float = 0.95, backend: Backend = "pandas") -> Any:
        """Data frame of pandas, or of the backend given, with intervals at this level."""
        return make_frame(self.frame_columns(level), backend)

    def frame_columns(self, level: float = 0.95) -> Columns:
        """Columns of the data frame, by name."""
        raise NotImplementedError

    def table(self, level: float = 0.95) -> Table:
        """Table of the summary; by default the first rows of the data frame."""
        return frame_table(repr(self).strip("<>"), self.frame_columns(level))

    def summary(self, level: float = 0.95) -> str:
        """Text with what a reader wants to know first."""
        return self.table(level).text()

    def to_latex(self, level: float = 0.95) -> str:
        """LaTeX table for a paper (booktabs)."""
        return self.table(level).latex()


class Result(TableExport, JsonDocument):
    """Base of results with a summary table, a data frame and a JSON document."""


def frame_table(caption: str, columns: Columns) -> Table:
    """Make a table of the first rows of a data frame."""
    found = list(zip(*columns.values(), strict=True))
    rows = tuple(tuple(map(format_cell, row)) for row in found[:MAX_FRAME_ROWS_SHOWN])
    left = len(found) - len(rows)
    notes = (f"{left} more rows: see to_frame().",) if left > 0 else ()
    return Table(caption, (), tuple(map(str, columns)), rows, notes)


class Column(NamedTuple):
    """Column of a table: its name in the data frame, its header, and how its cells are written.

    A number is how many significant digits a cell has, text its format. "{}" in a header is the
    level of intervals.
    """

    name: str
    header: str
    cell_format: int | str | Callable[[Any], str] = str

    def format(self, value: Any) -> str:
        """Format the value of a cell."""
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return MISSING_CELL
        if isinstance(self.cell_format, int):
            return format_number(value, self.cell_format)
        return (
            f"{value:{self.cell_format}}"
            if isinstance(self.cell_format, str)
            else self.cell_format(value)
        )


def attribute_columns(records: Iterable[Any], *names: str) -> dict[str, list[Any]]:
    """Columns of a data frame with a row per record, of its attributes of these names."""
    rows = tuple(records)
    return {name: [getattr(row, name) for row in rows] for name in names}


def stack_columns(parts: Iterable[Columns]) -> dict[str, list[Any]]:
    """Columns of data frames one below the other.

    >>> stack_columns([{"a": [1, 2]}, {"a": [3]}])
    {'a': [1, 2, 3]}
    """
    columns: dict[str, list[Any]] = {}
    for part in parts:
        for name, cells in part.items():
            columns.setdefault(name, []).extend(cells)
    return columns


def format_columns(
    columns: Columns, shown: Sequence[Column], level: float = 0.95
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of a table of these columns of a data frame."""
    header = tuple(one.header.format(f"{100 * level:g} %") for one in shown)
    cells = (map(one.format, columns[one.name]) for one in shown)
    return header, tuple(zip(*cells, strict=True))


def format_cell(value: Any) -> str:
    """Format the value of a cell of a table."""
    if value is None:
        return MISSING_CELL
    return format_number(value) if isinstance(value, float) else str(value)


Hashes = NDArray[np.uint64]


def format_count(n: int, noun: str) -> str:
    """Format a count with its noun.

    >>> format_count(1, "decision"), format_count(1200, "row")
    ('1 decision', '1,200 rows')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def pooled_notes(n_subjects: int) -> tuple[str, ...]:
    """Note that one estimate is made of several subjects, whose parameters may differ.

    >>> pooled_notes(16), pooled_notes(1)
    (('16 subjects pooled as one, with the same parameters; each can be fitted alone.',), ())
    """
    if n_subjects < 2:
        return ()
    who = format_count(n_subjects, "subject")
    return (f"{who} pooled as one, with the same parameters; each can be fitted alone.",)


def single_option_notes(sizes: IntVector) -> tuple[str, ...]:
    """Note how many decisions have one option; raise if all have, as there is no information."""
    single = int(np.count_nonzero(sizes == 1))
    if single == len(sizes):
        raise DataError(
            "explanatory",
            "must offer two or more options in some decision",
            got=f"{format_count(single, 'decision')} with one option each: nothing to estimate",
            fix="Add a row for every option that could have been chosen.",
        )
    if not single:
        return ()
    return (f"{format_count(single, 'decision')} with a single option: uninformative.",)


def zero_weight_notes(weights: Vector | None) -> tuple[str, ...]:
    """Note how many decisions have weight zero."""
    none = 0 if weights is None else int((weights == 0).sum())
    return (f"{format_count(none, 'decision')} with weight 0: not counted.",) if none else ()


def repeat_notes(rows: Matrix, first_row: IntVector, chosen: IntVector) -> tuple[str, ...]:
    """Note how many decisions equal another in all variables and the choice, if most do."""
    n = len(chosen)
    picked = _row_hashes(rows[first_row[:-1] + chosen])
    # Quick way out: there are at least as many distinct decisions as distinct chosen rows.
    if 2 * _count_distinct(picked) >= n:
        return ()
    repeated = n - _count_distinct(_decision_hashes(_row_hashes(rows), first_row, chosen))
    if 2 * repeated <= n:
        return ()
    return (
        f"{format_count(repeated, 'decision')} of {n:,} repeat another exactly "
        "(same variables, same choice).",
    )


def _count_distinct(hashes: Hashes) -> int:
    return int((np.diff(np.sort(hashes)) != 0).sum()) + 1


def _row_hashes(rows: Matrix) -> Hashes:
    """Hash each row to 64 bits, by a random linear combination modulo 2^64 and a final mix.

    The multiplier is that of Fibonacci hashing (Knuth 1973): 2^64 over the golden ratio.
    """
    factors = np.random.default_rng(1).integers(1, 2**63, rows.shape[1], dtype=np.uint64) * 2 + 1
    hashes: Hashes = np.ascontiguousarray(rows).view(np.uint64) @ factors
    hashes ^= hashes >> np.uint64(32)
    hashes *= np.uint64(0x9E3779B97F4A7C15)
    return hashes


def _decision_hashes(row: Hashes, first_row: IntVector, chosen: IntVector) -> Hashes:
    """Hash each decision: a sum of its rows' hashes that depends on their order and the choice."""
    row[first_row[:-1] + chosen] *= np.uint64(0xD1B54A32D192ED03)
    row ^= row >> np.uint64(29)
    position = np.arange(len(row), dtype=np.int64)
    position -= np.repeat(first_row[:-1], np.diff(first_row))
    row *= 2 * position.astype(np.uint64) + 1
    hashes: Hashes = np.add.reduceat(row, first_row[:-1])
    return hashes


MIN_PROGRESS_TOTAL = 2  # a bar with one step would jump from empty to full
# Only the outermost work has a bar: nested ones would overwrite each other.
_active_progress: list[str] = []


@contextmanager
def progress(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; yield a function to call with the number of steps just done.

    There is none outside a terminal, or inside other work that has one.
    """
    if total < MIN_PROGRESS_TOTAL or _active_progress or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    _active_progress.append(description)
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(description, total=total)
            yield lambda done: bar.advance(task, done)
    finally:
        _active_progress.remove(description)
