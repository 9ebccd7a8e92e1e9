"""Comparison of models, or of sets of attributes, fitted to the same decisions.

Every model is fitted to every subject by maximum likelihood (AIC, BIC, likelihood ratios), and,
with folds, cross-validated under a weak prior. Subjects of a scan are fitted where their data are;
only a row of numbers of each comes back. `comparison` holds the results, `selection` the folds and
the statistics; `population=True` hands over to `comparison.compare_populations`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np

from penchant._typing import IntVector, Label, Labels, Vector
from penchant.argument_checks import check_whole_number
from penchant.bandit.episode import Episodes
from penchant.choices import Choices
from penchant.choices.scan_protocols import SubjectScan
from penchant.errors import DataError, mark_argument
from penchant.inference.fit import History
from penchant.inference.fit_each import (
    OF_CHOICES,
    PortionFitter,
    build_portion_fitter,
    fit_each_model,
)
from penchant.models.arguments import as_episodes, refuse_no_model, refuse_word
from penchant.models.model import Model
from penchant.models.offers.attributes import Attributes
from penchant.models.spatial.map_basis import MapPrior
from penchant.reading.formula_sets import Attributed, is_set, rival_sets
from penchant.result_tables import make_frame
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import fit_choices
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.prior import ParameterPrior, ScaledPrior
from penchant.softmax.probabilities import decision_log_likelihoods
from penchant.tables.reading import Reading
from penchant.workflow.model_comparison_results import (
    Criterion,
    ModelComparison,
    PopulationComparison,
    PopulationCriterion,
    compare_populations,
    settings_contradicted_by_data,
)
from penchant.workflow.model_selection import (
    ComparisonPrior,
    Folds,
    HeldOutLogLikelihoods,
    checked_nested_pairs,
    cross_validation_splits,
    held_out_log_likelihoods,
    is_missing,
    likelihood_ratios,
    object_array,
)


@dataclass(frozen=True)
class SubjectScoreTask:
    """Fit of a portion of subjects, reduced to what a comparison needs; picklable."""

    fits: PortionFitter

    def __call__(self, data: Any) -> Any:
        """Table of pyarrow with a row for each subject."""
        found = self.fits.estimates(data)
        return make_frame(
            {
                "subject": list(found.subjects),
                "status": list(found.status),
                "n_decisions": list(found.n_decisions),
                "log_likelihood": found.log_likelihood.tolist(),
                "n_identified": [float(estimate.n_identified) for estimate in found],
            },
            "pyarrow",
        )

    def fit_subject(self, data: Any, subject: Label) -> Any:
        """The estimate of one subject of the portion."""
        return self.fits.fit_subject(data, subject)

    def __str__(self) -> str:
        return str(self.fits)


def compare_scanned_subjects(
    models: Mapping[str, Model],
    people: SubjectScan,
    criterion: Criterion,
    nested: Sequence[tuple[str, str]],
    engine: Any,
    threads: int | None,
) -> ModelComparison:
    """Fit every model to every subject of a scan, keeping a row of numbers of each."""
    fits = {
        name: build_portion_fitter(people, model, None, OF_CHOICES)
        for name, model in models.items()
    }
    closed = {name: fit.model for name, fit in fits.items() if fit.model is not None}
    n_parameters = tuple(len(model.weights) + len(model.shape) for model in closed.values())
    # Checked before the fits, which may take hours.
    checked_nested_pairs(nested, tuple(closed), n_parameters)
    found = [
        people.fit_subjects(SubjectScoreTask(fit), engine=engine, threads=threads)
        for fit in fits.values()
    ]
    subjects = found[0]["subject"].tolist()
    n_decisions = np.asarray(found[0]["n_decisions"], dtype=np.int64)
    is_scored = n_decisions > 0
    if not is_scored.any():
        raise DataError(
            "episodes",
            "must hold at least one decision that is scored",
            got="none",
            fix=f"Check {mark_argument('is_choice')} and {mark_argument('scored')}.",
        )
    log_likelihood = np.array([one["log_likelihood"] for one in found]).T[is_scored]
    statuses = np.array([one["status"] for one in found]).T[is_scored]
    return ModelComparison(
        models=closed,
        subjects=tuple(subjects[k] for k in np.flatnonzero(is_scored)),
        left_out=tuple(subjects[k] for k in np.flatnonzero(~is_scored)),
        n_decisions=n_decisions[is_scored],
        n_parameters=n_parameters,
        n_identified=np.array([one["n_identified"] for one in found]).T[is_scored],
        log_likelihood=log_likelihood,
        statuses=tuple(tuple(row) for row in statuses.tolist()),
        held_out=None,
        criterion=criterion,
        likelihood_ratios=likelihood_ratios(nested, tuple(closed), log_likelihood, n_parameters),
    )


SUBJECT_FOLDS = "subject"


def compare_attribute_sets(
    sets: Mapping[str, Attributes],
    choices: Choices,
    *,
    folds: Folds | None,
    criterion: Criterion | None,
    parameter_prior: ParameterPrior | None,
    nested: Sequence[tuple[str, str]],
    pool: bool,
    threads: int | None,
    words: str,
) -> ModelComparison:
    """Fit every set of attributes to the same decisions.

    Parameters
    ----------
    sets
        Variables of each set, by name.
    choices
        With all of these variables.
    folds
        A number k: every k-th decision is held out, in k ways; "subject", where all subjects are
        taken together: one person after another; or a label for each decision.
    criterion, parameter_prior, nested, threads
        As in `compare_models`.
    pool
        One set of weights for all subjects together.
    words
        How decisions were held out, and with which prior.
    """
    sizes = tuple(len(one.attributes) for one in sets.values())
    checked_nested_pairs(nested, tuple(sets), sizes)
    labels = None if folds is None else _decision_folds(choices, folds, pool)
    # Folds are made first: with `pool`, leave-one-subject-out needs the subjects that pooling
    # removes.
    compared = replace(choices, subject=None, subject_labels=None) if pool else choices
    undivided: tuple[Any, ...] = ()
    if labels is not None and compared.subject is not None:
        compared, labels, undivided = _drop_single_fold_subjects(compared, labels)
    fits = [_fit_subjects(compared, one.attributes, None, threads) for one in sets.values()]
    held = None
    if labels is not None:
        held = _cross_validate_by_decision(sets, compared, labels, parameter_prior, threads, words)
    log_likelihood = np.array([[e.log_likelihood for e in found] for found in fits]).T
    found = ModelComparison(
        models=dict(sets),
        subjects=_subject_labels(compared),
        left_out=(),
        undivided=undivided,
        n_decisions=np.array([e.n_decisions for e in fits[0]], dtype=np.int64),
        n_parameters=sizes,
        n_identified=np.array([[e.n_identified for e in found] for found in fits]).T,
        log_likelihood=log_likelihood,
        statuses=tuple(zip(*([e.status for e in found] for found in fits), strict=True)),
        held_out=held,
        criterion=criterion or ("bic" if folds is None else "held_out"),
        likelihood_ratios=likelihood_ratios(nested, tuple(sets), log_likelihood, sizes),
    )
    found.scores()  # refuses a criterion that there is nothing for
    return found


def _subject_labels(choices: Choices) -> tuple[Any, ...]:
    return (None,) if choices.subject is None else tuple(choices.subject_labels or ())


def _fit_subjects(
    choices: Choices, names: Sequence[str], prior: ParameterPrior | None, threads: int | None
) -> list[Estimate]:
    """Estimates of each subject in turn, or of all decisions together without subjects."""
    own = choices.select(names)
    if own.subject is None:
        return [fit_choices(own, parameter_prior=prior, threads=threads)]
    return list(fit_each_choices(own, parameter_prior=prior, threads=threads))


def _decision_folds(choices: Choices, folds: Any, pool: bool) -> Labels:
    """Fold label of every decision."""
    n = choices.n_decisions
    if isinstance(folds, str):
        if folds != SUBJECT_FOLDS or not pool or choices.subject is None:
            raise DataError(
                "folds",
                (
                    "must be a number for a choice experiment, or 'subject' where all subjects "
                    "are taken together"
                ),
                got=repr(folds),
                fix=f"Try {mark_argument('folds', 5)}.",
            )
        names = choices.subject_labels or ()
        return object_array([names[code] for code in choices.subject.tolist()])
    if isinstance(folds, (int, np.integer)):
        k = check_whole_number(int(folds), "folds", 2)
        # Every k-th decision of each subject, not of the whole table: all subjects then have about
        # as many decisions in each fold.
        codes = np.zeros(n, dtype=np.int64) if pool or choices.subject is None else choices.subject
        return object_array([t % k for t in _ordinals_within_subjects(codes)])
    given = object_array(list(folds))
    if len(given) != n or any(is_missing(label) for label in given.tolist()):
        raise DataError(
            "folds",
            f"must hold a label for each of the {n} decisions",
            got=f"{len(given)} labels",
            fix="Give one for each, none missing.",
        )
    return given


def _ordinals_within_subjects(codes: IntVector) -> list[int]:
    """Ordinal of each decision among those of its subject, from 0."""
    counts: dict[int, int] = {}
    found = []
    for code in codes.tolist():
        found.append(counts.get(code, 0))
        counts[code] = found[-1] + 1
    return found


def _drop_single_fold_subjects(
    choices: Choices, labels: Labels
) -> tuple[Choices, Labels, tuple[Any, ...]]:
    """Choices and folds less subjects with all decisions in one fold, and who these are."""
    assert choices.subject is not None
    names = choices.subject_labels or ()
    undivided = [
        code for code in range(len(names)) if len(set(labels[choices.subject == code].tolist())) < 2
    ]
    if len(undivided) == len(names):
        raise DataError(
            "folds",
            "must leave something to learn from",
            got="one fold only",
            where=f"for subject {names[undivided[0]]}",
            fix="Give other folds.",
        )
    if not undivided:
        return choices, labels, ()
    stays = ~np.isin(choices.subject, undivided)
    return choices.subset(stays), labels[stays], tuple(names[code] for code in undivided)


def _cross_validate_by_decision(
    sets: Mapping[str, Attributes],
    choices: Choices,
    labels: Labels,
    prior: ParameterPrior | None,
    threads: int | None,
    words: str,
) -> HeldOutLogLikelihoods:
    """Predict every decision by fits to the other folds of its subject."""
    n = choices.n_decisions
    codes = np.zeros(n, dtype=np.int64) if choices.subject is None else choices.subject
    owner = choices.subject_labels or (None,)
    number = {label: k for k, label in enumerate(dict.fromkeys(labels.tolist()))}
    fold = np.array([number[label] for label in labels.tolist()], dtype=np.int64)
    pairs = sorted({*zip(codes.tolist(), fold.tolist(), strict=True)})
    test_rows = [np.flatnonzero((codes == code) & (fold == k)) for code, k in pairs]
    training_rows = [np.flatnonzero((codes == code) & (fold != k)) for code, k in pairs]
    if not all(len(rows) for rows in training_rows):
        raise DataError(
            "folds",
            "must leave something to learn from",
            got="one fold only",
            fix="Give other folds.",
        )
    # Every training set becomes a subject, so that one batched call fits them all.
    training = replace(
        choices.subset(np.concatenate(training_rows)),
        subject=np.repeat(np.arange(len(pairs)), [len(rows) for rows in training_rows]),
        subject_labels=tuple(range(len(pairs))),
    )
    found: dict[str, Vector] = {}
    without: dict[str, int] = {}
    for name, one in sets.items():
        # A fold without a finite estimate predicts nothing. Its loss is infinite: leaving it out
        # would favour the model that fails.
        values, own = np.full(n, -np.inf), choices.select(one.attributes)
        estimates = _fit_subjects(training, one.attributes, prior, threads)
        finite = [bool(np.isfinite(estimate.theta).all()) for estimate in estimates]
        for rows, estimate, is_finite in zip(test_rows, estimates, finite, strict=True):
            if is_finite:
                values[rows] = decision_log_likelihoods(estimate.theta, own.subset(rows))
        found[name], without[name] = values, finite.count(False)
    return HeldOutLogLikelihoods(
        log_likelihoods=found,
        subjects=object_array([owner[code] for code in codes.tolist()]),
        blocks=object_array([None] * n),
        events=np.array(_ordinals_within_subjects(codes), dtype=np.int64),
        folds=labels,
        without=without,
        words=words,
    )


# Prior of held-out predictions. Real people separate the data more often than not, which makes the
# held-out loss of maximum likelihood infinite.
DEFAULT_PRIOR = ScaledPrior()


@overload
def compare_models(
    models: Mapping[str, Model | Attributed],
    episodes: Episodes | SubjectScan | Choices | Reading,
    *,
    folds: Folds | None = None,
    criterion: Criterion | None = None,
    parameter_prior: ComparisonPrior | None = DEFAULT_PRIOR,
    nested: Sequence[tuple[str, str]] = (),
    average: bool = False,
    pool: bool = False,
    population: Literal[False] = False,
    threads: int | None = None,
    engine: Any = None,
) -> ModelComparison: ...


@overload
def compare_models(
    models: Mapping[str, Model | Attributed],
    episodes: Episodes | SubjectScan | Choices | Reading,
    *,
    population: Literal[True],
    criterion: PopulationCriterion | None = None,
    nested: Sequence[tuple[str, str]] = (),
    threads: int | None = None,
) -> PopulationComparison: ...


def compare_models(
    models: Mapping[str, Model | Attributed],
    episodes: Episodes | SubjectScan | Choices | Reading,
    *,
    folds: Folds | None = None,
    criterion: Criterion | PopulationCriterion | None = None,
    parameter_prior: ComparisonPrior | None = DEFAULT_PRIOR,
    nested: Sequence[tuple[str, str]] = (),
    average: bool = False,
    pool: bool = False,
    population: bool = False,
    threads: int | None = None,
    engine: Any = None,
) -> ModelComparison | PopulationComparison:
    """Compare models of the same decisions, each fitted to every subject by itself.

    Parameters
    ----------
    models
        By name. Of a choice experiment, sets of attributes: formulas, "cost + C(brand)", with "1"
        for constants of the options alone and "all" for all attributes; or lists of names.
    episodes
        Of all subjects: `Episode`s, or `Offers`; or what `read` returned; or `Choices`. Or a `scan`
        of play or offers, which is compared by "bic" or "aic": a few numbers of each subject are in
        memory.
    folds
        Cross-validation: "block" leaves out one block after another; a number k every k-th
        decision, in k ways; or labels, an array for each episode with a label for each event. A
        decision that is left out is not scored, but stays in the history that others follow.
        Subjects with all decisions in one fold are left out, and named. Of a choice experiment: a
        number, a label for each decision, or with `pool` "subject", one person after another.
    criterion
        By which models are ranked: "bic", "aic" or "held_out", the cross-validated log-likelihood;
        the last if folds are given, else "bic".
    parameter_prior
        Prior on the weights of the fits that predict held-out decisions. Without one (None),
        choices that are separated in training make the loss infinite sooner or later, and the
        result says for which models. With a `MapPrior`, models without a map have a `ScaledPrior`
        of the same strength as its other weights. AIC, BIC and likelihood ratios are of
        maximum-likelihood fits always.
    nested
        Pairs (smaller, larger) of names for likelihood-ratio tests. That the larger model contains
        the smaller is on your word; where it fits worse, the result says so.
    average
        Average predictions over the shape parameters instead of taking the best.
    pool
        Of a choice experiment: one set of weights for all subjects together.
    population
        Compare models with everybody under the population of each (`fit_population`, by maximum
        likelihood): a `PopulationComparison`, ranked by "loo", the log-evidence of everybody under
        the population of all others, or by "aic" or "bic" of the populations.
    threads
        Processors to use; all if None.
    engine
        For a scan: who fits its subjects, as in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(3)
    >>> turning = np.repeat([[0.2, 0.8], [0.8, 0.2]], 30, axis=0)  # the better option changes
    >>> rule = {"temperature": 0.2, "learning_rate": 0.3}
    >>> learner = pn.QLearning(2)
    >>> plays = [
    ...     pn.simulate(turning, learner, rule, rng=rng, subject=subject) for subject in range(8)
    ... ]
    >>> found = pn.compare_models(
    ...     {"learner": learner, "habit": pn.models.RandomChoice(2)}, plays, folds=4
    ... )
    >>> found.best, found.n_best.tolist()
    ('learner', [8, 0])

    Sets of attributes of a choice experiment, for all subjects together:

    >>> reading = pn.read(pn.datasets.load("menu"))
    >>> sets = {"all": "all", "price": "price", "constants": "1"}
    >>> pn.compare_models(sets, reading, pool=True).best
    'all'
    """
    refuse_word(parameter_prior)
    if population:
        return _compare_populations(
            models, episodes, folds, criterion, nested, pool, threads, engine
        )
    if criterion == "loo":
        raise DataError(
            "criterion",
            "must be 'aic', 'bic' or 'held_out'",
            got="'loo', which is of populations",
            fix="Give population=True.",
        )
    sets = _choices_and_attribute_sets(models, episodes)
    if sets is not None:
        choices, attributes = rival_sets(*sets)
        return compare_attribute_sets(
            attributes,
            choices,
            folds=folds,
            criterion=criterion,
            parameter_prior=_prior_without_map(parameter_prior),
            nested=nested,
            pool=pool or choices.subject is None,
            threads=threads,
            words=f"{_describe_folds(folds)}, {_describe_prior(parameter_prior)}",
        )
    if pool:
        raise DataError(
            "pool",
            "must be left out but for sets of attributes of a choice experiment",
            got="True",
            fix="Models are compared subject by subject.",
        )
    named = _checked_models(models)
    if isinstance(episodes, SubjectScan):
        if folds is not None or criterion == "held_out":
            raise DataError(
                "criterion",
                "must be 'aic' or 'bic' for a scan, without folds",
                got="held-out decisions",
                fix="Read some subjects for these.",
            )
        return compare_scanned_subjects(
            named, episodes, criterion or "bic", nested, engine, threads
        )
    if engine is not None:
        raise DataError(
            "engine", "must be left out for data in memory", got="one", fix="It is for a scan."
        )
    data = as_episodes(episodes)
    subjects, unscored = _scored_and_unscored_subjects(data)
    if criterion is None:
        criterion = "bic" if folds is None else "held_out"
    n_parameters = tuple(len(model.weights) + len(model.shape) for model in named.values())
    checked_nested_pairs(nested, tuple(named), n_parameters)
    cut = None if folds is None else cross_validation_splits(data, folds)
    undivided: tuple[Any, ...] = ()
    if cut is not None:
        divided = {split.subject for split in cut}
        undivided = tuple(subject for subject in subjects if subject not in divided)
        subjects = tuple(subject for subject in subjects if subject in divided)
    # All criteria are of the same subjects, so that totals can be compared between them.
    compared = [episode for episode in data if episode.subject in subjects]
    fits = [fit_each_model(compared, model, threads=threads) for model in named.values()]
    log_likelihood = np.array([[e.log_likelihood for e in found] for found in fits]).T
    held = None
    if cut is not None:
        how = f"{_describe_folds(folds)}, {_describe_prior(parameter_prior)}"
        held = held_out_log_likelihoods(
            named, compared, cut, parameter_prior, average, threads, how
        )
    found = ModelComparison(
        models=named,
        subjects=subjects,
        left_out=unscored,
        undivided=undivided,
        n_decisions=np.array([e.n_decisions for e in fits[0]], dtype=np.int64),
        n_parameters=n_parameters,
        n_identified=np.array([[e.n_identified for e in found] for found in fits]).T,
        log_likelihood=log_likelihood,
        statuses=tuple(zip(*(found.status for found in fits), strict=True)),
        held_out=held,
        criterion=criterion,
        likelihood_ratios=likelihood_ratios(nested, tuple(named), log_likelihood, n_parameters),
        doubts=settings_contradicted_by_data(named, data),
    )
    found.scores()  # refuses a criterion that there is nothing for
    return found


def _compare_populations(
    models: Mapping[str, Any],
    episodes: Any,
    folds: Folds | None,
    criterion: str | None,
    nested: Sequence[tuple[str, str]],
    pool: bool,
    threads: int | None,
    engine: Any,
) -> PopulationComparison:
    """Check arguments that populations do not take, and compare."""
    named = _checked_models(models)
    for name, value in (("folds", folds), ("pool", pool or None), ("engine", engine)):
        if value is not None:
            raise DataError(
                name,
                "must be left out with population=True",
                got=repr(value),
                fix="People are left out one by one.",
            )
    if isinstance(episodes, SubjectScan):
        episodes = episodes.load("a population")
    return compare_populations(named, as_episodes(episodes), criterion, nested, threads)


def _choices_and_attribute_sets(
    models: Any, data: Any
) -> tuple[Reading | Choices, Mapping[str, Attributed]] | None:
    """A choice experiment and sets of its attributes; None for other data or models."""
    experiment = isinstance(data, Choices) or (isinstance(data, Reading) and data.kind == "choices")
    if not experiment or not isinstance(models, Mapping) or not models:
        return None
    return (data, models) if all(is_set(model) for model in models.values()) else None


def _checked_models(models: Mapping[str, Any]) -> dict[str, Model]:
    if not isinstance(models, Mapping) or not models:
        raise DataError(
            "models",
            "must be one or more by name",
            got=type(models).__name__,
            fix='Pass {"learner": QLearning(2), "habit": RandomChoice(2)}.',
        )
    for name, model in models.items():
        refuse_no_model(model)
        if not isinstance(model, Model):
            raise DataError(
                "models",
                "must be models such as QLearning(2)",
                got=f"{type(model).__name__} for {name!r}",
                fix="It needs weights, shape and explanatory.",
            )
    return {str(name): model for name, model in models.items()}


def _scored_and_unscored_subjects(
    episodes: Sequence[History],
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Subjects with a decision to score, and those without."""
    everybody = dict.fromkeys(episode.subject for episode in episodes)
    scored = {episode.subject for episode in episodes if episode.n_decisions}
    if not scored:
        raise DataError(
            "episodes",
            "must hold at least one decision that is scored",
            got="none",
            fix=f"Check {mark_argument('is_choice')} and {mark_argument('scored')}.",
        )
    unscored = tuple(s for s in everybody if s not in scored)
    return tuple(s for s in everybody if s in scored), unscored


def _prior_without_map(prior: ComparisonPrior | None) -> ParameterPrior | None:
    """Prior of the weights of choices, which have no map."""
    return ScaledPrior(prior.others) if isinstance(prior, MapPrior) else prior


def _describe_folds(folds: Folds | None) -> str:
    if isinstance(folds, str):
        return f"{folds}s that the fit did not see"
    if isinstance(folds, (int, np.integer)):
        return f"decisions that the fit did not see, one in {folds} left out at a time"
    return "decisions that the fit did not see, folds as given"


def _describe_prior(prior: ComparisonPrior | None) -> str:
    return "maximum likelihood" if prior is None else f"{prior} prior"
