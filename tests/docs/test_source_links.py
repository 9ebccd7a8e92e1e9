"""Links of a page into the source name functions and classes that are defined there."""

import ast
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = DOCS.parent / "src" / "penchant"
LINK = re.compile(r"\[`([\w.]+)`\]\(\.\./src/penchant/([\w/]+\.py)\)")
PAGE = (DOCS / "how-a-fit-happens.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name, file", LINK.findall(PAGE), ids=lambda part: part)
def test_the_file_of_a_link_defines_what_the_link_names(name, file):
    within = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        found = [node for node in within.body if getattr(node, "name", None) == part]
        assert found, f"{file} does not define {name}"
        within = found[-1]


def test_every_link_into_the_source_is_one_that_is_checked():
    assert PAGE.count("../src/") == len(LINK.findall(PAGE)) >= 20
