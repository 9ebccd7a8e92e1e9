"""Choice experiments on the command line: sets of attributes compared, choices predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.cli.options import Data, History
from penchant.cli.tables import asked_of, kind_of, open_raw, said
from penchant.cli.words import refuse, say
from penchant.cli.workflow_options import Described, Played, Sets
from penchant.errors import DataError, named, nearest
from penchant.inference.fit import fit
from penchant.inference.fit_each import fit_each
from penchant.models.offers.attributes import Attributes
from penchant.reading.read import reading_of
from penchant.reading.rivals import CONSTANTS
from penchant.softmax.prior import ParameterPrior
from penchant.tables.reading import Reading
from penchant.workflow.beliefs import Latent, beliefs
from penchant.workflow.comparison import ModelComparison

PLAYED = {"reward", "is_choice", "scored", "executed", "gaps", "shown", "missing_reward", "block"}
ONLY_CONSTANTS, EVERY = "constants only", "all attributes"


def is_experiment(
    file: str | None, table: Played, described: Sets | Described, models: Sequence[str]
) -> bool:
    """Whether FILE is a choice experiment: it is said to be, or its columns say so.

    Raises
    ------
    DataError
        If models are named for one: its models are sets of attributes.
    """
    if described != type(described)():
        refuse_models(models, "with a choice experiment")
        return True
    if file is None or file == "-":
        return file == "-" and not models
    found = kind_of(file, table.data(), table.history()) == "choices"
    if found:
        refuse_models(models, f"as {file} is a choice experiment (options with attributes)")
    return found


def refuse_models(models: Sequence[str], where: str) -> None:
    """A choice experiment has attributes in place of a model."""
    if models:
        raise DataError(
            f"--model must be left out {where}; got {models[0]}. Say what describes its options: "
            "--attributes 'price + time'; all that tell them apart if not given."
        )


def data_of(table: Played, described: Sets | Described) -> tuple[Data, History]:
    """What was typed, as `fit` has it."""
    history = table.history()
    refuse(history, "with a choice experiment", names={*PLAYED, "offers"})
    data = table.data()
    return replace(
        data,
        decision=[part.strip() for name in data.decision for part in name.split(",")],
        option=described.option,
        opt_out=described.opt_out,
        reference=described.reference,
    ), history


def rival_formulas(typed: Sequence[str]) -> dict[str, str]:
    """Sets of attributes by what they are called; constants alone, where there would be one set."""
    found: dict[str, str] = {}
    for formula in typed:
        name = {CONSTANTS: ONLY_CONSTANTS, "all": EVERY}.get(formula.strip(), formula.strip())
        if name in found:
            raise DataError(
                f"--attributes must name each set once; got {formula!r} twice. Drop one."
            )
        found[name] = formula.strip()
    if not found or [*found] == [ONLY_CONSTANTS]:
        found = {EVERY: "all", **found}
    if len(found) == 1:
        found[ONLY_CONSTANTS] = CONSTANTS
    return found


def read_sets(
    file: str | None, table: Played, sets: Sets, formulas: dict[str, str]
) -> tuple[Reading, Data]:
    """The choice experiment with the variables of every set; says what was taken for what."""
    data, history = data_of(table, sets)
    asked = asked_of(data, history, "choices", base=history.base or None)
    raw = open_raw(file, data)
    reading = reading_of(raw, replace(asked, rivals=formulas), where=data.where, kind="choices")
    return said(reading), data


def folds_of(reading: Reading, word: str | None, pool: bool) -> Any:
    """Folds as `compare_models` takes them: a number, subject, or the labels of a column."""
    if word is None or word == "subject":
        return word
    if word.strip().isdigit():
        return int(word)
    if word == reading.columns.get("subject") and pool:
        return "subject"
    columns = reading.table.column_names
    if word not in columns:
        raise DataError(
            "--folds must be a number, subject, or a column, for a choice experiment; got "
            f"{word!r}, but the columns are {named(columns)}.{nearest(word, columns) or ''} Try "
            "--folds 5."
        )
    labels = reading.table.column(word).to_pylist()
    first = reading.arguments["rows"][reading.data.first_row[:-1]]
    return [labels[row] for row in first.tolist()]


def estimates_of_best(
    found: ModelComparison, reading: Reading, prior: ParameterPrior | None, price: str | None
) -> Any:
    """Everybody's weights of the best set, or what its attributes are worth."""
    assert found.best is not None
    names = found.models[found.best].weights
    choices = reading.data.select(names)
    if choices.subject is None:
        raise DataError(
            "--subject must be given with --group; got none, and no column has a usual name. Name "
            "the column that says who chose."
        )
    if price is None:
        return fit_each(choices, parameter_prior=prior)
    return fit_each(choices, Attributes(names, price=price), parameter_prior=prior)


@dataclass(frozen=True)
class Predicted:
    """The rows of the file with columns added, and what they were made with."""

    table: pa.Table
    found: Latent
    names: tuple[str, ...]


def predicted_rows(
    file: str | None,
    table: Played,
    described: Described,
    prior: ParameterPrior | None,
    *,
    pool: bool,
    all_options: bool,
) -> Predicted:
    """Fit a choice experiment, and say of every row how likely its choice, or its option, was."""
    data, history = data_of(table, described)
    data = replace(data, attributes=described.attributes)
    asked = asked_of(data, history, "choices", base=history.base or None)
    reading = said(reading_of(open_raw(file, data), asked, where=data.where, kind="choices"))
    together = pool or data.subject is None or not reading.subjects
    if together:
        if data.subject is None and reading.subjects:
            who = reading.columns["subject"]
            say(f"Note: one estimate for all; --subject {who} gives one each.")
        estimates: Any = fit(reading, parameter_prior=prior)
    else:
        estimates = fit_each(reading, parameter_prior=prior)
    found = beliefs(estimates, reading)
    return Predicted(_laid(found, reading, all_options), found, tuple(reading.data.names))


def _laid(found: Latent, reading: Reading, all_options: bool) -> pa.Table:
    """Columns beside the rows of the table: one per decision in a wide one, per option in a long.

    A long table has the probability and the objective of every row's own option.
    """
    choices, rows = reading.data, reading.arguments["rows"]
    n, first = len(reading.table), choices.first_row
    long = reading.columns.get("option") is not None
    columns: dict[str, Any] = {}
    if long:
        sizes = np.diff(first)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(owner)) - first[:-1][owner]
        for name, values in found.options.items():
            columns[name] = _placed(values[owner, place], rows, n)
    else:
        at = rows[first[:-1]]
        for name in ("probability", "log_probability", "entropy", "value"):
            columns[name] = _placed(found[name], at, n)
        if all_options:
            for name, values in found.options.items():
                for i, label in enumerate(choices.option_labels or range(values.shape[1])):
                    columns[f"{name}_{label}"] = _placed(values[:, i], at, n)
    made = reading.table
    for name, values in columns.items():
        made = made.append_column(
            name if name not in made.column_names else f"model_{name}", pa.array(values)
        )
    return made


def _placed(values: Any, rows: Any, n: int) -> list[float | None]:
    found: list[float | None] = [None] * n
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        found[row] = value if np.isfinite(value) else None
    return found
