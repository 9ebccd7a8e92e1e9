"""Further files as programs write them, each with its own mess, read without a word of help."""

import json

import pytest

import penchant as pn
from laboratory_files import as_csv, players, savers, shoppers

PLAYERS = players(4, 12, missed=False)
SAVERS = savers(4, 12, missed=False)
SHOPPERS = shoppers(4, 8)


def plays(person):
    return list(enumerate(zip(person.chosen, person.rewards, strict=True)))


def offers(person):
    return list(zip(person.chosen, person.offers, strict=True))


def psychopy_with_breaks():
    """Loops in loops, a break inside the outer one, rows of nothing, a column without a name."""
    rows = []
    for person in PLAYERS:
        info = {"participant": person.name, "group": person.group, "psychopyVersion": "2025.1.1"}
        rows += [{"instruct.started": 0.4, "key_instr.keys": "space"} | info, dict(info)]
        for t, (option, reward) in plays(person):
            rows.append(
                {
                    "trials.thisRepN": 0,
                    "trials.thisN": t % 6,
                    "blocks.thisRepN": t // 6,
                    "blocks.thisN": t // 6,
                    "cue.stopped": "None",
                    "resp.keys": "fj"[option],
                    "resp.duration": "None",
                    "outcome": reward,
                    "": "",
                }
                | info
            )
            if t == 5:
                rows.append({"blocks.thisN": 0, "break_text.started": 44.1} | info)
        rows.append({})
    return as_csv(rows, bom=True)


def gorilla_task_builder_2():
    """Columns of the spreadsheet with a prefix; rows that say that a screen was left."""
    rows = []
    for k, person in enumerate(SAVERS):
        own = {
            "UTC Timestamp": 1700000000000,
            "Tree Node Key": "task-abcd",
            "Participant Private ID": 7000 + k,
            "branch-9x2k": person.group,
        }
        rows.append(own | {"Response Type": "info", "Response": "BEGIN"})
        for t, (option, (sooner, later, days)) in enumerate(offers(person)):
            sheet = {
                "Spreadsheet: ss_amount": f"£{sooner:,.2f}",
                "Spreadsheet: ll_amount": f"£{later:,.2f}",
                "Spreadsheet: ll_delay": f"{days} days",
                "Spreadsheet: display": "Trials",
                "Display": "Trials",
                "Trial Number": t + 1,
            }
            answer = {"Response Type": "response", "Response": ("Sooner", "Later")[option]}
            rows.append(own | sheet | answer)
            rows.append(own | sheet | {"Response Type": "action", "Response": "ADVANCE"})
        rows.append(own | {"Response Type": "info", "Response": "END"})
    rows = [{"Event Index": e + 1} | row for e, row in enumerate(rows)]
    return as_csv([*rows, {"Event Index": "END OF FILE"}], bom=True)


def lists_of_offers():
    """A row per person, lists over decisions; arm is the group, no option of a bandit."""
    rows = []
    for person in SAVERS:
        rows.append(
            {
                "PROLIFIC_PID": person.name,
                "arm": person.group,
                "ss": json.dumps([offer[0] for offer in person.offers]),
                "ll": json.dumps([offer[1] for offer in person.offers]),
                "delay": json.dumps([offer[2] for offer in person.offers]),
                "chose_later": json.dumps([bool(option) for option in person.chosen]),
            }
        )
    return as_csv(rows)


def lab_js():
    """A welcome before anybody's id is known, fixations, feedback that repeats the points."""
    rows = []
    for person in PLAYERS:
        own = {"pid": person.name, "cond": person.group}
        rows.append(
            {
                "sender": "Welcome",
                "sender_type": "html.Screen",
                "meta": '{"labjs_version": "20.2.4"}',
                "url": '{"pid": "x"}',
                "response": "continue",
            }
        )
        for _, (option, reward) in plays(person):
            rows.append({"sender": "Fixation", "sender_type": "canvas.Screen"} | own)
            answer = {"response": ("left", "right")[option], "points": reward}
            rows.append({"sender": "Choice", "sender_type": "html.Screen"} | answer | own)
            shown = {"sender": "Feedback", "sender_type": "html.Screen", "points": reward}
            rows.append(shown | own)
        rows.append({"sender": "Sequence", "sender_type": "flow.Loop"} | own)
    return as_csv(rows)


FILES = {
    "psychopy.csv": (psychopy_with_breaks, "play", 48),
    "gorilla.csv": (gorilla_task_builder_2, "offers", 48),
    "lists.csv": (lists_of_offers, "offers", 48),
    "labjs.csv": (lab_js, "play", 48),
}


@pytest.mark.parametrize("name", FILES)
def test_the_decisions_of_a_file_are_found_with_their_groups(tmp_path, name):
    text, kind, n = FILES[name]
    (tmp_path / name).write_text(text(), encoding="utf-8")
    reading = pn.read(tmp_path / name)
    assert (reading.kind, reading.n_decisions, len(reading.subjects)) == (kind, n, 4)
    people = PLAYERS if kind == "play" else SAVERS
    (column,) = reading.group_columns
    assert sorted(reading.groups(column).values()) == sorted(one.group for one in people)
    first = [one for one in reading.data if one.subject == reading.subjects[0]]
    found = [option for one in first for option in one.chosen.tolist()]
    assert found == people[0].chosen


def pavlovia(folder):
    """A file for everybody, lists of one click, and one of somebody who left at once."""
    folder.mkdir()
    for k, person in enumerate(PLAYERS):
        rows = [{"participant": person.name, "cond": person.group, "mouse_ok.time": "[2.3]"}]
        for t, (option, reward) in plays(person):
            rows.append(
                {
                    "participant": person.name,
                    "cond": person.group,
                    "psychopyVersion": "2023.2.3",
                    "trials.thisN": t,
                    "trials.thisRepN": 0,
                    "mouse.clicked_name": json.dumps([("deckA", "deckB")[option]]),
                    "points": reward,
                }
            )
        (folder / f"{person.name}_bandit_2026-03-0{k + 1}_10h00.00.csv").write_text(as_csv(rows))
    (folder / "PARTICIPANT_bandit_2026-03-01_09h00.00.csv").write_text("")
    return folder


def test_a_file_with_nothing_in_it_is_left_out_of_a_folder_and_named(tmp_path):
    reading = pn.read(pavlovia(tmp_path / "pavlovia"))
    assert reading.n_decisions == 48
    assert "1 file left out, as nothing is in it: PARTICIPANT_bandit_2026" in reading.notes[0]


def german(choices):
    """Semicolons, decimal commas, numbers behind a point, 0 for none of them."""
    rows = []
    for person in SHOPPERS:
        for t, (taken, pair) in enumerate(zip(person.chosen, person.offers, strict=True)):
            row = {"Teilnehmer": person.name, "Gruppe": person.group, "Aufgabe": t + 1}
            for i, (price, minutes, brand) in enumerate(pair, start=1):
                row |= {f"Preis.{i}": f"{price},50", f"Minuten.{i}": minutes, f"Siegel.{i}": brand}
            rows.append(row | {"choice": choices[taken]})
    return as_csv(rows, delimiter=";")


def test_what_a_survey_means_is_asked_and_then_done(tmp_path, monkeypatch):
    file = tmp_path / "survey.csv"
    file.write_text(german((1, 2, 0)))
    with pytest.raises(
        pn.errors.DataError, match=r"opt_out must be given, as choice holds .* Pass opt_"
    ):
        pn.read(file, kind="choices")
    with pytest.raises(
        pn.errors.DataError, match=r"'\d,50' at line 2. It looks like decimal comma; pass"
    ):
        pn.read(file, opt_out="0")
    reading = pn.read(file, opt_out="0", decimal=",")
    assert reading.data.names == ("Preis", "Minuten", "Siegel:Zen", "constant:0")
    assert reading.columns["subject"] == "Teilnehmer" and reading.group_columns == ("Gruppe",)
    assert {0.5 + price for price in range(9)} >= set(reading.data.explanatory[:, 0].tolist()) - {0}
