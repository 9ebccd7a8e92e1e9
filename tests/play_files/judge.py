"""Whether a file was read as it is: choices, rewards, people and plays, up to names of options."""

from __future__ import annotations

import inspect
import re
from ast import literal_eval
from dataclasses import dataclass

import numpy as np

import penchant as pn
from play_files.layouts import Made

ARGUMENTS = frozenset(inspect.signature(pn.read).parameters) - {"source"}


def difference(made: Made, reading) -> str | None:
    """The first thing in which a reading differs from the truth; None if it does not."""
    if reading.kind != "play":
        return f"kind {reading.kind}"
    told: dict[str, list] = {}
    for episode in reading.data:
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
_MOST_STEPS, _MOST_TRIES = 6, 24


@dataclass(frozen=True)
class Verdict:
    """How a file was read: "read", "asked" (and a remedy worked), or a way to fail."""

    outcome: str
    words: str = ""
    steps: int = 0

    @property
    def failed(self) -> bool:
        """Whether this is a failure: read wrongly, or refused without a way that works."""
        return self.outcome not in ("read", "asked")


def judged(made: Made, **known) -> Verdict:
    """Read a file, answering what is asked with what the question offers and the truth allows."""
    try:
        reading = pn.read(made.path, **known)
    except (ValueError, TypeError) as error:
        return _followed(made, str(error), known)
    wrong = difference(made, reading)
    return Verdict("read") if wrong is None else Verdict("misread", f"{wrong}\n{reading}")


def _followed(made: Made, first: str, known: dict) -> Verdict:
    """Try the remedies of an error, those that agree with the truth first."""
    tried = 0
    queue = [(first, dict(known))]
    last = first
    while queue and tried < _MOST_TRIES:
        message, have = queue.pop(0)
        for more in _remedies(message, made, have):
            tried += 1
            try:
                reading = pn.read(made.path, **have, **more)
            except (ValueError, TypeError) as error:
                last = str(error)
                if len(have) + len(more) <= _MOST_STEPS:
                    queue.append((str(error), have | more))
                continue
            if difference(made, reading) is None:
                return Verdict("asked", first, len(have) + len(more))
    return Verdict("no remedy", f"{first}\n  LAST {last}")


def _remedies(message: str, made: Made, have: dict) -> list[dict]:
    """Arguments that a message offers, and those that it asks for as the truth answers them."""
    body = message.partition("Pass ")[2] or message
    found: list[dict] = []
    for piece in re.split(r",? or |; or ", body):
        said = {m["name"]: literal_eval(m["value"]) for m in _SAID.finditer(piece)}
        said = {name: value for name, value in said.items() if name not in have}
        if said and said not in found:
            found.append(said)
    for name, value in made.answers.items():
        if name not in have and re.search(rf"\b{name}\b", message) and {name: value} not in found:
            found.append({name: value})
    return sorted(found, key=lambda said: not _agrees(said, made))


def _agrees(said: dict, made: Made) -> bool:
    return all(made.answers.get(name) == value for name, value in said.items())
