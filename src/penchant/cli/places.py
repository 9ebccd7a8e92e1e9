"""Where options are taken to lie, in words: no check can tell a grid from its transpose."""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.cli.options import Agent
from penchant.cli.settings import COORDINATES, width_height
from penchant.cli.words import say
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.reading import Reading


def say_places(agent: Agent, reading: Reading, locations: Matrix) -> None:
    """Where the options are taken to lie, and whether the file agrees."""
    base = reading.arguments["base"]
    if isinstance(reading.arguments["chosen"], str):
        say(map_words(agent, locations, base))
        _say_agreement(reading, locations)
    else:
        say(place_words(locations, base))


def _say_agreement(reading: Reading, locations: Matrix) -> None:
    """Whether columns of coordinates agree with the map, where the file has them."""
    names = COORDINATES[: locations.shape[1]]
    frame = open_frame(reading.table)
    if not all(name in frame.columns and frame[name].dtype.is_numeric() for name in names):
        return
    if not reading.numbered:
        return
    base = reading.arguments["base"]
    options = column_floats(frame, reading.arguments["chosen"], "chosen") - base
    known = np.flatnonzero(options >= 0)
    there = np.column_stack([column_floats(frame, name, name) for name in names])[known]
    here = locations[options[known].astype(np.int64)]
    shift = there[:1] - here[:1]  # coordinates may be counted from another number than 0
    wrong = np.flatnonzero((there - here != shift).any(axis=1))
    columns = " and ".join(names)
    if not wrong.size:
        say(f"Columns {columns} of the file agree with this map.")
        return
    k, row = int(wrong[0]), int(known[wrong[0]])
    place = reading.in_words(f"row {row}")
    say(
        f"Warning: columns {columns} of the file disagree with this map: option "
        f"{options[row] + base:g} is at {_point(there[k])} at {place}, and at "
        f"{_point(here[k])} on the map. Renumber the options, or give --locations."
    )


def _point(place: Vector) -> str:
    return f"({', '.join(f'{c:g}' for c in place)})"


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


def grid_words(places: Matrix) -> str:
    """The options that say where these places lie.

    >>> grid_words(np.array([[1.0, 1.0], [5.0, 3.0]]))
    '--grid 5x3 --base 1'
    >>> grid_words(np.array([[0.5, 1.0]]))
    '--locations FILE'
    """
    low, high = places.min(axis=0), places.max(axis=0)
    if places.shape[1] != 2 or (places != np.floor(places)).any() or low.min() < 0:
        return "--locations FILE"
    base = 1 if low.min() >= 1 else 0
    width, height = (high - base + 1).astype(int)
    return f"--grid {width}x{height}{' --base 1' if base else ''}"
