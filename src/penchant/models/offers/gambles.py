"""Gambles: what options with several outcomes, each with a probability, are worth.

Offers have the attributes "outcome" and "probability", (n_events, n_options, n_outcomes); without a
third axis an option has one outcome, and nothing otherwise. Probabilities may leave a rest: it pays
nothing. Probabilities are weighted one by one (Kahneman & Tversky 1979), not by rank; for gambles
with one gain and one loss at most both are the same.

How people weight probabilities: Prelec's function, and Tversky and Kahneman's.

Both give 0 at 0 and 1 at 1, are the identity at gamma = 1, and overweight small probabilities where
gamma < 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError, either
from penchant.models.model import Described
from penchant.models.natural import Natural, Shape
from penchant.models.offers import _kernels
from penchant.models.offers.attributes import (
    LinearModel,
    Pairs,
    Prepared,
    StaticModel,
    blocks_for,
)


def prelec(p: Matrix, gamma: float) -> Matrix:
    """w = exp(-(-log p)^gamma) (Prelec 1998).

    Examples
    --------
    >>> prelec(np.array([0.0, 0.05, 0.9, 1.0]), 0.6).round(3).tolist()
    [0.0, 0.145, 0.772, 1.0]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(-((-np.log(p)) ** gamma)))


def tversky_kahneman(p: Matrix, gamma: float) -> Matrix:
    """w = p^gamma / (p^gamma + (1 - p)^gamma)^(1 / gamma) (Tversky & Kahneman 1992).

    Examples
    --------
    >>> tversky_kahneman(np.array([0.0, 0.05, 0.9, 1.0]), 0.61).round(3).tolist()
    [0.0, 0.132, 0.712, 1.0]
    """
    power, rest = p**gamma, (1 - p) ** gamma
    return np.asarray(power / (power + rest) ** (1 / gamma))


# In the order in which the compiled loops number them, from 1.
WEIGHTINGS: dict[str, Callable[[Matrix, float], Matrix]] = {
    "prelec": prelec,
    "tversky-kahneman": tversky_kahneman,
}

CURVATURE = Shape("curvature", 0.05, 5.0, scale="log", n_grid=21)
SENSITIVITY = Shape("probability_sensitivity", 0.3, 3.0, scale="log", n_grid=9)
TEMPERATURE = Natural("temperature", "reciprocal", 0)


@dataclass(frozen=True)
class ExpectedUtility(StaticModel):
    """Expected utility: sum_j p_j u(x_j) with u(x) = x^rho, and -|x|^rho for losses.

    theta = 1/tau, psi = rho, the curvature of utility: 1 is risk-neutral, less is averse to risks
    among gains. The temperature tau is in the unit of utility, amount^rho.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"outcome": [[9.0, 25.0]], "probability": [[1.0, 0.5]]})
    >>> pn.models.ExpectedUtility().explanatory(decisions, 0.5)[0, :, 0].round(9).tolist()
    [3.0, 2.5]
    """

    attributes = ("outcome", "probability")
    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)
    shape = (CURVATURE,)
    natural = (TEMPERATURE, Natural("curvature", "shape", 0))

    def prepare(self, offers: Described) -> Prepared:
        """Outcomes, probabilities, and logarithms of them."""
        return _with_logarithms(offers, "none")

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Sum of p u(x), and of its derivative p u(x) log |x|."""
        _fill_gambles(prepared, pairs, 0, x, slopes)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
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
        "tversky-kahneman" (w = p^gamma / (p^gamma + (1 - p)^gamma)^(1/gamma)). gamma is
        identifiable beside the curvature only where probabilities differ between decisions.
    losses
        False where no gamble has a loss: there is no loss aversion to estimate then.
    curvature
        Curvature rho of utility; None to estimate it. 1 is linear: loss aversion alone.

    Examples
    --------
    >>> import penchant as pn
    >>> fair = pn.Offers([0], {"outcome": [[[16, -9], [0, 0]]], "probability": [[[0.5, 0.5]] * 2]})
    >>> pn.models.ProspectValue().explanatory(fair, 0.5)[0].round(9).tolist()
    [[2.0, -1.5], [0.0, 0.0]]
    """

    weighting: Literal["none", "prelec", "tversky-kahneman"] = "none"
    losses: bool = True
    curvature: float | None = None

    attributes = ("outcome", "probability")

    @property
    def unidentified(self) -> Mapping[str, str]:
        """What to do where nobody can lose: there is no loss aversion then."""
        typed = either(
            "use ExpectedUtility, or ProspectValue(losses=False)",
            "use --model expected-utility, or --settings losses=false",
        )
        return {"loss_weight": f"Where no gamble has a loss, {typed}."}

    def __post_init__(self) -> None:
        if self.weighting not in ("none", *WEIGHTINGS):
            raise DataError(
                f"weighting must be one of none, {', '.join(WEIGHTINGS)}; "
                f"got {self.weighting!r}. Choose one."
            )
        if self.curvature is not None and not 0 < self.curvature < np.inf:
            raise DataError(
                f"curvature must be positive, or None to estimate it; got {self.curvature}. "
                "1 is linear."
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
        curved = (CURVATURE,) if self.curvature is None else ()
        return curved if self.weighting == "none" else (*curved, SENSITIVITY)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """Temperature, loss aversion, curvature, sensitivity to probabilities."""
        aversion = (Natural("loss_aversion", "ratio", 1, 0),) if self.losses else ()
        named = (Natural(s.name, "shape", a) for a, s in enumerate(self.shape))
        return (TEMPERATURE, *aversion, *named)

    def prepare(self, offers: Described) -> Prepared:
        """Outcomes, probabilities, and logarithms of them."""
        outcome = offers["outcome"]
        if not self.losses and (outcome < 0).any():
            raise DataError(
                f"offers['outcome'] must not be negative with losses=False; got {outcome.min():g}. "
                "Leave losses=True to estimate loss aversion."
            )
        return _with_logarithms(offers, self.weighting)

    def fill(self, prepared: Prepared, pairs: Pairs, x: Matrix, slopes: Matrix) -> None:
        """Weighted utility of the gains, and minus that of the losses."""
        number = ("none", *WEIGHTINGS).index(self.weighting)
        if self.curvature is None:
            _fill_gambles(prepared, pairs, number, x, slopes)
            return
        starts, which, psi = pairs
        held = np.concatenate([np.full((len(psi), 1), self.curvature), psi], axis=1)
        whole = np.empty((held.shape[1], *slopes.shape[1:]))
        _fill_gambles(prepared, (starts, which, held), number, x, whole)
        slopes[:] = whole[1 : 1 + len(slopes)]

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """Sum over outcomes of w(p) u(x), with u(x) = x^rho or -lambda |x|^rho."""
        outcome, p = offers["outcome"], offers["probability"]
        rho = parameters["curvature"] if self.curvature is None else self.curvature
        if self.weighting != "none":
            p = WEIGHTINGS[self.weighting](p, parameters["probability_sensitivity"])
        gain = np.maximum(outcome, 0.0) ** rho
        loss = parameters.get("loss_aversion", 1.0) * np.maximum(-outcome, 0.0) ** rho
        return _total(p * (gain - loss))

    def __str__(self) -> str:
        how = {"none": "probabilities as they are"}.get(self.weighting, self.weighting)
        rho = "rho" if self.curvature is None else f"{self.curvature:g}"
        return f"prospect value, u(x) = x^{rho}, {how}{'' if self.losses else ', gains only'}"


@dataclass(frozen=True)
class MeanVariance(LinearModel):
    """Mean and variance: the expected outcome plus phi times its variance.

    Fully linear: theta = (1/tau, phi/tau), no shape. phi < 0 is averse to risk; it is per unit of
    amount.

    Examples
    --------
    >>> import penchant as pn
    >>> decisions = pn.Offers([0], {"outcome": [[9.0, 25.0]], "probability": [[1.0, 0.5]]})
    >>> pn.models.MeanVariance().explanatory(decisions)[0].tolist()
    [[9.0, 0.0], [12.5, 156.25]]
    """

    attributes = ("outcome", "probability")
    weights = ("inverse_temperature", "variance_weight")
    positive = ("inverse_temperature",)
    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)
    natural = (TEMPERATURE, Natural("risk_attitude", "ratio", 1, 0))

    def prepare(self, offers: Described) -> Prepared:
        """Mean m = sum p x, and variance sum p (x - m)^2, with nothing for the rest of p."""
        outcome, p = _both(offers)
        mean = (p * outcome).sum(axis=2)
        spread = (p * (outcome - mean[:, :, None]) ** 2).sum(axis=2)
        rest = np.maximum(1.0 - p.sum(axis=2), 0.0)
        return (np.stack([mean, spread + rest * mean**2], axis=-1),)

    def option_values(self, offers: Described, parameters: Mapping[str, float]) -> Matrix:
        """Mean plus phi times (mean of squares less squared mean)."""
        outcome, p = offers["outcome"], offers["probability"]
        mean = _total(p * outcome)
        return np.asarray(mean + parameters["risk_attitude"] * (_total(p * outcome**2) - mean**2))

    def __str__(self) -> str:
        return "mean and variance of the outcome"


def _total(parts: Matrix) -> Matrix:
    """Sum over outcomes, where there are several."""
    return np.asarray(parts.sum(axis=2) if parts.ndim == 3 else parts)


def _both(offers: Described) -> tuple[Matrix, Matrix]:
    """Outcomes and probabilities, with an axis for the outcomes of an option."""
    outcome, p = offers["outcome"], offers["probability"]
    return (outcome, p) if outcome.ndim == 3 else (outcome[:, :, None], p[:, :, None])


def _with_logarithms(offers: Described, weighting: str) -> Prepared:
    """What `gambles` needs of outcomes and probabilities, with log |x| and those of a weighting.

    Where there is no logarithm, for outcomes of 0 and for probabilities of 0 or 1, it is 0.
    """
    outcome, p = _both(offers)
    attributes = [np.sign(outcome), np.log(np.where(outcome == 0, 1.0, np.abs(outcome))), p]
    if weighting != "none":
        inside = (p > 0) & (p < 1)
        chance = np.where(inside, p, 0.5)
        logs = [np.log(chance), np.log1p(-chance)]
        if weighting == "prelec":
            logs = [np.log(-logs[0])]
        attributes += [np.where(inside, log, 0.0) for log in logs]
    found = np.empty((len(attributes), outcome.shape[2], p[:, :, 0].size))
    for place, attribute in zip(found, attributes, strict=True):
        place[:] = attribute.reshape(-1, outcome.shape[2]).T
    return (found,)


def _fill_gambles(
    prepared: Prepared, pairs: Pairs, weighting: int, x: Matrix, slopes: Matrix
) -> None:
    """The columns of gambles at every psi, with room for what psi share."""
    (attributes,) = prepared
    (room,) = blocks_for(pairs, x.shape[1])
    kept = (_kernels.SLOTS, attributes.shape[1], len(room))
    sums, known = np.empty((2, len(room))), np.zeros((2, 1 + _kernels.SLOTS))
    rooms = room, sums, np.empty(kept), np.empty(kept), np.empty(kept), known
    steep = slopes.reshape(len(slopes), slopes[:1].size)
    flat = x.reshape(-1)
    _kernels.gambles(attributes, *pairs, weighting, x.shape[1:], rooms, flat, steep)
