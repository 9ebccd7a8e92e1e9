"""Q-learning (Rescorla-Wagner), one learner with options.

After a reward r the value of the option taken moves towards it, and the objective is

    Q_c <- Q_c + alpha (r - Q_c),
    eta_i = Q_i / tau + kappa C_i + phi 1(i = last choice) + b_i.

Options add to it:

    dual rates        alpha+ where r >= Q_c, alpha- where r < Q_c
    forgetting        options not taken: Q_i <- Q_i + f (Q0 - Q_i)
    fictitious        options not taken: Q_i <- Q_i + g (-r - Q_i), as if they had paid the opposite
    choice kernel     C_i <- C_i + a (1(i = c) - C_i), from 0
    stickiness, bias  phi and b_i as above; the last option has b = 0

With the rates alpha, f, g and a fixed the values are known, and the model is exactly linear in
1/tau, kappa, phi and b. Q is affine in the initial value Q0, so that it can be estimated as one
more weight, Q0/tau; not with dual rates, where Q0 decides which rate is used.

A decision without a choice changes nothing, as if its row were not in the data. Options shown teach
values as chosen ones do, but are no choices: stickiness and the choice kernel pass over them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.bandit.locations import whole_number
from penchant.errors import DataError
from penchant.models._kernels import FICTITIOUS, FORGETTING, learner
from penchant.models.model import Natural, Shape
from penchant.models.q_learning_agent import QLearningAgents
from penchant.models.record import CompiledModel, Record
from penchant.models.variables import (
    blank_variables,
    control_names,
    fill_controls,
    in_units_of_temperature,
    known_number,
)

Rate = float | None
Tied = Literal["learning_rate"]
MOST_RATES = 3
N_GRID = {1: 33, 2: 17, 3: 9}
LOWEST = {"forgetting": 0.0, "fictitious_rate": 0.0}  # others: 0.001, where learning begins


@dataclass(frozen=True)
class QLearning(CompiledModel):
    """Softmax Q-learning: a number given is known, None is estimated.

    Parameters
    ----------
    n_options
        Number of options.
    initial_value
        Value Q0 of every option before play, in units of rewards.
    learning_rate
        alpha, from 0 to 1; with dual rates a pair: for rewards above the value, and below.
    dual_rates
        Two learning rates.
    forgetting
        Rate f at which options not taken return to the initial value; 0 for none, "learning_rate"
        for the same rate.
    fictitious
        Rate g at which options not taken move to -r; for tasks with two options whose rewards are
        opposite. 0 for none, "learning_rate" for the same rate.
    stickiness
        A weight phi for repeating the last choice, in log-odds.
    choice_kernel
        A weight kappa for a trace of past choices, in log-odds.
    choice_rate
        Rate a of that trace. Where stickiness is there too, at most 0.95: at 1 they are the same.
    bias
        A weight b_i for every option but the last, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.QLearning(2, dual_rates=True, stickiness=True)
    >>> model.weights, [shape.name for shape in model.shape]
    (('inverse_temperature', 'stickiness'), ['learning_rate_positive', 'learning_rate_negative'])
    >>> task = pn.Landscape([0.3, 0.6], pn.GaussianNoise(0.2))
    >>> truth = {"temperature": 0.2, "stickiness": 0.5}
    >>> truth |= {"learning_rate_positive": 0.5, "learning_rate_negative": 0.2}
    >>> rng = np.random.default_rng(3)
    >>> episode = pn.simulate(task, model, truth, n_decisions=500, rng=rng)
    >>> [(p.name, round(p.estimate, 2)) for p in pn.fit(episode, model).parameters][:2]
    [('temperature', 0.21), ('learning_rate_positive', 0.53)]
    """

    n_options: int
    initial_value: float | None = 0.0
    learning_rate: Rate | tuple[float, float] = None
    dual_rates: bool = False
    forgetting: Rate | Tied = 0.0
    fictitious: Rate | Tied = 0.0
    stickiness: bool = False
    choice_kernel: bool = False
    choice_rate: Rate = None
    bias: bool = False

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 1)
        if self.initial_value is not None:
            known_number(self.initial_value, "initial_value", "Give None to estimate it.")
        elif self.dual_rates:
            raise DataError(
                "initial_value must be known with dual_rates; got None. It decides which of the "
                "two rates is used: give a number, or use a single rate."
            )
        self._check_rates()

    def _check_rates(self) -> None:
        rates = {
            "learning_rate": self.learning_rate if not self.dual_rates else None,
            "forgetting": self.forgetting,
            "fictitious": self.fictitious,
            "choice_rate": self.choice_rate,
        }
        for name, rate in rates.items():
            tied = rate == "learning_rate" and name in ("forgetting", "fictitious")
            if not tied and rate is not None and not _is_share(rate):
                raise DataError(f"{name} must lie in 0..1, or be None; got {rate!r}. Correct it.")
            if tied and self.dual_rates:
                raise DataError(
                    f"{name} must not be 'learning_rate' with dual_rates; got it. Give a number, "
                    "or None to estimate it."
                )
        pair = self.learning_rate
        if self.dual_rates and pair is not None and not _is_pair(pair):
            raise DataError(
                f"learning_rate must be two numbers in 0..1 with dual_rates; got {pair!r}. "
                "Give those for rewards above and below the value, or None."
            )
        if self.forgetting != 0.0 and self.fictitious != 0.0:
            raise DataError(
                "forgetting and fictitious must not both be given: each says what becomes of "
                f"options not taken; got {self.forgetting!r} and {self.fictitious!r}. Choose one."
            )
        if self.choice_rate is not None and not self.choice_kernel:
            raise DataError(
                f"choice_rate must come with choice_kernel=True; got {self.choice_rate}. Add it."
            )
        estimated = self._estimated
        if len(estimated) > MOST_RATES:
            raise DataError(
                f"rates to be estimated must be at most {MOST_RATES}; got {', '.join(estimated)}. "
                "Give one a known value: learning_rate, forgetting, fictitious or choice_rate."
            )

    @property
    def _roles(self) -> tuple[str | float, ...]:
        """Rates of gains, of losses, of options not taken, of the trace: a name, or a number."""
        known = self.learning_rate
        if self.dual_rates:
            names = ("learning_rate_positive", "learning_rate_negative")
            up, down = known if isinstance(known, tuple | list) else names
        else:
            up = down = "learning_rate" if known is None else float(known)  # type: ignore[arg-type]
        if self.fictitious != 0.0:
            others = _role(self.fictitious, "fictitious_rate", up)
        else:
            others = _role(self.forgetting, "forgetting", up)
        trace = _role(self.choice_rate, "choice_rate", up) if self.choice_kernel else 0.0
        return up, down, others, trace

    @property
    def _estimated(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(role for role in self._roles if isinstance(role, str)))

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, and what the options add: Q0/tau, kappa, phi, b."""
        names = ["inverse_temperature"]
        names += ["initial_value/temperature"] if self.initial_value is None else []
        names += ["choice_kernel"] if self.choice_kernel else []
        return (*names, *control_names(self.n_options, self.stickiness, self.bias))

    @property
    def positive(self) -> tuple[str, ...]:
        """Weights that must be positive: tau > 0."""
        return ("inverse_temperature",)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The rates that are estimated."""
        names = self._estimated
        return tuple(
            Shape(name, LOWEST.get(name, 0.001), self._highest(name), n_grid=N_GRID[len(names)])
            for name in names
        )

    def _highest(self, name: str) -> float:
        return 0.95 if name == "choice_rate" and self.stickiness else 1.0

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, Q0, the rates, then kappa, phi and b as they are."""
        first, *others = in_units_of_temperature(self.weights)
        n_values = int(self.initial_value is None)
        rates = (Natural(name, "shape", q) for q, name in enumerate(self._estimated))
        return (first, *others[:n_values], *rates, *others[n_values:])

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values before every event, and what the options add; with derivatives in the rates."""
        n_weights, n_shape = len(self.weights), len(self._estimated)
        x, dx = blank_variables(
            record, which, self.n_options, n_weights, n_shape if with_slopes else 0
        )
        roles, names = self._roles, self._estimated
        index = np.array([names.index(r) if isinstance(r, str) else -1 for r in roles])
        rates = np.empty((len(which), len(roles)))
        for a, role in enumerate(roles):
            rates[:, a] = psi[:, index[a]] if isinstance(role, str) else role
        columns = [1 if self.initial_value is None else -1]
        columns.append((2 if self.initial_value is None else 1) if self.choice_kernel else -1)
        others = FICTITIOUS if self.fictitious != 0.0 else FORGETTING
        learner(
            record.chosen,
            record.rewards,
            record.is_choice,
            record.starts,
            which,
            rates,
            index,
            float(self.initial_value or 0.0),
            0 if self.fictitious == self.forgetting == 0.0 else others,
            np.array(columns),
            x,
            dx,
        )
        fill_controls(record, which, x, self.stickiness, self.bias)
        return x, dx if with_slopes else None

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> QLearningAgents:
        """Agents who play so."""
        return QLearningAgents.of(
            self.n_options,
            n_agents,
            parameters,
            rates=dict(zip(("up", "down", "others", "trace"), self._roles, strict=True)),
            initial_value=self.initial_value,
            fictitious=self.fictitious != 0.0,
        )

    def __str__(self) -> str:
        value = "estimated" if self.initial_value is None else f"{self.initial_value:g}"
        words = [f"Q-learning, {self.n_options} options, initial value {value}"]
        if self.dual_rates:
            words.append("dual learning rates")
        if self.learning_rate is not None:
            words.append(f"learning rate {_said(self.learning_rate)}")
        if self.forgetting != 0.0:
            words.append(f"forgetting {_said(self.forgetting)}")
        if self.fictitious != 0.0:
            words.append(f"fictitious learning {_said(self.fictitious)}")
        if self.choice_kernel:
            words.append(f"choice kernel {_said(self.choice_rate)}")
        words += ["stickiness"] if self.stickiness else []
        words += ["option bias"] if self.bias else []
        return ", ".join(words)


def _is_share(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return bool(number and 0 <= value <= 1)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_share, value))


def _role(rate: Rate | Tied, name: str, same: str | float) -> str | float:
    """The name of a rate that is estimated, its value if known, or that of the learning rate."""
    if rate is None:
        return name
    return same if rate == "learning_rate" else float(rate)


def _said(rate: Any) -> str:
    if rate is None:
        return "estimated"
    if isinstance(rate, str):
        return "at the learning rate"
    return " and ".join(f"{r:g}" for r in (rate if isinstance(rate, tuple | list) else (rate,)))
