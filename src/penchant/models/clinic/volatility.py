"""How fast to learn in a changing world: four models.

The hierarchical Gaussian filter of a binary input (Mathys et al. 2011), three levels.

A player sees an input u, 0 or 1, after each response. The tendency x2, whose logistic is the
probability of u = 1, drifts with the volatility exp(kappa x3 + omega2), and x3 itself with
exp(omega3). With mu and sigma the beliefs,

    muhat1 = 1 / (1 + e^-mu2),    v = exp(kappa mu3 + omega2),    pihat2 = 1 / (sigma2 + v),
    sigma2' = 1 / (pihat2 + muhat1 (1 - muhat1)),    mu2' = mu2 + sigma2' (u - muhat1),
    w = v pihat2,    d = (sigma2' + (mu2' - mu2)^2) pihat2 - 1,
    1/sigma3' = 1/(sigma3 + e^omega3) + kappa^2 w (w + (2 w - 1) d) / 2,
    mu3' = mu3 + sigma3' kappa w d / 2.

The response 1 against 0 has the objective zeta mu2, with the belief before the input. Beliefs
depend on inputs only, so that the model is linear in zeta. Where 1/sigma3' is not positive the
filter does not exist: such psi are passed over. omega3 is hardly told by a few hundred responses,
and kappa is told apart from omega2 by them as little: it is fixed at 1 if not asked for.

What is learnt after a decision is `input`.

The volatile Kalman filter: a learning rate that follows how fast rewards change.

Each option has a mean m, a variance w and a volatility v (Piray & Daw 2020). From w = sigma^2 and
v = v0 sigma^2, a reward r of the option taken moves its own by

    k = (w + v) / (w + v + sigma^2),    m' = m + k (r - m),    w' = (1 - k) (w + v),
    v' = v + l ((m' - m)^2 + w + w' - 2 (1 - k) w - v),

and the objective is eta_i = (m_i + gamma sqrt(w_i + v_i)) / tau. With l, v0 and sigma^2 fixed the
model is linear in 1/tau and gamma/tau. An option that is not taken stays as it is; v0 is in units
of sigma^2, and sigma^2 in those of rewards squared.

With l = 0 the volatility stays, and the model is a Kalman filter of rewards that wander with the
variance v0 sigma^2 between choices of an option.

Rates that depend on what happens: associability by surprise, and confirmation of choices.

Pearce-Hall: values are learnt at a rate that follows the size of recent errors d = r - Q_c,

    Q_c <- Q_c + s k_c d,    then k_c <- k_c + g (|d| - k_c), from 1,    eta_i = Q_i / tau.

Where rewards are large the rate s k_c may be so large that values grow without bound: such psi are
passed over.

Confirmation (Palminteri et al. 2017), where what the other option would have paid is seen: errors
that speak for the choice, good news of the option taken and bad news of the other one, are learnt
from at the rate a_c, the others at a_d,

    Q_i <- Q_i + a (r_i - Q_i),    eta_i = Q_i / tau + phi 1(i = last choice),

with phi if stickiness is asked for: who repeats choices seems to seek confirmation without it. What
is learnt after a decision is `forgone`, the reward of the option not taken. Both have kinks in
their rates, where an error is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.models.agents import Habits, finite, positive, share, softmax
from penchant.models.clinic._kernels import (
    attended,
    confirming,
    gaussian_filter,
    gaussian_filter_slopes,
    volatile,
)
from penchant.models.clinic.recursion import (
    N_GRID,
    OneValue,
    Recursion,
    ValueAgents,
    given,
    rates,
    shapes,
    unrolled,
)
from penchant.models.natural import Natural, Shape
from penchant.models.record import (
    Record,
    blank_variables,
    control_names,
    fill_controls,
    in_units_of_temperature,
    known_number,
)


@dataclass(frozen=True)
class HGF(OneValue):
    """Hierarchical Gaussian filter: theta = zeta, psi = (omega2, omega3), and kappa.

    Parameters
    ----------
    kappa
        Coupling of the levels; None: estimated.
    initial
        Mean and variance of the second level before play, then of the third.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.HGF()
    >>> truth = {"inverse_temperature": 2.0, "omega_2": -2.5, "omega_3": -6.0}
    >>> rng = np.random.default_rng(1)
    >>> play = pn.simulate(pn.models.InputWorld(320), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('inverse_temperature', 'omega_2', 'omega_3')
    """

    kappa: float | None = 1.0
    initial: tuple[float, float, float, float] = (0.0, 0.1, 1.0, 1.0)

    tells = "inverse_temperature"
    n_options: int = field(default=2, init=False, repr=False)
    after: tuple[str, ...] = field(default=("input",), init=False, repr=False)
    outside: bool = field(default=True, init=False, repr=False)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """omega2, omega3, and kappa if it is estimated."""
        n = 17 if self.kappa is not None else 13
        found = (
            Shape("omega_2", -10.0, 2.0, n_grid=n),
            Shape("omega_3", -12.0, 0.0, n_grid=n),
        )
        return found if self.kappa is not None else (*found, Shape("kappa", 0.1, 3.0, n_grid=n))

    def unfold(self, record: Record, which: IntVector, psi: Any) -> Any:
        """The tendency before every input."""
        before = (np.array(self.initial, dtype=np.float64),)
        seen = record.chosen, record.after("input")
        every = self._every(psi)
        return unrolled(gaussian_filter, record, which, every, (2, 1), *seen, settings=before)

    def _every(self, psi: Any) -> Any:
        """kappa, omega2 and omega3."""
        every = np.ones((len(psi), 3), dtype=psi.dtype)
        every[:, 0] = psi[:, 2] if self.kappa is None else self.kappa
        every[:, 1:] = psi[:, :2]
        return every

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """The tendency before every input, and its derivatives in the same run."""
        if not with_slopes:
            return super().explanatory_many(record, which, psi, False)
        x, slopes = blank_variables(record, which, 2, 1, psi.shape[1])
        index = np.array([1, 2, 0][: psi.shape[1]])
        seen = record.chosen, record.after("input"), record.starts, which, self._every(psi)
        gaussian_filter_slopes(*seen, np.array(self.initial, dtype=np.float64), index, x, slopes)
        return x, slopes

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> HGFAgents:
        """Agents who play so."""
        return HGFAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The tendency before each input."""
        return {"tendency": self.explanatory(episode, *psi)[:, 1, 0]}

    def __str__(self) -> str:
        coupled = "estimated" if self.kappa is None else f"{self.kappa:g}"
        return f"hierarchical Gaussian filter, coupling {coupled}"


class HGFAgents:
    """Agents in play: beliefs of two levels."""

    def __init__(self, model: HGF, parameters: Mapping[str, float], n_agents: int) -> None:
        self.zeta = positive(parameters, "inverse_temperature")
        self.omega2 = finite(parameters, "omega_2")
        self.omega3 = finite(parameters, "omega_3")
        self.kappa = given(parameters, "kappa", 1.0 if model.kappa is None else model.kappa)
        mu2, s2, mu3, s3 = (np.full(n_agents, value) for value in model.initial)
        self.mu2, self.pi2, self.mu3, self.pi3 = mu2, 1.0 / s2, mu3, 1.0 / s3

    def probabilities(self, before: Mapping[str, Vector]) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(np.column_stack([np.zeros(len(self.mu2)), self.zeta * self.mu2]))

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Update both levels by the input."""
        u = np.asarray(after["input"])
        first = 0.5 + 0.5 * np.tanh(0.5 * self.mu2)  # where exp(-mu2) would overflow, too
        v = np.exp(self.kappa * self.mu3 + self.omega2)
        expected2 = 1.0 / (1.0 / self.pi2 + v)
        expected3 = 1.0 / (1.0 / self.pi3 + np.exp(self.omega3))
        pi2 = expected2 + first * (1.0 - first)
        mu2 = self.mu2 + (u - first) / pi2
        w = v * expected2
        delta = (1.0 / pi2 + (mu2 - self.mu2) ** 2) * expected2 - 1.0
        self.pi3 = expected3 + 0.5 * self.kappa**2 * w * (w + (2.0 * w - 1.0) * delta)
        self.mu3 = self.mu3 + 0.5 * self.kappa * w * delta / self.pi3
        self.mu2, self.pi2 = mu2, pi2


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

    n_options: int
    initial_value: float = 0.0
    bonus: bool = True
    noises: tuple[float, float] = (1e-3, 1e3)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)
        known_number(self.initial_value, "initial_value", "0 is usual.")

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, and gamma/tau."""
        bonus = ("uncertainty_bonus/temperature",) if self.bonus else ()
        return ("inverse_temperature", *bonus)

    @property
    def positive(self) -> tuple[str, ...]:
        """1/tau."""
        return ("inverse_temperature",)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """l, v0 and sigma^2."""
        return (
            *rates("volatility_rate", of=3),
            Shape("initial_volatility", 1e-3, 1e2, scale="log", n_grid=N_GRID[3]),
            Shape("noise_variance", *self.noises, scale="log", n_grid=N_GRID[3]),
        )

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, gamma, and the shape parameters."""
        return (*in_units_of_temperature(self.weights), *shapes(self))

    def unfold(self, record: Record, which: IntVector, psi: Any) -> Any:
        """Means and standard deviations before every event."""
        history, size = (record.chosen, record.rewards), (self.n_options, 2)
        settings = (float(self.initial_value),)
        x = unrolled(volatile, record, which, psi, size, *history, settings=settings)
        return x if self.bonus else x[:, :, :1]

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> VolatileAgents:
        """Agents who play so."""
        return VolatileAgents(self, parameters, n_agents)

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """Mean and standard deviation of what each option pays, before each event."""
        full = VolatileKalman(self.n_options, self.initial_value, noises=self.noises)
        x = full.explanatory(episode, *psi)
        return {"value": x[:, :, 0], "uncertainty": x[:, :, 1]}

    def __str__(self) -> str:
        bonus = "" if self.bonus else ", no bonus"
        return f"volatile Kalman filter, {self.n_options} options{bonus}"


class VolatileAgents:
    """Agents in play: precisions, means and volatilities of every option."""

    def __init__(
        self, model: VolatileKalman, parameters: Mapping[str, float], n_agents: int
    ) -> None:
        self.tau = positive(parameters, "temperature")
        self.bonus = given(parameters, "uncertainty_bonus", 0.0)
        self.rate = share(parameters, "volatility_rate")
        self.noise = positive(parameters, "noise_variance")
        size = n_agents, model.n_options
        self.mean = np.full(size, finite({"mean": model.initial_value}, "mean"))
        self.variance = np.full(size, self.noise)
        self.volatility = np.full(size, positive(parameters, "initial_volatility") * self.noise)
        self.who = np.arange(n_agents)

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        spread = np.sqrt(self.variance + self.volatility)
        return softmax((self.mean + self.bonus * spread) / self.tau)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Precisions add up; the volatility follows how far the state is thought to have moved."""
        at = self.who, chosen
        old_mean, old = self.mean[at], self.variance[at]
        before = old + self.volatility[at]
        after = 1.0 / (1.0 / before + 1.0 / self.noise)
        mean = after * (old_mean / before + rewards / self.noise)
        shared = old * after / before
        moved = (mean - old_mean) ** 2 + old + after - 2.0 * shared
        self.mean[at], self.variance[at] = mean, after
        self.volatility[at] += self.rate * (moved - self.volatility[at])


@dataclass(frozen=True)
class PearceHall(OneValue):
    """Learning at a rate that follows surprise: theta = 1/tau, psi = (s, g).

    Parameters
    ----------
    n_options
        Number of options.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.PearceHall(2)
    >>> truth = {"temperature": 0.3, "learning_scale": 0.4, "associability_rate": 0.3}
    >>> rng = np.random.default_rng(1)
    >>> pays = pn.models.reversal_schedule(400, rng=rng)
    >>> play = pn.simulate(pn.Task(pays), model, truth, rng=rng)
    >>> pn.fit(play, model).names
    ('inverse_temperature', 'learning_scale', 'associability_rate')
    """

    n_options: int

    outside: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)

    @property
    def shape(self) -> tuple[Shape, ...]:
        """s and g."""
        return rates("learning_scale", "associability_rate")

    @property
    def smooth(self) -> bool:
        """No: the size of an error has a kink where it is 0."""
        return False

    def unfold(self, record: Record, which: IntVector, psi: Any) -> Any:
        """Values before every event."""
        history, size = (record.chosen, record.rewards), (self.n_options, 1)
        return unrolled(attended, record, which, psi, size, *history, settings=(True,))

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> PearceHallAgents:
        """Agents who play so."""
        return PearceHallAgents(self, parameters, n_agents)

    def __str__(self) -> str:
        return f"Pearce-Hall, {self.n_options} options"


class PearceHallAgents(ValueAgents):
    """Agents in play, each with an associability of every option."""

    def __init__(self, model: PearceHall, parameters: Mapping[str, float], n_agents: int) -> None:
        super().__init__(parameters, n_agents, model.n_options)
        self.scale = share(parameters, "learning_scale")
        self.rate = share(parameters, "associability_rate")
        self.attention = np.ones_like(self.values)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn, then attend to what surprised."""
        at = self.who, chosen
        error = rewards - self.values[at]
        self.values[at] += self.scale * self.attention[at] * error
        self.attention[at] += self.rate * (np.abs(error) - self.attention[at])


@dataclass(frozen=True)
class ConfirmationBias(OneValue):
    """Two options, both seen: theta = 1/tau, psi = (a_c, a_d).

    Parameters
    ----------
    stickiness
        A weight phi for repeating the last choice, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.ConfirmationBias()
    >>> truth = {"temperature": 0.3, "confirmatory_rate": 0.4, "disconfirmatory_rate": 0.2}
    >>> rng = np.random.default_rng(1)
    >>> world = pn.models.FullFeedbackWorld(pn.models.reversal_schedule(400, rng=rng))
    >>> play = pn.simulate(world, model, truth, rng=rng)
    >>> {p.name: round(p.estimate, 1) for p in pn.fit(play, model).parameters}
    {'temperature': 0.2, 'confirmatory_rate': 0.3, 'disconfirmatory_rate': 0.2}
    """

    stickiness: bool = False

    n_options: int = field(default=2, init=False, repr=False)
    after: tuple[str, ...] = field(default=("forgone",), init=False, repr=False)

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, and phi."""
        return ("inverse_temperature", *control_names(2, self.stickiness, False))

    @property
    def positive(self) -> tuple[str, ...]:
        """1/tau."""
        return ("inverse_temperature",)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, phi and the rates."""
        return (*in_units_of_temperature(self.weights), *shapes(self))

    @property
    def shape(self) -> tuple[Shape, ...]:
        """a_c and a_d."""
        return rates("confirmatory_rate", "disconfirmatory_rate")

    @property
    def smooth(self) -> bool:
        """No: where an error is 0, the other rate takes over."""
        return False

    def unfold(self, record: Record, which: IntVector, psi: Any) -> Any:
        """Values before every event."""
        seen = record.chosen, record.rewards, record.after("forgone")
        x = unrolled(confirming, record, which, psi, (2, len(self.weights)), *seen)
        fill_controls(record, which, x, self.stickiness, False)
        return x

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> ConfirmingAgents:
        """Agents who play so."""
        return ConfirmingAgents(parameters, n_agents)

    def __str__(self) -> str:
        return "confirmation bias with full feedback" + (", stickiness" if self.stickiness else "")


class ConfirmingAgents(ValueAgents):
    """Agents in play, with a rate of each kind."""

    def __init__(self, parameters: Mapping[str, float], n_agents: int) -> None:
        super().__init__(parameters, n_agents, 2)
        self.habits = Habits.of(parameters, n_agents, 2)
        self.for_me = share(parameters, "confirmatory_rate")
        self.against = share(parameters, "disconfirmatory_rate")

    def probabilities(self, before: Mapping[str, Vector] | None = None) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(self.values / self.tau + self.habits.objective())

    def observe(self, chosen: IntVector, rewards: Vector, after: Mapping[str, Vector]) -> None:
        """Learn from both outcomes."""
        self.habits.observe(chosen)
        paid = np.empty_like(self.values)
        paid[self.who, chosen], paid[self.who, 1 - chosen] = rewards, after["forgone"]
        error = paid - self.values
        mine = np.arange(2) == np.asarray(chosen)[:, None]
        confirms = (error >= 0) == mine
        self.values = self.values + np.where(confirms, self.for_me, self.against) * error
