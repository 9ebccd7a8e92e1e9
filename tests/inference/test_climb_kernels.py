"""Compiled steps of climbs: the same as literal formulas, whatever the company."""

import numpy as np
import pytest

from penchant.inference.profile import _inner_problem_kernels as compiled
from penchant.inference.search.local_maxima import inverse_workspace, pseudoinverse


def symmetric(rng, n, q):
    """Curvatures of all signs."""
    half = rng.normal(size=(n, q, q))
    return half + half.transpose(0, 2, 1)


def newton_step(u, gradient, curvature, bounds, held, reach):
    """Literally: free coordinates, absolute eigenvalues, at most so long, none beyond the range."""
    low, high = u <= bounds[:, 0], u >= bounds[:, 1]
    free = np.flatnonzero(~(low & (gradient <= 0) | high & (gradient >= 0) | held))
    step = np.zeros(len(u))
    values, vectors = np.linalg.eigh(curvature[np.ix_(free, free)])
    size = np.abs(values)
    size = np.maximum(size, 1e-6 * size.max(initial=1e-12))
    step[free] = vectors @ ((vectors.T @ gradient[free]) / size)
    beyond = low & (step < 0) | high & (step > 0)
    if beyond.any():
        return newton_step(u, gradient, curvature, bounds, held | beyond, reach)
    return step * reach / max(reach, np.abs(step).max())


@pytest.mark.parametrize("q", [1, 2, 3])
def test_steps_are_newtons_among_what_may_move(q):
    rng = np.random.default_rng(q)
    n = 40
    bounds = np.column_stack([np.full(q, -2.0), np.full(q, 3.0)])
    u = np.where(rng.random((n, q)) < 0.3, bounds[:, 0], rng.uniform(-2.0, 3.0, (n, q)))
    u = np.where(rng.random((n, q)) < 0.2, bounds[:, 1], u)
    gradient, curvature = rng.normal(size=(n, q)), symmetric(rng, n, q)
    curvature[3] *= 50.0  # a short step
    fixed = rng.random((n, q)) < 0.1
    rows, found, reach = np.arange(n)[::-1].copy(), np.empty((n, q)), rng.choice([1.0, 2.0], n)
    compiled.projected_newton_step(
        rows, u, gradient, curvature[rows], bounds, fixed, reach, found, inverse_workspace(q)
    )
    each = zip(u, gradient, curvature, fixed, reach, strict=True)
    expected = [newton_step(*one[:3], bounds, *one[3:]) for one in each]
    expected = [expected[k] for k in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)  # well conditioned


def test_a_curvature_that_is_not_known_leaves_steep_steps_of_length_one():
    u, gradient = np.array([[0.5, 0.2]]), np.array([[3.0, -4.0]])
    bounds, found = np.array([[-2.0, 3.0], [-2.0, 3.0]]), np.empty((1, 2))
    lost = np.full((1, 2, 2), np.nan)
    held = np.zeros((1, 2), dtype=bool)
    compiled.projected_newton_step(
        np.array([0]), u, gradient, lost, bounds, held, np.ones(1), found, inverse_workspace(2)
    )
    np.testing.assert_allclose(found, [[0.75, -1.0]], rtol=1e-15)


def test_a_step_that_would_leave_the_range_goes_along_its_end():
    """Along a ridge the slope at an end may lead inwards, and the step outwards all the same."""
    u, bounds = np.array([[-8.65, 0.0]]), np.array([[-14.0, 7.0], [0.0, 10.0]])
    gradient, curvature = np.array([[-0.03, 0.018]]), np.array([[[20.0, -13.8], [-13.8, 9.53]]])
    held, found = np.zeros((1, 2), dtype=bool), np.empty((1, 2))
    assert np.linalg.solve(curvature[0], gradient[0])[1] < 0.0
    one = np.array([0]), u, gradient, curvature, bounds, held, np.ones(1)
    compiled.projected_newton_step(*one, found, inverse_workspace(2))
    np.testing.assert_allclose(found, [[-0.03 / 20.0, 0.0]], rtol=1e-13)


def test_summits_are_maxima_of_parabolas_inside_the_range():
    rng = np.random.default_rng(4)
    n, bounds = 200, np.array([[-2.0, 3.0], [0.0, 10.0]])
    root = rng.normal(size=(n, 2, 2))
    curvature = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(2)
    curvature[:5] *= -1.0
    u, gradient = rng.uniform(*bounds.T, (n, 2)), 3.0 * rng.normal(size=(n, 2))
    rows, found = rng.permutation(n), np.empty((n, 2))
    compiled.quadratic_maxima(rows, u, gradient, curvature, bounds, found)
    for i, k in enumerate(rows):
        if k < 5:
            assert np.isnan(found[i]).all()
            continue
        free = u[k] + np.linalg.solve(curvature[k], gradient[k])
        out = (free < bounds[:, 0]) | (free > bounds[:, 1])
        if not out.any():
            np.testing.assert_allclose(found[i], free, rtol=1e-10)
        elif out.sum() == 1:  # the highest place of that end
            end, other = int(np.flatnonzero(out)[0]), int(np.flatnonzero(~out)[0])
            places = np.tile(np.clip(free, *bounds.T), (2001, 1))
            places[:, other] = np.linspace(*bounds[other], 2001)
            away = places - u[k]
            bend = np.einsum("na,ab,nb->n", away, curvature[k], away)
            best = places[np.argmax(away @ gradient[k] - 0.5 * bend)]
            assert found[i, end] == best[end]
            assert abs(found[i, other] - best[other]) < 0.006  # two steps
        assert ((found[i] >= bounds[:, 0]) & (found[i] <= bounds[:, 1])).all()


def learnt(k, first, path, change, points, positive, unexpected):
    """Literally: expected information, plus what is known beside, by a rank-one update."""
    information, theta, mixed, fisher = (part[k].copy() for part in points)
    held = [a for a in positive if theta[a] <= 0]
    information[held], information[:, held] = 0.0, 0.0
    expected = fisher - mixed.T @ pseudoinverse(information[None])[0] @ mixed
    if first:
        return np.where(np.isfinite(unexpected[k]), unexpected[k], expected), expected
    known = expected + unexpected[k]
    miss = change - known @ path
    return known + np.outer(miss, miss) / (miss @ path), expected


@pytest.mark.parametrize(("d", "q"), [(1, 1), (2, 2), (4, 3)])
def test_curvatures_are_as_expected_with_what_steps_showed_beside(d, q):
    rng = np.random.default_rng(10 * d + q)
    n = 12
    root = rng.normal(size=(n, d + q, d + q + 2))
    joint = root @ root.transpose(0, 2, 1)
    theta = rng.normal(size=(n, d))
    parts = joint[:, :d, :d], theta, joint[:, :d, d:], joint[:, d:, d:]
    points = tuple(np.ascontiguousarray(part) for part in parts)
    unexpected = symmetric(rng, n, q)
    unexpected[1] = np.nan
    rows = np.array([7, 1, 4, 10])
    first = np.array([False, True, True, False])
    path, change = rng.normal(size=(4, q)), rng.normal(size=(4, q))
    positive = np.array([0])
    told = [
        learnt(k, first[i], path[i], change[i], points, positive, unexpected)
        for i, k in enumerate(rows)
    ]
    curvature, none, alone = np.zeros((n, q, q)), np.empty((0, d, d)), np.empty((4, q, q))
    given = rows, first, path, change, points, (-1, none), positive
    compiled.update_curvatures(
        *given, (curvature, unexpected, alone), inverse_workspace(d), np.empty(q)
    )
    np.testing.assert_allclose(alone, [expected for _, expected in told], rtol=1e-9, atol=1e-10)
    for k, (whole, expected) in zip(rows, told, strict=True):
        np.testing.assert_allclose(curvature[k], whole, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(unexpected[k], whole - expected, rtol=1e-8, atol=1e-9)
    others = np.setdiff1d(np.arange(n), rows)
    assert not curvature[others].any()


def test_a_step_that_shows_nothing_changes_no_curvature():
    points = np.eye(1)[None], np.ones((1, 1)), np.zeros((1, 1, 2)), 2.0 * np.eye(2)[None]
    unexpected, curvature = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    path = np.array([[0.3, -0.1]])
    for change in (2.0 * path, np.array([[1e200, 0.0]]), np.array([[np.inf, 0.0]])):
        given = np.array([0]), np.array([False]), path, change, points, (-1, np.empty((0, 1, 1)))
        none = np.empty(0, dtype=np.int64)
        curvatures = curvature, unexpected, np.empty((1, 2, 2))
        compiled.update_curvatures(*given, none, curvatures, inverse_workspace(1), np.empty(2))
        np.testing.assert_array_equal(curvature[0], 2.0 * np.eye(2))


def test_steps_lead_to_the_end_of_a_range_along_their_direction():
    bounds = np.array([[0.0, 4.0], [-3.0, 1.5]])
    u = np.array([[1.0, 0.5], [3.0, 0.5], [4.0, 0.5], [2.0, -1.0]])
    steps = np.array([[0.5, -0.4], [2.0, 0.6], [1.0, 0.7], [0.0, 0.0]])
    target, half = np.empty((4, 2)), np.full(4, 0.5)
    compiled.cut_steps_at_first_bound(np.arange(4), u, steps, np.ones(4), bounds, target)
    # inside; to the first end that is crossed; along an end that it is at; nowhere
    expected = [[1.5, 0.1], [4.0, 0.8], [4.0, 1.2], [2.0, -1.0]]
    np.testing.assert_allclose(target, expected, rtol=1e-15)
    assert target[1, 0] == 4.0
    compiled.cut_steps_at_first_bound(np.arange(4), u, steps, half, bounds, target)
    np.testing.assert_allclose(target[:2], [[1.25, 0.3], [4.0, 0.8]], rtol=1e-15)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_no_step_leaves_the_range_or_its_direction(q):
    rng = np.random.default_rng(q)
    n = 200
    bounds = np.column_stack([np.full(q, -2.0), np.full(q, 3.0)])
    u, steps = rng.uniform(-2.0, 3.0, (n, q)), rng.normal(size=(n, q))
    target = np.empty((n, q))
    compiled.cut_steps_at_first_bound(np.arange(n), u, steps, np.full(n, 0.8), bounds, target)
    assert (target >= bounds[:, 0]).all() and (target <= bounds[:, 1]).all()
    share = (target - u) / (0.8 * steps)
    np.testing.assert_allclose(share, share[:, :1] * np.ones(q), rtol=1e-9)
    out = ((u + 0.8 * steps < bounds[:, 0]) | (u + 0.8 * steps > bounds[:, 1])).any(axis=1)
    assert out.any() and (share[~out] > 1 - 1e-12).all()
    ends = (target == bounds[:, 0]) | (target == bounds[:, 1])
    np.testing.assert_array_equal(ends.any(axis=1), out)
