"""Many episodes end to end, and models whose variables are computed for many of them in one call.

A model in plain NumPy describes one episode at one psi. A compiled model describes any number of
pairs of an episode and a psi at once, so that a search over psi, or a fit of many subjects, costs
little besides the arithmetic.

What the variables of many models have in common: their arrays, and controls beside learning.

Controls say what a player does whatever was learnt: repeat the last choice (stickiness), or prefer
an option for itself (bias). Each is a column, so that adding one keeps a model linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.errors import DataError
from penchant.models.learning._kernels import last_choice
from penchant.models.model import Natural


@dataclass(frozen=True)
class Record:
    """Events of many episodes, one episode after another.

    Attributes
    ----------
    episodes
        The episodes.
    starts
        Where the events of each begin: (n_episodes + 1,).
    chosen, rewards
        Events (n_events,): -1 where nothing was chosen, NaN where nothing was received.
    """

    episodes: tuple[Any, ...]
    starts: IntVector

    @classmethod
    def of(cls, episodes: Sequence[Any]) -> Record:
        """Put episodes end to end."""
        sizes = [episode.n_events for episode in episodes]
        return cls(tuple(episodes), np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))

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

    @cached_property
    def prepared(self) -> dict[Any, tuple[Matrix, ...]]:
        """What models made of offers or times, once for all psi."""
        return {}

    @cached_property
    def is_choice(self) -> BoolVector:
        """Whether each event was a choice, rather than an option shown."""
        return np.concatenate([episode.is_choice for episode in self.episodes])

    def lengths(self, which: IntVector) -> IntVector:
        """Number of events of some episodes."""
        return self.starts[which + 1] - self.starts[which]

    def check_options(self, n_options: int) -> None:
        """Raise an error if an option's index is beyond the number of options."""
        if self.chosen.max(initial=-1) >= n_options:
            for episode in self.episodes:
                episode.check_options(n_options)


class CompiledModel:
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
        record = Record.of([episode])
        return self.explanatory_many(record, np.zeros(1, dtype=np.int64), at, with_slopes)


def blank_variables(
    record: Record, which: IntVector, n_options: int, n_weights: int, n_slopes: int
) -> tuple[Matrix, Matrix]:
    """Zeros for the variables of some episodes, and for their derivatives."""
    record.check_options(n_options)
    shape = (int(record.lengths(which).sum()), n_options, n_weights)
    return np.zeros(shape), np.zeros((n_slopes, *shape))


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
    n_biases = x.shape[1] - 1 if bias else 0
    first = x.shape[2] - n_biases
    if stickiness:
        last_choice(record.chosen, record.is_choice, record.starts, which, first - 1, x)
    if bias:
        x[:, :, first:] = np.eye(x.shape[1])[:, :-1]


def in_units_of_temperature(weights: tuple[str, ...]) -> list[Natural]:
    """tau, and the natural parameter of every weight after the first, 1/tau.

    A weight called name/temperature stands for the ratio to 1/tau; others for themselves.
    """
    found = [Natural("temperature", "reciprocal", 0)]
    for a, weight in enumerate(weights[1:], start=1):
        name = weight.removesuffix("/temperature")
        ratio = name != weight
        found.append(Natural(name, "ratio", a, 0) if ratio else Natural(name, "weight", a))
    return found


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
