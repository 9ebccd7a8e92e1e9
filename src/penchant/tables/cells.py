"""Cells as laboratories write them: amounts with a currency, times with a unit, lists."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError, argument, format_list
from penchant.tables.frames import row_place
from penchant.tables.labels import NUMBER
from penchant.tables.options import says_nothing

CURRENCIES = frozenset("£$€¥₹₩₽₺₪฿₫₦") | frozenset(
    (
        *("usd", "gbp", "eur", "aud", "cad", "nzd", "chf", "jpy", "cny", "inr", "sek", "nok"),
        *("dkk", "kr", "pln", "czk", "zł", "us$", "a$", "c$", "r$", "dollars", "dollar", "euros"),
        *("euro", "pounds", "pound", "rmb", "yuan", "yen"),
    )
)
_ONE_NAME = {
    **dict.fromkeys(("day", "days", "d", "tag", "tage", "tagen", "jour", "jours"), "days"),
    **dict.fromkeys(("día", "días", "dias", "dag", "dagen", "giorno", "giorni"), "days"),
    **dict.fromkeys(("week", "weeks", "wk", "wks", "woche", "wochen", "semaine"), "weeks"),
    **dict.fromkeys(("semaines", "semana", "semanas", "weken", "settimane"), "weeks"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h", "stunde", "stunden"), "hours"),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "minuten"), "minutes"),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s", "sekunden"), "seconds"),
    **dict.fromkeys(("month", "months", "mo", "mos", "mth", "mths", "monat"), "months"),
    **dict.fromkeys(("monate", "monaten", "mois", "mes", "meses", "maanden", "mesi"), "months"),
    **dict.fromkeys(("year", "years", "yr", "yrs", "y", "jahr", "jahre", "jahren"), "years"),
    **dict.fromkeys(("an", "ans", "année", "années", "año", "años", "jaar", "anni"), "years"),
    **dict.fromkeys(("ms", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("point", "points", "pts", "pt"), "points"),
    **dict.fromkeys(("token", "tokens"), "tokens"),
    **dict.fromkeys(("coin", "coins"), "coins"),
    **dict.fromkeys(("cent", "cents", "c", "¢", "ct"), "cents"),
    **dict.fromkeys(("p", "pence"), "pence"),
    **dict.fromkeys(("km", "kms", "kilometres", "kilometers"), "km"),
    **dict.fromkeys(("mile", "miles", "mi"), "miles"),
    **dict.fromkeys(("%", "percent", "per cent"), "%"),
}
TIMES = ("days", "weeks", "hours", "minutes", "seconds", "months", "years")
# Words for no delay at all.
AT_ONCE = frozenset(
    (
        *("now", "today", "immediately", "immediate", "right now", "straight away", "no delay"),
        *("sofort", "heute", "jetzt", "maintenant", "aujourd'hui", "ahora", "hoy", "nu", "vandaag"),
    )
)
_AMOUNT = re.compile(
    r"(?:in|after)?\s*(?P<sign>[+−–-])?\s*(?P<before>[^\d\s.,+−–-]{1,3}|[A-Za-z]{3}\s)?\s*"
    r"(?P<minus>[−–-])?(?P<number>\d[\d.,'\s ]*|[.,]\d+)\s*(?P<after>[^\d]*?)\s*",
    re.IGNORECASE,
)


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")


@dataclass(frozen=True)
class Amounts:
    """Numbers of a column and what they are of: a currency, a unit, or nothing.

    `odd` tells a cell whose points or commas can mean two things, and how it was read.
    """

    values: Vector
    unit: str | None = None
    odd: str | None = None

    def notes(self, name: str) -> list[str]:
        """What a reader should know of the column `name`."""
        unit = "percent: divided by 100" if self.unit == "%" else self.unit
        said = [] if unit is None else [f"{name} is in {unit}"]
        return said if self.odd is None else [*said, f"{name}: {self.odd}"]


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
    if text.lower() in AT_ONCE:
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
    if word in CURRENCIES:
        return word
    name = _ONE_NAME.get(word)
    return name if name is None or after else None


def amounts(
    cells: Sequence[Any],
    name: str,
    *,
    decimal: str = ".",
    units: Mapping[str, float] | None = None,
    place: Callable[[int], str] = row_place,
) -> Amounts | None:
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
        return Amounts(values, next(iter(found)), _read_otherwise(cells, values, decimal))
    given = [unit for unit in found if unit is not None]
    if set(given) <= set(TIMES) and len(given) == len(found):
        return _in_days(values, [None if one is None else one[1] for one in read], name, units)
    if len(given) == 1 and given[0] in CURRENCIES:
        return Amounts(values, given[0], _read_otherwise(cells, values, decimal))
    shown = [
        next(f"{cells[k]!r} at {place(k)}" for k, one in enumerate(read) if one and one[1] == u)
        for u in found
    ]
    raise DataError(
        name, "must be in one unit", got=" and ".join(shown), fix="Write all of its cells in one."
    )


def _read_otherwise(cells: Sequence[Any], values: Vector, decimal: str) -> str | None:
    """A cell such as 1,000 and how it was read, where all cells allow the other reading, too."""
    other = "," if decimal == "." else "."
    odd = None
    for cell, value in zip(cells, values.tolist(), strict=True):
        if not isinstance(cell, str) or is_nothing(cell):
            continue
        again = amount(cell, other)
        if again is None:
            return None
        if odd is None and again[0] != value:
            typed = argument("decimal", other)
            odd = f"{cell!r} is read as {value:g}, pass {typed} if it is {again[0]:g}"
    return odd


_OWN_UNIT = re.compile(
    r"(?P<before>[^\W\d_]{2,5}\.?|[^\w\s.,+-]{1,3}|[^\W\d_]{1,3}\$)?\s*(?P<number>[+-]?\d[\d.,]*)"
    r"\s*(?P<after>[^\W\d_][^\d]+?|[^\W\d_]+[23²³])?\s*"
)


def _in_own_unit(cells: Sequence[Any], decimal: str) -> Amounts | None:
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
    return Amounts(np.array(values), min(units, key=len)) if len(singular) == 1 else None


def _in_days(
    values: Vector, unit: Sequence[str | None], name: str, units: Mapping[str, float] | None
) -> Amounts:
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
                f"Say how many days a {word} is: {argument('units', {word: size})}, or "
                f"{size + (0.4375 if word == 'month' else 0.25):g}."
            ),
        )
    return Amounts(values * np.array([days.get(word or "days", 1.0) for word in unit]), "days")


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


_TAG = re.compile(r"<[^>]*>")
_CLAUSE = re.compile(
    r"(?<=[.!?;,\n])\s+|\n|\s+(?:and|und|et|y)\s+(?=your|you now|dein|ihr|votre|su )"
)
_TOLD = re.compile(r"(?<![\w.])[+−–-]?\s?[£$€]?\d+(?:[.,]\d+)?")
_SO_FAR = re.compile(
    r"\b(total|so far|score|balance|you (?:now )?have|now have|gesamt|insgesamt|kontostand"
    r"|bisher|au total|solde|en total|saldo|hasta ahora)",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"\b(los[te]s?|loss|losing|minus|penalty|verloren|verlust|verlierst|perdu|perdez|perte|perdido"
    r"|perdiste|pierdes|perso|verlies)\b",
    re.IGNORECASE,
)
_WON = re.compile(
    r"\b(w[oi]n|wins|winning|earn(?:ed)?|gain(?:ed)?|receiv(?:ed?)|got|get|reward|gewonnen|gewinn"
    r"|gewinnst|gagn\w+|gan\w+|vinto)\b",
    re.IGNORECASE,
)
_NOTHING_PAID = re.compile(
    r"\b(nothing|no (?:points?|reward|win|money|gain|loss|change)|nichts|keine? \w+|rien|nada"
    r"|niente|zero)\b",
    re.IGNORECASE,
)
_TOO_LATE = re.compile(
    r"\b(too (?:slow|late)|no (?:response|answer)|faster|time'?s up|timed? ?out|missed|zu langsam"
    r"|zu spät|trop (?:lent|tard)|demasiado|muy lento|troppo)\b",
    re.IGNORECASE,
)


def told(cell: Any, decimal: str = ".") -> list[float] | None:
    """Numbers that a sentence tells of one outcome, losses below 0; None where it tells of none.

    Totals are left aside, and what nobody made in time is not a number.

    >>> told("You won 5 points!"), told("You lost 3. Your total is 40"), told("You won nothing")
    ([5.0], [-3.0], [0.0])
    >>> told("Too slow!"), told("You won 5 of 10 points"), told("win") is None
    ([nan], [5.0, 10.0], True)
    """
    text = " ".join(_TAG.sub(" ", str(cell)).split())
    clauses = [clause for clause in _CLAUSE.split(text) if not _SO_FAR.search(clause)]
    text = " ".join(clauses)
    written = [found.replace(" ", "") for found in _TOLD.findall(text)]
    if not written:
        if _TOO_LATE.search(text):
            return [np.nan]
        return [0.0] if _NOTHING_PAID.search(text) else None
    read = [amount(one, decimal) for one in written]
    if any(one is None for one in read):
        return None
    numbers = [one[0] for one in read if one is not None]
    if not _LOST.search(text):
        return numbers
    if _WON.search(text):  # both words: which of them the number is of
        return [*numbers, *(-number for number in numbers)]
    return [number if number < 0 else -number for number in numbers]
