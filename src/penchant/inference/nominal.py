"""The point that a model is linearised about, and the way back from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.beliefs import RewardPrior
from penchant.errors import DataError, nearest
from penchant.models.model import Declared, Model, natural_parameters, positive_weights
from penchant.models.natural import Shape

Coordinate = Literal["delta", "sigma0"]
Nominal = RewardPrior | Mapping[str, float]


@dataclass(frozen=True)
class BackMap:
    """From theta of the linearised model to natural parameters; picklable."""

    model: Model
    psi: Vector
    ratios: Vector
    coordinate: Coordinate

    def weights_and_shape(self, theta: Vector) -> tuple[Vector, Vector]:
        """Weights and shape parameters of the model itself."""
        d = len(self.ratios)
        weights = theta[0] * self.ratios
        weights[1:] += theta[1:d]
        deviation = theta[d:] / theta[0]
        psi = self.psi + deviation
        if self.coordinate == "sigma0":
            relative = 1.0 - deviation[0] / (2.0 * self.psi[0])
            psi[0] = self.psi[0] / relative**2 if relative > 0 else np.nan
        return weights, psi

    def values(self, theta: Vector) -> Vector:
        """Natural parameters; NaN where theta lies outside the model."""
        naturals = natural_parameters(self.model)
        if not self.inside(theta):
            return np.full(len(naturals), np.nan)
        weights, psi = self.weights_and_shape(theta)
        return np.array([n.value(weights, psi) for n in naturals])

    def inside(self, theta: Vector) -> bool:
        """Whether theta gives parameters that the model can have."""
        if not np.isfinite(theta).all() or theta[0] == 0:
            return False
        weights, psi = self.weights_and_shape(theta)
        must = list(positive_weights(self.model))
        fine = all(_is_possible(s, value) for s, value in zip(self.model.shape, psi, strict=True))
        return fine and bool((weights[must] > 0).all())

    def jacobian(self, theta: Vector) -> Matrix:
        """Derivatives of the natural parameters, by central differences."""
        columns = []
        for a in range(len(theta)):
            h = 1e-6 * max(abs(theta[a]), 1e-6 * abs(theta[0]) * max(1.0, *self.psi.tolist()))
            step = np.where(np.arange(len(theta)) == a, h, 0.0)
            columns.append((self.values(theta + step) - self.values(theta - step)) / (2 * h))
        return np.column_stack(columns)


def _is_possible(shape: Shape, value: float) -> bool:
    """Whether the model can have it: a logarithmic range is where to look, a linear one is all."""
    if shape.scale == "log":
        return bool(0 < value < np.inf)
    return bool(shape.low <= value <= shape.high)


def nominal_point(model: Model, nominal: Nominal) -> tuple[Vector, Vector]:
    """Nominal psi and ratios of the weights to the first."""
    if isinstance(nominal, RewardPrior):
        return _of_reward_prior(model, nominal)
    shape = [s.name for s in model.shape]
    others = list(model.weights[1:])
    missing = [name for name in shape if name not in nominal]
    if missing:
        raise DataError(
            f"nominal must hold {', '.join(shape)}; "
            f"got none for {', '.join(missing)}. Give all shape parameters."
        )
    for name, value in nominal.items():
        _check(model, name, value, [*shape, *others])
    psi = [float(nominal[name]) for name in shape]
    ratios = [1.0, *(float(nominal.get(name, 0.0)) for name in others)]
    return np.array(psi), np.array(ratios)


def _check(model: Model, name: str, value: float, known: list[str]) -> None:
    if name not in known:
        raise DataError(
            f"nominal must hold shape parameters, and ratios of weights to the first: "
            f"{', '.join(known) or 'none'}; got {name!r}.{nearest(name, known) or ' Leave it out.'}"
        )
    if not np.isfinite(value):
        raise DataError(f"nominal {name} must be finite; got {value}. Correct it.")
    for shape in model.shape:
        if shape.name == name and not _is_possible(shape, float(value)):
            rule = "be > 0" if shape.scale == "log" else f"lie in {shape.low:g}..{shape.high:g}"
            raise DataError(f"nominal {name} must {rule}; got {value:g}. Correct it.")


def _of_reward_prior(model: Model, nominal: RewardPrior) -> tuple[Vector, Vector]:
    point = Declared(model).nominal_point
    if point is None:
        raise DataError(
            "nominal must be a mapping for this model; got a RewardPrior. "
            "Give {name: value} of its shape parameters."
        )
    return point(nominal)


def check_coordinate(model: Model, coordinate: str) -> None:
    """Raise an error unless it is one of the two, and one of this model."""
    if coordinate not in ("delta", "sigma0"):
        raise DataError(f"coordinate must be 'delta' or 'sigma0'; got {coordinate!r}. Choose one.")
    if coordinate == "sigma0" and Declared(model).nominal_point is None:
        raise DataError(
            "coordinate must be left out for models other than UCL; got 'sigma0'. "
            "Their shape parameters map back as they are."
        )
