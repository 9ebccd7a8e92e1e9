"""What `check` does: load, look, say what is there."""

from __future__ import annotations

from penchant.cli.checking_offers import run_check_offers
from penchant.cli.checking_play import is_history, run_check_play
from penchant.cli.loading import load_choices
from penchant.cli.options import Agent, Data, History, Terms
from penchant.cli.refusing import refuse
from penchant.cli.running import exit_code, say_notes
from penchant.cli.showing import checked_document, checked_words
from penchant.inference import fit, fit_each
from penchant.io.document import json_text
from penchant.models.catalogue import entry_of


def run_check(
    file: str | None, data: Data, terms: Terms, json: bool, agent: Agent, history: History
) -> int:
    """Validate, diagnose, print; the exit code."""
    if agent.model is not None and entry_of(agent.model).data == "trials":
        return run_check_offers(file, data, agent, history, json)
    if is_history(file, data, terms, agent, history):
        return run_check_play(file, data, agent, history, json)
    refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
    refuse(history, "without --model", "Say which: --model ucl or --model q-learning")
    choices = load_choices(file, data, terms)
    estimates = [fit(choices)] if choices.subject is None else list(fit_each(choices))
    if json:
        say_notes(choices)
        found = [checked_document(estimate) for estimate in estimates]
        print(json_text(found[0] if choices.subject is None else found), end="")
    else:
        print(checked_words(choices, estimates))
    return exit_code(tuple(estimate.status for estimate in estimates))
