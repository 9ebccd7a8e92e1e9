"""Every subject fitted, in parts that can be kept: what is done is done."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from penchant._progress import progress
from penchant.errors import DataError, PenchantWarning
from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit_each import fit_each_model
from penchant.inference.linearized import fit_linearized
from penchant.softmax.likelihood import available_threads
from penchant.study.forward import played_again
from penchant.study.measures import Measurer, Measures
from penchant.study.plan import Category, Plan
from penchant.study.subject_fit import Fitted, Linearized, SubjectFit, of_exact, of_linearized

PART = 16  # subjects that are fitted, and kept, together
USABLE = ("converged", "weakly identified", "at a bound")
Timings = dict[str, float]


class Keeper(Protocol):
    """Where parts of the work are kept."""

    def kept(self, name: str) -> Any | None:
        """What was kept under this name; None if nothing was."""

    def keep(self, name: str, document: Any) -> None:
        """Keep a document, whole or not at all."""


class Nowhere:
    """Keeps nothing."""

    def kept(self, name: str) -> Any | None:
        """Nothing is."""
        return None

    def keep(self, name: str, document: Any) -> None:
        """Nothing happens."""


def fit_subjects(
    measurer: Measurer,
    plan: Plan,
    categories: Mapping[Any, Category | None],
    *,
    keeper: Keeper,
    threads: int | None,
    timings: Timings,
) -> dict[Any, SubjectFit]:
    """Fit every subject, or take what is kept of them.

    Parameters
    ----------
    measurer
        The episodes, and what their options paid.
    plan
        The settings.
    categories
        Performance of every subject, which says what the linearised fit is linearised about.
    keeper
        Where parts are kept. The parts do not depend on what is kept already, so that work that was
        interrupted gives the same numbers.
    threads
        Processors to use; all if None.
    timings
        Seconds of each step are added to it.
    """
    subjects = measurer.data.subjects
    fitter = _Fitter(measurer, plan, categories, threads, timings)
    found: dict[Any, SubjectFit] = {}
    with progress("Fitting subjects", len(subjects)) as advance:
        for start in range(0, len(subjects), PART):
            part = subjects[start : start + PART]
            name = f"part-{start // PART + 1:04d}"
            document = keeper.kept(name)
            if document is None:
                document = fitter.part(part, start)
                keeper.keep(name, document)
            found |= _read(document, part, name)
            advance(len(part))
    return found


def _read(document: Any, part: Sequence[Any], name: str) -> dict[Any, SubjectFit]:
    """Fits as they are kept, new or old, so that both give the same numbers."""
    try:
        labels = document["subjects"]
        fits = [SubjectFit.from_dict(kept) for kept in document["fits"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        labels, fits = None, []
    if labels != [_label(subject) for subject in part] or len(fits) != len(part):
        raise DataError(
            f"{name} must hold the fits of its {len(part)} subjects; got something else. The file "
            "is damaged: remove it, and resume."
        )
    return dict(zip(part, fits, strict=True))


def _label(subject: Any) -> Any:
    """A subject's label as a file can hold it."""
    return subject if isinstance(subject, (str, int)) else str(subject)


class _Fitter:
    """Fits parts of the subjects."""

    def __init__(
        self,
        measurer: Measurer,
        plan: Plan,
        categories: Mapping[Any, Category | None],
        threads: int | None,
        timings: Timings,
    ) -> None:
        self.measurer, self.plan, self.categories = measurer, plan, categories
        self.threads = available_threads() if threads is None else threads
        self.timings = timings
        self.linear = {category: plan.linear(category) for category in plan.nominals}

    def part(self, subjects: Sequence[Any], start: int) -> dict[str, Any]:
        """What is kept of some subjects; `start` is the place of the first among all."""
        exact = self._timed("exact fits", self._exact, subjects)
        kept = self._timed("intervals", self._each, self._interval, exact)
        with warnings.catch_warnings():  # the range of validity stands beside every estimate
            warnings.simplefilter("ignore", PenchantWarning)
            linear = self._timed("linearised fits", self._each, self._linearized, subjects)
        places = list(enumerate(zip(subjects, kept, strict=True), start))
        played = self._timed("forward simulation", self._each, self._simulated, places)
        fits = zip(kept, linear, played, strict=True)
        return {
            "subjects": [_label(subject) for subject in subjects],
            "fits": [SubjectFit(*fit).to_dict() for fit in fits],
        }

    def _timed(self, step: str, work: Callable[..., Any], *arguments: Any) -> Any:
        begun = time.perf_counter()
        found = work(*arguments)
        self.timings[step] = self.timings.get(step, 0.0) + time.perf_counter() - begun
        return found

    def _each(self, work: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        if self.threads == 1:
            return [work(thing) for thing in things]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, things))

    def _episodes(self, subject: Any) -> list[Any]:
        return [self.measurer.data.episodes[i] for i in self.measurer.data.of(subject)]

    def _exact(self, subjects: Sequence[Any]) -> list[ModelEstimate]:
        episodes = [episode for subject in subjects for episode in self._episodes(subject)]
        prior = self.plan.parameter_prior
        return list(
            fit_each_model(episodes, self.plan.model, parameter_prior=prior, threads=self.threads)
        )

    def _interval(self, estimate: ModelEstimate) -> Fitted:
        return of_exact(estimate, self.plan.level, self.plan.intervals)

    def _linearized(self, subject: Any) -> Linearized | None:
        category = self.categories[subject]
        episodes = [episode for episode in self._episodes(subject) if episode.n_decisions]
        if category not in self.linear or not episodes:
            return None
        model, nominal = self.linear[category]
        return of_linearized(fit_linearized(episodes, model, nominal=nominal), self.plan.level)

    def _simulated(self, place: tuple[int, tuple[Any, Fitted]]) -> Measures | None:
        i, (subject, fit) = place
        if not self.plan.n_replicates or fit.status not in USABLE:
            return None
        parameters = dict(zip(fit.natural_names, fit.natural.tolist(), strict=True))
        if not all(map(np.isfinite, parameters.values())):
            return None
        # the subject's own stream, whatever the part and the order of the work
        rng = np.random.default_rng([self.plan.seed, i])
        n = self.plan.n_replicates
        try:
            return played_again(
                subject, parameters, self.plan.model, self.measurer, n_replicates=n, rng=rng
            )
        except DataError:  # a temperature below 0, say: no agent can have it
            return None
