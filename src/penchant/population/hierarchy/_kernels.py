"""Compiled sums over nodes and decisions. Bare arrays, no policy."""

import math

import numpy as np

from penchant._compiled import njit
from penchant.softmax._kernels import compiled
from penchant.softmax._simd import LANES, exp_in_place, padded_length

LARGE = 1e280
SMALLEST = 1e-300
NEGLIGIBLE = 1e-16  # probability of a node that adds nothing to moments


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def product(one, other, size):
    """Sum of products, in whatever order is fastest."""
    total = 0.0
    for j in range(size):
        total += one[j] * other[j]
    return total


@compiled
def log_likelihoods(table, pairs, theta, values):
    """Log-likelihood of every pair of data and psi at several weights.

    table : x (rows, d), first row and chosen position of each decision, offset (rows,) or empty,
        how often each decision counts, or empty
    pairs : decisions that are scored, and where those of each pair begin
    theta : (n, n_weights, d)
    values : (n, n_weights), filled
    """
    x, first_row, chosen, offset, counts = table
    order, bounds = pairs
    d = x.shape[1]
    most = 0
    for k in range(len(theta)):
        rows = 0
        for j in range(bounds[k], bounds[k + 1]):
            rows += first_row[order[j] + 1] - first_row[order[j]]
        most = max(most, rows)
    away, known = np.empty((d, most)), np.zeros(most)
    u = np.zeros(padded_length(most))
    for k in range(len(theta)):
        at = 0
        for j in range(bounds[k], bounds[k + 1]):
            r = order[j]
            c = first_row[r] + chosen[r]
            for i in range(first_row[r], first_row[r + 1]):
                for a in range(d):
                    away[a, at] = x[i, a] - x[c, a]
                if len(offset):
                    known[at] = offset[i] - offset[c]
                at += 1
        for t in range(theta.shape[1]):
            for i in range(at):
                u[i] = known[i]
            for a in range(d):
                weight = theta[k, t, a]
                for i in range(at):
                    u[i] += weight * away[a, i]
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
            exp_in_place(u[: padded_length(at)])
            product, first = 1.0, 0
            for j in range(bounds[k], bounds[k + 1]):
                m = first_row[order[j] + 1] - first_row[order[j]]
                total = 0.0
                for i in range(first, first + m):
                    total += u[i]
                first += m
                if len(counts):
                    log_likelihood -= counts[order[j]] * math.log(total)
                    continue
                product *= total
                if product > LARGE:
                    log_likelihood -= math.log(product)
                    product = 1.0
            values[k, t] = log_likelihood - math.log(product)


@compiled
def weight_moments(table, pairs, theta, values, gradient, information):
    """The same with gradient (n, n_weights, d) and information (n, n_weights, d, d) in theta."""
    x, first_row, chosen, offset, counts = table
    order, bounds = pairs
    d = x.shape[1]
    most = 0
    for r in range(len(chosen)):
        most = max(most, first_row[r + 1] - first_row[r])
    away, known = np.empty((d, most)), np.zeros(most)
    about, weighted = np.empty((d, most)), np.empty(most)
    u = np.zeros(padded_length(most))
    values[:] = 0.0
    gradient[:] = 0.0
    information[:] = 0.0
    for k in range(len(theta)):
        for j in range(bounds[k], bounds[k + 1]):
            r = order[j]
            start, c = first_row[r], first_row[r] + chosen[r]
            m = first_row[r + 1] - start
            count = counts[r] if len(counts) else 1.0
            for a in range(d):
                for i in range(m):
                    away[a, i] = x[start + i, a] - x[c, a]
            if len(offset):
                for i in range(m):
                    known[i] = offset[start + i] - offset[c]
            for t in range(theta.shape[1]):
                for i in range(m):
                    u[i] = known[i]
                for a in range(d):
                    weight = theta[k, t, a]
                    for i in range(m):
                        u[i] += weight * away[a, i]
                highest = 0.0
                for i in range(m):
                    highest = max(highest, u[i])
                for i in range(m):
                    u[i] -= highest
                exp_in_place(u[: padded_length(m)])
                total = 0.0
                for i in range(m):
                    total += u[i]
                values[k, t] -= count * (highest + math.log(total))
                for i in range(m):
                    u[i] /= total
                for a in range(d):
                    mean = product(u, away[a], m)
                    gradient[k, t, a] -= count * mean
                    for i in range(m):
                        about[a, i] = away[a, i] - mean
                for a in range(d):
                    for i in range(m):
                        weighted[i] = u[i] * about[a, i]
                    for b in range(a + 1):
                        information[k, t, a, b] += count * product(weighted, about[b], m)
        for t in range(theta.shape[1]):
            for a in range(d):
                for b in range(a):
                    information[k, t, b, a] = information[k, t, a, b]


@compiled
def node_moments(mass, nodes, centre, precisions, constants, group, extra, pairs, wanted, found):
    """Evidence of each subject under a normal population; moments of its nodes afterwards.

    mass : (n, J), log-weight plus log-likelihood of each node
    nodes : (n, J, r); centre : (n, r), the population's mean for each subject
    precisions, constants : (n_groups, r, r) and (n_groups,), of the normal density
    group : (n,); extra : (n, J, f), more functions of the nodes
    pairs : (m, 2), coordinates whose products are wanted; those of which precisions are not 0
    wanted : 0: evidence; 1: means of u = (e, e_a e_b of the pairs, extra), with e = node - centre,
        too; 2: its covariances too; 3: the same of (e, extra) alone
    found : evidence (n,), probability of each node (n, J), means (n, K), covariances (n, K, K)
    """
    evidence, share, means, covariances = found
    n, n_nodes, r = nodes.shape
    f = extra.shape[2]
    n_pairs = len(pairs) if wanted < 3 else 0
    size = r + n_pairs + f
    e, p = np.empty((r, n_nodes)), np.empty(n_nodes)
    u, weighted = np.empty((size, n_nodes)), np.empty(n_nodes)
    for i in range(n):
        g = group[i]
        level = share[i]
        for a in range(r):
            for j in range(n_nodes):
                e[a, j] = nodes[i, j, a] - centre[i, a]
        for j in range(n_nodes):
            level[j] = mass[i, j] + constants[g]
        for c in range(len(pairs)):
            one, other = e[pairs[c, 0]], e[pairs[c, 1]]
            pull = precisions[g, pairs[c, 0], pairs[c, 1]]
            if pairs[c, 0] == pairs[c, 1]:
                pull *= 0.5
            for j in range(n_nodes):
                level[j] -= pull * one[j] * other[j]
        highest = -np.inf
        for j in range(n_nodes):
            highest = max(highest, level[j])
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
            share[i, j] /= max(total, SMALLEST)
        if wanted == 0:
            continue
        kept = 0
        for j in range(n_nodes):
            if share[i, j] < NEGLIGIBLE:
                continue
            p[kept] = share[i, j]
            for a in range(r):
                u[a, kept] = e[a, j]
            for c in range(n_pairs):
                u[r + c, kept] = e[pairs[c, 0], j] * e[pairs[c, 1], j]
            for q in range(f):
                u[r + n_pairs + q, kept] = extra[i, j, q]
            kept += 1
        for a in range(size):
            means[i, a] = product(p, u[a], kept)
        if wanted == 1:
            continue
        for a in range(size):
            for j in range(kept):
                u[a, j] -= means[i, a]
        for a in range(size):
            for j in range(kept):
                weighted[j] = p[j] * u[a, j]
            for b in range(a + 1):
                covariances[i, a, b] = product(weighted, u[b], kept)
                covariances[i, b, a] = covariances[i, a, b]
