"""Checks of arguments that every layer has: whole numbers, levels, threads, random generators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penchant.errors import DataError


def check_whole_number(value: Any, name: str, least: int) -> int:
    """Check that a value is a whole number, `least` or more, and return it as int."""
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole = least - 1
    if whole < least or whole != value:
        raise DataError(
            name, f"must be a whole number, {least} or more", got=repr(value), fix="Correct it."
        )
    return whole


def one_of(value: Any, name: str, known: Iterable[str]) -> None:
    """Raise unless a value is one of the known words."""
    words = tuple(known)
    if value not in words:
        raise DataError(
            name, f"must be one of {', '.join(words)}", got=repr(value), fix="Choose one."
        )


def check_level(level: float) -> None:
    """Raise unless a confidence level lies between 0 and 1."""
    if isinstance(level, bool) or not 0 < level < 1:
        hint = f" Did you mean {level / 100:g}?" if 1 < level < 100 else " Use 0.95, for example."
        raise DataError("level", "must lie between 0 and 1", got=level, fix=hint)


def check_threads(threads: int | None) -> None:
    """Raise unless the number of threads is None or at least 1."""
    if threads is not None and threads < 1:
        raise DataError(
            "threads", "must be at least 1", got=threads, fix="Leave it out to use all."
        )


def check_rng(rng: Any) -> None:
    """Raise unless `rng` is a generator of NumPy: seeds are not taken, as calls would repeat."""
    if not isinstance(rng, np.random.Generator):
        written = f"np.random.default_rng({rng})" if isinstance(rng, int) else "default_rng(1)"
        raise DataError(
            "rng",
            "must be a generator of NumPy",
            got=type(rng).__name__,
            fix=f"Write rng={written}.",
        )
