"""What `fit --price` does: what the attributes of a choice experiment are worth."""

from __future__ import annotations

import numpy as np

from penchant.cli.loading import load_choices
from penchant.cli.model import fit_options
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.running import say_notes, shown
from penchant.cli.showing import Result, many, one
from penchant.cli.words import refuse, say
from penchant.errors import DataError
from penchant.inference.fit import fit
from penchant.inference.fit_each import fit_each
from penchant.models.offers.attributes import Attributes
from penchant.population.subjects import dragged
from penchant.softmax.estimate import Estimate


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
                "--covariance must be model or clustered with --price and --subject; got robust. "
                "Leave it out for an estimate of each, or pass clustered for one of all."
            )
        people = fit_each(choices, worth, parameter_prior=prior, threads=threads)
        doubt = dragged(zip(people.subjects, people, strict=True))
        if doubt:
            say(f"Note: {doubt}")
        return many(people, show)

    return shown(result, file, show)


def _with_errors(found: Estimate, kind: str) -> Estimate:
    """The estimate with robust or clustered errors, where it has errors at all."""
    if kind == "model" or not np.isfinite(found.standard_errors).all():
        return found
    return found.robust() if kind == "robust" else found.clustered()
