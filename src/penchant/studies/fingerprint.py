"""What makes two studies the same: the data, the landscapes and the settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._version import __version__
from penchant.bandit.episode import Episode
from penchant.models.model import Declared
from penchant.studies.data import StudyData
from penchant.studies.landscapes import Landscapes
from penchant.studies.plan import Plan


def fingerprint(data: StudyData, landscapes: Landscapes, plan: Plan) -> dict[str, Any]:
    """What must not change between the parts of a study: hashes of what is large, settings."""
    places = Declared(plan.model).locations
    return {
        "penchant": __version__,
        "data": _data(data),
        "landscapes": _hash(landscapes.means, landscapes.best, landscapes.of_episode),
        "locations": _hash(np.empty(0) if places is None else places),
        **plan.document(),
    }


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, in words.

    >>> changed({"data": "a1", "seed": 3}, {"data": "b2", "seed": 4})
    ['other data', 'seed 4, was 3']
    """
    found = []
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        if key in ("data", "landscapes", "locations"):
            found.append(f"other {key}")
        else:
            found.append(f"{key} {_said(new)}, was {_said(old)}")
    return found


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {v}" for k, v in value.items()) or "none"
    return "none" if value is None else str(value)


def _data(data: StudyData) -> str:
    digest = hashlib.sha256()
    places = data.landscapes or ((),) * len(data.episodes)
    for episode, place in zip(data.episodes, places, strict=True):
        label = repr((episode.subject, episode.block, place, data.condition(episode.subject)))
        digest.update(label.encode())
        for values in _arrays(episode):
            digest.update(np.ascontiguousarray(values).tobytes())
    if data.payoffs is not None:
        digest.update(repr((data.payoffs.kind, data.payoffs.noise_variance)).encode())
        for values in data.payoffs.values:
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def _arrays(episode: Any) -> tuple[Any, ...]:
    if isinstance(episode, Episode):
        happened = (episode.chosen, episode.rewards, episode.is_choice, episode.scored)
        apart = episode.learnt_from is not episode
        return (*happened, *((episode.executed,) if apart else ()), *episode.seen.arrays)
    return (episode.chosen, episode.scored, *(episode.offers[name] for name in episode.offers))


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
