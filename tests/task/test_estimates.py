"""Live estimates beside the server, the researcher's stream, and the interface of other pages."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="penchant[task] is not installed")

from penchant.bandit.episode import Episode
from penchant.bandit.landscape import grid
from penchant.errors import DataError
from penchant.inference.fit import fit
from penchant.models.learning.q_learning import QLearning
from penchant.models.spatial.ucl import UCL
from penchant.task.estimation_worker import (
    SessionEstimator,
    live_model_settings,
    run_estimation_worker,
)
from penchant.task.live_estimates import check_model_settings
from penchant.task.simulated_players import Client, Player
from task.conftest import PLAIN, come, take

BANDIT = """
[study]
seed = 2
[[block]]
task = "bandit"
decisions = 25
means = [30, 60]
[[block]]
task = "bandit"
decisions = 25
means = [55, 35]
"""


def played(service, who, options, block=0):
    token = come(service, who)
    return [take(service, token, t, option)["decision"] for t, option in enumerate(options)]


def test_the_live_estimate_is_the_fit_of_what_is_stored(serving, file):
    text = PLAIN.replace("decisions = 4", "decisions = 30")
    service = serving(file, text)
    options = np.random.default_rng(3).integers(0, 15, 24)
    rows = played(service, "anna", [int(option) for option in options])
    watch = SessionEstimator(service.store)
    (session,) = watch.sessions_with_new_choices()
    found = watch.estimate(session)
    model = UCL(locations=grid(5, 3), noise_variance=10.0, length_scale=4.0)
    expected = fit(Episode(options, [row["reward"] for row in rows]), model)
    assert (found["status"], found["decisions"]) == (expected.status, 24)
    estimates = [one["estimate"] for one in found["parameters"]]
    wanted = [p.estimate if np.isfinite(p.estimate) else None for p in expected.parameters]
    assert estimates == pytest.approx(wanted, rel=1e-6)
    assert watch.sessions_with_new_choices() == []  # nothing new


def test_what_estimates_of_a_study_need_is_compiled_before_the_first_choice(
    serving, file, monkeypatch
):
    service, compiled = serving(file, PLAIN), []
    monkeypatch.setattr("penchant.task.estimation_worker.compile_fits", compiled.append)
    watch = SessionEstimator(service.store)
    watch.compile_models()
    assert [type(model) for model in compiled] == [UCL]
    played(service, "anna", [0, 3, 4])
    for session in watch.sessions_with_new_choices():
        watch.estimate(session)
    assert len(compiled) == 1


def test_several_blocks_are_one_estimate(serving, file):
    service = serving(file, BANDIT)
    rng = np.random.default_rng(8)
    token, plays = come(service), []
    for block in (0, 1):
        if block:
            service.begin_block(token, block=1, decision=0, window_number=None).result()
        options = [int(option) for option in rng.integers(0, 2, 25)]
        rows = [take(service, token, t, o, block=block) for t, o in enumerate(options)]
        plays.append(Episode(options, [row["decision"]["reward"] for row in rows]))
    watch = SessionEstimator(service.store)
    (session,) = watch.sessions_with_new_choices()
    found = watch.estimate(session)
    expected = fit(plays, QLearning(n_options=2))
    assert found["decisions"] == 50
    assert found["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-8)


def test_blocks_with_other_noise_are_not_in_the_estimate(serving, file):
    grid = "[[block]]\ntask = 'grid'\ndecisions = 5\nwidth = 3\nheight = 2\nvariance = "
    service = serving(file, f"{grid}4\n{grid}25")
    token = come(service)
    for block in (0, 1):
        service.begin_block(token, block=block, decision=0, window_number=None).result()
        for t in range(5):
            take(service, token, t, (t + block) % 6, block=block)
    watch = SessionEstimator(service.store)
    (session,) = watch.sessions_with_new_choices()
    assert watch.estimate(session)["decisions"] == 5


def test_the_latest_choice_wins(serving, file, capsys):
    service = serving(file, BANDIT)
    token = come(service)
    for t in range(6):
        take(service, token, t, t % 2)
    questions = queue.Queue()
    working = threading.Thread(target=run_estimation_worker, args=(service.store, questions))
    working.start()
    deadline = time.monotonic() + 60
    said = ""
    while '"decisions": 6' not in said and time.monotonic() < deadline:
        time.sleep(0.1)
        said += capsys.readouterr().out
    questions.put(None)
    working.join(30)
    assert [json.loads(line)["decisions"] for line in said.splitlines()] == [6]


def test_practice_and_offers_have_no_live_estimate(serving, file):
    text = "[[block]]\ntask='grid'\npractice=true\n[[block]]\ntask='offers'\n"
    text += "[[block.offer]]\namount=[1,2]\ndelay=[0,3]"
    plan = serving(file, text).plan
    assert [live_model_settings(plan, plan.cells[0], block) for block in (0, 1)] == [None, None]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "os.system"}, "model must be one of"),
        ({"model": "ucl", "grid": "10x10"}, "noise_variance must be > 0"),
        ({"model": "ucl", "grid": "1e9x1"}, "grid must be WIDTHxHEIGHT"),
        ({"model": "q-learning"}, "n_options must be given"),
        ({"model": "q-learning", "n_options": 2, "grid": "2x1"}, "grid must be left out"),
    ],
)
def test_models_of_observers_are_from_a_list(settings, said):
    with pytest.raises(DataError, match=said):
        check_model_settings(settings)


def asked(address, path, body=None, token="t" * 30):
    request = urllib.request.Request(
        address + path, data=None if body is None else json.dumps(body).encode()
    )
    request.add_header("content-type", "application/json")
    request.add_header("authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.slow
def test_a_whole_server_estimates_people_and_observers(process):
    server = process(BANDIT, estimates=True)
    Player("anna", Client(server.address), np.random.default_rng(1)).play()
    _check_observer(server.address)
    _check_example(server.address)
    person = {}
    deadline = time.monotonic() + 60
    while not person.get("estimate") and time.monotonic() < deadline:
        time.sleep(0.2)
        _, person = asked(server.address, "/researcher/people/1")
    assert person["estimate"]["model"] == "q-learning" and person["outcome"] == "completed"
    request = urllib.request.Request(server.address + "/researcher/stream")
    request.add_header("authorization", "Bearer " + "t" * 30)
    with urllib.request.urlopen(request, timeout=30) as stream:
        assert stream.readline() == b"event: overview\n"
        data = json.loads(stream.readline().removeprefix(b"data: "))
    assert data["funnel"]["finished"] == 1
    assert server.stop()[0] == 0


def _check_observer(address):
    settings = {"model": "q-learning", "settings": {"n_options": 2}}
    code, made = asked(address, "/api/v1/observers", settings)
    assert code == 201
    one = f"/api/v1/observers/{made['observer']}"
    rng = np.random.default_rng(5)
    chosen, rewards = rng.integers(0, 2, 20), np.round(rng.normal(5, 2, 20), 3)
    for t in range(20):
        body = {"number": t, "chosen": int(chosen[t]), "reward": float(rewards[t])}
        assert asked(address, f"{one}/observations", body) == (200, {"observations": t + 1})
    assert asked(address, f"{one}/observations", body) == (200, {"observations": 20})  # again
    wrong = {**body, "chosen": 1 - body["chosen"]}
    assert asked(address, f"{one}/observations", wrong)[0] == 409
    assert asked(address, f"{one}/observations", {**body, "number": 30})[0] == 409
    assert asked(address, f"{one}/observations", {"number": 20, "chosen": 2, "reward": 1})[0] == 422
    _, found = asked(address, f"{one}/estimate")
    expected = fit(Episode(chosen, rewards), QLearning(n_options=2))
    assert found["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-8)
    _, found = asked(address, f"{one}/prediction")
    assert found["decisions"] == 20 and sum(found["probabilities"]) == pytest.approx(1.0)
    assert asked(address, "/api/v1/observers/" + "z" * 24 + "/estimate")[0] == 404
    assert asked(address, f"{one}/estimate", token="x" * 30)[0] == 403


def _check_example(address):
    """The client of the documents runs, and is the one that they print."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PENCHANT_SERVER": address, "PENCHANT_TOKEN": "t" * 30}
    command = [sys.executable, str(root / "examples" / "task" / "client.py")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    status, probabilities = ended.stdout.splitlines()
    assert status and (probabilities == "None" or len(json.loads(probabilities)) == 100)
    printed = (root / "docs" / "task-interface.md").read_text(encoding="utf-8")
    last = (root / "examples" / "task" / "client.py").read_text().splitlines()[-1]
    assert last in printed
