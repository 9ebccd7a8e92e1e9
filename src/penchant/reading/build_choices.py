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
from penchant.reading.built import (
    Built,
    cell_numbers,
    code_options,
    named_rows,
    on_offer,
    opt_out,
    option_codes,
    sorted_positions,
    with_labels,
)
from penchant.result_tables import format_count
from penchant.tables.choice_coding import OptionCodes
from penchant.tables.labels import Coded, in_natural_order, python_values
from penchant.tables.schema import ATTRIBUTE_COLUMNS, Schema
from penchant.tables.source_table import SourceTable, code_index, code_key, column_list

PLACE = "place among the options"  # the option of a row, where no column says it


def build_choices(source: SourceTable, schema: Schema) -> Built:
    """Make choices among options with attributes.

    Parameters
    ----------
    source
        The rows that count.
    schema
        What the table is, whole.
    """
    if schema.attributes is None:
        raise DataError(
            "attributes",
            "must be given in the schema",
            got="none",
            fix="List the columns of each attribute.",
        )
    by_option = ATTRIBUTE_COLUMNS in schema.attributes
    return _from_long(source, schema) if by_option else _from_wide(source, schema)


def _from_wide(source: SourceTable, schema: Schema) -> Built:
    """One row per decision: a column or constant of each attribute for each option."""
    choice = _single(schema.columns.choice, "columns.choice")
    codes = option_codes(source, schema, choice)
    options = codes.options_of(source, choice)
    n_missed = int((options < 0).sum())
    source, options = _kept(source, options, options >= 0, "nobody decided")
    mask = on_offer(source, schema, codes)
    doubts: tuple[str, ...] = ()
    if mask is not None:
        taken = mask[np.arange(len(options)), options]
        if not taken.all():
            n_wrong = format_count(int((~taken).sum()), "row")
            doubts = (f"{n_wrong} left out, as the option taken there was not on offer.",)
            source, options = _kept(source, options, taken, "the option taken was not on offer")
            mask = mask[taken]
    n, width = len(source), codes.n_options
    attributes = {name: _per_option(schema, name, codes) for name in schema.attributes or {}}
    variables: dict[str, Any] = {}
    for name, cells in attributes.items():
        variables |= _variables(source, schema, name, cells)
    out = _place_of_none(schema, codes)
    if out is not None:
        variables[_constant(schema)] = np.tile(np.arange(width) == out, (n, 1)).astype(np.float64)
    source, subject = named_rows(source, schema.columns.subject, "subject")
    labels = tuple(str(x) for x in codes.option_names)
    shared, told = _shared(source, schema, subject)
    frame = {**shared, choice: pa.array(labels).take(pa.array(options))}
    explanatory = {name: _columns_of(frame, name, labels, own) for name, own in variables.items()}
    if mask is not None:
        told["available"] = _columns_of(frame, "available", labels, mask)
    try:
        choices = Choices.from_wide(
            pa.table(frame), chosen=choice, explanatory=explanatory, options=labels, **told
        )
    except DataError as error:
        raise source.placed(error) from None
    columns = {"chosen": choice, **_said_columns(schema)}
    columns |= {name: ", ".join(map(str, cells)) for name, cells in attributes.items()}
    arguments = _arguments(choices, list(variables), [*attributes], choices.decision_labels)
    return Built(
        choices,
        source,
        with_labels(schema, codes),
        columns,
        code_options(codes),
        arguments,
        doubts=doubts,
        n_missed=n_missed,
    )


def _columns_of(
    frame: dict[str, Any], name: str, options: Sequence[str], values: Any
) -> dict[str, str]:
    """Add a column per option, and say which each option has."""
    made = {option: f"{name} of {option}" for option in options}
    frame |= {made[option]: values[:, k] for k, option in enumerate(options)}
    return made


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


def _from_long(source: SourceTable, schema: Schema) -> Built:
    """One row per option: its attributes in columns of their own."""
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
    flags = source.taken(chosen, columns.option or None)
    nobody = np.bincount(key, weights=np.isnan(flags), minlength=n) == np.bincount(key, minlength=n)
    n_missed = int(nobody.sum())
    source = source.kept(~nobody[key], "nobody decided")
    key, flags = key[~nobody[key]], flags[~nobody[key]]
    shared, told = _shared(source, schema, subject)
    frame = {**{name: source.plain(name) for name in decision}, **shared}
    if columns.option is not None:
        option = _single(columns.option, "columns.option")
        frame[option] = source.plain(option)
        order = source.codes(option, "columns.option").codes
    else:
        option, order = PLACE, _position(key)
        frame[option] = pa.array(order + 1).cast(pa.string())
    frame[chosen] = (flags == 1).astype(np.int64)
    names = [source.check(x, "attributes.columns") for x in _long_attributes(schema)]
    out = opt_out(schema)
    is_none = np.array([str(x) == str(out) for x in frame[option].to_pylist()])
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
        variables |= _variables(source, schema, name, (name,))
    if out is not None:
        variables = {x: np.where(is_none, 0.0, np.ravel(v)) for x, v in variables.items()}
        variables[_constant(schema)] = is_none.astype(np.float64)
    frame |= {name: np.ravel(values) for name, values in variables.items() if name not in frame}
    if schema.available.flags:
        flagged = _single(schema.available.flags, "available.flags")
        frame[flagged] = source.floats(flagged, "available.flags") == 1
        told["available"] = flagged
    if columns.offset:
        frame[columns.offset] = source.floats(columns.offset, "columns.offset")
        told["offset"] = columns.offset
    try:
        choices = Choices.from_frame(
            pa.table(frame),
            decision=decision,
            option=option,
            chosen=chosen,
            explanatory=list(variables),
            **told,
        )
    except DataError as error:
        raise source.placed(error) from None
    rows = sorted_positions(key, order)
    if len(rows) > len(choices.explanatory):
        left = _is_left(choices, [source.codes(name, "columns.decision") for name in keys])
        on_offer = frame[told["available"]] if "available" in told else np.ones_like(left)
        rows = rows[(left & on_offer)[rows]]
    said = {"decision": ", ".join(decision), "chosen": chosen, **_said_columns(schema)}
    if columns.option is not None:
        said["option"] = str(columns.option)
    said["attributes"] = ", ".join(names)
    arguments = _arguments(choices, list(variables), names, None, rows)
    return Built(choices, source, schema, said, {}, arguments, n_missed=n_missed)


def _is_left(choices: Choices, parts: Sequence[Coded]) -> BoolVector:
    """Rows of the decisions that choices still have, by the labels of these."""
    assert choices.decision_labels is not None
    labels = [x if isinstance(x, tuple) else (x,) for x in choices.decision_labels.tolist()]
    if choices.subject is not None:
        people = choices.subject_labels or ()
        labels = [
            (people[k], *own) for k, own in zip(choices.subject.tolist(), labels, strict=True)
        ]
    known = set(labels)
    cells = zip(*(part.labels[part.codes].tolist() for part in parts), strict=True)
    return np.fromiter((cell in known for cell in cells), dtype=bool)


def _position(key: IntVector) -> IntVector:
    """Place of each row among the rows of its decision."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    place = np.empty(len(key), dtype=np.int64)
    place[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    return place


def _long_attributes(schema: Schema) -> tuple[str, ...]:
    return column_list((schema.attributes or {})[ATTRIBUTE_COLUMNS])


def _shared(
    source: SourceTable, schema: Schema, subject: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of people and weights under their own names, and what the constructor is told."""
    frame: dict[str, Any] = {}
    told: dict[str, Any] = {"missing": schema.rows.missing or "error"}
    if subject is not None:
        frame[subject] = source.plain(subject)
        told["subject"] = subject
    weight = schema.columns.weight
    if weight:
        weights = source.floats(weight, "columns.weight")
        frame[weight] = weights
        whole = bool((weights == np.floor(weights)).all())
        told |= {"weight": weight, "weight_kind": "frequency" if whole else "probability"}
        told["weight_kind"] = schema.rows.weight_kind or told["weight_kind"]
    return frame, told


def _variables(
    source: SourceTable, schema: Schema, name: str, cells: Sequence[Any]
) -> dict[str, Vector]:
    """An attribute as variables: numbers as one, words as a 0/1 variable of each level but one."""
    role = f"attributes.{name}"
    words = [cell for cell in cells if isinstance(cell, str) and _holds_words(source, cell, role)]
    if not words:
        return {name: np.column_stack([cell_numbers(source, cell, role) for cell in cells])}
    every = {str(level): level for cell in words for level in source.labels(cell, role)}
    levels = [every[word] for word in in_natural_order(set(every))]
    reference = (schema.reference or {}).get(name, levels[0])
    if str(reference) not in every:
        raise DataError(
            mark_argument("reference"),
            f"must be a level of {name}",
            got=f"{reference!r}, but they are {format_list(map(str, levels))}",
            fix="Choose one.",
        )
    found = {}
    for level in levels:
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


def _kept(
    source: SourceTable, options: IntVector, mask: BoolVector, reason: str
) -> tuple[SourceTable, IntVector]:
    return source.kept(mask, reason), options[mask]


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


def _arguments(
    choices: Choices,
    variables: list[str],
    attributes: list[str],
    decisions: Any = None,
    rows: IntVector | None = None,
) -> Mapping[str, Any]:
    """What the choices were made with: variables, and the row of the table of each of theirs."""
    if rows is None:
        rows = np.repeat(np.asarray(decisions, dtype=np.int64), np.diff(choices.first_row))
    return {
        "attributes": attributes,
        "variables": variables,
        "sets": {"all": variables},
        "rows": rows,
    }
