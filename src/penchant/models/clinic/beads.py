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
from dataclasses import dataclass, field

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.models.clinic._kernels import beads
from penchant.models.clinic.recursion import in_turn
from penchant.models.model import finite, positive, softmax
from penchant.models.natural import Shape
from penchant.models.record import Record, known_number
from penchant.models.recursion import ValueModel, codes


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

    share: float = 0.85
    most: int = 20
    win: float = 1.0
    loss: float = 1.0

    n_options: int = field(default=3, init=False, repr=False)
    before: tuple[str, ...] = field(default=("drawn", "firsts"), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.most, "most", 1)
        known_number(self.share, "share", "Give the share of beads of one colour in its jar.")
        if not 0.5 < self.share < 1:
            raise DataError(
                f"share must lie between 0.5 and 1; got {self.share}. Give the larger of the two."
            )
        for name in ("win", "loss"):
            known_number(getattr(self, name), name, "1 and 1 are usual.")
        if not self.win + self.loss > 0:
            raise DataError(
                f"win and loss must add up to more than 0; got {self.win} and {self.loss}. 1 and "
                "1 are usual."
            )

    @property
    def shape(self) -> tuple[Shape, ...]:
        """c, from what makes draws pay to what makes them costly."""
        scale = self.win + self.loss
        return (Shape("cost", -0.5 * scale, 0.5 * scale, n_grid=81),)

    @property
    def smooth(self) -> bool:
        """No: which value is the larger one changes with the cost."""
        return False

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values of drawing and of naming, at what was seen, and their derivatives."""
        drawn = codes(record.before("drawn"), "drawn", 0, self.most - 1, record)
        firsts = codes(record.before("firsts"), "firsts", 0, self.most - 1, record)
        if (firsts > drawn).any():
            k = int(np.flatnonzero(firsts > drawn)[0])
            raise DataError(
                f"before['firsts'] must not exceed before['drawn']; got {firsts[k]} of {drawn[k]} "
                f"at event {k}. Count beads of the first colour among those drawn."
            )
        settings = self._chance, float(self.share), float(self.win), float(self.loss)
        given = record, which, psi, 1 * with_slopes, (3, 1), 2 * (self.most + 1) ** 2
        return in_turn(beads, *given, drawn, firsts, settings=settings)

    @property
    def _chance(self) -> Matrix:
        """Of the first jar, after b of n beads: (most + 1, most + 1)."""
        n, b = np.arange(self.most + 1.0)[:, None], np.arange(self.most + 1.0)
        log_odds = np.log(self.share) - np.log(1.0 - self.share)
        return np.asarray(1.0 / (1.0 + np.exp(-log_odds * (2.0 * b - n))))

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> BeadsAgents:
        """Agents who play so."""
        return BeadsAgents(self, parameters)

    def __str__(self) -> str:
        return f"beads, {self.share:g} of a colour, at most {self.most}"


class BeadsAgents:
    """Agents in play: they think through all beads that may come."""

    def __init__(self, model: Beads, parameters: Mapping[str, float]) -> None:
        self.model = model
        self.tau = positive(parameters, "temperature")
        self.cost = finite(parameters, "cost")
        self.known: dict[tuple[int, int], tuple[float, float, float]] = {}

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent by its beads."""
        pairs = zip(before["drawn"], before["firsts"], strict=True)
        return softmax(np.array([self._values(int(n), int(b)) for n, b in pairs]) / self.tau)

    def _values(self, n: int, b: int) -> tuple[float, float, float]:
        """Of drawing, and of naming either jar."""
        if (n, b) not in self.known:
            model, odds = self.model, (self.model.share / (1.0 - self.model.share)) ** (2 * b - n)
            p = odds / (1.0 + odds)
            first = p * model.win - (1.0 - p) * model.loss
            second = (1.0 - p) * model.win - p * model.loss
            on = -np.inf
            if n < model.most:
                up = p * model.share + (1.0 - p) * (1.0 - model.share)
                best = max(self._values(n + 1, b + 1)), max(self._values(n + 1, b))
                on = up * best[0] + (1.0 - up) * best[1] - self.cost
            self.known[n, b] = on, first, second
        return self.known[n, b]

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """What matters is seen at the next decision."""
