"""Limits on requests (size, rate, time, concurrency), and the headers and errors of replies.

Rates are limited by token buckets. Relies on Starlette's ASGI types only.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_URL_BYTES = 4 * 1024  # an address carries at most a few ids; without a limit it fills memory
MAX_HEADER_BYTES = 16 * 1024  # the limit of a body, too; without one, headers could fill memory
# above the 300 players that a server must bear, even if all choose at once; a request beyond is
# told at once to come again (503), while in a queue it would delay the requests before it
MAX_CONCURRENT_REQUESTS = 400
BODY_TIMEOUT_SECONDS = 15.0  # clients that never finish a body would use up the requests at once

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
)


def security_headers(ancestors: str = "'none'") -> dict[str, str]:
    """Headers of every reply.

    Parameters
    ----------
    ancestors
        Who may show the page in a frame: 'none', or the recruiter's origin.
    """
    found = {
        "content-security-policy": CONTENT_POLICY.format(ancestors=ancestors),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
        "cache-control": "no-store",
    }
    # x-frame-options cannot name a recruiter's origin, so it is sent only where all are refused
    return found if ancestors != "'none'" else {**found, "x-frame-options": "DENY"}


def error_response(
    status: int, code: str, message: str, *, wait: float | None = None, **extra_fields: object
) -> JSONResponse:
    """Make a reply that names an error."""
    headers = {} if wait is None else {"retry-after": str(max(1, round(wait)))}
    body = {"error": {"code": code, "message": message, **extra_fields}}
    return JSONResponse(body, status, headers=headers)


class TokenBuckets:
    """Token buckets by key: `burst` actions at once, then `rate` a second.

    Examples
    --------
    >>> buckets = TokenBuckets(rate=1.0, burst=2)
    >>> [buckets.take_token("anna", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> buckets.take_token("anna", now=1.0)
    0.0
    """

    def __init__(self, rate: float, burst: float, max_keys: int = 100_000) -> None:
        self.rate, self.burst, self.max_keys = rate, burst, max_keys
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take_token(self, key: str, now: float | None = None) -> float:
        """Take a token; return 0, or the seconds to wait where there is none."""
        moment = time.monotonic() if now is None else now
        left, last = self._left.pop(key, (self.burst, moment))
        left = min(self.burst, left + (moment - last) * self.rate)
        wait = 0.0 if left >= 1 else (1 - left) / self.rate
        self._left[key] = (left - 1 if wait == 0 else left, moment)
        while len(self._left) > self.max_keys:  # invented keys must not fill the memory
            self._left.popitem(last=False)
        return wait


class LimitsMiddleware:
    """Outermost ASGI layer: refuses requests that are too long, too slow or too many."""

    def __init__(
        self, app: ASGIApp, headers: Mapping[str, str], at_once: int = MAX_CONCURRENT_REQUESTS
    ) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self.max_concurrent = at_once
        self.n_active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it before its body is read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                # a route knows its reply better, e.g. assets may be cached: its own headers win
                added = [pair for pair in self.headers if pair[0] not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refused = self._limit_error_response(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        # the researcher's stream stays open as long as the page: counted, it would use up the limit
        streams = scope["path"].startswith("/researcher/")
        self.n_active += not streams
        try:
            await self.app(scope, _with_body_timeout(receive), sending)
        except TimeoutError:
            await error_response(408, "slow", "the body came too slowly")(scope, receive, sending)
        finally:
            self.n_active -= not streams

    def _limit_error_response(self, scope: Scope) -> JSONResponse | None:
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MAX_URL_BYTES:
            return error_response(
                414, "address", f"the address must have at most {MAX_URL_BYTES} bytes"
            )
        if sum(len(k) + len(v) for k, v in scope["headers"]) > MAX_HEADER_BYTES:
            return error_response(
                431, "headers", f"headers must have at most {MAX_HEADER_BYTES} bytes"
            )
        if self.n_active >= self.max_concurrent:
            return error_response(503, "busy", "the server is busy; nothing was saved", wait=1)
        return None


def _with_body_timeout(receive: Receive) -> Receive:
    """Wrap `receive` so that the whole body must arrive in time."""
    end = time.monotonic() + BODY_TIMEOUT_SECONDS
    complete = False

    async def receiving() -> Message:
        nonlocal complete
        if complete:  # a later call waits for the disconnect, which may rightly take for ever
            return await receive()
        async with asyncio.timeout(max(0.0, end - time.monotonic())):
            message = await receive()
        complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receiving
