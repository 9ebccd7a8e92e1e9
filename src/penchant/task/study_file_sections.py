"""Checked reading of a TOML study file: every error names the key, the rule and the line.

`tomllib` reports no positions, so the lines of keys are found by a scan of the text. Keys that
nothing has read are refused as unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from penchant.errors import DataError, closest_match_hint

KeyPath = tuple[str | int, ...]

_HEADER_LINE = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY_LINE = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w"'-]+)*)\s*=(.*)$"""
)
_VALUE_PIECE = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'[^']*'|#.*|[\[\]{}]")


def key_line_numbers(text: str) -> dict[KeyPath, int]:
    r"""Find the line, from 1, in which each table and key of a TOML text begins.

    Examples
    --------
    >>> key_line_numbers('[study]\nname = "a"\n[[block]]\ntask = "grid"')
    {('study',): 1, ('study', 'name'): 2, ('block', 0): 3, ('block', 0, 'task'): 4}
    """
    found: dict[KeyPath, int] = {}
    here: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for number, line in _lines_outside_values(text):
        header, key = _HEADER_LINE.match(line), _KEY_LINE.match(line)
        if header:
            here = _split_key(header.group(2))
            if header.group(1) == "[[":
                counts[here] = counts.get(here, -1) + 1
                here = (*here, counts[here])
            found.setdefault(here, number)
        elif key:
            found.setdefault((*here, *_split_key(key.group(1))), number)
    return found


def _split_key(words: str) -> KeyPath:
    return tuple(word.strip().strip("\"'") for word in words.split("."))


def _lines_outside_values(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that do not continue a value of an earlier line."""
    depth, quoted = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not depth and not quoted:
            yield number, line
        key = _KEY_LINE.match(line) if not depth and not quoted else None
        rest = key.group(2) if key else line
        if not depth and not quoted and key is None:
            continue
        for piece in _VALUE_PIECE.finditer(rest):
            depth, quoted = _bracket_depth_and_open_quote(piece.group(), depth, quoted)


def _bracket_depth_and_open_quote(piece: str, depth: int, quoted: str) -> tuple[int, str]:
    """Number of open brackets and the open quote after a piece of a value."""
    if quoted:
        return depth, "" if piece == quoted else quoted
    if piece in ('"""', "'''"):
        return depth, piece
    if piece in "[{":
        return depth + 1, quoted
    if piece in "]}":
        return max(depth - 1, 0), quoted
    return depth, quoted


Choice = TypeVar("Choice", bound=str)


@dataclass
class StudyFileSection:
    """A table of a study file.

    Attributes
    ----------
    values
        What it holds.
    path
        Where it stands, such as ("block", 1).
    lines
        The line of every key of the file.
    read
        Keys that something asked for; the others are unknown.
    """

    values: Mapping[str, Any]
    path: KeyPath = ()
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def describe_key(self, key: str = "") -> str:
        """Describe a key in words.

        >>> StudyFileSection({}, ("block", 1)).describe_key("task")
        'block 2: task'
        """
        words = [f"{part + 1}:" if isinstance(part, int) else part for part in self.path]
        if words and isinstance(self.path[-1], str) and key:
            words[-1] += "." + key
            return " ".join(words)
        return " ".join([*words, key]).strip().rstrip(":")

    def refuse(self, key: str, rule: str, fix: str, got: Any = None) -> NoReturn:
        """Raise an error with the rule, the value, its line and the remedy."""
        given = self.values.get(key) if got is None else got
        shown = repr(given) if len(repr(given)) <= 60 else f"{repr(given)[:57]}..."
        shown = "none" if given is None else shown.lower() if isinstance(given, bool) else shown
        raise DataError(
            self.describe_key(key), f"must {rule}", got=f"{shown}{self.line_suffix(key)}", fix=fix
        )

    def line_suffix(self, key: str = "") -> str:
        """Describe the line of a key, or of the table that holds it."""
        path: KeyPath = (*self.path, key) if key else self.path
        while path:
            if path in self.lines:
                return f" at line {self.lines[path]}"
            path = path[:-1]
        return ""

    def has_key(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self.values

    def section(self, key: str) -> StudyFileSection:
        """A table in this one; empty if it is not there."""
        value = self._take_value(key, {})
        if not isinstance(value, Mapping):
            self.refuse(key, f"be a table, [{key}]", "Write it as a table.")
        return StudyFileSection(value, (*self.path, key), self.lines)

    def sections(self, key: str) -> list[StudyFileSection]:
        """Array of tables, [[key]]."""
        value = self._take_value(key, [])
        if not isinstance(value, Sequence) or not all(isinstance(v, Mapping) for v in value):
            self.refuse(key, f"be a list of tables, [[{key}]]", "Write each with double brackets.")
        return [StudyFileSection(v, (*self.path, key, i), self.lines) for i, v in enumerate(value)]

    def text(self, key: str, default: str | None = None, *, most: int = 20_000) -> str:
        """A text of limited length."""
        value = self._take_value(key, default)
        if not isinstance(value, str) or not value.strip() or len(value) > most:
            self.refuse(key, f"be a text of 1 to {most} characters", "Write it in quotes.", value)
        return value

    def optional_text(self, key: str, *, most: int = 2_000) -> str | None:
        """A text, or None."""
        return self.text(key, most=most) if self.has_key(key) else None

    def texts(self, key: str, default: Sequence[str] | None = None, least: int = 0) -> list[str]:
        """A list of texts."""
        value = self._take_value(key, default)
        ok = isinstance(value, list | tuple) and all(isinstance(v, str) and v for v in value)
        if not ok or len(value) < least:
            many = f" of {least} or more" if least else ""
            self.refuse(key, f"be a list of texts{many}", 'Write ["one", "two"].', value)
        return list(value)

    def one_of(self, key: str, known: Sequence[Choice], default: Choice | None = None) -> Choice:
        """A word out of those known."""
        value = self._take_value(key, default)
        for word in known:
            if word == value:
                return word
        hint = closest_match_hint(str(value), known).strip() or "Choose one."
        self.refuse(key, f"be one of {', '.join(known)}", hint, value)

    def boolean(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._take_value(key, default)
        if not isinstance(value, bool):
            self.refuse(key, "be true or false", "Write it without quotes.")
        return value

    def integer(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number."""
        value = self._take_value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.refuse(key, f"be a whole number from {least} to {most}", "Correct it.", value)
        return value

    def number(self, key: str, least: float, most: float, default: float | None = None) -> float:
        """A finite number."""
        value = self._take_value(key, default)
        if not is_number(value) or not least <= value <= most:
            self.refuse(key, f"be a number from {least:g} to {most:g}", "Correct it.", value)
        return float(value)

    def numbers(self, key: str, least: int, most: int) -> list[float]:
        """A list of finite numbers."""
        value = self._take_value(key, None)
        ok = isinstance(value, list) and all(is_number(v) for v in value)
        if not ok or not least <= len(value) <= most:
            many = f"{least}" if least == most else f"{least} to {most}"
            self.refuse(key, f"be a list of {many} finite numbers", "Write [12, 30.5].", value)
        return [float(v) for v in value]

    def refuse_unread_keys(self, known: Iterable[str] = ()) -> None:
        """Refuse keys that were not read."""
        for key in self.values:
            if key not in self.read:
                choices = sorted(self.read | set(known))
                hint = (
                    closest_match_hint(key, choices).strip() or f"Known here: {', '.join(choices)}."
                )
                raise DataError(
                    self.describe_key() or "the file",
                    "must have known keys",
                    got=f"{key!r}{self.line_suffix(key)}",
                    fix=hint,
                )

    def _take_value(self, key: str, default: Any) -> Any:
        self.read.add(key)
        return self.values.get(key, default)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
