"""Programs that laboratories run experiments with: how to tell their tables, and what is what."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from penchant._typing import BoolVector
from penchant.errors import DataError, argument
from penchant.tables.cells import is_nothing
from penchant.tables.columns import USUAL, named_column, plain_name

JSPSYCH, PSYCHOPY, GORILLA, QUALTRICS, LAB_JS = (
    "jsPsych",
    "PsychoPy",
    "Gorilla",
    "Qualtrics",
    "lab.js",
)
INQUISIT = "Inquisit"
PENCHANT = "penchant export"
# Columns, in one spelling, that say what kind of event a row is.
KINDS = (
    *("trialtype", "task", "phase", "stage", "part", "screen", "screenname", "display", "event"),
    *("zonetype", "objecttype", "componentname", "responsetype", "sender", "sendertype"),
    *("expstage", "trialpart", "testpart", "screenid", "taskname", "blocktype", "section"),
    *("eventtype", "trialkind", "routine", "trialcode", "blockcode", "tasktype", "trialname"),
    *("runningtrial", "proceduretrial", "component", "screentype"),
)
# Columns, in one spelling, that programs write by themselves: never attributes of options.
_OWN = {
    JSPSYCH: (
        *("trialtype", "trialindex", "timeelapsed", "internalnodeid", "rt", "stimulus", "success"),
        *("pluginversion", "viewhistory", "timeout", "failedimages", "failedaudio", "failedvideo"),
        *("questionorder", "response", "responses", "buttonpressed", "keypress", "slidestart"),
        *("browser", "runid", "sourcecodeversion", "ip", "useragent", "device", "platform"),
        *("recordedat", "responsetype", "status", "record"),
    ),
    PSYCHOPY: ("date", "expname", "expversion", "psychopyversion", "os", "framerate", "expstart"),
    GORILLA: (
        *("eventindex", "utctimestamp", "utcdateandtime", "localtimestamp", "localtimezone"),
        *("localdateandtime", "experimentid", "experimentversion", "treenodekey", "repeatkey"),
        *("scheduleid", "participantpublicid", "participantprivateid", "participantstartinggroup"),
        *("participantstatus", "participantcompletioncode", "participantexternalsessionid"),
        *("participantdevicetype", "participantdevice", "participantos", "participantbrowser"),
        *("participantmonitorsize", "participantviewportsize", "checkpoint", "roomid", "roomorder"),
        *("taskname", "taskversion", "spreadsheet", "spreadsheetname", "spreadsheetrow"),
        *("trialnumber", "screennumber", "screenname", "zonename", "zonetype", "reactiontime"),
        *("reactiononset", "responsetype", "attempt", "correct", "incorrect", "dishonest"),
        *("xcoordinate", "ycoordinate", "timedout", "randomiseblocks", "randomisetrials"),
        *("display", "checkpoint", "responseduration", "objectid", "objectname", "objectnumber"),
        *("componentname", "tag", "currentspreadsheet", "storeactiontime", "clockdelta"),
    ),
    QUALTRICS: (
        *("startdate", "enddate", "status", "ipaddress", "progress", "durationinseconds"),
        *("finished", "recordeddate", "responseid", "recipientlastname", "recipientfirstname"),
        *("recipientemail", "externalreference", "locationlatitude", "locationlongitude"),
        *("distributionchannel", "userlanguage", "qrecaptchascore"),
    ),
    LAB_JS: (
        *("sender", "sendertype", "senderid", "timestamp", "duration", "endedon", "timecommit"),
        *("timerun", "timerender", "timeshow", "timeend", "timeswitch", "meta", "url"),
    ),
    INQUISIT: (
        *("build", "computerplatform", "date", "time", "blockcode", "trialcode", "latency"),
        *("response", "correct", "stimulusitem", "stimulusnumber", "script", "sessionid"),
        *(f"{stem}{k}" for stem in ("stimulusitem", "stimulusnumber") for k in range(1, 10)),
    ),
    PENCHANT: (
        *("platformid", "outcome", "auto", "rtms", "changes", "input", "elapseds", "received"),
        *("advised", "pbetter", "advicereason"),
        *(f"mean{k}" for k in range(1, 10)),  # payoffs of options, not labels of what was shown
    ),
}
_LOOP = re.compile(r"(?P<loop>.+)\.(?P<what>thisN|thisTrialN|thisRepN|thisIndex|ran|order)")
_RESPONSE = re.compile(r".+\.(keys|response|clicked_name)")
_NO_ANSWERS = ("info", "action", "change", "media", "store")
# Before columns of the experimenter's own.
_SHEET = re.compile(r"(?:Spreadsheet|Store|Manipulation|Responses|Embedded Data): ")
_OTREE = re.compile(r"(?:player|participant|subsession|session\.config)\.(?P<field>[^\W_]\w*)")
_OTREE_WIDE = re.compile(r"\w+\.(?P<round>\d+)\.player\.(?P<field>[^\W_]\w*)")
_PRESSED = ".RESP"  # after the name of the object in E-Prime
# Status of answers that nobody gave in earnest, in words and by Qualtrics's numbers.
_NO_PEOPLE = frozenset(
    (
        *("survey preview", "survey test", "spam", "survey preview spam", "imported spam"),
        *("offline survey preview", "1", "2", "8", "9", "12", "17"),
    )
)
_MARKS = ("begin task", "end task", "begin", "end of file", "prebuffer")


@dataclass(frozen=True)
class Program:
    """The program that wrote a table.

    Attributes
    ----------
    name
        What it is called; None where no program's columns are found.
    own
        Columns that it writes by itself, as the table calls them.
    kinds
        Columns that say what kind of event a row is.
    """

    name: str | None
    own: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()


def program_of(names: Sequence[str]) -> Program:
    """Which program wrote a table with these columns.

    >>> program_of(["trial_type", "trial_index", "time_elapsed", "response", "reward"]).name
    'jsPsych'
    >>> program_of(["subject", "choice", "reward"]).name is None
    True
    """
    plain = {plain_name(name) for name in names}
    name = None
    if {"trialtype", "trialindex", "timeelapsed"} <= plain:
        name = JSPSYCH
    elif "psychopyversion" in plain or sum(bool(_LOOP.fullmatch(str(n))) for n in names) > 1:
        name = PSYCHOPY
    elif "participantprivateid" in plain and plain & {"eventindex", "utctimestamp", "treenodekey"}:
        name = GORILLA
    elif {"startdate", "recordeddate"} <= plain or {"responseid", "distributionchannel"} <= plain:
        name = QUALTRICS
    elif {"sender", "sendertype"} <= plain:
        name = LAB_JS
    elif {"blockcode", "trialcode"} <= plain:
        name = INQUISIT
    elif {"rtms", "elapseds", "received", "auto"} <= plain:
        name = PENCHANT
    kinds = tuple(str(n) for n in names if plain_name(n) in KINDS)
    if name is None:
        return Program(None, kinds=kinds)
    own = {str(n) for n in names if plain_name(n) in _OWN[name]}
    if name == PSYCHOPY:
        own |= {str(n) for n in names if _is_of_psychopy(str(n))}
    return Program(name, frozenset(own), kinds)


def _is_of_psychopy(name: str) -> bool:
    return ("." in name and not name.startswith(".")) or re.fullmatch(
        r"column \d+", name
    ) is not None


def own_names(names: Sequence[str], unfilled: Collection[str] = ()) -> list[str]:
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
    >>> own_names(["participant.code", "participant.payoff", "player.payoff"])
    ['participant.code', 'participant.payoff', 'payoff']
    """
    taken = {name.lower() for name in names}
    if any(plain_name(name) == "participantcode" for name in names):
        return _of_otree(names)
    bare = [_SHEET.sub("", name, count=1) for name in names]
    pressed = [name for name in names if name.endswith(_PRESSED) and name not in unfilled]
    if len(pressed) == 1 and "experimentname" in map(plain_name, names):  # E-Prime
        bare[names.index(pressed[0])] = "response"
    return [
        name if own == name or own.lower() in taken else own
        for name, own in zip(names, bare, strict=True)
    ]


def several_pressed(table: pa.Table) -> None:
    """Ask which of several columns of E-Prime says what was chosen."""
    names = table.column_names
    pressed = {name: int(_filled(table, name).sum()) for name in names if name.endswith(_PRESSED)}
    pressed = {name: count for name, count in pressed.items() if count}
    if (
        len(pressed) < 2
        or "experimentname" not in map(plain_name, names)
        or named_column(USUAL["chosen"], names) is not None
    ):
        return
    said = ", ".join(f"{name} ({count} rows)" for name, count in pressed.items())
    raise DataError(
        f"{argument('chosen')} must be given, as several columns say what was pressed: {said}. "
        f"Pass {argument('chosen', max(pressed, key=lambda name: pressed[name]))}, or another of "
        "these."
    )


def _of_otree(names: Sequence[str]) -> list[str]:
    """Columns of oTree: of players by their own name, rounds as trials, numbered on if wide."""
    bare = []
    for name in names:
        wide, own = _OTREE_WIDE.fullmatch(name), _OTREE.fullmatch(name)
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


def marks(table: pa.Table, program: Program) -> BoolVector:
    """Rows that are no events: ends of files, beginnings of tasks, titles, previews of surveys."""
    found: BoolVector = np.zeros(len(table), dtype=bool)
    if program.name == GORILLA:
        for name in ("Event Index", "Trial Number", "Spreadsheet Row"):
            if name in table.column_names and pa.types.is_string(table[name].type):
                cells = table[name].to_pylist()
                found |= np.array([str(cell).strip().lower() in _MARKS for cell in cells])
        found |= _no_answers(table)
    if program.name == QUALTRICS:
        found |= _titles(table)
        if "Status" in table.column_names:
            cells = [str(cell).strip().lower() for cell in table["Status"].to_pylist()]
            found |= np.array([cell in _NO_PEOPLE for cell in cells])
    return found


def _no_answers(table: pa.Table) -> BoolVector:
    """Rows in which Gorilla writes that a screen was left, or a task begun, beside the answers."""
    name = "Response Type"
    if name not in table.column_names:
        return np.zeros(len(table), dtype=bool)
    cells = [str(cell).strip().lower() for cell in table[name].to_pylist()]
    if "response" not in cells:
        return np.zeros(len(table), dtype=bool)
    return np.array([cell in _NO_ANSWERS for cell in cells])


def question_titles(table: pa.Table, program: Program) -> dict[str, str]:
    """The texts of the questions, which surveys have below the names of columns."""
    if program.name != QUALTRICS:
        return {}
    rows = np.flatnonzero(_titles(table))
    return {name: str(table[name][0].as_py()) for name in table.column_names} if rows.size else {}


def _titles(table: pa.Table) -> BoolVector:
    """Rows of a survey that repeat the questions: up to the one with the ids of columns."""
    found: BoolVector = np.zeros(len(table), dtype=bool)
    for row in range(min(len(table), 3)):
        cells = [str(table[name][row].as_py()) for name in table.column_names]
        if any(cell.lstrip().startswith('{"ImportId"') for cell in cells):
            found[: row + 1] = True
    return found


@dataclass(frozen=True)
class Loops:
    """What PsychoPy's loops and components say: rows, and the columns of parts.

    Attributes
    ----------
    practice
        Rows of loops that are named so.
    inside
        Rows of any loop; None where there is no loop.
    chosen, decision, block
        Columns; None where there are none.
    """

    practice: BoolVector
    inside: BoolVector | None = None
    chosen: str | None = None
    decision: str | None = None
    block: str | None = None


def psychopy_loops(table: pa.Table, chosen: str | None, of_people: Collection[str] = ()) -> Loops:
    """Read the loops of PsychoPy: which rows are trials, how they are numbered, what was pressed.

    Parameters
    ----------
    table
        The table.
    chosen
        Column of the choice, where it is known.
    of_people
        Columns that tell people apart, whatever they are called.
    """
    n = len(table)
    loops: dict[str, BoolVector] = {}
    for name in table.column_names:
        match = _LOOP.fullmatch(name)
        if match is not None and match["what"] == "thisN":
            loops[match["loop"]] = _filled(table, name)
    practice: BoolVector = np.zeros(n, dtype=bool)
    for loop, rows in loops.items():
        if is_practice(loop):
            practice |= rows
    real = {loop: rows & ~practice for loop, rows in loops.items() if not is_practice(loop)}
    real = {loop: rows for loop, rows in real.items() if rows.any()}
    if not real:
        return Loops(practice, None, chosen)
    pressed = chosen or _pressed(table, np.logical_or.reduce([*real.values()]), of_people)
    used = _filled(table, pressed) if pressed else np.ones(n, dtype=bool)
    holding = {loop: rows for loop, rows in real.items() if (rows & used).any()} or real
    inside: BoolVector = np.logical_or.reduce(list(holding.values()))
    # A row of a loop around others, such as a break between blocks, is no trial.
    around = [a for a, own in holding.items() if any(_is_within(b, own) for b in holding.values())]
    trials = [rows for loop, rows in holding.items() if loop not in around]
    inside = np.logical_or.reduce([*trials, inside & used if pressed else inside & False])
    # The inner loop changes from row to row; one around it stays.
    changes = {loop: _changes(table, f"{loop}.thisN", inside) for loop in holding}
    order = sorted(changes, key=lambda loop: -changes[loop])
    nested = [loop for loop in order if holding[loop][inside].all()]
    inner = order[0]
    outer = next((loop for loop in nested if loop != inner and changes[loop]), None)
    several = [loop for loop in holding if loop not in (inner, outer)]
    decision = None if several else f"{inner}.thisN"
    return Loops(practice, inside, pressed, decision, f"{outer}.thisN" if outer else None)


def _is_within(rows: BoolVector, others: BoolVector) -> bool:
    """Whether a loop runs inside another: all of its rows are the other's, which has more."""
    return bool(rows.any() and (others | ~rows).all() and (others & ~rows).any())


def _filled(table: pa.Table, name: str) -> BoolVector:
    return np.array([not is_nothing(cell) for cell in table[name].to_pylist()])


def _changes(table: pa.Table, name: str, rows: BoolVector) -> int:
    cells = [cell for cell, own in zip(table[name].to_pylist(), rows, strict=True) if own]
    return sum(a != b for a, b in pairwise(cells))


def _pressed(table: pa.Table, inside: BoolVector, of_people: Collection[str]) -> str | None:
    """The column of what was pressed in trials, where no column has a usual name."""
    free = [n for n in table.column_names if n not in of_people and not _RESPONSE.fullmatch(n)]
    if named_column(USUAL["chosen"], free) is not None:
        return None
    found = {
        name: int((_filled(table, name) & inside).sum())
        for name in table.column_names
        if _RESPONSE.fullmatch(name)
    }
    found = {name: count for name, count in found.items() if count}
    if len(found) > 1:
        said = ", ".join(f"{name} ({count} rows)" for name, count in found.items())
        raise DataError(
            f"{argument('chosen')} must be given, as several columns say what was pressed in "
            f"trials: {said}. Pass {argument('chosen', next(iter(found)))}, or another of these."
        )
    return next(iter(found), None)


def is_practice(word: object) -> bool:
    """Whether a word says that something was practice.

    >>> is_practice("Practice_Trials"), is_practice("test")
    (True, False)
    """
    text = plain_name(word)
    return "practi" in text or text in ("prac", "tutorial", "demo", "warmup")
