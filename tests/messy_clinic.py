"""Made-up files of the clinic's tasks, messy as laboratories have them, with the truth.

`made_clinic(seed)` plays two-step, go/no-go or Iowa, then writes it in a layout, words, codes and
with a mess that the seed decides.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from messy_offers import (
    Decision,
    Dice,
    Draft,
    Made,
    as_folder,
    as_gorilla,
    as_jspsych,
    mess,
    people,
    written,
)
from messy_words import FIRST, Words


@dataclass
class Trial(Decision):
    """What was done in one trial of a task.

    `chosen` is the option, or the first of two; `seen` the cue, or the state that it led to.
    """

    seen: int | None = None
    second: int | None = None
    reward: float = 0.0


def drafted(family: str, trials: list[Trial], rows: list[dict[str, Any]], answer: str) -> Draft:
    return Draft(family, list(trials), rows, list(range(len(rows))), "", answer)


# --- two-step ----------------------------------------------------------------------------------

SECOND_STATES = (("2", "3"), ("1", "2"), ("0", "1"), ("B", "C"), ("pink", "blue"))
STEPS = (
    ("level1_choice", "level2_choice", "level2_state"),
    ("choice1", "choice2", "state2"),
    ("choice_1", "choice_2", "state_2"),
    ("stage1_choice", "stage2_choice", "stage2_state"),
    ("stage_1_choice", "stage_2_choice", "stage_2_state"),
    ("step1_choice", "step2_choice", "second_state"),
    ("ch1", "ch2", "state"),
    ("first_choice", "second_choice", "final_state"),
    ("response_stage1", "response_stage2", "state_stage2"),
    ("Choice1", "Choice2", "State"),
    ("firstStageChoice", "secondStageChoice", "secondStageState"),
    ("s1_choice", "s2_choice", "s2_state"),
    ("spaceship", "alien", "planet"),
)
COINS = ("reward", "win", "rew", "points", "money", "outcome", "treasure", "rewarded", "payoff")


def explorers(dice: Dice) -> list[Trial]:
    """Spaceships to planets, mostly to their own, with aliens that pay or not."""
    found = []
    for person in people(dice):
        pays = dice.rng.uniform(0.25, 0.75, (2, 2))
        for _ in range(40):
            first, second = int(dice.rng.integers(2)), int(dice.rng.integers(2))
            state = first if dice.often(0.7) else 1 - first
            paid = float(dice.often(pays[state, second]))
            found.append(Trial(person, [{}, {}], first, state, second, paid))
    return found


def two_step(dice: Dice) -> Draft:
    """A row per trial: both choices, the state by itself or in the number of the second choice."""
    trials = explorers(dice)
    first, second, state = dice.pick(STEPS)
    how = dice.pick(("four", "state", "state", "words"))
    base = int(dice.often(0.7))
    where = dice.pick(SECOND_STATES)
    sides = dice.pick((("left", "right"), ("L", "R"), ("f", "j")))
    rows = []
    for t in trials:
        assert t.seen is not None and t.second is not None
        row: dict[str, Any] = {}
        if how == "words":
            row |= {first: sides[t.chosen], state: where[t.seen], second: sides[t.second]}
        elif how == "state":
            row |= {first: t.chosen + base, state: where[t.seen], second: t.second + base}
        else:
            row |= {first: t.chosen + base, second: 2 * t.seen + t.second + base}
        rows.append(row)
    common = dice.pick((("common", "rare"), ("1", "0"), ("TRUE", "FALSE")))
    if dice.often(0.4):
        for row, t in zip(rows, trials, strict=True):
            row["transition"] = common[int(t.seen != t.chosen)]
    coins = dice.pick(COINS)
    for row, t in zip(rows, trials, strict=True):
        row[coins] = int(t.reward)
    if dice.often(0.4):
        for row in rows:
            row |= {"rt1": int(dice.rng.integers(300, 1900)), "rt2": 700}
    draft = drafted("two-step", trials, rows, first)
    draft.story.append(f"{how} from {base}")
    draft.answers.update(task="two-step")
    draft.counted = how != "words"
    return draft


# --- go / no-go --------------------------------------------------------------------------------

CUES = (
    ("1", "2", "3", "4"),
    ("go_win", "go_avoid", "nogo_win", "nogo_avoid"),
    ("GTW", "GTA", "NGTW", "NGTA"),
    ("fractal_a", "fractal_b", "fractal_c", "fractal_d"),
    ("G2W", "G2AL", "NG2W", "NG2AL"),
)
GO = (
    ("keyPressed", "1", "0"),
    ("response", "go", "nogo"),
    ("action", "Go", "NoGo"),
    ("go", "1", "0"),
    ("pressed", "1", "0"),
    ("response", "1", "0"),
    ("choice", "go", "no-go"),
    ("resp", "space", "none"),
    ("made_response", "TRUE", "FALSE"),
    ("pressed", "yes", "no"),
    ("key", "space", ""),
)
CUE = ("cue", "stimulus", "condition", "trial_type", "stim", "cue_type", "fractal")


def go_no_go(dice: Dice) -> Draft:
    """A row per cue: whether a key was pressed, what it paid or cost."""
    trials = []
    for person in people(dice):
        for _ in range(40):
            seen, go = int(dice.rng.integers(4)), int(dice.rng.integers(2))
            right = go == int(seen < 2)
            good = dice.often(0.8 if right else 0.2)
            paid = float(good) if seen % 2 == 0 else float(good) - 1
            trials.append(Trial(person, [{}, {}], go, seen, None, paid))
    cues, (key, yes, no) = dice.pick(CUES), dice.pick(GO)
    cue, paid_in = dice.pick(CUE), dice.pick(("outcome", "feedback", "reward", "points"))
    rows = [
        {cue: cues[t.seen or 0], key: yes if t.chosen else no, paid_in: int(t.reward)}
        for t in trials
    ]
    draft = drafted("go/no-go", trials, rows, key)
    draft.answers["task"] = "go-no-go"
    return draft


# --- Iowa --------------------------------------------------------------------------------------

DECKS = (("1", "2", "3", "4"), ("A", "B", "C", "D"), ("0", "1", "2", "3"))
WON_LOST = (
    ("gain", "loss"),
    ("win", "lose"),
    ("Win", "Loss"),
    ("reward", "penalty"),
    ("wins", "losses"),
    ("gains", "loss"),
    ("amount_won", "amount_lost"),
    ("won", "lost"),
    ("reward", "punishment"),
    ("pos", "neg"),
)


def gamblers(dice: Dice) -> list[Trial]:
    """Decks that win much and lose more, or win less."""
    found = []
    for person in people(dice):
        for _ in range(40):
            deck = int(dice.rng.integers(4))
            win = 100.0 if deck < 2 else 50.0
            lost = (250.0, 1250.0, 50.0, 250.0)[deck] if dice.often((0.5, 0.1)[deck % 2]) else 0.0
            found.append(Trial(person, [{}] * 4, deck, None, int(lost), win - lost))
    return found


def _won(trial: Trial) -> float:
    return trial.reward + (trial.second or 0)


def iowa(dice: Dice) -> Draft:
    """A row per card: the deck, what it won and what it lost, or the sum of both."""
    trials = gamblers(dice)
    deck = dice.pick(("choice", "deck", "deck_chosen", "Deck", "selected_deck", "response", "card"))
    decks = dice.pick(DECKS)
    won, lost = dice.pick(WON_LOST)
    sign = dice.pick((1, -1))
    how = dice.pick(("both", "both", "both", "net", "all"))
    so_far: dict[str, float] = {}
    total = dice.often(0.3)
    rows = []
    for t in trials:
        assert t.chosen is not None
        row: dict[str, Any] = {deck: decks[t.chosen]}
        if how != "net":
            row |= {won: int(_won(t)), lost: sign * (t.second or 0)}
        if how != "both":
            row["net" if how == "all" else "reward"] = int(t.reward)
        so_far[t.person] = so_far.get(t.person, 2000.0) + t.reward
        if total:
            row["total"] = int(so_far[t.person])
        rows.append(row)
    draft = drafted("Iowa", trials, rows, deck)
    draft.story.append(f"{how}, losses {'above' if sign > 0 else 'below'} 0")
    draft.counted = decks[0].isdigit()
    draft.answers.update(options=list(decks))
    if how == "both":
        draft.answers["reward"] = (won, lost)
    return draft


def iowa_matrices(dice: Dice) -> dict[str, Any]:
    """A row per person and a column per card: in one table, or one of choices, wins and losses."""
    trials = gamblers(dice)
    everybody = list(dict.fromkeys(t.person for t in trials))
    own = {who: [t for t in trials if t.person == who] for who in everybody}
    n = len(own[everybody[0]])
    stems = dice.pick((("Choice", "Win", "Loss"), ("choice", "gain", "loss"), ("ch", "wi", "lo")))
    by = dice.pick(("_", "", "."))
    parts: dict[str, Callable[[Trial], Any]] = {
        stems[0]: lambda t: (t.chosen or 0) + 1,
        stems[1]: lambda t: int(_won(t)),
        stems[2]: lambda t: -(t.second or 0),
    }
    who = dice.pick(("subject", "", "id", "Subj"))

    def table(stems_in: Sequence[str]) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([who, *(f"{stem}{by}{k + 1}" for stem in stems_in for k in range(n))])
        for name in everybody:
            cells = [parts[stem](t) for stem in stems_in for t in own[name]]
            writer.writerow([name, *cells])
        return out.getvalue().encode("utf-8-sig" if dice.often(0.2) else "utf-8")

    known = {"decisions": trials, "doubts": {"refused"} if stems[0] == "ch" else set()}
    if dice.often(0.5):
        return {"name": "data.csv", "content": table(stems), **known}
    named = dict(zip(("choice", "wi", "lo"), stems, strict=True))
    files = {f"{name}_{n}.csv": table([stem]) for name, stem in named.items()}
    return {"name": "study", "content": files, **known}


# --- files -------------------------------------------------------------------------------------

CLINIC: dict[str, Callable[[Dice], Draft]] = {
    "two-step": two_step,
    "go/no-go": go_no_go,
    "Iowa": iowa,
}
EVERY = (*CLINIC, "Iowa matrices")


def forget_missed(dice: Dice, draft: Draft) -> None:
    """Nothing is paid, and nothing follows, where nobody chose in time."""
    blank = dice.pick(("", "NA"))
    at = draft.design.index(draft.answer)
    later = [name for name in draft.design[at + 1 :] if name not in ("rt1", "rt2")]
    for row, k in zip(draft.rows, draft.of, strict=True):
        if k >= 0 and draft.decisions[k].chosen is None:
            row |= dict.fromkeys(later, blank)


def made_clinic(seed: int, family: str | None = None, words: Words = FIRST) -> Made:
    """A file of a clinic task that the seed decides."""
    dice = Dice(seed, words)
    which = family or dice.pick(EVERY)
    nothing: dict[str, Any] = {"story": [], "answers": {}, "doubts": set(), "extras": set()}
    if which == "Iowa matrices":
        return Made(seed, which, **{**nothing, **iowa_matrices(dice)})
    draft = CLINIC[which](dice)
    mess(dice, draft)
    forget_missed(dice, draft)
    program = dice.pick(("csv",) * 8 + ("jspsych", "gorilla", "folder"))
    name, content = "data.csv", b""
    if program == "jspsych" and not {"trial_type", "stimulus", "response"} & {*draft.rows[0]}:
        content = as_jspsych(dice, draft)
        name = "data.json" if content[:1] == b"[" else name
    elif program == "gorilla":
        content = as_gorilla(dice, draft)
    elif program == "folder":
        name, content = "study", as_folder(dice, draft)
    content = content or written(dice, draft)
    decisions = [d for d in draft.decisions if d.chosen is not None]
    story, answers = draft.story, draft.answers
    return Made(seed, which, name, content, decisions, story, answers, draft.doubts, draft.extras)
