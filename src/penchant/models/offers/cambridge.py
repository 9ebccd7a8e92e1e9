"""The Cambridge gamble: which colour hides the token, and how much to stake (Romeu et al. 2020).

Of ten boxes a share p is of the second colour. The colour is chosen with

    log-odds of the second colour = alpha log(p / (1 - p)) + log(c / (1 - c)),

where alpha distorts the odds and c, from 0 to 1, is a bias for the second colour. Then stakes are
shown one after another, small to large or large to small; with q the share of boxes of the colour
that was chosen, and points S in hundreds, a stake s that is shown after a delay d has the objective

    gamma (q log(1 + S (1 + s)) + (1 - q) log(1 + rho S (1 - s)) - beta d),

with the sensitivity gamma = 1/tau, what is left after a loss weighed by rho, and the impatience
beta. The two choices share no parameter: the likelihood is the product of two fits, of which the
first is linear in (alpha, log-odds of c), the second, for a given rho, in (gamma, gamma beta).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from penchant.errors import DataError
from penchant.models.model import Described
from penchant.models.offers.attributes import OfferModel
from penchant.models.parameters import TEMPERATURE, Parameter, Row, Shape, per_temperature
from penchant.models.scalars import Fields, Numbers

HUNDRED = 100.0


@dataclass(frozen=True)
class CambridgeGamble(OfferModel):
    """The Cambridge gamble, of which the stakes and the colours are two fits.

    part="stakes": theta = (1/tau, beta/tau), psi = rho. Each option has `stake`, the share of the
    points that is bet; `delay`, when it is shown, from 0 to 1; `points` before the bet; and
    `probability`, the share of boxes of the colour that was chosen. part="colours": theta = (alpha,
    minus the log-odds of c), no shape. Each option has `probability`, the share of boxes of its
    colour.

    Parameters
    ----------
    part
        "stakes" or "colours".

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.CambridgeGamble("colours")
    >>> rng = np.random.default_rng(1)
    >>> share = rng.integers(1, 10, 300) / 10
    >>> boxes = {"probability": np.column_stack([1 - share, share])}
    >>> truth = {"probability_distortion": 1.5, "colour_bias": 0.6}
    >>> play = pn.simulate(boxes, model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'probability_distortion': 1.4, 'colour_bias': 0.5}
    """

    in_brief = "stakes that are shown in turn; colours"

    part: Literal["stakes", "colours"] = "stakes"

    @property
    def attributes(self) -> tuple[str, ...]:  # type: ignore[override]  # by part
        """Attributes that every option must have."""
        stakes = ("stake", "delay", "points", "probability")
        return stakes if self.part == "stakes" else ("probability",)

    @property
    def parameters(self) -> tuple[Row, ...]:
        if self.part == "stakes":
            impatience = per_temperature("impatience", "impatience_weight")
            left = Shape("loss_sensitivity", 1e-3, 1e3, scale="log", n_grid=45)
            return (TEMPERATURE, impatience, left)
        return (
            Parameter.weight("probability_distortion"),
            Parameter.share("colour_bias", "first_colour"),
        )

    def fields(self, offers: Described) -> Described:
        """Utilities after a gain and a loss; for choices of colour, the flag of the first."""
        p = offers["probability"]
        low = 0.0 if self.part == "stakes" else np.nextafter(0.0, 1.0)
        if not ((p >= low) & (p <= 1.0 - low)).all():
            raise DataError(
                "offers['probability']",
                "must lie between 0 and 1 for CambridgeGamble",
                got=f"{p.min():g} to {p.max():g}",
                fix="Give shares of boxes.",
            )
        if self.part == "colours":
            first = np.arange(p.shape[1]) == np.zeros((len(p), 1))
            return {"probability": p, "first": first.astype(np.float64)}
        points, stake = offers["points"] / HUNDRED, offers["stake"]
        won = p * np.log(1.0 + points * (1.0 + stake))
        lost = points * (1.0 - stake)
        return {"probability": p, "delay": offers["delay"], "won": won, "lost": lost}

    def settings(self) -> Mapping[str, int]:
        return {"stakes": int(self.part == "stakes")}

    @staticmethod
    def features(o: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        if c.stakes == 1:
            x[0] = o.won + (1.0 - o.probability) * log(1.0 + psi.loss_sensitivity * o.lost)
            x[1] = -o.delay
        else:
            x[0] = log(o.probability)
            x[1] = o.first

    def __str__(self) -> str:
        return f"Cambridge gamble, {self.part}"
