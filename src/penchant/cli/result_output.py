"""Results as the command line prints, keeps and draws them, all or nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from penchant.choices import Choices
from penchant.cli.option_wording import in_options, results_in_options
from penchant.cli.options import Show
from penchant.cli.terminal import say, wrapped
from penchant.cli.workflow_options import Written
from penchant.errors import DataError, format_list
from penchant.figures.result_overview import draw_estimate, draw_estimates
from penchant.figures.style import save
from penchant.files.atomic_files import check_writable, locked
from penchant.files.output import json_text, write_table, write_text
from penchant.json_records import attributes_json
from penchant.result_tables import MAX_TABLE_WIDTH, Table
from penchant.softmax.data_behind_estimate import IntervalKind
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates


@contextmanager
def reserved(
    output: Path | None,
    *,
    overwrite: bool,
    suffixes: Sequence[str],
    read: str | None = None,
    option: str = "--output",
) -> Iterator[None]:
    """Keep the output for this process, from before the work until it is written.

    Parameters
    ----------
    output
        The file to be written, if any.
    overwrite
        Whether it may replace an existing file.
    suffixes
        Endings that it may have.
    read
        The file that is read, which it must not be.
    option
        That names the file.
    """
    if output is None:
        yield
        return
    if output.suffix.lower() not in suffixes:
        raise DataError(
            option, f"must end in {', '.join(suffixes)}", got=repr(output.name), fix="Choose one."
        )
    try:
        target = check_writable(output, overwrite)
    except DataError as error:
        if error.argument == "output":
            error.argument = option
        raise
    if read is not None and target.exists() and _same(read, target):
        raise DataError(
            option, "must not be the file that is read", got=output, fix="Choose another name."
        )
    with locked(target):
        yield


def _same(file: str, target: os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(os.path.expanduser(file), target)
    except (OSError, ValueError):
        return False


MOST_ROWS = 60


def randomness(show: Show) -> np.random.Generator | None:
    """Where calibrated intervals take it from; the same every time."""
    return None if show.seed is None else np.random.default_rng(show.seed)


def checked_words(choices: Choices, estimates: Sequence[Estimate]) -> str:
    """What the data are, and whether an estimate exists."""
    sizes = choices.n_options
    lines = [
        repr(choices),
        f"Rows: {choices.n_rows}; options per decision: {sizes.min()} to {sizes.max()}; "
        f"decisions with one option, which tell nothing: {int((sizes == 1).sum())}.",
        *(f"Note: {in_options(note)}" for note in choices.notes),
    ]
    estimates = results_in_options(list(estimates))
    if choices.subject is None:
        return wrapped("\n".join([*lines, _about(estimates[0])]))
    found: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        found.setdefault(estimate.status, []).append(estimate)
    lines.append("Subjects: " + ", ".join(f"{len(who)} {status}" for status, who in found.items()))
    lines += [
        f"{status}: {format_list(str(e.subject) for e in who)}. For example {who[0].subject}: "
        f"{who[0].message}"
        for status, who in found.items()
        if status != "converged"
    ]
    return wrapped("\n".join(lines))


def checked_document(estimate: Estimate) -> dict[str, Any]:
    """What `check` found, for JSON."""
    names = ("subject", "status", "message", "n_decisions", "diagnostics", "notes")
    return attributes_json(results_in_options(estimate), *names)


def _about(estimate: Estimate) -> str:
    checks = estimate.diagnostics
    proof = f" Proof: {checks.certificate}." if checks.certificate else ""
    condition = f"{checks.condition:.3g}" if np.isfinite(checks.condition) else "infinite"
    return (
        f"Status: {estimate.status}. {estimate.message}{proof}\n"
        f"Identified directions: {checks.rank} of {estimate.n_parameters}; condition of the scaled "
        f"information: {condition}."
    )


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
    draw
        Makes the figure of it; None where it has none.
    """

    statuses: tuple[str, ...]
    doubts: tuple[str, ...]
    printed: Table
    kept: Table
    document: Callable[[], Any]
    frame: Callable[[], Any]
    draw: Callable[[], Any] | None = None


def of_table(words: Table, document: Callable[[], Any], frame: Callable[[], Any]) -> Result:
    """A result that is one table, of no estimate that could have failed."""
    return Result((), (), words, words, document, frame)


def one(estimate: Estimate, show: Show) -> Result:
    """The result of one fit."""
    check_sound(estimate.status, estimate.theta)
    estimate = results_in_options(estimate)
    how = (show.level, show.intervals, randomness(show))
    words = estimate.table(*how)
    doubt = f"{estimate.status}: {estimate.message}"
    return Result(
        statuses=(estimate.status,),
        doubts=() if estimate.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _document(estimate, show),
        frame=lambda: estimate.to_frame(show.level, "pyarrow", *how[1:]),
        draw=lambda: draw_estimate(estimate, estimate.parameters_at(*how)),
    )


def many(estimates: Estimates, show: Show) -> Result:
    """The result of one fit per subject."""
    for status, theta in zip(estimates.status, estimates.theta, strict=True):
        check_sound(status, theta)
    estimates = results_in_options(estimates)
    counts = ", ".join(f"{count} {status}" for status, count in estimates.counts().items())

    def how() -> tuple[float, IntervalKind, np.random.Generator | None]:
        return show.level, show.intervals, randomness(show)

    def table(most: int) -> Table:
        errors = show.intervals == "wald" or show.json  # intervals are worth their time if seen
        return estimates.table(*how(), max_rows_shown=most, errors=errors)

    printed = table(MOST_ROWS)
    return Result(
        statuses=estimates.status,
        doubts=(f"{len(estimates)} subjects: {counts}",),
        printed=printed,
        kept=table(len(estimates)) if keeps_words(show) else printed,
        document=lambda: [_document(estimate, show) for estimate in estimates],
        frame=lambda: estimates.to_frame(show.level, "pyarrow", show.intervals, randomness(show)),
        draw=lambda: draw_estimates(estimates, [e.parameters_at(*how()) for e in estimates]),
    )


def keeps_words(show: Show) -> bool:
    """Whether the output file is the table as it is read, which then holds every subject."""
    return show.output is not None and show.output.suffix in (".txt", ".tex")


def check_sound(status: str, theta: Any) -> None:
    """A converged estimate is a number: anything else is a fault here, never shown as a result."""
    if status == "converged" and not np.isfinite(theta).all():
        raise AssertionError(f"status is converged, but theta is {theta}")


def _document(estimate: Estimate, show: Show) -> dict[str, Any]:
    document = estimate.to_dict(show.level, show.intervals, randomness(show))
    return document if show.seed is None else document | {"seed": show.seed}


def print_result(result: Result, show: Show) -> None:
    """Print JSON, or a table."""
    if not show.json:
        print(results_in_options(result.printed).text(MAX_TABLE_WIDTH))
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # as JSON is, whatever the terminal's letters
    print(json_text(results_in_options(result.document())), end="")


def write_result(result: Result, show: Show) -> None:
    """Write the file that --output names, of the kind its ending says."""
    assert show.output is not None
    kind = show.output.suffix.lower()
    if kind in (".csv", ".parquet"):
        write_table(show.output, result.frame(), overwrite=show.overwrite)
    else:
        texts: dict[str, Callable[[], str]] = {
            ".json": lambda: json_text(results_in_options(result.document())),
            ".tex": lambda: results_in_options(result.kept).latex() + "\n",
            ".txt": lambda: results_in_options(result.kept).text() + "\n",
        }
        write_text(show.output, texts[kind](), overwrite=show.overwrite)
    say(f"Written: {show.output}")


SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".txt")
FIGURES = (".svg", ".pdf", ".png")


@contextmanager
def kept(
    written: Written | Show, suffixes: tuple[str, ...] = SUFFIXES, read: str | None = None
) -> Iterator[None]:
    """Keep the files that will be written for this process, from before the work."""
    with (
        figure_reserved(written),
        reserved(written.output, overwrite=written.overwrite, suffixes=suffixes, read=read),
    ):
        yield


@contextmanager
def figure_reserved(written: Written | Show) -> Iterator[None]:
    """Keep the figure's file for this process."""
    figure = written.figure
    if figure is not None and figure == written.output:
        raise DataError(
            "--figure", "must not be the file of --output", got=figure, fix="Name another."
        )
    with reserved(figure, overwrite=written.overwrite, suffixes=FIGURES, option="--figure"):
        yield


def shown(result: Result, written: Written, draw: Callable[[], Any] | None = None) -> None:
    """Write the files that are asked for, and print the result."""
    show = Show(
        json=written.json,
        output=written.output,
        figure=written.figure,
        overwrite=written.overwrite,
    )
    keep_and_print(replace(result, draw=draw), show)


def keep_and_print(result: Result, show: Show) -> None:
    """Write the files that are asked for, and print the result."""
    try:
        if show.output is not None:
            write_result(result, show)
        if show.figure is not None and result.draw is not None:
            save(result.draw(), show.figure, overwrite=show.overwrite)
            say(f"Written: {show.figure}")
    finally:  # a result that cannot be kept can still be read
        print_result(result, show)
