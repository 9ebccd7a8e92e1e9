"""Rows by a condition on their columns, as one writes it: phase == 'test' and rt > 200."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from penchant._typing import BoolVector
from penchant.errors import (
    Code,
    DataError,
    argument,
    closest_match_hint,
    format_list,
    format_names,
)
from penchant.tables.frames import Table, row_place

EXAMPLE = "phase == 'test' and rt > 200"
SHOWN_VALUES = 6
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<column>`[^`]+`)
  | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<word>[^\W\d][\w.]*)
  | (?P<sign>==|!=|<>|<=|>=|&&|\|\||[<>=&|!~()\[\],-])
    )""",
    re.VERBOSE,
)
_SPELLED = {"=": "==", "<>": "!=", "&": "and", "&&": "and", "|": "or", "||": "or"}
_NOT = {"!": "not", "~": "not"}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "na": None, "nan": None}


_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class _Values:
    """A column, or a literal, to compare: text or numbers, and where it is missing."""

    said: str
    cells: Any  # an array of rows, or one value
    column: bool = False


def rows_where(table: Table, where: str) -> BoolVector:
    """Which rows of a table satisfy a condition.

    Parameters
    ----------
    table
        The table.
    where
        Comparisons (==, !=, <, <=, >, >=, in, not in) of columns with numbers, with text in quotes,
        with true, false and null, or with one another; joined by and, or, not and parentheses.
        Names of columns with spaces stand in backticks. An empty cell equals nothing but null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"phase": ["train", "test", "test"], "Reaction Time": [310, 190, 420]})
    >>> frame = nw.from_native(table, eager_only=True)
    >>> rows_where(frame, "phase == 'test' and `Reaction Time` > 200")
    array([False, False,  True])
    """
    if not isinstance(where, str) or not where.strip():
        raise DataError("keep", "must be a condition", got=repr(where), fix=f'Write "{EXAMPLE}".')
    parser = _Parser(table, where, _tokens(where))
    try:
        return parser.whole()
    except RecursionError:
        raise DataError(
            "keep",
            "must nest less deeply",
            got=f"{where.count('(')} parentheses in {where[:30]!r} ..",
            fix="Leave some out.",
        ) from None


def used_columns(where: str | None, names: Sequence[str]) -> set[str]:
    """Columns that a condition speaks of.

    >>> used_columns("`a b` > 2 or c in ['d']", ["a b", "c", "d"]) == {"a b", "c"}
    True
    """
    if where is None:
        return set()
    words = [token for token in _tokens(where) if token.kind in ("word", "column")]
    return {token.text.strip("`") for token in words} & {*map(str, names)}


def _tokens(where: str) -> list[_Token]:
    found, at = [], 0
    while at < len(where.rstrip()):
        match = _TOKEN.match(where, at)
        if match is None:
            rest = where[at:].lstrip()
            raise _wrong(where, len(where) - len(rest), repr(rest.split()[0]))
        kind = str(match.lastgroup)
        text = match[kind]
        if kind == "sign":
            text = _NOT.get(text, _SPELLED.get(text, text))
        elif kind == "word" and text.lower() in ("and", "or", "not", "in", "is"):
            kind, text = "sign", text.lower()
        found.append(_Token(kind, text, match.start(kind)))
        at = match.end()
    return [*found, _Token("end", "its end", len(where))]


def _wrong(where: str, at: int, got: str) -> DataError:
    return DataError(
        "keep",
        "must be comparisons joined by and, or, not",
        got=got,
        where=f"at character {at + 1} of {where!r}",
        fix=f'Write "{EXAMPLE}", text in quotes, names with spaces in backticks.',
    )


class _Parser:
    """Reads a condition from left to right, and evaluates it on the way."""

    def __init__(self, table: Table, where: str, tokens: list[_Token]) -> None:
        self.table, self.where, self.tokens = table, where, tokens
        self.place = 0
        self.asked: BoolVector = np.ones(len(table), dtype=bool)  # rows not decided yet

    @property
    def _next(self) -> _Token:
        return self.tokens[self.place]

    def _take(self, *texts: str) -> bool:
        if self._next.kind == "sign" and self._next.text in texts:
            self.place += 1
            return True
        return False

    def _refused(self) -> DataError:
        token = self._next
        return _wrong(self.where, token.at, token.text if token.kind == "end" else repr(token.text))

    def whole(self) -> BoolVector:
        """The condition, all of it."""
        mask = self._either()
        if self._next.kind != "end":
            raise self._refused()
        return mask

    def _either(self) -> BoolVector:
        mask = self._both()
        while self._take("or"):
            mask = mask | self._both()
        return mask

    def _both(self) -> BoolVector:
        mask = self._single()
        before = self.asked
        while self._take("and"):
            self.asked = before & mask
            mask = mask & self._single()
        self.asked = before
        return mask

    def _single(self) -> BoolVector:
        if self._take("not"):
            return ~self._single()
        if self._next.text == "(" and self._next.kind == "sign":
            self.place += 1
            mask = self._either()
            if not self._take(")"):
                raise self._refused()
            return mask
        return self._comparison()

    def _comparison(self) -> BoolVector:
        left = self._value()
        if self._take("is"):
            opposite = self._take("not")
            return self._compared(left, "!=" if opposite else "==", self._value())
        if self._take("in"):
            return self._among(left)
        if self._next.text == "not" and self.tokens[self.place + 1].text == "in":
            self.place += 2
            return ~self._among(left)
        mask: BoolVector | None = None
        while self._next.kind == "sign" and self._next.text in _COMPARED:
            sign = self._next.text
            self.place += 1
            right = self._value()
            own = self._compared(left, sign, right)
            mask, left = own if mask is None else mask & own, right
        if mask is not None:
            return mask
        return self._flag(left)

    def _among(self, left: _Values) -> BoolVector:
        close = ")" if self._next.text == "(" else "]"
        if not self._take("(", "["):
            raise self._refused()
        mask: BoolVector = np.zeros(len(self.table), dtype=bool)
        while not self._take(close):
            mask |= self._compared(left, "==", self._value())
            if not self._take(",") and self._next.text != close:
                raise self._refused()
        return mask

    def _value(self) -> _Values:
        token = self._next
        sign = -1 if self._take("-") else 1
        token = self._next if sign < 0 else token
        self.place += 1
        if token.kind == "number":
            return _Values(token.text, sign * float(token.text))
        if sign > 0 and token.kind == "text":
            return _Values(token.text, re.sub(r"\\(.)", r"\1", token.text[1:-1]))
        if sign > 0 and token.kind in ("word", "column"):
            return self._named(token)
        self.place -= 1
        raise self._refused()

    def _meant(self, name: str) -> str:
        """A column that is written otherwise, or in two words."""
        for column in map(str, self.table.columns):
            if column.casefold() == name.casefold():
                return f" Did you mean {column!r}?"
            if " " in column and column in self.where and column.split()[0] == name:
                return f" Put names with spaces in backticks: `{column}`."
        return ""

    def _named(self, token: _Token) -> _Values:
        name = token.text.strip("`")
        if name in self.table.columns:
            return _Values(name, _cells(self.table[name]), column=True)
        if token.kind == "word" and name.lower() in _LITERALS:
            return _Values(name, _LITERALS[name.lower()])
        hint = self._meant(name) or closest_match_hint(name, map(str, self.table.columns))
        quote = f" Put text in quotes: '{name}'." if not hint and token.kind == "word" else ""
        raise DataError(
            "keep",
            "must name columns of the table",
            got=repr(name),
            where=f"in {self.where!r}, but they are {format_names(self.table.columns)}",
            fix=hint or quote or "Correct it.",
        )

    def _flag(self, value: _Values) -> BoolVector:
        """A column of truth values that stands alone."""
        if value.column and value.cells.dtype == object:
            known = {cell for cell in value.cells.tolist() if cell is not None}
            if known <= {True, False} or {str(cell).lower() for cell in known} <= {"true", "false"}:
                return self._compared(value, "==", _Values("true", True))
        raise self._refused()

    def _compared(self, left: _Values, sign: str, right: _Values) -> BoolVector:
        if not left.column and not right.column:
            raise DataError(
                "keep",
                "must compare a column",
                got=f"{left.said} {sign} {right.said} in {self.where!r}",
                fix="Name a column on one side.",
            )
        if not left.column:
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            return self._compared(right, turned.get(sign, sign), left)
        if right.cells is None and not right.column:
            if sign not in ("==", "!="):
                raise DataError(
                    "keep",
                    "must compare with null by == or !=",
                    got=sign,
                    where=f"in {self.where!r}",
                )
            empty: BoolVector = _missing(left.cells)
            return empty if sign == "==" else ~empty
        return self._cellwise(left, sign, right)

    def _cellwise(self, left: _Values, sign: str, right: _Values) -> BoolVector:
        """Numbers are compared as numbers, text as text; an empty cell equals nothing."""
        a, b = _alike(left, right, sign, self.where, self.asked)
        known = ~_missing(a) & ~_missing(b)
        mask: BoolVector = np.full(len(self.table), sign == "!=")
        both = a[known] if a.ndim else a, b[known] if b.ndim else b
        mask[known] = _COMPARED[sign](*both)
        return mask


def _cells(series: Any) -> Any:
    """A column as floats, or as objects: text, truth values, None for missing."""
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64)
    cells = np.empty(len(series), dtype=object)
    cells[:] = [None if _is_nan(cell) else cell for cell in series.to_list()]
    if series.dtype != nw.Boolean:
        cells[:] = [cell if cell is None else _plain(cell) for cell in cells.tolist()]
    return cells


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and cell != cell


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, (str, bool)) else str(cell)


def _missing(cells: Any) -> Any:
    if cells.dtype == object:
        return np.array([cell is None for cell in cells.reshape(-1).tolist()]).reshape(cells.shape)
    return np.isnan(cells)


def _alike(
    left: _Values, right: _Values, sign: str, where: str, asked: BoolVector
) -> tuple[Any, Any]:
    """Both sides as numbers, or both as text."""
    a, b = np.asarray(left.cells), right.cells
    if not right.column and isinstance(b, bool):
        return _as_flags(a, left.said, where), np.float64(b)
    is_number = (right.column and b.dtype != object) or isinstance(b, float)
    if a.dtype != object and not is_number:
        return a, _one_number(right, left.said, where, asked)
    if a.dtype == object and is_number:
        return _as_numbers(a, left.said, sign, where, asked), np.asarray(b)
    if a.dtype != object:
        return a, np.asarray(b)
    if right.column:
        return _as_text(a), _as_text(b)
    other = np.empty((), dtype=object)
    truth = any(isinstance(cell, bool) for cell in a.tolist())
    other[()] = str(b).strip().lower() if truth else str(b).strip()
    return _as_text(a), other


def _as_text(cells: Any) -> Any:
    found = np.empty(len(cells), dtype=object)
    found[:] = [_word(cell) for cell in cells.tolist()]
    return found


def _word(cell: Any) -> str | None:
    if cell is None:
        return None
    return str(cell).lower() if isinstance(cell, bool) else str(cell).strip()


def _as_flags(cells: Any, said: str, where: str) -> Any:
    if cells.dtype != object:
        return cells
    words = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "yes": 1.0, "no": 0.0}
    found = [None if cell is None else words.get(str(cell).lower(), -1.0) for cell in cells]
    if -1.0 in found:
        raise DataError(
            "keep",
            f"must compare {said} with its values",
            got=f"true or false in {where!r}, but it holds {_shown(cells)}",
            fix="Put one of these in quotes.",
        )
    return np.array([np.nan if cell is None else cell for cell in found])


def _one_number(right: _Values, said: str, where: str, asked: BoolVector) -> Any:
    if right.column:
        return _as_numbers(right.cells, right.said, "<", where, asked)
    try:
        return np.float64(right.cells)
    except (TypeError, ValueError):
        raise DataError(
            "keep",
            f"must compare {said} with numbers, which it holds",
            got=right.said,
            where=f"in {where!r}",
            fix="Write a number without quotes.",
        ) from None


def _as_numbers(cells: Any, said: str, sign: str, where: str, asked: BoolVector) -> Any:
    """Text as numbers; where they are only told apart, other text equals none."""
    found = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells.tolist()):
        try:
            found[row] = np.nan if cell is None or cell == "" else float(cell)
        except ValueError:
            if sign not in ("==", "!=") and asked[row]:
                raise DataError(
                    "keep",
                    f"must compare numbers by {sign}",
                    got=repr(cell),
                    where=f"in {said} at {row_place(row)}",
                    fix=_instead(cell, said, sign, where),
                ) from None
    return found


def _instead(cell: Any, said: str, sign: str, where: str) -> str:
    """What to write where a cell is no number: a date has quotes."""
    date = _DATE.match(str(cell))
    if date is not None:
        return f"Put dates in quotes: {said} {sign} '{date[0]}'."
    return f"Leave these rows out before: {said} != {cell!r} and {where}"


def _shown(cells: Any) -> str:
    known = [cell for cell in cells.tolist() if cell is not None]
    seen = dict.fromkeys(f"{one:g}" if isinstance(one, float) else repr(one) for one in known)
    return format_list(list(seen)[:SHOWN_VALUES], len(seen))


def check_some_left(mask: BoolVector, table: Table, where: str) -> None:
    """Refuse a condition that no row satisfies, with the values that its columns have."""
    if mask.any():
        return
    values = [
        f"{name} holds {_shown(_cells(table[name]))}"
        for name in sorted(used_columns(where, table.columns))
    ]
    raise DataError(
        "keep",
        "must leave at least one row",
        got=f"0 of {len(table):,} for {where!r}, and {'; '.join(values)}",
        fix="Correct it.",
    )


def where_said(condition: str) -> str:
    """A condition as an argument, or as one types it: a shell would run what backticks hold."""
    return argument("keep", condition if '"' in condition else Code(f'"{condition}"'))
