"""Probabilities of new choices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.softmax.probabilities import log_probabilities


def predicted(theta: Vector, names: Sequence[str], choices: Any, available: Any) -> Any:
    """Probabilities (n_decisions, n_options), or one per row where sets differ in size."""
    if not np.isfinite(theta).all():
        missing = [n for n, t in zip(names, theta, strict=True) if not np.isfinite(t)]
        raise DataError(
            f"predict must have a finite estimate; got none for {', '.join(missing)}. "
            "Fit with parameter_prior=ScaledPrior() to predict."
        )
    if not isinstance(choices, Choices):
        choices = Choices.from_arrays(choices, None, available=available, names=list(names))
    unknown = [name for name in names if name not in choices.names]
    if unknown:
        raise DataError(
            f"choices must have the variables of the estimate; got none named {', '.join(unknown)} "
            f"among {', '.join(choices.names)}. Add or rename them."
        )
    p = np.exp(log_probabilities(theta, choices.select(names)))
    sizes = np.diff(choices.first_row)
    return p.reshape(len(sizes), -1) if (sizes == sizes[0]).all() else p
