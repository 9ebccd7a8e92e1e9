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

MAX_LISTED = 10  # places listed in a message: enough to see a pattern, few enough to read
MAX_NAMES_IN_FULL = 50  # more names than this would fill the screen and hide the message


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
# A comma within a name; the one of "decision 0, option 2" follows a digit, and is none.
_COMMA_IN_NAME = re.compile(r"[^\d], ")


def format_list(places: Iterable[str], total: int | None = None) -> str:
    """Join up to ten places, then tell how many there are in all.

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
    # Semicolons separate names that have commas in them, or their ends could not be seen.
    bare = (_BRACKETS.sub("", str(place)) for place in shown)
    between = "; " if any(map(_COMMA_IN_NAME.search, bare)) else ", "
    return between.join(shown) + (f" (... {count} in all)" if count > len(shown) else "")


def format_names(columns: Iterable[Any]) -> str:
    """Join the names of columns; only the first ten if there are very many.

    >>> format_names(["price", "wait"])
    'price, wait'
    >>> format_names(range(200_000))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 (... 200000 in all)'
    """
    names = [str(column) for column in columns]
    return ", ".join(names) if len(names) <= MAX_NAMES_IN_FULL else format_list(names)


def closest_match_hint(word: str, known: Iterable[str]) -> str:
    """Hint at the known word most like `word`; empty if none is alike.

    >>> closest_match_hint("prise", ["price", "wait"])
    " Did you mean 'price'?"
    """
    matches = get_close_matches(word, list(known), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""


# One setting for the whole process, not for a thread or context: worker threads report to the same
# reader.
_wording = {"options": False}


@contextmanager
def command_line_wording() -> Iterator[None]:
    """Word messages for the command line: options instead of arguments.

    >>> with command_line_wording():
    ...     argument("weight_kind", "probability"), quoted_argument("subject")
    ('--weight-kind probability', '--subject')
    """
    before, _wording["options"] = _wording["options"], True
    try:
        yield
    finally:
        _wording["options"] = before


def either(python: str, command_line: str) -> str:
    """Choose between the wording for Python and that for the command line."""
    return command_line if _wording["options"] else python


def argument(name: str, value: str | int | tuple[str, ...] | None = None) -> str:
    """Name of an argument, with a value if given, as the reader writes it.

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
    """Name of an argument in backticks, where the words around it do not show what it is.

    >>> quoted_argument("subject")
    '`subject`'
    """
    return either(f"`{name}`", argument(name))


def prior_argument() -> str:
    """Argument for a prior of the parameters."""
    return either("parameter_prior", "--prior")


def weak_prior_argument() -> str:
    """Argument for the weak prior, with which every subject has an estimate."""
    return either("parameter_prior=ScaledPrior()", "--prior weak")


def drop_set_argument() -> str:
    """Argument that leaves out decisions with missing cells."""
    return either("missing='drop_set'", "--missing drop-set")


def prior_advice() -> str:
    """Advice to use a prior."""
    return either("give a parameter_prior", "use --prior weak")


def profile_interval_advice(verb: str = "Read") -> str:
    """Advice to use profile likelihood intervals."""
    return either(f"{verb} the profile intervals", f"{verb} --intervals profile")


def interval_kind_argument(kind: str) -> str:
    """Argument for a kind of intervals."""
    return either(f"kind={kind!r}", f"--intervals {kind}")


def linearisation_advice() -> str:
    """Advice where a linearised fit is not valid."""
    return either(
        "re-linearise or use the exact fit",
        "linearise about another prior, or leave --linearized out",
    )
