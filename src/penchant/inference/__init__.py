"""Estimates of models with shape parameters."""

from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit import fit
from penchant.inference.fit_each import ModelEstimates, fit_each
from penchant.inference.linearized import (
    LinearizedEstimate,
    compare_nominals,
    fit_linearized,
    relinearize,
)
from penchant.inference.live import Live, live

__all__ = [
    "LinearizedEstimate",
    "Live",
    "ModelEstimate",
    "ModelEstimates",
    "compare_nominals",
    "fit",
    "fit_each",
    "fit_linearized",
    "live",
    "relinearize",
]
