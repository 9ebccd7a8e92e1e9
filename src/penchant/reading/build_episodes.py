"""Episodes: choices and rewards in order of time, from a table of one row per decision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import Vector
from penchant.bandit.episode_table import episode_rows, episodes_from_frame
from penchant.errors import DataError, mark_argument
from penchant.reading.built import (
    Built,
    code_options,
    named_rows,
    on_offer,
    option_cells,
    option_codes,
    with_labels,
)
from penchant.reading.tasks import TASKS
from penchant.result_tables import format_count
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable, code_key, column_list

# Columns that are made: the option taken and done, the reward, and which options were on offer.
CHOSEN, EXECUTED, REWARD, ON_OFFER = "option taken", "option executed", "reward paid", "on offer"
TWO_STEP = "two-step"


def build_episodes(source: SourceTable, schema: Schema) -> Built:
    """Make episodes.

    Parameters
    ----------
    source
        The rows that count.
    schema
        What the table is, whole.
    """
    if schema.task == TWO_STEP:
        return _two_step(source, schema)
    columns = schema.columns
    choice = column_list(columns.choice)
    if not choice:
        raise DataError("columns.choice", "must be one column", got="none", fix="Name it.")
    if len(choice) > 1:
        return _at_places(source, schema, choice)
    source, told, whose = _whose(source, schema)
    codes = option_codes(source, schema, choice[0])
    options = codes.options_of(source, choice[0])
    paid = rewards(source, columns.reward)
    if codes.missed and not columns.executed:
        # What stands beside a mark of no decision is the program's filler, not a reward.
        paid = np.where((options < 0) & source.present(choice[0], "columns.choice"), np.nan, paid)
    base = codes.base
    made: dict[str, Any] = {CHOSEN: option_cells(options, base), REWARD: _nullable(paid)}
    if columns.executed:
        done = codes.options_of(source, columns.executed, "columns.executed")
        made[EXECUTED] = option_cells(done, base)
    mask = on_offer(source, schema, codes)
    offered: tuple[str, ...] = ()
    if mask is not None:
        offered = tuple(f"{ON_OFFER} {name}" for name in codes.option_names)
        made |= dict(zip(offered, mask.T, strict=True))
    source = source.with_columns(made)
    said = {"chosen": choice[0], "reward": _in_words(columns.reward), **whose}
    told |= {
        **_policies(schema),
        "chosen": CHOSEN,
        "executed": EXECUTED if columns.executed else None,
        "base": base,
        "locations": None,
        "available": offered,
    }
    episodes = episodes_from_frame(source.table, **told)
    n_missed = int((options < 0).sum())
    whole = with_labels(schema, codes)
    return Built(
        episodes,
        source,
        whole,
        said,
        code_options(codes),
        told,
        _notes(columns.trial, n_missed),
        _gap_doubts(source, schema, told),
        n_missed=n_missed,
    )


def _gap_doubts(source: SourceTable, schema: Schema, told: Mapping[str, Any]) -> tuple[str, ...]:
    """Numbers of trials that leave some out, where nobody said what that means."""
    if schema.rows.gaps is not None or not told["decision"]:
        return ()
    try:
        episode_rows(
            source.table, **{part: told[part] for part in ("subject", "block", "decision")}
        )
    except DataError as error:
        name = column_list(schema.columns.trial)[0]
        first = re.split(r", (?![^(]*\))", str(error.got), maxsplit=1)[0]  # of all places
        return (
            f"{name} {error.rule}; got {first}. It is taken for the order of rows alone: "
            f"{mark_argument('gaps', 'timeout')} takes trials without a row for missed.",
        )
    return ()


def _policies(schema: Schema) -> dict[str, Any]:
    """What the constructor is told of rows, whatever their options are."""
    return {
        "reward": REWARD,
        "is_choice": schema.columns.is_choice or None,
        "scored": schema.columns.scored or None,
        "options": None,
        "shown": schema.shown.first or 0,
        "gaps": schema.rows.gaps or "order",
        "missing_reward": schema.rows.missing_reward or "error",
    }


def _at_places(source: SourceTable, schema: Schema, choice: tuple[str, ...]) -> Built:
    """Episodes in which the option is the place whose coordinates columns say."""
    columns, places, base = schema.columns, schema.choice.places, schema.choice.base or 0
    if places is None:  # wherever one was chosen
        there = np.column_stack([source.floats(name, "columns.choice") for name in choice])
        places = np.unique(there[np.isfinite(there).all(axis=1)], axis=0) - base
    paid = rewards(source, columns.reward)
    source, told, whose = _whose(source, schema)
    source = source.with_columns({REWARD: _nullable(paid)})
    said = {"chosen": ", ".join(choice), "reward": _in_words(columns.reward), **whose}
    told |= {
        **_policies(schema),
        "chosen": choice,
        "executed": column_list(columns.executed) or None,
        "base": base,
        "locations": np.asarray(places, dtype=np.float64),
        "available": (),
    }
    episodes = episodes_from_frame(source.table, **told)
    n_missed = int(sum((one.chosen < 0).sum() for one in episodes))
    notes, doubts = _notes(columns.trial, n_missed), _gap_doubts(source, schema, told)
    return Built(episodes, source, schema, said, {}, told, notes, doubts, n_missed=n_missed)


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
    return source.floats(names[0], "columns.reward")


def _nullable(values: Vector) -> pa.Array:
    return pa.array(values, from_pandas=True)


def _in_words(given: Any) -> str:
    return ", ".join(given.values() if isinstance(given, Mapping) else column_list(given))


def _whose(
    source: SourceTable, schema: Schema
) -> tuple[SourceTable, dict[str, Any], dict[str, str]]:
    """Whose rows these are, in which block and order: for the constructor, and in words."""
    columns = schema.columns
    source, subject = named_rows(source, columns.subject, "subject")
    block: tuple[str, ...] = ()
    for name in column_list(columns.block):
        source, own = named_rows(source, name, "block")
        block = (*block, str(own))
    trial = column_list(columns.trial)
    if trial:
        source.check(trial[0], "columns.trial")
    told: dict[str, Any] = {
        "subject": subject,
        "block": None if not block else block[0] if len(block) == 1 else block,
        "decision": trial[0] if trial else None,
    }
    more = {part: getattr(columns, part) for part in ("is_choice", "scored", "executed")}
    said = {
        part: value if isinstance(value, str) else ", ".join(value)
        for part, value in (told | more).items()
        if value
    }
    return source, told, said


def _notes(trial: Any, n_missed: int) -> tuple[str, ...]:
    order = "no column numbers the trials; rows are taken to be in order of time"
    notes = () if trial else (order,)
    return (*notes, f"{format_count(n_missed, 'decision')} that nobody made") if n_missed else notes


# --- two-step ----------------------------------------------------------------------------------


def _two_step(source: SourceTable, schema: Schema) -> Built:
    """Two decisions a row: the first leads to a state, the second takes an option of it."""
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
    second = _codes(source, schema, choice[1], 4 if state is None else 2)
    led = second // 2 if state is None else state
    there = (first >= 0) & (second >= 0) & (led >= 0) & np.isfinite(paid)
    if state is not None and led[there & (first == 0)].mean() > led[there & (first == 1)].mean():
        led = 1 - led  # the first option mostly leads to the first state
    source = source.kept(there, "nobody decided")
    task = TASKS[TWO_STEP]
    cells = {
        "level1_choice": (first + 1.0)[there],
        "level2_choice": (2.0 * led + second % 2 + 1)[there],
        "reward": paid[there],
    }
    source, told, said = _whose(source, schema)
    order = np.arange(len(source))
    if told["decision"] is not None:
        order = np.argsort(source.floats(told["decision"], "columns.trial"), kind="stable")
    rows, events = task.made({name: values[order] for name, values in cells.items()})
    own = source.table.take(pa.array(order[rows]))
    table = replace(source, table=own, rows=source.rows[order[rows]]).with_columns(events)
    told |= {
        "chosen": "chosen",
        "reward": "reward",
        "decision": None,
        "before": {name: name for name in task.before},
        "base": 0,
        "options": None,
        "locations": None,
    }
    episodes = episodes_from_frame(table.table, **told)
    said |= {"chosen": ", ".join(choice), "reward": _in_words(columns.reward)}
    return Built(
        episodes,
        table,
        replace(schema, choice=replace(schema.choice, labels=schema.choice.labels or (1, 2))),
        said,
        {},
        told,
        (f"taken for the task {task.name}: {task.what}",),
        n_missed=int((~there).sum()),
        model=task.call,
        task=task.command,
    )


def _codes(
    source: SourceTable, schema: Schema, name: str, n: int, role: str = "columns.choice"
) -> Any:
    """Codes of a column of choices or states, -1 where there is none."""
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
    coded = source.codes(name, role)
    found = np.full(len(source), -1)
    keys = [code_key(label) for label in coded.labels.tolist()]
    for k, label in enumerate(labels):
        if code_key(label) in keys:
            found[coded.codes == keys.index(code_key(label))] = k
    found[coded.missing] = -1
    return found
