"""The server as a process: killed, stopped, restarted, asked by sockets that misbehave."""

import json
import random
import socket
import sqlite3
import threading
import time

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="penchant[task] is not installed")

from penchant.cli.main import run
from penchant.task.simulated_players import Client, Player, play
from task.conftest import PLAIN

LONG = PLAIN.replace("decisions = 4", "decisions = 400")


def player(name, seed=1):
    return lambda client: Player(name, client, np.random.default_rng(seed))


def kept(file):
    """Every choice in a store, by (session, decision), after a check of the whole file."""
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT session, decision, option, reward FROM decisions")
        found = {}
        for session, decision, option, reward in rows:
            assert (session, decision) not in found
            found[session, decision] = (option, reward)
    return found


def wait_for_more(told):
    end, before = time.monotonic() + 60, len(told)
    while len(told) == before:
        assert time.monotonic() < end
        time.sleep(0.01)


def killed(process, tmp_path, times, seed):
    """Kill a server at random moments while three play; what was acknowledged must be there."""
    chance = random.Random(seed)
    server = process(LONG)
    port, told, stop = server.port, {}, threading.Event()

    def go_on(name):
        client = Client(f"http://127.0.0.1:{port}", patience=600)
        reply = client.post("/api/v1/sessions", {"id": name, "visit": name * 24})
        client.token = reply["token"]
        client.post("/api/v1/session/begin", {"block": 0, "decision": 0})
        for decision in range(400):
            if stop.is_set():
                break
            body = {"block": 0, "decision": decision, "option": decision % 15}
            taken = client.post("/api/v1/session/decisions", body)["decision"]
            told[name, decision] = (taken["option"], taken["reward"])
        client.close()

    threads = [threading.Thread(target=go_on, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for _ in range(times):
        wait_for_more(told)
        time.sleep(chance.uniform(0.0, 0.3))
        server.kill()
        server = process(LONG, port=port)
    wait_for_more(told)
    stop.set()
    for thread in threads:
        thread.join(90)
    server.stop()
    rows = kept(tmp_path / "study.sqlite")
    with sqlite3.connect(tmp_path / "study.sqlite") as connection:
        names = dict(connection.execute("SELECT session, platform_id FROM people"))
    stored = {(names[session], decision): row for (session, decision), row in rows.items()}
    assert told and {key: stored.get(key) for key in told} == told
    return len(told)


def test_what_was_acknowledged_outlives_kill(process, tmp_path):  # S01, S02
    assert killed(process, tmp_path, 2, seed=1) > 2


@pytest.mark.slow
def test_what_was_acknowledged_outlives_kill_fifty_times(process, tmp_path):  # S01
    assert killed(process, tmp_path, 50, seed=2) > 100


def test_a_stop_writes_what_waits_and_a_second_server_is_refused(process, tmp_path):  # S03
    server = process(LONG)
    client = Client(server.address)
    client.token = client.post("/api/v1/sessions", {})["token"]
    client.post("/api/v1/session/begin", {"block": 0, "decision": 0})
    with pytest.raises(AssertionError, match="served by one server"):
        process(LONG)
    told = {}
    for decision in range(8):
        body = {"block": 0, "decision": decision, "option": 3}
        told[1, decision] = (
            3,
            client.post("/api/v1/session/decisions", body)["decision"]["reward"],
        )
    client.close()
    code, words = server.stop()
    assert code == 0 and "everything that was acknowledged is saved" in words
    assert kept(tmp_path / "study.sqlite") == told


@pytest.mark.slow
def test_players_outlast_a_restart_and_all_finish(process, tmp_path):
    text = PLAIN.replace("decisions = 4", "decisions = 40")
    server = process(text)
    port, found = server.port, []
    makers = [player(f"p{i}", i) for i in range(3)]
    playing = threading.Thread(
        target=lambda: found.extend(play(f"http://127.0.0.1:{port}", makers, patience=60))
    )
    playing.start()
    time.sleep(0.6)
    server.kill()
    process(text, port=port)
    playing.join(90)
    assert [one.outcome for one in found] == ["completed"] * 3, [one.failure for one in found]
    assert len(kept(tmp_path / "study.sqlite")) == 120


def raw(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(65536):
            found += part
    return found.split(b"\r\n")[0]


def test_sockets_that_misbehave_are_answered_and_others_served(process):  # S32, S62
    server = process()
    long = b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 100_000 + b"\r\n\r\n"
    assert b" 431 " in raw(server.port, long)
    assert b" 400 " in raw(server.port, b"nonsense\r\n\r\n")
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
    for one in slow:
        one.sendall(b"POST /api/v1/sessions HTTP/1.1\r\nhost: x\r\ncontent-le")
    (found,) = play(server.address, [player("quick")])
    assert found.outcome == "completed"
    for one in slow:
        one.close()


def test_the_commands_play_export_and_forget(process, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    question = "[[check.question]]\nquestion = 'Q'\nanswers = ['a', 'b']\ncorrect = 2"
    server = process(PLAIN + f"\n[check]\nattempts = 1\n{question}")
    words = ["play", server.address, "--players", "3", "--seed", "4", "-o", "truth.csv"]
    assert run([*words, "--answers", "2"]) == 0
    assert capsys.readouterr().out == "3 completed\n"
    assert run(["serve", "--status", "--store", "study.sqlite", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["funnel"]["finished"] == 3 and status["decisions"] == 12
    assert run(["export", "study.sqlite", "-o", "out"]) == 0  # while it is served
    assert (
        len((tmp_path / "out/data/study-small_task-grid_data.csv").read_text().splitlines()) == 13
    )
    assert run(["backup", "study.sqlite", "-o", "copy.sqlite"]) == 0
    assert run(["forget", "study.sqlite", "sim-4-2"]) == 0
    assert run(["serve", "--status", "--store", "study.sqlite"]) == 0
    assert "2 finished" in capsys.readouterr().out
    assert run(["forget", "study.sqlite", "sim-4-2"]) == 2
    capsys.readouterr()
    assert run(["play", server.address, "--players", "1", "--seed", "5", "--answers", "1"]) == 1
    assert capsys.readouterr().out == "1 screened out\n"


def test_a_public_address_needs_a_token(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENCHANT_TOKEN", raising=False)
    assert run(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "PENCHANT_TOKEN must be set" in capsys.readouterr().err
    monkeypatch.setenv("PENCHANT_TOKEN", "short")
    assert run(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "at least 22 characters" in capsys.readouterr().err


def test_study_files_are_checked_and_written_without_a_server(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["serve", "--new"]) == 0
    assert run(["serve", "study.toml", "--check"]) == 0
    assert "practice, grid, 5 decisions, self-paced" in capsys.readouterr().out
    assert run(["serve", "--new"]) == 2  # it exists
    (tmp_path / "wrong.toml").write_text("[[block]]\ntask = 'grid'\nheigth = 3")
    capsys.readouterr()
    assert run(["serve", "wrong.toml", "--check"]) == 2
    said = capsys.readouterr().err
    assert "got 'heigth' at line 3.\nDid you mean 'height'?" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "none.sqlite", "-o", "x"], "STORE must be a store of penchant serve"),
        (["export", "none.sqlite"], "--output must be given"),
        (["play"], "URL must be given"),
        (["play", "ftp://x", "--seed", "1"], "URL must be the address of a study"),
        (["play", "http://127.0.0.1:1", "--seed", "1", "--players", "0"], "--players must be"),
        (["serve", "--frame", "http://x"], "--frame must be an origin"),
        (["serve", "--port", "99999"], "--host and --port must be free"),
        (["study", ".", "-o", "x"], "a folder without task.toml"),
        (["backup", "none.sqlite", "-o", "x"], "STORE must be a store"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert said in capsys.readouterr().err


def test_a_missing_extra_is_said(monkeypatch, capsys):
    monkeypatch.setattr("penchant.cli.study_rehearsal.importlib.util.find_spec", lambda name: None)
    assert run(["serve"]) == 2
    said = capsys.readouterr().err
    assert "penchant[task] must be installed; got no starlette, uvicorn, SQLAlchemy" in said
