"""Probabilities of options under a population and what is known of its people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.inference.predict import probabilities
from penchant.models.record import as_episodes
from penchant.population.hierarchy.rules import EACH, Rule
from penchant.softmax.probabilities import log_probabilities

SEEN = 1e-5  # posterior probability below which a node is passed over


def predicted(fit: Any, data: Any, average: bool) -> Matrix:
    """Probabilities of every option at every decision, in the order of the data."""
    source = fit.source
    if source.conditions is not None:
        raise DataError(
            "predict must be of a population without conditions; got one with "
            f"{source.conditions.name}. Fit the conditions apart, or take prior_for(...)."
        )
    if isinstance(data, Choices):
        return _of_choices(source, data, average)
    parts = [_of_episode(source, episode, average) for episode in as_episodes(data)]
    return np.concatenate(parts)


def _of_episode(source: Any, episode: Any, average: bool) -> Matrix:
    places, share = _known(source, episode.subject, average)
    q = source.people.coordinates.n_shape
    psi, _ = source.people.coordinates.psi(places)
    theta = source.people.coordinates.theta(places[:, q:])
    found: Any = 0.0
    for p, own, at in zip(share, theta, psi, strict=True):
        found = found + p * probabilities(source.model, (episode,), own, at)
    return np.asarray(found)


def _of_choices(source: Any, data: Choices, average: bool) -> Matrix:
    """One row per row of the choices: their sets may differ in size."""
    coordinates = source.people.coordinates
    if tuple(data.names) != coordinates.names:
        raise DataError(
            f"data must have the variables {', '.join(coordinates.names)}; got "
            f"{', '.join(data.names)}. Give the same."
        )
    labels: Sequence[Any] = data.subject_labels or (None,)
    codes = np.zeros(data.n_decisions, dtype=np.int64) if data.subject is None else data.subject
    found = np.zeros(len(data.explanatory))
    whose = np.repeat(codes, np.diff(data.first_row))
    whole = replace(data, chosen=np.zeros_like(data.chosen)) if not data.observed else data
    for code, label in enumerate(labels):
        places, share = _known(source, label, average)
        theta = coordinates.theta(places)
        mine = whose == code
        own = sum(
            p * np.exp(log_probabilities(t, whole)) for p, t in zip(share, theta, strict=True)
        )
        found[mine] = np.asarray(own)[mine]
    sizes = np.diff(data.first_row)
    return found.reshape(len(sizes), -1) if sizes.min() == sizes.max() else found


def _known(source: Any, label: Any, average: bool) -> tuple[Matrix, Vector]:
    """Coordinates (J, p) where a person may be, and how probable each is."""
    found = source.about
    s = found.marginal.structure
    labels = list(source.people.subjects)
    one = np.ones(1)
    if label in labels:
        i = labels.index(label)
        mean = s.means(found.x[: s.n_beta])[i]
        share = found.known.share[i]
        own = found.marginal.nodes.places[i]
        if not average:
            mean[s.random] = share @ own
            return mean[None], one
        kept = share > SEEN
        places = np.repeat(mean[None], int(kept.sum()), axis=0)
        places[:, s.random] = own[kept]
        return places, share[kept] / share[kept].sum()
    mean = source.design.of_person({}) @ found.x[: s.n_beta]
    if not average:
        return mean[None], one
    matrix = s.spread.matrices(found.x[s.n_beta :]).mean(axis=0)
    r = len(s.random)
    q = int((s.random < source.people.coordinates.n_shape).sum())
    rule = Rule.of(q, r - q, EACH.get(r, 5))
    if rule.drawn:
        z = np.random.default_rng(0).standard_normal((512, r))
        weights = np.full(len(z), 1 / len(z))
    else:
        z = rule.z.reshape(-1, r)
        weights = np.exp(rule.log_weights.ravel() - 0.5 * (z**2).sum(axis=1))
        weights /= weights.sum()
    places = np.repeat(mean[None], len(z), axis=0)
    places[:, s.random] += z @ np.linalg.cholesky(matrix).T
    return places, weights
