"""Simulated choices, as arrays a user would hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

SIZES = {
    "S": (1_000, 10, 3),
    "W": (1_000, 100, 3),
    "M": (100_000, 10, 5),
    "L": (1_000_000, 10, 10),
    "P": (1_000, 100, 3),
    "E": (10_000, 10, 20),
}
"""One fit: decisions, options, variables."""

BATCHES = {"B": (1_000, 90, 100, 3), "T": (10_000, 90, 2, 1), "PB": (200, 90, 100, 3)}
"""Separate fits: subjects, decisions of each, options, variables."""

STRONG = {"P": (1.0, 2.0, 3.0), "E": (2.0,) * 20, "PB": (1.0, 2.0, 3.0)}
"""Weights of problems with strong effects, where choices are nearly certain: those of the paper's
Figure 3, and twenty of size 2. The other problems have weak ones."""


@dataclass(frozen=True)
class Problem:
    """Decisions that followed the softmax model.

    Attributes
    ----------
    explanatory
        Array (n_decisions, n_options, n_parameters).
    chosen
        Index of the option taken.
    theta
        The weights that made the choices.
    subject
        Who decided, sorted; one person if there is one fit.
    """

    explanatory: Array
    chosen: Array
    theta: Array
    subject: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Decisions, options, variables."""
        n, m, d = self.explanatory.shape
        return n, m, d

    @property
    def n_subjects(self) -> int:
        """Separate fits."""
        return int(self.subject[-1]) + 1

    def one(self, subject: int) -> Problem:
        """The decisions of one subject, as views."""
        begin, end = np.searchsorted(self.subject, [subject, subject + 1])
        return self.first(begin, end)

    def first(self, begin: int, end: int) -> Problem:
        """Decisions begin..end of all, as views."""
        part = slice(begin, end)
        return Problem(
            self.explanatory[part],
            self.chosen[part],
            self.theta,
            self.subject[part] - self.subject[begin],
        )


def problem(
    n: int,
    m: int,
    d: int,
    seed: int = 0,
    n_subjects: int = 1,
    weights: tuple[float, ...] | None = None,
) -> Problem:
    """Draw variables from N(0, 1) and choices from the softmax of theta'x."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, m, d))
    theta = np.linspace(1.0, -0.5, d) if d > 1 else np.array([0.6])
    theta = theta if weights is None else np.array(weights)
    q = x @ theta
    q += rng.gumbel(size=(n, m))
    subject = np.repeat(np.arange(n_subjects), n // n_subjects)
    return Problem(x, q.argmax(axis=1), theta, subject)


def size_of(name: str, quick: bool) -> tuple[int, int, int]:
    """Size of one fit; a tenth of the decisions, at least 1,000, when quick."""
    n, m, d = SIZES[name]
    return (max(1_000, n // 10), m, d) if quick else (n, m, d)


def batch_of(name: str, quick: bool) -> Problem:
    """Many subjects; a tenth of them when quick."""
    n_subjects, n, m, d = BATCHES[name]
    people = n_subjects // 10 if quick else n_subjects
    return problem(people * n, m, d, n_subjects=people, weights=STRONG.get(name))
