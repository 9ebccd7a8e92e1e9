"""Decisions that stand by themselves: what was offered, and what was taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix
from penchant.bandit.events import NOTHING
from penchant.choices.exact import EXACT_INTEGERS, Place, exact_floats
from penchant.choices.notes import counted
from penchant.errors import DataError, listing
from penchant.models.offers import read_offers


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Trials:
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
    >>> trials = pn.Trials(
    ...     [1, 0, None],
    ...     {"amount": [[20, 50], [30, 35], [40, 60]], "delay": [[0, 30], [0, 90], [0, 7]]},
    ...     subject="anna",
    ... )
    >>> trials
    Trials: 2 decisions scored of 3, 2 options, amount and delay, subject anna
    >>> trials.offers["delay"][1]
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
    ) -> Trials:
        """Trials of arrays that have been checked, without checking or copying them again."""
        trials = object.__new__(cls)
        trials._fill(chosen, offers, scored, subject, block)
        return trials

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
        """What a reader of the results should know about the trials."""
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
        said = f"Trials: {counted(self.n_decisions, 'decision')} scored of {self.n_events:,}, "
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
            "Make one Trials per label, e.g. with trials_from_frame."
        ) from error
    return label
