"""Estimates of some subjects at a time, as rows of a table: what is done on portions of a scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penchant.arguments import check_level
from penchant.choices import Choices
from penchant.choices.chunks import ManyPeople
from penchant.errors import DataError
from penchant.inference.fit import check_prior, weights_only
from penchant.inference.fit_each_model import fit_each_model
from penchant.models.model import Declared, Model
from penchant.models.priors import Prior
from penchant.models.record import as_episodes
from penchant.models.spatial.map_basis import MapPrior
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.source import IntervalKind

OF_CHOICES = {"method": "ml", "constraints": None, "covariance": "model", "max_steps": None}


@dataclass(frozen=True)
class PortionFit:
    """Fits of all subjects of a portion; picklable."""

    model: Model | None
    parameter_prior: Prior | MapPrior | None
    level: float = 0.95
    intervals: IntervalKind = "wald"
    options: Mapping[str, Any] = field(default_factory=dict)

    def estimates(self, data: Any) -> Estimates:
        """One for each subject, by one thread."""
        if self.model is None:
            prior = weights_only(self.parameter_prior)
            return fit_each_choices(data, **self.options, parameter_prior=prior, threads=1)
        return fit_each_model(
            as_episodes(data), self.model, parameter_prior=self.parameter_prior, threads=1
        )

    def __call__(self, data: Any) -> Any:
        """One row for each subject, as a pyarrow table."""
        return self.estimates(data).to_frame(self.level, "pyarrow", self.intervals)

    def one(self, data: Any, subject: Any) -> Estimate:
        """The estimate of one subject of the portion."""
        if isinstance(data, Choices):
            assert data.subject is not None and data.subject_labels is not None
            mine: Any = data.subset(data.subject == data.subject_labels.index(subject))
        else:
            mine = [one for one in data if one.subject == subject]
        return self.estimates(mine).of(subject)

    def __str__(self) -> str:
        return "Softmax" if self.model is None else str(self.model)


def portion_fit(
    data: ManyPeople,
    model: Model | None,
    parameter_prior: Prior | MapPrior | None,
    options: Mapping[str, Any],
    level: float = 0.95,
    intervals: IntervalKind = "wald",
) -> PortionFit:
    """What is done on each portion; the same for all subjects."""
    check_level(level)
    if intervals == "calibrated":
        raise DataError(
            "intervals must be 'wald' or 'profile' for a scan; got 'calibrated'. Ask for those of "
            "single subjects: found.of(subject).interval(kind='calibrated', rng=rng)."
        )
    if model is None and data.kind != "choices":
        raise DataError(
            f"model must be given with a scan of {data.kind}; got none. Pass UCL(...) or "
            "QLearning(...)."
        )
    if model is None:
        return PortionFit(None, parameter_prior, level, intervals, options)
    if dict(options) != OF_CHOICES:
        raise DataError(
            "method, constraints, covariance and max_steps must be left out with a model; got one. "
            "They are for Choices."
        )
    if data.kind == "choices" and not Declared(model).attributes:
        raise DataError(
            "data must be a scan of play or offers where a model is given; got one of choices. "
            "Name the column of rewards in scan(..., reward=), or leave the model out."
        )
    check_prior(model, parameter_prior)
    choose = Declared(model).for_rewards
    closed = model if choose is None else choose(data.rewards())
    return PortionFit(closed, parameter_prior, level, intervals)
