"""What `check` does: load, look, say what is there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import episode_rows
from penchant.cli.episodes import Play, grid_words, in_lines, load_episodes, places_in, say_places
from penchant.cli.fitting import ready_model
from penchant.cli.loading import load_choices
from penchant.cli.offers import load_trials, named_offers, say_trials
from penchant.cli.options import Agent, Data, History, Terms
from penchant.cli.running import exit_code, say_notes
from penchant.cli.settings import COORDINATES, PLACES, locations, model_named
from penchant.cli.showing import VALID, checked_document, checked_words
from penchant.cli.tables import (
    command_typed,
    kind_of,
    next_command,
    open_play,
    open_raw,
    open_table,
    read_as,
    typed_again,
)
from penchant.cli.words import refuse, say, wrapped
from penchant.errors import listing
from penchant.files.output import json_text
from penchant.inference.fit import fit
from penchant.inference.fit_each import fit_each
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared, model_words
from penchant.models.record import doubts_of, for_task
from penchant.output.notes import counted
from penchant.softmax.estimates import Estimates
from penchant.studies.data import data_notes
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.reading import TITLES

# Columns that say how many choices a block has.
HORIZON = ("horizon", "searchhorizon", "clicks", "nclicks", "nchoices", "budget")


def shown_doubts(play: Play) -> list[str]:
    """A hint where decisions are numbered from 0 in a task that often starts with one shown.

    These are tasks on places, and tables that say how many choices a block has, which is one less
    than its events.
    """
    if play.columns.decision is None or any(not e.is_choice.all() for e in play.episodes):
        return []
    numbers = column_floats(open_frame(play.table), play.columns.decision, "decision")
    if (numbers == 0).sum() != len(play.episodes):
        return []
    why = "options are places" if _has_places(play) else _horizon(play, numbers)
    if why is None:
        return []
    return [
        f"Decisions are numbered from 0, and {why}: pass --shown 1 if the option of number 0 was "
        "shown, not chosen. It is scored as a choice now."
    ]


def _has_places(play: Play) -> bool:
    columns = play.table.column_names
    return not isinstance(play.columns.chosen, str) or {*COORDINATES[:2]} <= {*columns}


def _horizon(play: Play, numbers: Vector) -> str | None:
    """The column that says how many choices each block has, if it is the last number of each."""
    parts = ("subject", "block", "decision")
    named = {part: getattr(play.columns, part) for part in parts}
    rows = episode_rows(play.table, **named, gaps="order")
    frame = open_frame(play.table)
    for name in frame.columns:
        plain = name.lower().replace("_", "").replace(".", "")
        if plain in HORIZON and frame[name].dtype.is_numeric():
            said = column_floats(frame, name, name)
            if all((said[own] == numbers[own].max()).all() for own in rows):
                return f"{name} is one less than the events of every block"
    return None


def run_check_offers(
    file: str | None, data: Data, agent: Agent, history: History, json: bool
) -> int:
    """Read the table as `fit` does, and say of whom an estimate exists; the exit code."""
    assert agent.model is not None
    model = model_named(agent, 0)
    trials: list[Any] = load_trials(file, data, history, agent.model)
    say_trials(trials)
    estimates = fit_each(trials, model)
    if json:
        print(json_text([_document(estimate) for estimate in estimates]), end="")
    else:
        print(wrapped(_offer_words(estimates)))
    return 0 if set(estimates.status) & set(VALID) else 1


def _offer_words(estimates: Estimates) -> str:
    lines = [f"Model: {estimates[0].model}."]
    for status, count in estimates.counts().items():
        who = [estimate for estimate in estimates if estimate.status == status]
        if status == "converged":
            lines.append(f"converged: {count} of {len(estimates)}.")
        else:
            message = f"For example {who[0].subject}: {who[0].message}"
            lines.append(f"{status}: {listing(str(one.subject) for one in who)}. {message}")
    return "\n".join(lines)


def _document(estimate: Any) -> dict[str, Any]:
    return {
        "subject": estimate.subject,
        "status": estimate.status,
        "message": estimate.message,
        "n_decisions": estimate.n_decisions,
    }


PLAY_ALONE = ("reward", "is_choice", "executed", "gaps", "shown", "missing_reward")
FEW = 10  # decisions below which hardly anything can be told of a subject


def is_history(file: str | None, data: Data, terms: Terms, agent: Agent, history: History) -> bool:
    """Whether the file holds task data (a history of play): the options say so, or its columns."""
    if agent.model is not None or _says_play(history):
        return True
    asked = data.example or data.option or data.explanatory or data.wide or terms != Terms()
    if file is None or file == "-" or asked:
        return False
    opened = open_table(file, data, {"subject": data.subject, "chosen": data.chosen})
    return kind_of(opened, data, history) == "play"


def is_offered(file: str | None, data: Data, terms: Terms) -> bool:
    """Whether the file holds decisions between offers, by its columns."""
    asked = data.example or data.option or data.explanatory or data.wide or terms != Terms()
    if file is None or file == "-" or asked:
        return False
    opened = open_table(file, data, {"subject": data.subject, "chosen": data.chosen})
    return kind_of(opened, data, History()) == "offers"


def _run_check_read(file: str | None, data: Data, history: History, json: bool) -> int:
    """Say what was taken for what in a table of offers, and what to run next; the exit code."""
    reading = read_as(open_raw(file, data), data, history, None, named_offers(history.offers))
    command = next_command(file, reading, typed_again(data, history))
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
        }
        print(json_text(document), end="")
    else:
        print(f"These are {TITLES[reading.kind]}.\nNext: {command}")
    return 0 if reading.n_decisions else 1


def _says_play(history: History) -> bool:
    """Whether an option is given that has a meaning for histories of play alone."""
    return any(getattr(history, name) != getattr(History(), name) for name in PLAY_ALONE)


def run_check_play(file: str | None, data: Data, agent: Agent, history: History, json: bool) -> int:
    """Read the table as `fit` and `study` do, and say what is in it; the exit code."""
    if agent.model is None:
        say("These are task data, one row per trial; --model checks the model, too.")
        no_model = {option.name for option in fields(agent)} - PLACES
        refuse(agent, "without --model", "Say which: --model ucl or --model q-learning", no_model)
        places = _places(str(file), agent, data, history)
    else:
        ready = ready_model(agent, data, history)
        places = Declared(ready).locations
    play = load_episodes(file, data, history, places)
    mapped = agent.grid is not None or agent.locations is not None
    if places is not None and mapped:
        said = f"--grid {agent.grid}" if agent.grid else f"--locations {agent.locations}"
        play.check_options(len(places), said)
        say_places(agent, play, places)
    document = checked_play(play, places)
    if agent.model is not None:
        document["notes"] += model_notes(ready, play, agent)
    document["next"] = command_typed(file, agent.model or "q-learning", typed_again(data, history))
    document["where"] = None if mapped or places is None else grid_words(places + play.base)
    if json:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        print(json_text(document), end="")
    else:
        print("\n".join(_words(document)))
    return 0 if document["n_decisions"] else 1


def model_notes(ready: Any, play: Play, agent: Agent) -> list[str]:
    """What the rewards say of settings of the model that are in their units."""
    model = model_named(agent, play.n_options) if ready is None else ready
    chosen = for_task(model, play.episodes)
    said = [f"{model_words(chosen)}."] if Declared(chosen).because else []
    return [*said, *doubts_of(chosen, play.episodes)]


def _places(file: str, agent: Agent, data: Data, history: History) -> Matrix | None:
    """Where options lie, as far as the command line or the table say it."""
    if agent.grid is not None or agent.locations is not None:
        return locations(agent)
    opened, data, history = open_play(file, data, history, quiet=True)
    with in_lines(opened, data):
        return places_in(opened.table, data, history)


def checked_play(play: Play, places: Matrix | None = None) -> dict[str, Any]:
    """What the table holds, for JSON."""
    episodes = play.episodes
    chosen = np.concatenate([e.chosen for e in episodes])
    rewards = np.concatenate([e.rewards[e.observed] for e in episodes])
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    used = chosen[chosen >= 0] + play.base
    by_place = None if isinstance(play.columns.chosen, str) else places
    return {
        "columns": play.columns.words(),
        "n_subjects": len(scored),
        "n_episodes": len(episodes),
        "n_events": len(chosen),
        "n_decisions": sum(scored.values()),
        "decisions_per_episode": sorted({int(e.is_choice.sum()) for e in episodes}),
        "options_used": len(np.unique(used)),
        "smallest_option": int(used.min()) if len(used) else None,
        "largest_option": int(used.max()) if len(used) else None,
        "places": None if by_place is None else _ranges(play, by_place[used - play.base]),
        "rewards": [float(rewards.min()), float(rewards.max())] if len(rewards) else None,
        "few_decisions": [str(subject) for subject, n in scored.items() if n < FEW],
        "notes": [*data_notes(episodes), *_doubts(episodes, play), *shown_doubts(play)],
    }


def _ranges(play: Play, chosen: Matrix) -> dict[str, list[float]]:
    """From where to where places are chosen, by column."""
    ends = zip(play.columns.chosen, chosen.min(axis=0), chosen.max(axis=0), strict=True)
    return {name: [float(low) + play.base, float(high) + play.base] for name, low, high in ends}


def _doubts(episodes: Sequence[Episode], play: Play) -> list[str]:
    """What is allowed, but often a mistake."""
    found = []
    chosen = np.concatenate([e.chosen[e.chosen >= 0] for e in episodes])
    if play.numbered and play.base == 0 and len(chosen) and chosen.min() > 0:
        found.append("No option 0 is ever chosen: pass --base 1 if options are counted from 1.")
    stuck = [
        str(e.subject)
        for e in episodes
        if e.n_decisions >= FEW and (np.diff(e.scored_options) == 0).mean() > 0.8
    ]
    if stuck:
        names = listing(dict.fromkeys(stuck))
        found.append(f"More than 80 % of the choices repeat the one before: {names}.")
    return found


def _words(document: dict[str, Any]) -> list[str]:
    lines = [
        f"Task data: {counted(document['n_subjects'], 'subject')}, "
        f"{counted(document['n_episodes'], 'block')}, "
        f"{counted(document['n_decisions'], 'trial')} included of "
        f"{counted(document['n_events'], 'event')}.",
        f"Trials per block: {listing(map(str, document['decisions_per_episode']))}.",
    ]
    if document["rewards"] is not None:
        low, high = document["rewards"]
        lines.append(f"{_chosen_words(document)}; rewards from {low:g} to {high:g}.")
    lines += [f"Note: {note}" for note in document["notes"]]
    if document["few_decisions"]:
        few = document["few_decisions"]
        lines.append(f"Note: fewer than {FEW} decisions, which tell little: {listing(few)}.")
    if document["where"] is not None:
        lines.append(
            "Options are places: models of places (ucl, gp-ucb, locality) read them, with the "
            f"place of every option. Try --model ucl {document['where']} --noise-variance VARIANCE."
        )
    lines.append("The table can be used by penchant fit --model and penchant study.")
    return [*lines, f"Next: {document['next']}"]


def _chosen_words(document: dict[str, Any]) -> str:
    if document["places"] is None:
        ends = f"from {document['smallest_option']} to {document['largest_option']}"
        return f"Options chosen: {document['options_used']}, {ends}"
    sides = (f"{name} from {a:g} to {b:g}" for name, (a, b) in document["places"].items())
    return f"Places chosen: {document['options_used']}, {', '.join(sides)}"


def run_check(
    file: str | None, data: Data, terms: Terms, json: bool, agent: Agent, history: History
) -> int:
    """Validate, diagnose, print; the exit code."""
    if agent.model is not None and entry_of(agent.model).data == "offers":
        return run_check_offers(file, data, agent, history, json)
    if is_history(file, data, terms, agent, history):
        return run_check_play(file, data, agent, history, json)
    if is_offered(file, data, terms):
        return _run_check_read(file, data, history, json)
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
        if file is not None and terms == Terms():
            say(f"Next: {command_typed(file, None, typed_again(data, history))}")
    return exit_code(tuple(estimate.status for estimate in estimates))
