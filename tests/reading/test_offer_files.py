"""Files of offers and of clinic tasks, one trap each: read as meant, or asked about."""

import csv
import io

import pyarrow as pa
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.tables.questions import KIRBY


def repeated(rows, people=("ann", "bob")):
    """The rows of one person, for everybody."""
    return pa.Table.from_pylist([{"id": who, **row} for who in people for row in rows])


def test_training_is_left_out_where_gambles_are_called_win_and_lose():
    real = [
        {"stage": "experiment", "win": 10 + t, "lose": -(5 + 7 * t % 11), "is_take": t % 2}
        for t in range(8)
    ]
    reading = pn.read(repeated([{**real[0], "stage": "training"}, *real]))
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
        pn.read(repeated(rows))
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
    assert [one.subject for one in pn.read(file).data] == ["R_1", "R_3"]


def test_questions_about_people_are_no_attribute_of_offers(tmp_path):
    file = tmp_path / "survey.csv"
    file.write_text(questioned(Q1=("31", "28", "50"), Q2=("f", "m", "f")), encoding="utf-8")
    reading = pn.read(file)
    assert reading.kind == "offers"
    assert len(reading.data) == 3


def test_a_first_line_of_values_is_no_header(tmp_path):
    file = tmp_path / "data.txt"
    file.write_text("main 1 16 0 20 60 1 1798\nmain 2 11 0 40 30 2 905\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"first line; got values \(main, 1, 16, .* Add a header"):
        pn.read(file, delimiter=" ")
    file.write_text("id,7,30,90,180\na,9,8,6,5\n", encoding="utf-8")
    with pytest.raises(DataError, match="kind must be told by its columns"):
        pn.read(file)


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
    reading = pn.read(kirby_answers(code))
    assert "kirby1 to kirby27 taken for the 27 items" in reading.summary()
    first = reading.data[0]
    assert first.offers["amount"][0].tolist() == [54.0, 55.0]
    assert first.offers["delay"][2].tolist() == [0.0, 53.0]
    assert [int(one.chosen.sum()) for one in reading.data] == WAITED


def test_answers_that_go_against_the_usual_order_are_asked_about():
    table = kirby_answers((1, 0))
    with pytest.raises(DataError, match=r"answer 0.*answer 1") as asked:
        pn.read(table)
    reading = pn.read(table, options=["answer 1", "answer 0"])
    assert [int(one.chosen.sum()) for one in reading.data] == WAITED


def test_answers_that_repeat_the_amounts_are_read_by_them():
    table = kirby_answers((0, 1))
    for i, (now, later, days) in enumerate(KIRBY):
        cells = table[f"kirby{i + 1}"].to_pylist()
        words = [f"£{later} in {days} days" if cell else f"£{now} today" for cell in cells]
        table = table.set_column(i + 1, f"kirby{i + 1}", pa.array(words))
    assert [int(one.chosen.sum()) for one in pn.read(table).data] == WAITED


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
        pn.read(table)
    assert "attributes='C(brand) + C(price)' for the first" in str(asked.value)
    assert len(pn.read(table, attributes="C(brand) + C(price)").data.names) == 5
    assert len(pn.read(table, attributes="brand + price").data.names) == 2
