"""The Kalman filter, or Bayesian mean tracker, with an uncertainty bonus.

The player takes the mean reward of each option for Gaussian, m_i with variance s_i, and learns from
a reward r of option c with noise of variance sigma^2 by

    k = s_c / (s_c + sigma^2),    m_c <- m_c + k (r - m_c),    s_c <- (1 - k) s_c.

In a restless world (Daw et al. 2006) rewards wander, and with every event

    m_i <- lambda m_i + (1 - lambda) c,    s_i <- lambda^2 s_i + sigma_d^2;

lambda = 1 and sigma_d = 0 make it static. The objective is

    eta_i = (m_i + gamma sqrt(s_i)) / tau + phi 1(i = last choice) + b_i.

With s_0, sigma_d^2 (both relative to sigma^2) and lambda fixed, m is affine in the initial mean m0
and in the centre c, so the model is exactly linear in 1/tau, m0/tau, c/tau, gamma/tau, phi and b.

A decision without a choice teaches nothing, but the restless world goes on. Options shown are
learnt from as chosen ones are; stickiness passes over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_number
from penchant.errors import DataError, mark_argument
from penchant.models.controls import control_names, control_words, with_starts
from penchant.models.model import positive
from penchant.models.parameters import TEMPERATURE, Limit, Parameter, Row, Shape, per_temperature
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.models.setting_warnings import doubts_of_noise, doubts_of_start, start_words
from penchant.models.transforms import Transform

N_GRID = {1: 33, 2: 17, 3: 11}
# Ranges that stand for all from 0 to infinity, relative to the noise: at their ends means and
# standard deviations are those of the limits, but for the scale, which weights make up for.
PRIOR_VARIANCES = (1e-9, 1e12)
LEAST_BESIDE_MEAN = 1e-6  # with initial_mean and bonus, which tell the same of counts at 0
DRIFT_VARIANCES = (1e-12, 1e12)
DECAYS = (1e-8, 1.0)
NEARLY_NONE = 1.0 - 1e-8  # a decay that leaves a centre to be estimated


@dataclass(frozen=True)
class KalmanFilter(Recursion):
    """Kalman filter and softmax: a number given is known, None is estimated.

    Parameters
    ----------
    n_options
        Number of options.
    noise_variance
        Variance sigma^2 of a reward around its mean, as the player takes it. Only the unit of the
        other variances: choices tell ratios, and with 1 these are reported.
    prior_variance
        s_0, the player's uncertainty before play; relative to the noise it is looked for from 1e-09
        (1e-06 where initial_mean is estimated beside a bonus) to 1e+12, for 0 to infinity. One long
        episode hardly tells it: give a number there, such as what uncertainty settles at.
    initial_mean
        m0, what it expects of every option before play, in units of rewards; None: estimated.
    decay
        lambda, from 0 to 1; 1: means stay where they are. Looked for from 1e-08 to 1, or 1 - 1e-08
        where centre is estimated, which nothing decays to at 1.
    drift_variance
        sigma_d^2, by which uncertainty grows with every event; 0: not at all. Relative to the noise
        it is looked for from 1e-12 to 1e+12.
    centre
        c, where means decay to: "initial_mean", a number, or None.
    bonus
        A weight gamma/tau for uncertainty: gamma is in rewards per standard deviation.
    stickiness
        A weight phi for repeating the last choice, in log-odds.
    bias
        A weight b_i for every option but the last, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.KalmanFilter(4, noise_variance=16.0, initial_mean=50.0)
    >>> task = pn.Landscape([40, 50, 60, 45], pn.GaussianNoise(16.0))
    >>> truth = {"temperature": 4.0, "uncertainty_bonus": 1.5, "prior_variance": 100.0}
    >>> rng = np.random.default_rng(1)
    >>> plays = pn.simulate(task, model, truth, n_decisions=40, n_subjects=20, rng=rng)
    >>> pn.fit(plays, model)
    <Estimate converged: temperature=4.1228, uncertainty_bonus=1.4502, prior_variance=148.71>
    >>> restless = pn.KalmanFilter(4, decay=None, drift_variance=None)
    >>> [shape.name for shape in restless.shape]
    ['relative_prior_variance', 'decay', 'relative_drift_variance']
    """

    in_brief = "Bayesian mean tracker and a bonus"

    n_options: int
    noise_variance: float = 1.0
    prior_variance: float | None = None
    initial_mean: float | None = 0.0
    decay: float | None = 1.0
    drift_variance: float | None = 0.0
    centre: float | Literal["initial_mean"] | None = "initial_mean"
    bonus: bool = True
    stickiness: bool = False
    bias: bool = False

    optional = ("choice", "reward")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_variance(self.noise_variance, mark_argument("noise_variance"))
        if self.prior_variance is not None:
            check_variance(self.prior_variance, "prior_variance")
        if self.initial_mean is not None:
            check_number(self.initial_mean, "initial_mean", fix="Give None to estimate it.")
        decay, drift = self.decay, self.drift_variance
        if decay is not None:
            check_number(decay, "decay", least=0, most=1, fix="Give None to estimate it.")
        if drift is not None:
            check_number(drift, "drift_variance", least=0, fix="Give None to estimate it.")
        if self.centre == "initial_mean":
            return
        if self.decay == 1:
            raise DataError(
                "centre",
                "must be left out where decay is 1",
                got=repr(self.centre),
                fix="Nothing decays to it: give a decay, or None to estimate it.",
            )
        if self.centre is not None:
            check_number(self.centre, "centre", fix="Give 'initial_mean', or None to estimate it.")

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean and standard deviation of every option's reward, as the player believes them."""
        full = replace(self, bonus=True)  # its variables hold the standard deviation
        x = full.explanatory(episode, *psi)
        weights = dict(zip(self.weights, theta, strict=True))
        wide = np.array([weights.get(name, 0.0) for name in full.weights])
        return {
            "value": with_starts(full.weights, x, wide, "initial_mean", "centre"),
            "uncertainty": x[:, :, full.weights.index("uncertainty_bonus/temperature")],
        }

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the initial mean lies outside the rewards, or an option has no noise."""
        noise = [float(self.noise_variance)] * self.n_options
        advice = "Learning from it is slower in the model than it can be"
        advice = f"{advice}, and the bonus larger." if self.bonus else f"{advice}."
        return (
            *doubts_of_start("initial_mean", self.initial_mean, episodes),
            *doubts_of_noise(noise, f"{self.noise_variance:g}", advice, episodes),
        )

    @property
    def parameters(self) -> tuple[Row, ...]:
        names = ["initial_mean"] if self.initial_mean is None else []
        names += ["centre"] if self.centre is None else []
        names += ["uncertainty_bonus"] if self.bonus else []
        unit = Transform("power", self.noise_variance, 1.0)
        n_grid = N_GRID[max(list(self._filter.values()).count(None), 1)]
        numbers: list[Row] = []
        if self.prior_variance is None:
            prior = self._prior_variances(n_grid, len(names))
            numbers.append(Parameter("prior_variance", shape=prior, transform=unit))
        numbers += [self._decays(n_grid)] if self.decay is None else []
        if self.drift_variance is None:
            drift = _drift_variances(n_grid)
            numbers.append(Parameter("drift_variance", shape=drift, transform=unit))
        controls = map(Parameter.weight, self.controls())
        return (TEMPERATURE, *map(per_temperature, names), *numbers, *controls)

    @property
    def _filter(self) -> dict[str, float | None]:
        """The filter's three numbers, in units of the noise; None where estimated."""
        unit = self.noise_variance
        prior, drift = self.prior_variance, self.drift_variance
        return {
            "relative_prior_variance": None if prior is None else prior / unit,
            "decay": self.decay,
            "relative_drift_variance": None if drift is None else drift / unit,
        }

    def _prior_variances(self, n_grid: int, place: int) -> Shape:
        static = self.decay == 1 and self.drift_variance == 0
        bonus = ("uncertainty_bonus", place) if self.bonus else None
        shape = prior_variances(n_grid, static=static, bonus=bonus)
        both = self.initial_mean is None and self.bonus
        return replace(shape, low=LEAST_BESIDE_MEAN) if both else shape

    def _decays(self, n_grid: int) -> Shape:
        free = self.centre is None
        low = Limit(
            0.0,
            "all is forgotten at once but the last reward, in proportion to decay",
            ("decay", "temperature"),
            ("decay/temperature", 0, 1.0),
        )
        drifting = "means do not decay to centre but drift towards it evenly"
        high = Limit(1.0, drifting, ("decay", "centre")) if free else Limit(1.0, "nothing decays")
        most = NEARLY_NONE if free else DECAYS[1]
        return Shape("decay", DECAYS[0], most, n_grid=n_grid, at_low=low, at_high=high)

    def controls(self) -> tuple[str, ...]:
        return control_names(self.n_options, self.stickiness, self.bias)

    def bindings(self) -> Mapping[str, float]:
        return {name: known for name, known in self._filter.items() if known is not None}

    def state(self) -> Mapping[str, Vector]:
        """Means, with what an initial mean and a centre to be estimated add to them; variances."""
        known, free = self._parts(self.initial_mean)
        return {
            "mean": np.full(self.n_options, known),
            "of_initial": np.full(self.n_options, free),
            "of_centre": np.zeros(self.n_options),
            "variance": np.zeros(self.n_options),
        }

    def settings(self) -> Mapping[str, float]:
        """Constants of the recursion: the centre that means decay to, and restlessness."""
        at_start = self.centre == "initial_mean"
        known, free = self._parts(self.initial_mean if at_start else self.centre)
        return {
            "n": self.n_options,
            "centre": known,
            "to_initial": free if at_start else 0.0,
            "to_centre": 0.0 if at_start else free,
            "sd": float(np.sqrt(self.noise_variance)),
            "restless": int(self.decay != 1.0 or self.drift_variance != 0.0),
        }

    @staticmethod
    def start(s: Fields, psi: Fields, c: Fields) -> None:
        """The prior variance, in units of the noise."""
        for i in range(c.n):
            s.variance[i] = psi.relative_prior_variance

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Means, their parts, and standard deviations in units of rewards."""
        for i in range(c.n):
            x[i, 0] = s.mean[i]
            if c.at_initial_mean >= 0:
                x[i, c.at_initial_mean] = s.of_initial[i]
            if c.at_centre >= 0:
                x[i, c.at_centre] = s.of_centre[i]
            if c.at_uncertainty_bonus >= 0:
                # variances that decay to 0 have no root with a derivative
                sd = sqrt(s.variance[i]) if s.variance[i] > 0 else 0.0
                x[i, c.at_uncertainty_bonus] = c.sd * sd

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Bayes' rule for the option that was seen; then the world moves, whatever was seen."""
        if e.choice >= 0 and e.reward == e.reward:
            gain = s.variance[e.choice] / (1.0 + s.variance[e.choice])
            kept = 1.0 / (1.0 + s.variance[e.choice])
            s.mean[e.choice] += gain * (e.reward - s.mean[e.choice])
            if c.at_initial_mean >= 0:
                s.of_initial[e.choice] *= kept
            if c.at_centre >= 0:
                s.of_centre[e.choice] *= kept
            s.variance[e.choice] = gain
        if c.restless == 1:
            for i in range(c.n):
                s.mean[i] = psi.decay * s.mean[i] + (1.0 - psi.decay) * c.centre
                if c.at_initial_mean >= 0:
                    s.of_initial[i] = psi.decay * s.of_initial[i] + (1.0 - psi.decay) * c.to_initial
                if c.at_centre >= 0:
                    s.of_centre[i] = psi.decay * s.of_centre[i] + (1.0 - psi.decay) * c.to_centre
                s.variance[i] = psi.decay * psi.decay * s.variance[i] + psi.relative_drift_variance

    @staticmethod
    def _parts(mean: Any) -> tuple[float, float]:
        """The known part of a mean, and how often it holds one that is estimated."""
        return (0.0, 1.0) if mean is None else (float(mean), 0.0)

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> Any:
        """Agents who play so; who knew the rewards before play would learn nothing."""
        if self.prior_variance is None:
            positive(parameters, "prior_variance")
        return super().agents(parameters, n_agents)

    def __str__(self) -> str:
        words = [f"Kalman filter, {self.n_options} options"]
        words.append(f"noise variance {self.noise_variance:g}")
        words.append(f"prior variance {start_words(self.prior_variance)}")
        words.append(f"initial mean {start_words(self.initial_mean)}")
        if self.decay != 1 or self.drift_variance != 0:
            words.append(f"decay {start_words(self.decay)}")
            words.append(f"drift variance {start_words(self.drift_variance)}")
        if self.centre != "initial_mean":
            words.append(f"centre {start_words(self.centre)}")
        words += [] if self.bonus else ["no uncertainty bonus"]
        return ", ".join([*words, *control_words(self.stickiness, self.bias)])


def prior_variances(n_grid: int, *, static: bool, bonus: tuple[str, int] | None) -> Shape:
    """Prior variance relative to the noise.

    Parameters
    ----------
    static
        Nothing else makes a player uncertain.
    bonus
        What the weight of uncertainty is called, and which it is.
    """
    slowly = "means move in proportion to prior_variance, which temperature makes up for"
    low = Limit(0.0, "the first reward of an option teaches nothing")
    if static:
        both = ("prior_variance", "temperature", "uncertainty_bonus")
        low = Limit(0.0, slowly, both, ("relative prior_variance/temperature", 0, 1.0))
    high = Limit(np.inf, "the first reward of an option is believed wholly")
    if bonus is not None:
        name, weight = bonus
        high = Limit(
            np.inf,
            f"{high.meaning}, and uncertainty is that of options not seen yet",
            ("prior_variance", name),
            (f"the weight of {name} * sqrt(relative_prior_variance)", weight, 0.5),
        )
    return Shape(
        "relative_prior_variance",
        *PRIOR_VARIANCES,
        scale="log",
        n_grid=n_grid,
        squeezed=True,
        at_low=low,
        at_high=high,
    )


def check_variance(value: object, name: str) -> None:
    """Refuse what is no variance."""
    check_number(value, name, above=0, fix="Give a variance, in squared units of rewards.")


def _drift_variances(n_grid: int) -> Shape:
    return Shape(
        "relative_drift_variance",
        *DRIFT_VARIANCES,
        scale="log",
        n_grid=n_grid,
        squeezed=True,
        at_low=Limit(0.0, "uncertainty does not grow with time"),
        at_high=Limit(np.inf, "the last reward of an option is believed wholly"),
    )
