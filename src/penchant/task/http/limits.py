"""Limits: size, rate, how much at once; and the headers of every reply."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

URL_BYTES = 4 * 1024
HEADER_BYTES = 16 * 1024
AT_ONCE = 400
BODY_SECONDS = 15.0

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
)


def headers_for(ancestors: str = "'none'") -> dict[str, str]:
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
    return found if ancestors != "'none'" else {**found, "x-frame-options": "DENY"}


def problem(
    status: int, code: str, message: str, *, wait: float | None = None, **more: object
) -> JSONResponse:
    """A reply that says what is wrong."""
    headers = {} if wait is None else {"retry-after": str(max(1, round(wait)))}
    body = {"error": {"code": code, "message": message, **more}}
    return JSONResponse(body, status, headers=headers)


class Buckets:
    """How often each key may act: `burst` at once, then `rate` a second.

    Examples
    --------
    >>> buckets = Buckets(rate=1.0, burst=2)
    >>> [buckets.wait("anna", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> buckets.wait("anna", now=1.0)
    0.0
    """

    def __init__(self, rate: float, burst: float, most: int = 100_000) -> None:
        self.rate, self.burst, self.most = rate, burst, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, now: float | None = None) -> float:
        """Seconds to wait before acting; 0 where one may now."""
        moment = time.monotonic() if now is None else now
        left, last = self._left.pop(key, (self.burst, moment))
        left = min(self.burst, left + (moment - last) * self.rate)
        wait = 0.0 if left >= 1 else (1 - left) / self.rate
        self._left[key] = (left - 1 if wait == 0 else left, moment)
        while len(self._left) > self.most:
            self._left.popitem(last=False)
        return wait


class Border:
    """The outermost layer: what is too long, too slow or too much does not come in."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str], at_once: int = AT_ONCE) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self.at_once = at_once
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                added = [pair for pair in self.headers if pair[0] not in given]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        streams = scope["path"].startswith("/researcher/")  # which stay for hours
        self.inside += not streams
        try:
            await self.app(scope, _in_time(receive), sending)
        except TimeoutError:
            await problem(408, "slow", "the body came too slowly")(scope, receive, sending)
        finally:
            self.inside -= not streams

    def _refused(self, scope: Scope) -> JSONResponse | None:
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > URL_BYTES:
            return problem(414, "address", f"the address must have at most {URL_BYTES} bytes")
        if sum(len(k) + len(v) for k, v in scope["headers"]) > HEADER_BYTES:
            return problem(431, "headers", f"headers must have at most {HEADER_BYTES} bytes")
        if self.inside >= self.at_once:
            return problem(503, "busy", "the server is busy; nothing was saved", wait=1)
        return None


def _in_time(receive: Receive) -> Receive:
    """Wait for the body of a request, but not for ever."""
    end = time.monotonic() + BODY_SECONDS
    whole = False

    async def receiving() -> Message:
        nonlocal whole
        if whole:
            return await receive()
        async with asyncio.timeout(max(0.0, end - time.monotonic())):
            message = await receive()
        whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receiving
