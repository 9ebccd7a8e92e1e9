"""From the codes of a column of choices to options: which option each row took, if any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector
from penchant.errors import DataError, format_list, mark_argument
from penchant.tables.events import NOTHING
from penchant.tables.labels import Coded, python_values
from penchant.tables.source_table import SourceTable, code_index, code_key


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
        """What the options are called: their names, or else their first codes."""
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

    def options_of(self, source: SourceTable, name: str, role: str = "columns.choice") -> IntVector:
        """Option of each row, counted from 0; -1 where nobody decided.

        Parameters
        ----------
        source
            The table.
        name
            Its column of choices.
        role
            The key of the schema that names it.
        """
        coded = source.codes(name, role)
        place = code_index(self.labels)
        nothing = {code_key(code) for code in self.missed} | {""}
        labels = python_values(coded.labels)
        keys = [code_key(label) for label in labels]
        keys = [_in_truths(key, place) for key in keys]
        missing = np.zeros(len(source), dtype=bool)
        missing[coded.missing] = True
        wrong = [k for k, key in enumerate(keys) if key not in place and key not in nothing]
        rows = np.flatnonzero(np.isin(coded.codes, wrong) & ~missing)
        if rows.size:
            raise self._unknown(rows, coded, name)
        options = np.array([place.get(key, NOTHING) for key in keys], dtype=np.int64)[coded.codes]
        options[missing] = NOTHING
        return options

    def _unknown(self, rows: IntVector, coded: Coded, name: str) -> DataError:
        cells = [f"{coded.at(int(row))!r} at row {row}" for row in rows[:11]]
        fix = "Add the code to choice.labels, or to choice.missed if nobody decided there."
        numbers = [x for x in python_values(coded.labels) if isinstance(x, (int, float))]
        if all(type(label) is int for label in self.labels) and self.labels == (*self._counted(),):
            known = f"whole numbers from {self.labels[0]} to {self.labels[-1]}"
            fix = f"There are {self.n_options} options: correct these cells, or say how many."
            if self.labels[0] == 0 and numbers and min(numbers) >= 1:
                fix = f"They look counted from 1: pass {mark_argument('base', 1)}."
        else:
            known = f"the codes {listed((*self.labels, *self.missed))}"
        places = format_list(cells, rows.size)
        return DataError(f"column {name}", f"must hold {known}", got=places, fix=fix)


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
