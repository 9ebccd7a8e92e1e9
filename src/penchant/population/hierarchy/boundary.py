"""A population fitted to its end: with more nodes where they are few, without spreads that are 0.

A spread whose maximum is at 0 is left out, and an upper limit given. That none was found does not
mean that people are alike: they are described with the spread that a weak prior keeps from
vanishing (Chung et al. 2013), so that their intervals are not those of the mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import listing
from penchant.population.hierarchy.plan import Plan
from penchant.population.hierarchy.rules import MOST
from penchant.population.hierarchy.search import (
    Found,
    Search,
    begin,
    elsewhere,
    evaluated,
    flat_coordinates,
    search,
    spread_shares,
    would_move,
)
from penchant.population.hierarchy.spread import Spread

ONE_SIDED = 1.353  # by which F falls at a one-sided limit of 95 %
UNSETTLED = 0.1  # log-units of integration error
MOVES = 0.2  # standard errors by which other draws may move a parameter
THIN = 0.3  # standard deviations of a subject's likelihood below which a spread may be none
LOST = 0.05  # log-units that a spread must be worth
FAR = 100.0  # typical standard deviations beyond which a mean that nothing tells has run away
AT_ONE = 0.985  # correlation from which on another start is tried


class Fitted(NamedTuple):
    """The search's end, where people are described, and what is wrong."""

    task: Search
    found: Found
    about: Found
    integration_error: float
    status: dict[str, str]


class _Start(NamedTuple):
    """Where searches begin: covariance, modes and informations under a broad prior."""

    matrix: Matrix
    h: Matrix
    information: Matrix


def fit_plan(plan: Plan) -> Fitted:
    """Fit a population, and say what is wrong with it."""
    status: dict[str, str] = {}
    beta, *rest = begin(plan.people, plan.structure(plan.differing).design)
    start = _Start(*rest)
    best = _best(plan, plan.differing, beta, start)
    random, gone = list(plan.differing), []
    while True:
        thin = _without_spread(plan, random, best, start)
        if thin is None:
            break
        gone.append((random[thin[0]], best.found))
        random, best = thin[1], thin[2]
    task, found, error = best
    for a, before in gone:
        name = plan.people.coordinates.names[a]
        words = f"No spread was found in {name}"
        if len(plan.differing) <= MOST:
            most = _most_spread(plan, [*random, a], a, before, start)
            words += (
                f": its standard deviation is at most {most:.3g} "
                f"({plan.people.coordinates.links[name]})"
                if np.isfinite(most)
                else ", and the decisions set no limit to it"
            )
        status["no spread in " + name] = words + "."
    if not error.settled:
        worst = np.argsort(-np.abs(error.apart))[:5]
        people = listing(str(plan.people.subjects[i]) for i in worst)
        other, advice = f"{_other(plan, task)} nodes", f"give more than nodes={task.k}"
        if len(task.structure.random) > MOST:
            other, advice = "other draws", "let fewer parameters differ (random=[...])"
        status["integration not settled"] = (
            f"The log-likelihood changes by {error.total:.2g} with {other}, most for {people}: "
            f"{advice}."
        )
    if not found.settled:
        status["stopped early"] = (
            f"The search stopped after {found.n_rounds} rounds before parameters stood still."
        )
    about = _described(plan, found, beta, start) if gone else found
    return Fitted(task, found, about, abs(error.total), status)


class _Reached(NamedTuple):
    """A search, its end, and how much nodes change it."""

    task: Search
    found: Found
    error: _Error

    @classmethod
    def of(cls, plan: Plan, task: Search, found: Found) -> _Reached:
        """With its integration error."""
        return cls(task, found, _integration_error(plan, task, found))


def _best(plan: Plan, random: list[int], beta: Vector, start: _Start) -> _Reached:
    """The best population, closer where nodes are too few; from elsewhere too where it is odd."""
    task = plan.task(random)
    found = search(task, beta, *start)
    first = _Reached.of(plan, task, found)
    if len(flat_coordinates(task.structure, found.x, found.floors)):
        return first
    if plan.nodes is None and not first.error.settled:
        task = plan.closer(task)
        s = task.structure
        here = found.x[: s.n_beta], *start, found.x[s.n_beta :]
        found = search(task, *here, posterior=found.posterior)
    costly = found.settled and len(random) > MOST
    if task.structure.spread.correlated and _is_odd(found) and not costly:
        apart = start._replace(matrix=np.diag(np.diag(start.matrix)))
        other = search(task, beta, *apart)
        gained = task.goal.level(other.marginal, other.x)
        gained -= task.goal.level(found.marginal, found.x)
        if other.settled and (gained > 0 or not found.settled):
            found = other
    return first if found is first.found else _Reached.of(plan, task, found)


def _other(plan: Plan, task: Search) -> str:
    return "more" if plan.nodes is None or len(task.structure.random) > MOST else "fewer"


def _crowd(n: int) -> float:
    """How much more error many people may have."""
    return max(1.0, float(np.sqrt(n / 100)))


def _is_odd(found: Found) -> bool:
    """Whether a maximum is at the end of a correlation's range, or was not reached."""
    s = found.marginal.structure
    matrices = s.spread.matrices(found.x[s.n_beta :])
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    r = matrices / (sd[:, :, None] * sd[:, None, :]) - np.eye(s.spread.size)
    return not found.settled or float(np.abs(r).max()) > AT_ONE


def _without_spread(
    plan: Plan, random: list[int], best: _Reached, start: _Start
) -> tuple[int, list[int], _Reached] | None:
    """The same without a coordinate whose spread is worth nothing; None where all are."""
    task, found = best.task, best.found
    s = task.structure
    if not random or task.away_from_zero:
        return None
    shares = spread_shares(s, found.x, found.floors)
    flat = flat_coordinates(s, found.x, found.floors)
    level = task.goal.level(found.marginal, found.x) if found.settled else -np.inf
    if len(random) > MOST or not best.error.settled:
        # too costly, or not to be told: only what has no spread at all
        shares = np.where(np.isin(np.arange(len(shares)), flat), shares, np.inf)
    for c in np.argsort(shares):
        if shares[c] > THIN:
            break
        others = [a for b, a in enumerate(random) if b != c]
        without = _best(plan, others, found.x[: s.n_beta], start)
        lost = level - without.task.goal.level(without.found.marginal, without.found.x)
        if lost < LOST or c in flat:
            return int(c), others, without
    return None


def _described(plan: Plan, found: Found, beta: Vector, start: _Start) -> Found:
    """The population with a weak prior that keeps spreads from vanishing."""
    task = replace(plan.task(plan.differing), away_from_zero=True)
    reached = found.x[: task.structure.n_beta]
    centre, sd = plan.people.typical
    ran_away = (np.abs(task.structure.design @ reached - centre) > FAR * sd).any()
    return search(task, beta if ran_away else reached, *start)


class _Error(NamedTuple):
    """Change of F with other nodes, that of each subject's evidence, whether it is small."""

    total: float
    apart: Vector
    settled: bool


def _integration_error(plan: Plan, task: Search, found: Found) -> _Error:
    """Change of F with two nodes fewer in each direction, and of each subject's evidence.

    Where that is much it says more of the fewer nodes than of those in use: then the change with
    more. Of draws it is enough that parameters hardly move with others.
    """
    if not len(task.structure.random):
        return _Error(0.0, np.zeros(len(task.structure.design)), True)
    task = replace(task, n_draws=found.n_draws)
    apart = found.known.evidence - evaluated(task.coarser(), found)
    if abs(apart.sum()) < UNSETTLED * _crowd(len(apart)):
        return _Error(float(apart.sum()), apart, True)
    if plan.nodes is not None and len(task.structure.random) <= MOST:
        return _Error(float(apart.sum()), apart, False)
    other = elsewhere(plan.checked(task), found)
    apart = other.evidence(found.x) - found.known.evidence
    error = float(apart.sum())
    settled = abs(error) < UNSETTLED * _crowd(len(apart))
    if len(task.structure.random) > MOST:  # errors of draws are many and small
        settled |= would_move(other, found) < MOVES
    return _Error(error, apart, settled)


def _most_spread(plan: Plan, random: list[int], a: int, found: Found, start: _Start) -> float:
    """Upper limit (95 %) of the standard deviation of coordinate a: where F falls by 1.35."""
    random = sorted(random)
    task = plan.task(random)
    s = task.structure
    c = random.index(a)
    order = (c, *(b for b in range(len(random)) if b != c))
    spread = Spread(s.spread.size, s.spread.correlated, s.spread.n_groups, order)
    own = Search(task.people, s._replace(spread=spread), min(task.k, 5), False, 32, still=0.05)
    hold = np.zeros(spread.n_parameters, dtype=bool)
    hold[:: spread.n_block] = True
    beta = found.x[: s.n_beta]
    first = np.stack([np.diag(np.diag(start.matrix)[random])] * s.spread.n_groups)
    floor = float(found.floors[found.marginal.structure.random.tolist().index(a)])

    def at(logarithm: float) -> float:
        numbers = spread.numbers(first)
        numbers[:: spread.n_block] = logarithm
        return search(own, beta, *start, numbers, hold).known.value

    low, high = floor + np.log(40.0), np.inf
    best = at(low)
    while not np.isfinite(high):
        if low > floor + 12:
            return float("inf")
        value = at(low + np.log(3.0))
        best = max(best, value)
        if value < best - ONE_SIDED:
            high = low + np.log(3.0)
        else:
            low += np.log(3.0)
    for _ in range(3):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if at(middle) >= best - ONE_SIDED else (low, middle)
    return float(np.exp(0.5 * (low + high)))
