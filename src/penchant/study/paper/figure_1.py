"""Figure 1: the probability of the first of two options, Eq. (2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.softmax.probabilities import log_probabilities
from penchant.study.paper.claims import Claim

THETAS = (0.5, 1.0, 2.0, 4.0)  # the figure prints none
SMALL = 1e-5


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
        """What was computed."""
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
    >>> from penchant.study.paper.figure_1 import figure_1
    >>> [claim.verdict for claim in figure_1().claims]
    ['holds', 'holds']
    """
    difference = np.linspace(-6.0, 6.0, 241)
    curves = np.array([first_option(difference, theta) for theta in THETAS])
    ends = np.array([first_option(np.array([-SMALL, SMALL]), theta) for theta in THETAS])
    slopes = (ends[:, 1] - ends[:, 0]) / (2 * SMALL)
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
