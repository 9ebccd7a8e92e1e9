"""The likelihood of a population on fixed nodes, and its spread: exact gradient and Hessian.

S = L L' with L_ab = exp(lambda_a) t_ab, t_aa = 1 and t_ab = 0 above the diagonal: lambda is a
logarithm in units of the coordinate, t has no unit. The first coordinate's standard deviation is
exp(lambda) itself, which is why profiles put the one they are about first.

Subject i has coordinates h ~ N(D_i beta, S). With nodes h_ij, log-weights and log-likelihoods l_ij,

    F(beta, S) = sum_i log sum_j W_ij exp(l_ij) N(h_ij; D_i beta, S),

which never asks the model. Its derivatives are moments of the nodes under each subject's posterior
(Louis 1982): with u = (e, vech ee'), e = h - D_i beta, every derivative of log N is linear in u, so
that score_i = G_i E_i[u] + c and Hessian = sum_i E_i[second derivative] + G_i Cov_i[u] G_i'. Of a
diagonal S only the diagonal of ee' is needed.

Coordinates without spread have no nodes: h = D_i beta there, and l_ij follows its own quadratic
expansion about where it was evaluated, exact to second order where weights are on their own scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.population.hierarchy._kernels import node_moments


@dataclass(frozen=True)
class Spread:
    """How S is written in numbers.

    Attributes
    ----------
    size
        Number of coordinates that differ between people.
    correlated
        Whether their correlations are estimated.
    n_groups
        Covariances: one for everybody, or one per group.
    order
        Coordinates in the order of the factor L; as they are, if empty.
    """

    size: int
    correlated: bool = True
    n_groups: int = 1
    order: tuple[int, ...] = ()

    @cached_property
    def below(self) -> list[tuple[int, int]]:
        """Places of t."""
        if not self.correlated:
            return []
        return [(a, b) for a in range(self.size) for b in range(a)]

    @property
    def n_block(self) -> int:
        """Numbers of one group: logarithms, then t."""
        return self.size + len(self.below)

    @property
    def n_parameters(self) -> int:
        """Numbers of all groups."""
        return self.n_groups * self.n_block

    @property
    def places(self) -> list[int]:
        """The order of the factor."""
        return list(self.order or range(self.size))

    def factor(self, block: Vector) -> Matrix:
        """L of one group, in the order of the factor."""
        lower = np.eye(self.size)
        for value, (a, b) in zip(block[self.size :], self.below, strict=True):
            lower[a, b] = value
        return np.asarray(np.exp(block[: self.size])[:, None] * lower)

    def matrices(self, numbers: Vector) -> Matrix:
        """S of every group: (n_groups, size, size)."""
        blocks = numbers.reshape(self.n_groups, self.n_block)
        return np.stack([self._back(f @ f.T) for f in map(self.factor, blocks)])

    def many(self, numbers: Matrix) -> Matrix:
        """S of every group for many sets of numbers: (n, n_groups, size, size)."""
        blocks = numbers.reshape(len(numbers), self.n_groups, self.n_block)
        lower = np.zeros((*blocks.shape[:2], self.size, self.size))
        lower[...] = np.eye(self.size)
        for k, (a, b) in enumerate(self.below, start=self.size):
            lower[..., a, b] = blocks[..., k]
        lower *= np.exp(blocks[..., : self.size])[..., None]
        return self._back(lower @ np.swapaxes(lower, -1, -2))

    def numbers(self, matrices: Matrix) -> Vector:
        """Inverse of `matrices`."""
        found = []
        for own in matrices:
            ordered = own[np.ix_(self.places, self.places)]
            if not self.correlated:
                found.append(0.5 * np.log(np.diag(ordered)))
                continue
            lower = np.linalg.cholesky(ordered)
            level = np.diag(lower)
            below = [lower[a, b] / level[a] for a, b in self.below]
            found.append(np.concatenate([np.log(level), below]))
        return np.concatenate(found) if found else np.zeros(0)

    def slopes(self, block: Vector) -> tuple[Matrix, Matrix]:
        """Derivatives of L and of S in the numbers of one group: (n_block, size, size) each."""
        factor = self.factor(block)
        first = np.zeros((self.n_block, self.size, self.size))
        for a in range(self.size):
            first[a, a] = factor[a]
        level = np.exp(block[: self.size])
        for k, (a, b) in enumerate(self.below, start=self.size):
            first[k, a, b] = level[a]
        half = first @ factor.T
        return first, self._back(half + np.swapaxes(half, -1, -2))

    def bends(self, block: Vector, pull: Matrix) -> Matrix:
        """tr(pull d2S) of all pairs of numbers of one group, for a symmetric matrix `pull`."""
        factor, (first, _) = self.factor(block), self.slopes(block)
        places = self.places
        own = pull[np.ix_(places, places)]
        found = 2.0 * np.einsum("kxz,lxz->kl", own @ first, first)
        along = 2.0 * own @ factor  # tr(pull dL L') = sum of dL * pull L
        for a in range(self.size):
            found[a, a] += factor[a] @ along[a]
        for k, (a, b) in enumerate(self.below, start=self.size):
            both = np.exp(block[a]) * along[a, b]
            found[a, k] += both
            found[k, a] += both
        return np.asarray(found)

    def prior(self, numbers: Vector) -> tuple[float, Vector, Matrix]:
        """Log-density that keeps spreads from vanishing and correlations from 1; its derivatives.

        Proportional to each standard deviation (the limit of Chung et al. 2013's gamma of shape 2)
        and to the determinant of the correlations, LKJ(2): sum_a lambda_a - log(n_a) / 2 with
        n_a = 1 + sum_b t_ab^2.
        """
        size = self.n_parameters
        value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
        for g in range(self.n_groups):
            first = g * self.n_block
            value += float(numbers[first : first + self.size].sum())
            gradient[first : first + self.size] = 1.0
            for a in range(self.size):
                own = [first + self.size + k for k, (c, _) in enumerate(self.below) if c == a]
                t = numbers[own]
                level = 1.0 + float(t @ t)
                value -= 0.5 * float(np.log(level))
                gradient[own] = -t / level
                bend = -np.eye(len(own)) / level + 2.0 * np.outer(t, t) / level**2
                hessian[np.ix_(own, own)] = bend
        return value, gradient, hessian

    def _back(self, ordered: Matrix) -> Matrix:
        """From the order of the factor to that of the coordinates."""
        if not self.order:
            return ordered
        inverse = np.argsort(self.places)
        return ordered[..., inverse, :][..., :, inverse]


NOWHERE: Vector = np.empty(0)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Where every subject's likelihood is known.

    Attributes
    ----------
    places
        (n, J, r): the coordinates that differ between people.
    mass
        (n, J): log-weight plus log-likelihood.
    fixed
        (n, f): coordinates without spread at which it was evaluated.
    gradient, information
        (n, J, f) and (n, J, f, f): of the log-likelihood there.
    """

    places: Matrix
    mass: Matrix
    fixed: Matrix
    gradient: Matrix
    information: Matrix

    def replaced(self, which: IntVector, others: Nodes) -> Nodes:
        """With others for some subjects."""
        if len(which) == len(self.mass):
            return others
        found = {}
        for name in self.__dataclass_fields__:
            found[name] = getattr(self, name).copy()
            found[name][which] = getattr(others, name)
        return Nodes(**found)


class Structure(NamedTuple):
    """Who depends on what.

    Attributes
    ----------
    design
        (n, p, n_beta): subject i's mean is design[i] @ beta.
    random, fixed
        Coordinates with and without spread.
    spread, group
        How S is written, and whose S each subject has.
    counts
        How much each subject counts.
    room
        How far each coefficient may move on given nodes: of coordinates without spread the
        likelihood is known nearby only. Anywhere, if empty.
    """

    design: Matrix
    random: IntVector
    fixed: IntVector
    spread: Spread
    group: IntVector
    counts: Vector
    room: Vector = NOWHERE

    @property
    def n_beta(self) -> int:
        """Number of coefficients."""
        return int(self.design.shape[2])

    def means(self, beta: Vector) -> Matrix:
        """Of every subject: (n, p)."""
        return np.asarray(self.design @ beta)


class Known(NamedTuple):
    """F, evidences, scores (n, parameters), Hessian; and the posteriors behind them."""

    value: float
    evidence: Vector
    scores: Matrix
    hessian: Matrix
    share: Matrix
    means: Matrix
    covariances: Matrix
    loadings: Matrix

    @property
    def gradient(self) -> Vector:
        """Of F."""
        return np.asarray(self.scores.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Marginal:
    """F of a population, for given nodes."""

    nodes: Nodes
    structure: Structure

    @cached_property
    def _pairs(self) -> IntVector:
        """Coordinates whose products derivatives are made of: (m, 2)."""
        r = len(self.structure.random)
        if not self.structure.spread.correlated:
            return np.column_stack([np.arange(r), np.arange(r)])
        return np.column_stack(np.tril_indices(r))

    @property
    def _size(self) -> int:
        return len(self.structure.random) + len(self._pairs) + len(self.structure.fixed)

    def split(self, x: Vector) -> tuple[Vector, Vector]:
        """Coefficients and the numbers of S."""
        return x[: self.structure.n_beta], x[self.structure.n_beta :]

    def evidence(self, x: Vector) -> Vector:
        """Log-evidence of every subject."""
        return self._moments(x, 0)[0]

    def value(self, x: Vector) -> float:
        """F."""
        return float(self.structure.counts @ self.evidence(x))

    def values(self, xs: Matrix) -> Vector:
        """F at many places, (n, n_parameters): for draws."""
        s, nodes = self.structure, self.nodes
        n, n_nodes, r = nodes.places.shape
        every = s.spread.many(xs[:, s.n_beta :])
        sd = np.sqrt(np.einsum("xgaa->xga", every))
        unit = sd[..., :, None] * sd[..., None, :]
        scaled = every / unit
        precisions = np.linalg.inv(scaled) / unit
        levels = np.linalg.slogdet(scaled)[1] + 2 * np.log(sd).sum(axis=-1)
        constants = -0.5 * (r * np.log(2 * np.pi) + levels)
        found = np.empty(n), np.empty((n, n_nodes)), np.empty((n, 0)), np.empty((0, 0, 0))
        total = np.empty(len(xs))
        for j, x in enumerate(xs):
            means = s.means(x[: s.n_beta])
            mass, extra = self._expanded(means)
            centre = np.ascontiguousarray(means[:, s.random])
            node_moments(
                mass,
                nodes.places,
                centre,
                precisions[j],
                constants[j],
                s.group,
                extra,
                self._pairs,
                0,
                found,
            )
            total[j] = s.counts @ found[0]
        return total

    def at(self, x: Vector) -> Known:
        """F with its derivatives."""
        s = self.structure
        evidence, share, means, covariances = self._moments(x, 2)
        loadings, constants, bend = self._loadings(x, means, share)
        scores = (loadings @ means[:, :, None])[:, :, 0] + constants
        weighted = s.counts[:, None, None] * loadings
        hessian = bend + np.tensordot(weighted @ covariances, loadings, axes=([0, 2], [0, 2]))
        value = float(s.counts @ evidence)
        scores = s.counts[:, None] * scores
        hessian = (hessian + hessian.T) / 2
        return Known(value, evidence, scores, hessian, share, means, covariances, loadings)

    def information_on_beta(self, x: Vector) -> Matrix:
        """Minus the Hessian in the coefficients alone, as `at` has it, for less."""
        s = self.structure
        _, share, _, covariances = self._moments(x, 3)
        _, numbers = self.split(x)
        r = len(s.random)
        precisions, _ = _precisions(s.spread.matrices(numbers))
        design = np.concatenate([s.design[:, s.random], s.design[:, s.fixed]], axis=1)
        size = design.shape[1]
        inner = np.zeros((len(design), size, size))
        pull = np.zeros_like(inner)
        pull[:, :r, :r] = precisions[s.group]
        pull[:, range(r, size), range(r, size)] = 1.0
        inner[:, :r, :r] = precisions[s.group]
        if len(s.fixed):
            inner[:, r:, r:] = np.einsum("ij,ijab->iab", share, self.nodes.information)
        inner -= pull @ covariances @ pull
        inner *= s.counts[:, None, None]
        return np.asarray(np.einsum("iax,iab,iby->xy", design, inner, design, optimize=True))

    def complete_information(self, x: Vector, known: Known) -> Matrix:
        """The information that there would be if everybody's coordinates were known."""
        s = self.structure
        b = s.n_beta
        found = np.zeros((len(x), len(x)))
        matrices = s.spread.matrices(x[b:])
        precisions, _ = _precisions(matrices)
        own = s.design[:, s.random]
        weighted = s.counts[:, None, None] * precisions[s.group]
        found[:b, :b] = np.einsum("iax,iab,iby->xy", own, weighted, own, optimize=True)
        if len(s.fixed):
            on_fixed = s.design[:, s.fixed]
            expected = np.einsum("ij,ijab->iab", known.share, self.nodes.information)
            expected *= s.counts[:, None, None]
            found[:b, :b] += np.einsum("iax,iab,iby->xy", on_fixed, expected, on_fixed)
        for g, block in enumerate(x[b:].reshape(s.spread.n_groups, s.spread.n_block)):
            k = slice(b + g * s.spread.n_block, b + (g + 1) * s.spread.n_block)
            turned = precisions[g] @ s.spread.slopes(block)[1]
            total = s.counts[s.group == g].sum()
            found[k, k] = 0.5 * total * np.einsum("lxy,kyx->kl", turned, turned)
        return found

    def _moments(self, x: Vector, wanted: int) -> tuple[Vector, Matrix, Matrix, Matrix]:
        beta, numbers = self.split(x)
        s, nodes = self.structure, self.nodes
        n, n_nodes, _ = nodes.places.shape
        matrices = s.spread.matrices(numbers)
        precisions, constants = _precisions(matrices)
        means = s.means(beta)
        mass, extra = self._expanded(means)
        size = self._size if wanted else 0
        if wanted == 3:
            size = len(s.random) + len(s.fixed)
        found = (
            np.empty(n),
            np.empty((n, n_nodes)),
            np.empty((n, size)),
            np.empty((n, size, size) if wanted > 1 else (0, 0, 0)),
        )
        centre = np.ascontiguousarray(means[:, s.random])
        node_moments(
            mass,
            nodes.places,
            centre,
            precisions,
            constants,
            s.group,
            extra,
            self._pairs,
            wanted,
            found,
        )
        return found

    def _expanded(self, means: Matrix) -> tuple[Matrix, Matrix]:
        """Masses and their slopes where coordinates without spread have moved."""
        nodes = self.nodes
        if not nodes.fixed.shape[1]:
            return nodes.mass, nodes.gradient
        away = means[:, self.structure.fixed] - nodes.fixed
        pull = np.einsum("ijab,ib->ija", nodes.information, away)
        mass = nodes.mass + np.einsum("ija,ia->ij", nodes.gradient - 0.5 * pull, away)
        return mass, nodes.gradient - pull

    def _loadings(self, x: Vector, means: Matrix, share: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """G_i, the constants of scores, and the sum of expected second derivatives."""
        _, numbers = self.split(x)
        s = self.structure
        n, r, f = len(means), len(s.random), len(s.fixed)
        rows, columns = self._pairs.T
        n_square = len(rows)
        n_all = len(x)
        loadings, constants = np.zeros((n, n_all, self._size)), np.zeros((n, n_all))
        bend = np.zeros((n_all, n_all))
        b = slice(0, s.n_beta)
        double = np.where(rows == columns, 1.0, 2.0)
        blocks = numbers.reshape(s.spread.n_groups, -1)
        precisions, _ = _precisions(s.spread.matrices(numbers))
        on_random = s.design[:, s.random]
        for g, block in enumerate(blocks):
            mine = np.flatnonzero(s.group == g)
            if not r:
                break
            precision = precisions[g]
            _, first = s.spread.slopes(block)
            k = slice(s.n_beta + g * len(block), s.n_beta + (g + 1) * len(block))
            inner = precision @ first @ precision
            own = on_random[mine]
            pulled = np.swapaxes(own, 1, 2) @ precision
            loadings[mine, b, :r] = pulled
            loadings[mine, k, r : r + n_square] = 0.5 * inner[:, rows, columns] * double
            constants[mine, k] = -0.5 * np.einsum("xy,kyx->k", precision, first)
            counts = s.counts[mine]
            bend[b, b] -= np.tensordot(counts[:, None, None] * pulled, own, axes=([0, 2], [0, 1]))
            level = counts[:, None] * means[mine, :r]
            cross = -np.einsum("iab,kac,ic->bk", own, inner, level)
            bend[b, k] += cross
            bend[k, b] += cross.T
            products = np.zeros((r, r))
            products[rows, columns] = counts @ means[mine, r : r + n_square]
            products = products + products.T - np.diag(np.diag(products))
            total = counts.sum()
            turned = precision @ first
            both = np.einsum("lxy,kyx->kl", turned, turned)
            triple = np.einsum("lxy,kyx->kl", turned, turned @ (precision @ products))
            pull = precision @ products @ precision - total * precision
            bend[k, k] += 0.5 * total * both - 0.5 * (triple + triple.T)
            bend[k, k] += 0.5 * s.spread.bends(block, pull)
        if f:
            on_fixed = s.design[:, s.fixed]
            loadings[:, b, r + n_square :] = np.swapaxes(on_fixed, 1, 2)
            expected = np.einsum("ij,ijab->iab", share, self.nodes.information)
            expected *= s.counts[:, None, None]
            bend[b, b] -= np.einsum("iax,iab,iby->xy", on_fixed, expected, on_fixed)
        return loadings, constants, bend


def _inverse(matrix: Matrix) -> Matrix:
    """Of a covariance, in its own units."""
    sd = np.sqrt(np.diag(matrix))
    unit = np.outer(sd, sd)
    return np.asarray(np.linalg.inv(matrix / unit) / unit)


def _precisions(matrices: Matrix) -> tuple[Matrix, Vector]:
    """Inverses, and logarithms of the constants of the densities."""
    r = matrices.shape[-1]
    if not r:
        return np.zeros((len(matrices), 0, 0)), np.zeros(len(matrices))
    precisions = np.stack([_inverse(m) for m in matrices])
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    _, log_determinant = np.linalg.slogdet(matrices / (sd[:, :, None] * sd[:, None, :]))
    log_determinant = log_determinant + 2 * np.log(sd).sum(axis=1)
    return precisions, -0.5 * (r * np.log(2 * np.pi) + log_determinant)
