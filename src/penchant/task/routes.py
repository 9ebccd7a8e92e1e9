"""HTTP routes of participants, of the researcher, and of other front ends (observers).

Handlers read and check the request, hand it to `SessionService`, and wait for the durable commit.
Relies on Starlette; paths and bodies are described in `page/openapi.json`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from statistics import median
from typing import Any

from sqlalchemy import Connection, func, insert, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penchant.errors import DataError
from penchant.task.export import csv_lines, person_json, study_overview_json
from penchant.task.live_estimates import LiveEstimates, check_model_settings, n_options_of_settings
from penchant.task.request_bodies import (
    MAX_SAFE_INTEGER,
    RequestBody,
    RequestBodyError,
    read_json_body,
    refuse_field,
)
from penchant.task.request_limits import TokenBuckets, error_response
from penchant.task.session_service import Choice, SessionService
from penchant.task.session_states import RefusedError
from penchant.task.session_store import Store, observations, observers

PREFIX = "/api/v1"
PAGE_EVENTS = ("blur", "focus", "hidden", "visible", "resize", "fullscreen", "offline", "online")
MAX_MARKS = 200  # changes of mind in a decision: more would not fit into a body of 16 KiB


class ParticipantRoutes:
    """Routes of participants, each with the token of their own session."""

    def __init__(self, service: SessionService, results: Any = None) -> None:
        self.service = service
        self.results = results
        rate = service.plan.sessions_per_minute / 60
        # people of a laboratory share one address and arrive together
        self._arrivals = TokenBuckets(rate, max(10.0, service.plan.sessions_per_minute / 2))
        # far above what a page sends for a decision, yet a script cannot flood the writer
        self._requests = TokenBuckets(rate=40.0, burst=80.0)

    def routes(self) -> list[Route]:
        """Routes, each with its one method."""
        posts = {  # the most frequent first, because Starlette tries routes in order
            "decisions": self.decide,
            "proposals": self.propose,
            "open": self.open,
            "consent": self.consent,
            "instructions": self.instructions,
            "check": self.check,
            "begin": self.begin,
            "events": self.log_events,
            "withdraw": self.withdraw,
        }
        return [
            *(
                Route(f"{PREFIX}/session/{name}", endpoint, methods=["POST"])
                for name, endpoint in posts.items()
            ),
            Route(f"{PREFIX}/study", self.study, methods=["GET"]),
            Route(f"{PREFIX}/sessions", self.start_session, methods=["POST"]),
            Route(f"{PREFIX}/session", self.state, methods=["GET"]),
            Route(f"{PREFIX}/session/estimate", self.estimate, methods=["GET"]),
            Route(f"{PREFIX}/session/advice", self.advice, methods=["GET"]),
        ]

    async def study(self, request: Request) -> JSONResponse:
        """Send the settings that the page needs before a session exists."""
        plan = self.service.plan
        found = {"title": plan.title, "language": plan.language, "id_parameter": plan.id_parameter}
        return JSONResponse(found)

    async def start_session(self, request: Request) -> JSONResponse:
        """Start a session."""
        check_origin(request)
        body = await read_json_body(request)
        platform_id, visit = body.platform_id("id"), body.platform_id("visit")
        # under 128 bits others could guess it, and so take over the session
        if visit is not None and len(visit) < 22:
            refuse_field("visit", "have at least 22 characters, drawn at random")
        body.refuse_unread_fields()
        host = request.client.host if request.client else ""
        wait = self._arrivals.take_token(host)
        if wait:
            return error_response(429, "rate", "too many people come at once", wait=wait)
        return JSONResponse(await await_commit(self.service.start_session(platform_id, visit)), 201)

    async def state(self, request: Request) -> JSONResponse:
        """Send the state of the session."""
        return await self._respond_after_commit(
            self.service.session_state(self._session_token(request))
        )

    async def open(self, request: Request) -> JSONResponse:
        """Continue in this window."""
        token, body = await self._read_token_and_body(request)
        body.refuse_unread_fields()
        return await self._respond_after_commit(self.service.claim_session(token))

    async def consent(self, request: Request) -> JSONResponse:
        """Record the answer to the question of consent."""
        token, body = await self._read_token_and_body(request)
        agrees, version, window_number = (
            body.boolean("agrees"),
            body.text("version", 64),
            _read_window_number(body),
        )
        body.refuse_unread_fields()
        done = self.service.record_consent(
            token, agrees=agrees, version=version, window_number=window_number
        )
        return await self._respond_after_commit(done)

    async def instructions(self, request: Request) -> JSONResponse:
        """Record that the instructions were read."""
        token, body = await self._read_token_and_body(request)
        window_number = _read_window_number(body)
        body.refuse_unread_fields()
        return await self._respond_after_commit(
            self.service.record_instructions_read(token, window_number=window_number)
        )

    async def check(self, request: Request) -> JSONResponse:
        """Mark the comprehension check."""
        token, body = await self._read_token_and_body(request)
        answers = body.list_items("answers", 100)
        for i, answer in enumerate(answers):
            if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < 1000:
                refuse_field("answers", f"be whole numbers from 0 on (at {i})")
        window_number = _read_window_number(body)
        body.refuse_unread_fields()
        return await self._respond_after_commit(
            self.service.grade_comprehension_check(token, answers, window_number=window_number)
        )

    async def begin(self, request: Request) -> JSONResponse:
        """Start a block, or go on."""
        token, body = await self._read_token_and_body(request)
        block, decision = body.integer("block", 0, 1000), body.integer("decision", 0, 10_000)
        window_number = _read_window_number(body)
        body.refuse_unread_fields()
        done = self.service.begin_block(
            token, block=block, decision=decision, window_number=window_number
        )
        return await self._respond_after_commit(done)

    async def decide(self, request: Request) -> JSONResponse:
        """Take a choice."""
        token, body = await self._read_token_and_body(request)
        choice = _read_choice(body)
        window_number = _read_window_number(body)
        body.refuse_unread_fields()
        return await self._respond_after_commit(
            self.service.record_choice(token, choice, window_number=window_number)
        )

    async def propose(self, request: Request) -> JSONResponse:
        """Advise on a choice before it is taken."""
        token, body = await self._read_token_and_body(request)
        block, decision = body.integer("block", 0, 1000), body.integer("decision", 0, 10_000)
        option, window_number = (
            body.integer("option", 0, MAX_SAFE_INTEGER),
            _read_window_number(body),
        )
        body.refuse_unread_fields()
        # advice is computed and waits for the store: on the event loop all others would wait, too
        advice = await asyncio.to_thread(
            self.service.advise_on_proposal,
            token,
            block,
            decision,
            option,
            window_number=window_number,
        )
        return JSONResponse(advice)

    async def advice(self, request: Request) -> JSONResponse:
        """Send all advice that this person got."""
        return await self._respond_after_commit(
            self.service.advice_log(self._session_token(request))
        )

    async def log_events(self, request: Request) -> JSONResponse:
        """Log events of the page."""
        token, body = await self._read_token_and_body(request)
        given = [_read_event(event, i) for i, event in enumerate(body.list_items("events", 50))]
        window_number = _read_window_number(body)
        body.refuse_unread_fields()
        return await self._respond_after_commit(
            self.service.log_events(token, given, window_number=window_number)
        )

    async def withdraw(self, request: Request) -> JSONResponse:
        """Stop, and delete what was given."""
        token, body = await self._read_token_and_body(request)
        _read_window_number(body)  # ignored: people may withdraw in an older window, too
        body.refuse_unread_fields()
        return await self._respond_after_commit(self.service.withdraw(token))

    async def estimate(self, request: Request) -> JSONResponse:
        """The person's own estimate, after the end, if the study says so."""
        token = self._session_token(request)
        state = await await_commit(self.service.session_state(token))
        if not state.get("end", {}).get("estimate"):
            raise RefusedError(403, "estimate", "this study shows no estimate")
        found = None if self.results is None else self.results.latest_estimate_by_token(token)
        return JSONResponse({"estimate": found})

    async def _read_token_and_body(self, request: Request) -> tuple[str, RequestBody]:
        check_origin(request)
        token = self._session_token(request)
        return token, await read_json_body(request)

    def _session_token(self, request: Request) -> str:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not 20 <= len(token) <= 200:
            raise RefusedError(401, "token", "the token of a session must be given")
        wait = self._requests.take_token(token)
        if wait:
            raise RequestBodyError(429, "requests come too fast", wait=wait)
        return token

    async def _respond_after_commit(self, future: Future[dict[str, Any]]) -> JSONResponse:
        return JSONResponse(await await_commit(future))


async def await_commit(future: Future[Any]) -> Any:
    """Wait until the store has committed a write; return its result."""
    return await asyncio.wrap_future(future)


def check_origin(request: Request) -> None:
    """Refuse requests that another site's page makes."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if site is not None:  # pages cannot set it, and proxies that change the host leave it alone
        if site not in ("same-origin", "none"):
            raise RefusedError(403, "origin", "requests of other sites are refused")
    elif origin is not None and origin.split("://")[-1] != own.split("://")[-1]:
        raise RefusedError(403, "origin", "requests of other sites are refused")


def _read_window_number(body: RequestBody) -> int | None:
    return body.optional_integer("tab", 0, MAX_SAFE_INTEGER)


def _read_choice(body: RequestBody) -> Choice:
    block, decision = body.integer("block", 0, 1000), body.integer("decision", 0, 10_000)
    unmarked = body.boolean("unmarked", False)
    if unmarked and body.has_field("option"):
        refuse_field("option", "be left out with unmarked")
    option = None if unmarked else body.integer("option", 0, MAX_SAFE_INTEGER)
    ready = body.boolean("ready", True)
    return Choice(block, decision, option, ready, _read_client_times(body.nested_object("client")))


def _read_client_times(body: RequestBody) -> dict[str, Any]:
    """Read the times that the page measured by its own clock: onset, marks, choice."""
    found: dict[str, Any] = {}
    for field in ("onset_ms", "taken_ms"):
        if body.has_field(field):
            found[field] = round(body.number(field), 2)
    if body.has_field("input"):
        found["input"] = body.text("input", 20)
        if found["input"] not in ("mouse", "touch", "pen", "keyboard", "simulated"):
            refuse_field("input", "be mouse, touch, pen, keyboard or simulated")
    if body.has_field("marks"):
        marks = body.list_items("marks", MAX_MARKS)
        for mark in marks:
            if (
                not isinstance(mark, list)
                or len(mark) != 2
                or not all(map(_is_time_or_option, mark))
            ):
                refuse_field("marks", "be pairs of an option and a time")
        found["marks"] = [[mark[0], round(mark[1], 2)] for mark in marks]
    body.refuse_unread_fields()
    return found


def _is_time_or_option(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _read_event(value: Any, index: int) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(value, dict):
        refuse_field("events", f"be objects (at {index})")
    body = RequestBody(value)
    kind = body.text("kind", 20)
    if kind not in PAGE_EVENTS:
        refuse_field("kind", f"be one of {', '.join(PAGE_EVENTS)}")
    data: dict[str, Any] = {"ms": round(body.number("ms"), 2)}
    for field in ("width", "height"):
        if body.has_field(field):
            data[field] = body.integer(field, 0, 100_000)
    body.refuse_unread_fields()
    return kind, data


COOKIE_NAME = "penchant_researcher"
COOKIE_HOURS = 12  # longer, a browser left open stays logged in; shorter, a day needs two logins
log = logging.getLogger("penchant.task")


class ResearcherAuthentication:
    """Access of the researcher, by the token or by a cookie signed with it."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        # a few typing errors pass; guessing does not
        self._attempts = TokenBuckets(rate=0.1, burst=8)

    def check_access(self, request: Request) -> None:
        """Refuse everybody but the researcher."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            self.check_token(request, token)
        elif not self._is_valid_cookie(request.cookies.get(COOKIE_NAME, "")):
            raise RefusedError(401, "researcher", "the researcher's token must be given")

    def check_token(self, request: Request, token: str) -> None:
        """Refuse a wrong token, and too many attempts."""
        host = request.client.host if request.client else ""
        # in constant time, which does not tell how much of a guess is right; and before the rate:
        # guesses from the same address must not lock out the researcher
        if hmac.compare_digest(token.encode(), self._token):
            return
        log.warning("wrong researcher's token from %s", host)
        if self._attempts.take_token(host):
            raise RefusedError(429, "attempts", "too many attempts; wait a minute")
        raise RefusedError(403, "researcher", "this is not the researcher's token")

    def make_cookie(self, now: float | None = None) -> str:
        """Make a signed cookie that holds its time of expiry."""
        until = str(int((time.time() if now is None else now) + COOKIE_HOURS * 3600))
        return f"{until}.{self._cookie_signature(until)}"

    def _is_valid_cookie(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._cookie_signature(until).encode()):
            return False
        return until.isdigit() and int(until) > time.time()

    def _cookie_signature(self, until: str) -> str:
        return hmac.new(self._token, f"cookie {until}".encode(), hashlib.sha256).hexdigest()


class ResearcherRoutes:
    """Routes of the researcher's page."""

    def __init__(
        self,
        service: SessionService,
        estimates: LiveEstimates | None,
        gate: ResearcherAuthentication,
        page: Callable[[int], Response],
        stopping: Callable[[], bool],
    ) -> None:
        self.service, self.estimates, self.gate = service, estimates, gate
        self.page, self.stopping = page, stopping

    def routes(self) -> list[Route]:
        """Routes, each with its one method."""
        return [
            Route("/researcher", self.show_page, methods=["GET"]),
            Route("/researcher/login", self.login, methods=["POST"]),
            Route("/researcher/logout", self.logout, methods=["POST"]),
            Route("/researcher/overview", self.overview, methods=["GET"]),
            Route("/researcher/stream", self.stream, methods=["GET"]),
            Route("/researcher/people/{session:int}", self.person, methods=["GET"]),
            Route("/researcher/export/choices.csv", self.export, methods=["GET"]),
        ]

    async def show_page(self, request: Request) -> Response:
        """Send the page; without a token it shows only the form that asks for it."""
        try:
            self.gate.check_access(request)
        except RefusedError as refused:
            return self.page(refused.status)
        return self.page(200)

    async def login(self, request: Request) -> Response:
        """Take the token, give a cookie."""
        check_origin(request)
        body = await read_json_body(request)
        token = body.text("token", 200)
        body.refuse_unread_fields()
        self.gate.check_token(request, token)
        reply = JSONResponse({"ok": True})
        # without TLS browsers would not send the cookie back
        secure = request.url.scheme == "https"
        reply.set_cookie(
            COOKIE_NAME,
            self.gate.make_cookie(),
            max_age=COOKIE_HOURS * 3600,
            path="/researcher",
            secure=secure,
            httponly=True,
            samesite="strict",
        )
        return reply

    async def logout(self, request: Request) -> Response:
        """Take the cookie back."""
        check_origin(request)
        reply = JSONResponse({"ok": True})
        reply.delete_cookie(COOKIE_NAME, path="/researcher", httponly=True, samesite="strict")
        return reply

    async def overview(self, request: Request) -> JSONResponse:
        """Send counts by stage and the list of people."""
        self.gate.check_access(request)
        return JSONResponse(await asyncio.to_thread(self._overview_document))

    async def person(self, request: Request) -> JSONResponse:
        """Send a person with choices and the live estimate."""
        self.gate.check_access(request)
        found = await asyncio.to_thread(self._person_response, request.path_params["session"])
        return error_response(404, "person", "nobody has this number") if found is None else found

    async def stream(self, request: Request) -> StreamingResponse:
        """The overview again and again, as it changes."""
        self.gate.check_access(request)

        async def changes() -> AsyncIterator[str]:
            last, quiet = "", 0
            while not self.stopping() and not await request.is_disconnected():
                content = json.dumps(await asyncio.to_thread(self._overview_document))
                quiet = 0 if content != last else quiet + 1
                if content != last:
                    yield f"event: overview\ndata: {content}\n\n"
                elif quiet % 15 == 0:  # a silent stream looks dead to proxies, which close it
                    yield ": still here\n\n"
                last = content
                # a longer wait delays what the lab sees, a shorter costs queries
                await asyncio.sleep(1.0)

        return StreamingResponse(changes(), media_type="text/event-stream")

    async def export(self, request: Request) -> StreamingResponse:
        """Stream all choices as CSV."""
        self.gate.check_access(request)
        name = f"study-{self.service.plan.name}_data.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        lines = csv_lines(self.service.store)
        return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)

    def _overview_document(self) -> dict[str, Any]:
        now = time.time()
        with self.service.store.read_connection() as connection:
            found = study_overview_json(connection, self.service.plan_of_version, now)
        found["study"] = {"name": self.service.plan.name, "title": self.service.plan.title}
        for one in found["people"]:
            estimate = (
                None if self.estimates is None else self.estimates.latest_estimate(one["session"])
            )
            one["estimate"] = estimate and {
                "status": estimate.get("status"),
                "decisions": estimate.get("decisions"),
                "age": self._estimate_age(one, now),
            }
        ages = [one["estimate"]["age"] for one in found["people"] if one["estimate"]]
        ages = [age for age in ages if age is not None]
        found["age"] = {"median": median(ages), "longest": max(ages)} if ages else None
        return found

    def _estimate_age(self, person_summary: Mapping[str, Any], now: float) -> int | None:
        """Seconds by which the estimate of a person is out of date."""
        assert self.estimates is not None
        age = self.estimates.estimate_age(person_summary["session"], person_summary["done"], now)
        return None if age is None else round(age)

    def _person_response(self, session: int) -> JSONResponse | None:
        with self.service.store.read_connection() as connection:
            found = person_json(connection, session, self.service.plan_of_version, time.time())
        if found is None:
            return None
        estimate = None if self.estimates is None else self.estimates.latest_estimate(session)
        found["estimate"] = estimate and {**estimate, "age": self._estimate_age(found, time.time())}
        return JSONResponse(found)


_OBSERVER = re.compile(r"[A-Za-z0-9_-]{16,64}")
ESTIMATE_TIMEOUT_SECONDS = 60.0  # long, as the first question waits for the model to compile
MAX_OBSERVATIONS = 10_000  # per observer: every fit uses all, so its time grows with them


class ObserverRoutes:
    """Routes of observers, each of one operator; they need the researcher's token."""

    def __init__(
        self, store: Store, estimates: LiveEstimates | None, gate: ResearcherAuthentication
    ) -> None:
        self.store, self.estimates, self.gate = store, estimates, gate

    def routes(self) -> list[Route]:
        """Routes, each with its one method."""
        one = f"{PREFIX}/observers/{{observer}}"
        return [
            Route(f"{PREFIX}/observers", self.create, methods=["POST"]),
            Route(f"{one}/observations", self.observe, methods=["POST"]),
            Route(f"{one}/observations", self.observation_count, methods=["GET"]),
            Route(f"{one}/estimate", self.estimate, methods=["GET"]),
            Route(f"{one}/prediction", self.prediction, methods=["GET"]),
        ]

    async def create(self, request: Request) -> JSONResponse:
        """Create an observer."""
        self.gate.check_access(request)
        body = await read_json_body(request)
        settings = _read_observer_settings(body)
        observer = secrets.token_urlsafe(18)

        def work(connection: Connection) -> None:
            row = {"observer": observer, "model": json.dumps(settings), "made": time.time()}
            connection.execute(insert(observers).values(row))

        await await_commit(self.store.write(work))
        if self.estimates is not None:
            # compiles the model now, so that the first estimate does not wait for it
            self.estimates.ask_worker({"observer": observer, "want": "start"})
        return JSONResponse({"observer": observer, "observations": 0}, 201)

    async def observe(self, request: Request) -> JSONResponse:
        """Store a choice and its reward; a repeated request changes nothing."""
        observer = self._observer_name(request)
        body = await read_json_body(request)
        number = body.integer("number", 0, MAX_OBSERVATIONS - 1)
        chosen, reward = body.integer("chosen", 0, 10_000), body.number("reward")
        body.refuse_unread_fields()
        done = self.store.write(lambda c: _store_observation(c, observer, number, chosen, reward))
        return JSONResponse(await await_commit(done))

    async def observation_count(self, request: Request) -> JSONResponse:
        """Send the number of observations: where to continue after a failure."""
        observer = self._observer_name(request)
        return JSONResponse(
            await await_commit(self.store.write(lambda c: _observation_count_json(c, observer)))
        )

    async def estimate(self, request: Request) -> JSONResponse:
        """Send the estimate of the operator."""
        return await self._ask_worker(request, "estimate")

    async def prediction(self, request: Request) -> JSONResponse:
        """Send the choice probabilities of the next decision."""
        return await self._ask_worker(request, "prediction")

    async def _ask_worker(self, request: Request, want: str) -> JSONResponse:
        observer = self._observer_name(request)
        if self.estimates is None:
            raise RefusedError(404, "estimates", "this server makes no estimates")
        try:
            asked = self.estimates.ask_worker({"observer": observer, "want": want})
            found = await asyncio.wait_for(asyncio.wrap_future(asked), ESTIMATE_TIMEOUT_SECONDS)
        except (TimeoutError, RuntimeError):
            raise RefusedError(503, "estimates", "no estimate can be made now") from None
        if found.get("error") == "no such observer":
            raise RefusedError(404, "observer", "no observer has this name")
        if "error" in found:
            raise RefusedError(409, "estimate", str(found["error"])[:300])
        return JSONResponse(found)

    def _observer_name(self, request: Request) -> str:
        self.gate.check_access(request)
        observer = str(request.path_params["observer"])
        if not _OBSERVER.fullmatch(observer):
            raise RefusedError(404, "observer", "no observer has this name")
        return observer


def _read_observer_settings(body: RequestBody) -> dict[str, Any]:
    given = body.nested_object("settings")
    settings: dict[str, Any] = {"model": body.text("model", 40)}
    for name in ("n_options", "grid", "noise_variance", "length_scale"):
        if given.has_field(name):
            settings[name] = (
                given.text(name, 12)
                if name == "grid"
                else given.integer(name, 2, 10_000)
                if name == "n_options"
                else given.number(name)
            )
    given.refuse_unread_fields()
    body.refuse_unread_fields()
    try:
        return check_model_settings(settings)
    except DataError as error:
        refuse_field("settings", f"be those of a model: {error}")


def _observation_count_json(connection: Connection, observer: str) -> dict[str, Any]:
    query = select(observers.c.observer).where(observers.c.observer == observer)
    if connection.scalar(query) is None:
        raise RefusedError(404, "observer", "no observer has this name")
    count = (
        select(func.count()).select_from(observations).where(observations.c.observer == observer)
    )
    return {"observations": connection.scalar(count) or 0}


def _store_observation(
    connection: Connection, observer: str, number: int, chosen: int, reward: float
) -> dict[str, Any]:
    settings = connection.scalar(select(observers.c.model).where(observers.c.observer == observer))
    if settings is None:
        raise RefusedError(404, "observer", "no observer has this name")
    n = n_options_of_settings(json.loads(settings))
    if chosen >= n:
        raise RefusedError(422, "chosen", f"chosen must lie in 0..{n - 1}")
    stored = connection.execute(
        select(observations.c.chosen, observations.c.reward).where(
            observations.c.observer == observer, observations.c.number == number
        )
    ).first()
    if stored is None:
        # a gap would be a choice that the model never saw, and learning depends on all before
        count = _observation_count_json(connection, observer)["observations"]
        if number != count:
            raise RefusedError(409, "number", f"the next observation is {count}")
        row = {"observer": observer, "number": number, "chosen": chosen, "reward": reward}
        connection.execute(insert(observations).values(**row, received=time.time()))
    elif tuple(stored) != (chosen, reward):
        raise RefusedError(409, "already observed", f"observation {number} is another one")
    return _observation_count_json(connection, observer)
