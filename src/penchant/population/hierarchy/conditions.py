"""The same subjects under several conditions: a level and differences, with one covariance.

A parameter that varies has a coordinate for its mean over conditions, and one for each condition
but the first: how far it lies from that mean, coded by sums. People differ in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.errors import DataError, listing, nearest
from penchant.inference.profile.profiles import Profiles
from penchant.models.coordinates import Coordinate, Coordinates
from penchant.models.links import Link
from penchant.models.model import Model
from penchant.models.natural import Natural
from penchant.population.hierarchy.likelihoods import Conditions, Players

MOST = 6


@dataclass(frozen=True, eq=False)
class Within:
    """Conditions of a fit.

    Attributes
    ----------
    name, labels
        What the conditions are of, and what they are called.
    base
        Coordinates in one condition.
    maps
        (n_conditions, p of the base, p): from coordinates of a subject to those in a condition.
    """

    name: str
    labels: tuple[Any, ...]
    base: Coordinates
    maps: Matrix

    def index(self, label: Any) -> int:
        """Where a condition stands."""
        known = [str(one) for one in self.labels]
        if str(label) not in known:
            raise DataError(
                f"{self.name} must be one of {', '.join(known)}; got {label!r}."
                f"{nearest(str(label), known) or ' Correct it.'}"
            )
        return known.index(str(label))


def stacked(
    episodes: Sequence[Any],
    model: Model,
    base: Coordinates,
    within: Any,
    varying: Sequence[str] | None,
    threads: int,
) -> tuple[Conditions, Within]:
    """Subjects whose coordinates are those of all conditions."""
    name, per_episode = _labels(episodes, within)
    labels = tuple(sorted(dict.fromkeys(per_episode), key=str))
    if not 2 <= len(labels) <= MOST:
        raise DataError(
            f"within must tell 2 to {MOST} conditions apart; got {len(labels)}: "
            f"{listing(map(str, labels))}. Give {{'{name}': labels}}, a label per episode."
        )
    chosen = _varying(varying, base.names)
    coordinates, maps = _stack(base, name, labels, chosen)
    units: dict[tuple[Any, Any], list[Any]] = {}
    for episode, label in zip(episodes, per_episode, strict=True):
        units.setdefault((episode.subject, label), []).append(episode)
    told = {key: mine for key, mine in units.items() if any(e.n_decisions for e in mine)}
    subjects = tuple(dict.fromkeys(episode.subject for episode in episodes))
    place = {key: a for a, key in enumerate(told)}
    unit: IntVector = np.array(
        [[place.get((s, label), -1) for label in labels] for s in subjects], dtype=np.int64
    )
    seen = (unit >= 0).sum(axis=0)
    if (seen < 2).any():
        rare = str(labels[int(np.argmin(seen))])
        raise DataError(
            f"within must have at least two subjects in every condition; got {seen.min()} in "
            f"{rare}. Leave it out."
        )
    if not ((unit >= 0).sum(axis=1) > 1).any():
        raise DataError(
            f"within must be conditions that subjects have in common; got one {name} for each "
            "subject. Use covariates for differences between people."
        )
    profiles = Profiles(model, tuple(tuple(mine) for mine in told.values()))
    players = Players(profiles, base, tuple(told), threads)
    everyone = Conditions(players, unit, maps, coordinates, subjects)
    return everyone, Within(name, labels, base, maps)


def _labels(episodes: Sequence[Any], within: Any) -> tuple[str, list[Any]]:
    """What the conditions are of, and the label of every episode."""
    if isinstance(within, Mapping):
        if len(within) != 1:
            raise DataError(
                f"within must be one name with its labels; got {len(within)}. Join them to one."
            )
        ((name, given),) = within.items()
        labels = list(given)
        if len(labels) != len(episodes):
            raise DataError(
                f"within must have a label per episode ({len(episodes)}); got {len(labels)}. "
                "Match them."
            )
        return str(name), labels
    if not isinstance(within, str):
        raise DataError(
            f"within must be a name, or a name with labels; got {within!r}. Write 'block', or "
            "{'drug': labels}."
        )
    labels = [getattr(e, within, None) if hasattr(e, within) else e.block for e in episodes]
    if any(label is None for label in labels):
        raise DataError(
            f"within must be known of every episode; got {within!r}, but an episode has no block. "
            f"Give Episode(..., block=...), or {{'{within}': labels}}."
        )
    return within, labels


def _varying(varying: Sequence[str] | None, names: Sequence[str]) -> list[bool]:
    if varying is None:
        return [True] * len(names)
    asked = [varying] if isinstance(varying, str) else list(varying)
    for name in asked:
        if name not in names:
            raise DataError(
                f"varying must name parameters; got {name!r}, but they are {', '.join(names)}."
                f"{nearest(str(name), names) or ' Correct it.'}"
            )
    return [name in asked for name in names]


def _stack(
    base: Coordinates, name: str, labels: Sequence[Any], chosen: list[bool]
) -> tuple[Coordinates, Matrix]:
    """Coordinates of a subject, those of shape first, and their maps to conditions."""
    codes = np.vstack([-np.ones(len(labels) - 1), np.eye(len(labels) - 1)])
    found: list[tuple[Coordinate, int, Matrix]] = []
    for a, c in enumerate(base.each):
        found.append((c, a, np.ones(len(labels))))
        if not chosen[a]:
            continue
        kind = "shape" if c.is_shape else "weight"
        for b, label in enumerate(labels[1:]):
            natural = Natural(f"{c.name}:{name}[{label}]", kind, c.natural.index)  # type: ignore[arg-type]
            found.append((Coordinate(natural, Link("identity")), a, codes[:, b]))
    found.sort(key=lambda one: not one[0].is_shape)
    maps = np.zeros((len(labels), len(base), len(found)))
    for j, (_, a, weights) in enumerate(found):
        maps[:, a, j] = weights
    whole = Coordinates(tuple(one[0] for one in found), base.shape, base.n_weights)
    return whole, maps
