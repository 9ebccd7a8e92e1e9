"""What is believed of somebody after their answers, and what every offer would tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from penchant._typing import Matrix, Vector
from penchant.workflow.questions.nodes import (
    Layout,
    Nodes,
    Tables,
    entropy,
    log_probabilities,
)
from penchant.workflow.questions.offered import Offer, as_record
from penchant.workflow.questions.units import Units


@dataclass(frozen=True)
class Answer:
    """What somebody took of an offer."""

    offer: Offer
    chosen: int


@dataclass(frozen=True, eq=False)
class Belief:
    """Weights of nodes after answers.

    Attributes
    ----------
    units, layout
        What nodes are of, and how they are laid out.
    nodes
        The present ones.
    answers
        All so far.
    log_likelihood
        Of the answers at every node, (k, j).
    moved
        How far the last answer moved what is asked about, in nats.
    """

    units: Units
    layout: Layout
    nodes: Nodes
    answers: tuple[Answer, ...]
    log_likelihood: Matrix
    moved: float = 0.0

    @classmethod
    def before(cls, units: Units, layout: Layout) -> Belief:
        """What is believed before any answer."""
        nodes = layout.first()
        return cls(units, layout, nodes, (), np.zeros(nodes.log_prior.shape))._settled()

    def after(self, answer: Answer) -> Belief:
        """What is believed after one answer more."""
        told = self._log_likelihood_of((answer,), self.nodes)
        with_it = (*self.answers, answer)
        more = replace(self, answers=with_it, log_likelihood=self.log_likelihood + told)
        return replace(more._settled(), moved=_divergence(more._groups, self._groups))

    def _settled(self) -> Belief:
        """The same on nodes that suit it."""
        found = self
        for _ in range(self.layout.moves):
            nodes = found.layout.moved(found.nodes, found.weights)
            if nodes is None:
                return found
            told = self._log_likelihood_of(found.answers, nodes)
            found = replace(found, nodes=nodes, log_likelihood=told)
        return found

    def _log_likelihood_of(self, answers: tuple[Answer, ...], nodes: Nodes) -> Matrix:
        found = np.zeros(nodes.log_prior.shape)
        if not answers:
            return found
        names = answers[0].offer
        record = as_record({n: np.stack([a.offer.attributes[n] for a in answers]) for n in names})
        log_p = log_probabilities(nodes.objectives(record))
        for t, answer in enumerate(answers):
            found += log_p[:, t, answer.chosen]
        return found

    @cached_property
    def weights(self) -> Matrix:
        """Probability of every node, (k, j)."""
        log_weight = self.nodes.log_prior + self.log_likelihood
        weight = np.exp(log_weight - log_weight.max())
        return np.asarray(weight / weight.sum())

    @property
    def _groups(self) -> Vector:
        """Probability of every value of what is asked about."""
        return np.asarray(self.nodes.grouped(self.weights).sum(axis=1))

    def information(self) -> Vector:
        """Mutual information of the answer to every offer and what is asked about, in nats."""
        return np.concatenate([self._informed(tables) for tables in self.nodes.all_tables()])

    def _informed(self, tables: Tables) -> Vector:
        """I = H(E p) - E H(E[p | what is asked about])."""
        weights = self.nodes.grouped(self.weights)
        group = weights.sum(axis=1)
        if tables.entropy is not None:
            expected = [group @ p[:, :, 0] for p in tables.options]
            return np.asarray(entropy(expected) - group @ tables.entropy)
        alive = group > 0
        weights, group = weights[alive], group[alive]
        parts = [
            ((p if alive.all() else p[alive]) @ weights[:, :, None])[:, :, 0]
            for p in tables.options
        ]
        told = entropy([part / group[:, None] for part in parts])
        return np.asarray(entropy([part.sum(axis=0) for part in parts]) - group @ told)

    def probabilities(self, offer: Offer) -> Vector:
        """How likely each option of an offer is."""
        record = as_record({name: values[None] for name, values in offer.attributes.items()})
        p = np.exp(log_probabilities(self.nodes.objectives(record)))
        return np.asarray(np.einsum("kmj,kj->m", p[:, 0], self.weights))


def _divergence(now: Vector, before: Vector) -> float:
    return float(special.rel_entr(now, before).sum())
