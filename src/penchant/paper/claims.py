"""What the paper says, beside what a run shows, with the errors that its replicates leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from penchant._typing import Vector

Found = tuple[float, float]


def mean_of(values: Any) -> Found:
    """Mean of the finite values and its error; infinite with fewer than two.

    >>> mean_of([1.0, 3.0, float("nan")])
    (2.0, 1.0)
    """
    known = _finite(values)
    if len(known) < 2:
        return float(known.mean()) if len(known) else np.nan, np.inf
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))


def share_of(yes: Any) -> Found:
    """Share of the replicates for which something is so, and its error.

    The error is that of the share with one more on either side, so that it is never 0.

    >>> share, error = share_of([True] * 98)
    >>> share, round(error, 3)
    (1.0, 0.01)
    """
    yes = np.asarray(yes, dtype=bool)
    n = yes.size
    if not n:
        return np.nan, np.inf
    near = (yes.sum() + 1) / (n + 2)
    return float(yes.mean()), float(np.sqrt(near * (1 - near) / n))


def quantile_of(values: Any, p: float) -> Found:
    """A quantile of the finite values, and half the distance of those one error away in rank."""
    known = _finite(values)
    n = len(known)
    if n < 2:
        return float(known[0]) if n else np.nan, np.inf
    reach = np.sqrt(p * (1 - p) / n)
    low, middle, high = np.quantile(known, np.clip([p - reach, p, p + reach], 0.0, 1.0))
    return float(middle), float(high - low) / 2


def median_of(values: Any) -> Found:
    """Median of the finite values, and its error.

    >>> middle, error = median_of(range(101))
    >>> middle, round(error, 1)
    (50.0, 5.0)
    """
    return quantile_of(values, 0.5)


def _finite(values: Any) -> Vector:
    known = np.asarray(values, dtype=np.float64).ravel()
    return known[np.isfinite(known)]


Verdict = Literal[
    "holds",
    "holds in part",
    "does not hold",
    "not enough replicates to tell",
    "cannot be told from the paper",
]
VERDICTS: tuple[Verdict, ...] = (
    "holds",
    "holds in part",
    "does not hold",
    "not enough replicates to tell",
    "cannot be told from the paper",
)
SURE = 3.0  # Monte Carlo errors that a number must keep from what decides a verdict


@dataclass(frozen=True)
class Measured:
    """A number that a simulation found, with its Monte Carlo error, and the range asked of it.

    Attributes
    ----------
    value, error
        The number and the standard error that the number of replicates leaves it with.
    low, high
        Where it lies if the condition is met.

    Examples
    --------
    >>> from penchant.paper.claims import Measured
    >>> [Measured(1.02, error, low=0.8, high=1.2).met for error in (0.04, 0.1)]
    [True, None]
    >>> Measured(0.62, 0.04, low=0.8, high=1.2).met
    False
    """

    value: float
    error: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def met(self) -> bool | None:
        """Whether the number lies in the range, by three errors; None where that is not sure."""
        reach = SURE * self.error
        if self.low <= self.value - reach and self.value + reach <= self.high:
            return True
        if self.value + reach < self.low or self.value - reach > self.high:
            return False
        return None

    @property
    def asked(self) -> str:
        """The range in words."""
        if np.isinf(self.high):
            return f"{self.low:.3g} or more"
        if np.isinf(self.low):
            return f"{self.high:.3g} or less"
        return f"{self.low:.3g} to {self.high:.3g}"

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "not known"
        return f"{self.value:.3g} ± {self.error:.2g}"


Part = bool | Measured


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and the evidence for and against it.

    Attributes
    ----------
    where
        Place in the paper.
    statement
        What the paper says, in a sentence.
    parts
        Conditions the statement amounts to: whether each is met, or the number that decides it.
    why
        What the run shows, with its numbers.
    evidence
        The numbers.
    errata
        Numbers of the errata that the claim touches.
    untold
        What the paper would have to say for a verdict; empty where there can be one.

    Examples
    --------
    >>> from penchant.paper.claims import Claim, Measured
    >>> claim = Claim("Section V.A", "It converges.", {"mean": True, "spread": False}, "It does.")
    >>> claim.verdict
    'holds in part'
    >>> Claim("Section V.A", "It does.", {"mean": Measured(1, 1, high=2)}, "Who knows.").verdict
    'not enough replicates to tell'
    """

    where: str
    statement: str
    parts: Mapping[str, Part]
    why: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    errata: tuple[int, ...] = ()
    untold: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the conditions amount to, unless the paper leaves the matter open."""
        return "cannot be told from the paper" if self.untold else verdict_of(self.parts)

    @property
    def conditions(self) -> dict[str, bool | None]:
        """Whether each condition is met; None where its number is not sure enough."""
        return {name: is_met(part) for name, part in self.parts.items()}

    @property
    def measured(self) -> dict[str, Measured]:
        """The conditions that a simulation decides."""
        return {name: part for name, part in self.parts.items() if isinstance(part, Measured)}


def is_met(part: Part | None) -> bool | None:
    """Whether a condition is met; None where that is not known."""
    return part.met if isinstance(part, Measured) else part


def verdict_of(parts: Mapping[str, Part | None]) -> Verdict:
    """All conditions met: holds; some: holds in part; none: does not hold.

    Conditions that are not known leave it open, unless others are met and not met already.
    """
    if not parts:
        raise ValueError("parts must hold at least one condition; got none. Name what was tested.")
    met = [is_met(part) for part in parts.values()]
    if True in met and False in met:
        return "holds in part"
    if None in met:
        return "not enough replicates to tell"
    return "holds" if met[0] else "does not hold"
