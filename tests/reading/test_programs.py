"""Files of programs and laboratories, with their mess: rows, people and groups are found."""

import json

import numpy as np
import pytest

import penchant as pn
from laboratory_files import (
    as_csv,
    gorilla_offers,
    jspsych_offers,
    jspsych_play,
    lists_over_decisions,
    lists_over_options,
    players,
    psych_ds,
    psychopy_play,
    qualtrics,
    savers,
    shoppers,
)

PLAYERS, SAVERS, SHOPPERS = players(), savers(), shoppers()
GROUPS = {person.name: person.group for person in PLAYERS}


def assert_played(reading, people=PLAYERS):
    """What was read is what these people did, decision by decision."""
    assert reading.kind == "play"
    found = {}
    for episode in reading.data:
        found.setdefault(episode.subject, []).append(episode)
    assert len(found) == len(people)
    for person, episodes in zip(people, found.values(), strict=True):
        chosen = np.concatenate([e.chosen for e in episodes]).tolist()
        rewards = np.concatenate([e.rewards for e in episodes])
        assert chosen == [-1 if option is None else option for option in person.chosen]
        assert [None if np.isnan(r) else r for r in rewards] == person.rewards


def assert_offered(reading, people=SAVERS):
    """What was read is what these people were offered, and took."""
    assert reading.kind == "offers"
    for person, trials in zip(people, reading.data, strict=True):
        taken = [-1 if option is None else option for option in person.chosen]
        assert trials.chosen.tolist() == taken
        sooner, later, days = np.array(person.offers).T
        np.testing.assert_array_equal(trials.offers["amount"], np.column_stack([sooner, later]))
        np.testing.assert_array_equal(trials.offers["delay"], np.column_stack([0 * days, days]))


def flat(people_rows):
    return [row for rows in people_rows for row in rows]


def cells(rows):
    """Rows as jsPsych writes them into CSV: lists and objects as JSON."""
    return [
        {k: json.dumps(v) if isinstance(v, (list, dict, bool)) else v for k, v in row.items()}
        for row in rows
    ]


def roles(path, schema=None):
    """What is asked about."""
    with pytest.raises(pn.errors.SchemaQuestions) as raised:
        pn.read(path, schema)
    return [question.role for question in raised.value.questions]


def saved(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


TEST = "phase == 'test'"


@pytest.mark.parametrize("keys", [("f", "j"), ("ArrowLeft", "ArrowRight"), (0, 1), ("0", "1")])
def test_jspsych_is_read_without_instructions_fixations_and_surveys(file, keys):
    path = file(json.dumps(jspsych_play(PLAYERS, keys=keys)), "data.json")
    assert "rows.keep" in roles(path)  # some rows are practice
    reading = pn.read(path, keep=TEST)
    assert_played(reading)
    assert (reading.program, reading.n_missed) == ("jsPsych", len(PLAYERS))
    assert list(reading.options) == [str(key) for key in keys]
    assert pn.read(path, keep="").n_decisions == reading.n_decisions + 3 * len(PLAYERS)


@pytest.mark.parametrize("missing", ["", "null", "NA"])
def test_jspsych_csv_is_read_with_a_mark_at_its_beginning(file, missing):
    rows = cells(flat(jspsych_play(PLAYERS)))
    path = file(as_csv(rows, bom=True, missing=missing, end="\r\n"))
    assert_played(pn.read(path, keep=TEST, missed=[missing]))


def test_one_record_on_each_line_is_a_person(file):
    people = jspsych_play(PLAYERS)
    for row in flat(people):
        del row["subject_id"]
    lines = "\n".join(json.dumps(rows) for rows in people)
    reading = pn.read(file(lines, "jatos.txt"), keep=TEST)
    assert_played(reading)
    assert reading.columns["subject"] == "source record"


def test_rewards_of_feedback_screens_belong_to_the_choice_before(file):
    rows = []
    for person in PLAYERS:
        own = []
        for option, reward in zip(person.chosen, person.rewards, strict=True):
            own.append({"trial_type": "button", "screen": "choice", "response": option})
            own.append({"trial_type": "key", "screen": "shown", "points": reward})
        ids = {"subject": person.name}
        rows += [r | ids | {"trial_index": k, "time_elapsed": k} for k, r in enumerate(own)]
    reading = pn.read(file(as_csv(rows)))
    assert_played(reading)
    assert "points taken from the row after each choice" in reading.notes


@pytest.mark.parametrize("answers", [("sooner", "later"), (0, 1), (1, 2), ("SS", "LL")])
def test_words_and_numbers_of_sooner_and_later_are_known(file, answers):
    reading = pn.read(file(as_csv(jspsych_offers(SAVERS, answers=answers))))
    assert_offered(reading)
    assert list(reading.options) == [str(answer) for answer in answers]


def test_keys_of_sooner_and_later_are_asked_about(file):
    path = file(as_csv(jspsych_offers(SAVERS, answers=("f", "j"))))
    assert "choice.labels" in roles(path)
    assert_offered(pn.read(path, labels=["f", "j"]))


@pytest.mark.parametrize("how", [{}, {"keys": ("1", "2")}, {"lists": True}, {"blocks": True}])
def test_psychopy_is_read_by_its_loops(file, how):
    reading = pn.read(file(as_csv(psychopy_play(PLAYERS, **how), bom=True)))
    assert_played(reading)
    assert reading.program == "PsychoPy"
    assert reading.columns["chosen"] == "key_resp.keys"
    assert list(reading.options) == [*how.get("keys", ("left", "right"))]
    assert len(reading.data) == len(PLAYERS) * (2 if "blocks" in how else 1)
    assert reading.excluded["loops of practice"] == 12


def test_two_columns_of_keys_are_asked_about(file):
    rows = [row | {"key_sure.keys": row.get("key_resp.keys")} for row in psychopy_play(PLAYERS)]
    path = file(as_csv(rows))
    assert "columns.choice" in roles(path)
    assert_played(pn.read(path, choice="key_sure.keys", kind="episodes", missed=["None"]))


def test_a_folder_of_psychopy_files_is_one_table(tmp_path):
    for person in PLAYERS:
        rows = psychopy_play([person])
        (tmp_path / f"{person.name}_bandit_2026-05-19.csv").write_text(as_csv(rows))
    assert_played(pn.read(tmp_path))


def test_gorilla_is_read_without_its_many_other_rows(file):
    text = as_csv(gorilla_offers(SAVERS)[:-1], bom=True) + "END OF FILE\n"
    path = file(text)
    assert roles(path)[0] == "rows.keep"  # a display is called practice
    reading = pn.read(path, keep="display == 'trial'")
    assert_offered(reading)
    assert (reading.program, list(reading.options)) == ("Gorilla", ["Now", "Later"])
    assert reading.columns["subject"] == "Participant Private ID"
    data = pn.read_study(reading, conditions=["group"])
    assert not data.is_play
    assert sorted(data.condition(s) for s in data.subjects) == ["old"] * 3 + ["young"] * 3


def test_delays_in_weeks_and_days_are_days(file):
    text = as_csv(jspsych_offers(SAVERS)).replace("14 days", "2 weeks").replace("7 days", "1 week")
    assert_offered(pn.read(file(text)))


def test_a_month_has_to_be_said_in_days(file):
    path = file(as_csv(jspsych_offers(SAVERS)).replace("30 days", "1 month"))
    with pytest.raises(pn.DataError, match="Say how many days a month is"):
        pn.read(path)
    assert_offered(pn.read(path, units={"month": 30}))


def test_a_cell_that_is_no_amount_is_named_by_its_line(file):
    rows = jspsych_offers(SAVERS)
    row = next(k for k, r in enumerate(rows) if "ll_delay" in r and k > 40)
    rows[row]["ll_delay"] = "a while"
    with pytest.raises(
        pn.DataError, match=f"ll_delay must hold numbers; got 'a while' at line {row + 2}"
    ):
        pn.read(file(as_csv(rows)))


def test_lists_over_options_and_over_decisions_are_read(file):
    assert_offered(pn.read(file(as_csv(lists_over_options(SAVERS)))))
    assert_played(pn.read(file(as_csv(lists_over_decisions(PLAYERS)))))


def test_qualtrics_is_read_without_titles_and_previews(file):
    reading = pn.read(file(as_csv(qualtrics(SHOPPERS))))
    assert (reading.program, reading.columns["subject"]) == ("Qualtrics", "ResponseId")
    assert reading.n_decisions == sum(len(person.chosen) for person in SHOPPERS)
    labels = np.array(reading.data.option_labels)[reading.data.option[reading.data.chosen_row]]
    taken = [("A", "B", "Neither")[k] for person in SHOPPERS for k in person.chosen]
    assert labels.tolist() == taken


def test_a_folder_of_psych_ds_is_read_with_the_groups_in_its_names(tmp_path):
    reading = pn.read(psych_ds(tmp_path / "study", PLAYERS))
    assert_played(reading)
    assert reading.groups("group") == GROUPS
    data = pn.read_study(reading, conditions=["group"])
    assert {s: data.condition(s) for s in data.subjects} == GROUPS


def test_columns_of_otree_are_those_of_its_players(tmp_path):
    long, wide = [], []
    for person in PLAYERS:
        config = {"participant.code": person.name, "session.config.treatment": person.group}
        row = config | {"participant._is_bot": 0}
        pairs = zip(person.chosen, person.rewards, strict=True)
        for t, (option, reward) in enumerate(pairs, start=1):
            answer = {"choice": option, "payoff": reward}
            row |= {f"bandit.{t}.player.{name}": cell for name, cell in answer.items()}
            row[f"bandit.{t}.group.id_in_subsession"] = 1
            own = {f"player.{name}": cell for name, cell in answer.items()}
            long.append(config | own | {"subsession.round_number": t})
        wide.append(row)
    for name, rows in (("app.csv", long), ("wide.csv", wide)):
        reading = pn.read(saved(tmp_path, name, as_csv(rows)))
        assert reading.columns["subject"] == "participant.code"
        assert_played(reading)


def test_the_arm_of_a_study_is_no_choice(file):
    rows = []
    for person in PLAYERS:
        own = [{"trial_type": "fullscreen"}]
        for option, reward in zip(person.chosen, person.rewards, strict=True):
            key = None if option is None else (37, 39)[option]
            own.append({"trial_type": "key", "key_press": key, "outcome": reward})
        whose = {"participant_id": person.name, "arm": person.group}
        own = [{"trial_index": k, "time_elapsed": 9 * k} | r | whose for k, r in enumerate(own)]
        rows += own
    path = file(as_csv(rows, end="\r\n"))
    assert "columns.choice" in roles(path)
    schema = {"kind": "episodes", "columns": {"choice": "key_press", "reward": "outcome"}}
    reading = pn.read(path, schema | {"choice": {"labels": [37, 39]}})
    assert_played(reading)


# --- folders -------------------------------------------------------------------------------------


def play_rows(person, missing=None):
    pairs = zip(person.chosen, person.rewards, strict=True)
    return [
        {
            "trial": t + 1,
            "choice": missing if c is None else c,
            "reward": missing if r is None else r,
        }
        for t, (c, r) in enumerate(pairs)
    ]


def test_a_folder_of_bids_has_sidecars_and_participants(tmp_path):
    saved(tmp_path, "dataset_description.json", '{"Name": "x", "BIDSVersion": "1.8.0"}')
    people = "".join(f"sub-0{k}\t{person.group}\n" for k, person in enumerate(PLAYERS))
    saved(tmp_path, "participants.tsv", f"participant_id\tgroup\n{people}")
    for k, person in enumerate(PLAYERS):
        stem = f"sub-0{k}/beh/sub-0{k}_task-bandit_beh"
        saved(tmp_path, f"{stem}.tsv", as_csv(play_rows(person, "n/a"), delimiter="\t"))
        saved(tmp_path, f"{stem}.json", '{"choice": {"Description": "arm"}}')
    reading = pn.read(tmp_path)
    assert_played(reading)
    assert [*reading.groups("group").values()] == [person.group for person in PLAYERS]


def test_participants_are_known_however_their_names_are_written_and_others_are_said(tmp_path):
    people = "".join(f"{person.name.upper()},{k % 2}\n" for k, person in enumerate(PLAYERS[:3]))
    saved(tmp_path, "participants.csv", f"subject,grp\n{people}")
    saved(tmp_path, "codebook.csv", "variable,meaning\nchoice,which deck\n")
    saved(tmp_path, "empty.csv", "")
    for person in PLAYERS[:4]:
        rows = [{"subject": person.name} | row for row in play_rows(person)]
        saved(tmp_path, f"{person.name}.csv", as_csv(rows))
    reading = pn.read(tmp_path)
    assert "participants.csv: says nothing of p04" in reading.notes
    assert any("no choices are in it: codebook.csv" in note for note in reading.notes)
    assert any("nothing is in it: empty.csv" in note for note in reading.notes)
    assert reading.table["grp"].to_pylist()[::24] == [0, 1, 0, None]


def test_files_of_one_name_in_two_folders_are_two_people(tmp_path):
    for person in PLAYERS[:4]:
        saved(tmp_path, f"{person.group}/{person.name[-1] in '12'}.csv", as_csv(play_rows(person)))
    assert "columns.subject" in roles(tmp_path)
    reading = pn.read(tmp_path, subject=["source folder", "file:stem"])
    assert len(reading.data) == 4
    assert sorted(reading.groups("source folder").values()) == ["old", "old", "young", "young"]


def test_a_sheet_with_empty_rows_and_columns_around_it_is_read(file):
    rows = [{"subject": p.name} | row for p in PLAYERS for row in play_rows(p)]
    lines = as_csv(rows, bom=True, end="\r\n").splitlines()
    text = "\r\n".join([*(line + "," for line in lines), "," * (lines[0].count(",") + 1), ""])
    reading = pn.read(file(text))
    assert_played(reading)
    assert reading.excluded == {"nothing is in it": 1}


def test_a_title_above_the_names_is_said_with_the_line(file):
    body = as_csv([{"subject": "a"} | row for row in play_rows(PLAYERS[0])])
    match = r"got a title, 'Experiment 2', and what look like names on line 4 \(subject, trial"
    with pytest.raises(pn.DataError, match=match):
        pn.read(file("Experiment 2,,,\nExported 2024-03-01,,,\n,,,\n" + body))
