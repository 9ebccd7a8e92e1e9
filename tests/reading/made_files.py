"""Files of play, offers and choice experiments in random names, codes and mess, with the truth.

A trap is a mess after which names alone do not say what a file means: it has to be asked about.
"""

import csv
import random
from dataclasses import dataclass, field

NAMES = {
    "subject": (
        *("subject", "subjID", "participant_id", "Participant", "PROLIFIC_PID", "worker_id", "id"),
        *("Versuchsperson", "sujet", "sub_id", "Proband", "ppt", "userId", "respondent"),
    ),
    "trial": ("trial", "trial_number", "trialNum", "Trial", "trial_index", "Durchgang", "essai"),
    "block": ("block", "block_number", "blockNum", "round", "Block", "game", "Runde"),
    "choice": (
        *("choice", "chosen", "response", "Choice", "chosen_option", "selected", "Wahl", "choix"),
        *(
            "action",
            "key_press",
            "arm_chosen",
            "keyPressed",
            "choiceIndex",
            "eleccion",
            "selection",
        ),
    ),
    "reward": (
        *("reward", "outcome", "payoff", "points", "Reward", "reward_received", "points_won"),
        *("Belohnung", "recompense", "score", "rewardValue", "payout", "win", "feedback_points"),
    ),
    "group": ("group", "condition", "Group", "treatment", "Gruppe", "cohort", "diagnosis"),
}
CODES = (
    *((0, 1), (1, 2), (0, 1, 2), (1, 2, 3, 4), ("A", "B"), ("left", "right"), ("f", "j")),
    *(("deck1", "deck2", "deck3"), ("blue", "orange"), ("ArrowLeft", "ArrowRight")),
)
AMOUNTS = (
    ("ss_amount", "ll_amount", "ll_delay"),
    ("amount_sooner", "amount_later", "delay_later"),
    ("amount_now", "amount_later", "delay_days"),
    ("sooner_reward", "later_reward", "later_delay"),
    ("immediate_amount", "delayed_amount", "delay"),
)
TAKEN = ((0, 1), ("SS", "LL"), ("sooner", "later"), ("now", "later"), ("immediate", "delayed"))
GAMBLES = (("gain", "loss", "cert"), ("gamble_gain", "gamble_loss", "sure_amount"))
OPTIONS = (("A", "B"), ("bus", "car", "train"), ("left", "right"), ("1", "2", "3"))
ATTRIBUTES = ("price", "quality", "seats", "comfort", "fare", "size", "cost", "warranty")
JUNK = ("rt", "age", "gender", "date", "version", "response_time", "correct")
MISSED = (-1, 999, "timeout", "none", "NA", "no_response")


@dataclass
class Made:
    """A file: its rows, what people really did, and whether it holds a trap.

    Attributes
    ----------
    kind
        What it is.
    truth
        {person: what they did, decision by decision}: (option, reward), (taken, offered), or what
        the option taken has of each attribute.
    trap
        What has to be asked about; None where names say all.
    """

    kind: str
    rows: list
    truth: dict
    trap: str | None = None
    names: dict = field(default_factory=dict)

    def write(self, folder, rng):
        """Write the file, or a file for each person, and say where."""
        divider = rng.choice((",", ";", "\t"))
        who = self.names["subject"]
        if self.kind == "play" and not self.trap and rng.random() < 0.15:
            for name in self.truth:
                own = [
                    {k: v for k, v in r.items() if k != who} for r in self.rows if r[who] == name
                ]
                _write(folder / f"{name}.csv", own, ",")
            return folder
        place = folder / rng.choice(("data.csv", "data.txt"))
        _write(place, self.rows, divider)
        return place


def _write(path, rows, divider):
    with path.open("w", encoding=random.choice(("utf-8", "utf-8-sig")), newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=divider)
        writer.writeheader()
        writer.writerows(rows)


def _names(rng, *parts):
    return {part: rng.choice(NAMES[part]) for part in parts}


def _people(rng):
    style = rng.choice(("s{:02d}", "{}", "p{}"))
    return [style.format(k + 1) for k in range(rng.randint(3, 5))]


def _finish(rng, made, people):
    """Columns that say nothing, and a mess that may be a trap, in any order of columns."""
    who = made.names["subject"]
    decision = made.names.get("decision")  # of which all rows have one time
    groups = {person: rng.choice(("a", "b")) for person in people}
    if rng.random() < 0.5:
        group = rng.choice(NAMES["group"])
        made.rows = [row | {group: groups[row[who]]} for row in made.rows]
    for name in rng.sample(JUNK, rng.randint(0, 3)):
        of_person = {person: rng.randint(18, 70) for person in people}
        fixed = name in ("age", "gender", "date", "version")
        times = [round(rng.uniform(0.2, 2), 3) for _ in made.rows]
        made.rows = [
            row | {name: of_person[row[who]] if fixed else times[row.get(decision, k)]}
            for k, row in enumerate(made.rows)
        ]
    order = rng.sample([*made.rows[0]], len(made.rows[0]))
    made.rows = [{name: row[name] for name in order} for row in made.rows]
    return made


def _practice(rng, made):
    """Two rows of practice before everybody's others, told by a column."""
    who = made.names["subject"]
    name, words = rng.choice((("phase", ("practice", "test")), ("is_practice", (1, 0))))
    found, seen = [], set()
    for row in made.rows:
        if row[who] not in seen:
            seen.add(row[who])
            found += [row | {name: words[0]}] * 2
        found.append(row | {name: words[1]})
    made.rows, made.trap = found, "practice"


def play(rng):
    """Choices and rewards in order."""
    names, codes, people = (
        _names(rng, "subject", "trial", "choice", "reward"),
        rng.choice(CODES),
        _people(rng),
    )
    blocks = rng.choice((1, 1, 2))
    if blocks > 1:
        names |= _names(rng, "block")
    pay = rng.choice(
        (lambda: rng.randint(0, 1), lambda: rng.randint(0, 40), lambda: rng.gauss(5, 2))
    )
    rows, truth = [], {}
    for person in people:
        for block in range(blocks):
            done = []
            for t in range(rng.randint(16, 24)):
                option, paid = rng.randrange(len(codes)), round(pay(), 2)
                row = {names["subject"]: person, names["trial"]: t + 1}
                row |= {names["block"]: block + 1} if blocks > 1 else {}
                rows.append(row | {names["choice"]: codes[option], names["reward"]: paid})
                done.append((option, paid))
            truth.setdefault(person, []).append(done)
    made = Made("play", rows, truth, names=names)
    mess = rng.random()
    if mess < 0.06:
        _practice(rng, made)
    elif mess < 0.12:
        mark = rng.choice(MISSED)
        for row in rows[:: len(rows) // 3]:
            extra = row | {names["choice"]: mark, names["reward"]: ""}
            made.rows = [*made.rows, extra | {names["trial"]: 90 + len(made.rows)}]
        made.trap = "missed"
    elif mess < 0.16:
        total = dict.fromkeys(people, 0.0)
        for row in made.rows:
            total[row[names["subject"]]] += row[names["reward"]] + 1
            row[names["reward"]] = round(total[row[names["subject"]]], 2)
        made.trap = "total"
    elif mess < 0.20:
        name = rng.choice(("wybor", "zz", "resp_side_final"))
        made.rows = [
            {(name if k == names["choice"] else k): v for k, v in row.items()} for row in rows
        ]
        made.trap = "name"
    return _finish(rng, made, people)


def offers(rng):
    """Two amounts at two times, or a gamble of a gain and a loss against a sure amount."""
    names, people = _names(rng, "subject"), _people(rng)
    names["choice"] = rng.choice(("choice", "chosen", "response", "Choice"))
    gambles = rng.random() < 0.08
    columns, codes = (
        (rng.choice(GAMBLES), (0, 1)) if gambles else (rng.choice(AMOUNTS), rng.choice(TAKEN))
    )
    rows, truth = [], {}
    for person in people:
        for _ in range(rng.randint(12, 20)):
            first, second, third = rng.randint(5, 20), rng.randint(21, 60), rng.choice((7, 30, 90))
            taken = rng.randrange(2)
            cells = dict(zip(columns, (first, second, third), strict=True))
            rows.append({names["subject"]: person, **cells, names["choice"]: codes[taken]})
            truth.setdefault(person, []).append((taken, (first, second, third)))
    made = Made("offers", rows, truth, "chances" if gambles else None, names)
    mess = rng.random()
    if mess < 0.08:
        _practice(rng, made)
    elif mess < 0.16:
        made.rows = [
            row | {names["choice"]: "xq"[row[names["choice"]] == codes[1]]} for row in rows
        ]
        made.trap = "words"
    return _finish(rng, made, people)


def survey(rng, *, long=False):
    """A choice experiment with a row per decision, or per option."""
    names, people = _names(rng, "subject"), _people(rng)
    options = rng.choice(OPTIONS[: 3 + long])
    attributes = rng.sample(ATTRIBUTES, rng.randint(2, 3))
    called = rng.choice(("{a}_{o}", "{o}_{a}", "{a}.{o}", "{o}{A}"))
    decision, option, chosen = (
        rng.choice(x) for x in (("chid", "task"), ("alt", "option"), ("choice", "chosen"))
    )
    rows, truth = [], {}
    for person in people:
        for t in range(rng.randint(10, 16)):
            cells = {(o, a): round(rng.uniform(1, 30), 1) for o in options for a in attributes}
            taken = rng.choice(options)
            who = {names["subject"]: person}
            if long:
                for o in options:
                    own = {a: cells[o, a] for a in attributes}
                    rows.append(who | {decision: t + 1, option: o, **own, chosen: int(o == taken)})
            else:
                wide = {called.format(a=a, o=o, A=a.title()): v for (o, a), v in cells.items()}
                rows.append(who | wide | {chosen: taken})
            truth.setdefault(person, []).append([cells[taken, a] for a in attributes])
    names |= {"attributes": attributes, "decision": decision}
    made = Made("choices", rows, truth, names=names)
    mess = rng.random()
    if mess < 0.08 and not long:
        _practice(rng, made)
    elif mess < 0.14 and not long:
        made.rows = [row | {chosen: options.index(row[chosen]) + 1} for row in rows]
        made.trap = "numbers"
    return _finish(rng, made, people)


def long_survey(rng):
    """A choice experiment with a row per option."""
    return survey(rng, long=True)


FAMILIES = {"play": play, "offers": offers, "survey": survey, "long survey": long_survey}


def difference(made, reading):
    """In what a reading differs from the truth; None if in nothing."""
    if reading.kind != made.kind:
        return f"kind {reading.kind}"
    seen = {}
    if made.kind == "choices":
        data = reading.data
        called = [name.lower() for name in data.names]
        places = [called.index(name) for name in made.names["attributes"]]
        taken = data.explanatory[data.chosen_row][:, places].tolist()
        for code, own in zip(data.subject, taken, strict=True):
            seen.setdefault(str(data.subject_labels[code]), []).append(own)
        return None if seen == made.truth else "choices"
    for one in reading.data:
        if made.kind == "offers":
            parts = one.offers
            gambles = "outcome" in parts
            cells = parts["outcome"] if gambles else parts["amount"]
            for t in range(one.n_events):
                row = cells[t].tolist()
                own = (
                    (row[1][0], -row[1][1], row[0][0]) if gambles else (*row, parts["delay"][t, 1])
                )
                seen.setdefault(str(one.subject), []).append((int(one.chosen[t]), own))
        else:
            play = list(zip(one.chosen.tolist(), one.rewards.tolist(), strict=True))
            seen.setdefault(str(one.subject), []).append(play)
    return None if seen == made.truth else f"{made.kind}: {seen} for {made.truth}"[:600]
