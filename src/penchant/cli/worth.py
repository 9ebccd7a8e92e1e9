"""What `fit --price` does: what the attributes of a choice experiment are worth."""

from __future__ import annotations

from penchant.cli.loading import load_choices
from penchant.cli.model import fit_options
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.running import say_notes, shown
from penchant.cli.showing import Result, many, one
from penchant.cli.words import refuse, say
from penchant.inference.fit import fit
from penchant.inference.fit_each import fit_each
from penchant.models.offers.attributes import Attributes


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
    refuse(model, "with --price", names={"method", "constraint", "covariance", "max_steps"})

    def result() -> Result:
        options = fit_options(model)
        choices = load_choices(file, data, terms)
        say_notes(choices)
        worth = Attributes(choices.names, price=data.price)
        say(f"Model: {worth}.")
        prior, threads = options["parameter_prior"], options["threads"]
        if choices.subject is None:
            return one(fit(choices, worth, parameter_prior=prior), show)
        return many(fit_each(choices, worth, parameter_prior=prior, threads=threads), show)

    return shown(result, file, show)
