"""The MAP estimate with a Gaussian prior, Eq. (6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.softmax.constrained import constrained_maximum
from penchant.softmax.constraints import Constraints, maximise_within
from penchant.softmax.coordinates import in_coordinates
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.newton import Quadratic, Restricted, maximise
from penchant.softmax.prepared import prepared
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.solution import Solution, penalised_solution
from penchant.softmax.unit_weights import in_unit


def maximum_a_posteriori(
    choices: Choices,
    prior: ParameterPrior,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int = 100,
    threads: int | None = None,
    unit: float = 1.0,
) -> Solution:
    """MAP estimate with a Gaussian prior, Eq. (6): it always exists.

    The weights of the choices are in units of `unit`; the prior is not.
    """
    likelihood, known = prepared(choices, threads)
    d = choices.n_parameters
    quadratic = in_unit(prior.quadratic(d, known.scale), unit)
    basis = _whole_basis(known, quadratic)
    work: Likelihood = Restricted(likelihood, np.zeros(d), basis)
    if known.basis is not None:
        work = likelihood_of(in_coordinates(choices, basis, known.rank), threads)
    within = quadratic.within(np.zeros(d), basis)
    if constraints is not None:
        inside = constraints.within(np.zeros(d), basis)
        assert inside is not None  # the basis spans everything
        maximum, active = maximise_within(work, inside, within, max_steps)
        return replace(
            constrained_maximum(choices, known, maximum, inside, active, basis),
            log_likelihood=maximum.value - within(maximum.theta),
            log_posterior=maximum.value,
            certificate="prior",
        )
    begin = None if start is None else np.asarray(np.linalg.solve(basis, start), np.float64)
    maximum = maximise(work, within, begin, max_steps, patient=True)
    solution = penalised_solution(maximum.value - within(maximum.theta), known, maximum, "prior")
    theta = basis @ maximum.theta
    covariance = basis @ solution.covariance @ basis.T
    return replace(solution, theta=theta, covariance=covariance, point=theta, certainty=covariance)


def _whole_basis(known: Identification, quadratic: Quadratic) -> Matrix:
    """Coordinates for all of theta: identified directions, then those the prior decides."""
    d = len(known.scale)
    if known.basis is None:
        return np.eye(d)
    null = known.null_directions
    size = np.sqrt(np.einsum("na,ac,nc->n", null, quadratic.precision, null))
    return np.hstack([known.basis, (null / size[:, None]).T])
