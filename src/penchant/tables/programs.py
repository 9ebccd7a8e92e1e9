"""Exports of programs that run experiments, made plain: rows of decisions, and who chose where.

A program is known by columns that nothing else writes (programs.toml). What it writes around
decisions is left out and counted: titles, previews, screens on which nothing is chosen, loops of
practice. Everything else of its table is read as any other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import BoolVector
from penchant.files.folder import RawTable
from penchant.files.table import RECORD
from penchant.files.text_source import MISSING_WORDS
from penchant.tables.columns import plain_name
from penchant.tables.frames import joint_codes
from penchant.tables.lexicon import named
from penchant.tables.schema import Schema
from penchant.tables.source_table import SourceTable
from penchant.tables.unfolding import unfold_grid_search, unfold_lists, unfold_numbered

PSYCHOPY, GORILLA, QUALTRICS, OTREE = "PsychoPy", "Gorilla", "Qualtrics", "oTree"
MAX_KINDS = 40  # words of a column that says what kind of event a row is
MIN_ROUNDS = 2  # of a wide export of oTree, whose names say rounds for certain
_LOOP = re.compile(r"(?P<loop>.+)\.(?P<what>thisN|thisTrialN|thisRepN|thisIndex|ran|order)")
_RESPONSE = re.compile(r".+\.(keys|response|clicked_name)")
# Before columns of the experimenter's own.
_SHEET = re.compile(r"(?:Spreadsheet|Store|Manipulation|Responses|Embedded Data): ")
_FIELD = re.compile(r"(?:player|participant|subsession|session\.config)\.(?P<field>[^\W_]\w*)")
_ROUND = re.compile(r"\w+\.(?P<round>\d+)\.player\.(?P<field>[^\W_]\w*)")
_PRESSED = ".RESP"  # after the name of the object in E-Prime
_NO_ANSWERS = ("info", "action", "change", "media", "store")  # rows of Gorilla
# Status of answers that nobody gave in earnest, in words and by Qualtrics's numbers.
_NO_PEOPLE = (
    *("survey preview", "survey test", "spam", "survey preview spam", "imported spam"),
    *("offline survey preview", "1", "2", "8", "9", "12", "17"),
)
_MARKS = ("begin task", "end task", "begin", "end of file", "prebuffer")
_LEADING_ZERO = r"^[+-]?0\d"


@dataclass(frozen=True)
class Program:
    """A program that wrote a table, and what it says of columns.

    Attributes
    ----------
    name
        What it is called; None where no program's columns are found.
    own
        Columns that it writes by itself, as the table calls them.
    kinds
        Columns that say what kind of event a row is.
    answers
        Columns in which it writes what was answered.
    trial
        Columns in which it numbers events.
    said
        {role of a schema: value} that holds of all its tables.
    """

    name: str | None = None
    own: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    trial: tuple[str, ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlainTable:
    """A table without what a program writes around decisions.

    Attributes
    ----------
    source
        Its rows.
    hints
        What the program says of its columns.
    own
        Columns that the program writes by itself: never attributes, choices or rewards.
    program
        What wrote it, if that is known.
    """

    source: SourceTable
    hints: Schema
    own: frozenset[str] = frozenset()
    program: str | None = None


@cache
def _programs() -> dict[str, Any]:
    return tomllib.loads((files("penchant.tables") / "programs.toml").read_text(encoding="utf-8"))


def program_of(names: Sequence[str]) -> Program:
    """Recognise the program that wrote a table by its column names.

    >>> program_of(["trial_type", "trial_index", "time_elapsed", "response", "reward"]).name
    'jsPsych'
    >>> program_of(["subject", "choice", "reward"]).name is None
    True
    """
    known = _programs()
    plain = {name: plain_name(name) for name in names}
    written = {*plain.values()}
    kinds = tuple(name for name in names if plain[name] in known["kinds"])
    loops = sum(bool(_LOOP.fullmatch(name)) for name in names)
    for title, entry in known.items():
        if title == "kinds" or not (
            any({*marks} <= written for marks in entry["marks"])
            or (title == PSYCHOPY and loops > 1)
        ):
            continue
        own = {name for name in names if plain[name] in entry["own"]}
        if title == PSYCHOPY:
            own |= {name for name in names if _is_of_psychopy(name)}
        answers, trial = (
            tuple(name for one in entry.get(key, ()) for name in names if plain[name] == one)
            for key in ("answers", "trial")
        )
        return Program(title, frozenset(own), kinds, answers, trial, entry.get("said", {}))
    return Program()


def _is_of_bids(file: Path) -> bool:
    return file.suffix == ".tsv" and "sub-" in file.name


def _is_of_psychopy(name: str) -> bool:
    nested = "." in name and not name.startswith(".")
    return nested or re.fullmatch(r"column \d+", name) is not None


def plain_table(raw: RawTable, choice: str | None = None) -> PlainTable:
    """Make a table plain, if a known program wrote it, and unfold rows of several decisions.

    Parameters
    ----------
    raw
        The table as files hold it.
    choice
        The column of choices, where somebody said it.
    """
    source = _without_blank_rows(SourceTable.of(raw))
    searches = unfold_grid_search(source)
    if searches is not None:
        unfolded, said = searches
        return PlainTable(unfolded, Schema().with_answers(said), frozenset(), "grid search")
    program = program_of(source.names)
    if program.name is not None:
        names = own_names(source.names, [n for n in source.names if _is_empty(source, n)])
        source = replace(source, table=source.table.rename_columns(names))
        renamed = program_of(names)
        program = renamed if renamed.name is not None else program
        source = _without_titles(source, program)
        source = replace(source, table=retyped(source.table))
    if raw.pieces and all(_is_of_bids(Path(origin.name)) for origin, _ in raw.pieces):
        texts = [name for name in source.names if pa.types.is_string(source.table[name].type)]
        filled = {x: pc.if_else(pc.equal(c := source.table[x], "n/a"), None, c) for x in texts}
        source = source.with_columns(filled)
        source = replace(source, table=retyped(source.table))
    source = unfold_lists(source)
    source = unfold_numbered(source, *([MIN_ROUNDS] if program.name == OTREE else []))
    hints: dict[str, Any] = {}
    if RECORD in source.names and not named("subject", source.names).columns:
        hints["columns.subject"] = RECORD
    if program.name is None:
        return PlainTable(source, Schema().with_answers(hints))
    if choice is not None and choice in source.names:
        hints["columns.choice"] = choice
    return _of_program(source, program, hints)


def _of_program(source: SourceTable, program: Program, hints: dict[str, Any]) -> PlainTable:
    """The rows of decisions of a known program's table."""
    if program.name == PSYCHOPY:
        source, more = _in_loops(source, hints.get("columns.choice"))
        hints |= more
    elif program.trial:
        hints["columns.trial"] = program.trial[0]
    hints |= program.said
    choice = hints.get("columns.choice") or _choice_column(source, program)
    if choice is not None:
        source = _with_rewards_beside(source, choice)
        source = _of_choices(source, program, choice, hints.get("columns.subject"))
        if choice in program.own:
            hints["columns.choice"] = choice
    source = replace(source, table=retyped(source.table))
    emptied = {name for name in source.names if _is_empty(source, name)}
    own = (program.own | emptied) - {choice}
    return PlainTable(source, Schema().with_answers(hints), frozenset(own), program.name)


def _choice_column(source: SourceTable, program: Program) -> str | None:
    """Find the column of choices: the experimenter's own, or the program's answers."""
    free = [name for name in source.names if name not in program.own]
    mine = named("choice", free)
    if mine.columns or mine.rivals:
        return mine.single
    filled = [name for name in program.answers if not _is_empty(source, name)]
    return filled[0] if len(filled) == 1 else None


# --- names ---------------------------------------------------------------------------------------


def own_names(names: Sequence[str], unfilled: Sequence[str] = ()) -> list[str]:
    """Columns without what programs put before the names that the experimenter gave them.

    Parameters
    ----------
    names
        As the table has them.
    unfilled
        Those in which nothing stands.

    Examples
    --------
    >>> own_names(["Response", "Spreadsheet: delay", "display", "Spreadsheet: display"])
    ['Response', 'delay', 'display', 'Spreadsheet: display']
    >>> own_names(["ExperimentName", "Choice.RESP", "Choice.RT"])
    ['ExperimentName', 'response', 'Choice.RT']
    >>> own_names(["participant.code", "player.choice", "subsession.round_number"])
    ['participant.code', 'choice', 'trial']
    >>> own_names(["participant.code", "bandit.1.player.choice", "bandit.2.player.choice"])
    ['participant.code', 'choice_1', 'choice_2']
    """
    taken = {name.lower() for name in names}
    if any(plain_name(name) == "participantcode" for name in names):
        return _names_of_otree(names)
    bare = [_SHEET.sub("", name, count=1) for name in names]
    pressed = [name for name in names if name.endswith(_PRESSED) and name not in unfilled]
    if len(pressed) == 1 and "experimentname" in map(plain_name, names):  # E-Prime
        bare[names.index(pressed[0])] = "response"
    return [
        name if own == name or own.lower() in taken else own
        for name, own in zip(names, bare, strict=True)
    ]


def _names_of_otree(names: Sequence[str]) -> list[str]:
    """Columns of oTree: of players by their own name, rounds as trials, numbered on if wide."""
    bare = []
    for name in names:
        wide, own = _ROUND.fullmatch(name), _FIELD.fullmatch(name)
        if wide is not None:
            bare.append(f"{wide['field']}_{wide['round']}")
        elif own is not None and own["field"] != "code":
            bare.append("trial" if own["field"] == "round_number" else own["field"])
        else:
            bare.append(name)
    once = {name for name in bare if bare.count(name) == 1}
    players = {own for own, name in zip(bare, names, strict=True) if name.startswith("player.")}
    return [
        own if own in once or (own in players and name.startswith("player.")) else name
        for own, name in zip(bare, names, strict=True)
    ]


# --- rows that are no decisions ------------------------------------------------------------------


def _is_empty(source: SourceTable, name: str) -> bool:
    column = source.table[name]
    return bool(column.null_count == len(column))


def _without_blank_rows(source: SourceTable) -> SourceTable:
    """The rows in which something stands: spreadsheets have others below a table."""
    if any(source.table[name].null_count == 0 for name in source.names):
        return source
    blank: BoolVector = np.ones(len(source), dtype=bool)
    for name in source.names:
        blank &= np.asarray(pc.is_null(source.table[name]).to_numpy())
    return source.keep_rows(~blank, "nothing is in it")


def _lowercase_cells(source: SourceTable, name: str) -> Any:
    """Cells of a column as words in lower case; empty ones as empty text."""
    text = pc.fill_null(source.table[name].cast(pa.string()), "")
    return pc.utf8_lower(pc.utf8_trim_whitespace(text))


def _is_among(source: SourceTable, name: str, words: Sequence[str]) -> BoolVector:
    found: BoolVector = np.asarray(
        pc.is_in(_lowercase_cells(source, name), pa.array(words, pa.string())).to_numpy()
    )
    return found


def _without_titles(source: SourceTable, program: Program) -> SourceTable:
    """The rows of events: no titles of questions, previews, beginnings and ends of tasks."""
    out: BoolVector = np.zeros(len(source), dtype=bool)
    if program.name == QUALTRICS:
        for row in range(min(len(source), 3)):
            cells = (str(source.table[name][row].as_py()) for name in source.names)
            if any(cell.lstrip().startswith('{"ImportId"') for cell in cells):
                out[: row + 1] = True
        if "Status" in source.names:
            out |= _is_among(source, "Status", _NO_PEOPLE)
    if program.name == GORILLA:
        for name in ("Event Index", "Trial Number", "Spreadsheet Row"):
            if name in source.names:
                out |= _is_among(source, name, _MARKS)
        if "Response Type" in source.names:
            answered = _is_among(source, "Response Type", ["response"]).any()
            out |= _is_among(source, "Response Type", _NO_ANSWERS) & answered
    return source.keep_rows(~out, f"titles and ends of {program.name}")


def _in_loops(source: SourceTable, choice: str | None) -> tuple[SourceTable, dict[str, Any]]:
    """The trials of PsychoPy: rows of loops that are no practice; how these are numbered."""
    loops = {
        match["loop"]: ~np.asarray(pc.is_null(source.table[name]).to_numpy())
        for name in source.names
        if (match := _LOOP.fullmatch(name)) is not None and match["what"] == "thisN"
    }
    practice: BoolVector = np.zeros(len(source), dtype=bool)
    for loop, rows in loops.items():
        if is_practice(loop):
            practice |= rows
    source = source.keep_rows(~practice, "loops of practice")
    real = {loop: rows[~practice] for loop, rows in loops.items()}
    real = {loop: rows for loop, rows in real.items() if rows.any()}
    if not real:
        return source, {}
    # A row of a loop around others, such as a break between blocks, is no trial.
    inner = [a for a, own in real.items() if not any(_is_inside(b, own) for b in real.values())]
    if len(inner) > 1 and len({real[loop].tobytes() for loop in inner}) == 1:
        # Loops in the same rows are one inside the other: the inner one counts more often.
        counts = {a: len(source.labels(f"{a}.thisN", "columns.trial")) for a in inner}
        inner = [a for a in inner if counts[a] == max(counts.values())]
    inside: BoolVector = np.logical_or.reduce([real[loop] for loop in inner])
    hints: dict[str, Any] = {}
    pressed = [n for n in source.names if _RESPONSE.fullmatch(n) and _fills(source, n, inside)]
    free = [name for name in source.names if not _is_of_psychopy(name)]
    if choice is not None:
        pressed = []
    if len(pressed) == 1 and not named("choice", free).columns:
        hints = {"columns.choice": pressed[0], "choice.missed": ("None",)}
    elif pressed and not named("choice", free).columns:
        inside &= np.logical_or.reduce([_filled(source, name) for name in pressed])
    source = source.keep_rows(inside, "not in a loop of trials")
    if len(inner) == 1:
        hints["columns.trial"] = f"{inner[0]}.thisN"
        around = [loop for loop in real if loop not in inner]
        if len(around) == 1 and len(source.labels(f"{around[0]}.thisN", "columns.block")) > 1:
            hints["columns.block"] = (f"{around[0]}.thisN",)
    return source, hints


def _is_inside(rows: BoolVector, others: BoolVector) -> bool:
    """Whether a loop runs inside another: all of its rows are the other's, which has more."""
    return bool(rows.any() and (others | ~rows).all() and (others & ~rows).any())


def _filled(source: SourceTable, name: str) -> BoolVector:
    empty = _is_among(source, name, ["", *(word.lower() for word in MISSING_WORDS)])
    found: BoolVector = ~empty
    return found


def _fills(source: SourceTable, name: str, rows: BoolVector) -> bool:
    return bool((_filled(source, name) & rows).any())


def _with_rewards_beside(source: SourceTable, choice: str) -> SourceTable:
    """Rewards beside the choice above them, where feedback has rows of its own throughout."""
    reward = named("reward", source.names).single
    if reward is None or reward == choice:
        return source
    chosen, paid = _filled(source, choice), _filled(source, reward)
    if not paid.any() or (chosen & paid).any():
        return source
    events = np.flatnonzero(chosen | paid)
    above = events[:-1][chosen[events[:-1]] & paid[events[1:]]]
    below = events[1:][chosen[events[:-1]] & paid[events[1:]]]
    place = np.full(len(source), -1)
    place[above] = below
    cells = source.table[reward].take(pa.array(place, mask=place < 0))
    note = f"{reward} taken from the row after each choice"
    return replace(source.with_columns({reward: cells}), notes=(*source.notes, note))


def _of_choices(
    source: SourceTable, program: Program, choice: str, subject: str | None
) -> SourceTable:
    """The rows of choices: no instructions, fixations, nor buttons to go on.

    Kept are kinds of rows in which something is chosen, and rows in which columns of the
    experimenter's that change from trial to trial say something.
    """
    chosen = _filled(source, choice)
    kinds = [
        name
        for name in program.kinds
        if name in source.names and name != choice and _has_few_words(source, name)
    ]
    if kinds:
        key, n = joint_codes([source.codes(name, "rows") for name in kinds])
        missing = np.column_stack([~_filled(source, name) for name in kinds])
        key, n = _codes_with_gaps(key, missing)
        active = np.bincount(key, weights=chosen, minlength=n)[key] > 0
        source = source.keep_rows(active, "screens on which nothing is chosen")
    own = {*program.own, *program.kinds, choice}
    told = [name for name in source.names if name not in own and _varies(source, name, subject)]
    if told:
        something: BoolVector = np.logical_or.reduce([_filled(source, name) for name in told])
        if something.any():  # without an answer, too, it may be a decision that nobody made
            idle = ~something & _filled(source, choice)
            source = source.keep_rows(~idle, "nothing of the experiment is in them")
    return source


def _codes_with_gaps(key: Any, missing: Any) -> tuple[Any, int]:
    """Codes of rows told apart by what is missing in them, too; and how many there are."""
    both = np.column_stack([key, missing])
    _, found = np.unique(both, axis=0, return_inverse=True)
    found = found.ravel()
    return found, int(found.max()) + 1


def _has_few_words(source: SourceTable, name: str) -> bool:
    column = source.table[name]
    return pa.types.is_string(column.type) and len(pc.unique(column)) <= MAX_KINDS


def _varies(source: SourceTable, name: str, subject: str | None) -> bool:
    """Whether a column says several things of somebody: it is of trials, not of people."""
    who = named("subject", source.names).columns[:1] or tuple(filter(None, [subject]))
    told = source.codes(name, "rows")
    if not who:
        return len(told.labels) > 1
    code, n = joint_codes([source.codes(who[0], "columns.subject")])
    filled = _filled(source, name)
    first = np.full(n, -1)
    rows = np.flatnonzero(filled)[::-1]
    first[code[rows]] = told.codes[rows]
    return bool((told.codes != first[code])[filled].any())


def is_practice(word: object) -> bool:
    """Whether a word says that something was practice.

    >>> is_practice("Practice_Trials"), is_practice("test")
    (True, False)
    """
    text = plain_name(word)
    return "practi" in text or text in ("prac", "tutorial", "demo", "warmup")


def retyped(table: pa.Table) -> pa.Table:
    """Columns of text that are numbers, now that other rows are left out, as numbers.

    >>> retyped(pa.table({"a": ["1", "2", "NA"], "b": ["x", "2", None], "c": ["01", "2", None]}))[
    ...     "a"
    ... ].to_pylist()
    [1, 2, None]
    """
    nothing = pa.array(["", *MISSING_WORDS])
    for place, name in enumerate(table.column_names):
        column = table[name]
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        text = pc.utf8_trim_whitespace(column)
        text = pc.if_else(pc.is_in(text, nothing), None, text)
        if text.null_count == len(text):
            table = table.set_column(place, name, pa.nulls(len(text)).cast(pa.string()))
            continue
        if pc.any(pc.match_substring_regex(text, _LEADING_ZERO)).as_py():
            continue
        for kind in (pa.int64(), pa.float64()):
            try:
                table = table.set_column(place, name, text.cast(kind))
                break
            except pa.ArrowInvalid:
                continue
    return table
