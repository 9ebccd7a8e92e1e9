"""Roles of the columns of a table of play, found by the names of the lexicon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penchant.errors import DataError, closest_match_hint, format_names, mark_quoted_argument
from penchant.tables.columns import (
    COORDINATES,
    NO_COLUMN,
    NOT,
    flagged,
    named_column,
)
from penchant.tables.lexicon import is_named, role_column

# Parts of a table of play, in the order in which columns are found, and their roles in the lexicon.
PARTS: Mapping[str, str] = {
    "chosen": "choice",
    "reward": "reward",
    "subject": "subject",
    "block": "block",
    "decision": "trial",
    "is_choice": "is_choice",
    "scored": "scored",
    "executed": "executed",
}
# Parts that a table must have, and names that they often have.
NEEDED = {"chosen": "chosen or choice or option", "reward": "reward or outcome or payoff"}
# Forced choices are shown: a column that is 1 where `is_choice` is 0.
FORCED = ("forced", "is_forced", "forced_choice", "forced_trial")

ColumnNames = str | tuple[str, ...]  # of one column, or of several that are one together


def columns_used(columns: Mapping[str, Any]) -> set[str]:
    """Every column that has a part."""
    return {flagged(name)[0] for name in _flat(columns.values())}


def describe_columns(columns: Mapping[str, Any]) -> str:
    """Text of all roles and their columns, in one line.

    >>> describe_columns({"chosen": "choice", "reward": ("gain", "loss"), "subject": "subjID"})
    'chosen = choice; reward = gain - |loss|; subject = subjID'
    """
    return "; ".join(
        f"{part} = {_column_text(part, name)}" for part, name in columns.items() if name
    )


def _column_text(part: str, column: Any) -> str:
    if isinstance(column, str):
        return column
    return f"{column[0]} - |{column[1]}|" if part == "reward" else f"({', '.join(column)})"


def play_columns(
    names: Sequence[str], given: Mapping[str, Any] | None = None, *, coordinates: int = 0
) -> dict[str, Any]:
    """Find the column of every part that is not given, for `episodes_from_frame`.

    The option may have several columns, the coordinates of its place; the reward two, gain and
    loss; a block several, where sessions have a column of their own.

    Parameters
    ----------
    names
        Columns of the table.
    given
        Column of a part, by the name of the part; "none" for a part that the table shall not have.
    coordinates
        How many of the columns x, y and z may say which option was chosen where no other column
        does.

    Examples
    --------
    >>> found = play_columns(["subjID", "trial", "choice", "gain", "loss"])
    >>> found["subject"], found["reward"], found["block"]
    ('subjID', ('gain', 'loss'), None)
    """
    wanted = {part: column for part, column in (given or {}).items() if column}
    _check_given(wanted, names)
    columns: dict[str, Any] = dict.fromkeys(PARTS)
    taken = _flat(wanted.get(part) for part in NEEDED)
    for part in PARTS:
        if wanted.get(part) == NO_COLUMN and NO_COLUMN not in names:
            continue
        free = [name for name in names if name not in taken | _flat(columns.values())]
        columns[part] = wanted.get(part) or _find_column(part, free, coordinates)
    missing = [part for part in NEEDED if columns[part] is None]
    if missing:
        raise DataError(
            mark_quoted_argument(missing[0]),
            f"must be given, as no column is called {NEEDED[missing[0]]}",
            got=f"columns {format_names(names)}",
            fix=f"Name the column with {mark_quoted_argument(missing[0])}.",
        )
    return columns


def _find_column(part: str, names: Sequence[str], coordinates: int) -> Any:
    name = role_column(PARTS[part], names)
    if part == "block":
        # Blocks are often numbered afresh in every session.
        session = role_column("session", names)
        return (session, name) if session and name else session or name
    if part == "is_choice" and name is None:
        forced = named_column(FORCED, names)
        return None if forced is None else NOT + forced
    if part == "reward" and (name is None or is_named("gain", name)):
        gain, loss = role_column("gain", names), role_column("loss", names)
        return (gain, loss) if gain and loss else name or gain
    if part == "chosen" and name is None:
        axes = [named_column((axis,), names) for axis in COORDINATES[:coordinates]]
        return tuple(axis for axis in axes if axis is not None) or None
    return name


def is_play(names: Sequence[str]) -> bool:
    """Whether the columns are those of task data rather than of options on offer.

    >>> is_play(["subject", "trial", "choice", "reward"]), is_play(["option", "chosen", "price"])
    (True, False)
    """
    parts = (_find_column(part, names, len(COORDINATES)) for part in NEEDED)
    return all(column is not None for column in parts) and not is_long(names)


def is_long(names: Sequence[str]) -> bool:
    """Whether there is one row per option, with a flag for the option that was taken."""
    return any(is_named("option", name) for name in names) and any(
        is_named("chosen", name) for name in names
    )


def _check_given(wanted: Mapping[str, Any], names: Sequence[str]) -> None:
    for part, column in wanted.items():
        for name in (column,) if isinstance(column, str) else column:
            if name not in names and flagged(name)[0] not in names and name != NO_COLUMN:
                raise DataError(
                    mark_quoted_argument(part),
                    "must name a column",
                    got=f"{name!r}, but they are {format_names(names)}",
                    fix=closest_match_hint(name, names) or "Correct it.",
                )


def _flat(columns: Iterable[Any]) -> set[str]:
    """Names of columns, of which some parts have several and some none."""
    names: set[str] = set()
    for column in columns:
        names |= {column} if isinstance(column, str) else set(column or ())
    return names
