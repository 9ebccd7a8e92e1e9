"""Messages to the terminal, checks of usage before data are read, and interrupts.

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

from penchant.cli.option_wording import word_as_options
from penchant.errors import DataError
from penchant.files.atomic_files import end_at_once, forbid_new_files

WIDTH = 80


def say(words: str) -> None:
    """Print a message to stderr, with arguments worded as options."""
    words = word_as_options(words)
    if sys.stderr is None:
        return
    with suppress(OSError):  # nobody reads them; the result matters more
        if sys.stderr.isatty():  # whole words; a pipe gets one line, for programs
            words = wrap_text(words, min(shutil.get_terminal_size().columns, WIDTH))
        print(words, file=sys.stderr)


def wrap_text(words: str, width: int = WIDTH) -> str:
    """Wrap long lines between words, never inside an option or the name of a file.

    >>> print(wrap_text("Use --method firth or --prior weak.", 24))
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
            raise DataError(
                option, f"must be left out {where}", got=_typed_value(value), fix=f"{advice}."
            )


def _typed_value(value: Any) -> str:
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
    """Refuse a missing or negative seed."""
    if seed is None or seed < 0:
        got = "none" if seed is None else seed
        raise DataError(
            "--seed",
            f"must be a whole number, 0 or more{where}",
            got=got,
            fix="Any will do: the same one gives the same result.",
        )


INTERRUPTED = 130
END_DELAY_SECONDS = 1.0  # seconds
_interrupts: list[int] = []
_interrupt_messages: list[Callable[[], str]] = [lambda: "nothing was written."]


def install_interrupt_handlers() -> None:
    """Let Ctrl-C and SIGTERM end this process, whatever it is at."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)


@contextmanager
def message_if_interrupted(words: Callable[[], str]) -> Iterator[None]:
    """Set the message of an interrupt during the work: the results that were kept."""
    _interrupt_messages.append(words)
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(words()) from None
    finally:
        _interrupt_messages.pop()


def say_interrupted(interrupt: KeyboardInterrupt | None = None) -> int:
    """Print that the work was interrupted and what is left of it; return the exit code."""
    say(f"penchant: interrupted; {str(interrupt or '') or _interrupt_messages[-1]()}")
    return INTERRUPTED


def _interrupt(number: int, _: object) -> None:
    _interrupts.append(number)
    sys.unraisablehook = (
        _ignore_error  # what a compiler was building has no end to be taken apart at
    )
    forbid_new_files()
    if len(_interrupts) > 1:
        _end_now()
    threading.Thread(target=_end_after_delay, daemon=True).start()
    raise KeyboardInterrupt


def _ignore_error(_: object) -> None:
    """Ignore errors of destructors while the process ends."""


def _end_after_delay() -> None:
    time.sleep(END_DELAY_SECONDS)
    _end_now()


def _end_now() -> None:
    end_at_once(say_interrupted())
