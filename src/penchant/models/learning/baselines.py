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
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._typing import Vector
from penchant.argument_checks import check_number
from penchant.models.controls import bias_names
from penchant.models.model import finite
from penchant.models.parameters import Parameter, Row
from penchant.models.recursion import Recursion
from penchant.models.scalars import Fields, Numbers
from penchant.models.setting_warnings import doubts_of_threshold, start_words

# Shares of errors that agents are given for 0 and 2, whose log-odds are infinite: no agent of
# a simulation is long-lived enough to tell.
MIN_EPSILON, MAX_EPSILON = 1e-15, 2.0 - 1e-15


@dataclass(frozen=True)
class RandomChoice(Recursion):
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

    in_brief = "fixed preferences, no learning"

    n_options: int

    @property
    def parameters(self) -> tuple[Row, ...]:
        return tuple(map(Parameter.weight, bias_names(self.n_options)))

    def controls(self) -> tuple[str, ...]:
        return self.weights

    def state(self) -> Mapping[str, Vector]:
        """Empty: the model does not learn."""
        return {}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """Controls alone."""

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Do nothing: the model does not learn."""

    def __str__(self) -> str:
        return f"random choice with option biases, {self.n_options} options"


@dataclass(frozen=True)
class WinStayLoseShift(Recursion):
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

    in_brief = "noisy win-stay-lose-shift"

    n_options: int
    win_above: float = 0.0
    equal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.win_above, "win_above", fix="Give the largest reward that is no win.")

    @property
    def parameters(self) -> tuple[Row, ...]:
        if self.equal and self.n_options == 2:
            return (Parameter.share("epsilon", "win_stay_lose_shift", 2.0),)
        names = ("win_stay_lose_shift",) if self.equal else ("win_stay", "lose_shift")
        return tuple(map(Parameter.weight, names))

    def settings(self) -> Mapping[str, float]:
        losses = len(self.weights) - 1
        return {"n": self.n_options, "win_above": float(self.win_above), "losses": losses}

    def state(self) -> Mapping[str, Vector]:
        """1 for the last choice if it won, -1 if it lost."""
        return {"won": np.zeros(self.n_options), "lost": np.zeros(self.n_options)}

    @staticmethod
    def features(s: Fields, e: Fields, psi: Fields, c: Fields, x: Numbers) -> None:
        """1 for the last choice if it won, -1 if it lost, in one column or two."""
        for i in range(c.n):
            x[i, 0] = s.won[i]
            x[i, c.losses] += s.lost[i]

    @staticmethod
    def update(s: Fields, e: Fields, psi: Fields, c: Fields) -> None:
        """Remember the choice, and whether it won."""
        if e.is_choice == 1:
            for i in range(c.n):
                s.won[i] = 1.0 if i == e.choice and e.reward > c.win_above else 0.0
                s.lost[i] = -1.0 if i == e.choice and e.reward <= c.win_above else 0.0

    def agents(self, parameters: Mapping[str, float], n_agents: int) -> Any:
        """Agents who play so; those who never err, or always, have a weight that is finite."""
        if "epsilon" in parameters:
            epsilon = finite(parameters, "epsilon")
            check_number(epsilon, "epsilon", least=0, most=2, fix="1 is random choice.")
            parameters = {**parameters, "epsilon": min(max(epsilon, MIN_EPSILON), MAX_EPSILON)}
        return super().agents(parameters, n_agents)

    def doubts(self, episodes: Sequence[Any]) -> tuple[str, ...]:
        """Whether the threshold makes every reward a win, or a loss."""
        return tuple(doubts_of_threshold(self.win_above, episodes))

    def __str__(self) -> str:
        weights = ", equal weights" if self.equal else ""
        return (
            f"noisy win-stay-lose-shift, {self.n_options} options, a win is above "
            f"{start_words(self.win_above)}{weights}"
        )
