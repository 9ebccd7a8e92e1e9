"""Everything that users reach is documented, examples run, and cited equations exist."""

import doctest
import functools
import importlib
import inspect
import linecache
import re
from types import FunctionType

import pytest

import penchant
from source_files import ROOT, label, wrong

MEMBER_KINDS = (property, functools.cached_property, classmethod, staticmethod, FunctionType)
REPRODUCTION = ROOT.parent / "penchant_paper"
MODULES = sorted([*ROOT.rglob("*.py"), *REPRODUCTION.glob("*.py")])


def _name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _exported():
    """Public names with their values: those at the top and those of its parts."""
    for name in penchant.__all__:
        value = getattr(penchant, name)
        yield name, value
        if inspect.ismodule(value):
            yield from ((f"{name}.{own}", getattr(value, own)) for own in value.__all__)


def _members(owner):
    """Public methods and properties of a class, those of its bases in Penchant included."""
    for base in owner.__mro__ if inspect.isclass(owner) else ():
        if base.__module__.startswith("penchant"):
            for name, member in vars(base).items():
                has = getattr(owner, name) is not None  # a class may take away what a base has
                if has and not name.startswith("_") and isinstance(member, MEMBER_KINDS):
                    yield name, getattr(owner, name) if inspect.isroutine(member) else member


def _is_documented(value):
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):  # dataclasses and named tuples write one of their own: "Name(field"
        text = vars(value).get("__doc__") or ""
        return bool(text) and not text.startswith(f"{value.__name__}(")
    # Constants are numbers or arrays, whose type has the docstring: their module describes them.
    return bool(text)


def test_everything_public_has_a_docstring():
    missing = []
    for name, value in _exported():
        missing += [] if _is_documented(value) else [name]
        missing += [f"{name}.{own}" for own, m in _members(value) if not _is_documented(m)]
    assert missing == []


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_examples_run(path, monkeypatch):
    # No source changes meanwhile: every docstring would look at all files that were ever read.
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)
    if path.is_relative_to(ROOT / "task") or path.name == "serving.py":
        pytest.importorskip("starlette", reason="penchant[task] is not installed")
    found = doctest.testmod(importlib.import_module(_name(path)))
    assert found.failed == 0


def test_equations_cited_are_those_of_the_paper():
    def others(path):
        text = path.read_text()
        for match in re.finditer(r"Eqs?\.\s*(\(\d+\)(?:(?:,| and| to)\s*\(\d+\))*)", text):
            cited = [int(number) for number in re.findall(r"\d+", match.group(1))]
            yield from (number for number in cited if not 1 <= number <= 26)

    assert wrong(MODULES, others) == {}
