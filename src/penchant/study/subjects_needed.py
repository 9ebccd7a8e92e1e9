"""How many subjects until a difference between two groups is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.inference.fit_each import fit_each_model
from penchant.models.model import Model, natural_parameters
from penchant.models.task_values import for_agents
from penchant.softmax.prior import ParameterPrior
from penchant.study.design import Design, Tried, binomial_error, check_goal, check_share, searched
from penchant.study.people import drawn_people, is_positive, played_by
from penchant.study.recover import recovered
from penchant.study.task import Task
from penchant.tails import normal_point, normal_tail, t_tail

POOLS = 40  # pools drawn anew, for the error of a power


def subjects_needed(
    model: Model,
    task: Task,
    groups: tuple[Mapping[str, Any], Mapping[str, Any]],
    *,
    parameter: str,
    rng: np.random.Generator,
    power: float = 0.8,
    alpha: float = 0.05,
    n_pool: int = 500,
    n_experiments: int = 2000,
    most: int = 1000,
    parameter_prior: ParameterPrior | None = None,
    threads: int | None = None,
) -> Design:
    """How many subjects in each of two groups until their difference is found.

    A pool of people of each group is simulated and fitted. Experiments draw subjects from the
    pools, and find a difference where Welch's test of the estimates has p < alpha: of logarithms
    for a positive parameter. Subjects without a finite estimate are recruited, but not tested.

    Parameters
    ----------
    model, task
        As in `recover`.
    groups
        Ranges or distributions of the natural parameters in each of the two groups.
    parameter
        Natural parameter whose difference is tested.
    power, alpha
        Share of experiments that must find it, and the level of the test.
    n_pool
        People simulated of each group.
    n_experiments
        Experiments at every number.
    most
        Largest number of subjects in each group.
    parameter_prior, threads
        As in `fit_each`.
    rng
        Source of randomness.

    Notes
    -----
    The error of a power has two parts: that of the number of experiments, and that of the pools,
    which is found by drawing the pools themselves anew.
    """
    check_goal(model, parameter, alpha, "alpha")
    check_share(power, "power")
    check_share(alpha, "alpha")
    if len(groups) != 2:
        raise DataError(f"groups must be two; got {len(groups)}. Compare two at a time.")
    pools = [
        _estimates(model, task, given, parameter, n_pool, own, parameter_prior, threads)
        for given, own in zip(groups, rng.spawn(2), strict=True)
    ]
    seed = int(rng.integers(2**63))

    def found(n: int) -> Tried:
        own = np.random.default_rng([seed, n])
        p = _p_values(pools[0], pools[1], n, n_experiments, own)
        reached = float((p < alpha).mean())
        own_error = binomial_error(reached, n_experiments)
        redrawn = [_redrawn_power(pools, n, alpha, own) for _ in range(POOLS)]
        error = float(np.hypot(own_error, np.std(redrawn, ddof=1)))
        return Tried(n, reached, error, np.nan)

    goal = f"a difference in {parameter} at p < {alpha:g}"
    return searched(found, 2, most, power, "subjects in each group", goal)


def _estimates(
    model: Model,
    task: Task,
    given: Mapping[str, Any],
    parameter: str,
    n: int,
    rng: np.random.Generator,
    parameter_prior: ParameterPrior | None,
    threads: int | None,
) -> Vector:
    """What is tested, of n people of a group; NaN where there is no finite estimate."""
    model = for_agents(model, given)
    people = drawn_people(model, given, n, rng)
    plays = [episode for mine in played_by(people, model, task, rng) for episode in mine]
    fits = fit_each_model(plays, model, parameter_prior=parameter_prior, threads=threads)
    every = recovered(people, model, fits, 0.95, "wald")
    found = next(p for p in every if p.name == parameter)
    natural = next(n for n in natural_parameters(model) if n.name == parameter)
    return np.log(found.estimated) if is_positive(model, natural) else found.estimated


def _p_values(a: Vector, b: Vector, n: int, count: int, rng: np.random.Generator) -> Vector:
    """Of Welch's tests in experiments with n subjects in each group; 1 where none is possible."""
    x = a[rng.integers(len(a), size=(count, n))]
    y = b[rng.integers(len(b), size=(count, n))]
    return welch_p_values(x, y)


def welch_p_values(x: Matrix, y: Matrix) -> Vector:
    """Two-sided p-values of Welch's test, one for each row; NaN cells are left out."""
    (n, mean, error), (m, other, other_error) = map(_moments, (x, y))
    variance = error + other_error
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.abs(mean - other) / np.sqrt(variance)
        df = variance**2 / (error**2 / (n - 1) + other_error**2 / (m - 1))
        p = 2.0 * t_tail(t, df)
    return np.where((n > 1) & (m > 1) & np.isfinite(p), p, 1.0)


def _moments(x: Matrix) -> tuple[Vector, Vector, Vector]:
    """Count, mean and squared standard error of the finite cells of each row."""
    known = np.isfinite(x)
    n = known.sum(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, x, 0.0).sum(axis=1) / n
        squares = (np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1)
        return n, mean, squares / (n - 1) / n


def _redrawn_power(pools: list[Vector], n: int, alpha: float, rng: np.random.Generator) -> float:
    """Power by the normal formula, for pools drawn anew from the pools."""
    drawn = [pool[rng.integers(len(pool), size=len(pool))] for pool in pools]
    known = [one[np.isfinite(one)] for one in drawn]
    if min(map(len, known)) < 2:
        return 0.0
    counts = [n * len(mine) / len(pool) for mine, pool in zip(known, drawn, strict=True)]
    variance = sum(
        float(mine.var(ddof=1)) / max(count, 1.0) for mine, count in zip(known, counts, strict=True)
    )
    if variance <= 0:
        return 1.0
    shift = abs(known[0].mean() - known[1].mean()) / np.sqrt(variance)
    z = normal_point(alpha / 2)
    return float(normal_tail(z - shift) + normal_tail(z + shift))
