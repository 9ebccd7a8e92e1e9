"""Which priors are easier to estimate: what plays tell of them at the true values.

The information that a play holds at the true values gives the standard errors of its exact
estimates; no estimate need exist for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.landscape import GaussianNoise, Landscape, landscape_a, landscape_b
from penchant.bandit.locations import grid
from penchant.inference.linearized import linearized_choices
from penchant.inference.nominal import nominal_point
from penchant.inference.profile.profiles import Problem
from penchant.models.simulate import simulate
from penchant.models.spatial.ucl import UCL
from penchant.paper.claims import Found
from penchant.paper.published import GRID, HORIZON, SIMULATION_NOISE_VARIANCE

DECISION_NOISE, PRIOR_MEAN = 4.0, 200.0  # of Figures 4 and 5
VARIANCES, SCALES = (0.1, 1.0, 10.0, 100.0), (0.0, 1.0, 4.0)
USUAL_VARIANCE, USUAL_SCALE = 1.0, 1.0


@dataclass(frozen=True, eq=False)
class Told:
    """Standard errors, over the true values, of agents with one prior.

    Attributes
    ----------
    landscape, prior_variance, length_scale
        Where they play, and their prior.
    errors
        Of mu0 and sigma0^2, one row per play; infinite where a play tells nothing.
    """

    landscape: str
    prior_variance: float
    length_scale: float
    errors: Matrix


def told(*, rng: np.random.Generator, n_replicates: int) -> tuple[Told, ...]:
    """Let agents with several priors play on both landscapes."""
    noise = GaussianNoise(SIMULATION_NOISE_VARIANCE)
    places = {"A": landscape_a(*GRID, noise=noise), "B": landscape_b(*GRID, noise=noise)}
    pairs = [(variance, USUAL_SCALE) for variance in VARIANCES]
    pairs += [(USUAL_VARIANCE, scale) for scale in SCALES if scale != USUAL_SCALE]
    return tuple(
        Told(name, *pair, _errors(place, *pair, rng, n_replicates))
        for name, place in places.items()
        for pair in pairs
    )


def _errors(
    place: Landscape,
    variance: float,
    scale: float,
    rng: np.random.Generator,
    n_replicates: int,
) -> Matrix:
    model = UCL(locations=grid(*GRID), noise_variance=SIMULATION_NOISE_VARIANCE, length_scale=scale)
    truth = {
        "decision_noise": DECISION_NOISE,
        "prior_mean": PRIOR_MEAN,
        "prior_variance": variance,
    }
    plays = simulate(place, model, truth, n_decisions=HORIZON, n_subjects=n_replicates, rng=rng)
    psi, ratios = nominal_point(model, RewardPrior(PRIOR_MEAN, variance))
    found = []
    for play in plays:
        x = linearized_choices(Problem(model, (play,)), psi, ratios).explanatory
        errors = _standard_errors(x.reshape(play.n_events, -1, 3))
        # theta2 and theta3 are the deviations of mu0 and delta over nu; sigma0^2 goes as 1/delta.
        found.append(DECISION_NOISE * errors[1:] / np.array([PRIOR_MEAN, psi[0]]))
    return np.array(found)


def _standard_errors(x: Matrix) -> Vector:
    """Of the linearised theta at the truth, where it is (1/nu, 0, 0)."""
    q = x[..., 0] / DECISION_NOISE
    p = np.exp(q - q.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    centred = x - np.einsum("ki,kia->ka", p, x)[:, None]
    information = np.einsum("ki,kia,kib->ab", p, centred, centred)
    scale = np.sqrt(np.maximum(information.diagonal(), np.finfo(float).tiny))
    scaled = information / np.outer(scale, scale)
    if np.linalg.cond(scaled) > 1e14:
        return np.full(len(scale), np.inf)
    return np.asarray(np.sqrt(np.linalg.inv(scaled).diagonal()) / scale)


def smaller(one: Vector, two: Vector) -> Found:
    """Probability that a play of the first kind has the smaller error, ties counted half.

    >>> smaller(np.array([1.0, 2.0]), np.array([3.0, 4.0]))[0]
    1.0
    """
    below = (one[:, None] < two) + 0.5 * (one[:, None] == two)
    rows, columns = below.mean(axis=1), below.mean(axis=0)
    n = len(one) + len(two) + 2
    spread = rows.var() / len(one) + columns.var() / len(two)
    share = (below.sum() + 1) / (below.size + 2)
    return float(below.mean()), float(np.sqrt(max(spread, share * (1 - share) / n)))


def of(found: Sequence[Told], landscape: str, variance: float, scale: float) -> Told:
    """The agents with one prior on one landscape."""
    (only,) = (
        t
        for t in found
        if (t.landscape, t.prior_variance, t.length_scale) == (landscape, variance, scale)
    )
    return only
