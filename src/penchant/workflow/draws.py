"""Parameters drawn from what a fit leaves uncertain."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from penchant._typing import BoolVector, Matrix, Vector
from penchant.arguments import check_rng, whole_number
from penchant.bandit.episode import learnt_from
from penchant.errors import DataError
from penchant.models.model import natural_parameters, positive_weights
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import check_estimates
from penchant.wording import weak_prior

MOST_TRIES = 1000  # draws for every one that is kept


def parameter_draws(estimate: Estimate, n_draws: int, *, rng: np.random.Generator) -> Matrix:
    """Weights and shape parameters drawn around an estimate: (n_draws, n_parameters).

    Normal with the joint covariance of the estimate, shape parameters on the scale of their search
    (the logarithm for positive ones), and cut off where the model ends: weights that must be
    positive are, shape parameters stay in their range. A parameter at a bound stays there.

    Parameters
    ----------
    estimate
        Of a fit with standard errors.
    n_draws
        How many.
    rng
        Source of randomness.
    """
    whole_number(n_draws, "n_draws", 1)
    check_estimates(estimate)
    check_rng(rng)
    d = estimate.n_weights
    stretch = np.array(
        [s.stretch(v) for s, v in zip(estimate.model.shape, estimate.psi, strict=True)]
    )
    unit = np.concatenate([np.ones(d), stretch])
    centre = np.concatenate([estimate.weights, _to_search(estimate.model, estimate.psi)])
    free = _uncertain(estimate)
    covariance = (estimate.covariance / np.outer(unit, unit))[np.ix_(free, free)]
    root = _root(covariance)
    kept: list[Matrix] = []
    count = tried = 0
    while count < n_draws:
        batch = np.tile(centre, (2 * n_draws, 1))
        batch[:, free] += rng.standard_normal((len(batch), int(free.sum()))) @ root.T
        valid = batch[_is_valid(estimate.model, batch, d, free)]
        kept.append(valid)
        count, tried = count + len(valid), tried + len(batch)
        if tried > MOST_TRIES * n_draws:
            raise DataError(
                "estimate must leave parameters mostly inside their ranges; got one whose "
                "uncertainty is far wider. Hold a parameter fixed, or collect more decisions."
            )
    draws = np.concatenate(kept)[:n_draws]
    for q, shape in enumerate(estimate.model.shape):
        inside = shape.from_search(draws[:, d + q])
        draws[:, d + q] = inside if free[d + q] else estimate.psi[q]
    return draws


def natural_draws(estimate: Estimate, draws: Matrix) -> list[dict[str, float]]:
    """The natural parameters of draws, by name, as simulations take them."""
    d, every = estimate.n_weights, natural_parameters(estimate.model)
    return [{n.name: n.value(draw[:d], draw[d:]) for n in every} for draw in draws]


def log_likelihood_draws(estimate: Estimate, n_draws: int, *, rng: np.random.Generator) -> Matrix:
    """Log-probability of every decision scored, for parameters drawn: (n_draws, n_decisions).

    For tools that work with draws from a posterior. The draws are of the normal approximation, so
    fit with a prior: `parameter_prior=ScaledPrior()`. ArviZ takes them as
    `arviz.from_dict(log_likelihood={"choice": draws[None]}, posterior=...)` for `arviz.loo`.

    Parameters
    ----------
    estimate
        Of a fit whose episodes are at hand.
    n_draws
        How many draws.
    rng
        Source of randomness.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> episode = pn.Episode([0, 1, 1, 0, 1, 1], [0.0, 1.0, 0.4, 0.2, 0.9, 0.7])
    >>> estimate = pn.fit(episode, pn.models.RandomChoice(2), parameter_prior=pn.ScaledPrior())
    >>> pn.results.log_likelihood_draws(estimate, 50, rng=np.random.default_rng(0)).shape
    (50, 6)
    """
    if estimate.episodes is None:
        raise DataError(
            "episodes must be at hand for log-likelihoods of the data; got none, as they are not "
            "stored with an estimate. Fit again."
        )
    d, found = estimate.n_weights, []
    for draw in parameter_draws(estimate, n_draws, rng=rng):
        parts = []
        for episode in estimate.episodes:
            log_p = log_choice_probabilities(estimate.model, episode, draw[:d], draw[d:])
            scored = np.flatnonzero(episode.scored)
            parts.append(log_p[scored, episode.chosen[scored]])
        found.append(np.concatenate(parts))
    return np.array(found)


def log_choice_probabilities(model: Any, episode: Any, theta: Vector, psi: Vector) -> Matrix:
    """Of every option at every event: (n_events, n_options)."""
    q = np.asarray(model.explanatory(learnt_from(episode), *psi)) @ theta
    available = getattr(episode, "available", None)
    if available is not None:
        q = np.where(available, q, -np.inf)
    q = q - q.max(axis=1, keepdims=True)
    return np.asarray(q - np.log(np.exp(q).sum(axis=1, keepdims=True)))


def _uncertain(estimate: Estimate) -> BoolVector:
    """Parameters that have a standard error; those at a bound have none."""
    free = np.isfinite(np.diag(estimate.covariance))
    held = "at a bound" if estimate.status == "at a bound" else ""
    if not np.isfinite(estimate.theta).all() or not (free.all() or (held and free.any())):
        raise DataError(
            f"estimate must have standard errors to draw from; got status {estimate.status!r}. Fit "
            f"with {weak_prior()}, or hold a shape parameter fixed."
        )
    return free


def _root(covariance: Matrix) -> Matrix:
    """A square root of the covariance, scaled first so that units do not matter."""
    sd = np.sqrt(np.diag(covariance))
    values, vectors = linalg.eigh(covariance / np.outer(sd, sd))
    return np.asarray(sd[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _to_search(model: Any, psi: Vector) -> Vector:
    return np.array([float(s.to_search(v)) for s, v in zip(model.shape, psi, strict=True)])


def _is_valid(model: Any, draws: Matrix, d: int, free: BoolVector) -> BoolVector:
    positive = [a for a in positive_weights(model) if free[a]]
    valid = (draws[:, positive] > 0).all(axis=1)
    for q, shape in enumerate(model.shape):
        if free[d + q]:
            low, high = shape.search_range
            valid &= (draws[:, d + q] >= low) & (draws[:, d + q] <= high)
    return np.asarray(valid)
