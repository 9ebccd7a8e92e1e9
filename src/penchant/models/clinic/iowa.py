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
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.models.clinic._kernels import outcome_frequency, prospect_traces
from penchant.models.clinic.recursion import in_turn
from penchant.models.model import finite, positive, share, softmax
from penchant.models.natural import LOG_3_OF_1_MORE, MINUS_LOG_3, Natural, Shape
from penchant.models.record import Record
from penchant.models.recursion import MIN_RATE, N_RATE_GRID, Recursion, rates, shapes
from penchant.softmax._simd import padded_length

RULES = {"decay": 0, "delta": 1, "perseverance": 2}
LEAST_POWER, MOST_POWER = 0.05, 2.0
LEAST_KEPT, MOST_KEPT = 0.002, 0.999


class Decks(Recursion):
    """Base of models of decks, whose net outcomes are divided by a payscale."""

    payscale: float

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)
        if not self.payscale > 0:
            raise DataError(
                f"payscale must be > 0; got {self.payscale}. Give what outcomes are divided by."
            )

    def net(self, record: Record) -> Vector:
        """Outcomes of all cards over the payscale."""
        return np.asarray(
            record.kept(("net", self.payscale), lambda: record.rewards / self.payscale)
        )

    def felt(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool, rule: str
    ) -> tuple[Matrix, Matrix | None]:
        """Traces of what cards are felt to bring, and of choices, and their derivatives."""
        net, size = self.net(record), (self.n_options, len(self.weights))
        log_size = record.kept(("log size", self.payscale), lambda: _log_size(net))
        room = np.zeros(padded_length(int(record.lengths(which).max(initial=0))))
        given = record, which, psi, psi.shape[1] * with_slopes, size, size[0] * size[1]
        seen = record.chosen, net, log_size, record.is_choice
        return in_turn(prospect_traces, *given, *seen, settings=(RULES[rule], room))


def _log_size(net: Vector) -> Vector:
    """log |r|, and 0 where there is nothing to feel."""
    size = np.abs(net)
    return np.log(np.where(np.isfinite(size) & (size > 0), size, 1.0))


@dataclass(frozen=True)
class PVL(Decks):
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

    n_options: int = 4
    rule: Literal["decay", "delta"] = "delta"
    payscale: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in ("decay", "delta"):
            raise DataError(f"rule must be 'decay' or 'delta'; got {self.rule!r}. Choose one.")

    @property
    def weights(self) -> tuple[str, ...]:
        """Of gains and of losses."""
        return ("gain", "loss")

    @property
    def positive(self) -> tuple[str, ...]:
        """Both."""
        return self.weights

    @property
    def shape(self) -> tuple[Shape, ...]:
        """A and s."""
        name = "retention" if self.rule == "decay" else "learning_rate"
        low, high = (0.0, MOST_KEPT) if self.rule == "decay" else (MIN_RATE, 1.0)
        power = Shape("sensitivity", LEAST_POWER, MOST_POWER, n_grid=17)
        return (Shape(name, low, high, n_grid=17), power)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """c, l, A, s."""
        return (*_prospect(), *shapes(self))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Traces of gains and of losses, and their derivatives."""
        return self.felt(record, which, psi, with_slopes, self.rule)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> PVLAgents:
        """Agents who play so."""
        return PVLAgents(self, parameters, n_agents, self.rule)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values as they are felt, in units of gains."""
        return {"value": _felt(self, episode, theta, psi)}

    def __str__(self) -> str:
        return f"prospect valence learning, {self.rule} rule, {self.n_options} decks"


@dataclass(frozen=True)
class VPP(Decks):
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
    >>> [n.name for n in pn.models.VPP().natural][:4]
    ['consistency', 'loss_aversion', 'win_perseverance', 'loss_perseverance']
    """

    n_options: int = 4
    payscale: float = 100.0

    @property
    def weights(self) -> tuple[str, ...]:
        """Of gains, losses, and of traces of choices that won and that lost."""
        return ("gain", "loss", "win_trace", "loss_trace")

    @property
    def positive(self) -> tuple[str, ...]:
        """Of gains and losses."""
        return ("gain", "loss")

    @property
    def shape(self) -> tuple[Shape, ...]:
        """A, s and k."""
        n = N_RATE_GRID[3]
        return (
            Shape("learning_rate", MIN_RATE, 1.0, n_grid=n),
            Shape("sensitivity", LEAST_POWER, MOST_POWER, n_grid=n),
            Shape("perseverance_decay", 0.0, MOST_KEPT, n_grid=n),
        )

    @property
    def natural(self) -> tuple[Natural, ...]:
        """c, l, e+ and e- relative to the weight of gains, A, s, k."""
        traces = (
            Natural("win_perseverance", "ratio", 2, 0),
            Natural("loss_perseverance", "ratio", 3, 0),
        )
        return (*_prospect(), *traces, *shapes(self))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Traces of gains and losses, and of choices that won and lost; their derivatives."""
        return self.felt(record, which, psi, with_slopes, "perseverance")

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> PVLAgents:
        """Agents who play so."""
        return PVLAgents(self, parameters, n_agents, "delta")

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values as they are felt, and perseverance, both in units of gains."""
        x = self.explanatory(episode, *psi)
        habit = np.asarray(x[:, :, 2:] @ theta[2:]) / (theta[0] or 1.0)
        return {"value": _felt(self, episode, theta, psi), "perseverance": habit}

    def notes_on(self, episodes: Any) -> tuple[str, ...]:
        """That w cannot be told."""
        return (
            "The share w of values against perseverance is not identified: every w gives the same "
            "likelihood. Perseverance is told relative to the weight of gains.",
        )

    def __str__(self) -> str:
        return (
            f"values plus perseverance, {self.n_options} decks (the share w of values is not "
            "identified: perseverance is relative to the weight of gains)"
        )


def _prospect() -> tuple[Natural, Natural]:
    return (
        Natural("consistency", "function", 0, curve=LOG_3_OF_1_MORE, low=0.0),
        Natural("loss_aversion", "ratio", 1, 0),
    )


def _felt(model: Any, episode: Any, theta: Vector, psi: Vector) -> Matrix:
    x = model.explanatory(episode, *psi)
    return np.asarray(x[:, :, :2] @ theta[:2]) / (theta[0] or 1.0)


class PVLAgents:
    """Agents in play: values of decks and, for VPP, perseverance."""

    def __init__(
        self, model: Any, parameters: Mapping[str, float], n_agents: int, rule: str
    ) -> None:
        self.model, self.rule, self.who = model, rule, np.arange(n_agents)
        self.theta = 3.0 ** positive(parameters, "consistency") - 1.0
        self.aversion = finite(parameters, "loss_aversion")
        self.power = positive(parameters, "sensitivity")
        self.a = share(parameters, "retention" if rule == "decay" else "learning_rate")
        sticks = "win_perseverance" in parameters
        self.pushes = [
            finite(parameters, f"{kind}_perseverance") if sticks else 0.0
            for kind in ("win", "loss")
        ]
        self.kept = share(parameters, "perseverance_decay") if sticks else 0.0
        self.values = np.zeros((n_agents, model.n_options))
        self.habits = np.zeros((n_agents, model.n_options))

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(self.theta * (self.values + self.habits))

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Feel the outcome, and learn."""
        r = np.asarray(rewards) / self.model.payscale
        size = np.abs(r) ** self.power
        felt = np.where(r >= 0, size, -self.aversion * size)
        own = self.values[self.who, chosen]
        if self.rule == "decay":
            self.values *= self.a
            self.values[self.who, chosen] += felt
        else:
            self.values[self.who, chosen] = own + self.a * (felt - own)
        self.habits *= self.kept
        self.habits[self.who, chosen] += np.where(r >= 0, *self.pushes)


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

    n_options: int = 4
    payscale: float = 100.0

    @property
    def weights(self) -> tuple[str, ...]:
        """v, f, p."""
        return ("value", "frequency", "perseverance")

    @property
    def positive(self) -> tuple[str, ...]:
        """v."""
        return ("value",)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """a+, a- and what is kept of perseverance, 3^-K."""
        kept = Shape("perseverance_kept", LEAST_KEPT, MOST_KEPT, n_grid=N_RATE_GRID[3])
        return (*rates("reward_rate", "punishment_rate", of=3), kept)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """The weights, the rates, and K."""
        decay = Natural("perseverance_decay", "shape function", 2, curve=MINUS_LOG_3)
        weights = (Natural(name, "weight", a) for a, name in enumerate(self.weights))
        return (*weights, *shapes(self)[:-1], decay)

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values, frequencies of wins, perseverance, and their derivatives."""
        given = record, which, psi, 3 * with_slopes, (self.n_options, 3), 3 * self.n_options
        seen = record.chosen, self.net(record), record.is_choice
        return in_turn(outcome_frequency, *given, *seen)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> ORLAgents:
        """Agents who play so."""
        return ORLAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values in units of the payscale, frequencies of wins, perseverance."""
        x = self.explanatory(episode, *psi)
        names = ("value", "win_frequency", "perseverance")
        return {name: x[:, :, a] for a, name in enumerate(names)}

    def __str__(self) -> str:
        return f"outcome-representation learning, {self.n_options} decks"


class ORLAgents:
    """Agents in play."""

    def __init__(self, model: ORL, parameters: Mapping[str, float], n_agents: int) -> None:
        self.model, self.who = model, np.arange(n_agents)
        self.b = [finite(parameters, name) for name in model.weights]
        self.gains = share(parameters, "reward_rate")
        self.losses = share(parameters, "punishment_rate")
        self.decay = 3.0 ** -finite(parameters, "perseverance_decay")
        size = (n_agents, model.n_options)
        self.value, self.often, self.habit = np.zeros(size), np.zeros(size), np.zeros(size)

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(self.b[0] * self.value + self.b[1] * self.often + self.b[2] * self.habit)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn value and frequency, and remember the choice."""
        r = np.asarray(rewards) / self.model.payscale
        sign, at = np.sign(r), (self.who, chosen)
        own = np.where(r >= 0, self.gains, self.losses)
        other = np.where(r >= 0, self.losses, self.gains)[:, None]
        self.value[at] += own * (r - self.value[at])
        mine = self.often[at] + own * (sign - self.often[at])
        others = -sign[:, None] / (self.model.n_options - 1)
        self.often += other * (others - self.often)
        self.often[at] = mine
        self.habit[at] = 1.0
        self.habit *= self.decay
