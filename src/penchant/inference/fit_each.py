"""One estimate per subject, of choices or of episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Unpack, overload

from penchant._progress import progress
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.chunks import Chunks
from penchant.errors import DataError
from penchant.inference.fit import History, check_prior, fit_profiles, weights_only
from penchant.inference.profile.profiles import Problem, Profiles
from penchant.inference.status import nothing_known
from penchant.models.model import Declared, Model
from penchant.models.natural_prior import Prior
from penchant.models.record import as_described, as_episodes, data_of, for_task
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates
from penchant.softmax.fit import EachOptions
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.likelihood import available_threads
from penchant.tables.reading import Reading

# Subjects whose profiles are searched together: steps cost little more for many than for one.
FEWEST, MOST = 64, 512
NUMBERS = 3e8  # of explanatory variables on the grids of those: some seconds


@overload
def fit_each(
    data: Choices | Reading, model: None = None, **options: Unpack[EachOptions]
) -> Estimates: ...
@overload
def fit_each(
    data: Sequence[History] | Choices | Reading,
    model: Model,
    *,
    parameter_prior: Prior | None = None,
    threads: int | None = None,
) -> Estimates: ...
def fit_each(
    data: Any,
    model: Model | None = None,
    *,
    parameter_prior: Prior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Constraints | None = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    max_steps: int | None = None,
    threads: int | None = None,
) -> Estimates:
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
    `Estimates`: one for each subject, by position or by label.

    Examples
    --------
    >>> import penchant as pn
    >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
    >>> pn.fit_each(people, pn.HyperbolicDiscounting())
    <Estimates of 20 subjects: 1 at a bound, 14 converged, 4 separated, 1 weakly identified>
    """
    data = as_described(data_of(data), model)
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
    if isinstance(data, Chunks):
        raise DataError(
            "data must be in memory for one estimate per subject; got a scan. Read the files of "
            "some subjects at a time, or use fit for all subjects as one."
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
) -> Estimates:
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

        def fit_some(subjects: list[Any]) -> list[Estimate]:
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
    return Estimates.of_each(list(by_subject), [found[s] for s in by_subject])


def _at_once(model: Model, n_events: list[int], workers: int) -> int:
    """Subjects to search together: many if they are little work, and some for every worker."""
    n_points = math.prod(shape.n_grid for shape in model.shape)
    width = (Declared(model).n_options or 2) * max(len(model.weights), 1) * n_points
    largest = max(n_events, default=1) * width
    share = -(-len(n_events) // workers)
    return max(FEWEST, min(MOST, share, int(NUMBERS / largest)))
