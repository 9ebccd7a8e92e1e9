"""Models: from what happened to explanatory variables."""

from penchant.models.checking import ModelCheck, check_model
from penchant.models.cooling import cooling_choices
from penchant.models.discounting import (
    ConstantSensitivityDiscounting,
    ExponentialDiscounting,
    HyperbolicDiscounting,
    QuasiHyperbolicDiscounting,
)
from penchant.models.gambles import ExpectedUtility, MeanVariance, ProspectValue
from penchant.models.gp_ucb import GPUCB
from penchant.models.history import HistoryRegression
from penchant.models.hybrid import GershmanHybrid
from penchant.models.kalman import KalmanFilter
from penchant.models.known_learning import q_learning_choices
from penchant.models.known_values import KnownValues
from penchant.models.locality import Locality
from penchant.models.model import Model, Natural, Shape
from penchant.models.natural_prior import NaturalPrior
from penchant.models.q_learning import QLearning
from penchant.models.random_choice import RandomChoice
from penchant.models.simulate import simulate, simulate_many
from penchant.models.simulate_trials import simulate_trials
from penchant.models.temperature import temperature_choices
from penchant.models.trials import Trials
from penchant.models.trials_table import trials_from_frame
from penchant.models.ucb1 import UCB1
from penchant.models.ucl import UCL
from penchant.models.win_stay import WinStayLoseShift

__all__ = [
    "GPUCB",
    "UCB1",
    "UCL",
    "ConstantSensitivityDiscounting",
    "ExpectedUtility",
    "ExponentialDiscounting",
    "GershmanHybrid",
    "HistoryRegression",
    "HyperbolicDiscounting",
    "KalmanFilter",
    "KnownValues",
    "Locality",
    "MeanVariance",
    "Model",
    "ModelCheck",
    "Natural",
    "NaturalPrior",
    "ProspectValue",
    "QLearning",
    "QuasiHyperbolicDiscounting",
    "RandomChoice",
    "Shape",
    "Trials",
    "WinStayLoseShift",
    "check_model",
    "cooling_choices",
    "q_learning_choices",
    "simulate",
    "simulate_many",
    "simulate_trials",
    "temperature_choices",
    "trials_from_frame",
]
