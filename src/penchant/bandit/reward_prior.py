"""The agent's belief before the first decision."""

from dataclasses import dataclass

import numpy as np

from penchant.errors import DataError


@dataclass(frozen=True)
class RewardPrior:
    """What the agent expects of every option before play.

    Parameters
    ----------
    mean
        mu0: the reward expected of each option.
    variance
        sigma0^2: how uncertain the agent is about it.
    length_scale
        lambda: how far rewards go together; None where the model fixes it.

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
        if not np.isfinite(self.mean):
            raise DataError(f"mean must be finite; got {self.mean}. Give the reward expected.")
        if not (np.isfinite(self.variance) and self.variance > 0):
            raise DataError(
                f"variance must be > 0 and finite; got {self.variance}. "
                "An agent that knows nothing has a large one."
            )
        scale = self.length_scale
        if scale is not None and not (np.isfinite(scale) and scale >= 0):
            raise DataError(f"length_scale must be >= 0; got {scale}. 0: independent options.")

    def relative_precision(self, noise_variance: float) -> float:
        """delta = sigma_s^2 / sigma0^2."""
        return noise_variance / self.variance
