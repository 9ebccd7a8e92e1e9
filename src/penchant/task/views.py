"""What the page is told: never a mean reward, a seed, a condition or the name of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from penchant.task.clock import Moment
from penchant.task.draws import Key
from penchant.task.plan import Block, Cell, Plan
from penchant.task.sessions import Session, remaining
from penchant.task.tasks.task import Past


def session_view(
    plan: Plan,
    session: Session,
    cell: Cell | None,
    rows: Sequence[Mapping[str, Any]],
    walk: Key,
    now: Moment,
    past: Past = (),
) -> dict[str, Any]:
    """The state of a session that goes on."""
    view = _always(plan, session)
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
        view["offer"] = block.task.offer(session.decision, walk, past)
        left_s = remaining(session, block, now)
        view["remaining_ms"] = None if left_s is None else round(1000 * left_s)
    return view


def end_view(plan: Plan, session: Session, platform_id: str | None) -> dict[str, Any]:
    """The state of a session that has ended: words, code and address."""
    assert session.outcome is not None
    ending = plan.endings[session.outcome]
    address = ending.address
    if address is not None and "{id}" in address:
        address = address.replace("{id}", quote(platform_id or "", safe=""))
    view = _always(plan, session)
    view["end"] = {
        "outcome": session.outcome,
        "text": ending.text,
        "code": ending.code,
        "address": address,
        "estimate": plan.show_estimate and session.outcome == "completed",
    }
    return view


def _always(plan: Plan, session: Session) -> dict[str, Any]:
    study = {"title": plan.title, "contact": plan.contact, "resume": plan.resume}
    return {
        "stage": session.stage,
        "study": {**study, "language": plan.language},
        "tab": session.tab,
        "total": round(session.total, 6),
    }


def block_view(block: Block, place: int, count: int) -> dict[str, Any]:
    """What the page must know of a block to show it."""
    return {
        "index": place,
        "count": count,
        "title": block.title,
        "practice": block.practice,
        "decisions": block.task.n_decisions,
        "seconds": block.seconds,
        "feedback_ms": round(1000 * block.feedback),
        "task": block.task.shown(),
        "advice": block.advice == "suggest",
    }


def decision_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """A decision that was taken."""
    return {name: row[name] for name in ("block", "decision", "option", "reward", "auto")}
