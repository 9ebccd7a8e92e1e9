"""`penchant recover`."""

from __future__ import annotations

from penchant.cli.options import Agent
from penchant.cli.workflow_options import Regained, Simulated, Written


def recover(
    *,
    agent: Agent = Agent(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    simulated: Simulated = Simulated(),  # noqa: B008
    regained: Regained = Regained(),  # noqa: B008
    written: Written = Written(),  # noqa: B008
) -> int:
    """Simulate people with known parameters, fit them, and say what comes back.

    Bias, spread, correlation, coverage of intervals, and who has no estimate: before data are
    collected. Exit code 0: done; 2: wrong usage.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.recovering import run_recover

    return run_recover(agent, simulated, regained, written)
