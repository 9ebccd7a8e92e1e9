"""Events of play (choices, rewards, flags), checked for arrays and tables alike."""

from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Vector
from penchant.argument_checks import check_entries, check_length
from penchant.errors import DataError, mark_argument
from penchant.tables.numbers import EXACT_INTEGERS, Place, exact_floats

NOTHING = -1
LARGEST_REWARD = 1e100
PER_EVENT = "one per event, as chosen has"


class Events(NamedTuple):
    """Events in order of time, of one episode or of several, one after another.

    Attributes
    ----------
    chosen
        Index of the option, from 0; -1 where nothing was chosen in time.
    rewards
        Reward received; NaN where there was none.
    is_choice
        False where an option was shown rather than chosen.
    scored
        Whether the choice enters the likelihood.
    executed
        Index of the option that was done, which is learnt from: another than chosen where somebody
        decided otherwise; -1 where nothing was done.
    """

    chosen: IntVector
    rewards: Vector
    is_choice: BoolVector
    scored: BoolVector
    executed: IntVector

    def rows_between(self, start: int, stop: int) -> "Events":
        """Events from start to stop, the latter not included, without a copy."""
        return self._indexed(slice(start, stop))

    def where(self, kept: BoolVector) -> "Events":
        """Events that are kept."""
        return self._indexed(kept)

    def _indexed(self, which: Any) -> "Events":
        parts: Any = (values[which] for values in self)
        return Events(*parts)


def read_events(
    chosen: Any,
    rewards: Any,
    is_choice: Any,
    scored: Any,
    place: Place,
    base: int = 0,
    executed: Any = None,
) -> Events:
    """Events as arrays of their own, each cell a number of the right kind."""
    options = option_indices(chosen, place, base)
    n = len(options)
    received = np.array(exact_floats(rewards, "rewards", place))
    check_length(received, "rewards", n, PER_EVENT, "Give NaN for a reward that is missing.")
    played = (
        np.ones(n, dtype=bool) if is_choice is None else mask_of(is_choice, "is_choice", n, place)
    )
    counted = played & (options != NOTHING)
    if scored is not None:
        counted &= mask_of(scored, "scored", n, place)
    done = options
    if executed is not None:
        done = option_indices(executed, place, base, "executed")
        fix = "Give the option that was done at every event."
        check_length(done, "executed", n, PER_EVENT, fix)
    return Events(options, received, played, counted, done)


def option_indices(chosen: Any, place: Place, base: int = 0, name: str = "chosen") -> IntVector:
    """Indices of the options taken, from 0; -1 where nothing was chosen."""
    floats = exact_floats(chosen, name, place)
    if floats.ndim != 1:
        raise DataError(
            name,
            "must have shape (n_events,)",
            got=f"shape {floats.shape}",
            fix="Give the index of one option per event, counted from 0.",
        )
    timeout = np.isnan(floats) | (floats == NOTHING)
    with np.errstate(invalid="ignore"):
        whole = (floats == np.floor(floats)) & (floats >= base) & (floats <= EXACT_INTEGERS)
    rule = f"must be an option's index, counted from {base}"
    fix = f"Number the options so; leave the cell empty or write -1 where nothing was {name}."
    check_entries(whole | timeout, floats, name, rule, fix, place)
    options: IntVector = np.where(timeout, NOTHING + base, floats).astype(np.int64) - base
    return options


def mask_of(values: Any, name: str, n: int, place: Place, word: str = "event") -> BoolVector:
    """True or False of every event, or decision."""
    floats = exact_floats(values, name, place)
    each, fix = f"one per {word}, as chosen has", f"Give True or False for every {word}."
    check_length(floats, name, n, each, fix)
    truth = (floats == 0) | (floats == 1)
    check_entries(truth, floats, name, "must hold True/False or 0/1", "Convert it.", place)
    mask: BoolVector = floats != 0
    return mask


def check_events(events: Events, last: BoolVector, place: Place) -> None:
    """Every event but the last of its episode has a reward if, and only if, it has an option."""
    received = ~np.isnan(events.rewards)
    nothing = events.executed == NOTHING
    may_lack = nothing | (last & events.is_choice)
    fine = (np.abs(events.rewards) <= LARGEST_REWARD) | ~received
    fine &= events.is_choice | ((events.executed == events.chosen) & ~nothing)
    fine &= ~(nothing & received) & (received | may_lack)
    if not fine.all():
        _say_fault(events, received, nothing, may_lack, place)


def _say_fault(
    events: Events, received: BoolVector, nothing: BoolVector, may_lack: BoolVector, place: Place
) -> None:
    apart = not np.array_equal(events.chosen, events.executed)
    taken = "executed" if apart else "chosen"
    check_entries(
        (np.abs(events.rewards) <= LARGEST_REWARD) | ~received,
        events.rewards,
        "rewards",
        "must be finite and not beyond 1e100",
        "Correct them, or rescale.",
        place,
    )
    check_entries(
        (events.executed == events.chosen) | events.is_choice,
        events.executed,
        "executed",
        "must be the option that was shown where is_choice is False",
        "Name the same one in both.",
        place,
    )
    check_entries(
        ~nothing | events.is_choice,
        "none",
        "chosen",
        "must name the option that was shown where is_choice is False",
        "Name it, or drop these events.",
        place,
    )
    check_entries(
        ~(nothing & received),
        events.rewards,
        "rewards",
        f"must be missing where nothing was {taken}",
        "Name in executed what was done there, the same as chosen if it was as proposed."
        if apart
        else "Write NaN there; -1 or an empty choice means that time ran out, so number options "
        "from 0.",
        place,
    )
    check_entries(
        received | may_lack,
        "none",
        "rewards",
        "must not be missing before the last decision",
        "Fill them, or end the episode there: beliefs after a reward that is not known are not "
        f"known either. With a table, {mark_argument('missing_reward', 'truncate')} does so; "
        f"{mark_argument('missing_reward', 'skip')} leaves out these choices alone.",
        place,
    )


def check_options(chosen: IntVector, n_options: int, place: Place, name: str = "chosen") -> None:
    """Raise an error if an option's index is beyond the number of options."""
    fix = "Options are counted from 0."
    if chosen.max(initial=0) == n_options and not (chosen == 0).any():
        fix = "It looks 1-based: subtract 1, options are counted from 0."
    check_entries(chosen < n_options, chosen, name, f"must lie in 0..{n_options - 1}", fix, place)


def check_label(label: Any, name: str, whole: str, advice: str) -> None:
    """Raise an error unless it is one label, of the whole of something."""
    try:
        hash(label)
    except TypeError as error:
        raise DataError(
            name, f"must be one label for {whole}", got=type(label).__name__, fix=advice
        ) from error


def labelled(subject: Any, block: Any) -> str:
    """Subject and block in words, those that there are."""
    labels = (("subject", subject), ("block", block))
    return ", ".join(f"{name} {label}" for name, label in labels if label is not None)


def event_locator(subject: Any, block: Any, word: str) -> Place:
    """Make a function that names event or decision k, subject and block, for messages."""
    named = labelled(subject, block)

    def locate(k: int) -> str:
        return f"{word} {k} of {named}" if named else f"{word} {k}"

    return locate
