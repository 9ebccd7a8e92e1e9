"""The experiment of Section VII: its interface and its two landscapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.landscape import Landscape, landscape_a, landscape_b
from penchant.bandit.locations import grid
from penchant.study.paper.claims import Claim, Part
from penchant.study.paper.published import GRID

CURSOR, SELECTED = 44, 25  # options under the red and the blue dot of the drawn interface


@dataclass(frozen=True, eq=False)
class Experiment:
    """The grid of options and the mean rewards of both landscapes.

    Attributes
    ----------
    locations
        Where the options are: (n_options, 2).
    rewards
        Mean reward of every option of landscapes A and B.
    """

    locations: Matrix
    rewards: dict[str, Vector]
    claims: tuple[Claim, ...]
    name: str = "landscapes"
    title: str = "Section VII: the interface and the landscapes"

    @property
    def settings(self) -> dict[str, object]:
        """What was computed."""
        return {"grid": list(GRID), "landscapes": "reconstructed from the description"}

    def tables(self) -> dict[str, dict[str, list[float]]]:
        """Mean rewards of all options."""
        return {
            "landscapes": {
                "x": self.locations[:, 0].tolist(),
                "y": self.locations[:, 1].tolist(),
                "mean_reward_a": self.rewards["A"].tolist(),
                "mean_reward_b": self.rewards["B"].tolist(),
            }
        }


def experiment() -> Experiment:
    """Grid and landscapes, made after the paper's description.

    Examples
    --------
    >>> from penchant.study.paper.experiment import experiment
    >>> {claim.verdict for claim in experiment().claims}
    {'cannot be told from the paper'}
    """
    places = {"A": landscape_a(*GRID), "B": landscape_b(*GRID)}
    rewards = {name: place.mean_rewards for name, place in places.items()}
    claims = tuple(_described(name, place) for name, place in places.items())
    return Experiment(grid(*GRID), rewards, claims)


def maxima(profile: Vector) -> list[int]:
    """Places of the local maxima of a profile, counted from 1.

    >>> maxima(np.array([5.0, 2.0, 3.0, 1.0, 4.0]))
    [1, 3, 5]
    """
    walled = np.concatenate([[-np.inf], profile, [-np.inf]])
    higher = (walled[1:-1] > walled[:-2]) & (walled[1:-1] > walled[2:])
    return [int(i) + 1 for i in np.flatnonzero(higher)]


def _described(name: str, place: Landscape) -> Claim:
    rows = place.mean_rewards.reshape(GRID[1], GRID[0])
    found, best = maxima(rows[0]), int(rows[0].argmax()) + 1
    said = {"A": ([6], 6), "B": ([1, 10], 10)}[name]
    shape = (
        "is concave, with one maximum at x = 6"
        if name == "A"
        else ("has two local maxima, at x = 1 and 10, of which 10 is the global one")
    )
    parts: dict[str, Part] = {
        "flat along y": bool((rows == rows[0]).all()),
        "maxima where stated": found == said[0],
        "global maximum where stated": best == said[1],
    }
    if name == "A":
        parts["concave"] = bool((np.diff(rows[0], 2) <= 1e-12).all())
    return Claim(
        "Section VII.A",
        f"Landscape {name} is flat along one dimension; along the other it {shape}.",
        parts,
        "The pictures hold no numbers. The landscape used here was made after these words (maxima "
        "at x = "
        + ", ".join(map(str, found))
        + f", mean rewards {rows.min():g} to {rows.max():g}), so that it meets them says nothing "
        "of the paper's.",
        {"maxima": found, "profile": rows[0].tolist()},
        untold="the mean rewards of its landscapes",
    )
