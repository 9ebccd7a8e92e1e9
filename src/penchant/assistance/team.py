"""Operators and machines together, simulated: who gains by which help, and who does not.

All operators here are made up. Nothing follows for people before people have been asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from penchant._frames import Backend, came_as, frame
from penchant._typing import Matrix, Vector
from penchant.arguments import whole_number
from penchant.assistance.helper import Helper, Mode, assist
from penchant.assistance.knowledge import Field, Trust
from penchant.bandit.beliefs import GAUSSIAN
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, cumulative_regret, grid
from penchant.errors import DataError, nearest
from penchant.models.learning.q_learning import QLearning
from penchant.models.model import Agents
from penchant.models.simulate import agents_of, picked
from penchant.models.spatial.map_basis import MapBasis
from penchant.models.spatial.ucl import UCL
from penchant.output import Shown

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
class Gains(Shown):
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
        return frame(columns | {"trust": self.trust.tolist()}, backend or came_as(self))

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
        hint = nearest(str(kind), KINDS) or " Choose one."
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
