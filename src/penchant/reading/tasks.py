"""Named tasks: tables with the columns that users of other tools have, read as they are.

A task says which columns its tables have, how their codes are read, and which model is made for it.
Rows with a gap in what the task needs are left out before anything is learnt from, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector, IntVector, Vector
from penchant.bandit.episode_table import episodes_from_frame
from penchant.errors import DataError, argument, closest_match_hint, format_names, quoted_argument
from penchant.output import format_count
from penchant.reading.asked import Asked, Built, Place, with_column
from penchant.reading.offered import from_offers
from penchant.reading.task_columns import rewritten
from penchant.reading.whose import ask_about_plays, ask_for_people
from penchant.tables.columns import NO_COLUMN, PlayColumns, named_column, plain_name, usual_column
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.laboratory import Cleaned
from penchant.tables.reading import ReadingKind
from penchant.tables.where import where_said

HBAYESDM = "subjid"  # a plain name that its tables have: choices are counted from 1 there
MANY = 100_000  # more than options, pumps or cues of any task
# Other names of columns.
ALSO = {
    "red_chosen": ("left_colour_chosen", "left_color_chosen"),
    "n_red_boxes": ("n_left_colour_boxes", "n_left_color_boxes"),
}
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
        From these columns, as numbers, to rows of events: of each event its row, and columns. Of
        offers: columns that are beside those of the table, row by row.
    codes
        How codes are read, in words.
    command
        The model on the command line.
    call
        The model in Python, after `pn.`.
    told
        Of these columns, as numbers, and the names of all: whether a table is recognised without
        the task being named.
    before, after
        Columns of what is seen at a decision, and learnt after it.
    available
        Columns of which options there are.
    offers
        For a task of one-shot choices: each attribute of the options, as columns or numbers.
    chosen, base
        Of such a task: the column of choices, and the number of its first option.
    settings
        Of the model, on the command line.
    values
        Codes that columns may hold, where not any number is one.
    """

    name: str
    what: str
    columns: tuple[str, ...]
    made: Callable[[Columns], tuple[IntVector, Columns]]
    codes: str
    command: str
    call: str
    told: Callable[[Columns, Sequence[str]], bool] = lambda columns, names: True
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    offers: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    chosen: str = "choice"
    base: int = 0
    settings: tuple[str, ...] = ()
    values: Mapping[str, Collection[float]] = field(default_factory=dict)

    @property
    def kind(self) -> ReadingKind:
        """What its tables are."""
        return "offers" if self.offers else "play"


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


def _are_pairs(c: Columns, names: Sequence[str]) -> bool:
    """Whether types are pairs of two different options of six, such as 12 or 56."""
    kinds = set(c["type"][np.isfinite(c["type"])].tolist())
    pairs = {10 * i + j for i in range(1, 7) for j in range(1, 7) if i != j}
    return bool(kinds) and kinds <= pairs


def _are_binary(c: Columns, names: Sequence[str]) -> bool:
    """Whether columns hold 0 and 1, or -1 for nothing."""
    return all(set(v[np.isfinite(v)].tolist()) <= {-1.0, 0.0, 1.0} for v in c.values())


def _counted(c: Columns, names: Sequence[str]) -> bool:
    """Whether choices are counted from 1, as in tables whose subjects are called subjID."""
    choice = c["choice"][np.isfinite(c["choice"]) & (c["choice"] != -1)]
    whole = bool(len(choice)) and bool((choice == np.floor(choice)).all()) and choice.min() == 1
    return whole and HBAYESDM in map(plain_name, names)


def _ask_of_signs(c: Columns) -> None:
    """Raise an error where signs of outcomes may count alone: one sum is won or lost."""
    sums = set(c["outcome"][np.isfinite(c["outcome"]) & (c["outcome"] != 0)].tolist())
    both = len(sums) == 2 and min(sums) < 0 < max(sums) and sums != {-1.0, 1.0}
    if both and np.nanmax(c["choice"]) == 2:
        raise DataError(
            "task must be named, as choice and outcome are columns of two tasks: bandit, where "
            "outcomes count as they are, and reversal, where their signs count; got two options "
            f"and outcomes {min(sums):g} and {max(sums):g}. "
            f"Pass {argument('task', 'bandit')} or {argument('task', 'reversal')}."
        )


LEAST_CARD = 5.0  # gains and losses of cards are amounts, others are 0, 1, -1


def _are_cards(c: Columns, names: Sequence[str]) -> bool:
    """Whether gains and losses are those of four decks of cards."""
    largest = max(np.nanmax(np.abs(c[name]), initial=0.0) for name in ("gain", "loss"))
    return _counted(c, names) and np.nanmax(c["choice"]) == 4 and largest > LEAST_CARD


def _stakes(c: Columns) -> tuple[IntVector, Columns]:
    """Stakes in the order in which they are shown, the one taken, and what is known of them."""
    rising, n = c["gamble_type"] == 1, len(c["gamble_type"])
    shown = np.where(rising[:, None], STAKES, STAKES[::-1]) / 100
    taken = np.abs(shown - c["percentage_staked"][:, None] / 100) < 1e-9
    red = c["red_chosen"] == 1
    own = np.where(red, c["n_red_boxes"], 10 - c["n_red_boxes"]) / 10
    bet = np.where(taken.any(axis=1) & np.isfinite(c["red_chosen"]), taken.argmax(axis=1), np.nan)
    shares = {f"stake_{i}": shown[:, i] for i in range(len(STAKES))}
    return np.arange(n), {"bet": bet, "chosen_colour_share": own, **shares}


STAKES = np.array([5.0, 25.0, 50.0, 75.0, 95.0])
N_STAKES = len(STAKES)
CAMBRIDGE = (
    *("gamble_type", "percentage_staked", "trial_initial_points", "red_chosen", "n_red_boxes"),
)


def _colours(c: Columns) -> tuple[IntVector, Columns]:
    share = c["n_red_boxes"] / 10
    return np.arange(len(share)), {"share": share, "other_share": 1 - share}


def _described(c: Columns) -> tuple[IntVector, Columns]:
    rest = {f"opt{i}lprob": 1 - c[f"opt{i}hprob"] for i in (1, 2)}
    return np.arange(len(c["choice"])), rest


def _as_it_is(c: Columns) -> tuple[IntVector, Columns]:
    return np.arange(len(next(iter(c.values())))), {}


DESCRIBED = (
    *("opt1hprob", "opt2hprob", "opt1hval", "opt1lval", "opt2hval", "opt2lval"),
    "choice",
)
PEERS = (
    *("condition", "p_gamble", "safe_Hpayoff", "safe_Lpayoff", "risky_Hpayoff", "risky_Lpayoff"),
    "choice",
)

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
            values={"level1_choice": range(1, 3), "level2_choice": range(1, 5)},
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
            values={"cue": range(1, MANY), "keyPressed": range(2)},
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
            values={"pumps": range(MANY), "explosion": range(2)},
        ),
        NamedTask(
            "selection",
            "probabilistic selection among pairs of six",
            ("type", "choice", "reward"),
            _selection,
            "type 12 is the pair of options 0 and 1; choice 1 takes its first, 0 its second",
            "q-learning",
            "QLearning(6)",
            told=_are_pairs,
            available=tuple(f"option_{i}" for i in range(6)),
            values={"choice": range(2)},
        ),
        NamedTask(
            "aversive",
            "two options, one of which is punished by sizes that are shown",
            ("choice", "outcome", "bluePunish", "orangePunish"),
            lambda c: _plain(
                c["choice"] - 1,
                -np.where(
                    (c["outcome"] == 1) == (c["choice"] == 1),
                    np.where(c["choice"] == 1, c["bluePunish"], c["orangePunish"]),
                    0.0,
                ),
                magnitude_0=c["bluePunish"],
                magnitude_1=c["orangePunish"],
                punished=c["outcome"],
            ),
            "choice 1 is blue, option 0, and 2 orange, option 1; outcome 1 says that blue was the "
            "one punished",
            "aversive",
            "models.AversiveLearning()",
            before=("magnitude_0", "magnitude_1"),
            after=("punished",),
            values={"choice": range(1, 3), "outcome": range(2)},
        ),
        NamedTask(
            "cambridge",
            "stakes of the Cambridge gamble, after a colour was chosen",
            CAMBRIDGE,
            _stakes,
            "gamble_type 1 shows stakes of 5, 25, 50, 75, 95 percent in this order, 0 in the other "
            "one; of ten boxes n_red_boxes are red; colours are the task cambridge-colours",
            "cambridge",
            "models.CambridgeGamble()",
            offers={
                "stake": tuple(f"stake_{i}" for i in range(N_STAKES)),
                "delay": tuple(i / (N_STAKES - 1) for i in range(N_STAKES)),
                "points": ("trial_initial_points",) * N_STAKES,
                "probability": ("chosen_colour_share",) * N_STAKES,
            },
            chosen="bet",
            values={
                "gamble_type": range(2),
                "percentage_staked": (5, 25, 50, 75, 95),
                "red_chosen": range(2),
                "n_red_boxes": range(11),
            },
        ),
        NamedTask(
            "cambridge-colours",
            "colours of the Cambridge gamble",
            ("red_chosen", "n_red_boxes"),
            _colours,
            "red_chosen 1 is red, option 1; of ten boxes n_red_boxes are red",
            "cambridge",
            'models.CambridgeGamble("colours")',
            told=lambda columns, names: False,
            offers={"probability": ("other_share", "share")},
            chosen="red_chosen",
            settings=("part=colours",),
            values={"red_chosen": range(2), "n_red_boxes": range(11)},
        ),
        NamedTask(
            "description",
            "gambles that are described, two outcomes each",
            DESCRIBED,
            _described,
            "choice 1 is option 0, 2 is option 1; the lower outcome has the rest of the chances",
            "prospect",
            'models.ProspectValue("prelec")',
            offers={
                "outcome": (("opt1hval", "opt1lval"), ("opt2hval", "opt2lval")),
                "probability": (("opt1hprob", "opt1lprob"), ("opt2hprob", "opt2lprob")),
            },
            base=1,
            settings=("weighting=prelec",),
        ),
        NamedTask(
            "ambiguity",
            "a lottery whose chances are partly hidden, or a fixed one",
            ("prob", "ambig", "reward_var", "reward_fix", "choice"),
            _as_it_is,
            "choice 1 takes the lottery of reward_var, 0 that of reward_fix at even chances",
            "ambiguity",
            "models.Ambiguity()",
            offers={
                "amount": ("reward_fix", "reward_var"),
                "probability": (0.5, "prob"),
                "ambiguity": (0.0, "ambig"),
            },
        ),
        NamedTask(
            "peers",
            "gambles after the choices of others were seen",
            PEERS,
            _as_it_is,
            "choice 1 is risky, 0 safe; condition 1 means that others chose the safe one, 3 the "
            "risky one",
            "peers",
            "models.PeerInfluence()",
            offers={
                "high": ("safe_Hpayoff", "risky_Hpayoff"),
                "low": ("safe_Lpayoff", "risky_Lpayoff"),
                "probability": ("p_gamble", "p_gamble"),
                "condition": ("condition", "condition"),
            },
        ),
        NamedTask(
            "ultimatum",
            "offers of a share, accepted or rejected",
            ("offer", "accept"),
            _as_it_is,
            "accept 1 takes the offer, option 1; 0 rejects it; rows are in order of time",
            "ultimatum",
            "models.Ultimatum()",
            offers={"offer": (0.0, "offer")},
            chosen="accept",
        ),
        NamedTask(
            "inputs",
            "predictions of a binary input",
            ("u", "y"),
            lambda c: _plain(c["y"], (c["u"] == c["y"]).astype(float), input=c["u"]),
            "y is the response before input u; both are 0 or 1",
            "hgf",
            "models.HGF()",
            told=_are_binary,
            after=("input",),
            values={"u": range(2), "y": range(2)},
        ),
        NamedTask(
            "iowa",
            "four decks of cards",
            ("choice", "gain", "loss"),
            lambda c: _plain(c["choice"] - 1, np.abs(c["gain"]) - np.abs(c["loss"])),
            "choice is counted from 1; the reward is gain less loss; gains and losses that are "
            "learnt apart are the task gain-loss",
            "orl",
            "models.ORL()",
            told=_are_cards,
            values={"choice": range(1, 5)},
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
            "models.GainLoss({n})",
            told=_counted,
            after=("gained", "lost"),
            values={"choice": range(1, MANY)},
        ),
        NamedTask(
            "bandit",
            "options that pay",
            ("choice", "outcome"),
            lambda c: _plain(c["choice"] - 1, c["outcome"]),
            "choice is counted from 1; two options whose outcomes reverse are the task reversal",
            "q-learning",
            "QLearning({n})",
            told=_counted,
            values={"choice": range(1, MANY)},
        ),
        NamedTask(
            "reversal",
            "two options whose outcomes reverse",
            ("choice", "outcome"),
            lambda c: _plain(c["choice"] - 1, np.sign(c["outcome"])),
            "choice is counted from 1; of the outcome the sign counts",
            "q-learning",
            'QLearning(2, fictitious="learning_rate", bias=True)',
            told=lambda columns, names: False,
            values={"choice": range(1, 3)},
        ),
    )
}
# What models call the columns that a task makes under a name that no column of a table has.
CALLED = {"cue_seen": "cue", "gained": "gain", "lost": "loss", "punished": "outcome"}


def task_named(name: str) -> NamedTask:
    """The task of this name."""
    if name not in TASKS:
        raise DataError(
            f"task must be one of {', '.join(TASKS)}; got {name!r}."
            f"{closest_match_hint(name, TASKS) or ' Choose one.'}"
        )
    return TASKS[name]


def task_of_columns(names: Sequence[str]) -> NamedTask | None:
    """The first task all of whose columns are among these."""
    every = (task for task in TASKS.values() if None not in _columns_of(task, names).values())
    return next(every, None)


def recognised_task(table: pa.Table) -> NamedTask | None:
    """The task whose columns a table has, where no other reading is as near."""
    for task in TASKS.values():
        found = _columns_of(task, table.column_names)
        if None in found.values():
            continue
        try:
            cells = _numbers(table, found)
        except DataError:
            continue
        if task.told(cells, table.column_names):
            return task
    return None


def _columns_of(task: NamedTask, names: Sequence[str]) -> dict[str, str | None]:
    """What a table calls the columns of a task."""
    return {name: named_column((name, *ALSO.get(name, ())), names) for name in task.columns}


def _numbers(table: pa.Table, found: Mapping[str, str | None]) -> Columns:
    frame = open_frame(table)
    return {name: column_floats(frame, str(column), name) for name, column in found.items()}


def from_task(clean: Cleaned, asked: Asked, task: NamedTask, place: Place) -> Built:
    """Data of all subjects in a named task."""
    other = rewritten(clean, asked, task.name)
    if other is not None:
        clean = replace(clean, table=other.table)
    names = clean.table.column_names
    found = _columns_of(task, names)
    missing = [name for name, column in found.items() if column is None]
    if missing:
        raise DataError(
            f"task {task.name} must have columns {', '.join(task.columns)}; got none for "
            f"{', '.join(missing)}, but {format_names(names)}. Rename them."
        )
    cells = _numbers(clean.table, found)
    columns = {name: str(column) for name, column in found.items()}
    _check_codes(task, cells, columns)
    if asked.task is None and task.name == "bandit":
        _ask_of_signs(cells)
    how = task.codes if other is None else other.note
    said = (f"taken for the task {task.name}: {task.what}", how)
    if task.offers:
        built = _offered(clean, asked, task, place, cells, columns)
        return replace(built, notes=(*said, *built.notes), model=task.call, task=task.command)
    parts = {part: _column_of(part, asked, names) for part in ("subject", "decision")}
    told = PlayColumns(chosen=columns[task.columns[0]], reward=columns[task.columns[-1]], **parts)
    if "subject" not in asked.said:
        ask_for_people(clean.table, told, {*clean.own, *columns.values()})
    if "block" not in asked.said:
        block = _column_of("block", asked, names)
        used = {*clean.own, *clean.conditions, *columns.values()}
        ask_about_plays(clean.table, replace(told, block=block), used)
    built = _played(clean, asked, task, cells)
    n_options = 1 + max((int(e.chosen.max()) for e in built.data if e.n_events), default=0)
    return replace(
        built,
        columns={**columns, **built.columns},
        notes=(*said, *built.notes),
        model=task.call.format(n=max(2, n_options)),
    )


def _check_codes(task: NamedTask, cells: Columns, columns: Mapping[str, str]) -> None:
    """Raise an error if a column holds what is no code of the task; what is missing is none."""
    for name, known in task.values.items():
        values = cells[name]
        given = np.isfinite(values) & ((values >= 0) | (not _coded(name)))
        for row in np.flatnonzero(given):
            if values[row] not in known:
                few = len(known) < 10
                rule = f"one of {', '.join(map(str, known))}" if few else f"{min(known)} or more"
                whole = "" if few else "whole numbers, "
                own = columns[name] if columns[name].isidentifier() else f"`{columns[name]}`"
                kept = where_said(f"{own} != {values[row]:g}")
                raise DataError(
                    f"{columns[name]} must hold {whole}{rule} for the task {task.name}; got "
                    f"{values[row]:g} at row {row}. Pass {kept} if nobody decided there, or recode "
                    f"it: {task.codes}."
                )


def _offered(
    clean: Cleaned,
    asked: Asked,
    task: NamedTask,
    place: Place,
    cells: Columns,
    columns: Mapping[str, str],
) -> Built:
    """One-shot choices: columns that are made stand beside those of the table."""
    table, practice = clean.table, named_column(("assessment_stage",), clean.table.column_names)
    _, made = task.made(cells)
    practised = practice is not None and task.command == "cambridge"
    if practised and not asked.columns.get("scored"):
        stage = column_floats(open_frame(table), str(practice), "assessment_stage")
        made["after_practice"] = (np.nan_to_num(stage) > 0).astype(float)
    for name, values in made.items():
        table = with_column(table, name, pa.array(values, from_pandas=True))

    def called(cell: Any) -> Any:
        if isinstance(cell, tuple):
            return tuple(map(called, cell))
        return columns.get(cell, cell) if isinstance(cell, str) else cell

    chosen = asked.columns.get("chosen") or columns.get(task.chosen, task.chosen)
    offers = {name: tuple(map(called, each)) for name, each in task.offers.items()}
    parts = {**asked.columns, "chosen": chosen}
    notes: tuple[str, ...] = ()
    if "after_practice" in made:
        parts["scored"] = "after_practice"
        notes = (f"{practice} 0 is practice: not scored",)
    base = task.base if asked.base is None else asked.base
    again = replace(asked, offers=offers, columns=parts, base=base, task=None)
    built = from_offers(replace(clean, table=table), again, place)
    return replace(built, notes=(*notes, *built.notes))


def _played(clean: Cleaned, asked: Asked, task: NamedTask, cells: Columns) -> Built:
    """Episodes of events that are made of the rows without a gap."""
    names = clean.table.column_names
    parts = {part: _column_of(part, asked, names) for part in ("subject", "block", "decision")}
    whose, block, order = parts.values()
    there: BoolVector = np.asarray(np.isfinite(np.column_stack(list(cells.values()))).all(axis=1))
    for name, values in cells.items():
        there = there & (values >= 0) if _coded(name) else there
    kept = np.flatnonzero(there)
    if order is not None:
        numbers = column_floats(open_frame(clean.table), str(order), "decision")[kept]
        _check_numbers(clean.table, (whose, block), str(order), kept, numbers)
        kept = kept[np.argsort(numbers, kind="stable")]
    rows, made = task.made({name: values[kept] for name, values in cells.items()})
    within = ((block, block),) if isinstance(block, str) else tuple((b, b) for b in block or ())
    own: Mapping[str, Any] = {
        role: clean.table.column(column).take(pa.array(kept[rows]))
        for role, column in (("subject", whose), *within)
        if column is not None
    }
    table = pa.table({**own, **{name: pa.array(values) for name, values in made.items()}})
    arguments: dict[str, Any] = {
        "chosen": "chosen",
        "reward": "reward",
        "subject": "subject" if whose else None,
        "block": block,
        "before": {CALLED.get(name, name): name for name in task.before},
        "after": {CALLED.get(name, name): name for name in task.after},
        "available": task.available,
    }
    episodes = episodes_from_frame(table, **arguments)
    left = len(there) - len(kept)
    notes = (f"{format_count(left, 'row')} with a gap left out",) if left else ()
    columns = {"subject": whose} if whose else {}
    columns |= {"block": block} if block else {}
    nothing = ("options", "locations", "decision", "is_choice", "scored", "executed")
    told = {**arguments, "base": 0, **dict.fromkeys(nothing)}
    for name in names:  # such as conditions, for a study
        if name not in table.column_names:
            table = with_column(table, name, clean.table.column(name).take(pa.array(kept[rows])))
    return Built(episodes, columns, {}, table, notes, told, task=task.command)


def _column_of(part: str, asked: Asked, names: Sequence[str]) -> Any:
    """The column that was named, or that such a part usually has; None where there is none."""
    column = asked.columns.get(part) or usual_column(part, names)
    return None if column == NO_COLUMN else column


def _check_numbers(
    table: pa.Table, groups: tuple[Any, Any], order: str, kept: IntVector, numbers: Vector
) -> None:
    """Raise an error if two rows of a person, and of a block, have the same number."""
    whose, block = groups
    columns = [whose, *([block] if isinstance(block, str) else block or ())]
    labels = [table.column(name).take(pa.array(kept)).to_pylist() for name in columns if name]
    seen: set[Any] = set()
    for row, key in zip(kept, zip(*labels, numbers.tolist(), strict=True), strict=True):
        if key in seen:
            raise DataError(
                f"{order} must differ between the rows of a person and a block; got {key[-1]:g} "
                f"again at row {row}. "
                f"Name {quoted_argument('block')}, the column of blocks or sessions, or drop "
                "repeated rows."
            )
        seen.add(key)


def _coded(name: str) -> bool:
    """Whether negative numbers in a column stand for a response that was not given."""
    return name not in ("reward", "outcome", "gain", "loss")
