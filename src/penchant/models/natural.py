"""Rows of parameter tables by the places of weights: of models without a table of names yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penchant.models.parameters import Limit as Limit
from penchant.models.parameters import Parameter
from penchant.models.parameters import Shape as Shape
from penchant.models.transforms import IDENTITY, RECIPROCAL, Transform

LOG_3_OF_1_MORE, ONE_LESS, MINUS_LOG_3 = map(Transform, ("log3(1 + u)", "1 - u", "-log3 u"))


class Natural(Parameter):
    """A parameter of places, not of names."""

    def __new__(
        cls,
        name: str,
        kind: str,
        index: int,
        other: int = 0,
        scale: float = 1.0,
        power: float = 1.0,
        parts: tuple[int, ...] = (),
        over: tuple[int, ...] = (),
        curve: Transform = IDENTITY,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> Natural:
        """Make the row of its kind."""
        own: dict[str, Any] = {
            "index": index,
            "sum_indices": parts or (index,),
            "over_indices": over,
        }
        if kind.startswith("shape"):
            own |= {"shape": "", "sum_indices": (), "is_derived": kind != "shape"}
            curve = curve if kind != "shape" else Transform("power", scale, power)
            curve = IDENTITY if kind == "shape" and scale == power == 1.0 else curve
        elif kind == "reciprocal":
            curve = RECIPROCAL
        elif kind == "ratio":
            own |= {"over_indices": (other,)}
        elif kind == "share":
            curve = Transform("logit", scale, 0.0)
        elif kind == "function":
            own |= {"is_derived": True}
        else:
            assert kind == "weight"
        row = Parameter(name, transform=curve, low=low, high=high)
        return replace(row, **own)  # type: ignore[return-value]  # a Parameter, annotated so
