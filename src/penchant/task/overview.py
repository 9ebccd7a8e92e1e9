"""What the researcher sees: who is where, who stalls, choices as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, func, select

from penchant.task.plan import Plan
from penchant.task.store.schema import decisions, events, sessions

STALLED = 120.0  # seconds without a request
SHOWN = 200  # people in the list
FUNNEL = ("arrived", "consented", "passed", "playing", "finished")


def overview(
    connection: Connection, plan_named: Callable[[str], Plan], now: float
) -> dict[str, Any]:
    """Counts by stage, conditions, and the people seen last."""
    rows = connection.execute(
        select(sessions).order_by(sessions.c.seen.desc()).limit(SHOWN)
    ).mappings()
    return {
        "funnel": funnel(connection),
        "outcomes": _counts(connection, sessions.c.outcome),
        "cells": _cells(connection, plan_named),
        "decisions": connection.scalar(select(func.count()).select_from(decisions)) or 0,
        "people": [_person(row, plan_named(row["version"]), now) for row in rows],
    }


def funnel(connection: Connection) -> dict[str, int]:
    """How many came as far as each stage, or further."""
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
    found = dict.fromkeys(FUNNEL, 0)
    for stage, outcome, assigned, has_played, count in grouped:
        found["arrived"] += count
        found["consented"] += count * (stage != "consent" and outcome != "no consent")
        found["passed"] += count * bool(assigned)
        found["playing"] += count * bool(stage == "play" or has_played)
        found["finished"] += count * (outcome == "completed")
    return found


def _counts(connection: Connection, column: Any) -> dict[str, int]:
    rows = connection.execute(select(column, func.count()).group_by(column))
    return {str(value): count for value, count in rows if value is not None}


def _cells(connection: Connection, plan_named: Callable[[str], Plan]) -> list[dict[str, Any]]:
    rows = connection.execute(
        select(sessions.c.version, sessions.c.cell, sessions.c.outcome == "completed", func.count())
        .where(sessions.c.cell.is_not(None))
        .group_by(sessions.c.version, sessions.c.cell, sessions.c.outcome == "completed")
    )
    found: dict[str, dict[str, Any]] = {}
    for version, cell, is_done, count in rows:
        name = cell_words(plan_named(version), cell)
        entry = found.setdefault(name, {"condition": name, "assigned": 0, "finished": 0})
        entry["assigned"] += count
        entry["finished"] += count * bool(is_done)
    return sorted(found.values(), key=lambda entry: str(entry["condition"]))


def cell_words(plan: Plan, cell: int) -> str:
    r"""A condition in words.

    >>> from penchant.task.study_file import read_study_text
    >>> plan = read_study_text('[conditions]\nlandscape=["a","b"]\n[[block]]\ntask="grid"')
    >>> cell_words(plan, 1)
    'landscape b'
    """
    labels = plan.cells[cell].labels
    return ", ".join(f"{name} {value}" for name, value in labels.items()) or "all"


def _person(row: Any, plan: Plan, now: float) -> dict[str, Any]:
    cell = row["cell"]
    blocks = () if cell is None else plan.cells[cell].blocks
    total = sum(block.task.n_decisions for block in blocks)
    before = sum(block.task.n_decisions for block in blocks[: row["block"]])
    idle = max(0.0, now - row["seen"])
    is_over = row["outcome"] is not None
    done = total if row["outcome"] == "completed" else min(before + row["decision"], total)
    return {
        "session": row["session"],
        "person": row["pseudonym"],
        "stage": row["stage"],
        "outcome": row["outcome"],
        "condition": None if cell is None else cell_words(plan, cell),
        "block": row["block"],
        "done": done,
        "of": total,
        "points": round(row["total"], 2),
        "idle": round(idle),
        "stalled": not is_over and idle > STALLED,
    }


def person(
    connection: Connection, session: int, plan_named: Callable[[str], Plan], now: float
) -> dict[str, Any] | None:
    """One person: the choices of the present block, and how often each option was taken."""
    row = connection.execute(select(sessions).where(sessions.c.session == session)).mappings()
    found = row.first()
    if found is None:
        return None
    plan = plan_named(found["version"])
    about = _person(found, plan, now)
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
        about["task"] = plan.cells[found["cell"]].blocks[block].task.shown()
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
