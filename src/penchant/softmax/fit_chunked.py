"""From chunks of choices to the estimate that all of them give, and whether it exists, in passes.

The linear programs hold a few thousand rows: in each pass every chunk gives those that the last
direction breaks worst, until none is broken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.choices.chunks import Chunks
from penchant.errors import DataError, argument
from penchant.output import format_count, single_option_notes
from penchant.softmax import separation
from penchant.softmax.choice_estimate import ChoiceSource
from penchant.softmax.chunked_likelihood import (
    ChunkReducer,
    ChunkSummary,
    InUnit,
    PassedCareful,
    PassedLikelihood,
    PassedScatter,
    null_log_likelihood,
    summarize_chunks,
)
from penchant.softmax.diagnostics import Separation
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import (
    NEWTON_STEPS,
    DataSummary,
    build_estimate,
    check_covariance,
    checked_start,
    named,
    raise_if_wrong,
    whole_basis,
    with_covariance,
)
from penchant.softmax.hypotheses import check_clusters, meat, sandwich
from penchant.softmax.identification import Identification, from_spread
from penchant.softmax.newton import UNDECIDED, Maximum, Restricted, maximise
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import scores
from penchant.softmax.separation import (
    ENOUGH,
    NEGLIGIBLE,
    ROUNDED,
    SAME,
    STRICT,
    Differences,
    UnsolvedProgramError,
    certified,
    cleaned,
    finite_where,
)
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
from penchant.softmax.solve import careful_climb, finite_solution, start_in

Bits = NDArray[np.uint64]

ROWS_PER_CHUNK = 200
SHIFTS = (44, 22, 0)  # bits of a float64 that a pass of the search for a quantile leaves open
HALVINGS = 41


@dataclass(frozen=True)
class Histogram:
    """How many differences have which leading bits, among those whose bits so far are known."""

    shift: int
    prefix: tuple[int, ...] | None  # of each variable, above the bits of the pass before

    def __call__(self, choices: Choices) -> tuple[int, list[tuple[Bits, IntVector]]]:
        """Number of rows, and for each variable leading bits with counts."""
        sizes = separation.sizes_of_differences(choices)
        bits = np.ascontiguousarray(sizes + 0.0).view(np.uint64)
        found = []
        for a, mine in enumerate(bits):
            if self.prefix is not None:
                before = np.uint64(self.shift + 22)
                mine = mine[(mine >> before) == np.uint64(self.prefix[a])]
            found.append(np.unique(mine >> np.uint64(self.shift), return_counts=True))
        return sizes.shape[1], found


def typical_difference(passes: ChunkReducer, scale: Vector) -> Vector:
    """`separation.typical_difference` to the last bit: positive floats are ordered as their bits.

    Three passes find 20, 22 and 22 of these.
    """
    d = len(scale)
    prefix: tuple[int, ...] | None = None
    rank = np.zeros(d, dtype=np.int64)
    for shift in SHIFTS:
        n, counts = 0, [dict[int, int]() for _ in range(d)]
        for rows, parts in passes.each(Histogram(shift, prefix), "size of differences"):
            n += rows
            for mine, (bits, times) in zip(counts, parts, strict=True):
                for bit, time in zip(bits.tolist(), times.tolist(), strict=True):
                    mine[bit] = mine.get(bit, 0) + time
        if not n:
            return np.where(scale > 0, scale, 1.0)
        if prefix is None:
            rank[:] = int(np.floor((n - 1) * 0.99))
        prefix = tuple(_bin(counts[a], rank, a) for a in range(d))
    size = np.array(prefix, dtype=np.uint64).view(np.float64)
    return np.where(size > 0, size, np.where(scale > 0, scale, 1.0))


def _bin(counts: dict[int, int], rank: IntVector, a: int) -> int:
    """Bin of the number of this rank, which becomes that among those of the bin."""
    for bit in sorted(counts):
        if rank[a] < counts[bit]:
            return bit
        rank[a] -= counts[bit]
    raise AssertionError("a rank is among the numbers")


@dataclass(frozen=True)
class Cut:
    """Differences of choices in fixed units."""

    unit: Vector
    whole: BoolVector
    basis: Matrix | None = None

    def __call__(self, choices: Choices) -> Differences:
        """Of these."""
        return separation.differences_in(choices, self.unit, self.whole, 0.0, self.basis)


@dataclass(frozen=True)
class FirstRows:
    """Number and sum of all differences, and some of them."""

    cut: Cut
    n_rows: int

    def __call__(self, choices: Choices) -> tuple[int, Vector, Matrix, Vector]:
        """Of these choices."""
        found = self.cut(choices)
        some = slice(None, None, max(1, len(found.values) // self.n_rows))
        return (
            len(found.values),
            found.values.sum(axis=0),
            found.values[some],
            found.rounding[some],
        )


@dataclass(frozen=True)
class Broken:
    """The worst rows that a direction lowers, and how far it goes along the others."""

    cut: Cut
    direction: Vector

    def __call__(self, choices: Choices) -> tuple[Matrix, Vector, float, bool]:
        """Rows with their rounding; the largest step along it; whether all rows rise."""
        found = self.cut(choices)
        along = found.values @ self.direction
        slack = SAME
        if len(self.direction) == 1:
            slack = 0.0
        room = along + (found.rounding if len(self.direction) == 2 else slack)
        broken = np.flatnonzero(room < 0)
        worst = broken[np.argsort(room[broken], kind="stable")[:ROWS_PER_CHUNK]]
        return (
            found.values[worst],
            found.rounding[worst],
            float(along.max(initial=0.0)),
            bool((along >= -found.rounding).all()),
        )


@dataclass
class PassedCone:
    """Directions that lower no difference, by constraints that are added from passes."""

    passes: ChunkReducer
    cut: Cut
    values: Matrix
    rounding: Vector
    mean: Vector
    seen: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, passes: ChunkReducer, cut: Cut) -> PassedCone | None:
        """All directions that lower none of some rows; None where no row differs."""
        at_first = max(separation.ROWS_AT_FIRST // passes.chunks.n_chunks, 20)
        parts = list(passes.each(FirstRows(cut, at_first), "separation"))
        n = sum(part[0] for part in parts)
        if not n:
            return None
        total = parts[0][1]
        for part in parts[1:]:
            total = total + part[1]
        values = np.vstack([part[2] for part in parts])
        rounding = np.concatenate([part[3] for part in parts])
        return cls(passes, cut, values, rounding, total / n, {row.tobytes() for row in values})

    def furthest(self, goal: Vector) -> tuple[Vector, float, bool]:
        """The direction furthest along the goal, the largest step along it, whether it is proven.

        0 where there is none.
        """
        free = np.empty((0, len(goal)))
        while True:
            direction = separation.furthest(goal, self.values, free, self.rounding)
            if not direction.any():
                return direction, 0.0, True
            parts = list(self.passes.each(Broken(self.cut, direction), "separation"))
            if not self._narrowed(parts):
                furthest = max(part[2] for part in parts)
                return direction, furthest, all(part[3] for part in parts)

    def _narrowed(self, parts: list[tuple[Matrix, Vector, float, bool]]) -> bool:
        """Whether rows are broken that were not known."""
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
class Excluding:
    """Options whose probability falls to 0 along a direction are no longer on offer."""

    cut: Cut
    direction: Vector

    def __call__(self, choices: Choices) -> Choices:
        """The choices without them."""
        found = self.cut(choices)
        on_offer = np.ones(choices.n_rows, dtype=bool)
        if choices.available is not None:
            on_offer &= choices.available
        on_offer[found.rows[found.values @ self.direction > STRICT]] = False
        return replace(choices, available=on_offer)


@dataclass(frozen=True)
class PassedRecession:
    """A direction along which the likelihood never falls, in units of theta.

    `excluding` takes what it decides off the choices.
    """

    direction: Vector
    excluding: Excluding
    proven: bool


def recession(
    passes: ChunkReducer, known: ChunkSummary, scale: Vector, basis: Matrix | None = None
) -> PassedRecession | None:
    """A recession direction, or None: then the maximum exists."""
    cut = Cut(typical_difference(passes, scale), known.whole, basis)
    cone = PassedCone.of(passes, cut)
    if cone is None:
        return None
    direction, along, proven = cone.furthest(cone.mean)
    if not along > ENOUGH:
        return None
    unit = cut.unit if basis is None else np.ones(basis.shape[1])
    return PassedRecession(direction / unit, Excluding(cut, direction), proven)


@dataclass(frozen=True)
class Bears:
    """Whether a direction with 1, 1/2, 1/4 ... of a second lowers no difference."""

    cut: Cut
    first: Vector
    second: Vector

    def __call__(self, choices: Choices) -> BoolVector:
        """Of these choices, for each part."""
        found = self.cut(choices)
        one, two = found.values @ self.first, found.values @ self.second
        parts = 0.5 ** np.arange(HALVINGS)
        return np.array([bool((one + p * two >= -found.rounding - SAME).all()) for p in parts])


def combined(passes: ChunkReducer, cut: Cut, first: Vector, second: Vector) -> Vector:
    """A recession direction along both: the first, with as much of the second as it bears."""
    one, two = (v * cut.unit / np.abs(v * cut.unit).max() for v in (first, second))
    borne = np.ones(HALVINGS, dtype=bool)
    for part in passes.each(Bears(cut, one, two), "separation"):
        borne &= part
    both = one + 0.5 ** (int(np.argmax(borne)) if borne.any() else HALVINGS) * two
    return np.where(np.abs(both) > ROUNDED * np.abs(both).max(), both, 0.0) / cut.unit


def limits(passes: ChunkReducer, cut: Cut, direction: Vector) -> Vector:
    """Where each parameter goes along the recession directions, as `separation.limits` has it."""
    cone = PassedCone.of(passes, cut)
    result = np.zeros(len(direction))
    assert cone is not None  # a direction was found, so rows differ
    for a in np.flatnonzero(direction):
        sign = np.sign(direction[a])
        goal = -sign * np.eye(len(direction))[a]
        try:
            opposite = goal @ cone.furthest(goal)[0] > ENOUGH
        except UnsolvedProgramError:
            opposite = True
        result[a] = np.nan if opposite else sign * np.inf
    return result


@dataclass(frozen=True)
class HasSmall:
    """Whether some variable hardly differs from the chosen option's."""

    limit: Vector

    def __call__(self, choices: Choices) -> bool:
        """In these choices."""
        return separation.without_differences(choices, self.limit) is not None


@dataclass(frozen=True)
class Levelled:
    """Variables that hardly differ from the chosen option's made equal to these."""

    limit: Vector

    def __call__(self, choices: Choices) -> Choices:
        """In these choices."""
        return separation.without_differences(choices, self.limit) or choices


def near_separation(
    passes: ChunkReducer,
    found: ChunkSummary,
    known: Identification,
    likelihood: PassedLikelihood,
    maximum: Maximum,
) -> Vector | None:
    """Direction that separates all but negligible differences, looked for where there may be one.

    `passes` and `found` are of the choices as given, the likelihood perhaps in other coordinates.
    """
    if not known.complete:
        return None
    if known.basis is None:
        bounds = likelihood.largest[1][None], maximum.information[None]
        if not separation.hang_on(NEGLIGIBLE * np.array([found.total_weight]), *bounds)[0]:
            return None
        negligible = likelihood.negligible_differences(maximum.theta)
        if not separation.hang_on(negligible, *bounds)[0]:
            return None
    limit = NEGLIGIBLE * typical_difference(passes, known.scale)
    if not any(list(passes.each(HasSmall(limit), "small differences"))):
        return None
    plain = passes.through(Levelled(limit))
    of_plain = summarize_chunks(plain, with_start=False)
    if known.basis is None and _has_maximum(plain, of_plain, maximum.theta):
        return None
    try:
        direction = recession(plain, of_plain, known.scale)
    except UnsolvedProgramError:  # the maximum exists all the same
        return None
    return None if direction is None else direction.direction


def _has_maximum(passes: ChunkReducer, found: ChunkSummary, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    likelihood = PassedLikelihood(passes, found)
    maximum = maximise(likelihood, start=start)
    covariance, _ = scaled_inverse(maximum.information)
    return separation.certified(maximum, likelihood, covariance, found.total_weight)


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
    passes = ChunkReducer(chunks)
    given = summarize_chunks(passes)
    if given.n_single == given.n_decisions:
        single_option_notes(np.ones(given.n_decisions, dtype=np.int64))
    if given.weighted and not given.largest_weight > 0:
        raise DataError("weights must not all be zero; got a sum of 0. Give some decision weight.")
    mean = given.relative_weight / given.n_decisions
    unit = unit_of_weights(given.largest_weight, mean) if given.weighted else 1.0
    work, known = passes, given
    if unit != 1.0:
        work = passes.through(InUnit(unit))
        known = summarize_chunks(work)
    if parameter_prior is not None:
        found = Found(_posterior(work, known, chunks.names, parameter_prior, begin, steps, unit))
    else:
        found = _maximum_likelihood(work, known, chunks.names, begin, steps)
    estimate = _estimate(chunks, work, known, given, unit, found, parameter_prior)
    if strict:
        raise_if_wrong(estimate)
    estimate = with_covariance(estimate, covariance)
    words = f"{format_count(passes.n_passes, 'pass')[:-1]}es" if passes.n_passes != 1 else "1 pass"
    return replace(estimate, notes=(*estimate.notes, f"{words} over {chunks.describe()}."))


def _identified(
    passes: ChunkReducer, known: ChunkSummary, names: tuple[str, ...]
) -> Identification:
    check_units(known.largest, names)
    return from_spread(PassedScatter(passes, known), known.spread, known.largest)


def _maximum_likelihood(
    passes: ChunkReducer,
    looked_at: ChunkSummary,
    names: tuple[str, ...],
    start: Vector | None,
    max_steps: int,
) -> Found:
    """Maximum-likelihood estimate, Eq. (4), or proof that there is none."""
    known = _identified(passes, looked_at, names)
    likelihood = PassedLikelihood(passes, looked_at)
    if known.rank == 0:
        return Found(nothing_identified(likelihood, known))
    basis, inner = known.basis, likelihood
    if basis is not None:
        turned = passes.through(InCoordinates(basis))
        inner = PassedLikelihood(turned, summarize_chunks(turned))
    begin = inner.known.start if start is None else start_in(basis, start)
    maximum = maximise(inner, start=begin, max_steps=max_steps)
    inverse = scaled_inverse(maximum.information)
    if certified(maximum, inner, inverse[0], looked_at.total_weight):
        near = near_separation(passes, looked_at, known, inner, maximum)
        return Found(finite_solution(known, maximum, inverse, "newton", near))
    try:
        found, decided = recession(passes, looked_at, known.scale, basis), True
    except UnsolvedProgramError:
        found, decided = None, False
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
    if not decided and not careful.proof:
        maximum = replace(maximum, ending=UNDECIDED)
    near = near_separation(passes, looked_at, known, inner, maximum)
    proof = "linear program" if decided else "newton"
    return Found(finite_solution(known, maximum, inverse, proof, near))


def _separated(
    passes: ChunkReducer,
    known: Identification,
    found: PassedRecession,
    names: tuple[str, ...],
    max_steps: int,
) -> Found:
    """The limit along the recession direction: the fit to what it leaves undecided."""
    direction = found.direction if known.basis is None else known.basis @ found.direction
    direction = cleaned(direction, known)
    left = passes.through(found.excluding)
    rest = _maximum_likelihood(left, summarize_chunks(left), names, None, max_steps)
    plain = replace(found.excluding.cut, basis=None)
    if rest.solution.recession is not None:
        direction = combined(passes, plain, direction, rest.solution.recession)
    where = np.zeros(len(direction))
    if known.complete:
        where = limits(passes, plain, direction)
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
    passes: ChunkReducer,
    looked_at: ChunkSummary,
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
        work = PassedLikelihood(turned, summarize_chunks(turned, with_start=False))
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


def _separation(passes: ChunkReducer, found: Found, names: tuple[str, ...]) -> Separation | None:
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
    passes: ChunkReducer,
    known: ChunkSummary,
    given: ChunkSummary,
    unit: float,
    found: Found,
    prior: ParameterPrior | None,
) -> Estimate:
    """Put what was found into words and numbers for the user."""
    solution = as_given(found.solution, unit)
    facts = DataSummary(
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
    source = ChoiceSource(None, scale, quadratic, passed=PassedSource(passes, unit))
    return build_estimate(solution, facts, separation, source, prior)


@dataclass(frozen=True)
class PassedSource:
    """Chunks behind an estimate, for the covariances that need them; weights are in `unit`."""

    passes: ChunkReducer
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
