"""One-shot choices: the options on offer, by attribute, and the option taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix
from penchant.choices import Choices
from penchant.errors import DataError, listing
from penchant.output.notes import counted
from penchant.tables.events import (
    NOTHING,
    check_label,
    check_options,
    labelled,
    mask_of,
    option_indices,
    places_of,
)
from penchant.tables.numbers import Place, exact_floats

LARGEST = 1e100
DELAY, PROBABILITY = "delay", "probability"
ONE_EACH = "Make one Offers per label, e.g. with offers_from_frame."
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


class _NoRewardsError(DataError, AttributeError):
    """What a model that learns from rewards looks for in vain."""


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

    @property
    def rewards(self) -> Any:
        """None are paid here: a model that asks for them is one of play."""
        raise _NoRewardsError(
            "model must be one of offers, as nothing was paid between them; got one that learns "
            "from rewards. Use pn.HyperbolicDiscounting(), or another model of offers."
        )

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
        counts = options != NOTHING
        if scored is not None:
            counts &= mask_of(scored, "scored", len(options), place, "decision")
        for label, name in ((subject, "subject"), (block, "block")):
            check_label(label, name, "all decisions", ONE_EACH)
        self._fill(options, described, counts, subject, block)
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
        check_options(self.chosen, n_options, decision_places(self.subject, self.block))

    def __repr__(self) -> str:
        said = f"Offers: {counted(self.n_decisions, 'decision')} scored of {self.n_events:,}, "
        said += f"{counted(self.n_options, 'option')}, {' and '.join(self.offers)}"
        named = labelled(self.subject, self.block)
        return f"{said}, {named}" if named else said

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "offers": dict(self.offers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(*(state[name] for name in ("chosen", "offers", "scored", "subject", "block")))


def decision_places(subject: Any, block: Any) -> Place:
    """Where decision k is, in words."""
    return places_of(subject, block, "decision")


def read_chosen(chosen: Any, place: Place) -> IntVector:
    """Indices of the options taken, -1 for none."""
    options = option_indices(chosen, place)
    if not len(options):
        raise DataError(
            f"chosen must have shape (n_events,) with one event or more; got shape {options.shape}."
            " Give the index of one option per decision, counted from 0."
        )
    return options


def offers_of_choices(choices: Choices) -> list[Offers]:
    """Decisions of a choice experiment as offers, by subject: every variable is an attribute.

    Parameters
    ----------
    choices
        With as many options in every decision.
    """
    sizes = np.diff(choices.first_row)
    if (sizes != sizes[0]).any() or choices.available is not None or choices.offset is not None:
        raise DataError(
            "choices must have the same options in every decision, all on offer, without an "
            f"offset; got {sizes.min()} to {sizes.max()} options. Fit them with fit_each instead."
        )
    n, m = len(sizes), int(sizes[0])
    cubes = choices.explanatory.reshape(n, m, -1)
    codes = np.zeros(n, dtype=np.int64) if choices.subject is None else choices.subject
    labels = choices.subject_labels or (None,)
    return [
        Offers(
            choices.chosen[codes == code],
            {name: cubes[codes == code, :, k] for k, name in enumerate(choices.names)},
            subject=label,
        )
        for code, label in enumerate(labels)
    ]
