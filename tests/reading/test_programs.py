"""Files of jsPsych, PsychoPy, Gorilla, Qualtrics and Psych-DS, with their mess, read as is."""

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


@pytest.mark.parametrize("keys", [("f", "j"), ("ArrowLeft", "ArrowRight"), (0, 1), ("0", "1")])
def test_jspsych_json_is_read_without_instructions_fixations_practice_and_surveys(file, keys):
    reading = pn.read(file(json.dumps(jspsych_play(PLAYERS, keys=keys)), "data.json"))
    assert_played(reading)
    assert reading.program == "jsPsych"
    assert reading.columns["chosen"] == "response"
    assert reading.options == {str(keys[0]): "0", str(keys[1]): "1"}
    assert "practice (phase is 'practice')" in reading.summary()
    assert reading.n_missed == len(PLAYERS)


@pytest.mark.parametrize("missing", ["", "null", "NA"])
def test_jspsych_csv_is_read_with_a_mark_at_its_beginning(file, missing):
    rows = cells(flat(jspsych_play(PLAYERS)))
    assert_played(pn.read(file(as_csv(rows, bom=True, missing=missing, end="\r\n"))))


def test_jspsych_with_one_record_on_each_line_needs_no_subject(file):
    people = jspsych_play(PLAYERS)
    for row in flat(people):
        del row["subject_id"]
    lines = "\n".join(json.dumps(rows) for rows in people)
    reading = pn.read(file(lines, "jatos.txt"))
    assert_played(reading)
    assert reading.columns["subject"] == "source record"


def test_rewards_of_feedback_screens_belong_to_the_choice_before(file):
    rows = []
    for person in PLAYERS:
        own = []
        for option, reward in zip(person.chosen, person.rewards, strict=True):
            own.append(
                {"trial_type": "html-button-response", "screen": "choice", "response": option}
            )
            own.append(
                {"trial_type": "html-keyboard-response", "screen": "shown", "points": reward}
            )
        ids = {"subject": person.name}
        rows += [r | ids | {"trial_index": k, "time_elapsed": k} for k, r in enumerate(own)]
    reading = pn.read(file(as_csv(rows)))
    assert_played(reading)
    assert "points taken from the row after each choice" in reading.notes


def test_practice_is_kept_where_a_condition_speaks_of_its_column(file):
    path = file(json.dumps(jspsych_play(PLAYERS)), "data.json")
    both = pn.read(path, where="phase in ['practice', 'test']")
    assert both.n_decisions == pn.read(path).n_decisions + 3 * len(PLAYERS)
    assert_played(pn.read(path, where="phase == 'test'"))


def test_amounts_in_dollars_and_delays_in_days_are_numbers(file):
    reading = pn.read(file(as_csv(jspsych_offers(SAVERS))))
    assert_offered(reading)
    assert reading.options == {"sooner": "0 (sooner)", "later": "1 (later)"}
    assert {"amount is in $", "delay is in days"} <= {*reading.notes}


def test_keys_for_sooner_and_later_are_asked_with_both_readings(file):
    path = file(as_csv(jspsych_offers(SAVERS, answers=("f", "j"))))
    with pytest.raises(
        pn.errors.DataError, match=r"'f', 'j' in response .* options=\['f', 'j'\] if 'f' is"
    ):
        pn.read(path)
    assert_offered(pn.read(path, options=["f", "j"]))
    assert_offered(pn.read(path, options={"f": 0, "j": 1}))


@pytest.mark.parametrize("answers", [(0, 1), (1, 2), ("SS", "LL")])
def test_numbers_and_usual_words_for_sooner_and_later_are_understood(file, answers):
    assert_offered(pn.read(file(as_csv(jspsych_offers(SAVERS, answers=answers)))))


@pytest.mark.parametrize("how", [{}, {"keys": ("1", "2")}, {"lists": True}, {"blocks": True}])
def test_psychopy_is_read_by_its_loops(file, how):
    reading = pn.read(file(as_csv(psychopy_play(PLAYERS, **how), bom=True)))
    assert_played(reading)
    assert reading.program == "PsychoPy"
    assert reading.columns["chosen"] == "key_resp.keys"
    keys = how.get("keys", ("left", "right"))
    assert reading.options == {keys[0]: "0", keys[1]: "1"}
    assert len(reading.data) == len(PLAYERS) * (2 if "blocks" in how else 1)


def test_two_columns_of_keys_are_asked(file):
    rows = [row | {"key_sure.keys": row.get("key_resp.keys")} for row in psychopy_play(PLAYERS)]
    path = file(as_csv(rows))
    with pytest.raises(
        pn.errors.DataError, match=r"chosen must be given.*key_sure.keys \(138 rows\), key_r"
    ):
        pn.read(path)
    assert_played(pn.read(path, chosen="key_sure.keys"))


def test_a_folder_of_psychopy_files_is_one_table(tmp_path):
    for person in PLAYERS:
        rows = psychopy_play([person])
        (tmp_path / f"{person.name}_bandit_2026-05-19.csv").write_text(as_csv(rows))
    assert_played(pn.read(tmp_path))


def test_gorilla_is_read_without_its_many_other_rows(file):
    reading = pn.read(file(as_csv(gorilla_offers(SAVERS), bom=True)))
    assert_offered(reading)
    assert reading.program == "Gorilla"
    assert reading.columns["subject"] == "Participant Private ID"
    assert reading.options == {"Now": "0 (sooner)", "Later": "1 (later)"}


def test_gorilla_may_end_in_a_short_line(file):
    text = as_csv(gorilla_offers(SAVERS)[:-1]) + "END OF FILE\n"
    assert_offered(pn.read(file(text)))


def test_an_answer_that_repeats_an_amount_is_the_option_that_offers_it(file):
    rows = gorilla_offers(SAVERS)
    for row in rows:
        if row.get("Response"):
            row["Response"] = row["amount now" if row["Response"] == "Now" else "amount later"]
    assert_offered(pn.read(file(as_csv(rows))))


def test_delays_in_weeks_and_days_are_days(file):
    text = as_csv(jspsych_offers(SAVERS)).replace("14 days", "2 weeks").replace("7 days", "1 week")
    assert_offered(pn.read(file(text)))


def test_a_month_has_to_be_said_in_days(file):
    path = file(as_csv(jspsych_offers(SAVERS)).replace("30 days", "1 month"))
    with pytest.raises(pn.errors.DataError, match="Say how many days a month is"):
        pn.read(path)
    assert_offered(pn.read(path, units={"month": 30}))


def test_a_cell_that_is_no_amount_is_named_by_its_line(file):
    rows = jspsych_offers(SAVERS)
    row = next(k for k, r in enumerate(rows) if "ll_delay" in r and k > 40)
    rows[row]["ll_delay"] = "a while"
    with pytest.raises(
        pn.errors.DataError, match=f"ll_delay must hold numbers.*'a while' at line {row + 2}"
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
    assert reading.groups("group") == {person.name: person.group for person in PLAYERS}


def test_a_group_that_is_called_practice_is_kept(file):
    rows = [row | {"group": "practice" if k % 2 else "rest"} for k, row in _rows(PLAYERS)]
    reading = pn.read(file(as_csv(rows)))
    assert_played(reading)
    assert reading.groups("group")["p02"] == "practice"


def _rows(people):
    for k, person in enumerate(people):
        for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True)):
            yield k, {"subject": person.name, "trial": t + 1, "choice": option, "reward": reward}


def test_labels_that_change_their_places_are_asked(file):
    rows = []
    for k, (_, row) in enumerate(_rows(PLAYERS)):
        labels = ["blue", "red"] if k % 2 else ["red", "blue"]
        row["response"] = row.pop("choice")
        rows.append(row | {"choices": json.dumps(labels)})
    path = file(as_csv(rows))
    with pytest.raises(
        pn.errors.DataError, match=r"place or the label. Pass chosen='response', or chosen="
    ):
        pn.read(path)
    assert_played(pn.read(path, chosen="response"))
    labelled = pn.read(path, chosen="choices[response]")
    assert labelled.options == {"blue": "0", "red": "1"}
    first = [json.loads(row["choices"])[row["response"]] for row in rows[:5]]
    assert labelled.data[0].chosen[:5].tolist() == [("blue", "red").index(one) for one in first]


@pytest.mark.parametrize("names", [("option_left", "option_right"), ("left", "right"), ("A", "B")])
def test_offers_in_words_are_amounts_and_delays(file, names):
    rows = []
    for person in SAVERS:
        for option, (sooner, later, days) in zip(person.chosen, person.offers, strict=True):
            cells = {names[0]: f"£{sooner:g} today", names[1]: f"£{later:g} in {days} days"}
            answer = None if option is None else cells[names[option]]
            rows.append({"subject": person.name, **cells, "Response": answer})
    assert_offered(pn.read(file(as_csv(rows))))


def test_feedback_in_rows_of_its_own_is_paid_for_the_choice_above_in_any_file(tmp_path):
    lines = ["id,kind,pressed_key,won"]
    rng = np.random.default_rng(3)
    chosen, won = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    for k, r in zip(chosen.tolist(), won.tolist(), strict=True):
        lines += [f"p1,choice,{k},", f"p1,feedback,,{r}"]
    file = tmp_path / "plain.csv"
    file.write_text("\n".join(lines))
    (episode,) = pn.read(file).data
    np.testing.assert_array_equal(episode.chosen, chosen)
    np.testing.assert_array_equal(episode.rewards, won)


def test_a_total_with_a_point_in_its_name_is_not_what_was_paid(tmp_path):
    lines = ["subj,deck picked,zz,cum. pts"]
    paid = [10, -5, 10, 10, -5, -5, 10, -5] * 5
    totals = np.cumsum(paid).tolist()
    for t, (r, total) in enumerate(zip(paid, totals, strict=True)):
        lines.append(f"p1,{'AB'[t * 7 % 3 % 2]},{r},{total}")
    file = tmp_path / "totals.csv"
    file.write_text("\n".join(lines))
    with pytest.raises(pn.DataError, match=r"diff\(cum\. pts\)"):
        pn.read(file)
