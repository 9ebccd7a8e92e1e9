"""Estimates of models with shape parameters."""

from penchant.inference.estimate import ModelEstimate
from penchant.inference.fit import fit
from penchant.inference.fit_each import ModelEstimates, fit_each
from penchant.inference.linearized import (
    compare_nominals,
    fit_linearized,
    fit_linearized_each,
)
from penchant.inference.linearized_estimate import LinearizedEstimate, LinearizedEstimates
from penchant.inference.live import Live, live
from penchant.inference.profile_curve import ProfileCurve, profile_curve
from penchant.inference.relinearized import relinearize

__all__ = [
    "LinearizedEstimate",
    "LinearizedEstimates",
    "Live",
    "ModelEstimate",
    "ModelEstimates",
    "ProfileCurve",
    "compare_nominals",
    "fit",
    "fit_each",
    "fit_linearized",
    "fit_linearized_each",
    "live",
    "profile_curve",
    "relinearize",
]
