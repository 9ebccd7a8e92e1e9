"""Which weights a prior on natural parameters leaves to the choices, and where those then go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.inference.problem import Problem
from penchant.models.natural_prior import NaturalPrior
from penchant.softmax import separation as separating
from penchant.softmax.prepared import prepared
from penchant.softmax.separated import cleaned
from penchant.softmax.solution import Solution


def holds_weights(problem: Problem) -> bool:
    """Whether the prior says anything of the weights."""
    prior = problem.prior
    if not isinstance(prior, NaturalPrior):
        return prior is not None
    return len(held_rows(problem, np.ones(len(problem.model.weights)))) > 0


def held_rows(problem: Problem, theta: Vector) -> Matrix:
    """Rows c with c'v = 0 for directions v of the weights that leave all densities as they are.

    A ratio stays where its weights grow in proportion.
    """
    rows = []
    d = len(theta)
    assert isinstance(problem.prior, NaturalPrior)
    for natural in problem.profiles.natural:
        if natural.kind == "shape" or natural.name not in problem.prior.densities:
            continue
        row = np.eye(d)[natural.index]
        if natural.kind == "ratio":
            row = theta[natural.other] * row - theta[natural.index] * np.eye(d)[natural.other]
        rows.append(row)
    return np.array(rows).reshape(-1, d)


def let_go(problem: Problem, choices: Choices, found: Solution, theta: Vector) -> Solution | None:
    """The solution where separated choices drive weights away that no density holds, or None.

    `found` is what is known of the weights, `theta` where Newton's method left them.
    """
    rows = held_rows(problem, theta)
    cone = [rows, -rows]
    if problem.positive is not None:
        cone.append(problem.positive.matrix)
    _, known = prepared(choices, 1)
    recession = separating.recession(choices, known.scale, cone=np.vstack(cone))
    if recession is None:
        return None
    direction = cleaned(recession.direction, known)
    nothing = np.full((len(theta), len(theta)), np.nan)
    return replace(
        found,
        theta=np.where(direction != 0, np.copysign(np.inf, direction), theta),
        covariance=nothing,
        certainty=nothing,
        recession=direction,
        resolved=recession.resolved,
        near=None,
        condition=np.inf,
        certificate="linear program",
    )


def separated_advice(sentence: str, problem: Problem) -> str:
    """What to do where weights that a prior leaves free have no maximum."""
    if not isinstance(problem.prior, NaturalPrior):
        return sentence.replace("method='firth' or ", "")
    free = [
        natural.name
        for natural in problem.profiles.natural
        if natural.kind != "shape" and natural.name not in problem.prior.densities
    ]
    return sentence.replace(
        "Use method='firth' or parameter_prior=ScaledPrior(), or read",
        f"Give {' and '.join(free)} a density too, or read" if free else "Read",
    )
