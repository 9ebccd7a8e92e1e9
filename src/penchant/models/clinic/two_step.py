"""The two-step task: how much of a choice is model-based, how much model-free (Daw et al. 2011).

A trial has two decisions. The first, between two options, leads to one of two states: option i to
state i with probability p, to the other one otherwise. The second is between the two options of the
state, and is paid r. With Q2 the values of the four second-stage options and best_s the larger one
of state s,

    MB_i    = p best_i + (1 - p) best_other,
    MF_c1  <- MF_c1 + a1 (Q2_c2 - MF_c1),
    T_c1   <- T_c1 + a1 (r - Q2_c2 - T_c1),
    Q2_c2  <- Q2_c2 + a2 (r - Q2_c2),

and the objectives of the two decisions are

    stage 1:  beta1 (w MB_i + (1 - w) (MF_i + lambda T_i)) + pi 1(i = last first choice),
    stage 2:  beta2 Q2_i.

MF + lambda T is what the eligibility trace lambda makes of the model-free value, exactly. So for
given rates a1 and a2 the model is linear in the weights beta1 w, beta1 (1 - w) (1 - lambda) and
beta1 (1 - w) lambda, of model-based values and of model-free ones without and with the whole trace,
and in pi and beta2. As no weight but pi is negative, w and lambda lie between 0 and 1.

The error of the trace is taken before the second-stage value moves (Daw et al.), so that lambda = 1
is full reinforcement; with trace="after" it is taken after it, and their lambda is lambda (1 - a2).

The larger of two values makes kinks in a2: at a maximum on one, standard errors are those of the
expected information.

At a decision the player sees `state`: 0 in the first stage, 1 or 2 in the second. The reward of a
first-stage decision is 0. Nothing is learnt from a trial without a second choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.clinic._kernels import stay, two_step
from penchant.models.clinic.recursion import column, in_turn
from penchant.models.model import finite, positive, share, softmax
from penchant.models.natural import Natural, Shape
from penchant.models.record import Record, blank_variables, known_number
from penchant.models.recursion import Recursion, codes, rates, shapes

BASED, FREE, TRACED = "model_based", "model_free", "model_free_with_trace"


@dataclass(frozen=True)
class TwoStep(Recursion):
    """Model-based and model-free learning in the two-step task.

    Parameters
    ----------
    common
        Probability p of the usual transition, which the player knows.
    trace
        Whether the error that reaches the first stage is taken "before" the second-stage value
        moves, or "after".
    trace_decay
        lambda, from 0 to 1; None: estimated.
    same_rates
        One learning rate for both stages.
    same_temperatures
        One inverse temperature for both stages.
    stickiness
        A weight pi for repeating the last first-stage choice, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.TwoStep(trace_decay=1.0, same_rates=True, same_temperatures=True)
    >>> truth = {"inverse_temperature": 4.0, "model_based_share": 0.6, "stickiness": 0.3}
    >>> truth |= {"learning_rate": 0.5}
    >>> rng = np.random.default_rng(2)
    >>> play = pn.simulate(pn.models.TwoStepWorld(600), model, truth, rng=rng)
    >>> pn.fit(play, model).status
    'converged'
    """

    common: float = 0.7
    trace: Literal["before", "after"] = "before"
    trace_decay: float | None = None
    same_rates: bool = False
    same_temperatures: bool = False
    stickiness: bool = True

    n_options: int = field(default=2, init=False, repr=False)
    before: tuple[str, ...] = field(default=("state",), init=False, repr=False)

    def __post_init__(self) -> None:
        known_number(self.common, "common", "Give the probability of the usual transition.")
        if not 0.5 < self.common <= 1:
            raise DataError(
                f"common must lie above 0.5, up to 1; got {self.common}. Give the larger of the "
                "two probabilities."
            )
        if self.trace not in ("before", "after"):
            raise DataError(f"trace must be 'before' or 'after'; got {self.trace!r}. Choose one.")
        if self.trace_decay is not None:
            known_number(self.trace_decay, "trace_decay", "Give None to estimate it.")
            if not 0 <= self.trace_decay <= 1:
                raise DataError(
                    f"trace_decay must lie in 0..1, or be None; got {self.trace_decay}. Correct it."
                )

    @property
    def weights(self) -> tuple[str, ...]:
        """beta1 w; beta1 (1 - w) of what the trace is; pi; beta2."""
        free = (FREE, TRACED) if self.trace_decay is None else (FREE,)
        sticky = ("stickiness",) if self.stickiness else ()
        second = () if self.same_temperatures else ("inverse_temperature_2",)
        return (BASED, *free, *sticky, *second)

    @property
    def positive(self) -> tuple[str, ...]:
        """All but stickiness."""
        return tuple(name for name in self.weights if name != "stickiness")

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Learning rates of the stages."""
        if self.same_rates:
            return rates("learning_rate")
        return rates("learning_rate_1", "learning_rate_2")

    @property
    def smooth(self) -> bool:
        """No: where two values are equal, the other one becomes the larger."""
        return False

    @property
    def natural(self) -> tuple[Natural, ...]:
        """beta1, w, lambda, pi, beta2 and the rates."""
        names = self.weights
        free = tuple(names.index(name) for name in (FREE, TRACED) if name in names)
        found = [
            Natural("inverse_temperature", "function", 0, parts=(0, *free), low=0.0),
            Natural(
                "model_based_share", "function", 0, parts=(0,), over=(0, *free), low=0.0, high=1.0
            ),
        ]
        if self.trace_decay is None:
            found.append(
                Natural("trace_decay", "function", 2, parts=(2,), over=free, low=0.0, high=1.0)
            )
        found += [
            Natural(name, "weight", names.index(name))
            for name in ("stickiness", "inverse_temperature_2")
            if name in names
        ]
        return (*found, *shapes(self))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values before every decision, by stage, and their derivatives."""
        names, known = self.weights, -1.0 if self.trace_decay is None else self.trace_decay
        sought = ("stickiness", "inverse_temperature_2")
        columns = np.array([names.index(name) if name in names else -1 for name in sought])
        settings = float(self.common), self.trace == "after", float(known), columns
        given = record, which, psi, psi.shape[1] * with_slopes, (2, len(names)), 8
        seen = record.chosen, record.rewards, record.is_choice, _states(record)
        return in_turn(two_step, *given, *seen, settings=settings)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> TwoStepAgents:
        """Agents who play so."""
        return TwoStepAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Value of the options at hand, in the units of their stage; model-based and model-free."""
        x = self.explanatory(episode, *psi)
        raw = TwoStep(self.common, self.trace, stickiness=self.stickiness)
        both = (psi[0], psi[-1])
        columns = raw.explanatory(episode, *both)
        first = (episode.before["state"] == 0)[:, None]
        free = tuple(name for name in (FREE, TRACED) if name in self.weights)
        total = sum(theta[self.weights.index(name)] for name in (BASED, *free))
        mixed = column(x, self.weights, theta, BASED, *free) / (total if total > 0 else 1.0)
        second = columns[:, :, raw.weights.index("inverse_temperature_2")]
        return {
            "value": np.where(first, mixed, second),
            "model_based_value": np.where(first, columns[:, :, 0], np.nan),
            "model_free_value": np.where(first, columns[:, :, 1], np.nan),
        }

    def __str__(self) -> str:
        words = [f"two-step, usual transition {self.common:g}, trace {self.trace} the update"]
        if self.trace_decay is not None:
            words.append(f"trace decay {self.trace_decay:g}")
        words += ["one learning rate"] if self.same_rates else []
        words += ["one inverse temperature"] if self.same_temperatures else []
        words += [] if self.stickiness else ["no stickiness"]
        return ", ".join(words)


def _states(record: Record) -> IntVector:
    return codes(record.before("state"), "state", 0, 2, record)


class TwoStepAgents:
    """Agents in play, by the equations of the first lines of this file."""

    def __init__(self, model: TwoStep, parameters: Mapping[str, float], n_agents: int) -> None:
        self.model, self.who = model, np.arange(n_agents)
        self.beta1 = positive(parameters, "inverse_temperature")
        both = "inverse_temperature_2" not in parameters
        self.beta2 = self.beta1 if both else positive(parameters, "inverse_temperature_2")
        self.w = share(parameters, "model_based_share")
        known = model.trace_decay
        self.decay = share(parameters, "trace_decay") if known is None else known
        self.pi = finite(parameters, "stickiness") if model.stickiness else 0.0
        names = [s.name for s in model.shape]
        self.a1, self.a2 = share(parameters, names[0]), share(parameters, names[-1])
        self.second = np.zeros((n_agents, 2, 2))
        self.first = np.zeros((n_agents, 2))
        self.last = np.full(n_agents, -1)
        self.state = np.zeros(n_agents, dtype=np.int64)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent in its state."""
        self.state = np.asarray(before["state"]).astype(np.int64)
        best = self.second.max(axis=2)
        p = self.model.common
        based = p * best + (1 - p) * best[:, ::-1]
        q = self.beta1 * (self.w * based + (1 - self.w) * self.first)
        q = q + self.pi * (self.last[:, None] == np.arange(2))
        there = np.maximum(self.state - 1, 0)
        paid = self.beta2 * self.second[self.who, there]
        return softmax(np.where(self.state[:, None] == 0, q, paid))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Learn after the second choice."""
        for a in self.who:
            if self.state[a] == 0:
                self.last[a] = chosen[a]
                continue
            at = a, self.state[a] - 1, chosen[a]
            old, c1 = self.second[at], self.last[a]
            self.second[at] += self.a2 * (rewards[a] - old)
            error = rewards[a] - (self.second[at] if self.model.trace == "after" else old)
            target = old + self.decay * error
            self.first[a, c1] += self.a1 * (target - self.first[a, c1])


STAY = ("stay", "reward", "transition", "reward:transition")


@dataclass(frozen=True)
class StayRegression(Recursion):
    """To stay with the last first-stage choice: stay ~ reward x transition, without learning.

    The weights are log-odds of repeating the last first-stage choice: at all, more after a reward
    (1) than without (-1), more after a usual transition (1) than a rare one (-1), and their
    product, which model-based players have. The likelihood is concave. Second-stage choices are
    taken for coin flips.

    Parameters
    ----------
    win_above
        A reward above this counts as one.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.StayRegression()
    >>> truth = {"stay": 1.0, "reward": 0.3, "transition": 0.0, "reward:transition": 0.5}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.TwoStepWorld(300), model, truth, rng=rng)
    >>> [round(float(b), 1) for b in pn.fit(play, model).theta]
    [1.5, 0.4, -0.2, 0.3]
    """

    win_above: float = 0.0

    n_options: int = field(default=2, init=False, repr=False)
    before: tuple[str, ...] = field(default=("state",), init=False, repr=False)

    @property
    def weights(self) -> tuple[str, ...]:
        """Stay, and how it goes with reward and transition."""
        return STAY

    @property
    def shape(self) -> tuple[Shape, ...]:
        """None."""
        return ()

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """1, reward, transition and their product, for the last first-stage choice."""
        x, slopes = blank_variables(record, which, 2, 4, 0)
        seen = record.chosen, record.rewards, _states(record)
        stay(*seen, record.starts, which, float(self.win_above), x)
        return x, slopes

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> StayAgents:
        """Agents who play so."""
        return StayAgents(self.win_above, parameters, n_agents)

    def __str__(self) -> str:
        return "stay ~ reward x transition"


class StayAgents:
    """Agents who stay or shift by their last trial."""

    def __init__(self, win_above: float, parameters: Mapping[str, float], n: int) -> None:
        self.b = [finite(parameters, name) for name in STAY]
        self.win_above, self.n = win_above, n
        self.first, self.last = np.full(n, -1), np.full(n, -1)
        self.push, self.state = np.zeros(n), np.zeros(n, dtype=np.int64)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent in its state."""
        self.state = np.asarray(before["state"]).astype(np.int64)
        staying = self.push[:, None] * (self.last[:, None] == np.arange(2))
        return softmax(np.where(self.state[:, None] == 0, staying, 0.0))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Remember the trial."""
        first = self.state == 0
        self.first = np.where(first, chosen, self.first)
        won = np.where(rewards > self.win_above, 1.0, -1.0)
        usual = np.where(self.state - 1 == self.first, 1.0, -1.0)
        push = self.b[0] + self.b[1] * won + self.b[2] * usual + self.b[3] * won * usual
        self.last = np.where(first, self.last, self.first)
        self.push = np.where(first, self.push, push)
