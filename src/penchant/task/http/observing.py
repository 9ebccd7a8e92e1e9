"""Routes for other front ends: send what was chosen and received, ask what is known."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from typing import Any

from sqlalchemy import Connection, func, insert, select
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from penchant.errors import DataError
from penchant.task.estimates import Estimates
from penchant.task.http.bodies import Body, json_body, refuse
from penchant.task.http.participants import PREFIX, kept
from penchant.task.http.researchers import Gate
from penchant.task.live_models import checked_settings, n_options_of
from penchant.task.sessions import RefusedError
from penchant.task.store.schema import observations, observers
from penchant.task.store.store import Store

_OBSERVER = re.compile(r"[A-Za-z0-9_-]{16,64}")
SECONDS = 60.0
MOST = 10_000


class Observing:
    """An observer watches one operator of another interface; the researcher's token opens it."""

    def __init__(self, store: Store, estimates: Estimates | None, gate: Gate) -> None:
        self.store, self.estimates, self.gate = store, estimates, gate

    def routes(self) -> list[Route]:
        """All routes, each by its one method."""
        one = f"{PREFIX}/observers/{{observer}}"
        return [
            Route(f"{PREFIX}/observers", self.make, methods=["POST"]),
            Route(f"{one}/observations", self.observe, methods=["POST"]),
            Route(f"{one}/observations", self.observed, methods=["GET"]),
            Route(f"{one}/estimate", self.estimate, methods=["GET"]),
            Route(f"{one}/prediction", self.prediction, methods=["GET"]),
        ]

    async def make(self, request: Request) -> JSONResponse:
        """Begin to watch somebody."""
        self.gate.check(request)
        body = await json_body(request)
        settings = _settings(body)
        observer = secrets.token_urlsafe(18)

        def work(connection: Connection) -> None:
            row = {"observer": observer, "model": json.dumps(settings), "made": time.time()}
            connection.execute(insert(observers).values(row))

        await kept(self.store.write(work))
        return JSONResponse({"observer": observer, "observations": 0}, 201)

    async def observe(self, request: Request) -> JSONResponse:
        """Take a choice and its reward; the same again changes nothing."""
        observer = self._named(request)
        body = await json_body(request)
        number = body.whole("number", 0, MOST - 1)
        chosen, reward = body.whole("chosen", 0, 10_000), body.number("reward")
        body.finish()
        done = self.store.write(lambda c: _observed(c, observer, number, chosen, reward))
        return JSONResponse(await kept(done))

    async def observed(self, request: Request) -> JSONResponse:
        """How many observations there are: where to go on after a failure."""
        observer = self._named(request)
        return JSONResponse(await kept(self.store.write(lambda c: _counted(c, observer))))

    async def estimate(self, request: Request) -> JSONResponse:
        """What is known of the operator."""
        return await self._asked(request, "estimate")

    async def prediction(self, request: Request) -> JSONResponse:
        """How likely each option is to be chosen next."""
        return await self._asked(request, "prediction")

    async def _asked(self, request: Request, want: str) -> JSONResponse:
        observer = self._named(request)
        if self.estimates is None:
            raise RefusedError(404, "estimates", "this server makes no estimates")
        try:
            asked = self.estimates.ask({"observer": observer, "want": want})
            found = await asyncio.wait_for(asyncio.wrap_future(asked), SECONDS)
        except (TimeoutError, RuntimeError):
            raise RefusedError(503, "estimates", "no estimate can be made now") from None
        if found.get("error") == "no such observer":
            raise RefusedError(404, "observer", "no observer has this name")
        if "error" in found:
            raise RefusedError(409, "estimate", str(found["error"])[:300])
        return JSONResponse(found)

    def _named(self, request: Request) -> str:
        self.gate.check(request)
        observer = str(request.path_params["observer"])
        if not _OBSERVER.fullmatch(observer):
            raise RefusedError(404, "observer", "no observer has this name")
        return observer


def _settings(body: Body) -> dict[str, Any]:
    given = body.object("settings")
    settings: dict[str, Any] = {"model": body.text("model", 40)}
    for name in ("n_options", "grid", "noise_variance", "length_scale"):
        if given.has(name):
            settings[name] = (
                given.text(name, 12)
                if name == "grid"
                else given.whole(name, 2, 10_000)
                if name == "n_options"
                else given.number(name)
            )
    given.finish()
    body.finish()
    try:
        return checked_settings(settings)
    except DataError as error:
        refuse("settings", f"be those of a model: {error}")


def _counted(connection: Connection, observer: str) -> dict[str, Any]:
    query = select(observers.c.observer).where(observers.c.observer == observer)
    if connection.scalar(query) is None:
        raise RefusedError(404, "observer", "no observer has this name")
    count = (
        select(func.count()).select_from(observations).where(observations.c.observer == observer)
    )
    return {"observations": connection.scalar(count) or 0}


def _observed(
    connection: Connection, observer: str, number: int, chosen: int, reward: float
) -> dict[str, Any]:
    settings = connection.scalar(select(observers.c.model).where(observers.c.observer == observer))
    if settings is None:
        raise RefusedError(404, "observer", "no observer has this name")
    n = n_options_of(json.loads(settings))
    if chosen >= n:
        raise RefusedError(422, "chosen", f"chosen must lie in 0..{n - 1}")
    stored = connection.execute(
        select(observations.c.chosen, observations.c.reward).where(
            observations.c.observer == observer, observations.c.number == number
        )
    ).first()
    if stored is None:
        count = _counted(connection, observer)["observations"]
        if number != count:
            raise RefusedError(409, "number", f"the next observation is {count}")
        row = {"observer": observer, "number": number, "chosen": chosen, "reward": reward}
        connection.execute(insert(observations).values(**row, received=time.time()))
    elif tuple(stored) != (chosen, reward):
        raise RefusedError(409, "already observed", f"observation {number} is another one")
    return _counted(connection, observer)
