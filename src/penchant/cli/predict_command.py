"""What `predict` and `believe` do: load, fit, describe every row or the map in mind, write."""

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
from penchant.cli.compare_command import is_experiment, predicted_rows
from penchant.cli.fit_choices_command import prior
from penchant.cli.fit_model_command import play_for, ready_model
from penchant.cli.model_settings import model_named
from penchant.cli.options import Agent, Data, History
from penchant.cli.result_output import kept, reserved
from penchant.cli.table_input import check_model_given, load_offers
from penchant.cli.terminal import check_file, check_seed, refuse, say
from penchant.cli.workflow_options import Believed, Described, Played, Prediction, Written
from penchant.errors import DataError, NotWrittenError, format_list
from penchant.figures.choices_and_learning import belief_map
from penchant.figures.result_overview import overview
from penchant.figures.style import figure, inline_svg, panel_view_boxes, save
from penchant.files.output import TABLES, json_text, without_nan, write_table, write_text
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

OF_THE_DATA = ("subject", "block", "chosen", "reward")  # columns that the file has already
OF_PLAY = ("prediction_error",)  # offers pay nothing that could be compared with their value


def run_predict(
    file: str | None,
    table: Played,
    agent: Agent,
    described: Described,
    prediction: Prediction,
    written: Written,
) -> int:
    """Fit, describe, write; the exit code."""
    check_file(file)
    check_threads(prediction.threads)
    weights = prior(prediction.prior)
    if is_experiment(file, table, described, [agent.model] if agent.model else []):
        refuse(agent, "with a choice experiment")
        return _predict_experiment(file, table, described, prediction, written)
    data, history = table.data(), table.history()
    check_model_given(agent.model is not None, file, data, history)
    _check(prediction, written)
    with kept(written, TABLES, read=file):
        reading, model = _loaded(file, data, history, agent, prediction)
        episodes = reading.data
        together = prediction.pool or not reading.subjects
        if together:
            estimates: Any = fit_model(episodes, model, parameter_prior=weights)
        else:
            estimates = fit_each_model(
                episodes, model, parameter_prior=weights, threads=prediction.threads
            )
        found = beliefs(estimates, episodes)
        _say_found(found, model, weights)
        made = _table(found, reading, prediction.all_options)
        _write(made, estimates, prediction, written)
    return _exit_code(found)


def _predict_experiment(
    file: str | None,
    table: Played,
    described: Described,
    prediction: Prediction,
    written: Written,
) -> int:
    """Fit a choice experiment, describe its rows, write; the exit code."""
    refuse(prediction, "with a choice experiment", names={"clock", "check", "seed"})
    if written.figure is not None:
        raise DataError(
            "--figure",
            "must be left out with a choice experiment",
            got=written.figure,
            fix="penchant study draws what its attributes are worth.",
        )
    weights = prior(prediction.prior)
    with kept(written, TABLES, read=file):
        made = predicted_rows(
            file,
            table,
            described,
            weights,
            pool=prediction.pool,
            all_options=prediction.all_options,
        )
        _say_found(made.found, f"attributes {', '.join(made.names)}", weights)
        _write(made.table, None, prediction, written)
    return _exit_code(made.found)


def _exit_code(found: Latent) -> int:
    finite = np.isfinite(found["log_probability"][found["scored"]])
    return 0 if finite.any() else 1


def _write(made: pa.Table, estimates: Any, prediction: Prediction, written: Written) -> None:
    """Keep the table where it is asked for, else print it."""
    printed = written.output is None
    try:
        if written.output is not None:
            write_table(written.output, made, overwrite=written.overwrite)
            say(f"Written: {written.output}")
    except NotWrittenError:  # a result that cannot be kept can still be read
        printed = True
        raise
    finally:
        _show(made, estimates, prediction, written, printed)


def _show(
    made: pa.Table, estimates: Any, prediction: Prediction, written: Written, printed: bool
) -> None:
    """Print what was asked for: the check, JSON, or the table."""
    if prediction.check is not None:
        _checked(estimates, prediction, written)
    elif written.json:
        name = "prior" if "prior" not in made.column_names else "model_prior"
        print(json_text(_rows(made, {name: how_fitted(prior(prediction.prior))})), end="")
    elif printed:
        _print_csv(made)


def _check(prediction: Prediction, written: Written) -> None:
    if prediction.check is None:
        if written.figure is not None:
            raise DataError(
                "--figure", "must come with --check", got=written.figure, fix="It shows the check."
            )
        refuse(prediction, "without --check", names={"seed"})
        return
    if prediction.check < 1:
        raise DataError("--check", "must be at least 1", got=prediction.check, fix="200 is usual.")
    check_seed(prediction.seed, " with --check")


def _loaded(
    file: str | None, data: Data, history: History, agent: Agent, prediction: Prediction
) -> tuple[Reading, Any]:
    """The choices, and the model."""
    assert agent.model is not None
    if entry_of(agent.model).data == "offers":
        refuse(prediction, f"with --model {agent.model}", names={"clock"})
        model = model_named(agent, 0)
        return load_offers(file, data, history, agent.model), model
    if prediction.clock != "choices":
        history = replace(history, clock=prediction.clock)
    return play_for(ready_model(agent, data, history), file, data, history, agent)


def _say_found(found: Latent, model: Any, weights: ParameterPrior | None) -> None:
    say(f"Model: {model}.")
    advice = "" if weights is None else "; --prior none for maximum likelihood"
    say(f"Estimates: {how_fitted(weights)}{advice}.")
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


def _table(found: Latent, reading: Reading, all_options: bool) -> pa.Table:
    """The rows of the file with columns added."""
    rows = [own[:n] for own, n in zip(event_rows(reading), found.lengths, strict=True)]
    table: pa.Table = reading.table
    new = found.to_frame("pyarrow", options=all_options, rows=rows)
    new = _in_all_rows(new, np.concatenate(rows), len(table))
    left_out = OF_THE_DATA if reading.kind == "play" else (*OF_THE_DATA, *OF_PLAY)
    table = table.drop_columns([*reading.made])
    for name in new.column_names:
        if name not in left_out:
            label = name if name not in table.column_names else f"model_{name}"
            table = table.append_column(label, new.column(name))
    return table


def _in_all_rows(new: pa.Table, rows: IntVector, n_rows: int) -> pa.Table:
    """Columns with a cell for every row of the file, empty where play had ended before."""
    places = np.full(n_rows, -1)
    places[np.sort(rows[rows >= 0])] = np.arange(len(new))
    return new.take(pa.array(places, mask=places < 0))


def how_fitted(weights: ParameterPrior | None) -> str:
    """What the estimates are that predictions are made with."""
    return "maximum likelihood" if weights is None else f"MAP, {weights} prior"


def _rows(table: pa.Table, more: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows as JSON has them, each with what is the same for all."""

    def cell(value: Any) -> Any:
        return None if isinstance(value, float) and not np.isfinite(value) else value

    return [{name: cell(value) for name, value in row.items()} | more for row in table.to_pylist()]


def _print_csv(table: pa.Table) -> None:
    text = pa.BufferOutputStream()
    pa_csv.write_csv(without_nan(table), text, pa_csv.WriteOptions(include_header=False))
    print(",".join(table.column_names))
    print(text.getvalue().to_pybytes().decode(), end="")


def _checked(estimates: Any, prediction: Prediction, written: Written) -> None:
    """Print and draw the predictive check."""
    assert prediction.check is not None
    rng = np.random.default_rng(prediction.seed)
    found = predictive_check(estimates, n_draws=prediction.check, rng=rng)
    if written.figure is not None:
        save(overview(found), written.figure, overwrite=written.overwrite)
        say(f"Written: {written.figure}")
    if written.json:
        how = how_fitted(prior(prediction.prior))
        print(json_text(_rows(found.to_frame(backend="pyarrow"), {"prior": how})), end="")
    else:
        print(found.table().text(MAX_TABLE_WIDTH))


ALL = "everybody"


def run_believe(file: str | None, table: Played, agent: Agent, asked: Believed) -> int:
    """Fit, show, write; the exit code."""
    check_file(file)
    if agent.model not in (None, "ucl"):
        raise DataError(
            "--model",
            "must be ucl, whose player has a map in mind",
            got=agent.model,
            fix="Leave it out.",
        )
    with reserved(asked.output, overwrite=asked.overwrite, suffixes=(".html",), read=file):
        agent, data, history = replace(agent, model="ucl"), table.data(), table.history()
        reading, ready = play_for(ready_model(agent, data, history), file, data, history, agent)
        basis = MapBasis.smooth(ready.locations, min(asked.map, ready.n_options - 1))
        model = replace(ready, prior_map=basis, locality=asked.locality)
        say(f"Model: {model}.")
        prior = MapPrior(n="evidence" if asked.functions_by_evidence else "all")
        maps = {}
        for subject, own in _by_subject(reading.data, asked.pool).items():
            estimate = fit_model(own, model, parameter_prior=prior)
            maps[subject] = estimate.belief_map()
        if asked.output is not None:
            write_text(asked.output, _page(maps, str(model)), overwrite=asked.overwrite)
            say(f"Written: {asked.output}")
    if asked.json:
        found = [{"subject": subject, **one.document()} for subject, one in maps.items()]
        print(json_text(found), end="")
    else:
        for subject, one in maps.items():
            print(f"{subject}\n{_wrapped(one.summary())}\n")
    return 0 if any(one.status == "converged" for one in maps.values()) else 1


def _wrapped(words: str) -> str:
    """Lines that a terminal of 80 columns holds."""
    lines = (
        textwrap.wrap(line, MAX_TABLE_WIDTH, subsequent_indent="  ") for line in words.split("\n")
    )
    return "\n".join(part for line in lines for part in line or [""])


def _by_subject(episodes: Sequence[Any], pool: bool) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for episode in episodes:
        who = ALL if pool or episode.subject is None else episode.subject
        found.setdefault(who, []).append(episode)
    return found


def _page(maps: dict[Any, BeliefMap], model: str) -> str:
    about = (
        "The reward that each subject expected of every option before play, estimated from their "
        "choices. Choices reveal differences within a map; its overall level is hardly "
        "identified, as it trades off with the bonus for uncertainty."
    )
    sections = [Section("How to read the maps", [Paragraph(about), Paragraph(f"Model: {model}.")])]
    for subject, one in maps.items():
        sections.append(Section(_whose(subject), [*_drawn(subject, one), _numbers(one)]))
    title = "Rewards expected before play"
    return render_page(title, format_count(len(maps), "subject"), sections)


def _whose(subject: Label) -> str:
    return "Everybody" if subject == ALL else f"Subject {subject}"


def _drawn(subject: Label, one: BeliefMap) -> list[Any]:
    if np.shape(one.locations)[1] != 2:
        return []
    drawing = figure(columns=2, height=2.6)
    belief_map(list(drawing.subplots(1, 2)), one)
    whose = _whose(subject)
    title = f"Rewards that {whose[:1].lower()}{whose[1:]} expected before play"
    caption = (
        "Left or first: the map, as difference from its level; yellow options were expected to "
        "pay more. Right or second: its standard deviation; yellow is less certain."
    )
    made = inline_svg(drawing, title, caption)
    return [Drawing("belief-map", title, caption, made, panel_view_boxes(drawing))]


def _numbers(one: BeliefMap) -> DataTable:
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
