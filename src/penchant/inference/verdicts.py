"""What can be said of the peaks of profiles: status, sentence, covariance, for many subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant._typing import BoolVector, Matrix
from penchant.choices import Choices
from penchant.inference.climbing import Peak, pseudoinverse
from penchant.inference.estimate import ModelEstimate
from penchant.inference.grids import Grid
from penchant.inference.problem import Point, Problem
from penchant.inference.profiles import Points, Profiles
from penchant.inference.proofs import Proofs
from penchant.softmax.diagnostics import Diagnostics, Status
from penchant.softmax.fit import diagnostics_of, status_of
from penchant.softmax.solve import Solution, maximum_likelihood, scaled_inverse

FLAT = 1.92  # log-likelihood that a 95 % interval gives away
LEVEL = 0.01  # log-likelihood that is not worth a search
REACHED = "The maximum exists and was reached."
KINK = (
    "The profile has a kink at its maximum, where a reward equals the value of its option: it falls "
    "to all sides, but has no curvature there to take standard errors from. Read the profile "
    "intervals."
)
USELESS = ("not identified", "separated", "stopped early")


def are_lost(profiles: Profiles, points: Points) -> BoolVector:
    """Whether the weights have no maximum at the best psi of the grid: nothing to climb to."""
    lost = np.zeros(len(points), dtype=bool)
    if profiles.prior is not None:
        return lost
    for k in np.flatnonzero(~Proofs.of(profiles, points, thorough=False).exists):
        problem = Problem(profiles.model, profiles.groups[points.subject[k]])
        solution = _existing(problem, problem.choices(points.psi[k]))
        lost[k] = solution.recession is not None or not solution.known.complete
    return lost


def _existing(problem: Problem, choices: Choices) -> Solution:
    """The weights at one psi; separation counts along directions that the model allows only."""
    found = maximum_likelihood(choices, threads=1)
    if found.recession is None or problem.positive is None:
        return found
    return maximum_likelihood(choices, problem.positive, threads=1)


def estimates_at(
    profiles: Profiles,
    grids: Sequence[Grid | Callable[[], Grid]],
    peaks: Sequence[Peak],
    subjects: Sequence[Any],
) -> list[ModelEstimate]:
    """Put the peaks of profiles into words and numbers for the user.

    A grid known to be far below the peak may be given as what computes it when it is asked for.
    """
    theta = np.stack([peak.point.theta for peak in peaks])
    points = Points.joined([peak.points for peak in peaks if peak.points is not None])
    proofs = Proofs.of(profiles, points)
    touched = theta[:, profiles.positive] <= 1e-12
    covariances = joint_covariances(profiles, peaks, touched)
    loose = _loose(profiles, peaks)
    null = -profiles.n_decisions * float(np.log(profiles.n_options))
    names = (*profiles.weights, *(s.name for s in profiles.shape))
    found = []
    for k, (grid, peak) in enumerate(zip(grids, peaks, strict=True)):
        episodes = profiles.groups[k]
        if proofs.good[k] and peak.converged:
            weights, checks = peak.point.theta, proofs.diagnostics(k)
            inner: tuple[Status, str] = "converged", REACHED
            log_likelihood = peak.point.log_likelihood
        else:
            problem = Problem(profiles.model, episodes, profiles.prior)
            choices = problem.choices(peak.point.psi)
            solution = _inner_solution(problem, choices, peak)
            checks = diagnostics_of(solution, choices, has_prior=profiles.prior is not None)
            inner = status_of(solution, checks, profiles.weights, profiles.prior is not None)
            weights = solution.theta
            separated = inner[0] == "separated"
            log_likelihood = solution.log_likelihood if separated else peak.point.log_likelihood
        held = _bounds(profiles, peak, touched[k])
        checks = replace(checks, bounds=held, iterations=peak.n_steps)
        status, message = _verdict(profiles, grid, peak, inner, held, loose[k])
        if peak.kinked and status not in USELESS:
            message = f"{message} {KINK}"
        if peak.kinked or status in USELESS:
            covariances[k] = np.nan
        found.append(
            ModelEstimate(
                status=status,
                message=message,
                model=profiles.model,
                names=names,
                theta=np.concatenate([weights, peak.point.psi]),
                covariance=covariances[k],
                log_likelihood=log_likelihood,
                null_log_likelihood=float(null[k]),
                log_posterior=None if profiles.prior is None else peak.point.value,
                diagnostics=checks,
                n_decisions=int(profiles.n_decisions[k]),
                grid=grid,
                peak=peak,
                prior=profiles.prior,
                subject=_whose(episodes, subjects[k]),
                notes=tuple(dict.fromkeys(note for e in episodes for note in e.notes)),
                episodes=episodes,
            )
        )
    return found


def estimate_at(
    problem: Problem, grid: Grid | Callable[[], Grid], peak: Peak, subject: Any = None
) -> ModelEstimate:
    """Put the peak of one profile into words and numbers for the user."""
    return estimates_at(problem.profiles, [grid], [peak], [subject])[0]


def _whose(episodes: Sequence[Any], subject: Any) -> Any:
    subjects = {episode.subject for episode in episodes}
    return subjects.pop() if subject is None and len(subjects) == 1 else subject


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


def _bounds(profiles: Profiles, peak: Peak, touched: BoolVector) -> tuple[str, ...]:
    """What holds the estimate: ends of psi's range, weights that must be positive."""
    found = [
        f"{shape.name} = {shape.low if u <= low else shape.high:g}"
        for shape, u, (low, _), held in zip(
            profiles.shape, peak.u, profiles.bounds, peak.at_bound, strict=True
        )
        if held
    ]
    if touched.any():
        assert profiles.limits is not None
        found += np.array(profiles.limits.labels)[touched].tolist()
    return tuple(found)


def _verdict(
    profiles: Profiles,
    grid: Grid | Callable[[], Grid],
    peak: Peak,
    inner: tuple[Status, str],
    held: tuple[str, ...],
    loose: BoolVector,
) -> tuple[Status, str]:
    """The worst that can be said, and the sentence that goes with it."""
    status, sentence = inner
    names = " and ".join(shape.name for shape in profiles.shape)
    if status in ("not identified", "separated"):
        advice = sentence.replace("method='firth' or ", "")
        at = ", ".join(
            f"{s.name} = {v:.4g}" for s, v in zip(profiles.shape, peak.point.psi, strict=True)
        )
        return status, f"{advice} (At {at}.)" if at else advice
    if not peak.converged and not (loose.any() and _is_level(profiles, peak)):
        return "stopped early", (
            f"The search over {names} stopped after {peak.n_steps} steps before it reached a "
            "maximum. Look at `profile`."
        )
    if held:
        return "at a bound", (
            f"The estimate lies at a bound ({', '.join(held)}): the choices do not say how far "
            "beyond. Read the profile intervals, widen the range, or hold it fixed."
        )
    if isinstance(grid, Grid) and _flat(grid):
        return "weakly identified", (
            f"The profile over {names} is flat: it varies by less than {FLAT} log-units over the "
            "whole range, so that every value is in the 95 % interval. Hold it fixed."
        )
    if loose.any():
        which = " and ".join(s.name for s, far in zip(profiles.shape, loose, strict=True) if far)
        return "weakly identified", (
            f"The profile has a ridge: {which} can move across its whole range while the other "
            "parameters make up for it. Read the profile intervals, or hold it fixed."
        )
    return status, sentence


def _is_level(profiles: Profiles, peak: Peak) -> bool:
    """Whether the slope left would gain next to nothing over the whole range: a flat ridge."""
    free = np.where(peak.at_bound, 0.0, peak.point.gradient)
    return bool(np.abs(free) @ np.ptp(profiles.bounds, axis=1) < LEVEL)


def _flat(grid: Grid) -> bool:
    """Whether the whole grid lies within what a 95 % interval gives away."""
    values = grid.values[np.isfinite(grid.values)]
    return len(values) > 1 and bool(values.max() - values.min() < FLAT)


def _loose(profiles: Profiles, peaks: Sequence[Peak]) -> BoolVector:
    """Shape parameters whose standard error, by the curvature, is as long as their range."""
    curvature = np.stack([peak.curvature for peak in peaks])
    if not profiles.n_shape:
        return np.zeros((len(peaks), 0), dtype=bool)
    values, vectors = np.linalg.eigh(curvature)
    fine = values > 0
    lengths = np.where(fine, 1.0 / np.where(fine, values, 1.0), 1e300)
    variance = np.einsum("kab,kb->ka", vectors**2, lengths)
    return np.asarray(np.sqrt(variance) > np.ptp(profiles.bounds, axis=1))


def joint_covariances(profiles: Profiles, peaks: Sequence[Peak], touched: BoolVector) -> Matrix:
    """Inverses of the joint observed information of weights and psi, one for each peak.

    With C the inverse curvature of the profile and D the derivative of the weights along it, the
    blocks are I^-1 + D C D', D C and C. psi at the end of its range and weights held at 0 have
    none; where the curvature is not positive nothing has.
    """
    d, q, n = profiles.n_weights, profiles.n_shape, len(peaks)
    information = np.stack([peak.point.information for peak in peaks])
    held = np.stack([peak.at_bound for peak in peaks])
    drift = np.stack([peak.drift for peak in peaks]).reshape(n, d, q)
    curvature = np.stack([peak.curvature for peak in peaks]).reshape(n, q, q)
    stretch = profiles.stretch(np.stack([peak.point.psi for peak in peaks]))
    closed = held[:, :, None] | held[:, None, :]
    shape = pseudoinverse(np.where(closed, np.eye(q), curvature)) * ~closed
    inner = pseudoinverse(information)
    covariance = np.empty((n, d + q, d + q))
    covariance[:, :d, :d] = inner + drift @ shape @ drift.transpose(0, 2, 1)
    mixed = drift @ shape * stretch[:, None, :]
    covariance[:, :d, d:], covariance[:, d:, :d] = mixed, mixed.transpose(0, 2, 1)
    covariance[:, d:, d:] = shape * stretch[:, :, None] * stretch[:, None, :]
    without = np.concatenate([np.zeros((n, d), dtype=bool), held], axis=1)
    without[:, profiles.positive] |= touched
    covariance[without[:, :, None] | without[:, None, :]] = np.nan
    flat = ~_positive_definite(np.where(closed, np.eye(q), curvature))
    covariance[flat | ~_positive_definite(information)] = np.nan
    return covariance


def _positive_definite(matrices: Matrix) -> BoolVector:
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    fine &= (diagonal > 0).all(axis=1)
    if not matrices.shape[1]:
        return fine
    scale = np.sqrt(np.where(fine[:, None], diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, np.eye(matrices.shape[1]))
    values = np.linalg.eigvalsh(scaled / scale[:, :, None] / scale[:, None, :])
    return np.asarray(fine & (values[:, 0] > 0))


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
        grid=Grid(empty, np.zeros(0), np.zeros((0, d)), (0,) * n, np.zeros(0, dtype=bool)),
        peak=Peak(point, middle, np.zeros((n, n)), np.zeros((d, n)), np.zeros(n, bool), 0, False),
        prior=problem.prior,
        subject=subject,
        episodes=problem.episodes,
    )
