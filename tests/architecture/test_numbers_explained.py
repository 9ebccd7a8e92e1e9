"""Every number that steers an algorithm says its unit and its reason.

That is the numeric fields of options records and the numeric constants of modules, in all packages
that compute. A number is explained by a comment on its line, by one that stands right above it, or
by the docstring of its record where that names it.
"""

import ast
import re
from pathlib import Path

import pytest

import penchant as pn

ROOT = Path(pn.__file__).parent
PACKAGES = [
    "assistance",
    "bandit",
    "figures",
    "inference",
    "population",
    "scale",
    "softmax",
    "task",
    "workflow",
]
OPTIONS_RECORD = re.compile(r"(Options|Limits|Accuracy)$")
NUMERIC = re.compile(r"\b(int|float)\b")


def is_number(value):
    """Whether a module's constant has a number, or arithmetic, as its value."""
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return isinstance(value, ast.BinOp)


def steering_numbers(tree):
    """Pairs (statement, docstring of its record) of the numbers of a module."""
    for record in ast.walk(tree):
        if isinstance(record, ast.ClassDef) and OPTIONS_RECORD.search(record.name):
            for field in record.body:
                if (
                    isinstance(field, ast.AnnAssign)
                    and field.value is not None
                    and NUMERIC.search(ast.unparse(field.annotation))
                ):
                    yield field, ast.get_docstring(record) or ""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if name == name.upper() and is_number(value):
            yield statement, ""


def unexplained_numbers(source):
    """Lines with a number that no comment explains."""
    lines = source.splitlines()
    for statement, docstring in steering_numbers(ast.parse(source)):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        own = lines[statement.lineno - 1 : statement.end_lineno]
        explained = (
            any("#" in line for line in own)
            or lines[statement.lineno - 2].lstrip().startswith("#")
            or re.search(rf"\b{target.id}\b", docstring)
        )
        if not explained:
            yield f"{statement.lineno}: {own[0].strip()}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_number_has_a_unit_and_a_reason(package):
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    missing = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        for line in unexplained_numbers(path.read_text("utf-8"))
    ]
    assert not missing


def test_a_number_without_a_comment_is_found():
    source = '''
class SearchOptions:
    """Settings; `rounds` counts passes."""

    rounds: int = 3
    step: float = 0.1
    # Log-units: smaller gains are rounding.
    tolerance: float = 1e-9


LANES = 8
WIDTH = 4  # columns
'''
    assert list(unexplained_numbers(source)) == ["6: step: float = 0.1", "11: LANES = 8"]
