"""Everything public is described, and the examples run."""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

import penchant

ROOT = Path(penchant.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def _label(path):
    return str(path.relative_to(ROOT))


def _name(path):
    parts = ["penchant", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(part for part in parts if part != "__init__")


def _public(body):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body)


def _is_overload(node):
    return any("overload" in ast.unparse(d) for d in node.decorator_list)


@pytest.mark.parametrize("path", MODULES, ids=_label)
def test_everything_public_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "the module itself"
    if path.name.startswith("_") and path.name != "__init__.py":
        return
    missing = [
        node.name
        for node in _public(tree.body)
        if not ast.get_docstring(node) and not _is_overload(node)
    ]
    assert not missing


@pytest.mark.parametrize("path", MODULES, ids=_label)
def test_examples_run(path):
    if path.is_relative_to(ROOT / "task") or path.name == "serving.py":
        pytest.importorskip("starlette", reason="penchant[task] is not installed")
    found = doctest.testmod(importlib.import_module(_name(path)))
    assert found.failed == 0


@pytest.mark.parametrize("path", MODULES, ids=_label)
def test_equations_cited_are_those_of_the_paper(path):
    text = path.read_text()
    cited = []
    for match in re.finditer(r"Eqs?\.\s*(\(\d+\)(?:(?:,| and| to)\s*\(\d+\))*)", text):
        cited += [int(number) for number in re.findall(r"\d+", match.group(1))]
    assert all(1 <= number <= 26 for number in cited), cited
