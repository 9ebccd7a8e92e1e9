"""What the options paid on average in every episode: known, or estimated from the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.bandit.landscape import Landscape
from penchant.bandit.locations import distances
from penchant.errors import DataError, listing
from penchant.models.model import Declared
from penchant.output.notes import counted
from penchant.studies.data import StudyData
from penchant.tables.labels import in_natural_order

SEEN_OFTEN = 5  # rewards that make the mean of an option fit to be called the best
Source = Literal["known", "expected", "payoffs", "estimated"]


@dataclass(frozen=True, eq=False, repr=False)
class Landscapes:
    """Mean rewards of all options in every landscape.

    Attributes
    ----------
    labels
        What tells each landscape apart.
    means
        Mean rewards (n_landscapes, n_options).
    best
        Largest mean reward of each.
    of_episode
        Landscape of each episode, by index.
    source
        "known"; "expected": known for options that were chosen; "payoffs": known at every decision,
        from the table, so that `means` and `best` are NaN; "estimated" from rewards.
    noise_variance
        Variance of the rewards around their means, pooled.
    binary
        Whether all rewards are 0 or 1.
    complete
        Whether the mean of every option is known, so that agents can play; others are filled in.
    """

    labels: tuple[tuple[Any, ...], ...]
    means: Matrix
    best: Vector
    of_episode: IntVector
    source: Source
    noise_variance: float
    binary: bool
    complete: bool = False

    @property
    def words(self) -> str:
        """How the best mean reward, and so the regret, is known."""
        many = counted(len(self.labels), "landscape")
        if self.source == "known":
            return (
                f"Regret is measured in mean rewards that are known ({many}): the best option's "
                "minus that of the option chosen."
            )
        if self.source == "expected":
            return (
                "Regret is measured in mean rewards that the table gives for the options chosen "
                f"({many}); the best one is the highest of them, so that an option nobody chose "
                "does not count."
            )
        if self.source == "payoffs":
            return (
                "Regret is measured in mean rewards that the table gives for every option at every "
                "decision: that of the best option at the decision minus that of the option chosen."
            )
        return (
            "The mean rewards are not known. The best one is estimated from the data: the highest "
            f"mean of the rewards of an option over all subjects of a landscape ({many}), among "
            f"options seen {SEEN_OFTEN} times or more. Regret is that minus the rewards received; "
            "a landscape file would make it exact."
        )

    def noise_for(self, model: Any) -> float:
        """Variance of rewards that agents of a model meet: what it takes for known, or the data's.

        Where the model knows one for each option, the data's is taken.
        """
        known = Declared(model).noise_variance
        return float(known) if isinstance(known, (int, float)) else self.noise_variance

    @classmethod
    def none(cls) -> Landscapes:
        """Of choices among offers, which pay nothing that is learnt from."""
        nothing = np.empty(0)
        index = np.empty(0, dtype=np.int64)
        return cls((), np.empty((0, 0)), nothing, index, "known", float("nan"), False)

    def __repr__(self) -> str:
        return f"<Landscapes: {len(self.labels)} {self.source}, {self.means.shape[1]} options>"


def landscapes_of(
    data: StudyData, n_options: int, locations: Matrix | None, known: Any = None
) -> Landscapes:
    """Landscapes of a study.

    Parameters
    ----------
    data
        Episodes, and the labels of their landscapes.
    n_options
        How many options there are.
    locations
        Where they lie, if anywhere: an option that nobody chose is taken for its nearest
        neighbours.
    known
        `Landscape` or mean rewards, the same for all; {label: mean rewards} by the label of the
        landscape, a tuple where several columns tell landscapes apart. None: the table's column of
        expected rewards, its payoffs of all options if these are means, or an estimate.
    """
    labels, of_episode = _distinct(data)
    rewards = _Rewards.of(data, of_episode, len(labels), n_options)
    if known is not None:
        means, of_episode, labels = _known(known, labels, of_episode, n_options)
        source: Source = "known"
        best = means.max(axis=1)
        complete = True
    elif data.expected is not None:
        source = "expected"
        means = _expected(data, of_episode, labels, n_options)
        best = np.nanmax(means, axis=1)
        complete = bool(np.isfinite(means).all())
        means = _filled(means, locations)
    elif data.payoffs is not None and data.payoffs.kind != "rewards":
        source, complete = "payoffs", False
        means = np.full((len(labels), n_options), np.nan)
        best = np.full(len(labels), np.nan)
    else:
        source, complete = "estimated", False
        means = rewards.means
        best = rewards.best()
        means = _filled(means, locations)
    return Landscapes(
        labels, means, best, of_episode, source, rewards.noise_variance(), rewards.binary, complete
    )


def _distinct(data: StudyData) -> tuple[tuple[tuple[Any, ...], ...], IntVector]:
    labels = tuple(in_natural_order(set(data.landscapes)))
    index = {label: i for i, label in enumerate(labels)}
    return labels, np.array([index[label] for label in data.landscapes])


@dataclass(frozen=True)
class _Rewards:
    """Counts, sums and squares of the rewards of every option: (n_landscapes, n_options)."""

    count: Matrix
    total: Matrix
    square: Matrix
    binary: bool

    @classmethod
    def of(cls, data: StudyData, of_episode: IntVector, n: int, n_options: int) -> _Rewards:
        count, total, square = np.zeros((3, n, n_options))
        binary = True
        for episode, place in zip(data.episodes, of_episode, strict=True):
            episode.check_options(n_options)
            seen = episode.observed
            options, rewards = episode.executed[seen], episode.rewards[seen]
            np.add.at(count[place], options, 1.0)
            np.add.at(total[place], options, rewards)
            np.add.at(square[place], options, rewards**2)
            binary &= bool(((rewards == 0) | (rewards == 1)).all())
        return cls(count, total, square, binary)

    @property
    def means(self) -> Matrix:
        with np.errstate(invalid="ignore"):
            return self.total / self.count

    def best(self) -> Vector:
        """Highest mean among the options that were seen often enough."""
        enough = np.minimum(self.count.max(axis=1, keepdims=True), SEEN_OFTEN)
        return np.asarray(np.where(self.count >= enough, self.means, -np.inf).max(axis=1))

    def noise_variance(self) -> float:
        """Variance of the rewards of an option around their mean, pooled; NaN if never repeated."""
        freedom = np.maximum(self.count - 1.0, 0.0).sum()
        seen = self.count > 0
        left = (self.square[seen] - self.total[seen] ** 2 / self.count[seen]).sum()
        return float(max(left, 0.0) / freedom) if freedom else float("nan")


def _known(
    known: Any, labels: tuple[tuple[Any, ...], ...], of_episode: IntVector, n_options: int
) -> tuple[Matrix, IntVector, tuple[tuple[Any, ...], ...]]:
    if not isinstance(known, Mapping):
        means = _means(known, "landscape", n_options)
        return means[None], np.zeros(len(of_episode), dtype=np.int64), ((),)
    by_label = {_key(label): means for label, means in known.items()}
    missing = [label for label in labels if _key(label) not in by_label]
    if missing:
        raise DataError(
            "landscape must hold mean rewards for every landscape that was played; got none for "
            f"{listing(_named(label) for label in missing)}. Add them, or name what tells "
            "landscapes apart with `landscape_by`."
        )
    rows = [
        _means(by_label[_key(label)], f"landscape {_named(label)}", n_options) for label in labels
    ]
    return np.stack(rows), of_episode, labels


def _key(label: Any) -> tuple[str, ...]:
    """Labels of files are compared as text, in which 7 and "7" are the same."""
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def _named(label: tuple[Any, ...]) -> str:
    return ", ".join(map(str, label)) or "all episodes"


def _means(given: Any, name: str, n_options: int) -> Vector:
    means = given.mean_rewards if isinstance(given, Landscape) else np.array(given, dtype=float)
    if means.shape != (n_options,):
        raise DataError(
            f"{name} must have one mean reward for each of {n_options} options; got shape "
            f"{means.shape}. Match them."
        )
    if not np.isfinite(means).all():
        raise DataError(f"{name} must be finite; got {means[~np.isfinite(means)][0]}. Correct it.")
    return np.asarray(means)


def _expected(
    data: StudyData, of_episode: IntVector, labels: tuple[tuple[Any, ...], ...], n_options: int
) -> Matrix:
    """Means of the options chosen, NaN for the others; the same option has one mean."""
    assert data.expected is not None
    means = np.full((len(labels), n_options), np.nan)
    for episode, place, expected in zip(data.episodes, of_episode, data.expected, strict=True):
        for option, mean in zip(episode.executed.tolist(), expected.tolist(), strict=True):
            if option < 0:
                continue
            before = means[place, option]
            if np.isnan(before):
                means[place, option] = mean
            elif not np.isclose(before, mean, rtol=1e-9, atol=0.0):
                raise DataError(
                    "expected must be the same wherever an option is chosen in a landscape; got "
                    f"{before:g} and {mean:g} for option {option} (subject {episode.subject}, "
                    f"landscape {_named(labels[place])}). Name what tells landscapes apart with "
                    "`landscape_by`."
                )
    return means


def _filled(means: Matrix, locations: Matrix | None) -> Matrix:
    """Options that nobody chose: the mean of the nearest ones, or of all."""
    filled = means.copy()
    apart = None if locations is None else distances(locations)
    for row in filled:
        unknown = np.flatnonzero(np.isnan(row))
        known = np.flatnonzero(~np.isnan(row))
        if apart is None:
            row[unknown] = row[known].mean()
            continue
        near = apart[np.ix_(unknown, known)]
        nearest = near <= near.min(axis=1, keepdims=True) * (1 + 1e-12)
        row[unknown] = nearest @ row[known] / nearest.sum(axis=1)
    return filled
