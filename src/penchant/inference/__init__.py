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
from penchant.inference.profile_curve import ProfileCurve, profile_curve

__all__ = [
    "LinearizedEstimate",
    "Live",
    "ModelEstimate",
    "ModelEstimates",
    "ProfileCurve",
    "compare_nominals",
    "fit",
    "fit_each",
    "fit_linearized",
    "live",
    "profile_curve",
    "relinearize",
]
