"""Routes of the researcher: the page, what it shows, the export."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penchant.task.estimates import Estimates
from penchant.task.exporting import csv_lines
from penchant.task.http.bodies import json_body
from penchant.task.http.limits import Buckets, problem
from penchant.task.http.participants import check_origin
from penchant.task.overview import overview, person
from penchant.task.service import Service
from penchant.task.sessions import RefusedError

COOKIE = "penchant_researcher"
HOURS = 12
log = logging.getLogger("penchant.task")


class Gate:
    """Who is a researcher: whoever has the token, or a cookie that was made with it."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._attempts = Buckets(rate=0.1, burst=8)

    def check(self, request: Request) -> None:
        """Refuse everybody else."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            self.check_token(request, token)
        elif not self._is_cookie(request.cookies.get(COOKIE, "")):
            raise RefusedError(401, "researcher", "the researcher's token must be given")

    def check_token(self, request: Request, token: str) -> None:
        """Refuse a wrong token, and too many attempts."""
        host = request.client.host if request.client else ""
        if hmac.compare_digest(token.encode(), self._token):
            return
        log.warning("wrong researcher's token from %s", host)
        if self._attempts.wait(host):
            raise RefusedError(429, "attempts", "too many attempts; wait a minute")
        raise RefusedError(403, "researcher", "this is not the researcher's token")

    def cookie(self, now: float | None = None) -> str:
        """A cookie that says until when it counts."""
        until = str(int((time.time() if now is None else now) + HOURS * 3600))
        return f"{until}.{self._signature(until)}"

    def _is_cookie(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(until).encode()):
            return False
        return until.isdigit() and int(until) > time.time()

    def _signature(self, until: str) -> str:
        return hmac.new(self._token, f"cookie {until}".encode(), hashlib.sha256).hexdigest()


class Researchers:
    """What the researcher may see."""

    def __init__(
        self,
        service: Service,
        estimates: Estimates | None,
        gate: Gate,
        page: Callable[[int], Response],
        stopping: Callable[[], bool],
    ) -> None:
        self.service, self.estimates, self.gate = service, estimates, gate
        self.page, self.stopping = page, stopping

    def routes(self) -> list[Route]:
        """All routes, each by its one method."""
        return [
            Route("/researcher", self.shown, methods=["GET"]),
            Route("/researcher/login", self.login, methods=["POST"]),
            Route("/researcher/logout", self.logout, methods=["POST"]),
            Route("/researcher/overview", self.overview, methods=["GET"]),
            Route("/researcher/stream", self.stream, methods=["GET"]),
            Route("/researcher/people/{session:int}", self.person, methods=["GET"]),
            Route("/researcher/export/choices.csv", self.export, methods=["GET"]),
        ]

    async def shown(self, request: Request) -> Response:
        """The page; without a token only the form that asks for it."""
        try:
            self.gate.check(request)
        except RefusedError as refused:
            return self.page(refused.status)
        return self.page(200)

    async def login(self, request: Request) -> Response:
        """Take the token, give a cookie."""
        check_origin(request)
        body = await json_body(request)
        token = body.text("token", 200)
        body.finish()
        self.gate.check_token(request, token)
        reply = JSONResponse({"ok": True})
        secure = request.url.scheme == "https"
        reply.set_cookie(
            COOKIE,
            self.gate.cookie(),
            max_age=HOURS * 3600,
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
        reply.delete_cookie(COOKIE, path="/researcher", httponly=True, samesite="strict")
        return reply

    async def overview(self, request: Request) -> JSONResponse:
        """Who is where."""
        self.gate.check(request)
        return JSONResponse(await asyncio.to_thread(self._overview))

    async def person(self, request: Request) -> JSONResponse:
        """One person, with choices and the estimate."""
        self.gate.check(request)
        found = await asyncio.to_thread(self._person, request.path_params["session"])
        return problem(404, "person", "nobody has this number") if found is None else found

    async def stream(self, request: Request) -> StreamingResponse:
        """The overview again and again, as it changes."""
        self.gate.check(request)

        async def changes() -> AsyncIterator[str]:
            last, quiet = "", 0
            while not self.stopping() and not await request.is_disconnected():
                said = json.dumps(await asyncio.to_thread(self._overview))
                quiet = 0 if said != last else quiet + 1
                if said != last:
                    yield f"event: overview\ndata: {said}\n\n"
                elif quiet % 15 == 0:
                    yield ": still here\n\n"
                last = said
                await asyncio.sleep(1.0)

        return StreamingResponse(changes(), media_type="text/event-stream")

    async def export(self, request: Request) -> StreamingResponse:
        """All choices as a table."""
        self.gate.check(request)
        name = f"study-{self.service.plan.name}_data.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        lines = csv_lines(self.service.store)
        return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)

    def _overview(self) -> dict[str, Any]:
        with self.service.store.reading() as connection:
            found = overview(connection, self.service.plan_named, time.time())
        found["study"] = {"name": self.service.plan.name, "title": self.service.plan.title}
        for one in found["people"]:
            estimate = None if self.estimates is None else self.estimates.of(one["session"])
            one["estimate"] = estimate and {
                "status": estimate.get("status"),
                "decisions": estimate.get("decisions"),
            }
        return found

    def _person(self, session: int) -> JSONResponse | None:
        with self.service.store.reading() as connection:
            found = person(connection, session, self.service.plan_named, time.time())
        if found is None:
            return None
        found["estimate"] = None if self.estimates is None else self.estimates.of(session)
        return JSONResponse(found)
