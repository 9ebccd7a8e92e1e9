"""Figures as files and inside a page."""

import re
from xml.etree import ElementTree

import pytest

from penchant.errors import DataError
from penchant.figures import figure, forest, inline_svg, save

SVG = "{http://www.w3.org/2000/svg}"


def canvas(estimates=(3.0, 4.5, 2.0), name="noise"):
    made = figure()
    forest(made.subplots(), estimates, name=name)
    return made


def ids(text):
    return re.findall(r'\bid="([^"]+)"', text)


def test_the_same_figure_gives_the_same_text():
    assert inline_svg(canvas()) == inline_svg(canvas())
    made = canvas()
    assert inline_svg(made) == inline_svg(made)


def test_it_is_well_formed_and_needs_nothing_else():
    text = inline_svg(canvas())
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    addresses = set(re.findall(r'https?://[^"< ]+', text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "<script" not in text
    assert "<!DOCTYPE" not in text
    assert "<metadata" not in text
    assert "<image" not in text
    assert "<text" not in text  # letters are outlines: no font is asked for


def test_every_reference_leads_to_an_id_of_the_figure():
    text = inline_svg(canvas())
    known = set(ids(text))
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text))
    assert used
    assert {a or b for a, b in used} <= known
    assert len(ids(text)) == len(known)


def test_figures_on_one_page_share_no_id():
    first, second = inline_svg(canvas()), inline_svg(canvas(estimates=(3.0, 9.0)))
    assert not set(ids(first)) & set(ids(second))


def test_its_rules_hold_for_its_own_elements_only():
    text = inline_svg(canvas())
    rules = re.findall(r"<style[^>]*>([^<]*)</style>", text)
    name = ids(text)[0]
    assert rules
    assert all(rule.startswith(f"#{name} *") for rule in rules)


def test_it_tells_those_who_cannot_see_it():
    root = ElementTree.fromstring(inline_svg(canvas(), "Noise & <co>", "Three people."))
    assert root.get("role") == "img"
    title, described = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title.text == "Noise & <co>"
    assert described.text == "Three people."
    assert root.get("aria-labelledby") == title.get("id")
    assert root.get("aria-describedby") == described.get("id")


def test_without_a_title_the_labels_of_the_axes_are_said():
    root = ElementTree.fromstring(inline_svg(canvas(name="noise")))
    assert root.find(f"{SVG}title").text == "3 subjects against noise"
    assert "<title" in inline_svg(figure())


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_a_file_is_of_the_kind_its_name_says_and_always_the_same(tmp_path, suffix, start):
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix.upper()}"
    save(canvas(), first)
    save(canvas(), second)
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_is_not_replaced_unless_asked(tmp_path):
    path = tmp_path / "forest.svg"
    save(canvas(), path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="output must not exist; got"):
        save(canvas(estimates=(1.0, 2.0)), path)
    assert path.read_bytes() == before
    save(canvas(estimates=(1.0, 2.0)), path, overwrite=True)
    assert path.read_bytes() != before


def test_other_kinds_of_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"output must end in .svg, .pdf or .png; got .*forest.jpg"):
        save(canvas(), tmp_path / "forest.jpg")
