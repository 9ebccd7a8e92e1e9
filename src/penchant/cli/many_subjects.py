"""Many people: what `fit` does with files that are scanned, and what `population` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penchant._typing import Matrix
from penchant.argument_checks import check_level, check_threads
from penchant.choices import Choices
from penchant.cli.choice_input import load_choices
from penchant.cli.fit_choices_command import (
    check_bounds,
    fit_options,
    is_scanned,
    load_scan,
    parse_constraints,
    parse_prior,
    show_fit,
)
from penchant.cli.fit_model_command import load_play_and_model, model_before_data
from penchant.cli.model_settings import (
    build_named_model,
    counts_options,
    map_description,
    place_map_description,
)
from penchant.cli.option_wording import word_as_options, word_results_as_options
from penchant.cli.options import Agent, Data, EstimationOptions, FitOutputOptions, History, Terms
from penchant.cli.result_output import (
    VALID_STATUSES,
    check_document,
    fit_result,
    output_result,
    reserve_file,
    reserve_outputs,
    table_result,
)
from penchant.cli.table_input import (
    NON_OFFER_OPTIONS,
    PLAY_OPTIONS,
    load_offers,
    open_raw,
    parse_offers,
    read_rows,
    split_column_names,
)
from penchant.cli.terminal import check_file, message_if_interrupted, refuse, say
from penchant.cli.workflow_options import (
    OutputOptions,
    PopulationOptions,
    PredictionOptions,
    TableOptions,
)
from penchant.errors import DataError, closest_match_hint, format_list, format_names
from penchant.figures.result_overview import overview
from penchant.figures.style import save
from penchant.files.atomic_files import check_new_folder, lock_file, new_folder
from penchant.files.output import OUTPUT_SUFFIXES, json_text, write_json, write_table, write_text
from penchant.files.table import read_table
from penchant.inference.fit import fit
from penchant.inference.fit_each import OF_CHOICES as OF_CHOICES_ALONE
from penchant.inference.fit_each import build_portion_fitter, fit_each
from penchant.models.catalogue import entry_of
from penchant.models.coordinates import WEIGHTS
from penchant.models.model import Declared
from penchant.population.group_tests import adjusted_p_values
from penchant.population.hierarchy.fit import fit_population
from penchant.population.hierarchy.result import PopulationFit
from penchant.reading.event_rows import event_labels
from penchant.scale.chunked_scan import scan
from penchant.scale.data_files import stored_files
from penchant.scale.subject_estimates import row_groups
from penchant.scale.subject_history_scan import HistoryScan
from penchant.tables.columns import COORDINATES, NO_COLUMN
from penchant.tables.frames import row_place
from penchant.tables.play_columns import describe_columns, play_columns
from penchant.tables.reading import TITLES, Reading
from penchant.workflow.latent_variables import BatchBeliefs, beliefs

CHOICE_TABLE_OPTIONS = {"option", "explanatory", "weight", "weight_kind", "available", "offset"}
NOT_OF_HISTORY_SCANS = {
    "example",
    "wide",
    "missing",
    "where",
    "attributes",
    "opt_out",
    "reference",
    "price",
}
NOT_OF_HISTORY_SCANS |= {"units", "delimiter", "decimal", "encoding"}


@dataclass(frozen=True)
class ScannedData:
    """A scan of play or offers, and its model."""

    scan: HistoryScan
    model: Any


def scan_files(file: str, data: Data, history: History, agent: Agent) -> ScannedData:
    """Scan files of task data or offers, by the kind of the model, and build the model."""
    assert agent.model is not None
    refuse(history, "with several files", names={"linearized"})
    if entry_of(agent.model).data == "offers":
        return scan_offers(file, data, history, agent)
    return scan_play(file, data, history, model_before_data(agent, data, history), agent)


def has_one_parameter_set(found: ScannedData, pool: bool) -> bool:
    """Whether one set of parameters is fitted to all files, for which they are read at once."""
    return pool or found.scan.reader.subject is None


def check_people(found: ScannedData) -> None:
    """Refuse files without a column of subjects."""
    if found.scan.reader.subject is None:
        raise DataError(
            "--subject",
            f"must name a column for {TITLES[found.scan.kind]} in several files",
            got="none",
            fix="Say whose rows they are.",
        )


def scan_offers(file: str, data: Data, history: History, agent: Agent) -> ScannedData:
    """Scan files of offers, and build the model."""
    refuse(data, "with several files", names=NOT_OF_HISTORY_SCANS)
    refuse(data, f"with --model {agent.model}", names=NON_OFFER_OPTIONS)
    refuse(history, f"with --model {agent.model}", names=PLAY_OPTIONS)
    model = build_named_model(agent, 0)
    found = scan(
        file,
        kind="offers",
        subject=data.subject,
        chosen=data.chosen,
        block=history.block,
        scored=history.scored,
        offers=parse_offers(history.offers),
        options=data.options or None,
        base=history.base or None,
    )
    say(repr(found))
    return ScannedData(found, model)


def scan_play(file: str, data: Data, history: History, ready: Any, agent: Agent) -> ScannedData:
    """Scan files of task data, make the model, and print the role of each column."""
    refuse(data, "with several files", names=NOT_OF_HISTORY_SCANS | CHOICE_TABLE_OPTIONS)
    places = Declared(ready).locations
    names = list(stored_files(file)[0].schema().names)
    columns = _play_column_roles(names, data, history, places)
    say(f"Columns: {describe_columns(columns)}")
    refuse(history, "with several files", names={"executed"})
    roles = columns.items()
    given: dict[str, Any] = {part: name or NO_COLUMN for part, name in roles if part != "executed"}
    given |= {"base": history.base or None, "gaps": history.gaps, "shown": history.shown or None}
    given |= {"missing_reward": history.missing_reward}
    given |= {"locations": None if isinstance(columns["chosen"], str) else places}
    found: HistoryScan = scan(file, kind="play", **given)
    say(repr(found))
    found, n_options = _label_options(
        found, columns["chosen"], data, history, counts_options(agent)
    )
    return ScannedData(found, _model_for_scan(ready, n_options, agent, places, found, history.base))


def _play_column_roles(
    names: Sequence[str], data: Data, history: History, places: Matrix | None
) -> dict[str, Any]:
    """Columns of task data by role: as typed, or of a usual name."""
    if len(data.decision) > 1:
        raise DataError(
            "--decision",
            "must be one column of task data",
            got=", ".join(data.decision),
            fix="Name those that tell subjects and plays apart with --subject and --block.",
        )
    parts = ("block", "reward", "is_choice", "scored", "executed")
    typed = {part: split_column_names(getattr(history, part), names) for part in parts}
    typed |= {"subject": data.subject, "chosen": split_column_names(data.chosen, names)}
    typed["decision"] = next(iter(data.decision), None)
    sides = 0 if places is None else np.shape(places)[1]
    found = play_columns(names, typed, coordinates=sides or len(COORDINATES))
    if places is None and not isinstance(found["chosen"], str):
        raise DataError(
            "chosen",
            "must be one column of numbers or labels with this model",
            got=f"places, columns {' and '.join(found['chosen'])}",
            fix="Say where the options lie, such as --grid 10x10, or number the options in a "
            "column.",
        )
    return found


def _label_options(
    found: HistoryScan, chosen: Any, data: Data, history: History, counts: bool
) -> tuple[HistoryScan, int | None]:
    """Add labels of the options to a scan where it has labels; also return their number."""
    if not isinstance(chosen, str):
        return found, None
    counted_only = len(data.options) == 1
    seen = found.distinct(chosen)
    executed = found.reader.arguments.get("executed")
    if isinstance(executed, str):
        seen = list(dict.fromkeys([*seen, *found.distinct(executed)]))
    is_text = any(isinstance(value, str) for value in seen)
    if not is_text and (counted_only or not data.options):
        if not counts:
            return found, None
        largest = int(max(seen)) - history.base
        smallest = min((int(value) for value in seen if value >= 0), default=0)
        if history.base == 0 and smallest == 1 and not counted_only:
            raise DataError(
                "chosen",
                "must tell whether options are counted from 0 or from 1",
                got=f"1 to {largest}",
                fix=(
                    f"Pass --base 1, or --options {largest + 1} if there is an option 0 that "
                    "nobody chose."
                ),
            )
        return found, largest + 1
    labels = data.options if data.options and not counted_only else sorted(map(str, seen))
    say(f"Options: {format_list(f'{label} = {i}' for i, label in enumerate(labels))}.")
    return found.with_arguments(options=list(labels)), len(labels)


def _model_for_scan(
    ready: Any,
    n_options: int | None,
    agent: Agent,
    places: Matrix | None,
    found: HistoryScan,
    base: int,
) -> Any:
    if ready is None:
        assert n_options is not None  # of a model that counts them
        if "options" not in found.reader.arguments:
            say(f"Options: {n_options}, as the largest number says; --options if there were more.")
        return build_named_model(agent, n_options)
    if n_options is not None and n_options > ready.n_options:
        raise DataError(
            "--options",
            f"must be at least {n_options}, as the files hold as many",
            got=ready.n_options,
            fix="Match them.",
        )
    if places is not None:
        numbered = isinstance(found.reader.arguments["chosen"], str)
        say(
            map_description(agent, places, base)
            if numbered
            else place_map_description(np.asarray(places), base)
        )
    return ready


def fit_scanned_subjects(
    found: Any,
    model: Any,
    options: Mapping[str, Any],
    output_options: FitOutputOptions,
    threads: int | None,
) -> int:
    """Fit every subject of a scan, print and write the estimates; return the exit code."""
    check_level(output_options.level)
    if output_options.output is not None and output_options.output.suffix.lower() != ".parquet":
        raise DataError(
            "--output",
            "must end in .parquet for several files",
            got=output_options.output,
            fix="Choose that.",
        )
    words = (
        "nothing was written."
        if output_options.output is None
        else "what is done is kept; the same command goes on from there."
    )
    with message_if_interrupted(lambda: words):
        estimates = fit_each(
            found,
            *([] if model is None else [model]),
            output=output_options.output,
            overwrite=output_options.overwrite,
            level=output_options.level,
            intervals=output_options.intervals,
            threads=threads,
            **options,
        )
    if estimates.n_resumed:
        say(f"Resumed: {estimates.n_resumed:,} portions of subjects were done before.")
    if output_options.output is not None:
        say(f"Written: {output_options.output}")
    print(
        json_text(word_results_as_options(estimates.to_dict()))
        if output_options.json
        else word_results_as_options(estimates).summary() + "\n",
        end="",
    )
    statuses = set(estimates.counts())
    if output_options.strict:
        return 0 if statuses == {"converged"} else 1
    return 0 if statuses & set(VALID_STATUSES) else 1


def run_fit_files(
    file: str,
    data: Data,
    terms: Terms,
    estimation: EstimationOptions,
    output_options: FitOutputOptions,
    agent: Agent,
    history: History,
) -> int:
    """Run `fit` for several files of choices, task data or offers; return the exit code."""
    options = fit_options(estimation)
    threads = options.pop("threads")
    if agent.model is None:
        refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
        refuse(history, "without --model", "Say which: --model ucl or --model q-learning")
        check_bounds(estimation.constraint)
        choices = load_scan(file, data, terms)
        options["constraints"] = parse_constraints(estimation.constraint, choices.names)
        return fit_scanned_subjects(choices, None, options, output_options, threads)
    refuse(terms, "with --model")
    refuse(estimation, "with --model", names={"method", "constraint", "covariance", "max_steps"})
    found = scan_files(file, data, history, agent)
    given = {"parameter_prior": options["parameter_prior"]}
    if has_one_parameter_set(found, history.pool):
        return show_fit(
            lambda: fit_result(fit(found.scan, found.model, **given), output_options),
            file,
            output_options,
        )
    return fit_scanned_subjects(found.scan, found.model, given, output_options, threads)


def run_predict_files(
    file: str,
    table: TableOptions,
    agent: Agent,
    prediction: PredictionOptions,
    output_options: OutputOptions,
) -> int:
    """Run `predict` for several files: write the predictions of every event."""
    refuse(prediction, "with several files", names={"check", "seed"})
    if output_options.figure is not None:
        raise DataError(
            "--figure",
            "must be left out with several files",
            got=output_options.figure,
            fix="It shows a check.",
        )
    if output_options.output is None or output_options.output.suffix.lower() != ".parquet":
        raise DataError(
            "--output",
            "must be a .parquet file for several files",
            got=output_options.output or "none",
            fix="Name one.",
        )
    history = replace(table.history(), clock=prediction.clock)
    found = scan_files(file, table.data(), history, agent)
    weights = parse_prior(prediction.prior)
    if has_one_parameter_set(found, prediction.pool):
        _predict_together(found, weights, prediction.all_options, output_options)
    else:
        fits = build_portion_fitter(found.scan, found.model, weights, OF_CHOICES_ALONE)
        say(f"Model: {fits}.")
        scan_subjects = found.scan.subjects
        place = scan_subjects.output_target(output_options.output, output_options.overwrite).file
        words = "what is done is kept; the same command goes on from there."
        with message_if_interrupted(lambda: words):
            work = BatchBeliefs(fits, prediction.all_options)
            scan_subjects.write_batch_results(work, place, None, prediction.threads, "Predicting")
    say(f"Written: {output_options.output}")
    return _report_predictions(output_options)


def _predict_together(
    found: ScannedData, weights: Any, all_options: bool, output_options: OutputOptions
) -> None:
    """Fit one set of parameters to all subjects, and write the predictions of every event."""
    assert output_options.output is not None
    with reserve_outputs(output_options, OUTPUT_SUFFIXES):
        histories = found.scan.load("one set of parameters of a model")
        estimate = fit(histories, found.model, parameter_prior=weights)
        say(f"Model: {estimate.model}.")
        made = beliefs(estimate, histories).to_frame("pyarrow", options=all_options)
        write_table(output_options.output, made, overwrite=output_options.overwrite)


def _report_predictions(output_options: OutputOptions) -> int:
    """Print the log-likelihood of a file of predictions; return the exit code."""
    assert output_options.output is not None
    counts = {"rows": 0, "predicted": 0}
    total = 0.0
    for group in row_groups(output_options.output, ["scored", "log_probability"]):
        logs = np.asarray(group["log_probability"].to_numpy(), dtype=np.float64)
        logs = logs[np.asarray(group["scored"].to_numpy(), dtype=bool)]
        counts["rows"] += len(group)
        counts["predicted"] += int(np.isfinite(logs).sum())
        total += float(logs[np.isfinite(logs)].sum())
    document = {**counts, "log_likelihood": total, "output": str(output_options.output)}
    if output_options.json:
        print(json_text(word_results_as_options(document)), end="")
    else:
        mean = np.exp(total / counts["predicted"]) if counts["predicted"] else np.nan
        print(
            f"{counts['rows']:,} events, {counts['predicted']:,} decisions predicted: "
            f"log-likelihood {total:.2f}, geometric mean probability {mean:.3f}."
        )
    return 0 if counts["predicted"] else 1


def run_check_files(
    file: str, data: Data, terms: Terms, json: bool, agent: Agent, history: History
) -> int:
    """Run `check` for several files: print for whom an estimate exists; return the exit code."""
    if agent.model is None:
        found: Any = load_scan(file, data, terms)
        if data.subject is None:
            return _print_check(fit(found), json)
        estimates = fit_each(found)
    else:
        checked = scan_files(file, data, history, agent)
        if has_one_parameter_set(checked, history.pool):
            return _print_check(fit(checked.scan, checked.model), json)
        estimates = fit_each(checked.scan, checked.model)
    document = {"n_subjects": len(estimates), "counts": estimates.counts()}
    print(
        json_text(word_results_as_options(document))
        if json
        else word_results_as_options(estimates).summary() + "\n",
        end="",
    )
    return 0 if set(estimates.counts()) & set(VALID_STATUSES) else 1


def _print_check(estimate: Any, json: bool) -> int:
    print(json_text(check_document(estimate)) if json else _status_text(estimate), end="")
    return 0 if estimate.status in VALID_STATUSES else 1


def _status_text(estimate: Any) -> str:
    estimate = word_results_as_options(estimate)
    notes = "".join(f"Note: {note}\n" for note in estimate.notes)
    return f"{notes}Status: {estimate.status}. {estimate.message}\n"


SOUND_STATUSES = ("converged", "no spread", "one subject", "spread not told", "correlation")


def run_population(
    file: str | None,
    data: Data,
    terms: Terms,
    agent: Agent,
    history: History,
    population_options: PopulationOptions,
    output_options: OutputOptions,
) -> int:
    """Run `population`: fit, write, print; return the exit code."""
    if data.example is None:
        check_file(file)
    check_threads(population_options.threads)
    refuse(history, "with a population", names={"pool", "linearized"})
    folder, output_options = _split_folder_output(output_options)
    people = (
        None if population_options.people is None else read_table(str(population_options.people))
    )
    overwrite = output_options.overwrite
    with (
        nullcontext() if folder is None else lock_file(check_new_folder(folder)),
        reserve_outputs(output_options, read=file),
        reserve_file(
            population_options.save_prior,
            overwrite=overwrite,
            suffixes=(".json",),
            read=file,
            option="--save-prior",
        ),
        reserve_file(
            population_options.subjects,
            overwrite=overwrite,
            suffixes=OUTPUT_SUFFIXES,
            read=file,
            option="--subjects",
        ),
    ):
        decisions, model, conditions = _load_population_data(
            file, data, terms, agent, history, population_options
        )
        if people is None and isinstance(decisions, Choices) and population_options.covariates:
            people = _covariates_from_file(decisions, file, data, population_options.covariates)
        found = fit_population(
            decisions,
            model,
            covariates=population_options.covariates or None,
            formula=_parse_formulas(population_options.formula) or None,
            people=people,
            within=conditions,
            varying=population_options.varying or None,
            random=population_options.random or None,
            spread=population_options.spread,
            links=_parse_links(population_options.links),
            estimator=population_options.estimator,
            nodes=population_options.nodes,
            covariance=population_options.covariance,
            threads=population_options.threads,
        )
        if found.message:
            say(f"Warning: {found.status}: {word_as_options(found.message)}")
        if population_options.save_prior is not None:
            found.prior.save(population_options.save_prior, overwrite=overwrite)
            say(f"Written: {population_options.save_prior}")
        if population_options.subjects is not None:
            frame = found.subjects.to_frame(backend="pyarrow")
            write_table(population_options.subjects, frame, overwrite=overwrite)
            say(f"Written: {population_options.subjects}")
        if folder is not None:
            _write_folder(found, folder)
        result = table_result(
            _population_table(found), found.to_dict, lambda: found.to_frame(backend="pyarrow")
        )
        output_result(result, output_options, lambda: overview(found))
    return 0 if found.status.startswith(SOUND_STATUSES) else 1


def _split_folder_output(output_options: OutputOptions) -> tuple[Path | None, OutputOptions]:
    """Split the output into a new folder, if --output names one, and the other output options."""
    if output_options.output is None or output_options.output.suffix:
        return None, output_options
    return output_options.output, replace(output_options, output=None)


def _write_folder(found: PopulationFit, path: Path) -> None:
    """Write coefficients, subjects, prior, summary and figure of a population to a new folder."""
    with new_folder(path) as (folder, place):
        write_json(place / "population.json", found.to_dict(), overwrite=False)
        write_table(place / "coefficients.csv", found.to_frame(backend="pyarrow"), overwrite=False)
        people = found.subjects.to_frame(backend="pyarrow")
        write_table(place / "subjects.csv", people, overwrite=False)
        write_text(place / "summary.txt", found.summary() + "\n", overwrite=False)
        found.prior.save(place / "prior.json", overwrite=False)
        drawn = overview(found)
        for kind in (".svg", ".pdf"):
            save(drawn, place / f"population{kind}")
    say(f"Written: {folder}")


def _population_table(found: PopulationFit) -> Any:
    """Summary table, with contrasts between all levels of every factor as notes."""
    table = found.table()
    assert found.source is not None
    notes = list(table.notes)
    contrasts = [
        found.contrast(variable.name, f"{level} - {other}")
        for variable in found.source.design.variables.values()
        for other, level in combinations(variable.levels, 2)
    ]
    # One adjustment over all differences, as in a study: the same numbers are printed there.
    adjusted = iter(adjusted_p_values([p for c in contrasts for p in c.p_value.tolist()]))
    adjustment = "p-values are adjusted by Holm's method over all differences between levels."
    notes += [adjustment] if contrasts else []
    for contrast in contrasts:
        for name in contrast.names:
            one = contrast[name]
            notes.append(
                f"{contrast.factor}, {contrast.words}: {name} {one['difference']:.3g} "
                f"[{one['low']:.3g}, {one['high']:.3g}], adjusted p = {next(adjusted):.2g}."
            )
    return replace(table, notes=tuple(notes))


class _PopulationData(NamedTuple):
    """Decisions of all subjects, their model, and the conditions of the episodes."""

    decisions: Any
    model: Any
    conditions: Any


def _load_population_data(
    file: str | None,
    data: Data,
    terms: Terms,
    agent: Agent,
    history: History,
    population_options: PopulationOptions,
) -> _PopulationData:
    """Read the decisions of all subjects, and make the model for them."""
    if file is not None and is_scanned(file, play=agent.model is not None):
        if agent.model is None:
            refuse(population_options, "without --model", names={"within", "varying"})
            return _PopulationData(load_scan(file, data, terms), None, None)
        refuse(terms, "with --model")
        found = scan_files(file, data, history, agent)
        check_people(found)
        return _PopulationData(found.scan, found.model, population_options.within)
    if agent.model is None:
        refuse(population_options, "without --model", names={"within", "varying"})
        choices = load_choices(file, data, terms, by_subject=True)
        say(f"{choices}.")
        return _PopulationData(choices, None, None)
    refuse(terms, "with --model")
    if entry_of(agent.model).data == "offers":
        offered = load_offers(file, data, history, str(agent.model))
        return _PopulationData(offered, build_named_model(agent, 0), population_options.within)
    ready = model_before_data(agent, data, history)
    reading, model = load_play_and_model(ready, file, data, history, agent)
    return _PopulationData(reading, model, _episode_conditions(reading, population_options.within))


def _covariates_from_file(
    choices: Choices, file: str | None, data: Data, names: Sequence[str]
) -> Any:
    """Table of covariates with a row per subject, from columns of a file of choices."""
    if file is None:
        return None
    reading = read_rows(open_raw(file, data), data, None, "choices")
    table, who = reading.table, reading.columns.get("subject")
    if who is None:
        return None
    lacking = [name for name in (who, *names) if name not in table.column_names]
    if lacking:
        columns = table.column_names
        raise DataError(
            "--covariates",
            f"must be columns of {file}, or of --people",
            got=f"{lacking[0]!r}, but they are {format_names(columns)}",
            fix=closest_match_hint(lacking[0], columns) or "Correct it.",
        )
    known = {str(label) for label in choices.subject_labels or ()}
    found: dict[Any, tuple[Any, ...]] = {}
    cells = zip(*(table[name].to_pylist() for name in (who, *names)), strict=True)
    for row, (whose, *own) in enumerate(cells):
        if str(whose) in known and found.setdefault(whose, tuple(own)) != tuple(own):
            raise DataError(
                "--covariates",
                "must be the same in all rows of a subject",
                got=f"{found[whose]} and {tuple(own)} for {whose} at {row_place(row)}",
                fix="Name what does not vary within subjects.",
            )
    columns_of = zip(*found.values(), strict=True)
    return pa.table({"subject": [*found], **dict(zip(names, map(list, columns_of), strict=True))})


def _episode_conditions(reading: Reading, within: str | None) -> Any:
    """Condition of every episode, from a column of the table; None without --within."""
    if within is None:
        return None
    if within not in reading.table.column_names:
        return within
    found = []
    for labels, episode in zip(event_labels(reading, within), reading.data, strict=True):
        seen = list(dict.fromkeys(label for label in labels if label is not None))
        if len(seen) != 1:
            raise DataError(
                "--within",
                "must be the same throughout an episode",
                got=f"{len(seen)} of {within}",
                where=f"for subject {episode.subject}",
                fix="Tell the parts apart with --block.",
            )
        found.append(seen[0])
    return {within: found}


def _parse_formulas(words: list[str]) -> dict[str, str]:
    """Parse formulas such as learning_rate ~ group * age, by parameter."""
    found = {}
    for word in words:
        name, tilde, right = word.partition("~")
        if not tilde or not name.strip() or not right.strip():
            raise DataError(
                "--formula",
                "must be PARAMETER ~ COVARIATES",
                got=repr(word),
                fix="Try --formula 'learning_rate ~ group * age'.",
            )
        found[name.strip()] = "~ " + right.strip()
    return found


def _parse_links(words: list[str]) -> dict[str, Any] | str | None:
    """Parse links such as price=log and rate=0..1, or weights alone."""
    if words == [WEIGHTS]:
        return WEIGHTS
    found: dict[str, Any] = {}
    for word in words:
        name, sign, link = (part.strip() for part in word.partition("="))
        if not (name and sign and link):
            raise DataError(
                "--links",
                f"must be NAME=LINK, or {WEIGHTS} alone",
                got=repr(word),
                fix="Try --links price=log.",
            )
        low, dots, high = link.partition("..")
        found[name] = (
            ("logit", _parse_link_bound(word, low), _parse_link_bound(word, high)) if dots else link
        )
    return found or None


def _parse_link_bound(word: str, end: str) -> float:
    try:
        return float(end)
    except ValueError:
        raise DataError(
            "--links",
            "must have numbers about the dots",
            got=repr(word),
            fix="Try --links price=-5..0.",
        ) from None
