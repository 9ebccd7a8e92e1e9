"""What the person at the terminal reads; usage refused before anything is read; interrupts.

Compilers lose an interrupt that meets their own calls, and threads that work are waited for; so an
interrupt that has not ended the process in a moment does so without them, as a second one does.
"""

from __future__ import annotations

import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from typing import Any

from penchant.cli.option_wording import in_options
from penchant.errors import DataError
from penchant.files.atomic_files import end_at_once, end_soon

WIDTH = 80


def say(words: str) -> None:
    """Words for the person at the terminal, on stderr."""
    words = in_options(words)
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
            raise DataError(option, f"must be left out {where}", got=_said(value), fix=f"{advice}.")


def _said(value: Any) -> str:
    if value is True:
        return "it"
    return ",".join(value) if isinstance(value, list) else str(value)


def check_file(file: str | None) -> None:
    """Refuse a command without its table."""
    if file is None:
        raise DataError(
            "FILE", "must be given", got="none", fix="penchant simulate makes one to try."
        )


def check_criterion(criterion: str | None, folds: str | None) -> None:
    """Refuse to rank by held-out trials where no trial is held out."""
    if criterion == "held-out" and folds is None:
        raise DataError(
            "--criterion held-out",
            "must come with --folds",
            got="none",
            fix="Try --folds 5 or block.",
        )


def check_seed(seed: int | None, where: str = "") -> None:
    """Refuse randomness that could not be had again."""
    if seed is None or seed < 0:
        got = "none" if seed is None else seed
        raise DataError(
            "--seed",
            f"must be a whole number, 0 or more{where}",
            got=got,
            fix="Any will do: the same one gives the same result.",
        )


INTERRUPTED = 130
MOMENT = 1.0  # seconds
_interrupts: list[int] = []
_words: list[Callable[[], str]] = [lambda: "nothing was written."]


def heed_interrupts() -> None:
    """Let Ctrl-C and SIGTERM end this process, whatever it is at."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)


@contextmanager
def when_interrupted(words: Callable[[], str]) -> Iterator[None]:
    """What to say if the work is interrupted meanwhile: what was kept of it."""
    _words.append(words)
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(words()) from None
    finally:
        _words.pop()


def say_interrupted(interrupt: KeyboardInterrupt | None = None) -> int:
    """Say what was kept; the exit code."""
    say(f"penchant: interrupted; {str(interrupt or '') or _words[-1]()}")
    return INTERRUPTED


def _interrupt(number: int, _: object) -> None:
    _interrupts.append(number)
    sys.unraisablehook = _pass_over  # what a compiler was building has no end to be taken apart at
    end_soon()
    if len(_interrupts) > 1:
        _end()
    threading.Thread(target=_end_in_a_moment, daemon=True).start()
    raise KeyboardInterrupt


def _pass_over(_: object) -> None:
    """Say nothing of errors in taking things apart: the process ends."""


def _end_in_a_moment() -> None:
    time.sleep(MOMENT)
    _end()


def _end() -> None:
    end_at_once(say_interrupted())
