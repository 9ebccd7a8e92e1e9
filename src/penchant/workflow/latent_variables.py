"""Latent variables of fitted models, event by event: regressors for imaging and reaction times.

Choice probabilities, their entropy, and the model's values, prediction errors and uncertainty of
every option before each event (model-based analysis: O'Doherty, Hampton & Kim 2007). A model of
one's own declares its latent variables with a method

    def latent(self, episode, theta, psi):
        return {"value": ..., "uncertainty": ...}

whose arrays are (n_events, n_options), or (n_events,) for what does not belong to an option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from penchant._typing import BoolVector, IntVector, Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.bandit.episode import executed_history
from penchant.choices import Choices
from penchant.errors import DataError, format_list
from penchant.inference.fit import History
from penchant.inference.fit_each import PortionFitter
from penchant.inference.model_estimate import model_source
from penchant.models.arguments import as_episodes, data_of
from penchant.models.model import Declared, Model
from penchant.result_tables import (
    Backend,
    Columns,
    Result,
    format_count,
    make_frame,
)
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates, check_estimates
from penchant.softmax.inference_from_choices import ChoiceSource
from penchant.softmax.probabilities import log_probabilities
from penchant.tables.events import NOTHING


def declared_latent_variables(
    model: Model, episode: History, theta: Vector, psi: Vector
) -> dict[str, Matrix]:
    """Latent variables before each event, by name, of a model that declares them."""
    own = Declared(model).latent
    found = {} if own is None else own(episode, theta, psi)
    for name, values in found.items():
        if np.shape(values)[:1] != (episode.n_events,) or np.ndim(values) > 2:
            raise DataError(
                "latent",
                "must give arrays (n_events,) or (n_events, n_options)",
                got=f"shape {np.shape(values)} of {name!r} for {episode.n_events} events",
                fix="Correct it.",
            )
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Latent(Result):
    """Latent variables of every event, in the order of the episodes and of time.

    Attributes
    ----------
    columns
        One number per event each. `subject`, `block`, `event` (from 0 in its episode), `chosen`
        (-1: nothing), `reward`, `scored`; `probability` and `log_probability` of the choice made;
        `entropy` of the choice probabilities, in nats; `value`, `prediction_error` (reward minus
        value) and `uncertainty` of the option chosen or shown, where the model has them. NaN where
        there was no choice, no reward, or no finite estimate.
    options
        The same before the event for every option: (n_events, n_options), `probability` always.
    lengths
        Events of each episode.
    without
        Subjects without a finite estimate.
    """

    columns: Mapping[str, Any]
    options: Mapping[str, Matrix]
    lengths: tuple[int, ...]
    without: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return sum(self.lengths)

    def __getitem__(self, name: str) -> Any:
        """A column, by name."""
        check_one_of(name, "name", self.columns)
        return self.columns[name]

    def to_frame(
        self,
        backend: Backend = "pandas",
        *,
        options: bool = False,
        rows: Sequence[Any] | None = None,
    ) -> Any:
        """A table with one row per event.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow".
        options
            Add the columns of every option: probability_0, value_0 ...
        rows
            Row of the original table for each event of each episode, as `episode_rows` gives them:
            the result has these rows, in the order of that table, so that it can stand beside it.
            Events of no row (-1) are left out.
        """
        return make_frame(self.frame_columns(options=options, rows=rows), backend)

    def frame_columns(self, *, options: bool = False, rows: Sequence[Any] | None = None) -> Columns:
        """Columns of the data frame."""
        columns = dict(self.columns)
        if options:
            columns |= {
                f"{name}_{i}": values[:, i]
                for name, values in self.options.items()
                for i in range(values.shape[1])
            }
        if rows is not None:
            order = self._row_order(rows)
            columns = {name: np.asarray(values)[order] for name, values in columns.items()}
        return {name: _as_list(values) for name, values in columns.items()}

    def _row_order(self, rows: Sequence[Any]) -> IntVector:
        """Indices of the events that have a row, in the order of the rows."""
        if tuple(map(len, rows)) != self.lengths:
            raise DataError(
                "rows",
                "must hold a row for each event of each episode",
                got=(
                    f"{format_list(str(len(r)) for r in rows)} for episodes of "
                    f"{format_list(map(str, self.lengths))} events"
                ),
                fix="Give those of the same episodes.",
            )
        row_of_event = np.concatenate([np.asarray(r, dtype=np.int64) for r in rows])
        events = np.flatnonzero(row_of_event >= 0)
        # A stable sort, so that events of one row (a choice and what was shown) keep their order in
        # time.
        return events[np.argsort(row_of_event[events], kind="stable")]

    def __repr__(self) -> str:
        names = [n for n in ("value", "prediction_error", "uncertainty") if n in self.columns]
        more = f"; {format_count(len(self.without), 'subject')} without" if self.without else ""
        text = ", ".join(["probability", "entropy", *names])
        return f"<Latent variables of {format_count(len(self), 'event')}: {text}{more}>"


def beliefs(estimates: Estimate | Estimates, episodes: Any = None) -> Latent:
    """Probabilities, values, prediction errors and uncertainty at every event.

    Parameters
    ----------
    estimates
        Of `fit` or `fit_each`. For regressors, fit with `parameter_prior=ScaledPrior()`: subjects
        whose choices are separated have no finite estimate otherwise, and NaN here.
    episodes
        Episodes to describe, in this order; those of the fit if not given. With estimates of many
        subjects, each by its own subject's estimate. For estimates of choices: `Choices`, or what
        `read` returned; `value` is then the objective, theta'x.

    Notes
    -----
    Built-in models that learn offer what their player believes. A model of your own does with a
    method `latent(episode, theta, psi)` that returns arrays (n_events, n_options) by name.

    Examples
    --------
    >>> import penchant as pn
    >>> episode = pn.Episode([0, 1, None, 1, 0, 1], [1.0, 0.0, None, 0.5, 1.0, 0.2])
    >>> estimate = pn.fit(episode, pn.QLearning(2, learning_rate=0.5))
    >>> found = pn.beliefs(estimate)
    >>> found
    <Latent variables of 6 events: probability, entropy, value, prediction_error>
    >>> found["prediction_error"].round(2)
    array([ 1.  ,  0.  ,   nan,  0.5 ,  0.5 , -0.05])
    """
    check_estimates(estimates)
    many = isinstance(estimates, Estimates)
    fits = list(estimates) if isinstance(estimates, Estimates) else [estimates]
    if fits and isinstance(fits[0].source, ChoiceSource):
        return _choice_latents(estimates, data_of(episodes))
    if episodes is None:
        pairs = [(fit, episode) for fit in fits for episode in _fitted_episodes(fit)]
    else:
        of = {fit.subject: fit for fit in fits}
        pairs = [
            (_estimate_of_subject(of, e.subject) if many else fits[0], e)
            for e in as_episodes(episodes)
        ]
    # All episodes have a column of executed options, or none has: they are concatenated.
    with_executed = any(executed_history(episode) is not episode for _, episode in pairs)
    parts = [_latent_columns_and_matrices(fit, episode, with_executed) for fit, episode in pairs]
    without = dict.fromkeys(fit.subject for fit, _ in pairs if not _has_finite_parameters(fit))
    return _concatenate_episodes(parts, tuple(e.n_events for _, e in pairs), tuple(without))


def _latent_columns_and_matrices(
    estimate: Estimate, episode: History, with_executed: bool
) -> tuple[dict[str, Any], dict[str, Matrix]]:
    """Columns and matrices of one episode; with a column of executed options, if asked for."""
    theta, psi = estimate.weights, model_source(estimate).finite_psi(estimate)
    # Without a finite estimate the values are NaN, and any psi will do: only shapes and names are
    # taken from the attributes there.
    at = psi if np.isfinite(psi).all() else np.array([s.grid()[0] for s in estimate.model.shape])
    history = executed_history(episode)
    x = np.asarray(estimate.model.explanatory(history, *at))
    if _has_finite_parameters(estimate):
        q = x @ theta
        available = getattr(episode, "available", None)
        if available is not None:  # a utility of -inf has probability 0
            q = np.where(available, q, -np.inf)
        log_p = q - special.logsumexp(q, axis=1, keepdims=True)
        found = declared_latent_variables(estimate.model, history, theta, psi)
    else:
        log_p = np.full(x.shape[:2], np.nan)
        ones = np.ones(len(theta))
        template = declared_latent_variables(estimate.model, history, ones, at)
        found = {name: np.full(values.shape, np.nan) for name, values in template.items()}
    p = np.exp(log_p)
    is_choice = getattr(episode, "is_choice", np.ones(episode.n_events, dtype=bool))
    rewards = getattr(episode, "rewards", np.full(episode.n_events, np.nan))
    made = (episode.chosen != NOTHING) & is_choice
    columns: dict[str, Any] = {
        "subject": [episode.subject] * episode.n_events,
        "block": [episode.block] * episode.n_events,
        "event": np.arange(episode.n_events),
        "chosen": episode.chosen,
        "reward": rewards,
        "scored": episode.scored,
        "probability": _chosen_values(p, episode.chosen, made),
        "log_probability": _chosen_values(log_p, episode.chosen, made),
        "entropy": -special.xlogy(p, p).sum(axis=1),  # xlogy, as 0 log 0 would be NaN
    }
    if with_executed:
        columns["executed"] = history.chosen
    # Values are of the option executed, whose reward the player learns from; probabilities are of
    # the option chosen, which the model predicts.
    is_executed = history.chosen != NOTHING
    for name, values in found.items():
        own = values if values.ndim == 1 else _chosen_values(values, history.chosen, is_executed)
        columns[name] = own
        if name == "value":
            columns["prediction_error"] = rewards - columns["value"]
    matrices = {name: values for name, values in found.items() if values.ndim == 2}
    return columns, {"probability": p, **matrices}


def _choice_latents(estimates: Estimate | Estimates, choices: Choices | None) -> Latent:
    """Probabilities and utilities of the options of every decision."""
    if isinstance(estimates, Estimates):
        if choices is None:
            return _concatenate_subjects([_choice_latents(one, None) for one in estimates])
        labels = choices.subject_labels or ()
        if choices.subject is None:
            raise DataError(
                "episodes",
                "must say whose they are for estimates of many subjects",
                got="choices without a subject",
                fix="Name its column when reading them.",
            )
        values, log_p = (np.full(choices.n_rows, np.nan) for _ in range(2))
        for code, label in enumerate(labels):
            one = estimates.of(label)
            is_own = choices.subject == code
            rows = np.repeat(is_own, np.diff(choices.first_row))
            values[rows], log_p[rows] = _utilities_and_log_p(one, choices.subset(is_own))
        without = tuple(e.subject for e in estimates if not np.isfinite(e.theta).all())
        return _choice_set_latents(choices, values, log_p, without)
    own = estimates.choices if choices is None else choices
    if own is None:
        raise DataError(
            "episodes",
            "must be given for an estimate without its choices",
            got="none, as they are not stored with an estimate",
            fix="Pass them.",
        )
    without = () if np.isfinite(estimates.theta).all() else (estimates.subject,)
    return _choice_set_latents(own, *_utilities_and_log_p(estimates, own), without)


def _utilities_and_log_p(estimate: Estimate, choices: Choices) -> tuple[Vector, Vector]:
    """Utility and log-probability of every row; NaN without a finite estimate."""
    if not np.isfinite(estimate.theta).all():
        blank = np.full(choices.n_rows, np.nan)
        return blank, blank
    own = choices.select(estimate.names)
    offset = 0.0 if own.offset is None else own.offset
    return own.explanatory @ estimate.theta + offset, log_probabilities(estimate.theta, own)


def _concatenate_subjects(parts: Sequence[Latent]) -> Latent:
    """Concatenate subjects, whose largest choice sets may differ in size."""
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    widest = max(part.options["probability"].shape[1] for part in parts)
    options = {
        name: np.concatenate([_padded_options(part.options[name], widest) for part in parts])
        for name in parts[0].options
    }
    lengths = tuple(n for part in parts for n in part.lengths)
    return Latent(columns, options, lengths, tuple(s for part in parts for s in part.without))


def _padded_options(values: Matrix, width: int) -> Matrix:
    more = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, more)), constant_values=np.nan)


def _choice_set_latents(
    choices: Choices, values: Vector, log_p: Vector, without: tuple[Any, ...]
) -> Latent:
    """Columns of decisions, and matrices of their options, NaN where a set has fewer."""
    sizes = np.diff(choices.first_row)
    decision = np.repeat(np.arange(len(sizes)), sizes)
    option = np.arange(len(decision)) - choices.first_row[:-1][decision]
    p = np.exp(log_p)
    options = {}
    for name, rows in (("probability", p), ("value", values)):
        options[name] = np.full((len(sizes), int(sizes.max())), np.nan)
        options[name][decision, option] = rows
    people = choices.subject_labels or (None,)
    codes = np.zeros(len(sizes), np.int64) if choices.subject is None else choices.subject
    # The entropy term -p log p is NaN where p underflows, though its limit is 0; NaN of missing
    # estimates must stay NaN.
    regular = np.isfinite(log_p) & (p > 0)
    limit = np.where(np.isnan(p), np.nan, 0.0)
    entropy_terms = np.where(regular, -p * np.where(regular, log_p, 0.0), limit)
    columns: dict[str, Any] = {
        "subject": _object_array([people[code] for code in codes.tolist()]),
        "event": np.arange(len(sizes)),
        "chosen": choices.chosen,
        "scored": np.ones(len(sizes), dtype=bool),
        "probability": p[choices.chosen_row],
        "log_probability": log_p[choices.chosen_row],
        "entropy": np.add.reduceat(entropy_terms, choices.first_row[:-1]),
        "value": values[choices.chosen_row],
    }
    return Latent(columns, options, (len(sizes),), without)


def _object_array(values: list[Any]) -> Any:
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def _chosen_values(values: Matrix, chosen: IntVector, has_choice: BoolVector) -> Vector:
    found = np.full(len(chosen), np.nan)
    found[has_choice] = values[np.flatnonzero(has_choice), chosen[has_choice]]
    return found


def _concatenate_episodes(
    parts: Sequence[tuple[dict[str, Any], dict[str, Matrix]]],
    lengths: tuple[int, ...],
    without: tuple[Any, ...],
) -> Latent:
    # Labels may be tuples, which NumPy would make axes of: they stay in lists until
    # `_object_array`.
    columns = {
        name: (
            [label for own, _ in parts for label in own[name]]
            if name in ("subject", "block")
            else np.concatenate([own[name] for own, _ in parts])
        )
        for name in parts[0][0]
    }
    options = {name: np.concatenate([m[name] for _, m in parts]) for name in parts[0][1]}
    for name in ("subject", "block"):
        columns[name] = _object_array(list(columns[name]))
    return Latent(columns, options, lengths, without)


def _has_finite_parameters(estimate: Estimate) -> bool:
    return bool(
        np.isfinite(np.append(estimate.weights, model_source(estimate).finite_psi(estimate))).all()
    )


def _fitted_episodes(estimate: Estimate) -> tuple[Any, ...]:
    if estimate.episodes is None:
        raise DataError(
            "episodes",
            "must be given for an estimate without its own",
            got="none, as they are not stored with an estimate",
            fix="Pass them.",
        )
    return estimate.episodes


def _estimate_of_subject(estimate_by_subject: Mapping[Any, Estimate], subject: Label) -> Estimate:
    if subject not in estimate_by_subject:
        raise DataError(
            "episodes",
            "must be of subjects that were fitted",
            got=repr(subject),
            fix="Fit all of them, or leave the others out.",
        )
    return estimate_by_subject[subject]


def _as_list(values: Any) -> list[Any]:
    return list(values.tolist()) if isinstance(values, np.ndarray) else list(values)


@dataclass(frozen=True)
class BatchBeliefs:
    """Latent variables of every event of a portion of subjects, one row each; picklable.

    Attributes
    ----------
    all_options
        Whether the columns of every option are added.
    """

    fits: PortionFitter
    all_options: bool = False

    def __call__(self, data: Any) -> Any:
        """Table of pyarrow, in the order of subjects, episodes and time."""
        found = beliefs(self.fits.estimates(data), data)
        return found.to_frame("pyarrow", options=self.all_options)

    def __str__(self) -> str:
        return str(self.fits)
