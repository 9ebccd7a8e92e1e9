"""Weak identification: parameters whose order of magnitude the choices do not determine.

A temperature, or any other parameter that is 1 over a weight or a weight that must be positive, is
weakly identified if a value e^1.96, about seven, times as large or as small as the estimate is in
its 95 % interval, by the curvature or by the likelihood ratio. By the curvature that is a standard
error as large as the parameter itself. A ratio of weights (a prior mean, a bonus) may be 0 or
negative: its unit is the largest entry of the variable that it is relative to over the largest of
its own, for a prior mean the largest reward that was expected, and it is weakly identified if its
standard error is larger. Shape parameters are asked for all of their range only: where they are
unknown, so that choices mean little, the temperature moves with them. With five decisions or fewer
for each parameter the rule does not ask, and a note says so: there the maximum is what there is.

Whatever the number of decisions, two more things are asked. The logarithm of a positive weight
that is a parameter, or behind one, must have a standard error below 1.96: beyond, its interval
spans three orders of magnitude. And rates near 0 that can grow a thousandfold, in
proportion, inside the 95 % interval are not identified.

A weight of 0 leaves the shape of its variable without meaning (Davies 1977): towards an infinite
temperature the likelihood ratio has one degree of freedom more for each shape parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import advise_prior, profile_interval_advice
from penchant.inference.existence_of_maximum import has_prior_density
from penchant.inference.intervals import profile_exceeds_target
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.grid_search import ProfileGrids, full_grids
from penchant.inference.search.local_maxima import Optima
from penchant.inference.small_learning_rates import SMALL_RATE, evaluate_proportional_rates
from penchant.models.parameters import Parameter
from penchant.models.priors import DensityPrior
from penchant.softmax.maximum_and_covariance import Solution
from penchant.tail_probabilities import chi_square_isf, normal_isf

# Eigenvalue of a scaled information matrix below which a direction carries none but rounding.
NULL_EIGENVALUE = 1e-9


def shape_identified_despite_separation(
    profiles: ProfileProblems, choices: Choices, slopes: Matrix | None, solution: Solution
) -> BoolVector:
    """Shape parameters still identified by decisions that a separating direction leaves open.

    Decisions that are certain in the limit carry no more information on psi: it may move until one
    of them is lost. The others are the choices of a model of their own, in which psi may be
    identified. A prior density identifies it whatever the choices say. `slopes`: derivatives of
    the variables in psi, (n_shape, n_decisions, n_options, n_weights).
    """
    assert solution.vanishing_options is not None and solution.recession is not None
    if slopes is None:
        return np.zeros(0, dtype=bool)
    _, n, n_options, d = slopes.shape
    possible = ~solution.vanishing_options.reshape(n, n_options)
    undecided = np.flatnonzero(possible.sum(axis=1) > 1)
    possible, slopes = possible[undecided], slopes[:, undecided]
    x = choices.explanatory.reshape(n, n_options, d)[undecided]
    theta = np.where(np.isfinite(solution.finite_theta), solution.finite_theta, 0.0)
    moved = np.einsum("qnid,d->niq", slopes, theta)
    sharp = np.einsum("qnid,d->niq", slopes, solution.recession)
    information = _information(np.concatenate([x, moved], axis=2), x @ theta, possible)
    own = np.diag(_information(sharp, x @ theta, possible)) > 0
    return np.asarray(
        own | _identified_by_information(information)[d:] | _shape_has_prior_density(profiles)
    )


def _shape_has_prior_density(profiles: ProfileProblems) -> BoolVector:
    held = np.zeros(profiles.n_shape, dtype=bool)
    if profiles.prior is not None and isinstance(profiles.prior, DensityPrior):
        named = [n for n in profiles.natural if has_prior_density(profiles, n)]
        held[[n.index for n in named if n.is_shape]] = True
    return held


def _information(columns: Matrix, objective: Matrix, possible: BoolVector) -> Matrix:
    """Information on columns (n, n_options, c) from the options that are still possible."""
    top = np.where(possible, objective, -np.inf).max(axis=1, keepdims=True)
    p = np.where(possible, np.exp(np.where(possible, objective - top, 0.0)), 0.0)
    p /= p.sum(axis=1, keepdims=True)
    away = np.where(possible[:, :, None], columns, 0.0)
    away = away - np.einsum("ni,nic->nc", p, away)[:, None]
    found: Matrix = np.einsum("ni,nia,nib->ab", p, away, away)
    size = np.einsum("ni,nia,nia->a", p, columns, columns)
    root = np.sqrt(size)
    # Columns that are equal for all options differ by rounding, which is no information.
    noise = NULL_EIGENVALUE**2 * np.outer(root, root)
    return np.where(np.abs(found) > noise, found, 0.0)


def _identified_by_information(information: Matrix) -> BoolVector:
    """Whether parameters are unaffected by all directions without information."""
    diagonal = np.diag(information)
    known = diagonal > 0
    scale = np.sqrt(np.where(known, diagonal, 1.0))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    null = vectors[:, values < NULL_EIGENVALUE]
    return np.asarray(known & (np.abs(null) < np.sqrt(NULL_EIGENVALUE)).all(axis=1))


PRIOR_EXPECTATIONS = ("initial_value", "initial_mean", "centre")
# Ranges of rewards by which an expectation may lie outside them: beyond, it is the end of a ridge.
MAX_REWARD_RANGES = 10.0


def prior_expectations_diverged(profiles: ProfileProblems, optima: Optima) -> BoolVector:
    """Whether an expectation before play lies far from all rewards of a subject.

    Such a value is one end of a ridge: a temperature so high, or a rate so near 1, that the value
    could be ten times as large, and choices identify a product alone.
    """
    found = np.zeros(len(optima), dtype=bool)
    named = _prior_expectations(profiles)
    if not named:
        return found
    low, high = _reward_range(profiles, optima.points.subject)
    for natural in named:
        values = _natural_values(natural, optima.points.theta)
        found |= ~_is_near_rewards(values, low, high)
    return found


def divergence_message(profiles: ProfileProblems, optimum: Optima) -> str:
    """Message on an expectation that has diverged, or an empty string."""
    named = _prior_expectations(profiles)
    if not named:
        return ""
    low, high = _reward_range(profiles, optimum.points.subject)
    theta = optimum.points.theta
    for natural in named:
        value = _natural_values(natural, theta)
        if not _is_near_rewards(value, low, high)[0]:
            return (
                f"{natural.name} has run off to {value[0]:.4g}, more than {MAX_REWARD_RANGES:g} "
                f"times the range of the rewards ({low[0]:g} to {high[0]:g}) away from them: "
                "choices tell what it makes of other parameters, and not how large it is. Hold it "
                "fixed."
            )
    return ""


def _prior_expectations(profiles: ProfileProblems) -> list[Parameter]:
    """Parameters that are expectations before play; none for offers, which have no rewards."""
    named = [n for n in profiles.natural if n.is_ratio and n.name in PRIOR_EXPECTATIONS]
    if profiles.prior is not None or not named:
        return []
    played = all(hasattr(episode, "rewards") for episode in profiles.record.episodes)
    return named if played else []


def _natural_values(natural: Parameter, theta: Matrix) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return natural.of_weights(theta)


def _is_near_rewards(values: Vector, low: Vector, high: Vector) -> BoolVector:
    reach = MAX_REWARD_RANGES * (high - low)
    with np.errstate(invalid="ignore"):
        near = (values >= low - reach) & (values <= high + reach)
    # Rewards that are all the same, or none, have no range to compare with: such values pass.
    return np.asarray(near | ~(reach > 0) | ~np.isfinite(values))


def _reward_range(profiles: ProfileProblems, subject: IntVector) -> tuple[Vector, Vector]:
    """Smallest and largest reward of each subject; NaN without any."""
    first = profiles.first_event
    rewards = [profiles.record.rewards[first[s] : first[s + 1]] for s in subject.tolist()]
    seen = [mine[np.isfinite(mine)] for mine in rewards]
    low = [mine.min() if len(mine) else np.nan for mine in seen]
    high = [mine.max() if len(mine) else np.nan for mine in seen]
    return np.array(low), np.array(high)


# Half width, in log-units of the parameter, beyond which its order of magnitude counts as unknown:
# that of a 95 % interval whose standard error is as large as the parameter itself (seven times).
MAX_LOG_DISTANCE = float(normal_isf(0.025))
# Log-units by which a profile falls at the ends of a 95 % interval (Wilks 1938).
DEVIANCE_DROP = float(chi_square_isf(0.05, 1)) / 2
# Standard error of the logarithm below which ends are eight errors away: no profile is so skewed.
MAX_SURE_ERROR = 0.25
# Factor by which unidentified rates near 0 may grow: three orders of magnitude, less rounding.
MAX_RATE_FACTOR = 999.0
# With fewer decisions asymptotic errors are no guide, and no order of magnitude is to be expected.
MIN_DECISIONS_PER_PARAMETER = 5


def _weak_identification_advice() -> str:
    return (
        f"{profile_interval_advice()}, and do not interpret its size. Hold it fixed, "
        f"{advise_prior()}, or collect more decisions."
    )


def weakly_identified(
    profiles: ProfileProblems,
    grids: ProfileGrids | None,
    optima: Optima,
    covariances: Matrix,
    which: IntVector,
) -> dict[int, str]:
    """Messages of subjects whose parameters are weakly identified, by row."""
    if profiles.prior is not None:
        return {}
    found: dict[int, list[str]] = {int(k): [] for k in which}
    reached = which
    which = which[~too_few_decisions(profiles)[optima.points.subject[which]]]
    for natural in profiles.natural:
        if natural.is_ratio:
            for k in which[_imprecise_ratios(natural, optima, covariances, which)].tolist():
                found[k].append(f"{natural.name} (its standard error is beyond its unit)")
        elif natural.is_reciprocal or (natural.is_weight and natural.index in profiles.positive):
            mine = _OpenEndCheck(profiles, natural, grids, optima, covariances, which)
            for k, words in mine.open_interval_ends_in_words().items():
                found[k].append(f"{natural.name} ({' and '.join(words)})")
    reached = np.array([k for k in reached if not found[int(k)]], dtype=np.int64)
    unknown = _imprecise_weights(profiles, optima, covariances)
    for k in reached.tolist():
        found[k] += unknown[k]
    for k, names in _near_zero_rates_free_to_grow(profiles, optima, reached).items():
        found[k].append(f"{' and '.join(names)} (a thousandfold, in proportion)")
    return {k: _weak_identification_message(said) for k, said in found.items() if said}


def _imprecise_weights(
    profiles: ProfileProblems, optima: Optima, covariances: Matrix
) -> list[list[str]]:
    """Parameters of each optimum whose positive weight spans three orders of magnitude.

    A part of a sum may well be 0: what the sum is made of is a share, which is known then.
    """
    found: list[list[str]] = [[] for _ in range(len(optima))]
    for natural in profiles.natural:
        a = natural.index
        alone = natural.is_ratio or natural.weights == (a,)
        if natural.is_shape or not alone or a not in profiles.positive:
            continue
        behind = "" if natural.is_weight else f" (the weight {profiles.weights[a]} behind it)"
        with np.errstate(invalid="ignore"):
            unknown = covariances[:, a, a] > (MAX_LOG_DISTANCE * optima.points.theta[:, a]) ** 2
        for k in np.flatnonzero(unknown):
            found[k].append(f"{natural.name}{behind}")
    return found


def _near_zero_rates_free_to_grow(
    profiles: ProfileProblems, optima: Optima, which: IntVector
) -> dict[int, list[str]]:
    """Names of rates near 0 that can grow a thousandfold inside the 95 % interval."""
    highest = np.array([shape.high for shape in profiles.shape])
    which = which[(optima.points.psi[which] < SMALL_RATE * highest).any(axis=1)]
    if not len(which):
        return {}
    subject, psi = optima.points.subject[which], optima.points.psi[which]
    row, multiples, points = evaluate_proportional_rates(profiles, subject, psi)
    inside = points.value > optima.points.value[which[row]] - DEVIANCE_DROP
    moved = points.psi > psi[row]
    return {
        int(which[row[i]]): [s.name for s, far in zip(profiles.shape, moved[i], strict=True) if far]
        for i in np.flatnonzero(inside & (multiples > MAX_RATE_FACTOR))
    }


def too_few_decisions(profiles: ProfileProblems) -> BoolVector:
    """Whether subjects have too few decisions for the rule; a note says so."""
    return np.asarray(
        profiles.n_decisions
        <= MIN_DECISIONS_PER_PARAMETER * (profiles.n_weights + profiles.n_shape)
    )


def few_decisions_note(n_decisions: int, n_parameters: int) -> tuple[str, ...]:
    """Note on an estimate from too few decisions, if it is one."""
    if n_decisions > MIN_DECISIONS_PER_PARAMETER * n_parameters:
        return ()
    return (
        f"{n_decisions} decisions for {n_parameters} parameters: too few to rest on standard "
        f"errors; {profile_interval_advice('read')}.",
    )


def _weak_identification_message(parameters: Sequence[str]) -> str:
    return (
        f"The choices do not tell the order of magnitude of {' and '.join(parameters)}: a value "
        f"seven times away is inside the 95 % interval. {_weak_identification_advice()}"
    )


def _standard_errors(
    natural: Parameter, optima: Optima, covariances: Matrix, which: IntVector
) -> Vector:
    slope = natural.slopes(optima.points.theta[which])
    d = slope.shape[1]
    used = slope != 0
    both = used[:, :, None] & used[:, None, :]
    known = np.where(both, covariances[which, :d, :d], 0.0)
    variance = np.einsum("ka,kab,kb->k", slope, known, slope)
    return np.sqrt(np.where(variance >= 0, variance, np.nan))


def _imprecise_ratios(
    natural: Parameter, optima: Optima, covariances: Matrix, which: IntVector
) -> BoolVector:
    largest = optima.points.largest[which, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = natural.denominator(largest) / largest[:, natural.index]
        return np.asarray(_standard_errors(natural, optima, covariances, which) > unit)


@dataclass(frozen=True)
class _OpenEndCheck:
    """Check of one positive parameter of some subjects."""

    profiles: ProfileProblems
    natural: Parameter
    grids: ProfileGrids | None
    optima: Optima
    covariances: Matrix
    which: IntVector

    def open_interval_ends_in_words(self) -> dict[int, list[str]]:
        """Open ends of the interval of each subject, in words; only subjects that have one."""
        value = self._parameter_values(self.optima.points.theta)[self.which]
        error = _standard_errors(self.natural, self.optima, self.covariances, self.which) / value
        reached = np.zeros((len(self.which), 2), dtype=bool)
        # An error as large as the value leaves both ends open: no search is needed to see that.
        reached[error > 1.0] = True
        with np.errstate(divide="ignore"):
            reached |= self._are_ends_open_on_grid(np.log(value))
        self._mark_ends_by_profile(np.flatnonzero(error > MAX_SURE_ERROR), error, reached)
        words = "towards 0", "towards infinity"
        return {
            int(k): [w for w, far in zip(words, reached[i], strict=True) if far]
            for i, k in enumerate(self.which)
            if reached[i].any()
        }

    def _parameter_values(self, theta: Matrix) -> Vector:
        """The natural parameter at many weights."""
        with np.errstate(divide="ignore"):
            return self.natural.of_weights(np.maximum(theta, 0.0))

    def _are_ends_open_on_grid(self, centre: Vector) -> BoolMatrix:
        """Whether grids have cells inside the interval that are far away, on either side."""
        found = np.zeros((len(self.which), 2), dtype=bool)
        cells = self.grids
        if cells is None:
            return found
        place, limit = np.full(len(cells), -1), np.full(len(cells), np.inf)
        place[self.which] = np.arange(len(self.which))
        limit[self.which] = self.optima.points.value[self.which] - DEVIANCE_DROP
        row, cell = np.nonzero(cells.solved & (cells.values > limit[:, None]))
        at = place[row]
        with np.errstate(divide="ignore"):
            away = np.log(self._parameter_values(cells.theta[row, cell])) - centre[at]
        found[at[away < -MAX_LOG_DISTANCE], 0] = True
        found[at[away > MAX_LOG_DISTANCE], 1] = True
        return found

    def _mark_ends_by_profile(self, rows: IntVector, error: Vector, open_ends: BoolMatrix) -> None:
        """Follow the profile outwards to both sides, where the grid is not conclusive.

        One open side is enough: the other is then not reported.
        """
        some = rows[~open_ends[rows].any(axis=1)]
        if not len(some):
            return
        drops = np.full(2, DEVIANCE_DROP)
        if self.natural.is_reciprocal:
            drops[1] = float(chi_square_isf(0.05, 1 + self.profiles.n_shape)) / 2
        n, twice = len(some), np.tile(self.which[some], 2)
        grids = full_grids(self.profiles) if self.grids is None else self.grids
        cells = grids.take(self.which[some])
        found = profile_exceeds_target(
            self.profiles,
            cells.take(np.tile(np.arange(n), 2)),
            self.optima.take(twice),
            self.natural,
            twice,
            np.repeat([-MAX_LOG_DISTANCE, MAX_LOG_DISTANCE], n),
            np.repeat(drops, n),
            np.tile(error[some], 2),
        )
        low, high = found.reshape(2, n)
        open_ends[some, 0], open_ends[some, 1] = low, high & ~low
