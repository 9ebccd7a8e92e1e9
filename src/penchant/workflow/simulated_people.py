"""Simulated people: their parameters, drawn from ranges, and what they do in a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._progress import progress
from penchant._typing import Vector
from penchant.arguments import check_rng, whole_number
from penchant.errors import DataError
from penchant.models.model import Model, natural_parameters
from penchant.models.natural import Natural
from penchant.models.record import refuse_no_model, refuse_word
from penchant.models.simulate import blocks_of, check_parameters
from penchant.models.task import Task

People = dict[str, Vector]
RANGES = "Give a number, or a range (low, high), for all natural parameters of the model."


def check_simulated(model: Any, task: Any, rng: Any, prior: Any = None) -> None:
    """Say what to write where a name, a class or a seed stands for what people are made with."""
    refuse_no_model(model)
    refuse_word(prior)
    check_rng(rng)
    if isinstance(task, (str, type)) or hasattr(task, "columns"):
        raise DataError(
            f"task must be a Task; got {type(task).__name__}. Write pn.Task(pn.Landscape([0.3, "
            "0.7], pn.GaussianNoise(0.04)), n_decisions=100), or offers that were read."
        )


def drawn_people(
    model: Model, parameters: Mapping[str, Any], n: int, rng: np.random.Generator
) -> People:
    """Natural parameters of n people, by name: (n,) each.

    Parameters
    ----------
    model
        Whose natural parameters they are.
    parameters
        For each natural parameter a number, the same for all; a tuple (low, high), a range from
        which it is drawn, uniformly, or uniformly on the logarithm where the parameter is positive
        (a temperature, a variance); a distribution with a method `rvs`, such as those of
        scipy.stats; or an array with a number for each person.
    n
        How many people.
    rng
        Source of randomness.
    """
    whole_number(n, "n_subjects", 1)
    known = {natural.name: natural for natural in natural_parameters(model)}
    check_parameters(model, parameters, RANGES)
    return {
        name: _drawn(name, given, _is_positive(model, known.get(name)), n, rng)
        for name, given in parameters.items()
    }


def _is_positive(model: Model, natural: Natural | None) -> bool:
    """Whether a parameter is a natural one, positive, and known by its order of magnitude."""
    return natural is not None and natural.is_positive(model.shape)


def _drawn(name: str, given: Any, positive: bool, n: int, rng: np.random.Generator) -> Vector:
    if hasattr(given, "rvs"):
        return np.asarray(given.rvs(size=n, random_state=rng), dtype=np.float64)
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if not np.isfinite(values).all():
        raise DataError(
            f"{name} in parameters must be a number, a range (low, high), a distribution or an "
            f"array of finite numbers; got {given!r}. Correct it."
        )
    if values.ndim == 0:
        return np.full(n, float(values))
    if not isinstance(given, tuple):
        if values.shape != (n,):
            raise DataError(
                f"{name} in parameters must hold {n} numbers, one per person; got shape "
                f"{values.shape}. Give a tuple (low, high) for a range."
            )
        return values
    if len(values) != 2 or not values[0] < values[1] or (positive and values[0] <= 0):
        rule = "go up from above 0" if positive else "go up"
        raise DataError(
            f"{name} in parameters must {rule} as (low, high); got {given!r}. Correct it."
        )
    low, high = np.log(values) if positive else values
    drawn = rng.uniform(float(low), float(high), n)
    return np.exp(drawn) if positive else drawn


def played_by(
    people: People, model: Model, task: Task, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """What every one of the people does, subjects 0, 1, 2 ...; each has randomness of its own."""
    n = len(next(iter(people.values()))) if people else 0
    found = []
    with progress("Simulating people", n) as advance:
        for i, own in enumerate(rng.spawn(n)):
            parameters = {name: float(values[i]) for name, values in people.items()}
            found.append(blocks_of(task, model, parameters, own, i))
            advance(1)
    return found
