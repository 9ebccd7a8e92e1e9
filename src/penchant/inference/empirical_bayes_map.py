"""Empirical Bayes fits of a model with a map: width of its prior and its basis, by evidence.

At fixed shape parameters the map is linear, and its prior in units of rewards is one on weights:
c_k / nu ~ N(0, (sd / nu)^2), with nu plugged in. nu is first that of a fit without a map, and then
that of the map itself, until it stays: a nu that a wrong precision brought about would shrink a map
to nothing and look converged. The precision is searched over the whole range of prior variances
that rewards make sensible, and then maximized by Newton's method, for each width; a coarse grid
alone biases the level. Evidence is Laplace's approximation (MacKay 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
from scipy.optimize import brentq

from penchant._typing import Label, Matrix, Vector
from penchant.errors import DataError
from penchant.inference.belief_map import MapFit
from penchant.inference.predict import decision_log_likelihoods
from penchant.inference.profile.profile_likelihood import FINITE_VALUES, VALUES, ProfileProblems
from penchant.inference.search.local_maxima import Optima
from penchant.inference.search.multistart import grids_and_best_cells
from penchant.inference.search.projected_newton import BatchNewton, WarmStart, newton_batch
from penchant.inference.subject_estimates import estimates_at
from penchant.models.model import Declared
from penchant.models.setting_warnings import received_rewards
from penchant.models.spatial.map_basis import MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.softmax.estimate import Estimate
from penchant.softmax.prior import GaussianPrior, ScaledPrior

# Widths of a map's prior, in sd of the rewards: a narrower one leaves no map, a wider one is flat.
WIDTH_RANGE = (0.2, 5.0)
# Widths compared by cross-validation, from practically no map on, which may predict best.
CV_WIDTHS = np.geomspace(0.02, 2.0, 7)
# Log-normal prior on the width: a map varies about as much as the rewards, within a factor of two.
WIDTH_PRIOR_MEDIAN = 1.2
WIDTH_PRIOR_LOG_SD = np.log(2.0)
# Ratio of widths averaged by evidence: finer ones change no average, but each is a fit.
WIDTH_RATIO = 1.6
# Log-units below the likeliest width at which widths are left out: they have e^-4 of its weight.
MAX_EVIDENCE_DEFICIT = 4.0
# Numbers of basis functions compared: squares, because they lie on a square grid.
BASIS_SIZES = (0, 4, 9, 16, 25, 36, 49)
# Starts of an option's prior sd, in sd of the rewards: too narrow a range biases the level.
START_PRIOR_SDS = np.geomspace(20.0, 0.05, 8)
# Starts of the length scale, in five lower bounds: profiles may have several maxima along it.
START_LENGTHS = (1.0, 2.5, 6.0)
# Factor within which nu of the map must agree with the prior's. Smaller: more fits; larger: bias.
NU_TOL = 1.25
MAX_NU_ROUNDS = 4  # fixed-point iterations of nu and width: two are usual, and they may alternate


def fit_map_by_evidence(
    episodes: Sequence[Any], model: Any, prior: MapPrior, subject: Label = None
) -> tuple[Estimate, tuple[MapFit, ...]]:
    """Estimate with the most evidence, and the map of every width of the prior."""
    check_map(model)
    spread = _reward_sd(episodes)
    if prior.sd == "prediction":
        prior = replace(prior, sd=_predictive_width(episodes, model, prior, spread))
    sizes = [model.prior_map.n]
    if prior.n == "evidence":
        sizes = sorted({n for n in BASIS_SIZES if n < model.prior_map.n} | {model.prior_map.n})
    nu, _ = _nu_and_psi_without_map(episodes, model, prior, spread)
    found: list[tuple[Estimate, MapFit]] = []
    for size in sizes:
        own = replace(model, prior_map=model.prior_map.leading(size))
        found += _fit_widths(episodes, own, prior, spread, nu, subject)
    best = max(range(len(found)), key=lambda k: found[k][1].log_evidence)
    fits = tuple(fit for _, fit in found)
    if prior.n == "evidence":
        fits = tuple(fit for fit in fits if fit.n == fits[best].n)
    return found[best][0], fits


def _reward_sd(episodes: Sequence[Any]) -> float:
    rewards = received_rewards(episodes)
    return (float(np.std(rewards)) if len(rewards) else 0.0) or 1.0


def check_map(model: Any) -> None:
    """Raise an error unless the model has a map."""
    if Declared(model).prior_map is None:
        raise DataError(
            "model",
            "must have a prior_map where parameter_prior is a MapPrior",
            got="none",
            fix="Use UCL(..., prior_map=MapBasis.smooth(locations)).",
        )


def _nu_and_psi_without_map(
    episodes: Sequence[Any], model: UCL, prior: MapPrior, spread: float
) -> tuple[float, Vector]:
    """nu of a player without a map, of the order of the rewards where there is none; and psi."""
    flat = replace(model, prior_map=None)
    profiles = ProfileProblems(flat, (tuple(episodes),), ScaledPrior(prior.others))
    _, best = grids_and_best_cells(profiles)
    slope = float(best.theta[0, 0])
    return 1.0 / slope if slope > 0 and np.isfinite(slope) else spread, best.psi[0]


def _predictive_width(
    episodes: Sequence[Any], model: UCL, prior: MapPrior, spread: float
) -> float | Literal["evidence"]:
    """Narrowest width that predicts every play from the others as well as the best does.

    Choices of one play hang together in more ways than a model knows, which its evidence takes for
    a map; another play does not share them. As well: within one standard error of the difference
    (the one-standard-error rule of Breiman et al. 1984).
    """
    scored = [episode for episode in episodes if len(episode.scored_options)]
    # Cross-validation leaves a play out: of a single one none would be left to fit.
    if len(scored) < 2:
        return "evidence"
    nu, psi = _nu_and_psi_without_map(scored, model, prior, spread)
    bare = ProfileProblems(model, (tuple(scored),), ScaledPrior(prior.others))
    x, _ = bare.variables(np.zeros(1, dtype=np.int64), psi[None], False)
    scores = []
    for width in spread * CV_WIDTHS:
        weights = _weights_prior(x, model, prior, width / nu)
        score = []
        for k, left_out in enumerate(scored):
            others = tuple(scored[:k] + scored[k + 1 :])
            profiles = ProfileProblems(model, (others,), weights)
            points = profiles.solve(np.zeros(1, dtype=np.int64), psi[None], accuracy=VALUES)
            score.append(decision_log_likelihoods(model, (left_out,), points.theta[0], psi))
        scores.append(np.concatenate(score))
    every = np.array(scores)
    less = every[int(np.argmax(every.sum(axis=1)))] - every
    as_well = less.sum(axis=1) <= less.std(axis=1) * np.sqrt(every.shape[1])
    return float(spread * CV_WIDTHS[int(np.argmax(as_well))])


def _fit_widths(
    episodes: Sequence[Any], model: UCL, prior: MapPrior, spread: float, nu: float, subject: Label
) -> list[tuple[Estimate, MapFit]]:
    is_known = prior.sd != "evidence" or not model.n_functions
    middle = float(prior.sd) if prior.sd != "evidence" else spread
    profiles, newton = _maximize_at_width(episodes, model, prior, middle, nu, None)
    for _ in range(MAX_NU_ROUNDS):
        optimum = newton.optima()
        slope = float(optimum.points.theta[0, 0])
        seen = 1.0 / slope if slope > 0 else nu
        width = middle if is_known else _next_prior_width(model, optimum, middle, nu, spread)
        if all(1 / NU_TOL <= ratio <= NU_TOL for ratio in (seen / nu, width / middle)):
            break
        nu, middle = seen, width
        profiles, newton = _maximize_at_width(episodes, model, prior, middle, nu, optimum)
    newton.take_final_steps()
    optimum = newton.optima()
    prior_spread = 0.0 if is_known else spread
    found = [_fit_at_width(profiles, optimum, middle, nu, prior_spread, subject)]
    if is_known:
        return found

    def fit_of_width(width: float) -> tuple[Estimate, MapFit]:
        other, newton = _maximize_at_width(episodes, model, prior, width, nu, optimum)
        newton.take_final_steps()
        return _fit_at_width(other, newton.optima(), width, nu, prior_spread, subject)

    while True:
        evidence = [fit.log_evidence for _, fit in found]
        # Without a finite estimate there is no evidence, and widths cannot be compared.
        if not np.isfinite(evidence).all():
            return found
        beyond = (
            (_extrapolate_evidence(evidence), found[0][1].sd / WIDTH_RATIO),
            (_extrapolate_evidence(evidence[::-1]), found[-1][1].sd * WIDTH_RATIO),
        )
        likely = [width for log, width in beyond if log >= max(evidence) - MAX_EVIDENCE_DEFICIT]
        likely = [width for width in likely if WIDTH_RANGE[0] <= width / spread <= WIDTH_RANGE[1]]
        if not likely:
            return found
        found = sorted([*found, *map(fit_of_width, likely)], key=lambda of_width: of_width[1].sd)


def _extrapolate_evidence(evidence: list[float]) -> float:
    """Evidence of the width beyond the first: on the parabola of three, or that of the first."""
    if len(evidence) < 3:
        return evidence[0]
    return 3 * evidence[0] - 3 * evidence[1] + evidence[2]


def _fit_at_width(
    profiles: ProfileProblems,
    optimum: Optima,
    width: float,
    nu: float,
    spread: float,
    subject: Label,
) -> tuple[Estimate, MapFit]:
    """Estimate at the optimum of one width, and its map with its evidence.

    The evidence includes the prior of the width where the spread of the rewards is given.
    """
    # Its grid lies far below the optimum and is rarely needed: it is computed on demand.
    (estimate,) = estimates_at(profiles, None, optimum, [subject])
    weights = profiles.prior
    assert isinstance(weights, GaussianPrior)
    evidence = _log_evidence(estimate, weights)
    if spread:
        evidence -= 0.5 * (np.log(width / (WIDTH_PRIOR_MEDIAN * spread)) / WIDTH_PRIOR_LOG_SD) ** 2
    model = cast(UCL, profiles.model)
    return estimate, MapFit.from_estimate(
        model, estimate.theta, estimate.covariance, width, evidence, nu
    )


def _next_prior_width(model: UCL, optimum: Optima, width: float, nu: float, spread: float) -> float:
    """Width with more evidence: MacKay's update by the effective number of coefficients."""
    theta = optimum.points.theta[0]
    if theta[0] <= 0:
        return width
    where = model.map_weights
    coefficients = theta[where] * nu
    posterior_variance = np.diag(np.linalg.inv(optimum.points.information[0]))[where] * nu**2
    scored = float((1.0 - np.minimum(posterior_variance / width**2, 1.0)).sum())
    squares = float((coefficients**2).sum()) / spread**2

    def slope(log: float) -> float:
        """Derivative of log-evidence and log-prior in the logarithm of the width; decreasing."""
        return float(
            squares * np.exp(-2 * log)
            - scored
            - (log - np.log(WIDTH_PRIOR_MEDIAN)) / WIDTH_PRIOR_LOG_SD**2
        )

    low, high = np.log(WIDTH_RANGE)
    if slope(low) <= 0:
        return WIDTH_RANGE[0] * spread
    if slope(high) >= 0:
        return WIDTH_RANGE[1] * spread
    return spread * float(np.exp(brentq(slope, low, high)))


def _maximize_at_width(
    episodes: Sequence[Any],
    model: UCL,
    prior: MapPrior,
    width: float,
    nu: float,
    start_optimum: Optima | None,
) -> tuple[ProfileProblems, BatchNewton]:
    """Newton's method to the optimum for one width, from a coarse grid or another optimum.

    The Hessian is left to the caller: it is not needed of every width.
    """
    psi = _start_psi(episodes, model) if start_optimum is None else start_optimum.points.psi
    bare = ProfileProblems(model, (tuple(episodes),), ScaledPrior(prior.others))
    x, _ = bare.variables(np.zeros(1, dtype=np.int64), psi[len(psi) // 2][None], False)
    weights = _weights_prior(x, model, prior, width / nu)
    profiles = ProfileProblems(model, (tuple(episodes),), weights)
    warm_start = None if start_optimum is None else WarmStart.from_optimum(start_optimum)
    if start_optimum is None:
        subjects = np.zeros(len(psi), dtype=np.int64)
        points = profiles.solve(subjects, psi, accuracy=FINITE_VALUES)
        psi = psi[[int(np.nanargmax(points.value))]]
    only = np.zeros(1, dtype=np.int64)
    newton = newton_batch(profiles, only, psi, warm_start, finish=False)
    newton.take_negligible_step()
    return profiles, newton


def _start_psi(episodes: Sequence[Any], model: UCL) -> Matrix:
    spread = _reward_sd(episodes)
    delta = model.noise_variance / (spread * START_PRIOR_SDS) ** 2
    delta = np.clip(delta, model.precision_range[0] * 1.001, model.precision_range[1] / 1.001)
    if model.length_scale is not None:
        return delta[:, None]
    low, high = model.shape[1].low, model.shape[1].high
    scales = np.clip(5 * low * np.array(START_LENGTHS), low, high)
    return np.array([[d, s] for s in scales for d in delta])


def _weights_prior(x: Matrix, model: UCL, prior: MapPrior, ratio: float) -> GaussianPrior:
    """Prior on weights: the map's of the given width, others nearly flat on scaled variables."""
    away = x - x.mean(axis=1, keepdims=True)
    size = np.sqrt((away**2).mean(axis=(0, 1)))
    variances = 1.0 / (prior.others * np.where(size > 0, size, 1.0) ** 2)
    variances[model.map_weights] = ratio**2
    return GaussianPrior(np.zeros(len(variances)), variances)


def _log_evidence(estimate: Estimate, prior: GaussianPrior) -> float:
    """Laplace approximation of the log-evidence, with a flat prior on the logarithm of psi."""
    if estimate.log_posterior is None or not np.isfinite(estimate.theta).all():
        return -np.inf
    scale = np.concatenate([np.ones(estimate.n_weights), estimate.psi])
    covariance = estimate.covariance / np.outer(scale, scale)
    known = np.isfinite(np.diag(covariance))
    inside = covariance[np.ix_(known, known)]
    sd = np.sqrt(np.diag(inside))
    _, determinant = np.linalg.slogdet(inside / np.outer(sd, sd))
    wide = 0.5 * (determinant + 2 * np.log(sd).sum() + known.sum() * np.log(2 * np.pi))
    # Objectives leave out the prior's normalising constant, which differs between widths.
    constant = prior.quadratic(estimate.n_weights, None).constant
    return float(estimate.log_posterior + constant + wide)
