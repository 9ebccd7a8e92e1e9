"""The command `study`: read a table, analyse it, and write the report."""

from __future__ import annotations

import shlex
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from penchant.argument_checks import check_threads
from penchant.bandit.beliefs import RewardPrior
from penchant.cli.choice_input import select_attributes
from penchant.cli.fit_choices_command import parse_prior
from penchant.cli.fit_model_command import model_before_data, model_for_data
from penchant.cli.model_settings import (
    LOCATION_OPTIONS,
    OPTIONS_OF_MODELS,
    build_named_model,
    counts_options,
    parse_grid,
    parse_reward_prior,
)
from penchant.cli.option_wording import word_as_options
from penchant.cli.options import Agent, History
from penchant.cli.table_input import (
    check_base,
    check_model_given,
    load_offers,
    load_play,
    open_raw,
    read_and_report,
    table_kind,
)
from penchant.cli.terminal import message_if_interrupted, refuse, say
from penchant.cli.workflow_options import (
    AnalysisOptions,
    GroupingOptions,
    StudyExperimentOptions,
    StudyOutputOptions,
    TableOptions,
)
from penchant.errors import DataError, NotWrittenError, text_with_marks
from penchant.files.folder import TABLE_SUFFIXES
from penchant.files.output import json_text, write_json
from penchant.files.text_source import STDIN
from penchant.json_records import to_json
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared, Model
from penchant.models.offers.attributes import Attributes
from penchant.report.study import PAPER, Study, study
from penchant.report.study_files import StudyFolder
from penchant.report.study_sentences import summary_sentences
from penchant.result_tables import format_count
from penchant.studies.fitting import SUBJECTS_PER_PART, USABLE
from penchant.studies.landscapes import LandscapeFile, read_landscapes
from penchant.studies.plan import PAPER_NOMINALS
from penchant.studies.study_data import StudyData, read_study
from penchant.tables.reading import Reading

TASK_FILE = "task.toml"
Options = TypeVar("Options", Agent, GroupingOptions, TableOptions)


def is_task(file: str) -> bool:
    """Whether FILE is a folder of `penchant export`, or a task file of one.

    Any other folder with tables is one of files as laboratories have them.
    """
    path = Path(file)
    if path.is_dir():
        return (path / TASK_FILE).exists() or not any(
            found.suffix.lower() in TABLE_SUFFIXES for found in path.rglob("*")
        )
    return path.suffix == ".toml" and path.is_file()


class _TaskOptions(NamedTuple):
    """The file of a task's table, and the options of the study with the task's settings."""

    file: str
    table: TableOptions
    grouping: GroupingOptions
    agent: Agent


def apply_task_file(
    file: str, table: TableOptions, grouping: GroupingOptions, agent: Agent
) -> _TaskOptions:
    """Read a task file: its table, and its settings where no others were typed."""
    task = Path(file) / TASK_FILE if Path(file).is_dir() else Path(file)
    try:
        settings = tomllib.loads(task.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            "FILE",
            "must be a table, or a folder of penchant export",
            got=f"{file}, a folder without {TASK_FILE}",
            fix="Name a file.",
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(
            "FILE",
            "must be a task file of penchant export",
            got=f"{task}: {error}",
            fix="Export again.",
        ) from None
    if not isinstance(settings.get("table"), str):
        raise DataError("FILE", "must name its table", got=f"none in {task}", fix="Export again.")
    folder = task.parent
    if agent.model is not None and agent.model != settings.get("model"):  # another model is typed
        settings = _settings_for_model(settings, agent)
    if "landscape" in settings:
        settings["landscape"] = str(folder / settings["landscape"])
    others = sorted(path.name for path in folder.glob("task*.toml") if path.name != task.name)
    if others:
        say(f"Task: {task}; the study has others, too: {', '.join(others)}.")
    return _TaskOptions(
        str(folder / settings["table"]),
        _fill_defaults(table, settings),
        _fill_defaults(grouping, settings),
        _fill_defaults(agent, settings),
    )


_TASK_SETTINGS = {"table", "subject", "block", "decision", "chosen", "reward", "scored", "executed"}
_TASK_SETTINGS |= {"condition", "landscape", "landscape_by"}


def _settings_for_model(settings: Mapping[str, Any], agent: Agent) -> dict[str, Any]:
    """Settings of a task file that hold for a model other than the task's own."""
    model = str(agent.model)
    names = _TASK_SETTINGS | (OPTIONS_OF_MODELS.get(model, set()) & LOCATION_OPTIONS)
    found = {key: value for key, value in settings.items() if key in names}
    entry = entry_of(model)
    if entry.data == "offers" and "offers" in settings:
        other = "outcome" if "outcome" in entry.example().attributes else "amount"
        found["offers"] = [_rename_amounts(words, other) for words in settings["offers"]]
    elif counts_options(agent) and "grid" in settings:
        width, height = parse_grid(replace(agent, grid=settings["grid"]))
        found["options"] = [str(width * height)]
    elif counts_options(agent) and "options" in settings:
        found["options"] = settings["options"]
    return found


def _rename_amounts(words: str, other: str) -> str:
    """Rename the attribute of amounts in a word of --offers.

    >>> _rename_amounts("amount=amount_1/amount_2", "outcome"), _rename_amounts("delay=delay_1/0",
    "outcome") ('outcome=amount_1/amount_2', 'delay=delay_1/0')
    """
    name, sign, columns = words.partition("=")
    return f"{other}{sign}{columns}" if name in ("amount", "outcome") else words


def _fill_defaults(options: Options, settings: dict[str, Any]) -> Options:
    """Fill options that have their default with the settings of the task."""
    plain = type(options)()
    added = {
        field.name: settings[field.name]
        for field in fields(options)
        if field.name in settings and getattr(options, field.name) == getattr(plain, field.name)
    }
    return replace(options, **added)


class _PlayStudy(NamedTuple):
    """Data of a study of task data, known mean rewards, and the table as it was read."""

    data: StudyData
    landscape: LandscapeFile | None
    reading: Reading


def read_play_study(
    file: str, table: TableOptions, grouping: GroupingOptions, history: History, ready: Any
) -> _PlayStudy:
    """Read task data, and the mean rewards where --landscape names a file of them."""
    if grouping.landscape is not None and grouping.expected is not None:
        raise DataError(
            "--expected",
            "must be left out with --landscape",
            got="both",
            fix="Either tells the mean rewards.",
        )
    places = Declared(ready).locations
    reading = load_play(file, table.data(), history, places, is_counted=ready is None)
    landscape = None
    if grouping.landscape is not None:
        columns, labels = list(reading.table.column_names), reading.arguments["options"]
        landscape = read_landscapes(grouping.landscape, columns, grouping.landscape_by, labels)
    with reading.in_lines():
        found = read_study(
            reading,
            conditions=grouping.condition,
            landscape_by=grouping.landscape_by or (None if landscape is None else landscape.by),
            expected=grouping.expected,
            payoffs=grouping.payoffs or None,
            payoff_noise=grouping.payoff_noise,
        )
    _say_notes(found, reading)
    return _PlayStudy(found, landscape, reading)


def _say_notes(found: StudyData, reading: Reading) -> None:
    """Print the notes of a study that were not printed when its table was read."""
    for note in found.notes:
        if note not in reading.doubts:
            say(f"Note: {word_as_options(reading.in_words(text_with_marks(note)))}")


def read_offers_study(
    file: str, table: TableOptions, grouping: GroupingOptions, model: str
) -> StudyData:
    """Read the data of a study of choices among offers."""
    reading = load_offers(file, table.data(), replace(table.history(), linearized=None), model)
    with reading.in_lines():
        found = read_study(reading, conditions=grouping.condition)
    _say_notes(found, reading)
    return found


def _is_experiment(file: str, table: TableOptions, experiment: StudyExperimentOptions) -> bool:
    """Whether the file is a choice experiment: it is said to be, or its columns say so."""
    if experiment != StudyExperimentOptions():
        return True
    if file == STDIN:
        return False
    return table_kind(file, table.data(), table.history()) == "choices"


def read_experiment(
    file: str, table: TableOptions, grouping: GroupingOptions, experiment: StudyExperimentOptions
) -> tuple[StudyData, Model]:
    """Read the data of a study of a choice experiment, and build its model of attributes."""
    history = table.history()
    refuse(history, "with a choice experiment", names={*TASK_COLUMNS, "offers"})
    data = replace(
        table.data(),
        attributes=experiment.attributes,
        opt_out=experiment.opt_out,
        reference=experiment.reference,
    )
    reading = read_and_report(open_raw(file, data), data, history, "choices")
    reading = replace(reading, data=select_attributes(reading, data.attributes))
    model = Attributes(reading.data.names, price=experiment.price)
    say(f"Model: {model}.")
    return read_study(reading, conditions=grouping.condition), model


DONE, NO_ESTIMATE = 0, 1
REGRET_OPTIONS = {"expected", "landscape", "landscape_by", "payoffs", "payoff_noise"}
TASK_COLUMNS = {
    "reward",
    "is_choice",
    "scored",
    "executed",
    "gaps",
    "shown",
    "missing_reward",
    "block",
}
PLAY_ANALYSIS_OPTIONS = {"clock", "nominal_low", "nominal_high", "replicates", "bootstrap"}
NOT_IN_COMMAND = {"output", "resume", "json", "threads"}


def run_study_command(
    file: str | None,
    table: TableOptions,
    grouping: GroupingOptions,
    agent: Agent,
    analysis: AnalysisOptions,
    output_options: StudyOutputOptions,
    experiment: StudyExperimentOptions,
) -> int:
    """Run `study`: check options and data, analyse, write the report; return the exit code."""
    if file is None:
        raise DataError(
            "FILE", "must be given", got="none", fix="penchant simulate makes one to try."
        )
    if output_options.output is None:
        raise DataError(
            "--output", "must name a folder for the results", got="none", fix="Try -o results."
        )
    if is_task(file):
        file, table, grouping, agent = apply_task_file(file, table, grouping, agent)
    check_base(table.base)
    is_experiment = agent == Agent() and _is_experiment(file, table, experiment)
    if not is_experiment:
        refuse(experiment, "with --model" if agent.model else "without a choice experiment")
        agent = _with_model(agent, file, table)
    history = table.history(analysis.clock)
    of_offers = not is_experiment and entry_of(str(agent.model)).data == "offers"
    ready: Any = None
    if is_experiment:
        _refuse_play_options("with a choice experiment", grouping, analysis)
    elif of_offers:
        _refuse_play_options(f"with --model {agent.model}", grouping, analysis)
        ready = build_named_model(agent, 0)
    else:
        ready = model_before_data(agent, table.data(), history)
    performance = _wants_performance(grouping, analysis)
    nominals = None if performance is False else _nominal_points(agent, analysis)
    _check_counts(analysis)
    weights = parse_prior(analysis.prior)
    with StudyFolder(output_options.output, resume=output_options.resume) as folder:
        begun = time.perf_counter()
        if is_experiment:
            landscape = None
            data, model = read_experiment(file, table, grouping, experiment)
        elif of_offers:
            data, landscape = read_offers_study(file, table, grouping, str(agent.model)), None
            model = ready
        else:
            data, landscape, played = read_play_study(file, table, grouping, history, ready)
            model = model_for_data(ready, played, agent)
        reading = time.perf_counter() - begun
        say(f"Study: {format_count(data.n_people, 'subject')}, {_data_size_text(data)}.")
        with (
            message_if_interrupted(lambda: _kept_parts_text(folder, data)),
            _report_kept_parts(folder, data),
        ):
            found = study(
                data,
                model,
                nominals=nominals,
                landscape=None if landscape is None else landscape.means,
                performance=performance,
                parameter_prior=weights,
                level=analysis.level,
                intervals=analysis.intervals,
                n_replicates=analysis.replicates,
                n_bootstrap=analysis.bootstrap,
                joint=analysis.joint,
                population=analysis.population,
                seed=analysis.seed,
                threads=analysis.threads,
                keep=folder,
            )
            _say_unused(analysis, found)
            found.timings["reading"] = reading
            command = command_line(
                file, (table, experiment, grouping, agent, analysis, output_options)
            )
            return _write_study(found, folder, file, command, output_options)


def _with_model(agent: Agent, file: str, table: TableOptions) -> Agent:
    """Set the model where none is given: ucl, the paper's, if options have locations."""
    if agent.model is not None:
        return agent
    placed = agent.grid is not None or agent.locations is not None
    check_model_given(placed, file, table.data(), table.history())
    say("Model: ucl, as options have places; --model for another.")
    return replace(agent, model="ucl")


def _data_size_text(data: StudyData) -> str:
    if data.is_play:
        return format_count(len(data.episodes), "episode")
    return format_count(sum(trials.n_decisions for trials in data.episodes), "decision")


def _refuse_play_options(where: str, grouping: GroupingOptions, analysis: AnalysisOptions) -> None:
    """Refuse options that have a meaning for task data with rewards only."""
    refuse(grouping, where, names={*REGRET_OPTIONS, "performance"})
    refuse(analysis, where, names=PLAY_ANALYSIS_OPTIONS)


def _wants_performance(grouping: GroupingOptions, analysis: AnalysisOptions) -> bool | None:
    """Whether performance is measured; nominal points by performance require it."""
    points = analysis.nominal_low is not None or analysis.nominal_high is not None
    if grouping.performance is False and points:
        raise DataError(
            "--no-performance",
            "must be left out with --nominal-low and --nominal-high",
            got="both",
            fix="The points are chosen by performance.",
        )
    return True if points else grouping.performance


def _say_unused(analysis: AnalysisOptions, found: Study) -> None:
    """Print a note where --bootstrap has no effect, as performance is not measured."""
    has_bootstrap = analysis.bootstrap not in (0, AnalysisOptions().bootstrap)
    if has_bootstrap and found.data.is_play and not found.plan.performance:
        say("Note: --bootstrap has no effect without performance; --performance asks for it.")


def _check_counts(analysis: AnalysisOptions) -> None:
    for name in ("replicates", "bootstrap", "seed"):
        if getattr(analysis, name) < 0:
            raise DataError(
                f"--{name}",
                "must be a whole number, 0 or more",
                got=getattr(analysis, name),
                fix="Correct it.",
            )
    check_threads(analysis.threads)


def _nominal_points(agent: Agent, analysis: AnalysisOptions) -> Any:
    """Nominal points by performance: given, or the paper's."""
    given = {"low": analysis.nominal_low, "high": analysis.nominal_high}
    if analysis.exact_only:
        refuse(analysis, "with --exact-only", names={"nominal_low", "nominal_high"})
        return None
    if not any(given.values()):
        return PAPER
    usual: Mapping[Any, Any] = PAPER_NOMINALS if agent.model == "ucl" else {}
    points = {
        name: usual.get(name)
        if words is None
        else _parse_nominal_point(words, f"--nominal-{name}", agent)
        for name, words in given.items()
    }
    return {name: point for name, point in points.items() if point is not None}


def _parse_nominal_point(words: str, option: str, agent: Agent) -> RewardPrior | dict[str, float]:
    if agent.model == "ucl":
        try:
            return parse_reward_prior(words)
        except DataError as error:
            raise error.rephrase(lambda text: text.replace("--linearized", option)) from None
    try:
        return {name.strip(): float(value) for name, value in _split_pairs(words)}
    except ValueError:
        raise DataError(
            option,
            "must be NAME=VALUE,...",
            got=repr(words),
            fix=f"Try {option} learning_rate=0.3.",
        ) from None


def _split_pairs(words: str) -> list[tuple[str, str]]:
    pairs = [tuple(part.split("=")) for part in words.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(words)
    return [(pair[0], pair[1]) for pair in pairs]


def _write_study(
    found: Study,
    folder: StudyFolder,
    file: str,
    command: str,
    output_options: StudyOutputOptions,
) -> int:
    begun = time.perf_counter()
    findings = list(map(word_as_options, summary_sentences(found)))
    try:
        report = found.write(
            folder.path,
            title=output_options.title
            or f"A study of choices: {'stdin' if file == STDIN else _file_name(file)}",
            command=command,
            figures=output_options.figures,
            overwrite=True,
            words=word_as_options,
        )
        found.timings["tables, figures, report"] = time.perf_counter() - begun
        _write_timings(found, folder)
    except (NotWrittenError, OSError):  # findings that cannot be kept can still be read
        print(
            json_text(_summary_document(found, None, findings))
            if output_options.json
            else "\n".join(findings)
        )
        raise
    if output_options.json:
        print(json_text(_summary_document(found, str(report), findings)), end="")
    else:
        print("\n".join([*findings, f"Report: {report}"]))
    usable = any(fit.exact.status in USABLE for fit in found.fits.values())
    return DONE if usable else NO_ESTIMATE


def _file_name(file: str) -> str:
    return Path(file).resolve().name


def _write_timings(found: Study, folder: StudyFolder) -> None:
    """Write the seconds of each step to a file of its own, as results are the same every time."""
    total = sum(found.timings.values())
    document = {
        "seconds": found.timings,
        "share": {step: spent / total for step, spent in found.timings.items()},
        "note": "seconds of work, summed over threads, in the last run",
    }
    write_json(folder.path / "timings.json", document, overwrite=True)


def _summary_document(found: Study, report: str | None, findings: Sequence[str]) -> dict[str, Any]:
    tests = found.group_tests
    return {
        "report": report,
        "n_subjects": found.data.n_people,
        "statuses": found.counts(),
        "groups": [
            {
                "performance": group.performance,
                "condition": group.condition,
                "n_subjects": len(group.subjects),
            }
            for group in found.groups
        ],
        "left_out": _json_rows(found.left_out),
        "comparison": _json_rows(tests.differences),
        "overall": _json_rows(tests.overall),
        "paired": _json_rows(found.paired_tests),
        "findings": list(findings),
        "seconds": found.timings,
    }


def _json_rows(tests: Sequence[Any]) -> list[dict[str, Any]]:
    return [{name: to_json(value) for name, value in vars(test).items()} for test in tests]


def command_line(file: str, groups: Sequence[Any]) -> str:
    """Command that repeats a study, without its output folder and its number of threads."""
    words = ["penchant", "study", file]
    for group in groups:
        usual = type(group)()
        for one in fields(group):
            value = getattr(group, one.name)
            if one.name in NOT_IN_COMMAND or value == getattr(usual, one.name):
                continue
            words.append(("--no-" if value is False else "--") + one.name.replace("_", "-"))
            if not isinstance(value, bool):
                words.append(",".join(value) if isinstance(value, list) else str(value))
    return f"{shlex.join(words)} --output FOLDER"


@contextmanager
def _report_kept_parts(folder: StudyFolder, data: StudyData) -> Iterator[None]:
    """Add to an error of writing which parts of the study were kept before it."""
    try:
        yield
    except NotWrittenError as error:
        error.fix += f" {_kept_parts_text(folder, data)}"
        raise


def _kept_parts_text(folder: StudyFolder, data: StudyData) -> str:
    n_parts = -(-len(data.subjects) // SUBJECTS_PER_PART)
    return (
        f"{min(folder.n_stored, n_parts)} of {n_parts} parts are kept in {folder.path}. "
        "The same command with --resume goes on."
    )
