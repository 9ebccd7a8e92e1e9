"""What an asker knows as plain numbers and text, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from penchant.errors import DataError
from penchant.models.catalogue import CATALOGUE
from penchant.models.offers.attributes import Attributes
from penchant.workflow.questions.offered import Rows

FORMAT = "penchant-asker"
CLASSES: dict[str, Any] = {entry.name: entry.model for entry in CATALOGUE.values()} | {
    "attributes": Attributes
}
PARTS = ("model", "prior", "about", "repeats", "grid", "offers", "table", "answers")


def check(document: Any) -> None:
    """Refuse what `to_dict` did not write."""
    known = isinstance(document, Mapping) and document.get("format") == FORMAT
    missing = [part for part in PARTS if part not in document] if known else ["format"]
    if missing:
        raise DataError(
            f"document must be what Asker.to_dict wrote; got one without {missing[0]!r} of it. "
            "Save it again with asker.save(path)."
        )


def model_document(model: Any) -> dict[str, Any] | None:
    """Name and settings of a model of the library; None for another."""
    for name, known in CLASSES.items():
        if type(model) is known:
            settings = [f.name for f in fields(known) if f.init]
            return {"name": name, "settings": {n: _plain(vars(model)[n]) for n in settings}}
    return None


def model_of(document: Mapping[str, Any]) -> Any:
    """The model of a document."""
    given = document["model"]
    if given is None or given.get("name") not in CLASSES:
        raise DataError(
            "model must be given, as the asker was saved with one that is not of the library; got "
            "none. Pass model=."
        )
    settings = {name: _tuples(value) for name, value in given["settings"].items()}
    return CLASSES[given["name"]](**settings)


def grid_document(grid: Mapping[str, Any] | None) -> dict[str, list[float]] | None:
    """Values of a grid as lists."""
    if grid is None:
        return None
    return {str(name): np.asarray(v, dtype=np.float64).tolist() for name, v in grid.items()}


def table_document(rows: Rows | None) -> dict[str, Any] | None:
    """The table that offers came from; cells that JSON does not have become text."""
    if rows is None:
        return None
    plain = (bool, int, float, str, type(None))
    cells = {
        name: [value if isinstance(value, plain) else str(value) for value in values]
        for name, values in rows.cells.items()
    }
    columns = None if rows.columns is None else {n: list(v) for n, v in rows.columns.items()}
    return {"cells": cells, "columns": columns}


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
