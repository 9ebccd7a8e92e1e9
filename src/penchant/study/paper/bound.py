"""The bounds of Section VI.C on the deviation of delta, held against the posterior variances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant.bandit.landscape import GaussianNoise, landscape_a
from penchant.models.simulate import simulate
from penchant.study.paper.artefact import DECISION_NOISE, PRIOR_MEAN, model_of_high
from penchant.study.paper.published import (
    EXPERIMENT_DECISIONS,
    EXPERIMENT_NOISE_VARIANCE,
    GRID,
    NOMINALS,
)

STEP = 1e-4  # of delta, relative, for its derivatives
APART = 1e-3  # relative distance from the bound at which signs are looked at


@dataclass(frozen=True)
class Bound:
    """Whether the bounds are where linearised standard deviations, and delta, reach 0.

    Attributes
    ----------
    smallest
        The smallest 2 c/d of all options and decisions, over the nominal delta.
    positive_below, negative_above
        Whether every linearised standard deviation is positive just below its bound, and negative
        just above.
    zero_at_lowest
        Whether delta is 0 at the lower bound.
    """

    n_decisions: int
    n_options: int
    smallest: float
    positive_below: bool
    negative_above: bool
    zero_at_lowest: bool


def bound_of_deviation(*, rng: np.random.Generator) -> Bound:
    """Look at the posterior variances of one play about the nominal point of high performance."""
    model, nominal = model_of_high(), NOMINALS["high"]
    place = landscape_a(*GRID, noise=GaussianNoise(EXPERIMENT_NOISE_VARIANCE))
    truth = {"decision_noise": DECISION_NOISE, "prior_mean": PRIOR_MEAN, "prior_variance": 100.0}
    play = simulate(place, model, truth, n_decisions=EXPERIMENT_DECISIONS, rng=rng)
    delta = nominal.relative_precision(EXPERIMENT_NOISE_VARIANCE)

    def variances(at: float) -> np.ndarray:
        return np.asarray(EXPERIMENT_NOISE_VARIANCE * model.beliefs(play, [at]).variance[0])

    c = variances(delta)
    step = STEP * delta
    d = -(variances(delta + step) - variances(delta - step)) / (2 * step)
    highest = 2 * c / d

    def linearized(deviation: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(c) - d / (2 * np.sqrt(c)) * deviation)

    return Bound(
        n_decisions=EXPERIMENT_DECISIONS,
        n_options=c.shape[1],
        smallest=float(highest.min() / delta),
        positive_below=bool((linearized((1 - APART) * highest) > 0).all()),
        negative_above=bool((linearized((1 + APART) * highest) < 0).all()),
        zero_at_lowest=bool(delta + -EXPERIMENT_NOISE_VARIANCE / nominal.variance == 0.0),
    )
