"""The population's mean and spread: nodes are placed, F is maximised, until nothing moves.

Rough nodes first; the last rounds have all of them. A subject's nodes lie about the mean of its
posterior, as wide as it is, both taken from the nodes before; only those who moved get new ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.population.hierarchy.likelihoods import People
from penchant.population.hierarchy.marginal import Known, Marginal, Structure
from penchant.population.hierarchy.nodes import (
    MOST,
    N_DRAWS,
    ROUGH,
    Posterior,
    Rule,
    find_modes,
    placed_nodes,
    posterior_at_modes,
    posterior_by_nodes,
    shift_of,
    starting_places,
)

MOST_ROUNDS = 60
MOST_STEPS = 60
STILL = 1e-3  # standard errors by which a parameter may move in the last round
PATIENCE = 15  # rounds after which a little more is still enough
NEARLY = 0.2  # the same, below which all nodes are placed; more for a crowd
MOVED = 0.1  # posterior standard deviations by which a subject may move without new nodes
SHARPEST = 8.0  # largest t of a spread: a correlation of 0.992
TRUSTED = 0.7  # by which a number of the spread may change before nodes are placed anew
THINNEST = 0.002  # smallest standard deviation, in those of a subject's likelihood
AT_BOUND = 25.0  # times that: no spread
ALONE = 0.1  # smallest standard deviation of its own beside correlated ones, in the same units
MANY = 1000.0  # subjects from which on a smaller one could be told
MOST_REPEATS = 20
FARTHEST = 0.7  # by which a logarithm of a spread may change in one step
SHORTEST = 0.02  # share of a step that is taken at least
FALLEN = 0.5  # log-units by which F may be lower on new nodes, for each hundred subjects
WOBBLE = 0.5  # standard errors by which new nodes may still move a parameter
AHEAD = 8.0  # steps of expectation and maximisation that one extrapolation is worth at most
LAST_STEP = 0.05  # standard errors, were people known, that such a step may still have
FIRST_DRAWS = 4  # of so many draws one, while steps are long
CALM = 6  # rounds over which F gains
GAINED = 0.5  # log-units at most, where steps go on along a ridge
MOST_ANEW = 3  # times that nodes are placed about posteriors of another population
MOST_PLACED = 8  # times that draws are placed anew about a maximum
NODES_AT_ONCE = 500_000  # of as many people as are looked at together with finer rules
NODES_OF_ALL = 80_000  # of all people together, where more are not needed


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched, and how.

    Attributes
    ----------
    people, structure
        Whose likelihoods, and who depends on what.
    k, n_draws
        Nodes in each direction; places in the weights where there are too many directions.
    restricted
        REML.
    still, near
        Standard errors by which a parameter may move in the last round, and posterior standard
        deviations by which a subject may without new nodes.
    more
        Nodes more in each shape parameter.
    away_from_zero
        Whether spreads have the weak prior that keeps them from vanishing.
    """

    people: People
    structure: Structure
    k: int
    restricted: bool
    n_draws: int = N_DRAWS
    still: float = STILL
    near: float = MOVED
    more: int = 0
    away_from_zero: bool = False

    def rule(self, k: int) -> Rule:
        """Nodes of the coordinates that differ between people."""
        q = self.people.coordinates.n_shape
        n_shape = int((self.structure.random < q).sum())
        n_weights = len(self.structure.random) - n_shape
        return Rule.of(n_shape, n_weights, k, self.n_draws, self.more)

    def coarser(self) -> Search:
        """With two nodes fewer in each direction, or half the draws."""
        drawn = len(self.structure.random) > MOST
        fewer = self.k if drawn and self.k < 5 else max(self.k - 2, 1)
        return replace(self, k=fewer, n_draws=max(self.n_draws // 2, 8))

    @property
    def goal(self) -> Goal:
        """What is maximised."""
        return Goal(self.restricted, self.away_from_zero)


class Goal(NamedTuple):
    """What is maximised: F, restricted or not, with or without a prior of the spread."""

    restricted: bool = False
    away_from_zero: bool = False

    def prior(self, s: Structure, x: Vector) -> tuple[float, Vector, Matrix]:
        """Of the spread, with its derivatives in all parameters."""
        gradient, hessian = np.zeros(len(x)), np.zeros((len(x), len(x)))
        if not self.away_from_zero:
            return 0.0, gradient, hessian
        value, gradient[s.n_beta :], hessian[s.n_beta :, s.n_beta :] = s.spread.prior(x[s.n_beta :])
        return value, gradient, hessian

    def tilt(self, marginal: Marginal, x: Vector, known: Known, held: BoolVector) -> Tilt:
        """What is added to F about x."""
        if not (self.restricted and marginal.structure.spread.n_parameters):
            return Tilt(self, np.zeros(len(x)))
        return Tilt(self, -0.5 * _slope_of_determinant(marginal, x, known, held))

    def level(self, marginal: Marginal, x: Vector) -> float:
        """How high a place is."""
        s = marginal.structure
        if not self.restricted:
            return marginal.value(x) + self.prior(s, x)[0]
        determinant = log_determinant(marginal.information_on_beta(x))
        return marginal.value(x) - 0.5 * determinant + self.prior(s, x)[0]


class Found(NamedTuple):
    """The population at its best: its parameters, the nodes it rests on, how the search went."""

    x: Vector
    marginal: Marginal
    known: Known
    information: Matrix
    posterior: Posterior
    held: BoolVector
    k: int
    n_rounds: int
    settled: bool
    floors: Vector
    n_draws: int


def begin(people: People, design: Matrix) -> tuple[Vector, Matrix, Matrix, Matrix]:
    """Coefficients, covariance of all coordinates, modes and informations under a broad prior."""
    centre, sd = people.typical
    n, p = len(people.subjects), len(people.coordinates)
    everyone, free = np.arange(n), np.arange(p)
    precision = np.broadcast_to(np.diag(1 / sd**2), (n, p, p))
    mean = np.broadcast_to(centre, (n, p))
    found = find_modes(people, everyone, starting_places(people), mean, precision, free)
    covariances = np.asarray(np.linalg.inv(found.information + precision), dtype=np.float64)
    beta = _regress(design, found.h, covariances)
    away = found.h - design @ beta
    spread = (away[:, :, None] * away[:, None, :]).mean(axis=0)
    diagonal = np.diag(spread) + 0.25 * np.einsum("naa->na", covariances).mean(axis=0)
    matrix = 0.5 * spread
    np.fill_diagonal(matrix, np.maximum(diagonal, 1e-4 * sd**2))
    return beta, matrix, found.h, found.information


def search(
    task: Search,
    beta: Vector,
    matrix: Matrix,
    h: Matrix,
    information: Matrix,
    numbers: Vector | None = None,
    hold: BoolVector | None = None,
    posterior: Posterior | None = None,
) -> Found:
    """The best population, from coefficients, a covariance and places of all coordinates.

    Parameters
    ----------
    hold
        Numbers of the spread that stay as they are (True), for profiles.
    posterior
        Of subjects, where a search has ended nearby: all nodes are placed at once.
    """
    people, s, goal = task.people, task.structure, task.goal
    own = matrix[np.ix_(s.random, s.random)]
    if numbers is None:
        if not s.spread.correlated:
            own = np.diag(np.diag(own))
        numbers = s.spread.numbers(np.stack([own] * s.spread.n_groups))
    x = np.concatenate([beta, numbers])
    floors = _floors(s, information, people)
    x = np.clip(x, *bounds_of(s, floors))
    held = np.zeros(len(x), dtype=bool)
    if hold is not None:
        held[s.n_beta :] = hold
    if len(s.random) > MOST:
        return _by_steps(task, x, h, floors, held, posterior)
    k = task.k if posterior is not None else min(ROUGH, task.k)
    posterior = posterior_at_modes(people, s, x, h) if posterior is None else posterior
    rule = task.rule(k)
    marginal = Marginal(placed_nodes(people, s, rule, x, posterior, np.arange(len(h))), s)
    settled, rounds, reach, level = False, 0, 1.0, -np.inf
    nearly = NEARLY * np.sqrt(_hundreds(h))  # errors of few nodes stay, standard errors shrink
    last = np.zeros(len(x))
    for rounds in range(1, MOST_ROUNDS + 1):
        best, known, information_x = maximise(
            marginal, x, floors, held, goal, task.still, trusted=True, repeats=1
        )
        if not held.any() and flat_coordinates(s, best, floors).size:
            x = best
            break
        errors = errors_by(information_x, held)
        moved = float(np.max(np.abs(best - x) / errors, initial=0.0))
        # steps to and fro are halved, steps on and on are not; late ones are short in any case
        reach = reach / 2 if last @ (best - x) < 0 else min(1.5 * reach, 1.0)
        reach = max(min(reach, PATIENCE / rounds), SHORTEST)
        here = best if reach == 1.0 else x + reach * (best - x)
        last = (here - x) / errors**2
        enough = task.still * (1e-3 if s.fixed.size else 50.0 if rule.drawn else 1.0)
        near = task.near
        if rounds > PATIENCE:  # people on the edge of new nodes take turns
            enough, near = max(enough, 50 * task.still), 5 * task.near
            if rule.drawn:  # as near as one set of draws is to another
                enough = WOBBLE
        new = posterior_by_nodes(known if here is best else marginal.at(here), s, here, posterior)
        shifted = shift_of(new, posterior)
        if s.fixed.size or rule.drawn:
            shifted = np.full(len(h), np.inf)  # known nearby only, or drawn about where it was
        stays = not (shifted > near).any() or np.isinf(shifted).all()
        if k == task.k and reach * moved < enough and moved < WOBBLE and stays:
            x, settled = best, True
            break
        moving = np.flatnonzero(shifted > near)
        finer = k < task.k and moved < nearly
        if rounds == 1 or moved > nearly or finer:
            moving = np.arange(len(h))
        if finer:
            k, rule, level = task.k, task.rule(task.k), -np.inf
        there = Posterior(posterior.centre.copy(), posterior.factor.copy())
        there.centre[moving], there.factor[moving] = new.centre[moving], new.factor[moving]
        if len(moving):
            nodes = placed_nodes(people, s, rule, here, there, moving)
            trial = Marginal(marginal.nodes.replaced(moving, nodes), s)
        else:
            trial = marginal
        reached = goal.level(trial, here)
        if reached < level - FALLEN * _hundreds(
            h
        ):  # nodes may be to blame: place them anew where it stands
            reach = 0.3 * reach
            posterior = posterior_by_nodes(marginal.at(x), s, x, posterior)
            marginal = Marginal(placed_nodes(people, s, rule, x, posterior, np.arange(len(h))), s)
            level = goal.level(marginal, x)
            continue
        x, posterior, marginal, level = here, there, trial, reached
    if not settled and rounds == MOST_ROUNDS:
        x, known, information_x = maximise(marginal, x, floors, held, goal, trusted=True)
    ended = x, marginal, known, information_x, posterior, held, k, rounds, settled, floors
    return Found(*ended, task.n_draws)


def _by_steps(
    task: Search,
    x: Vector,
    h: Matrix,
    floors: Vector,
    held: BoolVector,
    posterior: Posterior | None,
) -> Found:
    """The best population where nodes are draws.

    A maximum on few draws far from where they were placed would follow their errors. Steps there
    are those of expectation and maximisation, with few draws. From their end on F is maximised, but
    only as far as draws can be trusted, which are placed anew, in the end many of them.
    """
    people, s = task.people, task.structure
    rounds = 0
    if posterior is None:
        posterior = posterior_at_modes(people, s, x, h)
        few = replace(task, k=min(3, task.k), n_draws=max(task.n_draws // FIRST_DRAWS, 8))
        x, posterior, rounds = _expected(few, x, posterior, floors, held)
    many = max(task.n_draws, _most_draws(task))
    stages = [task, replace(task, n_draws=many)] if many > task.n_draws else [task]
    reach = _reach(s)
    settled = False
    for stage in stages:
        rule = stage.rule(stage.k)
        for _ in range(MOST_PLACED):
            rounds += 1
            marginal = Marginal(placed_nodes(people, s, rule, x, posterior, np.arange(len(h))), s)
            best, known, information = maximise(
                marginal, x, floors, held, task.goal, trusted=True, repeats=2, reach=reach
            )
            gained = task.goal.level(marginal, best) - task.goal.level(marginal, x)
            posterior, x = posterior_by_nodes(known, s, best, posterior), best
            settled = gained < WOBBLE**2 / 2
            flat = _ends_flat(task, x, held, floors)
            if settled or flat:
                break
        if flat:
            settled = False
            break
    ended = x, marginal, known, information, posterior, held, stage.k, rounds, settled, floors
    return Found(*ended, stage.n_draws)


def _ends_flat(task: Search, x: Vector, held: BoolVector, floors: Vector) -> bool:
    """Whether a spread has vanished, and nothing keeps it from that."""
    kept = held.any() or task.away_from_zero
    return not kept and bool(flat_coordinates(task.structure, x, floors).size)


def _reach(s: Structure) -> float:
    """By how much numbers of the spread may change on given draws: the less, the more there are."""
    return 2 * TRUSTED / len(s.random)


def _most_draws(task: Search) -> int:
    """Draws on which a search ends: as many as nodes of all people fit in, up to eight times."""
    room = NODES_OF_ALL / (len(task.structure.design) * task.rule(task.k).n_nodes)
    return task.n_draws * int(2 ** np.floor(np.log2(np.clip(room, 1.0, 8.0))))


def _expected(
    task: Search, x: Vector, posterior: Posterior, floors: Vector, held: BoolVector
) -> tuple[Vector, Posterior, int]:
    """Steps of expectation and maximisation, two of which are extrapolated, until F gains little.

    Each is up the slope by the information that there would be if people were known, and draws are
    placed anew after it.
    """
    people, s, goal = task.people, task.structure, task.goal
    n = len(posterior.centre)
    bounds, rule = bounds_of(s, floors), task.rule(task.k)
    way, values = _Way(s, bounds, FALLEN * max(1.0, n / 100)), [-np.inf]
    rounds, most = 0, MOST_ROUNDS // 2
    while rounds < most:
        rounds += 1
        marginal = Marginal(placed_nodes(people, s, rule, x, posterior, np.arange(n)), s)
        known = marginal.at(x)
        if way.fell(known.value):
            x = way.back()
            continue
        posterior = posterior_by_nodes(known, s, x, posterior)
        step, errors = _step_of_em(marginal, x, known, goal, held, bounds)
        values.append(known.value + goal.prior(s, x)[0])
        settled = bool(np.max(np.abs(step) / errors, initial=0.0) < LAST_STEP)
        settled |= bool(max(values) - max(values[:-CALM], default=-np.inf) < GAINED)
        if settled or _ends_flat(task, x, held, floors):
            break
        x = way.on(x, step, errors, known.value)
    return x, posterior, rounds


def _hundreds(h: Matrix) -> float:
    """Hundreds of subjects, each of whose integrals has an error of its own; at least one."""
    return max(1.0, len(h) / 100)


class _Way:
    """Steps that are extrapolated, two at a time (Varadhan and Roland 2008), within bounds."""

    def __init__(self, s: Structure, bounds: tuple[Vector, Vector], fallen: float) -> None:
        self._first, self._fallen = s.n_beta, fallen
        self._bounds = bounds
        self._before: Vector | None = None
        self._reached: tuple[Vector, float] | None = None

    def fell(self, value: float) -> bool:
        """Whether F is lower than before the last extrapolation."""
        return self._reached is not None and value < self._reached[1] - self._fallen

    def back(self) -> Vector:
        """Where the last step ended that was not extrapolated."""
        assert self._reached is not None
        x, self._reached, self._before = self._reached[0], None, None
        return x

    def on(self, x: Vector, step: Vector, errors: Vector, value: float) -> Vector:
        """Where to go next."""
        longest = np.abs(step[self._first :]).max(initial=0.0)
        low, high = self._bounds
        share = min(1.0, FARTHEST / max(float(longest), 1e-9))
        new = np.asarray(np.clip(x + share * step, low, high))
        before, self._reached = self._before, None
        self._before = x if before is None else None
        if before is None:
            return new
        one, change = x - before, (new - x) - (x - before)
        bend = max(float(np.linalg.norm(change / errors)), 1e-12)
        ahead = min(max(float(np.linalg.norm(one / errors)) / bend, 1.0), AHEAD)
        self._reached = new, value
        return np.asarray(np.clip(before + 2 * ahead * one + ahead**2 * change, low, high))


def _step_of_em(
    marginal: Marginal,
    x: Vector,
    known: Known,
    goal: Goal,
    held: BoolVector,
    bounds: tuple[Vector, Vector],
) -> tuple[Vector, Vector]:
    """Up the slope by the information of people who are known, and the errors by that."""
    s = marginal.structure
    slope = known.gradient + goal.prior(s, x)[1]
    if goal.restricted:
        slope -= 0.5 * _slope_of_determinant(marginal, x, known, held)
    information = marginal.complete_information(x, known)
    step = np.zeros(len(x))
    stuck = ((x <= bounds[0]) & (slope < 0)) | ((x >= bounds[1]) & (slope > 0))
    free = np.flatnonzero(~held & ~stuck)
    step[free] = _step(slope[free], information[np.ix_(free, free)])
    return step, errors_by(information, held)


def spread_shares(s: Structure, x: Vector, floors: Vector) -> Vector:
    """Standard deviations between people over those of a likelihood, in the widest group."""
    if not s.spread.size:
        return np.zeros(0)
    sd = np.sqrt(np.einsum("gaa->ga", s.spread.matrices(x[s.n_beta :])))
    return np.asarray((THINNEST * sd / np.exp(floors)).max(axis=0))


def flat_coordinates(s: Structure, x: Vector, floors: Vector) -> IntVector:
    """Coordinates with hardly any spread, in every group."""
    return np.flatnonzero(spread_shares(s, x, floors) < AT_BOUND * THINNEST)


def evaluated(task: Search, found: Found) -> Vector:
    """Evidences with the nodes of another search about the same posteriors."""
    s, rule = task.structure, task.rule(task.k)
    at_once = max(NODES_AT_ONCE // rule.n_nodes, 1)
    found_so_far = []
    for first in range(0, len(s.design), at_once):
        which = np.arange(first, min(first + at_once, len(s.design)))
        own = task.people, s, rule, found.x, found.posterior, which
        nodes = placed_nodes(*own, on_fixed=False)
        mine = s._replace(design=s.design[which], group=s.group[which], counts=s.counts[which])
        found_so_far.append(Marginal(nodes, mine).evidence(found.x))
    return np.concatenate(found_so_far)


def elsewhere(task: Search, found: Found) -> Marginal:
    """The nodes of another search about the same posteriors."""
    everyone = np.arange(len(found.posterior.centre))
    own = task.people, task.structure, task.rule(task.k), found.x, found.posterior
    return Marginal(placed_nodes(*own, everyone), task.structure)


class Placed(NamedTuple):
    """Nodes, and the posteriors about which they lie."""

    marginal: Marginal
    posterior: Posterior


def placed_anew(task: Search, x: Vector, nearby: Placed) -> Placed:
    """Nodes about the posteriors under another population, by those of one nearby."""
    s, rule, everyone = task.structure, task.rule(task.k), np.arange(len(task.structure.design))
    marginal, before = nearby
    for _ in range(MOST_ANEW):
        posterior = posterior_by_nodes(marginal.at(x), s, x, before)
        marginal = Marginal(placed_nodes(task.people, s, rule, x, posterior, everyone), s)
        if shift_of(posterior, before).max(initial=0.0) < WOBBLE:
            break
        before = posterior
    return Placed(marginal, posterior)


def would_move(marginal: Marginal, found: Found) -> float:
    """Standard errors by which other nodes would move a coefficient or a spread, at most."""
    low, high = bounds_of(marginal.structure, found.floors)
    free = np.flatnonzero(~found.held & (found.x > low + 1e-9) & (found.x < high - 1e-9))
    information = found.information[np.ix_(free, free)]
    errors = errors_by(information, found.held[free])
    gained = (marginal.at(found.x).gradient - found.known.gradient)[free]
    return float(np.max(np.abs(_step(gained, information)) / errors, initial=0.0))


def maximise(
    marginal: Marginal,
    x: Vector,
    floors: Vector,
    held: BoolVector,
    goal: Goal,
    still: float = STILL,
    *,
    trusted: bool = False,
    repeats: int = MOST_REPEATS,
    reach: float = TRUSTED,
) -> tuple[Vector, Known, Matrix]:
    """The maximum of F, or of F - log|information on beta| / 2 if restricted, on given nodes.

    Parameters
    ----------
    still
        Standard errors by which parameters may be off.
    trusted, reach
        Go no farther than the nodes reach: by so much in numbers of the spread.
    repeats
        How often the slope of the determinant is taken anew.
    """
    s = marginal.structure
    known = marginal.at(x)
    bounds = trusted_bounds(s, x, floors, reach) if trusted else bounds_of(s, floors)
    enough = max((0.03 * still) ** 2, 1e-14)
    for _ in range(repeats if goal.restricted else 1):
        tilt = goal.tilt(marginal, x, known, held)
        before = x
        x, known = climb(marginal, x, tilt, bounds, held, enough, known)
        information = -known.hessian - goal.prior(s, x)[2]
        errors = errors_by(information, held)
        if np.max(np.abs(x - before) / errors, initial=0.0) < still:
            break
    return x, known, information


class Tilt(NamedTuple):
    """What is added to F: a prior, and a slope."""

    goal: Goal
    linear: Vector

    def __call__(self, s: Structure, x: Vector) -> tuple[float, Vector, Matrix]:
        """Its value, gradient and Hessian at x."""
        value, gradient, hessian = self.goal.prior(s, x)
        return value + float(self.linear @ x), gradient + self.linear, hessian


def climb(
    marginal: Marginal,
    x: Vector,
    tilt: Tilt,
    bounds: tuple[Vector, Vector],
    held: BoolVector,
    enough: float,
    known: Known | None = None,
) -> tuple[Vector, Known]:
    """The maximum of F and what is added to it: Newton's method, to a promise of `enough`."""
    low, high = bounds
    s = marginal.structure
    known = marginal.at(x) if known is None else known
    more, on_x, bend = tilt(s, x)
    value = known.value + more
    for _ in range(MOST_STEPS):
        slope = known.gradient + on_x
        stuck = ((x <= low) & (slope < 0)) | ((x >= high) & (slope > 0))
        free = np.flatnonzero(~held & ~stuck)
        if not len(free):
            break
        step = np.zeros(len(x))
        step[free] = _step(slope[free], -(known.hessian + bend)[np.ix_(free, free)])
        promised = float(step @ slope)
        if promised < enough:
            break
        changed = np.abs(step[s.n_beta :]).max(initial=0.0)
        step *= min(1.0, FARTHEST / max(changed, 1e-300))
        fraction = 1.0
        while fraction > 1e-8:
            trial = np.clip(x + fraction * step, low, high)
            new = marginal.at(trial)
            added = tilt(s, trial)
            gained = new.value + added[0] - value if np.isfinite(new.hessian).all() else -np.inf
            if gained >= 1e-4 * fraction * min(promised, 1.0) or (
                fraction == 1.0 and gained >= -1e-10 and promised < 1e-6
            ):
                break
            fraction /= 3
        else:
            break
        x, known, value, (_, on_x, bend) = trial, new, new.value + added[0], added
    return x, known


def _step(slope: Vector, information: Matrix) -> Vector:
    """Newton's step, uphill where F is not concave."""
    size = np.abs(np.diag(information))
    scale = np.sqrt(np.where(size > 1e-12, size, 1.0))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    bent = np.maximum(np.abs(values), 1e-8)
    return np.asarray(vectors @ ((vectors.T @ (slope / scale)) / bent) / scale)


def _slope_of_determinant(marginal: Marginal, x: Vector, known: Known, held: BoolVector) -> Vector:
    """Derivative of log|information on beta| in the numbers of the spread, beta following."""
    s = marginal.structure
    b = s.n_beta
    own = -known.hessian[:b, :b]
    follow = np.column_stack([-_step(column, own) for column in known.hessian[:b, b:].T])
    found = np.zeros(len(x))
    step = 1e-4
    for a in range(b, len(x)):
        if held[a]:
            continue
        sides = []
        for sign in (1.0, -1.0):
            at = x.copy()
            at[a] += sign * step
            at[:b] -= sign * step * follow[:, a - b]
            sides.append(log_determinant(marginal.information_on_beta(at)))
        found[a] = (sides[0] - sides[1]) / (2 * step)
    return found


def log_determinant(information: Matrix) -> float:
    """Of an information; what is not told at all counts as hardly told."""
    size = np.abs(np.diag(information))
    scale = np.sqrt(np.where(size > 1e-12, size, 1.0))
    values = np.linalg.eigvalsh(information / np.outer(scale, scale))
    return float(np.log(np.maximum(np.abs(values), 1e-12)).sum() + 2 * np.log(scale).sum())


def bounds_of(s: Structure, floors: Vector) -> tuple[Vector, Vector]:
    """Of all parameters: spreads do not vanish, correlations stay below 1.

    What a coordinate has of its own beside those before it ends where it cannot be told from none:
    a covariance of less than full rank is reached there, not crept towards for ever.
    """
    n_beta, r = s.n_beta, s.spread.size
    lowest = floors[s.spread.places]
    if s.spread.correlated:
        told = ALONE * min(1.0, (MANY / max(len(s.counts), 1)) ** 0.25)
        lowest[1:] += np.log(told / THINNEST)
    size = n_beta + s.spread.n_parameters
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    for g in range(s.spread.n_groups):
        first = n_beta + g * s.spread.n_block
        low[first : first + r] = lowest
        low[first + r : first + s.spread.n_block] = -SHARPEST
        high[first + r : first + s.spread.n_block] = SHARPEST
    return low, high


def trusted_bounds(
    s: Structure, x: Vector, floors: Vector, reach: float = TRUSTED
) -> tuple[Vector, Vector]:
    """No farther from x than the nodes reach: a spread much narrower falls between them."""
    room = np.full(len(x), np.inf)
    room[: len(s.room)] = s.room
    for g in range(s.spread.n_groups):
        first = s.n_beta + g * s.spread.n_block
        room[first : first + s.spread.size] = reach
        below = slice(first + s.spread.size, first + s.spread.n_block)
        room[below] = reach * np.sqrt(1 + x[below] ** 2)
    low, high = bounds_of(s, floors)
    return np.maximum(low, x - room), np.minimum(high, x + room)


def _floors(s: Structure, information: Matrix, people: People) -> Vector:
    """Logarithm of the smallest spread of each coordinate that is looked at."""
    known = np.einsum("naa->na", information)[:, s.random]
    typical = people.typical.sd[s.random]
    sd = 1.0 / np.sqrt(np.maximum(np.median(known, axis=0), 1.0 / (10 * typical) ** 2))
    return np.asarray(np.log(THINNEST * sd))


def errors_by(information: Matrix, held: BoolVector) -> Vector:
    """Standard errors by which moves are judged, whatever is not told."""
    size = np.abs(np.diag(information))
    scale = np.sqrt(np.where(size > 1e-12, size, 1.0))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    inverse = (vectors / np.maximum(np.abs(values), 1e-8)) @ vectors.T
    return np.asarray(np.where(held, np.inf, np.sqrt(np.diag(inverse)) / scale))


def _regress(design: Matrix, h: Matrix, covariances: Matrix) -> Vector:
    """Coefficients of least squares, people who tell more counting more."""
    variance = np.einsum("naa->na", covariances)
    weight = 1.0 / (variance + np.median(variance, axis=0))
    left = np.einsum("nab,na,nac->bc", design, weight, design)
    right = np.einsum("nab,na,na->b", design, weight, h)
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])
