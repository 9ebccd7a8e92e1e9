"""Many episodes end to end, for models whose variables are computed for many of them in one call.

A model in plain NumPy describes one episode at one psi. A compiled model describes any number of
pairs of an episode and a psi at once, so that a search over psi, or a fit of many subjects, costs
little besides the arithmetic. Here are the arrays that such models share.
"""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntMatrix, IntVector, Matrix, Vector
from penchant.argument_checks import check_one_of, check_whole_number
from penchant.bandit.episode import Episode, executed_history
from penchant.errors import DataError
from penchant.models.parameters import ParameterTable
from penchant.tables.events import labelled

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
        """Attributes that all `Offers` share, concatenated over their decisions."""
        every = [getattr(one, "offers", {}) for one in self.episodes]
        shared = [name for name in every[0] if all(name in offers for offers in every)]
        for name in shared:
            shapes = sorted({offers[name].shape[1:] for offers in every})
            if len(shapes) > 1:
                raise DataError(
                    f"offers[{name!r}]",
                    "must have as many options and outcomes in all Offers",
                    got=" and ".join(map(str, shapes)),
                    fix="Fit those that differ apart.",
                )
        return {name: np.concatenate([offers[name] for offers in every]) for name in shared}

    def event_values(self, role: str, name: str) -> Matrix:
        """Values of a variable seen "before" or learnt "after" each event."""
        return np.asarray(self.cached((role, name), lambda: self._concatenated_values(role, name)))

    def cached(self, key: Any, make: Callable[[], Any]) -> Any:
        """Value of `make()`, computed once per key and cached for all psi."""
        known = self.cache.get(key)
        if known is None:
            known = self.cache[key] = (make(),)
        return known[0]

    def _concatenated_values(self, role: str, name: str) -> Matrix:
        """Concatenate a variable of all episodes in a read-only array."""
        parts = []
        for episode in self.episodes:
            found = getattr(episode, role, {})
            if name not in found:
                where = labelled(episode.subject, episode.block)
                raise DataError(
                    role,
                    f"must hold {name!r} for this model",
                    got=f"{', '.join(found) or 'nothing'}{f' of {where}' if where else ''}",
                    fix=f"Give every event its {name}, {role} the decision.",
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
                "available",
                "must have a column for every option",
                got=f"{' and '.join(map(str, widths))} columns",
                fix="Give False for those not on offer.",
            )
        sizes = np.diff(self.starts)
        return np.concatenate(
            [
                np.ones((n, widths[0]), dtype=bool) if mask is None else mask
                for n, mask in zip(sizes, masks, strict=True)
            ]
        )

    @cached_property
    def choice_sets(self) -> IntMatrix | None:
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
                "available",
                "must leave sets whose sizes have a small common multiple",
                got=f"sizes {', '.join(map(str, np.unique(sizes)))}",
                fix="Fit episodes of such sizes apart.",
            )
        options = np.nonzero(self.available)[1]
        return np.repeat(options, np.repeat(width // sizes, sizes)).reshape(-1, width)

    @cached_property
    def n_copies(self) -> IntVector:
        """Multiplicity of each option of an event's choice set in `choice_sets`."""
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
    def cache(self) -> dict[Any, tuple[Any, ...]]:
        """Values that `cached` keeps: {key: (value,)}."""
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
        """Highest index of a chosen or proposed option; cached, as every psi needs it."""
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


_NUMBERS: dict[str, type[int | float]] = {"bool": int, "int": int, "float": float}


class CompiledModel(ParameterTable):
    """Base of models that describe many episodes in one call: they define `explanatory_many`."""

    def __post_init__(self) -> None:
        """Check what the fields of a dataclass declare: a choice of words, two options or more."""
        own: Any = self  # a dataclass, as others do not call this
        kind: Any = type(self)
        for name, words in _declared_words(kind):
            check_one_of(getattr(own, name), name, words)
        given = {field.name: getattr(own, field.name) for field in fields(own) if field.init}
        check_whole_number(given.get("n_options", 2), "n_options", 2)

    def settings(self) -> Mapping[str, float]:
        """Numbers of the model that its compiled functions read as c.

        Fields of a dataclass that are flags or numbers, and `n`, the number of options, if the
        model says nothing else. Whole numbers that are read become part of the compiled code:
        flags, sizes and places of columns.
        """
        own: Any = self
        declared = fields(own) if is_dataclass(own) else ()
        return {
            "n" if field.name == "n_options" else field.name: number(getattr(own, field.name))
            for field in declared
            if (number := _NUMBERS.get(getattr(field.type, "__name__", str(field.type))))
        }

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
        record = (
            _record_of_episode(episode) if isinstance(episode, Episode) else Record.of([episode])
        )
        return self.explanatory_many(record, np.zeros(1, dtype=np.int64), at, with_slopes)


@cache
def _declared_words(kind: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Fields of a dataclass that are annotated as a Literal, with their words."""
    annotations = ((field.name, str(field.type)) for field in fields(kind))
    literal = ((name, text) for name, text in annotations if text.startswith("Literal["))
    return tuple((name, literal_eval(f"({text[8:-1]},)")) for name, text in literal)


@lru_cache(1)
def _record_of_episode(episode: Episode) -> Record:
    """Make the record of one episode; the last one is cached, as calls at other psi follow."""
    return Record.of([episode])
