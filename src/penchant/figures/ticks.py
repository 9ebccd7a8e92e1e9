"""Numbers at an axis as they are read: 0.2, never 2 x 10^-1, on logarithmic axes too."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, log10
from typing import Any

from penchant.figures.letters import FONT_SIZE, LINE_HEIGHT, width

SMALLEST, LARGEST = 1e-4, 1e5  # beyond these numbers are powers of ten
POWERS = (-5, 6)  # the same for a linear axis, which takes out one power for all its numbers
APART = 0.13  # of the axis, between numbers of a parameter on the scale of its coordinate
GAP = 8.0  # points between the numbers of an x axis
NEAR = 1e-9


def plain(value: float, _: Any = None) -> str:
    r"""A number for a tick.

    Examples
    --------
    >>> plain(0.2), plain(1e-4), plain(100000.0), plain(2e-6)
    ('0.2', '0.0001', '100000', '$2\\times10^{-6}$')
    """
    size = abs(value)
    if size == 0 or SMALLEST * (1 - NEAR) <= size <= LARGEST * (1 + NEAR):
        return f"{value:.6f}".rstrip("0").rstrip(".") if size < LARGEST else f"{value:.0f}"
    power = floor(log10(size) + NEAR)
    digits = f"{value / 10.0**power:.4g}"
    ten = f"10^{{{power}}}"
    return f"${ten}$" if digits == "1" else f"${digits}\\times{ten}$"


def whole_numbers(axis: Any, last: float | None = None) -> None:
    """Number an axis that counts by whole numbers; from 0 to the last, where that is given."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))
    if last is not None:
        axis.set_view_interval(0.0, 1.02 * last, ignore=True)


def plain_logarithmic(axis: Any) -> None:
    """Number a logarithmic axis plainly, with as many numbers as stand beside each other."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(_locator())
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(LogLocator(subs="auto", numticks=20))
    axis.set_minor_formatter(NullFormatter())


def natural_ticks(axis: Any, value: Callable[[Any], Any]) -> None:
    """Number an axis of coordinates by the parameter that these are of: 0.2, not its logit.

    Parameters
    ----------
    axis
        With its ends.
    value
        The parameter at a coordinate, rising.
    """
    from scipy.optimize import brentq

    low, high = axis.get_view_interval()
    first, last = (float(value(end)) for end in (low, high))
    taken: list[tuple[float, float]] = []
    for tick in _nice(first, last):
        at = float(brentq(lambda h, tick=tick: float(value(h)) - tick, low, high))
        if all(abs(at - other) >= APART * (high - low) for other, _ in taken):
            taken.append((at, tick))
    taken.sort()
    axis.set_ticks([at for at, _ in taken], [plain(tick) for _, tick in taken])


def _nice(low: float, high: float) -> list[float]:
    """Round numbers between two, the roundest first."""
    size = max(abs(low), abs(high))
    smallest = min((abs(end) for end in (low, high) if end), default=size)
    powers = range(floor(log10(size)), floor(log10(smallest)) - 2, -1)
    found = [0.0, *(s * d * 10.0**p for p in powers for d in (1, 5, 2) for s in (1, -1))]
    found += [s * d * 10.0**p for p in powers for d in (3, 4, 7, 6, 8, 9) for s in (1, -1)]
    found += [1 - d * 10.0**p for p in range(-2, -5, -1) for d in (1, 5, 2)]
    return [float(f"{tick:.12g}") for tick in found if low < tick < high]


def _locator() -> Any:
    from matplotlib.ticker import Locator, MaxNLocator

    class Plain(Locator):
        """Powers of ten, with 2 and 5 or 3 between where there are few, without where many."""

        def __call__(self) -> Any:
            """Ticks of the axis as it is drawn."""
            return self.tick_values(*sorted(self.axis.get_view_interval()))  # type: ignore[union-attr]

        def tick_values(self, vmin: float, vmax: float) -> Any:
            """Ticks from one end to the other."""
            few = MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]).tick_values(vmin, vmax)
            even = [float(tick) for tick in few if tick > 0 and vmin <= tick <= vmax]
            sets = _candidates(vmin, vmax)
            for ticks in (*(one for one in sets if len(one) > 2), even, *sets):
                if len(ticks) > 1 and _fit(self.axis, ticks):
                    return ticks
            return even

    return Plain()


def _candidates(low: float, high: float) -> list[list[float]]:
    """Sets of ticks within the ends, the best first."""
    first, last = floor(log10(low)), ceil(log10(high))

    def within(*of: float, every: int = 1) -> list[float]:
        powers = [p for p in range(first, last + 1) if p % every == 0]
        found = [float(f"{digit:g}e{power}") for power in powers for digit in of]
        return [tick for tick in found if low * (1 - NEAR) <= tick <= high * (1 + NEAR)]

    decades = within(1.0)
    fine = [] if len(decades) > 2 else [within(1.0, 2.0, 5.0), within(1.0, 3.0)]
    return [*fine, decades, *(within(1.0, every=k) for k in range(2, max(3, last - first)))]


def _fit(axis: Any, ticks: list[float]) -> bool:
    """Whether the numbers stand beside each other; at a y axis, below each other."""
    box = axis.axes.get_window_extent()
    dots = axis.get_figure().dpi / 72
    if axis.axis_name == "x":
        places = [axis.axes.transData.transform((tick, 1))[0] / dots for tick in ticks]
        widths = [width(plain(tick)) for tick in ticks]
        return all(
            places[i + 1] - places[i] >= (widths[i] + widths[i + 1]) / 2 + GAP
            for i in range(len(ticks) - 1)
        )
    return bool(box.height / dots >= len(ticks) * max(LINE_HEIGHT, 1.4 * FONT_SIZE))
