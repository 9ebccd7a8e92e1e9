"""Discounting: what an amount is worth now that comes after a delay.

The objective is the discounted value over the temperature tau, in the unit of the amounts: linear
in 1/tau once the discount rate is fixed. Rates are per unit of delay: with delays in days, a rate
of 0.01 is 0.01 a day.

Points of indifference: the discount rates at which two options are worth the same.

On one side of such a point one option is better, on the other side the other. The rates between two
neighbouring points explain the same choices; a person who is perfectly consistent has their rate in
one of these intervals, whatever their temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from penchant._typing import BoolVector, Vector
from penchant.choices.offers import Offers
from penchant.models.offers.attributes import OfferModel, check_attributes
from penchant.models.parameters import TEMPERATURE, Parameter, Row, Shape
from penchant.models.scalars import Fields, Numbers

Option = tuple[Vector, Vector]  # amount and delay


# From an impatience of years to one of seconds, whatever the unit of delay.
RATES = (1e-6, 1e3)
N_RATES = 70


def discount_rate(rates: tuple[float, float], n_grid: int = N_RATES) -> Shape:
    """The rate of discounting, on a logarithmic scale."""
    return Shape("discount_rate", *rates, scale="log", n_grid=n_grid)


class _OneRate(OfferModel):
    """Base class of discounting with one weight and one rate: V = A f(k D), f(0) = 1."""

    attributes = ("amount", "delay")
    rates: tuple[float, float]

    @property
    def parameters(self) -> tuple[Row, ...]:
        return (TEMPERATURE, discount_rate(self.rates))

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """Rate at which two options, each (amount, delay), are worth the same; NaN for none."""
        raise NotImplementedError

    def consistent_rates(self, decisions: Offers | Sequence[Offers]) -> tuple[float, float] | None:
        """Rates under which every choice is the better option; None if there is none.

        A person who never contradicts themselves has no finite temperature, but their rate is known
        to lie between two points of indifference: this is that interval, from 0 or to infinity
        where no choice ends it.

        Parameters
        ----------
        decisions
            `Offers`, or several of the same person.
        """
        several = decisions if isinstance(decisions, Sequence) else [decisions]
        each = zip(*map(self._crossings, several), strict=True)
        points, until = (np.concatenate(parts) for parts in each)
        if np.isnan(points).any():
            return None
        low = float(points[~until].max(initial=0.0))
        high = float(points[until].min(initial=np.inf))
        return (low, high) if low < high else None

    def _crossings(self, decisions: Offers) -> tuple[Vector, BoolVector]:
        """Discount rates at which each chosen option is indifferent to each of the others.

        Returns
        -------
        Points of indifference, one per option not taken: infinity where the option taken is better
        at every rate, NaN where it is at none; and whether it is better up to the point, or from
        there.
        """
        check_attributes(decisions, self.attributes, type(self).__name__)
        m, chosen = decisions.n_options, decisions.scored_options
        row, taken = np.repeat(np.flatnonzero(decisions.scored), m - 1), np.repeat(chosen, m - 1)
        others = [[i for i in range(m) if i != c] for c in chosen]
        other = np.array(others, dtype=np.int64).reshape(-1)
        amount, delay = decisions.offers["amount"], decisions.offers["delay"]
        a, d, b, e = amount[row, taken], delay[row, taken], amount[row, other], delay[row, other]
        points = self.indifferent_at((a, d), (b, e))
        crosses = (points > 0) & np.isfinite(points)
        # without discounting the larger is better; of equal amounts, that which loses less first
        never = (a < b) | ((a == b) & (a * d > b * e))
        apart = np.where(never, np.nan, np.inf)
        return np.where(crosses, points, apart), np.where(crosses, a > b, True)


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

    in_brief = "A / (1 + k D)"

    rates: tuple[float, float] = RATES

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """A1 (1 + k D2) = A2 (1 + k D1) at k = (A2 - A1) / (A1 D2 - A2 D1)."""
        (a, d), (b, e) = one, other
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((b - a) / (a * e - b * d))

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        x[0] = o.amount / (1.0 + psi.discount_rate * o.delay)

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

    in_brief = "A exp(-k D)"

    rates: tuple[float, float] = RATES

    def indifferent_at(self, one: Option, other: Option) -> Vector:
        """A1 exp(-k D1) = A2 exp(-k D2) at k = log(A1 / A2) / (D1 - D2)."""
        (a, d), (b, e) = one, other
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(a / b) / (d - e))

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        z = psi.discount_rate * o.delay
        value = o.amount * exp(-z)
        x[0] = value if z <= 37.0 else 0.0

    def __str__(self) -> str:
        return "exponential discounting, A exp(-k D)"


@dataclass(frozen=True)
class QuasiHyperbolicDiscounting(OfferModel):
    """Quasi-hyperbolic (beta-delta) discounting: V = A now, b A exp(-k D) later (Laibson 1997).

    The present-bias factor b times 1/tau is a weight of its own, so that the model is linear in
    theta = (1/tau, b/tau) once psi = k is fixed. b < 1: what is not now is worth less at once.

    Parameters
    ----------
    rates
        Range of k in which to search, per unit of delay; delta = exp(-k).
    """

    in_brief = "present bias"

    rates: tuple[float, float] = RATES

    attributes = ("amount", "delay")

    @property
    def parameters(self) -> tuple[Row, ...]:
        later = ("inverse_temperature_later", "inverse_temperature")
        return (
            TEMPERATURE,
            Parameter.ratio("present_bias", *later, positive=True),
            discount_rate(self.rates),
        )

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        z = psi.discount_rate * o.delay
        value = o.amount * exp(-z)
        x[0] = 0.0 if o.delay > 0 else value
        x[1] = value if o.delay > 0 and z <= 37.0 else 0.0

    def __str__(self) -> str:
        return "quasi-hyperbolic discounting, A now, b A exp(-k D) later"


@dataclass(frozen=True)
class ConstantSensitivityDiscounting(OfferModel):
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

    in_brief = "A exp(-(k D)^s)"

    rates: tuple[float, float] = RATES
    sensitivities: tuple[float, float] = (0.05, 5.0)

    attributes = ("amount", "delay")

    @property
    def parameters(self) -> tuple[Row, ...]:
        sensitivity = Shape("time_sensitivity", *self.sensitivities, scale="log", n_grid=11)
        return (TEMPERATURE, discount_rate(self.rates, 45), sensitivity)

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        power = psi.time_sensitivity * (log(psi.discount_rate) + log(o.delay))
        z = exp(min(power, 700.0)) if o.delay > 0 else 0.0  # exp(710) is infinite
        value = o.amount * exp(-z)
        x[0] = value if z <= 37.0 else 0.0

    def __str__(self) -> str:
        return "constant-sensitivity discounting, A exp(-(a D)^s)"
