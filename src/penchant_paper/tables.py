"""Table II computed from Table I, the bound of validity, and claims on printed numbers.

The paper's procedure reports one sigma0^2 whatever the subjects believed: linearised about
sigma0^2 = 1e6, agents who were far surer are reported as about a third of that:
the deviation sits on the bound 2 of Section VI.C, where delta is three times its nominal value.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from penchant import UCL, GaussianNoise, compare_groups, fit_linearized, grid, simulate
from penchant._typing import Matrix, Vector
from penchant.errors import PenchantWarning
from penchant.paper import landscape_a, population_in_natural_parameters
from penchant.population.group_comparison_result import Difference
from penchant.result_tables import progress
from penchant.results import PopulationEstimate
from penchant_paper.published import (
    EXPERIMENT_DECISIONS,
    EXPERIMENT_NOISE_VARIANCE,
    GRID,
    NOMINALS,
    PAPER_REPLICATES,
    SIGNIFICANCE_LEVEL,
    TABLES,
    Category,
    Claim,
    Measured,
    median_of,
    rounding,
)

TRUE_VARIANCES = (1.0, 10.0, 100.0, 1e3, 3.3e5)
DECISION_NOISE, PRIOR_MEAN = 8.0, 60.0


@dataclass(frozen=True, eq=False)
class Artefact:
    """Linearised estimates of agents with several true sigma0^2.

    Attributes
    ----------
    true_variances
        sigma0^2 of the agents.
    variances, ratios
        Estimated sigma0^2 and Delta_delta over nominal, (n_true, n_replicates); NaN where there is
        no estimate inside the model.
    """

    true_variances: Vector
    variances: Matrix
    ratios: Matrix

    @property
    def n_replicates(self) -> int:
        """Agents for every true value."""
        return int(self.variances.shape[1])

    @property
    def medians(self) -> Vector:
        """Median estimate for every true value."""
        return np.nanmedian(self.variances, axis=1)

    @property
    def median_ratios(self) -> Vector:
        """Median deviation for every true value."""
        return np.nanmedian(self.ratios, axis=1)

    def columns(self) -> dict[str, list[object]]:
        """Table of the results by true value."""
        low, high = np.nanpercentile(self.variances, [10, 90], axis=1)
        return {
            "true_prior_variance": self.true_variances.tolist(),
            "median_estimate": self.medians.tolist(),
            "percentile_10": low.tolist(),
            "percentile_90": high.tolist(),
            "median_ratio": self.median_ratios.tolist(),
            "unusable": np.isnan(self.variances).sum(axis=1).tolist(),
        }


def model_of_high() -> UCL:
    """The model of the high-performing subjects, with the length scale of their nominal point."""
    return UCL(
        locations=grid(*GRID),
        noise_variance=EXPERIMENT_NOISE_VARIANCE,
        length_scale=NOMINALS["high"].length_scale,
    )


def artefact(*, rng: np.random.Generator, n_replicates: int) -> Artefact:
    """Let agents with several true sigma0^2 play 90 decisions, and linearise about (200, 1e6, 4).

    Parameters
    ----------
    rng
        Source of randomness.
    n_replicates
        Agents for every true value.
    """
    nominal = NOMINALS["high"]
    model = model_of_high()
    place = landscape_a(*GRID, noise=GaussianNoise(EXPERIMENT_NOISE_VARIANCE))
    variances = np.full((len(TRUE_VARIANCES), n_replicates), np.nan)
    ratios = np.full_like(variances, np.nan)
    with progress("Tables", variances.size) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", PenchantWarning)
        for i, variance in enumerate(TRUE_VARIANCES):
            episodes = simulate(
                place,
                model,
                {
                    "decision_noise": DECISION_NOISE,
                    "prior_mean": PRIOR_MEAN,
                    "prior_variance": variance,
                },
                n_decisions=EXPERIMENT_DECISIONS,
                n_subjects=n_replicates,
                rng=rng,
            )
            for j, episode in enumerate(episodes):
                about = replace(nominal, length_scale=None)
                found = fit_linearized(episode, model, nominal=about)
                assert found.validity is not None
                ratios[i, j] = found.validity.ratio
                variances[i, j] = found.parameters[2].estimate
                advance(1)
    return Artefact(np.array(TRUE_VARIANCES), variances, ratios)


@dataclass(frozen=True, eq=False)
class MappedBack:
    """A category of Table I mapped back, beside what Table II prints.

    Attributes
    ----------
    category
        The printed numbers.
    natural
        nu, mu0, sigma0^2 from Table I.
    low, high
        The range that the rounding of Table I allows.
    ratio
        Delta_delta over the nominal delta, which must stay below 2.
    """

    category: Category
    natural: Vector
    low: Vector
    high: Vector
    ratio: float

    @property
    def printed(self) -> Vector:
        """nu, mu0, sigma0^2 as Table II has them."""
        return np.array([float(text) for text in self.category.natural])

    @property
    def deviation(self) -> Vector:
        """Relative difference of the mapped from the printed values."""
        return np.asarray(self.natural / self.printed - 1.0)

    @property
    def consistent(self) -> Vector:
        """Whether the printed value, itself rounded, lies in the range."""
        slack = np.array([rounding(text) for text in self.category.natural])
        return np.asarray((self.printed + slack >= self.low) & (self.printed - slack <= self.high))


def mapped_back(category: Category) -> MappedBack:
    """Natural parameters of a category of Table I, with the range its rounding allows.

    Examples
    --------
    >>> from penchant_paper.published import TABLES
    >>> mapped_back(TABLES[0]).natural.round(2)
    array([ 2.78, 15.5 ,  4.54])
    """
    theta = np.array([float(text) for text in category.theta])
    half = np.array([rounding(text) for text in category.theta])
    corners = np.array([_natural(category, theta + half * signs) for signs in _signs()])
    nominal = category.nominal.relative_precision(EXPERIMENT_NOISE_VARIANCE)
    return MappedBack(
        category,
        _natural(category, theta),
        corners.min(axis=0),
        corners.max(axis=0),
        float(theta[2] / theta[0] / nominal),
    )


def _signs() -> Matrix:
    return np.array(list(product((-1.0, 1.0), repeat=3)))


def _natural(category: Category, theta: Vector) -> Vector:
    population = PopulationEstimate.from_summary(theta, np.ones(3), category.n_subjects)
    nominal = category.nominal
    model = UCL(
        locations=grid(*GRID),
        noise_variance=EXPERIMENT_NOISE_VARIANCE,
        length_scale=nominal.length_scale,
    )
    return population_in_natural_parameters(
        population, model, nominal=replace(nominal, length_scale=None)
    ).estimate


DELTA_STEP = 1e-4  # of delta, relative, for its derivatives
DELTA_BOUND_DISTANCE = 1e-3  # relative distance from the bound at which signs are looked at


@dataclass(frozen=True)
class Bound:
    """Whether the bounds are where linearised standard deviations, and delta, reach 0.

    Attributes
    ----------
    smallest
        The smallest 2 c/d of all options and decisions, over the nominal delta.
    positive_below, negative_above
        Whether every linearised standard deviation is positive just below its bound, and negative
        just above.
    zero_at_lowest
        Whether delta is 0 at the lower bound.
    """

    n_decisions: int
    n_options: int
    smallest: float
    positive_below: bool
    negative_above: bool
    zero_at_lowest: bool


def bound_of_deviation(*, rng: np.random.Generator) -> Bound:
    """Find the deviations at which linearised variances of a play of high performance reach 0."""
    model, nominal = model_of_high(), NOMINALS["high"]
    place = landscape_a(*GRID, noise=GaussianNoise(EXPERIMENT_NOISE_VARIANCE))
    truth = {"decision_noise": DECISION_NOISE, "prior_mean": PRIOR_MEAN, "prior_variance": 100.0}
    play = simulate(place, model, truth, n_decisions=EXPERIMENT_DECISIONS, rng=rng)
    delta = nominal.relative_precision(EXPERIMENT_NOISE_VARIANCE)

    def variances(at: float) -> np.ndarray:
        return np.asarray(EXPERIMENT_NOISE_VARIANCE * model.beliefs(play, [at]).variance[0])

    c = variances(delta)
    step = DELTA_STEP * delta
    d = -(variances(delta + step) - variances(delta - step)) / (2 * step)
    highest = 2 * c / d

    def linearized(deviation: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(c) - d / (2 * np.sqrt(c)) * deviation)

    return Bound(
        n_decisions=EXPERIMENT_DECISIONS,
        n_options=c.shape[1],
        smallest=float(highest.min() / delta),
        positive_below=bool((linearized((1 - DELTA_BOUND_DISTANCE) * highest) > 0).all()),
        negative_above=bool((linearized((1 + DELTA_BOUND_DISTANCE) * highest) < 0).all()),
        zero_at_lowest=bool(delta + -EXPERIMENT_NOISE_VARIANCE / nominal.variance == 0.0),
    )


MAX_TABLE_DEVIATION = 0.02  # Table II from Table I
MIN_RATIO_CLEARLY_LARGER = 2.0  # between estimates of which one is clearly larger
MAX_DEVIATION_DIFFERENCE = 0.1  # relative difference of deviations that are alike


def claims_of_tables(
    mapped: tuple[MappedBack, ...],
    differences: tuple[Difference, ...],
    shown: Artefact,
    bound: Bound,
) -> tuple[Claim, ...]:
    """Claims on validity, mapping, meaning of sigma0^2, precision, significance, fit."""
    return (
        _validity(mapped, bound),
        _mapping(mapped),
        _prior_variance(mapped, shown),
        _high_above_low(shown),
        _precision(),
        _landscapes_differ(differences),
        _low_alike(differences),
        _doubling(),
    )


def _mapping(mapped: tuple[MappedBack, ...]) -> Claim:
    largest = max(float(np.abs(found.deviation).max()) for found in mapped)
    wrong = [
        f"{found.category.name} {name} (printed {found.category.natural[j]}, from Table I "
        f"{found.low[j]:.4g} to {found.high[j]:.4g})"
        for found in mapped
        for j, name in enumerate(("nu", "mu0", "sigma0^2"))
        if not found.consistent[j]
    ]
    return Claim(
        "Section VII.B, Table II",
        "Table II holds the estimates of Table I in the original variables.",
        {
            "within 2 %": largest < MAX_TABLE_DEVIATION,
            "within the rounding of Table I": not wrong,
        },
        "With noise variance 10, which is not stated, Table I maps back to Table II within "
        f"{largest:.1%}. Outside what the rounding of Table I allows: "
        + (", ".join(wrong) or "nothing")
        + ".",
        {
            "largest_deviation": largest,
            "natural": {found.category.name: found.natural.tolist() for found in mapped},
            "outside_rounding": wrong,
        },
        (24, 25),
    )


def _validity(mapped: tuple[MappedBack, ...], bound: Bound) -> Claim:
    ratios = {found.category.name: found.ratio for found in mapped}
    broken = [name for name, ratio in ratios.items() if not -1.0 <= ratio <= bound.smallest]
    return Claim(
        "Section VI.C",
        "That standard deviations and delta_0^2 are not negative implies "
        "-delta-bar <= Delta_delta <= 2 c/d.",
        {
            "linearised standard deviations are positive below 2 c/d": bound.positive_below,
            "and negative above": bound.negative_above,
            "delta_0^2 is 0 at -delta-bar": bound.zero_at_lowest,
        },
        f"Over {bound.n_options} options and {bound.n_decisions} decisions of a play, with c and d "
        "from differences of the posterior variances, the linearised standard deviations vanish "
        f"at 2 c/d, of which the smallest is {bound.smallest:.4g} nominal values. The bound is "
        "correct, and Table I breaks it: its deviations are "
        + ", ".join(f"{ratio:.4g} ({name})" for name, ratio in ratios.items())
        + f" nominal values; beyond the bound: {', '.join(broken) or 'none'}.",
        {"ratios": ratios, "smallest_bound": bound.smallest, "beyond": broken},
        (22,),
    )


def _prior_variance(mapped: tuple[MappedBack, ...], shown: Artefact) -> Claim:
    sure = shown.true_variances <= 1e3
    medians = [median_of(row) for row in shown.variances[sure]]
    deviations = [median_of(row) for row in shown.ratios]
    (first, first_error), (last, last_error) = medians[0], medians[-1]
    ratio = last / first
    error = ratio * float(np.hypot(first_error / first, last_error / last))
    third = NOMINALS["high"].variance / 3.0
    printed = [found for found in mapped if found.category.performance == "high"]
    middle = float(np.mean([found.ratio for found in printed]))
    low, high = shown.true_variances[sure][[0, -1]]
    return Claim(
        "Section VII.B, Table II",
        "The prior variance sigma0^2 of high-performing subjects is 3.32e5 (A) and 3.35e5 (B).",
        {
            f"estimate for agents with {high:g} over that with {low:g}": Measured(
                ratio, error, low=MIN_RATIO_CLEARLY_LARGER
            ),
            f"deviation of agents with {shown.true_variances[-1]:.2g}, where Table I has "
            f"{middle:.4g}": Measured(
                *deviations[-1],
                middle * (1 - MAX_DEVIATION_DIFFERENCE),
                middle * (1 + MAX_DEVIATION_DIFFERENCE),
            ),
        },
        "Linearised about 1e6, agents with true sigma0^2 = "
        + ", ".join(f"{v:g}" for v in shown.true_variances[sure])
        + " come back as "
        + ", ".join(f"{m:.4g} ± {e:.1g}" for m, e in medians)
        + f" (medians of {shown.n_replicates}); a third of the nominal value is {third:.4g}. Their "
        "deviations are "
        + ", ".join(f"{r:.4g} ± {e:.1g}" for r, e in np.array(deviations)[sure])
        + " nominal values; Table I has "
        + " and ".join(f"{found.ratio:.4g}" for found in printed)
        + f". Agents with true sigma0^2 = {shown.true_variances[-1]:g} have "
        f"{deviations[-1][0]:.3g} ± {deviations[-1][1]:.1g}.",
        {
            "true": shown.true_variances.tolist(),
            "medians": shown.medians.tolist(),
            "ratios": shown.median_ratios.tolist(),
        },
        (23,),
    )


def _high_above_low(shown: Artefact) -> Claim:
    sure = shown.true_variances <= 1e3
    own = {c.name: float(c.sigma[0]) / abs(float(c.theta[0])) for c in TABLES}
    return Claim(
        "Section VII.B, Table II",
        "The values of both nu and sigma0^2 are much greater for subjects with high performance "
        "than for those with low performance.",
        {},
        "Not so far as the paper tells. Linearised as there, agents with sigma0^2 from "
        f"{shown.true_variances[sure].min():g} to {shown.true_variances[sure].max():g} all come "
        "back as about 3.3e5, so that the high-performing subjects may have had more than the 4.54 "
        "and 5.42 of the others, or less. nu is 1/theta1, and the standard errors of theta1 are "
        + ", ".join(f"{error:.3g} ({name})" for name, error in own.items())
        + " times its size: that of low performance may be anything.",
        {"standard_error_over_theta1": own},
        (23,),
        untold="the choices of its subjects",
    )


def _precision() -> Claim:
    relative = {
        c.name: [float(s) / abs(float(t)) for s, t in zip(c.sigma, c.theta, strict=True)]
        for c in TABLES
    }
    gains = [
        min(relative["low A"][a], relative["low B"][a])
        / max(relative["high A"][a], relative["high B"][a])
        for a in range(3)
    ]
    return Claim(
        "Section VII.B, Table I",
        "The parameter estimates are much more precise for high performance.",
        {f"theta{a + 1}": bool(gain > MIN_RATIO_CLEARLY_LARGER) for a, gain in enumerate(gains)},
        "Standard errors over estimates in Table I: "
        + "; ".join(
            f"{', '.join(f'{v:.2g}' for v in values)} ({name})" for name, values in relative.items()
        )
        + ". For low performance no parameter differs from 0.",
        {"relative_errors": relative},
    )


def _landscapes_differ(differences: tuple[Difference, ...]) -> Claim:
    high = [d for d in differences if str(d.first).startswith("high")]
    return Claim(
        "Section VII.B, Table I",
        "The values for high performance are significantly different between landscapes at the "
        "95 % level (Welch's test).",
        {f"theta{a + 1}": bool(d.p_value < SIGNIFICANCE_LEVEL) for a, d in enumerate(high)},
        "With the printed sigma as standard errors of the means: "
        + _tests(high)
        + ". theta1 and theta3 are one degree of freedom here: theta3 is 2 delta theta1 to 0.3 %. "
        "What differs is the decision noise nu.",
        {"p_values": [d.p_value for d in high]},
        (26,),
    )


def _low_alike(differences: tuple[Difference, ...]) -> Claim:
    low = [d for d in differences if str(d.first).startswith("low")]
    return Claim(
        "Section VII.B, Table I",
        "For low performance the difference between landscapes is not significant.",
        {f"theta{a + 1}": bool(d.p_value >= SIGNIFICANCE_LEVEL) for a, d in enumerate(low)},
        _tests(low) + ".",
        {"p_values": [d.p_value for d in low]},
    )


def _doubling() -> Claim:
    by_name = {category.name: category.log_likelihood for category in TABLES}
    gains = {
        place: float(
            np.exp((by_name[f"high {place}"] - by_name[f"low {place}"]) / EXPERIMENT_DECISIONS)
        )
        for place in ("A", "B")
    }
    uniform = -EXPERIMENT_DECISIONS * float(np.log(GRID[0] * GRID[1]))
    return Claim(
        "Section VII.B",
        "Between performance levels the fitted model's predictive power approximately doubles.",
        {f"landscape {place}": 1.8 < gain < 2.2 for place, gain in gains.items()},
        "The probability per choice rises by a factor of "
        + " and ".join(f"{gain:.2f} ({place})" for place, gain in gains.items())
        + f"; uniform choice has log-likelihood {uniform:.1f}.",
        {"factors": gains, "uniform_log_likelihood": uniform},
    )


def _tests(differences: list[Difference]) -> str:
    return "; ".join(
        f"{d.name} t = {d.statistic:.2g}, df = {d.degrees_of_freedom:.0f}, p = {d.p_value:.2g}"
        for d in differences
    )


NATURAL = ("decision_noise", "prior_mean", "prior_variance")
PAIRS = (("high A", "high B"), ("low A", "low B"))


@dataclass(frozen=True, eq=False)
class PaperTables:
    """Comparison of Tables I and II."""

    mapped: tuple[MappedBack, ...]
    differences: tuple[Difference, ...]
    artefact: Artefact
    claims: tuple[Claim, ...]
    name: str = "tables"
    title: str = "Tables I and II: from one to the other"

    @property
    def settings(self) -> dict[str, object]:
        """Settings of the computation, for its JSON file."""
        return {
            "noise_variance": EXPERIMENT_NOISE_VARIANCE,
            "replicates": self.artefact.n_replicates,
        }

    def tables(self) -> dict[str, dict[str, list[object]]]:
        """Table II recomputed, the tests, and the artefact."""
        return {
            "table-2": _mapped_columns(self.mapped),
            "welch": _test_columns(self.differences),
            "artefact": self.artefact.columns(),
        }


def tables(*, rng: np.random.Generator, n_replicates: int = PAPER_REPLICATES) -> PaperTables:
    """Map Table I back, test its differences, and show what decides sigma0^2.

    Parameters
    ----------
    rng
        Source of randomness for the agents of the artefact.
    n_replicates
        Agents for every true sigma0^2.
    """
    mapped = tuple(mapped_back(category) for category in TABLES)
    differences = welch_tests()
    shown = artefact(rng=rng, n_replicates=n_replicates)
    claims = claims_of_tables(mapped, differences, shown, bound_of_deviation(rng=rng))
    return PaperTables(mapped, differences, shown, claims)


def welch_tests() -> tuple[Difference, ...]:
    """Welch's tests between landscapes from the printed estimates and standard errors."""
    populations = {
        category.name: PopulationEstimate.from_summary(
            [float(text) for text in category.theta],
            [float(text) for text in category.sigma],
            category.n_subjects,
        )
        for category in TABLES
    }
    found = compare_groups(populations, PAIRS, adjust="none", degrees_of_freedom="subjects")
    return found.differences


def _mapped_columns(mapped: tuple[MappedBack, ...]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {
        word: []
        for word in (
            "category",
            "parameter",
            "printed",
            "from_table_1",
            "low",
            "high",
            "consistent",
            "ratio",
        )
    }
    for found in mapped:
        for j, name in enumerate(NATURAL):
            row = (
                found.category.name,
                name,
                float(found.printed[j]),
                float(found.natural[j]),
                float(found.low[j]),
                float(found.high[j]),
                bool(found.consistent[j]),
                found.ratio,
            )
            for word, value in zip(columns, row, strict=True):
                columns[word].append(value)
    return columns


def _test_columns(differences: tuple[Difference, ...]) -> dict[str, list[object]]:
    words = ("first", "second", "name", "statistic", "degrees_of_freedom", "p_value")
    return {word: [getattr(d, word) for d in differences] for word in words}
