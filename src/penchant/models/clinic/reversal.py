"""Reversal learning: experience-weighted attraction, and inference on which option is good now.

EWA (Camerer and Ho 1999), for the option taken only: with its experience n, from 0,

    n' = rho n + 1,    Q' = (phi n Q + r) / n',    eta_i = Q_i / tau.

Hidden state: one of two options is the good one. It pays r > 0 with the reliability q, the other
one with 1 - q, and they change places with the hazard h before each decision. With b the belief
that the first is good, after an outcome Bayes' rule gives b', and

    b = b' (1 - h) + (1 - b') h,    eta_1 = b / tau, eta_2 = (1 - b) / tau,

or, with log_odds, eta_1 - eta_2 = log(b / (1 - b)) / tau.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.models.clinic._kernels import attended, hidden_state
from penchant.models.clinic.recursion import OneValue, ValueAgents, in_lanes, rates
from penchant.models.model import positive, share, softmax
from penchant.models.natural import Shape
from penchant.models.record import Record


@dataclass(frozen=True)
class EWA(OneValue):
    """Experience-weighted attraction: theta = 1/tau, psi = (phi, rho).

    Parameters
    ----------
    n_options
        Number of options.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.EWA(2)
    >>> truth = {"temperature": 0.4, "value_decay": 0.7, "experience_decay": 0.5}
    >>> rng = np.random.default_rng(1)
    >>> pays = pn.models.reversal_schedule(500, rng=rng)
    >>> play = pn.simulate(pn.Task(pays), model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'temperature': 0.3, 'value_decay': 0.6, 'experience_decay': 0.6}
    """

    n_options: int

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """phi and rho."""
        return rates("value_decay", "experience_decay")

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values before every event, and their derivatives."""
        start = (0.0,) * (2 * self.n_options)
        given = record, which, psi, 2 * with_slopes, (self.n_options, 1), start
        return in_lanes(attended, *given, record.chosen, record.rewards, settings=(False,))

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> EWAAgents:
        """Agents who play so."""
        return EWAAgents(self, parameters, n_agents)

    def __str__(self) -> str:
        return f"experience-weighted attraction, {self.n_options} options"


class EWAAgents(ValueAgents):
    """Agents in play, each with an experience of every option."""

    def __init__(self, model: EWA, parameters: Mapping[str, float], n_agents: int) -> None:
        super().__init__(parameters, n_agents, model.n_options)
        self.phi = share(parameters, "value_decay")
        self.rho = share(parameters, "experience_decay")
        self.experience = np.zeros_like(self.values)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn about the option taken."""
        at = self.who, chosen
        n = self.experience[at]
        self.experience[at] = self.rho * n + 1.0
        self.values[at] = (self.phi * n * self.values[at] + rewards) / self.experience[at]


@dataclass(frozen=True)
class HiddenState(OneValue):
    """Belief about which of two options is good now: theta = 1/tau, psi = (hazard, reliability).

    Parameters
    ----------
    log_odds
        Whether choices follow the log-odds of the belief rather than the belief.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.HiddenState()
    >>> truth = {"temperature": 0.25, "hazard": 0.1, "reliability": 0.75}
    >>> rng = np.random.default_rng(1)
    >>> pays = pn.models.reversal_schedule(500, rng=rng)
    >>> play = pn.simulate(pn.Task(pays), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('inverse_temperature', 'hazard', 'reliability')
    """

    log_odds: bool = False

    n_options: int = field(default=2, init=False, repr=False)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """h and q."""
        return (
            Shape("hazard", 0.001, 0.5, n_grid=17),
            Shape("reliability", 0.501, 0.999, n_grid=17),
        )

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Beliefs before every event, and their derivatives."""
        given = record, which, psi, 2 * with_slopes, (2, 1), (0.5,)
        history, settings = (record.chosen, record.rewards), (self.log_odds,)
        return in_lanes(hidden_state, *given, *history, settings=settings)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> HiddenStateAgents:
        """Agents who play so."""
        return HiddenStateAgents(self.log_odds, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Belief in each option."""
        plain = HiddenState()
        return {"belief": plain.explanatory(episode, *psi)[:, :, 0]}

    def __str__(self) -> str:
        return "hidden state" + (", log-odds" if self.log_odds else "")


class HiddenStateAgents:
    """Agents in play: the odds that the first option is the good one."""

    def __init__(self, log_odds: bool, parameters: Mapping[str, float], n_agents: int) -> None:
        self.log_odds = log_odds
        self.tau = positive(parameters, "temperature")
        self.hazard = share(parameters, "hazard")
        self.reliability = share(parameters, "reliability")
        self.odds = np.ones(n_agents)

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        first = self.odds / (1.0 + self.odds)
        q = np.column_stack([first, 1.0 - first])
        if self.log_odds:
            q = np.column_stack([np.log(self.odds), np.zeros(len(self.odds))])
        return softmax(q / self.tau)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Bayes' rule, then the hazard."""
        factor = self.reliability / (1.0 - self.reliability)
        speaks = (np.asarray(rewards) > 0) == (chosen == 0)
        odds = self.odds * np.where(speaks, factor, 1.0 / factor)
        h = self.hazard
        self.odds = (odds * (1.0 - h) + h) / (odds * h + 1.0 - h)
