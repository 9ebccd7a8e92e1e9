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


def test_one_row_per_option_needs_no_column_of_options():
    n = 30
    table = pa.table(
        {
            "id": np.arange(n) // 15,
            "obsnum": np.arange(n) // 3,
            "choice": np.tile([0, 1, 0], n // 3),
            "price": RNG.integers(1, 9, n),
        }
    )
    schema = {"kind": "choices", "attributes": {"columns": ["price"]}}
    draft = asked(table, schema | {"columns": {"chosen": "choice"}}).draft
    assert pn.read(table, draft).n_decisions == n // 3
    words = table.set_column(2, "choice", pa.array(["no", "yes", "no"] * (n // 3)))
    said = {"chosen": "choice", "decision": "obsnum"}
    assert pn.read(words, schema | {"columns": said}).n_decisions == n // 3


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
