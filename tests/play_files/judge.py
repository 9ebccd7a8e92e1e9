"""Whether a file was read as it is: choices, rewards, people and plays, up to names of options."""

from __future__ import annotations

import inspect
import re
from ast import literal_eval
from dataclasses import dataclass

import numpy as np

from penchant.reading.read import read_by_arguments as by_args
from play_files.layouts import Made

ARGUMENTS = frozenset(inspect.signature(by_args).parameters) - {"source"}


def difference(made: Made, reading) -> str | None:
    """The first thing in which a reading differs from the truth; None if it does not."""
    if reading.kind != "play":
        return f"kind {reading.kind}"
    told: dict[str, list] = {}
    for episode in _in_order(made, reading):
        told.setdefault(plain_name(episode.subject), []).append(_made_choices(episode))
    truth = {plain_name(person.name): _true_choices(person) for person in made.people}
    told = _by_file(told, truth)
    if set(told) != set(truth):
        return f"subjects {sorted(told)[:4]} for {sorted(truth)[:4]}"
    options: dict[int, int] = {}
    rewards: list[tuple[float, float]] = []
    for name, plays in truth.items():
        if len(told[name]) != len(plays):
            return f"{len(told[name])} plays for {len(plays)}"
        for true, seen in zip(plays, told[name], strict=True):
            if len(true) != len(seen):
                return f"{len(seen)} choices for {len(true)}"
            for (option, reward), (other, paid) in zip(true, seen, strict=True):
                if options.setdefault(option, other) != other:
                    return "choices"
                rewards.append((reward, paid))
    if len(set(options.values())) != len(options):
        return "choices"
    true, paid = np.array(rewards).T
    if not _same(made, true, paid):
        return f"rewards {paid[:5]} for {true[:5]}"
    return None


def _in_order(made: Made, reading) -> list:
    """Plays as the truth has them, where sessions were named after their blocks."""
    parts, truth = reading.arguments.get("block"), made.answers.get("block")
    if isinstance(parts, tuple | list) and isinstance(truth, tuple) and [*parts] == [*truth[::-1]]:
        return sorted(reading.data, key=lambda play: str(play.block).split("/")[::-1])
    return list(reading.data)


def _by_file(told: dict, truth: dict) -> dict:
    """Names of people where those of their files were taken, which hold them."""
    if set(told) == set(truth) or len(told) != len(truth):
        return told
    named = {
        name: next((own for own in sorted(truth, key=len)[::-1] if own in str(name)), name)
        for name in told
    }
    return {named[name]: plays for name, plays in told.items()}


def plain_name(name: object) -> str:
    """A person's name without zeros before a number and without the prefix of BIDS."""
    word = str(name).removeprefix("sub-")
    return word.lstrip("0") if word.isdigit() else word


def _made_choices(episode) -> list[tuple[int, float]]:
    chosen = np.asarray(episode.chosen)
    rewards = np.asarray(episode.rewards, float)
    scored = np.asarray(episode.scored, bool)
    return [
        (int(option), float(reward))
        for option, reward, counts in zip(chosen, rewards, scored, strict=True)
        if option >= 0 and counts
    ]


def _true_choices(person) -> list[list[tuple[int, float]]]:
    return [
        [(trial.option, trial.reward) for trial in play if trial.option is not None]
        for play in person.plays
    ]


def _same(made: Made, true, paid) -> bool:
    if np.isnan(paid).any():
        return False
    if made.plan.reward == "words":
        low, high = paid[true == true.min()], paid[true == true.max()]
        return np.ptp(low) == 0 == np.ptp(high) and (low[0] < high[0] or true.min() == true.max())
    return np.allclose(true, paid)


# --- questions -------------------------------------------------------------------------------

_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|-?\d+(?:\.\d+)?"
_SAID = re.compile(rf"\b(?P<name>{'|'.join(sorted(ARGUMENTS))})=(?P<value>{_VALUE})")
_MOST_COMMANDS, _MOST_TRIES = 8, 24


@dataclass(frozen=True)
class Verdict:
    """How a file was read: "read", "asked" (and a remedy worked), or a way to fail.

    Attributes
    ----------
    outcome
        "read", "asked", "no remedy" or "misread".
    words
        What was asked, or in what a reading is wrong.
    commands
        How many were typed until the file was read; 0 if it never was.
    trail
        What was asked, and what was answered, one after another.
    """

    outcome: str
    words: str = ""
    commands: int = 1
    trail: tuple[tuple[str, dict], ...] = ()

    @property
    def failed(self) -> bool:
        """Whether this is a failure: read wrongly, or refused without a way that works."""
        return self.outcome not in ("read", "asked")


def judged(made: Made) -> Verdict:
    """Read a file, answering what is asked with what the question offers and the truth allows.

    Somebody who answers nothing but the truth, and gets another reading, was misled as well.
    """
    talk = _Talk(made)
    talk.go_on({}, (), sure=True)
    if talk.wrong is not None:
        return talk.wrong
    if talk.right is not None:
        return talk.right
    words = "\n  ".join(f"{said}\n  ANSWERED {more}" for said, more in talk.longest)
    return Verdict("no remedy", words, 0, talk.longest)


class _Talk:
    """Questions and answers about one file, the true ones first."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.seen: list[dict] = []
        self.right: Verdict | None = None
        self.wrong: Verdict | None = None
        self.longest: tuple[tuple[str, dict], ...] = ()

    def go_on(self, known: dict, trail: tuple[tuple[str, dict], ...], *, sure: bool) -> None:
        """Read with these answers, and answer what is asked then."""
        self.seen.append(known)
        try:
            reading = by_args(self.made.path, **known)
        except (ValueError, TypeError) as error:
            self._answer(str(error), known, trail, sure)
            return
        wrong = difference(self.made, reading)
        if wrong is None:
            words = trail[0][0] if trail else ""
            self.right = Verdict("asked" if trail else "read", words, 1 + len(trail), trail)
        elif sure:
            self.wrong = Verdict("misread", f"{wrong} by {known}\n{reading}", 0, trail)

    def _answer(self, message: str, known: dict, trail: tuple, sure: bool) -> None:
        if len(trail) >= len(self.longest):
            self.longest = (*trail, (message, {}))
        for rank, more in _remedies(message, self.made, known):
            told = known | more
            tired = len(self.seen) > _MOST_TRIES or len(trail) >= _MOST_COMMANDS - 1
            if told in self.seen or tired:
                continue
            self.go_on(told, (*trail, (message, more)), sure=sure and rank > 0)
            if self.right is not None or self.wrong is not None:
                return


def _remedies(message: str, made: Made, known: dict) -> list[tuple[int, dict]]:
    """Arguments that a message offers, and those that it asks for as the truth answers them.

    What is to be passed together is: the best of the first with the best of the second.
    """
    if " Also: " in message:
        return _for_all(message.split(" Also: "), made, known)
    first, _, second = message.partition("together with")
    if second:
        lead = first.rpartition("for play")[2] if "for play" in first else first
        one, *_ = [*_remedies(lead, made, known), (0, {})]
        two, *_ = [*_remedies(second, made, known), (0, {})]
        return [(min(one[0], two[0]), one[1] | two[1])]
    found: list[dict] = []
    end = -1
    for said in _SAID.finditer(message):
        more = {said["name"]: _literal(said["value"])}
        if message[end : said.start()] == " and ":
            found[-1] |= more
        elif more not in found:
            found.append(more)
        end = said.end()
    asked = [name for name in made.answers if re.search(rf"\b{name}\b", message)]
    plain = {name: made.answers[name] for name in asked if not any(name in said for said in found)}
    found += [plain] if plain else []
    ranks = [(min((_fits(n, v, made) for n, v in said.items()), default=0), said) for said in found]
    if "if these are task data" in message:  # so they are: what options mean is not asked then
        ranks = [(-1 if "options" in said else rank, said) for rank, said in ranks]
    return [(rank, said) for rank, said in sorted(ranks, key=lambda pair: -pair[0]) if rank >= 0]


def _for_all(questions: list[str], made: Made, known: dict) -> list[tuple[int, dict]]:
    """Answers to several questions at once; if they do not do, to the first alone."""
    every = [found for found in (_remedies(said, made, known) for said in questions) if found]
    if not every:
        return []
    joined: dict = {}
    for _, more in (found[0] for found in every):
        where = [one["where"] for one in (joined, more) if "where" in one]
        joined |= more | ({"where": " and ".join(where)} if len(where) > 1 else {})
    return [(min(found[0][0] for found in every), joined), *every[0]]


def _fits(name: str, value: object, made: Made) -> int:
    """Whether somebody who knows the file would say this: 1 if so, -1 if not, 0 if it may be."""
    plan, truth = made.plan, made.answers.get(name)
    if name in ("attributes", "opt_out", "missing_reward", "offers"):
        return -1
    if name == "kind":
        return 1 if value == "play" else -1
    if name == "options":
        words = {str(word) for word in value} if isinstance(value, list | dict) else set()
        mapped = isinstance(value, dict) and not all(isinstance(v, int) for v in value.values())
        told = {*plan.labels} | {label.removesuffix(".0") for label in plan.labels}
        odd = mapped or plan.missed in words or not words & told
        return -1 if odd else int(words == {*plan.labels})
    if name == "base" and plan.choice in ("from 0", "from 1", "floats"):
        return 1 if value == int(plan.choice != "from 0") else -1
    if name == "reward" and plan.reward == "words":
        said, own = str(value).removeprefix("player."), str(truth).removeprefix("player.")
        named = said.startswith(own) or own.startswith(said.partition("[")[0])  # payout of payout_1
        paid = _paid_by_words(str(value))
        won, lost = (paid.get(word, paid.get(word.replace(" ", "_"))) for word in plan.won)
        return -1 if not named or (paid and (won is None or lost is None or won <= lost)) else 1
    if name == "reward" and plan.reward == "sentence" and "[" in str(value):
        lost = re.search(r"\[(\w+) < 0\]", str(value))
        won, loss = (re.findall(r"\w+", one.lower()) for one in plan.sentences)
        return 1 if lost is not None and lost[1] in loss and lost[1] not in won else -1
    if name == "chosen" and plan.choice.startswith("stimuli"):
        at_place = str(value).endswith(f"[{plan.names['key']}]") or "[response]" in str(value)
        return 1 if at_place or (plan.choice == "stimuli" and value == truth) else -1
    if name == "where":
        return 1 if value == str(truth).replace("`", "") else 0
    if truth is None:
        return 0
    if name == "block" and value == f"restarts({made.answers.get('decision')})":
        return 1
    if name == "block" and truth is not None:
        parts, own = (({one} if isinstance(one, str) else {*one}) for one in (value, truth))
        same = tuple(pair[0] for pair in plan.constants) or ("no such column",)
        parts = {part for part in parts if not part.endswith(same)} or parts  # these do no harm
        return 1 if parts == own else 0 if parts <= own else -1
    own = str(truth).removeprefix("player.")
    own = "response" if made.layout == "eprime" and own.endswith(".RESP") else own
    shorter = made.layout.startswith(("one row", "otree wide")) and own.startswith(f"{value}_")
    return 1 if str(value) == own or value == truth or shorter else -1


def _paid_by_words(value: str) -> dict[str, float]:
    """What words pay by what was typed, as in outcome[win=1, loss=0]."""
    pairs = re.findall(r"([^\[,=]+)=(-?\d+)", value)
    return {word.strip(): float(number) for word, number in pairs}


def _literal(value: str) -> object:
    try:
        return literal_eval(value)
    except SyntaxError:
        return value
