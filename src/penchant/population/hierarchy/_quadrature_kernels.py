"""Compiled sums over nodes of hierarchical fits: the moments that Louis's (1982) identities need.

Bare arrays, no policy; relies on the vectorised exponential of `softmax._moment_codegen`.
"""

import math

import numpy as np

from penchant._numba_cache import njit
from penchant.softmax._likelihood_kernels import compiled
from penchant.softmax._moment_codegen import LANES, exp_in_place

MIN_TOTAL = 1e-300  # avoids 0 / 0 for subjects none of whose nodes has mass
MIN_NODE_PROBABILITY = 1e-16  # less is lost in rounding of the sum: such nodes are skipped


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot_product(one, other, size):
    """Dot product of the first `size` entries, summed in whatever order is fastest."""
    total = 0.0
    for j in range(size):
        total += one[j] * other[j]
    return total


@compiled
def evidence_and_node_moments(
    log_mass, nodes, centre, precisions, constants, group, node_functions, coordinate_pairs, out
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
    f = node_functions.shape[2]
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
                u[r + n_pairs + q, n_kept] = node_functions[i, j, q]
            n_kept += 1
        for a in range(size):
            means[i, a] = dot_product(p, u[a], n_kept)
        for a in range(size):
            for j in range(n_kept):
                u[a, j] -= means[i, a]
        for a in range(size):
            for j in range(n_kept):
                weighted[j] = p[j] * u[a, j]
            for b in range(a + 1):
                covariances[i, a, b] = dot_product(weighted, u[b], n_kept)
                covariances[i, b, a] = covariances[i, a, b]
