"""The paper's estimator on many plays: its variables, and its estimates after some decisions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penchant._progress import progress
from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.inference.linearized import linearized_choices
from penchant.inference.nominal import nominal_point
from penchant.inference.problem import Problem
from penchant.study.paper.ensembles import Ensemble, fitted, joined
from penchant.study.paper.plays import model_of
from penchant.study.paper.published import UCLSetting

AT_ONCE = 50  # plays whose variables are held at a time


def linearized_columns(setting: UCLSetting, episodes: Sequence[Episode]) -> Matrix:
    """x_1, x_2, x_3 of every decision: (n_plays, n_decisions, n_options, 3)."""
    model = model_of(setting)
    psi, ratios = nominal_point(model, setting.nominal)
    columns = []
    with progress(f"Figure {setting.name[-1]}: beliefs", len(episodes)) as advance:
        for episode in episodes:
            choices = linearized_choices(Problem(model, (episode,)), psi, ratios)
            columns.append(choices.explanatory.reshape(episode.n_events, -1, choices.n_parameters))
            advance(1)
    return np.stack(columns)


def linearized_ensembles(
    setting: UCLSetting,
    episodes: Sequence[Episode],
    at: Sequence[int],
    threads: int | None = None,
) -> tuple[Ensemble, ...]:
    """Linearised estimates from the first t decisions of every play, for some t."""
    truth = np.array(setting.truth)
    parts: list[list[Ensemble]] = [[] for _ in at]
    for first in range(0, len(episodes), AT_ONCE):
        some = episodes[first : first + AT_ONCE]
        x = linearized_columns(setting, some)
        chosen = np.stack([episode.chosen for episode in some])
        for found, t in zip(parts, at, strict=True):
            found.append(fitted(x[:, :t], chosen[:, :t], truth, threads))
    return tuple(joined(found) for found in parts)
