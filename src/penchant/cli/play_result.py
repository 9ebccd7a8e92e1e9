"""Estimates from a history of play, as they are printed and kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant._frames import frame
from penchant.bandit.reward_prior import RewardPrior
from penchant.cli.options import Show
from penchant.cli.result import Result, check_sound
from penchant.cli.showing import MOST_ROWS, subjects_notes
from penchant.cli.words import on_command_line, say
from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit_each import ModelEstimates
from penchant.inference.linearized import LinearizedEstimate
from penchant.softmax.document import plain
from penchant.softmax.tables import Table, number

OUTSIDE = "outside the model"


def model_one(estimate: ModelEstimate, show: Show) -> Result:
    """The result of one exact fit."""
    check_sound(estimate.status, estimate.theta)
    words = _worded(estimate.table(show.level, show.intervals))
    doubt = f"{estimate.status}: {estimate.message}"
    return Result(
        statuses=(estimate.status,),
        doubts=() if estimate.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _model_document(estimate, show),
        frame=lambda: estimate.to_frame(show.level, backend="pyarrow", kind=show.intervals),
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
        rows = _rows(estimates.subjects, estimates, estimates.status, most)
        return _subjects_table(caption, estimates.status, rows, (*notes, more))

    return Result(
        statuses=estimates.status,
        doubts=(_counted(estimates.status),),
        printed=table(MOST_ROWS),
        kept=table(len(estimates)),
        document=lambda: [_model_document(estimate, show) for estimate in estimates],
        frame=lambda: estimates.to_frame(show.level, backend="pyarrow", kind=show.intervals),
    )


def linearized_one(found: LinearizedEstimate, nominal: RewardPrior, show: Show) -> Result:
    """The result of one fit of the paper's estimator."""
    check_sound(found.estimate.status, found.estimate.theta)
    table = _worded(found.estimate.table(show.level))
    status = _status(found)
    words = dataclasses.replace(
        table,
        facts=(("Status", status), *table.facts[1:]),
        caption=f"Linearised about {_nominal_words(nominal)}: maximum likelihood",
        notes=(*table.notes, f"Model: {found.model}."),
    )
    doubt = f"{status}: {_message(found)}"
    return Result(
        statuses=(status,),
        doubts=() if status == "converged" else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _linearized_document(found, nominal, None, show),
        frame=lambda: _linearized_frame(found, show),
    )


def linearized_many(
    subjects: Sequence[Any], found: Sequence[LinearizedEstimate], nominal: RewardPrior, show: Show
) -> Result:
    """The result of the paper's estimator for every subject."""
    statuses = tuple(map(_status, found))
    messages = tuple(map(_message, found))
    if not all(f.valid for f in found):
        say(f"Warning: {_range_words(found)}")

    def table(most: int) -> Table:
        caption = f"Linearised about {_nominal_words(nominal)}, {len(found)} subjects"
        notes = subjects_notes(subjects, statuses, messages, most)
        header, rows = _rows(subjects, [f.estimate for f in found], statuses, most)
        header = (*header, "Delta/nominal")
        rows = [(*row, number(f.ratio, 4)) for row, f in zip(rows, found, strict=False)]
        more = (*notes, _range_words(found), f"Model: {found[0].model}.")
        return _subjects_table(caption, statuses, (header, rows), more)

    return Result(
        statuses=statuses,
        doubts=(_counted(statuses),),
        printed=table(MOST_ROWS),
        kept=table(len(found)),
        document=lambda: [
            _linearized_document(f, nominal, subject, show)
            for f, subject in zip(found, subjects, strict=True)
        ],
        frame=lambda: _linearized_subjects_frame(subjects, found, statuses, show),
    )


def _worded(table: Table) -> Table:
    return dataclasses.replace(table, notes=tuple(map(on_command_line, table.notes)))


def _counted(statuses: Sequence[str]) -> str:
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses)))
    return f"{len(statuses)} subjects: {counts}"


Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]


def _rows(
    subjects: Sequence[Any], estimates: Sequence[Any], statuses: Sequence[str], most: int
) -> Rows:
    """Header and rows: natural parameters with standard errors."""
    header = ["subject", "status", "n", "log-lik."]
    for parameter in estimates[0].parameters:
        header += [parameter.name, "(s.e.)"]
    rows = []
    for subject, estimate, status in list(zip(subjects, estimates, statuses, strict=True))[:most]:
        row = [str(subject), status, str(estimate.n_decisions), f"{estimate.log_likelihood:.2f}"]
        for p in estimate.parameters:
            row += [number(p.estimate, 4), number(p.standard_error, 3)]
        rows.append(tuple(row))
    return tuple(header), rows


def _subjects_table(
    caption: str, statuses: Sequence[str], rows: Rows, notes: tuple[str, ...]
) -> Table:
    facts = tuple((status, str(statuses.count(status))) for status in sorted(set(statuses)))
    header, cells = rows
    return Table(caption, facts, header, tuple(cells), notes)


def _model_document(estimate: ModelEstimate, show: Show) -> dict[str, Any]:
    document = estimate.to_dict(show.level, show.intervals)
    return document | {"intervals": show.intervals, "notes": list(estimate.notes)}


def _status(found: LinearizedEstimate) -> str:
    """That of the linear problem, unless its solution is no parameter of the model."""
    known = bool(np.isfinite(found.estimate.theta).all())
    if known and not np.isfinite(found.exact_log_likelihood):
        return OUTSIDE
    return str(found.estimate.status)


def _message(found: LinearizedEstimate) -> str:
    if _status(found) != OUTSIDE:
        return str(found.estimate.message)
    return (
        "theta gives a decision noise or a prior variance that is not positive, so there are no "
        "natural parameters. Linearise about another prior, or leave --linearized out."
    )


def _nominal_words(nominal: RewardPrior) -> str:
    scale = "" if nominal.length_scale is None else f", length scale {nominal.length_scale:g}"
    return f"prior mean {nominal.mean:g}, variance {nominal.variance:g}{scale}"


def _range_words(found: Sequence[LinearizedEstimate]) -> str:
    far = sum(not f.valid for f in found)
    low, high = found[0].bounds[0], min(f.bounds[1] for f in found)
    bounds = f"bounds {low:.4g} and {high:.4g}"
    if not far:
        return f"Delta / nominal is small for every subject ({bounds})."
    return (
        f"Delta / nominal is not small, or the parameters lie outside the model, for {far} of "
        f"{len(found)} subjects ({bounds}): their shape parameters mean nothing. Linearise about "
        "another prior, or leave --linearized out for the exact fit."
    )


def _linearized_document(
    found: LinearizedEstimate, nominal: RewardPrior, subject: Any, show: Show
) -> dict[str, Any]:
    return found.estimate.to_dict(show.level) | {
        "subject": subject,
        "status": _status(found),
        "message": on_command_line(_message(found)),
        "model": str(found.model),
        "nominal": dataclasses.asdict(nominal),
        "ratio": plain(found.ratio),
        "bounds": [plain(bound) for bound in found.bounds],
        "valid": found.valid,
        "exact_log_likelihood": plain(found.exact_log_likelihood),
    }


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
        for p in found.estimate.parameters_at(show.level)
    ]
    columns = zip(*natural, *theta, strict=True)
    names = ("name", "estimate", "standard_error", "low", "high")
    return frame(dict(zip(names, columns, strict=True)), "pyarrow")


def _linearized_subjects_frame(
    subjects: Sequence[Any],
    found: Sequence[LinearizedEstimate],
    statuses: Sequence[str],
    show: Show,
) -> Any:
    columns: dict[str, list[Any]] = {
        "subject": list(subjects),
        "status": list(statuses),
        "n_decisions": [f.estimate.n_decisions for f in found],
        "log_likelihood": [f.estimate.log_likelihood for f in found],
        "exact_log_likelihood": [f.exact_log_likelihood for f in found],
        "ratio": [f.ratio for f in found],
        "ratio_low": [f.bounds[0] for f in found],
        "ratio_high": [f.bounds[1] for f in found],
    }
    each = [f.estimate.parameters_at(show.level) for f in found]
    for j, parameter in enumerate(each[0]):
        columns[parameter.name] = [p[j].estimate for p in each]
        columns[f"{parameter.name}_standard_error"] = [p[j].standard_error for p in each]
        columns[f"{parameter.name}_low"] = [p[j].low for p in each]
        columns[f"{parameter.name}_high"] = [p[j].high for p in each]
    return frame(columns, "pyarrow")
