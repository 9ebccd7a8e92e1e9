"""The command `compare`: models of task data or offers, and sets of attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penchant.argument_checks import check_threads
from penchant.cli.choice_input import select_attributes
from penchant.cli.fit_choices_command import is_scanned, parse_prior
from penchant.cli.fit_model_command import model_before_data, model_for_data
from penchant.cli.many_subjects import check_people, scan_files
from penchant.cli.model_settings import (
    LOCATION_OPTIONS,
    OPTIONS_OF_MODELS,
    build_named_model,
    task_model_spelling,
)
from penchant.cli.options import Agent, Data, History
from penchant.cli.result_output import output_result, reserve_file, reserve_outputs, table_result
from penchant.cli.table_input import (
    check_model_given,
    load_offers,
    load_play,
    open_raw,
    read_rows,
    report_reading,
    table_kind,
)
from penchant.cli.terminal import check_criterion, check_file, refuse, say
from penchant.cli.workflow_options import (
    AttributeSets,
    ComparedModels,
    ComparisonOptions,
    OutputOptions,
    PredictExperimentOptions,
    RankingOptions,
    TableOptions,
)
from penchant.errors import DataError, closest_match_hint, format_names
from penchant.figures.result_overview import overview
from penchant.files.output import OUTPUT_SUFFIXES, write_table
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
ONLY_CONSTANTS, ALL_ATTRIBUTES = "constants only", "all attributes"


def is_experiment(
    file: str | None,
    table: TableOptions,
    experiment: AttributeSets | PredictExperimentOptions,
    models: Sequence[str],
) -> bool:
    """Whether FILE is a choice experiment: it is said to be, or its columns say so.

    Raises
    ------
    DataError
        If models are named for one: its models are sets of attributes.
    """
    if experiment != type(experiment)():
        refuse_models(models, "with a choice experiment")
        return True
    if file is None or file == "-":
        return file == "-" and not models
    found = table_kind(file, table.data(), table.history()) == "choices"
    if found:
        refuse_models(models, f"as {file} is a choice experiment (options with attributes)")
    return found


def refuse_models(models: Sequence[str], where: str) -> None:
    """Refuse models for a choice experiment, which has attributes in place of a model."""
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


def experiment_options(
    table: TableOptions, experiment: AttributeSets | PredictExperimentOptions
) -> tuple[Data, History]:
    """Options of `fit` that read the table of a choice experiment as `compare` would."""
    history = table.history()
    refuse(history, "with a choice experiment", names={*TASK_COLUMNS, "offers"})
    data = table.data()
    return replace(
        data,
        decision=[part.strip() for name in data.decision for part in name.split(",")],
        option=experiment.option,
        opt_out=experiment.opt_out,
        reference=experiment.reference,
    ), history


def attribute_set_formulas(typed: Sequence[str]) -> dict[str, str]:
    """Formulas of sets of attributes by name; constants alone are added to a single set."""
    found: dict[str, str] = {}
    for formula in typed:
        name = {CONSTANTS: ONLY_CONSTANTS, "all": ALL_ATTRIBUTES}.get(
            formula.strip(), formula.strip()
        )
        if name in found:
            raise DataError(
                "--attributes", "must name each set once", got=f"{formula!r} twice", fix="Drop one."
            )
        found[name] = formula.strip()
    if not found or [*found] == [ONLY_CONSTANTS]:
        found = {ALL_ATTRIBUTES: "all", **found}
    if len(found) == 1:
        found[ONLY_CONSTANTS] = CONSTANTS
    return found


def read_sets(
    file: str | None, table: TableOptions, sets: AttributeSets, formulas: dict[str, str]
) -> tuple[Reading, Data]:
    """Read a choice experiment with the variables of every set; print the role of each column."""
    data, history = experiment_options(table, sets)
    reading = read_rows(open_raw(file, data), data, history, "choices", [*formulas.values()])
    return report_reading(reading), data


def experiment_folds(reading: Reading, word: str | None, pool: bool) -> Any:
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


def fit_best_set(
    found: ModelComparison, reading: Reading, prior: ParameterPrior | None, price: str | None
) -> Any:
    """Fit everybody's weights of the best set, or their willingness to pay."""
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
class PredictedRows:
    """Rows of a file with predictions as columns, and the fit that they come from."""

    table: pa.Table
    found: Latent
    names: tuple[str, ...]


def predict_experiment_rows(
    file: str | None,
    table: TableOptions,
    experiment: PredictExperimentOptions,
    prior: ParameterPrior | None,
    *,
    pool: bool,
    all_options: bool,
) -> PredictedRows:
    """Fit a choice experiment, and predict the choice, or the option, of every row."""
    data, history = experiment_options(table, experiment)
    data = replace(data, attributes=experiment.attributes)
    reading = report_reading(read_rows(open_raw(file, data), data, history, "choices"))
    reading = replace(reading, data=select_attributes(reading, experiment.attributes))
    together = pool or data.subject is None or not reading.subjects
    if together:
        if data.subject is None and reading.subjects:
            who = reading.columns["subject"]
            say(f"Note: one estimate for all; --subject {who} gives one each.")
        estimates: Any = fit(reading, parameter_prior=prior)
    else:
        estimates = fit_each(reading, parameter_prior=prior)
    found = beliefs(estimates, reading)
    return PredictedRows(
        _add_prediction_columns(found, reading, all_options), found, tuple(reading.data.names)
    )


def _add_prediction_columns(found: Latent, reading: Reading, all_options: bool) -> pa.Table:
    """Add columns of predictions: one row per decision in a wide table, per option in a long one.

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
            columns[name] = _values_by_row(values[owner, place], rows, n)
    else:
        at = rows[first[:-1]]
        for name in ("probability", "log_probability", "entropy", "value"):
            columns[name] = _values_by_row(found[name], at, n)
        if all_options:
            for name, values in found.options.items():
                for i, label in enumerate(choices.option_labels or range(values.shape[1])):
                    columns[f"{name}_{label}"] = _values_by_row(values[:, i], at, n)
    made: pa.Table = reading.table
    for name, values in columns.items():
        made = made.append_column(
            name if name not in made.column_names else f"model_{name}", pa.array(values)
        )
    return made


def _values_by_row(values: Any, rows: Any, n: int) -> list[float | None]:
    found: list[float | None] = [None] * n
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        found[row] = value if np.isfinite(value) else None
    return found


SHARED_MODEL_OPTIONS = ("grid", "locations", "noise_variance", "length_scale")
UCL_OPTIONS = {*LOCATION_OPTIONS, "noise_variance", "length_scale"}
GAMBLE_MODELS = ("expected-utility", "prospect")
UCL_SETTINGS = ("kernel", "cooling", "bonus")  # options of their own elsewhere


@dataclass(frozen=True)
class ComparedData:
    """Models by name, and the choices that they are fitted to.

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


def read_compared_data(
    file: str | None,
    data: Data,
    history: History,
    compared_models: ComparedModels,
    *,
    alone: bool = False,
) -> ComparedData:
    """Read the table and build the models for it; `alone` allows a single model."""
    agents = agents_by_name(compared_models, alone=alone)
    kinds = {entry_of(str(agent.model)).data for agent in agents.values()}
    if len(kinds) > 1:
        raise DataError(
            "--model",
            "must be all of play, or all of offers",
            got="both",
            fix="Compare those of one kind: penchant models lists them.",
        )
    if file is not None and is_scanned(file, play=True):
        every = {name: scan_files(file, data, history, agent) for name, agent in agents.items()}
        found = next(iter(every.values()))
        check_people(found)
        return ComparedData({name: one.model for name, one in every.items()}, found.scan, None)
    if kinds == {"offers"}:
        models = {name: build_named_model(agent, 0) for name, agent in agents.items()}
        offered = load_offers(file, data, history, next(iter(agents)))
        return ComparedData(models, offered.data, offered)
    ready = {name: model_before_data(agent, data, history) for name, agent in agents.items()}
    places = next((m.locations for m in ready.values() if Declared(m).locations is not None), None)
    counted = any(model is None for model in ready.values())
    reading = load_play(file, data, history, places, is_counted=counted)
    return ComparedData(_build_models(agents, ready, reading), reading.data, reading)


def _build_models(
    agents: dict[str, Agent], ready: dict[str, Any], reading: Reading
) -> dict[str, Any]:
    """Build the models for these data; assumptions about the options are printed once."""
    found: dict[str, Any] = {}
    reported: set[str] = set()
    for name, agent in agents.items():
        model = ready[name]
        placed = Declared(model).locations is not None
        kind = "counted" if model is None else "placed" if placed else "own"
        if kind == "counted" and kind in reported:
            found[name] = build_named_model(agent, reading.n_options)
        elif kind == "placed" and kind in reported:
            found[name] = model
        else:
            found[name] = model_for_data(model, reading, agent)
        reported.add(kind)
    sizes = {name: model.n_options for name, model in found.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise DataError(
            "--model",
            "must be of the same options",
            got=counts,
            fix="Give --options for those that count.",
        )
    return found


def refuse_one_alone(compared_models: ComparedModels) -> None:
    """Refuse a comparison of a single model."""
    if len(compared_models.model) == 1:
        raise DataError(
            "--model",
            "must be given twice or more",
            got=f"{compared_models.model[0]} alone",
            fix=f"{_suggest_second_model(compared_models.model[0])}; or use penchant fit for "
            "one model, and --group to compare groups under it.",
        )


def agents_by_name(
    compared_models: ComparedModels, of_the_task: Collection[str] = (), *, alone: bool = False
) -> dict[str, Agent]:
    """Options of `fit` for each model that is compared, by the model as it was typed.

    Parameters
    ----------
    rivals
        The models.
    of_the_task
        Options that say something of the task, too: no model need take them.
    alone
        One model will do.
    """
    if not compared_models.model:
        raise DataError(
            "--model",
            "must be given, once for each model",
            got="none",
            fix="Try --model q-learning --model random.",
        )
    if not alone:
        refuse_one_alone(compared_models)
    found: dict[str, Agent] = {}
    used: set[str] = set(of_the_task)
    for words in compared_models.model:
        if words in found:
            raise DataError(
                "--model", "must name each model once", got=f"{words} twice", fix="Drop one."
            )
        name, _, settings = words.partition(":")
        taken = UCL_OPTIONS if name == "ucl" else OPTIONS_OF_MODELS.get(entry_of(name).name, set())
        given = {
            option: getattr(compared_models, option)
            for option in SHARED_MODEL_OPTIONS
            if option in taken
        }
        used |= taken
        found[words] = _agent_of_model(name, [part for part in settings.split(",") if part], given)
    for option in SHARED_MODEL_OPTIONS:
        if getattr(compared_models, option) is not None and option not in used:
            raise DataError(
                f"--{option.replace('_', '-')}",
                "must be left out with these models",
                got=getattr(compared_models, option),
                fix="None of them takes it.",
            )
    return found


def _suggest_second_model(words: str) -> str:
    """Suggest a second model: one that learns nothing, or another model of offers."""
    name = words.partition(":")[0]
    if entry_of(name).data == "offers":
        kin = ("hyperbolic", "exponential")
        kin = kin if name in (*kin, "quasi-hyperbolic", "constant-sensitivity") else GAMBLE_MODELS
        return f"Add another, such as --model {next(other for other in kin if other != name)}"
    if name == "random":
        return "Add another, such as --model q-learning"
    return "Add another, such as --model random, which learns nothing"


def _agent_of_model(name: str, settings: list[str], given: dict[str, Any]) -> Agent:
    """Options of `fit` for one model, with those settings of ucl that are options of their own."""
    if name == "ucl":
        for word in list(settings):
            setting, _, value = word.partition("=")
            if setting in UCL_SETTINGS:
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
    table: TableOptions,
    compared_models: ComparedModels,
    sets: AttributeSets,
    ranking: RankingOptions,
    comparison: ComparisonOptions,
    decisions: Path | None,
    output_options: OutputOptions,
) -> int:
    """Run `compare`: rank models, compare groups, print and write; return the exit code."""
    check_file(file)
    check_threads(ranking.threads)
    check_criterion(ranking.criterion, ranking.folds)
    weights = parse_prior(ranking.prior)
    if comparison.group is None:
        refuse(comparison, "without --group", names={"covariates"})
    _check_decisions(decisions, ranking, output_options)
    with (
        reserve_outputs(output_options, read=file),
        reserve_file(
            decisions,
            overwrite=output_options.overwrite,
            suffixes=OUTPUT_SUFFIXES,
            read=file,
            option="--decisions",
        ),
    ):
        criterion: Any = ranking.criterion and ranking.criterion.replace("-", "_")
        how = {"criterion": criterion, "parameter_prior": weights, "threads": ranking.threads}
        found: ModelComparison | None
        if _is_one_model(table, compared_models, comparison):
            refuse(ranking, _WITH_ONE_MODEL, names={"folds", "criterion"})
            refuse(comparison, _WITH_ONE_MODEL, names={"nested", "average"})
            found, estimates = None, _fit_one_model(file, table, compared_models, comparison, how)
        elif is_experiment(file, table, sets, compared_models.model):
            found, estimates = _compare_sets(
                file, table, compared_models, sets, ranking, comparison, how
            )
        else:
            check_model_given(bool(compared_models.model), file, table.data(), table.history())
            found, estimates = _compare_models(
                file, table, compared_models, ranking, comparison, how
            )
        if decisions is not None and found is not None:
            write_table(decisions, found.decisions("pyarrow"), overwrite=output_options.overwrite)
            say(f"Written: {decisions}")
        groups = None if estimates is None else _compare_estimates_of_groups(estimates, comparison)
        _show_comparison(found, groups, output_options)
    return 0


_WITH_ONE_MODEL = "with one model"  # whose parameters are compared between groups, and nothing else


def _is_one_model(
    table: TableOptions, compared_models: ComparedModels, comparison: ComparisonOptions
) -> bool:
    """Whether groups are compared under one model: the one named, or that of the task."""
    named = len(compared_models.model) or (table.task is not None)
    return comparison.group is not None and named == 1


def _fit_one_model(
    file: str | None,
    table: TableOptions,
    compared_models: ComparedModels,
    comparison: ComparisonOptions,
    how: dict[str, Any],
) -> Any:
    """Fit everybody's parameters under a single model."""
    if not compared_models.model and table.task is not None:
        compared_models = replace(compared_models, model=[task_model_spelling(table.task)])
    field = read_compared_data(file, table.data(), table.history(), compared_models, alone=True)
    return _fit_everybody(field, compared_models.model[0], comparison, how)


def _fit_everybody(
    field: ComparedData, name: str, comparison: ComparisonOptions, how: dict[str, Any]
) -> Any:
    """Fit everybody's parameters under a model, to compare groups in them."""
    if field.reading is None:
        raise DataError(
            "--group",
            "must be left out with several files",
            got=comparison.group,
            fix="Use penchant population --covariates for these.",
        )
    say(f"Groups: everybody's parameters under {name}, {describe_estimator(how)}.")
    fitted = {key: how[key] for key in ("parameter_prior", "threads")}
    return fit_each(field.reading, field.models[name], **fitted)


def _compare_models(
    file: str | None,
    table: TableOptions,
    compared_models: ComparedModels,
    ranking: RankingOptions,
    comparison: ComparisonOptions,
    how: dict[str, Any],
) -> tuple[ModelComparison, Any]:
    """Compare models of task data or offers; fit everybody under the best if groups are given."""
    nested = _nested_pairs(comparison.nested, compared_models.model)
    refuse_one_alone(compared_models)
    field = read_compared_data(file, table.data(), table.history(), compared_models)
    folds: Any = ranking.folds
    if folds is not None and folds != "block":
        folds = int(folds) if _is_whole(folds) else fold_labels(field.reading, folds)
    found = compare_models(
        field.models, field.data, folds=folds, nested=nested, average=comparison.average, **how
    )
    if comparison.group is None or found.best is None:
        return found, None
    return found, _fit_everybody(field, found.best, comparison, how)


def _compare_sets(
    file: str | None,
    table: TableOptions,
    compared_models: ComparedModels,
    sets: AttributeSets,
    ranking: RankingOptions,
    comparison: ComparisonOptions,
    how: dict[str, Any],
) -> tuple[ModelComparison, Any]:
    """Compare sets of attributes; fit everybody's weights of the best where groups are given."""
    refuse(compared_models, "with a choice experiment")
    refuse(comparison, "with a choice experiment", names={"average"})
    if comparison.group is None:
        refuse(sets, "without --group", names={"price"})
    formulas = attribute_set_formulas(sets.attributes)
    nested = _nested_pairs(comparison.nested, [*formulas])
    reading, data = read_sets(file, table, sets, formulas)
    pool = data.subject is None or not reading.subjects
    if pool and reading.subjects:
        who = reading.columns["subject"]
        say(f"Note: one set of weights for all subjects; --subject {who} for one each.")
    folds = experiment_folds(reading, ranking.folds, pool)
    found = compare_models(formulas, reading, folds=folds, nested=nested, pool=pool, **how)
    if comparison.group is None or found.best is None:
        return found, None
    say(f"Groups: everybody's weights of {found.best}, {describe_estimator(how)}.")
    estimates = fit_best_set(found, reading, how["parameter_prior"], sets.price)
    return found, replace(estimates, people=reading.groups)


def describe_estimator(how: dict[str, Any]) -> str:
    """Describe the estimator of everybody's parameters: maximum likelihood, or its prior."""
    prior_used = how["parameter_prior"]
    return "maximum likelihood" if prior_used is None else f"{prior_used} prior"


def _compare_estimates_of_groups(estimates: Any, comparison: ComparisonOptions) -> GroupComparison:
    """Compare groups in everybody's parameters, or test their relation with a score."""
    doubt = price_sensitivity_warning(zip(estimates.subjects, estimates, strict=True))
    if doubt:
        say(f"Note: {doubt}")
    return compare_groups(estimates, by=comparison.group, covariates=comparison.covariates or None)


def _show_comparison(
    found: ModelComparison | None, groups: GroupComparison | None, output_options: OutputOptions
) -> None:
    """Print models and groups, and write the files that were asked for."""
    if found is None:
        assert groups is not None
        alone = table_result(groups.table(), groups.document, groups.to_arrow)
        output_result(alone, output_options, lambda: overview(groups))
        return

    def document() -> dict[str, Any]:
        more = {} if groups is None else {"groups": groups.document()}
        return found.document() | more

    result = table_result(found.table(), document, found.to_arrow)
    output_result(result, output_options, lambda: overview(found))
    if groups is not None and not output_options.json:
        print(f"\n{groups.table().text(MAX_TABLE_WIDTH)}")


def _nested_pairs(words: Sequence[str], models: Sequence[str]) -> list[tuple[str, str]]:
    """Parse pairs of nested models, which are named by their position from 1."""
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


def _check_decisions(
    decisions: Path | None, ranking: RankingOptions, output_options: OutputOptions
) -> None:
    if decisions is None:
        return
    if ranking.folds is None:
        raise DataError(
            "--decisions",
            "must come with --folds",
            got="none",
            fix="It holds decisions that were held out.",
        )
    if decisions in (output_options.output, output_options.figure):
        raise DataError(
            "--decisions", "must be a file of its own", got=decisions, fix="Name another."
        )


def _is_whole(word: str) -> bool:
    return word.strip().isdigit()
