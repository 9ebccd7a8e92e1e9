"""What `fit` does with a model of task data or offers, and with the price of an experiment."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.episode import Episode
from penchant.cli.choice_input import load_choices
from penchant.cli.fit_choices_command import fit_options, say_notes, show_fit
from penchant.cli.model_settings import counts_options, model_named, nominal, say_places, ucl
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.result_output import Result, many, one
from penchant.cli.table_input import load_offers, load_play
from penchant.cli.terminal import refuse, say
from penchant.errors import DataError, PenchantWarning, text_with_marks
from penchant.inference.fit import fit, fit_model
from penchant.inference.fit_each import fit_each, fit_each_model
from penchant.inference.linearized_model import fit_linearized, fit_linearized_each
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared
from penchant.models.offers.attributes import Attributes
from penchant.population.subject_estimates import price_sensitivity_warning
from penchant.softmax.estimate import Estimate
from penchant.tables.reading import Reading

OF_CHOICES = {"method", "constraint", "covariance", "max_steps"}


def run_fit_play(
    file: str | None,
    data: Data,
    terms: Terms,
    model: Model,
    show: Show,
    agent: Agent,
    history: History,
) -> int:
    """Fit a model to task data or to offers, write, print; the exit code."""

    def result() -> Result:
        refuse(terms, "with --model")
        return play_result(file, data, model, show, agent, history)

    return show_fit(result, file, show)


def play_result(
    file: str | None, data: Data, model: Model, show: Show, agent: Agent, history: History
) -> Result:
    """The fit of a model to task data, or to one-shot choices among offers."""
    refuse(model, "with --model", names=OF_CHOICES)
    options = fit_options(model)
    assert agent.model is not None
    if entry_of(agent.model).data == "offers":
        return _offers_result(file, data, options, show, agent, history)
    prior = _nominal(agent, history)
    if prior is not None:
        refuse(model, "with --linearized", names={"prior"})
        refuse(show, "with --linearized", names={"intervals"})
    ready = ready_model(agent, data, history)
    reading, played = play_for(ready, file, data, history, agent)
    together = history.pool or not reading.subjects
    if prior is not None:
        return _linearized(reading.data, played, prior, together, show)
    return _exact(reading.data, played, together, options, show)


def _exact(
    episodes: Sequence[Any], model: Any, together: bool, options: Mapping[str, Any], show: Show
) -> Result:
    """The exact estimate, of all episodes or of each subject."""
    prior = options["parameter_prior"]
    if together:
        return one(fit_model(episodes, model, parameter_prior=prior), show)
    estimates = fit_each_model(episodes, model, parameter_prior=prior, threads=options["threads"])
    return many(estimates, show)


def _offers_result(
    file: str | None,
    data: Data,
    options: Mapping[str, Any],
    show: Show,
    agent: Agent,
    history: History,
) -> Result:
    """What choices among offers tell of those who made them."""
    model = model_named(agent, 0)
    reading = load_offers(file, data, history, str(agent.model))
    together = history.pool or not reading.subjects
    return _exact(reading.data, model, together, options, show)


def _nominal(agent: Agent, history: History) -> RewardPrior | None:
    if history.linearized is None:
        return None
    if agent.model != "ucl":
        refuse(history, f"with --model {agent.model}", names={"linearized"})
    prior = nominal(history.linearized)
    if agent.length_scale is None and prior.length_scale is None:
        raise DataError(
            "--linearized",
            "must be MEAN,VARIANCE,LENGTH where the length scale is estimated",
            got=repr(history.linearized),
            fix="Add it, or fix it with --length-scale.",
        )
    if agent.length_scale is not None and prior.length_scale is not None:
        raise DataError(
            "--linearized",
            "must be MEAN,VARIANCE where --length-scale is given",
            got=repr(history.linearized),
            fix="Leave one of them out.",
        )
    return prior


def ready_model(agent: Agent, data: Data, history: History) -> Any:
    """The model, before the data are read; None where they say how many options it has."""
    assert agent.model is not None
    if entry_of(agent.model).data != "play":
        raise DataError(
            "--model",
            "must be one of task data with rewards",
            got=f"{agent.model}, which is for offers",
            fix="penchant models lists both.",
        )
    refuse(history, f"with --model {agent.model}", names={"offers"})
    if not counts_options(agent):
        if len(data.options) == 1:
            advice = "The model says how many there are"
            refuse(data, f"with --model {agent.model}", advice, names={"options"})
        if agent.model == "ucl":
            return ucl(agent, history.clock)
    refuse(history, f"with --model {agent.model}", names={"clock"})
    if not counts_options(agent):
        return model_named(agent, 0)
    if len(data.options) != 1:
        model_named(agent, 2)  # says what is wrong with its settings
        return None
    try:
        n_options = int(data.options[0])
    except ValueError:
        raise DataError(
            "--options",
            f"must be a number, or two labels or more, with --model {agent.model}",
            got=data.options[0],
            fix="Leave it out to take the largest one in the file.",
        ) from None
    return model_named(agent, n_options)


def play_for(
    ready: Any, file: str | None, data: Data, history: History, agent: Agent
) -> tuple[Reading, Any]:
    """Task data, and the model for them."""
    reading = load_play(file, data, history, Declared(ready).locations, is_counted=ready is None)
    return reading, model_for(ready, reading, agent)


def model_for(ready: Any, reading: Reading, agent: Agent) -> Any:
    """The model for these data, and what is assumed of it."""
    if ready is None:
        n_options = reading.n_options
        if reading.numbered:
            say(f"Options: {n_options}, as the largest number says; --options if there were more.")
        return model_named(agent, n_options)
    if Declared(ready).locations is None:
        named = (
            f"--options {ready.n_options}" if counts_options(agent) else f"--model {agent.model}"
        )
        reading.check_options(ready.n_options, named)
        return ready
    said = f"--grid {agent.grid}" if agent.grid is not None else f"--locations {agent.locations}"
    reading.check_options(ready.n_options, said)
    say_places(agent, reading, ready.locations)
    return ready


def _linearized(
    episodes: Sequence[Episode], model: Any, prior: RewardPrior, together: bool, show: Show
) -> Result:
    """The paper's estimator, of all episodes or of each subject."""
    if together:
        return one(fit_linearized(episodes, model, nominal=prior), show)
    with warnings.catch_warnings():  # the table says it of each
        warnings.simplefilter("ignore", PenchantWarning)
        found = fit_linearized_each(episodes, model, nominal=prior)
    if found.n_valid < len(found):
        say(f"Warning: {text_with_marks(found.validity_words())}")
    return many(found, show)


def run_fit_worth(
    file: str | None,
    data: Data,
    terms: Terms,
    model: Model,
    show: Show,
    agent: Agent,
    history: History,
) -> int:
    """Fit the willingness to pay for every attribute, write, print; the exit code."""
    for options in (agent, history):
        refuse(options, "with --price", "It is for choice experiments, which need no model")
    refuse(model, "with --price", names={"method", "constraint", "max_steps"})

    def result() -> Result:
        options = fit_options(model)
        choices = load_choices(file, data, terms)
        say_notes(choices)
        worth = Attributes(choices.names, price=data.price)
        say(f"Model: {worth}.")
        prior, threads = options["parameter_prior"], options["threads"]
        kind = model.covariance
        if choices.subject is None or kind == "clustered":
            return one(_with_errors(fit(choices, worth, parameter_prior=prior), kind), show)
        if kind == "robust":
            raise DataError(
                "--covariance",
                "must be model or clustered with --price and --subject",
                got="robust",
                fix="Leave it out for an estimate of each, or pass clustered for one of all.",
            )
        people = fit_each(choices, worth, parameter_prior=prior, threads=threads)
        doubt = price_sensitivity_warning(zip(people.subjects, people, strict=True))
        if doubt:
            say(f"Note: {doubt}")
        return many(people, show)

    return show_fit(result, file, show)


def _with_errors(found: Estimate, kind: str) -> Estimate:
    """The estimate with robust or clustered errors, where it has errors at all."""
    if kind == "model" or not np.isfinite(found.standard_errors).all():
        return found
    return found.robust() if kind == "robust" else found.clustered()
