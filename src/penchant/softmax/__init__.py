"""The concave problem: softmax choices with a linear objective."""

from penchant.softmax.constraints import Constraints
from penchant.softmax.estimate import Estimate
from penchant.softmax.fit import fit
from penchant.softmax.fit_each import Estimates, fit_each
from penchant.softmax.prior import GaussianPrior, ScaledPrior
from penchant.softmax.simulate import simulate_choices

__all__ = [
    "Constraints",
    "Estimate",
    "Estimates",
    "GaussianPrior",
    "ScaledPrior",
    "fit",
    "fit_each",
    "simulate_choices",
]
