"""Published numbers and claims of the paper, compared with those of a run and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from penchant import RewardPrior
from penchant._typing import Vector

PAPER_REPLICATES = 100  # of each simulation
SOFTMAX_DECISIONS = 300  # of Figures 2 and 3
UCL_DECISIONS = 100  # of Figures 4, 5 and 6
GRID = (10, 10)
SIMULATION_NOISE_VARIANCE = 0.01  # implied by the true theta_3 of Figures 4 and 5
EXPERIMENT_NOISE_VARIANCE = 10.0  # implied by Tables I and II
EXPERIMENT_DECISIONS = 90
PAPER_LEVEL = 0.95  # of its confidence intervals
SIGNIFICANCE_LEVEL = 0.05  # of its tests


@dataclass(frozen=True)
class SoftmaxSetting:
    """Figure 2 or 3: a softmax over options with standard normal variables."""

    name: str
    n_options: int
    truth: tuple[float, ...]


FIGURE_2 = SoftmaxSetting("figure-2", 10, (4.0,))
FIGURE_3 = SoftmaxSetting("figure-3", 100, (1.0, 2.0, 3.0))


@dataclass(frozen=True)
class UCLSetting:
    """Figure 4, 5 or 6: stochastic UCL with a true prior, estimated about a nominal one."""

    name: str
    prior: RewardPrior
    length_scale: float
    decision_noise: float
    nominal: RewardPrior
    printed_truth: tuple[float, float, float]

    @property
    def truth(self) -> tuple[float, float, float]:
        """True theta, Eq. (23): 1/nu, Delta_mu/nu, Delta_delta/nu."""
        nu, noise = self.decision_noise, SIMULATION_NOISE_VARIANCE
        here, nominal = self.prior, self.nominal
        deviation = here.relative_precision(noise) - nominal.relative_precision(noise)
        return 1.0 / nu, (here.mean - nominal.mean) / nu, deviation / nu


FIGURE_4 = UCLSetting(
    "figure-4", RewardPrior(200, 1), 1.0, 4.0, RewardPrior(150, 2), (0.25, 12.5, 1.25e-3)
)
FIGURE_5 = UCLSetting(
    "figure-5", RewardPrior(200, 1), 1.0, 4.0, RewardPrior(250, 0.5), (0.25, -12.5, -2.5e-3)
)
FIGURE_6 = UCLSetting(
    "figure-6", RewardPrior(30, 1e3), 0.0, 0.5, RewardPrior(40, 950), (2.0, -20.0, -1.05e-6)
)


@dataclass(frozen=True)
class Category:
    """A category of Tables I and II: performance and landscape."""

    performance: str
    landscape: str
    n_subjects: int
    log_likelihood: float
    theta: tuple[str, str, str]
    sigma: tuple[str, str, str]
    natural: tuple[str, str, str]

    @property
    def name(self) -> str:
        """Name from performance and landscape: "high A"."""
        return f"{self.performance} {self.landscape}"

    @property
    def nominal(self) -> RewardPrior:
        """The prior linearised about, with its length scale."""
        return NOMINALS[self.performance]


NOMINALS = {"low": RewardPrior(30, 10, 0.1), "high": RewardPrior(200, 1e6, 4.0)}

# As printed, so that the range each rounded number stands for is known.
TABLES = (
    Category(
        "low",
        "A",
        153,
        -338,
        ("0.360", "-5.22", "0.433"),
        ("90.4", "1.27e3", "1.02e2"),
        ("2.78", "15.5", "4.54"),
    ),
    Category(
        "low",
        "B",
        103,
        -331,
        ("0.252", "-2.12", "0.213"),
        ("1.32", "51.8", "8.61"),
        ("3.97", "21.6", "5.42"),
    ),
    Category(
        "high",
        "A",
        53,
        -273,
        ("3.93e-2", "-6.86", "7.88e-7"),
        ("1.18e-3", "0.226", "2.34e-8"),
        ("25.5", "25.3", "3.32e5"),
    ),
    Category(
        "high",
        "B",
        17,
        -271,
        ("3.39e-2", "-6.57", "6.80e-7"),
        ("1.04e-3", "0.268", "2.06e-8"),
        ("29.5", "6.08", "3.35e5"),
    ),
)


def rounding(printed: str) -> float:
    """Half a unit in the last digit of a printed number.

    >>> rounding("3.93e-2"), rounding("15.5")
    (5e-05, 0.05)
    """
    digits, _, power = printed.lower().partition("e")
    _, _, fraction = digits.partition(".")
    return float(f"5e{int(power or 0) - len(fraction) - 1}")


ValueWithError = tuple[float, float]


def mean_of(values: Any) -> ValueWithError:
    """Mean of the finite values and its error; infinite with fewer than two.

    >>> mean_of([1.0, 3.0, float("nan")])
    (2.0, 1.0)
    """
    known = _finite(values)
    if len(known) < 2:
        return float(known.mean()) if len(known) else np.nan, np.inf
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(len(known)))


def share_of(yes: Any) -> ValueWithError:
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


def quantile_of(values: Any, p: float) -> ValueWithError:
    """A quantile of the finite values, and half the distance of those one error away in rank."""
    known = _finite(values)
    n = len(known)
    if n < 2:
        return float(known[0]) if n else np.nan, np.inf
    reach = np.sqrt(p * (1 - p) / n)
    low, middle, high = np.quantile(known, np.clip([p - reach, p, p + reach], 0.0, 1.0))
    return float(middle), float(high - low) / 2


def median_of(values: Any) -> ValueWithError:
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
MIN_MONTE_CARLO_ERRORS = (
    3.0  # Monte Carlo errors that a number must keep from what decides a verdict
)


@dataclass(frozen=True)
class Measured:
    """A simulated number with its Monte Carlo error, and the range that a claim requires.

    Attributes
    ----------
    value, error
        The number and the standard error that the number of replicates leaves it with.
    low, high
        Where it lies if the condition is met.

    Examples
    --------
    >>> from penchant_paper.published import Measured
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
        reach = MIN_MONTE_CARLO_ERRORS * self.error
        if self.low <= self.value - reach and self.value + reach <= self.high:
            return True
        if self.value + reach < self.low or self.value - reach > self.high:
            return False
        return None

    @property
    def range_text(self) -> str:
        """Description of the required range."""
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
    >>> from penchant_paper.published import Claim, Measured
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
        """Verdict that follows from the conditions, unless the paper leaves the matter open."""
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
    """Combine conditions to a verdict: all met holds, some in part, none does not hold.

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
