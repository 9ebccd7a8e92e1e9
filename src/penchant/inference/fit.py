"""Exact maximum likelihood of a model with shape parameters, and `fit` for everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.estimate import ModelEstimate
from penchant.inference.predicting import as_episodes
from penchant.inference.problem import Point, Problem
from penchant.inference.search import Grid, Peak, best_peak, climb, grid_search
from penchant.models.model import Model
from penchant.softmax.constraints import Constraints
from penchant.softmax.diagnostics import Diagnostics, Status
from penchant.softmax.fit import diagnostics_of, null_log_likelihood, raise_if_wrong, status_of
from penchant.softmax.fit import fit as fit_choices
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.solve import Solution, maximum_likelihood, scaled_inverse

FLAT = 1.92  # log-likelihood that a 95 % interval gives away


def fit(
    data: Choices | Episode | Sequence[Episode],
    model: Model | None = None,
    *,
    parameter_prior: ParameterPrior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Constraints | None = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    strict: bool = False,
    start: Any = None,
    max_steps: int | None = None,
    threads: int | None = None,
) -> Any:
    """Estimate what a decision-maker wants and believes.

    Parameters
    ----------
    data
        `Choices`: decisions described by explanatory variables. Or an `Episode`, or several that
        share their parameters: decisions given as a history of play.
    model
        For episodes: how the history explains the decisions, such as `UCL` or `QLearning`.
    parameter_prior
        `GaussianPrior` or `ScaledPrior` on the weights: the MAP estimate. `ScaledPrior()` is
        recommended for prediction and for small samples.
    method, constraints, covariance, start, max_steps, threads
        For choices only: see `penchant.softmax.fit`.
    strict
        Raise instead of returning an estimate whose status is not "converged" (or "at a bound").

    Returns
    -------
    `Estimate` for choices, `ModelEstimate` for episodes.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(0)
    >>> sets = pn.Choices.from_arrays(rng.normal(size=(500, 4, 2)), None, names=["gain", "risk"])
    >>> choices = pn.simulate_choices(sets, [1.0, -0.5], rng=rng)
    >>> pn.fit(choices)
    <Estimate converged: gain=0.91642, risk=-0.5182>

    A person's prior, from what they chose and received:

    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    >>> truth = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": 1000.0}
    >>> episode = pn.simulate(pn.landscape_a(), model, truth, n_decisions=90, rng=rng)
    >>> pn.fit(episode, model)
    <ModelEstimate converged: decision_noise=4.2218, prior_mean=56.095, prior_variance=1032.8>
    """
    if isinstance(data, Episode) or (
        isinstance(data, (list, tuple)) and data and all(isinstance(e, Episode) for e in data)
    ):
        only = (method, constraints, covariance, start, max_steps)
        if only != ("ml", None, "model", None, None):
            raise DataError(
                "method, constraints, covariance, start and max_steps must be left out with "
                "episodes; got one. They are for Choices."
            )
        if model is None:
            raise DataError(
                "model must be given with episodes; got none. Pass UCL(...) or QLearning(...)."
            )
        return fit_model(as_episodes(data), model, parameter_prior=parameter_prior, strict=strict)
    if model is not None:
        raise DataError(
            f"data must be episodes where a model is given; got {type(data).__name__}. "
            "Make them with Episode(chosen, rewards), or leave the model out."
        )
    return fit_choices(
        data,  # type: ignore[arg-type]  # it says what is wrong with anything else
        parameter_prior=parameter_prior,
        method=method,
        constraints=constraints,
        covariance=covariance,
        strict=strict,
        start=start,
        max_steps=max_steps,
        threads=threads,
    )


def fit_model(
    episodes: Sequence[Episode],
    model: Model,
    *,
    parameter_prior: ParameterPrior | None = None,
    strict: bool = False,
    subject: Any = None,
) -> ModelEstimate:
    """Exact maximum likelihood: the profile over psi is searched, the weights are solved exactly.

    Parameters
    ----------
    episodes
        They share all parameters; beliefs start afresh in each.
    model
        Declares weights, shape parameters and explanatory variables.
    parameter_prior
        Prior on the weights: the maximum is then that of the posterior.
    strict
        Raise unless the status is "converged" or "at a bound".
    """
    problem = Problem(model, tuple(episodes), parameter_prior)
    if not len(problem.chosen):
        raise DataError(
            "episodes must hold at least one decision that is scored; got none. "
            "Check is_choice and scored."
        )
    grid = grid_search(problem)
    best = grid.psi[int(np.argmax(grid.values))]
    lost = is_lost(problem, best)
    peak = climb(problem, best, max_steps=0) if lost else best_peak(problem, grid)
    estimate = estimate_at(problem, grid, peak, subject)
    if strict:
        raise_if_wrong(estimate)
    return estimate


def is_lost(problem: Problem, psi: Vector) -> bool:
    """Whether the weights have no maximum at the best psi of the grid: nothing to climb to."""
    if problem.prior is not None:
        return False
    solution = _existing(problem, problem.choices(psi))
    return solution.recession is not None or not solution.known.complete


def _existing(problem: Problem, choices: Choices) -> Solution:
    """The weights at one psi; separation counts along directions that the model allows only."""
    found = maximum_likelihood(choices, threads=1)
    if found.recession is None or problem.positive is None:
        return found
    return maximum_likelihood(choices, problem.positive, threads=1)


def nothing_known(problem: Problem, subject: Any = None) -> ModelEstimate:
    """The estimate before any decision."""
    names = (*problem.model.weights, *(s.name for s in problem.model.shape))
    d, n = len(problem.model.weights), problem.n_shape
    blank, empty = np.full(len(names), np.nan), np.zeros((0, n))
    middle = problem.bounds.mean(axis=1)
    point = Point(blank[d:], blank[:d], 0.0, 0.0, np.zeros(n), np.full((d, d), np.nan))
    return ModelEstimate(
        status="not identified",
        message="No decision has been made that could tell anything. Observe some.",
        model=problem.model,
        names=names,
        theta=blank,
        covariance=np.full((len(names), len(names)), np.nan),
        log_likelihood=0.0,
        null_log_likelihood=0.0,
        log_posterior=None,
        diagnostics=Diagnostics(0, (), (), 1, None, None, np.inf, 0, np.nan, None, ()),
        n_decisions=0,
        profile=Grid(empty, np.zeros(0), np.zeros((0, d)), (0,) * n),
        peak=Peak(point, middle, np.zeros((n, n)), np.zeros((d, n)), np.zeros(n, bool), 0, False),
        prior=problem.prior,
        subject=subject,
        episodes=problem.episodes,
    )


def estimate_at(problem: Problem, grid: Grid, peak: Peak, subject: Any = None) -> ModelEstimate:
    """Put the peak of a profile into words and numbers for the user."""
    choices = problem.choices(peak.point.psi)
    solution = _inner_solution(problem, choices, peak)
    checks = replace(
        diagnostics_of(solution, choices, has_prior=problem.prior is not None),
        bounds=_bounds(problem, peak),
        iterations=peak.n_steps,
    )
    status, message = _status(problem, grid, peak, solution, checks, choices.names)
    theta = np.concatenate([solution.theta, peak.point.psi])
    covariance = _joint_covariance(problem, peak)
    if problem.positive is not None:
        held = np.flatnonzero(problem.positive.matrix.T @ _touched(problem, peak))
        covariance[held], covariance[:, held] = np.nan, np.nan
    if status in ("not identified", "separated", "stopped early"):
        covariance = np.full_like(covariance, np.nan)
    subjects = {episode.subject for episode in problem.episodes}
    whose = subjects.pop() if subject is None and len(subjects) == 1 else subject
    return ModelEstimate(
        status=status,
        message=message,
        model=problem.model,
        names=(*problem.model.weights, *(s.name for s in problem.model.shape)),
        theta=theta,
        covariance=covariance,
        log_likelihood=(
            solution.log_likelihood if status == "separated" else peak.point.log_likelihood
        ),
        null_log_likelihood=null_log_likelihood(choices),
        log_posterior=None if problem.prior is None else peak.point.value,
        diagnostics=checks,
        n_decisions=len(problem.chosen),
        profile=grid,
        peak=peak,
        prior=problem.prior,
        subject=whose,
        notes=tuple(dict.fromkeys(note for e in problem.episodes for note in e.notes)),
        episodes=problem.episodes,
    )


def _inner_solution(problem: Problem, choices: Choices, peak: Peak) -> Solution:
    """What can be said of the weights at the best psi."""
    found = _existing(problem, choices)
    if problem.prior is None and np.isfinite(found.theta).all():
        return replace(found, theta=peak.point.theta, point=peak.point.theta)
    if problem.prior is None:
        return found
    inverse, condition = scaled_inverse(peak.point.information)
    return replace(
        found,
        theta=peak.point.theta,
        covariance=inverse,
        point=peak.point.theta,
        certainty=inverse,
        condition=condition,
        recession=None,
        resolved=None,
        near=None,
        ending="converged",
        certificate="prior",
    )


def _bounds(problem: Problem, peak: Peak) -> tuple[str, ...]:
    """What holds the estimate: ends of psi's range, weights that must be positive."""
    found = [
        f"{shape.name} = {shape.low if u <= low else shape.high:g}"
        for shape, u, (low, _), held in zip(
            problem.model.shape, peak.u, problem.bounds, peak.at_bound, strict=True
        )
        if held
    ]
    if problem.positive is not None:
        touched = _touched(problem, peak)
        labels = zip(problem.positive.labels, touched, strict=True)
        found += [label for label, held in labels if held]
    return tuple(found)


def _touched(problem: Problem, peak: Peak) -> BoolVector:
    """Weights that must be positive and are 0."""
    assert problem.positive is not None
    return np.asarray(problem.positive.matrix @ peak.point.theta <= 1e-12)


def _status(
    problem: Problem,
    grid: Grid,
    peak: Peak,
    solution: Solution,
    checks: Diagnostics,
    names: tuple[str, ...],
) -> tuple[Status, str]:
    """The worst that can be said, and the sentence that goes with it."""
    inner, sentence = status_of(
        solution, replace(checks, bounds=()), names, problem.prior is not None
    )
    if inner in ("not identified", "separated"):
        advice = sentence.replace("method='firth' or ", "").replace(
            ", or read the profile intervals", ""
        )
        return inner, f"{advice} (At {_words(problem, peak.point.psi)}.)"
    if not peak.converged:
        return "stopped early", (
            f"The search over {_names(problem)} stopped after {peak.n_steps} steps before it "
            "reached a maximum. Look at `profile`."
        )
    if checks.bounds:
        return "at a bound", (
            f"The estimate lies at a bound ({', '.join(checks.bounds)}): the choices do not say "
            "how far beyond. Read the profile intervals, widen the range, or hold it fixed."
        )
    flat = _flat(grid)
    if flat:
        return "weakly identified", (
            f"The profile over {_names(problem)} is flat: it varies by less than {FLAT} log-units "
            "over the whole range, so that every value is in the 95 % interval. Hold it fixed."
        )
    return inner, sentence


def _names(problem: Problem) -> str:
    return " and ".join(shape.name for shape in problem.model.shape)


def _words(problem: Problem, psi: Vector) -> str:
    return ", ".join(f"{s.name} = {v:.4g}" for s, v in zip(problem.model.shape, psi, strict=True))


def _flat(grid: Grid) -> bool:
    """Whether the whole grid lies within what a 95 % interval gives away."""
    values = grid.values[np.isfinite(grid.values)]
    return len(values) > 1 and bool(values.max() - values.min() < FLAT)


def _joint_covariance(problem: Problem, peak: Peak) -> Matrix:
    """Inverse of the joint observed information of weights and psi.

    With C the inverse curvature of the profile and D the derivative of the weights along it, the
    blocks are I^-1 + D C D', D C and C. psi held at a bound has none.
    """
    d, n = len(peak.point.theta), problem.n_shape
    inner, _ = scaled_inverse(peak.point.information)
    free: BoolVector = ~peak.at_bound
    covariance = np.full((d + n, d + n), np.nan)
    covariance[:d, :d] = inner
    if free.any():
        curvature = peak.curvature[np.ix_(free, free)]
        shape, condition = scaled_inverse(curvature)
        if not np.isfinite(condition):
            covariance[:d, :d] = np.nan
            return covariance
        stretch = problem.stretch(peak.point.psi)[free]
        drift = peak.drift[:, free]
        covariance[:d, :d] = inner + drift @ shape @ drift.T
        places = d + np.flatnonzero(free)
        mixed = drift @ shape * stretch
        covariance[np.ix_(np.arange(d), places)] = mixed
        covariance[np.ix_(places, np.arange(d))] = mixed.T
        covariance[np.ix_(places, places)] = shape * np.outer(stretch, stretch)
    return covariance
