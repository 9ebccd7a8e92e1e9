"""Compiled loops of models of offers, generated from their `features`.

A model of offers is one function of scalars, of one option of a decision:

    features(o, psi, c, x)   fill x[weight], the attributes of an option

with what is offered `o`, the shape parameters `psi` and settings `c` of the model, by name. Where
an option has several outcomes, `o.outcome[j]` is that of one of `len(o.outcome)`. The function, and
its tangents (`penchant.models.tangents`), are put into a loop over options whose body has no calls
and whose indices are consecutive, so that several options are computed at once: whole numbers among
the settings, and numbers of outcomes and weights, are written into the source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard

from penchant.models._elementary import MAX_EXPONENT
from penchant.models.generated import generated_module
from penchant.models.recursion import lines, plain_body, source
from penchant.models.tangents import Constants, Tangents, tangent_name

_HEAD = '''"""Attributes of offers by {name}, generated from its features."""

from math import nan, sqrt

import numpy as np

from penchant._numba_cache import inner_njit, njit
from penchant.models._elementary import exp, expit, log

'''

_PREPARE = """
@njit(cache=True, nogil=True, error_model="numpy")
def prepare({arguments}):
    for row in range(n_rows):
        {fields}
        {features}
        {parts}

"""

_LOOP = """
@inner_njit
def {function}_of_pair({inner}):
    for row in range(n_rows):
        {fields}
        {features}


@njit(cache=True, nogil=True, error_model="numpy")
def {function}({outer}):
    first = 0
    for k in range(len(which)):
        begin, end = n_options * starts[which[k]], n_options * starts[which[k] + 1]
        last = first + end - begin
        {function}_of_pair({given})
        first = last
"""

_PREFIXES = {"o": "o_", "psi": "p_", "c": "c_"}


@dataclass(frozen=True)
class OfferDeclarations:
    """Names and sizes that a model of offers declares.

    Attributes
    ----------
    shape
        Shape parameters.
    outcomes
        Number of outcomes of each field, 0 where it has no axis of outcomes: (field, number).
    constants
        Settings that are written into the source.
    n_weights
        Number of weights.
    """

    shape: tuple[str, ...]
    outcomes: tuple[tuple[str, int], ...]
    constants: tuple[tuple[str, int], ...]
    n_weights: int


@dataclass(frozen=True)
class OfferProgram:
    """The compiled loops of a model of offers, and the names of what they take, in order.

    Attributes
    ----------
    module
        Functions `prepare`, `attributes` and `attributes_and_slopes`.
    fields, fixed, settings
        What is offered; shape parameters that are held fixed; settings.
    n_parts
        Rows that `prepare` fills: what depends on what is offered alone.
    """

    module: Any
    fields: tuple[str, ...]
    fixed: tuple[str, ...]
    settings: tuple[str, ...]
    n_parts: int


@cache
def offer_program(
    name: str, features: Callable[..., None], declared: OfferDeclarations
) -> OfferProgram:
    """Generate and import the loops of a model of offers."""
    body, _ = plain_body(features, _PREFIXES, {}, dict(declared.constants))
    written_out = _Outcomes(dict(declared.outcomes)).visit(ast.Module(body, []))
    body = _Calls().named(written_out.body)
    read = [one for statement in body for one in _names(statement)]
    fields, psi, settings = (
        tuple(dict.fromkeys(one[2:] for one in read if one.startswith(prefix)))
        for prefix in _PREFIXES.values()
    )
    fixed = tuple(one for one in psi if one not in declared.shape)
    numbers = [*(f"p_{one}" for one in fixed), *(f"c_{one}" for one in settings)]
    known, rest, parts = _split_by_dependence(body)
    outcomes = {one: number for one, number in declared.outcomes if one in fields}
    text = _HEAD.format(name=name)
    text += _PREPARE.format(
        arguments=", ".join(["n_rows", *_inputs(outcomes), *numbers, "parts"]),
        fields=lines(_scalars(outcomes), 8),
        features=source([*_flat(known, {}, outcomes)], 8),
        parts=lines([f"parts[{k}, row] = {one}" for k, one in enumerate(parts)], 8),
    )
    text += _loops(rest, parts, outcomes, numbers, declared)
    module = generated_module(name.lower(), text)
    return OfferProgram(module, tuple(outcomes), fixed, settings, len(parts))


def _split_by_dependence(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt], list[str]]:
    """Part statements into those that depend on what is offered alone, and the rest.

    Calls among the first are made once for all psi; the others find their values by name.
    """
    known: list[ast.stmt] = []
    rest: list[ast.stmt] = []
    parts: list[str] = []
    free: set[str] = set()  # variables that depend on a shape parameter, or on one of these
    for one in body:
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if not isinstance(target, ast.Name):
            rest.append(one)
            free |= {n.id for n in ast.walk(one) if _is_stored(n)}
        elif any(name in free or name.startswith("p_") for name in _names(one)):
            rest.append(one)
            free.add(target.id)
        else:
            known.append(one)
            free.discard(target.id)
            if target.id.startswith("w_"):
                parts.append(target.id)
            else:
                rest.append(one)
    return known, rest, parts


def _names(statement: ast.AST) -> list[str]:
    """Variables that are read."""
    names = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
    return [one.id for one in names if isinstance(one.ctx, ast.Load)]


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _inputs(outcomes: Mapping[str, int]) -> list[str]:
    return [f"o_{one}" if number else f"all_{one}" for one, number in outcomes.items()]


def _scalars(outcomes: Mapping[str, int]) -> list[str]:
    return [f"o_{one} = all_{one}[row]" for one, number in outcomes.items() if not number]


def _flat(
    body: list[ast.stmt], places: Mapping[str, int], outcomes: Mapping[str, int]
) -> Sequence[ast.stmt]:
    """Statements with indices into arrays of all options."""
    text = source(body, 0)  # a new tree: that of tangents shares its branches
    widths = {**places, **{f"o_{one}": number for one, number in outcomes.items() if number}}
    return [_Flat(widths).visit(one) for one in ast.parse(text).body]


def _loops(
    body: list[ast.stmt],
    parts: Sequence[str],
    outcomes: Mapping[str, int],
    numbers: Sequence[str],
    declared: OfferDeclarations,
) -> str:
    """Source of the loops over options, without and with tangents."""
    width = declared.n_weights
    parameters = [f"p_{one}" for one in declared.shape]
    tangents = Tangents(parameters)
    tangents.find_active([body])
    slopes = [tangent_name("x", m) for m in range(len(parameters))]
    places = dict.fromkeys(["x", *slopes], width)
    slices = [f"all_{one}[{n or 1} * begin : {n or 1} * end]" for one, n in outcomes.items()]
    slices += [f"parts[{k}, begin:end]" for k in range(len(parts))]
    text = ""
    for function, outputs, given, statements in (
        ("attributes", ["x"], ["x"], body),
        (
            "attributes_and_slopes",
            ["x", *slopes],
            ["x", *(f"slopes[{m}]" for m in range(len(slopes)))],
            tangents.differentiate(body),
        ),
    ):
        inputs = [*_inputs(outcomes), *(f"all_{one}" for one in parts)]
        arrays = [*(f"all_{one}" for one in outcomes), "parts"]
        outer = ["n_options", "starts", "which", "psi", *arrays, *numbers, "x"]
        filled = [f"{one}[{width} * first : {width} * last]" for one in given]
        own = [f"psi[k, {a}]" for a in range(len(parameters))]
        text += _LOOP.format(
            function=function,
            inner=", ".join(["n_rows", *parameters, *inputs, *numbers, *outputs]),
            fields=lines([*_scalars(outcomes), *(f"{one} = all_{one}[row]" for one in parts)], 8),
            features=source([*_flat(statements, places, outcomes)], 8),
            outer=", ".join([*outer, *(["slopes"] if slopes and len(outputs) > 1 else [])]),
            given=", ".join(["end - begin", *own, *slices, *numbers, *filled]),
        )
    return text


class _Outcomes(ast.NodeTransformer):
    """Write numbers of outcomes into the source, and loops over them out."""

    def __init__(self, outcomes: Mapping[str, int]) -> None:
        self.outcomes = {f"o_{name}": number for name, number in outcomes.items()}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id != "len":
            return node
        (argument,) = node.args
        assert isinstance(argument, ast.Name)
        return ast.Constant(self.outcomes[argument.id])

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        (number,) = node.iter.args
        assert isinstance(number, ast.Constant)
        assert isinstance(number.value, int)
        turns = (Constants({node.target.id: k}) for k in range(number.value))
        bodies = (turn.visit(ast.Module(deepcopy(node.body), [])) for turn in turns)
        return [one for body in bodies for one in body.body]


class _Calls(ast.NodeTransformer):
    """Give every call a variable of its own, so that no branch has one; write powers as calls."""

    def __init__(self) -> None:
        self.calls: list[ast.stmt] = []
        self.n_calls = 0

    def named(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, each after the calls that it needs."""
        found: list[ast.stmt] = []
        for one in body:
            if isinstance(one, ast.If):
                parts = self.named(one.body), self.named(one.orelse)
                found.append(ast.If(one.test, *parts))
                continue
            new = self.visit(one)
            found += [*self.calls, new]
            self.calls = []
        return found

    def _name(self, call: ast.expr) -> ast.expr:
        name = f"w_{self.n_calls}"
        self.n_calls += 1
        self.calls.append(ast.Assign([ast.Name(name, ast.Store())], call))
        return ast.Name(name, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        inline = isinstance(node.func, ast.Name) and node.func.id in ("abs", "max", "min")
        return node if inline else self._name(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """a^b = exp(b log a); 0 to any power is 0."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        size = ast.BinOp(node.right, ast.Mult(), self._name(_call("log", node.left)))
        found = self._name(_call("exp", _call("min", size, ast.Constant(MAX_EXPONENT))))
        zero = ast.Constant(0.0)
        return ast.IfExp(ast.Compare(deepcopy(node.left), [ast.NotEq()], [zero]), found, zero)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class _Flat(ast.NodeTransformer):
    """Index arrays of all options by the row and the place in it."""

    def __init__(self, widths: Mapping[str, int]) -> None:
        self.widths = widths

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        assert isinstance(node.value, ast.Name)
        width = ast.Constant(self.widths[node.value.id])
        row = ast.BinOp(width, ast.Mult(), ast.Name("row", ast.Load()))
        return ast.Subscript(node.value, ast.BinOp(row, ast.Add(), node.slice), node.ctx)
