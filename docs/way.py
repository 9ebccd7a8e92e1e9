"""Links of `how-a-fit-happens.md` to the lines of the source: python docs/way.py writes them anew."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "penchant"
PAGE = Path(__file__).with_name("how-a-fit-happens.md")
LINK = re.compile(r"\[`([\w.]+)`\]\(\.\./src/penchant/([\w/]+\.py)#L(\d+)\)")


def line_of(name: str, file: str) -> int:
    """The line on which a file defines a function, a class, or a method as `Class.method`.

    Of an overloaded function it is the last one: the one that has a body.
    """
    within: Any = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        *_, within = [node for node in within.body if getattr(node, "name", None) == part]
    return int(within.lineno)


def linked(text: str) -> str:
    """A page with the numbers of its links as the lines are now."""
    return LINK.sub(
        lambda link: f"[`{link[1]}`](../src/penchant/{link[2]}#L{line_of(link[1], link[2])})", text
    )


if __name__ == "__main__":
    PAGE.write_text(linked(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
