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
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix
from penchant.argument_checks import check_whole_number
from penchant.errors import DataError
from penchant.models.controls import control_names
from penchant.models.parameters import Parameter, Row
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers


@dataclass(frozen=True)
class HistoryRegression(Recursion):
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

    in_brief = "regression on the past"

    n_options: int
    reward_lags: int = 3
    choice_lags: int = 3
    bias: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_number(self.reward_lags, "reward_lags", 0)
        check_whole_number(self.choice_lags, "choice_lags", 0)
        if self.reward_lags + self.choice_lags == 0:
            raise DataError(
                "reward_lags or choice_lags",
                "must be 1 or more",
                got="0 for both",
                fix="RandomChoice is the model without a history.",
            )

    @property
    def parameters(self) -> tuple[Row, ...]:
        rewards = (f"reward_{j}" for j in range(1, self.reward_lags + 1))
        choices = (f"choice_{j}" for j in range(1, self.choice_lags + 1))
        return tuple(map(Parameter.weight, (*rewards, *choices, *self.controls())))

    def controls(self) -> tuple[str, ...]:
        return control_names(self.n_options, False, self.bias)

    def settings(self) -> Mapping[str, int]:
        lags = self.reward_lags, self.choice_lags
        return {"n": self.n_options, "rewards": lags[0], "choices": lags[1], "longest": max(lags)}

    def state(self) -> Mapping[str, Matrix]:
        """Lagged choices and rewards, the last choice first: (n_lags, n_options) each."""
        past = np.zeros((max(self.reward_lags, self.choice_lags), self.n_options))
        return {"chosen": past, "received": past}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        for i in range(c.n):
            for j in range(c.rewards):
                x[i, j] = s.received[j, i]
            for j in range(c.choices):
                x[i, c.rewards + j] = s.chosen[j, i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Remember a choice before those that were made already."""
        if e.is_choice == 1:
            for i in range(c.n):
                for j in range(int(c.longest) - 1, 0, -1):
                    s.chosen[j, i] = s.chosen[j - 1, i]
                    s.received[j, i] = s.received[j - 1, i]
                s.chosen[0, i] = 1.0 if i == e.choice else 0.0
                s.received[0, i] = e.reward if i == e.choice else 0.0

    def __str__(self) -> str:
        bias = ", option bias" if self.bias else ""
        return (
            f"regression on {self.reward_lags} past rewards and {self.choice_lags} past choices, "
            f"{self.n_options} options{bias}"
        )
