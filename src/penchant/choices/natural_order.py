"""Labels in the order in which people read them: 2 before 10, and s2 before s10."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\Z", re.ASCII)
# a decimal fraction, but not a part of 1.2.3 or of a date; else a run of digits
PARTS = re.compile(r"((?<![\d.])\d+\.\d+(?![\d.])|\d+)", re.ASCII)
DIGIT = re.compile(r"\d", re.ASCII)

Key = tuple[Any, ...]


def natural_key(label: Any) -> Key:
    """What labels are sorted by: numbers as numbers, also within text; then all other text.

    Examples
    --------
    >>> sorted(["s10", "s2", "10", "9", "0.5", "s1 b", "-3"], key=natural_key)
    ['-3', '0.5', '9', '10', 's1 b', 's2', 's10']
    """
    if isinstance(label, tuple):
        return tuple(map(natural_key, label))
    if isinstance(label, (bool, int, float)):
        return (0, label, str(label))
    text = str(label)
    if NUMBER.match(text):
        return (0, float(text), text)
    return (1, PARTS.sub(_by_length, text), text)


def _by_length(found: re.Match[str]) -> str:
    """A number led by how many digits it has before the point: exact, however long it is."""
    known = found[0].lstrip("0")
    return chr(1 + len(known.partition(".")[0])) + known


def in_natural_order(labels: Iterable[Any]) -> list[Any]:
    """Labels sorted as people read them.

    Examples
    --------
    >>> in_natural_order(["block 10", "block 9", "block 1"])
    ['block 1', 'block 9', 'block 10']
    """
    return sorted(labels, key=natural_key)


def natural_places(labels: list[Any]) -> list[int]:
    """Places of labels in natural order; those of a type with an order of its own have that."""
    if all(isinstance(label, str) for label in labels):
        if not any(map(DIGIT.search, labels)):
            return sorted(range(len(labels)), key=labels.__getitem__)
    else:
        try:
            return sorted(range(len(labels)), key=labels.__getitem__)
        except TypeError:
            pass
    keys = [natural_key(label) for label in labels]
    return sorted(range(len(labels)), key=keys.__getitem__)
