"""Quadrature nodes over the parameters of an adaptive experiment.

Up to three parameters have an adaptive grid, whose box shrinks and moves with the posterior; its
points are dense in the posterior's bulk and sparse in the tails. More parameters have importance
sampling from a normal distribution with the posterior's mean and covariance, at fixed scrambled
Sobol points, so that results are reproducible (Owen 1998). ParameterQuadratureNodes with the same
parameters of interest form a group, within which nuisance parameters are integrated out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import special, stats

from penchant._typing import IntVector, Matrix, Vector
from penchant.workflow.adaptive_question_prior import NodeParameters, ParameterScaling
from penchant.workflow.candidate_question_arrays import attributes_at, unanswered_record

# Points along a parameter of interest and along a nuisance parameter, by the numbers of both. More
# than 9,000 nodes would slow every question. Parameters of interest have more points, as the
# information is a difference of entropies along them, while nuisance parameters are summed out.
POINTS_PER_AXIS = {
    (1, 0): (201, 0),
    (1, 1): (61, 21),
    (2, 0): (35, 0),
    (1, 2): (41, 14),
    (2, 1): (25, 14),
    (3, 0): (20, 0),
}


@dataclass(frozen=True, slots=True)
class AdaptiveGridOptions:
    """Settings of the adaptive grid; shares are relative to the quantity named."""

    # With a fourth axis, 9,000 nodes would leave fewer than 10 points along each.
    max_parameters: int = 3
    # Choice probabilities kept in memory (96 MB); beyond it they are recomputed at every question.
    max_cached: int = 12_000_000
    # Relative to the largest density; what is cut off then changes no reported digit.
    negligible_density: float = 1e-7
    # A box, or its dense part, shrinks only to less than this share of its width: every move
    # recomputes the likelihood of all answers, which small gains do not repay.
    shrink_below: float = 0.6
    # Share of points in the bulk, for precision; the others keep sight of the tails.
    dense_share: float = 0.65
    # Probability beyond each end of the bulk: outside it few points suffice.
    bulk_tail: float = 0.005
    # In widths of the bulk, added at either end, as the next answers move the bulk.
    bulk_margin: float = 0.5
    # In widths of the box; smaller: more moves to follow a surprising answer; larger: coarser.
    growth: float = 0.5
    # Relative to the largest density; a box with more at an end may cut off the posterior.
    max_end_density: float = 1e-4
    # Relative to the prior's range; a box this near to its end cannot grow, whatever the rounding.
    end_tol: float = 1e-6
    # Relative to the box; a sparse point nearer to a dense one would be a node of no volume.
    point_tol: float = 1e-9


@dataclass(frozen=True, slots=True)
class SobolOptions:
    """Settings of importance sampling at Sobol points."""

    # Each group is a value of the parameters of interest; powers of 2 keep Sobol points balanced.
    n_groups: int = 128
    # Nuisance values per group: 4096 nodes in all, about as many as the larger grids have.
    n_per_group: int = 32
    # Nodes where no parameter is a nuisance: fewer, as no sums within groups need their own.
    n_alone: int = 2048
    # Kish effective sample size over sample size; below, few points carry all weight.
    min_effective_share: float = 0.25
    # Relative to the largest variance; without it a degenerate covariance has no Cholesky factor.
    jitter: float = 1e-8
    # Proposals are wider than the posterior, or its tails would get points of huge weight; divided
    # by the root of the dimension, as volumes are products of widths.
    widening: float = 0.5
    # Any seed will do, but always the same: equal answers must lead to equal questions.
    seed: int = 20
    min_uniform: float = 1e-12  # a Sobol point at 0 or 1 would have an infinite normal quantile


GRID = AdaptiveGridOptions()
SOBOL = SobolOptions()
HUGE_UTILITY = 1e300  # stands for an infinite utility: no choice probability tells them apart


@dataclass(frozen=True, eq=False)
class OfferProbabilities:
    """Choice probabilities at grouped nodes: of the second of two options, or of each of more.

    `options` has a matrix (n_groups, n_offers, n_nodes_per_group) for every option. `entropy`
    (n_groups, n_offers) is known where every group is a single node.
    """

    options: list[Matrix]
    entropy: Matrix | None


def answer_entropy(options: list[Matrix]) -> Matrix:
    """Entropy of the answer in nats; a single probability stands for two options."""
    if len(options) == 1:
        inside = np.clip(options[0], 0.0, 1.0)
        return np.asarray(special.entr(inside) + special.entr(1.0 - inside))
    return np.asarray(sum(special.entr(np.maximum(p, 0.0)) for p in options))


@dataclass(frozen=True, eq=False)
class ParameterQuadratureNodes:
    """Quadrature nodes: k values of the shape parameters, j of the weights at each.

    Attributes
    ----------
    z, psi, theta
        ParameterQuadratureNodes (k * j, p) in scaled coordinates, (k, q) shape parameters and (k,
        j, d) weights.
    log_prior
        Log of prior density over density of nodes, (k, j).
    shape_axes, weight_axes, axes_of_interest
        Sizes whose product is k, sizes whose product is j, and which axes of both the parameters
        of interest vary along.
    axes
        Values of z along every axis of a grid.
    boxes
        Ends of an adaptive grid around those of its dense part, (p, 4).
    """

    scaling: ParameterScaling
    z: Matrix
    parameters: NodeParameters
    psi: Matrix
    theta: Matrix
    log_prior: Matrix
    shape_axes: tuple[int, ...]
    weight_axes: tuple[int, ...]
    axes_of_interest: tuple[int, ...]
    axes: tuple[Vector, ...] = ()
    boxes: Matrix | None = None

    def values_by_group(self, values: Matrix) -> Matrix:
        """Reshape values at nodes (k, j) to (groups, nodes in each)."""
        sizes = (*self.shape_axes, *self.weight_axes)
        others = [a for a in range(len(sizes)) if a not in self.axes_of_interest]
        moved = values.reshape(sizes).transpose(*self.axes_of_interest, *others)
        n_groups = int(np.prod([sizes[a] for a in self.axes_of_interest], dtype=np.int64))
        return moved.reshape(n_groups, -1)

    def offer_values_by_group(self, values: Matrix) -> Matrix:
        """Values at nodes and offers (k, n, j) as (groups, n, nodes in each), contiguous."""
        n, q = values.shape[1], len(self.shape_axes)
        sizes = (*self.shape_axes, n, *self.weight_axes)
        at = [a if a < q else a + 1 for a in self.axes_of_interest]
        others = [a for a in range(len(sizes)) if a not in at and a != q]
        moved = values.reshape(sizes).transpose(*at, q, *others)
        n_groups = int(np.prod([sizes[a] for a in at], dtype=np.int64))
        return np.ascontiguousarray(moved.reshape(n_groups, n, -1))

    def utilities(self, record: Any) -> Matrix:
        """Utility of every option of every offer: (k, n_offers, n_options, j)."""
        return self._utilities_of_attributes(attributes_at(self.scaling.model, record, self.psi))

    def _utilities_of_attributes(self, x: Matrix) -> Matrix:
        k, n, m, d = x.shape
        with np.errstate(over="ignore", invalid="ignore"):
            found = x.reshape(k, n * m, d) @ self.theta.transpose(0, 2, 1)
        return _clip_infinite_utilities(found.reshape(k, n, m, -1))

    def probability_chunks(self) -> Iterator[OfferProbabilities]:
        """Probabilities of all offers, in chunks where they are too many to cache."""
        offers = self.scaling.offers
        n, n_options = next(iter(offers.values())).shape[:2]
        per_offer = self.log_prior.size * (1 if n_options == 2 else n_options)
        size = max(1, GRID.max_cached // per_offer)
        if size >= n:
            yield self._all_probabilities
            return
        for start in range(0, n, size):
            yield self.offer_probabilities(
                {name: v[start : start + size] for name, v in offers.items()}
            )

    @cached_property
    def _all_probabilities(self) -> OfferProbabilities:
        return self.offer_probabilities(self.scaling.offers)

    def offer_probabilities(self, offers: Mapping[str, Matrix]) -> OfferProbabilities:
        """Choice probabilities of some offers."""
        x = attributes_at(self.scaling.model, unanswered_record(offers), self.psi)
        if x.shape[2] == 2:
            with np.errstate(over="ignore", invalid="ignore"):
                # One difference of utilities instead of two utilities: half of the work and memory.
                difference = (x[:, :, 0] - x[:, :, 1]) @ self.theta.transpose(0, 2, 1)
                options = [1.0 / (1.0 + np.exp(_clip_infinite_utilities(difference)))]
        else:
            p = np.exp(log_probabilities(self._utilities_of_attributes(x)))
            options = [p[:, :, i] for i in range(p.shape[2])]
        found = [self.offer_values_by_group(p) for p in options]
        if found[0].shape[2] > 1:
            return OfferProbabilities(found, None)
        return OfferProbabilities(found, answer_entropy([p[:, :, 0] for p in found]))

    def marginal(self, weights: Matrix, axis: int) -> Vector:
        """Marginal of the weights (k, j) along one axis of a grid."""
        whole = weights.reshape(*self.shape_axes, *self.weight_axes)
        others = tuple(a for a in range(whole.ndim) if a != axis)
        return np.asarray(whole.sum(axis=others))


def _clip_infinite_utilities(utility: Matrix) -> Matrix:
    if np.isfinite(utility).all():
        return utility
    return np.nan_to_num(utility, posinf=HUGE_UTILITY, neginf=-HUGE_UTILITY)


def log_probabilities(utility: Matrix) -> Matrix:
    """Log-softmax over the third axis of (k, n, m, j)."""
    shifted = utility - utility.max(axis=2, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True)))


class NodeLayout(Protocol):
    """Rule that places quadrature nodes, before answers and as they come.

    Attributes
    ----------
    max_moves
        Limit on the moves of nodes after one answer.
    """

    max_moves: ClassVar[int]

    def initial_nodes(self) -> ParameterQuadratureNodes:
        """Nodes before any answer."""

    def adapted_nodes(
        self, nodes: ParameterQuadratureNodes, weights: Matrix
    ) -> ParameterQuadratureNodes | None:
        """Nodes that suit the posterior weights (k, j) better, or None where these will do."""


@dataclass(frozen=True, eq=False)
class AdaptiveGridLayout:
    """A product grid whose box follows the posterior."""

    # Each move shrinks to 0.6 or less: 12 make a box 500 times narrower, which is enough.
    max_moves: ClassVar[int] = 12
    scaling: ParameterScaling
    indices_of_interest: tuple[int, ...]

    def initial_nodes(self) -> ParameterQuadratureNodes:
        """Grid over the box of the prior, all of it dense."""
        ends = self._z_limits
        return self._grid_in_boxes(
            np.stack([ends[:, 0], ends[:, 0], ends[:, 1], ends[:, 1]], axis=1)
        )

    @cached_property
    def _z_limits(self) -> Matrix:
        return self.scaling.z_ranges()

    def _grid_in_boxes(self, boxes: Matrix) -> ParameterQuadratureNodes:
        n_nuisance = self.scaling.n_parameters - len(self.indices_of_interest)
        many, few = POINTS_PER_AXIS[len(self.indices_of_interest), n_nuisance]
        points = [many if a in self.indices_of_interest else few for a in range(len(boxes))]
        axes = tuple(_axis_points(box, n) for box, n in zip(boxes, points, strict=True))
        z, psi, sizes = _grid_z_psi_and_axis_sizes(self.scaling, axes)
        q = self.scaling.n_shape
        # A node stands for the cell around it: its density is one over the cell's volume.
        widths = np.meshgrid(*(np.log(np.gradient(axis)) for axis in axes), indexing="ij")
        log_density = -np.sum(widths, axis=0).ravel()
        made = _build_nodes(
            self.scaling, z, psi, sizes[:q], sizes[q:], self.indices_of_interest, axes, log_density
        )
        return replace(made, boxes=boxes)

    def adapted_nodes(
        self, nodes: ParameterQuadratureNodes, weights: Matrix
    ) -> ParameterQuadratureNodes | None:
        """Narrower boxes where the posterior fills part of them, wider where it meets an end."""
        assert nodes.boxes is not None
        new = np.array(
            [
                self._adapted_box(a, nodes.boxes[a], axis, nodes.marginal(weights, a))
                for a, axis in enumerate(nodes.axes)
            ]
        )
        return None if (new == nodes.boxes).all() else self._grid_in_boxes(new)

    def _adapted_box(
        self, parameter: int, box: Vector, axis: Vector, weight: Vector
    ) -> tuple[float, ...]:
        """Outer and dense ends along one axis, for marginal probabilities `weight`."""
        low, high = self._adapted_limits(parameter, axis, weight / np.gradient(axis))
        first, last = float(box[1]), float(box[2])
        below = np.cumsum(weight) - weight / 2
        tail = GRID.bulk_tail
        bulk = np.interp([tail, 1.0 - tail], below / weight.sum(), axis)
        margin = GRID.bulk_margin * float(bulk[1] - bulk[0])
        dense = max(low, float(bulk[0]) - margin), min(high, float(bulk[1]) + margin)
        outside = bulk[0] < first or bulk[1] > last
        if outside or dense[1] - dense[0] < GRID.shrink_below * (last - first):
            first, last = dense
        return low, max(low, first), min(high, last), high

    def _adapted_limits(self, parameter: int, axis: Vector, density: Vector) -> tuple[float, float]:
        low, high, width = float(axis[0]), float(axis[-1]), float(axis[-1] - axis[0])
        least, most = self._z_limits[parameter]
        top = density.max()
        tol = GRID.end_tol * (most - least)
        floor = GRID.max_end_density * top
        at_low, at_high = density[0] > floor, density[-1] > floor
        # Growing comes first: a box that cuts off the posterior is wrong, a wide one only coarse.
        if (at_low and low > least + tol) or (at_high and high < most - tol):
            return (
                max(least, low - GRID.growth * width) if at_low else low,
                min(most, high + GRID.growth * width) if at_high else high,
            )
        support = np.flatnonzero(density > GRID.negligible_density * top)
        ends = max(int(support[0]) - 1, 0), min(int(support[-1]) + 1, len(axis) - 1)
        first, last = axis[ends[0]], axis[ends[1]]
        if last - first >= GRID.shrink_below * width:
            return low, high
        return float(first), float(last)


def _axis_points(box: Vector, n: int) -> Vector:
    """Points between the ends of a box, most of them between its dense ends."""
    low, first, last, high = box
    n_dense = round(GRID.dense_share * n)
    if last - first > GRID.dense_share * (high - low):
        # A dense part as wide as this would have its points further apart than the others.
        return np.linspace(low, high, n)
    sparse = np.linspace(low, high, n - n_dense + 2)
    dense = np.linspace(first, last, n_dense)
    tol = GRID.point_tol * (high - low)
    return np.union1d(sparse[(sparse < first - tol) | (sparse > last + tol)], dense)


@dataclass(frozen=True, eq=False)
class FixedGridLayout:
    """A product grid of given values of the natural parameters, which never moves."""

    max_moves: ClassVar[int] = 0
    scaling: ParameterScaling
    indices_of_interest: tuple[int, ...]
    values: tuple[Vector, ...]

    def initial_nodes(self) -> ParameterQuadratureNodes:
        """Grid of the given values, with prior masses instead of densities."""
        each = self.scaling.coordinates.each
        axes = tuple(c.link.inverse(v) for c, v in zip(each, self.values, strict=True))
        h, psi, sizes = _grid_z_psi_and_axis_sizes(self.scaling, axes)
        q, k = self.scaling.n_shape, len(psi)
        theta = self.scaling.coordinates.theta(h[:, q:])
        parameters = NodeParameters(
            h, theta, np.repeat(psi, len(h) // k, axis=0), np.ones_like(theta)
        )
        log_prior = self.scaling.log_prior_of_natural(self.scaling.coordinates.natural(h))
        return ParameterQuadratureNodes(
            self.scaling,
            h,
            parameters,
            psi,
            theta.reshape(k, -1, theta.shape[1]),
            log_prior.reshape(k, -1),
            sizes[:q],
            sizes[q:],
            self.indices_of_interest,
            axes,
        )

    def adapted_nodes(self, nodes: ParameterQuadratureNodes, weights: Matrix) -> None:
        """Keep the nodes."""


@dataclass(frozen=True, eq=False)
class SobolLayout:
    """Importance sampling from a normal distribution, in groups by the parameters of interest."""

    # Redraws; one suffices as a rule, but a prior far from normal needs more.
    max_moves: ClassVar[int] = 4
    scaling: ParameterScaling
    indices_of_interest: tuple[int, ...]

    def initial_nodes(self) -> ParameterQuadratureNodes:
        """Draws around the middle of the prior's box."""
        low, high = self.scaling.z_ranges().T
        return self._normal_nodes_around((low + high) / 2, np.diag(self.scaling.prior_sds() ** 2))

    def adapted_nodes(
        self, nodes: ParameterQuadratureNodes, weights: Matrix
    ) -> ParameterQuadratureNodes | None:
        """Draws with the posterior's moments, where the effective sample size is small."""
        share = weights.ravel() / weights.sum()
        if 1.0 / (share**2).sum() >= SOBOL.min_effective_share * len(share):
            return None
        mean = share @ nodes.z
        deviation = nodes.z - mean
        covariance = (deviation * share[:, None]).T @ deviation
        jitter = SOBOL.jitter * np.diag(covariance).max()
        return self._normal_nodes_around(mean, covariance + jitter * np.eye(len(mean)))

    def _normal_nodes_around(self, mean: Vector, covariance: Matrix) -> ParameterQuadratureNodes:
        p = len(mean)
        rest = [a for a in range(p) if a not in self.indices_of_interest]
        # Parameters of interest first: the Cholesky factor is lower triangular, so that theirs are
        # the same in all nodes of a group.
        order = [*self.indices_of_interest, *rest]
        factor = np.linalg.cholesky(covariance[np.ix_(order, order)])
        factor *= 1.0 + SOBOL.widening / np.sqrt(p)
        unit, sizes = _normal_points_and_group_sizes(len(self.indices_of_interest), len(rest))
        drawn = unit @ factor.T
        z = np.empty_like(drawn)
        z[:, order] = drawn + mean[order]
        q = self.scaling.n_shape
        # With shape parameters every draw has its own psi, so no attributes can be shared between
        # draws; without them all share one.
        psi = self.scaling.psi(z) if q else np.zeros((1, 0))
        shape_axes, weight_axes = (sizes, ()) if q else ((), sizes)
        log_density = -0.5 * (unit**2).sum(axis=1)
        return _build_nodes(self.scaling, z, psi, shape_axes, weight_axes, (0,), (), log_density)


def _grid_z_psi_and_axis_sizes(
    scaling: ParameterScaling, axes: Sequence[Vector]
) -> tuple[Matrix, Matrix, tuple[int, ...]]:
    """Product grid (k * j, p) of the axes, its psi (k, q), and the sizes of axes."""
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    k = int(np.prod(mesh.shape[: scaling.n_shape], dtype=np.int64))
    firsts = mesh.reshape(k, -1, len(axes))[:, 0]
    return mesh.reshape(-1, len(axes)), scaling.psi(firsts), mesh.shape[:-1]


@lru_cache(maxsize=16)
def _normal_points_and_group_sizes(
    n_of_interest: int, n_nuisance: int
) -> tuple[Matrix, tuple[int, int]]:
    """Standard normal nodes: groups, with the same nuisance nodes in each."""
    groups, inside = (SOBOL.n_groups, SOBOL.n_per_group) if n_nuisance else (SOBOL.n_alone, 1)
    outer = _sobol_points(n_of_interest, groups)
    if not n_nuisance:
        return outer, (groups, 1)
    inner = _sobol_points(n_nuisance, inside)
    both = [np.repeat(outer, inside, axis=0), np.tile(inner, (groups, 1))]
    return np.concatenate(both, axis=1), (groups, inside)


def _sobol_points(dimension: int, n: int) -> Matrix:
    rng, tail = np.random.default_rng(SOBOL.seed), SOBOL.min_uniform
    points = stats.qmc.Sobol(dimension, scramble=True, rng=rng).random(n)
    return np.asarray(special.ndtri(np.clip(points, tail, 1 - tail)))


def _build_nodes(
    scaling: ParameterScaling,
    z: Matrix,
    psi: Matrix,
    shape_axes: Sequence[int],
    weight_axes: Sequence[int],
    axes_of_interest: Sequence[int],
    axes: tuple[Vector, ...],
    log_density: Vector | None = None,
) -> ParameterQuadratureNodes:
    """Nodes at z with their quadrature weights; log_density is that of the nodes themselves."""
    k = len(psi)
    j = len(z) // k
    which: IntVector = np.repeat(np.arange(k), j)
    spread = scaling.attribute_sds(psi)[which]
    with np.errstate(over="ignore"):
        parameters = scaling.parameters_at(z, psi[which], spread)
        log_prior = scaling.log_prior(z, parameters)
    if log_density is not None:
        log_prior = log_prior - log_density
    return ParameterQuadratureNodes(
        scaling,
        z,
        parameters,
        psi,
        parameters.theta.reshape(k, j, -1),
        log_prior.reshape(k, j),
        tuple(shape_axes),
        tuple(weight_axes),
        tuple(axes_of_interest),
        axes,
    )
