"""How many decisions until an interval is as narrow as wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant.bandit.locations import whole_number
from penchant.errors import DataError
from penchant.inference.fit_each import fit_each_model
from penchant.models.model import Model
from penchant.models.task_values import for_agents
from penchant.softmax.estimate import IntervalKind
from penchant.softmax.intervals import check_level
from penchant.softmax.prior import ParameterPrior
from penchant.study.design import Design, Tried, binomial_error, check_goal, check_share, searched
from penchant.study.people import drawn_people, played_by
from penchant.study.recover import recovered
from penchant.study.task import Task


def decisions_needed(
    model: Model,
    task: Task,
    parameters: Mapping[str, Any],
    *,
    parameter: str,
    width: float,
    rng: np.random.Generator,
    relative: bool = False,
    share: float = 0.5,
    n_subjects: int = 100,
    first: int = 25,
    most: int = 6400,
    level: float = 0.95,
    intervals: IntervalKind = "wald",
    parameter_prior: ParameterPrior | None = None,
    threads: int | None = None,
) -> Design:
    """How many decisions until the interval of a parameter is as narrow as wanted.

    Parameters
    ----------
    model, task, parameters
        As in `recover`; the task's number of decisions is what is looked for.
    parameter
        Natural parameter of interest.
    width
        Largest width, high - low; with `relative`, divided by the true value.
    relative
        Whether the width counts in true values.
    share
        Share of people whose interval must be so narrow. Who has no finite estimate, or an
        unbounded interval, has none.
    n_subjects
        People simulated at every number; the same ones, whose play goes on.
    first, most
        Decisions in each block to begin with, and to end with.
    level, intervals, parameter_prior, threads
        As in `recover`.
    rng
        Source of randomness.

    Examples
    --------
    The log-odds of two options, whose interval is 2 x 1.96 / sqrt(n p (1 - p)) wide:

    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.0, 0.0], pn.GaussianNoise(1.0)), n_decisions=1)
    >>> found = pn.decisions_needed(
    ...     pn.RandomChoice(2),
    ...     task,
    ...     {"bias_0": 0.0},
    ...     parameter="bias_0",
    ...     width=1.0,
    ...     n_subjects=30,
    ...     rng=np.random.default_rng(0),
    ... )
    >>> 55 < found.needed < 75  # by the formula 61.5, at p = 1/2
    True
    """
    check_level(level)
    check_goal(model, parameter, width, "width")
    check_share(share, "share")
    whole_number(first, "first", 1)
    if most < first:
        raise DataError(f"most must be at least first, {first}; got {most}. Correct it.")
    model = for_agents(model, parameters)
    people = drawn_people(model, parameters, n_subjects, rng)
    seed = rng.integers(2**63)  # the same play at every number, only longer

    def narrow(n: int) -> Tried:
        again = np.random.default_rng(seed)
        plays = played_by(people, model, task.with_decisions(n), again)
        estimates = fit_each_model(
            [episode for mine in plays for episode in mine],
            model,
            parameter_prior=parameter_prior,
            threads=threads,
        )
        every = recovered(people, model, estimates, level, intervals, again)
        found = next(p for p in every if p.name == parameter)
        widths = found.interval[:, 1] - found.interval[:, 0]
        widths = np.where(found.has_estimate & found.has_interval, widths, np.inf)
        widths = widths / np.abs(found.true) if relative else widths
        reached = float((widths <= width).mean())
        return Tried(n, reached, binomial_error(reached, n_subjects), float(np.median(widths)))

    goal = f"{100 * level:g} % interval of {parameter} at most {width:g} wide"
    goal += ", relative to its true value" if relative else ""
    return searched(narrow, first, most, share, "decisions", goal)
