"""A machine that watched somebody who knows the place, and then goes on alone.

What it can take over is the map in mind, read from the choices, the rewards that were seen, or
both. A landscape is what stays from play to play, of which the expert has a map, and what is new in
each: rewards carry over as far as it stays. All experts here are made up: nothing follows for
people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._frames import Backend, came_as, frame
from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.assistance.helper import LEAST_TRUST, field_basis
from penchant.assistance.knowledge import LEAST_LEFT, Field, Trust
from penchant.assistance.team import World
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, cumulative_regret, grid
from penchant.inference.fit import fit_model
from penchant.models.model import Agents
from penchant.models.simulate import picked
from penchant.models.spatial.map_basis import MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.output import Shown

ALONE = ("expert", "own map", "no prior")
WATCHED = ("map", "rewards", "rewards and map", "rewards and counts")
ABOUT = {
    "expert": "the expert goes on alone, with their own noise",
    "own map": "the machine is told the expert's map, which nobody can tell",
    "no prior": "the machine has watched nobody",
    "map": "it has read the map from the choices, and starts without the rewards",
    "rewards": "it has seen the rewards, and no map",
    "rewards and map": "it has both",
    "rewards and counts": "it takes how often options were visited for the map",
}


@dataclass(frozen=True, eq=False, repr=False)
class Apprenticeship(Shown):
    """Regret per choice of machines that watched experts, for one number of watched plays.

    Attributes
    ----------
    n_watched
        Plays that were watched.
    regret
        (n_experts,) by what was taken over.
    similarity
        Correlation of the map that was read with the expert's.
    """

    n_watched: int
    regret: Mapping[str, Vector]
    similarity: Vector

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """One row per expert: regret by what was taken over, and how alike the maps were."""
        columns = {f"regret_{name}": values.tolist() for name, values in self.regret.items()}
        return frame(columns | {"similarity": self.similarity.tolist()}, backend or came_as(self))

    def __repr__(self) -> str:
        return f"<Apprenticeship: {self.n_watched} plays watched of {len(self.similarity)} experts>"

    def difference(self, what: str, other: str) -> tuple[float, float]:
        """Mean regret of one less that of another, and the half-width of its 95 % interval."""
        each = self.regret[what] - self.regret[other]
        return float(each.mean()), float(1.96 * each.std(ddof=1) / np.sqrt(len(each)))


@dataclass(frozen=True, eq=False)
class Hills:
    """Wide hills on 10 x 10 tiles: most of them stay from play to play, some are new.

    Attributes
    ----------
    stays, new
        Standard deviations of both parts, which the machine knows: favourable.
    similarity
        Correlation of an expert's map with what stays.
    """

    stays: float = 12.0
    new: float = 8.0
    length_scale: float = 2.0
    similarity: float = 0.8
    n_decisions: int = 60

    @property
    def world(self) -> World:
        """What stays, and its experts."""
        field = Field(grid(10, 10), 30, self.stays, self.length_scale, 10.0)
        return World(field, self.n_decisions, self.similarity)


def apprentice_gains(
    n_watched: int,
    *,
    n_experts: int,
    rng: np.random.Generator,
    hills: Hills | None = None,
    watched_decisions: int = 15,
    advance: Callable[[int], None] | None = None,
) -> Apprenticeship:
    """Simulate machines that watch experts, and then play a new landscape alone.

    Parameters
    ----------
    n_watched
        Plays of the expert that the machine watches.
    n_experts
        How many to simulate.
    rng
        Randomness; each expert has its own stream.
    hills
        Landscapes and experts.
    watched_decisions
        Choices of each play that is watched.
    advance
        Called with the number of each expert done.
    """
    n_watched = whole_number(n_watched, "n_watched", 1)
    hills = Hills() if hills is None else hills
    world = hills.world
    root = world.root
    model = replace(world.machine_model(), prior_map=field_basis(world.field))
    regret: dict[str, list[float]] = {name: [] for name in (*ALONE, *WATCHED)}
    similarity = []
    for own in rng.spawn(whole_number(n_experts, "n_experts", 2)):
        each, r = _one_expert(hills, root, model, n_watched, watched_decisions, own)
        for name, value in each.items():
            regret[name].append(value)
        similarity.append(r)
        if advance is not None:
            advance(1)
    found = {name: np.array(values) for name, values in regret.items()}
    return Apprenticeship(n_watched, found, np.array(similarity))


def _one_expert(
    hills: Hills, root: Matrix, model: UCL, n_watched: int, n: int, rng: np.random.Generator
) -> tuple[dict[str, float], float]:
    world = hills.world
    mean, r = world.field.mean, world.similarity
    noise = float(np.exp(rng.uniform(np.log(4.0), np.log(25.0))))
    stays = world.landscape(root, rng)
    knowledge = int(rng.integers(2**62))

    def expert() -> Agents:
        return world.operator("expert", noise, stays, root, np.random.default_rng(knowledge))

    def place() -> Landscape:
        new = hills.new / hills.stays * root @ rng.standard_normal(len(stays))
        return Landscape(stays + new, GaussianNoise(world.field.noise_variance))

    other = root @ np.random.default_rng(knowledge).standard_normal(len(stays))
    own_map = r * (stays - mean) + np.sqrt(1 - r**2) * other
    plays = [_played(place(), expert(), n, rng) for _ in range(n_watched)]
    read = _read(model, plays)
    visits = np.concatenate([play.executed for play in plays])
    counts = np.log1p(np.bincount(visits, minlength=len(stays)))
    counts = hills.stays * (counts - counts.mean()) / max(float(counts.std()), 1e-9)
    watched = Watched.of(hills, plays)
    last, seed = place(), int(rng.integers(2**62))

    def alone(belief: Vector, with_rewards: bool) -> float:
        told = watched.with_map(belief)
        told = told if with_rewards else replace(told, options=(), rewards=(), plays=())
        return _machine(last, model, told, hills.n_decisions, np.random.default_rng(seed))

    nothing = np.zeros(len(stays))
    played = _played(last, expert(), hills.n_decisions, np.random.default_rng(seed))
    found = {
        "expert": float(cumulative_regret(played, last)[-1] / hills.n_decisions),
        "own map": alone(own_map, False),
        "no prior": alone(nothing, False),
        "map": alone(read, False),
        "rewards": alone(nothing, True),
        "rewards and map": alone(read, True),
        "rewards and counts": alone(counts, True),
    }
    is_flat = read.std() < 1e-9
    return found, 0.0 if is_flat else float(np.corrcoef(read, own_map)[0, 1])


@dataclass(frozen=True, eq=False)
class Watched:
    """Rewards of several plays, of landscapes that share what stays; the last play is the present.

    Attributes
    ----------
    correlation
        Of the options, in both parts.
    expected
        Mean of what stays: the level, and a map times the trust in it.
    variance, new
        Of what stays, as far as the map leaves it open, and of what is new in each play.
    """

    correlation: Matrix
    expected: Vector
    variance: float
    new: float
    noise_variance: float
    bonus: float
    options: tuple[int, ...]
    rewards: tuple[float, ...]
    plays: tuple[int, ...]

    @classmethod
    def of(cls, hills: Hills, plays: list[Episode]) -> Watched:
        """What was seen of some plays, before any map."""
        field = hills.world.field
        which = [k for k, play in enumerate(plays) for _ in range(play.n_events)]
        return cls(
            field.covariance() / field.sd**2,
            np.full(field.n_options, float(field.mean)),
            field.sd**2,
            hills.new**2,
            field.noise_variance,
            field.bonus,
            tuple(int(i) for play in plays for i in play.executed),
            tuple(float(reward) for play in plays for reward in play.rewards),
            tuple(which),
        )

    def with_map(self, belief: Vector) -> Watched:
        """The same with a map as mean of what stays, trusted as far as the rewards follow it."""
        at = np.array(self.options)
        before, solved = Trust(), np.linalg.solve(self._between(at), belief[at])
        precision = before.sd**-2 + float(belief[at] @ solved)
        away = np.array(self.rewards) - self.expected[at]
        trust = (before.mean * before.sd**-2 + float(away @ solved)) / precision
        trust = trust if trust >= LEAST_TRUST else 0.0
        left = max(1.0 - trust**2 * float((belief**2).mean()) / self.variance, LEAST_LEFT)
        expected = self.expected + trust * belief
        return replace(self, expected=expected, variance=left * self.variance)

    def _between(self, at: IntVector) -> Matrix:
        """Covariance of the rewards that were seen."""
        which = np.array(self.plays)
        part = self.variance + self.new * (which[:, None] == which)
        found = part * self.correlation[np.ix_(at, at)] + self.noise_variance * np.eye(len(at))
        return np.asarray(found)

    def observe(self, option: int, reward: float) -> Watched:
        """One reward more, of the present play."""
        return replace(
            self,
            options=(*self.options, option),
            rewards=(*self.rewards, reward),
            plays=(*self.plays, PRESENT),
        )

    def posterior(self) -> tuple[Vector, Vector]:
        """Mean and standard deviation of every option of the present landscape."""
        total = np.full(len(self.expected), self.variance + self.new)
        if not self.options:
            return self.expected, np.sqrt(total)
        at = np.array(self.options)
        part = self.variance + self.new * (np.array(self.plays) == PRESENT)
        to = part[:, None] * self.correlation[at]
        gains = np.linalg.solve(self._between(at), to)
        mean = self.expected + (np.array(self.rewards) - self.expected[at]) @ gains
        return mean, np.sqrt(np.maximum(total - (to * gains).sum(axis=0), 0.0))


PRESENT = -1


def _played(place: Landscape, agents: Agents, n: int, rng: np.random.Generator) -> Episode:
    chosen, rewards = [], []
    for _ in range(n):
        option = int(picked(agents.probabilities(), rng)[0])
        reward = place.draw(option, rng=rng)
        agents.observe(np.array([option]), np.array([reward]))
        chosen.append(option)
        rewards.append(reward)
    return Episode(chosen, rewards)


def _read(model: UCL, plays: list[Episode]) -> Vector:
    """The map that the choices tell; none where they tell nothing."""
    estimate = fit_model(plays, model, parameter_prior=MapPrior())
    if not np.isfinite(estimate.theta).all() or estimate.weights[0] <= 0:
        return np.zeros(model.n_options)
    return np.asarray(estimate.belief_map().mean)


def _machine(
    place: Landscape, model: UCL, known: Watched, n: int, rng: np.random.Generator
) -> float:
    """Regret per choice of a machine alone, from what it knows before."""
    z = model.credible_z(np.arange(1.0, n + 1.0))
    best, lost = float(place.mean_rewards.max()), 0.0
    for t in range(n):
        mean, sd = known.posterior()
        option = int(np.argmax(mean + known.bonus * z[t] * sd))
        known = known.observe(option, place.draw(option, rng=rng))
        lost += best - float(place.mean_rewards[option])
    return lost / n
