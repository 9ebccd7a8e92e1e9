"""The page that walks through a fit links to the lines where its functions are defined."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _script():
    spec = importlib.util.spec_from_file_location("way", DOCS / "way.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WAY = _script()
PAGE = WAY.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("link", WAY.LINK.findall(PAGE), ids=lambda link: f"{link[1]}-{link[0]}")
def test_a_link_leads_to_the_line_where_its_function_is_defined(link):
    name, file, line = link
    assert WAY.line_of(name, file) == int(line)


def test_every_link_into_the_source_is_one_that_is_checked():
    assert PAGE.count("../src/") == len(WAY.LINK.findall(PAGE)) >= 20


def test_a_link_that_lies_is_written_anew():
    link = "[`maximise`](../src/penchant/softmax/newton.py#L{})"
    line = WAY.line_of("maximise", "softmax/newton.py")
    assert WAY.linked(link.format(1)) == link.format(line) != link.format(1)
