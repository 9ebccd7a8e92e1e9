"""What is known of each subject: labels of groups, or scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from penchant.errors import DataError, named, nearest
from penchant.softmax.estimates import Estimates
from penchant.tables.columns import USUAL, named_column
from penchant.tables.frames import column_labels, open_frame

ByKind = Literal["groups", "scores"]
MOST_GROUPS = 10  # different whole numbers that may be codes of groups


def labels_by(estimates: Any, by: Any, people: Any) -> list[Any]:
    """One label for each subject, in the order of the estimates."""
    subjects = _subjects(estimates)
    known = _known(estimates, by, people, subjects)
    as_words = {str(subject): label for subject, label in known.items()}
    found = [known.get(subject, as_words.get(str(subject))) for subject in subjects]
    lost = [
        str(s) for s, label in zip(subjects, found, strict=True) if label is None or label != label
    ]
    if lost:
        raise DataError(
            f"by must say something of every subject; got nothing of {named(lost)}. Add them, or "
            "leave them out of the estimates."
        )
    return found


def _subjects(estimates: Any) -> tuple[Any, ...]:
    if isinstance(estimates, Estimates):
        return estimates.subjects
    if isinstance(estimates, Sequence) and all(hasattr(one, "subject") for one in estimates):
        return tuple(one.subject for one in estimates)
    raise DataError(
        "groups must be estimates of subjects where `by` is given; got "
        f"{type(estimates).__name__}. Pass what fit_each returns."
    )


def _known(estimates: Any, by: Any, people: Any, subjects: Sequence[Any]) -> Mapping[Any, Any]:
    """{subject: label}."""
    if isinstance(by, Mapping):
        return by
    if isinstance(by, str) and people is None:
        own = getattr(estimates, "people", None)
        if own is None:
            raise DataError(
                f"people must be given where `by` names a column; got none, and by={by!r}. Pass a "
                "table with a column of subjects, or fit what pn.read returns."
            )
        found: Mapping[Any, Any] = own(by)
        return found
    if isinstance(by, str):
        return _column(people, by)
    if hasattr(by, "columns") or hasattr(by, "column_names"):
        return _column(by, None)
    index: Any = getattr(by, "index", None)
    if hasattr(index, "isin") and all(subject in index for subject in subjects):
        return {subject: by[subject] for subject in subjects}  # a pandas series by subject
    by = list(by) if hasattr(by, "dtype") or hasattr(by, "to_pylist") else by
    if not isinstance(by, Sequence) or len(by) != len(subjects):
        got = f"{len(by)} labels" if hasattr(by, "__len__") else type(by).__name__
        raise DataError(
            f"by must be a column, {{subject: label}}, a table, or {len(subjects)} labels; got "
            f"{got}. Correct it."
        )
    return dict(zip(subjects, by, strict=True))


def _column(table: Any, name: str | None) -> dict[Any, Any]:
    """A column of a table of people, by subject."""
    frame = open_frame(table)
    who = named_column(USUAL["subject"], frame.columns)
    if who is None:
        raise DataError(
            "people must have a column of subjects; got columns "
            f"{named(frame.columns)}. Call it subject."
        )
    others = [column for column in frame.columns if column != who]
    if name is None and len(others) != 1:
        raise DataError(
            f"by must name a column where a table has several; got {named(others)}. Write by="
            f"{others[0] if others else 'group'!r}, people=table."
        )
    wanted = others[0] if name is None else name
    if wanted not in frame.columns:
        raise DataError(
            f"by must be a column of people; got {wanted!r}, but they are {named(frame.columns)}."
            f"{nearest(wanted, frame.columns) or ' Correct it.'}"
        )
    people, labels = (column_labels(frame, column, column) for column in (who, wanted))
    found: dict[Any, Any] = {}
    for row in range(len(frame)):
        whose, label = people.at(row), labels.at(row)
        if found.setdefault(whose, label) != label:
            raise DataError(
                f"by must be the same in all rows of a subject; got {found[whose]!r} and {label!r} "
                f"in {wanted} for {whose!r}. Name one that does not vary within subjects."
            )
    return found


def is_score(labels: Sequence[Any], kind: ByKind | None) -> bool:
    """Whether labels are numbers to regress on; asked where they may be codes of groups."""
    if kind not in (None, "groups", "scores"):
        raise DataError(f"kind must be 'groups' or 'scores'; got {kind!r}. Choose one.")
    numbers = all(
        isinstance(label, (int, float, np.number)) and not isinstance(label, bool)
        for label in labels
    )
    if kind == "scores" and not numbers:
        odd = next(label for label in labels if not isinstance(label, (int, float, np.number)))
        raise DataError(f"by must hold numbers, as scores; got {odd!r}. Leave out kind='scores'.")
    if kind is not None or not numbers:
        return kind == "scores"
    different = {float(label) for label in labels}
    if len(different) <= 2:
        return False
    whole = all(number == int(number) for number in different)
    if whole and len(different) <= MOST_GROUPS and len(different) < len(labels):
        raise DataError(
            f"kind must be given, as by holds {len(different)} whole numbers, which can be read in "
            "two ways: codes of groups, or scores. Pass kind='groups' or kind='scores'."
        )
    return True
