"""Many episodes end to end, for models whose variables are computed for many of them in one call.

A model in plain NumPy describes one episode at one psi. A compiled model describes any number of
pairs of an episode and a psi at once, so that a search over psi, or a fit of many subjects, costs
little besides the arithmetic. Here are the arrays that such models share, and controls beside
learning: to repeat the last choice (stickiness), or to prefer an option for itself (bias). Each is
a column, so that adding one keeps a model linear. Defaults that the rewards of a task decide, such
as the value of an option before play, are here too.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from penchant._compiled import njit
from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import Episode, executed_history
from penchant.choices import Choices
from penchant.errors import Code, DataError, argument
from penchant.models.model import Declared, Model
from penchant.models.offers.offers import offers_of_choices
from penchant.models.parameters import ParameterTable
from penchant.tables.events import labelled
from penchant.tables.reading import Reading

# Columns of a choice set with copies: sets of 2 to 10 options in one study have 2,520.
MAX_SET_WIDTH = 2_520


@dataclass(frozen=True)
class Record:
    """Events of many episodes, one episode after another.

    Attributes
    ----------
    episodes
        The episodes as players learn from them: what was executed stands for what was chosen.
    starts
        Where the events of each begin: (n_episodes + 1,).
    given
        The episodes as they are.
    chosen, rewards
        Events (n_events,): -1 where nothing was chosen, NaN where nothing was received.
    """

    episodes: tuple[Any, ...]
    starts: IntVector
    given: tuple[Any, ...]

    @classmethod
    def of(cls, episodes: Sequence[Any]) -> Record:
        """Put episodes end to end."""
        sizes = [episode.n_events for episode in episodes]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        return cls(tuple(map(executed_history, episodes)), starts, tuple(episodes))

    @cached_property
    def chosen(self) -> IntVector:
        """Options of all events."""
        return np.concatenate([episode.chosen for episode in self.episodes])

    @cached_property
    def rewards(self) -> Vector:
        """Rewards of all events."""
        return np.concatenate([episode.rewards for episode in self.episodes])

    @cached_property
    def offers(self) -> dict[str, Matrix]:
        """What was offered at all events, by the attributes that all `Offers` have."""
        every = [getattr(one, "offers", {}) for one in self.episodes]
        shared = [name for name in every[0] if all(name in offers for offers in every)]
        for name in shared:
            shapes = sorted({offers[name].shape[1:] for offers in every})
            if len(shapes) > 1:
                raise DataError(
                    f"offers[{name!r}] must have as many options and outcomes in all Offers; got "
                    f"{' and '.join(map(str, shapes))}. Fit those that differ apart."
                )
        return {name: np.concatenate([offers[name] for offers in every]) for name in shared}

    def before(self, name: str) -> Matrix:
        """What was seen at all events under a name."""
        return self._seen("before", name)

    def after(self, name: str) -> Matrix:
        """What was learnt after all events under a name."""
        return self._seen("after", name)

    def _seen(self, role: str, name: str) -> Matrix:
        return np.asarray(self.kept((role, name), lambda: self._joined(role, name)))

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What a model makes of the events, once for all psi."""
        known = self.prepared.get(key)
        if known is None:
            known = self.prepared[key] = (make(),)
        return known[0]

    def _joined(self, role: str, name: str) -> Matrix:
        """What all episodes hold under a name, one after another; nobody changes it."""
        parts = []
        for episode in self.episodes:
            found = getattr(episode, role, {})
            if name not in found:
                where = labelled(episode.subject, episode.block)
                raise DataError(
                    f"{role} must hold {name!r} for this model; got "
                    f"{', '.join(found) or 'nothing'}{f' of {where}' if where else ''}. "
                    + argument("Give {}.", Code(f'Episode(..., {role}={{"{name}": ...}})'))
                )
            parts.append(found[name])
        return np.concatenate(parts)

    @cached_property
    def available(self) -> BoolVector | None:
        """Whether each option could be chosen, (n_events, n_options); None where all could."""
        masks = [getattr(episode, "available", None) for episode in self.episodes]
        widths = sorted({mask.shape[1] for mask in masks if mask is not None})
        if not widths:
            return None
        if len(widths) > 1:
            raise DataError(
                "available must have a column for every option; got "
                f"{' and '.join(map(str, widths))} columns. Give False for those not on offer."
            )
        sizes = np.diff(self.starts)
        return np.concatenate(
            [
                np.ones((n, widths[0]), dtype=bool) if mask is None else mask
                for n, mask in zip(sizes, masks, strict=True)
            ]
        )

    @cached_property
    def choice_sets(self) -> IntVector | None:
        """Options that could be chosen at all events, (n_events, width); None where all could.

        Compiled likelihoods have arrays of one width. It is a multiple of the size of every set,
        and an option of a small set stands there several times: a choice among k copies of each
        option has the same derivatives, and a log-likelihood that is lower by log k.
        """
        if self.available is None:
            return None
        sizes = self.available.sum(axis=1)
        width = math.lcm(*map(int, np.unique(sizes)))
        if width > MAX_SET_WIDTH:
            raise DataError(
                "available must leave sets whose sizes have a small common multiple; got sizes "
                f"{', '.join(map(str, np.unique(sizes)))}. Fit episodes of such sizes apart."
            )
        options = np.nonzero(self.available)[1]
        return np.repeat(options, np.repeat(width // sizes, sizes)).reshape(-1, width)

    @cached_property
    def n_copies(self) -> IntVector:
        """How often each option of an event's choice set stands in `choice_sets`."""
        if self.choice_sets is None or self.available is None:
            return np.ones(len(self.chosen), dtype=np.int64)
        return np.asarray(self.choice_sets.shape[1] // self.available.sum(axis=1))

    def ranks_of(self, chosen: IntVector) -> IntVector:
        """Columns of options in `choice_sets`: the options themselves where all could be chosen."""
        if self.choice_sets is None:
            return chosen
        at = (self.choice_sets == chosen[:, None]).argmax(axis=1)
        return np.asarray(np.where(chosen < 0, chosen, at))

    @cached_property
    def prepared(self) -> dict[Any, tuple[Any, ...]]:
        """What models made of offers or times, once for all psi."""
        return {}

    @cached_property
    def is_choice(self) -> BoolVector:
        """Whether each event was a choice, rather than an option shown."""
        return np.concatenate([episode.is_choice for episode in self.episodes])

    def lengths(self, which: IntVector) -> IntVector:
        """Number of events of some episodes."""
        return self.starts[which + 1] - self.starts[which]

    @cached_property
    def _highest_option(self) -> int:
        """Of all episodes, looked for once: every psi asks for it."""
        if not self.given:
            return -1
        both = zip(self.given, self.episodes, strict=True)
        proposed = [given.chosen for given, learnt in both if given is not learnt]
        return max(int(options.max(initial=-1)) for options in (self.chosen, *proposed))

    def check_options(self, n_options: int) -> None:
        """Raise an error if an option's index is beyond the number of options."""
        if self._highest_option >= n_options:
            for episode in self.given:
                episode.check_options(n_options)


class CompiledModel(ParameterTable):
    """Base of models that describe many episodes in one call: they define `explanatory_many`."""

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """Variables of episode which[k] at psi[k], for every k, one after another.

        Returns
        -------
        Variables (rows, n_options, n_weights), with a row for every event of every pair; and, if
        asked for, their derivatives in each shape parameter: (n_shape, rows, n_options, n_weights).
        """
        raise NotImplementedError

    def explanatory(self, episode: Any, *psi: float) -> Matrix:
        """Variables of every event: (n_events, n_options, n_weights)."""
        return self._single(episode, psi, False)[0]

    def explanatory_and_slopes(self, episode: Any, *psi: float) -> tuple[Matrix, Matrix]:
        """The variables, and their derivatives in the shape parameters along a first axis."""
        x, slopes = self._single(episode, psi, True)
        assert slopes is not None
        return x, slopes

    def _single(
        self, episode: Any, psi: tuple[float, ...], with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        at = np.array([psi], dtype=np.float64).reshape(1, len(psi))
        record = _alone(episode) if isinstance(episode, Episode) else Record.of([episode])
        return self.explanatory_many(record, np.zeros(1, dtype=np.int64), at, with_slopes)


@lru_cache(1)
def _alone(episode: Episode) -> Record:
    """One episode as a record: who asks for its variables at one psi asks at others, too."""
    return Record.of([episode])


def control_names(n_options: int, stickiness: bool, bias: bool) -> tuple[str, ...]:
    """Names of the controls' weights; the last option has no bias."""
    return (("stickiness",) if stickiness else ()) + (bias_names(n_options) if bias else ())


def bias_names(n_options: int) -> tuple[str, ...]:
    """bias_0, bias_1 ... of all options but the last, which the others are compared with."""
    return tuple(f"bias_{i}" for i in range(n_options - 1))


def fill_controls(
    record: Record, which: IntVector, x: Matrix, stickiness: bool, bias: bool
) -> None:
    """Fill the last columns: 1 for the last choice made; 1 for each option but the last."""
    if stickiness:
        column = _stickiness_column(x, bias)
        _mark_last_choice(record.chosen, record.is_choice, record.starts, which, column, x)
    if bias:
        _fill_biases(x)


@njit(cache=True, nogil=True, error_model="numpy")
def _mark_last_choice(chosen, is_choice, starts, which, column, x):  # type: ignore[no-untyped-def]
    row = 0
    for k in range(len(which)):
        last = -1
        for t in range(starts[which[k]], starts[which[k] + 1]):
            if last >= 0:
                x[row, last, column] = 1.0
            row += 1
            if is_choice[t] and chosen[t] >= 0:
                last = chosen[t]


def fill_agents_controls(x: Matrix, last: IntVector, stickiness: bool, bias: bool) -> None:
    """Fill the last columns of agents whose last choices are these, -1 before the first."""
    if stickiness:
        made = np.flatnonzero(last >= 0)
        x[made, last[made], _stickiness_column(x, bias)] = 1.0
    if bias:
        _fill_biases(x)


def _stickiness_column(x: Matrix, bias: bool) -> int:
    _, n_options, n_weights = x.shape
    return int(n_weights - (n_options if bias else 1))


def _fill_biases(x: Matrix) -> None:
    x[:, :, 1 - x.shape[1] :] = np.eye(x.shape[1])[:, :-1]


def with_starts(weights: tuple[str, ...], x: Matrix, theta: Vector, *starts: str) -> Matrix:
    """The first variable, with what each start that is estimated adds, in units of rewards."""
    value = x[:, :, 0].copy()
    for name in starts:
        if f"{name}/temperature" in weights:
            column = weights.index(f"{name}/temperature")
            value += theta[column] / theta[0] * x[:, :, column]
    return np.asarray(value)


def known_number(value: object, name: str, advice: str) -> None:
    """Refuse what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise DataError(f"{name} must be a number; got {value!r}. {advice}")
    if not np.isfinite(value):
        raise DataError(f"{name} must be finite; got {value}. {advice}")


def doubts_of(model: Any, episodes: Sequence[Any]) -> tuple[str, ...]:
    """Sentences on settings of the model that these episodes speak against."""
    doubts = Declared(model).doubts
    return () if doubts is None else tuple(doubts(episodes))


def rewards_of(episodes: Sequence[Any]) -> Vector:
    """All rewards that were received."""
    parts = [np.asarray(getattr(episode, "rewards", ()), dtype=np.float64) for episode in episodes]
    rewards = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])
    there = np.isfinite(rewards)
    return rewards if there.all() else np.asarray(rewards[there])


def ends_of(rewards: Vector) -> str:
    """From where to where rewards go."""
    return f"{rewards.min():g} to {rewards.max():g}"


def start_words(value: float | None) -> str:
    """What is expected before play, in words."""
    return "estimated" if value is None else f"{value:g}"


ENOUGH = 5  # rewards beyond the first of an option that tell whether they vary


def doubts_of_start(
    name: str, value: float | None, episodes: Sequence[Any], *, estimable: bool = True
) -> Iterator[str]:
    """Say that what is expected before play lies outside the rewards, and what to do.

    Parameters
    ----------
    name, value
        The setting; None where it is estimated.
    episodes
        With their rewards.
    estimable
        Whether the model can estimate it.
    """
    rewards = rewards_of(episodes)
    if value is None or not len(rewards) or rewards.min() <= value <= rewards.max():
        return
    free = argument(name, Code("None"))
    estimate = f"estimate it ({free}), or " if estimable else ""
    remedy = f"{estimate}give another number, such as {_middle(name, rewards)}."
    yield (
        f"{name} = {value:g} lies outside the rewards ({ends_of(rewards)}): other parameters "
        "make up for it, such as a rate that leaves it quickly. "
        f"{remedy[0].upper()}{remedy[1:]}"
    )


def _middle(name: str, rewards: Vector) -> str:
    """How to set a value to the middle of the rewards."""
    middle = Code(f"{(rewards.min() + rewards.max()) / 2:.3g}")
    return f"the middle of the rewards ({argument(name, middle)})"


def doubts_of_threshold(above: float, episodes: Sequence[Any]) -> Iterator[str]:
    """Say that the threshold of a win makes every reward a win, or a loss, and what to do."""
    rewards = rewards_of(episodes)
    wins = float((rewards > above).mean()) if len(rewards) else 0.5
    if wins in (0.0, 1.0):
        kind = "win" if wins else "loss"
        yield (
            f"win_above = {above:g} makes every reward a {kind} ({ends_of(rewards)}). Give another "
            f"number, such as {_middle('win_above', rewards)}."
        )


def doubts_of_noise(
    noise: Sequence[float], words: str, advice: str, episodes: Sequence[Any]
) -> Iterator[str]:
    """That options always give the same which are taken for noisy.

    Parameters
    ----------
    noise, words
        Variance of each option's rewards, as the player takes it; the same in words.
    advice
        What it does to the model.
    episodes
        With their rewards.
    """
    if not any(np.asarray(noise) > 0) or not len(rewards_of(episodes)):
        return
    variance, enough = _within(episodes, len(noise))
    noisy = np.flatnonzero(enough & (variance > 0))
    fixed = np.flatnonzero(enough & (variance == 0) & (np.asarray(noise) > 0))
    if not len(fixed):
        return
    which = " and ".join(map(str, fixed))
    others = f", and that of others varies by {variance[noisy].mean():.3g}" if len(noisy) else ""
    yield (
        f"The reward of option {which} is always the same within an episode{others}: who sees this "
        f"is sure of it at once, while noise_variance = {words} says that it stays "
        f"uncertain. {advice}"
    )


def _within(episodes: Sequence[Any], n_options: int) -> tuple[Vector, Any]:
    """Variance of rewards of each option within episodes, and whether there are enough to tell."""
    squares, freedom = np.zeros(n_options), np.zeros(n_options)
    for episode in episodes:
        happened = executed_history(episode)
        chosen, rewards = np.asarray(happened.chosen), np.asarray(happened.rewards)
        seen = (chosen >= 0) & (chosen < n_options) & np.isfinite(rewards)
        option, reward = (chosen, rewards) if seen.all() else (chosen[seen], rewards[seen])
        counts = np.bincount(option, minlength=n_options)
        first: Matrix = np.zeros(n_options)
        first[option[::-1]] = reward[::-1]
        away = reward - first[option]  # exactly 0 where all are the same
        sums = np.bincount(option, away, n_options)
        squares += np.bincount(option, away**2, n_options) - sums**2 / np.maximum(counts, 1)
        freedom += np.maximum(counts - 1, 0)
    return squares / np.maximum(freedom, 1), freedom >= ENOUGH


HISTORY = ("scored_options", "n_events")


def is_history(data: Any) -> bool:
    """Whether a model can describe it: an episode, or static decisions."""
    kind = type(data)  # whose properties need not be worked out
    return all(hasattr(kind, name) or hasattr(data, name) for name in HISTORY)


def data_of(given: Any) -> Any:
    """The data of a reading; anything else as it is."""
    return given.data if isinstance(given, Reading) else given


def refuse_no_model(model: Any) -> None:
    """Say what to write where a name or a class stands for a model."""
    if isinstance(model, str):
        known = import_module("penchant.models.catalogue").CATALOGUE
        entry = known.get(model) or known.get(model.lower().replace("_", "-").replace(" ", "-"))
        written = "pn.QLearning(n_options=2)" if entry is None else _call(entry.model)
        raise DataError(
            f"model must be a model, not its name; got {model!r}. Write model={written}."
        )
    if isinstance(model, type):
        raise DataError(
            f"model must be a model, not its class; got {model.__name__}. Write "
            f"model={_call(model)}."
        )
    if model is not None and not isinstance(model, Model):
        raise DataError(
            f"model must be a model; got {type(model).__name__}. Write "
            "model=pn.QLearning(n_options=2), or another of pn.models."
        )


def needs_model(given: Any) -> DataError:
    """The error for data that a model has to explain, with what to write."""
    advice = "Pass UCL(...) or QLearning(...)."
    if isinstance(given, Reading):
        advice = f"Write {given.next}, or another model of pn.models."
    return DataError(f"model must be given with episodes; got none. {advice}")


def _call(kind: type) -> str:
    """How a model of this class is made, in Python."""
    at_top = kind.__name__ in ("UCL", "QLearning", "KalmanFilter", "HyperbolicDiscounting", "GPUCB")
    needed = {"n_options": "n_options=2", "locations": "locations=pn.grid(10, 10)"}
    own = getattr(kind, "__dataclass_fields__", {})
    said = ", ".join(words for name, words in needed.items() if name in own)
    return f"pn.{'' if at_top else 'models.'}{kind.__name__}({said})"


def refuse_word(prior: Any) -> None:
    """Say what to write where a word, a number or a class stands for a prior."""
    weak = "Write parameter_prior=pn.ScaledPrior() for a weak one, or None for maximum likelihood."
    if isinstance(prior, str):
        raise DataError(f"parameter_prior must be a prior, not a word; got {prior!r}. {weak}")
    if isinstance(prior, type):
        raise DataError(
            f"parameter_prior must be a prior, not its class; got {prior.__name__}. Write "
            f"parameter_prior=pn.{prior.__name__}(...)."
        )
    if isinstance(prior, (int, float, Mapping, list, tuple)):
        raise DataError(f"parameter_prior must be a prior; got {prior!r}. {weak}")


def as_described(data: Any, model: Model | None) -> Any:
    """A choice experiment as offers where a model of attributes is given; other data as they are.

    Choices need no model: one of their attributes says what these are worth.
    """
    refuse_no_model(model)
    describes = model is not None and bool(Declared(model).attributes)
    return as_episodes(data) if describes and isinstance(data, Choices) else data


def as_episodes(episodes: Any) -> tuple[Any, ...]:
    """One episode or several, or static decisions, as a tuple.

    What `read` returns is taken, too, and a choice experiment, whose variables are attributes.
    """
    episodes = data_of(episodes)
    if isinstance(episodes, Choices):
        return tuple(offers_of_choices(episodes))
    named = isinstance(episodes, (str, os.PathLike))
    if named or not (is_history(episodes) or isinstance(episodes, Sequence)):
        raise DataError(
            f"episodes must be an Episode or some of them; got {type(episodes).__name__}. "
            + (
                "Read a table first: pn.read(table)."
                if named or hasattr(episodes, "columns")
                else "Make them with Episode(chosen, rewards)."
            )
        )
    found = (episodes,) if is_history(episodes) else tuple(episodes)
    if not found or not all(is_history(e) for e in found):
        raise DataError(
            f"episodes must be an Episode or some of them; got {type(episodes).__name__} with "
            f"{len(found)} entries. Make them with Episode(chosen, rewards)."
        )
    return found
