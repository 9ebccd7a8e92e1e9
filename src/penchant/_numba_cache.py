"""Compilation by numba with a cache on disk wherever there is a place for it.

Numba caches compiled code beside the source or in the user's home, and refuses to compile at all
where neither can be written to: a read-only installation, a service without a home. There the cache
is a private folder among the temporary files or, failing that, there is none. Some of numba's
private attributes are used (`_cache`, `_source_stamp`); where a version lacks them, only the extra
checks are lost.
"""

import functools
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba

from penchant._version import __version__

_has_compiled = False
_announcement: str | None = None
_printed: set[str] = set()
_private_cache_folders: set[str] = set()


def njit(**options: Any) -> Callable[[Any], Any]:
    """Decorate a function as `numba.njit` does, also where numba finds no place for its cache."""

    def decorated(function: Any) -> Any:
        try:
            made = numba.njit(**options)(function)
        except RuntimeError:  # numba raises it where no cache folder is writable
            made = _compile_in_private_folder(function, options)
        _add_imported_sources_to_cache_key(made, function.__code__.co_filename)
        _tolerate_cache_errors(made)
        return made

    return decorated


# For functions that only compiled code calls: without wrappers for Python they compile faster, and
# without reference counts of arrays (`_nrt`) their loops can be vectorised.
inner_njit = njit(
    nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def _add_imported_sources_to_cache_key(function: Any, path: str) -> None:
    """Make the cache of a function depend on all files of compiled code that it calls.

    Numba checks the file of the function alone. Functions of other files are compiled into it, and
    stale code that passes them other arguments would crash the process.
    """
    cache_file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if cache_file is not None and hasattr(cache_file, "_source_stamp"):
        stamps = [
            os.stat(source) for source in sorted(_kernel_sources(path)) if os.path.exists(source)
        ]
        others = (
            *((stamp.st_mtime, stamp.st_size) for stamp in stamps),
            os.environ.get("PENCHANT_KERNELS"),  # `softmax._moment_codegen` makes other code by it
        )
        cache_file._source_stamp = (cache_file._source_stamp, others)


_KERNEL_IMPORT = re.compile(r"^from penchant\.([\w.]+) import (\w+)", re.MULTILINE)


@functools.cache
def _kernel_sources(path: str) -> frozenset[str]:
    """Files of compiled code, named with an underscore, that a file imports, directly or not.

    Imports are found by a regular expression: importing the modules here would be circular.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    found: frozenset[str] = frozenset()
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:  # functions of notebooks and archives have no source file
        return found
    for module, name in _KERNEL_IMPORT.findall(text):
        parts = module.split(".")
        for place in (parts, [*parts, name]):
            source = os.path.join(package, *place) + ".py"
            if place[-1].startswith("_") and len(place) > 1 and os.path.exists(source):
                found |= {source} | _kernel_sources(source)
    return found


def _compile_in_private_folder(function: Any, options: dict[str, Any]) -> Any:
    """Compile with the cache in the private folder, or without a cache."""
    folder = private_folder()
    if folder is not None:
        settings: Any = numba.config
        before, settings.CACHE_DIR = settings.CACHE_DIR, folder
        try:
            made = numba.njit(**options)(function)
        except RuntimeError:
            pass
        else:
            _private_cache_folders.add(folder)
            return made
        finally:
            settings.CACHE_DIR = before
    return numba.njit(**{**options, "cache": False})(function)


@functools.cache
def private_folder() -> str | None:
    """Folder among the temporary files that only this user can enter; None if there is none.

    Notes
    -----
    Code that is read from it is run, so nobody else may have made it, or may put another in its
    place: its name is drawn at random, it belongs to the user with mode 0700, and the folder that
    holds it lets nobody rename files of others (the sticky bit).
    """
    if not hasattr(os, "getuid"):
        return None
    try:
        root = tempfile.gettempdir()
        if os.path.samefile(root, os.curdir) or not _is_protected_from_renames(os.stat(root)):
            return None
        prefix = f"penchant-{os.getuid()}-"
        with os.scandir(root) as entries:
            made = sorted(entry.path for entry in entries if entry.name.startswith(prefix))
        own = [path for path in made if _is_private_folder(os.lstat(path))]
        return own[0] if own else tempfile.mkdtemp(prefix=prefix)
    except OSError:
        return None


def _is_protected_from_renames(holder: os.stat_result) -> bool:
    """Whether only root or this user can rename files of others in a folder."""
    open_to_others = holder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ours = holder.st_uid in (0, os.getuid())
    return ours and (not open_to_others or bool(holder.st_mode & stat.S_ISVTX))


def _is_private_folder(folder: os.stat_result) -> bool:
    mode = folder.st_mode
    ours = stat.S_ISDIR(mode) and folder.st_uid == os.getuid()
    return ours and stat.S_IMODE(mode) == stat.S_IRWXU


def _tolerate_cache_errors(function: Any) -> None:
    """Let a full disk or a damaged file cost a compilation, not the result; announce compilations.

    The dispatcher asks its cache before it compiles: a function that is not found there is compiled
    next. A listener for numba's events would also hear of functions of other libraries.
    """
    cache = getattr(function, "_cache", None)
    if cache is None:
        return
    save, load = cache.save_overload, cache.load_overload

    def saved(signature: Any, made: Any) -> None:
        try:
            save(signature, made)
        except OSError as error:
            print_once(
                f"penchant: compiled code could not be kept in {cache.cache_path} "
                f"({error.strerror}); the next run compiles it again."
            )

    def loaded(signature: Any, context: Any) -> Any:
        made = None
        try:
            made = load(signature, context)
        except Exception:  # unpickling a truncated file can raise anything
            with suppress(OSError):
                cache.flush()
        if made is None:
            _announce_compilation(function.stats.cache_path)
        return made

    cache.save_overload, cache.load_overload = saved, loaded


def _announce_compilation(cache_path: str | None) -> None:
    """Print that functions are compiled, once in this process, and once per environment."""
    global _has_compiled
    if _announcement is not None:
        print_once(_announcement)
    if not _has_compiled:
        _has_compiled = True
        if is_first_compilation(cache_path):
            print_once(compilation_notice(cache_path))


@contextmanager
def with_compilation_announcement(words: str) -> Iterator[None]:
    """Print the words to stderr if anything is compiled in this block."""
    global _announcement
    before, _announcement = _announcement, words
    try:
        yield
    finally:
        _announcement = before


def compilation_notice(cache_path: str | None) -> str:
    """Notice that functions are compiled, and where they are cached."""
    if cache_path is None:
        return (
            "penchant: compiling for this run only, as there is no folder to keep it in; "
            "set NUMBA_CACHE_DIR to one that can be written to."
        )
    for folder in _private_cache_folders:
        if cache_path.startswith(folder):
            return (
                f"penchant: compiling for this machine (kept in {folder}, as neither the "
                "installation nor a home can be written to)"
            )
    return (
        "penchant: compiling its numerical code for this machine, about 20 seconds for the first "
        "fit of each kind; it is kept on disk, and this is said only once."
    )


def is_first_compilation(cache_path: str | None) -> bool:
    """Whether this is the first compilation in this environment; records that it was.

    The record is an empty file beside the compiled code, for these versions of penchant, numba and
    Python. Where none can be written, or nothing is cached, every process counts as the first.
    """
    if cache_path is None:
        return True
    note = os.path.join(_cache_root(cache_path), f"penchant-said-{_version_key()}")
    try:
        os.makedirs(os.path.dirname(note), exist_ok=True)
        # Exclusive creation is atomic: of several processes that start together one is the first.
        os.close(os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _cache_root(cache_path: str) -> str:
    """Folder that holds all compiled code of this environment."""
    package = os.path.dirname(os.path.abspath(__file__))
    for folder in (*_private_cache_folders, str(getattr(numba.config, "CACHE_DIR", ""))):
        if folder and cache_path.startswith(folder):
            return folder
    inside = os.path.commonpath([package, os.path.abspath(cache_path)]) == package
    return os.path.join(package, "__pycache__") if inside else os.path.dirname(cache_path)


def _version_key() -> str:
    python = sys.implementation.cache_tag
    return f"{__version__}-{numba.__version__}-{python}"


def print_once(words: str) -> None:
    """Print the words to stderr, the first time only."""
    if words in _printed or sys.stderr is None:
        return
    _printed.add(words)
    with suppress(OSError, ValueError):  # a closed stderr must not stop a fit
        print(words, file=sys.stderr)
