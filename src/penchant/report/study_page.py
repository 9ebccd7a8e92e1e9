"""Page of the report of a study, with its sections on data and on single subjects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from penchant._version import __version__
from penchant.errors import format_for_python, format_list
from penchant.figures.label_text import attribute_label, display_name
from penchant.models.model import Declared
from penchant.models.parameter_descriptions import PARAMETER_WORDS
from penchant.report.page import Block, DataTable, Drawing, Listing, Paragraph, Section, render_page
from penchant.report.study_comparison import comparison_section, paired_section
from penchant.report.study_groups import (
    drawings_named,
    forward_section,
    groups_section,
    linearized_section,
    study_table,
    tests_section,
)
from penchant.report.study_population import population_section
from penchant.report.study_sentences import (
    capital,
    estimator_text,
    for_reader,
    interval_words,
    methods,
    question,
    summary_sentences,
)
from penchant.result_tables import format_count
from penchant.softmax.prior import ScaledPrior
from penchant.studies.findings import NOT_CLASSIFIED, Findings
from penchant.studies.plan import Plan

SETTINGS = {"n_replicates": "simulations of each subject", "n_bootstrap": "bootstrap replicates"}
STATUSES = {
    "converged": "one best estimate, with standard errors",
    "weakly identified": "an estimate, but the data hardly limit some direction: read the interval",
    "at a bound": "the likelihood rises to the end of the range that was searched",
    "separated": "some direction predicts every choice, so that no finite estimate is best",
    "not identified": "the choices do not identify all parameters",
    "stopped early": "no maximum was reached",
}


def study_page(
    study: Findings,
    figures: Sequence[Drawing],
    *,
    title: str,
    command: str | None,
    words: Callable[[str], str] = format_for_python,
) -> str:
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
        What reproduces it; the call in Python, if not given.
    words
        How texts name the arguments that are marked in them.
    """
    command = command or _call(study.plan)
    drawn = {one.name: one for one in figures}
    sections = [
        Section("Questions", [Paragraph(question(study))]),
        Section("In short", [Listing(summary_sentences(study))]),
        Section("Do the groups differ?", comparison_section(study, command)),
        Section("Do conditions differ within subjects?", paired_section(study, command)),
        Section("The population", population_section(study, drawn)),
        Section("The data", _data(study, drawn)),
        Section("Performance", _performance(study, drawn)),
        Section(_subjects_heading(study), _subjects(study, drawn)),
        Section("Fits without a converged estimate", _failures(study)),
        Section(_groups_heading(study), groups_section(study, drawn)),
        Section("The paper's linearised estimates", linearized_section(study)),
        Section("Tests by performance", tests_section(study)),
        Section(_check_heading(study), forward_section(study, drawn)),
        Section("Methods", [Paragraph(text) for text in methods(study)]),
        Section("How to reproduce this report", _reproduce(study, command)),
    ]
    made = f"{format_count(study.data.n_people, 'subject')}; made by Penchant {__version__}"
    return render_page(title, made, [section for section in sections if section.blocks], words)


def _subjects_heading(study: Findings) -> str:
    return "Estimates of subjects" if len(study.subjects) > 1 else "Estimates of the subject"


def _groups_heading(study: Findings) -> str:
    """Heading of the pooled estimates: of groups, or of all subjects."""
    whose = "Groups" if len(study.groups) > 1 else "All subjects"
    return f"{whose}: {estimator_text(study)} estimates"


def _check_heading(study: Findings) -> str:
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
    parts = (one.partition(" = ") for one in data.columns.split("; "))
    if any(part != name for part, _, name in parts):
        blocks.append(Paragraph(f"Columns of the table: {data.columns}."))
    if data.notes:
        blocks.append(Listing([for_reader(note) for note in data.notes]))
    if study.plan.performance:
        blocks.append(Paragraph(study.landscapes.description))
    return [*blocks, *drawings_named(drawn, "choices")]


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
        f"better is close to arbitrary. {_doubtful_estimates(study)}"
    ).rstrip()
    return [
        DataTable("How regret grows", header, rows, note),
        *drawings_named(drawn, "regret-growth"),
    ]


def _doubtful_estimates(study: Findings) -> str:
    unsure = [str(order.subject) for order in study.growth if order.confidence < 0.9]
    if not study.plan.n_bootstrap:
        return ""
    if not unsure:
        return "Every category holds in 90 % of the bootstrap replicates or more."
    return (
        f"The category of {format_count(len(unsure), 'subject')} holds in fewer than 90 % of the "
        f"bootstrap replicates: {format_list(unsure)}."
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
            f"Status of the {estimator_text(study)} fits",
            ("status", "subjects" if study.data.people is None else "fits", "what it means"),
            counts,
            text_columns=frozenset((0, 2)),
        ),
        *_glossary(names),
        *drawings_named(drawn, "subjects", "scatter"),
        study_table(
            study,
            "subjects",
            f"{capital(estimator_text(study))} estimates of all subjects",
            keep,
            collapsed=True,
            note=f"low and high: {100 * study.plan.level:g} % "
            f"{interval_words(study.plan.intervals)} intervals.",
        ),
    ]


def _glossary(names: Sequence[str]) -> list[Block]:
    """Explain each parameter of the model to readers who do not know it."""
    known = [PARAMETER_WORDS[name] for name in names if name in PARAMETER_WORDS]
    explanations = [f"{words.label}: {words.meaning}" for words in known if words.meaning]
    return [Listing(explanations)] if explanations else []


def _failures(study: Findings) -> list[Block]:
    table = study.columns("failures")
    if not table["subject"]:
        return []
    kinds: dict[tuple[str, str], list[int]] = {}
    for i, kind in enumerate(zip(table["estimator"], table["status"], strict=True)):
        kinds.setdefault(kind, []).append(i)
    words_of = {"exact": estimator_text(study).replace("-", " ")}
    rows = [
        [
            words_of.get(estimator, estimator),
            status,
            str(len(places)),
            format_list(str(table["subject"][i]) for i in places),
            _advised(study, table["message"][places[0]]),
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
    return [DataTable("What went wrong, and for whom", header, rows, note, text_columns=words)]


def _advised(study: Findings, message: str) -> str:
    """A message about a fit, with parameters and attributes as readers know them."""
    model = study.plan.model
    fit = study.fits[study.subjects[0]].exact
    for name in fit.names:
        if ":" in name:
            message = message.replace(name, attribute_label(name))
    return for_reader(message, (*fit.natural_names, *(s.name for s in model.shape), *fit.names))


def _reproduce(study: Findings, command: str) -> list[Block]:
    known = study.fingerprint() | {"population": study.everybody is not None}
    given = {
        name: value for name, value in known.items() if _is_relevant_setting(study, name, value)
    }
    facts = [
        [SETTINGS.get(name, display_name(name)), _fact(value)] for name, value in given.items()
    ]
    typed = command.startswith("penchant ")
    made, source = ("This command makes", "file") if typed else ("This call makes", "data")
    return [
        Paragraph(f"{made} the same tables, figures and report from the same {source}:"),
        Paragraph(command, code=True),
        DataTable(
            "Settings, and fingerprints of the data",
            ("what", "is"),
            facts,
            text_columns=frozenset((0, 1)),
        ),
    ]


def _call(plan: Plan) -> str:
    """The call that makes a study of data and a model, with what was not left to the defaults."""
    settings = {one.name: one.default for one in fields(plan) if one.name not in _OF_THE_STUDY}
    given = {name: getattr(plan, name) for name in settings}
    words = [
        f"{name}={value!r}"
        for name, value in given.items()
        if name == "seed" or value != settings[name]
    ]
    if isinstance(plan.parameter_prior, ScaledPrior):
        words.insert(0, f"parameter_prior=pn.{plan.parameter_prior!r}")
    elif plan.parameter_prior is not None:
        words.insert(0, "parameter_prior=parameter_prior")
    return f"pn.study(data, model, {', '.join(words)}).write(folder)"


_OF_THE_STUDY = ("model", "nominals", "parameter_prior")  # objects rather than settings


def _is_relevant_setting(study: Findings, name: str, value: Any) -> bool:
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
