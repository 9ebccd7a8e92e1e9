"""Named tasks: tables with the columns that users of other tools have, read as they are.

A task says which columns its tables have, how their codes are read, and which model is made for it.
Rows with a gap in what the task needs are left out before anything is learnt from, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError
from penchant.tables.columns import named_column, plain_name
from penchant.tables.offer_columns import TASK_OFFERS
from penchant.tables.reading import ReadingKind
from penchant.tables.source_table import SourceTable

HBAYESDM = "subjid"  # a plain name that its tables have: choices are counted from 1 there
CODE_LIMIT = 100_000  # more than options, pumps or cues of any task
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
    name, description
        Name of the task, and what people do in it.
    columns
        Those that its tables have.
    convert
        Function from these columns, as numbers, to (table row of each event, columns of events).
        For offers it returns columns to add to the table, row by row.
    codes
        How codes are read, in words.
    command
        The model on the command line.
    call
        The model in Python, after `pn.`.
    is_recognised
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
    roles
        {role of a schema: column} where a role may name the column in place of its own name.
    """

    name: str
    description: str
    columns: tuple[str, ...]
    convert: Callable[[Columns], tuple[IntVector, Columns]]
    codes: str
    command: str
    call: str
    is_recognised: Callable[[Columns, Sequence[str]], bool] = lambda columns, names: True
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    offers: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    chosen: str = "choice"
    base: int = 0
    settings: tuple[str, ...] = ()
    values: Mapping[str, Collection[float]] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> ReadingKind:
        """Kind of reading that tables of the task give."""
        return "offers" if self.offers else "play"


def _one_choice_per_row(
    chosen: Vector, rewards: Vector, **others: Vector
) -> tuple[IntVector, Columns]:
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
    return _one_choice_per_row(taken, c["reward"], **masks)


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
            lambda c: _one_choice_per_row(c["keyPressed"], c["outcome"], cue_seen=c["cue"] - 1),
            "keyPressed 1 is go, option 1; 0 is no-go; cues are counted from 1",
            "go-no-go",
            "models.GoNoGo()",
            before=("cue_seen",),
            values={"cue": range(1, CODE_LIMIT), "keyPressed": range(2)},
            roles={"choice": "keyPressed", "reward": "outcome", "state": "cue"},
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
            values={"pumps": range(CODE_LIMIT), "explosion": range(2)},
        ),
        NamedTask(
            "selection",
            "probabilistic selection among pairs of six",
            ("type", "choice", "reward"),
            _selection,
            "type 12 is the pair of options 0 and 1; choice 1 takes its first, 0 its second",
            "q-learning",
            "QLearning(6)",
            is_recognised=_are_pairs,
            available=tuple(f"option_{i}" for i in range(6)),
            values={"choice": range(2)},
        ),
        NamedTask(
            "aversive",
            "two options, one of which is punished by sizes that are shown",
            ("choice", "outcome", "bluePunish", "orangePunish"),
            lambda c: _one_choice_per_row(
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
            is_recognised=lambda columns, names: False,
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
            offers=TASK_OFFERS["ambiguity"],
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
            offers=TASK_OFFERS["peers"],
        ),
        NamedTask(
            "ultimatum",
            "offers of a share, accepted or rejected",
            ("offer", "accept"),
            _as_it_is,
            "accept 1 takes the offer, option 1; 0 rejects it; rows are in order of time",
            "ultimatum",
            "models.Ultimatum()",
            offers=TASK_OFFERS["ultimatum"],
            chosen="accept",
        ),
        NamedTask(
            "inputs",
            "predictions of a binary input",
            ("u", "y"),
            lambda c: _one_choice_per_row(c["y"], (c["u"] == c["y"]).astype(float), input=c["u"]),
            "y is the response before input u; both are 0 or 1",
            "hgf",
            "models.HGF()",
            is_recognised=_are_binary,
            after=("input",),
            values={"u": range(2), "y": range(2)},
        ),
        NamedTask(
            "iowa",
            "four decks of cards",
            ("choice", "gain", "loss"),
            lambda c: _one_choice_per_row(c["choice"] - 1, np.abs(c["gain"]) - np.abs(c["loss"])),
            "choice is counted from 1; the reward is gain less loss; gains and losses that are "
            "learnt apart are the task gain-loss",
            "orl",
            "models.ORL()",
            is_recognised=_are_cards,
            values={"choice": range(1, 5)},
        ),
        NamedTask(
            "gain-loss",
            "options with a gain and a loss",
            ("choice", "gain", "loss"),
            lambda c: _one_choice_per_row(
                c["choice"] - 1,
                np.abs(c["gain"]) - np.abs(c["loss"]),
                gained=np.abs(c["gain"]),
                lost=np.abs(c["loss"]),
            ),
            "choice is counted from 1; sizes of gain and loss count",
            "gain-loss",
            "models.GainLoss({n})",
            is_recognised=_counted,
            after=("gained", "lost"),
            values={"choice": range(1, CODE_LIMIT)},
        ),
        NamedTask(
            "bandit",
            "options that pay",
            ("choice", "outcome"),
            lambda c: _one_choice_per_row(c["choice"] - 1, c["outcome"]),
            "choice is counted from 1; two options whose outcomes reverse are the task reversal",
            "q-learning",
            "QLearning({n})",
            is_recognised=_counted,
            values={"choice": range(1, CODE_LIMIT)},
        ),
        NamedTask(
            "reversal",
            "two options whose outcomes reverse",
            ("choice", "outcome"),
            lambda c: _one_choice_per_row(c["choice"] - 1, np.sign(c["outcome"])),
            "choice is counted from 1; of the outcome the sign counts",
            "q-learning",
            'QLearning(2, fictitious="learning_rate", bias=True)',
            is_recognised=lambda columns, names: False,
            values={"choice": range(1, 3)},
        ),
    )
}
# What models call the columns that a task makes under a name that no column of a table has.
CALLED = {"cue_seen": "cue", "gained": "gain", "lost": "loss", "punished": "outcome"}


def task_named(name: str) -> NamedTask:
    """The task of this name."""
    check_one_of(name, "task", TASKS)
    return TASKS[name]


def task_of_columns(names: Sequence[str]) -> NamedTask | None:
    """The first task all of whose columns are among these."""
    every = (task for task in TASKS.values() if None not in task_columns(task, names).values())
    return next(every, None)


def recognised_task(source: SourceTable) -> NamedTask | None:
    """The task whose columns a table has, where no other reading is as near."""
    for task in TASKS.values():
        found = task_columns(task, source.names)
        if None in found.values():
            continue
        try:
            cells = {name: source.floats(str(own), name) for name, own in found.items()}
        except DataError:
            continue
        if task.is_recognised(cells, source.names):
            return task
    return None


def task_columns(task: NamedTask, names: Sequence[str]) -> dict[str, str | None]:
    """Match the columns of a task to those of a table: {task column: table column}."""
    return {name: named_column((name, *ALSO.get(name, ())), names) for name in task.columns}


def is_coded(name: str) -> bool:
    """Whether negative numbers in a column stand for a response that was not given."""
    return name not in ("reward", "outcome", "gain", "loss")
