"""What names leave no doubt of is taken; everything else is asked, and facts question a reading."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn

RNG = np.random.default_rng(5)


def play(n_people=3, n_trials=12, n_options=2, **more):
    """A table of play with columns of usual names."""
    n = n_people * n_trials
    table = {
        "subject": np.repeat(np.arange(n_people) + 1, n_trials),
        "trial": np.tile(np.arange(n_trials) + 1, n_people),
        "choice": np.tile(np.arange(n_trials) % n_options + 1, n_people),
        "reward": RNG.integers(0, 50, n),
    }
    return pa.table(table | more)


def asked(table, schema=None, **said):
    """The error that asks about a table."""
    with pytest.raises(pn.errors.SchemaQuestions) as raised:
        pn.read(table, schema, **said)
    return raised.value


def roles(error):
    return [question.role for question in error.questions]


def test_a_table_with_usual_names_is_read_without_a_question():
    reading = pn.read(play())
    assert reading.kind == "play"
    assert len(reading.data) == 3
    assert reading.schema.choice.labels == (1, 2)
    assert reading.schema.columns.reward == "reward"


@pytest.mark.parametrize(
    "names",
    [
        ("Versuchsperson", "Durchgang", "Wahl", "Belohnung"),
        ("sujet", "essai", "choix", "recompense"),
        ("participant_id", "trialNumber", "chosen", "payoff"),
    ],
)
def test_names_are_known_in_several_languages_and_spellings(names):
    assert len(pn.read(play().rename_columns(names)).data) == 3


def test_two_columns_that_could_be_the_reward_are_asked_about():
    error = asked(play(payoff=np.arange(36) % 7))
    assert "columns.reward" in roles(error) or "kind" in roles(error)
    own = next(q for q in error.questions if q.role == "columns.reward")
    assert set(own.answers) == {"reward", "payoff"}


def test_no_column_of_another_name_is_taken_for_a_role():
    error = asked(play().rename_columns(["subject", "trial", "choice", "zz"]))
    assert {"kind", "columns.reward"} <= set(roles(error))
    reading = pn.read(
        play().rename_columns(["subject", "trial", "choice", "zz"]),
        error.draft.with_answers({"kind": "episodes", "columns.reward": "zz"}),
    )
    assert reading.schema.columns.reward == "zz"


def test_questions_have_at_most_40_words_and_an_answer_to_paste():
    error = asked(play().rename_columns(["a", "b", "c", "d"]))
    assert all(len(question.text.split()) <= 40 for question in error.questions)
    assert 'kind = "choices"' in str(error)
    assert str(error).count("\n") >= 2 * sum(question.is_shown for question in error.questions)


def test_what_was_asked_and_not_answered_has_its_usual_meaning():
    error = asked(play().rename_columns(["subject", "trial", "choice", "zz"]))
    draft = error.draft.with_answers({"kind": "episodes", "columns.reward": "zz"})
    assert pn.read(play().rename_columns(["subject", "trial", "choice", "zz"]), draft)


def test_a_reward_that_only_grows_is_questioned_unless_it_was_named():
    table = play(reward=np.tile(np.cumsum(np.arange(12)), 3))
    assert "columns.reward" in roles(asked(table))
    assert pn.read(table, reward="reward").schema.columns.reward == "reward"


def test_a_reward_that_never_changes_is_questioned():
    assert "columns.reward" in roles(asked(play(reward=np.zeros(36))))


def test_a_press_that_is_sometimes_empty_is_questioned():
    table = play().rename_columns(["subject", "trial", "pressed", "reward"])
    pressed = pa.array([1, 2, None, 1, 2, 1] * 6)
    assert "columns.choice" in roles(asked(table.set_column(2, "pressed", pressed)))


def test_choices_that_count_on_are_questioned():
    table = play(choice=np.tile(np.arange(12) + 1, 3))
    assert "columns.choice" in roles(asked(table))


@pytest.mark.parametrize("code", [-1, 99])
def test_a_code_among_choices_is_asked_about(code):
    choice = np.tile(np.arange(12) % 2 + 1, 3)
    choice[5] = code
    error = asked(play(choice=choice))
    assert {"choice.labels", "choice.missed"} <= set(roles(error))
    answers = {q.role: q.answers[0] for q in error.questions if q.role.startswith("choice.")}
    reading = pn.read(play(choice=choice), error.draft.with_answers(answers))
    assert (reading.n_options, reading.n_missed) == (2, 1)


def test_a_word_for_nothing_among_choices_is_asked_about():
    words = ["left", "right", "none"] * 12
    error = asked(play(choice=words))
    labels = next(q for q in error.questions if q.role == "choice.labels")
    assert labels.answers[0] == ["left", "right"]
    reading = pn.read(play(choice=words), labels=["left", "right", "none"])
    assert reading.n_options == 3  # and is an option where that is said


def test_a_code_such_as_999_among_rewards_is_asked_about():
    reward = RNG.integers(0, 9, 36)
    reward[7] = 999
    error = asked(play(reward=reward))
    assert roles(error)[0] == "rows.keep"
    reading = pn.read(play(reward=reward), keep="reward != 999")
    assert reading.excluded == {"not reward != 999": 1}


def test_practice_rows_are_asked_about():
    phase = np.tile(["practice"] * 2 + ["test"] * 10, 3)
    error = asked(play(phase=phase))
    assert error.questions[0].role == "rows.keep"
    assert pn.read(play(phase=phase), keep="phase == 'test'").n_decisions == 30


def test_columns_that_name_the_options_on_offer_are_asked_about():
    left, right = np.tile([1, 2, 3], 12), np.tile([2, 3, 1], 12)
    choice = np.where(np.arange(36) % 2, left, right)
    table = play(choice=choice, first_shown=left, second_shown=right)
    assert "available.offered" in roles(asked(table))
    reading = pn.read(table, offered=["first_shown", "second_shown"])
    assert reading.data[0].available.sum(axis=1).tolist() == [2] * 12


def test_attributes_that_change_beside_a_reward_make_the_kind_a_question():
    table = play(price_1=RNG.integers(1, 9, 36), price_2=RNG.integers(1, 9, 36))
    assert "kind" in roles(asked(table))


def test_a_gain_and_a_loss_beside_a_reward_are_asked_about():
    table = play(gain=np.arange(36) % 5, loss=np.arange(36) % 3)
    assert {"kind", "columns.reward"} & set(roles(asked(table)))


def test_trials_of_one_number_are_asked_about():
    error = asked(play(trial=np.tile(np.repeat(np.arange(6), 2), 3), session_half=[1, 2] * 18))
    assert "columns.block" in roles(error)


def test_a_table_of_one_row_per_option_is_known_by_its_names():
    table = pa.table(
        {
            "id": np.repeat([1, 1, 2, 2], 2),
            "chid": np.repeat([1, 2, 3, 4], 2),
            "alt": ["bus", "car"] * 4,
            "choice": [1, 0, 0, 1, 1, 0, 0, 1],
            "price": [1.0, 2.0, 1.5, 1.0, 2.0, 2.5, 3.0, 1.0],
            "income": np.repeat([10, 20], 4),
        }
    )
    reading = pn.read(table)
    assert reading.kind == "choices"
    assert reading.data.names == ("price",)
    assert reading.schema.attributes == {"columns": ("price",)}


def test_codes_of_another_number_than_the_described_options_are_asked_about():
    n = 30
    columns = {f"{option}_{x}": RNG.integers(1, 9, n) for option in "ABC" for x in ("time", "cost")}
    table = pa.table({"id": np.arange(n) % 5, "choice": np.arange(n) % 4, **columns})
    error = asked(table)
    assert {"kind", "choice.labels", "attributes"} <= set(roles(error))
    draft = error.draft.with_answers(
        {
            "kind": "choices",
            "choice.labels": [1, 2, 3],
            "choice.missed": [0],
            "attributes": {"time": ["A_time", "B_time", "C_time"]},
        }
    )
    reading = pn.read(table, draft)
    assert reading.n_missed == sum(np.arange(n) % 4 == 0)


def test_options_that_words_name_are_matched_with_their_columns():
    table = pa.table(
        {
            "person": [1, 1, 2, 2],
            "bus_price": [1, 2, 3, 4],
            "car_price": [4, 3, 2, 1],
            "choice": ["car", "bus", "car", "bus"],
        }
    )
    reading = pn.read(table)
    assert reading.kind == "choices"
    assert reading.schema.choice.labels == ("bus", "car")


def test_files_of_one_person_each_are_told_apart_by_their_names(tmp_path):
    for name in ("anna", "bob"):
        (tmp_path / f"{name}.csv").write_text("trial,choice,reward\n1,1,3\n2,2,5\n3,1,4\n")
    reading = pn.read(tmp_path)
    assert [one.subject for one in reading.data] == ["anna", "bob"]


def evidence():
    """Tables that others left, where they are at hand."""
    folder = Path(os.environ.get("PENCHANT_EVIDENCE", "")) / "data" / "tables"
    if not folder.is_dir():
        pytest.skip("no real tables at hand: set PENCHANT_EVIDENCE")
    return folder


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gershman/data.csv", "episodes"),
        ("bahrami/DataAllSubjectsRewards.csv", "episodes"),
        ("electricity/electricity_long.csv", "choices"),
        ("modecanada/ModeCanada.csv", "choices"),
        ("cooling/HC.csv", "choices"),
    ],
)
def test_real_tables_whose_names_say_all_are_read(name, kind):
    assert pn.read(evidence() / name).schema.kind == kind


@pytest.mark.evidence
@pytest.mark.parametrize(
    "name",
    [
        *("parkinson/data_gridsearch_Parkinson.csv", "grid1d/experimentData1D.csv"),
        *("engineering/random_0", "bhui/bhui_data.csv", "chavez/chavez_data.csv", "mixedgambles"),
        *("swissmetro/swissmetro.dat", "optima/optima.dat", "choices13k/c13k_selections.csv"),
    ],
)
def test_real_tables_whose_names_leave_something_open_are_asked_about(name):
    assert all(len(q.text.split()) <= 40 for q in asked(evidence() / name).questions)


def test_a_column_that_says_what_is_on_offer_is_asked_about_in_a_row_per_option_too():
    cost = RNG.uniform(1, 9, 12)
    table = pa.table(
        {
            "person": np.repeat([1, 2], 6),
            "obs": np.repeat([1, 2, 3, 4], 3),
            "mode": ["car", "bus", "train"] * 4,
            "chosen": [1, 0, 0] * 4,
            "cost": cost,
            "avail": [1, 1, 0, 1, 1, 1] * 2,
        }
    )
    assert "available.flags" in roles(asked(table))
    reading = pn.read(table, {"available": {"flags": ["avail"]}})
    assert reading.columns["attributes"] == "cost"
    left = reading.data.explanatory[:, 0]  # in the order of the options
    np.testing.assert_array_equal(sorted(left), sorted(np.delete(cost, [2, 8])))


def test_a_penalty_beside_a_reward_is_asked_about():
    table = play(penalty=np.tile([0, 3, 0], 12))
    both = {"gain": "reward", "loss": "penalty"}
    (question,) = [q for q in asked(table).questions if q.role == "columns.reward"]
    assert question.answers == (both, "reward")
    assert pn.read(table, reward=both).data[0].rewards[1] == table["reward"][1].as_py() - 3
    assert pn.read(play(penalty=[0] * 36)).kind == "play"


def test_the_order_of_two_words_waits_for_the_kind_and_the_columns_that_describe_options():
    n = 24
    table = pa.table(
        {
            "subject": np.arange(n) // 6,
            "sureAmount": RNG.integers(1, 9, n),
            "gambleAmount": RNG.integers(9, 20, n),
            "gambleProbPercent": RNG.integers(10, 90, n),
            "response": np.where(np.arange(n) % 3, "sure", "gamble"),
        }
    )
    attributes = {"amount": ["sureAmount", "gambleAmount"], "p": [100, "gambleProbPercent"]}
    draft = asked(table).draft.with_answers({"kind": "offers", "attributes": attributes})
    assert pn.read(table, draft).schema.choice.labels == ("sure", "gamble")


def test_roles_by_name_are_questioned_once_the_kind_is_answered():
    table = play(score_1=RNG.integers(1, 9, 36), win_value=[1, 2, 3] * 12, loss_value=[4, 5] * 18)
    table = table.append_column("task", pa.array(np.tile(np.repeat([0, 1], 6), 3)))
    table = table.set_column(1, "trial", pa.array(np.tile(np.arange(6), 6)))
    error = asked(table)
    assert "kind" in roles(error)
    draft = error.draft.with_answers({"kind": "episodes", "columns.reward": "reward"})
    reading = pn.read(table, draft)
    assert reading.schema.columns.block == ("task",)


def test_two_choices_that_names_call_steps_are_a_two_step_task():
    n = 40
    state = RNG.integers(0, 2, n)
    second = 2 * state + RNG.integers(0, 2, n)
    table = pa.table(
        {
            "participant": np.arange(n) // 20,
            "choice_S1": RNG.integers(0, 2, n),
            "choice_S2": second,
            "reward": RNG.integers(0, 2, n),
        }
    )
    draft = {"kind": "episodes", "columns": {"choice": ["choice_S1", "choice_S2"]}}
    assert pn.read(table, draft, reward="reward").task == "two-step"
    stated = table.append_column("S2", pa.array(state))
    assert pn.read(stated).schema.columns.state == "S2"
    with pytest.raises(pn.errors.DataError, match="two codes in each state"):
        pn.read(stated.set_column(4, "S2", pa.array(RNG.integers(0, 2, n))))


def answers(table, role):
    return next(question.answers for question in asked(table).questions if question.role == role)


def test_the_first_answer_about_phases_leaves_practice_out_or_keeps_all():
    first = np.tile(np.arange(12) < 3, 3)
    assert answers(play(practice=first.astype(int)), "rows.keep")[0] == "practice == 0"
    assert answers(play(forced=first), "rows.keep")[0] == "forced == false"
    named = np.where(first, "practice_1", "main")
    assert answers(play(part=named), "rows.keep")[0] == "part != 'practice_1'"
    assert answers(play(stage=np.tile([1, 2, 3], 12)), "rows.keep")[0] == ""
    opening = np.where(first, "warm", "main")
    assert answers(play(flavour=opening), "rows.keep")[0] == "flavour != 'warm'"


def test_demorado_and_half_of_the_rows_are_no_practice():
    words = np.where(np.arange(36) % 3, "demorado", "inmediato")
    half = np.tile(np.repeat(["gain", "loss"], 6), 3)
    assert pn.read(play(eleccion_previa=words, frame=half)).kind == "play"


def test_a_column_of_one_label_in_all_files_is_no_person(tmp_path):
    for k in (102, 103):
        text = "Sub,trial,choice,reward\n" + "".join(f"{k},{t},{t % 2},{t % 3}\n" for t in range(9))
        (tmp_path / f"sub-SDRD_{k}_run0.csv").write_text(text)
    assert pn.read(tmp_path).schema.columns.subject == "Sub"


@pytest.mark.parametrize("cells", [[0, 1, 0], [False, True, False]])
def test_sets_of_which_one_row_was_taken_need_no_column_of_options(cells):
    n = 30
    columns = {"choice": cells * (n // 3), "price": RNG.normal(size=n), "obsnum": np.arange(n) // 3}
    assert pn.read(pa.table({"id": np.arange(n) // 15, **columns})).n_decisions == n // 3


def test_a_zero_that_pays_nothing_is_first_advised_as_missed():
    choice = np.tile([0, 1, 2, 3], 9)
    table = play(choice=choice, reward=np.where(choice, RNG.integers(1, 50, 36), 0))
    assert list(answers(table, "choice.labels")[0]) == [1, 2, 3]
    assert list(answers(table, "choice.missed")[0]) == [0]


def test_words_that_stand_at_the_places_are_labels_without_a_question():
    left = np.where(np.arange(36) % 3, "A", "B")
    shown = {"stim_left": left, "stim_right": np.where(left == "A", "B", "A")}
    table = play(choice=np.where(np.arange(36) % 2, "A", "B"), **shown)
    assert pn.read(table).n_options == 2


def test_rewards_of_1_and_2_alone_are_questioned():
    assert "columns.reward" in roles(asked(play(reward=[1, 2, 2] * 12)))


def test_a_side_beside_a_column_of_the_option_is_questioned_and_answered():
    side = np.where(np.arange(36) % 2, "left", "right")
    table = play(choice=side, arm=np.where(np.arange(36) % 3, "A", "B"))
    assert answers(table, "columns.choice") == ("arm", "choice")
    draft = asked(table).draft.with_answers({"columns.choice": "arm"})
    assert pn.read(table, draft).schema.choice.labels == ("A", "B")


def test_numbers_that_may_be_sides_of_two_offers_are_asked_about():
    n = 24
    columns = {"ss_amount": RNG.integers(1, 9, n), "ll_amount": RNG.integers(9, 20, n)}
    columns |= {"subject": np.arange(n) // 12, "choice": np.arange(n) % 2, "ll_delay": [3, 9] * 12}
    assert pn.read(pa.table(columns)).kind == "offers"
    right = {"ll_on_right": np.arange(n) % 3 // 2}
    assert "choice.labels" in roles(asked(pa.table(columns | right)))
    units = {"delay_unit": np.where(np.arange(n) % 3, "days", "weeks")}
    assert "attributes" in roles(asked(pa.table(columns | units)))


def test_words_that_accept_what_is_offered_make_the_kind_a_question():
    words = np.where(np.arange(36) % 2, "accept", "reject")
    table = play(choice=words, offer=RNG.integers(0, 9, 36))
    assert "kind" in roles(asked(table))


def test_rounds_of_one_row_each_number_trials():
    table = play().rename_columns(["subject", "round", "choice", "reward"])
    schema = pn.read(table).schema
    assert (schema.columns.trial, schema.columns.block) == ("round", None)


def test_trials_that_are_there_twice_ask_first_whose_they_are():
    table = play().rename_columns(["someone", "trial", "choice", "reward"])
    assert answers(table, "columns.subject")[0] == "someone"


def numbered(**more):
    """Two options that columns describe by number, and a choice of whole numbers."""
    columns = {f"{x}_{k}": RNG.integers(1, 9, 36) for x in ("price", "time") for k in (1, 2)}
    return pa.table({"id": np.arange(36) // 12, **columns} | more)


def test_a_code_more_than_the_described_options_may_be_to_take_none():
    table = numbered(choice=np.arange(36) % 3 + 1)
    error = asked(table, kind="choices")
    assert answers_of(error)["choice.opt_out"] == (3, "")
    attributes = {"price": ["price_1", "price_2"]}
    draft = error.draft.with_answers({"attributes": attributes, "choice.opt_out": 3})
    assert pn.read(table, draft).data.names == ("price", "constant:3")


def answers_of(error):
    return {question.role: question.answers for question in error.questions}


def test_flags_are_advised_in_the_order_of_the_options():
    flags = {"av_2": [1, 0] * 18, "av_1": [1, 1, 0] * 12}
    table = numbered(choice=np.where(np.arange(36) % 2, 1, 2), **flags)
    said = {"kind": "choices", "attributes": {"price": ["price_1", "price_2"]}}
    assert list(answers_of(asked(table, said))["available.flags"][0]) == ["av_1", "av_2"]


def test_codes_of_two_offers_are_advised_in_groups():
    gamble = {"gain": RNG.integers(1, 9, 24), "loss": RNG.integers(1, 9, 24)}
    said = {"kind": "offers", "attributes": {"outcome": [[0, 0], ["gain", "-loss"]]}}
    table = pa.table({"subject": np.arange(24) // 12, "response": np.arange(24) % 4 + 1, **gamble})
    assert answers_of(asked(table, said))["choice.labels"][:2] == (
        [[1, 2], [3, 4]],
        [[3, 4], [1, 2]],
    )
    words = ["strongly_reject", "weakly_reject", "weakly_accept", "strongly_accept"] * 6
    labels = pn.read(table.set_column(1, "response", pa.array(words)), said).schema.choice.labels
    assert labels == (("strongly_reject", "weakly_reject"), ("strongly_accept", "weakly_accept"))


def offers_called(name):
    n = 24
    columns = {"ss_amount": RNG.integers(1, 9, n), "ll_amount": RNG.integers(9, 20, n)}
    return pa.table(
        columns | {"ll_delay": [3, 9] * 12, "id": np.arange(n) // 12, name: [0, 1] * 12}
    )


@pytest.mark.parametrize("name", ["chose_ll", "choice", "LaterOptionChosen", "resp_final"])
def test_numbers_of_a_neutral_name_or_the_second_offers_are_in_the_order_of_offers(name):
    said = {"kind": "offers", "columns": {"choice": name}}
    assert pn.read(offers_called(name), said).schema.choice.labels == (0, 1)


@pytest.mark.parametrize("name", ["choice_impulsive", "chose_ss", "chose_optimal"])
def test_numbers_of_a_column_that_is_called_otherwise_are_asked_about(name):
    said = {"kind": "offers", "columns": {"choice": name}}
    assert "choice.labels" in roles(asked(offers_called(name), said))


@pytest.mark.parametrize("name", ["condition", "context", "stimulus"])
def test_a_context_that_changes_from_trial_to_trial_may_name_blocks(name):
    table = play(n_trials=24, **{name: np.tile([1, 2, 3, 2, 1, 3, 1, 2], 9)})
    assert answers(table, "columns.block") == ([name], [])
    columns = {"choice": "choice", "reward": "reward"}
    assert pn.read(table, {"kind": "episodes", "columns": columns}).doubts


def test_people_who_begin_anew_in_another_group_may_be_others():
    table = play(n_people=6, group=np.repeat(["a", "b"], 36))
    table = table.set_column(0, "subject", pa.array(np.tile(np.repeat([1, 2, 3], 12), 2)))
    assert answers(table, "columns.subject") == (["subject", "group"], "subject")
    assert len(pn.read(table, subject=["subject", "group"]).data) == 6


def test_a_size_beside_an_outcome_is_questioned():
    assert "columns.reward" in roles(asked(play(outcome=np.arange(36) % 2)))


def test_a_label_that_never_has_a_reward_may_be_no_option():
    words = np.array(["links", "rechts", "weiss nicht"])[np.arange(36) % 3]
    reward = [None if word == "weiss nicht" else float(k % 4) for k, word in enumerate(words)]
    assert answers(play(choice=words, reward=reward), "choice.missed")[0] == ["weiss nicht"]


def test_rewards_in_words_are_refused_with_the_words():
    words = np.where(np.arange(36) % 3, "correct", "incorrect")
    with pytest.raises(pn.errors.DataError, match="got 'correct', 'incorrect'"):
        pn.read(play(reward=words))
