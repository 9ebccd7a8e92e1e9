"""Sets of attributes of a choice experiment: names and formulas as variables of its options."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import Names, Vector
from penchant.choices import Choices
from penchant.errors import DataError, closest_match_hint, format_names
from penchant.files.folder import RawTable
from penchant.models.offers.attributes import Attributes
from penchant.reading.build_choices import attribute_variables
from penchant.tables.reading import Reading
from penchant.tables.row_conditions import column_of, parsed_expression
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable

ALL = "all"  # attributes that tell options apart
CONSTANTS = "1"  # the formula of options that differ by nothing but themselves
EXAMPLE = "cost + C(brand) + cost:income"
Attributed = Names | Attributes
Variables = dict[str, Vector]


@dataclass(frozen=True)
class Factor:
    """Variable of a formula term; with `categories` its numbers are levels, too."""

    name: str
    categories: bool = False


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """Terms, each a product of one variable or more; whether options have constants."""

    terms: tuple[Term, ...]
    constants: bool = False


def formula_of(given: Names, names: Sequence[str]) -> Formula:
    """Read attributes given as a list of names or as a formula.

    Parameters
    ----------
    given
        Names; or terms joined by +: a name, C(name) for levels, a:b for a product, a*b for both
        and their product, 1 for a constant of every option but the first. Names with spaces stand
        in backticks; what stands before ~ is not read.
    names
        Variables there are.

    Examples
    --------
    >>> found = formula_of("chosen ~ cost * income + C(size) + 1", ["cost", "income", "size"])
    >>> [":".join(factor.name for factor in term) for term in found.terms], found.constants
    (['cost', 'income', 'cost:income', 'size'], True)
    """
    if isinstance(given, str) and given not in names:
        found = _parsed(given)
    else:
        listed = [given] if isinstance(given, str) else given
        found = Formula(tuple((Factor(str(name)),) for name in listed))
    for factor in (factor for term in found.terms for factor in term):
        if factor.name not in names:
            raise DataError(
                "attributes",
                "must name columns or attributes",
                got=f"{factor.name!r}, but they are {format_names(names)}",
                fix=closest_match_hint(factor.name, names) or "Correct it.",
            )
    if not found.terms and not found.constants:
        raise DataError(
            "attributes", "must name at least one", got="none", fix=f'Write "{EXAMPLE}".'
        )
    return found


def _parsed(text: str) -> Formula:
    right = text.rpartition("~")[2]
    # Python has no operator a:b; its @ binds as strongly as *.
    outside = re.sub(r"`[^`]*`|:", lambda found: "@" if found[0] == ":" else found[0], right)
    try:
        tree, quoted = parsed_expression(outside.strip())
    except SyntaxError:
        raise _wrong(text, right.strip()) from None
    constants = [False]

    def terms(node: ast.expr) -> list[Term]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [*terms(node.left), *terms(node.right)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.MatMult)):
            first, second = terms(node.left), terms(node.right)
            products = [(*one, *other) for one in first for other in second]
            alone = [*first, *second] if isinstance(node.op, ast.Mult) else []
            return [*alone, *products]
        signed = ast.unparse(node)
        if signed in ("0", "1", "-1"):
            constants[0] = signed == "1"
            return []
        if isinstance(node, ast.BinOp) and ast.unparse(node.right) == "1":
            constants[0] = False
            return terms(node.left)
        inner = node
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("C", "factor"):
            inner = node.args[0] if len(node.args) == 1 else node
        name = column_of(inner, quoted)
        if not name:
            raise _wrong(text, signed)
        return [(Factor(name, inner is not node),)]

    found = tuple(dict.fromkeys(terms(tree)))
    return Formula(found, constants[0])


def _wrong(text: str, got: str) -> DataError:
    return DataError(
        "attributes",
        "must be names joined by + , : or *",
        got=repr(got),
        where=f"in {text!r}",
        fix=f'Write "{EXAMPLE}", names with spaces in backticks.',
    )


def is_set(model: Any) -> bool:
    """Whether a model is a set of attributes: a formula, a list of names, or `Attributes`."""
    listed = isinstance(model, Sequence) and all(isinstance(name, str) for name in model)
    return listed or isinstance(model, Attributes)


class _OptionColumns:
    """Attributes as the schema made them, and further columns of the table, row by row.

    Attributes
    ----------
    made
        The variables that the choices have.
    source
        The table, a row per option of each decision.
    """

    def __init__(self, reading: Reading) -> None:
        choices: Choices = reading.data
        self.made = dict(zip(choices.names, choices.explanatory.T, strict=True))
        self.schema = reading.schema or Schema()
        rows = reading.arguments["rows"]
        known = np.arange(len(reading.table)) if reading.rows is None else np.array(reading.rows)
        written = self.schema.file
        self.source = SourceTable(
            reading.raw or RawTable(reading.table),
            reading.table.take(pa.array(rows)),
            known[rows],
            decimal=written.decimal or ".",
            units=written.units,
        )

    def variables(self, formula: Formula) -> Variables:
        """Columns of numbers, in the order of the terms."""
        found: Variables = {}
        for term in formula.terms:
            product: Variables = {"": np.ones(len(self.source))}
            for factor in term:
                product = {
                    f"{a}:{b}" if a else b: left * right
                    for a, left in product.items()
                    for b, right in self._factor(factor).items()
                }
            found |= product
        return found

    def _factor(self, factor: Factor) -> Variables:
        """Variables of a factor: itself, or an indicator of every level but the reference."""
        name = factor.name
        own = self.own(name)
        if own and not (factor.categories and own == [name]):
            return {one: self.made[one] for one in own}
        source = self.source
        if own and name not in source.names:
            source = source.with_columns({name: self.made[name]})
        found = attribute_variables(source, self.schema, name, (name,), levels=factor.categories)
        if not found:
            raise DataError("attributes", "must vary", got=f"{name}, which does not")
        return {one: np.ravel(values) for one, values in found.items()}

    def own(self, name: str) -> list[str]:
        """The variables of an attribute: itself, or one for every level but the first."""
        return [one for one in self.made if one == name or one.startswith(f"{name}:")]


def attribute_sets(
    reading: Reading, sets: Mapping[str, Names]
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


def _made(reading: Reading, columns: _OptionColumns, given: Names) -> Variables:
    """The variables of one set."""
    formula = _formula(reading, columns, given)
    out = f"constant:{None if reading.schema is None else reading.schema.choice.opt_out}"
    alone = {name: values for name, values in columns.made.items() if name == out}
    # Taking none of those shown is worth something, whatever the others are worth.
    return columns.variables(formula) | (_constants(reading.data) if formula.constants else alone)


def _formula(reading: Reading, columns: _OptionColumns, given: Names) -> Formula:
    """A set as a formula; variables of levels, such as label:plain, are names in sums."""
    parts = [one.strip() for one in given.split("+")] if isinstance(given, str) else given
    names = [
        *dict.fromkeys([*reading.arguments["attributes"], *columns.source.names, *columns.made])
    ]
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
        made, own = attribute_sets(
            data, {name: _attribute_names(one) for name, one in models.items()}
        )
        return made, {name: Attributes(names) for name, names in own.items()}
    named = {name: _names(model, data.names) for name, model in models.items()}
    return data, {name: Attributes(names) for name, names in named.items()}


def _attribute_names(model: Attributed) -> Names:
    """A set as `read` is asked for it."""
    return tuple(model.attributes) if isinstance(model, Attributes) else model


def _names(model: Attributed, known: Sequence[str]) -> tuple[str, ...]:
    """Names of variables, for choices that are variables already."""
    given = _attribute_names(model)
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
