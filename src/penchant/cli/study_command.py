"""What `study` does: read, carry out, keep, say where the report is."""

from __future__ import annotations

import shlex
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from penchant.argument_checks import check_threads
from penchant.bandit.beliefs import RewardPrior
from penchant.cli.choice_input import with_formula
from penchant.cli.fit_choices_command import prior
from penchant.cli.fit_model_command import model_for, ready_model
from penchant.cli.model_settings import (
    PLACES,
    TAKEN,
    counts_options,
    model_named,
    nominal,
    width_height,
)
from penchant.cli.option_wording import in_options
from penchant.cli.options import Agent, History
from penchant.cli.table_input import (
    check_base,
    check_model_given,
    kind_of,
    load_offers,
    load_play,
    open_raw,
    read_as,
)
from penchant.cli.terminal import refuse, say, when_interrupted
from penchant.cli.workflow_options import Analysis, Compared, Experiment, Kept, Played
from penchant.errors import DataError, NotWrittenError, text_with_marks
from penchant.files.folder import TABLES
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

TASK = "task.toml"
Options = TypeVar("Options", Agent, Compared, Played)


def is_task(file: str) -> bool:
    """Whether FILE is a folder of `penchant export`, or a task file of one.

    Any other folder with tables is one of files as laboratories have them.
    """
    path = Path(file)
    if path.is_dir():
        return (path / TASK).exists() or not any(
            found.suffix.lower() in TABLES for found in path.rglob("*")
        )
    return path.suffix == ".toml" and path.is_file()


def with_task(
    file: str, table: Played, compared: Compared, agent: Agent
) -> tuple[str, Played, Compared, Agent]:
    """The table that a task file names, and its settings where no others were typed."""
    task = Path(file) / TASK if Path(file).is_dir() else Path(file)
    try:
        settings = tomllib.loads(task.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            "FILE",
            "must be a table, or a folder of penchant export",
            got=f"{file}, a folder without {TASK}",
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
        settings = _for_model(settings, agent)
    if "landscape" in settings:
        settings["landscape"] = str(folder / settings["landscape"])
    others = sorted(path.name for path in folder.glob("task*.toml") if path.name != task.name)
    if others:
        say(f"Task: {task}; the study has others, too: {', '.join(others)}.")
    return (
        str(folder / settings["table"]),
        _filled(table, settings),
        _filled(compared, settings),
        _filled(agent, settings),
    )


_OF_TASK = {"table", "subject", "block", "decision", "chosen", "reward", "scored", "executed"}
_OF_TASK |= {"condition", "landscape", "landscape_by"}


def _for_model(settings: Mapping[str, Any], agent: Agent) -> dict[str, Any]:
    """What a task says whatever the model is, for a model that is not the task's own."""
    model = str(agent.model)
    wanted = _OF_TASK | (TAKEN.get(model, set()) & PLACES)
    found = {key: value for key, value in settings.items() if key in wanted}
    entry = entry_of(model)
    if entry.data == "offers" and "offers" in settings:
        other = "outcome" if "outcome" in entry.example().attributes else "amount"
        found["offers"] = [_renamed(words, other) for words in settings["offers"]]
    elif counts_options(agent) and "grid" in settings:
        width, height = width_height(replace(agent, grid=settings["grid"]))
        found["options"] = [str(width * height)]
    elif counts_options(agent) and "options" in settings:
        found["options"] = settings["options"]
    return found


def _renamed(words: str, other: str) -> str:
    """Amounts as a model calls them.

    >>> _renamed("amount=amount_1/amount_2", "outcome"), _renamed("delay=delay_1/0", "outcome")
    ('outcome=amount_1/amount_2', 'delay=delay_1/0')
    """
    name, sign, columns = words.partition("=")
    return f"{other}{sign}{columns}" if name in ("amount", "outcome") else words


def _filled(options: Options, settings: dict[str, Any]) -> Options:
    """Options with the settings of the task where they are as nobody typed them."""
    plain = type(options)()
    added = {
        field.name: settings[field.name]
        for field in fields(options)
        if field.name in settings and getattr(options, field.name) == getattr(plain, field.name)
    }
    return replace(options, **added)


def read_play(
    file: str, table: Played, compared: Compared, history: History, ready: Any
) -> tuple[StudyData, LandscapeFile | None, Reading]:
    """The data, the mean rewards if there are any, and what names lines of the file."""
    if compared.landscape is not None and compared.expected is not None:
        raise DataError(
            "--expected",
            "must be left out with --landscape",
            got="both",
            fix="Either tells the mean rewards.",
        )
    places = Declared(ready).locations
    reading = load_play(file, table.data(), history, places, is_counted=ready is None)
    landscape = None
    if compared.landscape is not None:
        columns, labels = list(reading.table.column_names), reading.arguments["options"]
        landscape = read_landscapes(compared.landscape, columns, compared.landscape_by, labels)
    with reading.in_lines():
        found = read_study(
            reading,
            conditions=compared.condition,
            landscape_by=compared.landscape_by or (None if landscape is None else landscape.by),
            expected=compared.expected,
            payoffs=compared.payoffs or None,
            payoff_noise=compared.payoff_noise,
        )
    _say_notes(found, reading)
    return found, landscape, reading


def _say_notes(found: StudyData, reading: Reading) -> None:
    """What was found beyond what was said when the table was read."""
    for note in found.notes:
        if note not in reading.doubts:
            say(f"Note: {in_options(reading.in_words(text_with_marks(note)))}")


def read_offers_study(file: str, table: Played, compared: Compared, model: str) -> StudyData:
    """The data of a study of choices among offers."""
    reading = load_offers(file, table.data(), replace(table.history(), linearized=None), model)
    with reading.in_lines():
        found = read_study(reading, conditions=compared.condition)
    _say_notes(found, reading)
    return found


def _is_experiment(file: str, table: Played, experiment: Experiment) -> bool:
    """Whether the file is a choice experiment: it is said to be, or its columns say so."""
    if experiment != Experiment():
        return True
    if file == STDIN:
        return False
    return kind_of(file, table.data(), table.history()) == "choices"


def read_experiment(
    file: str, table: Played, compared: Compared, experiment: Experiment
) -> tuple[StudyData, Model]:
    """The data of a study of a choice experiment, and the model: a weight for every attribute."""
    history = table.history()
    refuse(history, "with a choice experiment", names={*PLAYED, "offers"})
    data = replace(
        table.data(),
        attributes=experiment.attributes,
        opt_out=experiment.opt_out,
        reference=experiment.reference,
    )
    reading = read_as(open_raw(file, data), data, history, "choices")
    reading = replace(reading, data=with_formula(reading, data.attributes))
    model = Attributes(reading.data.names, price=experiment.price)
    say(f"Model: {model}.")
    return read_study(reading, conditions=compared.condition), model


DONE, NO_ESTIMATE = 0, 1
PAID = {"expected", "landscape", "landscape_by", "payoffs", "payoff_noise"}
PLAYED = {"reward", "is_choice", "scored", "executed", "gaps", "shown", "missing_reward", "block"}
STUDY_OF_PLAY = {"clock", "nominal_low", "nominal_high", "replicates", "bootstrap"}
NOT_IN_COMMAND = {"output", "resume", "json", "threads"}


def run_study_command(
    file: str | None,
    table: Played,
    compared: Compared,
    agent: Agent,
    analysis: Analysis,
    kept: Kept,
    experiment: Experiment,
) -> int:
    """Check everything that can be checked, then work; the exit code."""
    if file is None:
        raise DataError(
            "FILE", "must be given", got="none", fix="penchant simulate makes one to try."
        )
    if kept.output is None:
        raise DataError(
            "--output", "must name a folder for the results", got="none", fix="Try -o results."
        )
    if is_task(file):
        file, table, compared, agent = with_task(file, table, compared, agent)
    check_base(table.base)
    is_experiment = agent == Agent() and _is_experiment(file, table, experiment)
    if not is_experiment:
        refuse(experiment, "with --model" if agent.model else "without a choice experiment")
        agent = _with_model(agent, file, table)
    history = table.history(analysis.clock)
    of_offers = not is_experiment and entry_of(str(agent.model)).data == "offers"
    ready: Any = None
    if is_experiment:
        _refuse_play("with a choice experiment", compared, analysis)
    elif of_offers:
        _refuse_play(f"with --model {agent.model}", compared, analysis)
        ready = model_named(agent, 0)
    else:
        ready = ready_model(agent, table.data(), history)
    performance = _performance(compared, analysis)
    nominals = None if performance is False else _nominals(agent, analysis)
    _check_counts(analysis)
    weights = prior(analysis.prior)
    with StudyFolder(kept.output, resume=kept.resume) as folder:
        begun = time.perf_counter()
        if is_experiment:
            landscape = None
            data, model = read_experiment(file, table, compared, experiment)
        elif of_offers:
            data, landscape = read_offers_study(file, table, compared, str(agent.model)), None
            model = ready
        else:
            data, landscape, played = read_play(file, table, compared, history, ready)
            model = model_for(ready, played, agent)
        reading = time.perf_counter() - begun
        say(f"Study: {format_count(data.n_people, 'subject')}, {_amount(data)}.")
        with when_interrupted(lambda: _kept_words(folder, data)), _kept_said(folder, data):
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
            command = command_line(file, (table, experiment, compared, agent, analysis, kept))
            return _write(found, folder, file, command, kept)


def _with_model(agent: Agent, file: str, table: Played) -> Agent:
    """The model that is asked for; ucl, the paper's, where options have places."""
    if agent.model is not None:
        return agent
    placed = agent.grid is not None or agent.locations is not None
    check_model_given(placed, file, table.data(), table.history())
    say("Model: ucl, as options have places; --model for another.")
    return replace(agent, model="ucl")


def _amount(data: StudyData) -> str:
    if data.is_play:
        return format_count(len(data.episodes), "episode")
    return format_count(sum(trials.n_decisions for trials in data.episodes), "decision")


def _refuse_play(where: str, compared: Compared, analysis: Analysis) -> None:
    """Refuse options of play, which choices among offers have nothing of."""
    refuse(compared, where, names={*PAID, "performance"})
    refuse(analysis, where, names=STUDY_OF_PLAY)


def _performance(compared: Compared, analysis: Analysis) -> bool | None:
    """Whether performance is asked for; nominal points ask for it, as they are chosen by it."""
    points = analysis.nominal_low is not None or analysis.nominal_high is not None
    if compared.performance is False and points:
        raise DataError(
            "--no-performance",
            "must be left out with --nominal-low and --nominal-high",
            got="both",
            fix="The points are chosen by performance.",
        )
    return True if points else compared.performance


def _say_unused(analysis: Analysis, found: Study) -> None:
    """Say what has no effect where there is no performance."""
    asked = analysis.bootstrap not in (0, Analysis().bootstrap)
    if asked and found.data.is_play and not found.plan.performance:
        say("Note: --bootstrap has no effect without performance; --performance asks for it.")


def _check_counts(analysis: Analysis) -> None:
    for name in ("replicates", "bootstrap", "seed"):
        if getattr(analysis, name) < 0:
            raise DataError(
                f"--{name}",
                "must be a whole number, 0 or more",
                got=getattr(analysis, name),
                fix="Correct it.",
            )
    check_threads(analysis.threads)


def _nominals(agent: Agent, analysis: Analysis) -> Any:
    """Nominal points by performance: given, or the paper's."""
    given = {"low": analysis.nominal_low, "high": analysis.nominal_high}
    if analysis.exact_only:
        refuse(analysis, "with --exact-only", names={"nominal_low", "nominal_high"})
        return None
    if not any(given.values()):
        return PAPER
    usual: Mapping[Any, Any] = PAPER_NOMINALS if agent.model == "ucl" else {}
    points = {
        name: usual.get(name) if words is None else _point(words, f"--nominal-{name}", agent)
        for name, words in given.items()
    }
    return {name: point for name, point in points.items() if point is not None}


def _point(words: str, option: str, agent: Agent) -> RewardPrior | dict[str, float]:
    if agent.model == "ucl":
        try:
            return nominal(words)
        except DataError as error:
            raise error.rephrase(lambda text: text.replace("--linearized", option)) from None
    try:
        return {name.strip(): float(value) for name, value in _pairs(words)}
    except ValueError:
        raise DataError(
            option,
            "must be NAME=VALUE,...",
            got=repr(words),
            fix=f"Try {option} learning_rate=0.3.",
        ) from None


def _pairs(words: str) -> list[tuple[str, str]]:
    pairs = [tuple(part.split("=")) for part in words.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(words)
    return [(pair[0], pair[1]) for pair in pairs]


def _write(
    found: Study,
    folder: StudyFolder,
    file: str,
    command: str,
    kept: Kept,
) -> int:
    begun = time.perf_counter()
    said = list(map(in_options, summary_sentences(found)))
    try:
        report = found.write(
            folder.path,
            title=kept.title or f"A study of choices: {'stdin' if file == STDIN else _name(file)}",
            command=command,
            figures=kept.figures,
            overwrite=True,
            words=in_options,
        )
        found.timings["tables, figures, report"] = time.perf_counter() - begun
        _write_timings(found, folder)
    except (NotWrittenError, OSError):  # findings that cannot be kept can still be read
        print(json_text(_summary(found, None, said)) if kept.json else "\n".join(said))
        raise
    if kept.json:
        print(json_text(_summary(found, str(report), said)), end="")
    else:
        print("\n".join([*said, f"Report: {report}"]))
    usable = any(fit.exact.status in USABLE for fit in found.fits.values())
    return DONE if usable else NO_ESTIMATE


def _name(file: str) -> str:
    return Path(file).resolve().name


def _write_timings(found: Study, folder: StudyFolder) -> None:
    """How long it took, beside the results and not in them, which are the same every time."""
    total = sum(found.timings.values())
    document = {
        "seconds": found.timings,
        "share": {step: spent / total for step, spent in found.timings.items()},
        "note": "seconds of work, summed over threads, in the last run",
    }
    write_json(folder.path / "timings.json", document, overwrite=True)


def _summary(found: Study, report: str | None, said: Sequence[str]) -> dict[str, Any]:
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
        "left_out": _rows(found.left_out),
        "comparison": _rows(tests.differences),
        "overall": _rows(tests.overall),
        "paired": _rows(found.paired_tests),
        "findings": list(said),
        "seconds": found.timings,
    }


def _rows(tests: Sequence[Any]) -> list[dict[str, Any]]:
    return [{name: to_json(value) for name, value in vars(test).items()} for test in tests]


def command_line(file: str, groups: Sequence[Any]) -> str:
    """What one types for the same study; where it goes and how fast do not matter."""
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
def _kept_said(folder: StudyFolder, data: StudyData) -> Iterator[None]:
    """Where something cannot be written, say also what was kept before."""
    try:
        yield
    except NotWrittenError as error:
        error.fix += f" {_kept_words(folder, data)}"
        raise


def _kept_words(folder: StudyFolder, data: StudyData) -> str:
    n_parts = -(-len(data.subjects) // SUBJECTS_PER_PART)
    return (
        f"{min(folder.n_stored, n_parts)} of {n_parts} parts are kept in {folder.path}. "
        "The same command with --resume goes on."
    )
