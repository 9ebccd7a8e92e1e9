"""What `check` says of choices among offers."""

from __future__ import annotations

from typing import Any

from penchant.cli.model_settings import model_named
from penchant.cli.offers import load_trials, say_trials
from penchant.cli.options import Agent, Data, History
from penchant.cli.result import VALID
from penchant.cli.words import on_command_line, wrapped
from penchant.errors import listing
from penchant.inference.fit_each import ModelEstimates, fit_each
from penchant.io.document import json_text


def run_check_offers(
    file: str | None, data: Data, agent: Agent, history: History, json: bool
) -> int:
    """Read the table as `fit` does, and say of whom an estimate exists; the exit code."""
    assert agent.model is not None
    model = model_named(agent, 0)
    trials: list[Any] = load_trials(file, data, history, agent.model)
    say_trials(trials)
    estimates = fit_each(trials, model)
    if json:
        print(json_text([_document(estimate) for estimate in estimates]), end="")
    else:
        print(wrapped(_words(estimates)))
    return 0 if set(estimates.status) & set(VALID) else 1


def _words(estimates: ModelEstimates) -> str:
    lines = [f"Model: {estimates[0].model}."]
    for status, count in estimates.counts().items():
        who = [estimate for estimate in estimates if estimate.status == status]
        if status == "converged":
            lines.append(f"converged: {count} of {len(estimates)}.")
        else:
            message = f"For example {who[0].subject}: {on_command_line(who[0].message)}"
            lines.append(f"{status}: {listing(str(one.subject) for one in who)}. {message}")
    return "\n".join(lines)


def _document(estimate: Any) -> dict[str, Any]:
    return {
        "subject": estimate.subject,
        "status": estimate.status,
        "message": estimate.message,
        "n_decisions": estimate.n_decisions,
    }
