"""Maximum-likelihood and MAP estimates from chunks of choices, with the checks of `solve`.

The steps are those of `solve.maximum_likelihood`, each as passes over the chunks. The linear
programs for separation use constraint generation: in each pass every chunk gives the rows that the
last direction violates most, until none is violated, so that they hold a few thousand rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.choices.scan_protocols import Chunks
from penchant.errors import DataError, argument
from penchant.output import format_count, single_option_notes
from penchant.softmax import separation
from penchant.softmax.choice_estimate import ChoiceSource
from penchant.softmax.chunked_likelihood import (
    ChunkedLikelihood,
    ChunkedScatter,
    ChunkedStableLikelihood,
    ChunkReducer,
    ChunkSummary,
    RescaledWeights,
    null_log_likelihood,
    summarize_chunks,
)
from penchant.softmax.diagnostics import Separation
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import (
    MAX_NEWTON_STEPS,
    DataSummary,
    basis_with_prior_directions,
    build_estimate,
    check_covariance,
    checked_start,
    named,
    raise_if_wrong,
    with_covariance,
)
from penchant.softmax.hypotheses import check_clusters, meat, sandwich
from penchant.softmax.identification import Identification, identification_from_spread
from penchant.softmax.newton import UNDECIDED, Maximum, RestrictedLikelihood, maximise
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import scores
from penchant.softmax.separation import (
    NEGLIGIBLE_DIFFERENCE,
    SEPARATION,
    Differences,
    UnsolvedProgramError,
    certified,
    clean_direction,
    limit_estimate,
)
from penchant.softmax.solution import (
    Solution,
    check_units,
    choices_in_coordinates,
    nothing_identified,
    penalised_solution,
    quadratic_in_unit,
    scaled_inverse,
    solution_in_given_weights,
    unit_of_weights,
)
from penchant.softmax.solve import finite_solution, stable_newton, start_in_basis

Bits = NDArray[np.uint64]

MAX_VIOLATED_PER_CHUNK = 200  # more make every linear program slow, fewer take more passes
MIN_FIRST_ROWS_PER_CHUNK = 20  # so that every chunk is represented in the first linear program
# Bits of a float64 fixed per pass of the radix search for an exact quantile: three passes of 4
# million bins, which fit in memory; more bits per pass would not.
RADIX_BITS = 22
RADIX_SHIFTS = (44, 22, 0)
N_MIXTURES = 41  # parts 1, 1/2, 1/4 ... down to 2^-40, 1e-12, as in `separation`


@dataclass(frozen=True)
class Histogram:
    """Histogram of the next bits of differences that share the leading bits found so far."""

    shift: int
    prefix: tuple[int, ...] | None  # leading bits of each variable; None in the first pass

    def __call__(self, choices: Choices) -> tuple[int, list[tuple[Bits, IntVector]]]:
        """Number of rows, and for each variable leading bits with counts."""
        sizes = separation.sizes_of_differences(choices)
        bits = np.ascontiguousarray(sizes + 0.0).view(np.uint64)  # + 0.0 makes -0.0 positive
        found = []
        for a, mine in enumerate(bits):
            if self.prefix is not None:
                before = np.uint64(self.shift + RADIX_BITS)
                mine = mine[(mine >> before) == np.uint64(self.prefix[a])]
            found.append(np.unique(mine >> np.uint64(self.shift), return_counts=True))
        return sizes.shape[1], found


def typical_difference(reducer: ChunkReducer, scale: Vector) -> Vector:
    """Compute `separation.typical_difference` to the last bit by a radix search.

    Positive floats are ordered as their bits, of which three passes find 20, 22 and 22.
    """
    d = len(scale)
    prefix: tuple[int, ...] | None = None
    rank = np.zeros(d, dtype=np.int64)
    for shift in RADIX_SHIFTS:
        n, counts = 0, [dict[int, int]() for _ in range(d)]
        for rows, parts in reducer.map_chunks(Histogram(shift, prefix), "size of differences"):
            n += rows
            for mine, (bits, times) in zip(counts, parts, strict=True):
                for bit, time in zip(bits.tolist(), times.tolist(), strict=True):
                    mine[bit] = mine.get(bit, 0) + time
        if not n:
            return np.where(scale > 0, scale, 1.0)
        if prefix is None:
            # as in `separation`: chunks and memory must agree
            rank[:] = int(np.floor((n - 1) * 0.99))
        prefix = tuple(_bin_of_rank(counts[a], rank, a) for a in range(d))
    size = np.array(prefix, dtype=np.uint64).view(np.float64)
    return np.where(size > 0, size, np.where(scale > 0, scale, 1.0))


def _bin_of_rank(counts: dict[int, int], rank: IntVector, a: int) -> int:
    """Bin that holds the number of this rank; the rank becomes that within the bin."""
    for bit in sorted(counts):
        if rank[a] < counts[bit]:
            return bit
        rank[a] -= counts[bit]
    raise AssertionError("a rank is among the numbers")


@dataclass(frozen=True)
class ScaledDifferences:
    """Differences of choices in fixed units."""

    unit: Vector
    whole: BoolVector
    basis: Matrix | None = None

    def __call__(self, choices: Choices) -> Differences:
        """Differences of these choices."""
        return separation.differences_in(choices, self.unit, self.whole, 0.0, self.basis)


@dataclass(frozen=True)
class SampledRows:
    """Number and sum of all differences, and a sample of about n_rows of them."""

    differences: ScaledDifferences
    n_rows: int

    def __call__(self, choices: Choices) -> tuple[int, Vector, Matrix, Vector]:
        """Number, sum, sampled rows and their rounding."""
        found = self.differences(choices)
        # evenly spaced, not the first rows: data are often sorted by subject or condition
        some = slice(None, None, max(1, len(found.values) // self.n_rows))
        return (
            len(found.values),
            found.values.sum(axis=0),
            found.values[some],
            found.rounding[some],
        )


@dataclass(frozen=True)
class ViolatedRows:
    """Rows that a direction lowers most, and how far it goes along the others."""

    differences: ScaledDifferences
    direction: Vector

    def __call__(self, choices: Choices) -> tuple[Matrix, Vector, float, bool]:
        """Rows with their rounding; the largest step along it; whether all rows rise."""
        found = self.differences(choices)
        along = found.values @ self.direction
        # as in `separation.furthest_direction`, so that chunks and choices in memory agree: with
        # one or two parameters no linear program rounds
        slack = SEPARATION.lp_tol
        if len(self.direction) == 1:
            slack = 0.0
        room = along + (found.rounding if len(self.direction) == 2 else slack)
        broken = np.flatnonzero(room < 0)
        worst = broken[np.argsort(room[broken], kind="stable")[:MAX_VIOLATED_PER_CHUNK]]
        return (
            found.values[worst],
            found.rounding[worst],
            float(along.max(initial=0.0)),
            bool((along >= -found.rounding).all()),
        )


@dataclass
class ChunkedCone:
    """Cone of directions that lower no difference, by constraints generated in passes."""

    reducer: ChunkReducer
    differences: ScaledDifferences
    values: Matrix
    rounding: Vector
    mean: Vector
    seen: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, reducer: ChunkReducer, differences: ScaledDifferences) -> ChunkedCone | None:
        """Start with a sample of rows from each chunk; None where no row differs."""
        per_chunk = SEPARATION.initial_rows // reducer.chunks.n_chunks
        at_first = max(per_chunk, MIN_FIRST_ROWS_PER_CHUNK)
        parts = list(reducer.map_chunks(SampledRows(differences, at_first), "separation"))
        n = sum(part[0] for part in parts)
        if not n:
            return None
        total = parts[0][1]
        for part in parts[1:]:
            total = total + part[1]
        values = np.vstack([part[2] for part in parts])
        rounding = np.concatenate([part[3] for part in parts])
        return cls(
            reducer, differences, values, rounding, total / n, {row.tobytes() for row in values}
        )

    def furthest(self, goal: Vector) -> tuple[Vector, float, bool]:
        """Direction furthest along the goal, or 0; largest rise of a row; whether it is proven."""
        free = np.empty((0, len(goal)))
        while True:
            direction = separation.furthest_direction(goal, self.values, free, self.rounding)
            if not direction.any():
                return direction, 0.0, True
            parts = list(
                self.reducer.map_chunks(ViolatedRows(self.differences, direction), "separation")
            )
            if not self._add_violated_rows(parts):
                furthest = max(part[2] for part in parts)
                return direction, furthest, all(part[3] for part in parts)

    def _add_violated_rows(self, parts: list[tuple[Matrix, Vector, float, bool]]) -> bool:
        """Add violated rows; whether any was new (the same row twice would loop for ever)."""
        before = len(self.values)
        values, rounding = [self.values], [self.rounding]
        for rows, noise, _, _ in parts:
            new = [k for k, row in enumerate(rows) if row.tobytes() not in self.seen]
            self.seen |= {rows[k].tobytes() for k in new}
            values.append(rows[new])
            rounding.append(noise[new])
        self.values, self.rounding = np.vstack(values), np.concatenate(rounding)
        return len(self.values) > before


@dataclass(frozen=True)
class ResolvedOptionRemoval:
    """Transform that takes options off whose probability falls to 0 along a direction."""

    differences: ScaledDifferences
    direction: Vector

    def __call__(self, choices: Choices) -> Choices:
        """Choices without these options."""
        found = self.differences(choices)
        on_offer = np.ones(choices.n_rows, dtype=bool)
        if choices.available is not None:
            on_offer &= choices.available
        on_offer[found.rows[found.values @ self.direction > SEPARATION.resolved_tol]] = False
        return replace(choices, available=on_offer)


@dataclass(frozen=True)
class ChunkedRecession:
    """A direction along which the likelihood never falls, in units of theta.

    `excluding` takes the options that it resolves off the choices.
    """

    direction: Vector
    excluding: ResolvedOptionRemoval
    proven: bool


def recession(
    reducer: ChunkReducer, summary: ChunkSummary, scale: Vector, basis: Matrix | None = None
) -> ChunkedRecession | None:
    """Find a recession direction; None if there is none, so that the maximum exists."""
    differences = ScaledDifferences(typical_difference(reducer, scale), summary.whole, basis)
    cone = ChunkedCone.of(reducer, differences)
    if cone is None:
        return None
    direction, along, proven = cone.furthest(cone.mean)
    if not along > SEPARATION.min_rise:
        return None
    unit = differences.unit if basis is None else np.ones(basis.shape[1])
    return ChunkedRecession(direction / unit, ResolvedOptionRemoval(differences, direction), proven)


@dataclass(frozen=True)
class FeasibleMixtures:
    """Whether a direction with 1, 1/2, 1/4 ... of a second lowers no difference."""

    differences: ScaledDifferences
    first: Vector
    second: Vector

    def __call__(self, choices: Choices) -> BoolVector:
        """Feasibility of each part in these choices."""
        found = self.differences(choices)
        one, two = found.values @ self.first, found.values @ self.second
        parts = 0.5 ** np.arange(N_MIXTURES)
        return np.array(
            [bool((one + p * two >= -found.rounding - SEPARATION.lp_tol).all()) for p in parts]
        )


def combine_directions(
    reducer: ChunkReducer, differences: ScaledDifferences, first: Vector, second: Vector
) -> Vector:
    """Recession direction first + part * second, with the largest feasible part."""
    one, two = (v * differences.unit / np.abs(v * differences.unit).max() for v in (first, second))
    is_feasible = np.ones(N_MIXTURES, dtype=bool)
    for part in reducer.map_chunks(FeasibleMixtures(differences, one, two), "separation"):
        is_feasible &= part
    both = one + 0.5 ** (int(np.argmax(is_feasible)) if is_feasible.any() else N_MIXTURES) * two
    return (
        np.where(np.abs(both) > SEPARATION.rounding * np.abs(both).max(), both, 0.0)
        / differences.unit
    )


def parameter_limits(
    reducer: ChunkReducer, differences: ScaledDifferences, direction: Vector
) -> Vector:
    """Limit of each parameter along the recession directions, see `separation.parameter_limits`."""
    cone = ChunkedCone.of(reducer, differences)
    result = np.zeros(len(direction))
    assert cone is not None  # without differing rows no direction would have been found
    for a in np.flatnonzero(direction):
        sign = np.sign(direction[a])
        goal = -sign * np.eye(len(direction))[a]
        try:
            opposite = goal @ cone.furthest(goal)[0] > SEPARATION.min_rise
        except UnsolvedProgramError:  # undecided: report NaN rather than a wrong infinity
            opposite = True
        result[a] = np.nan if opposite else sign * np.inf
    return result


@dataclass(frozen=True)
class HasSmallDifferences:
    """Whether some difference from the chosen option is within the limit."""

    limit: Vector

    def __call__(self, choices: Choices) -> bool:
        """Whether there is one in these choices."""
        return separation.zero_differences(choices, self.limit) is not None


@dataclass(frozen=True)
class ZeroSmallDifferences:
    """Transform that sets differences from the chosen option within the limit to 0."""

    limit: Vector

    def __call__(self, choices: Choices) -> Choices:
        """Choices with these differences set to 0."""
        return separation.zero_differences(choices, self.limit) or choices


def near_separation(
    reducer: ChunkReducer,
    found: ChunkSummary,
    known: Identification,
    likelihood: ChunkedLikelihood,
    maximum: Maximum,
) -> Vector | None:
    """Direction that separates all but negligible differences, see `separation.near_separation`.

    `reducer` and `found` are of the choices as given, the likelihood perhaps in other coordinates.
    """
    if not known.complete:
        return None
    if known.basis is None:
        bounds = likelihood.largest_values_and_differences[1][None], maximum.information[None]
        if not separation.may_depend_on_small(
            NEGLIGIBLE_DIFFERENCE * np.array([found.total_weight]), *bounds
        )[0]:
            return None
        negligible = likelihood.small_difference_bound(maximum.theta)
        if not separation.may_depend_on_small(negligible, *bounds)[0]:
            return None
    limit = NEGLIGIBLE_DIFFERENCE * typical_difference(reducer, known.scale)
    # a list: every chunk must be visited, or the pass would be left unfinished
    if not any(list(reducer.map_chunks(HasSmallDifferences(limit), "small differences"))):
        return None
    plain = reducer.with_transform(ZeroSmallDifferences(limit))
    of_plain = summarize_chunks(plain, with_start=False)
    if known.basis is None and _has_maximum(plain, of_plain, maximum.theta):
        return None
    try:
        direction = recession(plain, of_plain, known.scale)
    # the maximum is proven; only the warning of near separation is lost
    except UnsolvedProgramError:
        return None
    return None if direction is None else direction.direction


def _has_maximum(reducer: ChunkReducer, found: ChunkSummary, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    likelihood = ChunkedLikelihood(reducer, found)
    maximum = maximise(likelihood, start=start)
    covariance, _ = scaled_inverse(maximum.information)
    return separation.certified(maximum, likelihood, covariance, found.total_weight)


@dataclass(frozen=True)
class CoordinateChange:
    """Transform to the variables of phi, where theta = basis phi."""

    basis: Matrix
    rank: int | None = None

    def __call__(self, choices: Choices) -> Choices:
        """The choices for phi."""
        return choices_in_coordinates(choices, self.basis, self.rank)


@dataclass(frozen=True)
class ChunkedSolution:
    """Solution, with the transforms that took resolved options off separated choices."""

    solution: Solution
    resolved_options: tuple[ResolvedOptionRemoval, ...] = ()


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
    steps = max_steps or MAX_NEWTON_STEPS
    reducer = ChunkReducer(chunks)
    given = summarize_chunks(reducer)
    if given.n_single == given.n_decisions:  # raises the same error as choices in memory
        single_option_notes(np.ones(given.n_decisions, dtype=np.int64))
    if given.weighted and not given.largest_weight > 0:
        raise DataError("weights must not all be zero; got a sum of 0. Give some decision weight.")
    # unusual weights are rescaled by a power of 2, which needs a second first pass
    mean = given.relative_weight / given.n_decisions
    unit = unit_of_weights(given.largest_weight, mean) if given.weighted else 1.0
    work, summary = reducer, given
    if unit != 1.0:
        work = reducer.with_transform(RescaledWeights(unit))
        summary = summarize_chunks(work)
    if parameter_prior is not None:
        found = ChunkedSolution(
            _posterior_maximum(work, summary, chunks.names, parameter_prior, begin, steps, unit)
        )
    else:
        found = _maximum_likelihood(work, summary, chunks.names, begin, steps)
    estimate = _build_estimate(chunks, work, summary, given, unit, found, parameter_prior)
    if strict:
        raise_if_wrong(estimate)
    estimate = with_covariance(estimate, covariance)
    words = (
        f"{format_count(reducer.n_passes, 'pass')[:-1]}es" if reducer.n_passes != 1 else "1 pass"
    )
    return replace(estimate, notes=(*estimate.notes, f"{words} over {chunks.describe()}."))


def _identify(
    reducer: ChunkReducer, summary: ChunkSummary, names: tuple[str, ...]
) -> Identification:
    check_units(summary.largest, names)
    return identification_from_spread(
        ChunkedScatter(reducer, summary), summary.spread, summary.largest
    )


def _maximum_likelihood(
    reducer: ChunkReducer,
    summary: ChunkSummary,
    names: tuple[str, ...],
    start: Vector | None,
    max_steps: int,
) -> ChunkedSolution:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    known = _identify(reducer, summary, names)
    likelihood = ChunkedLikelihood(reducer, summary)
    if known.rank == 0:
        return ChunkedSolution(nothing_identified(likelihood, known))
    basis, inner = known.basis, likelihood
    if basis is not None:
        turned = reducer.with_transform(CoordinateChange(basis))
        inner = ChunkedLikelihood(turned, summarize_chunks(turned))
    begin = inner.summary.start if start is None else start_in_basis(basis, start)
    maximum = maximise(inner, start=begin, max_steps=max_steps)
    inverse = scaled_inverse(maximum.information)
    if certified(maximum, inner, inverse[0], summary.total_weight):
        near = near_separation(reducer, summary, known, inner, maximum)
        return ChunkedSolution(finite_solution(known, maximum, inverse, "newton", near))
    try:
        found, decided = recession(reducer, summary, known.scale, basis), True
    except UnsolvedProgramError:
        found, decided = None, False
    # the order of checks is that of `solve.maximum_likelihood`, so that statuses agree
    if found is not None and found.proven:
        return _separated_solution(reducer, known, found, names, max_steps)
    largest = inner.largest_values_and_differences[1]
    stable_likelihood = ChunkedStableLikelihood(inner.reducer, largest, summary.largest_offset)
    stable = stable_newton(stable_likelihood, maximum.theta, max_steps, maximum.n_steps)
    if found is not None and not stable.proof:
        return _separated_solution(reducer, known, found, names, max_steps)
    if stable.settled or maximum.ending != "converged":
        maximum = stable.maximum()
        inverse = scaled_inverse(maximum.information)
    if not decided and not stable.proof:
        maximum = replace(maximum, ending=UNDECIDED)
    near = near_separation(reducer, summary, known, inner, maximum)
    proof = "linear program" if decided else "newton"
    return ChunkedSolution(finite_solution(known, maximum, inverse, proof, near))


def _separated_solution(
    reducer: ChunkReducer,
    known: Identification,
    found: ChunkedRecession,
    names: tuple[str, ...],
    max_steps: int,
) -> ChunkedSolution:
    """Limit along the recession direction: the fit to the options that it does not resolve."""
    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = clean_direction(direction, known)
    # a first pass over what is left, without the resolved options; it may be separated again
    left = reducer.with_transform(found.excluding)
    rest = _maximum_likelihood(left, summarize_chunks(left), names, None, max_steps)
    plain = replace(found.excluding.differences, basis=None)
    if rest.solution.recession is not None:
        direction = combine_directions(reducer, plain, direction, rest.solution.recession)
    where = np.zeros(len(direction))
    if known.complete:
        where = parameter_limits(reducer, plain, direction)
    theta, covariance = limit_estimate(where, known, rest.solution)
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
    return ChunkedSolution(solution, (found.excluding, *rest.resolved_options))


def _posterior_maximum(
    reducer: ChunkReducer,
    summary: ChunkSummary,
    names: tuple[str, ...],
    prior: ParameterPrior,
    start: Vector | None,
    max_steps: int,
    unit: float,
) -> Solution:
    """MAP estimate with a Gaussian prior, Eq. (6): it always exists."""
    known = _identify(reducer, summary, names)
    d = len(names)
    quadratic = quadratic_in_unit(prior.quadratic(d, known.scale), unit)
    basis = basis_with_prior_directions(known, quadratic)
    work: Any = RestrictedLikelihood(ChunkedLikelihood(reducer, summary), np.zeros(d), basis)
    if known.basis is not None:
        turned = reducer.with_transform(CoordinateChange(basis, known.rank))
        work = ChunkedLikelihood(turned, summarize_chunks(turned, with_start=False))
    within = quadratic.restricted_to(np.zeros(d), basis)
    near = summary.start if start is None else start
    begin = None if near is None else np.asarray(np.linalg.solve(basis, near), np.float64)
    maximum = maximise(work, within, begin, max_steps, patient=True)
    solution = penalised_solution(maximum.value - within(maximum.theta), known, maximum, "prior")
    theta = basis @ maximum.theta
    covariance = basis @ solution.covariance @ basis.T
    return replace(solution, theta=theta, covariance=covariance, point=theta, certainty=covariance)


@dataclass(frozen=True)
class ResolvedCounts:
    """Counts of the options that are taken off the choices, and of their decisions."""

    resolved_options: tuple[ResolvedOptionRemoval, ...]

    def __call__(self, choices: Choices) -> tuple[int, int, int]:
        """Options taken off, options that might be, and decisions without some."""
        left = choices
        for transform in self.resolved_options:
            left = transform(left)
        lost = choices.n_options - left.n_options
        return int(lost.sum()), int((choices.n_options - 1).sum()), int((lost > 0).sum())


def _separation_diagnosis(
    reducer: ChunkReducer, found: ChunkedSolution, names: tuple[str, ...]
) -> Separation | None:
    solution = found.solution
    if solution.recession is None:
        return None
    counts = np.array(
        list(reducer.map_chunks(ResolvedCounts(found.resolved_options), "separation"))
    ).sum(axis=0)
    return Separation(
        kind="complete" if counts[0] == counts[1] else "quasi-complete",
        direction=named(solution.recession, names),
        supremum=solution.log_likelihood,
        n_resolved=int(counts[2]),
    )


def _build_estimate(
    chunks: Chunks,
    reducer: ChunkReducer,
    summary: ChunkSummary,
    given: ChunkSummary,
    unit: float,
    found: ChunkedSolution,
    prior: ParameterPrior | None,
) -> Estimate:
    """Build the user's estimate from the solution and the summaries."""
    solution = solution_in_given_weights(found.solution, unit)
    reported = DataSummary(
        names=chunks.names,
        n_decisions=given.n_decisions,
        total_weight=given.total_weight,
        n_options=given.n_options,
        n_subjects=max(len(given.subjects), 1),
        null_log_likelihood=null_log_likelihood(summary) * unit,
        notes=given.notes,
    )
    separation = _separation_diagnosis(reducer, replace(found, solution=solution), chunks.names)
    scale = solution.known.scale
    quadratic = None if prior is None else prior.quadratic(len(chunks.names), scale)
    source = ChoiceSource(None, scale, quadratic, chunked=ChunkedSource(reducer, unit))
    return build_estimate(solution, reported, separation, source, prior)


@dataclass(frozen=True)
class ChunkedSource:
    """Chunks behind an estimate, for the covariances that need them; weights are in `unit`."""

    reducer: ChunkReducer
    unit: float

    @property
    def chunks(self) -> Chunks:
        """The choices."""
        return self.reducer.chunks

    def robust(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance (HC0)."""
        parts = list(self.reducer.map_chunks(SandwichMeat(theta), "robust errors"))
        total = np.zeros_like(bread)
        for part, _ in parts:
            total += part
        whole = sandwich(bread * self.unit, total)
        return whole / self.unit if parts[0][1] == "frequency" else whole

    def clustered(self, theta: Vector, bread: Matrix) -> Matrix:
        """Sandwich covariance by subject."""
        sums: dict[Any, Vector] = {}
        for labels, parts in self.reducer.map_chunks(SubjectScores(theta), "clustered errors"):
            for label, part in zip(labels, parts, strict=True):  # a subject may span chunks
                sums[label] = sums[label] + part if label in sums else part
        check_clusters(list(sums))
        rows = np.array(list(sums.values()))
        return sandwich(bread * self.unit, rows.T @ rows)


@dataclass(frozen=True)
class SandwichMeat:
    """Outer products of scores, summed."""

    theta: Vector

    def __call__(self, choices: Choices) -> tuple[Matrix, str]:
        """Meat of the sandwich of these choices, and the kind of their weights."""
        return meat(self.theta, choices), choices.weight_kind


@dataclass(frozen=True)
class SubjectScores:
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
