"""Whose worth of attributes, in what an option costs, is hardly told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penchant.errors import listing
from penchant.models.offers.attributes import Attributes
from penchant.output.notes import counted
from penchant.softmax.estimate import Estimate


def dragged(fits: Iterable[tuple[Any, Estimate]]) -> str:
    """A sentence on people whose sensitivity to the price may be 0; nothing where nobody's may.

    What they would pay is a ratio with that sensitivity below: it may be anything, and one of them
    can move the mean of all.

    Parameters
    ----------
    fits
        Subjects and their estimates, of attributes with a price.
    """
    lost, n, price = [], 0, ""
    for subject, fit in fits:
        model = fit.model
        if not isinstance(model, Attributes) or model.price is None:
            continue
        n, price = n + 1, model.price
        own = next(p for p in fit.parameters if p.name == f"{price}_sensitivity")
        if not (own.low > 0 or own.high < 0):
            lost.append(str(subject))
    if not lost:
        return ""
    return (
        f"The sensitivity to {price} of {counted(len(lost), 'subject')} of {n} may be 0 "
        f"({listing(lost)}): what they would pay may be anything, and drags means of worth. Ranks, "
        "a prior or the population are steadier."
    )
