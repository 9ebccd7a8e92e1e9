"""Lazy loading of public names (PEP 562), so that imports and `penchant --help` answer at once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

EXPORT_LINE = re.compile(r"^ {4}from (\S+) import (?:\(\s*)?(\w+) as \2\b", re.MULTILINE)


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module whose names live in other modules.

    Each name is listed once, as `from home import name as name` under `if TYPE_CHECKING:` in the
    module's own source, where editors and type checkers read it; the same lines are read here.

    Parameters
    ----------
    package
        Name of the module.
    """
    # The source is parsed, as lines under TYPE_CHECKING are never run.
    source = sys.modules[package].__spec__.loader.get_source(package)  # type: ignore[union-attr]  # files have it
    homes = {name: home for home, name in EXPORT_LINE.findall(source)}

    def submodule_hint(name: str) -> str:
        parts = [part for part, home in homes.items() if home == package]
        found = [] if name.startswith("_") else [f"{package}.{part}" for part in parts]
        having = [part for part in found if name in import_module(part).__all__]
        return f". It is {having[0]}.{name}." if having else ""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{submodule_hint(name)}"
            )
        if homes[name] == package:  # modules are imported whole, other names from their module
            return import_module(f"{package}.{name}")
        found = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)  # later accesses do not call this function
        return found

    return find, lambda: sorted(homes), sorted(homes)
