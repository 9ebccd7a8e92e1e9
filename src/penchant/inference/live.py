"""Estimates while somebody plays: one choice and reward at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.inference.climbing import Peak
from penchant.inference.estimate import ModelEstimate
from penchant.inference.problem import Problem
from penchant.inference.search import Grid, best_peak, climb, grid_points, grid_search
from penchant.inference.verdicts import are_lost, estimate_at, nothing_known
from penchant.models.model import Model
from penchant.softmax.batch import Grouping, fit_batch
from penchant.softmax.prior import ParameterPrior


def live(model: Model, *, parameter_prior: ParameterPrior | None = None) -> Live:
    """Estimate while somebody plays.

    Parameters
    ----------
    model
        How the history explains the decisions.
    parameter_prior
        Prior on the weights; `ScaledPrior()` gives finite estimates from the first choices on.

    Examples
    --------
    >>> import penchant as pn
    >>> live = pn.live(pn.QLearning(n_options=2))
    >>> live.estimate().status
    'not identified'
    >>> for chosen, reward in [(0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), (0, 0.0), (1, 0.5)]:
    ...     live.observe(chosen, reward)
    >>> live.n_decisions
    6
    """
    return Live(model, parameter_prior)


class Live:
    """What is known of a player so far."""

    def __init__(self, model: Model, parameter_prior: ParameterPrior | None = None) -> None:
        self.model = model
        self.parameter_prior = parameter_prior
        self.episode = Episode([], [])
        self._rows: list[Matrix] = []
        self._theta: Matrix | None = None
        self._peak: Peak | None = None
        make = getattr(model, "tracker", None)
        self._psis, self._dimensions = grid_points(model)
        self._tracker: Any = None if make is None else make(self._psis)

    @property
    def n_decisions(self) -> int:
        """Decisions scored so far."""
        return self.episode.n_decisions

    def observe(
        self, chosen: Any, reward: Any = None, *, is_choice: bool = True, scored: bool = True
    ) -> None:
        """Add what was chosen and received; reward None where it is not known (yet)."""
        longer = self.episode.extended(chosen, reward, is_choice=is_choice, scored=scored)
        longer.check_options(getattr(self.model, "n_options", np.iinfo(np.int64).max))
        self.episode = longer
        if self._tracker is None:
            return
        if longer.scored[-1]:
            self._rows.append(self._tracker.variables(self.model.times(longer)[-1]))  # type: ignore[attr-defined]
        if longer.observed[-1]:
            self._tracker.observe(int(longer.chosen[-1]), float(longer.rewards[-1]))

    def estimate(self) -> ModelEstimate:
        """The current estimate: what `fit` gives on the same history."""
        problem = Problem(self.model, (self.episode,), self.parameter_prior)
        if not self.episode.n_decisions:
            return nothing_known(problem)
        grid = self._grid(problem)
        best = grid.psi[int(np.argmax(grid.values))]
        if are_lost(problem.profiles, [grid])[0]:
            self._peak = None
            return estimate_at(problem, grid, climb(problem, best, max_steps=0))
        last = self._peak
        known = [] if last is None else [climb(problem, last.point.psi, near=last)]
        self._peak = best_peak(problem, grid, known)
        return estimate_at(problem, grid, self._peak)

    def _grid(self, problem: Problem) -> Grid:
        """The profile on the grid, from variables that are kept and weights that are near."""
        if self._tracker is None:
            return grid_search(problem.profiles)[0]
        x = np.stack(self._rows, axis=1)
        n_psi, n = x.shape[:2]
        choices = Choices.from_arrays(
            x.reshape(n_psi * n, *x.shape[2:]),
            np.tile(problem.chosen, n_psi),
            names=self.model.weights,
        )
        groups = Grouping(np.arange(n_psi * n), np.arange(n_psi + 1) * n)
        batch = fit_batch(
            choices, groups, self.parameter_prior, 100, 1, lambda done: None, self._theta
        )
        value, theta = problem.values(self._psis)
        ended = batch.converged & (np.abs(theta) < 1e6).all(axis=1)
        self._theta = np.where(ended[:, None], theta, 0.0)
        return Grid(self._psis, value, theta, self._dimensions)
