"""Beliefs of an assisting machine: the rewards, its trust in the operator, the operator's model.

Rewards: Gaussian process regression over the options' locations (Rasmussen & Williams 2006, ch. 2).
The operator's belief map times the trust in it is the mean function, never data: rewards correct
it. Trust: conjugate Bayesian regression of rewards on that map. Operator: the upper credible limit
model (Reverdy, Srivastava & Leonard 2014), whose weights get a Gaussian prior from unassisted
episodes; within an episode each choice adds a softmax term at fixed shape parameters, and a few
damped Newton steps follow the posterior mode (Laplace). Exact fits (`inference.fit`) are done
between episodes only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.bandit.beliefs import GAUSSIAN, Kernel
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import check_locations, distances
from penchant.inference.fit import fit_model
from penchant.models.spatial.map_basis import MapPrior
from penchant.models.spatial.ucl import UCL


@dataclass(frozen=True, eq=False)
class Field:
    """The machine's own beliefs before play: a Gaussian field over the options' places.

    Parameters
    ----------
    locations
        Where the options lie.
    mean, sd
        Of an option's mean reward.
    length_scale
        How far options are alike.
    noise_variance
        Of a reward about its mean.
    kernel
        Correlation over distance.
    bonus
        How much of the credible limit's bonus the machine gives to what it does not know.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.Field(pn.grid(10, 10), mean=30, sd=15, length_scale=2.5, noise_variance=10)
    Field: 100 options, mean 30, sd 15, length scale 2.5 (gaussian), noise variance 10
    """

    locations: Any
    mean: float
    sd: float
    length_scale: float
    noise_variance: float
    kernel: Kernel = GAUSSIAN
    bonus: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "locations", check_locations(self.locations))
        check_number(self.mean, "mean", fix="Give the reward expected.")
        for name in ("sd", "length_scale", "noise_variance"):
            value = getattr(self, name)
            check_number(value, name, above=0)
        check_number(self.bonus, "bonus", least=0)

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.locations)

    def covariance(self) -> Matrix:
        """Prior covariance of the options' mean rewards: (n_options, n_options)."""
        return np.asarray(self.sd**2 * self.kernel(distances(self.locations), self.length_scale))

    def __repr__(self) -> str:
        return (
            f"Field: {self.n_options} options, mean {self.mean:g}, sd {self.sd:g}, length scale "
            f"{self.length_scale:g} ({self.kernel.name}), noise variance {self.noise_variance:g}"
        )


@dataclass(frozen=True, slots=True)
class OperatorTrackingOptions:
    """Settings of the machine's beliefs within an episode."""

    # Share of the variance of the field that stays open however far a map is trusted: at 0 rewards
    # could never correct a wrong map.
    min_residual_share: float = 0.1
    newton_steps: int = 2  # per update; one more choice moves the mode little, so that two suffice
    # Early choices move the mode most, so each is followed; later an update costs O(t) and is due
    # after every third choice only.
    n_early_choices: int = 12
    later_update_interval: int = 3  # choices
    # Relative to 1/nu; the noise of a person differs from episode to episode.
    slope_rel_sd: float = 0.5
    # Share of a full Newton step; where even shorter ones are needed, the search is given up.
    min_step_fraction: float = 1e-3
    log_posterior_tol: float = 1e-9  # log-units; a smaller decrease is rounding, not a failed step


TRACKING = OperatorTrackingOptions()
Z_90 = 1.645  # half-width of a 90 % normal interval, in standard deviations


@dataclass
class FieldState:
    """Rewards that the machine has observed in an episode, and the field's prior."""

    prior: Field
    covariance: Matrix
    options: list[int]
    rewards: list[float]

    @classmethod
    def before_play(cls, prior: Field) -> FieldState:
        """Return a state without observations."""
        return cls(prior, prior.covariance(), [], [])

    def observe(self, option: int, reward: float) -> None:
        """Learn from what an option paid."""
        self.options.append(option)
        self.rewards.append(reward)

    def posterior(self, trust: float, belief: Vector) -> FieldPosterior:
        """Gaussian process posterior of all options, with an operator's map as mean function.

        The map explains its part of the field's variance: trust^2 times its own. The residual
        varies as the field does, so that a trusted map leaves less to explore.
        """
        explained = trust**2 * float((belief**2).mean()) / self.prior.sd**2
        covariance = max(1.0 - explained, TRACKING.min_residual_share) * self.covariance
        prior_mean = self.prior.mean + trust * belief
        if not self.options:
            return FieldPosterior(prior_mean, covariance, np.zeros((0, len(belief))), (), belief)
        at = np.array(self.options)
        cross = covariance[at]
        reward_covariance = cross[:, at] + self.prior.noise_variance * np.eye(len(at))
        gains = np.linalg.solve(reward_covariance, cross)
        mean = prior_mean + (np.array(self.rewards) - prior_mean[at]) @ gains
        return FieldPosterior(mean, covariance, gains, tuple(self.options), belief)


@dataclass(frozen=True, eq=False)
class FieldPosterior:
    """Mean rewards of all options as the machine believes them after the rewards observed.

    Attributes
    ----------
    prior_covariance
        Covariance of options (n_options, n_options), less what the operator's map explains.
    gains
        Change of each mean with each reward, (n_rewards, n_options).
    options
        Options whose rewards were observed.
    belief
        The operator's map in the prior mean.
    """

    mean: Vector
    prior_covariance: Matrix
    gains: Matrix
    options: tuple[int, ...]
    belief: Vector

    def sd(self) -> Vector:
        """Standard deviation of every option."""
        cross = self.prior_covariance[list(self.options)]
        variance = np.diagonal(self.prior_covariance) - (cross * self.gains).sum(axis=0)
        # Rounding may leave the difference below 0.
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def covariance_with(self, option: int) -> Vector:
        """Posterior covariance of one option with all."""
        prior = self.prior_covariance[option]
        return np.asarray(prior - prior[list(self.options)] @ self.gains)

    def mean_derivative_in_trust(self) -> Vector:
        """Derivative of the posterior mean with respect to the trust in the map."""
        return np.asarray(self.belief - self.belief[list(self.options)] @ self.gains)


@dataclass(frozen=True)
class Trust:
    """Weight of the operator's map in the machine's beliefs: N(mean, sd^2).

    1 takes the map as it is, 0 ignores it. It is learnt from episodes without assistance: by how
    far what was found there follows the map that was read from the choices.

    Parameters
    ----------
    mean, sd
        Before anything is known of the operator.
    fixed
        Not to be learnt.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.Trust(0.5, 0.5)
    Trust(mean=0.5, sd=0.5, fixed=False)
    """

    mean: float = 0.5
    sd: float = 0.5
    fixed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_number(self.mean, "mean", fix="0.5 is usual.")
        check_number(self.sd, "sd", least=0, fix="0.5 is usual.")

    def updated_by_episode(self, prior: Field, belief: Vector, options: Any, rewards: Any) -> Trust:
        """The trust after an episode whose map is known: by regression of rewards on it.

        Parameters
        ----------
        prior
            The machine's field, which says how rewards vary besides.
        belief
            The operator's map at every option, from its level.
        options, rewards
            What was executed, and what it paid.
        """
        if self.fixed or self.sd == 0 or not len(options):
            return self
        # Generalised least squares: the variation of the field is the correlated error, so that
        # rewards at neighbouring options count as little more than one.
        at = np.asarray(options)
        covariance = prior.covariance()[np.ix_(at, at)] + prior.noise_variance * np.eye(len(at))
        columns = np.column_stack([belief[at], np.asarray(rewards) - prior.mean])
        solved = np.linalg.solve(covariance, columns)
        precision = self.sd**-2 + float(belief[at] @ solved[:, 0])
        mean = (self.mean * self.sd**-2 + float(belief[at] @ solved[:, 1])) / precision
        return Trust(float(mean), float(precision**-0.5))


@dataclass(frozen=True)
class OperatorProfile:
    """Parameters of an operator, estimated from episodes without assistance.

    `noise` is nu in rewards, `precision` delta (noise variance over prior variance), `width` and
    `level` the standard deviation over options and the mean of the operator's map, in rewards.
    """

    noise: float
    precision: float
    width: float
    level: float
    converged: bool

    @classmethod
    def default(cls, model: UCL, mean: float, sd: float) -> OperatorProfile:
        """Return the profile of an unknown operator: the field's mean and sd, half its sd noise."""
        return cls(sd / 2, model.noise_variance / sd**2, sd, mean, False)


@dataclass(frozen=True, eq=False)
class OperatorFromOneEpisode:
    """Profile and belief map estimated from one unassisted episode."""

    profile: OperatorProfile
    belief_map: Vector  # prior mean rewards of all options, in the mind of the operator


def fit_operator(model: UCL, episode: Episode) -> OperatorFromOneEpisode | None:
    """Fit the operator's model to one episode; None without a finite, positive slope."""
    if not episode.n_decisions:
        return None
    estimate = fit_model((episode,), model, parameter_prior=MapPrior())
    # A slope 1/nu of 0 or below is that of an operator who avoids rewards: no map can be read from
    # it.
    if not np.isfinite(estimate.theta).all() or estimate.weights[0] <= 0:
        return None
    found = estimate.belief_map()
    converged = estimate.status in ("converged", "weakly identified", "at a bound")
    slope, precision = float(estimate.weights[0]), float(estimate.psi[0])
    profile = OperatorProfile(1 / slope, precision, found.width, found.level, converged)
    return OperatorFromOneEpisode(profile, found.mean)


def merge_profiles(profiles: list[OperatorProfile]) -> OperatorProfile:
    """Average the profiles of several episodes: scales by geometric mean, levels by the mean."""
    noise, precision, width = (
        float(np.exp(np.mean([np.log(getattr(one, name)) for one in profiles])))
        for name in ("noise", "precision", "width")
    )
    level = float(np.mean([one.level for one in profiles]))
    converged = any(one.converged for one in profiles)
    return OperatorProfile(noise, precision, width, level, converged)


@dataclass
class OperatorState:
    """Model of the operator within one episode, updated choice by choice and reward by reward.

    With prior map mu0 = Phi c, the operator's mean beliefs are linear in the map's coefficients,
    mu_t = b + F c, and each observation updates b, F (`belief_map_jacobian`) and S (`covariance`,
    in units of the noise variance) by the same Kalman gain. `theta` is the posterior mode of (1/nu,
    c/nu, locality) under a Gaussian prior, and `contrasts` has, for every choice, attributes of all
    options less those of the option chosen.
    """

    model: UCL
    profile: OperatorProfile
    belief_offset: Vector
    belief_map_jacobian: Matrix
    covariance: Matrix
    theta: Vector
    prior_mean: Vector
    prior_precision: Matrix
    time: int = 1
    executed: list[int] = field(default_factory=list)
    contrasts: list[Matrix] = field(default_factory=list)
    n_steps: int = 0
    is_at_mode: bool = True

    @classmethod
    def before_play(cls, model: UCL, profile: OperatorProfile) -> OperatorState:
        """Return the state before the first choice."""
        assert model.prior_map is not None
        n = model.n_options
        scale = model.length_scale if model.length_scale is not None else 0.0
        correlation = model.kernel(distances(model.locations), float(scale))
        functions = np.column_stack([np.ones(n), model.prior_map.functions])
        d = len(model.weights)
        mean, precision = np.zeros(d), np.zeros(d)
        slope = 1.0 / profile.noise
        mean[:2] = slope, profile.level * slope
        # The level trades with the exploration bonus and is known poorly: twice the map's width.
        slope_sd, level_sd = TRACKING.slope_rel_sd * slope, 2 * profile.width * slope
        precision[:2] = slope_sd**-2.0, level_sd**-2.0
        precision[model.map_weights] = (profile.width * slope) ** -2.0
        # Locality terms have no estimate: an sd of 1 in log-odds is weak.
        precision[precision == 0] = 1.0
        return cls(
            model,
            profile,
            np.zeros(n),
            functions,
            correlation / profile.precision,
            mean.copy(),
            mean,
            np.diag(precision),
        )

    def attributes(self) -> Matrix:
        """Attributes of the next decision: (n_options, n_weights)."""
        model = self.model
        t = np.array([float(self.time)])
        z, cooling = float(model.credible_z(t)[0]), float(model.inverse_temperature(t)[0])
        sd = np.sqrt(model.noise_variance * np.diagonal(self.covariance))
        columns = [(self.belief_offset + sd * z) * cooling, *(self.belief_map_jacobian * cooling).T]
        return np.column_stack([*columns, *self._locality_columns()])

    def _locality_columns(self) -> list[Vector]:
        model, n = self.model, self.model.n_options
        if not model.terms:
            return []
        if not self.executed:
            return [np.zeros(n) for _ in model.terms]
        # The model itself computes these columns, so that they are those of the exact fit; option 0
        # without a reward stands for the choice that is still to come.
        history = Episode([*self.executed, 0], [*np.zeros(len(self.executed)), np.nan])
        without_map = replace(model, prior_map=None)
        x = without_map.explanatory(history, self.profile.precision)[-1]
        return list(x[:, -len(model.terms) :].T)

    def utilities(self) -> Vector:
        """Utility of every option to the operator at the next decision."""
        return np.asarray(self.attributes() @ self.theta)

    def observe_choice(self, option: int) -> float:
        """Add a choice to the posterior, and return the log-probability predicted for it."""
        x = self.attributes()
        q = x @ self.theta
        q = q - q.max()
        log_p = float(q[option] - np.log(np.exp(q).sum()))
        self.contrasts.append(x - x[option])
        n = len(self.contrasts)
        if n <= TRACKING.n_early_choices or n % TRACKING.later_update_interval == 0:
            self.update_mode(TRACKING.newton_steps)
        return log_p

    def update_mode(self, n_steps: int) -> None:
        """Take damped Newton steps towards the mode of this episode's posterior."""
        if not self.contrasts:
            return
        x = np.stack(self.contrasts)
        before = self._log_posterior(self.theta, x)
        for _ in range(n_steps):
            gradient, information = self._gradient_and_information(self.theta, x)
            step = np.linalg.solve(information, gradient)
            fraction, after = 1.0, -np.inf
            while fraction > TRACKING.min_step_fraction:
                trial = self.theta + fraction * step
                # 1/nu must stay positive: the map is c = theta_map / theta_0.
                after = self._log_posterior(trial, x) if trial[0] > 0 else -np.inf
                if after >= before - TRACKING.log_posterior_tol:
                    break
                fraction /= 2
            self.is_at_mode = after >= before - TRACKING.log_posterior_tol
            if not self.is_at_mode:
                return
            self.theta, before = self.theta + fraction * step, after
            self.n_steps += 1

    def _log_posterior(self, theta: Vector, x: Matrix) -> float:
        q = x @ theta
        deviation = theta - self.prior_mean
        top = q.max(axis=1)
        # Contrasts are taken to the chosen option, whose utility is therefore 0.
        log_likelihood = -(top + np.log(np.exp(q - top[:, None]).sum(axis=1))).sum()
        return float(log_likelihood - 0.5 * deviation @ self.prior_precision @ deviation)

    def _gradient_and_information(self, theta: Vector, x: Matrix) -> tuple[Vector, Matrix]:
        q = x @ theta
        p = np.exp(q - q.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("ti,tid->td", p, x)
        # Sum over t of E[xx'] - E[x]E[x]', the first term as one matrix product: BLAS beats a loop
        # over t.
        flat = (np.sqrt(p)[:, :, None] * x).reshape(-1, x.shape[2])
        information = flat.T @ flat - mean.T @ mean + self.prior_precision
        return -mean.sum(axis=0) - self.prior_precision @ (theta - self.prior_mean), information

    def observe(self, option: int, reward: float) -> None:
        """Update the operator's beliefs with the reward of the option that was executed."""
        row = self.covariance[option].copy()
        gain = row / (1.0 + row[option])
        self.belief_offset = self.belief_offset + gain * (reward - self.belief_offset[option])
        self.belief_map_jacobian = self.belief_map_jacobian - np.outer(
            gain, self.belief_map_jacobian[option]
        )
        self.covariance = self.covariance - np.outer(gain, row)
        self.executed.append(option)

    def advance_time(self) -> None:
        """Count a decision; bonus and inverse temperature grow with their number."""
        self.time += 1

    def belief_sd(self) -> Vector:
        """Posterior standard deviation of the operator's map at every option.

        At a fixed slope 1/nu: its uncertainty scales the map without changing its form.
        """
        assert self.model.prior_map is not None
        functions, where = self.model.prior_map.functions, self.model.map_weights
        precision = self.prior_precision
        if self.contrasts:
            precision = self._gradient_and_information(self.theta, np.stack(self.contrasts))[1]
        covariance = np.linalg.inv(precision)[where, where] / self.theta[0] ** 2
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", functions, covariance, functions)))

    def belief(self) -> Vector:
        """The operator's map before play at the posterior mode, less its level; 0 without one."""
        assert self.model.prior_map is not None
        if self.theta[0] <= 0:
            return np.zeros(self.model.n_options)
        found = self.model.prior_map.functions @ (self.theta[self.model.map_weights])
        return np.asarray(found / self.theta[0])
