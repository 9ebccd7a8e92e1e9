"""Natural parameters: what the model is about, as a function of theta."""

from collections.abc import Callable
from dataclasses import dataclass

from penchant._typing import Matrix, Vector


@dataclass(frozen=True)
class NaturalParameters:
    """A map from theta to the parameters that the model is about.

    Parameters
    ----------
    names
        One name per natural parameter.
    values
        theta -> natural parameters; a module-level function, so that an estimate can be pickled.
    jacobian
        theta -> matrix of derivatives, one row per natural parameter.
    """

    names: tuple[str, ...]
    values: Callable[[Vector], Vector]
    jacobian: Callable[[Vector], Matrix]
