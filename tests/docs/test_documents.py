"""Every example in the documents runs and prints what they say."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
LINKED = [
    *DOCUMENTS,
    *ROOT.glob("docs/api/*.md"),
    *ROOT.glob("benchmarks/*.md"),
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_print_what_the_document_says(path: Path):
    failed, _ = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize("path", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path: Path):
    text = path.read_text()
    targets = [part.split(")")[0] for part in text.split("](")[1:]]
    files = [target.split("#")[0] for target in targets if "://" not in target]
    assert [file for file in files if not (path.parent / file).exists()] == []


def test_the_index_leads_to_every_document():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    made = {"README.md", "changes.md", "contributing.md", "how-to.md", "why.md", "project.md"}
    pages = [path.name for path in ROOT.glob("docs/*.md") if path.name not in made]
    assert [name for name in pages if f"]({name})" not in index] == []
