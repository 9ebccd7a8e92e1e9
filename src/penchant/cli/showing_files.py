"""Results and figures of one command: printed, written, drawn, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penchant.cli.options import Show
from penchant.cli.reserved import reserved
from penchant.cli.result import Result, print_result, write_result
from penchant.cli.words import say
from penchant.cli.workflow_options import Written
from penchant.errors import DataError
from penchant.figures.saving import save

SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".txt")
FIGURES = (".svg", ".pdf", ".png")


@contextmanager
def kept(
    written: Written, suffixes: tuple[str, ...] = SUFFIXES, read: str | None = None
) -> Iterator[None]:
    """Keep the files that will be written for this process, from before the work."""
    if written.figure is not None and written.figure == written.output:
        raise DataError(
            f"--figure must not be the file of --output; got {written.figure}. Name another."
        )
    with (
        reserved(written.output, overwrite=written.overwrite, suffixes=suffixes, read=read),
        figure_reserved(written.figure, written.overwrite),
    ):
        yield


@contextmanager
def figure_reserved(figure: Path | None, overwrite: bool) -> Iterator[None]:
    """Keep the figure's file for this process."""
    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise DataError(
            f"--figure must end in {', '.join(FIGURES)}; got {figure.name!r}. Choose one."
        )
    with reserved(figure, overwrite=overwrite, suffixes=FIGURES):
        yield


def shown(result: Result, written: Written, draw: Callable[[], Any] | None = None) -> None:
    """Write the files that are asked for, and print the result."""
    show = Show(json=written.json, output=written.output, overwrite=written.overwrite)
    try:
        if show.output is not None:
            write_result(result, show)
        if written.figure is not None and draw is not None:
            save(draw(), written.figure, overwrite=written.overwrite)
            say(f"Written: {written.figure}")
    finally:  # a result that cannot be kept can still be read
        print_result(result, show)
