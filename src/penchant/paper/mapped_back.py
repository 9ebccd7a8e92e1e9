"""Table I mapped back, the artefact in sigma0^2, and the bound of validity.

The paper's procedure reports one sigma0^2 whatever the subjects believed: linearised about
sigma0^2 = 1e6, agents who were far surer are reported as about a third of that:
the deviation sits on the bound 2 of Section VI.C, where delta is three times its nominal value.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from penchant._progress import progress
from penchant._typing import Matrix, Vector
from penchant.bandit.landscape import GaussianNoise, landscape_a
from penchant.bandit.locations import grid
from penchant.errors import PenchantWarning
from penchant.inference.linearized import fit_linearized
from penchant.models.simulate import simulate
from penchant.models.spatial.ucl import UCL
from penchant.paper.published import (
    EXPERIMENT_DECISIONS,
    EXPERIMENT_NOISE_VARIANCE,
    GRID,
    NOMINALS,
    Category,
    rounding,
)
from penchant.population.estimate import PopulationEstimate
from penchant.population.mapping_back import back_map

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
        """One row per true value."""
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
    >>> from penchant.paper.published import TABLES
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
    return back_map(population, model, nominal=replace(nominal, length_scale=None)).estimate


STEP = 1e-4  # of delta, relative, for its derivatives
APART = 1e-3  # relative distance from the bound at which signs are looked at


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
    """Look at the posterior variances of one play about the nominal point of high performance."""
    model, nominal = model_of_high(), NOMINALS["high"]
    place = landscape_a(*GRID, noise=GaussianNoise(EXPERIMENT_NOISE_VARIANCE))
    truth = {"decision_noise": DECISION_NOISE, "prior_mean": PRIOR_MEAN, "prior_variance": 100.0}
    play = simulate(place, model, truth, n_decisions=EXPERIMENT_DECISIONS, rng=rng)
    delta = nominal.relative_precision(EXPERIMENT_NOISE_VARIANCE)

    def variances(at: float) -> np.ndarray:
        return np.asarray(EXPERIMENT_NOISE_VARIANCE * model.beliefs(play, [at]).variance[0])

    c = variances(delta)
    step = STEP * delta
    d = -(variances(delta + step) - variances(delta - step)) / (2 * step)
    highest = 2 * c / d

    def linearized(deviation: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(c) - d / (2 * np.sqrt(c)) * deviation)

    return Bound(
        n_decisions=EXPERIMENT_DECISIONS,
        n_options=c.shape[1],
        smallest=float(highest.min() / delta),
        positive_below=bool((linearized((1 - APART) * highest) > 0).all()),
        negative_above=bool((linearized((1 + APART) * highest) < 0).all()),
        zero_at_lowest=bool(delta + -EXPERIMENT_NOISE_VARIANCE / nominal.variance == 0.0),
    )
