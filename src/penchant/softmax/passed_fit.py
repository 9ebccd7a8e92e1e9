"""From chunks of choices to the estimate that all of them give, in as few passes as will do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.choices.chunks import Chunks
from penchant.errors import DataError
from penchant.output.notes import counted, single_option_notes
from penchant.softmax import passed_separation as separating
from penchant.softmax.careful import careful_climb
from penchant.softmax.covariance import check_clusters, meat, sandwich
from penchant.softmax.diagnostics import Separation
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import (
    NEWTON_STEPS,
    Facts,
    check_covariance,
    checked_start,
    named,
    raise_if_wrong,
    whole_basis,
    with_covariance,
    worded,
)
from penchant.softmax.from_choices import FromChoices
from penchant.softmax.identification import Identification, from_spread
from penchant.softmax.newton import Restricted, maximise
from penchant.softmax.passed_separation import Excluding
from penchant.softmax.passes import (
    InUnit,
    Looked,
    PassedCareful,
    PassedLikelihood,
    PassedScatter,
    Passes,
    looked,
    null_log_likelihood,
)
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import scores
from penchant.softmax.separation import certified, cleaned, finite_where
from penchant.softmax.solution import (
    Solution,
    as_given,
    check_units,
    in_coordinates,
    in_unit,
    nothing_identified,
    penalised_solution,
    scaled_inverse,
    unit_of_weights,
)
from penchant.softmax.solve import finite_solution, start_in
from penchant.wording import argument


@dataclass(frozen=True)
class InCoordinates:
    """Variables of phi, where theta = basis phi."""

    basis: Matrix
    rank: int | None = None

    def __call__(self, choices: Choices) -> Choices:
        """The choices for phi."""
        return in_coordinates(choices, self.basis, self.rank)


@dataclass(frozen=True)
class Found:
    """A solution, and what was taken off the choices to find it where they are separated."""

    solution: Solution
    excluded: tuple[Excluding, ...] = ()


def fit_chunks(
    chunks: Chunks,
    *,
    parameter_prior: ParameterPrior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Any = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    strict: bool = False,
    start: Any = None,
    max_steps: int | None = None,
) -> Estimate:
    """Estimate theta from all chunks: the numbers and the status of `fit_choices`."""
    if method != "ml" or constraints is not None:
        raise DataError(
            f"{argument('method')} must be 'ml', without constraints, for a scan; got another. "
            "Fit choices in memory for that."
        )
    check_covariance(covariance)
    begin = checked_start(start, len(chunks.names))
    steps = max_steps or NEWTON_STEPS
    passes = Passes(chunks)
    given = looked(passes)
    if given.n_single == given.n_decisions:
        single_option_notes(np.ones(given.n_decisions, dtype=np.int64))
    if given.weighted and not given.largest_weight > 0:
        raise DataError("weights must not all be zero; got a sum of 0. Give some decision weight.")
    mean = given.relative_weight / given.n_decisions
    unit = unit_of_weights(given.largest_weight, mean) if given.weighted else 1.0
    work, known = passes, given
    if unit != 1.0:
        work = passes.through(InUnit(unit))
        known = looked(work)
    if parameter_prior is not None:
        found = Found(_posterior(work, known, chunks.names, parameter_prior, begin, steps, unit))
    else:
        found = _maximum_likelihood(work, known, chunks.names, begin, steps)
    estimate = _estimate(chunks, work, known, given, unit, found, parameter_prior)
    if strict:
        raise_if_wrong(estimate)
    estimate = with_covariance(estimate, covariance)
    words = f"{counted(passes.n_passes, 'pass')[:-1]}es" if passes.n_passes != 1 else "1 pass"
    return replace(estimate, notes=(*estimate.notes, f"{words} over {chunks.described()}."))


def _identified(passes: Passes, known: Looked, names: tuple[str, ...]) -> Identification:
    check_units(known.largest, names)
    return from_spread(PassedScatter(passes, known), known.spread, known.largest)


def _maximum_likelihood(
    passes: Passes, looked_at: Looked, names: tuple[str, ...], start: Vector | None, max_steps: int
) -> Found:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    known = _identified(passes, looked_at, names)
    likelihood = PassedLikelihood(passes, looked_at)
    if known.rank == 0:
        return Found(nothing_identified(likelihood, known))
    basis, inner = known.basis, likelihood
    if basis is not None:
        turned = passes.through(InCoordinates(basis))
        inner = PassedLikelihood(turned, looked(turned))
    begin = inner.known.start if start is None else start_in(basis, start)
    maximum = maximise(inner, start=begin, max_steps=max_steps)
    inverse = scaled_inverse(maximum.information)
    if certified(maximum, inner, inverse[0], looked_at.total_weight):
        near = separating.near_separation(passes, looked_at, known, inner, maximum)
        return Found(finite_solution(known, maximum, inverse, "newton", near))
    found = separating.recession(passes, looked_at, known.scale, basis)
    if found is not None and found.proven:
        return _separated(passes, known, found, names, max_steps)
    largest = inner.largest[1]
    likely = PassedCareful(inner.passes, largest, looked_at.furthest_offset)
    careful = careful_climb(likely, maximum.theta, max_steps, maximum.n_steps)
    if found is not None and not careful.proof:
        return _separated(passes, known, found, names, max_steps)
    if careful.settled or maximum.ending != "converged":
        maximum = careful.maximum()
        inverse = scaled_inverse(maximum.information)
    near = separating.near_separation(passes, looked_at, known, inner, maximum)
    return Found(finite_solution(known, maximum, inverse, "linear program", near))


def _separated(
    passes: Passes,
    known: Identification,
    found: separating.PassedRecession,
    names: tuple[str, ...],
    max_steps: int,
) -> Found:
    """The limit along the recession direction: the fit to what it leaves undecided."""
    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = cleaned(direction, known)
    left = passes.through(found.excluding)
    rest = _maximum_likelihood(left, looked(left), names, None, max_steps)
    plain = replace(found.excluding.cut, basis=None)
    if rest.solution.recession is not None:
        direction = separating.combined(passes, plain, direction, rest.solution.recession)
    where = np.zeros(len(direction))
    if known.complete:
        where = separating.limits(passes, plain, direction)
    theta, covariance = finite_where(where, known, rest.solution)
    solution = replace(
        rest.solution,
        theta=theta,
        covariance=covariance,
        known=known,
        certificate="linear program",
        recession=direction,
        near=None,
        condition=np.inf,
    )
    return Found(solution, (found.excluding, *rest.excluded))


def _posterior(
    passes: Passes,
    looked_at: Looked,
    names: tuple[str, ...],
    prior: ParameterPrior,
    start: Vector | None,
    max_steps: int,
    unit: float,
) -> Solution:
    """MAP estimate with a Gaussian prior, Eq. (6): it always exists."""
    known = _identified(passes, looked_at, names)
    d = len(names)
    quadratic = in_unit(prior.quadratic(d, known.scale), unit)
    basis = whole_basis(known, quadratic)
    work: Any = Restricted(PassedLikelihood(passes, looked_at), np.zeros(d), basis)
    if known.basis is not None:
        turned = passes.through(InCoordinates(basis, known.rank))
        work = PassedLikelihood(turned, looked(turned, with_start=False))
    within = quadratic.within(np.zeros(d), basis)
    near = looked_at.start if start is None else start
    begin = None if near is None else np.asarray(np.linalg.solve(basis, near), np.float64)
    maximum = maximise(work, within, begin, max_steps, patient=True)
    solution = penalised_solution(maximum.value - within(maximum.theta), known, maximum, "prior")
    theta = basis @ maximum.theta
    covariance = basis @ solution.covariance @ basis.T
    return replace(solution, theta=theta, covariance=covariance, point=theta, certainty=covariance)


@dataclass(frozen=True)
class Resolved:
    """How many options are taken off the choices, and in how many decisions."""

    excluded: tuple[Excluding, ...]

    def __call__(self, choices: Choices) -> tuple[int, int, int]:
        """Options taken off, options that might be, and decisions without some."""
        left = choices
        for change in self.excluded:
            left = change(left)
        lost = choices.n_options - left.n_options
        return int(lost.sum()), int((choices.n_options - 1).sum()), int((lost > 0).sum())


def _separation(passes: Passes, found: Found, names: tuple[str, ...]) -> Separation | None:
    solution = found.solution
    if solution.recession is None:
        return None
    counts = np.array(list(passes.each(Resolved(found.excluded), "separation"))).sum(axis=0)
    return Separation(
        kind="complete" if counts[0] == counts[1] else "quasi-complete",
        direction=named(solution.recession, names),
        supremum=solution.log_likelihood,
        n_resolved=int(counts[2]),
    )


def _estimate(
    chunks: Chunks,
    passes: Passes,
    known: Looked,
    given: Looked,
    unit: float,
    found: Found,
    prior: ParameterPrior | None,
) -> Estimate:
    """Put what was found into words and numbers for the user."""
    solution = as_given(found.solution, unit)
    facts = Facts(
        names=chunks.names,
        n_decisions=given.n_decisions,
        total_weight=given.total_weight,
        n_options=given.n_options,
        n_subjects=max(len(given.subjects), 1),
        null_log_likelihood=null_log_likelihood(known) * unit,
        notes=given.notes,
    )
    separation = _separation(passes, replace(found, solution=solution), chunks.names)
    scale = solution.known.scale
    quadratic = None if prior is None else prior.quadratic(len(chunks.names), scale)
    source = FromChoices(None, scale, quadratic, passed=PassedSource(passes, unit))
    return worded(solution, facts, separation, source, prior)


@dataclass(frozen=True)
class PassedSource:
    """Chunks behind an estimate, for the covariances that need them; weights are in `unit`."""

    passes: Passes
    unit: float

    @property
    def chunks(self) -> Chunks:
        """The choices."""
        return self.passes.chunks

    def robust(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance (HC0)."""
        parts = list(self.passes.each(MeatAt(theta), "robust errors"))
        total = np.zeros_like(bread)
        for part, _ in parts:
            total += part
        whole = sandwich(bread * self.unit, total)
        return whole / self.unit if parts[0][1] == "frequency" else whole

    def clustered(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance by subject."""
        sums: dict[Any, Vector] = {}
        for labels, parts in self.passes.each(ScoresBySubject(theta), "clustered errors"):
            for label, part in zip(labels, parts, strict=True):
                sums[label] = sums[label] + part if label in sums else part
        check_clusters(list(sums))
        rows = np.array(list(sums.values()))
        return sandwich(bread * self.unit, rows.T @ rows)


@dataclass(frozen=True)
class MeatAt:
    """Outer products of scores, summed."""

    theta: Vector

    def __call__(self, choices: Choices) -> tuple[Matrix, str]:
        """Of these choices, and the kind of their weights."""
        return meat(self.theta, choices), choices.weight_kind


@dataclass(frozen=True)
class ScoresBySubject:
    """Scores summed within subjects."""

    theta: Vector

    def __call__(self, choices: Choices) -> tuple[tuple[Any, ...], Matrix]:
        """Subjects of these choices, and their sums."""
        if choices.subject is None or choices.subject_labels is None:
            raise DataError(
                "subject must be given for clustered errors of a scan; got None. "
                "Name its column in scan(..., subject=)."
            )
        s = scores(self.theta, choices)
        if choices.weights is not None:
            s = s * choices.weights[:, None]
        sums = np.zeros((len(choices.subject_labels), s.shape[1]))
        np.add.at(sums, choices.subject, s)
        return choices.subject_labels, sums
