"""Agents of any model at work: they play and are paid, or choose among what is offered.

This is the one place where options are drawn and agents learn. Models that come with agents are
played by those, which share no code with the variables of a fit, so that one can check the other.
Any other is asked for its variables after every event, which takes time that grows with the square
of the number of decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penchant._typing import IntMatrix, IntVector, Matrix, Vector
from penchant.argument_checks import check_rng, check_whole_number
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import Landscape
from penchant.choices import Choices
from penchant.choices.offers import Offers, decision_locator, read_offers
from penchant.errors import DataError, closest_match_hint
from penchant.models.arguments import refuse_no_model
from penchant.models.model import (
    Agents,
    Declared,
    Model,
    RememberingAgents,
    natural_parameters,
    softmax,
    weights_and_shape,
)
from penchant.models.offers.attributes import option_values
from penchant.models.recursion import RecursionAgents
from penchant.models.task import Task
from penchant.models.worlds import World
from penchant.softmax.probabilities import choices_with_redrawn_options
from penchant.tables.events import NOTHING

TEMPERATURE = "temperature"
ALL = "Give all natural parameters of the model."
Rule = Mapping[str, float]
Pays = Callable[[int, IntVector], Vector]  # rewards of the options that are executed at an event
Execute = Callable[[int, int], int]  # of a decision's number and what is proposed: what is done


def simulate(
    task: Any,
    model: Any,
    parameters: Any = None,
    *,
    n_decisions: int | None = None,
    n_subjects: int | None = None,
    rng: np.random.Generator,
    subject: Any = None,
    block: Any = None,
    execute: Execute | None = None,
) -> Any:
    """Simulate people who decide by a model: `Episode`s of play, or choices among `Offers`.

    Parameters
    ----------
    task
        What they are given to do: a `Landscape`, offers by attribute, a schedule of rewards, a
        world such as `TwoStepWorld`, or a `Task` made of one of these. With `Choices`, their sets.
    model
        How they decide. With `Choices`, the weights theta, one per variable.
    parameters
        Natural parameters of the model, by name; or a list of these, one for each person. Among
        offers, a temperature of 0 takes the best option always, one of the best where there are
        several.
    n_decisions
        Decisions to make. As many as the offers or the schedule have, if not given; a `Task` says
        it itself.
    n_subjects
        How many people; they are subjects 0, 1, 2 ...
    rng
        Source of randomness.
    subject, block
        Labels of one person, and of the part of the task.
    execute
        What is done in play in place of what is proposed: a function of the number of the decision,
        from 0, and of the option proposed, which gives the option that is executed, -1 for none.
        It is paid and learnt from.

    Returns
    -------
    What one person does. A list for several people, or for a `Task` of several blocks: person after
    person, block after block. `Choices` with the options drawn by Eq. (3).

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> model = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)
    >>> prior = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": 100.0}
    >>> rng = np.random.default_rng(1)
    >>> pn.simulate(pn.paper.landscape_a(), model, prior, n_decisions=90, rng=rng)
    Episode: 90 decisions scored of 90 events

    Several people:

    >>> place = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
    >>> rule = {"temperature": 0.3, "learning_rate": 0.2}
    >>> plays = pn.simulate(place, pn.QLearning(2), rule, n_decisions=50, n_subjects=3, rng=rng)
    >>> plays[2]
    Episode: 50 decisions scored of 50 events, subject 2

    Somebody who is never given option 0:

    >>> play = pn.simulate(
    ...     place, pn.QLearning(2), rule, n_decisions=50, rng=rng, execute=lambda t, option: 1
    ... )
    >>> set(play.executed.tolist()), len(set(play.chosen.tolist()))
    ({1}, 2)

    Offers, and sets of choices:

    >>> offers = {"amount": [[20, 50], [30, 35]], "delay": [[0, 30], [0, 90]]}
    >>> rule = {"temperature": 0.0, "discount_rate": 0.02}
    >>> pn.simulate(offers, pn.HyperbolicDiscounting(), rule, rng=rng).chosen
    array([1, 0])
    >>> sets = pn.Choices.from_arrays(np.ones((5, 3, 1)) * [[0.0], [1.0], [9.0]], None)
    >>> pn.simulate(sets, [4.0], rng=rng).chosen
    array([2, 2, 2, 2, 2])
    """
    check_rng(rng)
    if isinstance(task, Choices):
        return choices_with_redrawn_options(task, model, rng)
    refuse_no_model(model)
    if isinstance(task, Offers):
        subject = task.subject if subject is None else subject
        block = task.block if block is None else block
    given = _given_task(task, n_decisions)
    if execute is not None and isinstance(given.world, Mapping):
        raise DataError(
            "execute",
            "must be left out where nobody learns",
            got="one with offers",
            fix="Use it in play.",
        )
    several = None if isinstance(parameters, Mapping) else _rules(parameters)
    if n_subjects is not None:
        check_whole_number(n_subjects, "n_subjects", 1)
    if several is None and n_subjects is None:
        done = simulate_blocks(given, model, parameters, rng, subject, block, execute)
        return done[0] if given.n_blocks == 1 else list(done)
    if several is None and isinstance(given.world, (Landscape, np.ndarray)):
        rows = [
            _play(
                given.world,
                given.length(),
                model,
                parameters,
                rng,
                range(n_subjects or 0),
                label,
                execute,
            )
            for label in _labels(given, block)
        ]
        return [episode for own in zip(*rows, strict=True) for episode in own]
    rules = [parameters] * (n_subjects or 0) if several is None else several
    if n_subjects is not None and n_subjects != len(rules):
        raise DataError(
            "n_subjects",
            "must be as many as there are parameters",
            got=f"{n_subjects} and {len(rules)}",
            fix="Leave it out.",
        )
    each = zip(range(len(rules)), rules, rng.spawn(len(rules)), strict=True)
    return [
        one
        for i, rule, own in each
        for one in simulate_blocks(given, model, rule, own, i, block, execute)
    ]


def _rules(parameters: Any) -> list[Rule]:
    if isinstance(parameters, Sequence) and all(isinstance(one, Mapping) for one in parameters):
        return list(parameters)
    raise DataError(
        "parameters",
        "must map names to numbers, or be a list of such mappings",
        got=type(parameters).__name__,
        fix="Give the natural parameters of the model.",
    )


def _given_task(task: Any, n_decisions: int | None) -> Task:
    if not isinstance(task, Task):
        return Task(dict(task.offers) if isinstance(task, Offers) else task, n_decisions)
    if n_decisions is not None:
        raise DataError(
            "n_decisions",
            "must be left out for a Task, which says it",
            got=n_decisions,
            fix="Use task.with_decisions.",
        )
    return task


def _labels(task: Task, block: Any) -> Iterable[Any]:
    """Labels of the blocks: the one given, or numbers from 0 if there are several."""
    return (block,) if task.n_blocks == 1 else range(task.n_blocks)


def simulate_blocks(
    task: Task,
    model: Model,
    parameters: Rule,
    rng: np.random.Generator,
    subject: Any = None,
    block: Any = None,
    execute: Execute | None = None,
) -> tuple[Any, ...]:
    """Simulate one person: an `Episode`, or `Offers`, for every block."""
    found: list[Any] = []
    for label in _labels(task, block):
        world = task.drawn_world(rng)
        n = task.length(world)
        if isinstance(world, Mapping):
            found.append(_choose_among_offers(world, n, model, parameters, rng, subject, label))
        elif isinstance(world, World):
            found.append(_play_in_world(world, n, model, parameters, rng, subject, label))
        else:
            found += _play(world, n, model, parameters, rng, (subject,), label, execute)
    return tuple(found)


def _play_in_world(
    world: World,
    n: int,
    model: Model,
    parameters: Rule,
    rng: np.random.Generator,
    *labels: Any,
) -> Episode:
    """Simulate one person in a `World`, which has cues and outcomes beside rewards."""
    events, agents = world.events(rng), agents_of(model, parameters, 1)
    chosen: list[int] = []
    rewards: list[float] = []
    masks: list[Any] = []
    before: list[Mapping[str, float]] = []
    after: list[Mapping[str, float]] = []
    for seen, mask in events:
        if len(chosen) == n:
            break
        p = np.asarray(agents.probabilities(_single_agent_values(seen)))
        if p.shape[1] != world.n_options:
            raise DataError(
                "task",
                f"must have the {p.shape[1]} options of the model",
                got=world.n_options,
                fix="Match them.",
            )
        option = draw_options(p if mask is None else np.where(mask, p, 0.0), rng)
        reward, learnt = events.send(int(option[0]))
        agents.observe(option, np.array([reward]), _single_agent_values(learnt))
        chosen.append(int(option[0]))
        rewards.append(reward)
        before.append(seen)
        after.append(learnt)
        masks += [] if mask is None else [mask]
    subject, block = labels
    return Episode(
        chosen,
        rewards,
        subject=subject,
        block=block,
        before=_values_by_name(before),
        after=_values_by_name(after),
        available=np.array(masks) if masks else None,
    )


def _single_agent_values(values: Mapping[str, float]) -> dict[str, Vector]:
    """Convert {name: value} to arrays of one agent."""
    return {name: np.array([value]) for name, value in values.items()}


def _values_by_name(values: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Convert event dictionaries to columns: {name: value at each event, NaN if absent}."""
    names = dict.fromkeys(name for one in values for name in one)
    return {name: [one.get(name, np.nan) for one in values] for name in names}


def _choose_among_offers(
    offers: Mapping[str, Any],
    n: int,
    model: Model,
    parameters: Rule,
    rng: np.random.Generator,
    *labels: Any,
) -> Offers:
    """Simulate one person's choices among n offers, which repeat if there are fewer."""
    subject, block = labels
    first = len(np.asarray(next(iter(offers.values()))))
    described = read_offers(offers, first, decision_locator(subject, block))
    described = {name: values[np.arange(n) % first] for name, values in described.items()}
    check_parameters(model, parameters)
    _check_finite(parameters)
    chosen = draw_options(_probabilities(model, described, parameters), rng)
    return Offers(chosen, described, subject=subject, block=block)


def _probabilities(model: Any, offers: Mapping[str, Matrix], parameters: Rule) -> Matrix:
    """Choice probabilities of every decision among offers."""
    value, temperature = option_values(model, offers, parameters), parameters.get(TEMPERATURE, 1.0)
    lead = value - value.max(axis=1, keepdims=True)
    if temperature > 0:
        with np.errstate(over="ignore"):  # a small temperature: all but the best have none
            return softmax(lead / temperature)
    best = lead == 0
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _play(
    world: Landscape | Matrix,
    n: int,
    model: Model,
    parameters: Rule,
    rng: np.random.Generator,
    subjects: Sequence[Any],
    block: Any,
    execute: Execute | None = None,
) -> list[Episode]:
    """Play of people with the same parameters, each by itself."""
    play = simulate_events(
        model,
        parameters,
        _payment(world, rng),
        rng,
        n,
        len(subjects),
        n_options=_options(world),
        execute=execute,
    )
    return [
        Episode(
            play.chosen[:, a],
            play.rewards[:, a],
            executed=None if execute is None else play.executed[:, a],
            subject=subject,
            block=block,
        )
        for a, subject in enumerate(subjects)
    ]


def play_like(
    episode: Episode, task: Task, model: Model, parameters: Rule, rng: np.random.Generator
) -> Episode:
    """Simulate a person who decides by a model in the conditions of an observed episode.

    The same options are shown and the same decisions missed; where another option was executed than
    was chosen, that one is again. Of the decisions those are scored that were. The world pays by
    the number of the decision.
    """
    world = task.drawn_world(rng)
    if isinstance(world, World):
        labels = episode.subject, episode.block
        return _play_in_world(world, episode.n_events, model, parameters, rng, *labels)
    pays, decision = _payment(world, rng), np.cumsum(episode.is_choice) - 1
    play = simulate_events(
        model,
        parameters,
        lambda k, options: pays(int(decision[k]), options),
        rng,
        episode.n_events,
        like=episode,
        n_options=_options(world),
    )
    events = episode.events._replace(
        chosen=play.chosen[:, 0].copy(),
        rewards=play.rewards[:, 0].copy(),
        executed=play.executed[:, 0].copy(),
    )
    return Episode.of_events(events, episode.subject, episode.block)


class SimulatedEvents(NamedTuple):
    """Choices, rewards and executed options of simulated agents: (n_events, n_agents) each."""

    chosen: IntMatrix
    rewards: Matrix
    executed: IntMatrix


def simulate_events(
    model: Model,
    parameters: Rule,
    pays: Pays,
    rng: np.random.Generator,
    n_events: int,
    n_agents: int = 1,
    *,
    like: Episode | None = None,
    n_options: int | None = None,
    execute: Execute | None = None,
) -> SimulatedEvents:
    """Options and rewards of agents in play, and what was executed.

    Parameters
    ----------
    model, parameters
        How they decide.
    pays
        What the options that they choose pay at an event.
    rng
        Source of randomness.
    n_events, n_agents
        How long they play, and how many of them, each by itself.
    like
        An episode whose options they are shown, whose decisions without a choice they miss, and
        in which they are not given what was not executed.
    n_options
        Options of the task, to be those of the model; not checked if not given.
    execute
        What is done in place of what they choose; see `simulate`.
    """
    declared = Declared(model)
    if declared.before or declared.after:
        raise DataError(
            "task",
            (
                f"must be a world that tells {', '.join((*declared.before, *declared.after))} to "
                f"{type(model).__name__}"
            ),
            got="rewards alone",
            fix="Pass one, such as TwoStepWorld().",
        )
    agents = agents_of(model, parameters, n_agents)
    nothing = np.full(n_agents, NOTHING), np.full(n_agents, np.nan)
    chosen = np.full((n_events, n_agents), NOTHING)
    executed = np.full((n_events, n_agents), NOTHING)
    rewards = np.full((n_events, n_agents), np.nan)
    for k in range(n_events):
        if like is not None and not like.is_choice[k]:
            chosen[k], executed[k], rewards[k] = like.chosen[k], like.chosen[k], like.rewards[k]
            agents.observe(chosen[k], rewards[k], is_choice=False)
        elif like is not None and like.chosen[k] == like.executed[k] == NOTHING:
            agents.observe(*nothing)
        else:
            p = agents.probabilities()
            if n_options not in (None, p.shape[1]):
                raise DataError(
                    "task",
                    f"must have the {p.shape[1]} options of the model",
                    got=n_options,
                    fix="Match them.",
                )
            missed = like is not None and like.chosen[k] == NOTHING
            chosen[k] = executed[k] = NOTHING if missed else draw_options(p, rng)
            if like is not None and like.executed[k] != like.chosen[k]:
                executed[k] = like.executed[k]
            elif execute is not None:
                executed[k] = [_executed_option(execute, k, int(i), p.shape[1]) for i in chosen[k]]
            if (executed[k] == NOTHING).any():
                agents.observe(*nothing)
            else:
                rewards[k] = pays(k, executed[k])
                agents.observe(executed[k], rewards[k])
    return SimulatedEvents(chosen, rewards, executed)


def _executed_option(execute: Execute, k: int, proposed: int, n_options: int) -> int:
    """Call `execute` for a proposed option, and check the option that it returns."""
    done = execute(k, proposed)
    if not isinstance(done, (int, np.integer)) or not NOTHING <= done < n_options:
        raise DataError(
            "execute",
            f"must give an option from 0 to {n_options - 1}, or -1 for none",
            got=repr(done),
            where=f"at decision {k}",
            fix=f"Give what is done in place of option {proposed}.",
        )
    return int(done)


def draw_options(p: Matrix, rng: np.random.Generator) -> IntVector:
    """An option drawn for every row of choice probabilities (n, n_options)."""
    cumulative = p.cumsum(axis=1)
    below = cumulative <= rng.random((len(p), 1)) * cumulative[:, -1:]
    return np.asarray(np.minimum(below.sum(axis=1), p.shape[1] - 1))


def _payment(world: Landscape | Matrix, rng: np.random.Generator) -> Pays:
    """Function that draws the rewards of options at a decision."""
    if isinstance(world, Landscape):
        return lambda _, options: np.array([world.draw(int(i), rng=rng) for i in options])
    return lambda t, options: np.asarray(world[t % len(world), options])


def _options(world: Landscape | Matrix) -> int:
    return world.n_options if isinstance(world, Landscape) else world.shape[1]


def agents_of(model: Any, parameters: Rule, n_agents: int) -> Any:
    """Agents of a model, before play; all take what is seen, learnt and shown."""
    declared = Declared(model)
    if declared.parameters is not None or declared.agents is None:
        check_parameters(model, parameters)
    if declared.agents is None:
        _check_finite(parameters)
        return RememberingAgents(model, *weights_and_shape(model, parameters), n_agents)
    agents = declared.agents(dict(parameters), n_agents)
    sees = declared.before or declared.after or isinstance(agents, RecursionAgents)
    return agents if sees else PlainAgents(agents, declared.clock == "choices")


class PlainAgents:
    """Agents of a model that uses options and rewards alone, and of these each one it is given.

    Parameters
    ----------
    agents
        Agents that learn from what they chose and received, with a clock `time` if they have one.
    counts_choices
        Whether their clock stands still where an option is shown.
    """

    def __init__(self, agents: Agents, counts_choices: bool) -> None:
        self.agents, self.counts_choices = agents, counts_choices

    def probabilities(self, before: Mapping[str, Vector] | None = None) -> Matrix:
        """Choice probabilities (n_agents, n_options)."""
        return self.agents.probabilities()

    def observe(
        self,
        chosen: IntVector,
        rewards: Vector,
        after: Mapping[str, Vector] | None = None,
        is_choice: bool = True,
    ) -> None:
        """Learn from what was chosen or shown; agents who chose nothing only grow older."""
        if (chosen == NOTHING).any():
            self._turn_clock(1)
            return
        self.agents.observe(chosen, rewards)
        if self.counts_choices and not is_choice:
            self._turn_clock(-1)

    def _turn_clock(self, steps: int) -> None:
        if hasattr(self.agents, "time"):
            self.agents.time += steps


def check_parameters(model: Model, names: Iterable[str], advice: str = ALL) -> None:
    """Raise an error unless all natural parameters are named, and no others."""
    declared, given = Declared(model), list(names)
    wanted = [natural.name for natural in natural_parameters(model)]
    missing = [name for name in wanted if name not in (*declared.usual_parameters, *given)]
    if missing:
        raise DataError(
            "parameters",
            f"must hold {', '.join(wanted)}",
            got=f"none for {', '.join(missing)}",
            fix=advice,
        )
    known = list(dict.fromkeys((*wanted, *declared.usual_parameters)))
    unknown = [name for name in given if name not in known]
    if unknown:
        raise DataError(
            "parameters",
            f"must be among {', '.join(known)}",
            got=repr(unknown[0]),
            fix=closest_match_hint(unknown[0], known) or "Correct it.",
        )


def _check_finite(parameters: Rule) -> None:
    for name, value in parameters.items():
        if not np.isfinite(value) or (name == TEMPERATURE and value < 0):
            rule = "not be negative" if name == TEMPERATURE and value < 0 else "be finite"
            raise DataError(name, f"must {rule}", got=value, fix="Correct it.")
