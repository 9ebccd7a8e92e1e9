"""Successor representation in the two-step task: where a choice leads, and what that pays.

A player keeps how often each first-stage option led to each of the four second-stage options,
M, and what these pay, R (Dayan 1993, Russek et al. 2017). After the choices c1 and c2 and a reward
r, with e(c2) = 1 for c2 and 0 for the others,

    M_c1 <- M_c1 + a_M (e(c2) - M_c1),    R_c2 <- R_c2 + a_R (r - R_c2),

from 0, and the objectives of the two decisions are

    stage 1:  beta1 sum_j M_ij R_j + pi 1(i = last first choice),
    stage 2:  beta2 R_i.

For given rates the model is linear in beta1, pi and beta2. It knows no best second-stage option: M
follows what was chosen, so that changed rewards reach the first stage at once, changed choices or
transitions only by experience. A discount of later states would be a factor of M in a task of two
stages: it is not told apart from beta1.

At a decision the player sees `state`: 0 in the first stage, 1 or 2 in the second. The reward of a
first-stage decision is 0. Nothing is learnt from a trial without a second choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.models.clinic._kernels import successors
from penchant.models.clinic.recursion import in_turn
from penchant.models.model import finite, positive, share, softmax
from penchant.models.natural import Shape
from penchant.models.record import Record
from penchant.models.recursion import Recursion, codes, rates


@dataclass(frozen=True)
class Successor(Recursion):
    """Successor representation in the two-step task: psi = (a_M, a_R).

    Parameters
    ----------
    stickiness
        A weight pi for repeating the last first-stage choice, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.Successor()
    >>> truth = {"inverse_temperature": 5.0, "stickiness": 0.3, "inverse_temperature_2": 3.0}
    >>> truth |= {"successor_rate": 0.2, "reward_rate": 0.4}
    >>> rng = np.random.default_rng(2)
    >>> play = pn.simulate(pn.models.TwoStepWorld(300), model, truth, rng=rng)
    >>> pn.fit(play, model).status
    'converged'
    """

    stickiness: bool = True

    n_options: int = field(default=2, init=False, repr=False)
    before: tuple[str, ...] = field(default=("state",), init=False, repr=False)

    @property
    def weights(self) -> tuple[str, ...]:
        """beta1, pi, beta2."""
        sticky = ("stickiness",) if self.stickiness else ()
        return ("inverse_temperature", *sticky, "inverse_temperature_2")

    @property
    def positive(self) -> tuple[str, ...]:
        """All but stickiness."""
        return tuple(name for name in self.weights if name != "stickiness")

    @property
    def shape(self) -> tuple[Shape, ...]:
        """a_M and a_R."""
        return rates("successor_rate", "reward_rate")

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values before every decision, by stage, and their derivatives."""
        state = codes(record.before("state"), "state", 0, 2, record)
        given = record, which, psi, 2 * with_slopes, (2, len(self.weights)), 12
        seen = record.chosen, record.rewards, record.is_choice, state
        return in_turn(successors, *given, *seen)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> SuccessorAgents:
        """Agents who play so."""
        return SuccessorAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Value of the options at hand."""
        x = self.explanatory(episode, *psi)
        first = (episode.before["state"] == 0)[:, None]
        return {"value": np.where(first, x[:, :, 0], x[:, :, -1])}

    def __str__(self) -> str:
        return "successor representation" + ("" if self.stickiness else ", no stickiness")


class SuccessorAgents:
    """Agents in play: successors of the first stage, and what they pay, by state and option."""

    def __init__(self, model: Successor, parameters: Mapping[str, float], n_agents: int) -> None:
        self.beta1 = positive(parameters, "inverse_temperature")
        self.beta2 = positive(parameters, "inverse_temperature_2")
        self.pi = finite(parameters, "stickiness") if model.stickiness else 0.0
        self.rate = share(parameters, "successor_rate")
        self.reward_rate = share(parameters, "reward_rate")
        self.leads = np.zeros((n_agents, 2, 2, 2))
        self.pays = np.zeros((n_agents, 2, 2))
        self.last = np.full(n_agents, -1)
        self.state = np.zeros(n_agents, dtype=np.int64)
        self.who = np.arange(n_agents)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent in its state."""
        self.state = np.asarray(before["state"]).astype(np.int64)
        ahead = np.einsum("aisj,asj->ai", self.leads, self.pays)
        first = self.beta1 * ahead + self.pi * (self.last[:, None] == np.arange(2))
        second = self.beta2 * self.pays[self.who, np.maximum(self.state - 1, 0)]
        return softmax(np.where(self.state[:, None] == 0, first, second))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Learn after the second choice."""
        for a in self.who:
            if self.state[a] == 0:
                self.last[a] = chosen[a]
                continue
            there = self.state[a] - 1, chosen[a]
            led = self.leads[a, self.last[a]]
            led *= 1.0 - self.rate
            led[there] += self.rate
            self.pays[a][there] += self.reward_rate * (rewards[a] - self.pays[a][there])
