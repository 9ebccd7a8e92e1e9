"""The site has every page, public name and figure, and what checks its links finds mistakes."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import penchant

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DRAWING = set(penchant.figures.__all__) - {
    "PALETTE",
    "figure",
    "inline_svg",
    "series_style",
    "save",
    "style",
}
TOC = re.compile(r"^```\{toctree\}\n((?::[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)
DESCRIBED = re.compile(r"^\.\. auto(?:function|class|exception):: (\w+)$", re.MULTILINE)


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = script("build_site")
PICTURES = script("make_figures")


def listed(page):
    """Pages that the contents of a page list, relative to the folder of documents."""
    for _, body in TOC.findall(page.read_text(encoding="utf-8")):
        for line in body.split("\n"):
            target = re.sub(r"^.*<(.*)>$", r"\1", line.strip())
            if target:
                yield (page.parent / target).relative_to(DOCS).as_posix()


def test_every_page_is_in_the_contents_of_one_other():
    pages = [*DOCS.glob("*.md"), *DOCS.glob("api/*.md")]
    found = [target for page in pages for target in listed(page) if "measured/" not in target]
    names = [page.relative_to(DOCS).with_suffix("").as_posix() for page in pages]
    names += [f"notebooks/{path.stem}" for path in DOCS.glob("notebooks/*.ipynb")]
    assert sorted(found) == sorted({*names} - {"index"})


def test_every_page_of_measurements_is_on_the_site():
    assert "measured/*" in [*listed(DOCS / "why.md")]


def test_every_public_name_is_described_once():
    parts = {name for name in penchant.__all__ if isinstance(getattr(penchant, name), ModuleType)}
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.md"))
    modules = re.findall(r"^\.\. automodule:: penchant\.(\w+)$", text, re.MULTILINE)
    assert sorted(modules) == sorted(parts)
    elsewhere = {name for part in parts for name in getattr(penchant, part).__all__}
    names = set(penchant.__all__) - parts - elsewhere
    assert sorted(DESCRIBED.findall(text)) == sorted(names), "name it on a page of docs/api"


def test_the_gallery_draws_every_figure():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    drawn = "".join(re.findall(r"^```\{drawn\} .*?^```$", text, re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"pn\.figures\.(\w+)\(", drawn)) - {"figure"} == DRAWING


@pytest.mark.parametrize("name", ["two-options", "discounting", "spatial"])
def test_a_tutorial_shows_the_figures_that_it_draws(name):
    page = DOCS / f"tutorial-{name}.md"
    figures = [file for _, _, file in PICTURES.shown(page)]
    assert figures
    assert all(file.stat().st_size < 110_000 for file in figures)
    made = page.read_text(encoding="utf-8").count("pn.figures.figure(")
    assert len(figures) == made


def test_a_site_that_keeps_its_promises_has_no_problems(tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y">b</a><a href="#x">x</a></p>')
    (tmp_path / "b.html").write_text('<p id="y"><a href="https://example.org/">away</a></p>')
    assert list(SITE.problems(tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<a href="c.html">c</a>', "a.html: c.html leads nowhere"),
        ('<a href="a.html#z">z</a>', "a.html: a.html#z leads to no place on that page"),
        (
            '<script src="https://cdn.example.org/x.js"></script>',
            "a.html: loads https://cdn.example.org/x.js from another host",
        ),
        ('<img src="gone.svg">', "a.html: gone.svg leads nowhere"),
    ],
)
def test_what_is_broken_on_the_site_is_found(tmp_path, text, said):
    (tmp_path / "a.html").write_text(text)
    assert list(SITE.problems(tmp_path)) == [said]
