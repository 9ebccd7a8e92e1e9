"""From the command line's file and columns to episodes of play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.episode_table import episodes_from_frame
from penchant.bandit.events import NOTHING
from penchant.choices.frames import column_floats, open_frame
from penchant.choices.notes import counted
from penchant.cli.agent import COORDINATES
from penchant.cli.loading import role, with_lines
from penchant.cli.options import Data, History
from penchant.cli.refusing import refuse
from penchant.cli.words import on_command_line, say
from penchant.errors import SHOWN, DataError, listing
from penchant.io.source import Source, source
from penchant.io.table import read_table

# Names that columns often have, tried in this order where none is given.
CHOSEN = ("chosen", "choice", "option", "arm")
REWARD = ("reward", "rewards", "outcome", "gain")
SUBJECT = ("subject", "subjID", "subject_id", "participant", "participant_id", "person")
BLOCK = ("block", "round", "game", "episode")
DECISION = ("decision", "trial", "t")
NO_COLUMN = "none"

OF_CHOICES = {"example", "option", "explanatory", "weight", "weight_kind", "available", "offset"}
OF_CHOICES |= {"wide", "missing"}


@dataclass(frozen=True)
class Play:
    """Episodes, and the table that they come from, to name lines of it."""

    episodes: list[Episode]
    table: Any
    columns: dict[str, str]
    origin: Source
    data: Data
    base: int

    @property
    def n_options(self) -> int:
        """As many options as the largest number in the file says."""
        return max(int(episode.chosen.max()) for episode in self.episodes) + 1

    def check_options(self, n_options: int, said: str) -> None:
        """Raise an error that names the line if an option's number is too large."""
        numbers = column_floats(open_frame(self.table), self.columns["chosen"], "chosen")
        wrong = np.flatnonzero(numbers - self.base >= n_options)
        if not wrong.size:
            return
        cells = (f"option {numbers[k]:g} at row {k}{self._labels(int(k))}" for k in wrong[:11])
        places = with_lines(listing(cells, wrong.size), self.origin, self.data)
        raise DataError(
            f"{self.origin.name}: {said} has {n_options} options, but got {places}. "
            + self._advice(numbers, n_options)
        )

    def _labels(self, row: int) -> str:
        named = [
            f"{part} {self.table.column(self.columns[part])[row].as_py()}"
            for part in ("subject", "block", "decision")
            if part in self.columns
        ]
        return f" ({', '.join(named)})" if named else ""

    def _advice(self, numbers: Vector, n_options: int) -> str:
        if self.base == 0 and np.nanmax(numbers) == n_options and not (numbers == 0).any():
            return "They look counted from 1: pass --base 1."
        last = n_options - 1 + self.base
        return f"Options are counted from {self.base} to {last}: correct the number or the file."


def load_episodes(file: str | None, data: Data, history: History) -> Play:
    """Read the table and make episodes of it; says which columns are taken for what."""
    refuse(data, "with --model", names=OF_CHOICES)
    if file is None:
        raise DataError(
            "FILE must be given with --model; got none. penchant simulate makes one to try."
        )
    if history.base not in (0, 1):
        raise DataError(
            f"--base must be 0 or 1; got {history.base}. Say which number the first option has."
        )
    origin = source(file)
    table = read_table(
        origin, delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding
    )
    try:
        columns = _columns(list(table.column_names), data, history)
        _say_columns(columns, data, history)
        episodes = episodes_from_frame(table, **columns, base=history.base)
    except DataError as error:
        words = with_lines(on_command_line(str(error)), origin, data)
        raise DataError(f"{origin.name}: {words}") from None
    return Play(episodes, table, columns, origin, data, history.base)


def _columns(names: list[str], data: Data, history: History) -> dict[str, str]:
    """The column of every part, given or of a usual name."""
    if len(data.decision) > 1:
        raise DataError(
            f"--decision must be one column with --model; got {', '.join(data.decision)}. "
            "Name those that tell subjects and plays apart with --subject and --block."
        )
    columns = {
        "chosen": role(data.chosen, CHOSEN, names, "chosen"),
        "reward": role(history.reward, REWARD, names, "reward"),
    }
    decision = data.decision[0] if data.decision else None
    optional: list[tuple[str, str | None, tuple[str, ...]]] = [
        ("subject", data.subject, SUBJECT),
        ("block", history.block, BLOCK),
        ("decision", decision, DECISION),
        ("is_choice", history.is_choice, ("is_choice",)),
        ("scored", history.scored, ("scored",)),
    ]
    free = [name for name in names if name not in columns.values()]
    for part, given, usual in optional:
        if given == NO_COLUMN and NO_COLUMN not in names:
            continue
        if given is not None or set(usual) & set(free):
            columns[part] = role(given, usual, names if given else free, part.replace("_", "-"))
    return columns


def _say_columns(columns: dict[str, str], data: Data, history: History) -> None:
    given = (data.chosen, history.reward, data.subject, history.block, *data.decision)
    if set(columns.values()) - {*given, history.is_choice, history.scored}:
        parts = (f"{part} = {name}" for part, name in columns.items())
        say("Columns: " + "; ".join(parts))
    if "decision" not in columns:
        say("Note: no column numbers the decisions; their rows are taken to be in order of time.")


def say_episodes(episodes: Sequence[Episode]) -> None:
    """What the data are, and what a reader should know of them."""
    subjects = list(dict.fromkeys(e.subject for e in episodes))
    who = "" if subjects == [None] else f", {counted(len(subjects), 'subject')}"
    say(
        f"Play: {counted(len(episodes), 'episode')}{who}, "
        f"{counted(sum(e.n_decisions for e in episodes), 'decision')} scored of "
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


def say_map(play: Play, locations: Matrix) -> None:
    """Whether columns of coordinates agree with the map, where the file has them."""
    names = COORDINATES[: locations.shape[1]]
    frame = open_frame(play.table)
    if not all(name in frame.columns and frame[name].dtype.is_numeric() for name in names):
        return
    options = column_floats(frame, play.columns["chosen"], "chosen") - play.base
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
