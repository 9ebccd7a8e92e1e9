"""From theta of the linearised model to natural parameters: Table I to Table II of the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix
from penchant.errors import DataError
from penchant.inference.nominal import BackMap, Coordinate, Nominal, nominal_point
from penchant.models.model import Model, natural_parameters
from penchant.population.estimate import PopulationEstimate


def back_map(
    population: PopulationEstimate,
    model: Model,
    *,
    nominal: Nominal,
    coordinate: Coordinate = "delta",
) -> PopulationEstimate:
    """Natural parameters of a population whose theta is that of the linearised model.

    Standard errors are the delta method's. They are NaN where they need covariances that are not
    known. Averaging theta and mapping it is not mapping theta and averaging.

    Parameters
    ----------
    population
        Pooled from linearised estimates on scale "theta".
    model, nominal, coordinate
        As for `fit_linearized`: all subjects must have the same nominal point.

    Examples
    --------
    >>> import penchant as pn
    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=0.1)
    >>> table_1 = [0.36, -5.22, 0.433], [90.4, 1270.0, 102.0], 153
    >>> low_a = pn.results.PopulationEstimate.from_summary(*table_1)
    >>> found = pn.paper.back_map(low_a, model, nominal=pn.RewardPrior(mean=30, variance=10))
    >>> [(p.name, round(p.estimate, 2)) for p in found.parameters]
    [('decision_noise', 2.78), ('prior_mean', 15.5), ('prior_variance', 4.54)]
    """
    psi, ratios = nominal_point(model, nominal)
    if population.scale != "theta" or len(population.names) != len(psi) + len(ratios):
        raise DataError(
            f"population must hold the {len(psi) + len(ratios)} parameters theta of the linearised "
            f"model; got {', '.join(population.names)} on scale {population.scale!r}. "
            "Pool linearised estimates with scale='theta'."
        )
    back = BackMap(model, psi, ratios, coordinate)
    names = tuple(natural.name for natural in natural_parameters(model))
    theta = population.estimate
    inside = bool(np.isfinite(theta).all()) and back.inside(theta)
    values, covariance = np.full(len(names), np.nan), np.full((len(names), len(names)), np.nan)
    message = population.message
    if inside:
        values = back.values(theta)
        covariance = _covariance(population.covariance, back.jacobian(theta))
    elif np.isfinite(theta).all():
        message = "theta lies outside the model: it has no natural parameters."
    return replace(
        population,
        names=names,
        estimate=values,
        covariance=covariance,
        heterogeneity=None,
        status=population.status if inside else "outside the model",
        message=message,
        scale="natural",
    )


def _covariance(covariance: Matrix, jacobian: Matrix) -> Matrix:
    """Delta method, entry by entry: one that uses no unknown covariance is known."""
    uses = jacobian != 0
    made = np.empty((len(jacobian), len(jacobian)))
    for i, row in enumerate(jacobian):
        for j, other in enumerate(jacobian):
            inner = covariance[np.ix_(uses[i], uses[j])]
            made[i, j] = row[uses[i]] @ inner @ other[uses[j]]
    return made
