"""Estimates while somebody plays: one choice and reward at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from penchant.bandit.episode import Episode
from penchant.errors import DataError
from penchant.inference.fit import fit_model
from penchant.inference.following import (
    Bounds,
    Cells,
    Neighbourhood,
    is_small,
    may_reach_far,
    plain_estimate,
    rises_to,
)
from penchant.inference.maps import check_map
from penchant.inference.profile.profiles import Problem
from penchant.inference.search.grid import Grid, Grids, grid_steps, searched_grids
from penchant.inference.search.peaks import Peak, settled_at_limits
from penchant.inference.search.search import best_peaks, climb, grid_search
from penchant.inference.status import are_lost, estimate_at, nothing_known
from penchant.models.model import Declared, Model
from penchant.models.priors import (
    Prior,
    check_kept,
    model_document,
    model_of,
    prior_document,
    prior_of,
)
from penchant.models.record import for_task, refuse_no_model, refuse_word
from penchant.models.spatial.map_basis import MapPrior
from penchant.output import Backend, Shown, Table, counted, decoded, encoded
from penchant.softmax.estimate import Estimate
from penchant.softmax.prior import ScaledPrior
from penchant.tables.events import NOTHING

TIED = 1e-3  # log-units within which a cell far from a peak may be as high
CLEAR = 6.0  # log-units by which the rest of a grid must stay below the peak to be left alone
OFTEN = 1.5  # the grid is looked at again at the latest when the history has grown by this factor


def live(model: Model, *, parameter_prior: Prior | MapPrior | None = None) -> Live:
    """Estimate while somebody plays.

    Parameters
    ----------
    model
        How the history explains the decisions.
    parameter_prior
        Prior on the weights; `ScaledPrior()` gives finite estimates from the first choices on, and
        `MapPrior()` the map in mind of a model with a `prior_map`.

    Examples
    --------
    >>> import penchant as pn
    >>> live = pn.live(pn.QLearning(n_options=2))
    >>> live.estimate().status
    'not identified'
    >>> for chosen, reward in [(0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), (0, 0.0), (1, 0.5)]:
    ...     live.observe(chosen, reward)
    >>> live.n_decisions
    6

    Several plays of the same person, with beliefs that start afresh in each:

    >>> live.start_block()
    >>> live.observe(1, 0.5)
    >>> live.n_decisions
    7
    """
    return Live(model, parameter_prior)


class Live(Shown):
    """What is known of a player so far.

    An estimate starts from the last one, and the grid of psi is looked at again only where it may
    matter: a decision more can but lower the profile, so that values of an older grid are bounds.
    Cells whose bound is not far below the peak are solved anew; the others need no work.
    """

    def __init__(self, model: Model, parameter_prior: Prior | MapPrior | None = None) -> None:
        refuse_no_model(model)
        refuse_word(parameter_prior)
        if Declared(model).attributes:
            raise DataError(
                f"model must learn from rewards; got {type(model).__name__}, a model of Offers. "
                "Collect Offers and use fit."
            )
        self.model = model
        self.map_prior = parameter_prior if isinstance(parameter_prior, MapPrior) else None
        if isinstance(parameter_prior, MapPrior):
            check_map(model)
            parameter_prior = ScaledPrior(parameter_prior.others)
        self.parameter_prior = parameter_prior
        self._episode = Episode([], [])
        self._before: tuple[Episode, ...] = ()
        self._grid: Grid | None = None
        self._grid_size = 0
        self._peak: Peak | None = None
        self._bounds: Bounds | None = None
        self._near: Neighbourhood | None = None
        self._problem: Problem | None = None
        self._fitted = model

    @property
    def episode(self) -> Episode:
        """The present block."""
        return self._episode

    @episode.setter
    def episode(self, episode: Episode) -> None:
        """Take another play for the present block."""
        self._episode = episode
        self._near = None  # it may be any other play

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """Blocks so far, the present one last."""
        return (*self._before, self._episode)

    @property
    def n_decisions(self) -> int:
        """Decisions scored so far, in all blocks."""
        return sum(episode.n_decisions for episode in self.episodes)

    def start_block(self) -> None:
        """Begin another play of the same person: beliefs start afresh, the estimate is of all."""
        if self._episode.n_events:
            self._before = self.episodes
            self._episode = Episode([], [])

    def observe(
        self,
        chosen: Any,
        reward: Any = None,
        executed: Any = None,
        *,
        is_choice: bool = True,
        scored: bool = True,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        available: Any = None,
    ) -> None:
        """Add what was chosen and received.

        `reward` is None where it is not known, which ends the play: beliefs after it are not known.
        Where something else was done than was chosen, `executed` says what, -1 for nothing: the
        choice is scored, and what was executed is learnt from. `before` and `after` are what was
        seen at the decision and learnt after it, by name; `available` says which options could be
        chosen. What cannot be is refused, and nothing is added.
        """
        longer = self._episode.extended(
            chosen,
            reward,
            executed,
            is_choice=is_choice,
            scored=scored,
            before=before,
            after=after,
            available=available,
        )
        self._check_told(longer)
        if reward is not None and longer.executed[-1] != NOTHING and np.isnan(longer.rewards[-1]):
            raise DataError(
                f"reward must be a number; got {reward!r} at decision {self._episode.n_events}. "
                "Pass None for the last reward of a play where it is not known."
            )
        n_options = Declared(self.model).n_options or np.iinfo(np.int64).max
        if max(longer.chosen[-1], longer.executed[-1]) >= n_options:
            longer.check_options(n_options)
        self._episode = longer

    def _check_told(self, episode: Episode) -> None:
        """What the model must know of every decision is there."""
        told = Declared(self.model)
        for role, names, given in (
            ("before", told.before, episode.before),
            ("after", told.after, episode.after),
        ):
            missing = [name for name in names if name not in given]
            if missing:
                raise DataError(
                    f"{role} must hold {', '.join(missing)} for this model; got "
                    f"{', '.join(given) or 'nothing'}. Pass {role}={{{missing[0]!r}: ...}}."
                )

    def estimate(self) -> Estimate:
        """The current estimate: what `fit` gives on the same history."""
        played = tuple(e for e in self.episodes if e.n_events) or (self._episode,)
        model = self._for_task(played)
        last = self._problem
        if last is None or last.model is not model:
            problem = Problem(model, played, self.parameter_prior)
        else:
            problem = Problem.going_on(last, played)
        self._problem = problem
        if not self.n_decisions:
            return nothing_known(problem)
        if self.map_prior is not None:
            return fit_model(played, model, parameter_prior=self.map_prior)
        followed = self._follow(problem)
        if followed is not None:
            return followed
        peak = self._peak
        # at a limit slopes say too little of what lies beside it to climb from there
        if peak is not None and self._grid is not None and not peak.at_bound.any():
            climbed = climb(problem, peak.point.psi, near=peak)
            if climbed.converged and self._clear(problem, self._grid, climbed):
                nobody = np.zeros(1, dtype=bool)
                self._peak = climbed
                (told,) = settled_at_limits(problem.profiles, climbed.alone(), nobody)
                return estimate_at(problem, lambda: searched_grids(problem.profiles)[0], told)
            return self._search(problem, climbed)
        return self._search(problem, None)

    def _for_task(self, played: tuple[Episode, ...]) -> Model:
        """The model for these rewards; what is known of another one does not count for it."""
        model: Model = for_task(self.model, played)
        if model is not self._fitted and model != self._fitted:
            self._grid = self._peak = self._near = None
            self._fitted = model
        return self._fitted

    def rest(self) -> None:
        """Give back memory while nothing happens; the next estimate takes a little longer."""
        if self._near is not None:
            self._near.rest()

    # -- what it says, and to go on later ----------------------------------------------------------

    def table(self) -> Table:
        """The current estimate as a table."""
        return self.estimate().table()

    def summary(self) -> str:
        """The current estimate as text."""
        return self.estimate().summary()

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """The current estimate, a row for every parameter."""
        return self.estimate().to_frame(backend=backend)

    def to_dict(self) -> dict[str, Any]:
        """All that is needed to go on later, ready for JSON."""
        return {
            "format": "penchant-live",
            "version": 1,
            "model": model_document(self.model),
            "prior": prior_document(self.map_prior or self.parameter_prior),
            "blocks": [encoded(episode) for episode in self.episodes],
        }

    @classmethod
    def from_dict(
        cls, document: Mapping[str, Any], model: Any = None, prior: Prior | MapPrior | None = None
    ) -> Self:
        """Go on from what `to_dict` wrote: the same estimate follows.

        Parameters
        ----------
        document
            What `to_dict` returned.
        model, prior
            Where they are not of the library, and so not in the document.
        """
        check_kept(document, "Live", ("model", "prior", "blocks"))
        known = prior_of(document) if prior is None else prior
        again = cls(model_of(document["model"], model), known)
        *before, present = (decoded(block) for block in document["blocks"])
        again._before, again._episode = tuple(before), present
        return again

    def __repr__(self) -> str:
        return f"<Live: {counted(self.n_decisions, 'decision')}>"

    # -- from the last peak to the next ----------------------------------------------------------

    def _follow(self, problem: Problem) -> Estimate | None:
        """The estimate where the last peak leads to it, and no other is as high; or None."""
        near, bounds, profiles = self._near, self._bounds, problem.profiles
        if near is None or bounds is None:
            return None
        if near.cells is None and self.n_decisions > OFTEN * self._grid_size:
            return None
        if profiles.record.shown is not None:  # options that could not be chosen
            return None
        if not near.follow(profiles):
            self._near = None
            return None
        found = near.peak()
        if near.cells is not None:
            is_alone = near.cells.rise_to(near.u, near.height)
        else:
            is_alone = bounds.is_far_below(profiles, near.u, near.height)
            is_alone = is_alone and not may_reach_far(profiles, found.peaks)
        if is_alone:
            told = plain_estimate(profiles, near, found, lambda: searched_grids(profiles)[0])
            if told is not None:
                self._peak = found.peaks[0]
                return told
        grid = bounds.all_anew(profiles)
        if not rises_to(profiles, grid, near.u, near.height):
            return None
        self._peak = found.peaks[0]
        nobody = np.zeros(1, dtype=bool)
        settled_at_limits(profiles, found.peaks, nobody)
        return estimate_at(problem, grid, found.peaks[0])

    # -- from the grid ---------------------------------------------------------------------------

    def _clear(self, problem: Problem, grid: Grid, peak: Peak) -> bool:
        """Whether no other peak can be near: the older grid is far below, away from this one."""
        if self.n_decisions > OFTEN * self._grid_size:
            return False
        return not problem.n_shape or _stands_out(problem, grid, peak, CLEAR)

    def _search(self, problem: Problem, known: Peak | None) -> Estimate:
        """Look at the whole grid."""
        grids, best = grid_search(problem.profiles)
        self._grid, self._bounds = grids[0], Bounds(grids)
        self._grid_size = self.n_decisions
        lost = are_lost(problem.profiles, best)
        # Where others are as high, which of them counts must not depend on the way here.
        followed = None
        if known is not None and known.converged and not lost[0]:
            followed = known.alone() if _stands_out(problem, self._grid, known, TIED) else None
        peak = best_peaks(problem.profiles, grids, lost, followed)[0]
        self._peak = None if lost[0] else peak
        self._near = self._neighbourhood(problem, grids)
        return estimate_at(problem, self._grid, peak)

    def _neighbourhood(self, problem: Problem, grids: Grids) -> Neighbourhood | None:
        """Where the peak may be followed from event to event."""
        peak, declared = self._peak, Declared(problem.model)
        if peak is None or not peak.converged or problem.n_shape != 1:
            return None
        is_quick = declared.smooth and not declared.outside
        is_quick &= declared.explanatory_many is not None and problem.profiles.record.shown is None
        if not is_quick or self.parameter_prior is not None or problem.profiles.n_options < 2:
            return None
        profiles = problem.profiles
        cells = Cells(profiles, grids) if is_small(profiles) else None
        return Neighbourhood(profiles, float(peak.u[0]), peak.point.theta, cells)


def _stands_out(problem: Problem, grid: Grid, peak: Peak, by: float) -> bool:
    """Whether the grid is lower by so much, more than three steps from a peak."""
    if not problem.n_shape or not Declared(problem.model).smooth:
        return False
    profiles = problem.profiles
    away = np.abs(profiles.to_search(grid.psi) - peak.u) > 3 * grid_steps(profiles.shape)
    others = grid.values[away.any(axis=1)]
    return len(others) > 0 and bool((others < peak.point.value - by).all())
