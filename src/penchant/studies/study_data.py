"""The data of a study: episodes of subjects and their conditions, read from a table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np

from penchant._typing import IntVector, Label, Names, Vector
from penchant.argument_checks import check_one_of
from penchant.bandit.episode import Episode, largest_option_index
from penchant.bandit.episode_table import episode_rows, episodes_from_frame
from penchant.choices.offers import offers_from_frame, offers_of_choices
from penchant.errors import DataError, format_list, format_names, mark_quoted_argument
from penchant.files.table import read_table
from penchant.json_records import JsonDocument
from penchant.reading.data_notes import data_notes, offer_notes
from penchant.result_tables import format_count
from penchant.studies.payoffs import Payoffs, payoffs_of
from penchant.tables.columns import NO_COLUMN
from penchant.tables.episode_order import ABSENT, Gaps, MissingReward
from penchant.tables.frames import (
    Table,
    check_columns,
    column_floats,
    column_labels,
    joint_codes,
    open_frame,
    row_place,
)
from penchant.tables.labels import Coded, in_natural_order
from penchant.tables.offer_columns import is_offers, offer_columns
from penchant.tables.play_columns import columns_used, describe_columns, play_columns
from penchant.tables.reading import Reading

UNIT = "subject in condition"


@dataclass(frozen=True)
class Units:
    """A table, the column that names the units of the fits, and the subject of each unit.

    Attributes
    ----------
    table
        With a column more where conditions vary within subjects.
    subject
        Column of the units: a subject, or a subject in one condition.
    people
        {subject in condition: subject}; None where every subject was in one condition.
    """

    table: Table
    subject: str
    people: dict[Any, Any] | None


def units_of(table: Table, subject: str, conditions: Sequence[str]) -> Units:
    """Make a unit of each subject in each condition, if any subject was in several.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = nw.from_native(pa.table({"who": ["al", "al", "bo"], "drug": ["no", "yes", "no"]}))
    >>> units_of(table, "who", ["drug"]).people
    {'al, no': 'al', 'al, yes': 'al', 'bo, no': 'bo'}
    """
    if not conditions or not _vary(table, subject, conditions):
        return Units(table, subject, None)
    cells = [nw.col(name).cast(nw.String) for name in (subject, *conditions)]
    split = table.with_columns(nw.concat_str(cells, separator=", ").alias(UNIT))
    names = split[UNIT].to_list()
    who = table[subject].to_list()
    people = dict(zip(names, who, strict=True))
    return Units(split, UNIT, {name: people[name] for name in in_natural_order(people)})


def full_labels(table: Table, name: str, role: str) -> Coded:
    """Labels of a column that every row must have."""
    coded = column_labels(table, name, f"{role} {name!r}")
    if coded.missing.size:
        places = format_list(map(row_place, coded.missing[:11].tolist()), coded.missing.size)
        raise DataError(
            f"{role} {name!r}",
            "must not be missing",
            got=f"an empty cell at {places}",
            fix="Fill it.",
        )
    return coded


def _vary(table: Table, subject: str, conditions: Sequence[str]) -> bool:
    """Whether a subject was in more than one condition."""
    person = column_labels(table, subject, "subject")
    assigned = [full_labels(table, name, "condition") for name in conditions]
    together: IntVector = joint_codes((person, *assigned))[0]
    return len(np.unique(together)) > len(np.unique(person.codes))


def check_plays(units: Units, subject: str, block: Any) -> None:
    """Raise if a block spans several conditions: beliefs start afresh in each."""
    if units.people is None:
        return
    blocks = (block,) if isinstance(block, str) else tuple(block or ())
    names = (subject, *blocks)
    coded = tuple(column_labels(units.table, name, "block") for name in names)
    play: IntVector = joint_codes(coded)[0]
    unit = column_labels(units.table, UNIT, "condition").codes
    first: dict[int, int] = {}
    for row, (own, mine) in enumerate(zip(play.tolist(), unit.tolist(), strict=True)):
        if first.setdefault(own, mine) != mine:
            who = ", ".join(f"{name} {c.at(row)}" for name, c in zip(names, coded, strict=True))
            raise DataError(
                "condition",
                "must be the same in all rows of a play, in which beliefs go on",
                got=f"another at {row_place(row)} ({who})",
                fix=(
                    f"Name the column that tells plays apart with {mark_quoted_argument('block')}: "
                    "it may be the condition's own."
                ),
            )


ALL = "all subjects"


@dataclass(frozen=True, eq=False, repr=False)
class StudyData(JsonDocument):
    """Episodes of many subjects, and what they were assigned to.

    Attributes
    ----------
    episodes
        Sorted by subject and block; `Offers` where choices are among offers.
    conditions
        {column: {subject: label}}, as every subject is in one condition.
    landscape_columns, landscapes
        Columns that tell landscapes apart, and their labels in each episode.
    expected
        Mean reward of the option of each event, where the table says it; NaN without a choice.
    columns
        Which column of the table is what, in one line, if the data come from one.
    options
        Labels of the options by index, where they have any.
    landscapes_named
        Whether the columns that tell landscapes apart were named, so that there are landscapes:
        options whose mean rewards stay what they are.
    people
        {subject in condition: subject} where conditions vary within subjects: what a subject did in
        each is then taken for a subject of its own. None where they do not.
    payoffs
        What every option paid at every decision, where the table says it.
    remarks
        Of what was found in the table and not used.
    """

    episodes: tuple[Any, ...]
    conditions: Mapping[str, Mapping[Any, Any]]
    landscape_columns: tuple[str, ...] = ()
    landscapes: tuple[tuple[Any, ...], ...] = ()
    expected: tuple[Vector, ...] | None = None
    columns: str = ""
    options: tuple[Any, ...] | None = None
    people: Mapping[Any, Any] | None = None
    payoffs: Payoffs | None = None
    remarks: tuple[str, ...] = ()
    landscapes_named: bool = False

    @property
    def is_play(self) -> bool:
        """Whether options paid rewards that were learnt from, rather than being on offer."""
        return isinstance(self.episodes[0], Episode)

    @property
    def n_people(self) -> int:
        """Number of people; a person in several conditions counts once."""
        return len(self.subjects if self.people is None else set(self.people.values()))

    @property
    def subjects(self) -> tuple[Label, ...]:
        """Every subject once, in natural order."""
        return tuple(self._episodes_by_subject)

    @property
    def n_options(self) -> int:
        """Number of options: of their labels, or by the largest index."""
        if self.options is not None:
            return len(self.options)
        return max(map(largest_option_index, self.episodes)) + 1

    def of(self, subject: Label) -> list[int]:
        """Places of a subject's episodes."""
        return self._episodes_by_subject.get(subject, [])

    @cached_property
    def _episodes_by_subject(self) -> dict[Any, list[int]]:
        found: dict[Any, list[int]] = {}
        for i, episode in enumerate(self.episodes):
            found.setdefault(episode.subject, []).append(i)
        return found

    def person(self, subject: Label) -> Any:
        """The person behind a subject; people in several conditions are a subject in each."""
        return subject if self.people is None else self.people[subject]

    def condition(self, subject: Label) -> str:
        """The labels of all conditions of a subject, as one."""
        labels = [str(by_subject[subject]) for by_subject in self.conditions.values()]
        return ", ".join(labels) or ALL

    @property
    def condition_labels(self) -> tuple[str, ...]:
        """Every condition once, as `condition` calls it: numbers as numbers, s2 before s10."""
        return tuple(self._condition_labels)

    @cached_property
    def _condition_labels(self) -> dict[str, None]:
        labels = {
            tuple(by_subject[subject] for by_subject in self.conditions.values()): subject
            for subject in self.subjects
        }
        return dict.fromkeys(self.condition(labels[own]) for own in in_natural_order(labels))

    @property
    def _varying(self) -> list[str]:
        """Columns of conditions that vary within a person."""
        return [
            name
            for name, by_subject in self.conditions.items()
            if len({(self.person(s), by_subject[s]) for s in self.subjects}) > self.n_people
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the data for readers of the results."""
        notes = data_notes(self.episodes) if self.is_play else offer_notes(self.episodes)
        notes = (*notes, *(self.payoffs.notes if self.payoffs else ()), *self.remarks)
        if self.people is None:
            return notes
        units = Counter(self.people.values())
        several = sum(count > 1 for count in units.values())
        return (
            *notes,
            f"{' and '.join(self._varying)} varies within {several} of {len(units)} subjects: "
            "they are fitted once in every condition, and conditions are compared within subjects.",
        )

    def __repr__(self) -> str:
        scored = sum(episode.n_decisions for episode in self.episodes)
        return (
            f"<StudyData: {format_count(len(self.subjects), 'subject')}, "
            f"{format_count(len(self.episodes), 'episode')}, {scored} decisions scored>"
        )


def play_data(
    frame: Any,
    *,
    columns: Mapping[str, Any] | None = None,
    conditions: Sequence[str] = (),
    landscape_by: Sequence[str] | None = None,
    expected: str | None = None,
    base: int = 0,
    options: Sequence[Any] | None = None,
    locations: Any = None,
    gaps: Gaps = "error",
    shown: int = 0,
    missing_reward: MissingReward = "error",
    payoffs: Names | None = None,
    payoff_noise: float | None = None,
    seen: Mapping[str, Any] | None = None,
) -> StudyData:
    """The data of a study of play, one row per event; arguments as for `read_study`."""
    table = open_frame(frame)
    found = play_columns(
        list(table.columns), columns, coordinates=0 if locations is None else np.shape(locations)[1]
    )
    if found["subject"] is None:
        raise DataError(
            mark_quoted_argument("subject"),
            "must be given, as no column is called subject or participant",
            got=f"columns {format_names(table.columns)}",
            fix="Name the column that says who played.",
        )
    by = tuple(conditions if landscape_by is None else landscape_by)
    extra = {"condition": conditions, "landscape_by": landscape_by or ()}
    check_columns(table, extra | {"expected": [expected] if expected else ()})
    units = units_of(table, found["subject"], conditions)
    check_plays(units, found["subject"], found["block"])
    table, frame = units.table, units.table.to_native()
    episodes = episodes_from_frame(
        frame,
        **(found | {"subject": units.subject}),
        base=base,
        options=options,
        locations=locations if isinstance(found["chosen"], tuple) else None,
        gaps=gaps,
        shown=shown,
        missing_reward=missing_reward,
        **(seen or {}),
    )
    rows = episode_rows(
        frame, subject=units.subject, block=found["block"], decision=found["decision"], gaps=gaps
    )
    rows = [own[: episode.n_events] for own, episode in zip(rows, episodes, strict=True)]
    taken = {*columns_used(found), *conditions, *by, *([expected] if expected else ())}
    assigned = {name: _by_subject(table, name, episodes, rows) for name in conditions}
    paid, remarks = payoffs_of(
        table,
        payoffs,
        payoff_noise,
        episodes,
        rows,
        labels=options,
        taken=taken,
        conditions=[tuple(own[one.subject] for own in assigned.values()) for one in episodes],
    )
    return StudyData(
        tuple(episodes),
        assigned,
        by,
        _by_episode(table, by, episodes, rows),
        None if expected is None else _expected(table, expected, episodes, rows),
        describe_columns(found),
        None if options is None else tuple(options),
        units.people,
        paid,
        remarks,
        bool(landscape_by),
    )


def _by_subject(
    table: Table, name: str, episodes: Sequence[Episode], rows: Sequence[IntVector]
) -> dict[Any, Any]:
    coded = full_labels(table, name, "condition")
    found: dict[Any, Any] = {}
    for episode, mine in zip(episodes, rows, strict=True):
        found[episode.subject] = coded.at(int(mine[mine != ABSENT][0]))
    return found


def _by_episode(
    table: Table, names: Sequence[str], episodes: Sequence[Episode], rows: Sequence[IntVector]
) -> tuple[tuple[Any, ...], ...]:
    coded = [full_labels(table, name, "landscape_by") for name in names]
    found = []
    for episode, mine in zip(episodes, rows, strict=True):
        present = mine[mine != ABSENT]
        for name, labels in zip(names, coded, strict=True):
            other = np.flatnonzero(labels.codes[present] != labels.codes[present[0]])
            if other.size:
                row = int(present[other[0]])
                raise DataError(
                    f"landscape_by {name!r}",
                    "must be the same in all rows of an episode",
                    got=(
                        f"{labels.at(present[0])} and {labels.at(row)} at {row_place(row)} "
                        f"(subject {episode.subject}, block {episode.block})"
                    ),
                    fix=f"Name the {mark_quoted_argument('block')}s apart.",
                )
        found.append(tuple(labels.at(int(present[0])) for labels in coded))
    return tuple(found)


def _expected(
    table: Table, name: str, episodes: Sequence[Episode], rows: Sequence[IntVector]
) -> tuple[Vector, ...]:
    values = column_floats(table, name, "expected")
    found = []
    for episode, mine in zip(episodes, rows, strict=True):
        means = np.where((mine == ABSENT) | (episode.executed < 0), np.nan, values[mine])
        wrong = np.flatnonzero((episode.executed >= 0) & ~np.isfinite(means))
        if wrong.size:
            raise DataError(
                f"expected {name!r}",
                "must be a number where an option was chosen",
                got=(
                    f"{means[wrong[0]]:g} at {row_place(int(mine[wrong[0]]))} (subject "
                    f"{episode.subject})"
                ),
                fix="Fill it, or leave the column out.",
            )
        found.append(means)
    return tuple(found)


Kind = Literal["play", "offers"]


def read_study(
    table: Any,
    *,
    kind: Kind | None = None,
    columns: Mapping[str, Any] | None = None,
    conditions: Sequence[str] = (),
    base: int = 0,
    options: Sequence[Any] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    locations: Any = None,
    gaps: Gaps | None = None,
    shown: int = 0,
    missing_reward: MissingReward = "error",
    landscape_by: Sequence[str] | None = None,
    expected: str | None = None,
    payoffs: Names | None = None,
    payoff_noise: float | None = None,
) -> StudyData:
    """Read the table of a study: of play, one row per event; or of offers, one row per decision.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table; or what `read` returns, for files as laboratories have
        them; or the name of a file.
    kind
        "play" or "offers". If not given, the columns tell: what was offered, or what was paid.
    columns
        {part: column} for those that have no usual name: chosen, subject, block, scored, and for
        play reward, decision, is_choice; see `episodes_from_frame` for what they hold.
    conditions
        Columns of what subjects were assigned to. Where a subject was in several, each is fitted by
        itself, and conditions are compared within subjects.
    base, options
        As for `episodes_from_frame` and `offers_from_frame`.
    offers
        Columns of what was offered, as for `offers_from_frame`.
    locations, gaps, shown, missing_reward
        Of play, as for `episodes_from_frame`; gaps are errors if not said.
    landscape_by
        Columns that tell landscapes apart: one label for all rows of an episode. The conditions if
        not given. Naming them says that the mean rewards of a landscape do not change.
    expected
        Column of the mean reward of the option chosen, where it is known.
    payoffs
        Columns of what every option paid, or would have paid, at every decision, in the order of
        the options; or a pattern, "payoff_*". Agents then play the task as it was. Rewards, mean
        rewards or probabilities: the rewards received tell which. If not given, columns with usual
        names are taken where the rewards received agree with them; "none" for no such columns.
    payoff_noise
        Variance of rewards around `payoffs`; 0 where these are the rewards themselves. Found from
        the rewards received if not given.

    Examples
    --------
    >>> import penchant as pn
    >>> import pyarrow as pa
    >>> table = pa.table(
    ...     {
    ...         "subjID": [1, 1, 1, 2, 2, 2],
    ...         "trial": [1, 2, 3, 1, 2, 3],
    ...         "choice": [1, 2, 2, 1, 1, 2],
    ...         "outcome": [0.5, 1.0, 0.0, 1.0, 1.0, 0.5],
    ...         "drug": ["placebo", "placebo", "placebo", "dopa", "dopa", "dopa"],
    ...     }
    ... )
    >>> data = pn.read_study(table, conditions=["drug"], base=1)
    >>> data, data.condition(2)
    (<StudyData: 2 subjects, 2 episodes, 6 decisions scored>, 'dopa')
    >>> pn.read_study(pn.datasets.load("delays"))
    <StudyData: 20 subjects, 20 episodes, 1191 decisions scored>
    """
    seen: dict[str, Any] = {}
    conditions = (conditions,) if isinstance(conditions, str) else conditions
    if isinstance(table, Reading) and table.kind == "choices":
        return _experiment_data(table, conditions)
    if isinstance(table, Reading):
        kind = "play" if table.kind == "play" else "offers"
        columns, offers, options = _arguments_of_reading(table, columns)
        base, gaps = table.arguments.get("base", 0), gaps or table.arguments.get("gaps")
        locations = table.arguments.get("locations") if locations is None else locations
        shown = shown or table.arguments.get("shown", 0)
        missing_reward = table.arguments.get("missing_reward", missing_reward)
        event_columns = ("before", "after", "available")
        seen = {name: table.arguments[name] for name in event_columns if table.arguments.get(name)}
    frame = table.table if isinstance(table, Reading) else table
    frame = read_table(frame) if isinstance(frame, str | os.PathLike) else frame
    check_one_of(kind, "kind", ("play", "offers", None), "Leave it out.")
    if kind is None:
        offered = offers is not None or is_offers(list(open_frame(frame).columns))
        kind = "offers" if offered else "play"
    shared: dict[str, Any] = {
        "columns": columns,
        "conditions": conditions,
        "base": base,
        "options": options,
    }
    of_play: dict[str, Any] = {
        "landscape_by": landscape_by,
        "expected": expected,
        "locations": locations,
        "gaps": gaps or "error",
        "shown": shown,
        "missing_reward": missing_reward,
        "payoffs": payoffs,
        "payoff_noise": payoff_noise,
    }
    if kind == "play":
        if offers is not None:
            raise DataError(
                "offers", "must be left out for play", got="some", fix="Leave out kind='play'."
            )
        data = play_data(frame, **shared, **of_play, seen=seen)
        return replace(data, columns=_columns_of(table)) if isinstance(table, Reading) else data
    for name, value in of_play.items():
        if not (value is None or (isinstance(value, int | str) and value in (0, "error"))):
            raise DataError(
                name,
                "must be left out for choices among offers",
                got=repr(value),
                fix="They pay no rewards that could be learnt from.",
            )
    data = offers_data(frame, **shared, offers=offers)
    return replace(data, columns=_columns_of(table)) if isinstance(table, Reading) else data


def _columns_of(reading: Reading) -> str:
    """Roles of the columns of the file, in one line."""
    return "; ".join(f"{part} = {name}" for part, name in reading.columns.items())


class _TableArguments(NamedTuple):
    """Columns, offers and options of a table."""

    columns: dict[str, Any]
    offers: Any
    options: Any


def _arguments_of_reading(reading: Reading, columns: Mapping[str, Any] | None) -> _TableArguments:
    """Columns, offers and options that `read` found or was given."""
    known = reading.arguments
    parts = ("chosen", "reward", "subject", "block", "decision", "is_choice", "scored", "executed")
    found = {part: known[part] or NO_COLUMN for part in parts if part in known}
    return _TableArguments({**found, **(columns or {})}, known.get("offers"), known.get("options"))


def _experiment_data(reading: Reading, conditions: Sequence[str]) -> StudyData:
    """The data of a choice experiment: its variables are attributes of what was offered."""
    if reading.data.subject is None:
        raise DataError(
            "subject",
            "must be given with a choice experiment",
            got="none, and no column is known to name subjects",
            fix="Name the column of the people who chose.",
        )
    assigned = {name: reading.groups(name) for name in conditions}
    return StudyData(tuple(offers_of_choices(reading.data)), assigned)


def offers_data(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    offers: Mapping[str, Sequence[Any]] | None = None,
    conditions: Sequence[str] = (),
    options: Sequence[Any] | None = None,
    base: int = 0,
) -> StudyData:
    """The data of a study of choices among offers, one row per decision; see `read_study`."""
    table = open_frame(frame)
    given = dict(columns or {})
    found = offer_columns(list(table.columns), given, offers)
    if found.subject is None:
        raise DataError(
            mark_quoted_argument("subject"),
            "must be given, as no column is called subject or participant",
            got=f"columns {format_names(table.columns)}",
            fix="Name the column that says who chose.",
        )
    check_columns(table, {"condition": conditions})
    units = units_of(table, found.subject, conditions)
    trials = offers_from_frame(
        units.table.to_native(),
        **(given | {"subject": units.subject}),
        offers=offers,
        options=options,
        base=base,
    )
    who = column_labels(units.table, units.subject, "subject")
    first = {who.at(row): row for row in reversed(range(len(table)))}
    assigned = {name: full_labels(units.table, name, "condition") for name in conditions}
    return StudyData(
        tuple(trials),
        {name: {s: coded.at(row) for s, row in first.items()} for name, coded in assigned.items()},
        columns=found.describe(),
        options=None if options is None else tuple(options),
        people=units.people,
    )
