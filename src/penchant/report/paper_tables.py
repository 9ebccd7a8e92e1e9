"""Tables I and II in the form of the paper: a column for each condition, one table each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penchant.report.page import DataTable
from penchant.report.study_words import shown
from penchant.softmax.transformations import Parameter
from penchant.study import Study
from penchant.study.plan import CATEGORIES
from penchant.study.populations import LinearizedGroup
from penchant.study.working_scale import natural_again

CURVES = {"low": "linear, power law", "high": "logarithmic"}


def paper_tables(study: Study) -> Iterator[DataTable]:
    """Table I of both performances, then Table II of both."""
    for made in (_table_1, _table_2):
        for performance in reversed(CATEGORIES):
            columns = [c for c in study.linearized if c.group.performance == performance]
            if columns:
                words = f"{performance} performance ({CURVES[performance]})"
                yield made(study, columns, words)


def _table_1(study: Study, columns: Sequence[LinearizedGroup], words: str) -> DataTable:
    header = ["parameter"]
    for column in columns:
        header += [f"{_name(column)}: theta", "std. error"]
    rows = [
        ["subjects", *_facts(f"{c.theta.n_subjects} of {len(c.group.subjects)}" for c in columns)],
        ["mean log-likelihood", *_facts(shown(c.mean_log_likelihood) for c in columns)],
    ]
    for j, name in enumerate(columns[0].theta.names):
        row = [name]
        for column in columns:
            row += [shown(column.theta.estimate[j]), shown(column.theta.standard_errors[j])]
        rows.append(row)
    rows.append(["Delta / nominal", *_facts(map(_ratio, columns))])
    return DataTable(f"Table I: theta, {words}", header, rows)


def _table_2(study: Study, columns: Sequence[LinearizedGroup], words: str) -> DataTable:
    header = ["parameter"]
    for column in columns:
        header += [f"{_name(column)}: linearised", "exact", "low", "high"]
    rows = []
    exact = [_exact(study, column) for column in columns]
    for j, name in enumerate(columns[0].natural.names):
        row = [name.replace("_", " ")]
        for column, found in zip(columns, exact, strict=True):
            own = [p for p in found if p.name == name]
            row.append(shown(column.natural.estimate[j]))
            row += [shown(v) for p in own for v in (p.estimate, p.low, p.high)] or ["-"] * 3
        rows.append(row)
    rows.append(["Delta / nominal", *(cell for c in columns for cell in (_ratio(c), "", "", ""))])
    note = "exact, low, high: the exact estimates of the same subjects by random effects."
    return DataTable(f"Table II: natural parameters, {words}", header, rows, note)


def _exact(study: Study, column: LinearizedGroup) -> tuple[Parameter, ...]:
    population = study.exact[column.group.label]["random-effects"]
    return natural_again(population, study.plan.level)


def _name(column: LinearizedGroup) -> str:
    return column.group.condition


def _ratio(column: LinearizedGroup) -> str:
    doubt = "" if column.valid else ", not small"
    return f"{shown(column.ratio)}{doubt}"


def _facts(cells: Iterator[str]) -> list[str]:
    """One fact per group, over the two columns that a group has."""
    return [cell for fact in cells for cell in (fact, "")]
