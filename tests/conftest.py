"""What all tests share: compiled code, and where the certified results are."""

import copy
import gc
import os
import sys
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first example of a number of variables compiles a kernel: no deadline.
settings.register_profile(
    "penchant",
    deadline=None,
    max_examples=25,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("penchant")

# Workers take all cores: threads of linear algebra would only wait for each other's turns.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Thousands of tests and large libraries live to the end: to look through them again and again for
# what can be freed takes longer than many a test.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish():
    """Leave what was imported and collected out of that look."""
    gc.collect()
    gc.freeze()


def pytest_configure(config):
    """Let workers take turns: what one compiled or rewrote, others read from disk."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: each does all for itself
        return
    if not hasattr(config, "workerinput"):
        return
    sys.dont_write_bytecode = False  # what was rewritten is read by others, as what was compiled
    from _pytest.assertion.rewrite import AssertionRewritingHook
    from numba.core.dispatcher import Dispatcher

    turns = os.open(__file__, os.O_RDWR)  # a byte for each function and file

    def in_turn(work, name):
        def waited(self, thing):
            place = zlib.crc32(name(self, thing).encode())
            fcntl.lockf(turns, fcntl.LOCK_EX, 1, place)
            try:
                return work(self, thing)
            finally:
                fcntl.lockf(turns, fcntl.LOCK_UN, 1, place)

        return waited

    Dispatcher.compile = in_turn(
        Dispatcher.compile,
        lambda self, _: f"{self.py_func.__module__}.{self.py_func.__qualname__}",
    )
    AssertionRewritingHook.exec_module = in_turn(
        AssertionRewritingHook.exec_module, lambda _, module: module.__spec__.origin
    )


@pytest.fixture(scope="session", autouse=True)
def signatures_are_read_once():
    """What a command takes stays the same: read it once, and give each command line a copy."""
    from cyclopts import App

    read, kept = App.assemble_argument_collection, {}

    def copied(app, *, parse_docstring=False):
        key = (id(app), parse_docstring)
        if key not in kept:  # with the command, whose id nothing else may take
            kept[key] = (app, read(app, parse_docstring=parse_docstring))
        _, arguments = kept[key]
        mine = {id(argument): copy.copy(argument) for argument in arguments}
        for argument in mine.values():
            argument.tokens = []
            argument.children = type(arguments)(mine[id(child)] for child in argument.children)
        return type(arguments)(mine.values())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", copied)
        yield


@pytest.fixture(scope="session", autouse=True)
def formulas_are_set_once():
    """What 10^-3 looks like stays the same: set it once, and not for every figure anew."""
    import matplotlib as mpl
    from matplotlib.mathtext import MathTextParser

    set_anew, kept = getattr(MathTextParser.__dict__.get("_parse_cached"), "__wrapped__", None), {}
    if set_anew is None:  # another version of matplotlib: every figure sets its own
        yield
        return
    fonts = [name for name in mpl.rcParams if name.startswith(("font.", "mathtext.", "text."))]

    def _set_once(parser, *given):
        style = str([mpl.rcParams[name] for name in fonts])
        key = (threading.get_ident(), parser._output_type, style, *given)  # a font is a thread's
        if key not in kept:
            kept[key] = set_anew(parser, *given)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MathTextParser, "_parse_cached", _set_once)
        yield


@pytest.fixture(scope="session")
def evidence():
    """Folder of certified results, from the environment; read there, never copied."""
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PENCHANT_EVIDENCE does not point to the certified results")
    return Path(folder)
