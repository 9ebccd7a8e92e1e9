"""State machine of a session (consent, instructions, check, blocks, end), its views, and advice.

Pure functions: no store, no network. Views never hold a mean reward, a seed, a condition or the
name of a block. Time is the server's; clocks of browsers are never compared with it. The state of
the adviser of a grid task is replayed from the stored decisions, so that a server that was killed
gives the same advice as one that was not.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import numpy as np

from penchant.assistance.assistant_beliefs import Field, Trust
from penchant.assistance.shared_autonomy import UNASSISTED_EVERY, Advice, Helper
from penchant.bandit.landscape import grid
from penchant.inference.precompilation import compile_fits
from penchant.models.spatial.map_basis import MapPrior
from penchant.models.spatial.ucl import UCL
from penchant.task.choice_tasks import GridTask, Key, KeyPart, OfferHistory, random_integer
from penchant.task.study_plan import Block, Outcome, StudyCondition, StudyPlan


@dataclass(frozen=True)
class Moment:
    """A point in time on the wall clock and on the monotonic clock.

    Attributes
    ----------
    wall
        Seconds since 1970; jumps when the clock of the machine is set.
    steady
        Monotonic seconds; comparable within one `boot`.
    boot
        Identifies the start of the machine.
    """

    wall: float
    steady: float
    boot: str

    def since(self, earlier: Moment) -> float:
        """Seconds from an earlier moment, never negative.

        >>> Moment(5.0, 103.0, "x").since(Moment(9.0, 100.0, "x"))
        3.0
        >>> Moment(5.0, 3.0, "y").since(Moment(9.0, 100.0, "x"))
        0.0
        """
        same = self.boot == earlier.boot  # the monotonic clock begins anew when the machine does
        elapsed = self.steady - earlier.steady if same else self.wall - earlier.wall
        return max(0.0, elapsed)


class Clock:
    """The clocks of this machine."""

    def __init__(self) -> None:
        try:
            self._boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            # elsewhere the clock is comparable only within this process
            self._boot = uuid.uuid4().hex

    def now(self) -> Moment:
        """The present moment."""
        return Moment(time.time(), time.monotonic(), self._boot)


Stage = Literal["consent", "instructions", "check", "ready", "play", "end"]


class RefusedError(Exception):
    """A request that cannot be carried out now; the reply holds the expected state.

    Attributes
    ----------
    status
        HTTP status.
    code
        Short code for programs.
    reply
        Stored reply, where another one exists already.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.reply: dict[str, Any] = {}


@dataclass(frozen=True)
class Session:
    """State of a session.

    Attributes
    ----------
    stage
        ready: before a block, or before a decision of one that was paused. play: at a decision.
    block, decision
        The next decision.
    onset
        When that decision was shown, in a block with a fixed pace.
    tab
        The window of the browser that may act; older ones may not.
    """

    session: int
    version: str
    pseudonym: str
    stage: Stage
    outcome: Outcome | None = None
    consent: str | None = None
    cell: int | None = None
    attempts: int = 0
    block: int = 0
    decision: int = 0
    tab: int = 0
    onset: Moment | None = None
    total: float = 0.0


def first_stage(plan: StudyPlan) -> Stage:
    """First stage of a study."""
    return "consent" if plan.consent is not None else stage_after_consent(plan)


def stage_after_consent(plan: StudyPlan) -> Stage:
    """Stage after the consent."""
    return "instructions" if plan.instructions else stage_after_instructions(plan)


def stage_after_instructions(plan: StudyPlan) -> Stage:
    """Stage after the instructions."""
    return "check" if plan.questions else "ready"


def check_stage(session: Session, *stages: Stage) -> None:
    """Refuse a request that does not belong to the stage."""
    if session.stage == "end" and "end" not in stages:
        raise RefusedError(410, "ended", "this session has ended")
    if session.stage not in stages:
        raise RefusedError(409, "stage", f"this is the stage {session.stage!r}")


def refuse_older_window(session: Session, window_number: int | None) -> None:
    """Refuse an older window of the browser."""
    if (
        window_number is not None and window_number != session.tab
    ):  # some front ends have no windows
        raise RefusedError(409, "superseded", "the study goes on in another window")


def state_after_consent_answer(
    session: Session, plan: StudyPlan, *, agrees: bool, version: str
) -> Session:
    """State after the answer to the question of consent."""
    check_stage(session, "consent")
    if version != plan.consent_version:
        raise RefusedError(409, "consent changed", "the words of the consent have changed")
    if not agrees:
        return state_after_end(session, "no consent")
    return replace(session, stage=stage_after_consent(plan), consent=version)


def state_after_reading_instructions(session: Session, plan: StudyPlan) -> Session:
    """State after the last page of instructions."""
    check_stage(session, "instructions")
    return replace(session, stage=stage_after_instructions(plan))


def state_after_comprehension_check(
    session: Session, plan: StudyPlan, answers: Sequence[int]
) -> tuple[Session, list[int]]:
    """State after the comprehension check, and the questions answered wrongly."""
    check_stage(session, "check")
    if len(answers) != len(plan.questions):
        raise RefusedError(422, "answers", f"answers must be {len(plan.questions)} numbers")
    for i, (answer, question) in enumerate(zip(answers, plan.questions, strict=True)):
        if not 0 <= answer < len(question.answers):
            last = len(question.answers) - 1
            raise RefusedError(422, "answers", f"answers must lie in 0..{last} at {i}")
    pairs = zip(answers, plan.questions, strict=True)
    wrong = [i for i, (answer, question) in enumerate(pairs) if answer != question.correct]
    tried = replace(session, attempts=session.attempts + 1)
    if not wrong:
        return replace(tried, stage="ready"), wrong
    if tried.attempts >= plan.attempts:
        return state_after_end(tried, "screened out"), wrong
    return tried, wrong


def state_after_end(session: Session, outcome: Outcome) -> Session:
    """State after the end."""
    return replace(session, stage="end", outcome=outcome, onset=None)


def draw_least_filled_condition(counts: Sequence[int], *key: KeyPart) -> int:
    """Draw one of the conditions with the fewest people.

    Examples
    --------
    >>> draw_least_filled_condition([4, 3, 5], 7, "cell", 1)
    1
    """
    fewest = [i for i, count in enumerate(counts) if count == min(counts)]
    return fewest[random_integer(len(fewest), *key)]


def state_after_decision_start(session: Session, now: Moment) -> Session:
    """State after a person is ready for a decision; repeated calls change nothing."""
    check_stage(session, "ready", "play")
    return session if session.stage == "play" else replace(session, stage="play", onset=now)


def check_decision(session: Session, block: int, decision: int) -> None:
    """Refuse any but the next decision."""
    check_stage(session, "play")
    if (block, decision) != (session.block, session.decision):
        raise RefusedError(
            409, "decision", f"the next decision is {session.decision} of block {session.block}"
        )


def is_overdue(session: Session, block: Block, now: Moment) -> bool:
    """Whether time and the grace period for the network are over."""
    if block.seconds is None or session.onset is None or session.stage != "play":
        return False
    return now.since(session.onset) > block.seconds + block.grace


def remaining_seconds(session: Session, block: Block, now: Moment) -> float | None:
    """Seconds that are left for the decision; None without a fixed pace."""
    if block.seconds is None or session.onset is None:
        return None
    return max(0.0, block.seconds - now.since(session.onset))


def state_after_decision(
    session: Session, cell: StudyCondition, reward: float | None, now: Moment, *, ready: bool
) -> Session:
    """State after a choice: at the next decision, the next block, or the end.

    Parameters
    ----------
    ready
        Whether a fixed pace goes on at once; else it waits until the person is back.
    """
    block = cell.blocks[session.block]
    # practice must not add to what is paid
    paid = 0.0 if reward is None or block.practice else reward
    after = replace(session, total=session.total + paid, decision=session.decision + 1)
    if after.decision < block.task.n_decisions:
        if block.seconds is None or ready:
            # people look at the reward first, so the next clock starts when it was shown
            return replace(after, onset=add_seconds(now, block.feedback))
        # somebody who left the tab would miss decision after decision
        return replace(after, stage="ready", onset=None)
    if after.block + 1 < len(cell.blocks):
        return replace(after, stage="ready", block=after.block + 1, decision=0, onset=None)
    return state_after_end(after, "completed")


def add_seconds(moment: Moment, seconds: float) -> Moment:
    """Shift a moment by some seconds."""
    return Moment(moment.wall + seconds, moment.steady + seconds, moment.boot)


def session_view(
    plan: StudyPlan,
    session: Session,
    cell: StudyCondition | None,
    rows: Sequence[Mapping[str, Any]],
    block_key: Key,
    now: Moment,
    history: OfferHistory = (),
) -> dict[str, Any]:
    """View of a running session."""
    view = _common_view(plan, session)
    if session.stage == "consent":
        view["consent"] = {"text": plan.consent, "version": plan.consent_version}
    elif session.stage == "instructions":
        view["instructions"] = {"pages": list(plan.instructions)}
    elif session.stage == "check":
        questions = [{"question": q.question, "answers": list(q.answers)} for q in plan.questions]
        left = plan.attempts - session.attempts
        view["check"] = {"questions": questions, "attempts_left": left}
    elif cell is not None:
        block = cell.blocks[session.block]
        view["block"] = block_view(block, session.block, len(cell.blocks))
        view["decision"] = session.decision
        view["history"] = [decision_view(row) for row in rows]
        view["offer"] = block.task.offer(session.decision, block_key, history)
        left_s = remaining_seconds(session, block, now)
        view["remaining_ms"] = None if left_s is None else round(1000 * left_s)
    return view


def end_view(plan: StudyPlan, session: Session, platform_id: str | None) -> dict[str, Any]:
    """View of an ended session: text, code and return address."""
    assert session.outcome is not None
    ending = plan.endings[session.outcome]
    address = ending.address
    if address is not None and "{id}" in address:
        # quoted, so that an id cannot add parameters to the address
        address = address.replace("{id}", quote(platform_id or "", safe=""))
    view = _common_view(plan, session)
    view["end"] = {
        "outcome": session.outcome,
        "text": ending.text,
        "code": ending.code,
        "address": address,
        "estimate": plan.show_estimate and session.outcome == "completed",
    }
    return view


def _common_view(plan: StudyPlan, session: Session) -> dict[str, Any]:
    study = {"title": plan.title, "contact": plan.contact, "resume": plan.resume}
    return {
        "stage": session.stage,
        "study": {**study, "language": plan.language},
        "tab": session.tab,
        "total": round(session.total, 6),
    }


def block_view(block: Block, index: int, count: int) -> dict[str, Any]:
    """View of a block."""
    return {
        "index": index,
        "count": count,
        "title": block.title,
        "practice": block.practice,
        "decisions": block.task.n_decisions,
        "seconds": block.seconds,
        "feedback_ms": round(1000 * block.feedback),
        "task": block.task.page_settings(),
        "advice": block.advice == "suggest",
    }


def decision_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """View of a stored decision."""
    return {name: row[name] for name in ("block", "decision", "option", "reward", "auto")}


ADVICE = "advice"  # logged before it is sent, so that no advice can be seen that is not stored
MAX_ADVICE_SECONDS = 0.05  # later advice would delay a choice: none is given, and that is logged
MAX_CACHED_ADVISERS = 200  # more keep more memory; those beyond are replayed from the store
PROPOSED = "proposed"  # stored apart, because the option taken may be the advice


@dataclass(frozen=True)
class AdviceRequest:
    """A proposed option, with the stored decisions before it."""

    session: int
    seed: int
    cell: StudyCondition
    block: int
    decision: int
    option: int
    rows: Sequence[Mapping[str, Any]]


def episode_number(cell: StudyCondition, block: int) -> int:
    """Number of blocks with advice before a block."""
    return sum(one.advice == "suggest" for one in cell.blocks[:block])


def is_assisted(seed: int, episode: int) -> bool:
    """Whether an episode is assisted: not the first, and of the others a random share.

    Unassisted episodes are the control that trust is estimated from.
    """
    if episode == 0:
        return False
    return bool(np.random.default_rng(seed).random(episode)[-1] >= 1 / UNASSISTED_EVERY)


class AdviserCache:
    """Cache of the advisers of people who play."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, tuple[int, Helper]] = OrderedDict()
        self._lock = threading.Lock()

    def advice(self, asked: AdviceRequest) -> dict[str, Any]:
        """Compute advice on a proposal, as it is logged and sent."""
        block = asked.cell.blocks[asked.block]
        begin = time.perf_counter()
        helper = self._adviser_before_proposal(asked)
        found = helper.proposed(asked.option)
        took = time.perf_counter() - begin
        if took > MAX_ADVICE_SECONDS and found.option is not None:
            found = Advice(None, "silent", "The advice came too late, and is not given.")
        return {
            "block": asked.block,
            "decision": asked.decision,
            PROPOSED: asked.option,
            "kind": found.kind,
            "option": found.option,
            "reason": _options_as_rows_and_columns(found.reason, block),
            "gain": [found.gain_interval[0], found.gain, found.gain_interval[1]],
            "p_better": found.p_better,
            "p_accept": found.p_accept,
            "trust": helper.effective_trust,
            "map": [round(float(value), 2) for value in helper.belief()],
            "map_sd": [round(float(value), 2) for value in helper.belief_sd()],
            "ms": round(1000 * took, 2),
        }

    def _adviser_before_proposal(self, asked: AdviceRequest) -> Helper:
        """Adviser before this proposal: cached from the last one, or replayed from the store."""
        # taken out of the cache, because two requests would change the same adviser
        with self._lock:
            n, helper = self._held.pop(asked.session, (0, None))
        # an adviser that learnt from a proposal that was not stored would be wrong from here on
        if helper is not None and (n >= len(asked.rows) or helper.last != asked.rows[n][PROPOSED]):
            helper = None
        if helper is None:
            n, helper = 0, _make_adviser(asked.cell.blocks[asked.block], asked.seed)
        for row in asked.rows[n:]:
            while helper.episode_number < episode_number(asked.cell, int(row["block"])):
                helper.end_episode()
            if helper.last is None:
                helper.proposed(int(row[PROPOSED]))
            helper.record_unassisted(int(row["option"]), row["reward"])
        while helper.episode_number < episode_number(asked.cell, asked.block):
            helper.end_episode()
        with self._lock:
            self._held[asked.session] = len(asked.rows), helper
            while len(self._held) > MAX_CACHED_ADVISERS:
                self._held.popitem(last=False)
        return helper


def _make_adviser(block: Block, seed: int) -> Helper:
    """Make an adviser with the prior beliefs of the study file."""
    task = block.task
    assert isinstance(task, GridTask)
    places = grid(task.width, task.height)
    noise = max(task.noise.variance, 1e-6)  # the model requires it to be positive
    model = UCL(locations=places, noise_variance=noise, length_scale=block.advice_length * 2)
    field = Field(places, block.advice_mean, block.advice_sd, block.advice_length, noise)
    return Helper(model, field, "suggest", Trust(), seed, UNASSISTED_EVERY)


def compile_advice_kernels(plan: StudyPlan) -> None:
    """Compile the kernels of advice before anybody waits for them."""
    for cell in plan.cells:
        for block in cell.blocks:
            if block.advice == "suggest":
                compile_fits(_make_adviser(block, 0).model, MapPrior())


def _options_as_rows_and_columns(reason: str, block: Block) -> str:
    """Rewrite options in a reason as rows and columns, as the page calls them."""
    task = block.task
    assert isinstance(task, GridTask)
    words = []
    for word in reason.split(" "):
        number = word.rstrip(".:,;")
        words.append(word)
        if number.isdigit() and len(words) > 1 and words[-2] in ("option", "at"):
            y, x = divmod(int(number), task.width)
            before = "row" if words[-2] == "option" else "at row"
            words[-2:] = [before, str(y + 1) + ",", "column", str(x + 1) + word[len(number) :]]
    return " ".join(words)
