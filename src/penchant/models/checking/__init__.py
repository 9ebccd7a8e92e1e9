"""What is wrong with a model, in sentences for its author."""

from penchant.models.checking.check_model import check_model
from penchant.models.checking.findings import Finding, ModelCheck

__all__ = ["Finding", "ModelCheck", "check_model"]
