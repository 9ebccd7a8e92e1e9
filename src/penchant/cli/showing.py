"""Results as the command line shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant.choices import Choices
from penchant.cli.options import Show
from penchant.cli.words import on_command_line, wrapped
from penchant.errors import listing
from penchant.softmax import Estimate, Estimates
from penchant.softmax.estimate import INTERVAL_WORDS
from penchant.softmax.tables import Table, number

MOST_ROWS = 60


def subjects_table(estimates: Estimates, most: int, show: Show) -> Table:
    """One row per subject: status, log-likelihood, parameters and how well they are known."""
    header = ["subject", "status", "n", "log-lik."]
    for name in estimates.names:
        header += [name, how_known(show)]
    rows = []
    for i, subject in enumerate(estimates.subjects[:most]):
        row = [
            str(subject),
            estimates.status[i],
            str(estimates.n_decisions[i]),
            f"{estimates.log_likelihood[i]:.2f}",
        ]
        for theta, known in zip(estimates.theta[i], _known(estimates, i, show), strict=True):
            row += [number(theta, 4), known]
        rows.append(tuple(row))
    return Table(
        caption=f"Softmax choices of {len(estimates)} subjects",
        facts=tuple((status, str(count)) for status, count in estimates.counts().items()),
        header=tuple(header),
        rows=tuple(rows),
        notes=(
            *subjects_notes(estimates.subjects, estimates.status, estimates.messages, most),
            *which_intervals(show),
        ),
    )


def how_known(show: Show) -> str:
    """What stands beside the parameters of subjects: standard errors, or intervals if asked for."""
    return f"({100 * show.level:g} %)" if shows_intervals(show) else "(s.e.)"


def which_intervals(show: Show) -> tuple[str, ...]:
    """A note that says which intervals are shown, if any are."""
    return (f"Intervals: {INTERVAL_WORDS[show.intervals]}.",) if shows_intervals(show) else ()


def shows_intervals(show: Show) -> bool:
    """Whether intervals are worth their time: they were asked for, and the table will be seen."""
    return show.intervals != "wald" and not show.json


def randomness(show: Show) -> np.random.Generator | None:
    """Where calibrated intervals take it from; the same every time."""
    return None if show.seed is None else np.random.default_rng(show.seed)


def seeded(show: Show) -> dict[str, int]:
    """What JSON says of randomness, where there is any."""
    return {} if show.seed is None else {"seed": show.seed}


def from_to(low: float, high: float) -> str:
    """An interval in a cell.

    >>> from_to(0.0020812, float("inf"))
    '0.00208 to inf'
    """
    return f"{number(low, 3)} to {number(high, 3)}"


def _known(estimates: Estimates, i: int, show: Show) -> list[str]:
    if not shows_intervals(show):
        return [number(error, 3) for error in estimates.standard_errors[i]]
    ends = estimates[i].interval(show.level, show.intervals, rng=randomness(show))
    return [from_to(*both) for both in ends]


def subjects_notes(
    subjects: Sequence[Any], statuses: Sequence[str], messages: Sequence[str], most: int
) -> tuple[str, ...]:
    """How many rows are not shown, and an example of every doubt."""
    notes = []
    if len(subjects) > most:
        notes.append(f"{most} of {len(subjects)} subjects shown; --output FILE.csv keeps all.")
    for status in sorted(set(statuses) - {"converged"}):
        i = list(statuses).index(status)
        notes.append(f"For example {subjects[i]}: {on_command_line(messages[i])}")
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
        return wrapped("\n".join([*lines, _about(estimates[0])]))
    found: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        found.setdefault(estimate.status, []).append(estimate)
    lines.append("Subjects: " + ", ".join(f"{len(who)} {status}" for status, who in found.items()))
    lines += [
        f"{status}: {listing(str(e.subject) for e in who)}. For example {who[0].subject}: "
        f"{on_command_line(who[0].message)}"
        for status, who in found.items()
        if status != "converged"
    ]
    return wrapped("\n".join(lines))


def checked_document(estimate: Estimate) -> dict[str, Any]:
    """What `check` found, for JSON."""
    return {
        "subject": estimate.subject,
        "status": estimate.status,
        "message": estimate.message,
        "n_decisions": estimate.n_decisions,
        "diagnostics": estimate.to_dict()["diagnostics"],
        "notes": list(estimate.notes),
    }


def _about(estimate: Estimate) -> str:
    checks = estimate.diagnostics
    proof = f" Proof: {checks.certificate}." if checks.certificate else ""
    condition = f"{checks.condition:.3g}" if np.isfinite(checks.condition) else "infinite"
    return (
        f"Status: {estimate.status}. {on_command_line(estimate.message)}{proof}\n"
        f"Identified directions: {checks.rank} of {estimate.n_parameters}; condition of the scaled "
        f"information: {condition}."
    )
