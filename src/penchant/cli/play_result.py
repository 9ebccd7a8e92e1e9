"""Estimates from a history of play, as they are printed and kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penchant._frames import frame
from penchant.cli.options import Show
from penchant.cli.result import Result, check_sound, keeps_words
from penchant.cli.showing import (
    MOST_ROWS,
    from_to,
    how_known,
    randomness,
    seeded,
    shows_intervals,
    subjects_notes,
    which_intervals,
)
from penchant.cli.words import on_command_line, say
from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit_each import ModelEstimates
from penchant.inference.linearized_estimate import (
    LinearizedEstimate,
    LinearizedEstimates,
    nominal_words,
)
from penchant.softmax.tables import Table, number


def model_one(estimate: ModelEstimate, show: Show) -> Result:
    """The result of one exact fit."""
    check_sound(estimate.status, estimate.theta)
    words = _worded(estimate.table(show.level, show.intervals, randomness(show)))
    doubt = f"{estimate.status}: {estimate.message}"
    return Result(
        statuses=(estimate.status,),
        doubts=() if estimate.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _model_document(estimate, show),
        frame=lambda: estimate.to_frame(show.level, "pyarrow", show.intervals, randomness(show)),
    )


def model_many(estimates: ModelEstimates, show: Show) -> Result:
    """The result of one exact fit per subject."""
    for estimate in estimates:
        check_sound(estimate.status, estimate.theta)

    def table(most: int) -> Table:
        notes = subjects_notes(estimates.subjects, estimates.status, estimates.messages, most)
        more = f"Model: {estimates[0].model}."
        caption = f"Exact maximum likelihood of {len(estimates)} subjects"
        if estimates[0].prior is not None:
            caption = f"MAP, {estimates[0].prior} prior, of {len(estimates)} subjects"
        shown = estimates[:most]
        part = ModelEstimates(estimates.subjects[:most], shown)
        kind = show.intervals if shows_intervals(show) else "wald"
        found = part.parameters_at(show.level, kind, randomness(show))
        rows = _rows(estimates.subjects, shown, estimates.status, found, show)
        return _subjects_table(
            caption, estimates.status, rows, (*notes, more, *which_intervals(show))
        )

    printed = table(MOST_ROWS)
    return Result(
        statuses=estimates.status,
        doubts=(_counted(estimates.status),),
        printed=printed,
        kept=table(len(estimates)) if keeps_words(show) else printed,
        document=lambda: [_model_document(estimate, show) for estimate in estimates],
        frame=lambda: estimates.to_frame(show.level, "pyarrow", show.intervals, randomness(show)),
    )


def linearized_one(found: LinearizedEstimate, show: Show) -> Result:
    """The result of one fit of the paper's estimator."""
    check_sound(found.estimate.status, found.estimate.theta)
    words = _worded(found.table(show.level))
    doubt = f"{found.status}: {on_command_line(found.message)}"
    return Result(
        statuses=(found.status,),
        doubts=() if found.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _linearized_document(found, show),
        frame=lambda: _linearized_frame(found, show),
    )


def linearized_many(found: LinearizedEstimates, show: Show) -> Result:
    """The result of the paper's estimator for every subject."""
    if found.n_valid < len(found):
        say(f"Warning: {_range_words(found)}")

    def table(most: int) -> Table:
        caption = f"Linearised about {nominal_words(found[0].nominal)}, {len(found)} subjects"
        notes = subjects_notes(found.subjects, found.status, found.messages, most)
        shown = [f.estimate for f in found[:most]]
        known = [f.parameters for f in found[:most]]
        wald = replace(show, intervals="wald")
        header, rows = _rows(found.subjects, shown, found.status, known, wald)
        header = (*header, "Delta/nominal")
        rows = [(*row, number(f.ratio, 4)) for row, f in zip(rows, found, strict=False)]
        more = (*notes, _range_words(found), f"Model: {found[0].model}.")
        return _subjects_table(caption, found.status, (header, rows), more)

    return Result(
        statuses=found.status,
        doubts=(_counted(found.status),),
        printed=table(MOST_ROWS),
        kept=table(len(found)),
        document=lambda: [_linearized_document(one, show) for one in found],
        frame=lambda: found.to_frame(show.level, "pyarrow"),
    )


def _worded(table: Table) -> Table:
    return dataclasses.replace(table, notes=tuple(map(on_command_line, table.notes)))


def _counted(statuses: Sequence[str]) -> str:
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses)))
    return f"{len(statuses)} subjects: {counts}"


Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]


def _rows(
    subjects: Sequence[Any],
    estimates: Sequence[Any],
    statuses: Sequence[str],
    parameters: Sequence[Sequence[Any]],
    show: Show,
) -> Rows:
    """Header and rows: natural parameters with standard errors, or intervals."""
    header = ["subject", "status", "n", "log-lik."]
    for parameter in parameters[0]:
        header += [parameter.name, how_known(show)]
    rows = []
    for i, estimate in enumerate(estimates):
        fit = [str(estimate.n_decisions), f"{estimate.log_likelihood:.2f}"]
        row = [str(subjects[i]), statuses[i], *fit]
        for p in parameters[i]:
            error = number(p.standard_error, 3)
            known = from_to(p.low, p.high) if shows_intervals(show) else error
            row += [number(p.estimate, 4), known]
        rows.append(tuple(row))
    return tuple(header), rows


def _subjects_table(
    caption: str, statuses: Sequence[str], rows: Rows, notes: tuple[str, ...]
) -> Table:
    facts = tuple((status, str(statuses.count(status))) for status in sorted(set(statuses)))
    header, cells = rows
    return Table(caption, facts, header, tuple(cells), notes)


def _model_document(estimate: ModelEstimate, show: Show) -> dict[str, Any]:
    document = estimate.to_dict(show.level, show.intervals, randomness(show))
    return document | seeded(show) | {"notes": list(estimate.notes)}


def _range_words(found: LinearizedEstimates) -> str:
    far = len(found) - found.n_valid
    low, high = found[0].bounds[0], min(f.bounds[1] for f in found)
    bounds = f"bounds {low:.4g} and {high:.4g}"
    if not far:
        return f"Delta / nominal is small for every subject ({bounds})."
    return (
        f"Delta / nominal is not small, or the parameters lie outside the model, for {far} of "
        f"{len(found)} subjects ({bounds}): their shape parameters mean nothing. Linearise about "
        "another prior, or leave --linearized out for the exact fit."
    )


def _linearized_document(found: LinearizedEstimate, show: Show) -> dict[str, Any]:
    return found.to_dict(show.level) | {"message": on_command_line(found.message)}


def _linearized_frame(found: LinearizedEstimate, show: Show) -> Any:
    """Natural parameters, then theta."""
    low_high = found.estimate.interval(show.level)
    theta = zip(
        found.estimate.names,
        found.estimate.theta,
        found.estimate.standard_errors,
        *low_high.T,
        strict=True,
    )
    natural = [
        (p.name, p.estimate, p.standard_error, p.low, p.high)
        for p in found.parameters_at(show.level)
    ]
    columns = zip(*natural, *theta, strict=True)
    names = ("name", "estimate", "standard_error", "low", "high")
    return frame(dict(zip(names, columns, strict=True)), "pyarrow")
