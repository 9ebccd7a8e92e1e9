"""Decisions predicted by fits that did not see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Labels, Matrix, Vector
from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit_each import ModelEstimates, fit_each_model
from penchant.models.model import Model
from penchant.softmax.prior import ParameterPrior
from penchant.study.folds import Split


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log-probabilities of decisions by fits that did not see them.

    Attributes
    ----------
    log_likelihoods
        {model: one per decision}, -inf where a fold has no finite estimate.
    subjects, blocks, events, folds
        Whose decision it is, in which block, which event of it, from 0, and in which fold.
    without
        {model: number of folds without a finite estimate}.
    words
        How the folds were made, and with which prior.
    """

    log_likelihoods: Mapping[str, Vector]
    subjects: Labels
    blocks: Labels
    events: IntVector
    folds: Labels
    without: Mapping[str, int]
    words: str

    def totals(self, subjects: tuple[Any, ...]) -> Matrix:
        """Sums over the decisions of each subject: (n_subjects, n_models)."""
        place = {subject: i for i, subject in enumerate(subjects)}
        owner = np.array([place[subject] for subject in self.subjects.tolist()], dtype=np.int64)
        return np.column_stack(
            [
                np.array([values[owner == i].sum() for i in range(len(subjects))])
                for values in self.log_likelihoods.values()
            ]
        )


def held_out(
    models: Mapping[str, Model],
    episodes: Sequence[Any],
    cut: Sequence[Split],
    parameter_prior: ParameterPrior | None,
    average: bool,
    threads: int | None,
    words: str,
) -> HeldOut:
    """Log-probability of every decision by fits that did not see it."""
    subjects = list(dict.fromkeys(episode.subject for episode in episodes))
    ordered = [e for subject in subjects for e in episodes if e.subject == subject]
    counts = {s: sum(e.n_decisions for e in ordered if e.subject == s) for s in subjects}
    starts = dict(zip(subjects, np.cumsum([0, *counts.values()])[:-1].tolist(), strict=True))
    n = sum(counts.values())
    folds = np.empty(n, dtype=object)
    for split in cut:
        for place in split.places:
            folds[starts[split.subject] + place] = split.fold
    training = [episode for split in cut for episode in split.training]
    log_likelihoods, without = {}, {}
    for name, model in models.items():
        estimates = fit_each_model(
            training, model, parameter_prior=parameter_prior, threads=threads
        )
        values, lost = np.full(n, -np.inf), 0
        for split, estimate in zip(cut, _in_order(estimates, cut), strict=True):
            if np.isfinite(estimate.theta).all():
                places = starts[split.subject] + split.places
                values[places] = _predicted(estimate, split.held_out, average)
            else:
                lost += 1
        log_likelihoods[name], without[name] = values, lost
    return HeldOut(
        log_likelihoods,
        _labels([e.subject for e in ordered for _ in range(e.n_decisions)]),
        _labels([e.block for e in ordered for _ in range(e.n_decisions)]),
        np.concatenate([np.flatnonzero(e.scored) for e in ordered]),
        folds,
        without,
        words,
    )


def _in_order(estimates: ModelEstimates, cut: Sequence[Split]) -> list[ModelEstimate]:
    place = {label: k for k, label in enumerate(estimates.subjects)}
    return [estimates[place[(split.subject, split.fold)]] for split in cut]


def _predicted(estimate: ModelEstimate, episodes: tuple[Any, ...], average: bool) -> Vector:
    if not average:
        return estimate.log_likelihoods(episodes)
    p = estimate.predict(episodes, average=True)
    chosen = np.concatenate([episode.scored_options for episode in episodes])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p[np.arange(len(chosen)), chosen]))


def _labels(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
