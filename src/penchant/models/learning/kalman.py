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
from functools import cached_property
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError, argument
from penchant.models.learning._kernels import kalman, lines_of_filter, numbers_of_filter
from penchant.models.model import Habits, finite, positive, share, softmax
from penchant.models.natural import Limit, Natural, Shape
from penchant.models.record import (
    CompiledModel,
    Record,
    control_names,
    doubts_of_noise,
    doubts_of_start,
    empty,
    fill_controls,
    in_lines,
    in_units_of_temperature,
    known_number,
    room_for,
    start_words,
    with_starts,
)


@dataclass
class Tracker:
    """Means and variances of the options (n_agents, n_options), brought forward by Bayes' rule."""

    means: Matrix
    variances: Matrix
    noise_variance: Vector

    @classmethod
    def of(
        cls,
        n_options: int,
        n_agents: int,
        mean: float,
        variance: float | Sequence[float],
        noise_variance: float | Sequence[float],
    ) -> Tracker:
        """The prior; variances are those of all options, or of each."""
        shape = (n_agents, n_options)
        prior = np.broadcast_to(np.asarray(variance, dtype=np.float64), shape).copy()
        noise = np.broadcast_to(np.asarray(noise_variance, dtype=np.float64), n_options)
        return cls(np.full(shape, mean), prior, noise)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Precisions add up, and means are weighted with them."""
        agents = np.flatnonzero(self.variances[np.arange(len(chosen)), chosen] > 0)
        chosen, rewards = chosen[agents], rewards[agents]
        sure = self.noise_variance[chosen] == 0
        self.means[agents[sure], chosen[sure]] = rewards[sure]
        self.variances[agents[sure], chosen[sure]] = 0.0
        agents, chosen, rewards = agents[~sure], chosen[~sure], rewards[~sure]
        noise = self.noise_variance[chosen]
        before = 1.0 / self.variances[agents, chosen]
        after = before + 1.0 / noise
        weighted = before * self.means[agents, chosen] + rewards / noise
        self.means[agents, chosen] = weighted / after
        self.variances[agents, chosen] = 1.0 / after


@dataclass
class KalmanAgents:
    """The state of agents in play."""

    tracker: Tracker
    habits: Habits
    temperature: float
    bonus: float
    decay: float
    drift_variance: float
    centre: float

    @classmethod
    def of(
        cls, n_options: int, n_agents: int, parameters: Mapping[str, float], noise_variance: float
    ) -> KalmanAgents:
        """Agents before play, from all numbers of the model, known or given; no centre: m0."""
        mean = finite(parameters, "initial_mean")
        drift = finite(parameters, "drift_variance")
        if drift < 0:
            raise DataError(f"drift_variance must be >= 0; got {drift}. 0 is none.")
        variance = positive(parameters, "prior_variance")
        return cls(
            Tracker.of(n_options, n_agents, mean, variance, noise_variance),
            Habits.of(parameters, n_agents, n_options),
            temperature=positive(parameters, "temperature"),
            bonus=finite(parameters, "uncertainty_bonus"),
            decay=share(parameters, "decay"),
            drift_variance=drift,
            centre=finite(parameters, "centre") if "centre" in parameters else mean,
        )

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        heuristic = self.tracker.means + self.bonus * np.sqrt(self.tracker.variances)
        return softmax(heuristic / self.temperature + self.habits.objective())

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from what each agent chose and received, then let the world move."""
        self.tracker.observe(chosen, rewards)
        self.tracker.means += (1.0 - self.decay) * (self.centre - self.tracker.means)
        self.tracker.variances *= self.decay**2
        self.tracker.variances += self.drift_variance
        self.habits.observe(chosen)


N_GRID = {1: 33, 2: 17, 3: 11}
# Ranges that stand for all from 0 to infinity, relative to the noise: at their ends means and
# standard deviations are those of the limits, but for the scale, which weights make up for.
PRIOR_VARIANCES = (1e-9, 1e12)
LEAST_BESIDE_MEAN = 1e-6  # with initial_mean and bonus, which tell the same of counts at 0
DRIFT_VARIANCES = (1e-12, 1e12)
DECAYS = (1e-8, 1.0)
NEARLY_NONE = 1.0 - 1e-8  # a decay that leaves a centre to be estimated


@dataclass(frozen=True)
class KalmanFilter(CompiledModel):
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

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)
        check_variance(self.noise_variance, argument("noise_variance"))
        if self.prior_variance is not None:
            check_variance(self.prior_variance, "prior_variance")
        if self.initial_mean is not None:
            known_number(self.initial_mean, "initial_mean", "Give None to estimate it.")
        decay, drift = self.decay, self.drift_variance
        if decay is not None:
            known_number(decay, "decay", "Give None to estimate it.")
            if not 0 <= decay <= 1:
                raise DataError(f"decay must lie in 0..1, or be None; got {decay}. 1 is none.")
        if drift is not None:
            known_number(drift, "drift_variance", "Give None to estimate it.")
            if drift < 0:
                raise DataError(f"drift_variance must be >= 0, or None; got {drift}. 0 is none.")
        if self.centre == "initial_mean":
            return
        if self.decay == 1:
            raise DataError(
                f"centre must be left out where decay is 1; got {self.centre!r}. Nothing decays to "
                "it: give a decay, or None to estimate it."
            )
        if self.centre is not None:
            known_number(self.centre, "centre", "Give 'initial_mean', or None to estimate it.")

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
        said = "Learning from it is slower in the model than it can be"
        said = f"{said}, and the bonus larger." if self.bonus else f"{said}."
        return (
            *doubts_of_start("initial_mean", self.initial_mean, episodes),
            *doubts_of_noise(noise, f"{self.noise_variance:g}", said, episodes),
        )

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, m0/tau and c/tau where they are estimated, gamma/tau, phi, b."""
        names = ["inverse_temperature"]
        names += ["initial_mean/temperature"] if self.initial_mean is None else []
        names += ["centre/temperature"] if self.centre is None else []
        names += ["uncertainty_bonus/temperature"] if self.bonus else []
        return (*names, *control_names(self.n_options, self.stickiness, self.bias))

    @property
    def positive(self) -> tuple[str, ...]:
        """Weights that must be positive: tau > 0."""
        return ("inverse_temperature",)

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

    @cached_property
    def shape(self) -> tuple[Shape, ...]:
        """Prior variance, decay and drift variance, as far as they are estimated."""
        names = [name for name, known in self._filter.items() if known is None]
        made = {
            "relative_prior_variance": self._prior_variances,
            "decay": self._decays,
            "relative_drift_variance": self._drift_variances,
        }
        return tuple(made[name](N_GRID[len(names)]) for name in names)

    def _prior_variances(self, n_grid: int) -> Shape:
        static = self.decay == 1 and self.drift_variance == 0
        bonus = ("uncertainty_bonus", self._bonus) if self.bonus else None
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

    def _drift_variances(self, n_grid: int) -> Shape:
        return Shape(
            "relative_drift_variance",
            *DRIFT_VARIANCES,
            scale="log",
            n_grid=n_grid,
            squeezed=True,
            at_low=Limit(0.0, "uncertainty does not grow with time"),
            at_high=Limit(np.inf, "the last reward of an option is believed wholly"),
        )

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, m0, c in units of rewards, gamma, the filter's numbers, then phi and b."""
        found = in_units_of_temperature(self.weights)
        n_first = len(self.weights) - len(control_names(self.n_options, self.stickiness, self.bias))
        shape = [
            Natural("decay", "shape", q)
            if s.name == "decay"
            else Natural(s.name.removeprefix("relative_"), "shape", q, scale=self.noise_variance)
            for q, s in enumerate(self.shape)
        ]
        return (*found[:n_first], *shape, *found[n_first:])

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Means, their parts, standard deviations and controls; with derivatives."""
        names = [s.name for s in self.shape]
        record.check_options(self.n_options)
        n_rows = int(record.lengths(which).sum())
        n_planes = 1 + (len(names) if with_slopes else 0)
        whole = empty(n_planes, n_rows, self.n_options, len(self.weights))
        filters = np.empty((len(which), 3))
        for a, (name, known) in enumerate(self._filter.items()):
            filters[:, a] = psi[:, names.index(name)] if known is None else known
        start, centre = self._start_and_centre()
        noise_sd, noises = float(np.sqrt(self.noise_variance)), (1.0,) * self.n_options
        own = lines_of_filter(tuple(start), tuple(centre), noise_sd, noises, n_planes)
        index = [names.index(name) if name in names else -1 for name in self._filter]
        restless = self.decay != 1.0 or self.drift_variance != 0.0
        kalman(
            record.told,
            record.starts,
            which,
            in_lines(numbers_of_filter(filters, centre)),
            np.array([*index, restless]),
            np.array([self._column(name) for name in ("initial_mean", "centre")] + [self._bonus]),
            room_for(record, which, own, whole.shape),
            whole.shape,
            whole.reshape(-1),
        )
        fill_controls(record, which, whole[0], self.stickiness, self.bias)
        return whole[0], whole[1:] if with_slopes else None

    def _column(self, name: str) -> int:
        """Where a weight in units of the temperature stands, or -1."""
        full = f"{name}/temperature"
        return self.weights.index(full) if full in self.weights else -1

    @property
    def _bonus(self) -> int:
        return self._column("uncertainty_bonus")

    def _start_and_centre(self) -> tuple[Vector, Vector]:
        """Parts (b, f, g) of the mean before play, and of what it decays to."""
        free = self.initial_mean is None
        start = np.array([self.initial_mean or 0.0, 1.0 if free else 0.0, 0.0])
        if self.centre == "initial_mean":
            return start, start
        if self.centre is None:
            return start, np.array([0.0, 0.0, 1.0])
        return start, np.array([self.centre, 0.0, 0.0])

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> KalmanAgents:
        """Agents who play so."""
        known = {
            "initial_mean": self.initial_mean,
            "prior_variance": self.prior_variance,
            "decay": self.decay,
            "drift_variance": self.drift_variance,
            "uncertainty_bonus": None if self.bonus else 0.0,
        }
        given = {name: value for name, value in known.items() if value is not None}
        if self.centre != "initial_mean" and self.centre is not None:
            given["centre"] = self.centre
        return KalmanAgents.of(
            self.n_options, n_agents, {**parameters, **given}, self.noise_variance
        )

    def __str__(self) -> str:
        words = [f"Kalman filter, {self.n_options} options"]
        words.append(f"noise variance {self.noise_variance:g}")
        words.append(f"prior variance {_said(self.prior_variance)}")
        words.append(f"initial mean {start_words(self.initial_mean)}")
        if self.decay != 1 or self.drift_variance != 0:
            words.append(f"decay {_said(self.decay)}")
            words.append(f"drift variance {_said(self.drift_variance)}")
        if self.centre != "initial_mean":
            words.append(f"centre {_said(self.centre)}")
        words += [] if self.bonus else ["no uncertainty bonus"]
        words += ["stickiness"] if self.stickiness else []
        words += ["option bias"] if self.bias else []
        return ", ".join(words)


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
    known_number(value, name, "Give a variance, in squared units of rewards.")
    if not value > 0:  # type: ignore[operator]  # a number, as just checked
        raise DataError(f"{name} must be > 0; got {value}. Correct it.")


def _said(value: float | str | None) -> str:
    return "estimated" if value is None else f"{value:g}"
