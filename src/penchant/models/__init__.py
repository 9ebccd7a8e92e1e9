"""Models: from what happened to explanatory variables."""

from typing import TYPE_CHECKING

from penchant._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from penchant.choices import NaturalParameters as NaturalParameters
    from penchant.models.checks import check_model as check_model
    from penchant.models.clinic.aversive import AversiveLearning as AversiveLearning
    from penchant.models.clinic.balloons import Balloons as Balloons
    from penchant.models.clinic.beads import Beads as Beads
    from penchant.models.clinic.filter import HGF as HGF
    from penchant.models.clinic.gain_loss import GainLoss as GainLoss
    from penchant.models.clinic.go_no_go import GoNoGo as GoNoGo
    from penchant.models.clinic.iowa import ORL as ORL
    from penchant.models.clinic.iowa import PVL as PVL
    from penchant.models.clinic.iowa import VPP as VPP
    from penchant.models.clinic.reversal import EWA as EWA
    from penchant.models.clinic.reversal import HiddenState as HiddenState
    from penchant.models.clinic.successor import Successor as Successor
    from penchant.models.clinic.surprise import ConfirmationBias as ConfirmationBias
    from penchant.models.clinic.surprise import PearceHall as PearceHall
    from penchant.models.clinic.two_step import StayRegression as StayRegression
    from penchant.models.clinic.two_step import TwoStep as TwoStep
    from penchant.models.clinic.volatile import VolatileKalman as VolatileKalman
    from penchant.models.learning.baselines import RandomChoice as RandomChoice
    from penchant.models.learning.baselines import WinStayLoseShift as WinStayLoseShift
    from penchant.models.learning.history import HistoryRegression as HistoryRegression
    from penchant.models.learning.hybrid import GershmanHybrid as GershmanHybrid
    from penchant.models.learning.kalman import KalmanFilter as KalmanFilter
    from penchant.models.learning.known_values import KnownValues as KnownValues
    from penchant.models.learning.q_learning import QLearning as QLearning
    from penchant.models.learning.ucb1 import UCB1 as UCB1
    from penchant.models.model import Model as Model
    from penchant.models.offers.attributes import Attributes as Attributes
    from penchant.models.offers.attributes import OfferModel as OfferModel
    from penchant.models.offers.cambridge import CambridgeGamble as CambridgeGamble
    from penchant.models.offers.chance import Ambiguity as Ambiguity
    from penchant.models.offers.chance import PeerInfluence as PeerInfluence
    from penchant.models.offers.chance import ProbabilityDiscounting as ProbabilityDiscounting
    from penchant.models.offers.discounting import (
        ConstantSensitivityDiscounting as ConstantSensitivityDiscounting,
    )
    from penchant.models.offers.discounting import ExponentialDiscounting as ExponentialDiscounting
    from penchant.models.offers.discounting import HyperbolicDiscounting as HyperbolicDiscounting
    from penchant.models.offers.discounting import (
        QuasiHyperbolicDiscounting as QuasiHyperbolicDiscounting,
    )
    from penchant.models.offers.effort import Effort as Effort
    from penchant.models.offers.gambles import ExpectedUtility as ExpectedUtility
    from penchant.models.offers.gambles import MeanVariance as MeanVariance
    from penchant.models.offers.gambles import ProspectValue as ProspectValue
    from penchant.models.offers.magnitude import ITCH as ITCH
    from penchant.models.offers.magnitude import MagnitudeDiscounting as MagnitudeDiscounting
    from penchant.models.offers.sharing import Inequity as Inequity
    from penchant.models.offers.sharing import Ultimatum as Ultimatum
    from penchant.models.parameters import Parameter as Parameter
    from penchant.models.parameters import ParameterTable as ParameterTable
    from penchant.models.parameters import Shape as Shape
    from penchant.models.recursion import Recursion as Recursion
    from penchant.models.spatial.gp_ucb import GPUCB as GPUCB
    from penchant.models.spatial.locality import Locality as Locality
    from penchant.models.spatial.ucl import UCL as UCL
    from penchant.models.worlds import AversiveWorld as AversiveWorld
    from penchant.models.worlds import BalloonWorld as BalloonWorld
    from penchant.models.worlds import BeadsWorld as BeadsWorld
    from penchant.models.worlds import FullFeedbackWorld as FullFeedbackWorld
    from penchant.models.worlds import GainLossWorld as GainLossWorld
    from penchant.models.worlds import GoNoGoWorld as GoNoGoWorld
    from penchant.models.worlds import InputWorld as InputWorld
    from penchant.models.worlds import PairsWorld as PairsWorld
    from penchant.models.worlds import TwoStepWorld as TwoStepWorld
    from penchant.models.worlds import iowa_schedule as iowa_schedule
    from penchant.models.worlds import reversal_schedule as reversal_schedule

# Names on the command line, in the order of the catalogue: classes of this module.
MODELS = {
    "random": "RandomChoice",
    "known-values": "KnownValues",
    "wsls": "WinStayLoseShift",
    "history": "HistoryRegression",
    "q-learning": "QLearning",
    "kalman": "KalmanFilter",
    "hybrid": "GershmanHybrid",
    "ucb1": "UCB1",
    "ewa": "EWA",
    "pearce-hall": "PearceHall",
    "volatile-kalman": "VolatileKalman",
    "hidden-state": "HiddenState",
    "confirmation": "ConfirmationBias",
    "gain-loss": "GainLoss",
    "two-step": "TwoStep",
    "stay": "StayRegression",
    "successor": "Successor",
    "go-no-go": "GoNoGo",
    "pvl": "PVL",
    "orl": "ORL",
    "vpp": "VPP",
    "balloons": "Balloons",
    "beads": "Beads",
    "hgf": "HGF",
    "aversive": "AversiveLearning",
    "ucl": "UCL",
    "gp-ucb": "GPUCB",
    "locality": "Locality",
    "hyperbolic": "HyperbolicDiscounting",
    "exponential": "ExponentialDiscounting",
    "quasi-hyperbolic": "QuasiHyperbolicDiscounting",
    "constant-sensitivity": "ConstantSensitivityDiscounting",
    "expected-utility": "ExpectedUtility",
    "prospect": "ProspectValue",
    "mean-variance": "MeanVariance",
    "magnitude": "MagnitudeDiscounting",
    "itch": "ITCH",
    "probability": "ProbabilityDiscounting",
    "ambiguity": "Ambiguity",
    "effort": "Effort",
    "inequity": "Inequity",
    "ultimatum": "Ultimatum",
    "peers": "PeerInfluence",
    "cambridge": "CambridgeGamble",
}

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
