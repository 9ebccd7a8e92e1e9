"""Simulated participants who play over HTTP as a browser does: rehearsal, load test, recovery.

Requests are retried with exponential backoff and jitter; every request is safe to repeat.
"""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from penchant.errors import DataError
from penchant.models.catalogue import entry_of
from penchant.models.model import Agents, Declared
from penchant.models.simulate import agents_of, simulate


@dataclass(frozen=True)
class PlayerModel:
    """A model before the task is known.

    Attributes
    ----------
    name
        Name in the catalogue.
    make
        Makes the model for a grid ("10x10", or None) and a number of options.
    """

    name: str
    make: Callable[[str | None, int], Any]

    def make_for_task(self, task: Mapping[str, Any]) -> Any:
        """Make the model of a block; None, for random choices, where it does not apply."""
        offers = entry_of(self.name).data == "offers"
        if offers != (task["kind"] == "offers"):
            return None
        if task["kind"] == "grid":
            n = task["width"] * task["height"]
            return self.make(f"{task['width']}x{task['height']}", n)
        try:
            return self.make(None, task["options"])
        except DataError:
            # they need places, which arms do not have
            if self.name in (
                "ucl",
                "gp-ucb",
                "locality",
            ):
                return None
            raise


API_PREFIX = "/api/v1"
RETRY_SECONDS = 120.0  # players shall outlast a restart of the server, which takes less
MAX_CONCURRENT_PLAYERS = 16  # threads that mostly wait; more would compete for the interpreter


class PlayerFailedError(RuntimeError):
    """A player could not go on."""


class Client:
    """HTTP client with one connection, which retries requests until they are answered."""

    def __init__(self, address: str, *, patience: float = RETRY_SECONDS) -> None:
        self.parts = urlsplit(address)
        if self.parts.scheme not in ("http", "https") or not self.parts.hostname:
            raise DataError(
                "URL",
                "must be the address of a study",
                got=repr(address),
                fix="Try http://127.0.0.1:8000.",
            )
        self.patience = patience
        self.token: str | None = None
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a body; return the reply."""
        return self._request_with_retries("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> dict[str, Any]:
        """Return the reply to a GET."""
        return self._request_with_retries("GET", path, None)

    def _request_with_retries(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        end = time.monotonic() + self.patience
        pause = 0.05
        while True:
            try:
                status, reply, wait = self._request_once(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                status, reply, wait = 0, {}, None
                self.close()
            if status not in (0, 429, 502, 503, 504):  # a retry helps against those only
                # a 409 can be continued from: it carries the state
                if status >= 400 and status != 409:
                    raise PlayerFailedError(f"{path}: {status} {reply.get('error', reply)}")
                return {**reply, "status": status}
            if time.monotonic() > end:
                raise PlayerFailedError(f"{path}: no answer for {self.patience:g} s")
            # at random, so that players do not all return at once after an outage
            time.sleep(max(wait or 0.0, pause * random.uniform(0.5, 1.5)))
            pause = min(2 * pause, 2.0)

    def _request_once(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[int, dict[str, Any], float | None]:
        if self._connection is None:
            https = self.parts.scheme == "https"
            kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
            self._connection = kind(str(self.parts.hostname), self.parts.port, timeout=30)
        headers = {"content-type": "application/json"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        self._connection.request(method, self.parts.path.rstrip("/") + path, body, headers)
        reply = self._connection.getresponse()
        data = reply.read()
        wait = reply.headers.get("retry-after")
        if "json" not in reply.headers.get("content-type", ""):
            raise ValueError("the reply is no JSON")
        return reply.status, json.loads(data), float(wait) if wait else None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass
class PlayerResult:
    """Result of a simulated player.

    Attributes
    ----------
    latencies
        Seconds until each choice was answered.
    """

    player: str
    outcome: str
    decisions: int = 0
    failure: str = ""
    latencies: list[float] = field(default_factory=list)


@dataclass
class Player:
    """Simulated participant.

    Attributes
    ----------
    name
        The id with which the player comes.
    model
        How options are chosen; None: at random.
    parameters
        Natural parameters of the model.
    answers
        To the comprehension check, from 0; found by trying if not given.
    """

    name: str
    client: Client
    rng: np.random.Generator
    model: PlayerModel | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    answers: Sequence[int] | None = None

    def play(self) -> PlayerResult:
        """Play from the arrival to the end."""
        found = PlayerResult(self.name, "")
        try:
            self._start_session()
            state = self.client.post(f"{API_PREFIX}/session/open", {})
            while state["stage"] != "end":
                state = self._act_on_stage(state, found)
            found.outcome = state["end"]["outcome"]
        except (PlayerFailedError, KeyError) as error:
            found.failure = f"{type(error).__name__}: {error}"
        finally:
            self.client.close()
        return found

    def _start_session(self) -> None:
        # with it a lost reply can be requested again; as it grants the session, it has 128 bits
        visit = self.rng.bytes(16).hex()
        reply = self.client.post(f"{API_PREFIX}/sessions", {"id": self.name, "visit": visit})
        if "token" not in reply:
            raise PlayerFailedError(str(reply["error"]["message"]))
        self.client.token = reply["token"]

    def _act_on_stage(self, state: dict[str, Any], found: PlayerResult) -> dict[str, Any]:
        post, own = self.client.post, {"tab": state["tab"]}
        if state["stage"] == "consent":
            version = state["consent"]["version"]
            return post(
                f"{API_PREFIX}/session/consent", {"agrees": True, "version": version, **own}
            )
        if state["stage"] == "instructions":
            return post(f"{API_PREFIX}/session/instructions", own)
        if state["stage"] == "check":
            return self._pass_comprehension_check(state)
        return self._play_block(state, found)

    def _pass_comprehension_check(self, state: dict[str, Any]) -> dict[str, Any]:
        questions = state["check"]["questions"]
        given = list(self.answers or [0] * len(questions))
        while True:
            body = {"answers": given, "tab": state["tab"]}
            reply = self.client.post(f"{API_PREFIX}/session/check", body)
            if reply.get("stage") != "check" or not reply.get("wrong"):
                return self.client.get(f"{API_PREFIX}/session")
            for i in reply["wrong"]:
                given[i] = (given[i] + 1) % len(questions[i]["answers"])

    def _play_block(self, state: dict[str, Any], found: PlayerResult) -> dict[str, Any]:
        """Play a block to its end."""
        block, decision, offer = state["block"], state["decision"], state["offer"]
        choose = self._chooser_after_history(block["task"], state["history"])
        position = {"block": block["index"], "decision": decision}
        started = self.client.post(f"{API_PREFIX}/session/begin", {**position, "tab": state["tab"]})
        if started["status"] == 409:
            return self.client.get(f"{API_PREFIX}/session")
        while True:
            option = choose.draw_option(offer)
            began = time.perf_counter()
            reply = self.client.post(
                f"{API_PREFIX}/session/decisions",
                {
                    "block": block["index"],
                    "decision": decision,
                    "option": option,
                    "tab": state["tab"],
                    "client": {"input": "simulated"},
                },
            )
            found.latencies.append(time.perf_counter() - began)
            if "decision" not in reply:
                return self.client.get(f"{API_PREFIX}/session")
            found.decisions += 1
            taken = reply["decision"]
            choose.learn(taken["option"], taken["reward"])
            if "state" in reply:
                after: dict[str, Any] = reply["state"]
                return after
            decision, offer = reply["next"]["decision"], reply["next"]["offer"]

    def _chooser_after_history(
        self, task: Mapping[str, Any], history: Sequence[Mapping[str, Any]]
    ) -> _OptionChooser:
        chooser = _OptionChooser(task, self.model, dict(self.parameters), self.rng)
        for past in history:
            chooser.learn(past["option"], past["reward"])
        return chooser


class _OptionChooser:
    """Choices of a player in a block, by a model or at random."""

    def __init__(
        self,
        task: Mapping[str, Any],
        model: PlayerModel | None,
        parameters: dict[str, float],
        rng: np.random.Generator,
    ) -> None:
        grid = task["kind"] == "grid"
        self._n = int(task["width"] * task["height"] if grid else task["options"])
        self._rng, self._parameters = rng, parameters
        self._model = None if model is None else model.make_for_task(task)
        self._agents: Agents | None = None
        if self._model is not None and task["kind"] != "offers":
            self._agents = agents_of(self._model, parameters, 1)

    def draw_option(self, offer: Mapping[str, Any] | None) -> int:
        """Draw an option."""
        if self._agents is not None:
            p = self._agents.probabilities()[0]
            # inverse transform sampling; rounding of the sum could give an index too large
            drawn = int((p.cumsum() < self._rng.random() * p.sum()).sum())
            return min(drawn, self._n - 1)
        if self._model is not None and offer is not None:
            offers = {name: [values] for name, values in offer.items()}
            if "outcome" in (Declared(self._model).attributes or ()):
                offers["outcome"] = offers.pop("amount")
            decision = simulate(offers, self._model, self._parameters, rng=self._rng)
            return int(decision.chosen[0])
        return int(self._rng.integers(self._n))

    def learn(self, option: int, reward: float | None) -> None:
        """Update the model with a reward."""
        if self._agents is not None and reward is not None:
            self._agents.observe(np.array([option]), np.array([reward]))


def play(
    address: str,
    players: Sequence[Callable[[Client], Player]],
    *,
    at_once: int = MAX_CONCURRENT_PLAYERS,
    patience: float = RETRY_SECONDS,
) -> list[PlayerResult]:
    """Run players, some at a time; return the result of each.

    Parameters
    ----------
    address
        Of the study.
    players
        Each made with a connection of its own.
    at_once
        How many play at a time.
    patience
        Seconds for which each request is tried again, so that a server may start anew.
    """
    Client(address)  # raises for a wrong address, before any thread starts
    with ThreadPoolExecutor(max_workers=max(1, min(at_once, len(players)))) as pool:
        return list(pool.map(lambda make: make(Client(address, patience=patience)).play(), players))
