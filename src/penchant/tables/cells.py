"""Cells as laboratories write them: amounts with a currency, times with a unit, lists."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError, format_list, mark_argument
from penchant.tables.frames import row_place
from penchant.tables.labels import NUMBER
from penchant.tables.lexicon import says_nothing, vocabulary
from penchant.tables.lexicon import units as unit_names

TIMES = ("days", "weeks", "hours", "minutes", "seconds", "months", "years")
_AMOUNT = re.compile(
    r"(?:in|after)?\s*(?P<sign>[+−–-])?\s*(?P<before>[^\d\s.,+−–-]{1,3}|[A-Za-z]{3}\s)?\s*"
    r"(?P<minus>[−–-])?(?P<number>\d[\d.,'\s ]*|[.,]\d+)\s*(?P<after>[^\d]*?)\s*",
    re.IGNORECASE,
)


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")


def is_nothing(cell: Any) -> bool:
    """Whether a cell is empty or a word for nothing."""
    return (
        cell is None
        or (isinstance(cell, float) and cell != cell)
        or (isinstance(cell, str) and says_nothing(cell))
    )


def amount(cell: Any, decimal: str = ".") -> tuple[float, str | None] | None:
    """Number and unit of a cell; None if it is neither.

    >>> amount("£1,250.50"), amount("in 30 days"), amount("50%"), amount("blue")
    ((1250.5, '£'), (30.0, 'days'), (0.5, '%'), None)
    """
    if isinstance(cell, bool) or is_nothing(cell):
        return None
    if isinstance(cell, (int, float)):
        return float(cell), None
    text = str(cell).strip()
    if NUMBER.match(text) and not (decimal == "," and _THOUSANDS.fullmatch(text)):
        return float(text), None
    if text.lower() in vocabulary("at_once"):
        return 0.0, "days"
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    number = _number(match["number"].strip(), decimal)
    unit = _unit(match["before"], match["after"])
    if number is None or unit is None:
        return None
    number = -number if match["sign"] in ("-", "−", "–") or match["minus"] else number
    return (number / 100 if unit == "%" else number), unit or None


def _number(text: str, decimal: str) -> float | None:
    """A number with a decimal point, thousands apart or not."""
    comma = "," if decimal == "." else "."
    whole, _, rest = text.partition(decimal)
    groups = re.split(rf"[{re.escape(comma)}'\s\u00a0\u202f]", whole)
    if len(groups) > 1 and not all(len(group) == 3 for group in groups[1:]):
        return None
    if any(not group.isdigit() for group in groups if group or len(groups) > 1):
        return None
    if rest and not rest.isdigit():
        return None
    digits = "".join(groups) + (f".{rest}" if rest else "")
    return float(digits) if digits.strip(".") else None


def _unit(before: str | None, after: str | None) -> str | None:
    """The unit in one spelling; "" for none, None for what is no unit."""
    words = [word.strip().lower() for word in (before, after) if word and word.strip()]
    if not words:
        return ""
    if len(words) > 1:
        return None
    word = words[0].rstrip(".")
    if word in vocabulary("currency"):
        return word
    name = unit_names().get(word)
    return name if name is None or after else None


def amounts(
    cells: Sequence[Any],
    name: str,
    *,
    decimal: str = ".",
    units: Mapping[str, float] | None = None,
    place: Callable[[int], str] = row_place,
) -> Vector | None:
    """A column of numbers, or of amounts in one unit; None where some cell is neither.

    Times in several units become days, where these are so many. `units` says how many days a month
    or a year is, and `place` where a cell is.
    """
    read = [None if is_nothing(cell) else amount(cell, decimal) for cell in cells]
    wrong = [k for k, cell in enumerate(cells) if read[k] is None and not is_nothing(cell)]
    if len(wrong) > 1 and all(one is None for one in read):
        return _in_own_unit(cells, decimal)
    if wrong or all(one is None for one in read):
        return None
    values = np.array([np.nan if one is None else one[0] for one in read])
    found = dict.fromkeys(one[1] for one in read if one is not None and one[0] != 0)
    found = found or dict.fromkeys(one[1] for one in read if one is not None)
    if len(found) == 1:
        return values
    given = [unit for unit in found if unit is not None]
    if set(given) <= set(TIMES) and len(given) == len(found):
        return _in_days(values, [None if one is None else one[1] for one in read], name, units)
    if len(given) == 1 and given[0] in vocabulary("currency"):
        return values
    shown = [
        next(f"{cells[k]!r} at {place(k)}" for k, one in enumerate(read) if one and one[1] == u)
        for u in found
    ]
    raise DataError(
        name, "must be in one unit", got=" and ".join(shown), fix="Write all of its cells in one."
    )


_OWN_UNIT = re.compile(
    r"(?P<before>[^\W\d_]{2,5}\.?|[^\w\s.,+-]{1,3}|[^\W\d_]{1,3}\$)?\s*(?P<number>[+-]?\d[\d.,]*)"
    r"\s*(?P<after>[^\W\d_][^\d]+?|[^\W\d_]+[23²³])?\s*"
)


def _in_own_unit(cells: Sequence[Any], decimal: str) -> Vector | None:
    """Numbers that all stand beside the same word, such as 5 GB; None where they do not."""
    values, units = [], set()
    for cell in cells:
        if is_nothing(cell):
            values.append(np.nan)
            continue
        match = _OWN_UNIT.fullmatch(str(cell))
        number = None if match is None else amount(match["number"], decimal)
        unit = "" if match is None else (match["before"] or "") + (match["after"] or "")
        if number is None or number[1] is not None or not unit:
            return None
        values.append(number[0])
        units.add(unit.strip())
    singular = {unit.lower().rstrip("s") for unit in units}
    return np.array(values) if len(singular) == 1 else None


def _in_days(
    values: Vector, unit: Sequence[str | None], name: str, units: Mapping[str, float] | None
) -> Vector:
    days = {"days": 1.0, "weeks": 7.0, "hours": 1 / 24, "minutes": 1 / 1440, "seconds": 1 / 86400}
    days |= {f"{word.rstrip('s')}s": float(n) for word, n in (units or {}).items()}
    unknown = sorted({word for word in unit if word is not None} - {*days})
    if unknown:
        word = unknown[0].rstrip("s")
        size = 30 if word == "month" else 365
        raise DataError(
            name,
            "must be in one unit, or in units of so many days",
            got=format_list(sorted({word for word in unit if word})),
            fix=(
                f"Say how many days a {word} is: {mark_argument('units', {word: size})}, or "
                f"{size + (0.4375 if word == 'month' else 0.25):g}."
            ),
        )
    sizes: Vector = np.array([days.get(word or "days", 1.0) for word in unit])
    return values * sizes


def array_cell(cell: Any) -> list[Any] | None:
    """The list that a cell writes, such as [5, 10] or ['left']; None if it is none.

    >>> array_cell("[5, 10.5]"), array_cell("['a', 'b']"), array_cell("(5 10)"), array_cell("5")
    ([5, 10.5], ['a', 'b'], [5, 10], None)
    """
    if isinstance(cell, (list, tuple, np.ndarray)):
        return list(cell)
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if len(text) < 2 or (text[0], text[-1]) not in (("[", "]"), ("(", ")")):
        return None
    try:
        found = json.loads(f"[{text[1:-1]}]")
    except ValueError:
        found = _loose(text[1:-1])
    if found is None or any(isinstance(item, dict) for item in found):
        return None
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found


def _loose(text: str) -> list[Any] | None:
    """Items divided by commas, semicolons or blanks, in any quotes or none."""
    divider = next((mark for mark in ",;" if mark in text), None)
    parts = [part.strip() for part in (text.split(divider) if divider else text.split())]
    if not parts or any("[" in part or "]" in part for part in parts):
        return None
    return [_item(part) for part in parts]


def _item(text: str) -> Any:
    bare = text.strip("'\"")
    if bare != text:
        return bare
    if text.lower() in ("none", "null", "nan", "na", ""):
        return None
    try:
        return float(text) if any(mark in text for mark in ".eE") else int(text)
    except ValueError:
        return text
