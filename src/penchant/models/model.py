"""Protocol of models: explanatory variables as a function of a few shape parameters psi.

A model declares its linear weights theta and its shape parameters psi, and gives the explanatory
variables of every decision for a given psi. That is all a user writes to add one:

    class Learner:
        weights = ("inverse_temperature",)
        shape = (pn.models.Shape("learning_rate", 0.0, 1.0),)

        def explanatory(self, episode, learning_rate):
            values, x = np.zeros(4), np.empty((episode.n_events, 4, 1))
            for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards)):
                x[t, :, 0] = values
                values[option] += learning_rate * (reward - values[option])
            return x

Row t may use what happened before event t only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.argument_checks import check_number
from penchant.bandit.episode import Episode
from penchant.models.parameters import Parameter, ParameterTable, Row, Shape, bound_table

if TYPE_CHECKING:
    from penchant.bandit.beliefs import RewardPrior


Described = Mapping[str, Matrix]  # numbers that describe every option, by name
T = TypeVar("T")


@runtime_checkable
class Model(Protocol):
    """A softmax model that is linear in weights once the shape parameters are fixed."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the linear weights."""

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Shape parameters."""

    def explanatory(self, episode: Episode, *psi: float) -> Matrix:
        """Variables (n_events, n_options, n_weights), row t from what happened before event t."""


class Agents(Protocol):
    """Agents in play; where `before` or `after` is declared, they are told it by name, too."""

    def probabilities(self) -> Matrix:
        """Choice probabilities (n_agents, n_options)."""

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from what each agent chose and received."""


class Member(Generic[T]):
    """A member that a model may have, and what is taken where it has none."""

    def __init__(self, otherwise: T) -> None:
        self.otherwise = otherwise

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, declared: Declared, owner: type) -> T:
        found: T = getattr(declared.model, self.name, self.otherwise)
        return found


class Declared:
    """Members that a model may declare, with defaults for those that it leaves out.

    Every part of the library asks a model through this class, so that these are all the members
    that have a meaning. `weights`, `shape` and `explanatory` are those that every model has.

    Attributes
    ----------
    parameters
        Its parameter table; None for the weights and shape parameters themselves.
    positive
        Weights that must not be negative.
    smooth
        Whether the variables are smooth in psi.
    steps
        Of an episode: for shape parameters by name, values at which the variables may change all
        at once, as where a threshold passes what is offered. The search begins beside them, too.
    n_options, attributes
        Number of options; for a model of `Offers`, what it must know of every option.
    before, after
        Names of what it must know of every decision beside the option and the reward: seen at the
        decision, such as a cue; learnt after it, such as a gain and a loss.
    outside
        Whether there are psi in the range at which the model does not exist: its variables are NaN
        there, and the search passes over them.
    locations, noise_variance
        Where the options lie, and the variance of their rewards that the player takes for known.
    clock
        Whether an option that is shown takes the time of a choice: "events" if so, or "choices".
    explanatory_and_slopes
        Of an episode and psi: the variables, and their derivatives in psi along a first axis.
    explanatory_many
        Of a `Record`, the places of episodes in it and a psi for each: all variables in one call,
        and their derivatives if asked for; see `CompiledModel`.
    objective
        Of an episode, theta and psi: the objective written out, for `check_model` to compare.
    agents
        Of natural parameters and a number: as many `Agents` before play.
    usual_parameters
        Usual values of parameters that agents need not be given, used by the model or not.
    latent
        Of an episode, theta and psi: what the player believes before each event, by name; see
        `beliefs`.
    doubts
        Of episodes: sentences on settings that the data speak against.
    unidentified
        For a weight that data may not tell: what to do, in a sentence.
    consistent_rates
        Of episodes: from which to which rate all choices are explained, or None.
    nominal_point
        Of a `RewardPrior`: psi, and the ratios of the weights to the first, to linearise about.
        Such a model has a `length_scale`, None where it is estimated.
    largest_deviation
        Of an episode and psi: how far the first of psi may deviate in the linearised model.
    prior_map
        The `MapBasis` of the map that the player has in mind.
    """

    weights: Member[tuple[str, ...] | None] = Member(None)
    shape: Member[tuple[Shape, ...] | None] = Member(None)
    explanatory: Member[Callable[..., Matrix] | None] = Member(None)
    parameters: Member[Any] = Member(None)
    positive: Member[Sequence[str]] = Member(())
    smooth: Member[bool] = Member(True)
    steps: Member[Callable[[Any], Mapping[str, Vector]] | None] = Member(None)
    n_options: Member[int | None] = Member(None)
    attributes: Member[tuple[str, ...]] = Member(())
    before: Member[tuple[str, ...]] = Member(())
    after: Member[tuple[str, ...]] = Member(())
    outside: Member[bool] = Member(False)
    locations: Member[Matrix | None] = Member(None)
    noise_variance: Member[Any] = Member(None)
    clock: Member[Literal["events", "choices"]] = Member("events")
    explanatory_and_slopes: Member[Callable[..., tuple[Matrix, Matrix]] | None] = Member(None)
    explanatory_many: Member[Callable[..., tuple[Matrix, Matrix | None]] | None] = Member(None)
    objective: Member[Callable[[Any, Vector, Vector], Any] | None] = Member(None)
    agents: Member[Callable[[dict[str, float], int], Any] | None] = Member(None)
    usual_parameters: Member[Mapping[str, float]] = Member({})
    latent: Member[Callable[[Any, Vector, Vector], Described] | None] = Member(None)
    doubts: Member[Callable[[Sequence[Any]], tuple[str, ...]] | None] = Member(None)
    unidentified: Member[Mapping[str, str]] = Member({})
    consistent_rates: Member[Callable[[Any], tuple[float, float] | None] | None] = Member(None)
    nominal_point: Member[Callable[[RewardPrior], tuple[Vector, Vector]] | None] = Member(None)
    largest_deviation: Member[Callable[[Episode, Vector], float] | None] = Member(None)
    prior_map: Member[Any] = Member(None)

    def __init__(self, model: Any) -> None:
        self.model = model


def natural_parameters(model: Model) -> tuple[Parameter, ...]:
    """Natural parameters of a model: its own table, or else weights and shape parameters."""
    if isinstance(model, ParameterTable) and Declared(model).parameters is not None:
        return model.bound_rows
    if Declared(model).parameters is None:
        rows: tuple[Row, ...] = (*map(Parameter.weight, model.weights), *model.shape)
        return bound_table(rows, model.weights, model.shape)
    return bound_table(Declared(model).parameters, model.weights, model.shape)


def weights_and_shape(model: Model, parameters: Mapping[str, float]) -> tuple[Vector, Vector]:
    """Weights theta and shape parameters psi at which natural parameters have these values."""
    parameters = {**Declared(model).usual_parameters, **parameters}
    theta, psi = np.full(len(model.weights), np.nan), np.full(len(model.shape), np.nan)
    every = natural_parameters(model)
    sums = [natural for natural in every if natural.is_derived and not natural.is_shape]
    with np.errstate(divide="ignore"):
        for natural in sorted(every, key=lambda one: one.is_ratio):
            if natural not in sums:
                natural.set_value(parameters[natural.name], theta, psi)
    if sums:
        theta[:] = _solved(every, parameters, len(theta))
    return theta, psi


def _solved(naturals: Sequence[Parameter], parameters: Mapping[str, float], d: int) -> Vector:
    """Weights at which all natural parameters have their values: each says a plane."""
    planes = [n.plane(np.array([parameters[n.name]]), d) for n in naturals if not n.is_shape]
    rows = np.concatenate([row for _, _, row, _ in planes])
    right = np.concatenate([right for _, _, _, right in planes])
    return np.asarray(np.linalg.lstsq(rows, right, rcond=None)[0])


def positive_weights(model: Model) -> tuple[int, ...]:
    """Weights that must be positive."""
    return tuple(model.weights.index(name) for name in Declared(model).positive)


def model_words(model: Any) -> str:
    """The model in words: its own, or the name of its class."""
    own: Any = type(model)
    silent = own.__str__ is object.__str__ and own.__repr__ is object.__repr__
    return str(own.__name__) if silent else str(model)


def softmax(q: Matrix) -> Matrix:
    """Choice probabilities of each agent from its objective: (n_agents, n_options)."""
    e = np.exp(q - q.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def positive(parameters: Mapping[str, float], name: str) -> float:
    """A parameter above 0."""
    return check_number(float(parameters[name]), name, above=0)


def finite(parameters: Mapping[str, float], name: str) -> float:
    """A parameter that is any number."""
    return check_number(float(parameters[name]), name)


class RememberingAgents:
    """Agents that keep all that happened, and choose by the model's variables."""

    def __init__(self, model: Model, theta: Vector, psi: Vector, n_agents: int) -> None:
        self.model, self.theta, self.psi, self.n_agents = model, theta, psi, n_agents
        self.before: list[Mapping[str, Vector]] = []
        self.after: list[Mapping[str, Vector]] = []
        self.chosen: list[IntVector] = []
        self.rewards: list[Vector] = []
        self.is_choice: list[bool] = []

    def probabilities(self, before: Mapping[str, Vector] | None = None) -> Matrix:
        """Choice probabilities (n_agents, n_options) after what happened, and what is seen."""
        self.before = [*self.before[: len(self.chosen)], before or {}]
        return softmax(self.objective())

    def objective(self) -> Matrix:
        """Objective of every option: (n_agents, n_options)."""
        return np.stack([self._objective_of(agent) for agent in range(self.n_agents)])

    def _objective_of(self, agent: int) -> Vector:
        # the variables of an event do not depend on what is chosen at it
        episode = Episode(
            [*(options[agent] for options in self.chosen), 0],
            [*(rewards[agent] for rewards in self.rewards), np.nan],
            is_choice=[*self.is_choice, True],
            before=_by_name(self.before, agent),
            after=_by_name([*self.after, {}], agent),
        )
        x = np.asarray(self.model.explanatory(episode, *self.psi))[-1]
        return np.asarray(x @ self.theta)

    def observe(
        self,
        chosen: IntVector,
        rewards: Vector,
        after: Mapping[str, Vector] | None = None,
        is_choice: bool = True,
    ) -> None:
        """Remember what was chosen, or shown, received and learnt."""
        self.before += [{}] * (len(self.chosen) + 1 - len(self.before))
        self.after.append(after or {})
        self.chosen.append(np.array(chosen))
        self.rewards.append(np.array(rewards))
        self.is_choice.append(is_choice)


def _by_name(events: Sequence[Mapping[str, Vector]], agent: int) -> dict[str, list[float]]:
    """Convert event dictionaries to columns of one agent: {name: value at each event}."""
    names = dict.fromkeys(name for one in events for name in one)
    return {
        name: [float(one[name][agent]) if name in one else np.nan for one in events]
        for name in names
    }
