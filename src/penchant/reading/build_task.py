"""Named tasks: their documented columns and codes as events or offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector, IntVector, Vector
from penchant.errors import DataError, format_names, mark_argument
from penchant.reading.build_episodes import episodes_by_columns, in_words, rewards, subject_rows
from penchant.reading.build_offers import build_offers
from penchant.reading.built_data import BuiltData
from penchant.reading.tasks import CALLED, Columns, NamedTask, is_coded, task_columns
from penchant.result_tables import format_count
from penchant.tables.columns import in_condition, named_column
from penchant.tables.schema import ChoiceCodes, Schema
from penchant.tables.source_table import SourceTable, code_key, column_list

TWO_STEP = "two-step"


def build_task(source: SourceTable, schema: Schema, task: NamedTask) -> BuiltData:
    """Make the data of a named task."""
    columns: dict[str, str] = {}
    if task.name == TWO_STEP:
        cells = _two_step_cells(source, schema)
    else:
        columns = _columns(source, schema, task)
        role = f"task {task.name}"
        cells = {name: source.floats(column, role) for name, column in columns.items()}
    _check_codes(task, cells, columns)
    if task.offers:
        built = _offers(source, schema, task, cells, columns)
        model = task.call
    else:
        built = _episodes(source, schema, task, cells)
        n_options = 1 + max((int(e.chosen.max()) for e in built.data if e.n_events), default=0)
        model = task.call.format(n=max(2, n_options))
    notes: tuple[str, ...] = (f"taken for the task {task.name}: {task.description}",)
    if columns:  # by their documented names and codes
        notes = (*notes, task.codes)
    return replace(
        built,
        columns={**columns, **built.columns},
        notes=(*notes, *built.notes),
        model=model,
        task=task.command,
    )


def _columns(source: SourceTable, schema: Schema, task: NamedTask) -> dict[str, str]:
    """The column of the table for each that the task documents: by role, or by its name."""
    found = task_columns(task, source.names)
    for role, name in task.roles.items():
        own = column_list(getattr(schema.columns, role))
        if len(own) == 1:
            found[name] = source.check(own[0], f"columns.{role}")
    missing = [name for name, column in found.items() if column is None]
    if missing:
        raise DataError(
            mark_argument("task"),
            f"{task.name} must have columns {', '.join(task.columns)}",
            got=f"none for {', '.join(missing)}, but {format_names(source.names)}",
            fix="Rename them.",
        )
    return {name: str(column) for name, column in found.items()}


def _check_codes(task: NamedTask, cells: Columns, columns: Mapping[str, str]) -> None:
    """Raise an error if a column holds what is no code of the task; what is missing is none."""
    for name, known in task.values.items():
        values = cells[name]
        given = np.isfinite(values) & ((values >= 0) | (not is_coded(name)))
        wrong = np.flatnonzero(given & ~np.isin(values, [*known] if len(known) < 100 else values))
        if len(known) >= 100:
            wrong = np.flatnonzero(given & ((values < min(known)) | (values % 1 != 0)))
        if not wrong.size:
            continue
        few = len(known) < 10
        rule = f"one of {', '.join(map(str, known))}" if few else f"{min(known)} or more"
        own = in_condition(columns[name])
        value = f"{values[wrong[0]]:g}"
        raise DataError(
            f"column {columns[name]}",
            f"must hold {'' if few else 'whole numbers, '}{rule} for the task {task.name}",
            got=f"{value} at row {wrong[0]}",
            fix=f"Pass {mark_argument('keep', f'{own} != {value}')} if nobody decided there, or "
            f"recode it: {task.codes}.",
        )


# --- offers --------------------------------------------------------------------------------------


def _offers(
    source: SourceTable,
    schema: Schema,
    task: NamedTask,
    cells: Columns,
    columns: Mapping[str, str],
) -> BuiltData:
    """Build offers of a named task from columns of the table and columns derived from them."""
    _, made = task.convert(cells)
    stage = named_column(("assessment_stage",), source.names)
    scored = schema.columns.scored
    notes: tuple[str, ...] = ()
    if stage is not None and task.command == "cambridge" and not scored:
        practised = np.nan_to_num(source.floats(stage, "columns.scored")) <= 0
        made["after_practice"], scored = (~practised).astype(float), "after_practice"
        notes = (f"{stage} 0 is practice: not scored",)
    source = source.with_columns(
        {name: pa.array(values, from_pandas=True) for name, values in made.items()}
    )

    def called(cell: Any) -> Any:
        if isinstance(cell, tuple):
            return tuple(map(called, cell))
        return columns.get(cell, cell) if isinstance(cell, str) else cell

    offers = {name: tuple(map(called, each)) for name, each in task.offers.items()}
    chosen = str(called(task.chosen))
    n_options = len(next(iter(offers.values())))
    codes = schema.choice
    if codes.labels is None:
        below = source.floats(chosen, "columns.choice") < 0
        taken = source.floats(chosen, "columns.choice")[below]
        codes = ChoiceCodes(
            tuple(range(task.base, task.base + n_options)),
            codes.names,
            codes.missed if codes.missed is not None else tuple(np.unique(taken).tolist()),
        )
    whole = replace(
        schema,
        task=None,
        attributes=offers,
        choice=codes,
        columns=replace(schema.columns, choice=chosen, scored=scored),
    )
    built = build_offers(source, whole)
    return replace(built, schema=replace(schema, kind="offers"), notes=(*notes, *built.notes))


# --- episodes ------------------------------------------------------------------------------------


def _episodes(source: SourceTable, schema: Schema, task: NamedTask, cells: Columns) -> BuiltData:
    """Episodes of events that are made of the rows without a gap."""
    there: BoolVector = np.asarray(np.isfinite(np.column_stack(list(cells.values()))).all(axis=1))
    for name, values in cells.items():
        there = there & (values >= 0) if is_coded(name) else there
    n_missed = int((~there).sum())
    source, reader_arguments, role_texts = subject_rows(source, schema)
    blocks = column_list(reader_arguments["block"])
    owners = [*column_list(reader_arguments["subject"]), *blocks]
    rows = _in_order(source, owners, column_list(reader_arguments["decision"]), there)
    events, made = task.convert({name: values[rows] for name, values in cells.items()})
    gap = {"a gap in what the task needs": n_missed} if n_missed else {}
    table = replace(
        source,
        table=source.table.take(pa.array(rows[events])),
        rows=source.rows[rows[events]],
        excluded={**source.excluded, **gap},
    ).with_columns({name: pa.array(values) for name, values in made.items()})
    context = {
        "before": {CALLED.get(name, name): name for name in task.before},
        "after": {CALLED.get(name, name): name for name in task.after},
    }
    nothing = ("options", "locations", "decision", "is_choice", "scored", "executed")
    reader_arguments |= {
        "chosen": "chosen",
        "reward": "reward",
        "available": task.available,
        "base": 0,
    }
    reader_arguments |= {**context, **dict.fromkeys(nothing)}
    options = made["chosen"].astype(np.int64)
    episodes, _, order = episodes_by_columns(
        table,
        reader_arguments,
        options,
        options,
        made["reward"],
        context={
            role: {name: made[own] for name, own in names.items()}
            for role, names in context.items()
        },
        available=np.column_stack([made[name] == 1 for name in task.available])
        if task.available
        else None,
    )
    if task.name == TWO_STEP:
        choice = column_list(schema.columns.choice)
        role_texts |= {"chosen": ", ".join(choice), "reward": in_words(schema.columns.reward)}
        codes = replace(schema.choice, labels=schema.choice.labels or (1, 2))
        schema = replace(schema, choice=codes)
    return BuiltData(
        episodes,
        table,
        schema,
        role_texts,
        arguments={**reader_arguments, "rows": order.by_episode()},
        notes=(f"{format_count(n_missed, 'row')} with a gap left out",) if n_missed else (),
        n_missed=n_missed,
    )


def _in_order(
    source: SourceTable, groups: list[str], trial: tuple[str, ...], there: BoolVector
) -> IntVector:
    """Rows without a gap in the order of their numbers, no two of which may be one in a block."""
    rows = np.flatnonzero(there)
    if not trial:
        return rows
    numbers: Vector = source.floats(trial[0], "columns.trial")[rows]
    key, _ = source.key(groups, "columns.block")
    order = np.lexsort((numbers, key[rows]))
    same = (np.diff(numbers[order]) == 0) & (np.diff(key[rows][order]) == 0)
    if same.any():
        row = rows[order[np.flatnonzero(same)[0] + 1]]
        raise DataError(
            f"column {trial[0]}",
            "must differ between the rows of a person and a block",
            got=f"{source.floats(trial[0], 'columns.trial')[row]:g} again at row {row}",
            fix=f"Name {mark_argument('block')}, the column of blocks or sessions, or drop "
            "repeated rows.",
        )
    return rows[np.argsort(numbers, kind="stable")]


# --- two-step ------------------------------------------------------------------------------------


def _two_step_cells(source: SourceTable, schema: Schema) -> Columns:
    """Both choices, the state between and the reward, from codes of any kind."""
    columns = schema.columns
    choice = column_list(columns.choice)
    if len(choice) != 2:
        raise DataError(
            "columns.choice",
            "must be the two columns of a two-step task",
            got=", ".join(choice) or "none",
            fix="Name both.",
        )
    paid = rewards(source, columns.reward)
    first = _codes(source, schema, choice[0], 2)
    state = None if not columns.state else _codes(source, schema, columns.state, 2, "columns.state")
    four = state is None or len(source.labels(choice[1], "columns.choice")) > 3
    second = _codes(source, schema, choice[1], 4 if four else 2)
    led = np.floor(second / 2) if state is None else state
    there = np.isfinite(first + second + led + paid)
    if four and len(np.unique(np.column_stack([led, second // 2])[there], axis=0)) > 2:
        raise DataError(
            f"column {choice[1]}",
            "must have two codes in each state, the lower two in one of them",
            got=f"codes that do not go with {columns.state}",
            fix="Recode it to 1 and 2 in both states.",
        )
    if state is not None and led[there & (first == 0)].mean() > led[there & (first == 1)].mean():
        led = 1 - led  # the first option mostly leads to the first state
    return {"level1_choice": first + 1, "level2_choice": 2 * led + second % 2 + 1, "reward": paid}


def _codes(
    source: SourceTable, schema: Schema, name: str, n: int, role: str = "columns.choice"
) -> Vector:
    """Codes of a column of choices or states, counted from 0; NaN where there is none."""
    nothing = {str(code) for code in column_list(schema.choice.missed) if code != ""}
    labels = [x for x in source.labels(name, role) if str(x) not in nothing]
    if {code_key(label) for label in labels} <= {k + 1.0 for k in range(n)}:
        labels = [k + 1 for k in range(n)]  # not all of which must occur
    if len(labels) != n:
        raise DataError(
            f"column {name}",
            f"must hold {n} codes for a two-step task",
            got=", ".join(map(str, labels)),
            fix="List codes of decisions that nobody made in choice.missed.",
        )
    place = {code_key(label): float(k) for k, label in enumerate(labels)}
    coded = source.codes(name, role)
    codes = np.array([place.get(code_key(label), np.nan) for label in coded.labels.tolist()])
    found: Vector = codes[coded.codes]
    found[coded.missing] = np.nan
    return found
