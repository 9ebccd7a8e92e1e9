"""Result of reading a file: the data, and the roles of the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from penchant.errors import (
    DataError,
    MarkedText,
    closest_match_hint,
    format_list,
    format_names,
    mark_argument,
    text_with_marks,
)
from penchant.files.folder import RawTable
from penchant.json_records import JsonDocument
from penchant.result_tables import (
    Columns,
    FrameExport,
    format_count,
)
from penchant.tables.frames import column_floats, column_labels, open_frame
from penchant.tables.lexicon import is_named
from penchant.tables.play_columns import ColumnNames
from penchant.tables.schema import Schema

ReadingKind = Literal["choices", "play", "offers"]
TITLES: Mapping[str, str] = {
    "choices": "a choice experiment (options with attributes)",
    "play": "task data (choices and rewards)",
    "offers": "one-shot choices between offers",
}


@dataclass(frozen=True, eq=False, repr=False)
class Reading(FrameExport, JsonDocument):
    """Data that `fit` takes, with a record of what was taken for what.

    Attributes
    ----------
    data
        `Choices`, or a list with what each subject played or was offered.
    kind
        "choices", "play" or "offers".
    columns
        {part: column}, such as {"subject": "participant", "chosen": "key_resp.keys"}.
    options
        {word in the file: option}.
    notes
        Rows left out, and whatever else was done.
    table
        The rows that were used, as a pyarrow table.
    source
        What was read.
    program
        The program that wrote it, where that is known.
    arguments
        What the reader of this kind of table was told: columns, options and so on.
    task
        The model of a named task on the command line, where the table was taken for one.
    doubts
        What is allowed, but often a mistake.
    raw, rows
        The table as the files hold it, and which row of it each row of `table` comes from.
    schema
        What the table is, whole: it reads the table again.
    excluded
        {reason: rows left out}.
    missed
        Decisions that nobody made, where a schema says how these are marked.
    made
        Columns of `table` that no file has: options by number, rewards, what was on offer.
    """

    data: Any
    kind: ReadingKind
    columns: Mapping[str, str]
    table: Any
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    program: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    task: str | None = None
    doubts: tuple[str, ...] = ()
    raw: RawTable | None = None
    rows: Sequence[int] | None = None
    schema: Schema | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    missed: int = 0
    made: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Word the sentences for Python; other front ends find what they name marked in them."""
        object.__setattr__(self, "notes", tuple(map(MarkedText, self.notes)))
        object.__setattr__(self, "doubts", tuple(map(MarkedText, self.doubts)))

    def to_dict(self) -> dict[str, Any]:
        """Convert the reading to a dictionary for JSON, without line numbers of files."""
        raw = None if self.raw is None else replace(self.raw, pieces=())
        return JsonDocument.to_dict(replace(self, raw=raw))

    @property
    def subjects(self) -> tuple[Any, ...]:
        """Every subject once."""
        labels = getattr(self.data, "subject_labels", None)
        if self.kind == "choices":
            return tuple(labels or ())
        return tuple(dict.fromkeys(one.subject for one in self.data if one.subject is not None))

    @property
    def n_decisions(self) -> int:
        """Number of decisions that can be learnt from."""
        if self.kind == "choices":
            return int(self.data.n_decisions)
        return sum(int(one.n_decisions) for one in self.data)

    @property
    def n_missed(self) -> int:
        """Number of decisions that nobody made in time."""
        if self.schema is not None or self.kind == "choices":
            return self.missed
        return sum(int((e.chosen < 0).sum()) for e in self.data)

    @property
    def numbered(self) -> bool:
        """Whether task data hold numbers of options, rather than labels or places."""
        known = self.arguments
        of_play = self.kind == "play" and isinstance(known["chosen"], str)
        return of_play and known["options"] is None

    @property
    def n_options(self) -> int:
        """Number of options: the most that a decision has."""
        if self.kind == "choices":
            return int(self.data.n_options.max())
        if self.kind == "offers":
            return int(self.data[0].n_options)
        if self.schema is not None and self.schema.choice.labels:
            return len(self.schema.choice.labels)
        labels = self.arguments.get("options")
        if labels is not None:
            return len(labels)
        return max(_highest(one) + 1 for one in self.data)

    @property
    def next(self) -> str:
        """The call to make next, in Python."""
        each = self.kind != "choices" and len(self.subjects) > 1  # a survey asks few of each
        verb = "fit_each" if each else "fit"
        model = "" if self.model is None else f", pn.{self.model}"
        return f"pn.{verb}(reading{model})"

    @contextmanager
    def in_lines(self) -> Iterator[None]:
        """Errors about rows of the table as errors about lines of the files."""
        try:
            yield
        except DataError as error:
            named = self.raw is not None and bool(self.raw.pieces)
            raise error.rephrase(self.in_words, self.source if named else "") from None

    def in_words(self, message: str) -> str:
        """Locate a message in the rows of the file, without naming the file."""
        return message if self.raw is None else self.raw.word_in_lines(message, self.rows)

    def check_options(self, n_options: int, said: str) -> None:
        """Raise an error that names the line if an option's number is too large.

        Parameters
        ----------
        n_options
            How many options there are.
        said
            What says so.
        """
        if self.kind != "play" or not self.numbered:
            if self.kind == "play" and self.n_options > n_options:
                with self.in_lines():
                    raise DataError(
                        said,
                        f"must have the {self.n_options} options that are labelled",
                        got=n_options,
                        fix="Match them.",
                    )
            return
        base = self.arguments["base"]
        numbers = column_floats(open_frame(self.table), self.arguments["chosen"], "chosen")
        wrong = np.flatnonzero(numbers - base >= n_options)
        if not wrong.size:
            return
        cells = (f"option {numbers[k]:g} at row {k}{self._labels(int(k))}" for k in wrong[:3])
        last = n_options - 1 + base
        advice = f"Options are counted from {base} to {last}: correct the number or the file."
        if base == 0 and np.nanmax(numbers) == n_options and not (numbers == 0).any():
            advice = f"They look counted from 1: pass {mark_argument('base', 1)}."
        places = format_list(cells, wrong.size)
        with self.in_lines():
            raise DataError(
                said,
                "must have every option that was chosen",
                got=f"{n_options} options, but {places}",
                fix=advice,
            )

    def _labels(self, row: int) -> str:
        """Text of subject, block and decision of a row, in parentheses."""
        parts = ((part, self.arguments[part]) for part in ("subject", "block", "decision"))
        named = [f"{part} {self._label(row, name)}" for part, name in parts if name]
        return f" ({', '.join(named)})" if named else ""

    def _label(self, row: int, given: ColumnNames) -> str:
        names = (given,) if isinstance(given, str) else given
        return "/".join(str(self.table.column(name)[row].as_py()) for name in names)

    def groups(self, column: str) -> dict[Any, Any]:
        """Read the group of every subject: {subject: label}.

        Parameters
        ----------
        column
            Column of the table that says the same in all rows of a subject.
        """
        frame = open_frame(self.table)
        who = self.columns.get("subject")
        if column not in frame.columns:
            raise DataError(
                "column",
                "must be one of the table",
                got=f"{column!r}, but they are {format_names(frame.columns)}",
                fix=closest_match_hint(column, frame.columns) or "Correct it.",
            )
        if who is None:
            raise DataError(
                "subject", "must be known to tell groups", got="none", fix="Name its column."
            )
        people, labels = (column_labels(frame, name, name) for name in (who, column))
        found: dict[Any, Any] = {}
        for row in range(len(frame)):
            whose, label = people.at(row), labels.at(row)
            if found.setdefault(whose, label) != label:
                raise DataError(
                    "column",
                    "must say the same in all rows of a subject",
                    got=f"{found[whose]!r} and {label!r} in {column} for {whose!r}",
                    fix="Name one that does not vary within subjects.",
                )
        return found

    def people(self, columns: Sequence[str]) -> Any:
        """A table with a row per subject: who, and what these columns say of them.

        Parameters
        ----------
        columns
            Those that say the same in all rows of a subject.
        """
        for column in columns:
            self.groups(column)
        who = column_labels(open_frame(self.table), self.columns["subject"], "subject")
        first: dict[Any, int] = {}
        for row in range(self.table.num_rows):
            first.setdefault(who.at(row), row)
        kept = self.table.select(list(columns)).take(list(first.values()))
        return kept.add_column(0, "subject", [[str(label) for label in first]])

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Columns that may say what subjects were assigned to: a few words, each of several."""
        who = self.columns.get("subject")
        if who is None or who not in self.table.column_names:
            return ()
        used = {part.strip() for name in self.columns.values() for part in name.split(",")}
        people = self.table[who].to_pylist()
        return tuple(
            name
            for name in self.table.column_names
            if name not in used
            and _tells_groups(self.table[name].to_pylist(), people, is_named("group", name))
        )

    def summary(self) -> str:
        """Summary of the reading in lines of text, with marks that each front end replaces."""
        written = f", written by {self.program}" if self.program else ""
        lines = [
            f"{self.source}: {TITLES[self.kind]}{written}",
            "Columns: " + "; ".join(f"{part} = {name}" for part, name in self.columns.items()),
        ]
        if any(key != str(option) or not key.isdigit() for key, option in self.options.items()):
            words = format_list(
                str(word) if str(word) == str(option) else f"{word} = {option}"
                for word, option in self.options.items()
            )
            lines.append(f"Options: {words}")
        lines += [f"Note: {text_with_marks(note)}." for note in self.notes]
        who = f"{format_count(len(self.subjects), 'subject')}, " if self.subjects else ""
        lines.append(f"Data: {who}{self._amount()}")
        lines += [f"Note: {text_with_marks(doubt)}" for doubt in self.doubts]
        return MarkedText("\n".join([*lines, f"Next: {self.next}"]))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.summary())}</pre>"

    def frame_columns(self) -> Columns:
        """The rows that were used, as the file has them."""
        columns: Columns = self.table.drop_columns([*self.made]).to_pydict()
        return columns

    def _amount(self) -> str:
        trials = format_count(self.n_decisions, "trial")
        if self.kind == "choices":
            return trials
        events = sum(one.n_events for one in self.data)
        if self.kind == "offers":
            return f"{trials} included of {events:,}, {format_count(self.n_options, 'option')}"
        blocks = format_count(len(self.data), "block")
        return f"{blocks}, {trials} included of {format_count(events, 'event')}"

    def __repr__(self) -> str:
        who = f"{format_count(len(self.subjects), 'subject')}, " if self.subjects else ""
        return f"<Reading of {self.kind}: {who}{format_count(self.n_decisions, 'trial')}>"


MOST_GROUPS = 6


def _tells_groups(cells: Sequence[Any], people: Sequence[Any], called_so: bool) -> bool:
    """Whether words say the same of a subject in all rows, and of several subjects each."""
    kinds = (str, int) if called_so else (str,)
    found: dict[Any, Any] = {}
    for whose, cell in zip(people, cells, strict=True):
        if not isinstance(cell, kinds) or found.setdefault(whose, cell) != cell:
            return False
    sizes = Counter(found.values())
    return 2 <= len(sizes) <= MOST_GROUPS and min(sizes.values()) > 1


def _highest(one: Any) -> int:
    return max(int(one.chosen.max()), int(getattr(one, "executed", one.chosen).max()))
