"""Choice and reward history regression (Lau & Glimcher 2005).

What was chosen and received over the last decisions, each with a weight of its own:

    eta_i = sum_j a_j r_{t-j} 1(c_{t-j} = i) + sum_j k_j 1(c_{t-j} = i) + b_i,    b = 0 at the last.

Linear in a, k and b, without shape parameters: fits need no search. It assumes no rule of learning,
and shows one: Q-learning that forgets at its learning rate alpha, from an initial value of 0, is
a_j = alpha (1 - alpha)^(j-1) / tau at all lags.

Lags count choices: decisions without one are passed over, as if their rows were not in the data,
and so are options shown. Before play there is nothing, and the variables are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.models.learning._kernels import lagged
from penchant.models.model import Habits, finite, softmax
from penchant.models.natural import Natural, Shape
from penchant.models.record import (
    CompiledModel,
    Record,
    blank_variables,
    control_names,
    fill_controls,
)


@dataclass(frozen=True)
class HistoryRegression(CompiledModel):
    """Regression on past rewards and choices: theta = (a, k, b), no psi.

    Parameters
    ----------
    n_options
        Number of options.
    reward_lags
        Choices back whose rewards count: weights reward_1, reward_2 ..., in log-odds per unit of
        reward.
    choice_lags
        Choices back that count whatever they paid: weights choice_1, choice_2 ..., in log-odds.
    bias
        A weight b_i for every option but the last, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.HistoryRegression(2, reward_lags=2, choice_lags=1)
    >>> truth = {"reward_1": 2.0, "reward_2": 1.0, "choice_1": -0.5}
    >>> task = pn.Landscape([0.4, 0.6], pn.GaussianNoise(0.2))
    >>> rng = np.random.default_rng(1)
    >>> episode = pn.simulate(task, model, truth, n_decisions=1000, rng=rng)
    >>> pn.fit(episode, model)
    <Estimate converged: reward_1=1.8227, reward_2=0.89222, choice_1=-0.40334>
    """

    n_options: int
    reward_lags: int = 3
    choice_lags: int = 3
    bias: bool = False

    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)
        whole_number(self.reward_lags, "reward_lags", 0)
        whole_number(self.choice_lags, "choice_lags", 0)
        if self.reward_lags + self.choice_lags == 0:
            raise DataError(
                "reward_lags or choice_lags must be 1 or more; got 0 for both. "
                "RandomChoice is the model without a history."
            )

    @property
    def weights(self) -> tuple[str, ...]:
        """a, k and b."""
        rewards = (f"reward_{j}" for j in range(1, self.reward_lags + 1))
        choices = (f"choice_{j}" for j in range(1, self.choice_lags + 1))
        return (*rewards, *choices, *control_names(self.n_options, False, self.bias))

    @property
    def natural(self) -> tuple[Natural, ...]:
        """The weights themselves."""
        return tuple(Natural(name, "weight", a) for a, name in enumerate(self.weights))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Rewards and indicators of the options chosen at every lag."""
        x, dx = blank_variables(record, which, self.n_options, len(self.weights), 0)
        lagged(
            record.chosen,
            record.rewards,
            record.is_choice,
            record.starts,
            which,
            self.reward_lags,
            self.choice_lags,
            x,
        )
        fill_controls(record, which, x, stickiness=False, bias=self.bias)
        return x, dx if with_slopes else None

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> HistoryAgents:
        """Agents who play so."""
        return HistoryAgents(
            [finite(parameters, f"reward_{j}") for j in range(1, self.reward_lags + 1)],
            [finite(parameters, f"choice_{j}") for j in range(1, self.choice_lags + 1)],
            Habits.of(parameters, n_agents, self.n_options),
        )

    def __str__(self) -> str:
        bias = ", option bias" if self.bias else ""
        return (
            f"regression on {self.reward_lags} past rewards and {self.choice_lags} past choices, "
            f"{self.n_options} options{bias}"
        )


@dataclass
class HistoryAgents:
    """Agents who keep all that happened to them: the latest event first."""

    reward_weights: list[float]
    choice_weights: list[float]
    habits: Habits
    taken: list[Matrix] = field(default_factory=list)
    received: list[Matrix] = field(default_factory=list)

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        q = self.habits.objective()
        for weight, rewards in zip(self.reward_weights, self.received, strict=False):
            q = q + weight * rewards
        for weight, choices in zip(self.choice_weights, self.taken, strict=False):
            q = q + weight * choices
        return softmax(q)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Remember the choice and its reward."""
        taken = np.eye(len(self.habits.biases))[chosen]
        self.taken.insert(0, taken)
        self.received.insert(0, taken * rewards[:, None])
