"""What weights of decisions mean."""

from typing import Literal

WeightKind = Literal["frequency", "probability"]
