"""Parameters whose order of magnitude the choices do not tell: "weakly identified".

A temperature, or any other parameter that is 1 over a weight or a weight that must be positive, is
weakly identified if a value e^1.96, about seven, times as large or as small as the estimate is in
its 95 % interval, by the curvature or by the likelihood ratio. By the curvature that is a standard
error as large as the parameter itself. A ratio of weights (a prior mean, a bonus) may be 0 or
negative: its unit is the largest entry of the variable that it is relative to over the largest of
its own, for a prior mean the largest reward that was expected, and it is weakly identified if its
standard error is larger. Shape parameters are asked for all of their range only: where they are
unknown, so that choices mean little, the temperature moves with them. With five decisions or fewer
for each parameter the rule does not ask, and a note says so: there the maximum is what there is.

Whatever the number of decisions, two more things are asked. The logarithm of a positive weight
that is a parameter, or behind one, must have a standard error below 1.96: beyond, its interval
spans three orders of magnitude. And rates near 0 that can grow a thousandfold, in
proportion, inside the 95 % interval are not told.

A weight of 0 leaves the shape of its variable without meaning (Davies 1977): towards an infinite
temperature the likelihood ratio has one degree of freedom more for each shape parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.choices import Choices
from penchant.errors import argument, prior_advice, profile_interval_advice, weak_prior_argument
from penchant.inference.intervals import still_above
from penchant.inference.profile.profiles import Problem, Profiles
from penchant.inference.proportional import SMALL, points_along_ridges
from penchant.inference.search.grid import Searched, grids_of, known_grids
from penchant.inference.search.peaks import Peak, Peaks
from penchant.models.natural import Natural
from penchant.models.priors import DensityPrior
from penchant.softmax import separation as separating
from penchant.softmax.constraints import null_basis
from penchant.softmax.separation import (
    NEGLIGIBLE,
    UnsolvedProgramError,
    cleaned,
    negligible_differences,
)
from penchant.softmax.solution import Solution, prepared
from penchant.tails import chi_square_isf, normal_isf

NONE = 1e-9  # of an information scaled to unit diagonal: what is left of none at all


def told(
    problem: Problem, choices: Choices, slopes: Matrix | None, solution: Solution
) -> BoolVector:
    """Shape parameters that the decisions left undecided along a separating direction tell.

    Decisions that are certain in the limit say nothing more of psi: it may move until one of them
    is lost. The others are the choices of a model of their own, of which psi may be identified. A
    density of the prior tells it, whatever the choices say. `slopes`: of the variables of the
    choices, (n_shape, n_decisions, n_options, n_weights).
    """
    assert solution.resolved is not None and solution.recession is not None
    if slopes is None:
        return np.zeros(0, dtype=bool)
    _, n, n_options, d = slopes.shape
    possible = ~solution.resolved.reshape(n, n_options)
    undecided = np.flatnonzero(possible.sum(axis=1) > 1)
    possible, slopes = possible[undecided], slopes[:, undecided]
    x = choices.explanatory.reshape(n, n_options, d)[undecided]
    theta = np.where(np.isfinite(solution.point), solution.point, 0.0)
    moved = np.einsum("qnid,d->niq", slopes, theta)
    sharp = np.einsum("qnid,d->niq", slopes, solution.recession)
    information = _information(np.concatenate([x, moved], axis=2), x @ theta, possible)
    own = np.diag(_information(sharp, x @ theta, possible)) > 0
    return np.asarray(own | _identified(information)[d:] | _held(problem))


def _held(problem: Problem) -> BoolVector:
    """Shape parameters that the prior has a density of."""
    held = np.zeros(problem.n_shape, dtype=bool)
    if problem.prior is not None and isinstance(problem.prior, DensityPrior):
        named = [n for n in problem.profiles.natural if _has_density(problem, n)]
        held[[n.index for n in named if n.is_shape]] = True
    return held


def _has_density(problem: Problem, natural: Natural) -> bool:
    """Whether the prior has a density of a parameter, or of the weight that stands for a ratio."""
    assert isinstance(problem.prior, DensityPrior)
    names = [natural.name]
    if natural.is_ratio:
        names.append(problem.model.weights[natural.index])
    return any(map(problem.prior.holds, names))


def _information(columns: Matrix, objective: Matrix, possible: BoolVector) -> Matrix:
    """Scatter of columns (n, n_options, c) among the options that are still possible."""
    top = np.where(possible, objective, -np.inf).max(axis=1, keepdims=True)
    p = np.where(possible, np.exp(np.where(possible, objective - top, 0.0)), 0.0)
    p /= p.sum(axis=1, keepdims=True)
    away = np.where(possible[:, :, None], columns, 0.0)
    away = away - np.einsum("ni,nic->nc", p, away)[:, None]
    found: Matrix = np.einsum("ni,nia,nib->ab", p, away, away)
    size = np.einsum("ni,nia,nia->a", p, columns, columns)
    root = np.sqrt(size)
    noise = NONE**2 * np.outer(root, root)  # what rounding leaves of equal columns
    return np.where(np.abs(found) > noise, found, 0.0)


def _identified(information: Matrix) -> BoolVector:
    """Parameters that no direction without information changes."""
    diagonal = np.diag(information)
    known = diagonal > 0
    scale = np.sqrt(np.where(known, diagonal, 1.0))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    null = vectors[:, values < NONE]
    return np.asarray(known & (np.abs(null) < np.sqrt(NONE)).all(axis=1))


EXPECTED = ("initial_value", "initial_mean", "centre")
FAR = 10.0  # times the range of rewards


def are_run_off(profiles: Profiles, peaks: Peaks) -> BoolVector:
    """Whether what is expected before play lies far from all rewards of a subject.

    Such a value is one end of a ridge: a temperature so high, or a rate so near 1, that the value
    could be ten times as large, and choices tell a product alone.
    """
    found = np.zeros(len(peaks), dtype=bool)
    named = _expected(profiles)
    if not named:
        return found
    low, high = _ends(profiles, peaks.points.subject)
    for natural in named:
        values = _values(natural, peaks.points.theta)
        found |= ~_is_near(values, low, high)
    return found


def run_off_words(profiles: Profiles, peak: Peak) -> str:
    """What is to be said of one that has run off, or nothing."""
    named = _expected(profiles)
    if not named:
        return ""
    low, high = _ends(profiles, peak.alone().points.subject)
    theta = peak.point.theta[None]
    for natural in named:
        value = _values(natural, theta)
        if not _is_near(value, low, high)[0]:
            return (
                f"{natural.name} has run off to {value[0]:.4g}, more than {FAR:g} times the range "
                f"of the rewards ({low[0]:g} to {high[0]:g}) away from them: choices tell what it "
                "makes of other parameters, and not how large it is. Hold it fixed."
            )
    return ""


def _expected(profiles: Profiles) -> list[Natural]:
    """What is expected before play; nothing among offers, which have no rewards."""
    named = [n for n in profiles.natural if n.is_ratio and n.name in EXPECTED]
    if profiles.prior is not None or not named:
        return []
    played = all(hasattr(episode, "rewards") for episode in profiles.record.episodes)
    return named if played else []


def _values(natural: Natural, theta: Matrix) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return natural.of_weights(theta)


def _is_near(values: Vector, low: Vector, high: Vector) -> BoolVector:
    reach = FAR * (high - low)
    with np.errstate(invalid="ignore"):
        near = (values >= low - reach) & (values <= high + reach)
    # rewards that are all the same, or none, have no range to compare with
    return np.asarray(near | ~(reach > 0) | ~np.isfinite(values))


def _ends(profiles: Profiles, subject: IntVector) -> tuple[Vector, Vector]:
    """Smallest and largest reward of each subject; NaN without any."""
    first = profiles.first_event
    rewards = [profiles.record.rewards[first[s] : first[s + 1]] for s in subject.tolist()]
    seen = [mine[np.isfinite(mine)] for mine in rewards]
    low = [mine.min() if len(mine) else np.nan for mine in seen]
    high = [mine.max() if len(mine) else np.nan for mine in seen]
    return np.array(low), np.array(high)


def holds_weights(problem: Problem) -> bool:
    """Whether the prior says anything of the weights."""
    prior = problem.prior
    if prior is None or not isinstance(prior, DensityPrior):
        return prior is not None
    return len(held_rows(problem, np.ones(len(problem.model.weights)))) > 0


def leaves_free(problem: Problem, theta: Vector, largest: Vector) -> bool:
    """Whether some direction of the weights leaves the prior as it is, or there is none."""
    if problem.prior is None or not isinstance(problem.prior, DensityPrior):
        return problem.prior is None
    unit = np.where(largest > 0, largest, 1.0)
    return bool(null_basis(held_rows(problem, theta) / unit, len(theta)).shape[1])


def held_rows(problem: Problem, theta: Vector) -> Matrix:
    """Rows c with c'v = 0 for directions v of the weights that leave all densities as they are.

    A ratio stays where its weights grow in proportion.
    """
    rows = []
    d = len(theta)
    assert isinstance(problem.prior, DensityPrior)
    for natural in problem.profiles.natural:
        if natural.is_shape or not _has_density(problem, natural):
            continue
        row = natural.denominator(theta) * np.eye(d)[natural.index]
        for other in natural.weights[1:]:
            row = row - theta[natural.index] * np.eye(d)[other]
        rows.append(row)
    return np.array(rows).reshape(-1, d)


def let_go(problem: Problem, choices: Choices, found: Solution, theta: Vector) -> Solution | None:
    """The solution where separated choices drive weights away that no density holds, or None.

    `found` is what is known of the weights, `theta` where Newton's method left them. Raises
    `UnsolvedProgramError` where that could not be told.
    """
    cone = _allowed(problem, held_rows(problem, theta))
    _, known = prepared(choices, 1)
    recession = separating.recession(choices, known.scale, cone=cone)
    if recession is None:
        return None
    direction = cleaned(recession.direction, known)
    nothing = np.full((len(theta), len(theta)), np.nan)
    return replace(
        found,
        theta=np.where(direction != 0, np.copysign(np.inf, direction), theta),
        covariance=nothing,
        certainty=nothing,
        recession=direction,
        resolved=recession.resolved,
        near=None,
        condition=np.inf,
        certificate="linear program",
    )


def nearly_let_go(
    problem: Problem, choices: Choices, theta: Vector, information: Matrix
) -> Vector | None:
    """Direction that no density holds, and that separates all but negligible differences, or None.

    Along it no density changes, so that what `hang_on` proves of maxima of the likelihood holds of
    this one: where there is such a direction, the information along it is next to nothing.
    """
    rows = held_rows(problem, theta)
    likelihood, known = prepared(choices, 1)
    largest = np.asarray(likelihood.largest)[1]
    if not known.complete:
        return None
    free = null_basis(rows / largest, len(theta))
    if not free.shape[1]:
        return None
    along = free.T @ (information / largest / largest[:, None]) @ free
    limit = 2 * len(theta) * float(negligible_differences(choices, theta, largest)[0])
    if np.linalg.eigvalsh(along)[0] > limit:
        return None
    plain = separating.without_small_differences(choices, known.scale, NEGLIGIBLE)
    if plain is None:
        return None
    try:
        recession = separating.recession(plain, known.scale, cone=_allowed(problem, rows))
    except UnsolvedProgramError:  # the maximum exists all the same
        return None
    return None if recession is None else cleaned(recession.direction, known)


def _allowed(problem: Problem, rows: Matrix) -> Matrix:
    """Rows c with c'v >= 0 for directions that leave densities, and signs, as they are."""
    cone = [rows, -rows]
    if problem.positive is not None:
        cone.append(problem.positive.matrix)
    return np.vstack(cone)


def separated_advice(sentence: str, problem: Problem) -> str:
    """What to do where weights that a prior leaves free have no maximum, or next to none."""
    if problem.prior is None or not isinstance(problem.prior, DensityPrior):
        return sentence.replace(f"{argument('method', 'firth')} or ", "").replace(
            f" or use {argument('method', 'firth')}", ""
        )
    free = [
        natural.name
        for natural in problem.profiles.natural
        if not natural.is_shape and not _has_density(problem, natural)
    ]
    if not free:
        return sentence.replace(
            f"Use {argument('method', 'firth')} or {weak_prior_argument()}, or r", "R"
        )
    density = f"ive {' and '.join(free)} a density too"
    return sentence.replace(
        f"Use {argument('method', 'firth')} or {weak_prior_argument()}", f"G{density}"
    ).replace(f"{prior_advice()} or use {argument('method', 'firth')}", f"g{density}")


REACH = float(normal_isf(0.025))  # on the logarithm: a standard error as large as the parameter
DROP = float(chi_square_isf(0.05, 1)) / 2
# Below this standard error of the logarithm, the ends are eight standard errors away: no profile is
# so skewed that it is worth a climb.
SURE = 0.25
THOUSAND = 999.0  # times larger, of rates of which only products with weights are told
FEW = 5  # decisions for each parameter: of so few no order of magnitude is expected


def _advice() -> str:
    return (
        f"{profile_interval_advice()}, and do not interpret its size. Hold it fixed, "
        f"{prior_advice()}, or collect more decisions."
    )


def weakly_identified(
    profiles: Profiles,
    grids: Searched,
    peaks: Peaks,
    covariances: Matrix,
    which: IntVector,
) -> dict[int, str]:
    """Sentences about those of some subjects whose parameters are weakly identified."""
    if profiles.prior is not None:
        return {}
    found: dict[int, list[str]] = {int(k): [] for k in which}
    reached = which
    which = which[~are_few(profiles)[peaks.points.subject[which]]]
    for natural in profiles.natural:
        if natural.is_ratio:
            for k in which[_vague(natural, peaks, covariances, which)]:
                found[int(k)].append(f"{natural.name} (its standard error is beyond its unit)")
        elif natural.is_logarithmic or (natural.is_weight and natural.index in profiles.positive):
            mine = _Positive(profiles, natural, grids, peaks, covariances, which)
            for k, words in mine.limits().items():
                found[k].append(f"{natural.name} ({' and '.join(words)})")
    reached = np.array([k for k in reached if not found[int(k)]], dtype=np.int64)
    unknown = _unknown_weights(profiles, peaks, covariances)
    for k in reached.tolist():
        found[k] += unknown[k]
    for k, names in _small_rates(profiles, peaks, reached).items():
        found[k].append(f"{' and '.join(names)} (a thousandfold, in proportion)")
    return {k: _sentence(said) for k, said in found.items() if said}


def _unknown_weights(profiles: Profiles, peaks: Peaks, covariances: Matrix) -> list[list[str]]:
    """Parameters of each peak whose positive weight is known to three orders of magnitude only.

    A part of a sum may well be 0: what the sum is made of is a share, which is known then.
    """
    found: list[list[str]] = [[] for _ in range(len(peaks))]
    for natural in profiles.natural:
        a = natural.index
        alone = natural.is_ratio or natural.weights == (a,)
        if natural.is_shape or not alone or a not in profiles.positive:
            continue
        behind = "" if natural.is_weight else f" (the weight {profiles.weights[a]} behind it)"
        with np.errstate(invalid="ignore"):
            unknown = covariances[:, a, a] > (REACH * peaks.points.theta[:, a]) ** 2
        for k in np.flatnonzero(unknown):
            found[k].append(f"{natural.name}{behind}")
    return found


def _small_rates(profiles: Profiles, peaks: Peaks, which: IntVector) -> dict[int, list[str]]:
    """Rates near 0 that can grow a thousandfold inside the 95 % interval, by their names."""
    highest = np.array([shape.high for shape in profiles.shape])
    which = which[(peaks.points.psi[which] < SMALL * highest).any(axis=1)]
    if not len(which):
        return {}
    subject, psi = peaks.points.subject[which], peaks.points.psi[which]
    row, multiples, points = points_along_ridges(profiles, subject, psi)
    inside = points.value > peaks.points.value[which[row]] - DROP
    moved = points.psi > psi[row]
    return {
        int(which[row[i]]): [s.name for s, far in zip(profiles.shape, moved[i], strict=True) if far]
        for i in np.flatnonzero(inside & (multiples > THOUSAND))
    }


def are_few(profiles: Profiles) -> BoolVector:
    """Subjects with so few decisions that the rule does not ask; a note says so."""
    return np.asarray(profiles.n_decisions <= FEW * (profiles.n_weights + profiles.n_shape))


def few_words(n_decisions: int, n_parameters: int) -> tuple[str, ...]:
    """The note on an estimate from so few decisions."""
    if n_decisions > FEW * n_parameters:
        return ()
    return (
        f"{n_decisions} decisions for {n_parameters} parameters: too few to rest on standard "
        f"errors; {profile_interval_advice('read')}.",
    )


def _sentence(said: Sequence[str]) -> str:
    return (
        f"The choices do not tell the order of magnitude of {' and '.join(said)}: a value seven "
        f"times away is inside the 95 % interval. {_advice()}"
    )


def _errors(natural: Natural, peaks: Peaks, covariances: Matrix, which: IntVector) -> Vector:
    """Standard errors by the delta method; NaN where there is no covariance."""
    slope = natural.slopes(peaks.points.theta[which])
    d = slope.shape[1]
    used = slope != 0
    both = used[:, :, None] & used[:, None, :]
    known = np.where(both, covariances[which, :d, :d], 0.0)
    variance = np.einsum("ka,kab,kb->k", slope, known, slope)
    return np.sqrt(np.where(variance >= 0, variance, np.nan))


def _vague(natural: Natural, peaks: Peaks, covariances: Matrix, which: IntVector) -> BoolVector:
    """Ratios of weights that are not known to within their unit."""
    largest = peaks.points.largest[which, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = natural.denominator(largest) / largest[:, natural.index]
        return np.asarray(_errors(natural, peaks, covariances, which) > unit)


@dataclass(frozen=True)
class _Positive:
    """A positive parameter of some subjects."""

    profiles: Profiles
    natural: Natural
    grids: Searched
    peaks: Peaks
    covariances: Matrix
    which: IntVector

    def limits(self) -> dict[int, list[str]]:
        """Towards where the interval of each subject is open, in words; only where it is."""
        value = self._values(self.peaks.points.theta)[self.which]
        error = _errors(self.natural, self.peaks, self.covariances, self.which) / value
        reached = np.zeros((len(self.which), 2), dtype=bool)
        reached[error > 1.0] = True  # by the curvature, to both sides
        with np.errstate(divide="ignore"):
            reached |= self._shown_by_cells(np.log(value))
        self._follow(np.flatnonzero(error > SURE), error, reached)
        words = "towards 0", "towards infinity"
        return {
            int(k): [w for w, far in zip(words, reached[i], strict=True) if far]
            for i, k in enumerate(self.which)
            if reached[i].any()
        }

    def _values(self, theta: Matrix) -> Vector:
        """The natural parameter at many weights."""
        with np.errstate(divide="ignore"):
            return self.natural.of_weights(np.maximum(theta, 0.0))

    def _shown_by_cells(self, centre: Vector) -> BoolVector:
        """What grids show of profiles: cells that are inside the interval, and far away."""
        found = np.zeros((len(self.which), 2), dtype=bool)
        cells, subjects = known_grids(self.grids)
        if cells is None:  # far below their peaks, all of them
            return found
        place, limit = np.full(len(self.grids), -1), np.full(len(self.grids), np.inf)
        place[self.which] = np.arange(len(self.which))
        limit[self.which] = self.peaks.points.value[self.which] - DROP
        row, cell = np.nonzero(cells.looked & (cells.values > limit[subjects, None]))
        at = place[subjects[row]]
        with np.errstate(divide="ignore"):
            away = np.log(self._values(cells.theta[row, cell])) - centre[at]
        found[at[away < -REACH], 0] = True
        found[at[away > REACH], 1] = True
        return found

    def _follow(self, rows: IntVector, error: Vector, reached: BoolVector) -> None:
        """Follow the profile outwards to both sides, where the grid does not show enough.

        One side is enough: what lies at the other is not told where the first is open.
        """
        some = rows[~reached[rows].any(axis=1)]
        if not len(some):
            return
        drops = np.full(2, DROP)
        if self.natural.is_logarithmic:
            drops[1] = float(chi_square_isf(0.05, 1 + self.profiles.n_shape)) / 2
        n, twice = len(some), np.tile(self.which[some], 2)
        cells = grids_of(self.grids, self.which[some])
        found = still_above(
            self.profiles,
            cells.take(np.tile(np.arange(n), 2)),
            self.peaks.take(twice),
            self.natural,
            twice,
            np.repeat([-REACH, REACH], n),
            np.repeat(drops, n),
            np.tile(error[some], 2),
        )
        low, high = found.reshape(2, n)
        reached[some, 0], reached[some, 1] = low, high & ~low
