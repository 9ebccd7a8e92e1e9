"""What a population's maximum says: errors, intervals of spreads, people, doubts.

All of it comes from the nodes: nothing here asks the model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.population.hierarchy.marginal import Marginal, Structure
from penchant.population.hierarchy.search import Found, Goal, bounds_of, log_determinant, maximise
from penchant.population.hierarchy.spread import Spread
from penchant.tails import chi_square_point, normal_point, normal_tail

FEWEST_SHAPED = 20  # subjects of which the shape of a distribution is looked at
TOLD = 0.5  # reliability from which on it is
FLAT = 1e-9  # share of a direction's curvature below which nothing is known of it


class Errors(NamedTuple):
    """Covariances of all parameters, by the model and over subjects; directions not told."""

    model: Matrix
    robust: Matrix
    flat: Matrix


def errors_of(found: Found, rank: int) -> Errors:
    """Inverse of the observed information, and the sandwich."""
    free = free_parameters(found)
    size = len(found.x)
    model, robust = np.zeros((size, size)), np.zeros((size, size))
    information = found.information[np.ix_(free, free)]
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
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


def correlation_errors(spread: Spread, block: Vector, covariance: Matrix) -> Matrix:
    """Standard errors of Fisher's z of all correlations of one group."""

    def z(numbers: Vector) -> Matrix:
        own = Spread(spread.size, spread.correlated, 1, spread.order).matrices(numbers)[0]
        sd = np.sqrt(np.diag(own))
        r = np.clip(own / np.outer(sd, sd), -1 + 1e-12, 1 - 1e-12)
        np.fill_diagonal(r, 0.0)
        return np.asarray(np.arctanh(r))

    slopes = []
    for a in range(len(block)):
        step = np.zeros(len(block))
        step[a] = 1e-5
        slopes.append((z(block + step) - z(block - step)) / 2e-5)
    slope = np.stack(slopes, axis=-1)
    squared = np.einsum("abk,kl,abl->ab", slope, covariance, slope)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def sd_interval(
    found: Found, c: int, group: int, restricted: bool, level: float
) -> tuple[float, float]:
    """Profile interval of the standard deviation of coordinate c among those with spread."""
    s = found.marginal.structure
    order = (c, *(a for a in range(s.spread.size) if a != c))
    spread = Spread(s.spread.size, s.spread.correlated, s.spread.n_groups, order)
    matrices = s.spread.matrices(found.x[s.n_beta :])
    x = np.concatenate([found.x[: s.n_beta], spread.numbers(matrices)])
    marginal = Marginal(found.marginal.nodes, s._replace(spread=spread))
    place = s.n_beta + group * spread.n_block
    held = np.zeros(len(x), dtype=bool)
    held[place] = True
    profile = _Profile(marginal, found.floors, held, restricted, place)
    best = profile(x, x[place])
    drop = 0.5 * float(chi_square_point(1 - level, 1))
    information = best.information
    rest = np.delete(np.arange(len(x)), place)
    cross = information[rest, place]
    inner = np.linalg.lstsq(information[np.ix_(rest, rest)], cross, rcond=None)[0]
    curvature = information[place, place] - cross @ inner
    first = np.sqrt(2 * drop / max(float(curvature), 1e-3))
    floor = float(found.floors[c])
    ends = [_crossing(profile, x, best.value - drop, sign * first, floor) for sign in (-1, 1)]
    return float(np.exp(ends[0])), float(np.exp(ends[1]))


class _At(NamedTuple):
    x: Vector
    value: float
    information: Matrix


class _Profile(NamedTuple):
    """F at its best while one logarithm of a spread is held."""

    marginal: Marginal
    floors: Vector
    held: BoolVector
    restricted: bool
    place: int

    def __call__(self, x: Vector, at: float) -> _At:
        start = x.copy()
        start[self.place] = at
        best, known, information = maximise(
            self.marginal,
            start,
            self.floors,
            self.held,
            Goal(self.restricted),
            still=0.02,
            trusted=True,
            repeats=3,
        )
        value = known.value
        if self.restricted:
            b = self.marginal.structure.n_beta
            value -= 0.5 * log_determinant(information[:b, :b])
        return _At(best, value, information)


def _crossing(profile: _Profile, x: Vector, target: float, step: float, floor: float) -> float:
    """Where the profile falls to the target, from the maximum on in the direction of a step."""
    centre = float(x[profile.place])
    inside, outside = centre, None
    at = centre + step
    for _ in range(12):
        if at < floor:
            if profile(x, floor).value > target:
                return -np.inf
            at = floor
        new = profile(x, at)
        x = new.x
        gap = new.value - target
        if abs(gap) < 2e-3:
            return at
        if gap > 0:
            inside = at
        else:
            outside = at
        if outside is None:
            at = inside + 0.5 * step
            continue
        # as a parabola about the centre falls
        fallen = max(-gap + 0.5 * 3.84, 1e-9)
        guess = centre + (at - centre) * np.sqrt(0.5 * 3.84 / fallen)
        low, high = sorted((inside, outside))
        at = guess if low < guess < high else 0.5 * (low + high)
    return at


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
            p[a, b] = 2 * normal_tail(abs(statistic))
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
    return float(normal_point((1 - level) / 2))


def maximum_likelihood(found: Found) -> tuple[float, Structure]:
    """F at its own maximum on the nodes, whatever was maximised."""
    x, known, _ = maximise(found.marginal, found.x, found.floors, found.held, Goal())
    assert len(x) == len(found.x)
    return known.value, found.marginal.structure
