"""Quasi-random places of a Student t: what integrals over many weights are sums over."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special

from penchant._typing import Matrix

TAIL = 7.0  # degrees of freedom


@cache
def sobol(n: int, count: int) -> Matrix:
    """Places (count, n) in the unit cube; always the same ones."""
    from scipy.stats import qmc  # costly, and rarely needed

    return np.asarray(qmc.Sobol(n, rng=np.random.default_rng(20260101)).random(count))


def quasi_random(n: int, count: int) -> Matrix:
    """Places of a standard Student t in n dimensions, each with its opposite: (count, n)."""
    u = np.clip(sobol(n + 1, (count + 1) // 2), 1e-6, 1 - 1e-6)
    z = special.ndtri(u[:, :n])
    divisor = np.sqrt(special.chdtri(TAIL, u[:, n]) / TAIL)
    own = z / divisor[:, None]
    return np.concatenate([own, -own])[:count]


@cache
def turns(n: int, d: int) -> Matrix:
    """Orthogonal matrices (n, d, d), each turned its own way; always the same ones."""
    rng = np.random.default_rng([20260101, d])
    found, triangle = np.linalg.qr(rng.standard_normal((n, d, d)))
    return np.asarray(found * np.sign(np.einsum("naa->na", triangle))[:, None])


def whitened(away: Matrix, factor: Matrix) -> tuple[Matrix, Matrix]:
    """Squared lengths in the units of factors (n, K, d, d), and their log-determinants."""
    inverse = np.linalg.inv(factor)
    z = np.einsum("nkab,nklb->nkla", inverse, away)
    level = np.log(np.einsum("nkaa->nka", factor)).sum(axis=-1)
    return (z**2).sum(axis=-1), level[:, :, None]


def log_t(away: Matrix, factor: Matrix) -> Matrix:
    """Log-density of the Student t that `quasi_random` draws from."""
    n = away.shape[-1]
    squared, level = whitened(away, factor)
    constant = special.gammaln((TAIL + n) / 2) - special.gammaln(TAIL / 2)
    constant -= 0.5 * n * np.log(TAIL * np.pi)
    return np.asarray(constant - level - 0.5 * (TAIL + n) * np.log1p(squared / TAIL))
