"""Q-learning (Rescorla-Wagner), one learner with options.

After a reward r the value of the option taken moves towards it, and the objective is

    Q_c <- Q_c + alpha (r - Q_c),
    eta_i = Q_i / tau + kappa C_i + phi 1(i = last choice) + b_i.

Options add to it:

    dual rates        alpha+ where r >= Q_c, alpha- where r < Q_c; "outcome": where r > 0, or not
    forgetting        options not taken: Q_i <- Q_i + f (Q0 - Q_i)
    fictitious        options not taken: Q_i <- Q_i + g (-r - Q_i), as if they had paid the opposite
                      (with dual rates "learning_rate" is that of the option taken)
    choice kernel     C_i <- C_i + a (1(i = c) - C_i), from 0
    stickiness, bias  phi and b_i as above; the last option has b = 0

With the rates alpha, f, g and a fixed the values are known, and the model is exactly linear in
1/tau, kappa, phi and b. Q is affine in the initial value Q0, so that it can be estimated as one
more weight, Q0/tau; not with dual rates, where Q0 decides which rate is used, unless the outcome
does.

A decision without a choice changes nothing, as if its row were not in the data. Options shown teach
values as chosen ones do, but are no choices: stickiness and the choice kernel pass over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number, check_one_of, check_whole_number
from penchant.errors import DataError
from penchant.models.controls import control_names, control_words, with_starts
from penchant.models.parameters import TEMPERATURE, Limit, Parameter, Row, Shape, per_temperature
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.models.setting_warnings import doubts_of_start, start_words

Rate = float | None
Tied = Literal["learning_rate"]
DUAL = ("learning_rate_positive", "learning_rate_negative")
MAX_ESTIMATED_RATES = 3
N_GRID = {1: 33, 2: 17, 3: 17}
FROM_ZERO = ("forgetting", "fictitious_rate")
# At 0 nothing is learnt, and no trace is left. As near to it values move in proportion to the rate,
# which the temperature makes up for: the likelihood is that of the limit.
LEAST = 1e-8
# At 1 the trace is the last choice; beside stickiness it tells of the choice before, too.
MOST_BESIDE_STICKINESS = 0.999


# What a rate of 0 and a rate of 1 mean.
ENDS = {
    "learning_rate": (
        "rewards of options taken teach nothing",
        "the last reward of an option is all that counts",
    ),
    DUAL[0]: ("rewards above the value teach nothing", "rewards above the value become the value"),
    DUAL[1]: ("rewards below the value teach nothing", "rewards below the value become the value"),
    "forgetting": (
        "options not taken keep their values",
        "options not taken are forgotten at once",
    ),
    "fictitious_rate": (
        "options not taken keep their values",
        "options not taken are worth the opposite of the last reward",
    ),
    "choice_rate": (
        "the trace counts all choices alike, in proportion to choice_rate",
        "the trace is the last choice",
    ),
}
IN_PROPORTION = Limit(
    0.0,
    "values move in proportion to learning_rate, which temperature makes up for",
    ("learning_rate", "temperature"),
    ("learning_rate/temperature", 0, 1.0),
)
BESIDE_STICKINESS = Limit(
    1.0,
    "the trace tells of the last choice and the one before, as stickiness does of the last",
    ("choice_rate", "choice_kernel", "stickiness"),
)


@dataclass(frozen=True)
class QLearning(Recursion):
    """Softmax Q-learning: a number given is known, None is estimated.

    Parameters
    ----------
    n_options
        Number of options.
    initial_value
        Value Q0 of every option before play, in units of rewards; None: estimated, but with dual
        rates by the sign of the error.
    learning_rate
        alpha, from 0 to 1; with dual rates a pair: for rewards above the value, and below. Looked
        for from 1e-08, where values move in proportion to it, to 1.
    dual_rates
        Two learning rates: True, by the sign of the error; "outcome", by that of the reward.
    forgetting
        Rate f at which options not taken return to the initial value; 0 for none, "learning_rate"
        for the same rate.
    fictitious
        Rate g at which options not taken move to -r; for tasks with two options whose rewards are
        opposite. 0 for none, "learning_rate" for the rate of the option taken.
    stickiness
        A weight phi for repeating the last choice, in log-odds.
    choice_kernel
        A weight kappa for a trace of past choices, in log-odds.
    choice_rate
        Rate a of that trace. Where stickiness is there too, at most 0.999: at 1 they are the same.
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
    >>> [(p.name, round(p.estimate, 1)) for p in pn.fit(episode, model).parameters][:2]
    [('temperature', 0.2), ('learning_rate_positive', 0.5)]
    """

    in_brief = "Rescorla-Wagner, composable"

    n_options: int
    initial_value: float | None = 0.0
    learning_rate: Rate | Sequence[float] = None
    dual_rates: bool | Literal["outcome"] = False
    forgetting: Rate | Tied = 0.0
    fictitious: Rate | Tied = 0.0
    stickiness: bool = False
    choice_kernel: bool = False
    choice_rate: Rate = None
    bias: bool = False

    def __post_init__(self) -> None:
        check_whole_number(self.n_options, "n_options", 1)
        if self.initial_value is not None:
            check_number(self.initial_value, "initial_value", fix="Give None to estimate it.")
        elif self._by_error:
            raise DataError(
                "initial_value",
                "must be known with dual_rates",
                got="None",
                fix=(
                    "It decides which of the two rates is used: give a number, or use a single "
                    "rate."
                ),
            )
        check_one_of(self.dual_rates, "dual_rates", (True, False, "outcome"))
        if isinstance(self.learning_rate, list):
            object.__setattr__(self, "learning_rate", tuple(self.learning_rate))
        self._check_rates()

    def _check_rates(self) -> None:
        """Every rate is a number from 0 to 1, to be estimated, or that of learning."""
        for name in ("learning_rate", "forgetting", "fictitious", "choice_rate"):
            rate = getattr(self, name)
            tied = rate == "learning_rate" and name in ("forgetting", "fictitious")
            paired = name == "learning_rate" and self.dual_rates
            if not (tied or paired or rate is None):
                check_number(rate, name, least=0, most=1, fix="Give None to estimate it.")
            if tied and self.dual_rates and name == "forgetting":
                raise DataError(
                    name,
                    "must not be 'learning_rate' with dual_rates",
                    got="it",
                    fix="Give a number, or None to estimate it.",
                )
        pair = self.learning_rate
        if self.dual_rates and pair is not None and not _is_pair(pair):
            raise DataError(
                "learning_rate",
                "must be two numbers in 0..1 with dual_rates",
                got=repr(pair),
                fix="Give those for rewards above and below the value, or None.",
            )
        if self.forgetting != 0.0 and self.fictitious != 0.0:
            raise DataError(
                "forgetting and fictitious",
                "must not both be given: each says what becomes of options not taken",
                got=f"{self.forgetting!r} and {self.fictitious!r}",
                fix="Choose one.",
            )
        if self.choice_rate is not None and not self.choice_kernel:
            raise DataError(
                "choice_rate",
                "must come with choice_kernel=True",
                got=self.choice_rate,
                fix="Add it.",
            )
        if len(self._estimated_rates) > MAX_ESTIMATED_RATES:
            raise DataError(
                "rates to be estimated",
                f"must be at most {MAX_ESTIMATED_RATES}",
                got=", ".join(self._estimated_rates),
                fix="Give one a known value: learning_rate, forgetting, fictitious or choice_rate.",
            )

    @property
    def _by_error(self) -> bool:
        """Whether the sign of the error picks one of two rates."""
        return self.dual_rates is True

    @property
    def _estimated_rates(self) -> tuple[str, ...]:
        rates = self.bindings().values()
        return tuple(dict.fromkeys(rate for rate in rates if isinstance(rate, str)))

    def _rate_shapes(self, trace_weight: int) -> Iterator[Shape]:
        """Ranges of the rates that are estimated; `trace_weight` is the place of the trace's."""
        names, others = self._estimated_rates, self.bindings()["others"]
        for name in names:
            low, high = (Limit(end, says) for end, says in zip((0.0, 1.0), ENDS[name], strict=True))
            most = 1.0
            if name == "learning_rate" and others in ("learning_rate", "forgetting", 0.0):
                low = IN_PROPORTION
            if name == "choice_rate":
                product = "choice_rate * choice_kernel", trace_weight, 1.0
                low = replace(
                    low, lost=("choice_rate", "choice_kernel"), identified_product=product
                )
                if self.stickiness:  # a trace at rate 1 would be the same
                    high, most = BESIDE_STICKINESS, MOST_BESIDE_STICKINESS
            least = 0.0 if name in FROM_ZERO else LEAST
            grid = N_GRID[len(names)]
            yield Shape(name, least, most, n_grid=grid, at_low=low, at_high=high)

    @property
    def parameters(self) -> tuple[Row, ...]:
        start = (per_temperature("initial_value"),) if self.initial_value is None else ()
        trace = (Parameter.weight("choice_kernel"),) if self.choice_kernel else ()
        rates = self._rate_shapes(1 + len(start) if trace else -1)
        return (TEMPERATURE, *start, *rates, *trace, *map(Parameter.weight, self.controls()))

    @property
    def smooth(self) -> bool:
        """Not with dual rates: where a reward equals the value, the other rate takes over."""
        return not (self._by_error and self._estimated_rates)

    def controls(self) -> tuple[str, ...]:
        return control_names(self.n_options, self.stickiness, self.bias)

    def bindings(self) -> Mapping[str, str | float]:
        """Every rate of `update`: a number, or the name of the shape parameter that it is."""
        known: Any = self.learning_rate
        names = DUAL if self.dual_rates else ("learning_rate", "learning_rate")
        gains, losses = names if known is None else known if self.dual_rates else (known, known)
        others = _rate(self.forgetting, "forgetting", gains)
        if self.fictitious != 0.0:
            others = _rate(self.fictitious, "fictitious_rate", gains)
        trace = _rate(self.choice_rate, "choice_rate", gains) if self.choice_kernel else 0.0
        return {"gains": gains, "losses": losses, "others": others, "trace": trace}

    def state(self) -> Mapping[str, Vector]:
        """Values, what an initial value to be estimated adds to them, and the trace of choices."""
        n = self.n_options
        values = np.full(n, float(self.initial_value or 0.0))
        return {"value": values, "of_initial": np.ones(n), "trace": np.zeros(n)}

    def settings(self) -> Mapping[str, float]:
        """Constants of the recursion: flags of the learning rules, and the initial value."""
        return {
            "n": self.n_options,
            "initial": float(self.initial_value or 0.0),
            "by_outcome": int(self.dual_rates == "outcome"),
            "forgets": int(self.forgetting != 0.0),
            "fictitious": int(self.fictitious != 0.0),
            # options not taken move at that of two rates which the option taken has
            "tied": int(bool(self.dual_rates) and self.fictitious == "learning_rate"),
        }

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Values of all options, their part in the initial value, and traces of choices."""
        for i in range(c.n):
            x[i, 0] = s.value[i]
            if c.at_initial_value >= 0:
                x[i, c.at_initial_value] = s.of_initial[i]
            if c.at_choice_kernel >= 0:
                x[i, c.at_choice_kernel] = s.trace[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Delta rule for the option taken; forgetting or fictitious learning for the others."""
        is_gain = e.reward > 0 if c.by_outcome == 1 else e.reward >= s.value[e.choice]
        rate = psi.gains if is_gain else psi.losses
        s.value[e.choice] += rate * (e.reward - s.value[e.choice])
        if c.at_initial_value >= 0:
            s.of_initial[e.choice] += rate * (0.0 - s.of_initial[e.choice])
        if c.forgets == 1 or c.fictitious == 1:
            slower = rate if c.tied == 1 else psi.others
            for i in range(c.n):
                if i != e.choice:
                    away = c.initial if c.forgets == 1 else -e.reward
                    s.value[i] += slower * (away - s.value[i])
                    if c.at_initial_value >= 0:
                        s.of_initial[i] += slower * (c.forgets - s.of_initial[i])
        if c.at_choice_kernel >= 0 and e.is_choice == 1:
            for i in range(c.n):
                s.trace[i] += psi.trace * ((1.0 if i == e.choice else 0.0) - s.trace[i])

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values before each event, and the trace of choices if there is one."""
        x = self.explanatory(episode, *psi)
        found = {"value": with_starts(self.weights, x, theta, "initial_value")}
        if self.choice_kernel:
            found["choice_trace"] = x[:, :, self.weights.index("choice_kernel")]
        return found

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the initial value lies outside the rewards."""
        free = not self._by_error
        return tuple(doubts_of_start("initial_value", self.initial_value, episodes, estimable=free))

    def __str__(self) -> str:
        value = start_words(self.initial_value)
        words = [f"Q-learning, {self.n_options} options, initial value {value}"]
        if self.dual_rates:
            by = " by outcome" if self.dual_rates == "outcome" else ""
            words.append(f"dual learning rates{by}")
        if self.learning_rate is not None:
            words.append(f"learning rate {_describe_rate(self.learning_rate)}")
        if self.forgetting != 0.0:
            words.append(f"forgetting {_describe_rate(self.forgetting)}")
        if self.fictitious != 0.0:
            words.append(f"fictitious learning {_describe_rate(self.fictitious)}")
        if self.choice_kernel:
            words.append(f"choice kernel {_describe_rate(self.choice_rate)}")
        return ", ".join([*words, *control_words(self.stickiness, self.bias)])


def _rate(rate: str | float | None, name: str, same: str | float) -> str | float:
    if rate is None:
        return name
    return same if rate == "learning_rate" else rate


def _is_pair(value: Any) -> bool:
    is_two = isinstance(value, tuple) and len(value) == 2
    return is_two and all(isinstance(v, int | float | np.number) and 0 <= v <= 1 for v in value)


def _describe_rate(rate: Any) -> str:
    if rate is None:
        return "estimated"
    if isinstance(rate, str):
        return "at the learning rate"
    return " and ".join(f"{r:g}" for r in (rate if isinstance(rate, tuple | list) else (rate,)))
