"""Parameter recovery: simulate people with known parameters, fit them, and compare.

Bias, root mean squared error, correlations and coverage with their Monte Carlo errors (Morris,
White & Crowther 2019), in total and by parts of the parameters' range, as identifiability usually
differs over it (Wilson & Collins 2019). `design` and `recover_models` use its simulated people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from penchant._typing import BoolVector, Matrix, Vector
from penchant.argument_checks import check_level, check_one_of, check_rng, check_whole_number
from penchant.errors import DataError
from penchant.inference.fit_each import fit_each_model
from penchant.json_records import JsonDocument
from penchant.models.arguments import refuse_no_model, refuse_word
from penchant.models.model import Model, natural_parameters
from penchant.models.parameters import Parameter
from penchant.models.simulate import check_parameters, simulate_blocks
from penchant.models.task import Task
from penchant.result_tables import (
    Backend,
    Columns,
    Result,
    Table,
    attribute_columns,
    format_number,
    make_frame,
    progress,
)
from penchant.softmax.data_behind_estimate import IntervalKind
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.prior import ParameterPrior

People = dict[str, Vector]
RANGES_HINT = "Give a number, or a range (low, high), for all natural parameters of the model."


def check_simulation_arguments(model: Model, task: Any, rng: Any, prior: Any = None) -> None:
    """Refuse a word, a class or a table where a model, a task, a prior or an rng is needed."""
    refuse_no_model(model)
    refuse_word(prior)
    check_rng(rng)
    if isinstance(task, (str, type)) or hasattr(task, "columns"):
        raise DataError(
            "task",
            "must be a Task",
            got=type(task).__name__,
            fix=(
                "Write pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), "
                "n_decisions=100), or offers that were read."
            ),
        )


def draw_parameters_of_people(
    model: Model, parameters: Mapping[str, Any], n: int, rng: np.random.Generator
) -> People:
    """Draw the natural parameters of n people, by name: (n,) each.

    Parameters
    ----------
    model
        Whose natural parameters they are.
    parameters
        For each natural parameter a number, the same for all; a tuple (low, high), a range from
        which it is drawn, uniformly, or uniformly on the logarithm where the parameter is positive
        (a temperature, a variance); a distribution with a method `rvs`, such as those of
        scipy.stats; or an array with a number for each person.
    n
        How many people.
    rng
        Source of randomness.
    """
    check_whole_number(n, "n_subjects", 1)
    known = {natural.name: natural for natural in natural_parameters(model)}
    check_parameters(model, parameters, RANGES_HINT)
    return {
        name: _draw_parameter_values(name, given, _is_positive(model, known.get(name)), n, rng)
        for name, given in parameters.items()
    }


def _is_positive(model: Model, natural: Parameter | None) -> bool:
    """Whether a parameter is a natural one and positive: such are drawn on the log scale."""
    return natural is not None and natural.is_positive


def _draw_parameter_values(
    name: str, given: Any, positive: bool, n: int, rng: np.random.Generator
) -> Vector:
    # Duck typing: distributions of other libraries than SciPy have rvs, too.
    if hasattr(given, "rvs"):
        return np.asarray(given.rvs(size=n, random_state=rng), dtype=np.float64)
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if not np.isfinite(values).all():
        raise DataError(
            f"{name} in parameters",
            "must be a number, a range (low, high), a distribution or an array of finite numbers",
            got=repr(given),
            fix="Correct it.",
        )
    if values.ndim == 0:
        return np.full(n, float(values))
    if not isinstance(given, tuple):  # only a tuple is a range: [0.1, 0.9] is two people
        if values.shape != (n,):
            raise DataError(
                f"{name} in parameters",
                f"must hold {n} numbers, one per person",
                got=f"shape {values.shape}",
                fix="Give a tuple (low, high) for a range.",
            )
        return values
    if len(values) != 2 or not values[0] < values[1] or (positive and values[0] <= 0):
        rule = "go up from above 0" if positive else "go up"
        raise DataError(
            f"{name} in parameters",
            f"must {rule} as (low, high)",
            got=repr(given),
            fix="Correct it.",
        )
    low, high = np.log(values) if positive else values
    drawn = rng.uniform(float(low), float(high), n)
    return np.exp(drawn) if positive else drawn


def simulate_people(
    people: People, model: Model, task: Task, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """Simulate the episodes of people with given parameters, as subjects 0, 1, 2 ...

    Each has a random stream of their own, so that nobody's play depends on how many there are.
    """
    n = len(next(iter(people.values()))) if people else 0
    found = []
    with progress("Simulating people", n) as advance:
        for i, own in enumerate(rng.spawn(n)):
            parameters = {name: float(values[i]) for name, values in people.items()}
            found.append(simulate_blocks(task, model, parameters, own, i))
            advance(1)
    return found


# Statuses whose point estimate is a maximum of the likelihood; with others it is where a search or
# a range ended, which would pass for bias.
USABLE_STATUSES = ("converged", "weakly identified", "at a bound")
# Rows of a table; more true values than this are cut into parts, or the table is unreadable.
MAX_TABLED_VALUES = 12


QUANTITIES = (
    "bias",
    "bias_error",
    "rmse",
    "log_bias",
    "log_rmse",
    "correlation",
    "rank_correlation",
    "coverage",
    "coverage_error",
    "share_without",
)


@dataclass(frozen=True, eq=False)
class RecoveredParameter(JsonDocument):
    """True and estimated values of one natural parameter, one each per simulated person.

    People without a finite estimate are counted in `share_without`; bias, spread and correlations
    are of the others. Coverage is of all who have an interval.

    Attributes
    ----------
    name
        Of the parameter.
    true, estimated
        Values; an estimate is NaN where there is no finite one.
    interval
        (n, 2): low and high, NaN where there is none.
    statuses
        Of each person's estimate.
    positive
        Whether correlations, and log_bias and log_rmse, are of logarithms.
    """

    json_names = ("name", *QUANTITIES)
    name: str
    true: Vector
    estimated: Vector
    interval: Matrix
    statuses: tuple[str, ...]
    positive: bool

    @property
    def has_estimate(self) -> BoolVector:
        """Whether each person has a finite estimate."""
        return np.isfinite(self.estimated)

    @property
    def share_without(self) -> float:
        """Share of people without a finite estimate."""
        return float(1.0 - self.has_estimate.mean())

    @property
    def errors(self) -> Vector:
        """Estimated minus true, of those with an estimate."""
        return np.asarray((self.estimated - self.true)[self.has_estimate])

    @property
    def bias(self) -> float:
        """Mean error."""
        return _mean_or_nan(self.errors)

    @property
    def bias_error(self) -> float:
        """Monte Carlo standard error of the bias."""
        n = len(self.errors)
        return float(self.errors.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(_mean_or_nan(self.errors**2)))

    @property
    def log_bias(self) -> float:
        """Mean error of the logarithm, for positive parameters."""
        return _mean_or_nan(self._log_errors)

    @property
    def log_rmse(self) -> float:
        """Root of the mean squared error of the logarithm, for positive parameters."""
        return float(np.sqrt(_mean_or_nan(self._log_errors**2)))

    @property
    def _log_errors(self) -> Vector:
        if not self.positive:
            return np.empty(0)
        known = self.has_estimate
        return np.asarray(np.log(self.estimated[known]) - np.log(self.true[known]))

    @property
    def has_interval(self) -> BoolVector:
        """Whether each person has an interval, bounded or not."""
        return np.asarray(~np.isnan(self.interval).any(axis=1))

    @property
    def covered(self) -> BoolVector:
        """Whether each person's interval holds the true value."""
        low, high = self.interval.T
        with np.errstate(invalid="ignore"):
            return np.asarray((low <= self.true) & (self.true <= high))

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the true value."""
        return _mean_or_nan(self.covered[self.has_interval].astype(float))

    @property
    def coverage_error(self) -> float:
        """Monte Carlo standard error of the coverage."""
        n = int(self.has_interval.sum())
        return float(np.sqrt(self.coverage * (1 - self.coverage) / n)) if n else np.nan

    @property
    def correlation(self) -> float:
        """Pearson's correlation of true and estimated values, or of their logarithms."""
        x, y = self._true_and_estimated()
        return float(np.corrcoef(x, y)[0, 1]) if _is_correlation_meaningful(x, y) else np.nan

    @property
    def rank_correlation(self) -> float:
        """Spearman's correlation of true and estimated values."""
        x, y = self._true_and_estimated()
        return (
            float(scipy.stats.spearmanr(x, y).statistic)
            if _is_correlation_meaningful(x, y)
            else np.nan
        )

    def _true_and_estimated(self) -> tuple[Vector, Vector]:
        known = self.has_estimate
        x, y = self.true[known], self.estimated[known]
        return (np.log(x), np.log(y)) if self.positive else (x, y)

    def where(self, n_parts: int = 5) -> list[dict[str, Any]]:
        """Summarise recovery in parts of the range of true values.

        Parameters
        ----------
        n_parts
            Parts with about as many people each. Where people have few different true values, each
            of these is a part.

        Returns
        -------
        A row per part: smallest and largest true value, people, share without an estimate, bias,
        rmse, coverage, the median width of the interval relative to the true value, and the share
        of each status.
        """
        values = np.unique(self.true)
        if len(values) <= MAX_TABLED_VALUES:
            parts = [np.flatnonzero(self.true == value) for value in values]
        else:
            parts = np.array_split(np.argsort(self.true, kind="stable"), max(n_parts, 1))
        # Statuses of all parts, not of one: rows must have the same columns.
        occurring = sorted(set(self.statuses))
        return [self._recovery_summary_of_part(part, occurring) for part in parts if len(part)]

    def _recovery_summary_of_part(self, part: Any, statuses: Sequence[str]) -> dict[str, Any]:
        own_statuses = [self.statuses[i] for i in part]
        own = RecoveredParameter(
            self.name,
            self.true[part],
            self.estimated[part],
            self.interval[part],
            tuple(own_statuses),
            self.positive,
        )
        width = (own.interval[:, 1] - own.interval[:, 0])[own.has_interval]
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = width / np.abs(own.true[own.has_interval])
        return {
            "true_low": float(own.true.min()),
            "true_high": float(own.true.max()),
            "n": len(part),
            "without_estimate": own.share_without,
            "bias": own.bias,
            "rmse": own.rmse,
            "coverage": own.coverage,
            # The median, as one unbounded interval would make the mean width infinite.
            "relative_width": float(np.median(relative)) if len(relative) else np.nan,
            **{status: own_statuses.count(status) / len(part) for status in statuses},
        }


def _mean_or_nan(values: Vector) -> float:
    return float(values.mean()) if len(values) else np.nan


def _is_correlation_meaningful(x: Vector, y: Vector) -> bool:
    """Whether a correlation means anything: of two points it is 1 or -1 always."""
    return len(x) > 2 and bool(np.ptp(x) > 0) and bool(np.ptp(y) > 0)


@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Result):
    """True and estimated parameters of simulated people.

    Attributes
    ----------
    model, task
        What was simulated and fitted.
    parameters
        One `RecoveredParameter` for each natural parameter.
    level, intervals
        Confidence level and kind of the intervals.
    """

    json_names = (
        *(("model", "model_words"), "n_subjects", ("statuses", "counts"), "level", "intervals"),
        "parameters",
    )
    model: Model
    task: Task
    parameters: tuple[RecoveredParameter, ...]
    level: float
    intervals: str

    @property
    def model_words(self) -> str:
        """The model in words."""
        return str(self.model)

    @property
    def n_subjects(self) -> int:
        """People simulated."""
        return len(self.statuses)

    @property
    def statuses(self) -> tuple[str, ...]:
        """Status of each person's estimate."""
        return self.parameters[0].statuses

    def counts(self) -> dict[str, int]:
        """Number of people with each status."""
        return {status: self.statuses.count(status) for status in sorted(set(self.statuses))}

    def of(self, name: str) -> RecoveredParameter:
        """The recovery of one parameter, by name."""
        known = {parameter.name: parameter for parameter in self.parameters}
        check_one_of(name, "name", known)
        return known[name]

    def where(self, name: str, n_parts: int = 5, backend: Backend = "pandas") -> Any:
        """Recovery of a parameter in parts of its range, as a table."""
        rows = self.of(name).where(n_parts)
        return make_frame({key: [row[key] for row in rows] for key in rows[0]}, backend)

    def frame_columns(self) -> Columns:
        """A row per parameter: bias, spread, coverage, correlation, share without estimate."""
        return attribute_columns(self.parameters, "name", *QUANTITIES)

    def subjects(self, backend: Backend = "pandas") -> Any:
        """A row per simulated person: status, and true value, estimate and interval of each."""
        columns: dict[str, Any] = {"subject": range(self.n_subjects), "status": self.statuses}
        for p in self.parameters:
            columns[f"{p.name}_true"] = p.true.tolist()
            columns[p.name] = p.estimated.tolist()
            columns[f"{p.name}_low"] = p.interval[:, 0].tolist()
            columns[f"{p.name}_high"] = p.interval[:, 1].tolist()
        return make_frame(columns, backend)

    def table(self) -> Table:
        """The summary as a table."""
        rows = tuple(
            (
                p.name,
                f"{format_number(p.bias, 3)} ({format_number(p.bias_error, 2)})",
                format_number(p.rmse, 3),
                format_number(p.correlation, 3),
                format_number(p.rank_correlation, 3),
                f"{format_number(p.coverage, 3)} ({format_number(p.coverage_error, 2)})",
                str(int((~p.has_estimate).sum())),
            )
            for p in self.parameters
        )
        text = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        header = ("", "bias (s.e.)", "rmse", "r", "rank r", "coverage (s.e.)", "no estimate")
        notes = [
            "Bias, rmse and correlations are of the people with a finite estimate; those without "
            "are counted in the last column.",
        ]
        positive = [p.name for p in self.parameters if p.positive]
        if positive:
            notes.append(f"r is of logarithms for {', '.join(positive)}.")
        return Table(
            f"Recovery of {len(self.parameters)} parameters",
            (
                ("People", str(self.n_subjects)),
                ("Statuses", text),
                ("Trials each", self._decision_count_text()),
                ("Intervals", f"{self.intervals}, {100 * self.level:g} %"),
            ),
            header,
            rows,
            (*notes, f"Model: {self.model}."),
        )

    def _decision_count_text(self) -> str:
        each, blocks = self.task.length(), self.task.n_blocks
        return str(each) if blocks == 1 else f"{blocks} blocks of {each}"

    def __repr__(self) -> str:
        text = ", ".join(f"{p.name} r = {format_number(p.correlation, 2)}" for p in self.parameters)
        return f"<Recovery of {self.n_subjects} people: {text}>"


def recover(
    model: Model,
    task: Task,
    parameters: Mapping[str, Any],
    *,
    n_subjects: int,
    rng: np.random.Generator,
    parameter_prior: ParameterPrior | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "wald",
    threads: int | None = None,
) -> Recovery:
    """Simulate people with known parameters in a task, fit them, and compare.

    Parameters
    ----------
    model
        How people decide.
    task
        What they do, and for how many decisions.
    parameters
        For each natural parameter a number, a range (low, high), a distribution of scipy.stats, or
        an array with one value per person. A range of a positive parameter, such as a temperature,
        is drawn from uniformly on the logarithm.
    n_subjects
        How many people.
    rng
        Source of randomness; the same gives the same result, whatever the threads.
    parameter_prior, threads
        As in `fit_each`.
    level, intervals
        Of the intervals whose coverage is counted: "wald"; "profile", which takes longer; or
        "calibrated", which takes longer still.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=150)
    >>> ranges = {"temperature": (0.1, 0.4), "learning_rate": (0.1, 0.8)}
    >>> found = pn.recover(
    ...     pn.QLearning(2), task, ranges, n_subjects=60, rng=np.random.default_rng(2)
    ... )
    >>> found.counts()["separated"]  # people so consistent that no temperature is most likely
    4
    >>> round(found.of("temperature").share_without, 2)
    0.08
    >>> found.of("learning_rate").correlation > 0.3
    True
    """
    check_level(level)
    check_simulation_arguments(model, task, rng, parameter_prior)
    people = draw_parameters_of_people(model, parameters, n_subjects, rng)
    plays = simulate_people(people, model, task, rng)
    episodes = [episode for mine in plays for episode in mine]
    estimates = fit_each_model(episodes, model, parameter_prior=parameter_prior, threads=threads)
    found = recovered_parameters(people, model, estimates, level, intervals, rng)
    return Recovery(model, task, found, level, intervals)


def recovered_parameters(
    people: People,
    model: Model,
    estimates: Estimates,
    level: float,
    intervals: IntervalKind,
    rng: np.random.Generator | None = None,
) -> tuple[RecoveredParameter, ...]:
    """True values beside estimates, for every natural parameter that people were given."""
    found = estimates.parameters_at(level, intervals, rng)
    usable = np.array([status in USABLE_STATUSES for status in estimates.status])
    # Separated choices have a range of consistent values, which is no confidence interval of this
    # level; a profile interval remains one.
    has_interval = np.array([intervals == "profile" or s != "separated" for s in estimates.status])
    parameters = []
    for j, natural in enumerate(natural_parameters(model)):
        if natural.name not in people:
            continue
        values = np.array([person[j].estimate for person in found])
        positive = natural.is_positive
        # A negative "temperature" (someone who avoids rewards) has no logarithm to compare.
        sensible = usable & np.isfinite(values) & ((values > 0) | (not positive))
        parameters.append(
            RecoveredParameter(
                natural.name,
                people[natural.name],
                np.where(sensible, values, np.nan),
                np.where(
                    has_interval[:, None],
                    [[person[j].low, person[j].high] for person in found],
                    np.nan,
                ),
                estimates.status,
                positive,
            )
        )
    return tuple(parameters)
