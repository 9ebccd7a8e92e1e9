"""What a player saw at a decision and learnt after it, beside options and rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, Matrix
from penchant.errors import DataError, listing
from penchant.tables.events import LARGEST_REWARD, NOTHING, Events
from penchant.tables.numbers import Place, exact_floats

EMPTY: Mapping[str, Matrix] = MappingProxyType({})


class Seen(NamedTuple):
    """What was seen at events beside the option and the reward.

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
    available: BoolVector | None = None

    def at(self, which: Any) -> Seen:
        """What was seen at some events: a slice, or a mask."""
        return Seen(
            {name: values[which] for name, values in self.before.items()},
            {name: values[which] for name, values in self.after.items()},
            None if self.available is None else self.available[which],
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All arrays."""
        mask = () if self.available is None else (self.available,)
        return (*self.before.values(), *self.after.values(), *mask)

    def locked(self) -> Seen:
        """The same, which nobody can change."""
        for array in self.arrays:
            array.flags.writeable = False
        before, after = MappingProxyType(dict(self.before)), MappingProxyType(dict(self.after))
        return Seen(before, after, self.available)


def read_seen(before: Any, after: Any, available: Any, events: Events, place: Place) -> Seen:
    """What was seen at the events, as arrays of their own, checked."""
    needed = events.chosen != NOTHING
    learnt = needed & ~np.isnan(events.rewards)
    return Seen(
        _named(before, "before", needed, place),
        _named(after, "after", learnt, place),
        None if available is None else _available(available, events, place),
    )


def joined(parts: Sequence[Seen]) -> Seen:
    """What was seen in one run of events after another, which hold the same."""
    masks = [part.available for part in parts]
    return Seen(
        _joined([part.before for part in parts], "before"),
        _joined([part.after for part in parts], "after"),
        None if masks[0] is None else np.concatenate([m for m in masks if m is not None]),
    )


def _joined(parts: Sequence[Mapping[str, Matrix]], role: str) -> dict[str, Matrix]:
    names = list(parts[0])
    for other in parts[1:]:
        if sorted(other) != sorted(names):
            raise DataError(
                f"{role} must hold {', '.join(names) or 'nothing'} at every event; got "
                f"{', '.join(other) or 'nothing'}. Give the same names each time."
            )
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _named(given: Any, role: str, needed: BoolVector, place: Place) -> dict[str, Matrix]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(
            f"{role} must map names to numbers; got {type(given).__name__}. "
            f'Write {role}={{"cue": ...}}.'
        )
    found: dict[str, Matrix] = {}
    for name, values in given.items():
        if not isinstance(name, str) or not name:
            raise DataError(f"{role} must be named by text; got {name!r}. Give it a name.")
        found[name] = _numbers(values, f"{role}[{name!r}]", needed, place)
    return found


def _numbers(values: Any, said: str, needed: BoolVector, place: Place) -> Matrix:
    array = np.array(exact_floats(values, said, place))
    n = len(needed)
    if array.ndim not in (1, 2) or len(array) != n:
        raise DataError(
            f"{said} must have shape ({n},), one per event, as chosen has, or ({n}, n_options); "
            f"got shape {array.shape}. Give NaN where nothing was chosen."
        )
    with np.errstate(invalid="ignore"):
        fine = (np.abs(array) <= LARGEST_REWARD).reshape(n, -1).all(axis=1)
    wrong = np.flatnonzero(needed & ~fine)
    if wrong.size:
        cells = (f"{array[k]} at {place(int(k))}" for k in wrong[:11])
        raise DataError(
            f"{said} must be finite and not beyond 1e100 where an option was taken; got "
            f"{listing(cells, wrong.size)}. Fill them, or leave these events out."
        )
    return array


def _available(available: Any, events: Events, place: Place) -> BoolVector:
    floats = exact_floats(available, "available", place)
    n = len(events.chosen)
    if floats.ndim != 2 or len(floats) != n or floats.shape[1] < 2:
        raise DataError(
            f"available must have shape ({n}, n_options), one row per event; got shape "
            f"{floats.shape}. Give True for every option that could be chosen."
        )
    if not np.isin(floats, (0.0, 1.0)).all():
        raise DataError("available must hold True/False or 0/1; got other numbers. Convert it.")
    mask: BoolVector = floats != 0
    taken = np.flatnonzero((events.chosen != NOTHING) & (events.chosen < mask.shape[1]))
    wrong = taken[~mask[taken, events.chosen[taken]]]
    if wrong.size:
        cells = (f"{events.chosen[k]} at {place(int(k))}" for k in wrong[:11])
        raise DataError(
            "chosen must be among the options that are available; got "
            f"{listing(cells, wrong.size)}. Correct one of them."
        )
    counts = mask.sum(axis=1)
    odd = np.flatnonzero((counts != counts[0]) | (counts < 2))
    if odd.size:
        raise DataError(
            "available must leave as many options at every event, at least two; got "
            f"{counts[0]} at {place(0)} and {counts[odd[0]]} at {place(int(odd[0]))}. Make "
            "episodes of each number, or leave events without a choice out."
        )
    return mask
