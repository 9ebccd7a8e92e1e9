"""Attributes of options as a list of names or as a formula: cost + C(brand) + cost:income."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penchant.errors import DataError, named, nearest
from penchant.wording import argument

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
                f"{argument('attributes')} must name columns or attributes; got "
                f"{factor.name!r}, but they are "
                f"{named(names)}.{nearest(factor.name, names) or ' Correct it.'}"
            )
    if not found.terms and not found.constants:
        raise DataError(
            f'{argument("attributes")} must name at least one; got none. Write "{EXAMPLE}".'
        )
    return found


def union_of(formulas: Sequence[Formula]) -> Formula:
    """All terms of several formulas, each once."""
    terms = dict.fromkeys(term for formula in formulas for term in formula.terms)
    return Formula(tuple(terms), any(formula.constants for formula in formulas))


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
        f"{argument('attributes')} must be names joined by + , : or *; got {got!r} in {text!r}. "
        f'Write "{EXAMPLE}", names with spaces in backticks.'
    )
