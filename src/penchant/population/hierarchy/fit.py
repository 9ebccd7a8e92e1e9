"""Everybody at once: `fit_population`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.chunks import ManyPeople
from penchant.errors import DataError, listing, nearest
from penchant.inference.profile.profiles import Profiles
from penchant.models.coordinates import Coordinates
from penchant.models.model import Model
from penchant.models.record import as_episodes, for_task
from penchant.population.hierarchy.assemble import result_of
from penchant.population.hierarchy.conditions import Within, stacked
from penchant.population.hierarchy.design import Design, read_design
from penchant.population.hierarchy.likelihoods import Choosers, People, Players
from penchant.population.hierarchy.marginal import Structure
from penchant.population.hierarchy.result import PopulationFit, Source
from penchant.population.hierarchy.rules import EACH, MOST, N_DRAWS
from penchant.population.hierarchy.search import (
    Found,
    Search,
    begin,
    evaluated,
    flat_coordinates,
    search,
)
from penchant.population.hierarchy.spread import Spread
from penchant.softmax.likelihood import available_threads

FEWEST = 5  # subjects
SMALL = 50  # subjects below which REML is the default
ONE_SIDED = 1.353  # by which F falls at a one-sided limit of 95 %
UNSETTLED = 0.1  # log-units of integration error


def fit_population(
    data: Choices | Sequence[Episode] | ManyPeople,
    model: Model | None = None,
    *,
    covariates: Sequence[str] | None = None,
    formula: Mapping[str, str] | None = None,
    people: Any = None,
    within: Any = None,
    varying: Sequence[str] | None = None,
    random: Sequence[str] | None = None,
    spread: str = "full",
    links: Mapping[str, Any] | None = None,
    estimator: Literal["ml", "reml"] | None = None,
    nodes: int | None = None,
    covariance: Literal["model", "robust"] = "model",
    threads: int | None = None,
) -> PopulationFit:
    """Estimate a population and everybody in it together.

    Every subject has parameters of their own, drawn from a normal distribution on scales without
    limits (`links`). Its mean, which may depend on covariates, and its covariance maximise the
    likelihood of all decisions, the parameters of the subjects integrated out by adaptive
    Gauss-Hermite nodes. Nobody is left out.

    Parameters
    ----------
    data
        Episodes or offers of many subjects, with a model; or `Choices` with subjects, without: a
        mixed logit. Or a `scan` of these, which is read at once.
    model
        As in `fit`.
    covariates
        Columns of `people` on which the mean of every parameter depends. Numbers are centred,
        factors coded by sums.
    formula
        Instead, a formula per parameter: {"learning_rate": "~ group * age"}. Needs
        penchant[formula].
    people
        A table with a row per subject and a column `subject`.
    within
        Conditions under which the same subjects decided: a name for what the blocks of the episodes
        are, such as "drug", or {"drug": labels}, a label per episode.
    varying
        Parameters that differ between conditions; all, if not given.
    random
        Parameters that differ between subjects; all, if not given. The others are the same for
        everybody but for covariates.
    spread
        "full": parameters are correlated between people; "diagonal": they are not; "by group": each
        level of a factor has a spread of its own ("by sex" for the factor sex).
    links
        Scales by parameter: "identity", "log", "negative log" or ("logit", low, high); for weights
        and ratios. A weight on "log" is log-normal.
    estimator
        "ml", or "reml", which does not count the means as known; REML below 50 subjects, if not
        given.
    nodes
        Nodes in each direction; 11, 9 and 7 of one, two and three parameters, if not given.
    covariance
        Of the coefficients: "model", by the observed information; "robust", over subjects.
    threads
        Processors to use; all, if not given. The answer does not depend on it.

    Examples
    --------
    >>> import penchant as pn
    >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
    >>> pn.fit_population(people, pn.HyperbolicDiscounting())
    <PopulationFit of 20 subjects, one subject decides: discount_rate=0.0235, temperature=2.35>
    """
    _check_arguments(spread, estimator, nodes, covariance)
    if isinstance(data, ManyPeople):
        data = data.in_memory("a population")
    workers = available_threads() if threads is None else threads
    everyone, chosen_model, conditions = people_of_data(
        data, model, within, varying, links, workers
    )
    n = len(everyone.subjects)
    if n < FEWEST:
        raise DataError(
            f"data must hold at least {FEWEST} subjects for a population; got {n}. Fit them one by "
            "one with fit_each."
        )
    names = everyone.coordinates.names
    differing = _random(random, names)
    design = read_design(names, everyone.subjects, covariates, formula, people)
    notes: list[str] = []
    correlated = spread != "diagonal" and len(differing) > 1
    if correlated and n < 5 * len(differing):
        correlated = False
        notes.append(
            f"Correlations between parameters need at least {5 * len(differing)} subjects; got "
            f"{n}: they are taken for 0."
        )
    group = np.zeros(n, dtype=np.int64)
    labels: tuple[Any, ...] = ()
    if spread.startswith("by "):
        factor = design.factor(spread.removeprefix("by "))
        group, labels = factor.values.astype(np.int64), factor.levels
        fewest = int(np.bincount(group).min())
        if fewest < FEWEST:
            raise DataError(
                f"spread must have at least {FEWEST} subjects in every group; got {fewest} in "
                f"{labels[int(np.bincount(group).argmin())]}. Use spread='full'."
            )
    way = estimator or ("reml" if n < SMALL else "ml")
    plan = Plan(everyone, design, differing, correlated, group, max(len(labels), 1), way, nodes)
    fitted = _fitted(plan, notes)
    source = Source(
        people=everyone,
        model=chosen_model,
        data=data,
        design=design,
        conditions=conditions,
        found=fitted.found,
        task=fitted.task,
        group_labels=labels,
        covariance_kind=covariance,
    )
    return result_of(source, fitted.integration_error, fitted.status, notes)


class Plan(NamedTuple):
    """What is fitted."""

    people: People
    design: Design
    differing: list[int]
    correlated: bool
    group: Any
    n_groups: int
    estimator: str
    nodes: int | None

    def structure(self, random: list[int]) -> Structure:
        """With spread in these coordinates."""
        n, p = len(self.people.subjects), len(self.people.coordinates)
        return Structure(
            self.design.of_people(n),
            np.array(random, dtype=np.int64),
            np.array([a for a in range(p) if a not in random], dtype=np.int64),
            Spread(len(random), self.correlated and len(random) > 1, self.n_groups),
            self.group,
            np.ones(n),
        )

    def task(self, random: list[int], k: int | None = None, n_draws: int = N_DRAWS) -> Search:
        """The search with spread in these coordinates."""
        structure = self.structure(random)
        usual = EACH.get(len(random), EACH[MOST])
        restricted = self.estimator == "reml"
        return Search(self.people, structure, k or self.nodes or usual, restricted, n_draws)


class Fitted(NamedTuple):
    """The search's end, and what is wrong with it."""

    task: Search
    found: Found
    integration_error: float
    status: dict[str, str]


def _fitted(plan: Plan, notes: list[str]) -> Fitted:
    """Fit; without spread where there is none; with more nodes where they are too few."""
    status: dict[str, str] = {}
    beta, matrix, h, information = begin(plan.people, plan.structure(plan.differing).design)
    random = list(plan.differing)
    task = plan.task(random)
    found = search(task, beta, matrix, h, information)
    while True:
        own = found.marginal.structure
        flat = flat_coordinates(own, found.x, found.floors).tolist()
        if not flat:
            break
        names = plan.people.coordinates.names
        for c in flat:
            name = names[random[c]]
            alone = [a for b, a in enumerate(random) if b == c or b not in flat]
            words = f"No spread was found in {name}"
            if len(random) <= MOST:
                most = _most_spread(plan, alone, random[c], found, matrix, h, information)
                link = plan.people.coordinates.links[name]
                words += f": its standard deviation is at most {most:.3g} ({link})"
            status["no spread in " + name] = words + "."
        random = [a for c, a in enumerate(random) if c not in flat]
        task = plan.task(random)
        beta = found.x[: found.marginal.structure.n_beta]
        found = search(task, beta, matrix, h, information)
    limit = UNSETTLED * max(1.0, np.sqrt(len(h) / 100))
    error, apart = _integration_error(task, found)
    if abs(error) > limit and plan.nodes is None:
        task = plan.task(random, task.k + (4 if len(random) < MOST else 2), 4 * task.n_draws)
        found = _again(task, found, matrix, h, information)
        error, apart = _integration_error(task, found)
    if abs(error) > limit:
        worst = np.argsort(-np.abs(apart))[:5]
        people = listing(str(plan.people.subjects[i]) for i in worst)
        status["integration not settled"] = (
            f"The log-likelihood changes by {error:.2g} with fewer nodes, most for {people}: give "
            f"more than nodes={task.k}."
        )
    if not found.settled:
        status["stopped early"] = (
            f"The search stopped after {found.n_rounds} rounds before parameters stood still."
        )
    return Fitted(task, found, abs(error), status)


def _again(task: Search, found: Found, matrix: Matrix, h: Matrix, information: Matrix) -> Found:
    s = found.marginal.structure
    beta, numbers = found.x[: s.n_beta], found.x[s.n_beta :]
    return search(task, beta, matrix, h, information, numbers)


def _integration_error(task: Search, found: Found) -> tuple[float, Vector]:
    """Change of F with two nodes fewer in each direction, and of each subject's evidence."""
    if not len(task.structure.random):
        return 0.0, np.zeros(len(task.structure.design))
    fewer = Search(task.people, task.structure, task.k, task.restricted, max(task.n_draws // 2, 8))
    others = evaluated(fewer, found, max(task.k - 2, 1))
    apart = found.known.evidence - others
    return float(apart.sum()), apart


def _most_spread(
    plan: Plan,
    random: list[int],
    a: int,
    found: Found,
    matrix: Matrix,
    h: Matrix,
    information: Matrix,
) -> float:
    """Upper limit (95 %) of the standard deviation of coordinate a: where F falls by 1.35."""
    task = plan.task(random)
    s = task.structure
    c = random.index(a)
    order = (c, *(b for b in range(len(random)) if b != c))
    spread = Spread(s.spread.size, s.spread.correlated, s.spread.n_groups, order)
    own = Search(task.people, s._replace(spread=spread), min(task.k, 5), False, 32, still=0.05)
    hold = np.zeros(spread.n_parameters, dtype=bool)
    hold[:: spread.n_block] = True
    beta = found.x[: s.n_beta]
    start = np.stack([np.diag(np.diag(matrix)[random])] * s.spread.n_groups)
    floor = float(found.floors[found.marginal.structure.random.tolist().index(a)])

    def at(logarithm: float) -> float:
        numbers = spread.numbers(start)
        numbers[:: spread.n_block] = logarithm
        return search(own, beta, matrix, h, information, numbers, hold).known.value

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


def people_of_data(
    data: Any,
    model: Model | None,
    within: Any,
    varying: Sequence[str] | None,
    links: Mapping[str, Any] | None,
    threads: int,
) -> tuple[People, Model | None, Within | None]:
    """Subjects with their likelihoods, the model as it is for the task, and the conditions."""
    if isinstance(data, Choices):
        if model is not None:
            raise DataError(
                "model must be left out with Choices; got one. Their variables are the model."
            )
        if within is not None or varying is not None:
            raise DataError(
                "within must be left out with Choices; got it. Multiply variables with the "
                "condition, Choices.with_interaction."
            )
        if data.subject is None:
            raise DataError(
                "data must say who decided; got Choices without subjects. Give subject=..."
            )
        if not data.observed:
            raise DataError("data must hold choices made; got sets yet to be decided. Fit others.")
        coordinates = Coordinates.of_variables(data.names, links)
        return Choosers(data, coordinates, threads), None, None
    episodes = as_episodes(data)
    if model is None:
        raise DataError(
            "model must be given with episodes; got none. Pass UCL(...) or QLearning(...)."
        )
    chosen = for_task(model, episodes)
    coordinates = Coordinates.of_model(chosen, links)
    by_subject: dict[Any, list[Any]] = {}
    for episode in episodes:
        if episode.subject is None:
            raise DataError(
                "data must say who decided; got an episode without a subject. Give "
                "Episode(..., subject=...)."
            )
        by_subject.setdefault(episode.subject, []).append(episode)
    silent = [str(s) for s, mine in by_subject.items() if not any(e.n_decisions for e in mine)]
    if silent:
        raise DataError(
            f"data must hold a decision of every subject; got none of {listing(silent)}. Leave "
            "them out."
        )
    if within is None:
        if varying is not None:
            raise DataError(
                "varying must come with within; got it alone. Say what the conditions are."
            )
        groups = tuple(tuple(mine) for mine in by_subject.values())
        profiles = Profiles(chosen, groups)
        return Players(profiles, coordinates, tuple(by_subject), threads), chosen, None
    everyone, conditions = stacked(episodes, chosen, coordinates, within, varying, threads)
    return everyone, chosen, conditions


def _random(random: Sequence[str] | None, names: Sequence[str]) -> list[int]:
    """Coordinates that differ between people."""
    if random is None:
        return list(range(len(names)))
    asked = [random] if isinstance(random, str) else list(random)
    for name in asked:
        if name not in names:
            raise DataError(
                f"random must name parameters; got {name!r}, but they are {', '.join(names)}."
                f"{nearest(str(name), names) or ' Correct it.'}"
            )
    return [a for a, name in enumerate(names) if name in asked]


def _check_arguments(spread: Any, estimator: Any, nodes: Any, covariance: Any) -> None:
    if not (spread in ("full", "diagonal") or str(spread).startswith("by ")):
        raise DataError(
            f"spread must be 'full', 'diagonal' or 'by group'; got {spread!r}. Choose one."
        )
    if estimator not in (None, "ml", "reml"):
        raise DataError(f"estimator must be 'ml' or 'reml'; got {estimator!r}. Choose one.")
    if covariance not in ("model", "robust"):
        raise DataError(f"covariance must be 'model' or 'robust'; got {covariance!r}. Choose one.")
    whole = isinstance(nodes, int | np.integer) and not isinstance(nodes, bool)
    if nodes is not None and not (whole and 3 <= nodes <= 99):
        raise DataError(
            f"nodes must be a whole number from 3 to 99; got {nodes!r}. Leave it out for the usual."
        )
