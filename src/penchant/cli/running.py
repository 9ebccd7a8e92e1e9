"""What `fit` does with choices: load, call one function, show. No model is loaded for it."""

from __future__ import annotations

from collections.abc import Callable

from penchant.arguments import check_level
from penchant.choices import Choices
from penchant.cli.loading import load_choices
from penchant.cli.model import check_bounds, constraints, fit_options
from penchant.cli.naming import names_files
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.scanning import load_scan
from penchant.cli.showing import VALID, Result, many, one, print_result, reserved, write_result
from penchant.cli.words import check_seed, refuse, say
from penchant.softmax.fit import fit_choices
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.passed_fit import fit_chunks

SUFFIXES = (".json", ".csv", ".parquet", ".tex", ".txt")


def run_fit(
    file: str | None,
    data: Data,
    terms: Terms,
    model: Model,
    show: Show,
    agent: Agent,
    history: History,
) -> int:
    """Fit choices given as explanatory variables, write, print; the exit code."""
    refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    refuse(history, "without --model", "Say which: --model ucl or --model q-learning")

    def result() -> Result:
        return _choices_result(file, data, terms, model, show)

    return shown(result, file, show)


def shown(result_of: Callable[[], Result], file: str | None, show: Show) -> int:
    """Make a result, keep it, print it; the exit code."""
    check_level(show.level)
    if show.intervals == "calibrated":
        check_seed(show.seed, " with --intervals calibrated")
    else:
        refuse(show, "without --intervals calibrated", names={"seed"})
    with reserved(show.output, overwrite=show.overwrite, suffixes=SUFFIXES, read=file):
        result = result_of()
        _say_doubts(result, show)
        try:
            if show.output is not None:
                write_result(result, show)
        finally:  # a result that cannot be kept can still be read
            print_result(result, show)
    return exit_code(result.statuses, show.strict)


def _choices_result(file: str | None, data: Data, terms: Terms, model: Model, show: Show) -> Result:
    """What choices given as explanatory variables tell."""
    options = fit_options(model)
    check_bounds(model.constraint)
    if file is not None and names_files(file):
        refuse(model, "with several files", names={"method", "constraint"})
        found = load_scan(file, data, terms)
        scanned = found.on(None, options.pop("threads"))
        return one(fit_chunks(scanned, **options), show)
    choices = load_choices(file, data, terms)
    say_notes(choices)
    options["constraints"] = constraints(model.constraint, choices.names)
    if choices.subject is None or model.covariance == "clustered":
        return one(fit_choices(choices, **options), show)
    return many(fit_each_choices(choices, **options), show)


def exit_code(statuses: tuple[str, ...], strict: bool = False) -> int:
    """0 where there is a valid estimate, else 1; with `strict`, 0 where all have converged."""
    if strict:
        return 0 if set(statuses) == {"converged"} else 1
    return 0 if set(statuses) & set(VALID) else 1


def say_notes(choices: Choices) -> None:
    """What the data are, and what a reader should know of them."""
    say(repr(choices))
    for note in choices.notes:
        say(f"Note: {note}")


def _say_doubts(result: Result, show: Show) -> None:
    """What JSON has in a field, and a table below it, in words."""
    if show.json:
        for doubt in result.doubts:
            say(doubt)
