"""Mean rewards of the options from a table of their own: one row per option and landscape."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError, listing, named
from penchant.files.table import read_table
from penchant.tables.frames import Table, column_floats, column_labels, open_frame
from penchant.tables.labels import in_natural_order
from penchant.wording import argument

OPTION = ("option", "arm", "chosen", "choice", "option_index")
MEAN = ("mean_reward", "mean", "expected", "expected_reward", "reward")


@dataclass(frozen=True)
class LandscapeFile:
    """Mean rewards, and the columns that tell landscapes apart.

    Attributes
    ----------
    by
        Columns that the file shares with the table of play.
    means
        {labels of these columns: mean rewards of all options in order}.
    """

    by: tuple[str, ...]
    means: dict[tuple[Any, ...], Vector]


def read_landscapes(
    file: str | os.PathLike[str],
    table_columns: Sequence[str],
    by: Sequence[str],
    labels: Sequence[Any] | None,
) -> LandscapeFile:
    """Read a table of mean rewards.

    Parameters
    ----------
    file
        CSV or Parquet, one row per option and landscape.
    table_columns
        Columns of the table of play.
    by
        Columns that tell landscapes apart; those that both tables have if empty.
    labels
        Labels of the options by index, where they have labels; else they are numbered.
    """
    table = open_frame(read_table(file))
    option, mean = _one_of(table, OPTION, file), _one_of(table, MEAN, file)
    shared = [
        name for name in table.columns if name in table_columns and name not in (option, mean)
    ]
    keys = tuple(by or shared)
    missing = [name for name in keys if name not in table.columns]
    if missing:
        raise DataError(
            f"{argument('landscape')} must have the columns of {argument('landscape_by')}; got no "
            f"{listing(missing)} in {file}, but {named(table.columns)}. Add them, or name others."
        )
    coded = [column_labels(table, name, f"landscape {name!r}") for name in keys]
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(table)):
        rows.setdefault(tuple(one.at(row) for one in coded), []).append(row)
    means = column_floats(table, mean, "mean_reward")
    options = column_labels(table, option, "option")
    found = {}
    for key, mine in rows.items():
        own = [options.at(row) for row in mine]
        found[key] = means[[mine[k] for k in _order(own, labels, key, file)]]
    return LandscapeFile(keys, found)


def _one_of(table: Table, usual: Sequence[str], file: Any) -> str:
    for name in usual:
        if name in table.columns:
            return name
    raise DataError(
        f"{argument('landscape')} must have a column {' or '.join(usual[:2])}; got "
        f"{named(table.columns)} in {file}. Rename it."
    )


def _order(
    own: Sequence[Any], labels: Sequence[Any] | None, key: tuple[Any, ...], file: Any
) -> list[int]:
    """Places of the options in the order of their indices, each of which must be there once."""
    which = f" of {', '.join(map(str, key))}" if key else ""
    twice = [str(option) for i, option in enumerate(own) if option in own[:i]]
    if twice:
        raise DataError(
            f"{argument('landscape')} must have every option{which} once; got {listing(twice)} "
            f"again in {file}. Name the columns that tell landscapes apart with "
            f"{argument('landscape_by')}."
        )
    if labels is not None:
        texts = [str(option) for option in own]
        missing = [str(label) for label in labels if str(label) not in texts]
        if missing:
            raise DataError(
                f"{argument('landscape')} must have every option{which}; got no {listing(missing)} "
                f"in {file}. Add them."
            )
        return [texts.index(str(label)) for label in labels]
    numbers = np.array([option if isinstance(option, int) else -1 for option in own])
    first = int(numbers.min())
    if first not in (0, 1) or sorted(numbers.tolist()) != list(range(first, first + len(own))):
        raise DataError(
            f"{argument('landscape')} must number the options{which} from 0 or 1 without a gap; "
            f"got {listing(map(str, in_natural_order(own)[:11]), len(own))} in {file}. Number them "
            "so."
        )
    return [int(place) for place in np.argsort(numbers)]
