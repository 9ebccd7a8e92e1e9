"""Decisions whose variables stand in columns of their own, as files have them."""

from __future__ import annotations

from dataclasses import dataclass

from penchant._typing import IntVector, Vector


@dataclass(frozen=True)
class ChoiceColumns:
    """Choices that are looked at once: no table of their variables is made.

    Attributes
    ----------
    variables
        One column for each, of all rows; every option of a decision was on offer.
    first_row, chosen
        As in `Choices`.
    weights
        Of decisions, or None.
    offset
        Of rows, or None.
    """

    variables: tuple[Vector, ...]
    first_row: IntVector
    chosen: IntVector
    weights: Vector | None = None
    offset: Vector | None = None
