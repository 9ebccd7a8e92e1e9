"""What a model says the player believes of every option before each event.

A model of one's own says it with a method

    def latent(self, episode, theta, psi):
        return {"value": ..., "uncertainty": ...}

whose arrays are (n_events, n_options), or (n_events,) for what does not belong to an option.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.models.gp_ucb import GPUCB
from penchant.models.hybrid import GershmanHybrid
from penchant.models.kalman import KalmanFilter
from penchant.models.known_values import KnownValues
from penchant.models.model import natural_parameters
from penchant.models.q_learning import QLearning
from penchant.models.static import StaticModel
from penchant.models.ucb1 import UCB1
from penchant.models.ucl import UCL

Beliefs = dict[str, Matrix]


def option_beliefs(model: Any, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    """Beliefs before each event, by name: "value" and "uncertainty" where the model has them.

    Values are expected rewards, in units of rewards; uncertainty is a standard deviation.
    """
    own = getattr(model, "latent", None)
    found = _beliefs(model, episode, theta, psi) if own is None else own(episode, theta, psi)
    for name, values in found.items():
        if np.shape(values)[:1] != (episode.n_events,) or np.ndim(values) > 2:
            raise DataError(
                f"latent must give arrays (n_events,) or (n_events, n_options); got shape "
                f"{np.shape(values)} of {name!r} for {episode.n_events} events. Correct it."
            )
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


@singledispatch
def _beliefs(model: Any, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    """No beliefs: the model only says how likely choices are."""
    return {}


@_beliefs.register
def _(model: QLearning, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    x = model.explanatory(episode, *psi)
    found = {"value": _affine(model, x, theta, "initial_value")}
    if model.choice_kernel:
        found["choice_trace"] = x[:, :, model.weights.index("choice_kernel")]
    return found


@_beliefs.register
def _(model: KalmanFilter, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    full = replace(model, bonus=True)  # its variables hold the standard deviation
    x = full.explanatory(episode, *psi)
    sd = x[:, :, full.weights.index("uncertainty_bonus/temperature")]
    weights = dict(zip(model.weights, theta, strict=True))
    wide = np.array([weights.get(name, 0.0) for name in full.weights])
    return {"value": _affine(full, x, wide, "initial_mean", "centre"), "uncertainty": sd}


@_beliefs.register
def _(model: GershmanHybrid, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    x = model.explanatory(episode, *psi)
    return {"value": x[:, :, 0], "uncertainty": x[:, :, 1]}


@_beliefs.register
def _(model: UCB1, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    x = model.explanatory(episode, *psi)
    bonus = x[:, :, model.weights.index("exploration/temperature")]
    return {"value": _affine(model, x, theta, "initial_value"), "count_bonus": bonus}


@_beliefs.register
def _(model: UCL, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    known = model.beliefs(episode, tuple(psi))
    mean = known.mean(theta[1] / theta[0])
    return {"value": mean, "uncertainty": known.standard_deviation(model.noise_variance)}


@_beliefs.register
def _(model: GPUCB, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    x = model.explanatory(episode, *psi)
    return {"value": _affine(model, x, theta, "prior_mean"), "uncertainty": x[:, :, 1]}


@_beliefs.register
def _(model: KnownValues, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    return {"value": np.tile(np.asarray(model.values, dtype=np.float64), (episode.n_events, 1))}


@_beliefs.register
def _(model: StaticModel, episode: Any, theta: Vector, psi: Vector) -> Beliefs:
    parameters = {n.name: n.value(theta, psi) for n in natural_parameters(model)}
    return {"value": model.values(episode.offers, parameters)}


def _affine(model: Any, x: Matrix, theta: Vector, *starts: str) -> Matrix:
    """The first variable, with what each start that is estimated adds, in units of rewards."""
    value = x[:, :, 0].copy()
    for name in starts:
        weight = f"{name}/temperature"
        if weight in model.weights:
            column = model.weights.index(weight)
            value += theta[column] / theta[0] * x[:, :, column]
    return np.asarray(value)
