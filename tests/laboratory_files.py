"""Made-up files as laboratories have them, with their mess, and what is really in them."""

import csv
import io
import json
from dataclasses import dataclass, field

import numpy as np

GROUPS = ("young", "old")


@dataclass
class Person:
    """Somebody's decisions: options taken (None: too late), rewards, or what was offered."""

    name: str
    group: str
    chosen: list
    rewards: list = field(default_factory=list)
    offers: list = field(default_factory=list)


def players(n_people=6, n_decisions=24, n_options=2, missed=True, seed=3):
    """People who learn by a delta rule, the old ones slowly."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n_people):
        group = GROUPS[k % 2]
        rate = 0.6 if group == "young" else 0.2
        values, chosen, rewards = np.full(n_options, 5.0), [], []
        for t in range(n_decisions):
            if missed and t == 5 + k % 3:
                chosen.append(None)
                rewards.append(None)
                continue
            p = np.exp(0.8 * (values - values.max()))
            option = int(rng.choice(n_options, p=p / p.sum()))
            reward = float(rng.integers(0, 11) if option else rng.integers(2, 8))
            values[option] += rate * (reward - values[option])
            chosen.append(option)
            rewards.append(reward)
        found.append(Person(f"p{k + 1:02d}", group, chosen, rewards))
    return found


def savers(n_people=6, n_decisions=30, missed=True, seed=5):
    """People who discount hyperbolically, the old ones more: (sooner, later, days) were offered."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n_people):
        group = GROUPS[k % 2]
        rate = (0.01 if group == "young" else 0.05) * float(rng.uniform(0.6, 1.6))
        offers, chosen = [], []
        for t in range(n_decisions):
            later = float(rng.integers(20, 60))
            days = int(rng.choice([7, 14, 30, 60, 90]))
            sooner = float(np.round(later * rng.uniform(0.2, 0.95)))
            gap = later / (1 + rate * days) - sooner
            offers.append((sooner, later, days))
            late = missed and t == 4 + k % 3
            chosen.append(None if late else int(rng.uniform() < 1 / (1 + np.exp(-0.4 * gap))))
        found.append(Person(f"p{k + 1:02d}", group, chosen, offers=offers))
    return found


def shoppers(n_people=6, n_decisions=12, opt_out=True, seed=7):
    """People who choose between A, B and neither: (price, minutes, brand) of A and of B."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n_people):
        group = GROUPS[k % 2]
        weight = -0.5 if group == "young" else -0.2
        offers, chosen = [], []
        for _ in range(n_decisions):
            pair = [
                (
                    int(rng.integers(1, 9)),
                    int(rng.integers(5, 40)),
                    str(rng.choice(["Acme", "Zen"])),
                )
                for _ in range(2)
            ]
            worth = [weight * p - 0.05 * m + 0.7 * (b == "Zen") for p, m, b in pair]
            worth += [-2.0] if opt_out else []
            noisy = np.array(worth) + rng.gumbel(size=len(worth))
            offers.append(pair)
            chosen.append(int(noisy.argmax()))
        found.append(Person(f"p{k + 1:02d}", group, chosen, offers=offers))
    return found


# ---- writing -------------------------------------------------------------------------------------


def as_csv(rows, names=None, *, delimiter=",", bom=False, end="\n", missing=""):
    """Rows as text of a CSV file; columns in the order in which they first occur."""
    names = names or list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(names)
    for row in rows:
        cells = [row.get(name) for name in names]
        writer.writerow([missing if cell is None else cell for cell in cells])
    return ("\ufeff" if bom else "") + text.getvalue()


def jspsych_play(people, *, keys=("f", "j"), label="response", practice=True):
    """Trials of jsPsych, one list per person: instructions, practice, choices, a survey."""
    everybody = []
    for person in people:
        rows = [
            {"trial_type": "fullscreen", "success": True},
            {"trial_type": "html-button-response", "stimulus": "<p>Welcome</p>", "response": 0},
            {"trial_type": "instructions", "view_history": [{"page_index": 0}], "rt": 5123},
        ]
        for word, n in (("practice", 3 if practice else 0), ("test", len(person.chosen))):
            for t in range(n):
                option = t % 2 if word == "practice" else person.chosen[t]
                reward = 1.0 if word == "practice" else person.rewards[t]
                rows.append(
                    {
                        "trial_type": "html-keyboard-response",
                        "stimulus": "+",
                        "rt": None,
                        "response": None,
                        "task": "fixation",
                        "phase": word,
                    }
                )
                rows.append(
                    {
                        "trial_type": "html-keyboard-response",
                        "stimulus": "<div>choose</div>",
                        "rt": None if option is None else 400 + 7 * t,
                        label: None if option is None else keys[option],
                        "task": "choice",
                        "phase": word,
                        "reward": reward,
                    }
                )
        rows.append({"trial_type": "survey-text", "response": {"Q0": "fine, thanks"}, "rt": 900})
        for k, row in enumerate(rows):
            row |= {
                "trial_index": k,
                "time_elapsed": 1000 * k,
                "internal_node_id": f"0.0-{k}.0",
                "subject_id": person.name,
                "group": person.group,
            }
        everybody.append(rows)
    return everybody


def jspsych_offers(people, *, answers=("sooner", "later")):
    """Trials of jsPsych: amounts with a currency, delays with a unit, buttons by their words."""
    rows = []
    for person in people:
        own = [
            {"trial_type": "instructions"},
            {"trial_type": "html-button-response", "response": 0},
        ]
        for option, (sooner, later, days) in zip(person.chosen, person.offers, strict=True):
            own.append(
                {
                    "trial_type": "html-button-response",
                    "rt": None if option is None else 812,
                    "response": None if option is None else answers[option],
                    "ss_amount": f"${sooner:g}",
                    "ll_amount": f"${later:g}",
                    "ll_delay": f"{days} days",
                }
            )
        for k, row in enumerate(own):
            row |= {
                "trial_index": k,
                "time_elapsed": 900 * k,
                "PROLIFIC_PID": person.name,
                "group": person.group,
            }
        rows += own
    return rows


def psychopy_play(people, *, keys=("left", "right"), lists=False, blocks=False):
    """Rows of PsychoPy's CSV: loops of practice and of trials, 'None' for keys not pressed."""
    rows = []
    for number, person in enumerate(people):
        info = {
            "participant": person.name,
            "session": "001",
            "group": person.group,
            "date": "2026-05-19_16h20.01.792",
            "expName": "bandit",
            "psychopyVersion": "2024.1.5",
            "frameRate": 60.01,
        }
        rows.append({"instr.started": 3.1, "key_begin.keys": "space", "key_begin.rt": 2.2} | info)
        for t in range(2):
            rows.append(
                {
                    "practice.thisRepN": 0,
                    "practice.thisTrialN": t,
                    "practice.thisN": t,
                    "practice.thisIndex": t,
                    "key_resp.keys": keys[t % 2],
                    "reward": 1,
                }
                | info
            )
        half = len(person.chosen) // 2
        for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True)):
            pressed = "None" if option is None else keys[option]
            row = {
                "trials.thisRepN": 0,
                "trials.thisTrialN": t,
                "trials.thisN": t,
                "trials.thisIndex": t,
                "key_resp.keys": f"['{pressed}']" if lists else pressed,
                "key_resp.corr": 1,
                "key_resp.rt": None if option is None else 0.45,
                "reward": reward,
            }
            if blocks:
                row |= {"blocks.thisN": t // half, "trials.thisN": t % half}
            rows.append(row | info)
        if number % 2:
            rows.append({"thanks.started": 99.5} | info)
    return rows


def gorilla_offers(people, *, practice=True):
    """Rows of Gorilla's CSV: every event of every screen, £ and days, marks at both ends."""
    rows = []
    for k, person in enumerate(people):
        own = {
            "UTC Timestamp": 1700000000000,
            "Participant Public ID": "BLIND",
            "Participant Private ID": 9000001 + k,
            "Participant Status": "complete",
            "Task Name": "Money now or later",
            "group": person.group,
        }
        events = [
            {"Trial Number": "BEGIN TASK"},
            {
                "Trial Number": 1,
                "display": "instructions",
                "Screen Name": "Screen 1",
                "Zone Type": "content_text",
                "Response": "",
                "Reaction Time": 4000.1,
            },
            {
                "Trial Number": 1,
                "display": "instructions",
                "Screen Name": "Screen 1",
                "Zone Type": "continue_button",
                "Reaction Time": 4100.2,
            },
        ]
        if practice:
            events.append(
                {
                    "Trial Number": 2,
                    "display": "practice",
                    "Screen Name": "Choice",
                    "Zone Type": "response_button_text",
                    "Response": "Now",
                    "Attempt": 1,
                    "amount now": "£1",
                    "amount later": "£2",
                    "delay": "7 days",
                }
            )
        for t, (option, offer) in enumerate(zip(person.chosen, person.offers, strict=True)):
            shown = {
                "amount now": f"£{offer[0]:.2f}",
                "amount later": f"£{offer[1]:g}",
                "delay": f"{offer[2]} days",
                "Trial Number": t + 3,
                "display": "trial",
            }
            events.append(
                shown | {"Screen Name": "Fixation", "Zone Type": "fixation", "Reaction Time": 500.0}
            )
            events.append(
                shown
                | {
                    "Screen Name": "Choice",
                    "Zone Type": "response_button_text",
                    "Response": None if option is None else ("Now", "Later")[option],
                    "Attempt": 1,
                    "Timed Out": 1 if option is None else None,
                    "Reaction Time": 900.5,
                }
            )
        events.append({"Trial Number": "END TASK"})
        rows += [{"Event Index": e + 1} | own | event for e, event in enumerate(events)]
    return [*rows, {"Event Index": "END OF FILE"}]


def survey(people, name="{option}_{attribute}", *, words=("A", "B", "neither"), units=True):
    """Rows of a survey, one per decision: price, time and brand of A and of B."""
    rows = []
    for person in people:
        for t, (taken, pair) in enumerate(zip(person.chosen, person.offers, strict=True)):
            row = {"respondent": person.name, "group": person.group, "question": t + 1}
            for option, (price, minutes, brand) in zip("AB", pair, strict=True):
                cells = {"price": f"€{price}" if units else price, "time": minutes, "brand": brand}
                row |= {name.format(option=option, attribute=a): c for a, c in cells.items()}
            rows.append(row | {"choice": words[taken]})
    return [{"subject" if k == "respondent" else k: v for k, v in row.items()} for row in rows]


def qualtrics(people, *, words=("Option A", "Option B", "Neither")):
    """Rows of Qualtrics, one per respondent: titles, ids, a preview, numbered questions."""
    rows = []
    for k, person in enumerate(people):
        row = {
            "StartDate": "2026-05-01 10:00:00",
            "EndDate": "2026-05-01 10:09:00",
            "Status": "IP Address",
            "Finished": "True",
            "RecordedDate": "2026-05-01 10:09:01",
            "ResponseId": f"R_{k:04d}",
            "DistributionChannel": "anonymous",
            "Group": person.group,
        }
        for t, (taken, pair) in enumerate(zip(person.chosen, person.offers, strict=True)):
            for option, (price, minutes, brand) in zip("AB", pair, strict=True):
                row |= {
                    f"T{t + 1}_{option}_price": price,
                    f"T{t + 1}_{option}_time": minutes,
                    f"T{t + 1}_{option}_brand": brand,
                }
            row[f"T{t + 1}_choice"] = words[taken]
        rows.append(row)
    names = list(rows[0])
    titles = {name: f"What about {name}?" for name in names}
    ids = {name: json.dumps({"ImportId": name.lower()}) for name in names}
    preview = {**rows[0], "Status": "Survey Preview", "ResponseId": "R_preview"}
    return [titles, ids, preview, *rows]


def lists_over_options(people):
    """Rows with lists in cells: what either option pays, and after how many days."""
    return [
        {
            "subject": person.name,
            "group": person.group,
            "trial": t + 1,
            "amounts": f"[{sooner:g}, {later:g}]",
            "delays": f"[0, {days}]",
            "choice": "" if option is None else option,
        }
        for person in people
        for t, (option, (sooner, later, days)) in enumerate(
            zip(person.chosen, person.offers, strict=True)
        )
    ]


def lists_over_decisions(people):
    """One row per person, with lists of all choices and rewards."""
    return [
        {
            "participant_id": person.name,
            "group": person.group,
            "choices": json.dumps(person.chosen),
            "rewards": json.dumps(person.rewards),
        }
        for person in people
    ]


def psych_ds(folder, people):
    """A folder of Psych-DS with a file per person, named by keywords."""
    data = folder / "data"
    data.mkdir(parents=True)
    (folder / "dataset_description.json").write_text('{"@type": "Dataset", "name": "bandit"}')
    for person in people:
        rows = [
            {"trial": t + 1, "choice": option, "reward": reward, "rt": 0.5}
            for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True))
        ]
        name = f"subject-{person.name}_group-{person.group}_task-bandit_data.csv"
        (data / name).write_text(as_csv(rows))
    return folder
