"""What a decision-maker wants and believes, from the choices it makes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penchant.choices import Choices as Choices
    from penchant.errors import DataError as DataError

__version__ = "0.1.0"

# Loaded at first use, so that `import penchant` and `penchant --help` answer at once.
_HOMES = {
    "Choices": "penchant.choices",
    "DataError": "penchant.errors",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'penchant' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
