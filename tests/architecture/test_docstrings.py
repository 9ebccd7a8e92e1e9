"""Everything public is described, and the examples run."""

import doctest
import importlib
import linecache
import re

import pytest

from source_files import ROOT, label, source, wrong

MODULES = sorted(ROOT.rglob("*.py"))


def _name(path):
    parts = ["penchant", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(part for part in parts if part != "__init__")


def test_everything_public_has_a_docstring():
    def missing(path):
        found = source(path)
        is_private = path.name.startswith("_") and path.name != "__init__.py"
        return ["the module itself"] * (not found.is_described) + (
            [] if is_private else found.undescribed
        )

    assert wrong(MODULES, missing) == {}


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
