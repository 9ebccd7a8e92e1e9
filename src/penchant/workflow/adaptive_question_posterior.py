"""Posterior of an adaptive experiment by quadrature, and the information of the next answer.

Offers are ranked by the mutual information of the answer and the parameters of interest, the others
integrated out (Lindley 1956; Myung, Cavagnaro & Pitt 2013). ParameterQuadratureNodes
(`adaptive_quadrature`) with the same parameters of interest form a group: an answer's probability
within a group is that with the others integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.models.coordinates import Coordinate
from penchant.result_tables import Columns, Result, Table, format_count
from penchant.workflow.adaptive_quadrature import (
    NodeLayout,
    OfferProbabilities,
    ParameterQuadratureNodes,
    answer_entropy,
    log_probabilities,
)
from penchant.workflow.adaptive_question_prior import ParameterScaling
from penchant.workflow.candidate_question_arrays import Offer, unanswered_record


@dataclass(frozen=True)
class Answer:
    """An offer, and the option chosen of it."""

    offer: Offer
    chosen: int


@dataclass(frozen=True, eq=False)
class AnswerPosterior:
    """Posterior weights of the nodes after answers.

    Attributes
    ----------
    scaling, layout
        Parameters that nodes stand for, and the rule that places them.
    nodes
        Current nodes.
    answers
        All so far.
    log_likelihood
        Of the answers at every node, (k, j).
    information_gain
        Kullback-Leibler divergence of the parameters of interest after the last answer from before
        it, in nats.
    """

    scaling: ParameterScaling
    layout: NodeLayout
    nodes: ParameterQuadratureNodes
    answers: tuple[Answer, ...]
    log_likelihood: Matrix
    information_gain: float = 0.0

    @classmethod
    def before_answers(cls, scaling: ParameterScaling, layout: NodeLayout) -> AnswerPosterior:
        """Prior belief, on nodes that are adapted to it."""
        nodes = layout.initial_nodes()
        return cls(scaling, layout, nodes, (), np.zeros(nodes.log_prior.shape))._on_adapted_nodes()

    def after(self, answer: Answer) -> AnswerPosterior:
        """Belief after another answer, on nodes that are adapted to it."""
        own = self._log_likelihood_of((answer,), self.nodes)
        answers = (*self.answers, answer)
        updated = replace(self, answers=answers, log_likelihood=self.log_likelihood + own)
        # The divergence needs both posteriors at the same nodes, so it is computed before these
        # move.
        gain = _kl_divergence(updated._group_probabilities, self._group_probabilities)
        return replace(updated._on_adapted_nodes(), information_gain=gain)

    def _on_adapted_nodes(self) -> AnswerPosterior:
        found = self
        for _ in range(self.layout.max_moves):
            nodes = found.layout.adapted_nodes(found.nodes, found.node_probabilities)
            if nodes is None:
                return found
            # The likelihood of earlier answers is known at the old nodes only.
            log_likelihood = self._log_likelihood_of(found.answers, nodes)
            found = replace(found, nodes=nodes, log_likelihood=log_likelihood)
        return found

    def _log_likelihood_of(
        self, answers: tuple[Answer, ...], nodes: ParameterQuadratureNodes
    ) -> Matrix:
        found = np.zeros(nodes.log_prior.shape)
        if not answers:
            return found
        names = answers[0].offer
        record = unanswered_record(
            {n: np.stack([a.offer.attributes[n] for a in answers]) for n in names}
        )
        log_p = log_probabilities(nodes.utilities(record))
        for t, answer in enumerate(answers):
            found += log_p[:, t, answer.chosen]
        return found

    @cached_property
    def node_probabilities(self) -> Matrix:
        """Probability of every node, (k, j)."""
        log_weight = self.nodes.log_prior + self.log_likelihood
        weight = np.exp(log_weight - log_weight.max())
        return np.asarray(weight / weight.sum())

    @property
    def _group_probabilities(self) -> Vector:
        """Probability of every value of the parameters of interest."""
        return np.asarray(self.nodes.values_by_group(self.node_probabilities).sum(axis=1))

    def information(self) -> Vector:
        """Mutual information of every offer's answer and the parameters of interest, in nats."""
        chunks = self.nodes.probability_chunks()
        return np.concatenate([self._mutual_information(offers) for offers in chunks])

    def _mutual_information(self, offers: OfferProbabilities) -> Vector:
        """I = H(E p) - E H(E[p | parameters of interest])."""
        weights = self.nodes.values_by_group(self.node_probabilities)
        group = weights.sum(axis=1)
        if offers.entropy is not None:
            expected = [group @ p[:, :, 0] for p in offers.options]
            return np.asarray(answer_entropy(expected) - group @ offers.entropy)
        alive = group > 0  # groups of probability 0 add nothing, and would divide by 0
        weights, group = weights[alive], group[alive]
        parts = [
            ((p if alive.all() else p[alive]) @ weights[:, :, None])[:, :, 0]
            for p in offers.options
        ]
        within = answer_entropy([part / group[:, None] for part in parts])
        return np.asarray(answer_entropy([part.sum(axis=0) for part in parts]) - group @ within)

    def probabilities(self, offer: Offer) -> Vector:
        """Posterior predictive probability of each option of an offer."""
        record = unanswered_record(
            {name: values[None] for name, values in offer.attributes.items()}
        )
        p = np.exp(log_probabilities(self.nodes.utilities(record)))
        return np.asarray(np.einsum("kmj,kj->m", p[:, 0], self.node_probabilities))


def _kl_divergence(now: Vector, before: Vector) -> float:
    return float(special.rel_entr(now, before).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Result):
    """Parameters as they are believed to be after the answers.

    Attributes
    ----------
    names
        Natural parameters.
    about
        Whether each was asked about.
    scales
        "log" where mean and sd are those of the logarithm, as of every positive parameter that is
        known by its order of magnitude; "natural" where they are of the parameter itself.
    mean, sd
        On these scales.
    median, low, high
        In natural units; `level` of the probability lies between low and high.
    level
        Of the interval.
    n_answers
        Answers so far.
    """

    json_names = ("level", "n_answers")
    names: tuple[str, ...]
    about: tuple[bool, ...]
    scales: tuple[str, ...]
    mean: Vector
    sd: Vector
    median: Vector
    low: Vector
    high: Vector
    level: float
    n_answers: int

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Name, scale, mean, sd, median, low and high of a parameter."""
        check_one_of(name, "name", self.names)
        return self._row(self.names.index(name))

    def _row(self, a: int) -> dict[str, Any]:
        return {name: column[a] for name, column in self.frame_columns().items()}

    def frame_columns(self) -> Columns:
        """A table with one row per parameter."""
        numbers = ("mean", "sd", "median", "low", "high")
        own = {name: getattr(self, name).tolist() for name in numbers}
        return {"name": self.names, "scale": self.scales, **own}

    def table(self) -> Table:
        """The summary as a table."""
        text = f"What is believed after {format_count(self.n_answers, 'answer')}"
        return replace(super().table(), caption=text)

    def document(self) -> dict[str, Any]:
        """Level, number of answers and a row per parameter, ready for JSON."""
        rows = [self._row(a) for a in range(len(self.names))]
        return super().document() | {"parameters": rows}

    def __repr__(self) -> str:
        each = zip(self.names, self.median, self.low, self.high, strict=True)
        text = ", ".join(f"{n} {m:.3g} ({lo:.3g} to {hi:.3g})" for n, m, lo, hi in each)
        return f"<Posterior after {self.n_answers}: {text}>"


def posterior_summary(belief: AnswerPosterior, about: tuple[int, ...], level: float) -> Posterior:
    """Moments and quantiles of every parameter."""
    each = belief.scaling.coordinates.each
    weights = belief.node_probabilities.ravel()
    h = belief.nodes.parameters.link_values
    rows = [_mean_sd_median_and_interval(c, h[:, a], weights, level) for a, c in enumerate(each)]
    columns: Matrix = np.array(rows, dtype=np.float64).T
    mean, sd, median, low, high = columns
    return Posterior(
        names=belief.scaling.coordinates.names,
        about=tuple(a in about for a in range(len(each))),
        scales=tuple("log" if has_log_link(c) else "natural" for c in each),
        mean=mean,
        sd=sd,
        median=median,
        low=low,
        high=high,
        level=level,
        n_answers=len(belief.answers),
    )


def has_log_link(c: Coordinate) -> bool:
    """Whether a parameter is known by its logarithm."""
    return c.link.name in ("log", "negative log")


def _mean_sd_median_and_interval(
    c: Coordinate, h: Vector, weights: Vector, level: float
) -> tuple[float, ...]:
    scaled = h if has_log_link(c) else np.asarray(c.link.value(h))
    mean = float(weights @ scaled)
    sd = float(weights @ (scaled - mean) ** 2) ** 0.5
    ends = _weighted_quantiles(h, weights, np.array([0.5, (1 - level) / 2, (1 + level) / 2]))
    values = np.asarray(c.link.value(ends))
    if c.link.name == "negative log":
        values[1:] = values[:0:-1]  # a decreasing link exchanges the lower and the upper end
    return (mean, sd, *map(float, values))


def _weighted_quantiles(values: Vector, weights: Vector, probabilities: Vector) -> Vector:
    """Quantiles of weighted values: half of the weight of each lies below it."""
    points, which = np.unique(values, return_inverse=True)
    mass = np.bincount(which, weights, len(points))
    below = np.cumsum(mass) - mass / 2
    kept = mass > 0
    return np.asarray(np.interp(probabilities, below[kept], points[kept]))
