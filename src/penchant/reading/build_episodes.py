"""Episodes: choices and rewards in order of time, from a table of one row per decision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector, IntVector, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import (
    EventRows,
    decision_numbers,
    episodes_of_rows,
    owner_labels,
    row_flags,
)
from penchant.errors import DataError, format_list, mark_argument
from penchant.reading.built_data import (
    BuiltData,
    code_options,
    named_rows,
    on_offer,
    option_cells,
    option_codes,
    with_labels,
)
from penchant.result_tables import format_count
from penchant.tables.choice_coding import options_at
from penchant.tables.episode_order import EpisodeOrder
from penchant.tables.frames import check_roles, row_place
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable, column_list

# Columns that are made: the option taken and done, the reward, and which options were on offer.
CHOSEN, EXECUTED, REWARD, ON_OFFER = "option taken", "option executed", "reward paid", "on offer"


class _DecodedChoices(NamedTuple):
    """The option of each row, counted from 0 and -1 for none, and how it was read.

    Attributes
    ----------
    options, executed
        What was taken, and what was done.
    mask
        Options on offer, (n_rows, n_options); None where all always are.
    made
        {column: cells} that say the same in the table.
    reader_arguments
        Arguments of `episodes_from_frame` that read these columns again.
    schema
        With the codes of the options.
    codes
        {code: option}.
    """

    options: IntVector
    executed: IntVector
    mask: BoolVector | None
    made: dict[str, Any]
    reader_arguments: dict[str, Any]
    schema: Schema
    codes: dict[str, Any]


def build_episodes(source: SourceTable, schema: Schema) -> BuiltData:
    """Make episodes."""
    columns = schema.columns
    choice = column_list(columns.choice)
    if not choice:
        raise DataError("columns.choice", "must be one column", got="none", fix="Name it.")
    source, reader_arguments, role_texts = subject_rows(source, schema)
    read = _by_code if len(choice) == 1 else _by_place
    taken = read(source, schema, choice)
    paid = rewards(source, columns.reward)
    if taken.codes and schema.choice.missed and not columns.executed:
        # What stands beside a mark of no decision is the program's filler, not a reward.
        marked = source.present(choice[0], "columns.choice")
        paid = np.where((taken.options < 0) & marked, np.nan, paid)
    source = source.with_columns({**taken.made, REWARD: pa.array(paid, from_pandas=True)})
    reader_arguments |= {
        "reward": REWARD,
        "is_choice": columns.is_choice or None,
        "scored": columns.scored or None,
        "options": None,
        "shown": schema.shown.first or 0,
        "gaps": schema.rows.gaps or "order",
        "missing_reward": schema.rows.missing_reward or "error",
        **taken.reader_arguments,
    }
    check_roles(
        {part: column_list(reader_arguments[part]) for part in ("subject", "block", "decision")}
    )
    episodes, rows, order = episodes_by_columns(
        source, reader_arguments, taken.options, taken.executed, paid, available=taken.mask
    )
    n_missed = int((taken.options < 0).sum())
    return BuiltData(
        episodes,
        source,
        taken.schema,
        {"chosen": ", ".join(choice), "reward": in_words(columns.reward), **role_texts},
        taken.codes,
        {**reader_arguments, "rows": order.by_episode()},
        _notes(columns.trial, n_missed),
        () if schema.rows.gaps is not None else _gap_doubts(schema, rows, order),
        n_missed=n_missed,
    )


def episodes_by_columns(
    source: SourceTable,
    reader_arguments: Mapping[str, Any],
    options: IntVector,
    executed: IntVector,
    paid: Vector,
    *,
    context: Mapping[str, Mapping[str, Vector]] | None = None,
    available: BoolVector | None = None,
) -> tuple[list[Episode], EventRows, EpisodeOrder]:
    """Build episodes from rows with decoded options; return them, their rows and their order.

    Parameters
    ----------
    source
        The table.
    reader_arguments
        The columns of subject, block, decision, is_choice and scored, and policies, as arguments
        of `episodes_from_frame`.
    options, executed, paid
        What was taken, done and paid in each row.
    context, available
        What was seen, and on offer.
    """
    owners = owner_labels(
        source.codes, {"subject": reader_arguments["subject"], "block": reader_arguments["block"]}
    )
    trial, number = reader_arguments["decision"], None
    if trial is not None:
        number = decision_numbers(source.floats(trial, "columns.trial"), trial, owners)
    rows = EventRows(
        options,
        paid,
        owners,
        number,
        row_flags(source.codes, reader_arguments.get("is_choice"), "is_choice"),
        row_flags(source.codes, reader_arguments.get("scored"), "scored"),
        executed,
        context or {},
        available,
    )
    policies = {
        name: reader_arguments[name]
        for name in ("gaps", "shown", "missing_reward")
        if name in reader_arguments
    }
    episodes, order = episodes_of_rows(rows, **policies)
    return episodes, rows, order


def _by_code(source: SourceTable, schema: Schema, choice: tuple[str, ...]) -> _DecodedChoices:
    """Options by the codes of one column."""
    executed = schema.columns.executed
    codes = option_codes(source, schema, choice[0])
    options = codes.options_of(source.codes(choice[0], "columns.choice"), f"column {choice[0]}")
    made, done = {CHOSEN: option_cells(options, codes.base)}, options
    if executed:
        coded = source.codes(executed, "columns.executed")
        done = codes.options_of(coded, f"column {executed}")
        made[EXECUTED] = option_cells(done, codes.base)
    mask = on_offer(source, schema, codes)
    offered: tuple[str, ...] = ()
    if mask is not None:
        offered = tuple(f"{ON_OFFER} {name}" for name in codes.option_names)
        made |= dict(zip(offered, mask.T, strict=True))
    reader_arguments = {
        "chosen": CHOSEN,
        "executed": EXECUTED if executed else None,
        "base": codes.base,
        "locations": None,
        "available": offered,
    }
    return _DecodedChoices(
        options, done, mask, made, reader_arguments, with_labels(schema, codes), code_options(codes)
    )


def _by_place(source: SourceTable, schema: Schema, choice: tuple[str, ...]) -> _DecodedChoices:
    """Options by the place whose coordinates columns say."""
    places, base = schema.choice.places, schema.choice.base or 0
    there = np.column_stack([source.floats(name, "columns.choice") for name in choice])
    if places is None:  # wherever one was chosen
        places = np.unique(there[np.isfinite(there).all(axis=1)], axis=0) - base
    locations = np.asarray(places, dtype=np.float64)
    if locations.shape[1] != len(choice):
        raise DataError(
            "choice.places",
            f"must have {len(choice)} coordinates, as there are columns of choices",
            got=locations.shape[1],
        )
    options = done = options_at(there, locations, base, row_place)
    executed = column_list(schema.columns.executed)
    if executed:
        cells = np.column_stack([source.floats(name, "columns.executed") for name in executed])
        done = options_at(cells, locations, base, row_place)
    reader_arguments = {
        "chosen": choice,
        "executed": executed or None,
        "base": base,
        "locations": locations,
        "available": (),
    }
    return _DecodedChoices(options, done, None, {}, reader_arguments, schema, {})


def _gap_doubts(schema: Schema, rows: EventRows, order: EpisodeOrder) -> tuple[str, ...]:
    """Numbers of trials that leave some out, where nobody said what that means."""
    try:
        rows.check_counting(order)
    except DataError as error:
        name = column_list(schema.columns.trial)[0]
        first = re.split(r", (?![^(]*\))", str(error.got), maxsplit=1)[0]  # of all places
        return (
            f"{name} {error.rule}; got {first}. It is taken for the order of rows alone: "
            f"{mark_argument('gaps', 'timeout')} takes trials without a row for missed.",
        )
    return ()


def rewards(source: SourceTable, given: Any) -> Vector:
    """Rewards as numbers; a loss in a column of its own is lost, whatever its sign."""
    if isinstance(given, Mapping):
        gain = source.floats(given["gain"], "columns.reward")
        return gain - np.abs(source.floats(given["loss"], "columns.reward"))
    names = column_list(given)
    if len(names) != 1:
        raise DataError(
            "columns.reward",
            "must be one column, or {gain, loss}",
            got=", ".join(names) or "none",
            fix="Name it.",
        )
    name = source.check(names[0], "columns.reward")
    if source.holds_words(name, "columns.reward"):
        raise DataError(
            f"column {name}",
            "must hold what each choice paid, as a number",
            got=format_list(map(repr, source.labels(name, "columns.reward"))),
            fix="Write a number in place of each word, such as 1 and 0.",
        )
    return source.floats(name, "columns.reward")


def in_words(given: Any) -> str:
    """Text of the columns of rewards."""
    return ", ".join(given.values() if isinstance(given, Mapping) else column_list(given))


class SubjectRows(NamedTuple):
    """Rows that have a subject and block, and the columns that say so.

    Attributes
    ----------
    source
        The rows, with the columns that were made.
    reader_arguments
        Columns of subject, block and trial, as arguments of `episodes_from_frame`.
    role_texts
        {role: columns as text}, for reports.
    """

    source: SourceTable
    reader_arguments: dict[str, Any]
    role_texts: dict[str, str]


def subject_rows(source: SourceTable, schema: Schema) -> SubjectRows:
    """Find the columns of subject, block and trial of the rows."""
    columns = schema.columns
    source, subject = named_rows(source, columns.subject, "subject")
    block: tuple[str, ...] = ()
    for name in column_list(columns.block):
        source, own = named_rows(source, name, "block")
        block = (*block, str(own))
    trial = column_list(columns.trial)
    if trial:
        source.check(trial[0], "columns.trial")
    reader_arguments: dict[str, Any] = {
        "subject": subject,
        "block": None if not block else block[0] if len(block) == 1 else block,
        "decision": trial[0] if trial else None,
    }
    more = {part: getattr(columns, part) for part in ("is_choice", "scored", "executed")}
    role_texts = {
        part: value if isinstance(value, str) else ", ".join(value)
        for part, value in (reader_arguments | more).items()
        if value
    }
    return SubjectRows(source, reader_arguments, role_texts)


def _notes(trial: Any, n_missed: int) -> tuple[str, ...]:
    order = "no column numbers the trials; rows are taken to be in order of time"
    notes = () if trial else (order,)
    return (*notes, f"{format_count(n_missed, 'decision')} that nobody made") if n_missed else notes
