"""The application: all routes, and what every error becomes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from penchant.task.estimates import Estimates
from penchant.task.http.bodies import BodyError
from penchant.task.http.limits import AT_ONCE, Border, headers_for, problem
from penchant.task.http.observing import Observing
from penchant.task.http.participants import Participants
from penchant.task.http.researchers import Gate, Researchers
from penchant.task.service import Service
from penchant.task.sessions import RefusedError
from penchant.task.store.store import BusyError, NotSavedError

KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "yaml": "application/yaml",
}
log = logging.getLogger("penchant.task")


@dataclass(frozen=True)
class _Asset:
    data: bytes
    kind: str
    tag: str


def assets() -> dict[str, _Asset]:
    """Files that the browser may load, by their path; nothing else is ever read from the disk."""
    found: dict[str, _Asset] = {}

    def collect(folder: Traversable, path: str) -> None:
        for item in folder.iterdir():
            ending = item.name.rsplit(".", 1)[-1]
            if item.is_dir() and not item.name.startswith("_"):
                collect(item, f"{path}{item.name}/")
            elif item.is_file() and ending in KINDS:
                data = item.read_bytes()
                tag = hashlib.sha256(data).hexdigest()[:16]
                found[f"{path}{item.name}"] = _Asset(data, KINDS[ending], f'"{tag}"')

    collect(files("penchant.task.page"), "")
    return found


def make_app(
    service: Service,
    *,
    token: str,
    estimates: Estimates | None = None,
    frame_ancestors: str = "'none'",
    at_once: int = AT_ONCE,
    stopping: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """The application of a study.

    Parameters
    ----------
    service
        The study.
    token
        The researcher's.
    estimates
        Where live estimates come from.
    frame_ancestors
        Who may show the page in a frame.
    at_once
        Requests that may be inside at a time; more are told to come again.
    stopping
        Whether streams shall end.
    """
    held = assets()
    gate = Gate(token)

    def page(name: str, status: int = 200) -> Response:
        return Response(held[name].data, status, media_type=held[name].kind)

    async def index(request: Request) -> Response:
        return page("index.html")

    async def asset(request: Request) -> Response:
        found = held.get(request.path_params["path"])
        if found is None or found.kind.startswith("text/html"):
            return problem(404, "path", "there is no such page")
        headers = {"etag": found.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.kind, headers=headers)

    async def health(request: Request) -> Response:
        return JSONResponse({"ok": True})

    researchers = Researchers(
        service, estimates, gate, lambda status: page("researcher.html", status), stopping
    )
    routes: list[BaseRoute] = [
        *Participants(service, estimates).routes(),
        Route("/", index, methods=["GET"]),
        Route("/health", health, methods=["GET"]),
        Route("/assets/{path:path}", asset, methods=["GET"]),
        *Observing(service.store, estimates, gate).routes(),
        *researchers.routes(),
    ]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    return Border(app, headers_for(frame_ancestors), at_once)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    more: dict[str, Any] = {"field": error.code} if error.status == 422 else {}
    wait = 60.0 if error.status == 429 else 1.0 if error.status == 503 else None
    reply = problem(error.status, error.code, str(error), wait=wait, **more)
    if error.reply:
        body = {"error": {"code": error.code, "message": str(error)}, **error.reply}
        return JSONResponse(body, error.status)
    return reply


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, BodyError)
    more = {} if error.field is None else {"field": error.field}
    return problem(error.status, "request", str(error), wait=error.wait, **more)


async def _not_saved(request: Request, error: Exception) -> Response:
    log.error("not saved: %s", error)
    return problem(503, "not saved", "this was not saved; try again", wait=2)


async def _busy(request: Request, error: Exception) -> Response:
    return problem(503, "busy", "the server is busy; nothing was saved", wait=1)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, "http", str(error.detail))


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("unexpected %s at %s", type(error).__name__, request.url.path, exc_info=error)
    return problem(500, "internal", "the server has failed; this may not be saved")


_HANDLERS: Mapping[Any, Any] = {
    RefusedError: _refused,
    BodyError: _unreadable,
    NotSavedError: _not_saved,
    BusyError: _busy,
    SQLAlchemyError: _not_saved,
    HTTPException: _http,
    Exception: _unexpected,
}
