"""What the commands do: load, call one function, show."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from penchant.choices import Choices
from penchant.cli.loading import load_choices, say
from penchant.cli.options import Data, Show
from penchant.cli.showing import checked_words, on_command_line, subjects_table
from penchant.errors import DataError
from penchant.io.atomic import check_writable
from penchant.io.document import json_text
from penchant.io.output import write_table, write_text
from penchant.softmax import Estimate, Estimates, ScaledPrior, fit, fit_each
from penchant.softmax.document import plain
from penchant.softmax.estimate import IntervalKind
from penchant.softmax.intervals import check_level

VALID = ("converged", "weakly identified", "at a bound")
SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".txt")


def run_fit(
    file: str | None,
    data: Data,
    method: str,
    prior: str,
    covariance: str,
    intervals: IntervalKind,
    threads: int | None,
    show: Show,
) -> int:
    """Fit, print, write; the exit code."""
    check_level(show.level)
    options: dict[str, Any] = {
        "method": method,
        "parameter_prior": _prior(prior),
        "covariance": covariance,
        "threads": threads,
    }
    if show.output is not None:
        _check_output(show.output, show.overwrite)
    choices = load_choices(file, data)
    say_notes(choices)
    if choices.subject is not None and covariance != "clustered":
        return _show_many(fit_each(choices, **options), intervals, show)
    return _show_one(fit(choices, **options), intervals, show)


def _prior(words: str) -> ScaledPrior | None:
    """none, weak, or weak:C."""
    if words == "none":
        return None
    match = re.fullmatch(r"weak(?::([0-9.eE+-]+))?", words)
    if match is None:
        raise DataError(f"--prior must be none, weak or weak:C; got {words!r}. Try --prior weak.")
    return ScaledPrior(float(match.group(1) or 1.0))


def _check_output(output: Path, overwrite: bool) -> None:
    if output.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"--output must end in {', '.join(SUFFIXES)}; got {output.name!r}. Choose one."
        )
    check_writable(output, overwrite)


def say_notes(choices: Choices) -> None:
    """What the data are, and what a reader should know of them."""
    say(repr(choices))
    for note in choices.notes:
        say(f"Note: {note}")


def _with_profile(document: dict[str, Any], estimate: Estimate, show: Show) -> dict[str, Any]:
    """Replace Wald by profile intervals, where the parameters are theta itself."""
    if estimate.natural is not None:
        return document
    low_high = estimate.interval(show.level, kind="profile")
    for parameter, (low, high) in zip(document["parameters"], low_high, strict=True):
        parameter["low"], parameter["high"] = plain(low), plain(high)
    return document


def _document(estimate: Estimate, intervals: IntervalKind, show: Show) -> dict[str, Any]:
    document = estimate.to_dict(show.level)
    return _with_profile(document, estimate, show) if intervals == "profile" else document


def _show_one(estimate: Estimate, intervals: IntervalKind, show: Show) -> int:
    table = estimate.table(show.level, intervals)
    text = dataclasses.replace(table, notes=tuple(map(on_command_line, table.notes))).text()
    document = _document(estimate, intervals, show)
    print(json_text(document) if show.json else text)
    if estimate.status != "converged" and show.json:
        say(f"{estimate.status}: {on_command_line(estimate.message)}")
    if show.output is not None:
        kind = show.output.suffix.lower()
        if kind == ".json":
            write_text(show.output, json_text(document) + "\n", overwrite=show.overwrite)
        elif kind == ".tex":
            write_text(show.output, table.latex() + "\n", overwrite=show.overwrite)
        elif kind == ".txt":
            write_text(show.output, text + "\n", overwrite=show.overwrite)
        else:
            frame = estimate.to_frame(show.level, backend="pyarrow", kind=intervals)
            write_table(show.output, frame, overwrite=show.overwrite)
        say(f"Written: {show.output}")
    return 0 if estimate.status in VALID else 1


def _show_many(estimates: Estimates, intervals: IntervalKind, show: Show) -> int:
    documents = None
    if show.json or (show.output is not None and show.output.suffix.lower() == ".json"):
        documents = [_document(e, intervals, show) for e in estimates]
    table = subjects_table(estimates)
    print(json_text(documents) if show.json else table.text())
    if show.output is not None:
        kind = show.output.suffix.lower()
        if kind == ".json":
            write_text(show.output, json_text(documents) + "\n", overwrite=show.overwrite)
        elif kind == ".tex":
            write_text(show.output, table.latex() + "\n", overwrite=show.overwrite)
        elif kind == ".txt":
            write_text(show.output, table.text() + "\n", overwrite=show.overwrite)
        else:
            frame = estimates.to_frame(show.level, backend="pyarrow")
            write_table(show.output, frame, overwrite=show.overwrite)
        say(f"Written: {show.output} ({len(estimates)} subjects)")
    return 0 if any(status in VALID for status in estimates.status) else 1


def run_check(file: str | None, data: Data, json: bool) -> int:
    """Validate, diagnose, print; the exit code."""
    choices = load_choices(file, data)
    people = [None] if choices.subject_labels is None else list(choices.subject_labels)
    estimates = [fit(choices)] if people == [None] else list(fit_each(choices))
    if json:
        found = [
            {
                "subject": e.subject,
                "status": e.status,
                "message": e.message,
                "n_decisions": e.n_decisions,
                "diagnostics": e.to_dict()["diagnostics"],
            }
            for e in estimates
        ]
        print(json_text(found if choices.subject is not None else found[0]))
    else:
        print(checked_words(choices, estimates))
    return 0 if any(e.status in VALID for e in estimates) else 1
