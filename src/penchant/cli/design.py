"""`penchant design`."""

from __future__ import annotations

from penchant.cli.options import Agent
from penchant.cli.workflow_options import Goal, People, Regained, Simulated, Written


def design(
    *,
    goal: Goal = Goal(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    agent: Agent = Agent(),  # noqa: B008
    people: People = People(),  # noqa: B008
    simulated: Simulated = Simulated(),  # noqa: B008
    regained: Regained = Regained(),  # noqa: B008
    written: Written = Written(),  # noqa: B008
) -> int:
    """Say how many decisions make an interval narrow, or how many subjects find a difference.

    People are simulated and fitted, with more decisions (--width) or in larger experiments with two
    groups (--against), until enough of them reach the goal. Exit code 0: a number is found; 1: none
    up to --most; 2: wrong usage.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.designing import run_design

    return run_design(goal, agent, people, simulated, regained, written)
