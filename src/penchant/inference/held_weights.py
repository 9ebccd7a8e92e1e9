"""Which weights a prior on natural parameters leaves to the choices, and where those then go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.choices import Choices
from penchant.inference.problem import Problem
from penchant.models.natural_prior import NaturalPrior
from penchant.softmax import separation as separating
from penchant.softmax.constraints import null_basis
from penchant.softmax.near_separation import NEGLIGIBLE, weight_of_small
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
    cone = _allowed(problem, held_rows(problem, theta))
    _, known = prepared(choices, 1)
    recession = separating.recession(choices, known.scale, cone=cone)
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


def nearly_let_go(
    problem: Problem, choices: Choices, theta: Vector, information: Matrix
) -> Vector | None:
    """Direction that no density holds, and that separates all but negligible differences, or None.

    Along it no density changes, so that what `hang_on` proves of maxima of the likelihood holds of
    this one: where there is such a direction, the information along it is next to nothing.
    """
    rows = held_rows(problem, theta)
    likelihood, known = prepared(choices, 1)
    largest = np.asarray(likelihood.largest)[1]
    if not known.complete:
        return None
    free = null_basis(rows / largest, len(theta))
    if not free.shape[1]:
        return None
    along = free.T @ (information / largest / largest[:, None]) @ free
    limit = 2 * len(theta) * NEGLIGIBLE * float(weight_of_small(choices, largest)[0])
    plain = separating.without_small_differences(choices, known.scale, NEGLIGIBLE)
    if plain is None or np.linalg.eigvalsh(along)[0] > limit:
        return None
    recession = separating.recession(plain, known.scale, cone=_allowed(problem, rows))
    return None if recession is None else cleaned(recession.direction, known)


def _allowed(problem: Problem, rows: Matrix) -> Matrix:
    """Rows c with c'v >= 0 for directions that leave densities, and signs, as they are."""
    cone = [rows, -rows]
    if problem.positive is not None:
        cone.append(problem.positive.matrix)
    return np.vstack(cone)


def separated_advice(sentence: str, problem: Problem) -> str:
    """What to do where weights that a prior leaves free have no maximum, or next to none."""
    if not isinstance(problem.prior, NaturalPrior):
        return sentence.replace("method='firth' or ", "").replace(" or use method='firth'", "")
    free = [
        natural.name
        for natural in problem.profiles.natural
        if natural.kind != "shape" and natural.name not in problem.prior.densities
    ]
    if not free:
        return sentence.replace("Use method='firth' or parameter_prior=ScaledPrior(), or r", "R")
    density = f"ive {' and '.join(free)} a density too"
    return sentence.replace(
        "Use method='firth' or parameter_prior=ScaledPrior()", f"G{density}"
    ).replace("give a parameter_prior or use method='firth'", f"g{density}")
