"""Fits and forward simulations of every subject, in parts that can be stored and resumed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, Protocol

import numpy as np

from penchant._typing import Label, Vector
from penchant.errors import DataError, PenchantWarning
from penchant.inference.fit_each import fit_each_model
from penchant.inference.linearized_model import fit_linearized
from penchant.json_records import from_json, to_json
from penchant.models.model import Declared
from penchant.models.simulate import simulate_events
from penchant.result_tables import progress
from penchant.softmax import serialization
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates
from penchant.softmax.estimate_diagnostics import LinearizationValidity
from penchant.softmax.intervals_and_tests import ParameterEstimate, delta_method_parameters
from penchant.softmax.likelihood import available_threads
from penchant.studies.landscapes import Landscapes, Measurer, Measures, average_measures
from penchant.studies.payoffs import Draw
from penchant.studies.plan import Category, Plan
from penchant.studies.study_data import StudyData
from penchant.workflow.predictive_checks import log_choice_probabilities

How = Literal["payoffs", "landscape", "one step ahead"]


def how_simulated(data: StudyData, landscapes: Landscapes) -> How:
    """Choose how to simulate: "one step ahead" if the rewards of unchosen options are unknown.

    An option's mean over everybody's decisions is no task: rewards may drift, reverse, or differ
    between people.
    """
    if data.payoffs is not None:
        return "payoffs"
    return "landscape" if landscapes.complete else "one step ahead"


def simulate_subject(
    subject: Label,
    parameters: Mapping[str, float],
    theta: Vector,
    model: Any,
    measurer: Measurer,
    *,
    n_replicates: int,
    rng: np.random.Generator,
) -> Measures | None:
    """Simulate agents with a subject's estimates, or predict the subject one step ahead.

    Parameters
    ----------
    subject, parameters, model, measurer, n_replicates, rng
        As for `simulate_agents`.
    theta
        Weights and shape parameters of the subject.
    """
    declared = Declared(model)
    unknown = bool(
        declared.before or declared.after
    )  # nobody knows what other choices would have shown
    if unknown or how_simulated(measurer.data, measurer.landscapes) == "one step ahead":
        return predict_one_step_ahead(subject, theta, model, measurer)
    if not all(map(np.isfinite, parameters.values())):
        return None  # no agent can have an infinite temperature
    return simulate_agents(subject, parameters, model, measurer, n_replicates=n_replicates, rng=rng)


def predict_one_step_ahead(
    subject: Label, theta: Vector, model: Any, measurer: Measurer
) -> Measures | None:
    """Predict every decision of a subject from the choices and rewards before it."""
    if not np.isfinite(theta).all():
        return None
    d, found = len(model.weights), []
    for i in measurer.data.of(subject):
        episode = measurer.data.episodes[i]
        log_p = log_choice_probabilities(model, episode, theta[:d], theta[d:])
        found.append(measurer.predicted_measures(i, np.exp(log_p[episode.is_choice])))
    return average_measures(found)


def simulate_agents(
    subject: Label,
    parameters: Mapping[str, float],
    model: Any,
    measurer: Measurer,
    *,
    n_replicates: int,
    rng: np.random.Generator,
) -> Measures:
    """Simulate agents with these parameters in the episodes of a subject, and average them.

    They are shown what the subject was shown, run out of time where the subject did, and get the
    rewards of what they choose: by the subject's own payoffs of every option at every decision, or
    drawn around the mean rewards of the landscape.

    Parameters
    ----------
    subject
        Whose task it is.
    parameters
        Natural parameters of the model.
    model
        How the agents decide.
    measurer
        Knows the episodes and what their options paid.
    n_replicates
        Agents in every episode.
    rng
        Source of randomness.
    """
    found = []
    payoffs = measurer.data.payoffs
    for i in measurer.data.of(subject):
        episode = measurer.data.episodes[i]
        if payoffs is None:
            draw = _reward_sampler(measurer.landscapes, i, model, rng)
        else:
            draw = payoffs.draws(i, rng)
        n = episode.n_events
        play = simulate_events(model, parameters, draw, rng, n, n_replicates, like=episode)
        arrays = (play.executed, play.rewards)
        each = (np.ascontiguousarray(array[episode.is_choice].T) for array in arrays)
        found.append(measurer.play(i, *each))
    return average_measures(found)


def _reward_sampler(landscapes: Landscapes, i: int, model: Any, rng: np.random.Generator) -> Draw:
    """Return a function that draws the rewards of options chosen in an episode."""
    means = landscapes.means[landscapes.of_episode[i]]
    if landscapes.binary:
        return lambda _, options: (rng.random(len(options)) < means[options]).astype(float)
    variance = landscapes.noise_for(model)
    sd = np.sqrt(variance) if np.isfinite(variance) else 0.0
    return lambda _, options: means[options] + sd * rng.standard_normal(len(options))


@dataclass(frozen=True, eq=False)
class SubjectFit:
    """Estimates and simulations of one subject.

    Attributes
    ----------
    exact
        Maximum likelihood, or MAP with a prior.
    linearized
        The paper's estimator; None without a nominal point or a category.
    simulated
        What agents with the exact estimates do in the same task, or what is expected of the
        subject one step ahead; None without an estimate.
    """

    exact: Estimate
    linearized: Estimate | None
    simulated: Measures | None

    def to_dict(self) -> dict[str, Any]:
        """Record for JSON, which `from_dict` reads."""
        linear, played = self.linearized, self.simulated
        return {
            "exact": _estimate_record(self.exact),
            "linearized": None if linear is None else _estimate_record(linear),
            "simulated": to_json(played),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SubjectFit:
        """The inverse of `to_dict`."""
        return from_json(cls, document)


def _estimate_record(fit: Estimate) -> dict[str, Any]:
    """Record of an estimate for a file, without its subject, which the file has already."""
    return serialization.to_dict(fit, parameters_of(fit), *fit.source.default_interval) | {
        "subject": None
    }


def parameters_of(fit: Estimate) -> tuple[ParameterEstimate, ...]:
    """Natural parameters as stored, also where the deviation is not small."""
    return fit.source.parameters([fit], *fit.source.default_interval, None)[0]


def detach_linearized(found: Estimate, level: float) -> Estimate:
    """Detach a linearised fit from its data, with the natural parameters of the paper's map."""
    names, values, covariance = found.source.natural(found)
    return found.detached(delta_method_parameters(values, covariance, names, level), level, "wald")


def validity_of(fit: Estimate) -> LinearizationValidity:
    """The range of validity of a linearised fit."""
    assert fit.validity is not None
    return fit.validity


VERSION = 2  # of the files that are kept
SUBJECTS_PER_PART = 16  # subjects that are fitted, and kept, together
USABLE = ("converged", "weakly identified", "at a bound")
Timings = dict[str, float]


class PartStorage(Protocol):
    """Storage of the finished parts of a study."""

    def read(self, name: str) -> Any | None:
        """Read the document stored under this name; None if there is none."""

    def store(self, name: str, document: Any) -> None:
        """Store a document, whole or not at all."""


class NoStorage:
    """Storage that drops every document, for studies without a folder."""

    def read(self, name: str) -> Any | None:
        """Return None, as nothing is stored."""
        return None

    def store(self, name: str, document: Any) -> None:
        """Drop the document."""


def fit_subjects(
    measurer: Measurer,
    plan: Plan,
    categories: Mapping[Any, Category | None],
    *,
    storage: PartStorage,
    threads: int | None,
    timings: Timings,
) -> dict[Any, SubjectFit]:
    """Fit every subject, or read the fits from storage.

    Parameters
    ----------
    measurer
        The episodes, and what their options paid.
    plan
        The settings.
    categories
        Performance of every subject, which says what the linearised fit is linearised about.
    storage
        Where parts are kept. The parts do not depend on what is kept already, so that work that was
        interrupted gives the same numbers.
    threads
        Processors to use; all if None.
    timings
        Seconds of each step are added to it, those of all threads together.
    """
    subjects = measurer.data.subjects
    fitter = _Fitter(measurer, plan, categories, timings)
    parts = [
        _Part(i + 1, start, subjects)
        for i, start in enumerate(range(0, len(subjects), SUBJECTS_PER_PART))
    ]
    documents = {part: storage.read(part.name) for part in parts}
    with progress("Fitting subjects", len(subjects)) as advance:
        advance(sum(len(part.subjects) for part in parts if documents[part] is not None))
        missing = [part for part in parts if documents[part] is None]
        for part, document in _fit_parts(fitter.part, missing, threads):
            storage.store(part.name, document)
            documents[part] = document
            advance(len(part.subjects))
    found: dict[Any, SubjectFit] = {}
    for part in parts:
        found |= _read_fits(documents[part], part)
    return found


@dataclass(frozen=True)
class _Part:
    """Consecutive subjects that are fitted and stored together."""

    number: int
    start: int
    everyone: tuple[Any, ...]

    @property
    def name(self) -> str:
        return f"part-{self.number:04d}"

    @property
    def subjects(self) -> tuple[Label, ...]:
        return self.everyone[self.start : self.start + SUBJECTS_PER_PART]


def _fit_parts(
    work: Callable[[_Part], Any], parts: Sequence[_Part], threads: int | None
) -> Iterator[tuple[_Part, Any]]:
    """Each part with its document, as soon as it is done."""
    workers = available_threads() if threads is None else threads
    with warnings.catch_warnings():  # the range of validity stands beside every estimate
        warnings.simplefilter("ignore", PenchantWarning)
        if workers == 1:
            for part in parts:
                yield part, work(part)
            return
        with ThreadPoolExecutor(workers) as pool:
            futures = {pool.submit(work, part): part for part in parts}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                pool.shutdown(cancel_futures=True)


def _read_fits(document: Any, part: _Part) -> dict[Any, SubjectFit]:
    """Read the fits of a part from its document; new fits too, so that numbers are the same."""
    try:
        labels = document["subjects"]
        fits = [SubjectFit.from_dict(record) for record in document["fits"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        labels, fits = None, []
    expected = [_label(subject) for subject in part.subjects]
    if labels != expected or len(fits) != len(expected):
        raise DataError(
            part.name,
            f"must hold the fits of its {len(expected)} subjects",
            got="something else",
            fix=advise_unreadable(document),
        )
    return dict(zip(part.subjects, fits, strict=True))


def advise_unreadable(document: Any) -> str:
    """Advice for a stored file that cannot be read."""
    if isinstance(document, dict) and "fits" in document and document.get("version") != VERSION:
        return "It was made by another version of Penchant: remove it, and run again."
    return "The file is damaged: remove it, and resume."


def _label(subject: Label) -> Any:
    """A subject's label as a file can hold it."""
    return subject if isinstance(subject, (str, int)) else str(subject)


class _Fitter:
    """Fits parts of the subjects."""

    def __init__(
        self,
        measurer: Measurer,
        plan: Plan,
        categories: Mapping[Any, Category | None],
        timings: Timings,
    ) -> None:
        self.measurer, self.plan, self.categories = measurer, plan, categories
        self.timings, self.clock = timings, Lock()
        self.linear = {category: plan.linear(category) for category in plan.nominals}

    def part(self, part: _Part) -> dict[str, Any]:
        """Fit and simulate the subjects of a part, and return the document to store."""
        subjects = part.subjects
        exact = self._timed("exact fits", self._exact, subjects)
        estimates = self._timed("intervals", self._with_intervals, exact)
        linear = self._timed("linearised fits", self._apply_to_each, self._linearized, subjects)
        places = list(enumerate(zip(subjects, estimates, strict=True), part.start))
        played = self._timed("forward simulation", self._apply_to_each, self._simulated, places)
        fits = zip(estimates, linear, played, strict=True)
        return {
            "subjects": [_label(subject) for subject in subjects],
            "version": VERSION,
            "fits": [SubjectFit(*fit).to_dict() for fit in fits],
        }

    def _timed(self, step: str, work: Callable[..., Any], *arguments: Any) -> Any:
        begun = time.perf_counter()
        found = work(*arguments)
        spent = time.perf_counter() - begun
        with self.clock:
            self.timings[step] = self.timings.get(step, 0.0) + spent
        return found

    def _apply_to_each(self, work: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        return [work(thing) for thing in things]

    def _episodes(self, subject: Label) -> list[Any]:
        return [self.measurer.data.episodes[i] for i in self.measurer.data.of(subject)]

    def _exact(self, subjects: Sequence[Label]) -> Estimates:
        episodes = [episode for subject in subjects for episode in self._episodes(subject)]
        prior = self.plan.parameter_prior
        return fit_each_model(episodes, self.plan.model, parameter_prior=prior, threads=1)

    def _with_intervals(self, estimates: Estimates) -> list[Estimate]:
        level_and_kind = self.plan.level, self.plan.intervals
        found = estimates.parameters_at(*level_and_kind)
        return [
            estimate.detached(own, *level_and_kind)
            for estimate, own in zip(estimates, found, strict=True)
        ]

    def _linearized(self, subject: Label) -> Estimate | None:
        category = self.categories[subject]
        episodes = [episode for episode in self._episodes(subject) if episode.n_decisions]
        if category not in self.linear or not episodes:
            return None
        model, nominal = self.linear[category]
        return detach_linearized(fit_linearized(episodes, model, nominal=nominal), self.plan.level)

    def _simulated(self, place: tuple[int, tuple[Any, Estimate]]) -> Measures | None:
        i, (subject, fit) = place
        if not self.plan.n_replicates or fit.status not in USABLE:
            return None
        parameters = dict(zip(fit.natural_names, fit.natural.tolist(), strict=True))
        # the subject's own stream, whatever the part and the order of the work
        rng = np.random.default_rng([self.plan.seed, i])
        n = self.plan.n_replicates
        try:
            return simulate_subject(
                subject,
                parameters,
                fit.theta,
                self.plan.model,
                self.measurer,
                n_replicates=n,
                rng=rng,
            )
        except DataError:  # a temperature below 0, say: no agent can have it
            return None
