"""Forward simulation: agents in the subject's own task, or one step ahead where it is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from penchant._typing import Vector
from penchant.models.model import Declared
from penchant.models.simulate import played
from penchant.studies.data import StudyData
from penchant.studies.landscapes import Landscapes
from penchant.studies.measures import Measurer, Measures, averaged
from penchant.studies.payoffs import Draw
from penchant.workflow.predictive import log_choice_probabilities

How = Literal["payoffs", "landscape", "one step ahead"]


def how_simulated(data: StudyData, landscapes: Landscapes) -> How:
    """What agents are paid by; one step ahead where nobody knows what every option paid.

    An option's mean over everybody's decisions is no task: rewards may drift, reverse, or differ
    between people.
    """
    if data.payoffs is not None:
        return "payoffs"
    return "landscape" if landscapes.complete else "one step ahead"


def simulated(
    subject: Any,
    parameters: Mapping[str, float],
    theta: Vector,
    model: Any,
    measurer: Measurer,
    *,
    n_replicates: int,
    rng: np.random.Generator,
) -> Measures | None:
    """What agents with a subject's estimates do, or what these say one step ahead.

    Parameters
    ----------
    subject, parameters, model, measurer, n_replicates, rng
        As for `played_again`.
    theta
        Weights and shape parameters of the subject.
    """
    told = Declared(model)
    unknown = bool(told.before or told.after)  # nobody knows what other choices would have shown
    if unknown or how_simulated(measurer.data, measurer.landscapes) == "one step ahead":
        return one_step_ahead(subject, theta, model, measurer)
    if not all(map(np.isfinite, parameters.values())):
        return None  # no agent can have an infinite temperature
    return played_again(subject, parameters, model, measurer, n_replicates=n_replicates, rng=rng)


def one_step_ahead(subject: Any, theta: Vector, model: Any, measurer: Measurer) -> Measures | None:
    """What the model expects of every decision after what truly happened before it."""
    if not np.isfinite(theta).all():
        return None
    d, found = len(model.weights), []
    for i in measurer.data.of(subject):
        episode = measurer.data.episodes[i]
        log_p = log_choice_probabilities(model, episode, theta[:d], theta[d:])
        found.append(measurer.ahead(i, np.exp(log_p[episode.is_choice])))
    return averaged(found)


def played_again(
    subject: Any,
    parameters: Mapping[str, float],
    model: Any,
    measurer: Measurer,
    *,
    n_replicates: int,
    rng: np.random.Generator,
) -> Measures:
    """What agents with these parameters do in the episodes of a subject, on average.

    They are shown what the subject was shown, run out of time where the subject did, and get the
    rewards of what they choose: by the subject's own payoffs of every option at every decision, or
    drawn around the mean rewards of the landscape.

    Parameters
    ----------
    subject
        Whose task it is.
    parameters
        Natural parameters of the model.
    model
        How the agents decide.
    measurer
        Knows the episodes and what their options paid.
    n_replicates
        Agents in every episode.
    rng
        Source of randomness.
    """
    found = []
    payoffs = measurer.data.payoffs
    for i in measurer.data.of(subject):
        episode = measurer.data.episodes[i]
        if payoffs is None:
            draw = _draws(measurer.landscapes, i, model, rng)
        else:
            draw = payoffs.draws(i, rng)
        n = episode.n_events
        play = played(model, parameters, draw, rng, n, n_replicates, like=episode)
        arrays = (play.executed, play.rewards)
        each = (np.ascontiguousarray(array[episode.is_choice].T) for array in arrays)
        found.append(measurer.play(i, *each))
    return averaged(found)


def _draws(landscapes: Landscapes, i: int, model: Any, rng: np.random.Generator) -> Draw:
    """A function that draws the rewards of options chosen in an episode, at any decision."""
    means = landscapes.means[landscapes.of_episode[i]]
    if landscapes.binary:
        return lambda _, options: (rng.random(len(options)) < means[options]).astype(float)
    variance = landscapes.noise_for(model)
    sd = np.sqrt(variance) if np.isfinite(variance) else 0.0
    return lambda _, options: means[options] + sd * rng.standard_normal(len(options))
