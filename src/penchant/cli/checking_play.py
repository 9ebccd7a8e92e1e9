"""What `check` says of a history of play."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant.bandit.columns import is_play
from penchant.bandit.episode import Episode
from penchant.choices.notes import counted
from penchant.cli.agent import map_words
from penchant.cli.episodes import Play, load_episodes, say_map
from penchant.cli.options import Agent, Data, History, Terms
from penchant.cli.playing import ready_model
from penchant.cli.refusing import refuse
from penchant.cli.words import say
from penchant.errors import listing
from penchant.io.document import json_text
from penchant.io.source import source
from penchant.io.table import read_table
from penchant.study.data_notes import data_notes

FEW = 10  # decisions below which hardly anything can be told of a subject


def is_history(file: str | None, data: Data, terms: Terms, agent: Agent) -> bool:
    """Whether the file is a history of play: it is said to be, or looks like one."""
    if agent.model is not None:
        return True
    asked = data.example or data.option or data.explanatory or data.wide or terms != Terms()
    if file is None or file == "-" or asked:
        return False
    table = read_table(
        source(file), delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding
    )
    return is_play(list(table.column_names))


def run_check_play(file: str | None, data: Data, agent: Agent, history: History, json: bool) -> int:
    """Read the table as `fit` and `study` do, and say what is in it; the exit code."""
    if agent.model is None:
        say("This is a history of play; --model, --grid and --noise-variance check the model, too.")
        refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    ready = None if agent.model is None else ready_model(agent, data, history)
    places = getattr(ready, "locations", None)
    play = load_episodes(file, data, history, places)
    if ready is not None and places is not None:
        said = f"--grid {agent.grid}" if agent.grid else f"--locations {agent.locations}"
        play.check_options(ready.n_options, said)
        say(map_words(agent, ready, play.base))
        say_map(play, places)
    document = checked_play(play)
    if json:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        print(json_text(document), end="")
    else:
        print("\n".join(_words(document)))
    return 0 if document["n_decisions"] else 1


def checked_play(play: Play) -> dict[str, Any]:
    """What the table holds, for JSON."""
    episodes = play.episodes
    chosen = np.concatenate([e.chosen for e in episodes])
    rewards = np.concatenate([e.rewards[e.observed] for e in episodes])
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    used = chosen[chosen >= 0] + play.base
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
        "rewards": [float(rewards.min()), float(rewards.max())] if len(rewards) else None,
        "few_decisions": [str(subject) for subject, n in scored.items() if n < FEW],
        "notes": [*data_notes(episodes), *_doubts(episodes, play)],
    }


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
        lines.append(
            f"Options chosen: {document['options_used']}, from {document['smallest_option']} to "
            f"{document['largest_option']}; rewards from {low:g} to {high:g}."
        )
    lines += [f"Note: {note}" for note in document["notes"]]
    if document["few_decisions"]:
        few = document["few_decisions"]
        lines.append(f"Note: fewer than {FEW} decisions, which tell little: {listing(few)}.")
    return [*lines, "The table can be used by penchant fit --model and penchant study."]
