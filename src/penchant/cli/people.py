"""What `fit` does with many people in files: scan, fit one after another, show a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penchant._typing import Matrix
from penchant.arguments import check_level
from penchant.cli.fitting import ready_model
from penchant.cli.model import check_bounds, constraints, fit_options, prior
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.running import load_scan, shown
from penchant.cli.settings import counts_options, map_words, model_named, place_words
from penchant.cli.showing import VALID, checked_document, kept, one
from penchant.cli.tables import NOT_OF_OFFERS, OF_PLAY, asked_of, named_offers
from penchant.cli.words import refuse, say, when_interrupted
from penchant.cli.workflow_options import Played, Prediction, Written
from penchant.errors import DataError, listing
from penchant.files.output import TABLES, json_text, write_table
from penchant.inference.fit import fit
from penchant.inference.fit_each import OF_CHOICES as OF_CHOICES_ALONE
from penchant.inference.fit_each import fit_each, portion_fit
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared
from penchant.reading.played import columns_of
from penchant.scale.fit_people import groups_of
from penchant.scale.histories import HistoryScan
from penchant.scale.scan import scan
from penchant.scale.stored import stored_files
from penchant.tables.offer_columns import NO_COLUMN
from penchant.tables.reading import TITLES
from penchant.workflow.beliefs import PortionBeliefs, beliefs

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
            f"--subject must name a column for {TITLES[found.scan.kind]} in several files; got "
            "none. Say whose rows they are."
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
    asked = asked_of(data, history, "play", names=names).columns
    columns = columns_of(names, {"decision": None, **asked}, places)
    say(f"Columns: {columns.words()}")
    refuse(history, "with several files", names={"executed"})
    own = columns.arguments().items()
    given: dict[str, Any] = {part: name or NO_COLUMN for part, name in own if part != "executed"}
    given |= {"base": history.base or None, "gaps": history.gaps, "shown": history.shown or None}
    given |= {"missing_reward": history.missing_reward}
    given |= {"locations": None if isinstance(columns.chosen, str) else places}
    found: HistoryScan = scan(file, kind="play", **given)
    say(repr(found))
    found, n_options = _with_labels(found, columns.chosen, data, history, counts_options(agent))
    return Scanned(found, _model(ready, n_options, agent, places, found, history.base))


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
                "chosen must tell whether options are counted from 0 or from 1; got 1 to "
                f"{largest}. Pass --base 1, or --options {largest + 1} if there is an option 0 "
                "that nobody chose."
            )
        return found, largest + 1
    labels = data.options if data.options and not counted_only else sorted(map(str, seen))
    say(f"Options: {listing(f'{label} = {i}' for i, label in enumerate(labels))}.")
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
            f"--options must be at least {n_options}, as the files hold as many; got "
            f"{ready.n_options}. Match them."
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
            f"--output must end in .parquet for several files; got {show.output}. Choose that."
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
    print(json_text(estimates.to_dict()) if show.json else estimates.summary() + "\n", end="")
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
        return shown(lambda: one(fit(found.scan, found.model, **given), show), file, show)
    return fit_people(found.scan, found.model, given, show, threads)


def run_predict_files(
    file: str, table: Played, agent: Agent, prediction: Prediction, written: Written
) -> int:
    """Fit every subject of several files, write what the model says of every event."""
    refuse(prediction, "with several files", names={"check", "seed"})
    if written.figure is not None:
        raise DataError(
            f"--figure must be left out with several files; got {written.figure}. It shows a check."
        )
    if written.output is None or written.output.suffix.lower() != ".parquet":
        raise DataError(
            "--output must be a .parquet file for several files; got "
            f"{written.output or 'none'}. Name one."
        )
    history = replace(table.history(), clock=prediction.clock)
    found = scanned(file, table.data(), history, agent)
    weights = prior(prediction.prior)
    if are_together(found, prediction.pool):
        _predict_together(found, weights, prediction.all_options, written)
    else:
        fits = portion_fit(found.scan, found.model, weights, OF_CHOICES_ALONE)
        say(f"Model: {fits}.")
        _, place = found.scan.people.place(written.output, written.overwrite)
        words = "what is done is kept; the same command goes on from there."
        with when_interrupted(lambda: words):
            work = PortionBeliefs(fits, prediction.all_options)
            found.scan.people.stream(work, place, None, prediction.threads, "Predicting")
    say(f"Written: {written.output}")
    return _say_predicted(written)


def _predict_together(found: Scanned, weights: Any, all_options: bool, written: Written) -> None:
    """One set of parameters for all, and what it says of every event."""
    assert written.output is not None
    with kept(written, TABLES):
        histories = found.scan.in_memory("one set of parameters of a model")
        estimate = fit(histories, found.model, parameter_prior=weights)
        say(f"Model: {estimate.model}.")
        made = beliefs(estimate, histories).to_frame("pyarrow", options=all_options)
        write_table(written.output, made, overwrite=written.overwrite)


def _say_predicted(written: Written) -> int:
    """How well the decisions of a file of predictions were predicted; the exit code."""
    assert written.output is not None
    counts = {"rows": 0, "predicted": 0}
    total = 0.0
    for group in groups_of(written.output, ["scored", "log_probability"]):
        logs = np.asarray(group["log_probability"].to_numpy(), dtype=np.float64)
        logs = logs[np.asarray(group["scored"].to_numpy(), dtype=bool)]
        counts["rows"] += len(group)
        counts["predicted"] += int(np.isfinite(logs).sum())
        total += float(logs[np.isfinite(logs)].sum())
    document = {**counts, "log_likelihood": total, "output": str(written.output)}
    if written.json:
        print(json_text(document), end="")
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
    print(json_text(document) if json else estimates.summary() + "\n", end="")
    return 0 if set(estimates.counts()) & set(VALID) else 1


def _say_checked(estimate: Any, json: bool) -> int:
    print(json_text(checked_document(estimate)) if json else _about(estimate), end="")
    return 0 if estimate.status in VALID else 1


def _about(estimate: Any) -> str:
    notes = "".join(f"Note: {note}\n" for note in estimate.notes)
    return f"{notes}Status: {estimate.status}. {estimate.message}\n"
