"""What all tests share: compiled code, and where the certified results are."""

import os
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


def pytest_configure(config):
    """Let workers compile a function one at a time: what one compiled, others read from disk."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: each compiles for itself
        return
    if not hasattr(config, "workerinput"):
        return
    from numba.core.dispatcher import Dispatcher

    compiled, turns = Dispatcher.compile, os.open(__file__, os.O_RDWR)  # a byte for each function

    def compiled_in_turn(self, signature):
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        place = zlib.crc32(name.encode())
        fcntl.lockf(turns, fcntl.LOCK_EX, 1, place)
        try:
            return compiled(self, signature)
        finally:
            fcntl.lockf(turns, fcntl.LOCK_UN, 1, place)

    Dispatcher.compile = compiled_in_turn


@pytest.fixture(scope="session")
def evidence():
    """Folder of certified results, from the environment; read there, never copied."""
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PENCHANT_EVIDENCE does not point to the certified results")
    return Path(folder)
