"""Records as JSON, and JSON as records, by the annotations of dataclasses.

`write_value` and `read_value` convert a value by the annotation of where it goes, which has to say
what JSON does not: that a list is an array of integers, or a dict a record of this class. Where the
annotation leaves it open (labels, `Any`, one of several classes), a value that JSON would change
is a dict with its "type". `from_json` reads a record and names the first field that is wrong;
`to_json` writes what is only shown. JSON has no NaN (null here) and no infinities ("inf", "-inf").
Rules beyond a type stand in the annotation: `Annotated[int, MinimumValue(1)]`, `Annotated[Matrix,
Shape("names", "names")]`, where a word is the length of another field of the record. A field with
the default None is left out where it is None.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from inspect import ismethod, isroutine
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypeGuard,
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
TYPE_KEY = "type"  # of a dict that stands for a value whose type the annotation leaves open
# Metadata of a field that is not written, as it holds the data behind a result.
NOT_WRITTEN: Mapping[str, bool] = {"written": False}


class Shape(NamedTuple):
    """Shape of an array: lengths of other fields by name, or numbers."""

    first: str | int
    second: str | int | None = None

    def sizes(self, fields_read: Place) -> tuple[int, ...]:
        """The shape, given the fields that have been read."""
        given = (self.first,) if self.second is None else (self.first, self.second)
        return tuple(n if isinstance(n, int) else _length(fields_read[n]) for n in given)


class MinimumValue(NamedTuple):
    """Least value of a whole number."""

    least: int


def _length(value: object) -> int:
    assert isinstance(value, Sequence)
    return len(value)


def to_json(value: object) -> Any:
    """Convert a value to JSON: records by their `json_names` or fields, tuples and arrays as lists.

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
    names = getattr(value, "json_names", None)
    if names:
        return attributes_json(value, *names)
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
    found = {key: getattr(value, name) for key, name in pairs}
    return {key: to_json(one() if ismethod(one) else one) for key, one in found.items()}


def write_value(value: Any, hint: Any = Any) -> Any:
    """Convert a value to JSON, for `read_value` with the same annotation.

    >>> write_value((1, math.nan), tuple[float, ...]), write_value((1, math.nan))
    ([1.0, None], {'type': 'tuple', 'values': [1, {'type': 'float', 'value': 'nan'}]})
    """
    if isinstance(value, np.generic):
        value = value.item()
    origin, inner = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin is Annotated:
        return write_value(value, inner[0])
    if origin in (Union, UnionType):
        others = [one for one in inner if one is not NoneType]
        if isinstance(value, float) and math.isnan(value):
            return "nan" if others == [float] else _write_with_type_tag(value)  # null would be None
        others = [one for one in others if _matches_json_container(one, value)]
        return write_value(value, others[0] if len(others) == 1 else Any)
    if hint is float and isinstance(value, (int, float)):
        return to_json(float(value))
    if origin is np.ndarray and isinstance(value, np.ndarray):
        dtype = get_args(inner[1])[0]
        # A list of no rows would not say how many columns there are.
        has_shape = value.ndim == 1 or len(value) > 0
        if dtype is not Any and has_shape and np.can_cast(value.dtype, dtype):
            return to_json(value.astype(dtype, copy=False))
    elif origin is tuple and type(value) is tuple:
        return [
            write_value(v, one) for v, one in zip(value, _element_hints(inner, value), strict=True)
        ]
    elif origin is list and type(value) is list:
        return [write_value(one, inner[0]) for one in value]
    elif origin is frozenset and isinstance(value, frozenset):
        return sorted(write_value(one, inner[0]) for one in value)
    elif _is_mapping(origin) and isinstance(value, Mapping):
        return _write_mapping(value, inner[1])
    elif type(value) is hint and _is_record_type(hint):
        return _write_record(value)
    return _write_with_type_tag(value)


def _write_with_type_tag(value: Any) -> Any:
    """Convert a value to JSON with its type, where JSON would change it.

    Objects of other libraries are text, functions null.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TYPE_KEY: "float", "value": str(value)}
    if isinstance(value, np.ndarray):
        cells = [write_value(cell) for cell in value.ravel().tolist()]
        shape = {"dtype": value.dtype.str, "shape": list(value.shape)}
        return {TYPE_KEY: "array", **shape, "values": cells}
    kind = type(value)
    if _is_record_type(kind) and kind.__module__.startswith("penchant."):
        return {TYPE_KEY: _qualified_name(kind), "value": _write_record(value)}
    if kind.__module__.startswith("pyarrow") and hasattr(value, "column_names"):
        types = [str(field.type) for field in value.schema]
        cells = [write_value(value[name].to_pylist()) for name in value.column_names]
        return {
            TYPE_KEY: "table",
            "names": list(value.column_names),
            "types": types,
            "values": cells,
        }
    if hasattr(value, "dist"):  # a frozen distribution of scipy.stats
        own = {"args": list(value.args), "kwds": dict(value.kwds)}
        return {TYPE_KEY: "distribution", "name": value.dist.name, **to_json(own)}
    if isinstance(value, tuple):
        return {TYPE_KEY: "tuple", "values": [write_value(one) for one in value]}
    if isinstance(value, list):
        return [write_value(one) for one in value]
    if isinstance(value, Mapping):
        return _write_mapping(value, Any)
    return None if isroutine(value) else str(value)


def _write_record(value: Any) -> Any:
    """Fields of a record by their annotations; a class with a document of its own writes that."""
    return value.to_dict() if _has_own_json_format(type(value)) else _write_fields(value)


def _write_fields(value: Any) -> Any:
    kind = type(value)
    if not is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True).values()
        return [write_value(v, hint) for v, hint in zip(value, hints, strict=True)]
    held = [(field, hint, getattr(value, field.name)) for field, hint in _fields_and_hints(kind)]
    return {
        field.name: write_value(one, hint)
        for field, hint, one in held
        if not (one is None and field.default is None) and field.metadata.get("written", True)
    }


def _write_mapping(value: Mapping[Any, Any], hint: Any) -> dict[str, Any]:
    if all(isinstance(key, str) for key in value) and TYPE_KEY not in value:
        return {str(key): write_value(one, hint) for key, one in value.items()}
    pairs = [[write_value(key), write_value(one, hint)] for key, one in value.items()]
    return {TYPE_KEY: "dict", "values": pairs}


DOCUMENT_VERSION = 1  # raise it when older readers would misread a file: they refuse newer ones


def document_head(owner: type) -> Document:
    """Format and version of the documents that `to_dict` of a class writes.

    >>> from fractions import Fraction
    >>> document_head(Fraction)
    {'format': 'penchant-fraction', 'version': 1}
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", owner.__name__).lower()
    return {"format": f"penchant-{words}", "version": DOCUMENT_VERSION}


def record_document(owner: type, record: Any) -> Document:
    """Write a record as the document of a class, which `record_from_document` reads."""
    return {**document_head(owner), **_write_fields(record)}


def record_from_document(owner: type, document: object, kind: type[T], part: str = "") -> T:
    """Read a record from what `to_dict` of a class wrote, or from a part of it."""
    content: Mapping[str, object] = document if isinstance(document, Mapping) else {}
    version, written = content.get("version"), content.get("format")
    if not isinstance(version, int) or written != document_head(owner)["format"]:
        raise DataError(
            "document",
            f"must be what {owner.__name__}.to_dict wrote",
            got=type(document).__name__ if written is None else written,
            fix="Name the class that wrote it.",
        )
    if version > DOCUMENT_VERSION:
        raise DataError(
            "version", f"must be at most {DOCUMENT_VERSION}", got=version, fix="Upgrade Penchant."
        )
    try:
        found: T = _read_record(kind, content.get(part) if part else content, part)
    except KeyError as missing:
        raise damaged_field_error(str(missing.args[0]), "be given", "nothing") from None
    return found


def session_from_document(owner: type, document: object, kind: type[T], **given: object) -> T:
    """Read the record of a session; what is given replaces what was kept.

    Models and priors of users, which no document holds, have to be given: text stands for them.
    """
    known = {name: value for name, value in given.items() if value is not None}
    if isinstance(document, Mapping):
        document = {**document, **dict.fromkeys(document.keys() & known.keys())}
    kept = record_from_document(owner, document, kind)
    for name in given:
        if isinstance(getattr(kept, name), str):
            raise DataError(
                name,
                "must be given, as the session was kept with one that is not of the library",
                got="none",
                fix=f"Pass {name}=.",
            )
    for name, value in known.items():
        object.__setattr__(kept, name, value)
    return kept


class JsonDocument:
    """Base of results that are written as JSON with all their fields, and read back.

    Attributes
    ----------
    json_names
        Attributes that the readable part of the document has, by name; those of another key as
        (key, name). Of a method without arguments, it has what this returns.
    """

    json_names: ClassVar[tuple[str | tuple[str, str], ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `from_dict` reads it back."""
        return {**self.document(), "content": _write_fields(self)}

    def document(self) -> dict[str, Any]:
        """Readable part of the JSON document, which `from_dict` does not need."""
        return document_head(type(self)) | attributes_json(self, *self.json_names)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; data that were fitted do not come back."""
        return record_from_document(cls, document, cls, "content")


def _is_record_type(kind: Any) -> bool:
    return isinstance(kind, type) and (
        is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def _has_own_json_format(kind: Any) -> bool:
    """Whether a class has a document that is not made of its fields."""
    own = getattr(kind, "from_dict", None)
    return own is not None and own.__func__ is not JsonDocument.from_dict.__func__  # type: ignore[attr-defined]


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _element_hints(type_arguments: tuple[Any, ...], value: Sequence[Any]) -> Sequence[Any]:
    """Annotations of the elements of a tuple."""
    many = len(type_arguments) == 2 and type_arguments[1] is Ellipsis
    return [type_arguments[0]] * len(value) if many else type_arguments


def _qualified_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def read_value(content: Any, hint: Any = Any, place: str = "value") -> Any:
    """Read what `write_value` wrote with this annotation."""
    return _read_annotated_value(hint, content, place, {})


def _read_with_type_tag(value: Any, place: str) -> Any:
    """Read a value that says its type, or is as JSON has it."""
    if isinstance(value, list):
        return [_read_with_type_tag(one, place) for one in value]
    if not isinstance(value, Mapping):
        return value
    kind = value.get(TYPE_KEY)
    if kind is None:
        return {key: _read_with_type_tag(one, place) for key, one in value.items()}
    if kind == "float":
        return float(value["value"])
    if kind == "array":
        cells = [_read_with_type_tag(cell, place) for cell in value["values"]]
        return np.array(cells, dtype=np.dtype(value["dtype"])).reshape(value["shape"])
    if kind == "tuple":
        return tuple(_read_with_type_tag(one, place) for one in value["values"])
    if kind == "dict":
        return {
            _read_with_type_tag(key, place): _read_with_type_tag(v, place)
            for key, v in value["values"]
        }
    if kind == "table":
        return _read_arrow_table(value, place)
    if kind == "distribution":
        return _read_distribution(value, place)
    return _read_annotated_value(_record_class_by_name(kind), value.get("value"), place, {})


def _record_class_by_name(name: object) -> Any:
    """The record class of this name.

    A file is not trusted: only dataclasses and named tuples of penchant are made, so that no other
    code can run, whatever it says.
    """
    module, _, last = str(name).rpartition(".")
    kind: Any = None
    if module.startswith("penchant."):
        with suppress(ModuleNotFoundError):  # another version may have the class elsewhere
            kind = getattr(import_module(module), last, None)
    if not _is_record_type(kind) or _qualified_name(kind) != name:
        raise DataError(
            "type",
            "must be one of a result of Penchant",
            got=repr(name),
            fix="The file is damaged, or of another version: make it again.",
        )
    return kind


def _read_distribution(value: Mapping[str, Any], place: str) -> Any:
    """Read a frozen distribution of scipy.stats."""
    from scipy import stats

    family = getattr(stats, str(value.get("name")), None)
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        raise damaged_field_error(place, "name a distribution of scipy.stats", value.get("name"))
    kwds = {name: float(read_floats(one)) for name, one in value["kwds"].items()}
    return family(*read_floats(value["args"]).tolist(), **kwds)


def _read_arrow_table(value: Mapping[str, Any], place: str) -> Any:
    """Read an Arrow table; types that Arrow cannot name by an alias are inferred from cells."""
    import pyarrow as pa

    columns = []
    for cells, kind in zip(
        _read_with_type_tag(value["values"], place), value["types"], strict=True
    ):
        try:
            columns.append(pa.array(cells, pa.type_for_alias(kind)))
        except (ValueError, pa.ArrowInvalid, pa.ArrowTypeError):
            columns.append(pa.array(cells))
    return pa.table(columns, names=value["names"])


def from_json(record_class: type[T], content: object, place: str = "") -> T:
    """Read a record of this class; raise a `DataError` that names the first field that is wrong."""
    found: T = _read_record(record_class, content, place)
    return found


def _read_record(kind: Any, content: object, place: str) -> Any:
    if not isinstance(content, Mapping):
        raise damaged_field_error(place, "be a dict", content)
    read: dict[str, object] = {}
    for field, hint in _fields_and_hints(kind):
        if field.name in content:
            name = f"{place}.{field.name}" if place else field.name
            read[field.name] = _read_annotated_value(hint, content[field.name], name, read)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise KeyError(f"{place}.{field.name}" if place else field.name)
    return kind(**read)


@functools.cache
def _fields_and_hints(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field, hints[field.name]) for field in fields(kind) if field.init)


def _read_annotated_value(hint: Any, value: object, place: str, read: Place) -> Any:
    """Read a value by its annotation; `read` holds the fields of the record before it."""
    if _is_record_type(hint) and _has_own_json_format(hint) and not _has_type_key(value):
        return hint.from_dict(value)
    origin, inner = get_origin(hint), get_args(hint)
    if _has_type_key(value):
        if _is_mapping(origin) and value[TYPE_KEY] == "dict":
            pairs = [
                (_read_with_type_tag(k, place), _read_annotated_value(inner[1], v, place, {}))
                for k, v in value["values"]
            ]
            return dict(pairs)
        return _read_with_type_tag(value, place)
    if origin is Annotated:
        return _read_constrained_value(inner[0], inner[1], value, place, read)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        others = [one for one in inner if one is not NoneType]
        if len(others) > 1:  # of several, the one that is written as such a value
            others = [one for one in others if _matches_json_container(one, value)] or others
        if len(others) > 1:
            return _read_with_type_tag(value, place)
        if others[0] is str and not isinstance(value, str):
            raise damaged_field_error(place, "be text or None", value)
        return _read_annotated_value(others[0], value, place, read)
    if origin is Literal:
        if not any(value == one and type(value) is type(one) for one in inner):
            raise damaged_field_error(place, f"be one of {', '.join(map(str, inner))}", repr(value))
        return value
    if origin is tuple:
        return _read_tuple(inner, value, place, read)
    if origin in (list, frozenset):
        return origin(_read_tuple((inner[0], ...), value, place, read))
    if _is_mapping(origin):
        return _read_mapping(inner[1], value, place)
    if origin is np.ndarray:
        dtype = get_args(inner[1])[0]
        if issubclass(dtype, (np.bool_, np.integer)):
            return _read_exact_array(value, np.dtype(dtype), place)
        return _read_float_array(value, place, "hold numbers").astype(dtype, copy=False)
    if isinstance(hint, type) and issubclass(hint, tuple):
        own = tuple(get_type_hints(hint, include_extras=True).values())
        return hint(*_read_tuple(own, value, place, read))
    if isinstance(hint, type) and is_dataclass(hint):
        return _read_record(hint, value, place)
    return _read_scalar(hint, value, place)


def _matches_json_container(hint: Any, value: object) -> bool:
    """Whether values of an annotation are written as dicts, as this one is, or as lists."""
    as_dict = is_dataclass(hint) or _is_mapping(get_origin(hint))
    return as_dict == (is_dataclass(value) or isinstance(value, Mapping))


def read_floats(value: object) -> Any:
    """Array of floats that `to_json` wrote, or a float; raise ValueError where it is none."""
    return np.array(_nested_floats(value), dtype=np.float64)


def _read_constrained_value(hint: Any, rule: object, value: object, place: str, read: Place) -> Any:
    """Read a value that has a rule besides its type."""
    if isinstance(rule, MinimumValue):
        words = f"be a whole number from {rule.least} on"
        if not _is_integer(value) or value < rule.least:  # type: ignore[operator]  # a number
            raise damaged_field_error(place, words, value)
        return value
    assert isinstance(rule, Shape)
    wanted = rule.sizes(read)
    words = f"hold numbers of shape {wanted}"
    array = _read_float_array(value, place, words)
    if array.shape != wanted:
        raise damaged_field_error(place, words, f"shape {array.shape}")
    return array


def _read_tuple(inner: tuple[Any, ...], value: object, place: str, read: Place) -> tuple[Any, ...]:
    many = len(inner) == 2 and inner[1] is Ellipsis
    texts = many and inner[0] is str
    if not isinstance(value, list) or (texts and not all(isinstance(v, str) for v in value)):
        raise damaged_field_error(place, "be a list of text" if texts else "be a list", value)
    if not many and len(value) != len(inner):
        raise damaged_field_error(place, f"be a list of {len(inner)}", value)
    hints = _element_hints(inner, value)
    return tuple(
        _read_annotated_value(h, v, place, read) for h, v in zip(hints, value, strict=True)
    )


def _read_mapping(hint: Any, value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise damaged_field_error(place, "be a dict", value)
    if hint is float and not all(map(_is_number, value.values())):
        raise damaged_field_error(
            place, "hold numbers", [v for v in value.values() if not _is_number(v)]
        )
    return {str(key): _read_annotated_value(hint, one, place, {}) for key, one in value.items()}


def _read_scalar(hint: Any, value: object, place: str) -> Any:
    if hint is float:
        if value is None:
            return math.nan
        if not _is_number(value):
            raise damaged_field_error(place, "be a number", repr(value))
        return float(value)  # type: ignore[arg-type]  # a number, or the word for an infinite one
    if hint is int and not _is_integer(value):
        raise damaged_field_error(place, "be a whole number", value)
    if hint is bool and not isinstance(value, bool):
        raise damaged_field_error(place, "be true or false", value)
    if hint is str and not isinstance(value, str):
        raise damaged_field_error(place, "be text", value)
    return _read_with_type_tag(value, place)


def _has_type_key(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping) and TYPE_KEY in value


def _read_float_array(value: object, place: str, words: str) -> Any:
    try:
        if not isinstance(value, list):
            raise ValueError
        return read_floats(value)
    except ValueError:
        raise damaged_field_error(place, words, value) from None


def _read_exact_array(value: object, dtype: np.dtype[Any], place: str) -> Any:
    """Array of whole numbers or truth values; floats would change numbers beyond 2^53."""
    words = f"hold {'true or false' if dtype.kind == 'b' else 'whole numbers'}"
    try:
        array = np.array(value)
    except ValueError:
        raise damaged_field_error(place, words, value) from None
    if not isinstance(value, list) or (array.size and array.dtype.kind != dtype.kind):
        raise damaged_field_error(place, words, value)
    return array.astype(dtype, copy=False)


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
    """A number as JSON has it, or "inf", "-inf" or "nan"."""
    # bool is a subclass of int, and true in a file is no number
    return value in ("inf", "-inf", "nan") or (
        isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


MAX_VALUE_LENGTH = 60  # characters of a wrong value that a message shows: enough to find it by


def damaged_field_error(place: str, rule: str, got: object) -> DataError:
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
        raise damaged_field_error(place, "differ", format_list(twice))
    if not names:
        raise damaged_field_error(place, "be a list of names", [])
