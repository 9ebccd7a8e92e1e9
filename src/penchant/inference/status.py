"""What can be said of the peaks of profiles: proof, status, sentence, covariance, for many."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import either, prior_advice, profile_interval_advice
from penchant.inference.from_episodes import FromEpisodes
from penchant.inference.joint_limits import CERTAIN, follow_to_ends, without_maximum
from penchant.inference.profile.pairs import Points, decisions_of
from penchant.inference.profile.profiles import Problem, Profiles
from penchant.inference.search.grid import Grid, Searched, known_grids
from penchant.inference.search.peaks import (
    NOTHING,
    Peak,
    Peaks,
    at_bounds,
    ends_reached,
    pseudoinverse,
)
from penchant.inference.weakness import (
    are_run_off,
    few_words,
    holds_weights,
    leaves_free,
    let_go,
    nearly_let_go,
    run_off_words,
    separated_advice,
    told,
    weakly_identified,
)
from penchant.models.model import Declared
from penchant.models.priors import Prior
from penchant.models.record import doubts_of
from penchant.output import pooled_notes
from penchant.softmax.diagnostics import Diagnostics, Status
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import WEAK, diagnostics_of, status_of
from penchant.softmax.fit_each import Batch, settled
from penchant.softmax.identification import Identification
from penchant.softmax.newton import UNDECIDED
from penchant.softmax.separation import NEGLIGIBLE, UnsolvedProgramError, certificates
from penchant.softmax.solution import Solution, check_units, prepared, scaled_inverse
from penchant.softmax.solve import has_maximum, maximum_likelihood, proven_separation

PROPORTIONAL = 0.5  # elasticity: by how many per cent a weight changes with one of psi


def joint_covariances(profiles: Profiles, peaks: Peaks, touched: BoolVector) -> Matrix:
    """Inverses of the joint observed information of weights and psi, one for each peak.

    With C the inverse curvature of the profile and D the derivative of the weights along it, the
    blocks are I^-1 + D C D', D C and C. psi at the end of its range and weights held at 0 have
    none; where the curvature is not positive nothing has. Nor have weights that would be others if
    the search had ended elsewhere: see `_artefacts`.
    """
    d, q, n = profiles.n_weights, profiles.n_shape, len(peaks)
    information, held, drift = peaks.points.information, peaks.at_bound, peaks.drift
    curvature, stretch = peaks.curvature, profiles.stretch(peaks.points.psi)
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
    without[:, :d] |= _artefacts(profiles, peaks)
    covariance[without[:, :, None] | without[:, None, :]] = np.nan
    flat = ~_positive_definite(np.where(closed, np.eye(q), curvature))
    covariance[flat | ~_positive_definite(information)] = np.nan
    return covariance


def _artefacts(profiles: Profiles, peaks: Peaks) -> BoolVector:
    """Weights that follow a psi held where the search ended: (n, n_weights).

    A positive psi is held there at an end of a logarithmic range, or at the lower end of another
    one: it may go on to 0 or to infinity. A weight that changes in proportion to it, such as one
    over a learning rate, is known only together with it: its standard error would be that of where
    the range ends.
    """
    psi, theta = peaks.points.psi, np.abs(peaks.points.theta)
    decided = np.zeros(theta.shape, dtype=bool)
    for q, one in enumerate(profiles.shape):
        if one.low > 0:
            open_end = peaks.at_bound[:, q] & ((one.scale == "log") | (psi[:, q] <= one.low))
            relative = psi[:, q] / np.broadcast_to(one.stretch(psi[:, q]), len(psi))
            moves = np.abs(peaks.drift[:, :, q]) * relative[:, None]
            decided |= open_end[:, None] & (moves > PROPORTIONAL * theta)
    return decided


def _positive_definite(matrices: Matrix) -> BoolVector:
    fine = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    diagonal = matrices.diagonal(0, 1, 2)
    fine &= (diagonal > NOTHING).all(axis=1)
    if not matrices.shape[1]:
        return fine
    scale = np.sqrt(np.where(fine[:, None], diagonal, 1.0))
    scaled = np.where(fine[:, None, None], matrices, np.eye(matrices.shape[1]))
    values = np.linalg.eigvalsh(scaled / scale[:, :, None] / scale[:, None, :])
    return np.asarray(fine & (values[:, 0] > 0))


@dataclass(frozen=True)
class Proofs:
    """What Newton's method proves about the weights of each subject at one psi.

    Attributes
    ----------
    exists
        The maximum exists, is reached, and all weights are told apart.
    good
        Besides, nothing hangs on differences that are negligible; where not, more must be looked
        at than Newton's method.
    told_apart
        All weights are, whether there is a maximum or not; not where that is not sure.
    """

    exists: BoolVector
    good: BoolVector
    told_apart: BoolVector
    conditions: Vector
    decrement: Vector
    n_weights: int
    prior: Prior | None

    @classmethod
    def of(cls, profiles: Profiles, points: Points, thorough: bool = True) -> Proofs:
        """From the last steps of Newton's method; thorough, if `good` shall be told too."""
        check_units(points.largest.max(axis=0, initial=0.0), profiles.weights)
        n, d = points.theta.shape
        memo = np.zeros((n, 5))
        memo[:, 2] = points.decrement
        codes = np.isfinite(points.decrement).astype(np.int64)  # 1: converged
        batch = Batch(
            points.theta,
            points.information,
            memo,
            codes * points.settled,
            points.spread,
            points.largest,
        )
        covariances, conditions = batch.covariances()
        totals = profiles.n_decisions[points.subject].astype(np.float64)
        inside = np.all(points.theta[:, profiles.positive] > 0, axis=1)
        good = inside & settled(batch, covariances, conditions, totals, profiles.prior is not None)
        told_apart = batch.surely_identified
        exists = inside & batch.converged & told_apart
        with np.errstate(invalid="ignore"):
            exists &= certificates(batch.largest[:, 1], covariances, batch.decrement, totals)
        doubtful = np.flatnonzero(exists & ~good & (conditions <= WEAK))
        if thorough and len(doubtful) and profiles.prior is None:
            plain = profiles.without_small_differences(points.take(doubtful), NEGLIGIBLE)
            good[doubtful] = plain.converged & certificates(
                plain.largest[:, 1], plain.covariances()[0], plain.decrement, totals[doubtful]
            )
        return cls(exists, good, told_apart, conditions, points.decrement, d, profiles.prior)

    def identified(self, points: Points, k: int) -> Identification | None:
        """What the choices of one of the points identify, if that is all weights for sure."""
        if not self.told_apart[k]:
            return None
        scale = np.sqrt(np.diag(points.spread[k]))
        return Identification(scale, len(scale), np.empty((0, len(scale))), None)

    def diagnostics(self, k: int, n_steps: int) -> Diagnostics:
        """The same in the form of diagnostics, after so many steps of a climb."""
        return Diagnostics(
            rank=self.n_weights,
            null_directions=(),
            combinations=(),
            decisions_needed=0,
            separation=None,
            near_separation=None,
            condition=float(self.conditions[k]),
            iterations=n_steps,
            decrement=float(self.decrement[k]),
            certificate="newton" if self.prior is None else "prior",
            bounds=(),
        )


FLAT = 1.92  # log-likelihood that a 95 % interval gives away
LEVEL = 0.01  # log-likelihood that is not worth a search
REACHED = "The maximum exists and was reached."
USELESS = ("not identified", "separated", "stopped early")


def _kink() -> str:
    return (
        "The profile has a kink at its maximum, where a reward equals the value of its option: it "
        "falls to all sides, but has no curvature there, and standard errors are those of the "
        f"expected information. {profile_interval_advice()}."
    )


def are_lost(profiles: Profiles, points: Points) -> BoolVector:
    """Whether the weights have no maximum at the best psi of the grid: nothing to climb to."""
    lost = np.zeros(len(points), dtype=bool)
    if profiles.prior is not None:
        return lost
    proofs = Proofs.of(profiles, points, thorough=False)
    doubtful = np.flatnonzero(~proofs.exists)
    for k, choices, _ in _described_at(profiles, points, doubtful, False):
        with suppress(UnsolvedProgramError):  # not known: the search goes on, its end will tell
            lost[k] = not has_maximum(choices, profiles.limits, proofs.identified(points, k))
    return lost


def _described_at(
    profiles: Profiles, points: Points, which: IntVector, with_slopes: bool
) -> Iterator[tuple[int, Choices, Matrix | None]]:
    """The decisions of some points as the model describes them, all asked of it together.

    If asked for, with the derivatives of their variables: (n_shape, n_decisions, n_options,
    n_weights).
    """
    subject, psi = points.subject[which], points.psi[which]
    for begin, end in profiles.portions(subject) if len(which) else ():
        x, slopes = profiles.variables(subject[begin:end], psi[begin:end], with_slopes)
        rows = profiles.rows(subject[begin:end])
        profiles.check_finite(x, rows)
        for i, k in enumerate(which[begin:end].tolist()):
            steep = None if slopes is None else slopes[:, rows.of(i)]
            yield k, decisions_of(i, rows, x, profiles.weights), steep


def _existing(
    problem: Problem, choices: Choices, known: Identification | None, near: Vector
) -> Solution:
    """The weights at one psi; separation counts along directions that the model allows only.

    `known` is what the choices identify, if that is sure; `near` where Newton's method led to.
    """
    found = None if known is None else proven_separation(choices, known, threads=1)
    if found is None:
        start = near if known is not None and np.isfinite(near).all() else None
        found = maximum_likelihood(choices, start=start, threads=1)
    allowed = bool((found.theta[problem.profiles.positive] > 0).all())  # infinite, if separated
    if found.recession is None or allowed:
        return found
    return maximum_likelihood(choices, problem.positive, threads=1)


def estimates_at(
    profiles: Profiles,
    grids: Searched,
    peaks: Peaks,
    subjects: Sequence[Any],
) -> list[Estimate]:
    """Put the peaks of profiles into words and numbers for the user."""
    some, towards = _may_rise_for_ever(profiles, peaks), np.full(len(peaks), -1)
    if len(some):
        peaks, towards = follow_to_ends(profiles, peaks, some)
    points = peaks.points
    cases = _Cases.of(profiles, grids, peaks, towards)
    covariances = joint_covariances(profiles, peaks, cases.touched)
    verdicts = cases.verdicts()
    reached = np.flatnonzero([verdict.status == "converged" for verdict in verdicts])
    weak = weakly_identified(profiles, grids, peaks, covariances, reached)
    theta = np.concatenate([points.theta, points.psi], axis=1)
    found = []
    for k, (grid, verdict) in enumerate(zip(grids, verdicts, strict=True)):
        if k in weak:
            said = verdict.message.removeprefix(REACHED)
            verdict = replace(verdict, status="weakly identified", message=weak[k] + said)
        if verdict.status in USELESS:
            covariances[k] = np.nan
        theta[k, : profiles.n_weights] = verdict.weights
        theta[k, profiles.n_weights :][~verdict.told] = np.nan
        numbers = theta[k], covariances[k]
        found.append(told_estimate(profiles, k, grid, peaks[k], verdict, *numbers, subjects[k]))
    return found


def _may_rise_for_ever(profiles: Profiles, peaks: Peaks) -> IntVector:
    """Peaks that need not be maxima, as some choices are certain; a prior holds the weights."""
    if profiles.prior is not None or not profiles.n_shape:
        return np.empty(0, dtype=np.int64)
    theta = peaks.points.theta
    apart = (np.abs(theta) * peaks.points.largest[:, 1]).max(axis=1, initial=0.0)
    doubtful = (apart > CERTAIN) | ~peaks.converged
    return np.flatnonzero(doubtful & np.isfinite(theta).all(axis=1))


def told_estimate(
    profiles: Profiles,
    k: int,
    grid: Grid | Callable[[], Grid],
    peak: Peak,
    verdict: Verdict,
    theta: Vector,
    covariance: Matrix,
    subject: Any,
) -> Estimate:
    """The estimate of subject k, of whom all is known."""
    episodes, n_decisions = profiles.groups[k], int(profiles.n_decisions[k])
    null = -n_decisions * math.log(profiles.n_options)
    whose = {episode.subject for episode in episodes}
    n_subjects = len(whose)  # episodes of nobody in particular are of one
    if subject is None and n_subjects == 1:
        (subject,) = whose
    return _estimate(
        FromEpisodes(profiles.model, episodes, grid, peak, profiles.prior),
        (*profiles.weights, *(shape.name for shape in profiles.shape)),
        verdict.status,
        verdict.message,
        theta,
        covariance,
        (verdict.log_likelihood, null),
        verdict.checks,
        n_decisions,
        log_posterior=None if profiles.prior is None else peak.point.value,
        n_options=(profiles.n_options, profiles.n_options),
        subject=subject,
        notes=(*pooled_notes(n_subjects), *_notes(profiles, episodes, n_decisions)),
        n_subjects=n_subjects,
    )


def _estimate(
    source: FromEpisodes,
    names: tuple[str, ...],
    status: Status,
    message: str,
    theta: Vector,
    covariance: Matrix,
    log_likelihoods: tuple[float, float],
    checks: Diagnostics,
    n_decisions: int,
    **others: Any,
) -> Estimate:
    """The estimate of a model: its log-likelihood, and that of uniform choice."""
    model, prior = source.model, source.prior
    return Estimate(
        status=status,
        message=advised(message, model, checks) if status == "not identified" else message,
        names=names,
        theta=theta,
        covariance=covariance,
        inverse_information=covariance,
        log_likelihood=log_likelihoods[0],
        null_log_likelihood=log_likelihoods[1],
        diagnostics=checks,
        n_decisions=n_decisions,
        total_weight=float(n_decisions),
        source=source,
        method="maximum likelihood" if prior is None else "MAP",
        prior=None if prior is None else str(prior),
        **others,
    )


def advised(message: str, model: Any, diagnostics: Diagnostics) -> str:
    """The message with advice for a model instead of advice for a table of variables.

    A model may know why one of its weights is not identified: it then has `unidentified`, a mapping
    from weights to sentences that say what to do.

    Parameters
    ----------
    message
        That the weights are not identified, and what to do with variables.
    model
        Whose weights they are.
    diagnostics
        Which directions are not identified.
    """
    known = Declared(model).unidentified
    alone = [_alone(direction) for direction in diagnostics.null_directions]
    own = "".join(f"{known[name]} " for name in alone if name is not None and name in known)
    of_variables = either(
        r"Drop a variable(, interact \S+ with the options)?, give",
        r"Drop a variable(, use --interact \S+)?, use",
    )
    return re.sub(of_variables, f"{own}Else use" if own else "Use", message)


def _alone(direction: Any) -> str | None:
    """The one weight that a direction consists of."""
    parts = [name for name, value in direction.items() if value != 0]
    return parts[0] if len(parts) == 1 else None


def estimate_at(
    problem: Problem, grid: Grid | Callable[[], Grid], peak: Peak, subject: Any = None
) -> Estimate:
    """Put the peak of one profile into words and numbers for the user."""
    return estimates_at(problem.profiles, [grid], peak.alone(), [subject])[0]


@dataclass(frozen=True)
class Verdict:
    """What is said of one peak; `told` are the shape parameters that have an estimate."""

    status: Status
    message: str
    weights: Vector
    told: BoolVector
    log_likelihood: float
    checks: Diagnostics


@dataclass(frozen=True)
class _Cases:
    """What can be said of peaks at once.

    Attributes
    ----------
    touched
        Weights that must be positive and are 0.
    unmoved
        Shape parameters that change no probability, as the weights that they shape are 0.
    flat, loose
        The whole profile is within a 95 % interval; or a shape parameter is, along a ridge.
    towards
        Shape parameter to whose end the likelihood rises while weights grow for ever, or -1.
    is_plain
        A maximum that exists, away from all bounds: there is nothing more to say.
    """

    profiles: Profiles
    peaks: Peaks
    proofs: Proofs
    touched: BoolVector
    unmoved: BoolVector
    flat: BoolVector
    loose: BoolVector
    towards: IntVector
    is_plain: BoolVector

    @classmethod
    def of(cls, profiles: Profiles, grids: Searched, peaks: Peaks, towards: IntVector) -> _Cases:
        """Look at all of them."""
        proofs = Proofs.of(profiles, peaks.points)
        touched = np.asarray(peaks.points.theta[:, profiles.positive] <= 1e-12)
        unmoved = np.asarray(peaks.points.fisher.diagonal(0, 1, 2) <= 0)
        unmoved &= np.any(touched, axis=1, keepdims=True)
        flat = _are_flat(grids)
        loose = _loose(profiles, peaks)
        doubtful = touched.any(axis=1) | peaks.at_bound.any(axis=1) | flat | loose.any(axis=1)
        doubtful |= are_run_off(profiles, peaks) | (towards >= 0)
        plain = proofs.good & peaks.converged & ~peaks.kinked & ~doubtful
        return cls(profiles, peaks, proofs, touched, unmoved, flat, loose, towards, plain)

    def plain(self, k: int) -> Verdict:
        """The maximum exists and was reached."""
        points, checks = self.peaks.points, self.proofs.diagnostics(k, int(self.peaks.n_steps[k]))
        reached = float(points.log_likelihood[k])
        moved = ~self.unmoved[k]
        return Verdict("converged", REACHED, points.theta[k], moved, reached, checks)

    def verdicts(self) -> list[Verdict]:
        """What is said of each."""
        proven = self.proofs.good & self.peaks.converged & (self.towards < 0)
        doubtful = np.flatnonzero(~self.is_plain & ~proven)
        looked_into = {
            k: _looked_into(
                self.profiles.of_one(k),
                (choices, slopes),
                self.peaks[k],
                self.plain(k),
                self._identified(k),
                int(self.towards[k]),
            )
            for k, choices, slopes in _described_at(
                self.profiles, self.peaks.points, doubtful, self.profiles.n_shape > 0
            )
        }
        return [
            self.plain(k) if plain else self._closer(k, looked_into.get(k))
            for k, plain in enumerate(self.is_plain.tolist())
        ]

    def _identified(self, k: int) -> Identification | None:
        """What the choices of one identify, if it is sure and nothing else holds the weights."""
        if self.profiles.prior is not None or self.touched[k].any():
            return None
        return self.proofs.identified(self.peaks.points, k)

    def _closer(self, k: int, found: Verdict | None) -> Verdict:
        """The worst that can be said, and the sentence that goes with it.

        `found` is what is said of the weights, if that is not plain.
        """
        profiles, peak = self.profiles, self.peaks[k]
        found = self.plain(k) if found is None else found
        held = _bounds(profiles, peak, self.touched[k], self.unmoved[k])
        checks = replace(found.checks, bounds=held, iterations=peak.n_steps)
        inner = found.status, found.message
        status, message = self._judged(k, inner, held)
        if peak.kinked and status not in USELESS:
            message = f"{message} {_kink()}"
        return replace(found, status=status, message=message, checks=checks)

    def _judged(
        self, k: int, inner: tuple[Status, str], held: tuple[str, ...]
    ) -> tuple[Status, str]:
        status, sentence = inner
        peak = self.peaks[k]
        names = " and ".join(shape.name for shape in self.profiles.shape)
        if status in ("not identified", "separated"):
            advice = separated_advice(sentence, self.profiles.of_one(k))
            at = ", ".join(
                f"{s.name} {'near ' if q == self.towards[k] else '= '}{v:.4g}"
                for q, (s, v) in enumerate(zip(self.profiles.shape, peak.point.psi, strict=True))
            )
            return status, f"{advice} (At {at}.)" if at else advice
        if status == "stopped early":
            solved = re.split(" Allow more| To be sure", sentence)[0]
            return status, (
                f"{solved} The choices hardly bound the weights: {prior_advice()}; until then this "
                "is not an estimate."
            )
        if not peak.converged and not (self.loose[k].any() and _is_level(self.profiles, peak)):
            return "stopped early", (
                f"The search over {names} stopped after {peak.n_steps} steps before it reached a "
                "maximum. Look at `profile`."
            )
        if held:
            return "at a bound", at_bounds(self.profiles, peak, held)
        if self.flat[k]:
            return "weakly identified", (
                f"The profile over {names} is flat: it varies by less than {FLAT} log-units over "
                "the whole range, so that every value is in the 95 % interval. Hold it fixed."
            )
        if self.loose[k].any():
            which = " and ".join(
                s.name for s, far in zip(self.profiles.shape, self.loose[k], strict=True) if far
            )
            return "weakly identified", (
                f"The profile has a ridge: {which} can move across its whole range while the other "
                f"parameters make up for it. {profile_interval_advice()}, or hold it fixed."
            )
        run_off = run_off_words(self.profiles, peak)
        if status == "converged" and run_off:
            return "weakly identified", run_off
        return status, sentence


def _notes(profiles: Profiles, episodes: Sequence[Any], n_decisions: int) -> tuple[str, ...]:
    """What is to be said of the data, and of what the model takes for known."""
    of_data = dict.fromkeys(note for e in episodes for note in e.notes)
    few = few_words(n_decisions, profiles.n_weights + profiles.n_shape)
    return (*of_data, *doubts_of(profiles.model, episodes), *few)


def _looked_into(
    problem: Problem,
    described: tuple[Choices, Matrix | None],
    peak: Peak,
    found: Verdict,
    identified: Identification | None,
    towards: int,
) -> Verdict:
    """What can be said of weights that Newton's method alone proves nothing about.

    described : the decisions at the peak, and derivatives of their variables
    towards : shape parameter to whose end the likelihood rises while weights grow, or -1
    """
    choices, slopes = described
    has_prior = holds_weights(problem)
    solution = _inner_solution(problem, choices, peak, identified)
    # a linear program may take differences for none that weights as large as these still tell
    reached = peak.point.log_likelihood
    if towards >= 0 and (solution.recession is None or solution.log_likelihood < reached):
        solution = without_maximum(solution, choices, peak.point.theta, reached)
    checks = diagnostics_of(solution, choices, has_prior=has_prior)
    status, message = status_of(solution, checks, problem.model.weights, has_prior)
    if status == "weakly identified":
        message = separated_advice(message, problem)
    if status != "separated":
        return replace(found, status=status, message=message, weights=solution.theta, checks=checks)
    known = told(problem, choices, slopes, solution)
    if towards >= 0:
        known[towards] = True
    return Verdict(status, message, solution.theta, known, solution.log_likelihood, checks)


def _inner_solution(
    problem: Problem, choices: Choices, peak: Peak, known: Identification | None
) -> Solution:
    """What can be said of the weights at the best psi.

    Where the prior holds every direction of the weights there is a maximum, and no linear program
    is asked.
    """
    point = peak.point
    likelihood, identified = prepared(choices, 1)
    near, ending = None, "converged"
    if leaves_free(problem, point.theta, np.asarray(likelihood.largest)[1]):
        found = _existing(problem, choices, known, point.theta)
        if not holds_weights(problem):
            finite = np.isfinite(found.theta).all()
            return replace(found, theta=point.theta, point=point.theta) if finite else found
        if found.recession is not None or found.ending == UNDECIDED:
            try:
                gone = let_go(problem, choices, found, point.theta)
            except UnsolvedProgramError:
                gone, ending = None, UNDECIDED
            if gone is not None:
                return replace(gone, log_likelihood=point.log_likelihood)
        near = nearly_let_go(problem, choices, point.theta, point.information)
    inverse, condition = scaled_inverse(point.information)
    return Solution(
        theta=point.theta,
        covariance=inverse,
        log_likelihood=point.log_likelihood,
        known=identified,
        ending=ending,
        decrement=float(peak.peaks.points.decrement[peak.row]),
        n_steps=peak.n_steps,
        condition=condition,
        point=point.theta,
        certainty=inverse,
        certificate="prior" if ending == "converged" else None,
        near=near,
    )


def _bounds(
    profiles: Profiles, peak: Peak, touched: BoolVector, unmoved: BoolVector
) -> tuple[str, ...]:
    """What holds the estimate: ends of psi's range, weights that must be positive."""
    found = [
        f"{shape.name} = {(shape.high if upper else shape.low) if limit is None else limit.value:g}"
        for shape, upper, limit in ends_reached(profiles.shape, peak)
        if not unmoved[profiles.shape.index(shape)]
    ]
    if touched.any():
        assert profiles.limits is not None
        found += np.array(profiles.limits.labels)[touched].tolist()
    return tuple(found)


def _is_level(profiles: Profiles, peak: Peak) -> bool:
    """Whether the slope left would gain next to nothing over the whole range: a flat ridge."""
    free = np.where(peak.at_bound, 0.0, peak.point.gradient)
    return bool(np.abs(free) @ np.ptp(profiles.bounds, axis=1) < LEVEL)


def _are_flat(grids: Searched) -> BoolVector:
    """Whether whole grids lie within what a 95 % interval gives away."""
    flat = np.zeros(len(grids), dtype=bool)
    known, rows = known_grids(grids)
    if known is None:
        return flat
    highest = np.fmax.reduce(known.values, axis=1, keepdims=True)
    # what is not finite tells nothing; most of those that are not flat fall far in one cell
    fallen = (known.values <= highest - FLAT) & (known.values > -np.inf)
    some = np.flatnonzero(~fallen.any(axis=1))
    there = np.isfinite(known.values[some])
    flat[rows[some]] = np.count_nonzero(there, axis=1) > 1
    return flat


def _loose(profiles: Profiles, peaks: Peaks) -> BoolVector:
    """Shape parameters whose standard error, by the curvature, is as long as their range."""
    if not profiles.n_shape:
        return np.zeros((len(peaks), 0), dtype=bool)
    values, vectors = np.linalg.eigh(peaks.curvature)
    fine = values > 0
    lengths = np.where(fine, 1.0 / np.where(fine, values, 1.0), 1e300)
    variance = np.einsum("kab,kb->ka", vectors**2, lengths)
    return np.asarray(np.sqrt(variance) > np.ptp(profiles.bounds, axis=1))


def nothing_known(problem: Problem, subject: Any = None) -> Estimate:
    """The estimate before any decision."""
    d, n = len(problem.model.weights), problem.n_shape
    nowhere = Grid(
        np.zeros((0, n)), np.zeros(0), np.zeros((0, d)), (0,) * n, np.zeros(0, dtype=bool)
    )
    peak = Peaks.none(problem.profiles, 1)[0]
    return _estimate(
        FromEpisodes(problem.model, problem.episodes, nowhere, peak, problem.prior),
        (*problem.profiles.weights, *(shape.name for shape in problem.profiles.shape)),
        "not identified",
        "No decision has been made that could tell anything. Observe some.",
        np.full(d + n, np.nan),
        np.full((d + n, d + n), np.nan),
        (0.0, 0.0),
        Diagnostics(0, (), (), 1, None, None, np.inf, 0, np.nan, None, ()),
        0,
        log_posterior=None,
        n_options=(0, 0),
        subject=subject,
    )
