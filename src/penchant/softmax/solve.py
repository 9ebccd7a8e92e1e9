"""From choices to the maximum of their likelihood, with proof that it is one, Eq. (4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation as separating
from penchant.softmax.careful import careful_maximum
from penchant.softmax.constrained import constrained
from penchant.softmax.constraints import Constraints
from penchant.softmax.identification import Identification
from penchant.softmax.likelihood import Likelihood, PackedLikelihood, likelihood_of
from penchant.softmax.newton import Maximum, maximise
from penchant.softmax.separation import certified, cleaned, limit_along, near_separation
from penchant.softmax.solution import (
    Solution,
    blank,
    in_coordinates,
    nothing_identified,
    prepared,
    scaled_inverse,
)

MANY_BLOCKS = 4096


def maximum_likelihood(
    choices: Choices,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int = 100,
    threads: int | None = None,
) -> Solution:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    likelihood, known = prepared(choices, threads)
    if known.rank == 0:
        return nothing_identified(likelihood, known)
    applied = None if constraints is None else constraints.on(known.null_directions)
    if constraints is not None and applied is not None:
        free = None
        if choices.offset is not None and known.basis is None:
            free = maximum_likelihood(choices, None, start, max_steps, threads)
            if _inside(free, constraints):
                return replace(free, active=np.zeros(len(constraints.bound), dtype=bool))
        near = None if free is None or not np.isfinite(free.theta).all() else free.theta
        return constrained(choices, likelihood, known, constraints, applied, max_steps, near)
    basis = known.basis
    work = choices if basis is None else in_coordinates(choices, basis)
    inner = likelihood if basis is None else likelihood_of(work, threads)
    begin = start_in(basis, start)
    if begin is None:
        begin = _start_from_part(inner)
    maximum = maximise(inner, start=begin, max_steps=max_steps)
    inverse = scaled_inverse(maximum.information)
    if certified(maximum, inner, inverse[0], choices.total_weight):
        near = near_separation(choices, known, inner, maximum)
        return finite_solution(known, maximum, inverse, "newton", near)
    found = separating.recession(choices, known.scale, basis=basis)
    if found is not None and found.proven:
        return _separated(choices, known, found, threads)
    careful = careful_maximum(work, inner.largest[1], maximum.theta, max_steps, maximum.n_steps)
    if found is not None and not careful.proof:
        return _separated(choices, known, found, threads)
    if careful.settled or maximum.ending != "converged":
        maximum = careful.maximum()
        inverse = scaled_inverse(maximum.information)
    near = near_separation(choices, known, inner, maximum)
    return finite_solution(known, maximum, inverse, "linear program", near)


def _inside(free: Solution, constraints: Constraints) -> bool:
    """Whether a maximum without constraints is one with them: it touches none."""
    theta = free.theta
    if free.certificate is None or not np.isfinite(theta).all():
        return False
    room = constraints.matrix @ theta - constraints.bound
    return bool((room > 1e-9 * (np.abs(constraints.matrix) @ np.abs(theta))).all())


def has_maximum(choices: Choices, constraints: Constraints | None = None) -> bool:
    """Whether the likelihood has one maximum: all weights are told, and none goes to infinity."""
    _, known = prepared(choices, 1)
    if not known.complete:
        return False
    cone = None if constraints is None else constraints.matrix
    return not separating.is_separated(choices, known.scale, cone)


def _start_from_part(likelihood: Likelihood) -> Vector | None:
    """The estimate of the first decisions of large data: near enough to save whole passes."""
    if not isinstance(likelihood, PackedLikelihood) or likelihood.n_blocks < MANY_BLOCKS:
        return None
    found = maximise(likelihood.part(likelihood.n_blocks // 32), max_steps=12)
    return found.theta if found.ending == "converged" else None


def start_in(basis: Matrix | None, start: Vector | None) -> Vector | None:
    """Where to begin, in coordinates of the basis."""
    if start is None or basis is None:
        return start
    return np.asarray(np.linalg.lstsq(basis, start, rcond=None)[0])


def finite_solution(
    known: Identification,
    maximum: Maximum,
    inverse: tuple[Matrix, float],
    proof: str,
    near: Vector | None,
) -> Solution:
    """A maximum that exists, back in the user's coordinates; `inverse` of its information."""
    covariance, condition = inverse
    theta = maximum.theta
    if known.basis is not None:
        theta = known.basis @ theta
        covariance = known.basis @ covariance @ known.basis.T
        condition = max(condition, _user_condition(covariance, known))
    shown, blanked = blank(theta, covariance, known.identified)
    return Solution(
        theta=shown,
        covariance=blanked,
        log_likelihood=maximum.value,
        known=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        near=near,
        point=theta,
        certainty=covariance,
    )


def _user_condition(covariance: Matrix, known: Identification) -> float:
    """Condition number of the correlation of the parameters, where all are identified."""
    if not known.complete:
        return 1.0
    if not np.isfinite(covariance).all():
        return np.inf
    sd = np.sqrt(np.diag(covariance))
    singular = np.linalg.svd(covariance / np.outer(sd, sd), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf


def _separated(
    choices: Choices, known: Identification, found: separating.Recession, threads: int | None
) -> Solution:
    """The limit along the recession direction: the fit to what it leaves undecided."""
    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = cleaned(direction, known)
    on_offer = ~found.resolved
    if choices.available is not None:
        on_offer = on_offer & choices.available
    rest = maximum_likelihood(replace(choices, available=on_offer), threads=threads)
    resolved = found.resolved
    if rest.recession is not None and rest.resolved is not None:
        resolved = resolved | rest.resolved
        direction = separating.combined(choices, known.scale, direction, rest.recession)
    theta, covariance = limit_along(choices, known, direction, rest)
    return replace(
        rest,
        theta=theta,
        covariance=covariance,
        known=known,
        certificate="linear program",
        recession=direction,
        resolved=resolved,
        near=None,
        condition=np.inf,
    )
