"""How far a linearised estimate can be trusted: its deviation from the nominal point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from penchant._typing import Vector
from penchant.wording import linearise_anew

LARGEST_RATIO = 1.0  # a deviation larger than the nominal value is not a small one
OUTSIDE: Literal["outside the model"] = "outside the model"


def outside_words() -> str:
    """That a linearised fit left the model, and what to do."""
    return (
        "theta gives parameters that the model cannot have, such as a decision noise or a "
        "prior variance that is not positive, so there are no natural parameters: "
        f"{linearise_anew()}."
    )


def small_deviation(ratio: float, bounds: tuple[float, float]) -> bool:
    """Whether the deviation is inside its bounds and small beside the nominal value."""
    low, high = bounds
    return bool(low < ratio < min(high, LARGEST_RATIO))


@dataclass(frozen=True, eq=False)
class Validity:
    """The range of validity of a linearised estimate.

    Attributes
    ----------
    nominal, coordinate
        The point that the model was linearised about, and how the deviation maps back.
    nominal_psi, nominal_ratios
        The point as shape parameters, and as ratios of the weights to the first.
    ratio
        Deviation of the first shape parameter over its nominal value: Delta_delta / delta-bar.
    bounds
        Where that ratio must lie for the linearisation to mean anything.
    exact_log_likelihood
        Of the model itself at the parameters found; NaN if they lie outside the model.
    weights, psi
        Of the model itself; NaN outside it.
    of_shape
        Natural parameters that rest on the deviation.
    """

    nominal: Any
    coordinate: str
    ratio: float
    bounds: tuple[float, float]
    exact_log_likelihood: float
    of_shape: tuple[str, ...]
    nominal_psi: Vector | None = None
    nominal_ratios: Vector | None = None
    weights: Vector | None = None
    psi: Vector | None = None

    @property
    def valid(self) -> bool:
        """The deviation is no larger than the nominal value, and the parameters are possible."""
        inside = bool(np.isfinite(self.exact_log_likelihood))
        return small_deviation(self.ratio, self.bounds) and inside

    @property
    def without_meaning(self) -> tuple[str, ...]:
        """Natural parameters that rest on a deviation which is not small."""
        return () if self.valid or not np.isfinite(self.ratio) else self.of_shape

    def __str__(self) -> str:
        said = "valid" if self.valid else "outside its range of validity"
        return f"{said}: ratio {self.ratio:.4g}"


def nominal_dict(nominal: Any) -> dict[str, Any]:
    """The nominal point as plain numbers."""
    if isinstance(nominal, Mapping):
        return {name: None if v is None else float(v) for name, v in nominal.items()}
    return asdict(nominal)


def nominal_words(nominal: Any) -> str:
    """The nominal point in words: a prior of rewards, or the values of a mapping."""
    known = nominal_dict(nominal)
    if set(known) != {"mean", "variance", "length_scale"}:
        return ", ".join(f"{name} {value:g}" for name, value in known.items()) or "nothing"
    length = known["length_scale"]
    scale = "" if length is None else f", length scale {length:g}"
    return f"prior mean {known['mean']:g}, variance {known['variance']:g}{scale}"
