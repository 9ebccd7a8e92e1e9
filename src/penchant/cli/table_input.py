"""Tables read by the schema that options and a schema file make up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np

from penchant import datasets
from penchant.choices.offers import Offers, offers_from_frame
from penchant.cli.option_wording import quote_for_shell
from penchant.cli.options import Agent, Data, History
from penchant.cli.schema_questions import questions_to_paste, roles_as_options
from penchant.cli.terminal import refuse, say
from penchant.errors import DataError, SchemaQuestions, text_with_marks
from penchant.files.folder import RawTable
from penchant.files.table import read_table
from penchant.files.text_source import TextSource, source_from_path
from penchant.models.catalogue import CATALOGUE
from penchant.reading.formula_sets import names_in
from penchant.reading.read_schema import draft_of, open_source, read_raw_by_schema
from penchant.tables.columns import NO_COLUMN, plain_name
from penchant.tables.lexicon import named
from penchant.tables.offer_columns import offer_columns
from penchant.tables.reading import TITLES, Reading, ReadingKind
from penchant.tables.schema import ATTRIBUTE_COLUMNS, Kind, Schema

NON_PLAY_OPTIONS = {
    "example",
    "option",
    "explanatory",
    "weight",
    "weight_kind",
    "available",
    "offset",
}
NON_PLAY_OPTIONS |= {"wide", "missing", "attributes", "opt_out", "reference", "price"}
NON_OFFER_OPTIONS = (NON_PLAY_OPTIONS - {"example"}) | {"decision"}
PLAY_OPTIONS = {"reward", "is_choice", "executed", "gaps", "shown", "missing_reward", "clock"}
PLAY_OPTIONS |= {"linearized"}
# What is not asked but where a column speaks for it: all rows count.
DEFAULTED_ROLES = frozenset(("rows.keep",))
KINDS: dict[ReadingKind, Kind] = {"choices": "choices", "play": "episodes", "offers": "offers"}
READINGS = {kind: reading for reading, kind in KINDS.items()}


# --- the schema that options are -----------------------------------------------------------------


def schema_from_options(
    data: Data,
    history: History | None = None,
    kind: ReadingKind | None = None,
    names: Sequence[str] = (),
    formulas: Sequence[str] = (),
) -> Schema:
    """Build the schema of the options that were typed, over that of the schema file.

    Parameters
    ----------
    data, history
        What was typed.
    kind
        What the command is for; None where the table says it.
    names
        Columns of the table, which may have commas in them.
    formulas
        Attributes by name or formula, besides those of `data`.
    """
    given = Schema.of(data.schema)
    plays = history or History()
    answers = {
        **_file_answers(data),
        **_row_answers(data, plays),
        **_play_answers(plays, names),
    }
    answers["columns.subject"] = _none_as_empty(split_column_names(data.subject, names))
    answers["columns.weight"] = data.weight
    answers["columns.offset"] = data.offset
    answers["task"] = plays.task
    answers["attributes"] = parse_offers(plays.offers)
    answers["reference"] = parse_pairs(data.reference, "reference") or None
    answers["choice.opt_out"] = data.opt_out
    if kind is not None and given.kind is None and (plays.task is None or kind == "choices"):
        answers["kind"] = KINDS[kind]
    if _is_long(data, given, kind, names):
        answers |= _long_answers(data, names, [*formulas, *filter(None, [data.attributes])])
    else:
        if len(data.decision) > 1:
            raise DataError(
                "--decision",
                "must be one column with a row per decision",
                got=", ".join(data.decision),
                fix="Name those that tell people and blocks apart with --subject and --block.",
            )
        chosen = split_column_names(data.chosen, names) if kind in (None, "play") else data.chosen
        answers["columns.choice"] = chosen
        answers["columns.trial"] = _none_as_empty(next(iter(data.decision), None))
        answers |= _option_answers(data.options, kind)
        answers |= _wide_answers(data)
    known = given.with_answers({role: own for role, own in answers.items() if own is not None})
    return replace(known, raised=known.raised | DEFAULTED_ROLES)


def _file_answers(data: Data) -> dict[str, Any]:
    usual = Data()
    units = {name: float(n) for name, n in parse_pairs(data.units, "units").items()}
    return {
        "file.delimiter": data.delimiter,
        "file.decimal": data.decimal if data.decimal != usual.decimal else None,
        "file.encoding": data.encoding if data.encoding != usual.encoding else None,
        "file.units": units or None,
    }


def _row_answers(data: Data, plays: History) -> dict[str, Any]:
    usual, typed = History(), {"rows.keep": data.where}
    if data.missing == "drop-set":
        typed["rows.missing"] = "drop_set"
    typed |= {"rows.weight_kind": data.weight_kind, "rows.gaps": plays.gaps}
    if plays.missing_reward != usual.missing_reward:
        typed["rows.missing_reward"] = plays.missing_reward
    return {**typed, "shown.first": plays.shown}


def _play_answers(plays: History, names: Sequence[str]) -> dict[str, Any]:
    reward = split_column_names(plays.reward, names)
    if isinstance(reward, tuple):
        if len(reward) != 2:
            raise DataError("reward", "must be one column, or gain,loss", got=plays.reward)
        reward = {"gain": reward[0], "loss": reward[1]}
    block = split_column_names(plays.block, names)
    return {
        "columns.reward": reward,
        "columns.block": () if block == NO_COLUMN else block,
        "columns.is_choice": _none_as_empty(plays.is_choice),
        "columns.scored": _none_as_empty(plays.scored),
        "columns.executed": _none_as_empty(split_column_names(plays.executed, names)),
        "choice.base": plays.base or None,
    }


def _is_long(data: Data, given: Schema, kind: ReadingKind | None, names: Sequence[str]) -> bool:
    """Whether a table has a row per option, by what was typed and by its names."""
    if kind not in (None, "choices") or data.wide or given.kind not in (None, "choices"):
        return False
    if data.option or data.explanatory or data.available or data.offset or given.columns.option:
        return True
    if (given.attributes or {}).keys() == {ATTRIBUTE_COLUMNS}:
        return True
    typed = kind == "choices" or data.decision or data.chosen
    option = [name for name in named("option", names).columns if name != data.chosen]
    return bool(typed and option) and not named("reward", names).columns


def _long_answers(data: Data, names: Sequence[str], formulas: Sequence[str]) -> dict[str, Any]:
    decision = tuple(data.decision)
    attributes = [*data.explanatory]
    for formula in formulas:
        attributes += [name for name in names_in(formula) if name in names]
    return {
        "kind": "choices",
        "columns.decision": decision[0] if len(decision) == 1 else decision or None,
        "columns.option": data.option,
        "columns.chosen": data.chosen,
        "available.flags": (data.available,) if data.available else None,
        "attributes": {ATTRIBUTE_COLUMNS: tuple(dict.fromkeys(attributes))} if attributes else None,
    }


def _wide_answers(data: Data) -> dict[str, Any]:
    """Attribute columns NAME_OPTION of a table with a row per decision, with --wide."""
    if not data.wide:
        return {}
    columns = {name: [f"{name}_{option}" for option in data.options] for name in data.explanatory}
    flags = [f"{data.available}_{option}" for option in data.options] if data.available else None
    return {"attributes": columns, "available.flags": flags}


def _option_answers(words: Sequence[str], kind: ReadingKind | None) -> dict[str, Any]:
    """Codes of the options as they are typed: f,j in their order, f=left,j=right, or a number."""
    if len(words) == 1 and words[0].isdigit() and kind in (None, "play"):
        return {"choice.count": int(words[0])}
    typed = parse_options(words)
    if typed is None:
        return {}
    if isinstance(typed, list):
        return {"choice.labels": tuple(typed)}
    codes: dict[str, list[str]] = {}
    for code, option in typed.items():
        codes.setdefault(option, []).append(code)
    numbered = all(option.isdigit() for option in codes)
    names = sorted(codes, key=int) if numbered else [*codes]
    labels = tuple(
        codes[name][0] if len(codes[name]) == 1 else tuple(codes[name]) for name in names
    )
    return {"choice.labels": labels, "choice.names": None if numbered else tuple(names)}


def _none_as_empty(given: Any) -> Any:
    """Replace `none`, which stands for a role without a column, by an empty name."""
    return "" if given == NO_COLUMN else given


def split_column_names(given: str | None, names: Sequence[str]) -> Any:
    """Split columns that are divided by commas; a single column stays a string."""
    if given is None or given in names or "," not in given:
        return given
    return tuple(part.strip() for part in given.split(","))


def parse_options(words: Sequence[str]) -> list[str] | dict[str, str] | None:
    """Parse --options: f,j in their order, or f=left,j=right.

    >>> parse_options(["f=left", "j=right"]), parse_options(["f", "j"]), parse_options([])
    ({'f': 'left', 'j': 'right'}, ['f', 'j'], None)
    """
    if words and all("=" in word for word in words):
        return parse_pairs(words, "options")
    return list(words) or None


def parse_pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """Parse pairs NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for word in words:
        name, sign, value = (part.strip() for part in word.partition("="))
        if not sign or not name or not value or name in found:
            raise DataError(
                f"--{option}", "must be NAME=VALUE,...", got=repr(word), fix="Correct it."
            )
        found[name] = value
    return found


def parse_offers(words: Sequence[str]) -> dict[str, list[Any]] | None:
    """Parse --offers: amount=now/later, delay=0/days, outcome=sure+0/gain+loss.

    >>> parse_offers(["amount=now/later", "delay=0/days"])
    {'amount': ['now', 'later'], 'delay': [0.0, 'days']}
    >>> parse_offers(["outcome=sure+0/gain+loss"])
    {'outcome': [['sure', 0.0], ['gain', 'loss']]}
    """
    found: dict[str, list[Any]] = {}
    for word in words:
        name, _, cells = (part.strip() for part in word.partition("="))
        if not name or not cells or name in found:
            raise DataError(
                "--offers",
                "must be NAME=COLUMN/COLUMN, a column or number for each option, every NAME once",
                got=repr(word),
                fix="Write --offers amount=now/later,delay=0/days.",
            )
        options = [
            [_number_or_column(part) for part in cell.split("+")] for cell in cells.split("/")
        ]
        several = any(len(outcomes) > 1 for outcomes in options)
        found[name] = options if several else [outcomes[0] for outcomes in options]
    return found or None


def _number_or_column(word: str) -> Any:
    """Parse a cell of --offers: a number, or the name of a column."""
    try:
        return float(word)
    except ValueError:
        return word.strip()


def check_base(base: int) -> None:
    """Refuse a number of the first option other than 0 and 1."""
    if base not in (0, 1):
        raise DataError(
            "--base", "must be 0 or 1", got=base, fix="Say which number the first option has."
        )


# --- what is read --------------------------------------------------------------------------------


def open_raw(file: str | None, data: Data) -> RawTable:
    """Open the table as the file has it."""
    written = Schema.of(data.schema).with_answers(
        {role: own for role, own in _file_answers(data).items() if own is not None}
    )
    return open_source(source_from_path(file) if file == "-" else file, written)


def read_and_report(
    raw: RawTable, data: Data, history: History, kind: ReadingKind | None
) -> Reading:
    """Read a table, and print the role of each column."""
    return report_reading(read_rows(raw, data, history, kind))


def read_rows(
    raw: RawTable,
    data: Data,
    history: History | None,
    kind: ReadingKind | None,
    formulas: Sequence[str] = (),
) -> Reading:
    """Read the rows of a table by the schema of the options and of the file of `--schema`.

    Parameters
    ----------
    raw
        The table.
    data, history
        What was typed.
    kind
        What the command is for; None where the table says it.
    formulas
        Attributes by name or formula, besides those of `data`.
    """
    schema = schema_from_options(data, history, kind, raw.table.column_names, formulas)
    return read_with_schema(raw, schema, data, kind)


def read_with_schema(
    raw: RawTable, schema: Schema, data: Data, kind: ReadingKind | None
) -> Reading:
    """Read the rows of a table by a schema; open questions are worded as options."""
    try:
        found = read_raw_by_schema(raw, schema)
    except SchemaQuestions as asked:
        raise questions_to_paste(asked, raw.name) from None
    except DataError as error:
        raise (error if data.schema else error.rephrase(roles_as_options)) from None
    if kind is not None and found.kind != kind:
        raise DataError(
            "--schema" if data.schema else "path",
            f"must say what the command is for: {TITLES[kind]}",
            got=f"{TITLES[found.kind]} in {data.schema or raw.name}",
        )
    return found


def report_reading(reading: Reading) -> Reading:
    """Print the role of each column of a table to stderr; return the table."""
    lines = text_with_marks(reading.summary()).splitlines()
    for line in lines if reading.program else lines[1:]:
        if not line.startswith("Next:"):
            say(line)
    return reading


def table_kind(file: str | None, data: Data, history: History | None) -> ReadingKind | None:
    """Kind of a table by the options and its columns; None where these do not tell."""
    return table_kind_and_task(file, data, history)[0]


def table_kind_and_task(
    file: str | None, data: Data, history: History | None
) -> tuple[ReadingKind | None, str | None]:
    """Kind of a table, and the named task whose columns it has; None where they do not tell."""
    try:
        raw = open_raw(file, data)
        draft = draft_of(
            raw, schema_from_options(data, history, None, raw.table.column_names)
        ).draft
    except DataError:  # said where the table is read
        return None, None
    return (None if draft.kind is None else READINGS[draft.kind]), draft.task


def load_play(
    file: str | None,
    data: Data,
    history: History,
    locations: Any = None,
    *,
    is_counted: bool = False,
    with_doubts: bool = True,
) -> Reading:
    """Read task data, and print the role of each column.

    Parameters
    ----------
    file, data, history
        What was typed.
    locations
        Where options lie; "seen": wherever one was chosen.
    is_counted
        Whether the numbers in the file say how many options there are.
    with_doubts
        Whether to say what is often a mistake, too; not where the result says it.
    """
    refuse(data, "with --model", names=NON_PLAY_OPTIONS)
    if file is None:
        raise DataError(
            "path",
            "must be given with --model",
            got="none",
            fix="penchant simulate makes one to try.",
        )
    check_base(history.base)
    raw = open_raw(file, data)
    schema = schema_from_options(data, history, "play", raw.table.column_names)
    if locations is not None and not isinstance(locations, str):
        schema = schema.with_answers({"choice.places": np.asarray(locations).tolist()})
    if not is_counted and schema.choice.base is None and schema.choice.labels is None:
        schema = schema.with_answers({"choice.base": history.base})
    reading = read_with_schema(raw, schema, data, "play")
    if locations is None and not isinstance(reading.arguments["chosen"], str):
        raise DataError(
            "chosen",
            "must be one column of numbers or labels with this model",
            got=f"places, columns {' and '.join(reading.arguments['chosen'])}",
            fix="Say where the options lie, such as --grid 10x10, or number the options in a "
            "column.",
        )
    report_reading(reading if with_doubts else replace(reading, doubts=()))
    return reading


def load_offers(file: str | None, data: Data, history: History, name: str) -> Reading:
    """Read one-shot choices between offers, and print the role of each column."""
    refuse(data, f"with --model {name}", names=NON_OFFER_OPTIONS)
    refuse(history, f"with --model {name}", names=PLAY_OPTIONS)
    check_base(history.base)
    if (file is None) == (data.example is None):
        raise DataError(
            "path",
            "must be given, or --example",
            got="neither" if file is None else "both",
            fix="Try penchant fit --example delays --model hyperbolic.",
        )
    raw = open_raw(file, data) if data.example is None else RawTable(_load_example(data.example))
    reading = read_and_report(raw, data, history, "offers")
    known = CATALOGUE[name].example().attributes
    unused = [part for part in reading.data[0].offers if part not in known]
    if unused:
        say(
            f"Warning: --model {name} takes no account of {', '.join(unused)}. Choose another "
            "model where it differs between the options."
        )
    return reading


def _load_example(name: str) -> Any:
    known = datasets.dataset(name)
    if not known.offers:
        raise DataError(
            "--example",
            "must be a table of offers with this --model",
            got=known.name,
            fix="Try --example delays.",
        )
    say(f"Data: {known.name}. {known.description}")
    return datasets.load(known.name)


def load_offers_only(file: str | None, example: str | None, words: Sequence[str]) -> list[Offers]:
    """Read the offers of a table, whatever was chosen; print the roles of their columns."""
    offers = parse_offers(words)
    if example is not None:
        return _offers_without_choices(_load_example(example), offers)
    origin = source_from_path(file)
    table = read_table(origin)
    with errors_in_lines(origin, table):
        return _offers_without_choices(table, offers)


@contextmanager
def errors_in_lines(origin: TextSource, table: Any) -> Iterator[None]:
    """Reword errors about rows of a table as errors about lines of its file."""
    try:
        yield
    except DataError as error:
        raw = RawTable(table, ((origin, len(table)),))
        raise error.rephrase(raw.word_in_lines, origin.name) from None


def _offers_without_choices(table: Any, offers: Any) -> list[Offers]:
    """Read offers without their choices: everybody is taken to choose the first option."""
    names = list(table.column_names)
    taken = "first option" + "'" * len(names)  # a name that no column has
    columns = offer_columns(names, {"chosen": taken}, offers)
    whose = f"; subject = {columns.subject}" if columns.subject else ""
    say(f"Offers: {columns.describe_offers()}{whose}")
    table = table.append_column(taken, [[0] * len(table)])
    return offers_from_frame(table, chosen=taken, offers=offers, scored=NO_COLUMN)


def check_model_given(given: bool, file: str | None, data: Data, history: History) -> None:
    """Refuse a table without a model, with models that suit it."""
    if given:
        return
    kind = None
    if file not in (None, "-"):
        raw = open_raw(file, data)
        kind = table_kind(file, data, history)
        if kind is None:
            read_rows(raw, data, history, None)  # asks what the table is
    if kind == "offers":
        raise DataError(
            "--model",
            "must be given",
            got=f"none, and {file} holds one-shot choices between offers",
            fix="Try --model hyperbolic for amounts and delays, --model expected-utility for "
            "gambles; penchant models lists all.",
        )
    raise DataError(
        "--model",
        "must be given",
        got="none",
        fix="Try --model q-learning for task data, or --model ucl with --grid and "
        "--noise-variance for options on a grid; penchant models lists all.",
    )


# --- what to run next ----------------------------------------------------------------------------


def next_command(file: str | None, reading: Reading, typed: Sequence[str]) -> str:
    """The command to run next.

    Parameters
    ----------
    file
        The file.
    reading
        What it holds.
    typed
        Options that were typed and are needed again.
    """
    if reading.kind != "choices":
        return fit_command(file, suggested_model(reading), typed)
    who = reading.columns.get("subject")
    subject_option = ["--subject", who] if who is not None and "--subject" not in typed else []
    return fit_command(file, None, [*typed, *subject_option])


def groups_command(
    file: str | None, reading: Reading, model: str | None, typed: Sequence[str]
) -> str | None:
    """The command that compares groups and draws them; None where no column tells any."""
    found = reading.group_columns
    if not found:
        return None
    who = reading.columns["subject"]
    subject_option = [] if model or "--subject" in typed else ["--subject", who]
    model_option = ["--model", model] if model else []
    words = ["penchant", "study", str(file), *typed, *subject_option, *model_option]
    words += ["--condition", found[0], "-o", "results"]
    return " ".join(map(quote_for_shell, words))


def other_group_options(reading: Reading) -> str | None:
    """Options that compare groups by other columns than the first; None without such columns."""
    others = [f"--condition {quote_for_shell(name)}" for name in reading.group_columns[1:]]
    return " or ".join(others) or None


# Words of an attribute that is what an option costs.
PRICE_WORDS = frozenset(("price", "cost", "costs", "fare", "fee", "bid", "preis", "prix", "precio"))


def worth_command(file: str | None, reading: Reading, typed: Sequence[str]) -> str | None:
    """The command that fits the willingness to pay; None where no one attribute is a price."""
    names = [name for name in reading.data.names if plain_name(name) in PRICE_WORDS]
    if len(names) != 1 or "--price" in typed or len(reading.data.names) < 2:
        return None
    return fit_command(file, None, [*typed, "--price", names[0]])


def fit_command(file: str | None, model: str | None, typed: Sequence[str]) -> str:
    """A command that fits the file.

    >>> print(fit_command("a.csv", "hyperbolic", ["--where", "phase == 'test'"]))
    penchant fit a.csv --where "phase == 'test'" --model hyperbolic
    """
    words = ["penchant", "fit", str(file), *typed, *(["--model", model] if model else [])]
    return " ".join(map(quote_for_shell, words))


def typed_options(*options: Data | History | Agent) -> list[str]:
    """Options that say how the table is read, or the model is set, as they were typed."""
    found: list[str] = []
    for given in options:
        usual = type(given)()
        for option in fields(given):
            value = getattr(given, option.name)
            if value == getattr(usual, option.name):
                continue
            name = f"--{option.name.replace('_', '-')}"
            text = ",".join(value) if isinstance(value, list) else str(value)
            found += [name] if value is True else [name, text]
    return found


def suggested_model(reading: Reading) -> str:
    """Model to suggest for a table."""
    if reading.task is not None:
        return reading.task
    if reading.kind == "play":
        return "q-learning"
    if "delay" in reading.columns:
        return "hyperbolic"
    return "prospect" if "Prospect" in str(reading.model) else "expected-utility"
