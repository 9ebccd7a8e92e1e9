"""Docstrings, of which the reference is made, say everything one needs to call a name."""

import ast
import builtins
import doctest
import inspect
import re
from types import ModuleType

import pytest

import penchant

PARTS = [name for name in penchant.__all__ if isinstance(getattr(penchant, name), ModuleType)]
TOP = {f"pn.{name}": getattr(penchant, name) for name in penchant.__all__ if name not in PARTS}
ENTRIES = TOP | {
    f"pn.{part}.{name}": getattr(getattr(penchant, part), name)
    for part in PARTS
    for name in getattr(penchant, part).__all__
    if name not in penchant.__all__
}
CALLED = {name: value for name, value in ENTRIES.items() if inspect.isfunction(value)}


def section(text, title):
    """What a docstring says under a title."""
    pieces = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", text or "", flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True)).get(title, "")


def is_made_by_hand(value):
    """Whether users make such objects; results of functions they only read."""
    if not inspect.isclass(value) or issubclass(value, Exception):
        return False
    return bool(section(inspect.getdoc(value), "Parameters")) or not _arguments(value)


def _arguments(value):
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


MADE_BY_HAND = {name: value for name, value in ENTRIES.items() if is_made_by_hand(value)}


@pytest.mark.parametrize("name", sorted(CALLED | MADE_BY_HAND))
def test_every_argument_is_described(name):
    value = ENTRIES[name]
    told = section(inspect.getdoc(value), "Parameters")
    lines = [line for line in told.splitlines() if line[:1].strip()]
    described = {word.strip(" *") for line in lines for word in line.split(",")}
    assert set(inspect.signature(value).parameters) - described == set()


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_an_example_can_be_copied_as_it_stands(name):
    text = inspect.getdoc(ENTRIES[name]) or ""
    source = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    words = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    known = {node.id for node in words if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.alias):
            known.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
    used = {node.id for node in words if isinstance(node.ctx, ast.Load)}
    assert used - known - set(dir(builtins)) == set()
