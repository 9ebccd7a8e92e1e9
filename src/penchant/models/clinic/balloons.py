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
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.clinic._kernels import balloons, earlier_pumps
from penchant.models.clinic.recursion import in_turn
from penchant.models.model import finite, positive, share, softmax
from penchant.models.natural import ONE_LESS, Natural, Shape
from penchant.models.record import Record
from penchant.models.recursion import Recursion
from penchant.softmax._simd import LANES

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

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """What a pump is worth, and its derivatives; stopping has 0."""
        record.check_options(self.n_options)
        *counts, most = record.kept("balloons", lambda: _counts(record))
        given = record, which, psi, psi.shape[1] * with_slopes, (2, 2), most
        rule = (0 if self.rule == TARGET else 1,)
        return in_turn(balloons, *given, *counts, record.before("pump"), settings=rule)

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


def _counts(record: Record) -> tuple[Any, ...]:
    """Balloons of events and of episodes, pumps and bursts before each; how many are to be kept."""
    seen = record.chosen, record.before("balloon"), record.after("burst"), record.starts
    n_events, n_episodes = len(record.chosen), len(record.starts) - 1
    place, first = np.empty(n_events, dtype=np.int64), np.empty(n_episodes + 1, dtype=np.int64)
    pumps, bursts = np.empty(n_events), np.empty(n_events)
    earlier_pumps(*seen, place, first, pumps, bursts)
    most = int(np.diff(first).max(initial=0))
    return place, first, pumps, bursts, -(-most // LANES) * LANES


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
