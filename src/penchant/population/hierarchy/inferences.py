"""What a population's maximum says: errors, intervals of spreads, people, doubts.

All of it comes from the nodes: nothing here asks the model, but profiles that go far.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.population.hierarchy.marginal import Marginal, Spread, Structure
from penchant.population.hierarchy.nodes import MOST
from penchant.population.hierarchy.search import (
    AT_BOUND,
    TRUSTED,
    Found,
    Goal,
    Placed,
    Search,
    Tilt,
    bounds_of,
    climb,
    errors_by,
    log_determinant,
    maximise,
    placed_anew,
    trusted_bounds,
)
from penchant.tails import chi_square_isf, normal_isf, normal_sf

FEWEST_SHAPED = 20  # subjects of which the shape of a distribution is looked at
TOLD = 0.5  # reliability from which on it is
CLOSE = 1e-5  # log-units by which a profile may be off
MOST_PLACES = 16  # of a profile
NEAR_ENOUGH = 5e-3  # of the root of twice the fall
AT_ONCE = 1e-3  # of the logarithm of a spread: nearer to the maximum nothing falls by itself
WIDEST = 20.0  # typical standard deviations from which on a spread has no end
UPWARDS = 0.1  # share of a number of the spread in a direction, from which on it is to blame
# Largest standard error of log sd for Satterthwaite's interval. Larger ones go with estimates that
# came out small, and intervals chosen by that cover less than they say: 91 % at 0.3.
REGULAR = 0.15
REGULAR_OF_DRAWS = 0.3  # where draws leave no profile to take instead
NEAR_FIXED = 2.0  # standard errors by which coefficients without spread may move between nodes
STOOD_STILL = 0.02  # share of that in the last step
MOST_FIXED = 12  # times that nodes are placed for one place of a profile with such coefficients
FLAT = 1e-9  # share of a direction's curvature below which nothing is known of it


class Errors(NamedTuple):
    """Covariances of all parameters, by the model and over subjects; directions not told."""

    model: Matrix
    robust: Matrix
    flat: Matrix


def errors_of(found: Found, rank: int) -> Errors:
    """Inverse of the observed information, and the sandwich.

    A number of the spread along which F bends upwards (it is hardly told, or draws are few) counts
    as known: that does not make means untold.
    """
    free = free_parameters(found)
    size, n_beta = len(found.x), found.marginal.structure.n_beta
    model, robust = np.zeros((size, size)), np.zeros((size, size))
    while True:
        information = found.information[np.ix_(free, free)]
        scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        if not len(values) or values[0] > -FLAT:
            break
        along = np.where(free < n_beta, 0.0, np.abs(vectors[:, 0]))
        if along.max() < UPWARDS:
            break
        free = np.delete(free, int(along.argmax()))
    told = values > FLAT
    own = vectors[:, told] / scale[:, None]
    inverse = (own / values[told]) @ own.T
    scores = found.known.scores[:, free]
    n = len(scores)
    meat = scores.T @ scores * (n / max(n - rank, 1))
    model[np.ix_(free, free)] = inverse
    robust[np.ix_(free, free)] = inverse @ meat @ inverse
    flat = np.zeros((int((~told).sum()), size))
    flat[:, free] = (vectors[:, ~told] / scale[:, None]).T
    return Errors(model, robust, flat)


def untold(found: Found, errors: Errors) -> BoolVector:
    """Coefficients that have a part in a direction of which nothing is known, free of units."""
    size = np.sqrt(np.abs(np.diag(found.information)))
    directions = np.abs(errors.flat * np.where(size > 0, size, 1.0))
    highest = directions.max(axis=1, initial=0.0)
    own = directions[:, : found.marginal.structure.n_beta]
    return np.asarray((own > 0.1 * highest[:, None]).any(axis=0))


def free_parameters(found: Found) -> Any:
    """Parameters that are neither held nor at the end of their range."""
    low, high = bounds_of(found.marginal.structure, found.floors)
    at_end = (found.x <= low + 1e-9) | (found.x >= high - 1e-9)
    return np.flatnonzero(~(found.held.astype(bool) | at_end))


class People(NamedTuple):
    """Posteriors of all coordinates (n, p), (n, p, p); influences; evidences left out."""

    mean: Matrix
    covariance: Matrix
    influence: Vector
    loo: Vector


def people_of(found: Found, covariance: Matrix) -> People:
    """Posteriors of subjects, with the uncertainty of the population added."""
    s, known = found.marginal.structure, found.known
    n, p = s.design.shape[:2]
    r = len(s.random)
    mean = s.means(found.x[: s.n_beta])
    mean[:, s.random] += known.means[:, :r]
    whole = np.zeros((n, p, p))
    rows = np.arange(n)[:, None, None]
    whole[rows, s.random[:, None], s.random[None]] = known.covariances[:, :r, :r]
    slope = np.zeros((n, p, len(found.x)))
    slope[:, s.random] = np.swapaxes(known.loadings @ known.covariances[:, :, :r], 1, 2)
    slope[:, s.fixed, : s.n_beta] = s.design[:, s.fixed]
    whole += slope @ covariance @ np.swapaxes(slope, 1, 2)
    influence = np.einsum("ia,ab,ib->i", known.scores, covariance, known.scores)
    loo = known.evidence - influence
    for i in np.flatnonzero(influence > 0.5):
        loo[i] = _left_out(found, int(i))
    return People(mean, whole, influence, loo)


def _left_out(found: Found, i: int) -> float:
    """Evidence of a subject under the population of all others: Newton's step on the same nodes."""
    s, free = found.marginal.structure, free_parameters(found)
    alone = np.zeros(len(s.counts))
    alone[i] = 1.0
    own = Marginal(found.marginal.nodes, s._replace(counts=alone)).at(found.x)
    rest = (found.information + own.hessian)[np.ix_(free, free)]
    step = np.linalg.lstsq(rest, -own.gradient[free], rcond=None)[0]
    x = found.x.copy()
    x[free] += np.clip(step, -1.0, 1.0)
    return float(found.marginal.evidence(x)[i])


class SpreadErrors(NamedTuple):
    """Standard errors of log sds (n_groups, r) and of Fisher's z of correlations (n_groups, r, r).

    NaN where the information does not tell them.
    """

    log_sd: Matrix
    z: Matrix


def spread_errors(found: Found, errors: Errors) -> SpreadErrors:
    """By the delta method; never smaller than if everybody's parameters were known.

    Known parameters would leave log sd an error of 1 / sqrt(2 df), and z one of 1 / sqrt(df - 2)
    with df people less coefficients. Nothing is told where the search did not settle, or where a
    number of the spread is at an end of its range. Draws that move a maximum along a correlation
    look like information on it: where nodes are draws, correlations have no errors.
    """
    s = found.marginal.structure
    r, n_groups, size = s.spread.size, s.spread.n_groups, s.spread.n_block
    log_sd, z = np.full((n_groups, r), np.nan), np.full((n_groups, r, r), np.nan)
    for g, block in enumerate(found.x[s.n_beta :].reshape(n_groups, size)):
        own = slice(s.n_beta + g * size, s.n_beta + (g + 1) * size)
        covariance = errors.model[own, own]
        if not found.settled or not (np.diag(covariance) > 0).all():
            continue
        df = _people_less_coefficients(s, g)
        matrix, slope = s.spread.matrices(np.tile(block, n_groups))[0], s.spread.slopes(block)[1]
        variance = np.diag(matrix)
        on_log_sd = np.einsum("kaa->ka", slope) / (2 * variance)
        squared = np.einsum("ka,kl,la->a", on_log_sd, covariance, on_log_sd)
        log_sd[g] = np.maximum(np.sqrt(squared), 1 / np.sqrt(2 * df))
        if s.spread.correlated and r <= MOST:
            sd = np.sqrt(variance)
            correlation = matrix / np.outer(sd, sd)
            on_r = slope / np.outer(sd, sd)
            on_r -= correlation * (on_log_sd[:, :, None] + on_log_sd[:, None, :])
            with np.errstate(divide="ignore", invalid="ignore"):
                on_z = on_r / (1 - correlation**2)
                squared = np.einsum("kab,kl,lab->ab", on_z, covariance, on_z)
            z[g] = np.maximum(np.sqrt(squared), 1 / np.sqrt(np.maximum(df - 2, 1.0))[:, None])
            np.fill_diagonal(z[g], np.nan)
    return SpreadErrors(log_sd, z)


def _people_less_coefficients(s: Structure, group: int) -> Vector:
    """Of each coordinate with spread: what its sd would rest on if people were known."""
    columns = (np.abs(s.design[:, s.random]).sum(axis=0) > 0).sum(axis=1)
    people = float(s.counts[s.group == group].sum())
    return np.asarray(np.maximum(people - columns / s.spread.n_groups, 1.0))


def regular_sd_limits(found: Found, errors: SpreadErrors, level: float) -> Matrix:
    """Ends (n_groups, r, 2) of sds whose logarithm is well told; NaN for others.

    Satterthwaite's: a variance is estimated like that of 1 + 1 / (2 e^2) known numbers, with e the
    standard error of log sd, so that its interval is that of chi-square. With many people this is
    the normal interval of log sd; with few it is as lopsided as that of known parameters.
    """
    s = found.marginal.structure
    limits = np.full((*errors.log_sd.shape, 2), np.nan)
    matrices = s.spread.matrices(found.x[s.n_beta :])
    largest = REGULAR if s.spread.size <= MOST else REGULAR_OF_DRAWS
    for g, a in zip(*np.nonzero(errors.log_sd <= largest), strict=True):
        df = 1 / (2 * errors.log_sd[g, a] ** 2)
        limits[g, a] = _chi_square_limits(matrices[g, a, a], df, level)
    return limits


def _chi_square_limits(variance: float, df: float, level: float) -> Vector:
    """Interval of the sd of normal numbers that are known, from their variance."""
    points = special.chdtri(df, np.array([(1 - level) / 2, (1 + level) / 2]))
    return np.asarray(np.sqrt(variance * df / points))


def sd_limits(task: Search, found: Found, errors: SpreadErrors, level: float) -> Matrix:
    """Ends (n_groups, r, 2) of all sds: of those that are hardly told by their profile.

    NaN where the search did not settle, and of what is hardly told where nodes are draws, whose
    errors a profile would follow. A profile that is narrower than if everybody's parameters were
    known did not reach its maxima, as where a covariance is all but singular.
    """
    limits = regular_sd_limits(found, errors, level)
    s = found.marginal.structure
    if not found.settled or s.spread.size > MOST:
        return limits
    matrices = s.spread.matrices(found.x[s.n_beta :])
    for g, a in zip(*np.nonzero(np.isnan(limits[:, :, 0])), strict=True):
        low, high = profile_limits(task, found, int(a), int(g), level)
        df = float(_people_less_coefficients(s, int(g))[a])
        known = _chi_square_limits(float(matrices[g, a, a]), df, level)
        limits[g, a] = np.minimum(low, known[0]), np.maximum(high, known[1])
    return limits


def profile_limits(
    task: Search, found: Found, c: int, group: int, level: float
) -> tuple[float, float]:
    """Profile interval of the standard deviation of coordinate c among those with spread.

    The lower end is 0 where F without that spread is no lower than at an end of the interval.
    """
    s = found.marginal.structure
    order = (c, *(a for a in range(s.spread.size) if a != c))
    spread = Spread(s.spread.size, s.spread.correlated, s.spread.n_groups, order)
    matrices = s.spread.matrices(found.x[s.n_beta :])
    x = np.concatenate([found.x[: s.n_beta], spread.numbers(matrices)])
    turned = replace(task, structure=s._replace(spread=spread, room=_near(found)))
    marginal = Marginal(found.marginal.nodes, turned.structure)
    place = s.n_beta + group * spread.n_block
    held = np.zeros(len(x), dtype=bool)
    held[place] = True
    tilt = Goal(task.restricted).tilt(marginal, x, marginal.at(x), held)
    profile = _Profile(turned, found.floors, held, tilt, place)
    profile.placed[float(x[place])] = Placed(marginal, found.posterior)
    best = profile(x, x[place])
    drop = 0.5 * float(chi_square_isf(1 - level, 1))
    information = best.information
    rest = np.delete(np.arange(len(x)), place)
    follow = np.zeros(len(x))
    inner = information[np.ix_(rest, rest)]
    follow[rest] = -np.linalg.lstsq(inner, information[rest, place], rcond=None)[0]
    follow[place] = 1.0
    curvature = float(information[place] @ follow)
    first = np.sqrt(2 * drop / max(curvature, 1e-3))
    typical = float(task.people.typical.sd[s.random[c]])
    ends_at = (
        float(found.floors[c]) + np.log(AT_BOUND),
        max(np.log(WIDEST * typical), float(x[place]) + TRUSTED),
    )
    way = _Way(follow, errors_by(information, held))
    ends = [_crossing(profile, best, drop, sign * first, ends_at, way) for sign in (-1.0, 1.0)]
    return float(np.exp(ends[0])), float(np.exp(ends[1]))


def _near(found: Found) -> Vector:
    """How far coefficients of coordinates without spread may move on given nodes in a profile.

    Their likelihood is known by its expansion: far from there it rises where the likelihood falls.
    """
    s = found.marginal.structure
    errors = errors_by(found.information, found.held)[: s.n_beta]
    return np.where(np.isfinite(s.room), np.minimum(s.room, NEAR_FIXED * errors), s.room)


class _At(NamedTuple):
    x: Vector
    value: float
    information: Matrix


@dataclass(frozen=True, eq=False)
class _Profile:
    """F at its best while one logarithm of a spread is held.

    Nodes are placed anew where it is farther from theirs than they can be trusted. The slope of the
    determinant that REML adds is taken once, at the maximum: what is left of it moves the best
    place elsewhere, and F there in second order only.
    """

    task: Search
    floors: Vector
    held: BoolVector
    tilt: Tilt
    place: int
    placed: dict[float, Placed] = field(default_factory=dict)

    def __call__(self, x: Vector, at: float) -> _At:
        start = x.copy()
        start[self.place] = at
        s = self.task.structure
        near = min(self.placed, key=lambda other: abs(other - at))
        nodes = self.placed[near]
        if abs(near - at) > TRUSTED:
            nodes = self.placed[float(at)] = placed_anew(self.task, start, nodes)
        for _ in range(MOST_FIXED if s.fixed.size else 1):
            if s.fixed.size:  # known near its mean only: evaluated where the climb begins
                nodes = placed_anew(self.task, start, nodes)
            bounds = trusted_bounds(s, start, self.floors)
            best, known = climb(nodes.marginal, start, self.tilt, bounds, self.held, CLOSE)
            moved = np.abs(best - start)[: s.n_beta][np.isfinite(s.room)]
            start = best
            if (moved < STOOD_STILL * s.room[np.isfinite(s.room)]).all():
                break
        value = known.value
        if self.task.restricted:
            value -= 0.5 * log_determinant(-known.hessian[: s.n_beta, : s.n_beta])
        return _At(best, value, -known.hessian)


class _Way(NamedTuple):
    """How other parameters follow the one that is held, no farther than their errors."""

    follow: Vector
    errors: Vector

    def __call__(self, x: Vector, change: float) -> Vector:
        longest = np.minimum(self.errors, TRUSTED)
        return np.asarray(x + np.clip(change * self.follow, -longest, longest))


def _crossing(
    profile: _Profile,
    best: _At,
    drop: float,
    step: float,
    ends_at: tuple[float, float],
    way: _Way,
) -> float:
    """Where the profile falls by `drop`, from the maximum on; without end if not in the range.

    The root of twice the fall is nearly a line: secants of it. NaN where the profile falls at once,
    which no spread tells: beside a correlation of 1 the others cannot follow.
    """
    centre, want = float(best.x[profile.place]), float(np.sqrt(2 * drop))
    near, far = (centre, 0.0), None  # places with the root of the fall there
    at, near_x = centre + step, best.x
    for _ in range(MOST_PLACES):
        at = min(max(at, ends_at[0]), ends_at[1])
        # From the last place within the interval: climbs from beyond it may end on a lower ridge.
        new = profile(way(near_x, at - near[0]), at)
        root = float(np.sqrt(2 * max(best.value - new.value, 0.0)))
        if abs(root - want) < NEAR_ENOUGH:
            return at
        if root < want and at in ends_at:
            return -np.inf if at == ends_at[0] else np.inf
        if root < want:
            near, near_x = (at, root), new.x
        else:
            far = (at, root)
        if far is not None and near[0] != centre and abs(far[0] - near[0]) < AT_ONCE:
            far = None  # a jump: the climb to `far` had not reached the maximum there
        if far is None:
            grown = 1.05 * want / near[1] if near[1] > 0 else 2.0
            at = centre + (near[0] - centre) * min(max(grown, 1.2), 2.0)
            continue
        share = (want - near[1]) / (far[1] - near[1])
        at = near[0] + min(max(share, 0.1), 0.9) * (far[0] - near[0])
    return at if abs(at - centre) > AT_ONCE else np.nan


def normality(found: Found) -> Matrix:
    """Two-sided p-values (r, 2) that a population is lopsided, or of two kinds or heavy-tailed.

    Of a normal population the posterior means of Hermite's polynomials He_k of the standardised
    coordinate have mean 0 and variance k! reliability^k: k = 3 tells skewness, k = 4 kurtosis. The
    latter is made normal as sample kurtosis is (Anscombe and Glynn 1983). 1 where people are hardly
    told apart, or few.
    """
    s, known = found.marginal.structure, found.known
    r, n = len(s.random), len(known.share)
    matrices = s.spread.matrices(found.x[s.n_beta :])[s.group]
    centre = s.means(found.x[: s.n_beta])[:, s.random]
    p = np.ones((r, 2))
    if n < FEWEST_SHAPED:
        return p
    for a in range(r):
        variance = matrices[:, a, a]
        told = np.clip(1 - known.covariances[:, a, a] / variance, 0.0, 1.0)
        if told.mean() < TOLD:
            continue
        z = (found.marginal.nodes.places[:, :, a] - centre[:, a, None]) / np.sqrt(variance)[:, None]
        third, fourth = z**3 - 3 * z, z**4 - 6 * z**2 + 3
        skewness = (known.share * third).sum() / np.sqrt(6 * (told**3).sum())
        kurtosis = (known.share * fourth).sum() / np.sqrt(24 * (told**4).sum())
        for b, statistic in enumerate((skewness, _made_normal(float(kurtosis), n))):
            p[a, b] = 2 * normal_sf(abs(statistic))
    return p


def _made_normal(x: float, n: int) -> float:
    """A standardised kurtosis of n numbers as a normal deviate."""
    skew = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    skew *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    size = 6 + 8 / skew * (2 / skew + np.sqrt(1 + 4 / skew**2))
    below = 1 + x * np.sqrt(2 / (size - 4))
    root = np.sign(below) * (abs((1 - 2 / size) / below)) ** (1 / 3) if below else 0.0
    return float((1 - 2 / (9 * size) - root) / np.sqrt(2 / (9 * size)))


def normal_half(level: float) -> float:
    """Half width of a normal interval in standard deviations."""
    return float(normal_isf((1 - level) / 2))


def maximum_likelihood(found: Found) -> tuple[float, Structure]:
    """F at its own maximum on the nodes, whatever was maximised."""
    x, known, _ = maximise(found.marginal, found.x, found.floors, found.held, Goal())
    assert len(x) == len(found.x)
    return known.value, found.marginal.structure
