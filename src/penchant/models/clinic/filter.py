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
from dataclasses import dataclass
from math import exp, nan
from typing import Any

from penchant._typing import Matrix, Vector
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.recursion import ValueModel
from penchant.models.scalars import Fields, Numbers


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

    in_brief = "hierarchical Gaussian filter"

    kappa: float | None = 1.0
    initial: tuple[float, float, float, float] = (0.0, 0.1, 1.0, 1.0)

    n_options = 2
    after = ("input",)
    outside = True

    @property
    def parameters(self) -> tuple[Row, ...]:
        n = 17 if self.kappa is not None else 13
        return (
            Parameter.weight("inverse_temperature", positive=True),
            Shape("omega_2", -10.0, 2.0, n_grid=n),
            Shape("omega_3", -12.0, 0.0, n_grid=n),
            *((Shape("kappa", 0.1, 3.0, n_grid=n),) if self.kappa is None else ()),
        )

    def bindings(self) -> Mapping[str, float]:
        return {} if self.kappa is None else {"kappa": self.kappa}

    def state(self) -> Mapping[str, float]:
        """Mean and variance of the second and third level; exp(omega3), which `start` fills in."""
        return dict(zip(("mu2", "s2", "mu3", "s3"), self.initial, strict=True), drift=0.0)

    @staticmethod
    def start(s: Fields, psi: Fields, c: Fields) -> None:
        """Variance of the steps of the third level."""
        s.drift = exp(psi.omega_3)

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """The tendency before the input, for the response 1."""
        x[1, 0] = s.mu2

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Update both levels by the input, after a response."""
        if e.choice >= 0:
            p = 1.0 / (1.0 + exp(-s.mu2))
            v = exp(psi.kappa * s.mu3 + psi.omega_2)
            pi2 = 1.0 / (s.s2 + v)
            s2 = 1.0 / (pi2 + p * (1.0 - p))
            step = s2 * (e.input - p)
            w = v * pi2
            d = (s2 + step * step) * pi2 - 1.0
            precision = 1.0 / (s.s3 + s.drift)
            precision += 0.5 * psi.kappa * psi.kappa * w * (w + (2.0 * w - 1.0) * d)
            s3 = 1.0 / (precision if precision > 0.0 else nan)
            mu2 = s.mu2 + step
            # a third level so uncertain that it jumps anywhere
            s.mu2 = mu2 if abs(mu2) < 500.0 and precision > 0.0 else nan
            s.s2 = s2
            s.mu3 += 0.5 * psi.kappa * w * d * s3
            s.s3 = s3

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The tendency before each input."""
        return {"tendency": self.explanatory(episode, *psi)[:, 1, 0]}

    def __str__(self) -> str:
        coupled = "estimated" if self.kappa is None else f"{self.kappa:g}"
        return f"hierarchical Gaussian filter, coupling {coupled}"
