"""What the machine knows: rewards over places, how far it trusts the operator, and the operator.

The machine takes mean rewards for a Gaussian field. The operator's map, times the trust in it, is
the mean function of the field, never the truth: rewards correct it.

Weights have a Gaussian prior, from episodes without assistance; the choices of this episode are
added row by row at fixed shape parameters, and the mode follows by Newton steps now and then. The
exact fit is done between episodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.beliefs import GAUSSIAN, Kernel
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import check_locations, distances
from penchant.errors import DataError
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
        if not np.isfinite(self.mean):
            raise DataError(f"mean must be finite; got {self.mean}. Give the reward expected.")
        for name in ("sd", "length_scale", "noise_variance"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise DataError(f"{name} must be > 0; got {value}. Correct it.")
        if not (np.isfinite(self.bonus) and self.bonus >= 0):
            raise DataError(f"bonus must be >= 0; got {self.bonus}. Correct it.")

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.locations)

    def covariance(self) -> Matrix:
        """Of the mean rewards of all options before play."""
        return np.asarray(self.sd**2 * self.kernel(distances(self.locations), self.length_scale))

    def __repr__(self) -> str:
        return (
            f"Field: {self.n_options} options, mean {self.mean:g}, sd {self.sd:g}, length scale "
            f"{self.length_scale:g} ({self.kernel.name}), noise variance {self.noise_variance:g}"
        )


@dataclass
class FieldState:
    """The rewards that the machine has seen in an episode."""

    prior: Field
    covariance: Matrix
    options: list[int]
    rewards: list[float]

    @classmethod
    def before_play(cls, prior: Field) -> FieldState:
        """Nothing is seen yet."""
        return cls(prior, prior.covariance(), [], [])

    def observe(self, option: int, reward: float) -> None:
        """Learn from what an option paid."""
        self.options.append(option)
        self.rewards.append(reward)

    def posterior(self, trust: float, belief: Vector) -> Posterior:
        """What is believed of all options, with an operator's map as mean function.

        The map takes its part of the field's variance: trust^2 times its own. What is left varies
        as the field does, so that a map which is trusted leaves less to explore.
        """
        taken = trust**2 * float((belief**2).mean()) / self.prior.sd**2
        covariance = max(1.0 - taken, LEAST_LEFT) * self.covariance
        expected = self.prior.mean + trust * belief
        if not self.options:
            return Posterior(expected, covariance, np.zeros((0, len(belief))), (), belief)
        at = np.array(self.options)
        seen = covariance[at]
        inner = seen[:, at] + self.prior.noise_variance * np.eye(len(at))
        gains = np.linalg.solve(inner, seen)
        mean = expected + (np.array(self.rewards) - expected[at]) @ gains
        return Posterior(mean, covariance, gains, tuple(self.options), belief)


LEAST_LEFT = 0.1  # share of a field's variance that no map takes away


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean rewards of all options as the machine believes them.

    Attributes
    ----------
    mean
        Expected.
    """

    mean: Vector
    before: Matrix
    gains: Matrix
    options: tuple[int, ...]
    belief: Vector

    def sd(self) -> Vector:
        """Standard deviation of every option."""
        seen = self.before[list(self.options)]
        variance = np.diagonal(self.before) - (seen * self.gains).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def row(self, option: int) -> Vector:
        """Covariance of one option with all."""
        at = list(self.options)
        return np.asarray(self.before[option] - self.before[option, at] @ self.gains)

    def left(self) -> Vector:
        """What is left of the operator's map after the rewards."""
        return np.asarray(self.belief - self.belief[list(self.options)] @ self.gains)


@dataclass(frozen=True)
class Trust:
    """How much of the operator's map the machine takes over: N(mean, sd^2).

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
        if not np.isfinite(self.mean):
            raise DataError(f"mean must be finite; got {self.mean}. 0.5 is usual.")
        if not (np.isfinite(self.sd) and self.sd >= 0):
            raise DataError(f"sd must be >= 0; got {self.sd}. 0.5 is usual.")

    def learnt(self, prior: Field, belief: Vector, options: Any, rewards: Any) -> Trust:
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
        at = np.asarray(options)
        covariance = prior.covariance()[np.ix_(at, at)] + prior.noise_variance * np.eye(len(at))
        seen = np.column_stack([belief[at], np.asarray(rewards) - prior.mean])
        solved = np.linalg.solve(covariance, seen)
        precision = self.sd**-2 + float(belief[at] @ solved[:, 0])
        mean = (self.mean * self.sd**-2 + float(belief[at] @ solved[:, 1])) / precision
        return Trust(float(mean), float(precision**-0.5))


STEPS = 2
EARLY, EVERY = 12, 3  # choices that Newton steps follow each, and between them later
LOOSE = 0.5  # relative sd of 1/nu before this episode's choices


@dataclass(frozen=True)
class Known:
    """What episodes without assistance told of an operator.

    Attributes
    ----------
    noise, precision
        nu, and delta.
    width
        Standard deviation of a map, in units of rewards.
    level
        What is expected of every option.
    converged
        Whether the fit did.
    """

    noise: float
    precision: float
    width: float
    level: float
    converged: bool

    @classmethod
    def nothing(cls, model: UCL, mean: float, sd: float) -> Known:
        """Of somebody nobody has seen: as uncertain as the machine, noisy by half of it."""
        return cls(sd / 2, model.noise_variance / sd**2, sd, mean, False)


@dataclass(frozen=True, eq=False)
class Seen:
    """An episode without assistance, and what was read from it."""

    known: Known
    belief: Vector


def read_episode(model: UCL, episode: Episode) -> Seen | None:
    """Noise, precision and map of an episode by itself; None where it tells nothing."""
    if not episode.n_decisions:
        return None
    estimate = fit_model((episode,), model, parameter_prior=MapPrior())
    if not np.isfinite(estimate.theta).all() or estimate.weights[0] <= 0:
        return None
    found = estimate.belief_map()
    good = estimate.status in ("converged", "weakly identified", "at a bound")
    slope, precision = float(estimate.weights[0]), float(estimate.psi[0])
    return Seen(Known(1 / slope, precision, found.width, found.level, good), found.mean)


def together(seen: list[Known]) -> Known:
    """What several episodes say of one operator: geometric means, and the mean level."""
    noise, precision, width = (
        float(np.exp(np.mean([np.log(getattr(one, name)) for one in seen])))
        for name in ("noise", "precision", "width")
    )
    level = float(np.mean([one.level for one in seen]))
    return Known(noise, precision, width, level, any(one.converged for one in seen))


@dataclass
class OperatorState:
    """The operator in one episode: beliefs for every function of the map, and what was chosen."""

    model: UCL
    known: Known
    b: Vector
    share: Matrix
    covariance: Matrix
    theta: Vector
    prior_mean: Vector
    prior_precision: Matrix
    time: int = 1
    past: list[int] = field(default_factory=list)
    rows: list[Matrix] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    n_steps: int = 0
    settled: bool = True

    @classmethod
    def before_play(cls, model: UCL, known: Known) -> OperatorState:
        """Nothing was chosen yet."""
        assert model.prior_map is not None
        n = model.n_options
        scale = model.length_scale if model.length_scale is not None else 0.0
        correlation = model.kernel(distances(model.locations), float(scale))
        functions = np.column_stack([np.ones(n), model.prior_map.functions])
        d = len(model.weights)
        mean, precision = np.zeros(d), np.zeros(d)
        slope = 1.0 / known.noise
        mean[:2] = slope, known.level * slope
        precision[:2] = (LOOSE * slope) ** -2.0, (2 * known.width * slope) ** -2.0
        precision[model.map_weights] = (known.width * slope) ** -2.0
        precision[precision == 0] = 1.0  # terms of locality, in log-odds
        return cls(
            model,
            known,
            np.zeros(n),
            functions,
            correlation / known.precision,
            mean.copy(),
            mean,
            np.diag(precision),
        )

    def variables(self) -> Matrix:
        """Explanatory variables of the next decision: (n_options, n_weights)."""
        model = self.model
        t = np.array([float(self.time)])
        z, cooled = float(model.credible_z(t)[0]), float(model.inverse_temperature(t)[0])
        sd = np.sqrt(model.noise_variance * np.diagonal(self.covariance))
        columns = [(self.b + sd * z) * cooled, *(self.share * cooled).T, *self._near()]
        return np.column_stack(columns)

    def _near(self) -> list[Vector]:
        model, n = self.model, self.model.n_options
        if not model.terms:
            return []
        if not self.past:
            return [np.zeros(n) for _ in model.terms]
        happened = Episode([*self.past, 0], [*np.zeros(len(self.past)), np.nan])
        bare = replace(model, prior_map=None)
        x = bare.explanatory(happened, self.known.precision)[-1]
        return list(x[:, -len(model.terms) :].T)

    def objective(self) -> Vector:
        """Of every option, as the model of the operator says."""
        return np.asarray(self.variables() @ self.theta)

    def choose(self, option: int) -> float:
        """Add a choice; returns the log-probability that it had before."""
        x = self.variables()
        q = x @ self.theta
        q = q - q.max()
        log_p = float(q[option] - np.log(np.exp(q).sum()))
        self.rows.append(x - x[option])
        self.chosen.append(option)
        if len(self.rows) <= EARLY or len(self.rows) % EVERY == 0:
            self.settle(STEPS)
        return log_p

    def settle(self, n_steps: int) -> None:
        """Newton steps towards the mode of this episode's posterior."""
        if not self.rows:
            return
        x = np.stack(self.rows)
        before = self._value(self.theta, x)
        for _ in range(n_steps):
            gradient, information = self._slopes(self.theta, x)
            step = np.linalg.solve(information, gradient)
            share, after = 1.0, -np.inf
            while share > 1e-3:
                trial = self.theta + share * step
                after = self._value(trial, x) if trial[0] > 0 else -np.inf
                if after >= before - 1e-9:
                    break
                share /= 2
            self.settled = after >= before - 1e-9
            if not self.settled:
                return
            self.theta, before = self.theta + share * step, after
            self.n_steps += 1

    def _value(self, theta: Vector, x: Matrix) -> float:
        q = x @ theta
        away = theta - self.prior_mean
        top = q.max(axis=1)
        chosen = -(top + np.log(np.exp(q - top[:, None]).sum(axis=1))).sum()
        return float(chosen - 0.5 * away @ self.prior_precision @ away)

    def _slopes(self, theta: Vector, x: Matrix) -> tuple[Vector, Matrix]:
        q = x @ theta
        p = np.exp(q - q.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("ti,tid->td", p, x)
        flat = (np.sqrt(p)[:, :, None] * x).reshape(-1, x.shape[2])
        information = flat.T @ flat - mean.T @ mean + self.prior_precision
        return -mean.sum(axis=0) - self.prior_precision @ (theta - self.prior_mean), information

    def observe(self, option: int, reward: float) -> None:
        """What was executed moves the operator's beliefs."""
        row = self.covariance[option].copy()
        gain = row / (1.0 + row[option])
        self.b = self.b + gain * (reward - self.b[option])
        self.share = self.share - np.outer(gain, self.share[option])
        self.covariance = self.covariance - np.outer(gain, row)
        self.past.append(option)

    def tick(self) -> None:
        """A decision is over."""
        self.time += 1

    def belief_sd(self) -> Vector:
        """Standard deviation of that map at every option."""
        assert self.model.prior_map is not None
        functions, where = self.model.prior_map.functions, self.model.map_weights
        precision = self.prior_precision
        if self.rows:
            precision = self._slopes(self.theta, np.stack(self.rows))[1]
        spread = np.linalg.inv(precision)[where, where] / self.theta[0] ** 2
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", functions, spread, functions)))

    def belief(self) -> Vector:
        """The map that the operator seems to have had in mind, from its level."""
        assert self.model.prior_map is not None
        if self.theta[0] <= 0:
            return np.zeros(self.model.n_options)
        found = self.model.prior_map.functions @ (self.theta[self.model.map_weights])
        return np.asarray(found / self.theta[0])
