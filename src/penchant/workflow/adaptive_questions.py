"""Adaptive design of choice experiments: ask the most informative offer next.

Bayesian adaptive design optimisation (Myung, Cavagnaro & Pitt 2013): the next offer has the largest
mutual information of its answer and the parameters of interest. `candidate_question_arrays` reads
offers, `adaptive_prior` scales the prior to them, `adaptive_quadrature` makes nodes and
`ask_beliefs` integrates over them; here are the interface and its JSON document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from penchant._typing import FilePath, Matrix, Names, Vector
from penchant.argument_checks import check_level, check_whole_number
from penchant.choices.offers import Offers
from penchant.errors import DataError, closest_match_hint
from penchant.files.output import read_document, write_json
from penchant.inference.fit import fit
from penchant.inference.profile.profile_likelihood import ProfileProblems
from penchant.inference.subject_estimates import estimate_without_data
from penchant.json_records import document_head, record_document, session_from_document
from penchant.models.model import Model
from penchant.models.priors import Prior
from penchant.result_tables import Columns, Result, Table
from penchant.softmax.estimate import Estimate
from penchant.workflow.adaptive_quadrature import (
    GRID,
    AdaptiveGridLayout,
    FixedGridLayout,
    NodeLayout,
    SobolLayout,
)
from penchant.workflow.adaptive_question_posterior import (
    Answer,
    AnswerPosterior,
    Posterior,
    posterior_summary,
)
from penchant.workflow.adaptive_question_prior import AskPrior, ParameterScaling
from penchant.workflow.candidate_question_arrays import (
    Offer,
    OfferTable,
    check_attributes_ignore_order,
    read_model_attributes_and_table,
    read_offer,
    unanswered_record,
)


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Tolerances of the choice of the next offer."""

    # Nats; offers closer than this differ by rounding only, and the first of them is asked, so that
    # machines agree.
    tie_tol: float = 1e-9
    min_information: float = 1e-7  # nats; below, no offer depends on the parameters of interest


ASK = AskOptions()


@dataclass(frozen=True)
class AskerRecord:
    """What is stored of an asker: its settings, offers and answers."""

    model: Any  # of the library, or text that stands for another
    prior: Any
    about: tuple[str, ...]
    repeats: bool
    grid: Any
    offers: Mapping[str, Matrix]
    table: OfferTable | None
    answers: tuple[Answer, ...]


def ask(
    model: Model,
    offers: Any,
    *,
    about: Names | None = None,
    prior: AskPrior | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    grid: Mapping[str, Any] | None = None,
    repeats: bool = True,
) -> Asker:
    """Ask the most informative offer next, and learn from every answer.

    The next offer is the one whose answer has the largest mutual information with the parameters in
    question, all others integrated out, given the answers so far.

    Parameters
    ----------
    model
        A model of offers, such as `HyperbolicDiscounting`; or a list of attributes, each of which
        has a weight; or None: all attributes of the offers have one (conditional logit).
    offers
        What could be offered: attributes (n_offers, n_options), or with a third axis for outcomes,
        as `Offers` takes them; or a pandas, polars or pyarrow table with one row per offer, whose
        columns are found as in `offers_from_frame`, or are called amount_1, amount_2 ...; or
        `Offers`, whatever was chosen.
    about
        Natural parameters in question; all of them, if not given.
    prior
        What is known before answers: `NaturalPrior`, or `people.prior` of `fit_population`, or
        `GaussianPrior` and `ScaledPrior` of weights. Parameters without one: see Notes.
    columns
        Of a table: for every attribute the column, or number, of each option.
    grid
        Values of every natural parameter to look at, once for all, each as likely where `prior`
        says nothing. Without it, nodes follow what is believed.
    repeats
        Whether an offer may be made again.

    Notes
    -----
    Where nothing is said, a shape parameter is as likely as the offers tell it from its neighbours,
    within the range that a fit searches; log(s / temperature) is normal around log 2 with sd 1,
    with s the root mean square of values within offers; a weight in units of its variable, or a
    ratio of two, is normal around 0 with sd 2 (its logarithm with sd 1.5 where it is positive).

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> now, days = (a.ravel() for a in np.meshgrid(np.arange(5, 100, 5), [7, 30, 90, 365]))
    >>> offers = {
    ...     "amount": np.column_stack([now, np.full(len(now), 100)]),
    ...     "delay": np.column_stack([np.zeros(len(now)), days]),
    ... }
    >>> asker = pn.ask(pn.HyperbolicDiscounting(), offers, about="discount_rate")
    >>> asker.next()
    Offer(amount = 55, 100; delay = 0, 30)
    >>> for _ in range(8):
    ...     offer = asker.next()
    ...     later = 100 / (1 + 0.02 * offer["delay"][1])
    ...     asker.answer(offer, chosen=int(later > offer["amount"][0]))
    >>> known = asker.posterior()["discount_rate"]
    >>> known["low"] < 0.02 < known["high"], asker.enough(sd=0.2)
    (True, False)
    """
    known, described, source_table = read_model_attributes_and_table(model, offers, columns)
    scaling = ParameterScaling.from_prior(known, described, prior)
    names = scaling.coordinates.names
    wanted = _parameters_of_interest(about, names)
    check_attributes_ignore_order(known, described, scaling.typical_psi()[:1])
    belief = AnswerPosterior.before_answers(scaling, _choose_node_layout(scaling, wanted, grid))
    return Asker(belief, wanted, repeats, grid, source_table)


def _parameters_of_interest(about: Names | None, names: tuple[str, ...]) -> tuple[int, ...]:
    """Indices of the parameters that `about` names, in the model's order."""
    if about is not None and not isinstance(about, (str, Sequence)):
        raise DataError(
            "about",
            f"must name parameters of the model, {', '.join(names)}",
            got=repr(about),
            fix="Choose some of them.",
        )
    given = names if about is None else (about,) if isinstance(about, str) else tuple(about)
    for name in given:
        if name not in names:
            raise DataError(
                "about",
                f"must name parameters of the model, {', '.join(names)}",
                got=repr(name),
                fix=closest_match_hint(str(name), names) or "Choose some of them.",
            )
    if not given or len(set(given)) < len(given):
        raise DataError(
            "about",
            "must name one parameter or more, each once",
            got=list(given),
            fix="Correct it.",
        )
    return tuple(a for a, name in enumerate(names) if name in given)


def _choose_node_layout(
    scaling: ParameterScaling, about: tuple[int, ...], grid: Mapping[str, Any] | None
) -> NodeLayout:
    if grid is None:
        large = scaling.n_parameters > GRID.max_parameters
        return SobolLayout(scaling, about) if large else AdaptiveGridLayout(scaling, about)
    names = scaling.coordinates.names
    if set(grid) != set(names):
        raise DataError(
            "grid",
            f"must have values of {' and '.join(names)}",
            got=f"those of {', '.join(map(str, grid)) or 'none'}",
            fix="Name every parameter once.",
        )
    values = tuple(np.asarray(grid[name], dtype=np.float64).ravel() for name in names)
    for name, own, c in zip(names, values, scaling.coordinates.each, strict=True):
        if not len(own) or not np.isfinite(c.link.inverse(own)).all():
            raise DataError(
                f"grid[{name!r}]",
                f"must hold values that {name} may have",
                got=own.tolist()[:5],
                fix="Correct them.",
            )
    return FixedGridLayout(scaling, about, values)


class Asker(Result):
    """Asks the most informative of some offers, and learns from the answers.

    Attributes
    ----------
    model
        How somebody chooses among the options of an offer.
    about
        Names of the parameters in question.
    history
        For every answer: what its offer was expected to tell of them, in nats, and how far it moved
        what is believed of them.
    """

    def __init__(
        self,
        belief: AnswerPosterior,
        about: tuple[int, ...],
        repeats: bool,
        grid: Mapping[str, Any] | None,
        source_table: OfferTable | None = None,
    ) -> None:
        self._belief = belief
        self._about = about
        self._repeats = repeats
        self._grid = grid
        self._source_table = source_table
        self._information: Vector | None = None
        self.model = belief.scaling.model
        self.about = tuple(belief.scaling.coordinates.names[a] for a in about)
        self.history: list[dict[str, Any]] = []
        if self.information().max() < ASK.min_information:
            raise DataError(
                "offers",
                f"must differ in what tells {' and '.join(self.about)}",
                got=f"{self._n_offers} of which none does",
                fix="Add offers, or ask about something else.",
            )

    @property
    def _n_offers(self) -> int:
        return len(next(iter(self._belief.scaling.offers.values())))

    @property
    def n_answers(self) -> int:
        """Answers so far."""
        return len(self._belief.answers)

    def information(self) -> Vector:
        """Expected information of every offer about the parameters in question, in nats."""
        if self._information is None:
            # Information is a difference of entropies, which rounding may take below 0.
            self._information = np.maximum(self._belief.information(), 0.0)
        return self._information.copy()

    def next(self) -> Offer:
        """The offer to make next: the numbers of its options by attribute, or the table's row.

        The same until an answer comes. Of offers as informative the first one is made.
        """
        information = self.information()
        if not self._repeats:
            for answer in self._belief.answers:
                if answer.offer.number is not None:
                    information[answer.offer.number] = -np.inf
            if not np.isfinite(information).any():
                raise DataError(
                    "offers",
                    "must be left to ask",
                    got=f"answers to all {self._n_offers}",
                    fix="Pass repeats=True to ask them again.",
                )
        number = int(np.flatnonzero(information >= information.max() - ASK.tie_tol)[0])
        offers = self._belief.scaling.offers
        row = None if self._source_table is None else self._source_table.row(number)
        return Offer({name: values[number] for name, values in offers.items()}, number, row)

    def answer(self, offer: Any, chosen: int) -> None:
        """Learn a choice; an invalid one is refused, and nothing changes.

        Parameters
        ----------
        offer
            What `next` gave; or any other with the same attributes, or with the columns of the
            table; or the number of one of the offers.
        chosen
            Index of the option taken, from 0.
        """
        made = read_offer(offer, self._belief.scaling.offers, self._source_table)
        n_options = len(next(iter(made.attributes.values())))
        whole = isinstance(chosen, (int, np.integer)) and not isinstance(chosen, (bool, np.bool_))
        if not whole or not 0 <= chosen < n_options:
            raise DataError(
                "chosen",
                f"must lie in 0..{n_options - 1}",
                got=f"{chosen!r} at answer {self.n_answers}",
                fix=(
                    "Give the index of the option taken, or do not answer where nothing was chosen."
                ),
            )
        # The information is stored only if `next` has computed it since the last answer: for the
        # history alone, a pass over all offers would cost more than it tells.
        expected = None
        if self._information is not None and made.number is not None:
            expected = float(self._information[made.number])
        self._belief = self._belief.after(Answer(made, int(chosen)))
        self._information = None
        self.history.append(
            {
                "offer": made.to_dict(),
                "chosen": int(chosen),
                "expected_information": expected,
                "information": self._belief.information_gain,
            }
        )

    def after(self, offer: Any, chosen: int) -> Asker:
        """Return an asker that has learnt one answer more; this one stays as it is."""
        twin = copy(self)  # shallow: a belief is immutable, only the history must not be shared
        twin.history = list(self.history)
        twin.answer(offer, chosen)
        return twin

    def probabilities(self, offer: Any) -> Vector:
        """Posterior predictive probability of each option of an offer."""
        candidates = self._belief.scaling.offers
        return self._belief.probabilities(read_offer(offer, candidates, self._source_table))

    def posterior(self, level: float = 0.95) -> Posterior:
        """Mean, sd, median and credible interval of every parameter."""
        check_level(level)
        return posterior_summary(self._belief, self._about, level)

    def enough(self, sd: float | Mapping[str, float] = 0.2, *, most: int | None = None) -> bool:
        """Whether the parameters in question are known well enough.

        Parameters
        ----------
        sd
            The largest standard deviation: of the logarithm of a positive parameter, so that 0.2 is
            about 20 %, and of others themselves. A number for all, or by name.
        most
            Answers after which it is enough in any case.
        """
        limits = dict(sd) if isinstance(sd, Mapping) else dict.fromkeys(self.about, sd)
        for name, limit in limits.items():
            number = isinstance(limit, (int, float, np.number)) and not isinstance(limit, bool)
            if name not in self.about or not number or not limit > 0:
                raise DataError(
                    "sd",
                    f"must be positive, for parameters among {', '.join(self.about)}",
                    got=f"{limit!r} for {name}",
                    fix="Try 0.2.",
                )
        if most is not None and self.n_answers >= check_whole_number(most, "most", 0):
            return True
        known = self.posterior()
        return all(known[name]["sd"] <= limit for name, limit in limits.items())

    def answered(self) -> Offers | None:
        """Offers made and what was chosen of them, for `fit`; None before the first answer."""
        answers = self._belief.answers
        if not answers:
            return None
        names = answers[0].offer.attributes
        made = {name: np.stack([a.offer.attributes[name] for a in answers]) for name in names}
        return Offers([a.chosen for a in answers], made)

    def estimate(self, parameter_prior: Prior | None = None) -> Estimate:
        """The estimate that `fit` makes of the answers alone, exact, with its status.

        Parameters
        ----------
        parameter_prior
            As of `fit`; none, if not given: maximum likelihood, which few answers may leave
            separated. What is believed with the prior of the asker is in `posterior`.
        """
        answers = self.answered()
        if answers is None:
            record = unanswered_record({n: v[:1] for n, v in self._belief.scaling.offers.items()})
            return estimate_without_data(
                ProfileProblems(self.model, (tuple(record.episodes),), parameter_prior)
            )
        return fit(answers, self.model, parameter_prior=parameter_prior)

    def table(self) -> Table:
        """The posterior as a table."""
        return self.posterior().table()

    def frame_columns(self) -> Columns:
        """The posterior, a row per parameter."""
        return self.posterior().frame_columns()

    def to_dict(self) -> dict[str, Any]:
        """Settings, offers and answers, ready for JSON: `from_dict` goes on from them."""
        scaling = self._belief.scaling
        record = AskerRecord(
            self.model,
            scaling.prior,
            self.about,
            self._repeats,
            self._grid,
            scaling.offers,
            self._source_table,
            self._belief.answers,
        )
        return record_document(Asker, record)

    @classmethod
    def from_dict(
        cls, document: Mapping[str, Any], model: Model | None = None, prior: AskPrior | None = None
    ) -> Self:
        """Go on from what `to_dict` wrote: the same questions follow.

        Parameters
        ----------
        document
            What `to_dict` returned.
        model, prior
            Where they are not of the library, and so not in the document.
        """
        kept = session_from_document(cls, document, AskerRecord, model=model, prior=prior)
        asker = ask(
            kept.model,
            kept.offers if kept.table is None else kept.table.cells,
            columns=None if kept.table is None else kept.table.option_columns,
            about=kept.about,
            prior=kept.prior,
            grid=kept.grid,
            repeats=kept.repeats,
        )
        # Answers are given again, instead of storing the posterior: the nodes are the same as in
        # the session that was saved, and so are the next questions.
        for answer in kept.answers:
            asker.answer(answer.offer, answer.chosen)
        return cast("Self", asker)

    def save(self, path: FilePath, *, overwrite: bool = True) -> None:
        """Write it to a file, to be read by `read`."""
        write_json(path, self.to_dict(), overwrite=overwrite)

    @classmethod
    def read(
        cls, path: FilePath, model: Model | None = None, prior: AskPrior | None = None
    ) -> Asker:
        """Go on from a file that `save` wrote; see `from_dict`."""
        return cls.from_dict(read_document(path, **document_head(cls)), model, prior)

    def __repr__(self) -> str:
        known = self.posterior()
        rows = (known[name] for name in self.about)
        text = ", ".join(f"{r['name']} {r['low']:.3g} to {r['high']:.3g}" for r in rows)
        return f"<Asker after {self.n_answers} answers: {text}>"
