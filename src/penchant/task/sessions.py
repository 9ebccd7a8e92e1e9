"""What a person may do next: consent, instructions, check, blocks, end. No store, no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from penchant.task.clock import Moment
from penchant.task.draws import whole
from penchant.task.plan import Block, Cell, Outcome, Plan

Stage = Literal["consent", "instructions", "check", "ready", "play", "end"]


class RefusedError(Exception):
    """Something that cannot be done now; the reply says what is expected instead.

    Attributes
    ----------
    status
        Of HTTP.
    code
        A word for programs.
    reply
        What is stored, where something else is.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.reply: dict[str, Any] = {}


@dataclass(frozen=True)
class Session:
    """Where a person is.

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


def first_stage(plan: Plan) -> Stage:
    """Where a person comes in."""
    return "consent" if plan.consent is not None else after_consent(plan)


def after_consent(plan: Plan) -> Stage:
    """What comes after the consent."""
    return "instructions" if plan.instructions else after_instructions(plan)


def after_instructions(plan: Plan) -> Stage:
    """What comes after the instructions."""
    return "check" if plan.questions else "ready"


def expect(session: Session, *stages: Stage) -> None:
    """Refuse what does not belong to the stage."""
    if session.stage == "end" and "end" not in stages:
        raise RefusedError(410, "ended", "this session has ended")
    if session.stage not in stages:
        raise RefusedError(409, "stage", f"this is the stage {session.stage!r}")


def expect_tab(session: Session, tab: int | None) -> None:
    """Refuse an older window of the browser."""
    if tab is not None and tab != session.tab:
        raise RefusedError(409, "superseded", "the study goes on in another window")


def consented(session: Session, plan: Plan, *, agrees: bool, version: str) -> Session:
    """After the answer to the question of consent."""
    expect(session, "consent")
    if version != plan.consent_version:
        raise RefusedError(409, "consent changed", "the words of the consent have changed")
    if not agrees:
        return ended(session, "no consent")
    return replace(session, stage=after_consent(plan), consent=version)


def instructed(session: Session, plan: Plan) -> Session:
    """After the last page of instructions."""
    expect(session, "instructions")
    return replace(session, stage=after_instructions(plan))


def checked(session: Session, plan: Plan, answers: Sequence[int]) -> tuple[Session, list[int]]:
    """After the comprehension check, with the questions that were answered wrongly."""
    expect(session, "check")
    if len(answers) != len(plan.questions):
        raise RefusedError(422, "answers", f"answers must be {len(plan.questions)} numbers")
    for i, (answer, question) in enumerate(zip(answers, plan.questions, strict=True)):
        if not 0 <= answer < len(question.answers):
            most = len(question.answers) - 1
            raise RefusedError(422, "answers", f"answers must lie in 0..{most} at {i}")
    pairs = zip(answers, plan.questions, strict=True)
    wrong = [i for i, (answer, question) in enumerate(pairs) if answer != question.correct]
    tried = replace(session, attempts=session.attempts + 1)
    if not wrong:
        return replace(tried, stage="ready"), wrong
    if tried.attempts >= plan.attempts:
        return ended(tried, "screened out"), wrong
    return tried, wrong


def ended(session: Session, outcome: Outcome) -> Session:
    """After the end."""
    return replace(session, stage="end", outcome=outcome, onset=None)


def least_filled(counts: Sequence[int], *key: int | str) -> int:
    """One of the conditions with the fewest people, by chance among several.

    Examples
    --------
    >>> least_filled([4, 3, 5], 7, "cell", 1)
    1
    """
    fewest = [i for i, count in enumerate(counts) if count == min(counts)]
    return fewest[whole(len(fewest), *key)]


def begun(session: Session, now: Moment) -> Session:
    """After a person is ready for a decision; again is the same."""
    expect(session, "ready", "play")
    return session if session.stage == "play" else replace(session, stage="play", onset=now)


def expect_decision(session: Session, block: int, decision: int) -> None:
    """Refuse any but the next decision."""
    expect(session, "play")
    if (block, decision) != (session.block, session.decision):
        raise RefusedError(
            409, "decision", f"the next decision is {session.decision} of block {session.block}"
        )


def is_overdue(session: Session, block: Block, now: Moment) -> bool:
    """Whether time is up, and the grace for the network, too."""
    if block.seconds is None or session.onset is None or session.stage != "play":
        return False
    return now.since(session.onset) > block.seconds + block.grace


def remaining(session: Session, block: Block, now: Moment) -> float | None:
    """Seconds that are left for the decision; None without a fixed pace."""
    if block.seconds is None or session.onset is None:
        return None
    return max(0.0, block.seconds - now.since(session.onset))


def decided(
    session: Session, cell: Cell, reward: float | None, now: Moment, *, ready: bool
) -> Session:
    """After a choice: the next decision, the next block, or the end.

    Parameters
    ----------
    ready
        Whether a fixed pace goes on at once; else it waits until the person is back.
    """
    block = cell.blocks[session.block]
    paid = 0.0 if reward is None or block.practice else reward
    after = replace(session, total=session.total + paid, decision=session.decision + 1)
    if after.decision < block.task.n_decisions:
        if block.seconds is None or ready:
            return replace(after, onset=later(now, block.feedback))
        return replace(after, stage="ready", onset=None)
    if after.block + 1 < len(cell.blocks):
        return replace(after, stage="ready", block=after.block + 1, decision=0, onset=None)
    return ended(after, "completed")


def later(moment: Moment, seconds: float) -> Moment:
    """The moment so many seconds later."""
    return Moment(moment.wall + seconds, moment.steady + seconds, moment.boot)
