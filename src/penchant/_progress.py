"""Progress of long work: on stderr, and only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FEW = 2
_shown: list[str] = []  # what is being shown: the outermost work only


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of things just done.

    Work inside other work that shows its progress shows none of its own.
    """
    if total < FEW or _shown or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    _shown.append(what)
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.advance(task, done)
    finally:
        _shown.remove(what)
