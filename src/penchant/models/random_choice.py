"""Choices that follow no reward: every option has its own fixed probability.

    P(i) = exp(b_i) / sum_j exp(b_j),    b = 0 for the last option.

Linear in the biases b, without shape parameters. What any model of learning has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.locations import whole_number
from penchant.models.choosing import Habits, softmax
from penchant.models.model import Natural, Shape
from penchant.models.record import CompiledModel, Record
from penchant.models.variables import bias_names, blank_variables, fill_controls


@dataclass(frozen=True)
class RandomChoice(CompiledModel):
    """Random choice with option biases: theta = b, no psi.

    Parameters
    ----------
    n_options
        Number of options.

    Examples
    --------
    The biases are log-odds against the last option:

    >>> import penchant as pn
    >>> episode = pn.Episode([0, 2, 1, 0, 0, 2, 0], [1, 0, 0, 1, 1, 0, None])
    >>> pn.fit(episode, pn.RandomChoice(3))  # log(4/2) and log(1/2)
    <ModelEstimate converged: bias_0=0.69315, bias_1=-0.69315>
    """

    n_options: int

    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)

    @property
    def weights(self) -> tuple[str, ...]:
        """Biases of all options but the last."""
        return bias_names(self.n_options)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """The biases, in log-odds against the last option."""
        return tuple(Natural(name, "weight", a) for a, name in enumerate(self.weights))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """An indicator of each option but the last."""
        x, dx = blank_variables(record, which, self.n_options, self.n_options - 1, 0)
        fill_controls(record, which, x, stickiness=False, bias=True)
        return x, dx if with_slopes else None

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> RandomAgents:
        """Agents who play so."""
        return RandomAgents(Habits.of(parameters, n_agents, self.n_options))

    def __str__(self) -> str:
        return f"random choice with option biases, {self.n_options} options"


@dataclass
class RandomAgents:
    """Agents who learn nothing."""

    habits: Habits

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(np.asarray(self.habits.objective()))

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Nothing is learnt."""
