"""What goes wrong, in one sentence: what, where, and what to do."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "DataError",
    "NotConvergedError",
    "NotIdentifiedError",
    "NotWrittenError",
    "PenchantWarning",
    "SeparationError",
]

SHOWN = 10
MANY = 50


class DataError(ValueError):
    """The data cannot be used as given; the message says where and what to do."""


class NotWrittenError(DataError):
    """A result could not be written; the message says which file, why, and what is left."""


class NotIdentifiedError(ValueError):
    """The choices cannot tell some directions of theta apart."""


class SeparationError(ValueError):
    """The likelihood has no maximum: it rises towards its supremum at infinity."""


class NotConvergedError(RuntimeError):
    """The estimator stopped before it reached the maximum."""


class PenchantWarning(UserWarning):
    """A doubt about data or estimate, with a `code` to filter on."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


_BRACKETS = re.compile(r"\([^()]*\)")
_IN_NAME = re.compile(r"[^\d], ")  # not that of "decision 0, option 2"


def listing(places: Iterable[str], total: int | None = None) -> str:
    """Up to ten places in words, then how many there are in all.

    >>> listing(["row 2", "row 5"])
    'row 2, row 5'
    >>> listing(["depression, treated", "controls"])
    'depression, treated; controls'
    >>> listing([f"row {i}" for i in range(12)])[-28:]
    'row 8, row 9 (... 12 in all)'
    """
    shown = []
    count = 0
    for place in places:
        count += 1
        if count <= SHOWN:
            shown.append(place)
    count = count if total is None else total
    bare = (_BRACKETS.sub("", str(place)) for place in shown)
    between = "; " if any(map(_IN_NAME.search, bare)) else ", "
    return between.join(shown) + (f" (... {count} in all)" if count > len(shown) else "")


def named(columns: Iterable[Any]) -> str:
    """The names of the columns of a table; the first of them where there are very many.

    >>> named(["price", "wait"])
    'price, wait'
    >>> named(range(200_000))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (... 200000 in all)'
    """
    names = [str(column) for column in columns]
    return ", ".join(names) if len(names) <= MANY else listing(names)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`, as a hint, or nothing.

    >>> nearest("prise", ["price", "wait"])
    " Did you mean 'price'?"
    """
    matches = get_close_matches(word, list(known), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""
