"""Choices read from the file and the columns that were typed."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from penchant import datasets
from penchant._typing import Vector
from penchant.choices import Choices, decision_values
from penchant.cli.options import Data, Terms
from penchant.cli.table_input import (
    open_raw,
    read_with_schema,
    report_reading,
    schema_from_options,
    table_kind_and_task,
)
from penchant.cli.terminal import say
from penchant.errors import DataError, closest_match_hint, format_names, mark_argument
from penchant.reading.formula_sets import attribute_sets
from penchant.reading.tasks import NamedTask, task_named, task_of_columns
from penchant.tables.frames import column_floats, open_frame
from penchant.tables.layouts import LongColumns
from penchant.tables.lexicon import named, role_column
from penchant.tables.offer_columns import is_offers
from penchant.tables.play_columns import is_play
from penchant.tables.reading import Reading, ReadingKind

LONG_TABLE_ARGUMENTS = (*(one.name for one in dataclasses.fields(LongColumns)), "weight_kind")


def load_choices(
    file: str | None, data: Data, terms: Terms, *, by_subject: bool = False
) -> Choices:
    """Read a table of choices; `by_subject` keeps subjects apart where a column names them."""
    if (file is None) == (data.example is None):
        raise DataError(
            "path",
            "must be given, or --example",
            got="neither" if file is None else "both",
            fix="Try penchant fit --example travel-mode.",
        )
    if data.example is not None:
        return _load_example(data.example, data, terms)
    if data.wide and not (data.options and data.explanatory):
        raise DataError(
            "--wide",
            "must come with --options and --explanatory",
            got=f"options {', '.join(data.options) or 'none'} and variables "
            f"{', '.join(data.explanatory) or 'none'}",
            fix="For columns price_car and price_bus: --explanatory price --options car,bus.",
        )
    if data.schema is None and not _has_choice_options(data, terms) and file != "-":
        _refuse_other_kinds(file, data)
    reading = read_choices(file, data, terms)
    choices = select_attributes(reading, data.attributes)
    choices = _add_terms(choices, terms, reading)
    if data.subject is not None or choices.subject is None or by_subject:
        return choices
    _say_unused(reading.columns["subject"])
    return dataclasses.replace(choices, subject=None, subject_labels=None)


def _has_choice_options(data: Data, terms: Terms) -> bool:
    """Whether an option that was typed is for options with attributes alone."""
    typed = (data.option, data.explanatory, data.wide, data.attributes, data.opt_out)
    return (
        any((*typed, data.available, data.offset, data.weight))
        or bool(data.reference)
        or terms != Terms()
    )


def _refuse_other_kinds(file: str | None, data: Data) -> None:
    """Refuse a table of another kind without a model, and say which models there are."""
    kind, task = table_kind_and_task(file, data, None)
    if kind in ("offers", "play"):
        named = None if task is None else task_named(task)
        refuse_without_model(kind, named)


def refuse_without_model(kind: ReadingKind, task: NamedTask | None = None) -> None:
    """Refuse a table that needs a model, and say which models there are.

    Parameters
    ----------
    kind
        What the table is.
    task
        The named task whose columns it has.
    """
    if task is not None:
        rule = f"must be given with the columns of a task, here {task.name}"
        fix = f"Pass --task {task.name}, or --model {task.command}."
    elif kind == "offers":
        rule = "must be given with one-shot choices, one row each"
        fix = "Say which, such as --model hyperbolic for delays or --model prospect for gambles: "
        fix += "penchant models lists them."
    else:
        rule = "must be given with task data, one row per trial"
        fix = "Say which, such as --model q-learning: penchant models lists them."
    raise DataError("--model", rule, got="none", fix=fix)


def read_choices(file: str | None, data: Data, terms: Terms) -> Reading:
    """Read a choice experiment, and print the role of each column."""
    raw = open_raw(file, data)
    names = list(raw.table.column_names)
    for name in terms.interact:
        column_of_role(name, names, "interact")
    kind: ReadingKind | None = (
        "choices" if data.schema or _has_choice_options(data, terms) else None
    )
    schema = schema_from_options(data, None, kind, names)
    return report_reading(read_with_schema(raw, schema, data, "choices"))


def select_attributes(reading: Reading, formula: str | None) -> Choices:
    """Select the variables of a formula; all of them without a formula."""
    choices: Choices = reading.data
    if formula is None:
        return choices
    made, sets = attribute_sets(reading, {"attributes": formula})
    return made.select(sets["attributes"])


def _say_unused(who: str) -> None:
    say(f"Note: column {who} is not used; {mark_argument('subject', who)} gives one estimate each.")


def _load_example(name: str, data: Data, terms: Terms) -> Choices:
    known = datasets.dataset(name)
    if known.offers:
        raise DataError(
            "--example",
            "must be a table of options",
            got=f"{known.name}, whose rows are decisions between offers",
            fix="Add --model hyperbolic.",
        )
    say(f"Data: {known.name}. {known.description}")
    has_usual_variables = not data.explanatory and terms == Terms()
    attributes = [attribute for attribute, _ in known.interactions] if has_usual_variables else []
    roles = dataclasses.replace(
        data,
        decision=data.decision or [known.decision],
        option=data.option or known.option,
        chosen=data.chosen or known.chosen,
        subject=data.subject or known.subject,
        explanatory=[*(data.explanatory or known.explanatory), *attributes],
    )
    table = datasets.load(known.name)
    columns = list(table.column_names)
    interact = [column_of_role(name, columns, "interact") for name in terms.interact]
    given = {**long_table_arguments(roles), "explanatory": [*roles.explanatory, *interact]}
    missing: Literal["error", "drop_set"] = "drop_set" if data.missing == "drop-set" else "error"
    choices: Choices = Choices.from_frame(table, **given, missing=missing)
    choices = _add_terms(choices, terms)
    if not has_usual_variables:
        return choices
    for attribute, options in known.interactions:
        choices = choices.with_interaction(attribute, options=list(options))
    return choices if known.reference is None else choices.with_constants(known.reference)


def column_of_role(given: str | None, columns: list[str], name: str) -> str:
    """Name of the column of a role: the one typed, or the one of a usual name."""
    if given is not None:
        if given not in columns:
            raise DataError(
                f"--{name}",
                "must name a column",
                got=f"{given!r}, but they are {format_names(columns)}",
                fix=closest_match_hint(given, columns) or "Correct it.",
            )
        return given
    found = role_column(name, columns)
    if found is None:
        raise DataError(
            f"--{name}",
            "must be given, as no column is called so",
            got=f"columns {format_names(columns)}",
            fix=f"Name the column with --{name}.",
        )
    return found


def long_table_arguments(roles: Data) -> dict[str, Any]:
    """The columns of a long table, as `Choices.from_frame` and `scan` take them."""
    return {name: getattr(roles, name) for name in LONG_TABLE_ARGUMENTS} | {
        "weight_kind": roles.weight_kind or "frequency"
    }


def complete_long_roles(columns: list[str], data: Data, terms: Terms) -> Data:
    """Complete the roles of columns that were typed by the columns of usual names."""
    if data.option is None and not data.explanatory:
        task = task_of_columns(columns)
        if task is not None or is_offers(columns) or is_play(columns):
            refuse_without_model("offers" if is_offers(columns) else "play", task)
    decision = data.decision or [column_of_role(None, columns, "decision")]
    roles = dataclasses.replace(
        data,
        decision=[column_of_role(name, columns, "decision") for name in decision],
        option=column_of_role(data.option, columns, "option"),
        chosen=column_of_role(data.chosen, columns, "chosen"),
    )
    return roles if data.explanatory else _add_other_columns(roles, terms, columns)


def _add_other_columns(roles: Data, terms: Terms, columns: list[str]) -> Data:
    """Use every column without a role as a variable, and print which these are."""
    weight = roles.weight or ("weight" if "weight" in columns else None)
    parts = {
        "decision": ", ".join(roles.decision),
        "option": roles.option,
        "chosen": roles.chosen,
        "subject": roles.subject,
        "weight": weight,
        "available": roles.available,
        "offset": roles.offset,
    }
    used = {*roles.decision, *parts.values(), *terms.interact}
    left = [column for column in columns if column not in used]
    # Who decided is no property of an option: never a variable unless asked for.
    people = named("subject", left).candidates
    variables = [column for column in left if column not in people]
    parts["explanatory"] = format_names(variables)
    say("Columns: " + "; ".join(f"{part} = {name}" for part, name in parts.items() if name))
    for column in people:
        _say_unused(column)
    return dataclasses.replace(roles, weight=weight, explanatory=variables)


def _add_terms(choices: Choices, terms: Terms, reading: Reading | None = None) -> Choices:
    """Add interactions and constants of options, where asked."""
    reference = terms.constants
    labels = {str(label): label for label in choices.option_labels or ()}
    label = labels.get(reference, reference) if reference is not None else None
    for attribute in terms.interact:
        values = None
        if reading is not None and attribute not in choices.names:
            values = _value_per_decision(reading, attribute)
        choices = choices.with_interaction(attribute, values, reference=label)
    return choices if reference is None else choices.with_constants(label)


def _value_per_decision(reading: Reading, name: str) -> Vector:
    """Values per decision of a column that is no attribute of the options."""
    values = column_floats(open_frame(reading.table), name, "interact")[reading.arguments["rows"]]
    return decision_values(values, reading.data.first_row, reading.data.available, name)
