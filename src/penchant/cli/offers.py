"""From the command line's file and columns to decisions between offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penchant import datasets
from penchant.cli.episodes import check_base, in_lines
from penchant.cli.options import Data, History
from penchant.cli.tables import Opened, open_table, options_typed, read_as, say_opened
from penchant.cli.words import refuse, say
from penchant.errors import DataError
from penchant.files.source import source
from penchant.files.table import read_table
from penchant.models.offers.offers import Offers
from penchant.models.offers.table import offers_from_frame
from penchant.output.notes import counted
from penchant.tables.offer_columns import NO_COLUMN, OfferColumns, offer_columns
from penchant.tables.reading import Reading

OF_OPTIONS = {"decision", "option", "explanatory", "weight", "weight_kind", "available", "offset"}
OF_OPTIONS |= {"wide", "missing", "attributes", "opt_out", "reference"}
OF_PLAY = {
    "reward",
    "is_choice",
    "executed",
    "gaps",
    "shown",
    "missing_reward",
    "clock",
    "linearized",
}


@dataclass(frozen=True)
class Offered:
    """Offers, and the table that they come from."""

    trials: list[Offers]
    table: Any
    columns: OfferColumns


def load_trials(file: str | None, data: Data, history: History, name: str) -> list[Offers]:
    """Read the table and make trials of it; says which columns are taken for what."""
    return load_offered(file, data, history, name).trials


def load_offered(file: str | None, data: Data, history: History, name: str) -> Offered:
    """Read the table and make trials of it, and keep both."""
    refuse(data, f"with --model {name}", names=OF_OPTIONS)
    refuse(history, f"with --model {name}", names=OF_PLAY)
    check_base(history.base)
    offers = named_offers(history.offers)
    if (file is None) == (data.example is None):
        raise DataError(
            "FILE must be given, or --example; got "
            + ("neither" if file is None else "both")
            + ". Try penchant fit --example delays --model hyperbolic."
        )
    if data.example is not None:
        return _offered(_example(data.example), data, history, offers)
    opened = open_table(file, data, {"subject": data.subject, "chosen": data.chosen})
    if not is_plain(opened, data, history, offers):
        return _read(read_as(opened.raw, data, history, "offers", offers))
    say_opened(opened)
    with in_lines(opened, data):
        return _offered(opened.table, data, history, offers)


def is_plain(opened: Opened, data: Data, history: History, offers: Any) -> bool:
    """Whether the columns of offers are numbers, and need no more than their names."""
    table = opened.table
    given = {"subject": data.subject, "chosen": data.chosen, "block": history.block}
    if opened.clean.program is not None or isinstance(options_typed(data.options), dict):
        return False
    try:
        found = offer_columns(table.column_names, given, offers)
    except DataError:
        return offers is not None
    names = [name for own in found.roles().values() for name in own if name in table.column_names]
    names = [name for name in names if name not in (found.chosen, found.subject, found.block)]
    return not any(pa.types.is_string(table[name].type) for name in names)


def _read(reading: Reading) -> Offered:
    """The same of what was read, units and words taken care of."""
    known = reading.arguments
    parts = {part: reading.columns.get(part, NO_COLUMN) for part in ("subject", "block", "scored")}
    given = {**parts, "chosen": reading.columns["chosen"]}
    columns = offer_columns(reading.table.column_names, given, known["offers"])
    return Offered(reading.data, reading.table, columns)


def load_offers(file: str | None, example: str | None, words: Sequence[str]) -> list[Offers]:
    """The offers of a table, whatever was chosen among them; says which columns they are."""
    offers = named_offers(words)
    if example is not None:
        return _only_offers(_example(example), offers)
    origin = source(file)
    with in_lines(origin, Data()):
        return _only_offers(read_table(origin), offers)


def _only_offers(table: Any, offers: Any) -> list[Offers]:
    """Offers in which everybody takes the first option: what was chosen does not matter."""
    names = list(table.column_names)
    taken = "first option" + "'" * len(names)  # a name that no column has
    columns = offer_columns(names, {"chosen": taken}, offers)
    whose = f"; subject = {columns.subject}" if columns.subject else ""
    say(f"Offers: {columns.offer_words()}{whose}")
    table = table.append_column(taken, [[0] * len(table)])
    return offers_from_frame(table, chosen=taken, offers=offers, scored=NO_COLUMN)


def _example(name: str) -> Any:
    known = datasets.dataset(name)
    if not known.offers:
        raise DataError(
            "--example must be a table of offers with this --model; got "
            f"{known.name}. Try --example delays."
        )
    say(f"Data: {known.name}. {known.description}")
    return datasets.load(known.name)


def _offered(table: Any, data: Data, history: History, offers: Any) -> Offered:
    given = {
        "subject": data.subject,
        "block": history.block,
        "chosen": data.chosen,
        "scored": history.scored,
    }
    columns = offer_columns(list(table.column_names), given, offers)
    say(f"Columns: {columns.words()}")
    parts = {part: getattr(columns, part) or NO_COLUMN for part in given}
    options = data.options or None
    trials = offers_from_frame(table, **parts, offers=offers, options=options, base=history.base)
    return Offered(trials, table, columns)


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


def say_trials(trials: Sequence[Offers]) -> None:
    """What the data are, and what a reader should know of them."""
    scored, events = sum(t.n_decisions for t in trials), sum(t.n_events for t in trials)
    subjects = len({t.subject for t in trials})
    whose = f" of {counted(subjects, 'subject')}" if trials[0].subject is not None else ""
    said = f"Offers: {counted(scored, 'trial')} included of {events:,}{whose}, "
    say(said + f"{counted(trials[0].n_options, 'option')}, {' and '.join(trials[0].offers)}")
    without = sum(int((t.chosen < 0).sum()) for t in trials)
    if without:
        say(f"Note: {counted(without, 'decision')} without a choice: not scored.")
