"""Priors of natural parameters: given, or those of a population that was fitted; kept as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError, closest_match_hint, mark_prior_argument
from penchant.files.output import read_document, write_json
from penchant.json_records import (
    document_head,
    read_value,
    record_document,
    record_from_document,
    write_value,
)
from penchant.models.coordinates import Coordinates
from penchant.models.model import Model, natural_parameters
from penchant.models.parameters import Parameter
from penchant.models.transforms import Transform, read_link
from penchant.softmax.prior import GaussianPrior, ParameterPrior


class Density(Protocol):
    """Log-density of a prior, added to the log-likelihood of a model."""

    def on_weights(self, theta: Matrix, psi: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """The part that depends on weights (n, d), its gradient and Hessian in them."""

    def on_shape(self, psi: Matrix, theta: Matrix) -> tuple[Vector, Matrix]:
        """The rest, which depends on psi (n, n_shape) alone; and the gradient of all in psi."""

    def typical_weights(self) -> Vector:
        """Weights to start from."""


@runtime_checkable
class DensityPrior(Protocol):
    """A prior that is not quadratic in the weights: on natural parameters, or a population's."""

    def of_model(self, model: Model) -> Density:
        """The density of a model's parameters; an error where it has others."""

    def holds(self, name: str) -> bool:
        """Whether it says anything of a natural parameter."""


DENSITY_STEP = 1e-4  # of a standard deviation, or of what is left to the end of the support


@dataclass(init=False, repr=False, eq=False)
class NaturalPrior:
    """Independent densities of natural parameters, each a frozen distribution of scipy.stats.

    The estimate maximises the likelihood times the densities, in natural units. Parameters without
    one are left to the likelihood.

    Parameters
    ----------
    **densities
        By name of the natural parameter: anything with `logpdf`, `std` and `support`.

    Examples
    --------
    >>> from scipy import stats
    >>> import penchant as pn
    >>> prior = pn.NaturalPrior(learning_rate=stats.beta(2, 2), temperature=stats.gamma(2))
    >>> prior
    NaturalPrior(learning_rate, temperature)
    """

    densities: Mapping[str, Any]

    def __init__(self, **densities: Any) -> None:
        if not densities:
            raise DataError(
                "densities", "must name at least one parameter", got="none", fix="Name one."
            )
        for name, density in densities.items():
            if not all(hasattr(density, part) for part in ("logpdf", "std", "support")):
                raise DataError(
                    f"density of {name}",
                    "must be a frozen distribution of scipy.stats, such as stats.norm(50, 20)",
                    got=type(density).__name__,
                    fix="Give one.",
                )
        self.densities = dict(densities)
        self.summaries = {name: _DensitySummary.of(density) for name, density in densities.items()}

    def to_dict(self) -> dict[str, Any]:
        """Densities by name, ready for JSON."""
        found: dict[str, Any] = write_value(self.densities, Mapping[str, Any])
        return found

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> NaturalPrior:
        """Read what `to_dict` wrote."""
        return cls(**read_value(document, Mapping[str, Any]))

    def check(self, naturals: Sequence[Parameter]) -> None:
        """Raise an error if a name is not one of the natural parameters."""
        known = [natural.name for natural in naturals]
        for name in self.densities:
            if name not in known:
                raise DataError(
                    mark_prior_argument(),
                    "must name natural parameters of the model",
                    got=f"{name!r}, but they are {', '.join(known)}",
                    fix=closest_match_hint(name, known) or "Correct it.",
                )

    def of_model(self, model: Model) -> Density:
        """The densities of a model's natural parameters."""
        naturals = natural_parameters(model)
        self.check(naturals)
        own = [natural for natural in naturals if natural.name in self.densities]
        return _NaturalPriorDensity(self, own, len(model.weights))

    def holds(self, name: str) -> bool:
        """Whether a natural parameter has a density."""
        return name in self.densities

    def __repr__(self) -> str:
        return f"NaturalPrior({', '.join(self.densities)})"

    def __str__(self) -> str:
        return f"natural ({', '.join(self.densities)})"


class _NaturalPriorDensity(NamedTuple):
    """The densities of one model, and the natural parameters that have one."""

    prior: NaturalPrior
    naturals: Sequence[Parameter]
    n_weights: int

    def on_weights(self, theta: Matrix, psi: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """Log-density of what is made of weights (n, d), gradient and Hessian in the weights."""
        n, d = theta.shape
        value, gradient, hessian = np.zeros(n), np.zeros((n, d)), np.zeros((n, d, d))
        for natural in self.naturals:
            if natural.is_shape:
                continue
            number, slope, bend = natural.derivatives(theta)
            log_density, first, second = self._density(natural.name, number)
            value += log_density
            gradient += first[:, None] * slope
            hessian += second[:, None, None] * slope[:, :, None] * slope[:, None, :]
            hessian += first[:, None, None] * bend
        return value, gradient, hessian

    def on_shape(self, psi: Matrix, theta: Matrix) -> tuple[Vector, Matrix]:
        """Log-density of what is made of psi (n, n_shape), and its gradient."""
        value, gradient = np.zeros(len(psi)), np.zeros(psi.shape)
        for natural in self.naturals:
            if not natural.is_shape:
                continue
            own = psi[:, natural.index]
            number = natural.of_psi(own)
            log_density, first, _ = self._density(natural.name, number)
            value += log_density
            gradient[:, natural.index] += first * natural.transform.first(own)
        return value, gradient

    def _density(self, name: str, number: Vector) -> tuple[Vector, Vector, Vector]:
        """Log-density and its first two derivatives, by differences; -inf outside the support."""
        low, high, sd, median = self.prior.summaries[name]
        inside = np.isfinite(number) & (number > low) & (number < high)
        at = np.where(inside, number, median)
        room = np.minimum(at - low, high - at)
        step = DENSITY_STEP * np.minimum(
            np.minimum(room, sd if np.isfinite(sd) else 1.0 + np.abs(at)), 1e6
        )
        places = at + np.array([[0.0], [1.0], [-1.0]]) * step
        middle, above, below = self.prior.densities[name].logpdf(places)
        first, second = (above - below) / (2 * step), (above - 2 * middle + below) / step**2
        return (
            np.where(inside, middle, -np.inf),
            np.where(inside, first, 0.0),
            np.where(inside, second, 0.0),
        )

    def typical_weights(self) -> Vector:
        """Weights at the medians of the densities; 1 where nothing is said."""
        theta = np.ones(self.n_weights)
        for natural in sorted(self.naturals, key=lambda one: one.is_ratio):
            if not natural.is_shape:
                natural.set_value(self.prior.summaries[natural.name].median, theta, np.empty(0))
        return theta


Prior = ParameterPrior | DensityPrior


class _DensitySummary(NamedTuple):
    """Support, standard deviation and median of a density, computed once."""

    low: float
    high: float
    sd: float
    median: float

    @classmethod
    def of(cls, density: Any) -> _DensitySummary:
        low, high = density.support()
        return cls(float(low), float(high), float(density.std()), float(density.median()))


@dataclass(frozen=True, eq=False)
class PopulationPrior:
    """Parameters on their links are normal: mean and covariance of a population.

    `fit_population(...).prior` makes one; `fit`, `fit_each`, `live`, `compare` and `predict` take
    it where they take other priors. The estimate is the most probable one on the links.

    Parameters
    ----------
    names
        Natural parameters.
    mean, covariance
        On the links.
    links
        Of each parameter.

    Examples
    --------
    >>> import penchant as pn
    >>> prior = pn.PopulationPrior(
    ...     names=("learning_rate", "temperature"),
    ...     mean=[-0.6, -1.2],
    ...     covariance=[[1.0, 0.15], [0.15, 0.25]],
    ...     links=(("logit", 0.0, 1.0), "log"),
    ... )
    >>> prior
    PopulationPrior(learning_rate 0.354, temperature 0.301)
    """

    names: tuple[str, ...]
    mean: Vector
    covariance: Matrix
    links: tuple[Transform, ...]

    def __post_init__(self) -> None:
        names = tuple(map(str, self.names))
        normal = GaussianPrior(self.mean, self.covariance)
        mean, covariance, p = normal.mean, normal.covariance, len(names)
        if mean.shape != (p,) or covariance.shape != (p, p) or len(self.links) != p:
            raise DataError(
                "mean, covariance and links",
                f"must be of {p} parameters",
                got=f"shapes {mean.shape}, {covariance.shape} and {len(self.links)} links",
                fix="Match them to names.",
            )
        links = tuple(read_link(n, link) for n, link in zip(names, self.links, strict=True))
        for name, value in (("names", names), ("mean", mean), ("links", links)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "covariance", covariance)

    @property
    def precision(self) -> Matrix:
        """Inverse of the covariance."""
        sd = np.sqrt(np.diag(self.covariance))
        unit = np.outer(sd, sd)
        return np.asarray(np.linalg.inv(self.covariance / unit) / unit)

    def coordinates_of(self, model: Model) -> Coordinates:
        """The coordinates of a model under these links, if it has these parameters."""
        links = dict(zip(self.names, self.links, strict=True))
        own = Coordinates.of_names(model, self.names, links)
        if set(own.names) != set(self.names):
            raise DataError(
                mark_prior_argument(),
                f"must be of the model's parameters {', '.join(own.names)}",
                got=", ".join(self.names),
                fix="Fit the population with the same model.",
            )
        return own

    def of_model(self, model: Model) -> OnLinks:
        """The density of a model's weights and shape parameters."""
        coordinates = self.coordinates_of(model)
        order = [self.names.index(name) for name in coordinates.names]
        precision = self.precision[np.ix_(order, order)]
        return OnLinks(coordinates, self.mean[order], precision)

    def holds(self, name: str) -> bool:
        """Whether a natural parameter is one of the population's."""
        return name in self.names

    def on_variables(self) -> GaussianPrior:
        """The prior of weights of variables, which must be on their own scale."""
        for name, link in zip(self.names, self.links, strict=True):
            if link.name != "identity":
                raise DataError(
                    mark_prior_argument(),
                    "must be normal in the weights for choices",
                    got=f"{name} on {link}",
                    fix="Use fit_population for such a population.",
                )
        return GaussianPrior(self.mean, self.covariance)

    def draw(self, n: int, *, rng: np.random.Generator) -> dict[str, Vector]:
        """Natural parameters of new people: a vector of n by name."""
        h = rng.multivariate_normal(self.mean, self.covariance, size=n, method="cholesky")
        return {
            name: np.asarray(link.value(h[:, a]))
            for a, (name, link) in enumerate(zip(self.names, self.links, strict=True))
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON."""
        return record_document(PopulationPrior, self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> PopulationPrior:
        """Read what `to_dict` wrote."""
        return record_from_document(cls, document, cls)

    def save(self, path: Any, *, overwrite: bool = True) -> None:
        """Write it to a file, to be read by `read`."""
        write_json(path, self.to_dict(), overwrite=overwrite)

    @classmethod
    def read(cls, path: Any) -> PopulationPrior:
        """Read a file that `save` wrote."""
        return cls.from_dict(read_document(path, **document_head(cls)))

    def __repr__(self) -> str:
        each = zip(self.names, self.links, self.mean, strict=True)
        return f"PopulationPrior({', '.join(f'{n} {link.value(m):.3g}' for n, link, m in each)})"

    def __str__(self) -> str:
        return f"population ({', '.join(self.names)})"


def with_ratios(
    prior: PopulationPrior, model: Model, drawn: Mapping[str, Vector]
) -> dict[str, Vector]:
    """Numbers of people by parameter, with ratios instead of the weights that carry them."""
    coordinates = prior.coordinates_of(model)
    values = np.stack([drawn[name] for name in coordinates.names], axis=1)
    theta = coordinates.theta(coordinates.coordinates(values)[:, coordinates.n_shape :])
    found = dict(drawn)
    for natural in natural_parameters(model):
        if natural.is_ratio and found.pop(model.weights[natural.index], None) is not None:
            found[natural.name] = np.asarray(natural.of_weights(theta))
    return found


class OnLinks(NamedTuple):
    """The density of a model's parameters: a `Density`, normal on the scales without limits."""

    coordinates: Coordinates
    mean: Vector
    precision: Matrix

    def on_weights(self, theta: Matrix, psi: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """The joint log-density, less its constant, with derivatives in the weights."""
        n, d = theta.shape
        h, slopes, bends = self._coordinates(theta, psi)
        inside: BoolVector = np.all(np.isfinite(h), axis=1)
        away = np.where(inside[:, None], h - self.mean, 0.0)
        pull = away @ self.precision
        slopes = np.where(inside[:, None, None], slopes, 0.0)
        bends = np.where(inside[:, None, None, None], bends, 0.0)
        value = np.where(inside, -0.5 * (away * pull).sum(axis=1), -np.inf)
        gradient = -np.einsum("na,nab->nb", pull, slopes)
        hessian = -np.einsum("nab,ac,ncd->nbd", slopes, self.precision, slopes)
        hessian -= np.einsum("na,nabc->nbc", pull, bends)
        return value, gradient.reshape(n, d), hessian

    def on_shape(self, psi: Matrix, theta: Matrix) -> tuple[Vector, Matrix]:
        """Zeros (`on_weights` has the joint log-density), and its gradient in psi."""
        h, _, _ = self._coordinates(theta, psi)
        inside: BoolVector = np.all(np.isfinite(h), axis=1)
        pull = np.where(inside[:, None], h - self.mean, 0.0) @ self.precision
        gradient = np.zeros(psi.shape)
        for a, c in enumerate(self.coordinates.each[: self.coordinates.n_shape]):
            own = psi[:, c.natural.index]
            with np.errstate(divide="ignore", invalid="ignore"):  # at limits, which are outside
                first, _ = c.link.inverse_derivatives(c.natural.of_psi(own))
                slope = first * c.natural.transform.first(own)
            gradient[:, c.natural.index] -= pull[:, a] * np.where(inside, slope, 0.0)
        return np.zeros(len(psi)), gradient

    def typical_weights(self) -> Vector:
        """Weights of the average person."""
        return np.asarray(self.coordinates.theta(self.mean[None, self.coordinates.n_shape :])[0])

    def _coordinates(self, theta: Matrix, psi: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Coordinates (n, p), and their slopes and bends in the weights."""
        n, d = theta.shape
        p = len(self.coordinates)
        h, slopes, bends = np.empty((n, p)), np.zeros((n, p, d)), np.zeros((n, p, d, d))
        for a, c in enumerate(self.coordinates.each):
            if c.is_shape:
                number = c.natural.of_psi(psi[:, c.natural.index])
                h[:, a] = c.link.inverse(number)
                continue
            number, slope, bend = c.natural.derivatives(theta)
            h[:, a] = c.link.inverse(number)
            first, second = c.link.inverse_derivatives(number)
            slopes[:, a] = first[:, None] * slope
            bends[:, a] = first[:, None, None] * bend
            bends[:, a] += second[:, None, None] * slope[:, :, None] * slope[:, None, :]
        return h, slopes, bends
