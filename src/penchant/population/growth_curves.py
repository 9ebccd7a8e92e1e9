"""Three curves of cumulative regret, fitted by least squares to many subjects at once.

A row of `regrets` is the cumulative regret R_1 ... R_T of one subject. The curves are

    linear  a + b t,    power  a t^b,    logarithmic  a + b log t.

The first and the last are straight lines in t and log t. For the power law a is solved exactly for
every b, and b is searched: with u = (t/T)^b the explained sum of squares is (R.u)^2 / u.u. Two
powers b and c overlap as 1 / cosh^2((s - r) / 2) in s = log(2b + 1), r = log(2c + 1) as T grows, so
that an even grid in s sees every peak; Newton's method then polishes the highest one.

How sure a growth order is comes from a wild bootstrap of what each decision added. Cumulative
regret is a sum, so that its errors are sums too: the residuals of the curve go together, what each
decision adds beyond the curve hardly does. Those additions are kept where they are, large early and
small late, and the signs of short blocks of them are turned at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penchant._typing import IntVector, Matrix, Vector

ORDERS = ("linear", "power", "logarithmic")
NOT_GROWING = len(ORDERS)  # the index that stands for no growth at all
LARGEST_EXPONENT = 20.0
GRID_STEP = 0.05
POLISHING_STEPS = 30
ROUNDING = 1e-10  # residuals this small beside the regret are rounding


class Curves(NamedTuple):
    """The three curves of every subject: arrays (n_subjects, 3) in the order of ORDERS."""

    a: Matrix
    b: Matrix
    residual: Matrix


def fit_curves(regrets: Matrix) -> Curves:
    """Least squares of the three curves, for every row."""
    t = np.arange(1.0, regrets.shape[1] + 1.0)
    fits = (_straight(regrets, t), _power(regrets, t), _straight(regrets, np.log(t)))
    a = np.stack([fit[0] for fit in fits], axis=1)
    b = np.stack([fit[1] for fit in fits], axis=1)
    left = [regrets - values(k, a[:, k, None], b[:, k, None], t) for k in range(len(ORDERS))]
    residual = np.stack([np.einsum("st,st->s", r, r) for r in left], axis=1)
    return Curves(a, b, residual)


def values(order: int, a: Matrix | float, b: Matrix | float, t: Vector) -> Matrix:
    """A curve at the times t."""
    if order == 0:
        return np.asarray(a + b * t)
    return np.asarray(a * t**b if order == 1 else a + b * np.log(t))


def floored(residual: Matrix, regrets: Matrix) -> Matrix:
    """Residual sums of squares, no smaller than rounding makes them."""
    smallest = ROUNDING**2 * np.einsum("st,st->s", regrets, regrets)
    smallest = np.maximum(smallest, np.finfo(np.float64).tiny)
    return np.asarray(np.maximum(residual, smallest[:, None]))


def best_orders(curves: Curves, regrets: Matrix) -> IntVector:
    """Index of the curve with the least residual; NOT_GROWING where that curve does not rise."""
    best = np.argmin(floored(curves.residual, regrets), axis=1)
    rows = np.arange(len(best))
    a, b = curves.a[rows, best], curves.b[rows, best]
    n = float(regrets.shape[1])
    rise = np.where(best == 0, b * (n - 1.0), b * np.log(n))
    power = best == 1
    rise[power] = a[power] * (n ** b[power] - 1.0)
    size = np.abs(regrets).max(axis=1)
    return np.where(rise > ROUNDING * size, best, NOT_GROWING)


def _straight(regrets: Matrix, x: Vector) -> tuple[Vector, Vector]:
    """Intercept and slope of each row on x."""
    centred = x - x.mean()
    slope = regrets @ centred / (centred @ centred)
    return np.asarray(regrets.mean(axis=1) - slope * x.mean()), np.asarray(slope)


def _power(regrets: Matrix, t: Vector) -> tuple[Vector, Vector]:
    """Factor and exponent of each row, the exponent between 0 and LARGEST_EXPONENT."""
    logs = np.log(t / t[-1])
    steps = np.arange(0.0, np.log(2 * LARGEST_EXPONENT + 1), GRID_STEP)
    grid = np.append((np.exp(steps) - 1) / 2, LARGEST_EXPONENT)
    powers = np.exp(np.outer(logs, grid))
    explained = (regrets @ powers) ** 2 / np.einsum("tb,tb->b", powers, powers)
    best = np.argmax(explained, axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    exponent = _polished(regrets, logs, grid[best], low, high)
    u = np.exp(exponent[:, None] * logs)
    factor = np.einsum("st,st->s", regrets, u) / np.einsum("st,st->s", u, u)
    return factor / t[-1] ** exponent, exponent


def _polished(regrets: Matrix, logs: Vector, b: Vector, low: Vector, high: Vector) -> Vector:
    """Maximise 2 log|R.u| - log u.u over b in [low, high]: Newton, or half way where it fails."""
    for _ in range(POLISHING_STEPS):
        slope, curvature = _derivatives(regrets, logs, b)
        low, high = np.where(slope > 0, b, low), np.where(slope < 0, b, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = b - slope / curvature
        safe = (curvature < 0) & (newton >= low) & (newton <= high)
        b_next = np.where(slope == 0, b, np.where(safe, newton, (low + high) / 2))
        settled = np.abs(b_next - b) <= 1e-13 * (1 + b)
        b = b_next
        if settled.all():
            break
    return b


def _derivatives(regrets: Matrix, logs: Vector, b: Vector) -> tuple[Vector, Vector]:
    """First and second derivative in b; 0 where a power explains nothing."""
    u = np.exp(b[:, None] * logs)
    mixed, own = regrets * u, u * u
    first, second = logs, logs**2
    known = mixed.sum(axis=1) != 0
    total = np.where(known, mixed.sum(axis=1), 1.0)
    mean, square = mixed @ first / total, mixed @ second / total
    mass = own.sum(axis=1)
    own_mean, own_square = own @ first / mass, own @ second / mass
    slope = 2 * (mean - own_mean)
    curvature = 2 * (square - mean**2) - 4 * (own_square - own_mean**2)
    return np.where(known, slope, 0.0), np.where(known, curvature, 0.0)


def share_of_orders(
    regret: Vector, curves: Curves, i: int, n_replicates: int, rng: np.random.Generator
) -> dict[str, float] | None:
    """Share of replicates in which each order is best; "none" counts those that do not grow."""
    if not n_replicates:
        return None
    best = int(np.argmin(floored(curves.residual[i : i + 1], regret[None])))
    t = np.arange(1.0, len(regret) + 1.0)
    fitted = values(best, float(curves.a[i, best]), float(curves.b[i, best]), t)
    again = replicates(regret, fitted, n_replicates, rng)
    found = best_orders(fit_curves(again), again)
    counts = np.bincount(found, minlength=NOT_GROWING + 1) / n_replicates
    return dict(zip((*ORDERS, "none"), counts.tolist(), strict=True))


def replicates(regret: Vector, fitted: Vector, n: int, rng: np.random.Generator) -> Matrix:
    """The fitted curve plus resampled errors: (n, n_decisions)."""
    n_decisions = len(regret)
    block = int(np.ceil(n_decisions ** (1 / 3)))
    added = np.diff(regret - fitted, prepend=0.0)
    first = rng.integers(block, size=(n, 1))
    blocks = (np.arange(n_decisions) + first) // block
    signs = rng.choice([-1.0, 1.0], size=(n, n_decisions // block + 2))
    return np.asarray(fitted + np.cumsum(added * np.take_along_axis(signs, blocks, axis=1), axis=1))
