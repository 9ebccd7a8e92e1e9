"""How a file writes people down: names of columns, codes of choices and of rewards, and mess."""

import random
from dataclasses import dataclass, field
from itertools import accumulate

from play_files.people import PAYS, Person, Trial, people
from play_files.words import Words

Row = dict[str, str]

CHOICES = (
    "from 0", "from 1", "floats", "labels", "labels", "sides", "keys", "stimuli", "stimuli",
    "stimuli on sides", "flags", "deck",
)  # fmt: skip
REWARDS = (
    "numbers", "numbers", "numbers", "numbers and total", "currency", "words", "sentence", "total",
    "gain and loss", "all payoffs",
)  # fmt: skip
TWO_VALUED = ("binary", "signed", "points", "cents")


@dataclass
class Plan:
    """What a file is like; `names` maps the parts to its columns, `answers` tells a reader."""

    words: Words
    choice: str
    reward: str
    pay: str
    n_options: int
    names: dict[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    missed: str | None = None
    missed_reward: str = ""
    marks: tuple[str, ...] = ()
    won: tuple[str, str] = ("", "")
    sentences: tuple[str, str] = ("", "")
    currency: str = "{}"
    loss_sign: int = 1
    payoff_names: tuple[str, ...] = ()
    chance_names: tuple[str, ...] = ()
    constants: tuple[tuple[str, str], ...] = ()
    personal: tuple[tuple[str, tuple[str, ...]], ...] = ()
    extras: tuple[str, ...] = ()
    scale_rt: int = 1

    def told(self) -> dict[str, str]:
        """What is unusual, for a list of failures."""
        return {
            "choice": self.choice,
            "reward": self.reward,
            "pay": self.pay,
            "names": str(self.names),
            "missed": repr(self.missed),
        }


def plan(rng: random.Random, words: Words, *, fixed=None, choice=None, reward=None) -> Plan:
    """A random way to write a file; `fixed` names columns that a program names."""
    choice = choice or rng.choice(CHOICES)
    reward = reward or rng.choice(REWARDS)
    pay = rng.choice(
        TWO_VALUED if reward == "words" else ("mixed",) if reward == "gain and loss" else list(PAYS)
    )
    n_options = 4 if choice == "deck" else 2
    if choice in ("from 0", "from 1", "labels", "floats", "flags"):
        n_options = rng.choice((2, 2, 3, 4))
    made = Plan(words, choice, reward, pay, n_options)
    _name(rng, made, fixed or {})
    made.labels = _labels(rng, made)
    made.won = rng.choice(words.won)
    made.sentences = rng.choice(words.sentences)
    made.currency = rng.choice(("£{}", "${}", "{} €", "€{}", "{} points", "{} coins"))
    made.loss_sign = rng.choice((1, -1))
    made.scale_rt = rng.choice((1, 1000))
    if rng.random() < 0.45:
        made.missed = _missed(rng, made)
        made.missed_reward = rng.choice(("", "", made.missed, "0", "NA"))
    return made


def _name(rng: random.Random, made: Plan, fixed: dict[str, str]) -> None:
    words = made.words
    taken = {name.lower() for name in fixed.values()}

    def one(part: str, names) -> str:
        if part in fixed:
            made.names[part] = fixed[part]
            return fixed[part]
        free = [name for name in names if str(name).lower() not in taken]
        name = rng.choice(free)
        taken.add(str(name).lower())
        made.names[part] = name
        return name

    one("subject", words.subject)
    one("trial", words.trial)
    if made.choice in ("stimuli", "stimuli on sides"):
        if made.choice == "stimuli":
            one("choice", words.stimulus_choice)
        one("key", words.key_choice)
        one("left", ("left_stim", "stim_left", "leftImage", "stimL", "img_left"))
        right = made.names["left"].replace("left", "right").replace("stimL", "stimR")
        made.names["right"] = right
    elif made.choice == "keys":
        one("choice", words.key_choice)
    elif made.choice == "deck":
        one("choice", words.deck_choice)
    elif made.choice != "flags":
        one("choice", words.choice)
    for part in ("group", "session", "block", "seconds", "phase"):
        one(part, getattr(words, part))
    if made.reward in ("sentence",):
        one("reward", words.feedback)
    elif made.reward == "total":
        one("reward", words.total)
    elif made.reward == "gain and loss":
        pairs = [pair for pair in words.gain if not taken & {name.lower() for name in pair}]
        made.names["gain"], made.names["loss"] = rng.choice(pairs)
        taken.update(name.lower() for name in (made.names["gain"], made.names["loss"]))
    else:
        one("reward", words.reward)
    if made.reward == "numbers and total":
        one("total", words.total)
    wanted = [
        part
        for part in ("correct", "best", "previous", "stay")
        if rng.random() < 0.2 and not (part == "best" and made.choice == "flags")
    ]
    for part in wanted:
        one(part, getattr(words, part))
    made.extras = tuple(wanted)
    ends = rng.choice((("A", "B", "C", "D"), ("1", "2", "3", "4"), ("left", "right")))
    if made.n_options > len(ends):
        ends = ("A", "B", "C", "D")
    if rng.random() < 0.2:
        pattern = rng.choice(words.chance)
        made.chance_names = tuple(pattern.format(end) for end in ends[: made.n_options])
    if made.reward == "all payoffs":
        pattern = rng.choice(words.payoff)
        made.payoff_names = tuple(pattern.format(end) for end in ends[: made.n_options])
    made.constants = tuple(
        pair
        for pair in rng.sample(words.constant, rng.randrange(4))
        if pair[0].lower() not in taken
    )
    made.personal = tuple(
        pair
        for pair in rng.sample(words.personal, rng.randrange(3))
        if pair[0].lower() not in taken
    )


def _labels(rng: random.Random, made: Plan) -> tuple[str, ...]:
    words, n = made.words, made.n_options
    if made.choice in ("from 0", "from 1"):
        return tuple(str(i + (made.choice == "from 1")) for i in range(n))
    if made.choice == "floats":
        return tuple(f"{i + 1}.0" for i in range(n))
    if made.choice == "sides":
        return rng.choice(words.sides)
    if made.choice == "keys":
        return rng.choice(words.keys)
    if made.choice == "deck":
        return rng.choice((("A", "B", "C", "D"), ("1", "2", "3", "4"), ("a", "b", "c", "d"),
                           ("deck1", "deck2", "deck3", "deck4")))  # fmt: skip
    if made.choice == "flags":
        pattern = rng.choice(("chose_{}", "chosen_{}", "choice_{}", "selected{}"))
        return tuple(pattern.format(end) for end in ("A", "B", "C", "D")[:n])
    return rng.choice(words.labels)[:n]


def _missed(rng: random.Random, made: Plan) -> str:
    """A code for no choice that is not one of the options."""
    numeric = made.choice in ("from 0", "from 1", "floats")
    if made.choice == "flags":
        return "0"
    words = [word for word in made.words.missed if word not in made.labels]
    if made.choice in ("from 0", "floats") or not numeric:
        words = [word for word in words if word not in ("0",)]
    return rng.choice(words)


def everyone(rng: random.Random, made: Plan, *, n_plays: int) -> list[Person]:
    """People for a plan."""
    n_people = rng.choice((2, 4, 5, 6))
    style = rng.choice(("s{:02d}", "{}", "P_{}", "{:03d}", "5f{:04x}a9c2e", "sub-{:02d}"))
    start = rng.choice((1, 101, 11))
    names = [style.format(k + start) for k in range(n_people)]
    groups = rng.choice(made.words.groups)
    found = people(
        rng,
        names,
        groups,
        pay=PAYS[made.pay],
        n_options=made.n_options,
        n_plays=n_plays,
        n_trials=rng.choice((10, 12, 15, 20)),
    )
    if made.missed is None:
        return found
    return [
        Person(
            person.name,
            person.group,
            tuple(
                tuple(
                    Trial(None, 0, t.payoffs, t.chances, t.order, t.seconds)
                    if k > 1 and rng.random() < 0.08
                    else t
                    for k, t in enumerate(play)
                )
                for play in person.plays
            ),
        )
        for person in found
    ]


def number(value: float) -> str:
    """A number as people write it."""
    return str(int(value)) if value == int(value) else str(round(value, 4))


def trial_rows(made: Plan, play: tuple[Trial, ...]) -> list[Row]:
    """Columns of choice, reward and what goes with them, one row per trial."""
    totals = list(accumulate(trial.reward for trial in play))
    rows = []
    for t, trial in enumerate(play):
        row: Row = {}
        row |= _choice_cells(made, trial)
        row |= _reward_cells(made, trial, totals[t])
        missed = trial.option is None
        rt = "" if missed else number(trial.seconds * made.scale_rt)
        row[made.names["seconds"]] = rt
        if "correct" in made.extras:
            row[made.names["correct"]] = "" if missed else str(int(trial.option == trial.best))
        if "best" in made.extras:
            row[made.names["best"]] = made.labels[trial.best]
        if "previous" in made.extras:
            before = play[t - 1].option if t else None
            row[made.names["previous"]] = "" if before is None else made.labels[before]
        if "stay" in made.extras:
            before = play[t - 1].option if t else None
            known = before is not None and not missed
            row[made.names["stay"]] = str(int(before == trial.option)) if known else ""
        for name, chance in zip(made.chance_names, trial.chances, strict=False):
            row[name] = number(chance)
        for name, payoff in zip(made.payoff_names, trial.payoffs, strict=False):
            row[name] = number(payoff)
        rows.append(row)
    return rows


def _choice_cells(made: Plan, trial: Trial) -> Row:
    names, labels = made.names, made.labels
    if made.choice == "flags":
        return {label: str(int(trial.option == i)) for i, label in enumerate(labels)}
    code = made.missed if trial.option is None else labels[trial.option]
    if made.choice not in ("stimuli", "stimuli on sides"):
        return {names["choice"]: code}
    sides = made.words.sides[0] if not made.marks else made.marks
    row = {names["left"]: labels[trial.order[0]], names["right"]: labels[trial.order[1]]}
    row[names["key"]] = (
        made.missed if trial.option is None else sides[trial.order.index(trial.option)]
    )
    if made.choice == "stimuli":
        row[names["choice"]] = code
    return row


def _reward_cells(made: Plan, trial: Trial, total: float) -> Row:
    names, reward = made.names, trial.reward
    if made.reward == "gain and loss":
        gain, loss = max(reward, 0), made.loss_sign * max(-reward, 0)
        if trial.option is None:
            return {names["gain"]: made.missed_reward, names["loss"]: made.missed_reward}
        return {names["gain"]: number(gain), names["loss"]: number(loss)}
    if made.reward == "total":
        return {names["reward"]: number(total)}
    if trial.option is None:
        cell = made.missed_reward
    elif made.reward == "currency":
        sign = "-" if reward < 0 else ""
        cell = sign + made.currency.format(number(abs(reward)))
    elif made.reward == "words":
        cell = made.won[0] if reward in PAYS[made.pay].won else made.won[1]
    elif made.reward == "sentence":
        cell = made.sentences[reward < 0].format(number(abs(reward)))
    else:
        cell = number(reward)
    row = {names["reward"]: cell}
    if made.reward == "numbers and total":
        row[names["total"]] = number(total)
    return row
