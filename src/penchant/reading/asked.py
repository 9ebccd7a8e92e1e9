"""What the user said of a table, what a reader makes of it, and what is doubtful in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import episode_rows
from penchant.errors import (
    MAX_LISTED,
    DataError,
    argument,
    closest_match_hint,
    format_list,
    format_names,
    quoted_argument,
)
from penchant.output import format_count
from penchant.tables.cells import is_nothing
from penchant.tables.columns import COORDINATES, PlayColumns, named_column
from penchant.tables.events import NOTHING
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.laboratory import Cleaned
from penchant.tables.surveys import DOUBTFUL, plain


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Arguments of `read`; None where nothing was said.

    Attributes
    ----------
    columns
        {part: column}.
    attributes
        Attributes of options: names, or a formula.
    rivals
        {name: attributes} of sets that are compared: all of their variables are made.
    offers
        {attribute: column or number of each option}, as for `offers_from_frame`.
    options
        Words of the choices in the order of the options, or {word: option}.
    opt_out
        Word for the option that is none of those shown.
    reference
        {attribute: level} that others are compared with.
    base
        Number of the first option.
    units
        Days of a month or a year.
    decimal
        Decimal point.
    policies
        Keyword arguments for the reader of this kind of table.
    task
        Name of a task whose columns the table has.
    said
        Parts whose columns somebody named, rather than the program that wrote the table.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    attributes: str | Sequence[str] | None = None
    rivals: Mapping[str, str | Sequence[str]] | None = None
    offers: Mapping[str, Sequence[Any]] | None = None
    options: Sequence[Any] | Mapping[Any, Any] | None = None
    opt_out: str | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)
    base: int | None = None
    units: Mapping[str, float] | None = None
    decimal: str = "."
    policies: Mapping[str, Any] = field(default_factory=dict)
    task: str | None = None
    said: frozenset[str] = frozenset()

    def renamed(self, names: Mapping[str, str]) -> Asked:
        """The same, with columns by the names that they are read by."""
        columns = {
            part: names.get(column, column) if isinstance(column, str) else column
            for part, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def with_hints(self, clean: Cleaned) -> Asked:
        """The same, with what the program that wrote the table says of its columns."""
        said = {part: name for part, name in self.columns.items() if name is not None}
        hints = {part: name for part, name in clean.hints.items() if part not in said}
        return replace(self, columns={**hints, **said}, said=frozenset(said))


@dataclass
class Place:
    """Where the rows of the table at hand come from, to name lines of the file in errors."""

    rows: IntVector


@dataclass(frozen=True)
class Built:
    """Data of one kind, and what was taken for what."""

    data: Any
    columns: dict[str, str]
    options: dict[str, Any]
    table: pa.Table
    notes: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    doubts: tuple[str, ...] = ()
    task: str | None = None


def chosen_column(table: pa.Table, asked: Asked, usual: Sequence[str]) -> str:
    """The column of choices: given, or of a usual name."""
    names = table.column_names
    given = asked.columns.get("chosen")
    if given is not None:
        if given not in names:
            raise DataError(
                f"{argument('chosen')} must name a column; got {given!r}, but they are "
                f"{format_names(names)}."
                f"{closest_match_hint(str(given), names) or ' Correct it.'}"
            )
        return str(given)
    found = named_column(usual, names)
    if found is None:
        raise DataError(
            f"{argument('chosen')} must be given, as no column is called "
            f"{' or '.join(usual[:3])}; got columns {format_names(names)}. Name the column with "
            f"{quoted_argument('chosen')}."
        )
    return found


def seen_words(table: pa.Table, name: str, doubtful: bool = False) -> list[str]:
    """Every word of a column once, words for nothing aside unless they may be an option."""
    cells = [cell for cell in dict.fromkeys(table[name].to_pylist()) if cell is not None]
    kept = DOUBTFUL if doubtful else frozenset()
    return [word(cell) for cell in cells if not is_nothing(cell) or plain(cell) in kept]


def word(cell: Any) -> str:
    """A cell as a word: whole numbers without a point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, bool) else str(cell).strip()


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """A table with a column in place of the one of that name, or beside all others."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, values)
    return table.append_column(name, values)


FEW = 10  # trials below which hardly anything can be told of a subject
# Columns that say how many choices a block has.
HORIZON = ("horizon", "searchhorizon", "clicks", "nclicks", "nchoices", "budget")


def data_notes(episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Timeouts, options shown, rewards missing at the end, subjects without a decision.

    Examples
    --------
    >>> from penchant import Episode
    >>> for note in data_notes([Episode([1, None, 0], [2.0, None, None], subject="ann")]):
    ...     print(note)
    1 decision without a choice, in 1 subject (ann): counted in time, not scored.
    The last reward is missing in 1 episode (subject ann): the last choice is used all the same.
    """
    notes = []
    late: dict[Any, int] = {}
    for episode in episodes:
        missed = int((episode.chosen == NOTHING).sum())
        if missed:
            late[episode.subject] = late.get(episode.subject, 0) + missed
    if late:
        notes.append(
            f"{format_count(sum(late.values()), 'decision')} without a choice, in "
            f"{_who(late, len({e.subject for e in episodes}))}: counted in time, not scored."
        )
    shown = sum(int((~e.is_choice).sum()) for e in episodes)
    if shown:
        notes.append(
            f"{format_count(shown, 'option')} shown before or between choices: learnt from."
        )
    ended = [e for e in episodes if e.executed[-1] != NOTHING and np.isnan(e.rewards[-1])]
    if ended:
        notes.append(
            f"The last reward is missing in {format_count(len(ended), 'episode')}{_listed(ended)}: "
            "the last choice is used all the same."
        )
    return (*notes, *_silent(episodes))


def _listed(episodes: Sequence[Episode]) -> str:
    """The episodes by their labels, where they have some."""
    labels = [(("subject", e.subject), ("block", e.block)) for e in episodes]
    words = [
        ", ".join(f"{name} {label}" for name, label in pair if label is not None) for pair in labels
    ]
    more = ", ..." if len(words) > MAX_LISTED else ""
    return f" ({'; '.join(words[:MAX_LISTED])}{more})" if all(words) else ""


def near_duplicates(labels: Iterable[str]) -> list[str]:
    """Labels that differ by case and blanks alone, as one reads them.

    >>> near_duplicates(["left", "Left", "right"])
    ['left / Left']
    """
    found: dict[str, list[str]] = {}
    for label in dict.fromkeys(labels):
        found.setdefault(label.strip().lower(), []).append(label)
    return [" / ".join(own) for own in found.values() if len(own) > 1]


def same_people(subjects: Iterable[Any]) -> tuple[str, ...]:
    """A doubt about subjects whose names differ by case and blanks alone."""
    alike = near_duplicates(str(subject) for subject in subjects)
    return (f"{format_list(alike)} are taken for different subjects.",) if alike else ()


def offer_notes(decisions: Sequence[Any]) -> tuple[str, ...]:
    """Timeouts, and subjects without a decision, of choices among offers."""
    missed = sum(int((one.chosen == NOTHING).sum()) for one in decisions)
    notes = [f"{format_count(missed, 'decision')} without a choice: not scored."] if missed else []
    return (*notes, *_silent(decisions))


def _silent(episodes: Sequence[Any]) -> list[str]:
    scored: dict[Any, int] = {}
    for episode in episodes:
        scored[episode.subject] = scored.get(episode.subject, 0) + episode.n_decisions
    silent = [subject for subject, n in scored.items() if not n]
    if not silent:
        return []
    return [f"No decision to score, and no estimate: {_who(silent, len(scored))}."]


def _who(subjects: Iterable[Any], total: int) -> str:
    """How many subjects, and who they are, unless they are everybody and too many to be listed."""
    named = [str(subject) for subject in subjects]
    if len(named) == total > MAX_LISTED:
        return f"all {total} subjects"
    return f"{format_count(len(named), 'subject')} ({format_list(named)})"


def play_doubts(
    episodes: Sequence[Episode], table: pa.Table, found: PlayColumns, arguments: Mapping[str, Any]
) -> tuple[str, ...]:
    """What is allowed, but often a mistake.

    Parameters
    ----------
    episodes
        Of all subjects.
    table
        The table that they come from.
    found
        Its columns.
    arguments
        What `episodes_from_frame` was told.
    """
    doubts = []
    chosen = np.concatenate([e.chosen[e.chosen >= 0] for e in episodes])
    numbered = isinstance(found.chosen, str) and arguments["options"] is None
    if numbered and arguments["base"] == 0 and len(chosen) and chosen.min() > 0:
        typed = argument("base", 1)
        doubts.append(f"No option 0 is ever chosen: pass {typed} if options are counted from 1.")
    stuck = [
        str(e.subject)
        for e in episodes
        if e.n_decisions >= FEW and (np.diff(e.scored_options) == 0).mean() > 0.8
    ]
    if stuck:
        names = format_list(dict.fromkeys(stuck))
        doubts.append(f"More than 80 % of the choices repeat the one before: {names}.")
    return (*doubts, *_shown_doubts(episodes, table, found))


def _shown_doubts(
    episodes: Sequence[Episode], table: pa.Table, found: PlayColumns
) -> tuple[str, ...]:
    """A hint where decisions are numbered from 0 in a task that often starts with one shown.

    These are tasks on places, and tables that say how many choices a block has, which is one less
    than its events.
    """
    if found.decision is None or any(not e.is_choice.all() for e in episodes):
        return ()
    numbers = column_floats(open_frame(table), found.decision, "decision")
    if (numbers == 0).sum() != len(episodes):
        return ()
    placed = not isinstance(found.chosen, str) or {*COORDINATES[:2]} <= {*table.column_names}
    why = "options are places" if placed else _horizon(table, found, numbers)
    if why is None:
        return ()
    return (
        f"Decisions are numbered from 0, and {why}: pass {argument('shown', 1)} if the option of "
        "number 0 was shown, not chosen. It is scored as a choice now.",
    )


def _horizon(table: pa.Table, found: PlayColumns, numbers: Vector) -> str | None:
    """The column that says how many choices each block has, if it is the last number of each."""
    parts = ("subject", "block", "decision")
    rows = episode_rows(table, **{part: getattr(found, part) for part in parts}, gaps="order")
    frame = open_frame(table)
    for name in frame.columns:
        plain = name.lower().replace("_", "").replace(".", "")
        if plain in HORIZON and frame[name].dtype.is_numeric():
            said = column_floats(frame, name, name)
            if all((said[own] == numbers[own].max()).all() for own in rows):
                return f"{name} is one less than the events of every block"
    return None


ALSO = " Also: "


class Questions:
    """What is asked, one question about each part: what hangs on it comes later."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    @contextmanager
    def about(self, part: str) -> Iterator[None]:
        """Note what is asked about a part, unless something is asked about it already."""
        try:
            yield
        except DataError as error:
            self._said.setdefault(part, error.text)

    def has(self, part: str) -> bool:
        """Whether something is asked about this part."""
        return part in self._said

    def ask(self) -> None:
        """Raise all that is asked, if anything is."""
        if self._said:
            raise DataError(ALSO.join(self._said.values()))
