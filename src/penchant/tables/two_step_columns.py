"""Columns of a two-step task under the names that laboratories give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penchant.tables.lexicon import words_of

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


def _steps(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the first choice, of the second one, and of the state between them, by names.

    >>> _steps(["id", "stage1_choice", "stage2_state", "stage2_choice", "rt1"])
    {'first': ['stage1_choice'], 'second': ['stage2_choice'], 'state': ['stage2_state']}
    """
    found: dict[str, list[str]] = {"first": [], "second": [], "state": []}
    for name in names:
        own = {*words_of(name)}
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
