"""One agent of any model: the model's own, or one that asks the model for its variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.models.choosing import softmax
from penchant.models.model import Model
from penchant.models.simulate import Agents, agents_of
from penchant.models.simulate_trials import checked_parameters, weights_and_shape
from penchant.models.ucl import UCL


def one_agent(model: Model, parameters: Mapping[str, float]) -> Agents:
    """An agent before play.

    Models that come with agents are played by those, which share no code with the variables of a
    fit. Any other is asked for its variables after every event, which takes time that grows with
    the square of the number of decisions.
    """
    if isinstance(model, UCL) or hasattr(model, "agents"):
        return agents_of(model, dict(parameters), 1)
    checked_parameters(model, parameters)
    theta, psi = weights_and_shape(model, parameters)
    return RememberingAgent(model, theta, psi)


@dataclass
class RememberingAgent:
    """An agent that keeps all that happened, and chooses by the model's variables."""

    model: Any
    theta: Vector
    psi: Vector
    chosen: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)

    def probabilities(self) -> Matrix:
        """Choice probabilities (1, n_options) after what happened."""
        # the variables of an event do not depend on what is chosen at it
        episode = Episode([*self.chosen, 0], [*self.rewards, np.nan])
        x = np.asarray(self.model.explanatory(episode, *self.psi))[-1]
        return softmax((x @ self.theta)[None, :])

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Remember what was chosen and received."""
        self.chosen.append(int(chosen[0]))
        self.rewards.append(float(rewards[0]))
