"""Offers from a table with one row per decision."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._frames import as_it_came
from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError, listing
from penchant.models.offers.offers import Offers, read_chosen, read_offers
from penchant.tables.frames import (
    Table,
    check_columns,
    column_flags,
    column_floats,
    column_labels,
    open_frame,
    row_place,
)
from penchant.tables.ids import check_present, joint_codes
from penchant.tables.labels import Coded
from penchant.tables.numbers import Place
from penchant.tables.offer_columns import (
    OfferColumns,
    is_nothing,
    numbered_columns,
    offer_columns,
    taken_by_word,
)
from penchant.wording import argument, either

Cell = str | float | Sequence[Any]
CORRECT = "Correct it, or leave the cell empty where nothing was chosen."


@as_it_came
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
    if base not in (0, 1):
        raise DataError(
            f"base must be 0 or 1; got {base!r}. Say which number the first option has."
        )
    table = open_frame(frame)
    given = {"subject": subject, "block": block, "chosen": chosen, "scored": scored}
    columns = offer_columns(list(map(str, table.columns)), given, offers)
    _check_cells(columns.offers)
    check_columns(table, columns.roles())
    owners = _owners(table, columns)
    place = _places(owners)
    described = read_offers(_offers(table, columns), len(table), place)
    n_options = next(iter(described.values())).shape[1]
    taken = read_chosen(_taken(table, columns, options, base, n_options, place), place)
    counts = np.ones(len(table), dtype=bool)
    if columns.scored is not None:
        counts = column_flags(table, columns.scored, "scored")
    return _by_owner(taken, described, counts & (taken >= 0), owners)


def described_from_frame(
    frame: Any,
    offers: Mapping[str, Sequence[Cell]] | None = None,
    wanted: Sequence[str] = (),
) -> dict[str, Matrix]:
    """What a table with one row per decision offers, by attribute, whatever was chosen.

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


def _places(owners: Mapping[str, Coded]) -> Place:
    def place(row: int) -> str:
        names = ", ".join(f"{role} {coded.at(row)}" for role, coded in owners.items())
        return row_place(row) + (f" ({names})" if names else "")

    return place


def _check_cells(offers: Mapping[str, Any]) -> None:
    """Every attribute lists its options, each by as many outcomes."""
    for name, cells in offers.items():
        if isinstance(cells, str) or not isinstance(cells, Sequence) or not cells:
            raise DataError(
                f"offers[{name!r}] must list a column or a number for each option; got {cells!r}. "
                f'Write {{{name!r}: ["first_column", "second_column"]}}.'
            )
        sizes = {len(_outcomes(cell)) for cell in cells}
        if len(sizes) > 1:
            raise DataError(
                f"offers[{name!r}] must have as many outcomes for every option; got {cells!r}. "
                "Fill up with outcome 0 and probability 0."
            )


def _outcomes(cell: Cell) -> Sequence[Any]:
    return [cell] if isinstance(cell, (str, int, float)) else cell


def _offers(table: Table, columns: OfferColumns) -> dict[str, Matrix]:
    """Attributes as arrays: (n_rows, n_options), or with outcomes along a third axis."""
    found = {}
    for name, cells in columns.offers.items():
        parts = [[_numbers(table, part, name) for part in _outcomes(cell)] for cell in cells]
        array = np.moveaxis(np.array(parts), 2, 0)
        if name in columns.losses:
            for option, outcome in columns.losses[name]:
                array[:, option, outcome] = -np.abs(array[:, option, outcome])
        several = any(not isinstance(cell, (str, int, float)) for cell in cells)
        found[name] = array if several else array[:, :, 0]
    return found


def _numbers(table: Table, cell: Any, name: str) -> Vector:
    if isinstance(cell, str):
        return column_floats(table, cell, f"offers[{name!r}]")
    return np.full(len(table), float(cell))


def _taken(
    table: Table,
    columns: OfferColumns,
    options: Sequence[Any] | None,
    base: int,
    n_options: int,
    place: Place,
) -> Vector:
    """Index of the option of each row, NaN where there is none."""
    name = columns.chosen
    coded = column_labels(table, name, f"chosen {name!r}", is_nothing)
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
        allowed = listing(map(str, options)) if options else f"{base}..{n_options - 1 + base}"
        counted = base == 0 and options is None and codes[-1:] == [n_options]
        raise DataError(
            f"chosen must be among the options {allowed}; got {listing(cells, wrong.size)}. "
            + (_from_1(0 in codes) if counted else CORRECT)
        )
    return taken


def _from_1(has_zero: bool) -> str:
    if has_zero:
        return (
            f"Correct it, or pass {either('base=1', '--base 1')} if options are counted from 1 and "
            "0 marks decisions without a choice."
        )
    return f"It looks 1-based: pass {either('base=1', '--base 1')}."


def _code(label: Any) -> Any:
    """Numbers that a file holds as text, beside NULL perhaps, are numbers."""
    if isinstance(label, str) and re.fullmatch(r"-?\d{1,15}(\.0*)?", label.strip()):
        return int(float(label))
    return label


def _index(label: Any, index: Mapping[str, float]) -> float:
    text = str(int(label)) if isinstance(label, bool) else str(label).strip()
    if text in index:
        return index[text]
    return float("nan") if is_nothing(label) else float("inf")


def _check_codes(codes: list[int], name: str, base: int, n_options: int) -> None:
    """-1 means no choice, and 0 where options are counted from 1: that may lose half of them."""
    if n_options == 2 and codes == [-1, 1] and base == 0:
        raise DataError(
            f"chosen {name!r} must count options from 0, with -1 for no choice; got -1 and 1 only. "
            f"If -1 is the first option, pass {either('options=[-1, 1]', '--options=-1,1')}."
        )
    if base == 1 and 0 in codes and codes[-1] < n_options:
        raise DataError(
            f"chosen {name!r} must count options from 1, as base says, with 0 for no choice; got "
            f"{listing(map(str, codes))}, and never {n_options}. If 0 is the first option, leave "
            f"{argument('base')} out."
        )
