"""Results as the command line shows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penchant.choices import Choices
from penchant.softmax import Estimate, Estimates
from penchant.softmax.tables import Table, number

MOST_ROWS = 60


def on_command_line(message: str) -> str:
    """Advice of the library, in the words of the command line."""
    words = {
        "method='firth'": "--method firth",
        "parameter_prior=ScaledPrior()": "--prior weak",
        "a parameter_prior": "--prior weak",
        "the profile intervals": "--intervals profile",
        "the profile interval": "--intervals profile",
    }
    for said, typed in words.items():
        message = message.replace(said, typed)
    return message


def subjects_table(estimates: Estimates) -> Table:
    """One row per subject: status, log-likelihood, parameters with standard errors."""
    errors = estimates.standard_errors
    header = ["subject", "status", "n", "log-lik."]
    for name in estimates.names:
        header += [name, "(s.e.)"]
    rows = []
    for i, subject in enumerate(estimates.subjects[:MOST_ROWS]):
        row = [
            str(subject),
            estimates.status[i],
            str(estimates.n_decisions[i]),
            f"{estimates.log_likelihood[i]:.2f}",
        ]
        for theta, error in zip(estimates.theta[i], errors[i], strict=True):
            row += [number(theta, 4), number(error, 3)]
        rows.append(tuple(row))
    return Table(
        caption=f"Softmax choices of {len(estimates)} subjects",
        facts=tuple((status, str(count)) for status, count in estimates.counts().items()),
        header=tuple(header),
        rows=tuple(rows),
        notes=_notes(estimates),
    )


def _notes(estimates: Estimates) -> tuple[str, ...]:
    notes = []
    if len(estimates) > MOST_ROWS:
        notes.append(
            f"{MOST_ROWS} of {len(estimates)} subjects shown; --output FILE.csv keeps all."
        )
    for status in sorted(set(estimates.status) - {"converged"}):
        i = estimates.status.index(status)
        message = on_command_line(estimates.messages[i])
        notes.append(f"For example {estimates.subjects[i]}: {message}")
    return tuple(notes)


def checked_words(choices: Choices, estimates: Sequence[Estimate]) -> str:
    """What the data are, and whether an estimate exists."""
    sizes = choices.n_options
    lines = [
        repr(choices),
        f"Rows: {choices.n_rows}; options per decision: {sizes.min()} to {sizes.max()}; "
        f"decisions with one option, which tell nothing: {int((sizes == 1).sum())}.",
        *(f"Note: {note}" for note in choices.notes),
    ]
    if choices.subject is None:
        return "\n".join([*lines, _about(estimates[0])])
    counts = {e.status: 0 for e in estimates}
    for e in estimates:
        counts[e.status] += 1
    lines.append("Subjects: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    lines += [
        f"{e.subject}: {e.status}. {on_command_line(e.message)}"
        for e in estimates
        if not e.converged
    ]
    return "\n".join(lines)


def _about(estimate: Estimate) -> str:
    checks = estimate.diagnostics
    proof = f" Proof: {checks.certificate}." if checks.certificate else ""
    condition = f"{checks.condition:.3g}" if np.isfinite(checks.condition) else "infinite"
    return (
        f"Status: {estimate.status}. {on_command_line(estimate.message)}{proof}\n"
        f"Identified directions: {checks.rank} of {estimate.n_parameters}; condition of the scaled "
        f"information: {condition}."
    )
