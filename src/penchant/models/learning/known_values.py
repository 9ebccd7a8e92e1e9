"""Softmax on values that are known and stay: Examples 1 and 2 of the paper, for episodes.

    eta_i = V_i / tau            at constant temperature,
    eta_i = V_i log t / nu       logarithmic cooling, uniform at t = 1,
    eta_i = V_i t^kappa / tau_1  power cooling; kappa = 0 is constant, kappa < 0 grows more random.

Linear in 1/tau, 1/nu or 1/tau_1; kappa is the shape parameter of the last. t counts decisions from
1, those without a choice too. For values that differ between decisions use `temperature_choices`
and `cooling_choices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.learning._kernels import cooled
from penchant.models.model import finite, positive, softmax
from penchant.models.natural import Natural, Shape
from penchant.models.record import CompiledModel, Record, empty
from penchant.softmax._simd import LANES
from penchant.tables.numbers import exact_floats

NOISE_NAMES = {
    "constant": "temperature",
    "logarithmic": "decision_noise",
    "power": "initial_temperature",
}


@dataclass(frozen=True)
class KnownValues(CompiledModel):
    """Softmax on known values: theta = 1/tau; psi = kappa with power cooling.

    Parameters
    ----------
    values
        Value V of every option, in order, in any unit; temperatures have the same.
    cooling
        "constant", "logarithmic" or "power".

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.KnownValues([0.0, 1.0, 2.0], cooling="logarithmic")
    >>> task = pn.Landscape([0.0, 1.0, 2.0], pn.GaussianNoise(0.1))
    >>> rng = np.random.default_rng(1)
    >>> episode = pn.simulate(task, model, {"decision_noise": 4.0}, n_decisions=300, rng=rng)
    >>> pn.fit(episode, model)
    <Estimate converged: decision_noise=3.8321>
    """

    values: Sequence[float]
    cooling: Literal["constant", "logarithmic", "power"] = "constant"

    def __post_init__(self) -> None:
        values = exact_floats(self.values, "values", lambda i: f"option {i}")
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
            raise DataError(
                f"values must be two or more finite numbers, one per option; got {self.values!r}. "
                "Values that differ between decisions go to temperature_choices."
            )
        object.__setattr__(self, "values", tuple(values.tolist()))
        if self.cooling not in NOISE_NAMES:
            raise DataError(
                f"cooling must be one of {', '.join(NOISE_NAMES)}; got {self.cooling!r}. "
                "Choose one."
            )

    @property
    def n_options(self) -> int:
        """Number of options."""
        return len(self.values)

    @property
    def weights(self) -> tuple[str, ...]:
        """1/tau, 1/nu or 1/tau_1."""
        return (f"1/{NOISE_NAMES[self.cooling]}",)

    @property
    def positive(self) -> tuple[str, ...]:
        """Weights that must be positive."""
        return self.weights

    @property
    def shape(self) -> tuple[Shape, ...]:
        """kappa, with power cooling."""
        return (Shape("cooling_exponent", -1.0, 2.0),) if self.cooling == "power" else ()

    @property
    def natural(self) -> tuple[Natural, ...]:
        """tau, nu or tau_1, in units of values, and kappa."""
        noise = Natural(NOISE_NAMES[self.cooling], "reciprocal", 0)
        powers = [Natural(s.name, "shape", q) for q, s in enumerate(self.shape)]
        return (noise, *powers)

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values times what the cooling makes of time."""
        record.check_options(self.n_options)
        log_times = record.kept(
            "log times",
            lambda: np.log(np.maximum(np.concatenate([e.times for e in record.episodes]), 1)),
        )
        powers = np.ascontiguousarray(psi[:, 0]) if self.shape else np.zeros(len(which))
        shape = int(record.lengths(which).sum()), self.n_options, 1
        x, slopes = empty(*shape), empty(len(self.shape) if with_slopes else 0, *shape)
        cooled(
            log_times,
            record.starts,
            which,
            powers,
            self.cooling == "logarithmic",
            np.array(self.values),
            np.zeros(-(-record.most_events // LANES) * LANES),
            x.reshape(-1),
            slopes.reshape(-1),
        )
        return x, slopes if with_slopes else None

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The values, which stay."""
        return {"value": np.tile(np.asarray(self.values), (episode.n_events, 1))}

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> KnownValuesAgents:
        """Agents who play so."""
        power = finite(parameters, "cooling_exponent") if self.shape else None
        noise = positive(parameters, NOISE_NAMES[self.cooling])
        values = np.tile(self.values, (n_agents, 1))
        return KnownValuesAgents(values, noise, self.cooling == "logarithmic", power)

    def __str__(self) -> str:
        return f"softmax on known values, {self.n_options} options, cooling {self.cooling}"


@dataclass
class KnownValuesAgents:
    """Agents who learn nothing but become more or less random."""

    values: Matrix
    noise: float
    logarithmic: bool
    power: float | None
    time: int = 1

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent at this time."""
        temperature = self.noise
        if self.power is not None:
            temperature /= self.time**self.power
        if self.logarithmic:
            temperature = np.inf if self.time == 1 else self.noise / float(np.log(self.time))
        return softmax(self.values / temperature)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Time passes."""
        self.time += 1
