"""Offers: what was put before people and what they took, and the table it is read from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.choices import Choices
from penchant.errors import DataError, format_list, mark_argument
from penchant.result_tables import format_count
from penchant.tables.events import (
    NOTHING,
    check_label,
    check_options,
    event_locator,
    labelled,
    mask_of,
    option_indices,
)
from penchant.tables.frames import (
    Table,
    check_columns,
    check_present,
    column_flags,
    column_floats,
    column_labels,
    joint_codes,
    open_frame,
    row_place,
)
from penchant.tables.labels import Coded
from penchant.tables.lexicon import says_nothing
from penchant.tables.numbers import Place, exact_floats
from penchant.tables.offer_columns import (
    OfferColumns,
    lost_column,
    numbered_columns,
    offer_columns,
    taken_by_word,
)

LARGEST = 1e100
DELAY, PROBABILITY = "delay", "probability"
ONE_EACH = "Make one Offers per label, e.g. with offers_from_frame."
PROBABILITY_SUM_TOL = 1e-9  # that probabilities written as decimals may be off in their sum


def read_offers(offers: Any, n: int, place: Place) -> dict[str, Matrix]:
    """Attributes of the options, as arrays of their own."""
    if not isinstance(offers, Mapping) or not offers:
        raise DataError(
            "offers",
            "must map names of attributes to numbers",
            got="none" if isinstance(offers, Mapping) else type(offers).__name__,
            fix='Write {"amount": ..., "delay": ...}.',
        )
    found: dict[str, Matrix] = {}
    for name, values in offers.items():
        if not isinstance(name, str) or not name:
            raise DataError(
                "offers", "must be named by text", got=repr(name), fix="Give it a name."
            )
        found[name] = _attribute(name, values, n, place)
    _check_options_agree(found)
    return found


def _attribute(name: str, values: Any, n: int, place: Place) -> Matrix:
    said = f"offers[{name!r}]"
    array = np.array(exact_floats(values, said))
    if array.ndim not in (2, 3) or len(array) != n or 0 in array.shape:
        raise DataError(
            said,
            (
                f"must have shape ({n}, n_options), one row per decision, as chosen has, or ("
                f"{n}, n_options, n_outcomes)"
            ),
            got=f"shape {array.shape}",
            fix="Stack a column per option.",
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
        said,
        f"must {rule}",
        got=format_list(cells, len(where)),
        fix="Correct these cells, or leave the decisions out.",
    )


def _check_total(array: Matrix, said: str, place: Place) -> None:
    total = array.reshape(*array.shape[:2], -1).sum(axis=2)
    where = np.argwhere(total > 1 + PROBABILITY_SUM_TOL)
    if len(where):
        cells = (f"{total[t, i]:g} at {place(int(t))}, option {int(i)}" for t, i in where[:11])
        raise DataError(
            said,
            "must sum to at most 1 over the outcomes of an option",
            got=format_list(cells, len(where)),
            fix="Correct them.",
        )


def _check_options_agree(found: Mapping[str, Matrix]) -> None:
    sizes = {name: array.shape[1] for name, array in found.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise DataError(
            "offers",
            "must describe the same options by every attribute",
            got=said,
            fix="Give each attribute one column per option.",
        )


class _NoRewardsError(DataError, AttributeError):
    """Error of a learning model that reads `rewards`, which offers do not have."""


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
        """Raise `DataError`: offers have no rewards, which models of learning need."""
        raise _NoRewardsError(
            "model",
            "must be one of offers, as nothing was paid between them",
            got="one that learns from rewards",
            fix="Use pn.HyperbolicDiscounting(), or another model of offers.",
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
        place = decision_locator(subject, block)
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
        return int(np.count_nonzero(self.scored))

    @property
    def scored_options(self) -> IntVector:
        """Options of the decisions scored: (n_decisions,)."""
        return self.chosen[self.scored]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the data for reports: the number of decisions without a choice."""
        without = int(np.count_nonzero(self.chosen == NOTHING))
        return (
            (f"{format_count(without, 'decision')} without a choice: not scored.",)
            if without
            else ()
        )

    def concatenated(self, others: Offers) -> Offers:
        """Append decisions of the same subject and block; return all as new `Offers`."""
        for name in (*self.offers, *others.offers):
            shapes = [
                d.offers[name].shape[1:] if name in d.offers else None for d in (self, others)
            ]
            if shapes[0] != shapes[1]:
                before, now = ("none" if s is None else f"shape {s}" for s in shapes)
                raise DataError(
                    f"offers[{name!r}]",
                    "must describe the same options at every decision",
                    got=f"{now} after {before}",
                    fix="Describe all offers alike.",
                )
        return Offers.of_checked(
            np.concatenate([self.chosen, others.chosen]),
            {n: np.concatenate([v, others.offers[n]]) for n, v in self.offers.items()},
            np.concatenate([self.scored, others.scored]),
            self.subject,
            self.block,
        )

    def check_options(self, n_options: int) -> None:
        """Raise an error if an option's index is beyond the number of options."""
        check_options(self.chosen, n_options, decision_locator(self.subject, self.block))

    def __repr__(self) -> str:
        said = f"Offers: {format_count(self.n_decisions, 'decision')} scored of {self.n_events:,}, "
        said += f"{format_count(self.n_options, 'option')}, {' and '.join(self.offers)}"
        named = labelled(self.subject, self.block)
        return f"{said}, {named}" if named else said

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "offers": dict(self.offers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(*(state[name] for name in ("chosen", "offers", "scored", "subject", "block")))


def decision_locator(subject: Any, block: Any) -> Place:
    """Make a function that names decision k with its subject and block, for messages."""
    return event_locator(subject, block, "decision")


def read_chosen(chosen: Any, place: Place) -> IntVector:
    """Indices of the options taken, -1 for none."""
    options = option_indices(chosen, place)
    if not len(options):
        raise DataError(
            "chosen",
            "must have shape (n_events,) with one event or more",
            got=f"shape {options.shape}",
            fix="Give the index of one option per decision, counted from 0.",
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
            "choices",
            ("must have the same options in every decision, all on offer, without an offset"),
            got=f"{sizes.min()} to {sizes.max()} options",
            fix="Fit them with fit_each instead.",
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


Cell = str | float | Sequence[Any]
CORRECT = "Correct it, or leave the cell empty where nothing was chosen."


def offers_from_frame(
    frame: Any,
    *,
    subject: str | None = None,
    chosen: str | None = None,
    offers: Mapping[str, Sequence[Cell]] | None = None,
    block: str | None = None,
    scored: str | None = None,
    options: Sequence[Any] | None = None,
    base: int = 0,
) -> list[Offers]:
    """Offers from a table with one row per decision: one for each subject and block, sorted.

    Columns that are not named are recognised by the names that people give them: subjID, choice,
    amount_sooner, delay_later, or gain, loss, cert and gamble, and so on. Gains and losses without
    a sure amount are gambles at even odds against nothing; the size of a loss is lost, whatever its
    sign.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table.
    subject, block
        Columns that name the person and the part of the experiment; "none" for no such column.
    chosen
        Column of the option's number, or of its label; empty or -1 where nothing was chosen in
        time, with `base` 1 also 0.
    offers
        For every attribute, what says it of each option: the name of a column, or a number that is
        the same in all decisions. A list of these where an option has several outcomes.
    scored
        Column of True/False or 0/1: 0 for decisions that shall not enter the likelihood.
    options
        Labels of the options in their order, where `chosen` holds labels.
    base
        Number of the first option, 0 or 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import penchant as pn
    >>> table = pa.table(
    ...     {"who": ["bo", "bo", "al"], "now": [20, 30, 40], "later": [50, 35, 60],
    ...      "days": [30, 90, 7], "took": ["later", "now", None]}
    ... )
    >>> al, bo = pn.offers_from_frame(
    ...     table, subject="who", chosen="took", options=["now", "later"],
    ...     offers={"amount": ["now", "later"], "delay": [0, "days"]},
    ... )
    >>> bo.chosen, bo.offers["delay"][0]
    (array([1, 0]), array([ 0., 30.]))
    >>> al.notes
    ('1 decision without a choice: not scored.',)
    """
    check_one_of(base, "base", (0, 1), "Say which number the first option has.")
    table = open_frame(frame)
    given = {"subject": subject, "block": block, "chosen": chosen, "scored": scored}
    columns = offer_columns(list(map(str, table.columns)), given, offers)
    _check_cells(columns.offers)
    check_columns(table, columns.roles())
    owners = _owners(table, columns)
    place = _row_locator(owners)
    described = read_offers(_offers(table, columns), len(table), place)
    n_options = next(iter(described.values())).shape[1]
    taken = read_chosen(_chosen_options(table, columns, options, base, n_options, place), place)
    counts = np.ones(len(table), dtype=bool)
    if columns.scored is not None:
        counts = column_flags(table, columns.scored, "scored")
    return _by_owner(taken, described, counts & (taken >= 0), owners)


def described_from_frame(
    frame: Any,
    offers: Mapping[str, Sequence[Cell]] | None = None,
    wanted: Sequence[str] = (),
) -> dict[str, Matrix]:
    """Read the attributes of all options of a table with one row per decision.

    Parameters
    ----------
    frame
        A pandas, polars or pyarrow table.
    offers
        As of `offers_from_frame`; columns are found by their names, if it is not given.
    wanted
        Attributes that may stand in numbered columns: amount_1, amount_2 ...

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"price_1": [3.0, 4.0], "price_2": [5.0, 2.0]})
    >>> described_from_frame(table, wanted=["price"])["price"].tolist()
    [[3.0, 5.0], [4.0, 2.0]]
    """
    table = open_frame(frame)
    names = list(map(str, table.columns))
    found = offers if offers is not None else numbered_columns(names, wanted)
    taken = "first option" + "'" * len(names)  # a name that no column has
    columns = offer_columns(names, {"chosen": taken}, found)
    _check_cells(columns.offers)
    roles = columns.roles()
    check_columns(table, {role: roles[role] for role in roles if role.startswith("offers")})
    return read_offers(_offers(table, columns), len(table), row_place)


def _by_owner(
    taken: IntVector, described: Mapping[str, Matrix], counts: Any, owners: dict[str, Coded]
) -> list[Offers]:
    codes: IntVector = np.zeros(len(taken), dtype=np.int64)
    if owners:
        codes, _ = joint_codes(tuple(owners.values()))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return [
        Offers.of_checked(
            taken[rows],
            {name: array[rows] for name, array in described.items()},
            counts[rows],
            **{role: coded.at(int(rows[0])) for role, coded in owners.items()},
        )
        for rows in np.split(order, starts[1:])
    ]


def _owners(table: Table, columns: OfferColumns) -> dict[str, Coded]:
    """Labels of the person and of the part, where there are any."""
    named = [(role, getattr(columns, role)) for role in ("subject", "block")]
    named = [(role, name) for role, name in named if name is not None]
    coded = [column_labels(table, name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    return {role: labels for (role, _), labels in zip(named, coded, strict=True)}


def _row_locator(owners: Mapping[str, Coded]) -> Place:
    def locate(row: int) -> str:
        names = ", ".join(f"{role} {coded.at(row)}" for role, coded in owners.items())
        return row_place(row) + (f" ({names})" if names else "")

    return locate


def _check_cells(offers: Mapping[str, Any]) -> None:
    """Every attribute lists its options, each by as many outcomes."""
    for name, cells in offers.items():
        if isinstance(cells, str) or not isinstance(cells, Sequence) or not cells:
            raise DataError(
                f"offers[{name!r}]",
                "must list a column or a number for each option",
                got=repr(cells),
                fix=f'Write {{{name!r}: ["first_column", "second_column"]}}.',
            )
        sizes = {len(_outcomes(cell)) for cell in cells}
        if len(sizes) > 1:
            raise DataError(
                f"offers[{name!r}]",
                "must have as many outcomes for every option",
                got=repr(cells),
                fix="Fill up with outcome 0 and probability 0.",
            )


def _outcomes(cell: Cell) -> Sequence[Any]:
    return [cell] if isinstance(cell, (str, int, float)) else cell


def _offers(table: Table, columns: OfferColumns) -> dict[str, Matrix]:
    """Attributes as arrays: (n_rows, n_options), or with outcomes along a third axis."""
    found = {}
    for name, cells in columns.offers.items():
        parts = [[_numbers(table, part, name) for part in _outcomes(cell)] for cell in cells]
        array = np.moveaxis(np.array(parts), 2, 0)
        several = any(not isinstance(cell, (str, int, float)) for cell in cells)
        found[name] = array if several else array[:, :, 0]
    return found


def _numbers(table: Table, cell: Any, name: str) -> Vector:
    if not isinstance(cell, str):
        return np.full(len(table), float(cell))
    lost = None if cell in table.columns else lost_column(cell)
    values = column_floats(table, lost or cell, f"offers[{name!r}]")
    return -np.abs(values) if lost else values


def _chosen_options(
    table: Table,
    columns: OfferColumns,
    options: Sequence[Any] | None,
    base: int,
    n_options: int,
    place: Place,
) -> Vector:
    """Index of the option of each row, NaN where there is none."""
    name = columns.chosen
    coded = column_labels(table, name, f"chosen {name!r}", says_nothing)
    seen = coded.labels.tolist()
    if options is None:
        seen = [_code(label) for label in seen]
    codes = sorted({int(label) for label in seen if isinstance(label, (bool, int))})
    if options is not None:
        index = {str(label): float(i) for i, label in enumerate(options)}
    elif codes:
        _check_codes(codes, name, base, n_options)
        index = {str(code): float(code - base if code >= 0 else -1) for code in codes}
    else:
        index = taken_by_word(seen, name)
    taken = np.array([_index(label, index) for label in seen])[coded.codes]
    taken[coded.missing] = np.nan
    wrong = np.flatnonzero(np.isinf(taken) | (taken >= n_options) | (taken < -1))
    if wrong.size:
        cells = (f"{seen[coded.codes[k]]!r} at {place(int(k))}" for k in wrong[:11])
        allowed = format_list(map(str, options)) if options else f"{base}..{n_options - 1 + base}"
        counted = base == 0 and options is None and codes[-1:] == [n_options]
        raise DataError(
            "chosen",
            f"must be among the options {allowed}",
            got=format_list(cells, wrong.size),
            fix=_from_1(0 in codes) if counted else CORRECT,
        )
    return taken


def _from_1(has_zero: bool) -> str:
    if has_zero:
        return (
            f"Correct it, or pass {mark_argument('base', 1)} if options are counted from 1 and "
            "0 marks decisions without a choice."
        )
    return f"It looks 1-based: pass {mark_argument('base', 1)}."


def _code(label: Any) -> Any:
    """Numbers that a file holds as text, beside NULL perhaps, are numbers."""
    if isinstance(label, str) and re.fullmatch(r"-?\d{1,15}(\.0*)?", label.strip()):
        return int(float(label))
    return label


def _index(label: Any, index: Mapping[str, float]) -> float:
    text = str(int(label)) if isinstance(label, bool) else str(label).strip()
    if text in index:
        return index[text]
    return float("nan") if says_nothing(text) else float("inf")


def _check_codes(codes: list[int], name: str, base: int, n_options: int) -> None:
    """-1 means no choice, and 0 where options are counted from 1: that may lose half of them."""
    if n_options == 2 and codes == [-1, 1] and base == 0:
        raise DataError(
            f"chosen {name!r}",
            "must count options from 0, with -1 for no choice",
            got="-1 and 1 only",
            fix=f"If -1 is the first option, pass {mark_argument('options', [-1, 1])}.",
        )
    if base == 1 and 0 in codes and codes[-1] < n_options:
        raise DataError(
            f"chosen {name!r}",
            "must count options from 1, as base says, with 0 for no choice",
            got=f"{format_list(map(str, codes))}, and never {n_options}",
            fix=f"If 0 is the first option, leave {mark_argument('base')} out.",
        )
