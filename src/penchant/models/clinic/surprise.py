"""Rates that depend on what happens: associability by surprise, and confirmation of choices.

Pearce-Hall: values are learnt at a rate that follows the size of recent errors d = r - Q_c,

    Q_c <- Q_c + s k_c d,    then k_c <- k_c + g (|d| - k_c), from 1,    eta_i = Q_i / tau.

Where rewards are large the rate s k_c may be so large that values grow without bound: such psi are
passed over.

Confirmation (Palminteri et al. 2017), where what the other option would have paid is seen: errors
that speak for the choice, good news of the option taken and bad news of the other one, are learnt
from at the rate a_c, the others at a_d,

    Q_i <- Q_i + a (r_i - Q_i),    eta_i = Q_i / tau + phi 1(i = last choice),

with phi if stickiness is asked for: who repeats choices seems to seek confirmation without it. What
is learnt after a decision is `forgone`, the reward of the option not taken. Both have kinks in
their rates, where an error is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from penchant._typing import Vector
from penchant.models.controls import control_names
from penchant.models.parameters import TEMPERATURE, Parameter, Row
from penchant.models.recursion import ValueModel, rates
from penchant.models.scalars import Fields, Numbers


@dataclass(frozen=True)
class PearceHall(ValueModel):
    """Learning at a rate that follows surprise: theta = 1/tau, psi = (s, g).

    Parameters
    ----------
    n_options
        Number of options.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.PearceHall(2)
    >>> truth = {"temperature": 0.3, "learning_scale": 0.4, "associability_rate": 0.3}
    >>> rng = np.random.default_rng(1)
    >>> pays = pn.models.reversal_schedule(400, rng=rng)
    >>> play = pn.simulate(pn.Task(pays), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('inverse_temperature', 'learning_scale', 'associability_rate')
    """

    in_brief = "rate by surprise"
    smooth = False  # the size of an error has a kink where it is 0

    n_options: int

    outside = True

    parameters = (TEMPERATURE, *rates("learning_scale", "associability_rate"))

    def state(self) -> Mapping[str, Vector]:
        """Value and associability of every option."""
        return {"value": np.zeros(self.n_options), "associability": np.ones(self.n_options)}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        for i in range(c.n):
            x[i, 0] = s.value[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Learn in proportion to associability, which follows the size of errors."""
        error = e.reward - s.value[e.choice]
        a = s.associability[e.choice]
        value = s.value[e.choice] + psi.learning_scale * a * error
        # At a rate above 2 errors grow without bound: there the model does not exist.
        s.value[e.choice] = value if abs(value) < 1e100 else nan
        s.associability[e.choice] = a + psi.associability_rate * (abs(error) - a)

    def __str__(self) -> str:
        return f"Pearce-Hall, {self.n_options} options"


@dataclass(frozen=True)
class ConfirmationBias(ValueModel):
    """Two options, both seen: theta = 1/tau, psi = (a_c, a_d).

    Parameters
    ----------
    stickiness
        A weight phi for repeating the last choice, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.ConfirmationBias()
    >>> truth = {"temperature": 0.3, "confirmatory_rate": 0.4, "disconfirmatory_rate": 0.2}
    >>> rng = np.random.default_rng(1)
    >>> world = pn.models.FullFeedbackWorld(pn.models.reversal_schedule(400, rng=rng))
    >>> play = pn.simulate(world, model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'temperature': 0.2, 'confirmatory_rate': 0.3, 'disconfirmatory_rate': 0.2}
    """

    in_brief = "full feedback, two rates"
    smooth = False  # where an error is 0, the other rate takes over

    stickiness: bool = False

    n_options = 2
    after = ("forgone",)

    @property
    def parameters(self) -> tuple[Row, ...]:
        sticky = map(Parameter.weight, control_names(2, self.stickiness, False))
        return (TEMPERATURE, *sticky, *rates("confirmatory_rate", "disconfirmatory_rate"))

    def state(self) -> Mapping[str, ArrayLike]:
        """Value of both options, and the last choice, -1 before the first."""
        return {"value": np.zeros(2), "last": -1.0}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        for i in range(2):
            x[i, 0] = s.value[i]
            if c.stickiness == 1 and s.last == i:
                x[i, 1] = 1.0

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Delta rule for both options; what speaks for the choice has a rate of its own."""
        for i in range(2):
            error = (e.reward if i == e.choice else e.forgone) - s.value[i]
            confirms = (error >= 0) == (i == e.choice)
            s.value[i] += (psi.confirmatory_rate if confirms else psi.disconfirmatory_rate) * error
        if e.is_choice == 1:
            s.last = e.choice

    def __str__(self) -> str:
        return "confirmation bias with full feedback" + (", stickiness" if self.stickiness else "")
