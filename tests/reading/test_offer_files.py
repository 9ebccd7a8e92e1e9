"""Files of offers and of clinic tasks, one trap each: read as meant, or asked about."""

import ast
import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from penchant.tables.questions import KIRBY
from penchant.tables.surveys import wide_layout

from penchant.errors import DataError
from penchant.reading.read import read_by_arguments as by_args


def repeated(rows, people=("ann", "bob")):
    """The rows of one person, for everybody."""
    return pa.Table.from_pylist([{"id": who, **row} for who in people for row in rows])


def test_training_is_left_out_where_gambles_are_called_win_and_lose():
    real = [
        {"stage": "experiment", "win": 10 + t, "lose": -(5 + 7 * t % 11), "is_take": t % 2}
        for t in range(8)
    ]
    reading = by_args(repeated([{**real[0], "stage": "training"}, *real]))
    assert [one.n_decisions for one in reading.data] == [8, 8]
    assert "2 rows left out: practice (stage is 'training')" in reading.summary()


def test_numbers_are_asked_about_where_columns_tell_of_left_and_right_under_other_names():
    rows = [
        {
            **{"A_getsGauche": 3 + t, "B_getsGauche": 9 - t % 5},
            **{"A_getsDroite": 8 - t % 3, "B_getsDroite": 4 + t % 7, "choice": 1 + t % 2},
        }
        for t in range(12)
    ]
    with pytest.raises(DataError, match=r"what '1', '2' in choice mean, .*Gauche") as asked:
        by_args(repeated(rows))
    assert "Pass options={'1': 'getsGauche', '2': 'getsDroite'}" in str(asked.value)


def questioned(status="0", **more):
    """Answers to questions that are offers, below the three header rows of Qualtrics."""
    texts = [f"${10 + t} now or ${20 + 2 * t} in {30 + t} days" for t in range(6)]
    names = [f"Q{t + 4}" for t in range(6)]
    own = ["StartDate", "RecordedDate", "Status", "ResponseId", *more]
    rows = [
        [*own, *names],
        [*own, *texts],
        [f'{{"ImportId":"QID{k}"}}' for k in range(len(own) + 6)],
    ]
    for who, kind in (("R_1", "0"), ("R_2", status), ("R_3", "0")):
        given = [cells[int(who[-1]) - 1] for cells in more.values()]
        rows.append(["2024", "2024", kind, who, *given, *(str(1 + t % 2) for t in range(6))])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def test_previews_of_a_survey_are_left_out_by_their_number_too(tmp_path):
    file = tmp_path / "survey.csv"
    file.write_text(questioned(status="1"), encoding="utf-8")
    assert [one.subject for one in by_args(file).data] == ["R_1", "R_3"]


def test_questions_about_people_are_no_attribute_of_offers(tmp_path):
    file = tmp_path / "survey.csv"
    file.write_text(questioned(Q1=("31", "28", "50"), Q2=("f", "m", "f")), encoding="utf-8")
    reading = by_args(file)
    assert reading.kind == "offers"
    assert len(reading.data) == 3


def test_a_first_line_of_values_is_no_header(tmp_path):
    file = tmp_path / "data.txt"
    file.write_text("main 1 16 0 20 60 1 1798\nmain 2 11 0 40 30 2 905\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"first line; got values \(main, 1, 16, .* Add a header"):
        by_args(file, delimiter=" ")
    file.write_text("id,7,30,90,180\na,9,8,6,5\n", encoding="utf-8")
    with pytest.raises(DataError, match="kind must be told by its columns"):
        by_args(file)


WAITED = [21, 12, 5]  # items of 27, by rate


def kirby_answers(code, rates=(0.001, 0.01, 0.1)):
    """Items of the Monetary Choice Questionnaire, answered by people with these rates."""
    return pa.Table.from_pylist(
        [
            {"id": f"s{k}"}
            | {
                f"kirby{i + 1}": code[int(later / (1 + rate * days) > now)]
                for i, (now, later, days) in enumerate(KIRBY)
            }
            for k, rate in enumerate(rates)
        ]
    )


@pytest.mark.parametrize("code", [(0, 1), (1, 2), ("SIR", "LDR"), ("now", "later")])
def test_items_of_the_monetary_choice_questionnaire_are_known(code):
    reading = by_args(kirby_answers(code))
    assert "kirby1 to kirby27 taken for the 27 items" in reading.summary()
    first = reading.data[0]
    assert first.offers["amount"][0].tolist() == [54.0, 55.0]
    assert first.offers["delay"][2].tolist() == [0.0, 53.0]
    assert [int(one.chosen.sum()) for one in reading.data] == WAITED


def test_answers_that_go_against_the_usual_order_are_asked_about():
    table = kirby_answers((1, 0))
    with pytest.raises(DataError, match=r"answer 0.*answer 1"):
        by_args(table)
    reading = by_args(table, options=["answer 1", "answer 0"])
    assert [int(one.chosen.sum()) for one in reading.data] == WAITED


def test_answers_that_repeat_the_amounts_are_read_by_them():
    table = kirby_answers((0, 1))
    for i, (now, later, days) in enumerate(KIRBY):
        cells = table[f"kirby{i + 1}"].to_pylist()
        words = [f"£{later} in {days} days" if cell else f"£{now} today" for cell in cells]
        table = table.set_column(i + 1, f"kirby{i + 1}", pa.array(words))
    assert [int(one.chosen.sum()) for one in by_args(table).data] == WAITED


def test_attributes_that_count_from_one_are_asked_about():
    rows = [
        {"sys_RespNum": who, "Task": t, "Concept": c + 1, "brand": 1 + (t + c) % 3}
        | {"price": 1 + (t * c + who) % 4, "Response": int(c == t % 3)}
        for who in (1, 2)
        for t in range(12)
        for c in range(3)
    ]
    table = pa.Table.from_pylist(rows)
    with pytest.raises(DataError, match="codes of levels, as designs have them") as asked:
        by_args(table)
    assert "attributes='C(brand) + C(price)' for the first" in str(asked.value)
    assert len(by_args(table, attributes="C(brand) + C(price)").data.names) == 5
    assert len(by_args(table, attributes="brand + price").data.names) == 2


def explored(first, second, state=None, *, coins="reward", codes=(1, 2), states=("2", "3")):
    """Trials of two steps: the option k mostly leads to the state 1 - k of these."""
    rng = np.random.default_rng(3)
    rows = []
    for who in ("ann", "bob"):
        for _ in range(60):
            ship, alien = rng.integers(2, size=2)
            planet = 1 - ship if rng.random() < 0.7 else ship
            row = {"id": who, first: codes[ship]}
            row |= {second: codes[alien]} if state else {second: int(1 + 2 * planet + alien)}
            row |= {state: states[planet]} if state else {}
            rows.append(row | {coins: int(rng.random() < 0.5)})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize(
    "columns",
    [
        ("choice1", "choice2", "state2"),
        ("stage1_choice", "stage2_choice", "stage2_state"),
        ("ch1", "ch2", "state"),
        ("firstStageChoice", "secondStageChoice", "secondStageState"),
        ("spaceship", "alien", "planet"),
    ],
)
def test_two_steps_are_known_under_other_names_and_states_follow_the_first_choice(columns):
    table = explored(*columns)
    reading = by_args(table)
    assert "taken for the task two-step" in reading.summary()
    one = reading.data[0]
    first, second, state = (table[name].to_pylist()[:60] for name in columns)
    assert one.chosen[::2].tolist() == [cell - 1 for cell in first]
    assert one.chosen[1::2].tolist() == [cell - 1 for cell in second]
    assert one.before["state"][1::2].tolist() == [{"3": 1.0, "2": 2.0}[cell] for cell in state]
    assert one.rewards[1::2].tolist() == table["reward"].to_pylist()[:60]


def test_two_steps_are_read_by_words_and_by_four_numbers_of_the_second_choice():
    words = by_args(explored("choice1", "choice2", "state2", codes=("left", "right")))
    numbers = by_args(explored("choice1", "choice2"))
    assert words.data[0].chosen.tolist() == numbers.data[0].chosen.tolist()
    assert words.data[0].before["state"].tolist() == numbers.data[0].before["state"].tolist()


def test_the_reward_of_two_steps_is_asked_for_where_no_name_tells():
    table = explored("choice1", "choice2", "state2", coins="treasure")
    with pytest.raises(DataError, match=r"are columns of the task two-step.* reward='treasure'"):
        by_args(table)
    reading = by_args(table, reward="treasure")
    assert reading.data[0].rewards[1::2].tolist() == table["treasure"].to_pylist()[:60]


def cued(go, pressed="response", who="id"):
    """Trials of go and no-go at four cues, the last two of which threaten."""
    rng = np.random.default_rng(4)
    rows = []
    for name in ("ann", "bob", "cem"):
        for _ in range(40):
            cue, press = int(rng.integers(4)), int(rng.integers(2))
            paid = int(rng.integers(2)) - (cue > 1)
            rows.append({who: name, "stimulus": "abcd"[cue], pressed: go[press], "outcome": paid})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize(
    ("pressed", "go"),
    [
        ("response", ("nogo", "go")),
        ("action", ("No-Go", "Go")),
        ("pressed", (0, 1)),
        ("made_response", ("FALSE", "TRUE")),
        ("resp", (None, "space")),
    ],
)
def test_go_and_no_go_are_known_under_other_names_and_keep_their_cues(pressed, go):
    table = cued(go, pressed)
    reading = by_args(table)
    assert "taken for the task go-no-go" in reading.summary()
    one = reading.data[0]
    cues = ["abcd".index(cell) for cell in table["stimulus"].to_pylist()[:40]]
    assert one.before["cue"].tolist() == cues
    assert one.chosen.tolist() == [int(c == go[1]) for c in table[pressed].to_pylist()[:40]]


def test_a_press_that_was_not_recorded_is_none(tmp_path):
    table = cued((0, 1), "pressed")
    cells = table["pressed"].to_pylist()
    cells[3] = None
    reading = by_args(table.set_column(2, "pressed", pa.array(cells)))
    assert [one.n_events for one in reading.data] == [39, 40, 40]


def test_zeros_and_ones_at_cues_that_promise_and_threaten_are_asked_about():
    table = cued((0, 1))
    with pytest.raises(DataError, match="gains where stimulus is one thing and losses") as asked:
        by_args(table)
    assert "Pass task='go-no-go' for the first, or chosen='response'" in str(asked.value)
    assert by_args(table, task="go-no-go").model == "models.GoNoGo()"
    assert by_args(table, chosen="response").model == "QLearning(n_options=2)"


def test_who_people_are_is_asked_for_in_named_tasks_too():
    table = cued(("nogo", "go"), who="token")
    with pytest.raises(DataError, match="subject='token' if that names them"):
        by_args(table)
    assert len(by_args(table, subject="token").data) == 3
    assert len(by_args(table, subject="none").data) == 1


def cards(n=40):
    rng = np.random.default_rng(5)
    return [
        {"trial": t, "deck": "ABCD"[int(rng.integers(4))], "reward": 50 + 50 * int(t % 2)}
        | {"penalty": 250 * int(t % 5 == 0)}
        for t in range(n)
    ]


def test_penalties_beside_rewards_are_asked_about():
    table = repeated(cards())
    with pytest.raises(DataError, match=r"Pass reward=\('reward', 'penalty'\) for the first"):
        by_args(table)
    reading = by_args(table, reward=("reward", "penalty"))
    assert reading.data[0].rewards[:2].tolist() == [-200.0, 100.0]
    assert by_args(table, reward="reward").data[0].rewards[:2].tolist() == [50.0, 100.0]


def test_one_row_before_the_play_of_everybody_is_asked_about():
    rows = [{"part": "try" if t == 0 else "go", **row} for t, row in enumerate(cards())]
    for row in rows:
        del row["penalty"]
    with pytest.raises(DataError, match="everybody's first rows have 'try' in part"):
        by_args(repeated(rows))
    kept = by_args(repeated(rows), where="part != 'try'")
    assert [one.n_decisions for one in kept.data] == [39, 39]


@pytest.mark.parametrize("who", ["id", ""])
def test_matrices_of_choices_wins_and_losses_are_taken_side_by_side(tmp_path, who):
    rows = [cards(20), cards(20)[::-1]]
    parts = {"choice": "deck", "win": "reward", "loss": "penalty"}
    for part, name in parts.items():
        out = [",".join([who, *(f"{part}_{k + 1}" for k in range(20))])]
        out += [f"s{p},{','.join(str(r[name]) for r in own)}" for p, own in enumerate(rows)]
        (tmp_path / f"{part}.csv").write_text("\n".join(out) + "\n", encoding="utf-8")
    reading = by_args(tmp_path)
    assert "taken side by side" in reading.summary()
    assert [one.subject for one in reading.data] == ["s0", "s1"]
    paid = [row["reward"] - row["penalty"] for row in rows[0]]
    assert reading.data[0].rewards.tolist() == paid


def ranked(numbers=False, long=False, most="best", least="worst"):
    """Sets of three things of four, with the best and the worst one."""
    rng = np.random.default_rng(6)
    rows = []
    for who in ("ann", "bob"):
        for t in range(12):
            shown = [str(one) for one in rng.permutation(["fig", "kiwi", "pear", "plum"])[:3]]
            best, worst = (int(k) for k in rng.permutation(3)[:2])
            told = [k + 1 if numbers else shown[k] for k in (best, worst)]
            row = {"id": who, "set": t}
            if long:
                flags = [{most: int(k == best), least: int(k == worst)} for k in range(3)]
                rows += [row | {"item": shown[k]} | flags[k] for k in range(3)]
            else:
                row |= {f"item{k + 1}": shown[k] for k in range(3)}
                rows.append(row | {most: told[0], least: told[1]})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("how", [{}, {"numbers": True}, {"long": True}])
def test_of_the_best_and_the_worst_one_is_asked_for_and_read(how):
    for names in (("best", "worst"), ("most_liked", "least_liked")):
        table = ranked(**how, most=names[0], least=names[1])
        with pytest.raises(DataError, match=f"Pass chosen='{names[0]}', or chosen='{names[1]}'"):
            by_args(table)
        for k, name in enumerate(names):
            reading = by_args(table, chosen=name, attributes="item")
            assert reading.data.n_decisions == 24
            assert f"{names[1 - k]} not used" in reading.summary()
    same = by_args(ranked(), chosen="best", attributes="item").data
    other = by_args(ranked(**how), chosen="best", attributes="item").data
    taken = [one.explanatory[one.first_row[:-1] + one.chosen].tolist() for one in (same, other)]
    assert taken[0] == taken[1]


def test_a_condition_with_an_apostrophe_can_be_typed_as_it_is_printed():
    rows = [
        {"A_price": 3 + t, "B_price": 9 - t, "A_size": t % 4, "B_size": (t + 2) % 5}
        | {"choice": ("A", "B", "didn't answer")[2 if t == 5 else t % 2]}
        for t in range(9)
    ]
    table = repeated(rows)
    with pytest.raises(DataError, match="didn't answer") as asked:
        by_args(table)
    typed = str(asked.value).partition("where=")[2]
    condition = ast.literal_eval(typed[: typed.index(" to leave")])
    assert by_args(table, where=condition).data.n_decisions == 16


def sides(odd=None):
    """Rewards and efforts of easy and hard work, whose places change."""
    rows = [
        {"easy_pay": 2, "easy_steps": 1, "hard_pay": 3 + t % 5, "hard_steps": 2 + t % 4}
        | {"hard_side": ("left", "right")[t % 3 == 0], "choice": ("left", "right")[t % 2]}
        for t in range(16)
    ]
    if odd is not None:
        rows[3]["choice"] = odd
    return repeated(rows)


def test_a_word_beside_two_sides_is_no_side():
    with pytest.raises(DataError, match=r"choice \(left, right\) is a place, and hard_side"):
        by_args(sides("void"))
    hard = "choice == hard_side"
    with pytest.raises(DataError, match=f"'void' in {hard} can be read in two ways"):
        by_args(sides("void"), chosen=hard)
    kept = by_args(sides("void"), chosen=hard, where=f"`{hard}` != 'void'")
    whole = by_args(sides(), chosen=hard)
    assert (kept.data.n_decisions, whole.data.n_decisions) == (30, 32)


def test_an_option_between_two_words_is_on_offer_or_not():
    rows = [
        {f"{m}_cost": 3 + (t + k) % 5 if on else 0 for k, (m, on) in enumerate(shown)}
        | {f"{m}_time": 9 - (t + 2 * k) % 4 if on else 0 for k, (m, on) in enumerate(shown)}
        | {f"is_{m}_available": int(on) for m, on in shown}
        | {"choice": ("bus", "car")[t % 2]}
        for t in range(12)
        for shown in [[("bus", True), ("car", True), ("tram", t % 3 > 0)]]
    ]
    reading = by_args(repeated(rows))
    assert reading.data.names == ("cost", "time")
    assert sorted({*np.diff(reading.data.first_row).tolist()}) == [2, 3]


def test_a_price_is_no_amount_that_one_gets():
    rows = [
        {"A_premium_amt": 3 + t % 4, "A_delay": 5 + t % 3, "B_premium_amt": 6 - t % 5}
        | {"B_delay": 9 - t % 4, "choice": "AB"[t % 2]}
        for t in range(12)
    ]
    assert by_args(repeated(rows)).kind == "choices"


def test_a_gain_with_a_chance_is_asked_about():
    rows = [
        {"risk_prob": (0.25, 0.5, 0.75)[t % 3], "gain_amt": 5 + t, "chose_gamble": t % 2}
        for t in range(12)
    ]
    with pytest.raises(
        DataError, match="what each choice paid, or what was offered with risk_prob"
    ):
        by_args(repeated(rows))


def test_a_word_beside_a_flag_is_asked_about():
    rows = [{"won": t % 3, "chose_gamble": "void" if t == 4 else str(t % 2)} for t in range(12)]
    with pytest.raises(DataError, match="'void' beside 'gamble' and its opposite"):
        by_args(repeated(rows))


def test_keys_that_look_like_codes_are_options_where_there_is_only_one_other():
    rows = [
        {"soon": 20 + t, "late": 40 + t, "days": 30 + t, "key": (9, 1)[t % 2]} for t in range(8)
    ]
    known = {"offers": {"amount": ["soon", "late"], "delay": [0, "days"]}, "chosen": "key"}
    with pytest.raises(DataError, match="options must say what '9', '1' in key mean"):
        by_args(repeated(rows), **known)
    reading = by_args(repeated(rows), **known, options=[9, 1])
    assert reading.data[0].chosen.tolist() == [0, 1] * 4


def test_a_first_part_is_asked_about_whatever_its_column_shares_a_word_with():
    table = explored("stage_1_choice", "stage_2_choice", "stage_2_state")
    rows = [
        {"stage_label": "einuebung" if k % 60 == 0 else "messung", **row}
        for k, row in enumerate(table.to_pylist())
    ]
    with pytest.raises(DataError, match="everybody's first rows have 'einuebung' in stage_label"):
        by_args(pa.Table.from_pylist(rows))


def test_an_option_of_zeros_that_nobody_took_is_asked_about():
    rows = [
        {"task": t, "concept": c + 1, "price": (2 + t % 3, 5 - t % 2, 0)[c]}
        | {"colour": ("red", "blue", "0")[c if t % 2 else (1, 0, 2)[c]], "chosen": int(c == t % 2)}
        for t in range(12)
        for c in range(3)
    ]
    with pytest.raises(
        DataError, match="option 3 has 0 in colour, where others have words"
    ) as asked:
        by_args(repeated(rows))
    assert 'where="concept != 3" to leave it out' in str(asked.value)
    assert by_args(repeated(rows), where="concept != 3").data.names == (
        "price",
        "colour:red",
    )


def test_words_that_differ_in_a_sign_alone_are_as_many_as_they_are():
    names, words = ["cost_A", "cost_B"], ["0", "1", "-1"]
    assert wide_layout(names, words, options=words) is None
    assert wide_layout(names, words[1:], options=words[1:]).words == {"1": "A", "-1": "B"}
