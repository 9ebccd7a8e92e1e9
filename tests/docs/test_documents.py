"""Every example in the documents runs and prints what the page shows below it."""

from pathlib import Path

import page_examples
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
LINKED = [
    *DOCUMENTS,
    *ROOT.glob("docs/api/*.md"),
    *ROOT.glob("benchmarks/*.md"),
]

# Outputs that are compared on each page, at least. A number falls only where an example was
# removed from its page on purpose; the comment says which.
OUTPUTS = {
    "README.md": 5,
    "docs/ask.md": 7,
    "docs/assist.md": 4,
    "docs/bandit.md": 9,
    "docs/clinic.md": 6,
    "docs/coming-from-biogeme.md": 1,
    "docs/coming-from-hbayesdm.md": 2,
    "docs/coming-from-r.md": 2,
    "docs/coming-from-statsmodels.md": 1,
    "docs/coming-from-xlogit.md": 1,
    "docs/everybody.md": 10,
    "docs/existence.md": 11,
    "docs/figures.md": 4,
    "docs/files.md": 9,
    "docs/for-choice-modellers.md": 2,
    "docs/for-clinicians.md": 2,
    "docs/for-engineers.md": 2,
    "docs/for-scientists.md": 2,
    "docs/for-teachers.md": 1,
    "docs/guide.md": 12,
    "docs/hbayesdm.md": 1,
    "docs/how-a-fit-happens.md": 8,
    "docs/models.md": 15,
    "docs/own-model.md": 14,
    "docs/paper.md": 10,
    "docs/places.md": 3,
    "docs/population.md": 9,
    "docs/scale.md": 9,
    "docs/study.md": 7,
    "docs/tutorial-discounting.md": 15,
    "docs/tutorial-spatial.md": 12,
    "docs/tutorial-two-options.md": 13,
    "docs/workflow.md": 13,
}
FIGURES = {"docs/gallery.md": 29}  # pages whose blocks draw and print nothing: figures drawn


def named(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_examples_print_what_the_document_shows(path: Path):
    found = page_examples.examples(path.read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    figures = [len(page_examples.check(example, names, path)) for example in found]
    assert sum(example.output is not None for example in found) >= OUTPUTS.get(named(path), 0)
    assert sum(figures) >= FIGURES.get(named(path), 0)
    assert not found or named(path) in OUTPUTS or named(path) in FIGURES


def test_no_page_leaves_the_table_of_outputs_by_losing_its_examples():
    assert {*OUTPUTS, *FIGURES} <= {named(path) for path in DOCUMENTS}
    assert min(*OUTPUTS.values(), *FIGURES.values()) > 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```python\n1 + 1\n```\n\n```output\n3\n```\n", "the page shows\n3\n\nbut it prints\n2"),
        ("```python\n1 + 1\n```\n", "but it prints\n2"),
        ("```python\nprint(1)\n2\n```\n\n```output\n2\n```\n", "but it prints\n1\n2"),
        ("```python\nx = 1\n```\n\n```output\n1\n```\n", "but it prints"),
        ("```{drawn} Nothing\nx = 1\n```\n", "draws no figure"),
    ],
)
def test_an_example_that_prints_something_else_is_found(text, says):
    (example,) = page_examples.examples(text)
    with pytest.raises(page_examples.ExampleError, match=says.replace("+", r"\+")):
        page_examples.check(example, {}, "page.md")


@pytest.mark.parametrize("output", ["1 2 4", "1  2\n4", "1 ... 4"])
def test_white_space_and_dots_in_an_output_are_compared_as_doctest_does(output):
    text = f"- A list:\n\n  ```python\n  print(1, 2, 4)\n  ```\n\n  ```output\n  {output}\n  ```\n"
    (example,) = page_examples.examples(text)
    assert page_examples.check(example, {}, "page.md") == []


def test_blocks_that_would_not_be_compared_are_refused():
    with pytest.raises(page_examples.ExampleError, match="without prompts"):
        page_examples.examples("```python\n>>> 1\n1\n```\n")
    with pytest.raises(page_examples.ExampleError, match="1 output blocks do not follow"):
        page_examples.examples("```python\n1\n```\n\nWords.\n\n```output\n1\n```\n")


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
