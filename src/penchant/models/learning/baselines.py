"""Models without learning: fixed probabilities, and noisy win-stay-lose-shift.

Noisy win-stay-lose-shift: repeat what won, leave what lost, with some noise.

With c the last choice made, which won if its reward was above a threshold,

    eta_i = w 1(i = c) after a win,    eta_i = -l 1(i = c) after a loss,    eta_i = 0 at first.

Linear in w and l, without shape parameters. Among m options

    P(stay | win) = e^w / (e^w + m - 1),    P(shift | loss) = (m - 1) / (m - 1 + e^-l).

With two options and w = l these are both 1 - epsilon/2: the model of Wilson & Collins (2019), with
epsilon = 2 / (1 + e^w), from 0 for a player who never errs to 1 for one who chooses at random.

A decision without a choice is passed over, and so are options shown.

Choices that follow no reward: every option has its own fixed probability.

    P(i) = exp(b_i) / sum_j exp(b_j),    b = 0 for the last option.

Linear in the biases b, without shape parameters. What any model of learning has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.errors import DataError
from penchant.models.learning._kernels import stay_or_shift
from penchant.models.model import Habits, finite, softmax
from penchant.models.natural import Natural, Shape
from penchant.models.record import (
    CompiledModel,
    Record,
    bias_names,
    blank_variables,
    doubts_of_threshold,
    fill_controls,
    known_number,
    start_words,
)


@dataclass(frozen=True)
class RandomChoice(CompiledModel):
    """Random choice with option biases: theta = b, no psi.

    Parameters
    ----------
    n_options
        Number of options.

    Examples
    --------
    The biases are log-odds against the last option:

    >>> import penchant as pn
    >>> episode = pn.Episode([0, 2, 1, 0, 0, 2, 0], [1, 0, 0, 1, 1, 0, None])
    >>> pn.fit(episode, pn.models.RandomChoice(3))  # log(4/2) and log(1/2)
    <Estimate converged: bias_0=0.69315, bias_1=-0.69315>
    """

    n_options: int

    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)

    @property
    def weights(self) -> tuple[str, ...]:
        """Biases of all options but the last."""
        return bias_names(self.n_options)

    @property
    def natural(self) -> tuple[Natural, ...]:
        """The biases, in log-odds against the last option."""
        return tuple(Natural(name, "weight", a) for a, name in enumerate(self.weights))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """An indicator of each option but the last."""
        x, dx = blank_variables(record, which, self.n_options, self.n_options - 1, 0)
        fill_controls(record, which, x, stickiness=False, bias=True)
        return x, dx if with_slopes else None

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> RandomAgents:
        """Agents who play so."""
        return RandomAgents(Habits.of(parameters, n_agents, self.n_options))

    def __str__(self) -> str:
        return f"random choice with option biases, {self.n_options} options"


@dataclass
class RandomAgents:
    """Agents who learn nothing."""

    habits: Habits

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        return softmax(np.asarray(self.habits.objective()))

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Nothing is learnt."""


@dataclass(frozen=True)
class WinStayLoseShift(CompiledModel):
    """Noisy win-stay-lose-shift: theta = (w, l), no psi.

    Parameters
    ----------
    n_options
        Number of options.
    win_above
        A reward above this is a win. It must be known: the likelihood jumps as it passes a reward.
    equal
        One weight for both, w = l. With two options it is reported as epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.models.WinStayLoseShift(2, win_above=0.5, equal=True)
    >>> task = pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.1))
    >>> rng = np.random.default_rng(1)
    >>> episode = pn.simulate(task, model, {"epsilon": 0.2}, n_decisions=400, rng=rng)
    >>> pn.fit(episode, model)
    <Estimate converged: epsilon=0.2005>
    """

    n_options: int
    win_above: float = 0.0
    equal: bool = False

    shape: tuple[Shape, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number(self.n_options, "n_options", 2)
        known_number(self.win_above, "win_above", "Give the largest reward that is no win.")

    @property
    def weights(self) -> tuple[str, ...]:
        """w and l, or one weight for both."""
        return ("win_stay_lose_shift",) if self.equal else ("win_stay", "lose_shift")

    @property
    def natural(self) -> tuple[Natural, ...]:
        """epsilon, or the weights in log-odds of the last choice against any other option."""
        if self.equal and self.n_options == 2:
            return (Natural("epsilon", "share", 0, scale=2.0),)
        return tuple(Natural(name, "weight", a) for a, name in enumerate(self.weights))

    def explanatory_many(
        self, record: Record, which: IntVector, psi: Matrix, with_slopes: bool
    ) -> tuple[Matrix, Matrix | None]:
        """1 for the last choice if it won, -1 if it lost, in one column or two."""
        x, dx = blank_variables(record, which, self.n_options, len(self.weights), 0)
        stay_or_shift(
            record.chosen,
            record.rewards,
            record.is_choice,
            record.starts,
            which,
            float(self.win_above),
            x,
        )
        return x, dx if with_slopes else None

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> WinStayAgents:
        """Agents who play so."""
        return WinStayAgents.of(self.n_options, n_agents, parameters, self.win_above)

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the threshold makes every reward a win, or a loss."""
        return tuple(doubts_of_threshold(self.win_above, episodes))

    def __str__(self) -> str:
        weights = ", equal weights" if self.equal else ""
        return (
            f"noisy win-stay-lose-shift, {self.n_options} options, a win is above "
            f"{start_words(self.win_above)}{weights}"
        )


@dataclass
class WinStayAgents:
    """Agents in play: they stay with the probabilities of the docstring above, else shift."""

    n_options: int
    stay_after: dict[bool, float]
    win_above: float
    last: IntVector
    won: BoolVector

    @classmethod
    def of(
        cls, n_options: int, n_agents: int, parameters: Mapping[str, float], win_above: float
    ) -> WinStayAgents:
        """Agents before play: epsilon, or the weights."""
        nobody = np.full(n_agents, -1, dtype=np.int64)
        stay = _staying(parameters, n_options - 1)
        return cls(n_options, stay, win_above, nobody, np.zeros(n_agents, dtype=bool))

    def probabilities(self) -> Matrix:
        """Choice probabilities of each agent."""
        stay = np.where(self.won, self.stay_after[True], self.stay_after[False])
        p = np.repeat(((1.0 - stay) / (self.n_options - 1))[:, None], self.n_options, axis=1)
        p[np.arange(len(p)), self.last] = stay
        p[self.last < 0] = 1.0 / self.n_options
        return np.asarray(p)

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Remember the choice, and whether it won."""
        self.last = chosen.copy()
        self.won = rewards > self.win_above


def _staying(parameters: Mapping[str, float], n_others: int) -> dict[bool, float]:
    """Probability of the last choice again, after a win and after a loss."""
    if "epsilon" in parameters:
        epsilon = finite(parameters, "epsilon")
        if not 0 <= epsilon <= 2:
            raise DataError(f"epsilon must lie in 0..2; got {epsilon}. 1 is random choice.")
        return {True: 1.0 - epsilon / 2, False: epsilon / 2}
    if "win_stay_lose_shift" in parameters:
        win = lose = finite(parameters, "win_stay_lose_shift")
    else:
        win, lose = finite(parameters, "win_stay"), finite(parameters, "lose_shift")
    return {
        True: 1.0 / (1.0 + n_others * np.exp(-win)),
        False: 1.0 / (1.0 + n_others * np.exp(lose)),
    }
