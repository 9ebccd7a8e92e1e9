"""Many people: what `fit` does with files that are scanned, and what `population` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penchant._typing import Matrix
from penchant.argument_checks import check_level, check_threads
from penchant.choices import Choices
from penchant.cli.choice_input import load_choices
from penchant.cli.fit_choices_command import (
    check_bounds,
    constraints,
    fit_options,
    is_scanned,
    load_scan,
    prior,
    show_fit,
)
from penchant.cli.fit_model_command import play_for, ready_model
from penchant.cli.model_settings import counts_options, map_words, model_named, place_words
from penchant.cli.option_wording import in_options, results_in_options
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.result_output import VALID, checked_document, kept, of_table, one, reserved, shown
from penchant.cli.table_input import (
    NOT_OF_OFFERS,
    OF_PLAY,
    load_offers,
    named_offers,
    open_raw,
    read_rows,
    several,
)
from penchant.cli.terminal import check_file, refuse, say, when_interrupted
from penchant.cli.workflow_options import Played, Populated, Prediction, Written
from penchant.errors import DataError, closest_match_hint, format_list, format_names
from penchant.figures.result_overview import overview
from penchant.figures.style import save
from penchant.files.atomic_files import check_new_folder, locked, new_folder
from penchant.files.output import TABLES, json_text, write_json, write_table, write_text
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

OF_CHOICES = {"option", "explanatory", "weight", "weight_kind", "available", "offset"}
NOT_SCANNED = {"example", "wide", "missing", "where", "attributes", "opt_out", "reference", "price"}
NOT_SCANNED |= {"units", "delimiter", "decimal", "encoding"}


@dataclass(frozen=True)
class Scanned:
    """A scan of play or offers, and its model."""

    scan: HistoryScan
    model: Any


def scanned(file: str, data: Data, history: History, agent: Agent) -> Scanned:
    """Play or offers in files, as the model has it, and the model."""
    assert agent.model is not None
    refuse(history, "with several files", names={"linearized"})
    if entry_of(agent.model).data == "offers":
        return scanned_offers(file, data, history, agent)
    return scanned_play(file, data, history, ready_model(agent, data, history), agent)


def are_together(found: Scanned, pool: bool) -> bool:
    """Whether all that the files hold has one set of parameters, for which it is read at once."""
    return pool or found.scan.reader.subject is None


def check_people(found: Scanned) -> None:
    """Files hold subjects."""
    if found.scan.reader.subject is None:
        raise DataError(
            "--subject",
            f"must name a column for {TITLES[found.scan.kind]} in several files",
            got="none",
            fix="Say whose rows they are.",
        )


def scanned_offers(file: str, data: Data, history: History, agent: Agent) -> Scanned:
    """Offers in files, and the model."""
    refuse(data, "with several files", names=NOT_SCANNED)
    refuse(data, f"with --model {agent.model}", names=NOT_OF_OFFERS)
    refuse(history, f"with --model {agent.model}", names=OF_PLAY)
    model = model_named(agent, 0)
    found = scan(
        file,
        kind="offers",
        subject=data.subject,
        chosen=data.chosen,
        block=history.block,
        scored=history.scored,
        offers=named_offers(history.offers),
        options=data.options or None,
        base=history.base or None,
    )
    say(repr(found))
    return Scanned(found, model)


def scanned_play(file: str, data: Data, history: History, ready: Any, agent: Agent) -> Scanned:
    """Play in files, and the model for it; says what is taken for what."""
    refuse(data, "with several files", names=NOT_SCANNED | OF_CHOICES)
    places = Declared(ready).locations
    names = list(stored_files(file)[0].schema().names)
    columns = _scanned_columns(names, data, history, places)
    say(f"Columns: {describe_columns(columns)}")
    refuse(history, "with several files", names={"executed"})
    own = columns.items()
    given: dict[str, Any] = {part: name or NO_COLUMN for part, name in own if part != "executed"}
    given |= {"base": history.base or None, "gaps": history.gaps, "shown": history.shown or None}
    given |= {"missing_reward": history.missing_reward}
    given |= {"locations": None if isinstance(columns["chosen"], str) else places}
    found: HistoryScan = scan(file, kind="play", **given)
    say(repr(found))
    found, n_options = _with_labels(found, columns["chosen"], data, history, counts_options(agent))
    return Scanned(found, _model(ready, n_options, agent, places, found, history.base))


def _scanned_columns(
    names: Sequence[str], data: Data, history: History, places: Matrix | None
) -> dict[str, Any]:
    """The column of every part of task data: as typed, or of a usual name."""
    if len(data.decision) > 1:
        raise DataError(
            "--decision",
            "must be one column of task data",
            got=", ".join(data.decision),
            fix="Name those that tell subjects and plays apart with --subject and --block.",
        )
    parts = ("block", "reward", "is_choice", "scored", "executed")
    typed = {part: several(getattr(history, part), names) for part in parts}
    typed |= {"subject": data.subject, "chosen": several(data.chosen, names)}
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


def _with_labels(
    found: HistoryScan, chosen: Any, data: Data, history: History, counts: bool
) -> tuple[HistoryScan, int | None]:
    """The scan with labels of the options where it has labels; how many options there are."""
    if not isinstance(chosen, str):
        return found, None
    counted_only = len(data.options) == 1
    seen = found.distinct(chosen)
    done = found.reader.arguments.get("executed")
    if isinstance(done, str):
        seen = list(dict.fromkeys([*seen, *found.distinct(done)]))
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


def _model(
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
        return model_named(agent, n_options)
    if n_options is not None and n_options > ready.n_options:
        raise DataError(
            "--options",
            f"must be at least {n_options}, as the files hold as many",
            got=ready.n_options,
            fix="Match them.",
        )
    if places is not None:
        numbered = isinstance(found.reader.arguments["chosen"], str)
        say(map_words(agent, places, base) if numbered else place_words(np.asarray(places), base))
    return ready


def fit_people(
    found: Any, model: Any, options: Mapping[str, Any], show: Show, threads: int | None
) -> int:
    """Fit all subjects of a scan, say what was found; the exit code."""
    check_level(show.level)
    if show.output is not None and show.output.suffix.lower() != ".parquet":
        raise DataError(
            "--output",
            "must end in .parquet for several files",
            got=show.output,
            fix="Choose that.",
        )
    words = (
        "nothing was written."
        if show.output is None
        else "what is done is kept; the same command goes on from there."
    )
    with when_interrupted(lambda: words):
        estimates = fit_each(
            found,
            *([] if model is None else [model]),
            output=show.output,
            overwrite=show.overwrite,
            level=show.level,
            intervals=show.intervals,
            threads=threads,
            **options,
        )
    if estimates.n_resumed:
        say(f"Resumed: {estimates.n_resumed:,} portions of subjects were done before.")
    if show.output is not None:
        say(f"Written: {show.output}")
    print(
        json_text(results_in_options(estimates.to_dict()))
        if show.json
        else results_in_options(estimates).summary() + "\n",
        end="",
    )
    statuses = set(estimates.counts())
    if show.strict:
        return 0 if statuses == {"converged"} else 1
    return 0 if statuses & set(VALID) else 1


def run_fit_files(
    file: str,
    data: Data,
    terms: Terms,
    model: Model,
    show: Show,
    agent: Agent,
    history: History,
) -> int:
    """Fit every subject of several files: choices, play or offers; the exit code."""
    options = fit_options(model)
    threads = options.pop("threads")
    if agent.model is None:
        refuse(agent, "without --model", "Say which: --model ucl or --model q-learning")
        refuse(history, "without --model", "Say which: --model ucl or --model q-learning")
        check_bounds(model.constraint)
        choices = load_scan(file, data, terms)
        options["constraints"] = constraints(model.constraint, choices.names)
        return fit_people(choices, None, options, show, threads)
    refuse(terms, "with --model")
    refuse(model, "with --model", names={"method", "constraint", "covariance", "max_steps"})
    found = scanned(file, data, history, agent)
    given = {"parameter_prior": options["parameter_prior"]}
    if are_together(found, history.pool):
        return show_fit(lambda: one(fit(found.scan, found.model, **given), show), file, show)
    return fit_people(found.scan, found.model, given, show, threads)


def run_predict_files(
    file: str, table: Played, agent: Agent, prediction: Prediction, written: Written
) -> int:
    """Fit every subject of several files, write what the model says of every event."""
    refuse(prediction, "with several files", names={"check", "seed"})
    if written.figure is not None:
        raise DataError(
            "--figure",
            "must be left out with several files",
            got=written.figure,
            fix="It shows a check.",
        )
    if written.output is None or written.output.suffix.lower() != ".parquet":
        raise DataError(
            "--output",
            "must be a .parquet file for several files",
            got=written.output or "none",
            fix="Name one.",
        )
    history = replace(table.history(), clock=prediction.clock)
    found = scanned(file, table.data(), history, agent)
    weights = prior(prediction.prior)
    if are_together(found, prediction.pool):
        _predict_together(found, weights, prediction.all_options, written)
    else:
        fits = build_portion_fitter(found.scan, found.model, weights, OF_CHOICES_ALONE)
        say(f"Model: {fits}.")
        place = found.scan.subjects.output_target(written.output, written.overwrite).file
        words = "what is done is kept; the same command goes on from there."
        with when_interrupted(lambda: words):
            work = BatchBeliefs(fits, prediction.all_options)
            found.scan.subjects.write_batch_results(
                work, place, None, prediction.threads, "Predicting"
            )
    say(f"Written: {written.output}")
    return _say_predicted(written)


def _predict_together(found: Scanned, weights: Any, all_options: bool, written: Written) -> None:
    """One set of parameters for all, and what it says of every event."""
    assert written.output is not None
    with kept(written, TABLES):
        histories = found.scan.load("one set of parameters of a model")
        estimate = fit(histories, found.model, parameter_prior=weights)
        say(f"Model: {estimate.model}.")
        made = beliefs(estimate, histories).to_frame("pyarrow", options=all_options)
        write_table(written.output, made, overwrite=written.overwrite)


def _say_predicted(written: Written) -> int:
    """How well the decisions of a file of predictions were predicted; the exit code."""
    assert written.output is not None
    counts = {"rows": 0, "predicted": 0}
    total = 0.0
    for group in row_groups(written.output, ["scored", "log_probability"]):
        logs = np.asarray(group["log_probability"].to_numpy(), dtype=np.float64)
        logs = logs[np.asarray(group["scored"].to_numpy(), dtype=bool)]
        counts["rows"] += len(group)
        counts["predicted"] += int(np.isfinite(logs).sum())
        total += float(logs[np.isfinite(logs)].sum())
    document = {**counts, "log_likelihood": total, "output": str(written.output)}
    if written.json:
        print(json_text(results_in_options(document)), end="")
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
    """Look at several files, and say of whom an estimate exists; the exit code."""
    if agent.model is None:
        found: Any = load_scan(file, data, terms)
        if data.subject is None:
            return _say_checked(fit(found), json)
        estimates = fit_each(found)
    else:
        checked = scanned(file, data, history, agent)
        if are_together(checked, history.pool):
            return _say_checked(fit(checked.scan, checked.model), json)
        estimates = fit_each(checked.scan, checked.model)
    document = {"n_subjects": len(estimates), "counts": estimates.counts()}
    print(
        json_text(results_in_options(document))
        if json
        else results_in_options(estimates).summary() + "\n",
        end="",
    )
    return 0 if set(estimates.counts()) & set(VALID) else 1


def _say_checked(estimate: Any, json: bool) -> int:
    print(json_text(checked_document(estimate)) if json else _about(estimate), end="")
    return 0 if estimate.status in VALID else 1


def _about(estimate: Any) -> str:
    estimate = results_in_options(estimate)
    notes = "".join(f"Note: {note}\n" for note in estimate.notes)
    return f"{notes}Status: {estimate.status}. {estimate.message}\n"


SOUND = ("converged", "no spread", "one subject", "spread not told", "correlation")


def run_population(
    file: str | None,
    data: Data,
    terms: Terms,
    agent: Agent,
    history: History,
    populated: Populated,
    written: Written,
) -> int:
    """Fit a population, write, print; the exit code."""
    if data.example is None:
        check_file(file)
    check_threads(populated.threads)
    refuse(history, "with a population", names={"pool", "linearized"})
    folder, written = _folder(written)
    people = None if populated.people is None else read_table(str(populated.people))
    own = written.overwrite
    with (
        nullcontext() if folder is None else locked(check_new_folder(folder)),
        kept(written, read=file),
        reserved(
            populated.save_prior,
            overwrite=own,
            suffixes=(".json",),
            read=file,
            option="--save-prior",
        ),
        reserved(
            populated.subjects, overwrite=own, suffixes=TABLES, read=file, option="--subjects"
        ),
    ):
        decisions, model, labels = _loaded(file, data, terms, agent, history, populated)
        if people is None and isinstance(decisions, Choices) and populated.covariates:
            people = _people_of(decisions, file, data, populated.covariates)
        found = fit_population(
            decisions,
            model,
            covariates=populated.covariates or None,
            formula=_formulas(populated.formula) or None,
            people=people,
            within=labels,
            varying=populated.varying or None,
            random=populated.random or None,
            spread=populated.spread,
            links=_links(populated.links),
            estimator=populated.estimator,
            nodes=populated.nodes,
            covariance=populated.covariance,
            threads=populated.threads,
        )
        if found.message:
            say(f"Warning: {found.status}: {in_options(found.message)}")
        if populated.save_prior is not None:
            found.prior.save(populated.save_prior, overwrite=own)
            say(f"Written: {populated.save_prior}")
        if populated.subjects is not None:
            frame = found.subjects.to_frame(backend="pyarrow")
            write_table(populated.subjects, frame, overwrite=own)
            say(f"Written: {populated.subjects}")
        if folder is not None:
            _write_folder(found, folder)
        result = of_table(_table(found), found.to_dict, lambda: found.to_frame(backend="pyarrow"))
        shown(result, written, lambda: overview(found))
    return 0 if found.status.startswith(SOUND) else 1


def _folder(written: Written) -> tuple[Path | None, Written]:
    """The folder that --output names, if it names no file; and what is asked for beside it."""
    if written.output is None or written.output.suffix:
        return None, written
    return written.output, replace(written, output=None)


def _write_folder(found: PopulationFit, path: Path) -> None:
    """All that there is of a population, in a new folder."""
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


def _table(found: PopulationFit) -> Any:
    """The summary, with the differences between all levels of every factor below."""
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
    said = "p-values are adjusted by Holm's method over all differences between levels."
    notes += [said] if contrasts else []
    for contrast in contrasts:
        for name in contrast.names:
            one = contrast[name]
            notes.append(
                f"{contrast.factor}, {contrast.words}: {name} {one['difference']:.3g} "
                f"[{one['low']:.3g}, {one['high']:.3g}], adjusted p = {next(adjusted):.2g}."
            )
    return replace(table, notes=tuple(notes))


def _loaded(
    file: str | None,
    data: Data,
    terms: Terms,
    agent: Agent,
    history: History,
    populated: Populated,
) -> tuple[Any, Any, Any]:
    """Decisions of all subjects, the model, and the conditions of the episodes."""
    if file is not None and is_scanned(file, play=agent.model is not None):
        if agent.model is None:
            refuse(populated, "without --model", names={"within", "varying"})
            return load_scan(file, data, terms), None, None
        refuse(terms, "with --model")
        found = scanned(file, data, history, agent)
        check_people(found)
        return found.scan, found.model, populated.within
    if agent.model is None:
        refuse(populated, "without --model", names={"within", "varying"})
        choices = load_choices(file, data, terms, by_subject=True)
        say(f"{choices}.")
        return choices, None, None
    refuse(terms, "with --model")
    if entry_of(agent.model).data == "offers":
        offered = load_offers(file, data, history, str(agent.model))
        return offered, model_named(agent, 0), populated.within
    ready = ready_model(agent, data, history)
    reading, model = play_for(ready, file, data, history, agent)
    return reading, model, _conditions(reading, populated.within)


def _people_of(choices: Choices, file: str | None, data: Data, names: Sequence[str]) -> Any:
    """A row of covariates for everybody, out of a file of choices that has them in every row."""
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


def _conditions(reading: Reading, within: str | None) -> Any:
    """The label of every episode, by a column of the table; blocks, if there is no such column."""
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


def _formulas(words: list[str]) -> dict[str, str]:
    """learning_rate ~ group * age."""
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


def _links(words: list[str]) -> dict[str, Any] | str | None:
    """price=log, rate=0..1, or weights alone."""
    if words == [WEIGHTS]:
        return WEIGHTS
    found: dict[str, Any] = {}
    for word in words:
        name, told, link = (part.strip() for part in word.partition("="))
        if not (name and told and link):
            raise DataError(
                "--links",
                f"must be NAME=LINK, or {WEIGHTS} alone",
                got=repr(word),
                fix="Try --links price=log.",
            )
        low, dots, high = link.partition("..")
        found[name] = ("logit", _number(word, low), _number(word, high)) if dots else link
    return found or None


def _number(word: str, end: str) -> float:
    try:
        return float(end)
    except ValueError:
        raise DataError(
            "--links",
            "must have numbers about the dots",
            got=repr(word),
            fix="Try --links price=-5..0.",
        ) from None
