"""Performance categories: how the cumulative regret of a subject grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penchant._typing import Matrix, Vector
from penchant.errors import DataError
from penchant.population import growth_curves
from penchant.population.growth_bootstrap import share_of_orders
from penchant.population.growth_curves import NOT_GROWING, ORDERS, Curves
from penchant.population.growth_order import FEWEST, Category, Curve, GrowthOrder, GrowthOrders


def growth_order(
    regret: Any,
    *,
    n_bootstrap: int = 0,
    rng: np.random.Generator | None = None,
    subject: Any = None,
) -> GrowthOrder:
    """How cumulative regret grows: a + b t, a t^b or a + b log t, by least squares.

    Parameters
    ----------
    regret
        Cumulative regret after each decision, such as `cumulative_regret` gives. A last entry that
        is missing is left out.
    n_bootstrap
        Replicates of the bootstrap: the best curve plus what was added beyond it in each decision,
        the signs of short blocks turned at random. 200 tell a share to a few per cent.
    rng
        Required with a bootstrap.
    subject
        Whose regret it is.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> pn.growth_order(40 + 25 * np.log(np.arange(1, 91)))
    <GrowthOrder logarithmic, high: 90 decisions>
    >>> always_the_same = pn.growth_order(12.0 * np.arange(1, 91))
    >>> always_the_same, always_the_same.margin
    (<GrowthOrder linear, low: 90 decisions>, 0.0)
    >>> print(always_the_same.words.split(". ")[-1])
    Linear against power is close to arbitrary; both are low.
    """
    return growth_orders([regret], [subject], n_bootstrap=n_bootstrap, rng=rng)[0]


def growth_orders(
    regrets: Any,
    subjects: Sequence[Any] | None = None,
    *,
    n_bootstrap: int = 0,
    rng: np.random.Generator | None = None,
) -> GrowthOrders:
    """`growth_order` of many subjects at once.

    Parameters
    ----------
    regrets
        {subject: cumulative regret}, or one vector per subject, of any lengths.
    subjects
        Labels, where `regrets` is not a mapping; by default their positions.
    n_bootstrap, rng
        As for `growth_order`.
    """
    if n_bootstrap and rng is None:
        raise DataError("rng must be given with a bootstrap; got None. Pass default_rng(seed).")
    if n_bootstrap < 0:
        raise DataError(f"n_bootstrap must be at least 0; got {n_bootstrap}. 200 is usual.")
    labels, rows = _labelled(regrets, subjects)
    by_length: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(i)
    found: dict[int, GrowthOrder] = {}
    for n, places in sorted(by_length.items()):
        names = [labels[i] for i in places]
        if n < FEWEST:
            made = [GrowthOrder("too few decisions", "none", None, (), n, None, s) for s in names]
        else:
            made = _orders(np.stack([rows[i] for i in places]), names, n_bootstrap, rng)
        found.update(zip(places, made, strict=True))
    return GrowthOrders(tuple(labels), tuple(found[i] for i in range(len(labels))))


def _labelled(regrets: Any, subjects: Sequence[Any] | None) -> tuple[list[Any], list[Vector]]:
    if isinstance(regrets, Mapping):
        labels, given = list(regrets), list(regrets.values())
    else:
        given = list(regrets)
        labels = list(range(len(given))) if subjects is None else list(subjects)
    if len(labels) != len(given):
        raise DataError(
            f"subjects must be one per regret ({len(given)}); got {len(labels)}. Match them."
        )
    return labels, [_checked(r, s) for r, s in zip(given, labels, strict=True)]


def _checked(regret: Any, subject: Any) -> Vector:
    """Finite numbers, without a last one that is missing."""
    try:
        found = np.array(regret, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"regret must be numbers; got {regret!r}. Correct it.") from error
    whose = "" if subject is None else f" of subject {subject}"
    if found.ndim != 1:
        raise DataError(
            f"regret{whose} must be one number per decision; got shape {found.shape}. "
            "Pass one subject's, or use growth_orders."
        )
    if len(found) and np.isnan(found[-1]):
        found = found[:-1]
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise DataError(
            f"regret must be finite; got {found[wrong[0]]} at decision {wrong[0]}{whose}. "
            "Only the last reward may be missing; use kind='expected' otherwise."
        )
    return found


def _orders(
    regrets: Matrix, subjects: Sequence[Any], n_bootstrap: int, rng: np.random.Generator | None
) -> list[GrowthOrder]:
    curves = growth_curves.fit_curves(regrets)
    best = growth_curves.best_orders(curves, regrets)
    n = regrets.shape[1]
    aic = n * np.log(growth_curves.floored(curves.residual, regrets) / n) + 6.0
    weights = np.exp(-0.5 * (aic - aic.min(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    made = []
    for i, subject in enumerate(subjects):
        mine = _curves_of(curves, i, aic[i], weights[i])
        shares = share_of_orders(regrets[i], curves, i, n_bootstrap, rng) if rng else None
        made.append(_growth_order(int(best[i]), mine, n, shares if n_bootstrap else None, subject))
    return made


def _curves_of(curves: Curves, i: int, aic: Vector, weights: Vector) -> tuple[Curve, ...]:
    numbers = zip(curves.a[i], curves.b[i], curves.residual[i], aic, weights, strict=True)
    return tuple(
        Curve(order, *map(float, found))  # type: ignore[arg-type]  # ORDERS are orders
        for order, found in zip(ORDERS, numbers, strict=True)
    )


def _growth_order(
    best: int,
    curves: tuple[Curve, ...],
    n: int,
    shares: Mapping[str, float] | None,
    subject: Any,
) -> GrowthOrder:
    if best == NOT_GROWING:
        return GrowthOrder("not growing", "none", "high", curves, n, shares, subject)
    order = curves[best].order
    category: Category = "high" if order == "logarithmic" else "low"
    return GrowthOrder("growing", order, category, curves, n, shares, subject)
