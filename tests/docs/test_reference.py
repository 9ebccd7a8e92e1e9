"""The reference is made from the docstrings, and they say everything one needs to call a name."""

import ast
import builtins
import doctest
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import penchant

DOCS = Path(__file__).parents[2] / "docs"


def _script():
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
ENTRIES = {name: value for page in SCRIPT.PAGES for name, value in SCRIPT.entries(page).items()}
CALLED = {name: value for name, value in ENTRIES.items() if inspect.isfunction(value)}
MADE_BY_HAND = {
    name: value
    for name, value in ENTRIES.items()
    if inspect.isclass(value) and SCRIPT.is_made_by_hand(value)
}


def test_the_pages_are_what_the_script_makes():
    made = SCRIPT.pages()
    assert sorted(path.name for path in SCRIPT.FOLDER.iterdir()) == sorted(made)
    stale = [
        name
        for name, text in made.items()
        if (SCRIPT.FOLDER / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run: python docs/make_reference.py"


def test_every_public_name_is_on_a_page():
    parts = {name for name in penchant.__all__ if isinstance(getattr(penchant, name), ModuleType)}
    described = {name.split(".")[1] for name in ENTRIES}
    assert described == set(penchant.__all__)
    for part in parts:
        names = {name.split(".")[2] for name in ENTRIES if name.startswith(f"pn.{part}.")}
        assert names == set(getattr(penchant, part).__all__) - set(penchant.__all__)


def test_the_front_page_lists_the_names_at_the_top():
    front = SCRIPT.pages()["README.md"].split("\n## ")[0]
    top = set(re.findall(r"\[`(?:pn\.)?(\w+)`\]", front))
    assert top == set(penchant.__all__)


@pytest.mark.parametrize("name", sorted(CALLED | MADE_BY_HAND))
def test_every_argument_is_described(name):
    value = ENTRIES[name]
    sections = dict(SCRIPT.sections(inspect.getdoc(value)))
    lines = [line for line in sections.get("Parameters", "").splitlines() if line[:1].strip()]
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
