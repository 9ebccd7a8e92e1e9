"""One uninterrupted play: what was chosen, what it paid, in order of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.output.notes import counted
from penchant.tables.events import (
    NOTHING,
    Events,
    check_events,
    check_label,
    check_options,
    labelled,
    places_of,
    read_events,
)
from penchant.tables.numbers import Place, aligned

MOST = 2**31  # an index that is an option's without a doubt
ONE_EACH = "Make one episode per label, e.g. with episodes_from_frame."


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Episode:
    """Options chosen and rewards received in one uninterrupted play, in order of time.

    Beliefs start afresh in each episode. Most events are decisions; an event can also be an option
    that was shown to the player: it is learnt from, but was not chosen.

    Parameters
    ----------
    chosen
        Index of the option of each event, from 0; -1, None or NaN where nothing was chosen in time.
        Such a decision is not scored, but takes its place in time.
    rewards
        Reward received at each event. NaN where nothing was chosen; the reward of the last decision
        may be missing too, as nothing is chosen after it.
    is_choice
        False for options that were shown, not chosen; all are choices if not given.
    scored
        False for decisions that shall not enter the likelihood. Options shown and decisions without
        a choice never do.
    subject, block
        Labels of the person and of the play.

    Attributes
    ----------
    chosen, rewards, is_choice, scored
        Locked arrays (n_events,): indices with -1 for no choice, float64 with NaN for no reward,
        and two masks.

    Examples
    --------
    >>> from penchant import Episode
    >>> episode = Episode([7, 3, None, 3], [12.5, 30.0, None, 28.0], subject="anna")
    >>> episode
    Episode: 3 decisions scored of 4 events, subject anna
    >>> episode.chosen
    array([ 7,  3, -1,  3])
    >>> episode.notes
    ('1 decision without a choice: counted in time, not scored.',)
    """

    chosen: IntVector
    rewards: Vector
    is_choice: BoolVector
    scored: BoolVector
    subject: Any = None
    block: Any = None

    def __init__(
        self,
        chosen: Any,
        rewards: Any,
        *,
        is_choice: Any = None,
        scored: Any = None,
        subject: Any = None,
        block: Any = None,
    ) -> None:
        given = {"chosen": chosen, "rewards": rewards, "is_choice": is_choice, "scored": scored}
        for label, name in ((subject, "subject"), (block, "block")):
            check_label(label, name, "the whole episode", ONE_EACH)
        place = places_of(subject, block, "decision" if is_choice is None else "event")
        events = read_events(**aligned(given), place=place)
        check_events(events, _last(len(events.chosen)), place)
        _fill(self, events, subject, block)

    @classmethod
    def of_events(cls, events: Events, subject: Any = None, block: Any = None) -> Episode:
        """Episode of events that have been checked, without checking or copying them again."""
        episode = object.__new__(cls)
        _fill(episode, events, subject, block)
        return episode

    @property
    def n_events(self) -> int:
        """Number of events: decisions and options shown."""
        return len(self.chosen)

    @property
    def n_decisions(self) -> int:
        """Number of decisions scored."""
        return int(self.scored.sum())

    @property
    def observed(self) -> BoolVector:
        """Events with a reward: (n_events,)."""
        return ~np.isnan(self.rewards)

    @property
    def scored_options(self) -> IntVector:
        """Options of the decisions scored: (n_decisions,)."""
        return self.chosen[self.scored]

    @property
    def times(self) -> IntVector:
        """Time t of each event, decisions counted from 1: (n_events,).

        Decisions without a choice count. An option shown has the time of the decision before it, 0
        before the first.
        """
        return np.cumsum(self.is_choice)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know about the episode."""
        notes = []
        without = int((self.chosen == NOTHING).sum())
        if without:
            said = counted(without, "decision")
            notes.append(f"{said} without a choice: counted in time, not scored.")
        if self.n_events and self.chosen[-1] != NOTHING and np.isnan(self.rewards[-1]):
            notes.append("The last reward is missing: the last choice is used all the same.")
        return tuple(notes)

    def check_options(self, n_options: int) -> None:
        """Raise an error if an option's index is beyond the number of options.

        Examples
        --------
        >>> from penchant import Episode
        >>> Episode([1, 4], [0.3, 0.2]).check_options(4)
        Traceback (most recent call last):
        penchant.errors.DataError: chosen must lie in 0..3; got 4 at decision 1. It looks 1-based: \
subtract 1, options are counted from 0.
        """
        check_options(self.chosen, n_options, self._place())

    def extended(
        self, chosen: Any, reward: Any = None, *, is_choice: bool = True, scored: bool = True
    ) -> Episode:
        """The episode with one more event at its end.

        Parameters
        ----------
        chosen
            Index of the option, from 0; None where nothing was chosen in time.
        reward
            Reward received; None where it is missing: at the last event, or without a choice.
        is_choice
            False if the option was shown, not chosen.
        scored
            False if the decision shall not enter the likelihood.

        Examples
        --------
        >>> from penchant import Episode
        >>> Episode([7], [12.5]).extended(3, 30.0).rewards
        array([12.5, 30. ])
        """
        n = self.n_events
        if n and is_choice is True and scored is True and self._goes_on_with(chosen, reward):
            return Episode.of_events(_with_one(_events(self), chosen, reward), *self._labels)
        place = self._place()
        one = read_events([chosen], [reward], [is_choice], [scored], lambda k: place(n + k))
        both = Events(*map(_joined, _events(self), one))
        # the last two: what was the last reward is that no more
        start = max(n - 1, 0)
        newest = both.between(start, n + 1)
        check_events(newest, _last(len(newest.chosen)), lambda k: place(start + k))
        return Episode.of_events(both, self.subject, self.block)

    def _goes_on_with(self, chosen: Any, reward: Any) -> bool:
        """Whether the next event is a choice like most: then there is nothing to read or check."""
        if type(chosen) is not int or type(reward) is not float:
            return False
        known = self.rewards[-1] == self.rewards[-1]
        return bool(known and 0 <= chosen <= MOST and math.isfinite(reward))

    @property
    def _labels(self) -> tuple[Any, Any]:
        return self.subject, self.block

    def _place(self) -> Place:
        return places_of(self.subject, self.block, "decision" if self.is_choice.all() else "event")

    def __repr__(self) -> str:
        said = f"Episode: {counted(self.n_decisions, 'decision')} scored of "
        said += counted(self.n_events, "event")
        named = labelled(self.subject, self.block)
        return f"{said}, {named}" if named else said


def _fill(episode: Episode, events: Events, subject: Any, block: Any) -> None:
    for name, values in events._asdict().items():
        values.flags.writeable = False
        object.__setattr__(episode, name, values)
    object.__setattr__(episode, "subject", subject)
    object.__setattr__(episode, "block", block)


def _events(episode: Episode) -> Events:
    return Events(episode.chosen, episode.rewards, episode.is_choice, episode.scored)


def _joined(before: Any, after: Any) -> Any:
    return np.concatenate([before, after])


def _with_one(events: Events, chosen: int, reward: float) -> Events:
    """Events with a choice that is scored at their end."""
    return Events(
        *(
            _joined(before, np.array([last], dtype=before.dtype))
            for before, last in zip(events, (chosen, reward, True, True), strict=True)
        )
    )


def _last(n: int) -> BoolVector:
    last = np.zeros(n, dtype=bool)
    last[n - 1 :] = True
    return last
