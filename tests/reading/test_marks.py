"""Marks of missed decisions, arms, totals, gambles in words: read as meant, or asked about."""

import json

import pytest

import penchant as pn
from laboratory_files import as_csv, players, savers
from penchant.cli.wording import error_words
from penchant.errors import DataError

PLAYERS = players(4, 12)
SAVERS = savers(4, 12)
MISSED = [sum(option is None for option in person.chosen) for person in PLAYERS]
WANTED = [[-1 if c is None else c for c in person.chosen] for person in PLAYERS]


def saved(tmp_path, rows, name="file.csv", **how):
    path = tmp_path / name
    path.write_text(as_csv(rows, **how), encoding="utf-8")
    return path


def rows_of(codes, mark, paid=0.0, **more):
    return [
        {
            "subject": person.name,
            "group": person.group,
            "trial": t + 1,
            "choice": mark if option is None else codes[option],
            "reward": paid if reward is None else reward,
        }
        | {name: make(option, reward) for name, make in more.items()}
        for person in PLAYERS
        for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True))
    ]


def chosen_by(reading):
    return [one.chosen.tolist() for one in reading.data]


@pytest.mark.parametrize(
    ("codes", "mark", "where"),
    [
        ((0, 1), 999, "choice != 999"),
        ((1, 2), 9, "choice != 9"),
        ((0, 1), -9, "choice != -9"),
        (("links", "rechts"), "-1", "choice != '-1'"),
        (("f", "j"), "no_key", "choice != 'no_key'"),
    ],
)
def test_a_code_that_may_mean_no_choice_is_asked_about_and_both_answers_are_taken(
    tmp_path, codes, mark, where
):
    file = saved(tmp_path, rows_of(codes, mark))
    with pytest.raises(DataError, match="can be read in two ways: an option beside") as asked:
        pn.read(file)
    first = [*codes, mark]
    assert f'options={first!r} for the first, or where="{where}" and gaps=' in str(asked.value)
    assert pn.read(file, options=first).n_options == 3
    base = {"base": 1} if codes == (1, 2) else {}
    assert chosen_by(pn.read(file, where=where, gaps="timeout", **base)) == WANTED
    with pytest.raises(DataError) as asked:
        pn.read(file)
    assert error_words(asked.value).endswith("--gaps timeout for the second.")


@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 2, 3, 9), (0, 4, 9), (7, 9)])
def test_numbers_without_a_far_one_behind_a_count_are_options(tmp_path, numbers):
    rows = rows_of((0, 1), "")
    rows = [row | {"choice": numbers[k % len(numbers)]} for k, row in enumerate(rows)]
    base = 0 if 0 in numbers else 1
    counts = numbers == (1, 2, 3, 9)  # nine is not more than four times three
    if numbers == (7, 9) or counts:
        assert pn.read(saved(tmp_path, rows), base=base).n_options == 10 - base
    else:
        assert pn.read(saved(tmp_path, rows)).n_options == max(numbers) + 1


@pytest.mark.parametrize(("name", "yes", "no"), [("timed_out", "true", "false"), ("missed", 1, 0)])
def test_a_flag_beside_a_choice_is_asked_about(tmp_path, name, yes, no):
    flag = {name: lambda option, _: yes if option is None else no}
    file = saved(tmp_path, rows_of(("left", "right"), "left", **flag))
    with pytest.raises(DataError, match=f"{name} is set in {sum(MISSED)} rows with a choice") as a:
        pn.read(file)
    where = "not timed_out" if name == "timed_out" else "missed != 1"
    assert f'Pass where="{where}" and gaps=' in str(a.value)
    assert chosen_by(pn.read(file, where=where, gaps="timeout")) == WANTED
    kept = pn.read(file, chosen="choice")
    assert sum(len(one.chosen) for one in kept.data) == kept.n_decisions


def test_a_code_as_reward_of_a_missed_decision_is_no_reward(tmp_path):
    reading = pn.read(saved(tmp_path, rows_of("ab", "", -99)))
    assert chosen_by(reading) == WANTED
    twice = rows_of("ab", "", -99)
    twice[0]["reward"] = -99  # then it is one that a choice was paid, too
    with pytest.raises(
        DataError, match=r"-99 in reward \(1 row with a choice\) can be read in two"
    ):
        pn.read(saved(tmp_path, twice))
    with pytest.raises(DataError, match="rewards must be missing where nothing was chosen"):
        pn.read(saved(tmp_path, twice), reward="reward")


def test_the_arm_of_a_trial_is_none_of_the_lists_beside_it(tmp_path):
    rows = [
        {
            "pid": person.name,
            "arm": person.group,
            "choices": json.dumps(["timeout" if c is None else "AB"[c] for c in person.chosen]),
            "rewards": json.dumps(["" if r is None else str(r) for r in person.rewards]),
        }
        for person in PLAYERS
    ]
    reading = pn.read(saved(tmp_path, rows))
    assert reading.columns["chosen"] == "choices" and reading.group_columns == ("arm",)
    assert chosen_by(reading) == WANTED


def test_german_names_of_play_are_known(tmp_path):
    named = {"subject": "Versuchsperson", "group": "Gruppe", "trial": "Durchgang"}
    named |= {"choice": "Entscheidung", "reward": "Gewinn"}
    rows = [
        {named[key]: str(cell).replace(".", ",") for key, cell in row.items()}
        for row in rows_of(("links", "rechts"), "")
    ]
    reading = pn.read(saved(tmp_path, rows, delimiter=";", bom=True, end="\r\n"), decimal=",")
    assert reading.columns["chosen"] == "Entscheidung"
    assert chosen_by(reading) == WANTED


def test_french_names_of_delayed_amounts_are_known(tmp_path):
    rows = [
        {
            "Sujet": person.name,
            "Groupe": person.group,
            "Montant_immédiat": f"{sooner:.2f} €".replace(".", ","),
            "Montant_différé": f"{later:.2f} €".replace(".", ","),
            "Délai": f"{days} jours",
            "Choix": "" if option is None else ("immédiat", "différé")[option],
        }
        for person in SAVERS
        for option, (sooner, later, days) in zip(person.chosen, person.offers, strict=True)
    ]
    reading = pn.read(saved(tmp_path, rows, delimiter=";"), decimal=",")
    assert reading.kind == "offers"
    assert reading.data[0].offers["delay"][:, 1].tolist() == [o[2] for o in SAVERS[0].offers]
    assert chosen_by(reading) == [[-1 if c is None else c for c in p.chosen] for p in SAVERS]


def test_gambles_in_words_are_amounts_and_chances(tmp_path):
    rows = [
        {"id": who, "safe": f"${sure} for sure", "risky": words, "choice": taken}
        for who in "ab"
        for sure, words, taken in (
            (8, "50% chance of $20", "safe"),
            (5, "$12 with probability 0.75", "risky"),
            (9, "10% chance to win $40", f"{10}% chance to win $40"),
        )
    ]
    rows = [row for row in rows if row["choice"] in ("safe", "risky")]
    reading = pn.read(saved(tmp_path, rows))
    first = reading.data[0].offers
    assert first["outcome"].tolist() == [[8.0, 20.0], [5.0, 12.0]]
    assert first["probability"].tolist() == [[1.0, 0.5], [1.0, 0.75]]
    assert reading.data[0].chosen.tolist() == [0, 1]
    assert "safe, risky taken for an amount and a probability each" in reading.notes


def test_a_second_column_that_may_be_the_reward_is_asked_about(tmp_path):
    more = {"score": lambda option, reward: None if reward is None else 2 * reward}
    file = saved(tmp_path, rows_of("ab", "", "", **more))
    with pytest.raises(
        DataError, match=r"both be what a choice paid, in other units. Pass reward="
    ):
        pn.read(file)
    assert [pn.read(file, reward=name).columns["reward"] for name in ("reward", "score")] == [
        "reward",
        "score",
    ]


def test_a_running_total_is_no_reward(tmp_path):
    rows = [{("total_points" if k == "reward" else k): v for k, v in row.items()} for row in
            rows_of("ab", "")]  # fmt: skip
    with pytest.raises(DataError, match="total_points sounds like what was earned so far"):
        pn.read(saved(tmp_path, rows))


def test_titles_above_the_names_of_a_sheet_are_said_with_the_line(tmp_path):
    body = as_csv(rows_of("ab", ""))
    file = tmp_path / "sheet.csv"
    file.write_text("Experiment 2,,,,\nExported 2024-03-01,,,,\n,,,,\n" + body, encoding="utf-8")
    match = r"got a title, 'Experiment 2', and what look like names on line 4 \(subject, group"
    with pytest.raises(DataError, match=match):
        pn.read(file)
    file.write_text("Experiment 2\n\n" + body.replace(",", ";"), encoding="utf-8")
    with pytest.raises(DataError, match="Delete the lines above line 3"):
        pn.read(file)


def test_offers_that_stand_in_the_texts_of_questions_are_asked_for(tmp_path):
    rows = [
        {"ResponseId": person.name, "group": person.group}
        | {f"Q{t + 1}": ("$5 today", "$9 in 30 days")[c or 0] for t, c in enumerate(person.chosen)}
        for person in SAVERS
    ]
    with pytest.raises(DataError, match="columns Q1 to Q12 whose offers stand in the texts"):
        pn.read(saved(tmp_path, rows))


def test_an_option_without_a_probability_is_asked_about(tmp_path):
    rows = [
        {"subject": s, "amount_0": 5 + t, "amount_1": 20 - t, "probability_1": 0.5, "choice": t % 2}
        for s in "ab"
        for t in range(8)
    ]
    with pytest.raises(DataError, match=r"none of option 0, which .* for sure \(1\), or never \(0"):
        pn.read(saved(tmp_path, rows))
    told = [row | {"probability_0": 1.0} for row in rows]
    reading = pn.read(saved(tmp_path, told))
    assert reading.kind == "offers"
    assert reading.data[0].offers["probability"].tolist() == [[1.0, 0.5]] * 8
