"""Gaussian-process UCB: generalisation over places, and a bonus for uncertainty (Wu et al. 2018).

The agent takes rewards for a Gaussian process over the options' places: prior mean mu0, prior
standard deviation sigma0, correlation k(|a - b| / lambda), and rewards with noise of variance
delta sigma0^2. With r the n rewards seen so far, K their correlations and k_i those with option i,

    m_i   = mu0 + k_i' (K + delta I)^-1 (r - mu0 1)
    s_i^2 = sigma0^2 (1 + delta - k_i' (K + delta I)^-1 k_i)      (a new reward's, noise included)
    P(i)  ∝ exp((m_i + beta s_i) / tau + sum of w_k x_ik)

with x_ik the columns of `locality` asked for. For fixed lambda (and delta, if it is estimated) this
is exactly linear in 1/tau, beta/tau and the w_k; an unknown mu0 is exactly linear too, for
m_i = b_i + mu0 f_i, with weight mu0/tau. So lambda and delta are the only shape parameters.

Wu et al. rescale rewards of 0 to 100 by (reward - 50) / 100 and take mu0 = 0, sigma0 = 1,
delta = 1e-4: that is prior_mean=50, prior_sd=100 here, and tau and the weights in units of rewards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Names, Vector
from penchant.argument_checks import check_number
from penchant.bandit.beliefs import GAUSSIAN, Kernel
from penchant.models.controls import with_starts
from penchant.models.model import softmax
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.setting_warnings import start_words
from penchant.models.spatial.spatial_model import GaussianAgents, SpatialModel, check_range

ESTIMATED = "Give None to estimate it."


class GPUCBAgents(GaussianAgents):
    """Agents who choose by the bound, with the noise of a new reward in the bonus."""

    def prior(self) -> tuple[Vector, float, float]:
        given = self.parameters
        for name, value in given.items():
            check_number(value, name)
        for name in ("temperature", "noise_ratio"):
            check_number(given[name], name, above=0)
        variance = self.model.prior_sd**2
        expected = np.full(self.model.n_options, given["prior_mean"])
        return expected, variance, variance * given["noise_ratio"]

    def probabilities(self) -> Matrix:
        variance = np.diagonal(self.covariance, axis1=1, axis2=2) + self.noise_variance
        heuristic = self.mean + self.parameters["bonus"] * np.sqrt(variance)
        return softmax(heuristic / self.parameters["temperature"] + self.locality())


@dataclass(frozen=True, eq=False)
class GPUCB(SpatialModel):
    """Gaussian-process UCB of a spatial bandit, with terms of locality.

    Parameters
    ----------
    locations
        Where the options lie: (n_options, dimension). `grid(11, 11)` for the task of Wu et al.
    locality
        Controls that ignore rewards, by name: any of "distance", "log_distance", "same", "visited",
        or "all" (see `Locality`).
    kernel
        Correlation over distance: GAUSSIAN (RBF), MATERN32, MATERN52 or EXPONENTIAL.
    length_scale
        Length scale lambda; None: estimated; 0: independent options.
    noise_ratio
        delta, the noise variance over the prior variance; None: estimated. The data hardly tell it
        while the bonus has a weight of its own.
    prior_mean
        mu0, what the agent expects of an option it knows nothing of; None: estimated. That predicts
        well, but mu0 and the bonus both speak of options little known: few choices tell them apart
        poorly. Fix it to read the bonus.
    prior_sd
        sigma0 in units of rewards. It scales the bonus beta and changes nothing else.
    length_scale_range, noise_ratio_range
        Where lambda and delta are looked for; lambda from a fifth of the spacing to twenty of it.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.GPUCB(pn.grid(6, 6), prior_mean=50.0, prior_sd=20.0, locality=("visited",))
    >>> truth = {"temperature": 4.0, "bonus": 0.8, "visited": -1.0, "length_scale": 1.5}
    >>> rng = np.random.default_rng(3)
    >>> place = pn.Landscape(rng.normal(50.0, 20.0, 36), pn.GaussianNoise(1.0))
    >>> plays = pn.simulate(place, model, truth, n_decisions=30, n_subjects=8, rng=rng)
    >>> pn.fit(plays, model).interval().round(2)  # temperature, bonus, visited, length scale
    array([[ 3.04,  4.1 ],
           [ 0.62,  1.11],
           [-1.91, -0.44],
           [ 1.37,  1.52]])
    """

    in_brief = "Gaussian-process UCB of a spatial bandit"
    ratio = "noise_ratio"

    locations: Any
    locality: Names = ()
    kernel: Kernel = GAUSSIAN
    length_scale: float | None = None
    noise_ratio: float | None = 1e-4
    prior_mean: float | None = None
    prior_sd: float = 1.0
    length_scale_range: tuple[float, float] | None = None
    noise_ratio_range: tuple[float, float] = (4.5e-5, 2.7)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior_mean is not None:
            check_number(self.prior_mean, "prior_mean", fix=ESTIMATED)
        if self.noise_ratio is not None:
            check_number(self.noise_ratio, "noise_ratio", above=0, fix=ESTIMATED)
        check_number(self.prior_sd, "prior_sd", above=0)
        check_range(self.noise_ratio_range, "noise_ratio_range")

    @property
    def parameters(self) -> tuple[Row, ...]:
        unit = "1/temperature"
        found: list[Row] = [
            Parameter.reciprocal("temperature", unit),
            Parameter.ratio("bonus", "bonus/temperature", unit),
        ]
        if self.prior_mean is None:
            found.append(Parameter.ratio("prior_mean", "prior_mean/temperature", unit))
        found += map(Parameter.weight, self.locality)
        found += self.length_scale_row(n_grid=20)
        if self.noise_ratio is None:
            found.append(Shape("noise_ratio", *self.noise_ratio_range, scale="log", n_grid=17))
        return tuple(found)

    @property
    def form(self) -> tuple[float, float, bool, int, int]:
        prior_at = -1 if self.prior_mean is not None else 2
        return float(self.prior_mean or 0.0), float(self.prior_sd), True, prior_at, 1

    @property
    def fixed(self) -> dict[str, float | None]:
        return {
            **super().fixed,
            "noise_ratio": self.noise_ratio,
            "prior_mean": self.prior_mean,
        }

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean and standard deviation of every option's reward, as the player believes them."""
        x = self.explanatory(episode, *psi)
        return {
            "value": with_starts(self.weights, x, theta, "prior_mean"),
            "uncertainty": x[:, :, 1],
        }

    def agents(self, parameters: dict[str, float], n_agents: int) -> GPUCBAgents:
        """Agents that play by this model, before play; see `simulate`."""
        return GPUCBAgents(self, parameters, n_agents)

    def __str__(self) -> str:
        return (
            f"Gaussian-process UCB, {self.n_options} options, {self.kernel.name} kernel, "
            f"length scale {start_words(self.length_scale)}, "
            f"noise ratio {start_words(self.noise_ratio)}, "
            f"prior mean {start_words(self.prior_mean)}, prior sd {self.prior_sd:g}"
            + (f", locality: {', '.join(self.locality)}" if self.locality else "")
        )
