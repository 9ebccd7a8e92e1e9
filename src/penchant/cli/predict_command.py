"""The commands `predict` and `believe`: predictions of every row; maps of expected rewards."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from penchant._typing import IntVector, Label
from penchant.argument_checks import check_threads
from penchant.cli.compare_command import is_experiment, predict_experiment_rows
from penchant.cli.fit_choices_command import parse_prior
from penchant.cli.fit_model_command import load_play_and_model, model_before_data
from penchant.cli.model_settings import build_named_model
from penchant.cli.options import Agent, Data, History
from penchant.cli.result_output import reserve_file, reserve_outputs
from penchant.cli.table_input import check_model_given, load_offers
from penchant.cli.terminal import check_file, check_seed, refuse, say
from penchant.cli.workflow_options import (
    BeliefMapOptions,
    OutputOptions,
    PredictExperimentOptions,
    PredictionOptions,
    TableOptions,
)
from penchant.errors import DataError, NotWrittenError, format_list
from penchant.figures.choices_and_learning import belief_map
from penchant.figures.result_overview import overview
from penchant.figures.style import figure, inline_svg, panel_view_boxes, save
from penchant.files.output import OUTPUT_SUFFIXES, json_text, without_nan, write_table, write_text
from penchant.inference.belief_map import BeliefMap
from penchant.inference.fit import fit_model
from penchant.inference.fit_each import fit_each_model
from penchant.models.catalogue import entry_of
from penchant.models.spatial.map_basis import MapBasis, MapPrior
from penchant.reading.event_rows import event_rows
from penchant.report.page import DataTable, Drawing, Paragraph, Section, render_page
from penchant.result_tables import MAX_TABLE_WIDTH, format_count
from penchant.softmax.prior import ParameterPrior
from penchant.tables.reading import Reading
from penchant.workflow.latent_variables import Latent, beliefs
from penchant.workflow.predictive_checks import predictive_check

COLUMNS_OF_FILE = ("subject", "block", "chosen", "reward")  # columns that the file has already
PLAY_COLUMNS = ("prediction_error",)  # offers pay nothing that could be compared with their value


def run_predict(
    file: str | None,
    table: TableOptions,
    agent: Agent,
    experiment: PredictExperimentOptions,
    prediction: PredictionOptions,
    output_options: OutputOptions,
) -> int:
    """Run `predict`: fit, predict every row, write; return the exit code."""
    check_file(file)
    check_threads(prediction.threads)
    weights = parse_prior(prediction.prior)
    if is_experiment(file, table, experiment, [agent.model] if agent.model else []):
        refuse(agent, "with a choice experiment")
        return _predict_experiment(file, table, experiment, prediction, output_options)
    data, history = table.data(), table.history()
    check_model_given(agent.model is not None, file, data, history)
    _check_prediction_options(prediction, output_options)
    with reserve_outputs(output_options, OUTPUT_SUFFIXES, read=file):
        reading, model = _load_data_and_model(file, data, history, agent, prediction)
        episodes = reading.data
        together = prediction.pool or not reading.subjects
        if together:
            estimates: Any = fit_model(episodes, model, parameter_prior=weights)
        else:
            estimates = fit_each_model(
                episodes, model, parameter_prior=weights, threads=prediction.threads
            )
        found = beliefs(estimates, episodes)
        _say_fit(found, model, weights)
        made = _prediction_table(found, reading, prediction.all_options)
        _write_predictions(made, estimates, prediction, output_options)
    return _exit_code(found)


def _predict_experiment(
    file: str | None,
    table: TableOptions,
    experiment: PredictExperimentOptions,
    prediction: PredictionOptions,
    output_options: OutputOptions,
) -> int:
    """Fit a choice experiment, predict its rows, write; return the exit code."""
    refuse(prediction, "with a choice experiment", names={"clock", "check", "seed"})
    if output_options.figure is not None:
        raise DataError(
            "--figure",
            "must be left out with a choice experiment",
            got=output_options.figure,
            fix="penchant study draws what its attributes are worth.",
        )
    weights = parse_prior(prediction.prior)
    with reserve_outputs(output_options, OUTPUT_SUFFIXES, read=file):
        made = predict_experiment_rows(
            file,
            table,
            experiment,
            weights,
            pool=prediction.pool,
            all_options=prediction.all_options,
        )
        _say_fit(made.found, f"attributes {', '.join(made.names)}", weights)
        _write_predictions(made.table, None, prediction, output_options)
    return _exit_code(made.found)


def _exit_code(found: Latent) -> int:
    finite = np.isfinite(found["log_probability"][found["scored"]])
    return 0 if finite.any() else 1


def _write_predictions(
    made: pa.Table, estimates: Any, prediction: PredictionOptions, output_options: OutputOptions
) -> None:
    """Write the table to --output, or else print it."""
    printed = output_options.output is None
    try:
        if output_options.output is not None:
            write_table(output_options.output, made, overwrite=output_options.overwrite)
            say(f"Written: {output_options.output}")
    except NotWrittenError:  # a result that cannot be kept can still be read
        printed = True
        raise
    finally:
        _print_predictions(made, estimates, prediction, output_options, printed)


def _print_predictions(
    made: pa.Table,
    estimates: Any,
    prediction: PredictionOptions,
    output_options: OutputOptions,
    printed: bool,
) -> None:
    """Print what was asked for: the check, JSON, or the table."""
    if prediction.check is not None:
        _show_predictive_check(estimates, prediction, output_options)
    elif output_options.json:
        name = "prior" if "prior" not in made.column_names else "model_prior"
        print(
            json_text(_json_rows(made, {name: describe_estimator(parse_prior(prediction.prior))})),
            end="",
        )
    elif printed:
        _print_csv(made)


def _check_prediction_options(prediction: PredictionOptions, output_options: OutputOptions) -> None:
    if prediction.check is None:
        if output_options.figure is not None:
            raise DataError(
                "--figure",
                "must come with --check",
                got=output_options.figure,
                fix="It shows the check.",
            )
        refuse(prediction, "without --check", names={"seed"})
        return
    if prediction.check < 1:
        raise DataError("--check", "must be at least 1", got=prediction.check, fix="200 is usual.")
    check_seed(prediction.seed, " with --check")


def _load_data_and_model(
    file: str | None, data: Data, history: History, agent: Agent, prediction: PredictionOptions
) -> tuple[Reading, Any]:
    """Load the choices, and build the model."""
    assert agent.model is not None
    if entry_of(agent.model).data == "offers":
        refuse(prediction, f"with --model {agent.model}", names={"clock"})
        model = build_named_model(agent, 0)
        return load_offers(file, data, history, agent.model), model
    if prediction.clock != "choices":
        history = replace(history, clock=prediction.clock)
    return load_play_and_model(model_before_data(agent, data, history), file, data, history, agent)


def _say_fit(found: Latent, model: Any, weights: ParameterPrior | None) -> None:
    say(f"Model: {model}.")
    advice = "" if weights is None else "; --prior none for maximum likelihood"
    say(f"Estimates: {describe_estimator(weights)}{advice}.")
    scored = found["scored"] & np.isfinite(found["log_probability"])
    if scored.any():
        logs = found["log_probability"][scored]
        say(
            f"Predicted: {format_count(int(scored.sum()), 'decision')}, log-likelihood "
            f"{logs.sum():.2f}, geometric mean probability {np.exp(logs.mean()):.3f}."
        )
    if found.without:
        say(
            f"Note: no finite estimate, and empty cells: {format_list(map(str, found.without))}. "
            "--prior weak has one for everybody with a decision."
        )


def _prediction_table(found: Latent, reading: Reading, all_options: bool) -> pa.Table:
    """Add columns of predictions to the rows of the file."""
    rows = [own[:n] for own, n in zip(event_rows(reading), found.lengths, strict=True)]
    table: pa.Table = reading.table
    new = found.to_frame("pyarrow", options=all_options, rows=rows)
    new = _spread_to_rows(new, np.concatenate(rows), len(table))
    left_out = COLUMNS_OF_FILE if reading.kind == "play" else (*COLUMNS_OF_FILE, *PLAY_COLUMNS)
    table = table.drop_columns([*reading.made])
    for name in new.column_names:
        if name not in left_out:
            label = name if name not in table.column_names else f"model_{name}"
            table = table.append_column(label, new.column(name))
    return table


def _spread_to_rows(new: pa.Table, rows: IntVector, n_rows: int) -> pa.Table:
    """Spread columns over all rows of the file; cells are empty where play had ended before."""
    places = np.full(n_rows, -1)
    places[np.sort(rows[rows >= 0])] = np.arange(len(new))
    return new.take(pa.array(places, mask=places < 0))


def describe_estimator(weights: ParameterPrior | None) -> str:
    """Describe the estimator of the parameters that predictions are made with."""
    return "maximum likelihood" if weights is None else f"MAP, {weights} prior"


def _json_rows(table: pa.Table, more: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows for JSON, each with the fields that are the same for all."""

    def cell(value: Any) -> Any:
        return None if isinstance(value, float) and not np.isfinite(value) else value

    return [{name: cell(value) for name, value in row.items()} | more for row in table.to_pylist()]


def _print_csv(table: pa.Table) -> None:
    text = pa.BufferOutputStream()
    pa_csv.write_csv(without_nan(table), text, pa_csv.WriteOptions(include_header=False))
    print(",".join(table.column_names))
    print(text.getvalue().to_pybytes().decode(), end="")


def _show_predictive_check(
    estimates: Any, prediction: PredictionOptions, output_options: OutputOptions
) -> None:
    """Print and draw the predictive check."""
    assert prediction.check is not None
    rng = np.random.default_rng(prediction.seed)
    found = predictive_check(estimates, n_draws=prediction.check, rng=rng)
    if output_options.figure is not None:
        save(overview(found), output_options.figure, overwrite=output_options.overwrite)
        say(f"Written: {output_options.figure}")
    if output_options.json:
        how = describe_estimator(parse_prior(prediction.prior))
        print(json_text(_json_rows(found.to_frame(backend="pyarrow"), {"prior": how})), end="")
    else:
        print(found.table().text(MAX_TABLE_WIDTH))


EVERYBODY = "everybody"


def run_believe(
    file: str | None, table: TableOptions, agent: Agent, map_options: BeliefMapOptions
) -> int:
    """Run `believe`: fit each subject's map, write, print; return the exit code."""
    check_file(file)
    if agent.model not in (None, "ucl"):
        raise DataError(
            "--model",
            "must be ucl, whose player has a map in mind",
            got=agent.model,
            fix="Leave it out.",
        )
    with reserve_file(
        map_options.output, overwrite=map_options.overwrite, suffixes=(".html",), read=file
    ):
        agent, data, history = replace(agent, model="ucl"), table.data(), table.history()
        reading, ready = load_play_and_model(
            model_before_data(agent, data, history), file, data, history, agent
        )
        basis = MapBasis.smooth(ready.locations, min(map_options.map, ready.n_options - 1))
        model = replace(ready, prior_map=basis, locality=map_options.locality)
        say(f"Model: {model}.")
        prior = MapPrior(n="evidence" if map_options.functions_by_evidence else "all")
        maps = {}
        for subject, own in _episodes_by_subject(reading.data, map_options.pool).items():
            estimate = fit_model(own, model, parameter_prior=prior)
            maps[subject] = estimate.belief_map()
        if map_options.output is not None:
            write_text(
                map_options.output, _maps_page(maps, str(model)), overwrite=map_options.overwrite
            )
            say(f"Written: {map_options.output}")
    if map_options.json:
        found = [{"subject": subject, **one.document()} for subject, one in maps.items()]
        print(json_text(found), end="")
    else:
        for subject, one in maps.items():
            print(f"{subject}\n{_wrap_lines(one.summary())}\n")
    return 0 if any(one.status == "converged" for one in maps.values()) else 1


def _wrap_lines(words: str) -> str:
    """Wrap lines at the width of a table."""
    lines = (
        textwrap.wrap(line, MAX_TABLE_WIDTH, subsequent_indent="  ") for line in words.split("\n")
    )
    return "\n".join(part for line in lines for part in line or [""])


def _episodes_by_subject(episodes: Sequence[Any], pool: bool) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for episode in episodes:
        who = EVERYBODY if pool or episode.subject is None else episode.subject
        found.setdefault(who, []).append(episode)
    return found


def _maps_page(maps: dict[Any, BeliefMap], model: str) -> str:
    about = (
        "The reward that each subject expected of every option before play, estimated from their "
        "choices. Choices reveal differences within a map; its overall level is hardly "
        "identified, as it trades off with the bonus for uncertainty."
    )
    sections = [Section("How to read the maps", [Paragraph(about), Paragraph(f"Model: {model}.")])]
    for subject, one in maps.items():
        sections.append(
            Section(_subject_title(subject), [*_map_drawings(subject, one), _map_numbers(one)])
        )
    title = "Rewards expected before play"
    return render_page(title, format_count(len(maps), "subject"), sections)


def _subject_title(subject: Label) -> str:
    return "Everybody" if subject == EVERYBODY else f"Subject {subject}"


def _map_drawings(subject: Label, one: BeliefMap) -> list[Any]:
    if np.shape(one.locations)[1] != 2:
        return []
    drawing = figure(columns=2, height=2.6)
    belief_map(list(drawing.subplots(1, 2)), one)
    subject_title = _subject_title(subject)
    title = f"Rewards that {subject_title[:1].lower()}{subject_title[1:]} expected before play"
    caption = (
        "Left or first: the map, as difference from its level; yellow options were expected to "
        "pay more. Right or second: its standard deviation; yellow is less certain."
    )
    made = inline_svg(drawing, title, caption)
    return [Drawing("belief-map", title, caption, made, panel_view_boxes(drawing))]


def _map_numbers(one: BeliefMap) -> DataTable:
    removed = "not known" if np.isnan(one.removed) else f"{round(100 * one.removed)} %"
    rows = [
        ["status", one.status],
        ["trials", str(one.n_decisions)],
        ["level", f"{one.level:.3g} ± {one.level_sd:.2g}"],
        ["correlation of the level with the bonus", f"{one.bonus_correlation:.2f}"],
        ["variance of the prior map removed", removed],
        ["functions", str(one.n_functions)],
    ]
    rows += [[f"log evidence, width {fit.sd:.3g}", f"{fit.log_evidence:.2f}"] for fit in one.fits]
    return DataTable("Estimate of the map", ["quantity", "value"], rows)
