"""Is the maximum that `fit_each` returns the highest? A dense grid and a compass search as referee.

    python benchmarks/peaks.py [--people N] [--only NAME,NAME] [--markdown FILE]

People are simulated from models whose likelihood has steps or kinks in its shape parameters, and
from some that are smooth but steep. For every person the profile likelihood is evaluated on a grid
several times as fine as that of the fit; from its highest local maxima a compass search goes on
until its steps are below 1e-7 of the range. A person is missed if the fit is lower than that by
more than 1e-4 log-units. The referee may be lower than the fit: it finds no maximum for certain.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import models
import penchant as pn
from penchant.inference.profile.profile_likelihood import SCREENING, ProfileProblems
from penchant.inference.search.grid_search import best_cells

MISS = 1e-4  # log-units by which a fit is too low
CELLS = {1: 1000, 2: 8100, 3: 15625}  # of the dense grid, by the number of shape parameters
N_STARTS = 6  # local maxima of the dense grid from which the compass search goes on
SHORTEST = 1e-7  # step of the compass search, as a share of the range
MOST_ROUNDS = 200
PAIRS_AT_ONCE = 60_000  # (person, psi) pairs in memory at a time
N_DECISIONS = 100
HEAD = """# Is the maximum that is found the highest?

Written by `python benchmarks/peaks.py --markdown benchmarks/PEAKS.md`: people simulated from models
whose likelihood has steps or kinks, and from smooth ones, with 100 decisions each. The referee is a
dense grid and a compass search. Missed: the fit is lower by more than 1e-4 log-units.
"""


@dataclass(frozen=True)
class Case:
    """A model, and people who decide by it."""

    name: str
    model: Any
    people: Callable[[int], list[Any]]


def levels_of_effort(n_levels: int) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    """Little for nothing, or more for one of a few levels of effort."""

    def offers(rng: np.random.Generator) -> dict[str, np.ndarray]:
        n = 1000
        effort = rng.integers(1, n_levels + 1, n) / n_levels
        reward = np.column_stack([np.ones(n), rng.uniform(1.0, 10.0, n)])
        return {"reward": reward, "effort": np.column_stack([np.zeros(n), effort])}

    return offers


def of_offers(model: Any, draw: Any, offers: Any) -> Callable[[int], list[Any]]:
    """People with parameters and offers of their own."""

    def people(n: int) -> list[Any]:
        rng = np.random.default_rng(29)
        found = []
        for k in range(n):
            task = {name: shown[:N_DECISIONS] for name, shown in offers(rng).items()}
            found.append(pn.simulate(task, model, draw(rng), rng=rng, subject=str(k)))
        return found

    return people


def cases() -> list[Case]:
    """Models with steps or kinks, those that are steep, and two that are plain."""
    sigmoid = pn.models.Effort("sigmoid")
    spread = {"temperature": (0.2, 2.0), "effort_rate": (2.0, 60.0)}
    person = models.log_uniform(spread, effort_turn=(0.1, 1.2))
    found = [
        Case(f"effort, sigmoid, {n} levels", sigmoid, of_offers(sigmoid, person, offers))
        for n, offers in ((4, levels_of_effort(4)), (10, levels_of_effort(10)))
    ]
    every_value = levels_of_effort(1000)
    found.append(
        Case("effort, sigmoid, any level", sigmoid, of_offers(sigmoid, person, every_value))
    )
    names = (
        "Q-learning, two rates",
        "Q-learning, three rates",
        "two-step, four parameters",
        "Pearce-Hall",
        "confirmation bias, full feedback",
        "beads",
        "aversive learning",
        "ultimatum, norms learnt",
        "hidden state",
        "balloons, target",
        "prospect value, Prelec",
        "constant-sensitivity discounting",
        "magnitude effect",
        "prospect valence, 4 decks",
        "Cambridge gamble, stakes",
        "quasi-hyperbolic discounting",
        "effort, power",
        "Q-learning",
    )
    known = {case.name: case for case in models.CASES}
    for name in names:
        case = known[name]
        found.append(Case(name, case.model, lambda n, c=case: c.subjects(n, N_DECISIONS)))
    return found


def heights(profiles: ProfileProblems, subject: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The profiles of people at places in unconstrained units, each solved from nothing."""
    found = np.empty(len(subject))
    for begin in range(0, len(subject), PAIRS_AT_ONCE):
        some = slice(begin, begin + PAIRS_AT_ONCE)
        psi = profiles.from_unconstrained(u[some])
        found[some] = profiles.solve(subject[some], psi, accuracy=SCREENING).value
    return found


def referee(profiles: ProfileProblems, n_people: int) -> np.ndarray:
    """The highest place found for every person."""
    q = profiles.n_shape
    low, high = profiles.bounds.T
    n_along = round(CELLS[q] ** (1 / q))
    axes = [np.linspace(*ends, n_along) for ends in profiles.bounds]
    u = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
    step = (high - low) / (n_along - 1)
    values = np.empty((n_people, len(u)))
    for k in range(n_people):
        values[k] = heights(profiles, np.full(len(u), k), u)
    cells, _ = best_cells(values, (n_along,) * q, N_STARTS)
    subject = np.repeat(np.arange(n_people), cells.shape[1])
    at = u[cells.ravel()]
    value = values[subject, cells.ravel()]
    share = np.full(len(subject), 0.5)
    corners = np.array(np.meshgrid(*[(-1, 0, 1)] * q)).reshape(q, -1).T
    ways = corners[np.any(corners != 0, axis=1)]
    for _ in range(MOST_ROUNDS):
        moving = np.flatnonzero(share * step.min() > SHORTEST * (high - low).min())
        if not len(moving):
            break
        there = np.clip(at[moving][:, None] + share[moving, None, None] * step * ways, low, high)
        n, m, _ = there.shape
        seen = heights(profiles, np.repeat(subject[moving], m), there.reshape(n * m, q)).reshape(
            n, m
        )
        best = seen.argmax(axis=1)
        up = seen[np.arange(n), best] > value[moving]
        rows = moving[up]
        at[rows], value[rows] = (
            there[np.flatnonzero(up), best[up]],
            seen[np.flatnonzero(up), best[up]],
        )
        share[rows] *= 1.5
        share[moving[~up]] /= 3
    return value.reshape(n_people, -1).max(axis=1)


def row(case: Case, n_people: int) -> str:
    """A line of the table."""
    people = case.people(n_people)
    fits = list(pn.fit_each(people, case.model))
    profiles = ProfileProblems(case.model, tuple((one,) for one in people))
    best = referee(profiles, len(people))
    short = best - np.array([fit.log_likelihood for fit in fits])
    missed = np.flatnonzero(short > MISS)
    said = Counter(fits[k].status for k in missed)
    words = ", ".join(f"{n} {status}" for status, n in said.most_common()) or "-"
    largest = f"{short[missed].max():.4f}" if len(missed) else "-"
    print(
        case.name,
        [(int(k), round(float(short[k]), 5), fits[k].status) for k in missed],
        file=sys.stderr,
    )
    smooth = "yes" if getattr(case.model, "smooth", True) else "no"
    size = profiles.n_shape
    return (
        f"| {case.name} | {size} | {smooth} | {len(missed)} of {n_people} | {largest} | {words} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    only = [name for name in args.only.split(";") if name]
    lines = [
        "| model | shape parameters | smooth | missed | largest miss | said of them |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for case in cases():
        if not only or case.name in only:
            lines.append(row(case, args.people))
            print(lines[-1], flush=True)
    if args.markdown:
        args.markdown.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
