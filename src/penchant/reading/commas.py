"""Numbers with a decimal comma, where a file can have no other."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from penchant.tables.cells import is_nothing

_COMMA = re.compile(r"[+-]?\d*,\d+")
_WHOLE = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def comma_number(table: pa.Table) -> str | None:
    """A cell such as 0,25 of a column that holds numbers by decimal commas; None without one.

    Examples
    --------
    >>> comma_number(pa.table({"a": ["3", "0,25"], "b": [1, 2]}))
    '0,25'
    >>> comma_number(pa.table({"a": ["1,000", "3"]})) is None
    True
    """
    for name in table.column_names:
        if not pa.types.is_string(table[name].type):
            continue
        cells = pc.unique(table[name]).to_pylist()
        given = [str(cell).strip() for cell in cells if not is_nothing(cell)]
        commas = [cell for cell in given if _COMMA.fullmatch(cell)]
        are_numbers = all(cell in commas or _WHOLE.fullmatch(cell) for cell in given)
        fractions = [cell for cell in commas if not _THOUSANDS.fullmatch(cell)]
        if are_numbers and fractions:
            return fractions[0]
    return None
