"""Whose worth of attributes, in what an option costs, is hardly told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penchant.errors import listing
from penchant.models.offers.attributes import Attributes
from penchant.output.notes import counted
from penchant.softmax.estimate import Estimate


def dragged(fits: Iterable[tuple[Any, Estimate]], model: Any = None) -> str:
    """A sentence on people whose sensitivity to the price may be 0; nothing where nobody's may.

    What they would pay is a ratio with that sensitivity below: it may be anything, and one of them
    can move the mean of all.

    Parameters
    ----------
    fits
        Subjects and their estimates, of attributes with a price.
    model
        Of all of them, where estimates that were read back do not know it.
    """
    lost, n, price = [], 0, ""
    for subject, fit in fits:
        own_model = fit.model if model is None else model
        if not isinstance(own_model, Attributes) or own_model.price is None:
            continue
        n, price = n + 1, own_model.price
        own = next(p for p in fit.parameters if p.name == f"{price}_sensitivity")
        if not (own.low > 0 or own.high < 0):
            lost.append(str(subject))
    if not lost:
        return ""
    return (
        f"The sensitivity to {price} of {counted(len(lost), 'subject')} of {n} may be 0 "
        f"({listing(lost)}): their willingness to pay may be anything, and drags means of worth. "
        "Ranks, a prior or the population are steadier."
    )
