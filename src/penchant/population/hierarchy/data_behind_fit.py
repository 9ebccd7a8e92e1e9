"""The data, the plan and the optimum behind a hierarchical fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penchant._typing import Label, Matrix
from penchant.models.model import Model
from penchant.population.hierarchy.contrasts import WithinConditions
from penchant.population.hierarchy.design_matrix import Design
from penchant.population.hierarchy.marginal_maximization import SearchProblem, SearchResult
from penchant.population.hierarchy.subject_likelihoods import SubjectLikelihoods


class PopulationSource(NamedTuple):
    """Data, plan and optimum behind a fit.

    `descriptive_optimum` is the optimum by which subjects are described: `optimum`, or where
    spreads vanish there, the one under a weak prior that keeps them from 0.
    """

    likelihoods: SubjectLikelihoods
    model: Model | None
    data: Any
    design: Design
    conditions: WithinConditions | None
    optimum: SearchResult
    descriptive_optimum: SearchResult
    problem: SearchProblem
    group_labels: tuple[Label, ...]
    covariance_kind: str

    @property
    def descriptive_covariances(self) -> Matrix:
        """Covariances (n_groups, p, p) of all coordinates by which people are described."""
        structure = self.descriptive_optimum.marginal.structure
        p = structure.design.shape[1]
        matrices = np.zeros((structure.spread.n_groups, p, p))
        matrices[:, structure.random_coordinates[:, None], structure.random_coordinates] = (
            structure.spread.covariance_matrices(self.descriptive_optimum.x[structure.n_beta :])
        )
        return matrices
