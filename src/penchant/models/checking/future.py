"""Whether a row uses what happened at its own event, or later.

The reward, the choice, and all that follows an event are changed in turn. The rows up to and
including that event must not move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.models.checking.exam import Exam, place
from penchant.models.checking.findings import Finding
from penchant.models.trials import Trials

N_EVENTS = 6
SAME = 1e-9  # of the largest variable: another order of summation


@dataclass(frozen=True)
class Change:
    """A change of what happened, and the sentence for a row that moves with it."""

    made: Callable[[Any, int, int], Any]
    said: str
    advice: str


def future(exam: Exam) -> list[Finding]:
    """Rows that know the reward or the choice that they predict, or what comes after."""
    psi, found = exam.inside[0], []
    for change in CHANGES:
        for one in exam.data:
            finding = _looked_at(exam, one, psi, change)
            if finding is not None:
                found.append(finding)
                break
    return found


def _looked_at(exam: Exam, one: Any, psi: Vector, change: Change) -> Finding | None:
    x = exam.explanatory(one, psi)
    scale = np.maximum(np.abs(x).max(axis=(0, 1)), 1e-300)
    for t in _events(exam, one):
        other = change.made(one, int(t), x.shape[1])
        if other is None:
            continue
        try:
            moved = exam.explanatory(other, psi)[: t + 1]
        except Exception as error:  # whatever a model raises is for its author to read
            return Finding(
                "future",
                f"explanatory must not need what follows; got {type(error).__name__} once "
                f"{change.said.format(t=t)} was changed: {error}. {change.advice}",
            )
        rows = _rows_moved(x[: t + 1], moved, scale)
        if rows.size:
            return Finding(
                "future",
                f"explanatory must describe a decision by what happened before it; got another row "
                f"for {place(one, int(rows[-1]))} when {change.said.format(t=t)} was changed. "
                f"{change.advice}",
            )
    return None


def _rows_moved(x: Matrix, moved: Matrix, scale: Vector) -> IntVector:
    if moved.shape != x.shape:
        return np.arange(len(x))
    same = np.isclose(x / scale, moved / scale, rtol=SAME, atol=SAME, equal_nan=True)
    return np.flatnonzero(~same.all(axis=(1, 2)))


def _events(exam: Exam, one: Any) -> IntVector:
    """Some events with a choice: the first, the last, and some between."""
    known = np.flatnonzero(one.chosen >= 0)
    if not known.size:
        return known
    some = exam.rng.choice(known, min(N_EVENTS, len(known)), replace=False)
    return np.unique(np.concatenate([known[:1], some, known[-1:]]))


def _other_reward(one: Any, t: int, n_options: int) -> Any:
    if not isinstance(one, Episode) or np.isnan(one.rewards[t]):
        return None
    rewards = one.rewards.copy()
    rewards[t] += 1.0 + 3.0 * float(np.nanstd(one.rewards))
    return _episode(one, one.chosen, rewards)


def _other_choice(one: Any, t: int, n_options: int) -> Any:
    if n_options < 2:
        return None
    chosen = one.chosen.copy()
    chosen[t] = (chosen[t] + 1) % n_options
    if isinstance(one, Episode):
        return _episode(one, chosen, one.rewards)
    return Trials(chosen, one.offers, scored=one.scored, subject=one.subject, block=one.block)


def _ended(one: Any, t: int, n_options: int) -> Any:
    """The same, with the event as the last."""
    if t + 1 == one.n_events:
        return None
    if isinstance(one, Episode):
        return _episode(one, one.chosen, one.rewards, t + 1)
    return Trials(
        one.chosen[: t + 1],
        {name: array[: t + 1] for name, array in one.offers.items()},
        scored=one.scored[: t + 1],
        subject=one.subject,
        block=one.block,
    )


def _episode(one: Episode, chosen: IntVector, rewards: Vector, stop: int | None = None) -> Episode:
    return Episode(
        chosen[:stop],
        rewards[:stop],
        is_choice=one.is_choice[:stop],
        scored=one.scored[:stop],
        subject=one.subject,
        block=one.block,
    )


CHANGES = (
    Change(
        _other_reward,
        "the reward of event {t}",
        "It looks at the reward of the decision it predicts: fill the row first, learn after.",
    ),
    Change(
        _other_choice,
        "the choice at event {t}",
        "It looks at the choice it predicts: fill the row first, learn after.",
    ),
    Change(
        _ended,
        "everything after event {t}",
        "It looks at later events, or at how many there are: do not centre, scale or sort over the "
        "whole episode.",
    ),
)
