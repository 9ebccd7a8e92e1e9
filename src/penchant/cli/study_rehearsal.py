"""A study in the browser without a server: its file written or checked, people simulated."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.cli.live_options import PlayOptions
from penchant.cli.model_settings import build_named_model, build_ucl
from penchant.cli.options import Agent
from penchant.cli.simulation_commands import parse_ranges
from penchant.cli.terminal import check_seed, say
from penchant.errors import DataError
from penchant.files.atomic_files import atomic_write, check_writable
from penchant.files.output import write_table
from penchant.models.catalogue import entry_of
from penchant.task.simulated_players import Client, Player, PlayerModel, PlayerResult, play
from penchant.task.study_plan import (
    DEMONSTRATION_STUDY,
    StudyPlan,
    new_study_text,
    read_study_file,
    read_study_text,
)
from penchant.workflow.parameter_recovery import draw_parameters_of_people

REQUIRED_PACKAGES = {"starlette": "starlette", "uvicorn": "uvicorn", "sqlalchemy": "SQLAlchemy"}


def check_extra() -> None:
    """Refuse to serve where the packages of penchant[task] are not installed."""
    missing = [
        name
        for module, name in REQUIRED_PACKAGES.items()
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        raise DataError(
            "penchant[task]",
            "must be installed",
            got=f"no {', '.join(missing)}",
            fix="pip install 'penchant[task]'.",
        )


def read_plan(file: str | None) -> StudyPlan:
    """Read the study of a file; the demonstration if there is none."""
    return read_study_text(DEMONSTRATION_STUDY) if file is None else read_study_file(file)


def run_new(file: str | None) -> int:
    """Run `serve --new`: write a commented study file; return the exit code."""
    path = file or "study.toml"
    with atomic_write(path, overwrite=False) as temporary:
        temporary.write_text(new_study_text(), encoding="utf-8")
    say(f"Written: {path}. Next: penchant serve {path} --check")
    return 0


def run_check_study(file: str | None) -> int:
    """Run `serve --check`: print the parts of a study file; return the exit code."""
    plan = read_plan(file)
    cells = len(plan.cells)
    print(f"{file or 'demonstration'}: {plan.title}")
    for block in plan.cells[0].blocks:
        pace = "self-paced" if block.seconds is None else f"{block.seconds:g} s each"
        kind = "practice, " if block.practice else ""
        task = f"{kind}{block.task.kind}, {block.task.n_decisions} decisions"
        print(f"  {block.name}: {task}, {pace}")
    print(f"  {cells} condition{'s' if cells > 1 else ''}, {len(plan.questions)} questions to pass")
    return 0


DEFAULT_GRID = "10x10"


def run_play(address: str | None, agent: Agent, play_options: PlayOptions) -> int:
    """Run `play`; the exit code is 0 where everybody finished."""
    if address is None:
        raise DataError("URL", "must be given", got="none", fix="Try http://127.0.0.1:8000.")
    check_seed(play_options.seed)
    for name in ("players", "at_once"):
        if getattr(play_options, name) < 1:
            option = name.replace("_", "-")
            raise DataError(
                f"--{option}",
                "must be at least 1",
                got=getattr(play_options, name),
                fix="Raise it.",
            )
    if play_options.output is not None:
        check_writable(play_options.output, overwrite=False)
    answers = _parse_answers(play_options.answers)
    model, people = _player_model(agent, play_options)
    generators = np.random.default_rng(play_options.seed).spawn(play_options.players)
    names = [f"sim-{play_options.seed}-{i + 1}" for i in range(play_options.players)]

    def maker(i: int) -> Callable[[Client], Player]:
        parameters = {name: float(values[i]) for name, values in people.items()}
        return lambda client: Player(names[i], client, generators[i], model, parameters, answers)

    makers = [maker(i) for i in range(play_options.players)]
    found = play(address, makers, at_once=play_options.at_once, patience=play_options.patience)
    if play_options.output is not None:
        write_table(play_options.output, _player_table(found, people), overwrite=False)
        say(f"Written: {play_options.output}")
    return _report_players(found)


def _parse_answers(words: list[str]) -> list[int] | None:
    if not words:
        return None
    if not all(word.isdigit() and int(word) >= 1 for word in words):
        raise DataError(
            "--answers",
            "must be numbers from 1 on",
            got=",".join(words),
            fix="Write --answers 2,1.",
        )
    return [int(word) - 1 for word in words]


def _player_model(
    agent: Agent, play_options: PlayOptions
) -> tuple[PlayerModel | None, dict[str, Any]]:
    """Build the model of the players, and draw the parameters of each."""
    if agent.model is None:
        if play_options.parameters:
            raise DataError(
                "--model", "must be given with --parameters", got="none", fix="Name one."
            )
        return None, {}

    def make(grid: str | None, n_options: int) -> Any:
        placed = replace(agent, grid=grid)
        if agent.model == "ucl":
            return build_ucl(replace(placed, noise_variance=agent.noise_variance or 10.0))
        return build_named_model(placed, n_options)

    has_known_range = agent.model in ("ucl", "gp-ucb", "locality")
    offers = entry_of(str(agent.model)).data == "offers"
    example = make(DEFAULT_GRID if has_known_range else None, 0 if offers else 2)
    rng = np.random.default_rng([play_options.seed or 0, 1])
    people = draw_parameters_of_people(
        example, parse_ranges(play_options.parameters, example), play_options.players, rng
    )
    return PlayerModel(str(agent.model), make), people


def _player_table(found: list[PlayerResult], people: dict[str, Any]) -> pa.Table:
    return pa.table(
        {
            "player": [one.player for one in found],
            "outcome": [one.outcome for one in found],
            "decisions": [one.decisions for one in found],
            "failure": [one.failure for one in found],
            **people,
        }
    )


def _report_players(found: list[PlayerResult]) -> int:
    counts = Counter(one.outcome or "not finished" for one in found)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    times = np.array([t for one in found for t in one.latencies])
    if times.size:
        p50, p99 = 1000 * np.quantile(times, [0.5, 0.99])
        say(f"Choices: {times.size}; answered in {p50:.1f} ms (median), {p99:.1f} ms (99 %).")
    for one in found:
        if one.failure:
            say(f"{one.player}: {one.failure}")
    return 0 if set(counts) == {"completed"} else 1
