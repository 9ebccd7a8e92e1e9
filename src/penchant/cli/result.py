"""A result as it is printed and kept: words, JSON, or a table of numbers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.cli.options import Show
from penchant.cli.showing import MOST_ROWS, randomness, seeded, subjects_table
from penchant.cli.words import on_command_line, say
from penchant.io.document import json_text
from penchant.io.output import write_table, write_text
from penchant.softmax import Estimate, Estimates
from penchant.softmax.document import plain
from penchant.softmax.tables import Table

VALID = ("converged", "weakly identified", "at a bound")


@dataclass(frozen=True)
class Result:
    """One estimate, or one per subject.

    Attributes
    ----------
    statuses
        Of each estimate.
    doubts
        What is wrong with it, in sentences.
    printed, kept
        Tables of words for the terminal, and for a file, which is longer.
    document, frame
        What goes into JSON, and into CSV or Parquet.
    """

    statuses: tuple[str, ...]
    doubts: tuple[str, ...]
    printed: Table
    kept: Table
    document: Callable[[], Any]
    frame: Callable[[], Any]


def of_table(words: Table, document: Callable[[], Any], frame: Callable[[], Any]) -> Result:
    """A result that is one table, of no estimate that could have failed."""
    return Result((), (), words, words, document, frame)


def one(estimate: Estimate, show: Show) -> Result:
    """The result of one fit."""
    check_sound(estimate.status, estimate.theta)
    table = estimate.table(show.level, show.intervals, randomness(show))
    words = dataclasses.replace(table, notes=tuple(map(on_command_line, table.notes)))
    doubt = f"{estimate.status}: {estimate.message}"
    return Result(
        statuses=(estimate.status,),
        doubts=() if estimate.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _document(estimate, show),
        frame=lambda: estimate.to_frame(show.level, "pyarrow", show.intervals, randomness(show)),
    )


def many(estimates: Estimates, show: Show) -> Result:
    """The result of one fit per subject."""
    for status, theta in zip(estimates.status, estimates.theta, strict=True):
        check_sound(status, theta)
    counts = ", ".join(f"{count} {status}" for status, count in estimates.counts().items())
    printed = subjects_table(estimates, MOST_ROWS, show)
    return Result(
        statuses=estimates.status,
        doubts=(f"{len(estimates)} subjects: {counts}",),
        printed=printed,
        kept=subjects_table(estimates, len(estimates), show) if keeps_words(show) else printed,
        document=lambda: [_document(estimate, show) for estimate in estimates],
        frame=lambda: _subjects_frame(estimates, show),
    )


def keeps_words(show: Show) -> bool:
    """Whether the output file is the table as it is read, which then holds every subject."""
    return show.output is not None and show.output.suffix in (".txt", ".tex")


def check_sound(status: str, theta: Any) -> None:
    """A converged estimate is a number: anything else is a fault here, never shown as a result."""
    if status == "converged" and not np.isfinite(theta).all():
        raise AssertionError(f"status is converged, but theta is {theta}")


def _document(estimate: Estimate, show: Show) -> dict[str, Any]:
    document = estimate.to_dict(show.level) | {"intervals": show.intervals} | seeded(show)
    if show.intervals != "wald":
        low_high = estimate.interval(show.level, show.intervals, rng=randomness(show))
        for parameter, (low, high) in zip(document["parameters"], low_high, strict=True):
            parameter["low"], parameter["high"] = plain(low), plain(high)
    return document


def _subjects_frame(estimates: Estimates, show: Show) -> Any:
    frame = estimates.to_frame(show.level, backend="pyarrow")
    if show.intervals == "wald":
        return frame
    found = [e.interval(show.level, show.intervals, rng=randomness(show)) for e in estimates]
    profiles = np.array(found)
    for a, name in enumerate(estimates.names):
        for end, side in enumerate(("low", "high")):
            column = f"{name}_{side}"
            place = frame.column_names.index(column)
            frame = frame.set_column(place, column, pa.array(profiles[:, a, end]))
    return frame


def print_result(result: Result, show: Show) -> None:
    """Print JSON, or a table."""
    if not show.json:
        print(result.printed.text())
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # as JSON is, whatever the terminal's letters
    print(json_text(result.document()), end="")


def write_result(result: Result, show: Show) -> None:
    """Write the file that --output names, of the kind its ending says."""
    assert show.output is not None
    kind = show.output.suffix.lower()
    if kind in (".csv", ".parquet"):
        write_table(show.output, result.frame(), overwrite=show.overwrite)
    else:
        text = {
            ".json": lambda: json_text(result.document()),
            ".tex": lambda: result.kept.latex() + "\n",
            ".txt": lambda: result.kept.text() + "\n",
        }[kind]()
        write_text(show.output, text, overwrite=show.overwrite)
    say(f"Written: {show.output}")
