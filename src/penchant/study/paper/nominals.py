"""Which of two nominal points is better, by the linearised and by the exact likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import Vector
from penchant.bandit.episode import Episode
from penchant.bandit.reward_prior import RewardPrior
from penchant.errors import PenchantWarning
from penchant.inference.linearized import fit_linearized
from penchant.models.ucl import UCL


@dataclass(frozen=True, eq=False)
class NominalComparison:
    """Log-likelihoods of both linearised fits to every play.

    `linearized` and `exact` hold the difference, first nominal point less second; NaN in `exact`
    where an estimate lies outside the model.
    """

    linearized: Vector
    exact: Vector

    @property
    def comparable(self) -> int:
        """Plays where both estimates lie inside the model."""
        return int(np.isfinite(self.exact).sum())

    @property
    def disagree(self) -> int:
        """Plays where the linearised likelihood prefers the point that the exact one does not."""
        known = np.isfinite(self.exact)
        return int((np.sign(self.linearized[known]) != np.sign(self.exact[known])).sum())


def compared_nominals(
    model: UCL, episodes: Sequence[Episode], first: RewardPrior, second: RewardPrior
) -> NominalComparison:
    """Linearise every play about two points and compare by both likelihoods."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for episode in episodes:
            one, two = (fit_linearized(episode, model, nominal=at) for at in (first, second))
            rows.append(
                (
                    one.log_likelihood - two.log_likelihood,
                    one.exact_log_likelihood - two.exact_log_likelihood,
                )
            )
    found = np.array(rows)
    return NominalComparison(found[:, 0], found[:, 1])
