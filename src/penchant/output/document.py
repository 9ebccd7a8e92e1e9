"""Numbers, arrays and labels as JSON has them, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def plain_label(label: Any) -> Any:
    """A subject's label as JSON has it."""
    return label.item() if isinstance(label, np.generic) else label


def plain(value: Any) -> Any:
    """Floats and arrays as JSON has them."""
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value]
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


def numbers(value: Any) -> Any:
    """Inverse of `plain`: arrays of floats."""
    if isinstance(value, list):
        return np.array([numbers(v) for v in value], dtype=np.float64)
    return math.nan if value is None else float(value)
