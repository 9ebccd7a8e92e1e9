"""What is fitted: whose likelihoods, which means, which spreads, and how closely."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from penchant.population.hierarchy.design import Design
from penchant.population.hierarchy.likelihoods import People
from penchant.population.hierarchy.marginal import Structure
from penchant.population.hierarchy.rules import EACH, FEWER, LEAST, MOST, N_DRAWS
from penchant.population.hierarchy.search import Search
from penchant.population.hierarchy.spread import Spread

NEARBY = 1.0  # typical standard deviations within which a likelihood is like its expansion


class Plan(NamedTuple):
    """What is fitted."""

    people: People
    design: Design
    differing: list[int]
    correlated: bool
    group: Any
    n_groups: int
    estimator: str
    nodes: int | None
    away_from_zero: bool = False

    def structure(self, random: list[int]) -> Structure:
        """With spread in these coordinates."""
        n, p = len(self.people.subjects), len(self.people.coordinates)
        design = self.design.of_people(n)
        fixed = np.array([a for a in range(p) if a not in random], dtype=np.int64)
        most = np.abs(design).max(axis=0)  # (p, n_beta)
        sd = self.people.typical.sd[fixed, None]
        room = np.divide(sd, most[fixed], out=np.full((len(fixed), most.shape[1]), np.inf),
                         where=most[fixed] > 0)  # fmt: skip
        return Structure(
            design,
            np.array(random, dtype=np.int64),
            fixed,
            Spread(len(random), self.correlated and len(random) > 1, self.n_groups),
            self.group,
            np.ones(n),
            NEARBY * room.min(axis=0, initial=np.inf),
        )

    def task(self, random: list[int]) -> Search:
        """The search with spread in these coordinates."""
        structure = self.structure(random)
        usual, draws = EACH.get(len(random), 0), N_DRAWS
        if not usual:
            usual, draws = FEWER.get(
                sum(a < self.people.coordinates.n_shape for a in random), LEAST
            )
        return Search(
            self.people,
            structure,
            self.nodes or usual,
            self.estimator == "reml",
            n_draws=draws,
            away_from_zero=self.away_from_zero,
        )

    def checked(self, task: Search) -> Search:
        """The same with two nodes more in each direction: with draws, in the shapes."""
        q = int((task.structure.random < self.people.coordinates.n_shape).sum())
        return replace(task, k=task.k + 2, n_draws=task.n_draws if q else 2 * task.n_draws)

    def closer(self, task: Search) -> Search:
        """The same with more nodes: most in the shapes, in which posteriors are least normal."""
        r = len(task.structure.random)
        q = int((task.structure.random < self.people.coordinates.n_shape).sum())
        if r > MOST:
            more = task.k + 2 if q == 1 else task.k
            return replace(task, k=more, n_draws=2 * task.n_draws)
        if not q:
            return replace(task, k=task.k + 4)
        return replace(task, k=task.k + 2, more=task.k + 1 if q == 1 else 4)
