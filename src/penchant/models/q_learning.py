"""Q-learning with unknown learning rate and temperature: Example 3 with only V = 0 at t = 1 known.

The value of the option taken moves by the learning rate times the prediction error. With the rate
fixed the values are known, and the model is exactly linear in 1/tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penchant._typing import IntVector, Matrix
from penchant.bandit.locations import whole_number
from penchant.errors import DataError
from penchant.models._kernels import q_values
from penchant.models.model import Natural, Shape
from penchant.models.record import CompiledModel, Record


@dataclass(frozen=True)
class QLearning(CompiledModel):
    """Softmax Q-learning: theta = 1/tau, psi = alpha.

    Parameters
    ----------
    n_options
        Number of options.
    initial_value
        Value of every option before play.
    """

    n_options: int
    initial_value: float = 0.0

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 1)
        if not np.isfinite(self.initial_value):
            raise DataError(f"initial_value must be finite; got {self.initial_value}. Correct it.")

    weights = ("inverse_temperature",)
    positive = ("inverse_temperature",)
    shape = (Shape("learning_rate", 0.001, 1.0, n_grid=33),)
    natural = (
        Natural("temperature", "reciprocal", 0),
        Natural("learning_rate", "shape", 0),
    )

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Values before every event: (rows, n_options, 1), and their derivative."""
        record.check_options(self.n_options)
        x = np.empty((int(record.lengths(which).sum()), self.n_options, 1))
        dx = np.empty((1, *x.shape))
        q_values(
            record.chosen,
            record.rewards,
            record.starts,
            which,
            np.ascontiguousarray(psi[:, 0]),
            float(self.initial_value),
            x[:, :, 0],
            dx[0, :, :, 0],
        )
        return x, dx

    def __str__(self) -> str:
        return f"Q-learning, {self.n_options} options, initial value {self.initial_value:g}"
