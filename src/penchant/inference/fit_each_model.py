"""One estimate of a model for each subject: their profiles are searched together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penchant.bandit.episode import Episode
from penchant.inference.fit import check_prior, fit_model, fit_profiles
from penchant.inference.profile.profiles import Problem, Profiles
from penchant.inference.status import nothing_known
from penchant.models.model import Declared, Model
from penchant.models.priors import Prior
from penchant.models.record import for_task
from penchant.models.spatial.map_basis import MapPrior
from penchant.output import progress
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates
from penchant.softmax.likelihood import available_threads
from penchant.softmax.prior import ScaledPrior

# Subjects whose profiles are searched together: steps cost little more for many than for one.
FEWEST, MOST = 64, 512
NUMBERS = 3e8  # of explanatory variables on the grids of those: some seconds


def fit_each_model(
    episodes: Sequence[Episode],
    model: Model,
    *,
    parameter_prior: Prior | MapPrior | None = None,
    threads: int | None = None,
) -> Estimates:
    """Fit the episodes of every subject."""
    model = for_task(model, episodes)
    by_subject: dict[Any, list[Episode]] = {}
    for episode in episodes:
        by_subject.setdefault(episode.subject, []).append(episode)
    told = [s for s, mine in by_subject.items() if any(e.n_decisions for e in mine)]
    workers = available_threads() if threads is None else threads
    if isinstance(parameter_prior, MapPrior):
        return _with_maps(by_subject, told, model, parameter_prior, workers)
    check_prior(model, parameter_prior)
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


def _with_maps(
    by_subject: dict[Any, list[Episode]],
    told: list[Any],
    model: Model,
    prior: MapPrior,
    workers: int,
) -> Estimates:
    """Everybody's map by itself: each has a width of its own."""
    with progress("Fitting subjects", len(told)) as advance:

        def fit_one(subject: Any) -> Estimate:
            mine = by_subject[subject]
            found = fit_model(mine, model, parameter_prior=prior, subject=subject)
            advance(1)
            return found

        if workers == 1:
            fits = [fit_one(subject) for subject in told]
        else:
            with ThreadPoolExecutor(workers) as pool:
                fits = list(pool.map(fit_one, told))
    found = dict(zip(told, fits, strict=True))
    for subject, mine in by_subject.items():
        if subject not in found:
            problem = Problem(model, tuple(mine), ScaledPrior(prior.others))
            found[subject] = nothing_known(problem, subject)
    return Estimates.of_each(list(by_subject), [found[s] for s in by_subject])


def _at_once(model: Model, n_events: list[int], workers: int) -> int:
    """Subjects to search together: many if they are little work, and some for every worker."""
    n_points = math.prod(shape.n_grid for shape in model.shape)
    width = (Declared(model).n_options or 2) * max(len(model.weights), 1) * n_points
    largest = max(n_events, default=1) * width
    share = -(-len(n_events) // workers)
    return max(FEWEST, min(MOST, share, int(NUMBERS / largest)))
