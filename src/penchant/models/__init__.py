"""Models: from what happened to explanatory variables."""

from penchant.models.cooling import cooling_choices
from penchant.models.discounting import (
    ConstantSensitivityDiscounting,
    ExponentialDiscounting,
    HyperbolicDiscounting,
    QuasiHyperbolicDiscounting,
)
from penchant.models.gambles import ExpectedUtility, MeanVariance, ProspectValue
from penchant.models.gp_ucb import GPUCB
from penchant.models.known_learning import q_learning_choices
from penchant.models.locality import Locality
from penchant.models.model import Model, Natural, Shape
from penchant.models.q_learning import QLearning
from penchant.models.simulate import simulate, simulate_many
from penchant.models.simulate_trials import simulate_trials
from penchant.models.temperature import temperature_choices
from penchant.models.trials import Trials
from penchant.models.trials_table import trials_from_frame
from penchant.models.ucl import UCL

__all__ = [
    "GPUCB",
    "UCL",
    "ConstantSensitivityDiscounting",
    "ExpectedUtility",
    "ExponentialDiscounting",
    "HyperbolicDiscounting",
    "Locality",
    "MeanVariance",
    "Model",
    "Natural",
    "ProspectValue",
    "QLearning",
    "QuasiHyperbolicDiscounting",
    "Shape",
    "Trials",
    "cooling_choices",
    "q_learning_choices",
    "simulate",
    "simulate_many",
    "simulate_trials",
    "temperature_choices",
    "trials_from_frame",
]
