"""The volatile Kalman filter: a learning rate that follows how fast rewards change.

Each option has a mean m, a variance w and a volatility v (Piray & Daw 2020). From w = sigma^2 and
v = v0 sigma^2, a reward r of the option taken moves its own by

    k = (w + v) / (w + v + sigma^2),    m' = m + k (r - m),    w' = (1 - k) (w + v),
    v' = v + l ((m' - m)^2 + w + w' - 2 (1 - k) w - v),

and the objective is eta_i = (m_i + gamma sqrt(w_i + v_i)) / tau. With l, v0 and sigma^2 fixed the
model is linear in 1/tau and gamma/tau. An option that is not taken stays as it is; v0 is in units
of sigma^2, and sigma^2 in those of rewards squared.

With l = 0 the volatility stays, and the model is a Kalman filter of rewards that wander with the
variance v0 sigma^2 between choices of an option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.models.parameters import TEMPERATURE, Row, Shape, per_temperature
from penchant.models.recursion import N_RATE_GRID, Recursion, rates
from penchant.models.scalars import Fields, Numbers
from penchant.models.setting_warnings import doubts_of_start


@dataclass(frozen=True)
class VolatileKalman(Recursion):
    """Volatile Kalman filter: theta = (1/tau, gamma/tau), psi = (l, v0, sigma^2).

    Parameters
    ----------
    n_options
        Number of options.
    initial_value
        The mean of every option before play.
    bonus
        Whether there is a bonus gamma per standard deviation of what an option pays.
    noises
        Range of the variance sigma^2 in which to search, in units of rewards squared.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.VolatileKalman(2, bonus=False)
    >>> truth = {"temperature": 0.3, "volatility_rate": 0.2, "initial_volatility": 0.5}
    >>> truth |= {"noise_variance": 0.4}
    >>> rng = np.random.default_rng(1)
    >>> pays = pn.models.reversal_schedule(400, rng=rng)
    >>> play = pn.simulate(pn.Task(pays), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('inverse_temperature', 'volatility_rate', 'initial_volatility', 'noise_variance')
    """

    in_brief = "rate by how fast rewards change"

    n_options: int
    initial_value: float = 0.0
    bonus: bool = True
    noises: tuple[float, float] = (1e-3, 1e3)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.initial_value, "initial_value", fix="0 is usual.")

    @property
    def parameters(self) -> tuple[Row, ...]:
        return (
            TEMPERATURE,
            *((per_temperature("uncertainty_bonus"),) if self.bonus else ()),
            *rates("volatility_rate", of=3),
            Shape("initial_volatility", 1e-3, 1e2, scale="log", n_grid=N_RATE_GRID[3]),
            Shape("noise_variance", *self.noises, scale="log", n_grid=N_RATE_GRID[3]),
        )

    def state(self) -> Mapping[str, Vector]:
        """Mean, variance and volatility of every option; `start` fills in the last two."""
        n = self.n_options
        start = {"mean": np.full(n, float(self.initial_value))}
        return start | {name: np.zeros(n) for name in ("variance", "volatility")}

    @staticmethod
    def start(s: Fields, psi: Fields, c: Fields) -> None:
        """Variance as that of the noise, volatility in units of it."""
        for i in range(c.n):
            s.variance[i] = psi.noise_variance
            s.volatility[i] = psi.initial_volatility * psi.noise_variance

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Means, and standard deviations of what options pay next."""
        for i in range(c.n):
            x[i, 0] = s.mean[i]
            if c.bonus == 1:
                x[i, 1] = sqrt(s.variance[i] + s.volatility[i])

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Kalman filter; the volatility follows how far the mean is thought to have moved."""
        old = s.variance[e.choice]
        volatility = s.volatility[e.choice]
        wide = old + volatility
        gain = wide * (1.0 / (wide + psi.noise_variance))
        step = gain * (e.reward - s.mean[e.choice])
        new = (1.0 - gain) * wide
        moved = step * step + old + new - 2.0 * (1.0 - gain) * old
        s.mean[e.choice] += step
        s.variance[e.choice] = new
        s.volatility[e.choice] = volatility + psi.volatility_rate * (moved - volatility)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean and standard deviation of what each option pays, before each event."""
        full = VolatileKalman(self.n_options, self.initial_value, noises=self.noises)
        x = full.explanatory(episode, *psi)
        return {"value": x[:, :, 0], "uncertainty": x[:, :, 1]}

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the initial value lies outside the rewards."""
        start = "initial_value", self.initial_value
        return tuple(doubts_of_start(*start, episodes, estimable=False))

    def __str__(self) -> str:
        bonus = "" if self.bonus else ", no bonus"
        return f"volatile Kalman filter, {self.n_options} options{bonus}"
