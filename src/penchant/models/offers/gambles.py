"""Gambles: what options with several outcomes, each with a probability, are worth.

Offers have the attributes "outcome" and "probability", (n_events, n_options, n_outcomes); without a
third axis an option has one outcome, and nothing otherwise. Probabilities may leave a rest: it pays
nothing. Probabilities are weighted one by one (Kahneman & Tversky 1979), not by rank; for gambles
with one gain and one loss at most both are the same.

Probabilities are weighted by w = exp(-(-log p)^gamma) (Prelec 1998), or by w = p^gamma / (p^gamma +
(1 - p)^gamma)^(1/gamma) (Tversky & Kahneman 1992). Both give 0 at 0 and 1 at 1, are the identity at
gamma = 1, and overweight small probabilities where gamma < 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Literal

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError, mark_argument
from penchant.models.model import Described
from penchant.models.offers.attributes import LinearModel, OfferModel
from penchant.models.parameters import TEMPERATURE, Row, Shape, per_temperature
from penchant.models.scalars import Fields, Numbers

WEIGHTINGS = ("none", "prelec", "tversky-kahneman")

CURVATURE = Shape("curvature", 0.05, 5.0, scale="log", n_grid=21)
SENSITIVITY = Shape("probability_sensitivity", 0.3, 3.0, scale="log", n_grid=9)


class GambleModel(OfferModel):
    """Base of models of gambles: utilities of outcomes, by weights of their probabilities."""

    attributes = ("outcome", "probability")
    weighting: str

    def fields(self, offers: Described) -> Described:
        outcome, p = _both(offers)
        return {"outcome": outcome, "probability": p}

    def settings(self) -> Mapping[str, int]:
        return {"weighting": WEIGHTINGS.index(self.weighting), "columns": len(self.weights)}

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        gain = 0.0
        loss = 0.0
        for j in range(len(o.outcome)):
            z = o.outcome[j]
            p = o.probability[j]
            w = p
            if c.weighting == 1:
                power = (-log(p)) ** psi.probability_sensitivity
                bent = exp(-power) if power <= 37.0 else 0.0
                w = bent if p > 0.0 and p < 1.0 else p
            if c.weighting == 2:
                g = psi.probability_sensitivity
                bent = exp(g * log(p) - log(p**g + (1.0 - p) ** g) / g)
                w = bent if p > 0.0 and p < 1.0 else p
            part = w * abs(z) ** psi.curvature
            gain += part if z > 0.0 else 0.0
            loss -= part if z < 0.0 else 0.0
        if c.columns == 1:
            x[0] = gain + loss
        else:
            x[0] = gain
            x[1] = loss


@dataclass(frozen=True)
class ExpectedUtility(GambleModel):
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

    in_brief = "gambles by expected utility"

    weighting = "none"
    parameters = (TEMPERATURE, CURVATURE)

    def __str__(self) -> str:
        return "expected utility, u(x) = x^rho"


@dataclass(frozen=True)
class ProspectValue(GambleModel):
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

    in_brief = "gambles by prospect value"

    weighting: Literal["none", "prelec", "tversky-kahneman"] = "none"
    losses: bool = True
    curvature: float | None = None

    @property
    def unidentified(self) -> Mapping[str, str]:
        """Advice for data without losses, in which loss aversion is not identified."""
        return {"loss_weight": "Where no gamble has a loss, use expected utility, or losses=False."}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curvature is not None and not 0 < self.curvature < np.inf:
            raise DataError(
                "curvature",
                "must be positive, or None to estimate it",
                got=self.curvature,
                fix="1 is linear.",
            )

    @property
    def parameters(self) -> tuple[Row, ...]:
        """tau, lambda (negative of who likes losses), rho, gamma."""
        aversion = (per_temperature("loss_aversion", "loss_weight"),) if self.losses else ()
        curved = (CURVATURE,) if self.curvature is None else ()
        weighted = () if self.weighting == "none" else (SENSITIVITY,)
        return (TEMPERATURE, *aversion, *curved, *weighted)

    def fields(self, offers: Described) -> Described:
        outcome = offers["outcome"]
        if not self.losses and (outcome < 0).any():
            raise DataError(
                "offers['outcome']",
                f"must not be negative with {mark_argument('losses', False)}",
                got=f"{outcome.min():g}",
                fix=f"Leave {mark_argument('losses', True)} to estimate loss aversion.",
            )
        return super().fields(offers)

    def bindings(self) -> Mapping[str, float]:
        return {} if self.curvature is None else {"curvature": self.curvature}

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

    in_brief = "gambles by mean and variance"

    attributes = ("outcome", "probability")
    parameters = (TEMPERATURE, per_temperature("risk_attitude", "variance_weight"))

    def columns(self, offers: Described) -> Matrix:
        """Mean m = sum p x, and variance sum p (x - m)^2, with nothing for the rest of p."""
        outcome, p = _both(offers)
        mean = (p * outcome).sum(axis=2)
        spread = (p * (outcome - mean[:, :, None]) ** 2).sum(axis=2)
        rest = np.maximum(1.0 - p.sum(axis=2), 0.0)
        return np.stack([mean, spread + rest * mean**2], axis=-1)

    def __str__(self) -> str:
        return "mean and variance of the outcome"


def _both(offers: Described) -> tuple[Matrix, Matrix]:
    """Outcomes and probabilities, with an axis for the outcomes of an option."""
    outcome, p = offers["outcome"], offers["probability"]
    return (outcome, p) if outcome.ndim == 3 else (outcome[:, :, None], p[:, :, None])
