"""Words among the numbers of options: more likely they mark that nothing was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import (
    DataError,
    closest_match_hint,
    format_list,
    mark_argument,
    mark_quoted_argument,
)
from penchant.tables.frames import Table, column_floats, column_labels
from penchant.tables.lexicon import says_nothing
from penchant.tables.numbers import Place


def labelled_options(
    table: Table, name: Any, options: Sequence[Any] | None, place: Place
) -> tuple[Vector, tuple[Any, ...]]:
    """Index of the option of each row, NaN where there is none, and the labels in their order.

    Parameters
    ----------
    table
        The table.
    name
        Column of the label.
    options
        Labels of all options in the order of their indices; those in the table, sorted, if not
        given.
    place
        Where a row is, in words.
    """
    coded = column_labels(table, name, f"chosen {name!r}", says_nothing)
    seen = [label.strip() if isinstance(label, str) else label for label in coded.labels.tolist()]
    known = _labels(seen if options is None else options, options is None)
    index = {label: float(i) for i, label in enumerate(known)}
    # labels that were typed at a terminal are text, whatever the table has
    index |= {str(label): float(i) for i, label in enumerate(known) if str(label) not in index}
    found = np.array([_index(label, index) for label in seen])
    chosen = found[coded.codes]
    chosen[coded.missing] = np.nan
    wrong = np.flatnonzero(chosen == np.inf)
    if wrong.size:
        cells = (f"{seen[coded.codes[row]]!r} at {place(int(row))}" for row in wrong[:11])
        hint = closest_match_hint(str(seen[coded.codes[wrong[0]]]), map(str, known))
        typed = mark_quoted_argument("options")
        raise DataError(
            "chosen",
            f"must be one of the options {format_list(map(str, known))}",
            got=format_list(cells, wrong.size),
            fix=hint or f"Correct it, or add it to {typed}.",
        )
    return chosen, known


def _labels(labels: Sequence[Any], drop_nothing: bool) -> tuple[Any, ...]:
    known = tuple(label for label in labels if not (drop_nothing and says_nothing(str(label))))
    if len(known) < 2 or len(set(map(str, known))) < len(known):
        raise DataError(
            "options",
            "must be two labels or more, each once",
            got=format_list(map(str, known)) or "none",
            fix=f"Name all options in {mark_quoted_argument('options')}.",
        )
    return known


def _index(label: Any, index: dict[Any, float]) -> float:
    if isinstance(label, str) and says_nothing(label) and label not in index:
        return float("nan")
    return index.get(label, index.get(str(label), np.inf))


def written_options(table: Table, name: Any, place: Place) -> Vector:
    """Number of the option of each row where the column is text, NaN where there is none.

    Parameters
    ----------
    table
        The table.
    name
        Column of numbers, as text, beside words that say that nothing was chosen.
    place
        Where a row is, in words.
    """
    coded = column_labels(table, name, f"chosen {name!r}", says_nothing)
    seen = [str(label).strip() for label in coded.labels.tolist()]
    numbers = np.array([_number(word) for word in seen])[coded.codes]
    numbers[coded.missing] = np.nan
    wrong = np.flatnonzero(np.isinf(numbers))
    if wrong.size:
        cells = (f"{seen[coded.codes[row]]!r} at {place(int(row))}" for row in wrong[:11])
        words = [word for word in seen if not says_nothing(word)]
        raise DataError(
            f"chosen {name!r}",
            (
                "must hold numbers of options, or labels that "
                f"{mark_quoted_argument('options')} names"
            ),
            got=format_list(cells, wrong.size),
            fix=(
                f"Pass options=[{format_list(map(repr, words))}] if these are the labels, or "
                "leave cells empty where nothing was chosen."
            ),
        )
    return numbers


def _number(word: str) -> float:
    """The number that is written, NaN for a word for nothing, infinity for any other."""
    if says_nothing(word):
        return float("nan")
    try:
        return float(word)
    except ValueError:
        return float("inf")


def placed_options(
    table: Table, names: Sequence[Any], locations: Matrix, base: int, place: Place
) -> Vector:
    """Index of the option at the coordinates of each row, NaN where there are none.

    Parameters
    ----------
    table
        The table.
    names
        Columns of the coordinates.
    locations
        Where the options lie: (n_options, n_coordinates).
    base
        Number that coordinates are counted from: it is taken off them.
    place
        Where a row is, in words.
    """
    if len(names) != locations.shape[1]:
        raise DataError(
            "chosen",
            f"must have {locations.shape[1]} coordinates, as the locations have",
            got=f"columns {', '.join(map(str, names))}",
            fix="Name one column for each.",
        )
    there = np.column_stack([column_floats(table, name, "chosen") for name in names]) - base
    given = ~np.isnan(there).any(axis=1)
    index = {tuple(point): float(i) for i, point in enumerate(locations.tolist())}
    chosen = np.full(len(there), np.nan)
    chosen[given] = [index.get(tuple(point), np.inf) for point in there[given].tolist()]
    wrong = np.flatnonzero(chosen == np.inf)
    if wrong.size:
        cells = (f"{_point(there[row] + base)} at {place(int(row))}" for row in wrong[:11])
        raise DataError(
            "chosen",
            "must lie where an option is",
            got=format_list(cells, wrong.size),
            fix=_advice(there[given], locations, base),
        )
    return chosen


def _advice(there: Matrix, locations: Matrix, base: int) -> str:
    low, high = locations.min(axis=0), locations.max(axis=0)
    if base == 0 and (there.min(axis=0) == low + 1).any() and (there.max(axis=0) <= high + 1).all():
        return f"The coordinates look counted from 1: pass {mark_argument('base', 1)}."
    return f"Options lie between {_point(low + base)} and {_point(high + base)}."


def _point(place: Vector) -> str:
    return f"({', '.join(f'{c:g}' for c in place)})"
