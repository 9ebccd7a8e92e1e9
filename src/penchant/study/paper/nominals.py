"""What two nominal points make of the same plays: which is better, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._progress import progress
from penchant._typing import BoolVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.inference.nominal import BackMap, nominal_point
from penchant.inference.problem import Problem
from penchant.softmax.probabilities import decision_log_likelihoods
from penchant.study.paper.ensembles import Ensemble
from penchant.study.paper.plays import model_of
from penchant.study.paper.published import UCLSetting

MOST = 2.0  # the largest relative difference of positive numbers, and that of no number at all


@dataclass(frozen=True, eq=False)
class NominalComparison:
    """Two linearised fits to every play.

    Attributes
    ----------
    linearized, exact
        Log-likelihood, first nominal point less second; NaN in `exact` where an estimate lies
        outside the model.
    natural
        nu, mu0, sigma0^2 from both points: (2, n_plays, 3); NaN outside the model.
    """

    linearized: Vector
    exact: Vector
    natural: Matrix

    @property
    def agrees(self) -> BoolVector:
        """Whether both likelihoods prefer the same point, for the plays inside the model."""
        known = np.isfinite(self.exact)
        return np.asarray(np.sign(self.linearized[known]) == np.sign(self.exact[known]))

    @property
    def differences(self) -> Matrix:
        """Relative differences of nu, mu0, sigma0^2; the largest there is where one is missing."""
        one, two = self.natural
        found = np.abs(one - two) / (np.abs(one + two) / 2)
        return np.where(np.isfinite(found), np.minimum(found, MOST), MOST)

    @property
    def usable(self) -> BoolVector:
        """Whether each estimate lies inside the model: (2, n_plays)."""
        return np.asarray(np.isfinite(self.natural).all(axis=2))


def compared_nominals(
    episodes: Sequence[Episode],
    first: tuple[UCLSetting, Ensemble],
    second: tuple[UCLSetting, Ensemble],
) -> NominalComparison:
    """Map both linearised estimates of every play back, and compare by both likelihoods.

    Parameters
    ----------
    episodes
        The plays.
    first, second
        A nominal point each, with the linearised estimates of all plays about it.
    """
    model = model_of(first[0])
    natural = np.full((2, len(episodes), 3), np.nan)
    exact = np.full((2, len(episodes)), np.nan)
    maps = [BackMap(model, *nominal_point(model, s.nominal), "delta") for s, _ in (first, second)]
    with progress("Figures 4 and 5: likelihoods", len(episodes)) as advance:
        for i, episode in enumerate(episodes):
            problem = Problem(model, (episode,))
            for j, (back, (_, drawn)) in enumerate(zip(maps, (first, second), strict=True)):
                theta = drawn.theta[i]
                if back.inside(theta):
                    natural[j, i] = back.values(theta)
                    weights, psi = back.weights_and_shape(theta)
                    terms = decision_log_likelihoods(weights, problem.choices(psi))
                    exact[j, i] = terms.sum()
            advance(1)
    linearized = first[1].log_likelihood - second[1].log_likelihood
    return NominalComparison(linearized, exact[0] - exact[1], natural)
