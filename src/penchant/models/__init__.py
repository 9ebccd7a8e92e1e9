"""Models: from what happened to explanatory variables."""

from penchant.models.cooling import cooling_choices
from penchant.models.gp_ucb import GPUCB
from penchant.models.known_learning import q_learning_choices
from penchant.models.locality import Locality
from penchant.models.model import Model, Natural, Shape
from penchant.models.q_learning import QLearning
from penchant.models.simulate import simulate, simulate_many
from penchant.models.temperature import temperature_choices
from penchant.models.ucl import UCL

__all__ = [
    "GPUCB",
    "UCL",
    "Locality",
    "Model",
    "Natural",
    "QLearning",
    "Shape",
    "cooling_choices",
    "q_learning_choices",
    "simulate",
    "simulate_many",
    "temperature_choices",
]
