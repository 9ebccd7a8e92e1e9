"""Play and offers: agents of a model choose and receive rewards, people choose among offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from penchant._typing import IntVector, Matrix, Vector
from penchant.arguments import whole_number
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import Landscape
from penchant.errors import DataError, nearest
from penchant.models.model import Model, natural_parameters
from penchant.models.offers.offers import Trials, decision_places, read_offers
from penchant.models.spatial.ucl import UCL, UCLAgents
from penchant.models.task_values import for_agents

TEMPERATURE = "temperature"


def simulate_trials(
    offers: Mapping[str, Any],
    model: Model,
    parameters: Mapping[str, float],
    *,
    rng: np.random.Generator,
    subject: Any = None,
    block: Any = None,
) -> Trials:
    """One person's choices among offers.

    Parameters
    ----------
    offers
        Numbers that describe the options, by attribute, as `Trials` takes them.
    model
        How the person decides, such as `HyperbolicDiscounting`.
    parameters
        Natural parameters of the model, by name. A temperature of 0 takes the best option always,
        one of the best where there are several.
    rng
        Source of randomness.
    subject, block
        Labels of the person and of the part of the task.

    Notes
    -----
    Built-in models are simulated from the formula in natural parameters, not from the variables
    that a fit uses, so that one can check the other.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> offers = {"amount": [[20, 50], [30, 35]], "delay": [[0, 30], [0, 90]]}
    >>> rule = {"temperature": 0.0, "discount_rate": 0.02}
    >>> rng = np.random.default_rng(0)
    >>> pn.simulate_trials(offers, pn.HyperbolicDiscounting(), rule, rng=rng).chosen
    array([1, 0])
    """
    first = len(np.asarray(next(iter(offers.values())))) if offers else 0
    described = read_offers(offers, first, decision_places(subject, block))
    checked_parameters(model, parameters)
    p = _probabilities(model, described, dict(parameters))
    drawn = (p.cumsum(axis=1) < rng.random((len(p), 1)) * p.sum(axis=1)[:, None]).sum(axis=1)
    chosen = np.minimum(drawn, p.shape[1] - 1)
    return Trials(chosen, described, subject=subject, block=block)


def checked_parameters(model: Model, parameters: Mapping[str, float]) -> None:
    """Raise an error unless all natural parameters are given, and no others."""
    wanted = [natural.name for natural in natural_parameters(model)]
    missing = [name for name in wanted if name not in parameters]
    if missing:
        raise DataError(
            f"parameters must hold {', '.join(wanted)}; got none for {', '.join(missing)}. "
            "Give all natural parameters of the model."
        )
    for name, value in parameters.items():
        if name not in wanted:
            raise DataError(
                f"parameters must be among {', '.join(wanted)}; got {name!r}."
                f"{nearest(name, wanted) or ' Correct it.'}"
            )
        if not np.isfinite(value) or (name == TEMPERATURE and value < 0):
            rule = "not be negative" if name == TEMPERATURE and value < 0 else "be finite"
            raise DataError(f"{name} must {rule}; got {value}. Correct it.")


def weights_and_shape(model: Model, parameters: Mapping[str, float]) -> tuple[Vector, Vector]:
    """Theta and psi of natural parameters."""
    theta, psi = np.full(len(model.weights), np.nan), np.full(len(model.shape), np.nan)
    with np.errstate(divide="ignore"):
        for natural in sorted(natural_parameters(model), key=lambda one: one.is_ratio):
            natural.put(parameters[natural.name], theta, psi)
    return theta, psi


def _probabilities(model: Any, offers: dict[str, Matrix], parameters: dict[str, float]) -> Matrix:
    """Choice probabilities of every decision."""
    if hasattr(model, "values") and TEMPERATURE in parameters:
        value, temperature = model.values(offers, parameters), parameters[TEMPERATURE]
    else:
        nobody = Trials(np.zeros(len(next(iter(offers.values())))), offers)
        theta, psi = weights_and_shape(model, parameters)
        value, temperature = np.asarray(model.explanatory(nobody, *psi)) @ theta, 1.0
    lead = value - value.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        e = np.exp(lead / temperature) if temperature > 0 else (lead == 0).astype(np.float64)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


class Agents(Protocol):
    """Agents in play."""

    def probabilities(self) -> Matrix:
        """Choice probabilities (n_agents, n_options)."""

    def observe(self, chosen: IntVector, rewards: Vector) -> None:
        """Learn from what each agent chose and received."""


def simulate(
    landscape: Landscape,
    model: Model,
    parameters: Mapping[str, float],
    *,
    n_decisions: int,
    rng: np.random.Generator,
    subject: Any = None,
    block: Any = None,
) -> Episode:
    """One agent's play.

    Parameters
    ----------
    landscape
        Mean rewards of the options, and their noise.
    model
        How the agent decides.
    parameters
        Natural parameters of the model, by name.
    n_decisions
        Decisions to make.
    rng
        Source of randomness.
    subject, block
        Labels of the person and of the play.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    >>> prior = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": 100.0}
    >>> rng = np.random.default_rng(1)
    >>> pn.simulate(pn.landscape_a(), model, prior, n_decisions=90, rng=rng)
    Episode: 90 decisions scored of 90 events
    """
    (episode,) = simulate_many(
        landscape, model, parameters, n_decisions=n_decisions, n_agents=1, rng=rng
    )
    return Episode(episode.chosen, episode.rewards, subject=subject, block=block)


def simulate_many(
    landscape: Landscape,
    model: Model,
    parameters: Mapping[str, float],
    *,
    n_decisions: int,
    n_agents: int,
    rng: np.random.Generator,
) -> list[Episode]:
    """Plays of many agents with the same parameters, each by itself; subjects are 0, 1, 2 ...

    Parameters
    ----------
    landscape, model, parameters, n_decisions, rng
        As in `simulate`.
    n_agents
        How many play.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
    >>> rule = {"temperature": 0.3, "learning_rate": 0.2}
    >>> rng = np.random.default_rng(1)
    >>> plays = pn.simulate_many(
    ...     task, pn.QLearning(2), rule, n_decisions=50, n_agents=3, rng=rng
    ... )
    >>> plays[2]
    Episode: 50 decisions scored of 50 events, subject 2
    """
    n_decisions = whole_number(n_decisions, "n_decisions", 0)
    agents = agents_of(model, dict(parameters), whole_number(n_agents, "n_agents", 1))
    chosen = np.empty((n_decisions, n_agents), dtype=np.int64)
    rewards = np.empty((n_decisions, n_agents))
    for t in range(n_decisions):
        p = agents.probabilities()
        if p.shape[1] != landscape.n_options:
            raise DataError(
                f"landscape must have the {p.shape[1]} options of the model; "
                f"got {landscape.n_options}. Match them."
            )
        chosen[t] = (p.cumsum(axis=1) < rng.random((n_agents, 1)) * p.sum(axis=1)[:, None]).sum(1)
        chosen[t] = np.minimum(chosen[t], p.shape[1] - 1)
        rewards[t] = [landscape.draw(int(i), rng=rng) for i in chosen[t]]
        agents.observe(chosen[t], rewards[t])
    return [Episode(chosen[:, a], rewards[:, a], subject=a) for a in range(n_agents)]


def agents_of(model: Any, parameters: dict[str, float], n_agents: int) -> Agents:
    """Agents of a model, before play."""
    model = for_agents(model, parameters)
    wanted = [n.name for n in getattr(model, "natural", ())]
    missing = [name for name in wanted if name not in parameters and name != "implied_noise_sd"]
    if missing:
        raise DataError(
            f"parameters must hold {', '.join(wanted)}; got none for {', '.join(missing)}. "
            "Give all natural parameters of the model."
        )
    known = list(getattr(model, "parameter_names", wanted))
    unknown = [name for name in parameters if known and name not in known]
    if unknown:
        raise DataError(
            f"parameters must be among {', '.join(known)}; got {unknown[0]!r}."
            f"{nearest(unknown[0], known) or ' Correct it.'}"
        )
    if isinstance(model, UCL):
        return UCLAgents.of(model, parameters, n_agents)
    make = getattr(model, "agents", None)
    if make is None:
        raise DataError(
            "model must have a method agents(parameters, n_agents); got "
            f"{type(model).__name__}. Add one to simulate it."
        )
    made: Agents = make(parameters, n_agents)
    return made
