"""Models: from what happened to explanatory variables."""

from typing import TYPE_CHECKING

from penchant._lazy import lazily

if TYPE_CHECKING:
    from penchant.models.checking.check_model import check_model as check_model
    from penchant.models.checking.findings import ModelCheck as ModelCheck
    from penchant.models.learning.baselines import RandomChoice as RandomChoice
    from penchant.models.learning.baselines import WinStayLoseShift as WinStayLoseShift
    from penchant.models.learning.history import HistoryRegression as HistoryRegression
    from penchant.models.learning.hybrid import GershmanHybrid as GershmanHybrid
    from penchant.models.learning.kalman import KalmanFilter as KalmanFilter
    from penchant.models.learning.known_values import KnownValues as KnownValues
    from penchant.models.learning.q_learning import QLearning as QLearning
    from penchant.models.learning.ucb1 import UCB1 as UCB1
    from penchant.models.model import Model as Model
    from penchant.models.model import Natural as Natural
    from penchant.models.model import Shape as Shape
    from penchant.models.natural_prior import NaturalPrior as NaturalPrior
    from penchant.models.offers.discounting import (
        ConstantSensitivityDiscounting as ConstantSensitivityDiscounting,
    )
    from penchant.models.offers.discounting import ExponentialDiscounting as ExponentialDiscounting
    from penchant.models.offers.discounting import HyperbolicDiscounting as HyperbolicDiscounting
    from penchant.models.offers.discounting import (
        QuasiHyperbolicDiscounting as QuasiHyperbolicDiscounting,
    )
    from penchant.models.offers.gambles import ExpectedUtility as ExpectedUtility
    from penchant.models.offers.gambles import MeanVariance as MeanVariance
    from penchant.models.offers.gambles import ProspectValue as ProspectValue
    from penchant.models.offers.offers import Offers as Offers
    from penchant.models.offers.table import offers_from_frame as offers_from_frame
    from penchant.models.simulate import simulate as simulate
    from penchant.models.spatial.gp_ucb import GPUCB as GPUCB
    from penchant.models.spatial.locality import Locality as Locality
    from penchant.models.spatial.ucl import UCL as UCL

__getattr__, __dir__, __all__ = lazily(
    __name__,
    {
        "penchant.models.checking.check_model": ("check_model",),
        "penchant.models.checking.findings": ("ModelCheck",),
        "penchant.models.learning.baselines": ("RandomChoice", "WinStayLoseShift"),
        "penchant.models.learning.history": ("HistoryRegression",),
        "penchant.models.learning.hybrid": ("GershmanHybrid",),
        "penchant.models.learning.kalman": ("KalmanFilter",),
        "penchant.models.learning.known_values": ("KnownValues",),
        "penchant.models.learning.q_learning": ("QLearning",),
        "penchant.models.learning.ucb1": ("UCB1",),
        "penchant.models.model": ("Model", "Natural", "Shape"),
        "penchant.models.natural_prior": ("NaturalPrior",),
        "penchant.models.offers.discounting": (
            "ConstantSensitivityDiscounting",
            "ExponentialDiscounting",
            "HyperbolicDiscounting",
            "QuasiHyperbolicDiscounting",
        ),
        "penchant.models.offers.gambles": ("ExpectedUtility", "MeanVariance", "ProspectValue"),
        "penchant.models.offers.offers": ("Offers",),
        "penchant.models.offers.table": ("offers_from_frame",),
        "penchant.models.simulate": ("simulate",),
        "penchant.models.spatial.gp_ucb": ("GPUCB",),
        "penchant.models.spatial.locality": ("Locality",),
        "penchant.models.spatial.ucl": ("UCL",),
    },
)
