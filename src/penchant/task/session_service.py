"""Operations of a session, each one transaction of the store and safe to repeat.

A decision is keyed by (session, block, decision): the same choice sent again gets the stored reply,
another choice is refused with it. Deadlines are applied lazily, before whatever request comes next.
Relies on `session_states` for the rules and on `session_store` for durable commits.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update

from penchant.task.choice_tasks import Key, OfferHistory, random_integer
from penchant.task.export import OFFER_KEY
from penchant.task.session_states import (
    ADVICE,
    PROPOSED,
    AdviceRequest,
    AdviserCache,
    Clock,
    Moment,
    RefusedError,
    Session,
    check_decision,
    check_stage,
    decision_view,
    draw_least_filled_condition,
    end_view,
    episode_number,
    first_stage,
    is_assisted,
    is_overdue,
    refuse_older_window,
    session_view,
    state_after_comprehension_check,
    state_after_consent_answer,
    state_after_decision,
    state_after_decision_start,
    state_after_end,
    state_after_reading_instructions,
)
from penchant.task.session_store import Store, decisions, events, meta, people, sessions, studies
from penchant.task.study_plan import (
    Block,
    StudyCondition,
    StudyPlan,
    parse_plan,
    serialize_document,
)

Result = TypeVar("Result")
# named once, so that loading and saving a session cannot differ
STATE_COLUMNS = (
    "stage",
    "outcome",
    "consent",
    "cell",
    "attempts",
    "block",
    "decision",
    "tab",
    "total",
)
Reply = dict[str, Any]

# built once, as every choice needs them and building takes longer than executing them
_SELECT_BY_TOKEN = select(sessions).where(sessions.c.token == bindparam("key"))
_SELECT_BY_NUMBER = select(sessions).where(sessions.c.session == bindparam("key"))
_UPDATE_SESSION = update(sessions).where(sessions.c.session == bindparam("whose"))
_SELECT_DECISION = select(decisions).where(
    decisions.c.session == bindparam("whose"),
    decisions.c.block == bindparam("which_block"),
    decisions.c.decision == bindparam("which"),
)
_INSERT_DECISION = insert(decisions)
_INSERT_EVENT = insert(events)


@dataclass(frozen=True)
class Choice:
    """A decision as the page sends it.

    Attributes
    ----------
    option
        Option taken; None where time was up and nothing was marked.
    ready
        Whether the next decision may start at once.
    client
        Measurements of the page, stored as they came.
    """

    block: int
    decision: int
    option: int | None
    ready: bool = True
    client: Mapping[str, Any] | None = None


def token_hash(token: str) -> str:
    """Hash of a token, the only form in which it is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


class SessionService:
    """Operations on the sessions of a study that is being served, each one transaction."""

    def __init__(self, store: Store, plan: StudyPlan, clock: Clock | None = None) -> None:
        self.store = store
        self.plan = plan
        self.clock = clock or Clock()
        self._secret = store.stored_setting("pseudonyms").encode()
        self._store_seed = int(store.stored_setting("seed"))
        self._plans = lru_cache(maxsize=16)(self._load_plan)
        self._version = plan.version
        self._advisers = AdviserCache()
        self._store_plan()

    def start_session(self, platform_id: str | None, visit: str | None = None) -> Future[Reply]:
        """Start a session, or resume one where the study allows it.

        Parameters
        ----------
        platform_id
            Id given by the recruiting platform; None if there is none.
        visit
            A secret of the browser. The same one gives the same session, so that a lost reply can
            be requested again.
        """
        token = secrets.token_urlsafe(24)  # 192 bits, as the token alone opens the session
        if visit is not None:
            token = self._keyed_hash(f"visit\x00{platform_id or ''}\x00{visit}")[:48]

        def work(connection: Connection) -> Reply:
            now = self.clock.now()
            # a request that is repeated after a lost reply must not make a second session
            own = self._load_session(connection, _SELECT_BY_TOKEN, token_hash(token))
            if own is not None:
                settled = self._apply_deadline(connection, own, now)
                return {"token": token, "state": self._session_state_view(connection, settled, now)}
            known = self._find_by_platform_id(connection, platform_id)
            if known is not None:
                return self._resume_session(connection, known, token, now)
            self._check_capacity(connection)
            session = self._create_session(connection, platform_id, token, now)
            return {"token": token, "state": self._session_state_view(connection, session, now)}

        return self.store.write(work)

    def _find_by_platform_id(
        self, connection: Connection, platform_id: str | None
    ) -> Session | None:
        if platform_id is None:
            return None
        if not self.store.is_sqlite:  # lock: two servers must not both find nobody
            connection.execute(select(meta.c.key).where(meta.c.key == "schema").with_for_update())
        found = connection.scalar(
            select(people.c.session)
            .where(people.c.platform_id == platform_id)
            .order_by(people.c.session.desc())
            .limit(1)
        )
        return None if found is None else self._load_session(connection, _SELECT_BY_NUMBER, found)

    def _resume_session(
        self, connection: Connection, session: Session, token: str, now: Moment
    ) -> Reply:
        if self.plan.resume != "id":
            raise RefusedError(
                409, "already begun", "somebody with this id has begun; go on in that browser"
            )
        # with two valid tokens two browsers could play the same session
        connection.execute(
            update(sessions)
            .where(sessions.c.session == session.session)
            .values(token=token_hash(token))
        )
        settled = self._apply_deadline(connection, session, now)
        return {"token": token, "state": self._session_state_view(connection, settled, now)}

    def _check_capacity(self, connection: Connection) -> None:
        count = connection.scalar(select(func.count()).select_from(sessions)) or 0
        if count >= self.plan.most_sessions:
            raise RefusedError(403, "full", "this study takes no more people")

    def _create_session(
        self, connection: Connection, platform_id: str | None, token: str, now: Moment
    ) -> Session:
        # ids cannot hold NUL, so somebody without an id never gets the pseudonym of an id
        who = platform_id if platform_id is not None else f"\x00{token}"
        values = {
            "token": token_hash(token),
            "version": self._version,
            "pseudonym": self.pseudonym(who),
            "arrived": now.wall,
            "seen": now.wall,
            "stage": first_stage(self.plan),
            **dict.fromkeys(("attempts", "block", "decision", "tab"), 0),
            "total": 0.0,
        }
        result = connection.execute(insert(sessions).values(values))
        number = int(result.inserted_primary_key[0])  # type: ignore[index]  # one row was made
        if platform_id is not None:
            connection.execute(insert(people).values(session=number, platform_id=platform_id))
        made = self._load_session(connection, _SELECT_BY_NUMBER, number)
        assert made is not None
        if made.stage == "ready":
            made = self._save_session(
                connection, made, self._assign_condition(connection, made), now
            )
        return made

    def pseudonym(self, who: str) -> str:
        """Keyed pseudonym of a person; only this store can trace it back."""
        return "p" + self._keyed_hash(who)[:12]

    def _keyed_hash(self, words: str) -> str:
        return hmac.new(self._secret, words.encode(), hashlib.sha256).hexdigest()

    def claim_session(self, token: str) -> Future[Reply]:
        """Continue in this window of the browser; older ones may not act any more."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            taken = self._save_session(
                connection, session, replace(session, tab=session.tab + 1), now
            )
            self._log_event(connection, taken, "opened", {"tab": taken.tab}, now)
            return self._session_state_view(connection, taken, now)

        return self._run_in_transaction(token, act)

    def session_state(self, token: str) -> Future[Reply]:
        """Return the state of a session."""
        return self._run_in_transaction(token, self._session_state_view)

    def record_consent(
        self, token: str, *, agrees: bool, version: str, window_number: int | None
    ) -> Future[Reply]:
        """Record the answer to the question of consent."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            refuse_older_window(session, window_number)
            after = state_after_consent_answer(
                session, self._plan_of_session(session), agrees=agrees, version=version
            )
            if not agrees:  # without consent nothing that identifies the person may stay
                connection.execute(delete(people).where(people.c.session == session.session))
            if after.stage == "ready":
                after = self._assign_condition(connection, after)
            kept = self._save_session(connection, session, after, now)
            self._log_event(
                connection, kept, "consent", {"agrees": agrees, "version": version}, now
            )
            return self._session_state_view(connection, kept, now)

        return self._run_in_transaction(token, act)

    def record_instructions_read(self, token: str, *, window_number: int | None) -> Future[Reply]:
        """Record that the instructions were read."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            refuse_older_window(session, window_number)
            after = state_after_reading_instructions(session, self._plan_of_session(session))
            if after.stage == "ready":
                after = self._assign_condition(connection, after)
            kept = self._save_session(connection, session, after, now)
            self._log_event(connection, kept, "instructions", {}, now)
            return self._session_state_view(connection, kept, now)

        return self._run_in_transaction(token, act)

    def grade_comprehension_check(
        self, token: str, answers: Sequence[int], *, window_number: int | None
    ) -> Future[Reply]:
        """Mark the comprehension check."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            refuse_older_window(session, window_number)
            after, wrong = state_after_comprehension_check(
                session, self._plan_of_session(session), answers
            )
            if after.stage == "ready":
                after = self._assign_condition(connection, after)
            kept = self._save_session(connection, session, after, now)
            self._log_event(
                connection, kept, "check", {"answers": list(answers), "wrong": wrong}, now
            )
            return {**self._session_state_view(connection, kept, now), "wrong": wrong}

        return self._run_in_transaction(token, act)

    def begin_block(
        self, token: str, *, block: int, decision: int, window_number: int | None
    ) -> Future[Reply]:
        """Start a block, or continue after a pause."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            refuse_older_window(session, window_number)
            check_stage(session, "ready", "play")
            if (block, decision) != (session.block, session.decision):
                raise RefusedError(409, "decision", "another decision is next")
            kept = self._save_session(
                connection, session, state_after_decision_start(session, now), now
            )
            if (
                session.stage == "ready"
            ):  # otherwise a repeated request would be logged as a second start
                self._log_event(
                    connection, kept, "begun", {"block": block, "decision": decision}, now
                )
            return self._session_state_view(connection, kept, now)

        return self._run_in_transaction(token, act)

    def record_choice(
        self, token: str, choice: Choice, *, window_number: int | None
    ) -> Future[Reply]:
        """Store a choice with its reward; the same choice again returns the stored reply."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            refuse_older_window(session, window_number)
            # saves a query: a row is written together with the position, so the next has none yet
            position = choice.block, choice.decision
            is_next = session.stage == "play" and position == (session.block, session.decision)
            stored = None if is_next else self._load_decision(connection, session, *position)
            if stored is not None:
                self._check_same_choice(connection, session, choice, stored, now)
                return self._decision_reply(connection, session, stored, now)
            check_decision(session, choice.block, choice.decision)
            block = self._condition_of_session(session).blocks[session.block]
            option = self._validated_option(connection, session, block, choice)
            after, row = self._store_decision(
                connection,
                session,
                option,
                now,
                auto=choice.option is None,
                ready=choice.ready,
                client=choice.client or {},
            )
            return self._decision_reply(connection, after, row, now)

        return self._run_in_transaction(token, act)

    def advise_on_proposal(
        self, token: str, block: int, decision: int, option: int, *, window_number: int | None
    ) -> Reply:
        """Advice on a choice before it is taken; the same proposal again returns the same.

        It is computed outside the store's thread, which all others wait for, and logged before it
        is sent.
        """

        def load_proposal(
            connection: Connection, session: Session, now: Moment
        ) -> Reply | AdviceRequest:
            refuse_older_window(session, window_number)
            check_decision(session, block, decision)
            known = self._load_advice(connection, session, block, decision)
            if known is not None:
                if known[PROPOSED] != option:
                    raise RefusedError(409, "already proposed", f"{known[PROPOSED]} was proposed")
                return known
            cell = self._condition_of_session(session)
            played = cell.blocks[block]
            if played.advice != "suggest":
                raise RefusedError(409, "advice", "this block goes without advice")
            n = played.task.n_options(decision)
            if not 0 <= option < n:
                raise RefusedError(422, "option", f"option must lie in 0..{n - 1}")
            rows = self._decisions_with_advice(connection, session, cell)
            seed = random_integer(2**31, self._seed_of_session(session), "advice", session.session)
            return AdviceRequest(session.session, seed, cell, block, decision, option, rows)

        found = self._run_in_transaction(token, load_proposal).result()
        if not isinstance(found, AdviceRequest):
            return found
        made = self._advisers.advice(found)

        def store_advice(connection: Connection, session: Session, now: Moment) -> Reply:
            check_decision(session, block, decision)
            known = self._load_advice(connection, session, block, decision)
            if known is not None:  # advice of a concurrent request may have been shown already
                return known
            self._log_event(connection, session, ADVICE, made, now)
            return made

        return self._run_in_transaction(token, store_advice).result()

    def advice_log(self, token: str) -> Future[Reply]:
        """Return all advice that a person got; withdrawing deletes it."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            return {"advice": self._load_advice_log(connection, session)}

        return self._run_in_transaction(token, act)

    def _load_advice_log(self, connection: Connection, session: Session) -> list[Reply]:
        found = connection.execute(
            select(events.c.data)
            .where(events.c.session == session.session, events.c.kind == ADVICE)
            .order_by(events.c.event)
        )
        return [json.loads(row.data) for row in found]

    def _load_advice(
        self, connection: Connection, session: Session, block: int, decision: int
    ) -> Reply | None:
        """Load the advice on a proposal at a decision, if any."""
        for made in self._load_advice_log(connection, session):
            if (made["block"], made["decision"]) == (block, decision):
                return made
        return None

    def _decisions_with_advice(
        self, connection: Connection, session: Session, cell: StudyCondition
    ) -> list[dict[str, Any]]:
        """Decisions of the blocks with advice so far: what was proposed, done, and paid."""
        found = connection.execute(
            select(decisions)
            .where(decisions.c.session == session.session)
            .order_by(decisions.c.block, decisions.c.decision)
        )
        return [
            {**row, PROPOSED: json.loads(row["client"]).get(PROPOSED, row["option"])}
            for row in found.mappings()
            if cell.blocks[row["block"]].advice == "suggest"
        ]

    def log_events(
        self,
        token: str,
        page_events: Sequence[tuple[str, Mapping[str, Any]]],
        *,
        window_number: int | None,
    ) -> Future[Reply]:
        """Log events of the page: hidden, resized, offline."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            if session.stage == "consent" or session.outcome in ("no consent", "withdrawn"):
                raise RefusedError(409, "stage", "nothing is logged without consent")
            for kind, data in page_events:
                self._log_event(connection, session, f"page: {kind}", data, now)
            return {"logged": len(page_events)}

        return self._run_in_transaction(token, act)

    def withdraw(self, token: str) -> Future[Reply]:
        """End the session, and delete decisions, events and id of the person."""

        def act(connection: Connection, session: Session, now: Moment) -> Reply:
            if session.outcome != "withdrawn":  # a repeated request would find nothing to delete
                for table in (decisions, events, people):
                    connection.execute(delete(table).where(table.c.session == session.session))
                nothing = replace(state_after_end(session, "withdrawn"), total=0.0)
                session = self._save_session(connection, session, nothing, now)
            return self._session_state_view(connection, session, now)

        return self._run_in_transaction(token, act)

    def _run_in_transaction(
        self, token: str, act: Callable[[Connection, Session, Moment], Result]
    ) -> Future[Result]:
        def work(connection: Connection) -> Result | RefusedError:
            now = self.clock.now()
            session = self._load_session(connection, _SELECT_BY_TOKEN, token_hash(token))
            if session is None:
                raise RefusedError(401, "token", "no session has this token")
            settled = self._apply_deadline(connection, session, now)
            try:
                return act(connection, settled, now)
            except RefusedError as refused:
                if settled is session:
                    raise
                return refused  # raising would roll back the choice that the deadline made

        return _future_that_raises_refusals(self.store.write(work))

    def _load_session(
        self, connection: Connection, query: Select[Any], key: int | str
    ) -> Session | None:
        if not self.store.is_sqlite:  # other servers may write to PostgreSQL, but none to SQLite
            query = query.with_for_update()
        row = connection.execute(query, {"key": key}).mappings().first()
        if row is None:
            return None
        onset = None
        if row["onset_wall"] is not None:
            onset = Moment(row["onset_wall"], row["onset_steady"], row["onset_boot"])
        return Session(
            session=row["session"],
            version=row["version"],
            pseudonym=row["pseudonym"],
            onset=onset,
            **{name: row[name] for name in STATE_COLUMNS},
        )

    def _save_session(
        self, connection: Connection, before: Session, after: Session, now: Moment
    ) -> Session:
        onset = after.onset
        changed: dict[str, Any] = {name: getattr(after, name) for name in STATE_COLUMNS}
        changed |= {"whose": before.session, "seen": now.wall}
        changed |= {"onset_wall": onset and onset.wall, "onset_steady": onset and onset.steady}
        connection.execute(_UPDATE_SESSION, {**changed, "onset_boot": onset and onset.boot})
        return after

    def _apply_deadline(self, connection: Connection, session: Session, now: Moment) -> Session:
        """Take the decision of a session whose deadline has passed; return the session."""
        if session.stage != "play":
            return session
        block = self._condition_of_session(session).blocks[session.block]
        if not is_overdue(session, block, now):
            return session
        option = self._fallback_option(connection, session, block)
        after, _ = self._store_decision(
            connection, session, option, now, auto=True, ready=False, client={}
        )
        self._log_event(connection, after, "deadline", {"decision": session.decision}, now)
        return after

    def _store_decision(
        self,
        connection: Connection,
        session: Session,
        option: int,
        now: Moment,
        *,
        auto: bool,
        ready: bool,
        client: Mapping[str, Any],
    ) -> tuple[Session, dict[str, Any]]:
        cell = self._condition_of_session(session)
        task = cell.blocks[session.block].task
        if task.is_adaptive:  # stored, as an export could derive it only by replaying all answers
            history = self._offer_history(connection, session)
            client = {
                **client,
                OFFER_KEY: task.offer_index(
                    session.decision, self.block_random_key(session), history
                ),
            }
        if cell.blocks[session.block].advice == "suggest":
            made = self._load_advice(connection, session, session.block, session.decision)
            if made is not None:
                client = {**client, PROPOSED: made[PROPOSED], ADVICE: made}
        # drawn by key, not from a stream: a retry after a crash draws the same reward
        key = (
            self._seed_of_session(session),
            "reward",
            session.session,
            session.block,
            session.decision,
        )
        reward = task.reward(option, session.decision, self.block_random_key(session), key)
        row = {
            "session": session.session,
            "block": session.block,
            "decision": session.decision,
            "option": option,
            "reward": reward,
            "auto": auto,
            "received": now.wall,
            "elapsed": None if session.onset is None else now.since(session.onset),
            "client": json.dumps(client),
        }
        connection.execute(_INSERT_DECISION, row)
        after = state_after_decision(session, cell, reward, now, ready=ready)
        return self._save_session(connection, session, after, now), row

    def _validated_option(
        self, connection: Connection, session: Session, block: Block, choice: Choice
    ) -> int:
        n = block.task.n_options(session.decision)
        if choice.option is None:
            if block.seconds is None:
                raise RefusedError(422, "option", "option must be given where time is not limited")
            return self._fallback_option(connection, session, block)
        if not 0 <= choice.option < n:
            raise RefusedError(422, "option", f"option must lie in 0..{n - 1}")
        if block.advice == "suggest":
            made = self._load_advice(connection, session, session.block, session.decision)
            if made is not None and choice.option not in (made[PROPOSED], made["option"]):
                raise RefusedError(
                    409, "already proposed", "option must be what was proposed or advised"
                )
        return choice.option

    def _fallback_option(self, connection: Connection, session: Session, block: Block) -> int:
        """Option where none was marked: the last choice of the block, or a random first one."""
        last = connection.scalar(
            select(decisions.c.option)
            .where(decisions.c.session == session.session, decisions.c.block == session.block)
            .order_by(decisions.c.decision.desc())
            .limit(1)
        )
        if last is not None:
            return int(last)
        n = block.task.n_options(session.decision)
        return random_integer(
            n, self._seed_of_session(session), "first", session.session, session.block
        )

    def _load_decision(
        self, connection: Connection, session: Session, block: int, decision: int
    ) -> dict[str, Any] | None:
        key = {"whose": session.session, "which_block": block, "which": decision}
        row = connection.execute(_SELECT_DECISION, key).mappings()
        found = row.first()
        return None if found is None else dict(found)

    def _check_same_choice(
        self,
        connection: Connection,
        session: Session,
        choice: Choice,
        stored: Mapping[str, Any],
        now: Moment,
    ) -> None:
        same = stored["auto"] if choice.option is None else choice.option == stored["option"]
        if same:
            return
        # the person must learn whether time was up or another choice of theirs came first
        code = "too late" if stored["auto"] else "already decided"
        error = RefusedError(409, code, f"decision {choice.decision} is taken")
        error.reply = self._decision_reply(connection, session, stored, now)
        raise error

    def _decision_reply(
        self, connection: Connection, session: Session, row: Mapping[str, Any], now: Moment
    ) -> Reply:
        """Reply to a decision: its reward and the next one, or the whole state after a block."""
        block = self._condition_of_session(session).blocks[row["block"]]
        reply: Reply = {"decision": decision_view(row), "total": round(session.total, 6)}
        if session.stage in (
            "ready",
            "end",
        ):  # so nobody is sent back to the recruiter before the save
            reply["state"] = self._session_state_view(connection, session, now)
        else:
            history = self._offer_history(connection, session)
            offer = block.task.offer(session.decision, self.block_random_key(session), history)
            reply["next"] = {"block": session.block, "decision": session.decision, "offer": offer}
        return reply

    def _session_state_view(self, connection: Connection, session: Session, now: Moment) -> Reply:
        plan = self._plan_of_session(session)
        if session.stage == "end":
            assert session.outcome is not None
            return end_view(plan, session, self._platform_id(connection, session))
        cell = None if session.cell is None else self._condition_of_session(session)
        rows: list[Any] = []
        if session.stage in ("ready", "play"):
            found = connection.execute(
                select(decisions)
                .where(decisions.c.session == session.session, decisions.c.block == session.block)
                .order_by(decisions.c.decision)
            )
            rows = list(found.mappings())
        history = self._offer_history(connection, session) if cell is not None else ()
        view = session_view(plan, session, cell, rows, self.block_random_key(session), now, history)
        if cell is not None and "block" in view and cell.blocks[session.block].advice == "suggest":
            seed = random_integer(2**31, self._seed_of_session(session), "advice", session.session)
            view["block"]["assisted"] = is_assisted(seed, episode_number(cell, session.block))
            view["proposal"] = self._load_advice(
                connection, session, session.block, session.decision
            )
        return view

    def _offer_history(self, connection: Connection, session: Session) -> OfferHistory:
        """Answered offers of the block, in a task where the next offer depends on them."""
        if session.stage not in ("ready", "play"):
            return ()
        if not self._condition_of_session(session).blocks[session.block].task.is_adaptive:
            return ()
        found = connection.execute(
            select(decisions.c.client, decisions.c.option)
            .where(
                decisions.c.session == session.session,
                decisions.c.block == session.block,
                # an option taken by the server when time was up says nothing of the person
                decisions.c.auto.is_(False),
            )
            .order_by(decisions.c.decision)
        )
        return tuple((int(json.loads(row.client)[OFFER_KEY]), int(row.option)) for row in found)

    def _platform_id(self, connection: Connection, session: Session) -> str | None:
        query = select(people.c.platform_id).where(people.c.session == session.session)
        return connection.scalar(query)

    def _log_event(
        self,
        connection: Connection,
        session: Session,
        kind: str,
        data: Mapping[str, Any],
        now: Moment,
    ) -> None:
        row = {"session": session.session, "received": now.wall, "kind": kind}
        connection.execute(_INSERT_EVENT, {**row, "data": json.dumps(data)})

    def _assign_condition(self, connection: Connection, session: Session) -> Session:
        """Assign the condition that has the fewest people."""
        if not self.store.is_sqlite:
            connection.execute(select(meta.c.key).where(meta.c.key == "schema").with_for_update())
        plan = self._plan_of_session(session)
        if session.cell is not None:
            return session
        counted = connection.execute(
            select(sessions.c.cell, func.count())
            .where(
                sessions.c.cell.is_not(None),
                sessions.c.version == session.version,
                # people who dropped out give no data, so the balance is of all others
                sessions.c.outcome.is_(None) | (sessions.c.outcome == "completed"),
            )
            .group_by(sessions.c.cell)
        )
        counts = [0] * len(plan.cells)
        for cell, n in counted:
            counts[cell] = n
        chosen = draw_least_filled_condition(
            counts, self._seed_of_session(session), "cell", session.session
        )
        return replace(session, cell=chosen)

    def block_random_key(self, session: Session) -> Key:
        """Key of the random numbers of a block as a whole."""
        return (self._seed_of_session(session), "walk", session.session, session.block)

    def _seed_of_session(self, session: Session) -> int:
        return self.study_seed(self._plan_of_session(session))

    def study_seed(self, plan: StudyPlan) -> int:
        """Seed of a study; the store's, if the file has none."""
        return self._store_seed if plan.seed is None else plan.seed

    def _condition_of_session(self, session: Session) -> StudyCondition:
        assert session.cell is not None
        return self._plan_of_session(session).cells[session.cell]

    def _plan_of_session(self, session: Session) -> StudyPlan:
        return self.plan_of_version(session.version)

    def plan_of_version(self, version: str) -> StudyPlan:
        """Return the study of a version: the present one, or one that was served before."""
        return self.plan if version == self._version else self._plans(version)

    def _load_plan(self, version: str) -> StudyPlan:
        with self.store.read_connection() as connection:
            query = select(studies.c.document).where(studies.c.version == version)
            return parse_plan(json.loads(cast(str, connection.scalar(query))))

    def _store_plan(self) -> None:
        """Store the study file, so that sessions continue with the version they began with."""

        def work(connection: Connection) -> None:
            version = self._version
            query = select(studies.c.version).where(studies.c.version == version)
            if connection.scalar(query) is None:
                connection.execute(
                    insert(studies).values(
                        version=version,
                        document=serialize_document(self.plan.document),
                        first_served=self.clock.now().wall,
                    )
                )

        self.store.write(work).result()


def _future_that_raises_refusals(inner: Future[Result | RefusedError]) -> Future[Result]:
    """Wrap a future so that a refusal returned as its result is raised."""
    outer: Future[Result] = Future()

    def forward(done: Future[Result | RefusedError]) -> None:
        error = done.exception()
        result = None if error is not None else done.result()
        if isinstance(result, RefusedError):
            error = result
        if error is not None:
            outer.set_exception(error)
        else:
            outer.set_result(cast(Result, result))

    inner.add_done_callback(forward)
    return outer
