"""From the command line's file and columns to what `read` gives, and what is said of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from penchant import datasets
from penchant.cli.options import Agent, Data, History
from penchant.cli.words import refuse, say
from penchant.errors import DataError
from penchant.files.folder import Raw, read_raw
from penchant.files.table import read_table
from penchant.files.text import TextSource, source
from penchant.models.catalogue import CATALOGUE
from penchant.models.offers.offers import Offers, offers_from_frame
from penchant.reading.asked import Asked
from penchant.reading.read import has_choices, reading_of, recognised
from penchant.reading.read_schema import kind_by_schema, open_source, read_raw_by_schema
from penchant.tables.columns import NO_COLUMN, plain_name
from penchant.tables.laboratory import Cleaned, cleaned
from penchant.tables.offer_columns import offer_columns
from penchant.tables.reading import TITLES, Reading, ReadingKind
from penchant.tables.schema import Schema

NOT_OF_PLAY = {"example", "option", "explanatory", "weight", "weight_kind", "available", "offset"}
NOT_OF_PLAY |= {"wide", "missing", "attributes", "opt_out", "reference", "price"}
NOT_OF_OFFERS = (NOT_OF_PLAY - {"example"}) | {"decision"}
OF_PLAY = {"reward", "is_choice", "executed", "gaps", "shown", "missing_reward", "clock"}
OF_PLAY |= {"linearized"}


def open_raw(file: str | None, data: Data) -> Raw:
    """The table as the file has it."""
    if data.schema is not None:
        return open_source(file, schema_typed(data))
    return read_raw(
        file,
        delimiter=data.delimiter,
        decimal=data.decimal,
        encoding=data.encoding,
        wanted=has_choices,
    )


def opened(file: str | None, data: Data, reward: str | None = None) -> tuple[Raw, Cleaned]:
    """The table as the file has it, and made plain."""
    raw = open_raw(file, data)
    try:
        given = {"subject": data.subject, "chosen": data.chosen, "reward": reward}
        return raw, cleaned(raw.table, where=data.where, given=given)
    except DataError as error:
        raise error.changed(raw.located, raw.name) from None


def load_play(
    file: str | None,
    data: Data,
    history: History,
    locations: Any = None,
    *,
    is_counted: bool = False,
    with_doubts: bool = True,
) -> Reading:
    """Task data; says which columns are taken for what.

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
    refuse(data, "with --model", names=NOT_OF_PLAY)
    if file is None:
        raise DataError(
            "FILE must be given with --model; got none. penchant simulate makes one to try."
        )
    check_base(history.base)
    raw = open_raw(file, data)
    base = None if is_counted and not history.base else history.base
    asked = asked_of(data, history, "play", names=raw.table.column_names, base=base)
    policies = {**asked.policies, **({} if locations is None else {"locations": locations})}
    reading = read_rows(raw, replace(asked, policies=policies), data, "play")
    said(reading if with_doubts else replace(reading, doubts=()))
    return reading


def load_offers(file: str | None, data: Data, history: History, name: str) -> Reading:
    """One-shot choices between offers; says which columns are taken for what."""
    refuse(data, f"with --model {name}", names=NOT_OF_OFFERS)
    refuse(history, f"with --model {name}", names=OF_PLAY)
    check_base(history.base)
    if (file is None) == (data.example is None):
        raise DataError(
            "FILE must be given, or --example; got "
            + ("neither" if file is None else "both")
            + ". Try penchant fit --example delays --model hyperbolic."
        )
    raw = open_raw(file, data) if data.example is None else Raw(_example(data.example))
    reading = read_as(raw, data, history, "offers")
    _say_unused(reading, name)
    return reading


def _say_unused(reading: Reading, name: str) -> None:
    """Say which attributes of the offers play no part in the model."""
    known = CATALOGUE[name].example().attributes
    unused = [part for part in reading.data[0].offers if part not in known]
    if unused:
        say(
            f"Warning: --model {name} takes no account of {', '.join(unused)}. Choose another "
            "model where it differs between the options."
        )


def _example(name: str) -> Any:
    known = datasets.dataset(name)
    if not known.offers:
        raise DataError(
            "--example must be a table of offers with this --model; got "
            f"{known.name}. Try --example delays."
        )
    say(f"Data: {known.name}. {known.description}")
    return datasets.load(known.name)


def only_offers(file: str | None, example: str | None, words: Sequence[str]) -> list[Offers]:
    """The offers of a table, whatever was chosen among them; says which columns they are."""
    offers = named_offers(words)
    if example is not None:
        return _all_first(_example(example), offers)
    origin = source(file)
    table = read_table(origin)
    with in_lines(origin, table):
        return _all_first(table, offers)


@contextmanager
def in_lines(origin: TextSource, table: Any) -> Iterator[None]:
    """Errors about rows of a table as errors about lines of its file."""
    try:
        yield
    except DataError as error:
        raw = Raw(table, ((origin, len(table)),))
        raise error.changed(raw.located, origin.name) from None


def _all_first(table: Any, offers: Any) -> list[Offers]:
    """Offers in which everybody takes the first option: what was chosen does not matter."""
    names = list(table.column_names)
    taken = "first option" + "'" * len(names)  # a name that no column has
    columns = offer_columns(names, {"chosen": taken}, offers)
    whose = f"; subject = {columns.subject}" if columns.subject else ""
    say(f"Offers: {columns.offer_words()}{whose}")
    table = table.append_column(taken, [[0] * len(table)])
    return offers_from_frame(table, chosen=taken, offers=offers, scored=NO_COLUMN)


def check_base(base: int) -> None:
    """The first option has number 0 or 1."""
    if base not in (0, 1):
        raise DataError(
            f"--base must be 0 or 1; got {base}. Say which number the first option has."
        )


def asked_of(
    data: Data,
    history: History,
    kind: ReadingKind | None,
    *,
    names: Sequence[str] = (),
    base: int | None = None,
) -> Asked:
    """What was typed, as `read` is asked.

    Parameters
    ----------
    data, history
        What was typed.
    kind
        What the table is said to be.
    names
        Columns of the table, which may have commas in them.
    base
        Number of the first option.
    """
    several = tuple(data.decision)
    columns = {
        "subject": data.subject,
        "chosen": _several(data.chosen, names) if kind == "play" else data.chosen,
        "option": data.option,
        "decision": several if len(several) > 1 else next(iter(several), None),
        "weight": data.weight,
        "available": data.available,
        "offset": data.offset,
        "block": _several(history.block, names),
        "reward": _several(history.reward, names),
        "is_choice": history.is_choice,
        "scored": history.scored,
        "executed": _several(history.executed, names),
    }
    if kind == "choices":
        columns = {part: name for part, name in columns.items() if name != NO_COLUMN}
    policies: dict[str, Any] = {"missing": "drop_set"} if data.missing == "drop-set" else {}
    for name in ("gaps", "shown", "missing_reward"):
        if getattr(history, name) != getattr(History(), name):
            policies[name] = getattr(history, name)
    if data.weight_kind != Data().weight_kind:
        policies["weight_kind"] = data.weight_kind
    options = options_typed(data.options)
    counts_only = kind == "play" and isinstance(options, list) and len(options) == 1
    return Asked(
        columns={part: name for part, name in columns.items() if name is not None},
        attributes=data.attributes,
        offers=named_offers(history.offers),
        options=None if counts_only else options,
        opt_out=data.opt_out,
        reference=pairs_typed(data.reference, "reference"),
        base=base,
        units={name: float(n) for name, n in pairs_typed(data.units, "units").items()} or None,
        decimal=data.decimal,
        policies=policies,
        task=history.task,
    )


def _several(given: str | None, names: Sequence[str]) -> str | tuple[str, ...] | None:
    """One column, or several that are divided by commas."""
    if given is None or given in names or "," not in given or given[-1] in "])":
        return given  # commas in outcome[win=1, loss=0] divide nothing
    return tuple(part.strip() for part in given.split(","))


def options_typed(words: Sequence[str]) -> list[str] | dict[str, str] | None:
    """Options as one types them: f,j in their order, or f=left,j=right.

    >>> options_typed(["f=left", "j=right"]), options_typed(["f", "j"]), options_typed([])
    ({'f': 'left', 'j': 'right'}, ['f', 'j'], None)
    """
    if words and all("=" in word for word in words):
        return pairs_typed(words, "options")
    return list(words) or None


def pairs_typed(words: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for word in words:
        name, sign, value = (part.strip() for part in word.partition("="))
        if not sign or not name or not value or name in found:
            raise DataError(f"--{option} must be NAME=VALUE,...; got {word!r}. Correct it.")
        found[name] = value
    return found


def named_offers(words: Sequence[str]) -> dict[str, list[Any]] | None:
    """Attributes as one types them: amount=now/later, delay=0/days, outcome=sure+0/gain+loss.

    >>> named_offers(["amount=now/later", "delay=0/days"])
    {'amount': ['now', 'later'], 'delay': [0.0, 'days']}
    >>> named_offers(["outcome=sure+0/gain+loss"])
    {'outcome': [['sure', 0.0], ['gain', 'loss']]}
    """
    found: dict[str, list[Any]] = {}
    for word in words:
        name, _, cells = (part.strip() for part in word.partition("="))
        if not name or not cells or name in found:
            raise DataError(
                "--offers must be NAME=COLUMN/COLUMN, a column or number for each option, every "
                f"NAME once; got {word!r}. Write --offers amount=now/later,delay=0/days."
            )
        options = [[_cell(part) for part in cell.split("+")] for cell in cells.split("/")]
        several = any(len(outcomes) > 1 for outcomes in options)
        found[name] = options if several else [outcomes[0] for outcomes in options]
    return found or None


def _cell(word: str) -> Any:
    """A number, or the name of a column."""
    try:
        return float(word)
    except ValueError:
        return word.strip()


def read_as(raw: Raw, data: Data, history: History, kind: ReadingKind | None) -> Reading:
    """What the file holds; says what was taken for what."""
    asked = asked_of(data, history, kind, base=history.base or None)
    return said(read_rows(raw, asked, data, kind))


def read_rows(raw: Raw, asked: Asked, data: Data, kind: ReadingKind | None) -> Reading:
    """What the rows hold: by the schema, where one is given, or else by what was typed."""
    if data.schema is None:
        return reading_of(raw, asked, where=data.where, kind=kind)
    found = read_raw_by_schema(raw, schema_typed(data, asked))
    if kind is not None and found.kind != kind:
        raise DataError(
            f"--schema must say what the command is for: {TITLES[kind]}; got {TITLES[found.kind]} "
            f"in {data.schema}."
        )
    return found


def schema_typed(data: Data, asked: Asked | None = None) -> Schema:
    """The schema in the file that was named, with what was typed beside it."""
    typed: dict[str, Any] = {"rows.keep": data.where, "file.delimiter": data.delimiter}
    if asked is not None:
        columns = asked.columns
        roles = {"chosen": "choice", "decision": "trial"}
        typed |= {
            f"columns.{roles.get(part, part)}": columns.get(part)
            for part in ("subject", "block", "chosen", "reward", "weight")
        }
    answers = {role: value for role, value in typed.items() if value is not None}
    return Schema.of(data.schema).with_answers(answers)


def said(reading: Reading) -> Reading:
    """The same; says what was taken for what."""
    lines = reading.summary().splitlines()
    for line in lines if reading.program else lines[1:]:
        if not line.startswith("Next:"):
            say(line)
    return reading


def kind_of(file: str | None, data: Data, history: History) -> ReadingKind | None:
    """What the table is, by its columns; None where they do not say."""
    if data.schema is not None:
        return kind_by_schema(open_raw(file, data), schema_typed(data))
    try:
        asked = asked_of(data, history, None, base=history.base or None)
        return recognised(opened(file, data, history.reward)[1], asked)
    except DataError:  # said where the table is read
        return None


def check_model_given(given: bool, file: str | None, data: Data, history: History) -> None:
    """Refuse a table without a model, with models that suit it.

    Raises
    ------
    DataError
        That the table is not understood, where that is so: whoever corrects it may need no model.
    """
    if given:
        return
    kind: ReadingKind | None = None
    if data.schema is not None:
        kind = kind_of(file, data, history)
    elif file is not None and file != "-":
        asked = asked_of(data, history, None, base=history.base or None)
        raw, clean = opened(file, data)
        try:
            kind = recognised(clean, asked)
        except DataError as error:
            raise error.changed(raw.located, raw.name) from None
    if kind == "offers":
        raise DataError(
            f"--model must be given; got none, and {file} holds one-shot choices between offers. "
            "Try --model hyperbolic for amounts and delays, --model expected-utility for gambles; "
            "penchant models lists all."
        )
    raise DataError(
        "--model must be given; got none. Try --model q-learning for task data, or --model ucl "
        "with --grid and --noise-variance for options on a grid; penchant models lists all."
    )


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
        return command_typed(file, model_of(reading), typed)
    who = reading.columns.get("subject")
    own = ["--subject", who] if who is not None and "--subject" not in typed else []
    return command_typed(file, None, [*typed, *own])


def groups_command(
    file: str | None, reading: Reading, model: str | None, typed: Sequence[str]
) -> str | None:
    """The command that compares groups and draws them; None where no column tells any."""
    found = reading.group_columns
    if not found:
        return None
    who = reading.columns["subject"]
    own = [] if model or "--subject" in typed else ["--subject", who]
    named = ["--model", model] if model else []
    words = ["penchant", "study", str(file), *typed, *own, *named]
    words += ["--condition", found[0], "-o", "results"]
    return " ".join(map(_quoted, words))


def other_groups(reading: Reading) -> str | None:
    """What compares other groups than the first; None where no other column tells any."""
    others = [f"--condition {_quoted(name)}" for name in reading.group_columns[1:]]
    return " or ".join(others) or None


# Words of an attribute that is what an option costs.
PRICES = frozenset(("price", "cost", "costs", "fare", "fee", "bid", "preis", "prix", "precio"))


def worth_command(file: str | None, reading: Reading, typed: Sequence[str]) -> str | None:
    """The command that fits the willingness to pay; None where no one attribute is a price."""
    names = [name for name in reading.data.names if plain_name(name) in PRICES]
    if len(names) != 1 or "--price" in typed or len(reading.data.names) < 2:
        return None
    return command_typed(file, None, [*typed, "--price", names[0]])


def command_typed(file: str | None, model: str | None, typed: Sequence[str]) -> str:
    """A command that fits the file.

    >>> print(command_typed("a.csv", "hyperbolic", ["--where", "phase == 'test'"]))
    penchant fit a.csv --where "phase == 'test'" --model hyperbolic
    """
    words = ["penchant", "fit", str(file), *typed, *(["--model", model] if model else [])]
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """A word as a shell takes it, in quotes that are easy to read.

    >>> print(_quoted("stage != 'training'"))
    "stage != 'training'"
    """
    recalls = re.search(r"!(?![=\s(])", word)  # what a shell would take from its history
    if "'" in word and not set(word) & set('"$`\\') and not recalls:
        return f'"{word}"'
    return shlex.quote(word)


def typed_again(*options: Data | History | Agent) -> list[str]:
    """Options that say how the table is read, or the model is set, as they were typed."""
    found: list[str] = []
    for given in options:
        usual = type(given)()
        for option in fields(given):
            value = getattr(given, option.name)
            if value == getattr(usual, option.name):
                continue
            name = f"--{option.name.replace('_', '-')}"
            shown = ",".join(value) if isinstance(value, list) else str(value)
            found += [name] if value is True else [name, shown]
    return found


def model_of(reading: Reading) -> str:
    """The model to begin with."""
    if reading.task is not None:
        return reading.task
    if reading.kind == "play":
        return "q-learning"
    if "delay" in reading.columns:
        return "hyperbolic"
    return "prospect" if "Prospect" in str(reading.model) else "expected-utility"
