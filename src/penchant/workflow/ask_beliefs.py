"""What an asker believes of the parameters after answers: nodes, their weights, and the numbers.

Up to three parameters have a grid: its box is that of the prior at first, and shrinks and moves
with what is believed. Inside, points lie close where most of the probability is, so that their
spacing is a fraction of its width, and wide in the tails. More parameters have draws from a normal
distribution with the mean and covariance of what is believed, weighted so that they stand for it:
points of a Sobol sequence, the same at every call.

All nodes that share what is asked about lie in one group: what a group expects is what an answer
tells of the parameters in question, others integrated out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import special, stats

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.coordinates import Coordinate
from penchant.output import Backend, Result, Table, format_count, frame_backend, make_frame
from penchant.workflow.ask_offers import Offer, Place, Units, as_record, variables

LARGEST_GRID = 3  # parameters
# points along a parameter in question and along another, by how many there are of each
POINTS = {
    (1, 0): (201, 0),
    (1, 1): (61, 21),
    (2, 0): (35, 0),
    (1, 2): (41, 14),
    (2, 1): (25, 14),
    (3, 0): (20, 0),
}
GROUPS, INSIDE, ALONE = 128, 32, 2048  # draws: groups and nodes in each; where all are in question
KEPT = 12_000_000  # probabilities of all offers at all nodes that are kept, at most
NOTHING = 1e-7  # of the largest weight along an axis that counts as none
SHRINK = 0.6  # of its width below which a box is drawn closer
CLOSE = 0.65  # share of points that lie close
BULK = 0.005  # of the probability that lies to either side of its bulk
ROOM = 0.5  # of the width of the bulk by which close points go beyond it, to either side
GROW = 0.5  # of its width by which a box grows where weight lies at its end
EDGE = 1e-4  # of the largest weight that may lie at an end of the box
POOR = 0.25  # share of draws in effect below which they are drawn anew


@dataclass(frozen=True, eq=False)
class Tables:
    """Probabilities of options at nodes, in groups: of the second of two, or of each of more.

    Attributes
    ----------
    options
        (groups, n_offers, nodes in each) for every option.
    entropy
        (groups, n_offers) where every group is one node.
    """

    options: list[Matrix]
    entropy: Matrix | None


def entropy(options: list[Matrix]) -> Matrix:
    """Entropy of the answer; of one probability where there are two options."""
    if len(options) == 1:
        inside = np.clip(options[0], 0.0, 1.0)
        return np.asarray(special.entr(inside) + special.entr(1.0 - inside))
    return np.asarray(sum(special.entr(np.maximum(p, 0.0)) for p in options))


@dataclass(frozen=True, eq=False)
class Nodes:
    """Parameters at nodes: shape parameters (k), and weights at each (j).

    Attributes
    ----------
    units
        What z means.
    z
        Nodes (k * j, p).
    psi, theta
        (k, q) and (k, j, d).
    log_prior
        Log-density of the prior over that of the nodes, (k, j).
    shape_axes, weight_axes
        Sizes of axes whose products are k and j.
    about_axes
        Axes among both along which what is asked about varies.
    axes
        Values of z along every axis of a grid; none for draws.
    boxes
        Of a grid that follows: ends, and between them those of the close points, (p, 4).
    """

    units: Units
    z: Matrix
    place: Place
    psi: Matrix
    theta: Matrix
    log_prior: Matrix
    shape_axes: tuple[int, ...]
    weight_axes: tuple[int, ...]
    about_axes: tuple[int, ...]
    axes: tuple[Vector, ...] = ()
    boxes: Matrix | None = None

    def grouped(self, values: Matrix) -> Matrix:
        """Values at nodes (k, j) as (groups, nodes in each)."""
        sizes = (*self.shape_axes, *self.weight_axes)
        others = [a for a in range(len(sizes)) if a not in self.about_axes]
        moved = values.reshape(sizes).transpose(*self.about_axes, *others)
        n_groups = int(np.prod([sizes[a] for a in self.about_axes], dtype=np.int64))
        return moved.reshape(n_groups, -1)

    def table(self, values: Matrix) -> Matrix:
        """Values at nodes and offers (k, n, j) as (groups, n, nodes in each), contiguous."""
        n, q = values.shape[1], len(self.shape_axes)
        sizes = (*self.shape_axes, n, *self.weight_axes)
        at = [a if a < q else a + 1 for a in self.about_axes]
        others = [a for a in range(len(sizes)) if a not in at and a != q]
        moved = values.reshape(sizes).transpose(*at, q, *others)
        n_groups = int(np.prod([sizes[a] for a in at], dtype=np.int64))
        return np.ascontiguousarray(moved.reshape(n_groups, n, -1))

    def objectives(self, record: Any) -> Matrix:
        """Objective of every option of every offer: (k, n_offers, n_options, j)."""
        return self._objectives(variables(self.units.model, record, self.psi))

    def _objectives(self, x: Matrix) -> Matrix:
        k, n, m, d = x.shape
        with np.errstate(over="ignore", invalid="ignore"):
            found = x.reshape(k, n * m, d) @ self.theta.transpose(0, 2, 1)
        return _finite(found.reshape(k, n, m, -1))

    def all_tables(self) -> Iterator[Tables]:
        """Probabilities of all offers, some after others where they are too many to keep."""
        offers = self.units.offers
        n, n_options = next(iter(offers.values())).shape[:2]
        size = max(1, KEPT // (self.log_prior.size * (1 if n_options == 2 else n_options)))
        if size >= n:
            yield self._tables
            return
        for start in range(0, n, size):
            yield self.tables({name: v[start : start + size] for name, v in offers.items()})

    @cached_property
    def _tables(self) -> Tables:
        return self.tables(self.units.offers)

    def tables(self, offers: Mapping[str, Matrix]) -> Tables:
        """Probabilities of options of these offers."""
        x = variables(self.units.model, as_record(offers), self.psi)
        if x.shape[2] == 2:
            with np.errstate(over="ignore", invalid="ignore"):
                ahead = (x[:, :, 0] - x[:, :, 1]) @ self.theta.transpose(0, 2, 1)
                options = [1.0 / (1.0 + np.exp(_finite(ahead)))]
        else:
            p = np.exp(log_probabilities(self._objectives(x)))
            options = [p[:, :, i] for i in range(p.shape[2])]
        found = [self.table(p) for p in options]
        if found[0].shape[2] > 1:
            return Tables(found, None)
        return Tables(found, entropy([p[:, :, 0] for p in found]))

    def marginal(self, weights: Matrix, axis: int) -> Vector:
        """Weights (k, j) along one axis of a grid."""
        whole = weights.reshape(*self.shape_axes, *self.weight_axes)
        others = tuple(a for a in range(whole.ndim) if a != axis)
        return np.asarray(whole.sum(axis=others))


def _finite(objective: Matrix) -> Matrix:
    """An objective with large numbers for infinite ones, which nothing tells apart."""
    if np.isfinite(objective).all():
        return objective
    return np.nan_to_num(objective, posinf=1e300, neginf=-1e300)


def log_probabilities(objective: Matrix) -> Matrix:
    """Log-probabilities over the third axis of (k, n, m, j)."""
    ahead = objective - objective.max(axis=2, keepdims=True)
    return np.asarray(ahead - np.log(np.exp(ahead).sum(axis=2, keepdims=True)))


class Layout(Protocol):
    """How nodes are laid out, before answers and as they come.

    Attributes
    ----------
    moves
        How often nodes may move after one answer.
    """

    moves: ClassVar[int]

    def first(self) -> Nodes:
        """Nodes before any answer."""

    def moved(self, nodes: Nodes, weights: Matrix) -> Nodes | None:
        """Nodes that suit the weights (k, j) better, or None where these will do."""


@dataclass(frozen=True, eq=False)
class GridLayout:
    """A grid whose box follows what is believed.

    Attributes
    ----------
    units
        What z means.
    about
        Parameters in question.
    """

    moves: ClassVar[int] = 12
    units: Units
    about: tuple[int, ...]

    def first(self) -> Nodes:
        """Over the box of the prior."""
        ends = self._ends
        return self._over(np.stack([ends[:, 0], ends[:, 0], ends[:, 1], ends[:, 1]], axis=1))

    @cached_property
    def _ends(self) -> Matrix:
        return self.units.ends()

    def _over(self, boxes: Matrix) -> Nodes:
        """Points in boxes, each with the width that it stands for."""
        many, few = POINTS[len(self.about), self.units.n_parameters - len(self.about)]
        points = [many if a in self.about else few for a in range(len(boxes))]
        axes = tuple(_points(box, n) for box, n in zip(boxes, points, strict=True))
        z, psi, sizes = _mesh(self.units, axes)
        q = self.units.n_shape
        widths = np.meshgrid(*(np.log(np.gradient(axis)) for axis in axes), indexing="ij")
        log_density = -np.sum(widths, axis=0).ravel()
        made = _nodes(self.units, z, psi, sizes[:q], sizes[q:], self.about, axes, log_density)
        return replace(made, boxes=boxes)

    def moved(self, nodes: Nodes, weights: Matrix) -> Nodes | None:
        """Closer boxes where weight is in part of them, wider ones where it is at an end."""
        assert nodes.boxes is not None
        new = np.array(
            [
                self._box(a, nodes.boxes[a], axis, nodes.marginal(weights, a))
                for a, axis in enumerate(nodes.axes)
            ]
        )
        return None if (new == nodes.boxes).all() else self._over(new)

    def _box(self, a: int, box: Vector, axis: Vector, weight: Vector) -> tuple[float, ...]:
        """Ends along one axis, and those of its close points."""
        low, high = self._outer(a, axis, weight / np.gradient(axis))
        _, first, last, _ = box
        below = np.cumsum(weight) - weight / 2
        ends = np.interp([BULK, 1.0 - BULK], below / weight.sum(), axis)
        width = float(ends[1] - ends[0])
        wanted = max(low, ends[0] - ROOM * width), min(high, ends[1] + ROOM * width)
        outside = ends[0] < first or ends[1] > last
        if outside or wanted[1] - wanted[0] < SHRINK * (last - first):
            first, last = wanted
        return low, max(low, float(first)), min(high, float(last)), high

    def _outer(self, a: int, axis: Vector, density: Vector) -> tuple[float, float]:
        low, high, width = float(axis[0]), float(axis[-1]), float(axis[-1] - axis[0])
        least, most = self._ends[a]
        top = density.max()
        room = 1e-6 * (most - least)
        at_low, at_high = density[0] > EDGE * top, density[-1] > EDGE * top
        if (at_low and low > least + room) or (at_high and high < most - room):
            return (
                max(least, low - GROW * width) if at_low else low,
                min(most, high + GROW * width) if at_high else high,
            )
        held = np.flatnonzero(density > NOTHING * top)
        first, last = axis[max(held[0] - 1, 0)], axis[min(held[-1] + 1, len(axis) - 1)]
        if last - first >= SHRINK * width:
            return low, high
        return float(first), float(last)


def _points(box: Vector, n: int) -> Vector:
    """Points between the ends of a box, most of them between the inner ends."""
    low, first, last, high = box
    close = round(CLOSE * n)
    if last - first > CLOSE * (high - low):
        return np.linspace(low, high, n)
    wide = np.linspace(low, high, n - close + 2)
    inner = np.linspace(first, last, close)
    apart = wide[(wide < first - 1e-9 * (high - low)) | (wide > last + 1e-9 * (high - low))]
    return np.union1d(apart, inner)


@dataclass(frozen=True, eq=False)
class GivenLayout:
    """Values of natural parameters that are looked at, once for all.

    Attributes
    ----------
    units
        What is known of the model.
    about
        Parameters in question.
    values
        Of each natural parameter.
    """

    moves: ClassVar[int] = 0
    units: Units
    about: tuple[int, ...]
    values: tuple[Vector, ...]

    def first(self) -> Nodes:
        """All combinations, each as likely as its densities say."""
        each = self.units.coordinates.each
        axes = tuple(c.link.coordinate(v) for c, v in zip(each, self.values, strict=True))
        h, psi, sizes = _mesh(self.units, axes)
        q, k = self.units.n_shape, len(psi)
        theta = self.units.coordinates.theta(h[:, q:])
        place = Place(h, theta, np.repeat(psi, len(h) // k, axis=0), np.ones_like(theta))
        log_prior = self.units.log_masses(self.units.coordinates.natural(h))
        return Nodes(
            self.units,
            h,
            place,
            psi,
            theta.reshape(k, -1, theta.shape[1]),
            log_prior.reshape(k, -1),
            sizes[:q],
            sizes[q:],
            self.about,
            axes,
        )

    def moved(self, nodes: Nodes, weights: Matrix) -> None:
        """Nowhere."""


@dataclass(frozen=True, eq=False)
class DrawnLayout:
    """Draws from a normal distribution, in groups that share what is asked about."""

    moves: ClassVar[int] = 4
    units: Units
    about: tuple[int, ...]

    def first(self) -> Nodes:
        """Around the middle of the prior's box."""
        low, high = self.units.ends().T
        return self._around((low + high) / 2, np.diag(self.units.spreads_of_z() ** 2))

    def moved(self, nodes: Nodes, weights: Matrix) -> Nodes | None:
        """Anew by mean and covariance of what is believed, where few draws stand for it."""
        share = weights.ravel() / weights.sum()
        if 1.0 / (share**2).sum() >= POOR * len(share):
            return None
        mean = share @ nodes.z
        away = nodes.z - mean
        covariance = (away * share[:, None]).T @ away
        least = 1e-8 * np.diag(covariance).max()
        return self._around(mean, covariance + least * np.eye(len(mean)))

    def _around(self, mean: Vector, covariance: Matrix) -> Nodes:
        p = len(mean)
        rest = [a for a in range(p) if a not in self.about]
        order = [*self.about, *rest]
        factor = np.linalg.cholesky(covariance[np.ix_(order, order)])
        factor *= 1.0 + 0.5 / np.sqrt(p)  # a little wider than what they stand for
        unit, sizes = _unit_draws(len(self.about), len(rest))
        drawn = unit @ factor.T
        z = np.empty_like(drawn)
        z[:, order] = drawn + mean[order]
        q = self.units.n_shape
        psi = self.units.psi(z) if q else np.zeros((1, 0))
        shape_axes, weight_axes = (sizes, ()) if q else ((), sizes)
        log_density = -0.5 * (unit**2).sum(axis=1)
        return _nodes(self.units, z, psi, shape_axes, weight_axes, (0,), (), log_density)


def _mesh(units: Units, axes: Sequence[Vector]) -> tuple[Matrix, Matrix, tuple[int, ...]]:
    """All combinations of values (k * j, p), the psi (k, q) of them, and the sizes of axes."""
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    k = int(np.prod(mesh.shape[: units.n_shape], dtype=np.int64))
    firsts = mesh.reshape(k, -1, len(axes))[:, 0]
    return mesh.reshape(-1, len(axes)), units.psi(firsts), mesh.shape[:-1]


@lru_cache(maxsize=16)
def _unit_draws(n_about: int, n_rest: int) -> tuple[Matrix, tuple[int, int]]:
    """Standard normal nodes: groups, and the same nodes of the rest in each."""
    groups, inside = (GROUPS, INSIDE) if n_rest else (ALONE, 1)
    outer = _sobol(n_about, groups)
    if not n_rest:
        return outer, (groups, 1)
    inner = _sobol(n_rest, inside)
    both = [np.repeat(outer, inside, axis=0), np.tile(inner, (groups, 1))]
    return np.concatenate(both, axis=1), (groups, inside)


def _sobol(dimension: int, n: int) -> Matrix:
    points = stats.qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(20)).random(n)
    return np.asarray(special.ndtri(np.clip(points, 1e-12, 1 - 1e-12)))


def _nodes(
    units: Units,
    z: Matrix,
    psi: Matrix,
    shape_axes: Sequence[int],
    weight_axes: Sequence[int],
    about_axes: Sequence[int],
    axes: tuple[Vector, ...],
    log_density: Vector | None = None,
) -> Nodes:
    """Nodes at z with their prior; log_density is that of the nodes themselves."""
    k = len(psi)
    j = len(z) // k
    which: IntVector = np.repeat(np.arange(k), j)
    spread = units.spread(psi)[which]
    with np.errstate(over="ignore"):
        place = units.place(z, psi[which], spread)
        log_prior = units.log_prior(z, place)
    if log_density is not None:
        log_prior = log_prior - log_density
    return Nodes(
        units,
        z,
        place,
        psi,
        place.theta.reshape(k, j, -1),
        log_prior.reshape(k, j),
        tuple(shape_axes),
        tuple(weight_axes),
        tuple(about_axes),
        axes,
    )


@dataclass(frozen=True)
class Answer:
    """What somebody took of an offer."""

    offer: Offer
    chosen: int


@dataclass(frozen=True, eq=False)
class Belief:
    """Weights of nodes after answers.

    Attributes
    ----------
    units, layout
        What nodes are of, and how they are laid out.
    nodes
        The present ones.
    answers
        All so far.
    log_likelihood
        Of the answers at every node, (k, j).
    moved
        How far the last answer moved what is asked about, in nats.
    """

    units: Units
    layout: Layout
    nodes: Nodes
    answers: tuple[Answer, ...]
    log_likelihood: Matrix
    moved: float = 0.0

    @classmethod
    def before(cls, units: Units, layout: Layout) -> Belief:
        """What is believed before any answer."""
        nodes = layout.first()
        return cls(units, layout, nodes, (), np.zeros(nodes.log_prior.shape))._settled()

    def after(self, answer: Answer) -> Belief:
        """What is believed after one answer more."""
        told = self._log_likelihood_of((answer,), self.nodes)
        with_it = (*self.answers, answer)
        more = replace(self, answers=with_it, log_likelihood=self.log_likelihood + told)
        return replace(more._settled(), moved=_divergence(more._groups, self._groups))

    def _settled(self) -> Belief:
        """The same on nodes that suit it."""
        found = self
        for _ in range(self.layout.moves):
            nodes = found.layout.moved(found.nodes, found.weights)
            if nodes is None:
                return found
            told = self._log_likelihood_of(found.answers, nodes)
            found = replace(found, nodes=nodes, log_likelihood=told)
        return found

    def _log_likelihood_of(self, answers: tuple[Answer, ...], nodes: Nodes) -> Matrix:
        found = np.zeros(nodes.log_prior.shape)
        if not answers:
            return found
        names = answers[0].offer
        record = as_record({n: np.stack([a.offer.attributes[n] for a in answers]) for n in names})
        log_p = log_probabilities(nodes.objectives(record))
        for t, answer in enumerate(answers):
            found += log_p[:, t, answer.chosen]
        return found

    @cached_property
    def weights(self) -> Matrix:
        """Probability of every node, (k, j)."""
        log_weight = self.nodes.log_prior + self.log_likelihood
        weight = np.exp(log_weight - log_weight.max())
        return np.asarray(weight / weight.sum())

    @property
    def _groups(self) -> Vector:
        """Probability of every value of what is asked about."""
        return np.asarray(self.nodes.grouped(self.weights).sum(axis=1))

    def information(self) -> Vector:
        """Mutual information of the answer to every offer and what is asked about, in nats."""
        return np.concatenate([self._informed(tables) for tables in self.nodes.all_tables()])

    def _informed(self, tables: Tables) -> Vector:
        """I = H(E p) - E H(E[p | what is asked about])."""
        weights = self.nodes.grouped(self.weights)
        group = weights.sum(axis=1)
        if tables.entropy is not None:
            expected = [group @ p[:, :, 0] for p in tables.options]
            return np.asarray(entropy(expected) - group @ tables.entropy)
        alive = group > 0
        weights, group = weights[alive], group[alive]
        parts = [
            ((p if alive.all() else p[alive]) @ weights[:, :, None])[:, :, 0]
            for p in tables.options
        ]
        told = entropy([part / group[:, None] for part in parts])
        return np.asarray(entropy([part.sum(axis=0) for part in parts]) - group @ told)

    def probabilities(self, offer: Offer) -> Vector:
        """How likely each option of an offer is."""
        record = as_record({name: values[None] for name, values in offer.attributes.items()})
        p = np.exp(log_probabilities(self.nodes.objectives(record)))
        return np.asarray(np.einsum("kmj,kj->m", p[:, 0], self.weights))


def _divergence(now: Vector, before: Vector) -> float:
    return float(special.rel_entr(now, before).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Result):
    """Parameters as they are believed to be after the answers.

    Attributes
    ----------
    names
        Natural parameters.
    about
        Whether each was asked about.
    scales
        "log" where mean and sd are those of the logarithm, as of every positive parameter that is
        known by its order of magnitude; "natural" where they are of the parameter itself.
    mean, sd
        On these scales.
    median, low, high
        In natural units; `level` of the probability lies between low and high.
    level
        Of the interval.
    n_answers
        Answers so far.
    """

    names: tuple[str, ...]
    about: tuple[bool, ...]
    scales: tuple[str, ...]
    mean: Vector
    sd: Vector
    median: Vector
    low: Vector
    high: Vector
    level: float
    n_answers: int

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Of one parameter, by name."""
        if name not in self.names:
            raise DataError(
                f"name must be one of {', '.join(self.names)}; got {name!r}. Choose one."
            )
        return self._row(self.names.index(name))

    def _row(self, a: int) -> dict[str, Any]:
        numbers = ("mean", "sd", "median", "low", "high")
        found: dict[str, Any] = {"name": self.names[a], "scale": self.scales[a]}
        return found | {name: float(getattr(self, name)[a]) for name in numbers}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """A table with one row per parameter."""
        rows = [self._row(a) for a in range(len(self.names))]
        return make_frame(
            {name: [row[name] for row in rows] for name in rows[0]}, backend or frame_backend(self)
        )

    def table(self) -> Table:
        """The summary as a table."""
        said = f"What is believed after {format_count(self.n_answers, 'answer')}"
        return replace(super().table(), caption=said)

    def document(self) -> dict[str, Any]:
        """What it says, as JSON has it."""
        rows = [self._row(a) for a in range(len(self.names))]
        return {"level": self.level, "n_answers": self.n_answers, "parameters": rows}

    def __repr__(self) -> str:
        each = zip(self.names, self.median, self.low, self.high, strict=True)
        said = ", ".join(f"{n} {m:.3g} ({lo:.3g} to {hi:.3g})" for n, m, lo, hi in each)
        return f"<Posterior after {self.n_answers}: {said}>"


def posterior_of(belief: Belief, about: tuple[int, ...], level: float) -> Posterior:
    """Moments and quantiles of every parameter."""
    each = belief.units.coordinates.each
    weights = belief.weights.ravel()
    rows = [_described(c, belief.nodes.place.h[:, a], weights, level) for a, c in enumerate(each)]
    columns: Matrix = np.array(rows, dtype=np.float64).T
    mean, sd, median, low, high = columns
    return Posterior(
        names=belief.units.coordinates.names,
        about=tuple(a in about for a in range(len(each))),
        scales=tuple("log" if is_log(c) else "natural" for c in each),
        mean=mean,
        sd=sd,
        median=median,
        low=low,
        high=high,
        level=level,
        n_answers=len(belief.answers),
    )


def is_log(c: Coordinate) -> bool:
    """Whether a parameter is known by its logarithm."""
    return c.link.name in ("log", "negative log")


def _described(c: Coordinate, h: Vector, weights: Vector, level: float) -> tuple[float, ...]:
    scaled = h if is_log(c) else np.asarray(c.link.value(h))
    mean = float(weights @ scaled)
    sd = float(weights @ (scaled - mean) ** 2) ** 0.5
    ends = _quantiles(h, weights, np.array([0.5, (1 - level) / 2, (1 + level) / 2]))
    values = np.asarray(c.link.value(ends))
    if c.link.name == "negative log":
        values[1:] = values[:0:-1]
    return (mean, sd, *map(float, values))


def _quantiles(values: Vector, weights: Vector, at: Vector) -> Vector:
    """Quantiles of weighted values: half of the weight of each lies below it."""
    points, which = np.unique(values, return_inverse=True)
    mass = np.bincount(which, weights, len(points))
    below = np.cumsum(mass) - mass / 2
    kept = mass > 0
    return np.asarray(np.interp(at, below[kept], points[kept]))
