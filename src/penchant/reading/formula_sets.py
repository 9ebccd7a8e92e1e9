"""Sets of attributes of a choice experiment: names and formulas as variables of its options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.choices import Choices
from penchant.errors import DataError
from penchant.models.offers.attributes import Attributes
from penchant.reading.variables import Columns, Factor, Formula, Variables, formula_of
from penchant.tables.reading import Reading
from penchant.tables.schema import Schema

ALL = "all"  # attributes that tell options apart
CONSTANTS = "1"  # the formula of options that differ by nothing but themselves
Attributed = str | Sequence[str] | Attributes


def is_set(model: Any) -> bool:
    """Whether a model is a set of attributes: a formula, a list of names, or `Attributes`."""
    listed = isinstance(model, Sequence) and all(isinstance(name, str) for name in model)
    return listed or isinstance(model, Attributes)


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
        super().__init__(cells, choices.n_rows, reading.schema or Schema())

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
    out = f"constant:{None if reading.schema is None else reading.schema.choice.opt_out}"
    alone = {name: values for name, values in columns.made.items() if name == out}
    # Taking none of those shown is worth something, whatever the others are worth.
    return columns.variables(formula) | (_constants(reading.data) if formula.constants else alone)


def _formula(reading: Reading, columns: _OptionColumns, given: str | Sequence[str]) -> Formula:
    """A set as a formula; variables of levels, such as label:plain, are names in sums."""
    parts = [one.strip() for one in given.split("+")] if isinstance(given, str) else given
    names = [*dict.fromkeys([*reading.arguments["attributes"], *columns.cells])]
    return formula_of(parts if all(columns.own(one) for one in parts) else given, names)


def _constants(choices: Choices) -> Variables:
    """A constant of every option but the first."""
    # The option that is none of those shown has its constant already.
    bare = choices.select([name for name in choices.names if not name.startswith("constant:")])
    more = bare.with_constants()
    columns = dict(zip(more.names, more.explanatory.T, strict=True))
    return {name: values for name, values in columns.items() if name not in bare.names}


def _check_known(reading: Reading, variables: Variables) -> None:
    for name, values in variables.items():
        wrong = np.flatnonzero(np.isnan(values))
        if wrong.size:
            row = int(reading.arguments["rows"][wrong[0]])
            with reading.in_lines():
                raise DataError(
                    name,
                    "must not be missing",
                    got=f"an empty cell at row {row}",
                    fix="Leave such rows out with keep.",
                )


def names_in(formula: str) -> list[str]:
    """Names that a formula, or a list of names joined by +, speaks of.

    >>> names_in("price * C(brand) + 1")
    ['price', 'brand']
    """
    found = re.findall(r"`([^`]+)`|([^\W\d][\w.]*)", formula.rpartition("~")[2])
    return [quoted or name for quoted, name in found if name not in ("C", "factor", ALL)]


def rival_sets(
    data: Reading | Choices, models: Mapping[str, Attributed]
) -> tuple[Choices, dict[str, Attributes]]:
    """The decisions with the variables of every set, and which variables each set has.

    Parameters
    ----------
    data
        A choice experiment, as `read` returned it, whose sets may be formulas; or its choices,
        whose sets are names of variables.
    models
        {name: attributes}; "all" stands for all that tell options apart, "1" for constants alone.
    """
    if isinstance(data, Reading):
        made, own = attribute_sets(data, {name: _given(one) for name, one in models.items()})
        return made, {name: Attributes(names) for name, names in own.items()}
    named = {name: _names(model, data.names) for name, model in models.items()}
    return data, {name: Attributes(names) for name, names in named.items()}


def _given(model: Attributed) -> str | Sequence[str]:
    """A set as `read` is asked for it."""
    return tuple(model.attributes) if isinstance(model, Attributes) else model


def _names(model: Attributed, known: Sequence[str]) -> tuple[str, ...]:
    """Names of variables, for choices that are variables already."""
    given = _given(model)
    if given == "all":
        return tuple(known)
    names = (given,) if isinstance(given, str) else tuple(given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise DataError(
            "models",
            "must be names of the variables of these choices",
            got=f"{unknown[0]!r}, but they are {', '.join(known)}",
            fix="Formulas are for what `read` returns.",
        )
    return names
