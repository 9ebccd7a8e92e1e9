"""Simulated people: what `simulate`, `recover`, `distinguish` and `design` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from penchant._typing import Matrix
from penchant.argument_checks import check_level, check_number, check_threads
from penchant.bandit.episode import Episode
from penchant.bandit.landscape import GaussianNoise, Landscape, landscape_a, landscape_b
from penchant.choices.offers import Offers
from penchant.cli.compare_command import agents_by_name
from penchant.cli.fit_choices_command import parse_prior
from penchant.cli.model_settings import (
    COORDINATES,
    OPTIONS_OF_MODELS,
    build_named_model,
    build_ucl,
    map_description,
    parse_grid,
)
from penchant.cli.options import Agent, World, split_commas
from penchant.cli.options import World as PlayedWorld
from penchant.cli.result_output import output_result, reserve_file, reserve_outputs, table_result
from penchant.cli.table_input import load_offers_only
from penchant.cli.terminal import check_criterion, check_seed, refuse, say
from penchant.cli.workflow_options import (
    ComparedModels,
    DesignGoal,
    OutputOptions,
    RankingOptions,
    RecoveryOptions,
    SimulatedPeople,
    SimulatedPeopleOfModels,
    SimulationOptions,
)
from penchant.errors import DataError, closest_match_hint
from penchant.figures.result_overview import overview
from penchant.files.output import OUTPUT_SUFFIXES, write_table
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
    """Run `simulate`: simulate agents, write or print their choices; return the exit code."""
    _check_counts(world)
    with reserve_file(world.output, overwrite=world.overwrite, suffixes=OUTPUT_SUFFIXES):
        landscape = build_landscape(agent, world)
        model = build_landscape_model(agent, landscape)
        parameters = _parse_parameters(world.parameters, model)
        say(f"Model: {model}.")
        if Declared(model).locations is not None:
            say(map_description(agent, model.locations))
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
        _write_or_print(_episode_table(episodes, model), world)
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


def build_landscape(agent: Agent, world: World) -> Landscape:
    """Build the landscape of mean rewards from --landscape or --means."""
    if agent.model is None:
        raise DataError(
            "--model",
            "must be given",
            got="none",
            fix="Say how the agents decide, such as q-learning.",
        )
    _check_is_play_model(agent.model)
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
        return Landscape(np.array(_parse_means(world.means)), noise)
    if agent.grid is None:
        raise DataError(
            "--grid",
            f"must be given with --landscape {world.landscape}",
            got="none",
            fix="Try --grid 10x10.",
        )
    width, height = parse_grid(agent)
    if width < 3:
        raise DataError(
            "--grid", "must be at least 3 wide with --landscape", got=agent.grid, fix="Use --means."
        )
    return LANDSCAPES[world.landscape](width, height, noise)


def build_landscape_model(agent: Agent, landscape: Landscape) -> Any:
    """Build the model of the agents, with as many options as the landscape."""
    model = (
        build_ucl(agent) if agent.model == "ucl" else _catalogue_model(agent, landscape.n_options)
    )
    if model.n_options != landscape.n_options:
        option = f"--model {agent.model}"
        if Declared(model).locations is not None:
            option = f"--grid {agent.grid}" if agent.grid else f"--locations {agent.locations}"
        raise DataError(
            "--means",
            "must hold one number per option",
            got=f"{landscape.n_options}, but {option} has {model.n_options} options",
            fix="Match them.",
        )
    return model


def _catalogue_model(agent: Agent, n_options: int) -> Any:
    """Build a model of the catalogue, with the noise variance if it has such a setting."""
    assert agent.model is not None
    _check_is_play_model(agent.model)
    knows = "noise_variance" in OPTIONS_OF_MODELS.get(agent.model, set())
    return build_named_model(agent if knows else replace(agent, noise_variance=None), n_options)


def _check_is_play_model(name: str) -> None:
    if entry_of(name).data != "play":
        raise DataError(
            "--model",
            "must be one of task data with rewards",
            got=f"{name}, which is for offers",
            fix="Use simulate in Python.",
        )


def _parse_means(words: Sequence[str]) -> list[float]:
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


def _parse_parameters(words: Sequence[str], model: Any) -> dict[str, float]:
    """Parse natural parameters by name, all that the model has and no other."""
    found: dict[str, float] = {}
    names = [natural.name for natural in natural_parameters(model)]
    for name, value, word in _parse_named_values(
        words, names, "--parameters", "NAME=VALUE,NAME=VALUE"
    ):
        number = parse_number_or_none(value)
        if number is None:
            raise DataError(
                "--parameters",
                f"must give {name} a number",
                got=repr(word),
                fix=f"Write {name}=VALUE.",
            )
        found[name] = number
    missing = [name for name in names if name not in found and name != "implied_noise_sd"]
    if missing:
        given = ",".join(f"{name}=VALUE" for name in missing)
        raise DataError(
            "--parameters",
            f"must hold {', '.join(names)}",
            got=f"none for {', '.join(missing)}",
            fix=f"Add {given}.",
        )
    return found


def _episode_table(episodes: Sequence[Episode], model: Any) -> pa.Table:
    chosen = np.concatenate([episode.chosen for episode in episodes])
    columns: dict[str, Any] = {
        "subject": np.repeat([e.subject for e in episodes], [e.n_events for e in episodes]),
        "decision": np.concatenate([episode.times for episode in episodes]),
        "chosen": chosen,
        "reward": np.concatenate([episode.rewards for episode in episodes]),
    }
    if Declared(model).locations is not None:
        places = _whole_coordinates(model.locations)[chosen]
        names = COORDINATES[: places.shape[1]]
        columns |= {name: places[:, a] for a, name in enumerate(names)}
    return pa.table(columns)


def _whole_coordinates(locations: Matrix) -> Any:
    """Coordinates as whole numbers, if all are."""
    whole = locations.astype(np.int64)
    return whole if (whole == locations).all() else locations


def _write_or_print(table: pa.Table, world: World) -> None:
    if world.output is not None:
        write_table(world.output, table, overwrite=world.overwrite)
        say(f"Written: {world.output}")
        return
    text = pa.BufferOutputStream()
    pa_csv.write_csv(table, text, pa_csv.WriteOptions(include_header=False))
    print(",".join(table.column_names))
    print(text.getvalue().to_pybytes().decode(), end="")


DEFAULT_SUBJECTS, DEFAULT_DECISIONS = 100, 100  # simulated where nobody says how many
OFFER_OPTIONS = {"offers_from", "example", "offers"}

SimulatedWorld = Landscape | list[Offers]


def build_world(agent: Agent, simulation: SimulationOptions) -> SimulatedWorld:
    """Build what simulated people choose from: a landscape of rewards, or offers."""
    if agent.model is not None and entry_of(agent.model).data == "offers":
        return _load_world_offers(agent, simulation)
    refuse(simulation, "with models of play", "They learn from rewards", names=OFFER_OPTIONS)
    return build_landscape(
        agent, PlayedWorld(landscape=simulation.landscape, means=simulation.means)
    )


def _load_world_offers(agent: Agent, simulation: SimulationOptions) -> list[Offers]:
    named = f"with --model {agent.model}"
    refuse(simulation, named, "It is about offers, not rewards", names={"landscape", "means"})
    refuse(agent, named, names={"grid", "locations", "noise_variance"})
    if (simulation.offers_from is None) == (simulation.example is None):
        got = "neither" if simulation.example is None else "both"
        raise DataError(
            "--offers-from or --example",
            f"must be given {named}",
            got=got,
            fix=(
                "Name a table of decisions whose offers people shall have, or try --example delays."
            ),
        )
    return load_offers_only(simulation.offers_from, simulation.example, simulation.offers)


def build_model_in_world(world: SimulatedWorld, agent: Agent) -> Any:
    """Build the model of simulated people, with the options of the world."""
    if isinstance(world, Landscape):
        return build_landscape_model(agent, world)
    assert agent.model is not None
    if entry_of(agent.model).data != "offers":
        raise DataError(
            "--model",
            "must be one of offers, as the first one is",
            got=f"{agent.model}, which is for histories of play",
            fix="penchant models lists both.",
        )
    return build_named_model(agent, 0)


def build_task(world: SimulatedWorld, simulation: SimulationOptions) -> Task:
    """Build the task: decisions and blocks in a world."""
    if isinstance(world, Landscape):
        return Task(world, simulation.decisions or DEFAULT_DECISIONS, simulation.blocks)
    return Task(world, simulation.decisions, simulation.blocks)


def check_counts(simulation: SimulationOptions) -> None:
    """Refuse counts below 1, and a missing seed."""
    check_seed(simulation.seed)
    for name in ("decisions", "blocks", "subjects"):
        count = getattr(simulation, name)
        if count is not None and count < 1:
            raise DataError(f"--{name}", "must be at least 1", got=count, fix="Correct it.")


def parse_ranges(words: Sequence[str], model: Any) -> dict[str, Any]:
    """Parse numbers and ranges of all natural parameters, by name."""
    found = parse_some_ranges(words, model, "--parameters")
    names = [natural.name for natural in natural_parameters(model)]
    missing = [name for name in names if name not in found and name != "implied_noise_sd"]
    if missing:
        raise DataError(
            "--parameters",
            f"must hold {', '.join(names)}",
            got=f"none for {', '.join(missing)}",
            fix=f"Add {','.join(f'{name}=LOW:HIGH' for name in missing)}.",
        )
    return found


def parse_some_ranges(words: Sequence[str], model: Any, option: str) -> dict[str, Any]:
    """Parse numbers and ranges of some natural parameters, by name."""
    names = [natural.name for natural in natural_parameters(model)]
    found: dict[str, Any] = {}
    for name, value, word in _parse_named_values(
        words, names, option, "NAME=VALUE or NAME=LOW:HIGH"
    ):
        numbers = tuple(map(parse_number_or_none, value.split(":")))
        if None in numbers or len(numbers) > 2:
            raise DataError(
                option,
                f"must give {name} a number or a range",
                got=repr(word),
                fix=f"Write {name}=VALUE or {name}=LOW:HIGH.",
            )
        found[name] = numbers[0] if len(numbers) == 1 else numbers
    return found


class _NamedValue(NamedTuple):
    """Name and value of a word NAME=VALUE, and the word as it was typed."""

    name: str
    value: str
    word: str


def _parse_named_values(
    words: Sequence[str], names: Sequence[str], option: str, form: str
) -> Iterator[_NamedValue]:
    """Split NAME=VALUE words; every name occurs once, and is one of `names`."""
    seen: set[str] = set()
    for word in words:
        name, _, value = (part.strip() for part in word.partition("="))
        if name not in names:
            raise DataError(
                option,
                f"must name {', '.join(names)}",
                got=repr(word),
                fix=closest_match_hint(name, names) or f"Write {form}.",
            )
        if name in seen:
            raise DataError(option, f"must name {name} once", got="it twice", fix="Drop one.")
        seen.add(name)
        yield _NamedValue(name, value, word)


def parse_number_or_none(word: str) -> float | None:
    """Parse a number; None where the word is none."""
    try:
        return float(word)
    except ValueError:
        return None


NONE_FOUND = 1
WIDTH_OPTIONS, AGAINST_OPTIONS = {"relative", "share"}, {"tested", "power", "alpha"}


def run_recover(
    agent: Agent,
    people: SimulatedPeople,
    simulation: SimulationOptions,
    recovery: RecoveryOptions,
    output_options: OutputOptions,
) -> int:
    """Run `recover`: simulate people and recover their parameters; return the exit code."""
    check_level(recovery.level)
    check_counts(simulation)
    check_threads(recovery.threads)
    weights = parse_prior(recovery.prior)
    with reserve_outputs(output_options):
        world = build_world(agent, simulation)
        model = build_model_in_world(world, agent)
        given = parse_ranges(people.parameters, model)
        say(f"Model: {model}.")
        if Declared(model).locations is not None:
            say(map_description(agent, model.locations))
        found = recover(
            model,
            build_task(world, simulation),
            given,
            n_subjects=simulation.subjects or DEFAULT_SUBJECTS,
            rng=np.random.default_rng(simulation.seed),
            parameter_prior=weights,
            level=recovery.level,
            intervals=recovery.intervals,
            threads=recovery.threads,
        )
        result = table_result(found.table(), found.document, lambda: found.subjects("pyarrow"))
        output_result(result, output_options, lambda: overview(found))
    return 0


def run_distinguish(
    compared_models: ComparedModels,
    people: SimulatedPeopleOfModels,
    simulation: SimulationOptions,
    ranking: RankingOptions,
    output_options: OutputOptions,
) -> int:
    """Run `distinguish`: simulate people of each model, and fit all; return the exit code."""
    agents = agents_by_name(compared_models, of_the_task={"grid", "noise_variance"})
    _check_pairs(list(agents), people.parameters)
    check_counts(simulation)
    check_threads(ranking.threads)
    check_criterion(ranking.criterion, ranking.folds)
    weights, folds = parse_prior(ranking.prior), _parse_folds(ranking.folds)
    criterion: Any = ranking.criterion and ranking.criterion.replace("-", "_")
    with reserve_outputs(output_options):
        noise = compared_models.noise_variance  # of the task, which some models know
        first = next(iter(agents.values())).model
        world = build_world(
            Agent(model=first, grid=compared_models.grid, noise_variance=noise), simulation
        )
        models = {
            name: build_model_in_world(world, replace(agent, noise_variance=noise))
            for name, agent in agents.items()
        }
        given = {
            name: _parse_ranges_of_model(name, words, model)
            for (name, model), words in zip(models.items(), people.parameters, strict=True)
        }
        for name, model in models.items():
            say(f"Model: {name}: {model}.")
        found = recover_models(
            models,
            build_task(world, simulation),
            given,
            n_subjects=simulation.subjects or DEFAULT_SUBJECTS,
            rng=np.random.default_rng(simulation.seed),
            criterion=criterion,
            folds=folds,
            parameter_prior=weights,
            threads=ranking.threads,
        )
        result = table_result(found.table(), found.document, found.to_arrow)
        output_result(result, output_options, lambda: overview(found))
    return 0


def _parse_folds(words: str | None) -> Any:
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
    """Refuse another number of --parameters than of models."""
    if len(models) != len(parameters):
        raise DataError(
            "--parameters",
            "must be given once for each --model, in the same order",
            got=f"{len(parameters)} for {', '.join(models)}",
            fix="Put one after each --model.",
        )


def _parse_ranges_of_model(name: str, words: str, model: Any) -> dict[str, Any]:
    try:
        return parse_ranges(split_commas(words), model)
    except DataError as error:
        raise error.rephrase(str, f"--model {name}") from None


def run_design(
    goal: DesignGoal,
    agent: Agent,
    people: SimulatedPeople,
    simulation: SimulationOptions,
    recovery: RecoveryOptions,
    output_options: OutputOptions,
) -> int:
    """Run `design`: find the number of decisions or subjects needed; return the exit code."""
    check_level(recovery.level)
    check_counts(simulation)
    check_threads(recovery.threads)
    weights = parse_prior(recovery.prior)
    _check_goal(goal, simulation, recovery)
    with reserve_outputs(output_options):
        world = build_world(agent, simulation)
        model = build_model_in_world(world, agent)
        given = parse_ranges(people.parameters, model)
        task = build_task(world, simulation)
        say(f"Model: {model}.")
        found = design(
            model,
            task,
            given,
            goal=_interval_goal(goal, recovery)
            if goal.width is not None
            else _difference_goal(goal, model),
            n_subjects=simulation.subjects,
            parameter_prior=weights,
            rng=np.random.default_rng(simulation.seed),
            threads=recovery.threads,
        )
        result = table_result(found.table(), found.document, found.to_arrow)
        output_result(result, output_options, lambda: overview(found))
    return NONE_FOUND if found.needed is None else 0


def _check_goal(goal: DesignGoal, simulation: SimulationOptions, recovery: RecoveryOptions) -> None:
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
        refuse(goal, "with --width", names=AGAINST_OPTIONS)
        advice = "How many it takes is what is looked for; --most is the largest number"
        refuse(simulation, "with --width", advice, names={"decisions"})
    else:
        refuse(goal, "with --against", names=WIDTH_OPTIONS)
        refuse(recovery, "with --against", names={"level", "intervals"})
    if goal.most is not None and goal.most < 2:
        raise DataError("--most", "must be at least 2", got=goal.most, fix="Correct it.")


def _interval_goal(goal: DesignGoal, recovery: RecoveryOptions) -> NarrowIntervals:
    name, _, value = (part.strip() for part in str(goal.width).partition("="))
    width = parse_number_or_none(value)
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
        level=recovery.level,
        intervals=recovery.intervals,
        first=min(NarrowIntervals.first, most),
        most=most,
    )


def _difference_goal(goal: DesignGoal, model: Any) -> DetectDifference:
    differs = parse_some_ranges(goal.against, model, "--against")
    if goal.tested is None and len(differs) > 1:
        raise DataError(
            "--tested",
            f"must be given where groups differ in {' and '.join(differs)}",
            got="none",
            fix=f"Say which difference shall be found: --tested {next(iter(differs))}.",
        )
    most = goal.most or DetectDifference.most
    return DetectDifference(differs, goal.tested, power=goal.power, alpha=goal.alpha, most=most)
