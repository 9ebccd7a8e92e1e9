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
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.recursion import MIN_RATE, N_RATE_GRID, Recursion
from penchant.models.scalars import Fields, Numbers


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

    in_brief = "gains and losses learnt apart"

    n_options: int
    single_rate: bool = False
    decay: bool = False
    single_sensitivity: bool = False

    after = ("gain", "loss")

    @property
    def parameters(self) -> tuple[Row, ...]:
        apart = ("gain_sensitivity", "loss_sensitivity")
        weights = ("sensitivity",) if self.single_sensitivity else apart
        names = ["learning_rate"] if self.single_rate else ["gain_rate", "loss_rate"]
        names += ["decay"] if self.decay else []
        shapes = (
            Shape(name, 0.0 if name == "decay" else MIN_RATE, 1.0, n_grid=N_RATE_GRID[len(names)])
            for name in names
        )
        return (*(Parameter.weight(name, positive=True) for name in weights), *shapes)

    def bindings(self) -> Mapping[str, float | str]:
        """Parameters that are shared or fixed: one learning rate, no decay, if so declared."""
        both = {"gain_rate": "learning_rate", "loss_rate": "learning_rate"}
        return {**(both if self.single_rate else {}), **({} if self.decay else {"decay": 0.0})}

    def settings(self) -> Mapping[str, int]:
        """Number of options; whether values decay at a rate of their own; columns of losses."""
        apart = 0 if self.single_sensitivity else 1
        return {"n": self.n_options, "decay": int(self.decay), "loss": apart}

    def state(self) -> Mapping[str, Vector]:
        """Expected gain and loss of every option."""
        return {"gain": np.zeros(self.n_options), "loss": np.zeros(self.n_options)}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Expected gains and losses, or their sum."""
        for i in range(c.n):
            x[i, 0] = s.gain[i]
            x[i, c.loss] += s.loss[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Delta rule towards what was won and lost; what was not chosen decays towards 0."""
        for i in range(c.n):
            gain = abs(e.gain) if i == e.choice else 0.0
            loss = -abs(e.loss) if i == e.choice else 0.0
            fades = c.decay == 1 and i != e.choice
            s.gain[i] += (psi.decay if fades else psi.gain_rate) * (gain - s.gain[i])
            s.loss[i] += (psi.decay if fades else psi.loss_rate) * (loss - s.loss[i])

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
