"""What a model is: explanatory variables as a function of a few shape parameters psi.

A model declares its linear weights theta and its shape parameters psi, and gives the explanatory
variables of every decision for a given psi. That is all a user writes to add one:

    class Learner:
        weights = ("inverse_temperature",)
        shape = (pn.Shape("learning_rate", 0.0, 1.0),)

        def explanatory(self, episode, learning_rate):
            values, x = np.zeros(4), np.empty((episode.n_events, 4, 1))
            for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards)):
                x[t, :, 0] = values
                values[option] += learning_rate * (reward - values[option])
            return x

Row t may use what happened before event t only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from penchant._typing import Matrix
from penchant.bandit.episode import Episode
from penchant.models.natural import Natural as Natural
from penchant.models.shape import Limit as Limit
from penchant.models.shape import Shape as Shape


@runtime_checkable
class Model(Protocol):
    """A softmax model that is linear in weights once the shape parameters are fixed."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the linear weights."""

    @property
    def shape(self) -> tuple[Shape, ...]:
        """Shape parameters."""

    def explanatory(self, episode: Episode, *psi: float) -> Matrix:
        """Variables (n_events, n_options, n_weights), row t from what happened before event t."""


def natural_parameters(model: Model) -> tuple[Natural, ...]:
    """What the model declares, or its weights and shape parameters themselves."""
    declared: Sequence[Natural] | None = getattr(model, "natural", None)
    if declared is not None:
        return tuple(declared)
    weights = [Natural(name, "weight", a) for a, name in enumerate(model.weights)]
    return (*weights, *(Natural(s.name, "shape", a) for a, s in enumerate(model.shape)))


def positive_weights(model: Model) -> tuple[int, ...]:
    """Weights that must be positive."""
    names = getattr(model, "positive", ())
    return tuple(model.weights.index(name) for name in names)


def is_smooth(model: Model) -> bool:
    """Whether the variables are smooth in psi: yes, unless the model says `smooth = False`."""
    return bool(getattr(model, "smooth", True))


def model_words(model: Any) -> str:
    """The model in words: its own, or the name of its class."""
    own: Any = type(model)
    silent = own.__str__ is object.__str__ and own.__repr__ is object.__repr__
    return str(own.__name__) if silent else str(model)
