"""Choices as rows of a table, a few people at a time, while others play."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from penchant.task.plan import Block, Plan, plan_of
from penchant.task.store.schema import decisions, events, people, sessions, studies
from penchant.task.store.store import Store

OFFER = "offer"  # among what is kept of a choice: the place of an offer that answers decided
AT_A_TIME = 20  # people whose choices are in memory
LEFT_OUT = ("no consent", "withdrawn")

ADVISED = {"executed": int, "advised": int, "p_better": float, "advice_reason": str}
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
class Group:
    """Blocks whose choices belong in one table: the same kind of task, the same options.

    Attributes
    ----------
    name
        Of its table.
    extra
        Columns that the conditions and the task add, with their types.
    analysis
        Settings of `penchant study`.
    """

    name: str
    practice: bool
    conditions: tuple[str, ...]
    extra: Mapping[str, type]
    analysis: Mapping[str, Any]
    landscapes: Mapping[str, tuple[float, ...]]


class Exported:
    """What a store holds, for writing it elsewhere."""

    def __init__(self, store: Store, *, with_ids: bool = False) -> None:
        self.store, self.with_ids = store, with_ids
        with store.reading() as connection:
            found = connection.execute(
                select(studies.c.version, studies.c.document).order_by(studies.c.first_served)
            ).all()
        self.plans = {row.version: plan_of(json.loads(row.document)) for row in found}
        self._seed = int(store.setting("seed"))
        self._groups: dict[tuple[Any, ...], Group] = {}
        for plan in self.plans.values():
            for cell in plan.cells:
                for block in cell.blocks:
                    self._add(plan, block)

    @property
    def groups(self) -> list[Group]:
        """All tables, those of practice last."""
        return sorted(self._groups.values(), key=lambda group: group.practice)

    def _key(self, block: Block) -> tuple[Any, ...]:
        task = block.task
        columns = tuple(sorted(task.columns(0, (0,))))
        return block.practice, task.kind, columns, task.n_options(0), block.advice

    def _add(self, plan: Plan, block: Block) -> None:
        key = self._key(block)
        known = self._groups.get(key)
        given = dict(ADVISED) if block.advice == "suggest" else {}
        names = [group.name for group in self._groups.values() if group.practice == block.practice]
        kind = block.task.kind
        alike = sum(name.rstrip("0123456789") == kind for name in names)
        name = known.name if known else kind if not alike else f"{kind}{alike + 1}"
        factors = () if block.practice else tuple(plan.cells[0].labels)
        before = known.conditions if known else ()
        conditions = tuple(dict.fromkeys((*before, *factors)))
        added = {factor: _type(plan.cells[0].labels[factor]) for factor in factors}
        own = {k: _type(v) for k, v in block.task.columns(0, (0,)).items()}
        landscapes = dict(known.landscapes) if known else {}
        if hasattr(block.task, "landscape"):
            landscapes[block.task.landscape] = block.task.means  # type: ignore[attr-defined]  # of a grid
        self._groups[key] = Group(
            name,
            block.practice,
            conditions,
            {**(known.extra if known else {}), **added, **own, **given},
            {**block.task.analysis()},
            landscapes,
        )

    def rows(self) -> Iterator[tuple[Group, dict[str, Any]]]:
        """Every choice of those who consented, with its table, in order of sessions."""
        last = 0
        while True:
            with self.store.reading() as connection:
                query = (
                    select(sessions, people.c.platform_id)
                    .outerjoin(people, people.c.session == sessions.c.session)
                    .where(sessions.c.session > last)
                    .order_by(sessions.c.session)
                    .limit(AT_A_TIME)
                )
                whose = {row["session"]: row for row in connection.execute(query).mappings()}
                if not whose:
                    return
                taken = (
                    connection.execute(
                        select(decisions)
                        .where(decisions.c.session.in_(list(whose)))
                        .order_by(decisions.c.session, decisions.c.block, decisions.c.decision)
                    )
                    .mappings()
                    .all()
                )
            last = max(whose)
            for row in taken:
                if whose[row["session"]]["outcome"] not in LEFT_OUT:
                    yield self._row(whose[row["session"]], row)

    def _row(self, who: Any, row: Any) -> tuple[Group, dict[str, Any]]:
        plan = self.plans[who["version"]]
        cell = plan.cells[who["cell"]]
        block = cell.blocks[row["block"]]
        group = self._groups[self._key(block)]
        seed = self._seed if plan.seed is None else plan.seed
        walk = (seed, "walk", row["session"], row["block"])
        client = json.loads(row["client"])
        marks = client.get("marks", ())
        shown, taken = client.get("onset_ms"), client.get("taken_ms")
        place = client[OFFER] if block.task.adapts else None
        found = {
            "subject": who["pseudonym"],
            "session": row["session"],
            "outcome": who["outcome"],
            "block": block.name,
            "decision": row["decision"],
            "chosen": row["option"],
            "reward": row["reward"],
            "scored": int(not row["auto"]),
            "auto": int(row["auto"]),
            "rt_ms": None if shown is None or taken is None else round(taken - shown, 2),
            "changes": max(0, len(marks) - 1),
            "input": client.get("input"),
            "elapsed_s": None if row["elapsed"] is None else round(row["elapsed"], 4),
            "received": _iso(row["received"]),
            **({} if block.practice else cell.labels),
            **block.task.columns(row["decision"], walk, place),
        }
        if block.advice == "suggest":
            made = client.get("advice", {})
            found["chosen"] = client.get("proposed", row["option"])
            found |= {"executed": row["option"], "advised": made.get("option")}
            found |= {"p_better": made.get("p_better"), "advice_reason": made.get("reason")}
        if self.with_ids:
            found["platform_id"] = who["platform_id"]
        return group, found

    def columns(self, group: Group) -> dict[str, type]:
        """Columns of a table with their types, in order."""
        plain = {
            name: type_
            for name, (type_, _) in COLUMNS.items()
            if self.with_ids or name != "platform_id"
        }
        first = {name: plain.pop(name) for name in list(plain)[: 2 + self.with_ids]}
        return {**first, **group.extra, **plain}

    def events(self) -> Iterator[dict[str, Any]]:
        """Everything that was logged, in the order in which it came."""
        last = 0
        while True:
            with self.store.reading() as connection:
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
                    "received": _iso(row["received"]),
                }


def _type(value: Any) -> type:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str
    return float


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
