"""What the commands do: load, call one function, show."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from penchant.choices import Choices
from penchant.cli.loading import load_choices
from penchant.cli.model import check_bounds, constraints, fit_options
from penchant.cli.options import Data, Model, Show, Terms
from penchant.cli.result import VALID, Result, many, one, print_result, write_result
from penchant.cli.showing import checked_document, checked_words
from penchant.cli.words import on_command_line, say
from penchant.errors import DataError
from penchant.io.atomic import check_writable
from penchant.io.document import json_text
from penchant.io.lock import locked
from penchant.softmax import fit, fit_each
from penchant.softmax.intervals import check_level

SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".txt")


def run_fit(file: str | None, data: Data, terms: Terms, model: Model, show: Show) -> int:
    """Fit, write, print; the exit code."""
    check_level(show.level)
    options = fit_options(model)
    check_bounds(model.constraint)
    with _reserved(show, file):
        choices = load_choices(file, data, terms)
        say_notes(choices)
        options["constraints"] = constraints(model.constraint, choices.names)
        if choices.subject is None or model.covariance == "clustered":
            result = one(fit(choices, **options), show)
        else:
            result = many(fit_each(choices, **options), show)
        _say_doubts(result, show)
        try:
            if show.output is not None:
                write_result(result, show)
        finally:  # a result that cannot be kept can still be read
            print_result(result, show)
    return exit_code(result.statuses, show.strict)


def exit_code(statuses: tuple[str, ...], strict: bool = False) -> int:
    """0 where there is a valid estimate, else 1; with `strict`, 0 where all have converged."""
    if strict:
        return 0 if set(statuses) == {"converged"} else 1
    return 0 if set(statuses) & set(VALID) else 1


@contextmanager
def _reserved(show: Show, file: str | None) -> Iterator[None]:
    """Keep the output for this process, from before the work until it is written."""
    if show.output is None:
        yield
        return
    if show.output.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"--output must end in {', '.join(SUFFIXES)}; got {show.output.name!r}. Choose one."
        )
    target = check_writable(show.output, show.overwrite)
    if file is not None and target.exists() and _same(file, target):
        raise DataError(
            f"--output must not be the file that is read; got {show.output}. Choose another name."
        )
    with locked(target):
        yield


def _same(file: str, target: os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(os.path.expanduser(file), target)
    except (OSError, ValueError):
        return False


def say_notes(choices: Choices) -> None:
    """What the data are, and what a reader should know of them."""
    say(repr(choices))
    for note in choices.notes:
        say(f"Note: {note}")


def _say_doubts(result: Result, show: Show) -> None:
    """What JSON has in a field, and a table below it, in words."""
    if show.json:
        for doubt in result.doubts:
            say(on_command_line(doubt))


def run_check(file: str | None, data: Data, terms: Terms, json: bool) -> int:
    """Validate, diagnose, print; the exit code."""
    choices = load_choices(file, data, terms)
    estimates = [fit(choices)] if choices.subject is None else list(fit_each(choices))
    if json:
        say_notes(choices)
        found = [checked_document(estimate) for estimate in estimates]
        print(json_text(found[0] if choices.subject is None else found), end="")
    else:
        print(checked_words(choices, estimates))
    return exit_code(tuple(estimate.status for estimate in estimates))
