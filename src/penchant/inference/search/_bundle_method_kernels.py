"""Compiled steps of the proximal bundle method (see `bundle_method`). Bare arrays."""

import math
from typing import Any

import numpy as np

from penchant.inference.profile._inner_problem_kernels import fast, fast_inner

# Changes of the active set: each cut enters and leaves a few times; more is cycling by rounding.
MAX_QP_ROUNDS = 60
# Least linearisation error of a cut, as a share of the quadratic term between its point and the
# current one (Lewis & Wylie 2019): a cut from far away that happens to pass through the current
# value would otherwise count as if it had been taken here.
MIN_LINEARIZATION_ERROR = 0.2
QP_TOL = 1e-13  # relative to the largest diagonal entry: smaller reduced gradients are rounding
QP_RIDGE = 1e-14  # relative to the same: without it the system of two equal cuts is singular


@fast_inner
def _invert_positive_definite(a, n, inverse):
    """Invert a positive definite matrix by Gauss-Jordan elimination; overwrites a."""
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    for i in range(n):
        pivot = a[i, i]
        for j in range(n):
            a[i, j] /= pivot
            inverse[i, j] /= pivot
        for r in range(n):
            if r != i:
                factor = a[r, i]
                for j in range(n):
                    a[r, j] -= factor * a[i, j]
                    inverse[r, j] -= factor * inverse[i, j]


@fast_inner
def _solve_by_elimination(a, b, n):
    """Solve a x = b with partial pivoting; b becomes x. Returns False for a singular matrix."""
    for i in range(n):
        top = i
        for r in range(i + 1, n):
            if abs(a[r, i]) > abs(a[top, i]):
                top = r
        if not abs(a[top, i]) > 0.0:
            return False
        if top != i:
            for j in range(n):
                a[i, j], a[top, j] = a[top, j], a[i, j]
            b[i], b[top] = b[top], b[i]
        for r in range(i + 1, n):
            factor = a[r, i] / a[i, i]
            b[r] -= factor * b[i]
            for j in range(i, n):
                a[r, j] -= factor * a[i, j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return True


@fast_inner
def _solve_dual_qp(products, errors, n, lambda_, active, system, right):
    """Minimize `errors' lambda + lambda' products lambda / 2` over lambda >= 0 with sum 1.

    The dual of the step: lambda are the multipliers of the cuts, `products` the products of their
    gradients in the metric of the inverse curvature, `errors` their linearisation errors. An
    active-set method: begin with the current cut alone, add the cut with the least reduced
    gradient, solve the equality-constrained problem, and drop multipliers that would be negative.
    """
    for i in range(n):
        lambda_[i], active[i] = 0.0, 0
    lambda_[0], active[0], size = 1.0, 0, 1
    # Positive also where all gradients are 0, so that the ridge keeps the system regular.
    scale = 1e-300
    for i in range(n):
        scale = max(scale, products[i, i])
    for _ in range(MAX_QP_ROUNDS):
        least, best, level = math.inf, -1, 0.0
        for i in range(n):
            reduced = errors[i]
            for k in range(size):
                reduced += products[i, active[k]] * lambda_[active[k]]
            level += lambda_[i] * reduced
            if reduced < least:
                least, best = reduced, i
        # Karush-Kuhn-Tucker conditions: no cut outside the active set would lower the objective.
        if least >= level - QP_TOL * scale:
            return
        for k in range(size):
            if active[k] == best:
                return
        active[size] = best
        size += 1
        while True:
            for k in range(size):
                for o in range(size):
                    system[k, o] = products[active[k], active[o]]
                system[k, k] += QP_RIDGE * scale
                system[k, size] = system[size, k] = scale
                right[k] = -errors[active[k]]
            system[size, size], right[size] = 0.0, scale
            if not _solve_by_elimination(system, right, size + 1):
                return
            fraction = 1.0
            for k in range(size):
                if right[k] <= 0.0:
                    fraction = min(
                        fraction, lambda_[active[k]] / (lambda_[active[k]] - right[k] + 1e-300)
                    )
            kept = 0
            for k in range(size):
                i = active[k]
                lambda_[i] += fraction * (right[k] - lambda_[i])
                if lambda_[i] > 0.0 and not (
                    fraction < 1.0 and right[k] <= 0.0 and lambda_[i] < 1e-15
                ):
                    active[kept] = i
                    kept += 1
                else:
                    lambda_[i] = 0.0
            if kept == size:
                break
            size = kept
            if fraction == 1.0 or size == 0:
                break
        # Multipliers must sum to 1: if rounding dropped all, begin again with the current cut.
        if size == 0:
            lambda_[0], active[0], size = 1.0, 0, 1


@fast
def bundle_step(rows, state, range_, bundle, steps, predicted_increases, workspace):
    """Steps to the maximum of the bundle's model, and the increase that it predicts.

    The model is the lowest of parabolas, one through every point of the bundle with its value and
    gradient, all with the same curvature. Parameters that would leave the range are fixed at its
    end, and the dual problem is solved again.

    rows : (n,), indices into `state`, `bundle` and `predicted_increases`
    state : u (all, n_shape), value (all,), curvature (all, n_shape, n_shape), and the proximal
        weight (all,), the factor of the curvature by which a step is held back
    range_ : bounds (n_shape, 2), and parameters that stay fixed (all, n_shape)
    bundle : points (all, m, n_shape), values (all, m) and gradients (all, m, n_shape); the first is
        the current point; values are NaN where there is no cut
    steps, predicted_increases : (n, n_shape), (all,), filled
    """
    u, value, curvature, proximal_weight = state
    bounds, held = range_
    points, values, gradients = bundle
    at, projected, fixed, a, inverse, products, errors, lambda_, active, system, right = workspace
    q = u.shape[1]
    for r in range(len(rows)):
        k, n = rows[r], 0
        for i in range(values.shape[1]):
            if not math.isfinite(values[k, i]):
                continue
            cut_value, quadratic = values[k, i], 0.0
            for c in range(q):
                offset = u[k, c] - points[k, i, c]
                bend, softening = 0.0, min(1.0, proximal_weight[k])
                for e in range(q):
                    bend += softening * curvature[k, c, e] * (u[k, e] - points[k, i, e])
                at[n, c] = gradients[k, i, c] - bend
                cut_value += offset * (gradients[k, i, c] - 0.5 * bend)
                quadratic += offset * bend
            # A cut that lies below the current value would make the model nonconcave there: its
            # distance counts as an error, whichever sign it has.
            errors[n] = max(abs(cut_value - value[k]), MIN_LINEARIZATION_ERROR * quadratic)
            n += 1
        for c in range(q):
            fixed[c] = 1.0 if held[k, c] else 0.0
        for _ in range(q + 1):
            largest = 1e-12
            for c in range(q):
                largest = max(largest, curvature[k, c, c])
            for c in range(q):
                for e in range(q):
                    free = fixed[c] == 0.0 and fixed[e] == 0.0
                    a[c, e] = proximal_weight[k] * curvature[k, c, e] if free else 0.0
                # A small ridge: the expected curvature may vanish in a direction, and is inverted.
                a[c, c] += 1e-8 * largest if fixed[c] == 0.0 else 1.0
            _invert_positive_definite(a, q, inverse)
            for i in range(n):
                for c in range(q):
                    projected[i, c] = at[i, c] if fixed[c] == 0.0 else 0.0
            for i in range(n):
                for j in range(i + 1):
                    product = 0.0
                    for c in range(q):
                        for e in range(q):
                            product += projected[i, c] * inverse[c, e] * projected[j, e]
                    products[i, j] = products[j, i] = product
            _solve_dual_qp(products, errors, n, lambda_, active, system, right)
            predicted_increases[k] = 0.0
            for i in range(n):
                predicted_increases[k] += lambda_[i] * errors[i]
                for j in range(n):
                    predicted_increases[k] += 0.5 * lambda_[i] * products[i, j] * lambda_[j]
            out = False
            for c in range(q):
                steps[r, c] = 0.0
                for e in range(q):
                    for i in range(n):
                        steps[r, c] += inverse[c, e] * lambda_[i] * projected[i, e]
            for c in range(q):
                low = u[k, c] <= bounds[c, 0] and steps[r, c] < 0.0
                if fixed[c] != 0.0:
                    continue
                if low or (u[k, c] >= bounds[c, 1] and steps[r, c] > 0.0):
                    fixed[c] = 1.0
                    out = True
            if not out:
                break
        # The model of the profile is not trusted further than one unconstrained unit away.
        longest = 1.0
        for c in range(q):
            if not abs(steps[r, c]) <= longest:
                longest = abs(steps[r, c])
        for c in range(q):
            steps[r, c] = steps[r, c] / longest if fixed[c] == 0.0 else 0.0


def bundle_workspace(m: int, q: int) -> tuple[Any, ...]:
    """Scratch arrays of `bundle_step`, of m cuts and q parameters."""
    return (
        np.empty((m, q)),
        np.empty((m, q)),
        np.empty(q),
        np.empty((q, q)),
        np.empty((q, q)),
        np.empty((m, m)),
        np.empty(m),
        np.empty(m),
        np.empty(m, dtype=np.int64),
        np.empty((m + 2, m + 2)),
        np.empty(m + 2),
    )


@fast
def update_bundle(rows, trial_points, found, state, bundle, moved, best_point_indices, options):
    """Move to the best of the points evaluated, and add all of them to the bundle.

    rows : (n,), indices into `state` and `bundle`
    trial_points : points (n, m, n_shape), and the index of the full step
    found : values (n * m,), gradients (n * m, n_shape)
    state : u, value, proximal weight, predicted increase, null steps in a row; changed
    bundle : points, values, gradients, the current point first and then the newest; changed
    moved, best_point_indices : (n,), filled: whether a row moved, and to which of the points
    options : factors of the proximal weight after a null step and after a step that gained more
        than predicted; what counts as more, and as enough, of the predicted increase; rounding
    """
    points, full_step = trial_points
    values, gradients = found
    u, value, proximal_weight, predicted, n_null_steps = state
    increase, decrease, underestimate_ratio, sufficient, rounding = options
    m, q = points.shape[1], u.shape[1]
    for i in range(len(rows)):
        k, best_j, best_gain = rows[i], 0, -math.inf
        gain_of_full_step = -math.inf
        # The oldest cuts, furthest away, fall off the end; the current point's must stay first.
        for j in range(bundle[1].shape[1] - 1, m, -1):
            _copy_cut(bundle, k, j, j - m, q)
        for j in range(m):
            new_value = values[i * m + j]
            for a in range(q):
                bundle[0][k, 1 + j, a] = points[i, j, a]
                bundle[2][k, 1 + j, a] = gradients[i * m + j, a]
                if not math.isfinite(gradients[i * m + j, a]):
                    new_value = math.nan  # a cut needs a gradient: the point cannot be used
            bundle[1][k, 1 + j] = new_value
            gain = new_value - value[k] if new_value == new_value else -math.inf
            if gain > best_gain:
                best_j, best_gain = j, gain
            if j == full_step:
                gain_of_full_step = gain
        best_point_indices[i], moved[i] = best_j, best_gain > rounding * abs(value[k])
        if not moved[i]:
            proximal_weight[k] *= increase
            n_null_steps[k] += 1
            continue
        n_null_steps[k] = 0
        if gain_of_full_step > underestimate_ratio * predicted[k]:
            proximal_weight[k] *= decrease
        elif best_gain > sufficient * predicted[k] and proximal_weight[k] > 1.0:
            proximal_weight[k] = max(1.0, decrease * proximal_weight[k])
        for a in range(q):
            u[k, a] = bundle[0][k, 1 + best_j, a]
        value[k] = bundle[1][k, 1 + best_j]
        _swap_cuts(bundle, k, 1 + best_j, q)


@fast_inner
def _copy_cut(bundle, k, target, source, q):
    points, values, gradients = bundle
    values[k, target] = values[k, source]
    for a in range(q):
        points[k, target, a] = points[k, source, a]
        gradients[k, target, a] = gradients[k, source, a]


@fast_inner
def _swap_cuts(bundle, k, target, q):
    points, values, gradients = bundle
    values[k, 0], values[k, target] = values[k, target], values[k, 0]
    for a in range(q):
        points[k, 0, a], points[k, target, a] = points[k, target, a], points[k, 0, a]
        gradients[k, 0, a], gradients[k, target, a] = gradients[k, target, a], gradients[k, 0, a]
