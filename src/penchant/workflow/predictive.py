"""Does the fitted model do what people did: predictive checks with the estimate's uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant._frames import Backend, as_it_came, came_as, frame
from penchant._progress import progress
from penchant._typing import Matrix, Vector
from penchant.arguments import check_rng, whole_number
from penchant.errors import DataError
from penchant.inference.from_episodes import model_source
from penchant.models.model import Declared
from penchant.output.shown import Shown
from penchant.output.table import Table, number
from penchant.softmax.estimate import Estimate
from penchant.softmax.estimates import Estimates, check_estimates
from penchant.workflow.draws import natural_draws, parameter_draws
from penchant.workflow.replays import (
    BestOptions,
    Decisions,
    after_history,
    anew,
    decisions_of,
    statistic_names,
    statistics,
)


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveCheck(Shown):
    """What people did beside what the fitted model does.

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
        """Where the model puts each statistic: (n_statistics, 2)."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        return np.quantile(self.replicated, ends, axis=0).T

    @property
    def p_values(self) -> Vector:
        """Posterior predictive p-values, two-sided; ties count half. Small: the model fails."""
        above = (self.replicated > self.observed).mean(axis=0)
        equal = (self.replicated == self.observed).mean(axis=0)
        upper = above + equal / 2
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

    def to_frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """One row per statistic."""
        low, high = self.interval(level).T
        return frame(
            {
                "statistic": self.names,
                "observed": self.observed.tolist(),
                "predicted": self.predicted.tolist(),
                "low": low.tolist(),
                "high": high.tolist(),
                "p_value": self.p_values.tolist(),
            },
            backend or came_as(self),
        )

    def table(self, level: float = 0.95) -> Table:
        """The summary as a table."""
        ends = self.interval(level)
        rows = tuple(
            (
                name,
                *(number(value, 3) for value in (self.observed[k], self.predicted[k], *ends[k])),
                number(self.p_values[k], 3),
            )
            for k, name in enumerate(self.names)
        )
        notes = ["p: two-sided posterior predictive probability; small where the model fails."]
        notes += self.notes
        if self.left_out:
            notes.append(f"Left out, without standard errors: {len(self.left_out)} subjects.")
        return Table(
            f"Posterior predictive check, {self.how}",
            (("Trials", str(self.n_decisions)), ("Draws", str(len(self.replicated)))),
            ("", "observed", "predicted", f"{100 * level:g} % low", "high", "p"),
            rows,
            tuple(notes),
        )

    def __repr__(self) -> str:
        low = int((self.p_values < 0.05).sum())
        return f"<PredictiveCheck, {self.how}: {low} of {len(self.names)} statistics with p < 0.05>"


BY_RECEIPT = (
    "best option: the one that paid most on average over its whole episode, by the rewards "
    "received; where mean rewards drift, another may be best at a decision."
)


@as_it_came
def predictive_check(
    estimates: Estimate | Estimates,
    *,
    rng: np.random.Generator,
    world: Any = None,
    best: Any = None,
    n_draws: int = 200,
    n_parts: int = 5,
) -> PredictiveCheck:
    """Compare what people did with what the fitted model does.

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
    whole_number(n_draws, "n_draws", 1)
    whole_number(n_parts, "n_parts", 1)
    fits = list(estimates) if isinstance(estimates, Estimates) else [estimates]
    if any(fit.episodes is None for fit in fits):
        raise DataError(
            "episodes must be at hand for a predictive check; got none, as they are not stored "
            "with an estimate. Fit again."
        )
    drawn, left_out = _drawn(fits, n_draws, rng, playable=world is not None)
    played = [e for fit, _ in drawn for e in _played(fit)]
    n_options = _n_options(drawn[0][0], played[0])
    ranked = BestOptions(n_options, best, world)
    observed = [decisions_of(e, ranked.at(e, e), n_parts) for e in played]
    plays: list[list[Decisions]] = [[] for _ in range(n_draws)]
    with progress("Simulating people", len(drawn)) as advance:
        for fit, draws in drawn:
            for episode in _played(fit):
                made = _simulated(fit, episode, draws, ranked, n_parts, rng)
                for mine, one in zip(plays, made, strict=True):
                    mine.append(one)
            advance(1)
    names = statistic_names(n_options, n_parts)
    pays = best is not None or hasattr(played[0], "rewards")
    told = [k for k, name in enumerate(names) if pays or not name.startswith("best option")]
    return PredictiveCheck(
        tuple(names[k] for k in told),
        statistics(observed, n_options, n_parts)[told],
        np.array([statistics(mine, n_options, n_parts)[told] for mine in plays]),
        sum(len(one.chosen) for one in observed),
        "given what happened" if world is None else "played anew",
        left_out,
        (BY_RECEIPT,) if pays and ranked.by_receipt else (),
    )


def _simulated(
    fit: Estimate,
    episode: Any,
    draws: Matrix,
    ranked: BestOptions,
    n_parts: int,
    rng: np.random.Generator,
) -> list[Decisions]:
    """Decisions of the model in place of those of a person, one set for each draw."""
    if ranked.world is None:
        best = ranked.at(episode, episode)
        choices = after_history(fit, episode, draws, rng)
        return [decisions_of(episode, best, n_parts, chosen) for chosen in choices]
    plays = anew(fit, episode, draws, ranked.world, rng)
    return [decisions_of(play, ranked.at(play, episode), n_parts) for play in plays]


def _played(estimate: Estimate) -> list[Any]:
    return [episode for episode in estimate.episodes or () if episode.n_decisions]


def _drawn(
    fits: Sequence[Estimate], n_draws: int, rng: np.random.Generator, playable: bool
) -> tuple[list[tuple[Estimate, Matrix]], tuple[Any, ...]]:
    """Parameters of everybody who has standard errors, and who has none.

    Agents can play with finite natural parameters only, not with an infinite temperature.
    """
    drawn, left_out, why = [], [], ""
    for fit, own in zip(fits, rng.spawn(len(fits)), strict=True):
        try:
            draws = parameter_draws(fit, n_draws, rng=own)
            if playable and not _is_playable(fit, draws):
                raise DataError(
                    "estimate must have finite natural parameters to play anew; got status "
                    f"{fit.status!r}. Leave the world out."
                )
            drawn.append((fit, draws))
        except DataError as error:
            left_out.append(fit.subject)
            why = str(error)
    if not drawn:
        raise DataError(why)
    return drawn, tuple(left_out)


def _is_playable(estimate: Estimate, draws: Matrix) -> bool:
    values = [list(drawn.values()) for drawn in natural_draws(estimate, draws)]
    return bool(np.isfinite(values).all())


def _n_options(estimate: Estimate, episode: Any) -> int:
    known = Declared(estimate.model).n_options
    if known is not None:
        return int(known)
    return int(
        np.asarray(
            estimate.model.explanatory(episode, *model_source(estimate).working_psi(estimate))
        ).shape[1]
    )
