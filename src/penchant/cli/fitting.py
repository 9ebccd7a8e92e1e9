"""What `fit` does with task data (a history of play) or offers: load, fit, arrange, show."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penchant._frames import frame
from penchant.bandit.beliefs import RewardPrior
from penchant.bandit.episode import Episode
from penchant.cli.episodes import Play, load_episodes, say_episodes, say_places
from penchant.cli.model import fit_options
from penchant.cli.offers import load_trials, say_trials
from penchant.cli.options import Agent, Data, History, Model, Show, Terms
from penchant.cli.running import shown
from penchant.cli.settings import counts_options, model_named, nominal, ucl
from penchant.cli.showing import (
    MOST_ROWS,
    Result,
    check_sound,
    from_to,
    how_known,
    keeps_words,
    randomness,
    seeded,
    shows_intervals,
    subjects_notes,
    which_intervals,
)
from penchant.cli.words import refuse, say
from penchant.errors import DataError, PenchantWarning
from penchant.inference.fit import fit_model
from penchant.inference.fit_each_model import fit_each_model
from penchant.inference.linearized import fit_linearized, fit_linearized_each
from penchant.models.catalogue import entry_of
from penchant.models.model import Declared
from penchant.models.record import for_task
from penchant.output.table import Table, number
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates
from penchant.softmax.validity import Validity, nominal_words


def model_one(estimate: Estimate, show: Show) -> Result:
    """The result of one exact fit."""
    check_sound(estimate.status, estimate.theta)
    words = estimate.table(show.level, show.intervals, randomness(show))
    doubt = f"{estimate.status}: {estimate.message}"
    return Result(
        statuses=(estimate.status,),
        doubts=() if estimate.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _model_document(estimate, show),
        frame=lambda: estimate.to_frame(show.level, "pyarrow", show.intervals, randomness(show)),
    )


def model_many(estimates: Estimates, show: Show) -> Result:
    """The result of one exact fit per subject."""
    for estimate in estimates:
        check_sound(estimate.status, estimate.theta)

    def table(most: int) -> Table:
        notes = subjects_notes(estimates.subjects, estimates.status, estimates.messages, most)
        more = f"Model: {estimates[0].model}."
        caption = f"Exact maximum likelihood of {len(estimates)} subjects"
        if estimates[0].prior is not None:
            caption = f"MAP, {estimates[0].prior} prior, of {len(estimates)} subjects"
        shown = estimates[:most]
        kind = show.intervals if shows_intervals(show) else "wald"
        found = shown.parameters_at(show.level, kind, randomness(show))
        rows = _rows(estimates.subjects, shown, estimates.status, found, show)
        return _subjects_table(
            caption, estimates.status, rows, (*notes, more, *which_intervals(show))
        )

    printed = table(MOST_ROWS)
    return Result(
        statuses=estimates.status,
        doubts=(_counted(estimates.status),),
        printed=printed,
        kept=table(len(estimates)) if keeps_words(show) else printed,
        document=lambda: [_model_document(estimate, show) for estimate in estimates],
        frame=lambda: estimates.to_frame(show.level, "pyarrow", show.intervals, randomness(show)),
    )


def linearized_one(found: Estimate, show: Show) -> Result:
    """The result of one fit of the paper's estimator."""
    check_sound(found.status, found.theta)
    words = found.table(show.level)
    doubt = f"{found.status}: {found.message}"
    return Result(
        statuses=(found.status,),
        doubts=() if found.converged else (doubt,),
        printed=words,
        kept=words,
        document=lambda: _linearized_document(found, show),
        frame=lambda: _linearized_frame(found, show),
    )


def linearized_many(found: Estimates, show: Show) -> Result:
    """The result of the paper's estimator for every subject."""
    if found.n_valid < len(found):
        say(f"Warning: {_range_words(found)}")

    def table(most: int) -> Table:
        caption = (
            f"Linearised about {nominal_words(_validity(found[0]).nominal)}, {len(found)} subjects"
        )
        notes = subjects_notes(found.subjects, found.status, found.messages, most)
        shown = found[:most]
        known = [f.parameters for f in shown]
        wald = replace(show, intervals="wald")
        header, rows = _rows(found.subjects, shown, found.status, known, wald)
        header = (*header, "Delta/nominal")
        rows = [(*row, number(_validity(f).ratio, 4)) for row, f in zip(rows, found, strict=False)]
        more = (*notes, _range_words(found), f"Model: {found[0].model}.")
        return _subjects_table(caption, found.status, (header, rows), more)

    return Result(
        statuses=found.status,
        doubts=(_counted(found.status),),
        printed=table(MOST_ROWS),
        kept=table(len(found)),
        document=lambda: [_linearized_document(one, show) for one in found],
        frame=lambda: found.to_frame(show.level, "pyarrow"),
    )


def _validity(found: Estimate) -> Validity:
    assert found.validity is not None
    return found.validity


def _counted(statuses: Sequence[str]) -> str:
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses)))
    return f"{len(statuses)} subjects: {counts}"


Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]


def _rows(
    subjects: Sequence[Any],
    estimates: Sequence[Any],
    statuses: Sequence[str],
    parameters: Sequence[Sequence[Any]],
    show: Show,
) -> Rows:
    """Header and rows: natural parameters with standard errors, or intervals."""
    header = ["subject", "status", "n", "log-lik."]
    for parameter in parameters[0]:
        header += [parameter.name, how_known(show)]
    rows = []
    for i, estimate in enumerate(estimates):
        fit = [str(estimate.n_decisions), f"{estimate.log_likelihood:.2f}"]
        row = [str(subjects[i]), statuses[i], *fit]
        for p in parameters[i]:
            error = number(p.standard_error, 3)
            known = from_to(p.low, p.high) if shows_intervals(show) else error
            row += [number(p.estimate, 4), known]
        rows.append(tuple(row))
    return tuple(header), rows


def _subjects_table(
    caption: str, statuses: Sequence[str], rows: Rows, notes: tuple[str, ...]
) -> Table:
    facts = tuple((status, str(statuses.count(status))) for status in sorted(set(statuses)))
    header, cells = rows
    return Table(caption, facts, header, tuple(cells), notes)


def _model_document(estimate: Estimate, show: Show) -> dict[str, Any]:
    document = estimate.to_dict(show.level, show.intervals, randomness(show))
    return document | seeded(show) | {"notes": list(estimate.notes)}


def _range_words(found: Estimates) -> str:
    far = len(found) - found.n_valid
    low = _validity(found[0]).bounds[0]
    high = min(_validity(f).bounds[1] for f in found)
    bounds = f"bounds {low:.4g} and {high:.4g}"
    if not far:
        return f"Delta / nominal is small for every subject ({bounds})."
    return (
        f"Delta / nominal is not small, or the parameters lie outside the model, for {far} of "
        f"{len(found)} subjects ({bounds}): their shape parameters mean nothing. Linearise about "
        "another prior, or leave --linearized out for the exact fit."
    )


def _linearized_document(found: Estimate, show: Show) -> dict[str, Any]:
    return found.to_dict(show.level)


def _linearized_frame(found: Estimate, show: Show) -> Any:
    """Natural parameters, then theta."""
    low_high = found.interval(show.level, of="theta")
    theta = zip(found.names, found.theta, found.standard_errors, *low_high.T, strict=True)
    natural = [
        (p.name, p.estimate, p.standard_error, p.low, p.high)
        for p in found.parameters_at(show.level)
    ]
    columns = zip(*natural, *theta, strict=True)
    names = ("name", "estimate", "standard_error", "low", "high")
    return frame(dict(zip(names, columns, strict=True)), "pyarrow")


OF_CHOICES = {"method", "constraint", "covariance", "max_steps"}


def run_fit_play(
    file: str | None,
    data: Data,
    terms: Terms,
    model: Model,
    show: Show,
    agent: Agent,
    history: History,
) -> int:
    """Fit a model to task data or to offers, write, print; the exit code."""

    def result() -> Result:
        refuse(terms, "with --model")
        return play_result(file, data, model, show, agent, history)

    return shown(result, file, show)


def play_result(
    file: str | None, data: Data, model: Model, show: Show, agent: Agent, history: History
) -> Result:
    """The fit of a model to task data, or to one-shot choices among offers."""
    refuse(model, "with --model", names=OF_CHOICES)
    options = fit_options(model)
    assert agent.model is not None
    if entry_of(agent.model).data == "offers":
        return _offers_result(file, data, options, show, agent, history)
    prior = _nominal(agent, history)
    if prior is not None:
        refuse(model, "with --linearized", names={"prior"})
        refuse(show, "with --linearized", names={"intervals"})
    ready = ready_model(agent, data, history)
    places = Declared(ready).locations
    play = load_episodes(file, data, history, places)
    say_episodes(play.episodes)
    played = model_for_play(ready, play, agent)
    together = history.pool or play.columns.subject is None
    if prior is not None:
        return _linearized(play.episodes, played, prior, together, show)
    return _exact(play.episodes, played, together, options, show)


def _exact(
    episodes: Sequence[Any], model: Any, together: bool, options: Mapping[str, Any], show: Show
) -> Result:
    """The exact estimate, of all episodes or of each subject."""
    prior = options["parameter_prior"]
    if together:
        return model_one(fit_model(episodes, model, parameter_prior=prior), show)
    estimates = fit_each_model(episodes, model, parameter_prior=prior, threads=options["threads"])
    return model_many(estimates, show)


def _offers_result(
    file: str | None,
    data: Data,
    options: Mapping[str, Any],
    show: Show,
    agent: Agent,
    history: History,
) -> Result:
    """What choices among offers tell of those who made them."""
    model = model_named(agent, 0)
    trials = load_trials(file, data, history, str(agent.model))
    say_trials(trials)
    together = history.pool or trials[0].subject is None
    return _exact(trials, model, together, options, show)


def _nominal(agent: Agent, history: History) -> RewardPrior | None:
    if history.linearized is None:
        return None
    if agent.model != "ucl":
        refuse(history, f"with --model {agent.model}", names={"linearized"})
    prior = nominal(history.linearized)
    if agent.length_scale is None and prior.length_scale is None:
        raise DataError(
            "--linearized must be MEAN,VARIANCE,LENGTH where the length scale is estimated; "
            f"got {history.linearized!r}. Add it, or fix it with --length-scale."
        )
    if agent.length_scale is not None and prior.length_scale is not None:
        raise DataError(
            "--linearized must be MEAN,VARIANCE where --length-scale is given; "
            f"got {history.linearized!r}. Leave one of them out."
        )
    return prior


def ready_model(agent: Agent, data: Data, history: History) -> Any:
    """The model, before the data are read; None where they say how many options it has."""
    assert agent.model is not None
    if entry_of(agent.model).data != "play":
        raise DataError(
            f"--model must be one of task data with rewards; got {agent.model}, which is for "
            "offers. penchant models lists both."
        )
    refuse(history, f"with --model {agent.model}", names={"offers"})
    if not counts_options(agent):
        if len(data.options) == 1:
            advice = "The model says how many there are"
            refuse(data, f"with --model {agent.model}", advice, names={"options"})
        if agent.model == "ucl":
            return ucl(agent, history.clock)
    refuse(history, f"with --model {agent.model}", names={"clock"})
    if not counts_options(agent):
        return model_named(agent, 0)
    if len(data.options) != 1:
        model_named(agent, 2)  # says what is wrong with its settings
        return None
    try:
        n_options = int(data.options[0])
    except ValueError:
        raise DataError(
            f"--options must be a number, or two labels or more, with --model {agent.model}; "
            f"got {data.options[0]}. Leave it out to take the largest one in the file."
        ) from None
    return model_named(agent, n_options)


def model_for_play(ready: Any, play: Play, agent: Agent) -> Any:
    """The model for these data, and what is assumed of it."""
    return for_task(_with_options(ready, play, agent), play.episodes)


def _with_options(ready: Any, play: Play, agent: Agent) -> Any:
    """The model with the options of the data."""
    if ready is None:
        n_options = play.n_options
        play.check_first()
        if play.labels is None:
            say(f"Options: {n_options}, as the largest number says; --options if there were more.")
        return model_named(agent, n_options)
    if Declared(ready).locations is None:
        named = (
            f"--options {ready.n_options}" if counts_options(agent) else f"--model {agent.model}"
        )
        play.check_options(ready.n_options, named)
        return ready
    said = f"--grid {agent.grid}" if agent.grid is not None else f"--locations {agent.locations}"
    play.check_options(ready.n_options, said)
    say_places(agent, play, ready.locations)
    notes_on = Declared(ready).notes_on
    for note in () if notes_on is None else notes_on(play.episodes):
        say(f"Note: {note}")
    return ready


def _linearized(
    episodes: Sequence[Episode], model: Any, prior: RewardPrior, together: bool, show: Show
) -> Result:
    """The paper's estimator, of all episodes or of each subject."""
    if together:
        return linearized_one(fit_linearized(episodes, model, nominal=prior), show)
    with warnings.catch_warnings():  # the table says it of each
        warnings.simplefilter("ignore", PenchantWarning)
        found = fit_linearized_each(episodes, model, nominal=prior)
    return linearized_many(found, show)
