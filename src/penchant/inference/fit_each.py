"""Fit every subject by itself, of choices or episodes; profiles are searched together.

Of a scan, portions of its subjects at a time, as rows of a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, Unpack, overload

from penchant._typing import Label
from penchant.argument_checks import check_level
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.scan_protocols import SubjectScan
from penchant.errors import DataError
from penchant.inference.fit import (
    History,
    check_prior,
    fit_model,
    fit_profiles,
    prior_for_choices,
    scan_needs_model_error,
)
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.subject_estimates import estimate_without_data
from penchant.models.arguments import as_described, as_episodes, data_of, needs_model, refuse_word
from penchant.models.model import Declared, Model
from penchant.models.priors import Prior
from penchant.models.spatial.map_basis import FitPrior, MapPrior
from penchant.result_tables import progress
from penchant.softmax.constraints import Constraints
from penchant.softmax.data_behind_estimate import IntervalKind
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.fit import FitEachOptions
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.likelihood import available_threads, map_threads
from penchant.softmax.prior import ScaledPrior
from penchant.tables.reading import Reading


class ScanFitOptions(TypedDict, total=False):
    """Options of fits of the subjects of a scan."""

    parameter_prior: FitPrior | None
    method: Literal["ml", "firth"]
    constraints: Constraints | None
    max_steps: int | None
    threads: int | None
    covariance: Literal["model", "robust", "clustered"]


@overload
def fit_each(
    data: Choices | Reading, model: None = None, **options: Unpack[FitEachOptions]
) -> Estimates: ...
@overload
def fit_each(
    data: SubjectScan,
    model: Model | None = None,
    *,
    engine: Any = None,
    output: Any = None,
    overwrite: bool = False,
    level: float = 0.95,
    intervals: IntervalKind = "wald",
    **options: Unpack[ScanFitOptions],
) -> Any: ...
@overload
def fit_each(
    data: Sequence[History] | Choices | Reading,
    model: Model,
    *,
    parameter_prior: FitPrior | None = None,
    threads: int | None = None,
) -> Estimates: ...
def fit_each(
    data: Any,
    model: Model | None = None,
    *,
    parameter_prior: FitPrior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Constraints | None = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    max_steps: int | None = None,
    threads: int | None = None,
    engine: Any = None,
    output: Any = None,
    overwrite: bool = False,
    level: float = 0.95,
    intervals: IntervalKind = "wald",
) -> Any:
    """Fit every subject by itself: the numbers of `fit`, for many in one call, with progress.

    A subject whose choices do not allow an estimate has a status that says so; it never stops the
    others. Episodes of the same subject share their parameters.

    Parameters
    ----------
    data
        `Choices` with a subject, or a list of `Episode` or of `Offers`, of many subjects; or what
        `read` returns; or a `scan` of files, with a subject, that do not fit in memory.
    model, parameter_prior, method, constraints, covariance, max_steps
        As in `fit`.
    threads
        Processors to use; all, if not given. The answer does not depend on it.
    engine
        For a scan: who fits its subjects, as in `fit`.
    output, overwrite
        For a scan: Parquet file for one row per subject, which exists when all are done. What an
        interrupted call had done is not done again by the next with the same output.
    level, intervals
        For a scan: of the intervals in that file.

    Returns
    -------
    `Estimates`: one for each subject, by position or by label. For a scan `StoredEstimates`: the
    file, of which nothing is in memory but what is asked for.

    Examples
    --------
    >>> import penchant as pn
    >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
    >>> pn.fit_each(people, pn.HyperbolicDiscounting())
    <Estimates of 20 subjects: 1 at a bound, 14 converged, 4 separated, 1 weakly identified>
    """
    given, data = data, as_described(data_of(data), model)
    refuse_word(parameter_prior)
    if isinstance(data, SubjectScan):
        work = build_portion_fitter(
            data,
            model,
            parameter_prior,
            {
                "method": method,
                "constraints": constraints,
                "covariance": covariance,
                "max_steps": max_steps,
            },
            level,
            intervals,
        )
        return data.fit_subjects(
            work, output=output, overwrite=overwrite, engine=engine, threads=threads
        )
    if engine is not None or output is not None:
        raise DataError(
            "engine and output",
            "must be left out for data in memory",
            got="one",
            fix="They are for a scan.",
        )
    if isinstance(data, Choices):
        found = fit_each_choices(
            data,
            parameter_prior=prior_for_choices(parameter_prior),
            method=method,
            constraints=constraints,
            covariance=covariance,
            max_steps=max_steps,
            threads=threads,
        )
        return _with_subject_groups(found, given)
    if model is None:
        raise needs_model(given)
    found = fit_each_model(
        as_episodes(data), model, parameter_prior=parameter_prior, threads=threads
    )
    return _with_subject_groups(found, given)


def _with_subject_groups(found: Estimates, data: Any) -> Estimates:
    """Estimates that know what the table that was read says of each subject."""
    return replace(found, people=data.groups) if isinstance(data, Reading) else found


# Subjects searched in one batch: smaller ones pay for more compiled calls, larger ones hold memory.
MIN_TOGETHER, MAX_TOGETHER = 64, 512
# Explanatory variables on the grids of a batch: more would show no progress, and idle workers.
MAX_NUMBERS_TOGETHER = 3e8


def fit_each_model(
    episodes: Sequence[Episode],
    model: Model,
    *,
    parameter_prior: FitPrior | None = None,
    threads: int | None = None,
) -> Estimates:
    """Fit the episodes of every subject."""
    by_subject, scored = episodes_by_subject(episodes)
    workers = available_threads() if threads is None else threads
    at_once = 1
    if isinstance(parameter_prior, MapPrior):
        prior: Prior | None = ScaledPrior(parameter_prior.others)
    else:
        prior = parameter_prior
        check_prior(model, prior)
        n_events = [sum(e.n_events for e in by_subject[s]) for s in scored]
        at_once = _batch_size(model, n_events, workers)

    def fit_some(subjects: Sequence[Label]) -> list[Estimate]:
        groups = tuple(tuple(by_subject[s]) for s in subjects)
        if isinstance(parameter_prior, MapPrior):  # a map's width is no profile problem
            (mine,), (subject,) = groups, subjects
            return [fit_model(mine, model, parameter_prior=parameter_prior, subject=subject)]
        return fit_profiles(ProfileProblems(model, groups, prior), subjects)

    found = fit_portions(fit_some, scored, at_once, workers)
    # Subjects without a scored decision get an empty estimate, so that every row of the data has
    # one.
    for subject, mine in by_subject.items():
        if subject not in found:
            found[subject] = estimate_without_data(
                ProfileProblems(model, (tuple(mine),), prior), subject
            )
    return Estimates.from_single_estimates(list(by_subject), [found[s] for s in by_subject])


def episodes_by_subject(episodes: Sequence[Any]) -> tuple[dict[Any, list[Any]], list[Any]]:
    """Episodes of each subject, and the subjects with a decision that is scored."""
    found: dict[Any, list[Any]] = {}
    for episode in episodes:
        found.setdefault(episode.subject, []).append(episode)
    return found, [s for s, mine in found.items() if any(e.n_decisions for e in mine)]


def fit_portions(
    fit_some: Callable[[Sequence[Label]], list[Estimate]],
    subjects: Sequence[Label],
    portion_size: int,
    workers: int,
) -> dict[Any, Estimate]:
    """Estimate of each subject, by functions of so many subjects at once, with progress."""
    portions = [subjects[i : i + portion_size] for i in range(0, len(subjects), portion_size)]
    with progress("Fitting subjects", len(subjects)) as advance:

        def fit_and_advance(some: Sequence[Label]) -> list[Estimate]:
            found = fit_some(some)
            advance(len(some))
            return found

        parts = map_threads(fit_and_advance, portions, workers)
    return dict(zip(subjects, (one for part in parts for one in part), strict=True))


def _batch_size(model: Model, n_events: list[int], workers: int) -> int:
    """Subjects to search together: many if they are little work, and some for every worker."""
    n_points = math.prod(shape.n_grid for shape in model.shape)
    width = (Declared(model).n_options or 2) * max(len(model.weights), 1) * n_points
    largest = max(n_events, default=1) * width
    share = -(-len(n_events) // workers)
    return max(MIN_TOGETHER, min(MAX_TOGETHER, share, int(MAX_NUMBERS_TOGETHER / largest)))


OF_CHOICES = {"method": "ml", "constraints": None, "covariance": "model", "max_steps": None}


@dataclass(frozen=True)
class PortionFitter:
    """Fits of all subjects of a portion; picklable."""

    model: Model | None
    parameter_prior: FitPrior | None
    level: float = 0.95
    intervals: IntervalKind = "wald"
    options: Mapping[str, Any] = field(default_factory=dict)

    def estimates(self, data: Any) -> Estimates:
        """Estimate of each subject, by one thread."""
        if self.model is None:
            prior = prior_for_choices(self.parameter_prior)
            return fit_each_choices(data, **self.options, parameter_prior=prior, threads=1)
        return fit_each_model(
            as_episodes(data), self.model, parameter_prior=self.parameter_prior, threads=1
        )

    def __call__(self, data: Any) -> Any:
        """Table (pyarrow) with one row per subject."""
        return self.estimates(data).to_frame(self.level, "pyarrow", self.intervals)

    def fit_subject(self, data: Any, subject: Label) -> Estimate:
        """Estimate of one subject of the portion."""
        if isinstance(data, Choices):
            assert data.subject is not None and data.subject_labels is not None
            mine: Any = data.subset(data.subject == data.subject_labels.index(subject))
        else:
            mine = [one for one in data if one.subject == subject]
        return self.estimates(mine).of(subject)

    def __str__(self) -> str:
        return "Softmax" if self.model is None else str(self.model)


def build_portion_fitter(
    data: SubjectScan,
    model: Model | None,
    parameter_prior: FitPrior | None,
    options: Mapping[str, Any],
    level: float = 0.95,
    intervals: IntervalKind = "wald",
) -> PortionFitter:
    """Function that fits a portion of a scan, with options shared by all subjects."""
    check_level(level)
    # Calibration redraws the choices of each subject many times: too slow for a scan of many.
    if intervals == "calibrated":
        raise DataError(
            "intervals",
            "must be 'wald' or 'profile' for a scan",
            got="'calibrated'",
            fix=(
                "Ask for those of single subjects: found.of(subject).interval(kind='calibrated', "
                "rng=rng)."
            ),
        )
    if model is None and data.kind != "choices":
        raise scan_needs_model_error(data.kind)
    if model is None:
        return PortionFitter(None, parameter_prior, level, intervals, options)
    # Options at their defaults cannot be told from options left out: only others are refused.
    if dict(options) != OF_CHOICES:
        raise DataError(
            "method, constraints, covariance and max_steps",
            "must be left out with a model",
            got="one",
            fix="They are for Choices.",
        )
    if data.kind == "choices" and not Declared(model).attributes:
        raise DataError(
            "data",
            "must be a scan of play or offers where a model is given",
            got="one of choices",
            fix="Name the column of rewards in scan(..., reward=), or leave the model out.",
        )
    check_prior(model, parameter_prior)
    return PortionFitter(model, parameter_prior, level, intervals)
