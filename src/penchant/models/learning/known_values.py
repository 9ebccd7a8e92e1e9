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
from dataclasses import dataclass, field
from math import exp, log
from typing import Any, ClassVar, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.parameters import Parameter, Row, Shape
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.tables.numbers import exact_floats

NOISE_NAMES = {
    "constant": "temperature",
    "logarithmic": "decision_noise",
    "power": "initial_temperature",
}


@dataclass(frozen=True)
class KnownValues(Recursion):
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

    in_brief = "known values, cooling or not"
    example: ClassVar[Mapping[str, Any]] = {"values": (0, 1)}

    values: Sequence[float]
    cooling: Literal["constant", "logarithmic", "power"] = "constant"

    n_options: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        values = exact_floats(self.values, "values", lambda i: f"option {i}")
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
            raise DataError(
                "values",
                "must be two or more finite numbers, one per option",
                got=repr(self.values),
                fix="Values that differ between decisions go to temperature_choices.",
            )
        object.__setattr__(self, "values", tuple(values.tolist()))
        object.__setattr__(self, "n_options", len(values))
        super().__post_init__()

    @property
    def parameters(self) -> tuple[Row, ...]:
        noise = NOISE_NAMES[self.cooling]
        power = (Shape("cooling_exponent", -1.0, 2.0),) if self.cooling == "power" else ()
        return (Parameter.reciprocal(noise, f"1/{noise}"), *power)

    def bindings(self) -> Mapping[str, float]:
        return {"cooling_exponent": 0.0}

    def settings(self) -> Mapping[str, int]:
        return {"n": self.n_options, "logarithmic": int(self.cooling == "logarithmic")}

    def state(self) -> Mapping[str, Any]:
        """Values, which stay, and the number of decisions so far."""
        return {"value": np.array(self.values), "time": 0.0}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Values times what the cooling makes of time."""
        # an option shown before the first decision is at the time 1, too
        log_t = log(max(s.time + e.is_choice, 1.0))
        factor = log_t if c.logarithmic == 1 else exp(psi.cooling_exponent * log_t)
        for i in range(c.n):
            x[i, 0] = factor * s.value[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Time passes with every decision, not with options shown."""
        s.time += e.is_choice

    def latent(self, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
        """The values, which stay."""
        return {"value": np.tile(np.asarray(self.values), (episode.n_events, 1))}

    def __str__(self) -> str:
        return f"softmax on known values, {self.n_options} options, cooling {self.cooling}"
