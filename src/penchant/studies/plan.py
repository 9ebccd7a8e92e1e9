"""Settings of a study (model, nominal points, simulations, seed), and their fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from penchant._version import __version__
from penchant.argument_checks import check_level, check_one_of
from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.episode import Episode
from penchant.errors import DataError
from penchant.inference.linearized_model import Nominal, nominal_psi_and_ratios
from penchant.models.model import Declared, Model
from penchant.softmax.prior import ParameterPrior
from penchant.studies.landscapes import Landscapes
from penchant.studies.study_data import StudyData

Category = Literal["low", "high"]
CATEGORIES: tuple[Category, ...] = ("high", "low")
# Section VII of the paper: one point for subjects with low, one for those with high performance.
PAPER_NOMINALS: Mapping[Category, RewardPrior] = {
    "low": RewardPrior(mean=30.0, variance=10.0, length_scale=0.1),
    "high": RewardPrior(mean=200.0, variance=1e6, length_scale=4.0),
}


@dataclass(frozen=True)
class Plan:
    """The settings of a study.

    Parameters
    ----------
    model
        How subjects are taken to decide.
    nominals
        Points that the paper's estimator is linearised about, for subjects with low and with high
        performance; empty for no linearised fits.
    parameter_prior
        Prior on the weights of the exact fits; None for maximum likelihood.
    level
        Confidence level of all intervals.
    intervals
        Of the exact estimates: "profile" (likelihood ratio) or "wald".
    n_replicates
        Agents that play again for every subject; 0 for none.
    n_bootstrap
        Replicates that tell how sure a growth order is; 0 for none.
    seed
        From which all randomness follows.
    performance
        Whether regret is measured and subjects are classified by how it grows; None: where the best
        option is known.
    population
        Whether everybody is fitted at once, too; None: where every group has 8 people or more and
        the model at most four parameters.
    """

    model: Model
    nominals: Mapping[Category, Nominal] = field(default_factory=dict)
    parameter_prior: ParameterPrior | None = None
    level: float = 0.95
    intervals: Literal["wald", "profile"] = "profile"
    n_replicates: int = 10
    n_bootstrap: int = 200
    seed: int = 0
    performance: bool | None = None
    population: bool | None = None

    def __post_init__(self) -> None:
        check_level(self.level)
        check_one_of(self.intervals, "intervals", ("wald", "profile"))
        for name in ("n_replicates", "n_bootstrap", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                raise DataError(name, "must be a whole number, 0 or more", got=repr(value))
        for category in self.nominals:
            if category not in CATEGORIES:
                raise DataError(
                    "nominals",
                    "must be for 'low' and 'high'",
                    got=repr(category),
                    fix="Correct it.",
                )
            nominal_psi_and_ratios(*self.linear(category))
        check_one_of(self.performance, "performance", (None, True, False))
        check_one_of(self.population, "population", (None, True, False))
        if self.performance is False and self.nominals:
            raise DataError(
                "performance",
                "must not be False with nominals",
                got=f"points for {' and '.join(self.nominals)}",
                fix="They are chosen by performance: leave out one.",
            )

    def linear(self, category: Category) -> tuple[Model, Nominal]:
        """The model to linearise for a category, and the nominal point.

        A nominal length scale is held fixed, as in the paper.
        """
        model: Any = self.model
        nominal = self.nominals[category]
        if Declared(model).nominal_point is None or not isinstance(nominal, RewardPrior):
            return model, nominal
        if nominal.length_scale is None:
            return model, nominal
        held = replace(model, length_scale=float(nominal.length_scale))
        return held, replace(nominal, length_scale=None)

    def document(self) -> dict[str, Any]:
        """The settings as plain words and numbers."""
        return {
            "model": model_words(self.model),
            "nominals": {name: nominal_text(point) for name, point in self.nominals.items()},
            "parameter_prior": None if self.parameter_prior is None else repr(self.parameter_prior),
            "level": self.level,
            "intervals": self.intervals,
            "n_replicates": int(self.n_replicates),
            "n_bootstrap": int(self.n_bootstrap),
            "seed": int(self.seed),
            "performance": self.performance,
            "population": self.population,
        }


def model_words(model: Any) -> str:
    """The model with all that matters of it, also what its name leaves out."""
    described = str(model)
    return type(model).__name__ if described.startswith("<") else described


def nominal_text(nominal: Nominal) -> str:
    """A nominal point in words.

    >>> nominal_text(RewardPrior(mean=200, variance=1e6, length_scale=4))
    'prior mean 200, prior variance 1e+06, length scale 4'
    """
    if isinstance(nominal, RewardPrior):
        scale = "" if nominal.length_scale is None else f", length scale {nominal.length_scale:g}"
        return f"prior mean {nominal.mean:g}, prior variance {nominal.variance:g}{scale}"
    return ", ".join(f"{name} {value:g}" for name, value in nominal.items())


def fingerprint(data: StudyData, landscapes: Landscapes, plan: Plan) -> dict[str, Any]:
    """Hashes of data and settings that must not change between the parts of a study."""
    places = Declared(plan.model).locations
    return {
        "penchant": __version__,
        "data": _data(data),
        "landscapes": _hash(landscapes.means, landscapes.best, landscapes.of_episode),
        "locations": _hash(np.empty(0) if places is None else places),
        **plan.document(),
    }


def describe_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Describe the differences between two fingerprints.

    >>> describe_changes({"data": "a1", "seed": 3}, {"data": "b2", "seed": 4})
    ['other data', 'seed 4, was 3']
    """
    found = []
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        if key in ("data", "landscapes", "locations"):
            found.append(f"other {key}")
        else:
            found.append(f"{key} {_format_setting(new)}, was {_format_setting(old)}")
    return found


def _format_setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {v}" for k, v in value.items()) or "none"
    return "none" if value is None else str(value)


def _data(data: StudyData) -> str:
    digest = hashlib.sha256()
    places = data.landscapes or ((),) * len(data.episodes)
    for episode, place in zip(data.episodes, places, strict=True):
        label = repr((episode.subject, episode.block, place, data.condition(episode.subject)))
        digest.update(label.encode())
        for values in _arrays(episode):
            digest.update(np.ascontiguousarray(values).tobytes())
    if data.payoffs is not None:
        noise = data.payoffs.noise_variance, data.payoffs.noise_by_episode
        digest.update(repr((data.payoffs.kind, *noise)).encode())
        for values in data.payoffs.values:
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def _arrays(episode: Any) -> tuple[Any, ...]:
    if isinstance(episode, Episode):
        happened = (episode.chosen, episode.rewards, episode.is_choice, episode.scored)
        apart = episode.executed_episode is not episode
        return (*happened, *((episode.executed,) if apart else ()), *episode.context.arrays)
    return (episode.chosen, episode.scored, *(episode.offers[name] for name in episode.offers))


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
