"""Mean rewards of the options in every episode, and regret and other measures of play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from penchant._typing import BoolVector, FilePath, IntVector, Label, Matrix, Vector
from penchant.bandit.episode import executed_history
from penchant.bandit.landscape import Landscape, distances
from penchant.errors import DataError, format_list, format_names, mark_argument
from penchant.files.table import read_table
from penchant.models.model import Declared
from penchant.result_tables import format_count
from penchant.studies.study_data import StudyData
from penchant.tables.events import NOTHING
from penchant.tables.frames import Table, column_floats, column_labels, open_frame
from penchant.tables.labels import in_natural_order

OPTION_COLUMNS = ("option", "arm", "chosen", "choice", "option_index")
MEAN_COLUMNS = ("mean_reward", "mean", "expected", "expected_reward", "reward")


@dataclass(frozen=True)
class LandscapeFile:
    """Mean rewards, and the columns that tell landscapes apart.

    Attributes
    ----------
    by
        Columns that the file shares with the table of play.
    means
        {labels of these columns: mean rewards of all options in order}.
    """

    by: tuple[str, ...]
    means: dict[tuple[Any, ...], Vector]


def read_landscapes(
    file: FilePath,
    table_columns: Sequence[str],
    by: Sequence[str],
    labels: Sequence[Label] | None,
) -> LandscapeFile:
    """Read a table of mean rewards.

    Parameters
    ----------
    file
        CSV or Parquet, one row per option and landscape.
    table_columns
        Columns of the table of play.
    by
        Columns that tell landscapes apart; those that both tables have if empty.
    labels
        Labels of the options by index, where they have labels; else they are numbered.
    """
    table = open_frame(read_table(file))
    option, mean = (
        _find_column(table, OPTION_COLUMNS, file),
        _find_column(table, MEAN_COLUMNS, file),
    )
    shared = [
        name for name in table.columns if name in table_columns and name not in (option, mean)
    ]
    keys = tuple(by or shared)
    missing = [name for name in keys if name not in table.columns]
    if missing:
        raise DataError(
            "landscape",
            f"must have the columns of {mark_argument('landscape_by')}",
            got=f"no {format_list(missing)} in {file}, but {format_names(table.columns)}",
            fix="Add them, or name others.",
        )
    coded = [column_labels(table, name, f"landscape {name!r}") for name in keys]
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(table)):
        rows.setdefault(tuple(one.at(row) for one in coded), []).append(row)
    means = column_floats(table, mean, "mean_reward")
    options = column_labels(table, option, "option")
    found = {}
    for key, mine in rows.items():
        own = [options.at(row) for row in mine]
        found[key] = means[[mine[k] for k in _option_order(own, labels, key, file)]]
    return LandscapeFile(keys, found)


def _find_column(table: Table, usual: Sequence[str], file: Any) -> str:
    for name in usual:
        if name in table.columns:
            return name
    raise DataError(
        "landscape",
        f"must have a column {' or '.join(usual[:2])}",
        got=f"{format_names(table.columns)} in {file}",
        fix="Rename it.",
    )


def _option_order(
    own: Sequence[Any], labels: Sequence[Label] | None, key: tuple[Any, ...], file: Any
) -> list[int]:
    """Rows of the options in the order of their indices; raise if one is missing or repeated."""
    which = f" of {', '.join(map(str, key))}" if key else ""
    twice = [str(option) for i, option in enumerate(own) if option in own[:i]]
    if twice:
        raise DataError(
            "landscape",
            f"must have every option{which} once",
            got=f"{format_list(twice)} again in {file}",
            fix="Name the columns that tell landscapes apart with "
            f"{mark_argument('landscape_by')}.",
        )
    if labels is not None:
        texts = [str(option) for option in own]
        missing = [str(label) for label in labels if str(label) not in texts]
        if missing:
            raise DataError(
                "landscape",
                f"must have every option{which}",
                got=f"no {format_list(missing)} in {file}",
                fix="Add them.",
            )
        return [texts.index(str(label)) for label in labels]
    numbers = np.array([option if isinstance(option, int) else -1 for option in own])
    first = int(numbers.min())
    if first not in (0, 1) or sorted(numbers.tolist()) != list(range(first, first + len(own))):
        raise DataError(
            "landscape",
            f"must number the options{which} from 0 or 1 without a gap",
            got=f"{format_list(map(str, in_natural_order(own)[:11]), len(own))} in {file}",
            fix="Number them so.",
        )
    return [int(place) for place in np.argsort(numbers)]


MIN_REWARDS_OF_BEST = 5  # rewards that make the mean of an option fit to be called the best
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
    def description(self) -> str:
        """Description for the report of how the best mean reward, and so regret, is known."""
        many = format_count(len(self.labels), "landscape")
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
            f"options seen {MIN_REWARDS_OF_BEST} times or more. Regret is that minus the rewards "
            "received; "
            "a landscape file would make it exact."
        )

    def noise_for(self, model: Any) -> float:
        """Variance of the rewards of simulated agents: the model's if it has one, or the data's.

        Where the model knows one for each option, the data's is taken.
        """
        known = Declared(model).noise_variance
        return float(known) if isinstance(known, (int, float)) else self.noise_variance

    @classmethod
    def empty(cls) -> Landscapes:
        """Landscapes of choices among offers, which pay no rewards: empty."""
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
    labels, of_episode = _distinct_landscapes(data)
    rewards = _Rewards.of(data, of_episode, len(labels), n_options)
    if known is not None:
        means, of_episode, labels = _known_landscapes(known, labels, of_episode, n_options)
        source: Source = "known"
        best = means.max(axis=1)
        complete = True
    elif data.expected is not None:
        source = "expected"
        means = _expected(data, of_episode, labels, n_options)
        best = np.nanmax(means, axis=1)
        complete = bool(np.isfinite(means).all())
        means = _fill_missing_means(means, locations)
    elif data.payoffs is not None and data.payoffs.kind != "rewards":
        source, complete = "payoffs", False
        means = np.full((len(labels), n_options), np.nan)
        best = np.full(len(labels), np.nan)
    else:
        source, complete = "estimated", False
        means = rewards.means
        best = rewards.best()
        means = _fill_missing_means(means, locations)
    return Landscapes(
        labels, means, best, of_episode, source, rewards.noise_variance(), rewards.binary, complete
    )


def _distinct_landscapes(data: StudyData) -> tuple[tuple[tuple[Any, ...], ...], IntVector]:
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
        enough = np.minimum(self.count.max(axis=1, keepdims=True), MIN_REWARDS_OF_BEST)
        return np.asarray(np.where(self.count >= enough, self.means, -np.inf).max(axis=1))

    def noise_variance(self) -> float:
        """Variance of the rewards of an option around their mean, pooled; NaN if never repeated."""
        freedom = np.maximum(self.count - 1.0, 0.0).sum()
        seen = self.count > 0
        left = (self.square[seen] - self.total[seen] ** 2 / self.count[seen]).sum()
        return float(max(left, 0.0) / freedom) if freedom else float("nan")


class _KnownLandscapes(NamedTuple):
    """Known mean rewards, the landscape of each episode, and the labels of the landscapes."""

    means: Matrix
    of_episode: IntVector
    labels: tuple[tuple[Any, ...], ...]


def _known_landscapes(
    known: Any, labels: tuple[tuple[Any, ...], ...], of_episode: IntVector, n_options: int
) -> _KnownLandscapes:
    if not isinstance(known, Mapping):
        means = _means(known, "landscape", n_options)
        return _KnownLandscapes(means[None], np.zeros(len(of_episode), dtype=np.int64), ((),))
    by_label = {_key(label): means for label, means in known.items()}
    missing = [label for label in labels if _key(label) not in by_label]
    if missing:
        raise DataError(
            "landscape",
            "must hold mean rewards for every landscape that was played",
            got=f"none for {format_list(_landscape_name(label) for label in missing)}",
            fix="Add them, or name what tells landscapes apart with `landscape_by`.",
        )
    rows = [
        _means(by_label[_key(label)], f"landscape {_landscape_name(label)}", n_options)
        for label in labels
    ]
    return _KnownLandscapes(np.stack(rows), of_episode, labels)


def _key(label: Label) -> tuple[str, ...]:
    """Key of a label as text, so that 7 and "7" are the same."""
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def _landscape_name(label: tuple[Any, ...]) -> str:
    return ", ".join(map(str, label)) or "all episodes"


def _means(given: Any, name: str, n_options: int) -> Vector:
    means = given.mean_rewards if isinstance(given, Landscape) else np.array(given, dtype=float)
    if means.shape != (n_options,):
        raise DataError(
            name,
            f"must have one mean reward for each of {n_options} options",
            got=f"shape {means.shape}",
            fix="Match them.",
        )
    if not np.isfinite(means).all():
        raise DataError(
            name, "must be finite", got=means[~np.isfinite(means)][0], fix="Correct it."
        )
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
                    "expected",
                    "must be the same wherever an option is chosen in a landscape",
                    got=f"{before:g} and {mean:g}",
                    where=(
                        f"for option {option} (subject {episode.subject}, landscape "
                        f"{_landscape_name(labels[place])})"
                    ),
                    fix="Name what tells landscapes apart with `landscape_by`.",
                )
    return means


def _fill_missing_means(means: Matrix, locations: Matrix | None) -> Matrix:
    """Fill the means of options that nobody chose with those of the nearest, or of all."""
    filled = means.copy()
    option_distances = None if locations is None else distances(locations)
    for row in filled:
        unknown = np.flatnonzero(np.isnan(row))
        known = np.flatnonzero(~np.isnan(row))
        if option_distances is None:
            row[unknown] = row[known].mean()
            continue
        near = option_distances[np.ix_(unknown, known)]
        nearest = near <= near.min(axis=1, keepdims=True) * (1 + 1e-12)
        row[unknown] = nearest @ row[known] / nearest.sum(axis=1)
    return filled


NAMES = ("reward", "loss", "distance", "likeliest", "met")


@dataclass(frozen=True)
class Measures:
    """Measures of one play, or means over several: one per decision, NaN where missing.

    Attributes
    ----------
    reward
        Mean reward of the option chosen where it is known, else the reward received.
    loss
        What the best option would have paid more.
    distance
        Distance from the last choice; 1 for another option and 0 for the same where options lie
        nowhere.
    likeliest, met
        One step ahead: probability of the option that the model held likeliest, and whether it was
        chosen; None for play.
    """

    reward: Vector
    loss: Vector
    distance: Vector
    likeliest: Vector | None = None
    met: Vector | None = None

    @property
    def regret(self) -> Vector:
        """Cumulative regret; a decision without a choice adds nothing."""
        return np.cumsum(np.nan_to_num(self.loss, nan=0.0))


class Measurer:
    """Measures play in the landscapes of a study.

    Parameters
    ----------
    data
        The episodes.
    landscapes
        What their options paid.
    locations
        Where the options lie, if anywhere.
    """

    def __init__(self, data: StudyData, landscapes: Landscapes, locations: Any = None) -> None:
        self.data = data
        self.landscapes = landscapes
        self.option_distances = None if locations is None else distances(locations)

    def subject(self, subject: Label) -> Measures:
        """Measures of the play of a subject, averaged over its episodes."""
        return average_measures([self.episode(i) for i in self.data.of(subject)])

    def episode(self, i: int) -> Measures:
        """Measures of the play recorded in an episode."""
        episode = self.data.episodes[i]
        done = executed_history(episode).chosen[episode.is_choice]
        return self.play(i, done[None], episode.rewards[episode.is_choice][None])

    def play(self, i: int, chosen: IntVector, rewards: Matrix) -> Measures:
        """Means over plays (n_plays, n_decisions) in the landscape of an episode."""
        place = self.landscapes.of_episode[i]
        nothing = chosen == NOTHING
        best: Any = self.landscapes.best[place]
        if self.landscapes.source == "estimated":
            paid = rewards
        elif self.landscapes.source == "payoffs":
            means = self._payoffs(i)
            paid, best = means[np.arange(len(means)), chosen], means.max(axis=1)
        else:
            paid = self.landscapes.means[place][chosen]
        paid = np.where(nothing, np.nan, paid)
        return Measures(
            paid.mean(axis=0),
            (best - paid).mean(axis=0),
            self._distance(chosen, nothing).mean(axis=0),
        )

    def _payoffs(self, i: int) -> Matrix:
        """Mean rewards of all options at every decision of an episode."""
        assert self.data.payoffs is not None
        means: Matrix = self.data.payoffs.means(i)[self.data.episodes[i].is_choice]
        return means

    def predicted_measures(self, i: int, p: Matrix) -> Measures:
        """Measures expected at every decision, given the recorded choices and rewards before it.

        Rewards are not known, as nobody knows what options paid that were not chosen.

        Parameters
        ----------
        i
            The episode.
        p
            Choice probabilities (n_decisions, n_options) after the subject's own history.
        """
        episode = self.data.episodes[i]
        chosen = episode.chosen[episode.is_choice]
        unknown = np.full(len(chosen), np.nan)
        made = chosen != NOTHING
        top = p.argmax(axis=1)
        step = unknown.copy()
        after = np.flatnonzero(made[1:] & made[:-1]) + 1
        if self.option_distances is None:
            step[after] = 1 - p[after, chosen[after - 1]]
        else:
            step[after] = (p[after] * self.option_distances[chosen[after - 1]]).sum(axis=1)
        likeliest = np.where(made, p.max(axis=1), np.nan)
        met = np.where(made, chosen == top, np.nan)
        return Measures(unknown, unknown, step, likeliest, met)

    def _distance(self, chosen: IntVector, nothing: BoolVector) -> Matrix:
        before, after = chosen[:, :-1], chosen[:, 1:]
        moved = (
            (before != after).astype(float)
            if self.option_distances is None
            else self.option_distances[before, after]
        )
        known = ~(nothing[:, :-1] | nothing[:, 1:])
        first = np.full((len(chosen), 1), np.nan)
        return np.hstack([first, np.where(known, moved, np.nan)])


def average_measures(measures: Sequence[Measures]) -> Measures:
    """Mean at every decision over those that have it; plays may differ in length."""
    names = [name for name in NAMES if getattr(measures[0], name) is not None]
    return Measures(**{name: mean_of([getattr(m, name) for m in measures]) for name in names})


def mean_of(rows: Sequence[Vector]) -> Vector:
    """Mean of vectors of different lengths at every place, over those that are known there.

    >>> mean_of([np.array([1.0, 3.0]), np.array([2.0, np.nan, 7.0])])
    array([1.5, 3. , 7. ])
    """
    longest = max(map(len, rows))
    total, count = np.zeros((2, longest))
    for row in rows:
        known = ~np.isnan(row)
        total[: len(row)][known] += row[known]
        count[: len(row)] += known
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)
