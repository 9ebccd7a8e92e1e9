"""Forward-mode differentiation of small scalar functions, on their syntax trees.

A model of learning is two functions of scalars and small arrays (see `penchant.models.recursion`).
Their derivatives in the shape parameters are written as source code beside the functions' own
statements: before every assignment to an active variable stands one more per direction, of the
variable's tangent (Griewank & Walther 2008, chapter 3). Compiled, that costs what hand-written
derivatives cost, and there is nothing to keep in step by hand.

The language is what such functions need: assignments, `if`, `for` over `range`, arithmetic, `**`,
comparisons, conditional expressions, `max`, `min`, `abs`, `exp`, `log`, `expit`
and `sqrt`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping

from penchant.errors import DataError

ZERO = ast.Constant(0.0)
ONE = ast.Constant(1.0)


def tangent_name(name: str, direction: int) -> str:
    """Name of the variable that holds a tangent."""
    return f"{name}__{direction}"


class Tangents:
    """Statements with their tangents in several directions.

    Parameters
    ----------
    seeds
        For each direction the variable whose tangent is 1: a shape parameter.
    """

    def __init__(self, seeds: Iterable[str]) -> None:
        self.seeds = tuple(seeds)
        self.active: set[str] = set(self.seeds)
        self.result: tuple[ast.expr, ast.expr] | None = (
            None  # an expression, and where its value is
        )

    def differentiate(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements that compute values and tangents; call `find_active` before."""
        return [new for statement in body for new in self._statement(statement)]

    def find_active(self, bodies: Iterable[list[ast.stmt]]) -> None:
        """Find the variables that depend on a shape parameter, by any way through the bodies.

        What a body writes another may read at the next event, so this goes on until nothing is
        added.
        """
        statements = [node for body in bodies for one in body for node in ast.walk(one)]
        before = -1
        while len(self.active) > before:
            before = len(self.active)
            for node in statements:
                if isinstance(node, ast.Assign | ast.AugAssign) and self._depends(node.value):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    self.active.update(_base(target) for target in targets)

    def _depends(self, expression: ast.expr) -> bool:
        if isinstance(expression, ast.Compare):
            return False  # true or false, a constant but where it jumps
        if isinstance(expression, ast.Name):
            return expression.id in self.active
        parts = ast.iter_child_nodes(expression)
        return any(self._depends(part) for part in parts if isinstance(part, ast.expr))

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            bodies = self.differentiate(node.body), self.differentiate(node.orelse)
            return [ast.If(node.test, *bodies)]
        if isinstance(node, ast.For):
            return [ast.For(node.target, node.iter, self.differentiate(node.body), [])]
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if not isinstance(target, ast.Name) or target.id in _names(value):
                return [*self._assigned(target, value), node]
            # the value first: derivatives of exp, of quotients and others are made of it
            self.result = value, _read(target)
            tangents = self._assigned(target, value)
            self.result = None
            return [node, *tangents]
        if isinstance(node, ast.AugAssign):
            # x op= e is x = x op e, with one rule for all operators
            whole = ast.BinOp(_read(node.target), node.op, node.value)
            return [*self._assigned(node.target, whole), node]
        if isinstance(node, ast.Pass | ast.Continue | ast.Break):
            return [node]
        raise _unknown(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Assignments of the tangents, which read values as they are before the assignment."""
        if _base(target) not in self.active:
            return []
        return [
            ast.Assign([_renamed(target, m, ast.Store())], self.derivative(value, m) or ZERO)
            for m in range(len(self.seeds))
        ]

    def _value(self, node: ast.expr) -> ast.expr:
        """The variable that holds the value of an expression, where there is one."""
        return self.result[1] if self.result is not None and self.result[0] is node else node

    def derivative(self, node: ast.expr, direction: int) -> ast.expr | None:
        """The derivative of an expression along a direction; None where it is 0."""
        if isinstance(node, ast.Constant) or not self._depends(node):
            return None
        if isinstance(node, ast.Name):
            if node.id in self.seeds:
                return ONE if node.id == self.seeds[direction] else None
            return _renamed(node, direction, ast.Load())
        if isinstance(node, ast.Subscript):
            return _renamed(node, direction, ast.Load())
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            own = self.derivative(node.operand, direction)
            return None if own is None else ast.UnaryOp(node.op, own)
        if isinstance(node, ast.IfExp):
            return self._branch(node.test, node.body, node.orelse, direction)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, direction)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node, node.func.id, direction)
        raise _unknown(node)

    def _branch(
        self, test: ast.expr, first: ast.expr, second: ast.expr, direction: int
    ) -> ast.expr | None:
        one, other = self.derivative(first, direction), self.derivative(second, direction)
        return (
            None if one is None and other is None else ast.IfExp(test, one or ZERO, other or ZERO)
        )

    def _arithmetic(self, node: ast.BinOp, direction: int) -> ast.expr | None:
        a, b = node.left, node.right
        da, db = self.derivative(a, direction), self.derivative(b, direction)
        if isinstance(node.op, ast.Add):
            return _sum(da, db)
        if isinstance(node.op, ast.Sub):
            return (
                da if db is None else ast.UnaryOp(ast.USub(), db) if da is None else _minus(da, db)
            )
        if isinstance(node.op, ast.Mult):
            return _sum(_times(da, b), _times(db, a))
        if isinstance(node.op, ast.Div):
            rest = _rest_of_sum(b, a)
            if rest is not None:
                return self._share(node, rest, direction)
            fall = _times(db, self._value(node))
            top = da if fall is None else _minus(da or ZERO, fall)
            return None if top is None else ast.BinOp(top, ast.Div(), b)
        if isinstance(node.op, ast.Pow):
            if db is None:
                lower = ast.BinOp(a, ast.Pow(), ast.BinOp(b, ast.Sub(), ONE))
                return _times(da, ast.BinOp(b, ast.Mult(), lower))
            # (a^b)' = a^b (b' log a + b a' / a); 0 to any power stays 0
            growth = _times(da, b)
            relative = None if growth is None else ast.BinOp(growth, ast.Div(), a)
            whole = _times(_sum(_times(db, _call("log", a)), relative), self._value(node))
            return ast.IfExp(ast.Compare(a, [ast.Gt()], [ZERO]), whole or ZERO, ZERO)
        raise _unknown(node)

    def _share(self, node: ast.BinOp, rest: ast.expr, direction: int) -> ast.expr | None:
        """Derivative (da b - db a) / (a + b)^2 of a / (a + b), or of a / (b + a).

        Where a is much larger than b, as variances before the first reward may be, the rule of
        quotients would subtract two numbers that are nearly the same.
        """
        da, db = self.derivative(node.left, direction), self.derivative(rest, direction)
        first, second = _times(da, rest), _times(db, node.left)
        top = first if second is None else _minus(first or ZERO, second)
        if top is None:
            return None
        return ast.BinOp(ast.BinOp(top, ast.Div(), node.right), ast.Div(), node.right)

    def _call(self, node: ast.Call, name: str, direction: int) -> ast.expr | None:
        a = node.args[0]
        if name in ("max", "min") and len(node.args) == 2:
            # the first of two equal numbers is taken, as Python's max and min do
            sign: ast.cmpop = ast.GtE() if name == "max" else ast.LtE()
            b = node.args[1]
            return self._branch(ast.Compare(a, [sign], [b]), a, b, direction)
        da = self.derivative(a, direction)
        if name == "abs":
            turned = None if da is None else ast.UnaryOp(ast.USub(), da)
            test = ast.Compare(a, [ast.GtE()], [ZERO])
            return None if da is None or turned is None else ast.IfExp(test, da, turned)
        if name == "exp":
            return _times(da, self._value(node))
        if name == "log":
            return None if da is None else ast.BinOp(da, ast.Div(), a)
        if name == "expit":
            value = self._value(node)
            return _times(_times(da, value), ast.BinOp(ONE, ast.Sub(), value))
        if name == "sqrt":
            twice = ast.BinOp(ast.Constant(2.0), ast.Mult(), self._value(node))
            return None if da is None else ast.BinOp(da, ast.Div(), twice)
        raise _unknown(node)


def _sum(a: ast.expr | None, b: ast.expr | None) -> ast.expr | None:
    if a is None or b is None:
        return b if a is None else a
    return ast.BinOp(a, ast.Add(), b)


def _rest_of_sum(whole: ast.expr, part: ast.expr) -> ast.expr | None:
    """The other term of a sum of two, of which one is this part; None for anything else."""
    if isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Add):
        for one, other in ((whole.left, whole.right), (whole.right, whole.left)):
            if ast.dump(one) == ast.dump(part):
                return other
    return None


def _minus(a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.BinOp(a, ast.Sub(), b)


def _times(slope: ast.expr | None, factor: ast.expr) -> ast.expr | None:
    if slope is None or slope is ONE:
        return None if slope is None else factor
    return ast.BinOp(slope, ast.Mult(), factor)


def _call(name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [argument], [])


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _base(target: ast.expr) -> str:
    """Name of the variable that is assigned to, as a whole or an element of it."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Name):
        raise _unknown(target)
    return target.id


def _read(target: ast.expr) -> ast.expr:
    """The target of an assignment as an expression."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    assert isinstance(target, ast.Subscript)
    return ast.Subscript(target.value, target.slice, ast.Load())


def _renamed(target: ast.expr, direction: int, context: ast.expr_context) -> ast.expr:
    """The tangent of a variable, or the same element of an array of tangents."""
    if isinstance(target, ast.Name):
        return ast.Name(tangent_name(target.id, direction), context)
    assert isinstance(target, ast.Subscript)
    whole = _renamed(target.value, direction, ast.Load())
    return ast.Subscript(whole, target.slice, context)


def _unknown(node: ast.AST) -> DataError:
    known = "assignments, if, for, arithmetic, max, min, abs, exp, log, expit and sqrt"
    return DataError(
        "features and update",
        f"must consist of {known}",
        got=repr(ast.unparse(node)),
        where=f"at line {getattr(node, 'lineno', '?')}",
        fix="Write it with these.",
    )


class Names(ast.NodeTransformer):
    """Replace `s.value`, `e.reward`, `psi.rate`, `c.flag` by plain variables, one for each.

    Numba compiles loops over plain arrays and scalars best: fields become arguments of the loop.

    Parameters
    ----------
    prefixes
        For each record (s, e, psi, c) the prefix of the variables that replace its fields.
    indexed
        Index expressions that come first in every subscript of an array, by its new name.
    local
        Variables of the function itself, which get a prefix too: the loop has others of its own.
    """

    def __init__(
        self,
        prefixes: Mapping[str, str],
        indexed: Mapping[str, tuple[str, ...]],
        local: Collection[str],
    ) -> None:
        self.prefixes, self.indexed, self.local = prefixes, indexed, local
        self.found: dict[str, dict[str, None]] = {name: {} for name in prefixes}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace the field of a record."""
        if isinstance(node.value, ast.Name) and node.value.id in self.prefixes:
            record = node.value.id
            self.found[record][node.attr] = None
            name = ast.Name(self.prefixes[record] + node.attr, node.ctx)
            first = self._first(record)
            if not first:
                return name
            at = first[0] if len(first) == 1 else ast.Tuple(first, ast.Load())
            return ast.Subscript(ast.Name(name.id, ast.Load()), at, node.ctx)
        return ast.Attribute(self.visit(node.value), node.attr, node.ctx)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put a prefix before a variable of the function; leave the name of another function."""
        return ast.Name(f"v_{node.id}", node.ctx) if node.id in self.local else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Put the index of the lane, or of the row, before the others."""
        at = self.visit(node.slice)
        own = list(at.elts) if isinstance(at, ast.Tuple) else [at]
        whole: ast.expr = node.value
        if isinstance(whole, ast.Attribute):
            whole = self.visit(whole)
            if isinstance(whole, ast.Subscript):
                first = whole.slice
                own = [*(first.elts if isinstance(first, ast.Tuple) else [first]), *own]
                whole = whole.value
        elif isinstance(whole, ast.Name):
            own = [*self._first(whole.id), *own]
        index = own[0] if len(own) == 1 else ast.Tuple(own, ast.Load())
        return ast.Subscript(whole, index, node.ctx)

    def _first(self, record: str) -> list[ast.expr]:
        words = self.indexed.get(record, ())
        return [ast.parse(word, mode="eval").body for word in words]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Split `a, b = x, y` into assignments of one variable, all values before all targets."""
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            self.generic_visit(node)
            return node
        names = [f"part_{node.lineno}_{k}" for k in range(len(target.elts))]
        values: list[ast.stmt] = [
            ast.Assign([ast.Name(name, ast.Store())], self.visit(one))
            for name, one in zip(names, value.elts, strict=True)
        ]
        return values + [
            ast.Assign([self.visit(one)], ast.Name(name, ast.Load()))
            for name, one in zip(names, target.elts, strict=True)
        ]


class Constants(ast.NodeTransformer):
    """Put whole numbers in place of variables, and drop the branches that they rule out.

    Flags and sizes of a model decide which of its statements run at all. With them in the source a
    loop has no tests but those of the data, is compiled sooner, and is unrolled over options.

    Parameters
    ----------
    numbers
        What every such variable is.
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put in the number."""
        return ast.Constant(self.numbers[node.id]) if node.id in self.numbers else node

    def _fold_constants(self, node: ast.expr) -> ast.expr:
        """Replace an expression of numbers alone by its value."""
        self.generic_visit(node)
        if any(isinstance(part, ast.Name) for part in ast.walk(node)):
            return node
        whole = ast.fix_missing_locations(ast.Expression(node))
        return ast.Constant(eval(compile(whole, "<constants>", "eval")))

    visit_UnaryOp = visit_Compare = _fold_constants

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Leave out what is true in `and`, or false in `or`; the other decides."""
        self.generic_visit(node)
        neutral = isinstance(node.op, ast.And)
        constants = [one.value for one in node.values if isinstance(one, ast.Constant)]
        if any(bool(value) != neutral for value in constants):
            return ast.Constant(not neutral)
        open_ones = [one for one in node.values if not isinstance(one, ast.Constant)]
        if len(open_ones) < 2:
            return open_ones[0] if open_ones else ast.Constant(neutral)
        return ast.BoolOp(node.op, open_ones)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Take one of two values."""
        self.generic_visit(node)
        if not isinstance(node.test, ast.Constant):
            return node
        return node.body if node.test.value else node.orelse

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        """Take one of two branches."""
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return ast.If(node.test, node.body or [ast.Pass()], node.orelse)

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Keep a loop whose statements are dropped."""
        self.generic_visit(node)
        return ast.For(node.target, node.iter, node.body or [ast.Pass()], node.orelse)
