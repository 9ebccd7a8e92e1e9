"""What the person at the terminal reads, and usage refused before anything is read."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection
from contextlib import suppress
from dataclasses import fields
from typing import Any

from penchant.errors import DataError

WIDTH = 80


def say(words: str) -> None:
    """Words for the person at the terminal, on stderr."""
    if sys.stderr is None:
        return
    with suppress(OSError):  # nobody reads them; the result matters more
        if sys.stderr.isatty():  # whole words; a pipe gets one line, for programs
            words = wrapped(words, min(shutil.get_terminal_size().columns, WIDTH))
        print(words, file=sys.stderr)


def wrapped(words: str, width: int = WIDTH) -> str:
    """Long lines broken between words, never inside an option or the name of a file.

    >>> print(wrapped("Use --method firth or --prior weak.", 24))
    Use --method firth or
    --prior weak.
    """
    lines = [
        textwrap.fill(line, width, break_on_hyphens=False, break_long_words=False)
        for line in words.split("\n")
    ]
    return "\n".join(lines)


def refuse(
    options: Any, where: str, advice: str = "Leave it out", names: Collection[str] | None = None
) -> None:
    """Raise an error if one of these options is given.

    Parameters
    ----------
    options
        A group of options, all of which have a default.
    where
        In which case they mean nothing, such as "with --model".
    advice
        What to do.
    names
        Which options of the group; all if not given.
    """
    usual = type(options)()
    for field in fields(options):
        value = getattr(options, field.name)
        if (names is None or field.name in names) and value != getattr(usual, field.name):
            option = "--" + field.name.replace("_", "-")
            if (field.name, where) == ("offers", "without --model"):
                advice = "Say which: --model hyperbolic or --model prospect"
            raise DataError(f"{option} must be left out {where}; got {_said(value)}. {advice}.")


def _said(value: Any) -> str:
    if value is True:
        return "it"
    return ",".join(value) if isinstance(value, list) else str(value)


def check_file(file: str | None) -> None:
    """Refuse a command without its table."""
    if file is None:
        raise DataError("FILE must be given; got none. penchant simulate makes one to try.")


def check_criterion(criterion: str | None, folds: str | None) -> None:
    """Refuse to rank by held-out trials where no trial is held out."""
    if criterion == "held-out" and folds is None:
        raise DataError(
            "--criterion held-out must come with --folds; got none. Try --folds 5 or block."
        )


def check_seed(seed: int | None, where: str = "") -> None:
    """Refuse randomness that could not be had again."""
    if seed is None or seed < 0:
        got = "none" if seed is None else seed
        raise DataError(
            f"--seed must be a whole number, 0 or more{where}; got {got}. "
            "Any will do: the same one gives the same result."
        )
