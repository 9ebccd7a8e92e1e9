"""One agent of any model: the model's own, or one that asks the model for its variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.bandit.events import NOTHING
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
    is_choice: list[bool] = field(default_factory=list)

    def probabilities(self) -> Matrix:
        """Choice probabilities (1, n_options) after what happened."""
        # the variables of an event do not depend on what is chosen at it
        episode = Episode(
            [*self.chosen, 0], [*self.rewards, np.nan], is_choice=[*self.is_choice, True]
        )
        x = np.asarray(self.model.explanatory(episode, *self.psi))[-1]
        return softmax((x @ self.theta)[None, :])

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Remember what was chosen and received."""
        self.remember(int(chosen[0]), float(rewards[0]))

    def remember(self, option: int, reward: float, is_choice: bool = True) -> None:
        """Remember an event."""
        self.chosen.append(option)
        self.rewards.append(reward)
        self.is_choice.append(is_choice)


def show(agents: Any, option: int, reward: float, n: int, model: Any) -> None:
    """Show agents an option and what it pays: it is learnt from, and takes no time of choices."""
    if isinstance(agents, RememberingAgent):
        agents.remember(option, reward, is_choice=False)
        return
    agents.observe(np.full(n, option), np.full(n, reward))
    if getattr(model, "clock", "events") == "choices":
        _turn_clock(agents, -1)


def miss(agents: Any) -> None:
    """Let agents run out of time."""
    if isinstance(agents, RememberingAgent):
        agents.remember(NOTHING, np.nan)
    else:
        _turn_clock(agents, 1)


def _turn_clock(agents: Any, steps: int) -> None:
    """Move the time of agents that have one."""
    if hasattr(agents, "time"):
        agents.time += steps
