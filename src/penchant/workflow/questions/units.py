"""Parameters on scales that suit what is offered, and what is believed of them before answers.

Every parameter of a model has a link, on which it may be any number (`Coordinates`). Here each is
shifted and scaled besides, to z, so that priors mean the same whatever the offers are in:

- a shape parameter is its link itself;
- a temperature is log(s / tau), with s the root mean square within offers of the variable that
  1/tau multiplies, at the same psi: how consistent somebody is among these offers;
- a weight, or a ratio of two, is multiplied by the root mean square of its variable, or by the
  ratio of both, at the middle of the ranges of psi.
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
from penchant.models.natural_prior import NaturalPrior
from penchant.models.population_prior import PopulationPrior
from penchant.softmax.prior import GaussianPrior, ScaledPrior
from penchant.workflow.questions.offered import as_record, variables

CONSISTENCY = stats.norm(np.log(2.0), 1.0)  # of log(s / tau), where nothing else is said
SIZE = stats.norm(0.0, 2.0)  # of a weight times s, or of a ratio
ORDER = stats.norm(0.0, 1.5)  # of the logarithm of a positive one
FAR = 5.0  # standard deviations up to which a normal prior is looked at
TAIL = 1e-6  # of other priors
LOOKED_AT = 81  # values of a shape parameter at which it is asked what offers tell of it
LEAST = 1e-3  # of the largest density of a shape parameter that is left anywhere in its range
STEEP = 9.0  # logits up to which a range is looked at
SOME = 64  # offers that tell how variables spread, at most
MIDDLE = 9  # values of each shape parameter among which the middle is

AskPrior = NaturalPrior | PopulationPrior | GaussianPrior | ScaledPrior


class Place(NamedTuple):
    """Parameters at many nodes.

    Attributes
    ----------
    h, theta, psi
        On links (n, p), weights (n, d), shape parameters (n, q).
    spread
        Root mean square of every variable within offers, (n, d).
    """

    h: Matrix
    theta: Matrix
    psi: Matrix
    spread: Matrix


@dataclass(frozen=True, eq=False)
class Units:
    """From z to the parameters of a model, and the prior of z.

    Attributes
    ----------
    model, coordinates
        The model, and its parameters on their links.
    offers
        Attributes of the offers.
    prior
        What is believed before answers; None for the scales above.
    """

    model: Any
    coordinates: Coordinates
    offers: Mapping[str, Matrix]
    prior: AskPrior | None

    @classmethod
    def of(cls, model: Any, offers: Mapping[str, Matrix], prior: Any) -> Units:
        """Of a model and its offers."""
        if prior is not None and not isinstance(prior, AskPrior):
            raise DataError(
                "prior must be a NaturalPrior, a PopulationPrior, a GaussianPrior, a ScaledPrior "
                f"or None; got {type(prior).__name__}. Try pn.NaturalPrior."
            )
        if isinstance(prior, PopulationPrior):
            return cls(model, prior.coordinates_of(model), offers, prior)
        coordinates = Coordinates.of_model(model)
        if isinstance(prior, NaturalPrior):
            for name in prior.densities:
                if name not in coordinates.names:
                    raise DataError(
                        f"prior must name parameters that are asked about; got {name!r}, but they "
                        f"are {', '.join(coordinates.names)}. Correct it."
                    )
        if isinstance(prior, (GaussianPrior, ScaledPrior)):
            prior.quadratic(len(model.weights), np.ones(len(model.weights)))
        return cls(model, coordinates, offers, prior)

    @property
    def n_parameters(self) -> int:
        """How many parameters there are."""
        return len(self.coordinates)

    @property
    def n_shape(self) -> int:
        """How many are of shape: the first ones."""
        return self.coordinates.n_shape

    # -- from z to parameters ----------------------------------------------------------------------

    def psi(self, z: Matrix) -> Matrix:
        """Shape parameters (n, q) at nodes whose first columns are theirs."""
        return self.coordinates.psi(z)[0]

    def spread(self, psi: Matrix) -> Matrix:
        """Root mean square of every variable within offers, (n_psi, n_weights)."""
        if not len(self.model.shape):
            return np.repeat(self._spread_of(np.zeros((1, 0))), len(psi), axis=0)
        return self._spread_of(psi)

    def _spread_of(self, psi: Matrix) -> Matrix:
        x = variables(self.model, self._some, psi)
        with np.errstate(over="ignore", invalid="ignore"):
            away = x - x.mean(axis=2, keepdims=True)
            found = np.sqrt((away**2).mean(axis=(1, 2)))
        return np.where(np.isfinite(found) & (found > 0), found, 1.0)

    @cached_property
    def _some(self) -> Any:
        n = len(next(iter(self.offers.values())))
        which = np.unique(np.linspace(0, n - 1, min(n, SOME)).astype(np.int64))
        return as_record({name: values[which] for name, values in self.offers.items()})

    @cached_property
    def middle(self) -> Vector:
        """Spread of every variable in the middle of the ranges of psi."""
        return np.asarray(np.median(self.spread(self.typical_psi()), axis=0))

    def typical_psi(self) -> Matrix:
        """Shape parameters over their ranges, at the quarters of each search."""
        inside = np.linspace(0.0, 1.0, MIDDLE + 2)[1:-1]
        axes = [
            s.from_search(s.search_range[0] + (s.search_range[1] - s.search_range[0]) * inside)
            for s in self.model.shape
        ]
        every = list(product(*axes))
        return np.array(every, dtype=np.float64).reshape(len(every), len(axes))

    def place(self, z: Matrix, psi: Matrix, spread: Matrix) -> Place:
        """Parameters at nodes z (n, p), whose psi (n, q) and spread (n, d) are known."""
        h = z.copy()
        for a, c in enumerate(self.coordinates.each):
            if not c.is_shape:
                h[:, a] = self._on_link(c, z[:, a], spread)
        return Place(h, self.coordinates.theta(h[:, self.n_shape :]), psi, spread)

    def _on_link(self, c: Coordinate, z: Vector, spread: Matrix) -> Vector:
        natural, link = c.natural, c.link.name
        if natural.kind == "reciprocal":
            return np.asarray(np.log(spread[:, natural.index]) - z)
        if natural.kind == "ratio":
            unit = self.middle[natural.other] / self.middle[natural.index]
            return np.asarray(np.log(unit) + z if link == "log" else unit * z)
        if link == "log":
            return np.asarray(z - np.log(spread[:, natural.index]))
        return np.asarray(z if link == "logit" else z / self.middle[natural.index])

    # -- the prior of z ----------------------------------------------------------------------------

    def log_prior(self, z: Matrix, place: Place) -> Vector:
        """Log-density of z, up to a constant; -inf where a parameter cannot be."""
        found = np.zeros(len(z))
        for a, c in enumerate(self.coordinates.each):
            if isinstance(self.prior, NaturalPrior) and self.prior.holds(c.name):
                found += self._of_natural(c, place.h[:, a])
            elif c.is_shape and not isinstance(self.prior, PopulationPrior):
                found += self._of_range(c, z[:, a])
            elif self.prior is None or isinstance(self.prior, NaturalPrior):
                found += usual(c).logpdf(z[:, a])
        if isinstance(self.prior, PopulationPrior):
            density = self.prior.of_model(self.model)
            value, _, _ = density.on_weights(place.theta, place.psi)
            found += value
            found += sum(self._inside(c, z[:, a]) for a, c in self._shapes())
        if isinstance(self.prior, (GaussianPrior, ScaledPrior)):
            found += self._of_weights(place)
        return found

    def log_masses(self, natural: Matrix) -> Vector:
        """Log-masses of natural parameters (n, p) that are given one by one."""
        found = np.zeros(len(natural))
        if isinstance(self.prior, NaturalPrior):
            for name, density in self.prior.densities.items():
                found += density.logpdf(natural[:, self.coordinates.index(name)])
        return found

    def _shapes(self) -> list[tuple[int, Coordinate]]:
        return list(enumerate(self.coordinates.each[: self.n_shape]))

    def _of_natural(self, c: Coordinate, h: Vector) -> Vector:
        assert isinstance(self.prior, NaturalPrior)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = self.prior.densities[c.name].logpdf(c.link.value(h))
            found = density + np.log(np.abs(c.link.slope(h)))
        inside = self._inside(c, h) if c.is_shape else 0.0
        return np.where(np.isnan(found), -np.inf, found) + inside

    def _inside(self, c: Coordinate, h: Vector) -> Vector:
        """0 inside the range of a shape parameter, -inf outside."""
        if c.link.name == "logit":
            return np.zeros(len(h))
        low, high = self._range(c)
        room = 1e-9 * (high - low)
        return np.where((h >= low - room) & (h <= high + room), 0.0, -np.inf)

    def _of_range(self, c: Coordinate, h: Vector) -> Vector:
        """As likely as the offers tell values apart from their neighbours."""
        places, log_density = self._told_apart[c.natural.index]
        return np.asarray(np.interp(h, places, log_density) + self._inside(c, h))

    @cached_property
    def _told_apart(self) -> dict[int, tuple[Vector, Vector]]:
        """Of every shape parameter: places on its link, and the log-density of its prior there.

        The density is how fast the variables change, in units of their own spread: the root mean
        square over offers, as in the prior of Jeffreys.
        """
        found = {}
        middle = np.median(self.typical_psi(), axis=0)
        for _, c in self._shapes():
            ends = (-STEEP, STEEP) if c.link.name == "logit" else self._range(c)
            places = np.linspace(*ends, LOOKED_AT)
            own = (c.link.value(places) / c.natural.scale) ** (1.0 / c.natural.power)
            shape = self.model.shape[c.natural.index]
            psi = np.repeat(middle[None], LOOKED_AT, axis=0)
            psi[:, c.natural.index] = np.clip(own, shape.low, shape.high)
            x = variables(self.model, self._some, psi)
            with np.errstate(over="ignore", invalid="ignore"):
                x = (x - x.mean(axis=2, keepdims=True)) / self.spread(psi)[:, None, None, :]
                change = np.sqrt((np.gradient(x, places, axis=0) ** 2).mean(axis=(1, 2, 3)))
            change = np.where(np.isfinite(change), change, 0.0)
            top = change.max()
            density = np.maximum(change, LEAST * top) if top > 0 else np.ones(LOOKED_AT)
            found[c.natural.index] = places, np.log(density)
        return found

    def _of_weights(self, place: Place) -> Vector:
        """A prior of weights, as a density of z."""
        d = place.theta.shape[1]
        if isinstance(self.prior, ScaledPrior):
            value = -0.5 * self.prior.c * ((place.theta * place.spread) ** 2).sum(axis=1)
            value += np.log(place.spread).sum(axis=1)
        else:
            assert isinstance(self.prior, GaussianPrior)
            quadratic = self.prior.quadratic(d, np.ones(d))
            centre = np.linalg.solve(quadratic.precision, quadratic.linear)
            away = place.theta - centre
            value = -0.5 * np.einsum("na,ab,nb->n", away, quadratic.precision, away)
        if any(c.natural.kind != "weight" or c.link.name != "identity" for c in self._weights()):
            _, slopes = self.coordinates.theta_and_slopes(place.h[:, self.n_shape :])
            with np.errstate(divide="ignore"):
                value += np.linalg.slogdet(slopes)[1]
        return np.asarray(value)

    def _weights(self) -> tuple[Coordinate, ...]:
        return self.coordinates.each[self.n_shape :]

    # -- where to look -----------------------------------------------------------------------------

    def ends(self) -> Matrix:
        """From where to where each z is looked at before answers: (p, 2)."""
        return np.array([self._ends(a, c) for a, c in enumerate(self.coordinates.each)])

    def _ends(self, a: int, c: Coordinate) -> tuple[float, float]:
        if isinstance(self.prior, NaturalPrior) and self.prior.holds(c.name):
            density = self.prior.densities[c.name]
            ends = c.link.coordinate(np.array([density.ppf(TAIL), density.ppf(1 - TAIL)]))
            return self._from_link(c, *np.clip(ends, -300.0, 300.0))
        if isinstance(self.prior, PopulationPrior):
            at = self.prior.names.index(c.name)
            away = FAR * float(np.sqrt(self.prior.covariance[at, at]))
            mean = float(self.prior.mean[at])
            return self._from_link(c, mean - away, mean + away)
        if c.is_shape:
            return (-STEEP, STEEP) if c.link.name == "logit" else self._range(c)
        low, high = usual(c).mean() + FAR * usual(c).std() * np.array([-1.0, 1.0])
        if isinstance(self.prior, GaussianPrior):
            low, high = self._wide_enough(c, low, high)
        return float(low), float(high)

    def spreads_of_z(self) -> Vector:
        """About the standard deviation of each z before answers."""
        widths = np.diff(self.ends(), axis=1)[:, 0]
        found = widths / (2 * FAR)
        for a, c in self._shapes():
            if self.prior is None or not _holds(self.prior, c.name):
                places, log_density = self._told_apart[c.natural.index]
                density = np.exp(log_density) / np.exp(log_density).sum()
                found[a] = np.sqrt(density @ (places - density @ places) ** 2)
        return np.asarray(found)

    def _range(self, c: Coordinate) -> tuple[float, float]:
        ends = np.sort(c.link.coordinate(np.array(c.natural.ends(self.model.shape))))
        return float(ends[0]), float(ends[1])

    def _from_link(self, c: Coordinate, low: float, high: float) -> tuple[float, float]:
        """From ends on the link to ends of z, at any psi."""
        if c.is_shape:
            own = (-STEEP, STEEP) if c.link.name == "logit" else self._range(c)
            inside = max(low, own[0]), min(high, own[1])
            return inside if inside[0] < inside[1] else own
        spreads = self.spread(self.typical_psi())
        both = np.array([low, high])
        natural = c.natural
        if natural.kind == "reciprocal":
            logs = np.log(spreads[:, natural.index])
            return float(logs.min() - high), float(logs.max() - low)
        if natural.kind == "ratio":
            unit = self.middle[natural.other] / self.middle[natural.index]
            found = both - np.log(unit) if c.link.name == "log" else both / unit
        elif c.link.name == "log":
            logs = np.log(spreads[:, natural.index])
            found = both + np.array([logs.min(), logs.max()])
        else:
            found = both * (1.0 if c.link.name == "logit" else self.middle[natural.index])
        return float(found[0]), float(found[1])

    def _wide_enough(self, c: Coordinate, low: float, high: float) -> tuple[float, float]:
        """Ends that a Gaussian prior of a weight asks for."""
        assert isinstance(self.prior, GaussianPrior)
        d = len(self.model.weights)
        quadratic = self.prior.quadratic(d, np.ones(d))
        covariance = np.linalg.inv(quadratic.precision)
        a = c.natural.index
        mean, sd = (covariance @ quadratic.linear)[a], float(np.sqrt(covariance[a, a]))
        unit = self.middle[a]
        if c.natural.kind == "reciprocal" or c.link.name == "log":
            most = float(np.log((abs(mean) + FAR * sd) * unit))
            return min(low, most - 8.0), max(high, most)
        if c.natural.kind == "ratio":
            return low, high
        return float((mean - FAR * sd) * unit), float((mean + FAR * sd) * unit)


def _holds(prior: AskPrior, name: str) -> bool:
    """Whether a prior says anything of a shape parameter."""
    return isinstance(prior, (NaturalPrior, PopulationPrior)) and prior.holds(name)


def usual(c: Coordinate) -> Any:
    """What is believed of a weight before answers where nothing is said: a density of z."""
    if c.natural.kind == "reciprocal":
        return CONSISTENCY
    return ORDER if c.link.name == "log" else SIZE
