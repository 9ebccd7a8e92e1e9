"""Made-up questionnaires and exports of survey programs, messy as they come, with the truth.

`made_survey(seed)` asks people, then writes their answers as the MCQ-27, as best-worst scaling, as
Sawtooth, Qualtrics or PsyToolkit have them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from messy_offers import (
    Decision,
    Dice,
    Draft,
    Made,
    Option,
    mess,
    people,
    savings,
    shopping,
    taken,
    written,
)
from messy_words import FIRST, Words

REFUSED = "refused"  # a doubt of files that do not tell what was offered

# Kirby's questionnaire: what one gets today, what later, and after how many days.
MCQ = (
    *((54, 55, 117), (55, 75, 61), (19, 25, 53), (31, 85, 7), (14, 25, 19), (47, 50, 160)),
    *((15, 35, 13), (25, 60, 14), (78, 80, 162), (40, 55, 62), (11, 30, 7), (67, 75, 119)),
    *((34, 35, 186), (27, 50, 21), (69, 85, 91), (49, 60, 89), (80, 85, 157), (24, 35, 29)),
    *((33, 80, 14), (28, 30, 179), (34, 50, 30), (25, 30, 80), (41, 75, 20), (54, 60, 111)),
    *((54, 80, 30), (22, 25, 136), (20, 55, 7)),
)


def table(rows: Sequence[Sequence[Any]], dice: Dice) -> bytes:
    """A delimited file of rows, the first of which may be a header."""
    out = io.StringIO()
    delimiter = dice.pick((",", ",", ";"))
    csv.writer(out, lineterminator="\n", delimiter=delimiter).writerows(rows)
    return out.getvalue().encode("utf-8-sig" if dice.often(0.3) else "utf-8")


def made_of(dice: Dice, family: str, content: Any, decisions: list[Decision], **more: Any) -> Made:
    known: dict[str, Any] = {"story": [], "answers": {}, "doubts": set(), "extras": set(), **more}
    told = [d for d in decisions if d.chosen is not None]
    return Made(-1, family, known.pop("name", "data.csv"), content, told, **known)


# --- the MCQ-27 --------------------------------------------------------------------------------


def patient(dice: Dice) -> list[Decision]:
    found = []
    for person in people(dice):
        rate = float(10 ** dice.rng.uniform(-3, -1))
        for now, later, days in MCQ:
            options = [{"amount": float(now), "delay": 0.0}]
            options.append({"amount": float(later), "delay": float(days)})
            worths = [o["amount"] / (1 + rate * o["delay"]) for o in options]
            found.append(Decision(person, options, taken(dice, worths, 4.0)))
    return found


def questionnaire(dice: Dice) -> Made:
    """A row per person and a column per item, whose offers the file may not tell."""
    decisions = patient(dice)
    stem = dice.pick(("kirby", "MCQ_", "MCQ", "mcq27_", "kirby_", "Kirby.", "Q", "item_", "dd_mcq"))
    named = "kirby" in stem.lower() or "mcq" in stem.lower()
    zeros = dice.often(0.3)
    codes = dice.pick(
        (("0", "1"), ("1", "2"), ("SIR", "LDR"), ("sooner", "later"), ("now", "wait"))
    )
    text = dice.often(0.25)
    who = dice.pick(("id", "subject", "ResponseId", "participant"))
    extra = dice.pick(((), ("age",), ("age", "group")))
    rows: list[list[Any]] = [
        [who, *extra, *(f"{stem}{k + 1:02d}" if zeros else f"{stem}{k + 1}" for k in range(27))]
    ]
    for person in dict.fromkeys(d.person for d in decisions):
        own = [d for d in decisions if d.person == person]
        cells = []
        for (now, later, days), d in zip(MCQ, own, strict=True):
            assert d.chosen is not None
            offers = (f"${now} today", f"${later} in {days} days")
            cells.append(offers[d.chosen] if text else codes[d.chosen])
        if dice.often(0.2):
            at = int(dice.rng.integers(27))
            cells[at] = dice.pick(("", "NA"))
            own[at].chosen = None
        rows.append([person, *({"age": 33, "group": "patient"}[name] for name in extra), *cells])
    answers = {"options": list(codes), "subject": who} if not text else {"subject": who}
    doubts = set() if named else {REFUSED}
    story = [f"{stem} {'text' if text else codes}"]
    return made_of(
        dice, "MCQ-27", table(rows, dice), decisions, answers=answers, doubts=doubts, story=story
    )


# --- best and worst ----------------------------------------------------------------------------

THINGS = (
    ("apple", "pear", "plum", "fig", "kiwi", "grape"),
    ("privacy", "speed", "price", "safety", "comfort", "design"),
    ("Item A", "Item B", "Item C", "Item D", "Item E", "Item F"),
)


def sets(dice: Dice) -> tuple[list[Decision], list[int]]:
    """Four of six things at a time: the best one, and the worst one."""
    things = dice.pick(THINGS)
    worths = dice.rng.normal(0, 1.2, len(things))
    found, worst = [], []
    for person in people(dice):
        for _ in range(10):
            shown = [int(i) for i in dice.rng.permutation(len(things))[:4]]
            options: list[Option] = [{"item": things[i]} for i in shown]
            best = taken(dice, [float(worths[i]) for i in shown], 1.0)
            bad = [-1e9 if k == best else -float(worths[i]) for k, i in enumerate(shown)]
            found.append(Decision(person, options, best))
            worst.append(taken(dice, bad, 1.0))
    return found, worst


def best_worst(dice: Dice) -> Made:
    """A row per set, with a column per place; or a row per item of a set."""
    decisions, worst = sets(dice)
    best_in, worst_in = dice.pick(
        (
            ("best", "worst"),
            ("Best", "Worst"),
            ("most", "least"),
            ("most_important", "least_important"),
            ("B", "W"),
        )
    )
    who = dice.pick(("id", "subject", "respondent"))
    count: dict[str, int] = {}
    rows: list[list[Any]] = []
    long = dice.often(0.5)
    coded = long and dice.often(0.3)
    numbers = dice.often(0.5)
    join = dice.pick(("item{}", "item_{}", "opt{}", "alt_{}"))
    for d, bad in zip(decisions, worst, strict=True):
        count[d.person] = count.get(d.person, 0) + 1
        shown = [o["item"] for o in d.options]
        if long:
            for k, thing in enumerate(shown):
                flags = [int(k == d.chosen), int(k == bad)]
                rows.append(
                    [d.person, count[d.person], thing, *([flags[0] - flags[1]] if coded else flags)]
                )
        else:
            both = (d.chosen or 0, bad)
            rows.append(
                [
                    d.person,
                    count[d.person],
                    *shown,
                    *((k + 1 if numbers else shown[k]) for k in both),
                ]
            )
    header = [who, "set", "item", *(["choice"] if coded else [best_in, worst_in])]
    if not long:
        header = [who, "set", *(join.format(k + 1) for k in range(4)), best_in, worst_in]
    answers = {"chosen": best_in, "subject": who}
    return made_of(
        dice,
        "best-worst",
        table([header, *rows], dice),
        decisions,
        answers=answers,
        story=["long" if long else "wide", "coded" if coded else ""],
        doubts={"two answers"} | ({REFUSED} if coded else set()),
    )


# --- Sawtooth ----------------------------------------------------------------------------------


def sawtooth(dice: Dice) -> Made:
    """Concepts of tasks with a row each; or answers alone, whose design is another file."""
    n_options = int(dice.rng.integers(2, 5))
    opt_out = dice.often(0.4)
    decisions, numbers, words = shopping(dice, n_options, opt_out)
    who = dice.pick(("sys_RespNum", "RespID", "Sys_RespNum", "CaseID"))
    if dice.often(0.25):
        own = {p: [d for d in decisions if d.person == p] for p in {d.person for d in decisions}}
        n = len(next(iter(own.values())))
        header = [who, *(f"CBC_Random{k + 1}" for k in range(n))]
        rows = [[p, *((d.chosen or 0) + 1 for d in ds)] for p, ds in own.items()]
        return made_of(
            dice,
            "Sawtooth",
            table([header, *rows], dice),
            decisions,
            doubts={REFUSED},
            story=["answers alone"],
        )
    coded = dice.often(0.4)
    called = {n: dice.pick(dice.words.attributes[n]) for n in numbers} | {w: w for w in words}
    if len(set(called.values())) < len(called):
        called = {n: n for n in called}
    levels = {n: sorted({o[n] for d in decisions for o in d.options if o}) for n in called}
    if coded:  # levels by their number, as designs have them
        for d in decisions:
            for o in d.options:
                o.update({n: str(levels[n].index(o[n]) + 1) for n in list(o)})
    task, concept, answer = dice.pick(
        (
            ("Task", "Concept", "Response"),
            ("task", "concept", "Resp"),
            ("Set", "Concept", "Choice"),
            ("Task#", "Concept#", "Choice"),
        )
    )
    count: dict[str, int] = {}
    found: list[list[Any]] = [[who, task, concept, *called.values(), answer]]
    for d in decisions:
        count[d.person] = count.get(d.person, 0) + 1
        for k, o in enumerate(d.options):
            cells = [o.get(n, 0) for n in called]
            found.append([d.person, count[d.person], k + 1, *cells, int(k == d.chosen)])
    doubts = {"codes"} if coded else set()
    answers: dict[str, Any] = {"subject": who, "decision": task, "option": concept}
    formula = " + ".join(f"C({name})" for name in called.values())
    answers |= {"attributes": formula} if coded else {}
    if opt_out:
        answers["opt_out"] = str(n_options + 1)
        doubts.add("opt-out")
    return made_of(
        dice,
        "Sawtooth",
        table(found, dice),
        decisions,
        answers=answers,
        doubts=doubts,
        story=["codes" if coded else "levels", "none" if opt_out else ""],
    )


# --- Qualtrics ---------------------------------------------------------------------------------

ASKED = (
    "Would you prefer {} or {}?",
    "Which would you rather have: {} or {}?",
    "{} or {}",
    "<b>Question</b><br>Please choose: {} or {}?",
)


def qualtrics(dice: Dice) -> Made:
    """Three header rows, one row per person, and questions whose texts are offers."""
    decisions = savings_now(dice)
    everybody = list(dict.fromkeys(d.person for d in decisions))
    n = 12
    asked = [d.options for d in decisions if d.person == everybody[0]][:n]
    people_own = {
        p: [
            Decision(p, o, taken(dice, [x["amount"] / (1 + 0.02 * x["delay"]) for x in o], 5.0))
            for o in asked
        ]
        for p in everybody
    }
    sign, form = dice.pick(("$", "£", "€")), dice.pick(ASKED)
    texts = [[worded(option, sign) for option in pair] for pair in asked]
    own = ["StartDate", "EndDate", "Status", "Progress", "Finished", "RecordedDate", "ResponseId"]
    names = [f"Q{k + 4}" for k in range(n)]
    extra = dice.pick(((), ("Q1",), ("Q1", "Q2")))
    titles = {"Q1": "How old are you?", "Q2": "What is your gender?"}
    header = [*own, *extra, *names]
    questions = [form.format(*pair) for pair in texts]
    second = [*own, *(titles[e] for e in extra), *questions]
    ids = [f'{{"ImportId":"QID{k}"}}' for k in range(len(header))]
    numeric = dice.often(0.5)
    rows: list[list[Any]] = [header, second, ids]
    preview = dice.often(0.4)
    for p, ds in people_own.items():
        base = [
            "2024-03-01 10:00",
            "2024-03-01 10:09",
            "0" if numeric else "IP Address",
            100,
            1 if numeric else "True",
            "2024-03-01",
            p,
        ]
        cells = [
            str((d.chosen or 0) + 1) if numeric else texts[k][d.chosen or 0]
            for k, d in enumerate(ds)
        ]
        if dice.often(0.2):
            cells[-1], ds[-1].chosen = "", None
        mine = [{"Q1": 31, "Q2": "f"}[e] for e in extra]
        rows.append([*base, *mine, *cells])
        if preview:
            preview = False
            rows.insert(
                3,
                [
                    *base[:2],
                    "1" if numeric else "Survey Preview",
                    *base[3:6],
                    "R_pre",
                    *mine,
                    *cells,
                ],
            )
    told = [d for ds in people_own.values() for d in ds]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    text = out.getvalue().encode("utf-8-sig" if dice.often(0.6) else "utf-8")
    return made_of(
        dice,
        "Qualtrics",
        text,
        told,
        story=["numbers" if numeric else "texts"],
        answers={"options": ["1", "2"]},
    )


def worded(option: Option, sign: str) -> str:
    when = "now" if option["delay"] == 0 else f"in {option['delay']:g} days"
    return f"{sign}{option['amount']:g} {when}"


def savings_now(dice: Dice) -> list[Decision]:
    """Sooner and later amounts, the sooner ones today."""
    found = savings(dice)
    for d in found:
        d.options[0]["delay"] = 0.0
    return found


# --- PsyToolkit --------------------------------------------------------------------------------


def psytoolkit(dice: Dice) -> Made:
    """Lines of words and numbers with a blank between, and no header."""
    decisions = savings(dice)
    one = decisions[0].person
    own = [d for d in decisions if d.person == one]
    first = dice.pick(("", "task ", "block1 ", "dd_main "))
    wide = dice.often(0.5)
    lines = []
    for t, d in enumerate(own):
        offers = [f"{o['amount']:g} {o['delay']:g}" for o in d.options]
        taken_in = f"{(d.chosen or 0) + 1}"
        number = f"{t + 1} " if wide else ""
        rt = int(dice.rng.integers(300, 3000))
        lines.append(f"{first}{number}{' '.join(offers)} {taken_in} {rt} 1")
    name = dice.pick(("data.txt", "s.a1b2.data.csv", "data.csv"))
    return made_of(dice, "PsyToolkit", "\n".join(lines).encode(), own, doubts={REFUSED}, name=name)


def psytoolkit_named(dice: Dice) -> Made:
    """The same with a header, as those write who add one."""
    draft = drafted_savings(dice)
    mess(dice, draft)
    decisions = [d for d in draft.decisions if d.chosen is not None]
    text = written(dice, draft)
    return made_of(
        dice,
        "PsyToolkit",
        text,
        decisions,
        answers=draft.answers,
        doubts=draft.doubts,
        extras=draft.extras,
        story=draft.story,
    )


def drafted_savings(dice: Dice) -> Draft:
    decisions = savings(dice)
    names = ("ssa", "ssd", "lla", "lld")
    rows = []
    for d in decisions:
        cells = [d.options[i][n] for i in (0, 1) for n in ("amount", "delay")]
        rows.append(dict(zip(names, cells, strict=True)) | {"choice": ("SS", "LL")[d.chosen or 0]})
    draft = Draft("PsyToolkit", decisions, rows, list(range(len(rows))), "", "choice")
    draft.answers["options"] = ["SS", "LL"]
    return draft


SURVEYS: dict[str, Callable[[Dice], Made]] = {
    "MCQ-27": questionnaire,
    "best-worst": best_worst,
    "Sawtooth": sawtooth,
    "Qualtrics": qualtrics,
    "PsyToolkit": psytoolkit,
    "PsyToolkit with a header": psytoolkit_named,
}


def made_survey(seed: int, family: str | None = None, words: Words = FIRST) -> Made:
    """A file of answers that the seed decides."""
    dice = Dice(seed, words)
    found = SURVEYS[family or dice.pick(tuple(SURVEYS))](dice)
    found.seed = seed
    return found
