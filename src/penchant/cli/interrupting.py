"""An interrupt (Ctrl-C) ends the command: in order where that is quick, else at once.

Compilers lose an interrupt that meets their own calls, and threads that work are waited for; so an
interrupt that has not ended the process in a moment does so without them, as a second one does.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penchant.cli.words import say
from penchant.files.atomic import end_at_once, end_soon

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
