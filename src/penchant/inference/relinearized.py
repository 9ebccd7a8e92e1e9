"""Re-linearisation: the paper's estimator repeated until nothing moves, which is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penchant._typing import Vector
from penchant.bandit.episode import Episode
from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit import fit_model
from penchant.inference.linearized import linearized_choices
from penchant.inference.nominal import Nominal, nominal_point
from penchant.inference.peaks import Peak
from penchant.inference.predicting import as_episodes
from penchant.inference.problem import Problem
from penchant.inference.search import best_peaks, climb, grid_search
from penchant.inference.verdicts import are_lost, estimate_at
from penchant.models.model import Model
from penchant.softmax.fit import fit as fit_choices

LOWER = 1e-6  # log-units by which an end is not the highest peak


def relinearize(
    episodes: Episode | Sequence[Episode], model: Model, *, nominal: Nominal, max_steps: int = 200
) -> ModelEstimate:
    """Linearise again about the last estimate until nothing moves: the exact estimate.

    Each step is halved until the exact likelihood rises. That ends at a peak of the exact
    likelihood, from a bad nominal point not always the highest one: the grid of the exact fit is
    looked at in the end, and a note says so if it had to help.

    Parameters
    ----------
    episodes, model, nominal
        As in `fit_linearized`.
    max_steps
        Linearisations allowed.
    """
    problem = Problem(model, as_episodes(episodes))
    psi, _ = nominal_point(model, nominal)
    if not len(problem.chosen) or not problem.n_shape:
        return fit_model(problem.episodes, model)  # says what is missing; nothing to linearise
    profiles = problem.profiles
    grids, best = grid_search(profiles)
    lost = are_lost(profiles, best)
    if lost[0]:
        return estimate_at(problem, grids.of(0), best_peaks(profiles, grids, lost)[0])
    reached = _repeated(problem, psi, max_steps)
    peak = best_peaks(profiles, grids, lost, reached.alone())[0]
    estimate = estimate_at(problem, grids.of(0), peak)
    if peak.point.value <= reached.point.value + LOWER:
        return estimate
    note = (
        f"Re-linearisation from this nominal point ended at a lower peak, with log-likelihood "
        f"{reached.point.log_likelihood:.4f}; the grid of the exact fit found this one."
    )
    return replace(estimate, notes=(*estimate.notes, note))


def _repeated(problem: Problem, psi: Vector, max_steps: int) -> Peak:
    """Where the iteration from psi ends."""
    low, high = problem.bounds[:, 0], problem.bounds[:, 1]
    u = np.clip(problem.to_search(psi), low, high)
    value, theta = _exact(problem, u)
    for _ in range(max_steps):
        step = _linearized_step(problem, u, theta)
        trial = None
        while float(np.abs(step).max()) > 1e-10:
            at = np.clip(u + step, low, high)
            trial = _exact(problem, at)
            if trial[0] > value:
                break
            trial, step = None, step / 2
        if trial is None:
            break
        u, (value, theta) = at, trial
    return climb(problem, problem.from_search(u))


def _exact(problem: Problem, u: Vector) -> tuple[float, Vector]:
    found = problem.inner(problem.choices(problem.from_search(u)))
    return found.value, found.theta


def _linearized_step(problem: Problem, u: Vector, theta: Vector) -> Vector:
    """Deviation of psi that the linearised model asks for, in search units, at most 2."""
    psi = problem.from_search(u)
    if not theta[0] > 0:
        return np.full(len(psi), 0.5)
    choices = linearized_choices(problem, psi, theta / theta[0])
    found = fit_choices(choices)
    if not np.isfinite(found.theta).all() or found.theta[0] <= 0:
        return np.full(len(psi), 0.5)
    deviation = found.theta[len(theta) :] / found.theta[0]
    step = deviation / problem.stretch(psi)
    return np.asarray(np.clip(step, -2.0, 2.0))
