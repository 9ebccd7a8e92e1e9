"""Derivatives in psi, laid out and summed in compiled code, against sums as they are written."""

import numpy as np
import pytest

from penchant.inference.profile._inner_problem_kernels import psi_derivatives, scatter_derivative
from penchant.inference.profile.inner_problems import DecisionIndex

LENGTHS = (5, 19, 1)  # decisions scored of three pairs, none of them whole blocks


@pytest.mark.parametrize("n_options", [2, 3, 5, 11])
@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("in_order", [True, False])
def test_derivatives_equal_the_sums_over_decisions_and_options(n_options, size, in_order):
    x, dx, chosen, order, bounds, theta = _pairs(n_options, *size, in_order)
    (d, q), n = size, len(theta)
    gradient, spread = np.full((n, q), np.nan), np.full((n, d, q), np.nan)
    curvature = tuple(np.full((n, *s), np.nan) for s in ((d, q), (d, q), (q, q), (d, d)))
    scored = DecisionIndex(chosen, bounds, order, bounds).to_scored_decisions
    psi_derivatives(x, dx, scored, theta, gradient, curvature)
    scatter_derivative(x, dx, scored, spread)
    for k in range(n):
        rows = order[bounds[k] : bounds[k + 1]]
        found = (gradient[k], *(one[k] for one in curvature), spread[k])
        expected = _literal(x[rows], dx[:, rows], chosen[rows], theta[k])
        for mine, literal in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, literal, rtol=1e-11, atol=1e-13)  # some 20 terms


@pytest.mark.parametrize("n_options", [2, 4])
def test_choices_that_are_nearly_certain_keep_their_digits(n_options):
    d, q = 3, 2
    x, dx, chosen, order, bounds, theta = _pairs(n_options, d, q, False)
    n = len(theta)
    gradient = np.empty((n, q))
    curvature = tuple(np.empty((n, *s)) for s in ((d, q), (d, q), (q, q), (d, d)))
    scored = DecisionIndex(chosen, bounds, order, bounds).to_scored_decisions
    psi_derivatives(x, dx, scored, 40 * theta, gradient, curvature)
    for k in range(n):
        rows = order[bounds[k] : bounds[k + 1]]
        expected = _literal(x[rows], dx[:, rows], chosen[rows], 40 * theta[k])
        np.testing.assert_allclose(gradient[k], expected[0], rtol=1e-11)
        np.testing.assert_allclose(curvature[3][k], expected[4], rtol=1e-11)


def _pairs(n_options, d, q, in_order):
    """Events of three pairs: one after another, or some of all, each in order of time."""
    rng = np.random.default_rng(8)
    n_events = sum(LENGTHS) if in_order else 40
    x = rng.normal(size=(n_events, n_options, d))
    dx = rng.normal(size=(q, n_events, n_options, d))
    chosen = rng.integers(0, n_options, n_events)
    order = np.arange(n_events) if in_order else rng.permutation(n_events)[: sum(LENGTHS)]
    bounds = np.concatenate([[0], np.cumsum(LENGTHS)])
    order = np.concatenate([np.sort(part) for part in np.split(order, bounds[1:-1])])
    return x, dx, chosen, order, bounds, rng.normal(size=(len(LENGTHS), d))


def _literal(x, dx, chosen, theta):
    """Gradient; cross, mixed, fisher, information; spreading: decision after decision."""
    d, q = x.shape[2], len(dx)
    gradient, spreading = np.zeros(q), np.zeros((d, q))
    cross, mixed, fisher = np.zeros((d, q)), np.zeros((d, q)), np.zeros((q, q))
    information = np.zeros((d, d))
    for t, c in enumerate(chosen):
        objective = x[t] @ theta
        p = np.exp(objective - objective.max())
        p /= p.sum()
        slopes = dx[:, t] @ theta  # (n_shape, n_options)
        z, s = x[t] - p @ x[t], slopes - (slopes @ p)[:, None]
        gradient += slopes[:, c] - slopes @ p
        information += (p[:, None] * z).T @ z
        mixed += (p[:, None] * z).T @ s.T
        fisher += (p * s) @ s.T
        cross += dx[:, t, c].T - np.einsum("i,qia->aq", p, dx[:, t]) - (p[:, None] * z).T @ s.T
        about, change = x[t] - x[t].mean(axis=0), dx[:, t] - dx[:, t].mean(axis=1)[:, None]
        spreading += 2 * np.einsum("ia,qia->aq", about, change) / len(p) / len(chosen)
    return gradient, cross, mixed, fisher, information, spreading
