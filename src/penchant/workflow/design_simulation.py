"""Sample size by simulation: decisions for an interval's width, subjects for a group difference.

Monte Carlo power analysis. `NarrowIntervals` finds the decisions per block at which enough people
have a narrow enough interval; `DetectDifference` the subjects per group at which Welch's test
(Welch 1947) of the estimates has the power asked for, by resampling simulated pools. The search
doubles the number and then bisects it on a log scale. Relies on `recover` for simulated people and
their fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_level, check_number, check_one_of, check_whole_number
from penchant.errors import DataError
from penchant.inference.fit_each import fit_each_model
from penchant.models.model import Model, natural_parameters
from penchant.models.task import Task
from penchant.result_tables import (
    Column,
    Columns,
    Result,
    Table,
    attribute_columns,
    format_columns,
)
from penchant.softmax.data_behind_estimate import IntervalKind
from penchant.softmax.prior import ParameterPrior
from penchant.tail_probabilities import normal_isf, normal_sf, t_sf
from penchant.workflow.parameter_recovery import (
    check_simulation_arguments,
    draw_parameters_of_people,
    recovered_parameters,
    simulate_people,
)

DECISIONS_UNIT = "decisions"


@dataclass(frozen=True, slots=True)
class DesignOptions:
    """Settings of the search, and sizes of its simulations."""

    # Ratio of the bracket's ends at which the search stops: a narrower bracket would be finer than
    # the Monte Carlo error of its ends.
    search_ratio: float = 1.05
    n_people: int = 100  # for `NarrowIntervals`: a share then has a standard error of at most 0.05
    # Fits per group for `DetectDifference`, shared by all experiments: fewer repeat in large ones.
    n_pool: int = 500
    # Bootstrap samples of the pools: a standard error from 40 is itself known to 11 %.
    n_pool_redraws: int = 40
    # Monte Carlo standard errors: a number nearer to the target may be on either side by chance.
    sure_z: float = 2.0


DESIGN = DesignOptions()


@dataclass(frozen=True)
class DesignPoint:
    """A sample size that was tried, with the share of simulations that reach the goal.

    Attributes
    ----------
    n
        Decisions, or subjects in each group.
    share, error
        Share of simulations that reach the goal, with its Monte Carlo standard error.
    typical
        Median width of the intervals; NaN where the goal is a power.
    """

    n: int
    share: float
    error: float
    typical: float


COLUMNS = (
    Column("n", ""),
    Column("share", "share", ".3f"),
    Column("error", "Monte Carlo s.e.", ".3f"),
    Column("typical", "median width", 4),
)


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """Sample size that a goal needs, with every size that was tried.

    Attributes
    ----------
    needed
        The smallest number tried that reaches the goal; None if none did.
    unit
        "decisions" or "subjects in each group".
    goal
        In words.
    target
        Share of simulations that must reach it.
    tried
        Every number that was tried, increasing.
    """

    json_names = ("needed", "unit", "goal", "target", "bracket", "tried")
    needed: int | None
    unit: str
    goal: str
    target: float
    tried: tuple[DesignPoint, ...]

    @property
    def bracket(self) -> tuple[int | None, int | None]:
        """Largest number tried that is surely too small, and smallest that surely reaches the goal.

        Surely: by two Monte Carlo standard errors. None where no number is.
        """
        z = DESIGN.sure_z
        small = [t.n for t in self.tried if t.share + z * t.error < self.target]
        large = [t.n for t in self.tried if t.share - z * t.error >= self.target]
        return max(small, default=None), min(large, default=None)

    def frame_columns(self) -> Columns:
        """A row per number tried."""
        return attribute_columns(self.tried, "n", "share", "error", "typical")

    @property
    def unit_label(self) -> str:
        """The unit as readers know it."""
        return "trials" if self.unit == DECISIONS_UNIT else self.unit

    def table(self) -> Table:
        """The summary as a table."""
        shown = COLUMNS if any(np.isfinite(t.typical) for t in self.tried) else COLUMNS[:-1]
        (_, *header), rows = format_columns(self.frame_columns(), shown)
        needed = f"none up to {self.tried[-1].n}" if self.needed is None else str(self.needed)
        return Table(
            f"{self.unit_label.capitalize()} needed: {needed}",
            (("Goal", self.goal), ("Share of simulations that must reach it", f"{self.target:g}")),
            (self.unit_label, *header),
            rows,
            (_describe_bracket(*self.bracket),),
        )

    def __repr__(self) -> str:
        return f"<Design: {self.needed} {self.unit} needed for {self.goal}>"


def find_smallest_sufficient_size(
    evaluate: Callable[[int], DesignPoint],
    first: int,
    most: int,
    target: float,
    unit: str,
    goal: str,
) -> Design:
    """Smallest number whose share reaches the target, by doubling and then bisection."""
    tried: dict[int, DesignPoint] = {}

    def reached(n: int) -> bool:
        if n not in tried:
            tried[n] = evaluate(n)
        return tried[n].share >= target

    low, high = 0, first
    while not reached(high):
        if high >= most:
            return Design(None, unit, goal, target, _points_by_size(tried))
        low, high = high, min(2 * high, most)
    while low and high > low + 1 and high > DESIGN.search_ratio * low:
        # Bisect by the geometric mean: errors fall with the root of n, so that ratios of n matter.
        middle = int(np.clip(round(np.sqrt(low * high)), low + 1, high - 1))
        low, high = (low, middle) if reached(middle) else (middle, high)
    return Design(high, unit, goal, target, _points_by_size(tried))


def _points_by_size(tried: dict[int, DesignPoint]) -> tuple[DesignPoint, ...]:
    return tuple(tried[n] for n in sorted(tried))


def binomial_standard_error(share: float, n: int) -> float:
    """Monte Carlo standard error of a share."""
    # Agresti & Coull (1998) add two successes and two failures: the plain error would be 0 where
    # all or none succeed, and the search would take chance for certainty.
    p = (share * n + 2) / (n + 4)
    return float(np.sqrt(p * (1 - p) / (n + 4)))


def _describe_bracket(small: int | None, large: int | None) -> str:
    text = "By two Monte Carlo standard errors, "
    text += "no number tried is too small" if small is None else f"{small} is too small"
    return text + (" and none is surely enough." if large is None else f" and {large} is enough.")


@dataclass(frozen=True)
class NarrowIntervals:
    """A goal of `design`: the interval of a parameter is as narrow as wanted, by more decisions.

    Parameters
    ----------
    parameter
        Natural parameter of interest.
    width
        Largest width, high - low; with `relative`, divided by the true value.
    relative
        Whether the width counts in true values.
    share
        Share of people whose interval must be so narrow. Who has no finite estimate, or an
        unbounded interval, has none.
    level, intervals
        Confidence level and kind of the interval, as in `recover`.
    first, most
        Decisions in each block to begin with, and to end with.
    """

    parameter: str
    width: float
    relative: bool = False
    share: float = 0.5
    level: float = 0.95
    intervals: IntervalKind = "wald"
    first: int = 25
    most: int = 6400


@dataclass(frozen=True)
class DetectDifference:
    """A goal of `design`: a difference between two groups is found, by more subjects.

    Parameters
    ----------
    against
        Natural parameters of the other group, as far as they differ: ranges or distributions.
    parameter
        The one whose difference is tested; that which differs if only one does.
    power, alpha
        Share of experiments that must find it, and the level of the test.
    n_experiments
        Experiments at every number.
    most
        Largest number of subjects in each group.
    """

    against: Mapping[str, Any]
    parameter: str | None = None
    power: float = 0.8
    alpha: float = 0.05
    n_experiments: int = 2000
    most: int = 1000


def design(
    model: Model,
    task: Task,
    parameters: Mapping[str, Any],
    *,
    goal: NarrowIntervals | DetectDifference,
    rng: np.random.Generator,
    n_subjects: int | None = None,
    parameter_prior: ParameterPrior | None = None,
    threads: int | None = None,
) -> Design:
    """Find the decisions that an interval needs, or the subjects that a difference needs.

    For `NarrowIntervals` the same people play longer and longer. For `DetectDifference` a pool of
    people of each group is simulated and fitted. Experiments draw subjects from the pools, and find
    a difference where Welch's test of the estimates has p < alpha: of logarithms for a positive
    parameter. Subjects without a finite estimate are recruited, but not tested.

    Parameters
    ----------
    model, task, parameters
        As in `recover`; for `NarrowIntervals` the task's number of decisions is what is looked for.
    goal
        `NarrowIntervals(parameter, width)` or `DetectDifference(against)`.
    n_subjects
        People simulated: at every number of decisions, 100 if not given; or in each group, 500.
    parameter_prior, threads
        As in `fit_each`.
    rng
        Source of randomness.

    Notes
    -----
    The error of a power has two parts: that of the number of experiments, and that of the pools,
    which is found by drawing the pools themselves anew.

    Examples
    --------
    The log-odds of two options, whose interval is 2 x 1.96 / sqrt(n p (1 - p)) wide:

    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.0, 0.0], pn.GaussianNoise(1.0)), n_decisions=1)
    >>> found = pn.design(
    ...     pn.models.RandomChoice(2),
    ...     task,
    ...     {"bias_0": 0.0},
    ...     goal=pn.NarrowIntervals("bias_0", width=1.0),
    ...     n_subjects=30,
    ...     rng=np.random.default_rng(0),
    ... )
    >>> 55 < found.needed < 75  # by the formula 61.5, at p = 1/2
    True
    """
    check_simulation_arguments(model, task, rng, parameter_prior)
    if not isinstance(goal, (NarrowIntervals, DetectDifference)):
        raise DataError(
            "goal",
            "must be NarrowIntervals or DetectDifference",
            got=repr(goal),
            fix="Write goal=pn.NarrowIntervals('learning_rate', width=0.3).",
        )
    fitting = {"parameter_prior": parameter_prior, "threads": threads}
    if isinstance(goal, NarrowIntervals):
        n = n_subjects or DESIGN.n_people
        return _find_decisions_for_width(model, task, parameters, goal, n, rng, fitting)
    n = n_subjects or DESIGN.n_pool
    return _find_subjects_for_power(model, task, parameters, goal, n, rng, fitting)


def check_parameter_and_size(model: Model, parameter: str, size: float, name: str) -> None:
    """Refuse a parameter that the model does not have, and a size that is not positive."""
    known = [natural.name for natural in natural_parameters(model)]
    check_one_of(parameter, "parameter", known)
    check_number(size, name, above=0)


def check_share(value: float, name: str) -> None:
    """Refuse what does not lie between 0 and 1."""
    check_number(value, name, above=0, below=1)


def _find_decisions_for_width(
    model: Model,
    task: Task,
    parameters: Mapping[str, Any],
    goal: NarrowIntervals,
    n_subjects: int,
    rng: np.random.Generator,
    fitting: dict[str, Any],
) -> Design:
    parameter, width = goal.parameter, goal.width
    check_level(goal.level)
    check_parameter_and_size(model, parameter, width, "width")
    check_share(goal.share, "share")
    check_whole_number(goal.first, "first", 1)
    if goal.most < goal.first:
        raise DataError(
            "most", f"must be at least first, {goal.first}", got=goal.most, fix="Correct it."
        )
    people = draw_parameters_of_people(model, parameters, n_subjects, rng)
    # Common random numbers: the same people play the same, only longer, so that the share grows
    # with n but for the noise of their fits.
    seed = rng.integers(2**63)

    def evaluate(n: int) -> DesignPoint:
        again = np.random.default_rng(seed)
        plays = simulate_people(people, model, task.with_decisions(n), again)
        estimates = fit_each_model(
            [episode for mine in plays for episode in mine], model, **fitting
        )
        fitted = recovered_parameters(people, model, estimates, goal.level, goal.intervals, again)
        found = next(p for p in fitted if p.name == parameter)
        widths = found.interval[:, 1] - found.interval[:, 0]
        # Who has no estimate counts as too wide: leaving them out would reward tasks too short to
        # fit.
        widths = np.where(found.has_estimate & found.has_interval, widths, np.inf)
        widths = widths / np.abs(found.true) if goal.relative else widths
        reached = float((widths <= width).mean())
        return DesignPoint(
            n, reached, binomial_standard_error(reached, n_subjects), float(np.median(widths))
        )

    words = f"{100 * goal.level:g} % interval of {parameter} at most {width:g} wide"
    words += ", relative to its true value" if goal.relative else ""
    return find_smallest_sufficient_size(
        evaluate, goal.first, goal.most, goal.share, DECISIONS_UNIT, words
    )


def _find_subjects_for_power(
    model: Model,
    task: Task,
    parameters: Mapping[str, Any],
    goal: DetectDifference,
    n_pool: int,
    rng: np.random.Generator,
    fitting: dict[str, Any],
) -> Design:
    parameter, alpha = goal.parameter, goal.alpha
    if parameter is None:
        if len(goal.against) != 1:
            raise DataError(
                "parameter",
                f"must be given where groups differ in {' and '.join(goal.against)}",
                got="none",
                fix="Say which difference shall be found.",
            )
        (parameter,) = goal.against
    check_parameter_and_size(model, parameter, alpha, "alpha")
    check_share(goal.power, "power")
    check_share(alpha, "alpha")
    # Fitting is slow, drawing is not: each group is fitted once, and every experiment draws its
    # subjects from the fitted pools.
    groups = (parameters, {**parameters, **goal.against})
    pools = [
        _simulate_and_fit_group(model, task, given, parameter, n_pool, own, fitting)
        for given, own in zip(groups, rng.spawn(2), strict=True)
    ]
    seed = int(rng.integers(2**63))

    def evaluate(n: int) -> DesignPoint:
        own = np.random.default_rng([seed, n])
        p = _experiment_p_values(pools[0], pools[1], n, goal.n_experiments, own)
        power = float((p < alpha).mean())
        experiment_error = binomial_standard_error(power, goal.n_experiments)
        redrawn = [_bootstrap_power(pools, n, alpha, own) for _ in range(DESIGN.n_pool_redraws)]
        error = float(np.hypot(experiment_error, np.std(redrawn, ddof=1)))
        return DesignPoint(n, power, error, np.nan)

    words = f"a difference in {parameter} at p < {alpha:g}"
    return find_smallest_sufficient_size(
        evaluate, 2, goal.most, goal.power, "subjects in each group", words
    )


def _simulate_and_fit_group(
    model: Model,
    task: Task,
    parameters_of_people: Mapping[str, Any],
    parameter: str,
    n: int,
    rng: np.random.Generator,
    fitting: dict[str, Any],
) -> Vector:
    """Estimates of a simulated group on the scale of the test; NaN where none is finite."""
    people = draw_parameters_of_people(model, parameters_of_people, n, rng)
    plays = [episode for mine in simulate_people(people, model, task, rng) for episode in mine]
    fits = fit_each_model(plays, model, **fitting)
    fitted = recovered_parameters(people, model, fits, 0.95, "wald")
    found = next(p for p in fitted if p.name == parameter)
    natural = next(n for n in natural_parameters(model) if n.name == parameter)
    return np.log(found.estimated) if natural.is_positive else found.estimated


def _experiment_p_values(
    first_group: Vector, second_group: Vector, n: int, n_experiments: int, rng: np.random.Generator
) -> Vector:
    """P-values of Welch's tests in `count` experiments with n subjects in each group."""
    x = first_group[rng.integers(len(first_group), size=(n_experiments, n))]
    y = second_group[rng.integers(len(second_group), size=(n_experiments, n))]
    return welch_p_values(x, y)


def welch_p_values(x: Matrix, y: Matrix) -> Vector:
    """Two-sided p-values of Welch's test, one for each row; NaN cells are left out."""
    (n, mean, error), (m, other, other_error) = map(_count_mean_and_squared_error, (x, y))
    variance = error + other_error
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.abs(mean - other) / np.sqrt(variance)
        df = variance**2 / (error**2 / (n - 1) + other_error**2 / (m - 1))
        p = 2.0 * t_sf(t, df)
    # An experiment with fewer than two estimates in a group has no variance to test with: it finds
    # no difference, and counts as a failure.
    return np.where((n > 1) & (m > 1) & np.isfinite(p), p, 1.0)


def _count_mean_and_squared_error(x: Matrix) -> tuple[Vector, Vector, Vector]:
    """Count, mean and squared standard error of the finite cells of each row."""
    known = np.isfinite(x)
    n = known.sum(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, x, 0.0).sum(axis=1) / n
        squares = (np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1)
        return n, mean, squares / (n - 1) / n


def _bootstrap_power(pools: list[Vector], n: int, alpha: float, rng: np.random.Generator) -> float:
    """Power by the normal approximation, for a bootstrap sample of the pools."""
    drawn = [pool[rng.integers(len(pool), size=len(pool))] for pool in pools]
    finite = [one[np.isfinite(one)] for one in drawn]
    if min(map(len, finite)) < 2:
        return 0.0
    # n people are recruited, but those without an estimate cannot be tested: the power is that of
    # the remaining.
    counts = [n * len(own) / len(pool) for own, pool in zip(finite, drawn, strict=True)]
    variance = sum(
        float(own.var(ddof=1)) / max(count, 1.0) for own, count in zip(finite, counts, strict=True)
    )
    if variance <= 0:
        return 1.0
    shift = abs(finite[0].mean() - finite[1].mean()) / np.sqrt(variance)
    z = normal_isf(alpha / 2)
    return float(normal_sf(z - shift) + normal_sf(z + shift))
