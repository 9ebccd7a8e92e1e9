"""Sentences of the report on differences between groups and on subjects left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penchant.errors import MarkedText, format_list, mark_prior_argument, mark_weak_prior_argument
from penchant.figures.label_text import display_name
from penchant.population.hierarchy.contrasts import Contrast
from penchant.result_tables import format_number, format_p_value
from penchant.studies.comparisons import PairedDifference
from penchant.studies.findings import Findings
from penchant.studies.groups import LOG, GroupDifference, LeftOutGroup, OverallTest
from penchant.tables.labels import NUMBER

SIGNIFICANT = 0.05
Key = tuple[str, str]


def answers(study: Findings) -> list[MarkedText]:
    """Sentences on who is left out and whether groups differ, for each column of conditions."""
    sentences: list[str] = []
    explained = False  # once is enough
    for key in dict.fromkeys((row.column, row.stratum) for row in study.left_out):
        rows = [row for row in study.left_out if (row.column, row.stratum) == key]
        lost = any(row.n_left_out for row in rows)
        if population_decides(study, key):
            sentences += _population_answer(study, key)
            continue
        left_out = [_left_out(study, key, rows, not explained)] if lost or key[0] else []
        sentences += [*left_out, *_answer(study, key)]
        explained = explained or lost
    compared = study.group_tests.differences or study.paired_tests
    if study.everybody is None and study.plan.parameter_prior is not None and compared:
        sentences.append(
            f"No population model is fitted with {mark_prior_argument()}, as the population would "
            "be a second prior: leave it out to compare groups by the population model."
        )
    return list(map(MarkedText, sentences))


def group_name(column: str, label: str) -> str:
    """Name of a group in a sentence; a label that is a number gets its column's name.

    >>> group_name("group", "patient"), group_name("dose", "2")
    ('patient', 'dose 2')
    """
    return f"{column} {label}" if column and NUMBER.match(label) else label


def plain_name(name: str) -> str:
    """Name of a parameter for readers, without "log".

    >>> plain_name("log learning_rate")
    'learning rate'
    """
    return display_name(name.removeprefix(LOG))


def p_text(value: float) -> str:
    """A p-value behind the letter p, with its sign.

    >>> p_text(0.0301), p_text(1e-9)
    ('= 0.030', '< 0.001')
    """
    formatted = format_p_value(value)
    return f"< {formatted[1:]}" if formatted.startswith("<") else f"= {formatted}"


# -- who is left out -------------------------------------------------------------------------------


def _left_out(study: Findings, key: Key, rows: Sequence[LeftOutGroup], explain: bool) -> str:
    column, lost = key[0], sum(row.n_left_out for row in rows)
    everyone = sum(row.n_subjects for row in rows)
    of = "the tests of means" if column else "all averages"
    what = "subjects" if not _is_within(study, key) else "fits, one of each subject and condition"
    if not lost:
        sizes = ", ".join(f"{group_name(column, r.group)} {r.n_subjects}" for r in rows)
        return f"{of[0].upper()}{of[1:]}{_column_text(key)} have all {everyone} {what} ({sizes})."
    some = [row for row in rows if row.n_left_out]
    parts = "; ".join(map(_left_out_of, some)) if column else rows[0].reasons
    parts += "; no others" if len(some) < len(rows) else ""
    why = (
        " Subjects without a finite estimate enter no mean, and the most consistent are often "
        "among them: means describe the other subjects only."
    )
    head = f"Left out of {of}{_column_text(key)}: {lost} of {everyone} {what} ({parts})."
    if not explain:
        return f"{head}{_shares(rows)}"
    return f"{head}{why}{_shares(rows)} {_rank_test_sentence(study)}".rstrip()


def _left_out_of(row: LeftOutGroup) -> str:
    why = f": {row.reasons}" if row.reasons else ""
    return f"{group_name(row.column, row.group)} {row.n_left_out} of {row.n_subjects}{why}"


def _shares(rows: Sequence[LeftOutGroup]) -> str:
    """Say whether the shares of subjects left out differ between groups."""
    if not rows[0].test:
        return ""
    differ = "differ" if rows[0].p_value < SIGNIFICANT else "do not differ clearly"
    return (
        f" Shares of subjects left out {differ} between groups ({rows[0].test}, "
        f"p {p_text(rows[0].p_value)})."
    )


def _rank_test_sentence(study: Findings) -> str:
    tests = study.group_tests.differences or study.paired_tests
    ranks = "Rank tests keep every subject whose choices tell a rank; " if tests else ""
    if study.plan.parameter_prior is not None:
        return f"{ranks[:-2]}." if ranks else ""
    prior = f"{mark_weak_prior_argument()} gives every subject an estimate."
    return f"{ranks}{prior}"


# -- whether groups differ -------------------------------------------------------------------------


def _answer(study: Findings, key: Key) -> list[str]:
    overall = _tests_of(study.group_tests.overall, key)
    differences = _tests_of(study.group_tests.differences, key)
    pairs = _tests_of(study.paired_tests, key)
    labels = [row.group for row in study.left_out if (row.column, row.stratum) == key]
    named = [group_name(key[0], label) for label in labels]
    percent = f"{100 * study.plan.level:g} %"
    if overall:
        lines = [_overall_line(test) for test in overall]
        who = f"the {len(named)} groups"
        return [_headline(overall, who, key), *lines, *_clear_pairs(differences, percent)]
    if differences:
        lines = [_difference_line(d, percent) for d in differences]
        return [_headline(differences, " and ".join(named), key), *lines]
    if len(labels) == 2:
        within = [_paired_line(d, percent) for d in pairs]
        head = _headline(pairs, " and ".join(named), key, " within subjects")
        return [head, *within] if pairs else []
    return [_paired_headline(pairs, named, key), *_clear_pairs(pairs, percent)] if pairs else []


def population_decides(study: Findings, key: Key) -> bool:
    """Whether the population model compares these groups: it is the one test of each difference.

    Tests of the subjects' own estimates, which leave people without a finite estimate out, stay in
    the study's tables.
    """
    found = study.everybody
    return found is not None and not key[1] and any(c.factor == key[0] for c in found.contrasts)


def _population_answer(study: Findings, key: Key) -> list[str]:
    """The answer of the population model: a sentence, then every difference."""
    found = study.everybody
    assert found is not None
    percent = f"{100 * study.plan.level:g} %"
    clear: dict[str, list[str]] = {}
    lines = []
    for contrast, adjusted in zip(found.contrasts, found.adjusted, strict=True):
        if contrast.factor != key[0]:
            continue
        first, second = (group_name(key[0], label) for label in contrast.words.split(" - "))
        for a, name in enumerate(contrast.names):
            own = clear.setdefault(display_name(name), [])
            own += [f"{first} and {second}"] if adjusted[a] < SIGNIFICANT else []
            lines.append(
                f"{display_name(name)}: "
                f"{_link_effect(contrast, a, first, second)} ({percent} interval "
                f"{_link_ends(contrast, a)}), p {p_text(adjusted[a])}."
            )
    several = len(found.groups[key[0]]) > 2
    yes = [
        f"{name}{f' ({format_list(own)})' if several else ''}" for name, own in clear.items() if own
    ]
    no = [name for name, own in clear.items() if not own]
    parts = [f"yes, in {', '.join(yes)}"] if yes else []
    parts += [f"no difference is shown in {', '.join(no)}"] if no else []
    answer = "; ".join(parts)
    named = [group_name(key[0], label) for label in found.groups[key[0]]]
    who = f"{', '.join(named[:-1])} and {named[-1]}"
    within = " within subjects" if key[0] in found.within else ""
    return [
        f"Do {who} differ{within}{_column_text(key)}? {answer[0].upper()}{answer[1:]}. This is by "
        f"the "
        f"population model, which includes all {found.fit.n_subjects} subjects; p-values are "
        "adjusted by Holm's method over all of its differences.",
        *lines,
    ]


def _link_effect(contrast: Contrast, a: int, first: str, second: str) -> str:
    """A difference on its link; as a ratio where logarithms are compared."""
    value = float(contrast.difference[a])
    if contrast.links[a] == "log":
        return f"{first} / {second} = {format_number(math.exp(value), 3)}"
    scale = "" if contrast.links[a] == "identity" else f" on the {contrast.links[a]} scale"
    return f"{first} - {second} = {format_number(value, 3)}{scale}"


def _link_ends(contrast: Contrast, a: int) -> str:
    ends = [float(contrast.low[a]), float(contrast.high[a])]
    if contrast.links[a] == "log":
        with np.errstate(over="ignore"):
            ends = np.exp(ends).tolist()
    return f"{format_number(ends[0], 3)} to {format_number(ends[1], 3)}"


def _tests_of(tests: Sequence[Any], key: Key) -> list[Any]:
    return [test for test in tests if (test.column, test.stratum) == key]


def _is_within(study: Findings, key: Key) -> bool:
    return bool(_tests_of(study.paired_tests, key))


def _column_text(key: Key) -> str:
    return f" ({key[0]}; {key[1]})" if key[1] else (f" ({key[0]})" if key[0] else "")


def _headline(tests: Sequence[Any], who: str, key: Key, how: str = "") -> str:
    """The answer in a sentence: in which parameters, and by which tests."""
    found: dict[str, list[str]] = {"yes": [], "means": [], "ranks": [], "no": [], "none": []}
    for test in tests:
        found[_verdict(test)].append(plain_name(test.name))
    parts = [
        words.format(", ".join(found[verdict]))
        for verdict, words in (
            ("yes", "yes, in {}"),
            ("means", "in {} by means, but not by rank"),
            ("ranks", "in {} by rank, but not by means"),
            ("no", "no difference is shown in {}"),
            ("none", "no test could be done of {}, as too few subjects have estimates"),
        )
        if found[verdict]
    ]
    answer = "; ".join(parts)
    return f"Do {who} differ{how}{_column_text(key)}? {answer[0].upper()}{answer[1:]}."


def _verdict(test: Any) -> str:
    mean, rank = test.adjusted_p_value, _rank_p(test)
    if np.isnan(mean) and np.isnan(rank):
        return "none"
    if mean < SIGNIFICANT:
        return "means" if rank >= SIGNIFICANT else "yes"
    return "ranks" if rank < SIGNIFICANT else "no"


def _rank_p(test: Any) -> float:
    if isinstance(test, PairedDifference):
        return test.adjusted_wilcoxon_p_value
    return float(test.adjusted_rank_p_value)


def _difference_line(d: GroupDifference, percent: str) -> str:
    first, second = (group_name(d.column, label) for label in (d.first, d.second))
    ranked = (
        f"rank test of {d.first_ranked} and {d.second_ranked}: p {p_text(d.rank_p_value)}, "
        f"adjusted {format_p_value(d.adjusted_rank_p_value)}, probability of a higher rank in "
        f"{first} {format_number(d.superiority, 2)}"
    )
    if np.isnan(d.rank_p_value):
        ranked = "no rank test, as too few subjects have a rank"
    if np.isnan(d.p_value):
        few = f"no test of means, as only {d.first_n} and {d.second_n} subjects have estimates"
        return f"{plain_name(d.name)}: {few}; {ranked}."
    return (
        f"{plain_name(d.name)}: {first} {format_number(d.first_mean, 3)}, {second} "
        f"{format_number(d.second_mean, 3)} ({_means(d.name)} of {d.first_n} and {d.second_n}); "
        f"{_effect(d, first, second, percent)}, Hedges' g {format_number(d.hedges_g, 2)} "
        f"({format_number(d.hedges_g_low, 2)} to {format_number(d.hedges_g_high, 2)}), Welch's "
        f"t({format_number(d.degrees_of_freedom, 3)}) = {format_number(d.statistic, 3)}, "
        f"p {p_text(d.p_value)}, adjusted {format_p_value(d.adjusted_p_value)}; {ranked}."
    )


def _means(name: str) -> str:
    return "geometric means" if name.startswith(LOG) else "means"


def _effect(d: Any, first: str, second: str, percent: str) -> str:
    """The difference with its interval; as a ratio where logarithms are compared."""
    values = [d.difference, d.low, d.high]
    sign = "-"
    if d.name.startswith(LOG):
        with np.errstate(over="ignore"):
            values, sign = [float(np.exp(v)) for v in values], "/"
    value, low, high = (format_number(v, 3) for v in values)
    return f"{first} {sign} {second} = {value} ({percent} interval {low} to {high})"


def _paired_line(d: PairedDifference, percent: str) -> str:
    first, second = (group_name(d.column, label) for label in (d.first, d.second))
    ranked = (
        f"signed-rank test of {d.n_ranked}: p {p_text(d.wilcoxon_p_value)}, adjusted "
        f"{format_p_value(d.adjusted_wilcoxon_p_value)}"
    )
    if np.isnan(d.wilcoxon_p_value):
        ranked = "no signed-rank test, as too few subjects have a rank"
    if np.isnan(d.p_value):
        few = f"no test of means, as only {d.n_pairs} of {d.n_both} subjects have both estimates"
        return f"{plain_name(d.name)}: {few}; {ranked}."
    return (
        f"{plain_name(d.name)}: {first} {format_number(d.first_mean, 3)}, {second} "
        f"{format_number(d.second_mean, 3)} ({_means(d.name)} of {d.n_pairs} of {d.n_both} pairs); "
        f"{_effect(d, first, second, percent)}, Cohen's dz {format_number(d.cohens_dz, 2)} "
        f"({format_number(d.cohens_dz_low, 2)} to {format_number(d.cohens_dz_high, 2)}), paired "
        f"t({format_number(d.degrees_of_freedom, 3)}) = {format_number(d.statistic, 3)}, "
        f"p {p_text(d.p_value)}, adjusted {format_p_value(d.adjusted_p_value)}; {ranked}."
    )


def _overall_line(test: OverallTest) -> str:
    ranked = (
        f"Kruskal-Wallis test of {test.n_ranked} subjects: p {p_text(test.rank_p_value)}, "
        f"adjusted {format_p_value(test.adjusted_rank_p_value)}"
    )
    if np.isnan(test.p_value):
        few = "no test of means, as too few subjects have estimates"
        return f"{plain_name(test.name)}: {few}; {ranked}."
    return (
        f"{plain_name(test.name)}: Welch's F({test.df_1:g}, {format_number(test.df_2, 3)}) = "
        f"{format_number(test.statistic, 3)} over {test.n_subjects} subjects, p "
        f"{p_text(test.p_value)}, adjusted {format_p_value(test.adjusted_p_value)}; {ranked}."
    )


def _clear_pairs(tests: Sequence[Any], percent: str) -> list[str]:
    """List the pairs whose means differ after adjustment."""
    done = [d for d in tests if not np.isnan(d.p_value)]
    clear = [d for d in done if d.adjusted_p_value < SIGNIFICANT]
    named = [
        f"{plain_name(d.name)}, "
        + _effect(d, group_name(d.column, d.first), group_name(d.column, d.second), percent)
        + f" (p {p_text(d.adjusted_p_value)})"
        for d in clear
    ]
    found = f"{len(clear)} of {len(done)} have p < 0.05 after Holm's adjustment"
    return [f"Pairs of groups: {found}{': ' + '; '.join(named) if clear else ''}."]


def _paired_headline(tests: Sequence[Any], named: Sequence[str], key: Key) -> str:
    """Say in which parameters any pair of three or more conditions within subjects differs."""
    least: dict[str, Any] = {}
    for test in sorted(tests, key=lambda t: np.nan_to_num(t.adjusted_p_value, nan=2.0)):
        least.setdefault(test.name, test)
    in_order = [least[name] for name in dict.fromkeys(test.name for test in tests)]
    return _headline(
        in_order, f"{len(named)} conditions ({format_list(named)})", key, " in any pair"
    )
