"""The offers that people had: those of one of them for every person simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.models.trials import Trials


@dataclass(frozen=True, eq=False)
class DrawnOffers:
    """Offers of several people, one of whom is drawn.

    Attributes
    ----------
    people
        Offers of each, by attribute.
    """

    people: tuple[Mapping[str, Matrix], ...]

    def __call__(self, rng: np.random.Generator) -> Mapping[str, Matrix]:
        """Offers of a person who is drawn."""
        return self.people[int(rng.integers(len(self.people)))]

    @property
    def n_decisions(self) -> int:
        """How many decisions the person in the middle has."""
        return int(np.median([len(next(iter(offers.values()))) for offers in self.people]))


def offers_of(trials: Sequence[Trials]) -> DrawnOffers:
    """The offers of every subject, those of all blocks together.

    Examples
    --------
    >>> from penchant.models.trials import Trials
    >>> ann = [Trials([0], {"amount": [[2, a]]}, subject="ann", block=a) for a in (3, 5)]
    >>> offers_of(ann)(np.random.default_rng(0))["amount"].tolist()
    [[2.0, 3.0], [2.0, 5.0]]
    """
    by_subject: dict[Any, list[Trials]] = {}
    for one in trials:
        by_subject.setdefault(one.subject, []).append(one)
    return DrawnOffers(tuple(_together(own) for own in by_subject.values()))


def _together(trials: Sequence[Trials]) -> dict[str, Matrix]:
    names = trials[0].offers
    return {name: np.concatenate([one.offers[name] for one in trials]) for name in names}
