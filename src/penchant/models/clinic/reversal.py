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
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.models.parameters import TEMPERATURE, Shape
from penchant.models.recursion import ValueModel, rates
from penchant.models.scalars import Fields, Numbers


@dataclass(frozen=True)
class EWA(ValueModel):
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

    in_brief = "experience-weighted attraction"

    n_options: int

    parameters = (TEMPERATURE, *rates("value_decay", "experience_decay"))

    def state(self) -> Mapping[str, Vector]:
        """Value and experience of every option."""
        return {"value": np.zeros(self.n_options), "experience": np.zeros(self.n_options)}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        for i in range(c.n):
            x[i, 0] = s.value[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Average of decayed attraction and reward, weighted by experience."""
        n = s.experience[e.choice]
        more = psi.experience_decay * n + 1.0
        value = (psi.value_decay * n * s.value[e.choice] + e.reward) * (1.0 / more)
        s.value[e.choice] = value
        s.experience[e.choice] = more

    def __str__(self) -> str:
        return f"experience-weighted attraction, {self.n_options} options"


@dataclass(frozen=True)
class HiddenState(ValueModel):
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

    in_brief = "belief in which option is good now"

    log_odds: bool = False

    n_options = 2

    parameters = (
        TEMPERATURE,
        Shape("hazard", 0.001, 0.5, n_grid=17),
        Shape("reliability", 0.501, 0.999, n_grid=17),
    )

    def state(self) -> Mapping[str, float]:
        """Belief that the first option is the good one."""
        return {"belief": 0.5}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        if c.log_odds == 1:
            x[0, 0] = log(s.belief) - log(1.0 - s.belief)
        else:
            x[0, 0] = s.belief
            x[1, 0] = 1.0 - s.belief

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Bayes' rule, then the hazard of a reversal."""
        speaks_for_first = (e.reward > 0) == (e.choice == 0)
        hit = psi.reliability if speaks_for_first else 1.0 - psi.reliability
        miss = 1.0 - psi.reliability if speaks_for_first else psi.reliability
        good = s.belief * hit
        bad = (1.0 - s.belief) * miss
        s.belief = (good * (1.0 - psi.hazard) + bad * psi.hazard) * (1.0 / (good + bad))

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Belief in each option."""
        plain = HiddenState()
        return {"belief": plain.explanatory(episode, *psi)[:, :, 0]}

    def __str__(self) -> str:
        return "hidden state" + (", log-odds" if self.log_odds else "")
