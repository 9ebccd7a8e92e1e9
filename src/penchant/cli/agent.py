"""The model of an agent as the command line spells it: where options lie, what it knows."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.locations import check_locations, grid
from penchant.bandit.reward_prior import RewardPrior
from penchant.choices.frames import column_floats, open_frame
from penchant.cli.options import Agent
from penchant.cli.refusing import refuse
from penchant.cli.settings import KERNELS, made, settings
from penchant.errors import DataError, named
from penchant.io.table import read_table
from penchant.models.catalogue import entry_of
from penchant.models.ucl import UCL

COORDINATES = ("x", "y", "z")
MOST_OPTIONS = 1_000_000


def ucl(agent: Agent, clock: Literal["choices", "events"] = "choices") -> UCL:
    """Stochastic UCL with the options given."""
    refuse(agent, "with --model ucl", names={"initial_value"})
    if agent.noise_variance is None:
        raise DataError(
            "--noise-variance must be given with --model ucl; got none. Give the variance of a "
            "reward around its mean, which the agent knows: 10 in the paper's human data."
        )
    said: dict[str, Any] = {
        "noise_variance": agent.noise_variance,
        "length_scale": agent.length_scale,
        "kernel": KERNELS[agent.kernel],
        "cooling": agent.cooling,
        "clock": clock,
        "bonus": agent.bonus,
    }
    more = settings(agent.settings, entry_of("ucl"))
    for name in more:
        if name in said:
            raise DataError(
                f"--settings must not name {name} with --model ucl; got it. "
                f"Use --{name.replace('_', '-')}."
            )
    every = {"locations": locations(agent), **said, **more}
    model: UCL = made(entry_of("ucl"), every, agent.settings)
    return model


def locations(agent: Agent) -> Matrix:
    """Where the options lie, from --grid or --locations."""
    if (agent.grid is None) == (agent.locations is None):
        got = "neither" if agent.grid is None else "both"
        raise DataError(
            f"--grid or --locations must be given with --model {agent.model}; got {got}. "
            "Try --grid 10x10: option x + 10 * y is at (x, y)."
        )
    if agent.locations is None:
        return grid(*width_height(agent))
    return _from_file(agent.locations)


def width_height(agent: Agent) -> tuple[int, int]:
    """The numbers of --grid."""
    words = agent.grid or ""
    match = re.fullmatch(r"([1-9]\d{0,6})[xX]([1-9]\d{0,6})", words.strip())
    if match is None:
        raise DataError(f"--grid must be WIDTHxHEIGHT; got {words!r}. Try --grid 10x10.")
    width, height = int(match[1]), int(match[2])
    if not 2 <= width * height <= MOST_OPTIONS:
        raise DataError(
            f"--grid must have 2 to {MOST_OPTIONS:,} options; got {width * height:,}. Correct it."
        )
    return width, height


def _from_file(file: str) -> Matrix:
    table = open_frame(read_table(file))
    found = [name for name in COORDINATES if name in table.columns]
    if not found:
        raise DataError(
            f"--locations must have columns x, y or z; got {named(table.columns)}. Rename them."
        )
    if "option" in table.columns:
        _check_order(column_floats(table, "option", "option"))
    return check_locations(
        np.column_stack([column_floats(table, name, "coordinate") for name in found])
    )


def _check_order(options: Any) -> None:
    wrong = np.flatnonzero(np.diff(options, prepend=options[0] - 1) != 1)
    if options[0] not in (0, 1) or wrong.size:
        at = 0 if options[0] not in (0, 1) else int(wrong[0])
        raise DataError(
            "--locations must hold the options in order, from 0 or 1; "
            f"got option {options[at]:g} at line {at + 2}. Sort the rows, and fill gaps."
        )


def map_words(agent: Agent, places: Matrix, base: int = 0) -> str:
    """Where the options are taken to lie, as no check can tell a grid from its transpose."""
    first, last = base, len(places) - 1 + base
    if agent.grid is None:
        ends = [f"({', '.join(f'{c:g}' for c in places[i])})" for i in (0, -1)]
        return f"Map: option {first} is at {ends[0]}, option {last} at {ends[1]}."
    width, height = width_height(agent)
    more = f" + {base}" if base else ""
    below = f", option {width + base} at (0, 1)" if height > 1 else ""
    return (
        f"Map: option = x + {width} * y{more}: option {first} is at (0, 0), option {base + 1} at "
        f"{(1, 0) if width > 1 else (0, 1)}{below}, option {last} at ({width - 1}, {height - 1})."
    )


def place_words(places: Matrix, base: int = 0) -> str:
    """Where options are taken to lie where a choice is a place, counted from `base` on.

    >>> print(place_words(np.array([[0], [1], [2]]), base=1))
    Map: 3 options, from (1) to (3); results call that at (1) option 0, at (2) option 1.
    """
    ends = (places.min(axis=0), places.max(axis=0), *places[:2])
    low, high, first, second = (f"({', '.join(f'{c + base:g}' for c in end)})" for end in ends)
    return (
        f"Map: {len(places)} options, from {low} to {high}; results call that at {first} option 0, "
        f"at {second} option 1."
    )


def nominal(words: str) -> RewardPrior:
    """The prior of --linearized."""
    try:
        numbers = [float(part) for part in words.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3):
        raise DataError(
            "--linearized must be MEAN,VARIANCE or MEAN,VARIANCE,LENGTH; "
            f"got {words!r}. Try --linearized 200,1e6."
        )
    try:
        return RewardPrior(*numbers)
    except DataError as error:
        raise DataError(f"--linearized MEAN,VARIANCE,LENGTH: {error}") from None
