"""The beads task: to draw another bead, or to say which of two jars they come from.

A share q of the beads in the first jar have the first colour, in the second jar 1 - q of them. Of n
beads b had the first colour; the first jar is then believed with the log-odds (2 b - n) log(q / (1
- q)). To name the right jar brings `win`, to name the wrong one takes `loss`, to draw costs c, and
at most N beads are drawn. By backward induction (Moutoussis et al. 2011, Furl & Averbeck 2011),

    V(first)  = win P - loss (1 - P),    V(second) = win (1 - P) - loss P,
    V(draw)   = -c + sum over the next colour of P(colour) max of the values after it,

where after N beads only a jar can be named, and eta_i = V_i / tau. Given c the model is linear in
1/tau. The larger of values makes kinks in c.

At a decision `drawn`, the number n of beads so far, and `firsts`, the number b, are seen. Option 0
is to draw, 1 and 2 are to name the first and the second jar. After N beads a jar must be named:
that is no decision of this model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penchant._typing import Matrix
from penchant.argument_checks import check_number, check_whole_number
from penchant.errors import DataError
from penchant.models.parameters import TEMPERATURE, Row, Shape
from penchant.models.record import Record
from penchant.models.recursion import Field, ValueModel
from penchant.models.scalars import Fields, Numbers


@dataclass(frozen=True)
class Beads(ValueModel):
    """Costs of information: theta = 1/tau, psi = c.

    Parameters
    ----------
    share
        The share q of beads of the colour that a jar is known for.
    most
        The number N of beads that can be drawn.
    win, loss
        What naming the right jar brings, and what naming the wrong one takes.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.Beads(share=0.8, most=10, loss=1.0)
    >>> truth = {"temperature": 0.1, "cost": 0.05}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.BeadsWorld(200, share=0.8, most=10), model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 2) for p in pn.fit(play, model).parameters}
    {'temperature': 0.12, 'cost': 0.04}
    """

    in_brief = "to draw on or to name a jar"
    smooth = False  # which value is the larger one changes with the cost

    share: float = 0.85
    most: int = 20
    win: float = 1.0
    loss: float = 1.0

    n_options = 3
    before = ("drawn", "firsts")

    def __post_init__(self) -> None:
        check_whole_number(self.most, "most", 1)
        check_number(
            self.share,
            "share",
            above=0.5,
            below=1,
            fix="Give the share of beads of one colour in its jar.",
        )
        for name in ("win", "loss"):
            check_number(getattr(self, name), name, fix="1 and 1 are usual.")
        if not self.win + self.loss > 0:
            raise DataError(
                "win and loss",
                "must add up to more than 0",
                got=f"{self.win} and {self.loss}",
                fix="1 and 1 are usual.",
            )

    @property
    def parameters(self) -> tuple[Row, ...]:
        scale = self.win + self.loss
        return (TEMPERATURE, Shape("cost", -0.5 * scale, 0.5 * scale, n_grid=81))

    def codes(self) -> Mapping[str, int]:
        return {"drawn": self.most, "firsts": self.most}

    def events(self, record: Record) -> Mapping[str, Field]:
        """Beads, of which no more can be of the first colour than were drawn."""
        found = super().events(record)
        wrong = np.flatnonzero(found["firsts"] > found["drawn"])
        if wrong.size:
            k = int(wrong[0])
            raise DataError(
                "before['firsts']",
                "must not exceed before['drawn']",
                got=f"{found['firsts'][k]} of {found['drawn'][k]} at event {k}",
                fix="Count beads of the first colour among those drawn.",
            )
        return found

    def state(self) -> Mapping[str, Matrix]:
        """Tables by number of beads n and of the first colour b, for dynamic programming."""
        n, b = np.arange(self.most + 1.0)[:, None], np.arange(self.most + 1.0)
        log_odds = np.log(self.share) - np.log(1.0 - self.share)
        chance = 1.0 / (1.0 + np.exp(-log_odds * (2.0 * b - n)))
        return {"chance": chance, "on": np.zeros(chance.shape), "best": np.zeros(chance.shape)}

    @staticmethod
    def start(s: Fields, psi: Fields, c: Fields) -> None:
        """Backward induction, from all beads drawn to none."""
        for n in range(c.most, -1, -1):
            for b in range(n + 1):
                p = s.chance[n, b]
                first = c.win * p - c.loss * (1.0 - p)
                second = c.win * (1.0 - p) - c.loss * p
                s.best[n, b] = max(first, second)
                if n < c.most:
                    up = p * c.share + (1.0 - p) * (1.0 - c.share)
                    later = up * s.best[n + 1, b + 1] + (1.0 - up) * s.best[n + 1, b]
                    s.on[n, b] = later - psi.cost
                    s.best[n, b] = max(s.best[n, b], s.on[n, b])

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Values of drawing on and of naming either jar, at what was seen."""
        if e.drawn >= 0 and e.firsts >= 0:
            p = s.chance[e.drawn, e.firsts]
            x[0, 0] = s.on[e.drawn, e.firsts]
            x[1, 0] = c.win * p - c.loss * (1.0 - p)
            x[2, 0] = c.win * (1.0 - p) - c.loss * p

    def __str__(self) -> str:
        return f"beads, {self.share:g} of a colour, at most {self.most}"
