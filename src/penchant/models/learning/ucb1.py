"""UCB1 with noise: mean rewards so far, and a bonus that falls with the count (Auer et al. 2002).

With n_i the number of rewards seen from option i, V_i their mean, and t = 1 + sum_i n_i,

    eta_i = (V_i + gamma sqrt(log t / n_i)) / tau + phi 1(i = last choice) + b_i.

Linear in 1/tau, gamma/tau, phi and b, without shape parameters. UCB1 itself has gamma = sqrt(2) for
rewards from 0 to 1 and no noise.

The convention for n_i = 0, where the formula has none: V_i is an initial value v0, and the bonus is
that of n_i = 1. v0 is known, or estimated as one more weight, v0/tau. UCB1's own rule, every option
once before any twice, is the limit of a large v0.

A decision without a choice changes nothing; options shown count as observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.models.controls import control_names, control_words, with_starts
from penchant.models.parameters import TEMPERATURE, Parameter, Row, per_temperature
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.models.setting_warnings import doubts_of_start, start_words


@dataclass(frozen=True)
class UCB1(Recursion):
    """Noisy UCB1: theta = (1/tau, v0/tau, gamma/tau), no psi.

    Parameters
    ----------
    n_options
        Number of options.
    initial_value
        Value v0 of options never observed, in units of rewards; None: estimated.
    stickiness
        A weight for repeating the last choice, in log-odds.
    bias
        A weight for every option but the last, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.UCB1(3)
    >>> task = pn.Landscape([0.2, 0.5, 0.8], pn.GaussianNoise(0.2))
    >>> truth = {"temperature": 0.2, "exploration": 0.5}
    >>> rng = np.random.default_rng(2)
    >>> episode = pn.simulate(task, model, truth, n_decisions=500, rng=rng)
    >>> pn.fit(episode, model)
    <Estimate converged: temperature=0.19071, exploration=0.58495>
    """

    in_brief = "mean rewards and a bonus by counts"

    n_options: int
    initial_value: float | None = 0.0
    stickiness: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initial_value is not None:
            check_number(self.initial_value, "initial_value", fix="Give None to estimate it.")

    @property
    def parameters(self) -> tuple[Row, ...]:
        start = (per_temperature("initial_value"),) if self.initial_value is None else ()
        bonus = per_temperature("exploration")
        return (TEMPERATURE, *start, bonus, *map(Parameter.weight, self.controls()))

    def controls(self) -> tuple[str, ...]:
        return control_names(self.n_options, self.stickiness, self.bias)

    def state(self) -> Mapping[str, Any]:
        """Number and sum of every option's rewards; 1 and the number of all."""
        return {"count": np.zeros(self.n_options), "total": np.zeros(self.n_options), "time": 1.0}

    def settings(self) -> Mapping[str, float]:
        return {"n": self.n_options, "initial": float(self.initial_value or 0.0)}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Mean reward, indicator of options never observed if v0 is estimated, and bonus."""
        for i in range(c.n):
            x[i, 0] = s.total[i] / s.count[i] if s.count[i] > 0 else c.initial
            if s.count[i] == 0 and c.at_initial_value >= 0:
                x[i, c.at_initial_value] = 1.0
            x[i, c.at_exploration] = sqrt(log(s.time) / max(s.count[i], 1.0))

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Count the reward."""
        s.count[e.choice] += 1.0
        s.total[e.choice] += e.reward
        s.time += 1.0

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean rewards before each event, and the bonus by counts."""
        x = self.explanatory(episode)
        bonus = x[:, :, self.weights.index("exploration/temperature")]
        return {
            "value": with_starts(self.weights, x, theta, "initial_value"),
            "count_bonus": bonus,
        }

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the initial value lies outside the rewards."""
        return tuple(doubts_of_start("initial_value", self.initial_value, episodes))

    def __str__(self) -> str:
        value = start_words(self.initial_value)
        words = [f"UCB1, {self.n_options} options, value of options never observed {value}"]
        return ", ".join([*words, *control_words(self.stickiness, self.bias)])
