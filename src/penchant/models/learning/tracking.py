"""Values of a Q-learner followed event by event, at several rates at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.models.learning._kernels import learner_goes_on


class LearnerTracker:
    """The variables of a play at several rates; an event costs the same whatever was before it.

    Parameters
    ----------
    n_weights
        Number of variables.
    rates
        The four rates at each psi: (n_psi, 4).
    initial, others, columns
        As `learner_goes_on` takes them.
    """

    def __init__(
        self,
        n_options: int,
        n_weights: int,
        rates: Matrix,
        initial: float,
        others: int,
        columns: Any,
    ) -> None:
        self._rates, self._shape = rates, (n_options, n_weights)
        self._rule = initial, others, columns
        self._state = np.zeros((len(rates), 3, n_options))
        self._state[:, 0], self._state[:, 1] = initial, 1.0
        self._last = np.full(1, -1)

    def follow(self, episode: Episode, begin: int) -> Matrix:
        """Variables (n_psi, n_new, n_options, n_weights) of the events from `begin` on."""
        x = np.zeros((len(self._rates), episode.n_events - begin, *self._shape))
        history = episode.chosen, episode.rewards, episode.is_choice, begin
        learner_goes_on(*history, self._rates, *self._rule, self._state, self._last, x)
        return x
