"""Performance categories: how the cumulative regret of a subject grows, by three fitted curves.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from penchant._typing import IntVector, Label, Matrix, Vector
from penchant.argument_checks import check_one_of
from penchant.errors import DataError
from penchant.json_records import JsonDocument
from penchant.result_tables import (
    Columns,
    Result,
    attribute_columns,
)

ORDERS = ("linear", "power", "logarithmic")
NOT_GROWING = len(ORDERS)  # one past the curves, so that a bincount has a bin for it
MAX_GROWTH_EXPONENT = 20.0  # steeper powers all look like one jump at the last decision
EXPONENT_GRID_STEP = 0.05  # in s (module docstring); neighbours overlap to 0.9994: misses no peak
MAX_NEWTON_POLISH_STEPS = 30  # a backstop for bisection; quadratic convergence takes 3 to 5
MIN_RELATIVE_RESIDUAL = 1e-10  # of the regret: smaller residuals are rounding


class GrowthCurveFits(NamedTuple):
    """The three curves of every subject: arrays (n_subjects, 3) in the order of ORDERS."""

    a: Matrix
    b: Matrix
    residual: Matrix


def fit_growth_curves(regrets: Matrix) -> GrowthCurveFits:
    """Least squares of the three curves, for every row."""
    t = np.arange(1.0, regrets.shape[1] + 1.0)
    fits = (
        _fit_straight_line(regrets, t),
        _fit_power_law(regrets, t),
        _fit_straight_line(regrets, np.log(t)),
    )
    a = np.stack([fit[0] for fit in fits], axis=1)
    b = np.stack([fit[1] for fit in fits], axis=1)
    left = [
        regrets - growth_curve_values(k, a[:, k, None], b[:, k, None], t)
        for k in range(len(ORDERS))
    ]
    residual = np.stack([np.einsum("st,st->s", r, r) for r in left], axis=1)
    return GrowthCurveFits(a, b, residual)


def growth_curve_values(order: int, a: Matrix | float, b: Matrix | float, t: Vector) -> Matrix:
    """A curve at the times t."""
    if order == 0:
        return np.asarray(a + b * t)
    return np.asarray(a * t**b if order == 1 else a + b * np.log(t))


def residuals_above_rounding(residual: Matrix, regrets: Matrix) -> Matrix:
    """Residual sums of squares, no smaller than rounding makes them."""
    smallest = MIN_RELATIVE_RESIDUAL**2 * np.einsum("st,st->s", regrets, regrets)
    smallest = np.maximum(smallest, np.finfo(np.float64).tiny)  # log(0) in the AIC otherwise
    return np.asarray(np.maximum(residual, smallest[:, None]))


def best_orders(curves: GrowthCurveFits, regrets: Matrix) -> IntVector:
    """Index of the curve with the least residual; NOT_GROWING where that curve does not rise."""
    best = np.argmin(residuals_above_rounding(curves.residual, regrets), axis=1)
    rows = np.arange(len(best))
    a, b = curves.a[rows, best], curves.b[rows, best]
    n = float(regrets.shape[1])
    rise = np.where(best == 0, b * (n - 1.0), b * np.log(n))
    power = best == 1
    rise[power] = a[power] * (n ** b[power] - 1.0)
    size = np.abs(regrets).max(axis=1)
    return np.where(rise > MIN_RELATIVE_RESIDUAL * size, best, NOT_GROWING)


def _fit_straight_line(regrets: Matrix, x: Vector) -> tuple[Vector, Vector]:
    """Intercept and slope of each row on x."""
    centred = x - x.mean()
    slope = regrets @ centred / (centred @ centred)
    return np.asarray(regrets.mean(axis=1) - slope * x.mean()), np.asarray(slope)


def _fit_power_law(regrets: Matrix, t: Vector) -> tuple[Vector, Vector]:
    """Factor and exponent of each row, the exponent between 0 and MAX_GROWTH_EXPONENT."""
    logs = np.log(t / t[-1])
    steps = np.arange(0.0, np.log(2 * MAX_GROWTH_EXPONENT + 1), EXPONENT_GRID_STEP)
    grid = np.append((np.exp(steps) - 1) / 2, MAX_GROWTH_EXPONENT)
    powers = np.exp(np.outer(logs, grid))
    explained = (regrets @ powers) ** 2 / np.einsum("tb,tb->b", powers, powers)
    best = np.argmax(explained, axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    exponent = _refine_exponent(regrets, logs, grid[best], low, high)
    u = np.exp(exponent[:, None] * logs)
    factor = np.einsum("st,st->s", regrets, u) / np.einsum("st,st->s", u, u)
    return factor / t[-1] ** exponent, exponent


def _refine_exponent(regrets: Matrix, logs: Vector, b: Vector, low: Vector, high: Vector) -> Vector:
    """Maximise 2 log|R.u| - log u.u over b in [low, high]: Newton, or half way where it fails."""
    for _ in range(MAX_NEWTON_POLISH_STEPS):
        slope, curvature = _exponent_derivatives(regrets, logs, b)
        low, high = np.where(slope > 0, b, low), np.where(slope < 0, b, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = b - slope / curvature
        safe = (curvature < 0) & (newton >= low) & (newton <= high)
        b_next = np.where(slope == 0, b, np.where(safe, newton, (low + high) / 2))
        settled = np.abs(b_next - b) <= 1e-13 * (1 + b)  # smaller steps are rounding
        b = b_next
        if settled.all():
            break
    return b


def _exponent_derivatives(regrets: Matrix, logs: Vector, b: Vector) -> tuple[Vector, Vector]:
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


def bootstrap_shares_of_orders(
    regret: Vector, curves: GrowthCurveFits, i: int, n_replicates: int, rng: np.random.Generator
) -> dict[str, float] | None:
    """Share of replicates in which each order is best; "none" counts those that do not grow."""
    if not n_replicates:
        return None
    best = int(np.argmin(residuals_above_rounding(curves.residual[i : i + 1], regret[None])))
    t = np.arange(1.0, len(regret) + 1.0)
    fitted = growth_curve_values(best, float(curves.a[i, best]), float(curves.b[i, best]), t)
    again = wild_bootstrap_replicates(regret, fitted, n_replicates, rng)
    found = best_orders(fit_growth_curves(again), again)
    counts = np.bincount(found, minlength=NOT_GROWING + 1) / n_replicates
    return dict(zip((*ORDERS, "none"), counts.tolist(), strict=True))


def wild_bootstrap_replicates(
    regret: Vector, fitted: Vector, n: int, rng: np.random.Generator
) -> Matrix:
    """The fitted curve plus resampled errors: (n, n_decisions)."""
    n_decisions = len(regret)
    block = int(np.ceil(n_decisions ** (1 / 3)))  # n^(1/3): the optimal rate of block bootstraps
    added = np.diff(regret - fitted, prepend=0.0)  # unlike sums, nearly independent
    first = rng.integers(block, size=(n, 1))
    blocks = (np.arange(n_decisions) + first) // block
    signs = rng.choice([-1.0, 1.0], size=(n, n_decisions // block + 2))
    return np.asarray(fitted + np.cumsum(added * np.take_along_axis(signs, blocks, axis=1), axis=1))


Order = Literal["linear", "power", "logarithmic", "none"]
Category = Literal["low", "high"]
Status = Literal["growing", "not growing", "too few decisions"]
MIN_GROWTH_DECISIONS = 4  # two parameters, the variance, and one decision to contradict them
MIN_AIC_GAP = 2.0  # smaller gaps are no evidence (Burnham and Anderson 2002)


@dataclass(frozen=True)
class FittedGrowthCurve(JsonDocument):
    """Fitted curve of cumulative regret: its two parameters and its goodness of fit.

    Attributes
    ----------
    a, b
        a + b t, a t^b or a + b log t.
    residual
        Residual sum of squares.
    aic
        n log(residual / n) + 6. All curves have as many parameters, so that AICc and BIC give the
        same weights.
    weight
        exp(-AIC / 2), the three summing to 1. Residuals of a cumulative sum go together, so that
        these are too sure: the bootstrap is the better measure.
    """

    order: Order
    a: float
    b: float
    residual: float
    aic: float
    weight: float

    def at(self, t: Any) -> Vector:
        """The curve at the times t, counted from 1."""
        times = np.asarray(t, dtype=np.float64)
        return growth_curve_values(ORDERS.index(self.order), self.a, self.b, times)


@dataclass(frozen=True)
class GrowthOrder(Result):
    """Growth order of a subject's cumulative regret, with its certainty.

    Attributes
    ----------
    status
        "growing"; "not growing": no order can be told, as nothing is lost any more; "too few
        decisions": nothing can be told.
    order
        The curve with the least residual, or "none".
    category
        The paper's: "low" for linear and power, "high" for logarithmic and for regret that does not
        grow; None with too few decisions.
    curves
        All three, in the order linear, power, logarithmic; none with too few decisions.
    shares
        Share of bootstrap replicates in which each order was best, where it was asked for.
    """

    json_names = (
        *("subject", "status", "order", "category", "n_decisions", "margin", "category_margin"),
        *("category_weight", "confidence", "curves", "words"),
    )
    status: Status
    order: Order
    category: Category | None
    curves: tuple[FittedGrowthCurve, ...]
    n_decisions: int
    shares: Mapping[str, float] | None = None
    subject: Label = None

    def curve(self, order: Order | None = None) -> FittedGrowthCurve:
        """The curve of an order; the best one if none is named."""
        wanted = self.order if order is None else order
        for curve in self.curves:
            if curve.order == wanted:
                return curve
        raise DataError(
            "order",
            "must be one that was fitted",
            got=repr(wanted),
            fix=self.message or "Choose linear, power or logarithmic.",
        )

    @property
    def margin(self) -> float:
        """AIC of the second best curve minus that of the best: below 2 is no evidence."""
        ranked = sorted(curve.aic for curve in self.curves)
        return ranked[1] - ranked[0] if ranked else float("nan")

    @property
    def category_margin(self) -> float:
        """AIC of the best curve of the other category minus that of the best of this one."""
        if not self.curves:
            return float("nan")
        linear, power, logarithmic = (curve.aic for curve in self.curves)
        return abs(min(linear, power) - logarithmic)

    @property
    def category_weight(self) -> float:
        """Summed AIC weights of the category's curves; NaN where regret does not grow."""
        if self.status != "growing":
            return float("nan")
        linear, power, logarithmic = (curve.weight for curve in self.curves)
        return logarithmic if self.category == "high" else linear + power

    @property
    def confidence(self) -> float:
        """Share of bootstrap replicates that fall in the category; NaN without a bootstrap."""
        if self.shares is None:
            return float("nan")
        low = self.shares["linear"] + self.shares["power"]
        return low if self.category == "low" else 1.0 - low

    @property
    def message(self) -> str:
        """Meaning of the status; empty where regret grows."""
        if self.status == "too few decisions":
            return (
                f"{MIN_GROWTH_DECISIONS} decisions are needed to tell how regret grows; got "
                f"{self.n_decisions}."
            )
        if self.status == "not growing":
            return "Regret does not grow, so no order can be told: no faster than a logarithm."
        return ""

    @property
    def words(self) -> str:
        """The order in words, with its doubts."""
        if self.message:
            return self.message
        linear, power, _ = self.curves
        said = f"{self.order.capitalize()} growth, {self.category} performance"
        said += f" (AIC weight of the category {self.category_weight:.2f}"
        said += "" if self.shares is None else f", bootstrap share {self.confidence:.2f}"
        said += ")."
        if self.category_margin < MIN_AIC_GAP:
            said += " The category is close to arbitrary: the next one fits as well."
        if self.category == "low" and abs(linear.aic - power.aic) < MIN_AIC_GAP:
            said += " Linear against power is close to arbitrary; both are low."
        return said

    def frame_columns(self) -> Columns:
        """Table with a single row, as that of many subjects."""
        return GrowthOrders((self.subject,), (self,)).frame_columns()

    def __repr__(self) -> str:
        return f"<GrowthOrder {self.order}, {self.category}: {self.n_decisions} decisions>"


@dataclass(frozen=True, eq=False, repr=False)
class GrowthOrders(Sequence[GrowthOrder], Result):
    """The growth orders of many subjects: by position, `of(subject)`, or all in `to_frame()`."""

    subjects: tuple[Label, ...]
    orders: tuple[GrowthOrder, ...]

    def __len__(self) -> int:
        return len(self.orders)

    @overload
    def __getitem__(self, index: int) -> GrowthOrder: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[GrowthOrder, ...]: ...
    def __getitem__(self, index: int | slice) -> GrowthOrder | tuple[GrowthOrder, ...]:
        return self.orders[index]

    def __iter__(self) -> Iterator[GrowthOrder]:
        return iter(self.orders)

    def of(self, subject: Label) -> GrowthOrder:
        """The growth order of one subject, by label."""
        check_one_of(subject, "subject", self.subjects, "See `subjects`.")
        return self.orders[self.subjects.index(subject)]

    @property
    def categories(self) -> tuple[Category | None, ...]:
        """Category of each subject."""
        return tuple(order.category for order in self.orders)

    def counts(self) -> dict[str, int]:
        """Number of subjects of each order."""
        found = [order.order for order in self.orders]
        return {name: found.count(name) for name in (*ORDERS, "none") if name in found}

    def frame_columns(self) -> Columns:
        """Table by subject: order, category, weights, shares, the numbers of each curve."""
        columns: dict[str, list[Any]] = {"subject": list(self.subjects)}
        columns |= attribute_columns(
            self.orders,
            *("status", "order", "category", "n_decisions", "margin", "category_margin"),
            *("category_weight", "confidence"),
        )
        for k, name in enumerate(ORDERS):
            for what in ("a", "b", "residual", "aic", "weight"):
                columns[f"{name}_{what}"] = [
                    getattr(order.curves[k], what) if order.curves else float("nan")
                    for order in self.orders
                ]
        return columns

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {name}" for name, count in self.counts().items())
        return f"<GrowthOrders of {len(self)} subjects: {said}>"


def growth_orders(
    regrets: Any,
    subjects: Sequence[Label] | None = None,
    *,
    n_bootstrap: int = 0,
    rng: np.random.Generator | None = None,
) -> GrowthOrders:
    """Classify the growth of cumulative regrets: a + b t, a t^b or a + b log t, by least squares.

    Parameters
    ----------
    regrets
        {subject: cumulative regret}, or one vector per subject, of any lengths: regret after each
        decision, such as `cumulative_regret` gives. A last entry that is missing is left out.
    subjects
        Labels, where `regrets` is not a mapping; by default their positions.
    n_bootstrap
        Replicates of the bootstrap: the best curve plus what was added beyond it in each decision,
        the signs of short blocks turned at random. 200 tell a share to a few per cent.
    rng
        Required with a bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> import penchant as pn
    >>> t = np.arange(1, 91)
    >>> found = pn.results.growth_orders({"ann": 40 + 25 * np.log(t), "bob": 12.0 * t})
    >>> found.of("ann")
    <GrowthOrder logarithmic, high: 90 decisions>
    >>> always_the_same = found.of("bob")
    >>> always_the_same, always_the_same.margin
    (<GrowthOrder linear, low: 90 decisions>, 0.0)
    >>> print(always_the_same.words.split(". ")[-1])
    Linear against power is close to arbitrary; both are low.
    """
    if n_bootstrap and rng is None:
        raise DataError(
            "rng", "must be given with a bootstrap", got="None", fix="Pass default_rng(seed)."
        )
    if n_bootstrap < 0:
        raise DataError("n_bootstrap", "must be at least 0", got=n_bootstrap, fix="200 is usual.")
    labels, rows = _labels_and_regrets(regrets, subjects)
    by_length: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(i)
    found: dict[int, GrowthOrder] = {}
    for n, places in sorted(by_length.items()):
        names = [labels[i] for i in places]
        if n < MIN_GROWTH_DECISIONS:
            made = [GrowthOrder("too few decisions", "none", None, (), n, None, s) for s in names]
        else:
            made = _growth_orders_of(np.stack([rows[i] for i in places]), names, n_bootstrap, rng)
        found.update(zip(places, made, strict=True))
    return GrowthOrders(tuple(labels), tuple(found[i] for i in range(len(labels))))


def _labels_and_regrets(
    regrets: Any, subjects: Sequence[Label] | None
) -> tuple[list[Any], list[Vector]]:
    if isinstance(regrets, Mapping):
        labels, given = list(regrets), list(regrets.values())
    else:
        given = list(regrets)
        labels = list(range(len(given))) if subjects is None else list(subjects)
    if len(labels) != len(given):
        raise DataError(
            "subjects", f"must be one per regret ({len(given)})", got=len(labels), fix="Match them."
        )
    return labels, [_checked_regret(r, s) for r, s in zip(given, labels, strict=True)]


def _checked_regret(regret: Any, subject: Label) -> Vector:
    """Finite numbers, without a last one that is missing."""
    try:
        found = np.array(regret, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("regret", "must be numbers", got=repr(regret), fix="Correct it.") from error
    whose = "" if subject is None else f" of subject {subject}"
    if found.ndim != 1:
        raise DataError(
            f"regret{whose}",
            "must be one number per decision",
            got=f"shape {found.shape}",
            fix="Pass {subject: regret}, or a list with one vector for each.",
        )
    if len(found) and np.isnan(found[-1]):
        found = found[:-1]
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise DataError(
            "regret",
            "must be finite",
            got=found[wrong[0]],
            where=f"at decision {wrong[0]}{whose}",
            fix="Only the last reward may be missing; use kind='expected' otherwise.",
        )
    return found


def _growth_orders_of(
    regrets: Matrix, subjects: Sequence[Label], n_bootstrap: int, rng: np.random.Generator | None
) -> list[GrowthOrder]:
    curves = fit_growth_curves(regrets)
    best = best_orders(curves, regrets)
    n = regrets.shape[1]
    aic = n * np.log(residuals_above_rounding(curves.residual, regrets) / n) + 6.0
    weights = np.exp(-0.5 * (aic - aic.min(axis=1, keepdims=True)))  # less the best: no underflow
    weights /= weights.sum(axis=1, keepdims=True)
    made = []
    for i, subject in enumerate(subjects):
        mine = _curves_of_subject(curves, i, aic[i], weights[i])
        shares = (
            bootstrap_shares_of_orders(regrets[i], curves, i, n_bootstrap, rng) if rng else None
        )
        made.append(_growth_order(int(best[i]), mine, n, shares if n_bootstrap else None, subject))
    return made


def _curves_of_subject(
    curves: GrowthCurveFits, i: int, aic: Vector, weights: Vector
) -> tuple[FittedGrowthCurve, ...]:
    numbers = zip(curves.a[i], curves.b[i], curves.residual[i], aic, weights, strict=True)
    return tuple(
        FittedGrowthCurve(order, *map(float, found))  # type: ignore[arg-type]  # ORDERS are orders
        for order, found in zip(ORDERS, numbers, strict=True)
    )


def _growth_order(
    best: int,
    curves: tuple[FittedGrowthCurve, ...],
    n: int,
    shares: Mapping[str, float] | None,
    subject: Label,
) -> GrowthOrder:
    if best == NOT_GROWING:
        return GrowthOrder("not growing", "none", "high", curves, n, shares, subject)
    order = curves[best].order
    category: Category = "high" if order == "logarithmic" else "low"
    return GrowthOrder("growing", order, category, curves, n, shares, subject)
