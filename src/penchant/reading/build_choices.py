"""Choices among options with attributes, from tables of one row per option or per decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector, Vector
from penchant.choices import Choices
from penchant.errors import DataError, format_list, mark_argument
from penchant.reading.built_data import (
    BuiltData,
    cell_numbers,
    code_options,
    named_rows,
    on_offer,
    opt_out,
    option_codes,
    with_labels,
)
from penchant.result_tables import format_count
from penchant.tables.choice_coding import OptionCodes
from penchant.tables.decisions import Rows, arranged, check_missing
from penchant.tables.frames import Ids, check_present, check_roles, joint_codes
from penchant.tables.labels import (
    NONE_MISSING,
    Coded,
    arrow_codes,
    in_natural_order,
    object_codes,
    python_values,
    warn_similar,
)
from penchant.tables.schema import ATTRIBUTE_COLUMNS, Schema
from penchant.tables.source_table import SourceTable, code_index, code_key, column_list

PLACE = "place among the options"  # the option of a row, where no column says it


def build_choices(source: SourceTable, schema: Schema) -> BuiltData:
    """Make choices among options with attributes."""
    if schema.attributes is None:
        raise DataError(
            "attributes",
            "must be given in the schema",
            got="none",
            fix="List the columns of each attribute.",
        )
    by_option = ATTRIBUTE_COLUMNS in schema.attributes
    return _from_long(source, schema) if by_option else _from_wide(source, schema)


def _from_wide(source: SourceTable, schema: Schema) -> BuiltData:
    """Build choices from a wide table: a row per decision, a column per option and attribute."""
    choice = _single(schema.columns.choice, "columns.choice")
    codes = option_codes(source, schema, choice)
    options = codes.options_of(source.codes(choice, "columns.choice"), f"column {choice}")
    n_missed = int((options < 0).sum())
    source, options = _keep_rows(source, options, options >= 0, "nobody decided")
    mask = on_offer(source, schema, codes)
    doubts: tuple[str, ...] = ()
    if mask is not None:
        taken = mask[np.arange(len(options)), options]
        if not taken.all():
            n_wrong = format_count(int((~taken).sum()), "row")
            doubts = (f"{n_wrong} left out, as the option taken there was not on offer.",)
            source, options = _keep_rows(
                source, options, taken, "the option taken was not on offer"
            )
            mask = mask[taken]
    n, width = len(source), codes.n_options
    attributes = {name: _per_option(schema, name, codes) for name in schema.attributes or {}}
    variables: dict[str, Any] = {}
    for name, cells in attributes.items():
        variables |= attribute_variables(source, schema, name, cells)
    out = _place_of_none(schema, codes)
    if out is not None:
        variables[_constant(schema)] = np.tile(np.arange(width) == out, (n, 1)).astype(np.float64)
    source, subject = named_rows(source, schema.columns.subject, "subject")
    row = Coded(np.arange(n), np.arange(n), NONE_MISSING)
    people = _coded_people(source, subject)
    decision, _ = joint_codes([*people, row])
    option = object_codes([str(x) for x in codes.option_names], "options")
    warn_similar(option.labels.tolist(), "options")
    weight = _weight(source, schema)
    rows = Rows(
        ids=Ids(
            np.repeat(decision, width),
            n,
            (_repeat(row, width),),
            ("row",),
            Coded(np.tile(option.codes, n), option.labels, NONE_MISSING),
            _repeat(people[0], width) if people else None,
            per_row=width,
        ),
        picked=_repeat(Coded(option.codes[options], option.labels, NONE_MISSING), width),
        chosen=choice,
        variables={name: np.ravel(values) for name, values in variables.items()},
        weight=None if weight is None else (weight[0], np.repeat(weight[1], width)),
        on_offer=None if mask is None else np.ravel(mask),
    )
    choices, order = _choices(source, schema, rows, weight)
    columns = {"chosen": choice, **_said_columns(schema)}
    columns |= {name: ", ".join(map(str, cells)) for name, cells in attributes.items()}
    return BuiltData(
        choices,
        source,
        with_labels(schema, codes),
        columns,
        code_options(codes),
        _arguments(list(variables), [*attributes], order // width),
        doubts=doubts,
        n_missed=n_missed,
    )


def _coded_people(source: SourceTable, subject: str | None) -> list[Coded]:
    """The column of people as codes, where there is one; nobody may be missing."""
    if subject is None:
        return []
    coded = source.codes(subject, "columns.subject")
    check_present([(("subject", subject), coded)])
    return [coded]


def _repeat(coded: Coded, times: int) -> Coded:
    return Coded(np.repeat(coded.codes, times), coded.labels, NONE_MISSING)


def _weight(source: SourceTable, schema: Schema) -> tuple[str, Vector] | None:
    name = schema.columns.weight
    return (name, source.floats(name, "columns.weight")) if name else None


def _choices(
    source: SourceTable, schema: Schema, rows: Rows, weight: tuple[str, Vector] | None
) -> tuple[Choices, IntVector]:
    """The choices, and which of the rows each of theirs is."""
    whole = weight is None or bool((weight[1] == np.floor(weight[1])).all())
    kind = schema.rows.weight_kind or ("frequency" if whole else "probability")
    missing = schema.rows.missing or "error"
    check_missing(missing)
    try:
        fields, order = arranged(rows, weight_kind=kind, missing=missing)
    except DataError as error:
        raise source.placed(error) from None
    return Choices(**fields), order


def _per_option(schema: Schema, name: str, codes: OptionCodes) -> tuple[Any, ...]:
    """A column or constant of an attribute for each option; 0 of taking none of those shown."""
    cells = tuple((schema.attributes or {})[name])
    out = _place_of_none(schema, codes)
    if out is not None and len(cells) == codes.n_options - 1:
        cells = (*cells[:out], 0, *cells[out:])
    if len(cells) != codes.n_options:
        raise DataError(
            f"attributes.{name}",
            f"must say a column or constant for each of {codes.n_options} options",
            got=len(cells),
            fix="Write 0 for an option that has none.",
        )
    return cells


def _place_of_none(schema: Schema, codes: OptionCodes) -> int | None:
    out = opt_out(schema)
    return None if out is None else code_index(codes.labels)[code_key(out)]


def _constant(schema: Schema) -> str:
    """The variable that is 1 where none of the options shown is taken."""
    return f"constant:{schema.choice.opt_out}"


def _from_long(source: SourceTable, schema: Schema) -> BuiltData:
    """Build choices from a long table: one row per option, one column per attribute."""
    columns = schema.columns
    chosen = _single(columns.chosen or columns.choice, "columns.chosen")
    decision = [source.check(x, "columns.decision") for x in column_list(columns.decision)]
    if not decision:
        raise DataError(
            "columns.decision",
            "must name the column that says which rows belong together",
            got="none",
            fix="Name it.",
        )
    source, subject = named_rows(source, columns.subject, "subject")
    keys = [*([] if subject is None else [subject]), *decision]
    key, n = source.key(keys, "columns.decision")
    flags = source.chosen_flags(chosen, columns.option or None)
    nobody = np.bincount(key, weights=np.isnan(flags), minlength=n) == np.bincount(key, minlength=n)
    n_missed = int(nobody.sum())
    source = source.keep_rows(~nobody[key], "nobody decided")
    key, flags = key[~nobody[key]], flags[~nobody[key]]
    if columns.option:
        option = source.codes(_single(columns.option, "columns.option"), "columns.option")
    else:
        option = arrow_codes(pa.array(_position(key) + 1).cast(pa.string()))
    parts = tuple(source.codes(name, "columns.decision") for name in decision)
    people = _coded_people(source, subject)
    attributes = _long_attributes(schema)
    apart = {"decision": decision, "chosen": (chosen,), "weight": column_list(columns.weight)}
    check_roles({**apart, "attributes": attributes})
    role_texts = [(("decision", name), part) for name, part in zip(decision, parts, strict=True)]
    check_present([*role_texts, (("option", columns.option or PLACE), option)])
    warn_similar(option.labels.tolist(), "option")
    names = [source.check(x, "attributes.columns") for x in attributes]
    out = opt_out(schema)
    is_none = np.array([str(x) == str(out) for x in option.labels.tolist()])[option.codes]
    if out is not None:
        if not is_none.any():
            raise DataError(
                "choice.opt_out", "must be the option of some rows", got=repr(out), fix="Add them."
            )
        # What stands in these rows describes nothing: no level, and no number.
        bare = {x: pc.if_else(pa.array(is_none), None, source.table[x]) for x in names}
        source = source.with_columns(bare)
    variables: dict[str, Any] = {}
    for name in names:
        variables |= attribute_variables(source, schema, name, (name,))
    if out is not None:
        variables = {x: np.where(is_none, 0.0, np.ravel(v)) for x, v in variables.items()}
        variables[_constant(schema)] = is_none.astype(np.float64)
    flags_given = schema.available.flags
    flag_column = _single(flags_given, "available.flags") if flags_given else ""
    offset = columns.offset
    weight = _weight(source, schema)
    codes, n_decisions = joint_codes([*people, *parts])
    rows = Rows(
        ids=Ids(codes, n_decisions, parts, tuple(decision), option, people[0] if people else None),
        picked=Coded((flags == 1).astype(np.int64), np.arange(2), NONE_MISSING),
        chosen=chosen,
        variables={name: np.ravel(values) for name, values in variables.items()},
        offset=(offset, source.floats(offset, "columns.offset")) if offset else None,
        weight=weight,
        on_offer=source.floats(flag_column, "available.flags") == 1 if flag_column else None,
    )
    choices, order = _choices(source, schema, rows, weight)
    reader_arguments = {"decision": ", ".join(decision), "chosen": chosen, **_said_columns(schema)}
    if columns.option:
        reader_arguments["option"] = str(columns.option)
    reader_arguments["attributes"] = ", ".join(names)
    arguments = _arguments(list(variables), names, order)
    return BuiltData(choices, source, schema, reader_arguments, {}, arguments, n_missed=n_missed)


def _position(key: IntVector) -> IntVector:
    """Place of each row among the rows of its decision."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    place = np.empty(len(key), dtype=np.int64)
    place[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    return place


def _long_attributes(schema: Schema) -> tuple[str, ...]:
    return column_list((schema.attributes or {})[ATTRIBUTE_COLUMNS])


def attribute_variables(
    source: SourceTable, schema: Schema, name: str, cells: Sequence[Any], *, levels: bool = False
) -> dict[str, Vector]:
    """An attribute as variables: numbers as one, words as a 0/1 variable of each level but one."""
    role = f"attributes.{name}"
    texts = [cell for cell in cells if isinstance(cell, str)]
    words = texts if levels else [cell for cell in texts if _holds_words(source, cell, role)]
    if not words:
        return {name: np.column_stack([cell_numbers(source, cell, role) for cell in cells])}
    every = {str(level): level for cell in words for level in source.labels(cell, role)}
    ordered = [every[word] for word in in_natural_order(set(every))]
    reference = (schema.reference or {}).get(name, ordered[0])
    if str(reference) not in every:
        raise DataError(
            mark_argument("reference"),
            f"must be a level of {name}",
            got=f"{reference!r}, but they are {format_list(map(str, ordered))}",
            fix="Choose one.",
        )
    found = {}
    for level in ordered:
        if str(level) == str(reference):
            continue
        columns = [
            _is_level(source, cell, level, role) if cell in words else np.zeros(len(source))
            for cell in cells
        ]
        found[f"{name}:{level}"] = np.column_stack(columns)
    return found


def _is_level(source: SourceTable, name: str, level: Any, role: str) -> Vector:
    coded = source.codes(name, role)
    same = np.array([label == level for label in python_values(coded.labels)])
    values: Vector = same[coded.codes].astype(np.float64)
    values[coded.missing] = np.nan
    return values


def _holds_words(source: SourceTable, name: str, role: str) -> bool:
    if name.startswith("-") and name not in source.names:
        return False
    return source.holds_words(source.check(name, role), role)


def _keep_rows(
    source: SourceTable, options: IntVector, mask: BoolVector, reason: str
) -> tuple[SourceTable, IntVector]:
    return source.keep_rows(mask, reason), options[mask]


def _single(value: Any, role: str) -> str:
    names = column_list(value)
    if len(names) != 1:
        raise DataError(
            role, "must be one column", got=format_list(names) or "none", fix="Name it."
        )
    return names[0]


def _said_columns(schema: Schema) -> dict[str, str]:
    """Roles that all choices share, with their columns in words."""
    found = {}
    for part in ("subject", "weight"):
        names = column_list(getattr(schema.columns, part))
        if names:
            found[part] = ", ".join(names)
    return found


def _arguments(variables: list[str], attributes: list[str], rows: IntVector) -> Mapping[str, Any]:
    """Arguments kept with the choices: variables, attributes and table row of each option."""
    return {
        "attributes": attributes,
        "variables": variables,
        "sets": {"all": variables},
        "rows": rows,
    }
