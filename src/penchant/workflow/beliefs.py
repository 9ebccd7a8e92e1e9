"""What went on in the player, event by event: regressors for imaging and reaction times.

What a model says the player believes of every option before each event.

A model of one's own says it with a method

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

from penchant._typing import BoolVector, IntVector, Matrix, Vector
from penchant.bandit.episode import history_learnt_from
from penchant.choices import Choices
from penchant.errors import DataError, format_list
from penchant.inference.fit_each import PortionFit
from penchant.inference.from_episodes import model_source
from penchant.models.model import Declared
from penchant.models.record import as_episodes, data_of
from penchant.output import (
    Backend,
    Result,
    format_count,
    frame_backend,
    make_frame,
    preserve_frame_backend,
)
from penchant.softmax.choice_estimate import ChoiceSource
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates, check_estimates
from penchant.softmax.probabilities import log_probabilities
from penchant.tables.events import NOTHING


def option_beliefs(model: Any, episode: Any, theta: Vector, psi: Vector) -> dict[str, Matrix]:
    """Beliefs before each event, by name, as the model declares them; none where it does not."""
    own = Declared(model).latent
    found = {} if own is None else own(episode, theta, psi)
    for name, values in found.items():
        if np.shape(values)[:1] != (episode.n_events,) or np.ndim(values) > 2:
            raise DataError(
                f"latent must give arrays (n_events,) or (n_events, n_options); got shape "
                f"{np.shape(values)} of {name!r} for {episode.n_events} events. Correct it."
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
        """One column, by name."""
        if name not in self.columns:
            raise DataError(
                f"name must be one of {', '.join(self.columns)}; got {name!r}. Choose one."
            )
        return self.columns[name]

    def to_frame(
        self,
        backend: Backend | None = None,
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
        columns = dict(self.columns)
        if options:
            columns |= {
                f"{name}_{i}": values[:, i]
                for name, values in self.options.items()
                for i in range(values.shape[1])
            }
        if rows is not None:
            order = self._order(rows)
            columns = {name: np.asarray(values)[order] for name, values in columns.items()}
        return make_frame(
            {name: _plain(values) for name, values in columns.items()},
            backend or frame_backend(self),
        )

    def _order(self, rows: Sequence[Any]) -> IntVector:
        """Which events have a row, in the order of the rows."""
        if tuple(map(len, rows)) != self.lengths:
            raise DataError(
                "rows must hold a row for each event of each episode; got "
                f"{format_list(str(len(r)) for r in rows)} for episodes of "
                f"{format_list(map(str, self.lengths))} events. Give those of the same episodes."
            )
        every = np.concatenate([np.asarray(r, dtype=np.int64) for r in rows])
        known = np.flatnonzero(every >= 0)
        return known[np.argsort(every[known], kind="stable")]

    def __repr__(self) -> str:
        names = [n for n in ("value", "prediction_error", "uncertainty") if n in self.columns]
        more = f"; {format_count(len(self.without), 'subject')} without" if self.without else ""
        said = ", ".join(["probability", "entropy", *names])
        return f"<Latent variables of {format_count(len(self), 'event')}: {said}{more}>"


@preserve_frame_backend
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
        return _of_choices(estimates, data_of(episodes))
    if episodes is None:
        pairs = [(fit, episode) for fit in fits for episode in _of_fit(fit)]
    else:
        of = {fit.subject: fit for fit in fits}
        pairs = [
            (_of_subject(of, e.subject) if many else fits[0], e) for e in as_episodes(episodes)
        ]
    apart = any(history_learnt_from(episode) is not episode for _, episode in pairs)
    parts = [_described(fit, episode, apart) for fit, episode in pairs]
    without = dict.fromkeys(fit.subject for fit, _ in pairs if not _is_finite(fit))
    return _joined(parts, tuple(e.n_events for _, e in pairs), tuple(without))


def _described(
    estimate: Estimate, episode: Any, apart: bool
) -> tuple[dict[str, Any], dict[str, Matrix]]:
    """Columns and matrices of one episode; with a column of what was executed, if asked for."""
    theta, psi = estimate.weights, model_source(estimate).working_psi(estimate)
    at = psi if np.isfinite(psi).all() else np.array([s.grid()[0] for s in estimate.model.shape])
    happened = history_learnt_from(episode)
    x = np.asarray(estimate.model.explanatory(happened, *at))
    if _is_finite(estimate):
        q = x @ theta
        available = getattr(episode, "available", None)
        if available is not None:
            q = np.where(available, q, -np.inf)
        log_p = q - special.logsumexp(q, axis=1, keepdims=True)
        found = option_beliefs(estimate.model, happened, theta, psi)
    else:
        log_p = np.full(x.shape[:2], np.nan)
        ones = np.ones(len(theta))
        known = option_beliefs(estimate.model, happened, ones, at)
        found = {name: np.full(values.shape, np.nan) for name, values in known.items()}
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
        "probability": _of_chosen(p, episode.chosen, made),
        "log_probability": _of_chosen(log_p, episode.chosen, made),
        "entropy": -special.xlogy(p, p).sum(axis=1),
    }
    if apart:
        columns["executed"] = happened.chosen
    there = happened.chosen != NOTHING
    for name, values in found.items():
        columns[name] = values if values.ndim == 1 else _of_chosen(values, happened.chosen, there)
        if name == "value":
            columns["prediction_error"] = rewards - columns["value"]
    matrices = {name: values for name, values in found.items() if values.ndim == 2}
    return columns, {"probability": p, **matrices}


def _of_choices(estimates: Estimate | Estimates, choices: Choices | None) -> Latent:
    """Probabilities and objectives of the options of every decision."""
    if isinstance(estimates, Estimates):
        if choices is None:
            return _joined_people([_of_choices(one, None) for one in estimates])
        labels = choices.subject_labels or ()
        if choices.subject is None:
            raise DataError(
                "episodes must say whose they are for estimates of many subjects; got choices "
                "without a subject. Name its column when reading them."
            )
        values, log_p = (np.full(choices.n_rows, np.nan) for _ in range(2))
        for code, label in enumerate(labels):
            one = estimates.of(label)
            kept = np.repeat(choices.subject == code, np.diff(choices.first_row))
            values[kept], log_p[kept] = _at(one, choices.subset(choices.subject == code))
        without = tuple(e.subject for e in estimates if not np.isfinite(e.theta).all())
        return _of_rows(choices, values, log_p, without)
    own = estimates.choices if choices is None else choices
    if own is None:
        raise DataError(
            "episodes must be given for an estimate without its choices; got none, as they are not "
            "stored with an estimate. Pass them."
        )
    lost = () if np.isfinite(estimates.theta).all() else (estimates.subject,)
    return _of_rows(own, *_at(estimates, own), lost)


def _at(estimate: Estimate, choices: Choices) -> tuple[Vector, Vector]:
    """The objective and the log-probability of every row; NaN without a finite estimate."""
    if not np.isfinite(estimate.theta).all():
        blank = np.full(choices.n_rows, np.nan)
        return blank, blank
    own = choices.select(estimate.names)
    known = 0.0 if own.offset is None else own.offset
    return own.explanatory @ estimate.theta + known, log_probabilities(estimate.theta, own)


def _joined_people(parts: Sequence[Latent]) -> Latent:
    """What was found of one subject after another."""
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    widest = max(part.options["probability"].shape[1] for part in parts)
    options = {
        name: np.concatenate([_widened(part.options[name], widest) for part in parts])
        for name in parts[0].options
    }
    lengths = tuple(n for part in parts for n in part.lengths)
    return Latent(columns, options, lengths, tuple(s for part in parts for s in part.without))


def _widened(values: Matrix, width: int) -> Matrix:
    more = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, more)), constant_values=np.nan)


def _of_rows(choices: Choices, values: Vector, log_p: Vector, without: tuple[Any, ...]) -> Latent:
    """Columns of the decisions, and matrices of their options, empty where a set has fewer."""
    sizes = np.diff(choices.first_row)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(owner)) - choices.first_row[:-1][owner]
    p = np.exp(log_p)
    options = {}
    for name, rows in (("probability", p), ("value", values)):
        options[name] = np.full((len(sizes), int(sizes.max())), np.nan)
        options[name][owner, place] = rows
    people = choices.subject_labels or (None,)
    codes = np.zeros(len(sizes), np.int64) if choices.subject is None else choices.subject
    told = np.isfinite(log_p) & (p > 0)
    surprise = np.where(told, -p * np.where(told, log_p, 0.0), np.where(np.isnan(p), np.nan, 0.0))
    columns: dict[str, Any] = {
        "subject": _objects([people[code] for code in codes.tolist()]),
        "event": np.arange(len(sizes)),
        "chosen": choices.chosen,
        "scored": np.ones(len(sizes), dtype=bool),
        "probability": p[choices.chosen_row],
        "log_probability": log_p[choices.chosen_row],
        "entropy": np.add.reduceat(surprise, choices.first_row[:-1]),
        "value": values[choices.chosen_row],
    }
    return Latent(columns, options, (len(sizes),), without)


def _objects(values: list[Any]) -> Any:
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def _of_chosen(values: Matrix, chosen: IntVector, which: BoolVector) -> Vector:
    found = np.full(len(chosen), np.nan)
    found[which] = values[np.flatnonzero(which), chosen[which]]
    return found


def _joined(
    parts: Sequence[tuple[dict[str, Any], dict[str, Matrix]]],
    lengths: tuple[int, ...],
    without: tuple[Any, ...],
) -> Latent:
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
        columns[name] = _objects(list(columns[name]))
    return Latent(columns, options, lengths, without)


def _is_finite(estimate: Estimate) -> bool:
    return bool(
        np.isfinite(np.append(estimate.weights, model_source(estimate).working_psi(estimate))).all()
    )


def _of_fit(estimate: Estimate) -> tuple[Any, ...]:
    if estimate.episodes is None:
        raise DataError(
            "episodes must be given for an estimate without its own; got none, as they are not "
            "stored with an estimate. Pass them."
        )
    return estimate.episodes


def _of_subject(of: Mapping[Any, Estimate], subject: Any) -> Estimate:
    if subject not in of:
        raise DataError(
            f"episodes must be of subjects that were fitted; got {subject!r}. "
            "Fit all of them, or leave the others out."
        )
    return of[subject]


def _plain(values: Any) -> list[Any]:
    return list(values.tolist()) if isinstance(values, np.ndarray) else list(values)


@dataclass(frozen=True)
class PortionBeliefs:
    """Beliefs and probabilities of every event of a portion, one row each; picklable.

    Attributes
    ----------
    all_options
        Whether the columns of every option are added.
    """

    fits: PortionFit
    all_options: bool = False

    def __call__(self, data: Any) -> Any:
        """A pyarrow table, in the order of subjects, episodes and time."""
        found = beliefs(self.fits.estimates(data), data)
        return found.to_frame("pyarrow", options=self.all_options)

    def __str__(self) -> str:
        return str(self.fits)
