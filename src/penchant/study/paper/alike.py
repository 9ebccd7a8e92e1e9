"""How often Welch's tests tell landscapes apart though the agents on them are alike.

Studies with the high-performing subjects of the paper's design, 53 on Landscape A and 17 on B, all
with the same parameters: linearised as in the paper, averaged, tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from penchant._progress import progress
from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import Landscape
from penchant.inference.linearized import linearized_choices
from penchant.inference.nominal import nominal_point
from penchant.inference.problem import Problem
from penchant.models.simulate import simulate_many
from penchant.study.paper.artefact import model_of_high
from penchant.study.paper.ensembles import Ensemble, fitted
from penchant.study.paper.monte_carlo import Found, share_of
from penchant.study.paper.published import EXPERIMENT_DECISIONS, NOMINALS, TABLES

SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Alike:
    """p values of Welch's tests of theta between landscapes: (n_studies, 3)."""

    p_values: Matrix

    @property
    def rejected(self) -> tuple[Found, ...]:
        """Share of the studies in which each parameter differs at the 5 % level."""
        return tuple(share_of(column < SIGNIFICANT) for column in self.p_values.T)


def alike(
    places: Mapping[str, Landscape],
    truth: Mapping[str, float],
    *,
    rng: np.random.Generator,
    n_studies: int,
    threads: int | None = None,
) -> Alike:
    """Run studies of agents who are alike.

    Parameters
    ----------
    places
        Landscapes A and B.
    truth
        nu, mu0, sigma0^2 of all agents.
    rng, n_studies, threads
        Source of randomness, how many studies, and processors.
    """
    sizes = {c.landscape: c.n_subjects for c in TABLES if c.performance == "high"}
    rows = []
    with progress("Studies of agents who are alike", n_studies) as advance:
        for _ in range(n_studies):
            groups = []
            for name, size in sizes.items():
                plays = simulate_many(
                    places[name],
                    model_of_high(),
                    truth,
                    n_decisions=EXPERIMENT_DECISIONS,
                    n_agents=size,
                    rng=rng,
                )
                groups.append(_linearized(plays, threads))
            rows.append(_welch(*groups))
            advance(1)
    return Alike(np.array(rows))


def _linearized(plays: Sequence[Episode], threads: int | None) -> Ensemble:
    model = model_of_high()
    psi, ratios = nominal_point(model, replace(NOMINALS["high"], length_scale=None))
    x = [linearized_choices(Problem(model, (play,)), psi, ratios).explanatory for play in plays]
    columns = np.stack(x).reshape(len(plays), EXPERIMENT_DECISIONS, -1, 3)
    chosen = np.stack([play.chosen for play in plays])
    return fitted(columns, chosen, np.full(3, np.nan), threads)


def _welch(one: Ensemble, two: Ensemble) -> Vector:
    """Welch's p values of the mean theta, with the pooled errors of Table I."""
    means, variances, freedoms = [], [], []
    for group in (one, two):
        here = group.exists
        means.append(group.theta[here].mean(axis=0))
        variances.append((group.standard_errors[here] ** 2).sum(axis=0) / here.sum() ** 2)
        freedoms.append(here.sum() - 1)
    total = variances[0] + variances[1]
    freedom = total**2 / sum(v**2 / n for v, n in zip(variances, freedoms, strict=True))
    return np.asarray(2 * stats.t.sf(np.abs(means[0] - means[1]) / np.sqrt(total), freedom))
