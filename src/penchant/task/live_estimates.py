"""Server's side of live estimates: latest estimate of every session, and checks of settings.

Estimates come from a worker process (`estimation_worker`) over pipes, one line of JSON each.
Settings of models are checked as plain values, so that the server need not import what fits them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from sqlalchemy import select

from penchant.errors import DataError
from penchant.task.session_service import token_hash
from penchant.task.session_store import Store, sessions

# numerical libraries would start a thread per core, and take the cores that answer requests
ONE_THREAD_ENVIRONMENT = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class LiveEstimates:
    """Latest estimates by session; reading them never waits for a fit."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._latest: dict[int, dict[str, Any]] = {}
        self._pending: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopping = False
        self.made = 0

    def start(self) -> None:
        """Start the worker; it is restarted if it ends by itself."""
        threading.Thread(target=self._run_worker_and_listen, name="estimates", daemon=True).start()

    def stop(self) -> None:
        """End the worker."""
        self._stopping = True
        process = self._process
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)

    def latest_estimate(self, session: int) -> dict[str, Any] | None:
        """Latest estimate of a session."""
        return self._latest.get(session)

    def estimate_age(self, session: int, n_choices: int, now: float) -> float | None:
        """Seconds by which the latest estimate of a session is out of date; None without one.

        0 where it covers all choices; else the time since the choices that it covers were read.
        """
        latest = self._latest.get(session)
        if latest is None or "read" not in latest:
            return None
        return 0.0 if latest["choices"] >= n_choices else max(0.0, now - latest["read"])

    def latest_estimate_by_token(self, token: str) -> dict[str, Any] | None:
        """Latest estimate of the session of a token."""
        with self._store.read_connection() as connection:
            query = select(sessions.c.session).where(sessions.c.token == token_hash(token))
            found = connection.scalar(query)
        return None if found is None else self.latest_estimate(found)

    def forget(self, session: int) -> None:
        """Drop the estimate of a session."""
        self._latest.pop(session, None)

    def ask_worker(self, question: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Send a question about an observer to the worker."""
        answer: Future[dict[str, Any]] = Future()
        process = self._process
        with self._lock:  # otherwise lines of two threads could mix in the pipe
            number = max(self._pending, default=0) + 1
            self._pending[number] = answer
            try:
                if process is None or process.stdin is None:
                    raise OSError("not started")
                process.stdin.write(json.dumps({**question, "question": number}) + "\n")
                process.stdin.flush()
            except (OSError, ValueError):
                del self._pending[number]
                answer.set_exception(RuntimeError("estimates are not running"))
        return answer

    def _run_worker_and_listen(self) -> None:
        for _ in range(100):  # a worker that fails at every start would restart for ever
            if self._stopping:
                return
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penchant.task.estimation_worker", self._store.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None,  # inherited, so that the lab sees why it waits while models compile
                text=True,
                env={**os.environ, **ONE_THREAD_ENVIRONMENT},
            )
            assert self._process.stdout is not None
            for line in self._process.stdout:
                with suppress(ValueError):
                    self._handle_worker_message(json.loads(line))
            self._process.wait()
            # nobody will answer the questions of a worker that ended, and requests wait for them
            self._fail_pending_questions()

    def _handle_worker_message(self, message: dict[str, Any]) -> None:
        if "question" in message:
            with self._lock:
                answer = self._pending.pop(message["question"], None)
            if answer is not None:
                answer.set_result(message["answer"])
        elif "session" in message:
            self._latest[message["session"]] = message
            self.made += 1

    def _fail_pending_questions(self) -> None:
        with self._lock:
            asked, self._pending = list(self._pending.values()), {}
        for answer in asked:
            answer.set_exception(RuntimeError("estimates have stopped"))


SPATIAL_MODELS = ("ucl", "gp-ucb", "locality")
NON_SPATIAL_MODELS = ("q-learning", "kalman", "hybrid", "ucb1", "wsls", "random")
MAX_GRID_OPTIONS = 10_000  # 100 x 100 squares: memory and time of the model grow with them


def check_model_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings of a model that learns from rewards.

    Examples
    --------
    >>> check_model_settings({"model": "q-learning", "n_options": 2})
    {'model': 'q-learning', 'n_options': 2}
    """
    model = settings.get("model")
    if model in SPATIAL_MODELS:
        n_options_of_settings(settings)
        wrong = set(settings) - {"model", "grid", "noise_variance", "length_scale"}
    elif model in NON_SPATIAL_MODELS:
        if "n_options" not in settings:
            raise DataError("n_options", f"must be given with {model}", got="none", fix="Add it.")
        wrong = set(settings) - {"model", "n_options"}
    else:
        known = ", ".join((*SPATIAL_MODELS, *NON_SPATIAL_MODELS))
        raise DataError("model", f"must be one of {known}", got=repr(model), fix="Choose one.")
    if wrong:
        raise DataError(
            sorted(wrong)[0], f"must be left out with {model}", got="it", fix="Drop it."
        )
    if model == "ucl" and not settings.get("noise_variance", 0) > 0:
        raise DataError("noise_variance", "must be > 0 with ucl", got="none", fix="Add it.")
    return dict(settings)


def n_options_of_settings(settings: Mapping[str, Any]) -> int:
    """Number of options of a model.

    >>> n_options_of_settings({"model": "ucl", "grid": "10x8"})
    80
    """
    if "n_options" in settings:
        return int(settings["n_options"])
    width, _, height = str(settings.get("grid", "")).partition("x")
    if not (width.isdigit() and height.isdigit() and len(width + height) < 9):
        raise DataError("grid", "must be WIDTHxHEIGHT", got="something else", fix="Write 10x10.")
    n = int(width) * int(height)
    if not 2 <= n <= MAX_GRID_OPTIONS:
        raise DataError(
            "grid", f"must have 2 to {MAX_GRID_OPTIONS} squares", got=n, fix="Correct it."
        )
    return n
