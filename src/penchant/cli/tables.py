"""From a file as a laboratory has it to a plain table, in the words of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa

from penchant.cli.options import Data, History
from penchant.cli.words import say
from penchant.errors import DataError
from penchant.files.folder import Raw, read_raw
from penchant.reading.asked import Asked
from penchant.reading.played import with_rewards
from penchant.reading.read import reading_of, recognised
from penchant.tables.columns import NO_COLUMN, play_columns
from penchant.tables.laboratory import Cleaned, cleaned
from penchant.tables.reading import Reading, ReadingKind


@dataclass(frozen=True)
class Opened:
    """A file, or a folder of files, that was read and made plain; it names lines in messages.

    Attributes
    ----------
    raw
        As the files have it.
    clean
        Decisions alone, one value in every cell.
    table
        Its rows, some columns made numbers.
    """

    raw: Raw
    clean: Cleaned
    table: pa.Table

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.raw.name

    def located(self, message: str) -> str:
        """Rows of the table as lines of the file, where the file has lines."""
        return self.raw.located(message, self.clean.rows.tolist())


def open_raw(file: str | None, data: Data) -> Raw:
    """The table as the file has it."""
    return read_raw(file, delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding)


def open_table(file: str | None, data: Data, given: Mapping[str, Any]) -> Opened:
    """The table, made plain.

    Parameters
    ----------
    file
        The file or folder.
    data
        How it is read, and the condition on its rows.
    given
        {part: column} that are known.
    """
    raw = open_raw(file, data)
    try:
        clean = cleaned(raw.table, where=data.where, given=given)
    except DataError as error:
        raise DataError(f"{raw.name}: {raw.located(str(error))}") from None
    return Opened(raw, clean, clean.table)


def say_opened(opened: Opened) -> None:
    """What wrote the file, and what was left out of it."""
    if opened.clean.program:
        say(f"File: written by {opened.clean.program}.")
    for note in opened.clean.notes:
        say(f"Note: {note}.")


def open_play(
    file: str | None, data: Data, history: History, quiet: bool = False
) -> tuple[Opened, Data, History]:
    """A history of play, and the options with what the program that wrote it says."""
    given: dict[str, Any] = {
        "subject": data.subject,
        "chosen": data.chosen,
        "decision": data.decision[0] if data.decision else None,
        "block": history.block,
        "reward": history.reward,
    }
    known = {part: name for part, name in given.items() if name not in (None, NO_COLUMN)}
    opened = open_table(file, data, known)
    if not quiet:
        say_opened(opened)
    hints = {part: name for part, name in opened.clean.hints.items() if given[part] is None}
    data = replace(
        data,
        subject=hints.get("subject", data.subject),
        chosen=hints.get("chosen", data.chosen),
        decision=[hints["decision"]] if "decision" in hints else data.decision,
    )
    history = replace(history, block=hints.get("block", history.block))
    if opened.clean.counted_on and history.gaps == History().gaps:
        history = replace(history, gaps="order")
    table = opened.table
    if opened.clean.words and data.chosen in table.column_names:
        words = table[data.chosen].cast(pa.string())
        table = table.set_column(table.column_names.index(data.chosen), data.chosen, words)
    return replace(opened, table=_rewarded(table, data, history, quiet)), data, history


def _rewarded(table: pa.Table, data: Data, history: History, quiet: bool) -> pa.Table:
    """Rewards in a currency as numbers, where there are any."""
    try:
        found = play_columns(
            table.column_names, {"chosen": data.chosen, "reward": history.reward}, coordinates=3
        )
    except DataError:  # said where the columns are needed
        return table
    try:
        rewarded, notes = with_rewards(table, found, Asked(decimal=data.decimal))
    except DataError:  # said with the subject where the table is read
        return table
    for note in () if quiet else notes:
        say(f"Note: {note}.")
    return rewarded


def asked_of(data: Data, history: History, offers: Any = None) -> Asked:
    """What was typed, as `read` is asked."""
    several = tuple(data.decision)
    columns = {
        "subject": data.subject,
        "chosen": data.chosen,
        "option": data.option,
        "decision": several if len(several) > 1 else next(iter(several), None),
        "weight": data.weight,
        "available": data.available,
        "offset": data.offset,
        "block": history.block,
        "scored": history.scored,
    }
    policies = {"missing": "drop_set"} if data.missing == "drop-set" else {}
    if data.weight_kind != Data().weight_kind:
        policies["weight_kind"] = data.weight_kind
    return Asked(
        columns={part: name for part, name in columns.items() if name not in (None, NO_COLUMN)},
        attributes=data.attributes,
        offers=offers,
        options=options_typed(data.options),
        opt_out=data.opt_out,
        reference=pairs_typed(data.reference, "reference"),
        base=history.base or None,
        units={name: float(n) for name, n in pairs_typed(data.units, "units").items()} or None,
        decimal=data.decimal,
        policies=policies,
    )


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


def read_as(
    raw: Raw, data: Data, history: History, kind: ReadingKind | None, offers: Any = None
) -> Reading:
    """What the file holds; says what was taken for what."""
    reading = reading_of(raw, asked_of(data, history, offers), where=data.where, kind=kind)
    for line in said_of(reading):
        say(line)
    return reading


def said_of(reading: Reading) -> list[str]:
    """What was taken for what, in lines."""
    return [line for line in reading.summary().splitlines()[1:] if not line.startswith("Next:")]


def kind_of(opened: Opened, data: Data, history: History) -> ReadingKind | None:
    """What the table is, by its columns; None where they do not say."""
    try:
        return recognised(opened.clean, asked_of(data, history))
    except DataError:  # said where the table is read
        return None


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
        return command_typed(file, _model(reading), typed)
    who = reading.columns.get("subject")
    own = ["--subject", who] if who is not None and "--subject" not in typed else []
    return command_typed(file, None, [*typed, *own])


def command_typed(file: str | None, model: str | None, typed: Sequence[str]) -> str:
    """A command that fits the file.

    >>> print(command_typed("a.csv", "hyperbolic", ["--where", "phase == 'test'"]))
    penchant fit a.csv --where "phase == 'test'" --model hyperbolic
    """
    words = ["penchant", "fit", str(file), *typed, *(["--model", model] if model else [])]
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """A word as a shell takes it, in quotes that are easy to read."""
    if "'" in word and not set(word) & set('"$`\\!'):
        return f'"{word}"'
    return shlex.quote(word)


def typed_again(data: Data, history: History) -> list[str]:
    """Options that say how the table is read, as they were typed."""
    found: list[str] = []
    for given in (data, history):
        usual = type(given)()
        for option in fields(given):
            value = getattr(given, option.name)
            if value == getattr(usual, option.name):
                continue
            name = f"--{option.name.replace('_', '-')}"
            shown = ",".join(value) if isinstance(value, list) else str(value)
            found += [name] if value is True else [name, shown]
    return found


def _model(reading: Reading) -> str:
    if reading.kind == "play":
        return "q-learning"
    if "delay" in reading.columns:
        return "hyperbolic"
    return "prospect" if "Prospect" in str(reading.model) else "expected-utility"
