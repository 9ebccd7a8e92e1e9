"""Table I mapped back to the original variables, with what its rounding allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.locations import grid
from penchant.models.ucl import UCL
from penchant.population.estimate import PopulationEstimate
from penchant.population.mapping_back import back_map
from penchant.study.paper.published import EXPERIMENT_NOISE_VARIANCE, GRID, Category, rounding


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
    >>> from penchant.study.paper.published import TABLES
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
