"""Limits on requests (size, rate, time, concurrency), headers of replies, and strict JSON bodies.

Rates are limited by token buckets. Bodies are read field by field: a missing, wrong or unexpected
field is refused by its name. Relies on Starlette's ASGI types only.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penchant.task.plan import PLATFORM_ID

MAX_URL_BYTES = 4 * 1024  # ids of recruiting platforms need a few hundred
MAX_HEADER_BYTES = 16 * 1024  # twice the default of common proxies
MAX_CONCURRENT_REQUESTS = 400  # 300 players in step fit; beyond, a 503 is better than a queue
BODY_TIMEOUT_SECONDS = 15.0  # a slow mobile network needs a few; slow sockets must not stay open

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
    # older browsers know x-frame-options only, which cannot name a recruiter's origin
    return found if ancestors != "'none'" else {**found, "x-frame-options": "DENY"}


def error_response(
    status: int, code: str, message: str, *, wait: float | None = None, **more: object
) -> JSONResponse:
    """Make a reply that names an error."""
    headers = {} if wait is None else {"retry-after": str(max(1, round(wait)))}
    body = {"error": {"code": code, "message": message, **more}}
    return JSONResponse(body, status, headers=headers)


class TokenBucket:
    """Token buckets by key: `burst` actions at once, then `rate` a second.

    Examples
    --------
    >>> buckets = TokenBucket(rate=1.0, burst=2)
    >>> [buckets.wait("anna", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> buckets.wait("anna", now=1.0)
    0.0
    """

    def __init__(self, rate: float, burst: float, max_keys: int = 100_000) -> None:
        self.rate, self.burst, self.max_keys = rate, burst, max_keys
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, now: float | None = None) -> float:
        """Take a token; return 0, or the seconds to wait where there is none."""
        moment = time.monotonic() if now is None else now
        left, last = self._left.pop(key, (self.burst, moment))
        left = min(self.burst, left + (moment - last) * self.rate)
        wait = 0.0 if left >= 1 else (1 - left) / self.rate
        self._left[key] = (left - 1 if wait == 0 else left, moment)
        while len(self._left) > self.max_keys:  # drop the least recently used: memory stays bounded
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
                # headers that a route has set itself, such as cache-control, win
                added = [pair for pair in self.headers if pair[0] not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        streams = scope["path"].startswith("/researcher/")  # open for hours, so not counted
        self.n_active += not streams
        try:
            await self.app(scope, _with_timeout(receive), sending)
        except TimeoutError:
            await error_response(408, "slow", "the body came too slowly")(scope, receive, sending)
        finally:
            self.n_active -= not streams

    def _refused(self, scope: Scope) -> JSONResponse | None:
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


def _with_timeout(receive: Receive) -> Receive:
    """Wrap `receive` so that the whole body must arrive in time."""
    end = time.monotonic() + BODY_TIMEOUT_SECONDS
    complete = False

    async def receiving() -> Message:
        nonlocal complete
        if complete:  # afterwards `receive` waits for the disconnect, for as long as it takes
            return await receive()
        async with asyncio.timeout(max(0.0, end - time.monotonic())):
            message = await receive()
        complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receiving


MAX_BODY_BYTES = 16 * 1024  # a choice with 200 marks has about 4 KiB
MAX_SAFE_INTEGER = 2**53  # largest integer that JavaScript represents exactly


class BodyError(Exception):
    """A request that cannot be understood."""

    def __init__(
        self, status: int, message: str, field: str | None = None, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.wait = wait


def refuse_field(field: str, rule: str) -> NoReturn:
    """Refuse a field."""
    raise BodyError(422, f"{field} must {rule}", field)


async def read_json_body(request: Request) -> Body:
    """Read the body of a request: a JSON object of at most 16 KiB without duplicate keys."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise BodyError(415, "the content type must be application/json")
    # a small compressed body can unpack to gigabytes
    if request.headers.get("content-encoding", "identity") != "identity":
        raise BodyError(415, "the body must not be compressed")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            raise BodyError(413, f"the body must have at most {MAX_BODY_BYTES} bytes")
    return Body(parse_object(bytes(data)))


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse bytes as one JSON object.

    Examples
    --------
    >>> parse_object(b'{"option": 3}')
    {'option': 3}
    """
    try:
        text = data.decode("utf-8").lstrip(" \t\r\n")
        value, end = _decoder.raw_decode(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise BodyError(400, "the body must be JSON") from None
    except ValueError as error:  # Python refuses integers of thousands of digits
        raise BodyError(422, f"body must be JSON: {error}", "body") from None
    if text[end:].strip(" \t\r\n"):
        refuse_field("body", "end after its object")
    if not isinstance(value, dict):
        refuse_field("body", "be an object")
    return value


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:  # parsers disagree on which of two equal keys counts
            refuse_field(key[:40], "be given once")
        if isinstance(value, float) and not math.isfinite(value):
            refuse_field(key[:40], "be a finite number")
        found[key] = value
    return found


# NaN and Infinity are no JSON; as NaN they are refused by name in `_unique_pairs`
_decoder = json.JSONDecoder(object_pairs_hook=_unique_pairs, parse_constant=lambda _: math.nan)


class Body:
    """Fields of a request, each read once; unread ones are refused by `finish`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def has(self, field: str) -> bool:
        """Whether the field is there."""
        return field in self._values

    def integer(self, field: str, least: int, most: int) -> int:
        """A whole number."""
        value = self._take(field)
        # bool is a subclass of int, but true is no number in JSON
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            refuse_field(field, f"be a whole number in {least}..{most}")
        return value

    def optional_integer(self, field: str, least: int, most: int) -> int | None:
        """A whole number, if it is given."""
        return self.integer(field, least, most) if self.has(field) else None

    def number(self, field: str) -> float:
        """A finite number below 1e15 in size."""
        value = self._take(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            refuse_field(field, "be a finite number")
        return float(value)

    def boolean(self, field: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._take(field) if default is None or self.has(field) else default
        if not isinstance(value, bool):
            refuse_field(field, "be true or false")
        return value

    def text(self, field: str, most: int) -> str:
        """A text of limited length."""
        value = self._take(field)
        if not isinstance(value, str) or not 0 < len(value) <= most:
            refuse_field(field, f"be a text of 1 to {most} characters")
        return value

    def platform_id(self, field: str) -> str | None:
        """An id of a recruiting platform, if it is given."""
        if not self.has(field):
            return None
        value = self._take(field)
        if not isinstance(value, str) or not PLATFORM_ID.fullmatch(value):
            refuse_field(field, "be 1 to 64 letters, digits, _ or -")
        return value

    def items(self, field: str, most: int) -> list[Any]:
        """A list."""
        value = self._take(field)
        if not isinstance(value, list) or len(value) > most:
            refuse_field(field, f"be a list of at most {most}")
        return value

    def object(self, field: str) -> Body:
        """An object in this one; empty if it is not given."""
        value = self._take(field) if self.has(field) else {}
        if not isinstance(value, dict):
            refuse_field(field, "be an object")
        return Body(value)

    def finish(self) -> None:
        """Refuse fields that were not read: clients cannot send rewards or times."""
        for field in self._values:
            refuse_field(field[:40], "not be sent")

    def _take(self, field: str) -> Any:
        if field not in self._values:
            refuse_field(field, "be given")
        return self._values.pop(field)
