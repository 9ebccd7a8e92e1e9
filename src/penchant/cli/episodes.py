"""From the command line's file and columns to episodes of play."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode, highest_option
from penchant.bandit.episode_table import episodes_from_frame
from penchant.cli.loading import with_lines
from penchant.cli.options import Agent, Data, History
from penchant.cli.settings import COORDINATES, map_words, place_words
from penchant.cli.tables import Opened, open_play
from penchant.cli.words import refuse, say
from penchant.errors import SHOWN, DataError, listing
from penchant.files.source import Source
from penchant.output.notes import counted
from penchant.tables.columns import PlayColumns, play_columns
from penchant.tables.events import NOTHING
from penchant.tables.frames import Table, column_floats, open_frame, row_place
from penchant.tables.options import labelled_options, refuse_stray_labels

OF_CHOICES = {"example", "option", "explanatory", "weight", "weight_kind", "available", "offset"}
OF_CHOICES |= {"wide", "missing", "attributes", "opt_out", "reference"}


@dataclass(frozen=True)
class Play:
    """Episodes, and the table that they come from, to name lines of it."""

    episodes: list[Episode]
    table: Any
    columns: PlayColumns
    origin: Source | Opened
    data: Data
    base: int
    labels: tuple[Any, ...] | None

    @property
    def n_options(self) -> int:
        """As many options as there are labels, or as the largest number in the file says."""
        if self.labels is not None:
            return len(self.labels)
        return max(map(highest_option, self.episodes)) + 1

    @property
    def numbered(self) -> bool:
        """Whether the file holds numbers of options, rather than labels or places."""
        return self.labels is None and isinstance(self.columns.chosen, str)

    def check_options(self, n_options: int, said: str) -> None:
        """Raise an error that names the line if an option's number is too large."""
        if not self.numbered:
            if self.n_options > n_options:
                raise DataError(
                    f"{self.origin.name}: {said} has {n_options} options, but got "
                    f"{self.n_options} labels. Match them."
                )
            return
        numbers = column_floats(open_frame(self.table), self.columns.chosen, "chosen")
        wrong = np.flatnonzero(numbers - self.base >= n_options)
        if not wrong.size:
            return
        cells = (f"option {numbers[k]:g} at row {k}{self._labels(int(k))}" for k in wrong[:3])
        places = with_lines(listing(cells, wrong.size), self.origin, self.data)
        raise DataError(
            f"{self.origin.name}: {said} has {n_options} options, but got {places}. "
            + self._advice(numbers, n_options)
        )

    def check_first(self) -> None:
        """Raise an error where options may be counted from 1: there would be one too many."""
        chosen = np.concatenate([episode.chosen for episode in self.episodes])
        chosen = chosen[chosen >= 0]
        if self.numbered and self.base == 0 and len(chosen) and chosen.min() == 1:
            raise DataError(
                f"{self.origin.name}: chosen must tell whether options are counted from 0 or "
                f"from 1; got 1 to {chosen.max()}. Pass --base 1, or --options {self.n_options} "
                "if there is an option 0 that nobody chose."
            )

    def _labels(self, row: int) -> str:
        parts = {part: getattr(self.columns, part) for part in ("subject", "block", "decision")}
        named = [f"{part} {self._label(row, name)}" for part, name in parts.items() if name]
        return f" ({', '.join(named)})" if named else ""

    def _label(self, row: int, given: str | tuple[str, ...]) -> str:
        names = (given,) if isinstance(given, str) else given
        return "/".join(str(self.table.column(name)[row].as_py()) for name in names)

    def _advice(self, numbers: Vector, n_options: int) -> str:
        if self.base == 0 and np.nanmax(numbers) == n_options and not (numbers == 0).any():
            return "They look counted from 1: pass --base 1."
        last = n_options - 1 + self.base
        return f"Options are counted from {self.base} to {last}: correct the number or the file."


def load_episodes(
    file: str | None, data: Data, history: History, locations: Matrix | None = None
) -> Play:
    """Read the table and make episodes of it; says which columns are taken for what."""
    refuse(data, "with --model", names=OF_CHOICES)
    if file is None:
        raise DataError(
            "FILE must be given with --model; got none. penchant simulate makes one to try."
        )
    check_base(history.base)
    origin, data, history = open_play(file, data, history)
    table = origin.table
    with in_lines(origin, data):
        columns = named_columns(list(table.column_names), data, history, locations)
        say_columns(columns)
        labels = option_labels(open_frame(table), columns, data)
        episodes = episodes_from_frame(
            table,
            **columns.arguments(),
            base=history.base,
            options=labels,
            locations=locations if labels is None else None,
            gaps=history.gaps,
            shown=history.shown,
            missing_reward=history.missing_reward,
        )
    return Play(episodes, table, columns, origin, data, history.base, labels)


def check_base(base: int) -> None:
    """The first option has number 0 or 1."""
    if base not in (0, 1):
        raise DataError(
            f"--base must be 0 or 1; got {base}. Say which number the first option has."
        )


@contextmanager
def in_lines(origin: Source | Opened, data: Data) -> Iterator[None]:
    """Errors about rows of the table as errors about lines of the file."""
    try:
        yield
    except DataError as error:
        words = with_lines(str(error), origin, data)
        raise DataError(f"{origin.name}: {words}") from None


def named_columns(
    names: list[str], data: Data, history: History, locations: Matrix | None
) -> PlayColumns:
    """The column of every part, given or of a usual name."""
    if len(data.decision) > 1:
        raise DataError(
            f"--decision must be one column with --model; got {', '.join(data.decision)}. "
            "Name those that tell subjects and plays apart with --subject and --block."
        )
    given = {
        "chosen": _several(data.chosen, names),
        "reward": _several(history.reward, names),
        "subject": data.subject,
        "block": _several(history.block, names),
        "decision": data.decision[0] if data.decision else None,
        "is_choice": history.is_choice,
        "scored": history.scored,
        "executed": _several(history.executed, names),
    }
    sides = len(COORDINATES) if locations is None else locations.shape[1]
    found = play_columns(names, given, coordinates=sides)
    if locations is None and not isinstance(found.chosen, str):
        raise DataError(
            "chosen must be one column of numbers or labels with this --model; got places, "
            f"columns {' and '.join(found.chosen)}. Use a model of places, --model ucl, gp-ucb or "
            "locality with --grid, or number the options in a column."
        )
    return found


def _several(given: str | None, names: Sequence[str]) -> str | tuple[str, ...] | None:
    """One column, or several that are divided by commas."""
    if given is None or given in names or "," not in given:
        return given
    return tuple(part.strip() for part in given.split(","))


def option_labels(table: Table, columns: PlayColumns, data: Data) -> tuple[Any, ...] | None:
    """Labels of the options, where the file has labels; says which number each is given."""
    if not isinstance(columns.chosen, str):
        return None
    counted_only = len(data.options) == 1
    is_text = not (table[columns.chosen].dtype.is_numeric())
    if not is_text and (counted_only or not data.options):
        return None
    given = None if counted_only or not data.options else data.options
    if given is None:
        refuse_stray_labels(table, columns.chosen, row_place)
    _, labels = labelled_options(table, columns.chosen, given, row_place)
    numbered = listing(f"{label} = {i}" for i, label in enumerate(labels))
    order = "" if given else "; sorted, --options for another order, or if there were more"
    say(f"Options: {numbered}{order}.")
    return labels


def say_columns(columns: PlayColumns) -> None:
    """Which columns were recognised, and what that implies."""
    if columns.found:
        say(f"Columns: {columns.words()}")
    if columns.decision is None:
        say("Note: no column numbers the decisions; their rows are taken to be in order of time.")


def say_episodes(episodes: Sequence[Episode]) -> None:
    """What the data are, and what a reader should know of them."""
    subjects = list(dict.fromkeys(e.subject for e in episodes))
    who = "" if subjects == [None] else f", {counted(len(subjects), 'subject')}"
    say(
        f"Task data: {counted(len(episodes), 'block')}{who}, "
        f"{counted(sum(e.n_decisions for e in episodes), 'trial')} included of "
        f"{counted(sum(e.n_events for e in episodes), 'event')}"
    )
    without = sum(int((e.chosen == NOTHING).sum()) for e in episodes)
    if without:
        said = counted(without, "decision")
        say(f"Note: {said} without a choice: counted in time, not scored.")
    ended = [e for e in episodes if e.chosen[-1] != NOTHING and np.isnan(e.rewards[-1])]
    if ended:
        where = f" in {counted(len(ended), 'episode')}{_listed(ended)}"
        say(f"Note: the last reward is missing{where}: the last choice is used all the same.")
    heard = {e.subject for e in episodes if e.n_decisions}
    silent = [subject for subject in subjects if subject not in heard]
    if silent and subjects != [None]:
        say(f"Note: no decision to score, and no estimate: {listing(map(str, silent))}.")


def _listed(episodes: Sequence[Episode]) -> str:
    """The episodes by their labels, where they have some."""
    labels = [(("subject", e.subject), ("block", e.block)) for e in episodes]
    words = [
        ", ".join(f"{name} {label}" for name, label in pair if label is not None) for pair in labels
    ]
    return (
        f" ({'; '.join(words[:SHOWN])}{', ...' if len(words) > SHOWN else ''})"
        if all(words)
        else ""
    )


def say_places(agent: Agent, play: Play, locations: Matrix) -> None:
    """Where the options are taken to lie, and whether the file agrees."""
    if isinstance(play.columns.chosen, str):
        say(map_words(agent, locations, play.base))
        _say_agreement(play, locations)
    else:
        say(place_words(locations, play.base))


def _say_agreement(play: Play, locations: Matrix) -> None:
    """Whether columns of coordinates agree with the map, where the file has them."""
    names = COORDINATES[: locations.shape[1]]
    frame = open_frame(play.table)
    if not all(name in frame.columns and frame[name].dtype.is_numeric() for name in names):
        return
    if not play.numbered:
        return
    options = column_floats(frame, play.columns.chosen, "chosen") - play.base
    known = np.flatnonzero(options >= 0)
    there = np.column_stack([column_floats(frame, name, name) for name in names])[known]
    here = locations[options[known].astype(np.int64)]
    shift = there[:1] - here[:1]  # coordinates may be counted from another number than 0
    wrong = np.flatnonzero((there - here != shift).any(axis=1))
    columns = " and ".join(names)
    if not wrong.size:
        say(f"Columns {columns} of the file agree with this map.")
        return
    k, row = int(wrong[0]), int(known[wrong[0]])
    place = with_lines(f"row {row}", play.origin, play.data)
    say(
        f"Warning: columns {columns} of the file disagree with this map: option "
        f"{options[row] + play.base:g} is at {_point(there[k])} at {place}, and at "
        f"{_point(here[k])} on the map. Renumber the options, or give --locations."
    )


def _point(place: Vector) -> str:
    return f"({', '.join(f'{c:g}' for c in place)})"


ANYWHERE: Matrix = np.empty((0, len(COORDINATES)))


def places_in(table: Any, data: Data, history: History) -> Matrix | None:
    """Places that are chosen in the table, sorted; None where its options are no places."""
    columns = named_columns(list(table.column_names), data, history, ANYWHERE)
    if isinstance(columns.chosen, str):
        return None
    frame = open_frame(table)
    there = np.column_stack([column_floats(frame, name, "chosen") for name in columns.chosen])
    given = there[~np.isnan(there).any(axis=1)]
    return np.unique(given, axis=0) - history.base


def grid_words(places: Matrix) -> str:
    """The options that say where these places lie.

    >>> grid_words(np.array([[1.0, 1.0], [5.0, 3.0]]))
    '--grid 5x3 --base 1'
    >>> grid_words(np.array([[0.5, 1.0]]))
    '--locations FILE'
    """
    low, high = places.min(axis=0), places.max(axis=0)
    if places.shape[1] != 2 or (places != np.floor(places)).any() or low.min() < 0:
        return "--locations FILE"
    base = 1 if low.min() >= 1 else 0
    width, height = (high - base + 1).astype(int)
    return f"--grid {width}x{height}{' --base 1' if base else ''}"
