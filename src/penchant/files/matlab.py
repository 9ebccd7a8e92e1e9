"""Tables in Matlab files: a struct of columns or of rows, or a matrix whose columns are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from penchant.errors import DataError, format_list
from penchant.files.output import json_text
from penchant.files.text_source import TextSource

MATLAB_MAGIC = b"MATLAB 5.0"


def json_of_matlab(origin: TextSource) -> TextSource:
    """Convert the one table of a Matlab file to JSON: an object of columns, or a list of rows."""
    try:
        with origin.open() as stream:
            variables = loadmat(stream, simplify_cells=True)
    except (MatReadError, NotImplementedError, TypeError, ValueError, OSError) as error:
        raise DataError(
            origin.name,
            "must be a sound Matlab file",
            got=f"one that is not read ({error})",
            fix="Use writetable in Matlab.",
        ) from None
    values = {name: value for name, value in variables.items() if not name.startswith("__")}
    tables = [
        found
        for value in values.values()
        if (found := _table_from_variable(value, values)) is not None
    ]
    tables = tables or [found for found in (_table_from_variable(values, {}),) if found is not None]
    if len(tables) != 1:
        raise DataError(
            origin.name,
            "must hold one struct of columns of one length, or a matrix and names of its columns",
            got=format_list(values) or "nothing",
            fix="Use writetable in Matlab.",
        )
    return TextSource(origin.name, None, json_text(tables[0]).encode())


def _table_from_variable(value: Any, variables: Mapping[str, Any]) -> Any:
    """A variable as columns or rows; None where it is no table."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return value
    if isinstance(value, dict):
        columns = {name: _vector_cells(own) for name, own in value.items()}
        sizes = {len(own) for own in columns.values() if own is not None}
        whole = len(columns) > 1 and None not in columns.values() and len(sizes) == 1
        return columns if whole and sizes != {1} else None
    if isinstance(value, np.ndarray) and value.ndim == 2:
        titles = [
            own for own in map(_vector_cells, variables.values()) if own and isinstance(own[0], str)
        ]
        fit = [own for own in titles if len({*own}) == value.shape[1]]
        return (
            dict(zip(fit[0], map(_vector_cells, value.T), strict=True)) if len(fit) == 1 else None
        )
    return None


def _vector_cells(value: Any) -> list[Any] | None:
    """The cells of a vector, whole numbers as such; None of anything else."""
    array = np.asarray(value)
    if array.ndim != 1:
        return None
    known = array[np.isfinite(array)] if array.dtype.kind == "f" else array[:0]
    whole = len(known) and (known % 1 == 0).all() and (np.abs(known) < 2**53).all()
    cells = array.tolist()
    return [int(x) if x == x else None for x in cells] if whole else cells
