"""Named tasks: tables with the columns that users of other tools have, read as they are.

A task says which columns its tables have, how their codes are read, and which model is made for it.
Rows with a gap in what the task needs are left out before anything is learnt from, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector, IntVector, Vector
from penchant.bandit.episode_table import episodes_from_frame
from penchant.errors import DataError, named, nearest
from penchant.output.notes import counted
from penchant.reading.asked import Asked, Built
from penchant.tables.columns import named_column, plain_name
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.laboratory import Cleaned

SUBJECT = ("subjID", "subject", "participant", "id")
BLOCK = ("block", "session")
Columns = dict[str, Vector]


@dataclass(frozen=True)
class NamedTask:
    """A task by its name.

    Attributes
    ----------
    name, what
        What it is called, and what people do in it.
    columns
        Those that its tables have.
    made
        From these columns, as numbers, to rows of events: of each event its row, and columns.
    codes
        How codes are read, in words.
    command
        The model on the command line.
    call
        The model in Python, after `pn.`.
    told
        Alone among all tables by its columns, so that it is recognised without being named.
    before, after
        Columns of what is seen at a decision, and learnt after it.
    available
        Columns of which options there are.
    """

    name: str
    what: str
    columns: tuple[str, ...]
    made: Callable[[Columns], tuple[IntVector, Columns]]
    codes: str
    command: str
    call: str
    told: bool = True
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    available: tuple[str, ...] = ()


def _plain(chosen: Vector, rewards: Vector, **others: Vector) -> tuple[IntVector, Columns]:
    return np.arange(len(chosen)), {"chosen": chosen, "reward": rewards, **others}


def _two_step(c: Columns) -> tuple[IntVector, Columns]:
    rows = np.repeat(np.arange(len(c["reward"])), 2)
    second = c["level2_choice"] - 1
    state, taken = np.floor(second / 2) + 1, second % 2
    both = np.column_stack([c["level1_choice"] - 1, taken]).ravel()
    paid = np.column_stack([np.zeros(len(state)), c["reward"]]).ravel()
    seen = np.column_stack([np.zeros(len(state)), state]).ravel()
    return rows, {"chosen": both, "reward": paid, "state": seen}


def _balloons(c: Columns) -> tuple[IntVector, Columns]:
    pumps, burst = c["pumps"].astype(np.int64), c["explosion"].astype(np.int64)
    n = pumps + (burst == 0)
    rows = np.repeat(np.arange(len(n)), n)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(n) - n, n) + 1
    pumped = number <= pumps[rows]
    bursts = (number == pumps[rows]) & (burst[rows] == 1)
    return rows, {
        "chosen": pumped.astype(float),
        "reward": np.where(pumped, 0.0, pumps[rows].astype(float)),
        "balloon": rows.astype(float),
        "pump": number.astype(float),
        "burst": bursts.astype(float),
    }


def _selection(c: Columns) -> tuple[IntVector, Columns]:
    first, second = np.floor(c["type"] / 10) - 1, c["type"] % 10 - 1
    taken = np.where(c["choice"] == 1, first, second)
    masks = {f"option_{i}": ((first == i) | (second == i)).astype(float) for i in range(6)}
    return _plain(taken, c["reward"], **masks)


TASKS = {
    task.name: task
    for task in (
        NamedTask(
            "two-step",
            "two decisions, of which the first leads to the second",
            ("level1_choice", "level2_choice", "reward"),
            _two_step,
            "level1_choice 1, 2 are options 0, 1; level2_choice 1, 2 are those of state 1, 3, 4 "
            "those of state 2; every row is two decisions",
            "two-step",
            'models.TwoStep(trace="after")',
            before=("state",),
        ),
        NamedTask(
            "go-no-go",
            "press or not, at cues that promise or threaten",
            ("cue", "keyPressed", "outcome"),
            lambda c: _plain(c["keyPressed"], c["outcome"], cue_seen=c["cue"] - 1),
            "keyPressed 1 is go, option 1; 0 is no-go; cues are counted from 1",
            "go-no-go",
            "models.GoNoGo()",
            before=("cue_seen",),
        ),
        NamedTask(
            "balloons",
            "pumps of balloons that may burst",
            ("pumps", "explosion"),
            _balloons,
            "every pump is a decision for option 1, every stop one for option 0",
            "balloons",
            "models.Balloons()",
            before=("balloon", "pump"),
            after=("burst",),
        ),
        NamedTask(
            "selection",
            "probabilistic selection among pairs of six",
            ("type", "choice", "reward"),
            _selection,
            "type 12 is the pair of options 0 and 1; choice 1 takes its first, 0 its second",
            "q-learning",
            "QLearning(6)",
            available=tuple(f"option_{i}" for i in range(6)),
        ),
        NamedTask(
            "inputs",
            "predictions of a binary input",
            ("u", "y"),
            lambda c: _plain(c["y"], (c["u"] == c["y"]).astype(float), input=c["u"]),
            "y is the response before input u; both are 0 or 1",
            "hgf",
            "models.HGF()",
            told=False,
            after=("input",),
        ),
        NamedTask(
            "gain-loss",
            "options with a gain and a loss",
            ("choice", "gain", "loss"),
            lambda c: _plain(
                c["choice"] - 1,
                np.abs(c["gain"]) - np.abs(c["loss"]),
                gained=np.abs(c["gain"]),
                lost=np.abs(c["loss"]),
            ),
            "choice is counted from 1; sizes of gain and loss count",
            "gain-loss",
            "models.GainLoss(4)",
            told=False,
            after=("gained", "lost"),
        ),
        NamedTask(
            "iowa",
            "four decks of cards",
            ("choice", "gain", "loss"),
            lambda c: _plain(c["choice"] - 1, np.abs(c["gain"]) - np.abs(c["loss"])),
            "choice is counted from 1; the reward is gain less loss",
            "orl",
            "models.ORL()",
            told=False,
        ),
        NamedTask(
            "reversal",
            "two options whose outcomes reverse",
            ("choice", "outcome"),
            lambda c: _plain(c["choice"] - 1, np.sign(c["outcome"])),
            "choice is counted from 1; of the outcome the sign counts",
            "q-learning",
            'QLearning(2, fictitious="learning_rate", bias=True)',
            told=False,
        ),
    )
}
# What models call the columns that a task makes under a name that no column of a table has.
CALLED = {"cue_seen": "cue", "gained": "gain", "lost": "loss"}


def task_named(name: str) -> NamedTask:
    """The task of this name."""
    if name not in TASKS:
        raise DataError(
            f"task must be one of {', '.join(TASKS)}; got {name!r}."
            f"{nearest(name, TASKS) or ' Choose one.'}"
        )
    return TASKS[name]


def recognised_task(table: pa.Table) -> NamedTask | None:
    """The task whose columns a table has, where no other reading is as near."""
    names = table.column_names
    there = {plain_name(name) for name in names}
    for task in TASKS.values():
        if not task.told or not {plain_name(name) for name in task.columns} <= there:
            continue
        if task.name != "selection" or _are_pairs(table, str(named_column(("type",), names))):
            return task
    return None


def _are_pairs(table: pa.Table, name: str) -> bool:
    """Whether a column holds pairs of two different options of six, such as 12 or 56."""
    if not (pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type)):
        return False
    kinds = {int(cell) for cell in table[name].to_pylist() if cell is not None and cell == cell}
    pairs = {10 * i + j for i in range(1, 7) for j in range(1, 7) if i != j}
    return bool(kinds) and kinds <= pairs


def from_task(clean: Cleaned, asked: Asked, task: NamedTask) -> Built:
    """Episodes of all subjects in a named task."""
    names = clean.table.column_names
    found = {name: named_column((name,), names) for name in task.columns}
    missing = [name for name, column in found.items() if column is None]
    if missing:
        raise DataError(
            f"task {task.name} must have columns {', '.join(task.columns)}; got none for "
            f"{', '.join(missing)}, but {named(names)}. Rename them."
        )
    whose = asked.columns.get("subject") or named_column(SUBJECT, names)
    block = asked.columns.get("block") or named_column(BLOCK, names)
    order = asked.columns.get("decision") or named_column(("trial",), names)
    frame = open_frame(clean.table)
    cells = {name: column_floats(frame, str(column), name) for name, column in found.items()}
    there: BoolVector = np.asarray(np.isfinite(np.column_stack(list(cells.values()))).all(axis=1))
    for name, values in cells.items():
        there = there & (values >= 0) if _coded(name) else there
    kept = np.flatnonzero(there)
    if order is not None:
        numbers = column_floats(frame, str(order), "decision")[kept]
        kept = kept[np.argsort(numbers, kind="stable")]
    rows, made = task.made({name: values[kept] for name, values in cells.items()})
    own: Mapping[str, Any] = {
        role: clean.table.column(column).take(pa.array(kept[rows]))
        for role, column in (("subject", whose), ("block", block))
        if column is not None
    }
    table = pa.table({**own, **{name: pa.array(values) for name, values in made.items()}})
    arguments: dict[str, Any] = {
        "chosen": "chosen",
        "reward": "reward",
        "subject": "subject" if whose else None,
        "block": "block" if block else None,
        "before": {CALLED.get(name, name): name for name in task.before},
        "after": {CALLED.get(name, name): name for name in task.after},
        "available": task.available,
    }
    episodes = episodes_from_frame(table, **arguments)
    left = len(there) - len(kept)
    notes = [f"taken for the task {task.name}: {task.what}", task.codes]
    notes += [f"{counted(left, 'row')} with a gap left out"] if left else []
    columns = {name: str(column) for name, column in found.items()}
    columns |= {"subject": whose} if whose else {}
    columns |= {"block": block} if block else {}
    told = {**arguments, "base": 0, "options": None, "locations": None, "decision": None}
    return Built(episodes, columns, {}, table, tuple(notes), told, task.call, task=task.command)


def _coded(name: str) -> bool:
    """Whether negative numbers in a column stand for a response that was not given."""
    return name not in ("reward", "outcome", "gain", "loss")
