"""Live estimates while somebody decides: after every decision, a fit of the history so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penchant.bandit.episode import Episode
from penchant.choices.offers import Offers
from penchant.errors import DataError
from penchant.inference.empirical_bayes_map import check_map
from penchant.inference.fit import History, fit_model
from penchant.inference.precompilation import compile_fits
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.subject_estimates import estimate_without_data
from penchant.json_records import record_document, session_from_document
from penchant.models.arguments import refuse_no_model, refuse_word
from penchant.models.model import Declared, Model
from penchant.models.spatial.map_basis import FitPrior, MapPrior
from penchant.result_tables import Columns, Result, Table, format_count
from penchant.softmax.estimate import Estimate
from penchant.softmax.prior import ScaledPrior
from penchant.tables.events import NOTHING


def live(model: Model, *, parameter_prior: FitPrior | None = None) -> Live:
    """Estimate while somebody decides.

    Every estimate is that of `fit` on the same history. What fits of the model can need is compiled
    at once, with a message on stderr, so that no later call waits for it.

    Parameters
    ----------
    model
        How the history explains the decisions, or, of a model of offers, the attributes do.
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

    Offers, described by their attributes:

    >>> live = pn.live(pn.HyperbolicDiscounting())
    >>> live.observe(1, offers={"amount": [20, 50], "delay": [0, 30]})
    >>> live.observe(0, offers={"amount": [30, 35], "delay": [0, 90]})
    >>> live.n_decisions
    2
    """
    return Live(model, parameter_prior)


def fit_so_far(
    histories: Sequence[History], model: Model, prior: FitPrior | None = None
) -> Estimate:
    """Estimate that `fit` makes of some blocks; an empty one before any decision."""
    # A block that has just begun is empty, which a fit would refuse.
    played = tuple(one for one in histories if one.n_events)
    if any(one.n_decisions for one in played):
        return fit_model(played, model, parameter_prior=prior)
    others = ScaledPrior(prior.others) if isinstance(prior, MapPrior) else prior
    return estimate_without_data(ProfileProblems(model, (played,), others))


@dataclass(frozen=True)
class LiveRecord:
    """What is stored of a live estimate."""

    model: Any  # of the library, or text that stands for another
    prior: Any
    blocks: tuple[History, ...]


class Live(Result):
    """State of a live estimate of one person; see `live`.

    Attributes
    ----------
    model, parameter_prior
        What is fitted.
    """

    def __init__(self, model: Model, parameter_prior: FitPrior | None = None) -> None:
        refuse_no_model(model)
        refuse_word(parameter_prior)
        if isinstance(parameter_prior, MapPrior):
            check_map(model)
        self.model = model
        self.parameter_prior = parameter_prior
        self._takes_offers = bool(Declared(model).attributes)
        # Offers cannot be empty: the first one says which attributes they have.
        self._before: tuple[History, ...] = ()
        self._present: History | None = None if self._takes_offers else Episode([], [])
        # Compile now: during a session a pause of seconds would keep a participant waiting.
        compile_fits(model, parameter_prior)

    @property
    def episode(self) -> History | None:
        """Present block: an `Episode` or `Offers`; None before the first offer."""
        return self._present

    @property
    def episodes(self) -> tuple[History, ...]:
        """Blocks so far, the present one last."""
        return self._before if self._present is None else (*self._before, self._present)

    @property
    def n_decisions(self) -> int:
        """Decisions scored so far, in all blocks."""
        return sum(episode.n_decisions for episode in self.episodes)

    def start_block(self) -> None:
        """Begin another play of the same person: beliefs start afresh, the estimate is of all."""
        if self._present is not None and self._present.n_events:
            self._before = self.episodes
            self._present = None if self._takes_offers else Episode([], [])

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
        offers: Mapping[str, Any] | None = None,
    ) -> None:
        """Add what was chosen and received, or what was chosen of which offer.

        Parameters
        ----------
        chosen
            Index of the option, from 0; None where nothing was chosen in time.
        reward
            What it paid. None where that is not known, which ends the play: beliefs after it are
            not known.
        executed
            What was done, where that is not what was chosen; -1 for nothing. The choice is scored,
            and what was executed is learnt from.
        is_choice, scored
            False for an option that was shown, and for a decision that shall not be scored.
        before, after
            What was seen at the decision and learnt after it, by name.
        available
            True for every option that could be chosen.
        offers
            For a model of offers: what describes the options, a number each by attribute, as
            `Offers` has it. Of the others only `chosen` and `scored` are given with it.

        What cannot be is refused, and nothing is added.
        """
        if self._takes_offers:
            others = (reward, executed, before, after, available)
            if is_choice is not True or any(other is not None for other in others):
                raise DataError(
                    "chosen, scored and offers alone",
                    "must be given for a model of offers",
                    got=f"others with {type(self.model).__name__}",
                    fix="Leave them out.",
                )
            self._observe_offer(chosen, offers, scored)
            return
        if offers is not None:
            raise DataError(
                "offers",
                "must be left out for a model that learns from rewards",
                got=f"some with {type(self.model).__name__}",
                fix="Give the reward.",
            )
        present = self._present
        assert isinstance(present, Episode)
        longer = present.extended(
            chosen,
            reward,
            executed,
            is_choice=is_choice,
            scored=scored,
            before=before,
            after=after,
            available=available,
        )
        self._check_declared_columns(longer)
        if reward is not None and longer.executed[-1] != NOTHING and np.isnan(longer.rewards[-1]):
            raise DataError(
                "reward",
                "must be a number",
                got=repr(reward),
                where=f"at decision {present.n_events}",
                fix="Pass None for the last reward of a play where it is not known.",
            )
        # All checks come before the assignment, so that a refused decision leaves nothing behind.
        n_options = Declared(self.model).n_options or np.iinfo(np.int64).max
        if max(longer.chosen[-1], longer.executed[-1]) >= n_options:
            longer.check_options(n_options)
        self._present = longer

    def _observe_offer(self, chosen: Any, offers: Mapping[str, Any] | None, scored: bool) -> None:
        if offers is None:
            names = ", ".join(f"{name!r}: ..." for name in Declared(self.model).attributes)
            raise DataError(
                "offers",
                f"must be given for {type(self.model).__name__}",
                got="none",
                fix=f"Pass offers={{{names}}}.",
            )
        described = {n: [v] for n, v in offers.items()} if isinstance(offers, Mapping) else offers
        one = Offers([chosen], described, scored=[scored])
        missing = [name for name in Declared(self.model).attributes if name not in one.offers]
        if missing:
            raise DataError(
                "offers",
                f"must hold {', '.join(missing)} for this model",
                got=", ".join(one.offers),
                fix="Add it.",
            )
        assert self._present is None or isinstance(self._present, Offers)
        self._present = one if self._present is None else self._present.concatenated(one)

    def _check_declared_columns(self, episode: Episode) -> None:
        told = Declared(self.model)
        for role, names, given in (
            ("before", told.before, episode.before),
            ("after", told.after, episode.after),
        ):
            missing = [name for name in names if name not in given]
            if missing:
                raise DataError(
                    role,
                    f"must hold {', '.join(missing)} for this model",
                    got=", ".join(given) or "nothing",
                    fix=f"Pass {role}={{{missing[0]!r}: ...}}.",
                )

    def estimate(self) -> Estimate:
        """Estimate that `fit` makes of all blocks; an empty one before any decision."""
        return fit_so_far(self.episodes, self.model, self.parameter_prior)

    def table(self) -> Table:
        """The current estimate as a table."""
        return self.estimate().table()

    def summary(self) -> str:
        """The current estimate as text."""
        return self.estimate().summary()

    def frame_columns(self) -> Columns:
        """The current estimate, a row for every parameter."""
        return self.estimate().frame_columns()

    def to_dict(self) -> dict[str, Any]:
        """State to continue from later, ready for JSON."""
        return record_document(Live, LiveRecord(self.model, self.parameter_prior, self.episodes))

    @classmethod
    def from_dict(
        cls, document: Mapping[str, Any], model: Any = None, prior: FitPrior | None = None
    ) -> Self:
        """Go on from what `to_dict` wrote: the same estimate follows.

        Parameters
        ----------
        document
            What `to_dict` returned.
        model, prior
            Where they are not of the library, and so not in the document.
        """
        kept = session_from_document(cls, document, LiveRecord, model=model, prior=prior)
        again = cls(kept.model, kept.prior)
        if kept.blocks:
            again._before, again._present = kept.blocks[:-1], kept.blocks[-1]
        return again

    def __repr__(self) -> str:
        return f"<Live: {format_count(self.n_decisions, 'decision')}>"
