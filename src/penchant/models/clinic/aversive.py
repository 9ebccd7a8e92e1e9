"""Learning from punishments whose sizes are shown (Browning et al. 2015).

One of two options is punished; e is the believed probability that it is the first one, from 1/2.
At a decision the sizes of both punishments are seen, and

    eta_1 = -beta f(e) size_1,    eta_2 = -beta f(1 - e) size_2,
    f(e) = gamma (e - 1/2) + 1/2, cut off at 0 and 1,

with the risk preference gamma; then e <- e + a (outcome - e), where the outcome is 1 if the first
option was the one that is punished, else 0. The cut makes kinks in gamma.

At a decision `magnitude_0` and `magnitude_1` are seen; `outcome` is learnt after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.models.model import positive, share, softmax
from penchant.models.natural import Shape
from penchant.models.record import Record, unfolded
from penchant.models.recursion import ValueModel, rates

SIZES = ("magnitude_0", "magnitude_1")


@dataclass(frozen=True)
class AversiveLearning(ValueModel):
    """Probability of punishment learnt, sizes shown: theta = beta, psi = (a, gamma).

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.AversiveLearning()
    >>> truth = {"inverse_temperature": 0.3, "learning_rate": 0.3, "gamma": 1.5}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.AversiveWorld(400), model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'inverse_temperature': 0.3, 'learning_rate': 0.3, 'gamma': 1.7}
    """

    reports = "inverse_temperature"
    n_options: int = field(default=2, init=False, repr=False)
    before: tuple[str, ...] = field(default=SIZES, init=False, repr=False)
    after: tuple[str, ...] = field(default=("outcome",), init=False, repr=False)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """a and gamma."""
        gamma = Shape("gamma", 0.1, 10.0, scale="log", n_grid=21)
        # a grid as fine as that of a rate alone: along gamma run ridges that are narrow in the rate
        return (*rates("learning_rate", of=1), gamma)

    @property
    def smooth(self) -> bool:
        """No: probabilities are cut off at 0 and 1."""
        return False

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Minus the punishment that is expected of each option, and its derivatives."""
        before = np.array([0.5, 0.0])[: 1 + with_slopes]
        given = record, "punishments", which, np.ascontiguousarray(psi), before, 2 * with_slopes
        return unfolded(*given, lambda: _punishments(record))

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> AversiveAgents:
        """Agents who play so."""
        return AversiveAgents(parameters, n_agents)

    def __str__(self) -> str:
        return "aversive learning, sizes shown"


def _punishments(record: Record) -> list[Vector]:
    """What was punished, NaN where nothing is learnt; sizes of both, 0 if they were not shown."""
    outcome = np.where(record.chosen >= 0, record.after("outcome"), np.nan)
    return [outcome, *(np.nan_to_num(record.before(size)) for size in SIZES)]


class AversiveAgents:
    """Agents in play."""

    def __init__(self, parameters: Mapping[str, float], n_agents: int) -> None:
        self.beta = positive(parameters, "inverse_temperature")
        self.rate = share(parameters, "learning_rate")
        self.gamma = positive(parameters, "gamma")
        self.first = np.full(n_agents, 0.5)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent."""
        both = np.column_stack([self.first, 1.0 - self.first])
        felt = np.clip(self.gamma * (both - 0.5) + 0.5, 0.0, 1.0)
        sizes = np.column_stack([before[name] for name in SIZES])
        return softmax(-self.beta * felt * sizes)

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Learn which option was punished."""
        self.first = self.first + self.rate * (np.asarray(after["outcome"]) - self.first)
