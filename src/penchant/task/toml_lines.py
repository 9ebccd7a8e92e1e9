"""In which line of a TOML file a key stands, for errors that name it."""

from __future__ import annotations

import re
from collections.abc import Iterator

Path = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w"'-]+)*)\s*=(.*)$""")
_PIECE = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'[^']*'|#.*|[\[\]{}]")


def lines_of_keys(text: str) -> dict[Path, int]:
    r"""The line, from 1, in which each table and key of a TOML text begins.

    Examples
    --------
    >>> lines_of_keys('[study]\nname = "a"\n[[block]]\ntask = "grid"')
    {('study',): 1, ('study', 'name'): 2, ('block', 0): 3, ('block', 0, 'task'): 4}
    """
    found: dict[Path, int] = {}
    here: Path = ()
    counts: dict[Path, int] = {}
    for number, line in _outside_values(text):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            here = _names(header.group(2))
            if header.group(1) == "[[":
                counts[here] = counts.get(here, -1) + 1
                here = (*here, counts[here])
            found.setdefault(here, number)
        elif key:
            found.setdefault((*here, *_names(key.group(1))), number)
    return found


def _names(words: str) -> Path:
    return tuple(word.strip().strip("\"'") for word in words.split("."))


def _outside_values(text: str) -> Iterator[tuple[int, str]]:
    """Lines that do not go on with a value of an earlier line."""
    depth, quoted = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not depth and not quoted:
            yield number, line
        key = _KEY.match(line) if not depth and not quoted else None
        rest = key.group(2) if key else line
        if not depth and not quoted and key is None:
            continue
        for piece in _PIECE.finditer(rest):
            depth, quoted = _after(piece.group(), depth, quoted)


def _after(piece: str, depth: int, quoted: str) -> tuple[int, str]:
    """How many brackets are open, and which quote, behind a piece of a value."""
    if quoted:
        return depth, "" if piece == quoted else quoted
    if piece in ('"""', "'''"):
        return depth, piece
    if piece in "[{":
        return depth + 1, quoted
    if piece in "]}":
        return max(depth - 1, 0), quoted
    return depth, quoted
