"""Columns of a two-step task under the names that laboratories give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penchant.tables.lexicon import vocabulary, words_of


def _steps(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the first choice, of the second one, and of the state between them, by names.

    >>> _steps(["id", "stage1_choice", "stage2_state", "stage2_choice", "rt1"])
    {'first': ['stage1_choice'], 'second': ['stage2_choice'], 'state': ['stage2_state']}
    """
    found: dict[str, list[str]] = {"first": [], "second": [], "state": []}
    first, second, step = map(vocabulary, ("first_step", "second_step", "step"))
    taken, state = vocabulary("step_taken"), vocabulary("step_state")
    ships, aliens = vocabulary("first_object"), vocabulary("second_object")
    for name in names:
        own = {*words_of(name)}
        steps = own & (first | second)
        rest = own - steps
        if own <= ships or own <= aliens:
            found["first" if own <= ships else "second"].append(name)
        elif (steps & second and rest == {"s"}) or (  # S2 beside choices of steps 1 and 2
            rest & state and rest <= state | step and not steps & first
        ):
            found["state"].append(name)
        elif len(steps) == 1 and rest & taken and rest <= taken | step:
            found["first" if steps & first else "second"].append(name)
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
