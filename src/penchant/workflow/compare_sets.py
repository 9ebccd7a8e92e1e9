"""Sets of attributes of a choice experiment compared: all subjects together, or each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penchant._typing import IntVector, Labels, Vector
from penchant.arguments import whole_number
from penchant.choices import Choices
from penchant.errors import DataError
from penchant.models.offers.attributes import Attributes
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import fit_choices
from penchant.softmax.fit_each import fit_each_choices
from penchant.softmax.prior import ParameterPrior
from penchant.softmax.probabilities import decision_log_likelihoods
from penchant.wording import argument
from penchant.workflow.comparison import Criterion, ModelComparison
from penchant.workflow.folds import Folds, HeldOut, is_missing
from penchant.workflow.likelihood_ratio import checked_pairs, likelihood_ratios

SUBJECT = "subject"  # folds that leave out one person after another


def compare_sets(
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
    checked_pairs(nested, tuple(sets), sizes)
    labels = None if folds is None else _labels(choices, folds, pool)
    told = replace(choices, subject=None, subject_labels=None) if pool else choices
    undivided: tuple[Any, ...] = ()
    if labels is not None and told.subject is not None:
        told, labels, undivided = _divided(told, labels)
    fits = [_fits(told, one.attributes, None, threads) for one in sets.values()]
    held = None
    if labels is not None:
        held = _held_out(sets, told, labels, parameter_prior, threads, words)
    log_likelihood = np.array([[e.log_likelihood for e in found] for found in fits]).T
    found = ModelComparison(
        models=dict(sets),
        subjects=_subjects(told),
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


def _subjects(choices: Choices) -> tuple[Any, ...]:
    return (None,) if choices.subject is None else tuple(choices.subject_labels or ())


def _fits(
    choices: Choices, names: Sequence[str], prior: ParameterPrior | None, threads: int | None
) -> list[Estimate]:
    """One estimate for all, or one for each subject."""
    own = choices.select(names)
    if own.subject is None:
        return [fit_choices(own, parameter_prior=prior, threads=threads)]
    return list(fit_each_choices(own, parameter_prior=prior, threads=threads))


def _labels(choices: Choices, folds: Any, pool: bool) -> Labels:
    """The fold of every decision."""
    n = choices.n_decisions
    if isinstance(folds, str):
        if folds != SUBJECT or not pool or choices.subject is None:
            raise DataError(
                f"{argument('folds')} must be a number for a choice experiment, or 'subject' where "
                f"all subjects are taken together; got {folds!r}. Try {argument('folds', 5)}."
            )
        names = choices.subject_labels or ()
        return _objects([names[code] for code in choices.subject.tolist()])
    if isinstance(folds, (int, np.integer)):
        k = whole_number(int(folds), "folds", 2)
        codes = np.zeros(n, dtype=np.int64) if pool or choices.subject is None else choices.subject
        return _objects([t % k for t in _number_within(codes)])
    given = _objects(list(folds))
    if len(given) != n or any(is_missing(label) for label in given.tolist()):
        raise DataError(
            f"folds must hold a label for each of the {n} decisions; got {len(given)} labels. "
            "Give one for each, none missing."
        )
    return given


def _number_within(codes: IntVector) -> list[int]:
    """How many decisions of the same person came before each."""
    done: dict[int, int] = {}
    found = []
    for code in codes.tolist():
        found.append(done.get(code, 0))
        done[code] = found[-1] + 1
    return found


def _divided(choices: Choices, labels: Labels) -> tuple[Choices, Labels, tuple[Any, ...]]:
    """Subjects with decisions in several folds; and those with all of theirs in one."""
    assert choices.subject is not None
    names = choices.subject_labels or ()
    whole = [
        code for code in range(len(names)) if len(set(labels[choices.subject == code].tolist())) < 2
    ]
    if len(whole) == len(names):
        raise DataError(
            f"{argument('folds')} must leave something to learn from; got one fold only for "
            f"subject {names[whole[0]]}. Give other folds."
        )
    if not whole:
        return choices, labels, ()
    stays = ~np.isin(choices.subject, whole)
    return choices.subset(stays), labels[stays], tuple(names[code] for code in whole)


def _held_out(
    sets: Mapping[str, Attributes],
    choices: Choices,
    labels: Labels,
    prior: ParameterPrior | None,
    threads: int | None,
    words: str,
) -> HeldOut:
    """Log-probability of every decision by fits that did not see it."""
    n = choices.n_decisions
    codes = np.zeros(n, dtype=np.int64) if choices.subject is None else choices.subject
    owner = choices.subject_labels or (None,)
    number = {label: k for k, label in enumerate(dict.fromkeys(labels.tolist()))}
    fold = np.array([number[label] for label in labels.tolist()], dtype=np.int64)
    pairs = sorted({*zip(codes.tolist(), fold.tolist(), strict=True)})
    left = [np.flatnonzero((codes == code) & (fold == k)) for code, k in pairs]
    kept = [np.flatnonzero((codes == code) & (fold != k)) for code, k in pairs]
    if not all(len(rows) for rows in kept):
        raise DataError(
            f"{argument('folds')} must leave something to learn from; got one fold only. "
            "Give other folds."
        )
    training = replace(
        choices.subset(np.concatenate(kept)),
        subject=np.repeat(np.arange(len(pairs)), [len(rows) for rows in kept]),
        subject_labels=tuple(range(len(pairs))),
    )
    found: dict[str, Vector] = {}
    without: dict[str, int] = {}
    for name, one in sets.items():
        values, mine = np.full(n, -np.inf), choices.select(one.attributes)
        estimates = _fits(training, one.attributes, prior, threads)
        finite = [bool(np.isfinite(estimate.theta).all()) for estimate in estimates]
        for rows, estimate, there in zip(left, estimates, finite, strict=True):
            if there:
                values[rows] = decision_log_likelihoods(estimate.theta, mine.subset(rows))
        found[name], without[name] = values, finite.count(False)
    return HeldOut(
        log_likelihoods=found,
        subjects=_objects([owner[code] for code in codes.tolist()]),
        blocks=_objects([None] * n),
        events=np.array(_number_within(codes), dtype=np.int64),
        folds=labels,
        without=without,
        words=words,
    )


def _objects(values: list[Any]) -> Labels:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
