"""Stochastic UCL: beliefs, an upper credible limit, and a softmax that cools, Eqs. (10) to (15).

The agent's heuristic for option i at time t is Q_i = mu_i + sigma_i z_t, with mu and sigma its
posterior mean and standard deviation and z_t = Phi^-1(1 - alpha_t), alpha_t = 1/(K t^a). It chooses
i with probability proportional to exp(Q_i log t / nu). With relative precision delta and length
scale lambda fixed this is exactly linear:

    theta = (1/nu, mu0/nu),    x = ((b + sigma z_t) log t, f log t),

for the posterior mean is b + mu0 f. So delta (and lambda) are the only shape parameters. A map that
the agent has in mind, mu0 1 + Phi c, is linear too: it adds a column F_k log t with weight c_k / nu
for every function, and terms of locality are columns beside them.

Notes
-----
Paper: the denominators of Eqs. (13) and (14) print Q_i where Q_j is meant, and alpha_t is printed
as 1/sqrt(2 pi e) t, which increases; 1/(sqrt(2 pi e) t) is meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import special

from penchant._typing import Matrix, Names, Vector
from penchant.argument_checks import check_number
from penchant.bandit.beliefs import (
    EXPONENTIAL,
    Beliefs,
    Kernel,
    ObservedSequence,
    RewardPrior,
    posterior_beliefs,
)
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import distances_to_options
from penchant.errors import DataError
from penchant.models.model import softmax
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.record import Record
from penchant.models.setting_warnings import start_words
from penchant.models.spatial._kernels import map_shares
from penchant.models.spatial.map_basis import MapBasis
from penchant.models.spatial.spatial_model import GaussianAgents, SpatialModel, check_range
from penchant.models.transforms import Transform


@dataclass(frozen=True, eq=False)
class UCL(SpatialModel):
    """Stochastic UCL (Upper Credible Limit) of a spatial bandit.

    Parameters
    ----------
    locations
        Where the options lie: (n_options, dimension). `grid(10, 10)` for the paper's task.
    noise_variance
        Variance sigma_s^2 of the rewards, known to the agent.
    length_scale
        Length scale lambda of the agent's prior; None: estimated; 0: independent options.
    kernel
        Correlation of the prior; exponential as in the paper.
    cooling
        "logarithmic": temperature nu / log t; "constant": nu.
    clock
        "choices": the first choice is t = 1, and with logarithmic cooling uniform; "events": what
        was observed before play counts, so that the first choice may be t = 2.
    bonus
        "known": the bonus is sigma_i z_t as the model says; "free": it has a weight of its own, a
        test of the specification.
    alpha_scale, alpha_power
        K and a of alpha_t = 1/(K t^a).
    precision_range, length_scale_range
        Where delta and lambda are looked for.
    prior_map
        Functions that the map which the agent has in mind is made of, beside its level: a weight
        map_1, map_2 ... each. Fit with `parameter_prior=MapPrior()`, and ask the estimate for its
        `belief_map()`.
    locality
        Controls that ignore rewards, as in `GPUCB`; True for all of them. People choose near their
        last choice whatever they believe.
    """

    in_brief = "stochastic UCL of a spatial bandit"
    ratio = "relative_precision"
    example: ClassVar[Mapping[str, Any]] = {"noise_variance": 1.0}

    locations: Any
    noise_variance: float
    length_scale: float | None = None
    kernel: Kernel = EXPONENTIAL
    cooling: Literal["logarithmic", "constant"] = "logarithmic"
    clock: Literal["choices", "events"] = "choices"
    bonus: Literal["known", "free"] = "known"
    alpha_scale: float = math.sqrt(2 * math.pi * math.e)
    alpha_power: float = 1.0
    precision_range: tuple[float, float] = (1.5e-8, 400.0)
    length_scale_range: tuple[float, float] | None = None
    prior_map: MapBasis | None = None
    locality: bool | Names = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior_map is not None:
            if not isinstance(self.prior_map, MapBasis):
                raise DataError(
                    "prior_map",
                    "must be a MapBasis",
                    got=type(self.prior_map).__name__,
                    fix="Make one with MapBasis.smooth(locations).",
                )
            if self.prior_map.n_options != self.n_options:
                raise DataError(
                    "prior_map",
                    f"must be of the {self.n_options} options of the model",
                    got=f"one of {self.prior_map.n_options}",
                    fix="Match them.",
                )
        noise = "It is 10 in the paper's human data."
        check_number(self.noise_variance, "noise_variance", above=0, fix=noise)
        inside = "alpha_t = 1/(K t^a) must lie in (0, 1)."
        check_number(self.alpha_scale, "alpha_scale", above=1, fix=inside)
        check_number(self.alpha_power, "alpha_power", least=0, fix=inside)
        check_range(self.precision_range, "precision_range")

    @property
    def parameters(self) -> tuple[Row, ...]:
        unit = "1/decision_noise"
        variance = Transform("power", self.noise_variance, -1.0)
        delta = Shape("relative_precision", *self.precision_range, scale="log", n_grid=33)
        found: list[Row] = [
            Parameter.reciprocal("decision_noise", unit),
            Parameter.ratio("prior_mean", "prior_mean/decision_noise", unit),
            Parameter("prior_variance", shape=delta, transform=variance),
        ]
        found += self.length_scale_row(n_grid=19)
        if self.bonus == "free":
            found.append(Parameter.ratio("implied_noise_sd", "bonus/decision_noise", unit))
        found += [Parameter.ratio(n, f"{n}/decision_noise", unit) for n in self.map_names]
        return (*found, *map(Parameter.weight, self.terms))

    @property
    def map_names(self) -> tuple[str, ...]:
        """Coefficients of the map: map_1, map_2 ..."""
        return tuple(f"map_{k + 1}" for k in range(self.n_functions))

    @property
    def n_functions(self) -> int:
        """Number of functions of the map."""
        return 0 if self.prior_map is None else self.prior_map.n

    @property
    def map_weights(self) -> slice:
        """Slice of the weights of the map in theta."""
        first = 2 if self.bonus == "known" else 3
        return slice(first, first + self.n_functions)

    @property
    def usual_parameters(self) -> dict[str, float]:
        """The bonus of agents who are not given one, and a length scale that is known."""
        known = {} if self.length_scale is None else {"length_scale": self.length_scale}
        return {"implied_noise_sd": float(np.sqrt(self.noise_variance)), **known}

    def times(self, episode: Episode) -> Vector:
        """Time t of each event, from 1."""
        if self.clock == "events":
            return np.arange(1.0, episode.n_events + 1.0)
        return np.maximum(np.cumsum(episode.is_choice), 1).astype(np.float64)

    def credible_z(self, times: Vector) -> Vector:
        """z_t = Phi^-1(1 - alpha_t) of Eq. (15)."""
        return np.asarray(-special.ndtri(1.0 / (self.alpha_scale * times**self.alpha_power)))

    def inverse_temperature(self, times: Vector) -> Vector:
        """log t, or 1: what the heuristic is multiplied with besides 1/nu."""
        return np.log(times) if self.cooling == "logarithmic" else np.ones_like(times)

    def beliefs(self, episode: Episode, psi: Sequence[float], derivatives: int = 0) -> Beliefs:
        """The agent's beliefs before each event, for delta (and lambda where it is not fixed)."""
        episode.check_options(self.n_options)
        delta, scale = psi if self.length_scale is None else (psi[0], self.length_scale)
        apart = distances_to_options(self.locations, ObservedSequence.from_episode(episode).options)
        return posterior_beliefs(episode, apart, delta, scale, self.kernel, derivatives)

    @property
    def form(self) -> tuple[float, float, bool, int, int]:
        if self.bonus == "free":
            return 0.0, 1.0, False, 1, 2
        return 0.0, float(np.sqrt(self.noise_variance)), False, 1, -1

    def times_of(self, record: Record) -> tuple[Vector, Vector]:
        t = np.concatenate([self.times(episode) for episode in record.episodes])
        return self.credible_z(t), self.inverse_temperature(t)

    def fill_map(self, given: Any, cooled: Vector, x: Matrix, dx: Matrix) -> None:
        if self.prior_map is not None and self.n_functions:
            functions = np.array(self.prior_map.functions)  # unlocked, as other arrays are
            map_shares(*given, functions, cooled, self.map_weights.start, x, dx)

    def latent(self, episode: Episode, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean and standard deviation of every option's reward, as the agent believes them."""
        known = self.beliefs(episode, tuple(psi))
        mean = known.mean(theta[1] / theta[0])
        if self.n_functions:
            left = replace(self, cooling="constant").explanatory(episode, *psi)
            mean += left[:, :, self.map_weights] @ (theta[self.map_weights] / theta[0])
        return {"value": mean, "uncertainty": known.standard_deviation(self.noise_variance)}

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> UCLAgents:
        """Agents that play by this model, before play; see `simulate`."""
        return UCLAgents(self, parameters, n_agents)

    def nominal_point(self, prior: RewardPrior) -> tuple[Vector, Vector]:
        """psi, and the ratios of the weights to 1/nu, of agents who expect this before play."""
        psi = [prior.relative_precision(self.noise_variance)]
        if self.length_scale is None:
            if prior.length_scale is None:
                raise DataError(
                    "nominal",
                    "must have a length_scale where the model estimates it",
                    got="none",
                    fix="Give RewardPrior(mean, variance, length_scale).",
                )
            psi.append(prior.length_scale)
        extra = [] if self.bonus == "known" else [float(np.sqrt(self.noise_variance))]
        others = np.zeros(self.n_functions + len(self.terms))
        return np.array(psi), np.array([1.0, prior.mean, *extra, *others])

    def largest_deviation(self, episode: Episode, psi: Vector) -> float:
        """Largest deviation of delta at which all linearised variances are positive."""
        known = self.beliefs(episode, psi.tolist(), 1)
        variance, slope = known.variance[0], known.variance[1]
        return float((2.0 * variance / -slope).min(initial=np.inf))

    def __str__(self) -> str:
        cooled = "nu / log t" if self.cooling == "logarithmic" else "nu constant"
        first = "the first choice is t = 1" if self.clock == "choices" else "every event counts"
        return (
            f"stochastic UCL, {self.n_options} options, noise variance {self.noise_variance:g}, "
            f"length scale {start_words(self.length_scale)} ({self.kernel.name}), "
            f"temperature {cooled}, clock: {first}"
            + (", bonus free" if self.bonus == "free" else "")
            + (f", prior map of {self.n_functions} functions" if self.n_functions else "")
            + (f", locality: {', '.join(self.terms)}" if self.terms else "")
        )


class UCLAgents(GaussianAgents):
    """Agents who choose by the cooled heuristic; with decision_noise 0 always the largest."""

    def prior(self) -> tuple[Vector, float, float]:
        given, model = self.parameters, self.model
        check_number(
            given["decision_noise"], "decision_noise", least=0, fix="0: deterministic UCL."
        )
        variance = check_number(given["prior_variance"], "prior_variance", above=0)
        expected = np.full(model.n_options, check_number(given["prior_mean"], "prior_mean"))
        if model.n_functions:
            coefficients = [check_number(given[name], name) for name in model.map_names]
            expected = expected + model.prior_map.functions @ np.array(coefficients)
        return expected, variance, model.noise_variance

    @property
    def bonus(self) -> float:
        """Factor on the standard deviation in the bonus: 1, or the estimate of a free bonus."""
        known = self.model.usual_parameters["implied_noise_sd"]
        free = self.model.bonus == "free"
        return self.parameters.get("implied_noise_sd", known) / known if free else 1.0

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent at this time, Eq. (14)."""
        t, nu = np.array([float(self.time)]), self.parameters["decision_noise"]
        sd = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        heuristic = self.mean + self.bonus * sd * self.model.credible_z(t)
        if nu == 0:
            best = heuristic >= heuristic.max(axis=1, keepdims=True)
            return np.asarray(best / best.sum(axis=1, keepdims=True))
        q = heuristic * self.model.inverse_temperature(t) / nu
        return softmax(q + self.locality())
