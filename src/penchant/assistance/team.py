"""Operators and machines, simulated: who gains by which help, and who can be taken over from.

A machine helps somebody, or it watched somebody who knows the place and then goes on alone: what it
can take over is the map in mind, read from the choices, the rewards that were seen, or both. There
a landscape is what stays from play to play, of which the expert has a map, and what is new in each:
rewards carry over as far as it stays. All operators and experts here are made up. Nothing follows
for people before people have been asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.assistance.helper import LEAST_TRUST, Helper, Mode, assist, field_basis
from penchant.assistance.knowledge import LEAST_LEFT, Field, Trust
from penchant.bandit.beliefs import GAUSSIAN
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, cumulative_regret, grid
from penchant.errors import DataError, closest_match_hint
from penchant.inference.fit import fit_model
from penchant.models.learning.q_learning import QLearning
from penchant.models.model import Agents
from penchant.models.simulate import agents_of, picked
from penchant.models.spatial.map_basis import MapBasis, MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.output import Backend, Result, frame_backend, make_frame

OperatorKind = Literal["expert", "novice", "wrong", "local", "kernel", "q-learner"]
KINDS: tuple[OperatorKind, ...] = ("expert", "novice", "wrong", "local", "kernel", "q-learner")
ABOUT = {
    "expert": "a map with a correlation of 0.9 with the truth",
    "novice": "no map",
    "wrong": "a map that has nothing to do with the truth, and as sure as an expert",
    "local": "an expert's map, and choices near the last one; outside the machine's model",
    "kernel": "an expert's map, another kernel, noise that does not cool; outside the model",
    "q-learner": "no map and no sense of place; outside the machine's model",
}
CONDITIONS = ("human", "machine", "suggest", "sensor", "sensor, trust")


def simulate_team(
    place: Landscape,
    operator: Any,
    helper: Helper | None,
    *,
    n_decisions: int,
    rng: np.random.Generator,
    parameters: Mapping[str, float] | None = None,
) -> Episode:
    """One episode of an operator with a machine beside them.

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
    n_decisions = whole_number(n_decisions, "n_decisions", 1)
    agents: Agents = operator
    if not hasattr(operator, "observe"):
        if parameters is None:
            raise DataError("parameters must be given with a model of the operator; got none.")
        agents = agents_of(operator, parameters, 1)
    chosen, done, rewards = [], [], []
    for _ in range(n_decisions):
        p = agents.probabilities()
        proposed = int(picked(p, rng)[0])
        executed = proposed
        if helper is not None:
            advice = helper.proposed(proposed)
            if advice.option is not None:
                executed = advice.option
                if advice.kind == "suggest":
                    executed = _decided(p[0], proposed, advice.option, rng)
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


def _decided(p: Vector, proposed: int, other: int, rng: np.random.Generator) -> int:
    """Which of two the operator takes, with their own noise."""
    both = p[proposed] + p[other]
    share = p[other] / both if both > 0 else 0.5
    return other if rng.random() < share else proposed


@dataclass(frozen=True, eq=False)
class World:
    """Landscapes drawn from the machine's field, and operators who know something of each.

    Attributes
    ----------
    field
        What landscapes are drawn from, which the machine knows: favourable.
    n_decisions
        Of an episode.
    similarity
        Correlation of an expert's map with the landscape, as which it varies.
    prior_variance
        How open operators hold what they expect of an option.
    """

    field: Field
    n_decisions: int = 30
    similarity: float = 0.9
    prior_variance: float = 150.0

    @classmethod
    def hard(cls) -> World:
        """Narrow peaks on 10 x 10 tiles, 30 choices: search is hard, and knowing helps."""
        places = grid(10, 10)
        return cls(Field(places, mean=30, sd=15, length_scale=1.7, noise_variance=10))

    @property
    def root(self) -> Matrix:
        """Of the covariance of landscapes."""
        n = self.field.n_options
        return np.asarray(np.linalg.cholesky(self.field.covariance() + 1e-8 * np.eye(n)), float)

    def landscape(self, root: Matrix, rng: np.random.Generator) -> Vector:
        """Mean rewards of all options, drawn."""
        return np.asarray(self.field.mean + root @ rng.standard_normal(len(root)))

    def machine_model(self) -> UCL:
        """How the machine takes its operator to decide."""
        places = self.field.locations
        return UCL(locations=places, noise_variance=self.field.noise_variance, length_scale=4.0)

    def operator(
        self, kind: OperatorKind, noise: float, truth: Vector, root: Matrix, rng: Any
    ) -> Agents:
        """An operator of a kind, who knows something of this landscape."""
        if kind == "q-learner":
            start = self.field.mean
            rule = {"temperature": max(noise / 3, 1.0), "learning_rate": 0.5}
            learner: Agents = agents_of(QLearning(len(truth), start), rule, 1)
            return learner
        r, mean = self.similarity, self.field.mean
        other = root @ rng.standard_normal(len(root))
        known = {"wrong": other, "novice": 0.0 * other}.get(
            kind, r * (truth - mean) + np.sqrt(1 - r**2) * other
        )
        belief = mean + known
        given: dict[str, Any] = {"noise_variance": self.field.noise_variance, "length_scale": 4.0}
        natural = {"decision_noise": noise, "prior_mean": mean}
        natural["prior_variance"] = self.prior_variance
        if kind == "kernel":
            given |= {"kernel": GAUSSIAN, "length_scale": 1.5, "cooling": "constant"}
            natural["decision_noise"] = noise / 2.5
        if kind == "local":
            given["locality"] = ("distance",)
            natural["distance"] = -0.25
        model = UCL(locations=self.field.locations, **given)
        shape = belief - belief.mean()
        if shape.std() > 1e-9:
            model = replace(model, prior_map=MapBasis.of([belief]))
            natural |= {"prior_mean": float(belief.mean()), "map_1": float(shape.std())}
        found: Agents = agents_of(model, natural, 1)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Gains(Result):
    """Regret per choice of operators of one kind under every condition.

    Attributes
    ----------
    kind
        Of operator.
    regret
        (n_operators,) by condition.
    trust
        Learnt from the episode without assistance.
    """

    kind: str
    regret: Mapping[str, Vector]
    trust: Vector

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """One row per operator: regret per choice under every condition, and trust."""
        columns: dict[str, Any] = {"kind": [self.kind] * len(self.trust)}
        columns |= {f"regret_{name}": values.tolist() for name, values in self.regret.items()}
        return make_frame(columns | {"trust": self.trust.tolist()}, backend or frame_backend(self))

    def __repr__(self) -> str:
        return f"<Gains of {len(self.trust)} operators ({self.kind})>"

    def gain(self, condition: str, over: str = "human") -> tuple[float, float]:
        """Mean of what a condition gains over another, and the half-width of its 95 % interval."""
        each = self.regret[over] - self.regret[condition]
        return float(each.mean()), float(1.96 * each.std(ddof=1) / np.sqrt(len(each)))

    def share_worse(self, condition: str, by: float = 1.0) -> float:
        """Share of operators who lose more than `by` per choice against being alone."""
        return float((self.regret[condition] - self.regret["human"] > by).mean())


def team_gains(
    kind: OperatorKind,
    *,
    n_operators: int,
    rng: np.random.Generator,
    world: World | None = None,
    conditions: tuple[str, ...] = CONDITIONS,
    advance: Callable[[int], None] | None = None,
) -> Gains:
    """Simulate operators of a kind: alone, the machine alone, and together.

    Everybody first plays an episode without assistance, from which the machine learns their noise
    and its trust; then one under every condition, in the same new landscape with the same
    knowledge of it.

    Parameters
    ----------
    kind
        Of operator, such as "expert" or "wrong".
    n_operators
        How many to simulate.
    rng
        Randomness; each operator has its own stream.
    world
        Landscapes and people; those of a hard search, if not given.
    conditions
        Who plays: "human", "machine", or a mode of assistance.
    advance
        Called with the number of each operator done.
    """
    if kind not in KINDS:
        hint = closest_match_hint(str(kind), KINDS) or " Choose one."
        raise DataError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.{hint}")
    world = World.hard() if world is None else world
    root, model = world.root, world.machine_model()
    regret: dict[str, list[float]] = {name: [] for name in conditions}
    trusts = []
    for own in rng.spawn(whole_number(n_operators, "n_operators", 2)):
        noise = float(np.exp(own.uniform(np.log(4.0), np.log(25.0))))
        first, truth = world.landscape(root, own), world.landscape(root, own)
        taught = assist(model, world.field, mode="suggest", unassisted=None)
        before = world.operator(kind, noise, first, root, own)
        _play(world, first, before, taught, own)
        trusts.append(taught.trust.mean)
        seed = int(own.integers(2**62))
        for name in conditions:
            again = np.random.default_rng(seed)
            knows = world.operator(kind, noise, truth, root, again)
            helper = _helper(name, taught, world)
            regret[name].append(_play(world, truth, knows, helper, again))
        if advance is not None:
            advance(1)
    found = {name: np.array(values) for name, values in regret.items()}
    return Gains(kind, found, np.array(trusts))


def _helper(condition: str, taught: Helper, world: World) -> Helper | None:
    """The machine of a condition, with what it was taught of the operator."""
    if condition == "human":
        return None
    mode: Mode = "suggest" if condition == "suggest" else "decide"
    trust = taught.trust
    if condition == "machine":
        trust = Trust(0.0, 0.0)
    elif condition == "sensor":
        trust = Trust()
    return taught.carried_on(mode, trust)


def _play(
    world: World, truth: Vector, agents: Agents, helper: Helper | None, rng: np.random.Generator
) -> float:
    """Regret per choice of one episode."""
    place = Landscape(truth, GaussianNoise(world.field.noise_variance))
    play = simulate_team(place, agents, helper, n_decisions=world.n_decisions, rng=rng)
    return float(cumulative_regret(play, place)[-1] / world.n_decisions)


ALONE = ("expert", "own map", "no prior")
WATCHED = ("map", "rewards", "rewards and map", "rewards and counts")
TAKEN_OVER = {
    "expert": "the expert goes on alone, with their own noise",
    "own map": "the machine is told the expert's map, which nobody can tell",
    "no prior": "the machine has watched nobody",
    "map": "it has read the map from the choices, and starts without the rewards",
    "rewards": "it has seen the rewards, and no map",
    "rewards and map": "it has both",
    "rewards and counts": "it takes how often options were visited for the map",
}


@dataclass(frozen=True, eq=False, repr=False)
class Apprenticeship(Result):
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
        return make_frame(
            columns | {"similarity": self.similarity.tolist()}, backend or frame_backend(self)
        )

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
