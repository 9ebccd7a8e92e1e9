"""Results printed to the terminal, written to files and drawn, all or nothing."""

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
from penchant.cli.option_wording import word_as_options, word_results_as_options
from penchant.cli.options import FitOutputOptions
from penchant.cli.terminal import say, wrap_text
from penchant.cli.workflow_options import OutputOptions
from penchant.errors import DataError, format_list
from penchant.figures.result_overview import draw_estimate, draw_estimates
from penchant.figures.style import save
from penchant.files.atomic_files import check_writable, lock_file
from penchant.files.output import json_text, write_table, write_text
from penchant.json_records import attributes_json
from penchant.result_tables import MAX_TABLE_WIDTH, Table
from penchant.softmax.data_behind_estimate import IntervalKind
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates


@contextmanager
def reserve_file(
    output: Path | None,
    *,
    overwrite: bool,
    suffixes: Sequence[str],
    read: str | None = None,
    option: str = "--output",
) -> Iterator[None]:
    """Lock the output file for this process, from before the work until it is written.

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
    if read is not None and target.exists() and _is_same_file(read, target):
        raise DataError(
            option, "must not be the file that is read", got=output, fix="Choose another name."
        )
    with lock_file(target):
        yield


def _is_same_file(file: str, target: os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(os.path.expanduser(file), target)
    except (OSError, ValueError):
        return False


MAX_PRINTED_ROWS = 60


def interval_generator(output_options: FitOutputOptions) -> np.random.Generator | None:
    """Random generator of calibrated intervals, with the same seed every time."""
    return None if output_options.seed is None else np.random.default_rng(output_options.seed)


def check_report(choices: Choices, estimates: Sequence[Estimate]) -> str:
    """Report on choices: their size, their notes, and whether estimates exist."""
    sizes = choices.n_options
    lines = [
        repr(choices),
        f"Rows: {choices.n_rows}; options per decision: {sizes.min()} to {sizes.max()}; "
        f"decisions with one option, which tell nothing: {int((sizes == 1).sum())}.",
        *(f"Note: {word_as_options(note)}" for note in choices.notes),
    ]
    estimates = word_results_as_options(list(estimates))
    if choices.subject is None:
        return wrap_text("\n".join([*lines, _status_text(estimates[0])]))
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
    return wrap_text("\n".join(lines))


def check_document(estimate: Estimate) -> dict[str, Any]:
    """Describe status and diagnostics of an estimate for JSON."""
    names = ("subject", "status", "message", "n_decisions", "diagnostics", "notes")
    return attributes_json(word_results_as_options(estimate), *names)


def _status_text(estimate: Estimate) -> str:
    checks = estimate.diagnostics
    proof = f" Proof: {checks.certificate}." if checks.certificate else ""
    condition = f"{checks.condition:.3g}" if np.isfinite(checks.condition) else "infinite"
    return (
        f"Status: {estimate.status}. {estimate.message}{proof}\n"
        f"Identified directions: {checks.rank} of {estimate.n_parameters}; condition of the scaled "
        f"information: {condition}."
    )


VALID_STATUSES = ("converged", "weakly identified", "at a bound")


@dataclass(frozen=True)
class Result:
    """Printed, written and drawn forms of one estimate, or of one per subject.

    Attributes
    ----------
    statuses
        Of each estimate.
    doubts
        What is wrong with it, in sentences.
    terminal_table, file_table
        Tables of words for the terminal, and for a file, which is longer.
    document, frame
        What goes into JSON, and into CSV or Parquet.
    draw
        Makes the figure of it; None where it has none.
    """

    statuses: tuple[str, ...]
    doubts: tuple[str, ...]
    terminal_table: Table
    file_table: Table
    document: Callable[[], Any]
    frame: Callable[[], Any]
    draw: Callable[[], Any] | None = None


def table_result(words: Table, document: Callable[[], Any], frame: Callable[[], Any]) -> Result:
    """A result that is one table, of no estimate that could have failed."""
    return Result((), (), words, words, document, frame)


def fit_result(estimate: Estimate, output_options: FitOutputOptions) -> Result:
    """The result of one fit."""
    check_sound(estimate.status, estimate.theta)
    estimate = word_results_as_options(estimate)
    how = (output_options.level, output_options.intervals, interval_generator(output_options))
    words = estimate.table(*how)
    doubt = f"{estimate.status}: {estimate.message}"
    return Result(
        statuses=(estimate.status,),
        doubts=() if estimate.converged else (doubt,),
        terminal_table=words,
        file_table=words,
        document=lambda: _estimate_document(estimate, output_options),
        frame=lambda: estimate.to_frame(output_options.level, "pyarrow", *how[1:]),
        draw=lambda: draw_estimate(estimate, estimate.parameters_at(*how)),
    )


def fits_result(estimates: Estimates, output_options: FitOutputOptions) -> Result:
    """The result of one fit per subject."""
    for status, theta in zip(estimates.status, estimates.theta, strict=True):
        check_sound(status, theta)
    estimates = word_results_as_options(estimates)
    counts = ", ".join(f"{count} {status}" for status, count in estimates.counts().items())

    def how() -> tuple[float, IntervalKind, np.random.Generator | None]:
        return output_options.level, output_options.intervals, interval_generator(output_options)

    def table(max_rows: int) -> Table:
        # Other intervals take long: they are computed only where they are seen.
        errors = output_options.intervals == "wald" or output_options.json
        return estimates.table(*how(), max_rows_shown=max_rows, errors=errors)

    terminal_table = table(MAX_PRINTED_ROWS)
    return Result(
        statuses=estimates.status,
        doubts=(f"{len(estimates)} subjects: {counts}",),
        terminal_table=terminal_table,
        file_table=table(len(estimates)) if writes_text_table(output_options) else terminal_table,
        document=lambda: [_estimate_document(estimate, output_options) for estimate in estimates],
        frame=lambda: estimates.to_frame(
            output_options.level,
            "pyarrow",
            output_options.intervals,
            interval_generator(output_options),
        ),
        draw=lambda: draw_estimates(estimates, [e.parameters_at(*how()) for e in estimates]),
    )


def writes_text_table(output_options: FitOutputOptions) -> bool:
    """Whether the output file is a table of text (.tex, .txt), which then holds every subject."""
    return output_options.output is not None and output_options.output.suffix in (".txt", ".tex")


def check_sound(status: str, theta: Any) -> None:
    """Assert that a converged estimate is finite: anything else is an internal error."""
    if status == "converged" and not np.isfinite(theta).all():
        raise AssertionError(f"status is converged, but theta is {theta}")


def _estimate_document(estimate: Estimate, output_options: FitOutputOptions) -> dict[str, Any]:
    document = estimate.to_dict(
        output_options.level, output_options.intervals, interval_generator(output_options)
    )
    return document if output_options.seed is None else document | {"seed": output_options.seed}


def print_result(result: Result, output_options: FitOutputOptions) -> None:
    """Print JSON, or a table."""
    if not output_options.json:
        print(word_results_as_options(result.terminal_table).text(MAX_TABLE_WIDTH))
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # as JSON is, whatever the terminal's letters
    print(json_text(word_results_as_options(result.document())), end="")


def write_result(result: Result, output_options: FitOutputOptions) -> None:
    """Write the result to the file of --output, in the format of its suffix."""
    assert output_options.output is not None
    kind = output_options.output.suffix.lower()
    if kind in (".csv", ".parquet"):
        write_table(output_options.output, result.frame(), overwrite=output_options.overwrite)
    else:
        texts: dict[str, Callable[[], str]] = {
            ".json": lambda: json_text(word_results_as_options(result.document())),
            ".tex": lambda: word_results_as_options(result.file_table).latex() + "\n",
            ".txt": lambda: word_results_as_options(result.file_table).text() + "\n",
        }
        write_text(output_options.output, texts[kind](), overwrite=output_options.overwrite)
    say(f"Written: {output_options.output}")


SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".txt")
FIGURE_SUFFIXES = (".svg", ".pdf", ".png")


@contextmanager
def reserve_outputs(
    output_options: OutputOptions | FitOutputOptions,
    suffixes: tuple[str, ...] = SUFFIXES,
    read: str | None = None,
) -> Iterator[None]:
    """Lock the output files for this process, from before the work until they are written."""
    with (
        reserve_figure(output_options),
        reserve_file(
            output_options.output, overwrite=output_options.overwrite, suffixes=suffixes, read=read
        ),
    ):
        yield


@contextmanager
def reserve_figure(output_options: OutputOptions | FitOutputOptions) -> Iterator[None]:
    """Lock the figure's file for this process."""
    figure = output_options.figure
    if figure is not None and figure == output_options.output:
        raise DataError(
            "--figure", "must not be the file of --output", got=figure, fix="Name another."
        )
    with reserve_file(
        figure, overwrite=output_options.overwrite, suffixes=FIGURE_SUFFIXES, option="--figure"
    ):
        yield


def output_result(
    result: Result, output_options: OutputOptions, draw: Callable[[], Any] | None = None
) -> None:
    """Write the files that are asked for, and print the result."""
    show = FitOutputOptions(
        json=output_options.json,
        output=output_options.output,
        figure=output_options.figure,
        overwrite=output_options.overwrite,
    )
    write_and_print(replace(result, draw=draw), show)


def write_and_print(result: Result, output_options: FitOutputOptions) -> None:
    """Write the files that are asked for, and print the result."""
    try:
        if output_options.output is not None:
            write_result(result, output_options)
        if output_options.figure is not None and result.draw is not None:
            save(result.draw(), output_options.figure, overwrite=output_options.overwrite)
            say(f"Written: {output_options.figure}")
    finally:  # a result that cannot be kept can still be read
        print_result(result, output_options)
