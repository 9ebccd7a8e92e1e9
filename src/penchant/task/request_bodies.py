"""Strict JSON bodies of requests: read field by field, refused by the name of the field.

A missing, wrong or unexpected field is refused, so that clients cannot send rewards or times.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.requests import Request

from penchant.task.study_plan import PLATFORM_ID

MAX_BODY_BYTES = 16 * 1024  # the largest, a choice with 200 marks, fits; more would fill memory
MAX_SAFE_INTEGER = 2**53  # a page cannot send larger integers exactly: JavaScript has doubles


class RequestBodyError(Exception):
    """A request whose body cannot be understood."""

    def __init__(
        self, status: int, message: str, field: str | None = None, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.wait = wait


def refuse_field(field: str, rule: str) -> NoReturn:
    """Refuse a field."""
    raise RequestBodyError(422, f"{field} must {rule}", field)


async def read_json_body(request: Request) -> RequestBody:
    """Read the body of a request: a JSON object of at most 16 KiB without duplicate keys."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestBodyError(415, "the content type must be application/json")
    # a limit on bytes received is none on bytes unpacked: a small body can unpack to gigabytes
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestBodyError(415, "the body must not be compressed")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            raise RequestBodyError(413, f"the body must have at most {MAX_BODY_BYTES} bytes")
    return RequestBody(parse_json_object(bytes(data)))


def parse_json_object(data: bytes) -> dict[str, Any]:
    """Parse bytes as one JSON object.

    Examples
    --------
    >>> parse_json_object(b'{"option": 3}')
    {'option': 3}
    """
    try:
        text = data.decode("utf-8").lstrip(" \t\r\n")
        value, end = _decoder.raw_decode(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise RequestBodyError(400, "the body must be JSON") from None
    except ValueError as error:  # Python refuses to convert integers of thousands of digits
        raise RequestBodyError(422, f"body must be JSON: {error}", "body") from None
    if text[end:].strip(" \t\r\n"):
        refuse_field("body", "end after its object")
    if not isinstance(value, dict):
        refuse_field("body", "be an object")
    return value


def _dict_of_unique_finite_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:  # the client may have meant either of two equal keys
            refuse_field(key[:40], "be given once")
        if isinstance(value, float) and not math.isfinite(value):
            refuse_field(key[:40], "be a finite number")
        found[key] = value
    return found


# Python reads NaN and Infinity, which are no JSON: turned into NaN, they are refused by their
# name, where the hook for pairs knows it
_decoder = json.JSONDecoder(
    object_pairs_hook=_dict_of_unique_finite_pairs, parse_constant=lambda _: math.nan
)


class RequestBody:
    """Fields of a request, each read once; unread ones are refused by `refuse_unread_fields`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def has_field(self, field: str) -> bool:
        """Whether the field is there."""
        return field in self._values

    def integer(self, field: str, minimum: int, maximum: int) -> int:
        """A whole number."""
        value = self._take_field(field)
        # bool is a subclass of int, but true is no number in JSON
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            refuse_field(field, f"be a whole number in {minimum}..{maximum}")
        return value

    def optional_integer(self, field: str, minimum: int, maximum: int) -> int | None:
        """A whole number, if it is given."""
        return self.integer(field, minimum, maximum) if self.has_field(field) else None

    def number(self, field: str) -> float:
        """A finite number below 1e15 in size."""
        value = self._take_field(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            refuse_field(field, "be a finite number")
        return float(value)

    def boolean(self, field: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._take_field(field) if default is None or self.has_field(field) else default
        if not isinstance(value, bool):
            refuse_field(field, "be true or false")
        return value

    def text(self, field: str, max_length: int) -> str:
        """A text of limited length."""
        value = self._take_field(field)
        if not isinstance(value, str) or not 0 < len(value) <= max_length:
            refuse_field(field, f"be a text of 1 to {max_length} characters")
        return value

    def platform_id(self, field: str) -> str | None:
        """An id of a recruiting platform, if it is given."""
        if not self.has_field(field):
            return None
        value = self._take_field(field)
        if not isinstance(value, str) or not PLATFORM_ID.fullmatch(value):
            refuse_field(field, "be 1 to 64 letters, digits, _ or -")
        return value

    def list_items(self, field: str, max_items: int) -> list[Any]:
        """A list."""
        value = self._take_field(field)
        if not isinstance(value, list) or len(value) > max_items:
            refuse_field(field, f"be a list of at most {max_items}")
        return value

    def nested_object(self, field: str) -> RequestBody:
        """An object in this one; empty if it is not given."""
        value = self._take_field(field) if self.has_field(field) else {}
        if not isinstance(value, dict):
            refuse_field(field, "be an object")
        return RequestBody(value)

    def refuse_unread_fields(self) -> None:
        """Refuse fields that were not read: clients cannot send rewards or times."""
        for field in self._values:
            refuse_field(field[:40], "not be sent")

    def _take_field(self, field: str) -> Any:
        if field not in self._values:
            refuse_field(field, "be given")
        return self._values.pop(field)
