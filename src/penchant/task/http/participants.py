"""Routes of people who take part."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from penchant.task.http.bodies import SAFE, Body, BodyError, json_body, refuse
from penchant.task.http.limits import Buckets, problem
from penchant.task.service import Choice, Service
from penchant.task.sessions import RefusedError

PREFIX = "/api/v1"
EVENTS = ("blur", "focus", "hidden", "visible", "resize", "fullscreen", "offline", "online")
MOST_MARKS = 200


class Participants:
    """What people may do, each with the token of their own session."""

    def __init__(self, service: Service, results: Any = None) -> None:
        self.service = service
        self.results = results
        rate = service.plan.sessions_per_minute / 60
        self._arrivals = Buckets(rate, max(10.0, service.plan.sessions_per_minute / 2))
        self._requests = Buckets(rate=40.0, burst=80.0)

    def routes(self) -> list[Route]:
        """All routes, each by its one method."""
        posts = {  # the most frequent first: routes are tried in order
            "decisions": self.decide,
            "proposals": self.propose,
            "open": self.open,
            "consent": self.consent,
            "instructions": self.instructions,
            "check": self.check,
            "begin": self.begin,
            "events": self.note,
            "withdraw": self.withdraw,
        }
        return [
            *(
                Route(f"{PREFIX}/session/{name}", endpoint, methods=["POST"])
                for name, endpoint in posts.items()
            ),
            Route(f"{PREFIX}/study", self.study, methods=["GET"]),
            Route(f"{PREFIX}/sessions", self.arrive, methods=["POST"]),
            Route(f"{PREFIX}/session", self.state, methods=["GET"]),
            Route(f"{PREFIX}/session/estimate", self.estimate, methods=["GET"]),
            Route(f"{PREFIX}/session/advice", self.advice, methods=["GET"]),
        ]

    async def study(self, request: Request) -> JSONResponse:
        """What the page must know before anybody has come."""
        plan = self.service.plan
        found = {"title": plan.title, "language": plan.language, "id_parameter": plan.id_parameter}
        return JSONResponse(found)

    async def arrive(self, request: Request) -> JSONResponse:
        """Begin a session."""
        check_origin(request)
        body = await json_body(request)
        platform_id, visit = body.identity("id"), body.identity("visit")
        if visit is not None and len(visit) < 22:
            refuse("visit", "have at least 22 characters, drawn at random")
        body.finish()
        host = request.client.host if request.client else ""
        wait = self._arrivals.wait(host)
        if wait:
            return problem(429, "rate", "too many people come at once", wait=wait)
        return JSONResponse(await kept(self.service.arrive(platform_id, visit)), 201)

    async def state(self, request: Request) -> JSONResponse:
        """Where the person is."""
        return await self._done(self.service.state(self._token(request)))

    async def open(self, request: Request) -> JSONResponse:
        """Go on in this window."""
        token, body = await self._asked(request)
        body.finish()
        return await self._done(self.service.open(token))

    async def consent(self, request: Request) -> JSONResponse:
        """The answer to the question of consent."""
        token, body = await self._asked(request)
        agrees, version, tab = body.yes("agrees"), body.text("version", 64), _tab(body)
        body.finish()
        done = self.service.consent(token, agrees=agrees, version=version, tab=tab)
        return await self._done(done)

    async def instructions(self, request: Request) -> JSONResponse:
        """The instructions were read."""
        token, body = await self._asked(request)
        tab = _tab(body)
        body.finish()
        return await self._done(self.service.instructions(token, tab=tab))

    async def check(self, request: Request) -> JSONResponse:
        """Answers to the comprehension check."""
        token, body = await self._asked(request)
        answers = body.items("answers", 100)
        for i, answer in enumerate(answers):
            if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < 1000:
                refuse("answers", f"be whole numbers from 0 on (at {i})")
        tab = _tab(body)
        body.finish()
        return await self._done(self.service.check(token, answers, tab=tab))

    async def begin(self, request: Request) -> JSONResponse:
        """Start a block, or go on."""
        token, body = await self._asked(request)
        block, decision = body.whole("block", 0, 1000), body.whole("decision", 0, 10_000)
        tab = _tab(body)
        body.finish()
        done = self.service.begin(token, block=block, decision=decision, tab=tab)
        return await self._done(done)

    async def decide(self, request: Request) -> JSONResponse:
        """A choice."""
        token, body = await self._asked(request)
        choice = _choice(body)
        tab = _tab(body)
        body.finish()
        return await self._done(self.service.decide(token, choice, tab=tab))

    async def propose(self, request: Request) -> JSONResponse:
        """A choice before it is taken: what the machine says of it."""
        token, body = await self._asked(request)
        block, decision = body.whole("block", 0, 1000), body.whole("decision", 0, 10_000)
        option, tab = body.whole("option", 0, SAFE), _tab(body)
        body.finish()
        said = await asyncio.to_thread(
            self.service.propose, token, block, decision, option, tab=tab
        )
        return JSONResponse(said)

    async def advice(self, request: Request) -> JSONResponse:
        """All that the machine said to this person."""
        return await self._done(self.service.advice_log(self._token(request)))

    async def note(self, request: Request) -> JSONResponse:
        """What happened to the page."""
        token, body = await self._asked(request)
        given = [_event(event, i) for i, event in enumerate(body.items("events", 50))]
        tab = _tab(body)
        body.finish()
        return await self._done(self.service.note(token, given, tab=tab))

    async def withdraw(self, request: Request) -> JSONResponse:
        """Stop, and delete what was given."""
        token, body = await self._asked(request)
        _tab(body)  # any window may
        body.finish()
        return await self._done(self.service.withdraw(token))

    async def estimate(self, request: Request) -> JSONResponse:
        """The person's own estimate, after the end, if the study says so."""
        token = self._token(request)
        state = await kept(self.service.state(token))
        if not state.get("end", {}).get("estimate"):
            raise RefusedError(403, "estimate", "this study shows no estimate")
        found = None if self.results is None else self.results.of_token(token)
        return JSONResponse({"estimate": found})

    async def _asked(self, request: Request) -> tuple[str, Body]:
        check_origin(request)
        token = self._token(request)
        return token, await json_body(request)

    def _token(self, request: Request) -> str:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not 20 <= len(token) <= 200:
            raise RefusedError(401, "token", "the token of a session must be given")
        wait = self._requests.wait(token)
        if wait:
            raise BodyError(429, "requests come too fast", wait=wait)
        return token

    async def _done(self, future: Future[dict[str, Any]]) -> JSONResponse:
        return JSONResponse(await kept(future))


async def kept(future: Future[Any]) -> Any:
    """What the store says once it has it on the disk."""
    return await asyncio.wrap_future(future)


def check_origin(request: Request) -> None:
    """Refuse requests that another site's page makes."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if site is not None:  # browsers that say it say it truly, also behind a proxy with TLS
        if site not in ("same-origin", "none"):
            raise RefusedError(403, "origin", "requests of other sites are refused")
    elif origin is not None and origin.split("://")[-1] != own.split("://")[-1]:
        raise RefusedError(403, "origin", "requests of other sites are refused")


def _tab(body: Body) -> int | None:
    return body.optional_whole("tab", 0, SAFE)


def _choice(body: Body) -> Choice:
    block, decision = body.whole("block", 0, 1000), body.whole("decision", 0, 10_000)
    unmarked = body.yes("unmarked", False)
    if unmarked and body.has("option"):
        refuse("option", "be left out with unmarked")
    option = None if unmarked else body.whole("option", 0, SAFE)
    ready = body.yes("ready", True)
    return Choice(block, decision, option, ready, _client(body.object("client")))


def _client(body: Body) -> dict[str, Any]:
    """What the page measured by its own clock: when it was shown, marked, taken."""
    found: dict[str, Any] = {}
    for field in ("onset_ms", "taken_ms"):
        if body.has(field):
            found[field] = round(body.number(field), 2)
    if body.has("input"):
        found["input"] = body.text("input", 20)
        if found["input"] not in ("mouse", "touch", "pen", "keyboard", "simulated"):
            refuse("input", "be mouse, touch, pen, keyboard or simulated")
    if body.has("marks"):
        marks = body.items("marks", MOST_MARKS)
        for mark in marks:
            if not isinstance(mark, list) or len(mark) != 2 or not all(map(_is_time, mark)):
                refuse("marks", "be pairs of an option and a time")
        found["marks"] = [[mark[0], round(mark[1], 2)] for mark in marks]
    body.finish()
    return found


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _event(value: Any, place: int) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(value, dict):
        refuse("events", f"be objects (at {place})")
    body = Body(value)
    kind = body.text("kind", 20)
    if kind not in EVENTS:
        refuse("kind", f"be one of {', '.join(EVENTS)}")
    data: dict[str, Any] = {"ms": round(body.number("ms"), 2)}
    for field in ("width", "height"):
        if body.has(field):
            data[field] = body.whole(field, 0, 100_000)
    body.finish()
    return kind, data
