"""Derivatives in psi, laid out and summed in compiled code, against sums as they are written."""

import numpy as np
import pytest

from penchant.inference.profile._kernels import derivatives
from penchant.inference.profile.pairs import Rows

N_SHAPE, N_WEIGHTS = 2, 3
LENGTHS = (5, 19, 1)  # decisions scored of three pairs, none of them whole blocks


@pytest.mark.parametrize("n_options", [2, 3])
@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_derivatives_equal_the_sums_over_decisions_and_options(n_options, wanted):
    x, dx, chosen, order, bounds, theta = _pairs(n_options)
    n, d, q = len(theta), N_WEIGHTS, N_SHAPE
    gradient, spreading = np.full((n, q), np.nan), np.full((n, d, q), np.nan)
    curvature = tuple(np.full((n, *s), np.nan) for s in ((d, q), (d, q), (q, q), (d, d)))
    scored = Rows(chosen, bounds, order, bounds).counted
    derivatives(x, dx, scored, theta, wanted, gradient, curvature, spreading)
    for k in range(n):
        rows = order[bounds[k] : bounds[k + 1]]
        found = (gradient[k], *(one[k] for one in curvature), spreading[k])
        expected = _literal(x[rows], dx[:, rows], chosen[rows], theta[k])
        asked = 1 + 4 * (wanted > 0) + (wanted == 2)
        for mine, literal in list(zip(found, expected, strict=True))[:asked]:
            np.testing.assert_allclose(mine, literal, rtol=1e-11, atol=1e-13)  # some 20 terms


def test_choices_that_are_nearly_certain_keep_their_digits():
    x, dx, chosen, order, bounds, theta = _pairs(2)
    n, d, q = len(theta), N_WEIGHTS, N_SHAPE
    gradient, spreading = np.empty((n, q)), np.empty((n, d, q))
    curvature = tuple(np.empty((n, *s)) for s in ((d, q), (d, q), (q, q), (d, d)))
    scored = Rows(chosen, bounds, order, bounds).counted
    derivatives(x, dx, scored, 40 * theta, 1, gradient, curvature, spreading)
    for k in range(n):
        rows = order[bounds[k] : bounds[k + 1]]
        expected = _literal(x[rows], dx[:, rows], chosen[rows], 40 * theta[k])
        np.testing.assert_allclose(gradient[k], expected[0], rtol=1e-11)
        np.testing.assert_allclose(curvature[3][k], expected[4], rtol=1e-11)


def _pairs(n_options):
    """Events of three pairs, some of them not scored, in an order of their own."""
    rng = np.random.default_rng(8)
    n_events = 40
    x = rng.normal(size=(n_events, n_options, N_WEIGHTS))
    dx = rng.normal(size=(N_SHAPE, n_events, n_options, N_WEIGHTS))
    chosen = rng.integers(0, n_options, n_events)
    order = rng.permutation(n_events)[: sum(LENGTHS)]
    bounds = np.concatenate([[0], np.cumsum(LENGTHS)])
    return x, dx, chosen, order, bounds, rng.normal(size=(len(LENGTHS), N_WEIGHTS))


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
