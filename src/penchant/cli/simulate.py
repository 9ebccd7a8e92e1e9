"""`penchant simulate`."""

from __future__ import annotations

from penchant.cli.options import Agent, World


def simulate(
    *,
    agent: Agent = Agent(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    world: World = World(),  # noqa: B008
) -> int:
    """Let agents play, and write what they chose and received as a table.

    One row per decision: subject, decision, chosen, reward, and where the option lies. Exit code 0:
    done; 2: wrong usage.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.simulating import run_simulate

    return run_simulate(agent, world)
