"""Balloons that may burst: sequential risk taking (BART), as a run of binary choices.

At pump l = 1, 2, ... of a balloon a player pumps or stops; a burst ends the balloon. With n the
pumps of earlier balloons and g those that did not burst,

    "target" (Wallsten et al. 2005): a pump is believed safe with
        q = (phi + eta g) / (1 + eta n),
    the number to aim at is -gamma / log q, and pumping against stopping has the objective
        tau (-gamma / log q - l);

    "mean and variance" (Park et al. 2021): a pump is believed to burst with b = phi at first, then
        b = phi + (1 - e^(-eta n)) ((n - g)/n - phi),
    and pumping against stopping has the objective
        tau ((1 - b) - lambda b (l - 1) + rho b (1 - b) (1 + lambda (l - 1))^2).

With phi, eta and lambda fixed both are linear, in tau gamma and tau, or in tau and tau rho.

At a decision `balloon`, its number, and `pump`, the number l, are seen; `burst`, 1 or 0, is learnt
after it. Option 0 is to stop, option 1 to pump.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from penchant._typing import Matrix, Vector
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.models.transforms import Transform

TARGET, MEAN = "target", "mean and variance"


@dataclass(frozen=True)
class Balloons(Recursion):
    """Sequential risk taking.

    Parameters
    ----------
    rule
        "target" or "mean and variance".

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.Balloons()
    >>> truth = {"inverse_temperature": 0.4, "risk_taking": 0.6, "prior_belief": 0.95}
    >>> truth |= {"updating": 0.02}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.BalloonWorld(40), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('risk_taking*inverse_temperature', 'inverse_temperature', 'burst_belief', 'updating')
    """

    in_brief = "balloons that may burst"

    rule: Literal["target", "mean and variance"] = "target"

    n_options = 2
    before = ("balloon", "pump")
    after = ("burst",)

    optional = ("choice", "burst")

    @property
    def weights(self) -> tuple[str, ...]:
        if self.rule == TARGET:
            return ("risk_taking*inverse_temperature", "inverse_temperature")
        return ("inverse_temperature", "risk_preference*inverse_temperature")

    @property
    def parameters(self) -> tuple[Row, ...]:
        temperature = Parameter.weight("inverse_temperature", positive=True)
        n = 17 if self.rule == TARGET else 13
        burst = Shape("burst_belief", 1e-3, 0.95, scale="log", n_grid=n)
        updating = Shape("updating", 1e-4, 10.0, scale="log", n_grid=n)
        if self.rule == TARGET:
            weight, belief = "risk_taking*inverse_temperature", Transform("1 - u")
            return (
                temperature,
                Parameter.ratio("risk_taking", weight, "inverse_temperature", positive=True),
                Parameter(
                    "prior_belief",
                    shape=burst,
                    transform=belief,
                    is_derived=True,
                    low=0.0,
                    high=1.0,
                ),
                updating,
            )
        weight = "risk_preference*inverse_temperature"
        return (
            temperature,
            Parameter.ratio("risk_preference", weight, "inverse_temperature"),
            Parameter("prior_belief", shape=burst),
            updating,
            Shape("loss_aversion", 0.05, 20.0, scale="log", n_grid=n),
        )

    def settings(self) -> Mapping[str, int]:
        return {"aims": int(self.rule == TARGET)}

    def bindings(self) -> Mapping[str, float]:
        return {"loss_aversion": 0.0}

    def state(self) -> Mapping[str, ArrayLike]:
        """Balloon at hand; pumps and bursts of all balloons, and of those before it."""
        counts = dict.fromkeys(("pumps", "bursts", "earlier_pumps", "earlier_bursts"), 0.0)
        return {"balloon": np.nan, **counts}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Compute the value of a pump from earlier balloons; stopping has value 0."""
        if e.balloon == e.balloon:
            n = s.earlier_pumps if e.balloon == s.balloon else s.pumps
            bursts = s.earlier_bursts if e.balloon == s.balloon else s.bursts
            if c.aims == 1:
                known = 1.0 - psi.burst_belief + psi.updating * (n - bursts)
                x[1, 0] = -1.0 / log(known / (1.0 + psi.updating * n))
                x[1, 1] = -e.pump
            else:
                away = (bursts / n if n > 0 else psi.burst_belief) - psi.burst_belief
                b = psi.burst_belief + (1.0 - exp(-psi.updating * n)) * away
                more = psi.loss_aversion * (e.pump - 1.0)
                x[1, 0] = (1.0 - b) - b * more
                x[1, 1] = b * (1.0 - b) * (1.0 + more) ** 2

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Count pumps and bursts."""
        if e.balloon != s.balloon:
            s.balloon = e.balloon
            s.earlier_pumps = s.pumps
            s.earlier_bursts = s.bursts
        if e.choice == 1:
            s.pumps += 1.0
            if e.burst == 1:
                s.bursts += 1.0

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The number of pumps to aim at, or mean and variance of the next pump."""
        x = self.explanatory(episode, *psi)[:, 1]
        if self.rule == TARGET:
            return {"target": x[:, 0] * theta[0] / (theta[1] or 1.0)}
        return {"mean": x[:, 0], "variance": x[:, 1]}

    def __str__(self) -> str:
        return f"balloons, {self.rule}"
