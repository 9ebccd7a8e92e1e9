"""From choices to the maximum, with proof that it is one: the estimator behind `fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import DataError, listing
from penchant.softmax import separation as separating
from penchant.softmax.constraints import Constraints, maximise_within, null_basis
from penchant.softmax.coordinates import in_coordinates
from penchant.softmax.firth import maximise_firth
from penchant.softmax.identification import Identification, identification
from penchant.softmax.likelihood import Likelihood, PackedLikelihood, likelihood_of
from penchant.softmax.newton import Maximum, Quadratic, Restricted, maximise
from penchant.softmax.prior import ParameterPrior

FAR = 50.0  # a range of theta'x above this asks whether the data are nearly separated
UNDECIDED = 100.0  # ... and the variance of theta'x, summed over decisions, is below this
NEGLIGIBLE = 1e-3
LARGEST = 1e100
MANY_BLOCKS = 4096


@dataclass(frozen=True)
class Solution:
    """Everything the estimator found out.

    Attributes
    ----------
    theta
        The maximum; its limit in a separated direction; NaN where not identified.
    covariance
        Inverse information of what is identified, NaN elsewhere.
    log_likelihood
        Of the choices alone, at theta or its supremum.
    recession
        Direction of separation in the user's units, or None.
    certainty
        Covariance before parameters were blanked: usable for identified combinations.
    point
        theta with a number everywhere, for which `certainty` holds.
    """

    theta: Vector
    covariance: Matrix
    log_likelihood: float
    log_posterior: float | None
    known: Identification
    ending: str
    decrement: float
    n_steps: int
    condition: float
    certificate: str | None
    recession: Vector | None
    resolved: BoolVector | None
    near: Vector | None
    active: BoolVector | None
    point: Vector
    certainty: Matrix


def scaled_inverse(information: Matrix) -> tuple[Matrix, float]:
    """Inverse of the information, and its condition number, both by way of a unit diagonal."""
    if not len(information):
        return information.copy(), 1.0
    if not (np.isfinite(information).all() and (np.diag(information) > 0).all()):
        return np.full_like(information, np.nan), np.inf
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if not values[0] > 0:
        return np.full_like(information, np.nan), np.inf
    with np.errstate(over="ignore"):  # far out, where no choice is left to chance
        inverse = (vectors / values) @ vectors.T / scale[:, None] / scale[None, :]
    if not np.isfinite(inverse).all():
        return np.full_like(information, np.nan), np.inf
    return np.asarray(inverse / 2 + inverse.T / 2), float(values[-1] / values[0])


def _prepared(choices: Choices, threads: int | None) -> tuple[Likelihood, Identification]:
    """The likelihood, packed, and what of theta it identifies."""
    likelihood = likelihood_of(choices, threads)
    check_units(likelihood.largest, choices.names)
    return likelihood, identification(choices, likelihood)


def check_units(largest: Matrix, names: tuple[str, ...]) -> None:
    """No variable is so large or so small that its squares leave the range of float64."""
    outside = (largest[0] > LARGEST) | ((largest[1] > 0) & (largest[1] < 1 / LARGEST))
    if outside.any():
        found = listing(f"{names[a]} of size {largest[0, a]:.3g}" for a in np.flatnonzero(outside))
        raise DataError(
            f"explanatory must lie between 1e-100 and 1e100 in size; got {found}. "
            "Choose other units for it."
        )


def maximum_likelihood(
    choices: Choices,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int = 100,
    threads: int | None = None,
) -> Solution:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    likelihood, known = _prepared(choices, threads)
    if known.rank == 0:
        return _nothing_identified(likelihood, known)
    if constraints is not None:
        return _constrained(choices, likelihood, known, constraints, max_steps)
    basis = known.basis
    work = choices if basis is None else in_coordinates(choices, basis)
    inner = likelihood if basis is None else likelihood_of(work, threads)
    begin = _start_in(basis, start)
    if begin is None:
        begin = _start_from_part(inner)
    maximum = maximise(inner, start=begin, max_steps=max_steps)
    inverse = scaled_inverse(maximum.information)
    if _certified(maximum, inner, inverse[0], choices):
        return _finite(choices, known, inner, maximum, inverse, "newton")
    scale = known.scale if basis is None else np.ones(basis.shape[1])
    found = separating.recession(work, scale)
    if found is not None:
        return _separated(choices, known, found, threads)
    if maximum.ending == "slow":
        maximum = maximise(inner, start=maximum.theta, max_steps=max_steps, patient=True)
        inverse = scaled_inverse(maximum.information)
    return _finite(choices, known, inner, maximum, inverse, "linear program")


def _start_from_part(likelihood: Likelihood) -> Vector | None:
    """The estimate of the first decisions of large data: near enough to save whole passes."""
    if not isinstance(likelihood, PackedLikelihood) or likelihood.n_blocks < MANY_BLOCKS:
        return None
    found = maximise(likelihood.part(likelihood.n_blocks // 32), max_steps=12)
    return found.theta if found.ending == "converged" else None


def _start_in(basis: Matrix | None, start: Vector | None) -> Vector | None:
    if start is None or basis is None:
        return start
    return np.asarray(np.linalg.lstsq(basis, start, rcond=None)[0])


def _certified(
    maximum: Maximum, likelihood: Likelihood, covariance: Matrix, choices: Choices
) -> bool:
    if not np.isfinite(covariance).all() or maximum.ending == "slow":
        return False
    return separating.certificate(
        likelihood.largest[1], covariance, maximum.decrement, choices.total_weight
    )


def _finite(
    choices: Choices,
    known: Identification,
    likelihood: Likelihood,
    maximum: Maximum,
    inverse: tuple[Matrix, float],
    proof: str,
) -> Solution:
    """A maximum that exists, back in the user's coordinates; `inverse` of its information."""
    covariance, condition = inverse
    near = _near_separation(choices, known, likelihood, maximum)
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
        log_posterior=None,
        known=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        recession=None,
        resolved=None,
        near=near,
        active=None,
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


def blank(theta: Vector, covariance: Matrix, keep: BoolVector) -> tuple[Vector, Matrix]:
    """NaN for the parameters not kept."""
    shown = np.where(keep, theta, np.nan)
    return shown, np.where(np.outer(keep, keep), covariance, np.nan)


def suspicious(largest: Vector, theta: Vector, information: Matrix) -> bool:
    """Whether nearly all choices may be nearly certain: theta'x is large, its variance small.

    theta'I theta sums the variance of theta'x over decisions, which those that are certain lack.
    """
    undecided = float(theta @ information @ theta)
    return bool(largest @ np.abs(theta) >= FAR and undecided < UNDECIDED * len(theta))


def _near_separation(
    choices: Choices, known: Identification, likelihood: Likelihood, maximum: Maximum
) -> Vector | None:
    """Direction that separates all but negligible differences, looked for if theta'x is large."""
    if not suspicious(likelihood.largest[1], maximum.theta, maximum.information):
        return None
    if not known.complete:
        return None
    plain = separating.without_small_differences(choices, known.scale, NEGLIGIBLE)
    if plain is None or (known.basis is None and _has_maximum(plain, maximum.theta)):
        return None
    found = separating.recession(choices, known.scale, ignored=NEGLIGIBLE)
    return None if found is None else found.direction


def _has_maximum(choices: Choices, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    likelihood = likelihood_of(choices, 1)
    maximum = maximise(likelihood, start=start)
    covariance, _ = scaled_inverse(maximum.information)
    return _certified(maximum, likelihood, covariance, choices)


def _nothing_identified(likelihood: Likelihood, known: Identification) -> Solution:
    d = len(known.scale)
    moments = likelihood.moments(np.zeros(d))
    blank_matrix = np.full((d, d), np.nan)
    return Solution(
        theta=np.full(d, np.nan),
        covariance=blank_matrix,
        log_likelihood=moments.log_likelihood,
        log_posterior=None,
        known=known,
        ending="converged",
        decrement=0.0,
        n_steps=0,
        condition=np.inf,
        certificate=None,
        recession=None,
        resolved=None,
        near=None,
        active=None,
        point=np.zeros(d),
        certainty=np.zeros((d, d)),
    )


def _separated(
    choices: Choices, known: Identification, found: separating.Recession, threads: int | None
) -> Solution:
    """The limit along the recession direction: the fit to what it leaves undecided."""
    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = _cleaned(direction, known)
    on_offer = ~found.resolved
    if choices.available is not None:
        on_offer = on_offer & choices.available
    rest = maximum_likelihood(replace(choices, available=on_offer), threads=threads)
    resolved = found.resolved
    if rest.recession is not None and rest.resolved is not None:
        resolved = resolved | rest.resolved
        direction = separating.combined(choices, known.scale, direction, rest.recession)
    theta, covariance = _limit(choices, known, direction, rest)
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


def _cleaned(direction: Vector, known: Identification) -> Vector:
    """Entries that are rounding noise in standard units set to 0; the largest made 1."""
    size = np.abs(direction * known.scale)
    kept = np.where(size > 1e-8 * size.max(), direction, 0.0)
    return np.asarray(kept / np.abs(kept).max())


def _limit(
    choices: Choices, known: Identification, direction: Vector, rest: Solution
) -> tuple[Vector, Matrix]:
    """Parameters in the limit: infinite along the direction, finite where the rest identifies."""
    where = np.zeros(len(direction))
    if known.complete:
        where = separating.limits(choices, known.scale, direction)
    finite = rest.known.identified & (where == 0) & known.identified & np.isfinite(rest.theta)
    theta, covariance = blank(rest.theta, rest.covariance, finite)
    theta = np.where(np.isinf(where), where, theta)
    return theta, covariance


def _constrained(
    choices: Choices,
    likelihood: Likelihood,
    known: Identification,
    constraints: Constraints,
    max_steps: int,
) -> Solution:
    """Maximum likelihood under linear inequalities, in coordinates of unit scale."""
    basis = np.diag(1.0 / known.scale) if known.basis is None else known.basis
    applied = constraints.on(known.null_directions)
    if applied is None:
        return maximum_likelihood(choices)
    work = likelihood
    if known.basis is not None:
        work = likelihood_of(in_coordinates(choices, basis))
        inside = applied.within(np.zeros(len(basis)), basis)
    else:
        work = Restricted(likelihood, np.zeros(len(basis)), basis)
        inside = applied.within(np.zeros(len(basis)), basis)
    assert inside is not None  # it concerns identified parameters
    none = Quadratic.none(basis.shape[1])
    maximum, active = maximise_within(work, inside, none, max_steps)
    if known.complete:
        found = separating.recession(choices, known.scale, cone=constraints.matrix)
        if found is not None:
            point = _exactly_at(basis @ maximum.theta, inside, active, basis)
            return _separated_within(known, found, maximum, point)
    return _on_face(choices, known, maximum, inside, active, basis)


def _on_face(
    choices: Choices,
    known: Identification,
    maximum: Maximum,
    inside: Constraints,
    active: BoolVector,
    basis: Matrix,
) -> Solution:
    """A constrained maximum back in the user's coordinates."""
    work = Identification(
        np.ones(basis.shape[1]), basis.shape[1], np.empty((0, basis.shape[1])), None
    )
    held = on_face(
        _penalised_solution(maximum.value, work, maximum, "linear program"),
        maximum,
        inside,
        active,
    )
    theta = basis @ held.point
    certainty = basis @ held.certainty @ basis.T
    unit = 1.0 / np.where(known.scale > 0, known.scale, 1.0)
    free = np.diag(certainty) > (1e-9 * unit) ** 2
    shown, covariance = blank(theta, certainty, known.identified)
    covariance = np.where(np.outer(free, free), covariance, np.nan)
    return replace(
        held,
        theta=_exactly_at(shown, inside, active, basis),
        covariance=covariance,
        log_posterior=None,
        known=known,
        point=theta,
        certainty=certainty,
    )


def _exactly_at(theta: Vector, inside: Constraints, active: BoolVector, basis: Matrix) -> Vector:
    """Parameters held by a bound of their own get exactly that value."""
    exact = theta.copy()
    back = np.linalg.pinv(basis)
    for row, bound in zip(inside.matrix[active] @ back, inside.bound[active], strict=True):
        alone = np.abs(row) > 1e-9 * np.abs(row).max()
        if alone.sum() == 1:
            (a,) = np.flatnonzero(alone)
            exact[a] = bound / row[a]
    return exact


def _separated_within(
    known: Identification, found: separating.Recession, maximum: Maximum, point: Vector
) -> Solution:
    """No maximum among the theta allowed; the value where Newton ended is the supremum to 1e-8."""
    d = len(known.scale)
    direction = _cleaned(found.direction, known)
    return Solution(
        theta=np.where(direction != 0, np.copysign(np.inf, direction), point),
        covariance=np.full((d, d), np.nan),
        log_likelihood=maximum.value,
        log_posterior=None,
        known=known,
        ending="slow",
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=np.inf,
        certificate="linear program",
        recession=direction,
        resolved=found.resolved,
        near=None,
        active=None,
        point=point,
        certainty=np.full((d, d), np.nan),
    )


def on_face(
    solution: Solution, maximum: Maximum, constraints: Constraints, active: BoolVector
) -> Solution:
    """Covariance on the face of the active constraints; none for parameters held by them."""
    if not active.any():
        return replace(solution, active=active)
    d = len(solution.point)
    basis = null_basis(constraints.matrix[active], d)
    inner, _ = scaled_inverse(basis.T @ maximum.information @ basis)
    covariance = basis @ inner @ basis.T
    free = np.abs(basis).max(axis=1, initial=0.0) > 1e-12
    shown = np.where(np.outer(free, free), covariance, np.nan)
    return replace(solution, covariance=shown, certainty=covariance, active=active)


def maximum_a_posteriori(
    choices: Choices,
    prior: ParameterPrior,
    constraints: Constraints | None = None,
    start: Vector | None = None,
    max_steps: int = 100,
    threads: int | None = None,
) -> Solution:
    """MAP estimate with a Gaussian prior, Eq. (6): it always exists."""
    likelihood, known = _prepared(choices, threads)
    d = choices.n_parameters
    quadratic = prior.quadratic(d, known.scale)
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
            _on_face(choices, known, maximum, inside, active, basis),
            log_likelihood=maximum.value - within(maximum.theta),
            log_posterior=maximum.value,
            certificate="prior",
        )
    begin = None if start is None else np.asarray(np.linalg.solve(basis, start), np.float64)
    maximum = maximise(work, within, begin, max_steps, patient=True)
    solution = _penalised_solution(maximum.value - within(maximum.theta), known, maximum, "prior")
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


def bias_reduced(choices: Choices, max_steps: int = 200, threads: int | None = None) -> Solution:
    """Firth's estimate: finite whenever theta is identified."""
    likelihood, known = _prepared(choices, threads)
    if known.rank == 0:
        return _nothing_identified(likelihood, known)
    if known.basis is None:
        maximum = maximise_firth(choices, likelihood, max_steps=max_steps)
        at_maximum = likelihood.moments(maximum.theta).log_likelihood
        return _penalised_solution(at_maximum, known, maximum, "penalty")
    work = in_coordinates(choices, known.basis)
    inner = likelihood_of(work, threads)
    maximum = maximise_firth(work, inner, max_steps=max_steps)
    at_maximum = inner.moments(maximum.theta).log_likelihood
    solution = _penalised_solution(at_maximum, known, maximum, "penalty")
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


def _penalised_solution(
    log_likelihood: float, known: Identification, maximum: Maximum, proof: str
) -> Solution:
    covariance, condition = scaled_inverse(maximum.information)
    return Solution(
        theta=maximum.theta,
        covariance=covariance,
        log_likelihood=log_likelihood,
        log_posterior=maximum.value,
        known=known,
        ending=maximum.ending,
        decrement=maximum.decrement,
        n_steps=maximum.n_steps,
        condition=condition,
        certificate=proof if maximum.ending == "converged" else None,
        recession=None,
        resolved=None,
        near=None,
        active=None,
        point=maximum.theta,
        certainty=covariance,
    )
