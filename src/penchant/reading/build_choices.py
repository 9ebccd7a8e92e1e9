"""Choices among options with attributes, from tables of one row per option or per decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector, IntVector, Vector
from penchant.choices import Choices
from penchant.errors import DataError, argument, format_list
from penchant.output import format_count
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
from penchant.tables.cells import amount
from penchant.tables.choice_coding import OptionCodes
from penchant.tables.frames import joint_codes
from penchant.tables.labels import in_natural_order, python_values
from penchant.tables.schema import ATTRIBUTE_COLUMNS, Schema
from penchant.tables.source_table import SourceTable, code_index, code_key, column_list

# Names of the columns that are handed to `Choices`; no attribute is called so.
SUBJECT, DECISION, OPTION, CHOSEN = "subject of", "decision of", "option of", "taken of"
WEIGHT, AVAILABLE, OFFSET = "weight of", "available of", "offset of"


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
            "attributes must be given in the schema; got none. List the columns of each attribute."
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
    rows = np.repeat(np.arange(n), width)
    option = np.tile(np.arange(width), n)
    frame = {
        DECISION: rows,
        OPTION: pa.array([str(x) for x in codes.option_names]).take(pa.array(option)),
        CHOSEN: (option == np.repeat(options, width)).astype(np.int64),
        **{name: np.ravel(values) for name, values in variables.items()},
    }
    if mask is not None:
        frame[AVAILABLE] = mask.ravel()
    choices = _choices(source, schema, frame, list(variables), subject, rows)
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
            "columns.decision must name the column that says which rows belong together; got none."
        )
    source, subject = named_rows(source, columns.subject, "subject")
    parts = [source.codes(x, "columns.decision") for x in decision]
    for name, own in zip(decision, parts, strict=True):
        if own.missing.size:
            raise DataError(
                f"{name} must not be missing; got an empty cell at row {own.missing[0]}."
            )
    if subject is not None:
        parts = [source.codes(subject, "columns.subject"), *parts]
    key, _ = joint_codes(parts)
    taken = source.taken(chosen, columns.option or None)
    flags = np.nan_to_num(taken, nan=-1.0)
    wrong = np.flatnonzero(~np.isin(flags, (0.0, 1.0, -1.0)))
    if wrong.size:
        raise DataError(
            f"{chosen} must say 1 for the option taken and 0 for the others; got "
            f"{taken[wrong[0]]:g} at row {wrong[0]}. Name another column, or recode it."
        )
    none = np.bincount(key, weights=flags == 1, minlength=int(key.max()) + 1) == 0
    n_missed = int(none[np.unique(key)].sum())
    source = source.kept(~none[key], "nobody decided")
    key, flags = key[~none[key]], flags[~none[key]]
    if columns.option is not None:
        option = source.codes(_single(columns.option, "columns.option"), "columns.option")
        labels = pa.array([str(x) for x in python_values(option.labels)])
        option_cells = labels.take(pa.array(option.codes))
        order = option.codes
    else:
        order = _position(key)
        option_cells = pa.array(order + 1).cast(pa.string())
    names = [source.check(x, "attributes.columns") for x in _long_attributes(schema)]
    out = opt_out(schema)
    is_none = np.array([str(x) == str(out) for x in option_cells.to_pylist()])
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
    frame = {
        DECISION: key,
        OPTION: option_cells,
        CHOSEN: (flags == 1).astype(np.int64),
        **{name: np.ravel(values) for name, values in variables.items()},
    }
    flagged = schema.available.flags
    if flagged:
        frame[AVAILABLE] = (
            source.floats(_single(flagged, "available.flags"), "available.flags") == 1
        )
    choices = _choices(source, schema, frame, list(variables), subject, np.arange(len(source)))
    rows = sorted_positions(key, order)
    rows = rows[np.isin(key[rows], np.asarray(choices.decision_labels))]
    said = {"decision": ", ".join(decision), "chosen": chosen, **_said_columns(schema)}
    if columns.option is not None:
        said["option"] = str(columns.option)
    said["attributes"] = ", ".join(names)
    arguments = _arguments(choices, list(variables), names, None, rows)
    return Built(choices, source, schema, said, {}, arguments, n_missed=n_missed)


def _position(key: IntVector) -> IntVector:
    """Place of each row among the rows of its decision."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    place = np.empty(len(key), dtype=np.int64)
    place[order] = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    return place


def _long_attributes(schema: Schema) -> tuple[str, ...]:
    return column_list((schema.attributes or {})[ATTRIBUTE_COLUMNS])


def _choices(
    source: SourceTable,
    schema: Schema,
    frame: dict[str, Any],
    variables: Sequence[str],
    subject: str | None,
    rows: IntVector,
) -> Choices:
    """The choices, by the columns that a builder made; `rows` are those of the table."""
    told: dict[str, Any] = {}
    if subject is not None:
        frame[SUBJECT] = source.table[subject].take(pa.array(rows))
        told["subject"] = SUBJECT
    weight = schema.columns.weight
    if weight:
        weights = source.floats(weight, "columns.weight")
        frame[WEIGHT] = weights[rows]
        told["weight"] = WEIGHT
        whole = bool((weights == np.floor(weights)).all())
        usual = "frequency" if whole else "probability"
        told["weight_kind"] = schema.rows.weight_kind or usual
    if schema.columns.offset:
        frame[OFFSET] = source.floats(schema.columns.offset, "columns.offset")[rows]
        told["offset"] = OFFSET
    if AVAILABLE in frame:
        told["available"] = AVAILABLE
    if schema.rows.missing:
        told["missing"] = schema.rows.missing
    try:
        return Choices.from_frame(
            pa.table(frame),
            decision=DECISION,
            option=OPTION,
            chosen=CHOSEN,
            explanatory=list(variables),
            **told,
        )
    except DataError as error:
        raise source.placed(error, rows) from None


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
            argument("reference"),
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
    if not pa.types.is_string(source.table[source.check(name, role)].type):
        return False
    try:
        source.floats(name, role)
    except DataError:
        cells = [str(x) for x in source.labels(name, role)]
        numbers = [x for x in cells if amount(x) is not None or amount(x, ",") is not None]
        if len(numbers) > len(cells) / 2:  # numbers, of which some are written otherwise
            raise
        return True
    return False


def _kept(
    source: SourceTable, options: IntVector, mask: BoolVector, reason: str
) -> tuple[SourceTable, IntVector]:
    return source.kept(mask, reason), options[mask]


def _single(value: Any, role: str) -> str:
    names = column_list(value)
    if len(names) != 1:
        raise DataError(f"{role} must be one column; got {format_list(names) or 'none'}. Name it.")
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
