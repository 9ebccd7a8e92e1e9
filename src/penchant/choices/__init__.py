"""Decisions: explanatory variables, chosen options, weights, offsets and subjects."""

from penchant.choices.choices import Choices
from penchant.choices.natural import NaturalParameters

__all__ = ["Choices", "NaturalParameters"]
