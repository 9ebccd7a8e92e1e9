"""Advice in the task: said before a choice is taken, kept apart from it, shown and deleted."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("starlette", reason="no server: pip install 'penchant[task]'")

import penchant as pn
from penchant.assistance.shared_autonomy import Advice, Helper
from penchant.errors import DataError
from penchant.task import session_states
from penchant.task.export import export
from penchant.task.session_states import RefusedError, is_assisted
from penchant.task.study_plan import read_study_text
from task.conftest import PLAIN, come, take

PREFIX = "/api/v1"
BLOCK = """
[[block]]
task = "grid"
decisions = 3
width = 5
height = 3
means = [3, 7, 12, 18, 21, 5, 9, 15, 22, 26, 4, 8, 13, 19, 24]
landscape = "slope"
advice = "suggest"
advice_mean = 15
advice_sd = 8
"""
ADVISED = '[study]\nname = "advised"\nseed = 11\n' + BLOCK + BLOCK


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    monkeypatch.setattr(session_states, "MAX_ADVICE_SECONDS", np.inf)


@pytest.fixture
def suggesting(monkeypatch):
    """A machine that always suggests square 9, whatever it knows."""
    real = Helper._advise

    def advice(self, option, u):
        if not self.is_assisted or option == 9:
            return real(self, option, u)
        reason = f"Near option 9 you found 26: 26 is expected there, and 7 at {option}."
        return Advice(9, "suggest", reason, 19.0, (12.0, 26.0), 0.97, 0.2, 0.6)

    monkeypatch.setattr(Helper, "_advise", advice)


def through_the_first_block(service, token):
    for t, option in enumerate((9, 8, 9)):
        said = service.advise_on_proposal(token, 0, t, option, window_number=None)
        assert said["kind"] == "silent" and said["option"] is None
        take(service, token, t, option)
    service.begin_block(token, block=1, decision=0, window_number=None).result()


def assisted(serving, file):
    """A study whose second block goes with assistance for the first who come."""
    service = serving(file, ADVISED)
    for k in range(20):
        token = come(service, f"p{k}")
        through_the_first_block(service, token)
        if service.session_state(token).result()["block"]["assisted"]:
            return service, token
    raise AssertionError("nobody is assisted")


def test_advice_is_off_unless_the_study_file_says_suggest(serving, file):
    assert read_study_text(PLAIN).cells[0].blocks[0].advice == "off"
    service = serving(file)
    token = come(service)
    assert service.session_state(token).result()["block"]["advice"] is False
    with pytest.raises(RefusedError, match="this block goes without advice"):
        service.advise_on_proposal(token, 0, 0, 3, window_number=None)


def test_advice_needs_a_grid_and_what_rewards_are_expected():
    with pytest.raises(DataError, match="advice_sd must be given with advice"):
        read_study_text(ADVISED.replace("advice_sd = 8\n", ""))
    with pytest.raises(DataError, match="advice must be off unless the task is a grid"):
        read_study_text(ADVISED.replace("decisions = 3", "decisions = 3\nseconds = 2"))


def test_proposal_and_execution_are_stored_and_exported_apart(serving, file, suggesting, tmp_path):
    service, token = assisted(serving, file)
    said = service.advise_on_proposal(token, 1, 0, 1, window_number=None)
    assert (said["kind"], said["option"], said["p_better"]) == ("suggest", 9, 0.97)
    assert "row 2, column 5" in said["reason"] and "at row 1, column 2." in said["reason"]
    assert len(said["map"]) == len(said["map_sd"]) == 15
    with pytest.raises(RefusedError, match="must be what was proposed or advised"):
        take(service, token, 0, 4, block=1)
    take(service, token, 0, 9, block=1)  # accepted
    service.advise_on_proposal(token, 1, 1, 2, window_number=None)
    take(service, token, 1, 2, block=1)  # own
    folder = tmp_path / "out"
    export(service.store, folder)
    (table,) = (folder / "data").glob("*.csv")
    with table.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["block"] == "block-2"]
    assert [(row["chosen"], row["executed"], row["advised"]) for row in rows] == [
        ("1", "9", "9"),
        ("2", "2", "9"),
    ]
    assert rows[0]["p_better"] == "0.97" and "expected there" in rows[0]["advice_reason"]
    read = pn.read(table, base=0).data
    both = [(episode.chosen.tolist(), episode.executed.tolist()) for episode in read]
    assert ([1, 2], [9, 2]) in both and ([9, 8, 9], [9, 8, 9]) in both


def test_the_same_proposal_again_gives_the_same_advice_and_another_is_refused(
    serving, file, suggesting
):
    service, token = assisted(serving, file)
    said = service.advise_on_proposal(token, 1, 0, 1, window_number=None)
    assert service.advise_on_proposal(token, 1, 0, 1, window_number=None) == said
    assert (
        service.session_state(token).result()["proposal"] == said
    )  # for a page that is loaded again
    with pytest.raises(RefusedError, match="1 was proposed"):
        service.advise_on_proposal(token, 1, 0, 2, window_number=None)
    with pytest.raises(RefusedError):
        service.advise_on_proposal(token, 1, 1, 2, window_number=None)  # not the next decision


def test_a_server_that_was_killed_says_the_same_as_one_that_was_not(serving, file):
    service, token = assisted(serving, file)
    service.advise_on_proposal(token, 1, 0, 4, window_number=None)
    take(service, token, 0, 4, block=1)
    again = serving(file, ADVISED)  # knows nothing but the store
    said = [one._advisers.advice(asked(one, token, 1, 1, 7)) for one in (service, again)]
    for one in said:
        one.pop("ms")
    assert said[0] == said[1]


def test_beliefs_move_with_what_was_done_however_they_are_made(serving, file, suggesting):
    """By the server that saw it, by one that was started later, and by the machine alone."""
    service, token = assisted(serving, file)
    service.advise_on_proposal(token, 1, 0, 1, window_number=None)
    take(service, token, 0, 9, block=1)  # accepted
    again = serving(file, ADVISED)
    wanted = asked(service, token, 1, 1, 7)
    alone = session_states._make_adviser(wanted.cell.blocks[1], wanted.seed)
    for row in wanted.rows:
        if row["block"] > alone.episode_number:
            alone.end_episode()
        alone.proposed(row["proposed"])
        alone.executed(row["option"], row["reward"])
    alone.proposed(7)
    assert wanted.rows[-1]["proposed"] == 1 and wanted.rows[-1]["option"] == 9
    for one in (service, again):
        said = one._advisers.advice(asked(one, token, 1, 1, 7))
        assert said["map"] == [round(float(value), 2) for value in alone.belief()]
        assert said["trust"] == alone.effective_trust


def asked(service, token, block, decision, option):
    """What the machine is asked, without keeping its answer."""

    def look(connection, session, now):
        cell = service._condition_of_session(session)
        rows = service._decisions_with_advice(connection, session, cell)
        seed = advising_seed(service, session)
        return session_states.AdviceRequest(
            session.session, seed, cell, block, decision, option, rows
        )

    return service._run_in_transaction(token, look).result()


def advising_seed(service, session):
    from penchant.task.choice_tasks import random_integer

    return random_integer(2**31, service._seed_of_session(session), "advice", session.session)


def test_advice_that_is_late_is_not_given_and_says_so(serving, file, suggesting, monkeypatch):
    service, token = assisted(serving, file)
    monkeypatch.setattr(session_states, "MAX_ADVICE_SECONDS", -1.0)
    said = service.advise_on_proposal(token, 1, 0, 1, window_number=None)
    assert said["option"] is None and "came too late" in said["reason"]


def test_blocks_without_assistance_are_those_that_the_machine_draws():
    model = pn.UCL(locations=pn.grid(3, 2), noise_variance=4.0, length_scale=2.0)
    field = pn.Field(pn.grid(3, 2), mean=10, sd=5, length_scale=1, noise_variance=4)
    helper = pn.assist(model, field, rng=7)
    for episode in range(9):
        assert helper.is_assisted == is_assisted(7, episode)
        helper.proposed(2)
        helper.executed(2, 9.0)
        helper.end_episode()


def test_routes_give_advice_and_show_its_log_until_it_is_deleted(client, serving, file):
    service = serving(file, ADVISED)
    token = come(service)
    one = client(service=service)
    headers = {"authorization": f"Bearer {token}"}
    body = {"block": 0, "decision": 0, "option": 3}
    reply = one.post(f"{PREFIX}/session/proposals", json=body, headers=headers)
    assert reply.status_code == 200 and reply.json()["kind"] == "silent"
    assert "without assistance" in reply.json()["reason"]
    log = one.get(f"{PREFIX}/session/advice", headers=headers).json()["advice"]
    assert [(row["decision"], row["proposed"]) for row in log] == [(0, 3)]
    wrong = one.post(f"{PREFIX}/session/proposals", json={**body, "x": 1}, headers=headers)
    assert wrong.status_code == 422
    far = one.post(f"{PREFIX}/session/proposals", json={**body, "option": 15}, headers=headers)
    assert far.status_code == 409  # 3 was proposed
    one.post(f"{PREFIX}/session/withdraw", json={}, headers=headers)
    assert one.get(f"{PREFIX}/session/advice", headers=headers).json()["advice"] == []
    assert json.loads(reply.text)["ms"] >= 0
