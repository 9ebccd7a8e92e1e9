"""Numbers that may be codes of what is not known, such as -99 or 999: asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penchant._typing import Vector
from penchant.errors import DataError
from penchant.output import counted
from penchant.tables.play import FAR, MARKS
from penchant.tables.surveys import where_said
from penchant.wording import argument

_MINUS_ONE = -1.0  # a loss of 1 beside 0 and 1, a code beside other numbers
_FEW = 3  # different numbers besides, from which -1 may be a code


def odd_number(values: Vector) -> float | None:
    """The one number that may be a code, far from all others or the only one below 0.

    >>> odd_number(np.array([3.0, 7.0, 999.0])), odd_number(np.array([3.0, 7.0, -99.0]))
    (999.0, -99.0)
    >>> odd_number(np.array([-1.0, 0.0, 1.0])) is None
    True
    """
    numbers = np.unique(values[~np.isnan(values)])
    if len(numbers) < 3:
        return None
    low, high = float(numbers[0]), float(numbers[-1])
    if low < 0 <= numbers[1]:
        counted_on = bool((np.diff(numbers[:3]) == 1).all())  # -1, 0, 1 and more: one of them
        code = low == _MINUS_ONE and len(numbers) > _FEW and high > 1 and not counted_on
        return low if code or -low in MARKS else None
    if high in MARKS and FAR * np.abs(numbers[:-1]).max() < high:
        return high
    return None


def ask_about_codes(
    columns: Mapping[str, tuple[Sequence[str], Vector]], confirm: Mapping[str, str]
) -> None:
    """Refuse attributes of options among whose numbers one may be a code.

    Parameters
    ----------
    columns
        {attribute: its columns, and all of their numbers, NaN where there is none}.
    confirm
        {attribute: what to pass if the number is meant}.
    """
    for attribute, (names, values) in columns.items():
        odd = odd_number(values)
        if odd is None or abs(odd) == MARKS[0]:  # 9 may well be a price
            continue
        quoted = [name if name.isidentifier() else f"`{name}`" for name in names]
        kept = " and ".join(f"{name} != {odd:g}" for name in quoted)
        rows = counted(int((values == odd).sum()), "cell")
        raise DataError(
            f"{argument('where')} must be given, as {odd:g} in {' and '.join(names)} ({rows}) can "
            f"be read in two ways: {attribute} of an option, or a mark of what is not known. Pass "
            f"{confirm[attribute]} for the first, or {where_said(kept)} to leave these rows out."
        )
