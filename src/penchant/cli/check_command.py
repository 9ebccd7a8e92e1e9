"""The command `check`: read a table, diagnose its estimates, and suggest the next command."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.cli.choice_input import load_choices
from penchant.cli.fit_choices_command import exit_code, say_notes
from penchant.cli.fit_model_command import model_before_data
from penchant.cli.model_settings import (
    LOCATION_OPTIONS,
    LOCATIONS_FILE,
    build_named_model,
    location_options_text,
    option_locations,
    say_locations,
)
from penchant.cli.option_wording import word_as_options, word_results_as_options
from penchant.cli.options import Agent, Data, History, Terms
from penchant.cli.result_output import VALID_STATUSES, check_document, check_report
from penchant.cli.table_input import (
    fit_command,
    groups_command,
    load_offers,
    load_play,
    next_command,
    open_raw,
    other_group_options,
    read_and_report,
    read_rows,
    suggested_model,
    table_kind,
    typed_options,
    worth_command,
)
from penchant.cli.terminal import refuse, say, wrap_text
from penchant.errors import DataError, format_list
from penchant.files.output import json_text
from penchant.inference.fit import fit
from penchant.inference.fit_each import fit_each
from penchant.json_records import attributes_json
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared
from penchant.models.setting_warnings import doubts_of
from penchant.reading.data_notes import MIN_TRIALS
from penchant.reading.tasks import task_named
from penchant.result_tables import format_count
from penchant.softmax.estimate_collection import Estimates
from penchant.tables.reading import TITLES, Reading


def run_check_offers(
    file: str | None, data: Data, agent: Agent, history: History, json: bool
) -> int:
    """Check one-shot choices: print for whom an estimate exists; return the exit code."""
    assert agent.model is not None
    model = build_named_model(agent, 0)
    estimates = fit_each(load_offers(file, data, history, agent.model), model)
    if json:
        names = ("subject", "status", "message", "n_decisions")
        found = [attributes_json(one, *names) for one in word_results_as_options([*estimates])]
        print(json_text(found), end="")
    else:
        print(wrap_text(_offer_estimates_text(estimates)))
    return 0 if set(estimates.status) & set(VALID_STATUSES) else 1


def _offer_estimates_text(estimates: Estimates) -> str:
    lines = [f"Model: {estimates[0].model}."]
    for status, count in estimates.counts().items():
        who = [estimate for estimate in estimates if estimate.status == status]
        if status == "converged":
            lines.append(f"converged: {count} of {len(estimates)}.")
        else:
            message = f"For example {who[0].subject}: {word_as_options(who[0].message)}"
            lines.append(f"{status}: {format_list(str(one.subject) for one in who)}. {message}")
    return "\n".join(lines)


PLAY_ONLY_OPTIONS = ("reward", "is_choice", "executed", "gaps", "shown", "missing_reward")


def is_task_data(
    file: str | None, data: Data, terms: Terms, agent: Agent, history: History
) -> bool:
    """Whether the file holds task data (a history of play): the options say so, or its columns."""
    if agent.model is None and history.task is not None:
        return task_named(history.task).kind == "play"
    if agent.model is not None or _has_play_options(history):
        return True
    has_choice_options = (
        data.example or data.option or data.explanatory or data.wide or terms != Terms()
    )
    if file is None or file == "-" or has_choice_options:
        return False
    return table_kind(file, data, history) == "play"


def is_offers_table(file: str | None, data: Data, terms: Terms, history: History) -> bool:
    """Whether the file holds decisions between offers, by its columns or its task."""
    if history.task is not None:
        return task_named(history.task).kind == "offers"
    has_choice_options = (
        data.example or data.option or data.explanatory or data.wide or terms != Terms()
    )
    if file is None or file == "-" or has_choice_options:
        return False
    return table_kind(file, data, History()) == "offers"


def _run_check_offers_table(file: str | None, data: Data, history: History, json: bool) -> int:
    """Check a table of offers without a model: print its columns and the next command."""
    reading = read_and_report(open_raw(file, data), data, history, None)
    command = next_command(file, reading, typed_options(data, history))
    groups = groups_command(file, reading, suggested_model(reading), typed_options(data, history))
    next_commands = _NextCommands(command, groups, other_group_options(reading))
    if json:
        document = {
            "kind": reading.kind,
            "columns": dict(reading.columns),
            "options": dict(reading.options),
            "n_subjects": len(reading.subjects),
            "n_decisions": reading.n_decisions,
            "n_missed": reading.n_missed,
            "notes": list(reading.notes),
            "next": command,
            "groups": groups,
        }
        print(json_text(word_results_as_options(document)), end="")
    else:
        print("\n".join([f"These are {TITLES[reading.kind]}.", *next_commands.lines()]))
    return 0 if reading.n_decisions else 1


@dataclass(frozen=True)
class _NextCommands:
    """Commands to suggest after a check, and the options that compare other groups."""

    command: str
    groups: str | None
    others: str | None = None
    worth: str | None = None

    def lines(self) -> list[str]:
        """A line for each that there is."""
        lines = {"Worth": self.worth, "Groups": self.groups, "Other groups": self.others}
        return [f"Next: {self.command}", *(f"{k}: {v}" for k, v in lines.items() if v)]


def _commands_after_choices(file: str, data: Data, history: History) -> _NextCommands:
    """Commands to run after the check of a choice experiment."""
    typed = typed_options(data, history)
    command = fit_command(file, None, typed)
    try:
        reading = read_rows(open_raw(file, data), data, None, "choices")
    except DataError:  # a table of numbers that was described by other options
        return _NextCommands(command, None)
    groups = groups_command(file, reading, None, typed)
    return _NextCommands(
        command, groups, other_group_options(reading), worth_command(file, reading, typed)
    )


def _has_play_options(history: History) -> bool:
    """Whether an option is given that has a meaning for histories of play alone."""
    return any(getattr(history, name) != getattr(History(), name) for name in PLAY_ONLY_OPTIONS)


def run_check_play(file: str | None, data: Data, agent: Agent, history: History, json: bool) -> int:
    """Check task data: print their counts, notes and the next command; return the exit code."""
    if agent.model is None:
        say("These are task data, one row per trial; --model checks the model, too.")
        no_model = {option.name for option in fields(agent)} - LOCATION_OPTIONS
        refuse(agent, "without --model", "Say which: --model ucl or --model q-learning", no_model)
    ready = None if agent.model is None else model_before_data(agent, data, history)
    mapped = agent.grid is not None or agent.locations is not None
    places = option_locations(agent) if mapped else Declared(ready).locations
    where = "seen" if places is None and agent.model is None else places
    counted_on = ready is None and not mapped and not data.options
    reading = load_play(file, data, history, where, is_counted=counted_on, with_doubts=False)
    if places is not None and mapped:
        typed_places = f"--grid {agent.grid}" if agent.grid else f"--locations {agent.locations}"
        reading.check_options(len(places), typed_places)
        say_locations(agent, reading, places)
    seen = reading.arguments["locations"]
    document = task_data_document(reading, seen)
    if agent.model is not None:
        document["notes"] += reward_scale_notes(ready, reading, agent)
    placed = None if seen is None else seen + reading.arguments["base"]
    document["where"] = None if mapped or placed is None else location_options_text(placed)
    name = agent.model or reading.task or ("q-learning" if placed is None else "gp-ucb")
    typed = typed_options(data, history, replace(agent, model=None))
    if document["where"] is not None:  # a model of places must know where options are
        words = document["where"].split()
        for option, value in zip(words[::2], words[1::2], strict=True):
            typed += [option, value] if option not in typed else []
    document["next"] = fit_command(file, name, typed)
    document["groups"] = groups_command(file, reading, name, typed)
    if LOCATIONS_FILE in typed:  # has to be written first
        document["next"], document["groups"] = f"penchant models {name}", None
    next_commands = _NextCommands(
        document["next"], document["groups"], other_group_options(reading)
    )
    if json:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        print(json_text(word_results_as_options(document)), end="")
    else:
        print("\n".join([*_summary_lines(document), *next_commands.lines()]))
    return 0 if document["n_decisions"] else 1


def reward_scale_notes(ready: Any, reading: Reading, agent: Agent) -> list[str]:
    """Notes on settings of the model in units of reward that disagree with the rewards."""
    model = build_named_model(agent, reading.n_options) if ready is None else ready
    return list(doubts_of(model, reading.data))


def task_data_document(reading: Reading, places: Matrix | None = None) -> dict[str, Any]:
    """Describe task data for JSON: counts, options used, rewards and notes."""
    episodes, base = reading.data, reading.arguments["base"]
    chosen = np.concatenate([e.chosen for e in episodes])
    rewards = np.concatenate([e.rewards[e.observed] for e in episodes])
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    used = chosen[chosen >= 0] + base
    return {
        "columns": "; ".join(f"{part} = {name}" for part, name in reading.columns.items()),
        "n_subjects": len(scored),
        "n_episodes": len(episodes),
        "n_events": len(chosen),
        "n_decisions": sum(scored.values()),
        "decisions_per_episode": sorted({int(e.is_choice.sum()) for e in episodes}),
        "options_used": len(np.unique(used)),
        "smallest_option": int(used.min()) if len(used) else None,
        "largest_option": int(used.max()) if len(used) else None,
        "places": None if places is None else _place_ranges(reading, places[used - base] + base),
        "rewards": [float(rewards.min()), float(rewards.max())] if len(rewards) else None,
        "few_decisions": [str(subject) for subject, n in scored.items() if n < MIN_TRIALS],
        "notes": list(reading.doubts),
    }


def _place_ranges(reading: Reading, chosen: Matrix) -> dict[str, list[float]]:
    """The smallest and the largest chosen coordinate, by column."""
    ends = zip(reading.arguments["chosen"], chosen.min(axis=0), chosen.max(axis=0), strict=True)
    return {name: [float(low), float(high)] for name, low, high in ends}


def _summary_lines(document: dict[str, Any]) -> list[str]:
    lines = [
        f"Task data: {format_count(document['n_subjects'], 'subject')}, "
        f"{format_count(document['n_episodes'], 'block')}, "
        f"{format_count(document['n_decisions'], 'trial')} included of "
        f"{format_count(document['n_events'], 'event')}.",
        f"Trials per block: {format_list(map(str, document['decisions_per_episode']))}.",
    ]
    if document["rewards"] is not None:
        low, high = document["rewards"]
        lines.append(f"{_chosen_summary(document)}; rewards from {low:g} to {high:g}.")
    lines += [f"Note: {word_as_options(note)}" for note in document["notes"]]
    if document["few_decisions"]:
        few = document["few_decisions"]
        lines.append(
            f"Note: fewer than {MIN_TRIALS} decisions, which tell little: {format_list(few)}."
        )
    if document["where"] is not None:
        lines.append(
            "Options are places: models of places (ucl, gp-ucb, locality) read them, with the "
            f"place of every option. Try --model ucl {document['where']} --noise-variance VARIANCE."
        )
    return [*lines, "The table can be used by penchant fit --model and penchant study."]


def _chosen_summary(document: dict[str, Any]) -> str:
    if document["places"] is None:
        ends = f"from {document['smallest_option']} to {document['largest_option']}"
        return f"Options chosen: {document['options_used']}, {ends}"
    sides = (f"{name} from {a:g} to {b:g}" for name, (a, b) in document["places"].items())
    return f"Places chosen: {document['options_used']}, {', '.join(sides)}"


def run_check(
    file: str | None, data: Data, terms: Terms, json: bool, agent: Agent, history: History
) -> int:
    """Run `check`: validate a table, diagnose its estimates; return the exit code."""
    if agent.model is not None and entry_of(agent.model).data == "offers":
        return run_check_offers(file, data, agent, history, json)
    if is_task_data(file, data, terms, agent, history):
        return run_check_play(file, data, agent, history, json)
    if is_offers_table(file, data, terms, history):
        return _run_check_offers_table(file, data, history, json)
    refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    refuse(history, "without --model", "Say which: --model ucl or --model q-learning")
    choices = load_choices(file, data, terms)
    estimates = [fit(choices)] if choices.subject is None else list(fit_each(choices))
    next_commands = None
    if file is not None and terms == Terms():
        next_commands = _commands_after_choices(file, data, history)
    if json:
        say_notes(choices)
        found = [check_document(estimate) for estimate in estimates]
        if next_commands is not None:
            more = {
                "kind": "choices",
                "next": next_commands.command,
                "groups": next_commands.groups,
                "worth": next_commands.worth,
            }
            found = [one | more for one in found]
        print(json_text(found[0] if choices.subject is None else found), end="")
    else:
        kind = [] if next_commands is None else [f"This is {TITLES['choices']}."]
        print("\n".join([*kind, check_report(choices, estimates)]))
        if next_commands is not None:
            print("\n".join(next_commands.lines()))
    return exit_code(tuple(estimate.status for estimate in estimates))
