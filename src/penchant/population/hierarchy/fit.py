"""Everybody at once: `fit_population`, what it fits, and how it comes to its end.

A spread whose maximum is at 0 is left out, and an upper limit given. That none was found does not
mean that people are alike: they are described with the spread that a weak prior keeps from
vanishing (Chung et al. 2013), so that their intervals are not those of the mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.chunks import SubjectScan
from penchant.errors import DataError, argument, closest_match_hint, either, format_list
from penchant.inference.profile.profiles import Profiles
from penchant.models.coordinates import Coordinates, Links
from penchant.models.model import Model
from penchant.models.record import as_episodes, doubts_of, refuse_no_model
from penchant.output import preserve_frame_backend
from penchant.population.hierarchy.assemble import result_of
from penchant.population.hierarchy.contrasts import Within, stacked
from penchant.population.hierarchy.design import Design, read_design
from penchant.population.hierarchy.likelihoods import Choosers, People, Players
from penchant.population.hierarchy.marginal import Spread, Structure
from penchant.population.hierarchy.nodes import EACH, FEWER, LEAST, MOST, N_DRAWS
from penchant.population.hierarchy.result import PopulationFit, Source
from penchant.population.hierarchy.search import (
    Found,
    Search,
    begin,
    elsewhere,
    evaluated,
    flat_coordinates,
    search,
    spread_shares,
    would_move,
)
from penchant.softmax.likelihood import available_threads

NEARBY = 1.0  # typical standard deviations within which a likelihood is like its expansion


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
    away_from_zero: bool = False

    def structure(self, random: list[int]) -> Structure:
        """With spread in these coordinates."""
        n, p = len(self.people.subjects), len(self.people.coordinates)
        design = self.design.of_people(n)
        fixed = np.array([a for a in range(p) if a not in random], dtype=np.int64)
        most = np.abs(design).max(axis=0)  # (p, n_beta)
        sd = self.people.typical.sd[fixed, None]
        room = np.divide(sd, most[fixed], out=np.full((len(fixed), most.shape[1]), np.inf),
                         where=most[fixed] > 0)  # fmt: skip
        return Structure(
            design,
            np.array(random, dtype=np.int64),
            fixed,
            Spread(len(random), self.correlated and len(random) > 1, self.n_groups),
            self.group,
            np.ones(n),
            NEARBY * room.min(axis=0, initial=np.inf),
        )

    def task(self, random: list[int]) -> Search:
        """The search with spread in these coordinates."""
        structure = self.structure(random)
        usual, draws = EACH.get(len(random), 0), N_DRAWS
        if not usual:
            usual, draws = FEWER.get(
                sum(a < self.people.coordinates.n_shape for a in random), LEAST
            )
        return Search(
            self.people,
            structure,
            self.nodes or usual,
            self.estimator == "reml",
            n_draws=draws,
            away_from_zero=self.away_from_zero,
        )

    def checked(self, task: Search) -> Search:
        """The same with two nodes more in each direction: with draws, in the shapes."""
        q = int((task.structure.random < self.people.coordinates.n_shape).sum())
        return replace(task, k=task.k + 2, n_draws=task.n_draws if q else 2 * task.n_draws)

    def closer(self, task: Search) -> Search:
        """The next finer rule: most nodes in the shapes, in which posteriors are least normal."""
        r = len(task.structure.random)
        q = int((task.structure.random < self.people.coordinates.n_shape).sum())
        if r > MOST:
            more = task.k + 2 if q == 1 else task.k
            return replace(task, k=more, n_draws=2 * task.n_draws)
        if not q:
            return replace(task, k=task.k + (4 if r < MOST else 2))
        # twice the nodes of one shape: with two more, rules that are both wrong agree by chance
        on_shape = task.k + task.more
        on_shape = 2 * on_shape + 1 if q == 1 else on_shape + 4
        return replace(task, k=task.k + 2, more=on_shape - task.k - 2)


ONE_SIDED = 1.353  # by which F falls at a one-sided limit of 95 %
UNSETTLED = 0.1  # log-units of integration error, for each hundred subjects
MOST_NODES = 4000  # of each subject, in a search
MOVES = 0.2  # standard errors by which other draws may move a parameter
THIN = 0.3  # standard deviations of a subject's likelihood below which a spread may be none
LOST = 0.05  # log-units that a spread must be worth
FAR = 100.0  # typical standard deviations beyond which a mean that nothing tells has run away
AT_ONE = 0.985  # correlation from which on another start is tried


class Fitted(NamedTuple):
    """The search's end, where people are described, and what is wrong."""

    task: Search
    found: Found
    about: Found
    integration_error: float
    status: dict[str, str]


class _Start(NamedTuple):
    """Where searches begin: covariance, modes and informations under a broad prior."""

    matrix: Matrix
    h: Matrix
    information: Matrix


def fit_plan(plan: Plan) -> Fitted:
    """Fit a population, and say what is wrong with it."""
    status: dict[str, str] = {}
    beta, *rest = begin(plan.people, plan.structure(plan.differing).design)
    start = _Start(*rest)
    best = _best(plan, plan.differing, beta, start)
    random, gone = list(plan.differing), []
    while True:
        thin = _without_spread(plan, random, best, start)
        if thin is None:
            break
        gone.append((random[thin[0]], best.found))
        random, best = thin[1], thin[2]
    task, found, error = best
    for a, before in gone:
        name = plan.people.coordinates.names[a]
        words = f"No spread was found in {name}"
        if len(plan.differing) <= MOST:
            most = _most_spread(plan, [*random, a], a, before, start)
            words += (
                f": its standard deviation is at most {most:.3g} "
                f"({plan.people.coordinates.links[name]})"
                if np.isfinite(most)
                else ", and the decisions set no limit to it"
            )
        status["no spread in " + name] = words + "."
    if not error.settled:
        worst = np.argsort(-np.abs(error.apart))[:5]
        people = format_list(str(plan.people.subjects[i]) for i in worst)
        other, advice = "more nodes", f"give more than nodes={task.k}"
        if len(task.structure.random) > MOST:
            other, advice = "other draws", _simpler(task)
        elif plan.nodes is None:
            advice = _simpler(task)
        status["integration not settled"] = (
            f"The log-likelihood changes by {error.total:.2g} with {other}, most for {people}: "
            f"{advice}."
        )
    if not found.settled:
        status["stopped early"] = (
            f"The search stopped after {found.n_rounds} rounds before parameters stood still: "
            f"{_simpler(task)}."
        )
    about = _described(plan, found, beta, start) if gone else found
    return Fitted(task, found, about, error.total, status)


def _simpler(task: Search) -> str:
    """What to do where a population has more parameters than the decisions settle."""
    fewer = f"let fewer parameters differ ({either('random=[...]', '--random NAMES')})"
    if not task.structure.spread.correlated:
        return fewer
    return f"leave correlations out ({argument('spread', 'diagonal')}), or {fewer}"


class _Reached(NamedTuple):
    """A search, its end, and how much nodes change it."""

    task: Search
    found: Found
    error: _Error

    @classmethod
    def of(cls, plan: Plan, task: Search, found: Found) -> _Reached:
        """With its integration error."""
        return cls(task, found, _integration_error(plan, task, found))


def _best(plan: Plan, random: list[int], beta: Vector, start: _Start) -> _Reached:
    """The best population, closer where nodes are too few; from elsewhere too where it is odd."""
    task = plan.task(random)
    found = search(task, beta, *start)
    first = _Reached.of(plan, task, found)
    if len(flat_coordinates(task.structure, found.x, found.floors)):
        return first
    best = first
    while plan.nodes is None and not best.error.settled and _is_affordable(plan, best):
        task = plan.closer(task)
        s = task.structure
        here = found.x[: s.n_beta], *start, found.x[s.n_beta :]
        found = search(task, *here, posterior=found.posterior)
        best = _Reached.of(plan, task, found)
    costly = found.settled and len(random) > MOST
    if task.structure.spread.correlated and _is_odd(found) and not costly:
        apart = start._replace(matrix=np.diag(np.diag(start.matrix)))
        other = search(task, beta, *apart)
        gained = task.goal.level(other.marginal, other.x)
        gained -= task.goal.level(found.marginal, found.x)
        if other.settled and (gained > 0 or not found.settled):
            return _Reached.of(plan, task, other)
    return best


def _is_affordable(plan: Plan, reached: _Reached) -> bool:
    """Whether a search on the next finer rule costs no more than it may; draws are doubled once."""
    task = plan.closer(reached.task)
    if len(task.structure.random) > MOST:
        return reached.task.n_draws == plan.task(task.structure.random.tolist()).n_draws
    return task.rule(task.k).n_nodes <= MOST_NODES


def _is_odd(found: Found) -> bool:
    """Whether a maximum is at the end of a correlation's range, or was not reached."""
    s = found.marginal.structure
    matrices = s.spread.matrices(found.x[s.n_beta :])
    sd = np.sqrt(np.einsum("gaa->ga", matrices))
    r = matrices / (sd[:, :, None] * sd[:, None, :]) - np.eye(s.spread.size)
    return not found.settled or float(np.abs(r).max()) > AT_ONE


def _without_spread(
    plan: Plan, random: list[int], best: _Reached, start: _Start
) -> tuple[int, list[int], _Reached] | None:
    """The same without a coordinate whose spread is worth nothing; None where all are."""
    task, found = best.task, best.found
    s = task.structure
    if not random or task.away_from_zero:
        return None
    shares = spread_shares(s, found.x, found.floors)
    flat = flat_coordinates(s, found.x, found.floors)
    level = task.goal.level(found.marginal, found.x) if found.settled else -np.inf
    if len(random) > MOST or not best.error.settled:
        # too costly, or not to be told: only what has no spread at all
        shares = np.where(np.isin(np.arange(len(shares)), flat), shares, np.inf)
    for c in np.argsort(shares):
        if shares[c] > THIN:
            break
        others = [a for b, a in enumerate(random) if b != c]
        without = _best(plan, others, found.x[: s.n_beta], start)
        lost = level - without.task.goal.level(without.found.marginal, without.found.x)
        if lost < LOST or c in flat:
            return int(c), others, without
    return None


def _described(plan: Plan, found: Found, beta: Vector, start: _Start) -> Found:
    """The population with a weak prior that keeps spreads from vanishing.

    The prior sets no upper end: where the decisions set none either, as of people at the bounds of
    a rate, spread and mean may run away together. Then nothing is described but what was found.
    """
    task = replace(plan.task(plan.differing), away_from_zero=True)
    reached = found.x[: task.structure.n_beta]
    for first in (reached, beta):
        if not _is_far(plan, task.structure, first):
            wide = search(task, first, *start)
            if not _is_far(plan, wide.marginal.structure, wide.x):
                return wide
    return found


def _is_far(plan: Plan, structure: Structure, x: Vector) -> bool:
    """Whether means, or spreads if x has them, are beyond all that is typical of people."""
    centre, sd = plan.people.typical
    far = (np.abs(structure.means(x[: structure.n_beta]) - centre) > FAR * sd).any()
    if len(x) > structure.n_beta:
        matrices = structure.spread.matrices(x[structure.n_beta :])
        spreads = np.sqrt(np.einsum("gaa->ga", matrices))
        far |= (spreads > FAR * sd[structure.random]).any()
    return bool(far)


class _Error(NamedTuple):
    """Estimated error of F, changes of each subject's evidence, and whether they are small."""

    total: float
    apart: Vector
    settled: bool


def _integration_error(plan: Plan, task: Search, found: Found) -> _Error:
    """Changes of subjects' evidences with the next finer rule, and the sum of their sizes.

    Signed changes may cancel although every subject's integral is off. They are summed for the
    verdict alone, and allowed less in a crowd: an error that all have in common moves estimates in
    units of their standard errors the more, the more people there are.
    """
    n = len(task.structure.design)
    if not len(task.structure.random):
        return _Error(0.0, np.zeros(n), True)
    if len(task.structure.random) > MOST:
        return _error_of_draws(plan, replace(task, n_draws=found.n_draws), found)
    apart = evaluated(plan.closer(task), found) - found.known.evidence
    total, common = float(np.abs(apart).sum()), abs(float(apart.sum()))
    hundreds = max(1.0, n / 100)
    settled = total < UNSETTLED * hundreds and common < UNSETTLED * np.sqrt(hundreds)
    return _Error(total, apart, settled)


def _error_of_draws(plan: Plan, task: Search, found: Found) -> _Error:
    """Change of F with half the draws or, where that is much, with others and more.

    Errors of draws are many, small and independent, so that the root of the sum of their squares is
    the size of their sum. It is enough that parameters hardly move with others.
    """
    apart = found.known.evidence - evaluated(task.coarser(), found)
    enough = UNSETTLED * max(1.0, float(np.sqrt(len(apart) / 100)))
    if _size_of_sum(apart) < enough:
        return _Error(_size_of_sum(apart), apart, True)
    other = elsewhere(plan.checked(task), found)
    apart = other.evidence(found.x) - found.known.evidence
    settled = _size_of_sum(apart) < enough or would_move(other, found) < MOVES
    return _Error(_size_of_sum(apart), apart, settled)


def _size_of_sum(apart: Vector) -> float:
    return float(max(abs(apart.sum()), np.sqrt((apart**2).sum())))


def _most_spread(plan: Plan, random: list[int], a: int, found: Found, start: _Start) -> float:
    """Upper limit (95 %) of the standard deviation of coordinate a: where F falls by 1.35."""
    random = sorted(random)
    task = plan.task(random)
    s = task.structure
    c = random.index(a)
    order = (c, *(b for b in range(len(random)) if b != c))
    spread = Spread(s.spread.size, s.spread.correlated, s.spread.n_groups, order)
    own = Search(task.people, s._replace(spread=spread), min(task.k, 5), False, 32, still=0.05)
    hold = np.zeros(spread.n_parameters, dtype=bool)
    hold[:: spread.n_block] = True
    beta = found.x[: s.n_beta]
    first = np.stack([np.diag(np.diag(start.matrix)[random])] * s.spread.n_groups)
    floor = float(found.floors[found.marginal.structure.random.tolist().index(a)])

    def at(logarithm: float) -> float:
        numbers = spread.numbers(first)
        numbers[:: spread.n_block] = logarithm
        return search(own, beta, *start, numbers, hold).known.value

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


FEWEST = 5  # subjects
SMALL = 50  # subjects below which REML is the default
PER_ENTRY = 4  # subjects for each entry of a covariance that is estimated unless asked not to


@preserve_frame_backend
def fit_population(
    data: Choices | Sequence[Episode] | SubjectScan,
    model: Model | None = None,
    *,
    covariates: Sequence[str] | None = None,
    formula: Mapping[str, str] | None = None,
    people: Any = None,
    within: Any = None,
    varying: Sequence[str] | None = None,
    random: Sequence[str] | None = None,
    spread: str | None = None,
    links: Links = None,
    estimator: Literal["ml", "reml"] | None = None,
    nodes: int | None = None,
    covariance: Literal["model", "robust"] = "model",
    spread_prior: Literal["gamma"] | None = None,
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
        factors have treatment coding: a level's coefficient is its difference from the first.
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
        level of a factor has a spread of its own ("by sex" for the factor sex). If not given,
        "full" where people are four times its variances and covariances or more (12, 24, 40 and 60
        people of two, three, four and five parameters), otherwise "diagonal", and the notes say so.
    links
        Scales by parameter: "identity", "log", "negative log" or ("logit", low, high); for weights
        and ratios. A weight on "log" is log-normal. A ratio of weights, such as a bonus in units of
        rewards, on "weight" is carried by its weight (bonus/temperature); "weights": all ratios
        are. That predicts people better who hardly decide by what they would be measured in.
    estimator
        "ml", or "reml", which does not count the means as known; REML below 50 subjects, if not
        given.
    nodes
        Nodes in each direction; 11, 9 and 7 of one, two and three parameters, if not given.
    covariance
        Of the coefficients: "model", by the observed information; "robust", over subjects.
    spread_prior
        "gamma" keeps standard deviations from vanishing and correlations from 1, with a prior
        proportional to each standard deviation (Chung et al. 2013) and LKJ(2); none, if not given.
    threads
        Processors to use; all, if not given. The answer does not depend on it.

    Examples
    --------
    >>> import penchant as pn
    >>> people = pn.offers_from_frame(pn.datasets.load("delays"))
    >>> pn.fit_population(people, pn.HyperbolicDiscounting())
    <PopulationFit of 20 subjects, one subject decides: discount_rate=0.0235, temperature=2.37>
    """
    refuse_no_model(model)
    _check_arguments(spread, estimator, nodes, covariance, spread_prior)
    if isinstance(data, SubjectScan):
        data = data.load("a population")
    workers = available_threads() if threads is None else threads
    if people is None and hasattr(data, "people"):
        people = _of_reading(data, covariates, formula)
    if getattr(data, "kind", None) == "choices":  # a choice experiment that was read
        data = getattr(data, "data", data)
    everyone, conditions = people_of_data(data, model, within, varying, links, workers)
    n = len(everyone.subjects)
    if n < FEWEST:
        raise DataError(
            f"data must hold at least {FEWEST} subjects for a population; got {n}. Fit them one by "
            "one with fit_each."
        )
    names = everyone.coordinates.names
    differing = _random(random, names)
    design = read_design(names, everyone.subjects, covariates, formula, people)
    notes = [] if model is None else list(doubts_of(model, as_episodes(data)))
    if spread is None:
        spread = "full" if spread_prior is not None else usual_spread(n, len(differing))
        notes += few_people(n, len(differing)) if spread == "diagonal" else []
    correlated = spread != "diagonal" and len(differing) > 1
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
    held_off = spread_prior is not None
    if held_off:
        notes.append(
            "Standard deviations have a weak prior that keeps them from 0, and correlations one "
            "that keeps them from 1 (spread_prior='gamma')."
        )
    n_groups = max(len(labels), 1)
    plan = Plan(everyone, design, differing, correlated, group, n_groups, way, nodes, held_off)
    fitted = fit_plan(plan)
    source = Source(
        people=everyone,
        model=model,
        data=data,
        design=design,
        conditions=conditions,
        found=fitted.found,
        about=fitted.about,
        task=fitted.task,
        group_labels=labels,
        covariance_kind=covariance,
    )
    return result_of(source, fitted.integration_error, fitted.status, notes)


def usual_spread(n: int, n_differing: int) -> str:
    """The spread of n people who differ in so many parameters, if none is asked for."""
    enough = n >= PER_ENTRY * _n_entries(n_differing)
    return "full" if enough or n_differing < 2 else "diagonal"


def few_people(n: int, n_differing: int) -> list[str]:
    """Why correlations are left out, and how they are not."""
    return [
        f"Correlations between parameters are taken for 0 ({argument('spread', 'diagonal')}): {n} "
        f"subjects are fewer than {PER_ENTRY} for each of {_n_entries(n_differing)} variances and "
        f"covariances. {argument('spread', 'full')} estimates them all the same."
    ]


def _n_entries(n_differing: int) -> int:
    """Variances and covariances."""
    return n_differing * (n_differing + 1) // 2


def _of_reading(
    data: Any, covariates: Sequence[str] | str | None, formula: Mapping[str, str] | None
) -> Any:
    """What the table that was read says of its people; None where nothing is asked of them."""
    asked = [covariates] if isinstance(covariates, str) else [*(covariates or ())]
    for words in (formula or {}).values():
        asked += [name for name in re.findall(r"[^\W\d]\w*", words) if name not in asked]
    return data.people(asked) if asked else None


def people_of_data(
    data: Any,
    model: Model | None,
    within: Any,
    varying: Sequence[str] | None,
    links: Links,
    threads: int,
) -> tuple[People, Within | None]:
    """Subjects with their likelihoods, and the conditions."""
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
                either(
                    "data must say who decided; got Choices without subjects. Give subject=...",
                    "--subject must be given for a population, as it says who decided; got choices "
                    "without subjects. Name the column: --subject id.",
                )
            )
        if not data.observed:
            raise DataError("data must hold choices made; got sets yet to be decided. Fit others.")
        coordinates = Coordinates.of_variables(data.names, links)
        return Choosers(data, coordinates, threads), None
    episodes = as_episodes(data)
    if model is None:
        raise DataError(
            "model must be given with episodes; got none. Pass UCL(...) or QLearning(...)."
        )
    coordinates = Coordinates.of_model(model, links)
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
            f"data must hold a decision of every subject; got none of {format_list(silent)}. Leave "
            "them out."
        )
    if within is None:
        if varying is not None:
            raise DataError(
                "varying must come with within; got it alone. Say what the conditions are."
            )
        groups = tuple(tuple(mine) for mine in by_subject.values())
        profiles = Profiles(model, groups)
        return Players(profiles, coordinates, tuple(by_subject), threads), None
    everyone, conditions = stacked(episodes, model, coordinates, within, varying, threads)
    return everyone, conditions


def _random(random: Sequence[str] | None, names: Sequence[str]) -> list[int]:
    """Coordinates that differ between people."""
    if random is None:
        return list(range(len(names)))
    asked = [random] if isinstance(random, str) else list(random)
    for name in asked:
        if name not in names:
            raise DataError(
                f"random must name parameters; got {name!r}, but they are {', '.join(names)}."
                f"{closest_match_hint(str(name), names) or ' Correct it.'}"
            )
    return [a for a, name in enumerate(names) if name in asked]


def _check_arguments(
    spread: Any, estimator: Any, nodes: Any, covariance: Any, spread_prior: Any
) -> None:
    if not (spread in (None, "full", "diagonal") or str(spread).startswith("by ")):
        raise DataError(
            f"{argument('spread')} must be 'full', 'diagonal' or 'by group'; got {spread!r}. "
            "Choose one."
        )
    if estimator not in (None, "ml", "reml"):
        raise DataError(f"estimator must be 'ml' or 'reml'; got {estimator!r}. Choose one.")
    if covariance not in ("model", "robust"):
        raise DataError(f"covariance must be 'model' or 'robust'; got {covariance!r}. Choose one.")
    if spread_prior not in (None, "gamma"):
        raise DataError(
            f"spread_prior must be 'gamma' or left out; got {spread_prior!r}. Choose one."
        )
    whole = isinstance(nodes, int | np.integer) and not isinstance(nodes, bool)
    if nodes is not None and not (whole and 3 <= nodes <= 99):
        raise DataError(
            f"nodes must be a whole number from 3 to 99; got {nodes!r}. Leave it out for the usual."
        )
