"""What `check` says of a history of play."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.columns import is_play
from penchant.bandit.episode import Episode
from penchant.choices.notes import counted
from penchant.cli.agent import locations
from penchant.cli.episodes import Play, in_lines, load_episodes, say_places
from penchant.cli.model_settings import PLACES, model_named
from penchant.cli.options import Agent, Data, History, Terms
from penchant.cli.places import grid_words, places_in
from penchant.cli.playing import ready_model
from penchant.cli.refusing import refuse
from penchant.cli.shown_doubts import shown_doubts
from penchant.cli.words import say
from penchant.errors import listing
from penchant.io.document import json_text
from penchant.io.source import source
from penchant.io.table import read_table
from penchant.models.model import model_words
from penchant.models.task_doubts import doubts_of
from penchant.models.task_values import for_task
from penchant.models.trial_columns import is_offers
from penchant.study.data_notes import data_notes

PLAY_ALONE = ("reward", "is_choice", "gaps", "shown", "missing_reward")
FEW = 10  # decisions below which hardly anything can be told of a subject


def is_history(file: str | None, data: Data, terms: Terms, agent: Agent, history: History) -> bool:
    """Whether the file is a history of play: it is said to be, or looks like one."""
    if agent.model is not None or _says_play(history):
        return True
    asked = data.example or data.option or data.explanatory or data.wide or terms != Terms()
    if file is None or file == "-" or asked:
        return False
    table = read_table(
        source(file), delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding
    )
    names = ["chosen" if name == data.chosen else name for name in table.column_names]
    return is_play(names) and not is_offers(names)


def _says_play(history: History) -> bool:
    """Whether an option is given that has a meaning for histories of play alone."""
    return any(getattr(history, name) != getattr(History(), name) for name in PLAY_ALONE)


def run_check_play(file: str | None, data: Data, agent: Agent, history: History, json: bool) -> int:
    """Read the table as `fit` and `study` do, and say what is in it; the exit code."""
    if agent.model is None:
        say("This is a history of play; --model checks the model, too.")
        no_model = {option.name for option in fields(agent)} - PLACES
        refuse(agent, "without --model", "Say which: --model ucl or --model q-learning", no_model)
        places = _places(str(file), agent, data, history)
    else:
        ready = ready_model(agent, data, history)
        places = getattr(ready, "locations", None)
    play = load_episodes(file, data, history, places)
    mapped = agent.grid is not None or agent.locations is not None
    if places is not None and mapped:
        said = f"--grid {agent.grid}" if agent.grid else f"--locations {agent.locations}"
        play.check_options(len(places), said)
        say_places(agent, play, places)
    document = checked_play(play, places)
    if agent.model is not None:
        document["notes"] += model_notes(ready, play, agent)
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
    said = [f"{model_words(chosen)}."] if getattr(chosen, "because", "") else []
    return [*said, *doubts_of(chosen, play.episodes)]


def _places(file: str, agent: Agent, data: Data, history: History) -> Matrix | None:
    """Where options lie, as far as the command line or the table say it."""
    if agent.grid is not None or agent.locations is not None:
        return locations(agent)
    origin = source(file)
    table = read_table(
        origin, delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding
    )
    with in_lines(origin, data):
        return places_in(table, data, history)


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
        f"History of play: {counted(document['n_subjects'], 'subject')}, "
        f"{counted(document['n_episodes'], 'episode')}, "
        f"{counted(document['n_decisions'], 'decision')} scored of "
        f"{counted(document['n_events'], 'event')}.",
        f"Decisions per episode: {listing(map(str, document['decisions_per_episode']))}.",
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
    return [*lines, "The table can be used by penchant fit --model and penchant study."]


def _chosen_words(document: dict[str, Any]) -> str:
    if document["places"] is None:
        ends = f"from {document['smallest_option']} to {document['largest_option']}"
        return f"Options chosen: {document['options_used']}, {ends}"
    sides = (f"{name} from {a:g} to {b:g}" for name, (a, b) in document["places"].items())
    return f"Places chosen: {document['options_used']}, {', '.join(sides)}"
