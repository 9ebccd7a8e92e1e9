"""`Episode`: options chosen and rewards received in one uninterrupted play, in order of time.

Arrays are checked and locked once, where they come in; everything below relies on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from penchant.argument_checks import check_entries
from penchant.errors import DataError
from penchant.result_tables import format_count
from penchant.tables.events import (
    LARGEST_REWARD,
    NOTHING,
    Events,
    check_events,
    check_label,
    check_options,
    event_locator,
    labelled,
    read_events,
)
from penchant.tables.numbers import Place, aligned, exact_floats

# Read-only, as all episodes share it as a default.
EMPTY: Mapping[str, Matrix] = MappingProxyType({})


class EventContext(NamedTuple):
    """Observations of the player at events, beside the option and the reward.

    Attributes
    ----------
    before
        Known at the decision, such as a cue or an offer: (n_events,) or (n_events, n_options).
    after
        Known afterwards, such as a gain and a loss.
    available
        Options that could be chosen, (n_events, n_options); None where all could.
    """

    before: Mapping[str, Matrix] = EMPTY
    after: Mapping[str, Matrix] = EMPTY
    available: BoolMatrix | None = None

    def select_events(self, selection: Any) -> EventContext:
        """Context of some events, given by a slice or a mask."""
        return EventContext(
            {name: values[selection] for name, values in self.before.items()},
            {name: values[selection] for name, values in self.after.items()},
            None if self.available is None else self.available[selection],
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Arrays of the context, for hashes and locks."""
        mask = () if self.available is None else (self.available,)
        return (*self.before.values(), *self.after.values(), *mask)

    def as_read_only(self) -> EventContext:
        """Context whose arrays and mappings are read-only."""
        for array in self.arrays:
            array.flags.writeable = False
        before, after = MappingProxyType(dict(self.before)), MappingProxyType(dict(self.after))
        return EventContext(before, after, self.available)

    def with_full_availability_mask(self, other: EventContext, n_events: int) -> EventContext:
        """The context of events at which all options could be chosen, if `other` has a mask."""
        if self.available is not None or other.available is None:
            return self
        mask = np.ones((n_events, other.available.shape[1]), dtype=bool)
        return EventContext(self.before, self.after, mask)


def read_event_context(
    before: Any, after: Any, available: Any, events: Events, describe_place: Place
) -> EventContext:
    """Check and copy what the player saw at the events."""
    # Numbers may be missing where no model can use them: without a choice, or without a reward.
    needed = events.chosen != NOTHING
    learnt = needed & ~np.isnan(events.rewards)
    return EventContext(
        _read_context_numbers(before, "before", needed, describe_place),
        _read_context_numbers(after, "after", learnt, describe_place),
        None if available is None else _read_availability(available, events, describe_place),
    )


def concat_contexts(parts: Sequence[EventContext]) -> EventContext:
    """Concatenate the context of consecutive runs of events; raise if their names differ."""
    masks = [part.available for part in parts]
    return EventContext(
        _concat_context_numbers([part.before for part in parts], "before"),
        _concat_context_numbers([part.after for part in parts], "after"),
        None if masks[0] is None else np.concatenate([m for m in masks if m is not None]),
    )


def _concat_context_numbers(parts: Sequence[Mapping[str, Matrix]], role: str) -> dict[str, Matrix]:
    names = list(parts[0])
    for other in parts[1:]:
        if sorted(other) != sorted(names):
            raise DataError(
                role,
                f"must hold {', '.join(names) or 'nothing'} at every event",
                got=", ".join(other) or "nothing",
                fix="Give the same names each time.",
            )
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _read_context_numbers(
    context: Any, role: str, needed: BoolVector, place: Place
) -> dict[str, Matrix]:
    if context is None:
        return {}
    if not isinstance(context, Mapping):
        raise DataError(
            role,
            "must map names to numbers",
            got=type(context).__name__,
            fix=f'Write {role}={{"cue": ...}}.',
        )
    found: dict[str, Matrix] = {}
    for name, values in context.items():
        if not isinstance(name, str) or not name:
            raise DataError(role, "must be named by text", got=repr(name), fix="Give it a name.")
        found[name] = _read_event_numbers(values, f"{role}[{name!r}]", needed, place)
    return found


def _read_event_numbers(values: Any, label: str, needed: BoolVector, place: Place) -> Matrix:
    array = np.array(exact_floats(values, label, place))  # a copy, as it will be locked
    n = len(needed)
    if array.ndim not in (1, 2) or len(array) != n:
        raise DataError(
            label,
            f"must have shape ({n},), one per event, as chosen has, or ({n}, n_options)",
            got=f"shape {array.shape}",
            fix="Give NaN where nothing was chosen.",
        )
    with np.errstate(invalid="ignore"):  # NaN compares as false, and is reported as wrong below
        fine = (np.abs(array) <= LARGEST_REWARD).reshape(n, -1).all(axis=1)
    rule = "must be finite and not beyond 1e100 where an option was taken"
    fix = "Fill them, or leave these events out."
    check_entries(fine | ~needed, array, label, rule, fix, place)
    return array


def _read_availability(available: Any, events: Events, place: Place) -> BoolMatrix:
    floats = exact_floats(available, "available", place)
    n = len(events.chosen)
    # With one option there is no choice to explain.
    if floats.ndim != 2 or len(floats) != n or floats.shape[1] < 2:
        raise DataError(
            "available",
            f"must have shape ({n}, n_options), one row per event",
            got=f"shape {floats.shape}",
            fix="Give True for every option that could be chosen.",
        )
    if not np.isin(floats, (0.0, 1.0)).all():
        raise DataError(
            "available", "must hold True/False or 0/1", got="other numbers", fix="Convert it."
        )
    mask: BoolMatrix = floats != 0
    taken = np.flatnonzero((events.chosen != NOTHING) & (events.chosen < mask.shape[1]))
    fine = np.ones(n, dtype=bool)
    fine[taken] = mask[taken, events.chosen[taken]]
    rule = "must be among the options that are available"
    check_entries(fine, events.chosen, "chosen", rule, "Correct one of them.", place)
    rule, fix = "must leave an option at every event", "Give True for what could be chosen."
    check_entries(np.any(mask, axis=1), "none", "available", rule, fix, place)
    return mask


# Option indices up to here skip the checks of `read_events` in `extended`: they are exact as
# floats, and none of them is a code for a missing choice.
MAX_SURE_OPTION = 2**31
ONE_EPISODE_PER_LABEL = "Make one episode per label, e.g. with episodes_from_frame."


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
    executed
        Index of the option that was done, where others than those chosen were: a machine or another
        person had the last word. Then `chosen` is what was proposed. Choices are scored on what was
        proposed; beliefs, and whatever else a model makes of the past, move with what was executed
        and its reward. -1, None or NaN where nothing was done. All as chosen, if not given.
    subject, block
        Labels of the person and of the play.
    before
        What the player saw at each decision, by name, such as a cue or an offer: (n_events,) or
        (n_events, n_options).
    after
        What the player learnt after it beside the reward, such as a gain and a loss. A model may
        use it for later decisions only.
    available
        True for every option that could be chosen, (n_events, n_options): any of them, and any
        number, at each event; all could if not given.

    Attributes
    ----------
    chosen, rewards, is_choice, scored, executed
        Locked arrays (n_events,): indices with -1 for no choice, float64 with NaN for no reward,
        two masks, and indices again.
    before, after, available
        Locked arrays by name, and a mask or None.

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

    A machine does option 4 where 3 was proposed; the reward is that of option 4:

    >>> episode = Episode(chosen=[7, 3, 4], executed=[7, 4, 4], rewards=[12.5, 41.0, 39.0])
    >>> episode.scored_options, episode.executed_episode.chosen
    (array([7, 3, 4]), array([7, 4, 4]))
    """

    chosen: IntVector
    rewards: Vector
    is_choice: BoolVector
    scored: BoolVector
    executed: IntVector
    before: Mapping[str, Matrix]
    after: Mapping[str, Matrix]
    available: BoolMatrix | None
    subject: Any = None
    block: Any = None

    def __init__(
        self,
        chosen: Any,
        rewards: Any,
        *,
        is_choice: Any = None,
        scored: Any = None,
        executed: Any = None,
        subject: Any = None,
        block: Any = None,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        available: Any = None,
    ) -> None:
        given = {"chosen": chosen, "rewards": rewards, "is_choice": is_choice, "scored": scored}
        given["executed"] = executed
        for label, name in ((subject, "subject"), (block, "block")):
            check_label(label, name, "the whole episode", ONE_EPISODE_PER_LABEL)
        place = event_locator(subject, block, "decision" if is_choice is None else "event")
        events = read_events(**aligned(given), place=place)
        check_events(events, _last_event_mask(len(events.chosen)), place)
        context = read_event_context(before, after, available, events, place)
        _set_episode_fields(self, events, subject, block, context)

    @classmethod
    def of_events(
        cls,
        events: Events,
        subject: Any = None,
        block: Any = None,
        context: EventContext | None = None,
    ) -> Episode:
        """Make an episode of events that have been checked, without checking or copying them."""
        episode = object.__new__(cls)
        _set_episode_fields(
            episode, events, subject, block, EventContext() if context is None else context
        )
        return episode

    @property
    def context(self) -> EventContext:
        """Observations before and after decisions, and which options could be chosen."""
        return EventContext(self.before, self.after, self.available)

    @property
    def events(self) -> Events:
        """Events as locked arrays."""
        return Events(*(getattr(self, name) for name in Events._fields))

    @property
    def executed_episode(self) -> Episode:
        """The episode as the player learns from it: what was executed stands for what was chosen.

        Models are given this one, so that their variables follow what happened. It is the episode
        itself where everything was executed as proposed.
        """
        # Cached, as every evaluation of a likelihood asks for it.
        known: Episode | None = self.__dict__.get("_learnt_from")
        if known is None:
            known = self
            if not np.array_equal(self.chosen, self.executed):
                # An event at which nothing was executed has no option that could be scored.
                scored = self.scored & (self.executed != NOTHING)
                events = self.events._replace(chosen=self.executed, scored=scored)
                known = Episode.of_events(events, self.subject, self.block, self.context)
            object.__setattr__(self, "_learnt_from", known)
        return known

    @property
    def n_events(self) -> int:
        """Number of events: decisions and options shown."""
        return len(self.chosen)

    @property
    def n_decisions(self) -> int:
        """Number of decisions scored."""
        return int(np.count_nonzero(self.scored))

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
        """Notes about the episode that a reader of the results should know."""
        notes = []
        without = int(np.count_nonzero(self.chosen == NOTHING))
        if without:
            said = format_count(without, "decision")
            notes.append(f"{said} without a choice: counted in time, not scored.")
        if self.executed_episode is not self:
            other = int(np.count_nonzero(self.chosen != self.executed))
            notes.append(
                f"{format_count(other, 'decision')} executed otherwise than chosen: the choice is "
                "scored, what was executed is learnt from."
            )
        if self.n_events and self.executed[-1] != NOTHING and np.isnan(self.rewards[-1]):
            notes.append("The last reward is missing: the last choice is used all the same.")
        return tuple(notes)

    def check_options(self, n_options: int) -> None:
        """Raise an error if an option's index is beyond the number of options.

        Examples
        --------
        >>> from penchant import Episode
        >>> Episode([1, 4], [0.3, 0.2]).check_options(4)
        Traceback (most recent call last):
        penchant.errors.DataError: chosen must lie in 0..3; got 4 at decision 1.
        It looks 1-based: subtract 1, options are counted from 0.
        """
        check_options(self.chosen, n_options, self._event_describer())
        check_options(self.executed, n_options, self._event_describer(), "executed")

    def extended(
        self,
        chosen: Any,
        reward: Any = None,
        executed: Any = None,
        *,
        is_choice: bool = True,
        scored: bool = True,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        available: Any = None,
    ) -> Episode:
        """The episode with one more event at its end.

        Parameters
        ----------
        chosen
            Index of the option, from 0; None where nothing was chosen in time.
        reward
            Reward received; None where it is missing: at the last event, or without a choice.
        executed
            Index of the option that was done, -1 for nothing; that which was chosen, if not given.
        is_choice
            False if the option was shown, not chosen.
        scored
            False if the decision shall not enter the likelihood.
        before, after
            What was seen at the decision, and learnt after it: a number each, by name.
        available
            True for every option that could be chosen.

        Examples
        --------
        >>> from penchant import Episode
        >>> Episode([7], [12.5]).extended(3, 30.0).rewards
        array([12.5, 30. ])
        """
        n = self.n_events
        # Live estimation extends an episode at every decision: common events skip the checks.
        plain = is_choice is True and scored is True and executed is None
        if (
            plain
            and before is after is available is None
            and self._is_ordinary_choice(chosen, reward)
        ):
            longer = _append_choice(self.events, chosen, reward)
            return Episode.of_events(longer, self.subject, self.block)
        place = self._event_describer()
        done = None if executed is None else [executed]
        one = read_events(
            [chosen], [reward], [is_choice], [scored], lambda k: place(n + k), executed=done
        )
        both = Events(*map(_concat, self.events, one))
        # The former last event is checked again: only the last reward may be missing.
        start = max(n - 1, 0)
        newest = both.rows_between(start, n + 1)
        check_events(newest, _last_event_mask(len(newest.chosen)), lambda k: place(start + k))
        given = (
            _wrap_as_one_event(before),
            _wrap_as_one_event(after),
            None if available is None else [available],
        )
        new = read_event_context(*given, one, lambda k: place(n + k))
        past = self.context
        both_masked = [
            past.with_full_availability_mask(new, n),
            new.with_full_availability_mask(past, 1),
        ]
        context = concat_contexts(both_masked) if n else new
        return Episode.of_events(both, self.subject, self.block, context)

    def _is_ordinary_choice(self, chosen: Any, reward: Any) -> bool:
        """Whether the next event is an ordinary choice, of which nothing need be checked."""
        if type(chosen) is not int or type(reward) is not float or not self.n_events:
            return False
        if self.before or self.after or self.available is not None:
            return False
        # NaN differs from itself.
        known = self.rewards[-1] == self.rewards[-1]
        return bool(known and 0 <= chosen <= MAX_SURE_OPTION and abs(reward) < LARGEST_REWARD)

    def _event_describer(self) -> Place:
        return event_locator(
            self.subject, self.block, "decision" if self.is_choice.all() else "event"
        )

    def __repr__(self) -> str:
        said = f"Episode: {format_count(self.n_decisions, 'decision')} scored of "
        said += format_count(self.n_events, "event")
        named = labelled(self.subject, self.block)
        return f"{said}, {named}" if named else said

    def __getstate__(self) -> dict[str, Any]:
        # The cache would be pickled twice; mapping proxies cannot be pickled at all.
        state = {name: value for name, value in self.__dict__.items() if name != "_learnt_from"}
        return {**state, "before": dict(self.before), "after": dict(self.after)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        context = EventContext(
            state.get("before", {}), state.get("after", {}), state.get("available")
        )
        events = Events(*(state[name] for name in Events._fields))
        _set_episode_fields(self, events, state["subject"], state["block"], context)


def _set_episode_fields(
    episode: Episode, events: Events, subject: Any, block: Any, context: EventContext
) -> None:
    for name, values in events._asdict().items():
        values.flags.writeable = False
        object.__setattr__(episode, name, values)
    object.__setattr__(episode, "subject", subject)
    object.__setattr__(episode, "block", block)
    for name, values in context.as_read_only()._asdict().items():
        object.__setattr__(episode, name, values)


def _wrap_as_one_event(numbers: Mapping[str, Any] | None) -> Any:
    """Wrap the numbers of one event as arrays of one event."""
    return numbers if not isinstance(numbers, Mapping) else {n: [v] for n, v in numbers.items()}


def _concat(before: Any, after: Any) -> Any:
    return np.concatenate([before, after])


def _append_choice(events: Events, chosen: int, reward: float) -> Events:
    """Append a scored choice to events."""
    return Events(
        *(
            _concat(before, np.array([last], dtype=before.dtype))
            for before, last in zip(events, (chosen, reward, True, True, chosen), strict=True)
        )
    )


def _last_event_mask(n: int) -> BoolVector:
    last = np.zeros(n, dtype=bool)
    last[n - 1 :] = True
    return last


def executed_history(history: Any) -> Any:
    """History that a model learns from: of an episode, what was executed; offers as they are."""
    return getattr(history, "executed_episode", history)


def largest_option_index(history: Any) -> int:
    """Highest index of an option that was chosen or executed; -1 without any."""
    taken = (history.chosen, getattr(history, "executed", history.chosen))
    return max(int(options.max(initial=NOTHING)) for options in taken)


Episodes = Episode | Sequence[Episode]
