"""The hierarchical Gaussian filter of a binary input (Mathys et al. 2011), three levels.

A player sees an input u, 0 or 1, after each response. The tendency x2, whose logistic is the
probability of u = 1, drifts with the volatility exp(kappa x3 + omega2), and x3 itself with
exp(omega3). With mu and sigma the beliefs,

    muhat1 = 1 / (1 + e^-mu2),    v = exp(kappa mu3 + omega2),    pihat2 = 1 / (sigma2 + v),
    sigma2' = 1 / (pihat2 + muhat1 (1 - muhat1)),    mu2' = mu2 + sigma2' (u - muhat1),
    w = v pihat2,    d = (sigma2' + (mu2' - mu2)^2) pihat2 - 1,
    1/sigma3' = 1/(sigma3 + e^omega3) + kappa^2 w (w + (2 w - 1) d) / 2,
    mu3' = mu3 + sigma3' kappa w d / 2.

The response 1 against 0 has the objective zeta mu2, with the belief before the input. Beliefs
depend on inputs only, so that the model is linear in zeta. Where 1/sigma3' is not positive the
filter does not exist, and where it is nearly 0 beliefs jump to log-odds beyond all bounds: psi at
which it is not positive, or mu2 leaves -500..500, are passed over. omega3 is hardly told by a few
hundred responses, and kappa is told apart from omega2 by them as little: it is fixed at 1 if not
asked for.

What is learnt after a decision is `input`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.models.clinic._kernels import FELT, gaussian_filter
from penchant.models.clinic.recursion import given, in_groups
from penchant.models.model import finite, positive, softmax
from penchant.models.natural import Shape
from penchant.models.record import Record
from penchant.models.recursion import ValueModel


@dataclass(frozen=True)
class HGF(ValueModel):
    """Hierarchical Gaussian filter: theta = zeta, psi = (omega2, omega3), and kappa.

    Parameters
    ----------
    kappa
        Coupling of the levels; None: estimated.
    initial
        Mean and variance of the second level before play, then of the third.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.HGF()
    >>> truth = {"inverse_temperature": 2.0, "omega_2": -2.5, "omega_3": -6.0}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.InputWorld(320), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('inverse_temperature', 'omega_2', 'omega_3')
    """

    kappa: float | None = 1.0
    initial: tuple[float, float, float, float] = (0.0, 0.1, 1.0, 1.0)

    reports = "inverse_temperature"
    n_options: int = field(default=2, init=False, repr=False)
    after: tuple[str, ...] = field(default=("input",), init=False, repr=False)
    outside: bool = field(default=True, init=False, repr=False)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """omega2, omega3, and kappa if it is estimated."""
        n = 17 if self.kappa is not None else 13
        found = (
            Shape("omega_2", -10.0, 2.0, n_grid=n),
            Shape("omega_3", -12.0, 0.0, n_grid=n),
        )
        return found if self.kappa is not None else (*found, Shape("kappa", 0.1, 3.0, n_grid=n))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """The tendency before every input, and its derivatives."""
        n_slopes = psi.shape[1] * with_slopes
        every = np.empty((len(psi), 3))
        every[:, 0], every[:, 1] = psi[:, 0], np.exp(psi[:, 1])
        every[:, 2] = psi[:, 2] if self.kappa is None else self.kappa
        given = record, which, every, n_slopes, (2, 1), self.initial, FELT + 4 * n_slopes
        return in_groups(gaussian_filter, *given, record.chosen, record.after("input"))

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> HGFAgents:
        """Agents who play so."""
        return HGFAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The tendency before each input."""
        return {"tendency": self.explanatory(episode, *psi)[:, 1, 0]}

    def __str__(self) -> str:
        coupled = "estimated" if self.kappa is None else f"{self.kappa:g}"
        return f"hierarchical Gaussian filter, coupling {coupled}"


class HGFAgents:
    """Agents in play: beliefs of two levels."""

    def __init__(self, model: HGF, parameters: Mapping[str, float], n_agents: int) -> None:
        self.zeta = positive(parameters, "inverse_temperature")
        self.omega2 = finite(parameters, "omega_2")
        self.omega3 = finite(parameters, "omega_3")
        self.kappa = given(parameters, "kappa", 1.0 if model.kappa is None else model.kappa)
        mu2, s2, mu3, s3 = (np.full(n_agents, value) for value in model.initial)
        self.mu2, self.pi2, self.mu3, self.pi3 = mu2, 1.0 / s2, mu3, 1.0 / s3

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(np.column_stack([np.zeros(len(self.mu2)), self.zeta * self.mu2]))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Update both levels by the input."""
        u = np.asarray(after["input"])
        first = 0.5 + 0.5 * np.tanh(0.5 * self.mu2)  # where exp(-mu2) would overflow, too
        v = np.exp(self.kappa * self.mu3 + self.omega2)
        expected2 = 1.0 / (1.0 / self.pi2 + v)
        expected3 = 1.0 / (1.0 / self.pi3 + np.exp(self.omega3))
        pi2 = expected2 + first * (1.0 - first)
        mu2 = self.mu2 + (u - first) / pi2
        w = v * expected2
        delta = (1.0 / pi2 + (mu2 - self.mu2) ** 2) * expected2 - 1.0
        self.pi3 = expected3 + 0.5 * self.kappa**2 * w * (w + (2.0 * w - 1.0) * delta)
        self.mu3 = self.mu3 + 0.5 * self.kappa * w * delta / self.pi3
        self.mu2, self.pi2 = mu2, pi2
