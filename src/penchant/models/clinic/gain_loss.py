"""Gains and losses learnt apart, each at a rate of its own (Seymour et al. 2012).

After a choice c that brought a gain and a loss, both not negative,

    G_c <- G_c + a+ (gain - G_c),    L_c <- L_c + a- (-loss - L_c),
    eta_i = R G_i + P L_i.

Options not taken go back to 0, at the same rates; with decay they lose a share d instead. With the
rates fixed the model is linear in the sensitivities R to gains and P to losses.

What is learnt after a decision is `gain` and `loss`, of which the size counts; the reward is their
difference. There is no lapse: what other fits take for lapses lowers the sensitivities here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.models.clinic._kernels import gain_loss
from penchant.models.clinic.recursion import LEAST, N_GRID, Recursion, in_turn
from penchant.models.model import finite, share, softmax
from penchant.models.natural import Shape
from penchant.models.record import Record


@dataclass(frozen=True)
class GainLoss(Recursion):
    """Gains and losses learnt apart: theta = (R, P), psi = (a+, a-).

    Parameters
    ----------
    n_options
        Number of options.
    single_rate
        One learning rate for gains and losses.
    decay
        A rate d of its own at which options not taken are forgotten.
    single_sensitivity
        One sensitivity for gains and losses, R = P.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.GainLoss(4)
    >>> truth = {"gain_sensitivity": 4.0, "loss_sensitivity": 2.0}
    >>> truth |= {"gain_rate": 0.5, "loss_rate": 0.3}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.GainLossWorld(4, 600), model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'gain_sensitivity': 4.0, 'loss_sensitivity': 1.9, 'gain_rate': 0.5, 'loss_rate': 0.3}
    """

    n_options: int
    single_rate: bool = False
    decay: bool = False
    single_sensitivity: bool = False

    after: tuple[str, ...] = field(default=("gain", "loss"), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)

    @property
    def weights(self) -> tuple[str, ...]:
        """R and P, or one for both."""
        if self.single_sensitivity:
            return ("sensitivity",)
        return ("gain_sensitivity", "loss_sensitivity")

    @property
    def positive(self) -> tuple[str, ...]:
        """Both."""
        return self.weights

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The rates."""
        names = ["learning_rate"] if self.single_rate else ["gain_rate", "loss_rate"]
        names += ["decay"] if self.decay else []
        return tuple(
            Shape(name, 0.0 if name == "decay" else LEAST, 1.0, n_grid=N_GRID[len(names)])
            for name in names
        )

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Traces of gains and losses, or their sum, and their derivatives."""
        n = psi.shape[1]
        index = np.array([0, 0 if self.single_rate else 1, n - 1 if self.decay else -1])
        gains = record.kept("gains", lambda: np.abs(record.after("gain")))
        losses = record.kept("losses", lambda: -np.abs(record.after("loss")))
        size = self.n_options, len(self.weights)
        given = record, which, psi, n * with_slopes, size, 2 * self.n_options
        return in_turn(gain_loss, *given, record.chosen, gains, losses, settings=(index,))

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> GainLossAgents:
        """Agents who play so."""
        return GainLossAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Gains and losses that are expected, in their own units."""
        both = GainLoss(self.n_options, self.single_rate, self.decay)
        x = both.explanatory(episode, *psi)
        return {"value": x.sum(axis=2), "gain": x[:, :, 0], "loss": x[:, :, 1]}

    def __str__(self) -> str:
        words = [f"gains and losses learnt apart, {self.n_options} options"]
        words += ["one learning rate"] if self.single_rate else []
        words += ["decay"] if self.decay else []
        words += ["one sensitivity"] if self.single_sensitivity else []
        return ", ".join(words)


class GainLossAgents:
    """Agents in play: what they expect of options, weighted as they feel it."""

    def __init__(self, model: GainLoss, parameters: Mapping[str, float], n_agents: int) -> None:
        names = ("sensitivity",) * 2 if model.single_sensitivity else model.weights
        self.felt = [finite(parameters, name) for name in names]
        rates = ("learning_rate",) * 2 if model.single_rate else ("gain_rate", "loss_rate")
        self.rates = [share(parameters, name) for name in rates]
        kept = share(parameters, "decay") if model.decay else None
        self.forgetting = [rate if kept is None else kept for rate in self.rates]
        self.values = np.zeros((2, n_agents, model.n_options))
        self.who = np.arange(n_agents)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(self.values.sum(axis=0))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Learn from gain and loss."""
        received = self.felt[0] * np.abs(after["gain"]), -self.felt[1] * np.abs(after["loss"])
        for v in range(2):
            own = self.values[v, self.who, chosen]
            self.values[v] *= 1.0 - self.forgetting[v]
            self.values[v, self.who, chosen] = own + self.rates[v] * (received[v] - own)
