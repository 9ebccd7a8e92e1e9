"""What delay and effort take from an amount.

Discounting: what an amount is worth now that comes after a delay.

The objective is the discounted value over the temperature tau, in the unit of the amounts: linear
in 1/tau once the discount rate is fixed. Rates are per unit of delay: with delays in days, a rate
of 0.01 is 0.01 a day.

Points of indifference: the discount rates at which two options are worth the same.

On one side of such a point one option is better, on the other side the other. The rates between two
neighbouring points explain the same choices; a person who is perfectly consistent has their rate in
one of these intervals, whatever their temperature.

Discounting in which the size of amounts matters, and heuristics of amounts and delays.

Magnitude effect: V = A / (1 + k D) with k = k0 A^-m, so that large amounts are discounted less.
Utility: V = A^s / (1 + k D). ITCH (Ericson et al. 2015): the log-odds of the later of two options
are linear in what it brings more and how much later it comes, absolutely and relative to the mean.

Effort: what a reward is worth that one has to work for.

Linear V = R - k E; quadratic V = R - k E^2; power V = R - k E^q; hyperbolic V = R / (1 + k E);
exponential V = R exp(-k E); sigmoid V = R (1 - (S(E) - S(0)) (1 + exp(-k p))) with S(E) = 1 / (1 +
exp(-k (E - p))), which falls around the effort p (Klein-Fluegge et al. 2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from scipy import special

from penchant._typing import BoolVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.natural import Natural, Shape
from penchant.models.offers import _kernels
from penchant.models.offers._kernels import by_magnitude
from penchant.models.offers.attributes import (
    TEMPERATURE,
    ColumnModel,
    Pairs,
    Prepared,
    StaticModel,
    check_attributes,
    ratios,
    shapes,
)

Option = tuple[Vector, Vector]  # amount and delay


class Discounting(Protocol):
    """A model with one rate k, in which two options change places at most once."""

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """Rate at which two options are worth the same."""


def consistent_range(model: Discounting, decisions: Any) -> tuple[float, float] | None:
    """The rates under which every choice is the better option, or None."""
    points, until = crossings(model, decisions)
    if np.isnan(points).any():
        return None
    low = float(points[~until].max(initial=0.0))
    high = float(points[until].min(initial=np.inf))
    return (low, high) if low < high else None


def crossings(model: Discounting, decisions: Any) -> tuple[Vector, BoolVector]:
    """Where each option taken changes places with each of the others.

    Returns
    -------
    Points of indifference, one per option not taken: infinity where the option taken is better at
    every rate, NaN where it is at none; and whether it is better up to the point, or from there.
    """
    several = decisions if isinstance(decisions, Sequence) else [decisions]
    found = [_crossings(model, one) for one in several]
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _crossings(model: Discounting, decisions: Any) -> tuple[Vector, BoolVector]:
    check_attributes(decisions, ("amount", "delay"), type(model).__name__)
    taken = np.repeat(decisions.scored_options, decisions.n_options - 1)
    others = [[i for i in range(decisions.n_options) if i != c] for c in decisions.scored_options]
    other = np.array(others, dtype=np.int64).reshape(-1)
    row = np.repeat(np.flatnonzero(decisions.scored), decisions.n_options - 1)
    amount, delay = decisions.offers["amount"], decisions.offers["delay"]
    return _points(
        model, (amount[row, taken], delay[row, taken]), (amount[row, other], delay[row, other])
    )


def _points(model: Discounting, taken: Option, other: Option) -> tuple[Vector, BoolVector]:
    """The same for options taken and as many others."""
    points = model.indifferent_at(taken, other)
    crosses = (points > 0) & np.isfinite(points)
    (a, d), (b, e) = taken, other
    # without discounting the larger amount is better; of equal ones, that which loses less first
    never = (a < b) | ((a == b) & (a * d > b * e))
    apart = np.where(never, np.nan, np.inf)
    return np.where(crosses, points, apart), np.where(crosses, a > b, True)


# From an impatience of years to one of seconds, whatever the unit of delay.
RATES = (1e-6, 1e3)
N_RATES = 70
RATE = Natural("discount_rate", "shape", 0)


class _OneRate(StaticModel):
    """One weight and one rate: V = A f(k D), with f falling from 1."""

    attributes = ("amount", "delay")
    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)
    natural = (TEMPERATURE, RATE)
    rates: tuple[float, float]

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The discount rate, on a logarithmic scale."""
        return (Shape("discount_rate", *self.rates, scale="log", n_grid=N_RATES),)

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """Rate at which two options, each (amount, delay), are worth the same; NaN for none."""
        raise NotImplementedError

    def consistent_rates(self, decisions: Any) -> tuple[float, float] | None:
        """Rates under which every choice is the better option; None if there is none.

        A person who never contradicts themselves has no finite temperature, but their rate is known
        to lie between two points of indifference: this is that interval, from 0 or to infinity
        where no choice ends it.

        Parameters
        ----------
        decisions
            `Offers`, or several of the same person.
        """
        return consistent_range(self, decisions)


@dataclass(frozen=True)
class HyperbolicDiscounting(_OneRate):
    """Hyperbolic discounting: V = A / (1 + k D), theta = 1/tau, psi = k (Mazur 1987).

    Parameters
    ----------
    rates
        Range of k in which to search, per unit of delay.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(3)
    >>> amount = np.column_stack([rng.integers(10, 60, 200), np.full(200, 60)])
    >>> delay = np.column_stack([np.zeros(200), rng.choice([7, 30, 90, 180, 365], 200)])
    >>> offers = {"amount": amount, "delay": delay}
    >>> model = pn.HyperbolicDiscounting()
    >>> truth = {"temperature": 4.0, "discount_rate": 0.01}
    >>> decisions = pn.simulate(offers, model, truth, rng=rng)
    >>> decisions.offers["amount"][0], decisions.offers["delay"][0]
    (array([50., 60.]), array([  0., 365.]))
    >>> model.explanatory(decisions, 0.01)[0].round(2).tolist()
    [[50.0], [12.9]]
    """

    rates: tuple[float, float] = RATES

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """V, and dV/dk = -A D / (1 + k D)^2."""
        amount, delay = prepared
        _kernels.hyperbolic(amount, delay, *pairs, x, slopes)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """A / (1 + k D)."""
        k = parameters["discount_rate"]
        return np.asarray(offers["amount"] / (1 + k * offers["delay"]))

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """A1 (1 + k D2) = A2 (1 + k D1) at k = (A2 - A1) / (A1 D2 - A2 D1)."""
        (a, d), (b, e) = one, other
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((b - a) / (a * e - b * d))

    def __str__(self) -> str:
        return "hyperbolic discounting, A / (1 + k D)"


@dataclass(frozen=True)
class ExponentialDiscounting(_OneRate):
    """Exponential discounting: V = A exp(-k D), theta = 1/tau, psi = k.

    The discount factor of one unit of delay is exp(-k).

    Parameters
    ----------
    rates
        Range of k in which to search, per unit of delay.
    """

    rates: tuple[float, float] = RATES

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """V, and dV/dk = -D V."""
        amount, delay = prepared
        _kernels.exponential(amount, delay, *pairs, x, slopes)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """A delta^D with the discount factor delta = exp(-k)."""
        factor = np.exp(-parameters["discount_rate"])
        return np.asarray(offers["amount"] * factor ** offers["delay"])

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """A1 exp(-k D1) = A2 exp(-k D2) at k = log(A1 / A2) / (D1 - D2)."""
        (a, d), (b, e) = one, other
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(a / b) / (d - e))

    def __str__(self) -> str:
        return "exponential discounting, A exp(-k D)"


@dataclass(frozen=True)
class QuasiHyperbolicDiscounting(StaticModel):
    """Quasi-hyperbolic (beta-delta) discounting: V = A now, b A exp(-k D) later (Laibson 1997).

    The present-bias factor b times 1/tau is a weight of its own, so that the model is linear in
    theta = (1/tau, b/tau) once psi = k is fixed. b < 1: what is not now is worth less at once.

    Parameters
    ----------
    rates
        Range of k in which to search, per unit of delay; delta = exp(-k).
    """

    rates: tuple[float, float] = RATES

    attributes = ("amount", "delay")
    weights = ("inverse_temperature", "inverse_temperature_later")
    positive = ("inverse_temperature", "inverse_temperature_later")
    natural = (TEMPERATURE, Natural("present_bias", "ratio", 1, 0), RATE)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The discount rate, on a logarithmic scale."""
        return (Shape("discount_rate", *self.rates, scale="log", n_grid=N_RATES),)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """A where D = 0, and A exp(-k D) where D > 0."""
        amount, delay = prepared
        _kernels.exponential(amount, delay, *pairs, x, slopes)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """A now, b A delta^D later."""
        factor = np.exp(-parameters["discount_rate"]) ** offers["delay"]
        bias = np.where(offers["delay"] > 0, parameters["present_bias"], 1.0)
        return np.asarray(offers["amount"] * bias * factor)

    def __str__(self) -> str:
        return "quasi-hyperbolic discounting, A now, b A exp(-k D) later"


@dataclass(frozen=True)
class ConstantSensitivityDiscounting(StaticModel):
    """Constant-sensitivity discounting: V = A exp(-(a D)^s) (Ebert & Prelec 2007).

    theta = 1/tau; psi = (a, s): impatience a per unit of delay, and sensitivity to time s. s = 1 is
    exponential; with s < 1 delays are hardly told apart once they are long.

    Parameters
    ----------
    rates
        Range of a in which to search, per unit of delay.
    sensitivities
        Range of s.
    """

    rates: tuple[float, float] = RATES
    sensitivities: tuple[float, float] = (0.05, 5.0)

    attributes = ("amount", "delay")
    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)
    natural = (TEMPERATURE, RATE, Natural("time_sensitivity", "shape", 1))

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Impatience and sensitivity to time, both on a logarithmic scale."""
        return (
            Shape("discount_rate", *self.rates, scale="log", n_grid=45),
            Shape("time_sensitivity", *self.sensitivities, scale="log", n_grid=11),
        )

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """V = A e^-z with z = (a D)^s; dV/da = -V z s / a; dV/ds = -V z log(a D)."""
        amount, delay = prepared
        _kernels.constant_sensitivity(amount, delay, *pairs, x, slopes)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """A exp(-(a D)^s)."""
        power = (parameters["discount_rate"] * offers["delay"]) ** parameters["time_sensitivity"]
        return np.asarray(offers["amount"] * np.exp(-power))

    def __str__(self) -> str:
        return "constant-sensitivity discounting, A exp(-(a D)^s)"


@dataclass(frozen=True)
class MagnitudeDiscounting(StaticModel):
    """Hyperbolic discounting that depends on the amount: V = A / (1 + k0 A^-m D).

    theta = 1/tau; psi = (k0, m): the rate of an amount of 1, per unit of delay, and how fast it
    falls with the amount; m = 0 is hyperbolic. With kind="utility" V = A^s / (1 + k D), psi = (k,
    s): the temperature is then in units of amount^s. Amounts must be positive.

    Parameters
    ----------
    kind
        "rate": the rate falls with the amount; "utility": amounts have a curved utility.
    rates
        Range of k0 or k in which to search, per unit of delay.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([1], {"amount": [[4.0, 100.0]], "delay": [[0.0, 5.0]]})
    >>> pn.models.MagnitudeDiscounting().explanatory(decisions, 2.0, 0.5)[0, :, 0].tolist()
    [4.0, 50.0]
    """

    kind: Literal["rate", "utility"] = "rate"
    rates: tuple[float, float] = RATES

    attributes = ("amount", "delay")
    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)

    def __post_init__(self) -> None:
        if self.kind not in ("rate", "utility"):
            raise DataError(f"kind must be one of rate, utility; got {self.kind!r}. Choose one.")

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The rate, and the exponent of the amount."""
        rate = Shape("discount_rate", *self.rates, scale="log", n_grid=45)
        if self.kind == "rate":
            return (rate, Shape("magnitude_effect", -1.0, 2.0, n_grid=19))
        return (rate, Shape("curvature", 0.05, 5.0, scale="log", n_grid=15))

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, rate and exponent."""
        return (TEMPERATURE, *shapes(*(s.name for s in self.shape)))

    def prepare(self, offers: Described) -> Prepared:
        """The attributes, if amounts are positive."""
        if (offers["amount"] <= 0).any():
            raise DataError(
                "offers['amount'] must be positive for MagnitudeDiscounting; got "
                f"{offers['amount'].min():g}. Leave such decisions out."
            )
        return (*super().prepare(offers), np.log(offers["amount"]))

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """A / (1 + k0 A^-m D), or A^s / (1 + k D), and their derivatives in both parameters."""
        by_magnitude(*prepared, *pairs, self.kind == "utility", x, slopes)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """A / (1 + k D) with k = k0 / A^m, or A^s / (1 + k D)."""
        amount, delay = np.asarray(offers["amount"]), np.asarray(offers["delay"])
        k = parameters["discount_rate"]
        if self.kind == "rate":
            return np.asarray(amount / (1.0 + delay * k / amount ** parameters["magnitude_effect"]))
        return np.asarray(amount ** parameters["curvature"] / (1.0 + k * delay))

    def __str__(self) -> str:
        said = "A / (1 + k A^-m D)" if self.kind == "rate" else "A^s / (1 + k D)"
        return f"discounting by magnitude, {said}"


@dataclass(frozen=True)
class ITCH(StaticModel):
    """Intertemporal choice heuristics: five weights, no shape (Ericson et al. 2015).

    The log-odds of the second of two options, the later one, are b0 + b1 (x2 - x1) + b2 (x2 - x1) /
    mean x + b3 (t2 - t1) + b4 (t2 - t1) / mean t, with amounts x and delays t. A mean of 0 makes
    no relative difference. Where the sooner option is always now, the relative delay is always 2:
    its weight cannot be told from b0, and the status says so.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([1], {"amount": [[30.0, 50.0]], "delay": [[0.0, 20.0]]})
    >>> pn.models.ITCH().explanatory(decisions)[0, 1].tolist()
    [1.0, 20.0, 0.5, 20.0, 2.0]
    """

    attributes = ("amount", "delay")
    weights = ("later", "amount", "relative_amount", "delay", "relative_delay")
    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def prepare(self, offers: Described) -> Prepared:
        """Differences of the second option from the first."""
        amount, delay = offers["amount"], offers["delay"]
        if amount.shape[1] != 2:
            raise DataError(
                f"offers must have two options for ITCH; got {amount.shape[1]}. Choose two."
            )
        x = np.zeros((*amount.shape, 5))
        x[:, 1, 0] = 1.0
        for place, values in ((1, amount), (3, delay)):
            more, mean = values[:, 1] - values[:, 0], values.mean(axis=1)
            x[:, 1, place] = more
            x[:, 1, place + 1] = np.divide(more, mean, out=np.zeros(len(more)), where=mean != 0)
        return (x,)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Those of the decisions asked for."""
        starts, which, _ = pairs
        rows = np.concatenate([np.arange(starts[e], starts[e + 1]) for e in which])
        x[:] = prepared[0][rows]

    def latent(self, episode: object, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Weights of differences have no value of an option of its own."""
        return {}

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """0, and the log-odds of the later option."""
        amount, delay = np.asarray(offers["amount"]), np.asarray(offers["delay"])
        odds = np.full(len(amount), float(parameters["later"]))
        for name, values in (("amount", amount), ("delay", delay)):
            first, second = values.T
            odds = odds + parameters[name] * (second - first)
            whole = np.where(first + second == 0, 1.0, first + second)
            odds = odds + parameters[f"relative_{name}"] * 2.0 * (second - first) / whole
        return np.column_stack([np.zeros(len(odds)), odds])

    def __str__(self) -> str:
        return "intertemporal choice heuristics"


KINDS = ("linear", "quadratic", "power", "hyperbolic", "exponential", "sigmoid")
POWER = Shape("effort_power", 0.1, 10.0, scale="log", n_grid=25)


@dataclass(frozen=True)
class Effort(ColumnModel):
    """Effort discounting: a reward R for an effort E.

    linear, quadratic: V = R - k E, R - k E^2; theta = (1/tau, k/tau), no shape. power: V = R - k
    E^q; psi = q. hyperbolic, exponential: V = R / (1 + k E), R exp(-k E); theta = 1/tau, psi = k.
    sigmoid: V = R (1 - (S(E) - S(0)) (1 + e^(-k p))), S(E) = 1 / (1 + e^(-k (E - p))); psi = (k,
    p).

    Parameters
    ----------
    kind
        How effort costs: "linear", "quadratic", "power", "hyperbolic", "exponential" or "sigmoid".
    rates
        Range of k in which to search where it is a shape parameter, per unit of effort.
    turns
        Range of p, in units of effort.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"reward": [[2.0, 5.0]], "effort": [[0.0, 4.0]]})
    >>> pn.models.Effort("quadratic").explanatory(decisions)[0].tolist()
    [[2.0, -0.0], [5.0, -16.0]]
    >>> pn.models.Effort("hyperbolic").explanatory(decisions, 0.25)[0].tolist()
    [[2.0], [2.5]]
    """

    kind: Literal["linear", "quadratic", "power", "hyperbolic", "exponential", "sigmoid"] = "linear"
    rates: tuple[float, float] = (1e-4, 1e3)
    turns: tuple[float, float] = (1e-3, 1e2)

    attributes = ("reward", "effort")
    positive = ("inverse_temperature",)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(
                f"kind must be one of {', '.join(KINDS)}; got {self.kind!r}. Choose one."
            )

    @property
    def _subtracts(self) -> bool:
        return self.kind in ("linear", "quadratic", "power")

    @property
    def weights(self) -> tuple[str, ...]:  # type: ignore[override]  # by kind
        """1/tau, and k/tau where the cost is subtracted."""
        cost = ("effort_weight",) if self._subtracts else ()
        return ("inverse_temperature", *cost)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The power of effort, or how fast it discounts, and where."""
        if self.kind in ("linear", "quadratic"):
            return ()
        if self.kind == "power":
            return (POWER,)
        rate = Shape("effort_rate", *self.rates, scale="log", n_grid=60)
        if self.kind != "sigmoid":
            return (rate,)
        rate = Shape("effort_rate", *self.rates, scale="log", n_grid=41)
        return (rate, Shape("effort_turn", *self.turns, scale="log", n_grid=31))

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, the cost of effort, and shape parameters."""
        first = ratios("effort_cost") if self._subtracts else (TEMPERATURE,)
        return (*first, *shapes(*(s.name for s in self.shape)))

    def columns(self, offers: Described, psi: Any) -> Matrix:
        """What a reward is worth; and minus what the effort costs where it is subtracted."""
        reward, effort = offers["reward"], offers["effort"]
        if self._subtracts:
            known = {"linear": 1.0, "quadratic": 2.0}.get(self.kind)
            return np.stack([reward, -(effort ** (known or psi[0]))], axis=-1)
        return np.asarray((reward * self._left(effort, psi))[:, :, None])

    def _left(self, effort: Matrix, psi: Any) -> Matrix:
        """Share of a reward that is left after an effort."""
        k = psi[0]
        if self.kind == "hyperbolic":
            return np.asarray(1.0 / (1.0 + k * effort))
        if self.kind == "exponential":
            return np.asarray(np.exp(-k * effort))
        p = psi[1]
        rise = special.expit(k * (effort - p)) - special.expit(-k * p)
        return np.asarray(1.0 - rise * (1.0 + np.exp(-k * p)))

    def column_slopes(self, offers: Described, psi: Any) -> Matrix:
        """Their derivatives in q, k or p."""
        reward, effort = offers["reward"], offers["effort"]
        found = np.zeros((len(self.shape), *reward.shape, len(self.weights)))
        if self.kind == "power":
            log_effort = np.log(np.where(effort > 0, effort, 1.0))
            found[0, :, :, 1] = -(effort ** psi[0]) * log_effort
        elif self.kind == "hyperbolic":
            found[0, :, :, 0] = -reward * effort / (1.0 + psi[0] * effort) ** 2
        elif self.kind == "exponential":
            found[0, :, :, 0] = -reward * effort * np.exp(-psi[0] * effort)
        elif self.kind == "sigmoid":
            k, p = psi
            here, start = special.expit(k * (effort - p)), special.expit(-k * p)
            fade = np.exp(-k * p)
            bend, begin = here * (1.0 - here), start * (1.0 - start)
            rise = here - start
            by_k = bend * (effort - p) + begin * p
            by_p = k * (begin - bend)
            found[0, :, :, 0] = -reward * (by_k * (1.0 + fade) - rise * p * fade)
            found[1, :, :, 0] = -reward * (by_p * (1.0 + fade) - rise * k * fade)
        return found

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """What is left of the reward after the effort."""
        reward, effort = np.asarray(offers["reward"]), np.asarray(offers["effort"])
        if self._subtracts:
            power = {"linear": 1.0, "quadratic": 2.0}.get(self.kind)
            power = parameters["effort_power"] if power is None else power
            return np.asarray(reward - parameters["effort_cost"] * effort**power)
        k = parameters["effort_rate"]
        if self.kind == "hyperbolic":
            return np.asarray(reward / (1.0 + k * effort))
        if self.kind == "exponential":
            return np.asarray(reward * np.exp(-k * effort))
        p = parameters["effort_turn"]
        fall = 0.5 * (np.tanh(0.5 * k * (effort - p)) + np.tanh(0.5 * k * p))
        return np.asarray(reward * (1.0 - fall * (1.0 + np.exp(-k * p))))

    def __str__(self) -> str:
        said = {
            "linear": "R - k E",
            "quadratic": "R - k E^2",
            "power": "R - k E^q",
            "hyperbolic": "R / (1 + k E)",
            "exponential": "R exp(-k E)",
            "sigmoid": "R falling as a sigmoid of E",
        }
        return f"effort, {said[self.kind]}"
