"""`penchant ask`: the next offer, from a table of offers and one of answers."""

import io
import json

import numpy as np
import pytest

OFFERS = "amount_sooner,amount_later,delay_later\n" + "".join(
    f"{now},100,{days}\n" for days in (7, 30, 90) for now in range(10, 100, 10)
)
ASK = ["ask", "--model", "hyperbolic", "--about", "discount_rate", "--offers"]


@pytest.fixture
def offers(tmp_path):
    file = tmp_path / "offers.csv"
    file.write_text(OFFERS, encoding="utf-8")
    return str(file)


def test_the_row_of_the_next_offer_is_printed_and_what_is_known_said(penchant, offers, tmp_path):
    answers = tmp_path / "answers.csv"
    answers.write_text(
        "amount_sooner,amount_later,delay_later,choice\n40,100,30,1\n80,100,30,0\n60,100,30,0\n"
    )
    ended = penchant(*ASK, offers, "--answers", str(answers))
    assert ended.code == 0
    header, row = ended.out.splitlines()
    assert header == "amount_sooner,amount_later,delay_later"
    assert row in OFFERS
    assert "After 3 answers: discount_rate 0.0" in ended.err


def test_answers_that_do_not_exist_yet_are_none(penchant, offers, tmp_path):
    ended = penchant(*ASK, offers, "--answers", str(tmp_path / "none.csv"), "--json")
    found = json.loads(ended.out)
    assert "none yet, as" in ended.err
    assert found["posterior"]["n_answers"] == 0
    assert found["status"] == "not identified"
    assert set(found["offer"]) == {"amount", "delay"}
    assert found["enough"] is False


def test_nothing_is_printed_where_enough_is_known(penchant, offers):
    ended = penchant(*ASK, offers, "--enough", "100")
    assert (ended.code, ended.out) == (0, "")
    assert "Enough: the standard deviation is 100 or less." in ended.err


def test_attributes_have_weights_where_no_model_is_named(penchant, tmp_path):
    rng = np.random.default_rng(1)
    file = tmp_path / "menu.csv"
    cells = rng.uniform(1, 9, (12, 4)).round(2)
    rows = "\n".join(",".join(map(str, row)) for row in cells.tolist())
    file.write_text(f"price_1,price_2,size_1,size_2\n{rows}\n", encoding="utf-8")
    ended = penchant("ask", "--offers", str(file))
    assert ended.out.startswith("price_1,price_2,size_1,size_2\n")
    assert "After 0 answers: size" in ended.err


def test_a_conversation_keeps_every_answer(penchant, offers, tmp_path, monkeypatch):
    answers = tmp_path / "answers.csv"
    monkeypatch.setattr("sys.stdin", io.StringIO("2\nlater\n1\n\n"))
    ended = penchant(*ASK, offers, "--answers", str(answers), "--interactive")
    assert ended.code == 0
    kept = answers.read_text().splitlines()
    assert [line.rsplit(",", 1)[1] for line in kept] == ['"choice"', "1", "0"]
    assert "After 2 answers" in ended.err
    again = penchant(*ASK, offers, "--answers", str(answers))
    assert "After 2 answers" in again.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask"], "--offers must be given; got none"),
        (["ask", "--offers", "{}", "--interactive"], "--answers must be given with --interactive"),
        (["ask", "--offers", "{}", "--settings", "rates=1/2"], "--model must be given with"),
        (["ask", "--offers", "{}", "--model", "kalman"], "--model must be of one-shot choices"),
        (["ask", "--offers", "{}", "--model", "hyperbolic", "--about", "k"], "--about must name"),
    ],
)
def test_what_cannot_be_asked_is_refused(refused, offers, arguments, message):
    assert message in refused(*(word.format(offers) for word in arguments))
