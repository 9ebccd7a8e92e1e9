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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.errors import DataError
from penchant.models.parameters import Parameter, Row
from penchant.models.recursion import Recursion, rates
from penchant.models.scalars import Fields, Numbers

BASED, FREE, TRACED = "model_based", "model_free", "model_free_with_trace"


class TwoStageModel(Recursion):
    """Base of models of the two-step task: at a decision `state` is seen, 0 in the first stage."""

    n_options = 2
    before = ("state",)
    optional = ("choice", "reward")

    def codes(self) -> Mapping[str, int]:
        """The first stage, and two states of the second."""
        return {"state": 3}


@dataclass(frozen=True)
class TwoStep(TwoStageModel):
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

    in_brief = "model-based and model-free"
    smooth = False  # where two values are equal, the other one becomes the larger

    common: float = 0.7
    trace: Literal["before", "after"] = "before"
    trace_decay: float | None = None
    same_rates: bool = False
    same_temperatures: bool = False
    stickiness: bool = True

    def __post_init__(self) -> None:
        check_number(self.common, "common", fix="Give the probability of the usual transition.")
        if not 0.5 < self.common <= 1:
            raise DataError(
                "common",
                "must lie above 0.5, up to 1",
                got=self.common,
                fix="Give the larger of the two probabilities.",
            )
        super().__post_init__()
        if self.trace_decay is not None:
            check_number(
                self.trace_decay, "trace_decay", least=0, most=1, fix="Give None to estimate it."
            )

    @property
    def parameters(self) -> tuple[Row, ...]:
        free = (FREE, TRACED) if self.trace_decay is None else (FREE,)
        both = (BASED, *free)
        found: list[Row] = [
            Parameter(
                "inverse_temperature", both, is_positive_weight=True, is_derived=True, low=0.0
            ),
            Parameter("model_based_share", (BASED,), both, is_derived=True, low=0.0, high=1.0),
        ]
        if self.trace_decay is None:
            found.append(
                Parameter("trace_decay", (TRACED,), free, is_derived=True, low=0.0, high=1.0)
            )
        if self.stickiness:
            found.append(Parameter.weight("stickiness"))
        if not self.same_temperatures:
            found.append(Parameter.weight("inverse_temperature_2", positive=True))
        stages = ("learning_rate",) if self.same_rates else ("learning_rate_1", "learning_rate_2")
        return (*found, *rates(*stages))

    def bindings(self) -> Mapping[str, str]:
        both = ("learning_rate_1", "learning_rate_2") if self.same_rates else ()
        return dict.fromkeys(both, "learning_rate")

    def state(self) -> Mapping[str, Any]:
        """Values, and first choices: of this trial, and the last one made; -1 for none.

        MF and T of first-stage options, Q2 (n_states, n_options).
        """
        values = {"free": np.zeros(2), "trace": np.zeros(2), "second": np.zeros((2, 2))}
        return {**values, "first": -1.0, "last": -1.0}

    def settings(self) -> Mapping[str, float]:
        decay = self.trace_decay
        return {
            "common": float(self.common),
            "after": int(self.trace == "after"),
            "decay": -1.0 if decay is None else float(decay),
            "n_values": 3 if decay is None else 2,
        }

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Model-based and model-free values and the last choice, or values of the second stage."""
        if e.state == 0:
            for i in range(2):
                best = max(s.second[i, 0], s.second[i, 1])
                other = max(s.second[1 - i, 0], s.second[1 - i, 1])
                x[i, 0] = c.common * best + (1.0 - c.common) * other
                traced = s.free[i] + s.trace[i]
                if c.decay >= 0:
                    x[i, 1] = (1.0 - c.decay) * s.free[i] + c.decay * traced
                else:
                    x[i, 1] = s.free[i]
                    x[i, 2] = traced
            if s.last >= 0 and c.at_stickiness >= 0:
                x[int(s.last), c.at_stickiness] = 1.0
        elif e.state > 0:
            for i in range(2):
                if c.at_inverse_temperature_2 >= 0:
                    x[i, c.at_inverse_temperature_2] = s.second[e.state - 1, i]
                else:
                    for a in range(c.n_values):
                        x[i, a] = s.second[e.state - 1, i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Remember the first choice; at the second one the values of both stages move."""
        if e.state == 0:
            s.first = e.choice
            if e.choice >= 0 and e.is_choice == 1:
                s.last = e.choice
        else:
            if e.choice >= 0 and e.reward == e.reward:
                old = s.second[e.state - 1, e.choice]
                new = old + psi.learning_rate_2 * (e.reward - old)
                error = e.reward - new if c.after == 1 else e.reward - old
                if s.first >= 0:
                    i = int(s.first)
                    s.free[i] += psi.learning_rate_1 * (old - s.free[i])
                    s.trace[i] += psi.learning_rate_1 * (error - s.trace[i])
                s.second[e.state - 1, e.choice] = new
            s.first = -1.0

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Value of the options at hand, in the units of their stage; model-based and model-free."""
        x = self.explanatory(episode, *psi)
        raw = TwoStep(self.common, self.trace, stickiness=self.stickiness)
        both = (psi[0], psi[-1])
        columns = raw.explanatory(episode, *both)
        first = (episode.before["state"] == 0)[:, None]
        n_values = self.settings()["n_values"]
        total = theta[:n_values].sum()
        mixed = x[:, :, :n_values] @ theta[:n_values] / (total if total > 0 else 1.0)
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


STAY = ("stay", "reward", "transition", "reward:transition")


@dataclass(frozen=True)
class StayRegression(TwoStageModel):
    """Logistic regression of repeated first-stage choices: stay ~ reward x transition.

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

    in_brief = "two-step, stay ~ reward x transition"

    win_above: float = 0.0

    parameters = tuple(map(Parameter.weight, STAY))

    def state(self) -> Mapping[str, float]:
        """First choice of this trial and of the last whole one, -1 for none; what became of it."""
        return {"first": -1.0, "last": -1.0, "won": 0.0, "usual": 0.0}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """1, reward, transition and their product, for the last first-stage choice."""
        if e.state == 0 and s.last >= 0:
            x[int(s.last), 0] = 1.0
            x[int(s.last), 1] = s.won
            x[int(s.last), 2] = s.usual
            x[int(s.last), 3] = s.won * s.usual

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Remember the first choice, and at the second one the trial."""
        if e.state == 0:
            s.first = e.choice
        else:
            if s.first >= 0 and e.choice >= 0 and e.reward == e.reward:
                s.last = s.first
                s.won = 1.0 if e.reward > c.win_above else -1.0
                s.usual = 1.0 if e.state - 1 == s.first else -1.0
            s.first = -1.0

    def __str__(self) -> str:
        return "stay ~ reward x transition"
