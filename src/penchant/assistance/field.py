"""What the machine itself believes of rewards over places, and how far it trusts the operator.

The machine takes mean rewards for a Gaussian field. The operator's map, times the trust in it, is
the mean function of the field, never the truth: rewards correct it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.beliefs import GAUSSIAN, Kernel
from penchant.bandit.locations import check_locations, distances
from penchant.errors import DataError


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
