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
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.models.clinic.two_step import TwoStageModel
from penchant.models.controls import control_names
from penchant.models.parameters import Parameter, Row
from penchant.models.recursion import rates
from penchant.models.scalars import Fields, Numbers


@dataclass(frozen=True)
class Successor(TwoStageModel):
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

    in_brief = "two-step, where choices lead"

    stickiness: bool = True

    @property
    def parameters(self) -> tuple[Row, ...]:
        return (
            Parameter.weight("inverse_temperature", positive=True),
            *map(Parameter.weight, control_names(2, self.stickiness, False)),
            Parameter.weight("inverse_temperature_2", positive=True),
            *rates("successor_rate", "reward_rate"),
        )

    def state(self) -> Mapping[str, Any]:
        """M (option, state, option), R; first choices, of this trial and the last one made."""
        known = {"leads": np.zeros((2, 2, 2)), "pays": np.zeros((2, 2))}
        return {**known, "first": -1.0, "last": -1.0}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """First stage: successor values and stickiness; second stage: reward estimates."""
        if e.state == 0:
            for i in range(2):
                for j in range(2):
                    for k in range(2):
                        x[i, 0] += s.leads[i, j, k] * s.pays[j, k]
            if s.last >= 0 and c.at_stickiness >= 0:
                x[int(s.last), c.at_stickiness] = 1.0
        elif e.state > 0:
            for i in range(2):
                x[i, c.at_inverse_temperature_2] = s.pays[e.state - 1, i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Remember the first choice; at the second one learn where it led, and what that pays."""
        if e.state == 0:
            s.first = e.choice
            if e.choice >= 0 and e.is_choice == 1:
                s.last = e.choice
        else:
            if e.choice >= 0 and e.reward == e.reward:
                i = int(s.first)
                if i >= 0:
                    for j in range(2):
                        for k in range(2):
                            came = 1.0 if j == e.state - 1 and k == e.choice else 0.0
                            s.leads[i, j, k] += psi.successor_rate * (came - s.leads[i, j, k])
                paid = s.pays[e.state - 1, e.choice]
                s.pays[e.state - 1, e.choice] = paid + psi.reward_rate * (e.reward - paid)
            s.first = -1.0

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Value of the options at hand."""
        x = self.explanatory(episode, *psi)
        first = (episode.before["state"] == 0)[:, None]
        return {"value": np.where(first, x[:, :, 0], x[:, :, -1])}

    def __str__(self) -> str:
        return "successor representation" + ("" if self.stickiness else ", no stickiness")
