"""Firth's estimate, finite whenever theta is identified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Vector
from penchant.choices import Choices
from penchant.softmax.coordinates import in_coordinates
from penchant.softmax.firth import maximise_firth
from penchant.softmax.likelihood import Likelihood, likelihood_of
from penchant.softmax.prepared import prepared
from penchant.softmax.solution import (
    Solution,
    blank,
    nothing_identified,
    penalised_solution,
    scaled_inverse,
)
from penchant.softmax.solve import maximum_likelihood


def bias_reduced(choices: Choices, max_steps: int = 200, threads: int | None = None) -> Solution:
    """Firth's estimate: finite whenever theta is identified."""
    likelihood, known = prepared(choices, threads)
    if known.rank == 0:
        return nothing_identified(likelihood, known)
    if known.basis is None:
        begin = _start(choices, likelihood, threads)
        maximum = maximise_firth(choices, likelihood, begin, max_steps=max_steps)
        at_maximum = likelihood.moments(maximum.theta).log_likelihood
        return penalised_solution(at_maximum, known, maximum, "penalty")
    work = in_coordinates(choices, known.basis)
    inner = likelihood_of(work, threads)
    begin = _start(work, inner, threads)
    maximum = maximise_firth(work, inner, begin, max_steps=max_steps)
    at_maximum = inner.moments(maximum.theta).log_likelihood
    solution = penalised_solution(at_maximum, known, maximum, "penalty")
    point = known.basis @ solution.point
    certainty = known.basis @ solution.certainty @ known.basis.T
    theta, covariance = blank(point, certainty, known.identified)
    # det I changes by a constant with the coordinates, which moves no maximum.
    shift = float(np.linalg.slogdet(known.basis)[1]) if known.complete else 0.0
    posterior = None if solution.log_posterior is None else solution.log_posterior - shift
    return replace(
        solution,
        theta=theta,
        covariance=covariance,
        point=point,
        certainty=certainty,
        log_posterior=posterior,
    )


def _start(choices: Choices, likelihood: Likelihood, threads: int | None) -> Vector | None:
    """Where to begin: at 0, or at the maximum of the likelihood where offsets leave 0 no slope."""
    if choices.offset is None:
        return None
    at_zero = likelihood.moments(np.zeros(likelihood.n_parameters)).information
    if np.isfinite(scaled_inverse(at_zero)[0]).all():
        return None
    found = maximum_likelihood(choices, threads=threads).theta
    return found if np.isfinite(found).all() else None
