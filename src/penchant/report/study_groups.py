"""Report sections on groups, the paper's tables, tests, and simulated agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penchant.bandit.beliefs import RewardPrior
from penchant.errors import format_list
from penchant.figures.label_text import display_name
from penchant.models.model import Declared
from penchant.report.page import Block, DataTable, Drawing, Paragraph
from penchant.report.study_sentences import (
    capital,
    estimator_text,
    format_report_cell,
    not_simulated,
    simulation_text,
)
from penchant.result_tables import format_p_value
from penchant.softmax.intervals_and_tests import ParameterEstimate
from penchant.studies.comparisons import LinearizedGroup
from penchant.studies.findings import Findings
from penchant.studies.groups import to_natural_scale
from penchant.studies.plan import CATEGORIES, nominal_text
from penchant.tables.labels import in_natural_order

P_VALUES = ("p_value", "adjusted_p_value")
SHOWN_AS_P = (*P_VALUES, "wilcoxon_p_value")
MIN_COLLAPSED_ROWS = 12  # rows from which on a table of groups is shown only when asked for
T_TEST_HEADINGS = {"statistic": "t"}


def study_table(
    study: Findings,
    name: str,
    caption: str,
    keep: Sequence[str],
    *,
    note: str = "",
    collapsed: bool = False,
) -> DataTable:
    """Build a table of the page from chosen columns of a table of the study."""
    return some_columns(caption, study.columns(name), keep, note=note, collapsed=collapsed)


def some_columns(
    caption: str,
    table: Mapping[str, Sequence[Any]],
    keep: Sequence[str],
    *,
    note: str = "",
    collapsed: bool = False,
    names: Mapping[str, str] = T_TEST_HEADINGS,
) -> DataTable:
    """Build a table of the page from chosen columns: rounded numbers, headings in words."""
    present = [name for name in keep if name in table]
    columns = [[_cell(name, value) for value in table[name]] for name in present]
    words = frozenset(
        i
        for i, name in enumerate(present)
        if i == 0 or all(isinstance(v, str) for v in table[name])
    )
    rows = [list(row) for row in zip(*columns, strict=True)]
    header = [names.get(name, display_name(name)) for name in present]
    return DataTable(caption, header, rows, note, collapsed, words)


def _cell(column: str, value: Any) -> str:
    if column in SHOWN_AS_P:
        return format_p_value(value)
    return display_name(value) if column in ("parameter", "name") else format_report_cell(value)


def only(table: Mapping[str, Sequence[Any]], name: str, value: Any) -> dict[str, list[Any]]:
    """The rows of a table with this value in a column; nothing if there are none."""
    places = [i for i, found in enumerate(table.get(name, ())) if found == value]
    return {key: [column[i] for i in places] for key, column in table.items()} if places else {}


CURVES = {"low": "linear, power law", "high": "logarithmic"}


def paper_tables(study: Findings) -> Iterator[DataTable]:
    """Table I of both performances, then Table II of both."""
    for made in (_table_1, _table_2):
        for performance in reversed(CATEGORIES):
            columns = [c for c in study.linearized if c.group.performance == performance]
            if columns:
                words = f"{performance} performance ({CURVES[performance]})"
                yield made(study, columns, words)


def _table_1(study: Findings, columns: Sequence[LinearizedGroup], words: str) -> DataTable:
    header = ["parameter"]
    for column in columns:
        header += [f"{_name(column)}: theta", "std. error"]
    rows = [
        ["subjects", *_facts(f"{c.theta.n_subjects} of {len(c.group.subjects)}" for c in columns)],
        [
            "mean log-likelihood",
            *_facts(format_report_cell(c.mean_log_likelihood) for c in columns),
        ],
    ]
    for j, name in enumerate(columns[0].theta.names):
        row = [name]
        for column in columns:
            row += [
                format_report_cell(column.theta.estimate[j]),
                format_report_cell(column.theta.standard_errors[j]),
            ]
        rows.append(row)
    rows.append(["Delta / nominal", *_facts(map(_ratio, columns))])
    return DataTable(f"Table I: theta, {words}", header, rows)


def _table_2(study: Findings, columns: Sequence[LinearizedGroup], words: str) -> DataTable:
    header = ["parameter"]
    for column in columns:
        header += [f"{_name(column)}: linearised", "exact", "low", "high"]
    rows = []
    exact = [_exact(study, column) for column in columns]
    for j, name in enumerate(columns[0].natural.names):
        row = [display_name(name)]
        for column, found in zip(columns, exact, strict=True):
            own = [p for p in found if p.name == name]
            row.append(format_report_cell(column.natural.estimate[j]))
            row += [format_report_cell(v) for p in own for v in (p.estimate, p.low, p.high)] or [
                "-"
            ] * 3
        rows.append(row)
    rows.append(["Delta / nominal", *(cell for c in columns for cell in (_ratio(c), "", "", ""))])
    note = (
        f"exact, low, high: the {estimator_text(study)} estimates of the same subjects, by random "
        "effects."
    )
    return DataTable(f"Table II: model parameters, {words}", header, rows, note)


def _exact(study: Findings, column: LinearizedGroup) -> tuple[ParameterEstimate, ...]:
    population = study.exact[column.group.label]["random-effects"]
    return to_natural_scale(population, study.plan.level, study.plan.model)


def _name(column: LinearizedGroup) -> str:
    return column.group.condition


def _ratio(column: LinearizedGroup) -> str:
    doubt = "" if column.valid else ", not small"
    return f"{format_report_cell(column.ratio)}{doubt}"


def _facts(cells: Iterator[str]) -> list[str]:
    """Cells with one number per group, each across the two columns of its group."""
    return [cell for fact in cells for cell in (fact, "")]


def drawings_named(drawn: Mapping[str, Drawing], *names: str) -> list[Block]:
    """The drawings of these names that there are."""
    return [drawn[name] for name in names if name in drawn]


def groups_section(study: Findings, drawn: Mapping[str, Drawing]) -> list[Block]:
    """Exact estimates of the groups."""
    if not study.groups or len(study.subjects) < 2:
        return []
    exact = only(study.columns("table-2"), "estimator", "exact")
    keep = ["performance", "condition", "n_subjects", "parameter", "estimate", "standard_error"]
    keep += ["low", "high", "status"]
    return [
        *drawings_named(drawn, "groups"),
        some_columns(
            "Random effects, by group" if len(study.groups) > 1 else "Random effects",
            exact,
            keep,
            note=_weighted(study),
            collapsed=len(exact["parameter"]) > MIN_COLLAPSED_ROWS,
        ),
        study_table(
            study,
            "populations",
            "By every rule",
            ("performance", "condition", "rule", *keep[2:], "i2"),
            collapsed=True,
            note="Positive parameters are pooled as logarithms and mapped back. I²: share of the "
            "variance that lies between subjects.",
        ),
    ]


def _weighted(study: Findings) -> str:
    """Explain why these means differ from those of the tests, and list subjects left out."""
    if not (study.group_tests.differences or study.paired_tests):
        return _left_out(study)
    said = (
        "Random effects weight subjects by how precise their estimates are. The tests of means "
        "above give every subject the same weight, so that their means differ from these. "
    )
    return f"{said}{_left_out(study)}".rstrip()


def _left_out(study: Findings) -> str:
    lost = {
        str(left) for rules in study.exact.values() for left in rules["random-effects"].left_out
    }
    return f"Left out: {format_list(in_natural_order(lost))}." if lost else ""


def linearized_section(study: Findings) -> list[Block]:
    """The paper's tables."""
    if not study.linearized:
        return []
    points = [f"{name}: {nominal_text(point)}" for name, point in study.plan.nominals.items()]
    worst = [column.group.label for column in study.linearized if not column.valid]
    doubt = (
        f"It is not small for {format_list(worst)}: the prior variance means nothing there."
        if worst
        else "It is small for every group."
    )
    return [
        Paragraph(f"Linearised about, by performance: {'; '.join(points)}."),
        *paper_tables(study),
        Paragraph(
            "Table I averages theta over the subjects of a group; Table II maps the average back, "
            "which is not the average of the maps. Delta / nominal tells how far the average lies "
            f"from the nominal point, and should be small beside 1. {doubt} The "
            f"{estimator_text(study)} estimates need no nominal point.{_own_scale(study)}"
        ),
        study_table(
            study,
            "linearized",
            "Linearised estimates of all subjects",
            _linearized_columns(study),
            collapsed=True,
        ),
    ]


def _own_scale(study: Findings) -> str:
    """Warn that linearised estimates hold the nominal length scale; empty if they do not."""
    points = study.plan.nominals.values()
    held = any(isinstance(p, RewardPrior) and p.length_scale is not None for p in points)
    if not held:
        return ""
    return (
        " The linearised ones hold the length scale of their nominal point, which may be another "
        "than that of the exact ones."
    )


def _linearized_columns(study: Findings) -> list[str]:
    fits = [fit.linearized for fit in study.fits.values() if fit.linearized is not None]
    keep = ["subject", "condition", "performance", "status"]
    for name in fits[0].names:
        keep += [name, f"{name}_standard_error"]
    return [*keep, "ratio", "valid", *fits[0].natural_names, "exact_log_likelihood"]


def tests_section(study: Findings) -> list[Block]:
    """Tests between groups of a performance and a condition."""
    if study.exact_tests is None and not study.linearized_tests:
        return []
    if not study.plan.performance:
        return []
    keep = ["first", "second", "name", "difference", "low", "high", "statistic"]
    keep += ["degrees_of_freedom", "p_value", "adjusted_p_value", "hedges_g"]
    tests, joint = study.columns("tests"), study.columns("joint-tests")
    blocks: list[Block] = []
    for estimator, caption in (
        ("exact", f"{capital(estimator_text(study))} estimates: Welch's tests"),
        ("linearised", "Linearised theta: the paper's Welch tests between conditions"),
    ):
        mine, both = only(tests, "estimator", estimator), only(joint, "estimator", estimator)
        if mine:
            blocks.append(some_columns(caption, mine, keep))
            blocks.append(_joint(f"{caption.split(':')[0]}: all parameters at once", both))
    return [
        *blocks,
        Paragraph(
            "Differences are first minus second, of logarithms where the name says so; Hedges' g "
            f"is the difference in standard deviations between subjects.{_optimistic(study)}"
        ),
    ]


def _optimistic(study: Findings) -> str:
    if not study.linearized_tests:
        return ""
    return (
        " The linearised tests treat the model's standard errors as if subjects did not differ "
        "otherwise, as the paper does: they are optimistic."
    )


def _joint(caption: str, table: Mapping[str, Sequence[Any]]) -> DataTable:
    columns = ("first", "second", "test", "statistic", "df_1", "df_2", *P_VALUES, "note")
    return some_columns(caption, table, columns, names={})


def forward_section(study: Findings, drawn: Mapping[str, Drawing]) -> list[Block]:
    """Section that compares subjects with simulated agents."""
    figures = drawings_named(
        drawn, *(f"forward-{one}" for one in ("reward", "regret", "likeliest", "distance"))
    )
    if not study.data.is_play:
        return []
    if not any(fit.simulated is not None for fit in study.fits.values()):
        return []
    ahead = study.how_simulated == "one step ahead"
    measure = "regret" if study.plan.performance else "reward"
    compared, shown_as = (
        ("likeliest", "likeliest option") if ahead else (measure, f"final {measure}")
    )
    table = study.columns("forward")
    rows = []
    for group in study.groups:
        mine = [
            i
            for i in range(len(table["measure"]))
            if table["condition"][i] == group.condition
            and (not study.plan.performance or table["performance"][i] == group.performance)
        ]
        compared_rows = [
            i for i in mine if table["measure"][i] == compared and table["n_subjects"][i]
        ]
        steps = [i for i in mine if table["measure"][i] == "distance" and table["n_subjects"][i]]
        if compared_rows:
            last = compared_rows if ahead else compared_rows[-1:]
            cells: list[Any] = [group.label, max(table["n_subjects"][i] for i in last)]
            cells += [_mean(table["people"], last), _mean(table["simulated"], last)]
            cells += [_mean(table["people"], steps), _mean(table["simulated"], steps)]
            rows.append([format_report_cell(cell) for cell in cells])
    who = "expected" if ahead else "agents"
    step = "switch rate" if Declared(study.plan.model).locations is None else "mean step"
    header = ("group", "subjects", f"{shown_as}: people", who, f"{step}: people", who)
    caption = "People, and predictions one step ahead" if ahead else "People and agents"
    note = f"Beside the people: {simulation_text(study)}.{not_simulated(study)}"
    return [*figures, DataTable(caption, header, rows, note)]


def _mean(values: Sequence[float], places: Sequence[int]) -> float:
    return sum(values[i] for i in places) / len(places) if places else float("nan")
