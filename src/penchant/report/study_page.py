"""The report of a study: the page, the data, the subjects, and whether the groups differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._version import __version__
from penchant.errors import listing
from penchant.figures.letters import attribute_words, in_words
from penchant.models.model import Declared
from penchant.output import counted, p_value
from penchant.report.page import Block, DataTable, Drawing, Listing, Paragraph, Section, page
from penchant.report.study_answers import plain_name
from penchant.report.study_everybody import population_section
from penchant.report.study_groups import (
    MANY,
    forward_section,
    groups_section,
    linearized_section,
    some_columns,
    some_drawn,
    study_table,
    tests_section,
)
from penchant.report.study_words import (
    asked,
    capital,
    exact_words,
    for_reader,
    in_short,
    interval_words,
    methods,
    shown,
)
from penchant.studies.findings import NOT_CLASSIFIED, Findings
from penchant.studies.groups import LOG
from penchant.wording import either, profile_intervals, weak_prior

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


def comparison_section(study: Findings, command: str) -> list[Block]:
    """Groups of different people, compared directly."""
    tests = study.group_tests
    if not tests.differences:
        return []
    percent = f"{100 * study.plan.level:g} %"
    blocks = _left_out_table(study)
    for column in dict.fromkeys(d.column for d in tests.differences):
        overall = [test for test in tests.overall if test.column == column]
        blocks += [_overall_table(column, overall)] if overall else []
        mine = [d for d in tests.differences if d.column == column]
        blocks += [_difference_table(column, mine, percent), _tests_table(column, mine, percent)]
    return [
        *blocks,
        Paragraph(
            f"Differences are first minus second{_ratios(tests.differences)} Welch's test "
            "does not assume equal variances; p-values are adjusted by Holm's method over all "
            "parameters and pairs, separately for tests of means and rank tests. Hedges' g is "
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
    """Conditions that the same subjects were in, compared within subjects."""
    if not study.paired_tests:
        return []
    alone = not study.group_tests.differences
    percent = f"{100 * study.plan.level:g} %"
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


def _ratios(tests: Sequence[Any]) -> str:
    """How positive parameters are compared, where there are some."""
    log = any(test.name.startswith(LOG) for test in tests)
    return f", or first over second. {ON_RATIOS}" if log else "."


def _ranks(study: Findings) -> str:
    """How people without a finite estimate rank, where there are some."""
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


def _difference_table(column: str, tests: Sequence[Any], percent: str) -> DataTable:
    strata = any(d.stratum for d in tests)
    header = ["parameter", *(["in"] if strata else []), "first", "second"]
    header += ["n", "first mean", "second mean", "compared as", "value", f"{percent} interval"]
    header += ["adjusted p"]
    rows = []
    for d in tests:
        row = [plain_name(d.name), *([d.stratum] if strata else []), d.first, d.second]
        row += [f"{d.first_n}, {d.second_n}", shown(d.first_mean), shown(d.second_mean)]
        rows.append([*row, *_effect_cells(d), p_value(d.adjusted_p_value)])
    words = {header.index(name) for name in ("parameter", "first", "second", "compared as")}
    words |= {1} if strata else set()
    caption = f"{column}: every pair of groups, parameter by parameter"
    return DataTable(caption, header, rows, folded=len(rows) > MANY, words=frozenset(words))


def _tests_table(column: str, tests: Sequence[Any], percent: str) -> DataTable:
    strata = any(d.stratum for d in tests)
    header = ["parameter", *(["in"] if strata else []), "first", "second", "Hedges' g"]
    header += [f"{percent} interval", "t (df)", "p", "ranked", "first higher", "rank p", "adjusted"]
    rows = []
    for d in tests:
        row = [plain_name(d.name), *([d.stratum] if strata else []), d.first, d.second]
        row += [shown(d.hedges_g, 3), _interval(d.hedges_g_low, d.hedges_g_high, 3)]
        row += [_t(d), p_value(d.p_value)]
        row += [f"{d.first_ranked}, {d.second_ranked}", shown(d.superiority, 2)]
        row += [p_value(d.rank_p_value), p_value(d.adjusted_rank_p_value)]
        rows.append(row)
    words = frozenset(range(3 + strata))
    caption = f"{column}: effect sizes and tests"
    return DataTable(caption, header, rows, folded=len(rows) > MANY, words=words)


def _t(d: Any) -> str:
    if np.isnan(d.statistic):
        return "-"
    return f"{shown(d.statistic, 3)} ({shown(d.degrees_of_freedom, 3)})"


def _interval(low: float, high: float, digits: int = 4) -> str:
    return "-" if np.isnan([low, high]).all() else f"{shown(low, digits)} to {shown(high, digits)}"


def _effect_cells(d: Any) -> list[str]:
    kind, (value, low, high) = "difference", (d.difference, d.low, d.high)
    if d.name.startswith(LOG):
        with np.errstate(over="ignore"):
            kind, (value, low, high) = "ratio", map(float, np.exp([value, low, high]))
    return [kind, shown(value), _interval(low, high)]


def _overall_table(column: str, tests: Sequence[Any]) -> DataTable:
    strata = any(test.stratum for test in tests)
    header = ["parameter", *(["in"] if strata else []), "groups", "subjects", "Welch's F", "df"]
    header += ["df of F", "p", "adjusted p", "ranked", "Kruskal-Wallis", "rank p"]
    header += ["adjusted rank p"]
    rows = []
    for t in tests:
        row = [plain_name(t.name), *([t.stratum] if strata else [])]
        row += [str(t.n_groups), str(t.n_subjects)]
        row += [shown(v) for v in (t.statistic, t.df_1, t.df_2)]
        row += [p_value(t.p_value), p_value(t.adjusted_p_value), str(t.n_ranked)]
        row += [shown(t.rank_statistic), p_value(t.rank_p_value), p_value(t.adjusted_rank_p_value)]
        rows.append(row)
    words = frozenset((0, 1)) if strata else frozenset((0,))
    return DataTable(f"{column}: all groups at once", header, rows, words=words)


def _paired_table(study: Findings, percent: str) -> DataTable:
    tests = study.paired_tests
    strata = any(d.stratum for d in tests)
    header = ["first", "second", "parameter", *(["in"] if strata else []), "pairs"]
    header += ["first mean", "second mean", "compared as", "value", f"{percent} interval"]
    header += ["adjusted p"]
    rows = []
    for d in tests:
        row = [d.first, d.second, plain_name(d.name), *([d.stratum] if strata else [])]
        row += [f"{d.n_pairs} of {d.n_both}", shown(d.first_mean), shown(d.second_mean)]
        rows.append([*row, *_effect_cells(d), p_value(d.adjusted_p_value)])
    words = {0, 1, 2, header.index("compared as")} | ({3} if strata else set())
    caption = "Conditions within subjects: paired t tests"
    return DataTable(caption, header, rows, words=frozenset(words))


def _paired_tests_table(study: Findings, percent: str) -> DataTable:
    strata = any(d.stratum for d in study.paired_tests)
    header = ["first", "second", "parameter", *(["in"] if strata else []), "Cohen's dz"]
    header += [f"{percent} interval", "t (df)", "p", "ranked", "Wilcoxon p", "adjusted"]
    rows = []
    for d in study.paired_tests:
        row = [d.first, d.second, plain_name(d.name), *([d.stratum] if strata else [])]
        row += [shown(d.cohens_dz, 3), _interval(d.cohens_dz_low, d.cohens_dz_high, 3)]
        row += [_t(d), p_value(d.p_value)]
        row += [str(d.n_ranked), p_value(d.wilcoxon_p_value)]
        rows.append([*row, p_value(d.adjusted_wilcoxon_p_value)])
    caption = "Conditions within subjects: effect sizes and rank tests"
    return DataTable(caption, header, rows, words=frozenset(range(3 + strata)))


def _with_prior(study: Findings, command: str) -> list[Block]:
    """The command that gives everybody an estimate, where somebody has none."""
    if study.plan.parameter_prior is not None or not any(r.n_left_out for r in study.left_out):
        return []
    weaker, weak = either("ScaledPrior(0.03)", "--prior weak:0.03"), weak_prior()
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


MEANINGS = {
    "decision_noise": "how random choices are, in the units of rewards; 0 is always the best guess",
    "prior_mean": "the reward that was expected of every option before play",
    "prior_variance": "how uncertain that expectation was; a large one makes people explore",
    "length_scale": "how far apart two options may lie and still be thought alike",
    "implied_noise_sd": "the noise of rewards that the bonus for uncertainty amounts to",
    "temperature": "how random choices are, in the units of rewards",
    "discount_rate": "how fast a reward loses value with its delay; 0 is not at all",
    "risk_aversion": "how much more a small gain counts than the same on top of a large one",
    "loss_aversion": "how much more a loss counts than a gain of the same size; 1 is as much",
    "present_bias": "what is left of the value of anything that is not now, from 0 to 1",
    "learning_rate": "how far the value of an option moves towards each new reward, from 0 to 1",
}
SETTINGS = {"n_replicates": "simulations of each subject", "n_bootstrap": "bootstrap replicates"}
STATUSES = {
    "converged": "one best estimate, with standard errors",
    "weakly identified": "an estimate, but the data hardly limit some direction: read the interval",
    "at a bound": "the likelihood rises to the end of the range that was searched",
    "separated": "some direction predicts every choice, so that no finite estimate is best",
    "not identified": "the choices do not identify all parameters",
    "stopped early": "no maximum was reached",
}


def study_page(study: Findings, figures: Sequence[Drawing], *, title: str, command: str) -> str:
    """The report as one HTML document.

    Parameters
    ----------
    study
        What was found.
    figures
        Those of `study_figures`, drawn.
    title
        At the top of the page.
    command
        What reproduces it.
    """
    drawn = {one.name: one for one in figures}
    sections = [
        Section("Questions", [Paragraph(asked(study))]),
        Section("In short", [Listing(in_short(study))]),
        Section("Do the groups differ?", comparison_section(study, command)),
        Section("Do conditions differ within subjects?", paired_section(study, command)),
        Section("The population", population_section(study, drawn)),
        Section("The data", _data(study, drawn)),
        Section("Performance", _performance(study, drawn)),
        Section(_whose(study), _subjects(study, drawn)),
        Section("Fits without a converged estimate", _failures(study)),
        Section(_together(study), groups_section(study, drawn)),
        Section("The paper's linearised estimates", linearized_section(study)),
        Section("Tests by performance", tests_section(study)),
        Section(_checked(study), forward_section(study, drawn)),
        Section("Methods", [Paragraph(text) for text in methods(study)]),
        Section("How to reproduce this report", _reproduce(study, command)),
    ]
    made = f"{counted(study.data.n_people, 'subject')}; made by Penchant {__version__}"
    return page(title, made, [section for section in sections if section.blocks])


def _whose(study: Findings) -> str:
    return "Estimates of subjects" if len(study.subjects) > 1 else "Estimates of the subject"


def _together(study: Findings) -> str:
    """What estimates are pooled over."""
    whose = "Groups" if len(study.groups) > 1 else "All subjects"
    return f"{whose}: {exact_words(study)} estimates"


def _checked(study: Findings) -> str:
    """The question that a posterior predictive check answers."""
    if study.how_simulated == "one step ahead":
        one = len(study.subjects) == 1
        who = "does the subject choose" if one else "do people choose"
        return f"Posterior predictive check: {who} as their model expects?"
    return "Posterior predictive check: do agents behave like the people?"


def _data(study: Findings, drawn: Mapping[str, Drawing]) -> list[Block]:
    data = study.data
    by_condition: dict[str, list[Any]] = {label: [] for label in data.condition_labels}
    for subject in study.subjects:
        by_condition[data.condition(subject)].append(subject)
    rows = []
    for condition, subjects in by_condition.items():
        mine = [data.episodes[i] for s in subjects for i in data.of(s)]
        scored = sum(e.n_decisions for e in mine)
        cells: list[Any] = [condition, len(subjects), scored]
        if data.is_play:
            cells += [len(mine), _range(sorted({int(e.is_choice.sum()) for e in mine}))]
        rows.append([str(cell) for cell in cells])
    header = ("condition", "subjects", "trials included", "blocks", "trials per block")
    caption = "Who played, and how long" if data.is_play else "Who chose, and how often"
    shown = header if data.is_play else header[:3]
    blocks: list[Block] = [DataTable(caption, shown, rows)]
    columns = "" if data.columns is None else data.columns.words()
    if any(part != name for part, _, name in (one.partition(" = ") for one in columns.split("; "))):
        blocks.append(Paragraph(f"Columns of the table: {columns}."))
    if data.notes:
        blocks.append(Listing([for_reader(note) for note in data.notes]))
    if study.plan.performance:
        blocks.append(Paragraph(study.landscapes.words))
    return [*blocks, *some_drawn(drawn, "choices")]


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) <= 3:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]}"


def _performance(study: Findings, drawn: Mapping[str, Drawing]) -> list[Block]:
    if not study.plan.performance:
        return []
    table = study.columns("subjects")
    orders = ("linear", "power", "logarithmic", "none")
    conditions = [study.data.condition(s) for s in study.subjects]
    rows = []
    for condition in study.data.condition_labels:
        mine = [i for i, c in enumerate(conditions) if c == condition]
        growth = [table["growth"][i] for i in mine]
        rank = [table["performance"][i] for i in mine]
        cells = [condition, *(growth.count(order) for order in orders)]
        cells += [rank.count("low"), rank.count("high"), rank.count(NOT_CLASSIFIED)]
        rows.append([str(cell) for cell in cells])
    header = ("condition", *orders[:3], "does not grow", "low", "high", "not classified")
    note = (
        "Low: linear or power law; high: logarithmic, or no growth. Which of linear and power fits "
        f"better is close to arbitrary. {_doubtful(study)}"
    ).rstrip()
    return [DataTable("How regret grows", header, rows, note), *some_drawn(drawn, "regret-growth")]


def _doubtful(study: Findings) -> str:
    unsure = [str(order.subject) for order in study.growth if order.confidence < 0.9]
    if not study.plan.n_bootstrap:
        return ""
    if not unsure:
        return "Every category holds in 90 % of the bootstrap replicates or more."
    return (
        f"The category of {counted(len(unsure), 'subject')} holds in fewer than 90 % of the "
        f"bootstrap replicates: {listing(unsure)}."
    )


def _subjects(study: Findings, drawn: Mapping[str, Drawing]) -> list[Block]:
    counts = [[k, str(n), STATUSES.get(k, "")] for k, n in study.counts().items()]
    names = study.fits[study.subjects[0]].exact.natural_names
    keep = ["subject", *study.data.conditions, "n_decisions", "regret", "growth", "performance"]
    keep += ["status", "log_likelihood"]
    for name in names:
        keep += [name, f"{name}_low", f"{name}_high"]
    return [
        DataTable(
            f"Status of the {exact_words(study)} fits",
            ("status", "subjects" if study.data.people is None else "fits", "what it means"),
            counts,
            words=frozenset((0, 2)),
        ),
        *_glossary(names),
        *some_drawn(drawn, "subjects", "scatter"),
        study_table(
            study,
            "subjects",
            f"{capital(exact_words(study))} estimates of all subjects",
            keep,
            folded=True,
            note=f"low and high: {100 * study.plan.level:g} % "
            f"{interval_words(study.plan.intervals)} intervals.",
        ),
    ]


def _glossary(names: Sequence[str]) -> list[Block]:
    """What the parameters are, for those who meet them for the first time."""
    known = [f"{in_words(name)}: {MEANINGS[name]}" for name in names if name in MEANINGS]
    return [Listing(known)] if known else []


def _failures(study: Findings) -> list[Block]:
    table = study.columns("failures")
    if not table["subject"]:
        return []
    kinds: dict[tuple[str, str], list[int]] = {}
    for i, kind in enumerate(zip(table["estimator"], table["status"], strict=True)):
        kinds.setdefault(kind, []).append(i)
    words_of = {"exact": exact_words(study).replace("-", " ")}
    rows = [
        [
            words_of.get(estimator, estimator),
            status,
            str(len(places)),
            listing(str(table["subject"][i]) for i in places),
            _advised(study, str(table["message"][places[0]])),
        ]
        for (estimator, status), places in kinds.items()
    ]
    header: tuple[str, ...] = ("estimator", "status", "fits", "subjects", "for example")
    words = frozenset((0, 1, 3, 4))
    if len({row[0] for row in rows}) == 1:
        header, rows, words = header[1:], [row[1:] for row in rows], frozenset((0, 2, 3))
    note = (
        "Averages leave out subjects whose fit is separated, not identified, at a bound or stopped "
        "early. Weakly identified subjects are kept, as they have a finite estimate: plain means "
        "give it the weight of any other, random effects a weight by its precision. Read its "
        "interval."
    )
    note = note if len(study.subjects) > 1 else ""
    return [DataTable("What went wrong, and for whom", header, rows, note, words=words)]


def _advised(study: Findings, message: str) -> str:
    """A message about a fit, without the advice to read intervals that the report has anyway."""
    asked = profile_intervals("ead")
    if study.plan.intervals == "profile":
        message = message.replace(asked, "ead its interval")
    model = study.plan.model
    fit = study.fits[study.subjects[0]].exact
    for name in fit.names:
        if ":" in name:
            message = message.replace(name, attribute_words(name))
    return for_reader(message, (*fit.natural_names, *(s.name for s in model.shape), *fit.names))


def _reproduce(study: Findings, command: str) -> list[Block]:
    known = study.fingerprint() | {"population": study.everybody is not None}
    given = {name: value for name, value in known.items() if _is_said(study, name, value)}
    facts = [[SETTINGS.get(name, in_words(name)), _fact(value)] for name, value in given.items()]
    typed = command.startswith("penchant ")
    made, source = ("This command makes", "file") if typed else ("This call makes", "study")
    return [
        Paragraph(f"{made} the same tables, figures and report from the same {source}:"),
        Paragraph(command, code=True),
        DataTable(
            "Settings, and fingerprints of the data", ("what", "is"), facts, words=frozenset((0, 1))
        ),
    ]


def _is_said(study: Findings, name: str, value: Any) -> bool:
    """Whether a setting is of something that the study has."""
    if name == "landscapes":
        return bool(study.plan.performance)
    if name == "locations":
        return Declared(study.plan.model).locations is not None
    return bool(value) or name == "seed"


def _fact(value: Any) -> str:
    if value is True:
        return "yes"
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {v}" for k, v in value.items()) or "none"
    return "none" if value is None else str(value)
