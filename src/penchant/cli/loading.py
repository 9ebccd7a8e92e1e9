"""From the command line's file and columns to choices."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from penchant import datasets
from penchant.choices import Choices
from penchant.cli.options import Data, History, Terms
from penchant.cli.tables import asked_of, open_raw, opened, read_as
from penchant.cli.wording import in_options
from penchant.cli.words import say
from penchant.errors import DataError, argument, closest_match_hint, format_names
from penchant.files.folder import Raw
from penchant.reading.read import reading_of, recognised
from penchant.reading.tasks import task_of_columns
from penchant.reading.variables import is_word
from penchant.tables.cells import amount, is_nothing
from penchant.tables.columns import (
    LONG,
    USUAL,
    is_long,
    is_play,
    named_column,
    plain_name,
    refuse_one_row_per_subject,
)
from penchant.tables.laboratory import CHOSEN as CHOICES
from penchant.tables.laboratory import Cleaned
from penchant.tables.layouts import LongColumns
from penchant.tables.offer_columns import is_offers
from penchant.tables.surveys import wide_layouts

# Names that columns often have, tried in this order where none is given.
DECISION, OPTION, CHOSEN = LONG["decision"], LONG["option"], LONG["chosen"]
OF_LONG = (*(one.name for one in dataclasses.fields(LongColumns)), "weight_kind")
# Who decided is no property of an option: never a variable unless asked for.
SUBJECT = frozenset(plain_name(name) for name in USUAL["subject"])


def load_choices(
    file: str | None, data: Data, terms: Terms, *, by_subject: bool = False
) -> Choices:
    """Read the table and make choices of it; with `by_subject`, who is known is told apart."""
    if (file is None) == (data.example is None):
        raise DataError(
            "FILE must be given, or --example; got "
            + ("neither" if file is None else "both")
            + ". Try penchant fit --example travel-mode."
        )
    if data.example is not None:
        return _example(data.example, data, terms)
    if data.schema is not None:
        return _experiment(open_raw(file, data), data, by_subject)
    raw, clean = opened(file, data)
    table = clean.table
    if _is_experiment(table, data, terms, clean.own) or _is_read_so(clean, data, terms):
        return _experiment(raw, data, by_subject)
    if not data.wide:
        _refuse_other_tables(raw, table.column_names, data, terms)
    if clean.program:
        say(f"File: written by {clean.program}.")
    for note in clean.notes:
        say(f"Note: {in_options(note)}.")
    try:
        return _from_wide(table, data, terms) if data.wide else _from_long(table, data, terms)
    except DataError as error:
        rows = clean.rows.tolist()
        raise error.changed(lambda text: raw.located(text, rows), raw.name) from None


def _refuse_other_tables(raw: Raw, names: list[str], data: Data, terms: Terms) -> None:
    """Refuse a table that nothing tells of, in the words of `read`: what it can be, and how."""
    said = data.option or data.explanatory or terms != Terms() or data.decision
    known = is_long(names) or {*OPTION} & {*names}
    if not said and not known:
        reading_of(raw, asked_of(data, History(), None), where=data.where)


def _is_read_so(clean: Cleaned, data: Data, terms: Terms) -> bool:
    """Whether a table without usual names is read as a choice experiment, by what it holds."""
    names = clean.table.column_names
    said = data.wide or data.option or data.explanatory or terms != Terms() or data.decision
    if said or is_long(names) or {*OPTION} & {*names}:
        return False
    try:
        return recognised(clean, asked_of(data, History(), None)) == "choices"
    except DataError:  # said where the whole table is read
        return False


def _is_experiment(table: pa.Table, data: Data, terms: Terms, own: Collection[str] = ()) -> bool:
    """Whether there is more than columns of numbers to read: words, wide names, an opt-out.

    Columns that a program writes by itself are its own.
    """
    if data.wide or data.explanatory or terms != Terms():
        return False
    if data.attributes or data.opt_out or data.reference or data.units:
        return True
    names = table.column_names
    roles = {data.option, data.chosen, data.subject, *data.decision}
    if data.option is not None or is_long(names):
        parts = {named_column(usual, names) for usual in LONG.values()} | roles
        parts |= {name for name in names if plain_name(name) in SUBJECT}
        text = [name for name in names if pa.types.is_string(table[name].type)]
        taken = data.chosen or named_column(LONG["chosen"], names)
        numbered = taken in names and pa.types.is_integer(table[taken].type)
        if numbered and (pc.max(table[taken]).as_py() or 0) > 1:
            return True  # numbers of options rather than flags
        return any(_has_levels(table[name]) for name in text if name not in parts)
    if is_offers(names) or is_play(names):
        return False
    chosen = data.chosen or named_column(CHOICES, names)
    free = [name for name in names if name not in own and name != chosen]
    return chosen is not None and bool(wide_layouts(free))


def _has_levels(column: pa.ChunkedArray) -> bool:
    """Whether text is words, or amounts in a unit, rather than numbers that are written oddly."""
    cells = [cell for cell in pc.unique(column).to_pylist() if not is_nothing(cell)]
    read = [amount(cell) for cell in cells]
    in_units = all(one is not None and one[1] not in (None, "%") for one in read)
    words = [cell for cell in cells if str(cell).strip() != "0"]  # 0: of none of the options shown
    return bool(words) and (in_units or all(is_word(cell) for cell in words))


def _experiment(raw: Raw, data: Data, by_subject: bool) -> Choices:
    """Choices of a choice experiment; one estimate for all unless the subject is asked for."""
    reading = read_as(raw, data, History(), "choices")
    choices: Choices = reading.data
    if data.subject is not None or choices.subject is None or by_subject:
        return choices
    who = reading.columns["subject"]
    _say_unused(who)
    return dataclasses.replace(choices, subject=None, subject_labels=None)


def _say_unused(who: str) -> None:
    say(f"Note: column {who} is not used; {argument('subject', who)} gives one estimate each.")


def _example(name: str, data: Data, terms: Terms) -> Choices:
    known = datasets.dataset(name)
    if known.offers:
        raise DataError(
            f"--example must be a table of options; got {known.name}, whose rows are decisions "
            "between offers. Add --model hyperbolic."
        )
    say(f"Data: {known.name}. {known.description}")
    own = not data.explanatory and terms == Terms()
    attributes = [attribute for attribute, _ in known.interactions] if own else []
    roles = dataclasses.replace(
        data,
        decision=data.decision or [known.decision],
        option=data.option or known.option,
        chosen=data.chosen or known.chosen,
        subject=data.subject or known.subject,
        explanatory=[*(data.explanatory or known.explanatory), *attributes],
    )
    choices = _from_long(datasets.load(known.name), roles, terms)
    if not own:
        return choices
    for attribute, options in known.interactions:
        choices = choices.with_interaction(attribute, options=list(options))
    return choices if known.reference is None else choices.with_constants(known.reference)


def role(given: str | None, usual: tuple[str, ...], columns: list[str], name: str) -> str:
    """The column given, or one with a usual name."""
    if given is not None:
        if given not in columns:
            raise DataError(
                f"--{name} must name a column; got {given!r}, but they are "
                f"{format_names(columns)}.{closest_match_hint(given, columns) or ' Correct it.'}"
            )
        return given
    found = named_column(usual, columns)
    if found is None:
        raise DataError(
            f"--{name} must be given, as no column is called {' or '.join(usual[:3])}; "
            f"got columns {format_names(columns)}. Name the column with --{name}."
        )
    return found


def _from_long(table: Any, data: Data, terms: Terms) -> Choices:
    columns = list(table.column_names)
    attributes = [role(name, (), columns, "interact") for name in terms.interact]
    roles = long_roles(columns, data, terms)
    given = long_arguments(roles)
    given["explanatory"] = [*roles.explanatory, *attributes]
    choices: Choices = Choices.from_frame(table, **given, missing=_missing(data))
    return _with_terms(choices, terms)


def long_arguments(roles: Data) -> dict[str, Any]:
    """The columns of a long table, as `Choices.from_frame` and `scan` take them."""
    return {name: getattr(roles, name) for name in OF_LONG}


def long_roles(columns: list[str], data: Data, terms: Terms) -> Data:
    """Which column plays which part: as given, or by its usual name."""
    if data.option is None and not data.explanatory and is_offers(columns):
        raise DataError(
            "--model must be given with one-shot choices, one row each; got none, and "
            f"columns {format_names(columns)}. Say which, such as --model hyperbolic for delays or "
            "--model prospect for gambles: penchant models lists them."
        )
    task = task_of_columns(columns)
    if data.option is None and not data.explanatory and task is not None:
        raise DataError(
            "--model must be given with the columns of a task; got none, and "
            f"{format_names(columns)}. "
            f"Pass --task {task.name}, or --model {task.command}: penchant check says how codes "
            "are read."
        )
    if data.option is None and not data.explanatory and is_play(columns):
        raise DataError(
            "--model must be given with task data, one row per trial; got none, and "
            f"columns {format_names(columns)}. Say which, such as --model q-learning: penchant "
            "models lists them."
        )
    if data.option is None and not {*OPTION} & {*columns}:
        refuse_one_row_per_subject(columns, data.subject or named_column(USUAL["subject"], columns))
    decision = data.decision or [role(None, DECISION, columns, "decision")]
    roles = dataclasses.replace(
        data,
        decision=[role(name, (), columns, "decision") for name in decision],
        option=role(data.option, OPTION, columns, "option"),
        chosen=role(data.chosen, CHOSEN, columns, "chosen"),
    )
    return roles if data.explanatory else _with_other_columns(roles, terms, columns)


def _with_other_columns(roles: Data, terms: Terms, columns: list[str]) -> Data:
    """Every column without another part as a variable; says so."""
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
    variables = [column for column in left if plain_name(column) not in SUBJECT]
    parts["explanatory"] = format_names(variables)
    say("Columns: " + "; ".join(f"{part} = {name}" for part, name in parts.items() if name))
    for column in left:
        if plain_name(column) in SUBJECT:
            _say_unused(column)
    return dataclasses.replace(roles, weight=weight, explanatory=variables)


def _from_wide(table: Any, data: Data, terms: Terms) -> Choices:
    if not data.options or not data.explanatory:
        raise DataError(
            "--wide must come with --options and --explanatory; got "
            f"options {', '.join(data.options) or 'none'} and variables "
            f"{', '.join(data.explanatory) or 'none'}. For columns price_car and price_bus: "
            "--explanatory price --options car,bus."
        )
    columns = list(table.column_names)
    options = _labels(data.options)
    variables: dict[str, Any] = {name: name for name in data.explanatory}
    for name in terms.interact:
        variables[name] = [role(name, (), columns, "interact")] * len(options)
    choices = Choices.from_wide(
        table,
        chosen=role(data.chosen, CHOSEN, columns, "chosen"),
        explanatory=variables,
        options=options,
        decision=data.decision or None,
        subject=data.subject,
        weight=data.weight,
        available=data.available,
        offset=data.offset,
        weight_kind=data.weight_kind,
        missing=_missing(data),
    )
    return _with_terms(choices, terms)


def _missing(data: Data) -> Literal["error", "drop_set"]:
    return "drop_set" if data.missing == "drop-set" else "error"


def _labels(options: Sequence[str]) -> list[Any]:
    """Labels as a table has them: whole numbers as numbers, if all are."""
    if all(re.fullmatch(r"-?[1-9]\d{0,17}|0", option) for option in options):
        return [int(option) for option in options]
    return list(options)


def _with_terms(choices: Choices, terms: Terms) -> Choices:
    """Add interactions and constants of options, where asked."""
    reference = terms.constants
    labels = {str(label): label for label in choices.option_labels or ()}
    label = labels.get(reference, reference) if reference is not None else None
    for attribute in terms.interact:
        choices = choices.with_interaction(attribute, reference=label)
    return choices if reference is None else choices.with_constants(label)
