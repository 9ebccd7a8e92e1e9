"""Records as JSON, and JSON as records, by the annotations of dataclasses.

`to_json` writes a value by what it is; `from_json` reads it by the annotation of where it goes, and
names the first field that is wrong. JSON has no NaN (null here) and no infinities ("inf", "-inf").
Rules beyond a type stand in the annotation: `Annotated[int, MinimumValue(1)]`, `Annotated[Matrix,
Shape("names", "names")]`, where a word is the length of another field of the record. A field with
the default None is left out where it is None.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from penchant.errors import DataError, format_list

Document: TypeAlias = dict[str, Any]  # Any: users index JSON as they know it to be
Place: TypeAlias = Mapping[str, object]  # fields of the record that is being read
T = TypeVar("T")


class Shape(NamedTuple):
    """Shape of an array: lengths of other fields by name, or numbers."""

    first: str | int
    second: str | int | None = None

    def sizes(self, read: Place) -> tuple[int, ...]:
        """The shape, given the fields that have been read."""
        given = (self.first,) if self.second is None else (self.first, self.second)
        return tuple(n if isinstance(n, int) else _length(read[n]) for n in given)


class MinimumValue(NamedTuple):
    """Least value of a whole number."""

    least: int


def _length(value: object) -> int:
    assert isinstance(value, Sequence)
    return len(value)


def to_json(value: object) -> Any:
    """Convert a value to JSON: records by their fields, tuples and arrays as lists.

    >>> to_json({"a": (1, float("nan")), "b": np.array([0.5, np.inf])})
    {'a': [1, None], 'b': [0.5, 'inf']}
    """
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if is_dataclass(value) and not isinstance(value, type):
        own = {field: getattr(value, field.name) for field in fields(value)}
        return {f.name: to_json(v) for f, v in own.items() if not (v is None and f.default is None)}
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    return value


def attributes_json(value: object, *names: str | tuple[str, str]) -> Document:
    """Attributes of a result for JSON, by name; those of another key as (key, name)."""
    pairs = [(name, name) if isinstance(name, str) else name for name in names]
    return {key: to_json(getattr(value, name)) for key, name in pairs}


def from_json(kind: type[T], content: object, place: str = "") -> T:
    """Read a record of this class; raise a `DataError` that names the first field that is wrong."""
    found: T = _record(kind, content, place)
    return found


def _record(kind: Any, content: object, place: str) -> Any:
    if not isinstance(content, Mapping):
        raise damaged_field(place, "be a dict", content)
    read: dict[str, object] = {}
    for field, hint in _hints(kind):
        if field.name in content:
            name = f"{place}.{field.name}" if place else field.name
            read[field.name] = _value(hint, content[field.name], name, read)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise KeyError(f"{place}.{field.name}" if place else field.name)
    return kind(**read)


@functools.cache
def _hints(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field, hints[field.name]) for field in fields(kind) if field.init)


def _value(hint: Any, value: object, place: str, read: Place) -> Any:
    """Read a value by its annotation; `read` holds the fields of the record before it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _read_constrained_value(inner[0], inner[1], value, place, read)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        others = [one for one in inner if one is not NoneType]
        if len(others) > 1:  # of several, the one that is written as such a value
            others = [one for one in others if _matches_json_container(one, value)] or others
        if others[0] is str and not isinstance(value, str):
            raise damaged_field(place, "be text or None", value)
        return _value(others[0], value, place, read)
    if origin is Literal:
        if not any(value == one and type(value) is type(one) for one in inner):
            raise damaged_field(place, f"be one of {', '.join(map(str, inner))}", repr(value))
        return value
    if origin is tuple:
        return _read_tuple(inner, value, place, read)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(inner[1], value, place)
    if origin is np.ndarray:
        return _array(value, place, "hold numbers").astype(get_args(inner[1])[0], copy=False)
    if isinstance(hint, type) and issubclass(hint, tuple):
        own = tuple(get_type_hints(hint, include_extras=True).values())
        return hint(*_read_tuple(own, value, place, read))
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint, value, place)
    return _scalar(hint, value, place)


def _matches_json_container(hint: Any, value: object) -> bool:
    """Whether values of an annotation are written as dicts, if this is one, or as lists."""
    origin = get_origin(hint)
    as_dict = is_dataclass(hint) or (isinstance(origin, type) and issubclass(origin, Mapping))
    return as_dict == isinstance(value, Mapping)


def read_floats(value: object) -> Any:
    """Array of floats that `to_json` wrote, or a float; raise ValueError where it is none."""
    return np.array(_nested_floats(value), dtype=np.float64)


def _read_constrained_value(hint: Any, rule: object, value: object, place: str, read: Place) -> Any:
    """Read a value that has a rule besides its type."""
    if isinstance(rule, MinimumValue):
        words = f"be a whole number from {rule.least} on"
        if not _is_count(value) or value < rule.least:  # type: ignore[operator]  # a number
            raise damaged_field(place, words, value)
        return value
    assert isinstance(rule, Shape)
    wanted = rule.sizes(read)
    words = f"hold numbers of shape {wanted}"
    array = _array(value, place, words)
    if array.shape != wanted:
        raise damaged_field(place, words, f"shape {array.shape}")
    return array


def _read_tuple(inner: tuple[Any, ...], value: object, place: str, read: Place) -> tuple[Any, ...]:
    many = len(inner) == 2 and inner[1] is Ellipsis
    texts = many and inner[0] is str
    if not isinstance(value, list) or (texts and not all(isinstance(v, str) for v in value)):
        raise damaged_field(place, "be a list of text" if texts else "be a list", value)
    if not many and len(value) != len(inner):
        raise damaged_field(place, f"be a list of {len(inner)}", value)
    hints = [inner[0]] * len(value) if many else inner
    return tuple(_value(h, v, place, read) for h, v in zip(hints, value, strict=True))


def _mapping(hint: Any, value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise damaged_field(place, "be a dict", value)
    if hint is float and not all(map(_is_number, value.values())):
        raise damaged_field(place, "hold numbers", [v for v in value.values() if not _is_number(v)])
    return {str(key): _value(hint, one, place, {}) for key, one in value.items()}


def _scalar(hint: Any, value: object, place: str) -> Any:
    if hint is float:
        if value is None:
            return math.nan
        if not _is_number(value):
            raise damaged_field(place, "be a number", repr(value))
        return float(value)  # type: ignore[arg-type]  # a number, or the word for an infinite one
    if hint is int and not _is_count(value):
        raise damaged_field(place, "be a whole number", value)
    if hint is bool and not isinstance(value, bool):
        raise damaged_field(place, "be true or false", value)
    if hint is str and not isinstance(value, str):
        raise damaged_field(place, "be text", value)
    return value


def _array(value: object, place: str, words: str) -> Any:
    try:
        if not isinstance(value, list):
            raise ValueError
        return read_floats(value)
    except ValueError:
        raise damaged_field(place, words, value) from None


def _nested_floats(value: object) -> Any:
    """Nested lists of floats; raises ValueError where something is no number."""
    if isinstance(value, list):
        return [_nested_floats(one) for one in value]
    if value is None:
        return math.nan
    if not _is_number(value):
        raise ValueError
    return float(value)  # type: ignore[arg-type]  # a number, or the word for an infinite one


def _is_number(value: object) -> bool:
    """A number as JSON has it, or "inf" or "-inf"."""
    # bool is a subclass of int, and true in a file is no number
    return value in ("inf", "-inf") or (
        isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


MAX_VALUE_LENGTH = 60  # characters of a wrong value that a message shows: enough to find it by


def damaged_field(place: str, rule: str, got: object) -> DataError:
    """Error that names the field of a file that is wrong."""
    said = str(got)
    said = said if len(said) <= MAX_VALUE_LENGTH else f"{said[: MAX_VALUE_LENGTH - 3]}..."
    return DataError(
        f"field {place}", f"must {rule}", got=said, fix="The file is damaged: fit again."
    )


def require_distinct(names: Sequence[str], place: str) -> None:
    """Raise an error where a name stands twice, or there is none."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise damaged_field(place, "differ", format_list(twice))
    if not names:
        raise damaged_field(place, "be a list of names", [])
