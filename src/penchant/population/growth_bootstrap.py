"""How sure a growth order is: a wild bootstrap of what each decision added.

Cumulative regret is a sum, so that its errors are sums too: the residuals of the curve go together,
what each decision adds beyond the curve hardly does. Those additions are kept where they are, large
early and small late, and the signs of short blocks of them are turned at random.
"""

from __future__ import annotations

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.population.growth_curves import (
    NOT_GROWING,
    ORDERS,
    Curves,
    best_orders,
    fit_curves,
    floored,
    values,
)


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
