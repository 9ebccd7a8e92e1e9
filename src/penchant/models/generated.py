"""Modules whose source is generated, kept in the folder of compiled code and found again.

Numba finds compiled code again by the file of a function and its time stamp. A closure over
compiled functions has no such file, and is compiled anew in every process. A generated module is
therefore written to a file that is named after the hash of its text: the next process imports the
same file and loads its compiled code, and another text is another file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import numba

from penchant._numba_cache import private_folder

SUFFIX = ".generated"  # not .py: tools that read the source of the package pass it over


@cache
def generated_module(name: str, text: str) -> ModuleType:
    """Import a module with this text, from a file where one can be written, or from memory."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    own = f"penchant_{name}_{digest}"
    for folder in _folders():
        path = folder / f"{own}{SUFFIX}"
        with suppress(OSError):
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                _write_whole(path, text)
            loader = SourceFileLoader(own, str(path))
            spec = importlib.util.spec_from_loader(own, loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[own] = module
            loader.exec_module(module)
            return module
    module = ModuleType(own)
    exec(text.replace("cache=True, ", ""), module.__dict__)
    return module


def _folders() -> Iterator[Path]:
    """Folders for generated modules, as Numba's own: set by the user, the package's, the user's."""
    chosen = str(getattr(numba.config, "CACHE_DIR", ""))
    if chosen:
        yield Path(chosen) / "penchant"
    yield Path(__file__).parents[1] / "__pycache__" / "models"
    with suppress(RuntimeError):  # a service without a home
        yield Path.home() / ".cache" / "penchant"
    own = private_folder()
    if own is not None:
        yield Path(own)


def _write_whole(path: Path, text: str) -> None:
    """Write a file that other processes see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".unfinished")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
