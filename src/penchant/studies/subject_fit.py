"""What is found of one subject, as numbers that can be kept in a file and read back exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penchant.output.document import numbers, plain
from penchant.softmax import document
from penchant.softmax.estimate import Estimate
from penchant.softmax.transformations import Parameter, transformed
from penchant.softmax.validity import Validity
from penchant.studies.measures import NAMES, Measures


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

    exact: Estimate
    linearized: Estimate | None
    simulated: Measures | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text."""
        linear, played = self.linearized, self.simulated
        return {
            "exact": _kept(self.exact),
            "linearized": None if linear is None else _kept(linear),
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
            Estimate.from_dict(kept["exact"]),
            None if linear is None else Estimate.from_dict(linear),
            None if played is None else Measures(**{k: numbers(v) for k, v in played.items()}),
        )


def _kept(fit: Estimate) -> dict[str, Any]:
    """What a file holds of it; whose it is, the file knows already."""
    return document.to_dict(fit, parameters_of(fit), *fit.source.usual) | {"subject": None}


def parameters_of(fit: Estimate) -> tuple[Parameter, ...]:
    """Natural parameters as they were kept, those of a deviation that is not small included."""
    return fit.source.parameters([fit], *fit.source.usual, None)[0]


def of_linearized(found: Estimate, level: float) -> Estimate:
    """What is kept of a linearised fit: all that the paper's map gives, with standard errors."""
    names, values, covariance = found.source.natural(found)
    return found.kept(transformed(values, covariance, names, level), level, "wald")


def validity_of(fit: Estimate) -> Validity:
    """The range of validity of a linearised fit."""
    assert fit.validity is not None
    return fit.validity
