"""Estimates of models with shape parameters."""

from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit import fit

__all__ = ["ModelEstimate", "fit"]
