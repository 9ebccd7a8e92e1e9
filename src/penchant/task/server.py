"""Server of a study: one Starlette application under uvicorn, in one process.

On SIGTERM requests in progress are finished and queued writes committed. The worker of live
estimates is started beside it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import h11
import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from penchant.errors import DataError
from penchant.task.live_estimates import LiveEstimates
from penchant.task.request_bodies import RequestBodyError
from penchant.task.request_limits import (
    MAX_CONCURRENT_REQUESTS,
    LimitsMiddleware,
    error_response,
    security_headers,
)
from penchant.task.routes import (
    ObserverRoutes,
    ParticipantRoutes,
    ResearcherAuthentication,
    ResearcherRoutes,
)
from penchant.task.session_service import SessionService
from penchant.task.session_states import RefusedError, compile_advice_kernels
from penchant.task.session_store import NotSavedError, Store, StoreBusyError, exclusive_lock
from penchant.task.study_plan import StudyPlan

MEDIA_TYPES = {
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
    mime_type: str
    entity_tag: str


def load_assets() -> dict[str, _Asset]:
    """Load the files that the browser may request; nothing else is ever read from disk."""
    found: dict[str, _Asset] = {}

    def collect(folder: Traversable, path: str) -> None:
        for item in folder.iterdir():
            ending = item.name.rsplit(".", 1)[-1]
            if item.is_dir() and not item.name.startswith("_"):
                collect(item, f"{path}{item.name}/")
            elif item.is_file() and ending in MEDIA_TYPES:
                data = item.read_bytes()
                tag = hashlib.sha256(data).hexdigest()[:16]
                found[f"{path}{item.name}"] = _Asset(data, MEDIA_TYPES[ending], f'"{tag}"')

    collect(files("penchant.task") / "page", "")
    return found


def make_asgi_app(
    service: SessionService,
    *,
    token: str,
    estimates: LiveEstimates | None = None,
    frame_ancestors: str = "'none'",
    at_once: int = MAX_CONCURRENT_REQUESTS,
    stopping: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """Make the ASGI application of a study.

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
        Requests served at a time; more get 503 with Retry-After.
    stopping
        Whether streams shall end.
    """
    files_by_path = load_assets()
    gate = ResearcherAuthentication(token)

    def page(name: str, status: int = 200) -> Response:
        return Response(files_by_path[name].data, status, media_type=files_by_path[name].mime_type)

    async def index(request: Request) -> Response:
        return page("index.html")

    async def asset(request: Request) -> Response:
        found = files_by_path.get(request.path_params["path"])
        if found is None or found.mime_type.startswith("text/html"):  # pages have their own routes
            return error_response(404, "path", "there is no such page")
        headers = {"etag": found.entity_tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.entity_tag:
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.mime_type, headers=headers)

    async def health(request: Request) -> Response:
        return JSONResponse({"ok": True})

    researchers = ResearcherRoutes(
        service, estimates, gate, lambda status: page("researcher.html", status), stopping
    )
    routes: list[BaseRoute] = [
        # the most frequent first, because Starlette tries routes in order
        *ParticipantRoutes(service, estimates).routes(),
        Route("/", index, methods=["GET"]),
        Route("/health", health, methods=["GET"]),
        Route("/assets/{path:path}", asset, methods=["GET"]),
        *ObserverRoutes(service.store, estimates, gate).routes(),
        *researchers.routes(),
    ]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    return LimitsMiddleware(app, security_headers(frame_ancestors), at_once)


async def _handle_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    more: dict[str, Any] = {"field": error.code} if error.status == 422 else {}
    wait = 60.0 if error.status == 429 else 1.0 if error.status == 503 else None
    reply = error_response(error.status, error.code, str(error), wait=wait, **more)
    if error.reply:
        body = {"error": {"code": error.code, "message": str(error)}, **error.reply}
        return JSONResponse(body, error.status)
    return reply


async def _handle_bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestBodyError)
    more = {} if error.field is None else {"field": error.field}
    return error_response(error.status, "request", str(error), wait=error.wait, **more)


async def _handle_not_saved(request: Request, error: Exception) -> Response:
    log.error("not saved: %s", error)
    return error_response(503, "not saved", "this was not saved; try again", wait=2)


async def _handle_busy(request: Request, error: Exception) -> Response:
    return error_response(503, "busy", "the server is busy; nothing was saved", wait=1)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, "http", str(error.detail))


async def _handle_unexpected(request: Request, error: Exception) -> Response:
    log.error("unexpected %s at %s", type(error).__name__, request.url.path, exc_info=error)
    return error_response(500, "internal", "the server has failed; this may not be saved")


_HANDLERS: Mapping[Any, Any] = {
    RefusedError: _handle_refusal,
    RequestBodyError: _handle_bad_request,
    NotSavedError: _handle_not_saved,
    StoreBusyError: _handle_busy,
    SQLAlchemyError: _handle_not_saved,
    HTTPException: _handle_http_error,
    Exception: _handle_unexpected,
}


REQUEST_TIMEOUT_SECONDS = 20.0  # for the first request: sockets opened and left idle would pile up
# above the limits of `request_limits`, so that most are refused there, with a message
MAX_INCOMPLETE_BYTES = 64 * 1024
THREAD_SWITCH_SECONDS = 0.0002  # Python's 5 ms would be waited several times in each request


class LimitedH11Protocol(H11Protocol):
    """HTTP protocol that answers 431 to long headers and closes connections without a request."""

    def connection_made(self, transport: Any) -> None:
        """Start the timeout of a new connection."""
        super().connection_made(transport)
        self._first_request_timer = self.loop.call_later(
            REQUEST_TIMEOUT_SECONDS, self._close_if_idle
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout of a closed connection."""
        self._first_request_timer.cancel()
        super().connection_lost(exc)

    def _close_if_idle(self) -> None:
        asked = self.cycle is not None  # after a request the timeout of keep-alive takes over
        if not asked and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request, with 431 where its headers are too long."""
        error = sys.exc_info()[1]
        long = isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431
        if not long:
            super().send_400_response(msg)
            return
        self.transport.write(
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"
            b"content-length: 0\r\n\r\n"
        )
        self.transport.close()


def serve(
    plan: StudyPlan,
    store: str,
    *,
    host: str,
    port: int,
    token: str,
    with_estimates: bool = True,
    frame_ancestors: str = "'none'",
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a study until the process is told to stop.

    Parameters
    ----------
    plan
        The study.
    store
        File, or address of a database.
    host, port
        Where to listen; port 0 takes a free one.
    token
        The researcher's.
    with_estimates
        Whether live estimates are made beside.
    frame_ancestors
        Who may show the page in a frame.
    started
        Called with the address, once people may come.
    """
    # the thread that answers requests would otherwise wait long for the writer's to pause
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    with ExitStack() as stack:
        open_store = Store(store)
        stack.callback(open_store.close)
        if open_store.file is not None:
            stack.enter_context(exclusive_lock(open_store.file))
        service = SessionService(open_store, plan)
        compile_advice_kernels(
            plan
        )  # before the socket listens: the first person must not wait for it
        listening = stack.enter_context(_listening_socket(host, port))
        estimates = None
        if with_estimates:
            estimates = LiveEstimates(open_store)
            estimates.start()
            stack.callback(estimates.stop)
        servers: list[_Server] = []
        app = make_asgi_app(
            service,
            token=token,
            estimates=estimates,
            frame_ancestors=frame_ancestors,
            stopping=lambda: servers[0].should_exit,
        )
        config = uvicorn.Config(
            app,
            http=LimitedH11Protocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="warning",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=8,
            server_header=False,
            h11_max_incomplete_event_size=MAX_INCOMPLETE_BYTES,
        )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}"
        servers.append(_Server(config, lambda: started(address)))
        asyncio.run(servers[0].serve(sockets=[listening]))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started_at: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = started_at

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then call back."""
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; without it replies are delayed
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            "--host and --port",
            "must be free to listen at",
            got=f"{host}:{port}: {reason}",
            fix="Choose another --port; 0 takes a free one.",
        ) from None
    return listening
