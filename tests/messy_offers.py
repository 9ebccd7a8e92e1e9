"""Made-up files of offers and choice experiments, messy as laboratories have them, with the truth.

`made(seed)` simulates people, then writes what they chose in a layout, a vocabulary, a coding and
with a mess that the seed decides. What is really in the file is kept beside it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from messy_words import FIRST, Words

Option = dict[str, Any]
NAMES = ["anna", "bert", "carl", "dora", "emil", "fay", "gus", "hana", "ines", "jo", "kim", "lena"]


@dataclass
class Decision:
    """What one person was offered, and the index of what they took (None: nothing in time)."""

    person: str
    options: list[Option]
    chosen: int | None


@dataclass
class Draft:
    """Rows of a table to be, and what they mean."""

    family: str
    decisions: list[Decision]
    rows: list[dict[str, Any]]
    of: list[int]  # the decision of each row
    person: str
    answer: str
    counted: bool = False  # whether answers are numbers
    story: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    doubts: set[str] = field(default_factory=set)
    extras: set[str] = field(default_factory=set)
    design: list[str] = field(default_factory=list)  # columns of what was offered and taken

    def add(self, name: str, values: list[Any], at: int | None = None) -> None:
        """One more column, at a place among the others."""
        if name.lower() in {key.lower() for key in self.rows[0]}:
            return
        for k, row in enumerate(self.rows):
            items = list(row.items())
            items.insert(len(items) if at is None else at, (name, values[k]))
            self.rows[k] = dict(items)


@dataclass
class Made:
    """A file, and what is really in it."""

    seed: int
    family: str
    name: str
    content: bytes | dict[str, bytes]
    decisions: list[Decision]
    story: list[str]
    answers: dict[str, Any]
    doubts: set[str]
    extras: set[str]


class Dice:
    """Random picks, in words."""

    def __init__(self, seed: int, words: Words = FIRST) -> None:
        self.rng = np.random.default_rng(seed)
        self.words = words

    def pick(self, of: Any) -> Any:
        return of[int(self.rng.integers(len(of)))]

    def often(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def some(self, of: Any, n: int) -> list[Any]:
        return [of[int(i)] for i in self.rng.permutation(len(of))[:n]]


# --- names of columns --------------------------------------------------------------------------


def upper_first(word: str) -> str:
    return word[:1].upper() + word[1:]


JOINED: tuple[Callable[[str, str], str], ...] = (
    lambda o, a: f"{o}_{a}",
    lambda o, a: f"{a}_{o}",
    lambda o, a: f"{o}.{a}",
    lambda o, a: f"{a}.{o}",
    lambda o, a: f"{o}{upper_first(a)}" if not o.isdigit() else f"{a}{o}",
    lambda o, a: f"{a}{upper_first(o)}",
    lambda o, a: (
        f"{upper_first(o)} {upper_first(a)}" if not o.isdigit() else f"{upper_first(a)} {o}"
    ),
    lambda o, a: f"{o}_{a}".upper(),
    lambda o, a: f"{a}-{o}",
    lambda o, a: f"{upper_first(a)} ({o})",
)


def joiner(dice: Dice, options: Any) -> Callable[[str, str], str]:
    """How names of options and attributes are joined; a name does not begin with a number."""
    join = dice.pick(JOINED)
    if options[0].isdigit() and join("1", "a")[0].isdigit():
        return JOINED[1]
    return join


# --- people ------------------------------------------------------------------------------------


def people(dice: Dice, least: int = 4, most: int = 8) -> list[str]:
    n = int(dice.rng.integers(least, most + 1))
    style = dice.pick(("number", "name", "code", "long"))
    if style == "number":
        return [str(k + 1) for k in range(n)]
    if style == "name":
        return NAMES[:n]
    if style == "code":
        return [f"S{k + 1:02d}" for k in range(n)]
    return [f"{int(dice.rng.integers(16**11, 16**12)):x}" for _ in range(n)]


def taken(dice: Dice, values: list[float], scale: float) -> int:
    """The option of a person who prefers higher values, more or less."""
    q = np.array(values) / scale
    p = np.exp(q - q.max())
    return int(dice.rng.choice(len(values), p=p / p.sum()))


def offered(
    dice: Dice, n: int, make: Callable[[], tuple[list[Option], list[float], float]]
) -> list[Decision]:
    """n decisions of everybody; `make` gives options, what they are worth, and the noise."""
    found = []
    for person in people(dice):
        for _ in range(n):
            options, values, scale = make()
            found.append(Decision(person, options, taken(dice, values, scale)))
    return found


# --- what cells hold ---------------------------------------------------------------------------


def money(dice: Dice) -> Callable[[float], Any]:
    style = dice.pick(("plain",) * 6 + ("$", "£", "€ after", "EUR", "USD before", ".00"))
    write: dict[str, Callable[[float], Any]] = {
        "plain": lambda x: x,
        "$": lambda x: f"${x:g}" if x >= 0 else f"-${-x:g}",
        "£": lambda x: f"£{x:.2f}" if x >= 0 else f"-£{-x:.2f}",
        "€ after": lambda x: f"{x:g} €",
        "EUR": lambda x: f"{x:g} EUR",
        "USD before": lambda x: f"USD {x:g}",
        ".00": lambda x: f"{x:.2f}",
    }
    return write[style]


DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def timed(days: float, dice: Dice, mixed: bool) -> str:
    if days == 0:
        return dice.pick(("today", "now", "0 days")) if not mixed else "today"
    if mixed and days % 7 == 0 and days <= 42:
        n = int(days // 7)
        return f"{n} week{'s' * (n > 1)}"
    if mixed and days % 30 == 0:
        n = int(days // 30)
        return f"{n} month{'s' * (n > 1)}"
    return f"{days:g} day{'s' * (days != 1)}"


# --- discounting -------------------------------------------------------------------------------


def savings(dice: Dice) -> list[Decision]:
    """Sooner and later amounts, for people who discount hyperbolically."""
    both = dice.often(0.25)
    rate = float(dice.rng.uniform(0.005, 0.03))

    def make() -> tuple[list[Option], list[float], float]:
        later = float(dice.rng.integers(20, 80))
        sooner = float(np.round(later * dice.rng.uniform(0.25, 0.95)))
        wait = float(dice.pick((7, 14, 21, 30, 60, 90, 180)))
        first = float(dice.pick((0, 7, 14))) if both else 0.0
        options = [{"amount": sooner, "delay": first}, {"amount": later, "delay": first + wait}]
        return options, [o["amount"] / (1 + rate * o["delay"]) for o in options], 6.0

    return offered(dice, int(dice.rng.integers(14, 24)), make)


def delay_cells(
    dice: Dice, decisions: list[Decision], draft_doubts: set[str]
) -> Callable[[float], Any]:
    style = dice.pick(("plain",) * 5 + ("days", "mixed"))
    if style == "plain":
        return lambda d: int(d) if d == int(d) else d
    mixed = style == "mixed"
    if mixed:
        draft_doubts.add("month")
        once = timed(0, dice, True)
        return lambda d: timed(d, dice, True) if d else once
    zero = dice.pick(("0 days", "today", "now"))
    return lambda d: zero if d == 0 else timed(d, dice, False)


def discounting(dice: Dice) -> Draft:
    """One row per decision: sooner and later, or two places where either may stand."""
    decisions = savings(dice)
    return dice.pick((by_name, by_name, by_place))(dice, decisions)


def attribute_columns(
    dice: Dice, options: Any, attributes: dict[str, str]
) -> dict[tuple[int, str], str]:
    """The column of each option's attribute."""
    join = joiner(dice, options)
    return {
        (i, name): join(option, word)
        for i, option in enumerate(options)
        for name, word in attributes.items()
    }


def by_name(dice: Dice, decisions: list[Decision]) -> Draft:
    """Columns that say which option is the sooner one."""
    doubts: set[str] = set()
    options = dice.pick(dice.words.soon_late)
    words = {"amount": dice.pick(dice.words.amount), "delay": dice.pick(dice.words.delay)}
    columns = attribute_columns(dice, options, words)
    amount, delay = money(dice), delay_cells(dice, decisions, doubts)
    always_now = all(d.options[0]["delay"] == 0 for d in decisions)
    drop = always_now and dice.often(0.6)
    if drop and dice.often(0.5):  # one delay, of the later option
        columns[1, "delay"] = dice.pick(
            ("delay", "Delay", "delay_days", "days", "wait", "dice.words.delay", "delay (days)")
        )
    rows = []
    for d in decisions:
        row = {}
        for i, option in enumerate(d.options):
            row[columns[i, "amount"]] = amount(option["amount"])
            if not (i == 0 and drop):
                row[columns[i, "delay"]] = delay(option["delay"])
        rows.append(row)
    draft = Draft(
        "discounting by name", decisions, rows, list(range(len(rows))), "", "", doubts=doubts
    )
    given: dict[str, list[Any]] = {
        "amount": [columns[0, "amount"], columns[1, "amount"]],
        "delay": [0 if drop else columns[0, "delay"], columns[1, "delay"]],
    }
    draft.answers["offers"] = given
    named_answer(dice, draft, options)
    return draft


def named_answer(dice: Dice, draft: Draft, options: Any) -> None:
    """What was taken of two options that have names: flags, numbers, words, sides, keys."""
    second = options[1]
    how = dice.pick(("flag", "flag", "number", "word", "word", "side", "key", "synonym"))
    if how == "synonym" and not draft.family.startswith("discounting"):
        how = "word"
    chosen = [d.chosen for d in draft.decisions]
    draft.story.append(f"answer by {how}")
    name = dice.pick(dice.words.answer)
    if how == "flag":
        at = int(dice.often(0.7))
        word = options[at]
        forms = (
            f"chose_{word}",
            f"{word}_chosen",
            f"choice_{word}",
            f"chose{upper_first(word)}",
            f"picked_{word}",
            f"is_{word}",
            f"took_{word}",
            f"{word}_selected",
        )
        name = dice.pick(forms)
        yes, no = dice.pick((("1", "0"), ("TRUE", "FALSE"), ("yes", "no"), ("True", "False")))
        cells = [yes if c == at else no for c in chosen]
        draft.answers["options"] = [no, yes] if at else [yes, no]
    elif how == "number":
        base = int(dice.rng.integers(2))
        cells = [str(c + base) for c in chosen]
        draft.counted = True
        draft.answers["options"] = [str(base), str(base + 1)]
        draft.doubts.add("numbers of names")
    elif how in ("word", "synonym"):
        words = options
        if how == "synonym":
            words = dice.pick(
                (
                    ("SS", "LL"),
                    ("sooner", "later"),
                    ("immediate", "delayed"),
                    ("now", "later"),
                    ("smaller-sooner", "larger-later"),
                    ("impulsive", "patient"),
                )
            )
        if dice.often(0.3):
            words = tuple(w.upper() if dice.often(0.5) else upper_first(w) for w in words)
        if words[0] == words[1]:
            words = options
        cells = [words[c] for c in chosen]
        draft.answers["options"] = list(words)
    elif how == "side":
        column = dice.pick(
            (f"{second}_side", f"side_{second}", f"{second}Position", f"{second}_location")
        )
        sides = [dice.pick(("left", "right")) for _ in chosen]
        draft.add(column, sides)
        other = {"left": "right", "right": "left"}
        cells = [s if c == 1 else other[s] for c, s in zip(chosen, sides, strict=True)]
        draft.answers["chosen"] = f"{name} == {column}"
        draft.doubts.add("side")
    else:
        keys = dice.pick(
            (("f", "j"), ("q", "p"), ("ArrowLeft", "ArrowRight"), ("a", "l"), ("1", "9"))
        )
        if dice.often(0.5):
            keys = keys[::-1]
        cells = [keys[c] for c in chosen]
        draft.answers["options"] = list(keys)
        draft.doubts.add("key")
    if name in draft.rows[0]:
        name = f"{name}_made"
    draft.answer = name
    draft.add(name, cells)


def by_place(dice: Dice, decisions: list[Decision]) -> Draft:
    """Columns of two places, either of which may show the later one."""
    doubts: set[str] = set()
    places = dice.pick(dice.words.numbered)[:2]
    words = {"amount": dice.pick(dice.words.amount), "delay": dice.pick(dice.words.delay)}
    columns = attribute_columns(dice, places, words)
    amount, delay = money(dice), delay_cells(dice, decisions, doubts)
    rows, at = [], []
    for d in decisions:
        order = [0, 1] if dice.often(0.5) else [1, 0]
        row = {}
        for i, k in enumerate(order):
            row[columns[i, "amount"]] = amount(d.options[k]["amount"])
            row[columns[i, "delay"]] = delay(d.options[k]["delay"])
        rows.append(row)
        at.append(order.index(d.chosen))
    draft = Draft(
        "discounting by place", decisions, rows, list(range(len(rows))), "", "", doubts=doubts
    )
    draft.answers["offers"] = {n: [columns[0, n], columns[1, n]] for n in words}
    placed_answer(dice, draft, places, at)
    if dice.often(0.2):  # what it amounts to, beside the place
        draft.add("chose_ll", [str(d.chosen) for d in decisions])
        draft.doubts.add("two answers")
        draft.story.append("chose_ll beside")
    return draft


def are_counted(places: Any) -> bool:
    """Whether the names of places count them: by a letter or a number at their end."""
    return places[0][-1] == "1" or places[0] in ("A", "a", "X", "L") or places[0][-1] == "A"


def placed_answer(dice: Dice, draft: Draft, places: Any, at: list[int]) -> None:
    """What was taken of options that are numbered: the number, the word, a key."""
    how = dice.pick(("number", "number", "word", "word", "spelt", "key"))
    draft.story.append(f"answer by {how}")
    name = dice.pick(dice.words.answer)
    if how == "number":
        base = int(dice.often(0.7))
        cells = [str(i + base) for i in at]
        draft.counted = True
        draft.answers["base"] = base
        if not are_counted(places):
            draft.doubts.add("numbers of names")
            draft.answers["options"] = [str(i + base) for i in range(len(places))]
    elif how == "word":
        words = places
        cells = [words[i] for i in at]
        draft.counted = words[0].isdigit()
        draft.answers["options"] = list(words)
        if draft.counted:
            draft.answers["base"] = 1
            del draft.answers["options"]
    elif how == "spelt":
        letter = not any(p[-1].isdigit() for p in places)
        words = [f"Option {chr(65 + i) if letter else i + 1}" for i in range(len(places))]
        if places[0] in ("left", "L", "top"):
            words = [f"{upper_first(p)}" for p in places]
        cells = [words[i] for i in at]
        draft.answers["options"] = words
        draft.doubts |= set() if are_counted(places) else {"numbers of names"}
    else:
        keys = (("f", "j", "k"), ("q", "p", "z"), ("a", "l", "m"))
        words = list(dice.pick(keys))[: len(places)]
        if len(places) == 2 and dice.often(0.4):
            words = ["ArrowLeft", "ArrowRight"]
        cells = [words[i] for i in at]
        draft.answers["options"] = words
        draft.doubts.add("key")
    if name in draft.rows[0]:
        name = f"{name}_made"
    draft.answer = name
    draft.add(name, cells)


def discounting_long(dice: Dice) -> Draft:
    """Two rows per decision: an option each."""
    decisions = savings(dice)
    doubts: set[str] = set()
    amount, delay = money(dice), delay_cells(dice, decisions, doubts)
    words = {"amount": dice.pick(dice.words.amount), "delay": dice.pick(dice.words.delay)}
    task, option = (
        dice.pick(dice.words.task),
        dice.pick(("option", "alt", "alternative", "opt", "offer", "type")),
    )
    names = dice.pick((*dice.words.soon_late, ("1", "2"), ("A", "B")))
    rows, of = [], []
    counter: dict[str, int] = {}
    per_person = dice.often(0.7)
    for k, d in enumerate(decisions):
        counter[d.person] = counter.get(d.person, 0) + 1
        order = [0, 1] if dice.often(0.5) else [1, 0]
        for i in order:
            rows.append(
                {
                    task: counter[d.person] if per_person else k + 1,
                    option: names[i],
                    words["amount"]: amount(d.options[i]["amount"]),
                    words["delay"]: delay(d.options[i]["delay"]),
                }
            )
            of.append(k)
    draft = Draft("discounting long", decisions, rows, of, "", "", doubts=doubts)
    draft.answers.update(decision=task, option=option, attributes=list(words.values()))
    flagged(
        dice,
        draft,
        [decisions[k].chosen == names.index(r[option]) for k, r in zip(of, rows, strict=True)],
        [names[decisions[k].chosen or 0] for k in of],
    )
    return draft


def flagged(dice: Dice, draft: Draft, is_taken: list[bool], taken_names: list[str]) -> None:
    """What was taken in a table with a row per option."""
    name = dice.pick((*dice.words.answer, "y", "chosen"))
    yes, no = dice.pick(
        (("1", "0"),) * 3 + (("TRUE", "FALSE"), ("yes", "no"), ("True", "False"), ("1", ""))
    )
    if dice.often(0.2):
        cells: list[str] = taken_names
        draft.story.append("the name of what was taken on every row")
    else:
        cells = [yes if t else no for t in is_taken]
        draft.story.append(f"flag {yes}/{no or 'empty'}")
    if name in draft.rows[0]:
        name = f"{name}_made"
    draft.answer = name
    draft.answers["chosen"] = name
    draft.add(name, cells)


# --- gambles, effort, ambiguity, sharing -------------------------------------------------------


def percent(dice: Dice) -> Callable[[float], Any]:
    return dice.pick(
        (lambda p: p, lambda p: p, lambda p: f"{100 * p:g}%", lambda p: round(100 * p, 6))
    )


def mixed_gambles(dice: Dice) -> Draft:
    """A gain or a loss at even odds, taken or left."""

    def make() -> tuple[list[Option], list[float], float]:
        gain, loss = float(dice.rng.integers(10, 41)), float(dice.rng.integers(5, 21))
        gamble = {"x1": gain, "p1": 0.5, "x2": -loss, "p2": 0.5}
        return (
            [{"x1": 0.0, "p1": 1.0, "x2": 0.0, "p2": 0.0}, gamble],
            [0.0, 0.5 * gain - 0.8 * loss],
            3.0,
        )

    decisions = offered(dice, 20, make)
    gain, loss = dice.pick(dice.words.gain_loss)
    sign = dice.pick((1, -1))
    amount = money(dice)
    rows = [
        {gain: amount(d.options[1]["x1"]), loss: amount(-sign * d.options[1]["x2"])}
        for d in decisions
    ]
    draft = Draft("mixed gambles", decisions, rows, list(range(len(rows))), "", "")
    lost = loss if sign < 0 else f"-{loss}"
    draft.answers["offers"] = {
        "outcome": [[0, 0], [gain, lost]],
        "probability": [[1, 0], [0.5, 0.5]],
    }
    yes_no_answer(
        dice,
        draft,
        dice.pick(dice.words.accepts),
    )
    return draft


def yes_no_answer(dice: Dice, draft: Draft, words: tuple[str, str]) -> None:
    """Option 1 is what was taken, option 0 what is left otherwise."""
    how = dice.pick(("word", "word", "flag", "flag", "against"))
    chosen = [d.chosen for d in draft.decisions]
    draft.story.append(f"answer by {how} of {words[0]}")
    name = dice.pick(dice.words.answer)
    if how == "word":
        cells = [words[0] if c else words[1] for c in chosen]
        draft.answers["options"] = [words[1], words[0]]
    else:
        against = how == "against"
        word = words[against].replace(" ", "_")
        name = dice.pick((word, f"chose_{word}", f"is_{word}", f"{word}_chosen"))
        draft.doubts.add("flag")
        cells = [str(int(c != against)) for c in chosen]
        draft.answers["options"] = ["1", "0"] if against else ["0", "1"]
        draft.counted = False
    if name in draft.rows[0]:
        name = f"{name}_made"
    draft.answer = name
    draft.add(name, cells)


def sure_or_risky(dice: Dice) -> Draft:
    """An amount for sure, or a larger one with a probability."""

    def make() -> tuple[list[Option], list[float], float]:
        win, p = (
            float(dice.rng.integers(20, 80)),
            float(dice.pick((0.1, 0.25, 0.4, 0.5, 0.75, 0.9))),
        )
        sure = float(max(1, round(win * p * dice.rng.uniform(0.5, 1.5))))
        return [{"x1": sure, "p1": 1.0}, {"x1": win, "p1": p}], [sure, win * p], 4.0

    decisions = offered(dice, 20, make)
    options = dice.pick(dice.words.sure_risky)
    join = joiner(dice, options)
    word, chance = dice.pick(dice.words.amount), dice.pick(dice.words.chance)
    amount, share = money(dice), percent(dice)
    alone = dice.often(0.6)
    names = (
        join(options[0], word),
        join(options[1], word),
        chance if alone else join(options[1], chance),
    )
    rows = [
        {
            names[0]: amount(d.options[0]["x1"]),
            names[1]: amount(d.options[1]["x1"]),
            names[2]: share(d.options[1]["p1"]),
        }
        for d in decisions
    ]
    draft = Draft("sure or risky", decisions, rows, list(range(len(rows))), "", "")
    draft.answers["offers"] = {"amount": list(names[:2]), "probability": [1, names[2]]}
    named_answer(dice, draft, options) if dice.often(0.7) else yes_no_answer(
        dice, draft, (options[1], options[0])
    )
    return draft


def two_lotteries(dice: Dice) -> Draft:
    """Two gambles with two outcomes each."""

    def lottery() -> Option:
        p = float(dice.pick((0.1, 0.2, 0.3, 0.5, 0.6, 0.8)))
        high, low = float(dice.rng.integers(20, 60)), float(dice.rng.integers(0, 20))
        return {"x1": high, "p1": p, "x2": low, "p2": round(1 - p, 6)}

    def make() -> tuple[list[Option], list[float], float]:
        options = [lottery(), lottery()]
        return options, [o["x1"] * o["p1"] + o["x2"] * o["p2"] for o in options], 6.0

    decisions = offered(dice, 20, make)
    places = dice.pick(dice.words.lotteries)
    parts = dice.pick(
        (
            {"x1": "x1", "p1": "p1", "x2": "x2", "p2": "p2"},
            {"x1": "outcome1", "p1": "prob1", "x2": "outcome2", "p2": "prob2"},
            {"x1": "high", "p1": "p_high", "x2": "low", "p2": "p_low"},
            {"x1": "high", "p1": "prob", "x2": "low"},
            {"x1": "win", "p1": "pwin", "x2": "lose"},
            {"x1": "V1", "p1": "P1", "x2": "V2", "p2": "P2"},
        )
    )
    columns = attribute_columns(dice, places, parts)
    amount, share = money(dice), percent(dice)
    rows = [
        {
            columns[i, n]: (share if n[0] == "p" else amount)(d.options[i][n])
            for i in (0, 1)
            for n in parts
        }
        for d in decisions
    ]
    draft = Draft("two lotteries", decisions, rows, list(range(len(rows))), "", "")
    second = [columns[i, "p2"] if "p2" in parts else None for i in (0, 1)]
    if None not in second:
        draft.answers["offers"] = {
            "outcome": [[columns[i, "x1"], columns[i, "x2"]] for i in (0, 1)],
            "probability": [[columns[i, "p1"], second[i]] for i in (0, 1)],
        }
    else:
        draft.doubts.add("rest")
    placed_answer(dice, draft, places, [d.chosen for d in decisions])
    return draft


def efforts(dice: Dice) -> Draft:
    """Little reward for little effort, or more for more."""

    def make() -> tuple[list[Option], list[float], float]:
        high, hard = float(dice.rng.integers(3, 11)), float(dice.rng.integers(2, 7))
        options = [{"amount": 2.0, "effort": 1.0}, {"amount": high, "effort": hard}]
        return options, [o["amount"] - o["effort"] for o in options], 1.5

    decisions = offered(dice, 20, make)
    options = dice.pick(dice.words.easy_hard)
    words = {"amount": dice.pick(dice.words.amount), "effort": dice.pick(dice.words.effort)}
    columns = attribute_columns(dice, options, words)
    rows = [{columns[i, n]: d.options[i][n] for i in (0, 1) for n in words} for d in decisions]
    draft = Draft("effort", decisions, rows, list(range(len(rows))), "", "")
    draft.answers["offers"] = {
        "reward": [columns[0, "amount"], columns[1, "amount"]],
        "effort": [columns[0, "effort"], columns[1, "effort"]],
    }
    if options[0] in ("1", "A", "left"):
        placed_answer(dice, draft, options, [d.chosen for d in decisions])
    else:
        named_answer(dice, draft, options)
    return draft


def ultimatum(dice: Dice) -> Draft:
    """What somebody else leaves for you of a sum, accepted or not."""

    def make() -> tuple[list[Option], list[float], float]:
        own = float(dice.rng.integers(1, 10))
        return [{"offer": 0.0}, {"offer": own}], [0.0, own - 3], 1.5

    decisions = offered(dice, 20, make)
    name = dice.pick(dice.words.offer)
    rows: list[dict[str, Any]] = [{name: d.options[1]["offer"]} for d in decisions]
    if dice.often(0.4):
        for row in rows:
            row[dice.pick(("pie",))] = 10
    draft = Draft("ultimatum", decisions, rows, list(range(len(rows))), "", "")
    draft.answers["offers"] = {"offer": [0, name]}
    yes_no_answer(
        dice,
        draft,
        dice.pick(
            (("accept", "reject"), ("accepted", "rejected"), ("Accept", "Reject"), ("yes", "no"))
        ),
    )
    return draft


def sharing(dice: Dice) -> Draft:
    """Two ways to share between oneself and another."""

    def make() -> tuple[list[Option], list[float], float]:
        options = [
            {"own": float(dice.rng.integers(2, 20)), "other": float(dice.rng.integers(2, 20))}
            for _ in range(2)
        ]
        return options, [o["own"] + 0.3 * o["other"] for o in options], 3.0

    decisions = offered(dice, 20, make)
    places = dice.pick(dice.words.lotteries)
    words = dict(zip(("own", "other"), dice.pick(dice.words.own_other), strict=True))
    columns = attribute_columns(dice, places, words)
    rows = [{columns[i, n]: d.options[i][n] for i in (0, 1) for n in words} for d in decisions]
    draft = Draft("sharing", decisions, rows, list(range(len(rows))), "", "")
    draft.answers["offers"] = {n: [columns[0, n], columns[1, n]] for n in words}
    placed_answer(dice, draft, places, [d.chosen for d in decisions])
    return draft


def ambiguity(dice: Dice) -> Draft:
    """A lottery, in part hidden, against a fixed amount."""

    def make() -> tuple[list[Option], list[float], float]:
        hidden = dice.often(0.5)
        p = 0.5 if hidden else float(dice.pick((0.13, 0.25, 0.38, 0.5, 0.75)))
        a = float(dice.pick((0.24, 0.5, 0.74))) if hidden else 0.0
        win = float(dice.pick((5, 9.5, 18, 34, 65)))
        fixed = {"amount": 5.0, "probability": 1.0, "ambiguity": 0.0}
        lottery = {"amount": win, "probability": p, "ambiguity": a}
        return [fixed, lottery], [5.0, (p - 0.2 * a) * win], 3.0

    decisions = offered(dice, 24, make)
    names = dice.pick(dice.words.ambiguity)
    rows = [
        {
            names[0]: d.options[1]["probability"],
            names[1]: d.options[1]["ambiguity"],
            names[2]: d.options[1]["amount"],
            names[3]: 5.0,
        }
        for d in decisions
    ]
    draft = Draft("ambiguity", decisions, rows, list(range(len(rows))), "", "")
    draft.answers["offers"] = {
        "amount": [names[3], names[2]],
        "probability": [1, names[0]],
        "ambiguity": [0, names[1]],
    }
    yes_no_answer(
        dice, draft, dice.pick((("lottery", "fixed"), ("gamble", "safe"), ("lottery", "reference")))
    )
    return draft


# --- choice experiments ------------------------------------------------------------------------


def profile(dice: Dice, numbers: Any, words: Any) -> Option:
    found: Option = {}
    for name in numbers:
        found[name] = float(dice.pick((1, 2, 3, 5, 8))) * (5 if name in ("time", "distance") else 1)
    for name in words:
        found[name] = dice.pick(dice.words.levels[name])
    return found


def worth(option: Option, levels: dict[str, tuple[str, ...]]) -> float:
    total = 0.0
    for name, value in option.items():
        if isinstance(value, str):
            total += 0.8 * levels[name].index(value)
        else:
            total -= 0.06 * value if name in ("time", "distance") else 0.3 * value
    return total


def shopping(
    dice: Dice, n_options: int, opt_out: bool
) -> tuple[list[Decision], list[str], list[str]]:
    numbers = [
        "price",
        *dice.some(
            [n for n in dice.words.attributes if n != "price"], int(dice.rng.integers(1, 3))
        ),
    ]
    words = dice.some(list(dice.words.levels), int(dice.rng.integers(0, 3)))

    def make() -> tuple[list[Option], list[float], float]:
        options = [profile(dice, numbers, words) for _ in range(n_options)]
        values = [worth(o, dice.words.levels) for o in options]
        if opt_out:
            options.append({})
            values.append(-2.5)
        return options, values, 1.0

    return offered(dice, int(dice.rng.integers(8, 13)), make), numbers, words


def survey(dice: Dice) -> Draft:
    """One row per task, a column for each option and attribute."""
    n_options = int(dice.rng.integers(2, 4))
    opt_out = dice.often(0.35)
    decisions, numbers, words = shopping(dice, n_options, opt_out)
    choices = [p for p in dice.words.numbered if len(p) >= n_options] + list(dice.words.modes)
    places = dice.pick(choices)[:n_options]
    called = {n: dice.pick(dice.words.attributes[n]) for n in numbers} | {w: w for w in words}
    columns = attribute_columns(dice, places, called)
    amount = money(dice)
    rows = [
        {
            columns[i, n]: (amount(d.options[i][n]) if n == "price" else d.options[i][n])
            for i in range(n_options)
            for n in called
        }
        for d in decisions
    ]
    draft = Draft("survey, wide", decisions, rows, list(range(len(rows))), "", "")
    all_places = [*places, dice.pick(dice.words.out)] if opt_out else list(places)
    at = [d.chosen for d in decisions]
    if opt_out:
        how = dice.pick(("word", "number"))
        name = dice.pick(dice.words.answer)
        if how == "word":
            cells = [all_places[i] for i in at]
            draft.answers["opt_out"] = all_places[-1]
        else:
            zero = dice.often(0.5)
            cells = [str(0 if i == n_options and zero else i + 1) for i in at]
            draft.answers.update(opt_out="0" if zero else str(n_options + 1), base=1)
        draft.doubts.add("opt-out")
        draft.story.append(
            f"opt-out by {how}: {all_places[-1] if how == 'word' else draft.answers['opt_out']}"
        )
        draft.counted = how == "number" or all(p.isdigit() for p in places)
        draft.answer = name if name not in draft.rows[0] else f"{name}_made"
        draft.add(draft.answer, cells)
    else:
        placed_answer(dice, draft, places, at)
    return draft


def survey_long(dice: Dice) -> Draft:
    """One row per option of a task."""
    n_options = int(dice.rng.integers(2, 5))
    opt_out = dice.often(0.3)
    decisions, numbers, words = shopping(dice, n_options, opt_out)
    called = {n: dice.pick(dice.words.attributes[n]) for n in numbers} | {w: w for w in words}
    if len(set(called.values())) < len(called):
        called = {n: n for n in called}
    task = dice.pick(dice.words.task)
    option = dice.pick(dice.words.option)
    out = dice.pick(dice.words.out)
    style = dice.pick(("number", "letter", "mode"))
    labels = {
        "number": [str(i + 1) for i in range(n_options)],
        "letter": list("ABCD"[:n_options]),
        "mode": list(dice.pick(dice.words.modes))[:n_options],
    }[style]
    labels = labels if len(labels) == n_options else [str(i + 1) for i in range(n_options)]
    labels = [*labels, str(n_options + 1) if labels[0].isdigit() else out] if opt_out else labels
    per_person = dice.often(0.6)
    amount = money(dice)
    empty = dice.pick((0, "", "NA"))
    rows, of, counter = [], [], {}
    for k, d in enumerate(decisions):
        counter[d.person] = counter.get(d.person, 0) + 1
        for i, o in enumerate(d.options):
            row: dict[str, Any] = {
                task: counter[d.person] if per_person else k + 1,
                option: labels[i],
            }
            for n, word in called.items():
                if not o:
                    row[word] = empty if n in numbers else ("" if empty == 0 else empty)
                else:
                    row[word] = amount(o[n]) if n == "price" else o[n]
            rows.append(row)
            of.append(k)
    draft = Draft("survey, long", decisions, rows, of, "", "")
    draft.answers.update(decision=task, option=option, attributes=list(called.values()))
    if opt_out:
        draft.answers["opt_out"] = labels[-1]
        draft.doubts.add("opt-out")
        draft.story.append(f"opt-out row {labels[-1]} with {empty!r}")
    flagged(
        dice,
        draft,
        [decisions[k].chosen == labels.index(r[option]) for k, r in zip(of, rows, strict=True)],
        [labels[decisions[k].chosen or 0] for k in of],
    )
    return draft


def modes_of_travel(dice: Dice) -> Draft:
    """Labelled alternatives that are not all on offer, each with attributes of its own."""
    modes = dice.pick(dice.words.modes)
    shown: list[list[int]] = []

    def make() -> tuple[list[Option], list[float], float]:
        on = [0, 1, 2] if dice.often(0.7) else sorted(dice.some([0, 1, 2], 2))
        shown.append(on)
        options = [profile(dice, ["price", "time"], []) for _ in on]
        return options, [worth(o, dice.words.levels) for o in options], 1.0

    decisions = offered(dice, 10, make)
    words = {
        "price": dice.pick(dice.words.attributes["price"]),
        "time": dice.pick(dice.words.attributes["time"]),
    }
    columns = attribute_columns(dice, modes, words)
    av = dice.pick(dice.words.availability)
    rows = []
    for d, on in zip(decisions, shown, strict=True):
        row: dict[str, Any] = {}
        for i, mode in enumerate(modes):
            for n in words:
                row[columns[i, n]] = d.options[on.index(i)][n] if i in on else 0
            row[av.format(mode)] = int(i in on)
        rows.append(row)
    draft = Draft("modes of travel", decisions, rows, list(range(len(rows))), "", "")
    placed_answer(
        dice, draft, modes, [on[d.chosen] for d, on in zip(decisions, shown, strict=True)]
    )
    draft.story.append("availability")
    return draft


# --- mess --------------------------------------------------------------------------------------


def mess(dice: Dice, draft: Draft) -> None:
    """Whose rows they are, and what else stands in such files."""
    rng = dice.rng
    draft.design = list(draft.rows[0])
    names = {key.lower() for key in draft.rows[0]}
    person = dice.pick([p for p in dice.words.person if p.lower() not in names])
    draft.person = person
    draft.add(person, [draft.decisions[k].person for k in draft.of], 0)
    draft.answers.setdefault("chosen", draft.answer)
    draft.answers["subject"] = person
    everybody = list(dict.fromkeys(d.person for d in draft.decisions))
    wide = len(draft.rows) == len(draft.decisions)
    if wide and dice.often(0.6):
        count: dict[str, int] = {}
        cells = []
        for k in draft.of:
            who = draft.decisions[k].person
            count[who] = count.get(who, 0) + 1
            cells.append(count[who])
        draft.add(dice.pick(dice.words.task), cells, 1)
    if dice.often(0.5):
        rt = [
            round(float(rng.uniform(400, 4000)), int(rng.integers(0, 2))) for _ in draft.decisions
        ]
        draft.add(
            dice.pick(dice.words.reaction),
            [rt[k] for k in draft.of],
        )
    for name, values in (
        ("age", [int(v) for v in rng.integers(18, 70, len(everybody))]),
        (dice.pick(("gender", "sex")), [dice.pick(("f", "m")) for _ in everybody]),
        (
            dice.pick(("group", "condition", "cohort")),
            [("patient", "control")[i % 2] for i in range(len(everybody))],
        ),
        (
            dice.pick(("income", "BIS", "score", "IQ")),
            [int(v) for v in rng.integers(10, 90, len(everybody))],
        ),
    ):
        if dice.often(0.35):
            by = dict(zip(everybody, values, strict=True))
            draft.add(
                name, [by[draft.decisions[k].person] for k in draft.of], int(rng.integers(1, 3))
            )
    if dice.often(0.3):
        draft.add(
            dice.pick(("experiment", "study", "version", "exp_name", "task_name")),
            [dice.pick(("dd_v2",))] * len(draft.rows),
        )
    if dice.often(0.2):
        draft.add(dice.pick(("weight", "wt", "pweight")), [1] * len(draft.rows))
    if wide and dice.often(0.3):
        derived(dice, draft)
    if dice.often(0.25):
        practice(dice, draft)
    if wide and dice.often(0.4):
        missed(dice, draft)
    if dice.often(0.15):
        draft.add(
            dice.pick(("timestamp", "date", "start_time")),
            [f"2024-03-{1 + everybody.index(draft.decisions[k].person):02d}" for k in draft.of],
        )


def derived(dice: Dice, draft: Draft) -> None:
    """What somebody computed from the offers, for each decision."""
    values = [d.options for d in draft.decisions]
    first = next(
        (
            n
            for n in ("amount", "x1", "price", "offer", "own")
            if n in values[0][-1] or n in values[0][0]
        ),
        None,
    )
    if first is None:
        return
    name = dice.pick(dice.words.derived)
    cells = [
        round(float(o[0].get(first, 0) or 0) / max(float(o[1].get(first, 0) or 1), 1e-9), 4)
        for o in values
    ]
    draft.add(name, cells, int(dice.rng.integers(1, 3)))
    draft.extras.add(name)
    draft.story.append(f"derived {name}")


def practice(dice: Dice, draft: Draft) -> None:
    """Decisions of practice before those of each person."""
    name, before, after = dice.pick(dice.words.practice)
    if name.lower() in {key.lower() for key in draft.rows[0]}:
        return
    draft.add(name, [after] * len(draft.rows), 1)
    sets: dict[int, list[dict[str, Any]]] = {}
    for row, k in zip(draft.rows, draft.of, strict=True):
        sets.setdefault(k, []).append(row)
    task = draft.answers.get("decision")
    rows, of, last = [], [], None
    for row, k in zip(draft.rows, draft.of, strict=True):
        who = draft.decisions[k].person
        if who != last:
            for shown in dice.pick(list(sets.values())):
                like = {column: shown[column] for column in draft.design}
                rows.append({**row, **like, name: before, **({task: 0} if task else {})})
                of.append(-1)
            last = who
        rows.append(row)
        of.append(k)
    draft.rows, draft.of = rows, of
    draft.story.append(f"practice in {name}: {before}/{after}")


def missed(dice: Dice, draft: Draft) -> None:
    """Decisions that nobody made in time."""
    words = draft.counted and not dice.often(0.6)
    codes = dice.words.missed_numbers if words else dice.words.missed_words
    taken = {str(row[draft.answer]) for row in draft.rows}
    code = dice.pick([code for code in codes if code not in taken])
    n = len(draft.rows)
    for i in dice.some(range(n), max(2, n // 15)):
        k = draft.of[i]
        if k < 0:
            continue
        draft.rows[i][draft.answer] = code
        if "chose_ll" in draft.rows[i]:
            draft.rows[i]["chose_ll"] = ""
        draft.decisions[k].chosen = None
    draft.doubts.add("missed")
    draft.story.append(f"missed as {code!r}")


# --- files -------------------------------------------------------------------------------------


def written(dice: Dice, draft: Draft) -> bytes:
    """A delimited file, of one program or another."""
    header = list(draft.rows[0])
    style = dice.pick(("plain",) * 6 + ("semicolon", "tab", "comma decimals", "index"))
    cells = [[row.get(name, "") for name in header] for row in draft.rows]
    if style == "index":
        header, cells = ["", *header], [[i, *row] for i, row in enumerate(cells)]
    if style == "comma decimals":
        cells = [[_with_comma(c) for c in row] for row in cells]
        draft.doubts.add("decimal")
        draft.answers["decimal"] = ","
    out = io.StringIO()
    delimiter = {"semicolon": ";", "tab": "\t", "comma decimals": ";"}.get(style, ",")
    end = "\r\n" if dice.often(0.3) else "\n"
    writer = csv.writer(
        out,
        delimiter=delimiter,
        lineterminator=end,
        quoting=csv.QUOTE_ALL if dice.often(0.1) else csv.QUOTE_MINIMAL,
    )
    writer.writerow(header)
    writer.writerows(
        [[f"{c:g}" if isinstance(c, float) and abs(c) < 1e5 else c for c in row] for row in cells]
    )
    text = out.getvalue()
    if dice.often(0.1):
        text += end
    if style != "plain":
        draft.story.append(style)
    bom = dice.often(0.2)
    return text.encode("utf-8-sig" if bom else "utf-8")


def _with_comma(cell: Any) -> Any:
    return f"{cell:g}".replace(".", ",") if isinstance(cell, float) else cell


def as_jspsych(dice: Dice, draft: Draft) -> bytes:
    """What jsPsych saves: every screen, with `trial_type` and times."""
    screens: list[dict[str, Any]] = []
    who = None
    for row in draft.rows:
        base = {draft.person: row[draft.person]}
        if row[draft.person] != who:
            who, elapsed = row[draft.person], 0
            index = 0
            screens.append(
                {
                    "trial_type": "instructions",
                    "trial_index": index,
                    "time_elapsed": elapsed,
                    **base,
                }
            )
        for kind, cells in (
            ("html-keyboard-response", {"stimulus": "+"}),
            ("html-button-response", row),
        ):
            index, elapsed = index + 1, elapsed + 900
            screens.append(
                {"trial_type": kind, "trial_index": index, "time_elapsed": elapsed, **base, **cells}
            )
    draft.story.append("jsPsych")
    if dice.often(0.5):
        return json.dumps(screens).encode()
    header = list(dict.fromkeys(key for s in screens for key in s))
    out = io.StringIO()
    writer = csv.DictWriter(out, header, restval=dice.pick(("", "null")), lineterminator="\n")
    writer.writeheader()
    writer.writerows(screens)
    return out.getvalue().encode()


def as_gorilla(dice: Dice, draft: Draft) -> bytes:
    """What Gorilla saves: a row per screen, tasks begin and end."""
    out: list[dict[str, Any]] = []
    who, index = None, 0
    for row in draft.rows:
        private = row[draft.person]
        base = {
            "Event Index": 0,
            "UTC Timestamp": 1700000000,
            "Participant Private ID": private,
            "Task Name": "choices",
            "Trial Number": "",
            "Screen Name": "",
            "Zone Type": "",
        }
        if private != who:
            if who is not None:
                out.append({**base, "Participant Private ID": who, "Event Index": "END OF FILE"})
            out.append({**base, "Event Index": 1, "Trial Number": "BEGIN TASK"})
            who, index = private, 1
        index += 1
        out.append({**base, "Event Index": index, "Screen Name": "fixation"})
        index += 1
        cells = {key: value for key, value in row.items() if key != draft.person}
        out.append(
            {
                **base,
                "Event Index": index,
                "Screen Name": "choice",
                "Zone Type": "response_keyboard",
                **cells,
            }
        )
    header = list(dict.fromkeys(key for r in out for key in r))
    text = io.StringIO()
    writer = csv.DictWriter(text, header, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(out)
    draft.story.append("Gorilla")
    draft.answers["subject"] = "Participant Private ID"
    return text.getvalue().encode("utf-8-sig")


def as_folder(dice: Dice, draft: Draft) -> dict[str, bytes]:
    """A file per person, as Psych-DS has them."""
    files: dict[str, bytes] = {}
    everybody = list(dict.fromkeys(d.person for d in draft.decisions))
    keep_id = dice.often(0.5)
    for who in everybody:
        rows = [r for r in draft.rows if r[draft.person] == who]
        header = [h for h in rows[0] if keep_id or h != draft.person]
        out = io.StringIO()
        writer = csv.DictWriter(out, header, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        files[f"data/subject-{who}_data.csv"] = out.getvalue().encode()
    files["dataset_description.json"] = (
        b'{"@context": "https://schema.org/", "@type": "Dataset", "name": "choices"}'
    )
    draft.story.append("folder")
    if not keep_id:
        draft.answers.pop("subject")
    return files


FAMILIES: dict[str, Callable[[Dice], Draft]] = {
    "discounting": discounting,
    "discounting long": discounting_long,
    "mixed gambles": mixed_gambles,
    "sure or risky": sure_or_risky,
    "two lotteries": two_lotteries,
    "effort": efforts,
    "ultimatum": ultimatum,
    "sharing": sharing,
    "ambiguity": ambiguity,
    "survey": survey,
    "survey long": survey_long,
    "modes": modes_of_travel,
}
OFTEN = ("discounting",) * 4 + ("survey",) * 3 + ("survey long",) * 3


def made(seed: int, family: str | None = None, words: Words = FIRST) -> Made:
    """A file that the seed decides, in one vocabulary."""
    dice = Dice(seed, words)
    which = family or dice.pick((*FAMILIES, *OFTEN))
    draft = FAMILIES[which](dice)
    mess(dice, draft)
    wide = len([k for k in draft.of if k >= 0]) == len(draft.decisions)
    program = dice.pick(("csv",) * 8 + ("jspsych", "gorilla", "folder")) if wide else "csv"
    name = "data.csv"
    content: bytes | dict[str, bytes]
    if program == "jspsych":
        content = as_jspsych(dice, draft)
        name = "data.json" if content[:1] == b"[" else "data.csv"
    elif program == "gorilla":
        content = as_gorilla(dice, draft)
    elif program == "folder":
        content, name = as_folder(dice, draft), "study"
    else:
        content = written(dice, draft)
    decisions = [d for d in draft.decisions if d.chosen is not None]
    return Made(
        seed,
        draft.family,
        name,
        content,
        decisions,
        draft.story,
        draft.answers,
        draft.doubts,
        draft.extras,
    )
