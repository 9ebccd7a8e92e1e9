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
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number, check_one_of, check_whole_number
from penchant.errors import DataError
from penchant.models.controls import control_names, control_words, with_starts
from penchant.models.doubts import doubts_of_start, start_words
from penchant.models.parameters import TEMPERATURE, Limit, Parameter, Row, Shape, per_temperature
from penchant.models.recursion import Recursion

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


@dataclass(frozen=True)
class LearningRates:
    """A number for each rate that is known, a name for each that is estimated.

    Attributes
    ----------
    gains, losses
        Of the option taken, where its reward is above its value, and below.
    others
        Of options not taken.
    trace
        Of the trace of choices.
    """

    gains: str | float
    losses: str | float
    others: str | float
    trace: str | float

    @classmethod
    def of(cls, model: Any) -> LearningRates:
        """The rates of a `QLearning`, if they go together."""
        _check_numbers(model)
        gains, losses = _own(model.learning_rate, model.dual_rates)
        others = _rate(model.forgetting, "forgetting", gains)
        if model.fictitious != 0.0:
            others = _rate(model.fictitious, "fictitious_rate", gains)
        trace = _rate(model.choice_rate, "choice_rate", gains) if model.choice_kernel else 0.0
        rates = cls(gains, losses, others, trace)
        if len(rates.estimated) > MAX_ESTIMATED_RATES:
            raise DataError(
                "rates to be estimated",
                f"must be at most {MAX_ESTIMATED_RATES}",
                got=", ".join(rates.estimated),
                fix=(
                    "Give one a known value: learning_rate, forgetting, fictitious or choice_rate."
                ),
            )
        return rates

    @property
    def all_four(self) -> tuple[str | float, ...]:
        """In order."""
        return self.gains, self.losses, self.others, self.trace

    @cached_property
    def estimated(self) -> tuple[str, ...]:
        """Names of the rates that are estimated, each once."""
        return tuple(dict.fromkeys(rate for rate in self.all_four if isinstance(rate, str)))

    def shape(self, stickiness: bool, trace_weight: int) -> tuple[Shape, ...]:
        """Their ranges, and what they are at the ends.

        Parameters
        ----------
        stickiness
            Whether the last choice has a weight of its own: a trace at rate 1 would be the same.
        trace_weight
            Which weight that of the trace is.
        """
        names = self.estimated
        sticky = {"choice_rate": MOST_BESIDE_STICKINESS} if stickiness else {}
        ends = _limits(trace_weight, stickiness, self._scale_with_the_rate)
        return tuple(
            Shape(
                name,
                0.0 if name in FROM_ZERO else LEAST,
                sticky.get(name, 1.0),
                n_grid=N_GRID[len(names)],
                at_low=ends[name][0],
                at_high=ends[name][1],
            )
            for name in names
        )

    @property
    def _scale_with_the_rate(self) -> bool:
        """Whether all values move in proportion to a single rate, if it is small."""
        own = {self.gains, self.losses}
        return own == {"learning_rate"} and self.others in ("learning_rate", "forgetting", 0.0)


def _limits(
    trace_weight: int, stickiness: bool, in_proportion: bool
) -> dict[str, tuple[Limit | None, Limit | None]]:
    """What rates are at both ends of their ranges."""
    together = ("learning_rate", "temperature")
    slowly = "values move in proportion to learning_rate, which temperature makes up for"
    product = ("learning_rate/temperature", 0, 1.0)
    slow = Limit(0.0, slowly, together, product) if in_proportion else None
    habits = Limit(
        0.0,
        "the trace counts all choices alike, in proportion to choice_rate",
        ("choice_rate", "choice_kernel"),
        ("choice_rate * choice_kernel", trace_weight, 1.0),
    )
    last = Limit(1.0, "the last reward of an option is all that counts")
    beside = "the trace tells of the last choice and the one before, as stickiness does of the last"
    return {
        "learning_rate": (slow or Limit(0.0, "rewards of options taken teach nothing"), last),
        DUAL[0]: (
            Limit(0.0, "rewards above the value teach nothing"),
            Limit(1.0, "rewards above the value become the value"),
        ),
        DUAL[1]: (
            Limit(0.0, "rewards below the value teach nothing"),
            Limit(1.0, "rewards below the value become the value"),
        ),
        "forgetting": (
            Limit(0.0, "options not taken keep their values"),
            Limit(1.0, "options not taken are forgotten at once"),
        ),
        "fictitious_rate": (
            Limit(0.0, "options not taken keep their values"),
            Limit(1.0, "options not taken are worth the opposite of the last reward"),
        ),
        "choice_rate": (
            habits,
            Limit(1.0, beside, ("choice_rate", "choice_kernel", "stickiness"))
            if stickiness
            else Limit(1.0, "the trace is the last choice"),
        ),
    }


def _own(known: Any, dual: bool) -> tuple[str | float, str | float]:
    """Rates of the option taken."""
    if dual:
        return DUAL if known is None else (float(known[0]), float(known[1]))
    rate = "learning_rate" if known is None else float(known)
    return rate, rate


def _rate(rate: Any, name: str, same: str | float) -> str | float:
    if rate is None:
        return name
    return same if rate == "learning_rate" else float(rate)


def _check_numbers(model: Any) -> None:
    """Every rate is a number from 0 to 1, to be estimated, or that of learning."""
    for name, rate in _given(model):
        tied = rate == "learning_rate" and name in ("forgetting", "fictitious")
        if not tied and rate is not None:
            check_number(rate, name, least=0, most=1, fix="Give None to estimate it.")
        if tied and model.dual_rates and name == "forgetting":
            raise DataError(
                name,
                "must not be 'learning_rate' with dual_rates",
                got="it",
                fix="Give a number, or None to estimate it.",
            )
    pair = model.learning_rate
    if model.dual_rates and pair is not None and not _is_pair(pair):
        raise DataError(
            "learning_rate",
            "must be two numbers in 0..1 with dual_rates",
            got=repr(pair),
            fix="Give those for rewards above and below the value, or None.",
        )
    if model.forgetting != 0.0 and model.fictitious != 0.0:
        raise DataError(
            "forgetting and fictitious",
            "must not both be given: each says what becomes of options not taken",
            got=f"{model.forgetting!r} and {model.fictitious!r}",
            fix="Choose one.",
        )
    if model.choice_rate is not None and not model.choice_kernel:
        raise DataError(
            "choice_rate", "must come with choice_kernel=True", got=model.choice_rate, fix="Add it."
        )


def _given(model: Any) -> Iterator[tuple[str, Any]]:
    if not model.dual_rates:
        yield "learning_rate", model.learning_rate
    yield "forgetting", model.forgetting
    yield "fictitious", model.fictitious
    yield "choice_rate", model.choice_rate


def _is_share(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return bool(number and 0 <= value <= 1)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_share, value))


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

    in_brief: ClassVar[str] = "Rescorla-Wagner, composable"

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
        _ = self._rates  # says what is wrong with them

    @property
    def _by_error(self) -> bool:
        """Whether the sign of the error picks one of two rates."""
        return self.dual_rates is True

    @cached_property
    def _rates(self) -> LearningRates:
        return LearningRates.of(self)

    @property
    def parameters(self) -> tuple[Row, ...]:
        """tau, Q0, the rates, then kappa, phi and b as they are."""
        start = (per_temperature("initial_value"),) if self.initial_value is None else ()
        trace = (Parameter.weight("choice_kernel"),) if self.choice_kernel else ()
        rates = self._rates.shape(self.stickiness, 1 + len(start) if trace else -1)
        return (TEMPERATURE, *start, *rates, *trace, *map(Parameter.weight, self.controls()))

    @property
    def smooth(self) -> bool:
        """Not with dual rates: where a reward equals the value, the other rate takes over."""
        return not (self._by_error and self._rates.estimated)

    def controls(self) -> tuple[str, ...]:
        """Stickiness and bias."""
        return control_names(self.n_options, self.stickiness, self.bias)

    def bindings(self) -> Mapping[str, float | str]:
        """The rate of everything that is learnt: a number, or the name of a shape parameter."""
        return asdict(self._rates)

    def state(self) -> Mapping[str, Vector]:
        """Values, what an initial value to be estimated adds to them, and the trace of choices."""
        n = self.n_options
        values = np.full(n, float(self.initial_value or 0.0))
        return {"value": values, "of_initial": np.ones(n), "trace": np.zeros(n)}

    def settings(self) -> Mapping[str, float]:
        """Which rules hold; the initial value; columns, -1 for none."""
        return {
            "n": self.n_options,
            "initial": float(self.initial_value or 0.0),
            "by_outcome": int(self.dual_rates == "outcome"),
            "forgets": int(self.forgetting != 0.0),
            "fictitious": int(self.fictitious != 0.0),
            # options not taken move at that of two rates which the option taken has
            "tied": int(bool(self.dual_rates) and self.fictitious == "learning_rate"),
            "initial_column": self._column("initial_value/temperature"),
            "trace_column": self._column("choice_kernel"),
        }

    @staticmethod
    def features(s: Any, e: Any, psi: Any, c: Any, x: Any) -> None:
        """Values of all options, their part in the initial value, and traces of choices."""
        for i in range(c.n):
            x[i, 0] = s.value[i]
            if c.initial_column >= 0:
                x[i, c.initial_column] = s.of_initial[i]
            if c.trace_column >= 0:
                x[i, c.trace_column] = s.trace[i]

    @staticmethod
    def update(s: Any, e: Any, psi: Any, c: Any) -> None:
        """Delta rule for the option taken; forgetting or fictitious learning for the others."""
        is_gain = e.reward > 0 if c.by_outcome == 1 else e.reward >= s.value[e.choice]
        rate = psi.gains if is_gain else psi.losses
        s.value[e.choice] += rate * (e.reward - s.value[e.choice])
        if c.initial_column >= 0:
            s.of_initial[e.choice] += rate * (0.0 - s.of_initial[e.choice])
        if c.forgets == 1 or c.fictitious == 1:
            slower = rate if c.tied == 1 else psi.others
            for i in range(c.n):
                if i != e.choice:
                    away = c.initial if c.forgets == 1 else -e.reward
                    s.value[i] += slower * (away - s.value[i])
                    if c.initial_column >= 0:
                        s.of_initial[i] += slower * (c.forgets - s.of_initial[i])
        if c.trace_column >= 0 and e.is_choice == 1:
            for i in range(c.n):
                s.trace[i] += psi.trace * ((1.0 if i == e.choice else 0.0) - s.trace[i])

    def _column(self, weight: str) -> int:
        """Where the variable of a weight stands, or -1."""
        return self.weights.index(weight) if weight in self.weights else -1

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Values before each event, and the trace of choices if there is one."""
        x = self.explanatory(episode, *psi)
        found = {"value": with_starts(self.weights, x, theta, "initial_value")}
        if self.choice_kernel:
            found["choice_trace"] = x[:, :, self._column("choice_kernel")]
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
            words.append(f"learning rate {_said(self.learning_rate)}")
        if self.forgetting != 0.0:
            words.append(f"forgetting {_said(self.forgetting)}")
        if self.fictitious != 0.0:
            words.append(f"fictitious learning {_said(self.fictitious)}")
        if self.choice_kernel:
            words.append(f"choice kernel {_said(self.choice_rate)}")
        return ", ".join([*words, *control_words(self.stickiness, self.bias)])


def _said(rate: Any) -> str:
    if rate is None:
        return "estimated"
    if isinstance(rate, str):
        return "at the learning rate"
    return " and ".join(f"{r:g}" for r in (rate if isinstance(rate, tuple | list) else (rate,)))
