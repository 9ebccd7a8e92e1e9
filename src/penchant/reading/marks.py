"""Codes and flags of decisions that nobody made, which could be choices: asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penchant.errors import DataError, listing
from penchant.files.table import typed
from penchant.output import counted
from penchant.reading.asked import with_column, word
from penchant.tables.cells import is_nothing
from penchant.tables.columns import plain_name
from penchant.tables.events import NOTHING
from penchant.tables.labels import NUMBER
from penchant.tables.options import NOTHING_WORDS
from penchant.tables.play import FAR, MARKS
from penchant.tables.surveys import where_said
from penchant.wording import argument, either

# Names of columns that say whether a decision was missed.
FLAGS = frozenset(
    (
        *(
            "timeout",
            "timedout",
            "istimeout",
            "missed",
            "ismissed",
            "missedtrial",
            "late",
            "islate",
        ),
        *("toolate", "tooslow", "noresponse", "noanswer", "omission", "missing", "ismissing"),
    )
)
# Words among other words that may be an option, or say that there was no choice.
UNSURE = frozenset(
    (
        *("nokey", "nokeypress", "nopress", "noanswer", "nochoice", "nobutton", "nothing"),
        *("miss", "noresponse", "noresp", "tooslow", "toolate", "timedout", "expired"),
        *("omission", "omitted", "skipped", "skip", "invalid", "missing", "error", "late"),
        *("keine", "keineantwort", "verpasst", "aucune", "aucunereponse", "ninguna"),
    )
)


def without_marks(
    table: pa.Table, chosen: str, reward: str | tuple[str, str]
) -> tuple[pa.Table, tuple[str, ...]]:
    """The table without codes for no choice that stand beside the same code for the reward.

    Parameters
    ----------
    table
        Of play.
    chosen, reward
        Its columns; rewards in two columns say nothing here.
    """
    cells = table[chosen].to_pylist()
    odd = odd_word(table, chosen)
    if odd is None or not isinstance(reward, str):
        return table, ()
    paid = table[reward].to_pylist()
    rows = [row for row, cell in enumerate(cells) if not _is_nothing(cell) and word(cell) == odd]
    others = {
        word(paid[row]) for row in {*range(len(cells))} - {*rows} if not _is_nothing(paid[row])
    }
    if odd in others or not all(_is_nothing(paid[row]) or word(paid[row]) == odd for row in rows):
        return table, ()
    for name, own in ((chosen, cells), (reward, paid)):
        kept = [None if row in {*rows} else cell for row, cell in enumerate(own)]
        table = with_column(table, name, typed(kept))
    said = f"{odd} in {chosen}, where {reward} has no number of its own, taken for no choice"
    return table, (f"{said}: {counted(len(rows), 'row')}",)


def ask_about_marks(table: pa.Table, chosen: str, counted_in: str | None) -> None:
    """Refuse choices among which a code stands, 999 or -1 or no_key, that may mean no choice.

    Parameters
    ----------
    table
        Of the choices.
    chosen
        Their column.
    counted_in
        The column that numbers decisions, if there is one: a row left out is then a gap.
    """
    seen = Counter(word(cell) for cell in table[chosen].to_pylist() if not _is_nothing(cell))
    odd = odd_word(table, chosen)
    if odd is None:
        return
    others = sorted(one for one in seen if one != odd)
    column = chosen if chosen.isidentifier() else f"`{chosen}`"
    is_number = not pa.types.is_string(table[chosen].type)
    gaps = f" and {argument('gaps', 'timeout')}" if counted_in else ""
    labels = [*others, odd]
    named = [int(float(one)) if is_number else one for one in labels]
    options = either(f"options={named!r}", f"--options {','.join(labels)}")
    raise DataError(
        f"{argument('options')} must be given, as {odd!r} in {chosen} "
        f"({counted(seen[odd], 'row')}) can be read in two ways: an option beside "
        f"{listing(others)}, or a mark of decisions that nobody made. Pass "
        f"{options} for the first, or "
        f"{where_said(f'{column} != {odd if is_number else repr(odd)}')}{gaps} for the second."
    )


def _is_nothing(cell: Any) -> bool:
    return is_nothing(cell) or str(cell).strip() in NOTHING_WORDS


def odd_word(table: pa.Table, chosen: str) -> str | None:
    """The one word that may be a mark: of another kind than all others, or lacking what they have.

    A reaction time, a reward, anything that stands beside every other choice and never beside this
    one.
    """
    cells = [None if _is_nothing(cell) else word(cell) for cell in table[chosen].to_pylist()]
    seen = Counter(cell for cell in cells if cell is not None)
    odd = _mark(list(seen))
    rare = [one for one, count in seen.items() if count <= _RARE * sum(seen.values())]
    if odd is not None or not rare or len(seen) < 3 or len(seen) > _MOST:
        return odd
    for name in table.column_names:
        if name == chosen:
            continue
        filled = [not _is_nothing(cell) for cell in table[name].to_pylist()]
        beside = Counter(cell for cell, own in zip(cells, filled, strict=True) if own)
        lacking = [one for one in seen if not beside[one]]
        others = sum(seen[one] for one in seen if one not in lacking)
        had = sum(beside[one] for one in seen)
        if len(lacking) == 1 and lacking[0] in rare and had >= _ALMOST_ALL * others:
            return lacking[0]
    return None


_RARE = 0.25  # share of the decisions that nobody made, at most
_ALMOST_ALL = 0.9  # share of the others that have what a mark lacks
_MOST = 12  # options, beyond which a rare one is no sign


def _mark(words: Sequence[str]) -> str | None:
    """The one word that is of another kind than all others."""
    numbers = [one for one in words if NUMBER.match(one)]
    if len(numbers) == len(words):
        return _distant(numbers)
    if len(numbers) == 1 and len(words) > 2:
        return numbers[0]
    unsure = [one for one in words if plain_name(one) in UNSURE]
    return unsure[0] if len(unsure) == 1 and len(words) > 2 else None


def _distant(numbers: Sequence[str]) -> str | None:
    """A code such as 99 or -9, away from options that are counted on without a gap."""
    values = sorted((float(one), one) for one in numbers if float(one) != NOTHING)
    if len(values) < 3:
        return None
    odd, name = values.pop(0) if values[0][0] < 0 else values.pop()
    low, high = values[0][0], values[-1][0]
    counted_on = 0 <= low <= 1 and high - low == len(values) - 1
    return name if counted_on and (odd < 0 or (odd in MARKS and odd > FAR * high)) else None


def ask_about_flags(
    table: pa.Table, chosen: str, own: Collection[str], counted_in: str | None
) -> None:
    """Refuse a table in which a column says that a decision was missed that has a choice.

    Parameters
    ----------
    table, chosen, counted_in
        As in `ask_about_marks`.
    own
        Columns of the program that wrote the table.
    """
    taken = [not _is_nothing(cell) for cell in table[chosen].to_pylist()]
    for name, missed in _flags(table, {*own, chosen}):
        both = sum(a and b for a, b in zip(taken, missed, strict=True))
        if not both or both == sum(taken):
            continue
        column = name if name.isidentifier() else f"`{name}`"
        gaps = f" and {argument('gaps', 'timeout')}" if counted_in else ""
        kept = f"not {column}" if pa.types.is_boolean(table[name].type) else _unset(table, name)
        raise DataError(
            f"{argument('where')} must be given, as {name} is set in {counted(both, 'row')} with a "
            f"choice in {chosen}, which can be read in two ways: decisions that nobody made "
            f"in time, or choices that count all the same. Pass {where_said(kept)}{gaps} for the "
            f"first, or {argument('chosen', chosen)} for the second."
        )


def _flags(table: pa.Table, used: Collection[str]) -> Iterator[tuple[str, list[bool]]]:
    """Columns that say whether a decision was missed, and where they do."""
    yes, no = {"1", "true", "yes", "y"}, {"0", "false", "no", "n"}
    for name in table.column_names:
        if name in used or plain_name(name) not in FLAGS:
            continue
        cells = [str(word(c)).lower() if c is not None else "" for c in table[name].to_pylist()]
        if {*cells} - {""} <= yes | no:
            yield name, [cell in yes for cell in cells]


def _unset(table: pa.Table, name: str) -> str:
    """A condition that the flag is not set, in the words of its column."""
    column = name if name.isidentifier() else f"`{name}`"
    seen = [cell for cell in dict.fromkeys(table[name].to_pylist()) if cell is not None]
    set_ = next(cell for cell in seen if str(word(cell)).lower() in ("1", "true", "yes", "y"))
    return f"{column} != {set_!r}"
