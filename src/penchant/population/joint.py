"""The joint likelihood of all subjects, with shared parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference import ModelEstimate, fit
from penchant.models.model import Model
from penchant.population.estimate import PopulationEstimate
from penchant.population.subjects import Scale, numbers_of


def pool_jointly(
    data: Choices | Sequence[Episode], model: Model | None = None, *, scale: Scale = "theta"
) -> PopulationEstimate:
    """The estimate that all subjects share: `fit` of all their decisions.

    The exact fixed effect. Subjects whose own maximum does not exist count like all others.

    Parameters
    ----------
    data
        `Choices` with subjects, or episodes.
    model
        For episodes.
    scale
        "theta" or "natural".

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(0)
    >>> sets = pn.Choices.from_arrays(
    ...     rng.normal(size=(600, 4, 1)), None, names=["gain"], subject=["ann", "bob"] * 300
    ... )
    >>> pn.pool_jointly(pn.simulate_choices(sets, [1.0], rng=rng))
    <PopulationEstimate joint of 2 subjects: gain=0.93583>
    """
    found = fit(data) if isinstance(data, Choices) else fit(data, model)
    return _population(found, _subjects(data), scale)


def pooled_episodes(estimates: Any, scale: Scale) -> PopulationEstimate:
    """The joint fit of the episodes that estimates were made from."""
    fits = list(estimates) if hasattr(estimates, "__iter__") else [estimates]
    if not fits or not all(isinstance(f, ModelEstimate) and f.episodes for f in fits):
        raise DataError(
            "estimates must be of episodes, and hold them, for rule 'joint'; got others. "
            "Use pool_jointly(data, model)."
        )
    if any(f.model != fits[0].model for f in fits[1:]):
        raise DataError(
            "estimates must be of the same model for rule 'joint'; got several. "
            "Use pool_jointly(episodes, model)."
        )
    episodes = [episode for f in fits for episode in f.episodes]
    return pool_jointly(episodes, fits[0].model, scale=scale)


def _subjects(data: Choices | Sequence[Episode]) -> tuple[Any, ...]:
    if isinstance(data, Choices):
        return tuple(data.subject_labels or ())
    episodes = (data,) if isinstance(data, Episode) else data
    return tuple(dict.fromkeys(episode.subject for episode in episodes))


def _population(found: Any, subjects: tuple[Any, ...], scale: Scale) -> PopulationEstimate:
    names, values, covariance = numbers_of(found, scale)
    fine = found.status == "converged"
    return PopulationEstimate(
        names=names,
        estimate=np.array(values),
        covariance=np.array(covariance),
        rule="joint",
        n_subjects=max(len(subjects), 1),
        subjects=subjects,
        status="estimated" if fine else found.status,
        message="" if fine else found.message,
        scale=scale,
        log_likelihood=found.log_likelihood,
    )
