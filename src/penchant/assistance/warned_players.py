"""How early one can tell who will do poorly: players of many kinds, simulated on a landscape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._frames import Backend, came_as, frame
from penchant._typing import BoolVector
from penchant.arguments import whole_number
from penchant.assistance.warning import FEATURES, By, Calibration, auc, train_warning
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import cumulative_regret, landscape_a
from penchant.bandit.locations import grid
from penchant.models.simulate import simulate
from penchant.models.spatial.ucl import UCL
from penchant.output.shown import Shown
from penchant.population.growth import growth_orders

HORIZON = 90
N_BOOTSTRAP = 1000
# players differ in noise, level, openness and in how far they take tiles to be alike
NOISE, LEVEL, OPENNESS, LENGTH = (2.0, 30.0), (0.0, 100.0), (10.0, 2000.0), (1.0, 8.0)


@dataclass(frozen=True, eq=False, repr=False)
class WarningScores(Shown):
    """How well a warning does on players whom it has not seen, by what it looks at.

    Attributes
    ----------
    at
        Choices after which it is given.
    poor
        Whether each player's regret grew as that of low performers does.
    by
        The check on players left out, by what the warning looks at.
    """

    at: int
    poor: BoolVector
    by: Mapping[By, Calibration]

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """One row per kind of warning: how it does on players whom it has not seen."""
        names = ("auc", "brier", "base_brier", "slope")
        columns: dict[str, Any] = {"by": list(self.by), "at": [self.at] * len(self.by)}
        columns |= {name: [getattr(one, name) for one in self.by.values()] for name in names}
        return frame(columns, backend or came_as(self))

    def __repr__(self) -> str:
        return f"<WarningScores of {len(self.poor)} players after {self.at} choices>"

    def more(self, what: By, other: By, rng: np.random.Generator) -> tuple[float, float, float]:
        """How much higher the AUC of one is than of another, and its 95 % bootstrap interval."""
        one, two = self.by[what].predicted, self.by[other].predicted
        found = []
        for _ in range(N_BOOTSTRAP):
            who = rng.integers(0, len(self.poor), len(self.poor))
            if 0 < self.poor[who].sum() < len(who):
                labels = self.poor[who]
                found.append(auc(one[who], labels) - auc(two[who], labels))
        low, high = np.quantile(found, [0.025, 0.975])
        return self.by[what].auc - self.by[other].auc, float(low), float(high)


def mixed_players(n_players: int, rng: np.random.Generator) -> tuple[list[Episode], BoolVector]:
    """Plays of many kinds of players on landscape A, and which of them went poorly."""
    place, places = landscape_a(), grid(10, 10)
    plays = []
    for k in range(whole_number(n_players, "n_players", 2)):
        noise, openness, length = (
            float(np.exp(rng.uniform(*np.log(limits)))) for limits in (NOISE, OPENNESS, LENGTH)
        )
        model = UCL(locations=places, noise_variance=10.0, length_scale=length)
        rule = {"decision_noise": noise, "prior_mean": float(rng.uniform(*LEVEL))}
        rule["prior_variance"] = openness
        plays.append(simulate(place, model, rule, n_decisions=HORIZON, rng=rng, subject=k))
    orders = growth_orders([cumulative_regret(play, place) for play in plays])
    return plays, np.array([order.category == "low" for order in orders])


def warning_scores(
    n_players: int, *, rng: np.random.Generator, at: tuple[int, ...] = (20, 30)
) -> list[WarningScores]:
    """Simulate players, train warnings of every kind after some choices, and check them.

    Parameters
    ----------
    n_players
        How many play.
    rng
        Source of randomness.
    at
        After how many choices players are warned.
    """
    plays, poor = mixed_players(n_players, rng)
    model = UCL(locations=grid(10, 10), noise_variance=10.0, length_scale=4.0)
    seed = int(rng.integers(2**62))
    found = []
    for after in at:
        by = {
            kind: train_warning(
                plays, poor, model, task="landscape A", at=after, by=kind, rng=seed
            ).calibration
            for kind in FEATURES
        }
        found.append(WarningScores(after, poor, by))
    return found
