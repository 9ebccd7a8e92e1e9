"""Public names loaded at first use: imports and `penchant --help` answer at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names live in other modules.

    Parameters
    ----------
    package
        Name of the package.
    homes
        Names by the module that holds them; a name that is itself a module stands under "".
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not home_of[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home_of[name]), name)

    return find, lambda: sorted(home_of), sorted(home_of)
