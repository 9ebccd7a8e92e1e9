"""Marginal likelihood of a population on fixed nodes, with exact gradient and Hessian.

The covariance between people S = L L' is parametrised by its Cholesky factor (Pinheiro and Bates
1996), L_ab = exp(lambda_a) t_ab, t_aa = 1 and t_ab = 0 above the diagonal: lambda is a logarithm in
units of the coordinate, t has no unit. The first coordinate's standard deviation is exp(lambda)
itself, which is why profiles put the one they are about first.

Subject i has coordinates h ~ N(D_i beta, S). With nodes h_ij, log-weights and log-likelihoods l_ij,

    F(beta, S) = sum_i log sum_j W_ij exp(l_ij) N(h_ij; D_i beta, S),

which never evaluates the model. Its derivatives are moments of the nodes under each subject's
posterior (Louis 1982): with u = (e, vech ee'), e = h - D_i beta, every derivative of log N is
linear in u, so that score_i = G_i E_i[u] + c and Hessian = sum_i E_i[second derivative] + G_i
Cov_i[u] G_i'. Of a diagonal S only the diagonal of ee' is needed.

Coordinates without spread have no nodes: h = D_i beta there, and l_ij follows its own quadratic
expansion about where it was evaluated, exact to second order where weights are on their own scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from penchant._typing import IntMatrix, IntVector, Matrix, Vector
from penchant.population.hierarchy._quadrature_kernels import evidence_and_node_moments


class ValueGradientHessian(NamedTuple):
    """A function's value at one point, its gradient (n,) and its Hessian (n, n)."""

    value: float
    gradient: Vector
    hessian: Matrix


@dataclass(frozen=True)
class LogCholesky:
    """Log-Cholesky parametrisation of the covariance between people, S, of every group.

    Attributes
    ----------
    size
        Number of coordinates with spread.
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
    def lower_indices(self) -> list[tuple[int, int]]:
        """Row and column of each t in the factor."""
        if not self.correlated:
            return []
        return [(a, b) for a in range(self.size) for b in range(a)]

    @property
    def n_per_group(self) -> int:
        """Number of parameters of one group: logarithms lambda, then t."""
        return self.size + len(self.lower_indices)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of all groups."""
        return self.n_groups * self.n_per_group

    @property
    def factor_order(self) -> list[int]:
        """Coordinates in the order of the factor's rows."""
        return list(self.order or range(self.size))

    def factors(self, blocks: Matrix) -> Matrix:
        """L (..., size, size) of groups with parameters (..., n_per_group), in its own order."""
        lower = np.zeros((*blocks.shape[:-1], self.size, self.size))
        lower[...] = np.eye(self.size)
        for k, (a, b) in enumerate(self.lower_indices, start=self.size):
            lower[..., a, b] = blocks[..., k]
        return np.asarray(np.exp(blocks[..., : self.size])[..., None] * lower)

    def covariance_matrices(self, spread_parameters: Vector) -> Matrix:
        """S of every group: (..., n_groups, size, size) for parameters (..., n_parameters)."""
        blocks = spread_parameters.reshape(
            *spread_parameters.shape[:-1], self.n_groups, self.n_per_group
        )
        factors = self.factors(blocks)
        return self._restore_order(factors @ np.swapaxes(factors, -1, -2))

    def parametrize(self, matrices: Matrix) -> Vector:
        """Parameters of covariances (n_groups, size, size), inverting `covariance_matrices`."""
        found = []
        for own in matrices:
            ordered = own[np.ix_(self.factor_order, self.factor_order)]
            if not self.correlated:
                found.append(0.5 * np.log(np.diag(ordered)))
                continue
            lower = np.linalg.cholesky(ordered)
            level = np.diag(lower)
            ratios = [lower[a, b] / level[a] for a, b in self.lower_indices]
            found.append(np.concatenate([np.log(level), ratios]))
        return np.concatenate(found) if found else np.zeros(0)

    def factor_and_covariance_slopes(self, block: Vector) -> tuple[Matrix, Matrix]:
        """Derivatives of L and of S in one group's parameters: (n_per_group, size, size) each."""
        factor = self.factors(block)
        first = np.zeros((self.n_per_group, self.size, self.size))
        for a in range(self.size):
            first[a, a] = factor[a]
        level = np.exp(block[: self.size])
        for k, (a, b) in enumerate(self.lower_indices, start=self.size):
            first[k, a, b] = level[a]
        half = first @ factor.T
        return first, self._restore_order(half + np.swapaxes(half, -1, -2))

    def contract_second_derivatives(self, block: Vector, weight: Matrix) -> Matrix:
        """tr(weight d2S) for all pairs of one group's parameters, with a symmetric `weight`."""
        factor, (first, _) = self.factors(block), self.factor_and_covariance_slopes(block)
        order = self.factor_order
        own = weight[np.ix_(order, order)]
        hessian = 2.0 * np.einsum("kxz,lxz->kl", own @ first, first)
        along = 2.0 * own @ factor
        for a in range(self.size):
            hessian[a, a] += factor[a] @ along[a]
        for k, (a, b) in enumerate(self.lower_indices, start=self.size):
            both = np.exp(block[a]) * along[a, b]
            hessian[a, k] += both
            hessian[k, a] += both
        return np.asarray(hessian)

    def log_prior(self, spread_parameters: Vector) -> ValueGradientHessian:
        """Log-prior that keeps sds from 0 and correlations from 1, with its derivatives.

        Proportional to each standard deviation (the limit of Chung et al. 2013's gamma of shape 2)
        and to the determinant of the correlations, LKJ(2): sum_a lambda_a - log(n_a) / 2 with
        n_a = 1 + sum_b t_ab^2.
        """
        size = self.n_parameters
        value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
        for g in range(self.n_groups):
            first = g * self.n_per_group
            value += float(spread_parameters[first : first + self.size].sum())
            gradient[first : first + self.size] = 1.0
            for a in range(self.size):
                own = [
                    first + self.size + k for k, (c, _) in enumerate(self.lower_indices) if c == a
                ]
                t = spread_parameters[own]
                level = 1.0 + float(t @ t)
                value -= 0.5 * float(np.log(level))
                gradient[own] = -t / level
                own_hessian = -np.eye(len(own)) / level + 2.0 * np.outer(t, t) / level**2
                hessian[np.ix_(own, own)] = own_hessian
        return ValueGradientHessian(value, gradient, hessian)

    def _restore_order(self, ordered: Matrix) -> Matrix:
        """Permute from the order of the factor to that of the coordinates."""
        if not self.order:
            return ordered
        inverse = np.argsort(self.factor_order)
        return ordered[..., inverse, :][..., :, inverse]


NO_LIMITS: Vector = np.empty(0)


@dataclass(frozen=True, eq=False)
class QuadratureNodes:
    """Points at which every subject's likelihood was evaluated.

    Attributes
    ----------
    points
        (n, J, r): coordinates with spread.
    log_mass
        (n, J): log-weight plus log-likelihood.
    fixed_values
        (n, f): values of the coordinates without spread.
    gradient, information
        (n, J, f) and (n, J, f, f): of the log-likelihood in coordinates without spread.
    """

    points: Matrix
    log_mass: Matrix
    fixed_values: Matrix
    gradient: Matrix
    information: Matrix

    def replace_subjects(self, which: IntVector, others: QuadratureNodes) -> QuadratureNodes:
        """Copy with the nodes of some subjects replaced."""
        if len(which) == len(self.log_mass):
            return others
        found = {}
        for name in self.__dataclass_fields__:
            found[name] = getattr(self, name).copy()
            found[name][which] = getattr(others, name)
        return QuadratureNodes(**found)


class RandomEffectsStructure(NamedTuple):
    """Dependence of subjects' means and covariances on the parameters.

    Attributes
    ----------
    design
        (n, p, n_beta): subject i's mean is design[i] @ beta.
    random_coordinates, fixed_coordinates
        Coordinates with and without spread.
    spread, group
        Parametrisation of S, and the group whose S each subject has.
    subject_weights
        Weight of each subject in F; 1 but in mixtures of models.
    max_shift
        How far each coefficient may move on given nodes: in coordinates without spread the
        likelihood is a local expansion. Unlimited, if empty.
    """

    design: Matrix
    random_coordinates: IntVector
    fixed_coordinates: IntVector
    spread: LogCholesky
    group: IntVector
    subject_weights: Vector
    max_shift: Vector = NO_LIMITS

    @property
    def n_beta(self) -> int:
        """Number of coefficients."""
        return int(self.design.shape[2])

    def means(self, beta: Vector) -> Matrix:
        """Mean coordinates of every subject: (n, p)."""
        return np.asarray(self.design @ beta)


class MarginalEvaluation(NamedTuple):
    """F with its derivatives, and the posterior moments that they are made of.

    Attributes
    ----------
    value, hessian
        F and its Hessian.
    evidence, scores
        Log-evidence (n,) and gradient (n, n_parameters) of every subject.
    node_probabilities
        (n, J): posterior probability of each node.
    means, covariances
        Posterior moments of u, whose first entries are the deviations e from the mean.
    loadings
        G_i of the module's docstring: d score_i / d u.
    """

    value: float
    evidence: Vector
    scores: Matrix
    hessian: Matrix
    node_probabilities: Matrix
    means: Matrix
    covariances: Matrix
    loadings: Matrix

    @property
    def gradient(self) -> Vector:
        """Gradient of F."""
        return np.asarray(self.scores.sum(axis=0))


class NodeMoments(NamedTuple):
    """Posterior moments of every subject on the nodes, as in `MarginalEvaluation`.

    Means and covariances are empty where they are not wanted.
    """

    evidence: Vector
    node_probabilities: Matrix
    means: Matrix
    covariances: Matrix


class ScoreTerms(NamedTuple):
    """Terms of the derivatives of F: score_i = G_i E_i[u] + c_i.

    Attributes
    ----------
    loadings, constants
        G_i (n, n_parameters, n_moments), and c_i (n, n_parameters).
    expected_hessian
        Sum over subjects of the expected second derivatives: (n_parameters, n_parameters).
    """

    loadings: Matrix
    constants: Matrix
    expected_hessian: Matrix


@dataclass(frozen=True, eq=False)
class MarginalLikelihood:
    """Log marginal likelihood F of a population on given nodes."""

    nodes: QuadratureNodes
    structure: RandomEffectsStructure

    @cached_property
    def _covarying_coordinate_pairs(self) -> IntMatrix:
        """Pairs of coordinates whose products e_a e_b enter the derivatives: (m, 2)."""
        r = len(self.structure.random_coordinates)
        if not self.structure.spread.correlated:
            return np.column_stack([np.arange(r), np.arange(r)])
        return np.column_stack(np.tril_indices(r))

    @property
    def _n_posterior_moments_per_subject(self) -> int:
        return (
            len(self.structure.random_coordinates)
            + len(self._covarying_coordinate_pairs)
            + len(self.structure.fixed_coordinates)
        )

    def evidence(self, x: Vector) -> Vector:
        """Log-evidence of every subject."""
        return self._node_moments(x, with_moments=False).evidence

    def value(self, x: Vector) -> float:
        """Evaluate F alone."""
        return float(self.structure.subject_weights @ self.evidence(x))

    def value_batch(self, xs: Matrix) -> Vector:
        """Evaluate F at many parameter vectors (n, n_parameters): for posterior sampling."""
        structure = self.structure
        # All densities at once: one by one they would take most of the time.
        densities = _precisions_and_constants(
            structure.spread.covariance_matrices(xs[:, structure.n_beta :])
        )
        return np.array(
            [
                structure.subject_weights
                @ self._node_moments(x, (one, other), with_moments=False).evidence
                for x, one, other in zip(xs, *densities, strict=True)
            ]
        )

    def evaluate(self, x: Vector) -> MarginalEvaluation:
        """Evaluate F with gradient and Hessian (Louis 1982)."""
        structure = self.structure
        moments = self._node_moments(x)
        terms = self._score_terms(x, moments.means, moments.node_probabilities)
        scores = (terms.loadings @ moments.means[:, :, None])[:, :, 0] + terms.constants
        weighted = structure.subject_weights[:, None, None] * terms.loadings
        hessian = terms.expected_hessian + np.tensordot(
            weighted @ moments.covariances, terms.loadings, axes=([0, 2], [0, 2])
        )
        value = float(structure.subject_weights @ moments.evidence)
        scores = structure.subject_weights[:, None] * scores
        hessian = (hessian + hessian.T) / 2  # exactly symmetric: eigh reads one triangle only
        return MarginalEvaluation(
            value,
            moments.evidence,
            scores,
            hessian,
            moments.node_probabilities,
            moments.means,
            moments.covariances,
            terms.loadings,
        )

    def complete_data_information(self, x: Vector, evaluation: MarginalEvaluation) -> Matrix:
        """Complete-data information: what it would be if all coordinates were observed."""
        structure = self.structure
        b = structure.n_beta
        found = np.zeros((len(x), len(x)))
        matrices = structure.spread.covariance_matrices(x[b:])
        precisions, _ = _precisions_and_constants(matrices)
        own = structure.design[:, structure.random_coordinates]
        weighted = structure.subject_weights[:, None, None] * precisions[structure.group]
        found[:b, :b] = np.einsum("iax,iab,iby->xy", own, weighted, own, optimize=True)
        if len(structure.fixed_coordinates):
            found[:b, :b] += self._expected_fixed_information(evaluation.node_probabilities)
        for g, block in enumerate(
            x[b:].reshape(structure.spread.n_groups, structure.spread.n_per_group)
        ):
            k = slice(
                b + g * structure.spread.n_per_group, b + (g + 1) * structure.spread.n_per_group
            )
            turned = precisions[g] @ structure.spread.factor_and_covariance_slopes(block)[1]
            total = structure.subject_weights[structure.group == g].sum()
            found[k, k] = 0.5 * total * np.einsum("lxy,kyx->kl", turned, turned)
        return found

    def _node_moments(
        self,
        x: Vector,
        density: tuple[Matrix, Matrix] | None = None,
        *,
        with_moments: bool = True,
    ) -> NodeMoments:
        """Evidences, node probabilities, and with_moments the means and covariances of u.

        The precisions and constants of the population's density may be given.
        """
        structure, nodes = self.structure, self.nodes
        n, n_nodes, _ = nodes.points.shape
        if density is None:
            density = _precisions_and_constants(
                structure.spread.covariance_matrices(x[structure.n_beta :])
            )
        means = structure.means(x[: structure.n_beta])
        log_mass, gradient = self._log_masses_and_gradients(means)
        size = self._n_posterior_moments_per_subject if with_moments else 0
        found = np.empty(n), np.empty((n, n_nodes)), np.empty((n, size)), np.empty((n, size, size))
        evidence_and_node_moments(
            log_mass,
            nodes.points,
            np.ascontiguousarray(means[:, structure.random_coordinates]),
            *density,
            structure.group,
            gradient,
            self._covarying_coordinate_pairs,
            found,
        )
        return NodeMoments(*found)

    def _log_masses_and_gradients(self, means: Matrix) -> tuple[Matrix, Matrix]:
        """Log-masses and gradients at the means of fixed coordinates, by second-order expansion."""
        nodes = self.nodes
        if not nodes.fixed_values.shape[1]:
            return nodes.log_mass, nodes.gradient
        away = means[:, self.structure.fixed_coordinates] - nodes.fixed_values
        pull = np.einsum("ijab,ib->ija", nodes.information, away)
        log_mass = nodes.log_mass + np.einsum("ija,ia->ij", nodes.gradient - 0.5 * pull, away)
        return log_mass, nodes.gradient - pull

    def _score_terms(self, x: Vector, means: Matrix, node_probabilities: Matrix) -> ScoreTerms:
        structure = self.structure
        spread_parameters = x[structure.n_beta :]
        n, r, f = len(means), len(structure.random_coordinates), len(structure.fixed_coordinates)
        rows, columns = self._covarying_coordinate_pairs.T
        n_square = len(rows)
        n_all = len(x)
        loadings, constants = (
            np.zeros((n, n_all, self._n_posterior_moments_per_subject)),
            np.zeros((n, n_all)),
        )
        expected_hessian = np.zeros((n_all, n_all))
        b = slice(0, structure.n_beta)
        double = np.where(rows == columns, 1.0, 2.0)  # vech counts e_a e_b once, the form twice
        blocks = spread_parameters.reshape(structure.spread.n_groups, -1)
        precisions, _ = _precisions_and_constants(
            structure.spread.covariance_matrices(spread_parameters)
        )
        on_random = structure.design[:, structure.random_coordinates]
        for g, block in enumerate(blocks):
            mine = np.flatnonzero(structure.group == g)
            if not r:
                break
            precision = precisions[g]
            _, first = structure.spread.factor_and_covariance_slopes(block)
            k = slice(structure.n_beta + g * len(block), structure.n_beta + (g + 1) * len(block))
            inner = precision @ first @ precision
            own = on_random[mine]
            pulled = np.swapaxes(own, 1, 2) @ precision
            loadings[mine, b, :r] = pulled
            loadings[mine, k, r : r + n_square] = 0.5 * inner[:, rows, columns] * double
            constants[mine, k] = -0.5 * np.einsum("xy,kyx->k", precision, first)
            subject_weights = structure.subject_weights[mine]
            expected_hessian[b, b] -= np.tensordot(
                subject_weights[:, None, None] * pulled, own, axes=([0, 2], [0, 1])
            )
            level = subject_weights[:, None] * means[mine, :r]
            cross = -np.einsum("iab,kac,ic->bk", own, inner, level)
            expected_hessian[b, k] += cross
            expected_hessian[k, b] += cross.T
            products = np.zeros((r, r))
            products[rows, columns] = subject_weights @ means[mine, r : r + n_square]
            products = products + products.T - np.diag(np.diag(products))
            total = subject_weights.sum()
            turned = precision @ first
            both = np.einsum("lxy,kyx->kl", turned, turned)
            triple = np.einsum("lxy,kyx->kl", turned, turned @ (precision @ products))
            pull = precision @ products @ precision - total * precision
            expected_hessian[k, k] += 0.5 * total * both - 0.5 * (triple + triple.T)
            expected_hessian[k, k] += 0.5 * structure.spread.contract_second_derivatives(
                block, pull
            )
        if f:
            loadings[:, b, r + n_square :] = np.swapaxes(
                structure.design[:, structure.fixed_coordinates], 1, 2
            )
            expected_hessian[b, b] -= self._expected_fixed_information(node_probabilities)
        return ScoreTerms(loadings, constants, expected_hessian)

    def _expected_fixed_information(self, node_probabilities: Matrix) -> Matrix:
        """Posterior mean of the information on the coefficients of fixed coordinates."""
        structure = self.structure
        design = structure.design[:, structure.fixed_coordinates]
        expected = np.einsum("ij,ijab->iab", node_probabilities, self.nodes.information)
        expected *= structure.subject_weights[:, None, None]
        return np.asarray(np.einsum("iax,iab,iby->xy", design, expected, design))


def _precisions_and_constants(matrices: Matrix) -> tuple[Matrix, Matrix]:
    """Inverses of covariances (..., r, r), and logarithms of the normal densities' constants."""
    r = matrices.shape[-1]
    # Inverted as correlations: sds that differ by orders of magnitude would cost digits.
    sd = np.sqrt(np.einsum("...aa->...a", matrices))
    unit = sd[..., :, None] * sd[..., None, :]
    log_determinant = np.linalg.slogdet(matrices / unit)[1] + 2 * np.log(sd).sum(axis=-1)
    precisions = np.linalg.inv(matrices / unit) / unit
    return precisions, -0.5 * (r * np.log(2 * np.pi) + log_determinant)
