"""From the command line's file and columns to choices."""

from __future__ import annotations

import dataclasses
import re
import sys
from typing import Any

from penchant import datasets
from penchant.choices import Choices
from penchant.cli.options import Data
from penchant.errors import DataError, nearest
from penchant.io.place import line_of_row, place_of_row
from penchant.io.table import read_table

# Names that columns often have, tried in this order where none is given.
DECISION = ("decision", "obs", "observation", "choice_set", "chid", "case", "decision_id")
OPTION = ("option", "alt", "alternative", "option_id")
CHOSEN = ("chosen", "choice", "chose")


def say(words: str) -> None:
    """Words for the person at the terminal, on stderr."""
    print(words, file=sys.stderr)


def load_choices(file: str | None, data: Data) -> Choices:
    """Read the table and make choices of it."""
    if (file is None) == (data.example is None):
        raise DataError(
            "FILE must be given, or --example; got "
            + ("neither" if file is None else "both")
            + ". Try penchant fit --example travel-mode."
        )
    if data.example is not None:
        return _example(data)
    assert file is not None
    table = read_table(file, delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding)
    try:
        return _from_wide(table, data) if data.wide else _from_long(table, data)
    except DataError as error:
        raise DataError(_with_lines(str(error), file, data)) from None


def _with_lines(message: str, file: str, data: Data) -> str:
    """Rows of the table as lines of the file."""

    def line(match: re.Match[str]) -> str:
        row = int(match.group(1))
        try:
            place = place_of_row(file, row, delimiter=data.delimiter, encoding=data.encoding)
        except DataError:
            return f"line {line_of_row(row)}"
        return re.sub(r" of .*$", "", place)

    return re.sub(r"\brow (\d+)\b", line, message) + f" (file: {file})"


def _example(data: Data) -> Choices:
    assert data.example is not None
    known = datasets.dataset(data.example)
    say(f"Data: {known.name}. {known.description}")
    roles = dataclasses.replace(
        data,
        decision=data.decision or known.decision,
        option=data.option or known.option,
        chosen=data.chosen or known.chosen,
        subject=data.subject or known.subject,
        explanatory=data.explanatory or list(known.explanatory),
    )
    choices = _from_long(datasets.load(known.name), roles)
    if data.explanatory or data.constants:
        return choices
    for attribute, options in known.interactions:
        values = _attribute(datasets.load(known.name), attribute, roles, choices)
        choices = choices.with_interaction(attribute, values, options=list(options))
    return choices if known.reference is None else choices.with_constants(known.reference)


def _role(given: str | None, usual: tuple[str, ...], columns: list[str], name: str) -> str:
    """The column given, or one with a usual name."""
    if given is not None:
        if given not in columns:
            raise DataError(
                f"--{name} must name a column; got {given!r}, but they are "
                f"{', '.join(columns)}.{nearest(given, columns) or ' Correct it.'}"
            )
        return given
    found = [column for column in usual if column in columns]
    if not found:
        raise DataError(
            f"--{name} must be given, as no column is called {' or '.join(usual[:3])}; "
            f"got columns {', '.join(columns)}. Name the column with --{name}."
        )
    return found[0]


def _from_long(table: Any, data: Data) -> Choices:
    columns = list(table.column_names)
    decision = _role(data.decision, DECISION, columns, "decision")
    option = _role(data.option, OPTION, columns, "option")
    chosen = _role(data.chosen, CHOSEN, columns, "chosen")
    weight = data.weight or ("weight" if not data.explanatory and "weight" in columns else None)
    used = {decision, option, chosen, data.subject, weight, data.available, data.offset}
    explanatory = data.explanatory or [
        c for c in columns if c not in used and c not in data.interact
    ]
    if not data.explanatory:
        say(
            f"Columns: decision = {decision}, option = {option}, chosen = {chosen}"
            + (f", weight = {weight}" if weight else "")
            + f", explanatory = {', '.join(explanatory)}"
        )
    choices = Choices.from_frame(
        table,
        decision=decision,
        option=option,
        chosen=chosen,
        explanatory=explanatory,
        weight=weight,
        subject=data.subject,
        available=data.available,
        offset=data.offset,
        weight_kind=data.weight_kind,
        missing="drop_set" if data.missing == "drop-set" else "error",
    )
    return _with_terms(choices, table, dataclasses.replace(data, decision=decision))


def _from_wide(table: Any, data: Data) -> Choices:
    if not data.options or not data.explanatory:
        raise DataError(
            "--wide must come with --options and --explanatory; got "
            f"options {data.options} and variables {data.explanatory}. Price of options car and "
            "bus in columns price_car and price_bus: --explanatory price --options car,bus."
        )
    choices = Choices.from_wide(
        table,
        chosen=_role(data.chosen, CHOSEN, list(table.column_names), "chosen"),
        explanatory=data.explanatory,
        options=data.options,
        decision=data.decision,
        subject=data.subject,
        weight=data.weight,
        weight_kind=data.weight_kind,
        missing="drop_set" if data.missing == "drop-set" else "error",
    )
    return _with_terms(choices, table, data)


def _with_terms(choices: Choices, table: Any, data: Data) -> Choices:
    """Add interactions and constants of options, where asked."""
    for attribute in data.interact:
        values = _attribute(table, attribute, data, choices)
        choices = choices.with_interaction(attribute, values, reference=data.constants)
    return choices if data.constants is None else choices.with_constants(data.constants)


def _attribute(table: Any, attribute: str, data: Data, choices: Choices) -> Any:
    """An attribute's value for each decision, by way of a column of the choices."""
    if data.wide:
        return table.column(attribute).to_numpy(zero_copy_only=False)
    with_it = Choices.from_frame(
        table,
        decision=_role(data.decision, DECISION, table.column_names, "decision"),
        option=_role(data.option, OPTION, table.column_names, "option"),
        chosen=_role(data.chosen, CHOSEN, table.column_names, "chosen"),
        explanatory=[attribute],
        subject=data.subject,
        available=data.available,
        missing="drop_set" if data.missing == "drop-set" else "error",
    )
    return with_it.explanatory[with_it.first_row[:-1], 0]
