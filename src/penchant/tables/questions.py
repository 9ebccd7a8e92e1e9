"""Surveys with a row per person whose questions are offers: made one row per question."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import IntVector
from penchant.errors import DataError, argument
from penchant.files.table import typed
from penchant.output import format_count
from penchant.tables.cells import amount, amount_and_chance, amount_and_delay, is_nothing
from penchant.tables.unfolding import DECISION, Unfolded

CHOICE, FIRST, SECOND = "choice", "option_1", "option_2"
_TAG = re.compile(r"<[^>]*>|&nbsp;")
_OR = re.compile(r"\s+(?:or|oder|ou|o|vs\.?|versus)\s+|\s*/\s*", re.IGNORECASE)
_LETTER = re.compile(r"^\W*(?:option\s+)?(?:\(?[a-b1-2]\)|[a-b1-2][.:])\s*", re.IGNORECASE)
_SPLIT = re.compile(r"[?!:;]\s+|[?!]|\n")
_ANSWERS = re.compile(r"(?P<stem>.*?)(?P<number>\d+)(?:\D.*)?")
_NUMBERED = re.compile(r"(?P<stem>.*[^\d.])(?P<number>\d+)|(?P<dotted>.*\D)\.(?P<after>\d+)")
_KIRBY = re.compile(r"kirby|mcq(?!\d{3})|monetarychoice", re.IGNORECASE)
# The Monetary Choice Questionnaire of Kirby, Petry and Bickel (1999), in the order of its items:
# what one gets today, what one gets later, and after how many days.
KIRBY = (
    *((54, 55, 117), (55, 75, 61), (19, 25, 53), (31, 85, 7), (14, 25, 19), (47, 50, 160)),
    *((15, 35, 13), (25, 60, 14), (78, 80, 162), (40, 55, 62), (11, 30, 7), (67, 75, 119)),
    *((34, 35, 186), (27, 50, 21), (69, 85, 91), (49, 60, 89), (80, 85, 157), (24, 35, 29)),
    *((33, 80, 14), (28, 30, 179), (34, 50, 30), (25, 30, 80), (41, 75, 20), (54, 60, 111)),
    *((54, 80, 30), (22, 25, 136), (20, 55, 7)),
)
NOW, LATER = "now", "later"
CLEAR = 0.2  # correlation of answers with what waiting pays, from which their order is clear
_CONJOINT = re.compile(r"[Ff][-._](?P<task>\d+)[-._](?P<a>\d+)(?:[-._](?P<b>\d+))?")


def two_offers(text: Any) -> tuple[str, str] | None:
    """Both offers of a question in words; None if it does not hold two.

    >>> two_offers("Would you prefer £12 now or £20 in 30 days?")
    ('£12 now', '£20 in 30 days')
    >>> two_offers("Which do you take: $8 for sure or 50% chance of $20?")
    ('$8 for sure', '50% chance of $20')
    >>> two_offers("How old are you, or do you not say?") is None
    True
    """
    plain = " ".join(_TAG.sub(" ", str(text)).split())
    for clause in (plain, *_SPLIT.split(plain)):
        parts = _OR.split(clause)
        for left, right in pairwise(parts):
            first, second = _ending(left), _beginning(right)
            if first is not None and second is not None:
                return first, second
    return None


def _is_offer(words: str) -> bool:
    bare = amount(words) is not None
    return not bare and bool(amount_and_delay(words) or amount_and_chance(words))


def _ending(text: str) -> str | None:
    """The offer that a text ends with, in its fewest words that are one."""
    words = _LETTER.sub("", text).strip(" .,").split()
    found = [" ".join(words[k:]) for k in range(len(words)) if _is_offer(" ".join(words[k:]))]
    longest = [one for one in found if amount(one.split()[0]) is not None or one[0].isdigit()]
    return longest[0] if longest else None


def _beginning(text: str) -> str | None:
    """The offer that a text begins with, in as many words as it has."""
    words = _LETTER.sub("", text).strip(" .,?!").split()
    found = [" ".join(words[:k]).rstrip(".,?!") for k in range(len(words), 0, -1)]
    return next((one for one in found if _is_offer(one)), None)


def offers_of_questions(table: pa.Table, titles: Mapping[str, Any]) -> Unfolded | None:
    """One row per person and question, where questions are offers in words; None where none are.

    Parameters
    ----------
    table
        With one row per person.
    titles
        The text of each column's question; the name of the column where there is none.
    """
    found = {
        name: both
        for name in table.column_names
        if (both := two_offers(titles.get(name) or name)) is not None
    }
    if len(found) < 2:
        return None
    return _melted(
        table,
        list(found),
        {FIRST: [both[0] for both in found.values()], SECOND: [b[1] for b in found.values()]},
        f"{format_count(len(found), 'question')} taken for a choice between two offers each",
    )


def kirby(table: pa.Table) -> Unfolded | None:
    """One row per person and item, where 27 columns are called after Kirby's questionnaire.

    Its items are known. Whether a lower number stands for what one gets today is told by the
    answers: people wait where waiting pays. Where they say otherwise, the numbers become words
    that are asked about. None where a table has no such columns.
    """
    items: dict[int, str] = {}
    for name in table.column_names:
        match = _NUMBERED.fullmatch(name)
        if match is not None and _KIRBY.search(
            re.sub(r"[\W_]", "", match["stem"] or match["dotted"])
        ):
            items[int(match["number"] or match["after"])] = name
    if [*sorted(items)] != list(range(1, len(KIRBY) + 1)):
        return None
    answers = [items[k] for k in sorted(items)]
    offers = [(f"{now} now", f"{later} in {days} days") for now, later, days in KIRBY]
    table, spelled = _by_amounts(table, answers)
    order = None if spelled else _order(table, answers)
    names = (FIRST, SECOND) if spelled or order else (NOW, LATER)
    said = (
        f"{answers[0]} to {answers[-1]} taken for the {len(KIRBY)} items of the Monetary Choice "
        "Questionnaire in their usual order"
    )
    shown = dict(zip(names, zip(*offers, strict=True), strict=True))
    found = _melted(table, answers, shown, said)
    if order is not False:
        return found
    cells = [None if is_nothing(c) else f"answer {c}" for c in found.table[CHOICE].to_pylist()]
    at = found.table.column_names.index(CHOICE)
    return found._replace(table=found.table.set_column(at, CHOICE, pa.array(cells)))


def _by_amounts(table: pa.Table, answers: Sequence[str]) -> tuple[pa.Table, bool]:
    """Options in place of answers that repeat their amounts, as "$54 today", and if all do."""
    changed = table
    for name, (now, later, _) in zip(answers, KIRBY, strict=True):
        cells: list[Any] = []
        for cell in table[name].to_pylist():
            told = {*map(int, re.findall(r"\d+", str(cell)))} & {now, later}
            if is_nothing(cell):
                cells.append(None)
            elif len(told) == 1:
                cells.append(FIRST if told == {now} else SECOND)
            else:
                return table, False
        changed = changed.set_column(changed.column_names.index(name), name, pa.array(cells))
    return changed, True


def _order(table: pa.Table, answers: Sequence[str]) -> bool | None:
    """Whether the higher of two numbers is given where waiting pays more; None of words."""
    cells = [[None if is_nothing(c) else str(c) for c in table[n].to_pylist()] for n in answers]
    codes = sorted({cell for own in cells for cell in own if cell is not None})
    if len(codes) != 2 or not all(code.isdigit() for code in codes):
        return None
    rate = [np.log((later / now - 1) / days) for now, later, days in KIRBY]
    pairs = [(k, own == codes[1]) for k, one in zip(rate, cells, strict=True) for own in one if own]
    values, higher = np.array(pairs, dtype=float).T
    return bool(np.corrcoef(values, higher)[0, 1] > CLEAR)


def _melted(
    table: pa.Table, answers: Sequence[str], shown: Mapping[str, Sequence[Any]], said: str
) -> Unfolded:
    """A row per person and question: who, what was shown, what was answered."""
    n, m = len(table), len(answers)
    rows: IntVector = np.repeat(np.arange(n), m)
    kept = [name for name in table.column_names if name not in answers]
    columns: dict[str, Any] = {name: table[name].take(pa.array(rows)) for name in kept}
    columns[DECISION] = pa.array(np.tile(np.arange(1, m + 1), n))
    for name, cells in shown.items():
        columns[name] = typed(list(cells) * n if len(cells) == m else list(cells))
    taken = [table[name].to_pylist() for name in answers]
    texts = [column[row] for row in range(n) for column in taken]
    if FIRST in columns:
        texts = [_answer(text, pair) for text, pair in zip(texts, _pairs(columns), strict=True)]
    columns[CHOICE] = typed(texts)
    return Unfolded(pa.table(columns), rows, (said,))


def _pairs(columns: Mapping[str, Any]) -> list[tuple[str, str]]:
    return list(zip(columns[FIRST].to_pylist(), columns[SECOND].to_pylist(), strict=True))


def _answer(text: Any, pair: tuple[str, str]) -> Any:
    """The option whose words an answer repeats, whatever stands around them; else the answer."""
    if is_nothing(text) or not isinstance(text, str):
        return text
    own = [k for k, offer in enumerate(pair) if _spelled(offer) in _spelled(text)]
    return (FIRST, SECOND)[own[0]] if len(own) == 1 else text


def _spelled(text: str) -> str:
    return re.sub(r"[^\w%£$€.,]", "", _TAG.sub("", text).lower()).strip(".,")


def conjoint(table: pa.Table) -> Unfolded | None:
    """One row per person and task, where columns F-1-2 name attributes and F-1-2-3 levels.

    These are tasks, profiles and attributes, as embedded data of Qualtrics have them; attributes
    may stand in another order for everybody. None where a table has no such columns.
    """
    names: dict[tuple[int, int], str] = {}
    levels: dict[tuple[int, int, int], str] = {}
    for name in table.column_names:
        match = _CONJOINT.fullmatch(name)
        if match is not None and match["b"] is None:
            names[int(match["task"]), int(match["a"])] = name
        elif match is not None:
            levels[int(match["task"]), int(match["a"]), int(match["b"])] = name
    if not names or not levels:
        return None
    tasks = sorted({task for task, _ in names})
    answers = _answers_of(table, {*names.values(), *levels.values()}, len(tasks))
    shown: dict[str, list[Any]] = {}
    profiles = sorted({profile for _, profile, _ in levels})
    cells = {n: table[n].to_pylist() for n in (*names.values(), *levels.values())}
    for row in range(len(table)):
        for k, task in enumerate(tasks):
            for (own, a), name in names.items():
                if own != task or is_nothing(cells[name][row]):
                    continue
                for profile in profiles:
                    level = cells[levels[task, profile, a]][row]
                    column = shown.setdefault(
                        f"{cells[name][row]}_{profile}", [None] * (len(table) * len(tasks))
                    )
                    column[row * len(tasks) + k] = level
    dropped = table.drop_columns([*names.values(), *levels.values()])
    said = f"F-{tasks[0]}-1 to F-{tasks[-1]}-... taken for the profiles of {len(tasks)} tasks"
    return _melted(dropped, answers, shown, said)


def _answers_of(table: pa.Table, used: Collection[str], n_tasks: int) -> list[str]:
    """The columns of answers: as many as there are tasks, numbered on."""
    runs: dict[str, list[str]] = {}
    for name in table.column_names:
        match = _ANSWERS.fullmatch(name)
        if name not in used and match is not None:
            runs.setdefault(match["stem"], []).append(name)
    fitting = [own for own in runs.values() if len(own) == n_tasks]
    if len(fitting) != 1:
        got = " or ".join(f"{own[0]} to {own[-1]}" for own in fitting) or "none"
        raise DataError(
            f"The answers to {n_tasks} tasks must stand in as many columns that are numbered on; "
            f"got {got}. Name them choice_1 to choice_{n_tasks}, and leave others out "
            f"({argument('where')} is for rows)."
        )
    return fitting[0]
