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
from dataclasses import dataclass

from penchant.models.parameters import Parameter, Shape
from penchant.models.recursion import ValueModel, rates
from penchant.models.scalars import Fields, Numbers


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

    in_brief = "punishments whose sizes are shown"
    smooth = False  # probabilities are cut off at 0 and 1

    n_options = 2
    before = ("magnitude_0", "magnitude_1")
    after = ("outcome",)

    # a grid as fine as that of a rate alone: along gamma run ridges that are narrow in the rate
    parameters = (
        Parameter.weight("inverse_temperature", positive=True),
        *rates("learning_rate", of=1),
        Shape("gamma", 0.1, 10.0, scale="log", n_grid=21),
    )

    def state(self) -> Mapping[str, float]:
        """Probability that the first option is the punished one."""
        return {"first": 0.5}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Minus the punishment that is expected of each option; 0 where no size was shown."""
        away = s.first - 0.5
        for i in range(2):
            size = e.magnitude_0 if i == 0 else e.magnitude_1
            felt = 0.5 + psi.gamma * (away if i == 0 else -away)
            cut = min(max(felt, 0.0), 1.0)
            x[i, 0] = -cut * (size if size == size else 0.0)

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Delta rule towards what was punished, after a choice."""
        if e.choice >= 0:
            s.first += psi.learning_rate * (e.outcome - s.first)

    def __str__(self) -> str:
        return "aversive learning, sizes shown"
