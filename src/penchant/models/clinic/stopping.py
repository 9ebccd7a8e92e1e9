"""When to stop: balloons that are pumped, beads that are drawn.

Balloons that may burst: sequential risk taking (BART), as a run of binary choices.

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

The beads task: to draw another bead, or to say which of two jars they come from.

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
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.models.agents import finite, positive, share, softmax
from penchant.models.clinic._kernels import balloons, beads
from penchant.models.clinic.recursion import OneValue, Recursion, codes, unrolled
from penchant.models.natural import ONE_LESS, Natural, Shape
from penchant.models.record import Record, known_number

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

    rule: Literal["target", "mean and variance"] = "target"

    n_options: int = field(default=2, init=False, repr=False)
    before: tuple[str, ...] = field(default=("balloon", "pump"), init=False, repr=False)
    after: tuple[str, ...] = field(default=("burst",), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rule not in (TARGET, MEAN):
            raise DataError(f"rule must be {TARGET!r} or {MEAN!r}; got {self.rule!r}. Choose one.")

    @property
    def weights(self) -> tuple[str, ...]:
        """tau gamma and tau, or tau and tau rho."""
        if self.rule == TARGET:
            return ("risk_taking*inverse_temperature", "inverse_temperature")
        return ("inverse_temperature", "risk_preference*inverse_temperature")

    @property
    def positive(self) -> tuple[str, ...]:
        """All but tau rho."""
        return self.weights if self.rule == TARGET else self.weights[:1]

    @property
    def shape(self) -> tuple[Shape, ...]:
        """The chance of bursting believed at first, eta, and lambda."""
        n = 17 if self.rule == TARGET else 13
        found = (
            Shape("burst_belief", 1e-3, 0.95, scale="log", n_grid=n),
            Shape("updating", 1e-4, 10.0, scale="log", n_grid=n),
        )
        if self.rule == TARGET:
            return found
        return (*found, Shape("loss_aversion", 0.05, 20.0, scale="log", n_grid=n))

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, gamma or rho, phi, eta, lambda."""
        updating = Natural("updating", "shape", 1)
        if self.rule == TARGET:
            return (
                Natural("inverse_temperature", "weight", 1),
                Natural("risk_taking", "ratio", 0, 1),
                Natural("prior_belief", "shape function", 0, curve=ONE_LESS, low=0.0, high=1.0),
                updating,
            )
        return (
            Natural("inverse_temperature", "weight", 0),
            Natural("risk_preference", "ratio", 1, 0),
            Natural("prior_belief", "shape", 0),
            updating,
            Natural("loss_aversion", "shape", 2),
        )

    def unfold(self, record: Record, which: IntVector, psi: Any) -> Any:
        """What a pump is worth; stopping has 0."""
        pumps = record.before("balloon"), record.before("pump"), record.after("burst")
        seen, rule = (record.chosen, *pumps), (0 if self.rule == TARGET else 1,)
        return unrolled(balloons, record, which, psi, (2, 2), *seen, settings=rule)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> BalloonAgents:
        """Agents who play so."""
        return BalloonAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The number of pumps to aim at, or mean and variance of the next pump."""
        x = self.explanatory(episode, *psi)[:, 1]
        if self.rule == TARGET:
            return {"target": x[:, 0] * theta[0] / (theta[1] or 1.0)}
        return {"mean": x[:, 0], "variance": x[:, 1]}

    def __str__(self) -> str:
        return f"balloons, {self.rule}"


class BalloonAgents:
    """Agents in play, each with counts of its own."""

    def __init__(self, model: Balloons, parameters: Mapping[str, float], n_agents: int) -> None:
        self.rule = model.rule
        self.tau = positive(parameters, "inverse_temperature")
        self.phi = share(parameters, "prior_belief")
        self.eta = positive(parameters, "updating")
        self.risk = finite(parameters, "risk_taking" if model.rule == TARGET else "risk_preference")
        self.loss = 0.0 if model.rule == TARGET else positive(parameters, "loss_aversion")
        self.pumps, self.bursts, self.now = np.zeros((3, n_agents))
        self.pending, self.balloon = np.zeros(n_agents), np.full(n_agents, -1.0)

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent at its pump."""
        new = np.asarray(before["balloon"]) != self.balloon
        self.pumps = self.pumps + np.where(new, self.now, 0.0)
        self.bursts = self.bursts + np.where(new, self.pending, 0.0)
        self.now, self.pending = np.where(new, 0.0, self.now), np.where(new, 0.0, self.pending)
        self.balloon = np.asarray(before["balloon"], dtype=np.float64)
        pump = np.asarray(before["pump"])
        if self.rule == TARGET:
            known = self.phi + self.eta * (self.pumps - self.bursts)
            safe = known / (1.0 + self.eta * self.pumps)
            q = self.tau * (-self.risk / np.log(safe) - pump)
        else:
            seen = self.bursts / np.maximum(self.pumps, 1.0)
            told = 1.0 - np.exp(-self.eta * self.pumps)
            b = self.phi + told * (seen - self.phi)
            mean = (1.0 - b) - self.loss * b * (pump - 1)
            variance = b * (1.0 - b) * (1.0 + self.loss * (pump - 1)) ** 2
            q = self.tau * (mean + self.risk * variance)
        return softmax(np.column_stack([np.zeros(len(q)), q]))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Count pumps and bursts."""
        self.now = self.now + (np.asarray(chosen) == 1)
        self.pending = self.pending + (np.asarray(after["burst"]) == 1)


@dataclass(frozen=True)
class Beads(OneValue):
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

    def unfold(self, record: Record, which: IntVector, psi: Any) -> Any:
        """Values of drawing and of naming, at what was seen."""
        drawn = codes(record.before("drawn"), "drawn", 0, self.most - 1, record)
        firsts = codes(record.before("firsts"), "firsts", 0, self.most - 1, record)
        if (firsts > drawn).any():
            k = int(np.flatnonzero(firsts > drawn)[0])
            raise DataError(
                f"before['firsts'] must not exceed before['drawn']; got {firsts[k]} of {drawn[k]} "
                f"at event {k}. Count beads of the first colour among those drawn."
            )
        settings = float(self.share), self.most, float(self.win), float(self.loss)
        return unrolled(beads, record, which, psi, (3, 1), drawn, firsts, settings=settings)

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
