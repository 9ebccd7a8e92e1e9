"""Choices seen in other coordinates of theta."""

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix
from penchant.choices import Choices


def in_coordinates(choices: Choices, basis: Matrix, rank: int | None = None) -> Choices:
    """Choices for phi, where theta = basis phi: variables x @ basis, relative to the chosen option.

    Directions from `rank` on are known to change nothing; their variables are exactly 0.
    """
    sizes = np.diff(choices.first_row)
    relative = choices.explanatory - np.repeat(choices.explanatory[choices.chosen_row], sizes, 0)
    if choices.available is not None:
        relative[~choices.available] = 0.0
    names = tuple(f"phi{a}" for a in range(basis.shape[1]))
    turned = relative @ basis
    if rank is not None:
        turned[:, rank:] = 0.0
    return replace(choices, explanatory=turned, names=names)
