"""Exact maximum likelihood of a model with shape parameters, and `fit` for everything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack, overload

import numpy as np

from penchant._typing import Label
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.offers import Offers
from penchant.choices.scan_protocols import Chunks, SubjectScan
from penchant.errors import DataError, mark_argument, mark_prior_argument
from penchant.inference.empirical_bayes_map import fit_map_by_evidence
from penchant.inference.existence_of_maximum import lacks_finite_maximum
from penchant.inference.model_estimate import ModelSource
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.search.grid_search import ProfileGrids
from penchant.inference.search.local_maxima import Optima
from penchant.inference.search.multistart import best_optima, grids_and_best_cells
from penchant.inference.search.projected_newton import newton_batch
from penchant.inference.subject_estimates import estimates_at
from penchant.models.arguments import (
    as_described,
    as_episodes,
    data_of,
    is_history,
    needs_model,
    refuse_word,
)
from penchant.models.model import Model
from penchant.models.priors import DensityPrior, PopulationPrior
from penchant.models.spatial.map_basis import FitPrior, MapPrior
from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import FitOptions, fit_choices, raise_unless_usable
from penchant.softmax.fit_chunked import fit_chunks
from penchant.softmax.prior import ParameterPrior
from penchant.tables.reading import Reading

History = Episode | Offers
# Log-units by which an estimate may lie below its best cell: less is the tolerance of the search.
MAX_GRID_DEFICIT = 1e-6


@overload
def fit(data: Choices | Reading, model: None = None, **options: Unpack[FitOptions]) -> Estimate: ...
@overload
def fit(
    data: Chunks, model: None = None, *, engine: Any = None, **options: Unpack[FitOptions]
) -> Estimate: ...
@overload
def fit(
    data: History | Sequence[History] | Choices | Reading | SubjectScan,
    model: Model,
    *,
    parameter_prior: FitPrior | None = None,
    strict: bool = False,
) -> Estimate: ...
def fit(
    data: Any,
    model: Model | None = None,
    *,
    parameter_prior: FitPrior | None = None,
    method: Literal["ml", "firth"] = "ml",
    constraints: Constraints | None = None,
    covariance: Literal["model", "robust", "clustered"] = "model",
    strict: bool = False,
    start: Any = None,
    max_steps: int | None = None,
    threads: int | None = None,
    engine: Any = None,
) -> Estimate:
    """Estimate what a decision-maker wants and believes.

    Parameters
    ----------
    data
        `Choices`: decisions among options with attributes (explanatory variables). Or an
        `Episode`, or several that share their parameters: task data, choices and rewards in order.
        Or what `read` returns, or a `scan` of files: of choices that do not fit in memory; of play
        or offers, which are read at once for one set of parameters.
    model
        For episodes: how choices follow from the history, such as `UCL` or `QLearning`.
    parameter_prior
        `GaussianPrior` or `ScaledPrior` on the weights: the MAP estimate. `ScaledPrior()` is
        recommended for prediction and for small samples. `NaturalPrior` on natural parameters of a
        model. `PopulationPrior`, of `fit_population`: a new person of a known population.
        `MapPrior`, for a model with a `prior_map`.
    method
        For choices: "ml", or "firth" for bias-reduced estimates, finite even when separated.
    constraints
        For choices: linear inequalities on the weights, `Constraints`.
    covariance
        For choices: "model", the inverse information; "robust", the sandwich; "clustered", by
        subject.
    start
        For choices: where Newton's method begins; the answer does not depend on it.
    max_steps
        For choices: steps allowed.
    threads
        For choices: processors to use on large data; all, if not given. The answer does not depend
        on it.
    engine
        For a scan: who looks at its chunks. Threads, if not given; or any executor of
        `concurrent.futures`; or a client of `dask.distributed`, or its address. The answer does not
        depend on it.
    strict
        Raise instead of returning an estimate whose status is not "converged" (or "at a bound").

    Returns
    -------
    An `Estimate`, read by theta for choices and by natural parameters for a model.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(0)
    >>> sets = pn.Choices.from_arrays(rng.normal(size=(500, 4, 2)), None, names=["gain", "risk"])
    >>> choices = pn.simulate(sets, [1.0, -0.5], rng=rng)
    >>> pn.fit(choices)
    <Estimate converged: gain=0.91642, risk=-0.5182>

    A person's prior, from what they chose and received:

    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    >>> truth = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": 1000.0}
    >>> episode = pn.simulate(pn.paper.landscape_a(), model, truth, n_decisions=90, rng=rng)
    >>> pn.fit(episode, model)
    <Estimate converged: decision_noise=4.2218, prior_mean=56.095, prior_variance=1032.8>
    """
    given = data
    data = as_described(data_of(data), model)
    refuse_word(parameter_prior)
    if isinstance(data, SubjectScan) and (model is not None or data.kind != "choices"):
        data, engine = as_described(_load_scan(data, model, engine), model), None
    several = isinstance(data, (list, tuple)) and len(data) > 0
    if is_history(data) or (several and all(is_history(e) for e in data)):
        only = (method, constraints, covariance, start, max_steps)
        if only != ("ml", None, "model", None, None):
            raise DataError(
                "method, constraints, covariance, start and max_steps",
                "must be left out with episodes",
                got="one",
                fix="They are for Choices.",
            )
        if model is None:
            raise needs_model(given)
        return fit_model(as_episodes(data), model, parameter_prior=parameter_prior, strict=strict)
    if isinstance(data, Chunks) and model is None:
        return fit_chunks(
            data.with_engine(engine, threads),
            parameter_prior=prior_for_choices(parameter_prior),
            method=method,
            constraints=constraints,
            covariance=covariance,
            strict=strict,
            start=start,
            max_steps=max_steps,
        )
    if engine is not None:
        raise DataError(
            "engine",
            "must be left out for data in memory",
            got=type(engine).__name__,
            fix="It is for a scan.",
        )
    # Tables and file names are what users try first: they get a remedy of their own.
    if isinstance(data, (str, os.PathLike)) or hasattr(data, "columns"):
        also = "" if model is None else ", model"
        raise DataError(
            "data",
            "must be choices or episodes, not a table or a file",
            got=type(data).__name__,
            fix=f"Read it first: pn.fit(pn.read(data){also}).",
        )
    if model is not None:
        raise DataError(
            "data",
            "must be episodes where a model is given",
            got=type(data).__name__,
            fix="Make them with Episode(chosen, rewards), or leave the model out.",
        )
    return fit_choices(
        data,  # `fit_choices` words the error for any other type
        parameter_prior=prior_for_choices(parameter_prior),
        method=method,
        constraints=constraints,
        covariance=covariance,
        strict=strict,
        start=start,
        max_steps=max_steps,
        threads=threads,
    )


def _load_scan(data: SubjectScan, model: Model | None, engine: Any) -> Any:
    """Load the episodes or offers of a scan, which a fit of one parameter set needs together."""
    if model is None:
        raise scan_needs_model_error(data.kind)
    if engine is not None:
        raise DataError(
            "engine",
            "must be left out for one set of parameters of a model, which is fitted in memory",
            got=type(engine).__name__,
            fix="It is for fit_each, and for choices.",
        )
    return data.load("one set of parameters of a model")


def prior_for_choices(prior: FitPrior | None) -> ParameterPrior | None:
    """Prior of choices, which have no natural parameters."""
    # Choices have weights of variables only, on which a population's prior is a normal one.
    if isinstance(prior, PopulationPrior):
        return prior.on_variables()
    if isinstance(prior, MapPrior):
        raise DataError(
            mark_prior_argument(),
            "must be a GaussianPrior or ScaledPrior for choices",
            got="MapPrior",
            fix="Maps belong to models of places.",
        )
    if isinstance(prior, DensityPrior):
        raise DataError(
            mark_prior_argument(),
            "must be a GaussianPrior or ScaledPrior for choices",
            got="NaturalPrior",
            fix="Natural parameters belong to models of episodes.",
        )
    return prior


def fit_model(
    episodes: Sequence[History],
    model: Model,
    *,
    parameter_prior: FitPrior | None = None,
    strict: bool = False,
    subject: Label = None,
) -> Estimate:
    """Exact maximum likelihood: the profile over psi is searched, the weights are solved exactly.

    Parameters
    ----------
    episodes
        They share all parameters; beliefs start afresh in each.
    model
        Declares weights, shape parameters and explanatory variables.
    parameter_prior
        Prior on the weights: the maximum is then that of the posterior.
    strict
        Raise unless the status is "converged" or "at a bound".
    """
    # The width of a map's prior is itself estimated, from several fits: not one profile problem.
    if isinstance(parameter_prior, MapPrior):
        return _fit_with_map(tuple(episodes), model, parameter_prior, strict, subject)
    check_prior(model, parameter_prior)
    profiles = ProfileProblems(model, (tuple(episodes),), parameter_prior)
    if not profiles.n_decisions[0]:
        raise no_scored_decision_error()
    (estimate,) = fit_profiles(profiles, [subject])
    if strict:
        raise_unless_usable(estimate)
    return estimate


def _fit_with_map(
    episodes: tuple[Any, ...], model: Model, prior: MapPrior, strict: bool, subject: Label
) -> Estimate:
    if not any(len(episode.scored_options) for episode in episodes):
        raise no_scored_decision_error()
    estimate, fits = fit_map_by_evidence(episodes, model, prior, subject)
    assert isinstance(estimate.source, ModelSource)
    # Maps of all widths are kept, because the belief map averages over them by their evidence.
    estimate = replace(estimate, source=replace(estimate.source, maps=fits))
    if strict:
        raise_unless_usable(estimate)
    return estimate


def no_scored_decision_error() -> DataError:
    """Build the error of data without a decision to learn from."""
    return DataError(
        "episodes",
        "must hold at least one decision that is scored",
        got="none",
        fix=f"Check {mark_argument('is_choice')} and {mark_argument('scored')}.",
    )


def scan_needs_model_error(kind: str) -> DataError:
    """Build the error of a scan of play or offers without a model."""
    return DataError(
        "model",
        f"must be given with a scan of {kind}",
        got="none",
        fix="Pass UCL(...) or QLearning(...).",
    )


def check_prior(model: Model, prior: FitPrior | None) -> None:
    """Raise an error unless a prior on natural parameters names those of the model."""
    if isinstance(prior, DensityPrior):
        prior.of_model(model)


def fit_profiles(profiles: ProfileProblems, subjects: Sequence[Label]) -> list[Estimate]:
    """Exact estimates of many subjects, each by itself; all have decisions."""
    grids, best = grids_and_best_cells(profiles)
    # Without shape parameters the weights at the only cell are exact already: no search is needed.
    if profiles.n_shape:
        optima = best_optima(profiles, grids, lacks_finite_maximum(profiles, best))
    else:
        optima = Optima.from_inner_solutions(profiles, best)
    found = estimates_at(profiles, grids, optima, subjects)
    # With a prior the grid holds log-posteriors, not to be compared with log-likelihoods.
    if profiles.prior is not None or not profiles.n_shape:
        return found
    highest = (grids.values.max(axis=1) + profiles.log_likelihood_copy_correction).tolist()
    return [
        _best_of_estimate_and_cell(
            profiles.for_subject(k), grids.take(np.array([k])), estimate, int(optima.n_steps[k])
        )
        if estimate.log_likelihood < highest[k] - MAX_GRID_DEFICIT
        else estimate
        for k, estimate in enumerate(found)
    ]


def _best_of_estimate_and_cell(
    profiles: ProfileProblems, grids: ProfileGrids, estimate: Estimate, n_steps: int
) -> Estimate:
    """Estimate at the best cell of the grid, if that is higher than the one given.

    n_steps : those of the search that led to the latter.

    At a limit of the model options may be alike but for rounding: weights that grow without end
    take that for a difference, and Newton steps for an ascent.
    """
    psi = grids.psi[grids.values.argmax(axis=1)]
    whose = np.zeros(1, dtype=np.int64)
    # No step is taken from the cell: the gradients that misled the search are the same here.
    newton = newton_batch(profiles, whose, psi, max_steps=0, finish=False)
    newton.n_steps[:] = n_steps
    (other,) = estimates_at(profiles, grids, newton.optima(), [estimate.subject])
    return other if other.log_likelihood > estimate.log_likelihood else estimate
