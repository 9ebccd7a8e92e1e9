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


def pytest_addoption(parser):
    parser.addoption(
        "--every", type=int, default=1, metavar="N", help="run only every N-th of the tests chosen"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    every = config.getoption("--every")
    if every > 1:
        chosen = items[::every]
        config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
        items[:] = chosen


@pytest.fixture(scope="session")
def evidence():
    """Folder of certified results, from the environment; read there, never copied."""
    folder = os.environ.get("PENCHANT_EVIDENCE")
    if not folder or not Path(folder).is_dir():
        pytest.skip("PENCHANT_EVIDENCE does not point to the certified results")
    return Path(folder)
