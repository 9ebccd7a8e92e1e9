"""What every result can do: be read as text, in a notebook or a paper, and be kept as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Self

import numpy as np

from penchant._frames import Backend
from penchant.errors import DataError
from penchant.output.table import ABSENT, Table, number

CONTENT = "content"
MOST_ROWS = 20
_INFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Framed:
    """A result that is a data frame, too: of the kind that the data came in, or as asked for.

    `to_frame()` gives a pandas frame for data that came as one, a polars frame for polars, a
    pyarrow table for pyarrow, and a pandas frame for files, arrays and whatever else.
    """

    def to_pandas(self) -> Any:
        """The frame of `to_frame` as a pandas one."""
        return self.to_frame(backend="pandas")

    def to_polars(self) -> Any:
        """The frame of `to_frame` as a polars one."""
        return self.to_frame(backend="polars")

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """A data frame."""
        raise NotImplementedError


class Kept:
    """What is kept as JSON with all that it holds, and comes back from it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; `from_dict` reads it back."""
        return {**self.document(), CONTENT: encoded(self)}

    def document(self) -> dict[str, Any]:
        """What it says, as JSON has it."""
        return {"format": "penchant-result", "version": 1}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; data that were fitted do not come back."""
        content = document.get(CONTENT) if isinstance(document, Mapping) else None
        name = content.get("class") if isinstance(content, Mapping) else None
        if name != _name(cls):
            got = type(document).__name__ if name is None else str(name).rpartition(".")[2]
            raise DataError(
                f"document must be what {cls.__name__}.to_dict() wrote; got {got}. Name the class "
                "that wrote it."
            )
        found: Self = decoded(content)
        return found


class Shown(Framed, Kept):
    """A result that is read as a table, and kept as JSON with all that it holds."""

    def table(self) -> Table:
        """The summary as a table; the frame, if the result has no other."""
        columns = self.to_frame(backend="pyarrow").to_pydict()
        found = list(zip(*columns.values(), strict=True))
        rows = tuple(tuple(map(cell_words, row)) for row in found[:MOST_ROWS])
        left = len(found) - len(rows)
        notes = (f"{left} more rows: see to_frame().",) if left > 0 else ()
        return Table(repr(self).strip("<>"), (), tuple(map(str, columns)), rows, notes)

    def summary(self) -> str:
        """Everything one reads first, as text."""
        return self.table().text()

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self) -> str:
        """The table for a paper (booktabs)."""
        return self.table().latex()


def cell_words(value: Any) -> str:
    """A cell of a table in words."""
    if value is None:
        return ABSENT
    return number(value) if isinstance(value, float) else str(value)


def encoded(value: Any) -> Any:
    """Values as JSON has them, with what they were."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.ndarray):
        cells = [encoded(cell) for cell in value.ravel().tolist()]
        return {"array": cells, "shape": list(value.shape), "dtype": value.dtype.str}
    if _is_ours(value):
        if hasattr(type(value), "from_dict") and not isinstance(value, Kept):
            return {"class": _name(type(value)), "document": value.to_dict()}
        own = getattr(value, "_fields", None) or [f.name for f in fields(value)]
        held = {name: encoded(getattr(value, name)) for name in own if not _is_data(value, name)}
        return {"class": _name(type(value)), "fields": held}
    if _is_arrow(value):
        types = [str(field.type) for field in value.schema]
        cells = [[encoded(cell) for cell in value[name].to_pylist()] for name in value.column_names]
        return {"columns": cells, "names": list(value.column_names), "types": types}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [encoded(one) for one in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[encoded(key), encoded(one)] for key, one in value.items()]}
    return None if callable(value) else {"words": str(value)}


def decoded(value: Any) -> Any:
    """Inverse of `encoded`; objects of others come back as their words."""
    if not isinstance(value, Mapping):
        return value
    if "number" in value:
        return _INFINITE[value["number"]]
    if "array" in value:
        cells = [decoded(cell) for cell in value["array"]]
        return np.array(cells, dtype=np.dtype(value["dtype"])).reshape(value["shape"])
    if "class" in value:
        return _object(value)
    if "mapping" in value:
        return {decoded(key): decoded(one) for key, one in value["mapping"]}
    if "words" in value:
        return value["words"]
    if "types" in value:
        return _arrow_table(value)
    (kind, cells), *_ = value.items()
    return tuple(map(decoded, cells)) if kind == "tuple" else [decoded(cell) for cell in cells]


def _is_arrow(value: Any) -> bool:
    return type(value).__module__.startswith("pyarrow") and hasattr(value, "column_names")


def _arrow_table(value: Mapping[str, Any]) -> Any:
    """A table of Arrow; columns of kinds that have no short name are what their cells are."""
    import pyarrow as pa

    columns = []
    for cells, kind in zip(value["columns"], value["types"], strict=True):
        held = [decoded(cell) for cell in cells]
        try:
            columns.append(pa.array(held, pa.type_for_alias(kind)))
        except (ValueError, pa.ArrowInvalid, pa.ArrowTypeError):
            columns.append(pa.array(held))
    return pa.table(columns, names=value["names"])


def _object(value: Mapping[str, Any]) -> Any:
    """An object of this library: no other code runs, whatever a file says."""
    module, _, name = str(value["class"]).rpartition(".")
    kind = getattr(import_module(module), name, None) if module.startswith("penchant.") else None
    if not isinstance(kind, type) or _name(kind) != value["class"] or not _holds(kind):
        raise DataError(
            f"class must be one of a result of Penchant; got {value['class']!r}. The file is "
            "damaged, or of another version: make it again."
        )
    if "document" in value:
        return kind.from_dict(value["document"])  # type: ignore[attr-defined]  # written by it
    held = {name: decoded(one) for name, one in value["fields"].items()}
    if is_dataclass(kind):
        made = {field.name for field in fields(kind) if field.init}
        held = {name: one for name, one in held.items() if name in made}
    return kind(**held)


def _is_data(value: Any, name: str) -> bool:
    """Whether a field is the data behind a result rather than a word about where they are from."""
    return name == "source" and not isinstance(getattr(value, name), str)


def _holds(kind: type) -> bool:
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _is_ours(value: Any) -> bool:
    return _holds(type(value)) and type(value).__module__.startswith("penchant.")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
