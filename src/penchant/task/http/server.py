"""Serve: one process, one port, until it is told to stop; then what waits is written."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from penchant.errors import DataError
from penchant.task.estimates import Estimates
from penchant.task.http.app import make_app
from penchant.task.plan import Plan
from penchant.task.service import Service
from penchant.task.store.owner import owned
from penchant.task.store.store import Store

REQUEST_SECONDS = 20.0
INCOMPLETE = 64 * 1024
SWITCH_SECONDS = 0.0002


class Protocol(H11Protocol):
    """HTTP that says when headers are too long, and does not wait for ever for a request."""

    def connection_made(self, transport: Any) -> None:
        """Give a new connection so long to ask for something."""
        super().connection_made(transport)
        self._patience = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._patience.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        asked = self.cycle is not None
        if not asked and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, with 431 where it is too long for one."""
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
    plan: Plan,
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
    # The thread that answers must not wait 5 ms for the one that writes each time it looks up.
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    with ExitStack() as stack:
        held = Store(store)
        stack.callback(held.close)
        if held.file is not None:
            stack.enter_context(owned(held.file))
        service = Service(held, plan)
        listening = stack.enter_context(_socket(host, port))
        estimates = None
        if with_estimates:
            estimates = Estimates(held)
            estimates.start()
            stack.callback(estimates.stop)
        servers: list[_Server] = []
        app = make_app(
            service,
            token=token,
            estimates=estimates,
            frame_ancestors=frame_ancestors,
            stopping=lambda: servers[0].should_exit,
        )
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="warning",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=8,
            server_header=False,
            h11_max_incomplete_event_size=INCOMPLETE,
        )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}"
        servers.append(_Server(config, lambda: started(address)))
        asyncio.run(servers[0].serve(sockets=[listening]))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started_at: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started_at

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self._told()


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named TCP, so that replies are sent at once and not gathered first
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"--host and --port must be free to listen at; got {host}:{port}: {reason}. "
            "Choose another --port; 0 takes a free one."
        ) from None
    return listening
