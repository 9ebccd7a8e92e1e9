"""Figure 1, and the experiment of Section VII: its interface and its two landscapes, Eq. (2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant import Choices, Landscape, grid
from penchant._typing import Matrix, Vector
from penchant.paper import landscape_a, landscape_b
from penchant.softmax.probabilities import log_probabilities
from penchant_paper.published import GRID, Claim, Part

THETAS = (0.5, 1.0, 2.0, 4.0)  # the figure prints none
SLOPE_STEP = 1e-5  # of utility: central differences there are exact to about ten digits


@dataclass(frozen=True, eq=False)
class Figure1:
    """Probability of option 1 against the difference of the options, for several theta."""

    difference: Vector
    theta: tuple[float, ...]
    probability: Matrix
    slopes: Vector
    claims: tuple[Claim, ...]
    name: str = "figure-1"
    title: str = "Figure 1: two options"

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""
        return {"theta": list(self.theta)}

    def tables(self) -> dict[str, dict[str, list[float]]]:
        """The curves, one column per theta."""
        columns = {"difference": self.difference.tolist()}
        for theta, curve in zip(self.theta, self.probability, strict=True):
            columns[f"theta_{theta:g}"] = curve.tolist()
        return {"figure-1": columns}


def figure_1() -> Figure1:
    """Compute the curves and their slopes at 0.

    Examples
    --------
    >>> from penchant_paper.figure_1 import figure_1
    >>> [claim.verdict for claim in figure_1().claims]
    ['holds', 'holds']
    """
    difference = np.linspace(-6.0, 6.0, 241)
    curves = np.array([first_option(difference, theta) for theta in THETAS])
    ends = np.array([first_option(np.array([-SLOPE_STEP, SLOPE_STEP]), theta) for theta in THETAS])
    slopes = (ends[:, 1] - ends[:, 0]) / (2 * SLOPE_STEP)
    return Figure1(difference, THETAS, curves, slopes, _claims(difference, curves, slopes))


def first_option(difference: Vector, theta: float) -> Vector:
    """Probability of option 1 by the softmax of Eq. (3)."""
    x = np.stack([difference, np.zeros_like(difference)], axis=1)[..., None]
    sets = Choices.from_arrays(x, None)
    return np.exp(log_probabilities(np.array([theta]), sets))[::2]


def _claims(difference: Vector, curves: Matrix, slopes: Vector) -> tuple[Claim, ...]:
    even = curves[:, np.abs(difference) < 1e-12].ravel()
    logistic = 1.0 / (1.0 + np.exp(-np.outer(THETAS, difference)))
    gap = float(np.abs(curves - logistic).max())
    rate = float(np.abs(slopes / np.array(THETAS) - 0.25).max())
    return (
        Claim(
            "Section I, Eq. (2)",
            "With two options the probability of the first is a logistic function of the "
            "difference: one half where they are equal, and increasing.",
            {
                "logistic": gap < 1e-12,
                "one half at 0": bool(np.abs(even - 0.5).max() < 1e-12),
                "increasing": bool((np.diff(curves, axis=1) > 0).all()),
            },
            f"The softmax of Eq. (3) with two options differs from Eq. (2) by at most {gap:.1g}.",
            {"largest_gap": gap},
        ),
        Claim(
            "Section I, Figure 1",
            "theta sets the slope where the options are equal.",
            {"slope proportional to theta": rate < 1e-6},
            "The slope there is theta / 4: "
            + ", ".join(f"{s:.4g}" for s in slopes)
            + " for theta = "
            + ", ".join(f"{t:g}" for t in THETAS)
            + ".",
            {"slopes": slopes.tolist()},
        ),
    )


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
        """Settings of the computation, for its JSON file."""
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
    >>> from penchant_paper.figure_1 import experiment
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
