"""Q-learning with unknown learning rate and temperature: Example 3 with only V = 0 at t = 1 known.

The value of the option taken moves by the learning rate times the prediction error. With the rate
fixed the values are known, and the model is exactly linear in 1/tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.models.model import Natural, Shape


@dataclass(frozen=True)
class QLearning:
    """Softmax Q-learning: theta = 1/tau, psi = alpha.

    Parameters
    ----------
    n_options
        Number of options.
    initial_value
        Value of every option before play.
    """

    n_options: int
    initial_value: float = 0.0

    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)
    shape = (Shape("learning_rate", 0.001, 1.0, n_grid=33),)
    natural = (
        Natural("temperature", "reciprocal", 0),
        Natural("learning_rate", "shape", 0),
    )

    def explanatory(self, episode: Episode, *psi: float) -> Matrix:
        """Values before every event: (n_events, n_options, 1)."""
        (learning_rate,) = psi
        episode.check_options(self.n_options)
        values = np.full(self.n_options, self.initial_value)
        x = np.empty((episode.n_events, self.n_options, 1))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            if reward == reward:  # no reward, nothing learnt
                values[option] += learning_rate * (reward - values[option])
        return x

    def __str__(self) -> str:
        return f"Q-learning, {self.n_options} options, initial value {self.initial_value:g}"
