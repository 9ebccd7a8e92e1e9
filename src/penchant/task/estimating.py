"""Estimates in a process of their own, so that no request waits for one.

`python -m penchant.task.estimating STORE` watches the store, estimates whoever has made a choice,
the one who waits longest first and always from the latest choice, and prints a line of JSON for
each. Questions come as lines of JSON on stdin and are answered first; it ends when stdin does.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from sqlalchemy import select

from penchant.bandit.episode import Episode
from penchant.bandit.landscape import grid
from penchant.errors import DataError
from penchant.inference.live import Live
from penchant.models.catalogue import entry_of
from penchant.softmax.estimate import Estimate
from penchant.task.estimates import checked_settings
from penchant.task.plan import Cell, Plan, plan_of
from penchant.task.store import (
    NotSavedError,
    Store,
    decisions,
    observations,
    observers,
    sessions,
    studies,
)

PAUSE = 0.2
KEPT = 1000  # people whose last state is kept in memory
WARM = 100  # and those with all that their next estimate starts from


def model_of(settings: Mapping[str, Any]) -> Any:
    """A model of a history of play, from plain values.

    Examples
    --------
    >>> model_of({"model": "q-learning", "n_options": 2}).n_options
    2
    """
    given = checked_settings(settings)
    entry = entry_of(str(given.pop("model")))
    if "grid" in given:
        width, _, height = str(given.pop("grid")).partition("x")
        given["locations"] = grid(int(width), int(height))
    try:
        return entry.model(**given)
    except TypeError:
        raise DataError(
            f"settings must be those of {entry.name}; got others. See penchant models {entry.name}."
        ) from None


def estimate_document(estimate: Estimate) -> dict[str, Any]:
    """What is told of an estimate."""
    return {
        "status": estimate.status,
        "decisions": int(estimate.n_decisions),
        "log_likelihood": _finite(estimate.log_likelihood),
        "parameters": [
            {
                "name": parameter.name,
                "estimate": _finite(parameter.estimate),
                "low": _finite(parameter.low),
                "high": _finite(parameter.high),
            }
            for parameter in estimate.parameters
        ],
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class Followed:
    """A person or observer: what was seen of them, kept warm from one choice to the next."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._live: Live | None = None
        self._seen: list[int] = []  # events of each play that were added

    def estimate(self, plays: Sequence[Sequence[tuple[int, float, bool]]]) -> Estimate:
        """The estimate from plays of (option, reward, scored); what is new of them is added."""
        lengths = [len(play) for play in plays if play]
        if self._live is None or not _goes_on(self._seen, lengths):
            self._live, self._seen = Live(self.model), []
        for place, play in enumerate(play for play in plays if play):
            if place == len(self._seen):
                self._live.start_block()
                self._seen.append(0)
            for option, reward, scored in play[self._seen[place] :]:
                self._live.observe(option, reward, scored=scored)
            self._seen[place] = len(play)
        return self._live.estimate()

    def rest(self) -> None:
        """Give back memory until something is seen."""
        if self._live is not None:
            self._live.rest()

    def prediction(self, play: Sequence[tuple[int, float, bool]]) -> list[float] | None:
        """How likely each option is to be chosen next; None where nothing is known yet."""
        estimate = self.estimate([play])
        before = Episode([p[0] for p in play], [p[1] for p in play])
        try:
            last = estimate.predict(before.extended(0, None))[-1]
        except (DataError, ValueError, FloatingPointError):
            return None
        return [float(p) for p in last] if all(map(math.isfinite, last)) else None


def _goes_on(before: Sequence[int], now: Sequence[int]) -> bool:
    """Whether plays of these lengths are those before with more at their end.

    >>> _goes_on([90, 3], [90, 5]), _goes_on([90], [90, 1]), _goes_on([4], [3])
    (True, True, False)
    """
    finished = len(before) - 1
    if len(now) < len(before) or list(before[:finished]) != list(now[:finished]):
        return False
    return not before or before[-1] <= now[finished]


class Watch:
    """What has changed in a store since it was looked at."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._plans: dict[str, Plan] = {}
        self._done: dict[int, tuple[int, int]] = {}
        self._seen = 0.0
        self._followed: OrderedDict[tuple[str, str], Followed] = OrderedDict()

    def waiting(self) -> list[tuple[int, tuple[int, int]]]:
        """Sessions with new choices, in the order in which they came."""
        with self.store.reading() as connection:
            rows = connection.execute(
                select(sessions.c.session, sessions.c.block, sessions.c.decision, sessions.c.seen)
                .where(sessions.c.cell.is_not(None), sessions.c.seen >= self._seen - 10)
                .order_by(sessions.c.seen)
            ).all()
        if rows:
            self._seen = max(self._seen, rows[-1].seen)
        places = [(row.session, (row.block, row.decision)) for row in rows]
        return [(who, place) for who, place in places if self._done.get(who) != place]

    def estimated(self, session: int, place: tuple[int, int]) -> dict[str, Any] | None:
        """The latest estimate of a session; None where there is nothing to estimate yet."""
        self._done[session] = place
        with self.store.reading() as connection:
            row = connection.execute(
                select(sessions.c.version, sessions.c.cell).where(sessions.c.session == session)
            ).first()
            rows = connection.execute(
                select(decisions.c.block, decisions.c.option, decisions.c.reward, decisions.c.auto)
                .where(decisions.c.session == session)
                .order_by(decisions.c.block, decisions.c.decision)
            ).all()
        if row is None or not rows:
            return None
        cell = self._plan(row.version).cells[row.cell]
        last = rows[-1].block
        settings = live_settings(self._plan(row.version), cell, last)
        if settings is None:
            return None
        alike = _alike(cell, last)
        plays = [
            [(r.option, r.reward, not r.auto) for r in rows if r.block == block] for block in alike
        ]
        followed = self._follow(("session", f"{session} {settings}"), settings)
        found = estimate_document(followed.estimate([play for play in plays if play]))
        return {"session": session, "model": settings["model"], **found}

    def answered(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """An answer to a question about an observer."""
        who = str(question["observer"])
        with self.store.reading() as connection:
            query = select(observers.c.model).where(observers.c.observer == who)
            settings = connection.scalar(query)
            rows = connection.execute(
                select(observations.c.chosen, observations.c.reward)
                .where(observations.c.observer == who)
                .order_by(observations.c.number)
            ).all()
        if settings is None:
            return {"error": "no such observer"}
        followed = self._follow(("observer", who), json.loads(settings))
        play = [(row.chosen, row.reward, True) for row in rows]
        if question["want"] == "prediction":
            return {"decisions": len(play), "probabilities": followed.prediction(play)}
        return estimate_document(followed.estimate([play]))

    def _follow(self, key: tuple[str, str], settings: Mapping[str, Any]) -> Followed:
        if key not in self._followed:
            self._followed[key] = Followed(model_of(settings))
        self._followed.move_to_end(key)
        while len(self._followed) > KEPT:
            self._followed.popitem(last=False)
        if len(self._followed) > WARM:
            next(islice(reversed(self._followed.values()), WARM, None)).rest()
        return self._followed[key]

    def _plan(self, version: str) -> Plan:
        if version not in self._plans:
            with self.store.reading() as connection:
                query = select(studies.c.document).where(studies.c.version == version)
                self._plans[version] = plan_of(json.loads(str(connection.scalar(query))))
        return self._plans[version]


def live_settings(plan: Plan, cell: Cell, block: int) -> dict[str, Any] | None:
    """The model of the live estimate in a block; None where there is none."""
    task = cell.blocks[block].task
    if cell.blocks[block].practice or task.kind == "offers":
        return None
    given = {**task.analysis(), **plan.estimate}
    if given["model"] == "none" or (given["model"] == "ucl" and "grid" not in given):
        return None
    if given["model"] == "ucl":
        return {name: given[name] for name in ("model", "grid", "noise_variance", "length_scale")}
    return {"model": given["model"], "n_options": task.n_options(0)}


def _alike(cell: Cell, block: int) -> list[int]:
    """Blocks up to this one whose options are the same, so that one estimate tells of all."""
    shown = cell.blocks[block].task.shown()
    return [
        i
        for i, other in enumerate(cell.blocks[: block + 1])
        if not other.practice and other.task.shown() == shown
    ]


def run(store: Store, questions: queue.Queue[dict[str, Any] | None]) -> None:
    """Estimate until the questions end."""
    watch = Watch(store)
    while True:
        worked = False
        with suppress(NotSavedError):  # a store that cannot be read now may be later
            for session, place in watch.waiting():
                if not _answer_all(watch, questions):
                    return
                worked = True
                _say(_tried(lambda s=session, p=place: watch.estimated(s, p)))
        if not _answer_all(watch, questions, wait=0.0 if worked else PAUSE):
            return


def _answer_all(
    watch: Watch, questions: queue.Queue[dict[str, Any] | None], wait: float = 0.0
) -> bool:
    """Answer what was asked; whether to go on."""
    while True:
        try:
            question = questions.get(timeout=wait) if wait else questions.get_nowait()
        except queue.Empty:
            return True
        if question is None:
            return False
        found = _tried(lambda q=question: watch.answered(q)) or {"error": "no estimate"}
        _say({"question": question["question"], "answer": found})
        wait = 0.0


def _tried(work: Any) -> dict[str, Any] | None:
    """The result of some work; a history that no model can take must not end the process."""
    try:
        found: dict[str, Any] | None = work()
        return found
    except NotSavedError:
        raise
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _say(found: dict[str, Any] | None) -> None:
    if found is not None:
        print(json.dumps(found), flush=True)


def main() -> None:
    """Entry point of the process."""
    questions: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            questions.put(json.loads(line))
        questions.put(None)
        time.sleep(5.0)
        os._exit(0)

    with suppress(OSError, AttributeError):
        os.nice(19)  # requests come first
    threading.Thread(target=listen, daemon=True).start()
    store = Store(sys.argv[1], must_exist=True)
    with suppress(BrokenPipeError, KeyboardInterrupt):
        run(store, questions)
    os._exit(0)


if __name__ == "__main__":
    main()
