"""The decisions of pairs of a subject and a psi, one pair after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penchant._typing import IntVector
from penchant.softmax.batch import Grouping


class Rows(NamedTuple):
    """The decisions of pairs, one pair after another.

    Attributes
    ----------
    chosen
        Option of every event of every pair.
    events
        Where the events of each pair begin.
    order, bounds
        Which of the events are scored; those of pair k from bounds[k] to bounds[k + 1].
    """

    chosen: IntVector
    events: IntVector
    order: IntVector
    bounds: IntVector

    @property
    def scored(self) -> tuple[IntVector, IntVector, IntVector]:
        """As the compiled loops take them."""
        return self.chosen, self.order, self.bounds

    @property
    def grouping(self) -> Grouping:
        """The decisions scored, and where those of each pair begin."""
        return Grouping(self.order, self.bounds)

    def of(self, k: int) -> IntVector:
        """The decisions of one pair."""
        return self.order[self.bounds[k] : self.bounds[k + 1]]

    def only(self, which: IntVector) -> Rows:
        """Some of the pairs, of the same events."""
        lengths = np.diff(self.bounds)[which]
        return Rows(
            self.chosen,
            self.events,
            self.order[ranges(self.bounds, which)],
            np.concatenate([[0], np.cumsum(lengths)]),
        )


def ranges(starts: IntVector, which: IntVector) -> IntVector:
    """The numbers from starts[w] to starts[w + 1], for one w after another."""
    lengths = starts[which + 1] - starts[which]
    ends = np.cumsum(lengths)
    return np.repeat(starts[which] - ends + lengths, lengths) + np.arange(int(lengths.sum()))
