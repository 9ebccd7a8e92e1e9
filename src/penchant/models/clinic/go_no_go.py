"""Go/no-go with Pavlovian biases (Guitart-Masip et al. 2012).

Every cue has a value of its own, S, and a value of each response, Q. After an outcome r

    S_cue <- S_cue + e (r - S_cue),    Q_cue,taken <- Q_cue,taken + e (r - Q_cue,taken),

and the objectives are

    go:     rho (Q_cue,go + pi S_cue) + b,
    no-go:  rho Q_cue,no-go,

with the outcome sensitivity rho, a bias b to respond, and a Pavlovian weight pi by which cues that
promise gains invite responses and cues that threaten losses prevent them. Values are kept in units
of outcomes: for a given rate e the model is linear in rho, b and pi rho.

With two sensitivities, rho+ for gains and rho- for losses, values of gains and of losses are kept
apart. The Pavlovian weight is then a shape parameter; with pavlovian="by valence" there is one for
gains and one for losses, and the model is linear again.

At a decision the player sees `cue`, from 0. Option 0 is no-go, option 1 is go. There is no lapse:
what other fits take for lapses lowers the sensitivities here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_one_of, check_whole_number
from penchant.errors import DataError
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.recursion import Recursion, rates
from penchant.models.scalars import Fields, Numbers

ONE = ("sensitivity",)
TWO = ("gain_sensitivity", "loss_sensitivity")
VALENCE = ("pavlovian_gain", "pavlovian_loss")
MAX_PAVLOVIAN = 5.0  # Pavlovian weights that are looked at, where they are a shape parameter


@dataclass(frozen=True)
class GoNoGo(Recursion):
    """Instrumental learning with a bias to respond and a Pavlovian one.

    Parameters
    ----------
    n_cues
        Number of cues.
    bias
        A weight b to respond, in log-odds.
    pavlovian
        A weight pi of the cue's value on responding, relative to that of the response. With two
        sensitivities "by valence" has one for gains and one for losses.
    two_sensitivities
        One sensitivity for gains and one for losses.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.GoNoGo()
    >>> truth = {"sensitivity": 5.0, "bias": 0.5, "pavlovian": 0.6, "learning_rate": 0.2}
    >>> rng = np.random.default_rng(3)
    >>> play = pn.simulate(pn.models.GoNoGoWorld(800), model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'sensitivity': 4.4, 'bias': 0.3, 'pavlovian': 0.6, 'learning_rate': 0.2}
    """

    in_brief = "Pavlovian go/no-go"

    n_cues: int = 4
    bias: bool = True
    pavlovian: bool | Literal["by valence"] = True
    two_sensitivities: bool = False

    n_options = 2
    before = ("cue",)

    def __post_init__(self) -> None:
        check_whole_number(self.n_cues, "n_cues", 1)
        check_one_of(self.pavlovian, "pavlovian", (True, False, "by valence"))
        if self.pavlovian == "by valence" and not self.two_sensitivities:
            raise DataError(
                "pavlovian",
                "must be True or False with one sensitivity",
                got="'by valence'",
                fix="Set two_sensitivities=True.",
            )

    @property
    def parameters(self) -> tuple[Row, ...]:
        names = TWO if self.two_sensitivities else ONE
        found = [Parameter.weight(name, positive=True) for name in names]
        found += [Parameter.weight("bias")] if self.bias else []
        if self.pavlovian == "by valence":
            pairs = zip(VALENCE, TWO, strict=True)
            found += [Parameter.ratio(name, f"{name}*sensitivity", to) for name, to in pairs]
        elif self.pavlovian and not self.two_sensitivities:
            found.append(Parameter.ratio("pavlovian", "pavlovian*sensitivity", "sensitivity"))
        if not self._searched:
            return (*found, *rates("learning_rate"))
        pi = Shape("pavlovian", -MAX_PAVLOVIAN, MAX_PAVLOVIAN, n_grid=21)
        return (*found, *rates("learning_rate", of=2), pi)

    @property
    def _searched(self) -> bool:
        """Whether the Pavlovian weight is a shape parameter."""
        return self.two_sensitivities and self.pavlovian is True

    def codes(self) -> Mapping[str, int]:
        return {"cue": self.n_cues}

    def state(self) -> Mapping[str, Matrix]:
        """Values of responses and of cues, each learnt from gains and from losses."""
        return {"q": np.zeros((self.n_cues, 2, 2)), "v": np.zeros((self.n_cues, 2))}

    def bindings(self) -> Mapping[str, float | str]:
        return {"pavlovian": 0.0}

    def settings(self) -> Mapping[str, int]:
        """Column of losses."""
        return {"loss": int(self.two_sensitivities)}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Values of both responses to the cue, that of the cue for go, and 1 for go."""
        if c.at_bias >= 0:
            x[1, c.at_bias] = 1.0
        if e.cue >= 0:
            for v in range(2):
                x[0, v * c.loss] += s.q[e.cue, 0, v]
                x[1, v * c.loss] += s.q[e.cue, 1, v] + psi.pavlovian * s.v[e.cue, v]
            if c.at_pavlovian >= 0:
                x[1, c.at_pavlovian] += s.v[e.cue, 0] + s.v[e.cue, 1]
            if c.at_pavlovian_gain >= 0:
                x[1, c.at_pavlovian_gain] += s.v[e.cue, 0]
                x[1, c.at_pavlovian_loss] += s.v[e.cue, 1]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Delta rule for the cue and for the response to it."""
        for v in range(2):
            r = max(e.reward, 0.0) if v == 0 else min(e.reward, 0.0)
            s.v[e.cue, v] += psi.learning_rate * (r - s.v[e.cue, v])
            s.q[e.cue, e.choice, v] += psi.learning_rate * (r - s.q[e.cue, e.choice, v])

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Value of each response, and of the cue, in units of outcomes."""
        apart = GoNoGo(self.n_cues, False, "by valence", two_sensitivities=True)
        x = apart.explanatory(episode, psi[0])
        cue = x[:, 1, 2:].sum(axis=1)
        return {"value": x[:, :, :2].sum(axis=2), "cue_value": cue}

    def __str__(self) -> str:
        words = [f"go/no-go, {self.n_cues} cues"]
        words += ["bias to respond"] if self.bias else []
        if self.pavlovian:
            words.append("Pavlovian bias" + (" by valence" if self.pavlovian != 1 else ""))
        words += ["sensitivities of gains and losses"] if self.two_sensitivities else []
        return ", ".join(words)
