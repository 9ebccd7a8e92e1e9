"""A long table with its rows shuffled, from pandas, polars and Parquet, to `Choices`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from problems import Array, problem
from report import Row, Target, shape_text
from settings import Settings
from timing import interleaved

import penchant as pn

DECISIONS, OPTIONS, VARIABLES = 1_000_000, 10, 10
SECONDS = Target(10, at_least=False)


def tables(settings: Settings) -> list[Row]:
    """Time each kind of table, and the fit that follows."""
    n = DECISIONS // 10 if settings.quick else DECISIONS
    if not hasattr(pn.Choices, "from_frame"):
        return [Row("table", "Choices.from_frame", note="not built yet")]
    columns = _columns(n)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in MAKERS.items():
            read = make(columns, Path(folder))
            rows += _timed(kind, read, n, settings)
            del read
    return rows


def _columns(n: int) -> dict[str, Array]:
    """Columns of the long table, rows in random order."""
    data = problem(n, OPTIONS, VARIABLES)
    shuffled = np.random.default_rng(1).permutation(n * OPTIONS)
    decision, option = np.divmod(shuffled, OPTIONS)
    rows = data.explanatory.reshape(-1, VARIABLES)
    return {
        "decision": decision,
        "option": option,
        "chosen": (data.chosen[decision] == option).astype(np.int8),
    } | {name: rows[shuffled, a] for a, name in enumerate(_variables())}


def _variables() -> list[str]:
    return [f"x{a}" for a in range(VARIABLES)]


def _pandas(columns: dict[str, Array], folder: Path) -> Callable[[], Any]:
    import pandas as pd

    table = pd.DataFrame(columns)
    return lambda: table


def _polars(columns: dict[str, Array], folder: Path) -> Callable[[], Any]:
    import polars as pl

    table = pl.DataFrame(columns)
    return lambda: table


def _parquet(columns: dict[str, Array], folder: Path) -> Callable[[], Any]:
    import pyarrow as pa
    from pyarrow import parquet

    from penchant.files.table import read_table

    file = folder / "long.parquet"
    parquet.write_table(pa.table(columns), file)
    return lambda: read_table(file)


MAKERS = {"pandas": _pandas, "polars": _polars, "Parquet file": _parquet}


def _choices(table: Any) -> pn.Choices:
    return pn.Choices.from_frame(
        table, decision="decision", option="option", chosen="chosen", explanatory=_variables()
    )


def _timed(kind: str, read: Callable[[], Any], n: int, settings: Settings) -> list[Row]:
    """Time the table to choices, and choices to an estimate, in turns."""
    choices = _choices(read())
    pn.fit(choices, threads=1)
    runs = {
        f"{kind} to Choices": lambda: _choices(read()),
        f"fit of the {kind} choices": lambda: pn.fit(choices, threads=1),
    }
    found = interleaved(runs, min(settings.repeats, 3))
    size = shape_text(n * OPTIONS) + f" rows, {VARIABLES} variables"
    rows = []
    for what, timing in found.items():
        table = what.endswith("to Choices")
        rows.append(
            Row(
                "table",
                what,
                size,
                timing,
                ratio=timing.median if table else None,
                target=SECONDS if table else None,
                judged=not settings.quick,
                note="rows shuffled; ratio: seconds" if table else "",
            )
        )
    return rows
