"""Decisions without a choice, as tables mark them: by a number that is no option's."""

from __future__ import annotations

import warnings

import numpy as np

from penchant._typing import BoolVector, Vector
from penchant.bandit.events import NOTHING
from penchant.choices.exact import Place
from penchant.choices.notes import counted
from penchant.errors import DataError, PenchantWarning, listing

# Numbers that files hold where nothing was chosen, far beyond the options.
MARKS = (9, 99, 999, 9999)
FAR = 4
# What files hold for a reward where nothing was chosen.
FILLERS = (0.0, -1.0)


def without_fillers(chosen: Vector, rewards: Vector, base: int) -> tuple[Vector, Vector]:
    """Options and rewards, both NaN where nothing was chosen.

    Files often have a reward in these rows, too, always 0 or always -1, and where options are
    counted from 1 they often have option 0. Rewards that differ there, or are other numbers, are
    left as they are: more likely it is the options that are not numbered as `base` says.

    Examples
    --------
    >>> without_fillers(np.array([1.0, 0.0, 2.0]), np.array([5.0, 0.0, 7.0]), base=1)
    (array([ 1., nan,  2.]), array([ 5., nan,  7.]))
    >>> without_fillers(np.array([1.0, 0.0, 2.0]), np.array([5.0, 6.0, 7.0]), base=1)
    (array([1., 0., 2.]), array([5., 6., 7.]))
    """
    missed = np.isnan(chosen) | (chosen == NOTHING) | (chosen == base - 1)
    if not _is_filler(rewards[missed]):
        return chosen, rewards
    return np.where(missed, np.nan, chosen), np.where(missed, np.nan, rewards)


def doubt_zero(chosen: Vector, rewards: Vector, place: Place) -> None:
    """Options counted from 0: a 0 that never paid anything may mark decisions without a choice.

    Where it never has a reward this is an error, where the reward is always the same filler a
    warning, as some options do not pay.
    """
    zero = chosen == 0
    if not zero.any() or not (chosen > 1).any() or _is_filler(rewards[chosen > 0]):
        return
    if np.isnan(rewards[zero]).all():
        raise DataError(_no_reward(zero, place))
    if _is_filler(rewards[zero]):
        paid = np.nanmax(rewards[zero])
        warnings.warn(
            PenchantWarning(
                f"chosen is 0 in {counted(int(zero.sum()), 'row')}, and the reward there always "
                f"{paid:g}: it is taken for an option. If 0 marks decisions without a choice, and "
                "options are counted from 1, pass base=1.",
                "zero-option",
            ),
            stacklevel=3,
        )


def doubt_marks(chosen: Vector) -> None:
    """A number such as 99, far beyond all others, may mark decisions without a choice."""
    numbers = np.unique(chosen[~np.isnan(chosen)])
    if len(numbers) < 2 or numbers[-1] not in MARKS or FAR * numbers[-2] >= numbers[-1]:
        return
    rows = int((chosen == numbers[-1]).sum())
    warnings.warn(
        PenchantWarning(
            f"chosen is {numbers[-1]:g} in {counted(rows, 'row')}, and at most {numbers[-2]:g} in "
            "all others: it is taken for an option. If it marks decisions without a choice, leave "
            "these cells and their rewards empty.",
            "distant-option",
        ),
        stacklevel=3,
    )


def _no_reward(zero: BoolVector, place: Place) -> str:
    where = np.flatnonzero(zero)
    places = listing((f"0 at {place(int(row))}" for row in where[:11]), where.size)
    return (
        f"chosen must have a reward; got none where it is 0, as in {places}. If 0 marks decisions "
        "without a choice, and options are counted from 1, pass base=1."
    )


def _is_filler(rewards: Vector) -> bool:
    """Whether rewards are missing, or all the same number that means nothing."""
    given = np.unique(rewards[~np.isnan(rewards)])
    return len(given) == 0 or (len(given) == 1 and given[0] in FILLERS)
