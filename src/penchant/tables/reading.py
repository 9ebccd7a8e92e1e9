"""What was read from a file, and what was taken for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penchant.errors import DataError, listing, named, nearest
from penchant.output.notes import counted
from penchant.tables.frames import column_labels, open_frame

ReadingKind = Literal["choices", "play", "offers"]
TITLES: Mapping[str, str] = {
    "choices": "decisions among options described by attributes",
    "play": "a history of play",
    "offers": "decisions between offers",
}


@dataclass(frozen=True, eq=False, repr=False)
class Reading:
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
        return 0 if self.kind == "choices" else sum(int((e.chosen < 0).sum()) for e in self.data)

    @property
    def n_options(self) -> int:
        """Number of options: the most that a decision has."""
        if self.kind == "choices":
            return int(self.data.n_options.max())
        if self.kind == "offers":
            return int(self.data[0].n_options)
        return max(len(self.options), *(_highest(one) + 1 for one in self.data))

    @property
    def next(self) -> str:
        """The call to make next, in Python."""
        verb = "fit_each" if len(self.subjects) > 1 else "fit"
        model = "" if self.model is None else f", pn.{self.model}"
        return f"pn.{verb}(reading{model})"

    def groups(self, column: str) -> dict[Any, Any]:
        """What every subject was assigned to: {subject: label}.

        Parameters
        ----------
        column
            Column of the table that says the same in all rows of a subject.
        """
        frame = open_frame(self.table)
        who = self.columns.get("subject")
        if column not in frame.columns:
            raise DataError(
                f"column must be one of the table; got {column!r}, but they are "
                f"{named(frame.columns)}.{nearest(column, frame.columns) or ' Correct it.'}"
            )
        if who is None:
            raise DataError("subject must be known to tell groups; got none. Name its column.")
        people, labels = (column_labels(frame, name, name) for name in (who, column))
        found: dict[Any, Any] = {}
        for row in range(len(frame)):
            whose, label = people.at(row), labels.at(row)
            if found.setdefault(whose, label) != label:
                raise DataError(
                    f"column must say the same in all rows of a subject; got {found[whose]!r} and "
                    f"{label!r} in {column} for {whose!r}. Name one that does not vary within "
                    "subjects."
                )
        return found

    def summary(self) -> str:
        """What was read, in lines of text."""
        written = f", written by {self.program}" if self.program else ""
        lines = [
            f"{self.source}: {TITLES[self.kind]}{written}",
            "Columns: " + "; ".join(f"{part} = {name}" for part, name in self.columns.items()),
        ]
        if self.options:
            words = listing(f"{word} = {option}" for word, option in self.options.items())
            lines.append(f"Options: {words}")
        lines += [f"Note: {note}." for note in self.notes]
        who = f"{counted(len(self.subjects), 'subject')}, " if self.subjects else ""
        missed = f", {self.n_missed:,} more without a choice" if self.n_missed else ""
        lines.append(f"Data: {who}{counted(self.n_decisions, 'decision')}{missed}")
        return "\n".join([*lines, f"Next: {self.next}"])

    def __repr__(self) -> str:
        who = f"{counted(len(self.subjects), 'subject')}, " if self.subjects else ""
        return f"<Reading of {self.kind}: {who}{counted(self.n_decisions, 'decision')}>"


def _highest(one: Any) -> int:
    return max(int(one.chosen.max()), int(getattr(one, "executed", one.chosen).max()))
