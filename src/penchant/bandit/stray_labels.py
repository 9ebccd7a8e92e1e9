"""Words among the numbers of options: more likely they mark that nothing was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant.bandit.option_columns import NOTHING_WORDS
from penchant.choices.exact import Place
from penchant.choices.frames import Table, column_labels
from penchant.errors import DataError, listing

FEW = 2  # different words that look like marks; more are labels


def refuse_stray_labels(table: Table, name: Any, place: Place) -> None:
    """Refuse a column of numbers in which a word or two stand for something else.

    A column in which words are most cells, or many different ones, is one of labels.

    Parameters
    ----------
    table
        The table.
    name
        Column of the option.
    place
        Where a row is, in words.
    """
    coded = column_labels(table, name, f"chosen {name!r}")
    labels = [str(label).strip() for label in coded.labels.tolist()]
    given = np.array([word not in NOTHING_WORDS for word in labels])[coded.codes]
    given[coded.missing] = False
    odd = given & ~np.array([_is_number(word) for word in labels])[coded.codes]
    words = sorted({labels[code] for code in coded.codes[odd]})
    n_numbers = len(np.unique(coded.codes[given & ~odd]))
    if not 1 <= len(words) <= FEW or n_numbers < 2 or 2 * odd.sum() >= given.sum():
        return
    rows = np.flatnonzero(odd)
    cells = (f"{labels[coded.codes[row]]!r} at {place(int(row))}" for row in rows[:11])
    raise DataError(
        f"chosen must hold numbers of options, or labels; got numbers, but {name} also has "
        f"{listing(cells, rows.size)}. Leave cells empty where nothing was chosen; if "
        f"{' and '.join(words)} can be chosen, name all options in `options`."
    )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
