"""One estimate per subject, of choices or of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack, overload

from penchant.choices import Choices
from penchant.choices.chunks import ManyPeople
from penchant.errors import DataError
from penchant.inference.fit import History, weights_only
from penchant.inference.fit_each_model import fit_each_model
from penchant.inference.portions import portion_fit
from penchant.models.model import Model
from penchant.models.priors import Prior
from penchant.models.record import as_described, as_episodes, data_of, needs_model, refuse_word
from penchant.models.spatial.map_basis import MapPrior
from penchant.output import as_it_came
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimates import Estimates
from penchant.softmax.fit import EachOptions
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.source import IntervalKind
from penchant.tables.reading import Reading


class PeopleOptions(TypedDict, total=False):
    """Options of fits of the subjects of a scan."""

    parameter_prior: Prior | MapPrior | None
    method: Literal["ml", "firth"]
    constraints: Constraints | None
    max_steps: int | None
    threads: int | None
    covariance: Literal["model", "robust", "clustered"]


@overload
def fit_each(
    data: Choices | Reading, model: None = None, **options: Unpack[EachOptions]
) -> Estimates: ...
@overload
def fit_each(
    data: ManyPeople,
    model: Model | None = None,
    *,
    engine: Any = None,
    output: Any = None,
    overwrite: bool = False,
    level: float = 0.95,
    intervals: IntervalKind = "wald",
    **options: Unpack[PeopleOptions],
) -> Any: ...
@overload
def fit_each(
    data: Sequence[History] | Choices | Reading,
    model: Model,
    *,
    parameter_prior: Prior | MapPrior | None = None,
    threads: int | None = None,
) -> Estimates: ...
@as_it_came
def fit_each(
    data: Any,
    model: Model | None = None,
    *,
    parameter_prior: Prior | MapPrior | None = None,
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
    others. Episodes of the same subject share their parameters, and all subjects what a model
    chooses by the rewards, such as an initial value that is left out.

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
    if isinstance(data, ManyPeople):
        work = portion_fit(
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
        return data.fit_people(
            work, output=output, overwrite=overwrite, engine=engine, threads=threads
        )
    if engine is not None or output is not None:
        raise DataError(
            "engine and output must be left out for data in memory; got one. They are for a scan."
        )
    if isinstance(data, Choices):
        found = fit_each_choices(
            data,
            parameter_prior=weights_only(parameter_prior),
            method=method,
            constraints=constraints,
            covariance=covariance,
            max_steps=max_steps,
            threads=threads,
        )
        return _with_people(found, given)
    if model is None:
        raise needs_model(given)
    found = fit_each_model(
        as_episodes(data), model, parameter_prior=parameter_prior, threads=threads
    )
    return _with_people(found, given)


def _with_people(found: Estimates, given: Any) -> Estimates:
    """Estimates that know what the table that was read says of each subject."""
    return replace(found, people=given.groups) if isinstance(given, Reading) else found
