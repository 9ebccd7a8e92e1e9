"""How the regret of the agents of a figure grows, on the landscapes as they are reconstructed.

The paper states neither the landscape of its simulations nor the size of its rewards. Whether an
agent with a given prior does well depends on both: a prior mean of 200 is far above rewards of up
to 60, and not above rewards of up to 240.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penchant.bandit.landscape import GaussianNoise, Landscape, landscape_a, landscape_b
from penchant.bandit.regret import cumulative_regret
from penchant.models.simulate import simulate_many
from penchant.population.growth import growth_orders
from penchant.study.paper.monte_carlo import Found, share_of
from penchant.study.paper.plays import model_of, natural_truth
from penchant.study.paper.published import (
    GRID,
    HORIZON,
    SIMULATION_NOISE_VARIANCE,
    UCLSetting,
)

SCALES = (1.0, 2.0, 4.0)  # factors of the rewards
LANDSCAPES: dict[str, Callable[..., Landscape]] = {"A": landscape_a, "B": landscape_b}


@dataclass(frozen=True)
class Growth:
    """How regret grows on one landscape.

    Attributes
    ----------
    landscape, best
        Its name, and its highest mean reward.
    logarithmic, linear
        Share of the agents whose regret grows so, by the least residual, with its error; regret
        that has stopped growing counts as neither.
    """

    landscape: str
    best: float
    logarithmic: Found
    linear: Found


def regret_growth(
    setting: UCLSetting, *, rng: np.random.Generator, n_replicates: int
) -> tuple[Growth, ...]:
    """Let agents with the true prior of a figure play on both landscapes at several scales."""
    noise = GaussianNoise(SIMULATION_NOISE_VARIANCE)
    found = []
    for name, make in LANDSCAPES.items():
        for scale in SCALES:
            place = Landscape(scale * make(*GRID).mean_rewards, noise)
            plays = simulate_many(
                place,
                model_of(setting),
                natural_truth(setting),
                n_decisions=HORIZON,
                n_agents=n_replicates,
                rng=rng,
            )
            orders = growth_orders([cumulative_regret(play, place) for play in plays])
            told = [order.order for order in orders]
            found.append(
                Growth(
                    name,
                    float(place.mean_rewards.max()),
                    share_of([order == "logarithmic" for order in told]),
                    share_of([order == "linear" for order in told]),
                )
            )
    return tuple(found)


def growth_words(grown: Sequence[Growth], order: str) -> str:
    """Share of the agents whose regret grows so, place by place."""
    return "; ".join(
        f"{getattr(g, order)[0]:.0%} ± {getattr(g, order)[1]:.0%} on {g.landscape} with rewards of "
        f"up to {g.best:g}"
        for g in grown
    )
