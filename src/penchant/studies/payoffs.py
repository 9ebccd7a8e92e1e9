"""Payoffs of every option at every decision, read from columns of the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from string import ascii_lowercase
from typing import Any, Literal

import numpy as np

from penchant._typing import BoolVector, IntVector, Label, Matrix, Names, Vector
from penchant.bandit.episode import Episode, largest_option_index
from penchant.errors import DataError, MarkedText, format_list
from penchant.result_tables import format_count
from penchant.tables.episode_order import ABSENT
from penchant.tables.events import NOTHING
from penchant.tables.frames import Table, check_columns, column_floats, row_place

# What columns of payoffs are often called, beside the option: payoff_1, mean_A, p_left ...
USUAL_PREFIXES = (
    *("payoff", "payoffs", "payout", "payouts", "reward", "rewards", "outcome", "outcomes"),
    *("points", "pay", "mean", "means", "meanreward", "meanpayoff", "truemean", "mu"),
    *("expected", "expectedreward", "expectedvalue", "ev", "value"),
    *("probability", "prob", "probs", "rewardprobability", "rewardprob", "probreward"),
    *("preward", "rewardp", "winprobability", "winprob", "pwin", "p"),
)
OPTION_WORDS = ("option", "arm", "bandit", "deck", "machine", "slot", "stimulus", "stim")
NO_COLUMNS = "none"
MIN_SHARE_MATCHING_PAYOFFS = (
    0.9  # share of rewards equal to the payoff chosen that makes payoffs the rewards themselves
)
MAX_NOISE_SDS = (
    6.0  # standard deviations of noise beyond which a reward does not come from its mean
)
MIN_REWARDS_FOR_NOISE = 10  # that tell the noise of a condition; fewer say little of a variance
OFF, SURE = 0.5, 5.0  # mean deviation, in standard deviations and in standard errors
Kind = Literal["rewards", "means", "probabilities"]
Draw = Callable[[int, IntVector], Vector]


@dataclass(frozen=True, eq=False, repr=False)
class Payoffs:
    """Payoffs of every option at every event of the episodes of a study.

    Attributes
    ----------
    columns
        Of the table, one per option.
    values
        (n_events, n_options) of each episode; NaN where the table has no row.
    kind
        "rewards": what choosing the option paid; "means": rewards lie around them;
        "probabilities": of the larger of two rewards.
    noise_variance
        Of rewards around means; 0 for rewards, NaN for probabilities.
    two
        The two rewards that there are, with probabilities.
    recognised
        Whether the columns were found by their names, rather than given.
    notes
        What a reader should know of them.
    noise_by_episode
        Variance of rewards around means in the condition of each episode, where there are several
        conditions and the variance was found from the rewards; else empty.
    """

    columns: tuple[str, ...]
    values: tuple[Matrix, ...]
    kind: Kind
    noise_variance: float
    two: tuple[float, float] = (0.0, 1.0)
    recognised: bool = False
    notes: tuple[str, ...] = ()
    noise_by_episode: tuple[float, ...] = ()

    @property
    def n_options(self) -> int:
        """Number of options, one for each column."""
        return len(self.columns)

    def means(self, i: int) -> Matrix:
        """Mean reward of every option at every event of an episode: (n_events, n_options)."""
        return self.mean_of(self.values[i])

    def mean_of(self, values: Matrix) -> Matrix:
        """Mean reward of an option with these payoffs."""
        low, high = self.two
        return low + (high - low) * values if self.kind == "probabilities" else values

    @property
    def best_stays(self) -> bool:
        """Whether means are known, and one option stays the best through every episode."""
        if self.kind == "rewards":
            return False
        return all(
            _has_constant_best_option(values[np.isfinite(values).all(axis=1)])
            for values in self.values
        )

    def draws(self, i: int, rng: np.random.Generator) -> Draw:
        """Return a function of event and chosen options that draws their rewards."""
        values = self.values[i]
        if self.kind == "rewards":
            return lambda k, options: values[k, options]
        if self.kind == "probabilities":
            low, high = self.two
            return lambda k, options: np.where(
                rng.random(len(options)) < values[k, options], high, low
            )
        variance = self.noise_by_episode[i] if self.noise_by_episode else self.noise_variance
        sd = float(np.sqrt(variance))
        return lambda k, options: values[k, options] + sd * rng.standard_normal(len(options))

    @property
    def description(self) -> str:
        """Description for the report of the rewards that simulated agents get.

        >>> Payoffs(("left", "right"), (), "means", 2.5).description
        'the mean in the columns left, right, with normal noise of variance 2.5'
        """
        named = f"in the columns {format_list(self.columns)}"
        if self.kind == "rewards":
            return f"the reward {named}"
        if self.kind == "means":
            return f"the mean {named}, with normal noise of variance {self._variance_text}"
        low, high = self.two
        return f"{high:g} with the probability {named}, else {low:g}"

    @property
    def _variance_text(self) -> str:
        several = sorted(set(self.noise_by_episode))
        if len(several) < 2:
            return f"{self.noise_variance:.4g}"
        return f"{several[0]:.4g} to {several[-1]:.4g}, by condition"


def payoffs_of(
    table: Table,
    given: Names | None,
    noise_variance: float | None,
    episodes: Sequence[Episode],
    rows: Sequence[IntVector],
    *,
    labels: Sequence[Label] | None = None,
    taken: Iterable[str] = (),
    conditions: Sequence[Label] = (),
) -> tuple[Payoffs | None, tuple[str, ...]]:
    """Read the payoffs of every option, and note why columns that look like payoffs are not used.

    Parameters
    ----------
    table
        One row per event.
    given
        A column per option in the order of the options, or a pattern such as "payoff_*"; "none" for
        no payoffs; None to look for columns with usual names.
    noise_variance
        Of rewards around the payoffs; found from the rewards received if None.
    episodes, rows
        The play, and the row of every event of it.
    labels
        Of the options by index, where they have any.
    taken
        Columns that are something else.
    conditions
        Of each episode: noise that is found from the rewards is that of the condition.
    """
    _check_noise(noise_variance)
    if given is not None and not isinstance(given, str) and not len(given):
        given = None
    if given in (NO_COLUMNS, [NO_COLUMNS], (NO_COLUMNS,)) and NO_COLUMNS not in table.columns:
        return None, ()
    if given is None:
        if noise_variance is not None:
            raise DataError(
                "payoffs",
                "must be given with payoff_noise",
                got="none",
                fix="Name a column per option.",
            )
        return _recognise_payoffs(table, episodes, rows, labels, set(taken), conditions)
    columns = _expand_patterns(table, [given] if isinstance(given, str) else list(given))
    check_columns(table, {"payoffs": columns})
    most = max(map(largest_option_index, episodes), default=NOTHING) + 1
    check_count(len(columns), len(labels) if labels is not None else most, labels is None)
    values = _values(table, columns, episodes, rows)
    return _read(columns, values, noise_variance, episodes, rows, conditions), ()


def check_count(n_columns: int, n_options: int, at_least: bool = False) -> None:
    """Raise unless there is one column for each option."""
    if n_columns == n_options or (at_least and n_columns > n_options):
        return
    raise DataError(
        "payoffs",
        f"must be a column for each of {n_options} options",
        got=format_count(n_columns, "column"),
        fix="Name them in the order of the options.",
    )


def _check_noise(variance: float | None) -> None:
    if variance is not None and not (np.isfinite(variance) and variance >= 0):
        raise DataError(
            "payoff_noise",
            "must be a variance, 0 or more",
            got=variance,
            fix="0 says that payoffs are the rewards themselves.",
        )


def _expand_patterns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns; those that a pattern stands for are sorted by their numbers."""
    found: list[str] = []
    for name in names:
        if "*" not in name or name in table.columns:
            found.append(name)
            continue
        matched = [column for column in table.columns if fnmatchcase(str(column), name)]
        if not matched:
            raise DataError(
                "payoffs",
                "must name columns of the table",
                got=f"{name!r}, which none of {', '.join(map(str, table.columns))} is like",
                fix="Correct it.",
            )
        found += sorted(matched, key=_by_number)
    return tuple(found)


def _by_number(name: str) -> list[Any]:
    """Sort key that puts payoff_2 before payoff_10."""
    parts = re.split(r"(\d+)", str(name))
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def _recognise_payoffs(
    table: Table,
    episodes: Sequence[Episode],
    rows: Sequence[IntVector],
    labels: Sequence[Label] | None,
    taken: set[str],
    conditions: Sequence[Label],
) -> tuple[Payoffs | None, tuple[str, ...]]:
    """Payoffs in columns with usual names, if the rewards received agree with them."""
    free = [str(name) for name in table.columns if name not in taken]
    most = max(map(largest_option_index, episodes), default=NOTHING) + 1
    why: list[str] = []
    for columns in usual_columns(free, labels):
        reason = f"there are {most} options or more"
        if len(columns) >= most:
            try:
                values = _values(table, columns, episodes, rows)
                found = _read(columns, values, None, episodes, rows, conditions, recognised=True)
            except DataError as error:
                reason = error.text.rstrip(".")
            else:
                return found, ()
        taken_for = f"Columns {format_list(columns)} are not taken for payoffs of the options"
        why.append(MarkedText(f"{taken_for}: {reason}."))
    return None, tuple(why[:1])


def usual_columns(
    names: Sequence[str], labels: Sequence[Label] | None = None
) -> list[tuple[str, ...]]:
    """Sets of columns with usual names of payoffs, one per option; the likeliest set first.

    Examples
    --------
    >>> usual_columns(["subject", "mean_B", "mean_A", "reward"])
    [('mean_A', 'mean_B')]
    >>> usual_columns(["p_left", "p_right", "p_value"], ["right", "left"])
    [('p_right', 'p_left')]
    """
    found = []
    for stem in USUAL_PREFIXES:
        by_option = {}
        for name in reversed(names):
            plain = _normalize_name(name)
            if plain.startswith(stem) or plain.endswith(stem):
                rest = plain.removeprefix(stem) if plain.startswith(stem) else plain[: -len(stem)]
                by_option[rest] = by_option[_without_word(rest)] = name
        columns = _in_order(by_option, labels)
        if columns and columns not in found:
            found.append(columns)
    return found


def _in_order(by_option: dict[str, str], labels: Sequence[Label] | None) -> tuple[str, ...] | None:
    if labels is not None:
        keys = [_normalize_name(str(label)) for label in labels]
        known = len(set(keys)) == len(keys) and all(key in by_option for key in keys)
        return tuple(by_option[key] for key in keys) if known else None
    numbers = sorted((int(key), name) for key, name in by_option.items() if key.isdecimal())
    for first in (0, 1):
        if len(numbers) > 1 and [n for n, _ in numbers] == [*range(first, first + len(numbers))]:
            return tuple(name for _, name in numbers)
    letters = sorted(key for key in by_option if len(key) == 1 and key in ascii_lowercase)
    if len(letters) > 1 and "".join(letters) == ascii_lowercase[: len(letters)]:
        return tuple(by_option[key] for key in letters)
    return None


def _without_word(rest: str) -> str:
    """Strip a word for "option" from the name of an option: option1, 1arm."""
    for word in OPTION_WORDS:
        for left in (rest.removeprefix(word), rest.removesuffix(word)):
            if left not in ("", rest):
                return left
    return rest


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _values(
    table: Table, columns: Sequence[str], episodes: Sequence[Episode], rows: Sequence[IntVector]
) -> tuple[Matrix, ...]:
    """Payoffs at every event, all of them known wherever an option was chosen."""
    every = np.column_stack([column_floats(table, name, "payoffs") for name in columns])
    found = []
    for episode, mine in zip(episodes, rows, strict=True):
        values = np.where((mine == ABSENT)[:, None], np.nan, every[mine])
        needed = episode.is_choice & (episode.chosen != NOTHING)
        wrong = np.argwhere(needed[:, None] & ~np.isfinite(values))
        if wrong.size:
            event, option = wrong[0]
            raise DataError(
                f"payoffs {columns[option]!r}",
                "must be a number wherever an option was chosen",
                got=f"{values[event, option]:g} at {_describe_row(episode, int(mine[event]))}",
                fix="Fill it, or leave the columns out.",
            )
        values.flags.writeable = False
        found.append(values)
    return tuple(found)


def _describe_row(episode: Episode, row: int) -> str:
    return f"{row_place(row)} (subject {episode.subject})"


@dataclass(frozen=True)
class _Received:
    """Rewards received, and the stated payoffs of the options chosen."""

    paid: Vector
    stated: Vector
    episode: IntVector
    place: Callable[[int], str]
    column: Callable[[int], str]

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        values: Sequence[Matrix],
        episodes: Sequence[Episode],
        rows: Sequence[IntVector],
    ) -> _Received:
        paid, stated, where = [], [], []
        for i, (episode, mine) in enumerate(zip(episodes, rows, strict=True)):
            events = np.flatnonzero(episode.observed & (episode.executed != NOTHING))
            paid.append(episode.rewards[events])
            stated.append(values[i][events, episode.executed[events]])
            where.append(np.column_stack([np.full(len(events), i), mine[events], events]))
        found = np.concatenate(stated)
        known = np.isfinite(found)
        at = np.concatenate(where)[known]
        return cls(
            np.concatenate(paid)[known],
            found[known],
            at[:, 0],
            lambda k: _describe_row(episodes[at[k, 0]], int(at[k, 1])),
            lambda k: columns[int(episodes[at[k, 0]].executed[at[k, 2]])],
        )

    def instance(self, k: int) -> str:
        """Describe reward k and the payoff of the option chosen there."""
        return (
            f"{self.paid[k]:g} at {self.place(k)}, where column {self.column(k)} says "
            f"{self.stated[k]:g}"
        )


def _read(
    columns: tuple[str, ...],
    values: tuple[Matrix, ...],
    noise: float | None,
    episodes: Sequence[Episode],
    rows: Sequence[IntVector],
    conditions: Sequence[Label],
    *,
    recognised: bool = False,
) -> Payoffs:
    """Build the payoffs, and infer from the rewards received whether they are rewards or means."""
    received = _Received.of(columns, values, episodes, rows)
    every = np.concatenate([v[np.isfinite(v)] for v in values])
    kind, two = _kind(received, every, noise)
    variance = float("nan")
    if kind != "probabilities":
        left = received.paid - received.stated
        variance = float((left**2).mean()) if noise is None and left.size else float(noise or 0.0)
        variance = 0.0 if kind == "rewards" else variance
    made = Payoffs(columns, values, kind, variance, two, recognised)
    _check_means(received, made, noise is not None)
    if kind == "means" and noise is None:
        made = replace(made, noise_by_episode=_noise_by_condition(received, variance, conditions))
    notes = [_payoff_note(made, noise is None, received), *_disagreement(received, made)]
    return replace(made, notes=tuple(notes))


def _noise_by_condition(
    received: _Received, pooled: float, conditions: Sequence[Label]
) -> tuple[float, ...]:
    """Variance of rewards in the condition of each episode; pooled if rewards are few."""
    found = {}
    for condition in dict.fromkeys(conditions):
        here = [i for i, own in enumerate(conditions) if own == condition]
        left = (received.paid - received.stated)[np.isin(received.episode, here)]
        found[condition] = float((left**2).mean()) if len(left) >= MIN_REWARDS_FOR_NOISE else pooled
    return tuple(found[condition] for condition in conditions)


def _kind(
    received: _Received, every: Vector, noise: float | None
) -> tuple[Kind, tuple[float, float]]:
    if noise is not None:
        return ("means" if noise > 0 else "rewards"), (0.0, 1.0)
    same = _matches_payoffs(received)
    if not same.size or same.mean() >= MIN_SHARE_MATCHING_PAYOFFS:
        return "rewards", (0.0, 1.0)
    rewards = np.unique(received.paid)
    if len(rewards) == 2:
        if np.isin(every, rewards).all():
            _raise_disagreement(received, int(np.flatnonzero(~same)[0]))
        if every.min() >= 0 and every.max() <= 1:
            return "probabilities", (float(rewards[0]), float(rewards[1]))
    return "means", (0.0, 1.0)


def _matches_payoffs(received: _Received) -> BoolVector:
    scale = float(np.abs(received.paid).max(initial=0.0))
    return np.isclose(received.paid, received.stated, rtol=1e-6, atol=1e-9 * scale)


def _check_means(received: _Received, payoffs: Payoffs, given: bool) -> None:
    """Raise if the rewards received do not scatter around the means."""
    if payoffs.kind == "rewards" or not received.paid.size:
        return
    left = received.paid - payoffs.mean_of(received.stated)
    sd, bias = float(left.std()), abs(float(left.mean()))
    beyond = max(OFF * sd, SURE * sd / np.sqrt(len(left)))
    # of columns that nobody named, more is asked: that they tell something of the rewards
    useless = payoffs.recognised and sd >= float(received.paid.std())
    if bias > beyond or (useless and not given):
        _raise_disagreement(received, int(np.abs(left).argmax()))


def _raise_disagreement(received: _Received, k: int) -> None:
    raise DataError(
        "payoffs",
        (
            "must be what the options pay, so that rewards received agree with the column of the "
            "option chosen"
        ),
        got=received.instance(k),
        fix="Name the columns in the order of the options, in the units of the rewards.",
    )


def _payoff_note(payoffs: Payoffs, free: bool, received: _Received) -> str:
    how = "recognised by their names" if payoffs.recognised else "as named"
    said = f"Payoffs of every option at every decision ({how}): agents get {payoffs.description}"
    if payoffs.kind == "means" and free:
        k = int(np.flatnonzero(~_matches_payoffs(received))[0])
        said += (
            ", found from the rewards, which differ from these columns (the first: "
            f"{received.instance(k)})"
        )
    return f"{said}."


def _disagreement(received: _Received, payoffs: Payoffs) -> list[str]:
    """Describe rewards that differ from the payoff of the option chosen, with the first row."""
    if payoffs.kind == "rewards":
        wrong = ~_matches_payoffs(received)
    elif payoffs.kind == "means":
        sd = np.sqrt(payoffs.noise_variance)
        wrong = np.abs(received.paid - received.stated) > MAX_NOISE_SDS * sd
    else:
        low, high = payoffs.two
        wrong = ((received.stated <= 0) & (received.paid == high)) | (
            (received.stated >= 1) & (received.paid == low)
        )
    places = np.flatnonzero(wrong)
    if not places.size:
        return []
    many = format_count(len(places), "reward")
    return [
        f"{many} of {len(wrong)} cannot come from the payoff of the option chosen; the first is "
        f"{received.instance(int(places[0]))}."
    ]


def _has_constant_best_option(means: Matrix) -> bool:
    """Whether some option is as good as any at every event: (n_events, n_options)."""
    return len(means) == 0 or bool((means == means.max(axis=1, keepdims=True)).all(axis=0).any())
