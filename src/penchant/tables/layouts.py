"""Long tables, one row per option of each decision, and wide ones, one row per decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Vector
from penchant.errors import DataError, closest_match_hint, format_list, mark_quoted_argument
from penchant.tables.decisions import Rows, arranged, check_missing
from penchant.tables.frames import (
    Ids,
    Table,
    check_columns,
    check_present,
    check_roles,
    column_flags,
    column_labels,
    gather,
    joint_codes,
    open_frame,
    read_floats,
    read_ids,
    repeated_rows,
    row_place,
)
from penchant.tables.labels import (
    NONE_MISSING,
    Coded,
    object_codes,
    python_values,
    warn_similar,
    without_words,
)


@dataclass(frozen=True, kw_only=True)
class LongColumns:
    """Which column of a long table plays which part."""

    decision: tuple[Any, ...]
    option: Any
    chosen: Any
    explanatory: tuple[Any, ...]
    weight: Any = None
    subject: Any = None
    available: Any = None
    offset: Any = None

    def roles(self) -> dict[str, tuple[Any, ...]]:
        """Columns by part, parts not given left out."""
        one = ("option", "chosen", "weight", "subject", "available", "offset")
        given = {role: (getattr(self, role),) for role in one if getattr(self, role) is not None}
        return {"decision": self.decision, "explanatory": self.explanatory} | given


def column_names(names: Any, role: str) -> tuple[Any, ...]:
    """One name or several as a tuple."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    if not given:
        raise DataError(role, "must name at least one column", got="none", fix="Name one.")
    return given


def long_fields(
    frame: Any, columns: LongColumns, *, weight_kind: str, missing: str
) -> dict[str, Any]:
    """Fields of `Choices` from a long table."""
    check_missing(missing)
    table = _checked(frame, columns)
    return arranged(_long_rows(table, columns), weight_kind=weight_kind, missing=missing)


def _long_rows(table: Table, columns: LongColumns) -> Rows:
    ids = read_ids(table, columns.decision, columns.option, columns.subject)
    warn_similar(ids.option.labels.tolist(), "option")
    named = [("explanatory", name) for name in columns.explanatory]
    parts = {role: getattr(columns, role) for role in ("offset", "weight", "available")}
    named += [(role, parts[role]) for role in ("offset", "weight") if parts[role] is not None]
    numbers = read_floats(table, named)
    known = {role: (name, numbers[role, name]) for role, name in named if role != "explanatory"}
    on_offer = parts["available"]
    return Rows(
        ids=ids,
        picked=None
        if columns.chosen is None
        else without_words(
            column_labels(table, columns.chosen, f"chosen {columns.chosen!r}"),
            ids.option.labels.tolist(),
        ),
        chosen=columns.chosen,
        variables={name: numbers["explanatory", name] for name in columns.explanatory},
        on_offer=None if on_offer is None else column_flags(table, on_offer, "available"),
        **known,
    )


def _checked(frame: Any, columns: LongColumns) -> Table:
    table = open_frame(frame)
    roles = columns.roles()
    check_columns(table, roles)
    apart = ("decision", "chosen", "weight", "available", "explanatory")
    check_roles({role: roles[role] for role in apart if role in roles})
    return table


ByOption = Mapping[Any, Any]


@dataclass(frozen=True, kw_only=True)
class WideColumns:
    """Which column of a wide table plays which part; `ByOption` maps an option to its column."""

    options: tuple[Any, ...]
    chosen: Any
    explanatory: Mapping[Any, ByOption]
    decision: tuple[Any, ...] = ()
    subject: Any = None
    weight: Any = None
    available: ByOption | None = None
    offset: ByOption | None = None

    def roles(self) -> dict[str, list[Any]]:
        """Columns by part, parts not given left out."""
        roles = {"decision": list(self.decision)}
        roles["explanatory"] = [
            c for columns in self.explanatory.values() for c in columns.values()
        ]
        for role in ("chosen", "subject", "weight"):
            if getattr(self, role) is not None:
                roles[role] = [getattr(self, role)]
        for role in ("available", "offset"):
            roles[role] = list((getattr(self, role) or {}).values())
        return roles


def option_names(options: Any, explanatory: Any) -> tuple[Any, ...]:
    """Labels of the options: as given, or as the mappings or lists of columns say."""
    labels = options
    if labels is None and isinstance(explanatory, Mapping) and explanatory:
        columns = next(iter(explanatory.values()))
        labels = list(columns) if isinstance(columns, Mapping) else range(len(columns))
    if labels is None or isinstance(labels, str):
        raise DataError(
            "options",
            "must list the labels of the options",
            got=repr(options),
            fix="Give them, or map each variable to a column per option.",
        )
    labels = tuple(labels)
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise DataError(
            "options",
            "must hold two or more different labels",
            got=format_list(map(repr, labels)),
            fix="Name each option once.",
        )
    return labels


def variable_columns(explanatory: Any, options: tuple[Any, ...]) -> dict[Any, ByOption]:
    """Map each variable to the column of each option."""
    if isinstance(explanatory, str):
        explanatory = [explanatory]
    if not isinstance(explanatory, Mapping):
        explanatory = {name: name for name in explanatory}
    if not explanatory:
        raise DataError(
            "explanatory", "must name at least one variable", got="none", fix="Name one."
        )
    return {
        name: by_option(columns, options, f"explanatory {name!r}")
        for name, columns in explanatory.items()
    }


def by_option(columns: Any, options: tuple[Any, ...], what: str) -> ByOption:
    """Map each option to a column, from a mapping, a list in the options' order, or a stem.

    >>> by_option("price", ("bus", "car"), "explanatory")
    {'bus': 'price_bus', 'car': 'price_car'}
    """
    if isinstance(columns, str):
        return {option: f"{columns}_{option}" for option in options}
    if isinstance(columns, Mapping):
        odd = [
            repr(option)
            for option in (*options, *columns)
            if (option in options) != (option in columns)
        ]
        if odd:
            raise DataError(
                what,
                "must map every option to its column",
                got=(
                    f"{format_list(map(repr, columns))}, but options "
                    f"{format_list(map(repr, options))}"
                ),
                fix=f"Add or remove {format_list(odd)}.",
            )
        return {option: columns[option] for option in options}
    if not isinstance(columns, Sequence) or len(columns) != len(options):
        raise DataError(
            what,
            f"must list {len(options)} columns, one per option",
            got=repr(columns),
            fix=f"The options are {format_list(map(repr, options))}.",
        )
    return dict(zip(options, columns, strict=True))


def wide_fields(
    frame: Any, columns: WideColumns, *, weight_kind: str, missing: str
) -> dict[str, Any]:
    """Fields of `Choices` from a wide table."""
    check_missing(missing)
    table = open_frame(frame)
    roles = columns.roles()
    check_columns(table, roles)
    apart = ("decision", "chosen", "weight", "available")
    check_roles({role: roles.get(role, []) for role in apart})
    warn_similar(columns.options, "options")
    return arranged(_rows(table, columns), weight_kind=weight_kind, missing=missing)


def _rows(table: Table, columns: WideColumns) -> Rows:
    """Rows of a long table: the options of the first decision, then of the second ..."""
    option = object_codes(columns.options, "options")
    ids = _ids(table, columns, option)
    on_offer = None
    if columns.available is not None:
        flags = [column_flags(table, c, "available") for c in columns.available.values()]
        on_offer = np.stack(flags, axis=1).reshape(-1)
    m = len(columns.options)
    weight = None
    if columns.weight is not None:
        values = read_floats(table, [("weight", columns.weight)])["weight", columns.weight]
        weight = (columns.weight, np.repeat(values, m))
    offset = None
    if columns.offset is not None:
        offset = ("offset", _interleaved(table, "offset", [columns.offset])[0])
    variables = _interleaved(table, "explanatory", list(columns.explanatory.values()))
    return Rows(
        ids=ids,
        picked=None if columns.chosen is None else _picked(table, columns, option),
        chosen=columns.chosen,
        variables=dict(zip(columns.explanatory, variables, strict=True)),
        offset=offset,
        weight=weight,
        on_offer=on_offer,
    )


def _interleaved(table: Table, role: str, variables: Sequence[ByOption]) -> list[Vector]:
    """Columns of each variable woven into one: all options of a decision, then of the next."""
    read = read_floats(table, [(role, c) for columns in variables for c in columns.values()])
    in_order = np.arange(len(table))
    return [
        gather([read[role, c] for c in columns.values()], in_order).reshape(-1)
        for columns in variables
    ]


def _ids(table: Table, columns: WideColumns, option: Coded) -> Ids:
    n, m = len(table), len(option)
    named = [("decision", name) for name in columns.decision]
    named += [] if columns.subject is None else [("subject", columns.subject)]
    coded = [column_labels(table, name, f"{role} {name!r}") for role, name in named]
    check_present(zip(named, coded, strict=True))
    parts = coded[: len(columns.decision)] or [Coded(np.arange(n), np.arange(n), NONE_MISSING)]
    subject = coded[-1:] if columns.subject is not None else []
    decision, n_decisions = joint_codes([*subject, *parts])
    if n_decisions < n:
        raise _repeated(decision, [*subject, *parts])
    return Ids(
        np.repeat(decision, m),
        n_decisions,
        tuple(_repeat(part, m) for part in parts),
        tuple(str(name) for name in columns.decision) or ("row",),
        Coded(np.tile(option.codes, n), option.labels, NONE_MISSING),
        _repeat(subject[0], m) if subject else None,
        per_row=m,
    )


def _repeat(coded: Coded, m: int) -> Coded:
    return Coded(np.repeat(coded.codes, m), coded.labels, NONE_MISSING)


def _repeated(decision: IntVector, named: Sequence[Coded]) -> DataError:
    pairs, total = repeated_rows(decision, np.zeros_like(decision), 1, None)
    described = (
        f"{', '.join(repr(part.at(b)) for part in named)} at {row_place(a)} and {row_place(b)}"
        for a, b in pairs
    )
    return DataError(
        "decision",
        "must differ between rows",
        got=format_list(described, total),
        fix=(
            f"Drop one, or name {mark_quoted_argument('subject')} or more columns in "
            f"{mark_quoted_argument('decision')}."
        ),
    )


def _picked(table: Table, columns: WideColumns, option: Coded) -> Coded:
    """Repeat the chosen option's label for every option of the decision."""
    picked = column_labels(table, columns.chosen, f"chosen {columns.chosen!r}")
    picked = without_words(picked, columns.options)
    values = python_values(picked.labels)
    m = len(columns.options)
    position = dict(zip(columns.options, range(m), strict=True))
    if all(value in position for value in values):
        index = [position[value] for value in values]
    elif all(type(value) is int and 0 <= value < m for value in values):
        index = list(values)
    elif picked.missing.size == len(table):
        index = [0] * len(values)
    else:
        raise _not_an_option(picked, columns)
    codes = option.codes[np.array(index, dtype=np.int64)][picked.codes]
    missing = (picked.missing[:, None] * m + np.arange(m)).reshape(-1)
    return Coded(np.repeat(codes, m), option.labels, missing)


def _not_an_option(picked: Coded, columns: WideColumns) -> DataError:
    values = python_values(picked.labels)
    m = len(columns.options)
    allowed = format_list(map(repr, columns.options))
    numeric = all(type(value) is int for value in values)
    if numeric and min(values) >= 1 and max(values) == m:
        return DataError(
            "chosen",
            f"must be one of the options {allowed} or an index in 0..{m - 1}",
            got=f"1..{m} in column {columns.chosen!r}",
            fix="It looks 1-based: subtract 1, options are counted from 0.",
        )
    good = [v in columns.options or (numeric and 0 <= v < m) for v in values]
    wrong = np.flatnonzero(~np.array(good)[picked.codes])
    wrong = np.setdiff1d(wrong, picked.missing)
    places = format_list((f"{picked.at(r)!r} at {row_place(r)}" for r in wrong[:11]), wrong.size)
    hint = closest_match_hint(str(picked.at(wrong[0])), map(str, columns.options)) or " Correct it."
    return DataError(
        "chosen",
        f"must be one of the options {allowed} or an index in 0..{m - 1}",
        got=places,
        fix=hint,
    )
