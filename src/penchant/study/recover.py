"""Does a fit give back what went in: simulate people, fit them, compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant.inference.fit_each import ModelEstimates, fit_each_model
from penchant.models.model import Model, natural_parameters
from penchant.models.task_values import for_agents
from penchant.softmax.estimate import IntervalKind
from penchant.softmax.intervals import check_level
from penchant.softmax.prior import ParameterPrior
from penchant.study.people import People, drawn_people, is_positive, played_by
from penchant.study.recovered_parameter import USABLE, RecoveredParameter
from penchant.study.recovery import Recovery
from penchant.study.task import Task


def recover(
    model: Model,
    task: Task,
    parameters: Mapping[str, Any],
    *,
    n_subjects: int,
    rng: np.random.Generator,
    parameter_prior: ParameterPrior | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "wald",
    threads: int | None = None,
) -> Recovery:
    """Simulate people with known parameters in a task, fit them, and say what came back.

    Parameters
    ----------
    model
        How people decide.
    task
        What they do, and for how many decisions.
    parameters
        For each natural parameter a number, a range (low, high), a distribution of scipy.stats, or
        an array with one value per person. A range of a positive parameter, such as a temperature,
        is drawn from uniformly on the logarithm.
    n_subjects
        How many people.
    rng
        Source of randomness; the same gives the same result, whatever the threads.
    parameter_prior, threads
        As in `fit_each`.
    level, intervals
        Of the intervals whose coverage is counted: "wald"; "profile", which takes longer; or
        "calibrated", which takes longer still.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=150)
    >>> ranges = {"temperature": (0.1, 0.4), "learning_rate": (0.1, 0.8)}
    >>> found = pn.recover(
    ...     pn.QLearning(2), task, ranges, n_subjects=60, rng=np.random.default_rng(2)
    ... )
    >>> found.counts()["separated"]  # people so consistent that no temperature is most likely
    4
    >>> round(found.of("temperature").share_without, 2)
    0.07
    >>> found.of("learning_rate").correlation > 0.3
    True
    """
    check_level(level)
    model = for_agents(model, parameters)
    people = drawn_people(model, parameters, n_subjects, rng)
    plays = played_by(people, model, task, rng)
    episodes = [episode for mine in plays for episode in mine]
    estimates = fit_each_model(episodes, model, parameter_prior=parameter_prior, threads=threads)
    found = recovered(people, model, estimates, level, intervals, rng)
    return Recovery(model, task, found, level, intervals)


def recovered(
    people: People,
    model: Model,
    estimates: ModelEstimates,
    level: float,
    intervals: IntervalKind,
    rng: np.random.Generator | None = None,
) -> tuple[RecoveredParameter, ...]:
    """True values beside estimates, for every natural parameter that people were given."""
    found = estimates.parameters_at(level, intervals, rng)
    usable = np.array([status in USABLE for status in estimates.status])
    # What separated choices are consistent with is no interval of this level.
    told = np.array([intervals == "profile" or s != "separated" for s in estimates.status])
    parameters = []
    for j, natural in enumerate(natural_parameters(model)):
        if natural.name not in people:
            continue
        values = np.array([person[j].estimate for person in found])
        positive = is_positive(model, natural)
        sensible = usable & np.isfinite(values) & ((values > 0) | (not positive))
        parameters.append(
            RecoveredParameter(
                natural.name,
                people[natural.name],
                np.where(sensible, values, np.nan),
                np.where(
                    told[:, None], [[person[j].low, person[j].high] for person in found], np.nan
                ),
                estimates.status,
                positive,
            )
        )
    return tuple(parameters)
