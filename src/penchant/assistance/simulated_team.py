"""Simulated episodes of an operator with a machine beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from penchant._typing import Vector
from penchant.argument_checks import check_whole_number
from penchant.assistance.shared_autonomy import Helper
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError
from penchant.models.model import Agents, Model
from penchant.models.simulate import agents_of, draw_options


def simulate_team(
    place: Landscape,
    operator: Model | Agents,
    helper: Helper | None,
    *,
    n_decisions: int,
    rng: np.random.Generator,
    parameters: Mapping[str, float] | None = None,
) -> Episode:
    """Simulate one episode of an operator with a machine beside them.

    The operator proposes. A suggestion is decided between the two options, with the operator's own
    noise; where the machine decides, its option is executed.

    Parameters
    ----------
    place
        Where they play.
    operator
        A model of how the operator decides, with `parameters`; or `Agents` of one.
    helper
        The machine, at the beginning of an episode; its episode is ended. None: nobody helps.
    n_decisions
        Decisions to make.
    rng
        Source of randomness.
    parameters
        Natural parameters of the operator's model.

    Returns
    -------
    The episode: `chosen` is what was proposed, `executed` what was done.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> places = pn.grid(6, 6)
    >>> model = pn.UCL(locations=places, noise_variance=10.0, length_scale=3.0)
    >>> field = pn.Field(places, mean=30, sd=15, length_scale=2, noise_variance=10)
    >>> rng = np.random.default_rng(1)
    >>> place = pn.Landscape(rng.normal(30, 15, 36), pn.GaussianNoise(10.0))
    >>> who = {"decision_noise": 8.0, "prior_mean": 30.0, "prior_variance": 100.0}
    >>> helper = pn.assist(model, field, mode="decide")
    >>> for _ in range(2):  # the first goes without assistance
    ...     play = pn.simulate_team(
    ...         place, model, helper, parameters=who, n_decisions=15, rng=rng
    ...     )
    >>> bool((play.executed != play.chosen).any())
    True
    """
    n_decisions = check_whole_number(n_decisions, "n_decisions", 1)
    if hasattr(operator, "observe"):
        agents = cast(Agents, operator)
    else:
        if parameters is None:
            raise DataError("parameters", "must be given with a model of the operator", got="none")
        agents = agents_of(operator, parameters, 1)
    chosen, done, rewards = [], [], []
    for _ in range(n_decisions):
        p = agents.probabilities()
        proposed = int(draw_options(p, rng)[0])
        executed = proposed
        if helper is not None:
            advice = helper.proposed(proposed)
            if advice.option is not None:
                executed = advice.option
                if advice.kind == "suggest":
                    executed = _draw_suggested_or_proposed(p[0], proposed, advice.option, rng)
        reward = place.draw(executed, rng=rng)
        agents.observe(np.array([executed]), np.array([reward]))
        if helper is not None:
            helper.executed(executed, reward)
        chosen.append(proposed)
        done.append(executed)
        rewards.append(reward)
    if helper is not None:
        helper.end_episode()
    return Episode(chosen, rewards, executed=done)


def _draw_suggested_or_proposed(
    p: Vector, proposed: int, suggested: int, rng: np.random.Generator
) -> int:
    """Draw between proposal and suggestion with the operator's own choice probabilities."""
    both = p[proposed] + p[suggested]
    # Where both underflow, neither option is preferred.
    p_accept = p[suggested] / both if both > 0 else 0.5
    return suggested if rng.random() < p_accept else proposed
