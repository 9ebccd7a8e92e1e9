"""Where to evaluate a subject's likelihood, and how much each place counts.

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

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.inference.draws import TAIL, log_t, quasi_random, whitened

EACH = {0: 1, 1: 11, 2: 9, 3: 7, 4: 5}
MOST = 4  # coordinates of a product of nodes
ROUGH = 5  # nodes in each direction while the search is under way
N_DRAWS = 128
FEWER = {0: (1, 256), 1: (5, 128), 2: (5, 64), 3: (3, 32)}  # by shapes: nodes of each, draws
LEAST = (3, 16)
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
