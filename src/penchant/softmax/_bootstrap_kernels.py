"""Compiled fits of bootstrap draws: choices drawn anew in the same choice sets.

With s the sum of the variables of the options taken, the log-likelihood is theta's - A(theta), and
A is the same for all draws, which differ in s alone. Plain arrays, no policy.
"""

import math

import numpy as np

from penchant.softmax._likelihood_kernels import compiled, compiled_no_alloc, newton_step

# Newton steps and halvings of one draw. A separated draw has no maximum and would go on for ever;
# by then its value is at the supremum, which is all that the statistic needs.
MAX_DRAW_STEPS = 60
# Squared standard errors. W could still rise by about as much; that is added to second order, so
# that the error left is below the tolerance for ties of W.
SQUARED_DECREMENT_TOL = 1e-5


@compiled_no_alloc
def sum_log_sum_exp(x, offset, theta, work, gradient, information):
    """Compute A(theta), the sum of log sum exp Q over decisions, and its derivatives.

    x : (n_decisions, n_options, d), offset : (n_decisions, n_options), -inf where not on offer
    work : (n_options + d,)
    """
    n, m, d = x.shape
    total = 0.0
    for a in range(d):
        gradient[a] = 0.0
        for c in range(d):
            information[a, c] = 0.0
    mean = work[m:]
    for t in range(n):
        top, at = -np.inf, 0  # subtracted below: no exponential overflows
        for i in range(m):
            q = offset[t, i]
            for a in range(d):
                q += theta[a] * x[t, i, a]
            work[i] = q
            if q > top:
                top, at = q, i
        z = 1.0
        for i in range(m):
            if i == at:
                work[i] = 1.0
            else:
                work[i] = math.exp(work[i] - top)
                z += work[i]
        total += top + math.log(z)
        for a in range(d):
            mean[a] = 0.0
        for i in range(m):
            p = work[i] / z
            work[i] = p
            for a in range(d):
                mean[a] += p * x[t, i, a]
        for a in range(d):
            gradient[a] += mean[a]
        for i in range(m):
            for a in range(d):
                away = work[i] * (x[t, i, a] - mean[a])
                for c in range(a + 1):
                    information[a, c] += away * (x[t, i, c] - mean[c])
    for a in range(d):
        for c in range(a):
            information[c, a] = information[a, c]
    return total


@compiled_no_alloc
def maximise_draw_log_likelihood(
    x,
    offset,
    chosen_offset_sum,
    chosen_variable_sums,
    positive,
    theta,
    trial_step_gradient_information,
    workspace,
):
    """Maximise known + theta's - A(theta) from theta, which is overwritten; return the value.

    positive : (d,), weights that must not be negative
    """
    d = len(chosen_variable_sums)
    trial, step, gradient, information = trial_step_gradient_information
    work, cholesky_work = workspace
    best, fraction = -np.inf, 1.0
    for a in range(d):
        trial[a] = theta[a]
    for _ in range(MAX_DRAW_STEPS):
        value = chosen_offset_sum - sum_log_sum_exp(x, offset, trial, work, gradient, information)
        for a in range(d):
            value += trial[a] * chosen_variable_sums[a]
        if not value >= best - 1e-12 * (1.0 + abs(best)):
            fraction *= 0.5
            # a separated draw: the value is at its supremum, and steps only lengthen theta
            if fraction < 1e-6:
                return best
            for a in range(d):
                trial[a] = theta[a] + fraction * step[a]
                if positive[a] and trial[a] < 0.0:
                    trial[a] = 0.0
            continue
        best, fraction = value, 1.0
        for a in range(d):
            theta[a] = trial[a]
            gradient[a] = chosen_variable_sums[a] - gradient[a]
        for a in range(d):
            at_bound = positive[a] and theta[a] <= 0.0 and gradient[a] <= 0.0
            # else the step would leave the bounds or divide by 0
            if at_bound or information[a, a] <= 0.0:
                for c in range(d):
                    information[a, c] = information[c, a] = 0.0
                information[a, a], gradient[a] = 1.0, 0.0
        squared_decrement = newton_step(information, gradient, step, cholesky_work)
        if not squared_decrement >= 0.0:
            return best
        if squared_decrement < SQUARED_DECREMENT_TOL:
            return best + 0.5 * squared_decrement
        for a in range(d):
            trial[a] = theta[a] + step[a]
            if positive[a] and trial[a] < 0.0:
                trial[a] = 0.0
    return best


@compiled
def solve_weights_of_draws(
    x, offset, chosen, draw, point, positive, log_sum_exp_cache, values, thetas
):
    """Solve the weights of pairs of a draw and a point of psi.

    x : (n_points, n_decisions, n_options, d), offset : (n_points, n_decisions, n_options)
    chosen : (n_draws, n_decisions)
    draw, point : (n,), which pairs
    log_sum_exp_cache : (n_points,), A where there are no weights, NaN where it is not known yet
    values, thetas : (n,), (n, d), filled; weights start from what thetas hold
    """
    _, n_decisions, m, d = x.shape
    state = np.empty(d), np.empty(d), np.empty(d), np.empty((d, d))
    workspace = np.empty(m + d), np.empty((2 * d + 2, d))
    s = np.empty(d)
    for k in range(len(draw)):
        g, options = point[k], chosen[draw[k]]
        known = 0.0
        for a in range(d):
            s[a] = 0.0
        for t in range(n_decisions):
            known += offset[g, t, options[t]]
            for a in range(d):
                s[a] += x[g, t, options[t], a]
        if d == 0:  # A is the same for all draws: computed once per point
            if math.isnan(log_sum_exp_cache[g]):
                log_sum_exp_cache[g] = sum_log_sum_exp(
                    x[g], offset[g], thetas[k], workspace[0], state[2], state[3]
                )
            values[k] = known - log_sum_exp_cache[g]
            continue
        values[k] = maximise_draw_log_likelihood(
            x[g], offset[g], known, s, positive, thetas[k], state, workspace
        )


@compiled
def find_best_candidate_starts(
    x, offset, chosen, points, candidates, candidate_log_sum_exps, cells, thetas
):
    """Find the best candidate weights and point for each draw, as its start.

    points : (n_cells,), which of the points of x
    candidates : (n_cells, n_candidates, d), weights; sums : A at each
    cells, thetas : (n_draws,), (n_draws, d), filled
    """
    n_decisions, d = x.shape[1], x.shape[3]
    s = np.empty(d)
    for k in range(len(chosen)):
        options, best = chosen[k], -np.inf
        for c in range(len(points)):
            g, known = points[c], 0.0
            for a in range(d):
                s[a] = 0.0
            for t in range(n_decisions):
                known += offset[g, t, options[t]]
                for a in range(d):
                    s[a] += x[g, t, options[t], a]
            for j in range(candidates.shape[1]):
                value = known - candidate_log_sum_exps[c, j]
                for a in range(d):
                    value += candidates[c, j, a] * s[a]
                if value > best:
                    best, cells[k] = value, c
                    for a in range(d):
                        thetas[k, a] = candidates[c, j, a]
