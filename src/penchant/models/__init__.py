"""Models: from what happened to explanatory variables."""

from penchant.models.cooling import cooling_choices
from penchant.models.known_learning import q_learning_choices
from penchant.models.temperature import temperature_choices

__all__ = ["cooling_choices", "q_learning_choices", "temperature_choices"]
