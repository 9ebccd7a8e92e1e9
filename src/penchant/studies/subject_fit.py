"""What is found of one subject, as numbers that can be kept in a file and read back exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.inference.estimate import ModelEstimate
from penchant.inference.linearized_estimate import LinearizedEstimate
from penchant.output.document import numbers, plain
from penchant.population.subjects import subject_estimates
from penchant.softmax.transformations import Parameter
from penchant.studies.measures import NAMES, Measures


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit of one subject.

    Attributes
    ----------
    status, message
        "converged", or what is wrong.
    n_decisions, log_likelihood, null_log_likelihood
        Decisions scored, and the log-likelihoods: of the linearised model itself where it is that.
    names, theta, covariance
        The parameters that were fitted.
    parameters
        Natural ones, with intervals.
    natural_covariance
        Of the natural ones, by the delta method.
    """

    status: str
    message: str
    n_decisions: int
    log_likelihood: float
    null_log_likelihood: float
    names: tuple[str, ...]
    theta: Vector
    covariance: Matrix
    parameters: tuple[Parameter, ...]
    natural_covariance: Matrix

    @property
    def natural_names(self) -> tuple[str, ...]:
        """Names of the natural parameters."""
        return tuple(p.name for p in self.parameters)

    @property
    def natural(self) -> Vector:
        """The natural parameters themselves."""
        return np.array([p.estimate for p in self.parameters])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text."""
        return {
            "status": self.status,
            "message": self.message,
            "n_decisions": self.n_decisions,
            "log_likelihood": plain(self.log_likelihood),
            "null_log_likelihood": plain(self.null_log_likelihood),
            "names": list(self.names),
            "theta": plain(self.theta),
            "covariance": plain(self.covariance),
            "parameters": [
                [p.name, *map(plain, (p.estimate, p.standard_error, p.low, p.high))]
                for p in self.parameters
            ],
            "natural_covariance": plain(self.natural_covariance),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Fitted:
        """The inverse of `to_dict`."""
        return cls(**_fields(kept))


@dataclass(frozen=True, eq=False)
class Linearized(Fitted):
    """One linearised fit, with its range of validity.

    Attributes
    ----------
    ratio, bounds
        Delta / nominal, and where it must lie.
    valid
        Whether it is small and the parameters are possible.
    exact_log_likelihood
        Of the model itself at the parameters found; NaN outside the model.
    """

    ratio: float
    bounds: tuple[float, float]
    valid: bool
    exact_log_likelihood: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text."""
        return super().to_dict() | {
            "ratio": plain(self.ratio),
            "bounds": [plain(bound) for bound in self.bounds],
            "valid": self.valid,
            "exact_log_likelihood": plain(self.exact_log_likelihood),
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Linearized:
        """The inverse of `to_dict`."""
        low, high = (float(numbers(bound)) for bound in kept["bounds"])
        return cls(
            **_fields(kept),
            ratio=float(numbers(kept["ratio"])),
            bounds=(low, high),
            valid=bool(kept["valid"]),
            exact_log_likelihood=float(numbers(kept["exact_log_likelihood"])),
        )


@dataclass(frozen=True, eq=False)
class SubjectFit:
    """All that is found of a subject.

    Attributes
    ----------
    exact
        Maximum likelihood, or MAP with a prior.
    linearized
        The paper's estimator; None without a nominal point or a category.
    simulated
        What agents with the exact estimates do in the same task, or what is expected of the
        subject one step ahead; None without an estimate.
    """

    exact: Fitted
    linearized: Linearized | None
    simulated: Measures | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text."""
        played = self.simulated
        return {
            "exact": self.exact.to_dict(),
            "linearized": None if self.linearized is None else self.linearized.to_dict(),
            "simulated": None
            if played is None
            else {
                name: plain(getattr(played, name))
                for name in NAMES
                if getattr(played, name) is not None
            },
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> SubjectFit:
        """The inverse of `to_dict`."""
        linear, played = kept["linearized"], kept["simulated"]
        return cls(
            Fitted.from_dict(kept["exact"]),
            None if linear is None else Linearized.from_dict(linear),
            None if played is None else Measures(**{k: numbers(v) for k, v in played.items()}),
        )


def _fields(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": str(kept["status"]),
        "message": str(kept["message"]),
        "n_decisions": int(kept["n_decisions"]),
        "log_likelihood": float(numbers(kept["log_likelihood"])),
        "null_log_likelihood": float(numbers(kept["null_log_likelihood"])),
        "names": tuple(kept["names"]),
        "theta": numbers(kept["theta"]),
        "covariance": numbers(kept["covariance"]),
        "parameters": tuple(
            Parameter(str(name), *(float(numbers(value)) for value in values))
            for name, *values in kept["parameters"]
        ),
        "natural_covariance": numbers(kept["natural_covariance"]),
    }


def of_exact(estimate: ModelEstimate, parameters: tuple[Parameter, ...]) -> Fitted:
    """What is kept of an exact fit; its natural parameters come with their intervals."""
    found = subject_estimates([estimate], scale="natural", subjects=[0])
    assert found.covariances is not None
    return Fitted(
        status=estimate.status,
        message=estimate.message,
        n_decisions=estimate.n_decisions,
        log_likelihood=estimate.log_likelihood,
        null_log_likelihood=estimate.null_log_likelihood,
        names=estimate.names,
        theta=estimate.theta,
        covariance=estimate.covariance,
        parameters=parameters,
        natural_covariance=found.covariances[0],
    )


def of_linearized(found: LinearizedEstimate, level: float) -> Linearized:
    """What is kept of a linearised fit; parameters that the model cannot have are no estimate."""
    estimate = found.estimate
    natural = subject_estimates([found], scale="natural", subjects=[0])
    assert natural.covariances is not None
    return Linearized(
        status=found.status,
        message=found.message,
        n_decisions=estimate.n_decisions,
        log_likelihood=estimate.log_likelihood,
        null_log_likelihood=estimate.null_log_likelihood,
        names=estimate.names,
        theta=estimate.theta,
        covariance=estimate.covariance,
        parameters=estimate.parameters_at(level),
        natural_covariance=natural.covariances[0],
        ratio=found.ratio,
        bounds=found.bounds,
        valid=found.valid,
        exact_log_likelihood=found.exact_log_likelihood,
    )
