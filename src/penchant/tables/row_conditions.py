"""Rows by a condition on their columns, as one writes it: phase == 'test' and rt > 200.

Python's own parser reads it. Only comparisons, `in`, `and`, `or` and `not` have a meaning here.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np

from penchant._typing import BoolVector
from penchant.errors import (
    DataError,
    PythonExpression,
    closest_match_hint,
    format_list,
    format_names,
    mark_argument,
)
from penchant.tables.columns import in_condition
from penchant.tables.frames import Table, row_place

EXAMPLE = "phase == 'test' and rt > 200"
SHOWN_VALUES = 6
# Names in backticks, and the quoted text in which a backtick is none.
_BACKTICKS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?P<name>[^`]+)`""")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_COMPARED: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.Is: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.IsNot: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "na": None, "nan": None}


@dataclass(frozen=True)
class _Operand:
    """A column, or a literal, to compare: as the condition calls it, and its cells."""

    text: str
    cells: Any  # of a column an array of floats, or of objects where None is missing; or one value
    is_column: bool = False


def rows_where(table: Table, where: str) -> BoolVector:
    """Evaluate a condition on the rows of a table: mask (n_rows,).

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
    tree, quoted = _parsed(where, table.columns)
    return _Condition(table, where, quoted).rows(tree, np.ones(len(table), dtype=bool))


def used_columns(where: str | None, names: Sequence[str]) -> set[str]:
    """Columns that a condition speaks of.

    >>> used_columns("`a b` > 2 or c in ['d']", ["a b", "c", "d"]) == {"a b", "c"}
    True
    """
    if where is None:
        return set()
    tree, quoted = _parsed(where, names)
    return {column_of(node, quoted) for node in ast.walk(tree)} & {*map(str, names)}


def parsed_expression(text: str) -> tuple[ast.expr, dict[str, str]]:
    """An expression as Python reads it, and the columns that stood in backticks in it."""
    quoted: dict[str, str] = {}

    def identifier(found: re.Match[str]) -> str:
        if found["name"] is None:
            return found[0]
        # As long as what it replaces, so that places in the text stay what they are.
        own = f"_{len(quoted)}".ljust(len(found[0]), "_")
        quoted[own] = found["name"]
        return own

    # A blank first character would begin a block of Python; a parenthesis keeps all places.
    return ast.parse(f"({_BACKTICKS.sub(identifier, text)}\n)", mode="eval").body, quoted


def _parsed(where: str, columns: Sequence[str]) -> tuple[ast.expr, dict[str, str]]:
    """The condition as Python reads it, and the columns that stood in backticks."""
    try:
        return parsed_expression(where)
    except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
        if isinstance(error, (RecursionError, MemoryError)) or "too many nested" in str(error):
            raise DataError(
                "keep",
                "must nest less deeply",
                got=f"{where.count('(')} parentheses in {where[:30]!r} ..",
                fix="Leave some out.",
            ) from None
        place = error if isinstance(error, SyntaxError) and error.lineno == 1 else None
        at = len(where) if place is None else max(int(place.offset or 2) - 2, 0)
    rest = where[at:].split()
    odd = [x for x in map(in_condition, columns) if x[0] == "`" and x[1:-1] in where]
    odd = [x for x in odd if x not in where]
    fix = f"Put names with spaces in backticks: {odd[0]}." if odd else ""
    raise _no_condition(where, at, repr(rest[0]) if rest else "its end", fix)


def _no_condition(where: str, at: int, got: str, fix: str = "") -> DataError:
    date = _DATE.search(where)
    if date is not None and not fix:
        fix = f"Put dates in quotes: '{date[0]}'."
    return DataError(
        "keep",
        "must be comparisons joined by and, or, not",
        got=got,
        where=f"at character {at + 1} of {where!r}",
        fix=fix or f'Write "{EXAMPLE}", text in quotes, names with spaces in backticks.',
    )


def column_of(node: ast.AST, quoted: dict[str, str]) -> str:
    """The name that a node stands for, such as trials.thisN; "" where it is none."""
    if isinstance(node, ast.Name):
        return quoted.get(node.id, node.id)
    if isinstance(node, ast.Attribute) and (before := column_of(node.value, quoted)):
        return f"{before}.{node.attr}"
    return ""


@dataclass(frozen=True)
class _Condition:
    """Evaluates a parsed condition on a table."""

    table: Table
    where: str
    quoted: dict[str, str]

    def rows(self, node: ast.expr, asked: BoolVector) -> BoolVector:
        """Rows for which a part is true; only cells of rows that are asked for must make sense."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return reduce(operator.or_, (self.rows(part, asked) for part in node.values))
        if isinstance(node, ast.BoolOp):
            mask = asked
            for part in node.values:
                mask = mask & self.rows(part, mask)
            return mask
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.rows(node.operand, asked)
        if not isinstance(node, ast.Compare):
            return self._flag(node)
        mask, left = np.ones(len(self.table), dtype=bool), node.left
        for sign, right in zip(node.ops, node.comparators, strict=True):
            mask = mask & self._compared(left, sign, right, asked)
            left = right
        return mask

    def _compared(
        self, left: ast.expr, sign: ast.cmpop, right: ast.expr, asked: BoolVector
    ) -> BoolVector:
        if not isinstance(sign, (ast.In, ast.NotIn)):
            return self._by_cell(self._operand(left), sign, self._operand(right), asked)
        options = right.elts if isinstance(right, (ast.List, ast.Tuple, ast.Set)) else [right]
        one, mask = self._operand(left), np.zeros(len(self.table), dtype=bool)
        for option in options:
            mask |= self._by_cell(one, ast.Eq(), self._operand(option), asked)
        return ~mask if isinstance(sign, ast.NotIn) else mask

    def _refused(self, node: ast.expr) -> DataError:
        # After the parenthesis that the parser was given.
        start, end = node.col_offset - 1, (node.end_col_offset or 0) - 1
        return _no_condition(self.where, start, repr(self.where[start:end]))

    def _operand(self, node: ast.expr) -> _Operand:
        name = column_of(node, self.quoted)
        if name in self.table.columns:
            return _Operand(name, _cells(self.table[name]), is_column=True)
        if name.lower() in _LITERALS and isinstance(node, ast.Name):
            return _Operand(name, _LITERALS[name.lower()])
        if name:
            raise self._unknown(name)
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            raise self._refused(node) from None
        if not isinstance(value, (str, int, float)):
            raise self._refused(node)
        return _Operand(ast.unparse(node), value if isinstance(value, str) else float(value))

    def _unknown(self, name: str) -> DataError:
        names = list(map(str, self.table.columns))
        alike = [column for column in names if column.casefold() == name.casefold()]
        hint = f" Did you mean {alike[0]!r}?" if alike else closest_match_hint(name, names)
        return DataError(
            "keep",
            "must name columns of the table",
            got=repr(name),
            where=f"in {self.where!r}, but they are {format_names(names)}",
            fix=hint or f" Put text in quotes: '{name}'.",
        )

    def _flag(self, node: ast.expr) -> BoolVector:
        """A column of truth values that stands alone."""
        value = self._operand(node)
        if value.is_column and value.cells.dtype == object:
            known = {str(cell).lower() for cell in value.cells.tolist() if cell is not None}
            if known <= {"true", "false"}:
                return self._by_cell(value, ast.Eq(), _Operand("true", True), self._all_rows)
        raise self._refused(node)

    @property
    def _all_rows(self) -> BoolVector:
        return np.ones(len(self.table), dtype=bool)

    def _by_cell(
        self, left: _Operand, given: ast.cmpop, right: _Operand, asked: BoolVector
    ) -> BoolVector:
        """Numbers are compared as numbers, text as text; an empty cell equals nothing but null."""
        sign, compare = _COMPARED[type(given)]
        sides = (left, right)
        columns = [one for one in sides if one.is_column]
        if not columns:
            raise DataError(
                "keep",
                "must compare a column",
                got=f"{left.text} {sign} {right.text} in {self.where!r}",
                fix="Name a column on one side.",
            )
        if left.cells is None or right.cells is None:
            if sign not in ("==", "!="):
                raise DataError(
                    "keep",
                    "must compare with null by == or !=",
                    got=sign,
                    where=f"in {self.where!r}",
                )
            return np.asarray(compare(_missing(columns[0].cells), True))
        n = len(self.table)
        a, b = (np.broadcast_to(one, n) for one in self._comparable_cells(sides, sign, asked))
        known = ~_missing(a) & ~_missing(b)
        mask: BoolVector = np.full(n, sign == "!=")
        mask[known] = compare(a[known], b[known])
        return mask

    def _comparable_cells(
        self, sides: tuple[_Operand, _Operand], sign: str, asked: BoolVector
    ) -> list[Any]:
        """Both sides as numbers, or as text; truth values are 1 and 0, or the words for them."""
        arrays = [one.cells for one in sides if one.is_column]
        literals = [one.cells for one in sides if not one.is_column]
        if any(cells.dtype != object for cells in arrays) or any(
            isinstance(x, float) for x in literals
        ):
            return [self._as_numbers(one, sign, asked, sides) for one in sides]
        truth = any(
            isinstance(x, bool) for x in [*literals, *(x for one in arrays for x in one.tolist())]
        )
        # Programs write truth values in different cases.
        return [
            _as_text(one.cells if one.is_column else np.array([one.cells], object), lower=truth)
            for one in sides
        ]

    def _as_numbers(
        self, operand: _Operand, sign: str, asked: BoolVector, sides: tuple[_Operand, _Operand]
    ) -> Any:
        """Numbers of an operand; where cells are only told apart, other text equals none."""
        if not operand.is_column:
            column = next(one.text for one in sides if one.is_column)
            try:
                return np.float64(operand.cells)
            except ValueError:
                raise DataError(
                    "keep",
                    f"must compare {column} with numbers, which it holds",
                    got=operand.text,
                    where=f"in {self.where!r}",
                    fix="Write a number without quotes.",
                ) from None
        if operand.cells.dtype != object:
            return operand.cells
        found = np.full(len(operand.cells), np.nan)
        for row, cell in enumerate(operand.cells.tolist()):
            try:
                found[row] = np.nan if cell is None or cell == "" else float(cell)
            except ValueError:
                if sign not in ("==", "!=") and asked[row]:
                    raise DataError(
                        "keep",
                        f"must compare numbers by {sign}",
                        got=repr(cell),
                        where=f"in {operand.text} at {row_place(row)}",
                        fix="Leave these rows out before: "
                        f"{operand.text} != {cell!r} and {self.where}",
                    ) from None
        return found


def _cells(series: Any) -> Any:
    """A column as floats, or as objects: text, truth values, None for missing."""
    if series.dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64)
    cells = np.empty(len(series), dtype=object)
    # NaN, which is not itself, is missing in a column of objects.
    cells[:] = [None if cell is None or cell != cell else cell for cell in series.to_list()]
    if series.dtype != nw.Boolean:
        cells[:] = [x if x is None or isinstance(x, (str, bool)) else str(x) for x in cells]
    return cells


def _missing(cells: Any) -> Any:
    if cells.dtype != object:
        return np.isnan(cells)
    return np.array([cell is None for cell in cells.tolist()], dtype=bool)


def _as_text(cells: Any, *, lower: bool) -> Any:
    found = np.empty(len(cells), dtype=object)
    words = [None if x is None else str(x).strip() for x in cells.tolist()]
    found[:] = [x if x is None or not lower else x.lower() for x in words]
    return found


def _example_values(cells: Any) -> str:
    known = [cell for cell in cells.tolist() if cell is not None]
    seen = dict.fromkeys(f"{one:g}" if isinstance(one, float) else repr(one) for one in known)
    return format_list(list(seen)[:SHOWN_VALUES], len(seen))


def check_some_left(mask: BoolVector, table: Table, where: str) -> None:
    """Refuse a condition that no row satisfies, with the values that its columns have."""
    if mask.any():
        return
    values = [
        f"{name} holds {_example_values(_cells(table[name]))}"
        for name in sorted(used_columns(where, table.columns))
    ]
    raise DataError(
        "keep",
        "must leave at least one row",
        got=f"0 of {len(table):,} for {where!r}, and {'; '.join(values)}",
        fix="Correct it.",
    )


def condition_text(condition: str) -> str:
    """A condition as an argument, or as one types it: a shell would run what backticks hold."""
    return mark_argument(
        "keep", condition if '"' in condition else PythonExpression(f'"{condition}"')
    )
