"""Overview and export of a study: counts by stage, one row per choice, a folder for the analysis.

Rows are streamed a few people at a time, in constant memory, while others play. The folder follows
Psych-DS: tables as CSV and Parquet, raw events, a description of every column, and a task file that
`penchant study` takes.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pa_parquet
from sqlalchemy import Connection, func, select

from penchant.errors import DataError
from penchant.files.atomic_files import remove_at_end, write_error
from penchant.task.choice_tasks import GridTask
from penchant.task.session_store import (
    NotSavedError,
    Store,
    decisions,
    events,
    people,
    sessions,
    studies,
)
from penchant.task.study_plan import Block, StudyCondition, StudyPlan, parse_plan

STALLED_SECONDS = 120.0  # a page in use sends a request at every decision, so this is long
MAX_LISTED_PEOPLE = 200  # the overview is made every second, and its size must not grow for ever
FUNNEL_STAGES = ("arrived", "consented", "passed", "playing", "finished")


def study_overview_json(
    connection: Connection, plan_of_version: Callable[[str], StudyPlan], now: float
) -> dict[str, Any]:
    """Counts by stage, conditions, and the people seen last."""
    rows = connection.execute(
        select(sessions).order_by(sessions.c.seen.desc()).limit(MAX_LISTED_PEOPLE)
    ).mappings()
    return {
        "funnel": counts_by_stage(connection),
        "outcomes": _counts_by_value(connection, sessions.c.outcome),
        "cells": _condition_counts(connection, plan_of_version),
        "decisions": connection.scalar(select(func.count()).select_from(decisions)) or 0,
        "people": [_person_summary(row, plan_of_version(row["version"]), now) for row in rows],
    }


def counts_by_stage(connection: Connection) -> dict[str, int]:
    """Number of people who reached each stage."""
    grouped = connection.execute(
        select(
            sessions.c.stage,
            sessions.c.outcome,
            sessions.c.cell.is_not(None),
            (sessions.c.block > 0) | (sessions.c.decision > 0),
            func.count(),
        ).group_by(
            sessions.c.stage,
            sessions.c.outcome,
            sessions.c.cell.is_not(None),
            (sessions.c.block > 0) | (sessions.c.decision > 0),
        )
    )
    found = dict.fromkeys(FUNNEL_STAGES, 0)
    for stage, outcome, assigned, has_played, count in grouped:
        found["arrived"] += count
        found["consented"] += count * (stage != "consent" and outcome != "no consent")
        found["passed"] += count * bool(assigned)
        found["playing"] += count * bool(stage == "play" or has_played)
        found["finished"] += count * (outcome == "completed")
    return found


def _counts_by_value(connection: Connection, column: Any) -> dict[str, int]:
    rows = connection.execute(select(column, func.count()).group_by(column))
    return {str(value): count for value, count in rows if value is not None}


def _condition_counts(
    connection: Connection, plan_of_version: Callable[[str], StudyPlan]
) -> list[dict[str, Any]]:
    rows = connection.execute(
        select(sessions.c.version, sessions.c.cell, sessions.c.outcome == "completed", func.count())
        .where(sessions.c.cell.is_not(None))
        .group_by(sessions.c.version, sessions.c.cell, sessions.c.outcome == "completed")
    )
    found: dict[str, dict[str, Any]] = {}
    for version, cell, is_done, count in rows:
        name = condition_name(plan_of_version(version), cell)
        entry = found.setdefault(name, {"condition": name, "assigned": 0, "finished": 0})
        entry["assigned"] += count
        entry["finished"] += count * bool(is_done)
    return sorted(found.values(), key=lambda entry: str(entry["condition"]))


def condition_name(plan: StudyPlan, cell: int) -> str:
    r"""Describe a condition by its labels.

    >>> from penchant.task.study_plan import read_study_text
    >>> plan = read_study_text('[conditions]\nlandscape=["a","b"]\n[[block]]\ntask="grid"')
    >>> condition_name(plan, 1)
    'landscape b'
    """
    labels = plan.cells[cell].labels
    return ", ".join(f"{name} {value}" for name, value in labels.items()) or "all"


def _person_summary(row: Any, plan: StudyPlan, now: float) -> dict[str, Any]:
    cell = row["cell"]
    blocks = () if cell is None else plan.cells[cell].blocks
    total = sum(block.task.n_decisions for block in blocks)
    before = sum(block.task.n_decisions for block in blocks[: row["block"]])
    idle = max(0.0, now - row["seen"])
    is_over = row["outcome"] is not None
    # after the last decision of the last block the position lies beyond all decisions
    done = total if row["outcome"] == "completed" else min(before + row["decision"], total)
    return {
        "session": row["session"],
        "person": row["pseudonym"],
        "stage": row["stage"],
        "outcome": row["outcome"],
        "condition": None if cell is None else condition_name(plan, cell),
        "block": row["block"],
        "done": done,
        "of": total,
        "points": round(row["total"], 2),
        "idle": round(idle),
        "stalled": not is_over and idle > STALLED_SECONDS,
    }


def person_json(
    connection: Connection, session: int, plan_of_version: Callable[[str], StudyPlan], now: float
) -> dict[str, Any] | None:
    """Summary, choices of the present block, and last events of a person; None if unknown."""
    row = connection.execute(select(sessions).where(sessions.c.session == session)).mappings()
    found = row.first()
    if found is None:
        return None
    plan = plan_of_version(found["version"])
    about = _person_summary(found, plan, now)
    rows = connection.execute(
        select(decisions)
        .where(decisions.c.session == session)
        .order_by(decisions.c.block, decisions.c.decision)
    ).mappings()
    taken = [dict(one) for one in rows]
    block = taken[-1]["block"] if taken else found["block"]
    here = [one for one in taken if one["block"] == block]
    about["choices"] = [
        {name: one[name] for name in ("decision", "option", "reward", "auto")} for one in here
    ]
    if found["cell"] is not None:
        about["task"] = plan.cells[found["cell"]].blocks[block].task.page_settings()
    query = (
        select(events.c.kind, events.c.received)
        .where(events.c.session == session)
        .order_by(events.c.event.desc())
        .limit(12)
    )
    about["events"] = [
        {"kind": kind, "ago": round(max(0.0, now - received))}
        for kind, received in connection.execute(query)
    ]
    return about


# stored among the client's data, because an adaptive offer cannot be derived from its number
OFFER_KEY = "offer"
PEOPLE_PER_READ = 20  # an export of any size fits in memory, and short reads keep the WAL small
EXCLUDED_OUTCOMES = ("no consent", "withdrawn")

ADVICE_COLUMNS = {"executed": int, "advised": int, "p_better": float, "advice_reason": str}
COLUMNS: Mapping[str, tuple[type, str]] = {
    "subject": (str, "Pseudonym of the person"),
    "platform_id": (str, "Id that the recruiting platform gave the person"),
    "session": (int, "Number of the session"),
    "outcome": (str, "How the session ended; empty where it has not"),
    "block": (str, "Name of the block; beliefs start afresh in each"),
    "decision": (int, "Number of the decision in the block, from 0"),
    "chosen": (int, "Index of the option taken, from 0"),
    "reward": (float, "What the choice paid, as it was shown"),
    "scored": (int, "0 where the server chose because time was up, else 1"),
    "auto": (int, "1 where time was up without a mark: the last choice was repeated"),
    "rt_ms": (float, "Milliseconds from the onset to the choice, by the clock of the browser"),
    "changes": (int, "How often the mark was moved before the choice"),
    "input": (str, "mouse, touch, pen, keyboard or simulated"),
    "elapsed_s": (float, "Seconds from the onset to the receipt, by the clock of the server"),
    "received": (str, "When the server received the choice (UTC)"),
}


@dataclass(frozen=True)
class ExportTable:
    """Blocks whose choices belong in one table, as one analysis is right for all of them.

    Attributes
    ----------
    name
        Of its table.
    settings
        All that the analysis depends on: the same in all blocks of the group, and another in
        every other group of the same kind of task.
    levels
        Values of each condition.
    extra_column_types
        Columns that the conditions and the task add, with their types.
    landscapes
        Mean rewards by label: the name of the landscape, with a number where a name has stood for
        several.
    """

    name: str
    kind: str
    practice: bool
    pays: bool
    analysis: Mapping[str, Any]
    settings: Mapping[str, Any]
    levels: Mapping[str, tuple[Any, ...]]
    extra_column_types: Mapping[str, type]
    landscapes: Mapping[str, tuple[float, ...]]

    @property
    def conditions(self) -> list[str]:
        """Conditions that differ between the people of this table."""
        return [name for name, values in self.levels.items() if len(values) > 1]

    @property
    def title(self) -> str:
        """The name as people read it."""
        return f"practice {self.name}" if self.practice else self.name


def table_settings(plan: StudyPlan, block: Block) -> dict[str, Any]:
    """Settings that must agree between blocks of one table.

    Amounts in different units are kept apart, unless a condition of the study varies the unit.
    """
    conditions = [] if block.practice else list(plan.cells[0].labels)
    setting, unit = block.task.unit_setting_and_unit
    return {
        **block.task.analysis_settings(),
        **({} if setting in conditions else {"unit": unit}),
        "conditions": conditions,
        "advice": block.advice,
    }


def landscape_label(task: GridTask, known: Mapping[str, tuple[float, ...]]) -> str:
    """Name of the landscape, with a number where the name stands for other mean rewards, too.

    >>> from penchant.task.choice_tasks import RewardNoise
    >>> task = GridTask(90, 2, 1, "hill", (1.0, 2.0), RewardNoise())
    >>> landscape_label(task, {}), landscape_label(task, {"hill": (3.0, 4.0)})
    ('hill', 'hill (2)')
    """
    numbered = (f"{task.landscape} ({n})" for n in itertools.count(2))
    labels = itertools.chain([task.landscape], numbered)
    return next(label for label in labels if known.get(label, task.means) == task.means)


class StoreExport:
    """Contents of a store as rows and events, grouped into tables."""

    def __init__(self, store: Store, *, with_ids: bool = False) -> None:
        self.store, self.with_ids = store, with_ids
        with store.read_connection() as connection:
            found = connection.execute(
                select(studies.c.version, studies.c.document).order_by(studies.c.first_served)
            ).all()
        self.plans = {row.version: parse_plan(json.loads(row.document)) for row in found}
        self._seed = int(store.stored_setting("seed"))
        self._groups: dict[tuple[Any, ...], ExportTable] = {}
        for plan in self.plans.values():
            for cell in plan.cells:
                for block in cell.blocks:
                    self._add_block(plan, cell, block)

    @property
    def groups(self) -> list[ExportTable]:
        """Tables, those of practice last."""
        return sorted(self._groups.values(), key=lambda group: group.practice)

    def _group_key(self, plan: StudyPlan, block: Block) -> tuple[Any, ...]:
        return block.practice, block.task.kind, json.dumps(table_settings(plan, block))

    def _add_block(self, plan: StudyPlan, cell: StudyCondition, block: Block) -> None:
        key, task = self._group_key(plan, block), block.task
        group = self._groups.get(key) or self._new_group(plan, block)
        labels = {} if block.practice else cell.labels
        levels = {
            name: values if labels[name] in values else (*values, labels[name])
            for name, values in group.levels.items()
        }
        landscapes = dict(group.landscapes)
        if isinstance(task, GridTask):
            landscapes[landscape_label(task, landscapes)] = task.means
        self._groups[key] = replace(group, levels=levels, landscapes=landscapes)

    def _new_group(self, plan: StudyPlan, block: Block) -> ExportTable:
        """Make the table of a block that fits into no earlier one."""
        kind = block.task.kind
        same_kind = [
            g for g in self._groups.values() if (g.practice, g.kind) == (block.practice, kind)
        ]
        factors = {} if block.practice else plan.cells[0].labels
        columns = {**factors, **block.task.export_columns(0, (0,))}
        given = ADVICE_COLUMNS if block.advice == "suggest" else {}
        return ExportTable(
            name=f"{kind}{len(same_kind) + 1}" if same_kind else kind,
            kind=kind,
            practice=block.practice,
            pays=block.task.pays,
            analysis=block.task.analysis_settings(),
            settings=table_settings(plan, block),
            levels=dict.fromkeys(factors, ()),
            extra_column_types={
                **{name: _column_type(value) for name, value in columns.items()},
                **given,
            },
            landscapes={},
        )

    def rows(self) -> Iterator[tuple[ExportTable, dict[str, Any]]]:
        """Yield every choice of people who consented, with its table, in order of sessions."""
        last = 0
        while True:
            with self.store.read_connection() as connection:
                query = (
                    select(sessions, people.c.platform_id)
                    .outerjoin(people, people.c.session == sessions.c.session)
                    .where(sessions.c.session > last)
                    .order_by(sessions.c.session)
                    .limit(PEOPLE_PER_READ)
                )
                people_rows = {row["session"]: row for row in connection.execute(query).mappings()}
                if not people_rows:
                    return
                taken = (
                    connection.execute(
                        select(decisions)
                        .where(decisions.c.session.in_(list(people_rows)))
                        .order_by(decisions.c.session, decisions.c.block, decisions.c.decision)
                    )
                    .mappings()
                    .all()
                )
            last = max(
                people_rows
            )  # by key, not by offset: removed people do not shift the next page
            for row in taken:
                if people_rows[row["session"]]["outcome"] not in EXCLUDED_OUTCOMES:
                    yield self._choice_row(people_rows[row["session"]], row)

    def _choice_row(
        self, session_row: Any, decision_row: Any
    ) -> tuple[ExportTable, dict[str, Any]]:
        plan = self.plans[session_row["version"]]
        cell = plan.cells[session_row["cell"]]
        block = cell.blocks[decision_row["block"]]
        group = self._groups[self._group_key(plan, block)]
        seed = self._seed if plan.seed is None else plan.seed
        walk = (seed, "walk", decision_row["session"], decision_row["block"])
        client = json.loads(decision_row["client"])
        marks = client.get("marks", ())
        onset, taken = client.get("onset_ms"), client.get("taken_ms")
        offer_index = client[OFFER_KEY] if block.task.is_adaptive else None
        found = {
            "subject": session_row["pseudonym"],
            "session": decision_row["session"],
            "outcome": session_row["outcome"],
            "block": _block_label(cell, decision_row["block"]),
            "decision": decision_row["decision"],
            "chosen": decision_row["option"],
            "reward": decision_row["reward"],
            "scored": int(not decision_row["auto"]),
            "auto": int(decision_row["auto"]),
            "rt_ms": None if onset is None or taken is None else round(taken - onset, 2),
            "changes": max(0, len(marks) - 1),
            "input": client.get("input"),
            "elapsed_s": None
            if decision_row["elapsed"] is None
            else round(decision_row["elapsed"], 4),
            "received": _iso_time(decision_row["received"]),
            **({} if block.practice else {k: _condition_label(v) for k, v in cell.labels.items()}),
            **block.task.export_columns(decision_row["decision"], walk, offer_index),
        }
        if isinstance(block.task, GridTask):
            found["landscape"] = landscape_label(block.task, group.landscapes)
        if block.advice == "suggest":
            made = client.get("advice", {})
            # models describe what the person proposed; what was executed may be the advice
            found["chosen"] = client.get("proposed", decision_row["option"])
            found |= {"executed": decision_row["option"], "advised": made.get("option")}
            found |= {"p_better": made.get("p_better"), "advice_reason": made.get("reason")}
        if self.with_ids:
            found["platform_id"] = session_row["platform_id"]
        return group, found

    def columns(self, group: ExportTable) -> dict[str, type]:
        """Ordered columns of a table with their types."""
        plain = {
            name: type_
            for name, (type_, _) in COLUMNS.items()
            if (self.with_ids or name != "platform_id") and (group.pays or name != "reward")
        }
        first = {name: plain.pop(name) for name in list(plain)[: 2 + self.with_ids]}
        return {**first, **group.extra_column_types, **plain}

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield all logged events in order of arrival."""
        last = 0
        while True:
            with self.store.read_connection() as connection:
                found = (
                    connection.execute(
                        select(events, sessions.c.pseudonym)
                        .join(sessions, sessions.c.session == events.c.session)
                        .where(events.c.event > last)
                        .order_by(events.c.event)
                        .limit(2000)
                    )
                    .mappings()
                    .all()
                )
            if not found:
                return
            for row in found:
                last = row["event"]
                yield {
                    "subject": row["pseudonym"],
                    "session": row["session"],
                    "kind": row["kind"],
                    "data": json.loads(row["data"]),
                    "received": _iso_time(row["received"]),
                }


def _block_label(cell: StudyCondition, index: int) -> str:
    """Name of a block, with its position where another has the same name."""
    names = [block.name for block in cell.blocks]
    return names[index] if names.count(names[index]) == 1 else f"{names[index]} ({index + 1})"


def _condition_label(value: Any) -> Any:
    """Format a level of a condition as one cell: a list would be read as several columns.

    >>> _condition_label([10, 20.5]), _condition_label("a")
    ('10 | 20.5', 'a')
    """
    return " | ".join(map(str, value)) if isinstance(value, list) else value


def _column_type(value: Any) -> type:
    # integers become float, because a later block may have fractions in the same column
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str
    return float


def _iso_time(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
ROWS_PER_BATCH = 4_000  # held in memory at once; fewer would make many small Parquet row groups
# a spreadsheet would run a cell that begins so as a formula (CSV injection, OWASP)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(value: Any) -> Any:
    """Escape a cell that a spreadsheet would take for a formula.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula(-2.5), escape_formula("ann")
    ("'=1+1", -2.5, 'ann')
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def csv_lines(store: Store) -> Iterator[str]:
    """Yield CSV text of all choices with the columns that all tasks share."""
    exported = StoreExport(store)
    names = [name for name in COLUMNS if name != "platform_id"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*names, "task"])
    for group, row in exported.rows():
        if not group.practice:
            writer.writerow([*(escape_formula(row[name]) for name in names), group.name])
        if buffer.tell() > 30_000:  # characters; a chunk per line would cost a system call each
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


@dataclass(frozen=True)
class ExportSummary:
    """Summary of a written export.

    Attributes
    ----------
    counts
        Rows of each table.
    notes
        Reasons for several tables of one kind of task, and landscapes that were renamed.
    tasks
        Arguments of `penchant study`: the folder, and the file of each table beyond the first.
    """

    counts: Mapping[str, int]
    notes: Sequence[str]
    tasks: Sequence[str]

    def commands(self, folder: Path, results: str) -> list[str]:
        """Commands that analyse each table.

        >>> summary = ExportSummary({"grid": 90, "offers": 20}, (), ("", "task-offers.toml"))
        >>> for command in summary.commands(Path("collected"), "results"):
        ...     print(command)
        penchant study collected -o results
        penchant study collected/task-offers.toml -o results-offers
        """
        found = []
        for task in self.tasks:
            name = task.removeprefix("task").removesuffix(".toml")
            words = ["penchant", "study", str(folder / task), "-o", results + name]
            found.append(shlex.join(words))
        return found


def export(store: Store, folder: str | Path, *, with_ids: bool = False) -> ExportSummary:
    """Write all collected data to a new folder, while people play.

    Parameters
    ----------
    store
        Where it is.
    folder
        New folder; it is there whole or not at all.
    with_ids
        Whether ids of the recruiting platform are written; else pseudonyms alone.

    Returns
    -------
    What was written.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(
            "output",
            "must be a new folder",
            got=f"{folder}, which exists",
            fix="Choose another name.",
        )
    if not target.resolve().parent.is_dir():
        raise DataError(
            "output",
            "must lie in an existing directory",
            got=folder,
            fix=f"Create {target.parent} first.",
        )
    part = target.resolve().with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with remove_at_end(part):
            # written beside the target and renamed: nobody can take half an export for a whole
            part.mkdir(mode=0o700)
            summary = _write_folder(StoreExport(store, with_ids=with_ids), part)
            part.chmod(0o755)
            if target.is_dir():
                target.rmdir()
            os.replace(part, target)
    except OSError as error:
        raise write_error(target, error) from error
    except NotSavedError as error:
        raise DataError(
            "STORE", "must be readable", got=f"{store.name}: {error}", fix="Try again."
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return summary


def _write_folder(exported: StoreExport, folder: Path) -> ExportSummary:
    data = folder / "data"
    data.mkdir()
    (folder / "raw").mkdir()
    plan = list(exported.plans.values())[
        -1
    ]  # a study may be edited while it runs: titles are the latest
    with ExitStack() as stack:
        tables: dict[str, _TableWriter] = {}
        for group, row in exported.rows():
            if group.title not in tables:
                tables[group.title] = stack.enter_context(
                    _TableWriter(exported, group, plan, folder)
                )
            tables[group.title].add(row)
    with (folder / "raw" / "events.jsonl").open("w", encoding="utf-8") as stream:
        for event in exported.events():
            stream.write(json.dumps(event, ensure_ascii=False) + "\n")
    _write_json(folder / "raw" / "studies.json", [p.document for p in exported.plans.values()])
    tables = {g.title: tables[g.title] for g in exported.groups if g.title in tables}
    main = [table for table in tables.values() if not table.group.practice]
    tasks = [f"task-{table.group.name}.toml" if place else "" for place, table in enumerate(main)]
    for name, table in zip(tasks, main, strict=True):
        _write_task(folder, name or "task.toml", table)
    _write_json(
        folder / "dataset_description.json", _dataset_description(plan, exported, tables.values())
    )
    summary = ExportSummary(
        {name: table.count for name, table in tables.items()},
        _analysis_notes([table.group for table in main]),
        tasks,
    )
    (folder / "README.md").write_text(_readme_text(plan, summary), encoding="utf-8")
    return summary


def _analysis_notes(groups: Sequence[ExportTable]) -> list[str]:
    """Notes for the analysis: why tables are split, which landscapes were renamed."""
    notes = []
    for kind in dict.fromkeys(group.kind for group in groups):
        same_kind = [group for group in groups if group.kind == kind]
        if len(same_kind) > 1:
            differences = "; ".join(
                f"{group.name}: {_differing_settings(group, same_kind)}" for group in same_kind
            )
            notes.append(
                f"Choices in {kind} tasks are in {len(same_kind)} tables, as no one analysis is "
                f"right for all of them. They differ in {differences}."
            )
    for group in groups:
        renamed = [label for label in group.landscapes if re.search(r" \(\d+\)$", label)]
        if renamed:
            notes.append(
                f"{group.name}: a landscape has had several sets of mean rewards under one name; "
                f"later ones are called {', '.join(renamed)}."
            )
    return notes


def _differing_settings(group: ExportTable, same_kind: Sequence[ExportTable]) -> str:
    """Settings in which a table differs from others of the same kind of task."""
    names = dict.fromkeys(name for one in same_kind for name in one.settings)
    return ", ".join(
        f"{name} {_format_setting(group.settings.get(name))}"
        for name in names
        if len({json.dumps(one.settings.get(name)) for one in same_kind}) > 1
    )


def _format_setting(value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


class _TableWriter:
    """Writer of a table, as CSV and Parquet."""

    def __init__(
        self, exported: StoreExport, group: ExportTable, plan: StudyPlan, folder: Path
    ) -> None:
        self.group = group
        self.types = exported.columns(group)
        self.count = 0
        study = re.sub(r"[^a-z0-9]", "", plan.name)
        kind = "_description-practice" if group.practice else ""
        self.file = f"data/study-{study}_task-{group.name}{kind}_data.csv"
        parquet = "practice" if group.practice else "choices"
        self.parquet = f"{parquet}-{group.name}.parquet"
        self.schema = pa.schema([(name, ARROW_TYPES[type_]) for name, type_ in self.types.items()])
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._filled: set[str] = set()

    def __enter__(self) -> _TableWriter:
        self._stream: TextIO = (self._folder / self.file).open("w", encoding="utf-8", newline="")
        self._csv = csv.writer(self._stream, lineterminator="\n")
        self._csv.writerow(self.types)
        self._parquet = pa_parquet.ParquetWriter(self._folder / self.parquet, self.schema)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._flush()
        finally:
            self._stream.close()
            self._parquet.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a choice."""
        cells = [row.get(name) for name in self.types]
        self._csv.writerow([escape_formula(cell) for cell in cells])
        self._rows.append(_cells_as_column_types(self.types, cells))
        self.count += 1
        if len(self._rows) >= ROWS_PER_BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._parquet.write_table(pa.Table.from_pylist(self._rows, schema=self.schema))
            self._rows = []


def _cells_as_column_types(types: Mapping[str, type], cells: Sequence[Any]) -> dict[str, Any]:
    named = zip(types.items(), cells, strict=True)
    return {name: None if cell is None else type_(cell) for (name, type_), cell in named}


# `penchant study` would otherwise guess the roles of columns from their names.
OFFER_COLUMNS = {"subject": "subject", "chosen": "chosen", "scored": "scored"}
PLAY_COLUMNS = {
    **OFFER_COLUMNS,
    "reward": "reward",
    "block": "session,block",
    "decision": "decision",
}


def _write_task(folder: Path, name: str, table: _TableWriter) -> None:
    """Write the settings with which `penchant study` reads the table."""
    group = table.group
    settings: dict[str, Any] = {"table": table.file, **group.analysis}
    settings |= OFFER_COLUMNS if not group.pays else PLAY_COLUMNS
    if "executed" in table.types:
        settings["executed"] = "executed"
    if group.conditions:
        settings["condition"] = group.conditions
    if group.landscapes:
        file = f"landscape-{group.name}.csv"
        settings["landscape"] = file
        settings["landscape_by"] = ["landscape"]
        with (folder / file).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["landscape", "option", "mean_reward"])
            for label, means in group.landscapes.items():
                writer.writerows([escape_formula(label), i, mean] for i, mean in enumerate(means))
    lines = ["# What `penchant study` needs to know of this table.", ""]
    lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _dataset_description(plan: StudyPlan, exported: StoreExport, tables: Any) -> dict[str, Any]:
    """Dataset description required by Psych-DS."""
    descriptions = {name: words for name, (_, words) in COLUMNS.items()}
    names = dict.fromkeys(name for table in tables for name in table.types)
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": plan.name,
        "description": plan.title,
        "schemaVersion": "Psych-DS 0.4.0",
        "variableMeasured": [
            {
                "@type": "PropertyValue",
                "name": name,
                "description": descriptions.get(name) or _column_description(name),
            }
            for name in names
        ],
    }


def _column_description(name: str) -> str:
    kind, _, number = name.rpartition("_")
    if number.isdigit():
        what = "Mean reward" if kind == "mean" else kind.capitalize()
        return f"{what} of option {int(number) - 1} at this decision"
    return f"Condition or setting: {name}"


def _readme_text(plan: StudyPlan, summary: ExportSummary) -> str:
    rows = "\n".join(f"- {name}: {count} choices" for name, count in summary.counts.items())
    notes = "".join(f"\n{note}\n" for note in summary.notes)
    commands = "".join(f"    {line}\n" for line in summary.commands(Path("."), "../results"))
    following = f"\nNext, in this folder:\n\n{commands}" if commands else ""
    return (
        f"# {plan.title}\n\nCollected by `penchant serve`; subjects are pseudonyms.\n\n{rows}\n"
        f"{notes}{following}\n"
        "`data/` and `dataset_description.json` follow Psych-DS; `*.parquet` hold the same tables;"
        "\n`raw/events.jsonl` is everything that was logged, `raw/studies.json` every study file "
        "that was served.\n"
    )


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
