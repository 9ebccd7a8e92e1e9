"""Literal, loop-by-loop transcriptions of Eqs. (1) to (9), slow and plain.

Nothing here is shared with the library. `sets` is a list of matrices (n_options, n_parameters),
one per decision; `chosen` a list of positions; `weights` a list of numbers; `offset` a list of
vectors. The numbers of one decision are added option after option, those of all decisions by
`math.fsum`, which does not round.
"""

import itertools
import math

import numpy as np
from scipy import optimize


def objective(theta, x, offset=None):
    """Q_i = theta'x_i, Eq. (1), plus what is known of the option."""
    q = []
    for i in range(len(x)):
        total = 0.0 if offset is None else float(offset[i])
        for a in range(len(theta)):
            total += theta[a] * x[i][a]
        q.append(total)
    return q


def probabilities(theta, x, offset=None):
    """P(i) = exp Q_i / sum_j exp Q_j, Eqs. (2) and (3), for one decision."""
    q = objective(theta, x, offset)
    top = max(q)
    e = [math.exp(value - top) for value in q]
    total = math.fsum(e)
    return [value / total for value in e]


def log_likelihood(theta, sets, chosen, weights=None, offset=None):
    """Sum over decisions of w [Q_chosen - log sum_j exp Q_j], Eq. (5)."""
    terms = []
    for k in range(len(sets)):
        q = objective(theta, sets[k], None if offset is None else offset[k])
        top = max(q)
        log_sum = top + math.log(math.fsum(math.exp(value - top) for value in q))
        terms.append(_weight(weights, k) * (q[chosen[k]] - log_sum))
    return math.fsum(terms)


def expectation(p, x):
    """Mean of the variables under the probabilities."""
    return [math.fsum(p[i] * x[i][a] for i in range(len(x))) for a in range(len(x[0]))]


def gradient(theta, sets, chosen, weights=None, offset=None):
    """Sum over decisions of w (x_chosen - mean of x)."""
    d = len(theta)
    terms = [[] for _ in range(d)]
    for k in range(len(sets)):
        x = sets[k]
        p = probabilities(theta, x, None if offset is None else offset[k])
        mean = expectation(p, x)
        for a in range(d):
            terms[a].append(_weight(weights, k) * (x[chosen[k]][a] - mean[a]))
    return np.array([math.fsum(t) for t in terms])


def information(theta, sets, weights=None, offset=None):
    """Minus the Hessian: sum over decisions of w Cov_p(x)."""
    d = len(theta)
    terms = []  # of each option of each decision: its share, and how far it is from the mean
    for k in range(len(sets)):
        x = sets[k]
        p = probabilities(theta, x, None if offset is None else offset[k])
        mean = expectation(p, x)
        for i in range(len(x)):
            z = [float(x[i][a] - mean[a]) for a in range(d)]
            terms.append((float(_weight(weights, k) * p[i]), z))
    total = np.zeros((d, d))
    for a, c in itertools.product(range(d), repeat=2):
        total[a, c] = math.fsum(wp * z[a] * z[c] for wp, z in terms)
    return total


def third_derivative(theta, sets, weights=None, offset=None):
    """d^3 l / dtheta^3 = - sum_k w sum_i p_i z_a z_b z_c, z = x_i - mean of x."""
    d = len(theta)
    total = np.zeros((d, d, d))
    for k in range(len(sets)):
        x = sets[k]
        p = probabilities(theta, x, None if offset is None else offset[k])
        mean = expectation(p, x)
        for i in range(len(x)):
            z = [x[i][a] - mean[a] for a in range(d)]
            for a, b, c in itertools.product(range(d), repeat=3):
                total[a, b, c] -= _weight(weights, k) * p[i] * z[a] * z[b] * z[c]
    return total


def firth_term(theta, sets, weights=None, offset=None):
    """(1/2) tr(I^-1 dI/dtheta_a), with dI = - third derivative of l."""
    inverse = np.linalg.inv(information(theta, sets, weights, offset))
    slope = -third_derivative(theta, sets, weights, offset)
    d = len(theta)
    return np.array(
        [
            0.5 * sum(inverse[b, c] * slope[a, b, c] for b in range(d) for c in range(d))
            for a in range(d)
        ]
    )


def within_set_scatter(sets, weights=None):
    """Sum over decisions and options of w (x_i - mean)(x_i - mean)', the mean unweighted."""
    d = len(sets[0][0])
    total = np.zeros((d, d))
    for k in range(len(sets)):
        x = sets[k]
        mean = [sum(x[i][a] for i in range(len(x))) / len(x) for a in range(d)]
        for i in range(len(x)):
            for a, c in itertools.product(range(d), repeat=2):
                total[a, c] += _weight(weights, k) * (x[i][a] - mean[a]) * (x[i][c] - mean[c])
    return total


def scores(theta, sets, chosen, offset=None):
    """Gradient of each decision's log-likelihood, without weights."""
    rows = []
    for k in range(len(sets)):
        p = probabilities(theta, sets[k], None if offset is None else offset[k])
        mean = expectation(p, sets[k])
        rows.append([sets[k][chosen[k]][a] - mean[a] for a in range(len(theta))])
    return np.array(rows)


def hc0(theta, sets, chosen, weights=None, power=1):
    """I^-1 (sum_k w^power s_k s_k') I^-1."""
    bread = np.linalg.inv(information(theta, sets, weights))
    meat = np.zeros_like(bread)
    for k, s in enumerate(scores(theta, sets, chosen)):
        meat += _weight(weights, k) ** power * np.outer(s, s)
    return bread @ meat @ bread


def clustered(theta, sets, chosen, cluster, weights=None):
    """The same with weighted scores summed inside clusters first."""
    bread = np.linalg.inv(information(theta, sets, weights))
    sums = {}
    for k, s in enumerate(scores(theta, sets, chosen)):
        sums[cluster[k]] = sums.get(cluster[k], 0.0) + _weight(weights, k) * s
    meat = sum(np.outer(s, s) for s in sums.values())
    return bread @ meat @ bread


def newton(sets, chosen, weights=None, offset=None, precision=None, mean=None, steps=60):
    """Maximum of the log-likelihood, Eq. (4), or posterior, Eq. (6): full steps from 0, halved."""
    d = len(sets[0][0])
    theta = np.zeros(d)
    pull = np.zeros((d, d)) if precision is None else np.asarray(precision)
    centre = np.zeros(d) if mean is None else np.asarray(mean)

    def value(t):
        gap = t - centre
        return log_likelihood(t, sets, chosen, weights, offset) - 0.5 * gap @ pull @ gap

    for _ in range(steps):
        slope = gradient(theta, sets, chosen, weights, offset) - pull @ (theta - centre)
        step = np.linalg.solve(information(theta, sets, weights, offset) + pull, slope)
        while value(theta + step) < value(theta) - 1e-12 * (1 + abs(value(theta))):
            step = step / 2
        theta = theta + step
        if np.abs(step).max() < 1e-14 * (1 + np.abs(theta).max()):
            break
    return theta


def differences(sets, chosen, weights=None, available=None):
    """Rows x_chosen - x_j of every option j on offer of every decision that counts."""
    rows = []
    for k in range(len(sets)):
        if _weight(weights, k) == 0:
            continue
        for j in range(len(sets[k])):
            if j != chosen[k] and (available is None or available[k][j]):
                rows.append(np.asarray(sets[k][chosen[k]]) - np.asarray(sets[k][j]))
    return np.array(rows)


def separated(sets, chosen, weights=None, available=None):
    """Konis' linear program: max sum Av with Av >= 0 and -1 <= v <= 1 is above 0."""
    rows = differences(sets, chosen, weights, available)
    scale = np.sqrt((rows**2).mean(axis=0))
    rows = rows / np.where(scale > 0, scale, 1.0)
    found = optimize.linprog(
        -rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1), method="highs"
    )
    return bool(-found.fun > 1e-6)


def highest_variance(n_options):
    """v(m), the largest variance of the objective under its own softmax."""

    def variance(a):
        p = 1.0 / (1.0 + (n_options - 1) * math.exp(-a))
        return -p * (1 - p) * a * a

    return -optimize.minimize_scalar(variance, bounds=(0.0, 60.0), method="bounded").fun


def _weight(weights, k):
    return 1.0 if weights is None else float(weights[k])
