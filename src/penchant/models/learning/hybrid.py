"""Gershman's hybrid of directed and random exploration, for two options (Gershman 2018).

Each option's mean reward is tracked by a static Kalman filter: m_i with variance s_i. With

    V = m_0 - m_1,    RU = sqrt(s_0) - sqrt(s_1),    TU = sqrt(s_0 + s_1),
    P(0) = logistic(w1 V + w2 RU + w3 V / TU),

w1 is value, w2 directed exploration (as in UCB), w3 random exploration (as in Thompson sampling).
With the prior variance relative to that of the noise fixed it is exactly linear in w1, w2 and w3;
the variables of option i are (m_i, sqrt(s_i), m_i / TU), whose differences are V, RU and V/TU.

Gershman has a probit, P(0) = Phi(...); here the link is the logistic function, which is the softmax
of two options. Weights are about 1.7 times those of the probit, and their ratios nearly the same.

A decision without a choice changes nothing; options shown are learnt from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.errors import DataError, mark_argument
from penchant.models.controls import control_names, control_words
from penchant.models.learning.kalman import (
    LEAST_BESIDE_MEAN,
    N_GRID,
    check_variance,
    prior_variances,
)
from penchant.models.parameters import Limit, Parameter, Row, Shape
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.models.setting_warnings import doubts_of_noise, doubts_of_start, start_words
from penchant.models.transforms import Transform


@dataclass(frozen=True)
class GershmanHybrid(Recursion):
    """The hybrid for two options: theta = (w1, w2, w3), psi = s_0 where it is not known.

    Parameters
    ----------
    noise_variance
        Variance of a reward around its mean, as the player takes it: 10 in Gershman's task. A pair,
        if the options differ; 0 for one that always gives the same, as safe options do.
    prior_variance
        s_0, the player's uncertainty before play: 100 in Gershman's task. A pair, if the options
        differ; 0 for one whose reward the player knows, as in Gershman's first experiment. None:
        estimated, the same for both, from 1e-06 to 1e+12 of the noise, for 0 to infinity.
    initial_mean
        What the player expects before play; known, as w1 and w3 would both multiply it.
    stickiness
        A weight for repeating the last choice, in log-odds.
    bias
        A weight for option 0, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.GershmanHybrid()
    >>> model.weights
    ('value', 'relative_uncertainty', 'value/total_uncertainty')
    >>> truth = {"value": 0.2, "relative_uncertainty": 0.4, "value/total_uncertainty": 1.0}
    >>> task = pn.Landscape([-2.0, 3.0], pn.GaussianNoise(10.0))
    >>> rng = np.random.default_rng(1)
    >>> plays = pn.simulate(task, model, truth, n_decisions=10, n_subjects=200, rng=rng)
    >>> [round(p.estimate, 1) for p in pn.fit(plays, model).parameters]
    [0.2, 0.4, 0.9]
    """

    in_brief = "directed and random exploration"

    noise_variance: float | Sequence[float] = 10.0
    prior_variance: float | Sequence[float] | None = 100.0
    initial_mean: float = 0.0
    stickiness: bool = False
    bias: bool = False

    n_options = 2

    def __post_init__(self) -> None:
        for name in ("noise_variance", "prior_variance"):
            given = getattr(self, name)
            if isinstance(given, list):
                object.__setattr__(self, name, tuple(given))
        _check_variances(self.noise_variance, "noise_variance")
        if self.prior_variance is not None:
            _check_variances(self.prior_variance, "prior_variance")
        check_number(self.initial_mean, "initial_mean", fix="Give what is expected before play.")

    def noise_of(self, option: int) -> float:
        """Variance of an option's rewards, as the player takes it."""
        return _pair(self.noise_variance)[option]

    @property
    def _unit(self) -> float:
        """The unit of variances: that of the noise, or of the noisier option."""
        return max(_pair(self.noise_variance))

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean and standard deviation of every option's reward, as the player believes them."""
        x = self.explanatory(episode, *psi)
        return {"value": x[:, :, 0], "uncertainty": x[:, :, 1]}

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the initial mean lies outside the rewards, or an option has no noise."""
        noise = [self.noise_of(i) for i in range(self.n_options)]
        advice = "All three weights rest on it: give a variance for each option, such as "
        advice += "noise_variance=(16, 0)."
        return (
            *doubts_of_start("initial_mean", self.initial_mean, episodes, estimable=False),
            *doubts_of_noise(noise, _variance_words(self.noise_variance), advice, episodes),
        )

    @property
    def parameters(self) -> tuple[Row, ...]:
        names = ("value", "relative_uncertainty", "value/total_uncertainty", *self.controls())
        variance = Parameter(
            "prior_variance",
            shape=_prior_variances(),
            transform=Transform("power", self._unit, 1.0),
        )
        free = (variance,) if self.prior_variance is None else ()
        return (*map(Parameter.weight, names), *free)

    def controls(self) -> tuple[str, ...]:
        return control_names(2, self.stickiness, self.bias)

    def bindings(self) -> Mapping[str, float]:
        known = self.prior_variance
        return {} if known is None else {"relative_prior_variance": max(_pair(known)) / self._unit}

    def settings(self) -> Mapping[str, float]:
        return {"sd": float(np.sqrt(self._unit))}

    def state(self) -> Mapping[str, Vector]:
        """Means; variances, those of the prior relative to the larger; noise, in its unit."""
        first, second = (1.0, 1.0) if self.prior_variance is None else _pair(self.prior_variance)
        priors = np.array([first, second]) / max(first, second)
        noises = np.array(_pair(self.noise_variance)) / self._unit
        return {"mean": np.full(2, float(self.initial_mean)), "variance": priors, "noise": noises}

    @staticmethod
    def start(s: Fields, psi: Fields, c: Fields) -> None:
        """Prior variances in units of the noise."""
        for i in range(2):
            s.variance[i] *= psi.relative_prior_variance

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        total = c.sd * sqrt(s.variance[0] + s.variance[1])
        for i in range(2):
            x[i, 0] = s.mean[i]
            # a root has no derivative at 0, where a variance stays whatever the prior is
            x[i, 1] = c.sd * sqrt(s.variance[i]) if s.variance[i] > 0 else 0.0
            x[i, 2] = s.mean[i] / total

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Kalman filter; who is sure of an option learns nothing of it."""
        variance = s.variance[e.choice]
        if variance > 0:
            gain = variance / (s.noise[e.choice] + variance)
            s.mean[e.choice] += gain * (e.reward - s.mean[e.choice])
            s.variance[e.choice] = gain * s.noise[e.choice]

    def __str__(self) -> str:
        known = self.prior_variance
        prior = "estimated" if known is None else _variance_words(known)
        words = [
            f"Gershman's hybrid, logistic, noise variance {_variance_words(self.noise_variance)}"
        ]
        words.append(f"prior variance {prior}")
        words.append(f"initial mean {start_words(self.initial_mean)}")
        return ", ".join([*words, *control_words(self.stickiness, self.bias)])


Variances = float | Sequence[float]


def _pair(given: Variances) -> tuple[float, float]:
    """The variances of both options, of which one may be given for both."""
    first, second = given if isinstance(given, Sequence) else (given, given)
    return float(first), float(second)


def _variance_words(given: Variances) -> str:
    return " and ".join(f"{n:g}" for n in (given if isinstance(given, Sequence) else (given,)))


def _check_variances(given: Any, name: str) -> None:
    """Refuse what is no variance, or no pair of them of which one may be 0."""
    if not isinstance(given, tuple):
        check_variance(given, mark_argument(name))
        return
    for one in given:
        check_number(one, mark_argument(name), fix="Give variances, in squared units of rewards.")
    if len(given) != 2 or min(given) < 0 or max(given) <= 0:
        raise DataError(
            mark_argument(name),
            "must be a variance, or two of which one may be 0",
            got=given,
            fix="Correct it.",
        )


def _prior_variances() -> Shape:
    """Their range; at its lower end the weights make up for it."""
    shape = prior_variances(N_GRID[1], static=True, bonus=("relative_uncertainty", 1))
    lost = ("prior_variance", "value", "relative_uncertainty", "value/total_uncertainty")
    slowly = "means move in proportion to prior_variance, which the weights make up for"
    return replace(shape, low=LEAST_BESIDE_MEAN, at_low=Limit(0.0, slowly, lost))
