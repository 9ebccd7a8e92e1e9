"""What more decisions than options give where the paper's horizon gives no estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.inference.linearized import linearized_choices
from penchant.inference.nominal import nominal_point
from penchant.inference.problem import Problem
from penchant.softmax.fit import fit
from penchant.study.paper.plays import model_of
from penchant.study.paper.prefixes import FINITE
from penchant.study.paper.published import UCLSetting


@dataclass(frozen=True, eq=False)
class LongerPlays:
    """Linearised estimates of plays beyond the horizon.

    Attributes
    ----------
    t
        Decisions.
    standard_errors
        Of the replicates with a finite estimate: (n_existing, n_parameters).
    """

    t: int
    standard_errors: Matrix

    @property
    def existing(self) -> int:
        """Replicates with a finite estimate."""
        return len(self.standard_errors)


def longer_plays(setting: UCLSetting, episodes: Sequence[Episode]) -> LongerPlays:
    """Linearise whole plays about the nominal point of a figure and fit them."""
    model = model_of(setting)
    psi, ratios = nominal_point(model, setting.nominal)
    errors = []
    for episode in episodes:
        estimate = fit(linearized_choices(Problem(model, (episode,)), psi, ratios), threads=1)
        if estimate.status in FINITE:
            errors.append(estimate.standard_errors)
    return LongerPlays(episodes[0].n_events, np.array(errors).reshape(-1, len(ratios) + len(psi)))
