"""Compiled sums over nodes and decisions of hierarchical fits.

Log-likelihoods of the multinomial logit and their derivatives in the weights at many nodes, and the
posterior moments of nodes that Louis's (1982) identities need. Bare arrays, no policy; relies on
the vectorised exponential of `softmax._moment_codegen`.
"""

import math

import numpy as np

from penchant._compiled import njit
from penchant.softmax._kernels import compiled
from penchant.softmax._moment_codegen import LANES, exp_in_place, padded_length

# Denominators are multiplied and one logarithm is taken of the product, as logarithms cost most
# here. Each factor is at most the number of options: one more cannot overflow from this value.
MAX_PRODUCT = 1e280
MIN_TOTAL = 1e-300  # avoids 0 / 0 for subjects none of whose nodes has mass
MIN_NODE_PROBABILITY = 1e-16  # less is lost in rounding of the sum: such nodes are skipped


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(one, other, size):
    """Dot product of the first `size` entries, summed in whatever order is fastest."""
    total = 0.0
    for j in range(size):
        total += one[j] * other[j]
    return total


@compiled
def log_likelihoods(table, pairs, theta, values, gradient, information):
    """Log-likelihood of every pair of data and psi at several weights, and its derivatives there.

    table : x (rows, d), first row and chosen position of each decision, offset (rows,) or empty,
        how often each decision counts, or empty
    pairs : decisions that are scored, and where those of each pair begin
    theta : (n, n_weights, d)
    values : (n, n_weights), filled
    gradient, information : (n, n_weights, d) and (n, n_weights, d, d), filled unless empty; the
        information is the observed one, as the logit's does not depend on the choice
    """
    x, first_row, chosen, offset, counts = table
    order, bounds = pairs
    d = x.shape[1]
    max_rows = 0
    for k in range(len(theta)):
        rows = 0
        for j in range(bounds[k], bounds[k + 1]):
            rows += first_row[order[j] + 1] - first_row[order[j]]
        max_rows = max(max_rows, rows)
    difference, offsets = np.empty((d, max_rows)), np.zeros(max_rows)
    u = np.zeros(padded_length(max_rows))
    with_moments = len(gradient) > 0
    centred, weighted = np.empty((d, max_rows if with_moments else 0)), np.empty(max_rows)
    gradient[:] = 0.0
    information[:] = 0.0
    for k in range(len(theta)):
        at = 0
        for j in range(bounds[k], bounds[k + 1]):
            r = order[j]
            c = first_row[r] + chosen[r]
            for i in range(first_row[r], first_row[r + 1]):
                for a in range(d):
                    difference[a, at] = x[i, a] - x[c, a]
                if len(offset):
                    offsets[at] = offset[i] - offset[c]
                at += 1
        for t in range(theta.shape[1]):
            # Utilities relative to the chosen option's: its term is exp(0) = 1, so that no
            # numerator has to be computed.
            for i in range(at):
                u[i] = offsets[i]
            for a in range(d):
                weight = theta[k, t, a]
                for i in range(at):
                    u[i] += weight * difference[a, i]
            log_likelihood, first = 0.0, 0
            for j in range(bounds[k], bounds[k + 1]):
                m = first_row[order[j] + 1] - first_row[order[j]]
                highest = 0.0
                for i in range(first, first + m):
                    highest = max(highest, u[i])
                for i in range(first, first + m):
                    u[i] -= highest
                log_likelihood -= highest * (counts[order[j]] if len(counts) else 1.0)
                first += m
            # One call for all decisions of the pair: most choice sets have too few options to fill
            # a vector register.
            exp_in_place(u[: padded_length(at)])
            denominator, first = 1.0, 0
            for j in range(bounds[k], bounds[k + 1]):
                m = first_row[order[j] + 1] - first_row[order[j]]
                count = counts[order[j]] if len(counts) else 1.0
                total = 0.0
                for i in range(first, first + m):
                    total += u[i]
                if with_moments:
                    for i in range(first, first + m):
                        u[i] /= total
                    own = u[first : first + m]
                    for a in range(d):
                        mean = dot(own, difference[a, first : first + m], m)
                        gradient[k, t, a] -= count * mean
                        for i in range(m):
                            centred[a, i] = difference[a, first + i] - mean
                            weighted[i] = own[i] * centred[a, i]
                        for b in range(a + 1):
                            information[k, t, a, b] += count * dot(weighted, centred[b], m)
                first += m
                if len(counts):  # weighted terms cannot share a logarithm
                    log_likelihood -= count * math.log(total)
                    continue
                denominator *= total
                if denominator > MAX_PRODUCT:
                    log_likelihood -= math.log(denominator)
                    denominator = 1.0
            values[k, t] = log_likelihood - math.log(denominator)
            if with_moments:
                for a in range(d):
                    for b in range(a):
                        information[k, t, b, a] = information[k, t, a, b]


@compiled
def node_moments(
    log_mass, nodes, centre, precisions, constants, group, extra, coordinate_pairs, out
):
    """Evidence of each subject under a normal population; moments of its nodes afterwards.

    log_mass : (n, J), log-weight plus log-likelihood of each node
    nodes : (n, J, r); centre : (n, r), the population's mean for each subject
    precisions, constants : (n_groups, r, r) and (n_groups,), of the normal density
    group : (n,); extra : (n, J, f), more functions of the nodes
    coordinate_pairs : (m, 2), coordinates whose products are wanted: where precisions are not 0
    out : evidence (n,), probability of each node (n, J); means (n, K) and covariances (n, K, K) of
        u = (e, e_a e_b of the pairs, extra), e = node - centre, or empty ones: K = 0
    """
    evidence, probabilities, means, covariances = out
    n, n_nodes, r = nodes.shape
    f = extra.shape[2]
    n_pairs, size = len(coordinate_pairs), means.shape[1]
    e, p = np.empty((r, n_nodes)), np.empty(n_nodes)
    u, weighted = np.empty((size, n_nodes)), np.empty(n_nodes)
    for i in range(n):
        g = group[i]
        level = probabilities[i]
        for a in range(r):
            for j in range(n_nodes):
                e[a, j] = nodes[i, j, a] - centre[i, a]
        for j in range(n_nodes):
            level[j] = log_mass[i, j] + constants[g]
        for c in range(len(coordinate_pairs)):
            one, other = e[coordinate_pairs[c, 0]], e[coordinate_pairs[c, 1]]
            pull = precisions[g, coordinate_pairs[c, 0], coordinate_pairs[c, 1]]
            if coordinate_pairs[c, 0] == coordinate_pairs[c, 1]:
                pull *= 0.5  # off the diagonal a pair stands for two equal terms
            for j in range(n_nodes):
                level[j] -= pull * one[j] * other[j]
        highest = -np.inf
        for j in range(n_nodes):
            highest = max(highest, level[j])
        # The vectorised exponential takes whole vectors only; the rest is done one by one. It is
        # skipped where no node has mass, as -inf less -inf is NaN.
        first = 0
        if highest > -np.inf:
            first = n_nodes - n_nodes % LANES
            for j in range(n_nodes):
                level[j] -= highest
            exp_in_place(level[:first])
        else:
            highest = 0.0
        for j in range(first, n_nodes):
            level[j] = math.exp(level[j])
        total = 0.0
        for j in range(n_nodes):
            total += level[j]
        evidence[i] = highest + math.log(total) if total > 0 else -np.inf
        for j in range(n_nodes):
            probabilities[i, j] /= max(total, MIN_TOTAL)
        if size == 0:
            continue
        # Most nodes of a product rule have no probability: skipping them saves most of the time.
        n_kept = 0
        for j in range(n_nodes):
            if probabilities[i, j] < MIN_NODE_PROBABILITY:
                continue
            p[n_kept] = probabilities[i, j]
            for a in range(r):
                u[a, n_kept] = e[a, j]
            for c in range(n_pairs):
                u[r + c, n_kept] = e[coordinate_pairs[c, 0], j] * e[coordinate_pairs[c, 1], j]
            for q in range(f):
                u[r + n_pairs + q, n_kept] = extra[i, j, q]
            n_kept += 1
        for a in range(size):
            means[i, a] = dot(p, u[a], n_kept)
        for a in range(size):
            for j in range(n_kept):
                u[a, j] -= means[i, a]
        for a in range(size):
            for j in range(n_kept):
                weighted[j] = p[j] * u[a, j]
            for b in range(a + 1):
                covariances[i, a, b] = dot(weighted, u[b], n_kept)
                covariances[i, b, a] = covariances[i, a, b]
