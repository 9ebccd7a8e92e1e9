"""Decisions: explanatory variables, chosen options, weights, offsets and subjects."""

from penchant.choices.choices import Choices, NaturalParameters

__all__ = ["Choices", "NaturalParameters"]
