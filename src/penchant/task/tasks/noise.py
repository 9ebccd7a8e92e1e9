"""What a reward adds to its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penchant.task.draws import Key, normal, uniform, whole
from penchant.task.sections import Section

NoiseKind = Literal["gaussian", "integer", "bernoulli", "none"]
KINDS: tuple[NoiseKind, ...] = ("gaussian", "integer", "bernoulli", "none")


@dataclass(frozen=True)
class RewardNoise:
    """How rewards scatter around their mean.

    Attributes
    ----------
    kind
        gaussian; integer: whole numbers from -size to size, all as likely; bernoulli: 1 with the
        mean as probability, else 0; none.
    size
        The variance of gaussian noise, the largest deviation of integer noise.
    decimals
        To which a reward is rounded, as it is shown and kept.
    """

    kind: NoiseKind = "gaussian"
    size: float = 10.0
    decimals: int = 0

    @property
    def variance(self) -> float:
        """Variance of a reward around its mean; 1/4, the largest one, for bernoulli."""
        if self.kind == "integer":
            return self.size * (self.size + 1) / 3
        return {"gaussian": self.size, "bernoulli": 0.25, "none": 0.0}[self.kind]

    def reward(self, mean: float, key: Key) -> float:
        """The reward of a choice.

        Examples
        --------
        >>> RewardNoise("integer", 5).reward(30, (7, 1, 0, 3)) in range(25, 36)
        True
        >>> RewardNoise("none").reward(12.25, (7, 1, 0, 3))
        12.0
        """
        if self.kind == "bernoulli":
            return float(uniform(*key) < mean)
        drawn = mean
        if self.kind == "gaussian":
            drawn += self.size**0.5 * normal(*key)
        elif self.kind == "integer":
            drawn += whole(2 * int(self.size) + 1, *key) - int(self.size)
        return round(drawn, self.decimals) + 0.0  # no minus zero


def read_noise(section: Section, default: NoiseKind = "gaussian") -> RewardNoise:
    """The keys noise, variance, largest and decimals."""
    kind = section.one_of("noise", KINDS, default)
    decimals = section.whole("decimals", 0, 6, 0)
    if kind == "integer":
        return RewardNoise(kind, section.whole("largest", 1, 10**6, 5), decimals)
    if kind == "gaussian":
        variance = section.number("variance", 0.0, 1e12, 10.0)
        if variance <= 0:
            section.refuse("variance", "be > 0", 'Write noise = "none" for none.')
        return RewardNoise(kind, variance, decimals)
    return RewardNoise(kind, 0.0, decimals)
