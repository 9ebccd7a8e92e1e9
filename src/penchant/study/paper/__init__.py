"""The paper's numerical experiments and tables, with what they say of its claims."""

from penchant.study.paper.claims import Claim
from penchant.study.paper.reproduction import EXPERIMENTS, Reproduction, Run, reproduce

__all__ = ["EXPERIMENTS", "Claim", "Reproduction", "Run", "reproduce"]
