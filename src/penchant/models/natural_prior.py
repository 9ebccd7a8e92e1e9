"""The analyst's prior on natural parameters, such as a learning rate or a prior mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError, nearest
from penchant.models.model import Model, natural_parameters
from penchant.models.natural import Natural, ShapeParameter
from penchant.softmax.prior import ParameterPrior
from penchant.wording import prior_said


class Density(Protocol):
    """What a prior adds to the log-likelihood of a model, at weights and shape parameters."""

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


STEP = 1e-4  # of a standard deviation, or of what is left to the end of the support


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

    def __init__(self, **densities: Any) -> None:
        if not densities:
            raise DataError("densities must name at least one parameter; got none. Name one.")
        for name, density in densities.items():
            if not all(hasattr(density, part) for part in ("logpdf", "std", "support")):
                raise DataError(
                    f"density of {name} must be a frozen distribution of scipy.stats, such as "
                    f"stats.norm(50, 20); got {type(density).__name__}. Give one."
                )
        self.densities: Mapping[str, Any] = dict(densities)
        self._known = {name: _Known.of(density) for name, density in densities.items()}

    def check(self, naturals: Sequence[Natural]) -> None:
        """Raise an error if a name is not one of the natural parameters."""
        known = [natural.name for natural in naturals]
        for name in self.densities:
            if name not in known:
                raise DataError(
                    f"{prior_said()} must name natural parameters of the model; got {name!r}, but "
                    f"they are {', '.join(known)}.{nearest(name, known) or ' Correct it.'}"
                )

    def of_model(self, model: Model) -> Density:
        """The densities of a model's natural parameters."""
        naturals = natural_parameters(model)
        self.check(naturals)
        return _OfNaturals(self, naturals, len(model.weights))

    def holds(self, name: str) -> bool:
        """Whether a natural parameter has a density."""
        return name in self.densities

    def on_weights(
        self, naturals: Sequence[Natural], theta: Matrix
    ) -> tuple[Vector, Matrix, Matrix]:
        """Log-density of what is made of weights (n, d), gradient and Hessian in the weights."""
        n, d = theta.shape
        value, gradient, hessian = np.zeros(n), np.zeros((n, d)), np.zeros((n, d, d))
        for natural in naturals:
            if natural.is_shape or natural.name not in self.densities:
                continue
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                number, (slope, bend) = natural.of_weights(theta), natural.bends(theta)
            log_density, first, second = self._density(natural.name, number)
            value += log_density
            gradient += first[:, None] * slope
            hessian += second[:, None, None] * slope[:, :, None] * slope[:, None, :]
            hessian += first[:, None, None] * bend
        return value, gradient, hessian

    def on_shape(self, naturals: Sequence[Natural], psi: Matrix) -> tuple[Vector, Matrix]:
        """Log-density of what is made of psi (n, n_shape), and its gradient."""
        value, gradient = np.zeros(len(psi)), np.zeros(psi.shape)
        for natural in naturals:
            if not isinstance(natural, ShapeParameter) or natural.name not in self.densities:
                continue
            own = psi[:, natural.index]
            number = natural.of_psi(own)
            log_density, first, _ = self._density(natural.name, number)
            value += log_density
            gradient[:, natural.index] += first * natural.power * number / own
        return value, gradient

    def _density(self, name: str, number: Vector) -> tuple[Vector, Vector, Vector]:
        """Log-density and its first two derivatives, by differences; -inf outside the support."""
        low, high, sd, median = self._known[name]
        inside = np.isfinite(number) & (number > low) & (number < high)
        at = np.where(inside, number, median)
        room = np.minimum(at - low, high - at)
        step = STEP * np.minimum(np.minimum(room, sd if np.isfinite(sd) else 1.0 + np.abs(at)), 1e6)
        places = at + np.array([[0.0], [1.0], [-1.0]]) * step
        middle, above, below = self.densities[name].logpdf(places)
        first, second = (above - below) / (2 * step), (above - 2 * middle + below) / step**2
        return (
            np.where(inside, middle, -np.inf),
            np.where(inside, first, 0.0),
            np.where(inside, second, 0.0),
        )

    def typical_weights(self, naturals: Sequence[Natural], n_weights: int) -> Vector:
        """Weights at the medians of the densities; 1 where nothing is said."""
        theta = np.ones(n_weights)
        for natural in sorted(naturals, key=lambda one: one.is_ratio):
            if not natural.is_shape and natural.name in self.densities:
                natural.put(self._known[natural.name].median, theta, np.empty(0))
        return theta

    def __repr__(self) -> str:
        return f"NaturalPrior({', '.join(self.densities)})"

    def __str__(self) -> str:
        return f"natural ({', '.join(self.densities)})"


class _OfNaturals(NamedTuple):
    """The densities of one model."""

    prior: NaturalPrior
    naturals: Sequence[Natural]
    n_weights: int

    def on_weights(self, theta: Matrix, psi: Matrix) -> tuple[Vector, Matrix, Matrix]:
        return self.prior.on_weights(self.naturals, theta)

    def on_shape(self, psi: Matrix, theta: Matrix) -> tuple[Vector, Matrix]:
        return self.prior.on_shape(self.naturals, psi)

    def typical_weights(self) -> Vector:
        return self.prior.typical_weights(self.naturals, self.n_weights)


Prior = ParameterPrior | DensityPrior


class _Known(NamedTuple):
    """What is asked of a density again and again."""

    low: float
    high: float
    sd: float
    median: float

    @classmethod
    def of(cls, density: Any) -> _Known:
        low, high = density.support()
        return cls(float(low), float(high), float(density.std()), float(density.median()))
