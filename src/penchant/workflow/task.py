"""What simulated people are given to do, and how one agent of any model does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError
from penchant.models.agents import softmax
from penchant.models.model import Agents, Declared, Model
from penchant.models.offers.offers import Offers
from penchant.models.simulate import (
    agents_of,
    checked_parameters,
    simulate_trials,
    weights_and_shape,
)
from penchant.tables.events import NOTHING, Events


def one_agent(model: Model, parameters: Mapping[str, float]) -> Agents:
    """An agent before play.

    Models that come with agents are played by those, which share no code with the variables of a
    fit. Any other is asked for its variables after every event, which takes time that grows with
    the square of the number of decisions.
    """
    if Declared(model).agents is not None:
        return agents_of(model, dict(parameters), 1)
    checked_parameters(model, parameters)
    theta, psi = weights_and_shape(model, parameters)
    return RememberingAgent(model, theta, psi)


@dataclass
class RememberingAgent:
    """An agent that keeps all that happened, and chooses by the model's variables."""

    model: Any
    theta: Vector
    psi: Vector
    chosen: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    is_choice: list[bool] = field(default_factory=list)

    def probabilities(self) -> Matrix:
        """Choice probabilities (1, n_options) after what happened."""
        # the variables of an event do not depend on what is chosen at it
        episode = Episode(
            [*self.chosen, 0], [*self.rewards, np.nan], is_choice=[*self.is_choice, True]
        )
        x = np.asarray(self.model.explanatory(episode, *self.psi))[-1]
        return softmax((x @ self.theta)[None, :])

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Remember what was chosen and received."""
        self.remember(int(chosen[0]), float(rewards[0]))

    def remember(self, option: int, reward: float, is_choice: bool = True) -> None:
        """Remember an event."""
        self.chosen.append(option)
        self.rewards.append(reward)
        self.is_choice.append(is_choice)


def show(agents: Any, option: int, reward: float, n: int, model: Any) -> None:
    """Show agents an option and what it pays: it is learnt from, and takes no time of choices."""
    if isinstance(agents, RememberingAgent):
        agents.remember(option, reward, is_choice=False)
        return
    agents.observe(np.full(n, option), np.full(n, reward))
    if Declared(model).clock == "choices":
        _turn_clock(agents, -1)


def miss(agents: Any) -> None:
    """Let agents run out of time."""
    if isinstance(agents, RememberingAgent):
        agents.remember(NOTHING, np.nan)
    else:
        _turn_clock(agents, 1)


def _turn_clock(agents: Any, steps: int) -> None:
    """Move the time of agents that have one."""
    if hasattr(agents, "time"):
        agents.time += steps


@dataclass(frozen=True, eq=False)
class DrawnOffers:
    """Offers of several people, one of whom is drawn.

    Attributes
    ----------
    people
        Offers of each, by attribute.
    """

    people: tuple[Mapping[str, Matrix], ...]

    def __call__(self, rng: np.random.Generator) -> Mapping[str, Matrix]:
        """Offers of a person who is drawn."""
        return self.people[int(rng.integers(len(self.people)))]

    @property
    def n_decisions(self) -> int:
        """How many decisions the person in the middle has."""
        return int(np.median([len(next(iter(offers.values()))) for offers in self.people]))


def offers_of(decisions: Sequence[Offers]) -> DrawnOffers:
    """The offers of every subject, those of all blocks together.

    Examples
    --------
    >>> from penchant import Offers
    >>> ann = [Offers([0], {"amount": [[2, a]]}, subject="ann", block=a) for a in (3, 5)]
    >>> offers_of(ann)(np.random.default_rng(0))["amount"].tolist()
    [[2.0, 3.0], [2.0, 5.0]]
    """
    by_subject: dict[Any, list[Offers]] = {}
    for one in decisions:
        by_subject.setdefault(one.subject, []).append(one)
    return DrawnOffers(tuple(_together(own) for own in by_subject.values()))


def _together(decisions: Sequence[Offers]) -> dict[str, Matrix]:
    names = decisions[0].offers
    return {name: np.concatenate([one.offers[name] for one in decisions]) for name in names}


@dataclass(frozen=True, eq=False)
class Task:
    """A task, and how many decisions each person makes in it.

    Parameters
    ----------
    world
        What can be had: a `Landscape`; or a schedule (n_decisions, n_options) of what every option
        pays at every decision; or offers by attribute, as `Offers` takes them; or the `Offers` of
        people, from whom one is drawn whose offers are made. Or a function of `rng` that draws one
        of these, anew for every person and block.
    n_decisions
        Decisions in each block; as many as the schedule or the offers have, if not given. Where
        there are more, schedule and offers begin again.
    n_blocks
        How often it is done; beliefs start afresh in each.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Task(pn.Landscape([0.3, 0.7], pn.GaussianNoise(0.04)), n_decisions=80)
    >>> rule = {"temperature": 0.2, "learning_rate": 0.3}
    >>> task.play(pn.QLearning(2), rule, rng=np.random.default_rng(1), subject="anna")
    (Episode: 80 decisions scored of 80 events, subject anna,)
    """

    world: Any
    n_decisions: int | None = None
    n_blocks: int = 1

    def __post_init__(self) -> None:
        whole_number(self.n_blocks, "n_blocks", 1)
        if self.n_decisions is not None:
            whole_number(self.n_decisions, "n_decisions", 1)
        if not callable(self.world):
            object.__setattr__(self, "world", _checked(self.world))
        if self.n_decisions is None and _length(self.world) is None:
            raise DataError(
                "n_decisions must be given with a landscape or a function; got none. "
                "Say how many decisions each person makes."
            )

    def with_decisions(self, n_decisions: int) -> Task:
        """The same task with another number of decisions in each block."""
        return replace(self, n_decisions=n_decisions)

    def length(self, world: Any = None) -> int:
        """Decisions in each block; of a world that was drawn, if one is given."""
        found = self.n_decisions or _length(self.world if world is None else world)
        assert found is not None
        return found

    def play(
        self,
        model: Model,
        parameters: Mapping[str, float],
        *,
        rng: np.random.Generator,
        subject: Any = None,
    ) -> tuple[Any, ...]:
        """What a person of this model does: an `Episode`, or `Offers`, for every block."""
        return tuple(
            self._block(model, parameters, rng, subject, None if self.n_blocks == 1 else b)
            for b in range(self.n_blocks)
        )

    def play_like(
        self,
        episode: Episode,
        model: Model,
        parameters: Mapping[str, float],
        *,
        rng: np.random.Generator,
    ) -> Episode:
        """What a person of this model does in the place of another.

        The same options are shown and the same decisions missed; of the others those are scored
        that were. The world pays by the number of the decision.

        Parameters
        ----------
        episode
            What the other did.
        model, parameters, rng
            As for `play`.
        """
        world = _checked(self.world(rng)) if callable(self.world) else self.world
        agent, pays = one_agent(model, parameters), _payment(world, rng)
        chosen, rewards = episode.chosen.copy(), episode.rewards.copy()
        decision = np.cumsum(episode.is_choice) - 1
        for k in range(episode.n_events):
            if not episode.is_choice[k]:
                show(agent, int(chosen[k]), float(rewards[k]), 1, model)
            elif chosen[k] == NOTHING:
                miss(agent)
            else:
                chosen[k] = _picked(agent, world, rng)
                rewards[k] = pays(int(decision[k]), int(chosen[k]))
                agent.observe(chosen[k : k + 1], rewards[k : k + 1])
        events = Events(chosen, rewards, episode.is_choice.copy(), episode.scored.copy())
        return Episode.of_events(events, episode.subject, episode.block)

    def _block(
        self, model: Model, parameters: Mapping[str, float], rng: np.random.Generator, *labels: Any
    ) -> Any:
        world = _checked(self.world(rng)) if callable(self.world) else self.world
        n = self.length(world)
        if isinstance(world, Mapping):
            offers = {name: _cycled(values, n) for name, values in world.items()}
            subject, block = labels
            return simulate_trials(offers, model, parameters, rng=rng, subject=subject, block=block)
        return _episode(world, model, parameters, n, rng, *labels)


def _episode(
    world: Landscape | Matrix,
    model: Model,
    parameters: Mapping[str, float],
    n: int,
    rng: np.random.Generator,
    subject: Any,
    block: Any,
) -> Episode:
    agent = one_agent(model, parameters)
    pays = _payment(world, rng)
    chosen, rewards = np.empty(n, dtype=np.int64), np.empty(n)
    for t in range(n):
        chosen[t] = _picked(agent, world, rng)
        rewards[t] = pays(t, int(chosen[t]))
        agent.observe(chosen[t : t + 1], rewards[t : t + 1])
    return Episode(chosen, rewards, subject=subject, block=block)


def _picked(agent: Agents, world: Landscape | Matrix, rng: np.random.Generator) -> int:
    """The option that an agent chooses."""
    n_options = world.n_options if isinstance(world, Landscape) else world.shape[1]
    p = agent.probabilities()[0]
    if len(p) != n_options:
        raise DataError(
            f"task must have the {len(p)} options of the model; got {n_options}. Match them."
        )
    cumulative = p.cumsum()
    picked = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    return min(int(picked), n_options - 1)


def _payment(world: Landscape | Matrix, rng: np.random.Generator) -> Callable[[int, int], float]:
    """What an option pays at a decision."""
    if isinstance(world, Landscape):
        return lambda t, option: world.draw(option, rng=rng)
    return lambda t, option: float(world[t % len(world), option])


def _cycled(values: Any, n: int) -> Any:
    """The first n rows, from the start again where there are fewer."""
    rows = np.asarray(values)
    return rows[np.arange(n) % len(rows)]


def _length(world: Any) -> int | None:
    """How many decisions the world itself describes."""
    if isinstance(world, DrawnOffers):
        return world.n_decisions
    if isinstance(world, Landscape) or callable(world):
        return None
    return len(next(iter(world.values()))) if isinstance(world, Mapping) else len(world)


def _checked(world: Any) -> Any:
    if isinstance(world, Landscape):
        return world
    if isinstance(world, Mapping):
        if not world:
            raise DataError("world must hold an attribute or more; got none. Give e.g. amounts.")
        return dict(world)
    people = [world] if isinstance(world, Offers) else world
    if isinstance(people, (list, tuple)) and people and isinstance(people[0], Offers):
        return offers_of(people)
    try:
        schedule = np.array(world, dtype=np.float64)
    except (TypeError, ValueError):
        schedule = np.empty(0)
    if schedule.ndim != 2 or not schedule.size or not np.isfinite(schedule).all():
        raise DataError(
            "world must be a Landscape, a schedule (n_decisions, n_options) of finite rewards, "
            "offers by attribute, Offers, or a function of rng; "
            f"got {type(world).__name__}. Pass one."
        )
    schedule.flags.writeable = False
    return schedule
