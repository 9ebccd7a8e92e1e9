"""Plays of stochastic UCL agents: exact and linearised estimates, nominal points, BFGS's stops.

The paper's estimates come from BFGS (Matlab's fminunc). On separated choices the log-likelihood has
no maximum: it keeps rising towards a supremum. An optimiser that starts at 0 stops where the
slope falls below its tolerance, and calls it success.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from penchant import UCL, Episode, GaussianNoise, grid, simulate
from penchant._typing import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from penchant.inference.fit_each import fit_each_model
from penchant.inference.linearized_model import (
    LinearizedParameterMap,
    linearized_choices,
    nominal_psi_and_ratios,
)
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.paper import landscape_a
from penchant.result_tables import progress
from penchant.softmax.fit import fit_choices
from penchant.softmax.probabilities import decision_log_likelihoods
from penchant_paper.ensembles import FINITE, Ensemble, fitted, join_ensembles
from penchant_paper.published import GRID, SIMULATION_NOISE_VARIANCE, UCLSetting


def model_of(setting: UCLSetting) -> UCL:
    """Stochastic UCL on the paper's grid, with the length scale and noise of a figure."""
    return UCL(
        locations=grid(*GRID),
        noise_variance=SIMULATION_NOISE_VARIANCE,
        length_scale=setting.length_scale,
    )


def natural_truth(setting: UCLSetting) -> dict[str, float]:
    """nu, mu0, sigma0^2 of the agents of a figure."""
    return {
        "decision_noise": setting.decision_noise,
        "prior_mean": setting.prior.mean,
        "prior_variance": setting.prior.variance,
    }


def simulate_plays(
    setting: UCLSetting, *, rng: np.random.Generator, n_replicates: int, n_decisions: int
) -> list[Episode]:
    """Plays of agents with the true prior of a figure on Landscape A.

    Notes
    -----
    Paper: the landscape of the simulations is not stated. A is assumed, as reconstructed here.
    """
    plays: list[Episode] = simulate(
        landscape_a(*GRID, noise=GaussianNoise(SIMULATION_NOISE_VARIANCE)),
        model_of(setting),
        natural_truth(setting),
        n_decisions=n_decisions,
        n_subjects=n_replicates,
        rng=rng,
    )
    return plays


def first_decisions(episodes: Sequence[Episode], t: int) -> list[Episode]:
    """The first t decisions of every play."""
    return [Episode(e.chosen[:t], e.rewards[:t], subject=e.subject) for e in episodes]


@dataclass(frozen=True, eq=False)
class ExactEstimates:
    """Exact maximum likelihood after the first t decisions, without linearisation.

    Attributes
    ----------
    t
        Decisions used.
    statuses
        How many replicates have each status.
    values
        nu, mu0, sigma0^2 of the converged replicates: (n_converged, 3).
    inside
        Whether each of their 95 % intervals holds the truth.
    """

    t: int
    statuses: dict[str, int]
    values: Matrix
    inside: Matrix

    @property
    def medians(self) -> Vector:
        """Medians over the converged replicates; NaN if there are none."""
        return np.median(self.values, axis=0) if len(self.values) else np.full(3, np.nan)

    @property
    def coverage(self) -> Vector:
        """Share of intervals that hold the truth."""
        return self.inside.mean(axis=0) if len(self.values) else np.full(3, np.nan)


def exact_estimates(
    setting: UCLSetting, episodes: Sequence[Episode], t: int, threads: int | None = None
) -> ExactEstimates:
    """Fit the first t decisions of every play exactly."""
    estimates = fit_each_model(first_decisions(episodes, t), model_of(setting), threads=threads)
    converged = [e.parameters for e in estimates if e.status == "converged"]
    truth = tuple(natural_truth(setting).values())
    values = [[p.estimate for p in found] for found in converged]
    inside = [[p.low <= v <= p.high for p, v in zip(f, truth, strict=True)] for f in converged]
    return ExactEstimates(
        t=t,
        statuses=estimates.counts(),
        values=np.array(values).reshape(-1, 3),
        inside=np.array(inside).reshape(-1, 3),
    )


PLAYS_IN_MEMORY = 50  # plays whose variables are held at a time


def linearized_columns(setting: UCLSetting, episodes: Sequence[Episode]) -> Matrix:
    """x_1, x_2, x_3 of every decision: (n_plays, n_decisions, n_options, 3)."""
    model = model_of(setting)
    psi, ratios = nominal_psi_and_ratios(model, setting.nominal)
    columns = []
    with progress(f"Figure {setting.name[-1]}: beliefs", len(episodes)) as advance:
        for episode in episodes:
            choices = linearized_choices(ProfileProblems(model, ((episode,),)), psi, ratios)
            columns.append(choices.explanatory.reshape(episode.n_events, -1, choices.n_parameters))
            advance(1)
    return np.stack(columns)


def linearized_ensembles(
    setting: UCLSetting,
    episodes: Sequence[Episode],
    at: Sequence[int],
    threads: int | None = None,
) -> tuple[Ensemble, ...]:
    """Linearised estimates from the first t decisions of every play, for some t."""
    truth = np.array(setting.truth)
    parts: list[list[Ensemble]] = [[] for _ in at]
    for first in range(0, len(episodes), PLAYS_IN_MEMORY):
        some = episodes[first : first + PLAYS_IN_MEMORY]
        x = linearized_columns(setting, some)
        chosen = np.stack([episode.chosen for episode in some])
        for found, t in zip(parts, at, strict=True):
            found.append(fitted(x[:, :t], chosen[:, :t], truth, threads))
    return tuple(join_ensembles(found) for found in parts)


MAX_RELATIVE_DIFFERENCE = (
    2.0  # the largest relative difference of positive numbers, and that of no number at all
)


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
        return np.where(
            np.isfinite(found), np.minimum(found, MAX_RELATIVE_DIFFERENCE), MAX_RELATIVE_DIFFERENCE
        )

    @property
    def usable(self) -> BoolVector:
        """Whether each estimate lies inside the model: (2, n_plays)."""
        return np.asarray(np.isfinite(self.natural).all(axis=2))


def compare_nominals(
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
    maps = [
        LinearizedParameterMap(model, *nominal_psi_and_ratios(model, s.nominal), "delta")
        for s, _ in (first, second)
    ]
    with progress("Figures 4 and 5: likelihoods", len(episodes)) as advance:
        for i, episode in enumerate(episodes):
            profiles = ProfileProblems(model, ((episode,),))
            for j, (back, (_, drawn)) in enumerate(zip(maps, (first, second), strict=True)):
                theta = drawn.theta[i]
                if back.is_inside_model(theta):
                    natural[j, i] = back.values(theta)
                    weights, psi = back.weights_and_shape(theta)
                    terms = decision_log_likelihoods(weights, profiles.choices_at(psi))
                    exact[j, i] = terms.sum()
            advance(1)
    linearized = first[1].log_likelihood - second[1].log_likelihood
    return NominalComparison(linearized, exact[0] - exact[1], natural)


@dataclass(frozen=True, eq=False)
class LongerPlays:
    """Linearised estimates of plays beyond the horizon.

    Attributes
    ----------
    t
        Decisions.
    standard_errors
        Of the replicates with a finite estimate: (n_existing, n_parameters).
    """

    t: int
    standard_errors: Matrix

    @property
    def existing(self) -> int:
        """Replicates with a finite estimate."""
        return len(self.standard_errors)


def longer_plays(setting: UCLSetting, episodes: Sequence[Episode]) -> LongerPlays:
    """Linearise whole plays about the nominal point of a figure and fit them."""
    model = model_of(setting)
    psi, ratios = nominal_psi_and_ratios(model, setting.nominal)
    errors = []
    for episode in episodes:
        estimate = fit_choices(
            linearized_choices(ProfileProblems(model, ((episode,),)), psi, ratios), threads=1
        )
        if estimate.status in FINITE:
            errors.append(estimate.standard_errors)
    return LongerPlays(episodes[0].n_events, np.array(errors).reshape(-1, len(ratios) + len(psi)))


@dataclass(frozen=True, eq=False)
class Stopped:
    """Reports of BFGS after the first t decisions of every replicate.

    Attributes
    ----------
    t
        Decisions.
    theta, standard_errors
        (n_t, n_replicates, n_parameters); errors from the inverse Hessian where it stopped.
    log_likelihood, success
        (n_t, n_replicates).
    """

    t: IntVector
    theta: Matrix
    standard_errors: Matrix
    log_likelihood: Matrix
    success: BoolMatrix

    def columns(self, names: Sequence[str]) -> dict[str, Sequence[float]]:
        """Table of medians over the replicates, by number of decisions t."""
        found: dict[str, Sequence[float]] = {
            "t": self.t.tolist(),
            "success": self.success.sum(axis=1).tolist(),
            "log_likelihood": np.median(self.log_likelihood, axis=1).tolist(),
        }
        for a, name in enumerate(names):
            found[f"{name}_median"] = np.median(self.theta[..., a], axis=1).tolist()
            errors = np.median(self.standard_errors[..., a], axis=1)
            found[f"{name}_standard_error_median"] = errors.tolist()
        return found


def bfgs_stops(x: Matrix, chosen: IntVector, at: Sequence[int]) -> Stopped:
    """Run BFGS from 0 on the first t decisions of every replicate, for some t.

    Parameters
    ----------
    x
        Variables of every decision: (n_replicates, n_decisions, n_options, n_parameters).
    chosen
        Options taken: (n_replicates, n_decisions).
    at
        Numbers of decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from penchant_paper.plays import bfgs_stops
    >>> x = np.array([[[[1.0], [0.0]]] * 3])
    >>> found = bfgs_stops(x, np.zeros((1, 3), dtype=int), [3])     # always the first: separated
    >>> found.success, found.theta > 10
    (array([[ True]]), array([[[ True]]]))
    """
    repeats, d = len(x), x.shape[-1]
    theta, errors = np.empty((2, len(at), repeats, d))
    values, success = np.empty((len(at), repeats)), np.empty((len(at), repeats), dtype=bool)
    with progress("BFGS", len(at) * repeats) as advance:
        for i, t in enumerate(at):
            for r in range(repeats):
                here = x[r, :t] - x[r, :t].mean(axis=1, keepdims=True)
                found = optimize.minimize(
                    _negative_log_likelihood,
                    np.zeros(d),
                    (here, chosen[r, :t]),
                    jac=True,
                    method="BFGS",
                )
                theta[i, r], values[i, r], success[i, r] = found.x, -found.fun, found.success
                errors[i, r] = _errors(found.x, here)
                advance(1)
    return Stopped(np.array(at), theta, errors, values, success)


def _probabilities(theta: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    q = np.einsum("kia,a->ki", x, theta)
    q -= q.max(axis=1, keepdims=True)
    p = np.exp(q)
    total = p.sum(axis=1, keepdims=True)
    return q - np.log(total), p / total


def _negative_log_likelihood(theta: Matrix, x: Matrix, chosen: IntVector) -> tuple[float, Matrix]:
    """Minus the log-likelihood, Eq. (5), and its gradient."""
    rows = np.arange(len(chosen))
    log_p, p = _probabilities(theta, x)
    slope = x[rows, chosen].sum(axis=0) - np.einsum("ki,kia->a", p, x)
    return -float(log_p[rows, chosen].sum()), -slope


def _errors(theta: Matrix, x: Matrix) -> Matrix:
    """Roots of the diagonal of the inverse Hessian, Eq. (9); infinite where it has none."""
    _, p = _probabilities(theta, x)
    centred = x - np.einsum("ki,kia->ka", p, x)[:, None]
    information = np.einsum("ki,kia,kib->ab", p, centred, centred)
    scale = np.sqrt(np.maximum(information.diagonal(), np.finfo(float).tiny))
    try:
        variances = np.linalg.inv(information / np.outer(scale, scale)).diagonal()
    except np.linalg.LinAlgError:
        return np.full(len(theta), np.inf)
    return np.asarray(np.sqrt(np.where(variances > 0, variances, np.inf)) / scale)
