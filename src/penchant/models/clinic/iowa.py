"""The Iowa gambling task: prospect valence (PVL), value plus perseverance (VPP), ORL.

With r the net outcome of a card over a payscale, PVL feels u = r^s after gains and -l |r|^s after
losses, and

    decay:  V_i <- A V_i for all decks, then V_c <- V_c + u,
    delta:  V_c <- V_c + A (u - V_c),
    eta_i = (3^c - 1) V_i.

Traces of gains and of losses are kept apart, so that for given A and s the model is linear in two
weights, of gains, 3^c - 1, and of losses, l (3^c - 1): the consistency is c = log3(1 + first), the
loss aversion l their ratio. A is what is kept in the decay rule, and a learning rate in the other.

VPP adds perseverance to the delta rule: all P_i <- k P_i, then P_c grows by e+ after gains and e-
after losses,

    eta_i = theta (w V_i + (1 - w) P_i).

There are four weights, theta w, theta w l, theta (1 - w) e+ and theta (1 - w) e-, for five
parameters: every w between 0 and 1 gives the same likelihood with other c, e+ and e-. **w is not
identified**, and what is reported of e+ and e- is relative to the weight of gains.

ORL (Haines et al. 2018) learns values, how often decks win, and perseverance. With s = sign r, own
rate a+ after gains and a- after losses, and the other one of these for decks not taken,

    E_c <- E_c + a_own (r - E_c),
    F_c <- F_c + a_own (s - F_c),    F_others <- F_others + a_other (-s/(m - 1) - F_others),
    P_c <- 1, then all P_i <- P_i / 3^K,
    eta_i = v E_i + f F_i + p P_i.

The weight v of values, 1 by definition in other places, is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.recursion import MIN_RATE, N_RATE_GRID, Recursion, rates
from penchant.models.scalars import Fields, Numbers
from penchant.models.transforms import Transform

LEAST_POWER, MOST_POWER = 0.05, 2.0
LEAST_KEPT, MOST_KEPT = 0.002, 0.999


class Decks(Recursion):
    """Base of models of decks, whose net outcomes are divided by a payscale."""

    payscale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.payscale, "payscale", above=0, fix="Give what outcomes are divided by.")


class ProspectDecks(Decks):
    """Base of models in which outcomes are felt, gains apart from losses."""

    def state(self) -> Mapping[str, Matrix]:
        """Traces of gains and of losses of every deck; those of choices that won and lost."""
        return {"felt": np.zeros((self.n_options, 2)), "habit": np.zeros((self.n_options, 2))}

    def settings(self) -> Mapping[str, float]:
        """Also whether traces decay, and whether there are habits."""
        decays, habits = self.shape[0].name == "retention", len(self.shape) == 3
        return {**super().settings(), "decays": int(decays), "habits": int(habits)}

    def bindings(self) -> Mapping[str, float | str]:
        """A under its name; no habits where the model has none."""
        return {"a": self.shape[0].name, "perseverance_decay": 0.0}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        for i in range(c.n):
            for v in range(2):
                x[i, v] = s.felt[i, v]
                if c.habits == 1:
                    x[i, 2 + v] = s.habit[i, v]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Feel the outcome, by the rule of decay or the delta rule, and remember the choice."""
        r = e.reward / c.payscale
        log_size = log(abs(r)) if r != 0 else 0.0
        size = exp(min(psi.sensitivity * log_size, 700.0))  # exp(710) is infinite
        for v in range(2):
            u = (size if r > 0 else 0.0) if v == 0 else (-size if r < 0 else 0.0)
            if c.decays == 1:
                for i in range(c.n):
                    s.felt[i, v] *= psi.a
                s.felt[e.choice, v] += u
            else:
                s.felt[e.choice, v] += psi.a * (u - s.felt[e.choice, v])
            if c.habits == 1 and e.is_choice == 1:
                for i in range(c.n):
                    s.habit[i, v] *= psi.perseverance_decay
                s.habit[e.choice, v] += 1.0 if (r >= 0) == (v == 0) else 0.0


# c, of the weight 3^c - 1 of gains; l
PROSPECT = (
    Parameter(
        "consistency",
        ("gain",),
        transform=Transform("log3(1 + u)"),
        is_positive_weight=True,
        is_derived=True,
        low=0.0,
    ),
    Parameter.ratio("loss_aversion", "loss", "gain", positive=True),
)


@dataclass(frozen=True)
class PVL(ProspectDecks):
    """Prospect valence learning: theta = (3^c - 1, l (3^c - 1)), psi = (A, s).

    Parameters
    ----------
    n_options
        Number of decks.
    rule
        "decay" or "delta".
    payscale
        What net outcomes are divided by.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.PVL(4, rule="delta")
    >>> truth = {"consistency": 0.8, "loss_aversion": 1.5, "learning_rate": 0.2}
    >>> truth |= {"sensitivity": 0.6}
    >>> rng = np.random.default_rng(1)
    >>> decks = pn.models.iowa_schedule(400, rng=rng)
    >>> play = pn.simulate(pn.Task(decks), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('gain', 'loss', 'learning_rate', 'sensitivity')
    """

    in_brief = "Iowa gambling, prospect valence"

    n_options: int = 4
    rule: Literal["decay", "delta"] = "delta"
    payscale: float = 100.0

    @property
    def parameters(self) -> tuple[Row, ...]:
        name = "retention" if self.rule == "decay" else "learning_rate"
        low, high = (0.0, MOST_KEPT) if self.rule == "decay" else (MIN_RATE, 1.0)
        power = Shape("sensitivity", LEAST_POWER, MOST_POWER, n_grid=17)
        return (*PROSPECT, Shape(name, low, high, n_grid=17), power)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values as they are felt, in units of gains."""
        return {"value": _felt(self, episode, theta, psi)}

    def __str__(self) -> str:
        return f"prospect valence learning, {self.rule} rule, {self.n_options} decks"


@dataclass(frozen=True)
class VPP(ProspectDecks):
    """Values plus perseverance: four weights, psi = (A, s, k).

    Parameters
    ----------
    n_options
        Number of decks.
    payscale
        What net outcomes are divided by.

    Examples
    --------
    >>> import penchant as pn
    >>> [row.name for row in pn.models.VPP().rows][:4]
    ['consistency', 'loss_aversion', 'win_perseverance', 'loss_perseverance']
    """

    in_brief = "Iowa gambling, value and perseverance"

    n_options: int = 4
    payscale: float = 100.0

    # c, l, e+ and e- relative to the weight of gains, A, s, k
    parameters = (
        *PROSPECT,
        Parameter.ratio("win_perseverance", "win_trace", "gain"),
        Parameter.ratio("loss_perseverance", "loss_trace", "gain"),
        Shape("learning_rate", MIN_RATE, 1.0, n_grid=N_RATE_GRID[3]),
        Shape("sensitivity", LEAST_POWER, MOST_POWER, n_grid=N_RATE_GRID[3]),
        Shape("perseverance_decay", 0.0, MOST_KEPT, n_grid=N_RATE_GRID[3]),
    )

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values as they are felt, and perseverance, both in units of gains."""
        x = self.explanatory(episode, *psi)
        habit = np.asarray(x[:, :, 2:] @ theta[2:]) / (theta[0] or 1.0)
        return {"value": _felt(self, episode, theta, psi), "perseverance": habit}

    def __str__(self) -> str:
        return (
            f"values plus perseverance, {self.n_options} decks (the share w of values is not "
            "identified: perseverance is relative to the weight of gains)"
        )


def _felt(model: Any, episode: Any, theta: Vector, psi: Vector) -> Matrix:
    x = model.explanatory(episode, *psi)
    return np.asarray(x[:, :, :2] @ theta[:2]) / (theta[0] or 1.0)


@dataclass(frozen=True)
class ORL(Decks):
    """Outcome-representation learning: theta = (v, f, p), psi = (a+, a-, kept).

    Parameters
    ----------
    n_options
        Number of decks.
    payscale
        What net outcomes are divided by.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.ORL()
    >>> truth = {"value": 1.0, "frequency": 2.0, "perseverance": 1.0}
    >>> truth |= {"reward_rate": 0.3, "punishment_rate": 0.1, "perseverance_decay": 0.5}
    >>> rng = np.random.default_rng(1)
    >>> decks = pn.models.iowa_schedule(200, rng=rng)
    >>> play = pn.simulate(pn.Task(decks), model, truth, rng=rng)
    >>> pn.fit(play, model).names[:3]
    ('value', 'frequency', 'perseverance')
    """

    in_brief = "Iowa gambling, outcome representation"

    n_options: int = 4
    payscale: float = 100.0

    # v, f, p; a+, a- and K, of what is kept of perseverance, 3^-K
    parameters = (
        Parameter.weight("value", positive=True),
        Parameter.weight("frequency"),
        Parameter.weight("perseverance"),
        *rates("reward_rate", "punishment_rate", of=3),
        Parameter(
            "perseverance_decay",
            shape=Shape("perseverance_kept", LEAST_KEPT, MOST_KEPT, n_grid=N_RATE_GRID[3]),
            transform=Transform("-log3 u"),
            is_derived=True,
        ),
    )

    def state(self) -> Mapping[str, Vector]:
        """Value, frequency of wins, and perseverance of every deck."""
        return {name: np.zeros(self.n_options) for name in ("value", "often", "habit")}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        for i in range(c.n):
            x[i, 0] = s.value[i]
            x[i, 1] = s.often[i]
            x[i, 2] = s.habit[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Delta rules for the deck taken and, in frequency, for the others; perseverance decays."""
        r = e.reward / c.payscale
        own = psi.reward_rate if r >= 0 else psi.punishment_rate
        other = psi.punishment_rate if r >= 0 else psi.reward_rate
        sign = 1.0 if r > 0 else (-1.0 if r < 0 else 0.0)
        s.value[e.choice] += own * (r - s.value[e.choice])
        for i in range(c.n):
            rate = own if i == e.choice else other
            target = sign if i == e.choice else -sign / (c.n - 1)
            s.often[i] += rate * (target - s.often[i])
        if e.is_choice == 1:
            s.habit[e.choice] = 1.0
            for i in range(c.n):
                s.habit[i] *= psi.perseverance_kept

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values in units of the payscale, frequencies of wins, perseverance."""
        x = self.explanatory(episode, *psi)
        names = ("value", "win_frequency", "perseverance")
        return {name: x[:, :, a] for a, name in enumerate(names)}

    def __str__(self) -> str:
        return f"outcome-representation learning, {self.n_options} decks"
