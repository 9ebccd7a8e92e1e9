"""The report of a study, section by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penchant._version import __version__
from penchant.choices.notes import counted
from penchant.errors import listing
from penchant.report.page import Block, DataTable, Drawing, Listing, Paragraph, Section, page
from penchant.report.paper_tables import paper_tables
from penchant.report.study_words import asked, in_short, methods, shown
from penchant.softmax.tables import p_value
from penchant.study import Study
from penchant.study.plan import nominal_words
from penchant.study.tables import NOT_CLASSIFIED

P_VALUES = ("p_value", "adjusted_p_value")
SHORT = {
    "statistic": "t",
    "degrees_of_freedom": "df",
    "p_value": "p",
    "adjusted_p_value": "adjusted p",
    "hedges_g": "Hedges' g",
    "name": "parameter",
    "i2": "I2",
    "exact_log_likelihood": "exact log-likelihood",
    "log_likelihood": "log-likelihood",
}
STATUSES = {
    "converged": "one best estimate, with standard errors",
    "weakly identified": "an estimate, but the data hardly limit some direction: read the interval",
    "at a bound": "the likelihood rises to the end of the range that was searched",
    "separated": "some direction predicts every choice, so that no finite estimate is best",
    "not identified": "the choices cannot tell the parameters apart",
    "stopped early": "no maximum was reached",
}


def study_page(study: Study, figures: Sequence[Drawing], *, title: str, command: str) -> str:
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
        Section("What was asked", [Paragraph(asked(study))]),
        Section("In short", [Listing(in_short(study))]),
        Section("The data", _data(study, drawn)),
        Section("Performance", _performance(study, drawn)),
        Section("Estimates of subjects", _subjects(study, drawn)),
        Section("Fits without a converged estimate", _failures(study)),
        Section("Groups: exact estimates", _groups(study, drawn)),
        Section("The paper's linearised estimates", _linearized(study)),
        Section("Tests between groups", _tests(study)),
        Section("Do agents behave like the people?", _forward(study, drawn)),
        Section("Methods", [Paragraph(text) for text in methods(study)]),
        Section("How to reproduce this report", _reproduce(study, command)),
    ]
    made = f"{counted(len(study.subjects), 'subject')}; made by Penchant {__version__}"
    return page(title, made, [section for section in sections if section.blocks])


def _some(drawn: Mapping[str, Drawing], *names: str) -> list[Block]:
    return [drawn[name] for name in names if name in drawn]


def _data(study: Study, drawn: Mapping[str, Drawing]) -> list[Block]:
    data = study.data
    by_condition: dict[str, list[Any]] = {}
    for subject in study.subjects:
        by_condition.setdefault(data.condition(subject), []).append(subject)
    rows = []
    for condition, subjects in by_condition.items():
        mine = [data.episodes[i] for s in subjects for i in data.of(s)]
        horizons = sorted({int(e.is_choice.sum()) for e in mine})
        scored = sum(e.n_decisions for e in mine)
        cells = (condition, len(subjects), len(mine), scored, _range(horizons))
        rows.append([str(cell) for cell in cells])
    header = ("condition", "subjects", "episodes", "decisions scored", "decisions per episode")
    blocks: list[Block] = [DataTable("Who played, and how long", header, rows)]
    if data.columns is not None:
        blocks.append(Paragraph(f"Columns of the table: {data.columns.words()}."))
    if data.notes:
        blocks.append(Listing(data.notes))
    return [*blocks, Paragraph(study.landscapes.words), *_some(drawn, "choices")]


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) <= 3:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]}"


def _performance(study: Study, drawn: Mapping[str, Drawing]) -> list[Block]:
    table = study.columns("subjects")
    orders = ("linear", "power", "logarithmic", "none")
    conditions = [study.data.condition(s) for s in study.subjects]
    rows = []
    for condition in dict.fromkeys(conditions):
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
    )
    return [DataTable("How regret grows", header, rows, note), *_some(drawn, "regret-growth")]


def _doubtful(study: Study) -> str:
    unsure = [str(order.subject) for order in study.growth if order.confidence < 0.9]
    if not study.plan.n_bootstrap:
        return "How sure the categories are was not asked (no bootstrap)."
    if not unsure:
        return "Every category holds in 90 % of the bootstrap replicates or more."
    return (
        f"The category of {counted(len(unsure), 'subject')} holds in fewer than 90 % of the "
        f"bootstrap replicates: {listing(unsure)}."
    )


def _subjects(study: Study, drawn: Mapping[str, Drawing]) -> list[Block]:
    counts = [[k, str(n), STATUSES.get(k, "")] for k, n in study.counts().items()]
    names = study.fits[study.subjects[0]].exact.natural_names
    keep = ["subject", *study.data.conditions, "n_decisions", "regret", "growth", "performance"]
    keep += ["status", "log_likelihood"]
    for name in names:
        keep += [name, f"{name}_low", f"{name}_high"]
    return [
        DataTable(
            "Status of the exact fits",
            ("status", "subjects", "what it means"),
            counts,
            words=frozenset((0, 2)),
        ),
        *_some(drawn, "subjects", "scatter"),
        _table(
            study,
            "subjects",
            "Exact estimates of all subjects",
            keep,
            folded=True,
            note=f"low and high: {100 * study.plan.level:g} % {study.plan.intervals} intervals.",
        ),
    ]


def _failures(study: Study) -> list[Block]:
    table = study.columns("failures")
    if not table["subject"]:
        return [Paragraph("None: every fit has converged.")]
    kinds: dict[tuple[str, str], list[int]] = {}
    for i, kind in enumerate(zip(table["estimator"], table["status"], strict=True)):
        kinds.setdefault(kind, []).append(i)
    rows = [
        [
            estimator,
            status,
            str(len(places)),
            listing(str(table["subject"][i]) for i in places),
            str(table["message"][places[0]]),
        ]
        for (estimator, status), places in kinds.items()
    ]
    header = ("estimator", "status", "fits", "subjects", "for example")
    words = frozenset((0, 1, 3, 4))
    note = (
        "Averages leave out subjects that are separated, not identified, at a bound or stopped "
        "early. Weakly identified ones are kept."
    )
    return [DataTable("What went wrong, and for whom", header, rows, note, words=words)]


def _groups(study: Study, drawn: Mapping[str, Drawing]) -> list[Block]:
    if not study.groups:
        return []
    exact = _only(study.columns("table-2"), "estimator", "exact")
    keep = ["performance", "condition", "n_subjects", "parameter", "estimate", "standard_error"]
    keep += ["low", "high", "status"]
    return [
        *_some(drawn, "groups"),
        _shown("Random effects, by group", exact, keep, note=_left_out(study)),
        _table(
            study,
            "populations",
            "By every rule",
            ("performance", "condition", "rule", *keep[2:], "i2"),
            folded=True,
            note="Positive parameters are pooled as logarithms and mapped back. i2: share of the "
            "variance that lies between subjects.",
        ),
    ]


def _left_out(study: Study) -> str:
    lost = {
        str(left) for rules in study.exact.values() for left in rules["random-effects"].left_out
    }
    return f"Left out: {listing(sorted(lost))}." if lost else "No subject was left out."


def _linearized(study: Study) -> list[Block]:
    if not study.linearized:
        return []
    points = [f"{name}: {nominal_words(point)}" for name, point in study.plan.nominals.items()]
    worst = [column.group.label for column in study.linearized if not column.valid]
    doubt = (
        f"It is not small for {listing(worst)}: the prior variance means nothing there."
        if worst
        else "It is small for every group."
    )
    return [
        Paragraph(f"Linearised about, by performance: {'; '.join(points)}."),
        *paper_tables(study),
        Paragraph(
            "Table I averages theta over the subjects of a group; Table II maps the average back, "
            "which is not the average of the maps. Delta / nominal tells how far the average lies "
            f"from the nominal point, and should be small beside 1. {doubt} The exact estimates "
            "need no nominal point."
        ),
        _table(
            study,
            "linearized",
            "Linearised estimates of all subjects",
            _linearized_columns(study),
            folded=True,
        ),
    ]


def _linearized_columns(study: Study) -> list[str]:
    fits = [fit.linearized for fit in study.fits.values() if fit.linearized is not None]
    keep = ["subject", "condition", "performance", "status"]
    for name in fits[0].names:
        keep += [name, f"{name}_standard_error"]
    return [*keep, "ratio", "valid", *fits[0].natural_names, "exact_log_likelihood"]


def _tests(study: Study) -> list[Block]:
    if study.exact_tests is None and not study.linearized_tests:
        return [Paragraph("There is one group only: nothing to compare.")]
    keep = ["first", "second", "name", "difference", "low", "high", "statistic"]
    keep += ["degrees_of_freedom", "p_value", "adjusted_p_value", "hedges_g"]
    tests, joint = study.columns("tests"), study.columns("joint-tests")
    blocks: list[Block] = []
    for estimator, caption in (
        ("exact", "Exact estimates: Welch's tests"),
        ("linearised", "Linearised theta: the paper's Welch tests between conditions"),
    ):
        mine, both = _only(tests, "estimator", estimator), _only(joint, "estimator", estimator)
        if mine:
            blocks.append(_shown(caption, mine, keep))
            columns = ("first", "second", "test", "statistic", "df_1", "df_2", *P_VALUES, "note")
            blocks.append(_shown(f"{caption.split(':')[0]}: all parameters at once", both, columns))
    return [
        *blocks,
        Paragraph(
            "Differences are first minus second, of logarithms where the name says so; Hedges' g "
            "is the difference in standard deviations between subjects. The linearised tests treat "
            "the model's standard errors as if subjects did not differ otherwise, as the paper "
            "does: they are optimistic."
        ),
    ]


def _forward(study: Study, drawn: Mapping[str, Drawing]) -> list[Block]:
    figures = _some(drawn, "forward-reward", "forward-regret", "forward-distance")
    if not figures:
        return [Paragraph("No agents played again: none were asked for, or nobody has estimates.")]
    table = study.columns("forward")
    rows = []
    for group in study.groups:
        mine = [
            i
            for i in range(len(table["measure"]))
            if (table["performance"][i], table["condition"][i])
            == (group.performance, group.condition)
        ]
        last = [i for i in mine if table["measure"][i] == "regret"][-1:]
        steps = [i for i in mine if table["measure"][i] == "distance" and table["n_subjects"][i]]
        if last:
            cells = [group.label, table["n_subjects"][last[0]]]
            cells += [table["people"][last[0]], table["simulated"][last[0]]]
            cells += [_mean(table["people"], steps), _mean(table["simulated"], steps)]
            rows.append([shown(cell) for cell in cells])
    header = ("group", "subjects", "final regret: people", "agents", "mean step: people", "agents")
    return [*figures, DataTable("People and agents", header, rows)]


def _mean(values: Sequence[float], places: Sequence[int]) -> float:
    return sum(values[i] for i in places) / len(places) if places else float("nan")


def _reproduce(study: Study, command: str) -> list[Block]:
    facts = [[name, _fact(value)] for name, value in study.fingerprint().items()]
    return [
        Paragraph("This command makes the same tables, figures and report from the same file:"),
        Paragraph(command, code=True),
        DataTable(
            "Settings, and fingerprints of the data", ("what", "is"), facts, words=frozenset((0, 1))
        ),
    ]


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{k}: {v}" for k, v in value.items()) or "none"
    return "none" if value is None else str(value)


def _table(
    study: Study,
    name: str,
    caption: str,
    keep: Sequence[str],
    *,
    note: str = "",
    folded: bool = False,
) -> DataTable:
    return _shown(caption, study.columns(name), keep, note=note, folded=folded)


def _shown(
    caption: str,
    table: Mapping[str, Sequence[Any]],
    keep: Sequence[str],
    *,
    note: str = "",
    folded: bool = False,
) -> DataTable:
    """Some columns of a table, with numbers as they are read."""
    present = [name for name in keep if name in table]
    columns = [[_cell(name, value) for value in table[name]] for name in present]
    words = frozenset(
        i
        for i, name in enumerate(present)
        if i == 0 or all(isinstance(v, str) for v in table[name])
    )
    rows = [list(row) for row in zip(*columns, strict=True)]
    header = [SHORT.get(name, _read(name)) for name in present]
    return DataTable(caption, header, rows, note, folded, words)


def _cell(column: str, value: Any) -> str:
    if column in P_VALUES:
        return p_value(value)
    return _read(value) if column in ("parameter", "name") else shown(value)


def _read(name: str) -> str:
    return name.replace("_", " ")


def _only(table: Mapping[str, Sequence[Any]], name: str, value: Any) -> dict[str, list[Any]]:
    """The rows of a table with this value in a column; nothing if there are none."""
    places = [i for i, found in enumerate(table.get(name, ())) if found == value]
    return {key: [column[i] for i in places] for key, column in table.items()} if places else {}
