"""`penchant study`."""

from __future__ import annotations

from penchant.cli.options import Agent
from penchant.cli.study_options import Analysis, Compared, Kept
from penchant.cli.workflow_options import Played


def study(
    file: str | None = None,
    /,
    *,
    table: Played = Played(),  # noqa: B008  # frozen, and cyclopts reads the defaults from it
    compared: Compared = Compared(),  # noqa: B008
    agent: Agent = Agent(),  # noqa: B008
    analysis: Analysis = Analysis(),  # noqa: B008
    kept: Kept = Kept(),  # noqa: B008
) -> int:
    """Analyse a table of choices of many subjects, from the check to a report.

    Exact fits of every subject; the groups that --condition names compared, with who is left out;
    agents that play again; one HTML report, tables and figures. Regret, performance and the paper's
    linearised fits where the best option is known, or with --performance. Exit code 0: done; 1:
    nobody has a valid estimate; 2: wrong usage or data; 130: interrupted, and --resume goes on.

    Parameters
    ----------
    file
        CSV or Parquet file, one row per event: who, what was chosen, what it paid; or per decision
        between offers; - for stdin.
    """
    # Numerical libraries load here, so that help and usage errors answer at once.
    from penchant.cli.studying import run_study_command

    return run_study_command(file, table, compared, agent, analysis, kept)
