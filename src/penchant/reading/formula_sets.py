"""Sets of attributes of a choice experiment: names and formulas as variables of its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penchant.choices import Choices
from penchant.errors import DataError
from penchant.reading.asked import Asked
from penchant.reading.variables import Columns, Factor, Formula, Variables, formula_of
from penchant.tables.reading import Reading

ALL = "all"


class _OptionColumns(Columns):
    """Attributes as the schema made them, and further columns of the table, row by row.

    Attributes
    ----------
    made
        The variables that the choices have.
    """

    def __init__(self, reading: Reading) -> None:
        choices: Choices = reading.data
        self.made = dict(zip(choices.names, choices.explanatory.T, strict=True))
        rows = reading.table.take(pa.array(reading.arguments["rows"]))
        cells = {name: rows[name].to_pylist() for name in rows.column_names}
        cells |= {name: values.tolist() for name, values in self.made.items()}
        decimal = (reading.schema.file.decimal if reading.schema else None) or "."
        super().__init__(cells, np.zeros(choices.n_rows, dtype=bool), Asked(decimal=decimal))

    def factor(self, factor: Factor) -> Variables:
        """Variables of an attribute; those of other columns are made."""
        own = self.own(factor.name)
        if own and not (factor.categories and own == [factor.name]):
            return {name: self.made[name] for name in own}
        return super().factor(factor)

    def own(self, name: str) -> list[str]:
        """The variables of an attribute: itself, or one for every level but the first."""
        return [one for one in self.made if one == name or one.startswith(f"{name}:")]


def attribute_sets(
    reading: Reading, sets: Mapping[str, str | Sequence[str]]
) -> tuple[Choices, dict[str, tuple[str, ...]]]:
    """The choices with the variables of every set, and which variables each set has.

    Parameters
    ----------
    reading
        A choice experiment that was read by a schema.
    sets
        {name: attributes}: a list of names, a formula, or "all".
    """
    choices: Choices = reading.data
    columns = _OptionColumns(reading)
    variables: Variables = dict(columns.made)
    found = {}
    for name, given in sets.items():
        own = columns.made if given == ALL else _made(reading, columns, given)
        variables |= own
        found[name] = tuple(own)
    _check_known(reading, variables)
    explanatory = np.column_stack(list(variables.values()))
    return replace(choices, explanatory=explanatory, names=tuple(variables), natural=None), found


def _made(reading: Reading, columns: _OptionColumns, given: str | Sequence[str]) -> Variables:
    """The variables of one set."""
    formula = _formula(reading, columns, given)
    own = columns.variables(formula)
    return own | _constants(reading.data) if formula.constants else own


def _formula(reading: Reading, columns: _OptionColumns, given: str | Sequence[str]) -> Formula:
    """A set as a formula; variables of levels, such as label:plain, are names in sums."""
    parts = [one.strip() for one in given.split("+")] if isinstance(given, str) else given
    names = [*dict.fromkeys([*reading.arguments["attributes"], *columns.cells])]
    return formula_of(parts if all(columns.own(one) for one in parts) else given, names)


def _constants(choices: Choices) -> Variables:
    """A constant of every option but the first."""
    more = choices.with_constants()
    columns = dict(zip(more.names, more.explanatory.T, strict=True))
    return {name: values for name, values in columns.items() if name not in choices.names}


def _check_known(reading: Reading, variables: Variables) -> None:
    for name, values in variables.items():
        wrong = np.flatnonzero(np.isnan(values))
        if wrong.size:
            row = int(reading.arguments["rows"][wrong[0]])
            message = (
                f"{name} must not be missing; got an empty cell at row {row}. Leave such rows out "
                "with keep."
            )
            raise DataError(reading.located(message))
