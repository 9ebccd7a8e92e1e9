"""Report section on differences between the user's groups, and on subjects left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penchant.errors import PythonExpression, mark_argument, mark_weak_prior_argument
from penchant.report.group_sentences import plain_name, population_decides
from penchant.report.page import Block, DataTable, Paragraph
from penchant.report.study_groups import MIN_COLLAPSED_ROWS, some_columns
from penchant.report.study_sentences import format_report_cell
from penchant.result_tables import format_p_value
from penchant.studies.comparisons import PairedDifference
from penchant.studies.findings import Findings
from penchant.studies.groups import LOG, GroupDifference, OverallTest

RANKS = (
    "Rank tests keep subjects without a finite estimate: an estimate at an end of the "
    "parameter's range (a temperature of 0, where choices are separated) ranks at that end, any "
    "other one somewhere in its interval; subjects with overlapping ranges are tied. A subject "
    "whose parameter may have any value is left out of rank tests, too."
)
ON_RATIOS = (
    "Positive parameters are compared as logarithms: their means are geometric, and the "
    "difference, exponentiated, is a ratio."
)

TESTED_BELOW = (
    "Differences are tested by the population model, below: one test of each difference, which "
    "includes all subjects. Here are means of the subjects' own estimates, without those who have "
    "no finite estimate; tests of these are in the study's tables."
)


def comparison_section(study: Findings, command: str) -> list[Block]:
    """Section that compares groups of different people."""
    tests = study.group_tests
    if not tests.differences:
        return []
    percent = f"{100 * study.plan.level:g} %"
    blocks = _left_out_table(study)
    described = f"Differences are first minus second{_ratios(tests.differences)}"
    decided = {d.column for d in tests.differences if population_decides(study, (d.column, ""))}
    for column in dict.fromkeys(d.column for d in tests.differences):
        mine = [d for d in tests.differences if d.column == column]
        if column in decided:
            blocks.append(_difference_table(column, mine, percent, tested=False))
            continue
        overall = [test for test in tests.overall if test.column == column]
        blocks += [_overall_table(column, overall)] if overall else []
        blocks += [_difference_table(column, mine, percent), _tests_table(column, mine, percent)]
    if decided == {d.column for d in tests.differences}:
        return [Paragraph(TESTED_BELOW), *blocks, Paragraph(described)]
    return [
        *([Paragraph(TESTED_BELOW)] if decided else []),
        *blocks,
        Paragraph(
            f"{described} Welch's test does not assume equal variances; p-values are adjusted by "
            "Holm's method over all parameters and pairs, separately for tests of means and rank "
            "tests. Hedges' g is "
            "the difference in standard deviations between subjects."
        ),
        Paragraph(
            f"{_ranks(study)}The last columns are of Mann-Whitney's rank test: how many subjects "
            "of each group it ranks, the probability that a subject of the first group is higher "
            "than one of the second, p and adjusted p."
        ),
        *_with_prior(study, command),
    ]


def paired_section(study: Findings, command: str) -> list[Block]:
    """Section that compares conditions within subjects."""
    if not study.paired_tests:
        return []
    alone = not study.group_tests.differences
    percent = f"{100 * study.plan.level:g} %"
    if all(population_decides(study, (d.column, "")) for d in study.paired_tests):
        described = (
            "Differences are within subjects with a finite estimate in both conditions, first "
            f"minus second{_ratios(study.paired_tests)}"
        )
        table = _paired_table(study, percent, tested=False)
        return [Paragraph(TESTED_BELOW), table, Paragraph(described)]
    return [
        *(_left_out_table(study) if alone else []),
        _paired_table(study, percent),
        _paired_tests_table(study, percent),
        Paragraph(
            "Differences are within subjects with a finite estimate in both conditions, "
            f"first minus second{_ratios(study.paired_tests)} p-values are adjusted by Holm's "
            "method over all paired tests. Cohen's dz is the mean difference in standard "
            "deviations of the differences. Wilcoxon's signed-rank test does not assume that "
            "differences are normally distributed."
        ),
        *([Paragraph(RANKS)] if alone and _ranks(study) else []),
        *(_with_prior(study, command) if alone else []),
    ]


def _ratios(tests: Sequence[GroupDifference | PairedDifference]) -> str:
    """Explain that positive parameters are compared as ratios; empty if there are none."""
    log = any(test.name.startswith(LOG) for test in tests)
    return f", or first over second. {ON_RATIOS}" if log else "."


def _ranks(study: Findings) -> str:
    """Explain how subjects without a finite estimate rank; empty if there are none."""
    return f"{RANKS} " if any(row.n_left_out for row in study.left_out) else ""


def _left_out_table(study: Findings) -> list[Block]:
    if not any(row.n_left_out for row in study.left_out):
        return []
    table = study.columns("left-out")
    keep = ["column", *(["stratum"] if any(table["stratum"]) else []), "group"]
    keep += ["n_subjects", "n_left_out", "reasons", "test", "p_value"]
    names = {"n_subjects": "subjects", "n_left_out": "left out of means", "reasons": "why"}
    names |= {"test": "test of the shares", "p_value": "p", "stratum": "in"}
    note = (
        "Subjects without a finite estimate are left out: means and tests of means describe the "
        "other subjects. The test asks whether groups differ in the share of subjects left out."
    )
    caption = "Subjects left out of tests of means"
    return [some_columns(caption, table, keep, names=names, note=note)]


def _difference_table(
    column: str, tests: Sequence[GroupDifference], percent: str, *, tested: bool = True
) -> DataTable:
    strata = any(d.stratum for d in tests)
    header = ["parameter", *(["in"] if strata else []), "first", "second"]
    header += ["n", "first mean", "second mean", "compared as", "value", f"{percent} interval"]
    header += ["adjusted p"] if tested else []
    rows = []
    for d in tests:
        row = [plain_name(d.name), *([d.stratum] if strata else []), d.first, d.second]
        row += [
            f"{d.first_n}, {d.second_n}",
            format_report_cell(d.first_mean),
            format_report_cell(d.second_mean),
        ]
        row += _effect_cells(d)
        rows.append([*row, format_p_value(d.adjusted_p_value)] if tested else row)
    words = {header.index(name) for name in ("parameter", "first", "second", "compared as")}
    words |= {1} if strata else set()
    caption = f"{column}: every pair of groups, parameter by parameter"
    return DataTable(
        caption,
        header,
        rows,
        collapsed=len(rows) > MIN_COLLAPSED_ROWS,
        text_columns=frozenset(words),
    )


def _tests_table(column: str, tests: Sequence[GroupDifference], percent: str) -> DataTable:
    strata = any(d.stratum for d in tests)
    header = ["parameter", *(["in"] if strata else []), "first", "second", "Hedges' g"]
    header += [f"{percent} interval", "t (df)", "p", "ranked", "first higher", "rank p", "adjusted"]
    rows = []
    for d in tests:
        row = [plain_name(d.name), *([d.stratum] if strata else []), d.first, d.second]
        row += [format_report_cell(d.hedges_g, 3), _interval(d.hedges_g_low, d.hedges_g_high, 3)]
        row += [_t(d), format_p_value(d.p_value)]
        row += [f"{d.first_ranked}, {d.second_ranked}", format_report_cell(d.superiority, 2)]
        row += [format_p_value(d.rank_p_value), format_p_value(d.adjusted_rank_p_value)]
        rows.append(row)
    words = frozenset(range(3 + strata))
    caption = f"{column}: effect sizes and tests"
    return DataTable(
        caption, header, rows, collapsed=len(rows) > MIN_COLLAPSED_ROWS, text_columns=words
    )


def _t(d: GroupDifference | PairedDifference) -> str:
    if np.isnan(d.statistic):
        return "-"
    return f"{format_report_cell(d.statistic, 3)} ({format_report_cell(d.degrees_of_freedom, 3)})"


def _interval(low: float, high: float, digits: int = 4) -> str:
    return (
        "-"
        if np.isnan([low, high]).all()
        else f"{format_report_cell(low, digits)} to {format_report_cell(high, digits)}"
    )


def _effect_cells(d: GroupDifference | PairedDifference) -> list[str]:
    kind, (value, low, high) = "difference", (d.difference, d.low, d.high)
    if d.name.startswith(LOG):
        with np.errstate(over="ignore"):
            kind, (value, low, high) = "ratio", map(float, np.exp([value, low, high]))
    return [kind, format_report_cell(value), _interval(low, high)]


def _overall_table(column: str, tests: Sequence[OverallTest]) -> DataTable:
    strata = any(test.stratum for test in tests)
    header = ["parameter", *(["in"] if strata else []), "groups", "subjects", "Welch's F", "df"]
    header += ["df of F", "p", "adjusted p", "ranked", "Kruskal-Wallis", "rank p"]
    header += ["adjusted rank p"]
    rows = []
    for t in tests:
        row = [plain_name(t.name), *([t.stratum] if strata else [])]
        row += [str(t.n_groups), str(t.n_subjects)]
        row += [format_report_cell(v) for v in (t.statistic, t.df_1, t.df_2)]
        row += [format_p_value(t.p_value), format_p_value(t.adjusted_p_value), str(t.n_ranked)]
        row += [
            format_report_cell(t.rank_statistic),
            format_p_value(t.rank_p_value),
            format_p_value(t.adjusted_rank_p_value),
        ]
        rows.append(row)
    words = frozenset((0, 1)) if strata else frozenset((0,))
    return DataTable(f"{column}: all groups at once", header, rows, text_columns=words)


def _paired_table(study: Findings, percent: str, *, tested: bool = True) -> DataTable:
    tests = study.paired_tests
    strata = any(d.stratum for d in tests)
    header = ["first", "second", "parameter", *(["in"] if strata else []), "pairs"]
    header += ["first mean", "second mean", "compared as", "value", f"{percent} interval"]
    header += ["adjusted p"] if tested else []
    rows = []
    for d in tests:
        row = [d.first, d.second, plain_name(d.name), *([d.stratum] if strata else [])]
        row += [
            f"{d.n_pairs} of {d.n_both}",
            format_report_cell(d.first_mean),
            format_report_cell(d.second_mean),
        ]
        row += _effect_cells(d)
        rows.append([*row, format_p_value(d.adjusted_p_value)] if tested else row)
    words = {0, 1, 2, header.index("compared as")} | ({3} if strata else set())
    caption = "Conditions within subjects" + (": paired t tests" if tested else "")
    return DataTable(caption, header, rows, text_columns=frozenset(words))


def _paired_tests_table(study: Findings, percent: str) -> DataTable:
    strata = any(d.stratum for d in study.paired_tests)
    header = ["first", "second", "parameter", *(["in"] if strata else []), "Cohen's dz"]
    header += [f"{percent} interval", "t (df)", "p", "ranked", "Wilcoxon p", "adjusted"]
    rows = []
    for d in study.paired_tests:
        row = [d.first, d.second, plain_name(d.name), *([d.stratum] if strata else [])]
        row += [format_report_cell(d.cohens_dz, 3), _interval(d.cohens_dz_low, d.cohens_dz_high, 3)]
        row += [_t(d), format_p_value(d.p_value)]
        row += [str(d.n_ranked), format_p_value(d.wilcoxon_p_value)]
        rows.append([*row, format_p_value(d.adjusted_wilcoxon_p_value)])
    caption = "Conditions within subjects: effect sizes and rank tests"
    return DataTable(caption, header, rows, text_columns=frozenset(range(3 + strata)))


def _with_prior(study: Findings, command: str) -> list[Block]:
    """Advice on a prior that gives every subject an estimate; empty if all have one."""
    if study.plan.parameter_prior is not None or not any(r.n_left_out for r in study.left_out):
        return []
    weaker, weak = (
        mark_argument("parameter_prior", PythonExpression("ScaledPrior(0.03)")),
        mark_weak_prior_argument(),
    )
    said = (
        "A weak prior on the weights gives every subject an estimate, so that nobody is left out. "
        f"It draws very consistent subjects somewhat towards chance ({weaker} less than {weak}): "
        "compare both reports."
    )
    words = "penchant.study(data, model, parameter_prior=penchant.ScaledPrior())"
    if command.startswith("penchant study "):
        before, output, after = command.rpartition(" --output ")
        words = f"{before or command} --prior weak{output}{after if before else ''}"
    return [Paragraph(said), Paragraph(words, code=True)]
