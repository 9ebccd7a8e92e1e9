"""One estimate per subject, of choices or of episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._frames import Backend, frame
from penchant._progress import progress
from penchant.arguments import check_level
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.estimate import BySubject, ModelEstimate, joint_intervals
from penchant.inference.fit import check_prior, fit_profiles
from penchant.inference.predict import as_episodes, weights_only
from penchant.inference.profile.problem import Problem
from penchant.inference.profile.profiles import Profiles
from penchant.inference.status import nothing_known
from penchant.models.model import Declared, Model
from penchant.models.natural_prior import Prior
from penchant.models.task_values import for_task
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate import IntervalKind
from penchant.softmax.fit_each import fit_each as fit_each_choices
from penchant.softmax.likelihood import available_threads
from penchant.softmax.transformations import Parameter
from penchant.tables.reading import Reading, data_of

# Subjects whose profiles are searched together: steps cost little more for many than for one.
FEWEST, MOST = 64, 512
NUMBERS = 3e8  # of explanatory variables on the grids of those: some seconds


@dataclass(frozen=True, eq=False, repr=False)
class ModelEstimates(BySubject[ModelEstimate]):
    """One estimate per subject: by position, through `of(subject)`, or all in `to_frame()`."""

    def parameters_at(
        self,
        level: float = 0.95,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> list[tuple[Parameter, ...]]:
        """Natural parameters of each subject, with intervals at this level.

        "calibrated" ones need an rng; those of a subject do not depend on who else is fitted.
        """
        check_level(level)
        ends = joint_intervals(self.estimates, level, kind, rng)
        return [e.parameters_within(mine) for e, mine in zip(self.estimates, ends, strict=True)]

    def to_frame(
        self,
        level: float = 0.95,
        backend: Backend | None = None,
        kind: IntervalKind = "wald",
        rng: np.random.Generator | None = None,
    ) -> Any:
        """One row per subject: status, natural parameters, errors, intervals."""
        columns: dict[str, list[Any]] = {
            "subject": list(self.subjects),
            "status": list(self.status),
            "n_decisions": [e.n_decisions for e in self.estimates],
            "log_likelihood": [e.log_likelihood for e in self.estimates],
        }
        found = self.parameters_at(level, kind, rng)
        for j, natural in enumerate(self.estimates[0].natural):
            columns[natural.name] = [p[j].estimate for p in found]
            columns[f"{natural.name}_standard_error"] = [p[j].standard_error for p in found]
            columns[f"{natural.name}_low"] = [p[j].low for p in found]
            columns[f"{natural.name}_high"] = [p[j].high for p in found]
        columns["intervals"] = [kind] * len(self)
        columns["message"] = list(self.messages)
        return frame(columns, backend)

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        return f"<ModelEstimates of {len(self)} subjects: {said}>"


def fit_each(
    data: Choices | Sequence[Episode] | Reading,
    model: Model | None = None,
    *,
    parameter_prior: Prior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Constraints | None = None,
    covariance: Literal["model", "robust"] = "model",
    max_steps: int | None = None,
    threads: int | None = None,
) -> Any:
    """Fit every subject by itself: the numbers of `fit`, for many in one call, with progress.

    A subject whose choices do not allow an estimate has a status that says so; it never stops the
    others. Episodes of the same subject share their parameters, and all subjects what a model
    chooses by the rewards, such as an initial value that is left out.

    Parameters
    ----------
    data
        `Choices` with a subject, or a list of `Episode` or of `Offers`, of many subjects; or what
        `read` returns.
    model, parameter_prior, method, constraints, covariance, max_steps
        As in `fit`.
    threads
        Processors to use; all, if not given. The answer does not depend on it.

    Returns
    -------
    `Estimates` for choices, `ModelEstimates` for episodes.

    Examples
    --------
    >>> import penchant as pn
    >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
    >>> pn.fit_each(people, pn.HyperbolicDiscounting())
    <ModelEstimates of 20 subjects: 1 at a bound, 14 converged, 4 separated, 1 weakly identified>
    """
    data = data_of(data)
    if isinstance(data, Choices):
        return fit_each_choices(
            data,
            parameter_prior=weights_only(parameter_prior),
            method=method,
            constraints=constraints,
            covariance=covariance,
            max_steps=max_steps,
            threads=threads,
        )
    if model is None:
        raise DataError(
            "model must be given with episodes; got none. Pass UCL(...) or QLearning(...)."
        )
    return fit_each_model(
        as_episodes(data), model, parameter_prior=parameter_prior, threads=threads
    )


def fit_each_model(
    episodes: Sequence[Episode],
    model: Model,
    *,
    parameter_prior: Prior | None = None,
    threads: int | None = None,
) -> ModelEstimates:
    """Fit the episodes of every subject."""
    model = for_task(model, episodes)
    check_prior(model, parameter_prior)
    by_subject: dict[Any, list[Episode]] = {}
    for episode in episodes:
        by_subject.setdefault(episode.subject, []).append(episode)
    told = [s for s, mine in by_subject.items() if any(e.n_decisions for e in mine)]
    workers = available_threads() if threads is None else threads
    at_once = _at_once(model, [sum(e.n_events for e in by_subject[s]) for s in told], workers)
    portions = [told[i : i + at_once] for i in range(0, len(told), at_once)]
    with progress("Fitting subjects", len(told)) as advance:

        def fit_some(subjects: list[Any]) -> list[ModelEstimate]:
            groups = tuple(tuple(by_subject[s]) for s in subjects)
            found = fit_profiles(Profiles(model, groups, parameter_prior), subjects)
            advance(len(subjects))
            return found

        if workers == 1:
            parts = [fit_some(subjects) for subjects in portions]
        else:
            with ThreadPoolExecutor(workers) as pool:
                parts = list(pool.map(fit_some, portions))
    found = dict(zip(told, (one for part in parts for one in part), strict=True))
    for subject, mine in by_subject.items():
        if subject not in found:
            problem = Problem(model, tuple(mine), parameter_prior)
            found[subject] = nothing_known(problem, subject)
    return ModelEstimates(tuple(by_subject), tuple(found[s] for s in by_subject))


def _at_once(model: Model, n_events: list[int], workers: int) -> int:
    """Subjects to search together: many if they are little work, and some for every worker."""
    n_points = math.prod(shape.n_grid for shape in model.shape)
    width = (Declared(model).n_options or 2) * len(model.weights) * n_points
    largest = max(n_events, default=1) * width
    share = -(-len(n_events) // workers)
    return max(FEWEST, min(MOST, share, int(NUMBERS / largest)))
