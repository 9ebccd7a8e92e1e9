"""Labels of decisions, options and subjects as integer codes in natural order: s2 before s10."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penchant._typing import IntVector, Labels
from penchant.errors import PenchantWarning, format_list
from penchant.files.text_source import MISSING_WORDS
from penchant.tables.numbers import is_missing

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\Z", re.ASCII)
# a decimal fraction, but not a part of 1.2.3 or of a date; else a run of digits
PARTS = re.compile(r"((?<![\d.])\d+\.\d+(?![\d.])|\d+)", re.ASCII)
DIGIT = re.compile(r"\d", re.ASCII)

Key = tuple[Any, ...]


def natural_key(label: Any) -> Key:
    """Sort key of labels: numbers by value, also within text, before other text.

    Examples
    --------
    >>> sorted(["s10", "s2", "10", "9", "0.5", "s1 b", "-3"], key=natural_key)
    ['-3', '0.5', '9', '10', 's1 b', 's2', 's10']
    """
    if isinstance(label, tuple):
        return tuple(map(natural_key, label))
    if isinstance(label, (bool, int, float)):
        return (0, label, str(label))
    text = str(label)
    if NUMBER.match(text):
        return (0, float(text), text)
    return (1, PARTS.sub(_by_length, text), text)


def _by_length(found: re.Match[str]) -> str:
    """A number led by how many digits it has before the point: exact, however long it is."""
    known = found[0].lstrip("0")
    return chr(1 + len(known.partition(".")[0])) + known


def in_natural_order(labels: Iterable[Any]) -> list[Any]:
    """Labels sorted as people read them.

    Examples
    --------
    >>> in_natural_order(["block 10", "block 9", "block 1"])
    ['block 1', 'block 9', 'block 10']
    """
    return sorted(labels, key=natural_key)


def natural_places(labels: list[Any]) -> list[int]:
    """Places of labels in natural order; those of a type with an order of its own have that."""
    if all(isinstance(label, str) for label in labels):
        if not any(map(DIGIT.search, labels)):
            return sorted(range(len(labels)), key=labels.__getitem__)
    else:
        try:
            return sorted(range(len(labels)), key=labels.__getitem__)
        except TypeError:
            pass
    keys = [natural_key(label) for label in labels]
    return sorted(range(len(labels)), key=keys.__getitem__)


# a table of flags beats sorting while it is not much longer than the column
SPREAD = 8


@dataclass(frozen=True)
class Coded:
    """A column of labels: `labels[codes]`, labels sorted, and the rows that have none."""

    codes: IntVector
    labels: Labels
    missing: IntVector

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, row: SupportsIndex) -> Any:
        """Return the label of a row as a Python value."""
        return python_values(self.labels[self.codes[row] :][:1])[0]


NONE_MISSING: IntVector = np.empty(0, dtype=np.int64)


def python_values(labels: Labels) -> tuple[Any, ...]:
    """Labels as plain Python values."""
    return tuple(labels.tolist())


def integer_codes(ids: np.ndarray[Any, Any]) -> tuple[IntVector, Labels]:
    """Code of each integer and the distinct integers in ascending order.

    >>> integer_codes(np.array([30, 10, 30]))
    (array([1, 0, 1]), array([10, 30]))
    """
    low, high = int(ids.min()), int(ids.max())
    if high < 2**63:
        ids = ids.astype(np.int64, copy=False)
    if high - low > SPREAD * ids.size + 1000:
        labels, codes = np.unique(ids, return_inverse=True)
        return codes.reshape(-1), labels
    shifted = (ids - ids.dtype.type(low)).astype(np.int64, copy=False)
    present = np.zeros(high - low + 1, dtype=bool)
    present[shifted] = True
    labels = np.flatnonzero(present).astype(ids.dtype) + ids.dtype.type(low)
    if len(labels) == len(present):
        return shifted, labels
    rank = np.cumsum(present) - 1
    return rank[shifted], labels


def array_codes(values: Any, name: str) -> Coded:
    """Code a sequence of labels of any type."""
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.size:
        return Coded(*integer_codes(array), NONE_MISSING)
    if array.dtype.kind == "f":
        return float_codes(array)
    if array.dtype.kind in "mM":
        return object_codes(list(array), name)
    return object_codes(np.asarray(values, dtype=object).tolist(), name)


def float_codes(ids: np.ndarray[Any, Any]) -> Coded:
    """Whole numbers stored as floats become integers; NaN is missing."""
    missing = np.flatnonzero(np.isnan(ids))
    known = np.where(np.isnan(ids), ids[~np.isnan(ids)][:1].sum(), ids) if missing.size else ids
    if (np.abs(known) < 2.0**63).all() and (known == np.floor(known)).all():
        return Coded(*integer_codes(known.astype(np.int64)), missing)
    labels, codes = np.unique(known, return_inverse=True)
    return Coded(codes.reshape(-1), labels, missing)


def column_codes(column: Any, name: str) -> Coded:
    """Code a column of an Arrow table, of any type."""
    kind = column.type
    if pa.types.is_integer(kind):
        missing = NONE_MISSING
        if column.null_count:
            missing = np.flatnonzero(column.is_null().to_numpy())
            column = column.fill_null(pc.max(column).as_py() or 0)
        return Coded(*integer_codes(column.to_numpy()), missing)
    if pa.types.is_floating(kind):
        return float_codes(column.to_numpy())
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return arrow_codes(column)
    return object_codes(column.to_pylist(), name)


def arrow_codes(column: Any) -> Coded:
    """Text, categories, truth values and dates, coded by Arrow's hash table."""
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    indices = column.indices
    missing = np.flatnonzero(indices.is_null().to_numpy(zero_copy_only=False))
    codes = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    used, values = integer_codes(codes)
    levels = column.dictionary.to_pylist() or [None]
    return _sorted_levels(used, [_python_value(levels[i]) for i in values.tolist()], missing)


def object_codes(
    values: Sequence[Any], name: str, is_nothing: Callable[[str], bool] | None = None
) -> Coded:
    """Labels of any type; where text and numbers mix, all are compared as text, with a warning.

    Words for nothing, such as NA, may stand beside numbers without one.
    """
    plain = [_python_value(value) for value in values]
    level: dict[Any, int] = {}
    missing = [row for row, value in enumerate(plain) if value is None]
    codes = [0 if value is None else level.setdefault(value, len(level)) for value in plain]
    text = [value for value in level if isinstance(value, str)]
    if text and len(text) < len(level):
        if is_nothing is None or not all(is_nothing(word) for word in text):
            _warn_mixed(text, [value for value in level if not isinstance(value, str)], name)
        return object_codes([None if value is None else str(value) for value in plain], name)
    rows_without = np.array(missing, dtype=np.int64)
    return _sorted_levels(np.array(codes, dtype=np.int64), list(level) or [None], rows_without)


def _python_value(value: Any) -> Any:
    if type(value) is str or type(value) is int:
        return value
    if is_missing(value):
        return None
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if isinstance(value, (str, bytes, int)):
        return value
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        return value
    return whole if whole == value else value


def _warn_mixed(text: list[str], others: list[Any], name: str) -> None:
    warnings.warn(
        PenchantWarning(
            f"{name} mixes text ({format_list(map(repr, text))}) and numbers "
            f"({format_list(map(repr, others))}): all are compared as text.",
            "mixed-ids",
        ),
        stacklevel=3,
    )


def _sorted_levels(codes: IntVector, levels: list[Any], missing: IntVector) -> Coded:
    """Renumber codes so that their labels ascend, 2 before 10 and s2 before s10."""
    order = natural_places(levels)
    rank = np.empty(len(levels), dtype=np.int64)
    rank[order] = np.arange(len(levels))
    return Coded(rank[codes], _label_array([levels[i] for i in order]), missing)


def _label_array(values: list[Any]) -> Labels:
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def without_words(coded: Coded, known: Iterable[Any]) -> Coded:
    """The column with words for nothing, such as NA, as missing, unless they are known labels."""
    words = {*MISSING_WORDS} - {str(label) for label in known}
    nothing = np.array([label in words for label in coded.labels.tolist()], dtype=bool)
    if not nothing.any() or nothing.all():
        return coded
    rows = np.flatnonzero(nothing[coded.codes])
    kept = np.cumsum(~nothing) - 1
    codes = np.where(nothing[coded.codes], 0, kept[coded.codes])
    labels = _label_array(coded.labels[~nothing].tolist())
    return Coded(codes, labels, np.union1d(coded.missing, rows))


def used_labels(codes: IntVector, labels: Labels) -> tuple[IntVector, tuple[Any, ...]]:
    """Codes and labels without the labels that no code uses."""
    kept, values = integer_codes(codes)
    return kept, python_values(labels[values])


def warn_similar(labels: Sequence[Any], name: str) -> None:
    """Warn of labels that differ by case or spaces only."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(" ".join(label.split()).casefold(), []).append(label)
    groups = [group for group in alike.values() if len(group) > 1]
    if groups:
        found = format_list(" and ".join(map(repr, group)) for group in groups)
        warnings.warn(
            PenchantWarning(
                f"{name} holds labels that differ by case or spaces only: {found}. "
                "They are treated as different.",
                "similar-labels",
            ),
            stacklevel=2,
        )
