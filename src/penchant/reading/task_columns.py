"""Tables of two-step and of go/no-go under the names and codes that laboratories give them.

What stands in such a table is written again with the columns of the named task, see `tasks`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penchant.errors import DataError, argument
from penchant.reading.ambiguous import as_reward, may_be_paid
from penchant.reading.asked import Asked, with_column, word
from penchant.tables.cells import amount, is_nothing
from penchant.tables.columns import is_called, plain_name, usual_column
from penchant.tables.laboratory import CHOSEN, Cleaned
from penchant.tables.surveys import CUTS

_WORD = re.compile(r"[a-z]+|\d+")
_FIRST = frozenset(("1", "first", "one"))
_SECOND = frozenset(("2", "second", "two", "final"))
_STEPS = frozenset(("stage", "step", "level", "s", "l", "lvl", "state", "option", "stim", "made"))
_TAKEN = frozenset(
    (
        *("choice", "ch", "response", "resp", "action", "chosen", "choose", "key", "act", "pick"),
        *("selected", "selection", "decision", "button", "c"),
    )
)
_STATE = frozenset(("state", "planet"))
_SHIPS, _ALIENS = frozenset(("spaceship", "rocket", "ship")), frozenset(("alien", "aliens"))
CLEAR = 0.15  # by which the second state depends on the first choice, at least
_GO, _NO_GO = frozenset(("go",)), frozenset(("nogo", "notgo"))
_PRESSED = frozenset(
    (
        *("keypressed", "pressed", "press", "go", "isgo", "gonogo", "maderesponse", "responded"),
        *("responsemade", "buttonpress", "didpress", "goresponse", "respmade", "gochoice"),
    )
)
_YES, _NO = frozenset(("1", "true", "yes", "y")), frozenset(("0", "false", "no", "n"))
_CUES = ("cue", "fractal", "stimulus", "stim", "condition", "trialtype", "cuetype", "image", "card")
FEWEST_CUES, MOST_CUES = 2, 12


class Rewritten(NamedTuple):
    """A table with the columns of a named task, and what was taken for what."""

    task: str
    table: pa.Table
    note: str


def rewritten(clean: Cleaned, asked: Asked, task: str | None = None) -> Rewritten | None:
    """The table of a named task under other names and codes; None if it is none.

    Parameters
    ----------
    clean
        A table of decisions.
    asked
        What was said of it.
    task
        The task, where it was named.
    """
    for name, way in (("two-step", _two_step), ("go-no-go", _go_no_go)):
        found = way(clean, asked, task == name) if task in (None, name) else None
        if found is not None:
            return Rewritten(name, *found)
    return None


# --- two-step ----------------------------------------------------------------------------------


def _tokens(name: str) -> list[str]:
    return [one for part in CUTS.split(name) for one in _WORD.findall(part.lower())]


def _steps(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the first choice, of the second one, and of the state between them, by names.

    >>> _steps(["id", "stage1_choice", "stage2_state", "stage2_choice", "rt1"])
    {'first': ['stage1_choice'], 'second': ['stage2_choice'], 'state': ['stage2_state']}
    """
    found: dict[str, list[str]] = {"first": [], "second": [], "state": []}
    for name in names:
        own = {*_tokens(name)}
        steps = own & (_FIRST | _SECOND)
        rest = own - steps
        if own <= _SHIPS or own <= _ALIENS:
            found["first" if own <= _SHIPS else "second"].append(name)
        elif rest & _STATE and rest <= _STATE | _STEPS and not steps & _FIRST:
            found["state"].append(name)
        elif len(steps) == 1 and rest & _TAKEN and rest <= _TAKEN | _STEPS:
            found["first" if steps & _FIRST else "second"].append(name)
    return found


class TwoStepColumns(NamedTuple):
    """Columns of a two-step task: both choices, and the state that the first one led to."""

    first: str
    second: str
    state: str | None


def two_step_columns(names: Sequence[str]) -> TwoStepColumns | None:
    """Columns of a two-step task by their names; None where these do not say all of them once.

    >>> two_step_columns(["stage1_choice", "stage2_state", "stage2_choice", "reward"]).state
    'stage2_state'
    """
    steps = _steps(names)
    if len(steps["first"]) != 1 or len(steps["second"]) != 1 or len(steps["state"]) > 1:
        return None
    return TwoStepColumns(steps["first"][0], steps["second"][0], [*steps["state"], None][0])


def _two_step(clean: Cleaned, asked: Asked, named: bool) -> tuple[pa.Table, str] | None:
    table = clean.table
    steps = _steps([name for name in table.column_names if name not in clean.own])
    if len(steps["first"]) != 1 or len(steps["second"]) != 1 or len(steps["state"]) > 1:
        return None
    (first,), (second,), state = steps["first"], steps["second"], [*steps["state"], None][0]
    if state is None and _is_as_it_is(table, ("level1_choice", "level2_choice", "reward")):
        return None
    used = {name for name in (first, second, state) if name is not None}
    columns = {name: _words(table, name) for name in used}
    known = _paid(clean, asked, used)
    paid = _words(table, known) if known else [""] * len(table)
    there = [None not in row for row in zip(paid, *columns.values(), strict=True)]
    if not any(there):
        return None
    codes = {name: _coded(cells, there) for name, cells in columns.items()}
    sizes = {name: int(own.max()) + 1 for name, own in codes.items()}
    if sizes[first] != 2 or sizes[second] != (4 if state is None else 2):
        return None
    led = codes[second] // 2 if state is None else codes[state]
    if state is not None and sizes[state] != 2:
        return None
    taken = codes[second] % 2
    told = [led[(codes[first] == k) & there].mean() for k in (0, 1)]
    clear = abs(told[1] - told[0]) > CLEAR
    if not clear and not named:
        return None
    if known is None:
        raise _no_reward(clean, "two-step", (first, *([state] if state else []), second))
    if clear and told[0] > told[1]:
        led = 1 - led  # the first option mostly leads to the first state
    rows = np.array(there)
    cells = {
        "level1_choice": np.where(rows, codes[first] + 1, np.nan),
        "level2_choice": np.where(rows, 2 * led + taken + 1, np.nan),
    }
    places = f"states by {state or second}"
    note = f"first choices by {first}, second ones by {second}, {places}, rewards by {known}"
    return _with(table, cells, {"reward": known}), note


def _coded(cells: Sequence[str | None], there: Sequence[bool]) -> Any:
    """Numbers of the words of a column, in their order; 0 where nothing is told."""
    words = sorted({cell for cell, own in zip(cells, there, strict=True) if own and cell})
    if all(one.lstrip("-").isdigit() for one in words):
        words.sort(key=int)
    number = {one: k for k, one in enumerate(words)}
    return np.array([number.get(cell or "", 0) for cell in cells])


# --- go / no-go --------------------------------------------------------------------------------


def _go_no_go(clean: Cleaned, asked: Asked, named: bool) -> tuple[pa.Table, str] | None:
    table = clean.table
    reward = _paid(clean, asked, ())
    if reward is None or _is_as_it_is(table, ("cue", "keyPressed", "outcome")):
        return None
    paid = _words(table, reward)
    rows = np.array([one is not None for one in paid])
    free = [name for name in table.column_names if name not in {*clean.own, reward}]
    called = [name for name in free if plain_name(name) in _PRESSED]
    others = [name for name in free if is_called(CHOSEN, name)]
    ways = ((called, True), (others, named), (free, False))
    for columns, flagged in ways:
        found = {name: own for name in columns if (own := _presses(table, name, rows, flagged))}
        if found:
            break
    if len(found) != 1:
        if not named:
            _ask_about_cues(clean, asked, others, reward, rows)
        return None
    ((key, went),) = found.items()
    cue = _cue(table, {key, reward}, asked.columns.get("subject"), clean.own)
    if cue is None:
        return None
    cues = _words(table, cue)
    told = zip(rows.tolist(), cues, went, strict=True)
    there = [own and None not in (seen, one) for own, seen, one in told]
    cells = {
        "cue": np.where(there, _coded(cues, there) + 1, np.nan),
        "keyPressed": np.where(there, np.array(went, dtype=float), np.nan),
    }
    note = f"go where {key} says so, cues by {cue}, outcomes by {reward}"
    return _with(table, cells, {"outcome": reward}), note


def _presses(table: pa.Table, name: str, rows: Any, flagged: bool) -> list[bool | None] | None:
    """Whether a key was pressed in each row, by a column that says go; flags of presses, too.

    Of keys, one that is pressed or not is such a flag. None of rows that do not tell.
    """
    cells = zip(table[name].to_pylist(), rows.tolist(), strict=True)
    words = [plain_name(cell) if own and not is_nothing(cell) else None for cell, own in cells]
    said = {one for one in words if one is not None}
    if said & _GO and said & _NO_GO and said <= _GO | _NO_GO:
        return [None if one is None else one in _GO for one in words]
    nothing = sum(own and one is None for own, one in zip(rows.tolist(), words, strict=True))
    if len(said) == 1 and nothing and is_called(CHOSEN, name):
        return [one is not None for one in words]
    if not flagged or len(said) != 2 or not said <= _YES | _NO or not said & _YES:
        return None
    return [None if one is None else one in _YES for one in words]


def _ask_about_cues(
    clean: Cleaned, asked: Asked, names: Sequence[str], reward: str, rows: Any
) -> None:
    """Ask whether 0 and 1 are no-go and go, where some cues promise and others threaten."""
    table = clean.table
    keys = [name for name in names if _presses(table, name, rows, flagged=True)]
    cue = _cue(table, {*keys, reward}, asked.columns.get("subject"), clean.own)
    if len(keys) != 1 or cue is None:
        return
    outcomes: dict[str, set[float]] = {}
    for seen, cell in zip(_words(table, cue), table[reward].to_pylist(), strict=True):
        paid = None if is_nothing(cell) else amount(cell)
        if paid is not None and seen is not None:
            outcomes.setdefault(seen, set()).add(float(np.sign(paid[0])))
    kinds = [own - {0.0} for own in outcomes.values()]
    if {1.0} not in kinds or {-1.0} not in kinds or {-1.0, 1.0} in kinds:
        return
    raise DataError(
        f"{argument('task')} must be named, as {reward} holds gains where {cue} is one thing and "
        f"losses where it is another, which can be read in two ways: the task go-no-go, where 1 in "
        f"{keys[0]} is a press; or two options that are the same whatever {cue} says. Pass "
        f"{argument('task', 'go-no-go')} for the first, or {argument('chosen', keys[0])} for the "
        "second."
    )


def _cue(table: pa.Table, used: Collection[str], subject: Any, own: Collection[str]) -> str | None:
    """The column of cues: of few labels that come again and again within people."""
    for called in _CUES:
        for name in table.column_names:
            if plain_name(name) != called or name in used or name in own:
                continue
            labels = {*_words(table, name)} - {None}
            few = FEWEST_CUES <= len(labels) <= MOST_CUES and 2 * len(labels) <= len(table)
            if few and _varies(table, name, subject):
                return str(name)
    return None


# --- both --------------------------------------------------------------------------------------


def _is_as_it_is(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether a table has the columns of a task, and numbers in them."""
    return {*columns} <= {*table.column_names} and all(
        pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type)
        for name in columns
    )


def _words(table: pa.Table, name: str) -> list[str | None]:
    return [None if is_nothing(cell) else word(cell) for cell in table[name].to_pylist()]


def _paid(clean: Cleaned, asked: Asked, used: Collection[str]) -> str | None:
    """The column of rewards: named, or of a usual name and not the same for all of a person."""
    given, table = asked.columns.get("reward"), clean.table
    if isinstance(given, str):
        return given if given in table.column_names else None
    subject = asked.columns.get("subject")
    free = [
        name
        for name in table.column_names
        if name not in used and name not in clean.own and _varies(table, name, subject)
    ]
    found = usual_column("reward", free)
    numbers = isinstance(found, str) and all(
        is_nothing(cell) or amount(cell) is not None for cell in table[found].to_pylist()
    )
    return found if numbers else None


def _varies(table: pa.Table, name: str, subject: Any) -> bool:
    """Whether a column says more than one thing of somebody, empty cells aside."""
    whose = table[subject].to_pylist() if subject in table.column_names else [None] * len(table)
    said: dict[Any, str] = {}
    pairs = zip(whose, _words(table, name), strict=True)
    return any(own is not None and said.setdefault(one, own) != own for one, own in pairs)


def _no_reward(clean: Cleaned, task: str, columns: Sequence[str]) -> DataError:
    """Ask for the reward of a task whose other columns are known."""
    ways = [as_reward(name, clean) for name in may_be_paid(clean, {*columns})[:8]]
    said = " or ".join(ways) or f"{argument('reward')} with its column"
    return DataError(
        f"{argument('reward')} must be given, as {', '.join(columns)} are columns of the task "
        f"{task}, and no other column has a usual name of rewards. Pass {said}."
    )


def _with(table: pa.Table, cells: Mapping[str, Any], paid: Mapping[str, str]) -> pa.Table:
    """The table with columns of a task in place of those of their names, or beside them."""
    for name, column in paid.items():
        table = with_column(table, name, table[column])
    for name, values in cells.items():
        table = with_column(table, name, pa.array(values, from_pandas=True))
    return table
