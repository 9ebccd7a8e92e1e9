"""How a message names what its reader can change: an argument in Python, an option in a shell.

A message is made once, where something is found, in the words of whoever asked: `argument("level")`
is level in Python and --level on the command line, which speaks `in_options()`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

_spoken = {"options": False}  # of the whole process: threads that work speak to the same reader


@contextmanager
def in_options() -> Iterator[None]:
    """Speak to somebody who types a command.

    >>> with in_options():
    ...     argument("weight_kind", "probability"), ticked("subject")
    ('--weight-kind probability', '--subject')
    """
    before, _spoken["options"] = _spoken["options"], True
    try:
        yield
    finally:
        _spoken["options"] = before


def either(python: str, typed: str) -> str:
    """What one writes in Python, or what one types."""
    return typed if _spoken["options"] else python


def argument(name: str, value: str | int | None = None) -> str:
    """An argument, with a value that it may be given.

    >>> argument("level"), argument("weight_kind", "probability")
    ('level', "weight_kind='probability'")
    """
    option = f"--{name.replace('_', '-')}"
    if value is None:
        return either(name, option)
    return either(f"{name}={value!r}", f"{option} {shlex.quote(str(value))}")


def ticked(name: str) -> str:
    """An argument, told from the words around it.

    >>> ticked("subject")
    '`subject`'
    """
    return either(f"`{name}`", argument(name))


def prior_said() -> str:
    """The argument that a prior of the parameters is given by."""
    return either("parameter_prior", "--prior")


def weak_prior() -> str:
    """The prior that gives everybody an estimate."""
    return either("parameter_prior=ScaledPrior()", "--prior weak")


def drop_set() -> str:
    """What leaves decisions with missing cells out."""
    return either("missing='drop_set'", "--missing drop-set")


def give_a_prior() -> str:
    """The advice to have any prior."""
    return either("give a parameter_prior", "use --prior weak")


def profile_intervals(verb: str = "Read") -> str:
    """The advice to read the intervals of the profile."""
    return either(f"{verb} the profile intervals", f"{verb} --intervals profile")


def interval_kind(kind: str) -> str:
    """A kind of intervals."""
    return either(f"kind={kind!r}", f"--intervals {kind}")


def linearise_anew() -> str:
    """The advice where a linearised fit is not valid."""
    return either(
        "re-linearise or use the exact fit",
        "linearise about another prior, or leave --linearized out",
    )
