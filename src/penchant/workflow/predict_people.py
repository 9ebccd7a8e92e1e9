"""What a model says of every event of subjects whose decisions do not fit in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penchant.inference.portions import PortionFit
from penchant.workflow.beliefs import beliefs


@dataclass(frozen=True)
class PortionBeliefs:
    """Beliefs and probabilities of every event of a portion, one row each; picklable.

    Attributes
    ----------
    all_options
        Whether the columns of every option are added.
    """

    fits: PortionFit
    all_options: bool = False

    def __call__(self, data: Any) -> Any:
        """A pyarrow table, in the order of subjects, episodes and time."""
        found = beliefs(self.fits.estimates(data), data)
        return found.to_frame("pyarrow", options=self.all_options)

    def __str__(self) -> str:
        return str(self.fits)
