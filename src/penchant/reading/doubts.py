"""What a reader should know of choices that were read: trials without one, likely mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import Vector
from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import episode_rows
from penchant.errors import SHOWN, listing
from penchant.output import counted
from penchant.tables.columns import COORDINATES, PlayColumns
from penchant.tables.events import NOTHING
from penchant.tables.frames import column_floats, open_frame
from penchant.wording import argument

FEW = 10  # trials below which hardly anything can be told of a subject
# Columns that say how many choices a block has.
HORIZON = ("horizon", "searchhorizon", "clicks", "nclicks", "nchoices", "budget")


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
            f"{counted(sum(late.values()), 'decision')} without a choice, in "
            f"{_who(late)}: counted in time, not scored."
        )
    shown = sum(int((~e.is_choice).sum()) for e in episodes)
    if shown:
        notes.append(f"{counted(shown, 'option')} shown before or between choices: learnt from.")
    ended = [e for e in episodes if e.executed[-1] != NOTHING and np.isnan(e.rewards[-1])]
    if ended:
        notes.append(
            f"The last reward is missing in {counted(len(ended), 'episode')}{_listed(ended)}: the "
            "last choice is used all the same."
        )
    return (*notes, *_silent(episodes))


def _listed(episodes: Sequence[Episode]) -> str:
    """The episodes by their labels, where they have some."""
    labels = [(("subject", e.subject), ("block", e.block)) for e in episodes]
    words = [
        ", ".join(f"{name} {label}" for name, label in pair if label is not None) for pair in labels
    ]
    more = ", ..." if len(words) > SHOWN else ""
    return f" ({'; '.join(words[:SHOWN])}{more})" if all(words) else ""


def near_duplicates(labels: Iterable[str]) -> list[str]:
    """Labels that differ by case and blanks alone, as one reads them.

    >>> near_duplicates(["left", "Left", "right"])
    ['left / Left']
    """
    found: dict[str, list[str]] = {}
    for label in dict.fromkeys(labels):
        found.setdefault(label.strip().lower(), []).append(label)
    return [" / ".join(own) for own in found.values() if len(own) > 1]


def same_people(subjects: Iterable[Any]) -> tuple[str, ...]:
    """A doubt about subjects whose names differ by case and blanks alone."""
    alike = near_duplicates(str(subject) for subject in subjects)
    return (f"{listing(alike)} are taken for different subjects.",) if alike else ()


def offer_notes(decisions: Sequence[Any]) -> tuple[str, ...]:
    """Timeouts, and subjects without a decision, of choices among offers."""
    missed = sum(int((one.chosen == NOTHING).sum()) for one in decisions)
    notes = [f"{counted(missed, 'decision')} without a choice: not scored."] if missed else []
    return (*notes, *_silent(decisions))


def _silent(episodes: Sequence[Any]) -> list[str]:
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    silent = [subject for subject, n in scored.items() if not n]
    return [f"No decision to score, and no estimate: {_who(silent)}."] if silent else []


def _who(subjects: Iterable[Any]) -> str:
    named = [str(subject) for subject in subjects]
    return f"{counted(len(named), 'subject')} ({listing(named)})"


def play_doubts(
    episodes: Sequence[Episode], table: pa.Table, found: PlayColumns, arguments: Mapping[str, Any]
) -> tuple[str, ...]:
    """What is allowed, but often a mistake.

    Parameters
    ----------
    episodes
        Of all subjects.
    table
        The table that they come from.
    found
        Its columns.
    arguments
        What `episodes_from_frame` was told.
    """
    doubts = []
    chosen = np.concatenate([e.chosen[e.chosen >= 0] for e in episodes])
    numbered = isinstance(found.chosen, str) and arguments["options"] is None
    if numbered and arguments["base"] == 0 and len(chosen) and chosen.min() > 0:
        typed = argument("base", 1)
        doubts.append(f"No option 0 is ever chosen: pass {typed} if options are counted from 1.")
    stuck = [
        str(e.subject)
        for e in episodes
        if e.n_decisions >= FEW and (np.diff(e.scored_options) == 0).mean() > 0.8
    ]
    if stuck:
        names = listing(dict.fromkeys(stuck))
        doubts.append(f"More than 80 % of the choices repeat the one before: {names}.")
    return (*doubts, *_shown_doubts(episodes, table, found))


def _shown_doubts(
    episodes: Sequence[Episode], table: pa.Table, found: PlayColumns
) -> tuple[str, ...]:
    """A hint where decisions are numbered from 0 in a task that often starts with one shown.

    These are tasks on places, and tables that say how many choices a block has, which is one less
    than its events.
    """
    if found.decision is None or any(not e.is_choice.all() for e in episodes):
        return ()
    numbers = column_floats(open_frame(table), found.decision, "decision")
    if (numbers == 0).sum() != len(episodes):
        return ()
    placed = not isinstance(found.chosen, str) or {*COORDINATES[:2]} <= {*table.column_names}
    why = "options are places" if placed else _horizon(table, found, numbers)
    if why is None:
        return ()
    return (
        f"Decisions are numbered from 0, and {why}: pass {argument('shown', 1)} if the option of "
        "number 0 was shown, not chosen. It is scored as a choice now.",
    )


def _horizon(table: pa.Table, found: PlayColumns, numbers: Vector) -> str | None:
    """The column that says how many choices each block has, if it is the last number of each."""
    parts = ("subject", "block", "decision")
    rows = episode_rows(table, **{part: getattr(found, part) for part in parts}, gaps="order")
    frame = open_frame(table)
    for name in frame.columns:
        plain = name.lower().replace("_", "").replace(".", "")
        if plain in HORIZON and frame[name].dtype.is_numeric():
            said = column_floats(frame, name, name)
            if all((said[own] == numbers[own].max()).all() for own in rows):
                return f"{name} is one less than the events of every block"
    return None
