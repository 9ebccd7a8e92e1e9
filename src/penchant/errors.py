"""Exceptions and warnings of the library, and the functions that word their messages.

A message is one sentence: what is wrong, where, and what to do. It names what its reader can
change: `argument("level")` is level in Python, and --level on the command line, which runs inside
`command_line_wording()`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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

MAX_LISTED = 10
MAX_NAMES_IN_FULL = 50


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
_COMMA_IN_NAME = re.compile(r"[^\d], ")  # not that of "decision 0, option 2"


def format_list(places: Iterable[str], total: int | None = None) -> str:
    """Up to ten places in words, then how many there are in all.

    >>> format_list(["row 2", "row 5"])
    'row 2, row 5'
    >>> format_list(["depression, treated", "controls"])
    'depression, treated; controls'
    >>> format_list([f"row {i}" for i in range(12)])[-28:]
    'row 8, row 9 (... 12 in all)'
    """
    shown = []
    count = 0
    for place in places:
        count += 1
        if count <= MAX_LISTED:
            shown.append(place)
    count = count if total is None else total
    bare = (_BRACKETS.sub("", str(place)) for place in shown)
    between = "; " if any(map(_COMMA_IN_NAME.search, bare)) else ", "
    return between.join(shown) + (f" (... {count} in all)" if count > len(shown) else "")


def format_names(columns: Iterable[Any]) -> str:
    """The names of the columns of a table; the first of them where there are very many.

    >>> format_names(["price", "wait"])
    'price, wait'
    >>> format_names(range(200_000))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (... 200000 in all)'
    """
    names = [str(column) for column in columns]
    return ", ".join(names) if len(names) <= MAX_NAMES_IN_FULL else format_list(names)


def closest_match_hint(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`, as a hint, or nothing.

    >>> closest_match_hint("prise", ["price", "wait"])
    " Did you mean 'price'?"
    """
    matches = get_close_matches(word, list(known), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""


_wording = {"options": False}  # of the whole process: threads that work speak to the same reader


@contextmanager
def command_line_wording() -> Iterator[None]:
    """Speak to somebody who types a command.

    >>> with command_line_wording():
    ...     argument("weight_kind", "probability"), quoted_argument("subject")
    ('--weight-kind probability', '--subject')
    """
    before, _wording["options"] = _wording["options"], True
    try:
        yield
    finally:
        _wording["options"] = before


def either(python: str, typed: str) -> str:
    """What one writes in Python, or what one types."""
    return typed if _wording["options"] else python


def argument(name: str, value: str | int | tuple[str, ...] | None = None) -> str:
    """An argument, with a value that it may be given.

    >>> argument("level"), argument("weight_kind", "probability")
    ('level', "weight_kind='probability'")
    >>> with command_line_wording():
    ...     argument("block", ("session", "run"))
    '--block session,run'
    """
    option = f"--{name.replace('_', '-')}"
    if value is None:
        return either(name, option)
    typed = ",".join(value) if isinstance(value, tuple) else str(value)
    return either(f"{name}={value!r}", f"{option} {shlex.quote(typed)}")


def quoted_argument(name: str) -> str:
    """An argument, told from the words around it.

    >>> quoted_argument("subject")
    '`subject`'
    """
    return either(f"`{name}`", argument(name))


def prior_argument() -> str:
    """The argument that a prior of the parameters is given by."""
    return either("parameter_prior", "--prior")


def weak_prior_argument() -> str:
    """The prior that gives everybody an estimate."""
    return either("parameter_prior=ScaledPrior()", "--prior weak")


def drop_set_argument() -> str:
    """What leaves decisions with missing cells out."""
    return either("missing='drop_set'", "--missing drop-set")


def prior_advice() -> str:
    """The advice to have any prior."""
    return either("give a parameter_prior", "use --prior weak")


def profile_interval_advice(verb: str = "Read") -> str:
    """The advice to read the intervals of the profile."""
    return either(f"{verb} the profile intervals", f"{verb} --intervals profile")


def interval_kind_argument(kind: str) -> str:
    """A kind of intervals."""
    return either(f"kind={kind!r}", f"--intervals {kind}")


def linearisation_advice() -> str:
    """The advice where a linearised fit is not valid."""
    return either(
        "re-linearise or use the exact fit",
        "linearise about another prior, or leave --linearized out",
    )
