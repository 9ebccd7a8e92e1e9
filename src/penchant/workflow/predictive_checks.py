"""Predictive checks: choices simulated from fitted models beside the choices of people.

Posterior predictive p-values (Gelman, Meng & Stern 1996) of choice shares, switches and learning
curves, with parameters drawn from the normal approximation of each estimate, truncated to the
model's domain. Choices are drawn either one step ahead, given the true history, or by agents that
play the task anew. Relies on `models.simulate` for the agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from penchant._typing import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from penchant.argument_checks import check_rng, check_whole_number
from penchant.bandit.episode import executed_history
from penchant.bandit.landscape import Landscape
from penchant.choices.offers import Offers
from penchant.errors import DataError, mark_weak_prior_argument
from penchant.inference.fit import History
from penchant.inference.model_estimate import model_source
from penchant.json_records import JsonDocument
from penchant.models.model import Declared, Model, natural_parameters, positive_weights
from penchant.models.simulate import draw_options, play_like
from penchant.models.task import Task
from penchant.models.worlds import World
from penchant.result_tables import (
    Column,
    Columns,
    IntervalTableExport,
    Table,
    format_columns,
    progress,
)
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimate_collection import Estimates, check_estimates
from penchant.tables.events import NOTHING

# Rejection sampling stops with an error where less than 0.1 % of draws are in the domain, rather
# than run for ever.
MAX_DRAWS_PER_KEPT = 1000


def parameter_draws(estimate: Estimate, n_draws: int, *, rng: np.random.Generator) -> Matrix:
    """Weights and shape parameters drawn around an estimate: (n_draws, n_parameters).

    Normal with the joint covariance of the estimate, shape parameters on the scale of their search
    (the logarithm for positive ones), and cut off where the model ends: weights that must be
    positive are, shape parameters stay in their range. A parameter at a bound stays there.

    Parameters
    ----------
    estimate
        Of a fit with standard errors.
    n_draws
        How many.
    rng
        Source of randomness.
    """
    check_whole_number(n_draws, "n_draws", 1)
    check_estimates(estimate)
    check_rng(rng)
    d = estimate.n_weights
    stretch = np.array(
        [s.jacobian(v) for s, v in zip(estimate.model.shape, estimate.psi, strict=True)]
    )
    # psi is drawn on the unconstrained scale (delta method), where its posterior is nearer to
    # normal.
    unit = np.concatenate([np.ones(d), stretch])
    centre = np.concatenate([estimate.weights, _unconstrained_psi(estimate.model, estimate.psi)])
    free = _has_standard_error(estimate)
    covariance = (estimate.covariance / np.outer(unit, unit))[np.ix_(free, free)]
    root = _covariance_square_root(covariance)
    kept: list[Matrix] = []
    count = tried = 0
    while count < n_draws:
        # Twice as many as needed: one batch is enough where half of the draws are valid.
        batch = np.tile(centre, (2 * n_draws, 1))
        batch[:, free] += rng.standard_normal((len(batch), int(free.sum()))) @ root.T
        valid = batch[_is_in_domain(estimate.model, batch, d, free)]
        kept.append(valid)
        count, tried = count + len(valid), tried + len(batch)
        if tried > MAX_DRAWS_PER_KEPT * n_draws:
            raise DataError(
                "estimate",
                "must leave parameters mostly inside their ranges",
                got="one whose uncertainty is far wider",
                fix="Hold a parameter fixed, or collect more decisions.",
            )
    draws = np.concatenate(kept)[:n_draws]
    for q, shape in enumerate(estimate.model.shape):
        inside = shape.from_unconstrained(draws[:, d + q])
        draws[:, d + q] = inside if free[d + q] else estimate.psi[q]
    return draws


def natural_parameter_draws(estimate: Estimate, draws: Matrix) -> list[dict[str, float]]:
    """The natural parameters of draws, by name, as simulations take them."""
    d, naturals = estimate.n_weights, natural_parameters(estimate.model)
    return [{n.name: n.value(draw[:d], draw[d:]) for n in naturals} for draw in draws]


def log_likelihood_draws(estimate: Estimate, n_draws: int, *, rng: np.random.Generator) -> Matrix:
    """Log-probability of every decision scored, for parameters drawn: (n_draws, n_decisions).

    For tools that work with draws from a posterior. The draws are of the normal approximation, so
    fit with a prior: `parameter_prior=ScaledPrior()`. ArviZ takes them as
    `arviz.from_dict(log_likelihood={"choice": draws[None]}, posterior=...)` for `arviz.loo`.

    Parameters
    ----------
    estimate
        Of a fit whose episodes are at hand.
    n_draws
        How many draws.
    rng
        Source of randomness.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> episode = pn.Episode([0, 1, 1, 0, 1, 1], [0.0, 1.0, 0.4, 0.2, 0.9, 0.7])
    >>> estimate = pn.fit(episode, pn.models.RandomChoice(2), parameter_prior=pn.ScaledPrior())
    >>> pn.results.log_likelihood_draws(estimate, 50, rng=np.random.default_rng(0)).shape
    (50, 6)
    """
    if estimate.episodes is None:
        raise DataError(
            "episodes",
            "must be at hand for log-likelihoods of the data",
            got="none, as they are not stored with an estimate",
            fix="Fit again.",
        )
    d, found = estimate.n_weights, []
    for draw in parameter_draws(estimate, n_draws, rng=rng):
        parts = []
        for episode in estimate.episodes:
            log_p = log_choice_probabilities(estimate.model, episode, draw[:d], draw[d:])
            scored = np.flatnonzero(episode.scored)
            parts.append(log_p[scored, episode.chosen[scored]])
        found.append(np.concatenate(parts))
    return np.array(found)


def log_choice_probabilities(model: Model, episode: History, theta: Vector, psi: Vector) -> Matrix:
    """Log-probability of every option at every event: (n_events, n_options)."""
    q = np.asarray(model.explanatory(executed_history(episode), *psi)) @ theta
    available = getattr(episode, "available", None)
    if available is not None:
        q = np.where(available, q, -np.inf)
    # Largest utility 0, so that exp cannot overflow; unavailable options stay at -inf.
    q = q - q.max(axis=1, keepdims=True)
    return np.asarray(q - np.log(np.exp(q).sum(axis=1, keepdims=True)))


def _has_standard_error(estimate: Estimate) -> BoolVector:
    """Whether each parameter has a standard error; one at a bound has none, and stays there."""
    free = np.isfinite(np.diag(estimate.covariance))
    at_bound = estimate.status == "at a bound"
    if not np.isfinite(estimate.theta).all() or not (free.all() or (at_bound and free.any())):
        raise DataError(
            "estimate",
            "must have standard errors to draw from",
            got=f"status {estimate.status!r}",
            fix=f"Fit with {mark_weak_prior_argument()}, or hold a shape parameter fixed.",
        )
    return free


def _covariance_square_root(covariance: Matrix) -> Matrix:
    """A square root of the covariance, scaled first so that units do not matter."""
    sd = np.sqrt(np.diag(covariance))
    values, vectors = linalg.eigh(covariance / np.outer(sd, sd))
    # Eigenvalues rather than a Cholesky factor, which fails where rounding makes a nearly singular
    # covariance indefinite.
    return np.asarray(sd[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _unconstrained_psi(model: Model, psi: Vector) -> Vector:
    return np.array([float(s.to_unconstrained(v)) for s, v in zip(model.shape, psi, strict=True)])


def _is_in_domain(model: Model, draws: Matrix, n_weights: int, free: BoolVector) -> BoolVector:
    positive = [a for a in positive_weights(model) if free[a]]
    valid = (draws[:, positive] > 0).all(axis=1)
    for q, shape in enumerate(model.shape):
        if free[n_weights + q]:
            low, high = shape.search_range
            valid &= (draws[:, n_weights + q] >= low) & (draws[:, n_weights + q] <= high)
    return np.asarray(valid)


MAX_SHARE_OPTIONS = 12  # with more options, shares are too many rows for a table, and too small


@dataclass(frozen=True, eq=False)
class DecisionSequence:
    """DecisionSequence of one or more episodes, one after another.

    Attributes
    ----------
    chosen
        Option taken.
    previous
        Option taken at the choice before, in the same episode; -1 at the first.
    is_best
        Whether the option taken pays best.
    part
        Which part of its episode the decision is in, from 0.
    """

    chosen: IntVector
    previous: IntVector
    is_best: BoolVector
    part: IntVector


def scored_decision_sequence(
    episode: History, best: BoolVector, n_parts: int, simulated_choices: Any = None
) -> DecisionSequence:
    """Collect the scored decisions of an episode.

    Parameters
    ----------
    episode
        Of a person, or simulated.
    best
        (n_events, n_options): whether each option pays best.
    n_parts
        Number of parts of equally many decisions.
    simulated_choices
        Simulated choices (n_decisions,) in place of the episode's; the history stays.
    """
    at = np.flatnonzero(episode.scored)
    chosen = episode.chosen[at] if simulated_choices is None else np.asarray(simulated_choices)
    is_choice = getattr(episode, "is_choice", np.ones(episode.n_events, dtype=bool))
    made = np.flatnonzero((episode.chosen != NOTHING) & is_choice)
    # Repetitions count the choice before even if it is not scored: the player made it all the same.
    before = np.searchsorted(made, at) - 1
    previous = np.where(before >= 0, episode.chosen[made[np.maximum(before, 0)]], NOTHING)
    part = np.arange(len(at)) * n_parts // max(len(at), 1)
    return DecisionSequence(chosen, previous, best[at, chosen], part)


def best_mean_reward_mask(episode: History, n_options: int) -> BoolMatrix:
    """Mask (n_events, n_options) of the option with the highest mean reward in the episode."""
    found = np.zeros((episode.n_events, n_options), dtype=bool)
    rewards = getattr(episode, "rewards", np.full(episode.n_events, np.nan))
    executed = executed_history(episode).chosen
    known = ~np.isnan(rewards) & (executed != NOTHING)
    if known.any():
        counts = np.bincount(executed[known], minlength=n_options)
        sums = np.bincount(executed[known], rewards[known], n_options)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
        found[:, means == means.max()] = True
    return found


def statistic_names(n_options: int, n_parts: int) -> tuple[str, ...]:
    """Names of the numbers that `choice_statistics` returns."""
    has_shares = n_options <= MAX_SHARE_OPTIONS
    shares = [f"share of option {i}" for i in range(n_options)] if has_shares else []
    parts = [f"best option, part {j + 1} of {n_parts}" for j in range(n_parts)]
    return (*shares, "switches", "best option", *parts)


def choice_statistics(plays: list[DecisionSequence], n_options: int, n_parts: int) -> Vector:
    """Shares among all decisions, NaN of none: see `statistic_names`."""
    chosen, previous, is_best, part = (
        np.concatenate([getattr(play, name) for play in plays])
        for name in ("chosen", "previous", "is_best", "part")
    )
    found: list[float] = []
    if n_options <= MAX_SHARE_OPTIONS:
        found += (np.bincount(chosen, minlength=n_options) / max(len(chosen), 1)).tolist()
    follows = previous != NOTHING
    found.append(_share_true(chosen[follows] != previous[follows]))
    found.append(_share_true(is_best))
    found += [_share_true(is_best[part == j]) for j in range(n_parts)]
    return np.array(found)


def _share_true(mask: BoolVector) -> float:
    return float(mask.mean()) if len(mask) else np.nan


def draw_choices_given_history(
    estimate: Estimate, episode: History, draws: Matrix, rng: np.random.Generator
) -> list[IntVector]:
    """Draw every scored choice given the true history before it, once for each draw."""
    d, found = estimate.n_weights, []
    for draw in draws:
        log_p = log_choice_probabilities(estimate.model, episode, draw[:d], draw[d:])
        found.append(draw_options(np.exp(log_p[episode.scored]), rng))
    return found


def simulate_replicated_episodes(
    estimate: Estimate, episode: History, draws: Matrix, world: Any, rng: np.random.Generator
) -> list[Any]:
    """Let agents play the person's episode in a world, one agent for each draw."""
    own_world = world_of_episode(world, episode)
    assert not isinstance(episode, Offers)  # refused with a world
    task = Task(own_world, n_decisions=int(episode.is_choice.sum()))
    return [
        play_like(episode, task, estimate.model, parameters, rng)
        for parameters in natural_parameter_draws(estimate, draws)
    ]


def world_of_episode(world: Any, episode: History) -> Any:
    """The world of an episode: the one for all, or that of its subject, block or both."""
    if hasattr(episode, "offers"):
        raise DataError(
            "world",
            "must be left out for Offers, whose offers are the world",
            got="one",
            fix="Leave it out.",
        )
    if not isinstance(world, Mapping):
        return world
    # The most specific key comes first: labels of subjects and of blocks may coincide.
    for key in ((episode.subject, episode.block), episode.block, episode.subject):
        if key in world:
            return world[key]
    raise DataError(
        "world",
        "must hold what options pay in every block, or to every subject",
        got=f"none for {episode.block!r}",
        where=f"of subject {episode.subject!r}",
        fix="Add it, or give one world for all.",
    )


def _is_random_world(world: Any) -> bool:
    """Whether a world differs from person to person, so that its best option is unknown."""
    return callable(world) or isinstance(world, World)


@dataclass(frozen=True)
class BestOptionRule:
    """Rule for which options pay best: as given, by the world, or by the rewards received.

    Attributes
    ----------
    n_options
        Number of options.
    best_options
        Option that pays best at each decision of an episode, from its first; None if not given.
    world
        What options pay; None if not given. Of a world that is drawn anew, what was received says
        which option is best in the episode.
    """

    n_options: int
    best_options: Any = None
    world: Any = None

    @property
    def depends_on_received_rewards(self) -> bool:
        """Whether the rewards received decide which option is best, in some episodes at least."""
        worlds = self.world.values() if isinstance(self.world, Mapping) else (self.world,)
        return self.best_options is None and any(
            own is None or _is_random_world(own) for own in worlds
        )

    def mask_best_options(self, episode: History, original_episode: Any) -> BoolVector:
        """Mask (n_events, n_options) for an episode that is played like one of the data."""
        is_choice = getattr(episode, "is_choice", np.ones(episode.n_events, dtype=bool))
        # Schedules have a row per decision, so events that only show an option do not advance.
        number = np.maximum(np.cumsum(is_choice) - 1, 0)
        options = np.arange(self.n_options)
        if self.best_options is not None:
            best = self._checked_best_options()
            return np.asarray(best[number % len(best)][:, None] == options)
        own = None if self.world is None else world_of_episode(self.world, original_episode)
        if own is None or _is_random_world(own):
            return best_mean_reward_mask(episode, self.n_options)
        if isinstance(own, Landscape):
            return np.tile(own.mean_rewards == own.best, (episode.n_events, 1))
        rows = np.asarray(own, dtype=np.float64)[number % len(own)]
        return np.asarray(rows == rows.max(axis=1, keepdims=True))

    def _checked_best_options(self) -> IntVector:
        options = np.atleast_1d(np.asarray(self.best_options))
        whole = options.ndim == 1 and options.dtype.kind in "iu"
        if not whole or options.min() < 0 or options.max() >= self.n_options:
            raise DataError(
                "best",
                f"must hold options in 0..{self.n_options - 1}, one per decision",
                got=repr(self.best_options),
                fix="Correct it.",
            )
        return options


COLUMNS = (
    Column("statistic", ""),
    Column("observed", "observed", 3),
    Column("predicted", "predicted", 3),
    Column("low", "{} low", 3),
    Column("high", "high", 3),
    Column("p_value", "p", 3),
)


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveCheck(IntervalTableExport, JsonDocument):
    """Statistics of people's choices beside those of choices simulated from the fitted model.

    Attributes
    ----------
    names
        Of the statistics: shares of options, switches, the best option, and that in each part of
        the episodes.
    observed
        What people did.
    replicated
        (n_draws, n_statistics): what the model does, with parameters drawn anew each time.
    n_decisions
        Behind the observed numbers.
    how
        "given what happened": each choice is drawn after the true history; or "played anew".
    left_out
        Subjects without standard errors.
    notes
        What else a reader should know of the statistics.
    """

    names: tuple[str, ...]
    observed: Vector
    replicated: Matrix
    n_decisions: int
    how: str
    left_out: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    @property
    def predicted(self) -> Vector:
        """Mean over the draws."""
        return np.asarray(self.replicated.mean(axis=0))

    def interval(self, level: float = 0.95) -> Matrix:
        """Predictive interval of each statistic: (n_statistics, 2)."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        return np.quantile(self.replicated, ends, axis=0).T

    @property
    def p_values(self) -> Vector:
        """Posterior predictive p-values, two-sided; ties count half. Small: the model fails."""
        above = (self.replicated > self.observed).mean(axis=0)
        equal = (self.replicated == self.observed).mean(axis=0)
        upper = above + equal / 2  # mid-p value: shares of few decisions have many ties
        found = 2 * np.minimum(upper, 1 - upper)
        return np.where(np.isnan(self.observed), np.nan, found)

    @property
    def shares(self) -> tuple[Vector, Vector]:
        """Predicted and observed shares of the options, for `figures.predicted_observed`."""
        which = [k for k, name in enumerate(self.names) if name.startswith("share of option")]
        return self.predicted[which], self.observed[which]

    @property
    def curves(self) -> tuple[Matrix, Matrix]:
        """Share of the best option in each part: observed (1, n_parts), and (n_draws, n_parts).

        For `figures.learning_curve`.
        """
        which = [k for k, name in enumerate(self.names) if "part" in name]
        return self.observed[None, which], self.replicated[:, which]

    def frame_columns(self, level: float = 0.95) -> Columns:
        """Columns of the data frame."""
        low, high = self.interval(level).T
        return {
            "statistic": self.names,
            "observed": self.observed.tolist(),
            "predicted": self.predicted.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            "p_value": self.p_values.tolist(),
        }

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table."""
        header, rows = format_columns(self.frame_columns(level), COLUMNS, level)
        notes = ["p: two-sided posterior predictive probability; small where the model fails."]
        notes += self.notes
        if self.left_out:
            notes.append(f"Left out, without standard errors: {len(self.left_out)} subjects.")
        return Table(
            f"Posterior predictive check, {self.how}",
            (("Trials", str(self.n_decisions)), ("Draws", str(len(self.replicated)))),
            header,
            rows,
            tuple(notes),
        )

    def __repr__(self) -> str:
        low = int((self.p_values < 0.05).sum())
        return f"<PredictiveCheck, {self.how}: {low} of {len(self.names)} statistics with p < 0.05>"


RECEIVED_BEST_NOTE = (
    "best option: the one that paid most on average over its whole episode, by the rewards "
    "received; where mean rewards drift, another may be best at a decision."
)


def predictive_check(
    estimates: Estimate | Estimates,
    *,
    rng: np.random.Generator,
    world: Any = None,
    best: Any = None,
    n_draws: int = 200,
    n_parts: int = 5,
) -> PredictiveCheck:
    """Compare people's choices with choices simulated from the fitted model.

    Parameters are drawn from the joint covariance of each subject's estimate, inside their ranges,
    and choices are simulated with them; `ScaledPrior()` gives everybody standard errors.

    Parameters
    ----------
    estimates
        Of `fit` or `fit_each`, with their episodes at hand.
    world
        What options pay, as `Task` takes it: a landscape, a schedule, a function of rng; or a
        mapping to these from blocks, from subjects, or from pairs (subject, block). Agents then
        play anew, as many decisions as people made, shown what these were shown. If not given,
        each choice is drawn after what truly happened before it.
    best
        Option that pays best at each decision of an episode, for the learning curve. If not given,
        the world says, or the option whose rewards were highest on average in the episode, which is
        one for all its decisions, though mean rewards may drift: a note says so. Offers pay
        nothing, so that without `best` there is no learning curve.
    n_draws
        How often.
    n_parts
        Parts of an episode, for the learning curve.
    rng
        Source of randomness.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> rng = np.random.default_rng(1)
    >>> task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
    >>> rule = {"temperature": 0.3, "learning_rate": 0.3}
    >>> plays = pn.simulate(
    ...     task, pn.QLearning(2), rule, n_decisions=60, n_subjects=10, rng=rng
    ... )
    >>> estimates = pn.fit_each(plays, pn.QLearning(2), parameter_prior=pn.ScaledPrior())
    >>> check = pn.predictive_check(estimates, world=task, n_draws=50, rng=rng)
    >>> check.names[2], bool(check.p_values[2] > 0.05)
    ('switches', True)
    """
    check_estimates(estimates)
    check_rng(rng)
    check_whole_number(n_draws, "n_draws", 1)
    check_whole_number(n_parts, "n_parts", 1)
    fits = list(estimates) if isinstance(estimates, Estimates) else [estimates]
    if any(fit.episodes is None for fit in fits):
        raise DataError(
            "episodes",
            "must be at hand for a predictive check",
            got="none, as they are not stored with an estimate",
            fix="Fit again.",
        )
    drawn, left_out = _parameter_draws_and_left_out(
        fits, n_draws, rng, require_finite_parameters=world is not None
    )
    episodes = [e for fit, _ in drawn for e in _scored_episodes(fit)]
    n_options = _n_options(drawn[0][0], episodes[0])
    ranked = BestOptionRule(n_options, best, world)
    observed = [
        scored_decision_sequence(e, ranked.mask_best_options(e, e), n_parts) for e in episodes
    ]
    replicas: list[list[DecisionSequence]] = [[] for _ in range(n_draws)]
    with progress("Simulating people", len(drawn)) as advance:
        for fit, draws in drawn:
            for episode in _scored_episodes(fit):
                made = _simulated_decisions(fit, episode, draws, ranked, n_parts, rng)
                for replica, decisions in zip(replicas, made, strict=True):
                    replica.append(decisions)
            advance(1)
    names = statistic_names(n_options, n_parts)
    # Offers pay nothing: without `best` no option is the best, so none is counted.
    pays = best is not None or hasattr(episodes[0], "rewards")
    shown = [k for k, name in enumerate(names) if pays or not name.startswith("best option")]
    return PredictiveCheck(
        tuple(names[k] for k in shown),
        choice_statistics(observed, n_options, n_parts)[shown],
        np.array([choice_statistics(one, n_options, n_parts)[shown] for one in replicas]),
        sum(len(one.chosen) for one in observed),
        "given what happened" if world is None else "played anew",
        left_out,
        (RECEIVED_BEST_NOTE,) if pays and ranked.depends_on_received_rewards else (),
    )


def _simulated_decisions(
    fit: Estimate,
    episode: History,
    draws: Matrix,
    best_option_rule: BestOptionRule,
    n_parts: int,
    rng: np.random.Generator,
) -> list[DecisionSequence]:
    """Simulate the decisions of one episode, once for each draw."""
    if best_option_rule.world is None:
        best = best_option_rule.mask_best_options(episode, episode)
        choices = draw_choices_given_history(fit, episode, draws, rng)
        return [scored_decision_sequence(episode, best, n_parts, chosen) for chosen in choices]
    plays = simulate_replicated_episodes(fit, episode, draws, best_option_rule.world, rng)
    return [
        scored_decision_sequence(play, best_option_rule.mask_best_options(play, episode), n_parts)
        for play in plays
    ]


def _scored_episodes(estimate: Estimate) -> list[Any]:
    return [episode for episode in estimate.episodes or () if episode.n_decisions]


def _parameter_draws_and_left_out(
    fits: Sequence[Estimate],
    n_draws: int,
    rng: np.random.Generator,
    require_finite_parameters: bool,
) -> tuple[list[tuple[Estimate, Matrix]], tuple[Any, ...]]:
    """Draw the parameters of everybody who has standard errors; also who has none.

    Agents can play with finite natural parameters only, not with an infinite temperature.
    """
    drawn, left_out, reason = [], [], DataError("estimates", "must hold one; got none")
    # Each subject has a random stream: leaving one out does not change the draws of the others.
    for fit, own in zip(fits, rng.spawn(len(fits)), strict=True):
        try:
            draws = parameter_draws(fit, n_draws, rng=own)
            if require_finite_parameters and not _has_finite_natural_draws(fit, draws):
                raise DataError(
                    "estimate",
                    "must have finite natural parameters to play anew",
                    got=f"status {fit.status!r}",
                    fix="Leave the world out.",
                )
            drawn.append((fit, draws))
        except DataError as error:
            left_out.append(fit.subject)
            reason = error
    if not drawn:
        raise reason
    return drawn, tuple(left_out)


def _has_finite_natural_draws(estimate: Estimate, draws: Matrix) -> bool:
    values = [list(drawn.values()) for drawn in natural_parameter_draws(estimate, draws)]
    return bool(np.isfinite(values).all())


def _n_options(estimate: Estimate, episode: History) -> int:
    known = Declared(estimate.model).n_options
    if known is not None:
        return int(known)
    return int(
        np.asarray(
            estimate.model.explanatory(episode, *model_source(estimate).finite_psi(estimate))
        ).shape[1]
    )
