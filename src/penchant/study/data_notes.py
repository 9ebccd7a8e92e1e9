"""What a reader of the results should know of the data, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penchant.bandit.episode import Episode
from penchant.bandit.events import NOTHING
from penchant.choices.notes import counted
from penchant.errors import listing


def data_notes(episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Timeouts, options shown, rewards missing at the end, subjects without a decision.

    Examples
    --------
    >>> from penchant.bandit import Episode
    >>> for note in data_notes([Episode([1, None, 0], [2.0, None, None], subject="ann")]):
    ...     print(note)
    1 decision without a choice, in 1 subject (ann): counted in time, not scored.
    The last reward is missing in 1 episode: the last choice is used all the same.
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
    ended = sum(bool(e.chosen[-1] != NOTHING and np.isnan(e.rewards[-1])) for e in episodes)
    if ended:
        notes.append(
            f"The last reward is missing in {counted(ended, 'episode')}: the last choice is used "
            "all the same."
        )
    return (*notes, *_silent(episodes))


def trial_notes(trials: Sequence[Any]) -> tuple[str, ...]:
    """Timeouts, and subjects without a decision, of choices among offers."""
    missed = sum(int((one.chosen == NOTHING).sum()) for one in trials)
    notes = [f"{counted(missed, 'decision')} without a choice: not scored."] if missed else []
    return (*notes, *_silent(trials))


def _silent(episodes: Sequence[Any]) -> list[str]:
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    silent = [subject for subject, n in scored.items() if not n]
    return [f"No decision to score, and no estimate: {_who(silent)}."] if silent else []


def _who(subjects: Iterable[Any]) -> str:
    named = [str(subject) for subject in subjects]
    return f"{counted(len(named), 'subject')} ({listing(named)})"
