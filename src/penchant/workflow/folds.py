"""Which decisions are predicted by which others: folds that leave histories whole.

A decision that is held out is not scored in training, but what was chosen and received stays in the
history that later decisions are predicted from: a learner learnt from it, whoever predicts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import BoolVector, IntVector, Labels, Matrix, Vector
from penchant.arguments import whole_number
from penchant.bandit.episode import Episode
from penchant.errors import DataError, listing
from penchant.inference.fit_each import fit_each_model
from penchant.models.model import Declared, Model
from penchant.models.offers.offers import Offers
from penchant.models.spatial.map_basis import MapPrior
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates
from penchant.softmax.prior import ParameterPrior, ScaledPrior

Folds = int | Literal["block"] | Sequence[Any]


@dataclass(frozen=True, eq=False)
class Split:
    """One fold of one subject.

    Attributes
    ----------
    subject, fold
        Whose decisions are held out, and what the fold is called.
    training, held_out
        Episodes in which all other decisions are scored, and those in which these are.
    places
        Which of the subject's scored decisions are held out.
    """

    subject: Any
    fold: Any
    training: tuple[Any, ...]
    held_out: tuple[Any, ...]
    places: IntVector


def splits(episodes: Sequence[Any], folds: Folds) -> list[Split]:
    """Every fold of every subject who has decisions in more than one.

    Nobody's decisions can be predicted from none: subjects with all of theirs in one fold have no
    split. If that is true of all subjects it is an error.

    Parameters
    ----------
    episodes
        All that happened.
    folds
        "block": leave out one block after another. A number k: leave out every k-th decision, in k
        ways. Or labels: an array for each episode with a label for each event.
    """
    labels = fold_labels(episodes, folds)
    places: dict[Any, list[int]] = {}
    for k, episode in enumerate(episodes):
        places.setdefault(episode.subject, []).append(k)
    found: list[Split] = []
    whole: list[str] = []
    for subject, mine in places.items():
        own, parts = [episodes[k] for k in mine], [labels[k] for k in mine]
        names = _names(own, parts)
        if len(names) > 1:
            found += _of_subject(subject, own, parts, names)
        elif names:
            whole.append(_too_few(subject, names, folds))
    if whole and not found:
        raise DataError(whole[0])
    return found


def _names(episodes: Sequence[Any], labels: Sequence[Labels]) -> list[Any]:
    """Folds that a subject has decisions in."""
    scored = [own[episode.scored] for episode, own in zip(episodes, labels, strict=True)]
    return list(dict.fromkeys(np.concatenate(scored).tolist()))


def fold_labels(episodes: Sequence[Any], folds: Folds) -> list[Labels]:
    """The fold of every event, by episode."""
    if isinstance(folds, str):
        if folds != "block":
            raise DataError(
                f"folds must be 'block', a number of folds, or labels; got {folds!r}. Choose one."
            )
        return [_all_equal(episode.block, episode.n_events) for episode in episodes]
    if isinstance(folds, (int, np.integer)):
        return _every(episodes, whole_number(int(folds), "folds", 2))
    return _given(episodes, folds)


def rescored(episode: Any, scored: BoolVector, subject: Any) -> Any:
    """The same events with other decisions scored, under another subject's name."""
    if isinstance(episode, Offers):
        return Offers.of_checked(episode.chosen, episode.offers, scored, subject, episode.block)
    events = episode.events._replace(scored=scored)
    return Episode.of_events(events, subject, episode.block, episode.seen)


def _every(episodes: Sequence[Any], k: int) -> list[Labels]:
    """Decisions of each subject numbered on through its episodes, modulo k."""
    done: dict[Any, int] = {}
    found = []
    for episode in episodes:
        before = done.get(episode.subject, 0)
        number = before + np.cumsum(episode.scored) - 1
        done[episode.subject] = before + episode.n_decisions
        found.append(np.asarray(number % k, dtype=object))
    return found


def _given(episodes: Sequence[Any], folds: Sequence[Any]) -> list[Labels]:
    if len(folds) != len(episodes):
        raise DataError(
            f"folds must hold labels for each of the {len(episodes)} episodes; got {len(folds)}. "
            "Give an array for each, with a label for each event."
        )
    found = []
    for k, (labels, episode) in enumerate(zip(folds, episodes, strict=True)):
        own = np.asarray(labels, dtype=object)
        if own.shape != (episode.n_events,):
            raise DataError(
                f"folds must hold {episode.n_events} labels, one per event, for episode {k}; got "
                f"shape {own.shape}. Correct it."
            )
        missing = np.flatnonzero([is_missing(label) for label in own.tolist()] & episode.scored)
        if missing.size:
            places = listing((f"event {t}" for t in missing[:11]), missing.size)
            raise DataError(
                f"folds must hold a label for every decision that is scored; got none at {places} "
                f"of episode {k}. Fill them, or leave these decisions unscored."
            )
        found.append(own)
    return found


def is_missing(label: Any) -> bool:
    """Whether there is no label: None, or NaN, which is not equal to itself."""
    return label is None or label != label


def _all_equal(label: Any, n: int) -> Labels:
    found = np.empty(n, dtype=object)
    found[:] = [label] * n
    return found


def _of_subject(
    subject: Any, episodes: Sequence[Any], labels: Sequence[Labels], names: Sequence[Any]
) -> list[Split]:
    scored = np.concatenate([episode.scored for episode in episodes])
    every = np.concatenate(labels)
    number = {name: k for k, name in enumerate(names)}
    codes = np.array([number.get(label, -1) for label in every.tolist()], dtype=np.int64)
    ends = np.cumsum([episode.n_events for episode in episodes])[:-1]
    apart = np.split(codes, ends)
    return [
        Split(
            subject,
            name,
            _scored_where(episodes, [own != k for own in apart], (subject, name)),
            _scored_where(episodes, [own == k for own in apart], (subject, name)),
            np.flatnonzero(codes[scored] == k),
        )
        for name, k in number.items()
    ]


def _scored_where(
    episodes: Sequence[Any], which: Sequence[BoolVector], subject: Any
) -> tuple[Any, ...]:
    """Episodes with some of their decisions scored; those without any tell nothing."""
    both = [(episode, episode.scored & own) for episode, own in zip(episodes, which, strict=True)]
    return tuple(rescored(episode, scored, subject) for episode, scored in both if scored.any())


def _too_few(subject: Any, names: Sequence[Any], folds: Folds) -> str:
    whose = "" if subject is None else f" for subject {subject}"
    if folds == "block":
        return (
            f"folds must leave something to learn from; got one block, {listing(map(str, names))},"
            f"{whose}. Give a number, such as folds=5, or leave the subject out."
        )
    return (
        f"folds must leave something to learn from; got one fold only{whose}. "
        "Give other folds, or leave the subject out."
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log-probabilities of decisions by fits that did not see them.

    Attributes
    ----------
    log_likelihoods
        {model: one per decision}, -inf where a fold has no finite estimate.
    subjects, blocks, events, folds
        Whose decision it is, in which block, which event of it, from 0, and in which fold.
    without
        {model: number of folds without a finite estimate}.
    words
        How the folds were made, and with which prior.
    """

    log_likelihoods: Mapping[str, Vector]
    subjects: Labels
    blocks: Labels
    events: IntVector
    folds: Labels
    without: Mapping[str, int]
    words: str

    def totals(self, subjects: tuple[Any, ...]) -> Matrix:
        """Sums over the decisions of each subject: (n_subjects, n_models)."""
        place = {subject: i for i, subject in enumerate(subjects)}
        owner = np.array([place[subject] for subject in self.subjects.tolist()], dtype=np.int64)
        return np.column_stack(
            [
                np.array([values[owner == i].sum() for i in range(len(subjects))])
                for values in self.log_likelihoods.values()
            ]
        )


def held_out(
    models: Mapping[str, Model],
    episodes: Sequence[Any],
    cut: Sequence[Split],
    parameter_prior: ParameterPrior | MapPrior | None,
    average: bool,
    threads: int | None,
    words: str,
) -> HeldOut:
    """Log-probability of every decision by fits that did not see it."""
    subjects = list(dict.fromkeys(episode.subject for episode in episodes))
    ordered = [e for subject in subjects for e in episodes if e.subject == subject]
    counts = {s: sum(e.n_decisions for e in ordered if e.subject == s) for s in subjects}
    starts = dict(zip(subjects, np.cumsum([0, *counts.values()])[:-1].tolist(), strict=True))
    n = sum(counts.values())
    folds = np.empty(n, dtype=object)
    for split in cut:
        for place in split.places:
            folds[starts[split.subject] + place] = split.fold
    training = [episode for split in cut for episode in split.training]
    log_likelihoods, without = {}, {}
    for name, model in models.items():
        own = parameter_prior
        if isinstance(own, MapPrior) and Declared(model).prior_map is None:
            own = ScaledPrior(own.others)
        estimates = fit_each_model(training, model, parameter_prior=own, threads=threads)
        values, lost = np.full(n, -np.inf), 0
        for split, estimate in zip(cut, _in_order(estimates, cut), strict=True):
            if np.isfinite(estimate.theta).all():
                places = starts[split.subject] + split.places
                values[places] = _predicted(estimate, split.held_out, average)
            else:
                lost += 1
        log_likelihoods[name], without[name] = values, lost
    return HeldOut(
        log_likelihoods,
        _labels([e.subject for e in ordered for _ in range(e.n_decisions)]),
        _labels([e.block for e in ordered for _ in range(e.n_decisions)]),
        np.concatenate([np.flatnonzero(e.scored) for e in ordered]),
        folds,
        without,
        words,
    )


def _in_order(estimates: Estimates, cut: Sequence[Split]) -> list[Estimate]:
    place = {label: k for k, label in enumerate(estimates.subjects)}
    return [estimates[place[(split.subject, split.fold)]] for split in cut]


def _predicted(estimate: Estimate, episodes: tuple[Any, ...], average: bool) -> Vector:
    if not average:
        return np.asarray(estimate.log_likelihoods(episodes))
    p = estimate.predict(episodes, average=True)
    chosen = np.concatenate([episode.scored_options for episode in episodes])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p[np.arange(len(chosen)), chosen]))


def _labels(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
