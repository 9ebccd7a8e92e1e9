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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.models.learning._kernels import counts_and_means
from penchant.models.model import Habits, finite, positive, softmax
from penchant.models.natural import Natural, Shape
from penchant.models.record import (
    CompiledModel,
    Record,
    blank_variables,
    control_names,
    doubts_of_start,
    fill_controls,
    in_units_of_temperature,
    known_number,
    start_words,
    with_starts,
)


@dataclass(frozen=True)
class UCB1(CompiledModel):
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

    n_options: int
    initial_value: float | None = 0.0
    stickiness: bool = False
    bias: bool = False

    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)
        if self.initial_value is not None:
            known_number(self.initial_value, "initial_value", "Give None to estimate it.")

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, v0/tau if it is estimated, gamma/tau, phi, b."""
        start = ("initial_value/temperature",) if self.initial_value is None else ()
        controls = control_names(self.n_options, self.stickiness, self.bias)
        return ("inverse_temperature", *start, "exploration/temperature", *controls)

    @property
    def positive(self) -> tuple[str, ...]:
        """Weights that must be positive: tau > 0."""
        return ("inverse_temperature",)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, v0 and gamma in units of rewards; phi and b in log-odds."""
        return tuple(in_units_of_temperature(self.weights))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Mean reward, indicator of options never observed if v0 is estimated, bonus, controls."""
        x, dx = blank_variables(record, which, self.n_options, len(self.weights), 0)
        free = self.initial_value is None
        counts_and_means(
            record.chosen,
            record.rewards,
            record.starts,
            which,
            float(self.initial_value or 0.0),
            np.array([1 if free else -1, 2 if free else 1]),
            x,
        )
        fill_controls(record, which, x, self.stickiness, self.bias)
        return x, dx if with_slopes else None

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> UCB1Agents:
        """Agents who play so."""
        free = self.initial_value is None
        start = finite(parameters, "initial_value") if free else self.initial_value
        nothing = np.zeros((n_agents, self.n_options))
        return UCB1Agents(
            positive(parameters, "temperature"),
            finite(parameters, "exploration"),
            float(start or 0.0),
            Habits.of(parameters, n_agents, self.n_options),
            counts=nothing,
            means=nothing.copy(),
        )

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
        words += ["stickiness"] if self.stickiness else []
        words += ["option bias"] if self.bias else []
        return ", ".join(words)


@dataclass
class UCB1Agents:
    """Agents in play: counts and running means (n_agents, n_options)."""

    temperature: float
    exploration: float
    initial_value: float
    habits: Habits
    counts: Matrix
    means: Matrix

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        new = self.counts == 0
        n = self.counts + new
        t = self.counts.sum(axis=1, keepdims=True) + 1.0
        value = np.where(new, self.initial_value, self.means)
        q = (value + self.exploration * np.sqrt(np.log(t) / n)) / self.temperature
        return softmax(q + self.habits.objective())

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Count the reward."""
        agents = np.arange(len(chosen))
        self.counts[agents, chosen] += 1.0
        error = rewards - self.means[agents, chosen]
        self.means[agents, chosen] += error / self.counts[agents, chosen]
        self.habits.observe(chosen)
