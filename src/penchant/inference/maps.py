"""Fits of a model with a map in mind: the width of its prior, and its functions, by evidence.

At fixed shape parameters the map is linear, and its prior in units of rewards is one on weights:
c_k / nu ~ N(0, (sd / nu)^2), with nu plugged in. nu is first that of a fit without a map, and then
that of the map itself, until it stays: a nu that a wrong precision brought about would shrink a map
to nothing and look converged. The precision is looked for over the whole range of prior variances
that rewards make sensible, and then climbed, for each width; a coarse grid alone biases the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
from scipy.optimize import brentq

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.inference.predict import decision_log_likelihoods
from penchant.inference.profile.profiles import Problem
from penchant.inference.search.climb import Climbs, Near, climb_together
from penchant.inference.search.grid import Grid, whole_grids
from penchant.inference.search.peaks import Peak
from penchant.inference.search.search import grid_search
from penchant.inference.status import estimate_at
from penchant.models.model import Declared
from penchant.models.record import rewards_of
from penchant.models.spatial.belief_map import MapFit
from penchant.models.spatial.map_basis import MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.softmax.estimate import Estimate
from penchant.softmax.prior import GaussianPrior, ScaledPrior

WIDTHS = (0.2, 5.0)  # of the prior on a map, in standard deviations of the rewards: the range
PREDICTING = np.geomspace(0.02, 2.0, 7)  # widths that are tried where plays are predicted
CENTRE = 1.2  # width that a map has beforehand, in standard deviations of the rewards,
USUAL = np.log(2.0)  # and how far from it is usual, in logarithms
APART = 1.6  # factor between widths that are weighed by their evidence
UNLIKELY = 4.0  # evidence below the likeliest width's at which a further one is not tried
SIZES = (0, 4, 9, 16, 25, 36, 49)  # numbers of functions that are tried
SPREADS = np.geomspace(20.0, 0.05, 8)  # prior sd of an option, in standard deviations of rewards
LENGTHS = (1.0, 2.5, 6.0)  # length scales to start from, in parts of the usual range's geometry
STAYS = 1.25  # factor within which nu of the map is that which was plugged in
ROUNDS = 4


def fit_map(
    episodes: Sequence[Any], model: Any, prior: MapPrior, subject: Any = None
) -> tuple[Estimate, tuple[MapFit, ...]]:
    """The likeliest estimate, and what every width of the prior makes of the map."""
    check_map(model)
    spread = _spread(episodes)
    if prior.sd == "prediction":
        prior = replace(prior, sd=_predictive_width(episodes, model, prior, spread))
    sizes = [model.prior_map.n]
    if prior.n == "evidence":
        sizes = sorted({n for n in SIZES if n < model.prior_map.n} | {model.prior_map.n})
    nu, _ = _without_map(episodes, model, prior, spread)
    found: list[tuple[Estimate, MapFit]] = []
    for size in sizes:
        own = replace(model, prior_map=model.prior_map.leading(size))
        found += _of_widths(episodes, own, prior, spread, nu, subject)
    best = max(range(len(found)), key=lambda k: found[k][1].log_evidence)
    fits = tuple(fit for _, fit in found)
    if prior.n == "evidence":
        fits = tuple(fit for fit in fits if fit.n == fits[best].n)
    return found[best][0], fits


def _spread(episodes: Sequence[Any]) -> float:
    """Standard deviation of the rewards; 1 where they do not vary, or there are none."""
    rewards = rewards_of(episodes)
    return (float(np.std(rewards)) if len(rewards) else 0.0) or 1.0


def check_map(model: Any) -> None:
    """A prior on maps is of a model that has one."""
    if Declared(model).prior_map is None:
        raise DataError(
            "model must have a prior_map where parameter_prior is a MapPrior; got none. Use "
            "UCL(..., prior_map=MapBasis.smooth(locations))."
        )


def _without_map(
    episodes: Sequence[Any], model: UCL, prior: MapPrior, spread: float
) -> tuple[float, Vector]:
    """nu of a player without a map, of the order of the rewards where there is none; and psi."""
    flat = replace(model, prior_map=None)
    problem = Problem(flat, tuple(episodes), ScaledPrior(prior.others))
    _, best = grid_search(problem.profiles)
    slope = float(best.theta[0, 0])
    return 1.0 / slope if slope > 0 and np.isfinite(slope) else spread, best.psi[0]


def _predictive_width(
    episodes: Sequence[Any], model: UCL, prior: MapPrior, spread: float
) -> float | Literal["evidence"]:
    """The narrowest width that predicts every play from the others as well as the best does.

    Choices of one play hang together in more ways than a model knows, which its evidence takes for
    a map; another play does not share them. As well: within one standard error of the difference.
    """
    told = [episode for episode in episodes if len(episode.scored_options)]
    if len(told) < 2:  # nothing is left to predict
        return "evidence"
    nu, psi = _without_map(told, model, prior, spread)
    bare = Problem(model, tuple(told), ScaledPrior(prior.others))
    x, _ = bare.profiles.variables(np.zeros(1, dtype=np.int64), psi[None], False)
    scores = []
    for width in spread * PREDICTING:
        weights = _weights_prior(x, model, prior, width / nu)
        score = []
        for k, left_out in enumerate(told):
            others = tuple(told[:k] + told[k + 1 :])
            profiles = Problem(model, others, weights).profiles
            points = profiles.solve(np.zeros(1, dtype=np.int64), psi[None], with_slopes=False)
            score.append(decision_log_likelihoods(model, (left_out,), points.theta[0], psi))
        scores.append(np.concatenate(score))
    every = np.array(scores)
    less = every[int(np.argmax(every.sum(axis=1)))] - every
    as_well = less.sum(axis=1) <= less.std(axis=1) * np.sqrt(every.shape[1])
    return float(spread * PREDICTING[int(np.argmax(as_well))])


def _of_widths(
    episodes: Sequence[Any],
    model: UCL,
    prior: MapPrior,
    spread: float,
    nu: float,
    subject: Any,
) -> list[tuple[Estimate, MapFit]]:
    """Estimates at the likeliest width of the prior, and around it if it is not known."""
    is_known = prior.sd != "evidence" or not model.n_functions
    middle = float(prior.sd) if prior.sd != "evidence" else spread
    problem, climbs = _climbed(episodes, model, prior, middle, nu, None)
    for _ in range(ROUNDS):
        peak = climbs.peaks()[0]
        seen = 1.0 / float(peak.point.theta[0]) if peak.point.theta[0] > 0 else nu
        width = middle if is_known else _likelier(model, peak, middle, nu, spread)
        if all(1 / STAYS <= ratio <= STAYS for ratio in (seen / nu, width / middle)):
            break
        nu, middle = seen, width
        problem, climbs = _climbed(episodes, model, prior, middle, nu, peak)
    climbs.finish()
    peak = climbs.peaks()[0]
    beforehand = 0.0 if is_known else spread
    found = [_of_width(problem, peak, middle, nu, beforehand, subject)]
    if is_known:
        return found

    def at(width: float) -> tuple[Estimate, MapFit]:
        other, climbs = _climbed(episodes, model, prior, width, nu, peak)
        climbs.finish()
        return _of_width(other, climbs.peaks()[0], width, nu, beforehand, subject)

    while True:
        evidence = [fit.log_evidence for _, fit in found]
        if not np.isfinite(evidence).all():  # no width is likelier where nothing is told
            return found
        beyond = (
            (_foreseen(evidence), found[0][1].sd / APART),
            (_foreseen(evidence[::-1]), found[-1][1].sd * APART),
        )
        likely = [width for log, width in beyond if log >= max(evidence) - UNLIKELY]
        likely = [width for width in likely if WIDTHS[0] <= width / spread <= WIDTHS[1]]
        if not likely:
            return found
        found = sorted([*found, *map(at, likely)], key=lambda of_width: of_width[1].sd)


def _foreseen(evidence: list[float]) -> float:
    """Evidence of the width beyond the first: on the parabola of three, or that of the first."""
    if len(evidence) < 3:
        return evidence[0]
    return 3 * evidence[0] - 3 * evidence[1] + evidence[2]


def _of_width(
    problem: Problem, peak: Peak, width: float, nu: float, spread: float, subject: Any
) -> tuple[Estimate, MapFit]:
    """The estimate at the peak of one width, and its map with its evidence.

    The evidence counts how usual the width is where the spread of the rewards is given.
    """
    estimate = estimate_at(problem, _later(problem), peak, subject)
    weights = problem.prior
    assert isinstance(weights, GaussianPrior)
    evidence = _log_evidence(estimate, weights)
    if spread:
        evidence -= 0.5 * (np.log(width / (CENTRE * spread)) / USUAL) ** 2
    model = cast(UCL, problem.model)
    return estimate, MapFit.of(model, estimate.theta, estimate.covariance, width, evidence, nu)


def _likelier(model: UCL, peak: Peak, width: float, nu: float, spread: float) -> float:
    """A width of the prior with more evidence: as the coefficients that are told, and as usual."""
    theta = peak.point.theta
    if theta[0] <= 0:
        return width
    where = model.map_weights
    coefficients = theta[where] * nu
    left = np.diag(np.linalg.inv(peak.point.information))[where] * nu**2
    told = float((1.0 - np.minimum(left / width**2, 1.0)).sum())
    squares = float((coefficients**2).sum()) / spread**2

    def slope(log: float) -> float:
        """Of evidence and prior in the logarithm of the width, which falls."""
        return float(squares * np.exp(-2 * log) - told - (log - np.log(CENTRE)) / USUAL**2)

    low, high = np.log(WIDTHS)
    if slope(low) <= 0:
        return WIDTHS[0] * spread
    if slope(high) >= 0:
        return WIDTHS[1] * spread
    return spread * float(np.exp(brentq(slope, low, high)))


def _later(problem: Problem) -> Callable[[], Grid]:
    """The grid of a problem when somebody asks for it."""
    return lambda: whole_grids(problem.profiles)[0]


def _climbed(
    episodes: Sequence[Any],
    model: UCL,
    prior: MapPrior,
    width: float,
    nu: float,
    near: Peak | None,
) -> tuple[Problem, Climbs]:
    """A climb to the peak for one width; from a coarse look at all, or from another.

    It has come there but for what its curvature needs, which is not asked of every width.
    """
    psi = _places(episodes, model) if near is None else near.point.psi[None]
    bare = Problem(model, tuple(episodes), ScaledPrior(prior.others))
    x, _ = bare.profiles.variables(np.zeros(1, dtype=np.int64), psi[len(psi) // 2][None], False)
    weights = _weights_prior(x, model, prior, width / nu)
    problem = Problem(model, tuple(episodes), weights)
    start = None if near is None else Near.of(near)
    if near is None:
        whose = np.zeros(len(psi), dtype=np.int64)
        points = problem.profiles.solve(whose, psi, with_slopes=False, patient=False)
        psi = psi[[int(np.nanargmax(points.value))]]
    only = np.zeros(1, dtype=np.int64)
    climbs = climb_together(problem.profiles, only, psi, start, finish=False)
    climbs.step_once_more()
    return problem, climbs


def _places(episodes: Sequence[Any], model: UCL) -> Matrix:
    """Shape parameters over all that the rewards make sensible."""
    spread = _spread(episodes)
    delta = model.noise_variance / (spread * SPREADS) ** 2
    delta = np.clip(delta, model.precision_range[0] * 1.001, model.precision_range[1] / 1.001)
    if model.length_scale is not None:
        return delta[:, None]
    low, high = model.shape[1].low, model.shape[1].high
    scales = np.clip(5 * low * np.array(LENGTHS), low, high)
    return np.array([[d, s] for s in scales for d in delta])


def _weights_prior(x: Matrix, model: UCL, prior: MapPrior, ratio: float) -> GaussianPrior:
    """The prior on weights: the map's as its width says, others nearly flat on scaled variables."""
    away = x - x.mean(axis=1, keepdims=True)
    size = np.sqrt((away**2).mean(axis=(0, 1)))
    variances = 1.0 / (prior.others * np.where(size > 0, size, 1.0) ** 2)
    variances[model.map_weights] = ratio**2
    return GaussianPrior(np.zeros(len(variances)), variances)


def _log_evidence(estimate: Estimate, prior: GaussianPrior) -> float:
    """Laplace's: the posterior at its peak, and how wide it is; flat in the logarithm of psi."""
    if estimate.log_posterior is None or not np.isfinite(estimate.theta).all():
        return -np.inf
    scale = np.concatenate([np.ones(estimate.n_weights), estimate.psi])
    covariance = estimate.covariance / np.outer(scale, scale)
    known = np.isfinite(np.diag(covariance))
    inside = covariance[np.ix_(known, known)]
    sd = np.sqrt(np.diag(inside))
    _, determinant = np.linalg.slogdet(inside / np.outer(sd, sd))
    wide = 0.5 * (determinant + 2 * np.log(sd).sum() + known.sum() * np.log(2 * np.pi))
    constant = prior.quadratic(estimate.n_weights, None).constant  # an objective goes without it
    return float(estimate.log_posterior + constant + wide)
