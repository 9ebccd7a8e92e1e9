"""Simulated people: what `simulate`, `recover`, `distinguish` and `design` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from penchant._typing import Matrix
from penchant.argument_checks import check_level, check_number, check_threads
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, landscape_a, landscape_b
from penchant.choices.offers import Offers
from penchant.cli.compare_command import rival_agents
from penchant.cli.fit_choices_command import prior
from penchant.cli.model_settings import (
    COORDINATES,
    TAKEN,
    map_words,
    model_named,
    ucl,
    width_height,
)
from penchant.cli.options import Agent, World, parts_of
from penchant.cli.options import World as PlayedWorld
from penchant.cli.result_output import kept, of_table, reserved, shown
from penchant.cli.table_input import only_offers
from penchant.cli.terminal import check_criterion, check_seed, refuse, say
from penchant.cli.workflow_options import (
    Goal,
    Judged,
    People,
    PeopleOfEach,
    Regained,
    Rivals,
    Simulated,
    Written,
)
from penchant.errors import DataError, closest_match_hint
from penchant.figures.result_overview import overview
from penchant.files.output import TABLES, write_table
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared, natural_parameters
from penchant.models.simulate import simulate
from penchant.models.task import Task
from penchant.result_tables import format_count
from penchant.workflow.design_simulation import DetectDifference, NarrowIntervals, design
from penchant.workflow.model_recovery import recover_models
from penchant.workflow.parameter_recovery import recover

LANDSCAPES = {"a": landscape_a, "b": landscape_b}


def run_simulate(agent: Agent, world: World) -> int:
    """Play, write or print; the exit code."""
    _check_counts(world)
    with reserved(world.output, overwrite=world.overwrite, suffixes=TABLES):
        landscape = landscape_of(agent, world)
        model = model_of(agent, landscape)
        parameters = _parameters(world.parameters, model)
        say(f"Model: {model}.")
        if Declared(model).locations is not None:
            say(map_words(agent, model.locations))
        episodes = simulate(
            landscape,
            model,
            parameters,
            n_decisions=world.decisions,
            n_subjects=world.agents,
            rng=np.random.default_rng(world.seed),
        )
        agents = format_count(world.agents, "agent")
        made = f"{agents}, {format_count(world.decisions, 'decision')} each"
        say(f"Play: {made}, seed {world.seed}")
        _write(_table(episodes, model), world)
    return 0


def _check_counts(world: World) -> None:
    if world.seed is None or world.seed < 0:
        got = "none" if world.seed is None else world.seed
        raise DataError(
            "--seed",
            "must be a whole number, 0 or more",
            got=got,
            fix="Any will do: the same one gives the same table.",
        )
    for name, count in (("decisions", world.decisions), ("agents", world.agents)):
        if count < 1:
            raise DataError(f"--{name}", "must be at least 1", got=count, fix="Correct it.")


def landscape_of(agent: Agent, world: World) -> Landscape:
    """What the options pay, from --landscape or --means."""
    if agent.model is None:
        raise DataError(
            "--model",
            "must be given",
            got="none",
            fix="Say how the agents decide, such as q-learning.",
        )
    _check_play(agent.model)
    if (world.landscape is None) == (not world.means):
        got = "neither" if world.landscape is None else "both"
        raise DataError(
            "--landscape or --means",
            "must be given",
            got=got,
            fix="Try --landscape a with a --grid, or --means 0.2,0.5,0.8.",
        )
    if agent.noise_variance is None:
        raise DataError(
            "--noise-variance",
            "must be given",
            got="none",
            fix="Give the variance of a reward around its mean: 10 in the paper's human data.",
        )
    check_number(agent.noise_variance, "--noise-variance", above=0)
    noise = GaussianNoise(agent.noise_variance)
    if world.landscape is None:
        return Landscape(np.array(_numbers(world.means)), noise)
    if agent.grid is None:
        raise DataError(
            "--grid",
            f"must be given with --landscape {world.landscape}",
            got="none",
            fix="Try --grid 10x10.",
        )
    width, height = width_height(agent)
    if width < 3:
        raise DataError(
            "--grid", "must be at least 3 wide with --landscape", got=agent.grid, fix="Use --means."
        )
    return LANDSCAPES[world.landscape](width, height, noise)


def model_of(agent: Agent, landscape: Landscape) -> Any:
    """How agents decide, for the options of the landscape."""
    model = ucl(agent) if agent.model == "ucl" else _other_model(agent, landscape.n_options)
    if model.n_options != landscape.n_options:
        said = f"--model {agent.model}"
        if Declared(model).locations is not None:
            said = f"--grid {agent.grid}" if agent.grid else f"--locations {agent.locations}"
        raise DataError(
            "--means",
            "must hold one number per option",
            got=f"{landscape.n_options}, but {said} has {model.n_options} options",
            fix="Match them.",
        )
    return model


def _other_model(agent: Agent, n_options: int) -> Any:
    """A model of the catalogue; the noise is the landscape's, unless it knows of it."""
    assert agent.model is not None
    _check_play(agent.model)
    knows = "noise_variance" in TAKEN.get(agent.model, set())
    return model_named(agent if knows else replace(agent, noise_variance=None), n_options)


def _check_play(name: str) -> None:
    if entry_of(name).data != "play":
        raise DataError(
            "--model",
            "must be one of task data with rewards",
            got=f"{name}, which is for offers",
            fix="Use simulate in Python.",
        )


def _numbers(words: Sequence[str]) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) < 2 or not np.isfinite(numbers).all():
        raise DataError(
            "--means",
            "must be two or more finite numbers",
            got=",".join(words),
            fix="Try --means 0.2,0.5,0.8.",
        )
    return numbers


def _parameters(words: Sequence[str], model: Any) -> dict[str, float]:
    """Natural parameters by name, all that the model has and no other."""
    found: dict[str, float] = {}
    wanted = [natural.name for natural in natural_parameters(model)]
    for name, value, word in _named(words, wanted, "--parameters", "NAME=VALUE,NAME=VALUE"):
        number = number_or_none(value)
        if number is None:
            raise DataError(
                "--parameters",
                f"must give {name} a number",
                got=repr(word),
                fix=f"Write {name}=VALUE.",
            )
        found[name] = number
    missing = [name for name in wanted if name not in found and name != "implied_noise_sd"]
    if missing:
        given = ",".join(f"{name}=VALUE" for name in missing)
        raise DataError(
            "--parameters",
            f"must hold {', '.join(wanted)}",
            got=f"none for {', '.join(missing)}",
            fix=f"Add {given}.",
        )
    return found


def _table(episodes: Sequence[Episode], model: Any) -> pa.Table:
    chosen = np.concatenate([episode.chosen for episode in episodes])
    columns: dict[str, Any] = {
        "subject": np.repeat([e.subject for e in episodes], [e.n_events for e in episodes]),
        "decision": np.concatenate([episode.times for episode in episodes]),
        "chosen": chosen,
        "reward": np.concatenate([episode.rewards for episode in episodes]),
    }
    if Declared(model).locations is not None:
        places = _whole(model.locations)[chosen]
        names = COORDINATES[: places.shape[1]]
        columns |= {name: places[:, a] for a, name in enumerate(names)}
    return pa.table(columns)


def _whole(locations: Matrix) -> Any:
    """Coordinates as whole numbers, if all are."""
    whole = locations.astype(np.int64)
    return whole if (whole == locations).all() else locations


def _write(table: pa.Table, world: World) -> None:
    if world.output is not None:
        write_table(world.output, table, overwrite=world.overwrite)
        say(f"Written: {world.output}")
        return
    text = pa.BufferOutputStream()
    pa_csv.write_csv(table, text, pa_csv.WriteOptions(include_header=False))
    print(",".join(table.column_names))
    print(text.getvalue().to_pybytes().decode(), end="")


PEOPLE, DECISIONS = 100, 100  # simulated where nobody says how many
OF_OFFERS = {"offers_from", "example", "offers"}

SimulatedWorld = Landscape | list[Offers]


def world_for(agent: Agent, simulated: Simulated) -> SimulatedWorld:
    """What the options pay, or what is offered."""
    if agent.model is not None and entry_of(agent.model).data == "offers":
        return _offers_for(agent, simulated)
    refuse(simulated, "with models of play", "They learn from rewards", names=OF_OFFERS)
    return landscape_of(agent, PlayedWorld(landscape=simulated.landscape, means=simulated.means))


def _offers_for(agent: Agent, simulated: Simulated) -> list[Offers]:
    named = f"with --model {agent.model}"
    refuse(simulated, named, "It is about offers, not rewards", names={"landscape", "means"})
    refuse(agent, named, names={"grid", "locations", "noise_variance"})
    if (simulated.offers_from is None) == (simulated.example is None):
        got = "neither" if simulated.example is None else "both"
        raise DataError(
            "--offers-from or --example",
            f"must be given {named}",
            got=got,
            fix=(
                "Name a table of decisions whose offers people shall have, or try --example delays."
            ),
        )
    return only_offers(simulated.offers_from, simulated.example, simulated.offers)


def model_in(world: SimulatedWorld, agent: Agent) -> Any:
    """How people decide, for the options of the world."""
    if isinstance(world, Landscape):
        return model_of(agent, world)
    assert agent.model is not None
    if entry_of(agent.model).data != "offers":
        raise DataError(
            "--model",
            "must be one of offers, as the first one is",
            got=f"{agent.model}, which is for histories of play",
            fix="penchant models lists both.",
        )
    return model_named(agent, 0)


def task_of(world: SimulatedWorld, simulated: Simulated) -> Task:
    """What people do."""
    if isinstance(world, Landscape):
        return Task(world, simulated.decisions or DECISIONS, simulated.blocks)
    return Task(world, simulated.decisions, simulated.blocks)


def check_counts(simulated: Simulated) -> None:
    """Refuse nobody, nothing to do, and randomness that could not be had again."""
    check_seed(simulated.seed)
    for name in ("decisions", "blocks", "subjects"):
        count = getattr(simulated, name)
        if count is not None and count < 1:
            raise DataError(f"--{name}", "must be at least 1", got=count, fix="Correct it.")


def ranges(words: Sequence[str], model: Any) -> dict[str, Any]:
    """Numbers and ranges by name, of all natural parameters."""
    found = some_ranges(words, model, "--parameters")
    wanted = [natural.name for natural in natural_parameters(model)]
    missing = [name for name in wanted if name not in found and name != "implied_noise_sd"]
    if missing:
        raise DataError(
            "--parameters",
            f"must hold {', '.join(wanted)}",
            got=f"none for {', '.join(missing)}",
            fix=f"Add {','.join(f'{name}=LOW:HIGH' for name in missing)}.",
        )
    return found


def some_ranges(words: Sequence[str], model: Any, option: str) -> dict[str, Any]:
    """Numbers and ranges by name, of some natural parameters."""
    wanted = [natural.name for natural in natural_parameters(model)]
    found: dict[str, Any] = {}
    for name, value, word in _named(words, wanted, option, "NAME=VALUE or NAME=LOW:HIGH"):
        numbers = tuple(map(number_or_none, value.split(":")))
        if None in numbers or len(numbers) > 2:
            raise DataError(
                option,
                f"must give {name} a number or a range",
                got=repr(word),
                fix=f"Write {name}=VALUE or {name}=LOW:HIGH.",
            )
        found[name] = numbers[0] if len(numbers) == 1 else numbers
    return found


def _named(
    words: Sequence[str], wanted: Sequence[str], option: str, form: str
) -> Iterator[tuple[str, str, str]]:
    """Name and value of each word, and the word: every name once, and one that is wanted."""
    seen: set[str] = set()
    for word in words:
        name, _, value = (part.strip() for part in word.partition("="))
        if name not in wanted:
            raise DataError(
                option,
                f"must name {', '.join(wanted)}",
                got=repr(word),
                fix=closest_match_hint(name, wanted) or f"Write {form}.",
            )
        if name in seen:
            raise DataError(option, f"must name {name} once", got="it twice", fix="Drop one.")
        seen.add(name)
        yield name, value, word


def number_or_none(word: str) -> float | None:
    """The number that a word is, if it is one."""
    try:
        return float(word)
    except ValueError:
        return None


NONE_FOUND = 1
OF_WIDTH, OF_AGAINST = {"relative", "share"}, {"tested", "power", "alpha"}


def run_recover(
    agent: Agent, people: People, simulated: Simulated, regained: Regained, written: Written
) -> int:
    """Simulate, fit, write, print; the exit code."""
    check_level(regained.level)
    check_counts(simulated)
    check_threads(regained.threads)
    weights = prior(regained.prior)
    with kept(written):
        world = world_for(agent, simulated)
        model = model_in(world, agent)
        given = ranges(people.parameters, model)
        say(f"Model: {model}.")
        if Declared(model).locations is not None:
            say(map_words(agent, model.locations))
        found = recover(
            model,
            task_of(world, simulated),
            given,
            n_subjects=simulated.subjects or PEOPLE,
            rng=np.random.default_rng(simulated.seed),
            parameter_prior=weights,
            level=regained.level,
            intervals=regained.intervals,
            threads=regained.threads,
        )
        result = of_table(found.table(), found.document, lambda: found.subjects("pyarrow"))
        shown(result, written, lambda: overview(found))
    return 0


def run_distinguish(
    rivals: Rivals, people: PeopleOfEach, simulated: Simulated, judged: Judged, written: Written
) -> int:
    """Simulate, fit, write, print; the exit code."""
    agents = rival_agents(rivals, of_the_task={"grid", "noise_variance"})
    _check_pairs(list(agents), people.parameters)
    check_counts(simulated)
    check_threads(judged.threads)
    check_criterion(judged.criterion, judged.folds)
    weights, folds = prior(judged.prior), _folds(judged.folds)
    criterion: Any = judged.criterion and judged.criterion.replace("-", "_")
    with kept(written):
        noise = rivals.noise_variance  # of the task, which some models know
        first = next(iter(agents.values())).model
        world = world_for(Agent(model=first, grid=rivals.grid, noise_variance=noise), simulated)
        models = {
            name: model_in(world, replace(agent, noise_variance=noise))
            for name, agent in agents.items()
        }
        given = {
            name: _ranges(name, words, model)
            for (name, model), words in zip(models.items(), people.parameters, strict=True)
        }
        for name, model in models.items():
            say(f"Model: {name}: {model}.")
        found = recover_models(
            models,
            task_of(world, simulated),
            given,
            n_subjects=simulated.subjects or PEOPLE,
            rng=np.random.default_rng(simulated.seed),
            criterion=criterion,
            folds=folds,
            parameter_prior=weights,
            threads=judged.threads,
        )
        result = of_table(found.table(), found.document, found.to_arrow)
        shown(result, written, lambda: overview(found))
    return 0


def _folds(words: str | None) -> Any:
    if words is None or words == "block":
        return words
    if not words.strip().isdigit():
        raise DataError(
            "--folds",
            "must be a number or block for simulated people",
            got=repr(words),
            fix="Try --folds 5.",
        )
    return int(words)


def _check_pairs(models: Sequence[str], parameters: Sequence[str]) -> None:
    """Every model has parameters of its own."""
    if len(models) != len(parameters):
        raise DataError(
            "--parameters",
            "must be given once for each --model, in the same order",
            got=f"{len(parameters)} for {', '.join(models)}",
            fix="Put one after each --model.",
        )


def _ranges(name: str, words: str, model: Any) -> dict[str, Any]:
    try:
        return ranges(parts_of(words), model)
    except DataError as error:
        raise error.rephrase(str, f"--model {name}") from None


def run_design(
    goal: Goal,
    agent: Agent,
    people: People,
    simulated: Simulated,
    regained: Regained,
    written: Written,
) -> int:
    """Simulate, search, write, print; the exit code."""
    check_level(regained.level)
    check_counts(simulated)
    check_threads(regained.threads)
    weights = prior(regained.prior)
    _check_goal(goal, simulated, regained)
    with kept(written):
        world = world_for(agent, simulated)
        model = model_in(world, agent)
        given = ranges(people.parameters, model)
        task = task_of(world, simulated)
        say(f"Model: {model}.")
        found = design(
            model,
            task,
            given,
            goal=_narrow(goal, regained) if goal.width is not None else _differ(goal, model),
            n_subjects=simulated.subjects,
            parameter_prior=weights,
            rng=np.random.default_rng(simulated.seed),
            threads=regained.threads,
        )
        result = of_table(found.table(), found.document, found.to_arrow)
        shown(result, written, lambda: overview(found))
    return NONE_FOUND if found.needed is None else 0


def _check_goal(goal: Goal, simulated: Simulated, regained: Regained) -> None:
    if (goal.width is None) == (not goal.against):
        got = "neither" if goal.width is None else "both"
        raise DataError(
            "--width or --against",
            "must be given",
            got=got,
            fix=(
                "Try --width learning_rate=0.2 for decisions, or --against learning_rate=0.4 for "
                "subjects in two groups."
            ),
        )
    if goal.width is not None:
        refuse(goal, "with --width", names=OF_AGAINST)
        advice = "How many it takes is what is looked for; --most is the largest number"
        refuse(simulated, "with --width", advice, names={"decisions"})
    else:
        refuse(goal, "with --against", names=OF_WIDTH)
        refuse(regained, "with --against", names={"level", "intervals"})
    if goal.most is not None and goal.most < 2:
        raise DataError("--most", "must be at least 2", got=goal.most, fix="Correct it.")


def _narrow(goal: Goal, regained: Regained) -> NarrowIntervals:
    name, _, value = (part.strip() for part in str(goal.width).partition("="))
    width = number_or_none(value)
    if width is None:
        raise DataError(
            "--width",
            "must be NAME=WIDTH",
            got=repr(goal.width),
            fix="Try --width learning_rate=0.2.",
        )
    most = goal.most or NarrowIntervals.most
    return NarrowIntervals(
        name,
        width,
        relative=goal.relative,
        share=goal.share,
        level=regained.level,
        intervals=regained.intervals,
        first=min(NarrowIntervals.first, most),
        most=most,
    )


def _differ(goal: Goal, model: Any) -> DetectDifference:
    differs = some_ranges(goal.against, model, "--against")
    if goal.tested is None and len(differs) > 1:
        raise DataError(
            "--tested",
            f"must be given where groups differ in {' and '.join(differs)}",
            got="none",
            fix=f"Say which difference shall be found: --tested {next(iter(differs))}.",
        )
    most = goal.most or DetectDifference.most
    return DetectDifference(differs, goal.tested, power=goal.power, alpha=goal.alpha, most=most)
