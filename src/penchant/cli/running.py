"""What the commands do: load, call one function, show."""

from __future__ import annotations

from penchant.choices import Choices
from penchant.cli.checking_offers import run_check_offers
from penchant.cli.checking_play import is_history, run_check_play
from penchant.cli.checking_usage import check_seed
from penchant.cli.loading import load_choices
from penchant.cli.model import check_bounds, constraints, fit_options
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.playing import play_result
from penchant.cli.refusing import refuse
from penchant.cli.reserved import reserved
from penchant.cli.result import VALID, Result, many, one, print_result, write_result
from penchant.cli.showing import checked_document, checked_words
from penchant.cli.words import on_command_line, say
from penchant.io.document import json_text
from penchant.models.catalogue import entry_of
from penchant.softmax import fit, fit_each
from penchant.softmax.intervals import check_level

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
    """Fit, write, print; the exit code."""
    check_level(show.level)
    if show.intervals == "calibrated":
        check_seed(show.seed, " with --intervals calibrated")
    else:
        refuse(show, "without --intervals calibrated", names={"seed"})
    with reserved(show.output, overwrite=show.overwrite, suffixes=SUFFIXES, read=file):
        if agent.model is None:
            refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
            refuse(history, "without --model", "Say which: --model ucl or --model q-learning")
            result = _choices_result(file, data, terms, model, show)
        else:
            refuse(terms, "with --model")
            result = play_result(file, data, model, show, agent, history)
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
    choices = load_choices(file, data, terms)
    say_notes(choices)
    options["constraints"] = constraints(model.constraint, choices.names)
    if choices.subject is None or model.covariance == "clustered":
        return one(fit(choices, **options), show)
    return many(fit_each(choices, **options), show)


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
            say(on_command_line(doubt))


def run_check(
    file: str | None, data: Data, terms: Terms, json: bool, agent: Agent, history: History
) -> int:
    """Validate, diagnose, print; the exit code."""
    if agent.model is not None and entry_of(agent.model).data == "trials":
        return run_check_offers(file, data, agent, history, json)
    if is_history(file, data, terms, agent, history):
        return run_check_play(file, data, agent, history, json)
    refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    refuse(history, "without --model", "Say which: --model ucl or --model q-learning")
    choices = load_choices(file, data, terms)
    estimates = [fit(choices)] if choices.subject is None else list(fit_each(choices))
    if json:
        say_notes(choices)
        found = [checked_document(estimate) for estimate in estimates]
        print(json_text(found[0] if choices.subject is None else found), end="")
    else:
        print(checked_words(choices, estimates))
    return exit_code(tuple(estimate.status for estimate in estimates))
