"""Live estimates in a process of their own, so that no request waits for one.

`python -m penchant.task.estimation_worker STORE` polls the store and fits every session that has
new choices, the longest waiting first and always with all choices made by then; it prints one line
of JSON per fit. Questions come as lines of JSON on stdin and are answered first; the process ends
when stdin does.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import select

from penchant.bandit.episode import Episode
from penchant.bandit.landscape import grid
from penchant.errors import DataError
from penchant.inference.online_estimation import fit_so_far
from penchant.inference.precompilation import compile_fits
from penchant.models.catalogue import entry_of
from penchant.softmax.estimate import Estimate
from penchant.task.live_estimates import check_model_settings
from penchant.task.session_store import (
    NotSavedError,
    Store,
    decisions,
    observations,
    observers,
    sessions,
    studies,
)
from penchant.task.study_plan import StudyCondition, StudyPlan, parse_plan

POLL_SECONDS = 0.2  # longer delays estimates, which follow every decision; shorter costs queries
MAX_CACHED_MODELS = 1000  # a study has a few, but anybody with the token may make observers


def make_model(settings: Mapping[str, Any]) -> Any:
    """Make a model from plain settings.

    Examples
    --------
    >>> make_model({"model": "q-learning", "n_options": 2}).n_options
    2
    """
    given = check_model_settings(settings)
    entry = entry_of(str(given.pop("model")))
    if "grid" in given:
        width, _, height = str(given.pop("grid")).partition("x")
        given["locations"] = grid(int(width), int(height))
    try:
        return entry.model(**given)
    except TypeError:
        raise DataError(
            "settings",
            f"must be those of {entry.name}",
            got="others",
            fix=f"See penchant models {entry.name}.",
        ) from None


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Describe an estimate by plain values; numbers that are not finite become None."""
    return {
        "status": estimate.status,
        "decisions": int(estimate.n_decisions),
        "log_likelihood": _none_if_not_finite(estimate.log_likelihood),
        "parameters": [
            {
                "name": parameter.name,
                "estimate": _none_if_not_finite(parameter.estimate),
                "low": _none_if_not_finite(parameter.low),
                "high": _none_if_not_finite(parameter.high),
            }
            for parameter in estimate.parameters
        ],
    }


def _none_if_not_finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


Play = Sequence[tuple[int, float | None, bool]]
"""Option, reward, and whether the choice is scored, of every decision of a block."""


def fit_plays(model: Any, plays: Sequence[Play]) -> Estimate:
    """Fit all plays of a person."""
    return fit_so_far([_episode_from_play(play) for play in plays if play], model)


def next_choice_probabilities(model: Any, play: Play) -> list[float] | None:
    """Choice probabilities of the next decision; None where the model gives none."""
    estimate = fit_plays(model, [play])
    try:
        last = estimate.predict(_episode_from_play(play).extended(0, None))[-1]
    except (DataError, ValueError, FloatingPointError):
        return None
    return [float(p) for p in last] if all(map(math.isfinite, last)) else None


def _episode_from_play(play: Play) -> Episode:
    options, rewards, scored = zip(*play, strict=True) if play else ((), (), ())
    return Episode(options, rewards, scored=scored)


class SessionEstimator:
    """Sessions of a store that have changed since they were last estimated."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._plans: dict[str, StudyPlan] = {}
        self._done: dict[int, tuple[int, int]] = {}
        self._seen = 0.0
        self._models: dict[str, Any] = {}

    def compile_models(self) -> None:
        """Compile the fits of all studies in the store, before the first person plays."""
        with self.store.read_connection() as connection:
            versions = connection.scalars(select(studies.c.version)).all()
        for plan in map(self._plan_of_version, versions):
            for cell in plan.cells:
                for block in range(len(cell.blocks)):
                    settings = live_model_settings(plan, cell, block)
                    if settings is not None:
                        self._compiled_model(settings)

    def sessions_with_new_choices(self) -> list[int]:
        """Return sessions with new choices, the longest waiting first."""
        with self.store.read_connection() as connection:
            rows = connection.execute(
                select(sessions.c.session, sessions.c.block, sessions.c.decision, sessions.c.seen)
                .where(sessions.c.cell.is_not(None), sessions.c.seen >= self._seen - 10)
                .order_by(sessions.c.seen)
            ).all()
        # queries overlap by 10 s, as commits of several servers need not come in order of clocks
        if rows:
            self._seen = max(self._seen, rows[-1].seen)
        progresses = [(row.session, (row.block, row.decision)) for row in rows]
        return [who for who, progress in progresses if self._done.get(who) != progress]

    def estimate(self, session: int) -> dict[str, Any] | None:
        """Estimate a session from all its choices; None where there are none."""
        begin = time.time()
        with self.store.read_connection() as connection:
            row = connection.execute(
                select(
                    sessions.c.version, sessions.c.cell, sessions.c.block, sessions.c.decision
                ).where(sessions.c.session == session)
            ).first()
            rows = connection.execute(
                select(decisions.c.block, decisions.c.option, decisions.c.reward, decisions.c.auto)
                .where(decisions.c.session == session)
                .order_by(decisions.c.block, decisions.c.decision)
            ).all()
        if row is not None:
            self._done[session] = (row.block, row.decision)
        if row is None or not rows:
            return None
        cell = self._plan_of_version(row.version).cells[row.cell]
        last = rows[-1].block
        settings = live_model_settings(self._plan_of_version(row.version), cell, last)
        if settings is None:
            return None
        joint_blocks = _jointly_fitted_blocks(self._plan_of_version(row.version), cell, last)
        plays = [
            [(r.option, r.reward, not r.auto) for r in rows if r.block == block]
            for block in joint_blocks
        ]
        found = estimate_json(fit_plays(self._compiled_model(settings), plays))
        # by which `LiveEstimates.estimate_age` tells how old it is
        made = {
            "choices": len(rows),
            "read": begin,
        }
        return {"session": session, "model": settings["model"], **found, **made}

    def answer_question(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question about an observer."""
        who = str(question["observer"])
        with self.store.read_connection() as connection:
            query = select(observers.c.model).where(observers.c.observer == who)
            settings = connection.scalar(query)
            rows = connection.execute(
                select(observations.c.chosen, observations.c.reward)
                .where(observations.c.observer == who)
                .order_by(observations.c.number)
            ).all()
        if settings is None:
            return {"error": "no such observer"}
        model = self._compiled_model(json.loads(settings))
        play = [(row.chosen, row.reward, True) for row in rows]
        if question["want"] == "start":
            return {"decisions": len(play)}
        if question["want"] == "prediction":
            return {"decisions": len(play), "probabilities": next_choice_probabilities(model, play)}
        return estimate_json(fit_plays(model, [play]))

    def _compiled_model(self, settings: Mapping[str, Any]) -> Any:
        """Return the model with these settings, compiled when it is first used."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._models:
            # clearing is rare, and models are made again, so an order of use is not worth keeping
            if len(self._models) >= MAX_CACHED_MODELS:
                self._models.clear()
            self._models[key] = make_model(settings)
            compile_fits(self._models[key])
        return self._models[key]

    def _plan_of_version(self, version: str) -> StudyPlan:
        if version not in self._plans:
            with self.store.read_connection() as connection:
                query = select(studies.c.document).where(studies.c.version == version)
                self._plans[version] = parse_plan(json.loads(str(connection.scalar(query))))
        return self._plans[version]


def live_model_settings(
    plan: StudyPlan, condition: StudyCondition, block: int
) -> dict[str, Any] | None:
    """Settings of the model estimated live in a block; None where there is none."""
    task = condition.blocks[block].task
    # practice never enters the likelihood, and offers are not estimated live
    if condition.blocks[block].practice or task.kind == "offers":
        return None
    given = {**task.analysis_settings(), **plan.estimate}
    if given["model"] == "none" or (given["model"] == "ucl" and "grid" not in given):
        return None
    if given["model"] == "ucl":
        return {name: given[name] for name in ("model", "grid", "noise_variance", "length_scale")}
    return {"model": given["model"], "n_options": task.n_options(0)}


def _jointly_fitted_blocks(plan: StudyPlan, cell: StudyCondition, block: int) -> list[int]:
    """Blocks up to this one with the same options, model and unit, which are fitted jointly."""

    def block_description(i: int) -> tuple[Any, ...]:
        task = cell.blocks[i].task
        return task.page_settings(), task.unit_setting_and_unit, live_model_settings(plan, cell, i)

    here = block_description(block)
    return [
        i for i in range(block + 1) if not cell.blocks[i].practice and block_description(i) == here
    ]


def run_estimation_worker(store: Store, questions: queue.Queue[dict[str, Any] | None]) -> None:
    """Estimate and answer until the queue of questions ends."""
    watch = SessionEstimator(store)
    with suppress(NotSavedError):
        watch.compile_models()
    while True:
        worked = False
        with suppress(NotSavedError):  # the store may be readable again at the next round
            # between any two fits, so that an observer waits for one fit at most
            for session in watch.sessions_with_new_choices():
                if not _answer_questions(watch, questions):
                    return
                worked = True
                _print_json(_result_or_error_json(lambda s=session: watch.estimate(s)))
        if not _answer_questions(watch, questions, wait=0.0 if worked else POLL_SECONDS):
            return


def _answer_questions(
    estimator: SessionEstimator, questions: queue.Queue[dict[str, Any] | None], wait: float = 0.0
) -> bool:
    """Answer all queued questions; return whether to continue."""
    while True:
        try:
            question = questions.get(timeout=wait) if wait else questions.get_nowait()
        except queue.Empty:
            return True
        if question is None:
            return False
        found = _result_or_error_json(lambda q=question: estimator.answer_question(q)) or {
            "error": "no estimate"
        }
        _print_json({"question": question["question"], "answer": found})
        wait = 0.0


def _result_or_error_json(work: Any) -> dict[str, Any] | None:
    """Run some work; an error becomes its result, so that one history cannot end the process."""
    try:
        found: dict[str, Any] | None = work()
        return found
    except NotSavedError:
        raise
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _print_json(found: dict[str, Any] | None) -> None:
    if found is not None:
        print(json.dumps(found), flush=True)


def main() -> None:
    """Entry point of the process."""
    questions: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            questions.put(json.loads(line))
        questions.put(None)
        time.sleep(5.0)  # lets a fit in progress end, but a long one must not keep the process
        os._exit(0)

    with suppress(OSError, AttributeError):
        os.nice(19)  # the lowest priority, as people wait for requests but not for estimates
    threading.Thread(target=listen, daemon=True).start()
    store = Store(sys.argv[1], must_exist=True)
    with suppress(BrokenPipeError, KeyboardInterrupt):
        run_estimation_worker(store, questions)
    os._exit(0)


if __name__ == "__main__":
    main()
