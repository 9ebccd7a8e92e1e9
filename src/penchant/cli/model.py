"""The model as the command line spells it: prior, constraints, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from penchant.arguments import check_threads
from penchant.cli.options import Model
from penchant.errors import DataError
from penchant.models.priors import PopulationPrior
from penchant.softmax.constraints import Constraints
from penchant.softmax.prior import GaussianPrior, ScaledPrior

_BOUND = re.compile(r"(.+?)\s*(<=|>=)\s*(\S+)")


def fit_options(model: Model) -> dict[str, Any]:
    """Arguments of `fit` that do not depend on the data."""
    if model.max_steps < 1:
        raise DataError(f"--max-steps must be at least 1; got {model.max_steps}. Leave it out.")
    check_threads(model.threads)
    return {
        "method": model.method,
        "parameter_prior": prior(model.prior),
        "covariance": model.covariance,
        "max_steps": model.max_steps,
        "threads": model.threads,
    }


def prior(words: str) -> Any:
    """none, weak, weak:C or normal:MEAN,SD; or the file of a population's prior."""
    if words.lower().endswith(".json"):
        try:
            return PopulationPrior.read(words)
        except DataError as error:
            raise DataError(str(error).replace("FILE must", "--prior must", 1)) from None
    kind, _, numbers = words.partition(":")
    if words == "none":
        return None
    try:
        if kind == "weak":
            return ScaledPrior(float(numbers) if ":" in words else 1.0)
        if kind == "normal":
            mean, sd = map(float, numbers.split(","))
            if sd > 0:
                return GaussianPrior(mean, sd**2)
    except DataError:
        raise
    except ValueError:
        pass
    raise DataError(
        "--prior must be none, weak, weak:C, normal:MEAN,SD with an SD above 0, or a .json file "
        "of penchant population --save-prior; "
        f"got {words!r}. Try --prior weak."
    )


def constraints(bounds: Sequence[str], names: Sequence[str]) -> Constraints | None:
    """Bounds on single weights, such as price<=0."""
    return reduce(and_, (_constraint(bound, names) for bound in bounds)) if bounds else None


def check_bounds(bounds: Sequence[str]) -> None:
    """Refuse what is no bound before the data are read."""
    for bound in bounds:
        _parts(bound)


def _constraint(bound: str, names: Sequence[str]) -> Constraints:
    name, symbol, value = _parts(bound)
    return Constraints.single(names, {name: value}, 1.0 if symbol == ">=" else -1.0)


def _parts(bound: str) -> tuple[str, str, float]:
    match = _BOUND.fullmatch(bound.strip())
    try:
        if match is not None:
            return match[1], match[2], float(match[3])
    except ValueError:
        pass
    raise DataError(
        "--constraint must be NAME<=NUMBER or NAME>=NUMBER; "
        f"got {bound!r}. Put it in quotes: --constraint 'price<=0'."
    )
