"""What all tests share: where the certified results are."""

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


@pytest.fixture(scope="session")
def evidence():
    """Folder of certified results, from the environment; read there, never copied."""
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PENCHANT_EVIDENCE does not point to the certified results")
    return Path(folder)
