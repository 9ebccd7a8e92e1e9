"""What all tests share: compiled code, and where the certified results are."""

import os
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
    """Let workers compile one at a time: what one compiled, the next reads from disk."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: each compiles for itself
        return
    if not hasattr(config, "workerinput"):
        return
    from numba.core.dispatcher import Dispatcher

    compiled, within = Dispatcher.compile, []

    def compiled_in_turn(self, signature):
        if within:  # called by what is being compiled
            return compiled(self, signature)
        with Path(__file__).open() as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)  # until it is closed
            within.append(self)
            try:
                return compiled(self, signature)
            finally:
                within.clear()

    Dispatcher.compile = compiled_in_turn


@pytest.fixture(scope="session")
def evidence():
    """Folder of certified results, from the environment; read there, never copied."""
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PENCHANT_EVIDENCE does not point to the certified results")
    return Path(folder)
