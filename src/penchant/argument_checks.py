"""Checks of arguments that every layer has: numbers, names, lengths, entries of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penchant._typing import BoolVector, Labels
from penchant.errors import DataError, closest_match_hint, format_list

MAX_QUOTED = 3  # so few names are shown as they are typed, in quotes


def check_whole_number(value: Any, name: str, least: int, fix: str = "Correct it.") -> int:
    """Check that a value is a whole number, `least` or more, and return it as int."""
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        whole = least - 1
    if whole < least or whole != value:
        rule = f"must be a whole number, {least} or more"
        raise DataError(name, rule, got=repr(value), fix=fix)
    return whole


def check_number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
    fix: str = "Correct it.",
) -> float:
    """Check that a value is a finite number within limits, and return it as float.

    Parameters
    ----------
    value
        What was given.
    name
        Name of the argument.
    above, below
        Limits that the number must not reach.
    least, most
        Limits that it may reach.
    fix
        The remedy.

    Examples
    --------
    >>> check_number(2, "share", least=0, most=1)
    Traceback (most recent call last):
    penchant.errors.DataError: share must lie in 0..1; got 2.
    Correct it.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise DataError(name, "must be a number", got=repr(value), fix=fix)
    if np.isinf(value):
        raise DataError(name, "must be finite", got=value, fix=fix)
    within = not np.isnan(value) and (
        (above is None or value > above)
        and (least is None or value >= least)
        and (most is None or value <= most)
        and (below is None or value < below)
    )
    if not within:
        raise DataError(name, _describe_limits(above, least, most, below), got=value, fix=fix)
    return float(value)


def _describe_limits(
    above: float | None, least: float | None, most: float | None, below: float | None
) -> str:
    if least is not None and most is not None:
        return f"must lie in {least:g}..{most:g}"
    if above is not None and below is not None:
        return f"must lie between {above:g} and {below:g}"
    if above is least is most is below is None:
        return "must be finite"
    signs = ((">", above), (">=", least), ("<=", most), ("<", below))
    return "must be " + " and ".join(
        f"{sign} {limit:g}" for sign, limit in signs if limit is not None
    )


def check_one_of(value: Any, name: str, known: Iterable[Any], fix: str = "Choose one.") -> None:
    """Raise unless a value is one of those known; the remedy names the one most like it."""
    known = tuple(known)
    if value in known:
        return
    shown = [one for one in known if one is not None]
    if len(shown) <= MAX_QUOTED:
        rule = " or ".join(filter(None, (", ".join(map(repr, shown[:-1])), repr(shown[-1]))))
    else:
        rule = f"one of {format_list(map(str, shown))}"
    hint = closest_match_hint(str(value), map(str, shown))
    raise DataError(name, f"must be {rule}", got=repr(value), fix=hint or fix)


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


def check_length(
    values: Labels, name: str, n: int, each: str = "one per decision", fix: str = ""
) -> None:
    """Raise unless an array holds n entries, one for each of something."""
    if values.shape != (n,):
        rule = f"must have shape ({n},), {each}"
        raise DataError(name, rule, got=f"shape {values.shape}", fix=fix or f"Give {each}.")


def describe_decision(k: int) -> str:
    """Return the words for where decision k is, counted from 0 as in arrays."""
    return f"decision {k}"


def check_entries(
    is_valid: BoolVector,
    values: Any,
    name: str,
    rule: str,
    fix: str,
    describe_entry: Callable[[int], str] = describe_decision,
) -> None:
    """Raise unless all entries of an array are fine; the first ten of the others are named.

    Parameters
    ----------
    is_valid
        Which entries are as they must be.
    values
        The entries; or what was got in words, such as "none".
    name, rule, fix
        Of the error.
    describe_entry
        Where an entry is, in words.
    """
    wrong = np.flatnonzero(~is_valid)
    if not wrong.size:
        return
    if isinstance(values, str):
        got = f"{values} at {format_list(map(describe_entry, wrong[:11].tolist()), wrong.size)}"
    else:
        cells = (f"{_format_value(values[k])} at {describe_entry(k)}" for k in wrong[:11].tolist())
        got = format_list(cells, wrong.size)
    raise DataError(name, rule, got=got, fix=fix)


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
