"""Choices made for tests: the same data for the library and for `reference`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import penchant as pn
import reference


@dataclass
class Case:
    """One data set, as lists for the reference and as choices for the library."""

    sets: list
    chosen: list
    weights: Any = None
    offset: Any = None
    subject: Any = None
    weight_kind: str = "frequency"

    @property
    def choices(self):
        return pn.Choices.from_arrays(
            self.sets,
            self.chosen,
            weights=self.weights,
            offset=None if self.offset is None else np.concatenate(self.offset),
            subject=self.subject,
            weight_kind=self.weight_kind,
        )

    @property
    def arguments(self):
        """For the functions of `reference` that take all."""
        return self.sets, self.chosen, self.weights, self.offset


def case(n=37, sizes=(2, 6), d=3, seed=7, theta=None, weighted=False, with_offset=False, shift=0.0):
    """Decisions with sets of different sizes, choices drawn by the reference's probabilities."""
    rng = np.random.default_rng(seed)
    truth = np.array([0.9, -0.6, 0.35, 0.2, -0.45][:d]) if theta is None else np.asarray(theta)
    sets = [
        rng.normal(size=(rng.integers(sizes[0], sizes[1] + 1), len(truth))) + shift
        for _ in range(n)
    ]
    offset = [rng.normal(size=len(x)) for x in sets] if with_offset else None
    chosen = []
    for k, x in enumerate(sets):
        p = reference.probabilities(truth, x, None if offset is None else offset[k])
        chosen.append(int(rng.choice(len(x), p=p)))
    weights = rng.integers(1, 5, size=n).astype(float) if weighted else None
    return Case(sets, chosen, weights, offset)


def separated_case(n=23, d=2, seed=5):
    """The option with the largest first variable is always taken: complete separation."""
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(3 + k % 2, d)) for k in range(n)]
    return Case(sets, [int(np.argmax(x[:, 0])) for x in sets])


def half_separated_case(n=60, seed=6):
    """x1 is 0 or 1 and an option with the larger is always taken; x2 decides among ties."""
    rng = np.random.default_rng(seed)
    sets, chosen = [], []
    for _ in range(n):
        x = np.column_stack([rng.integers(0, 2, size=4), rng.normal(size=4)]).astype(float)
        best = np.flatnonzero(x[:, 0] == x[:, 0].max())
        p = reference.probabilities([0.7], x[best, 1:])
        sets.append(x)
        chosen.append(int(rng.choice(best, p=p)))
    return Case(sets, chosen)
