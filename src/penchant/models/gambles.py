"""Gambles: what options with several outcomes, each with a probability, are worth.

Offers have the attributes "outcome" and "probability", (n_events, n_options, n_outcomes); without a
third axis an option has one outcome, and nothing otherwise. Probabilities may leave a rest: it pays
nothing. Probabilities are weighted one by one (Kahneman & Tversky 1979), not by rank; for gambles
with one gain and one loss at most both are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.model import Natural, Shape
from penchant.models.probability_weighting import WEIGHTINGS, Weighting
from penchant.models.static import Offers, StaticModel

CURVATURE = Shape("curvature", 0.05, 5.0, scale="log", n_grid=33)
SENSITIVITY = Shape("probability_sensitivity", 0.3, 3.0, scale="log", n_grid=13)
TEMPERATURE = Natural("temperature", "reciprocal", 0)


@dataclass(frozen=True)
class ExpectedUtility(StaticModel):
    """Expected utility: sum_j p_j u(x_j) with u(x) = x^rho, and -|x|^rho for losses.

    theta = 1/tau, psi = rho, the curvature of utility: 1 is risk-neutral, less is averse to risks
    among gains. The temperature tau is in the unit of utility, amount^rho.

    Examples
    --------
    >>> import penchant as pn
    >>> trials = pn.Trials([0], {"outcome": [[9.0, 25.0]], "probability": [[1.0, 0.5]]})
    >>> pn.ExpectedUtility().explanatory(trials, 0.5)[0, :, 0].round(9).tolist()
    [3.0, 2.5]
    """

    attributes = ("outcome", "probability")
    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)
    shape = (CURVATURE,)
    natural = (TEMPERATURE, Natural("curvature", "shape", 0))

    def variables(
        self, offers: Offers, psi: tuple[Vector, ...], with_slopes: bool
    ) -> tuple[list[Matrix], list[list[Matrix]]]:
        """Sum of p u(x), and of its derivative p u(x) log |x|."""
        outcome, p = offers["outcome"], offers["probability"]
        utility, slope = _power(np.abs(outcome), psi[0])
        signed = np.sign(outcome) * p
        value = _total(signed * utility)
        return [value], [[_total(signed * slope)]] if with_slopes else []

    def values(self, offers: Offers, parameters: Mapping[str, float]) -> Matrix:
        """Sum over outcomes of p u(x)."""
        outcome, rho = offers["outcome"], parameters["curvature"]
        gain = np.maximum(outcome, 0.0) ** rho
        loss = np.maximum(-outcome, 0.0) ** rho
        return _total(offers["probability"] * (gain - loss))

    def __str__(self) -> str:
        return "expected utility, u(x) = x^rho"


@dataclass(frozen=True)
class ProspectValue(StaticModel):
    """Prospect value: gains sum_j w(p_j) x_j^rho, less lambda times the same of the losses.

    Loss aversion lambda is the ratio of two weights, so that theta = (1/tau, lambda/tau) is linear
    once psi = (rho, gamma) is fixed.

    Parameters
    ----------
    weighting
        How probabilities are weighted: "none" (w = p), "prelec" (w = exp(-(-log p)^gamma)) or
        "tversky-kahneman" (w = p^gamma / (p^gamma + (1 - p)^gamma)^(1/gamma)). gamma can only be
        told apart from the curvature where probabilities differ between decisions.
    losses
        False where no gamble has a loss: there is no loss aversion to estimate then.

    Examples
    --------
    >>> import penchant as pn
    >>> fair = pn.Trials([0], {"outcome": [[[16, -9], [0, 0]]], "probability": [[[0.5, 0.5]] * 2]})
    >>> pn.ProspectValue().explanatory(fair, 0.5)[0].round(9).tolist()
    [[2.0, -1.5], [0.0, 0.0]]
    """

    weighting: Literal["none", "prelec", "tversky-kahneman"] = "none"
    losses: bool = True

    attributes = ("outcome", "probability")

    def __post_init__(self) -> None:
        if self.weighting not in ("none", *WEIGHTINGS):
            raise DataError(
                f"weighting must be one of none, {', '.join(WEIGHTINGS)}; "
                f"got {self.weighting!r}. Choose one."
            )

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, and lambda/tau."""
        return ("inverse_temperature", "loss_weight") if self.losses else ("inverse_temperature",)

    @property
    def positive(self) -> tuple[str, ...]:
        """1/tau; who likes losses has a negative loss aversion."""
        return ("inverse_temperature",)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Curvature of utility, and sensitivity to probabilities where they are weighted."""
        return (CURVATURE,) if self.weighting == "none" else (CURVATURE, SENSITIVITY)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, loss aversion, curvature, sensitivity to probabilities."""
        aversion = (Natural("loss_aversion", "ratio", 1, 0),) if self.losses else ()
        named = (Natural(s.name, "shape", a) for a, s in enumerate(self.shape))
        return (TEMPERATURE, *aversion, *named)

    def variables(
        self, offers: Offers, psi: tuple[Vector, ...], with_slopes: bool
    ) -> tuple[list[Matrix], list[list[Matrix]]]:
        """Weighted utility of the gains, and minus that of the losses."""
        utility, bend = _power(np.abs(offers["outcome"]), psi[0])
        weight, tilt = self._weighted(offers["probability"], psi[1:])
        parts = self._parts(offers["outcome"])
        columns = [_total(part * weight * utility) for part in parts]
        if not with_slopes:
            return columns, []
        slopes = [[_total(part * weight * bend) for part in parts]]
        if tilt is not None:
            slopes.append([_total(part * tilt * utility) for part in parts])
        return columns, slopes

    def _weighted(self, p: Matrix, gamma: tuple[Vector, ...]) -> tuple[Matrix, Matrix | None]:
        return self._function()(p, gamma[0]) if gamma else (p, None)

    def _function(self) -> Weighting:
        return WEIGHTINGS[self.weighting]

    def _parts(self, outcome: Matrix) -> list[Matrix]:
        """Which outcomes are gains, and minus which are losses."""
        gains = (outcome > 0).astype(np.float64)
        if self.losses:
            return [gains, -(outcome < 0).astype(np.float64)]
        if (outcome < 0).any():
            raise DataError(
                f"offers['outcome'] must not be negative with losses=False; got {outcome.min():g}. "
                "Leave losses=True to estimate loss aversion."
            )
        return [gains]

    def values(self, offers: Offers, parameters: Mapping[str, float]) -> Matrix:
        """Sum over outcomes of w(p) u(x), with u(x) = x^rho or -lambda |x|^rho."""
        outcome, p, rho = offers["outcome"], offers["probability"], parameters["curvature"]
        if self.weighting != "none":
            p = self._function()(p, np.array(parameters["probability_sensitivity"]))[0]
        gain = np.maximum(outcome, 0.0) ** rho
        loss = parameters.get("loss_aversion", 1.0) * np.maximum(-outcome, 0.0) ** rho
        return _total(p * (gain - loss))

    def __str__(self) -> str:
        how = {"none": "probabilities as they are"}.get(self.weighting, self.weighting)
        return f"prospect value, u(x) = x^rho, {how}{'' if self.losses else ', gains only'}"


@dataclass(frozen=True)
class MeanVariance(StaticModel):
    """Mean and variance: the expected outcome plus phi times its variance.

    Fully linear: theta = (1/tau, phi/tau), no shape. phi < 0 is averse to risk; it is per unit of
    amount.
    """

    attributes = ("outcome", "probability")
    weights = ("inverse_temperature", "variance_weight")
    positive = ("inverse_temperature",)
    shape: tuple[Shape, ...] = ()
    natural = (TEMPERATURE, Natural("risk_attitude", "ratio", 1, 0))

    def variables(
        self, offers: Offers, psi: tuple[Vector, ...], with_slopes: bool
    ) -> tuple[list[Matrix], list[list[Matrix]]]:
        """Mean m = sum p x, and variance sum p (x - m)^2, with nothing for the rest of p."""
        outcome, p = _with_outcomes(offers["outcome"]), _with_outcomes(offers["probability"])
        mean = (p * outcome).sum(axis=2)
        spread = (p * (outcome - mean[:, :, None]) ** 2).sum(axis=2)
        rest = np.maximum(1.0 - p.sum(axis=2), 0.0)
        return [mean, spread + rest * mean**2], []

    def values(self, offers: Offers, parameters: Mapping[str, float]) -> Matrix:
        """Mean plus phi times (mean of squares less squared mean)."""
        outcome, p = offers["outcome"], offers["probability"]
        mean = _total(p * outcome)
        return np.asarray(mean + parameters["risk_attitude"] * (_total(p * outcome**2) - mean**2))

    def __str__(self) -> str:
        return "mean and variance of the outcome"


def _power(size: Matrix, rho: Vector) -> tuple[Matrix, Matrix]:
    """x^rho for x >= 0, and its derivative x^rho log x in rho; 0 at 0."""
    some = size > 0
    log_size = np.log(np.where(some, size, 1.0))
    power = np.where(some, np.exp(rho * log_size), 0.0)
    return power, power * log_size


def _total(parts: Matrix) -> Matrix:
    """Sum over outcomes, where there are several."""
    return np.asarray(parts.sum(axis=2) if parts.ndim == 3 else parts)


def _with_outcomes(array: Matrix) -> Matrix:
    return array if array.ndim == 3 else array[:, :, None]
