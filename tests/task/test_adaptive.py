"""Offers chosen by the answers: over HTTP, after a restart, in the export."""

import csv

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")
pytest.importorskip("starlette", reason="penchant[task] is not installed")
pytest.importorskip("httpx", reason="penchant[test] is not installed")

import penchant as pn
from penchant.errors import DataError
from penchant.task.export import export
from penchant.task.study_plan import read_study_text

PREFIX = "/api/v1"
OFFERS = [(now, days) for days in (7, 30, 120) for now in range(10, 100, 15)]
ADAPTIVE = """
[study]
name = "asked"
seed = 3
[[block]]
task = "offers"
order = "adaptive"
decisions = 6
about = ["discount_rate"]
""" + "".join(
    f"[[block.offer]]\namount = [{now}, 100]\ndelay = [0, {days}]\n" for now, days in OFFERS
)


def asked():
    numbers = np.array(OFFERS, dtype=float)
    return pn.ask(
        pn.HyperbolicDiscounting(),
        {
            "amount": np.column_stack([numbers[:, 0], np.full(len(OFFERS), 100.0)]),
            "delay": np.column_stack([np.zeros(len(OFFERS)), numbers[:, 1]]),
        },
        about="discount_rate",
        repeats=False,
    )


def test_every_offer_over_http_is_the_one_that_tells_most_and_none_comes_twice(client):
    one = client(ADAPTIVE)
    reply = one.post(f"{PREFIX}/sessions", json={"id": "anna"}).json()
    headers = {"authorization": f"Bearer {reply['token']}"}
    begun = one.post(f"{PREFIX}/session/begin", json={"block": 0, "decision": 0}, headers=headers)
    state = begun.json()
    assert state["block"]["decisions"] == 6
    asker, offer, seen = asked(), state["offer"], []
    for t in range(6):
        expected = asker.next()
        assert expected == offer
        seen.append(expected.number)
        worth = 100 / (1 + 0.03 * offer["delay"][1])
        option = int(worth > offer["amount"][0])
        body = {"block": 0, "decision": t, "option": option}
        answer = one.post(f"{PREFIX}/session/decisions", json=body, headers=headers).json()
        again = one.post(f"{PREFIX}/session/decisions", json=body, headers=headers).json()
        assert answer.get("next") == again.get("next")
        asker.answer(offer, option)
        offer = answer["next"]["offer"] if t < 5 else None
    assert len(set(seen)) == 6
    assert answer["state"]["stage"] == "end"


def test_a_restart_goes_on_with_the_same_offer_and_the_export_tells_what_was_offered(
    serving, file, tmp_path
):
    service = serving(file, ADAPTIVE)
    token = service.start_session("anna").result()["token"]
    offer = service.begin_block(token, block=0, decision=0, window_number=None).result()["offer"]
    from penchant.task.session_service import Choice

    made = []
    for t in range(6):
        made.append(offer)
        option = int(offer["amount"][0] < 40)
        reply = service.record_choice(token, Choice(0, t, option), window_number=None).result()
        if t == 2:
            service = serving(file, ADAPTIVE)
            assert service.session_state(token).result()["offer"] == reply["next"]["offer"]
        offer = reply["next"]["offer"] if t < 5 else None
    export(service.store, tmp_path / "out")
    (data,) = (tmp_path / "out" / "data").glob("*_data.csv")
    with data.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    exported = [[float(row["amount_1"]), float(row["delay_2"])] for row in rows]
    assert exported == [[o["amount"][0], o["delay"][1]] for o in made]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('order = "adaptiv"', "block 1: order must be one of listed, adaptive; got 'adaptiv'"),
        ('order = "adaptive"\nmodel = "kalman"', "block 1: model must be one of hyperbolic"),
        ('order = "adaptive"\nabout = ["rate"]', "about must name parameters of the model"),
        ('order = "adaptive"\ndecisions = 3', "block 1: decisions must be a whole number from 1"),
        ('order = "adaptive"\nmodel = "prospect"', "offers must have outcome and probability"),
    ],
)
def test_settings_of_adaptive_offers_are_checked_with_their_line(given, words):
    text = f"[[block]]\ntask = 'offers'\n{given}\n"
    text += "[[block.offer]]\namount=[20, 50]\ndelay=[0, 30]\n" * 2
    with pytest.raises(DataError, match=words):
        read_study_text(text)
