"""Results out: text, JSON documents, and tables as CSV, Parquet or JSON by the name of the file."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from penchant._typing import FilePath
from penchant.errors import DataError, closest_match_hint
from penchant.files.atomic_files import atomic_write
from penchant.files.text_source import source_from_path

_MAX_NUMBER_DIGITS = 308  # of an integer that fits into float64, whose largest is 1.8e308


@dataclass(frozen=True)
class _JsonFault:
    """Placeholder for a value that JSON does not allow, with the problem."""

    problem: str


def read_json(path: FilePath) -> Any:
    """Read a JSON file; NaN, Infinity, duplicate keys and numbers beyond float64 are errors.

    Returns
    -------
    dict, list, str, int, float, bool or None
    """
    origin = source_from_path(path)
    with origin.open() as stream:
        content = stream.read()
    return parse_json(content, origin.name)


def parse_json(content: bytes, name: str) -> Any:
    """Parse the bytes of a JSON file; `name` is the name of the file in messages."""
    try:
        document = json.loads(
            content.decode("utf-8-sig"),
            parse_constant=lambda word: _JsonFault(f"the number {word}"),
            parse_float=_parse_float,
            parse_int=_parse_int,
            object_pairs_hook=_parse_object,
        )
        _check_faults(document, name, "")
    except UnicodeDecodeError as error:
        what = f"byte 0x{content[error.start]:02x} at byte offset {error.start}"
        raise _json_error(name, what) from None
    except json.JSONDecodeError as error:
        what = f"{error.msg.lower()} at line {error.lineno}, column {error.colno}"
        raise _json_error(name, what if content.strip() else "an empty file") from None
    except RecursionError:
        raise _json_error(name, "lists or objects nested too deeply") from None
    return document


def _json_error(name: str, what: str) -> DataError:
    return DataError(name, "must be a JSON file", got=what, fix="Write or copy it again.")


def _parse_float(text: str) -> float | _JsonFault:
    value = float(text)
    return value if math.isfinite(value) else _JsonFault(f"the number {text[:40]}, beyond float64")


def _parse_int(text: str) -> int | _JsonFault:
    if len(text) > _MAX_NUMBER_DIGITS:
        return _JsonFault(f"a number of {len(text)} digits, beyond float64")
    return int(text)


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = _JsonFault("the same key twice") if key in found else value
    return found


def _check_faults(value: Any, name: str, field: str) -> None:
    if isinstance(value, _JsonFault):
        raise DataError(
            name,
            "must hold finite numbers and every key once",
            got=value.problem,
            where=f"at {field or 'its top'}",
            fix="Correct it or write the file again.",
        )
    if isinstance(value, dict):
        for key, item in value.items():
            _check_faults(item, name, f"{field}.{key}" if field else key)
    if isinstance(value, list):
        for k, item in enumerate(value):
            _check_faults(item, name, f"{field}[{k}]")


def json_text(document: Any) -> str:
    """Return a document as JSON; NaN and infinities, which JSON does not have, become null.

    Parameters
    ----------
    document
        Mappings, sequences, text, numbers, booleans and None; NumPy's arrays and numbers too.

    Examples
    --------
    >>> print(json_text({"theta": [1.5, float("nan")]}), end="")
    {
      "theta": [
        1.5,
        null
      ]
    }
    """
    return (
        json.dumps(_json_value(document, ""), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    )


def write_json(path: FilePath, document: Any, *, overwrite: bool) -> None:
    """Write a document as JSON, whole or not at all, in the order of its keys."""
    text = json_text(document)
    with atomic_write(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(text.encode())


def _json_value(value: Any, field: str) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            _json_key(key, field): _json_value(item, f"{field}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_json_value(item, f"{field}[{k}]") for k, item in enumerate(value)]
    raise _not_json(value, field)


def _json_key(key: Any, field: str) -> str:
    if isinstance(key, str):
        return key
    raise _not_json(key, f"{field}, as a key")


def _not_json(value: Any, field: str) -> TypeError:
    return TypeError(
        f"document must hold text, numbers, lists and mappings; got {type(value).__name__} "
        f"at {field.removeprefix('.') or 'its top'}. Convert it first."
    )


def read_document(path: FilePath, format: str, *, version: int) -> dict[str, Any]:
    """Read a JSON file that Penchant has written.

    Parameters
    ----------
    path
        The file.
    format
        What its field "format" must say, such as "penchant-estimate".
    version
        The newest version of that format that is understood; the oldest is 1.

    Returns
    -------
    The whole document, with "format" and "version".
    """
    document = read_json(path)
    name = os.fsdecode(path)
    if not isinstance(document, dict) or "format" not in document:
        raise DataError(
            name,
            f"must be a {format} file",
            got="no field 'format'",
            fix="Name a file that penchant wrote.",
        )
    if document["format"] != format:
        raise DataError(
            name,
            f"must be a {format} file",
            got=f"format {document['format']!r}",
            fix="Name a file of the right kind.",
        )
    _check_version(document_field(document, "version", int, name), version, name)
    return document


def _check_version(found: int, newest: int, name: str) -> None:
    if found > newest:
        raise DataError(
            name,
            f"must be of version {newest} or older",
            got=f"version {found}",
            fix="A newer penchant wrote it: upgrade penchant to read it.",
        )
    if found < 1:
        raise DataError(
            name, "must be of version 1 or newer", got=f"version {found}", fix="Write it again."
        )


def document_field(
    document: Mapping[str, Any], key: str, kind: type | tuple[type, ...], name: str
) -> Any:
    """Return a field of a document, or an error that names file and field."""
    if key not in document:
        raise DataError(
            name,
            f"must have a field {key!r}",
            got="none",
            fix=closest_match_hint(key, document) or "Write it again.",
        )
    value = document[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    right = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
    if not right:
        kinds_text = " or ".join(one.__name__ for one in kinds)
        raise DataError(
            name,
            f"must have {kinds_text} in its field {key!r}",
            got=f"{type(value).__name__} ({str(value)[:40]!r})",
            fix="Write it again.",
        )
    return value


OUTPUT_SUFFIXES = (".csv", ".parquet", ".json")


def write_text(path: FilePath, text: str, *, overwrite: bool) -> None:
    """Write text as UTF-8, whole or not at all."""
    with atomic_write(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(text.encode())


def check_table_name(path: FilePath) -> str:
    """Return the kind of table that the name of a file asks for; refuse others."""
    suffix = Path(os.fsdecode(path)).suffix.lower()
    if suffix in OUTPUT_SUFFIXES:
        return suffix
    raise DataError(
        "output",
        f"must end in {', '.join(OUTPUT_SUFFIXES[:-1])} or {OUTPUT_SUFFIXES[-1]}",
        got=os.fsdecode(path),
        fix="Choose one of them.",
    )


def write_table(path: FilePath, frame: Any, *, overwrite: bool) -> None:
    """Write a table as CSV, Parquet or JSON (a list of rows), whole or not at all.

    Notes
    -----
    In CSV all text is quoted and no number is; missing values and NaN are empty cells. Text is
    never altered, so that what is read back is what was written.
    """
    suffix = check_table_name(path)
    data = nw.from_native(frame, eager_only=True)
    table = data.to_arrow().select(data.columns)  # without an index that pandas adds
    with atomic_write(path, overwrite=overwrite) as temporary:
        _WRITERS[suffix](table, temporary)


def _write_csv(table: pa.Table, file: Path) -> None:
    # Python's own stream, as Arrow's does not report a full disk on every system.
    with file.open("wb") as stream:
        pa_csv.write_csv(without_nan(_decode_dictionaries(table)), stream)


def _write_parquet(table: pa.Table, file: Path) -> None:
    with file.open("wb") as stream:
        pq.write_table(table, stream)


def _write_json(table: pa.Table, file: Path) -> None:
    rows = without_nan(table, infinite=True).to_pylist()
    text = json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    file.write_bytes(text.encode() + b"\n")


def _decode_dictionaries(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, plain)
    return table


def without_nan(table: pa.Table, infinite: bool = False) -> pa.Table:
    """Replace NaN, or with `infinite` also infinities, by empty cells."""
    for place, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(place)
            known = pc.is_finite(column) if infinite else pc.invert(pc.is_nan(column))
            nothing = pa.scalar(None, field.type)
            table = table.set_column(place, field.name, pc.if_else(known, column, nothing))
    return table


_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json}
