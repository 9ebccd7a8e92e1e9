"""Tables of play whose columns have names that no list knows: asked about, and read as said."""

import random

import numpy as np
import pyarrow as pa
import pytest
from penchant.reading.asked import ALSO

from penchant.cli.wording import error_words
from penchant.errors import DataError
from penchant.reading.read import read_by_arguments as by_args


def table(n_people=3, n_trials=12, seed=4, **made):
    """Two options that pay 0 or 1; `made` are columns by `make(person, trial, option, reward)`."""
    rng = random.Random(seed)
    rows = []
    for person in range(n_people):
        for t in range(n_trials):
            option, reward = rng.randrange(2), rng.randrange(2)
            row = {"bird": f"b{person}", "wybor": "LR"[option], "odul": reward}
            own = {name: make(person, t, option, reward) for name, make in made.items()}
            rows.append({name: cell for name, cell in (row | own).items() if cell is not ...})
    return pa.Table.from_pylist(rows)


def asked(data, **known):
    with pytest.raises(DataError) as error:
        by_args(data, **known)
    return str(error.value)


KNOWN = {"chosen": "wybor", "reward": "odul", "subject": "bird"}


def test_choices_and_rewards_of_unknown_names_are_asked_for_together():
    words = asked(table())
    assert "chosen='wybor'" in words
    assert ", together with " in words
    assert "reward='odul'" in words
    assert by_args(table(), **KNOWN).kind == "play"


def test_what_the_option_taken_paid_is_no_choice_experiment():
    data = table(
        wybor=lambda p, t, o, r: o + 1,
        val1=lambda p, t, o, r: 3 * r + t % 3 if o == 0 else t % 5,
        val2=lambda p, t, o, r: 3 * r + t % 3 if o == 1 else t % 4,
        odul=lambda p, t, o, r: 3 * r + t % 3,
    ).rename_columns(["bird", "choice", "odul", "val1", "val2"])
    words = asked(data)
    assert "task data (choices and rewards), if odul says what each choice paid" in words
    assert by_args(data, reward="odul", base=1, subject="bird").kind == "play"


def test_chances_that_stay_are_no_offers():
    data = table(
        wybor=lambda p, t, o, r: o,
        drift_A=lambda p, t, o, r: 0.25 if t < 6 else 0.75,
        drift_B=lambda p, t, o, r: 0.75 if t < 6 else 0.25,
    )
    words = asked(data, chosen="wybor")
    assert "two ways: task data (choices and rewards), if " in words
    assert "reward='odul'" in words


def test_blocks_that_begin_anew_in_every_session_are_asked_about_with_them():
    data = table(
        n_trials=24, sesh=lambda p, t, o, r: 1 + t // 12, seq=lambda p, t, o, r: 1 + t // 6 % 2
    )
    words = asked(data, **KNOWN)
    assert "sesh (1, 2) and seq (1, 2) change once and again within people" in words
    assert "block=('sesh', 'seq') or block='sesh' or block='seq' for the first" in words
    assert len(by_args(data, **KNOWN, block=("sesh", "seq")).data) == 12
    with pytest.raises(DataError) as refused:
        by_args(data, **KNOWN)
    assert "--block sesh,seq or --block sesh or" in error_words(refused.value)


def test_first_rows_of_another_word_are_asked_about_though_blocks_were_said():
    data = table(
        n_trials=16,
        mode=lambda p, t, o, r: "trial_run" if t < 3 else "real",
        level=lambda p, t, o, r: 1 + t // 8,
    )
    words = asked(data, **KNOWN, block="level")
    assert "as everybody's first rows have 'trial_run' in mode" in words
    read = by_args(data, **KNOWN, block="level", where="mode != 'trial_run'")
    assert sum(episode.n_events for episode in read.data) == 39


def test_conditions_that_are_asked_for_one_after_another_are_joined():
    data = table(mode=lambda p, t, o, r: "try" if t < 2 else "real", bis11=lambda p, *_: 30 + p)
    words = asked(data, **KNOWN, where="bis11 == 30 or bis11 == 31")
    assert "where=\"(bis11 == 30 or bis11 == 31) and mode != 'try'\"" in words


def shuffled(data, seed=3):
    rows = list(range(len(data)))
    random.Random(seed).shuffle(rows)
    return data.take(pa.array(rows))


def test_a_counter_of_an_unknown_name_is_asked_about_where_rows_are_in_another_order():
    data = shuffled(
        table(
            n_trials=16,
            draw=lambda p, t, o, r: 1 + t % 8,
            season=lambda p, t, o, r: 1 + t // 8,
        )
    )
    words = asked(data, **KNOWN)
    assert "draw counts the rows of everybody and season, in another order" in words
    read = by_args(data, **KNOWN, decision="draw", block="season")
    assert len(read.data) == 6


def test_people_are_asked_for_where_rows_are_in_no_order():
    data = shuffled(table(draw=lambda p, t, o, r: 1 + t))
    assert "subject='bird'" in asked(data, chosen="wybor", reward="odul")


def test_losses_in_words_that_no_list_knows_are_asked_about():
    data = table(odul=lambda p, t, o, r: f"Je {'wint' if r else 'verliest'} {1 + t} cent")
    words = asked(data, **KNOWN)
    assert "can be read in two ways: all of them say what was won" in words
    assert "reward='odul[verliest < 0]'" in words
    known = KNOWN | {"reward": "odul[verliest < 0]"}
    paid = np.concatenate([episode.rewards for episode in by_args(data, **known).data])
    assert (paid < 0).any()
    assert (paid > 0).any()
    plain = by_args(data, **(KNOWN | {"reward": "odul[1]"}))
    assert min(episode.rewards.min() for episode in plain.data) > 0


def test_gains_and_losses_of_unknown_names_are_offered_as_two():
    data = table(
        gagne=lambda p, t, o, r: (t % 3 + 1) * r,
        perdu=lambda p, t, o, r: 0 if r else t % 4,
        odul=lambda *_: ...,
    )
    words = asked(data, chosen="wybor")
    assert "reward=('gagne', 'perdu') (the first less the second)" in words
    read = by_args(data, chosen="wybor", reward=("gagne", "perdu"), subject="bird")
    assert read.data[0].rewards.min() < 0


def test_a_total_of_an_unknown_name_is_offered_by_what_it_grows_by():
    data = table(odul=lambda p, t, o, r: 25 * t + 5 * (t % 3))
    assert "reward='diff(odul)' (what it grows by) or reward='odul'" in asked(data, chosen="wybor")


def test_what_totals_grow_by_is_told_in_the_plays_that_are_read():
    data = table(
        n_trials=16,
        odul=lambda p, t, o, r: 10 * (1 + t % 8),
        scan=lambda p, t, o, r: 1 + t // 8,
        draw=lambda p, t, o, r: 1 + t % 8,
    )
    known = KNOWN | {"reward": "diff(odul)", "block": ("scan",), "decision": "draw"}
    for rows in (data, shuffled(data)):
        read = by_args(rows, **known)
        assert all(episode.rewards.tolist() == [10.0] * 8 for episode in read.data)


def test_labels_that_are_numbers_and_change_sides_are_asked_about():
    data = table(
        wybor=lambda p, t, o, r: ("left", "right")[o],
        stim_left=lambda p, t, o, r: 11 + t % 2,
        stim_right=lambda p, t, o, r: 12 - t % 2,
    ).rename_columns(["bird", "response", "reward", "stim_left", "stim_right"])
    assert "chosen='stim[response]'" in asked(data, subject="bird")


def test_flags_that_change_places_are_no_labels():
    data = table(
        wybor=lambda *_: ...,
        choice_A=lambda p, t, o, r: 1 - o,
        choice_B=lambda p, t, o, r: o,
        choice_tm1=lambda p, t, o, r: None,
        chose_best=lambda p, t, o, r: r,
    ).rename_columns(["bird", "reward", "choice_A", "choice_B", "choice_tm1", "chose_best"])
    assert by_args(data, subject="bird").n_options == 2


def test_a_flag_of_something_else_beside_flags_of_options_is_no_option():
    data = table(
        wybor=lambda *_: ...,
        chose_A=lambda p, t, o, r: 1 - o,
        chose_B=lambda p, t, o, r: o,
        chose_best=lambda p, t, o, r: int(t % 3 == 0),
    ).rename_columns(["bird", "reward", "chose_A", "chose_B", "chose_best"])
    assert dict(by_args(data, subject="bird").options) == {"A": "0", "B": "1"}


def test_flags_that_hold_words_of_another_task_are_asked_about():
    data = table(
        wybor=lambda *_: ...,
        chose_A=lambda p, t, o, r: str(1 - o) if t < 9 else "red",
        chose_B=lambda p, t, o, r: str(o) if t < 9 else None,
        task_name=lambda p, t, o, r: "bandit" if t < 9 else "stroop",
    ).rename_columns(["bird", "reward", "chose_A", "chose_B", "task_name"])
    assert "where=\"task_name == 'bandit'\" for the first" in asked(data)


def test_minus_one_and_one_are_asked_about():
    data = table(wybor=lambda p, t, o, r: 2 * o - 1)
    words = asked(data, **KNOWN)
    assert "wybor holds -1 and 1" in words
    assert "options=[-1, 1] for the first" in words
    assert by_args(data, **KNOWN, options=[-1, 1]).n_options == 2


def test_rounds_that_count_trials_are_asked_about():
    data = table(round_number=lambda p, t, o, r: 1 + t % 6)
    words = asked(data, **KNOWN)
    assert "round_number is one more in nearly every row" in words
    assert "decision='round_number' and block='none' for the first" in words


def test_a_number_of_trials_is_no_choice():
    data = shuffled(table(n_trial=lambda p, t, o, r: 1 + t)).rename_columns(
        ["bird", "wybor", "reward", "n_trial"]
    )
    assert "chosen='wybor'" in asked(data)


def test_what_option_d_paid_is_not_the_reward():
    data = table(
        **{f"{one}_reward": lambda p, t, o, r, k=k: (t + k) % 2 for k, one in enumerate("ABCD")}
    )
    assert "reward='odul'" in asked(data, chosen="wybor")


def test_several_questions_are_asked_at_once():
    data = table(wybor=lambda p, t, o, r: o + 1, sesh=lambda p, t, o, r: 1 + t // 6)
    words = asked(data, **KNOWN)
    assert words.count(ALSO) == 1
    assert "block='sesh' for the first" in words
    assert "base=1" in words


def wide(n_people=5, n_trials=10, **more):
    rng = random.Random(6)
    rows = []
    for person in range(n_people):
        row = {"koodi": f"k{person}"} | {name: make(person) for name, make in more.items()}
        row |= {f"ans_{t + 1}": rng.choice("LR") for t in range(n_trials)}
        row |= {f"pay_{t + 1}": rng.randrange(2) for t in range(n_trials)}
        rows.append(row)
    return pa.Table.from_pylist(rows)


def test_numbered_columns_of_unknown_names_are_unfolded_by_what_is_said():
    words = asked(wide())
    assert "for play chosen='ans' or chosen='pay', together with reward='ans'" in words
    read = by_args(wide(), chosen="ans", reward="pay", subject="koodi")
    assert [episode.n_events for episode in read.data] == [10] * 5


def test_a_group_is_no_choice_among_numbered_columns():
    words = asked(wide(manipulation=lambda person: 1 + person % 2))
    assert "got one row per subject" in words


def test_lists_of_unknown_names_are_unfolded_by_what_is_said():
    answers, paid = ["L", "R", "R", "L", "R", "L"], [1, 0, 1, 1, 0, 0]
    rows = [{"koodi": f"k{k}", "ans": str(answers[k:]), "pay": str(paid[k:])} for k in range(2)]
    words = asked(pa.Table.from_pylist(rows))
    assert "chosen='ans' or chosen='pay', together with reward='ans' or reward='pay'" in words
    read = by_args(pa.Table.from_pylist(rows), chosen="ans", reward="pay", subject="koodi")
    assert [episode.n_events for episode in read.data] == [6, 5]


def screens(*, feedback, choice):
    """Rows of jsPsych: a key to begin with, then choices, each with what it paid below it."""
    rng = random.Random(2)
    rows = []
    for person in ("p1", "p2", "p3"):
        own = [{"task": "start", "response": "Enter"}]
        for t in range(12):
            own.append({"task": "choice", choice: rng.choice("fj"), "screen_nr": t + 1})
            own.append({"task": "feedback", feedback: rng.randrange(2)})
        rows += [
            {
                "subject": person,
                "trial_type": "html-keyboard-response",
                "trial_index": k,
                "rt": 500.0,
            }
            | {"time_elapsed": 900 * k, "response": None, "internal_node_id": f"0.0-{k}.0"}
            | row
            for k, row in enumerate(own)
        ]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


def test_what_stands_below_choices_is_offered_as_their_reward():
    data = screens(feedback="resultat", choice="response")
    assert "reward='resultat'" in asked(data)
    read = by_args(data, reward="resultat")
    assert [episode.n_decisions for episode in read.data] == [12] * 3


def test_keys_that_go_on_are_no_choices_where_these_have_a_column():
    data = screens(feedback="resultat", choice="wybor")
    words = asked(data, where="task in ['start', 'choice', 'feedback']")
    assert "chosen='wybor'" in words
    assert "'Enter'" not in words


def test_rows_without_a_number_are_told_how_to_be_left_out():
    data = table(attempt=lambda p, t, o, r: t + 1 if t < 11 else None)
    words = asked(data, **KNOWN, decision="attempt")
    assert 'where="attempt >= 1" to `read` if nobody decided in the other rows' in words


def test_rows_without_a_block_are_told_how_to_be_left_out():
    data = table(level=lambda p, t, o, r: 1 + t // 6 if t < 11 else None)
    assert 'such as by where="level >= 1" of `read`' in asked(data, **KNOWN, block="level")


def test_a_word_among_numbers_is_told_how_to_be_left_out():
    data = table(wybor=lambda p, t, o, r: str(o) if t % 5 else "wait")
    words = asked(data, **KNOWN)
    assert "where=\"wybor != 'wait'\" and gaps='timeout' to `read`" in words


def test_sessions_come_before_the_blocks_in_them():
    data = table(
        n_trials=24,
        block=lambda p, t, o, r: 1 + t // 6 % 2,
        scan=lambda p, t, o, r: 1 + t // 12,
        trial=lambda p, t, o, r: 1 + t % 6,
    )
    assert "block=('scan', 'block')" in asked(data, **KNOWN)


def test_labels_that_change_sides_are_seen_beside_what_the_sides_paid():
    data = table(
        wybor=lambda p, t, o, r: ("left", "right")[o],
        stim_left=lambda p, t, o, r: "XY"[t % 2],
        stim_right=lambda p, t, o, r: "YX"[t % 2],
        left_reward=lambda p, t, o, r: t % 5,
        right_reward=lambda p, t, o, r: t % 7,
    )
    assert "chosen='stim[wybor]' (what is there)" in asked(data, reward="odul")


def test_what_both_sides_paid_says_nothing_of_where_options_are():
    data = table(
        wybor=lambda p, t, o, r: o + 1,
        outcome_left=lambda p, t, o, r: t % 2,
        outcome_right=lambda p, t, o, r: t // 2 % 2,
    )
    words = asked(data, reward="odul", subject="bird", chosen="wybor")
    assert words.startswith("base must be given")
    named = data.rename_columns(["subject", "response", "reward", "outcome_left", "outcome_right"])
    assert asked(named).startswith("base must be given")


def test_whether_the_best_was_taken_is_no_choice_between_pictures():
    data = table(
        wybor=lambda p, t, o, r: ("b1", "b2")[o],
        img_left=lambda p, t, o, r: "XY"[t % 2],
        img_right=lambda p, t, o, r: "YX"[t % 2],
        val_left=lambda p, t, o, r: t % 5,
        val_right=lambda p, t, o, r: t % 7,
        was_best=lambda p, t, o, r: int(t % 3 == 0),
    )
    assert "chosen='wybor'" in asked(data)


def test_gains_and_losses_are_no_options_where_those_are_named():
    data = table(
        wybor=lambda p, t, o, r: (3, 7)[o],
        odul=lambda *_: ...,
        gain_amount=lambda p, t, o, r: 10 * r,
        loss_amount=lambda p, t, o, r: 0 if r else 5,
    ).rename_columns(["subject", "choice", "gain_amount", "loss_amount"])
    assert "options=[3, 7] for labels" in asked(data)
    assert by_args(data, options=[3, 7]).kind == "play"
