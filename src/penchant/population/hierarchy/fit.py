"""Everybody at once: `fit_population`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from penchant._frames import as_it_came
from penchant.bandit.episode import Episode
from penchant.choices import Choices
from penchant.choices.chunks import ManyPeople
from penchant.errors import DataError, listing, nearest
from penchant.inference.profile.profiles import Profiles
from penchant.models.coordinates import Coordinates, Links
from penchant.models.model import Model
from penchant.models.record import as_episodes, for_task, refuse_no_model
from penchant.population.hierarchy.assemble import result_of
from penchant.population.hierarchy.boundary import fit_plan
from penchant.population.hierarchy.conditions import Within, stacked
from penchant.population.hierarchy.design import read_design
from penchant.population.hierarchy.likelihoods import Choosers, People, Players
from penchant.population.hierarchy.plan import Plan
from penchant.population.hierarchy.result import PopulationFit, Source
from penchant.softmax.likelihood import available_threads
from penchant.wording import argument, either

FEWEST = 5  # subjects
SMALL = 50  # subjects below which REML is the default


@as_it_came
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
        "full": parameters are correlated between people, if these are five per parameter or more;
        "diagonal": they are not; "by group": each level of a factor has a spread of its own ("by
        sex" for the factor sex).
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
    if isinstance(data, ManyPeople):
        data = data.in_memory("a population")
    workers = available_threads() if threads is None else threads
    if people is None and hasattr(data, "people"):
        people = _of_reading(data, covariates, formula)
    if getattr(data, "kind", None) == "choices":  # a choice experiment that was read
        data = getattr(data, "data", data)
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
    if correlated and n < 5 * len(differing) and spread_prior is None:
        correlated = False
        notes.append(
            f"Correlations between parameters need at least {5 * len(differing)} subjects; got "
            f"{n}: they are taken for 0. (spread_prior='gamma' estimates them all the same.)"
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
        model=chosen_model,
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
                either(
                    "data must say who decided; got Choices without subjects. Give subject=...",
                    "--subject must be given for a population, as it says who decided; got choices "
                    "without subjects. Name the column: --subject id.",
                )
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


def _check_arguments(
    spread: Any, estimator: Any, nodes: Any, covariance: Any, spread_prior: Any
) -> None:
    if not (spread in ("full", "diagonal") or str(spread).startswith("by ")):
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
