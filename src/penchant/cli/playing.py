"""What `play` does: simulated people through HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.cli.live_options import Playing
from penchant.cli.options import Agent
from penchant.cli.settings import model_named, ucl
from penchant.cli.simulating import ranges
from penchant.cli.words import check_seed, say
from penchant.errors import DataError
from penchant.files.atomic import check_writable
from penchant.files.output import write_table
from penchant.models.catalogue import entry_of
from penchant.task.players import Client, Played, Player, PlayerModel, play
from penchant.workflow.recover import drawn_people

USUAL_GRID = "10x10"


def run_play(address: str | None, agent: Agent, playing: Playing) -> int:
    """Play; the exit code says whether everybody finished."""
    if address is None:
        raise DataError("URL must be given; got none. Try http://127.0.0.1:8000.")
    check_seed(playing.seed)
    for name in ("players", "at_once"):
        if getattr(playing, name) < 1:
            option = name.replace("_", "-")
            raise DataError(
                f"--{option} must be at least 1; got {getattr(playing, name)}. Raise it."
            )
    if playing.output is not None:
        check_writable(playing.output, overwrite=False)
    answers = _answers(playing.answers)
    model, people = _model(agent, playing)
    generators = np.random.default_rng(playing.seed).spawn(playing.players)
    names = [f"sim-{playing.seed}-{i + 1}" for i in range(playing.players)]

    def maker(i: int) -> Callable[[Client], Player]:
        own = {name: float(values[i]) for name, values in people.items()}
        return lambda client: Player(names[i], client, generators[i], model, own, answers)

    makers = [maker(i) for i in range(playing.players)]
    found = play(address, makers, at_once=playing.at_once, patience=playing.patience)
    if playing.output is not None:
        write_table(playing.output, _table(found, people), overwrite=False)
        say(f"Written: {playing.output}")
    return _say(found)


def _answers(words: list[str]) -> list[int] | None:
    if not words:
        return None
    if not all(word.isdigit() and int(word) >= 1 for word in words):
        raise DataError(
            f"--answers must be numbers from 1 on; got {','.join(words)}. Write --answers 2,1."
        )
    return [int(word) - 1 for word in words]


def _model(agent: Agent, playing: Playing) -> tuple[PlayerModel | None, dict[str, Any]]:
    """How players choose, and the parameters of each."""
    if agent.model is None:
        if playing.parameters:
            raise DataError("--model must be given with --parameters; got none. Name one.")
        return None, {}

    def make(grid: str | None, n_options: int) -> Any:
        placed = replace(agent, grid=grid)
        if agent.model == "ucl":
            return ucl(replace(placed, noise_variance=agent.noise_variance or 10.0))
        return model_named(placed, n_options)

    is_placed = agent.model in ("ucl", "gp-ucb", "locality")
    offers = entry_of(str(agent.model)).data == "offers"
    example = make(USUAL_GRID if is_placed else None, 0 if offers else 2)
    rng = np.random.default_rng([playing.seed or 0, 1])
    people = drawn_people(example, ranges(playing.parameters, example), playing.players, rng)
    return PlayerModel(str(agent.model), make), people


def _table(found: list[Played], people: dict[str, Any]) -> pa.Table:
    return pa.table(
        {
            "player": [one.player for one in found],
            "outcome": [one.outcome for one in found],
            "decisions": [one.decisions for one in found],
            "failure": [one.failure for one in found],
            **people,
        }
    )


def _say(found: list[Played]) -> int:
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
