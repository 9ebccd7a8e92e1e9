"""What somebody meets who reads a file and does what is said next: each step leads on."""

import json

import numpy as np
import pytest

from laboratory_files import as_csv, jspsych_play, players, psychopy_play
from penchant.errors import DataError
from penchant.reading.read import read_by_arguments as by_args

PLAYERS = players(12, 30)


def staged(people, slow=(), first="acquisition"):
    """A row per trial; the first five have a word of their own, and some are slow."""
    return [
        {
            "person": person.name,
            "trial": t + 1,
            "stage": first if t < 5 else "main",
            "ms": 9000 if t in slow else 500,
            "choice": option,
            "reward": reward,
        }
        for person in people
        for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True))
    ]


def test_answers_to_a_questionnaire_at_the_end_are_no_attributes(file):
    everybody = jspsych_play(PLAYERS)
    for rows in everybody:
        rows[-1] |= {"trial_type": "survey-likert", "response": {"Q0": 3, "Q1": 2}}
    reading = by_args(file(json.dumps(everybody), "data.json"))
    assert reading.kind == "play"
    assert reading.columns["reward"] == "reward"


@pytest.mark.parametrize(
    ("first", "where"),
    [("acquisition", "stage == 'main'"), ("training", "stage != 'training'")],
)
def test_what_the_question_about_two_stages_says_can_be_read(file, first, where):
    path = file(as_csv(staged(PLAYERS, first=first)))
    with pytest.raises(DataError, match=f'where="{where}"'):
        by_args(path)
    reading = by_args(path, where=where)
    for person, episode in zip(PLAYERS, reading.data, strict=True):
        wanted = [-1 if option is None else option for option in person.chosen[5:]]
        assert episode.chosen.tolist() == wanted


def test_rows_left_out_between_others_are_asked_about_with_both_ways(file):
    path = file(as_csv(staged(PLAYERS, slow=(12, 20))))
    where = "stage == 'main' and ms < 5000"
    with pytest.raises(DataError) as asked:
        by_args(path, where=where)
    assert "between 12 and 14 in trial at line 15" in str(asked.value)
    passed = by_args(path, where=where, gaps="timeout").data[0]
    none = by_args(path, where=where, gaps="order").data[0]
    assert passed.n_decisions == none.n_decisions
    assert int(np.sum(passed.chosen < 0)) == int(np.sum(none.chosen < 0)) + 2 + 5


def test_points_of_feedback_are_rewards(file):
    rows = [
        {("feedback_points" if name == "reward" else name): cell for name, cell in row.items()}
        for row in psychopy_play(PLAYERS)
    ]
    assert by_args(file(as_csv(rows))).columns["reward"] == "feedback_points"


def test_everybody_who_missed_a_decision_is_not_listed_by_name(file):
    reading = by_args(file(as_csv(staged(PLAYERS))), block="none")
    assert "12 decisions without a choice, in all 12 subjects: counted in time, not scored." in (
        reading.doubts
    )


def test_words_of_options_are_said_in_the_order_of_the_options(file):
    rows = [
        {"person": f"p{k % 4}", "lists": "[5, 9]", "waits": "[0, 30]", "answer": (k % 3 == 0) + 1}
        for k in range(24)
    ]
    rows = sorted(rows, key=lambda row: row["person"])
    for row in rows:
        row["amounts"], row["delays"] = row.pop("lists"), row.pop("waits")
    assert [*by_args(file(as_csv(rows))).options] == ["1", "2"]
