"""Whether a first option that was shown may have been read as a choice."""

from __future__ import annotations

from penchant._typing import Vector
from penchant.bandit.episode_table import episode_rows
from penchant.choices.frames import column_floats, open_frame
from penchant.cli.agent import COORDINATES
from penchant.cli.episodes import Play

# Columns that say how many choices a block has.
HORIZON = ("horizon", "searchhorizon", "clicks", "nclicks", "nchoices", "budget")


def shown_doubts(play: Play) -> list[str]:
    """A hint where decisions are numbered from 0 in a task that often starts with one shown.

    These are tasks on places, and tables that say how many choices a block has, which is one less
    than its events.
    """
    if play.columns.decision is None or any(not e.is_choice.all() for e in play.episodes):
        return []
    numbers = column_floats(open_frame(play.table), play.columns.decision, "decision")
    if (numbers == 0).sum() != len(play.episodes):
        return []
    why = "options are places" if _has_places(play) else _horizon(play, numbers)
    if why is None:
        return []
    return [
        f"Decisions are numbered from 0, and {why}: pass --shown 1 if the option of number 0 was "
        "shown, not chosen. It is scored as a choice now."
    ]


def _has_places(play: Play) -> bool:
    columns = play.table.column_names
    return not isinstance(play.columns.chosen, str) or {*COORDINATES[:2]} <= {*columns}


def _horizon(play: Play, numbers: Vector) -> str | None:
    """The column that says how many choices each block has, if it is the last number of each."""
    parts = ("subject", "block", "decision")
    named = {part: getattr(play.columns, part) for part in parts}
    rows = episode_rows(play.table, **named, gaps="order")
    frame = open_frame(play.table)
    for name in frame.columns:
        plain = name.lower().replace("_", "").replace(".", "")
        if plain in HORIZON and frame[name].dtype.is_numeric():
            said = column_floats(frame, name, name)
            if all((said[own] == numbers[own].max()).all() for own in rows):
                return f"{name} is one less than the events of every block"
    return None
