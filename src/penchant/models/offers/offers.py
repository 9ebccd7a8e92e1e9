"""Decisions that stand by themselves: what was offered, by attribute, and what was taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix
from penchant.errors import DataError, listing
from penchant.output.notes import counted
from penchant.tables.events import NOTHING
from penchant.tables.numbers import EXACT_INTEGERS, Place, exact_floats

LARGEST = 1e100
DELAY, PROBABILITY = "delay", "probability"
ROUNDING = 1e-9  # that probabilities written as decimals may be off in their sum


def read_offers(offers: Any, n: int, place: Place) -> dict[str, Matrix]:
    """Attributes of the options, as arrays of their own."""
    if not isinstance(offers, Mapping) or not offers:
        raise DataError(
            "offers must map names of attributes to numbers; got "
            f"{'none' if isinstance(offers, Mapping) else type(offers).__name__}. "
            'Write {"amount": ..., "delay": ...}.'
        )
    found: dict[str, Matrix] = {}
    for name, values in offers.items():
        if not isinstance(name, str) or not name:
            raise DataError(f"offers must be named by text; got {name!r}. Give it a name.")
        found[name] = _attribute(name, values, n, place)
    _check_options_agree(found)
    return found


def _attribute(name: str, values: Any, n: int, place: Place) -> Matrix:
    said = f"offers[{name!r}]"
    array = np.array(exact_floats(values, said))
    if array.ndim not in (2, 3) or len(array) != n or 0 in array.shape:
        raise DataError(
            f"{said} must have shape ({n}, n_options), one row per decision, as chosen has, or "
            f"({n}, n_options, n_outcomes); got shape {array.shape}. Stack a column per option."
        )
    with np.errstate(invalid="ignore"):
        _refuse(~(np.abs(array) <= LARGEST), array, said, "be finite, not beyond 1e100", place)
        if name == DELAY:
            _refuse(array < 0, array, said, "not be negative", place)
        if name == PROBABILITY:
            _refuse((array < 0) | (array > 1), array, said, "lie in 0..1", place)
            _check_total(array, said, place)
    return array


def _refuse(wrong: Any, array: Matrix, said: str, rule: str, place: Place) -> None:
    where = np.argwhere(wrong)
    if not len(where):
        return
    cells = (
        f"{array[tuple(at)]:g} at {place(int(at[0]))}, option {int(at[1])}" for at in where[:11]
    )
    raise DataError(
        f"{said} must {rule}; got {listing(cells, len(where))}. Correct these cells, or leave the "
        "decisions out."
    )


def _check_total(array: Matrix, said: str, place: Place) -> None:
    total = array.reshape(*array.shape[:2], -1).sum(axis=2)
    where = np.argwhere(total > 1 + ROUNDING)
    if len(where):
        cells = (f"{total[t, i]:g} at {place(int(t))}, option {int(i)}" for t, i in where[:11])
        raise DataError(
            f"{said} must sum to at most 1 over the outcomes of an option; got "
            f"{listing(cells, len(where))}. Correct them."
        )


def _check_options_agree(found: Mapping[str, Matrix]) -> None:
    sizes = {name: array.shape[1] for name, array in found.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise DataError(
            f"offers must describe the same options by every attribute; got {said}. "
            "Give each attribute one column per option."
        )


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Offers:
    """Decisions among options that are described by numbers, such as amounts and delays.

    Nothing is learnt from one decision to the next: the order does not matter, and models of such
    decisions use what is offered only.

    Parameters
    ----------
    chosen
        Index of the option taken, from 0; -1, None or NaN where nothing was chosen in time. Such a
        decision is not scored.
    offers
        Numbers that describe the options, by attribute: (n_events, n_options). Options with several
        outcomes have a third axis, (n_events, n_options, n_outcomes). An attribute called "delay"
        is not negative; one called "probability" lies in 0..1 and sums to at most 1 over outcomes.
    subject, block
        Labels of the person and of the part of the experiment.
    scored
        False for decisions that shall not enter the likelihood.

    Attributes
    ----------
    chosen, scored, offers
        Locked arrays; -1 for no choice.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers(
    ...     [1, 0, None],
    ...     {"amount": [[20, 50], [30, 35], [40, 60]], "delay": [[0, 30], [0, 90], [0, 7]]},
    ...     subject="anna",
    ... )
    >>> decisions
    Offers: 2 decisions scored of 3, 2 options, amount and delay, subject anna
    >>> decisions.offers["delay"][1]
    array([ 0., 90.])
    """

    chosen: IntVector
    offers: Mapping[str, Matrix]
    scored: BoolVector
    subject: Any = None
    block: Any = None

    def __init__(
        self,
        chosen: Any,
        offers: Mapping[str, Any],
        *,
        subject: Any = None,
        block: Any = None,
        scored: Any = None,
    ) -> None:
        place = decision_places(subject, block)
        options = read_chosen(chosen, place)
        described = read_offers(offers, len(options), place)
        counts = (options != NOTHING) & read_scored(scored, len(options), place)
        self._fill(options, described, counts, _label(subject, "subject"), _label(block, "block"))
        self.check_options(self.n_options)

    @classmethod
    def of_checked(
        cls,
        chosen: IntVector,
        offers: Mapping[str, Matrix],
        scored: BoolVector,
        subject: Any = None,
        block: Any = None,
    ) -> Offers:
        """Offers of arrays that have been checked, without checking or copying them again."""
        decisions = object.__new__(cls)
        decisions._fill(chosen, offers, scored, subject, block)
        return decisions

    def _fill(
        self, chosen: IntVector, offers: Mapping[str, Matrix], scored: BoolVector, *labels: Any
    ) -> None:
        for array in (chosen, scored, *offers.values()):
            array.flags.writeable = False
        given = (chosen, MappingProxyType(dict(offers)), scored, *labels)
        names = ("chosen", "offers", "scored", "subject", "block")
        for name, value in zip(names, given, strict=True):
            object.__setattr__(self, name, value)

    @property
    def n_events(self) -> int:
        """Number of decisions, scored or not."""
        return len(self.chosen)

    @property
    def n_options(self) -> int:
        """Number of options in each decision."""
        return int(next(iter(self.offers.values())).shape[1])

    @property
    def n_decisions(self) -> int:
        """Number of decisions scored."""
        return int(self.scored.sum())

    @property
    def scored_options(self) -> IntVector:
        """Options of the decisions scored: (n_decisions,)."""
        return self.chosen[self.scored]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know about the decisions."""
        without = int((self.chosen == NOTHING).sum())
        return (f"{counted(without, 'decision')} without a choice: not scored.",) if without else ()

    def check_options(self, n_options: int) -> None:
        """Raise an error if an option's index is beyond the number of options."""
        wrong = np.flatnonzero(self.chosen >= n_options)
        if not wrong.size:
            return
        place = decision_places(self.subject, self.block)
        places = listing((f"{self.chosen[k]} at {place(k)}" for k in wrong[:11]), wrong.size)
        advice = "Options are counted from 0."
        if self.chosen.max() == n_options and not (self.chosen == 0).any():
            advice = "It looks 1-based: subtract 1, options are counted from 0."
        raise DataError(f"chosen must lie in 0..{n_options - 1}; got {places}. {advice}")

    def __repr__(self) -> str:
        said = f"Offers: {counted(self.n_decisions, 'decision')} scored of {self.n_events:,}, "
        said += f"{counted(self.n_options, 'option')}, {' and '.join(self.offers)}"
        labels = (("subject", self.subject), ("block", self.block))
        return said + "".join(f", {name} {label}" for name, label in labels if label is not None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "offers": dict(self.offers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(*(state[name] for name in ("chosen", "offers", "scored", "subject", "block")))


def decision_places(subject: Any, block: Any) -> Place:
    """Where decision k is, in words."""
    labels = (("subject", subject), ("block", block))
    named = ", ".join(f"{name} {label}" for name, label in labels if label is not None)

    def place(k: int) -> str:
        return f"decision {k} of {named}" if named else f"decision {k}"

    return place


def read_chosen(chosen: Any, place: Place) -> IntVector:
    """Indices of the options taken, -1 for none."""
    floats = exact_floats(chosen, "chosen", place)
    if floats.ndim != 1 or not len(floats):
        raise DataError(
            f"chosen must have shape (n_events,) with one event or more; got shape {floats.shape}. "
            "Give the index of one option per decision, counted from 0."
        )
    none = np.isnan(floats) | (floats == NOTHING)
    with np.errstate(invalid="ignore"):
        whole = (floats == np.floor(floats)) & (floats >= 0) & (floats <= EXACT_INTEGERS)
    wrong = np.flatnonzero(~(whole | none))
    if wrong.size:
        places = listing((f"{floats[k]:g} at {place(k)}" for k in wrong[:11]), wrong.size)
        raise DataError(
            f"chosen must be an option's index, counted from 0; got {places}. "
            "Number the options so; write -1 or leave it empty where nothing was chosen."
        )
    return np.asarray(np.where(none, NOTHING, floats).astype(np.int64))


def read_scored(scored: Any, n: int, place: Place) -> BoolVector:
    """Which decisions count: all, or those that the mask says."""
    if scored is None:
        return np.ones(n, dtype=bool)
    floats = exact_floats(scored, "scored", place)
    if floats.shape != (n,):
        raise DataError(
            f"scored must have shape ({n},), one per decision, as chosen has; got shape "
            f"{floats.shape}. Give True or False for every decision."
        )
    wrong = np.flatnonzero((floats != 0) & (floats != 1))
    if wrong.size:
        places = listing((f"{floats[k]:g} at {place(k)}" for k in wrong[:11]), wrong.size)
        raise DataError(f"scored must hold True/False or 0/1; got {places}. Convert it.")
    return np.asarray(floats != 0)


def _label(label: Any, name: str) -> Any:
    try:
        hash(label)
    except TypeError as error:
        raise DataError(
            f"{name} must be one label for all decisions; got {type(label).__name__}. "
            "Make one Offers per label, e.g. with offers_from_frame."
        ) from error
    return label
