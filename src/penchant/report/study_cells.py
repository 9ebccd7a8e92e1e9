"""Tables of a study as the report shows them: some columns, numbers as they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penchant.report.page import DataTable
from penchant.report.study_words import shown
from penchant.softmax.tables import p_value
from penchant.study import Study

P_VALUES = ("p_value", "adjusted_p_value")
SHOWN_AS_P = (*P_VALUES, "wilcoxon_p_value")
SHORT = {
    "statistic": "t",
    "degrees_of_freedom": "df",
    "p_value": "p",
    "adjusted_p_value": "adjusted p",
    "hedges_g": "Hedges' g",
    "name": "parameter",
    "n_subjects": "subjects",
    "i2": "I2",
    "exact_log_likelihood": "exact log-likelihood",
    "log_likelihood": "log-likelihood",
}


def study_table(
    study: Study,
    name: str,
    caption: str,
    keep: Sequence[str],
    *,
    note: str = "",
    folded: bool = False,
) -> DataTable:
    """Some columns of one of the study's tables."""
    return some_columns(caption, study.columns(name), keep, note=note, folded=folded)


def some_columns(
    caption: str,
    table: Mapping[str, Sequence[Any]],
    keep: Sequence[str],
    *,
    note: str = "",
    folded: bool = False,
    names: Mapping[str, str] = SHORT,
) -> DataTable:
    """Some columns of a table, with numbers as they are read and columns called by `names`."""
    present = [name for name in keep if name in table]
    columns = [[_cell(name, value) for value in table[name]] for name in present]
    words = frozenset(
        i
        for i, name in enumerate(present)
        if i == 0 or all(isinstance(v, str) for v in table[name])
    )
    rows = [list(row) for row in zip(*columns, strict=True)]
    header = [names.get(name, _read(name)) for name in present]
    return DataTable(caption, header, rows, note, folded, words)


def _cell(column: str, value: Any) -> str:
    if column in SHOWN_AS_P:
        return p_value(value)
    return _read(value) if column in ("parameter", "name") else shown(value)


def _read(name: str) -> str:
    return name.replace("_", " ")


def only(table: Mapping[str, Sequence[Any]], name: str, value: Any) -> dict[str, list[Any]]:
    """The rows of a table with this value in a column; nothing if there are none."""
    places = [i for i, found in enumerate(table.get(name, ())) if found == value]
    return {key: [column[i] for i in places] for key, column in table.items()} if places else {}
