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
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.models.clinic._kernels import go_no_go
from penchant.models.clinic.recursion import Recursion, codes, given, in_turn, rates, shapes
from penchant.models.model import finite, share, softmax
from penchant.models.natural import Natural, Shape
from penchant.models.record import Record

ONE = ("sensitivity",)
TWO = ("gain_sensitivity", "loss_sensitivity")
VALENCE = ("pavlovian_gain", "pavlovian_loss")
MOST = 5.0  # Pavlovian weights that are looked at, where they are a shape parameter


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

    n_cues: int = 4
    bias: bool = True
    pavlovian: bool | Literal["by valence"] = True
    two_sensitivities: bool = False

    n_options: int = field(default=2, init=False, repr=False)
    before: tuple[str, ...] = field(default=("cue",), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_cues, "n_cues", 1)
        if self.pavlovian not in (True, False, "by valence"):
            raise DataError(
                f"pavlovian must be True, False or 'by valence'; got {self.pavlovian!r}. Choose "
                "one."
            )
        if self.pavlovian == "by valence" and not self.two_sensitivities:
            raise DataError(
                "pavlovian must be True or False with one sensitivity; got 'by valence'. Set "
                "two_sensitivities=True."
            )

    @property
    def weights(self) -> tuple[str, ...]:
        """rho; b; pi rho."""
        names = list(TWO if self.two_sensitivities else ONE)
        names += ["bias"] if self.bias else []
        if self.pavlovian == "by valence":
            names += [f"{name}*sensitivity" for name in VALENCE]
        elif self.pavlovian and not self.two_sensitivities:
            names.append("pavlovian*sensitivity")
        return tuple(names)

    @property
    def positive(self) -> tuple[str, ...]:
        """Sensitivities."""
        return TWO if self.two_sensitivities else ONE

    @property
    def _searched(self) -> bool:
        """Whether the Pavlovian weight is a shape parameter."""
        return self.two_sensitivities and self.pavlovian is True

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The learning rate, and the Pavlovian weight of two sensitivities."""
        if not self._searched:
            return rates("learning_rate")
        pi = Shape("pavlovian", -MOST, MOST, n_grid=21)
        return (*rates("learning_rate", of=2), pi)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """rho, b, pi, e."""
        names = self.weights
        found = [Natural(name, "weight", a) for a, name in enumerate(names) if "*" not in name]
        if self.pavlovian == "by valence":
            places = [names.index(f"{name}*sensitivity") for name in VALENCE]
            found += [Natural(n, "ratio", places[v], v) for v, n in enumerate(VALENCE)]
        elif self.pavlovian and not self.two_sensitivities:
            found.append(Natural("pavlovian", "ratio", len(names) - 1, 0))
        return (*found, *shapes(self))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values of the cue's responses, of the cue, and 1 for go, and their derivatives."""
        cue = codes(record.before("cue"), "cue", 0, self.n_cues - 1, record)
        size, n_slopes = (2, len(self.weights)), psi.shape[1] * with_slopes
        given = record, which, psi, n_slopes, size, 6 * self.n_cues
        seen, columns = (record.chosen, record.rewards, cue), (np.array(self._columns),)
        return in_turn(go_no_go, *given, *seen, settings=columns)

    @property
    def _columns(self) -> tuple[int, int, int, int]:
        """Where values of losses go, the 1 for go, and values of the cue; -1 for nowhere."""
        names = self.weights
        bias = names.index("bias") if self.bias else -1
        if self.pavlovian == "by valence":
            return 1, bias, len(names) - 2, len(names) - 1
        told = self.pavlovian and not self.two_sensitivities
        cue = len(names) - 1 if told else -1
        return int(self.two_sensitivities), bias, cue, cue

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> GoNoGoAgents:
        """Agents who play so."""
        return GoNoGoAgents(self, parameters, n_agents)

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


class GoNoGoAgents:
    """Agents in play: values of cues and of responses to them, as felt, in log-odds."""

    def __init__(self, model: GoNoGo, parameters: Mapping[str, float], n_agents: int) -> None:
        names = TWO if model.two_sensitivities else ONE * 2
        self.sensitivity = [finite(parameters, name) for name in names]
        if model.pavlovian == "by valence":
            self.pi = [finite(parameters, name) for name in VALENCE]
        else:
            self.pi = [given(parameters, "pavlovian", 0.0)] * 2
        self.bias = given(parameters, "bias", 0.0)
        self.rate = share(parameters, "learning_rate")
        self.who = np.arange(n_agents)
        self.responses = np.zeros((n_agents, model.n_cues, 2))
        self.pull = np.zeros((n_agents, model.n_cues))
        self.cue = np.zeros(n_agents, dtype=np.int64)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent at its cue."""
        self.cue = np.asarray(before["cue"]).astype(np.int64)
        q = self.responses[self.who, self.cue].copy()
        q[:, 1] += self.pull[self.who, self.cue] + self.bias
        return softmax(q)

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Learn what the response and the cue are worth."""
        gain, loss = np.maximum(rewards, 0.0), np.minimum(rewards, 0.0)
        felt = self.sensitivity[0] * gain + self.sensitivity[1] * loss
        pulls = self.pi[0] * self.sensitivity[0] * gain + self.pi[1] * self.sensitivity[1] * loss
        at = self.who, self.cue, chosen
        self.responses[at] += self.rate * (felt - self.responses[at])
        cues = self.who, self.cue
        self.pull[cues] += self.rate * (pulls - self.pull[cues])
