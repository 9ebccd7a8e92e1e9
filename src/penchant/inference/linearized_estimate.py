"""The point that a model is linearised about, and the results, with their range of validity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._frames import Backend, frame
from penchant._typing import Matrix, Vector
from penchant.bandit.beliefs import RewardPrior
from penchant.errors import DataError, nearest
from penchant.inference.estimate import BySubject
from penchant.models.model import (
    Declared,
    Model,
    Shape,
    model_words,
    natural_parameters,
    positive_weights,
)
from penchant.output.document import plain
from penchant.output.table import Table, number
from penchant.softmax.estimate import Estimate
from penchant.softmax.transformations import Parameter

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


LARGEST_RATIO = 1.0  # a deviation larger than the nominal value is not a small one
OUTSIDE = "outside the model"


def small_deviation(ratio: float, bounds: tuple[float, float]) -> bool:
    """Whether the deviation is inside its bounds and small beside the nominal value."""
    low, high = bounds
    return bool(low < ratio < min(high, LARGEST_RATIO))


@dataclass(frozen=True, eq=False, repr=False)
class LinearizedEstimate:
    """The paper's estimate, with its range of validity.

    What it does not have itself, such as theta and its covariance, is that of `estimate`.

    Attributes
    ----------
    estimate
        theta, covariance, status of the linear problem; its `parameters` are natural.
    model, nominal, coordinate
        What was linearised, about which point, and how the deviation maps back.
    nominal_psi, nominal_ratios
        The point as shape parameters, and as ratios of the weights to the first.
    ratio
        Deviation of the first shape parameter over its nominal value: Delta_delta / delta-bar.
    bounds
        Where that ratio must lie for the linearisation to mean anything.
    exact_log_likelihood
        Of the model itself at the parameters found; NaN if they lie outside the model.
    weights, psi
        Of the model itself; NaN outside it.
    """

    estimate: Estimate
    model: Model
    nominal: Nominal
    coordinate: Coordinate
    nominal_psi: Vector
    nominal_ratios: Vector
    ratio: float
    bounds: tuple[float, float]
    exact_log_likelihood: float
    weights: Vector
    psi: Vector

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "estimate":
            raise AttributeError(name)
        return getattr(self.estimate, name)

    @property
    def status(self) -> str:
        """That of the linear problem, or "outside the model" if its solution is none of it."""
        known = bool(np.isfinite(self.estimate.theta).all())
        outside = known and not np.isfinite(self.exact_log_likelihood)
        return OUTSIDE if outside else str(self.estimate.status)

    @property
    def message(self) -> str:
        """What the status means, and what to do."""
        if self.status != OUTSIDE:
            return str(self.estimate.message)
        return (
            "theta gives parameters that the model cannot have, such as a decision noise or a "
            "prior variance that is not positive, so there are no natural parameters: "
            "re-linearise or use the exact fit."
        )

    @property
    def converged(self) -> bool:
        """The linear problem has a proven maximum, and it lies inside the model."""
        return self.status == "converged"

    @property
    def valid(self) -> bool:
        """The deviation is no larger than the nominal value, and the parameters are possible."""
        return small_deviation(self.ratio, self.bounds) and bool(
            np.isfinite(self.exact_log_likelihood)
        )

    @property
    def without_meaning(self) -> tuple[str, ...]:
        """Natural parameters that rest on a deviation which is not small."""
        if self.valid or not np.isfinite(self.ratio):
            return ()
        return tuple(n.name for n in natural_parameters(self.model) if n.kind == "shape")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Natural parameters, with 95 % intervals where they mean something."""
        return self.parameters_at(0.95)

    def parameters_at(self, level: float) -> tuple[Parameter, ...]:
        """Natural parameters with intervals at this level.

        Those in `without_meaning` keep what the paper's map gives, but have neither standard error
        nor interval (NaN): these would be of a number that says nothing of the choices.
        """
        return tuple(
            replace(p, standard_error=np.nan, low=np.nan, high=np.nan)
            if p.name in self.without_meaning
            else p
            for p in self.estimate.parameters_at(level)
        )

    def _note(self, note: str) -> str:
        """A note of the estimate; of a natural parameter without meaning, what is to be said."""
        for p in self.parameters:
            if p.name in self.without_meaning and note.startswith(f"{p.name} = "):
                return (
                    f"{p.name} = {number(p.estimate)} (no standard error: it means nothing, as "
                    f"Delta / nominal = {self.ratio:.4g} is not small)"
                )
        return note

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table: theta, and natural parameters below."""
        table = self.estimate.table(level)
        whose = "" if self.estimate.subject is None else f" of {self.estimate.subject}"
        said = (self.message,) if self.status == OUTSIDE else ()
        return replace(
            table,
            caption=f"Linearised about {nominal_words(self.nominal)}: maximum likelihood{whose}",
            facts=(("Status", self.status), *table.facts[1:]),
            notes=(*said, *map(self._note, table.notes), f"Model: {model_words(self.model)}."),
        )

    def summary(self, level: float = 0.95) -> str:
        """Everything one reads first, as text."""
        return self.table(level).text()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        inside = "valid" if self.valid else "outside its range of validity"
        return f"<LinearizedEstimate {self.status}, {inside}: ratio {self.ratio:.4g}>"

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self, level: float = 0.95) -> str:
        """The table for a paper (booktabs)."""
        return self.table(level).latex()

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per natural parameter, with the ratio that says how far to trust them."""
        found = self.parameters_at(level)
        columns: dict[str, list[Any]] = {
            "name": [p.name for p in found],
            "estimate": [p.estimate for p in found],
            "standard_error": [p.standard_error for p in found],
            "low": [p.low for p in found],
            "high": [p.high for p in found],
            "ratio": [self.ratio] * len(found),
            "valid": [self.valid] * len(found),
        }
        return frame(columns, backend)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON: that of `estimate`, and the range of validity."""
        return self.estimate.to_dict(level) | {
            "status": self.status,
            "message": self.message,
            "model": model_words(self.model),
            "nominal": nominal_dict(self.nominal),
            "coordinate": self.coordinate,
            "ratio": plain(self.ratio),
            "bounds": [plain(bound) for bound in self.bounds],
            "valid": self.valid,
            "exact_log_likelihood": plain(self.exact_log_likelihood),
            "parameters": [plain_parameter(p) for p in self.parameters_at(level)],
            "without_meaning": list(self.without_meaning),
        }


def plain_parameter(p: Parameter) -> dict[str, Any]:
    """A parameter ready for JSON, where NaN is null."""
    return {"name": p.name} | {
        word: plain(getattr(p, word)) for word in ("estimate", "standard_error", "low", "high")
    }


def nominal_dict(nominal: Nominal) -> dict[str, Any]:
    """The nominal point as plain numbers."""
    if isinstance(nominal, RewardPrior):
        return asdict(nominal)
    return {name: float(value) for name, value in nominal.items()}


def nominal_words(nominal: Nominal) -> str:
    """The nominal point in words."""
    if isinstance(nominal, Mapping):
        return ", ".join(f"{name} {value:g}" for name, value in nominal.items()) or "nothing"
    scale = "" if nominal.length_scale is None else f", length scale {nominal.length_scale:g}"
    return f"prior mean {nominal.mean:g}, variance {nominal.variance:g}{scale}"


@dataclass(frozen=True, eq=False, repr=False)
class LinearizedEstimates(BySubject[LinearizedEstimate]):
    """One linearised estimate per subject: by position, through `of(subject)`, or `to_frame()`.

    Attributes
    ----------
    subjects, estimates
        Who, and what was found.
    without_decisions
        Subjects left out, as no decision of theirs is scored.
    """

    without_decisions: tuple[Any, ...] = ()

    @property
    def n_valid(self) -> int:
        """How many lie inside the range of validity."""
        return sum(e.valid for e in self.estimates)

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per subject: status, range of validity, natural parameters with intervals."""
        columns: dict[str, list[Any]] = {
            "subject": list(self.subjects),
            "status": list(self.status),
            "n_decisions": [e.n_decisions for e in self.estimates],
            "log_likelihood": [e.log_likelihood for e in self.estimates],
            "exact_log_likelihood": [e.exact_log_likelihood for e in self.estimates],
            "ratio": [e.ratio for e in self.estimates],
            "ratio_low": [e.bounds[0] for e in self.estimates],
            "ratio_high": [e.bounds[1] for e in self.estimates],
        }
        found = [e.parameters_at(level) for e in self.estimates]
        for j, parameter in enumerate(found[0]):
            columns[parameter.name] = [p[j].estimate for p in found]
            columns[f"{parameter.name}_standard_error"] = [p[j].standard_error for p in found]
            columns[f"{parameter.name}_low"] = [p[j].low for p in found]
            columns[f"{parameter.name}_high"] = [p[j].high for p in found]
        return frame(columns, backend)

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        left = len(self.without_decisions)
        more = f"; {left} without decisions" if left else ""
        return (
            f"<LinearizedEstimates of {len(self)} subjects: {said}; {self.n_valid} inside the "
            f"range of validity{more}>"
        )
