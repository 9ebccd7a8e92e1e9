"""Notes on data before a fit: missed decisions, options only shown, likely mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penchant.bandit.episode import Episode
from penchant.errors import MAX_LISTED, format_list, mark_argument
from penchant.reading.event_rows import event_rows
from penchant.result_tables import format_count
from penchant.tables.columns import plain_name
from penchant.tables.events import NOTHING
from penchant.tables.reading import Reading

MIN_TRIALS = 10  # trials below which hardly anything can be told of a subject
MOSTLY_REPEATED = 0.8  # share of choices that repeat the one before; a stuck key repeats them all


def reading_doubts(reading: Reading) -> tuple[str, ...]:
    """Warnings of likely mistakes: similar names of subjects, mostly repeated choices."""
    found: dict[str, list[str]] = {}
    for label in map(str, reading.subjects):
        found.setdefault(label.strip().lower(), []).append(label)
    alike = [" / ".join(own) for own in found.values() if len(own) > 1]
    doubts = [f"{format_list(alike)} are taken for different subjects."] if alike else []
    if reading.kind == "offers":
        doubts += offer_notes(reading.data)
    if reading.kind == "play":
        doubts += [*_first_shown(reading), *data_notes(reading.data)]
        stuck = [
            str(one.subject)
            for one in reading.data
            if one.n_decisions >= MIN_TRIALS
            and (np.diff(one.scored_options) == 0).mean() > MOSTLY_REPEATED
        ]
        if stuck:
            names = format_list(dict.fromkeys(stuck))
            doubts.append(f"More than 80 % of the choices repeat the one before: {names}.")
    return tuple(doubts)


def _first_shown(reading: Reading) -> list[str]:
    """Warn where trials count from 0: the first may be an option shown, not chosen."""
    arguments, schema = reading.arguments, reading.schema
    trial = arguments.get("decision")
    if not trial or arguments.get("is_choice") or schema is None or schema.shown.first is not None:
        return []
    rows = event_rows(reading)

    def at_first(name: str) -> list[Any]:
        """Cells of a column in the first rows of all blocks."""
        cells: list[Any] = reading.table[name].take([int(own[0]) for own in rows]).to_pylist()
        return cells

    if any(number != 0 for number in at_first(trial)):
        return []
    why = "" if isinstance(arguments["chosen"], str) else "options are places"
    for name in reading.table.column_names:
        if plain_name(name) == "horizon" and at_first(name) == [len(own) - 1 for own in rows]:
            why = f"{name} is one less than the events of every block"
    if not why:
        return []
    typed = mark_argument("shown", 1)
    return [
        f"{trial} starts at 0, and {why}: pass {typed} if the option of number 0 was shown, not "
        "chosen."
    ]


def data_notes(episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Timeouts, options shown, rewards missing at the end, subjects without a decision.

    Examples
    --------
    >>> from penchant import Episode
    >>> for note in data_notes([Episode([1, None, 0], [2.0, None, None], subject="ann")]):
    ...     print(note)
    1 decision without a choice, in 1 subject (ann): counted in time, not scored.
    The last reward is missing in 1 episode (subject ann): the last choice is used all the same.
    """
    notes = []
    late: dict[Any, int] = {}
    for episode in episodes:
        missed = int((episode.chosen == NOTHING).sum())
        if missed:
            late[episode.subject] = late.get(episode.subject, 0) + missed
    if late:
        notes.append(
            f"{format_count(sum(late.values()), 'decision')} without a choice, in "
            f"{_list_subjects(late, len({e.subject for e in episodes}))}: counted in time, "
            "not scored."
        )
    shown = sum(int((~e.is_choice).sum()) for e in episodes)
    if shown:
        notes.append(
            f"{format_count(shown, 'option')} shown before or between choices: learnt from."
        )
    ended = [e for e in episodes if e.executed[-1] != NOTHING and np.isnan(e.rewards[-1])]
    if ended:
        notes.append(
            f"The last reward is missing in {format_count(len(ended), 'episode')}{_listed(ended)}: "
            "the last choice is used all the same."
        )
    return (*notes, *_silent(episodes))


def _listed(episodes: Sequence[Episode]) -> str:
    """The episodes by their labels, where they have some."""
    labels = [(("subject", e.subject), ("block", e.block)) for e in episodes]
    words = [
        ", ".join(f"{name} {label}" for name, label in pair if label is not None) for pair in labels
    ]
    more = ", ..." if len(words) > MAX_LISTED else ""
    return f" ({'; '.join(words[:MAX_LISTED])}{more})" if all(words) else ""


def offer_notes(decisions: Sequence[Any]) -> tuple[str, ...]:
    """Timeouts, and subjects without a decision, of choices among offers."""
    missed = sum(int((one.chosen == NOTHING).sum()) for one in decisions)
    notes = [f"{format_count(missed, 'decision')} without a choice: not scored."] if missed else []
    return (*notes, *_silent(decisions))


def _silent(episodes: Sequence[Any]) -> list[str]:
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    silent = [subject for subject, n in scored.items() if not n]
    if not silent:
        return []
    return [f"No decision to score, and no estimate: {_list_subjects(silent, len(scored))}."]


def _list_subjects(subjects: Iterable[Any], total: int) -> str:
    """Count and list subjects; "all n subjects" if they are all and too many to list."""
    named = [str(subject) for subject in subjects]
    if len(named) == total > MAX_LISTED:
        return f"all {total} subjects"
    return f"{format_count(len(named), 'subject')} ({format_list(named)})"
