"""What the paper prints: the settings of its experiments and its two tables."""

from __future__ import annotations

from dataclasses import dataclass

from penchant.bandit.beliefs import RewardPrior

REPLICATES = 100
DECISIONS = 300  # of Figures 2 and 3
HORIZON = 100  # of Figures 4, 5 and 6
GRID = (10, 10)
SIMULATION_NOISE_VARIANCE = 0.01  # implied by the true theta_3 of Figures 4 and 5
EXPERIMENT_NOISE_VARIANCE = 10.0  # implied by Tables I and II
EXPERIMENT_DECISIONS = 90
LEVEL = 0.95


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
    """One category of Tables I and II: performance and landscape."""

    performance: str
    landscape: str
    n_subjects: int
    log_likelihood: float
    theta: tuple[str, str, str]
    sigma: tuple[str, str, str]
    natural: tuple[str, str, str]

    @property
    def name(self) -> str:
        """Performance and landscape: "high A"."""
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
