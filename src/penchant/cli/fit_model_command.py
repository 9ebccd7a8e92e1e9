"""The command `fit` with a model of task data or offers, or with --price."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.episode import Episode
from penchant.cli.choice_input import load_choices
from penchant.cli.fit_choices_command import fit_options, say_notes, show_fit
from penchant.cli.model_settings import (
    build_named_model,
    build_ucl,
    counts_options,
    parse_reward_prior,
    say_locations,
)
from penchant.cli.options import Agent, Data, EstimationOptions, FitOutputOptions, History, Terms
from penchant.cli.result_output import Result, fit_result, fits_result
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

CHOICE_FIT_OPTIONS = {"method", "constraint", "covariance", "max_steps"}


def run_fit_play(
    file: str | None,
    data: Data,
    terms: Terms,
    estimation: EstimationOptions,
    output_options: FitOutputOptions,
    agent: Agent,
    history: History,
) -> int:
    """Run `fit --model`: fit task data or offers, write, print; return the exit code."""

    def result() -> Result:
        refuse(terms, "with --model")
        return fit_model_to_file(file, data, estimation, output_options, agent, history)

    return show_fit(result, file, output_options)


def fit_model_to_file(
    file: str | None,
    data: Data,
    estimation: EstimationOptions,
    output_options: FitOutputOptions,
    agent: Agent,
    history: History,
) -> Result:
    """The fit of a model to task data, or to one-shot choices among offers."""
    refuse(estimation, "with --model", names=CHOICE_FIT_OPTIONS)
    options = fit_options(estimation)
    assert agent.model is not None
    if entry_of(agent.model).data == "offers":
        return _fit_offers(file, data, options, output_options, agent, history)
    prior = _linearization_prior(agent, history)
    if prior is not None:
        refuse(estimation, "with --linearized", names={"prior"})
        refuse(output_options, "with --linearized", names={"intervals"})
    ready = model_before_data(agent, data, history)
    reading, played = load_play_and_model(ready, file, data, history, agent)
    together = history.pool or not reading.subjects
    if prior is not None:
        return _fit_linearized(reading.data, played, prior, together, output_options)
    return _fit_exactly(reading.data, played, together, options, output_options)


def _fit_exactly(
    episodes: Sequence[Any],
    model: Any,
    together: bool,
    options: Mapping[str, Any],
    output_options: FitOutputOptions,
) -> Result:
    """Compute the exact estimate, of all episodes or of each subject."""
    prior = options["parameter_prior"]
    if together:
        return fit_result(fit_model(episodes, model, parameter_prior=prior), output_options)
    estimates = fit_each_model(episodes, model, parameter_prior=prior, threads=options["threads"])
    return fits_result(estimates, output_options)


def _fit_offers(
    file: str | None,
    data: Data,
    options: Mapping[str, Any],
    output_options: FitOutputOptions,
    agent: Agent,
    history: History,
) -> Result:
    """Fit a model to one-shot choices among offers."""
    model = build_named_model(agent, 0)
    reading = load_offers(file, data, history, str(agent.model))
    together = history.pool or not reading.subjects
    return _fit_exactly(reading.data, model, together, options, output_options)


def _linearization_prior(agent: Agent, history: History) -> RewardPrior | None:
    if history.linearized is None:
        return None
    if agent.model != "ucl":
        refuse(history, f"with --model {agent.model}", names={"linearized"})
    prior = parse_reward_prior(history.linearized)
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


def model_before_data(agent: Agent, data: Data, history: History) -> Any:
    """Build the model before the data are read; None where these tell its number of options."""
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
            return build_ucl(agent, history.clock)
    refuse(history, f"with --model {agent.model}", names={"clock"})
    if not counts_options(agent):
        return build_named_model(agent, 0)
    if len(data.options) != 1:
        build_named_model(agent, 2)  # says what is wrong with its settings
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
    return build_named_model(agent, n_options)


def load_play_and_model(
    ready: Any, file: str | None, data: Data, history: History, agent: Agent
) -> tuple[Reading, Any]:
    """Load task data and the model for them."""
    reading = load_play(file, data, history, Declared(ready).locations, is_counted=ready is None)
    return reading, model_for_data(ready, reading, agent)


def model_for_data(ready: Any, reading: Reading, agent: Agent) -> Any:
    """Complete the model for these data, and print what is assumed about its options."""
    if ready is None:
        n_options = reading.n_options
        if reading.numbered:
            say(f"Options: {n_options}, as the largest number says; --options if there were more.")
        return build_named_model(agent, n_options)
    if Declared(ready).locations is None:
        named = (
            f"--options {ready.n_options}" if counts_options(agent) else f"--model {agent.model}"
        )
        reading.check_options(ready.n_options, named)
        return ready
    option = f"--grid {agent.grid}" if agent.grid is not None else f"--locations {agent.locations}"
    reading.check_options(ready.n_options, option)
    say_locations(agent, reading, ready.locations)
    return ready


def _fit_linearized(
    episodes: Sequence[Episode],
    model: Any,
    prior: RewardPrior,
    together: bool,
    output_options: FitOutputOptions,
) -> Result:
    """Compute the paper's linearised estimate, of all episodes or of each subject."""
    if together:
        return fit_result(fit_linearized(episodes, model, nominal=prior), output_options)
    with warnings.catch_warnings():  # the table says it of each
        warnings.simplefilter("ignore", PenchantWarning)
        found = fit_linearized_each(episodes, model, nominal=prior)
    if found.n_valid < len(found):
        say(f"Warning: {text_with_marks(found.validity_words())}")
    return fits_result(found, output_options)


def run_fit_worth(
    file: str | None,
    data: Data,
    terms: Terms,
    estimation: EstimationOptions,
    output_options: FitOutputOptions,
    agent: Agent,
    history: History,
) -> int:
    """Run `fit --price`: fit the willingness to pay for attributes; return the exit code."""
    for options in (agent, history):
        refuse(options, "with --price", "It is for choice experiments, which need no model")
    refuse(estimation, "with --price", names={"method", "constraint", "max_steps"})

    def result() -> Result:
        options = fit_options(estimation)
        choices = load_choices(file, data, terms)
        say_notes(choices)
        worth = Attributes(choices.names, price=data.price)
        say(f"Model: {worth}.")
        prior, threads = options["parameter_prior"], options["threads"]
        kind = estimation.covariance
        if choices.subject is None or kind == "clustered":
            return fit_result(
                _with_covariance_errors(fit(choices, worth, parameter_prior=prior), kind),
                output_options,
            )
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
        return fits_result(people, output_options)

    return show_fit(result, file, output_options)


def _with_covariance_errors(found: Estimate, kind: str) -> Estimate:
    """Replace the standard errors by robust or clustered ones, where the estimate has errors."""
    if kind == "model" or not np.isfinite(found.standard_errors).all():
        return found
    return found.robust() if kind == "robust" else found.clustered()
