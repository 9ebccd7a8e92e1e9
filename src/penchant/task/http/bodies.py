"""What comes in: JSON that is exactly what it should be, or an error that names the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request

from penchant.task.plan import IDS

LARGEST = 16 * 1024
SAFE = 2**53


class BodyError(Exception):
    """A request that cannot be understood."""

    def __init__(
        self, status: int, message: str, field: str | None = None, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.wait = wait


def refuse(field: str, rule: str) -> NoReturn:
    """Refuse a field."""
    raise BodyError(422, f"{field} must {rule}", field)


async def json_body(request: Request) -> Body:
    """The body of a request: an object, at most 16 KiB long, without a key twice."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise BodyError(415, "the content type must be application/json")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise BodyError(415, "the body must not be compressed")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST:
            raise BodyError(413, f"the body must have at most {LARGEST} bytes")
    return Body(parsed(bytes(data)))


def parsed(data: bytes) -> dict[str, Any]:
    """The object that some bytes are.

    Examples
    --------
    >>> parsed(b'{"option": 3}')
    {'option': 3}
    """
    try:
        text = data.decode("utf-8").lstrip(" \t\r\n")
        value, end = _decoder.raw_decode(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise BodyError(400, "the body must be JSON") from None
    except ValueError as error:  # thousands of digits
        raise BodyError(422, f"body must be JSON: {error}", "body") from None
    if text[end:].strip(" \t\r\n"):
        refuse("body", "end after its object")
    if not isinstance(value, dict):
        refuse("body", "be an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            refuse(key[:40], "be given once")
        if isinstance(value, float) and not math.isfinite(value):
            refuse(key[:40], "be a finite number")
        found[key] = value
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=lambda _: math.nan)


class Body:
    """The fields of a request, each asked for once; others are refused."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def has(self, field: str) -> bool:
        """Whether the field is there."""
        return field in self._values

    def whole(self, field: str, least: int, most: int) -> int:
        """A whole number."""
        value = self._take(field)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            refuse(field, f"be a whole number in {least}..{most}")
        return value

    def optional_whole(self, field: str, least: int, most: int) -> int | None:
        """A whole number, if it is given."""
        return self.whole(field, least, most) if self.has(field) else None

    def number(self, field: str) -> float:
        """A finite number of a usual size."""
        value = self._take(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            refuse(field, "be a finite number")
        return float(value)

    def yes(self, field: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._take(field) if default is None or self.has(field) else default
        if not isinstance(value, bool):
            refuse(field, "be true or false")
        return value

    def text(self, field: str, most: int) -> str:
        """Words."""
        value = self._take(field)
        if not isinstance(value, str) or not 0 < len(value) <= most:
            refuse(field, f"be a text of 1 to {most} characters")
        return value

    def identity(self, field: str) -> str | None:
        """An id of a recruiting platform, if it is given."""
        if not self.has(field):
            return None
        value = self._take(field)
        if not isinstance(value, str) or not IDS.fullmatch(value):
            refuse(field, "be 1 to 64 letters, digits, _ or -")
        return value

    def items(self, field: str, most: int) -> list[Any]:
        """A list."""
        value = self._take(field)
        if not isinstance(value, list) or len(value) > most:
            refuse(field, f"be a list of at most {most}")
        return value

    def object(self, field: str) -> Body:
        """An object in this one; empty if it is not given."""
        value = self._take(field) if self.has(field) else {}
        if not isinstance(value, dict):
            refuse(field, "be an object")
        return Body(value)

    def finish(self) -> None:
        """Refuse fields that nobody asked for."""
        for field in self._values:
            refuse(field[:40], "not be sent")

    def _take(self, field: str) -> Any:
        if field not in self._values:
            refuse(field, "be given")
        return self._values.pop(field)
