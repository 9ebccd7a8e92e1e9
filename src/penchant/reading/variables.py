"""Variables of options: a formula of attributes, and words as 0/1 columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError, closest_match_hint, format_list, format_names, mark_argument
from penchant.tables.cells import amount, amounts, is_nothing
from penchant.tables.frames import row_place
from penchant.tables.labels import NUMBER, in_natural_order
from penchant.tables.numbers import exact_floats
from penchant.tables.schema import Schema

_TOKEN = re.compile(
    r"\s*(?:(?P<categories>(?:C|factor)\(\s*(?:`[^`]+`|[^)`]+?)\s*\))|(?P<quoted>`[^`]+`)"
    r"|(?P<name>[^\W\d][\w.]*)|(?P<number>[01])|(?P<sign>[-+:*~]))"
)
EXAMPLE = "cost + C(brand) + cost:income"


@dataclass(frozen=True)
class Factor:
    """One variable of a term; `categories` where numbers are levels, too."""

    name: str
    categories: bool = False


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """Terms, each a product of one variable or more; whether options have constants."""

    terms: tuple[Term, ...]
    constants: bool = False


def formula_of(given: str | Sequence[str], names: Sequence[str]) -> Formula:
    """Read attributes given as a list of names or as a formula.

    Parameters
    ----------
    given
        Names; or terms joined by +: a name, C(name) for levels, a:b for a product, a*b for both
        and their product, 1 for a constant of every option but the first. Names with spaces stand
        in backticks; what stands before ~ is not read.
    names
        Variables there are.

    Examples
    --------
    >>> found = formula_of("chosen ~ cost * income + C(size) + 1", ["cost", "income", "size"])
    >>> [":".join(factor.name for factor in term) for term in found.terms], found.constants
    (['cost', 'income', 'cost:income', 'size'], True)
    """
    if not isinstance(given, str):
        listed = tuple((Factor(str(name)),) for name in given)
        found = Formula(listed)
    elif given in names:
        found = Formula(((Factor(given),),))
    else:
        found = _parsed(given)
    for factor in (factor for term in found.terms for factor in term):
        if factor.name not in names:
            raise DataError(
                "attributes",
                "must name columns or attributes",
                got=f"{factor.name!r}, but they are {format_names(names)}",
                fix=closest_match_hint(factor.name, names) or "Correct it.",
            )
    if not found.terms and not found.constants:
        raise DataError(
            "attributes", "must name at least one", got="none", fix=f'Write "{EXAMPLE}".'
        )
    return found


def _parsed(text: str) -> Formula:
    terms: dict[Term, None] = {}
    constants = False
    for part in _parts(text):
        if len(part) == 1 and part[0] in ("0", "1", "-1"):
            constants = part[0] == "1"
            continue
        factors: list[Term] = [()]
        sign = ""
        for item in part:
            if item in (":", "*"):
                sign = item
                continue
            factor = _factor(item)
            if sign == "*":
                factors = [*factors, (factor,), *((*term, factor) for term in factors)]
            else:
                factors = [(*term, factor) for term in factors]
        terms |= dict.fromkeys(factors)
    return Formula(tuple(terms), constants)


def _factor(item: str) -> Factor:
    inside = re.fullmatch(r"(?:C|factor)\(\s*(.*?)\s*\)", item)
    name = (inside[1] if inside else item).strip("`")
    return Factor(name, inside is not None)


def _parts(text: str) -> list[list[str]]:
    """What stands between plus signs, item by item."""
    right = text.rpartition("~")[2]
    parts: list[list[str]] = [[]]
    at = 0
    while at < len(right.rstrip()):
        match = _TOKEN.match(right, at)
        if match is None or match["sign"] == "~":
            raise _wrong(text, right[at:].strip())
        if match["sign"] in ("+", "-"):
            parts.append([] if match["sign"] == "+" else ["-"])
        else:
            parts[-1].append(match[0].strip())
        at = match.end()
    found = [["-1"] if part[:2] == ["-", "1"] else part for part in parts if part]
    for part in found:
        names = part[::2]
        if part[0] == "-" or any(item in (":", "*") for item in names) or len(part) % 2 == 0:
            raise _wrong(text, " ".join(part))
        if any(item not in (":", "*") for item in part[1::2]):
            raise _wrong(text, " ".join(part))
    return found


def _wrong(text: str, got: str) -> DataError:
    return DataError(
        "attributes",
        "must be names joined by + , : or *",
        got=repr(got),
        where=f"in {text!r}",
        fix=f'Write "{EXAMPLE}", names with spaces in backticks.',
    )


def is_word(cell: Any) -> bool:
    """Whether a cell is a word that can be a level, rather than a number or a date in some form.

    >>> is_word("Zen"), is_word("1,5"), is_word("2026-01-31"), is_word(-3)
    (True, False, False, False)
    """
    return isinstance(cell, str) and cell.strip()[:1].isalpha()


def _as_number(cell: Any) -> Any:
    """A number in text as a number; other text as it is."""
    return float(cell) if isinstance(cell, str) and NUMBER.match(cell.strip()) else cell


Variables = dict[str, Vector]


class Columns:
    """Columns with one cell per option of each decision, as variables.

    Parameters
    ----------
    cells
        {name: cells}.
    n_rows
        How many cells each has.
    schema
        What is said of the decimal point, of units and of levels to compare with.
    """

    def __init__(self, cells: Mapping[str, Sequence[Any]], n_rows: int, schema: Schema) -> None:
        self.cells, self.n_rows = cells, n_rows
        self.decimal, self.units = schema.file.decimal or ".", schema.file.units
        self.reference = schema.reference or {}

    def variables(self, formula: Formula) -> Variables:
        """Columns of numbers, in the order of the terms."""
        found: Variables = {}
        for term in formula.terms:
            product: Variables = {"": np.ones(self.n_rows)}
            for factor in term:
                own = self.factor(factor)
                product = {
                    f"{a}:{b}" if a else b: left * right
                    for a, left in product.items()
                    for b, right in own.items()
                }
            found |= product
        return found

    def factor(self, factor: Factor) -> Variables:
        """One variable, or one for every level but that of reference."""
        numbers = None if factor.categories else self.numbers(factor.name)
        if numbers is not None:
            return {factor.name: numbers}
        if not factor.categories:
            self._check_words(factor.name)
        return self._levels(factor.name)

    def _check_words(self, name: str) -> None:
        """Refuse numbers that are written oddly, and words among numbers: they are no levels."""
        given = [cell for cell in self.cells[name] if not is_nothing(cell)]
        if self.decimal == "." and all(amount(cell, ",") is not None for cell in given):
            row = next(k for k, c in enumerate(self.cells[name]) if amount(c) is None and c)
            raise DataError(
                name,
                "must hold numbers",
                got=repr(self.cells[name][row]),
                where=f"at {row_place(row)}",
                fix=f"It looks like decimal comma; pass {mark_argument('decimal', ',')}.",
            )
        if not all(is_word(cell) for cell in given):
            cells = np.array([None if is_nothing(c) else _as_number(c) for c in self.cells[name]])
            exact_floats(cells, name, row_place)

    def numbers(self, name: str) -> Vector | None:
        """A column of numbers or amounts; None where it holds words."""
        cells = self.cells[name]
        if any(isinstance(cell, bool) for cell in cells):
            if not all(isinstance(cell, bool) or is_nothing(cell) for cell in cells):
                return None
            return np.array([np.nan if is_nothing(cell) else float(cell) for cell in cells])
        return amounts(cells, name, decimal=self.decimal, units=self.units)

    def levels(self, name: str) -> list[str]:
        """Words of a column in natural order, those that say that nothing is known aside."""
        return in_natural_order({_word(c) for c in self.cells[name] if not is_no_level(c)})

    def _levels(self, name: str) -> Variables:
        levels = self.levels(name)
        if len(levels) < 2:
            raise DataError(
                "attributes",
                "must vary",
                got=f"{name}, which holds {format_list(map(repr, levels))} only",
                fix="Leave it out.",
            )
        reference = _word(self.reference.get(name, levels[0]))
        if reference not in levels:
            raise DataError(
                mark_argument("reference"),
                f"must be a level of {name}",
                got=f"{reference!r}, but they are {format_list(map(repr, levels))}",
                fix="Choose one.",
            )
        given = [None if is_no_level(cell) else _word(cell) for cell in self.cells[name]]
        missing = np.array([cell is None for cell in given])
        return {
            f"{name}:{level}": np.where(missing, np.nan, [float(cell == level) for cell in given])
            for level in levels
            if level != reference
        }


def _word(cell: Any) -> str:
    """A cell as a word: whole numbers without a point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, bool) else str(cell).strip()


def is_no_level(cell: Any) -> bool:
    """Whether a cell of a column of words tells no level: "none" is one, as of extras.

    >>> is_no_level("none"), is_no_level("NA"), is_no_level(None)
    (False, True, True)
    """
    is_none = isinstance(cell, str) and cell.strip().lower() == "none"
    return is_nothing(cell) and not is_none
