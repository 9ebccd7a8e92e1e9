"""Where to evaluate a subject's likelihood: its posterior's mode and width, and rules of nodes.

Up to four coordinates: products of Gauss-Hermite nodes about the subject's own posterior, with k
in each direction, and more in the shape parameters where posteriors are far from normal. Above
that: Gauss-Hermite in the shape parameters, and for each of these as many quasi-random places in
the weights, drawn from a Student t about the posterior with a share from the population itself, so
that no weight is without bound; they are turned another way for every subject, so that their errors
average out over people.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from penchant._typing import IntVector, Matrix, Vector
from penchant.inference.predict import TAIL, log_t, quasi_random, turns, whitened
from penchant.models.coordinates import Coordinates
from penchant.population.hierarchy.likelihoods import People
from penchant.population.hierarchy.marginal import Known, Nodes, Structure

EACH = {0: 1, 1: 11, 2: 9, 3: 7, 4: 5}
MOST = 4  # coordinates of a product of nodes
ROUGH = 5  # nodes in each direction while the search is under way
N_DRAWS = 128
FEWER = {0: (1, 256), 1: (5, 128), 2: (5, 64), 3: (3, 32)}  # by shapes: nodes of each, draws
LEAST = (3, 16)
UNTOLD = 1e-10  # smallest information of a direction, relative to others
FROM_POPULATION = 0.1  # share of draws


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes for a standard normal posterior.

    Attributes
    ----------
    n_shape
        Number of first coordinates that are shape parameters.
    z
        (K, L, r): standard places; the first n_shape are the same for all of L.
    on_shape, on_weights
        (K,) and (L,): log-weights of dz, of shapes and of weights.
    drawn
        Whether the weights' places are draws, whose density has to be divided by.
    from_population
        (L,): places that are drawn from the population instead.
    """

    n_shape: int
    z: Matrix
    on_shape: Vector
    on_weights: Vector
    drawn: bool
    from_population: Vector

    @property
    def n_nodes(self) -> int:
        """Nodes of each subject."""
        return int(self.z.shape[0] * self.z.shape[1])

    @property
    def log_weights(self) -> Matrix:
        """(K, L): of dz."""
        return np.asarray(self.on_shape[:, None] + self.on_weights)

    @classmethod
    def of(
        cls, n_shape: int, n_weights: int, k: int, n_draws: int = N_DRAWS, more: int = 0
    ) -> Rule:
        """Nodes of products, or draws of the weights where there are too many directions.

        Parameters
        ----------
        k, more
            Nodes in each direction, and how many more in those of shape parameters.
        n_draws
            Places in the weights where products are too many.
        """
        drawn = n_shape + n_weights > MOST
        on_shape, first = hermite(n_shape, k + more)
        if drawn:
            on_weights, second = quasi_random(n_weights, n_draws), np.zeros(n_draws)
        else:
            on_weights, second = hermite(n_weights, k)
        shape = len(on_shape), len(on_weights)
        z = np.concatenate(
            [
                np.broadcast_to(on_shape[:, None], (*shape, n_shape)),
                np.broadcast_to(on_weights[None], (*shape, n_weights)),
            ],
            axis=2,
        )
        count = round(FROM_POPULATION * n_draws) if drawn else 0
        chosen = np.arange(shape[1]) % max(n_draws // max(count, 1), 1) == 0
        population = chosen if drawn else np.zeros(shape[1], dtype=bool)
        return cls(n_shape, z, first, second, drawn, population)

    def place(self, centre: Matrix, factor: Matrix) -> tuple[Matrix, Matrix]:
        """Product nodes (n, K, L, r) and their log-weights (n, K, L).

        Parameters
        ----------
        centre, factor
            (n, r) and (n, r, r): each subject's posterior, the factor lower triangular.
        """
        h = centre[:, None, None] + np.einsum("nab,klb->nkla", factor, self.z)
        level = np.log(np.einsum("naa->na", factor))
        weights = self.log_weights + level[:, : self.n_shape].sum(axis=1)[:, None, None]
        return h, weights + level[:, self.n_shape :].sum(axis=1)[:, None, None]

    def place_shape(self, centre: Matrix, factor: Matrix) -> tuple[Matrix, Matrix]:
        """Nodes (n, K, q) in the shape parameters alone, and their log-weights (n, K)."""
        q = self.n_shape
        own = factor[:, :q, :q]
        h = centre[:, None, :q] + np.einsum("nab,kb->nka", own, self.z[:, 0, :q])
        level = np.log(np.einsum("naa->na", own)).sum(axis=1)
        return h, self.on_shape + level[:, None]

    def draw(
        self, middle: Matrix, width: Matrix, known: Matrix, other: Matrix, turns: Matrix
    ) -> tuple[Matrix, Matrix]:
        """Draws (n, K, L, d) of the weights at each node of shape, and their log-weights.

        Parameters
        ----------
        middle, width
            (n, K, d) and (n, K, d, d): where weights lie given the shape, the factor of how wide.
        known, other
            The same by the population alone.
        turns
            (n, d, d): orthogonal, by which the draws of each subject are turned.
        """
        z = np.einsum("nab,lb->nla", turns, self.z[0, :, self.n_shape :])
        h = middle[:, :, None] + np.einsum("nkab,nlb->nkla", width, z)
        mine = self.from_population
        own = _to_normal(z[:, mine])
        h[:, :, mine] = known[:, :, None] + np.einsum("nkab,nlb->nkla", other, own)
        near = log_t(h - middle[:, :, None], width)
        far = _log_normal(h - known[:, :, None], other)
        share = mine.mean()
        density = np.logaddexp(np.log1p(-share) + near, np.log(share) + far)
        return h, -density - np.log(z.shape[1])


@cache
def _hermite(k: int) -> tuple[Vector, Vector]:
    z, w = np.polynomial.hermite_e.hermegauss(k)
    return z, np.log(w) + 0.5 * z**2


def hermite(n: int, k: int) -> tuple[Matrix, Vector]:
    """Product nodes (k^n, n) and the logarithms of their weights of dz."""
    z, w = _hermite(k)
    if not n:
        return np.zeros((1, 0)), np.zeros(1)
    grid = np.stack(np.meshgrid(*[z] * n, indexing="ij"), axis=-1).reshape(-1, n)
    weights = np.stack(np.meshgrid(*[w] * n, indexing="ij"), axis=-1).reshape(-1, n)
    return grid, weights.sum(axis=1)


def _to_normal(z: Matrix) -> Matrix:
    """Places of Student's t at about the length that they have under a normal density."""
    n = z.shape[-1]
    squared = (z**2).sum(axis=-1)
    share = special.fdtrc(n, TAIL, squared / n)
    return np.asarray(z * np.sqrt(special.chdtri(n, share) / squared)[..., None])


def _log_normal(away: Matrix, factor: Matrix) -> Matrix:
    squared, level = whitened(away, factor)
    return np.asarray(-0.5 * squared - level - 0.5 * away.shape[-1] * np.log(2 * np.pi))


MOST_STEPS = 40
ENOUGH = 1e-6  # gain promised by a step
LONGEST = 2.0  # standard deviations of the population in one step
ON_GRID = {1: 11, 2: 6, 3: 4}  # points of each shape parameter to start from


class Modes(NamedTuple):
    """Highest places (n, p), their log-posteriors, informations of likelihood alone (n, p, p)."""

    h: Matrix
    value: Vector
    information: Matrix


def find_modes(
    people: People,
    which: IntVector,
    h: Matrix,
    mean: Matrix,
    precision: Matrix,
    free: IntVector,
    *,
    most_steps: int = MOST_STEPS,
    on_shape: bool = True,
) -> Modes:
    """The modes of log-likelihood plus log N(mean, precision^-1) in the free coordinates.

    Parameters
    ----------
    which, h
        Subjects, and where to begin: (n,), (n, p).
    mean, precision
        (n, r) and (n, r, r), of the free coordinates.
    free
        Which coordinates move; the others stay as they are.
    on_shape
        False where no shape parameter is free.
    """
    h = h.copy()
    n = len(which)
    first = people.derivatives(which, h[:, None, None], on_shape)
    gradient, information = first.gradient[:, 0, 0], first.information[:, 0, 0]
    value = first.value[:, 0, 0] + _prior(h[:, free], mean, precision)
    limit = LONGEST / np.sqrt(np.einsum("naa->na", precision))
    active, fraction = np.arange(n), np.ones(n)
    step = np.zeros((n, len(free)))
    fresh = np.ones(n, dtype=bool)
    for _ in range(most_steps):
        mine = active[fresh[active]]
        pull = np.einsum("nab,nb->na", precision[mine], h[mine][:, free] - mean[mine])
        slope = gradient[mine][:, free] - pull
        curvature = information[mine][:, free][:, :, free] + precision[mine]
        found = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        scale = np.maximum(np.abs(found / limit[mine]).max(axis=1, initial=0.0), 1.0)
        step[mine] = found / scale[:, None]
        promised = (found * slope).sum(axis=1)
        done = np.zeros(n, dtype=bool)
        done[mine] = promised < ENOUGH
        done |= fraction < 1e-4
        active = active[~done[active]]
        if not len(active):
            break
        trial = h[active]
        trial[:, free] += fraction[active, None] * step[active]
        tried = people.derivatives(which[active], trial[:, None, None], on_shape)
        new = tried.value[:, 0, 0] + _prior(trial[:, free], mean[active], precision[active])
        up = new > value[active]
        went = active[up]
        h[went], value[went] = trial[up], new[up]
        gradient[went] = tried.gradient[up, 0, 0]
        information[went] = tried.information[up, 0, 0]
        fresh[active] = up
        fraction[active] = np.where(up, 1.0, fraction[active] / 3)
    return Modes(h, value, information)


def starting_places(people: People) -> Matrix:
    """The best of a coarse grid over the shapes for every subject, with weights to match."""
    coordinates, (centre, sd) = people.coordinates, people.typical
    n, p, q = len(people.subjects), len(coordinates), coordinates.n_shape
    grid = shape_grid(coordinates)
    weights = np.arange(q, p)
    which = np.repeat(np.arange(n), len(grid))
    h = np.tile(centre, (len(which), 1))
    h[:, :q] = np.tile(grid, (n, 1))
    precision = np.broadcast_to(np.diag(1 / sd[q:] ** 2), (len(which), p - q, p - q))
    mean = np.broadcast_to(centre[q:], (len(which), p - q))
    found = find_modes(people, which, h, mean, precision, weights, most_steps=6, on_shape=False)
    value = found.value - 0.5 * (((h[:, :q] - centre[:q]) / sd[:q]) ** 2).sum(axis=1)
    best = value.reshape(n, len(grid)).argmax(axis=1)
    return np.asarray(found.h.reshape(n, len(grid), p)[np.arange(n), best])


def shape_grid(coordinates: Coordinates) -> Matrix:
    """Points over the ranges of the shape parameters: (n_points, q)."""
    q = coordinates.n_shape
    if not q:
        return np.zeros((1, 0))
    axes = []
    own = sum(c.link.name != "identity" for c in coordinates.each[:q])
    for c in coordinates.each[:q]:
        count = ON_GRID.get(own, 3)
        if c.link.name == "identity":  # a difference between conditions
            axes.append(np.zeros(1))
        elif c.link.name == "logit":
            axes.append(np.linspace(-4.0, 3.5, count))
        else:
            shape = coordinates.shape[c.natural.index]
            inside = np.linspace(*shape.search_range, count + 2)[1:-1]
            psi = np.asarray(shape.from_search(inside))
            axes.append(c.link.coordinate(c.natural.scale * psi**c.natural.power))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)


def _prior(h: Matrix, mean: Matrix, precision: Matrix) -> Vector:
    away = h - mean
    return np.asarray(-0.5 * np.einsum("na,nab,nb->n", away, precision, away))


class Posterior(NamedTuple):
    """Mean and lower factor of the covariance of each subject's coordinates with spread."""

    centre: Matrix
    factor: Matrix


def _population(s: Structure, x: Vector) -> tuple[Matrix, Matrix]:
    """Means (n, p) and covariances (n, r, r) of everybody."""
    matrices = s.spread.matrices(x[s.n_beta :])
    return s.means(x[: s.n_beta]), matrices[s.group]


def posterior_at_modes(people: People, s: Structure, x: Vector, h: Matrix) -> Posterior:
    """Modes under the population, and how wide posteriors are there by expected information."""
    means, covariances = _population(s, x)
    h = h.copy()
    h[:, s.fixed] = means[:, s.fixed]
    precision = np.asarray(np.linalg.inv(covariances), dtype=np.float64)
    if not len(s.random):
        return Posterior(np.zeros((len(h), 0)), np.zeros((len(h), 0, 0)))
    found = find_modes(people, np.arange(len(h)), h, means[:, s.random], precision, s.random)
    information = found.information[:, s.random][:, :, s.random] + precision
    return Posterior(found.h[:, s.random], _widths(information))


def _widths(information: Matrix) -> Matrix:
    """Lower factors of the inverses, whatever the units; what is not told at all is hardly told."""
    scale = np.sqrt(np.einsum("naa->na", information))
    values, vectors = np.linalg.eigh(information / (scale[:, :, None] * scale[:, None, :]))
    inside = np.maximum(values, UNTOLD)
    inverse = (vectors / inside[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.asarray(np.linalg.cholesky(inverse) / scale[:, :, None], dtype=np.float64)


def placed_nodes(
    people: People,
    s: Structure,
    rule: Rule,
    x: Vector,
    posterior: Posterior,
    which: IntVector,
    *,
    on_fixed: bool = True,
) -> Nodes:
    """Nodes of some subjects, with the likelihood at each.

    Its slopes in coordinates without spread are 0 unless asked for: they are needed away from x.
    """
    means, covariances = _population(s, x)
    means, covariances = means[which], covariances[which]
    own = Posterior(posterior.centre[which], posterior.factor[which])
    if rule.drawn:
        places, weights = _drawn(people, s, rule, which, own, means, covariances)
    else:
        places, weights = rule.place(*own)
    h = np.empty((*places.shape[:3], means.shape[1]))
    h[..., s.random] = places
    h[..., s.fixed] = means[:, None, None, s.fixed]
    n, n_nodes = len(which), rule.n_nodes
    f = len(s.fixed)
    gradient, information = np.zeros((n, n_nodes, f)), np.zeros((n, n_nodes, f, f))
    if f and on_fixed:
        q = people.coordinates.n_shape
        found = people.derivatives(which, h, on_shape=bool((s.fixed < q).any()))
        value = found.value
        gradient[:] = found.gradient[..., s.fixed].reshape(n, n_nodes, f)
        information[:] = found.information[..., s.fixed, :][..., s.fixed].reshape(n, n_nodes, f, f)
    else:
        value = people.values(which, h)
    # far out numbers overflow: nobody decides so
    lost = ~(np.isfinite(value.reshape(n, n_nodes)) & np.isfinite(information).all(axis=(2, 3)))
    lost |= ~np.isfinite(gradient).all(axis=2)
    gradient[lost], information[lost] = 0.0, 0.0
    value = np.where(lost.reshape(value.shape), -np.inf, value)
    return Nodes(
        places.reshape(n, n_nodes, len(s.random)),
        (value + weights).reshape(n, n_nodes),
        means[:, s.fixed].copy(),
        gradient,
        information,
    )


def _drawn(
    people: People,
    s: Structure,
    rule: Rule,
    which: IntVector,
    own: Posterior,
    means: Matrix,
    covariances: Matrix,
) -> tuple[Matrix, Matrix]:
    """Product nodes in the shapes; at each, draws about the mode of the weights given them."""
    q, n = rule.n_shape, len(which)
    on_shape, weights = rule.place_shape(*own)
    n_psi = on_shape.shape[1]
    mean = means[:, s.random]
    slope = np.zeros((n, mean.shape[1] - q, q))
    rest = covariances[:, q:, q:]
    if q:
        slope = np.swapaxes(np.linalg.solve(covariances[:, :q, :q], covariances[:, :q, q:]), 1, 2)
        rest = rest - slope @ covariances[:, :q, q:]
    known = mean[:, None, q:] + np.einsum("nab,nkb->nka", slope, on_shape - mean[:, None, :q])
    h = np.repeat(means[:, None], n_psi, axis=1)
    h[:, :, s.random[:q]] = on_shape
    h[:, :, s.random[q:]] = own.centre[:, None, q:] + np.einsum(
        "nab,kb->nka", own.factor[:, q:, :q], rule.z[:, 0, :q]
    )
    pairs = n * n_psi
    precision = np.repeat(np.linalg.inv(rest), n_psi, axis=0)
    found = find_modes(
        people,
        np.repeat(which, n_psi),
        h.reshape(pairs, -1),
        known.reshape(pairs, -1),
        precision,
        s.random[q:],
        most_steps=15,
        on_shape=False,
    )
    information = found.information[:, s.random[q:]][:, :, s.random[q:]] + precision
    d = known.shape[2]
    middle = found.h[:, s.random[q:]].reshape(n, n_psi, d)
    wide = _widths(information).reshape(n, n_psi, d, d)
    other = np.repeat(np.linalg.cholesky(rest)[:, None], n_psi, axis=1)
    turned = turns(len(people.subjects), d)[which]
    drawn, log_weights = rule.draw(middle, wide, known, other, turned)
    places = np.empty((*drawn.shape[:3], mean.shape[1]))
    places[..., :q] = on_shape[:, :, None]
    places[..., q:] = drawn
    return places, weights[:, :, None] + log_weights


def posterior_by_nodes(known: Known, s: Structure, x: Vector, before: Posterior) -> Posterior:
    """Means and covariances of subjects by their nodes; never much narrower than before."""
    r = len(s.random)
    if not r:
        return before
    means = s.means(x[: s.n_beta])[:, s.random] + known.means[:, :r]
    covariances = known.covariances[:, :r, :r]
    inverse = np.linalg.inv(before.factor)
    relative = inverse @ covariances @ np.swapaxes(inverse, 1, 2)
    values, vectors = np.linalg.eigh(relative)
    inside = np.clip(values, 0.2, 9.0)
    kept = (vectors * inside[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    covariances = before.factor @ kept @ np.swapaxes(before.factor, 1, 2)
    return Posterior(means, np.linalg.cholesky(covariances))


def shift_of(new: Posterior, old: Posterior) -> Vector:
    """How far posteriors moved, in their standard deviations, or changed in width."""
    if not new.centre.shape[1]:
        return np.zeros(len(new.centre))
    inverse = np.linalg.inv(old.factor)
    moved = np.abs(np.einsum("nab,nb->na", inverse, new.centre - old.centre)).max(axis=1)
    width = np.einsum("naa->na", new.factor) / np.einsum("naa->na", old.factor)
    return np.asarray(np.maximum(moved, np.abs(np.log(width)).max(axis=1)))
