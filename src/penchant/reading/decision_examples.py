"""A few decisions as they were read, so that somebody who knows the task sees what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penchant.errors import format_list
from penchant.result_tables import format_count
from penchant.tables.reading import Reading

MAX_SHOWN = 3  # decisions that are shown
MAX_LISTED_OPTIONS = 6  # more options than these are counted rather than named


def decision_examples(reading: Reading) -> list[str]:
    """Three decisions, counts of options, the range of rewards, and what was left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import penchant as pn
    >>> table = pa.table({"id": [1, 1, 1], "choice": ["f", "j", "f"], "reward": [1, 0, 2]})
    >>> for line in decision_examples(pn.read(table, subject="id", keep="", first=0)):
    ...     print(line)
    subject 1, trial 1: chose f of f, j; received 1
    subject 1, trial 2: chose j of f, j; received 0
    subject 1, trial 3: chose f of f, j; received 2
    chosen: f 2, j 1
    rewards: 0 to 2
    """
    kinds = {"play": _episodes, "offers": _offers, "choices": _choices}
    names = _names(reading)
    lines = kinds[reading.kind](reading, names)
    if reading.n_missed:
        lines.append(f"missed: {format_count(reading.n_missed, 'decision')} that nobody made")
    for reason, n in reading.excluded.items():
        lines.append(f"left out: {format_count(n, 'row')}: {reason}")
    return lines


def _names(reading: Reading) -> Sequence[str]:
    """Names of the options: those of the schema, their codes, or numbers."""
    choice = None if reading.schema is None else reading.schema.choice
    if choice is None or not choice.labels or len(choice.labels) < reading.n_options:
        return [str(k) for k in range(reading.n_options)]
    named = choice.names or [x[0] if isinstance(x, tuple) else x for x in choice.labels]
    return [str(name) for name in named]


def _episodes(reading: Reading, names: Sequence[str]) -> list[str]:
    first = reading.data[0]
    lines = []
    for trial in np.flatnonzero(first.scored)[:MAX_SHOWN].tolist():
        chosen = int(first.chosen[trial])
        open_to: Sequence[int] = range(len(names))
        if first.available is not None:
            open_to = np.flatnonzero(first.available[trial]).tolist()
        lines.append(
            f"{_trial_heading(first, trial)}: chose {names[chosen]} of {_listed(names, open_to)}; "
            f"received {first.rewards[trial]:g}"
        )
    taken = np.concatenate([one.chosen[one.scored] for one in reading.data])
    paid = np.concatenate([one.rewards for one in reading.data])
    lines.append(_counts(names, taken))
    if np.isfinite(paid).any():
        lines.append(f"rewards: {np.nanmin(paid):g} to {np.nanmax(paid):g}")
    return lines


def _trial_heading(one: Any, trial: int) -> str:
    words = [] if one.subject is None else [f"subject {one.subject}"]
    words += [] if one.block is None else [f"block {one.block}"]
    return ", ".join([*words, f"trial {trial + 1}"])


def _offers(reading: Reading, names: Sequence[str]) -> list[str]:
    first = reading.data[0]
    lines = []
    for trial in np.flatnonzero(first.scored)[:MAX_SHOWN].tolist():
        option_texts = "; or ".join(_described(first.offers, trial, k) for k in range(len(names)))
        lines.append(
            f"{_trial_heading(first, trial)}: chose "
            f"{names[int(first.chosen[trial])]} of {option_texts}"
        )
    taken = np.concatenate([one.chosen[one.scored] for one in reading.data])
    return [*lines, _counts(names, taken)]


def _described(offers: Mapping[str, Any], trial: int, option: int) -> str:
    parts = []
    for name, values in offers.items():
        cell = np.atleast_1d(values[trial, option])
        parts.append(f"{name} {' and '.join(f'{x:g}' for x in cell)}")
    return ", ".join(parts)


def _choices(reading: Reading, names: Sequence[str]) -> list[str]:
    data = reading.data
    labels = [str(x) for x in data.option_labels or names]
    lines = []
    for k in range(min(MAX_SHOWN, data.n_decisions)):
        rows = range(int(data.first_row[k]), int(data.first_row[k + 1]))
        called = [
            labels[int(data.option[row])] if data.option is not None else str(row) for row in rows
        ]
        option_texts = "; ".join(
            f"{name} ({', '.join(_values(data, row))})"
            for name, row in zip(called, rows, strict=True)
        )
        who = "" if data.subject is None else f"subject {data.subject_labels[data.subject[k]]}, "
        lines.append(
            f"{who}decision {k + 1}: chose {called[int(data.chosen[k])]} of {option_texts}"
        )
    if data.option is not None:
        lines.append(_counts(labels, data.option[data.chosen_row]))
    return lines


def _values(data: Any, row: int) -> Iterator[str]:
    for name, value in zip(data.names, data.explanatory[row], strict=True):
        yield f"{name} {value:g}"


def _counts(names: Sequence[str], taken: Any) -> str:
    counts = np.bincount(np.asarray(taken, dtype=np.int64), minlength=len(names))
    words = (f"{name} {n}" for name, n in zip(names, counts.tolist(), strict=False))
    return f"chosen: {format_list(words, len(names))}"


def _listed(names: Sequence[str], options: Sequence[int]) -> str:
    if len(options) > MAX_LISTED_OPTIONS:
        return f"{len(options)} options"
    return ", ".join(names[k] for k in options)
