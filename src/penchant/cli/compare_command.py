"""What `compare` does, with models as it spells them and with sets of attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.argument_checks import check_threads
from penchant.cli.choice_input import with_formula
from penchant.cli.fit_choices_command import is_scanned, prior
from penchant.cli.fit_model_command import model_for, ready_model
from penchant.cli.many_subjects import check_people, scanned
from penchant.cli.model_settings import PLACES, TAKEN, model_named, task_words
from penchant.cli.options import Agent, Data, History
from penchant.cli.result_output import kept, of_table, reserved, shown
from penchant.cli.table_input import (
    check_model_given,
    kind_of,
    load_offers,
    load_play,
    open_raw,
    read_rows,
    said,
)
from penchant.cli.terminal import check_criterion, check_file, refuse, say
from penchant.cli.workflow_options import Contest, Described, Judged, Played, Rivals, Sets, Written
from penchant.errors import DataError, closest_match_hint, format_names
from penchant.figures.result_overview import overview
from penchant.files.output import TABLES, write_table
from penchant.inference.fit import fit
from penchant.inference.fit_each import fit_each
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared
from penchant.models.offers.attributes import Attributes
from penchant.population.compare_groups import compare_groups
from penchant.population.group_comparison_result import GroupComparison
from penchant.population.subject_estimates import price_sensitivity_warning
from penchant.reading.event_rows import event_labels
from penchant.reading.formula_sets import CONSTANTS
from penchant.result_tables import MAX_TABLE_WIDTH
from penchant.softmax.prior import ParameterPrior
from penchant.tables.reading import Reading
from penchant.workflow.compare_models import compare_models
from penchant.workflow.latent_variables import Latent, beliefs
from penchant.workflow.model_comparison_results import ModelComparison

PLAYED = {"reward", "is_choice", "scored", "executed", "gaps", "shown", "missing_reward", "block"}
ONLY_CONSTANTS, EVERY = "constants only", "all attributes"


def is_experiment(
    file: str | None, table: Played, described: Sets | Described, models: Sequence[str]
) -> bool:
    """Whether FILE is a choice experiment: it is said to be, or its columns say so.

    Raises
    ------
    DataError
        If models are named for one: its models are sets of attributes.
    """
    if described != type(described)():
        refuse_models(models, "with a choice experiment")
        return True
    if file is None or file == "-":
        return file == "-" and not models
    found = kind_of(file, table.data(), table.history()) == "choices"
    if found:
        refuse_models(models, f"as {file} is a choice experiment (options with attributes)")
    return found


def refuse_models(models: Sequence[str], where: str) -> None:
    """A choice experiment has attributes in place of a model."""
    if models:
        raise DataError(
            "--model",
            f"must be left out {where}",
            got=models[0],
            fix=(
                "Say what describes its options: --attributes 'price + time'; all that tell them "
                "apart if not given."
            ),
        )


def data_of(table: Played, described: Sets | Described) -> tuple[Data, History]:
    """What was typed, as `fit` has it."""
    history = table.history()
    refuse(history, "with a choice experiment", names={*PLAYED, "offers"})
    data = table.data()
    return replace(
        data,
        decision=[part.strip() for name in data.decision for part in name.split(",")],
        option=described.option,
        opt_out=described.opt_out,
        reference=described.reference,
    ), history


def rival_formulas(typed: Sequence[str]) -> dict[str, str]:
    """Sets of attributes by what they are called; constants alone, where there would be one set."""
    found: dict[str, str] = {}
    for formula in typed:
        name = {CONSTANTS: ONLY_CONSTANTS, "all": EVERY}.get(formula.strip(), formula.strip())
        if name in found:
            raise DataError(
                "--attributes", "must name each set once", got=f"{formula!r} twice", fix="Drop one."
            )
        found[name] = formula.strip()
    if not found or [*found] == [ONLY_CONSTANTS]:
        found = {EVERY: "all", **found}
    if len(found) == 1:
        found[ONLY_CONSTANTS] = CONSTANTS
    return found


def read_sets(
    file: str | None, table: Played, sets: Sets, formulas: dict[str, str]
) -> tuple[Reading, Data]:
    """The choice experiment with the variables of every set; says what was taken for what."""
    data, history = data_of(table, sets)
    reading = read_rows(open_raw(file, data), data, history, "choices", [*formulas.values()])
    return said(reading), data


def folds_of(reading: Reading, word: str | None, pool: bool) -> Any:
    """Folds as `compare_models` takes them: a number, subject, or the labels of a column."""
    if word is None or word == "subject":
        return word
    if word.strip().isdigit():
        return int(word)
    if word == reading.columns.get("subject") and pool:
        return "subject"
    columns = reading.table.column_names
    if word not in columns:
        raise DataError(
            "--folds",
            "must be a number, subject, or a column, for a choice experiment",
            got=f"{word!r}, but the columns are {format_names(columns)}",
            fix=closest_match_hint(word, columns) or "Try --folds 5.",
        )
    labels = reading.table.column(word).to_pylist()
    first = reading.arguments["rows"][reading.data.first_row[:-1]]
    return [labels[row] for row in first.tolist()]


def estimates_of_best(
    found: ModelComparison, reading: Reading, prior: ParameterPrior | None, price: str | None
) -> Any:
    """Everybody's weights of the best set, or what its attributes are worth."""
    assert found.best is not None
    names = found.models[found.best].weights
    choices = reading.data.select(names)
    if choices.subject is None:
        raise DataError(
            "--subject",
            "must be given with --group",
            got="none, and no column has a usual name",
            fix="Name the column that says who chose.",
        )
    if price is None:
        return fit_each(choices, parameter_prior=prior)
    return fit_each(choices, Attributes(names, price=price), parameter_prior=prior)


@dataclass(frozen=True)
class Predicted:
    """The rows of the file with columns added, and what they were made with."""

    table: pa.Table
    found: Latent
    names: tuple[str, ...]


def predicted_rows(
    file: str | None,
    table: Played,
    described: Described,
    prior: ParameterPrior | None,
    *,
    pool: bool,
    all_options: bool,
) -> Predicted:
    """Fit a choice experiment, and say of every row how likely its choice, or its option, was."""
    data, history = data_of(table, described)
    data = replace(data, attributes=described.attributes)
    reading = said(read_rows(open_raw(file, data), data, history, "choices"))
    reading = replace(reading, data=with_formula(reading, described.attributes))
    together = pool or data.subject is None or not reading.subjects
    if together:
        if data.subject is None and reading.subjects:
            who = reading.columns["subject"]
            say(f"Note: one estimate for all; --subject {who} gives one each.")
        estimates: Any = fit(reading, parameter_prior=prior)
    else:
        estimates = fit_each(reading, parameter_prior=prior)
    found = beliefs(estimates, reading)
    return Predicted(_laid(found, reading, all_options), found, tuple(reading.data.names))


def _laid(found: Latent, reading: Reading, all_options: bool) -> pa.Table:
    """Columns beside the rows of the table: one per decision in a wide one, per option in a long.

    A long table has the probability and the objective of every row's own option.
    """
    choices, rows = reading.data, reading.arguments["rows"]
    n, first = len(reading.table), choices.first_row
    long = reading.columns.get("option") is not None
    columns: dict[str, Any] = {}
    if long:
        sizes = np.diff(first)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(owner)) - first[:-1][owner]
        for name, values in found.options.items():
            columns[name] = _placed(values[owner, place], rows, n)
    else:
        at = rows[first[:-1]]
        for name in ("probability", "log_probability", "entropy", "value"):
            columns[name] = _placed(found[name], at, n)
        if all_options:
            for name, values in found.options.items():
                for i, label in enumerate(choices.option_labels or range(values.shape[1])):
                    columns[f"{name}_{label}"] = _placed(values[:, i], at, n)
    made: pa.Table = reading.table
    for name, values in columns.items():
        made = made.append_column(
            name if name not in made.column_names else f"model_{name}", pa.array(values)
        )
    return made


def _placed(values: Any, rows: Any, n: int) -> list[float | None]:
    found: list[float | None] = [None] * n
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        found[row] = value if np.isfinite(value) else None
    return found


SHARED = ("grid", "locations", "noise_variance", "length_scale")
OF_UCL = {*PLACES, "noise_variance", "length_scale"}
GAMBLES = ("expected-utility", "prospect")
SETTINGS_OF_UCL = ("kernel", "cooling", "bonus")  # options of their own elsewhere


@dataclass(frozen=True)
class Contenders:
    """Models by name, and the choices that they explain.

    Attributes
    ----------
    models
        By what was typed.
    data
        Choices of all subjects; a scan, where they are in several files.
    reading
        The table that they come from; None for several files.
    """

    models: dict[str, Any]
    data: Any
    reading: Reading | None


def contenders(
    file: str | None, data: Data, history: History, rivals: Rivals, *, alone: bool = False
) -> Contenders:
    """Read the table and make the models for it; one model will do where it may stand alone."""
    agents = rival_agents(rivals, alone=alone)
    kinds = {entry_of(str(agent.model)).data for agent in agents.values()}
    if len(kinds) > 1:
        raise DataError(
            "--model",
            "must be all of play, or all of offers",
            got="both",
            fix="Compare those of one kind: penchant models lists them.",
        )
    if file is not None and is_scanned(file, play=True):
        every = {name: scanned(file, data, history, agent) for name, agent in agents.items()}
        found = next(iter(every.values()))
        check_people(found)
        return Contenders({name: one.model for name, one in every.items()}, found.scan, None)
    if kinds == {"offers"}:
        models = {name: model_named(agent, 0) for name, agent in agents.items()}
        offered = load_offers(file, data, history, next(iter(agents)))
        return Contenders(models, offered.data, offered)
    ready = {name: ready_model(agent, data, history) for name, agent in agents.items()}
    places = next((m.locations for m in ready.values() if Declared(m).locations is not None), None)
    counted = any(model is None for model in ready.values())
    reading = load_play(file, data, history, places, is_counted=counted)
    return Contenders(_models(agents, ready, reading), reading.data, reading)


def _models(agents: dict[str, Agent], ready: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """The models for these data; assumptions about the options are reported once."""
    found: dict[str, Any] = {}
    said: set[str] = set()
    for name, agent in agents.items():
        model = ready[name]
        placed = Declared(model).locations is not None
        kind = "counted" if model is None else "placed" if placed else "own"
        if kind == "counted" and kind in said:
            found[name] = model_named(agent, reading.n_options)
        elif kind == "placed" and kind in said:
            found[name] = model
        else:
            found[name] = model_for(model, reading, agent)
        said.add(kind)
    sizes = {name: model.n_options for name, model in found.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise DataError(
            "--model",
            "must be of the same options",
            got=told,
            fix="Give --options for those that count.",
        )
    return found


def refuse_one_alone(rivals: Rivals) -> None:
    """One model is not compared, whatever the table is."""
    if len(rivals.model) == 1:
        raise DataError(
            "--model",
            "must be given twice or more",
            got=f"{rivals.model[0]} alone",
            fix=(
                f"{_rival(rivals.model[0])}; or use penchant fit for one model, and --group to "
                "compare groups under it."
            ),
        )


def rival_agents(
    rivals: Rivals, of_the_task: Collection[str] = (), *, alone: bool = False
) -> dict[str, Agent]:
    """What `fit` would be told of each model, by what was typed.

    Parameters
    ----------
    rivals
        The models.
    of_the_task
        Options that say something of the task, too: no model need take them.
    alone
        One model will do.
    """
    if not rivals.model:
        raise DataError(
            "--model",
            "must be given, once for each model",
            got="none",
            fix="Try --model q-learning --model random.",
        )
    if not alone:
        refuse_one_alone(rivals)
    found: dict[str, Agent] = {}
    used: set[str] = set(of_the_task)
    for words in rivals.model:
        if words in found:
            raise DataError(
                "--model", "must name each model once", got=f"{words} twice", fix="Drop one."
            )
        name, _, settings = words.partition(":")
        taken = OF_UCL if name == "ucl" else TAKEN.get(entry_of(name).name, set())
        given = {option: getattr(rivals, option) for option in SHARED if option in taken}
        used |= taken
        found[words] = _agent(name, [part for part in settings.split(",") if part], given)
    for option in SHARED:
        if getattr(rivals, option) is not None and option not in used:
            raise DataError(
                f"--{option.replace('_', '-')}",
                "must be left out with these models",
                got=getattr(rivals, option),
                fix="None of them takes it.",
            )
    return found


def _rival(words: str) -> str:
    """A model to compare this one with: one that learns nothing, or another of its kind."""
    name = words.partition(":")[0]
    if entry_of(name).data == "offers":
        kin = ("hyperbolic", "exponential")
        kin = kin if name in (*kin, "quasi-hyperbolic", "constant-sensitivity") else GAMBLES
        return f"Add another, such as --model {next(other for other in kin if other != name)}"
    if name == "random":
        return "Add another, such as --model q-learning"
    return "Add another, such as --model random, which learns nothing"


def _agent(name: str, settings: list[str], given: dict[str, Any]) -> Agent:
    """What `fit` would be told of one model."""
    if name == "ucl":
        for word in list(settings):
            setting, _, value = word.partition("=")
            if setting in SETTINGS_OF_UCL:
                given[setting] = value
                settings.remove(word)
    return Agent(model=name, settings=settings, **given)


def fold_labels(reading: Reading | None, column: str) -> list[Any]:
    """The fold of every event, by a column of the table."""
    if reading is None or reading.kind != "play":
        raise DataError(
            "--folds",
            "must be a number or block for choices among offers",
            got=repr(column),
            fix="Try --folds 5.",
        )
    if column not in reading.table.column_names:
        raise DataError(
            "--folds",
            "must be a number, block, or a column",
            got=f"{column!r}, but the columns are {', '.join(reading.table.column_names)}",
            fix="Correct it.",
        )
    return event_labels(reading, column)


def run_compare(
    file: str | None,
    table: Played,
    rivals: Rivals,
    sets: Sets,
    judged: Judged,
    contest: Contest,
    decisions: Path | None,
    written: Written,
) -> int:
    """Compare, write, print; the exit code."""
    check_file(file)
    check_threads(judged.threads)
    check_criterion(judged.criterion, judged.folds)
    weights = prior(judged.prior)
    if contest.group is None:
        refuse(contest, "without --group", names={"covariates"})
    _check_decisions(decisions, judged, written)
    with (
        kept(written, read=file),
        reserved(
            decisions,
            overwrite=written.overwrite,
            suffixes=TABLES,
            read=file,
            option="--decisions",
        ),
    ):
        criterion: Any = judged.criterion and judged.criterion.replace("-", "_")
        how = {"criterion": criterion, "parameter_prior": weights, "threads": judged.threads}
        found: ModelComparison | None
        if _is_one_model(table, rivals, contest):
            refuse(judged, _ALONE, names={"folds", "criterion"})
            refuse(contest, _ALONE, names={"nested", "average"})
            found, estimates = None, _one_model(file, table, rivals, contest, how)
        elif is_experiment(file, table, sets, rivals.model):
            found, estimates = _sets_compared(file, table, rivals, sets, judged, contest, how)
        else:
            check_model_given(bool(rivals.model), file, table.data(), table.history())
            found, estimates = _models_compared(file, table, rivals, judged, contest, how)
        if decisions is not None and found is not None:
            write_table(decisions, found.decisions("pyarrow"), overwrite=written.overwrite)
            say(f"Written: {decisions}")
        groups = None if estimates is None else _groups(estimates, contest)
        _show(found, groups, written)
    return 0


_ALONE = "with one model"  # whose parameters are compared between groups, and nothing else


def _is_one_model(table: Played, rivals: Rivals, contest: Contest) -> bool:
    """Groups are compared under one model: the one that is named, or that of the task."""
    named = len(rivals.model) or (table.task is not None)
    return contest.group is not None and named == 1


def _one_model(
    file: str | None, table: Played, rivals: Rivals, contest: Contest, how: dict[str, Any]
) -> Any:
    """Everybody's estimates under one model."""
    if not rivals.model and table.task is not None:
        rivals = replace(rivals, model=[task_words(table.task)])
    field = contenders(file, table.data(), table.history(), rivals, alone=True)
    return _everybody(field, rivals.model[0], contest, how)


def _everybody(field: Contenders, name: str, contest: Contest, how: dict[str, Any]) -> Any:
    """Everybody's parameters under a model, for groups."""
    if field.reading is None:
        raise DataError(
            "--group",
            "must be left out with several files",
            got=contest.group,
            fix="Use penchant population --covariates for these.",
        )
    say(f"Groups: everybody's parameters under {name}, {how_fitted(how)}.")
    fitted = {key: how[key] for key in ("parameter_prior", "threads")}
    return fit_each(field.reading, field.models[name], **fitted)


def _models_compared(
    file: str | None,
    table: Played,
    rivals: Rivals,
    judged: Judged,
    contest: Contest,
    how: dict[str, Any],
) -> tuple[ModelComparison, Any]:
    """Models of play or of offers; and everybody's estimates under the best, for groups."""
    nested = _pairs(contest.nested, rivals.model)
    refuse_one_alone(rivals)
    field = contenders(file, table.data(), table.history(), rivals)
    folds: Any = judged.folds
    if folds is not None and folds != "block":
        folds = int(folds) if _is_whole(folds) else fold_labels(field.reading, folds)
    found = compare_models(
        field.models, field.data, folds=folds, nested=nested, average=contest.average, **how
    )
    if contest.group is None or found.best is None:
        return found, None
    return found, _everybody(field, found.best, contest, how)


def _sets_compared(
    file: str | None,
    table: Played,
    rivals: Rivals,
    sets: Sets,
    judged: Judged,
    contest: Contest,
    how: dict[str, Any],
) -> tuple[ModelComparison, Any]:
    """Sets of attributes of a choice experiment; and everybody's weights of the best."""
    refuse(rivals, "with a choice experiment")
    refuse(contest, "with a choice experiment", names={"average"})
    if contest.group is None:
        refuse(sets, "without --group", names={"price"})
    formulas = rival_formulas(sets.attributes)
    nested = _pairs(contest.nested, [*formulas])
    reading, data = read_sets(file, table, sets, formulas)
    pool = data.subject is None or not reading.subjects
    if pool and reading.subjects:
        who = reading.columns["subject"]
        say(f"Note: one set of weights for all subjects; --subject {who} for one each.")
    folds = folds_of(reading, judged.folds, pool)
    found = compare_models(formulas, reading, folds=folds, nested=nested, pool=pool, **how)
    if contest.group is None or found.best is None:
        return found, None
    say(f"Groups: everybody's weights of {found.best}, {how_fitted(how)}.")
    estimates = estimates_of_best(found, reading, how["parameter_prior"], sets.price)
    return found, replace(estimates, people=reading.groups)


def how_fitted(how: dict[str, Any]) -> str:
    """What everybody's parameters are fitted by."""
    prior_used = how["parameter_prior"]
    return "maximum likelihood" if prior_used is None else f"{prior_used} prior"


def _groups(estimates: Any, contest: Contest) -> GroupComparison:
    """Groups compared in everybody's parameters, or a score with which they go."""
    doubt = price_sensitivity_warning(zip(estimates.subjects, estimates, strict=True))
    if doubt:
        say(f"Note: {doubt}")
    return compare_groups(estimates, by=contest.group, covariates=contest.covariates or None)


def _show(found: ModelComparison | None, groups: GroupComparison | None, written: Written) -> None:
    """Print the models and the groups, and keep what is asked for."""
    if found is None:
        assert groups is not None
        alone = of_table(groups.table(), groups.document, groups.to_arrow)
        shown(alone, written, lambda: overview(groups))
        return

    def document() -> dict[str, Any]:
        more = {} if groups is None else {"groups": groups.document()}
        return found.document() | more

    result = of_table(found.table(), document, found.to_arrow)
    shown(result, written, lambda: overview(found))
    if groups is not None and not written.json:
        print(f"\n{groups.table().text(MAX_TABLE_WIDTH)}")


def _pairs(words: Sequence[str], models: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of models by their places."""
    found = []
    for word in words:
        parts = word.split(",")
        if len(parts) != 2 or not all(_is_whole(part) for part in parts):
            raise DataError(
                "--nested",
                "must be two places of models, SMALLER,LARGER",
                got=repr(word),
                fix="Try --nested 1,2.",
            )
        places = [int(part) for part in parts]
        if not all(1 <= place <= len(models) for place in places):
            raise DataError(
                "--nested",
                f"must name models by their place, 1 to {len(models)}",
                got=repr(word),
                fix="Correct it.",
            )
        found.append((models[places[0] - 1], models[places[1] - 1]))
    return found


def _check_decisions(decisions: Path | None, judged: Judged, written: Written) -> None:
    if decisions is None:
        return
    if judged.folds is None:
        raise DataError(
            "--decisions",
            "must come with --folds",
            got="none",
            fix="It holds decisions that were held out.",
        )
    if decisions in (written.output, written.figure):
        raise DataError(
            "--decisions", "must be a file of its own", got=decisions, fix="Name another."
        )


def _is_whole(word: str) -> bool:
    return word.strip().isdigit()
