"""Map the codes of a column of choices to indices of options, -1 for none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError, closest_match_hint, format_list, mark_argument
from penchant.tables.events import NOTHING
from penchant.tables.frames import row_place
from penchant.tables.labels import Coded, python_values
from penchant.tables.numbers import Place
from penchant.tables.source_table import code_index, code_key


@dataclass(frozen=True)
class OptionCodes:
    """Options by their codes.

    Attributes
    ----------
    labels
        Codes in the order of the options, several of which may mean one option.
    missed
        Codes of decisions that nobody made; an empty cell is one, too.
    names
        What the options are called, where that is said.
    """

    labels: tuple[Any, ...]
    missed: tuple[Any, ...] = ()
    names: tuple[Any, ...] | None = None

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.labels)

    @property
    def option_names(self) -> tuple[Any, ...]:
        """Names of the options, or else their first codes."""
        if self.names is not None:
            return self.names
        return tuple(own[0] if isinstance(own, tuple) else own for own in self.labels)

    @property
    def base(self) -> int:
        """Number of the first option, where codes are whole numbers that count on; else 0."""
        counted = all(type(label) is int for label in self.labels) and self.labels[0] in (0, 1)
        return self.labels[0] if counted and list(self.labels) == self._counted() else 0

    def _counted(self) -> list[int]:
        return list(range(self.labels[0], self.labels[0] + self.n_options))

    def options_of(
        self,
        coded: Coded,
        said: str,
        place: Place = row_place,
        is_missing: Callable[[str], bool] = lambda word: False,
    ) -> IntVector:
        """Option of each row, counted from 0; -1 where nobody decided.

        Parameters
        ----------
        coded
            The column of choices.
        said
            What messages call it.
        place
            Where a row is, in words.
        is_missing
            Whether a word that is no code says that nobody decided.
        """
        index = code_index(self.labels)
        nothing = {code_key(code) for code in self.missed} | {""}
        keys = [_in_truths(code_key(label), index) for label in python_values(coded.labels)]
        wrong = [
            k
            for k, key in enumerate(keys)
            if key not in index
            and key not in nothing
            and not (isinstance(key, str) and is_missing(key))
        ]
        options = np.array([index.get(key, NOTHING) for key in keys], dtype=np.int64)[coded.codes]
        unknown = np.isin(coded.codes, wrong) if wrong else np.zeros(len(options), dtype=bool)
        options[coded.missing], unknown[coded.missing] = NOTHING, False
        if unknown.any():
            raise self._unknown(np.flatnonzero(unknown), coded, said, place)
        return options

    def _unknown(self, rows: IntVector, coded: Coded, said: str, place: Place) -> DataError:
        cells = [f"{coded.at(int(row))!r} at {place(int(row))}" for row in rows[:11]]
        numbers = [x for x in python_values(coded.labels) if isinstance(x, (int, float))]
        if all(type(label) is int for label in self.labels) and self.labels == (*self._counted(),):
            known = f"whole numbers from {self.labels[0]} to {self.labels[-1]}"
            fix = f"There are {self.n_options} options: correct these cells, or say how many."
            if self.labels[0] == 0 and numbers and min(numbers) >= 1:
                fix = f"They look counted from 1: pass {mark_argument('base', 1)}."
        else:
            known = f"the codes {listed((*self.labels, *self.missed))}"
            fix = closest_match_hint(str(coded.at(int(rows[0]))), map(str, self.labels)) or (
                "Add the code to choice.labels, or to choice.missed if nobody decided there."
            )
        return DataError(said, f"must hold {known}", got=format_list(cells, rows.size), fix=fix)


def _in_truths(key: Any, place: dict[Any, int]) -> Any:
    """A truth value by the number that stands for it, where options are coded 0 and 1."""
    if isinstance(key, tuple):
        other: Any = float(key[1])
    else:
        other = ("truth", bool(key)) if key in (0.0, 1.0) else key
    return other if key not in place and other in place else key


def listed(codes: Sequence[Any]) -> str:
    """Codes in words."""
    return format_list([str(code) for code in codes])


def options_at(there: Matrix, locations: Matrix, base: int, place: Place) -> IntVector:
    """Option at the coordinates of each row, -1 where there are none.

    Parameters
    ----------
    there
        Coordinates, a column for each: NaN where nothing was chosen.
    locations
        Where the options lie: (n_options, n_coordinates).
    base
        Number that coordinates are counted from: it is taken off them.
    place
        Where a row is, in words.
    """
    there = there - base
    given = ~np.isnan(there).any(axis=1)
    index = {tuple(point): k for k, point in enumerate(locations.tolist())}
    options = np.full(len(there), NOTHING, dtype=np.int64)
    options[given] = [index.get(tuple(point), len(index)) for point in there[given].tolist()]
    wrong = np.flatnonzero(options == len(index))
    if wrong.size:
        low, high = locations.min(axis=0), locations.max(axis=0)
        fix = f"Options lie between {_point(low + base)} and {_point(high + base)}."
        seen = there[given]
        if (
            base == 0
            and (seen.min(axis=0) == low + 1).any()
            and (seen.max(axis=0) <= high + 1).all()
        ):
            fix = f"The coordinates look counted from 1: pass {mark_argument('base', 1)}."
        cells = (f"{_point(there[row] + base)} at {place(int(row))}" for row in wrong[:11])
        raise DataError(
            "chosen", "must lie where an option is", got=format_list(cells, wrong.size), fix=fix
        )
    return options


def _point(place: Vector) -> str:
    return f"({', '.join(f'{c:g}' for c in place)})"
