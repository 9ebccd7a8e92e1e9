"""Does the maximum exist? The same questions as in `separation`, asked in passes over chunks.

The linear programs hold a few thousand rows: in each pass every chunk gives those that the last
direction breaks worst, until none is broken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.softmax import separation
from penchant.softmax.identification import Identification
from penchant.softmax.newton import Maximum, maximise
from penchant.softmax.passes import Looked, PassedLikelihood, Passes, looked
from penchant.softmax.separation import ENOUGH, NEGLIGIBLE, ROUNDED, SAME, STRICT, Differences
from penchant.softmax.solution import scaled_inverse

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
        bits = np.ascontiguousarray(sizes.T + 0.0).view(np.uint64)
        found = []
        for a, mine in enumerate(bits):
            if self.prefix is not None:
                before = np.uint64(self.shift + 22)
                mine = mine[(mine >> before) == np.uint64(self.prefix[a])]
            found.append(np.unique(mine >> np.uint64(self.shift), return_counts=True))
        return len(sizes), found


def typical_difference(passes: Passes, scale: Vector) -> Vector:
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

    passes: Passes
    cut: Cut
    values: Matrix
    rounding: Vector
    mean: Vector
    seen: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, passes: Passes, cut: Cut) -> PassedCone | None:
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
    passes: Passes, known: Looked, scale: Vector, basis: Matrix | None = None
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


def combined(passes: Passes, cut: Cut, first: Vector, second: Vector) -> Vector:
    """A recession direction along both: the first, with as much of the second as it bears."""
    one, two = (v * cut.unit / np.abs(v * cut.unit).max() for v in (first, second))
    borne = np.ones(HALVINGS, dtype=bool)
    for part in passes.each(Bears(cut, one, two), "separation"):
        borne &= part
    both = one + 0.5 ** (int(np.argmax(borne)) if borne.any() else HALVINGS) * two
    return np.where(np.abs(both) > ROUNDED * np.abs(both).max(), both, 0.0) / cut.unit


def limits(passes: Passes, cut: Cut, direction: Vector) -> Vector:
    """Where each parameter goes along the recession directions, as `separation.limits` has it."""
    cone = PassedCone.of(passes, cut)
    result = np.zeros(len(direction))
    assert cone is not None  # a direction was found, so rows differ
    for a in np.flatnonzero(direction):
        sign = np.sign(direction[a])
        goal = -sign * np.eye(len(direction))[a]
        opposite = goal @ cone.furthest(goal)[0] > ENOUGH
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
    passes: Passes,
    found: Looked,
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
        if not separation.hang_on(np.array([found.total_weight]), *bounds)[0]:
            return None
        small = likelihood.weight_of_small()
        if not separation.hang_on(np.array([small]), *bounds)[0]:
            return None
    limit = NEGLIGIBLE * typical_difference(passes, known.scale)
    if not any(list(passes.each(HasSmall(limit), "small differences"))):
        return None
    plain = passes.through(Levelled(limit))
    of_plain = looked(plain, with_start=False)
    if known.basis is None and _has_maximum(plain, of_plain, maximum.theta):
        return None
    direction = recession(plain, of_plain, known.scale)
    return None if direction is None else direction.direction


def _has_maximum(passes: Passes, found: Looked, start: Vector) -> bool:
    """Whether Newton's method proves by itself that the maximum exists."""
    likelihood = PassedLikelihood(passes, found)
    maximum = maximise(likelihood, start=start)
    covariance, _ = scaled_inverse(maximum.information)
    return separation.certified(maximum, likelihood, covariance, found.total_weight)
