"""Whatever the order of submits, retries, reloads, tabs, late packets, restarts: one row each."""

import tempfile
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import select

from penchant.task.session_service import Choice, SessionService
from penchant.task.session_states import RefusedError
from penchant.task.session_store import Store, decisions
from penchant.task.study_plan import read_study_text
from task.conftest import TIMED, SetClock

PLAN = read_study_text(TIMED + TIMED.split("[[block]]")[1].join(["\n[[block]]", ""]))


class Interleaving(RuleBasedStateMachine):
    """A person, a network and a server that are not to be relied on."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = SetClock()
        self.started = []
        self.restart()
        self.token = self.service.start_session("anna").result()["token"]
        self.tab = self.service.claim_session(self.token).result()["tab"]
        self.told = {}
        self.sent = []

    def teardown(self):
        self.service.store.close()
        self.folder.cleanup()

    def tried(self, future):
        """A reply, or what was refused; what is told of a decision must never change."""
        try:
            reply = future.result()
        except RefusedError as refused:
            assert refused.status in (409, 410)
            reply = refused.reply
        found = reply.get("decision")
        if isinstance(found, dict):
            key = found["block"], found["decision"]
            assert self.told.setdefault(key, found) == found
        return reply

    @rule()
    def restart(self):
        if self.started:
            self.service.store.close()
        self.started.append(1)
        self.service = SessionService(
            Store(str(Path(self.folder.name) / "s.sqlite")), PLAN, self.clock
        )

    @rule(option=st.integers(0, 14), ready=st.booleans())
    def submit(self, option, ready):
        state = self.service.session_state(self.token).result()
        if state["stage"] == "ready":
            place = {"block": state["block"]["index"], "decision": state["decision"]}
            self.tried(self.service.begin_block(self.token, **place, window_number=self.tab))
        if state["stage"] in ("ready", "play"):
            choice = Choice(state["block"]["index"], state["decision"], option, ready)
            self.sent.append(choice)
            self.tried(self.service.record_choice(self.token, choice, window_number=self.tab))

    @rule(which=st.integers(0, 50))
    def retry(self, which):
        if self.sent:
            choice = self.sent[which % len(self.sent)]
            self.tried(self.service.record_choice(self.token, choice, window_number=None))

    @rule(option=st.integers(0, 14), block=st.integers(0, 2), decision=st.integers(0, 4))
    def stray_packet(self, option, block, decision):
        self.tried(
            self.service.record_choice(
                self.token, Choice(block, decision, option), window_number=None
            )
        )

    @rule()
    def reload(self):
        self.tab = self.service.claim_session(self.token).result()["tab"]

    @rule()
    def second_tab(self):
        old, self.tab = self.tab, self.service.claim_session(self.token).result()["tab"]
        reply = self.service.record_choice(self.token, Choice(0, 0, 1), window_number=old)
        assert reply.exception().code == "superseded"

    @rule(seconds=st.floats(0, 6), step=st.sampled_from([0, 0, -9000, 9000]))
    def time_passes(self, seconds, step):
        self.clock.pass_(seconds)
        self.clock.wall += step

    @invariant()
    def rows_are_one_by_one_and_as_told(self):
        with self.service.store.read_connection() as connection:
            rows = connection.execute(
                select(decisions).order_by(decisions.c.block, decisions.c.decision)
            ).mappings()
            found = [dict(row) for row in rows]
        places = [(row["block"], row["decision"]) for row in found]
        assert places == [(t // 4, t % 4) for t in range(len(places))]
        assert all(row["elapsed"] is None or row["elapsed"] >= 0 for row in found)
        by_place = dict(zip(places, found, strict=True))
        for place, told in self.told.items():
            assert {name: by_place[place][name] for name in told} == told


Interleaving.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
TestInterleaving = Interleaving.TestCase
