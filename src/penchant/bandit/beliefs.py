"""Posterior beliefs of the agent about every option before each decision, Eqs. (11) and (12).

The agent starts from m ~ N(mu0 1, sigma0^2 Sigma) and learns from rewards with noise of known
variance sigma_s^2; delta = sigma_s^2 / sigma0^2 is the relative precision. Its mean before an event
is b + mu0 f, exactly affine in mu0, and its variance sigma_s^2 S_ii; b, f and S_ii depend on delta
and the length scale only.

Notes
-----
Paper: beliefs at t are said to hold the rewards "up to time t"; those before t are meant, for the
choice at t cannot depend on its own reward. Eqs. (11), (12) are computed by recursion, without the
inverse of Sigma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.argument_checks import check_number
from penchant.bandit import _belief_kernels as compiled
from penchant.bandit.episode import Episode
from penchant.errors import DataError


@dataclass(frozen=True)
class RewardPrior:
    """Normal prior of the agent about the mean reward of every option, before play.

    Parameters
    ----------
    mean
        mu0: the reward expected of each option.
    variance
        sigma0^2: how uncertain the agent is about it.
    length_scale
        lambda: distance over which rewards are correlated; None where the model fixes it.

    Examples
    --------
    >>> import penchant as pn
    >>> pn.RewardPrior(mean=200, variance=1e6).relative_precision(10.0)
    1e-05
    """

    mean: float
    variance: float
    length_scale: float | None = None

    def __post_init__(self) -> None:
        check_number(self.mean, "mean", fix="Give the reward expected.")
        check_number(
            self.variance, "variance", above=0, fix="An agent that knows nothing has a large one."
        )
        if self.length_scale is not None:
            check_number(self.length_scale, "length_scale", least=0, fix="0: independent options.")

    def relative_precision(self, noise_variance: float) -> float:
        """Relative precision delta = sigma_s^2 / sigma0^2."""
        return noise_variance / self.variance


@dataclass(frozen=True)
class Kernel:
    """Correlation as a function of distance / length scale, and its derivative in that ratio."""

    name: str
    correlation: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix], Matrix]

    def __call__(self, distance: Matrix, length_scale: float) -> Matrix:
        """Correlations; a length scale of 0 means none between different locations."""
        if length_scale == 0:
            return np.asarray(distance == 0, dtype=np.float64)
        return self.correlation(_scaled_distance(distance, length_scale))

    def derivative(self, distance: Matrix, length_scale: float) -> Matrix:
        """Derivative of the correlations in the length scale; 0 at 0."""
        if length_scale == 0:
            return np.zeros_like(distance)
        ratio = _scaled_distance(distance, length_scale)
        return np.asarray(-self.slope(ratio) * ratio / length_scale)

    def to_dict(self) -> dict[str, str]:
        """Name of the kernel, ready for JSON: functions are not written."""
        return {"name": self.name}

    @classmethod
    def from_dict(cls, document: Mapping[str, str]) -> Kernel:
        """Kernel of the library with this name."""
        for known in (EXPONENTIAL, GAUSSIAN, MATERN32, MATERN52):
            if known.name == document["name"]:
                return known
        raise DataError(
            "kernel",
            "must be one of the library to come back",
            got=repr(document["name"]),
            fix="Make the model again, and pass it.",
        )


def _scaled_distance(distance: Matrix, length_scale: float) -> Matrix:
    """Distance over length scale, at most 1000, where every correlation is 0 in float64.

    Without the limit a length scale near 0 would overflow, and 0 times infinity be NaN.
    """
    return np.asarray(
        np.where(distance < 1e3 * length_scale, distance, 1e3 * length_scale) / length_scale
    )


def _exponential(u: Matrix) -> Matrix:
    return np.exp(-u)


def _exponential_slope(u: Matrix) -> Matrix:
    return -np.exp(-u)


def _gaussian(u: Matrix) -> Matrix:
    return np.exp(-0.5 * u * u)


def _gaussian_slope(u: Matrix) -> Matrix:
    return -u * np.exp(-0.5 * u * u)


def _matern32(u: Matrix) -> Matrix:
    v = np.sqrt(3.0) * u
    return np.asarray((1.0 + v) * np.exp(-v))


def _matern32_slope(u: Matrix) -> Matrix:
    return np.asarray(-3.0 * u * np.exp(-np.sqrt(3.0) * u))


def _matern52(u: Matrix) -> Matrix:
    v = np.sqrt(5.0) * u
    return np.asarray((1.0 + v + v * v / 3.0) * np.exp(-v))


def _matern52_slope(u: Matrix) -> Matrix:
    v = np.sqrt(5.0) * u
    return np.asarray(-(5.0 / 3.0) * u * (1.0 + v) * np.exp(-v))


EXPONENTIAL = Kernel("exponential", _exponential, _exponential_slope)
GAUSSIAN = Kernel("gaussian", _gaussian, _gaussian_slope)
MATERN32 = Kernel("matern-3/2", _matern32, _matern32_slope)
MATERN52 = Kernel("matern-5/2", _matern52, _matern52_slope)


@dataclass(frozen=True)
class Beliefs:
    """Beliefs before each event, for all options: arrays (1 to 3, n_events, n_options).

    Index 0 of the first axis is the quantity, 1 its derivative in delta, 2 in the length scale, as
    far as asked for.

    Attributes
    ----------
    b, f
        The mean is b + mu0 f.
    variance
        Posterior variance in units of the noise variance.
    """

    b: Matrix
    f: Matrix
    variance: Matrix

    def mean(self, prior_mean: float) -> Matrix:
        """Expected reward of every option before each event, Eq. (12)."""
        return np.asarray(self.b[0] + prior_mean * self.f[0])

    def standard_deviation(self, noise_variance: float) -> Matrix:
        """Standard deviation of the expected reward, Eq. (11)."""
        return np.asarray(np.sqrt(noise_variance * self.variance[0]))


@dataclass(frozen=True)
class ObservedSequence:
    """The observations of an episode, arranged for the recursion.

    Attributes
    ----------
    options
        Options ever observed, in descending order of the time of their last observation.
    observed_index_by_event
        Index in `options` of what each event observes, or -1.
    n_observed_again
        Number of options that are observed again after each observation: the first of `options`,
        by their order, so that the recursion updates a leading block only.
    """

    options: IntVector
    observed_index_by_event: IntVector
    n_observed_again: IntVector
    rewards: Vector

    @classmethod
    def from_episode(cls, episode: Episode) -> ObservedSequence:
        """Sort the options that an episode observes, for the recursion."""
        observed = np.flatnonzero(episode.observed)
        seen = episode.executed[observed]
        # The first occurrence in reversed order is the last observation of an option.
        backwards, first = np.unique(seen[::-1], return_index=True)
        last = len(seen) - 1 - first
        latest = np.argsort(-last, kind="stable")
        options, last = backwards[latest], last[latest]
        position = np.full(int(seen.max(initial=-1)) + 1, -1, dtype=np.int64)
        position[options] = np.arange(len(options))
        events = np.full(episode.n_events, -1, dtype=np.int64)
        events[observed] = position[seen]
        # Options are sorted by `last`, so those still to come are the first `active` ones.
        active = (last[None, :] > np.arange(len(seen))[:, None]).sum(axis=1)
        return cls(options, events, active.astype(np.int64), episode.rewards[observed])


def posterior_beliefs(
    episode: Episode,
    distances: Matrix,
    delta: float,
    length_scale: float,
    kernel: Kernel = EXPONENTIAL,
    n_derivatives: int = 2,
) -> Beliefs:
    """Compute the beliefs about all options before each event of an episode.

    Parameters
    ----------
    episode
        Options observed and rewards received.
    distances
        Distances of all options to those observed, in the order of `options` of
        `ObservedSequence.from_episode(episode)`: (n_options, n_observed). They come from
        `distances_to_options`.
    delta
        Relative precision sigma_s^2 / sigma0^2.
    length_scale
        Of the correlation; 0 for independent options.
    n_derivatives
        0: none; 1: in delta; 2: in delta and the length scale.
    """
    correlations = np.ascontiguousarray(kernel(distances, length_scale))
    # Compiled loops need an array of this type even where they do not use it: `correlations`
    # serves.
    slopes = correlations
    if n_derivatives == 2:
        slopes = np.ascontiguousarray(kernel.derivative(distances, length_scale))
    observed = ObservedSequence.from_episode(episode)
    n_options, size = correlations.shape
    n_orders = 1 + n_derivatives
    rows = np.empty((len(observed.n_observed_again), n_orders, size))
    innovations = np.empty((len(observed.n_observed_again), n_orders, 2))
    visits = observed.observed_index_by_event[observed.observed_index_by_event >= 0]
    compiled.fill_observed_posteriors(
        np.ascontiguousarray(correlations[observed.options]),
        np.ascontiguousarray(slopes[observed.options]),
        float(delta),
        visits,
        observed.n_observed_again,
        observed.rewards,
        rows,
        innovations,
    )
    position = np.full(n_options, -1, dtype=np.int64)
    position[observed.options] = np.arange(size)
    out = np.empty((3, n_orders, len(observed.observed_index_by_event), n_options))
    compiled.fill_option_posteriors(
        correlations,
        slopes,
        float(delta),
        position,
        observed.observed_index_by_event,
        observed.n_observed_again,
        rows,
        innovations,
        0,
        n_options,
        out,
    )
    return Beliefs(out[0], out[1], out[2])
