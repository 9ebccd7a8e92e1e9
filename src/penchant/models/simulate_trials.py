"""Choices of simulated people among given offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError, nearest
from penchant.models.model import Model, natural_parameters
from penchant.models.offers import read_offers
from penchant.models.trials import Trials, decision_places

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
    ratios = []
    with np.errstate(divide="ignore"):
        for natural in natural_parameters(model):
            value = np.float64(parameters[natural.name])
            if natural.kind == "weight":
                theta[natural.index] = value
            elif natural.kind == "reciprocal":
                theta[natural.index] = 1.0 / value
            elif natural.kind == "share":
                theta[natural.index] = np.log(natural.scale / value - 1.0)
            elif natural.kind == "shape":
                psi[natural.index] = (value / natural.scale) ** (1.0 / natural.power)
            else:
                ratios.append((natural, value))
    for natural, value in ratios:
        theta[natural.index] = value * theta[natural.other]
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
