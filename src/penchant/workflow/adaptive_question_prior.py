"""Scaling of a prior to the candidate offers of an adaptive experiment.

`ParameterScaling` maps each parameter, on its link scale (`Coordinates`), to z, so that default
priors mean the same whatever units the offers have:

- z of a shape parameter is its link value;
- z of a temperature tau is log(s / tau), with s the root mean square within offers of the attribute
  that 1/tau multiplies, at the same psi: how consistent choices among these offers are;
- z of a weight, or of a ratio of two weights, is multiplied by the root mean square of its
  attribute, or by the ratio of both, at a typical psi.

The default prior of a shape parameter follows Jeffreys (1946): its density is proportional to how
fast the offers' attributes change with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.coordinates import Coordinate, Coordinates
from penchant.models.model import Model
from penchant.models.priors import NaturalPrior, PopulationPrior
from penchant.softmax.prior import GaussianPrior, ScaledPrior
from penchant.workflow.candidate_question_arrays import attributes_at, unanswered_record

# Default priors of z, where the user gives none. Typical differences between options, s, change
# log-odds by s / tau: a factor of e about 2 covers people from nearly random to nearly consistent.
# Prior of log(s / tau), centred on log-odds of 2 for a typical difference.
TEMPERATURE_PRIOR = stats.norm(np.log(2.0), 1.0)
# Prior of a weight times s (or a ratio times the ratio of both s): either sign is as likely.
WEIGHT_PRIOR = stats.norm(0.0, 2.0)
# Prior of the log of a positive weight times s: a factor of 20 either way within two sd.
LOG_WEIGHT_PRIOR = stats.norm(0.0, 1.5)


@dataclass(frozen=True, slots=True)
class PriorOptions:
    """Ranges and resolutions of the default prior."""

    max_sd: float = 5.0  # nodes span this many sd of a normal prior: only 6e-7 of it lies outside
    # Probability beyond either end of the nodes, as little as of a normal prior.
    tail_mass: float = 1e-6
    # Link values beyond it could overflow: exp(300) is finite, with room for products.
    max_link: float = 300.0
    # Link values of parameters in (0, 1): 1e-4 to 1 - 1e-4; wider would spend nodes on extremes.
    max_logit: float = 9.0
    # Density table of a shape parameter; fewer would blur it, more cost attributes at each.
    n_shape_values: int = 81
    # Relative to the largest density of a shape parameter. Without a floor the prior would be 0
    # where offers hardly change, and no answer could overrule it.
    min_relative_density: float = 1e-3
    # Offers in the sample that scales attributes: root mean squares to a few per cent.
    max_sampled_offers: int = 64
    # Values of each shape parameter; their median scale is typical though the largest may be huge.
    n_typical_psi: int = 9
    # Relative to a range; a value this little beyond its ends is there by rounding of the link.
    range_tol: float = 1e-9
    # Log-units below the largest; a weight exp(-8) of it has no visible effect on choices.
    log_weight_span: float = 8.0


PRIOR = PriorOptions()

AskPrior = NaturalPrior | PopulationPrior | GaussianPrior | ScaledPrior


class NodeParameters(NamedTuple):
    """Parameters at n nodes of a quadrature.

    `link_values` (n, p) are values on links, `theta` (n, d) weights, `psi` (n, q) shape parameters
    and `attribute_rms` (n, d) root mean squares of every attribute within offers.
    """

    link_values: Matrix
    theta: Matrix
    psi: Matrix
    attribute_rms: Matrix


@dataclass(frozen=True, eq=False)
class ParameterScaling:
    """Map from z to the parameters of a model, and the prior density of z.

    Attributes
    ----------
    model, coordinates
        The model, and its parameters on their links.
    offers
        Attributes of the offers.
    prior
        The user's prior; None for the defaults above.
    """

    model: Model
    coordinates: Coordinates
    offers: Mapping[str, Matrix]
    prior: AskPrior | None

    @classmethod
    def from_prior(cls, model: Model, offers: Mapping[str, Matrix], prior: Any) -> ParameterScaling:
        """Check the prior, and make the scaling of a model and its offers."""
        if prior is not None and not isinstance(prior, AskPrior):
            raise DataError(
                "prior",
                "must be a NaturalPrior, a PopulationPrior, a GaussianPrior, a ScaledPrior or None",
                got=type(prior).__name__,
                fix="Try pn.NaturalPrior.",
            )
        if isinstance(prior, PopulationPrior):
            return cls(model, prior.coordinates_of(model), offers, prior)
        coordinates = Coordinates.of_model(model)
        if isinstance(prior, NaturalPrior):
            for name in prior.densities:
                if name not in coordinates.names:
                    raise DataError(
                        "prior",
                        "must name parameters that are asked about",
                        got=f"{name!r}, but they are {', '.join(coordinates.names)}",
                        fix="Correct it.",
                    )
        if isinstance(prior, (GaussianPrior, ScaledPrior)):
            # Raises here, not at the first question, if the prior has another number of weights.
            prior.quadratic(len(model.weights), np.ones(len(model.weights)))
        return cls(model, coordinates, offers, prior)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return len(self.coordinates)

    @property
    def n_shape(self) -> int:
        """Number of shape parameters, which come first."""
        return self.coordinates.n_shape

    def psi(self, z: Matrix) -> Matrix:
        """Shape parameters (n, q) at nodes whose first columns are theirs."""
        return self.coordinates.psi(z)[0]

    def attribute_sds(self, psi: Matrix) -> Matrix:
        """Root mean square of every attribute within offers, (n_psi, n_weights)."""
        if not len(self.model.shape):
            return np.repeat(self._attribute_sds_of_sample(np.zeros((1, 0))), len(psi), axis=0)
        return self._attribute_sds_of_sample(psi)

    def _attribute_sds_of_sample(self, psi: Matrix) -> Matrix:
        x = attributes_at(self.model, self._offer_sample, psi)
        with np.errstate(over="ignore", invalid="ignore"):
            away = x - x.mean(axis=2, keepdims=True)
            found = np.sqrt((away**2).mean(axis=(1, 2)))
        # An attribute that never differs, or overflows, has no scale: 1 leaves its weight unscaled.
        return np.where(np.isfinite(found) & (found > 0), found, 1.0)

    @cached_property
    def _offer_sample(self) -> Any:
        n = len(next(iter(self.offers.values())))
        count = min(n, PRIOR.max_sampled_offers)
        # Evenly spaced, not the first ones: designs are usually sorted by an attribute, so that the
        # first offers would all be alike.
        which = np.unique(np.linspace(0, n - 1, count).astype(np.int64))
        return unanswered_record({name: values[which] for name, values in self.offers.items()})

    @cached_property
    def median_attribute_sds(self) -> Vector:
        """Median over the ranges of psi of every attribute's root mean square."""
        return np.asarray(np.median(self.attribute_sds(self.typical_psi()), axis=0))

    def typical_psi(self) -> Matrix:
        """Combinations of shape parameters, evenly spaced inside their search ranges."""
        inside = np.linspace(0.0, 1.0, PRIOR.n_typical_psi + 2)[1:-1]
        axes = [
            s.from_unconstrained(
                s.search_range[0] + (s.search_range[1] - s.search_range[0]) * inside
            )
            for s in self.model.shape
        ]
        combinations = list(product(*axes))
        return np.array(combinations, dtype=np.float64).reshape(len(combinations), len(axes))

    def parameters_at(self, z: Matrix, psi: Matrix, spread: Matrix) -> NodeParameters:
        """Parameters at nodes z (n, p), whose psi (n, q) and spread (n, d) are known."""
        h = z.copy()
        for a, c in enumerate(self.coordinates.each):
            if not c.is_shape:
                h[:, a] = self._link_value(c, z[:, a], spread)
        return NodeParameters(h, self.coordinates.theta(h[:, self.n_shape :]), psi, spread)

    def _link_value(self, c: Coordinate, z: Vector, spread: Matrix) -> Vector:
        """Link value of a weight's coordinate at z; the inverse of the scales named above."""
        natural, link = c.natural, c.link.name
        if natural.is_reciprocal:
            return np.asarray(np.log(spread[:, natural.index]) - z)
        if natural.is_ratio:
            unit = (
                self.median_attribute_sds[natural.over_indices[0]]
                / self.median_attribute_sds[natural.index]
            )
            return np.asarray(np.log(unit) + z if link == "log" else unit * z)
        if link == "log":
            return np.asarray(z - np.log(spread[:, natural.index]))
        return np.asarray(z if link == "logit" else z / self.median_attribute_sds[natural.index])

    def log_prior(self, z: Matrix, node: NodeParameters) -> Vector:
        """Log-density of z, up to a constant; -inf where a parameter cannot be."""
        found = np.zeros(len(z))
        for a, c in enumerate(self.coordinates.each):
            if isinstance(self.prior, NaturalPrior) and self.prior.holds(c.name):
                found += self._log_natural_prior(c, node.link_values[:, a])
            elif c.is_shape and not isinstance(self.prior, PopulationPrior):
                found += self._log_shape_prior(c, z[:, a])
            elif self.prior is None or isinstance(self.prior, NaturalPrior):
                found += default_prior(c).logpdf(z[:, a])
        if isinstance(self.prior, PopulationPrior):
            density = self.prior.of_model(self.model)
            value, _, _ = density.on_weights(node.theta, node.psi)
            found += value
            # A population is normal on links and may reach beyond the range that the model allows.
            found += sum(
                self._log_density_within_range(c, z[:, a]) for a, c in self._shape_coordinates()
            )
        if isinstance(self.prior, (GaussianPrior, ScaledPrior)):
            found += self._log_prior_of_weight_coordinates(node)
        return found

    def log_prior_of_natural(self, natural: Matrix) -> Vector:
        """Unnormalised log-masses of a fixed grid's natural parameters (n, p)."""
        found = np.zeros(len(natural))
        if isinstance(self.prior, NaturalPrior):
            for name, density in self.prior.densities.items():
                found += density.logpdf(natural[:, self.coordinates.index(name)])
        return found

    def _shape_coordinates(self) -> list[tuple[int, Coordinate]]:
        return list(enumerate(self.coordinates.each[: self.n_shape]))

    def _log_natural_prior(self, c: Coordinate, h: Vector) -> Vector:
        assert isinstance(self.prior, NaturalPrior)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = self.prior.densities[c.name].logpdf(c.link.value(h))
            found = density + np.log(np.abs(c.link.first(h)))  # change of variables
        inside = self._log_density_within_range(c, h) if c.is_shape else 0.0
        return np.where(np.isnan(found), -np.inf, found) + inside

    def _log_density_within_range(self, c: Coordinate, h: Vector) -> Vector:
        """0 inside the range of a shape parameter, -inf outside."""
        if c.link.name == "logit":
            return np.zeros(len(h))
        low, high = self._link_range(c)
        tol = PRIOR.range_tol * (high - low)
        return np.where((h >= low - tol) & (h <= high + tol), 0.0, -np.inf)

    def _log_shape_prior(self, c: Coordinate, h: Vector) -> Vector:
        """Log-density of the default prior, interpolated."""
        nodes, log_density = self._shape_priors[c.natural.index]
        return np.asarray(np.interp(h, nodes, log_density) + self._log_density_within_range(c, h))

    @cached_property
    def _shape_priors(self) -> dict[int, tuple[Vector, Vector]]:
        """Link values and log-densities of every shape parameter's default prior.

        The density is how fast attributes change, in units of their own root mean square, averaged
        over offers: that of Jeffreys for one parameter, the others held at a typical value.
        """
        found = {}
        typical = np.median(self.typical_psi(), axis=0)
        n = PRIOR.n_shape_values
        for _, c in self._shape_coordinates():
            nodes = np.linspace(*self._shape_range(c), n)
            own = c.natural.transform.inverse(c.link.value(nodes))
            shape = self.model.shape[c.natural.index]
            psi = np.repeat(typical[None], n, axis=0)
            psi[:, c.natural.index] = np.clip(own, shape.low, shape.high)
            x = attributes_at(self.model, self._offer_sample, psi)
            with np.errstate(over="ignore", invalid="ignore"):
                x = (x - x.mean(axis=2, keepdims=True)) / self.attribute_sds(psi)[:, None, None, :]
                change = np.sqrt((np.gradient(x, nodes, axis=0) ** 2).mean(axis=(1, 2, 3)))
            change = np.where(np.isfinite(change), change, 0.0)
            top = change.max()
            floor = PRIOR.min_relative_density * top
            # A parameter that no offer depends on has no Jeffreys density: it is uniform.
            density = np.maximum(change, floor) if top > 0 else np.ones(n)
            found[c.natural.index] = nodes, np.log(density)
        return found

    def _log_prior_of_weight_coordinates(self, node: NodeParameters) -> Vector:
        """Log-density of z under a Gaussian or scaled prior of the weights."""
        d = node.theta.shape[1]
        if isinstance(self.prior, ScaledPrior):
            value = -0.5 * self.prior.c * ((node.theta * node.attribute_rms) ** 2).sum(axis=1)
            value += np.log(node.attribute_rms).sum(axis=1)
        else:
            assert isinstance(self.prior, GaussianPrior)
            quadratic = self.prior.quadratic(d, np.ones(d))
            centre = np.linalg.solve(quadratic.precision, quadratic.linear)
            away = node.theta - centre
            value = -0.5 * np.einsum("na,ab,nb->n", away, quadratic.precision, away)
        is_linear = all(
            c.natural.is_weight and c.link.name == "identity" for c in self._weight_coordinates()
        )
        if not is_linear:  # change of variables from weights to links
            _, slopes = self.coordinates.theta_and_slopes(node.link_values[:, self.n_shape :])
            with np.errstate(divide="ignore"):
                value += np.linalg.slogdet(slopes)[1]
        return np.asarray(value)

    def _weight_coordinates(self) -> tuple[Coordinate, ...]:
        return self.coordinates.each[self.n_shape :]

    def z_ranges(self) -> Matrix:
        """Ends of each z that nodes span before answers: (p, 2)."""
        return np.array([self._z_range(a, c) for a, c in enumerate(self.coordinates.each)])

    def _z_range(self, parameter: int, c: Coordinate) -> tuple[float, float]:
        if isinstance(self.prior, NaturalPrior) and self.prior.holds(c.name):
            density = self.prior.densities[c.name]
            tail = PRIOR.tail_mass
            ends = c.link.inverse(np.array([density.ppf(tail), density.ppf(1 - tail)]))
            return self._z_range_of_link(c, *np.clip(ends, -PRIOR.max_link, PRIOR.max_link))
        if isinstance(self.prior, PopulationPrior):
            at = self.prior.names.index(c.name)
            reach = PRIOR.max_sd * float(np.sqrt(self.prior.covariance[at, at]))
            mean = float(self.prior.mean[at])
            return self._z_range_of_link(c, mean - reach, mean + reach)
        if c.is_shape:
            return self._shape_range(c)
        usual = default_prior(c)
        low, high = usual.mean() + PRIOR.max_sd * usual.std() * np.array([-1.0, 1.0])
        if isinstance(self.prior, GaussianPrior):
            low, high = self._gaussian_prior_range(c, low, high)
        return float(low), float(high)

    def prior_sds(self) -> Vector:
        """Approximate prior standard deviation of each z, for the first draws."""
        widths = np.diff(self.z_ranges(), axis=1)[:, 0]
        found = widths / (2 * PRIOR.max_sd)
        for a, c in self._shape_coordinates():
            if self.prior is None or not _has_density(self.prior, c.name):
                nodes, log_density = self._shape_priors[c.natural.index]
                density = np.exp(log_density) / np.exp(log_density).sum()
                found[a] = np.sqrt(density @ (nodes - density @ nodes) ** 2)
        return np.asarray(found)

    def _shape_range(self, c: Coordinate) -> tuple[float, float]:
        """Link values of a shape parameter that are looked at: a logit has no ends of its own."""
        steep = PRIOR.max_logit
        return (-steep, steep) if c.link.name == "logit" else self._link_range(c)

    def _link_range(self, c: Coordinate) -> tuple[float, float]:
        ends = np.sort(c.link.inverse(np.array(c.natural.ends)))
        return float(ends[0]), float(ends[1])

    def _z_range_of_link(self, c: Coordinate, low: float, high: float) -> tuple[float, float]:
        """Ends of z that contain the link values low to high at every psi."""
        if c.is_shape:
            own = self._shape_range(c)
            inside = max(low, own[0]), min(high, own[1])
            return inside if inside[0] < inside[1] else own
        spreads = self.attribute_sds(self.typical_psi())
        both = np.array([low, high])
        natural = c.natural
        if natural.is_reciprocal:
            logs = np.log(spreads[:, natural.index])
            return float(logs.min() - high), float(logs.max() - low)
        if natural.is_ratio:
            unit = (
                self.median_attribute_sds[natural.over_indices[0]]
                / self.median_attribute_sds[natural.index]
            )
            found = both - np.log(unit) if c.link.name == "log" else both / unit
        elif c.link.name == "log":
            logs = np.log(spreads[:, natural.index])
            found = both + np.array([logs.min(), logs.max()])
        else:
            found = both * (
                1.0 if c.link.name == "logit" else self.median_attribute_sds[natural.index]
            )
        return float(found[0]), float(found[1])

    def _gaussian_prior_range(self, c: Coordinate, low: float, high: float) -> tuple[float, float]:
        """Ends of z that contain a Gaussian prior of a weight."""
        assert isinstance(self.prior, GaussianPrior)
        d = len(self.model.weights)
        quadratic = self.prior.quadratic(d, np.ones(d))
        covariance = np.linalg.inv(quadratic.precision)
        a = c.natural.index
        mean, sd = (covariance @ quadratic.linear)[a], float(np.sqrt(covariance[a, a]))
        unit = self.median_attribute_sds[a]
        if c.natural.is_reciprocal or c.link.name == "log":
            # A log weight has no lower end: nodes stop where its effect is negligible.
            top = float(np.log((abs(mean) + PRIOR.max_sd * sd) * unit))
            return min(low, top - PRIOR.log_weight_span), max(high, top)
        if c.natural.is_ratio:
            return low, high
        reach = PRIOR.max_sd * sd
        return float((mean - reach) * unit), float((mean + reach) * unit)


def _has_density(prior: AskPrior, name: str) -> bool:
    """Whether a prior has a density of a shape parameter."""
    return isinstance(prior, (NaturalPrior, PopulationPrior)) and prior.holds(name)


def default_prior(c: Coordinate) -> Any:
    """Default prior of a weight's z: a frozen distribution of scipy.stats."""
    if c.natural.is_reciprocal:
        return TEMPERATURE_PRIOR
    return LOG_WEIGHT_PRIOR if c.link.name == "log" else WEIGHT_PRIOR
