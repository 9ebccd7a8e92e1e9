"""Files with other names, plugins, words and folders than usual, read as they are meant."""

import json

import pytest

import penchant as pn
from laboratory_files import as_csv, players, savers, shoppers
from penchant.cli.wording import error_words
from penchant.errors import DataError

PLAYERS = players(4, 12)
SAVERS = savers(4, 12)
SHOPPERS = shoppers(4, 8)


def saved(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def with_own(rows, **own):
    return [{"trial_index": k, "time_elapsed": 10 * k} | row | own for k, row in enumerate(rows)]


def chosen_by(reading):
    found = {}
    for one in reading.data:
        found.setdefault(str(one.subject), []).extend(one.chosen.tolist())
    return list(found.values())


WANTED = [[-1 if c is None else c for c in person.chosen] for person in PLAYERS]
SAVED = [[-1 if c is None else c for c in person.chosen] for person in SAVERS]


# ---- jsPsych -------------------------------------------------------------------------------------


def test_the_arm_of_a_trial_is_a_group_and_codes_of_keys_are_labels(tmp_path):
    rows = []
    for person in PLAYERS:
        own = [{"trial_type": "fullscreen"}]
        for option, reward in zip(person.chosen, person.rewards, strict=True):
            key = "null" if option is None else (37, 39)[option]
            own.append({"trial_type": "key", "key_press": key, "outcome": reward})
        rows += with_own(own, participant_id=person.name, arm=person.group)
    reading = pn.read(saved(tmp_path, "old.csv", as_csv(rows, end="\r\n")))
    assert reading.columns["chosen"] == "key_press"
    assert reading.options == {"37": "0", "39": "1"}
    assert reading.group_columns == ("arm",)
    assert chosen_by(reading) == WANTED


def test_buttons_whose_words_are_offers_are_found_at_the_place_that_was_pressed(tmp_path):
    rows = []
    for person in SAVERS:
        own = [{"trial_type": "button", "choices": '["Continue"]', "response": 0}]
        for t, (option, offer) in enumerate(zip(person.chosen, person.offers, strict=True)):
            words = [f"${offer[0]:g} today", f"${offer[1]:g} in {offer[2]} days"]
            swapped = t % 3 == 0
            place = None if option is None else (1 - option if swapped else option)
            shown = json.dumps(words[::-1] if swapped else words)
            own.append({"trial_type": "button", "choices": shown, "response": place})
        rows += with_own(own, worker_id=person.name, cond=person.group)
    reading = pn.read(saved(tmp_path, "buttons.csv", as_csv(rows)))
    assert reading.kind == "offers"
    assert any("one button alone" in note for note in reading.notes)
    first = reading.data[0]
    waits = [wait[option] for wait, option in zip(first.offers["delay"], first.chosen, strict=True)]
    late = [0 if option in (0, None) else 1 for option in SAVERS[0].chosen]
    missed = [option is None for option in SAVERS[0].chosen]
    assert [bool(w) for w, m in zip(waits, missed, strict=True) if not m] == [
        bool(x) for x, m in zip(late, missed, strict=True) if not m
    ]


def swapping(keys):
    rows = []
    for k, person in enumerate(PLAYERS):
        own = []
        for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True)):
            swapped = (t + k) % 3 == 0
            cards = ["orange", "blue"] if swapped else ["blue", "orange"]
            key = None if option is None else keys[1 - option if swapped else option]
            shown = {"left_card": cards[0], "right_card": cards[1]}
            own.append({"trial_type": "key", "response": key, "reward": reward} | shown)
        rows += with_own(own, subject_id=person.name, group=person.group)
    return as_csv(rows)


@pytest.mark.parametrize("keys", [("arrowleft", "arrowright"), ("f", "j")])
def test_cards_that_change_sides_are_asked_for_and_then_found(tmp_path, keys):
    file = saved(tmp_path, "cards.csv", swapping(keys))
    with pytest.raises(DataError, match=r"Pass chosen='response', or chosen='card\[response\]'"):
        pn.read(file)
    assert chosen_by(pn.read(file, chosen="card[response]")) == WANTED
    assert pn.read(file, chosen="response").options == {keys[0]: "0", keys[1]: "1"}


def test_a_reward_inside_an_object_is_found(tmp_path):
    everybody = {}
    for person in PLAYERS:
        own = [
            {"trial_type": "button", "response": option, "feedback": {"points": reward}}
            for option, reward in zip(person.chosen, person.rewards, strict=True)
        ]
        everybody[person.name] = {"group": person.group, "trials": with_own(own)}
    reading = pn.read(saved(tmp_path, "nested.json", json.dumps(everybody)))
    assert reading.columns["reward"] == "feedback.points"
    assert chosen_by(reading) == WANTED


# ---- numbers -------------------------------------------------------------------------------------


def test_a_decimal_comma_in_rewards_is_said_and_then_read(tmp_path):
    rows = [
        {"Proband": p.name, "Gruppe": p.group, "Wahl": "ab"[option], "Punkte": f"{reward:.1f}"}
        for p in PLAYERS
        for option, reward in zip(p.chosen, p.rewards, strict=True)
        if option is not None
    ]
    rows = [row | {"Punkte": row["Punkte"].replace(".", ",")} for row in rows]
    file = saved(tmp_path, "komma.csv", as_csv(rows, delimiter=";", bom=True))
    with pytest.raises(DataError, match="It looks like decimal comma; pass decimal=','"):
        pn.read(file)
    assert pn.read(file, decimal=",").columns["subject"] == "Proband"


def test_offers_in_german_are_read(tmp_path):
    rows = [
        {
            "Teilnehmernummer": p.name,
            "Gruppe": p.group,
            "Betrag_sofort": f"{sooner:.2f} €".replace(".", ","),
            "Betrag_später": f"{later:.2f} €".replace(".", ","),
            "Wartezeit": f"{days} Tage",
            "Wahl": None if option is None else ("sofort", "später")[option],
        }
        for p in SAVERS
        for option, (sooner, later, days) in zip(p.chosen, p.offers, strict=True)
    ]
    reading = pn.read(saved(tmp_path, "geld.csv", as_csv(rows, delimiter=";")), decimal=",")
    assert chosen_by(reading) == SAVED
    assert reading.data[0].offers["amount"].tolist() == [list(o[:2]) for o in SAVERS[0].offers]
    assert reading.data[0].offers["delay"][:, 1].tolist() == [o[2] for o in SAVERS[0].offers]


def shopping(price, size):
    rows = []
    for person in SHOPPERS:
        for t, (taken, pair) in enumerate(zip(person.chosen, person.offers, strict=True)):
            row = {"RID": person.name, "Arm": person.group, "Task": t + 1}
            for side, (cost, minutes, _) in zip(("Left", "Right"), pair, strict=True):
                row |= {f"{side} Price": price.format(cost), f"{side} Size": size.format(minutes)}
            rows.append(row | {"Response": ("Left", "Right", "Keine von beiden")[taken]})
    lines = as_csv(rows, bom=True, end="\r\n").splitlines()
    return "\r\n".join([*(line + "," for line in lines), "," * (lines[0].count(",") + 1), ""])


def test_a_sheet_with_units_of_its_own_and_empty_cells_around_it_is_read(tmp_path):
    reading = pn.read(saved(tmp_path, "sheet.csv", shopping("¥{},000", "{} GB")))
    assert reading.columns["chosen"] == "Response" and reading.group_columns == ("Arm",)
    assert reading.data.names == ("Price", "Size", "constant:Keine von beiden")
    assert "Size is in GB" in reading.notes
    assert "1 row left out: nothing is in them" in reading.notes
    (odd,) = [note for note in reading.notes if "is read as" in note]
    assert odd.endswith("000, pass decimal=',' if it is " + odd.rpartition(" ")[2])
    assert reading.data.explanatory[:, 0].max() == 1000 * max(
        cost for person in SHOPPERS for pair in person.offers for cost, *_ in pair
    )


def test_codes_with_different_ends_are_no_numbers(tmp_path):
    rows = shopping("{}", "{} GB").replace("5 GB", "5 MB")
    with pytest.raises(DataError, match="Size must hold numbers; got '"):
        pn.read(saved(tmp_path, "units.csv", rows))


# ---- cells ---------------------------------------------------------------------------------------


def test_objects_in_cells_are_options(tmp_path):
    rows = [
        {
            "ID": person.name,
            "Condition": person.group,
            "options": json.dumps([{"amount": a, "delay": 0}, {"amount": b, "delay": d}]),
            "choice": "-" if option is None else option,
        }
        for person in SAVERS
        for option, (a, b, d) in zip(person.chosen, person.offers, strict=True)
    ]
    reading = pn.read(saved(tmp_path, "objects.csv", as_csv(rows)))
    assert reading.columns["amount"] == "amount_0, amount_1"
    assert chosen_by(reading) == SAVED


@pytest.mark.parametrize("mark", ["|", " ", ";", ", "])
def test_lists_without_brackets_are_one_item_per_decision(tmp_path, mark):
    rows = [
        {
            "Participant": person.name,
            "Group": person.group,
            "choices": mark.join("null" if c is None else str(c) for c in person.chosen),
            "outcomes": mark.join("null" if r is None else f"{r:g}" for r in person.rewards),
        }
        for person in PLAYERS
    ]
    reading = pn.read(saved(tmp_path, "lists.tsv", as_csv(rows, delimiter="\t")))
    assert reading.columns["reward"] == "outcomes"
    assert chosen_by(reading) == WANTED


# ---- folders -------------------------------------------------------------------------------------


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
    assert chosen_by(reading) == WANTED
    assert [*reading.groups("group").values()] == [person.group for person in PLAYERS]


def test_participants_are_known_however_their_names_are_written_and_others_are_said(tmp_path):
    people = "".join(f"{person.name.upper()},{k % 2}\n" for k, person in enumerate(PLAYERS[:3]))
    saved(tmp_path, "participants.csv", f"subject,grp\n{people}")
    for person in PLAYERS:
        rows = [{"subject": person.name} | row for row in play_rows(person)]
        saved(tmp_path, f"{person.name}.csv", as_csv(rows))
    reading = pn.read(tmp_path)
    assert reading.notes[0] == "participants.csv: says nothing of p04"
    assert reading.table["grp"].to_pylist()[::12] == [0, 1, 0, None]


def test_participants_that_nobody_is_called_like_are_said(tmp_path):
    saved(tmp_path, "participants.csv", "subject,grp\nann,1\nbob,2\n")
    for person in PLAYERS:
        rows = [{"subject": person.name} | row for row in play_rows(person)]
        saved(tmp_path, f"{person.name}.csv", as_csv(rows))
    assert pn.read(tmp_path).notes[0].startswith("participants.csv: names none of the subjects")


def test_folders_of_groups_hold_people_by_the_names_of_their_files(tmp_path):
    for person in PLAYERS:
        saved(tmp_path, f"{person.group}/{person.name[-1] in '12'}.csv", as_csv(play_rows(person)))
    reading = pn.read(tmp_path)
    assert len(reading.subjects) == 4  # files of one name in two folders are two people
    assert sorted(reading.groups("source folder").values()) == ["old", "old", "young", "young"]


def test_files_without_choices_beside_the_others_are_left_out_and_named(tmp_path):
    saved(tmp_path, "codebook.csv", "variable,meaning\nchoice,which deck\n")
    for k, person in enumerate(PLAYERS):
        rows = [{"subject": person.name, "grp": k % 2} | row for row in play_rows(person)]
        saved(tmp_path, f"{person.name}.csv", as_csv(rows))
    reading = pn.read(tmp_path)
    assert reading.notes[0] == "1 file left out, as no choices are in it: codebook.csv"
    assert reading.group_columns == ("grp",)


# ---- doubts --------------------------------------------------------------------------------------


def test_a_task_that_never_pays_is_asked_about_and_both_answers_are_taken(tmp_path):
    rows = []
    for person in PLAYERS:
        own = [
            {"trial_type": "key", "task": "flanker", "response": "fj"[t % 2], "side": t}
            for t in range(4)
        ]
        for option, reward in zip(person.chosen, person.rewards, strict=True):
            key = None if option is None else "fj"[option]
            own.append({"trial_type": "key", "task": "bandit", "response": key, "reward": reward})
        rows += with_own(own, subject=person.name)
    file = saved(tmp_path, "two.json", json.dumps(rows))
    with pytest.raises(DataError, match=r"task is 'flanker'.* Pass where=.task == 'bandit'"):
        pn.read(file)
    assert chosen_by(pn.read(file, where="task == 'bandit'")) == WANTED
    assert len(chosen_by(pn.read(file, missing_reward="skip"))[0]) == 16


def test_labels_that_differ_by_case_alone_are_asked_about(tmp_path):
    words = (("Left", "Right"), ("left", "right"))
    rows = [
        {"subject": (p.name, p.name.upper())[t % 2], "choice": words[t % 2][c], "reward": r}
        for p in PLAYERS
        for t, (c, r) in enumerate(zip(p.chosen, p.rewards, strict=True))
        if c is not None
    ]
    file = saved(tmp_path, "cases.csv", as_csv(rows))
    one = r"options=\{'Left': 0, 'Right': 1, 'left': 0, 'right': 1\} for the first"
    with pytest.raises(DataError, match=one):
        pn.read(file)
    again = pn.read(file, options={"Left": 0, "Right": 1, "left": 0, "right": 1})
    assert again.n_options == 2
    assert any("p01 / P01" in d or "P01 / p01" in d for d in again.doubts)


# ---- other programs, other words -----------------------------------------------------------------


def test_an_object_that_is_null_where_nobody_answered_is_no_column(tmp_path):
    everybody = []
    for person in PLAYERS:
        own = [
            {
                "trial_type": "key",
                "response": None if option is None else ["arrowleft", "arrowright"][option],
                "outcome": None if option is None else {"points": reward},
            }
            for option, reward in zip(person.chosen, person.rewards, strict=True)
        ]
        whose = {"participant": {"id": person.name, "cohort": person.group}}
        everybody.append(whose | {"trials": with_own(own)})
    reading = pn.read(saved(tmp_path, "nulls.json", json.dumps(everybody)))
    assert reading.columns["reward"] == "outcome.points"
    assert reading.group_columns == ("participant.cohort",)
    assert chosen_by(reading) == WANTED


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
        assert reading.group_columns == ("treatment",)
        assert len(reading.data) == len(PLAYERS) and chosen_by(reading) == WANTED


def test_gains_and_losses_that_were_accepted_or_not_were_offered_and_not_paid(tmp_path):
    rows = [
        {"ID": who, "gain": f"${g}", "loss": f"-${loss}", "response": answer}
        for who in "ab"
        for g, loss, answer in ((20, 5, "accept"), (12, 15, "reject"), (30, 20, "accept"))
    ]
    reading = pn.read(saved(tmp_path, "gambles.csv", as_csv(rows)))
    assert reading.kind == "offers"
    assert reading.options == {"accept": "1 (gain and loss)", "reject": "0 (0 and 0)"}
    decks = [row | {"response": "AB"[k % 2]} for k, row in enumerate(rows)]
    assert pn.read(saved(tmp_path, "decks.csv", as_csv(decks))).kind == "play"


def test_names_that_say_that_cells_are_lists_are_the_names_of_their_items(tmp_path):
    rows = [
        {"pid": p.name, "choice_seq": str(p.chosen), "reward_seq": str(p.rewards)} for p in PLAYERS
    ]
    reading = pn.read(saved(tmp_path, "lists.csv", as_csv(rows)))
    assert (reading.columns["chosen"], reading.columns["reward"]) == ("choice", "reward")
    assert chosen_by(reading) == WANTED


def test_a_survey_whose_names_divide_in_two_ways_is_one_and_people_are_asked_for(tmp_path):
    rows = [
        {
            "case": person.name,
            "question": t,
            **{
                f"{name}_alt{k + 1}": cell
                for k, pair in enumerate(offers)
                for name, cell in zip(("cost", "wait"), pair, strict=False)
            },
            "pick": ("alt1", "alt2", "neither")[taken],
        }
        for person in SHOPPERS
        for t, (taken, offers) in enumerate(zip(person.chosen, person.offers, strict=True))
    ]
    reading = pn.read(saved(tmp_path, "alts.csv", as_csv(rows)))
    assert reading.columns["cost"] == "cost_alt1, cost_alt2"
    said = "nobody is told apart: pass subject='case' if case names 4 people"
    assert said in reading.notes


def test_a_reward_of_no_usual_name_is_asked_for_and_the_group_is_no_choice(tmp_path):
    rows = [
        {
            "participant": p.name,
            "Arm": p.group,
            "psychopyVersion": "2023.2",
            "main.thisN": t,
            "resp.keys": "None" if option is None else "ab"[option],
            "ducats": reward,
        }
        for p in PLAYERS
        for t, (option, reward) in enumerate(zip(p.chosen, p.rewards, strict=True))
    ]
    file = saved(tmp_path, "ducats.csv", as_csv(rows))
    with pytest.raises(DataError, match=r"reward must be given, as resp\.keys was pressed in a"):
        pn.read(file)
    assert chosen_by(pn.read(file, reward="ducats")) == WANTED


def test_codes_of_keys_far_apart_are_asked_about_as_codes(tmp_path):
    rows = [
        {"subject": p.name, "response": None if c is None else (18, 23)[c], "reward": r}
        for p in PLAYERS
        for c, r in zip(p.chosen, p.rewards, strict=True)
    ]
    file = saved(tmp_path, "codes.csv", as_csv(rows))
    with pytest.raises(DataError) as asked:
        pn.read(file)
    assert "or --options 18,23 for labels" in error_words(asked.value)
    assert chosen_by(pn.read(file, options=[18, 23])) == WANTED
