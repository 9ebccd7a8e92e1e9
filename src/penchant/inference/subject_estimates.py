"""Estimates of many subjects, made from the diagnoses of their optima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant._typing import Label
from penchant.inference.fit_status import Diagnosis, diagnose
from penchant.inference.identifiability import few_decisions_note
from penchant.inference.model_estimate import ModelSource
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.grid_search import ProfileGrid, ProfileGrids
from penchant.inference.search.local_maxima import Optima
from penchant.models.setting_warnings import doubts_of
from penchant.result_tables import pooled_notes
from penchant.softmax.estimate import Estimate


def estimates_at(
    profiles: ProfileProblems, grids: ProfileGrids | None, optima: Optima, subjects: Sequence[Label]
) -> list[Estimate]:
    """Estimates of all subjects at their optima; without grids profiles are computed on demand."""
    optima, diagnoses = diagnose(profiles, grids, optima)
    return [
        make_estimate(profiles, k, grids, optima[k], diagnosis, subject)
        for k, (diagnosis, subject) in enumerate(zip(diagnoses, subjects, strict=True))
    ]


def make_estimate(
    profiles: ProfileProblems,
    k: int,
    grids: ProfileGrids | None,
    optimum: Optima,
    diagnosis: Diagnosis,
    subject: Label,
) -> Estimate:
    """Build the estimate of subject k from its diagnosis."""
    episodes, n_decisions = profiles.groups[k], int(profiles.n_decisions[k])
    copies = float(profiles.log_likelihood_copy_correction[k])
    whose = {episode.subject for episode in episodes}
    n_subjects = len(whose)  # episodes without a subject share None, and count as one person
    if subject is None and n_subjects == 1:
        (subject,) = whose
    grid = None if grids is None else grids[k]
    return _estimate_from_diagnosis(
        ModelSource(profiles.model, episodes, grid, optimum, profiles.prior),
        diagnosis,
        n_decisions,
        log_likelihood=diagnosis.log_likelihood + copies,
        null_log_likelihood=copies - n_decisions * math.log(profiles.n_options),
        log_posterior=None if profiles.prior is None else float(optimum.points.value[0]) + copies,
        n_options=_smallest_and_largest_set_size(profiles, k),
        subject=subject,
        notes=(*pooled_notes(n_subjects), *_notes(profiles, episodes, n_decisions)),
        n_subjects=n_subjects,
    )


def _smallest_and_largest_set_size(profiles: ProfileProblems, k: int) -> tuple[int, int]:
    """Smallest and largest number of options that subject k could choose from."""
    if profiles.record.choice_sets is None:
        return profiles.n_options, profiles.n_options
    scored = profiles.record.n_copies[slice(*profiles.first_event[k : k + 2])]
    return profiles.n_options // int(scored.max()), profiles.n_options // int(scored.min())


def _estimate_from_diagnosis(
    source: ModelSource, diagnosis: Diagnosis, n_decisions: int, **others: Any
) -> Estimate:
    model, prior = source.model, source.prior
    return Estimate(
        status=diagnosis.status,
        message=diagnosis.message,
        names=(*model.weights, *(shape.name for shape in model.shape)),
        theta=diagnosis.theta,
        covariance=diagnosis.covariance,
        inverse_information=diagnosis.covariance,
        diagnostics=diagnosis.checks,
        n_decisions=n_decisions,
        total_weight=float(n_decisions),
        source=source,
        method="maximum likelihood" if prior is None else "MAP",
        prior=None if prior is None else str(prior),
        **others,
    )


def estimate_without_data(profiles: ProfileProblems, subject: Label = None) -> Estimate:
    """Estimate before any decision."""
    optimum = Optima.unsolved_optima(profiles, 1)
    d, n = profiles.n_weights, profiles.n_shape
    nothing = np.zeros(0, dtype=bool)
    grid = ProfileGrid(np.zeros((0, n)), np.zeros(0), np.zeros((0, d)), (0,) * n, nothing)
    source = ModelSource(profiles.model, profiles.episodes, grid, optimum, profiles.prior)
    return _estimate_from_diagnosis(
        source,
        Diagnosis.without_data(d + n),
        0,
        log_likelihood=0.0,
        null_log_likelihood=0.0,
        log_posterior=None,
        n_options=(0, 0),
        subject=subject,
    )


def _notes(profiles: ProfileProblems, episodes: Sequence[Any], n_decisions: int) -> tuple[str, ...]:
    of_data = dict.fromkeys(note for e in episodes for note in e.notes)
    few = few_decisions_note(n_decisions, profiles.n_weights + profiles.n_shape)
    return (*of_data, *doubts_of(profiles.model, episodes), *few)
