"""`penchant recover`."""

from __future__ import annotations

from penchant.cli.options import Agent
from penchant.cli.workflow_options import People, Regained, Simulated, Written


def recover(
    *,
    agent: Agent = Agent(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    people: People = People(),  # noqa: B008
    simulated: Simulated = Simulated(),  # noqa: B008
    regained: Regained = Regained(),  # noqa: B008
    written: Written = Written(),  # noqa: B008
) -> int:
    """Parameter recovery: simulate people with known parameters, and say what a fit gives back.

    Bias, spread, correlation, coverage of intervals, and who has no estimate: before data are
    collected. Exit code 0: done; 2: wrong usage.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.recovering import run_recover

    return run_recover(agent, people, simulated, regained, written)
