"""What `recover` does: simulate people, fit them, show what came back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant.cli.agent import map_words
from penchant.cli.checking_usage import check_seed, check_threads
from penchant.cli.model import prior
from penchant.cli.options import Agent, World
from penchant.cli.result import Result
from penchant.cli.showing_files import kept, shown
from penchant.cli.simulating import landscape_of, model_of
from penchant.cli.words import say
from penchant.cli.workflow_options import Regained, Simulated, Written
from penchant.errors import DataError, nearest
from penchant.figures.recovery import recovery
from penchant.figures.style import figure
from penchant.models.model import natural_parameters
from penchant.softmax.document import plain
from penchant.softmax.intervals import check_level
from penchant.study.decisions_needed import decisions_needed
from penchant.study.design import Design
from penchant.study.recover import recover
from penchant.study.recovery import QUANTITIES, Recovery
from penchant.study.task import Task


def run_recover(agent: Agent, simulated: Simulated, regained: Regained, written: Written) -> int:
    """Simulate, fit, write, print; the exit code."""
    check_level(regained.level)
    _check_counts(simulated)
    check_threads(regained.threads)
    weights = prior(regained.prior)
    if regained.width is not None and written.figure is not None:
        raise DataError(
            f"--figure must be left out with --width; got {written.figure}. Leave it out."
        )
    with kept(written):
        world = World(landscape=simulated.landscape, means=simulated.means)
        landscape = landscape_of(agent, world)
        model = model_of(agent, landscape)
        ranges = _ranges(simulated.parameters, model)
        say(f"Model: {model}.")
        if hasattr(model, "locations"):
            say(map_words(agent, model.locations))
        task = Task(landscape, simulated.decisions, simulated.blocks)
        fitted: dict[str, Any] = {
            "rng": np.random.default_rng(simulated.seed),
            "n_subjects": simulated.subjects,
            "parameter_prior": weights,
            "level": regained.level,
            "intervals": regained.intervals,
            "threads": regained.threads,
        }
        if regained.width is None:
            found = recover(model, task, ranges, **fitted)
            shown(_result(found), written, lambda: recovery_figure(found))
        else:
            name, width = _width(regained.width)
            design = decisions_needed(model, task, ranges, parameter=name, width=width, **fitted)
            shown(_design_result(design), written)
    return 0


def _result(found: Recovery) -> Result:
    words = found.table()
    return Result(
        statuses=found.statuses,
        doubts=(),
        printed=words,
        kept=words,
        document=lambda: _document(found),
        frame=lambda: found.subjects("pyarrow"),
    )


def _document(found: Recovery) -> dict[str, Any]:
    return {
        "format": "penchant-recovery",
        "version": 1,
        "model": str(found.model),
        "n_subjects": found.n_subjects,
        "statuses": found.counts(),
        "level": found.level,
        "intervals": found.intervals,
        "parameters": [
            {"name": p.name, **{q: plain(getattr(p, q)) for q in QUANTITIES}}
            for p in found.parameters
        ],
    }


def _design_result(found: Design) -> Result:
    words = found.table()
    tried = [{"n": t.n, "share": t.share, "error": t.error} for t in found.tried]
    document = {"needed": found.needed, "unit": found.unit, "goal": found.goal, "tried": tried}
    return Result((), (), words, words, lambda: document, lambda: found.to_frame("pyarrow"))


def recovery_figure(found: Recovery) -> Any:
    """Estimated against true values of every parameter that varies."""
    n = len(found.parameters)
    drawn = figure(columns=2 if n > 1 else 1, height=3.4 * ((n + 1) // 2) if n > 1 else 3.4)
    axes = np.atleast_1d(drawn.subplots((n + 1) // 2, min(n, 2))).ravel()
    for one, p in zip(axes, found.parameters, strict=False):
        recovery(one, p.true, p.estimated, p.interval, name=p.name, logarithmic=p.positive)
    for spare in axes[n:]:
        spare.remove()
    return drawn


def _check_counts(simulated: Simulated) -> None:
    check_seed(simulated.seed)
    for name in ("decisions", "blocks", "subjects"):
        if getattr(simulated, name) < 1:
            raise DataError(
                f"--{name} must be at least 1; got {getattr(simulated, name)}. Correct it."
            )


def _ranges(words: Sequence[str], model: Any) -> dict[str, Any]:
    """Numbers and ranges by name, of all natural parameters."""
    wanted = [natural.name for natural in natural_parameters(model)]
    found: dict[str, Any] = {}
    for word in words:
        name, _, value = (part.strip() for part in word.partition("="))
        if name not in wanted:
            raise DataError(
                f"--parameters must name {', '.join(wanted)}; got {word!r}."
                f"{nearest(name, wanted) or ' Write NAME=VALUE or NAME=LOW:HIGH.'}"
            )
        if name in found:
            raise DataError(f"--parameters must name {name} once; got it twice. Drop one.")
        numbers = tuple(map(_number, value.split(":")))
        if None in numbers or len(numbers) > 2:
            raise DataError(
                f"--parameters must give {name} a number or a range; got {word!r}. "
                f"Write {name}=VALUE or {name}=LOW:HIGH."
            )
        found[name] = numbers[0] if len(numbers) == 1 else numbers
    missing = [name for name in wanted if name not in found and name != "implied_noise_sd"]
    if missing:
        raise DataError(
            f"--parameters must hold {', '.join(wanted)}; got none for {', '.join(missing)}. "
            f"Add {','.join(f'{name}=LOW:HIGH' for name in missing)}."
        )
    return found


def _width(words: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in words.partition("="))
    width = _number(value)
    if width is None:
        raise DataError(
            f"--width must be NAME=WIDTH; got {words!r}. Try --width learning_rate=0.2."
        )
    return name, width


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
